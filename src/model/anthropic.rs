//! Anthropic Messages.
//!
//! Decides the request's body and headers, where its cache breakpoints stand, and what each event of the
//! stream means. Promises: what is sent is what the API accepts (thinking with its signature or not at all,
//! no empty text, tool results first); what this crate does not know goes back as it came; a message's text
//! depends on nothing but that message, so the prefix that the provider caches stays the same byte for byte.
//! Leaves to others: that every tool call has a result (`session/`), keys and sending (`browser/`).

use super::assembler::{Assembler, Body as Content, Part};
use super::errors::{check_header, in_stream, join_url, protocol};
use super::json::{Body, Loose, Members, is_object, push_text};
use super::{Block, Delta, Endpoint, Message, Reasoning, Role, Settings, StopReason, ToolSpec, Usage, Wire};
use crate::error::ErrorInfo;
use crate::ports::HttpRequest;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What an answer may take when nobody says.
const MAX_TOKENS: u32 = 8192;

/// Marks the end of a prefix that the provider keeps. Four are allowed; we use three: the tools, the system
/// prompt, and by the member of the body itself the last block of the conversation.
const CACHE: &str = r#"{"type":"ephemeral"}"#;

/// The whole request, without the key.
pub(super) fn request(
    endpoint: &Endpoint,
    settings: &Settings,
    tools: &[ToolSpec],
    messages: &str,
) -> Result<HttpRequest, ErrorInfo> {
    let base = endpoint.base_url.as_deref().unwrap_or("https://api.anthropic.com");
    let version = endpoint.api_version.as_deref().unwrap_or("2023-06-01");
    check_header("anthropic-version", version)?;
    settings.check(tools)?;

    let mut body =
        Body::new(messages.len() + settings.system.len() + 4096, settings.provider_options.as_deref())?;
    body.text("model", &settings.model);
    body.raw("max_tokens", &settings.max_output_tokens.unwrap_or(MAX_TOKENS).to_string());
    body.raw("stream", "true");
    if let Some(temperature) = &settings.temperature {
        body.raw("temperature", temperature);
    }
    match settings.reasoning {
        None => {}
        Some(Reasoning::Off) => body.raw("thinking", r#"{"type":"disabled"}"#),
        Some(effort) => {
            // Without `summarized` newer models keep their thinking to themselves.
            body.raw("thinking", r#"{"type":"adaptive","display":"summarized"}"#);
            body.raw(
                "output_config",
                match effort {
                    Reasoning::Low => r#"{"effort":"low"}"#,
                    Reasoning::Medium => r#"{"effort":"medium"}"#,
                    _ => r#"{"effort":"high"}"#,
                },
            );
        }
    }
    if !tools.is_empty()
        && let Some(out) = body.member("tools")
    {
        out.push('[');
        for (at, tool) in tools.iter().enumerate() {
            out.push_str(if at == 0 { r#"{"name":"# } else { r#",{"name":"# });
            push_text(out, &tool.name);
            out.push_str(r#","description":"#);
            push_text(out, &tool.description);
            out.push_str(r#","input_schema":"#);
            out.push_str(&tool.input_schema);
            if at + 1 == tools.len() {
                out.push_str(r#","cache_control":"#);
                out.push_str(CACHE);
            }
            out.push('}');
        }
        out.push(']');
    }
    if !settings.system.trim().is_empty()
        && let Some(out) = body.member("system")
    {
        out.push_str(r#"[{"type":"text","text":"#);
        push_text(out, &settings.system);
        out.push_str(r#","cache_control":"#);
        out.push_str(CACHE);
        out.push_str("}]");
    }
    body.raw("cache_control", CACHE);
    if let Some(out) = body.member("messages") {
        out.push('[');
        out.push_str(messages);
        out.push(']');
    }
    Ok(HttpRequest {
        url: join_url(base, "/v1/messages")?,
        headers: [
            ("content-type", "application/json"),
            ("anthropic-version", version),
            ("anthropic-dangerous-direct-browser-access", "true"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into(),
        body: body.finish(),
    })
}

/// Appends a message, or nothing.
pub(super) fn encode_message(message: &Message, out: &mut String) {
    let start = out.len();
    if start > 0 {
        out.push(',');
    }
    out.push_str(match message.role {
        Role::User => r#"{"role":"user","content":["#,
        Role::Assistant => r#"{"role":"assistant","content":["#,
    });
    let ours = message.wire == Some(Wire::Anthropic);
    // The end of the last block that a message may end with: thinking must not stand last.
    let mut end = None;
    let results = message.blocks.iter().filter(|block| matches!(block, Block::ToolResult { .. }));
    let others = message.blocks.iter().filter(|block| !matches!(block, Block::ToolResult { .. }));
    let mut written = Written::Nothing;
    for block in results.chain(others) {
        if let Block::Extra(extra) = block {
            if ours
                && written != Written::Nothing
                && let Some(members) = extra.strip_prefix('{')
            {
                out.pop();
                out.push(',');
                out.push_str(members);
            }
        } else {
            written = encode_block(block, ours, out);
        }
        if written == Written::Block {
            end = Some(out.len());
        }
    }
    match end {
        None => out.truncate(start),
        Some(end) => {
            out.truncate(end);
            out.push_str("]}");
        }
    }
}

/// What became of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Nothing,
    Thinking,
    Block,
}

fn encode_block(block: &Block, ours: bool, out: &mut String) -> Written {
    let begin = |out: &mut String, text: &str| {
        if !out.ends_with('[') {
            out.push(',');
        }
        out.push_str(text);
    };
    match block {
        Block::Text(text) if !text.trim().is_empty() => {
            begin(out, r#"{"type":"text","text":"#);
            push_text(out, text);
        }
        Block::Thinking { text, signature: Some(signature) } if ours => {
            begin(out, r#"{"type":"thinking","thinking":"#);
            push_text(out, text);
            out.push_str(r#","signature":"#);
            push_text(out, signature);
            out.push('}');
            return Written::Thinking;
        }
        Block::ToolCall { id, name, arguments } => {
            begin(out, r#"{"type":"tool_use","id":"#);
            push_text(out, &plain(id));
            out.push_str(r#","name":"#);
            push_text(out, plain(name).get(..128).unwrap_or(&plain(name)));
            out.push_str(r#","input":"#);
            out.push_str(if is_object(arguments) { arguments } else { "{}" });
        }
        Block::ToolResult { id, text, is_error } => {
            begin(out, r#"{"type":"tool_result","tool_use_id":"#);
            push_text(out, &plain(id));
            if !text.trim().is_empty() {
                out.push_str(r#","content":"#);
                push_text(out, text);
            }
            if *is_error {
                out.push_str(r#","is_error":true"#);
            }
        }
        Block::Raw(json) if ours => {
            begin(out, json);
            let kind = Members::of(json).unwrap_or_default().text("type");
            return if kind == "redacted_thinking" { Written::Thinking } else { Written::Block };
        }
        Block::Text(_) | Block::Thinking { .. } | Block::Extra(_) | Block::Raw(_) => return Written::Nothing,
    }
    out.push('}');
    Written::Block
}

/// An id or a name with nothing but what the API allows in one. Another provider's may have more.
fn plain(text: &str) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.chars().all(allowed) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

/// Any event. One flat type for all of them: derives are what costs bytes.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Loose<'a>,
    index: Option<u32>,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// Any delta.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow, default)]
    text: Loose<'a>,
    #[serde(borrow, default)]
    thinking: Loose<'a>,
    #[serde(borrow, default)]
    partial_json: Loose<'a>,
    #[serde(borrow, default)]
    signature: Loose<'a>,
    #[serde(borrow)]
    citation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stop_reason: Loose<'a>,
    #[serde(borrow)]
    stop_details: Option<&'a RawValue>,
}

/// What must be remembered between events besides the answer.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// `message_start` has come.
    begun: bool,
    /// `message_stop` has come; what follows says nothing.
    ended: bool,
}

impl Stream {
    /// Whether the answer is whole.
    pub(super) fn whole(&self, answer: &mut Assembler) -> bool {
        if self.ended && answer.stop.is_none() {
            answer.stop = Some(StopReason::EndTurn);
        }
        self.ended
    }

    /// One event.
    pub(super) fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<(), ErrorInfo> {
        if self.ended || data.is_empty() {
            return Ok(());
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(data) else {
            return odd_event(name, data);
        };
        // Some servers name an event in its `event` line only.
        let kind = if event.kind.text().is_empty() { name } else { event.kind.text() };
        match kind {
            "content_block_delta" => block_delta(&event, data, answer, sink),
            "content_block_start" => block_start(&event, answer, sink),
            "content_block_stop" => {
                if let Some(at) = place(&event, answer) {
                    answer.end(at);
                }
                Ok(())
            }
            "message_start" => self.message_start(&event, answer),
            "message_delta" => {
                if let Some(delta) = &event.delta {
                    stop_reason(delta, answer);
                }
                add_usage(event.usage, &mut answer.usage);
                Ok(())
            }
            "message_stop" => {
                self.ended = true;
                Ok(())
            }
            "error" => Err(in_stream(data)),
            _ => Ok(()),
        }
    }

    fn message_start(&mut self, event: &Event<'_>, answer: &mut Assembler) -> Result<(), ErrorInfo> {
        let message = event.message.and_then(|raw| Members::of(raw.get())).unwrap_or_default();
        let id = message.text("id");
        if self.begun {
            // Some proxies repeat the start; another message in the middle must not be mixed into this one.
            return if id == answer.id.as_deref().unwrap_or_default() {
                Ok(())
            } else {
                Err(protocol("another message began in the middle of the answer"))
            };
        }
        self.begun = true;
        let owned = |text: Cow<'_, str>| Some(text.into_owned()).filter(|text| !text.is_empty());
        answer.model = owned(message.text("model"));
        answer.id = owned(id);
        usage_of(&message.object("usage"), &mut answer.usage);
        Ok(())
    }
}

/// An event that does not fit the type: an unknown one may look as it likes.
fn odd_event(name: &str, data: &str) -> Result<(), ErrorInfo> {
    let kind = match Members::of(data) {
        Some(members) => members.text("type"),
        None if data == "[DONE]" => return Ok(()),
        None => return Err(protocol("an event of the answer's stream is no JSON object")),
    };
    match if kind.is_empty() { name } else { kind.as_ref() } {
        "error" => Err(in_stream(data)),
        "message_start"
        | "message_delta"
        | "message_stop"
        | "content_block_start"
        | "content_block_delta"
        | "content_block_stop" => {
            Err(protocol("an event of the answer's stream has members of a wrong type"))
        }
        _ => Ok(()),
    }
}

/// The block that an event is about.
fn place(event: &Event<'_>, answer: &Assembler) -> Option<usize> {
    let index = event.index;
    answer.find(&|part| index.is_none_or(|index| part.index == index))
}

fn block_start(
    event: &Event<'_>,
    answer: &mut Assembler,
    sink: &mut dyn FnMut(Delta<'_>),
) -> Result<(), ErrorInfo> {
    let json = event.content_block.map(RawValue::get).unwrap_or_default();
    let block = Members::of(json).ok_or_else(|| protocol("a block of the answer is no JSON object"))?;
    let mut first = Cow::Borrowed("");
    let (content, known) = match block.text("type").as_ref() {
        "text" => {
            first = block.text("text");
            (Content::Text(String::new()), &["type", "text", "citations"][..])
        }
        "thinking" => {
            first = block.text("thinking");
            let signature = block.text("signature").into_owned();
            (Content::Thinking { text: String::new(), signature }, &["type", "thinking", "signature"][..])
        }
        "tool_use" => {
            // Servers that do not stream arguments give them here.
            let arguments = block.get("input").filter(|input| *input != "{}").unwrap_or_default();
            let content = Content::Call {
                id: block.text("id").into_owned(),
                name: block.text("name").into_owned(),
                arguments: arguments.into(),
                whole: !arguments.is_empty(),
            };
            (content, &["type", "id", "name", "input"][..])
        }
        _ => {
            let content = Content::Raw { json: json.into(), input: String::new(), changes: Vec::new() };
            answer.begin(Part::new(event.index.unwrap_or(u32::MAX), content));
            return Ok(());
        }
    };
    let mut part = Part::new(event.index.unwrap_or(u32::MAX), content);
    for (name, value) in &block.0 {
        if name == "citations" {
            let list = value.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or_default();
            if !list.trim().is_empty() {
                part.add_citation(list.trim());
            }
        } else if !known.contains(&name.as_ref()) && *value != "null" && !is_direct(name, value) {
            part.add_extra(name, value);
        }
    }
    let at = answer.begin(part);
    answer.append(at, &first, sink);
    answer.announce(at, sink);
    Ok(())
}

/// The usual caller of a tool: the model itself. It goes without saying.
fn is_direct(name: &str, value: &str) -> bool {
    name == "caller" && Members::of(value).is_some_and(|caller| caller.text("type") == "direct")
}

fn block_delta(
    event: &Event<'_>,
    data: &str,
    answer: &mut Assembler,
    sink: &mut dyn FnMut(Delta<'_>),
) -> Result<(), ErrorInfo> {
    let (Some(at), Some(delta)) = (place(event, answer), &event.delta) else {
        return Err(protocol("a piece came for a block of the answer that never began"));
    };
    let fits = match delta.kind.text() {
        "text_delta" => answer.append(at, delta.text.text(), sink) || raw_change(at, data, answer),
        "thinking_delta" => answer.append(at, delta.thinking.text(), sink) || raw_change(at, data, answer),
        kind => match answer.part(at).map(|part| (kind, part)) {
            Some(("input_json_delta", part)) => add_input(part, delta.partial_json.text()),
            Some(("signature_delta", Part { body: Content::Thinking { signature, .. }, .. })) => {
                *signature = delta.signature.text().into();
                true
            }
            Some(("citations_delta", part)) => {
                if let (Content::Text(_), Some(citation)) = (&part.body, delta.citation) {
                    part.add_citation(citation.get());
                }
                true
            }
            // A delta that came after this was written: it can only matter to a block that did too.
            _ => {
                raw_change(at, data, answer);
                true
            }
        },
    };
    if fits { Ok(()) } else { Err(protocol("a piece of the answer does not fit the block it is for")) }
}

fn add_input(part: &mut Part, piece: &str) -> bool {
    match &mut part.body {
        Content::Call { arguments, whole, .. } => {
            if !piece.is_empty() {
                if std::mem::take(whole) {
                    arguments.clear();
                }
                arguments.push_str(piece);
            }
            true
        }
        Content::Raw { input, .. } => {
            input.push_str(piece);
            true
        }
        Content::Text(_) | Content::Thinking { .. } => false,
    }
}

/// Keeps a change of a raw block; false where the block is none.
fn raw_change(at: usize, data: &str, answer: &mut Assembler) -> bool {
    let Some(Part { body: Content::Raw { changes, .. }, .. }) = answer.part(at) else { return false };
    changes.extend(Members::of(data).and_then(|event| event.get("delta")).map(Into::into));
    true
}

fn stop_reason(delta: &Piece<'_>, answer: &mut Assembler) {
    answer.stop = Some(match delta.stop_reason.text() {
        "" => return,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        "pause_turn" => StopReason::Pause,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => {
            let details = delta.stop_details.and_then(|raw| Members::of(raw.get())).unwrap_or_default();
            let explanation = details.text("explanation").into_owned();
            StopReason::Refusal(Some(explanation).filter(|text| !text.is_empty()))
        }
        // `end_turn`, and reasons that came after this was written.
        _ => StopReason::EndTurn,
    });
}

fn add_usage(raw: Option<&RawValue>, usage: &mut Usage) {
    if let Some(members) = raw.and_then(|raw| Members::of(raw.get())) {
        usage_of(&members, usage);
    }
}

/// Counts are cumulative: what is there takes the place of what was.
fn usage_of(members: &Members<'_>, usage: &mut Usage) {
    let set = |field: &mut u64, value: Option<u64>| *field = value.unwrap_or(*field);
    set(&mut usage.input_tokens, members.number("input_tokens"));
    set(&mut usage.output_tokens, members.number("output_tokens"));
    set(&mut usage.cache_read_tokens, members.number("cache_read_input_tokens"));
    set(&mut usage.cache_write_tokens, members.number("cache_creation_input_tokens"));
    set(&mut usage.reasoning_tokens, members.object("output_tokens_details").number("thinking_tokens"));
}
