//! Judges a request to Ollama's own API as a strict server would.
//!
//! Written from the API's types and what its server does with them, not from this crate's encoder. Promises: what it
//! accepts is read by the server without an error. No member of it goes unread, and nothing of the conversation is
//! taken away unseen. Leaves to others: what the conversation means.

use super::media;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Checks a whole body. `paused`: the conversation may end with the assistant.
pub fn check(body: &Value, paused: bool) -> Result<(), String> {
    let body = body.as_object().ok_or("the body is no object")?;
    let known = [
        "model",
        "messages",
        "tools",
        "stream",
        "truncate",
        "shift",
        "think",
        "options",
        "format",
        "keep_alive",
    ];
    only(body, &known, "the body")?;
    need(is_text(body.get("model")), "no model")?;
    need(body.get("stream").is_none_or(|stream| stream == true), "an answer that does not stream")?;
    for drops in ["truncate", "shift"] {
        need(body.get(drops) == Some(&Value::Bool(false)), &format!("{drops} is not false"))?;
    }
    if let Some(think) = body.get("think") {
        let level = think.as_str().is_some_and(|level| ["low", "medium", "high", "max"].contains(&level));
        need(think.is_boolean() || level, &format!("think is {think}"))?;
    }
    let options = body.get("options").and_then(Value::as_object).ok_or("no options")?;
    need(options.get("num_ctx").and_then(Value::as_u64).is_some_and(|n| n >= 4), "no num_ctx")?;
    need(options.values().all(|option| !option.is_object()), "an option that is an object")?;
    if let Some(tools) = body.get("tools") {
        check_tools(tools.as_array().ok_or("tools are no array")?)?;
    }
    if let Some(format) = body.get("format") {
        need(format["type"] == "object", "a format that is no schema of an object")?;
        need(body.get("tools").is_none(), "a format that keeps the model from its tools")?;
    }
    check_messages(body.get("messages").and_then(Value::as_array).ok_or("no messages")?, paused)
}

fn check_tools(tools: &[Value]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for tool in tools {
        let function = tool["function"].as_object().ok_or("a tool without a function")?;
        need(tool["type"] == "function", "a tool that is no function")?;
        only(function, &["name", "description", "parameters"], "a tool")?;
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        need(is_name(name), &format!("a tool's name is not allowed: {name:?}"))?;
        need(names.insert(name), &format!("two tools called {name}"))?;
        need(function.get("description").is_none_or(Value::is_string), "a description that is no text")?;
        need(tool["function"]["parameters"]["type"] == "object", "parameters that are not of an object")?;
    }
    Ok(())
}

/// Checks the messages alone.
pub fn check_messages(messages: &[Value], paused: bool) -> Result<(), String> {
    // The calls without a result: the id of each, and its tool's name.
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut begun = false;
    for (at, message) in messages.iter().enumerate() {
        check_message(message, at, &mut begun, &mut open, &mut seen)
            .map_err(|why| format!("message {at}: {why}"))?;
    }
    let last = messages.last().ok_or("no messages")?;
    need(open.is_empty(), &format!("no result for {open:?}"))?;
    need(begun, "nothing but a system message")?;
    need(last["role"] != "assistant" || paused, "the conversation ends with the assistant")
}

fn check_message<'a>(
    message: &'a Value,
    at: usize,
    begun: &mut bool,
    open: &mut BTreeMap<&'a str, &'a str>,
    seen: &mut BTreeSet<&'a str>,
) -> Result<(), String> {
    let members = message.as_object().ok_or("it is no object")?;
    let role = message["role"].as_str().unwrap_or_default();
    need(role == "tool" || open.is_empty(), &format!("no result for {open:?}"))?;
    // `null` would be read as an empty text, but says that somebody means another API.
    let text = message["content"].as_str().ok_or("content is no text")?;
    let said = !text.trim().is_empty();
    match role {
        "system" => {
            only(members, &["role", "content"], "it")?;
            return need(at == 0 && said, "a system message that is empty or not the first");
        }
        "user" => {
            only(members, &["role", "content", "images"], "it")?;
            let images = match members.get("images") {
                None => &[][..],
                Some(images) => {
                    images.as_array().filter(|list| !list.is_empty()).ok_or("images without one")?
                }
            };
            need(said || !images.is_empty(), "an empty message of the user")?;
            for image in images {
                let data = image.as_str().ok_or("an image that is no text")?;
                let kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
                need(kinds.iter().any(|kind| media::check(kind, data).is_ok()), "an image that is none")?;
            }
        }
        "assistant" => {
            only(members, &["role", "content", "thinking", "tool_calls"], "it")?;
            need(*begun, "the first message is the assistant's")?;
            need(members.get("thinking").is_none_or(|t| is_text(Some(t))), "thinking that is no text")?;
            let calls = match members.get("tool_calls") {
                None => &[][..],
                Some(calls) => {
                    calls.as_array().filter(|calls| !calls.is_empty()).ok_or("tool_calls without a call")?
                }
            };
            need(said || !calls.is_empty(), "an empty message of the assistant")?;
            need(said || text.is_empty(), "content that is white space")?;
            for call in calls {
                let (id, name) = check_call(call)?;
                need(seen.insert(id), &format!("two calls with the id {id}"))?;
                open.insert(id, name);
            }
        }
        "tool" => {
            only(members, &["role", "content", "tool_name", "tool_call_id"], "it")?;
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let called = open
                .remove(id)
                .ok_or_else(|| format!("a result for {id}, which was not called or has one"))?;
            need(
                message["tool_name"] == called,
                &format!("a result of {called} that names {}", message["tool_name"]),
            )?;
            need(!text.is_empty(), "an empty result")?;
        }
        other => return Err(format!("role {other:?}")),
    }
    *begun = true;
    Ok(())
}

/// The id and the tool's name of a call.
fn check_call(call: &Value) -> Result<(&str, &str), String> {
    only(call.as_object().ok_or("a call that is no object")?, &["id", "type", "function"], "a call")?;
    need(call["type"].is_null() || call["type"] == "function", "a call that is no function")?;
    let function = call["function"].as_object().ok_or("a call without a function")?;
    only(function, &["index", "name", "arguments"], "a call's function")?;
    need(function.get("arguments").is_some_and(Value::is_object), "arguments are no object")?;
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    need(is_name(name), &format!("a call of {name:?}"))?;
    let id = call["id"].as_str().filter(|id| !id.is_empty()).ok_or("a call without an id")?;
    Ok((id, name))
}

fn need(condition: bool, why: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(why.into()) }
}

/// Nothing in an object that the server would read over.
fn only(object: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), String> {
    match object.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!("{what} has a member {name:?}")),
    }
}

fn is_text(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
