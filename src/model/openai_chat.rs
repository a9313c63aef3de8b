//! OpenAI Chat Completions, and everything shaped like it.
//!
//! Decides how a conversation is written for such a model and how its chunks are read, however freely a server
//! takes the protocol: see the tests for the ways that are known. Custom providers are fed through here.
//! Promises: a fragment of a tool call finds its call, whatever index or id it has or lacks; an answer is whole
//! only when the server said so (for a custom provider: when it has nothing more to yield). Leaves to others:
//! that every tool call has a result (`session/`), keys and sending (`browser/`).

use super::assembler::{Assembler, Body as Content, Part};
use super::errors::{in_stream, join_url, protocol};
use super::json::{Body, Loose, Members, is_object, push_text, text};
use super::{
    Block, Delta, DeltaKind, Endpoint, Message, Reasoning, Role, Settings, StopReason, ToolSpec, Usage, Wire,
};
use crate::error::ErrorInfo;
use crate::ports::HttpRequest;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The whole request, without the key.
pub(super) fn request(
    endpoint: &Endpoint,
    settings: &Settings,
    tools: &[ToolSpec],
    messages: &str,
) -> Result<HttpRequest, ErrorInfo> {
    // OpenAI's reasoning models refuse the old name of the limit, other servers know only that.
    let (base, limit) = match endpoint.base_url.as_deref() {
        None => ("https://api.openai.com/v1", "max_completion_tokens"),
        Some(base) => (base, "max_tokens"),
    };
    let mut body = body(settings, tools, messages, limit)?;
    body.raw("stream", "true");
    body.raw("stream_options", r#"{"include_usage":true}"#);
    Ok(HttpRequest {
        url: join_url(base, "/chat/completions")?,
        headers: vec![("content-type".into(), "application/json".into())],
        body: body.finish(),
    })
}

/// The request that a custom provider gets: a `ChatRequest` as JSON text.
///
/// # Errors
/// `invalid_config` or `invalid_schema`, naming what cannot be sent.
pub fn chat_request(settings: &Settings, tools: &[ToolSpec], messages: &str) -> Result<String, ErrorInfo> {
    let mut body = body(settings, tools, messages, "max_tokens")?;
    if tools.is_empty() {
        // A `ChatRequest` always has the member.
        body.raw("tools", "[]");
    }
    Ok(body.finish())
}

/// What both kinds of request have in common. `limit`: the name of the output limit.
fn body<'a>(
    settings: &'a Settings,
    tools: &[ToolSpec],
    messages: &str,
    limit: &str,
) -> Result<Body<'a>, ErrorInfo> {
    settings.check(tools)?;
    let mut body =
        Body::new(messages.len() + settings.system.len() + 4096, settings.provider_options.as_deref())?;
    body.text("model", &settings.model);
    if let Some(tokens) = settings.max_output_tokens {
        body.raw(limit, &tokens.to_string());
    }
    if let Some(temperature) = &settings.temperature {
        body.raw("temperature", temperature);
    }
    if let Some(effort) = settings.reasoning {
        body.text(
            "reasoning_effort",
            match effort {
                Reasoning::Off => "none",
                Reasoning::Low => "low",
                Reasoning::Medium => "medium",
                Reasoning::High => "high",
            },
        );
    }
    if !tools.is_empty()
        && let Some(out) = body.member("tools")
    {
        out.push('[');
        for (at, tool) in tools.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(r#"{"type":"function","function":{"name":"#);
            push_text(out, &tool.name);
            out.push_str(r#","description":"#);
            push_text(out, &tool.description);
            out.push_str(r#","parameters":"#);
            out.push_str(&tool.input_schema);
            out.push_str("}}");
        }
        out.push(']');
    }
    if let Some(out) = body.member("messages") {
        out.push('[');
        if !settings.system.trim().is_empty() {
            out.push_str(r#"{"role":"system","content":"#);
            push_text(out, &settings.system);
            out.push('}');
            if !messages.is_empty() {
                out.push(',');
            }
        }
        out.push_str(messages);
        out.push(']');
    }
    Ok(body)
}

/// Appends a message as one or more, or nothing.
pub(super) fn encode_message(message: &Message, out: &mut String) {
    let begin = |out: &mut String, text: &str| {
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(text);
    };
    for block in &message.blocks {
        if let Block::ToolResult { id, text, .. } = block {
            begin(out, r#"{"role":"tool","tool_call_id":"#);
            push_text(out, id);
            out.push_str(r#","content":"#);
            push_text(out, text);
            out.push('}');
        }
    }
    // One string and no array of parts: many servers know nothing else.
    let texts: Vec<&str> = message
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
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
    if texts.is_empty() {
        out.push_str("null");
    } else {
        push_text(out, &texts.join("\n\n"));
    }
    if has_calls {
        out.push_str(r#","tool_calls":["#);
        encode_calls(message, out);
        out.push(']');
    }
    out.push('}');
}

fn encode_calls(message: &Message, out: &mut String) {
    let mut blocks = message.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        let Block::ToolCall { id, name, arguments } = block else { continue };
        if !out.ends_with('[') {
            out.push(',');
        }
        out.push_str(r#"{"id":"#);
        push_text(out, id);
        out.push_str(r#","type":"function","function":{"name":"#);
        push_text(out, name);
        out.push_str(r#","arguments":"#);
        push_text(out, if is_object(arguments) { arguments } else { "{}" });
        out.push('}');
        if let (Some(Block::Extra(extra)), Some(Wire::OpenAiChat)) = (blocks.peek(), message.wire)
            && let Some(members) = extra.strip_prefix('{').and_then(|extra| extra.strip_suffix('}'))
        {
            out.push(',');
            out.push_str(members);
        }
        out.push('}');
    }
}

/// A chunk.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    object: Loose<'a>,
    #[serde(borrow, default)]
    id: Loose<'a>,
    #[serde(borrow, default)]
    model: Loose<'a>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u32>,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    #[serde(borrow, default)]
    finish_reason: Loose<'a>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    content: Loose<'a>,
    #[serde(borrow, default)]
    reasoning_content: Loose<'a>,
    #[serde(borrow, default)]
    reasoning: Loose<'a>,
    #[serde(borrow, default)]
    refusal: Loose<'a>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Fragment<'a>>>,
}

/// A piece of a tool call.
#[derive(Deserialize)]
struct Fragment<'a> {
    index: Option<u32>,
    #[serde(borrow, default)]
    id: Loose<'a>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Loose<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// What must be remembered between chunks besides the answer.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The end of what is yielded is the end of the answer.
    custom: bool,
    /// `[DONE]` has come; what follows says nothing.
    done: bool,
    /// The latest usage, as text: some servers send it with every chunk.
    usage: String,
    /// The model's words of refusal.
    refusal: String,
}

impl Stream {
    /// For a custom provider.
    pub(super) fn custom() -> Self {
        Stream { custom: true, ..Stream::default() }
    }

    /// Whether the answer is whole.
    pub(super) fn whole(&self, answer: &mut Assembler) -> bool {
        let ended = self.custom || self.done || answer.stop.is_some();
        let refused = matches!(answer.stop, Some(StopReason::Refusal(_)));
        if ended && (refused || !self.refusal.is_empty()) {
            answer.stop = Some(StopReason::Refusal(Some(self.refusal.clone()).filter(|t| !t.is_empty())));
        } else if ended && answer.stop.is_none() {
            answer.stop = Some(StopReason::EndTurn);
        }
        ended
    }

    /// What the answer cost so far.
    pub(super) fn usage(&self) -> Usage {
        let usage = Members::of(&self.usage).unwrap_or_default();
        let number = |name| usage.number(name).unwrap_or(0);
        let input = usage.object("prompt_tokens_details");
        let output = usage.object("completion_tokens_details");
        let (prompt, completion) = (number("prompt_tokens"), number("completion_tokens"));
        let read = input.number("cached_tokens").unwrap_or_else(|| number("prompt_cache_hit_tokens"));
        let written = input.number("cache_write_tokens").unwrap_or(0);
        let reasoning = output.number("reasoning_tokens").unwrap_or(0);
        // xAI counts reasoning beside the completion, the others in it.
        let beside = reasoning > 0 && number("total_tokens") == prompt + completion + reasoning;
        Usage {
            input_tokens: prompt.saturating_sub(read).saturating_sub(written),
            output_tokens: completion + if beside { reasoning } else { 0 },
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: reasoning,
        }
    }

    /// One event of a stream.
    pub(super) fn event(
        &mut self,
        data: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<(), ErrorInfo> {
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        self.chunk(data, answer, sink)
    }

    /// One chunk.
    pub(super) fn chunk(
        &mut self,
        json: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<(), ErrorInfo> {
        let chunk: Chunk<'_> =
            serde_json::from_str(json).map_err(|_| protocol("a piece of the answer is no chat chunk"))?;
        if chunk.error.is_some() || chunk.object.text() == "error" {
            return Err(in_stream(json));
        }
        if answer.id.is_none() && !chunk.id.text().is_empty() {
            answer.id = Some(chunk.id.text().into());
        }
        if answer.model.is_none() && !chunk.model.text().is_empty() {
            answer.model = Some(chunk.model.text().into());
        }
        if let Some(usage) = chunk.usage {
            self.usage.clear();
            self.usage.push_str(usage.get());
        } else if self.custom && chunk.choices.is_none() {
            return Err(protocol("the custom provider yielded an object without choices"));
        }
        for choice in chunk.choices.iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
            if let Some(piece) = &choice.delta {
                self.piece(piece, answer, sink);
            }
            match choice.finish_reason.text() {
                "" => {}
                "length" => answer.stop = Some(StopReason::MaxTokens),
                "content_filter" => answer.stop = Some(StopReason::Refusal(None)),
                // `stop`, `tool_calls` and what others call it: the calls themselves decide.
                _ => answer.stop = Some(StopReason::EndTurn),
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: &Piece<'_>, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
        // Hosts that send both say the same in both.
        let reasoning = match piece.reasoning_content.text() {
            "" => piece.reasoning.text(),
            text => text,
        };
        answer.append_as(DeltaKind::Thinking, reasoning, sink);
        match &piece.content {
            Loose::Text(text) => answer.append_as(DeltaKind::Text, text, sink),
            Loose::Parts(parts) => {
                for part in parts {
                    content_part(part.get(), answer, sink);
                }
            }
            Loose::Nothing => {}
        }
        self.refusal.push_str(piece.refusal.text());
        for fragment in piece.tool_calls.iter().flatten() {
            call_fragment(fragment, answer, sink);
        }
    }
}

/// A part of content that is an array: `{type: "text", text}` or `{type: "thinking", thinking: [{text}]}`.
fn content_part(json: &str, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
    let part = Members::of(json).unwrap_or_default();
    answer.append_as(DeltaKind::Text, &part.text("text"), sink);
    match part.get("thinking").map(serde_json::from_str) {
        Some(Ok(Loose::Text(text))) => answer.append_as(DeltaKind::Thinking, &text, sink),
        Some(Ok(Loose::Parts(parts))) => {
            for part in parts {
                let part = Members::of(part.get()).unwrap_or_default();
                answer.append_as(DeltaKind::Thinking, &part.text("text"), sink);
            }
        }
        _ => {}
    }
}

fn call_fragment(fragment: &Fragment<'_>, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
    let id = fragment.id.text();
    let name = fragment.function.as_ref().map_or("", |function| function.name.text());
    let found = answer.find(&|part| {
        matches!(part.body, Content::Call { .. }) && fragment.index.is_none_or(|index| part.index == index)
    });
    let same = found.filter(|at| match answer.part(*at).map(|part| &part.body) {
        Some(Content::Call { id: known, name: named, arguments, .. }) => {
            let other_id = !id.is_empty() && !known.is_empty() && id != known;
            let named_again = !name.is_empty() && !named.is_empty();
            !match fragment.index {
                // Some servers give every call the same index, others every fragment another id.
                Some(_) => other_id && named_again,
                // Without an index a new id begins a new call; without both, a name does once the last call
                // cannot go on.
                None => other_id || (named_again && (name != named || is_object(arguments))),
            }
        }
        _ => false,
    });
    let at = same.unwrap_or_else(|| {
        let (id, name, arguments) = Default::default();
        let body = Content::Call { id, name, arguments, whole: false };
        answer.begin(Part::new(fragment.index.unwrap_or(u32::MAX), body))
    });
    let Some(part) = answer.part(at) else { return };
    if let Some(extra) = fragment.extra_content
        && part.extra.is_empty()
    {
        part.add_extra("extra_content", extra.get());
    }
    if let Content::Call { id: known, name: named, arguments, .. } = &mut part.body {
        if known.is_empty() {
            known.push_str(id);
        }
        if named.is_empty() {
            named.push_str(name);
        }
        if let Some(json) = fragment.function.as_ref().and_then(|function| function.arguments) {
            // A string as the protocol says, or the object itself.
            arguments.push_str(&match json.get() {
                string if string.starts_with('"') => text(string),
                object => Cow::Borrowed(object),
            });
        }
    }
    answer.announce(at, sink);
}
