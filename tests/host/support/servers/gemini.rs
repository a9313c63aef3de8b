//! Google's Interactions.

use super::{Case, End, Say, Server, pieces};
use lodger::error::Code;
use lodger::model::{Usage, Wire};
use serde_json::{Value, json};

pub const SERVER: Server = Server {
    wire: Wire::Gemini,
    answer,
    // What is written to the cache is not told apart.
    usage: |usage| Usage {
        input_tokens: usage.input_tokens + usage.cache_write_tokens,
        cache_write_tokens: 0,
        ..usage
    },
    late_usage: false,
    call_ids: true,
    ends_calls: true,
    breaks: Code::Server,
    failure,
};

fn answer(case: &Case) -> Option<String> {
    let mut written = String::new();
    let mut send = |kind: &str, mut event: Value| {
        event["event_type"] = json!(kind);
        written.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    };
    let interaction =
        |status: &str| json!({"id": "", "object": "interaction", "model": "gemini", "status": status});
    send("interaction.created", json!({"interaction": interaction("in_progress")}));
    send("interaction.status_update", json!({"interaction_id": "", "status": "in_progress"}));
    for (at, say) in case.says.iter().enumerate() {
        let (begun, deltas): (Value, Vec<Value>) = match say {
            Say::Text(text) => {
                let delta = |piece| json!({"type": "text", "text": piece});
                (json!({"type": "model_output"}), pieces(text).into_iter().map(delta).collect())
            }
            Say::Thinking(text) => {
                let delta =
                    |piece| json!({"type": "thought_summary", "content": {"type": "text", "text": piece}});
                let signature = json!({"type": "thought_signature", "signature": format!("c2ln{at}")});
                (json!({"type": "thought"}), pieces(text).into_iter().map(delta).chain([signature]).collect())
            }
            Say::Call(id, name, arguments) => {
                let delta = |piece| json!({"type": "arguments_delta", "arguments": piece});
                let begun = json!({"type": "function_call", "id": id, "signature": "", "name": name, "arguments": {}});
                (begun, pieces(arguments).into_iter().map(delta).collect())
            }
        };
        send("step.start", json!({"index": at, "step": begun}));
        for delta in deltas {
            send("step.delta", json!({"index": at, "delta": delta}));
        }
        send("step.stop", json!({"index": at}));
    }
    let called = case.says.iter().any(|say| matches!(say, Say::Call(..)));
    let status = match case.end {
        // A refusal is said in words, as any answer is.
        End::Refusal(_) => return None,
        End::Error => {
            send("error", json!({"error": {"code": "internal", "message": "upstream failed"}}));
            return Some(written);
        }
        End::Length => "incomplete",
        End::Turn if called => "requires_action",
        End::Turn => "completed",
    };
    let Usage {
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, ..
    } = case.usage;
    let input = input_tokens + cache_read_tokens + cache_write_tokens;
    let mut whole = interaction(status);
    whole["usage"] = json!({"total_tokens": input + output_tokens, "total_input_tokens": input,
        "total_cached_tokens": cache_read_tokens, "total_output_tokens": output_tokens - reasoning_tokens,
        "total_tool_use_tokens": 0, "total_thought_tokens": reasoning_tokens});
    send("interaction.completed", json!({"interaction": whole}));
    written.push_str("event: done\ndata: [DONE]\n\n");
    Some(written)
}

fn failure(code: Code) -> Option<(u16, &'static str)> {
    Some(match code {
        Code::InvalidRequest => (
            400,
            r#"{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}"#,
        ),
        Code::ContextLength => (
            400,
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        ),
        Code::Auth => (
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
        ),
        Code::Quota => (
            429,
            r#"{"error":{"code":429,"message":"Your prepayment credits are depleted.","status":"RESOURCE_EXHAUSTED"}}"#,
        ),
        Code::Permission => (
            403,
            r#"{"error":{"code":403,"message":"Your API key was reported as leaked.","status":"PERMISSION_DENIED"}}"#,
        ),
        Code::NotFound => {
            (404, r#"{"error":{"code":404,"message":"model is not found","status":"NOT_FOUND"}}"#)
        }
        Code::RateLimit => (
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED"}}"#,
        ),
        Code::Overloaded => {
            (503, r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#)
        }
        Code::Server => (500, r#"{"error":{"code":500,"message":"Internal error","status":"INTERNAL"}}"#),
        _ => return None,
    })
}
