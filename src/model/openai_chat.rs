//! OpenAI Chat Completions, and everything shaped like it.
//!
//! Decides how a conversation is written for such a model and how its chunks are read, however freely a server
//! takes the protocol. See the tests for the ways that are known. Custom providers are fed through here.
//! Promises: a fragment of a tool call finds its call, also without an index or an id. An answer is whole
//! only when the server said so (for a custom provider, when it has nothing more to yield). Leaves to others:
//! that every tool call has a result (`session/`), keys and sending (`browser/`).

use super::assembler::{Assembler, Body as Content, Part};
use super::errors::{in_stream, protocol};
use super::json::{Body, Members, Node, is_object, push_string, text};
use super::list::List;
use super::openai::{self, DETAILS, Shape, encode, write_messages};
use super::served::Unit;
use super::wire::{self, Codec, Framing};
use super::{Delta, DeltaKind, Dialect, Effort, Message, Reasoning, Settings, StopReason, ToolSpec, Usage};
use crate::error::ErrorInfo;
use crate::json::push_text;
use crate::list::Listed;
use crate::rooms::{Room, enter};
use std::borrow::Cow;

/// The row of this wire.
pub(super) const CODEC: Codec = Codec {
    key_header: ("authorization", "Bearer "),
    headers: &[],
    path: "/chat/completions",
    documents: true,
    files_in_results: false,
    served: Some(Unit::All),
    framing: Framing::Events,
    list: List::DATA,
    encode_message,
    write,
    stream: || {
        enter(Room::Chat);
        Box::new(Stream::default())
    },
    room: Room::Chat,
};

/// The row of a custom provider.
pub(super) const CUSTOM: Codec = Codec {
    write: |body, dialect, settings, tools, messages| {
        enter(Room::Chat);
        write_chat(body, dialect, settings, tools, messages);
        if tools.is_empty() {
            // A `ChatRequest` always has the member.
            body.raw("tools", "[]");
        }
    },
    stream: || {
        enter(Room::Chat);
        Box::new(Stream { custom: true, ..Stream::default() })
    },
    ..CODEC
};

/// Writes what follows the model's id.
fn write(body: &mut Body<'_>, dialect: &Dialect, settings: &Settings, tools: &[ToolSpec], messages: &str) {
    enter(Room::Chat);
    write_chat(body, dialect, settings, tools, messages);
    body.raw("stream", "true");
    if dialect.stream_options {
        body.raw("stream_options", r#"{"include_usage":true}"#);
    }
}

/// What both kinds of request have in common.
fn write_chat(
    body: &mut Body<'_>,
    dialect: &Dialect,
    settings: &Settings,
    tools: &[ToolSpec],
    messages: &str,
) {
    if let Some(tokens) = settings.max_output_tokens {
        body.raw(dialect.limit, &tokens.to_string());
    }
    if let Some(temperature) = &settings.temperature {
        body.raw("temperature", temperature);
    }
    if let Some(effort) = settings.reasoning {
        tell_effort(dialect.effort, effort, body);
    }
    openai::tools(body, settings, tools, r#"{"type":"function","function":{"#, "}}");
    if let Some(name) = settings.forced()
        && let Some(out) = body.member("tool_choice")
    {
        out.push_str(r#"{"type":"function","function":{"name":"#);
        push_text(out, name);
        out.push_str("}}");
    }
    if let Some(schema) = settings.schema()
        && let Some(out) = body.member("response_format")
    {
        out.push_str(r#"{"type":"json_schema","json_schema":{"#);
        out.push_str(&openai::form(schema));
        out.push_str("}}");
    }
    write_messages(body, dialect, &settings.system, messages);
}

/// Its messages.
const SHAPE: Shape =
    Shape { text_arguments: true, no_content: "null", result_names_tool: false, files_are_parts: true };

/// Appends a message as one or more, or nothing.
fn encode_message(dialect: &Dialect, message: &Message, out: &mut String) {
    enter(Room::Chat);
    encode(&SHAPE, dialect, message, out);
}

/// Writes how hard to think.
fn tell_effort(how: Effort, reasoning: Reasoning, body: &mut Body<'_>) {
    let effort = reasoning.effort();
    let off = reasoning == Reasoning::Off;
    match how {
        Effort::Flat => {}
        Effort::Nested => return body.raw("reasoning", &[r#"{"effort":""#, effort, r#""}"#].concat()),
        Effort::Switched if off => return body.raw("thinking", r#"{"type":"disabled"}"#),
        Effort::Switched => body.raw("thinking", r#"{"type":"enabled"}"#),
        Effort::Template if off => return body.raw("chat_template_kwargs", r#"{"enable_thinking":false}"#),
        Effort::Template => {
            let variables = [r#"{"enable_thinking":true,"reasoning_effort":""#, effort, r#""}"#];
            body.raw("chat_template_kwargs", &variables.concat());
        }
    }
    body.text("reasoning_effort", effort);
}

/// The members of a chunk that are taken apart with it.
const INSIDE: &[&str] = &["choices", "delta", "content", "thinking", "tool_calls", "function"];

/// What must be remembered between chunks besides the answer.
#[derive(Default)]
struct Stream {
    /// The end of what is yielded is the end of the answer.
    custom: bool,
    /// A choice has come: it is a chat, and not something else that ends with `[DONE]`.
    begun: bool,
    /// `[DONE]` has come; what follows says nothing.
    done: bool,
    /// The latest usage, as text: some servers send it with every chunk.
    usage: String,
    /// The model's words of refusal.
    refusal: String,
    /// What came of `reasoning_details`: the members of each, as JSON text.
    details: Vec<Vec<(String, String)>>,
    /// Where the answer has something from: JSON texts with commas between them.
    sources: String,
}

impl wire::Stream for Stream {
    fn whole(&self, answer: &mut Assembler) -> bool {
        let ended = self.custom || self.done && self.begun || answer.stop.is_some();
        let refused = matches!(answer.stop, Some(StopReason::Refusal(_)));
        if ended && (refused || !self.refusal.is_empty()) {
            answer.stop = Some(StopReason::Refusal(Some(self.refusal.clone()).filter(|t| !t.is_empty())));
        } else if ended && answer.stop.is_none() {
            answer.stop = Some(StopReason::EndTurn);
        }
        ended
    }

    fn complete(&self, answer: &mut Assembler) {
        answer.usage = self.usage(answer);
        answer.extra = self.details();
        let text = answer.find(u32::MAX, &|part| matches!(part.body, Content::Text(_)));
        if let Some(part) = text.filter(|_| !self.sources.is_empty()).and_then(|at| answer.part(at)) {
            part.add_extra("annotations", &["[", &self.sources, "]"].concat());
        }
    }

    fn usage(&self, _: &Assembler) -> Usage {
        let usage = Members::of(&self.usage).unwrap_or_default();
        openai::usage(&usage, "prompt", "completion")
    }

    fn event(
        &mut self,
        _: &str,
        data: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<bool, ErrorInfo> {
        if self.done || data.is_empty() {
            return Ok(false);
        }
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(false);
        }
        self.chunk(data, answer, sink)
    }
}

impl Stream {
    /// A piece of a reasoning detail: its strings go on where its type and index are those of the last one. What is
    /// sealed comes whole, and a signature ends its text.
    fn detail(&mut self, piece: &Members<'_>) {
        let last = self.details.last_mut().filter(|last| {
            let signed =
                last.iter().any(|(name, json)| name == "signature" && json.len() > 2 && json != "null");
            let same =
                |name| last.iter().find(|(n, _)| n == name).map(|(_, json)| json.as_str()) == piece.get(name);
            let goes_on = !signed || piece.text("text").is_empty();
            same("type") && same("index") && goes_on && piece.get("data").is_none()
        });
        let Some(last) = last else {
            self.details.push(piece.all().map(|(name, json)| (name.into(), json.into())).list());
            return;
        };
        for (name, json) in piece.all().filter(|(_, json)| *json != "null") {
            match last.iter_mut().find(|(known, _)| known == name) {
                None => last.push((name.into(), json.into())),
                Some((_, old)) if matches!(name, "text" | "summary") && old.ends_with('"') => {
                    push_string(old, json)
                }
                Some((_, old)) => *old = json.into(),
            }
        }
    }

    /// The reasoning details of the whole answer, as the member of an object; empty where there are none.
    fn details(&self) -> String {
        let mut out = String::new();
        for detail in &self.details {
            out.push_str(if out.is_empty() { "{\"reasoning_details\":[{" } else { ",{" });
            for (name, json) in detail {
                if !out.ends_with('{') {
                    out.push(',');
                }
                push_text(&mut out, name);
                out.push(':');
                out.push_str(json);
            }
            out.push('}');
        }
        if !out.is_empty() {
            out.push_str("]}");
        }
        out
    }

    /// One chunk.
    fn chunk(
        &mut self,
        json: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<bool, ErrorInfo> {
        let chunk =
            Members::with(json, INSIDE).ok_or_else(|| protocol("a piece of the answer is no chat chunk"))?;
        if chunk.get("error").is_some() || chunk.text("object") == "error" {
            return Err(in_stream(json));
        }
        for (known, name) in [(&mut answer.id, "id"), (&mut answer.model, "model")] {
            if known.is_none() {
                *known = Some(chunk.text(name).into_owned()).filter(|text| !text.is_empty());
            }
        }
        if let Some(usage) = chunk.get("usage") {
            self.usage.clear();
            self.usage.push_str(usage);
        } else if self.custom && !matches!(chunk.node("choices"), Node::List(_)) {
            return Err(protocol("the custom provider yielded an object without choices"));
        }
        let mut appends = !cites(&chunk, answer, &mut self.sources);
        for choice in chunk.node("choices").items().iter().filter_map(Node::members) {
            if choice.number("index").unwrap_or(0) != 0 {
                continue;
            }
            self.begun = true;
            if let Some(piece) = choice.node("delta").members() {
                appends &= self.piece(piece, answer, sink);
            } else if choice.get("message").or(choice.get("text")).is_some() {
                return Err(protocol(
                    "a choice has a message or a text in place of a delta: stream chunks, or plain text",
                ));
            }
            match choice.text("finish_reason").as_ref() {
                "" => {}
                "length" => answer.stop = Some(StopReason::MaxTokens),
                "content_filter" => answer.stop = Some(StopReason::Refusal(None)),
                // `stop`, `tool_calls` and what others call it: the calls themselves decide.
                _ => answer.stop = Some(StopReason::EndTurn),
            }
        }
        Ok(appends)
    }

    /// One piece. Whether it has done nothing but append.
    fn piece(
        &mut self,
        piece: &Members<'_>,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> bool {
        // Hosts that send both say the same in both.
        let reasoning = match piece.text("reasoning_content") {
            text if text.is_empty() => piece.text("reasoning"),
            text => text,
        };
        answer.append_as(DeltaKind::Thinking, &reasoning, sink);
        let details = piece.get(DETAILS);
        if let Some(Node::List(details)) = details.and_then(|json| Node::read(json, &[])) {
            details.iter().filter_map(Node::members).for_each(|detail| self.detail(detail));
        }
        answer.append_as(DeltaKind::Text, &piece.text("content"), sink);
        for part in piece.node("content").items().iter().filter_map(Node::members) {
            content_part(part, answer, sink);
        }
        let refusal = piece.text("refusal");
        self.refusal.push_str(&refusal);
        let cites = cites(piece, answer, &mut self.sources);
        let mut appends = details.is_none() && refusal.is_empty() && !cites;
        for fragment in piece.node("tool_calls").items().iter().filter_map(Node::members) {
            appends &= call_fragment(fragment, answer, sink);
        }
        appends
    }
}

/// Hosts that search the web say where they have read: in the piece (`annotations`), or beside the choices. Whether this does.
fn cites(members: &Members<'_>, answer: &mut Assembler, sources: &mut String) -> bool {
    for name in ["annotations", "search_results", "citations"] {
        let list = members.get(name).unwrap_or_default();
        let items = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or_default().trim();
        if items.is_empty() {
            continue;
        }
        answer.looks_up(name);
        // Some say the same with each piece.
        if !sources.ends_with(items) {
            sources.push_str(if sources.is_empty() { "" } else { "," });
            sources.push_str(items);
        }
        return true;
    }
    false
}

/// A part of content that is an array: `{type: "text", text}` or `{type: "thinking", thinking: [{text}]}`.
fn content_part(part: &Members<'_>, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
    answer.append_as(DeltaKind::Text, &part.text("text"), sink);
    answer.append_as(DeltaKind::Thinking, &part.text("thinking"), sink);
    for part in part.node("thinking").items().iter().filter_map(Node::members) {
        answer.append_as(DeltaKind::Thinking, &part.text("text"), sink);
    }
}

/// A fragment of a call. Whether it belongs to the latest one whatever it gives to it.
fn call_fragment(fragment: &Members<'_>, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) -> bool {
    let index = fragment.number("index").and_then(|index| u32::try_from(index).ok());
    let id = fragment.text("id");
    let function = fragment.node("function").members();
    let name = function.map(|function| function.text("name")).unwrap_or_default();
    // A string as the protocol says, or the object itself.
    let given = match function.and_then(|function| function.get("arguments")).unwrap_or_default() {
        string if string.starts_with('"') => text(string),
        object => Cow::Borrowed(object),
    };
    let begins = given.is_empty() || given.starts_with('{');
    let found = answer.find_call(&|part| index.is_none_or(|index| part.index == index));
    let same = found.filter(|at| match answer.part(*at).map(|part| &part.body) {
        Some(Content::Call { id: known, name: named, arguments, .. }) => {
            let other_id = !id.is_empty() && !known.is_empty() && id != *known;
            let named_again = !name.is_empty() && !named.is_empty();
            !match index {
                // Some servers give every call the same index, others every fragment another id.
                Some(_) => other_id && named_again,
                // Without an index a new id begins a new call; without both, a name does once the last call
                // cannot go on. (Not each piece has all before it read again: few look like a beginning.)
                None => other_id || (named_again && (name != *named || begins && is_object(arguments))),
            }
        }
        _ => false,
    });
    let at = same.unwrap_or_else(|| {
        let (id, name, arguments) = Default::default();
        let body = Content::Call { id, name, arguments, whole: false };
        answer.begin(Part::new(index.unwrap_or(u32::MAX), body))
    });
    let Some(part) = answer.part(at) else { return false };
    if let Some(extra) = fragment.get("extra_content")
        && part.extra.is_empty()
    {
        part.add_extra("extra_content", extra);
    }
    if let Content::Call { id: known, name: named, .. } = &mut part.body {
        if known.is_empty() {
            known.push_str(&id);
        }
        if named.is_empty() {
            named.push_str(&name);
        }
    }
    answer.add_input(at, &given);
    answer.announce(at, sink);
    id.is_empty() && name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::model::{Answer, Block, Decoder, Endpoint, Preset, Role, Usage, Wire};
    use serde_json::{Value, json};

    // ------------------------------------------------------------ what is sent

    fn encode(role: Role, own: bool, blocks: Vec<Block>) -> Value {
        let mut out = String::new();
        encode_message(&Dialect::CHAT, &Message { role, blocks, own }, &mut out);
        serde_json::from_str(&format!("[{out}]")).unwrap()
    }

    fn t(text: &str) -> Block {
        Block::Text(text.into())
    }

    fn call(id: &str, name: &str, arguments: &str) -> Block {
        Block::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    fn settings() -> Settings {
        Settings { model: "m".into(), ..Settings::default() }
    }

    #[test]
    fn the_request_of_a_custom_provider() {
        assert_eq!(
            Wire::custom_request(&settings(), &[], "").unwrap(),
            r#"{"model":"m","messages":[],"tools":[]}"#
        );
        let settings = Settings {
            system: "be brief".into(),
            max_output_tokens: Some(9),
            temperature: Some("0".into()),
            reasoning: Some(Reasoning::Low),
            provider_options: Some(r#"{"top_k":1}"#.into()),
            ..settings()
        };
        let tool = ToolSpec { name: "a".into(), description: "d".into(), input_schema: "{}".into() };
        let mut messages = String::new();
        encode_message(
            &Dialect::CHAT,
            &Message { role: Role::User, blocks: vec![t("hi")], own: false },
            &mut messages,
        );
        let request = Wire::custom_request(&settings, std::slice::from_ref(&tool), &messages).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&request).unwrap(),
            json!({
                "model": "m", "max_tokens": 9, "temperature": 0, "reasoning_effort": "low", "top_k": 1,
                "tools": [{"type": "function", "function": {"name": "a", "description": "d", "parameters": {}}}],
                "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
            })
        );
    }

    #[test]
    fn the_request_of_a_server() {
        let settings = Settings {
            max_output_tokens: Some(9),
            system: "be brief".into(),
            reasoning: Some(Reasoning::Low),
            ..settings()
        };
        let send = |kind: &str, preset: &str| {
            let preset = Preset::find(kind, preset).unwrap();
            let base_url = preset.base_url.unwrap_or("http://localhost:8080/v1/").into();
            let endpoint = Endpoint { base_url, api_version: None, dialect: preset.dialect };
            let request = Wire::OpenAiChat.request(&endpoint, &settings, &[], "").unwrap();
            (request.url, serde_json::from_str::<Value>(&request.body).unwrap())
        };
        let (url, body) = send("openai", "");
        assert_eq!(url, "https://api.openai.com/v1/chat/completions");
        assert_eq!(
            body,
            json!({"model": "m", "max_completion_tokens": 9, "reasoning_effort": "low", "stream": true,
                   "stream_options": {"include_usage": true},
                   "messages": [{"role": "developer", "content": "be brief"}]})
        );
        let (url, body) = send("openai-compatible", "");
        assert_eq!(url, "http://localhost:8080/v1/chat/completions");
        assert_eq!(
            body,
            json!({"model": "m", "max_tokens": 9, "reasoning_effort": "low", "stream": true,
                   "stream_options": {"include_usage": true},
                   "messages": [{"role": "system", "content": "be brief"}]})
        );
        let (_, body) = send("openai-compatible", "mistral");
        assert_eq!(
            body,
            json!({"model": "m", "max_tokens": 9, "reasoning_effort": "low", "stream": true,
                   "messages": [{"role": "system", "content": "be brief"}]})
        );
    }

    /// The dialects of the servers that are shaped like this one, by name.
    fn dialect(preset: &str) -> Dialect {
        Preset::find("openai-compatible", preset).unwrap().dialect
    }

    #[test]
    fn every_preset_is_told_how_hard_to_think() {
        let flat = [json!({"reasoning_effort": "none"}), json!({"reasoning_effort": "low"})];
        let template = [
            json!({"chat_template_kwargs": {"enable_thinking": false}}),
            json!({"chat_template_kwargs": {"enable_thinking": true, "reasoning_effort": "low"},
                   "reasoning_effort": "low"}),
        ];
        let nested = [json!({"reasoning": {"effort": "none"}}), json!({"reasoning": {"effort": "low"}})];
        let switched = [
            json!({"thinking": {"type": "disabled"}}),
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ];
        for (presets, expected) in [
            (&["", "groq", "mistral", "lmstudio", "ollama"][..], flat),
            (&["llamacpp", "vllm"], template),
            (&["openrouter"], nested),
            (&["deepseek"], switched),
        ] {
            for preset in presets {
                for (reasoning, expected) in [Reasoning::Off, Reasoning::Low].into_iter().zip(&expected) {
                    let settings = Settings { reasoning: Some(reasoning), ..settings() };
                    let base_url = "http://localhost:8080".into();
                    let endpoint = Endpoint { base_url, api_version: None, dialect: dialect(preset) };
                    let body = Wire::OpenAiChat.request(&endpoint, &settings, &[], "").unwrap().body;
                    let mut body: Value = serde_json::from_str(&body).unwrap();
                    for told in ["model", "messages", "stream", "stream_options"] {
                        body.as_object_mut().unwrap().remove(told);
                    }
                    assert_eq!(&body, expected, "{preset}");
                }
            }
        }
    }

    #[test]
    fn thinking_goes_back_to_where_it_came_from() {
        let thinking = |text: &str| Block::Thinking { text: text.into(), signature: None };
        let blocks = || vec![thinking("hm"), t("so"), thinking("then"), call("123456789", "x", "{}")];
        let encode = |preset: &str, own: bool, blocks: Vec<Block>| {
            let mut out = String::new();
            encode_message(&dialect(preset), &Message { role: Role::Assistant, blocks, own }, &mut out);
            let mut message: Value = serde_json::from_str(&out).unwrap();
            for told in ["role", "tool_calls"] {
                message.as_object_mut().unwrap().remove(told);
            }
            message
        };
        let without = json!({"content": "so"});
        for (preset, expected) in [
            ("", without.clone()),
            ("groq", without.clone()),
            ("lmstudio", without.clone()),
            ("deepseek", json!({"content": "so", "reasoning_content": "hm\n\nthen"})),
            ("llamacpp", json!({"content": "so", "reasoning_content": "hm\n\nthen"})),
            ("vllm", json!({"content": "so", "reasoning": "hm\n\nthen"})),
            ("ollama", json!({"content": "so", "reasoning": "hm\n\nthen"})),
            ("openrouter", json!({"content": "so", "reasoning": "hm\n\nthen"})),
            (
                "mistral",
                json!({"content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm\n\nthen"}]},
                    {"type": "text", "text": "so"},
                ]}),
            ),
        ] {
            assert_eq!(encode(preset, true, blocks()), expected, "{preset}");
            if preset != "deepseek" {
                assert_eq!(encode(preset, false, blocks()), without, "{preset}");
            }
        }
        // DeepSeek refuses calls without the member, also those that another model made.
        let empty = json!({"content": "so", "reasoning_content": ""});
        assert_eq!(encode("deepseek", false, blocks()), empty);
        assert_eq!(encode("deepseek", true, vec![t("so"), call("1", "x", "{}")]), empty);
        assert_eq!(encode("deepseek", true, vec![t("so")]), without);
        assert_eq!(encode("deepseek", false, vec![thinking("hm"), t("so")]), without);
        // Nothing but thinking is no message.
        let mut out = String::new();
        let alone = Message { role: Role::Assistant, blocks: vec![thinking("hm")], own: true };
        encode_message(&dialect("deepseek"), &alone, &mut out);
        assert_eq!(out, "");
    }

    #[test]
    fn mistral_takes_its_own_kind_of_ids() {
        let blocks = vec![call("toolu_01D7", "x", "{}")];
        let mut out = String::new();
        encode_message(&dialect("mistral"), &Message { role: Role::Assistant, blocks, own: false }, &mut out);
        let result = Block::ToolResult {
            id: "toolu_01D7".into(),
            name: "x".into(),
            text: "r".into(),
            is_error: false,
            files: Vec::new(),
        };
        encode_message(
            &dialect("mistral"),
            &Message { role: Role::User, blocks: vec![result], own: false },
            &mut out,
        );
        let messages: Value = serde_json::from_str(&format!("[{out}]")).unwrap();
        let id = messages[0]["tool_calls"][0]["id"].as_str().unwrap();
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert_eq!(messages[1]["tool_call_id"], id);
    }

    #[test]
    fn reasoning_details_are_joined_and_sent_back() {
        let detail = |piece: Value| chunk(json!({"reasoning_details": [piece]}));
        let chunks = [
            detail(
                json!({"type": "reasoning.text", "index": 0, "text": "a\"\\", "format": null, "id": null}),
            ),
            detail(json!({"type": "reasoning.text", "index": 0, "text": "\u{1f600}b", "format": "f"})),
            detail(json!({"type": "reasoning.text", "index": 0, "text": "", "signature": "s1"})),
            chunk(json!({"content": "so", "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "c", "signature": "s2"},
                {"type": "reasoning.summary", "index": 1, "summary": "d"},
                {"type": "reasoning.summary", "index": 1, "summary": "e"},
                7,
            ]})),
            detail(json!({"type": "reasoning.encrypted", "index": 2, "data": "x", "id": "rs_1"})),
            detail(json!({"type": "reasoning.encrypted", "index": 2, "data": "y", "id": "rs_2"})),
            finish("stop"),
        ];
        let details = json!([
            {"type": "reasoning.text", "index": 0, "text": "a\"\\\u{1f600}b", "format": "f", "id": null,
             "signature": "s1"},
            {"type": "reasoning.text", "index": 0, "text": "c", "signature": "s2"},
            {"type": "reasoning.summary", "index": 1, "summary": "de"},
            {"type": "reasoning.encrypted", "index": 2, "data": "x", "id": "rs_1"},
            {"type": "reasoning.encrypted", "index": 2, "data": "y", "id": "rs_2"},
        ]);
        let blocks = blocks(&chunks);
        let [Block::Text(_), Block::Raw(raw)] = &blocks[..] else { panic!("{blocks:?}") };
        assert_eq!(serde_json::from_str::<Value>(raw).unwrap(), json!({"reasoning_details": details}));
        let sent = encode(Role::Assistant, true, blocks.clone());
        assert_eq!(sent, json!([{"role": "assistant", "content": "so", "reasoning_details": details}]));
        assert_eq!(encode(Role::Assistant, false, blocks), json!([{"role": "assistant", "content": "so"}]));
        // A piece that is no text does not break the one before it.
        let odd = [
            detail(json!({"type": "t", "text": "a"})),
            detail(json!({"type": "t", "text": 7})),
            chunk(json!({"reasoning_details": "odd"})),
            finish("stop"),
        ];
        let raw = Block::Raw(r#"{"reasoning_details":[{"text":"a","type":"t"}]}"#.into());
        assert_eq!(self::blocks(&odd), [raw]);
    }

    #[test]
    fn messages() {
        let thinking = Block::Thinking { text: "hm".into(), signature: Some("s".into()) };
        let extra = || Block::Extra(r#"{"extra_content":{"sig":1}}"#.into());
        let result = |id: &str| Block::ToolResult {
            id: id.into(),
            name: "x".into(),
            text: "r".into(),
            is_error: true,
            files: Vec::new(),
        };
        let calls = vec![thinking.clone(), t("a"), call("1", "x", "{\"q\":1}"), extra(), call("2", "y", "{")];
        let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
        let (x, y) = (function("x", "{\"q\":1}"), function("y", "{}"));
        assert_eq!(
            encode(Role::Assistant, true, calls.clone()),
            json!([{"role": "assistant", "content": "a", "tool_calls": [
                {"id": "1", "type": "function", "function": x, "extra_content": {"sig": 1}},
                {"id": "2", "type": "function", "function": y},
            ]}])
        );
        let other = encode(Role::Assistant, false, calls);
        assert!(other[0]["tool_calls"][0].get("extra_content").is_none());
        assert_eq!(
            encode(Role::User, false, vec![t("and"), result("1"), t(" "), t("so?"), result("2")]),
            json!([
                {"role": "tool", "tool_call_id": "1", "content": "r"},
                {"role": "tool", "tool_call_id": "2", "content": "r"},
                {"role": "user", "content": "and\n\nso?"},
            ])
        );
        assert_eq!(encode(Role::Assistant, false, vec![call("1", "x", "{}")])[0]["content"], Value::Null);
        assert_eq!(
            encode(Role::Assistant, false, vec![thinking, t(" "), Block::Raw("{}".into())]),
            json!([])
        );
    }

    // ------------------------------------------------------------ what comes

    fn chunk(delta: Value) -> Value {
        json!({"id": "c", "model": "gpt", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    fn finish(reason: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    }

    /// A fragment of a tool call; what is `null` is left out.
    fn fragment(index: Value, id: Value, name: Value, arguments: Value) -> Value {
        let mut call = json!({"function": {"arguments": arguments}});
        if !index.is_null() {
            call["index"] = index;
        }
        if !id.is_null() {
            call["id"] = id;
        }
        if !name.is_null() {
            call["function"]["name"] = name;
        }
        chunk(json!({"tool_calls": [call]}))
    }

    type Decoded = (Vec<(u32, String)>, Result<Answer, (ErrorInfo, Answer)>);

    /// From a server, and the same from a custom provider: both must agree.
    fn decode(chunks: &[Value]) -> Decoded {
        let (mut deltas, mut theirs) = (Vec::new(), Vec::new());
        let mut custom = Decoder::custom();
        for chunk in chunks {
            let _ = custom.push_chunk(&chunk.to_string(), &mut |d| theirs.push((d.part, d.text.to_string())));
        }
        let mut decoder = Decoder::new(Wire::OpenAiChat);
        let stream: String = chunks.iter().map(|chunk| format!(": comment\n\ndata: {chunk}\n\n")).collect();
        let _ = decoder.push(stream.as_bytes(), &mut |d| deltas.push((d.part, d.text.to_string())));
        assert_eq!(deltas, theirs);
        let result = decoder.finish();
        if result.is_ok() {
            assert_eq!(custom.finish(), result);
        }
        (deltas, result)
    }

    fn blocks(chunks: &[Value]) -> Vec<Block> {
        decode(chunks).1.unwrap().blocks
    }

    #[test]
    fn text_and_usage() {
        let usage = json!({"prompt_tokens": 16, "completion_tokens": 30, "total_tokens": 46,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 7}});
        let (deltas, answer) = decode(&[
            chunk(json!({"role": "assistant", "content": "", "refusal": null})),
            chunk(json!({"content": "Hel"})),
            chunk(json!({"content": null, "tool_calls": null})),
            chunk(json!({"content": "lo"})),
            json!({"choices": [{"index": 1, "delta": {"content": "another choice"}}]}),
            finish("stop"),
            json!({"choices": [], "usage": usage}),
        ]);
        let answer = answer.unwrap();
        assert_eq!(answer.blocks, [t("Hello")]);
        assert_eq!(answer.stop, Some(StopReason::EndTurn));
        assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("c"), Some("gpt")));
        let expected = Usage {
            input_tokens: 12,
            output_tokens: 30,
            cache_read_tokens: 4,
            cache_write_tokens: 0,
            reasoning_tokens: 7,
            searches: 0,
        };
        assert_eq!(answer.usage, expected);
        assert_eq!(deltas, [(0, "Hel".to_string()), (0, "lo".into())]);
    }

    #[test]
    fn usage_that_counts_reasoning_beside_the_answer() {
        let usage = json!({"prompt_tokens": 307, "completion_tokens": 26, "total_tokens": 560,
            "completion_tokens_details": {"reasoning_tokens": 227}});
        let answer =
            decode(&[chunk(json!({"content": "a"})), finish("stop"), json!({"choices": [], "usage": usage})]);
        assert_eq!(answer.1.unwrap().usage.output_tokens, 253);
    }

    #[test]
    fn thinking_by_every_name() {
        let thinking = |text: &str| Block::Thinking { text: text.into(), signature: None };
        for piece in [
            json!({"reasoning_content": "hm"}),
            json!({"reasoning": "hm"}),
            json!({"reasoning_content": "hm", "reasoning": "hm"}),
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
            json!({"content": [{"type": "thinking", "thinking": "hm"}]}),
        ] {
            let chunks = [
                chunk(piece.clone()),
                chunk(json!({"content": [{"type": "text", "text": "so"}]})),
                finish("stop"),
            ];
            assert_eq!(blocks(&chunks), [thinking("hm"), t("so")], "{piece}");
        }
        let odd = chunk(json!({"content": {"a": [1]}, "reasoning": 7, "role": 1, "refusal": true}));
        assert_eq!(blocks(&[odd, finish("stop")]), []);
    }

    #[test]
    fn tool_calls_however_they_come() {
        let n = Value::Null;
        let two = [call("a", "x", "{\"q\":1}"), call("b", "y", "{}")];
        let piece =
            |i: Value, id: &str, name: &str, args: &str| fragment(i, json!(id), json!(name), json!(args));
        let by_index = |first: u32| {
            vec![
                piece(json!(first), "a", "x", ""),
                fragment(json!(first), n.clone(), n.clone(), json!("{\"q\"")),
                piece(json!(first + 1), "b", "y", ""),
                fragment(json!(first), n.clone(), n.clone(), json!(":1}")),
            ]
        };
        for (how, chunks) in [
            ("as the protocol says", by_index(0)),
            ("from one", by_index(1)),
            (
                "without an index",
                vec![
                    piece(n.clone(), "a", "x", "{\"q\""),
                    fragment(n.clone(), n.clone(), n.clone(), json!(":1}")),
                    piece(n.clone(), "b", "y", "{}"),
                ],
            ),
            (
                "each with index 0",
                vec![piece(json!(0), "a", "x", "{\"q\":1}"), piece(json!(0), "b", "y", "{}")],
            ),
            (
                "id and name in every fragment",
                vec![
                    piece(json!(0), "a", "x", "{\"q\""),
                    piece(json!(0), "a", "x", ":1}"),
                    piece(json!(1), "b", "y", ""),
                ],
            ),
            (
                "another id in every fragment",
                vec![
                    piece(json!(0), "a", "x", "{\"q\""),
                    fragment(json!(0), json!("a2"), n.clone(), json!(":1}")),
                    piece(json!(1), "b", "y", ""),
                ],
            ),
            (
                "name after the arguments",
                vec![
                    fragment(json!(0), json!("a"), n.clone(), json!("{\"q\"")),
                    fragment(json!(0), n.clone(), json!("x"), json!(":1}")),
                    piece(json!(1), "b", "y", ""),
                ],
            ),
            (
                "both whole in one chunk",
                vec![chunk(json!({"tool_calls": [
                    {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"q\":1}"}, "type": "function"},
                    {"index": 1, "id": "b", "function": {"name": "y", "arguments": {}}},
                ]}))],
            ),
            (
                "as objects, with no arguments",
                vec![
                    fragment(json!(0), json!("a"), json!("x"), json!({"q": 1})),
                    fragment(json!(1), json!("b"), json!("y"), n.clone()),
                ],
            ),
        ] {
            for reason in ["tool_calls", "stop", "function_call"] {
                let mut chunks = chunks.clone();
                chunks.push(finish(reason));
                let (deltas, answer) = decode(&chunks);
                let answer = answer.unwrap();
                assert_eq!(answer.blocks, two, "{how}");
                assert_eq!(answer.stop, Some(StopReason::ToolUse), "{how}");
                assert_eq!(deltas, [(0, "x".to_string()), (1, "y".into())], "{how}");
            }
        }
        let unnamed = [
            fragment(n.clone(), n.clone(), json!("x"), json!("{}")),
            fragment(n.clone(), n.clone(), json!("x"), json!("{}")),
            fragment(n.clone(), n.clone(), json!("y"), json!("{}")),
            finish("stop"),
        ];
        assert_eq!(
            blocks(&unnamed),
            [call("call_1", "x", "{}"), call("call_2", "x", "{}"), call("call_3", "y", "{}")]
        );
    }

    #[test]
    fn a_thought_signature_stays_with_its_call() {
        let mut piece = fragment(json!(0), json!("a"), json!("x"), json!("{}"));
        piece["choices"][0]["delta"]["tool_calls"][0]["extra_content"] =
            json!({"google": {"thought_signature": "s"}});
        let blocks = blocks(&[piece, finish("stop")]);
        assert_eq!(
            blocks[1],
            Block::Extra(r#"{"extra_content":{"google":{"thought_signature":"s"}}}"#.into())
        );
    }

    #[test]
    fn what_another_has_called_goes_to_google_with_what_stands_for_a_signature() {
        let send = |own: bool, blocks: Vec<Block>| {
            let mut out = String::new();
            let dialect = Preset::find("openai-compatible", "google").unwrap().dialect;
            encode_message(&dialect, &Message { role: Role::Assistant, blocks, own }, &mut out);
            serde_json::from_str::<Value>(&out).unwrap()["tool_calls"].clone()
        };
        let signature = |call: &Value| call["extra_content"]["google"]["thought_signature"].clone();
        let signed = || Block::Extra(r#"{"extra_content":{"google":{"thought_signature":"s"}}}"#.into());
        let blocks = || vec![call("1", "x", "{}"), signed(), call("2", "y", "{}")];
        let own = send(true, blocks());
        assert_eq!([signature(&own[0]), signature(&own[1])], [json!("s"), Value::Null]);
        let other = send(false, blocks());
        assert_eq!(
            [signature(&other[0]), signature(&other[1])],
            [json!("skip_thought_signature_validator"), Value::Null]
        );
    }

    #[test]
    fn how_it_ends() {
        let text = chunk(json!({"content": "a"}));
        let stop =
            |chunks: &[Value]| decode(chunks).1.map(|answer| answer.stop).map_err(|(error, _)| error.code);
        assert_eq!(stop(&[text.clone(), finish("length")]), Ok(Some(StopReason::MaxTokens)));
        assert_eq!(stop(&[text.clone(), finish("content_filter")]), Ok(Some(StopReason::Refusal(None))));
        assert_eq!(stop(&[text.clone(), finish("eos")]), Ok(Some(StopReason::EndTurn)));
        let refusal = [chunk(json!({"refusal": "I "})), chunk(json!({"refusal": "can't"})), finish("stop")];
        assert_eq!(stop(&refusal), Ok(Some(StopReason::Refusal(Some("I can't".into())))));
        assert_eq!(stop(std::slice::from_ref(&text)), Err(Code::StreamBroken));
        let cut = fragment(json!(0), json!("a"), json!("x"), json!("{\"q"));
        assert_eq!(blocks(&[text.clone(), cut.clone(), finish("length")]), [t("a")]);
        assert_eq!(blocks(&[text.clone(), cut, finish("stop")]).len(), 2);
        let nameless = fragment(json!(0), json!("a"), Value::Null, json!("{}"));
        assert_eq!(stop(&[nameless, finish("stop")]), Err(Code::Protocol));
        for (error, code) in [
            (
                json!({"error": {"message": "m", "code": 502}, "choices": [{"finish_reason": "error"}]}),
                Code::Server,
            ),
            (json!({"error": "plain"}), Code::Server),
            (json!({"object": "error", "message": "m", "code": 429}), Code::RateLimit),
            (json!([1]), Code::Protocol),
            // What the older completions API says.
            (json!({"choices": [{"index": 0, "text": "a", "finish_reason": null}]}), Code::Protocol),
        ] {
            assert_eq!(stop(&[text.clone(), error.clone(), finish("stop")]), Err(code), "{error}");
        }
        let mut decoder = Decoder::new(Wire::OpenAiChat);
        decoder
            .push(format!("data: {text}\n\ndata: [DONE]\n\ndata: junk\n\n").as_bytes(), &mut |_| ())
            .unwrap();
        assert_eq!(decoder.finish().unwrap().stop, Some(StopReason::EndTurn));
        // No choice at all: it was no chat.
        let mut decoder = Decoder::new(Wire::OpenAiChat);
        decoder.push(b"data: {\"type\":\"session\"}\n\ndata: [DONE]\n\n", &mut |_| ()).unwrap();
        assert_eq!(decoder.finish().unwrap_err().0.code, Code::StreamBroken);
    }

    #[test]
    fn a_custom_provider_may_just_end() {
        let mut decoder = Decoder::custom();
        let mut shown = String::new();
        decoder.push_text("Hel", &mut |d| shown.push_str(d.text)).unwrap();
        decoder.push_text("", &mut |d| shown.push_str(d.text)).unwrap();
        decoder
            .push_chunk(&chunk(json!({"content": "lo"})).to_string(), &mut |d| shown.push_str(d.text))
            .unwrap();
        assert_eq!(shown, "Hello");
        assert_eq!(decoder.snapshot().stop, None);
        let answer = decoder.finish().unwrap();
        assert_eq!((answer.blocks, answer.stop), (vec![t("Hello")], Some(StopReason::EndTurn)));
        assert_eq!(Decoder::custom().finish().unwrap().blocks, []);
        for bad in [
            "{}",
            "[]",
            "{\"text\":\"hi\"}",
            "no json",
            "{\"choices\":7}",
            "{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}",
        ] {
            assert_eq!(
                Decoder::custom().push_chunk(bad, &mut |_| ()).unwrap_err().code,
                Code::Protocol,
                "{bad}"
            );
        }
        let mut decoder = Decoder::new(Wire::Anthropic);
        assert!(decoder.push_chunk("{}", &mut |_| ()).is_err());
    }
}
