//! From the bytes of a response body to an [`Answer`].
//!
//! Decides what counts as a whole answer. Promises: the same deltas and the same answer at any split of the
//! bytes; after an error nothing more is read, and what had come is still there. Leaves to others: what one
//! event means (the codecs).

use super::assembler::Assembler;
use super::errors::{broken, no_stream, protocol};
use super::lines::Lines;
use super::sse::{OnEvent, Sse};
use super::wire::{Framing, Stream};
use super::{Answer, Delta, DeltaKind, Wire, openai_chat};
use crate::error::ErrorInfo;

/// How many bytes of a body without events are kept, to say what it is instead.
const HEAD: usize = 4096;

/// What finds the events in the bytes.
#[derive(Debug)]
enum Frames {
    Events(Sse),
    Lines(Lines),
}

impl Frames {
    fn push(&mut self, bytes: &[u8], on: &mut OnEvent<'_>) -> Result<(), ErrorInfo> {
        match self {
            Frames::Events(sse) => sse.push(bytes, on),
            Frames::Lines(lines) => lines.push(bytes, on),
        }
    }

    /// Whether there was an event at all.
    fn dispatched(&self) -> bool {
        match self {
            Frames::Events(sse) => sse.dispatched(),
            Frames::Lines(lines) => lines.dispatched(),
        }
    }

    /// Whether the body has shown what it is, so that nobody has to guess.
    fn begun(&self) -> bool {
        match self {
            Frames::Events(sse) => sse.dispatched(),
            Frames::Lines(lines) => lines.begun(),
        }
    }
}

/// Decodes the answer to one call.
#[derive(Debug)]
pub struct Decoder {
    frames: Frames,
    stream: Box<dyn Stream>,
    /// It reads what a custom provider yields.
    custom: bool,
    answer: Assembler,
    failed: Option<ErrorInfo>,
    head: Vec<u8>,
}

impl Decoder {
    /// A decoder for a response body of this wire.
    pub fn new(wire: Wire) -> Self {
        let codec = wire.codec();
        let frames = match codec.framing {
            Framing::Events => Frames::Events(Sse::default()),
            Framing::Lines => Frames::Lines(Lines::default()),
        };
        Self::with(frames, (codec.stream)(), false)
    }

    /// A decoder for what a custom provider yields: chat chunks and plain text. When it has nothing more to
    /// yield, the answer is whole.
    pub fn custom() -> Self {
        Self::with(Frames::Events(Sse::default()), openai_chat::custom(), true)
    }

    fn with(frames: Frames, stream: Box<dyn Stream>, custom: bool) -> Self {
        let (answer, head) = (Assembler::default(), Vec::new());
        Decoder { frames, stream, custom, answer, failed: None, head }
    }

    /// The next bytes of the body, split anywhere.
    ///
    /// # Errors
    /// What the provider tells in the stream, or `protocol`. The same again on every later call.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        self.check()?;
        let Decoder { frames, stream, answer, head, .. } = self;
        let result = frames.push(bytes, &mut |name, data| stream.event(name, data, answer, sink));
        if !frames.begun() && head.len() < HEAD {
            head.extend(bytes.iter().take(HEAD - head.len()));
        }
        self.note(result)
    }

    /// The body has ended: what came last may lack the end of its line. [`Decoder::finish`] does it too, but tells
    /// nobody of what was said there.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn end(&mut self, sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        self.check()?;
        let Decoder { frames: Frames::Lines(lines), stream, answer, .. } = self else { return Ok(()) };
        let result = lines.end(&mut |name, data| stream.event(name, data, answer, sink));
        self.note(result)
    }

    /// One chat chunk of a custom provider, as JSON text.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn push_chunk(&mut self, json: &str, sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        self.check()?;
        let result = if self.custom {
            self.stream.event("", json, &mut self.answer, sink)
        } else {
            Err(protocol("this wire has no chat chunks"))
        };
        self.note(result)
    }

    /// Plain text of a custom provider.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn push_text(&mut self, text: &str, sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        self.check()?;
        self.answer.append_as(DeltaKind::Text, text, sink);
        Ok(())
    }

    /// What has come so far, for an interrupt: `stop` is `None`, tool calls that are still open are left out.
    pub fn snapshot(&self) -> Answer {
        let mut answer = self.answer.clone();
        answer.stop = None;
        self.finished(answer)
    }

    /// The body has ended.
    ///
    /// # Errors
    /// What broke it (`stream_broken` where it just ended too soon), with what came until then.
    #[allow(clippy::result_large_err, reason = "made once a call and taken apart at once; smaller on wasm32")]
    pub fn finish(mut self) -> Result<Answer, (ErrorInfo, Answer)> {
        let _ = self.end(&mut |_| ());
        let error = if let Some(error) = self.failed.take() {
            error
        } else if !self.stream.whole(&mut self.answer) {
            if self.frames.dispatched() {
                broken("the answer broke off in the middle")
            } else {
                no_stream(&self.head)
            }
        } else if self.answer.has_nameless_call() {
            protocol("the model's tool call has no name")
        } else {
            let answer = std::mem::take(&mut self.answer);
            return Ok(self.finished(answer));
        };
        Err((error, self.snapshot()))
    }

    fn finished(&self, mut answer: Assembler) -> Answer {
        self.stream.complete(&mut answer);
        answer.into_answer()
    }

    fn check(&self) -> Result<(), ErrorInfo> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, result: Result<(), ErrorInfo>) -> Result<(), ErrorInfo> {
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }
}
