//! OpenAI Chat Completions, and what is shaped like it.

use super::*;
use lodger::model::StopReason;

const CHAT: [&str; 7] = ["openai-chat", "deepseek", "groq", "llamacpp", "mistral", "openrouter", "xai"];

/// What a chat stream says: whether it is whole, its text, its thinking, its calls.
fn read_chat(events: &[(usize, String)]) -> (bool, String, String, Vec<(String, String)>) {
    let (mut whole, mut text, mut thinking) = (false, String::new(), String::new());
    let mut calls: Vec<(Value, Value, String, String)> = Vec::new();
    for (_, data) in events {
        if data == "[DONE]" {
            whole = true;
            break;
        }
        let chunk: Value = serde_json::from_str(data).unwrap();
        if !chunk["error"].is_null() {
            whole = false;
            break;
        }
        for choice in chunk["choices"].as_array().unwrap().iter().filter(|choice| choice["index"] == 0) {
            let delta = &choice["delta"];
            if let Some(parts) = delta["content"].as_array() {
                for part in parts {
                    text.push_str(part["text"].as_str().unwrap_or(""));
                    for part in part["thinking"].as_array().into_iter().flatten() {
                        thinking.push_str(part["text"].as_str().unwrap());
                    }
                }
            }
            text.push_str(delta["content"].as_str().unwrap_or(""));
            let reasoning = delta["reasoning_content"].as_str().or(delta["reasoning"].as_str());
            thinking.push_str(reasoning.unwrap_or(""));
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let known = calls.iter().rposition(|(index, id, ..)| {
                    *index == call["index"] && (call["id"].is_null() || *id == call["id"])
                });
                let at = known.unwrap_or_else(|| {
                    calls.push((call["index"].clone(), call["id"].clone(), String::new(), String::new()));
                    calls.len() - 1
                });
                let function = &call["function"];
                calls[at].2.push_str(function["name"].as_str().unwrap_or(""));
                calls[at].3.push_str(function["arguments"].as_str().unwrap_or(""));
            }
            whole |= choice["finish_reason"].is_string();
        }
    }
    (whole, text, thinking, calls.into_iter().map(|(_, _, name, arguments)| (name, arguments)).collect())
}

fn check_chat(name: &str, bytes: &[u8]) {
    let events = events(bytes);
    let (whole, text, thinking, mut calls) = read_chat(&events);
    let outcome = decode(Wire::OpenAiChat, [bytes]);
    assert_eq!(outcome.1.is_ok(), whole, "{name}");
    let answer = answer_of(&outcome);
    let (mut found_text, mut found_thinking, mut found_calls) = (String::new(), String::new(), Vec::new());
    for block in &answer.blocks {
        match block {
            Block::Text(text) => found_text.push_str(text),
            Block::Thinking { text, .. } => found_thinking.push_str(text),
            Block::ToolCall { name, arguments, .. } => found_calls.push((name.clone(), arguments.clone())),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!((found_text, found_thinking), (text, thinking), "{name}");
    // A call that the limit cut, or the end of a stream that broke off.
    let cut = answer.stop.is_none()
        || answer.stop == Some(StopReason::MaxTokens)
            && calls.last().is_some_and(|(_, arguments)| serde_json::from_str::<Value>(arguments).is_err());
    if cut && found_calls.len() < calls.len() {
        calls.pop();
    }
    for call in &mut calls {
        if call.1.is_empty() {
            call.1 = "{}".into();
        }
    }
    assert_eq!(found_calls, calls, "{name}");
    check_shown(name, &outcome);
    check_splits(name, Wire::OpenAiChat, bytes, bytes.len() < 4000);
    for (count, (end, _)) in events.iter().enumerate() {
        let outcome = decode(Wire::OpenAiChat, [&bytes[..*end]]);
        assert_eq!(
            outcome.1.is_ok(),
            read_chat(&events[..=count]).0,
            "{name}, cut after {} events",
            count + 1
        );
        check_shown(name, &outcome);
    }
}

#[test]
fn hand_written_chat_streams() {
    let files = own("openai-chat");
    assert_eq!(files.len(), 8);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        if name == "error.sse" {
            let (error, answer) = decode(Wire::OpenAiChat, [&bytes[..]]).1.unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (Code::Server, "upstream failed"));
            assert_eq!(answer.blocks, [Block::Text("Half".into())]);
            check_splits(name, Wire::OpenAiChat, &bytes, true);
        } else {
            check_chat(name, &bytes);
        }
    }
}

#[test]
fn recorded_chat_streams() {
    let mut met = 0;
    let files = recorded(2, &CHAT, "sse");
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        // The folders hold other wires, too.
        if events(&bytes).first().is_some_and(|(_, data)| data.contains("\"chat.completion.chunk\"")) {
            check_chat(&file.display().to_string(), &bytes);
            met += 1;
        }
    }
    assert!(files.is_empty() || met == RECORDED[2].1, "{met} streams");
}

#[test]
fn recorded_chat_bodies() {
    check_bodies(3, Wire::OpenAiChat, &["openai-errors", "groq", "llamacpp", "openrouter", "xai"]);
}
