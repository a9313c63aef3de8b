//! OpenAI Chat Completions, and what is shaped like it.

use super::*;
use lodger::model::{StopReason, Usage};

pub const READING: Reading = Reading {
    wire: Wire::OpenAiChat,
    path: "/chat/completions",
    mark: "\"chat.completion.chunk\"",
    own: ("openai-chat", 8),
    events: sse_events,
    check,
};

/// What is said, in order.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Thinking(String),
    /// Its index, id, name and arguments.
    Call(Value, Value, String, String),
}

/// What a stream says, read from its JSON.
#[derive(Default)]
struct Said {
    parts: Vec<Part>,
    /// Why it stopped: the last `finish_reason`.
    stop: Option<String>,
    done: bool,
    refused: bool,
    failure: Option<Code>,
    usage: Value,
    /// The texts and the sealed data of its reasoning details, joined.
    details: String,
}

impl Said {
    fn text(&mut self, thinking: bool, piece: &Value) {
        let Some(piece) = piece.as_str().filter(|piece| !piece.is_empty()) else { return };
        match self.parts.last_mut() {
            Some(Part::Text(text)) if !thinking => text.push_str(piece),
            Some(Part::Thinking(text)) if thinking => text.push_str(piece),
            _ if thinking => self.parts.push(Part::Thinking(piece.into())),
            _ => self.parts.push(Part::Text(piece.into())),
        }
    }

    fn call(&mut self, fragment: &Value) {
        // One call has one index and, where it says so again, one id.
        let known = self.parts.iter().rposition(|part| match part {
            Part::Call(index, id, ..) => {
                *index == fragment["index"] && (fragment["id"].is_null() || *id == fragment["id"])
            }
            _ => false,
        });
        let at = known.unwrap_or_else(|| {
            let (index, id) = (fragment["index"].clone(), fragment["id"].clone());
            self.parts.push(Part::Call(index, id, String::new(), String::new()));
            self.parts.len() - 1
        });
        let Part::Call(_, _, name, arguments) = &mut self.parts[at] else { unreachable!() };
        name.push_str(fragment["function"]["name"].as_str().unwrap_or(""));
        arguments.push_str(fragment["function"]["arguments"].as_str().unwrap_or(""));
    }

    fn delta(&mut self, delta: &Value) {
        let reasoning = ["reasoning_content", "reasoning"].map(|name| &delta[name]);
        self.text(true, reasoning.into_iter().find(|text| text.is_string()).unwrap_or(&Value::Null));
        self.text(false, &delta["content"]);
        for part in delta["content"].as_array().into_iter().flatten() {
            match part["type"].as_str().unwrap() {
                "text" => self.text(false, &part["text"]),
                "thinking" => {
                    for part in part["thinking"].as_array().unwrap() {
                        self.text(true, &part["text"]);
                    }
                }
                other => panic!("a part that this test does not know: {other}"),
            }
        }
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            self.details.push_str(&detail_text(detail));
        }
        self.refused |= delta["refusal"].as_str().is_some_and(|text| !text.is_empty());
        for fragment in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(fragment);
        }
    }
}

/// What a reasoning detail, or a piece of one, says.
fn detail_text(detail: &Value) -> String {
    ["text", "summary", "data", "signature"].map(|name| detail[name].as_str().unwrap_or_default()).concat()
}

fn read(events: &[(usize, String)]) -> Said {
    let mut said = Said::default();
    for (_, data) in events {
        if data == "[DONE]" {
            said.done = true;
            break;
        }
        let chunk: Value = serde_json::from_str(data).unwrap();
        if !chunk["error"].is_null() {
            said.failure = Some(match chunk["error"]["code"].as_u64().unwrap() {
                400 => Code::InvalidRequest,
                500 | 502 => Code::Server,
                other => panic!("an error that this test does not know: {other}"),
            });
            return said;
        }
        for choice in chunk["choices"].as_array().unwrap().iter().filter(|choice| choice["index"] == 0) {
            said.delta(&choice["delta"]);
            if let Some(reason) = choice["finish_reason"].as_str() {
                said.stop = Some(reason.into());
            }
        }
        if !chunk["usage"].is_null() {
            said.usage = chunk["usage"].clone();
        }
    }
    if !said.done && said.stop.is_none() {
        said.failure = Some(Code::StreamBroken);
    }
    said
}

fn check(name: &str, bytes: &[u8], events: &[(usize, String)]) -> &'static str {
    let mut said = read(events);
    let outcome = decode(Wire::OpenAiChat, [bytes]);
    let answer = answer_of(&outcome);
    assert_eq!(outcome.1.as_ref().err().map(|(error, _)| error.code), said.failure, "{name}");
    let calls = said.parts.iter().any(|part| matches!(part, Part::Call(..)));
    let kind = match (said.failure, said.stop.as_deref().unwrap_or("stop")) {
        (Some(code), _) => code.as_str(),
        (None, _) if said.refused => "refusal",
        (None, "content_filter") => "refusal",
        (None, "length") => "max_tokens",
        (None, "stop" | "tool_calls") if calls => "tool_use",
        (None, "stop" | "tool_calls") => "end_turn",
        (None, other) => panic!("{name}: a reason that this test does not know: {other}"),
    };
    let stop = match &answer.stop {
        None => said.failure.unwrap().as_str(),
        Some(StopReason::EndTurn) => "end_turn",
        Some(StopReason::ToolUse) => "tool_use",
        Some(StopReason::MaxTokens) => "max_tokens",
        Some(StopReason::Refusal(_)) => "refusal",
        Some(other) => panic!("{name}: no chat stream says {other:?}"),
    };
    assert_eq!(stop, kind, "{name}");
    // The last call of what broke off or was cut is kept only if it is surely whole.
    let found: Vec<&Block> =
        answer.blocks.iter().filter(|block| block.is_shown() && !matches!(block, Block::Cited(_))).collect();
    let cut_call = match said.parts.iter().rfind(|part| matches!(part, Part::Call(..))) {
        Some(Part::Call(_, _, _, arguments)) if said.failure.is_none() && kind == "max_tokens" => {
            serde_json::from_str::<Value>(arguments).is_err()
        }
        // Nothing says that a call is whole but what comes after it.
        Some(call) => said.failure.is_some() && said.parts.last() == Some(call),
        None => false,
    };
    if cut_call {
        let at = said.parts.iter().rposition(|part| matches!(part, Part::Call(..))).unwrap();
        said.parts.remove(at);
    }
    assert_eq!(found.len(), said.parts.len(), "{name}: {found:?} {:?}", said.parts);
    for (block, part) in found.iter().zip(&said.parts) {
        match (block, part) {
            (Block::Text(text), Part::Text(said)) => assert_eq!(text, said, "{name}"),
            (Block::Thinking { text, .. }, Part::Thinking(said)) => assert_eq!(text, said, "{name}"),
            (Block::ToolCall { name: found, arguments, .. }, Part::Call(_, _, called, said)) => {
                assert_eq!(found, called, "{name}");
                assert_eq!(arguments, if said.is_empty() { "{}" } else { said }, "{name}");
            }
            (found, said) => panic!("{name}: {found:?} is not {said:?}"),
        }
    }
    assert_eq!(answer.usage, usage(&said.usage), "{name}");
    let message = Message { role: Role::Assistant, blocks: answer.blocks.clone(), own: true };
    let mut sent = String::new();
    Wire::OpenAiChat.encode_message(&Dialect::CHAT, &message, &mut sent);
    let sent: Vec<Value> = serde_json::from_str(&format!("[{sent}]")).unwrap();
    if let [sent] = &sent[..] {
        let details = sent["reasoning_details"].as_array().into_iter().flatten();
        assert_eq!(details.map(detail_text).collect::<String>(), said.details, "{name}");
    }
    check_shown(name, &outcome);
    kind
}

/// What it cost. Some count reasoning beside the completion: then only the total has it.
fn usage(told: &Value) -> Usage {
    let number = |pointer: &str| told.pointer(pointer).and_then(Value::as_u64);
    let prompt = number("/prompt_tokens").unwrap_or(0);
    let reasoning = number("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
    let read = number("/prompt_tokens_details/cached_tokens");
    let read = read.or(number("/prompt_cache_hit_tokens")).unwrap_or(0);
    let written = number("/prompt_tokens_details/cache_write_tokens").unwrap_or(0);
    Usage {
        input_tokens: prompt - read - written,
        output_tokens: match number("/total_tokens") {
            Some(total) if reasoning > 0 => total - prompt,
            _ => number("/completion_tokens").unwrap_or(0),
        },
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: reasoning,
        searches: 0,
    }
}
