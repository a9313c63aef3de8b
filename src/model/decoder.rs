//! From the bytes of a response body to an [`Answer`].
//!
//! Decides what counts as a whole answer. Promises: the same deltas and the same answer at any split of the
//! bytes. After an error nothing more is read, and what had come is still there. Leaves to others: what one
//! event means (the codecs).

use super::alike::Alike;
use super::assembler::{Assembler, Limits};
use super::errors::{broken, no_stream, protocol, too_large};
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
    events: Events,
    /// It reads what a custom provider yields.
    custom: bool,
    failed: Option<ErrorInfo>,
    head: Vec<u8>,
}

/// What has become of the events so far.
#[derive(Debug)]
struct Events {
    stream: Box<dyn Stream>,
    before: Alike,
    answer: Assembler,
    /// How many bytes have been sent.
    sent: usize,
}

impl Events {
    fn take(&mut self, name: &str, data: &str, sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        if let Some(text) = self.before.text(data) {
            self.answer.go_on(&text, sink);
        } else {
            self.before.forget();
            self.answer.grown.times = 0;
            if self.stream.event(name, data, &mut self.answer, sink)? && self.answer.grown.times == 1 {
                self.before.keep(data, &self.answer.grown.text);
            }
        }
        if !self.answer.told.is_empty() {
            self.answer.tell_arguments(sink);
        }
        self.answer.check()
    }

    /// How many of these bytes are still taken, and what becomes of that if it is not all.
    fn room(&mut self, bytes: usize) -> (usize, Result<(), ErrorInfo>) {
        let most = self.answer.limits.answer.saturating_mul(4);
        let room = most - self.sent.min(most);
        self.sent = self.sent.saturating_add(bytes);
        let over = || Err(too_large("what the model's provider sends", most, "bytes", "answerBytes"));
        (room, if bytes > room { over() } else { Ok(()) })
    }
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
        let events = Events {
            stream: (codec.stream)(),
            before: Alike::default(),
            answer: Assembler::default(),
            sent: 0,
        };
        Decoder { frames: Frames::of(codec), events, custom, failed: None, head: Vec::new() }
    }

    /// The same with other limits than the usual ones.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.events.answer.limits = limits;
        self
    }

    /// The same, which tells the arguments of calls of these tools while they come.
    #[must_use]
    pub fn telling(mut self, tools: Vec<String>) -> Self {
        self.events.answer.told = tools;
        self
    }

    /// The next bytes of the body, split anywhere.
    ///
    /// # Errors
    /// What the provider tells in the stream, `too_large` or `protocol`. The same again on every later call.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        self.check()?;
        let Decoder { frames, events, head, .. } = self;
        let (room, all) = events.room(bytes.len());
        let bytes = bytes.get(..room).unwrap_or(bytes);
        let result = frames.push(bytes, &mut |name, data| events.take(name, data, sink)).and(all);
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
        let Decoder { frames, events, .. } = self;
        let result = frames.end(&mut |name, data| events.take(name, data, sink));
        self.note(result)
    }

    /// One chat chunk of a custom provider, as JSON text.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn push_chunk(&mut self, json: &str, sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        self.check()?;
        let result = if self.custom {
            let (_, all) = self.events.room(json.len());
            all.and_then(|()| self.events.take("", json, sink))
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
        let Events { before, answer, .. } = &mut self.events;
        before.forget();
        answer.append_as(DeltaKind::Text, text, sink);
        let result = answer.check();
        self.note(result)
    }

    /// What the answer has used up, as far as its provider has told.
    pub fn usage(&self) -> Usage {
        self.events.stream.usage(&self.events.answer)
    }

    /// What kinds of things the provider has looked up for it so far, each once.
    pub fn looked_up(&self) -> &[String] {
        &self.events.answer.looked_up
    }

    /// What has come so far: `stop` is `None`, tool calls that are still open are left out.
    pub fn snapshot(&self) -> Answer {
        self.unfinished(self.events.answer.clone())
    }

    /// The same of an answer that is broken off: nothing is left here, so nothing is copied.
    pub fn break_off(&mut self) -> Answer {
        let answer = std::mem::take(&mut self.events.answer);
        self.unfinished(answer)
    }

    fn unfinished(&self, mut answer: Assembler) -> Answer {
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
        } else if !self.events.stream.whole(&mut self.events.answer) {
            if self.frames.dispatched() {
                broken("the answer broke off in the middle")
            } else {
                no_stream(&self.head)
            }
        } else if self.events.answer.has_nameless_call() {
            protocol("the model's tool call has no name")
        } else {
            let answer = std::mem::take(&mut self.events.answer);
            return Ok(self.finished(answer));
        };
        Err((error, self.break_off()))
    }

    fn finished(&self, mut answer: Assembler) -> Answer {
        self.events.stream.complete(&mut answer);
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
        ("a call", Wire::Gemini, |length| {
            let step = json!({ "type": "function_call", "id": "c", "name": "t", "arguments": {} });
            let mut events = vec![json!({ "event_type": "step.start", "index": 0, "step": step })];
            let delta = |text: &&str| json!({ "type": "arguments_delta", "arguments": text });
            let piece = |text| json!({ "event_type": "step.delta", "index": 0, "delta": delta(text) });
            events.extend(pieces(length).iter().map(piece));
            events.push(json!({ "event_type": "interaction.completed", "interaction": {} }));
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

    // ------------------------------------------------------------ what a provider looks up

    /// As soon as it begins: the answer may be cut before its end.
    #[test]
    fn what_a_provider_looks_up_is_known_at_once() {
        let begins =
            |item: Value| json!({ "type": "response.output_item.added", "output_index": 0, "item": item });
        let block =
            |block: Value| json!({ "type": "content_block_start", "index": 0, "content_block": block });
        let cites = json!({ "type": "citations_delta", "citation": { "url": "u" } });
        let chat = |delta: Value| json!({ "choices": [{ "delta": delta }] });
        for (wire, events, kinds) in [
            (Wire::Anthropic, vec![block(json!({ "type": "server_tool_use" }))], &["server_tool_use"][..]),
            (
                Wire::Anthropic,
                vec![
                    block(json!({ "type": "text", "text": "" })),
                    json!({ "type": "content_block_delta", "index": 0, "delta": cites }),
                    json!({ "type": "content_block_delta", "index": 0, "delta": cites }),
                ],
                &["citations"],
            ),
            (Wire::Anthropic, vec![block(json!({ "type": "redacted_thinking", "data": "x" }))], &[]),
            (
                Wire::OpenAiResponses,
                vec![
                    begins(json!({ "type": "web_search_call" })),
                    begins(json!({ "type": "file_search_call" })),
                ],
                &["web_search_call", "file_search_call"],
            ),
            (Wire::OpenAiResponses, vec![begins(json!({ "type": "reasoning" }))], &[]),
            (
                Wire::OpenAiResponses,
                vec![json!({ "type": "response.output_text.annotation.added", "annotation": {} })],
                &["annotations"],
            ),
            (
                Wire::Gemini,
                vec![
                    json!({ "event_type": "step.start", "index": 0, "step": { "type": "google_search_call" } }),
                    json!({ "event_type": "step.delta", "index": 1, "delta": { "type": "image", "data": "" } }),
                    json!({ "event_type": "step.delta", "index": 1, "delta": { "type": "text_annotation", "annotations": [{}] } }),
                ],
                &["google_search_call", "annotations"],
            ),
            (
                Wire::OpenAiChat,
                vec![chat(json!({ "content": "a", "annotations": [{ "type": "url_citation" }] }))],
                &["annotations"],
            ),
            (
                Wire::OpenAiChat,
                vec![
                    json!({ "choices": [{ "delta": { "content": "a" } }], "citations": [], "search_results": null }),
                    json!({ "choices": [{ "delta": { "content": "b" } }], "citations": ["u"] }),
                ],
                &["citations"],
            ),
            (Wire::OpenAiChat, vec![chat(json!({ "reasoning_details": [{ "text": "hm" }] }))], &[]),
        ] {
            let mut decoder = Decoder::new(wire);
            for event in &events {
                decoder.push(format!("data: {event}\n\n").as_bytes(), &mut |_| ()).unwrap();
            }
            assert_eq!(decoder.looked_up(), kinds, "{events:?}");
        }
    }

    // ------------------------------------------------------------ events like the one before

    /// What was told of an answer, each delta by itself, and what became of it.
    type Read = (Vec<(u32, DeltaKind, String)>, Result<Answer, (ErrorInfo, Answer)>);

    /// Reads a stream in these pieces; `parsed`: after each of them no event is like the one before.
    fn read<'a>(wire: Wire, pieces: impl IntoIterator<Item = &'a [u8]>, parsed: bool) -> Read {
        let (mut decoder, mut told) = (Decoder::new(wire).telling(vec!["t".into()]), Vec::new());
        for piece in pieces {
            // An error comes again from `finish`.
            let _ = decoder.push(piece, &mut |d| told.push((d.part, d.kind, d.text.to_string())));
            if parsed {
                decoder.events.before.forget();
            }
        }
        (told, decoder.finish())
    }

    type Texts = &'static [&'static str];

    /// How each wire begins an answer, pieces of it, and what ends it. `TEXT` stands for a text, `N` for a number.
    const PIECES: &[(Wire, Texts, Texts, Texts)] = &[
        (
            Wire::Anthropic,
            &[
                r#"{"type":"message_start","message":{"id":"m"}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"t"}}"#,
                r#"{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"s","name":"t"}}"#,
            ],
            &[
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":TEXT}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":TEXT}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"partial_json":TEXT,"type":"input_json_delta"}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":TEXT}}"#,
                r#"{"type":"ping"}"#,
            ],
            &[
                r#"{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        ),
        (
            Wire::OpenAiChat,
            &[],
            &[
                r#"{"id":"a","choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}],"obfuscation":TEXT}"#,
                r#"{"id":"a","choices":[{"delta":{"reasoning_content":TEXT,"reasoning":"or this"}}]}"#,
                r#"{"id":"a","choices":[{"delta":{"reasoning":TEXT,"content":TEXT}}],"usage":{"prompt_tokens":N}}"#,
                r#"{"choices":[{"delta":{"content":[{"type":"text","text":TEXT}],"refusal":TEXT}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":TEXT}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":N,"id":TEXT,"function":{"name":"t","arguments":"{"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":TEXT}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"t","arguments":TEXT}}]}}]}"#,
                r#"{"choices":[{"delta":{"content":TEXT}},{"delta":{"content":TEXT}}]}"#,
                r#"{"choices":[{"delta":{"content":TEXT},"finish_reason":"length"}]}"#,
                r#"{"choices":[{"index":1,"delta":{"content":TEXT}}]}"#,
            ],
            &["[DONE]", r#"{"choices":[{"delta":{"content":TEXT}}]}"#],
        ),
        (
            Wire::OpenAiResponses,
            &[
                r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"t"}}"#,
            ],
            &[
                r#"{"type":"response.output_text.delta","sequence_number":N,"output_index":0,"content_index":0,"delta":TEXT,"obfuscation":TEXT}"#,
                r#"{"type":"response.output_text.delta","sequence_number":N,"output_index":0,"content_index":N,"delta":TEXT}"#,
                r#"{"type":"response.reasoning_summary_text.delta","output_index":2,"summary_index":N,"delta":TEXT}"#,
                r#"{"type":"response.reasoning_text.delta","output_index":2,"delta":TEXT}"#,
                r#"{"type":"response.function_call_arguments.delta","output_index":N,"delta":TEXT}"#,
                r#"{"type":"response.refusal.delta","output_index":0,"delta":TEXT}"#,
                r#"{"type":"response.output_text.done","output_index":0,"text":TEXT}"#,
            ],
            &[r#"{"type":"response.completed","response":{}}"#],
        ),
        (
            Wire::Ollama,
            &[],
            &[
                r#"{"model":"m","created_at":TEXT,"message":{"role":"assistant","content":TEXT},"done":false}"#,
                r#"{"model":"m","created_at":TEXT,"message":{"content":"","thinking":TEXT},"done":false}"#,
                r#"{"message":{"content":TEXT,"thinking":TEXT},"done":false}"#,
                r#"{"message":{"content":TEXT,"tool_calls":[{"function":{"name":"t","arguments":TEXT}}]}}"#,
            ],
            &[r#"{"message":{"content":TEXT},"done":true}"#, r#"{"message":{"content":TEXT},"done":true}"#],
        ),
        (
            Wire::Gemini,
            &[
                r#"{"event_type":"step.start","index":1,"step":{"type":"function_call","id":"c","name":"t","arguments":{}}}"#,
                r#"{"event_type":"step.start","index":3,"step":{"type":"code_execution_call","id":"e"}}"#,
            ],
            &[
                r#"{"index":0,"delta":{"text":TEXT,"type":"text"},"event_type":"step.delta"}"#,
                r#"{"index":N,"delta":{"type":"text","text":TEXT},"event_type":"step.delta"}"#,
                r#"{"index":0,"delta":{"text":TEXT,"type":"text","annotations":[{"url":TEXT}]},"event_type":"step.delta"}"#,
                r#"{"index":2,"delta":{"content":{"text":TEXT,"type":"text"},"type":"thought_summary"},"event_type":"step.delta"}"#,
                r#"{"index":1,"delta":{"arguments":TEXT,"type":"arguments_delta"},"event_type":"step.delta"}"#,
                r#"{"index":1,"delta":{"arguments":TEXT,"signature":TEXT,"type":"arguments_delta"},"event_type":"step.delta"}"#,
                r#"{"index":2,"delta":{"signature":TEXT,"type":"thought_signature"},"event_type":"step.delta"}"#,
                r#"{"index":3,"delta":{"arguments":TEXT,"type":"code_execution_call"},"event_type":"step.delta"}"#,
            ],
            &[r#"{"event_type":"interaction.completed","interaction":{"status":"completed"}}"#],
        ),
    ];

    /// Texts as JSON, and what is none.
    const TEXTS: [&str; 12] = [
        r#""a""#,
        r#"" b""#,
        r#""""#,
        r#""\"{\\\"""#,
        r#""\u00e9 東""#,
        r#""\ud83d\udce6""#,
        r#""\ud83d""#,
        r#""\x""#,
        r#""\"obfuscation\":""#,
        "null",
        r#"{"a":"b"}"#,
        r#""cut"#,
    ];

    #[test]
    fn an_event_like_the_one_before_says_what_it_says_when_it_is_parsed() {
        let mut random = fastrand::Rng::with_seed(16);
        for (wire, begin, pieces, end) in PIECES {
            let mut like = 0;
            for _ in 0..3000 {
                let mut events: Vec<String> = begin.iter().map(ToString::to_string).collect();
                let mut piece = pieces[0];
                for _ in 0..random.usize(1..12) {
                    if random.u8(0..3) == 0 {
                        piece = pieces[random.usize(..pieces.len())];
                    }
                    events.push(piece.to_string());
                }
                events.extend(end.iter().map(ToString::to_string));
                let strange = random.u8(0..3) == 0;
                let frames: Vec<Vec<u8>> = events
                    .iter()
                    .map(|event| {
                        let mut event = event.clone();
                        let known = if strange { TEXTS.len() } else { 6 };
                        while let Some(at) = event.find("TEXT") {
                            event.replace_range(at..at + 4, TEXTS[random.usize(..known)]);
                        }
                        while let Some(at) = event.find('N') {
                            event.replace_range(at..=at, ["0", "1", "12", "-1"][random.usize(..4)]);
                        }
                        let mut bytes = event.into_bytes();
                        if strange && random.u8(0..8) == 0 {
                            let at = random.usize(..bytes.len());
                            bytes[at] = random.u8(0x20..0x80);
                        }
                        let (before, after) = match wire {
                            Wire::Ollama => ("", "\n"),
                            _ => (["data: ", "event: e\ndata: "][usize::from(random.u8(0..20) == 0)], "\n\n"),
                        };
                        [before.as_bytes(), &bytes, after.as_bytes()].concat()
                    })
                    .collect();
                let parsed = read(*wire, frames.iter().map(Vec::as_slice), true);
                let stream = frames.concat();
                let shown = || String::from_utf8_lossy(&stream);
                assert_eq!(read(*wire, [&stream[..]], false), parsed, "{}", shown());
                let (a, b) = stream.split_at(random.usize(..=stream.len()));
                assert_eq!(read(*wire, [a, b], false), parsed, "{}, cut at {}", shown(), a.len());
                let mut decoder = Decoder::new(*wire);
                for frame in &frames {
                    let text = String::from_utf8_lossy(frame);
                    let data =
                        text.trim_end().rsplit_once("data: ").map_or(text.trim_end(), |(_, data)| data);
                    like += u32::from(decoder.events.before.text(data).is_some());
                    let _ = decoder.push(frame, &mut |_| ());
                }
            }
            println!("{}: {like}", wire.as_str());
            assert!(like > 1000, "{}: {like}", wire.as_str());
        }
    }

    #[test]
    fn a_piece_is_the_same_wherever_it_is_cut() {
        for (wire, begin, pieces, _) in PIECES {
            let frame = |event: &str, number: &str, text: &str| match wire {
                Wire::Ollama => format!("{}\n", event.replace("TEXT", text).replace('N', number)),
                _ => format!("data: {}\n\n", event.replace("TEXT", text).replace('N', number)),
            };
            let mut stream: String = begin.iter().map(|event| frame(event, "", "")).collect();
            for (number, text) in [("1", r#""a""#), ("2", r#""é\n""#), ("10", r#"" \" ""#)] {
                stream.push_str(&frame(pieces[0], number, text));
            }
            let whole = read(*wire, [stream.as_bytes()], false);
            let said: String = whole.0.iter().map(|(_, _, text)| text.as_str()).collect();
            assert!(said.ends_with("aé\n \" "), "{said}");
            for at in 0..=stream.len() {
                let (a, b) = stream.as_bytes().split_at(at);
                assert_eq!(read(*wire, [a, b], false), whole, "{}, cut at {at}", wire.as_str());
                assert_eq!(read(*wire, [a, b], true), whole, "{}, cut at {at}", wire.as_str());
            }
        }
    }
}
