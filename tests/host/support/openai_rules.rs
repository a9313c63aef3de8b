//! Judges the messages of a chat-completions request as such an API would.
//!
//! Written from the API's rules, not from this crate's encoder. Promises: what it accepts would not be
//! answered by a 400 for its shape, not even by the stricter servers that speak this protocol.

use super::{form_rules, media};
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks a whole body. `paused`: the conversation may end with the assistant.
pub fn check(body: &Value, paused: bool) -> Result<(), String> {
    need(body["model"].as_str().is_some_and(|model| !model.is_empty()), "no model")?;
    let mut names = BTreeSet::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        let function = &tool["function"];
        need(tool["type"] == "function", "a tool that is no function")?;
        let name = function["name"].as_str().unwrap_or_default();
        need(is_name(name), &format!("a tool's name is not allowed: {name:?}"))?;
        need(names.insert(name), &format!("two tools called {name}"))?;
        need(function["parameters"]["type"] == "object", "parameters that are not of an object")?;
    }
    if let Some(format) = body.get("response_format") {
        need(format["type"] == "json_schema", "a response_format that is no json_schema")?;
        form_rules::openai(&format["json_schema"])?;
    }
    if let Some(choice) = body.get("tool_choice") {
        let name = choice["function"]["name"].as_str().unwrap_or_default();
        need(choice["type"] == "function" && names.contains(name), "tool_choice names no tool")?;
    }
    check_messages(body["messages"].as_array().ok_or("no messages")?, paused)
}

/// Checks the messages alone.
pub fn check_messages(messages: &[Value], paused: bool) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut first = true;
    for (at, message) in messages.iter().enumerate() {
        let fault = |why: &str| format!("message {at}: {why}");
        let role = message["role"].as_str().unwrap_or_default();
        need(role == "tool" || open.is_empty(), &fault(&format!("no result for {open:?}")))?;
        let text = message["content"].as_str();
        let said = text.is_some_and(|text| !text.trim().is_empty());
        match role {
            "system" | "developer" => {
                need(at == 0 && said, &fault("a system message that is empty or not the first"))?;
                continue;
            }
            "user" => match &message["content"] {
                Value::Array(parts) => check_parts(parts).map_err(|why| fault(&why))?,
                _ => need(said, &fault("an empty message of the user"))?,
            },
            "assistant" => {
                need(!first, "the first message is the assistant's")?;
                match &message["tool_calls"] {
                    Value::Null => need(said, &fault("an empty message of the assistant"))?,
                    Value::Array(calls) => {
                        need(!calls.is_empty(), &fault("tool_calls without a call"))?;
                        need(message["content"].is_null() || said, &fault("empty content"))?;
                        for call in calls {
                            let id = check_call(call).map_err(|why| fault(&why))?;
                            need(seen.insert(id), &fault(&format!("two calls with the id {id}")))?;
                            open.insert(id);
                        }
                    }
                    _ => return Err(fault("tool_calls are no array")),
                }
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                need(
                    open.remove(id),
                    &fault(&format!("a result for {id}, which was not called or has one")),
                )?;
                need(text.is_some_and(|text| !text.is_empty()), &fault("an empty result"))?;
            }
            other => return Err(fault(&format!("role {other:?}"))),
        }
        first = false;
    }
    need(open.is_empty(), &format!("no result for {open:?}"))?;
    let last = messages.last().ok_or("no messages")?;
    need(!first, "nothing but a system message")?;
    need(last["role"] != "assistant" || paused, "the conversation ends with the assistant")
}

/// What a person says with files. Without one it is a text: many servers know nothing else.
fn check_parts(parts: &[Value]) -> Result<(), String> {
    let mut files = 0;
    for part in parts {
        match part["type"].as_str().unwrap_or_default() {
            "text" => {
                need(part["text"].as_str().is_some_and(|text| !text.trim().is_empty()), "an empty text")?
            }
            "image_url" => {
                files += 1;
                let kind =
                    media::check_url(part["image_url"]["url"].as_str().ok_or("an image without a url")?)?;
                need(kind.starts_with("image/"), &format!("an image of type {kind}"))?;
            }
            "file" => {
                files += 1;
                let file = &part["file"];
                need(
                    file["filename"].as_str().is_some_and(|name| !name.is_empty()),
                    "a file without a name",
                )?;
                let kind = media::check_url(file["file_data"].as_str().ok_or("a file without data")?)?;
                need(kind == "application/pdf", &format!("a file of type {kind}"))?;
            }
            other => return Err(format!("a part of type {other}")),
        }
    }
    need(files > 0, "parts without a file")
}

fn check_call(call: &Value) -> Result<&str, String> {
    need(call["type"] == "function", "a call that is no function")?;
    let name = call["function"]["name"].as_str().unwrap_or_default();
    need(!name.is_empty(), "a call without a name")?;
    let arguments = call["function"]["arguments"].as_str().ok_or("arguments are no text")?;
    let parsed: Value = serde_json::from_str(arguments).map_err(|_| "arguments are no JSON")?;
    need(parsed.is_object(), "arguments are no object")?;
    call["id"].as_str().filter(|id| !id.is_empty()).ok_or_else(|| "a call without an id".into())
}

fn need(condition: bool, why: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(why.into()) }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
