//! Anthropic Messages.

use super::*;
use lodger::model::{StopReason, Usage};
use serde_json::{Map, json};

pub const READING: Reading = Reading {
    wire: Wire::Anthropic,
    path: "/v1/messages",
    mark: "\"message_start\"",
    own: ("anthropic", 19),
    events: sse_events,
    check,
};

/// What a stream says, read from its JSON.
struct Said {
    /// The code of the failure; none: it is whole.
    failure: Option<Code>,
    content: Vec<Value>,
    stop: Value,
    usage: Usage,
}

fn read(events: &[(usize, String)]) -> Said {
    let mut blocks: Vec<(u64, Value, String, bool)> = Vec::new();
    let mut said = Said {
        failure: Some(Code::StreamBroken),
        content: vec![],
        stop: Value::Null,
        usage: Usage::default(),
    };
    let mut id = None;
    for (_, data) in events {
        let event: Value = serde_json::from_str(data).unwrap();
        let index = event["index"].as_u64().unwrap_or_default();
        let delta = &event["delta"];
        let grow = |field: &mut Value, piece: &Value| {
            *field = Value::String(field.as_str().unwrap_or("").to_string() + piece.as_str().unwrap());
        };
        let open = blocks.iter_mut().rev().find(|block| block.0 == index);
        match event["type"].as_str().unwrap() {
            "message_start" => {
                let this = event["message"]["id"].clone();
                if id.is_some_and(|id| id != this) {
                    said.failure = Some(Code::Protocol);
                    break;
                }
                id = Some(this);
                count(&mut said.usage, &event["message"]["usage"]);
            }
            "content_block_start" => {
                blocks.push((index, event["content_block"].clone(), String::new(), false));
            }
            "content_block_delta" => {
                let (_, block, input, _) = open.unwrap();
                match delta["type"].as_str().unwrap() {
                    "text_delta" => grow(&mut block["text"], &delta["text"]),
                    "thinking_delta" => grow(&mut block["thinking"], &delta["thinking"]),
                    "signature_delta" => block["signature"] = delta["signature"].clone(),
                    "input_json_delta" => input.push_str(delta["partial_json"].as_str().unwrap()),
                    "citations_delta" => {
                        if !block["citations"].is_array() {
                            block["citations"] = json!([]);
                        }
                        block["citations"].as_array_mut().unwrap().push(delta["citation"].clone());
                    }
                    "compaction_delta" => block["content"] = delta["content"].clone(),
                    "future_delta" => {}
                    other => panic!("a delta that this test does not know: {other}"),
                }
            }
            "content_block_stop" => open.unwrap().3 = true,
            "message_delta" => {
                if !delta["stop_reason"].is_null() {
                    said.stop = json!([delta["stop_reason"], delta["stop_details"]["explanation"]]);
                }
                count(&mut said.usage, &event["usage"]);
            }
            "message_stop" => {
                said.failure = None;
                break;
            }
            "error" => {
                said.failure = Some(match event["error"]["type"].as_str().unwrap() {
                    "overloaded_error" => Code::Overloaded,
                    "api_error" => Code::Server,
                    other => panic!("an error that this test does not know: {other}"),
                });
                break;
            }
            "ping" | "future_event" => {}
            other => panic!("an event that this test does not know: {other}"),
        }
    }
    let limited = ["max_tokens", "model_context_window_exceeded", "refusal", "stop_sequence"]
        .contains(&said.stop[0].as_str().unwrap_or(""));
    let goes_on =
        said.failure.is_none() && ["pause_turn", "tool_use"].contains(&said.stop[0].as_str().unwrap_or(""));
    let results: Vec<Value> = blocks.iter().map(|block| block.1["tool_use_id"].clone()).collect();
    let count = blocks.len();
    for (at, (_, mut block, input, closed)) in blocks.into_iter().enumerate() {
        let kind = block["type"].as_str().unwrap().to_string();
        let parsed = serde_json::from_str::<Value>(&input).ok();
        let keep = match kind.as_str() {
            "text" => block["text"] != "",
            "thinking" => {
                block["thinking"] != "" || block["signature"].as_str().is_some_and(|s| !s.is_empty())
            }
            "tool_use" if said.failure.is_some() => closed,
            "tool_use" => !(limited && at + 1 == count && parsed.is_none()),
            kind if kind.ends_with("_tool_use") => goes_on || results.contains(&block["id"]),
            _ => true,
        };
        if let Some(input) = parsed {
            block["input"] = input;
        } else if !input.is_empty() {
            block["input"] = Value::String(input);
        }
        if keep {
            said.content.push(tidy(block));
        }
    }
    said
}

fn count(usage: &mut Usage, json: &Value) {
    for (field, value) in [
        (&mut usage.input_tokens, &json["input_tokens"]),
        (&mut usage.output_tokens, &json["output_tokens"]),
        (&mut usage.cache_read_tokens, &json["cache_read_input_tokens"]),
        (&mut usage.cache_write_tokens, &json["cache_creation_input_tokens"]),
        (&mut usage.reasoning_tokens, &json["output_tokens_details"]["thinking_tokens"]),
    ] {
        *field = value.as_u64().unwrap_or(*field);
    }
}

/// A block without what says nothing.
fn tidy(block: Value) -> Value {
    let Value::Object(members) = block else { panic!("no object") };
    let says = |name: &str, value: &Value| match name {
        "citations" => value.as_array().is_some_and(|list| !list.is_empty()),
        "caller" => value["type"] != "direct",
        "signature" => value != "",
        _ => !value.is_null(),
    };
    // Raw blocks stay as they came.
    let ours = ["text", "thinking", "tool_use"].contains(&members["type"].as_str().unwrap());
    Value::Object(members.into_iter().filter(|(name, value)| !ours || says(name, value)).collect())
}

/// The content of an answer, as the API would write it.
fn content(answer: &Answer) -> Vec<Value> {
    let mut content: Vec<Value> = Vec::new();
    for block in &answer.blocks {
        content.push(match block {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::Thinking { text, signature: None } => json!({"type": "thinking", "thinking": text}),
            Block::Thinking { text, signature } => {
                json!({"type": "thinking", "thinking": text, "signature": signature})
            }
            Block::ToolCall { id, name, arguments } => {
                let input = serde_json::from_str(arguments).unwrap_or(Value::String(arguments.clone()));
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
            Block::Raw(json) => serde_json::from_str(json).unwrap(),
            Block::Extra(json) => {
                let extra: Map<String, Value> = serde_json::from_str(json).unwrap();
                content.last_mut().unwrap().as_object_mut().unwrap().extend(extra);
                continue;
            }
            // What they say is in the blocks before them.
            Block::ServerCall(_) | Block::Cited(_) => continue,
            Block::File(_) | Block::ToolResult { .. } => panic!("an answer has no results"),
        });
    }
    content
}

fn stop_name(stop: &Option<StopReason>) -> Value {
    match stop {
        None => Value::Null,
        Some(StopReason::EndTurn) => json!(["end_turn", null]),
        Some(StopReason::ToolUse) => json!(["tool_use", null]),
        Some(StopReason::MaxTokens) => json!(["max_tokens", null]),
        Some(StopReason::ContextWindow) => json!(["model_context_window_exceeded", null]),
        Some(StopReason::Pause) => json!(["pause_turn", null]),
        Some(StopReason::StopSequence) => json!(["stop_sequence", null]),
        Some(StopReason::Refusal(why)) => json!(["refusal", why]),
    }
}

fn check(name: &str, bytes: &[u8], events: &[(usize, String)]) -> &'static str {
    let said = read(events);
    let outcome = decode(Wire::Anthropic, [bytes]);
    let answer = answer_of(&outcome);
    assert_eq!(outcome.1.as_ref().err().map(|(error, _)| error.code), said.failure, "{name}");
    assert_eq!(content(answer), said.content, "{name}");
    assert_eq!(answer.usage, said.usage, "{name}");
    let stop = if said.failure.is_some() {
        Value::Null
    } else if said.stop[0] == "future_reason" {
        json!(["end_turn", null])
    } else {
        said.stop
    };
    let kind = said.failure.map_or_else(|| kind(stop[0].as_str().unwrap_or("end_turn")), Code::as_str);
    assert_eq!(stop_name(&answer.stop), stop, "{name}");
    check_shown(name, &outcome);
    check_sent_back(name, answer, said.content);
    kind
}

/// What the table calls a stop reason.
fn kind(stop: &str) -> &'static str {
    match stop {
        "end_turn" => "end_turn",
        "tool_use" => "tool_use",
        "max_tokens" => "max_tokens",
        "model_context_window_exceeded" => "context_window",
        "pause_turn" => "pause",
        "refusal" => "refusal",
        "stop_sequence" => "stop_sequence",
        other => panic!("a stop reason that this test does not know: {other}"),
    }
}

/// The answer as the next request carries it: what came, without what the API would refuse.
fn check_sent_back(name: &str, answer: &Answer, mut content: Vec<Value>) {
    let is_thinking = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    content.retain(|block| match block["type"].as_str().unwrap() {
        "text" => !block["text"].as_str().unwrap().trim().is_empty(),
        "thinking" => block["signature"].is_string(),
        _ => true,
    });
    while content.last().is_some_and(is_thinking) {
        content.pop();
    }
    for block in &mut content {
        if block["type"] == "tool_use" && !block["input"].is_object() {
            block["input"] = json!({});
        }
    }
    let expected =
        if content.is_empty() { json!([]) } else { json!([{"role": "assistant", "content": content}]) };
    let message = Message { role: Role::Assistant, blocks: answer.blocks.clone(), own: true };
    let mut sent = String::new();
    Wire::Anthropic.encode_message(&Dialect::CHAT, &message, &mut sent);
    assert_eq!(serde_json::from_str::<Value>(&format!("[{sent}]")).unwrap(), expected, "{name}");
}
