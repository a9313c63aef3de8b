//! Anthropic Messages.

use super::{Case, End, Say, Server, pieces};
use lodger::error::Code;
use lodger::model::{Usage, Wire};
use serde_json::{Value, json};

pub const SERVER: Server = Server {
    wire: Wire::Anthropic,
    answer,
    usage: |usage| usage,
    late_usage: false,
    call_ids: true,
    ends_calls: true,
    breaks: Code::Overloaded,
    failure,
};

fn answer(case: &Case) -> Option<String> {
    let Usage {
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, ..
    } = case.usage;
    let mut events = vec![json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": input_tokens, "cache_read_input_tokens": cache_read_tokens,
                  "cache_creation_input_tokens": cache_write_tokens, "output_tokens": 1},
    }})];
    events.push(json!({"type": "ping"}));
    for (index, say) in case.says.iter().enumerate() {
        let (block, deltas) = match say {
            Say::Text(text) => (
                json!({"type": "text", "text": ""}),
                deltas(text, |text| json!({"type": "text_delta", "text": text})),
            ),
            Say::Thinking(text) => {
                let mut deltas = deltas(text, |text| json!({"type": "thinking_delta", "thinking": text}));
                deltas.push(json!({"type": "signature_delta", "signature": "c2ln"}));
                (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
            }
            Say::Call(id, name, arguments) => {
                let piece = |json: String| json!({"type": "input_json_delta", "partial_json": json});
                let mut deltas = deltas(arguments, piece);
                deltas.insert(0, piece(String::new()));
                (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas)
            }
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let calls = case.says.iter().any(|say| matches!(say, Say::Call(..)));
    let (reason, details) = match case.end {
        End::Error => {
            events.push(json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}));
            return Some(written(&events));
        }
        End::Turn if calls => ("tool_use", Value::Null),
        End::Turn => ("end_turn", Value::Null),
        End::Length => ("max_tokens", Value::Null),
        End::Refusal(None) => ("refusal", Value::Null),
        End::Refusal(Some(words)) => {
            ("refusal", json!({"type": "refusal", "category": null, "explanation": words}))
        }
    };
    let details_of = json!({"thinking_tokens": reasoning_tokens});
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": null, "stop_details": details},
        "usage": {"output_tokens": output_tokens, "output_tokens_details": details_of},
    }));
    events.push(json!({"type": "message_stop"}));
    Some(written(&events))
}

fn deltas(text: &str, delta: impl Fn(String) -> Value) -> Vec<Value> {
    pieces(text).into_iter().map(delta).collect()
}

fn written(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

fn failure(code: Code) -> Option<(u16, &'static str)> {
    Some(match code {
        Code::InvalidRequest => (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"temperature: range: 0..1"}}"#,
        ),
        Code::ContextLength => (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}"#,
        ),
        Code::Auth => {
            (401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#)
        }
        Code::Quota => (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
        ),
        Code::Permission => {
            (403, r#"{"type":"error","error":{"type":"permission_error","message":"not for you"}}"#)
        }
        Code::NotFound => {
            (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-0"}}"#)
        }
        Code::RateLimit => {
            (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#)
        }
        Code::Server => (500, r#"{"type":"error","error":{"type":"api_error","message":"Internal"}}"#),
        Code::Overloaded => {
            (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#)
        }
        _ => return None,
    })
}
