//! Recorded and hand-written model streams, against an independent reading of them.
//!
//! What a stream says is computed here from the JSON of its `data:` lines, in the simplest way, and compared
//! with what the decoder makes of the bytes: whole, cut at every event boundary, and split at any byte. The
//! hand-written ones lie in `tests/fixtures`; the recorded ones are found by `LODGER_FIXTURES` or beside the
//! repository, and are skipped, with a count, where they are absent.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

use lodger::error::{Code, ErrorInfo};
use lodger::model::{Answer, Block, Decoder, DeltaKind, Dialect, Message, Role, StopReason, Usage, Wire};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many recordings there are of each sort; where the folder exists they must all be met.
const RECORDED: [(&str, usize); 4] =
    [("anthropic streams", 68), ("anthropic bodies", 38), ("chat streams", 124), ("chat bodies", 19)];

fn own(folder: &str) -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder), "sse")
}

/// The files of these folders among the recordings; none, and a word about it, where there are no recordings.
fn recorded(sort: usize, folders: &[&str], extension: &str) -> Vec<PathBuf> {
    let root = std::env::var_os("LODGER_FIXTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures/streams"),
        PathBuf::from,
    );
    if !root.is_dir() {
        println!("skipped: {} ({})", RECORDED[sort].1, RECORDED[sort].0);
        return Vec::new();
    }
    folders.iter().flat_map(|folder| files(&root.join(folder), extension)).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .filter(|path| !path.to_string_lossy().ends_with(".req.json"))
        .collect();
    files.sort();
    files
}

// ---------------------------------------------------------------- decoding

/// The deltas of each part, joined: its kind and its text.
type Shown = BTreeMap<u32, (DeltaKind, String)>;
type Outcome = (Shown, Result<Answer, (ErrorInfo, Answer)>);

fn decode<'a>(wire: Wire, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut decoder = Decoder::new(wire);
    let mut shown = Shown::new();
    for piece in pieces {
        let pushed = decoder.push(piece, &mut |delta| {
            assert!(!delta.text.is_empty());
            let part = shown.entry(delta.part).or_insert((delta.kind, String::new()));
            assert_eq!(part.0, delta.kind);
            part.1.push_str(delta.text);
        });
        if let Err(error) = pushed {
            let (last, answer) = decoder.finish().unwrap_err();
            assert_eq!(last, error);
            return (shown, Err((error, answer)));
        }
    }
    let snapshot = decoder.snapshot();
    let result = decoder.finish();
    if let Err((_, answer)) = &result {
        assert_eq!(answer, &snapshot);
    }
    (shown, result)
}

fn answer_of(outcome: &Outcome) -> &Answer {
    match &outcome.1 {
        Ok(answer) | Err((_, answer)) => answer,
    }
}

/// The shown blocks of an answer are its deltas. A last call that was left out had a delta, too.
fn check_shown(name: &str, outcome: &Outcome) {
    let expected: Vec<(DeltaKind, String)> = answer_of(outcome)
        .blocks
        .iter()
        .filter(|block| block.is_shown())
        .map(|block| match block {
            Block::Text(text) => (DeltaKind::Text, text.clone()),
            Block::Thinking { text, .. } => (DeltaKind::Thinking, text.clone()),
            Block::ToolCall { name, .. } => (DeltaKind::ToolCall, name.clone()),
            other => panic!("{name}: {other:?} is not shown"),
        })
        .collect();
    let mut shown: Vec<(u32, (DeltaKind, String))> = outcome.0.clone().into_iter().collect();
    if shown.len() == expected.len() + 1 {
        assert_eq!(shown.pop().unwrap().1.0, DeltaKind::ToolCall, "{name}");
    }
    let shown: Vec<_> =
        shown.into_iter().enumerate().map(|(at, (part, what))| (part == at as u32, what)).collect();
    assert_eq!(shown, expected.into_iter().map(|what| (true, what)).collect::<Vec<_>>(), "{name}");
}

/// The same at any split: at random for all, byte by byte for the small ones.
fn check_splits(name: &str, wire: Wire, bytes: &[u8], one_by_one: bool) {
    let whole = decode(wire, [bytes]);
    let mut random = fastrand::Rng::with_seed(bytes.len() as u64);
    for _ in 0..3 {
        let most = random.usize(2..2000);
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(random.usize(1..=most.min(rest.len())));
            pieces.push(piece);
            rest = tail;
        }
        assert_eq!(decode(wire, pieces), whole, "{name}, split at random");
    }
    if one_by_one {
        assert_eq!(decode(wire, bytes.chunks(1)), whole, "{name}, byte by byte");
    }
}

/// The events of a stream: where each ends, and its data. Only what an empty line closes.
fn events(bytes: &[u8]) -> Vec<(usize, String)> {
    let (mut events, mut data, mut at) = (Vec::new(), None::<String>, 0);
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        at += line.len();
        let text = String::from_utf8_lossy(line);
        let Some(text) = text.strip_suffix('\n') else { break };
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.is_empty() {
            events.extend(data.take().map(|data| (at, data)));
        } else if let Some(value) = text.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            data = Some(data.map_or(value.to_string(), |data| data + "\n" + value));
        }
    }
    events
}

// ---------------------------------------------------------------- Anthropic

/// What a stream says, read from its JSON.
struct Said {
    /// The code of the failure; none: it is whole.
    failure: Option<Code>,
    content: Vec<Value>,
    stop: Value,
    usage: Usage,
}

fn read_anthropic(events: &[(usize, String)]) -> Said {
    let mut blocks: Vec<(u64, Value, String, bool)> = Vec::new();
    let mut said = Said {
        failure: Some(Code::StreamBroken),
        content: vec![],
        stop: Value::Null,
        usage: Usage::default(),
    };
    let mut id = None;
    for (_, data) in events {
        let event: Value = serde_json::from_str(data).unwrap();
        let index = event["index"].as_u64().unwrap_or_default();
        let delta = &event["delta"];
        let grow = |field: &mut Value, piece: &Value| {
            *field = Value::String(field.as_str().unwrap_or("").to_string() + piece.as_str().unwrap());
        };
        let open = blocks.iter_mut().rev().find(|block| block.0 == index);
        match event["type"].as_str().unwrap() {
            "message_start" => {
                let this = event["message"]["id"].clone();
                if id.is_some_and(|id| id != this) {
                    said.failure = Some(Code::Protocol);
                    break;
                }
                id = Some(this);
                count(&mut said.usage, &event["message"]["usage"]);
            }
            "content_block_start" => {
                blocks.push((index, event["content_block"].clone(), String::new(), false));
            }
            "content_block_delta" => {
                let (_, block, input, _) = open.unwrap();
                match delta["type"].as_str().unwrap() {
                    "text_delta" => grow(&mut block["text"], &delta["text"]),
                    "thinking_delta" => grow(&mut block["thinking"], &delta["thinking"]),
                    "signature_delta" => block["signature"] = delta["signature"].clone(),
                    "input_json_delta" => input.push_str(delta["partial_json"].as_str().unwrap()),
                    "citations_delta" => {
                        if !block["citations"].is_array() {
                            block["citations"] = json!([]);
                        }
                        block["citations"].as_array_mut().unwrap().push(delta["citation"].clone());
                    }
                    "compaction_delta" => block["content"] = delta["content"].clone(),
                    "future_delta" => {}
                    other => panic!("a delta that this test does not know: {other}"),
                }
            }
            "content_block_stop" => open.unwrap().3 = true,
            "message_delta" => {
                if !delta["stop_reason"].is_null() {
                    said.stop = json!([delta["stop_reason"], delta["stop_details"]["explanation"]]);
                }
                count(&mut said.usage, &event["usage"]);
            }
            "message_stop" => {
                said.failure = None;
                break;
            }
            "error" => {
                said.failure = Some(match event["error"]["type"].as_str().unwrap() {
                    "overloaded_error" => Code::Overloaded,
                    "api_error" => Code::Server,
                    other => panic!("an error that this test does not know: {other}"),
                });
                break;
            }
            "ping" | "future_event" => {}
            other => panic!("an event that this test does not know: {other}"),
        }
    }
    let limited = ["max_tokens", "model_context_window_exceeded", "refusal", "stop_sequence"]
        .contains(&said.stop[0].as_str().unwrap_or(""));
    let goes_on =
        said.failure.is_none() && ["pause_turn", "tool_use"].contains(&said.stop[0].as_str().unwrap_or(""));
    let results: Vec<Value> = blocks.iter().map(|block| block.1["tool_use_id"].clone()).collect();
    let count = blocks.len();
    for (at, (_, mut block, input, closed)) in blocks.into_iter().enumerate() {
        let kind = block["type"].as_str().unwrap().to_string();
        let parsed = serde_json::from_str::<Value>(&input).ok();
        let keep = match kind.as_str() {
            "text" => block["text"] != "",
            "thinking" => {
                block["thinking"] != "" || block["signature"].as_str().is_some_and(|s| !s.is_empty())
            }
            "tool_use" if said.failure.is_some() => closed,
            "tool_use" => !(limited && at + 1 == count && parsed.is_none()),
            kind if kind.ends_with("_tool_use") => goes_on || results.contains(&block["id"]),
            _ => true,
        };
        if let Some(input) = parsed {
            block["input"] = input;
        } else if !input.is_empty() {
            block["input"] = Value::String(input);
        }
        if keep {
            said.content.push(tidy(block));
        }
    }
    said
}

fn count(usage: &mut Usage, json: &Value) {
    for (field, value) in [
        (&mut usage.input_tokens, &json["input_tokens"]),
        (&mut usage.output_tokens, &json["output_tokens"]),
        (&mut usage.cache_read_tokens, &json["cache_read_input_tokens"]),
        (&mut usage.cache_write_tokens, &json["cache_creation_input_tokens"]),
        (&mut usage.reasoning_tokens, &json["output_tokens_details"]["thinking_tokens"]),
    ] {
        *field = value.as_u64().unwrap_or(*field);
    }
}

/// A block without what says nothing.
fn tidy(block: Value) -> Value {
    let Value::Object(members) = block else { panic!("no object") };
    let says = |name: &str, value: &Value| match name {
        "citations" => value.as_array().is_some_and(|list| !list.is_empty()),
        "caller" => value["type"] != "direct",
        "signature" => value != "",
        _ => !value.is_null(),
    };
    // Raw blocks stay as they came.
    let ours = ["text", "thinking", "tool_use"].contains(&members["type"].as_str().unwrap());
    Value::Object(members.into_iter().filter(|(name, value)| !ours || says(name, value)).collect())
}

/// The content of an answer, as the API would write it.
fn content(answer: &Answer) -> Vec<Value> {
    let mut content: Vec<Value> = Vec::new();
    for block in &answer.blocks {
        content.push(match block {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::Thinking { text, signature: None } => json!({"type": "thinking", "thinking": text}),
            Block::Thinking { text, signature } => {
                json!({"type": "thinking", "thinking": text, "signature": signature})
            }
            Block::ToolCall { id, name, arguments } => {
                let input = serde_json::from_str(arguments).unwrap_or(Value::String(arguments.clone()));
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
            Block::Raw(json) => serde_json::from_str(json).unwrap(),
            Block::Extra(json) => {
                let extra: Map<String, Value> = serde_json::from_str(json).unwrap();
                content.last_mut().unwrap().as_object_mut().unwrap().extend(extra);
                continue;
            }
            Block::ToolResult { .. } => panic!("an answer has no results"),
        });
    }
    content
}

fn stop_name(stop: &Option<StopReason>) -> Value {
    match stop {
        None => Value::Null,
        Some(StopReason::EndTurn) => json!(["end_turn", null]),
        Some(StopReason::ToolUse) => json!(["tool_use", null]),
        Some(StopReason::MaxTokens) => json!(["max_tokens", null]),
        Some(StopReason::ContextWindow) => json!(["model_context_window_exceeded", null]),
        Some(StopReason::Pause) => json!(["pause_turn", null]),
        Some(StopReason::StopSequence) => json!(["stop_sequence", null]),
        Some(StopReason::Refusal(why)) => json!(["refusal", why]),
    }
}

fn check_anthropic(name: &str, bytes: &[u8], events: &[(usize, String)]) {
    let said = read_anthropic(events);
    let outcome = decode(Wire::Anthropic, [bytes]);
    let answer = answer_of(&outcome);
    assert_eq!(outcome.1.as_ref().err().map(|(error, _)| error.code), said.failure, "{name}");
    assert_eq!(content(answer), said.content, "{name}");
    assert_eq!(answer.usage, said.usage, "{name}");
    let stop = if said.failure.is_some() {
        Value::Null
    } else if said.stop[0] == "future_reason" {
        json!(["end_turn", null])
    } else {
        said.stop
    };
    assert_eq!(stop_name(&answer.stop), stop, "{name}");
    check_shown(name, &outcome);
    check_sent_back(name, answer, said.content);
}

/// The answer as the next request carries it: what came, without what the API would refuse.
fn check_sent_back(name: &str, answer: &Answer, mut content: Vec<Value>) {
    let is_thinking = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    content.retain(|block| match block["type"].as_str().unwrap() {
        "text" => !block["text"].as_str().unwrap().trim().is_empty(),
        "thinking" => block["signature"].is_string(),
        _ => true,
    });
    while content.last().is_some_and(is_thinking) {
        content.pop();
    }
    for block in &mut content {
        if block["type"] == "tool_use" && !block["input"].is_object() {
            block["input"] = json!({});
        }
    }
    let expected =
        if content.is_empty() { json!([]) } else { json!([{"role": "assistant", "content": content}]) };
    let message = Message { role: Role::Assistant, blocks: answer.blocks.clone(), own: true };
    let mut sent = String::new();
    Wire::Anthropic.encode_message(&Dialect::CHAT, &message, &mut sent);
    assert_eq!(serde_json::from_str::<Value>(&format!("[{sent}]")).unwrap(), expected, "{name}");
}

fn check_anthropic_files(files: &[PathBuf]) {
    let mut sizes: Vec<u64> = files.iter().map(|file| file.metadata().unwrap().len()).collect();
    sizes.sort_unstable();
    let small = sizes.get(39).copied().unwrap_or(u64::MAX);
    for file in files {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).unwrap();
        let events = events(&bytes);
        check_anthropic(&name, &bytes, &events);
        check_splits(&name, Wire::Anthropic, &bytes, bytes.len() as u64 <= small);
        for (count, (end, _)) in events.iter().enumerate() {
            let name = format!("{name}, cut after {} events", count + 1);
            check_anthropic(&name, &bytes[..*end], &events[..=count]);
        }
    }
}

#[test]
fn hand_written_anthropic_streams() {
    let files = own("anthropic");
    assert_eq!(files.len(), 19);
    check_anthropic_files(&files);
}

#[test]
fn recorded_anthropic_streams() {
    let files = recorded(0, &["anthropic"], "sse");
    assert!(files.is_empty() || files.len() == RECORDED[0].1, "{} streams", files.len());
    check_anthropic_files(&files);
}

#[test]
fn recorded_anthropic_bodies() {
    check_bodies(1, Wire::Anthropic, &["anthropic"]);
}

/// A body that is no stream: its failure by the status, and as a stream a clear error.
fn check_bodies(sort: usize, wire: Wire, folders: &[&str]) {
    let files = recorded(sort, folders, "json");
    let Some(root) = files.first().and_then(|file| file.parent()?.parent()) else { return };
    let index: Vec<Value> = serde_json::from_slice(&std::fs::read(root.join("INDEX.json")).unwrap()).unwrap();
    let mut met = 0;
    for file in &files {
        let name = file.strip_prefix(root).unwrap().to_str().unwrap();
        let entry = index.iter().find(|entry| entry["file"] == name).unwrap();
        let status = entry["status"].as_u64().unwrap() as u16;
        let body = std::fs::read_to_string(file).unwrap();
        if status == 200 {
            if wire == Wire::Anthropic {
                let (_, result) = decode(wire, [body.as_bytes()]);
                assert_eq!(result.unwrap_err().0.code, Code::Protocol, "{name}");
                met += 1;
            }
            continue;
        }
        met += 1;
        let error = wire.error(status, &[], &body, 0);
        let expected = match status {
            400 => Code::InvalidRequest,
            401 => Code::Auth,
            404 => Code::NotFound,
            429 => Code::RateLimit,
            500 | 501 => Code::Server,
            other => panic!("{name}: status {other}"),
        };
        let json: Value = serde_json::from_str(&body).unwrap();
        let message = json["error"]["message"].as_str().or(json["error"].as_str()).unwrap_or_default();
        let expected = match &json["error"]["code"] {
            code if code == "model_not_found" => Code::NotFound,
            // xAI answers a wrong key with 400.
            _ if message.starts_with("Incorrect API key") => Code::Auth,
            _ => expected,
        };
        if !(message.contains("context size") && error.code == Code::ContextLength) {
            assert_eq!(error.code, expected, "{name}: {body}");
        }
        assert!(!message.is_empty() && error.message.contains(message), "{name}: {error:?}");
    }
    assert_eq!(met, RECORDED[sort].1, "{}", RECORDED[sort].0);
}

// ---------------------------------------------------------------- chat

const CHAT: [&str; 7] = ["openai-chat", "deepseek", "groq", "llamacpp", "mistral", "openrouter", "xai"];

/// What a chat stream says: whether it is whole, its text, its thinking, its calls.
fn read_chat(events: &[(usize, String)]) -> (bool, String, String, Vec<(String, String)>) {
    let (mut whole, mut text, mut thinking) = (false, String::new(), String::new());
    let mut calls: Vec<(Value, Value, String, String)> = Vec::new();
    for (_, data) in events {
        if data == "[DONE]" {
            whole = true;
            break;
        }
        let chunk: Value = serde_json::from_str(data).unwrap();
        if !chunk["error"].is_null() {
            whole = false;
            break;
        }
        for choice in chunk["choices"].as_array().unwrap().iter().filter(|choice| choice["index"] == 0) {
            let delta = &choice["delta"];
            if let Some(parts) = delta["content"].as_array() {
                for part in parts {
                    text.push_str(part["text"].as_str().unwrap_or(""));
                    for part in part["thinking"].as_array().into_iter().flatten() {
                        thinking.push_str(part["text"].as_str().unwrap());
                    }
                }
            }
            text.push_str(delta["content"].as_str().unwrap_or(""));
            let reasoning = delta["reasoning_content"].as_str().or(delta["reasoning"].as_str());
            thinking.push_str(reasoning.unwrap_or(""));
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let known = calls.iter().rposition(|(index, id, ..)| {
                    *index == call["index"] && (call["id"].is_null() || *id == call["id"])
                });
                let at = known.unwrap_or_else(|| {
                    calls.push((call["index"].clone(), call["id"].clone(), String::new(), String::new()));
                    calls.len() - 1
                });
                let function = &call["function"];
                calls[at].2.push_str(function["name"].as_str().unwrap_or(""));
                calls[at].3.push_str(function["arguments"].as_str().unwrap_or(""));
            }
            whole |= choice["finish_reason"].is_string();
        }
    }
    (whole, text, thinking, calls.into_iter().map(|(_, _, name, arguments)| (name, arguments)).collect())
}

fn check_chat(name: &str, bytes: &[u8]) {
    let events = events(bytes);
    let (whole, text, thinking, mut calls) = read_chat(&events);
    let outcome = decode(Wire::OpenAiChat, [bytes]);
    assert_eq!(outcome.1.is_ok(), whole, "{name}");
    let answer = answer_of(&outcome);
    let (mut found_text, mut found_thinking, mut found_calls) = (String::new(), String::new(), Vec::new());
    for block in &answer.blocks {
        match block {
            Block::Text(text) => found_text.push_str(text),
            Block::Thinking { text, .. } => found_thinking.push_str(text),
            Block::ToolCall { name, arguments, .. } => found_calls.push((name.clone(), arguments.clone())),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!((found_text, found_thinking), (text, thinking), "{name}");
    // A call that the limit cut, or the end of a stream that broke off.
    let cut = answer.stop.is_none()
        || answer.stop == Some(StopReason::MaxTokens)
            && calls.last().is_some_and(|(_, arguments)| serde_json::from_str::<Value>(arguments).is_err());
    if cut && found_calls.len() < calls.len() {
        calls.pop();
    }
    for call in &mut calls {
        if call.1.is_empty() {
            call.1 = "{}".into();
        }
    }
    assert_eq!(found_calls, calls, "{name}");
    check_shown(name, &outcome);
    check_splits(name, Wire::OpenAiChat, bytes, bytes.len() < 4000);
    for (count, (end, _)) in events.iter().enumerate() {
        let outcome = decode(Wire::OpenAiChat, [&bytes[..*end]]);
        assert_eq!(
            outcome.1.is_ok(),
            read_chat(&events[..=count]).0,
            "{name}, cut after {} events",
            count + 1
        );
        check_shown(name, &outcome);
    }
}

#[test]
fn hand_written_chat_streams() {
    let files = own("openai-chat");
    assert_eq!(files.len(), 8);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        if name == "error.sse" {
            let (error, answer) = decode(Wire::OpenAiChat, [&bytes[..]]).1.unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (Code::Server, "upstream failed"));
            assert_eq!(answer.blocks, [Block::Text("Half".into())]);
            check_splits(name, Wire::OpenAiChat, &bytes, true);
        } else {
            check_chat(name, &bytes);
        }
    }
}

#[test]
fn recorded_chat_streams() {
    let mut met = 0;
    let files = recorded(2, &CHAT, "sse");
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        // The folders hold other wires, too.
        if events(&bytes).first().is_some_and(|(_, data)| data.contains("\"chat.completion.chunk\"")) {
            check_chat(&file.display().to_string(), &bytes);
            met += 1;
        }
    }
    assert!(files.is_empty() || met == RECORDED[2].1, "{met} streams");
}

#[test]
fn recorded_chat_bodies() {
    check_bodies(3, Wire::OpenAiChat, &["openai-errors", "groq", "llamacpp", "openrouter", "xai"]);
}

// ---------------------------------------------------------------- junk

/// Streams that are damaged at random: an answer or an error, never a panic, and the same at any split.
#[test]
fn damaged_streams_never_panic() {
    let mut random = fastrand::Rng::with_seed(42);
    for (wire, folder) in [(Wire::Anthropic, "anthropic"), (Wire::OpenAiChat, "openai-chat")] {
        let streams: Vec<Vec<u8>> = own(folder).iter().map(|file| std::fs::read(file).unwrap()).collect();
        for round in 0..2000 {
            let mut bytes = streams[round % streams.len()].clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                match random.u8(0..4) {
                    0 => bytes[at] = random.u8(..),
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, random.u8(..)),
                    _ => {
                        // A piece of another stream in the middle of this one.
                        let other = &streams[random.usize(..streams.len())];
                        let from = random.usize(..other.len());
                        let to = random.usize(from..=other.len().min(from + 400));
                        bytes.splice(at..at, other[from..to].iter().copied());
                    }
                }
            }
            let whole = decode(wire, [&bytes[..]]);
            let (a, b) = bytes.split_at(random.usize(..bytes.len()));
            assert_eq!(decode(wire, [a, b]), whole);
            let message = Message {
                role: Role::Assistant,
                blocks: answer_of(&whole).blocks.clone(),
                own: random.bool(),
            };
            let mut sent = String::new();
            for &wire in Wire::ALL {
                sent.clear();
                wire.encode_message(&Dialect::CHAT, &message, &mut sent);
                assert!(serde_json::from_str::<Vec<Value>>(&format!("[{sent}]")).is_ok(), "{sent}");
            }
        }
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(43);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..random.usize(..300)).map(|_| random.u8(..)).collect();
        for &wire in Wire::ALL {
            let (shown, result) = decode(wire, bytes.chunks(random.usize(1..50)));
            assert!(shown.is_empty() && result.is_err());
            let error = wire.error(random.u16(..), &[], &String::from_utf8_lossy(&bytes), 0);
            assert!(error.message.len() < 4500);
        }
    }
}
