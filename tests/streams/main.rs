//! Recorded and hand-written model streams, against an independent reading of them.
//!
//! What a stream says is computed here from the JSON of its `data:` lines, in the simplest way, and compared
//! with what the decoder makes of the bytes: whole, cut at every event boundary, and split at any byte. The
//! hand-written ones lie in `tests/fixtures`; the recorded ones are found by `LODGER_FIXTURES` or beside the
//! repository, and are skipped, with a count, where they are absent. What all wires share stands here; each has
//! a module of its own that reads what it should say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod anthropic;
mod chat;

use lodger::error::{Code, ErrorInfo};
use lodger::model::{Answer, Block, Decoder, DeltaKind, Dialect, Message, Role, Wire};
use serde_json::Value;
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

// ---------------------------------------------------------------- bodies

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
        let error = wire.error(status, &[], &body);
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
            let error = wire.error(random.u16(..), &[], &String::from_utf8_lossy(&bytes));
            assert!(error.message.len() < 4500);
        }
    }
}
