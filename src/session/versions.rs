//! Versions: a message that was edited, an answer that was made anew.
//!
//! Decides what a new version takes the place of, which messages are versions of each other, and what the conversation
//! was with an older one. Promises: what leaves the conversation is kept, in the order in which it left, until the
//! conversation is cleared. The work of an edit is that of the messages it puts aside. Leaves to others: which message
//! may be edited (`harness/`), what of it is shown (`view`) and sent (`transcript`).
//!
//! An edit is another version of the person's message, with an answer of its own. An answer made anew is another version
//! of the answer: the message before it stays what it was, its id included. So the versions of an answer are answers to
//! one and the same message. Where a failed run was gone on with, the first of its answers stands for all of them.

use super::Session;
use crate::list::Listed;
use crate::maps::Named;
use crate::run::{Prompt, Run, Steered, answer_id};

/// Runs that a newer version has taken the place of.
#[derive(Clone, Debug)]
struct Replaced {
    /// How many runs of the conversation stood before them.
    at: usize,
    runs: Vec<Run>,
}

/// What a session keeps of the versions of its messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    /// The oldest first.
    replaced: Vec<Replaced>,
    /// The ids of all versions in their order, by the id of the first.
    lists: Named<Vec<String>>,
}

impl Versions {
    /// The runs that have left the conversation, to change what is known of their files.
    pub fn runs_mut(&mut self) -> impl Iterator<Item = &mut Run> {
        self.replaced.iter_mut().flat_map(|replaced| &mut replaced.runs)
    }
}

/// Whether a message is what was said to a run, or what it has answered.
fn shows(run: &Run, message: &str) -> bool {
    run.message().0 == message || run.is_answer(message)
}

impl Session {
    /// Every run since the conversation was last cleared, also those that have left it.
    pub fn all_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().chain(self.versions.replaced.iter().flat_map(|replaced| &replaced.runs))
    }

    /// Which run of the conversation as it is now a person's message with this id began, or an answer is the first of.
    pub(crate) fn place_of(&self, message: &str) -> Option<usize> {
        self.runs.iter().rposition(|run| run.prompt.continues.is_none() && shows(run, message))
    }

    /// The run that the answer with this id, or the last one, belongs to: of several that go on with each other the
    /// first.
    pub(crate) fn answered_by(&self, answer: Option<&str>) -> Option<&Run> {
        let wanted = |run: &Run| answer.is_none_or(|answer| run.is_answer(answer));
        let until = self.runs.iter().rposition(wanted)?;
        self.runs.get(..=until)?.iter().rfind(|run| run.prompt.continues.is_none())
    }

    /// The ids of all versions of the message that this run answers; `None`: there is one.
    pub(super) fn versions_of_message(&self, run: &Run) -> Option<&[String]> {
        self.versions_from(run.prompt.first.as_deref().unwrap_or(run.message().0))
    }

    /// The same of its answer.
    pub(super) fn versions_of_answer(&self, run: &Run) -> Option<&[String]> {
        // Most sessions have none: then there is nothing to look for.
        if run.prompt.continues.is_some() || self.versions.replaced.is_empty() {
            return None;
        }
        self.versions_from(&answer_id(run.message().0))
    }

    fn versions_from(&self, first: &str) -> Option<&[String]> {
        self.versions.lists.get(first).map(Vec::as_slice)
    }

    /// Whether the conversation as it is now has this message.
    pub(crate) fn shows(&self, message: &str) -> bool {
        self.runs.iter().any(|run| shows(run, message))
    }

    /// The runs of the conversation as it is now.
    pub(super) fn conversation(&self) -> Vec<&Run> {
        self.runs.iter().list()
    }

    /// The runs of the conversation as it was with this message the last time, or is. `None`: there is no such message.
    pub(super) fn conversation_with(&self, message: &str) -> Option<Vec<&Run>> {
        let is_it = |run: &Run| shows(run, message);
        if self.shows(message) {
            return Some(self.conversation());
        }
        let replaced = self.versions.replaced.as_slice();
        let which = replaced.iter().rposition(|replaced| replaced.runs.iter().any(is_it))?;
        let mut at = usize::MAX;
        let mut parts = Vec::new();
        for Replaced { at: before, runs } in replaced.get(which..)? {
            // What stood before them at that time may have left since, piece by piece.
            if *before < at {
                parts.push(runs.get(..runs.len().min(at - before))?);
                at = *before;
            }
        }
        parts.push(self.runs.get(..at)?);
        Some(parts.into_iter().rev().flatten().list())
    }

    /// Takes what a new version replaces out of the conversation, and gives the messages that had entered the run of an
    /// answer that is made anew: they were said before it, and stay. `None`: it is not there.
    pub(super) fn replace(&mut self, replaces: &str, prompt: &mut Prompt) -> Option<Vec<Steered>> {
        let at = self.place_of(replaces)?;
        let runs = self.runs.split_off(at);
        let old = runs.first()?;
        let (message, said_at) = old.message();
        let first = old.prompt.first.as_deref();
        let mut stay = Vec::new();
        let (list, old, new) = if old.is_answer(replaces) {
            prompt.first = first.map(Into::into);
            prompt.answers = Some((message.into(), said_at));
            let same = runs.iter().take_while(|run| run.id == old.id || run.prompt.continues.is_some());
            stay = same.flat_map(|run| run.steered.iter().cloned()).list();
            (answer_id(message), old.answer_id(), answer_id(&prompt.message))
        } else {
            let first = first.unwrap_or(message).to_owned();
            prompt.first = Some(first.clone());
            (first, message.into(), prompt.message.clone())
        };
        match self.versions.lists.get_mut(&list) {
            Some(versions) => versions.push(new),
            None => drop(self.versions.lists.insert(&list, vec![old, new])),
        }
        self.versions.replaced.push(Replaced { at, runs });
        for steered in &mut stay {
            steered.after = 0;
        }
        Some(stay)
    }
}
