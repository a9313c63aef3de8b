//! Google's Interactions, the wire of its Gemini models.
//!
//! Decides how a conversation is written as steps and what each event of the stream means. Promises: nothing is kept on
//! the provider's side. So a step goes back to it as it came, its signature included, and to no other provider. What
//! asks for tools and has no signature is refused, so it opens with the one that Google gives for what others have
//! thought. Leaves to others: that every tool call has a result (`session/`), keys and sending (`browser/`).

use super::assembler::{Assembler, Body as Content, Part};
use super::errors::{in_stream, protocol};
use super::files::{FileKind, is_text, push_member, push_parts};
use super::ids::plain;
use super::json::{Body, Members, is_object};
use super::list::List;
use super::served::Unit;
use super::wire::{self, Codec, Framing};
use super::{
    Block, Delta, DeltaKind, Dialect, Message, Reasoning, Role, Settings, StopReason, ToolSpec, Usage, openai,
};
use crate::error::ErrorInfo;
use crate::json::{Reader, push_text};
use crate::list::Listed;
use crate::ports::marks::Form;
use crate::rooms::{Room, enter};

/// The row of this wire.
pub(super) const CODEC: Codec = Codec {
    key_header: ("x-goog-api-key", ""),
    headers: &[],
    path: "/v1beta/interactions",
    documents: true,
    files_in_results: false,
    served: Some(Unit::Bytes),
    framing: Framing::Events,
    list: List {
        path: "/v1beta/models?pageSize=1000",
        list: "models",
        id: "name",
        before: "models/",
        name: "displayName",
    },
    encode_message,
    write,
    stream: || {
        enter(Room::Gemini);
        Box::new(Stream::default())
    },
    room: Room::Gemini,
};

/// The thought that stands for what Google has not signed: its documents give this signature for it.
const UNSIGNED: &str = r#"{"type":"thought","signature":"skip_thought_signature_validator"}"#;

impl Reasoning {
    /// Google's word for it. Its models cannot leave thinking off: this is the least.
    fn level(self) -> &'static str {
        match self {
            Reasoning::Off => "\"minimal\"",
            Reasoning::Low => "\"low\"",
            Reasoning::Medium => "\"medium\"",
            Reasoning::High => "\"high\"",
        }
    }
}

/// Writes what follows the model's id.
fn write(body: &mut Body<'_>, _: &Dialect, settings: &Settings, tools: &[ToolSpec], messages: &str) {
    enter(Room::Gemini);
    body.raw("stream", "true");
    body.raw("store", "false");
    let mut config: Vec<(&str, String)> = Vec::new();
    if let Some(tokens) = settings.max_output_tokens {
        config.push(("max_output_tokens", tokens.to_string()));
    }
    if let Some(temperature) = &settings.temperature {
        config.push(("temperature", temperature.clone()));
    }
    if let Some(reasoning) = settings.reasoning {
        config.push(("thinking_level", reasoning.level().into()));
        if reasoning != Reasoning::Off {
            config.push(("thinking_summaries", "\"auto\"".into()));
        }
    }
    if let Some(name) = settings.forced() {
        let mut choice = String::from(r#"{"allowed_tools":{"mode":"any","tools":["#);
        push_text(&mut choice, name);
        choice.push_str("]}}");
        config.push(("tool_choice", choice));
    }
    if !config.is_empty() {
        let config = config.iter().map(|(name, value)| (*name, value.as_str())).list();
        body.object("generation_config", &config);
    }
    openai::tools(body, settings, tools, r#"{"type":"function","#, "}");
    if let Some((schema, _)) = settings.schema() {
        let format = [r#"[{"type":"text","mime_type":"application/json","schema":"#, schema, "}]"].concat();
        body.raw("response_format", &format);
    }
    if !settings.system.trim().is_empty() {
        body.text("system_instruction", &settings.system);
    }
    if let Some(out) = body.member("input") {
        out.push('[');
        out.push_str(messages);
        out.push(']');
    }
}

/// Begins a step.
fn begin(out: &mut String, text: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str(text);
}

/// Appends a message as steps, or nothing.
fn encode_message(dialect: &Dialect, message: &Message, out: &mut String) {
    enter(Room::Gemini);
    for block in &message.blocks {
        if let Block::ToolResult { id, name, text, is_error, .. } = block {
            begin(out, r#"{"type":"function_result","call_id":"#);
            push_text(out, &dialect.ids.map(id));
            push_member(out, "name", &plain(name, 64));
            push_member(out, "result", text);
            if *is_error {
                out.push_str(r#","is_error":true"#);
            }
            out.push('}');
        }
    }
    match message.role {
        Role::User => encode_user(message, out),
        Role::Assistant => encode_answer(dialect, message, out),
    }
}

fn encode_user(message: &Message, out: &mut String) {
    if !message.blocks.iter().any(|block| matches!(block, Block::File(_)) || is_text(block)) {
        return;
    }
    begin(out, r#"{"type":"user_input","content":"#);
    push_parts(out, &message.blocks, r#"{"type":"text","text":"#, |file, out| {
        out.push_str(match file.kind() {
            FileKind::Image => r#"{"type":"image""#,
            _ => r#"{"type":"document""#,
        });
        push_member(out, "mime_type", &file.media_type);
        out.push_str(r#","data":"#);
        file.push_bytes(out, Form::Base64);
    });
    out.push('}');
}

fn encode_answer(dialect: &Dialect, message: &Message, out: &mut String) {
    let begun = out.len();
    // Thinking that led to nothing goes nowhere.
    let mut said = false;
    if message.blocks.iter().any(|block| matches!(block, Block::ToolCall { .. })) && !is_signed(message) {
        begin(out, UNSIGNED);
    }
    let mut blocks = message.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            Block::Thinking { text, signature: Some(signature) } if message.own => {
                begin(out, r#"{"type":"thought","signature":"#);
                push_text(out, signature);
                if !text.is_empty() {
                    out.push_str(r#","summary":[{"type":"text","text":"#);
                    push_text(out, text);
                    out.push_str("}]");
                }
                out.push('}');
                continue;
            }
            Block::Text(text) if !text.trim().is_empty() => {
                begin(out, r#"{"type":"model_output","content":[{"type":"text","text":"#);
                push_text(out, text);
                add_extra(message, blocks.peek(), out);
                out.push_str("}]}");
            }
            Block::ToolCall { id, name, arguments } => {
                begin(out, r#"{"type":"function_call","id":"#);
                push_text(out, &dialect.ids.map(id));
                push_member(out, "name", &plain(name, 64));
                out.push_str(r#","arguments":"#);
                out.push_str(if is_object(arguments) { arguments } else { "{}" });
                add_extra(message, blocks.peek(), out);
                out.push('}');
            }
            Block::Raw(json) if message.own && is_answered(json, &message.blocks) => begin(out, json),
            _ => continue,
        }
        said = true;
    }
    if !said {
        out.truncate(begun);
    }
}

/// Whether something in it goes back with a signature.
fn is_signed(message: &Message) -> bool {
    let signed = |block: &Block| match block {
        Block::Thinking { signature, .. } => signature.is_some(),
        Block::Extra(extra) => Members::of(extra).is_some_and(|extra| extra.has(SIGNATURE)),
        _ => false,
    };
    message.own && message.blocks.iter().any(signed)
}

/// Adds the members that the provider has added to a block, if they come next.
fn add_extra(message: &Message, next: Option<&&Block>, out: &mut String) {
    let Some(Block::Extra(extra)) = next.filter(|_| message.own) else { return };
    for (name, value) in Members::of(extra).unwrap_or_default().all() {
        out.push(',');
        push_text(out, name);
        out.push(':');
        out.push_str(value);
    }
}

/// Whether a step of the provider's own is no call, or one that something answers: it is refused otherwise.
fn is_answered(json: &str, all: &[Block]) -> bool {
    let step = Members::of(json).unwrap_or_default();
    let id = step.text("id");
    let answers = |block: &Block| match block {
        Block::Raw(json) => Members::of(json).is_some_and(|other| other.text("call_id") == id),
        _ => false,
    };
    !step.text("type").ends_with("_call") || all.iter().any(answers)
}

/// The member that proves where a step comes from.
const SIGNATURE: &str = "signature";

/// The member of a text that says where it has that from.
const ANNOTATIONS: &str = "annotations";

/// What must be remembered between events besides the answer.
#[derive(Default)]
struct Stream {
    /// The provider has said that this is all; what follows says nothing.
    ended: bool,
    /// The step of the latest event.
    latest: u32,
    /// The places of the steps of the provider's own tools.
    others: Vec<usize>,
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
        let index = event.number("index").and_then(|index| u32::try_from(index).ok());
        self.latest = index.unwrap_or(self.latest);
        let kind = event.text("event_type");
        match if kind.is_empty() { name } else { &kind } {
            "step.start" => self.step_begins(event.get("step").unwrap_or_default(), answer, sink),
            "step.delta" => {
                return Ok(take_piece(self.latest, event.get("delta").unwrap_or_default(), answer, sink));
            }
            "step.stop" => {
                if let Some(at) = answer.latest(Some(self.latest)) {
                    answer.end(at);
                }
            }
            "interaction.created" => identify(&event.object("interaction"), answer),
            "interaction.completed" => self.ends(event.get("interaction").unwrap_or_default(), answer)?,
            "error" | "" if event.get("error").is_some() => return Err(in_stream(data)),
            _ => {}
        }
        Ok(false)
    }

    /// What a step of its own has become: each of its pieces brings members that are whole.
    fn complete(&self, answer: &mut Assembler) {
        for at in &self.others {
            if let Some(Part { body: Content::Raw { json, changes, .. }, .. }) = answer.part(*at) {
                let changes = std::mem::take(changes);
                *json = replaced(json, &changes);
            }
        }
    }
}

impl Stream {
    fn step_begins(&mut self, json: &str, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
        let index = self.latest;
        let step = Members::of(json).unwrap_or_default();
        match step.text("type").as_ref() {
            "" | "user_input" => {}
            "model_output" => {
                let content = step.get("content").unwrap_or_default();
                for_each(content, &mut |part| {
                    take_piece(index, part, answer, sink);
                });
            }
            "thought" => {
                let summary = step.get("summary").unwrap_or_default();
                for_each(summary, &mut |part| {
                    let text = Members::of(part).unwrap_or_default().text("text");
                    append(DeltaKind::Thinking, index, &text, answer, sink);
                });
                sign(index, &step.text(SIGNATURE), answer);
            }
            "function_call" => {
                let given = step.get("arguments").unwrap_or_default();
                let body = Content::Call {
                    id: step.text("id").into_owned(),
                    name: step.text("name").into_owned(),
                    arguments: if given.starts_with('{') { given.into() } else { String::new() },
                    whole: true,
                };
                let mut part = Part::new(index, body);
                let known = ["type", "id", "name", "arguments"];
                for (name, value) in step.all().filter(|(name, _)| !known.contains(name)) {
                    if !matches!(value, "null" | "\"\"") {
                        part.add_extra(name, value);
                    }
                }
                let at = answer.begin(part);
                answer.announce(at, sink);
            }
            kind => {
                answer.looks_up(kind);
                let at = answer.begin(raw(index, json.into()));
                self.others.push(at);
                if let Some(name) = kind.strip_suffix("_call") {
                    answer.serves(at, name, sink);
                }
            }
        }
    }

    fn ends(&mut self, json: &str, answer: &mut Assembler) -> Result<(), ErrorInfo> {
        let interaction = Members::of(json).unwrap_or_default();
        identify(&interaction, answer);
        let usage = interaction.object("usage");
        if !usage.is_empty() {
            let number = |of: &str| usage.number(&["total_", of, "_tokens"].concat()).unwrap_or(0);
            let (cached, thought) = (number("cached"), number("thought"));
            answer.usage = Usage {
                // What its own tools have put before the model is counted apart.
                input_tokens: number("input").saturating_add(number("tool_use")).saturating_sub(cached),
                output_tokens: number("output").saturating_add(thought),
                cache_read_tokens: cached,
                cache_write_tokens: 0,
                reasoning_tokens: thought,
                searches: 0,
            };
        }
        answer.stop = Some(match interaction.text("status").as_ref() {
            "failed" | "cancelled" => return Err(in_stream(json)),
            "incomplete" => StopReason::MaxTokens,
            "requires_action" => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        });
        self.ended = true;
        Ok(())
    }
}

/// Takes a piece of a step, or a part of what it begins with. Whether it has done nothing but append.
fn take_piece(index: u32, json: &str, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) -> bool {
    let piece = Members::of(json).unwrap_or_default();
    match piece.text("type").as_ref() {
        "text" => {
            append(DeltaKind::Text, index, &piece.text("text"), answer, sink);
            return !annotate(index, &piece, answer);
        }
        "text_annotation_delta" | "text_annotation" => {
            annotate(index, &piece, answer);
        }
        "thought_summary" => {
            let text = piece.object("content").text("text");
            append(DeltaKind::Thinking, index, &text, answer, sink);
            return true;
        }
        "thought_signature" => match find_raw(index, answer) {
            Some(at) => change(at, json, answer),
            None => sign(index, &piece.text(SIGNATURE), answer),
        },
        "arguments_delta" => {
            let is_call = |part: &Part| matches!(part.body, Content::Call { .. });
            let Some(at) = answer.find(index, &is_call) else { return false };
            answer.add_input(at, &piece.text("arguments"));
            let Some(part) = answer.part(at) else { return false };
            if let Some(signature) = piece.get(SIGNATURE).filter(|text| *text != "\"\"")
                && !crate::find::has(&part.extra, SIGNATURE)
            {
                part.add_extra(SIGNATURE, signature);
            }
            return true;
        }
        // Each is whole.
        "image" | "video" => {
            let whole = [r#"{"type":"model_output","content":["#, json, "]}"].concat();
            answer.begin(raw(index, whole));
        }
        kind => {
            let Some(at) = find_raw(index, answer) else { return false };
            if let Some(Part { body: Content::Raw { json: begun, .. }, .. }) = answer.part(at)
                && Members::of(begun).is_some_and(|step| step.text("type") == kind)
            {
                change(at, json, answer);
            }
        }
    }
    false
}

/// Calls this with each item of a list.
fn for_each(list: &str, on: &mut dyn FnMut(&str)) -> Option<()> {
    let (mut reader, mut first) = (Reader::new(list), true);
    while reader.item(b'[', b']', first)? {
        on(reader.value()?);
        first = false;
    }
    Some(())
}

/// What the interaction calls itself. It has no id where nothing is stored.
fn identify(interaction: &Members<'_>, answer: &mut Assembler) {
    for (known, name) in [(&mut answer.id, "id"), (&mut answer.model, "model")] {
        if known.is_none() {
            *known = Some(interaction.text(name).into_owned()).filter(|text| !text.is_empty());
        }
    }
}

/// A step that is kept as it came.
fn raw(index: u32, json: String) -> Part {
    Part::new(index, Content::Raw { json, input: String::new(), changes: Vec::new() })
}

fn find_raw(index: u32, answer: &Assembler) -> Option<usize> {
    answer.find(index, &|part| matches!(part.body, Content::Raw { .. }))
}

/// Notes a piece of a step that is kept as it came.
fn change(at: usize, piece: &str, answer: &mut Assembler) {
    if let Some(Part { body: Content::Raw { changes, .. }, .. }) = answer.part(at) {
        changes.push(piece.into());
    }
}

/// An object with the members of these in the place of its own.
fn replaced(json: &str, changes: &[String]) -> String {
    let mut all: Vec<(String, &str)> = Vec::new();
    for (at, object) in std::iter::once(json).chain(changes.iter().map(String::as_str)).enumerate() {
        let object = Members::of(object).unwrap_or_default();
        for (name, value) in object.all().filter(|(name, _)| at == 0 || *name != "type") {
            match all.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => *old = value,
                None => all.push((name.into(), value)),
            }
        }
    }
    let mut out = String::from("{");
    for (name, value) in all {
        if out.len() > 1 {
            out.push(',');
        }
        push_text(&mut out, &name);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}

/// The place of the text or the thinking of this step; a new one where it has none.
fn place(kind: DeltaKind, index: u32, answer: &mut Assembler) -> usize {
    let known = answer.find(index, &|part| match part.body {
        Content::Text(_) => kind == DeltaKind::Text,
        Content::Thinking { .. } => kind == DeltaKind::Thinking,
        _ => false,
    });
    known.unwrap_or_else(|| {
        let body = match kind {
            DeltaKind::Thinking => Content::Thinking { text: String::new(), signature: String::new() },
            _ => Content::Text(String::new()),
        };
        answer.begin(Part::new(index, body))
    })
}

fn append(kind: DeltaKind, index: u32, piece: &str, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
    if !piece.is_empty() {
        let at = place(kind, index, answer);
        answer.append(at, piece, sink);
    }
}

/// Signs the thinking of this step.
fn sign(index: u32, signature: &str, answer: &mut Assembler) {
    if signature.is_empty() {
        return;
    }
    let at = place(DeltaKind::Thinking, index, answer);
    if let Some(Part { body: Content::Thinking { signature: kept, .. }, .. }) = answer.part(at) {
        kept.clear();
        kept.push_str(signature);
    }
}

/// Adds what a piece says of where the text is from, if it does.
fn annotate(index: u32, piece: &Members<'_>, answer: &mut Assembler) -> bool {
    let list = piece.get(ANNOTATIONS).unwrap_or_default().trim();
    let items = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    let Some(items) = items.filter(|items| !items.trim().is_empty()) else { return false };
    answer.looks_up(ANNOTATIONS);
    let at = place(DeltaKind::Text, index, answer);
    if let Some(part) = answer.part(at) {
        // A text has no other members that are kept: the list goes on.
        match part.extra.pop() {
            Some(_) => part.extra.extend([",", items, "]"]),
            None => part.add_extra(ANNOTATIONS, list),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::model::{Answer, Decoder, Endpoint, Preset, Wire};
    use serde_json::{Value, json};

    // ------------------------------------------------------------ what is sent

    fn encode(role: Role, own: bool, blocks: Vec<Block>) -> Value {
        let mut out = String::new();
        let dialect = Preset::find("gemini", "").unwrap().dialect;
        encode_message(&dialect, &Message { role, blocks, own }, &mut out);
        serde_json::from_str(&format!("[{out}]")).unwrap()
    }

    fn t(text: &str) -> Block {
        Block::Text(text.into())
    }

    fn call(id: &str, name: &str, arguments: &str) -> Block {
        Block::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    fn thinking(text: &str, signature: &str) -> Block {
        let signature = Some(signature.to_owned()).filter(|proof| !proof.is_empty());
        Block::Thinking { text: text.into(), signature }
    }

    fn extra(members: Value) -> Block {
        Block::Extra(members.to_string())
    }

    fn said(text: &str) -> Value {
        json!({"type": "model_output", "content": [{"type": "text", "text": text}]})
    }

    fn asked(id: &str, name: &str, arguments: Value) -> Value {
        json!({"type": "function_call", "id": id, "name": name, "arguments": arguments})
    }

    fn unsigned() -> Value {
        serde_json::from_str(UNSIGNED).unwrap()
    }

    #[test]
    fn the_request() {
        let tool = ToolSpec { name: "a".into(), description: "d".into(), input_schema: "{}".into() };
        let plain = Settings { model: "m".into(), ..Settings::default() };
        let send = |settings: &Settings, tools: &[ToolSpec], input: &str| {
            let preset = Preset::find("gemini", "").unwrap();
            let base_url = preset.base_url.unwrap().into();
            let endpoint = Endpoint { base_url, api_version: None, dialect: preset.dialect };
            let request = Wire::Gemini.request(&endpoint, settings, tools, input).unwrap();
            assert_eq!(request.url, "https://generativelanguage.googleapis.com/v1beta/interactions");
            assert_eq!(request.headers, [("content-type".into(), "application/json".into())]);
            serde_json::from_str::<Value>(&request.body).unwrap()
        };
        assert_eq!(send(&plain, &[], ""), json!({"model": "m", "stream": true, "store": false, "input": []}));
        let full = Settings {
            system: "be brief".into(),
            max_output_tokens: Some(9),
            temperature: Some("0".into()),
            reasoning: Some(Reasoning::Low),
            provider_options: Some(
                r#"{"service_tier":"flex","generation_config":{"seed":7,"temperature":1}}"#.into(),
            ),
            ..plain.clone()
        };
        assert_eq!(
            send(
                &full,
                std::slice::from_ref(&tool),
                r#"{"type":"user_input","content":[{"type":"text","text":"hi"}]}"#
            ),
            json!({
                "model": "m", "stream": true, "store": false, "system_instruction": "be brief", "service_tier": "flex",
                "generation_config": {"max_output_tokens": 9, "temperature": 1, "thinking_level": "low",
                    "thinking_summaries": "auto", "seed": 7},
                "tools": [{"type": "function", "name": "a", "description": "d", "parameters": {}}],
                "input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
            })
        );
        let reasoning = |reasoning| {
            send(&Settings { reasoning: Some(reasoning), ..plain.clone() }, &[], "")["generation_config"]
                .clone()
        };
        assert_eq!(reasoning(Reasoning::Off), json!({"thinking_level": "minimal"}));
        for (level, word) in [(Reasoning::Medium, "medium"), (Reasoning::High, "high")] {
            assert_eq!(reasoning(level), json!({"thinking_level": word, "thinking_summaries": "auto"}));
        }
        let broken = Settings { provider_options: Some(r#"{"input":[]}"#.into()), ..plain };
        assert!(Wire::Gemini.request(&Endpoint::default(), &broken, &[], "").is_err());
    }

    #[test]
    fn what_a_person_and_tools_said() {
        let result = |id: &str, is_error| Block::ToolResult {
            id: id.into(),
            name: "odd name".into(),
            text: "r".into(),
            is_error,
            files: Vec::new(),
        };
        let name = plain("odd name", 64);
        assert_eq!(
            encode(Role::User, false, vec![t("and"), result("1", false), t(" "), result("2", true)]),
            json!([
                {"type": "function_result", "call_id": "1", "name": name, "result": "r"},
                {"type": "function_result", "call_id": "2", "name": name, "result": "r", "is_error": true},
                {"type": "user_input", "content": [{"type": "text", "text": "and"}]},
            ])
        );
        assert_eq!(encode(Role::User, false, vec![t("\n")]), json!([]));
        let sent = encode(Role::User, false, vec![result("a.b", false)]);
        assert_eq!(sent[0]["call_id"], encode(Role::Assistant, false, vec![call("a.b", "x", "{}")])[1]["id"]);
        assert_ne!(sent[0]["call_id"], "a.b");
    }

    #[test]
    fn what_the_model_said_goes_back_as_it_came() {
        let blocks = vec![
            thinking("hm", "c2ln"),
            thinking("aloud", ""),
            t("a"),
            extra(json!({"annotations": [{"url": "u"}]})),
            thinking("", "ZW1wdHk="),
            call("1", "x", "{\"q\":1}"),
            extra(json!({"signature": "own"})),
            call("2", "odd name", "{"),
        ];
        let odd = plain("odd name", 64);
        let thought =
            json!({"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hm"}]});
        let mut text = said("a");
        text["content"][0]["annotations"] = json!([{"url": "u"}]);
        let mut signed = asked("1", "x", json!({"q": 1}));
        signed["signature"] = json!("own");
        assert_eq!(
            encode(Role::Assistant, true, blocks.clone()),
            json!([thought, text, {"type": "thought", "signature": "ZW1wdHk="}, signed, asked("2", &odd, json!({}))])
        );
        // Nobody else has its signatures, so the turn opens with what Google gives for that.
        assert_eq!(
            encode(Role::Assistant, false, blocks),
            json!([unsigned(), said("a"), asked("1", "x", json!({"q": 1})), asked("2", &odd, json!({}))])
        );
        let one = asked("1", "x", json!({}));
        for (own, blocks, sent) in [
            (true, vec![call("1", "x", "{}")], json!([unsigned(), one])),
            (true, vec![thinking("hm", ""), call("1", "x", "{}")], json!([unsigned(), one])),
            (false, vec![thinking("hm", "c2ln"), t("a")], json!([said("a")])),
            (
                true,
                vec![t("a"), thinking("", "c2ln")],
                json!([said("a"), {"type": "thought", "signature": "c2ln"}]),
            ),
            // Thinking that led to nothing.
            (true, vec![thinking("hm", "c2ln"), t(" ")], json!([])),
        ] {
            assert_eq!(encode(Role::Assistant, own, blocks), sent);
        }
        let mut out = String::from("{}");
        let message = Message { role: Role::Assistant, blocks: vec![call("1", "x", "{}")], own: false };
        encode_message(&Dialect::CHAT, &message, &mut out);
        assert_eq!(serde_json::from_str::<Vec<Value>>(&format!("[{out}]")).unwrap().len(), 3);
    }

    #[test]
    fn steps_of_the_providers_own() {
        let search = json!({"type": "google_search_call", "id": "g1", "arguments": {"queries": ["q"]}});
        let found = json!({"type": "google_search_result", "call_id": "g1", "result": []});
        let open = json!({"type": "url_context_call", "id": "u1"});
        let image = json!({"type": "model_output", "content": [{"type": "image", "data": "AA=="}]});
        let all = [&search, &found, &open, &image].map(|step| Block::Raw(step.to_string())).to_vec();
        assert_eq!(encode(Role::Assistant, true, all.clone()), json!([search, found, image]));
        assert_eq!(encode(Role::Assistant, false, all), json!([]));
    }

    // ------------------------------------------------------------ what comes

    fn starts(index: u32, step: Value) -> Value {
        json!({"event_type": "step.start", "index": index, "step": step})
    }

    fn delta(index: u32, delta: Value) -> Value {
        json!({"event_type": "step.delta", "index": index, "delta": delta})
    }

    fn text(index: u32, text: &str) -> Value {
        delta(index, json!({"type": "text", "text": text}))
    }

    fn end(status: &str) -> Value {
        json!({"event_type": "interaction.completed", "interaction": {"status": status}})
    }

    type Decoded = (Vec<(u32, DeltaKind, String)>, Result<Answer, (ErrorInfo, Answer)>);

    fn decode(events: &[Value]) -> Decoded {
        let mut deltas = Vec::new();
        let mut decoder = Decoder::new(Wire::Gemini);
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let _ = decoder.push(stream.as_bytes(), &mut |d| deltas.push((d.part, d.kind, d.text.to_string())));
        (deltas, decoder.finish())
    }

    fn answer(events: &[Value]) -> Answer {
        decode(events).1.unwrap()
    }

    #[test]
    fn thinking_text_and_a_call() {
        let usage = json!({"total_tokens": 90, "total_input_tokens": 20, "total_cached_tokens": 4,
            "total_output_tokens": 30, "total_tool_use_tokens": 3, "total_thought_tokens": 7});
        let (deltas, result) = decode(&[
            json!({"event_type": "interaction.created", "interaction": {"id": "", "model": "gemini"}}),
            json!({"event_type": "unheard.of"}),
            starts(0, json!({"type": "thought"})),
            delta(0, json!({"type": "thought_summary", "content": {"type": "text", "text": "h"}})),
            delta(0, json!({"type": "thought_summary", "content": {"type": "text", "text": "m"}})),
            delta(0, json!({"type": "thought_signature", "signature": "c2ln"})),
            starts(1, json!({"type": "model_output"})),
            text(1, "I "),
            text(1, ""),
            text(1, "look\u{1f4e6}\n"),
            starts(
                2,
                json!({"type": "function_call", "id": "call_1", "signature": "", "name": "x", "arguments": {}, "group": 2}),
            ),
            delta(2, json!({"type": "arguments_delta", "arguments": "{\"q\""})),
            delta(2, json!({"type": "arguments_delta", "arguments": ":1}"})),
            json!({"event_type": "interaction.completed", "interaction": {"id": "v1_1", "status": "requires_action", "usage": usage}}),
        ]);
        let answer = result.unwrap();
        let call = call("call_1", "x", "{\"q\":1}");
        assert_eq!(
            answer.blocks,
            [thinking("hm", "c2ln"), t("I look\u{1f4e6}\n"), call, extra(json!({"group": 2}))]
        );
        assert_eq!(answer.stop, Some(StopReason::ToolUse));
        assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("v1_1"), Some("gemini")));
        let expected = Usage {
            input_tokens: 19,
            output_tokens: 37,
            cache_read_tokens: 4,
            cache_write_tokens: 0,
            reasoning_tokens: 7,
            searches: 0,
        };
        assert_eq!(answer.usage, expected);
        let expected = [
            (0, DeltaKind::Thinking, "h"),
            (0, DeltaKind::Thinking, "m"),
            (1, DeltaKind::Text, "I "),
            (1, DeltaKind::Text, "look\u{1f4e6}\n"),
            (2, DeltaKind::ToolCall, "x"),
        ];
        assert_eq!(deltas, expected.map(|(part, kind, text)| (part, kind, text.to_string())));
    }

    #[test]
    fn what_only_the_provider_understands_is_kept() {
        let image = json!({"type": "image", "mime_type": "image/png", "data": "AA=="});
        let blocks = answer(&[
            starts(0, json!({"type": "google_search_call", "id": "g1", "arguments": {}})),
            delta(0, json!({"type": "google_search_call", "id": "g1", "arguments": {"queries": ["q"]}})),
            delta(0, json!({"type": "another", "id": "g2"})),
            delta(0, json!({"type": "thought_signature", "signature": "Z3M="})),
            starts(1, json!({"type": "google_search_result", "call_id": "g1", "result": []})),
            text(2, "found"),
            delta(2, json!({"type": "text_annotation_delta", "annotations": []})),
            delta(2, json!({"type": "text_annotation_delta", "annotations": [{"url": "u"}]})),
            delta(2, json!({"type": "text", "text": " it", "annotations": [{"url": "v"}]})),
            delta(2, image.clone()),
            end("completed"),
        ])
        .blocks;
        let is_told = |block: &Block| matches!(block, Block::ServerCall(_) | Block::Cited(_));
        let (told, blocks): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(is_told);
        assert_eq!(told.len(), 1, "its addresses are none");
        let raw = |step: Value| Block::Raw(step.to_string());
        let read = |block: &Block| match block {
            Block::Raw(json) | Block::Extra(json) => serde_json::from_str::<Value>(json).unwrap(),
            other => panic!("{other:?}"),
        };
        let search = json!({"type": "google_search_call", "id": "g1", "arguments": {"queries": ["q"]}, "signature": "Z3M="});
        assert_eq!(read(&blocks[0]), search);
        assert_eq!(blocks[1], raw(json!({"type": "google_search_result", "call_id": "g1", "result": []})));
        assert_eq!(blocks[2], t("found it"));
        assert_eq!(read(&blocks[3]), json!({"annotations": [{"url": "u"}, {"url": "v"}]}));
        assert_eq!(read(&blocks[4]), json!({"type": "model_output", "content": [image]}));
        assert_eq!((blocks.len(), blocks[4].from_outside()), (5, None));
    }

    #[test]
    fn how_it_ends() {
        let stop = |more: Vec<Value>| {
            let events: Vec<Value> = [text(0, "a")].into_iter().chain(more).collect();
            decode(&events).1.map(|answer| answer.stop).map_err(|(error, _)| error.code)
        };
        assert_eq!(stop(vec![end("completed")]), Ok(Some(StopReason::EndTurn)));
        assert_eq!(stop(vec![end("unheard_of")]), Ok(Some(StopReason::EndTurn)));
        assert_eq!(stop(vec![end("incomplete")]), Ok(Some(StopReason::MaxTokens)));
        // What follows the end says nothing.
        assert_eq!(stop(vec![end("completed"), json!([1])]), Ok(Some(StopReason::EndTurn)));
        assert_eq!(stop(vec![]), Err(Code::StreamBroken));
        assert_eq!(
            stop(vec![starts(1, json!({"type": "function_call"})), end("completed")]),
            Err(Code::Protocol)
        );
        let open = [text(0, "a"), starts(1, json!({"type": "function_call", "id": "c", "name": "x"}))];
        assert_eq!(decode(&open).1.unwrap_err().1.blocks, [t("a")]);
        let failed = |error: Value| json!({"event_type": "interaction.completed", "interaction": {"status": "failed", "error": error}});
        for (error, code) in [
            (
                json!({"event_type": "error", "error": {"code": "RESOURCE_EXHAUSTED", "message": "m"}}),
                Code::RateLimit,
            ),
            (json!({"event_type": "error", "error": {"code": 503, "message": "m"}}), Code::Overloaded),
            (json!({"error": {"code": "invalid_request", "message": "m"}}), Code::InvalidRequest),
            (failed(json!({"code": "UNAVAILABLE", "message": "m"})), Code::Overloaded),
            (failed(Value::Null), Code::Server),
            (end("cancelled"), Code::Server),
            (json!([1]), Code::Protocol),
        ] {
            assert_eq!(stop(vec![error.clone(), end("completed")]), Err(code), "{error}");
        }
        // A heartbeat of gateways.
        assert_eq!(
            stop(vec![json!({"event_type": "error"}), end("completed")]),
            Ok(Some(StopReason::EndTurn))
        );
    }

    #[test]
    fn what_is_odd_is_nothing() {
        // The type in the event line only; nothing in the data; [DONE].
        let bytes = "event: interaction.created\ndata: {\"interaction\":{\"id\":\"r\"}}\n\ndata:\n\ndata: [DONE]\n\n\
            event: interaction.completed\ndata: {\"interaction\":{}}\n\n";
        let mut decoder = Decoder::new(Wire::Gemini);
        decoder.push(bytes.as_bytes(), &mut |_| ()).unwrap();
        let whole = decoder.finish().unwrap();
        assert_eq!((whole.stop, whole.id.as_deref()), (Some(StopReason::EndTurn), Some("r")));
        for odd in [
            json!({"event_type": "step.delta", "delta": {"type": "text", "text": 7}, "index": "x"}),
            json!({"event_type": "step.start", "step": "odd"}),
            json!({"event_type": "step.start"}),
            starts(0, json!({"type": "user_input", "content": [{"type": "text", "text": "mine"}]})),
            starts(0, json!({"type": "model_output", "content": {"type": "text"}})),
            delta(3, json!({"type": "arguments_delta", "arguments": "{}"})),
            delta(3, json!({"type": "sparkle"})),
            delta(3, json!({"type": "thought_signature"})),
        ] {
            assert_eq!(answer(&[odd.clone(), end("completed")]).blocks, [], "{odd}");
        }
        // What the beginning has is the first piece of it.
        let begun = json!({"type": "model_output", "content": [{"type": "text", "text": "a"}]});
        let given = json!({"type": "function_call", "id": "c", "name": "x", "arguments": {"q": 1}});
        let blocks = answer(&[starts(0, begun), text(0, "b"), starts(1, given), end("completed")]).blocks;
        assert_eq!(blocks, [t("ab"), call("c", "x", "{\"q\":1}")]);
    }
}
