//! What OpenAI's two APIs have in common, and what is shaped like them.
//!
//! Decides how tools and the form of an answer are written and how tokens are counted. Leaves to others: everything else (`openai_chat`,
//! `openai_responses`, `ollama`).

use super::json::{Body, Members};
use super::{ToolSpec, Usage};
use crate::json::push_text;

/// Writes the tools into a body, each between these two texts.
pub(super) fn tools(body: &mut Body<'_>, tools: &[ToolSpec], open: &str, close: &str) {
    if tools.is_empty() {
        return;
    }
    let Some(out) = body.member("tools") else { return };
    out.push('[');
    for (at, tool) in tools.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(open);
        out.push_str(r#""name":"#);
        push_text(out, &tool.name);
        out.push_str(r#","description":"#);
        push_text(out, &tool.description);
        out.push_str(r#","parameters":"#);
        out.push_str(&tool.input_schema);
        out.push_str(close);
    }
    out.push(']');
}

/// Writes what the answer has to be: the name and the schema, and whether it is to be kept to without fail.
pub(super) fn form((schema, strict): (&str, &str)) -> String {
    [r#""name":"answer","schema":"#, schema, r#","strict":"#, strict].concat()
}

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
    }
}
