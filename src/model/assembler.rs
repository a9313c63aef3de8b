//! An answer under construction, for every wire.
//!
//! Decides the order and the numbers of the parts that are shown, and what can be kept of an answer that broke
//! off. Promises: a delta's part is the index of its block among the shown blocks of the final answer. The
//! deltas of a part, joined, are that block's text. Text is only ever appended, so the cost is linear. A tool
//! call whose arguments may be incomplete is left out. Leaves to others: what the wire's events mean
//! (the codecs).

use super::alike::addresses;
use super::errors::too_large;
use super::json::{Members, is_object, push_string};
use super::{
    Answer, Block, Delta, DeltaKind, ServerCall, StopReason, Usage, drop_open_server_calls, looked_up,
};
use crate::error::ErrorInfo;
use crate::json::push_text;
use crate::list::Listed;
use crate::maps::Named;
use crate::work;
use std::borrow::Cow;
use std::ops::Range;

/// What has come so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Assembler {
    parts: Vec<Part>,
    /// The indexes that have come, and the place of the latest part of each.
    indexes: Named<()>,
    places: Vec<usize>,
    /// How many parts have a number.
    shown: u32,
    /// The place of the part that got the last one.
    shown_at: usize,
    /// How much of it is taken.
    pub(super) limits: Limits,
    /// What there was too much of.
    over: Option<Over>,
    /// The places of the tool calls.
    calls: Vec<usize>,
    /// The tools whose arguments are told while they come.
    pub(super) told: Vec<String>,
    /// How many bytes were said.
    said: usize,
    /// What was appended last, and to what.
    pub(super) grown: Grown,
    /// Why it ended, once that is known.
    pub(super) stop: Option<StopReason>,
    /// What it cost so far.
    pub(super) usage: Usage,
    /// The model that answers.
    pub(super) model: Option<String>,
    /// The provider's id of the answer.
    pub(super) id: Option<String>,
    /// What the provider added to the whole answer, as a JSON object; empty: nothing. A raw block at its end.
    pub(super) extra: String,
    /// What kinds of things the provider has looked up for it, each once.
    pub(super) looked_up: Vec<String>,
}

/// How much is taken of an answer. What is more ends it with `too_large`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of what it says, in bytes: texts, thinking and arguments. Its provider may send four times that, because each piece
    /// of it comes with a good deal around it.
    pub answer: usize,
    /// Of the arguments of one call, in bytes.
    pub arguments: usize,
    /// How many calls it may have.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { answer: 16 * 1024 * 1024, arguments: 4 * 1024 * 1024, calls: 128 }
    }
}

/// What an answer has too much of.
#[derive(Clone, Copy, Debug)]
enum Over {
    Answer,
    Arguments,
    Calls,
}

/// What an event has appended.
#[derive(Clone, Debug, Default)]
pub(super) struct Grown {
    /// How often.
    pub(super) times: u32,
    /// Where the last text lies in memory.
    pub(super) text: Range<usize>,
    /// The place of the part that it was appended to.
    at: usize,
}

impl Grown {
    fn note(&mut self, at: usize, piece: &str) {
        if !piece.is_empty() {
            *self = Grown { times: self.times + 1, text: addresses(piece), at };
        }
    }
}

/// One block under construction.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The wire's index of it.
    pub(super) index: u32,
    /// What it is.
    pub(super) body: Body,
    /// What the provider added to it: members of an object, without the braces.
    pub(super) extra: String,
    /// The citations of a text, with commas between them.
    pub(super) citations: String,
    /// The name of the tool that the provider runs, where this is such a call; empty: it is none.
    served: String,
    /// Whether more may come.
    open: bool,
    /// How many bytes of the arguments were told.
    told: usize,
    /// Its place among the shown ones, once there is something to show.
    number: Option<u32>,
    /// The place of the latest one before it that has its index.
    before: Option<usize>,
}

/// What a block is.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// Text.
    Text(String),
    /// Thinking.
    Thinking {
        /// What can be shown.
        text: String,
        /// Empty where there is none.
        signature: String,
    },
    /// A tool call.
    Call {
        /// Empty until it is known.
        id: String,
        /// Empty until it is known.
        name: String,
        /// As much as has come.
        arguments: String,
        /// They came whole with the beginning; pieces that follow take their place.
        whole: bool,
    },
    /// Something that only the provider understands.
    Raw {
        /// As it began; empty as long as nothing of it can be kept.
        json: String,
        /// Its `input`, as much as has come, where that is streamed.
        input: String,
        /// Other changes to it, each an object.
        changes: Vec<String>,
    },
}

impl Part {
    /// A block that begins.
    pub(super) fn new(index: u32, body: Body) -> Self {
        Part {
            index,
            body,
            extra: String::new(),
            citations: String::new(),
            served: String::new(),
            open: true,
            told: 0,
            number: None,
            before: None,
        }
    }

    /// Adds a member that is not ours, to be sent back with the block.
    pub(super) fn add_extra(&mut self, name: &str, value: &str) {
        if !self.extra.is_empty() {
            self.extra.push(',');
        }
        push_text(&mut self.extra, name);
        self.extra.push(':');
        self.extra.push_str(value);
    }

    /// Adds a piece of what a tool is given. False where the block has no input.
    fn add_input(&mut self, piece: &str) -> bool {
        match &mut self.body {
            Body::Call { arguments, whole, .. } => {
                if !piece.is_empty() {
                    if std::mem::take(whole) {
                        arguments.clear();
                    }
                    arguments.push_str(piece);
                }
                true
            }
            Body::Raw { input, .. } => {
                input.push_str(piece);
                true
            }
            Body::Text(_) | Body::Thinking { .. } => false,
        }
    }

    /// Adds a citation of a text.
    pub(super) fn add_citation(&mut self, citation: &str) {
        if !self.citations.is_empty() {
            self.citations.push(',');
        }
        self.citations.push_str(citation);
    }
}

impl Assembler {
    /// Begins a block; the one before it has ended. Gives its place, where there is none if it is a call too many.
    pub(super) fn begin(&mut self, part: Part) -> usize {
        if let Some(last) = self.parts.last_mut() {
            last.open = false;
        }
        if matches!(part.body, Body::Call { .. }) && self.calls.len() >= self.limits.calls {
            self.over = Some(Over::Calls);
            return usize::MAX;
        }
        let at = self.push(part);
        self.measure(at);
        at
    }

    /// Puts a part behind the others: its place.
    fn push(&mut self, mut part: Part) -> usize {
        let at = self.parts.len();
        let index = part.index.to_string();
        part.before = match self.indexes.number(&index).and_then(|number| self.places.get_mut(number)) {
            Some(latest) => Some(std::mem::replace(latest, at)),
            None => {
                self.indexes.insert(&index, ());
                self.places.push(at);
                None
            }
        };
        if matches!(part.body, Body::Call { .. }) {
            self.calls.push(at);
        }
        self.parts.push(part);
        at
    }

    /// The arguments of the call at a place have grown, if it is one.
    pub(super) fn measure(&mut self, at: usize) {
        if let Some(Part { body: Body::Call { arguments, .. }, .. }) = self.parts.get(at)
            && arguments.len() > self.limits.arguments
        {
            self.over = Some(Over::Arguments);
        }
    }

    /// Whether a piece of what is said is taken.
    fn takes(&mut self, piece: &str) -> bool {
        self.said = self.said.saturating_add(piece.len());
        if self.said > self.limits.answer {
            self.over = Some(Over::Answer);
        }
        self.over.is_none()
    }

    /// Whether all of it was taken.
    ///
    /// # Errors
    /// `too_large`
    pub(super) fn check(&self) -> Result<(), ErrorInfo> {
        let Limits { answer, arguments, calls } = self.limits;
        let what = "the model's answer";
        Err(match self.over {
            None => return Ok(()),
            Some(Over::Answer) => too_large(what, answer, "bytes", "answerBytes"),
            Some(Over::Arguments) => {
                too_large("a tool call of the model", arguments, "bytes", "argumentBytes")
            }
            Some(Over::Calls) => too_large(what, calls, "tool calls", "callsPerAnswer"),
        })
    }

    /// The provider has looked something of this kind up.
    pub(super) fn looks_up(&mut self, kind: &str) {
        if let Some(kind) = looked_up(kind).filter(|kind| !self.looked_up.contains(kind)) {
            self.looked_up.push(kind);
        }
    }

    /// The place of the latest block of this index that is like this. Nearly always it is the last.
    pub(super) fn find(&self, index: u32, like: &dyn Fn(&Part) -> bool) -> Option<usize> {
        let last = self.latest(None).filter(|at| self.parts.get(*at).is_some_and(|part| part.index == index));
        let known = || self.places.get(self.indexes.number(&index.to_string())?).copied();
        let mut next = last.or_else(known);
        while let Some(at) = next {
            work::did(1);
            let part = self.parts.get(at)?;
            if like(part) {
                break;
            }
            next = part.before;
        }
        next
    }

    /// The place of the latest tool call that is like this.
    pub(super) fn find_call(&self, like: &dyn Fn(&Part) -> bool) -> Option<usize> {
        let is_it = |at: &&usize| {
            work::did(1);
            self.parts.get(**at).is_some_and(like)
        };
        self.calls.iter().rev().find(is_it).copied()
    }

    /// The place of the latest block, of this index if there is one.
    pub(super) fn latest(&self, index: Option<u32>) -> Option<usize> {
        match index {
            Some(index) => self.find(index, &|_| true),
            None => self.parts.len().checked_sub(1),
        }
    }

    /// The block at a place.
    pub(super) fn part(&mut self, at: usize) -> Option<&mut Part> {
        self.parts.get_mut(at)
    }

    /// Appends to the last block if it is of this kind, else to a new one.
    pub(super) fn append_as(&mut self, kind: DeltaKind, piece: &str, sink: &mut dyn FnMut(Delta<'_>)) {
        if piece.is_empty() {
            return;
        }
        let at = match (kind, self.parts.last().map(|part| &part.body)) {
            (DeltaKind::Text, Some(Body::Text(_))) | (DeltaKind::Thinking, Some(Body::Thinking { .. })) => {
                self.parts.len() - 1
            }
            (DeltaKind::Thinking, _) => {
                let body = Body::Thinking { text: String::new(), signature: String::new() };
                self.begin(Part::new(u32::MAX, body))
            }
            _ => self.begin(Part::new(u32::MAX, Body::Text(String::new()))),
        };
        self.append(at, piece, sink);
    }

    /// The block at a place has ended.
    pub(super) fn end(&mut self, at: usize) {
        if let Some(part) = self.parts.get_mut(at) {
            part.open = false;
        }
    }

    /// Appends to a text or to thinking. False where the block is neither.
    pub(super) fn append(&mut self, at: usize, piece: &str, sink: &mut dyn FnMut(Delta<'_>)) -> bool {
        if !self.takes(piece) {
            return true;
        }
        let place = if piece.is_empty() { at } else { self.show(at) };
        let Some(part) = self.parts.get_mut(place) else { return false };
        let (kind, text) = match &mut part.body {
            Body::Text(text) => (DeltaKind::Text, text),
            Body::Thinking { text, .. } => (DeltaKind::Thinking, text),
            Body::Call { .. } | Body::Raw { .. } => return false,
        };
        if let (Some(number), false) = (part.number, piece.is_empty()) {
            self.grown.note(place, piece);
            text.push_str(piece);
            sink(Delta { part: number, kind, text: piece });
        }
        true
    }

    /// Adds a piece of what a tool is given. False where the block has no input.
    pub(super) fn add_input(&mut self, at: usize, piece: &str) -> bool {
        if !self.takes(piece) {
            return true;
        }
        self.grown.note(at, piece);
        let added = self.parts.get_mut(at).is_some_and(|part| part.add_input(piece));
        self.measure(at);
        added
    }

    /// Appends to what the last piece was appended to.
    pub(super) fn go_on(&mut self, piece: &str, sink: &mut dyn FnMut(Delta<'_>)) {
        let at = self.grown.at;
        match self.parts.get(at) {
            Some(Part { body: Body::Text(_) | Body::Thinking { .. }, .. }) => self.append(at, piece, sink),
            Some(_) => self.add_input(at, piece),
            None => false,
        };
    }

    /// Tells of a tool call whose name is known.
    pub(super) fn announce(&mut self, at: usize, sink: &mut dyn FnMut(Delta<'_>)) {
        let named = |part: &Part| matches!(&part.body, Body::Call { name, .. } if !name.is_empty());
        if !self.parts.get(at).is_some_and(|part| part.number.is_none() && named(part)) {
            return;
        }
        let at = self.show(at);
        if let Some(Part { number: Some(number), body: Body::Call { name, .. }, .. }) = self.parts.get(at) {
            sink(Delta { part: *number, kind: DeltaKind::ToolCall, text: name });
        }
    }

    /// Tells what has come of the arguments of calls, where that is asked for. What came with the beginning of a call is told
    /// once it cannot be taken back.
    pub(super) fn tell_arguments(&mut self, sink: &mut dyn FnMut(Delta<'_>)) {
        for at in &self.calls {
            work::did(1);
            let Some(Part { number: Some(number), body, told, .. }) = self.parts.get_mut(*at) else {
                continue;
            };
            let Body::Call { name, arguments, whole: false, .. } = body else { continue };
            if let Some(news) =
                arguments.get(*told..).filter(|news| !news.is_empty() && self.told.contains(name))
            {
                sink(Delta { part: *number, kind: DeltaKind::Arguments, text: news });
                *told = arguments.len();
            }
        }
    }

    /// The block at a place is a call that the provider carries out itself: tells of it.
    pub(super) fn serves(&mut self, at: usize, name: &str, sink: &mut dyn FnMut(Delta<'_>)) {
        let Some(part) = self.parts.get_mut(at).filter(|part| part.served.is_empty()) else { return };
        part.served.push_str(if name.is_empty() { "tool" } else { name });
        let at = self.show(at);
        if let Some(Part { number: Some(number), served, .. }) = self.parts.get(at) {
            sink(Delta { part: *number, kind: DeltaKind::ServerCall, text: served });
        }
    }

    /// Gives a block its number, and a place in the order of the numbers: its new place.
    fn show(&mut self, at: usize) -> usize {
        let Some(part) = self.parts.get_mut(at).filter(|part| part.number.is_none()) else { return at };
        if matches!(part.body, Body::Raw { .. }) && part.served.is_empty() {
            return at;
        }
        part.number = Some(self.shown);
        self.shown += 1;
        if at >= self.shown_at {
            self.shown_at = at;
            return at;
        }
        // Nothing is left in its old place, because the others would have to move.
        let nothing = Body::Raw { json: String::new(), input: String::new(), changes: Vec::new() };
        let gap = Part { before: part.before, ..Part::new(part.index, nothing) };
        let part = std::mem::replace(part, gap);
        self.calls.retain(|call| *call != at);
        self.shown_at = self.push(part);
        self.shown_at
    }

    /// Whether a tool call never got a name.
    pub(super) fn has_nameless_call(&self) -> bool {
        self.parts.iter().any(|part| matches!(&part.body, Body::Call { name, .. } if name.is_empty()))
    }

    /// The answer as far as it came.
    pub(super) fn into_answer(self) -> Answer {
        let Assembler { parts, shown, mut stop, usage, model, id, extra, .. } = self;
        let mut blocks = Vec::new();
        let mut ids: Vec<String> = Vec::new();
        for part in parts {
            let last = part.number.is_some_and(|number| number + 1 == shown);
            match part.body {
                Body::Text(text) if text.is_empty() => continue,
                Body::Text(text) => blocks.push(Block::Text(text)),
                Body::Thinking { text, signature } if text.is_empty() && signature.is_empty() => continue,
                Body::Thinking { text, signature } => {
                    blocks
                        .push(Block::Thinking { text, signature: Some(signature).filter(|s| !s.is_empty()) });
                }
                Body::Call { id, name, arguments, .. } => {
                    let cut = match stop {
                        None => part.open,
                        Some(StopReason::EndTurn | StopReason::ToolUse | StopReason::Pause) => false,
                        // What cut the answer may have cut the call that came last.
                        Some(_) => last && !is_object(&arguments),
                    };
                    if cut || name.is_empty() {
                        continue;
                    }
                    let id = unique(id, &ids);
                    ids.push(id.clone());
                    let arguments = if arguments.trim().is_empty() { "{}".into() } else { arguments };
                    blocks.push(Block::ToolCall { id, name, arguments });
                }
                Body::Raw { json, .. } if json.is_empty() && part.served.is_empty() => continue,
                Body::Raw { json, .. } if json.is_empty() => {}
                Body::Raw { json, input, changes } => {
                    blocks.push(Block::Raw(changed(json, &input, &changes)))
                }
            }
            let mut extra = part.extra;
            if !part.citations.is_empty() {
                if !extra.is_empty() {
                    extra.push(',');
                }
                extra.push_str("\"citations\":[");
                extra.push_str(&part.citations);
                extra.push(']');
            }
            if !extra.is_empty() {
                blocks.push(Block::Extra(["{", &extra, "}"].concat()));
            }
            if !part.served.is_empty() {
                blocks.push(Block::ServerCall(ServerCall::named(&part.served)));
            }
        }
        if !extra.is_empty() {
            blocks.push(Block::Raw(extra));
        }
        if !matches!(stop, Some(StopReason::ToolUse | StopReason::Pause)) {
            drop_open_server_calls(&mut blocks);
        }
        // Servers disagree on what they call an end with tool calls: the calls themselves decide.
        if matches!(stop, Some(StopReason::EndTurn | StopReason::ToolUse)) {
            stop = Some(if ids.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse });
        }
        Answer { blocks, stop, usage, model, id }
    }
}

/// An id that no call of this answer has yet: the provider's own if it can be.
fn unique(id: String, taken: &[String]) -> String {
    if !id.is_empty() && !taken.contains(&id) {
        return id;
    }
    let mut number = taken.len() + 1;
    loop {
        let id = ["call_", &number.to_string()].concat();
        if !taken.contains(&id) {
            return id;
        }
        number += 1;
    }
}

/// A raw block with its streamed input and other changes in place. Strings grow, other values are replaced.
fn changed(json: String, input: &str, changes: &[String]) -> String {
    let input = if is_object(input) { input } else { "" };
    if input.is_empty() && changes.is_empty() {
        return json;
    }
    let members = Members::of(&json).unwrap_or_default();
    let mut members: Vec<(Cow<'_, str>, Cow<'_, str>)> =
        members.all().map(|(name, value)| (name.into(), value.into())).list();
    let mut set = |name: Cow<'_, str>, value: &str| match members.iter_mut().find(|(n, _)| *n == name) {
        None => members.push((name.into_owned().into(), value.to_string().into())),
        Some((_, old)) if old.starts_with('"') && value.starts_with('"') => push_string(old.to_mut(), value),
        Some((_, old)) => *old = value.to_string().into(),
    };
    if !input.is_empty() {
        set("input".into(), input);
    }
    for change in changes {
        for (name, value) in Members::of(change).unwrap_or_default().all() {
            if name != "type" {
                set(name.into(), value);
            }
        }
    }
    let mut out = String::from("{");
    for (name, value) in &members {
        if out.len() > 1 {
            out.push(',');
        }
        push_text(&mut out, name);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_blocks_take_their_streamed_input_and_changes() {
        let start = r#"{"type":"server_tool_use","id":"s","name":"n","input":{},"x":1.50}"#;
        assert_eq!(changed(start.into(), "", &[]), start);
        assert_eq!(changed(start.into(), "{\"cut", &[]), start);
        assert_eq!(
            changed(start.into(), r#"{"q": 1.0}"#, &[]),
            r#"{"type":"server_tool_use","id":"s","name":"n","input":{"q": 1.0},"x":1.50}"#
        );
        let changes = [
            r#"{"type":"compaction_delta","content":"a\n"}"#.to_string(),
            r#"{"type":"compaction_delta","content":"b","encrypted_content":"e"}"#.into(),
        ];
        assert_eq!(
            changed(r#"{"type":"compaction","content":null}"#.into(), "", &changes),
            r#"{"type":"compaction","content":"a\nb","encrypted_content":"e"}"#
        );
        // A pair that was cut in two is one again.
        let halves = [r#"{"content":"\ud83d"}"#.to_string(), r#"{"content":"\udce6"}"#.into()];
        assert_eq!(changed("{}".into(), "", &halves), r#"{"content":"\ud83d\udce6"}"#);
    }

    #[test]
    fn blocks_that_interleave_are_ordered_by_what_was_shown_first() {
        let mut assembler = Assembler::default();
        let mut deltas = Vec::new();
        let mut sink = |delta: Delta<'_>| deltas.push((delta.part, delta.text.to_string()));
        let empty = assembler.begin(Part::new(0, Body::Text(String::new())));
        let late = assembler.begin(Part::new(1, Body::Text(String::new())));
        let early = assembler.begin(Part::new(2, Body::Text(String::new())));
        assert!(assembler.append(early, "early", &mut sink));
        assert!(assembler.append(late, "late", &mut sink));
        let late = assembler.latest(Some(1)).unwrap();
        assert!(assembler.append(late, " too", &mut sink));
        assert!(assembler.append(empty, "", &mut sink));
        assert_eq!(deltas, [(0, "early".to_string()), (1, "late".into()), (1, " too".into())]);
        assert_eq!(
            assembler.into_answer().blocks,
            [Block::Text("early".into()), Block::Text("late too".into())]
        );
    }

    #[test]
    fn calls_without_an_id_or_with_one_that_is_taken_get_one() {
        let mut assembler = Assembler { stop: Some(StopReason::EndTurn), ..Assembler::default() };
        for id in ["call_2", "", "call_2", "x"] {
            let body = Body::Call { id: id.into(), name: "n".into(), arguments: String::new(), whole: false };
            assembler.begin(Part::new(0, body));
        }
        let answer = assembler.into_answer();
        assert_eq!(answer.stop, Some(StopReason::ToolUse));
        let ids: Vec<&str> = answer
            .blocks
            .iter()
            .map(|block| match block {
                Block::ToolCall { id, arguments, .. } if arguments == "{}" => id.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(ids, ["call_2", "call_3", "call_4", "x"]);
    }
}
