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
//! goes by the place where they stood. A message that is withdrawn goes with all of its versions, and with what could be
//! looked at through these alone. The entry says what is left and in which order, because rows that are gone have said it.

use super::{Past, Session, compaction, files_of};
use crate::journal::{Entry, Header, OfConversation, Outside};
use crate::json::{items, texts};
use crate::list::Listed;
use crate::maps::Named;
use crate::object::Object;
use crate::ports::Millis;
use crate::rooms::{Room, enter};
use crate::run::{Prompt, Run, Steered, answer_id};
use serde_json::Value;

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

/// What has left a conversation, as `withdrawn` has it in `older`. `named`: the runs with these ids.
fn replaced_by(older: &[Value], named: &mut dyn FnMut(&Value) -> Option<Vec<Run>>) -> Option<Vec<Replaced>> {
    let one = |one: &Value| {
        let at = usize::try_from(one.get("at")?.as_u64()?).ok()?;
        Some(Replaced { at, runs: named(one.get("runs")?)? })
    };
    older.iter().map(one).whole()
}

/// What the versions of a message have in common: the id of the first.
fn first_of(run: &Run) -> &str {
    run.prompt.first.as_deref().unwrap_or(run.message().0)
}

/// Whether a message is what was said to a run, or what it has answered.
fn shows(run: &Run, message: &str) -> bool {
    run.message().0 == message || run.is_answer(message)
}

/// Whether a message has entered a run that was at work.
fn has_entered(run: &Run, message: &str) -> bool {
    run.steered.iter().any(|steered| steered.prompt.message == message)
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

    /// Which run of the conversation as it is now shows this message.
    pub(crate) fn shown_at(&self, message: &str) -> Option<usize> {
        self.runs.iter().rposition(|run| shows(run, message) || has_entered(run, message))
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
        let replaced = &self.versions.replaced;
        let which = replaced.iter().rposition(|replaced| replaced.runs.iter().any(is_it))?;
        let mut runs = self.before(which)?;
        runs.extend(&replaced.get(which)?.runs);
        Some(runs)
    }

    /// The runs that stood before those that left as this one in order, at that time.
    fn before(&self, which: usize) -> Option<Vec<&Run>> {
        let (replaced, newer) = self.versions.replaced.get(which..)?.split_first()?;
        let mut at = replaced.at;
        let mut parts = Vec::new();
        for Replaced { at: before, runs } in newer {
            // They may have left since, piece by piece.
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
        let Some(runs) = self.conversation_with(message) else {
            // It may have been withdrawn or cleared since, with all that says so. It counts as it did then.
            self.generation += 1;
            return self.is_blank().then_some(());
        };
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

    /// The ids of the runs that go with a message of the conversation, or with an answer: all that was answered to it and to
    /// its other versions, what nobody can look at without these, and what worked for any of them. `None`: there is no such
    /// message.
    pub(crate) fn goes_with(&self, message: &str) -> Option<Vec<String>> {
        let first = first_of(self.runs.get(self.place_of(message)?)?);
        let versions = self.versions_from(first).unwrap_or_default();
        // What goes on with a failed run says which version that has answered, and not which was the first.
        let is_version =
            |run: &Run| first_of(run) == first || versions.iter().any(|id| id == run.message().0);
        let stays = self.looked_at(&is_version);
        let mut ids: Named<()> = Named::default();
        for run in self.all_runs().filter(|run| !stays.contains_key(&run.id)) {
            for run in run.all() {
                ids.insert(&run.id, ());
            }
            for steered in &run.steered {
                ids.insert(&steered.queued.0, ());
            }
        }
        let goes = |run: &Run| ids.contains_key(&run.id);
        let mut summaries = compaction::made_of(&self.runs, &goes);
        // Of those in other versions nobody looks at what they were made of: what was said later than the message is.
        let since = self.all_runs().filter(|run| goes(run)).map(|run| run.started_at).min();
        for summary in
            self.versions.replaced.iter().flat_map(|replaced| &replaced.runs).flat_map(|run| &run.summaries)
        {
            if since.is_some_and(|since| summary.run.started_at >= since) {
                summaries.push(summary.run.id.clone());
            }
        }
        for id in &summaries {
            ids.insert(id, ());
        }
        Some(ids.keys().map(Into::into).list())
    }

    /// The ids of the runs without these that can be looked at: those of the conversation, and of each that a version of a
    /// message leads to.
    fn looked_at(&self, without: &dyn Fn(&Run) -> bool) -> Named<()> {
        let (mut runs, mut versions) = (Named::default(), Named::default());
        let mut conversations = vec![self.conversation()];
        while let Some(conversation) = conversations.pop() {
            for run in conversation.into_iter().filter(|run| !without(run)) {
                if runs.insert(&run.id, ()).is_some() {
                    continue;
                }
                let lists = [self.versions_of_message(run), self.versions_of_answer(run)];
                for version in lists.into_iter().flatten().flatten() {
                    if versions.insert(version, ()).is_none() {
                        conversations.extend(self.conversation_with(version));
                    }
                }
            }
        }
        runs
    }

    /// What is left without these runs, as `withdrawn` has it: the conversation, and what has left it.
    pub(crate) fn left_without(&self, runs: &[String]) -> (Value, Option<Value>) {
        let stays = |run: &&Run| !runs.contains(&run.id);
        let ids = |of: &[Run]| of.iter().filter(stays).map(|run| Value::from(&*run.id)).list();
        let older = self.versions.replaced.iter().enumerate().filter_map(|(which, replaced)| {
            let ids = ids(&replaced.runs);
            let at = self.before(which)?.into_iter().filter(stays).count();
            let mut one = Object::new();
            one.number("at", at as u64).value("runs", ids.clone().into());
            (!ids.is_empty()).then(|| one.done())
        });
        let older = older.list();
        (ids(&self.runs).into(), (!older.is_empty()).then(|| older.into()))
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

    /// The message that has begun the run which this one has entered.
    pub(crate) fn entered_with(&self, message: &str) -> Option<&str> {
        self.runs.iter().find(|run| has_entered(run, message)).map(|run| run.message().0)
    }

    /// A message was withdrawn, with all that went with it. A door of the room `past`.
    #[inline(never)]
    pub(super) fn withdraw(&mut self, header: &Header, of: OfConversation<'_>) -> Option<()> {
        enter(Room::Past);
        let OfConversation::Withdrawn { runs, stay, older, sums, outside, unsealed } = of else {
            return None;
        };
        let gone = texts(runs)?;
        self.end_for_good(&gone, header.at);
        self.keep_only(stay, older.as_ref().map(items).unwrap_or_default())?;
        for run in self.runs.iter_mut().chain(self.versions.runs_mut()) {
            run.summaries.retain(|summary| !gone.contains(&summary.run.id));
        }
        self.blank.retain(|id| !gone.contains(id));
        // A fold that finds the content erased knows no more than this.
        self.grants.clear();
        self.outside.clone_from(outside);
        (self.sums, self.unsealed) = (*sums, *unsealed);
        self.uncounted |= sums.turns > 0 && sums.cost.is_none();
        self.generation += 1;
        Some(())
    }

    /// What makes the conversation of a journal that ends early what it was `last`, so far as it is made of its runs.
    /// `withdrawn`: the entry that has removed messages last behind that end. A door of the room `past`.
    #[inline(never)]
    pub(super) fn changes_to(&self, last: &Session, withdrawn: Option<Entry>) -> Vec<Entry> {
        enter(Room::Past);
        let mut session = self.clone();
        let mut changes = Vec::new();
        changes.extend(withdrawn.and_then(|withdrawn| session.withdraw_again(withdrawn)));
        if session.is_blank() {
            // More is erased than that.
            return vec![Entry::Cleared { sums: session.sums }];
        }
        let is_there = |run: &&Run| session.all_runs().any(|one| one.id == run.id);
        let shown = last.runs.iter().rfind(is_there);
        changes.extend(shown.and_then(|run| session.switch_again(run)));
        changes
    }

    /// Takes up an entry that lies behind the end of these rows, without what it says of others. `None`: it concerns none of
    /// these.
    fn withdraw_again(&mut self, entry: Entry) -> Option<Entry> {
        let Entry::Withdrawn { runs, stay, older, sums, outside, unsealed } = entry else { return None };
        let is_known =
            |id: &String| self.blank.contains(id) || self.past.contains_key(id) || self.run(id).is_some();
        let runs = texts(&runs)?.into_iter().filter(is_known).list();
        if runs.is_empty() {
            return None;
        }
        let mut then = self.clone();
        let mut lacks = Vec::new();
        let mut named = |ids: &Value| {
            let run = |id: String| match self.all_runs().find(|run| run.id == id) {
                Some(run) => run.clone(),
                None => {
                    lacks.push(id.clone());
                    Run::new(id, 0, Prompt::default())
                }
            };
            Some(texts(ids)?.into_iter().map(run).list())
        };
        then.runs = named(&stay)?;
        let older = older.as_ref().map(items).unwrap_or_default();
        then.versions.replaced = replaced_by(older, &mut named)?;
        let (stay, older) = then.left_without(&lacks);
        let entry = Entry::Withdrawn { runs: runs.into(), stay, older, sums, outside, unsealed };
        let header = Header { seq: self.seq, at: 0, kind: entry.kind().into(), run: None };
        self.fold(&header, Some(&entry))?;
        Some(entry)
    }

    /// The entry that makes the conversation with this run the one that is shown, where it is not.
    fn switch_again(&self, run: &Run) -> Option<Entry> {
        let has = |runs: Vec<&Run>| runs.into_iter().any(|one| one.id == run.id);
        if has(self.conversation()) {
            return None;
        }
        let ids = [run.answer_id(), run.message().0.into()];
        let message = ids.into_iter().find(|id| self.conversation_with(id).is_some_and(has))?;
        Some(Entry::Switched { message })
    }

    /// Of these runs only the past is kept, also of those that waited and never began.
    fn end_for_good(&mut self, runs: &[String], at: Millis) {
        let mut past = std::mem::take(&mut self.past);
        for run in self.all_runs().filter(|run| runs.contains(&run.id)) {
            for run in run.all() {
                past.insert(&run.id, Past::of(run));
            }
            for (entered, queued_at) in run.steered.iter().map(|steered| &steered.queued) {
                past.insert(entered, Past::never(*queued_at, at));
            }
        }
        for run in self.all_runs().flat_map(|run| &run.summaries).map(|summary| &summary.run) {
            if runs.contains(&run.id) {
                past.insert(&run.id, Past::of(run));
            }
        }
        for id in runs {
            if let Some(past) = past.get_mut(id).filter(|past| past.ended.is_none()) {
                past.ended = Past::never(past.started_at, at).ended;
            }
        }
        self.past = past;
    }

    /// The conversation, and what has left it, are these runs and in this order. `None`: there is no such run.
    fn keep_only(&mut self, stay: &Value, older: &[Value]) -> Option<()> {
        let all = self.all_runs().cloned().list();
        // What a later entry has withdrawn may be gone already. That one says what is left.
        let may_lack = self.is_blank();
        let mut named = |ids: &Value| {
            let mut runs = Vec::new();
            for id in texts(ids)? {
                match all.iter().find(|run| run.id == id) {
                    Some(run) => runs.push(run.clone()),
                    None if may_lack => {}
                    None => return None,
                }
            }
            Some(runs)
        };
        self.versions.replaced = replaced_by(older, &mut named)?;
        self.runs = named(stay)?;
        let mut shown: Named<()> = Named::default();
        for run in self.all_runs() {
            shown.insert(run.message().0, ());
            shown.insert(&run.answer_id(), ());
        }
        let lists = std::mem::take(&mut self.versions.lists);
        for (first, ids) in lists.iter() {
            let ids = ids.iter().filter(|id| shown.contains_key(id)).cloned().list();
            if ids.len() > 1 {
                self.versions.lists.insert(first, ids);
            }
        }
        Some(())
    }

    /// Takes what a new version replaces out of the conversation, and gives the messages that had entered the run of an
    /// answer that is made anew: they were said before it, and stay. `None`: it is not there. A door of the room `past`.
    #[inline(never)]
    pub(super) fn replace(&mut self, replaces: &str, prompt: &mut Prompt) -> Option<Vec<Steered>> {
        enter(Room::Past);
        let (at, runs) = match self.place_of(replaces) {
            Some(at) => (Some(at), self.runs.split_off(at)),
            // An entry that has made it the conversation may name a message that was withdrawn since.
            None if self.is_blank() => (None, self.left_from(replaces)?),
            None => return None,
        };
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
        if let Some(at) = at {
            self.versions.replaced.push(Replaced { at, runs });
        }
        for steered in &mut stay {
            steered.after = 0;
        }
        Some(stay)
    }

    /// What left the conversation last from this message on.
    fn left_from(&self, message: &str) -> Option<Vec<Run>> {
        let begins = |run: &Run| run.prompt.continues.is_none() && shows(run, message);
        let mut runs = self.versions.replaced.iter().rev().map(|replaced| &*replaced.runs);
        let runs = runs.find(|runs| runs.iter().any(begins))?;
        let at = runs.iter().rposition(begins)?;
        Some(runs.get(at..)?.to_vec())
    }
}
