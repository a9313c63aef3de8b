//! Conversations that are longer than their model's window: what of one is still sent, and what stands for the rest.
//!
//! Decides where the conversation that is sent begins, and which results of tools are sent. Promises: nothing of it is
//! stored but the summary, so what shows and what is exported stays whole. A summary counts only while all that it was made
//! of is in the conversation. Leaves to others: where a conversation is cut and what is told of it (`summing`), when it has
//! to become shorter (`harness/runner/compaction`), and how it is written (`transcript`).

pub mod summing;

use crate::run::{Call, Run, Settled, Turn, Until};
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
            let before = runs.get(..=at).unwrap_or_default();
            if kept.shortened == Place::default()
                && let Some(place) = run.shortened.as_ref().and_then(|until| place_of(before, until))
            {
                kept.shortened = place;
            }
            if let Some(summary) = run.summaries.iter().rfind(|summary| summary.is_whole())
                && let Some(start) = place_of(before, &summary.until)
            {
                (kept.summary, kept.start) = (Some(summary.run.id.clone()), start);
                break;
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

    /// Whether only a stand-in is sent of the results of this turn.
    pub fn has_shortened(&self, run: usize, turns: usize) -> bool {
        Place { run, turns } < self.shortened
    }
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
