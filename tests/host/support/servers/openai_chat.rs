//! OpenAI Chat Completions, with the reasoning that the servers shaped like it add.

use super::{Case, End, Say, Server, pieces};
use lodger::error::Code;
use lodger::model::{Usage, Wire};
use serde_json::{Value, json};

pub const SERVER: Server = Server {
    wire: Wire::OpenAiChat,
    answer,
    usage: |usage| usage,
    late_usage: true,
    call_ids: true,
    ends_calls: false,
    breaks: Code::Server,
    failure,
};

fn answer(case: &Case) -> Option<String> {
    let mut deltas = vec![json!({"role": "assistant", "content": "", "refusal": null})];
    let mut calls = 0;
    for say in case.says {
        match say {
            Say::Text(text) => deltas.extend(pieces(text).into_iter().map(|text| json!({"content": text}))),
            Say::Thinking(text) => {
                deltas.extend(pieces(text).into_iter().map(|text| json!({"reasoning_content": text})));
            }
            Say::Call(id, name, arguments) => {
                let call = |function: Value| json!({"tool_calls": [{"index": calls, "function": function}]});
                let mut first = call(json!({"name": name, "arguments": ""}));
                first["tool_calls"][0]["id"] = json!(id);
                first["tool_calls"][0]["type"] = json!("function");
                deltas.push(first);
                deltas.extend(pieces(arguments).into_iter().map(|piece| call(json!({"arguments": piece}))));
                calls += 1;
            }
        }
    }
    if let End::Refusal(Some(words)) = case.end {
        deltas.extend(pieces(words).into_iter().map(|text| json!({"refusal": text})));
    }
    let mut chunks: Vec<Value> = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    let reason = match case.end {
        End::Error => {
            chunks
                .push(json!({"error": {"message": "upstream failed", "type": "server_error", "code": 502}}));
            return Some(written(&chunks));
        }
        End::Turn if calls > 0 => "tool_calls",
        End::Turn | End::Refusal(Some(_)) => "stop",
        End::Length => "length",
        End::Refusal(None) => "content_filter",
    };
    chunks.push(chunk(json!({}), json!(reason)));
    let Usage {
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, ..
    } = case.usage;
    let prompt = input_tokens + cache_read_tokens + cache_write_tokens;
    chunks.push(json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt", "choices": [],
        "usage": {"prompt_tokens": prompt, "completion_tokens": output_tokens,
                  "total_tokens": prompt + output_tokens,
                  "prompt_tokens_details": {"cached_tokens": cache_read_tokens,
                                            "cache_write_tokens": cache_write_tokens},
                  "completion_tokens_details": {"reasoning_tokens": reasoning_tokens}}}));
    Some(written(&chunks) + "data: [DONE]\n\n")
}

fn chunk(delta: Value, reason: Value) -> Value {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason});
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt", "choices": [choice],
           "usage": null})
}

fn written(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn failure(code: Code) -> Option<(u16, &'static str)> {
    Some(match code {
        Code::InvalidRequest => (
            400,
            r#"{"error":{"message":"Invalid 'temperature'","type":"invalid_request_error","param":"temperature","code":"decimal_above_max_value"}}"#,
        ),
        Code::ContextLength => (
            400,
            r#"{"error":{"message":"This model's maximum context length is 1","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        Code::Auth => (
            401,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
        ),
        Code::Permission => (
            403,
            r#"{"error":{"message":"not for you","type":"invalid_request_error","param":null,"code":null}}"#,
        ),
        Code::NotFound => (
            404,
            r#"{"error":{"message":"The model `x` does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        ),
        Code::RateLimit => (
            429,
            r#"{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
        ),
        Code::Quota => (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        ),
        Code::Server => (
            500,
            r#"{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}"#,
        ),
        Code::Overloaded => (
            503,
            r#"{"error":{"message":"The engine is overloaded","type":"server_error","param":null,"code":null}}"#,
        ),
        _ => return None,
    })
}
