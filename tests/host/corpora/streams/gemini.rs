//! Google's Interactions.

use super::*;
use lodger::model::{StopReason, Usage};
use serde_json::json;

pub const READING: Reading = Reading {
    wire: Wire::Gemini,
    path: "/interactions",
    mark: "\"interaction.created\"",
    own: ("gemini", 11),
    events: sse_events,
    check,
};

/// What a step has become.
#[derive(Debug)]
enum Step {
    Text {
        text: String,
        annotations: Vec<Value>,
    },
    Thought {
        text: String,
        signature: String,
    },
    Call {
        id: String,
        name: String,
        arguments: String,
        signature: String,
        open: bool,
    },
    /// As it came, with what its pieces have changed.
    Other(Value),
}

/// What a stream says, read from its JSON.
#[derive(Default)]
struct Read {
    steps: BTreeMap<u64, Step>,
    status: Option<String>,
    failure: Option<Code>,
    usage: Value,
}

fn read(events: &[(usize, String)]) -> Read {
    let mut said = Read { failure: Some(Code::StreamBroken), ..Read::default() };
    for (_, data) in events {
        if data == "[DONE]" {
            continue;
        }
        let event: Value = serde_json::from_str(data).unwrap();
        let index = event["index"].as_u64().unwrap_or_default();
        match event["event_type"].as_str().unwrap() {
            "step.start" => begins(&mut said, index, &event["step"]),
            "step.delta" => grows(said.steps.get_mut(&index).unwrap(), &event["delta"]),
            "step.stop" => {
                if let Some(Step::Call { open, .. }) = said.steps.get_mut(&index) {
                    *open = false;
                }
            }
            "interaction.completed" => {
                said.usage = event["interaction"]["usage"].clone();
                match event["interaction"]["status"].as_str().unwrap() {
                    "failed" | "cancelled" => said.failure = Some(Code::Server),
                    status => (said.status, said.failure) = (Some(status.into()), None),
                }
                return said;
            }
            "error" => {
                said.failure = Some(match event["error"]["code"].as_str().unwrap() {
                    "UNAVAILABLE" => Code::Overloaded,
                    other => panic!("an error that this test does not know: {other}"),
                });
                return said;
            }
            "interaction.created" | "interaction.status_update" | "interaction.pondered" => {}
            other => panic!("an event that this test does not know: {other}"),
        }
    }
    said
}

fn begins(said: &mut Read, index: u64, step: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // What begins ends what came before it.
    for step in said.steps.values_mut() {
        if let Step::Call { open, .. } = step {
            *open = false;
        }
    }
    let step = match step["type"].as_str().unwrap() {
        "model_output" => Step::Text { text: text(&step["content"][0]["text"]), annotations: vec![] },
        "thought" => {
            Step::Thought { text: text(&step["summary"][0]["text"]), signature: text(&step["signature"]) }
        }
        "function_call" => Step::Call {
            id: text(&step["id"]),
            name: text(&step["name"]),
            arguments: String::new(),
            signature: text(&step["signature"]),
            open: true,
        },
        _ => Step::Other(step.clone()),
    };
    said.steps.insert(index, step);
}

fn grows(step: &mut Step, delta: &Value) {
    match step {
        Step::Text { text, annotations } => {
            text.push_str(delta["text"].as_str().unwrap_or_default());
            annotations.extend(delta["annotations"].as_array().into_iter().flatten().cloned());
        }
        Step::Thought { text, signature } => {
            text.push_str(delta["content"]["text"].as_str().unwrap_or_default());
            if let Some(proof) = delta["signature"].as_str() {
                *signature = proof.into();
            }
        }
        Step::Call { arguments, signature, .. } => {
            arguments.push_str(delta["arguments"].as_str().unwrap_or_default());
            if let Some(proof) = delta["signature"].as_str() {
                *signature = proof.into();
            }
        }
        Step::Other(step) => {
            for (name, value) in delta.as_object().unwrap().iter().filter(|(name, _)| *name != "type") {
                step[name] = value.clone();
            }
        }
    }
}

/// The blocks that these steps are.
fn blocks(said: &Read) -> Vec<Block> {
    let mut blocks = Vec::new();
    let whole = said.failure.is_none();
    for step in said.steps.values() {
        match step {
            Step::Text { text, annotations } if !text.is_empty() => {
                blocks.push(Block::Text(text.clone()));
                if !annotations.is_empty() {
                    blocks.push(Block::Extra(json!({ "annotations": annotations }).to_string()));
                }
            }
            Step::Thought { text, signature } if !text.is_empty() || !signature.is_empty() => {
                let signature = Some(signature.clone()).filter(|proof| !proof.is_empty());
                blocks.push(Block::Thinking { text: text.clone(), signature });
            }
            Step::Call { id, name, arguments, signature, open } => {
                let cut = match said.status.as_deref() {
                    Some("incomplete") => {
                        serde_json::from_str::<Value>(arguments).is_err() && !arguments.is_empty()
                    }
                    _ => *open && !whole,
                };
                if cut {
                    continue;
                }
                let arguments = if arguments.is_empty() { "{}".into() } else { arguments.clone() };
                blocks.push(Block::ToolCall { id: id.clone(), name: name.clone(), arguments });
                if !signature.is_empty() {
                    blocks.push(Block::Extra(json!({ "signature": signature }).to_string()));
                }
            }
            Step::Other(step) => blocks.push(Block::Raw(step.to_string())),
            _ => {}
        }
    }
    blocks
}

/// The same with JSON of the provider's as a value: the order of its members is nobody's affair.
fn plain(blocks: &[Block]) -> Vec<(Block, Value)> {
    let plain = |block: &Block| match block {
        Block::Raw(json) => (Block::Raw(String::new()), serde_json::from_str(json).unwrap()),
        Block::Extra(json) => (Block::Extra(String::new()), serde_json::from_str(json).unwrap()),
        other => (other.clone(), Value::Null),
    };
    blocks.iter().map(plain).collect()
}

fn check(name: &str, bytes: &[u8], events: &[(usize, String)]) -> &'static str {
    let said = read(events);
    let outcome = decode(Wire::Gemini, [bytes]);
    let answer = answer_of(&outcome);
    assert_eq!(outcome.1.as_ref().err().map(|(error, _)| error.code), said.failure, "{name}");
    let told = |block: &&Block| matches!(block, Block::ServerCall(_) | Block::Cited(_));
    let own: Vec<Block> = answer.blocks.iter().filter(|block| !told(block)).cloned().collect();
    assert_eq!(plain(&own), plain(&blocks(&said)), "{name}");
    let count = |of: &str| said.usage[format!("total_{of}_tokens")].as_u64().unwrap_or(0);
    let usage = Usage {
        input_tokens: count("input") + count("tool_use") - count("cached"),
        output_tokens: count("output") + count("thought"),
        cache_read_tokens: count("cached"),
        cache_write_tokens: 0,
        reasoning_tokens: count("thought"),
        searches: 0,
    };
    assert_eq!(answer.usage, usage, "{name}");
    check_shown(name, &outcome);
    let calls = answer.blocks.iter().any(|block| matches!(block, Block::ToolCall { .. }));
    let (stop, kind) = match (said.failure, said.status.as_deref()) {
        (Some(code), _) => (None, code.as_str()),
        (None, Some("incomplete")) => (Some(StopReason::MaxTokens), "max_tokens"),
        (None, Some("completed" | "requires_action")) if calls => (Some(StopReason::ToolUse), "tool_use"),
        (None, Some("completed" | "requires_action")) => (Some(StopReason::EndTurn), "end_turn"),
        (None, other) => panic!("{name}: a status that this test does not know: {other:?}"),
    };
    assert_eq!(answer.stop, stop, "{name}");
    check_sent_back(name, answer);
    kind
}

/// The answer as the next request carries it: each step as it came.
fn check_sent_back(name: &str, answer: &Answer) {
    let message = Message { role: Role::Assistant, blocks: answer.blocks.clone(), own: true };
    let mut sent = String::new();
    Wire::Gemini.encode_message(&Dialect::RESPONSES, &message, &mut sent);
    let sent: Vec<Value> = serde_json::from_str(&format!("[{sent}]")).unwrap();
    let mut sent = sent.iter().filter(|step| step["signature"] != "skip_thought_signature_validator");
    let answered = |other: &Block| matches!(other, Block::Raw(json) if json.contains("\"call_id\""));
    let answered = answer.blocks.iter().any(answered);
    let said = |block: &&Block| match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::ToolCall { .. } => true,
        // The one call of the provider's own in these streams, or its result.
        Block::Raw(_) => answered,
        _ => false,
    };
    if !answer.blocks.iter().any(|block| said(&block)) {
        assert!(sent.next().is_none(), "{name}");
        return;
    }
    let mut blocks = answer.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        let extra = match blocks.peek() {
            Some(Block::Extra(json)) => serde_json::from_str(json).unwrap(),
            _ => Value::Null,
        };
        match block {
            Block::Text(text) if said(&block) => {
                let step = sent.next().unwrap();
                assert_eq!(step["content"][0]["text"], *text, "{name}");
                assert_eq!(step["content"][0]["annotations"], extra["annotations"], "{name}");
            }
            Block::Thinking { text, signature: Some(signature) } => {
                let step = sent.next().unwrap();
                assert_eq!(
                    (&step["type"], &step["signature"]),
                    (&json!("thought"), &json!(signature)),
                    "{name}"
                );
                assert_eq!(step["summary"][0]["text"].as_str().unwrap_or_default(), text, "{name}");
            }
            Block::ToolCall { id, name: tool, arguments } => {
                let step = sent.next().unwrap();
                assert_eq!((&step["id"], &step["name"]), (&json!(id), &json!(tool)), "{name}");
                assert_eq!(step["arguments"], serde_json::from_str::<Value>(arguments).unwrap(), "{name}");
                assert_eq!(step["signature"], extra["signature"], "{name}");
            }
            Block::Raw(json) if said(&block) => {
                assert_eq!(*sent.next().unwrap(), serde_json::from_str::<Value>(json).unwrap(), "{name}");
            }
            _ => {}
        }
    }
    assert!(sent.next().is_none(), "{name}");
}
