//! What a page is told through a real pump on a real database: in order, and not before it is stored.

use crate::faults;
use crate::host::{Host, Told, custom, until};
use lodger::error::Code;
use serde_json::{Value, json};
use wasm_bindgen_test::wasm_bindgen_test;

/// The events from here on, each as its name and, where there is one, its phase, status or lifecycle.
fn names(told: &[Told]) -> Vec<String> {
    let name = |told: &Told| match told {
        Told::Event(name, detail) => {
            let more =
                ["phase", "status", "lifecycle", "code"].iter().find_map(|key| detail.get(key)?.as_str());
            Some(format!("{} {}", name.trim_start_matches("agent:"), more.unwrap_or_default()))
        }
        _ => None,
    };
    told.iter().filter_map(name).map(|name| name.trim_end().to_owned()).collect()
}

#[wasm_bindgen_test]
async fn a_run_is_told_in_order_and_counted() {
    let host = Host::fresh("order").await;
    host.ask("startAgent", custom()).await.unwrap();
    let before = host.told().len();
    let run = host.ask("sendMessage", json!({ "text": "Hello" })).await.unwrap();
    let (call, request) = host.call("stream", 0).await;
    assert_eq!(request["messages"].as_array().unwrap().last().unwrap()["content"], "Hello");
    host.pump.feed_text(call, "Good ");
    host.pump.feed_text(call, "day.");
    host.pump.answer(call, Ok(None));
    host.event("agent:session-completed", json!({ "runId": run["runId"], "text": "Good day." })).await;
    until(|| (host.status()["is_streaming"] == false).then_some(())).await;
    let told = host.told();
    let expected = [
        "lifecycle start",
        "session-started",
        "status-changed Running",
        "message-chunk",
        "message-chunk",
        "session-completed",
        "lifecycle end",
        "status-changed Running",
    ];
    assert_eq!(names(&told[before..]), expected);
    let of_run = told[before..].iter().filter_map(|told| match told {
        Told::Event(_, detail) if detail.get("runId").is_some() => Some(detail),
        _ => None,
    });
    let counts: Vec<&Value> = of_run.map(|detail| &detail["seq"]).collect();
    assert_eq!(counts, (1..=6).map(|n| json!(n)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    // The mirror is right before the event that speaks of it.
    let place = |wanted: &dyn Fn(&Told) -> bool| told.iter().rposition(wanted).unwrap();
    let mirror = place(&|told| matches!(told, Told::Status(_)));
    let end = place(&|told| matches!(told, Told::Event("agent:session-completed", _)));
    assert!(mirror < end);
    host.close().await;
}

#[wasm_bindgen_test]
async fn while_a_commit_is_slow_nothing_is_told_that_must_be_stored_first() {
    let host = Host::fresh("slow").await;
    host.ask("startAgent", custom()).await.unwrap();
    let before = host.told().len();
    let stalled = faults::stalled("slow").await;
    let id = host.send("sendMessage", json!({ "text": "Hello" }));
    // A model call may be made again, so it does not wait; its text is shown as it comes.
    let (call, _) = host.call("stream", 0).await;
    host.pump.feed_text(call, "Good day.");
    host.pump.answer(call, Ok(None));
    for _ in 0..50 {
        faults::task().await;
    }
    assert_eq!(host.reply(id), None);
    assert_eq!(names(&host.told()[before..]), [""; 0]);
    drop(stalled);
    until(|| host.reply(id)).await.unwrap();
    host.event("agent:session-completed", json!({ "text": "Good day." })).await;
    host.close().await;
}

#[wasm_bindgen_test]
async fn a_commit_that_fails_ends_the_harness_and_no_run() {
    let host = Host::fresh("failed").await;
    host.ask("startAgent", custom()).await.unwrap();
    host.ask("sendMessage", json!({ "text": "One" })).await.unwrap();
    let (call, _) = host.call("stream", 0).await;
    let broken = faults::watch_writes(u32::MAX);
    host.pump.feed_text(call, "Good day.");
    host.pump.answer(call, Ok(None));
    host.event("agent:error", json!({ "code": "storage_failed" })).await;
    assert!(host.status()["lifecycle"]["Error"].is_string(), "{}", host.status());
    assert_eq!(host.refused("sendMessage", json!({ "text": "Two" })).await, Code::NotRunning);
    assert_eq!(host.refused("startAgent", json!({})).await, Code::StorageFailed);
    let ended = |told: &Told| matches!(told, Told::Event("agent:session-completed", _));
    assert!(!host.told().iter().any(ended), "the run's end was never stored");
    drop(broken);
    // What is stored is folded: the run is there and waits for somebody to go on with it.
    host.ask("startAgent", custom()).await.unwrap();
    host.ask("resume", json!({})).await.unwrap();
    let (call, request) = host.call("stream", 1).await;
    assert_eq!(request["messages"].as_array().unwrap().last().unwrap()["content"], "One");
    host.pump.feed_text(call, "Here I am again.");
    host.pump.answer(call, Ok(None));
    host.event("agent:session-completed", json!({ "text": "Here I am again." })).await;
    host.close().await;
}

#[wasm_bindgen_test]
async fn every_commit_may_fail_once() {
    let host = Host::fresh("shaky").await;
    let shaky = faults::watch_writes(0);
    host.ask("startAgent", custom()).await.unwrap();
    drop(shaky);
    for (n, text) in ["One", "Two", "Three"].into_iter().enumerate() {
        let aborted = faults::watch_writes(1);
        host.ask("sendMessage", json!({ "text": text })).await.unwrap();
        assert!(aborted.seen().len() >= 2);
        drop(aborted);
        let aborted = faults::watch_writes(1);
        let (call, _) = host.call("stream", n).await;
        host.pump.feed_text(call, text);
        host.pump.answer(call, Ok(None));
        host.event("agent:session-completed", json!({ "text": text })).await;
        assert!(aborted.seen().len() >= 2);
    }
    let history = host.ask("history", json!({})).await.unwrap();
    assert_eq!(history.as_array().unwrap().len(), 6, "{history}");
    host.close().await;
}

#[wasm_bindgen_test]
async fn a_tab_that_closes_in_mid_answer_leaves_a_run_that_goes_on() {
    let host = Host::fresh("reload").await;
    host.ask("startAgent", custom()).await.unwrap();
    let run = host.ask("sendMessage", json!({ "text": "Tell me" })).await.unwrap();
    let (call, _) = host.call("stream", 0).await;
    host.pump.feed_text(call, "Once upon");
    host.ask("draft", json!({})).await.unwrap();
    host.close().await;

    let host = Host::open("reload").await.unwrap();
    host.ask("startAgent", custom()).await.unwrap();
    let history = host.ask("history", json!({})).await.unwrap();
    assert_eq!(history[1]["status"], "partial", "{history}");
    assert_eq!(history[1]["parts"][0]["text"], "Once upon");
    let resumed = host.ask("resume", json!({})).await.unwrap();
    assert_eq!(resumed["runId"], run["runId"]);
    let (call, _) = host.call("stream", 0).await;
    host.pump.feed_text(call, "Once upon a time.");
    host.pump.answer(call, Ok(None));
    host.event("agent:session-completed", json!({ "text": "Once upon a time." })).await;
    host.close().await;
}
