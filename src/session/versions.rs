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
//!
//! An older version can become the conversation again: its runs are copied to the end of it, because what left before them
//! goes by the place where they stood. A message that is withdrawn goes with all of its versions, and with what only they led
//! to. No older version of another message is left to look at, because which took the place of which was said by rows that are gone.

use super::{Past, Session, files_of};
use crate::journal::{Header, OfConversation, Outside};
use crate::json::texts;
use crate::list::Listed;
use crate::maps::Named;
use crate::rooms::{Room, enter};
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

/// What the versions of a message have in common: the id of the first.
fn first_of(run: &Run) -> &str {
    run.prompt.first.as_deref().unwrap_or(run.message().0)
}

/// What has left since the message at this place came, the newest first, and whether it goes with that message: it is another
/// version of it, or left while such a version was the conversation.
fn branches_of<'a>(
    replaced: &'a [Replaced],
    at: usize,
    first: &'a str,
) -> impl Iterator<Item = (&'a Replaced, bool)> {
    let mut goes = false;
    replaced.iter().rev().map_while(move |replaced| {
        let is_version = || replaced.runs.first().is_some_and(|run| first_of(run) == first);
        if replaced.at < at || (replaced.at == at && !is_version()) {
            return None;
        }
        goes |= replaced.at == at;
        Some((replaced, goes))
    })
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
        self.versions_from(first_of(run))
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

    /// An older version of a message is the conversation again, with what followed it. `None`: there is no such message. A
    /// door of the room `past`.
    #[inline(never)]
    pub(super) fn switch_to(&mut self, message: &str) -> Option<()> {
        enter(Room::Past);
        if self.shows(message) {
            return Some(());
        }
        // It may have been withdrawn since, with all that says so.
        let Some(runs) = self.conversation_with(message) else { return self.is_blank().then_some(()) };
        let same = runs.iter().zip(&self.runs).take_while(|(one, other)| one.id == other.id).count();
        let comes: Vec<Run> = runs.into_iter().skip(same).cloned().list();
        let runs = self.runs.split_off(same);
        if !runs.is_empty() {
            self.versions.replaced.push(Replaced { at: same, runs });
        }
        self.runs.extend(comes);
        self.generation += 1;
        Some(())
    }

    /// The ids of the runs that go with a message of the conversation, or with an answer: all that was answered to it, its
    /// other versions and what only they led to, and what worked for any of these. `None`: there is no such message.
    pub(crate) fn goes_with(&self, message: &str) -> Option<Vec<String>> {
        let at = self.place_of(message)?;
        let (first, behind) = self.runs.get(at..)?.split_first()?;
        let here = 1 + behind.iter().take_while(|run| run.prompt.continues.is_some()).count();
        let (begins, rest) = (self.runs.get(at..at + here)?, self.runs.get(at + here..)?);
        let before = self.runs.get(..at)?;
        // An older version of what stays does too: what took its place says so by its message.
        let stays = |run: &Run| before.iter().chain(rest).any(|other| first_of(other) == first_of(run));
        let mut goes: Vec<&Run> = begins.iter().list();
        let branches = branches_of(&self.versions.replaced, at, first_of(first));
        for replaced in branches.filter(|(_, goes)| *goes).map(|(replaced, _)| replaced) {
            goes.extend(replaced.runs.iter().filter(|run| !stays(run)));
        }
        let mut ids = Vec::new();
        for run in goes {
            ids.extend(run.all().into_iter().map(|run| run.id.clone()));
            ids.extend(run.steered.iter().map(|steered| steered.queued.0.clone()));
        }
        Some(ids)
    }

    /// Where the text from outside comes from that the conversation has read, without the names of files that only these runs
    /// have.
    pub(crate) fn outside_without(&self, runs: &[String]) -> Outside {
        let goes = |run: &&Run| runs.contains(&run.id);
        let stay: Vec<String> =
            self.all_runs().filter(|run| !goes(run)).flat_map(files_of).map(Outside::file).list();
        let gone = self.all_runs().filter(goes).flat_map(files_of).map(Outside::file);
        self.outside.without_names(&gone.filter(|name| !stay.contains(name)).list())
    }

    /// The runs of the conversation without these.
    pub(crate) fn staying(&self, without: &[String]) -> Vec<String> {
        self.runs.iter().map(|run| run.id.clone()).filter(|id| !without.contains(id)).list()
    }

    /// The message that has begun the run which this one has entered.
    pub(crate) fn entered_with(&self, message: &str) -> Option<&str> {
        let has = |run: &&Run| run.steered.iter().any(|steered| steered.prompt.message == message);
        self.runs.iter().find(has).map(|run| run.message().0)
    }

    /// A message was withdrawn, with all that went with it. A door of the room `past`.
    #[inline(never)]
    pub(super) fn withdraw(&mut self, header: &Header, of: OfConversation<'_>) -> Option<()> {
        enter(Room::Past);
        let OfConversation::Withdrawn { runs, stay, sums, outside, unsealed } = of else { return None };
        let ids = texts(runs)?;
        let gone = |id: &str| ids.iter().any(|other| other == id);
        let stay = match stay {
            Some(stay) => texts(stay)?,
            None => self.staying(&ids),
        };
        let mut past = std::mem::take(&mut self.past);
        for run in self.all_runs().filter(|run| !stay.contains(&run.id)) {
            for run in run.all() {
                past.insert(&run.id, Past::of(run));
            }
            for (entered, at) in run.steered.iter().map(|steered| &steered.queued) {
                past.insert(entered, Past::never(*at, header.at));
            }
        }
        self.past = past;
        for id in &ids {
            if let Some(past) = self.past.get_mut(id).filter(|past| past.ended.is_none()) {
                past.ended = Past::never(past.started_at, header.at).ended;
            }
        }
        // A fold that finds the content erased does not know what took the place of what: no older version is left.
        let old = std::mem::take(&mut self.versions).replaced.into_iter().flat_map(|replaced| replaced.runs);
        let mut all: Vec<Run> = std::mem::take(&mut self.runs).into_iter().chain(old).list();
        for id in &stay {
            let at = all.iter().position(|run| run.id == *id)?;
            self.runs.push(all.swap_remove(at));
        }
        self.blank.retain(|id| !gone(id));
        // A fold that finds the content erased knows no more than this.
        self.grants.clear();
        self.outside.clone_from(outside);
        (self.sums, self.unsealed) = (*sums, *unsealed);
        self.uncounted |= sums.turns > 0 && sums.cost.is_none();
        self.generation += 1;
        Some(())
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
