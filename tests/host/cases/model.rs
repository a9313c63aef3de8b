//! Model calls that fail, keep silent or cost too much, case by case, on a calm world.

use crate::support::calm::*;
use crate::support::script::{self, answer};
use crate::support::sim::World;
use crate::support::streams::{begins, framed, one_call};
use lodger::error::{Code, ErrorInfo};
use lodger::harness::Input;
use lodger::journal::{Entry, Row};
use lodger::model::{Block, Decoder, Delta, DeltaKind, StopReason, Usage, Wire};
use serde_json::{Value, json};

fn trouble(code: Code) -> ErrorInfo {
    ErrorInfo::new(code, "no")
}

/// The kinds of the rows so far, from the prompt on.
fn rows(world: &World) -> Vec<String> {
    let kind = |row: &String| Row::from_text(row).unwrap().read().unwrap().0.kind;
    let kinds = world.journal.rows.iter().map(kind).skip_while(|kind| kind != "prompt").skip(1);
    kinds.filter(|kind| kind != "recorded").collect()
}

fn notices(world: &World) -> Vec<Value> {
    let events = world.events(0);
    events.iter().filter(|(kind, _)| *kind == "agent:notice").map(|(_, detail)| detail.clone()).collect()
}

/// Waits as long as the last notice says.
fn wait(world: &mut World) {
    let delay = last(world, "agent:notice")["delayMs"].as_u64().unwrap();
    world.pass(0, delay - 1);
    assert!(world.pages[0].models.is_empty(), "asked before its time");
    world.pass(0, 1);
    assert_eq!(world.pages[0].models.len(), 1, "not asked in time");
}

/// The key of the first provider.
const KEY: &str = "sk-ant-0123456789";

/// Everything that is stored and told, with no part of that key in it.
fn without_key(world: &mut World) -> String {
    let mut all = world.journal.rows.concat();
    for (kind, detail) in world.events(0) {
        all += &format!("{kind} {detail}\n");
    }
    all += &json!(history(world)).to_string();
    for at in 0..KEY.len() - 8 {
        let piece = KEY.get(at..at + 8).unwrap();
        assert!(!all.contains(piece), "{piece} in {all}");
    }
    all
}

fn two_providers() -> Value {
    json!({
        "provider": { "kind": "anthropic", "apiKey": KEY },
        "providers": { "spare": { "kind": "custom", "model": "spare-1", "stream": { "$fn": 50 } } },
        "fallback": ["spare"],
    })
}

#[test]
fn what_fails_before_it_says_anything_is_asked_again() {
    let mut world = started();
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::Overloaded));
    assert_eq!(status(&world)["is_streaming"], true);
    wait(&mut world);
    assert_eq!(world.pages[0].told.state.get("offline"), None);
    world.breaks(0, trouble(Code::Network));
    wait(&mut world);
    world.answers(0, says("here"));
    let told: Vec<_> = notices(&world).iter().map(|n| (n["kind"].clone(), n["attempt"].clone())).collect();
    assert_eq!(told, [(json!("retry"), json!(2)), (json!("retry"), json!(3))]);
    let second = &notices(&world)[1];
    assert_eq!((&second["error"]["code"], &second["provider"]), (&json!("network"), &json!("custom")));
    assert!((376..=500).contains(&notices(&world)[0]["delayMs"].as_u64().unwrap()));
    assert!((751..=1000).contains(&second["delayMs"].as_u64().unwrap()));
    assert_eq!(last(&world, "agent:session-completed")["text"], "here");
    let tries = ["called", "failed", "retrying", "due"];
    assert_eq!(rows(&world), [&tries[..], &tries, &["called", "answered", "ended"]].concat());
    let messages = history(&mut world);
    assert_eq!((messages.len(), &messages[1]["status"]), (2, &json!("complete")));
}

fn without_network(code: Code) -> ErrorInfo {
    let mut error = trouble(code);
    error.provider.offline = true;
    error
}

#[test]
fn without_a_network_a_run_waits_for_it_with_its_tries_unspent() {
    let mut world = started();
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::Network));
    wait(&mut world);
    // As often as it likes: none of these is a try.
    for _ in 0..5 {
        world.breaks(0, without_network(Code::Network));
        assert!(std::mem::take(&mut world.pages[0].awaits_network));
        assert_eq!(last(&world, "agent:notice")["kind"], "offline");
        world.pass(0, 3_600_000);
        assert!(world.pages[0].models.is_empty(), "no clock brings a network");
        assert_eq!(status(&world)["is_streaming"], true);
        assert_eq!(world.pages[0].told.state["offline"], true);
        world.finds_network(0);
        world.settle(0);
        assert_eq!(world.pages[0].models.len(), 1);
    }
    world.breaks(0, trouble(Code::Network));
    wait(&mut world);
    world.answers(0, says("here"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "here");
    let told: Vec<_> = notices(&world).iter().map(|told| told["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(told, ["retry", "offline", "offline", "offline", "offline", "offline", "retry"]);
    let retries = notices(&world).into_iter().filter(|told| told["kind"] == "retry");
    assert_eq!(retries.map(|told| told["attempt"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn an_answer_that_was_cut_because_the_network_is_gone_is_asked_for_again() {
    let mut world = started();
    send(&mut world, "hello");
    world.streams(0, 0, "hal");
    world.breaks(0, without_network(Code::StreamBroken));
    assert_eq!(history(&mut world)[1]["parts"][0]["text"], "hal", "it is shown until there is another");
    world.finds_network(0);
    world.settle(0);
    world.answers(0, says("hello there"));
    assert_eq!(history(&mut world)[1]["parts"], json!([{ "type": "text", "text": "hello there" }]));
    let cut = ["called", "failed", "offline", "due", "called", "answered", "ended"];
    assert_eq!(rows(&world), cut);
}

#[test]
fn what_waits_for_the_network_can_be_interrupted_stopped_and_taken_up_by_another_page() {
    for (way, last) in [("interrupt", "ended"), ("stopAgent", "stopped")] {
        let mut world = started();
        send(&mut world, "hello");
        world.breaks(0, without_network(Code::Network));
        world.must(0, way, json!({}));
        world.finds_network(0);
        world.settle(0);
        assert!(world.pages[0].models.is_empty(), "{way}");
        assert_eq!(rows(&world).last().unwrap(), last, "{way}");
    }
    let mut world = started();
    send(&mut world, "hello");
    world.breaks(0, without_network(Code::Network));
    world.crash(0, true);
    world.equip(0);
    world.settle(0);
    start(&mut world, json!({}));
    world.must(0, "resume", json!({}));
    assert!(world.pages[0].awaits_network && world.pages[0].models.is_empty(), "it waits on");
    world.finds_network(0);
    world.settle(0);
    world.answers(0, says("here"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "here");
}

#[test]
fn three_tries_are_all_and_the_next_answer_has_three_again() {
    let mut world = started();
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::Server));
    wait(&mut world);
    world.answers(0, asks(&[("a", "get_fact")]));
    returns(&mut world, "a", "42");
    for _ in 0..2 {
        world.breaks(0, trouble(Code::Server));
        wait(&mut world);
    }
    world.breaks(0, trouble(Code::Server));
    assert_eq!(last(&world, "agent:error")["code"], "server");
    assert_eq!(status(&world), &running());
}

#[test]
fn an_answer_that_was_cut_is_asked_for_again_and_that_is_a_try() {
    let mut world = started();
    send(&mut world, "hello");
    world.streams(0, 0, "hal");
    world.breaks(0, trouble(Code::StreamBroken));
    let notice = last(&world, "agent:notice");
    assert_eq!((&notice["kind"], &notice["attempt"]), (&json!("retry"), &json!(2)));
    assert_eq!(notice["error"]["code"], "stream_broken");
    assert_eq!(history(&mut world)[1]["parts"][0]["text"], "hal", "it is shown until there is another");
    wait(&mut world);
    let told = |world: &World| {
        let chunk = last(world, "agent:message-chunk");
        (chunk["offset"].clone(), chunk["text"].clone())
    };
    world.streams(0, 0, "good");
    assert_eq!(told(&world), (json!(0), json!("good")), "the new answer takes its place");
    world.breaks(0, trouble(Code::StreamBroken));
    wait(&mut world);
    world.answers(0, says("hello there"));
    assert_eq!(history(&mut world)[1]["parts"], json!([{ "type": "text", "text": "hello there" }]));
    let tries = ["called", "failed", "retrying", "due"];
    assert_eq!(rows(&world), [&tries[..], &tries, &["called", "answered", "ended"]].concat());
    world.journal.audit(&world.disk).unwrap();
}

#[test]
fn an_answer_that_is_cut_each_time_fails_after_three_tries_with_the_most_that_was_said() {
    let mut world = started();
    send(&mut world, "hello");
    for (cut, text) in ["ha", "hello th", "hel"].into_iter().enumerate() {
        if cut > 0 {
            wait(&mut world);
        }
        world.streams(0, 0, text);
        world.breaks(0, trouble(Code::StreamBroken));
    }
    world.pass(0, 60_000);
    assert_eq!(notices(&world).len(), 2);
    assert!(world.pages[0].models.is_empty());
    assert_eq!(last(&world, "agent:error")["code"], "stream_broken");
    assert_eq!(history(&mut world)[1]["parts"][0]["text"], "hello th");
    world.journal.audit(&world.disk).unwrap();
}

#[test]
fn the_wait_for_a_cut_answer_outlives_its_page_and_a_stop_ends_it() {
    let mut world = started();
    send(&mut world, "hello");
    world.streams(0, 0, "hal");
    world.breaks(0, trouble(Code::StreamBroken));
    let mut world = lost(world, json!({ "resume": "auto" }));
    assert_eq!(history(&mut world)[1]["parts"][0]["text"], "hal");
    world.pass(0, 500);
    world.answers(0, says("hello"));
    assert_eq!(history(&mut world)[1]["parts"], json!([{ "type": "text", "text": "hello" }]));
    send(&mut world, "again");
    world.streams(0, 0, "wel");
    world.breaks(0, trouble(Code::StreamBroken));
    world.must(0, "interrupt", json!({}));
    world.pass(0, 60_000);
    assert!(world.pages[0].models.is_empty());
    let answer = &history(&mut world)[3];
    assert_eq!((&answer["status"], &answer["parts"][0]["text"]), (&json!("interrupted"), &json!("wel")));
    world.journal.audit(&world.disk).unwrap();
}

/// The connection breaks at each event of an answer. Where a call had begun, a person has seen that: nothing is asked again.
#[test]
fn an_answer_of_each_wire_that_ends_too_soon_is_asked_for_again() {
    let text = |wire| match wire {
        Wire::Anthropic => {
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "hal" } })
        }
        Wire::OpenAiChat => json!({ "choices": [{ "index": 0, "delta": { "content": "hal" } }] }),
        Wire::OpenAiResponses => {
            json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "hal" })
        }
        Wire::Gemini => {
            json!({ "event_type": "step.delta", "index": 0, "delta": { "type": "text", "text": "hal" } })
        }
        Wire::Ollama => json!({ "message": { "content": "hal" }, "done": false }),
    };
    for &wire in Wire::ALL {
        let texts: Vec<_> = begins(wire).into_iter().chain([text(wire)]).collect();
        let calls = one_call(wire, "get_fact", &["{", "}"], json!({})).events;
        let cases = [&texts, &calls].into_iter().flat_map(|events| {
            (1..events.len().min(5)).flat_map(move |until| [(events, until, false), (events, until, true)])
        });
        for (events, until, offline) in cases {
            let mut world = started();
            send(&mut world, "hello");
            let (call, _) = world.model(0);
            let mut decoder = Decoder::new(wire);
            for event in &events[..until] {
                let harness = &mut world.pages[0].harness;
                let mut sink = |delta: Delta<'_>| assert!(harness.delta(call, delta));
                decoder.push(framed(wire, event).as_bytes(), &mut sink).unwrap();
            }
            world.pages[0].harness.flush(world.now, call, Usage::default());
            let Err((mut error, _)) = decoder.finish() else { continue };
            assert_eq!(error.code, Code::StreamBroken, "{wire:?} {until}");
            error.provider.offline = offline;
            world.breaks(0, error);
            assert_eq!(notices(&world).len(), 1, "{wire:?} {until} {events:?}");
            if offline {
                world.finds_network(0);
                world.settle(0);
            } else {
                wait(&mut world);
            }
            world.answers(0, says("whole"));
            assert_eq!(last(&world, "agent:session-completed")["text"], "whole");
            assert_eq!(history(&mut world)[1]["parts"], json!([{ "type": "text", "text": "whole" }]));
        }
    }
}

#[test]
fn a_cut_answer_after_a_tool_with_an_effect_runs_that_tool_once() {
    let mut world = started();
    send(&mut world, "hello");
    world.answers(0, asks(&[("mail", "send_mail")]));
    returns(&mut world, "mail", "1");
    world.streams(0, 0, "se");
    world.breaks(0, trouble(Code::StreamBroken));
    wait(&mut world);
    world.answers(0, says("sent"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "sent");
    assert_eq!(rows(&world).iter().filter(|kind| *kind == "ordered").count(), 1);
}

#[test]
fn what_its_provider_has_ended_in_the_middle_is_not_asked_again() {
    for code in [Code::Overloaded, Code::Server, Code::Timeout] {
        let mut world = started();
        send(&mut world, "hello");
        world.streams(0, 0, "hal");
        world.breaks(0, trouble(code));
        assert!(notices(&world).is_empty());
        assert_eq!(last(&world, "agent:error")["code"], code.as_str());
    }
}

#[test]
fn what_was_shown_is_not_asked_again_where_the_page_does_not_want_it() {
    for error in [trouble(Code::StreamBroken), without_network(Code::StreamBroken)] {
        let mut world = started_with(json!({ "retry": { "cut": false } }));
        send(&mut world, "hello");
        world.streams(0, 0, "hal");
        world.breaks(0, error);
        assert!(notices(&world).is_empty());
        assert_eq!(history(&mut world)[1]["parts"][0]["text"], "hal");
        let run = world.must(0, "resume", json!({}));
        world.answers(0, says("hallo"));
        assert_eq!(last(&world, "agent:session-completed")["runId"], run["runId"]);
    }
    // Of which nothing was shown, that waits for the network.
    let mut world = started_with(json!({ "retry": { "cut": false } }));
    send(&mut world, "hello");
    world.breaks(0, without_network(Code::StreamBroken));
    assert_eq!(last(&world, "agent:notice")["kind"], "offline");
}

#[test]
fn what_a_person_must_mend_is_told_at_once() {
    for code in [Code::Auth, Code::Quota, Code::Permission, Code::InvalidRequest, Code::ContextLength] {
        let mut world = started();
        send(&mut world, "hello");
        world.breaks(0, trouble(code));
        assert_eq!(last(&world, "agent:error")["code"], code.as_str());
        assert!(notices(&world).is_empty());
    }
}

#[test]
fn the_provider_says_how_long() {
    let mut world = started();
    send(&mut world, "hello");
    let mut limited = trouble(Code::RateLimit);
    limited.provider.retry_after = Some(7_000);
    world.breaks(0, limited);
    let notice = last(&world, "agent:notice");
    assert_eq!((&notice["delayMs"], &notice["error"]["retryAfterMs"]), (&json!(7_000), &json!(7_000)));
    wait(&mut world);
    let mut limited = trouble(Code::RateLimit);
    limited.provider.retry_after = Some(3_600_000);
    world.breaks(0, limited);
    assert_eq!(last(&world, "agent:error")["retryAfterMs"], 3_600_000, "nobody waits an hour unasked");
}

#[test]
fn the_wait_can_be_interrupted() {
    let mut world = started();
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::Overloaded));
    world.must(0, "interrupt", json!({}));
    assert_eq!(story(&world).last().unwrap(), "lifecycle end");
    world.pass(0, 60_000);
    assert!(world.pages[0].models.is_empty(), "asked after the end");
    assert_eq!(rows(&world), ["called", "failed", "retrying", "interrupted", "ended"]);
}

#[test]
fn a_wait_outlives_its_page() {
    for auto in [false, true] {
        let mut world = started();
        send(&mut world, "hello");
        world.breaks(0, trouble(Code::Overloaded));
        wait(&mut world);
        world.breaks(0, trouble(Code::Overloaded));
        let mut world = lost(world, json!({ "resume": if auto { "auto" } else { "hold" } }));
        if !auto {
            world.pass(0, 60_000);
            assert!(world.pages[0].models.is_empty(), "a held run asks nobody");
            world.must(0, "resume", json!({}));
        }
        world.pass(0, 1_000);
        assert_eq!(world.pages[0].models.len(), 1);
        // Two tries were before the reload: this was the third.
        world.breaks(0, trouble(Code::Overloaded));
        assert_eq!(last(&world, "agent:error")["code"], "overloaded");
    }
}

/// A page whose function gives the key, with another provider behind it.
fn asks_for_its_key() -> Value {
    json!({ "provider": { "kind": "anthropic", "apiKey": { "$fn": 56 } } })
}

/// What a provider says of a key that it does not know.
fn unknown_key() -> ErrorInfo {
    let mut error = trouble(Code::Auth);
    error.provider.status = Some(401);
    error
}

#[test]
fn a_model_that_refuses_does_not_stream() {
    let mut world = started_with(json!({ "provider": { "kind": "anthropic", "apiKey": KEY } }));
    let body = |said: &str| {
        json!({ "type": "error", "error": { "type": "authentication_error", "message": said } }).to_string()
    };
    send(&mut world, "hello");
    let (call, _) = world.model(0);
    world.responds(0, call, 401, &body(&format!("who is {KEY}?")));
    let error = last(&world, "agent:error");
    assert_eq!((&error["code"], &error["status"]), (&json!("auth"), &json!(401)));
    assert!(without_key(&mut world).contains("who is [REDACTED]?"));

    send(&mut world, "hello");
    let (call, _) = world.model(0);
    assert!(world.pages[0].harness.head(world.now, call, 200, Vec::new()), "a good one streams");
    world.answers(0, says("here"));

    // An error need not be read to its end, and may have none.
    send(&mut world, "hello");
    let (call, _) = world.model(0);
    let harness = &mut world.pages[0].harness;
    assert!(!harness.head(world.now, call, 500, Vec::new()));
    assert!(harness.body(world.now, call, &[b' '; 60 * 1024]));
    assert!(!harness.body(world.now, call, &[b' '; 10 * 1024]));
    world.is_over(0, call, Ok(()));
    assert_eq!(last(&world, "agent:notice")["error"]["code"], "server");
}

/// Whether the call in the air asks for another key.
fn needs_another(world: &World) -> bool {
    world.model(0).1.refused
}

#[test]
fn a_refused_key_is_asked_for_once_more_under_the_same_call() {
    let mut world = started_with(asks_for_its_key());
    send(&mut world, "hello");
    let first = world.model(0).1.body.clone();
    assert!(!needs_another(&world));
    world.breaks(0, unknown_key());
    assert!(needs_another(&world));
    assert_eq!(world.model(0).1.body, first, "the request is the same");
    world.answers(0, asks(&[("a", "get_fact")]));
    returns(&mut world, "a", "42");
    assert!(!needs_another(&world), "the next call has a key of its own");
    world.breaks(0, unknown_key());
    world.answers(0, says("here"));
    let refused = ["called", "key_refused", "called", "answered"];
    assert_eq!(rows(&world), [&refused[..], &["ordered", "returned"], &refused, &["ended"]].concat());
    let calls: Vec<_> = (world.journal.rows.iter().map(|row| Row::from_text(row).unwrap().read().unwrap()))
        .filter_map(|(_, entry)| match entry? {
            Entry::Called { call } | Entry::KeyRefused { call } | Entry::Answered { call, .. } => Some(call),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [1, 1, 1, 1, 2, 2, 2, 2]);
    assert!(notices(&world).is_empty(), "a page is told nothing of it");
    let done = last(&world, "agent:session-completed");
    assert_eq!((&done["text"], &done["turns"]), (&json!("here"), &json!(2)));
    world.journal.audit(&world.disk).unwrap();
}

#[test]
fn a_second_refusal_ends_the_run_or_leads_to_another_provider() {
    let mut world = started_with(asks_for_its_key());
    send(&mut world, "hello");
    world.breaks(0, unknown_key());
    world.breaks(0, unknown_key());
    assert_eq!(rows(&world), ["called", "key_refused", "called", "failed", "ended"]);
    assert_eq!(last(&world, "agent:error")["code"], "auth");
    world.must(0, "resume", json!({}));
    assert!(!needs_another(&world), "a holder that goes on with it begins anew");
    world.answers(0, says("here"));
    world.journal.audit(&world.disk).unwrap();

    let mut config = two_providers();
    config["provider"] = asks_for_its_key()["provider"].clone();
    let mut world = started_with(config);
    send(&mut world, "hello");
    world.breaks(0, unknown_key());
    world.breaks(0, unknown_key());
    assert_eq!(rows(&world)[3..], ["failed", "fell_back", "called"]);
    assert_eq!(world.model(0).1.wire, Wire::OpenAiChat);
}

#[test]
fn only_a_refused_key_of_a_function_is_asked_for_once_more() {
    let mut world = started_with(json!({ "provider": { "kind": "anthropic", "apiKey": KEY } }));
    send(&mut world, "hello");
    world.breaks(0, unknown_key());
    assert_eq!(rows(&world), ["called", "failed", "ended"]);
    // A model of the page's own has no key, whatever it throws.
    let mut world = started();
    send(&mut world, "hello");
    world.breaks(0, unknown_key());
    assert_eq!(rows(&world), ["called", "failed", "ended"]);
    // The function itself has failed.
    let mut world = started_with(asks_for_its_key());
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::Auth));
    assert_eq!(rows(&world), ["called", "failed", "ended"]);
}

#[test]
fn a_refused_key_is_no_try_of_a_call_that_fails_otherwise() {
    let mut world = started_with(asks_for_its_key());
    send(&mut world, "hello");
    world.breaks(0, unknown_key());
    for attempt in 2..=3 {
        world.breaks(0, trouble(Code::Overloaded));
        assert_eq!(last(&world, "agent:notice")["attempt"], attempt);
        wait(&mut world);
        assert!(!needs_another(&world), "a call that is made again has a number and a key of its own");
    }
    world.breaks(0, trouble(Code::Overloaded));
    assert_eq!(last(&world, "agent:error")["code"], "overloaded");
}

#[test]
fn a_page_lost_between_two_keys_asks_for_the_first_again() {
    for lands in [true, false] {
        let mut world = started_with(asks_for_its_key());
        send(&mut world, "hello");
        world.pass(0, 1_000);
        let (call, _) = world.model(0);
        world.pages[0].models.clear();
        world.handle(0, Input::Answered { call, result: Err((unknown_key(), None)) });
        world.now += 1_000;
        world.handle(0, Input::Tick { online: true });
        world.crash(0, lands);
        let stored: &[&str] = if lands { &["called", "key_refused", "called"] } else { &["called"] };
        assert_eq!(rows(&world), stored);
        world.equip(0);
        world.settle(0);
        start(&mut world, asks_for_its_key());
        world.must(0, "resume", json!({}));
        assert!(!needs_another(&world), "another page may have another key");
        world.breaks(0, unknown_key());
        assert!(needs_another(&world));
        world.answers(0, says("here"));
        assert_eq!(last(&world, "agent:session-completed")["text"], "here");
        world.journal.audit(&world.disk).unwrap();
    }
}

#[test]
fn a_run_can_be_interrupted_between_two_keys() {
    let mut world = started_with(asks_for_its_key());
    send(&mut world, "hello");
    world.breaks(0, unknown_key());
    let (late, _) = world.model(0);
    world.must(0, "interrupt", json!({}));
    assert!(world.pages[0].models.is_empty());
    world.handle(0, Input::Answered { call: late, result: Err((unknown_key(), None)) });
    world.settle(0);
    assert_eq!(rows(&world), ["called", "key_refused", "called", "interrupted", "ended"]);
    send(&mut world, "again");
    assert!(!needs_another(&world));
}

#[test]
fn another_provider_takes_over_for_the_rest_of_the_run() {
    let mut world = started_with(two_providers());
    send(&mut world, "hello");
    assert_eq!(world.model(0).1.wire, Wire::Anthropic);
    world.breaks(0, trouble(Code::Quota));
    let notice = last(&world, "agent:notice");
    assert_eq!(
        (&notice["kind"], &notice["provider"], &notice["error"]["code"]),
        (&json!("fallback"), &json!("spare"), &json!("quota"))
    );
    let (_, spare) = world.model(0);
    assert_eq!((spare.wire, &spare.body["model"]), (Wire::OpenAiChat, &json!("spare-1")));
    world.answers(0, asks(&[("a", "get_fact")]));
    returns(&mut world, "a", "42");
    assert_eq!(world.model(0).1.wire, Wire::OpenAiChat, "the run stays where it is");
    world.answers(0, says("42"));
    send(&mut world, "and now?");
    assert_eq!(world.model(0).1.wire, Wire::Anthropic, "the next one begins with the first");
}

#[test]
fn the_last_provider_that_fails_ends_the_run() {
    let mut world = started_with(two_providers());
    send(&mut world, "hello");
    for _ in 0..2 {
        world.breaks(0, trouble(Code::Server));
        wait(&mut world);
    }
    world.breaks(0, trouble(Code::Server));
    assert_eq!(world.model(0).1.wire, Wire::OpenAiChat, "after three tries");
    world.breaks(0, trouble(Code::Auth));
    assert_eq!(last(&world, "agent:error")["code"], "auth");
}

#[test]
fn what_no_provider_can_mend_falls_back_to_none() {
    let mut world = started_with(two_providers());
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::InvalidRequest));
    assert_eq!(last(&world, "agent:error")["code"], "invalid_request");
}

/// A run that its spare has taken over, and that has shown half an answer.
fn on_its_spare() -> World {
    let mut world = started_with(two_providers());
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::Quota));
    world.streams(0, 0, "half");
    world
}

#[test]
fn a_run_whose_spare_is_gone_goes_back_to_the_first() {
    let gone = [
        json!({ "provider": two_providers()["provider"] }),
        json!({ "provider": two_providers()["provider"], "providers": two_providers()["providers"] }),
        // It is there, and cannot be asked.
        json!({
            "provider": two_providers()["provider"],
            "providers": { "spare": { "kind": "openai", "model": "m" } },
            "fallback": ["spare"],
        }),
    ];
    for config in gone {
        let mut world = lost(on_its_spare(), config.clone());
        world.must(0, "resume", json!({}));
        assert_eq!(world.model(0).1.wire, Wire::Anthropic, "{config}");
        world.answers(0, says("whole"));
        assert_eq!(last(&world, "agent:session-completed")["text"], "whole");
        world.journal.audit(&world.disk).unwrap();
    }
    // What is still there stays.
    let mut world = lost(on_its_spare(), two_providers());
    world.must(0, "resume", json!({}));
    assert_eq!(world.model(0).1.wire, Wire::OpenAiChat);
}

#[test]
fn a_spare_that_is_taken_away_in_mid_run_is_not_missed() {
    let away = || json!({ "providers": null, "fallback": null });
    let mut world = started_with(two_providers());
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::Quota));
    world.answers(0, asks(&[("a", "get_fact")]));
    world.must(0, "configureAgent", away());
    returns(&mut world, "a", "42");
    assert_eq!(world.model(0).1.wire, Wire::Anthropic);
    world.answers(0, says("42"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "42");

    // While it is asked, and fails.
    let mut world = started_with(two_providers());
    send(&mut world, "hello");
    world.breaks(0, trouble(Code::Quota));
    world.must(0, "configureAgent", away());
    world.breaks(0, trouble(Code::Auth));
    assert_eq!(world.model(0).1.wire, Wire::Anthropic);
    world.answers(0, says("here"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "here");
    world.journal.audit(&world.disk).unwrap();
}

#[test]
fn a_run_can_go_on_where_only_the_spare_can_be_asked() {
    let config = || {
        let mut config = two_providers();
        config["provider"] = json!({ "kind": "anthropic" });
        config
    };
    let mut world = started_with(config());
    send(&mut world, "hello");
    assert_eq!(world.model(0).1.wire, Wire::OpenAiChat);
    world.streams(0, 0, "half");
    let mut world = lost(world, config());
    world.must(0, "resume", json!({}));
    world.answers(0, says("whole"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "whole");
    // Nobody is there at all.
    send(&mut world, "again");
    let mut world = lost(world, json!({ "provider": { "kind": "anthropic" } }));
    assert_eq!(world.fails(0, "resume", json!({})).code, Code::NotConfigured);
}

#[test]
fn a_delegate_begins_with_whom_its_parent_has_come_to() {
    let mut config = two_providers();
    config["processType"] = "Orchestrator".into();
    let mut world = started_with(config);
    send(&mut world, "go");
    world.breaks(0, trouble(Code::Quota));
    let task = json!({ "process": "Researcher", "task": "find the fact" }).to_string();
    let call = script::call("d", "delegate", &task);
    world.answers(0, answer(vec![call], StopReason::ToolUse));
    assert_eq!(world.model(0).1.wire, Wire::OpenAiChat, "the first has failed this run already");
    world.answers(0, says("42"));
    world.answers(0, says("it is 42"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "it is 42");
    assert_eq!(notices(&world).len(), 1);
}

#[test]
fn an_answer_that_was_cut_in_a_tool_call_is_asked_for_again_because_no_tool_of_it_has_run() {
    for cut in [true, false] {
        let mut config = two_providers();
        config["retry"] = json!({ "cut": cut });
        let mut world = started_with(config);
        send(&mut world, "hello");
        let (call, _) = world.model(0);
        let delta = Delta { part: 0, kind: DeltaKind::ToolCall, text: "get_fact" };
        assert!(world.pages[0].harness.delta(call, delta));
        world.pages[0].harness.flush(world.now, call, Usage::default());
        world.breaks(0, trouble(Code::StreamBroken));
        assert!(world.pages[0].called.is_empty());
        assert_eq!(notices(&world).len(), usize::from(cut));
        if cut {
            wait(&mut world);
        } else {
            assert_eq!(last(&world, "agent:error")["code"], "stream_broken");
            world.must(0, "resume", json!({}));
        }
        world.answers(0, says("here"));
        assert_eq!(last(&world, "agent:session-completed")["text"], "here");
        let parts = history(&mut world).pop().unwrap()["parts"].clone();
        assert_eq!(parts, json!([{ "type": "text", "text": "here" }]), "no card stays of what never ran");
        world.journal.audit(&world.disk).unwrap();
    }
}

#[test]
fn an_answer_that_was_cut_behind_a_tool_of_its_provider_is_asked_for_again_only_if_that_just_looks() {
    let kinds = [
        ("web_search_call", true),
        ("web_search_tool_result", true),
        ("code_interpreter_call", true),
        ("mcp_call", false),
        ("mcp_tool_use", false),
        ("not_known_yet", false),
    ];
    for ((kind, again), error) in kinds.into_iter().flat_map(|kind| {
        [trouble(Code::StreamBroken), without_network(Code::StreamBroken)].map(|error| (kind, error))
    }) {
        let mut world = started_with(two_providers());
        // The second run knows the mark already.
        for said in ["hello", "hello again"] {
            send(&mut world, said);
            let (told, (call, _)) = (notices(&world).len(), world.model(0));
            world.pages[0].harness.looked_up(world.now, call, &[kind.into()]);
            world.breaks(0, error.clone());
            assert_eq!(
                notices(&world).len() > told,
                again,
                "{kind} {said}: a retry, or the wait for a network"
            );
            if again {
                break;
            }
            assert_eq!(last(&world, "agent:error")["code"], error.code.as_str(), "{kind} {said}");
        }
        world.journal.audit(&world.disk).unwrap();
    }
}

/// The words of OpenAI and of Anthropic for thinking that another account had sealed.
fn sealed() -> [ErrorInfo; 2] {
    let mut openai = trouble(Code::InvalidRequest);
    openai.provider.code = Some("invalid_encrypted_content".into());
    let told = "messages.1.content.0: Invalid `signature` in `thinking` block (HTTP 400)";
    [openai, ErrorInfo::new(Code::InvalidRequest, told)]
}

#[test]
fn what_a_provider_cannot_open_any_more_is_not_sent_again() {
    for trouble in sealed() {
        let thinks = |world: &mut World, proof: &str, text: &str| {
            world.signed.insert(proof.into(), (world.signed.len(), "hm".into()));
            let thought = Block::Thinking { text: "hm".into(), signature: Some(proof.into()) };
            world.answers(0, answer(vec![thought, Block::Text(text.into())], StopReason::EndTurn));
        };
        let body = |world: &World| world.model(0).1.body.to_string();
        let mut world = started_with(two_providers());
        send(&mut world, "hello");
        thinks(&mut world, "old", "hi");
        send(&mut world, "and now?");
        assert!(body(&world).contains("\"old\""), "its own thinking goes back to it");
        world.breaks(0, trouble);
        world.pass(0, 0);
        assert!(
            !body(&world).contains("\"old\"") && body(&world).contains("hi"),
            "asked again at once, without it"
        );
        assert_eq!(last(&world, "agent:notice")["attempt"], 2);
        thinks(&mut world, "new", "fine");
        let mut world = lost(world, two_providers());
        send(&mut world, "go on");
        assert!(body(&world).contains("\"new\""), "what it has sealed since goes back to it");
        assert!(!body(&world).contains("\"old\""), "the journal knows what does not");
        world.answers(0, says("done"));
        world.must(0, "clearConversation", json!({}));
        send(&mut world, "hello again");
        assert!(!body(&world).contains("fine"));
    }
}

#[test]
fn a_delegate_is_asked_again_too() {
    let mut world = started_with(json!({ "processType": "Orchestrator" }));
    send(&mut world, "go");
    let task = json!({ "process": "Researcher", "task": "find the fact" }).to_string();
    let call = script::call("d", "delegate", &task);
    world.answers(0, answer(vec![call], StopReason::ToolUse));
    world.breaks(0, trouble(Code::Overloaded));
    let notice = last(&world, "agent:notice");
    assert!(notice["parentRunId"].is_string(), "{notice}");
    wait(&mut world);
    world.answers(0, says("42"));
    world.answers(0, says("it is 42"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "it is 42");
}

// Silence

fn hasty() -> Value {
    let timeouts = json!({ "connectMs": 1_000, "firstByteMs": 2_000, "silenceMs": 500 });
    json!({ "provider": { "kind": "anthropic", "apiKey": "sk-ant-0123456789", "timeouts": timeouts } })
}

#[test]
fn a_provider_that_does_not_answer_is_asked_again() {
    let mut world = started_with(hasty());
    send(&mut world, "hello");
    world.pass(0, 999);
    assert_eq!(world.pages[0].models.len(), 1);
    world.pass(0, 1);
    assert!(world.pages[0].models.is_empty(), "still asked");
    assert_eq!(last(&world, "agent:notice")["error"]["code"], "timeout");
    wait(&mut world);
    world.answers(0, says("here"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "here");
}

/// A connection whose network has gone may say nothing for a long time.
#[test]
fn silence_while_there_is_no_network_is_no_try() {
    let quiet = |world: &mut World, ms| {
        world.now += ms;
        world.handle(0, Input::Tick { online: false });
        world.settle(0);
    };
    let mut world = started_with(hasty());
    send(&mut world, "hello");
    for _ in 0..5 {
        quiet(&mut world, 1_000);
        assert!(std::mem::take(&mut world.pages[0].awaits_network));
        assert_eq!(last(&world, "agent:notice")["kind"], "offline");
        world.finds_network(0);
        world.settle(0);
    }
    world.streams(0, 0, "hal");
    quiet(&mut world, 500);
    assert_eq!(last(&world, "agent:notice")["kind"], "offline");
    world.finds_network(0);
    world.settle(0);
    world.answers(0, says("hallo"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "hallo");
    // What is on this machine needs none.
    let mut config = hasty();
    config["provider"]["baseUrl"] = "http://localhost:4000".into();
    let mut world = started_with(config);
    send(&mut world, "hello");
    quiet(&mut world, 1_000);
    assert_eq!(last(&world, "agent:notice")["kind"], "retry");
}

#[test]
fn silence_in_the_middle_ends_the_run_and_keeps_what_came() {
    let mut world = started_with(hasty());
    send(&mut world, "hello");
    world.counts(0, Usage { output_tokens: 2, ..Usage::default() });
    for piece in ["ha", "l"] {
        world.pass(0, 499);
        world.streams(0, 0, piece);
    }
    world.pass(0, 499);
    assert_eq!(world.pages[0].models.len(), 1, "each piece gives it time again");
    world.pass(0, 1);
    let error = last(&world, "agent:error");
    assert_eq!(error["code"], "timeout");
    assert!(error["hint"].as_str().unwrap().contains("silenceMs"), "{error}");
    assert_eq!(history(&mut world)[1]["parts"][0]["text"], "hal");
    assert_eq!(history(&mut world)[1]["usage"]["outputTokens"], 2, "it is paid for as far as it had counted");
}

// The time of a whole run

fn brief() -> Value {
    let mut config = two_providers();
    config["provider"]["timeouts"] = json!({ "runMs": 1_500 });
    config["processType"] = "Orchestrator".into();
    config
}

/// The run has ended because its time was over, and goes on when told.
fn is_out_of_time(world: &mut World) {
    let error = last(world, "agent:error");
    assert_eq!((&error["code"], &error["retryable"]), (&json!("timeout"), &json!(false)));
    assert!(error["hint"].as_str().unwrap().contains("runMs"), "{error}");
    assert_eq!(status(world), &running());
    world.pass(0, 60_000);
    assert!(world.pages[0].models.is_empty(), "something of it went on");
    world.journal.audit(&world.disk).unwrap();
    world.must(0, "resume", json!({}));
    world.answers(0, says("done"));
    assert_eq!(last(world, "agent:session-completed")["text"], "done");
}

#[test]
fn a_run_ends_with_its_time_while_the_model_answers() {
    let mut world = started_with(brief());
    send(&mut world, "go");
    world.pass(0, 1_400);
    world.streams(0, 0, "half");
    world.pass(0, 99);
    assert_eq!(world.pages[0].models.len(), 1);
    world.pass(0, 1);
    assert_eq!(history(&mut world)[1]["parts"][0]["text"], "half");
    assert_eq!(history(&mut world)[1]["status"], "failed");
    is_out_of_time(&mut world);
}

#[test]
fn a_run_ends_with_its_time_while_a_tool_works() {
    let mut world = started_with(brief());
    send(&mut world, "go");
    world.answers(0, asks(&[("a", "get_fact"), ("b", "send_mail")]));
    world.pass(0, 1_500);
    assert!(world.pages[0].called.is_empty(), "it is aborted");
    let parts = history(&mut world)[1]["parts"].clone();
    let said = |at: usize| parts[at]["error"]["message"].as_str().unwrap().to_owned();
    assert!(said(0).starts_with("the run's time was over before"), "{parts}");
    assert!(said(1).ends_with("it was not run"), "{parts}");
    is_out_of_time(&mut world);
}

#[test]
fn a_run_ends_with_its_time_while_it_waits_to_ask_again() {
    let mut world = started_with(brief());
    send(&mut world, "go");
    let mut limited = trouble(Code::RateLimit);
    limited.provider.retry_after = Some(6_000);
    world.breaks(0, limited);
    world.pass(0, 1_500);
    is_out_of_time(&mut world);
}

#[test]
fn a_run_ends_with_its_time_also_after_a_take_over_or_with_a_delegate() {
    let mut world = started_with(brief());
    send(&mut world, "go");
    world.breaks(0, trouble(Code::Quota));
    let task = json!({ "process": "Researcher", "task": "find the fact" }).to_string();
    world.answers(0, answer(vec![script::call("d", "delegate", &task)], StopReason::ToolUse));
    assert_eq!(world.model(0).1.wire, Wire::OpenAiChat, "one without a time of its own");
    world.pass(0, 1_500);
    is_out_of_time(&mut world);
}

#[test]
fn nothing_of_a_run_begins_after_its_time_also_where_its_timer_is_late() {
    let mut world = started_with(brief());
    send(&mut world, "go");
    world.answers(0, asks(&[("a", "get_fact")]));
    // The page is hidden: what a tool says comes, and the timer does not.
    world.now += 5_000;
    returns(&mut world, "a", "42");
    is_out_of_time(&mut world);
    // An answer that is there is not thrown away.
    send(&mut world, "and now?");
    world.now += 5_000;
    world.answers(0, says("late"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "late");
}

#[test]
fn the_time_of_a_run_stands_still_while_it_is_held() {
    let mut world = started_with(brief());
    send(&mut world, "go");
    world.answers(0, asks(&[("a", "get_fact")]));
    world.pass(0, 1_000);
    let mut world = lost(world, brief());
    world.pass(0, 60_000);
    world.must(0, "resume", json!({}));
    returns(&mut world, "a", "42");
    world.answers(0, says("42"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "42");
}

#[test]
fn a_hidden_page_gives_up_a_model_that_keeps_silent() {
    let mut world = started_with(hasty());
    send(&mut world, "hello");
    // Each timer comes a minute late.
    world.pass(0, 60_000);
    assert_eq!(world.pages[0].models.len(), 1, "what came meanwhile is heard first");
    world.pass(0, 60_000);
    assert_eq!(last(&world, "agent:notice")["error"]["code"], "timeout");
}

// Budgets

/// An answer that asks for a tool or not, and has cost this many tokens.
fn costly(tool: Option<&str>, input: u64, output: u64) -> lodger::model::Answer {
    let mut answer = tool.map_or_else(|| says("done"), |id| asks(&[(id, "get_fact")]));
    answer.usage = Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
    answer
}

fn spent(world: &World) -> String {
    let error = last(world, "agent:error");
    assert_eq!(error["code"], "budget_exceeded");
    error["message"].as_str().unwrap().into()
}

#[test]
fn a_run_stops_before_the_call_that_is_too_much_and_the_next_has_a_budget_of_its_own() {
    let mut world = started_with(json!({ "budgets": { "run": { "inputTokens": 100 } } }));
    send(&mut world, "go");
    world.answers(0, costly(Some("a"), 60, 5));
    returns(&mut world, "a", "42");
    world.answers(0, costly(Some("b"), 60, 5));
    returns(&mut world, "b", "43");
    assert_eq!(spent(&world), "the run has used up its budget: 120 of 100 input tokens");
    assert!(world.pages[0].models.is_empty());
    world.must(0, "resume", json!({}));
    world.answers(0, costly(None, 70, 5));
    assert_eq!(last(&world, "agent:session-completed")["text"], "done");
}

#[test]
fn the_budget_of_a_session_outlives_reloads_and_clearing() {
    let limits = || json!({ "budgets": { "session": { "turns": 2 } } });
    let mut world = started_with(limits());
    send(&mut world, "one");
    world.answers(0, costly(None, 1, 1));
    let mut world = lost(world, limits());
    send(&mut world, "two");
    world.answers(0, costly(None, 1, 1));
    world.must(0, "clearConversation", json!({}));
    let mut world = lost(world, limits());
    send(&mut world, "three");
    assert_eq!(spent(&world), "the session has used up its budget: 2 of 2 turns");
    world.must(0, "configureAgent", json!({ "budgets": { "session": { "turns": 3 } } }));
    send(&mut world, "four");
    world.answers(0, costly(None, 1, 1));
    assert_eq!(last(&world, "agent:session-completed")["text"], "done");
}

#[test]
fn a_budget_that_ends_a_run_which_a_page_had_lost_leaves_the_conversation_whole() {
    let limit = |turns: u64| json!({ "provider": two_providers()["provider"], "budgets": { "run": { "turns": turns } } });
    let mut world = started_with(limit(2));
    send(&mut world, "hello");
    world.answers(0, asks(&[("a", "get_fact")]));
    returns(&mut world, "a", "42");
    world.streams(0, 0, "half a word");
    world.must(0, "draft", json!({}));
    let mut world = lost(world, limit(1));
    world.must(0, "resume", json!({}));
    assert_eq!(last(&world, "agent:error")["code"], "budget_exceeded");
    send(&mut world, "and now?");
    let messages = world.model(0).1.body["messages"].as_array().unwrap().clone();
    assert!(messages.last().unwrap().to_string().contains("and now?"), "{messages:#?}");
}

#[test]
fn delegates_spend_what_their_parent_may() {
    let mut world =
        started_with(json!({ "processType": "Orchestrator", "budgets": { "run": { "outputTokens": 10 } } }));
    send(&mut world, "go");
    let task = json!({ "process": "Researcher", "task": "find the fact" }).to_string();
    let mut delegating = answer(vec![script::call("d", "delegate", &task)], StopReason::ToolUse);
    delegating.usage.output_tokens = 6;
    world.answers(0, delegating);
    world.answers(0, costly(Some("a"), 1, 6));
    returns(&mut world, "a", "42");
    assert_eq!(spent(&world), "the run has used up its budget: 12 of 10 output tokens");
    let call = &history(&mut world)[1]["parts"][0];
    assert!(call["error"]["message"].as_str().unwrap().contains("budget"), "{call}");
}

#[test]
fn money_is_counted_by_the_prices_of_the_models() {
    let anthropic = json!({ "kind": "anthropic", "apiKey": "sk-ant-0123456789" });
    let config = json!({ "provider": anthropic, "budgets": { "run": { "cost": 0.01 } } });
    let mut world = started_with(config);
    send(&mut world, "go");
    // Three dollars for a million tokens in, fifteen for a million out.
    world.answers(0, costly(Some("a"), 2_000, 200));
    returns(&mut world, "a", "42");
    world.answers(0, costly(Some("b"), 200, 100));
    returns(&mut world, "b", "43");
    assert_eq!(spent(&world), "the run has used up its budget: $0.0111 of $0.0100");
    let unpriced = world.fails(0, "configureAgent", json!({ "model": "nobody-knows" }));
    assert!(unpriced.message.contains("nobody-knows"), "{unpriced}");
}

#[test]
fn what_nobody_knew_the_price_of_before_does_not_use_up_a_sessions_budget() {
    let anthropic = || json!({ "kind": "anthropic", "apiKey": "sk-ant-0123456789" });
    let limit = |dollars: f64| json!({ "session": { "cost": dollars } });
    let mut world = started();
    send(&mut world, "one");
    world.answers(0, costly(None, 1, 1));
    world.must(0, "configureAgent", json!({ "provider": anthropic(), "budgets": limit(0.01) }));
    // Three dollars for a million tokens in.
    send(&mut world, "two");
    world.answers(0, costly(None, 4_000, 0));
    assert_eq!(last(&world, "agent:session-completed")["usage"]["cost"], 0.012);
    send(&mut world, "three");
    assert_eq!(spent(&world), "the session has used up its budget: $0.0120 of $0.0100");
    world.must(0, "configureAgent", json!({ "budgets": limit(0.02) }));
    send(&mut world, "four");
    world.answers(0, costly(None, 4_000, 0));
    world.must(0, "clearConversation", json!({}));
    let mut world = lost(world, json!({ "provider": anthropic(), "budgets": limit(0.02) }));
    send(&mut world, "five");
    assert_eq!(spent(&world), "the session has used up its budget: $0.0240 of $0.0200", "cleared ones too");
    world.must(0, "configureAgent", json!({ "budgets": limit(0.03) }));
    send(&mut world, "six");
    world.answers(0, costly(None, 1, 0));
    assert_eq!(last(&world, "agent:session-completed")["text"], "done");
    world.journal.audit(&world.disk).unwrap();
}

#[test]
fn a_model_that_does_not_count_is_not_asked_on_under_a_budget_of_money() {
    let config = || {
        let provider = json!({ "kind": "anthropic", "apiKey": "sk-ant-0123456789" });
        json!({ "provider": provider, "budgets": { "session": { "cost": 1 } } })
    };
    let mut world = started_with(config());
    send(&mut world, "one");
    world.answers(0, costly(None, 0, 0));
    let told = "the session has used up its budget: an unknown part of $1.0000";
    send(&mut world, "two");
    assert_eq!(spent(&world), told);
    let mut world = lost(world, config());
    send(&mut world, "three");
    assert_eq!(spent(&world), told, "a reload forgets nothing");
    assert!(!last(&world, "agent:error")["hint"].as_str().unwrap().contains("raise"));
    world.must(0, "configureAgent", json!({ "model": "claude-haiku-4-5" }));
    send(&mut world, "four");
    world.answers(0, costly(None, 1, 1));
    assert_eq!(last(&world, "agent:session-completed")["text"], "done");
    world.journal.audit(&world.disk).unwrap();
}

#[test]
fn a_budget_of_money_goes_with_models_that_cost_nothing() {
    let mut world = World::calm();
    world.equip(0);
    world.settle(0);
    let custom = |model: &str| json!({ "kind": "custom", "model": model, "stream": { "$fn": 50 } });
    let budgets = json!({ "run": { "cost": 1 } });
    for spare in [
        custom("offline"),
        custom("browser"),
        custom("wllama"),
        json!({ "kind": "ollama", "model": "qwen3" }),
        json!({ "kind": "ollama", "model": "qwen3", "baseUrl": "http://192.168.1.50:11434", "allowHttp": true }),
        json!({ "kind": "openai-compatible", "preset": "lmstudio", "model": "mistralai/mistral-small" }),
    ] {
        let anthropic = json!({ "kind": "anthropic", "apiKey": "sk-ant-0123456789" });
        let config = json!({ "provider": anthropic, "providers": { "spare": spare }, "fallback": ["spare"], "budgets": budgets });
        world.must(0, "startAgent", config);
        world.must(0, "stopAgent", json!({}));
    }
    for (kind, model, base) in [
        ("ollama", "gpt-oss:120b-cloud", "http://localhost:11434"),
        ("ollama", "qwen3", "https://ollama.com"),
        ("openai-compatible", "qwen3", "http://localhost:4000/v1"),
    ] {
        let provider = json!({ "kind": kind, "model": model, "baseUrl": base });
        let error = world.fails(0, "startAgent", json!({ "provider": provider, "budgets": budgets }));
        assert!(error.message.contains(model), "{error}");
    }
    world.must(
        0,
        "startAgent",
        json!({ "provider": { "kind": "ollama", "model": "qwen3" }, "budgets": budgets }),
    );
    send(&mut world, "go");
    world.answers(0, costly(None, 5_000_000, 5_000_000));
    assert_eq!(last(&world, "agent:session-completed")["usage"]["cost"], 0.0);
    // A page that pays for its own machine says so.
    let models = json!({ "ollama": { "qwen3": { "price": [1, 2] } } });
    world.must(0, "configureAgent", json!({ "models": models }));
    send(&mut world, "go on");
    world.answers(0, costly(None, 1_000_000, 0));
    assert_eq!(last(&world, "agent:session-completed")["usage"]["cost"], 1.0);
}

#[test]
fn time_counts_while_somebody_works_and_not_while_a_run_is_held() {
    let limits = || json!({ "budgets": { "run": { "wallMs": 10_000 } } });
    let mut world = started_with(limits());
    send(&mut world, "go");
    world.pass(0, 4_000);
    world.answers(0, costly(Some("a"), 1, 1));
    world.pass(0, 200);
    let mut world = lost(world, limits());
    world.now += 3_600_000;
    world.must(0, "resume", json!({}));
    // It only reads, so it is run again.
    returns(&mut world, "a", "42");
    world.pass(0, 6_000);
    world.answers(0, costly(Some("b"), 1, 1));
    returns(&mut world, "b", "43");
    let message = spent(&world);
    assert!(message.starts_with("the run has used up its budget: 10"), "{message}");
}

#[test]
fn no_text_of_an_answer_brings_a_key() {
    let mut world = started_with(two_providers());
    send(&mut world, "hello");
    let mut said = asks(&[(&format!("id-{KEY}"), &format!("tool_{KEY}"))]);
    said.model = Some(format!("claude {KEY}"));
    said.id = Some(format!("msg_{KEY}"));
    world.answers(0, said);
    let why = format!("because of {KEY}");
    world.answers(0, answer(Vec::new(), StopReason::Refusal(Some(why))));
    let all = without_key(&mut world);
    for part in ["claude [REDACTED]", "msg_[REDACTED]", "tool_[REDACTED]", "because of [REDACTED]"] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn what_was_signed_or_raw_with_a_key_in_it_is_stored_without() {
    let mut world = started_with(two_providers());
    send(&mut world, "hello");
    let signed = |text: &str| Block::Thinking { text: text.into(), signature: Some(text.len().to_string()) };
    let raw = json!({ "type": "web_search_tool_result", "content": KEY }).to_string();
    let blocks =
        vec![signed("hm"), signed(&format!("It is {KEY}")), Block::Raw(raw), Block::Text("Yes.".into())];
    world.answers(0, answer(blocks, StopReason::EndTurn));
    let all = without_key(&mut world);
    assert!(all.contains("It is [REDACTED]") && all.contains("web_search_tool_result"), "{all}");
    // What was changed is not signed any more.
    assert!(all.contains(r#"["thinking","hm","2"],["thinking","It is [REDACTED]",null]"#), "{all}");
}

#[test]
fn an_error_is_cut_after_its_keys_are_out() {
    let filled = |length: usize| format!("{}{KEY}", "w".repeat(length));
    let error = json!({ "type": "error", "error": { "type": filled(92), "message": filled(4085) } });
    for bytes in [
        format!("event: error\ndata: {error}\n\n"),
        json!({ "error": { "message": filled(100) } }).to_string(),
        format!("<html><title>{}</title>", filled(190)),
    ] {
        let mut world = started_with(two_providers());
        send(&mut world, "hello");
        let mut decoder = Decoder::new(Wire::Anthropic);
        let error = match decoder.push(bytes.as_bytes(), &mut |_| ()) {
            Err(error) => error,
            Ok(()) => decoder.finish().unwrap_err().0,
        };
        world.breaks(0, error);
        without_key(&mut world);
        let told = notices(&world)[0]["error"]["message"].as_str().unwrap().to_owned();
        assert!(told.len() <= 4096 && told.contains("www"), "{told}");
    }
}

#[test]
fn what_a_page_throws_is_no_longer_than_what_a_provider_says() {
    let mut world = started();
    send(&mut world, "hello");
    let mut error = ErrorInfo::new(Code::Server, "x".repeat(90_000));
    error.provider.retry = Some(false);
    world.breaks(0, error);
    assert_eq!(last(&world, "agent:error")["message"].as_str().map(str::len), Some(4096));
}

/// A proxy or a cache may answer with a part of something. Nobody has asked for a part, so it is no answer.
#[test]
fn a_part_of_an_answer_is_no_answer() {
    let mut world = started_with(json!({ "provider": { "kind": "anthropic", "apiKey": KEY } }));
    send(&mut world, "hello");
    let (call, _) = world.model(0);
    world.responds(0, call, 206, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    let error = last(&world, "agent:error");
    assert_eq!((&error["code"], &error["retryable"]), (&json!("protocol"), &json!(false)), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("part of the answer") && message.ends_with("(HTTP 206)"), "{message}");
    assert!(error["hint"].as_str().unwrap().contains("base URL"), "{error}");
    assert!(history(&mut world).iter().all(|said| said["role"] == "user" || said["status"] == "failed"));
}
