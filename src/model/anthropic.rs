//! Anthropic Messages.
//!
//! Decides the request's headers and body, where its cache breakpoints stand, and what each event of the
//! stream means. Promises: what is sent is what the API accepts (thinking with its signature or not at all,
//! no empty text, tool results first). What this crate does not know goes back as it came. A message's text
//! depends on nothing but that message, so the prefix that the provider caches stays the same byte for byte.
//! Leaves to others: that every tool call has a result (`session/`), keys and sending (`browser/`).

use super::assembler::{Assembler, Body as Content, Part};
use super::errors::{in_stream, protocol};
use super::files::{FileKind, push_member};
use super::ids::plain;
use super::json::{Body, Members, is_object};
use super::list::List;
use super::served::Unit;
use super::wire::{self, Codec, Framing};
use super::{Block, Delta, Dialect, Message, Reasoning, Role, Settings, StopReason, ToolSpec, Usage};
use crate::error::ErrorInfo;
use crate::find;
use crate::json::push_text;
use crate::ports::marks::Form;
use crate::rooms::{Room, enter};
use std::borrow::Cow;

/// What an answer may take when nobody says.
const MAX_TOKENS: u32 = 8192;

/// The fewest tokens that may be given for thinking.
const MIN_BUDGET: u64 = 1024;

/// Marks the end of a prefix that the provider keeps. Four are allowed; we use three: the tools, the system
/// prompt, and by the member of the body itself the last block of the conversation.
const CACHE: &str = r#"{"type":"ephemeral"}"#;

/// The row of this wire.
pub(super) const CODEC: Codec = Codec {
    key_header: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01"), ("anthropic-dangerous-direct-browser-access", "true")],
    path: "/v1/messages",
    documents: true,
    files_in_results: true,
    served: Some(Unit::All),
    framing: Framing::Events,
    // It gives twenty where nobody says how many.
    list: List { path: "/v1/models?limit=1000", name: "display_name", ..List::DATA },
    encode_message,
    write,
    stream: || {
        enter(Room::Anthropic);
        Box::new(Stream::default())
    },
    room: Room::Anthropic,
};

/// Writes what follows the model's id.
fn write(body: &mut Body<'_>, _: &Dialect, settings: &Settings, tools: &[ToolSpec], messages: &str) {
    enter(Room::Anthropic);
    let budget = if settings.known.adaptive == Some(false) { budget(settings.reasoning) } else { 0 };
    // Thinking is part of the answer; at most half of it, so that something is left to say.
    let max_tokens = settings.output_tokens(MAX_TOKENS.max(2 * budget));
    body.raw("max_tokens", &max_tokens.to_string());
    body.raw("stream", "true");
    let mut output = Vec::new();
    let thinks = match settings.reasoning {
        None => false,
        Some(Reasoning::Off) => {
            body.raw("thinking", r#"{"type":"disabled"}"#);
            false
        }
        Some(_) if budget > 0 => {
            let budget = u64::from(budget).min(max_tokens / 2);
            // Where the page leaves no room for it the model answers without.
            let fits = budget >= MIN_BUDGET;
            if fits {
                let thinking = [r#"{"type":"enabled","budget_tokens":"#, &budget.to_string(), "}"].concat();
                body.raw("thinking", &thinking);
            }
            fits
        }
        Some(effort) => {
            // Without `summarized` newer models keep their thinking to themselves.
            body.raw("thinking", r#"{"type":"adaptive","display":"summarized"}"#);
            output.push((
                "effort",
                match effort {
                    Reasoning::Low => r#""low""#,
                    Reasoning::Medium => r#""medium""#,
                    _ => r#""high""#,
                },
            ));
            true
        }
    };
    // The API refuses a temperature beside thinking, also where `providerOptions` ask for that.
    let thinks = body.given("thinking").map_or(thinks, |thinking| !find::has(thinking, "\"disabled\""));
    if let (false, Some(temperature)) = (thinks, &settings.temperature) {
        body.raw("temperature", temperature);
    }
    let format =
        settings.schema().map(|(schema, _)| [r#"{"type":"json_schema","schema":"#, schema, "}"].concat());
    output.extend(format.as_deref().map(|format| ("format", format)));
    if !output.is_empty() {
        body.object("output_config", &output);
    }
    if let Some(name) = settings.forced()
        && let Some(out) = body.member("tool_choice")
    {
        out.push_str(r#"{"type":"tool","name":"#);
        push_text(out, name);
        out.push('}');
    }
    let mut items = String::new();
    write_tools(&mut items, tools);
    body.list("tools", &settings.with_served("tools", items));
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
}

/// Writes the tools, cached up to the last of them.
fn write_tools(out: &mut String, tools: &[ToolSpec]) {
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
}

/// How many tokens a model may think for that does not choose them itself.
fn budget(reasoning: Option<Reasoning>) -> u32 {
    match reasoning {
        None | Some(Reasoning::Off) => 0,
        Some(Reasoning::Low) => 2048,
        Some(Reasoning::Medium) => 8192,
        Some(Reasoning::High) => 16_384,
    }
}

/// Appends a message, or nothing.
fn encode_message(_: &Dialect, message: &Message, out: &mut String) {
    enter(Room::Anthropic);
    let start = out.len();
    if start > 0 {
        out.push(',');
    }
    out.push_str(match message.role {
        Role::User => r#"{"role":"user","content":["#,
        Role::Assistant => r#"{"role":"assistant","content":["#,
    });
    let ours = message.own;
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
        Block::File(file) => {
            let (kind, form, media_type) = match file.kind() {
                FileKind::Image => ("image", Form::Base64, file.media_type.as_str()),
                FileKind::Text => ("document", Form::Text, "text/plain"),
                _ => ("document", Form::Base64, "application/pdf"),
            };
            begin(out, r#"{"type":""#);
            out.push_str(kind);
            out.push_str(match form {
                Form::Base64 => r#"","source":{"type":"base64","media_type":""#,
                Form::Text => r#"","source":{"type":"text","media_type":""#,
            });
            out.push_str(media_type);
            out.push_str(r#"","data":"#);
            file.push_bytes(out, form);
            out.push('}');
            if kind == "document" && !file.name.is_empty() {
                push_member(out, "title", &file.name);
            }
        }
        Block::ToolCall { id, name, arguments } => {
            begin(out, r#"{"type":"tool_use","id":"#);
            push_text(out, &plain(id, 128));
            out.push_str(r#","name":"#);
            push_text(out, &plain(name, 128));
            out.push_str(r#","input":"#);
            out.push_str(if is_object(arguments) { arguments } else { "{}" });
        }
        Block::ToolResult { id, text, is_error, files, .. } => {
            begin(out, r#"{"type":"tool_result","tool_use_id":"#);
            push_text(out, &plain(id, 128));
            if !files.is_empty() {
                out.push_str(r#","content":["#);
                encode_block(&Block::Text(text.clone()), ours, out);
                for file in files {
                    encode_block(file, ours, out);
                }
                out.push(']');
            } else if !text.trim().is_empty() {
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
        Block::Text(_)
        | Block::Thinking { .. }
        | Block::Extra(_)
        | Block::Raw(_)
        | Block::ServerCall(_)
        | Block::Cited(_) => return Written::Nothing,
    }
    out.push('}');
    Written::Block
}

/// The members of an event that are taken apart with it.
const INSIDE: &[&str] = &["type", "delta", "text", "thinking", "partial_json"];

/// What must be remembered between events besides the answer.
#[derive(Default)]
struct Stream {
    /// `message_start` has come.
    begun: bool,
    /// `message_stop` has come; what follows says nothing.
    ended: bool,
}

impl wire::Stream for Stream {
    fn whole(&self, answer: &mut Assembler) -> bool {
        if self.ended && answer.stop.is_none() {
            answer.stop = Some(StopReason::EndTurn);
        }
        self.ended
    }

    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<bool, ErrorInfo> {
        if self.ended || data.is_empty() {
            return Ok(false);
        }
        let Some(event) = Members::with(data, INSIDE) else {
            return match data {
                "[DONE]" => Ok(false),
                _ => Err(protocol("an event of the answer's stream is no JSON object")),
            };
        };
        // Some servers name an event in its `event` line only.
        let kind = event.text("type");
        let read = match if kind.is_empty() { name } else { &kind } {
            "content_block_delta" => block_delta(&event, data, answer, sink),
            "content_block_start" => block_start(&event, answer, sink),
            "content_block_stop" => {
                if let Some(at) = answer.latest(index(&event)) {
                    answer.end(at);
                }
                Ok(())
            }
            "message_start" => self.message_start(&event, answer),
            "message_delta" => {
                if let Some(delta) = event.node("delta").members() {
                    stop_reason(delta, answer);
                }
                usage_of(&event.object("usage"), &mut answer.usage);
                Ok(())
            }
            "message_stop" => {
                self.ended = true;
                Ok(())
            }
            "error" => Err(in_stream(data)),
            _ => Ok(()),
        };
        read.map(|()| kind == "content_block_delta")
    }
}

impl Stream {
    fn message_start(&mut self, event: &Members<'_>, answer: &mut Assembler) -> Result<(), ErrorInfo> {
        let message = event.object("message");
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

fn index(event: &Members<'_>) -> Option<u32> {
    event.number("index").and_then(|index| u32::try_from(index).ok())
}

fn block_start(
    event: &Members<'_>,
    answer: &mut Assembler,
    sink: &mut dyn FnMut(Delta<'_>),
) -> Result<(), ErrorInfo> {
    let json = event.get("content_block").unwrap_or_default();
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
        kind => {
            answer.looks_up(kind);
            let content = Content::Raw { json: json.into(), input: String::new(), changes: Vec::new() };
            let at = answer.begin(Part::new(index(event).unwrap_or(u32::MAX), content));
            if kind.ends_with("_tool_use") {
                answer.serves(at, &block.text("name"), sink);
            }
            return Ok(());
        }
    };
    let mut part = Part::new(index(event).unwrap_or(u32::MAX), content);
    for (name, value) in block.all() {
        if name == "citations" {
            let list = value.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or_default();
            if !list.trim().is_empty() {
                part.add_citation(list.trim());
            }
        } else if !known.contains(&name) && value != "null" && !is_direct(name, value) {
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

/// The kinds of pieces that are text, and where it is.
const TEXTS: [(&str, &str); 3] =
    [("text_delta", "text"), ("thinking_delta", "thinking"), ("input_json_delta", "partial_json")];

fn block_delta(
    event: &Members<'_>,
    data: &str,
    answer: &mut Assembler,
    sink: &mut dyn FnMut(Delta<'_>),
) -> Result<(), ErrorInfo> {
    let Some(delta) = event.node("delta").members() else { return Err(strayed()) };
    let kind = delta.text("type");
    let at = answer.latest(index(event)).ok_or_else(strayed)?;
    if let Some((_, name)) = TEXTS.iter().find(|(text, _)| *text == kind) {
        let text = delta.text(name);
        let fits = match kind.as_ref() {
            "input_json_delta" => answer.add_input(at, &text),
            _ => answer.append(at, &text, sink) || raw_change(at, data, answer),
        };
        return match fits {
            true => Ok(()),
            false => Err(protocol("a piece of the answer does not fit the block it is for")),
        };
    }
    match (kind.as_ref(), answer.part(at)) {
        ("signature_delta", Some(Part { body: Content::Thinking { signature, .. }, .. })) => {
            *signature = delta.text("signature").into();
        }
        ("citations_delta", Some(part)) => {
            if let (Content::Text(_), Some(citation)) = (&part.body, delta.get("citation")) {
                part.add_citation(citation);
                answer.looks_up("citations");
            }
        }
        // A delta that came after this was written: it can only matter to a block that did too.
        _ => {
            raw_change(at, data, answer);
        }
    }
    Ok(())
}

fn strayed() -> ErrorInfo {
    protocol("a piece came for a block of the answer that never began")
}

/// Keeps a change of a raw block; false where the block is none.
fn raw_change(at: usize, data: &str, answer: &mut Assembler) -> bool {
    let Some(Part { body: Content::Raw { changes, .. }, .. }) = answer.part(at) else { return false };
    changes.extend(Members::of(data).and_then(|event| event.get("delta")).map(Into::into));
    true
}

fn stop_reason(delta: &Members<'_>, answer: &mut Assembler) {
    answer.stop = Some(match delta.text("stop_reason").as_ref() {
        "" => return,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        "pause_turn" => StopReason::Pause,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => {
            let details = delta.object("stop_details");
            let explanation = details.text("explanation").into_owned();
            StopReason::Refusal(Some(explanation).filter(|text| !text.is_empty()))
        }
        // `end_turn`, and reasons that came after this was written.
        _ => StopReason::EndTurn,
    });
}

/// Counts are cumulative: what is there takes the place of what was.
fn usage_of(members: &Members<'_>, usage: &mut Usage) {
    let set = |field: &mut u64, value: Option<u64>| *field = value.unwrap_or(*field);
    set(&mut usage.input_tokens, members.number("input_tokens"));
    set(&mut usage.output_tokens, members.number("output_tokens"));
    set(&mut usage.cache_read_tokens, members.number("cache_read_input_tokens"));
    set(&mut usage.cache_write_tokens, members.number("cache_creation_input_tokens"));
    set(&mut usage.reasoning_tokens, members.object("output_tokens_details").number("thinking_tokens"));
    set(&mut usage.searches, members.object("server_tool_use").number("web_search_requests"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::model::{Answer, Catalog, Decoder, DeltaKind, Endpoint, Known, ServerCall, Wire};
    use serde_json::{Value, json};

    // ------------------------------------------------------------ what is sent

    fn settings() -> Settings {
        Settings { model: "m".into(), ..Settings::default() }
    }

    /// A model of which a page knows this.
    fn known(facts: Value) -> Known {
        let models = json!({ "mine": { "m": facts } });
        Catalog::read(&models, "models").unwrap().find("mine", "", "m").unwrap()
    }

    fn endpoint() -> Endpoint {
        Endpoint { base_url: "https://api.anthropic.com".into(), ..Endpoint::default() }
    }

    fn body(settings: &Settings, tools: &[ToolSpec], messages: &str) -> Value {
        let request = Wire::Anthropic.request(&endpoint(), settings, tools, messages).unwrap();
        serde_json::from_str(&request.body).unwrap()
    }

    fn encode(role: Role, own: bool, blocks: Vec<Block>) -> Value {
        let mut out = String::new();
        encode_message(&Dialect::CHAT, &Message { role, blocks, own }, &mut out);
        serde_json::from_str(&format!("[{out}]")).unwrap()
    }

    fn said(blocks: Vec<Block>) -> Value {
        encode(Role::Assistant, true, blocks)
    }

    fn t(text: &str) -> Block {
        Block::Text(text.into())
    }

    fn thinking(text: &str, signature: &str) -> Block {
        Block::Thinking { text: text.into(), signature: Some(signature.into()) }
    }

    fn call(arguments: &str) -> Block {
        Block::ToolCall { id: "toolu_1".into(), name: "search".into(), arguments: arguments.into() }
    }

    #[test]
    fn a_small_request_says_no_more_than_it_must() {
        let request = Wire::Anthropic.request(&endpoint(), &settings(), &[], "").unwrap();
        assert_eq!(request.url, "https://api.anthropic.com/v1/messages");
        assert_eq!(
            request.headers,
            [
                ("content-type".to_string(), "application/json".to_string()),
                ("anthropic-version".into(), "2023-06-01".into()),
                ("anthropic-dangerous-direct-browser-access".into(), "true".into()),
            ]
        );
        assert_eq!(
            request.body,
            r#"{"model":"m","max_tokens":8192,"stream":true,"cache_control":{"type":"ephemeral"},"messages":[]}"#
        );
    }

    #[test]
    fn the_default_limit_is_not_above_what_the_model_can() {
        for (asked, can, sent) in [
            (None, Some(4096), 4096),
            (None, Some(128_000), 8192),
            (None, None, 8192),
            (Some(9_000), Some(4096), 9_000), // The page has said so; the provider says what it thinks of it.
        ] {
            let known = can.map(|can| known(json!({ "output": can }))).unwrap_or_default();
            let settings = Settings { max_output_tokens: asked, known, ..settings() };
            let body = Wire::Anthropic.request(&endpoint(), &settings, &[], "").unwrap().body;
            assert!(body.contains(&format!("\"max_tokens\":{sent},")), "{body}");
        }
    }

    #[test]
    fn a_full_request() {
        let settings = Settings {
            system: "be \"brief\"\n".into(),
            max_output_tokens: Some(100),
            temperature: Some("0.50".into()),
            reasoning: Some(Reasoning::Medium),
            provider_options: Some(r#"{"max_tokens":7,"metadata":{"user_id":"u"}}"#.into()),
            ..settings()
        };
        let tool = |name: &str| ToolSpec {
            name: name.into(),
            description: "does \"it\"".into(),
            input_schema: r#"{"type":"object"}"#.into(),
        };
        let cache = json!({"type": "ephemeral"});
        let schema = json!({"type": "object"});
        assert_eq!(
            body(&settings, &[tool("a"), tool("b")], r#"{"role":"user","content":[]}"#),
            json!({
                "model": "m", "max_tokens": 7, "stream": true,
                "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "medium"},
                "tools": [
                    {"name": "a", "description": "does \"it\"", "input_schema": schema},
                    {"name": "b", "description": "does \"it\"", "input_schema": schema, "cache_control": cache},
                ],
                "system": [{"type": "text", "text": "be \"brief\"\n", "cache_control": cache}],
                "cache_control": cache, "metadata": {"user_id": "u"},
                "messages": [{"role": "user", "content": []}],
            })
        );
        let off = Settings { reasoning: Some(Reasoning::Off), ..self::settings() };
        assert_eq!(body(&off, &[], "")["thinking"], json!({"type": "disabled"}));
        assert!(body(&off, &[], "").get("output_config").is_none());
    }

    #[test]
    fn who_does_not_choose_how_much_to_think_is_told() {
        use Reasoning::{High, Low, Medium, Off};
        let sent = |model: &str, reasoning, asked| {
            let known = Catalog::own().find("anthropic", "", model).unwrap_or_default();
            let settings = Settings { known, reasoning, max_output_tokens: asked, ..settings() };
            let body = body(&settings, &[], "");
            let effort = body.get("output_config").is_some();
            (body["max_tokens"].as_u64().unwrap(), body["thinking"].clone(), effort)
        };
        let budget = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
        for model in ["claude-haiku-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-5"] {
            for (reasoning, asked, max_tokens, thinking) in [
                (None, None, 8192, Value::Null),
                (Some(Off), None, 8192, json!({ "type": "disabled" })),
                (Some(Low), None, 8192, budget(2048)),
                (Some(Medium), None, 16_384, budget(8192)),
                (Some(High), None, 32_768, budget(16_384)),
                (Some(High), Some(64_000), 64_000, budget(16_384)),
                // What the page allows stays; thinking takes no more than half of it, and none of too little.
                (Some(High), Some(8192), 8192, budget(4096)),
                (Some(Low), Some(2048), 2048, budget(1024)),
                (Some(Low), Some(2047), 2047, Value::Null),
                (Some(High), Some(1), 1, Value::Null),
            ] {
                assert_eq!(sent(model, reasoning, asked), (max_tokens, thinking, false), "{model}");
            }
        }
        let adaptive = json!({ "type": "adaptive", "display": "summarized" });
        for model in ["claude-sonnet-4-6", "claude-haiku-5-5", "nobody-knows-it"] {
            assert_eq!(sent(model, Some(High), None), (8192, adaptive.clone(), true), "{model}");
        }
        let small = known(json!({ "output": 4096, "adaptive": false }));
        let settings = Settings { known: small, reasoning: Some(Medium), ..settings() };
        let body = body(&settings, &[], "");
        assert_eq!((&body["max_tokens"], &body["thinking"]), (&json!(4096), &budget(2048)));
    }

    #[test]
    fn who_thinks_is_told_no_temperature() {
        use Reasoning::{High, Low, Off};
        let budget_only = known(json!({ "adaptive": false }));
        for (known, reasoning, asked, sent) in [
            (Known::default(), None, None, true),
            (Known::default(), Some(Off), None, true),
            (Known::default(), Some(Low), None, false),
            (budget_only, None, None, true),
            (budget_only, Some(Off), None, true),
            (budget_only, Some(High), None, false),
            // There is no room for thinking, so it does not think.
            (budget_only, Some(High), Some(2047), true),
        ] {
            let temperature = Some("0.50".into());
            let settings = Settings { known, reasoning, max_output_tokens: asked, temperature, ..settings() };
            let request = Wire::Anthropic.request(&endpoint(), &settings, &[], "").unwrap();
            assert_eq!(request.body.contains(r#""temperature":0.50"#), sent, "{reasoning:?} {asked:?}");
        }
    }

    #[test]
    fn a_temperature_stays_away_where_the_page_asks_for_thinking() {
        let sent = |reasoning: Option<Reasoning>, options: &str| {
            let temperature = Some("0.5".into());
            let options = Some(options.to_owned()).filter(|options| !options.is_empty());
            let settings = Settings { temperature, reasoning, provider_options: options, ..settings() };
            let request = Wire::Anthropic.request(&endpoint(), &settings, &[], "").unwrap();
            request.body.contains("\"temperature\":0.5")
        };
        let thinks = r#"{"thinking":{"type":"enabled","budget_tokens":2000}}"#;
        let not = r#"{"thinking":{"type":"disabled"}}"#;
        assert_eq!([sent(None, ""), sent(None, not), sent(Some(Reasoning::Low), not)], [true; 3]);
        assert_eq!([sent(None, thinks), sent(Some(Reasoning::Low), "")], [false; 2]);
    }

    #[test]
    fn what_cannot_be_sent_is_named() {
        let fails = |endpoint: &Endpoint, settings: &Settings, tools: &[ToolSpec]| {
            Wire::Anthropic.request(endpoint, settings, tools, "").unwrap_err()
        };
        let none = endpoint();
        let base = Endpoint { base_url: "localhost".into(), ..none.clone() };
        let version = Endpoint { api_version: Some("2023\n".into()), ..none.clone() };
        for error in [
            fails(&base, &settings(), &[]),
            fails(&version, &settings(), &[]),
            fails(&none, &Settings::default(), &[]),
            fails(&none, &Settings { temperature: Some("warm".into()), ..settings() }, &[]),
            fails(&none, &Settings { provider_options: Some("[]".into()), ..settings() }, &[]),
            fails(&none, &Settings { provider_options: Some(r#"{"tools":"x"}"#.into()), ..settings() }, &[]),
            fails(
                &none,
                &Settings { provider_options: Some(r#"{"stream":false}"#.into()), ..settings() },
                &[],
            ),
        ] {
            assert_eq!(error.code, Code::InvalidConfig, "{error:?}");
        }
        let tool = ToolSpec { name: "bad".into(), description: String::new(), input_schema: "{".into() };
        let error = fails(&none, &settings(), &[tool]);
        assert!(error.code == Code::InvalidSchema && error.message.contains("bad"), "{error:?}");
    }

    #[test]
    fn an_answer_goes_back_as_it_came() {
        assert_eq!(
            said(vec![
                thinking("hm", "sig=="),
                Block::Raw(r#"{"type":"redacted_thinking","data":"x"}"#.into()),
                t("I look."),
                Block::Extra(r#"{"citations":[{"cited_text":"c"}]}"#.into()),
                Block::Raw(
                    r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q": 1.0}}"#.into()
                ),
                call(r#"{"q": "dragons"}"#),
                Block::Extra(r#"{"caller":{"type":"code_execution_1"}}"#.into()),
            ]),
            json!([{"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig=="},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I look.", "citations": [{"cited_text": "c"}]},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1.0}},
                {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "dragons"},
                 "caller": {"type": "code_execution_1"}},
            ]}])
        );
    }

    #[test]
    fn only_the_same_provider_gets_what_only_it_understands() {
        let blocks = vec![
            thinking("hm", "sig"),
            t("said"),
            Block::Extra(r#"{"citations":[1]}"#.into()),
            Block::Raw(r#"{"type":"x"}"#.into()),
        ];
        assert_eq!(
            encode(Role::Assistant, false, blocks),
            json!([{"role": "assistant", "content": [{"type": "text", "text": "said"}]}])
        );
    }

    #[test]
    fn what_the_api_would_refuse_is_left_out() {
        let unsigned = || Block::Thinking { text: "hm".into(), signature: None };
        let redacted = || Block::Raw(r#"{"type":"redacted_thinking","data":"x"}"#.into());
        for nothing in [
            vec![],
            vec![t("")],
            vec![t(" \n"), Block::Extra(r#"{"citations":[1]}"#.into())],
            vec![unsigned()],
            vec![thinking("hm", "sig")],
            vec![thinking("", "sig"), redacted(), t(" ")],
        ] {
            assert_eq!(said(nothing.clone()), json!([]), "{nothing:?}");
        }
        // Thinking that nothing follows must not stand last; thinking without its signature must not stand at all.
        assert_eq!(
            said(vec![unsigned(), t("a"), thinking("hm", "sig"), redacted()]),
            json!([{"role": "assistant", "content": [{"type": "text", "text": "a"}]}])
        );
    }

    #[test]
    fn tool_results_come_first() {
        let result = |id: &str, text: &str, is_error| Block::ToolResult {
            id: id.into(),
            name: "n".into(),
            text: text.into(),
            is_error,
            files: Vec::new(),
        };
        assert_eq!(
            encode(
                Role::User,
                false,
                vec![t("and?"), result("a", "18 \u{b0}C", false), result("b", " ", true)]
            ),
            json!([{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "18 \u{b0}C"},
                {"type": "tool_result", "tool_use_id": "b", "is_error": true},
                {"type": "text", "text": "and?"},
            ]}])
        );
    }

    #[test]
    fn arguments_that_are_no_object_become_an_empty_one() {
        for bad in ["", "[1]", "{\"a\":", "null", r#"{"a":"\ud800"}"#] {
            assert_eq!(said(vec![call(bad)])[0]["content"][0]["input"], json!({}), "{bad}");
        }
        let mut out = String::new();
        let blocks = vec![call("{\"n\":1.50, \"n2\":1e3}")];
        encode_message(&Dialect::CHAT, &Message { role: Role::Assistant, blocks, own: false }, &mut out);
        assert!(out.contains("{\"n\":1.50, \"n2\":1e3}"), "{out}");
    }

    #[test]
    fn another_providers_ids_and_names_are_made_acceptable_on_both_sides() {
        let id = "functions.search:0";
        let name = format!("a.b{}", "x".repeat(200));
        let call = Block::ToolCall { id: id.into(), name, arguments: "{}".into() };
        let call = said(vec![call]);
        let result = encode(
            Role::User,
            false,
            vec![Block::ToolResult {
                id: id.into(),
                name: "n".into(),
                text: "r".into(),
                is_error: false,
                files: Vec::new(),
            }],
        );
        let sent = call[0]["content"][0]["id"].as_str().unwrap();
        assert!(sent.starts_with("functions_search_0_") && sent.len() < 40, "{sent}");
        assert_eq!(result[0]["content"][0]["tool_use_id"], sent);
        assert_eq!(call[0]["content"][0]["name"].as_str().map(str::len), Some(128));
    }

    #[test]
    fn messages_are_only_appended() {
        let message = |role, text: &str| Message { role, blocks: vec![t(text)], own: false };
        let mut out = String::new();
        encode_message(&Dialect::CHAT, &message(Role::Assistant, " "), &mut out);
        assert_eq!(out, "");
        encode_message(&Dialect::CHAT, &message(Role::User, "a"), &mut out);
        let before = out.clone();
        encode_message(&Dialect::CHAT, &message(Role::Assistant, " "), &mut out);
        assert_eq!(out, before);
        encode_message(&Dialect::CHAT, &message(Role::Assistant, "b"), &mut out);
        assert!(out.starts_with(&before));
        assert_eq!(serde_json::from_str::<Vec<Value>>(&format!("[{out}]")).unwrap().len(), 2);
    }

    // ------------------------------------------------------------ what comes

    /// A stream of these events, each with its `event` line.
    fn stream(events: &[Value]) -> String {
        events.iter().map(|e| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap_or(""))).collect()
    }

    fn start() -> Value {
        json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude", "usage": {"input_tokens": 9, "output_tokens": 1}}})
    }

    fn block(index: u32, block: Value) -> Value {
        json!({"type": "content_block_start", "index": index, "content_block": block})
    }

    fn delta(index: u32, delta: Value) -> Value {
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    }

    fn end(index: u32) -> Value {
        json!({"type": "content_block_stop", "index": index})
    }

    fn input(index: u32, piece: &str) -> Value {
        delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
    }

    fn stop(reason: &str) -> [Value; 2] {
        [
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ]
    }

    type Deltas = Vec<(u32, DeltaKind, String)>;

    fn decode(events: &[Value]) -> (Deltas, Result<Answer, (ErrorInfo, Answer)>) {
        let mut decoder = Decoder::new(Wire::Anthropic);
        let mut deltas = Vec::new();
        // An error comes again from `finish`.
        let _ = decoder
            .push(stream(events).as_bytes(), &mut |d| deltas.push((d.part, d.kind, d.text.to_string())));
        (deltas, decoder.finish())
    }

    fn answer(events: &[Value]) -> Answer {
        decode(events).1.unwrap()
    }

    #[test]
    fn text_thinking_and_a_call() {
        let mut events = vec![
            start(),
            block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "h"})),
            json!({"type": "ping"}),
            delta(0, json!({"type": "thinking_delta", "thinking": "m"})),
            delta(0, json!({"type": "signature_delta", "signature": "old"})),
            delta(0, json!({"type": "signature_delta", "signature": "sig"})),
            end(0),
            block(1, json!({"type": "text", "text": ""})),
            end(1),
            block(2, json!({"type": "text", "text": "I "})),
            delta(2, json!({"type": "text_delta", "text": "look\u{1f4e6}\n"})),
            end(2),
            block(3, json!({"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}})),
            input(3, ""),
            input(3, "{\"q\": \"dra"),
            input(3, "gons\"}"),
            end(3),
            block(4, json!({"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}})),
            input(4, ""),
            end(4),
        ];
        events.extend(stop("tool_use"));
        let (deltas, answer) = decode(&events);
        let answer = answer.unwrap();
        assert_eq!(
            answer.blocks,
            [
                thinking("hm", "sig"),
                t("I look\u{1f4e6}\n"),
                call(r#"{"q": "dragons"}"#),
                Block::ToolCall { id: "toolu_2".into(), name: "list".into(), arguments: "{}".into() },
            ]
        );
        assert_eq!(answer.stop, Some(StopReason::ToolUse));
        assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("msg_1"), Some("claude")));
        assert_eq!(answer.usage, Usage { input_tokens: 9, output_tokens: 5, ..Usage::default() });
        let expected = [
            (0, DeltaKind::Thinking, "h"),
            (0, DeltaKind::Thinking, "m"),
            (1, DeltaKind::Text, "I "),
            (1, DeltaKind::Text, "look\u{1f4e6}\n"),
            (2, DeltaKind::ToolCall, "search"),
            (3, DeltaKind::ToolCall, "list"),
        ];
        assert_eq!(deltas, expected.map(|(part, kind, text)| (part, kind, text.to_string())));
    }

    #[test]
    fn what_only_the_provider_understands_is_kept() {
        let result =
            json!({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"url": "u"}]});
        let mut events = vec![
            start(),
            block(0, json!({"type": "redacted_thinking", "data": "x"})),
            end(0),
            block(1, json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}})),
            input(1, ""),
            input(1, "{\"query\":"),
            input(1, "\"x\"}"),
            end(1),
            block(2, result.clone()),
            end(2),
            block(3, json!({"type": "text", "text": "", "citations": []})),
            delta(3, json!({"type": "citations_delta", "citation": {"cited_text": "a"}})),
            delta(3, json!({"type": "citations_delta", "citation": {"cited_text": "b"}})),
            delta(3, json!({"type": "text_delta", "text": "found"})),
            delta(3, json!({"type": "unheard_of_delta", "text": "?"})),
            end(3),
            block(4, json!({"type": "compaction", "content": null})),
            delta(4, json!({"type": "compaction_delta", "content": "short"})),
            end(4),
            json!({"type": "unheard_of", "delta": "odd", "index": "odd"}),
            block(
                5,
                json!({"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": 1}, "caller": {"type": "code_execution_1", "tool_id": "srv_1"}}),
            ),
            end(5),
            block(
                6,
                json!({"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}, "caller": {"type": "direct"}, "new": null}),
            ),
            end(6),
        ];
        events.extend(stop("tool_use"));
        let mut answer = answer(&events);
        let is_told = |block: &Block| matches!(block, Block::ServerCall(_) | Block::Cited(_));
        assert_eq!(answer.blocks.iter().filter(|block| is_told(block)).count(), 1);
        answer.blocks.retain(|block| !is_told(block));
        let raw = |at: usize, answer: &Answer| match &answer.blocks[at] {
            Block::Raw(json) | Block::Extra(json) => serde_json::from_str::<Value>(json).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(raw(0, &answer), json!({"type": "redacted_thinking", "data": "x"}));
        assert_eq!(raw(1, &answer)["input"], json!({"query": "x"}));
        assert_eq!(raw(2, &answer), result);
        assert_eq!(answer.blocks[3], t("found"));
        assert_eq!(raw(4, &answer), json!({"citations": [{"cited_text": "a"}, {"cited_text": "b"}]}));
        assert_eq!(raw(5, &answer), json!({"type": "compaction", "content": "short"}));
        assert_eq!(answer.blocks[6], call(r#"{"q":1}"#));
        assert_eq!(raw(7, &answer)["caller"]["tool_id"], "srv_1");
        assert!(matches!(&answer.blocks[8], Block::ToolCall { name, .. } if name == "list"));
        assert_eq!(answer.blocks.len(), 9);
        // And back: one block each, the additions in their blocks.
        let content = said(std::mem::take(&mut answer.blocks))[0]["content"].clone();
        assert_eq!(content.as_array().map(Vec::len), Some(7));
        assert_eq!(content[3]["citations"][1]["cited_text"], "b");
        assert_eq!(content[5]["caller"]["tool_id"], "srv_1");
    }

    #[test]
    fn why_it_stopped() {
        for (reason, expected) in [
            ("end_turn", StopReason::EndTurn),
            ("max_tokens", StopReason::MaxTokens),
            ("stop_sequence", StopReason::StopSequence),
            ("pause_turn", StopReason::Pause),
            ("model_context_window_exceeded", StopReason::ContextWindow),
            ("refusal", StopReason::Refusal(None)),
            ("unheard_of", StopReason::EndTurn),
            // There is no call, even if the reason says so.
            ("tool_use", StopReason::EndTurn),
        ] {
            let [delta, end] = stop(reason);
            assert_eq!(answer(&[start(), delta, end]).stop, Some(expected), "{reason}");
        }
        let details = json!({"type": "refusal", "category": "cyber", "explanation": "no"});
        let refusal =
            json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}});
        let answer = answer(&[start(), refusal, json!({"type": "message_stop"})]);
        assert_eq!(answer.stop, Some(StopReason::Refusal(Some("no".into()))));
        assert!(answer.blocks.is_empty());
    }

    #[test]
    fn a_call_that_the_limit_cut_is_left_out() {
        for (piece, reason, kept) in [
            ("{\"q\": \"dra", "max_tokens", 1),
            ("", "max_tokens", 1),
            ("{\"q\": \"dra", "model_context_window_exceeded", 1),
            ("{\"q\": \"dragons\"}", "max_tokens", 2),
            // Nothing cut it: the model wrote no JSON, and is to be told.
            ("{\"q\": \"dra", "tool_use", 2),
        ] {
            let mut events = vec![
                start(),
                block(0, json!({"type": "text", "text": "a"})),
                end(0),
                block(1, json!({"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}})),
                input(1, piece),
                end(1),
            ];
            events.extend(stop(reason));
            assert_eq!(answer(&events).blocks.len(), kept, "{piece} {reason}");
        }
    }

    #[test]
    fn an_answer_that_breaks_off_keeps_what_came() {
        let events = [
            start(),
            block(0, json!({"type": "text", "text": "a"})),
            end(0),
            block(1, json!({"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}})),
            end(1),
            block(2, json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}})),
            end(2),
            block(3, json!({"type": "tool_use", "id": "toolu_2", "name": "search", "input": {}})),
            input(3, "{}"),
        ];
        let (deltas, result) = decode(&events);
        let (error, partial) = result.unwrap_err();
        assert_eq!(error.code, Code::StreamBroken);
        assert_eq!(partial.stop, None);
        let begun = Block::ServerCall(ServerCall::named("web_search"));
        assert_eq!(partial.blocks, [t("a"), call("{}"), begun]);
        assert_eq!(deltas.len(), 4);
        // An end that is not closed by an empty line is a broken stream too.
        let mut events = vec![start()];
        events.extend(stop("end_turn"));
        let text = stream(&events);
        let mut decoder = Decoder::new(Wire::Anthropic);
        decoder.push(text.trim_end().as_bytes(), &mut |_| ()).unwrap();
        assert_eq!(decoder.finish().unwrap_err().0.code, Code::StreamBroken);
    }

    #[test]
    fn a_paused_answer_keeps_the_providers_open_call() {
        let tool = json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": 1}});
        let [pause, end_message] = stop("pause_turn");
        let mut answer = answer(&[start(), block(0, tool.clone()), end(0), pause, end_message]);
        let call = ServerCall::named("web_search");
        assert_eq!(answer.blocks, [Block::Raw(tool.to_string()), Block::ServerCall(call.clone())]);
        crate::model::drop_open_server_calls(&mut answer.blocks);
        // That it was begun is shown all the same.
        assert_eq!(answer.blocks, [Block::ServerCall(call)]);
    }

    #[test]
    fn errors_in_the_middle() {
        let other = json!({"type": "message_start", "message": {"id": "msg_2"}});
        let overloaded =
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        let text = block(0, json!({"type": "text", "text": "a"}));
        for (event, code) in [
            (overloaded, Code::Overloaded),
            (json!({"type": "error", "error": "odd"}), Code::Server),
            (json!({"type": "error", "error": {"type": "odd"}, "index": "odd"}), Code::Server),
            (other, Code::Protocol),
            (delta(7, json!({"type": "text_delta", "text": "x"})), Code::Protocol),
            (delta(0, json!({"type": "input_json_delta", "partial_json": "x"})), Code::Protocol),
            (json!({"type": "content_block_start", "index": 1}), Code::Protocol),
            (json!({"type": "content_block_delta", "index": "0"}), Code::Protocol),
        ] {
            let (_, result) = decode(&[start(), text.clone(), event.clone(), stop("end_turn")[1].clone()]);
            let (error, partial) = result.unwrap_err();
            assert_eq!(error.code, code, "{event}");
            assert_eq!(partial.blocks, [t("a")], "{event}");
        }
        let mut decoder = Decoder::new(Wire::Anthropic);
        let error = decoder.push(b"data: no json\n\n", &mut |_| ()).unwrap_err();
        assert_eq!(error.code, Code::Protocol);
        assert_eq!(decoder.push(b"data: {}\n\n", &mut |_| ()).unwrap_err(), error);
    }

    #[test]
    fn what_servers_do_that_the_protocol_does_not_say() {
        let mut events = vec![start(), start(), block(0, json!({"type": "text", "text": "a"})), start()];
        events.extend(stop("end_turn"));
        // What follows the end says nothing.
        events
            .extend([json!({"type": "error"}), json!({"type": "message_start", "message": {"id": "msg_2"}})]);
        assert_eq!(answer(&events).blocks, [t("a")]);
        // The type in the event line only; nothing in the data; [DONE].
        let bytes = "event: message_start\ndata: {\"message\":{}}\n\ndata:\n\ndata: [DONE]\n\nevent: message_stop\ndata: {}\n\n";
        let mut decoder = Decoder::new(Wire::Anthropic);
        decoder.push(bytes.as_bytes(), &mut |_| ()).unwrap();
        assert_eq!(decoder.finish().unwrap().stop, Some(StopReason::EndTurn));
        // Pieces take the place of arguments that stood at the beginning; no id.
        let mut events = vec![
            start(),
            block(0, json!({"type": "tool_use", "id": "", "name": "search", "input": {"q": 1}})),
            input(0, "{\"q\":2}"),
        ];
        events.extend(stop("end_turn"));
        let answer = answer(&events);
        assert_eq!(answer.stop, Some(StopReason::ToolUse));
        assert!(
            matches!(&answer.blocks[..], [Block::ToolCall { id, arguments, .. }] if id == "call_1" && arguments == "{\"q\":2}")
        );
        let nameless = block(0, json!({"type": "tool_use", "id": "t", "input": {}}));
        let [delta, end] = stop("tool_use");
        assert_eq!(decode(&[start(), nameless, delta, end]).1.unwrap_err().0.code, Code::Protocol);
    }

    #[test]
    fn usage_is_cumulative() {
        let usage = |usage: Value| json!({"type": "message_delta", "delta": {}, "usage": usage});
        let first = json!({"type": "message_start", "message": {"id": "m", "usage": {
            "input_tokens": 43, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4, "output_tokens": 1}}});
        let answer = answer(&[
            first,
            usage(json!({"input_tokens": 61, "cache_read_input_tokens": null, "output_tokens": 5})),
            usage(json!({"output_tokens": 8, "output_tokens_details": {"thinking_tokens": 2}})),
            json!({"type": "message_stop"}),
        ]);
        assert_eq!(
            answer.usage,
            Usage {
                input_tokens: 61,
                output_tokens: 8,
                cache_read_tokens: 3,
                cache_write_tokens: 4,
                reasoning_tokens: 2,
                searches: 0,
            }
        );
    }

    #[test]
    fn bodies_that_are_no_stream() {
        for (body, code) in [
            ("", Code::StreamBroken),
            ("<!doctype html><title>Shop</title>", Code::Protocol),
            ("{\"id\":\"msg_1\",\"type\":\"message\",\"content\":[]}", Code::Protocol),
            (
                "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"m\"}}",
                Code::RateLimit,
            ),
        ] {
            for size in [1, 4096] {
                let mut decoder = Decoder::new(Wire::Anthropic);
                for piece in body.as_bytes().chunks(size) {
                    decoder.push(piece, &mut |_| ()).unwrap();
                }
                assert_eq!(decoder.finish().unwrap_err().0.code, code, "{body}");
            }
        }
    }
}
