//! Judges a request to OpenAI Responses as the API would.
//!
//! Written from the API's rules, not from this crate's encoder. Promises: what it accepts would not be answered by
//! a 400 for its shape, while nothing is stored on the provider's side.

use super::anthropic_rules::Signed;
use super::{form_rules, media};
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks a whole body. `sealed`: the thinking that this provider has sealed. `paused`: the conversation may end with
/// the assistant.
pub fn check(body: &Value, sealed: &Signed, paused: bool) -> Result<(), String> {
    need(body["model"].as_str().is_some_and(|model| !model.is_empty()), "no model")?;
    need(body["store"] == false, "something is stored")?;
    need(body.get("messages").is_none(), "messages are called input")?;
    need(
        body["instructions"].is_null() || body["instructions"].as_str().is_some_and(said),
        "instructions that say nothing",
    )?;
    let mut names = BTreeSet::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        need(tool["type"] == "function", "a tool that is no function")?;
        need(tool.get("function").is_none(), "a tool that is wrapped")?;
        need(tool["strict"] == false, "a schema that need not fit is strict")?;
        let name = tool["name"].as_str().unwrap_or_default();
        need(is_name(name), &format!("a tool's name is not allowed: {name:?}"))?;
        need(names.insert(name), &format!("two tools called {name}"))?;
        need(tool["parameters"]["type"] == "object", "parameters that are not of an object")?;
    }
    if let Some(format) = body.get("text").and_then(|text| text.get("format")) {
        need(format["type"] == "json_schema", "a text format that is no json_schema")?;
        form_rules::openai(format)?;
    }
    if let Some(choice) = body.get("tool_choice") {
        let name = choice["name"].as_str().unwrap_or_default();
        need(choice["type"] == "function" && names.contains(name), "tool_choice names no tool")?;
    }
    check_input(body["input"].as_array().ok_or("no input")?, sealed, paused)
}

/// Checks the items alone.
pub fn check_input(items: &[Value], sealed: &Signed, paused: bool) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut seen = BTreeSet::new();
    // Calls go on until the first result; then all of them must be answered.
    let mut answering = false;
    let mut thought = false;
    for (at, item) in items.iter().enumerate() {
        let fault = |why: &str| format!("item {at}: {why}");
        let kind = item["type"].as_str().unwrap_or_default();
        need(item.get("id").is_none() || is_other(kind), &fault("an id of something that is not stored"))?;
        let from_model = match kind {
            "message" => item["role"] == "assistant",
            "function_call_output" => false,
            _ => true,
        };
        need(from_model || !thought, &fault("thinking that led to nothing"))?;
        need(
            kind == "function_call_output" || !answering || open.is_empty(),
            &fault(&format!("no result for {open:?}")),
        )?;
        match kind {
            "message" => {
                need(open.is_empty() || from_model, &fault(&format!("no result for {open:?}")))?;
                need(at > 0 || !from_model, "the first item is the assistant's")?;
                check_message(item).map_err(|why| fault(&why))?;
            }
            "function_call" => {
                let id = check_call(item).map_err(|why| fault(&why))?;
                need(seen.insert(id), &fault(&format!("two calls with the id {id}")))?;
                open.insert(id);
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                need(
                    open.remove(id),
                    &fault(&format!("a result for {id:?}, which was not called or has one")),
                )?;
                need(
                    item["output"].as_str().is_some_and(|text| !text.is_empty()),
                    &fault("an empty result"),
                )?;
            }
            "reasoning" => check_reasoning(item, sealed).map_err(|why| fault(&why))?,
            other if is_other(other) => {
                let call = item["call_id"].as_str();
                let answer = |other: &Value| other["call_id"].as_str() == call && other["type"] != kind;
                need(
                    call.is_none() || items.iter().any(answer),
                    &fault("a call of the provider's own that nothing answers"),
                )?;
            }
            other => return Err(fault(&format!("type {other:?}"))),
        }
        answering = kind == "function_call_output" && !open.is_empty();
        thought = kind == "reasoning";
    }
    need(open.is_empty(), &format!("no result for {open:?}"))?;
    need(!thought, "thinking that led to nothing at the end")?;
    let last = items.last().ok_or("no items")?;
    let from_person = last["role"] == "user" || last["type"] == "function_call_output";
    need(from_person || paused, "the conversation ends with the assistant")
}

fn check_message(item: &Value) -> Result<(), String> {
    let wanted = match item["role"].as_str().unwrap_or_default() {
        "user" => "input_text",
        "assistant" => "output_text",
        other => return Err(format!("role {other:?}")),
    };
    let parts = item["content"].as_array().ok_or("content is no array")?;
    need(!parts.is_empty(), "an empty message")?;
    for part in parts {
        match part["type"].as_str() {
            Some("input_image") if wanted == "input_text" => {
                let kind = media::check_url(part["image_url"].as_str().ok_or("an image without a url")?)?;
                need(kind.starts_with("image/"), &format!("an image of type {kind}"))?;
                need(part["detail"] == "auto", "an image without its detail")?;
                continue;
            }
            Some("input_file") if wanted == "input_text" => {
                let kind = media::check_url(part["file_data"].as_str().ok_or("a file without data")?)?;
                need(kind == "application/pdf", &format!("a file of type {kind}"))?;
                need(part["filename"].as_str().is_some_and(said), "a file without a name")?;
                continue;
            }
            _ => {}
        }
        need(part["type"] == wanted, &format!("{} in a message of the {}", part["type"], item["role"]))?;
        need(part["text"].as_str().is_some_and(said), "an empty text")?;
    }
    Ok(())
}

fn check_call(item: &Value) -> Result<&str, String> {
    need(item["name"].as_str().is_some_and(is_name), "a call whose name is not allowed")?;
    let arguments = item["arguments"].as_str().ok_or("arguments are no text")?;
    let parsed: Value = serde_json::from_str(arguments).map_err(|_| "arguments are no JSON")?;
    need(parsed.is_object(), "arguments are no object")?;
    item["call_id"].as_str().filter(|id| is_name(id)).ok_or_else(|| "a call's id is not allowed".into())
}

fn check_reasoning(item: &Value, sealed: &Signed) -> Result<(), String> {
    let known = item["encrypted_content"].as_str().is_some_and(|text| sealed.contains_key(text));
    need(known, "thinking that is not sealed, or by somebody else")?;
    need(item["summary"].is_array(), "thinking without a summary")?;
    for refused in ["status", "content"] {
        need(item.get(refused).is_none(), &format!("thinking with a {refused}"))?;
    }
    Ok(())
}

/// An item of the provider's own tools.
fn is_other(kind: &str) -> bool {
    !kind.starts_with("function_") && (kind.ends_with("_call") || kind.ends_with("_call_output"))
        || ["mcp_list_tools", "program_output", "compaction"].contains(&kind)
}

fn said(text: &str) -> bool {
    !text.trim().is_empty()
}

fn need(condition: bool, why: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(why.into()) }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
