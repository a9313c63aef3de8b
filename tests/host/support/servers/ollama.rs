//! Ollama's own API.

use super::{Case, End, Say, Server, pieces};
use lodger::error::Code;
use lodger::model::{Usage, Wire};
use serde_json::{Value, json};

pub const SERVER: Server = Server {
    wire: Wire::Ollama,
    answer,
    // One number for what was read and one for what was written.
    usage: |usage| Usage {
        input_tokens: usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
        ..Usage::default()
    },
    late_usage: false,
    call_ids: true,
    ends_calls: true,
    breaks: Code::Server,
    failure,
};

fn answer(case: &Case) -> Option<String> {
    let mut messages = Vec::new();
    for say in case.says {
        match say {
            Say::Text(text) => messages.extend(pieces(text).into_iter().map(|text| json!({"content": text}))),
            Say::Thinking(text) => {
                let thinking = |text| json!({"content": "", "thinking": text});
                messages.extend(pieces(text).into_iter().map(thinking));
            }
            Say::Call(id, name, arguments) => {
                // They come whole, as an object.
                let arguments: Value = serde_json::from_str(arguments).unwrap_or(json!({}));
                let call = json!({"id": id, "function": {"name": name, "arguments": arguments}});
                messages.push(json!({"content": "", "tool_calls": [call]}));
            }
        }
    }
    let mut body = String::new();
    for message in messages {
        write(&mut body, message, json!({"done": false}));
    }
    let reason = match case.end {
        End::Error => {
            return Some(body + r#"{"error":"an error was encountered while running the model"}"# + "\n");
        }
        // A model's refusal is its text, and nobody stands before it.
        End::Refusal(_) => return None,
        End::Turn => "stop",
        End::Length => "length",
    };
    let spent = (SERVER.usage)(case.usage);
    let last = json!({"done": true, "done_reason": reason, "total_duration": 182_242_375,
        "prompt_eval_count": spent.input_tokens, "eval_count": spent.output_tokens});
    write(&mut body, json!({"content": ""}), last);
    Some(body)
}

/// A line with a message and what stands beside it.
fn write(body: &mut String, mut message: Value, mut line: Value) {
    message["role"] = json!("assistant");
    line["model"] = json!("qwen3:4b");
    line["created_at"] = json!("2026-11-20T19:58:15.003562Z");
    line["message"] = message;
    body.push_str(&line.to_string());
    body.push('\n');
}

fn failure(code: Code) -> Option<(u16, &'static str)> {
    Some(match code {
        Code::InvalidRequest => (400, r#"{"error":"\"qwen3:4b\" does not support thinking"}"#),
        Code::ContextLength => (400, r#"{"error":"the input length exceeds the context length"}"#),
        Code::Auth => (401, r#"{"error":"unauthorized"}"#),
        Code::NotFound => (404, r#"{"error":"model 'qwen3:4b' not found"}"#),
        Code::RateLimit => (429, r#"{"error":"too many requests"}"#),
        Code::Server => (500, r#"{"error":"model runner has unexpectedly stopped"}"#),
        Code::Overloaded => {
            (503, r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#)
        }
        // It sells nothing, and asks nobody for more than a key.
        _ => return None,
    })
}
