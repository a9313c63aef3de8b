//! What becomes of a summary where something else happens before, after or while it is made.

use super::carry::{export, import};
use super::compaction::{
    answers, fits, history, holds, kinds, long, notices, refuses, say, says, start, started, sums_up,
};
use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::harness::Input;
use lodger::model::{Answer, Block, StopReason, Usage};
use serde_json::{Value, json};

/// A page that is just about to sum up what was said first.
fn summing() -> Desk {
    let mut page = started(json!({}));
    full(&mut page);
    page
}

fn full(page: &mut Desk) {
    say(page, "one", &long("first", 3_000));
    say(page, "two", &long("second", 2_900));
    page.must("sendMessage", json!({ "text": "three" }));
    assert!(sums_up(page));
}

/// The number of the last entry.
fn last(page: &mut Desk) -> u64 {
    page.rows("default").len() as u64
}

fn sent(page: &Desk) -> String {
    page.asked["messages"].to_string()
}

#[test]
fn a_fork_before_the_mark_has_all_of_it_and_one_behind_it_has_the_summary() {
    let mut page = started(json!({}));
    say(&mut page, "one", &long("first", 3_000));
    say(&mut page, "two", &long("second", 2_900));
    let before = last(&mut page);
    page.must("sendMessage", json!({ "text": "three" }));
    assert!(sums_up(&page));
    says(&mut page, "the summary");
    says(&mut page, "yes");
    let after = last(&mut page);
    for (at, remembers) in [(before, false), (after, true)] {
        let fork = page.must("sessions.fork", json!({ "id": "default", "at": at }));
        let id = fork["id"].as_str().unwrap().to_owned();
        page.prompt(&id, "four");
        if !remembers {
            // It is as full as it was, and is summed up for itself.
            assert!(sums_up(&page));
            assert!(sent(&page).contains("first first"), "{}", sent(&page));
            says(&mut page, "another summary");
        }
        let text = sent(&page);
        assert_eq!(text.contains("the summary"), remembers, "{text}");
        assert!(!text.contains("first first") && text.contains("four"), "{text}");
        says(&mut page, "yes");
        page.holds(&id);
    }
    holds(&mut page);
}

#[test]
fn an_import_goes_on_from_its_summary() {
    let mut page = summing();
    says(&mut page, "the summary");
    says(&mut page, "yes");
    let file = export(&mut page, "default");
    let mut page = Desk::of("ann");
    start(&mut page, json!({}));
    let id = import(&mut page, &file).unwrap()["id"].as_str().unwrap_or("default-2").to_owned();
    page.prompt(&id, "four");
    let text = sent(&page);
    assert!(text.contains("the summary") && !text.contains("first first"), "{text}");
    says(&mut page, "yes");
    let shown = page.must("history", json!({ "sessionId": id }));
    assert!(shown.to_string().contains("first first"));
    page.holds(&id);
}

#[test]
fn a_steered_message_waits_for_the_summary_and_a_queued_one_stays() {
    let mut page = summing();
    page.must("sendMessage", json!({ "text": "steered", "whenBusy": "steer" }));
    page.must("sendMessage", json!({ "text": "queued", "whenBusy": "queue" }));
    assert!(sums_up(&page) && !sent(&page).contains("steered"));
    says(&mut page, "the summary");
    let text = sent(&page);
    assert!(text.contains("the summary") && text.contains("three"), "{text}");
    let mut asked = vec![text];
    while !page.models.is_empty() {
        says(&mut page, "yes");
        asked.push(sent(&page));
    }
    assert!(asked.iter().any(|text| text.contains("steered") && text.contains("the summary")), "{asked:?}");
    assert!(asked.last().unwrap().contains("queued"));
    let said: Vec<Value> = history(&mut page).iter().map(|one| one["role"].clone()).collect();
    assert_eq!(said.iter().filter(|role| **role == "user").count(), 5);
    holds(&mut page);
}

#[test]
fn a_bench_aborts_the_summary_and_play_makes_it_again() {
    let mut page = summing();
    page.must("sendMessage", json!({ "text": "queued", "whenBusy": "queue" }));
    page.must("sessions.bench", json!({ "id": "default" }));
    assert!(page.models.is_empty());
    assert!(kinds(&mut page, "answered").len() == 2, "nothing of the summary is kept");
    page.must("sessions.play", json!({ "id": "default" }));
    assert!(sums_up(&page));
    says(&mut page, "the summary");
    assert!(sent(&page).contains("the summary") && sent(&page).contains("three"));
    says(&mut page, "yes");
    assert!(sent(&page).contains("queued"));
    says(&mut page, "yes");
    holds(&mut page);
}

#[test]
fn a_delegate_has_its_own_conversation_summed_up() {
    let mut page = started(json!({ "processType": "Orchestrator" }));
    let tool = json!({ "name": "read", "description": "d", "inputSchema": "{}", "readOnly": true, "execute": { "$fn": 7 } });
    page.must("tools.register", tool);
    page.must("sendMessage", json!({ "text": "find it" }));
    let call = |id: &str, name: &str, arguments: &Value| Block::ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.to_string(),
    };
    let task = json!({ "process": "Researcher", "task": "look everywhere" });
    answers(&mut page, vec![call("d", "delegate", &task)], StopReason::ToolUse);
    assert!(sent(&page).contains("look everywhere"), "{}", page.asked);
    let mut summaries = 0;
    for n in 0..12 {
        while sums_up(&page) {
            fits(&page);
            assert!(!sent(&page).contains("find it"), "{}", sent(&page));
            summaries += 1;
            says(&mut page, "nothing so far");
        }
        fits(&page);
        let blocks = vec![Block::Text(long("thought", 800)), call(&format!("c{n}"), "read", &json!({}))];
        answers(&mut page, blocks, StopReason::ToolUse);
        let tool = page.tools.remove(0);
        page.handle(Input::Returned { call: tool, result: Ok(Some("\"short\"".into())) });
    }
    while sums_up(&page) {
        says(&mut page, "nothing so far");
    }
    let text = sent(&page);
    assert!(summaries > 0 && text.contains("nothing so far") && text.contains("look everywhere"), "{text}");
    says(&mut page, "it is blue");
    let text = sent(&page);
    assert!(
        text.contains("it is blue") && text.contains("find it") && !text.contains("nothing so far"),
        "{text}"
    );
    says(&mut page, "Blue.");
    assert_eq!(history(&mut page).len(), 2);
    holds(&mut page);
}

#[test]
fn a_summarys_cost_counts_in_budgets() {
    let mut page = started(json!({}));
    say(&mut page, "one", &long("first", 3_000));
    say(&mut page, "two", &long("second", 2_900));
    page.must("configureAgent", json!({ "budgets": { "run": { "outputTokens": 50 } } }));
    page.must("sendMessage", json!({ "text": "three" }));
    assert!(sums_up(&page));
    let call = page.models.remove(0);
    let usage = Usage { input_tokens: 5_900, output_tokens: 60, ..Usage::default() };
    let blocks = vec![Block::Text("the summary".into())];
    let answer = Answer { blocks, stop: Some(StopReason::EndTurn), usage, model: None, id: None };
    page.handle(Input::Answered { call, result: Ok(answer) });
    assert!(page.models.is_empty());
    let last = history(&mut page).last().unwrap().clone();
    assert_eq!((&last["status"], &last["error"]["code"]), (&json!("failed"), &json!("budget_exceeded")));
    assert_eq!(last["usage"]["outputTokens"], 60);
    holds(&mut page);
}

#[test]
fn a_summary_is_tried_again_and_is_no_turn_of_its_run() {
    let mut page = started(json!({ "maxTurns": 1 }));
    full(&mut page);
    refuses(&mut page, Code::Overloaded);
    assert!(page.models.is_empty(), "it waits");
    page.now += 60_000;
    page.handle(Input::Tick { online: true });
    assert!(sums_up(&page));
    says(&mut page, "the summary");
    assert!(!sums_up(&page) && sent(&page).contains("the summary"));
    says(&mut page, "yes");
    let last = history(&mut page).last().unwrap().clone();
    assert_eq!((&last["status"], last["compactions"].as_array().unwrap().len()), (&json!("complete"), 1));
    let phases: Vec<String> = notices(&page).into_iter().map(|(phase, _)| phase).collect();
    assert_eq!(phases, ["start", "end"]);
    holds(&mut page);
}
