//! The arguments of a tool call, in pieces: whatever text they are, and wherever they end.
//!
//! Nothing reads arguments before they are whole, so that half of them is never a call. A call is in no answer before
//! its end came, then it has every byte. What is sent of it is an object, the same one if it was one that every
//! server reads.

use super::draws;
use crate::support::streams::{OneCall, framed, one_call};
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
        arrive(wire, &text, &one_call(wire, "t", &pieces, json!(text)));
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

/// Reads the events one by one; after each the answer may break off.
fn arrive(wire: Wire, arguments: &str, answer: &OneCall) {
    let events = &answer.events;
    let mut decoder = Decoder::new(wire);
    let mut begun = 0;
    let expected = if arguments.trim().is_empty() { "{}" } else { arguments };
    let call = Block::ToolCall { id: "c".into(), name: "t".into(), arguments: expected.into() };
    for (at, event) in events.iter().enumerate() {
        let mut sink = |delta: Delta<'_>| {
            assert_eq!((delta.part, delta.kind, delta.text), (0, DeltaKind::ToolCall, "t"));
            begun += 1;
        };
        decoder.push(framed(wire, event).as_bytes(), &mut sink).unwrap();
        // A few of them: each looks at all that has come.
        if at < 3 || at + 3 > events.len() || at.is_power_of_two() {
            let blocks = decoder.snapshot().blocks;
            let whole = at + 1 >= answer.whole_after && (wire != Wire::OpenAiChat || !blocks.is_empty());
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
    let sent: Vec<Value> =
        serde_json::from_str(&format!("[{out}]")).unwrap_or_else(|why| panic!("{why}: {out}"));
    let sent = sent.last().unwrap();
    let text = |value: &Value| -> Value { serde_json::from_str(value.as_str().unwrap()).unwrap() };
    let sent = match wire {
        Wire::Anthropic => sent["content"][0]["input"].clone(),
        Wire::OpenAiChat => text(&sent["tool_calls"][0]["function"]["arguments"]),
        Wire::OpenAiResponses => text(&sent["arguments"]),
        Wire::Gemini => sent["arguments"].clone(),
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
