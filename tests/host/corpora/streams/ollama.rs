//! Ollama's own API.

use super::*;
use lodger::model::{StopReason, Usage};

pub const READING: Reading = Reading {
    wire: Wire::Ollama,
    path: "/api/chat",
    mark: "\"done\":false",
    own: ("ollama", 10),
    events,
    check,
};

/// The objects of a body, each up to its closing bracket: a line counts once it is whole.
fn events(bytes: &[u8]) -> Vec<(usize, String)> {
    let (mut events, mut at) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let object = line.trim_ascii_end();
        if serde_json::from_slice::<Value>(object).is_ok_and(|value| value.is_object()) {
            events.push((at + object.len(), String::from_utf8(object.to_vec()).unwrap()));
        } else {
            // Only an empty line, or what was cut, may be none.
            assert!(object.is_empty() || !line.ends_with(b"\n"), "{}", String::from_utf8_lossy(line));
        }
        at += line.len();
    }
    events
}

/// What the lines say.
#[derive(Default)]
struct Said {
    /// The kind of each block, and what it is: text, or the name and the arguments of a call.
    parts: Vec<(DeltaKind, String, Value)>,
    /// The ids of the calls, where they have one.
    ids: Vec<Option<String>>,
    /// The last line, once it has come.
    last: Value,
    failure: Option<Code>,
}

fn read(events: &[(usize, String)]) -> Said {
    let mut said = Said::default();
    for (_, line) in events {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(error) = line["error"].as_str() {
            said.failure = Some(match error.contains("context length") {
                true => Code::ContextLength,
                false => Code::Server,
            });
            return said;
        }
        let message = &line["message"];
        for (kind, name) in [(DeltaKind::Thinking, "thinking"), (DeltaKind::Text, "content")] {
            let text = message[name].as_str().unwrap_or("");
            match said.parts.last_mut() {
                _ if text.is_empty() => {}
                Some((last, before, _)) if *last == kind => before.push_str(text),
                _ => said.parts.push((kind, text.into(), Value::Null)),
            }
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let name = call["function"]["name"].as_str().unwrap();
            let arguments = call["function"]["arguments"].clone();
            said.parts.push((DeltaKind::ToolCall, name.into(), arguments));
            said.ids.push(call["id"].as_str().map(String::from));
        }
        if line["done"] == true {
            said.last = line;
            return said;
        }
    }
    said.failure = Some(Code::StreamBroken);
    said
}

fn check(name: &str, bytes: &[u8], events: &[(usize, String)]) -> &'static str {
    let said = read(events);
    let outcome = decode(Wire::Ollama, [bytes]);
    let answer = answer_of(&outcome);
    assert_eq!(outcome.1.as_ref().err().map(|(error, _)| error.code), said.failure, "{name}");
    let mut ids = Vec::new();
    let parts: Vec<(DeltaKind, String, Value)> = answer
        .blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => (DeltaKind::Text, text.clone(), Value::Null),
            Block::Thinking { text, signature: None } => (DeltaKind::Thinking, text.clone(), Value::Null),
            Block::ToolCall { id, name, arguments } => {
                ids.push(id.clone());
                (DeltaKind::ToolCall, name.clone(), serde_json::from_str(arguments).unwrap())
            }
            other => panic!("{name}: no line says {other:?}"),
        })
        .collect();
    assert_eq!(parts, said.parts, "{name}");
    for (at, (id, given)) in ids.iter().zip(&said.ids).enumerate() {
        let free = given.is_some() && !said.ids[..at].contains(given);
        assert!(!free || given.as_ref() == Some(id), "{name}: {id} is not {given:?}");
    }
    let different: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert!(different.len() == ids.len() && !ids.contains(&String::new()), "{name}: {ids:?}");
    let count = |member: &str| said.last[member].as_u64().unwrap_or(0);
    let usage = Usage {
        input_tokens: count("prompt_eval_count"),
        output_tokens: count("eval_count"),
        ..Usage::default()
    };
    assert_eq!(answer.usage, usage, "{name}");
    check_shown(name, &outcome);
    let (stop, kind) = match (said.failure, said.last["done_reason"].as_str()) {
        (Some(code), _) => (None, code.as_str()),
        (None, Some("length")) => (Some(StopReason::MaxTokens), "max_tokens"),
        (None, Some("stop") | None) if ids.is_empty() => (Some(StopReason::EndTurn), "end_turn"),
        (None, Some("stop") | None) => (Some(StopReason::ToolUse), "tool_use"),
        (None, Some(other)) => panic!("{name}: a reason that this test does not know: {other}"),
    };
    assert_eq!(answer.stop, stop, "{name}");
    check_sent_back(name, answer, &said);
    kind
}

/// The answer as the next request carries it.
fn check_sent_back(name: &str, answer: &Answer, said: &Said) {
    let message = Message { role: Role::Assistant, blocks: answer.blocks.clone(), own: true };
    let mut sent = String::new();
    Wire::Ollama.encode_message(&Dialect::CHAT, &message, &mut sent);
    let sent: Vec<Value> = serde_json::from_str(&format!("[{sent}]")).unwrap();
    let of = |kind: DeltaKind| said.parts.iter().filter(move |part| part.0 == kind);
    let joined = |kind: DeltaKind| {
        let texts: Vec<&str> = of(kind).map(|part| part.1.as_str()).collect();
        texts.join("\n\n")
    };
    if of(DeltaKind::ToolCall).next().is_none() && joined(DeltaKind::Text).trim().is_empty() {
        assert!(sent.is_empty(), "{name}: {sent:?}");
        return;
    }
    assert_eq!(sent.len(), 1, "{name}");
    assert_eq!(sent[0]["content"], joined(DeltaKind::Text), "{name}");
    assert_eq!(sent[0]["thinking"].as_str().unwrap_or(""), joined(DeltaKind::Thinking), "{name}");
    let calls: Vec<(&Value, &Value)> = (sent[0]["tool_calls"].as_array().into_iter().flatten())
        .map(|call| (&call["function"]["name"], &call["function"]["arguments"]))
        .collect();
    let expected: Vec<(Value, &Value)> =
        of(DeltaKind::ToolCall).map(|part| (Value::from(part.1.as_str()), &part.2)).collect();
    assert_eq!(
        calls,
        expected.iter().map(|(name, arguments)| (name, *arguments)).collect::<Vec<_>>(),
        "{name}"
    );
}
