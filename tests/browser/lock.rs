//! One harness a workspace, over all tabs of the origin.

use crate::faults;
use crate::host::{Host, custom, until};
use lodger::error::Code;
use serde_json::json;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
async fn a_second_harness_is_refused_until_the_first_lets_go() {
    let first = Host::fresh("lock").await;
    let second = Host::open("lock").await.unwrap();
    first.ask("startAgent", json!({})).await.unwrap();
    let error = second.ask("startAgent", json!({})).await.unwrap_err();
    assert_eq!(error.code, Code::AlreadyRunning);
    assert!(error.message.contains("already running in another tab"), "{}", error.message);
    assert_eq!(second.status()["lifecycle"], "Stopped");
    // The one that was refused holds nothing back.
    assert_eq!(first.refused("startAgent", json!({ "ifRunning": "reject" })).await, Code::AlreadyRunning);
    first.ask("stopAgent", json!({})).await.unwrap();
    second.ask("startAgent", json!({})).await.unwrap();
    assert_eq!(first.refused("startAgent", json!({})).await, Code::AlreadyRunning);
    second.close().await;
    first.ask("startAgent", json!({})).await.unwrap();
    first.close().await;
    faults::lock_is_free("lodger:lock").await;
}

#[wasm_bindgen_test]
async fn two_that_start_at_once_have_one_winner() {
    let hosts = [Host::fresh("race").await, Host::open("race").await.unwrap()];
    for _ in 0..5 {
        let ids = hosts.each_ref().map(|host| host.send("startAgent", json!({})));
        let mut winners = 0;
        for (host, id) in hosts.iter().zip(ids) {
            match until(|| host.reply(id)).await {
                Ok(_) => winners += 1,
                Err(error) => assert_eq!(error.code, Code::AlreadyRunning),
            }
        }
        assert_eq!(winners, 1);
        for host in &hosts {
            host.ask("stopAgent", json!({})).await.unwrap();
        }
    }
    for host in hosts {
        host.close().await;
    }
}

#[wasm_bindgen_test]
async fn a_holder_shows_that_it_lives_in_each_of_its_epochs() {
    let host = Host::fresh("alive").await;
    for epoch in 1..=2 {
        let alive = format!("lodger:alive:alive:{epoch}");
        host.ask("startAgent", json!({})).await.unwrap();
        assert!(faults::lock_is_held(&alive).await);
        host.ask("stopAgent", json!({})).await.unwrap();
        faults::lock_is_free(&alive).await;
    }
    host.close().await;
}

#[wasm_bindgen_test]
async fn a_harness_whose_lock_is_taken_away_stops_with_an_error() {
    let host = Host::fresh("robbed").await;
    host.ask("startAgent", custom()).await.unwrap();
    host.ask("sendMessage", json!({ "text": "Hello" })).await.unwrap();
    let (call, _) = host.call("stream", 0).await;
    let thief = faults::stolen("lodger:robbed").await;
    let error = host.event("agent:error", json!({ "code": "ownership_lost" })).await;
    assert_eq!(error["workspace"], "robbed");
    assert_eq!(host.status()["lifecycle"]["Error"], error["message"]);
    assert_eq!(host.status()["is_streaming"], false);
    assert!(host.told().contains(&crate::host::Told::Abort(call)), "its model call is aborted");
    assert_eq!(host.refused("sendMessage", json!({ "text": "Hello" })).await, Code::NotRunning);
    assert_eq!(host.refused("startAgent", json!({})).await, Code::AlreadyRunning);
    drop(thief);
    host.ask("startAgent", json!({})).await.unwrap();
    let history = host.ask("history", json!({})).await.unwrap();
    assert_eq!(history[0]["parts"][0]["text"], "Hello", "{history}");
    host.close().await;
}

#[wasm_bindgen_test]
async fn without_locks_the_error_says_what_to_do() {
    let host = Host::fresh("insecure").await;
    let missing = faults::no_locks();
    let error = host.ask("startAgent", json!({})).await.unwrap_err();
    drop(missing);
    assert_eq!(error.code, Code::InsecureContext);
    assert!(error.hint.as_deref().unwrap().contains("https"));
    assert_eq!(host.status()["lifecycle"], "Stopped");
    host.ask("startAgent", json!({})).await.unwrap();
    host.close().await;
}
