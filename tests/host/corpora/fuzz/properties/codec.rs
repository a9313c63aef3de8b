//! Any bytes before a codec: one outcome, the same wherever they are cut, and nothing in it that could not go on.

use super::{cuts, draws, requests};
use lodger::error::ErrorInfo;
use lodger::journal::{blocks_from_json, blocks_to_json};
use lodger::model::errors::shorten;
use lodger::model::{Answer, Block, Decoder, Delta, DeltaKind, StopReason, Wire};

/// The deltas of each part, joined: its kind and its text.
type Shown = Vec<(DeltaKind, String)>;

#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    /// What was shown before the end of the bytes was known.
    before: Shown,
    shown: Shown,
    result: Result<Answer, (ErrorInfo, Answer)>,
}

/// A response body of this wire.
pub fn wire(wire: Wire, bytes: &[u8]) {
    let whole = body(wire, &[bytes]);
    let random = &mut draws(bytes);
    for pieces in cuts(bytes, random) {
        assert_eq!(body(wire, &pieces), whole, "cut");
    }
    judge(&whole, bytes.len());
    requests::accepted(wire, &whole.result, random);
    // What comes later changes nothing of what was shown.
    let cut = &bytes[..random.usize(..=bytes.len())];
    let part = body(wire, &[cut]);
    judge(&part, cut.len());
    begins(&part.before, &whole.before);
    // The same bytes as the body of a failure.
    let text = String::from_utf8_lossy(bytes);
    let headers = [("retry-after".to_string(), text.chars().take(20).collect())];
    told(wire.error(random.u16(300..600), &headers, &text, 0));
}

/// What a page's own model yields: each line is an object, or a piece of text.
pub fn custom(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let random = &mut draws(bytes);
    let mut read = |cut: bool| {
        let mut watched = Watched::new(Decoder::custom());
        for line in text.split('\n') {
            let (a, b) = if cut { random_cut(line, random) } else { (line, "") };
            let _ = match line.starts_with('{') {
                true => watched.take(|decoder, sink| decoder.push_chunk(line, sink)),
                false => watched
                    .take(|decoder, sink| decoder.push_text(a, sink))
                    .and_then(|()| watched.take(|decoder, sink| decoder.push_text(b, sink))),
            };
        }
        watched.end()
    };
    let whole = read(false);
    assert_eq!(read(true), whole);
    judge(&whole, bytes.len());
    requests::accepted(Wire::OpenAiChat, &whole.result, random);
}

fn random_cut<'a>(line: &'a str, random: &mut fastrand::Rng) -> (&'a str, &'a str) {
    let at = random.usize(..=line.len());
    line.split_at(line.floor_char_boundary(at))
}

/// A decoder that is held to what it promises of its deltas and errors.
struct Watched {
    decoder: Decoder,
    shown: Shown,
    failed: Option<ErrorInfo>,
}

impl Watched {
    fn new(decoder: Decoder) -> Self {
        Watched { decoder, shown: Shown::new(), failed: None }
    }

    fn take(
        &mut self,
        push: impl FnOnce(&mut Decoder, &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo>,
    ) -> Result<(), ErrorInfo> {
        let Watched { decoder, shown, failed } = self;
        let result = push(decoder, &mut |delta: Delta<'_>| {
            assert!(failed.is_none(), "a piece after the error");
            assert!(!delta.text.is_empty());
            let at = delta.part as usize;
            assert!(at <= shown.len(), "a part is left out");
            if at == shown.len() {
                shown.push((delta.kind, String::new()));
            } else {
                assert_ne!(delta.kind, DeltaKind::ToolCall, "a call begins once");
            }
            assert_eq!(shown[at].0, delta.kind, "a part stays what it is");
            shown[at].1.push_str(delta.text);
        });
        match (&failed, &result) {
            (Some(first), again) => assert_eq!(again.as_ref(), Err(first), "the error stays"),
            (None, Err(error)) => *failed = Some(error.clone()),
            (None, Ok(())) => {}
        }
        result
    }

    fn end(mut self) -> Outcome {
        let before = self.shown.clone();
        let _ = self.take(Decoder::end);
        let snapshot = self.decoder.snapshot();
        assert_eq!(self.decoder.usage(), snapshot.usage);
        let result = self.decoder.finish();
        match &result {
            Ok(answer) => assert!(answer.stop.is_some() && self.failed.is_none()),
            Err((error, answer)) => {
                assert!(self.failed.is_none_or(|first| first == *error), "the error stays");
                assert_eq!(*answer, snapshot);
            }
        }
        Outcome { before, shown: self.shown, result }
    }
}

fn body(wire: Wire, pieces: &[&[u8]]) -> Outcome {
    let mut watched = Watched::new(Decoder::new(wire));
    for piece in pieces {
        let _ = watched.take(|decoder, sink| decoder.push(piece, sink));
    }
    watched.end()
}

/// What an answer promises, whatever it was made of.
fn judge(outcome: &Outcome, bytes: usize) {
    let answer = match &outcome.result {
        Ok(answer) | Err((_, answer)) => answer,
    };
    let mut shown = outcome.shown.clone();
    let mut ids: Vec<&str> = Vec::new();
    let mut size = 0;
    let mut parts = Shown::new();
    for (at, block) in answer.blocks.iter().enumerate() {
        match block {
            Block::Text(text) => {
                assert!(!text.is_empty());
                parts.push((DeltaKind::Text, text.clone()));
                size += text.len();
            }
            Block::Thinking { text, signature } => {
                assert!(!text.is_empty() || signature.is_some());
                assert_ne!(signature.as_deref(), Some(""));
                size += text.len() + signature.as_ref().map_or(0, String::len);
                if !text.is_empty() {
                    parts.push((DeltaKind::Thinking, text.clone()));
                }
            }
            Block::ToolCall { id, name, arguments } => {
                assert!(!id.is_empty() && !name.is_empty() && !arguments.trim().is_empty());
                assert!(!ids.contains(&id.as_str()), "two calls with one id");
                ids.push(id);
                size += name.len() + arguments.len();
                parts.push((DeltaKind::ToolCall, name.clone()));
            }
            Block::Extra(json) => {
                assert!(at > 0, "an addition to nothing");
                assert!(is_object(json), "{json}");
                size += json.len();
            }
            Block::Raw(json) => {
                assert!(is_object(json), "{json}");
                size += json.len();
            }
            // They say once more what is in the provider's own words.
            Block::ServerCall(call) => {
                assert!(!call.name.is_empty() && !call.arguments.is_empty(), "{call:?}");
                parts.push((DeltaKind::ServerCall, call.name.clone()));
            }
            Block::Cited(cited) => {
                assert!(cited.url.starts_with("http"), "{cited:?}");
                let behind = answer.blocks.iter().skip(at);
                assert!(
                    behind.into_iter().all(|block| matches!(block, Block::Cited(_))),
                    "a source in between"
                );
                let part = cited.at.first().copied().unwrap_or(0);
                assert!(part == 0 || (part as usize) < parts.len());
            }
            Block::ToolResult { .. } | Block::File(_) => panic!("a model gives neither results nor files"),
        }
    }
    // Nothing is made up. What is no UTF-8 takes three times its room, and so does a letter that must be escaped.
    assert!(size <= 6 * bytes + 64 * answer.blocks.len(), "{size} bytes of {bytes}");
    // What was shown is what is there. A call that may have been cut was told, too: where the answer broke off any that
    // was open, else the last.
    let mut left = shown.len() - parts.len().min(shown.len());
    let ended = matches!(answer.stop, Some(StopReason::EndTurn | StopReason::ToolUse | StopReason::Pause));
    if !ended && answer.stop.is_some() {
        assert!(left <= 1);
        if left == 1 {
            assert_eq!(shown.pop().unwrap().0, DeltaKind::ToolCall);
        }
    } else if !ended {
        let mut there = parts.iter().peekable();
        shown.retain(|part| {
            let out = left > 0 && part.0 == DeltaKind::ToolCall && there.peek() != Some(&part);
            left -= usize::from(out);
            if !out {
                there.next();
            }
            !out
        });
    }
    assert_eq!(parts, shown, "what was shown");
    match answer.stop {
        Some(StopReason::ToolUse) => assert!(!ids.is_empty()),
        Some(StopReason::EndTurn) => assert!(ids.is_empty()),
        _ => {}
    }
    // What the journal keeps of it.
    assert_eq!(blocks_from_json(&blocks_to_json(&answer.blocks)).as_ref(), Some(&answer.blocks));
    if let Err((error, _)) = &outcome.result {
        told(error.clone());
    }
}

/// An error says something, and not too much once keys are out of it and it is cut.
fn told(mut error: ErrorInfo) {
    shorten(&mut error);
    assert!(!error.message.is_empty() && error.message.len() < 4500, "{} bytes", error.message.len());
}

/// An object, as a reader sees it that takes half of a surrogate pair.
fn is_object(json: &str) -> bool {
    json.starts_with('{') && json.ends_with('}')
}

/// Whether the one may come before the other: as many parts or fewer, and only the last of them may grow.
fn begins(part: &Shown, whole: &Shown) {
    assert!(part.len() <= whole.len());
    for ((kind, text), (whole_kind, whole_text)) in part.iter().zip(whole) {
        assert!(kind == whole_kind && whole_text.starts_with(text.as_str()), "{text:?} {whole_text:?}");
    }
}
