//! The arguments of a tool call, in pieces: whatever text they are, and wherever they end.
//!
//! Nothing reads arguments before they are whole, so that half of them is never a call: a call is in no answer before
//! its end came, then it has every byte; and what is sent of it is an object, the same one if it was one that every
//! server reads.

use super::draws;
use lodger::json;
use lodger::model::{Answer, Block, Decoder, Delta, DeltaKind, Dialect, Message, Role, Wire};
use serde_json::{Value, json};

pub fn hold(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let random = &mut draws(bytes);
    reads_as_it_is(&text);
    // So does each beginning of it; a few are tried, because they are many.
    for _ in 0..8 {
        reads_as_it_is(&text[..text.floor_char_boundary(random.usize(..=text.len()))]);
    }
    let mut pieces = Vec::new();
    let mut rest = &*text;
    while !rest.is_empty() {
        let mut at = random.usize(1..=8).min(rest.len());
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    for &wire in Wire::ALL {
        arrive(wire, &text, &stream(wire, &text, &pieces));
    }
}

/// Our reader and writer of JSON against serde_json's.
fn reads_as_it_is(text: &str) {
    let theirs = serde_json::from_str::<Value>(text).ok();
    let ours = json::parse(text);
    assert_eq!(ours, theirs, "{text:?}");
    if let Some(value) = ours {
        assert_eq!(json::json(&value), value.to_string(), "{text:?}");
    }
}

/// The events of an answer that is one call with these arguments; the number says after how many of them the call is whole.
fn stream(wire: Wire, whole: &str, pieces: &[&str]) -> (Vec<Value>, usize) {
    let mut events = Vec::new();
    match wire {
        Wire::Anthropic => {
            events.push(json!({ "type": "message_start", "message": { "id": "m", "content": [] } }));
            let block = json!({ "type": "tool_use", "id": "c", "name": "t", "input": {} });
            events.push(json!({ "type": "content_block_start", "index": 0, "content_block": block }));
            for piece in pieces {
                let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                events.push(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
            }
            events.push(json!({ "type": "content_block_stop", "index": 0 }));
            let calls = events.len();
            events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
            events.push(json!({ "type": "message_stop" }));
            (events, calls)
        }
        Wire::OpenAiChat => {
            let chunk =
                |call: Value| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
            events
                .push(chunk(json!({ "index": 0, "id": "c", "function": { "name": "t", "arguments": "" } })));
            for piece in pieces {
                events.push(chunk(json!({ "index": 0, "function": { "arguments": piece } })));
            }
            events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }));
            let calls = events.len();
            (events, calls)
        }
        Wire::OpenAiResponses => {
            let item = |arguments: &str| json!({ "type": "function_call", "call_id": "c", "name": "t", "arguments": arguments });
            let event = |kind: &str| json!({ "type": format!("response.{kind}"), "output_index": 0 });
            let with = |kind: &str, name: &str, value: Value| {
                let mut event = event(kind);
                event[name] = value;
                event
            };
            events.push(with("output_item.added", "item", item("")));
            for piece in pieces {
                events.push(with("function_call_arguments.delta", "delta", json!(piece)));
            }
            events.push(with("function_call_arguments.done", "arguments", json!(whole)));
            let calls = events.len();
            events.push(with("output_item.done", "item", item(whole)));
            events.push(with("completed", "response", json!({ "status": "completed" })));
            (events, calls)
        }
        Wire::Ollama => {
            let call = json!({ "id": "c", "function": { "name": "t", "arguments": whole } });
            events.push(json!({ "message": { "content": "", "tool_calls": [call] }, "done": false }));
            events.push(json!({ "message": { "content": "" }, "done": true, "done_reason": "stop" }));
            (events, 1)
        }
    }
}

/// Reads the events one by one; after each the answer may break off.
fn arrive(wire: Wire, arguments: &str, (events, calls): &(Vec<Value>, usize)) {
    let mut decoder = Decoder::new(wire);
    let mut begun = 0;
    let expected = if arguments.trim().is_empty() { "{}" } else { arguments };
    let call = Block::ToolCall { id: "c".into(), name: "t".into(), arguments: expected.into() };
    for (at, event) in events.iter().enumerate() {
        let text = match wire {
            Wire::Ollama => format!("{event}\n"),
            _ => format!("data: {event}\n\n"),
        };
        let mut sink = |delta: Delta<'_>| {
            assert_eq!((delta.part, delta.kind, delta.text), (0, DeltaKind::ToolCall, "t"));
            begun += 1;
        };
        decoder.push(text.as_bytes(), &mut sink).unwrap();
        // A few of them: each looks at all that has come.
        if at < 3 || at + 3 > events.len() || at.is_power_of_two() {
            let blocks = decoder.snapshot().blocks;
            let whole = at + 1 >= *calls && (wire != Wire::OpenAiChat || !blocks.is_empty());
            assert_eq!(blocks, if whole { vec![call.clone()] } else { vec![] }, "{wire:?}, event {at}");
        }
    }
    assert_eq!(begun, 1);
    let Answer { blocks, .. } = decoder.finish().unwrap();
    assert_eq!(blocks, [call], "{wire:?}");
    goes_back(wire, arguments, &blocks);
}

/// What the provider is told that it had asked for.
fn goes_back(wire: Wire, arguments: &str, blocks: &[Block]) {
    let mut out = String::new();
    let message = Message { role: Role::Assistant, blocks: blocks.to_vec(), own: true };
    wire.encode_message(&Dialect::CHAT, &message, &mut out);
    let sent: Value = serde_json::from_str(&out).unwrap_or_else(|why| panic!("{why}: {out}"));
    let text = |value: &Value| -> Value { serde_json::from_str(value.as_str().unwrap()).unwrap() };
    let sent = match wire {
        Wire::Anthropic => sent["content"][0]["input"].clone(),
        Wire::OpenAiChat => text(&sent["tool_calls"][0]["function"]["arguments"]),
        Wire::OpenAiResponses => text(&sent["arguments"]),
        Wire::Ollama => sent["tool_calls"][0]["function"]["arguments"].clone(),
    };
    let asked = serde_json::from_str::<Value>(arguments).ok();
    let asked = asked.filter(|asked| asked.is_object() && depth(asked) <= 100);
    assert_eq!(sent, asked.unwrap_or_else(|| json!({})), "{wire:?}");
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
