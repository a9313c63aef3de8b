//! From the bytes of a response body to an [`Answer`].
//!
//! Decides what counts as a whole answer. Promises: the same deltas and the same answer at any split of the
//! bytes; after an error nothing more is read, and what had come is still there. Leaves to others: what one
//! event means (the codecs).

use super::assembler::Assembler;
use super::errors::{broken, no_stream, protocol};
use super::lines::Lines;
use super::sse::{OnEvent, Sse};
use super::wire::{Codec, Framing, Stream, custom};
use super::{Answer, Delta, DeltaKind, Usage, Wire};
use crate::error::ErrorInfo;

/// How many bytes of a body without events are kept, to say what it is instead.
const HEAD: usize = 4096;

/// What finds the events in the bytes of an answer: its name (empty where there is none) and its data, each.
#[derive(Debug)]
pub struct Frames(Kind);

#[derive(Debug)]
enum Kind {
    Events(Sse),
    Lines(Lines),
}

impl Frames {
    /// As this wire marks them off.
    pub fn new(wire: Wire) -> Self {
        Self::of(wire.codec())
    }

    fn of(codec: &Codec) -> Self {
        Frames(match codec.framing {
            Framing::Events => Kind::Events(Sse::default()),
            Framing::Lines => Kind::Lines(Lines::default()),
        })
    }

    /// The next bytes, split anywhere.
    ///
    /// # Errors
    /// The first of `on`, which is not asked again; `protocol`: an event is too large.
    pub fn push(&mut self, bytes: &[u8], on: &mut OnEvent<'_>) -> Result<(), ErrorInfo> {
        match &mut self.0 {
            Kind::Events(sse) => sse.push(bytes, on),
            Kind::Lines(lines) => lines.push(bytes, on),
        }
    }

    /// The bytes have ended: a last line may lack its end.
    ///
    /// # Errors
    /// As [`Frames::push`].
    pub fn end(&mut self, on: &mut OnEvent<'_>) -> Result<(), ErrorInfo> {
        match &mut self.0 {
            Kind::Events(_) => Ok(()),
            Kind::Lines(lines) => lines.end(on),
        }
    }

    /// Whether there was an event at all.
    fn dispatched(&self) -> bool {
        match &self.0 {
            Kind::Events(sse) => sse.dispatched(),
            Kind::Lines(lines) => lines.dispatched(),
        }
    }

    /// Whether the body has shown what it is, so that nobody has to guess.
    fn begun(&self) -> bool {
        match &self.0 {
            Kind::Events(sse) => sse.dispatched(),
            Kind::Lines(lines) => lines.begun(),
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
        Self::of(wire.codec(), false)
    }

    /// A decoder for what a custom provider yields: chat chunks and plain text. When it has nothing more to
    /// yield, the answer is whole.
    pub fn custom() -> Self {
        Self::of(custom(), true)
    }

    fn of(codec: &Codec, custom: bool) -> Self {
        let (frames, stream) = (Frames::of(codec), (codec.stream)());
        Decoder { frames, stream, custom, answer: Assembler::default(), failed: None, head: Vec::new() }
    }

    /// The next bytes of the body, split anywhere.
    ///
    /// # Errors
    /// What the provider tells in the stream, or `protocol`. The same again on every later call.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        self.check()?;
        let Decoder { frames, stream, answer, head, .. } = self;
        let result = frames.push(bytes, &mut |name, data| stream.event(name, data, answer, sink));
        if head.len() < HEAD && !frames.begun() {
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
        let Decoder { frames, stream, answer, .. } = self;
        let result = frames.end(&mut |name, data| stream.event(name, data, answer, sink));
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

    /// What the answer has used up, as far as its provider has told.
    pub fn usage(&self) -> Usage {
        self.stream.usage(&self.answer)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::LOOKED_AT;
    use crate::model::Block;
    use serde_json::{Value, json};

    /// An answer that says so much in pieces of eight bytes.
    type Says = fn(length: usize) -> Vec<Value>;

    /// So many pieces of eight bytes. None of them is whole JSON, nor is what comes of the first ones.
    fn pieces(length: usize) -> Vec<&'static str> {
        let mut pieces = vec![r#"{"a":[{}"#];
        pieces.extend(std::iter::repeat_n(r#",{"b":1}"#, length / 8));
        pieces.push("]}");
        pieces
    }

    fn whole(length: usize) -> String {
        pieces(length).concat()
    }

    /// One block of Anthropic's: how it begins, and a piece of it.
    fn block(begin: Value, piece: &dyn Fn(&str) -> Value, length: usize) -> Vec<Value> {
        let mut events = vec![
            json!({ "type": "message_start", "message": {} }),
            json!({ "type": "content_block_start", "index": 0, "content_block": begin }),
        ];
        let delta = |text: &&str| json!({ "type": "content_block_delta", "index": 0, "delta": piece(text) });
        events.extend(pieces(length).iter().map(delta));
        // A pause keeps what nothing answers yet.
        events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "pause_turn" } }));
        events.push(json!({ "type": "message_stop" }));
        events
    }

    fn input(text: &str) -> Value {
        json!({ "type": "input_json_delta", "partial_json": text })
    }

    /// Chunks with this piece each.
    fn chunks(piece: &dyn Fn(&str) -> Value, length: usize) -> Vec<Value> {
        let chunk = |text: &&str| json!({ "choices": [{ "delta": piece(text) }] });
        let mut chunks: Vec<Value> = pieces(length).iter().map(chunk).collect();
        chunks.push(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }));
        chunks
    }

    const ANSWERS: &[(&str, Wire, Says)] = &[
        ("a call", Wire::Anthropic, |length| {
            block(json!({ "type": "tool_use", "id": "c", "name": "t" }), &input, length)
        }),
        ("a call of the provider's own", Wire::Anthropic, |length| {
            block(json!({ "type": "server_tool_use", "id": "c", "name": "t" }), &input, length)
        }),
        ("a block that is changed", Wire::Anthropic, |length| {
            let change = |text: &str| json!({ "type": "compaction_delta", "content": text });
            block(json!({ "type": "compaction", "content": "" }), &change, length)
        }),
        ("a call", Wire::OpenAiChat, |length| {
            let piece =
                |text: &str| json!({ "index": 0, "id": "c", "function": { "name": "t", "arguments": text } });
            chunks(&|text| json!({ "tool_calls": [piece(text)] }), length)
        }),
        ("a call without an index that is named again", Wire::OpenAiChat, |length| {
            let piece = |text: &str| json!({ "function": { "name": "t", "arguments": text } });
            chunks(&|text| json!({ "tool_calls": [piece(text)] }), length)
        }),
        ("reasoning details", Wire::OpenAiChat, |length| {
            let piece = |text: &str| json!({ "type": "reasoning.text", "index": 0, "text": text });
            chunks(&|text| json!({ "reasoning_details": [piece(text)] }), length)
        }),
        ("a call", Wire::OpenAiResponses, |length| {
            let item = |arguments: &str| json!({ "type": "function_call", "call_id": "c", "name": "t", "arguments": arguments });
            let kind = "response.function_call_arguments.delta";
            let piece = |text: &&str| json!({ "type": kind, "output_index": 0, "delta": text });
            let added = "response.output_item.added";
            let mut events = vec![json!({ "type": added, "output_index": 0, "item": item("") })];
            events.extend(pieces(length).iter().map(piece));
            let done = "response.output_item.done";
            events.push(json!({ "type": done, "output_index": 0, "item": item(&whole(length)) }));
            events.push(json!({ "type": "response.completed", "response": {} }));
            events
        }),
        ("a call", Wire::Ollama, |length| {
            let call = json!({ "function": { "name": "t", "arguments": whole(length) } });
            vec![json!({ "message": { "tool_calls": [call] } }), json!({ "message": {}, "done": true })]
        }),
    ];

    /// How many bytes the readers of JSON were given for each byte of this answer, which came in reads of so many bytes.
    fn looked_at(wire: Wire, events: &[Value], read: usize) -> usize {
        let frame = |event: &Value| match wire {
            Wire::Ollama => format!("{event}\n"),
            _ => format!("data: {event}\n\n"),
        };
        let body: String = events.iter().map(frame).collect();
        let begin = LOOKED_AT.get();
        let mut decoder = Decoder::new(wire);
        for bytes in body.as_bytes().chunks(read) {
            decoder.push(bytes, &mut |_| ()).unwrap();
        }
        let answer = decoder.finish().unwrap();
        let said = |block: &Block| match block {
            Block::ToolCall { arguments, .. } => arguments.len(),
            Block::Raw(json) => json.len(),
            _ => 0,
        };
        assert!(answer.blocks.iter().map(said).max() >= Some(whole(8).len()));
        (LOOKED_AT.get() - begin) / (body.len() / 100)
    }

    #[test]
    fn what_comes_in_small_pieces_is_looked_at_once_or_twice() {
        for (name, wire, says) in ANSWERS {
            let [small, large] = [1, 128].map(|kilobytes| says(kilobytes * 1024));
            for read in [8, 64 * 1024] {
                let [few, many] = [&small, &large].map(|events| looked_at(*wire, events, read));
                println!("{} {name}, {read} a read: {few} and {many} %", wire.as_str());
                assert!(many <= 400 && many <= few + few / 4, "{} {name}: {few} and {many} %", wire.as_str());
            }
        }
    }
}
