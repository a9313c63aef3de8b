//! How each wire begins an answer, and how it streams one that is one call.

use lodger::model::Wire;
use serde_json::{Value, json};

/// An answer that is one call.
pub struct OneCall {
    pub events: Vec<Value>,
    /// After how many of them the call is whole.
    pub whole_after: usize,
}

/// What begins an answer with a text, as this wire streams it.
pub fn begins(wire: Wire) -> Vec<Value> {
    match wire {
        Wire::Anthropic => vec![
            json!({ "type": "message_start", "message": { "id": "m", "content": [] } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        ],
        Wire::OpenAiResponses => vec![
            json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "message", "content": [] } }),
        ],
        Wire::Gemini => {
            vec![json!({ "event_type": "step.start", "index": 0, "step": { "type": "model_output" } })]
        }
        Wire::OpenAiChat | Wire::Ollama => vec![],
    }
}

/// A call of this tool whose arguments come in pieces. Ollama sends them at once, as `whole`: an object, or their text.
pub fn one_call(wire: Wire, name: &str, pieces: &[&str], whole: Value) -> OneCall {
    let mut events = Vec::new();
    let end = match wire {
        Wire::Anthropic => {
            events.push(json!({ "type": "message_start", "message": { "id": "m", "content": [] } }));
            let block = json!({ "type": "tool_use", "id": "c", "name": name, "input": {} });
            events.push(json!({ "type": "content_block_start", "index": 0, "content_block": block }));
            for piece in pieces {
                let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                events.push(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
            }
            events.push(json!({ "type": "content_block_stop", "index": 0 }));
            vec![
                json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
                json!({ "type": "message_stop" }),
            ]
        }
        Wire::OpenAiChat => {
            let chunk =
                |call: Value| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
            let function = json!({ "name": name, "arguments": "" });
            events.push(chunk(json!({ "index": 0, "id": "c", "function": function })));
            for piece in pieces {
                events.push(chunk(json!({ "index": 0, "function": { "arguments": piece } })));
            }
            events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }));
            vec![]
        }
        Wire::OpenAiResponses => {
            let text = pieces.concat();
            let item = |arguments: &str| json!({ "type": "function_call", "call_id": "c", "name": name, "arguments": arguments });
            let event = |kind: &str, name: &str, value: Value| {
                let mut event = json!({ "type": format!("response.{kind}"), "output_index": 0 });
                event[name] = value;
                event
            };
            events.push(event("output_item.added", "item", item("")));
            for piece in pieces {
                events.push(event("function_call_arguments.delta", "delta", json!(piece)));
            }
            events.push(event("function_call_arguments.done", "arguments", json!(text)));
            vec![
                event("output_item.done", "item", item(&text)),
                event("completed", "response", json!({ "status": "completed" })),
            ]
        }
        Wire::Gemini => {
            let step = json!({ "type": "function_call", "id": "c", "name": name, "arguments": {} });
            events.push(json!({ "event_type": "step.start", "index": 0, "step": step }));
            for piece in pieces {
                let delta = json!({ "type": "arguments_delta", "arguments": piece });
                events.push(json!({ "event_type": "step.delta", "index": 0, "delta": delta }));
            }
            events.push(json!({ "event_type": "step.stop", "index": 0 }));
            let interaction = json!({ "status": "requires_action" });
            vec![json!({ "event_type": "interaction.completed", "interaction": interaction })]
        }
        Wire::Ollama => {
            let call = json!({ "id": "c", "function": { "name": name, "arguments": whole } });
            events.push(json!({ "message": { "content": "", "tool_calls": [call] }, "done": false }));
            vec![json!({ "message": { "content": "" }, "done": true, "done_reason": "stop" })]
        }
    };
    let whole_after = events.len();
    events.extend(end);
    OneCall { events, whole_after }
}

/// An event as it comes.
pub fn framed(wire: Wire, event: &Value) -> String {
    match wire {
        Wire::Ollama => format!("{event}\n"),
        _ => format!("data: {event}\n\n"),
    }
}
