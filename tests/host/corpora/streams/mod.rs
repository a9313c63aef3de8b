//! Recorded and hand-written model streams, against an independent reading of them.
//!
//! What a stream says is computed here from the JSON of its `data:` lines, in the simplest way. It is compared
//! with what the decoder makes of the bytes: whole, cut at every event boundary, and cut and split at any byte.
//! The hand-written ones lie in `tests/fixtures`, the recorded ones elsewhere (`table`). What all wires share
//! stands here; each has a module that reads what its streams say, and a row of `READINGS`.

mod anthropic;
mod chat;
mod gemini;
mod ollama;
mod responses;
mod table;

use lodger::error::{Code, ErrorInfo};
use lodger::model::{Answer, Block, Decoder, Delta, DeltaKind, Dialect, Message, Role, Wire};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How one wire is read by hand.
struct Reading {
    wire: Wire,
    /// What only the path of its URL has in it.
    path: &'static str,
    /// What only its first event has.
    mark: &'static str,
    /// The folder of its hand-written streams, and how many there are.
    own: (&'static str, usize),
    /// The events: where each ends, and its data. Only what is complete.
    events: fn(&[u8]) -> Vec<(usize, String)>,
    /// Asserts that the decoder makes of these bytes what these events say; gives what that is: the name of a
    /// stop reason or of a failure's code.
    check: Check,
}

/// Takes the name, the bytes and the events.
type Check = fn(&str, &[u8], &[(usize, String)]) -> &'static str;

/// One for each wire.
const READINGS: &[Reading] =
    &[anthropic::READING, chat::READING, responses::READING, ollama::READING, gemini::READING];

/// The hand-written streams of a wire.
fn own(reading: &Reading) -> Vec<(String, Vec<u8>)> {
    let (folder, count) = reading.own;
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder));
    assert_eq!(files.len(), count, "{folder}");
    files.into_iter().map(|file| (file.display().to_string(), std::fs::read(&file).unwrap())).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
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
    let mut sink = |delta: Delta<'_>| {
        assert!(!delta.text.is_empty());
        let part = shown.entry(delta.part).or_insert((delta.kind, String::new()));
        assert_eq!(part.0, delta.kind);
        part.1.push_str(delta.text);
    };
    let pushed = pieces.into_iter().try_for_each(|piece| decoder.push(piece, &mut sink));
    if let Err(error) = pushed.and_then(|()| decoder.end(&mut sink)) {
        let (last, answer) = decoder.finish().unwrap_err();
        assert_eq!(last, error);
        return (shown, Err((error, answer)));
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
        .filter(|block| block.is_shown() && !matches!(block, Block::Cited(_)))
        .map(|block| match block {
            Block::Text(text) => (DeltaKind::Text, text.clone()),
            Block::Thinking { text, .. } => (DeltaKind::Thinking, text.clone()),
            Block::ToolCall { name, .. } => (DeltaKind::ToolCall, name.clone()),
            Block::ServerCall(call) => (DeltaKind::ServerCall, call.name.clone()),
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

/// A stream whole, cut after each event, and cut and split at so many places; and byte by byte. Gives what it is.
fn check_stream(
    name: &str,
    reading: &Reading,
    bytes: &[u8],
    places: usize,
    one_by_one: bool,
) -> &'static str {
    let events = (reading.events)(bytes);
    let kind = (reading.check)(name, bytes, &events);
    let mut cuts = vec![(0, decode(reading.wire, []))];
    for (count, (end, _)) in events.iter().enumerate() {
        let name = format!("{name}, cut after {} events", count + 1);
        (reading.check)(&name, &bytes[..*end], &events[..=count]);
        cuts.push((*end, decode(reading.wire, [&bytes[..*end]])));
    }
    let whole = decode(reading.wire, [bytes]);
    assert_eq!(decode(reading.wire, [&*unlike(bytes)]), whole, "{name}, each event unlike the one before");
    let mut random = fastrand::Rng::with_seed(bytes.len() as u64);
    for _ in 0..places {
        let at = random.usize(..=bytes.len());
        let (a, b) = bytes.split_at(at);
        assert_eq!(decode(reading.wire, [a, b]), whole, "{name}, split at {at}");
        // What is incomplete says nothing: it is as if it had been cut after the event before.
        let (_, before) = cuts.iter().rfind(|(end, _)| *end <= at).unwrap();
        assert_eq!(&decode(reading.wire, [a]), before, "{name}, cut at {at}");
    }
    if one_by_one {
        assert_eq!(decode(reading.wire, bytes.chunks(1)), whole, "{name}, byte by byte");
    }
    kind
}

/// The same stream with no event written as the one before it: a space more or less before its object.
fn unlike(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut more) = (Vec::new(), false);
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let object = line.strip_prefix(b"data:").unwrap_or(line).trim_ascii_start();
        if object.starts_with(b"{") {
            more = !more;
            out.extend_from_slice(&line[..line.len() - object.len()]);
            out.extend_from_slice(if more { b"  " } else { b" " });
            out.extend_from_slice(object);
        } else {
            out.extend_from_slice(line);
        }
    }
    out
}

/// The events of an SSE stream: only what an empty line closes.
fn sse_events(bytes: &[u8]) -> Vec<(usize, String)> {
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

#[test]
fn hand_written_streams() {
    let read: Vec<Wire> = READINGS.iter().map(|reading| reading.wire).collect();
    assert_eq!(read, Wire::ALL);
    for reading in READINGS {
        for (name, bytes) in own(reading) {
            check_stream(&name, reading, &bytes, 20, true);
        }
    }
}

// ---------------------------------------------------------------- junk

/// Streams that are damaged at random: an answer or an error, never a panic, and the same at any split.
#[test]
fn damaged_streams_never_panic() {
    let mut random = fastrand::Rng::with_seed(42);
    for reading in READINGS {
        let wire = reading.wire;
        let streams: Vec<Vec<u8>> = own(reading).into_iter().map(|(_, bytes)| bytes).collect();
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
