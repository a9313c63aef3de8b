//! Conversations that are longer than their model's window: what of one is still sent, and what stands for the rest.
//!
//! Decides where the conversation that is sent begins, and which results of tools are sent. Promises: nothing of it is
//! stored but the summary, so what shows and what is exported stays whole. A summary counts only while all that it was made
//! of is in the conversation. Leaves to others: where a conversation is cut and what is told of it (`summing`), when it has
//! to become shorter (`harness/runner/compaction`), and how it is written (`transcript`).

pub mod summing;

use crate::model::{Block, FileKind};
use crate::run::{Call, CallState, Prompt, Run, Said, Settled, Shortened, Summary, Turn, Until};
use crate::session::{Earlier, Session};
use crate::tools::own::USE_SKILL;

/// A place in a conversation: behind so many runs, and behind so many turns of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// How many runs are before it.
    pub run: usize,
    /// How many turns of the next one are.
    pub turns: usize,
}

/// What a model remembers of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The id of the run that has summed up what was said first.
    pub summary: Option<String>,
    /// Where what is sent word for word begins.
    pub start: Place,
    /// Up to where only what stands for results of tool calls is sent.
    pub shortened: Place,
    /// Since when it is so: behind so many runs, and so many model calls of the next. What was counted before that was longer.
    since: (usize, u64),
}

/// How long a result is that is worth a stand-in, in bytes.
const LONG: usize = 400;

/// How much of the arguments of a call its stand-in has, in bytes.
const ARGUMENTS: usize = 200;

/// Where what was left out began.
const CUT: &str = " […]";

impl Window {
    /// What is remembered of these runs.
    pub fn of(runs: &[Run]) -> Window {
        let mut kept = Window::default();
        for (at, run) in runs.iter().enumerate().rev() {
            // What was left out in runs before that is summed up.
            if kept.summary.is_some() && at < kept.start.run {
                break;
            }
            let before = runs.get(..=at).unwrap_or_default();
            if kept.shortened == Place::default()
                && let Some(Shortened { until, calls, .. }) = run.shortened.last()
                && let Some(place) = place_of(before, until)
            {
                kept.shortened = place;
                kept.since = kept.since.max((at, *calls));
            }
            if kept.summary.is_none()
                && let Some(summary) = run.summaries.iter().rfind(|summary| summary.is_whole())
                && let Some(start) = place_of(before, &summary.until)
            {
                (kept.summary, kept.start) = (Some(summary.run.id.clone()), start);
                kept.since = kept.since.max((at, summary.calls));
            }
        }
        kept
    }

    /// Whether a model has answered behind the place where it begins: that can be summed up.
    pub fn has_answers(&self, runs: &[Run]) -> bool {
        let first = |at: usize| if at == self.start.run { self.start.turns } else { 0 };
        let behind = runs.iter().enumerate().skip(self.start.run);
        let mut turns = behind.flat_map(|(at, run)| run.turns.iter().skip(first(at)));
        turns.any(Turn::answered)
    }

    /// Whether a turn was counted since it is so.
    pub fn is_since(&self, run: usize, turn: &Turn) -> bool {
        (run, turn.call) > self.since
    }

    /// Whether only a stand-in is sent of the results of this turn.
    pub fn has_shortened(&self, run: usize, turns: usize) -> bool {
        Place { run, turns } < self.shortened
    }
}

/// How many bytes have how many tokens, about, as long as nobody has counted.
pub const GUESS: (usize, u64) = (4, 1);

/// How a conversation is measured.
#[derive(Clone, Copy, Debug)]
pub struct Measure<'a> {
    /// How many bytes have how many tokens, about.
    pub ratio: (usize, u64),
    /// How many bytes a request has besides the conversation.
    pub beside: usize,
    /// How many bytes stand for what was summed up.
    pub told: usize,
    /// Who counts: [`Peer::name`](crate::model::Peer). `None`: each one that has answered.
    pub by: Option<&'a str>,
}

/// So much of an amount as `part` is of the `whole`. What no number can hold comes out smaller.
pub fn share(amount: u64, part: u64, whole: u64) -> u64 {
    amount.saturating_mul(part) / whole.max(1)
}

impl Measure<'_> {
    /// How many tokens so many bytes have, about.
    pub fn tokens_of(&self, bytes: usize) -> u64 {
        let (of, tokens) = self.ratio;
        share(tokens, bytes as u64, of as u64)
    }

    /// How many tokens the next request has, about: what was counted last, and an estimate of what came since.
    pub fn used(&self, runs: &[Run], kept: &Window) -> u64 {
        // What came since, and what was said to have been counted with what a provider has looked up.
        let (mut bytes, mut searched) = (0, None);
        for (at, run) in runs.iter().enumerate().skip(kept.start.run).rev() {
            let first = if at == kept.start.run { kept.start.turns } else { 0 };
            let steered = |after: usize| {
                let behind = run.steered.iter().filter(move |steered| steered.after == after);
                behind.map(|steered| bytes_of_prompt(&steered.prompt)).sum::<usize>()
            };
            for (n, turn) in run.turns.iter().enumerate().skip(first).rev() {
                bytes += steered(n + 1) + bytes_of_results(turn, kept.has_shortened(at, n));
                let said = bytes_of(turn.said.blocks());
                if let Said::Whole { provider, .. } = &turn.said
                    && turn.read > 0
                    && kept.is_since(at, turn)
                    && self.by.is_none_or(|by| by == provider)
                {
                    // What it has thought does not always go back.
                    let all = turn.read.saturating_add(turn.wrote.min(said as u64));
                    if !has_looked_up(turn) {
                        return self.with(all, bytes, searched);
                    }
                    // It may have read the conversation once for each search.
                    searched = searched.or(Some((all, bytes)));
                }
                bytes += said;
            }
            if first == 0 {
                bytes += steered(0) + bytes_of_prompt(&run.prompt);
                bytes += run.reminded.iter().map(|(id, text)| id.len() + text.len()).sum::<usize>();
            }
        }
        let mut summaries = runs.iter().flat_map(|run| &run.summaries);
        let told = kept.summary.as_ref().and_then(|id| summaries.find(|summary| summary.run.id == *id));
        bytes += told.and_then(Summary::text).map_or(0, |text| text.len().max(self.told));
        self.with(0, bytes + self.beside, searched)
    }

    /// So many tokens with so many bytes behind them. What was counted with what a provider has looked up is no more than a
    /// token a byte.
    fn with(&self, counted: u64, bytes: usize, searched: Option<(u64, usize)>) -> u64 {
        let (counted, bytes) = match searched {
            Some((all, since)) => (all.min(counted.saturating_add((bytes - since) as u64)), since),
            None => (counted, bytes),
        };
        counted.saturating_add(self.tokens_of(bytes))
    }
}

/// How many bytes of text cost about as much as an image.
const IMAGE: usize = 6_400;

/// The same of a document at the most: how many pages it has is not known.
const DOCUMENT: usize = 120_000;

/// How many bytes a message has besides what it says, about.
const MESSAGE: usize = 16;

/// How many bytes these have in a request, about. Files have as many as text that costs the same.
fn bytes_of(blocks: &[Block]) -> usize {
    let of = |block: &Block| match block {
        Block::Text(text) | Block::Extra(text) | Block::Raw(text) => text.len(),
        Block::Thinking { text, signature } => signature.as_ref().map_or(0, |proof| text.len() + proof.len()),
        Block::ToolCall { name, arguments, .. } => MESSAGE + name.len() + arguments.len(),
        Block::File(file) => {
            let size = usize::try_from(file.size).unwrap_or(usize::MAX);
            match file.kind() {
                FileKind::Text => size,
                FileKind::Image => IMAGE,
                FileKind::Document => DOCUMENT.min(size / 16),
                FileKind::Other => 0,
            }
        }
        _ => 0,
    };
    MESSAGE + blocks.iter().map(of).sum::<usize>()
}

/// How many bytes a result has for its frame, about.
const FRAME: usize = 80;

/// The same of what results of tools have. `shortened`: of what stands for them.
fn bytes_of_results(turn: &Turn, shortened: bool) -> usize {
    let of = |call: &Call| match &call.state {
        CallState::Settled(settled) => match stand_in(call, settled).filter(|_| shortened) {
            Some(text) => FRAME + text.len(),
            None => FRAME + settled.text.len() + bytes_of(&settled.files),
        },
        _ => 0,
    };
    turn.calls.iter().map(of).sum()
}

/// The same of a message.
fn bytes_of_prompt(prompt: &Prompt) -> usize {
    prompt.text.len() + prompt.context.as_deref().map_or(0, str::len) + bytes_of(&prompt.files)
}

/// Whether its provider has carried out calls itself: what it has read then is not in the request.
pub fn has_looked_up(turn: &Turn) -> bool {
    turn.said.blocks().iter().any(|block| matches!(block, Block::ServerCall(_)))
}

/// The runs of a conversation, and what is known of those before them that the session goes on without.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// Its runs.
    pub runs: &'a [Run],
    /// What is known of those before them.
    pub earlier: Option<&'a Earlier>,
}

/// The conversation that a run asks its model about: the session's, or its own where it works for another.
pub fn conversation_of<'a>(session: &'a Session, run: &str) -> Conversation<'a> {
    let asks = |part: &&Run| part.id == run || part.summarizer().is_some_and(|of| of.id == run);
    let asking =
        session.runs.last().filter(|top| top.id != run).and_then(|top| top.parts().into_iter().find(asks));
    match asking {
        Some(asking) if asking.delegate.is_some() => {
            Conversation { runs: std::slice::from_ref(asking), earlier: None }
        }
        _ => session.asked(),
    }
}

/// Where this place is among these runs.
fn place_of(runs: &[Run], until: &Until) -> Option<Place> {
    let run = runs.iter().rposition(|run| run.id == until.run)?;
    Some(Place { run, turns: until.turns })
}

/// The same as an entry has it.
pub fn until(runs: &[Run], place: Place) -> Option<Until> {
    Some(Until { run: runs.get(place.run)?.id.clone(), turns: place.turns })
}

/// The beginning of a text, of at most so many bytes.
pub(super) fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// The same with a mark where something is left out.
fn short(text: &str, most: usize) -> String {
    let part = head(text, most);
    [part, if part.len() < text.len() { CUT } else { "" }].concat()
}

/// A skill that a call has read: how it was asked for, and what it says.
pub fn skill_of(call: &Call) -> Option<(&str, &str)> {
    match &call.state {
        CallState::Settled(settled) if call.name == USE_SKILL && settled.error.is_none() => {
            Some((&call.arguments, &settled.text))
        }
        _ => None,
    }
}

/// What stands for the result of a tool call. `None`: it is not longer than that.
pub fn stand_in(call: &Call, settled: &Settled) -> Option<String> {
    // What a skill says counts for as long as the conversation goes on.
    if call.name == USE_SKILL || settled.text.len() < LONG && settled.files.is_empty() {
        return None;
    }
    let size = settled.text.len().to_string();
    let arguments = short(&call.arguments, ARGUMENTS);
    Some(
        [
            "[What ",
            &call.name,
            "(",
            &arguments,
            ") gave, ",
            &size,
            " bytes, was left out, because the conversation is long. Call it again if that is needed.]",
        ]
        .concat(),
    )
}

/// The summaries that were made of these runs or of any before them, and that others carry: with the ids of their runs.
pub fn made_of(runs: &[Run], gone: &dyn Fn(&Run) -> bool) -> Vec<String> {
    let Some(first) = runs.iter().position(gone) else { return Vec::new() };
    let mut ids = Vec::new();
    for (at, run) in runs.iter().enumerate().skip(first) {
        for summary in &run.summaries {
            let until = place_of(runs.get(..=at).unwrap_or_default(), &summary.until);
            if until.is_none_or(|until| until.run >= first) {
                ids.push(summary.run.id.clone());
            }
        }
    }
    ids
}
