//! OpenAI Responses.

use super::{Case, End, Say, Server, pieces};
use lodger::error::Code;
use lodger::model::{Usage, Wire};
use serde_json::{Value, json};

pub const SERVER: Server = Server {
    wire: Wire::OpenAiResponses,
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

/// The events of an answer, each with its number.
struct Events {
    written: String,
    count: usize,
    /// The items that are whole.
    output: Vec<Value>,
}

impl Events {
    fn send(&mut self, kind: &str, mut event: Value) {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(self.count);
        self.count += 1;
        self.written.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    }

    /// An item: as it begins, its pieces (each with its event and the member beside it), and as it is in the end.
    fn item(&mut self, begun: Value, delta: &str, place: Option<&str>, text: &str, whole: Value) {
        let at = self.output.len();
        let item_id = whole["id"].clone();
        self.send("response.output_item.added", json!({"output_index": at, "item": begun}));
        for piece in pieces(text) {
            let mut event =
                json!({"output_index": at, "item_id": item_id, "delta": piece, "obfuscation": "x"});
            if let Some(place) = place {
                event[place] = json!(0);
            }
            self.send(delta, event);
        }
        if whole["type"] == "function_call" {
            let done = json!({"output_index": at, "item_id": item_id, "arguments": text});
            self.send("response.function_call_arguments.done", done);
        }
        self.send("response.output_item.done", json!({"output_index": at, "item": whole}));
        self.output.push(whole);
    }

    fn message(&mut self, delta: &str, text: &str, content: Value) {
        let id = format!("msg_{}", self.output.len());
        let item = |status: &str, content: Value| json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": content});
        let whole = item("completed", json!([content]));
        self.item(item("in_progress", json!([])), delta, Some("content_index"), text, whole);
    }
}

fn answer(case: &Case) -> Option<String> {
    let mut events = Events { written: String::new(), count: 0, output: Vec::new() };
    let begun = json!({"id": "resp_1", "object": "response", "model": "gpt", "status": "in_progress",
        "output": [], "error": null, "incomplete_details": null, "usage": null});
    events.send("response.created", json!({"response": begun}));
    events.send("response.in_progress", json!({"response": begun}));
    for say in case.says {
        let at = events.output.len();
        match say {
            Say::Text(text) => events.message(
                "response.output_text.delta",
                text,
                json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []}),
            ),
            Say::Thinking(text) => {
                let item = |summary: Value| {
                    json!({"id": format!("rs_{at}"), "type": "reasoning", "encrypted_content": "gAAA",
                           "summary": summary})
                };
                let whole = item(json!([{"type": "summary_text", "text": text}]));
                let delta = "response.reasoning_summary_text.delta";
                events.item(item(json!([])), delta, Some("summary_index"), text, whole);
            }
            Say::Call(id, name, arguments) => {
                let item = |status: &str, arguments: &str| {
                    json!({"id": format!("fc_{at}"), "type": "function_call", "status": status,
                           "call_id": id, "name": name, "arguments": arguments})
                };
                let delta = "response.function_call_arguments.delta";
                events.item(item("in_progress", ""), delta, None, arguments, item("completed", arguments));
            }
        }
    }
    let (kind, status, reason) = match case.end {
        End::Error => {
            let error = json!({"type": "server_error", "code": "server_error", "message": "upstream failed",
                               "param": null});
            events.send("error", json!({"error": error}));
            return Some(events.written);
        }
        End::Turn => ("response.completed", "completed", Value::Null),
        End::Refusal(Some(words)) => {
            let content = json!({"type": "refusal", "refusal": words});
            events.message("response.refusal.delta", words, content);
            ("response.completed", "completed", Value::Null)
        }
        End::Refusal(None) => ("response.incomplete", "incomplete", json!({"reason": "content_filter"})),
        End::Length => ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"})),
    };
    let Usage {
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, ..
    } = case.usage;
    let input = input_tokens + cache_read_tokens + cache_write_tokens;
    let output = std::mem::take(&mut events.output);
    let response = json!({"id": "resp_1", "object": "response", "model": "gpt", "status": status,
        "output": output, "error": null, "incomplete_details": reason,
        "usage": {"input_tokens": input, "input_tokens_details": {"cached_tokens": cache_read_tokens},
                  "output_tokens": output_tokens,
                  "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
                  "total_tokens": input + output_tokens}});
    events.send(kind, json!({"response": response}));
    Some(events.written)
}

/// As the chat API says it.
fn failure(code: Code) -> Option<(u16, &'static str)> {
    (super::openai_chat::SERVER.failure)(code)
}
