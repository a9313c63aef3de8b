//! Checkpoints: what a journal adds up to where its conversation is empty.
//!
//! A session is read from its checkpoint on, so that it costs what its conversation holds now, not what was ever said in it.
//!
//! Decides at which places there can be a checkpoint and what is in it. Promises: a session that goes on from its checkpoint
//! is the one that all of its rows give, but for the ends of runs that were over long before. One where the conversation
//! is empty has no word of it. What the fold knows more of, and no checkpoint has, keeps one from being made. Leaves to others:
//! the other kind (`earlier`), when one is written and whether it can be believed (`harness/`).

use super::keeping::Keeping;
use super::{Past, Session};
use crate::journal::{Entry, Outcome, Row, Word, sha256};
use crate::json;
use crate::list::Listed;
use crate::maps::sorted;
use crate::object::Object;
use crate::ports::PatternEngine;
use crate::rooms::{Room, enter};
use crate::run::Run;
use serde_json::Value;

/// The format of a checkpoint, and of the fold that makes it: an older package's is gone on from. It rises when the same rows
/// give another text, which a test holds against the golden databases. One of another format is made anew from the rows.
const FORMAT: u64 = 1;

/// How the text of one in this format ends: its members are in order.
const END: &str = ",\"v\":1}";

/// How many ends of runs a checkpoint keeps: the newest.
pub(super) const ENDS: usize = 64;

/// A checkpoint as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Up to which row it speaks.
    pub seq: u64,
    /// The hash of that row.
    pub hash: String,
    /// Its text.
    pub text: String,
}

impl Checkpoint {
    /// Whether it speaks up to this row of this number.
    pub fn is_at(&self, seq: u64, row: &str) -> bool {
        self.seq == seq && Row::from_text(row).is_ok_and(|row| row.hash() == self.hash)
    }

    /// The SHA-256 of its text.
    pub fn sum(&self) -> String {
        sha256(&[&self.text])
    }

    /// Whether it is the one that a head names under this member, and of this format.
    pub fn is_named_by(text: &str, head: &Value, member: &str) -> bool {
        let sum = head.get(member).and_then(|named| named.get("sum")?.as_str());
        text.ends_with(END) && sum.is_some_and(|sum| sum == sha256(&[text]))
    }
}

/// What a head says of a checkpoint: `{ seq, sum }`. The head is signed, and the checkpoint with it.
pub(super) fn named(seq: u64, sum: &str) -> Value {
    Object::new().number("seq", seq).text("sum", sum).done()
}

/// The members of the `cleared` entry hold sums as they are stored.
fn sums_json(session: &Session) -> Value {
    Entry::Cleared { sums: session.sums }.to_json()
}

impl Session {
    /// The checkpoint at this place, if there can be one. A door of the room `past`.
    #[inline(never)]
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        enter(Room::Past);
        let is_bare = self.all_runs().next().is_none()
            && self.earlier.is_none()
            && self.grants.is_empty()
            && self.queue.is_empty()
            && self.outside.is_empty()
            && self.unsealed == 0
            && !(self.is_blank() || self.uncounted)
            && self.past.values().all(|past| past.ended.is_some());
        let keeping = self.keeping.at_rest()?;
        if !is_bare {
            return None;
        }
        let text = self.members(keeping).json();
        Some(Checkpoint { seq: self.seq, hash: self.hash.clone(), text })
    }

    /// What every checkpoint says.
    pub(super) fn members(&self, keeping: Value) -> Object {
        let mut of = Object::new();
        of.number("v", FORMAT)
            .number("seq", self.seq)
            .text("hash", &self.hash)
            .text("mark", &self.mark)
            .number("generation", self.generation)
            .all(sums_json(self))
            .value("config", self.config.clone())
            .value("tools", Value::clone(&self.tools_record))
            .maybe_text("origin", self.origin.as_deref())
            .maybe("own", self.own.clone())
            .number("importedAt", self.imported_at)
            .number("copiedAt", self.copied_at)
            .maybe("salvagedAt", (self.salvaged_at > 0).then(|| self.salvaged_at.into()))
            .value("ends", self.ends())
            .value("keeping", keeping);
        of
    }

    /// The newest ends of runs.
    fn ends(&self) -> Value {
        let ended = self.past.iter().filter_map(|(id, past)| Some((id, past, past.ended.as_ref()?))).list();
        let mut ends = sorted(ended, |(_, _, ended)| ended.at);
        ends.drain(..ends.len().saturating_sub(ENDS));
        ends_json(ends.into_iter().map(|(id, past, _)| (id, past)).list())
    }

    /// The session at its checkpoint. `None`: it is none of this format. A door of the room `past`.
    #[inline(never)]
    pub fn at_checkpoint(id: &str, engine: &PatternEngine, text: &str) -> Option<Session> {
        enter(Room::Past);
        let value = json::parse(text)?;
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let word = |name: &str| value.get(name).and_then(Value::as_str).map(String::from);
        if number("v") != Some(FORMAT) {
            return None;
        }
        let mut session = Session::after(id, engine, number("seq")?, &word("hash")?);
        session.mark = word("mark")?;
        session.generation = number("generation")?;
        session.origin = word("origin");
        session.own = value.get("own").cloned();
        (session.imported_at, session.copied_at) = (number("importedAt")?, number("copiedAt")?);
        session.salvaged_at = number("salvagedAt").unwrap_or_default();
        let Entry::Cleared { sums } = Entry::from_json("cleared", &value)? else { return None };
        session.sums = sums;
        session.configure(value.get("config"), value.get("tools"))?;
        for end in json::items(value.get("ends")?) {
            let (id, past) = end_from(end)?;
            session.past.insert(&id, past);
        }
        session.keeping = Keeping::from_rest(value.get("keeping")?)?;
        match value.get("earlier") {
            Some(_) => session.go_on_without(&value)?,
            None => session.checkpoint = Some((session.seq, sha256(&[text]))),
        }
        Some(session)
    }
}

/// Ends of runs, each `[id, startedAt, begun, at, outcome, code]`.
pub(super) fn ends_json(ends: Vec<(&str, &Past)>) -> Value {
    let told = ends.into_iter().filter_map(|(id, past)| {
        let ended = past.ended.as_ref()?;
        let code = ended.error.as_ref().map(|error| error.code.as_str());
        let (outcome, begun) = (ended.outcome.as_str(), past.begun.into());
        Some(Value::Array(vec![
            id.into(),
            past.started_at.into(),
            begun,
            ended.at.into(),
            outcome.into(),
            code.into(),
        ]))
    });
    told.list().into()
}

/// One of them read back.
pub(super) fn end_from(end: &Value) -> Option<(String, Past)> {
    let text = |at: usize| end.get(at).and_then(Value::as_str);
    let number = |at: usize| end.get(at).and_then(Value::as_u64);
    let outcome: Word<Outcome> = text(4)?.into();
    let entry = Entry::Ended { outcome, code: text(5).map(Into::into) };
    let ended = Run::ended_by(number(3)?, &entry);
    Some((text(0)?.into(), Past { started_at: number(1)?, begun: end.get(2)?.as_bool()?, ended }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_another_format_is_not_gone_on_from() {
        let engine = PatternEngine::default();
        let Checkpoint { text, .. } = Session::new("a").checkpoint().unwrap();
        let named = |text: &str| Object::new().value("checkpoint", named(0, &sha256(&[text]))).done();
        assert!(Checkpoint::is_named_by(&text, &named(&text), "checkpoint"), "{text}");
        assert!(Session::at_checkpoint("a", &engine, &text).is_some());
        let other = text.replace(END, ",\"v\":2}");
        assert!(other != text && !Checkpoint::is_named_by(&other, &named(&other), "checkpoint"));
        assert!(Session::at_checkpoint("a", &engine, &other).is_none());
        assert!(!Checkpoint::is_named_by(&text, &Value::Null, "checkpoint"));
    }
}
