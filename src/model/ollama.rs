//! Ollama's own API.
//!
//! Decides how a conversation is written for it and how its lines are read. Promises: the server drops nothing of the
//! conversation unseen. What does not fit is an error. A tool call comes whole or not at all. Leaves to others: what
//! its messages and tools have in common with OpenAI's (`openai`), that every tool call has a result (`session/`), keys
//! and sending (`browser/`).

use super::assembler::{Assembler, Body as Content, Part};
use super::errors::{in_stream, protocol};
use super::json::{Body, Members, Node, text};
use super::list::List;
use super::openai::{Shape, encode, write_messages};
use super::wire::{self, Codec, Framing};
use super::{Delta, DeltaKind, Dialect, Message, Reasoning, Replay, Settings, StopReason, ToolSpec, openai};
use crate::error::{Code, ErrorInfo};
use crate::rooms::{Room, enter};
use std::borrow::Cow;

/// The context window in tokens, where the page sets no `num_ctx`. Left to itself the server takes 4k on a card of
/// less than 24 GB, which the definitions of the tools all but fill. These take 2 GB beside a model of 8 billion
/// parameters, so both still fit a card of 8 GB; twice as many would push the model off it.
const NUM_CTX: &str = "16384";

/// The row of this wire.
pub(super) const CODEC: Codec = Codec {
    key_header: ("authorization", "Bearer "),
    // The server lets browsers send few.
    headers: &[],
    path: "/api/chat",
    documents: false,
    files_in_results: false,
    served: None,
    framing: Framing::Lines,
    list: List { path: "/api/tags", list: "models", id: "model", ..List::DATA },
    encode_message,
    write,
    stream: || {
        enter(Room::Ollama);
        Box::new(Stream::default())
    },
    room: Room::Ollama,
};

/// Writes what follows the model's id.
fn write(body: &mut Body<'_>, dialect: &Dialect, settings: &Settings, tools: &[ToolSpec], messages: &str) {
    enter(Room::Ollama);
    body.raw("stream", "true");
    // Either alone lets the server take away messages, or the middle of the prompt, and say nothing.
    body.raw("truncate", "false");
    body.raw("shift", "false");
    if let Some(effort) = settings.reasoning {
        match effort {
            Reasoning::Off => body.raw("think", "false"),
            effort => body.text("think", effort.effort()),
        }
    }
    let limit = settings.max_output_tokens.map(|tokens| tokens.to_string());
    let mut options = vec![("num_ctx", NUM_CTX)];
    options.extend(limit.as_deref().map(|limit| ("num_predict", limit)));
    options.extend(settings.temperature.as_deref().map(|temperature| ("temperature", temperature)));
    body.object("options", &options);
    openai::tools(body, settings, tools, r#"{"type":"function","function":{"#, "}}");
    if let Some((schema, _)) = settings.schema() {
        body.raw("format", schema);
    }
    write_messages(body, dialect, &settings.system, messages);
}

/// Its messages beside those of OpenAI's chat.
const SHAPE: Shape =
    Shape { text_arguments: false, no_content: "\"\"", result_names_tool: true, files_are_parts: false };

/// Appends a message as one or more, or nothing. Every such server takes its own thinking back.
fn encode_message(dialect: &Dialect, message: &Message, out: &mut String) {
    enter(Room::Ollama);
    encode(&SHAPE, &Dialect { thinking: Replay::Member("thinking"), ..*dialect }, message, out);
}

/// The members of a line that are taken apart with it.
const INSIDE: &[&str] = &["message", "tool_calls", "function"];

/// What must be remembered between lines besides the answer.
#[derive(Default)]
struct Stream {
    /// The line that is the last has come; what follows says nothing.
    done: bool,
}

impl wire::Stream for Stream {
    fn whole(&self, _: &mut Assembler) -> bool {
        self.done
    }

    fn event(
        &mut self,
        _: &str,
        data: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<bool, ErrorInfo> {
        if self.done {
            return Ok(false);
        }
        let line =
            Members::with(data, INSIDE).ok_or_else(|| protocol("a line of the answer is no JSON object"))?;
        if line.get("error").is_some() {
            return Err(in_stream(data));
        }
        if answer.model.is_none() {
            answer.model = Some(line.text("model").into_owned()).filter(|model| !model.is_empty());
        }
        let mut calls: &[Node<'_>] = &[];
        if let Some(message) = line.node("message").members() {
            answer.append_as(DeltaKind::Thinking, &message.text("thinking"), sink);
            answer.append_as(DeltaKind::Text, &message.text("content"), sink);
            calls = message.node("tool_calls").items();
            for call in calls.iter().filter_map(Node::members) {
                take_call(call, answer, sink);
            }
        } else if !line.has("done") {
            return Err(protocol("a line of the answer is none of Ollama's"));
        }
        if line.get("done") == Some("true") {
            self.done = true;
            end(&line, answer)?;
        }
        Ok(calls.is_empty() && !self.done)
    }
}

/// A tool call, which comes whole.
fn take_call(call: &Members<'_>, answer: &mut Assembler, sink: &mut dyn FnMut(Delta<'_>)) {
    let function = call.node("function").members();
    let arguments = match function.and_then(|function| function.get("arguments")) {
        // Servers that only look like Ollama write them as OpenAI does.
        Some(string) if string.starts_with('"') => text(string),
        object => Cow::Borrowed(object.unwrap_or_default()),
    };
    let at = answer.begin(Part::new(
        u32::MAX,
        Content::Call {
            id: call.text("id").into_owned(),
            name: function.map(|function| function.text("name")).unwrap_or_default().into_owned(),
            arguments: arguments.into_owned(),
            whole: true,
        },
    ));
    answer.announce(at, sink);
    answer.end(at);
}

/// The last line: why the answer ended, and what it cost.
fn end(line: &Members<'_>, answer: &mut Assembler) -> Result<(), ErrorInfo> {
    // What is zero is left out: a prompt that was in the cache.
    answer.usage.input_tokens = line.number("prompt_eval_count").unwrap_or(0);
    answer.usage.output_tokens = line.number("eval_count").unwrap_or(0);
    answer.stop = Some(match line.text("done_reason").as_ref() {
        "length" => StopReason::MaxTokens,
        // It answers a request without messages so. We send none: something between us has lost the messages.
        "load" | "unload" if answer.latest(None).is_none() => {
            return Err(ErrorInfo::new(Code::Server, "the model was loaded or unloaded, and said nothing")
                .hint("try again in a moment"));
        }
        // `stop`, also where tools are called; servers of old days say nothing.
        _ => StopReason::EndTurn,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Answer, Block, Decoder, Endpoint, Preset, Role, Usage, Wire};
    use crate::ports::HttpRequest;
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

    fn thinking(text: &str) -> Block {
        Block::Thinking { text: text.into(), signature: None }
    }

    fn call(id: &str, name: &str, arguments: &str) -> Block {
        Block::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    fn send(settings: Settings, tools: &[ToolSpec], messages: &str) -> HttpRequest {
        let preset = Preset::find("ollama", "").unwrap();
        assert!(!preset.needs_key);
        let base_url = preset.base_url.unwrap().into();
        let endpoint = Endpoint { base_url, api_version: None, dialect: preset.dialect };
        Wire::Ollama.request(&endpoint, &Settings { model: "m".into(), ..settings }, tools, messages).unwrap()
    }

    fn body(settings: Settings) -> Value {
        serde_json::from_str(&send(settings, &[], "").body).unwrap()
    }

    #[test]
    fn the_request() {
        let request = send(Settings::default(), &[], r#"{"role":"user","content":"hi"}"#);
        assert_eq!(request.url, "http://localhost:11434/api/chat");
        assert_eq!(request.headers, [("content-type".to_string(), "application/json".to_string())]);
        assert_eq!(
            serde_json::from_str::<Value>(&request.body).unwrap(),
            json!({
                "model": "m", "stream": true, "truncate": false, "shift": false, "options": {"num_ctx": 16384},
                "messages": [{"role": "user", "content": "hi"}],
            })
        );
        let settings = Settings {
            system: "be brief".into(),
            max_output_tokens: Some(9),
            temperature: Some("0.50".into()),
            reasoning: Some(Reasoning::Low),
            ..Settings::default()
        };
        let tool = ToolSpec { name: "a".into(), description: "d".into(), input_schema: "{}".into() };
        let request = send(settings, &[tool], r#"{"role":"user","content":"hi"}"#);
        assert_eq!(
            serde_json::from_str::<Value>(&request.body).unwrap(),
            json!({
                "model": "m", "stream": true, "truncate": false, "shift": false, "think": "low",
                "options": {"num_ctx": 16384, "num_predict": 9, "temperature": 0.5},
                "tools": [{"type": "function", "function": {"name": "a", "description": "d", "parameters": {}}}],
                "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
            })
        );
    }

    #[test]
    fn how_hard_it_thinks() {
        for (reasoning, think) in [
            (None, Value::Null),
            (Some(Reasoning::Off), json!(false)),
            (Some(Reasoning::Low), json!("low")),
            (Some(Reasoning::Medium), json!("medium")),
            (Some(Reasoning::High), json!("high")),
        ] {
            assert_eq!(body(Settings { reasoning, ..Settings::default() })["think"], think);
        }
    }

    #[test]
    fn who_sets_one_option_keeps_the_others() {
        let with = |options: &str| {
            body(Settings {
                temperature: Some("1".into()),
                provider_options: Some(options.into()),
                ..Settings::default()
            })
        };
        let set = with(r#"{"options":{"top_k":1,"temperature":0},"keep_alive":"1h","truncate":true}"#);
        assert_eq!(set["options"], json!({"num_ctx": 16384, "temperature": 0, "top_k": 1}));
        assert_eq!((&set["keep_alive"], &set["truncate"]), (&json!("1h"), &json!(true)));
        assert_eq!(with(r#"{"options":{"num_ctx":65536}}"#)["options"]["num_ctx"], 65536);
        assert_eq!(with("{}")["options"], json!({"num_ctx": 16384, "temperature": 1}));
    }

    #[test]
    fn messages() {
        let result = |id: &str, name: &str| Block::ToolResult {
            id: id.into(),
            name: name.into(),
            text: "r".into(),
            is_error: true,
            files: Vec::new(),
        };
        let said = || {
            vec![thinking("h"), t("a"), thinking("m"), call("1", "x", "{\"q\":1.50}"), call("2", "y z", "{")]
        };
        let own = encode(Role::Assistant, true, said());
        let other_name = own[0]["tool_calls"][1]["function"]["name"].as_str().unwrap().to_string();
        assert_eq!(
            own,
            json!([{"role": "assistant", "content": "a", "thinking": "h\n\nm", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "x", "arguments": {"q": 1.50}}},
                {"id": "2", "type": "function", "function": {"name": other_name, "arguments": {}}},
            ]}])
        );
        assert_eq!(encode(Role::Assistant, false, said())[0].get("thinking"), None);
        // A name that no tool may have is sent as another, and the result names the same.
        assert!(other_name != "y z" && other_name.starts_with("y_z_"), "{other_name}");
        assert_eq!(
            encode(Role::User, false, vec![t("so?"), result("1", "x"), t(" "), result("2", "y z")]),
            json!([
                {"role": "tool", "tool_call_id": "1", "tool_name": "x", "content": "r"},
                {"role": "tool", "tool_call_id": "2", "tool_name": other_name, "content": "r"},
                {"role": "user", "content": "so?"},
            ])
        );
        assert_eq!(
            encode(Role::Assistant, true, vec![call("1", "x", "{}")])[0],
            json!({"role": "assistant", "content": "",
                   "tool_calls": [{"id": "1", "type": "function", "function": {"name": "x", "arguments": {}}}]})
        );
        assert_eq!(
            encode(Role::Assistant, true, vec![thinking("hm"), t(" "), Block::Raw("{}".into())]),
            json!([])
        );
    }

    // ------------------------------------------------------------ what comes

    fn line(message: Value) -> Value {
        json!({"model": "qwen3:4b", "created_at": "2026-08-04T19:58:15.115854Z", "message": message, "done": false})
    }

    fn said(text: &str) -> Value {
        line(json!({"role": "assistant", "content": text}))
    }

    fn called(calls: Value) -> Value {
        line(json!({"role": "assistant", "content": "", "tool_calls": calls}))
    }

    fn done(reason: &str) -> Value {
        json!({"model": "qwen3:4b", "message": {"role": "assistant", "content": ""}, "done": true,
               "done_reason": reason, "total_duration": 1, "prompt_eval_count": 26, "eval_count": 5})
    }

    type Decoded = (Vec<(u32, String)>, Result<Answer, (ErrorInfo, Answer)>);

    fn decode(lines: &[Value]) -> Decoded {
        let mut deltas = Vec::new();
        let mut decoder = Decoder::new(Wire::Ollama);
        let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let _ = decoder.push(stream.as_bytes(), &mut |d| deltas.push((d.part, d.text.to_string())));
        (deltas, decoder.finish())
    }

    fn whole(lines: &[Value]) -> Answer {
        decode(lines).1.unwrap()
    }

    #[test]
    fn thinking_and_text() {
        let thought = |text: &str| line(json!({"role": "assistant", "content": "", "thinking": text}));
        let (deltas, answer) =
            decode(&[thought("Let "), thought("me"), said("Hel"), said("lo"), done("stop")]);
        let answer = answer.unwrap();
        assert_eq!(answer.blocks, [thinking("Let me"), t("Hello")]);
        assert_eq!(answer.stop, Some(StopReason::EndTurn));
        assert_eq!(answer.usage, Usage { input_tokens: 26, output_tokens: 5, ..Usage::default() });
        assert_eq!((answer.model.as_deref(), answer.id), (Some("qwen3:4b"), None));
        let expected = [(0, "Let "), (0, "me"), (1, "Hel"), (1, "lo")];
        assert_eq!(deltas, expected.map(|(part, text)| (part, text.to_string())));
    }

    #[test]
    fn calls_come_whole_in_one_line_or_in_several() {
        let answer = whole(&[
            said("I'll look."),
            called(json!([{"id": "call_a", "function": {"index": 0, "name": "x", "arguments": {"q": 1}}}])),
            called(json!([
                {"function": {"index": 1, "name": "y", "arguments": {}}},
                {"function": {"name": "z", "arguments": "{\"as\":\"text\"}"}},
            ])),
            called(json!([{"function": {"name": "w"}}])),
            done("stop"),
        ]);
        assert_eq!(answer.stop, Some(StopReason::ToolUse));
        assert_eq!(
            answer.blocks,
            [
                t("I'll look."),
                call("call_a", "x", "{\"q\":1}"),
                call("call_2", "y", "{}"),
                call("call_3", "z", "{\"as\":\"text\"}"),
                call("call_4", "w", "{}"),
            ]
        );
        let (error, _) = decode(&[called(json!([{"function": {}}])), done("stop")]).1.unwrap_err();
        assert_eq!(error.code, Code::Protocol);
    }

    #[test]
    fn why_it_ends() {
        for (reason, stop) in [
            ("stop", StopReason::EndTurn),
            ("", StopReason::EndTurn),
            ("length", StopReason::MaxTokens),
            ("unload", StopReason::EndTurn),
            ("something new", StopReason::EndTurn),
        ] {
            assert_eq!(whole(&[said("a"), done(reason)]).stop, Some(stop), "{reason}");
        }
        assert_eq!(whole(&[done("stop"), said("nobody reads this")]).blocks, []);
        for reason in ["load", "unload"] {
            let (error, _) = decode(&[done(reason)]).1.unwrap_err();
            assert_eq!(error.code, Code::Server, "{reason}");
        }
        let old = json!({"message": {"role": "assistant", "content": "all at once"}, "done": true});
        let answer = whole(&[old]);
        assert_eq!((answer.blocks, answer.stop), (vec![t("all at once")], Some(StopReason::EndTurn)));
        assert_eq!((answer.usage, answer.model), (Usage::default(), None));
    }

    #[test]
    fn what_fails() {
        let (error, answer) =
            decode(&[said("Half"), json!({"error": "an error was encountered"})]).1.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (Code::Server, "an error was encountered"));
        assert_eq!((answer.blocks, answer.stop), (vec![t("Half")], None));
        let (error, answer) = decode(&[said("Half")]).1.unwrap_err();
        assert_eq!((error.code, answer.blocks), (Code::StreamBroken, vec![t("Half")]));
        let full =
            json!({"error": "the prompt is longer than the context length currently available to the model"});
        assert_eq!(decode(&[full]).1.unwrap_err().0.code, Code::ContextLength);
        for strange in [json!({}), json!({"models": []}), json!([1]), json!({"message": "text"})] {
            let (error, _) = decode(&[said("a"), strange.clone()]).1.unwrap_err();
            assert_eq!(error.code, Code::Protocol, "{strange}");
        }
        assert_eq!(decode(&[json!({"models": []})]).1.unwrap_err().0.code, Code::Protocol);
        for (body, code) in [
            ("", Code::StreamBroken),
            ("{\"model\":\"m\",\"mess", Code::StreamBroken),
            ("{\"error\":\"no\"}", Code::Server),
            ("<html><title>Welcome</title></html>", Code::Protocol),
            ("<html>\n<title>Welcome</title>\n</html>\n", Code::Protocol),
            ("[]", Code::Protocol),
        ] {
            let mut decoder = Decoder::new(Wire::Ollama);
            let _ = decoder.push(body.as_bytes(), &mut |_| ());
            let (error, _) = decoder.finish().unwrap_err();
            assert_eq!(error.code, code, "{body}: {error:?}");
            assert!(!body.contains("Welcome") || error.message.contains("Welcome"), "{error:?}");
        }
    }

    #[test]
    fn the_end_of_the_body_ends_the_last_line() {
        let mut decoder = Decoder::new(Wire::Ollama);
        let mut shown = String::new();
        let last = json!({"message": {"content": " you"}, "done": true, "done_reason": "stop"});
        decoder.push(format!("{}\n{last}", said("Hey")).as_bytes(), &mut |d| shown.push_str(d.text)).unwrap();
        assert_eq!(decoder.snapshot().blocks, [t("Hey")]);
        decoder.end(&mut |d| shown.push_str(d.text)).unwrap();
        decoder.end(&mut |_| panic!("told twice")).unwrap();
        assert_eq!(shown, "Hey you");
        assert_eq!(decoder.finish().unwrap().blocks, [t("Hey you")]);
    }
}
