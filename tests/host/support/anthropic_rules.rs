//! Judges a request to Anthropic's Messages API as the API would.
//!
//! Written from the API's documented rules and the errors that it is known to answer, not from this crate's
//! encoder: it knows nothing of sessions and imports nothing of `lodger`. Promises: what it accepts would not
//! be answered by a 400 for its shape. What it refuses is named. Leaves to others: what the conversation means.

use super::{form_rules, media};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What the provider has signed: the signature (or the data of redacted thinking), when it came, and its text.
pub type Signed = BTreeMap<String, (usize, String)>;

/// Checks a whole body. `paused`: the last answer stopped with `pause_turn`, so that it is sent back as it is.
pub fn check(body: &Value, signed: &Signed, paused: bool) -> Result<(), String> {
    let body = body.as_object().ok_or("the body is no object")?;
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    need(!model.is_empty(), "no model")?;
    let max_tokens = body.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    need(max_tokens > 0, "no max_tokens")?;
    check_effort(model, max_tokens, body)?;
    if let Some(system) = body.get("system") {
        check_system(system)?;
    }
    if let Some(tools) = body.get("tools") {
        check_tools(tools)?;
    }
    if let Some(format) = body.get("output_config").and_then(|config| config.get("format")) {
        form_rules::anthropic(format)?;
    }
    if let Some(choice) = body.get("tool_choice") {
        need(
            body.get("thinking").is_none_or(|thinking| thinking["type"] == "disabled"),
            "a tool is forced on thinking",
        )?;
        let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
        let is = |tool: &Value| choice["type"] == "tool" && tool["name"] == choice["name"];
        need(tools.into_iter().any(is), "tool_choice names no tool")?;
    }
    need(breakpoints(body) <= 4, "more than four cache breakpoints")?;
    let messages = body.get("messages").and_then(Value::as_array).ok_or("no messages")?;
    need(!messages.is_empty() && messages.len() <= 100_000, "no messages, or too many")?;
    check_messages(messages, signed, paused)
}

fn need(condition: bool, why: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(why.into()) }
}

/// How much a model thinks is told to some as a budget, to others as an effort.
fn check_effort(model: &str, max_tokens: u64, body: &Map<String, Value>) -> Result<(), String> {
    let is = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    let budget_only = is(&["claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-5"]);
    let effort = body.get("output_config").and_then(|config| config.get("effort"));
    need(!budget_only || effort.is_none(), "effort for a model without it")?;
    need(
        effort.is_none_or(|word| ["low", "medium", "high", "max"].iter().any(|known| word == known)),
        "an unknown effort",
    )?;
    let Some(thinking) = body.get("thinking") else { return Ok(()) };
    let own = body.get("temperature").is_none_or(|temperature| temperature == 1);
    need(own || thinking["type"] == "disabled", "a temperature beside thinking")?;
    let budget = thinking.get("budget_tokens");
    match thinking["type"].as_str() {
        Some("adaptive") => {
            need(!budget_only, "adaptive thinking for a model without it")?;
            need(budget.is_none(), "adaptive thinking with a budget")
        }
        Some("enabled") => {
            let newer = ["sonnet-5", "opus-5", "haiku-5", "fable-5", "mythos-5", "opus-4-7", "opus-4-8"];
            let name = model.strip_prefix("claude-").unwrap_or_default();
            need(!newer.iter().any(|newer| name.starts_with(newer)), "a budget for a model without it")?;
            let fits = budget.and_then(Value::as_u64).is_some_and(|n| (1024..max_tokens).contains(&n));
            need(fits, "a budget that is not from 1024 to below max_tokens")
        }
        Some("disabled") => need(budget.is_none(), "a budget for no thinking"),
        other => Err(format!("thinking of type {other:?}")),
    }
}

fn check_system(system: &Value) -> Result<(), String> {
    match system {
        Value::String(text) => need(!text.is_empty(), "an empty system prompt"),
        Value::Array(blocks) => blocks.iter().try_for_each(|block| {
            need(block["type"] == "text", "a system block that is no text")?;
            need(block["text"].as_str().is_some_and(|text| !text.trim().is_empty()), "an empty system block")
        }),
        _ => Err("a system prompt that is neither text nor blocks".into()),
    }
}

fn check_tools(tools: &Value) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for tool in tools.as_array().ok_or("tools are no array")? {
        let name = tool["name"].as_str().unwrap_or_default();
        need(is_name(name, 128), &format!("a tool's name is not allowed: {name:?}"))?;
        need(names.insert(name), &format!("two tools called {name}"))?;
        need(tool["input_schema"]["type"] == "object", "an input_schema that is not of an object")?;
    }
    Ok(())
}

fn breakpoints(body: &Map<String, Value>) -> usize {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(object) => {
                usize::from(object.contains_key("cache_control")) + object.values().map(count).sum::<usize>()
            }
            Value::Array(items) => items.iter().map(count).sum(),
            _ => 0,
        }
    }
    // What a page put into a tool's input or schema is no breakpoint, but then it is no marker either.
    usize::from(body.contains_key("cache_control"))
        + ["system", "tools", "messages"].iter().filter_map(|key| body.get(*key)).map(count).sum::<usize>()
}

/// One side's turn, as the server sees it: messages of one role in a row are one.
struct Turn<'a> {
    user: bool,
    blocks: Vec<&'a Value>,
}

fn check_messages(messages: &[Value], signed: &Signed, paused: bool) -> Result<(), String> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    let mut texts = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let user = match message["role"].as_str() {
            Some("user") => true,
            Some("assistant") => false,
            other => return Err(format!("message {at}: role {other:?}")),
        };
        let blocks: Vec<&Value> = match &message["content"] {
            Value::String(text) => {
                need(!text.trim().is_empty(), &format!("message {at}: empty text"))?;
                texts.push(at);
                Vec::new()
            }
            Value::Array(blocks) => {
                need(!blocks.is_empty(), &format!("message {at}: no blocks"))?;
                blocks.iter().collect()
            }
            _ => return Err(format!("message {at}: content is neither text nor blocks")),
        };
        for block in &blocks {
            check_block(block, user).map_err(|why| format!("message {at}: {why}"))?;
        }
        if !user && blocks.iter().any(|b| is_thinking(b)) {
            need(!blocks.iter().all(|b| is_thinking(b)), &format!("message {at}: thinking alone"))?;
        }
        match turns.last_mut().filter(|turn| turn.user == user) {
            Some(turn) => turn.blocks.extend(blocks),
            None => turns.push(Turn { user, blocks }),
        }
    }
    need(turns.first().is_some_and(|turn| turn.user), "the first message is not the user's")?;
    let last = turns.last().ok_or("no messages")?;
    need(last.user || paused, "the conversation ends with the assistant: a prefill")?;
    check_calls(&turns)?;
    check_thinking(&turns, signed)
}

fn check_block(block: &Value, user: bool) -> Result<(), String> {
    let text = |key: &str| block[key].as_str();
    match text("type").ok_or("a block without a type")? {
        "text" => need(text("text").is_some_and(|t| !t.trim().is_empty()), "a text block without text"),
        "tool_use" => {
            need(!user, "tool_use of the user")?;
            need(text("id").is_some_and(|id| is_name(id, usize::MAX)), "tool_use: a bad id")?;
            need(text("name").is_some_and(|name| is_name(name, 128)), "tool_use: a bad name")?;
            need(block["input"].is_object(), "tool_use: its input is no object")
        }
        "tool_result" => {
            need(user, "tool_result of the assistant")?;
            need(text("tool_use_id").is_some(), "tool_result without an id")?;
            match &block["content"] {
                Value::Null => Ok(()),
                Value::String(text) => need(!text.is_empty(), "tool_result with empty content"),
                Value::Array(blocks) => {
                    need(!blocks.is_empty(), "tool_result with no blocks")?;
                    blocks.iter().try_for_each(|block| {
                        let fits = matches!(block["type"].as_str(), Some("text" | "image" | "document"));
                        need(fits, "tool_result: a block of another kind")?;
                        check_block(block, user)
                    })
                }
                _ => Err("tool_result with content of another kind".into()),
            }?;
            need(matches!(block["is_error"], Value::Null | Value::Bool(_)), "tool_result: is_error")
        }
        "thinking" => {
            need(!user, "thinking of the user")?;
            need(block["thinking"].is_string(), "thinking without its text")?;
            need(text("signature").is_some_and(|s| !s.is_empty()), "thinking without a signature")
        }
        "redacted_thinking" => {
            need(!user, "redacted thinking of the user")?;
            need(text("data").is_some_and(|data| !data.is_empty()), "redacted thinking without data")
        }
        "image" | "document" => {
            need(user, "a file of the assistant")?;
            check_file(block, text("type") == Some("document"))
        }
        "search_result" => need(user, "a search result of the assistant"),
        // Blocks of the provider's own tools, which only it understands.
        other => need(!user, &format!("a block of the user of type {other}")),
    }
}

fn check_file(block: &Value, document: bool) -> Result<(), String> {
    let source = block["source"].as_object().ok_or("a file without a source")?;
    let text = |key: &str| source.get(key).and_then(Value::as_str).unwrap_or_default();
    let title = &block["title"];
    need(title.is_null() || document && title.as_str().is_some_and(|t| !t.is_empty()), "a title")?;
    need(source.len() == 3, "a source with other members")?;
    match (text("type"), text("media_type")) {
        ("text", "text/plain") => need(document && !text("data").is_empty(), "text that is no document"),
        ("base64", kind) => {
            need((kind == "application/pdf") == document, &format!("a block of another kind than {kind}"))?;
            media::check(kind, text("data"))
        }
        (source, kind) => Err(format!("a source of type {source} with {kind}")),
    }
}

/// Each `tool_use` has exactly one `tool_result`, at the beginning of the user's next turn, and no other has.
fn check_calls(turns: &[Turn<'_>]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for turn in turns {
        if turn.user {
            let mut results_over = false;
            for block in &turn.blocks {
                if block["type"] == "tool_result" {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    need(!results_over, &format!("the result of {id} does not come first"))?;
                    need(open.remove(id), &format!("a result for {id}, which was not called or has one"))?;
                } else {
                    results_over = true;
                }
            }
            need(open.is_empty(), &format!("no result for {open:?}"))?;
        } else {
            for block in turn.blocks.iter().filter(|block| block["type"] == "tool_use") {
                let id = block["id"].as_str().unwrap_or_default();
                need(seen.insert(id), &format!("two calls with the id {id}"))?;
                open.insert(id);
            }
        }
    }
    need(open.is_empty(), &format!("no result for {open:?}"))
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

/// Thinking comes back as it was signed, in its order, and never as the last word of a turn.
fn check_thinking(turns: &[Turn<'_>], signed: &Signed) -> Result<(), String> {
    let mut before = None;
    for turn in turns.iter().filter(|turn| !turn.user) {
        need(!turn.blocks.last().is_some_and(|block| is_thinking(block)), "a turn ends with thinking")?;
        for block in turn.blocks.iter().filter(|block| is_thinking(block)) {
            let redacted = block["type"] == "redacted_thinking";
            let proof = block[if redacted { "data" } else { "signature" }].as_str().unwrap_or_default();
            let (order, text) = signed.get(proof).ok_or("thinking with a signature that nobody gave")?;
            need(redacted || block["thinking"] == text.as_str(), "thinking was changed")?;
            need(before.is_none_or(|before| before < *order), "thinking is out of order, or comes twice")?;
            before = Some(*order);
        }
    }
    Ok(())
}

/// Whether this has only what ids and names may have.
fn is_name(text: &str, longest: usize) -> bool {
    !text.is_empty()
        && text.len() <= longest
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
