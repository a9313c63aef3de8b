//! Judges a request to Google's Interactions as a strict server would.
//!
//! Written from the API's reference and from what its server is known to refuse, not from this crate's encoder. Promises:
//! what it accepts would not be answered by a 400 for its shape, while nothing is stored on the provider's side. Leaves
//! to others: what the conversation means.

use super::anthropic_rules::Signed;
use super::media;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What Google's documents give for a thought that it has not signed.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Checks a whole body. `signed`: the thinking that this provider has signed. `paused`: the conversation may end with
/// the model.
pub fn check(body: &Value, signed: &Signed, paused: bool) -> Result<(), String> {
    let members = body.as_object().ok_or("the body is no object")?;
    let known = [
        "model",
        "input",
        "stream",
        "store",
        "system_instruction",
        "tools",
        "generation_config",
        "response_format",
    ];
    only(members, &known, "the body")?;
    need(said(&body["model"]), "no model")?;
    need(body["stream"] == true, "an answer that does not stream")?;
    need(body["store"] == false, "something is stored")?;
    need(body["system_instruction"].is_null() || said(&body["system_instruction"]), "it instructs nothing")?;
    let mut names = BTreeSet::new();
    if let Some(tools) = members.get("tools") {
        let tools = tools.as_array().filter(|tools| !tools.is_empty()).ok_or("tools without one")?;
        for tool in tools {
            only(
                tool.as_object().ok_or("a tool that is no object")?,
                &["type", "name", "description", "parameters"],
                "a tool",
            )?;
            need(tool["type"] == "function", "a tool that is no function")?;
            let name = tool["name"].as_str().unwrap_or_default();
            need(is_name(name), &format!("a tool's name is not allowed: {name:?}"))?;
            need(names.insert(name), &format!("two tools called {name}"))?;
            need(tool["parameters"]["type"] == "object", "parameters that are not of an object")?;
        }
    }
    if let Some(config) = members.get("generation_config") {
        check_config(config.as_object().ok_or("generation_config is no object")?, &names)?;
    }
    if let Some(format) = members.get("response_format") {
        need(names.is_empty(), "a format beside functions")?;
        let format = format.as_array().filter(|format| format.len() == 1).ok_or("no list of one format")?;
        need(
            format[0]["type"] == "text" && format[0]["mime_type"] == "application/json",
            "a format of no JSON",
        )?;
        need(format[0]["schema"].is_object(), "a format without a schema")?;
    }
    check_steps(body["input"].as_array().ok_or("no input")?, signed, paused)
}

fn check_config(config: &Map<String, Value>, names: &BTreeSet<&str>) -> Result<(), String> {
    let known = ["max_output_tokens", "temperature", "thinking_level", "thinking_summaries", "tool_choice"];
    only(config, &known, "generation_config")?;
    for (name, words) in [
        ("thinking_level", &["minimal", "low", "medium", "high"][..]),
        ("thinking_summaries", &["auto", "none"]),
    ] {
        let word = config.get(name);
        need(
            word.is_none_or(|word| words.iter().any(|known| word == known)),
            &format!("{name} is {word:?}"),
        )?;
    }
    if let Some(choice) = config.get("tool_choice") {
        let allowed = &choice["allowed_tools"];
        need(allowed["mode"] == "any" || allowed["mode"] == "validated", "tool_choice without its mode")?;
        let tools = allowed["tools"].as_array().filter(|tools| !tools.is_empty());
        let known = |tool: &Value| tool.as_str().is_some_and(|name| names.contains(name));
        need(tools.is_some_and(|tools| tools.iter().all(known)), "tool_choice names no tool")?;
    }
    Ok(())
}

/// Checks the steps alone.
pub fn check_steps(steps: &[Value], signed: &Signed, paused: bool) -> Result<(), String> {
    // The calls without a result: the id of each, and its tool's name.
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    // The steps of the model since somebody else has said something.
    let mut turn: Vec<&Value> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let fault = |why: String| format!("step {at}: {why}");
        let kind = step["type"].as_str().unwrap_or_default();
        if matches!(kind, "user_input" | "function_result") {
            check_turn(&std::mem::take(&mut turn)).map_err(fault)?;
        } else {
            need(at > 0, "the first step is the model's")?;
            turn.push(step);
            need(open.is_empty() || turn.len() > 1, &fault(format!("no result for {open:?}")))?;
        }
        check_step(step, kind, signed, &mut open, &mut seen).map_err(fault)?;
    }
    check_turn(&turn)?;
    need(open.is_empty(), &format!("no result for {open:?}"))?;
    let last = steps.last().ok_or("no steps")?;
    let from_person = last["type"] == "user_input" || last["type"] == "function_result";
    need(from_person || paused, "the conversation ends with the model")
}

/// What the model has said in one go.
fn check_turn(turn: &[&Value]) -> Result<(), String> {
    let is = |kind: &'static str| move |step: &&&Value| step["type"] == kind;
    need(
        turn.is_empty() || turn.iter().filter(is("thought")).count() < turn.len(),
        "thinking that led to nothing",
    )?;
    let proven = turn.iter().any(|step| step["signature"].as_str().is_some_and(|proof| !proof.is_empty()));
    need(proven || turn.iter().find(is("function_call")).is_none(), "a call without a signature")?;
    for step in turn.iter().filter(|step| is_call(&step["type"])) {
        let answered = turn.iter().any(|other| other["call_id"] == step["id"]);
        need(answered, "a call of the provider's own that nothing answers")?;
    }
    Ok(())
}

fn check_step<'a>(
    step: &'a Value,
    kind: &str,
    signed: &Signed,
    open: &mut BTreeMap<&'a str, &'a str>,
    seen: &mut BTreeSet<&'a str>,
) -> Result<(), String> {
    let members = step.as_object().ok_or("it is no object")?;
    match kind {
        "user_input" => {
            need(open.is_empty(), &format!("no result for {open:?}"))?;
            only(members, &["type", "content"], "it")?;
            check_content(&step["content"], true)?;
        }
        "model_output" => {
            only(members, &["type", "content"], "it")?;
            check_content(&step["content"], false)?;
        }
        "thought" => {
            only(members, &["type", "signature", "summary"], "it")?;
            let proof = step["signature"].as_str().unwrap_or_default();
            let text = step["summary"][0]["text"].as_str().unwrap_or_default();
            let own = signed.get(proof).is_some_and(|(_, signed)| signed == text);
            need(
                own || proof == UNSIGNED && text.is_empty(),
                "thinking that is not signed, or by somebody else",
            )?;
            need(step["summary"].is_null() || !text.is_empty(), "a summary that says nothing")?;
        }
        "function_call" => {
            only(members, &["type", "id", "name", "arguments", "signature"], "it")?;
            need(step["arguments"].is_object(), "arguments are no object")?;
            let name =
                step["name"].as_str().filter(|name| is_name(name)).ok_or("a call's name is not allowed")?;
            let id = step["id"].as_str().filter(|id| is_name(id)).ok_or("a call's id is not allowed")?;
            need(seen.insert(id), &format!("two calls with the id {id}"))?;
            open.insert(id, name);
        }
        "function_result" => {
            only(members, &["type", "call_id", "name", "result", "is_error"], "it")?;
            let id = step["call_id"].as_str().unwrap_or_default();
            let name = open
                .remove(id)
                .ok_or_else(|| format!("a result for {id:?}, which was not called or has one"))?;
            need(step["name"] == name, &format!("a result of {name} that names {}", step["name"]))?;
            need(step["result"].as_str().is_some_and(|text| !text.is_empty()), "an empty result")?;
            need(step["is_error"].is_null() || step["is_error"] == true, "an error that is none")?;
        }
        other => {
            let own = is_call(&step["type"]) || other.ends_with("_result");
            need(own && !other.starts_with("function_"), &format!("type {other:?}"))?;
        }
    }
    Ok(())
}

fn check_content(content: &Value, from_person: bool) -> Result<(), String> {
    let parts = content.as_array().filter(|parts| !parts.is_empty()).ok_or("content without a part")?;
    for part in parts {
        let members = part.as_object().ok_or("a part that is no object")?;
        let kind = part["type"].as_str().unwrap_or_default();
        match kind {
            "text" => {
                only(members, &["type", "text", "annotations"], "a text")?;
                need(said(&part["text"]), "an empty text")?;
            }
            "image" | "document" if from_person => {
                only(members, &["type", "mime_type", "data"], "a file")?;
                let media_type = part["mime_type"].as_str().unwrap_or_default();
                let fits = if kind == "image" {
                    media_type.starts_with("image/")
                } else {
                    media_type == "application/pdf"
                };
                need(fits, &format!("{kind} of type {media_type}"))?;
                media::check(media_type, part["data"].as_str().ok_or("a file without data")?)?;
            }
            other => return Err(format!("{other:?} is no part of this")),
        }
    }
    Ok(())
}

/// Whether this is a step that asks a tool of the provider's own.
fn is_call(kind: &Value) -> bool {
    kind.as_str().is_some_and(|kind| kind.ends_with("_call") && kind != "function_call")
}

fn said(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn need(condition: bool, why: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(why.into()) }
}

fn only(object: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), String> {
    match object.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!("{what} has a member {name:?}")),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
