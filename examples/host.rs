//! The core on the host: a memory store, a scripted transport, and the whole pump in one function.
//!
//! `cargo run --example host`. A map stands here for IndexedDB, a yes for Web Locks, and for `fetch` a
//! model that always answers the same two things.

use lodger::error::ErrorInfo;
use lodger::harness::{Action, By, Harness, Input, ModelRequest, Notice, Options};
use lodger::model::{Decoder, Wire};
use lodger::ports::{HttpRequest, MemoryStore};
use lodger::protocol::read;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// A body as Anthropic streams it: first a tool call, and prose once there is a result.
fn transport(request: &HttpRequest) -> String {
    let event = |data: Value| format!("data: {data}\n\n");
    let (block, delta, stop) = if request.body.contains("tool_result") {
        let block = json!({ "type": "text", "text": "" });
        (block, json!({ "type": "text_delta", "text": "It is noon in Paris." }), "end_turn")
    } else {
        let block = json!({ "type": "tool_use", "id": "toolu_1", "name": "get_time", "input": {} });
        (block, json!({ "type": "input_json_delta", "partial_json": "{\"city\":\"Paris\"}" }), "tool_use")
    };
    [
        event(json!({ "type": "message_start", "message": { "id": "msg_1", "model": "scripted", "usage": {} } })),
        event(json!({ "type": "content_block_start", "index": 0, "content_block": block })),
        event(json!({ "type": "content_block_delta", "index": 0, "delta": delta })),
        event(json!({ "type": "content_block_stop", "index": 0 })),
        event(json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": {} })),
        event(json!({ "type": "message_stop" })),
    ]
    .concat()
}

/// Sends a request, tells the harness of every piece of the answer, and gives the whole.
fn call_model(harness: &mut Harness, call: u32, wire: Wire, request: &HttpRequest) -> Input {
    let mut decoder = Decoder::new(wire);
    for bytes in transport(request).as_bytes().chunks(64) {
        let pushed = decoder.push(bytes, &mut |delta| {
            harness.delta(call, delta);
        });
        // What is wrong is told by `finish`, with what had come before.
        if pushed.is_err() {
            break;
        }
        harness.flush(now(), call, decoder.usage());
    }
    let result = decoder.finish().map_err(|(error, answer)| (error, Some(answer)));
    Input::Answered { call, result }
}

/// The pump: does what the harness asks for and tells it what came of that, until nothing is left. Gives what
/// was replied.
fn pump(harness: &mut Harness, store: &mut MemoryStore, command: Input) -> Result<Option<String>, ErrorInfo> {
    let mut reply = Ok(None);
    let mut inputs = VecDeque::from([command]);
    loop {
        while let Some(action) = harness.poll(now()) {
            match action {
                Action::Peek => inputs.push_back(Input::Held(false)),
                Action::Lock { .. } => inputs.push_back(Input::Locked(true)),
                Action::Commit { id, commit } => {
                    inputs.push_back(Input::Committed { commit: id, result: store.commit(&commit) });
                }
                Action::Sign { id, texts } => {
                    let result = Ok(Some(store.signatures(&texts)));
                    inputs.push_back(Input::Signed { id, result, strict: false });
                }
                // Nothing is shared with other workspaces.
                Action::Room(room) => inputs.push_back(Input::Room { room, result: Ok(()) }),
                Action::Account { id, .. } => {
                    inputs.push_back(Input::Account { read: id, result: Ok(Vec::new()) })
                }
                Action::Read { id, reads } => {
                    let rows = reads.iter().map(|read| store.read(read)).collect();
                    inputs.push_back(Input::Read { read: id, result: Ok(rows) });
                }
                Action::CallModel { call, request: ModelRequest::Http { http, request, .. } } => {
                    inputs.push_back(call_model(harness, call, http.preset.wire, &request));
                }
                Action::CallPage { call, json, .. } => {
                    println!("the tool is called with {}", json.unwrap_or_default());
                    inputs.push_back(Input::Returned { call, result: Ok(Some("\"12:00\"".into())) });
                }
                Action::Tell(Notice::Event(kind, detail)) => println!("{kind:<26} {detail}"),
                Action::Reply { result, .. } => reply = result,
                _ => {}
            }
        }
        match inputs.pop_front() {
            Some(input) => harness.handle(now(), input),
            // A browser would set a timer here.
            None if harness.deadline().is_some_and(|due| due <= now()) => {
                harness.handle(now(), Input::Tick { online: true })
            }
            None => return reply,
        }
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A whole conversation; gives its history as the page would get it.
pub fn converse() -> Result<Option<String>, ErrorInfo> {
    let options = Options {
        name: "example".into(),
        page_tools: false,
        holder: "the host".into(),
        operator: Options::local_operator(),
    };
    let mut harness = Harness::new(options);
    let mut store = MemoryStore::new();
    let mut id = 0;
    let mut ask = |name: &str, args: Value| {
        id += 1;
        let command = Input::Command { id, request: read(name, args), fresh: id.to_string(), by: By::Here };
        pump(&mut harness, &mut store, command)
    };
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    ask(
        "tools.register",
        json!({ "name": "get_time", "description": "The time.", "inputSchema": schema, "execute": { "$fn": 1 } }),
    )?;
    ask("startAgent", json!({ "provider": { "kind": "anthropic", "apiKey": "sk-ant-example" } }))?;
    ask("sendMessage", json!({ "text": "What time is it in Paris?" }))?;
    ask("history", json!({}))
}

fn main() {
    match converse() {
        Ok(history) => println!("{}", history.unwrap_or_default()),
        Err(error) => println!("{}: {error}", error.code.as_str()),
    }
}
