//! Model calls: headers are checked before they go, and what nobody wants any more is aborted.
//!
//! A server of the test's own stands in for `fetch`, in this page. The network itself, and what a real server
//! sees of an abort, are the business of the package's tests.

use crate::faults::{self, Request, Server};
use crate::host::{Host, Told, until};
use serde_json::{Value, json};
use wasm_bindgen_test::wasm_bindgen_test;

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

fn start() -> String {
    event(&json!({ "type": "message_start", "message": {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
        "usage": { "input_tokens": 1, "output_tokens": 1 } } }))
        + &event(
            &json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        )
}

fn text(text: &str) -> String {
    event(
        &json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
    )
}

fn stop() -> String {
    event(&json!({ "type": "content_block_stop", "index": 0 }))
        + &event(
            &json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
        )
        + &event(&json!({ "type": "message_stop" }))
}

fn anthropic(key: Value) -> Value {
    json!({ "provider": { "kind": "anthropic", "apiKey": key, "baseUrl": "https://model.example" } })
}

async fn started(name: &str, config: Value) -> Host {
    let host = Host::fresh(name).await;
    host.ask("startAgent", config).await.unwrap();
    host.ask("sendMessage", json!({ "text": "Hello" })).await.unwrap();
    host
}

async fn request(server: &Server, n: usize) -> Request {
    until(|| server.requests().into_iter().nth(n)).await
}

#[wasm_bindgen_test]
async fn a_call_ends_with_its_body_and_is_not_aborted() {
    let server = Server::start();
    let host = started("fetch", anthropic(json!("sk-test-key"))).await;
    let request = request(&server, 0).await;
    assert_eq!(request.url(), "https://model.example/v1/messages");
    let headers: Vec<(String, String)> = serde_wasm_bindgen::from_value(request.headers()).unwrap();
    let header = |name: &str| headers.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str());
    assert_eq!(header("x-api-key"), Some("sk-test-key"));
    assert_eq!(header("content-type"), Some("application/json"));
    faults::answer(&request, 200);
    faults::write(&request, &(start() + &text("Good ")));
    host.event("agent:message-chunk", json!({ "text": "Good " })).await;
    faults::write(&request, &(text("day.") + &stop()));
    faults::end(&request);
    host.event("agent:session-completed", json!({ "text": "Good day." })).await;
    faults::task().await;
    assert!(!request.aborted());
    host.close().await;
}

#[wasm_bindgen_test]
async fn an_interrupt_aborts_the_request_before_its_head() {
    let server = Server::start();
    let host = started("abort head", anthropic(json!("sk-test-key"))).await;
    let request = request(&server, 0).await;
    host.ask("interrupt", json!({})).await.unwrap();
    assert!(request.aborted());
    host.event("agent:session-interrupted", json!({ "reason": "user" })).await;
    host.close().await;
}

#[wasm_bindgen_test]
async fn an_interrupt_aborts_the_request_in_the_middle_of_its_body() {
    let server = Server::start();
    let host = started("abort body", anthropic(json!("sk-test-key"))).await;
    let request = request(&server, 0).await;
    faults::answer(&request, 200);
    faults::write(&request, &(start() + &text("Once upon")));
    host.event("agent:message-chunk", json!({ "text": "Once upon" })).await;
    host.ask("interrupt", json!({})).await.unwrap();
    assert!(request.aborted(), "the guard lives as long as the body");
    host.event("agent:session-interrupted", json!({})).await;
    let history = host.ask("history", json!({})).await.unwrap();
    assert_eq!(history[1]["status"], "interrupted");
    assert_eq!(history[1]["parts"][0]["text"], "Once upon");
    host.close().await;
}

#[wasm_bindgen_test]
async fn closing_aborts_the_request() {
    let server = Server::start();
    let host = started("abort close", anthropic(json!("sk-test-key"))).await;
    let request = request(&server, 0).await;
    faults::answer(&request, 200);
    faults::write(&request, &start());
    host.close().await;
    assert!(request.aborted());
}

#[wasm_bindgen_test]
async fn a_stream_that_makes_no_sense_is_not_read_to_its_end() {
    let server = Server::start();
    let host = started("nonsense", anthropic(json!("sk-test-key"))).await;
    let request = request(&server, 0).await;
    faults::answer(&request, 200);
    faults::write(&request, "event: message_start\ndata: {]\n\n");
    host.event("agent:lifecycle", json!({ "phase": "error" })).await;
    assert!(request.aborted());
    host.close().await;
}

#[wasm_bindgen_test]
async fn a_key_with_a_newline_never_reaches_the_network() {
    let server = Server::start();
    let host = started("newline", anthropic(json!({ "$fn": 1 }))).await;
    let (call, _) = host.call("apiKey", 0).await;
    host.pump.answer(call, Ok(Some(json!("sk-secret\nx-other: value").to_string())));
    let error = host.event("agent:error", json!({})).await;
    assert_eq!(error["code"], "invalid_config", "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    assert_eq!(server.requests().len(), 0);
    // The instance is whole: the same harness makes the next call.
    host.ask("sendMessage", json!({ "text": "Again" })).await.unwrap();
    let (call, _) = host.call("apiKey", 1).await;
    host.pump.answer(call, Ok(Some(json!("sk-good-key").to_string())));
    request(&server, 0).await;
    host.close().await;
}

#[wasm_bindgen_test]
async fn an_error_of_the_model_api_is_typed() {
    let server = Server::start();
    let host = started("refused", anthropic(json!("sk-test-key"))).await;
    let request = request(&server, 0).await;
    faults::answer(&request, 401);
    faults::write(
        &request,
        r#"{"type":"error","error":{"type":"authentication_error","message":"bad key"}}"#,
    );
    faults::end(&request);
    let error = host.event("agent:error", json!({})).await;
    assert_eq!(error["code"], "auth", "{error}");
    host.close().await;
}

#[wasm_bindgen_test]
async fn the_pages_own_fetch_is_told_of_an_interrupt_and_not_heard_after_it() {
    let mut config = anthropic(json!("sk-test-key"));
    config["provider"]["fetch"] = json!({ "$fn": 2 });
    let server = Server::start();
    let host = started("own fetch", config).await;
    let (call, args) = host.call("fetch", 0).await;
    assert_eq!(args["url"], "https://model.example/v1/messages");
    host.pump.feed_head(call, 200, Vec::new());
    host.pump.feed_bytes(call, (start() + &text("Once upon")).as_bytes());
    host.event("agent:message-chunk", json!({ "text": "Once upon" })).await;
    host.ask("interrupt", json!({})).await.unwrap();
    host.event("agent:session-interrupted", json!({})).await;
    assert!(host.told().contains(&Told::Abort(call)));
    let before = host.told().len();
    host.pump.feed_bytes(call, (text(" a time.") + &stop()).as_bytes());
    host.pump.answer(call, Ok(None));
    faults::task().await;
    assert_eq!(host.told()[before..], [], "late text is dropped");
    assert_eq!(server.requests().len(), 0, "our own fetch was not used");
    host.close().await;
}
