//! What OpenAI's two APIs have in common, and what is shaped like them.
//!
//! Decides how tools, the form of an answer and the messages of a chat are written, and how tokens are counted. Leaves
//! to others: everything else (`openai_chat`, `openai_responses`, `ollama`).

use super::files::{FileKind, push_member, push_parts, push_texts};
use super::ids::plain;
use super::json::{Body, Members, is_object};
use super::{Block, Dialect, Message, Reasoning, Replay, Role, Settings, ToolSpec, Usage};
use crate::find;
use crate::json::push_text;
use crate::list::Listed;
use crate::ports::marks::Form;

impl Reasoning {
    /// OpenAI's word for it.
    pub(super) fn effort(self) -> &'static str {
        match self {
            Reasoning::Off => "none",
            Reasoning::Low => "low",
            Reasoning::Medium => "medium",
            Reasoning::High => "high",
        }
    }
}

/// Writes the tools into a body, each between these two texts, and behind them what the provider runs itself.
pub(super) fn tools(body: &mut Body<'_>, settings: &Settings, tools: &[ToolSpec], open: &str, close: &str) {
    let mut out = String::new();
    for (at, tool) in tools.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(open);
        out.push_str(r#""name":"#);
        push_text(&mut out, &tool.name);
        out.push_str(r#","description":"#);
        push_text(&mut out, &tool.description);
        out.push_str(r#","parameters":"#);
        out.push_str(&tool.input_schema);
        out.push_str(close);
    }
    body.list("tools", &settings.with_served("tools", out));
}

/// Writes what the answer has to be: the name and the schema, and whether it is to be kept to without fail.
pub(super) fn form((schema, strict): (&str, &str)) -> String {
    [r#""name":"answer","schema":"#, schema, r#","strict":"#, strict].concat()
}

/// The member that holds the conversation.
pub(super) fn write_messages(body: &mut Body<'_>, dialect: &Dialect, system: &str, messages: &str) {
    if let Some(out) = body.member("messages") {
        out.push('[');
        if !system.trim().is_empty() {
            out.push_str(r#"{"role":"#);
            push_text(out, dialect.system_role);
            out.push_str(r#","content":"#);
            push_text(out, system);
            out.push('}');
            if !messages.is_empty() {
                out.push(',');
            }
        }
        out.push_str(messages);
        out.push(']');
    }
}

/// In what the messages of one wire differ from those of another that is shaped like OpenAI's chat.
pub(super) struct Shape {
    /// Whether the arguments of a call are text, and no object.
    pub text_arguments: bool,
    /// What stands for the content of a message that has none.
    pub no_content: &'static str,
    /// Whether a result names its tool.
    pub result_names_tool: bool,
    /// Whether files are parts of the content. Elsewhere there are only images, and they stand beside it.
    pub files_are_parts: bool,
}

/// Appends a message as one or more, or nothing.
pub(super) fn encode(shape: &Shape, dialect: &Dialect, message: &Message, out: &mut String) {
    encode_results(shape, dialect, message, out);
    // Only a person sends files, and with them neither calls nor thoughts.
    if message.blocks.iter().any(|block| matches!(block, Block::File(_))) {
        begin(out, r#"{"role":"user","content":"#);
        encode_files(shape, &message.blocks, out);
        out.push('}');
        return;
    }
    // One string and no array of parts: many servers know nothing else.
    let texts: Vec<&str> = message
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
        .list();
    let has_calls = message.blocks.iter().any(|block| matches!(block, Block::ToolCall { .. }));
    if texts.is_empty() && !has_calls {
        return;
    }
    begin(
        out,
        match message.role {
            Role::User => r#"{"role":"user","content":"#,
            Role::Assistant => r#"{"role":"assistant","content":"#,
        },
    );
    let thoughts: Vec<&str> = message
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Thinking { text, .. } if message.own && !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .list();
    let joined = |texts: &[&str]| find::join(texts, "\n\n");
    if dialect.thinking == Replay::Parts && !thoughts.is_empty() {
        out.push_str(r#"[{"type":"thinking","thinking":[{"type":"text","text":"#);
        push_text(out, &joined(&thoughts));
        out.push_str("}]}");
        if !texts.is_empty() {
            out.push_str(r#",{"type":"text","text":"#);
            push_text(out, &joined(&texts));
            out.push('}');
        }
        out.push(']');
    } else if texts.is_empty() {
        out.push_str(shape.no_content);
    } else {
        push_text(out, &joined(&texts));
    }
    let needed = has_calls && matches!(dialect.thinking, Replay::Needed(_));
    match dialect.thinking {
        _ if encode_details(message, out) => {}
        Replay::Member(name) | Replay::Needed(name) if needed || !thoughts.is_empty() => {
            out.push(',');
            push_text(out, name);
            out.push(':');
            push_text(out, &joined(&thoughts));
        }
        _ => {}
    }
    if has_calls {
        out.push_str(r#","tool_calls":["#);
        encode_calls(shape, dialect, message, out);
        out.push(']');
    }
    out.push('}');
}

/// Begins a message with this text.
fn begin(out: &mut String, text: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str(text);
}

/// Appends the results of tools, a message each.
fn encode_results(shape: &Shape, dialect: &Dialect, message: &Message, out: &mut String) {
    for block in &message.blocks {
        if let Block::ToolResult { id, name, text, .. } = block {
            begin(out, r#"{"role":"tool","tool_call_id":"#);
            push_text(out, &dialect.ids.map(id));
            if shape.result_names_tool {
                out.push_str(r#","tool_name":"#);
                push_text(out, &plain(name, 64));
            }
            out.push_str(r#","content":"#);
            push_text(out, text);
            out.push('}');
        }
    }
}

/// Appends what a person says with files.
fn encode_files(shape: &Shape, blocks: &[Block], out: &mut String) {
    let images = || {
        blocks.iter().filter_map(|block| match block {
            Block::File(file) if file.kind() != FileKind::Text => Some(file),
            _ => None,
        })
    };
    if shape.files_are_parts && images().next().is_some() {
        return push_parts(out, blocks, r#"{"type":"text","text":"#, |file, out| match file.kind() {
            FileKind::Image => {
                out.push_str(r#"{"type":"image_url","image_url":{"url":"#);
                file.push_url(out);
                out.push('}');
            }
            _ => {
                out.push_str(r#"{"type":"file","file":{"file_data":"#);
                file.push_url(out);
                push_member(out, "filename", file.title());
                out.push('}');
            }
        });
    }
    push_texts(out, blocks.iter());
    for (at, image) in images().enumerate() {
        out.push_str(if at == 0 { r#","images":["# } else { "," });
        image.push_bytes(out, Form::Base64);
    }
    if images().next().is_some() {
        out.push(']');
    }
}

/// Appends the reasoning of an own answer that only its provider understands; false where there is none.
fn encode_details(message: &Message, out: &mut String) -> bool {
    let details = message.blocks.iter().find_map(|block| match block {
        Block::Raw(json) if message.own => Members::of(json)?.get(DETAILS),
        _ => None,
    });
    let Some(details) = details else { return false };
    out.push_str(",\"");
    out.push_str(DETAILS);
    out.push_str("\":");
    out.push_str(details);
    true
}

fn encode_calls(shape: &Shape, dialect: &Dialect, message: &Message, out: &mut String) {
    let mut blocks = message.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        let Block::ToolCall { id, name, arguments } = block else { continue };
        let first = out.ends_with('[');
        if !first {
            out.push(',');
        }
        out.push_str(r#"{"id":"#);
        push_text(out, &dialect.ids.map(id));
        out.push_str(r#","type":"function","function":{"name":"#);
        push_text(out, &plain(name, 64));
        out.push_str(r#","arguments":"#);
        let arguments = if is_object(arguments) { arguments } else { "{}" };
        match shape.text_arguments {
            true => push_text(out, arguments),
            false => out.push_str(arguments),
        }
        out.push('}');
        let added = match blocks.peek() {
            Some(Block::Extra(extra)) if message.own => {
                extra.strip_prefix('{').and_then(|extra| extra.strip_suffix('}'))
            }
            _ => Some(dialect.unsigned).filter(|members| first && !members.is_empty()),
        };
        if let Some(members) = added {
            out.push(',');
            out.push_str(members);
        }
        out.push('}');
    }
}

/// The member in which OpenRouter gives reasoning as its providers want it back.
pub(super) const DETAILS: &str = "reasoning_details";

/// What an answer cost. `input` and `output` are what the two sides are called.
pub(super) fn usage(usage: &Members<'_>, input: &str, output: &str) -> Usage {
    let number = |side: &str| usage.number(&[side, "_tokens"].concat()).unwrap_or(0);
    let details = |side: &str| usage.object(&[side, "_tokens_details"].concat());
    let (read_side, written_side) = (details(input), details(output));
    let (prompt, completion) = (number(input), number(output));
    let read = read_side.number("cached_tokens").unwrap_or_else(|| number("prompt_cache_hit"));
    let written = read_side.number("cache_write_tokens").unwrap_or(0);
    let reasoning = written_side.number("reasoning_tokens").unwrap_or(0);
    // xAI's chat counts reasoning beside the completion, the others in it.
    let beside = reasoning > 0 && number("total") == prompt + completion + reasoning;
    Usage {
        input_tokens: prompt.saturating_sub(read).saturating_sub(written),
        output_tokens: completion + if beside { reasoning } else { 0 },
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: reasoning,
        searches: 0,
    }
}
