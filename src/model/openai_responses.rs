//! OpenAI Responses, and what is shaped like it (xAI).
//!
//! Decides how a conversation is written as items and what each event of the stream means. Promises: nothing is kept
//! on the provider's side. So what it must know again goes back to it as it came, sealed thinking included, and to no
//! other provider. Left out is what it refuses: an item's id counts as a reference to something stored, and nothing is.
//! Pieces find their item by its index, also where a proxy gives them other ids. A piece that never came is made up for by the
//! end of its item. Leaves to others: that every tool call has a result (`session/`), keys and sending (`browser/`).

use super::assembler::{Assembler, Body as Content, Part};
use super::errors::{in_stream, protocol};
use super::files::{FileKind, is_text, push_member, push_parts};
use super::ids::plain;
use super::json::{Body, Members, Node, is_object};
use super::list::List;
use super::served::Unit;
use super::wire::{self, Codec, Framing};
use super::{
    Ability, Block, Delta, DeltaKind, Dialect, Message, Reasoning, Role, Settings, StopReason, ToolSpec,
    openai,
};
use crate::error::ErrorInfo;
use crate::find;
use crate::json::{Reader, push_text};
use crate::list::Listed;
use crate::maps::Named;
use crate::rooms::{Room, enter};
use std::borrow::Cow;

/// The row of this wire.
pub(super) const CODEC: Codec = Codec {
    key_header: ("authorization", "Bearer "),
    headers: &[],
    path: "/responses",
    documents: true,
    files_in_results: false,
    served: Some(Unit::Chars),
    framing: Framing::Events,
    list: List::DATA,
    encode_message,
    write,
    stream: || {
        enter(Room::Responses);
        Box::new(Stream::default())
    },
    room: Room::Responses,
};

/// Writes what follows the model's id.
fn write(body: &mut Body<'_>, dialect: &Dialect, settings: &Settings, tools: &[ToolSpec], messages: &str) {
    enter(Room::Responses);
    body.raw("stream", "true");
    body.raw("store", "false");
    if let Some(tokens) = settings.max_output_tokens {
        body.raw("max_output_tokens", &tokens.to_string());
    }
    if let Some(temperature) = &settings.temperature {
        body.raw("temperature", temperature);
    }
    if let Some(effort) = settings.reasoning {
        let summary = if effort == Reasoning::Off { r#""}"# } else { r#"","summary":"auto"}"# };
        body.raw("reasoning", &[r#"{"effort":""#, effort.effort(), summary].concat());
    }
    // A configuration that says how hard to think has a model that thinks; most models that can do so unasked. A model
    // that cannot may refuse the question, so it is not put where nobody knows.
    let thinks = settings.reasoning.is_some() || settings.known.can(Ability::Reasoning) == Some(true);
    let mut include = if dialect.sealed || thinks {
        String::from(r#""reasoning.encrypted_content""#)
    } else {
        String::new()
    };
    // It says what came of a program only where it is asked to.
    if settings.served.iter().any(|(_, item)| find::has(item, r#""container""#)) {
        include.push_str(if include.is_empty() { "" } else { "," });
        include.push_str(r#""code_interpreter_call.outputs""#);
    }
    body.list("include", &include);
    // Without `strict`, every argument is asked for, also one that the schema does not require.
    openai::tools(body, settings, tools, r#"{"type":"function","#, r#","strict":false}"#);
    if let Some(name) = settings.forced()
        && let Some(out) = body.member("tool_choice")
    {
        out.push_str(r#"{"type":"function","name":"#);
        push_text(out, name);
        out.push('}');
    }
    if let Some(schema) = settings.schema() {
        let format = [r#"{"type":"json_schema","#, &openai::form(schema), "}"].concat();
        body.object("text", &[("format", &format)]);
    }
    if !settings.system.trim().is_empty() {
        body.text("instructions", &settings.system);
    }
    if let Some(out) = body.member("input") {
        out.push('[');
        out.push_str(messages);
        out.push(']');
    }
}

/// Begins an item.
fn begin(out: &mut String, text: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str(text);
}

/// Appends a message as items, or nothing.
fn encode_message(dialect: &Dialect, message: &Message, out: &mut String) {
    enter(Room::Responses);
    for block in &message.blocks {
        if let Block::ToolResult { id, text, .. } = block {
            begin(out, r#"{"type":"function_call_output","call_id":"#);
            push_text(out, &dialect.ids.map(id));
            out.push_str(r#","output":"#);
            push_text(out, text);
            out.push('}');
        }
    }
    if message.role == Role::User {
        return encode_user(message, out);
    }
    // The end of the last item that a message may end with: thinking must stand before what it led to.
    let mut end = out.len();
    let mut blocks = message.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            Block::Text(text) if !text.trim().is_empty() => {
                let extra = extra_of(message, blocks.peek());
                begin(
                    out,
                    r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"#,
                );
                push_text(out, text);
                add(extra.all().filter(|(name, _)| *name == ANNOTATIONS), out);
                out.push_str("}]");
                add(extra.all().filter(|(name, _)| *name != ANNOTATIONS), out);
            }
            Block::ToolCall { id, name, arguments } => {
                begin(out, r#"{"type":"function_call","call_id":"#);
                push_text(out, &dialect.ids.map(id));
                out.push_str(r#","name":"#);
                push_text(out, &plain(name, 64));
                out.push_str(r#","arguments":"#);
                push_text(out, if is_object(arguments) { arguments } else { "{}" });
                add(extra_of(message, blocks.peek()).all(), out);
            }
            Block::Raw(json) if message.own => match encode_raw(json, &message.blocks, out) {
                Written::Nothing => continue,
                Written::Thinking => {
                    out.push('}');
                    continue;
                }
                Written::Item => {}
            },
            _ => continue,
        }
        out.push('}');
        end = out.len();
    }
    out.truncate(end);
}

/// The member of a text that belongs to it and not to its message.
const ANNOTATIONS: &str = "annotations";

/// What the provider added to a block, if that comes next.
fn extra_of<'a>(message: &Message, next: Option<&&'a Block>) -> Members<'a> {
    match next {
        Some(Block::Extra(extra)) if message.own => Members::of(extra).unwrap_or_default(),
        _ => Members::default(),
    }
}

/// Adds members to an object.
fn add<'a>(members: impl Iterator<Item = (&'a str, &'a str)>, out: &mut String) {
    for (name, value) in members {
        out.push(',');
        push_text(out, name);
        out.push(':');
        out.push_str(value);
    }
}

fn encode_user(message: &Message, out: &mut String) {
    if !message.blocks.iter().any(|block| matches!(block, Block::File(_)) || is_text(block)) {
        return;
    }
    begin(out, r#"{"type":"message","role":"user","content":"#);
    push_parts(out, &message.blocks, r#"{"type":"input_text","text":"#, |file, out| match file.kind() {
        FileKind::Image => {
            out.push_str(r#"{"type":"input_image","detail":"auto","image_url":"#);
            file.push_url(out);
        }
        _ => {
            out.push_str(r#"{"type":"input_file","file_data":"#);
            file.push_url(out);
            push_member(out, "filename", file.title());
        }
    });
    out.push('}');
}

/// What became of an item of the provider's own.
enum Written {
    Nothing,
    Thinking,
    Item,
}

/// Writes an item of the provider's own but for its last brace; nothing where it would be refused.
fn encode_raw(json: &str, all: &[Block], out: &mut String) -> Written {
    let item = Members::of(json).unwrap_or_default();
    let kind = item.text("type");
    if kind == "reasoning" {
        // Without what is sealed there is nothing in it for anybody.
        if item.get("encrypted_content").is_none() {
            return Written::Nothing;
        }
        begin(out, r#"{"type":"reasoning""#);
        if !item.has("summary") {
            out.push_str(r#","summary":[]"#);
        }
        // The plain thinking of some is refused, as is the state of an item.
        let refused = ["type", "id", "status", "content"];
        add(item.all().filter(|(name, value)| !refused.contains(name) && *value != "null"), out);
        return Written::Thinking;
    }
    // What a tool was asked that nobody here can answer would be refused for the want of an answer.
    let call = item.text("call_id");
    let asked = |other: &&Block| match other {
        Block::Raw(json) => {
            let other = Members::of(json).unwrap_or_default();
            other.text("call_id") == call && other.text("type") != kind
        }
        _ => false,
    };
    let open = !call.is_empty() && !all.iter().any(|block| asked(&block));
    if open || kind.ends_with("_request") {
        return Written::Nothing;
    }
    begin(out, json.trim_end().strip_suffix('}').unwrap_or_default());
    Written::Item
}

/// What must be remembered between events besides the answer.
#[derive(Default)]
struct Stream {
    /// The provider has said that this is all; what follows says nothing.
    ended: bool,
    /// The items that are whole.
    items: Named<()>,
    /// The item of the latest piece.
    latest: u32,
    /// Where in its item each text goes on that is made of several.
    places: Named<u32>,
    /// The model's words of refusal.
    refusal: String,
}

impl wire::Stream for Stream {
    fn whole(&self, _: &mut Assembler) -> bool {
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
        let Some(event) = Members::of(data) else {
            return match data.trim() {
                "[DONE]" => Ok(false),
                _ => Err(protocol("an event of the answer's stream is no JSON object")),
            };
        };
        let index = event.number("output_index").and_then(|index| u32::try_from(index).ok());
        // Some servers name an event in its `event` line only.
        let kind = event.text("type");
        let read = match if kind.is_empty() { name } else { &kind } {
            "response.output_item.added" => {
                self.latest = index.unwrap_or(self.latest);
                item_begins(self.latest, event.get("item").unwrap_or_default(), answer, sink);
                Ok(())
            }
            "response.output_item.done" => {
                let index = index.unwrap_or(self.latest);
                self.item_ends(index, event.get("item").unwrap_or_default(), answer, sink);
                Ok(())
            }
            "response.function_call_arguments.done" => {
                if let Some(at) = call_place(index.unwrap_or(self.latest), answer) {
                    set_arguments(at, &event.text("arguments"), answer);
                }
                Ok(())
            }
            "response.output_text.annotation.added" => {
                answer.looks_up(ANNOTATIONS);
                Ok(())
            }
            "response.created" | "response.queued" | "response.in_progress" => {
                identify(&event.object("response"), answer);
                Ok(())
            }
            kind @ ("response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done") => {
                self.response_ends(kind, event.get("response").unwrap_or_default(), answer, sink)
            }
            kind if kind.ends_with(".delta") => {
                self.latest = index.unwrap_or(self.latest);
                self.take_piece(kind, &event, answer, sink);
                Ok(())
            }
            "error" => Err(in_stream(data)),
            "" if event.get("error").is_some() => Err(in_stream(data)),
            _ => Ok(()),
        };
        read.map(|()| kind.ends_with(".delta"))
    }
}

/// The place of the tool call that is this item.
fn call_place(index: u32, answer: &Assembler) -> Option<usize> {
    answer.find_call(&|part| part.index == index)
}

/// Puts a call's whole arguments in the place of what has come of them.
fn set_arguments(at: usize, whole: &str, answer: &mut Assembler) {
    if let Some(Part { body: Content::Call { arguments, .. }, .. }) = answer.part(at)
        && !whole.is_empty()
    {
        arguments.clear();
        arguments.push_str(whole);
    }
    answer.measure(at);
    answer.end(at);
}

/// The text or the thinking that is this item.
fn text_at(kind: DeltaKind, index: u32, answer: &Assembler) -> Option<usize> {
    answer.find(index, &|part| match part.body {
        Content::Text(_) => kind == DeltaKind::Text,
        Content::Thinking { .. } => kind == DeltaKind::Thinking,
        _ => false,
    })
}

fn append(kind: DeltaKind, index: u32, piece: &str, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
    if piece.is_empty() {
        return;
    }
    let at = text_at(kind, index, answer).unwrap_or_else(|| {
        let body = match kind {
            DeltaKind::Thinking => Content::Thinking { text: String::new(), signature: String::new() },
            _ => Content::Text(String::new()),
        };
        answer.begin(Part::new(index, body))
    });
    answer.append(at, piece, sink);
}

/// Appends what is missing of a text; where something else was shown, that stays.
fn fill(kind: DeltaKind, index: u32, whole: &str, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
    let known = match text_at(kind, index, answer).and_then(|at| answer.part(at)).map(|part| &part.body) {
        Some(Content::Text(text) | Content::Thinking { text, .. }) => text.as_str(),
        _ => "",
    };
    if let Some(rest) = whole.strip_prefix(known) {
        append(kind, index, rest, answer, sink);
    }
}

/// The place of an item that is kept as it came.
fn raw_at(index: u32, answer: &mut Assembler) -> usize {
    answer.find(index, &|part| matches!(part.body, Content::Raw { .. })).unwrap_or_else(|| {
        let body = Content::Raw { json: String::new(), input: String::new(), changes: Vec::new() };
        answer.begin(Part::new(index, body))
    })
}

/// An item begins. What is kept as it comes has its place from here on, but nothing in it until it is whole.
fn item_begins(index: u32, json: &str, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
    let item = Members::of(json).unwrap_or_default();
    match item.text("type").as_ref() {
        // It begins with its text.
        "" | "message" => {}
        "function_call" => {
            let arguments = item.text("arguments").into_owned();
            let body = Content::Call {
                id: item.text("call_id").into_owned(),
                name: item.text("name").into_owned(),
                whole: !arguments.is_empty(),
                arguments,
            };
            let at = answer.begin(Part::new(index, body));
            answer.announce(at, sink);
        }
        kind => {
            answer.looks_up(kind);
            let at = raw_at(index, answer);
            serves(at, kind, &item, answer, sink);
        }
    }
}

/// Tells of a call that the provider carries out itself. Others wait for an answer to their `call_id`.
fn serves(
    at: usize,
    kind: &str,
    item: &Members<'_>,
    answer: &mut Assembler,
    sink: &mut dyn FnMut(Delta<'_>),
) {
    if let Some(name) = kind.strip_suffix("_call").filter(|_| !item.has("call_id")) {
        let named = item.text("name");
        answer.serves(at, if named.is_empty() { name } else { &named }, sink);
    }
}

/// Adds the members of an item that are not known here to its part.
fn keep_others(part: &mut Part, item: &Members<'_>, known: &[&str]) {
    for (name, value) in item.all() {
        if !known.contains(&name) && value != "null" {
            part.add_extra(name, value);
        }
    }
}

/// What the response calls itself.
fn identify(response: &Members<'_>, answer: &mut Assembler) {
    for (known, name) in [(&mut answer.id, "id"), (&mut answer.model, "model")] {
        if known.is_none() {
            *known = Some(response.text(name).into_owned()).filter(|text| !text.is_empty());
        }
    }
}

/// The texts of these parts that are of this type.
fn texts<'a>(item: &'a Members<'_>, list: &str, kind: &str, name: &str) -> Vec<Cow<'a, str>> {
    let parts = item.node(list).items().iter().filter_map(Node::members);
    parts
        .filter(|part| part.text("type") == kind)
        .map(|part| part.text(name))
        .filter(|text| !text.is_empty())
        .list()
}

/// What stands between two texts of an item.
const BETWEEN: &str = "\n\n";

fn joined(texts: &[Cow<'_, str>]) -> String {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).list();
    find::join(&texts, BETWEEN)
}

impl Stream {
    /// A piece of the latest item.
    fn take_piece(
        &mut self,
        kind: &str,
        event: &Members<'_>,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) {
        let text = event.text("delta");
        // Which of the item's texts.
        let place = event.number("content_index").or_else(|| event.number("summary_index"));
        let place = place.and_then(|place| u32::try_from(place).ok()).unwrap_or(0);
        match kind {
            "response.output_text.delta" => {
                self.say(DeltaKind::Text, place, &text, answer, sink);
            }
            "response.reasoning_summary_text.delta" => {
                self.say(DeltaKind::Thinking, place, &text, answer, sink);
            }
            "response.reasoning_text.delta" => {
                // Never the same place as a summary's.
                self.say(DeltaKind::Thinking, u32::MAX - place, &text, answer, sink);
            }
            "response.refusal.delta" => self.refusal.push_str(&text),
            "response.function_call_arguments.delta" => {
                if let Some(at) = call_place(self.latest, answer) {
                    answer.add_input(at, &text);
                }
            }
            _ => {}
        }
    }

    /// A piece of the latest item; where it begins another text of that item, a gap comes first.
    fn say(
        &mut self,
        kind: DeltaKind,
        place: u32,
        piece: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) {
        if piece.is_empty() {
            return;
        }
        let index = self.latest;
        let last = self.places.insert(&index.to_string(), place);
        if last.is_some_and(|last| last != place) && text_at(kind, index, answer).is_some() {
            append(kind, index, BETWEEN, answer, sink);
        }
        append(kind, index, piece, answer, sink);
    }

    /// An item is whole: what did not come in pieces is taken from it.
    fn item_ends(&mut self, index: u32, json: &str, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
        let Some(item) = Members::with(json, &["content", "summary"]) else { return };
        if self.items.insert(&index.to_string(), ()).is_some() {
            return;
        }
        match item.text("type").as_ref() {
            "" => {}
            "message" => self.message_ends(index, &item, answer, sink),
            "function_call" => {
                if call_place(index, answer).is_none() {
                    item_begins(index, json, answer, sink);
                }
                let Some(at) = call_place(index, answer) else { return };
                set_arguments(at, &item.text("arguments"), answer);
                let Some(part) = answer.part(at) else { return };
                keep_others(part, &item, &["type", "id", "call_id", "name", "arguments", "status"]);
                if let Content::Call { id, name, .. } = &mut part.body {
                    for (known, member) in [(id, "call_id"), (name, "name")] {
                        if known.is_empty() {
                            known.push_str(&item.text(member));
                        }
                    }
                }
                answer.announce(at, sink);
            }
            kind => {
                if kind == "reasoning" {
                    let mut thoughts = texts(&item, "summary", "summary_text", "text");
                    if thoughts.is_empty() {
                        thoughts = texts(&item, "content", "reasoning_text", "text");
                    }
                    fill(DeltaKind::Thinking, index, &joined(&thoughts), answer, sink);
                }
                let at = raw_at(index, answer);
                serves(at, kind, &item, answer, sink);
                if let Some(Part { body: Content::Raw { json: kept, .. }, .. }) = answer.part(at) {
                    kept.push_str(json);
                }
            }
        }
    }

    fn message_ends(
        &mut self,
        index: u32,
        item: &Members<'_>,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) {
        fill(DeltaKind::Text, index, &joined(&texts(item, "content", "output_text", "text")), answer, sink);
        if self.refusal.is_empty() {
            self.refusal = joined(&texts(item, "content", "refusal", "refusal"));
        }
        let at = text_at(DeltaKind::Text, index, answer);
        let Some(part) = at.and_then(|at| answer.part(at)) else { return };
        keep_others(part, item, &["type", "id", "role", "status"]);
        // Their places in the text are right only where there is one text.
        if let [content] = item.node("content").items()
            && let Some(list) = content.members().and_then(|content| content.get(ANNOTATIONS))
            && list.trim_start_matches('[').trim_start() != "]"
        {
            part.add_extra(ANNOTATIONS, list);
        }
    }

    fn response_ends(
        &mut self,
        kind: &str,
        json: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<(), ErrorInfo> {
        let response = Members::of(json).unwrap_or_default();
        identify(&response, answer);
        if response.get("usage").is_some() {
            answer.usage = openai::usage(&response.object("usage"), "input", "output");
        }
        let status = response.text("status");
        let failed = matches!(status.as_ref(), "failed" | "cancelled")
            || matches!(kind, "response.failed" | "response.cancelled");
        if failed || response.get("error").is_some() {
            return Err(in_stream(json));
        }
        if self.items.is_empty() {
            self.items_of(response.get("output").unwrap_or_default(), answer, sink);
        }
        let reason = response.object("incomplete_details").text("reason");
        answer.stop = Some(if !self.refusal.is_empty() {
            StopReason::Refusal(Some(std::mem::take(&mut self.refusal)))
        } else if reason == "content_filter" {
            StopReason::Refusal(None)
        } else if !reason.is_empty() || status == "incomplete" || kind == "response.incomplete" {
            StopReason::MaxTokens
        } else {
            StopReason::EndTurn
        });
        self.ended = true;
        Ok(())
    }

    /// The items of a response whose items did not end one by one.
    fn items_of(
        &mut self,
        list: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Option<()> {
        let mut reader = Reader::new(list);
        let mut index = 0;
        while reader.item(b'[', b']', index == 0)? {
            self.item_ends(index, reader.value()?, answer, sink);
            index += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::model::{Answer, Catalog, Decoder, Endpoint, Preset, Usage, Wire};
    use serde_json::{Value, json};

    // ------------------------------------------------------------ what is sent

    fn encode(role: Role, own: bool, blocks: Vec<Block>) -> Value {
        let mut out = String::new();
        encode_message(&Dialect::RESPONSES, &Message { role, blocks, own }, &mut out);
        serde_json::from_str(&format!("[{out}]")).unwrap()
    }

    fn t(text: &str) -> Block {
        Block::Text(text.into())
    }

    fn call(id: &str, name: &str, arguments: &str) -> Block {
        Block::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    fn raw(item: Value) -> Block {
        Block::Raw(item.to_string())
    }

    fn thinking(text: &str) -> Block {
        Block::Thinking { text: text.into(), signature: None }
    }

    fn sealed() -> Value {
        json!({"type": "reasoning", "id": "rs_1", "status": "completed", "content": [],
            "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA", "format": null})
    }

    #[test]
    fn the_request() {
        let tool = ToolSpec { name: "a".into(), description: "d".into(), input_schema: "{}".into() };
        let plain = Settings { model: "m".into(), ..Settings::default() };
        let full = Settings {
            system: "be brief".into(),
            max_output_tokens: Some(9),
            temperature: Some("0".into()),
            reasoning: Some(Reasoning::Low),
            provider_options: Some(r#"{"store":true,"tool_choice":"auto"}"#.into()),
            ..plain.clone()
        };
        let send = |kind: &str, settings: &Settings, tools: &[ToolSpec], input: &str| {
            let preset = Preset::find(kind, "").unwrap();
            let base_url = preset.base_url.unwrap().into();
            let endpoint = Endpoint { base_url, api_version: None, dialect: preset.dialect };
            let request = Wire::OpenAiResponses.request(&endpoint, settings, tools, input).unwrap();
            (request.url, serde_json::from_str::<Value>(&request.body).unwrap())
        };
        let (url, body) = send("openai-responses", &plain, &[], "");
        assert_eq!(url, "https://api.openai.com/v1/responses");
        assert_eq!(body, json!({"model": "m", "stream": true, "store": false, "input": []}));
        let item = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#;
        let (_, body) = send("openai-responses", &full, std::slice::from_ref(&tool), item);
        assert_eq!(
            body,
            json!({
                "model": "m", "stream": true, "store": true, "tool_choice": "auto", "max_output_tokens": 9,
                "temperature": 0, "reasoning": {"effort": "low", "summary": "auto"},
                "include": ["reasoning.encrypted_content"], "instructions": "be brief",
                "tools": [{"type": "function", "name": "a", "description": "d", "parameters": {}, "strict": false}],
                "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
            })
        );
        let off = Settings { reasoning: Some(Reasoning::Off), ..plain.clone() };
        assert_eq!(send("openai-responses", &off, &[], "").1["reasoning"], json!({"effort": "none"}));
        // What thinks unasked is asked for what it thought, or that could not go back to it.
        for (model, asked) in [("gpt-6-sol", true), ("gpt-5.1-2025-11-13", true), ("gpt-4.1", false)] {
            let known = Catalog::own().find("openai-responses", "", model).unwrap();
            let settings = Settings { model: model.into(), known, ..plain.clone() };
            let (_, body) = send("openai-responses", &settings, &[], "");
            let include = asked.then(|| json!(["reasoning.encrypted_content"]));
            assert_eq!(body.get("include"), include.as_ref(), "{model}");
            assert!(body.get("reasoning").is_none());
        }
        // Each of its models takes the question; the effort some refuse.
        let (url, body) = send("xai", &plain, &[], "");
        assert_eq!(url, "https://api.x.ai/v1/responses");
        assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
        assert!(body.get("reasoning").is_none());
        let broken = Settings { provider_options: Some(r#"{"input":[]}"#.into()), ..plain };
        assert!(Wire::OpenAiResponses.request(&Endpoint::default(), &broken, &[], "").is_err());
    }

    #[test]
    fn what_a_person_and_tools_said() {
        let result = |id: &str| Block::ToolResult {
            id: id.into(),
            name: "n".into(),
            text: "r".into(),
            is_error: true,
            files: Vec::new(),
        };
        let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "r"});
        let long = "x".repeat(64);
        assert_eq!(
            encode(Role::User, false, vec![t("and"), result("1"), t(" "), t("so?"), result(&long)]),
            json!([
                output("1"),
                output(&long),
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "and"}, {"type": "input_text", "text": "so?"}]},
            ])
        );
        assert_eq!(encode(Role::User, false, vec![t("\n")]), json!([]));
        let sent = encode(Role::User, false, vec![result("a.b")]);
        assert_eq!(
            sent[0]["call_id"],
            encode(Role::Assistant, false, vec![call("a.b", "x", "{}")])[0]["call_id"]
        );
        assert_ne!(sent[0]["call_id"], "a.b");
    }

    #[test]
    fn what_the_model_said() {
        let said = |text: &str| {
            json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": text}]})
        };
        let asked = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
        let phase = Block::Extra(r#"{"phase":"commentary","annotations":[{"type":"url_citation"}]}"#.into());
        let blocks = vec![
            raw(sealed()),
            thinking("hm"),
            t("a"),
            phase,
            raw(sealed()),
            call("1", "x", "{\"q\":1}"),
            Block::Extra(r#"{"caller":{"type":"program"}}"#.into()),
            call("2", "odd name", "{"),
        ];
        let reasoning = json!({"type": "reasoning", "encrypted_content": "gAAA",
            "summary": [{"type": "summary_text", "text": "hm"}]});
        let mut first = said("a");
        first["phase"] = json!("commentary");
        first["content"][0]["annotations"] = json!([{"type": "url_citation"}]);
        let mut second = asked("1", "x", "{\"q\":1}");
        second["caller"] = json!({"type": "program"});
        let odd = plain("odd name", 64);
        assert_eq!(
            encode(Role::Assistant, true, blocks.clone()),
            json!([reasoning, first, reasoning, second, asked("2", &odd, "{}")])
        );
        assert_eq!(
            encode(Role::Assistant, false, blocks),
            json!([said("a"), asked("1", "x", "{\"q\":1}"), asked("2", &odd, "{}")])
        );
        for nothing in [
            vec![thinking("hm"), t(" ")],
            // Thinking that led to nothing is refused.
            vec![raw(sealed())],
            vec![raw(sealed()), t(" ")],
        ] {
            assert_eq!(encode(Role::Assistant, true, nothing), json!([]));
        }
        let mut out = String::from("{}");
        let message = Message { role: Role::Assistant, blocks: vec![raw(sealed()), t("a")], own: true };
        encode_message(&Dialect::RESPONSES, &message, &mut out);
        assert_eq!(serde_json::from_str::<Vec<Value>>(&format!("[{out}]")).unwrap().len(), 3);
    }

    #[test]
    fn items_of_the_providers_own() {
        let search =
            json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"q": null}});
        let open = json!({"type": "custom_tool_call", "call_id": "c", "name": "n", "input": ""});
        let shell = json!({"type": "shell_call", "id": "sh", "call_id": "s", "action": {}});
        let output = json!({"type": "shell_call_output", "call_id": "s", "output": []});
        let asks = json!({"type": "mcp_approval_request", "id": "a", "arguments": "{}"});
        let unsealed = json!({"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": null,
            "content": [{"type": "reasoning_text", "text": "hm"}]});
        let bare = json!({"type": "reasoning", "encrypted_content": "s"});
        let items = [search.clone(), open, shell.clone(), output.clone(), asks, unsealed, bare];
        let mut blocks: Vec<Block> = items.into_iter().map(raw).collect();
        blocks.push(t("a"));
        let sent = encode(Role::Assistant, true, blocks.clone());
        assert_eq!(sent.as_array().unwrap()[..3], [search, shell, output]);
        assert_eq!(sent[3], json!({"type": "reasoning", "summary": [], "encrypted_content": "s"}));
        assert_eq!((sent[4]["type"].as_str(), sent.as_array().unwrap().len()), (Some("message"), 5));
        assert_eq!(encode(Role::Assistant, false, blocks).as_array().unwrap().len(), 1);
    }

    // ------------------------------------------------------------ what comes

    fn event(kind: &str, index: u32, more: Value) -> Value {
        let mut event =
            json!({"type": format!("response.{kind}"), "output_index": index, "sequence_number": 7});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    }

    fn added(index: u32, item: Value) -> Value {
        event("output_item.added", index, json!({"item": item}))
    }

    fn done(index: u32, item: Value) -> Value {
        event("output_item.done", index, json!({"item": item}))
    }

    fn text(index: u32, part: u32, delta: &str) -> Value {
        event("output_text.delta", index, json!({"content_index": part, "delta": delta, "logprobs": []}))
    }

    fn summary(index: u32, part: u32, delta: &str) -> Value {
        event("reasoning_summary_text.delta", index, json!({"summary_index": part, "delta": delta}))
    }

    fn arguments(index: u32, delta: &str) -> Value {
        event("function_call_arguments.delta", index, json!({"delta": delta, "obfuscation": "x"}))
    }

    fn message(texts: &[&str]) -> Value {
        let content: Vec<Value> = texts
            .iter()
            .map(|text| json!({"type": "output_text", "text": text, "annotations": []}))
            .collect();
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    }

    fn function(id: &str, name: &str, arguments: &str) -> Value {
        json!({"type": "function_call", "id": "fc_1", "status": "completed", "call_id": id, "name": name,
            "arguments": arguments})
    }

    fn end(kind: &str, more: Value) -> Value {
        let mut response = json!({"id": "resp_1", "model": "gpt", "status": kind, "error": null,
            "incomplete_details": null});
        response.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"type": format!("response.{kind}"), "response": response})
    }

    fn completed() -> Value {
        end("completed", json!({}))
    }

    type Decoded = (Vec<(u32, DeltaKind, String)>, Result<Answer, (ErrorInfo, Answer)>);

    /// As it is, and with the members of every event in another order: both must agree.
    fn decode(events: &[Value]) -> Decoded {
        let read = |write: &dyn Fn(&Value) -> String| {
            let mut deltas = Vec::new();
            let mut decoder = Decoder::new(Wire::OpenAiResponses);
            let stream: String = events.iter().map(|event| format!("data: {}\n\n", write(event))).collect();
            let _ =
                decoder.push(stream.as_bytes(), &mut |d| deltas.push((d.part, d.kind, d.text.to_string())));
            (deltas, decoder.finish())
        };
        let turned = |event: &Value| {
            let Some(members) = event.as_object() else { return event.to_string() };
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!(" {} : {value}", json!(name))).collect();
            format!("{{{} }}", members.into_iter().rev().collect::<Vec<_>>().join(","))
        };
        let decoded = read(&Value::to_string);
        assert_eq!(read(&turned), decoded);
        decoded
    }

    fn answer(events: &[Value]) -> Answer {
        decode(events).1.unwrap()
    }

    #[test]
    fn thinking_text_and_a_call() {
        let created =
            json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt", "usage": null}});
        let usage = json!({"input_tokens": 16, "output_tokens": 30, "total_tokens": 46,
            "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
            "output_tokens_details": {"reasoning_tokens": 7}});
        let mut thought = sealed();
        thought["summary"] =
            json!([{"type": "summary_text", "text": "hm"}, {"type": "summary_text", "text": "so"}]);
        let (deltas, result) = decode(&[
            created,
            json!({"type": "response.unheard_of.delta", "delta": "?", "output_index": 0}),
            added(0, json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "half", "summary": []})),
            summary(0, 0, "h"),
            summary(0, 0, "m"),
            summary(0, 1, "so"),
            done(0, thought.clone()),
            added(1, json!({"type": "message", "role": "assistant", "content": []})),
            text(1, 0, "I "),
            text(1, 0, ""),
            text(1, 0, "look\u{1f4e6}\n"),
            done(1, message(&["I look\u{1f4e6}\n"])),
            added(2, json!({"type": "function_call", "call_id": "call_1", "name": "x", "arguments": ""})),
            arguments(2, "{\"q\""),
            arguments(2, ":1}"),
            event("function_call_arguments.done", 2, json!({"arguments": "{\"q\":1}"})),
            done(2, function("call_1", "x", "{\"q\":1}")),
            end("completed", json!({"usage": usage})),
        ]);
        let answer = result.unwrap();
        assert_eq!(
            answer.blocks,
            [raw(thought), thinking("hm\n\nso"), t("I look\u{1f4e6}\n"), call("call_1", "x", "{\"q\":1}")]
        );
        assert_eq!(answer.stop, Some(StopReason::ToolUse));
        assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("resp_1"), Some("gpt")));
        let expected = Usage {
            input_tokens: 10,
            output_tokens: 30,
            cache_read_tokens: 4,
            cache_write_tokens: 2,
            reasoning_tokens: 7,
            searches: 0,
        };
        assert_eq!(answer.usage, expected);
        let expected = [
            (0, DeltaKind::Thinking, "h"),
            (0, DeltaKind::Thinking, "m"),
            (0, DeltaKind::Thinking, "\n\n"),
            (0, DeltaKind::Thinking, "so"),
            (1, DeltaKind::Text, "I "),
            (1, DeltaKind::Text, "look\u{1f4e6}\n"),
            (2, DeltaKind::ToolCall, "x"),
        ];
        assert_eq!(deltas, expected.map(|(part, kind, text)| (part, kind, text.to_string())));
    }

    #[test]
    fn what_pieces_left_out_comes_with_the_end() {
        let plain = json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]});
        let items = [plain.clone(), message(&["so", "it is"]), function("a", "x", "{}")];
        let whole = [raw(plain), thinking("hm"), t("so\n\nit is"), call("a", "x", "{}")];
        let ends: Vec<Value> = items.iter().zip(0..).map(|(item, index)| done(index, item.clone())).collect();
        // Nothing but the ends of the items; nothing but the end of the response; half of the pieces.
        let only_ends: Vec<Value> = ends.iter().cloned().chain([completed()]).collect();
        let only_response = [end("completed", json!({"output": items}))];
        let half: Vec<Value> = [
            event("reasoning_text.delta", 0, json!({"content_index": 0, "delta": "h"})),
            text(1, 0, "so"),
            text(1, 1, "it"),
            added(2, json!({"type": "function_call"})),
        ]
        .into_iter()
        .chain(only_ends.clone())
        .chain([completed()])
        .collect();
        for events in [&only_ends[..], &only_response, &half] {
            let (deltas, answer) = decode(events);
            let mut blocks = answer.unwrap().blocks;
            blocks.sort_by_key(|block| whole.iter().position(|other| other == block));
            assert_eq!(blocks, whole, "{events:?}");
            let shown =
                |part: u32| deltas.iter().filter(move |delta| delta.0 == part).map(|delta| delta.2.as_str());
            assert_eq!(shown(0).collect::<String>(), "hm");
            assert_eq!(shown(1).collect::<String>(), "so\n\nit is");
            assert_eq!(shown(2).collect::<String>(), "x");
        }
        // What was shown stays, also where the end says something else; an item ends once.
        let other = answer(&[
            text(0, 0, "shown"),
            done(0, message(&["other"])),
            done(0, message(&["shown more"])),
            completed(),
        ]);
        assert_eq!(other.blocks, [t("shown")]);
        // Neither ids nor indexes.
        let mut events = [added(0, function("a", "x", "")), arguments(0, "{\"q\":"), arguments(0, "1}")];
        for event in &mut events {
            event.as_object_mut().unwrap().remove("output_index");
        }
        let [begin, one, two] = events;
        assert_eq!(answer(&[begin, one, two, completed()]).blocks, [call("a", "x", "{\"q\":1}")]);
    }

    #[test]
    fn items_that_interleave() {
        let call_item =
            |id: &str| json!({"type": "function_call", "call_id": id, "name": id, "arguments": ""});
        let (deltas, result) = decode(&[
            added(0, json!({"type": "reasoning", "summary": []})),
            summary(0, 0, "h"),
            added(1, call_item("a")),
            added(2, call_item("b")),
            arguments(1, "{\"n\""),
            arguments(2, "{\"n\":2}"),
            arguments(1, ":1}"),
            summary(0, 0, "m"),
            done(0, sealed()),
            completed(),
        ]);
        let expected =
            [raw(sealed()), thinking("hm"), call("a", "a", "{\"n\":1}"), call("b", "b", "{\"n\":2}")];
        assert_eq!(result.unwrap().blocks, expected);
        assert_eq!(deltas.iter().map(|delta| delta.0).collect::<Vec<_>>(), [0, 1, 2, 0]);
    }

    #[test]
    fn what_only_the_provider_understands_is_kept() {
        let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}});
        let mut said = message(&["found"]);
        said["phase"] = json!("final_answer");
        said["content"][0]["annotations"] = json!([{"type": "url_citation"}]);
        let mut program = function("a", "x", "{}");
        program["caller"] = json!({"type": "program"});
        program["namespace"] = Value::Null;
        let blocks = answer(&[
            added(0, json!({"type": "web_search_call", "status": "in_progress"})),
            text(1, 0, "found"),
            done(0, search.clone()),
            done(1, said),
            done(2, program),
            added(3, json!({"type": "image_generation_call"})),
            completed(),
        ])
        .blocks;
        let is_told = |block: &Block| matches!(block, Block::ServerCall(_) | Block::Cited(_));
        let (told, blocks): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(is_told);
        // The one that never came to its end was told, too.
        assert_eq!(told.len(), 2);
        let extra = |block: &Block| match block {
            Block::Extra(json) => serde_json::from_str::<Value>(json).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(blocks[..2], [raw(search), t("found")]);
        assert_eq!(
            extra(&blocks[2]),
            json!({"phase": "final_answer", "annotations": [{"type": "url_citation"}]})
        );
        assert_eq!(blocks[3], call("a", "x", "{}"));
        assert_eq!(extra(&blocks[4]), json!({"caller": {"type": "program"}}));
        assert_eq!(blocks.len(), 5);
        assert_eq!(encode(Role::Assistant, true, blocks).as_array().unwrap().len(), 3);
    }

    #[test]
    fn how_it_ends() {
        let a = || [text(0, 0, "a")].to_vec();
        let stop = |more: Vec<Value>| {
            let events: Vec<Value> = a().into_iter().chain(more).collect();
            decode(&events).1.map(|answer| answer.stop).map_err(|(error, _)| error.code)
        };
        let cut = |reason: &str| end("incomplete", json!({"incomplete_details": {"reason": reason}}));
        let refused = |words: Option<&str>| Ok(Some(StopReason::Refusal(words.map(Into::into))));
        assert_eq!(stop(vec![completed()]), Ok(Some(StopReason::EndTurn)));
        assert_eq!(stop(vec![cut("max_output_tokens")]), Ok(Some(StopReason::MaxTokens)));
        assert_eq!(stop(vec![cut("unheard_of")]), Ok(Some(StopReason::MaxTokens)));
        assert_eq!(stop(vec![end("incomplete", json!({}))]), Ok(Some(StopReason::MaxTokens)));
        assert_eq!(stop(vec![cut("content_filter")]), refused(None));
        let delta = |text: &str| event("refusal.delta", 0, json!({"content_index": 0, "delta": text}));
        let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I can't"}]});
        assert_eq!(
            stop(vec![delta("I "), delta("can't"), done(0, refusal.clone()), completed()]),
            refused(Some("I can't"))
        );
        assert_eq!(stop(vec![done(0, refusal), completed()]), refused(Some("I can't")));
        let other_end = json!({"type": "response.done", "response": {"status": "completed"}});
        assert_eq!(stop(vec![other_end]), Ok(Some(StopReason::EndTurn)));
        // What follows the end says nothing.
        assert_eq!(
            stop(vec![completed(), json!({"type": "error"}), json!([1])]),
            Ok(Some(StopReason::EndTurn))
        );
        assert_eq!(stop(vec![]), Err(Code::StreamBroken));
        assert_eq!(stop(vec![done(0, message(&["a"]))]), Err(Code::StreamBroken));
        let call = added(1, function("a", "x", "{\"q"));
        assert_eq!(answer(&[text(0, 0, "a"), call.clone(), cut("max_output_tokens")]).blocks, [t("a")]);
        assert_eq!(decode(&[text(0, 0, "a"), call]).1.unwrap_err().1.blocks, [t("a")]);
        assert_eq!(stop(vec![added(1, json!({"type": "function_call"})), completed()]), Err(Code::Protocol));
        let failed = |error: Value| end("failed", json!({"error": error}));
        for (error, code) in [
            (json!({"type": "error", "error": {"type": "insufficient_quota", "message": "m"}}), Code::Quota),
            (json!({"type": "error", "code": "rate_limit_exceeded", "message": "m"}), Code::RateLimit),
            (json!({"error": {"message": "m", "code": 502}}), Code::Server),
            (json!({"code": "odd", "error": "plain"}), Code::Server),
            (failed(json!({"code": "server_error", "message": "m"})), Code::Server),
            (failed(json!({"code": "context_length_exceeded", "message": "m"})), Code::ContextLength),
            (failed(json!({"code": "invalid_prompt", "message": "m"})), Code::InvalidRequest),
            (failed(Value::Null), Code::Server),
            (end("cancelled", json!({})), Code::Server),
            (json!([1]), Code::Protocol),
        ] {
            assert_eq!(stop(vec![error.clone(), completed()]), Err(code), "{error}");
        }
    }

    #[test]
    fn what_servers_do_that_the_protocol_does_not_say() {
        // The type in the event line only; nothing in the data; [DONE].
        let bytes = "event: response.created\ndata: {\"response\":{\"id\":\"r\"}}\n\ndata:\n\ndata: [DONE]\n\n\
            event: response.completed\ndata: {\"response\":{}}\n\n";
        let mut decoder = Decoder::new(Wire::OpenAiResponses);
        decoder.push(bytes.as_bytes(), &mut |_| ()).unwrap();
        let answer = decoder.finish().unwrap();
        assert_eq!((answer.stop, answer.id.as_deref()), (Some(StopReason::EndTurn), Some("r")));
        for odd in [
            json!({"type": "response.output_text.delta", "delta": 7, "output_index": "x"}),
            json!({"type": "response.output_item.done", "item": "odd"}),
            json!({"type": "response.output_item.added"}),
            json!({"type": "response.function_call_arguments.delta", "delta": "{}", "output_index": 3}),
            json!({"type": "response.output_item.done", "item": {"type": "message", "content": "odd"}}),
        ] {
            assert_eq!(self::answer(&[odd.clone(), completed()]).blocks, [], "{odd}");
        }
    }
}
