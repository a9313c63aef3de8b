//! pi's cases of conversations that are summed up: the same inputs and expected values, written anew.
//!
//! pi-coding-agent (badlogic/pi-mono, MIT), `packages/coding-agent/test` @83378aad. *Ported*: as it is. *Adapted*: the same on
//! what stands in its place here. There a threshold is the window less a reserve. Here it is a part of the window.
//!
//! | pi's case | here |
//! |---|---|
//! | compaction.test.ts | |
//! | should calculate total context tokens from usage (1,000 + 500 + 200 + 100 = 1,800) | ported: what_was_counted_last_is_the_measure |
//! | should handle zero values | adapted: nobody has counted then, and the length is the measure |
//! | should find the last non-aborted assistant message usage | ported: what_was_counted_last_is_the_measure |
//! | should skip aborted messages | ported: the same |
//! | should return undefined if no assistant messages | adapted: the length is the measure; the same |
//! | should return true when context exceeds threshold (95,000 and 89,000 of 100,000) | ported: the_threshold; `at` 0.9 stands for the reserve of 10,000 |
//! | should return false when disabled | ported: the_threshold |
//! | should find cut point based on actual token differences (10 × 1,000, keep 2,500) | ported: a_cut_goes_by_what_was_counted |
//! | should return startIndex if no valid cut points in range | adapted: `cases::compaction`, it_is_summed_up_by_hand: it is refused |
//! | should keep everything if all messages fit within budget | ported: everything_fits |
//! | should indicate split turn when cutting at assistant message | adapted: `cases::compaction`, a_run_longer_than_the_window_is_cut_inside |
//! | should load all messages when no compaction | ported: everything_fits |
//! | should handle single compaction | ported: what_is_sent_behind_summaries |
//! | should handle multiple compactions (only latest matters) | ported: the same |
//! | should keep all messages when firstKeptEntryId is first entry | not applicable: a summary stands for something |
//! | should track model and thinking level changes | not applicable: a run has its provider on record, whatever is summed up |
//! | Large session fixture, three cases | adapted: `cases::compaction`, three_thousand_messages_go_through_a_small_window |
//! | LLM summarization, two cases | not applicable: they ask a provider |
//! | compaction-serialization.test.ts | |
//! | should truncate long tool results (5,000 to 2,000) | ported: what_a_summary_is_made_of |
//! | should not truncate short tool results (1,500) | ported: the same |
//! | should not truncate assistant or user messages (5,000) | ported: the same, where the window has room |
//! | compaction-summary-reasoning.test.ts | |
//! | sets reasoning=high for reasoning-capable models | adapted: a summary has the page's `reasoning`; how_much_a_summary_thinks |
//! | does not set reasoning for non-reasoning models | adapted: the same, where the page sets none |
//! | compaction-thinking-model.test.ts, three cases | ported, without their providers: a_model_that_thinks_is_summed_up |
//! | agent-session-compaction.test.ts | |
//! | should trigger manual compaction via compact() | ported: by_hand |
//! | should maintain valid session state after compaction | ported: by_hand |
//! | should persist compaction to session file | ported: by_hand |
//! | should work with --no-session mode | not applicable: every session has a journal; in private windows it is in memory |
//! | should emit correct events during auto-compaction | adapted: by_hand; the notices say that it was asked for |
//! | agent-session-auto-compaction-queue.test.ts | |
//! | should resume after threshold compaction when only agent-level queued messages exist | ported: a_queued_message_follows |
//! | should not compact repeatedly after overflow recovery already attempted | adapted: overflow_again_and_again; here it is tried with less, a few times |
//! | should ignore stale pre-compaction assistant usage (600,000 + 10,000) | ported: what_was_counted_before_a_summary_is_stale |
//! | should trigger threshold compaction for error messages using last successful usage (180,000 + 10,000) | ported: after_a_failure |
//! | should not trigger … when no prior usage exists | ported: after_a_failure |
//! | should not trigger … when only kept pre-compaction usage exists | ported: what_was_counted_before_a_summary_is_stale |
//! | compaction-extensions.test.ts | |
//! | should emit before_compact and compact events | ported: by_hand; the notices stand for them |
//! | should allow extensions to cancel compaction | adapted: a_summary_is_cancelled, by the page's interrupt |
//! | should allow extensions to provide custom compaction | adapted: by_hand; a function of the page is the provider that sums up |
//! | should include entries in compact event after compaction is saved | ported: by_hand |
//! | should continue with default compaction if extension throws error | not applicable: a summary that fails fails its run |
//! | should call multiple extensions in order | not applicable: listeners are the DOM's |
//! | should pass correct data in before_compact event | adapted: by_hand; what is summed up is in the journal |
//! | should use extension compaction even with different values | not applicable: what was counted is the provider's word |
//! | compaction-extensions-example.test.ts, two cases | not applicable: they are about types of extensions |

use crate::cases::compaction as custom;
use crate::cases::compaction::{history, kinds, messages, notices, refuses, sums_up};
use crate::cases::window::{answers, meter, says, started};
use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::harness::Input;
use lodger::model::{Answer, Block, StopReason, Usage};
use serde_json::{Value, json};

fn sends(page: &mut Desk, text: &str) {
    page.must("sendMessage", json!({ "text": text }));
}

fn sent(page: &Desk) -> String {
    page.asked["messages"].to_string()
}

/// What each message says, in short.
fn said(page: &Desk) -> Vec<String> {
    messages(page).iter().map(|one| one["content"].to_string()).collect()
}

#[test]
fn what_was_counted_last_is_the_measure() {
    let mut page = started(200_000, 8_000, json!({}));
    page.ask("watch", json!({})).unwrap();
    sends(&mut page, "Hello");
    assert!(meter(&page).is_none_or(|used| used < 1_000));
    let call = page.models.remove(0);
    let usage = Usage {
        input_tokens: 1_000,
        output_tokens: 500,
        cache_read_tokens: 200,
        cache_write_tokens: 100,
        ..Usage::default()
    };
    let blocks = vec![Block::Text("Hi ".repeat(200))];
    let answer = Answer { blocks, stop: Some(StopReason::EndTurn), usage, model: None, id: None };
    page.handle(Input::Answered { call, result: Ok(answer) });
    assert_eq!(meter(&page), Some(1_800));
    sends(&mut page, "How are you?");
    says(&mut page, &"Good ".repeat(20), (2_000, 100));
    assert_eq!(meter(&page), Some(2_100));
    sends(&mut page, "And now?");
    page.must("interrupt", json!({}));
    assert!((2_100..2_120).contains(&meter(&page).unwrap()), "{:?}", meter(&page));
}

#[test]
fn the_threshold() {
    for (used, off, summed_up) in [(95_000, false, true), (89_000, false, false), (95_000, true, false)] {
        let compaction = if off { json!(false) } else { json!({ "at": 0.9 }) };
        let mut page = started(101_000, 1_000, json!({ "compaction": compaction }));
        sends(&mut page, "1");
        says(&mut page, "a", (used, 1));
        sends(&mut page, "2");
        assert_eq!(sums_up(&page), summed_up, "{used}");
    }
}

#[test]
fn a_cut_goes_by_what_was_counted() {
    let mut page = started(13_000, 1_000, json!({ "compaction": { "keep": 2_500, "at": 0.8 } }));
    for n in 0..10 {
        sends(&mut page, &format!("User {n}"));
        says(&mut page, &format!("Assistant {n}"), ((n + 1) * 1_000, 100));
    }
    sends(&mut page, "User 10");
    assert!(sums_up(&page));
    assert!(sent(&page).contains("User 0") && !sent(&page).contains("User 9"), "{}", sent(&page));
    says(&mut page, "summary", (0, 0));
    let said = said(&page);
    assert!(said[0].contains("summary"), "{said:?}");
    let kept = said.iter().skip(1).position(|text| text.contains("User 9")).expect("it is kept");
    assert!(kept <= 4 && said.last().unwrap().contains("User 10"), "{said:?}");
    assert!(said[1].contains("User") || said[1].contains("Assistant"), "{said:?}");
}

#[test]
fn everything_fits() {
    let mut page = started(200_000, 8_000, json!({ "compaction": { "keep": 50_000 } }));
    for (text, answer, read) in [("1", "a", 500), ("2", "b", 1_000)] {
        sends(&mut page, text);
        says(&mut page, answer, (read, 50));
    }
    sends(&mut page, "3");
    assert!(!sums_up(&page));
    assert_eq!(said(&page).len(), 5);
}

#[test]
fn what_is_sent_behind_summaries() {
    let mut page = custom::started(json!({ "compaction": { "keep": 100 } }));
    custom::say(&mut page, "1", &custom::long("a", 300));
    custom::say(&mut page, "2", "b");
    page.must("compact", json!({}));
    custom::says(&mut page, "Summary of 1,a,2,b");
    custom::say(&mut page, "3", "c");
    let four = said(&page);
    assert_eq!(four.len(), 4, "{four:?}");
    assert!(four[0].contains("Summary of 1,a,2,b"), "{four:?}");
    for (text, one) in four[1..].iter().zip(["2", "b", "3"]) {
        assert!(text.contains(one), "{four:?}");
    }
    // Only the latest counts.
    custom::say(&mut page, "4", &custom::long("d", 300));
    custom::say(&mut page, "5", "e");
    page.must("compact", json!({}));
    assert!(sent(&page).contains("Summary of 1,a,2,b"));
    custom::says(&mut page, "Second summary");
    custom::say(&mut page, "6", "f");
    let four = said(&page);
    assert!(four.len() == 4 && four[0].contains("Second summary"), "{four:?}");
    assert!(!sent(&page).contains("Summary of 1,a,2,b"));
    custom::holds(&mut page);
}

#[test]
fn what_a_summary_is_made_of() {
    let mut page = custom::started(json!({ "compaction": { "keep": 1 } }));
    let tool = json!({ "name": "read", "description": "d", "inputSchema": "{}", "readOnly": true, "execute": { "$fn": 7 } });
    page.must("tools.register", tool);
    for (text, result) in [("y".repeat(5_000), "x".repeat(5_000)), ("z".into(), "w".repeat(1_500))] {
        sends(&mut page, &text);
        let call =
            Block::ToolCall { id: format!("c{}", result.len()), name: "read".into(), arguments: "{}".into() };
        custom::answers(&mut page, vec![call], StopReason::ToolUse);
        let call = page.tools.remove(0);
        page.handle(Input::Returned { call, result: Ok(Some(json!(result).to_string())) });
        custom::says(&mut page, &text);
    }
    page.must("compact", json!({}));
    assert!(sums_up(&page));
    let text = sent(&page);
    let longest = |letter: char| text.split(|c| c != letter).map(str::len).max().unwrap_or_default();
    assert!((1_990..=2_000).contains(&longest('x')), "{}", longest('x'));
    assert!(longest('w') == 1_500 && longest('y') == 5_000, "{} {}", longest('w'), longest('y'));
    assert_eq!(text.matches("[…]").count(), 1);
}

#[test]
fn how_much_a_summary_thinks() {
    for (reasoning, thinks) in [(json!("high"), true), (Value::Null, false)] {
        let mut page = started(200_000, 8_192, json!({ "reasoning": reasoning }));
        sends(&mut page, "Summarize this.");
        says(&mut page, "well", (10, 10));
        page.must("compact", json!({}));
        assert!(sums_up(&page));
        assert_eq!(page.asked["thinking"].is_object(), thinks, "{}", page.asked);
        says(&mut page, "## Goal\nTest summary", (10, 10));
        assert!(page.models.is_empty());
    }
}

#[test]
fn a_model_that_thinks_is_summed_up() {
    let mut page = started(200_000, 8_192, json!({ "reasoning": "high" }));
    sends(&mut page, "Write down the first 10 prime numbers.");
    let thinking = Block::Thinking { text: "I count them.".into(), signature: Some("proof".into()) };
    answers(&mut page, vec![thinking, Block::Text("2, 3, 5".into())], StopReason::EndTurn, (50, 90));
    page.must("compact", json!({}));
    assert!(sums_up(&page) && sent(&page).contains("2, 3, 5") && !sent(&page).contains("I count them."));
    let thinking = Block::Thinking { text: "Short.".into(), signature: Some("proof".into()) };
    answers(&mut page, vec![thinking, Block::Text("Primes.".into())], StopReason::EndTurn, (50, 90));
    assert_eq!(history(&mut page).last().unwrap()["compactions"][0]["summary"], "Primes.");
    sends(&mut page, "Go on.");
    assert!(said(&page)[0].contains("Primes.") && !sent(&page).contains("Short."), "{}", sent(&page));
}

#[test]
fn by_hand() {
    let mut page = custom::started(json!({ "compaction": { "provider": "cheap" } }));
    custom::say(&mut page, "What is 2+2? Reply with just the number.", "4");
    custom::say(&mut page, "What is 3+3? Reply with just the number.", "6");
    page.must("compact", json!({}));
    // A function of the page is asked for it.
    assert_eq!(page.streams.last(), Some(&52));
    custom::says(&mut page, "Custom summary");
    assert_eq!(notices(&page), [("start", "summary"), ("end", "summary")].map(|(a, b)| (a.into(), b.into())));
    let reasons: Vec<&Value> = page
        .events
        .iter()
        .filter(|(_, of)| of["kind"] == "compaction")
        .map(|(_, of)| &of["reason"])
        .collect();
    assert_eq!(reasons, ["asked", "asked"]);
    // It is on record by then: what was summed up, and how much that was.
    let entries = kinds(&mut page, "compacting");
    assert_eq!(entries.len(), 1);
    assert!(entries[0]["until"].is_string() && entries[0]["used"].as_u64().unwrap() > 0, "{entries:?}");
    // The session is usable, also on another page.
    for _ in 0..2 {
        custom::say(&mut page, "What is the capital of Italy? One word answer.", "Rome");
        assert!(said(&page)[0].contains("Custom summary"));
        page = page.crash("somebody");
        custom::start(&mut page, json!({}));
    }
    custom::holds(&mut page);
}

#[test]
fn a_queued_message_follows() {
    let mut page = started(200_000, 8_000, json!({}));
    sends(&mut page, "one");
    says(&mut page, "two", (180_000, 10_000));
    sends(&mut page, "three");
    assert!(sums_up(&page));
    page.must("sendMessage", json!({ "text": "Queued", "whenBusy": "queue" }));
    says(&mut page, "summary", (1_000, 10));
    says(&mut page, "four", (1_000, 10));
    assert!(!sums_up(&page) && said(&page).last().unwrap().contains("Queued"));
}

#[test]
fn overflow_again_and_again() {
    let mut page = started(200_000, 8_000, json!({}));
    sends(&mut page, "one");
    says(&mut page, &"two ".repeat(2_000), (2_000, 2_000));
    sends(&mut page, "three");
    let mut summaries = 0;
    while !page.models.is_empty() {
        if sums_up(&page) {
            summaries += 1;
            says(&mut page, "summary", (10, 10));
        } else {
            refuses(&mut page, Code::ContextLength);
        }
    }
    assert!((1..=4).contains(&summaries), "{summaries}");
    let last = history(&mut page).last().unwrap().clone();
    assert_eq!((&last["status"], &last["error"]["code"]), (&json!("failed"), &json!("context_length")));
}

#[test]
fn what_was_counted_before_a_summary_is_stale() {
    for (read, wrote) in [(600_000, 10_000), (180_000, 10_000)] {
        let mut page = started(200_000, 8_000, json!({ "compaction": { "keep": 20_000 } }));
        sends(&mut page, "before compaction");
        says(&mut page, &"long ago ".repeat(500), (1_500, 1_100));
        sends(&mut page, "kept user msg");
        says(&mut page, "large response before compaction", (read, wrote));
        sends(&mut page, "session recovery payload");
        assert!(sums_up(&page));
        says(&mut page, "summary", (0, 0));
        assert!(
            !sums_up(&page) && sent(&page).contains("large response before compaction"),
            "{}",
            sent(&page)
        );
        // What fails then is no reason to sum up again.
        refuses(&mut page, Code::Overloaded);
        page.now += 60_000;
        page.handle(Input::Tick { online: true });
        assert!(!page.models.is_empty() && !sums_up(&page));
        says(&mut page, "well", (0, 0));
        sends(&mut page, "new prompt");
        assert!(!sums_up(&page));
    }
}

#[test]
fn after_a_failure() {
    for counted in [true, false] {
        let mut page = started(200_000, 8_000, json!({}));
        sends(&mut page, "hello");
        if counted {
            says(&mut page, "large successful response", (100_000, 10_000));
            sends(&mut page, "another prompt");
            says(&mut page, "large successful response", (180_000, 10_000));
            sends(&mut page, "another prompt");
        }
        // Where it was counted it is summed up before it can fail.
        assert_eq!(sums_up(&page), counted);
        refuses(&mut page, Code::Auth);
        if counted {
            // Theirs fails here. There is room for the request as it is, so it is sent.
            assert!(!sums_up(&page) && sent(&page).contains("large successful response"));
            refuses(&mut page, Code::Auth);
        }
        page.must("resume", json!({}));
        assert_eq!(sums_up(&page), counted);
    }
}

#[test]
fn a_summary_is_cancelled() {
    let mut page = custom::started(json!({}));
    custom::say(&mut page, "What is 2+2? Reply with just the number.", "4");
    page.must("compact", json!({}));
    page.must("interrupt", json!({}));
    assert!(page.models.is_empty());
    let ends = notices(&page).iter().filter(|(phase, _)| phase == "end").count();
    assert_eq!(ends, 0);
    assert!(history(&mut page).iter().all(|one| one.get("compactions").is_none()));
    custom::say(&mut page, "What is 3+3? Reply with just the number.", "6");
    assert!(sent(&page).contains("2+2"));
}
