//! The head of a session: what is said of it without its rows.
//!
//! Decides how much of a head is read. Promises: the session's record, which is most of it, is read where it is asked for.
//! What came from elsewhere keeps its verdict. Leaves to others: what a head says (`session/`), and what is made of a verdict
//! (`integrity`).

use crate::journal::FORMAT;
use crate::journal::canonical::Integrity;
use crate::json::{self, Reader, json};
use crate::object::Object;
use crate::ports::Millis;
use crate::session::Session;
use crate::session::transitions::Status;
use serde_json::Value;
use std::ops::Range;

/// The head of a session as it is stored. Its record is most of it, so that is read only where it is asked for.
#[derive(Clone, Debug)]
pub(in crate::harness) struct Head {
    /// What it says, without its record.
    pub value: Value,
    text: String,
    /// Where in its text the record's members stand, each name and its value; empty: it has none.
    record: Vec<[Range<usize>; 2]>,
    /// Behind it stood that of the record by itself, until heads were signed once.
    signature: Option<String>,
}

impl Head {
    pub fn parse(row: &str) -> Head {
        let mut lines = row.split('\n');
        let text = lines.next().unwrap_or_default();
        let (value, record) = without_record(text).unwrap_or_default();
        Head { value, text: text.into(), record, signature: lines.next().map(Into::into) }
    }

    /// What is signed of one that is stored.
    pub fn signed_text(row: &str) -> &str {
        row.split('\n').next().unwrap_or_default()
    }

    /// Up to which row it speaks.
    pub fn seq(&self) -> u64 {
        self.value.get("seq").and_then(Value::as_u64).unwrap_or_default()
    }

    /// The number and the hash of the last row, if it says so.
    pub fn end(&self) -> Option<(u64, &str)> {
        let hash = self.value.get("hash").and_then(Value::as_str)?;
        self.value.get("seq").and_then(Value::as_u64).map(|seq| (seq, hash))
    }

    /// From which row on the session is read: behind its checkpoint.
    pub fn first(&self) -> u64 {
        let checkpoint = self.value.get("checkpoint").and_then(|named| named.get("seq")?.as_u64());
        checkpoint.unwrap_or_default() + 1
    }

    /// Up to which row the checkpoint of its window speaks; 0: it has none that can be gone on from.
    pub fn window(&self) -> u64 {
        let named = self.value.get("window").filter(|_| self.value.get("erases").is_none());
        named.and_then(|named| named.get("seq")?.as_u64()).unwrap_or_default()
    }

    /// When the session was archived, if it still is.
    pub fn archived_at(&self) -> Option<Millis> {
        self.value.get("archived").and_then(Value::as_u64)
    }

    /// The provider that the session keeps to, if it has one of its own.
    pub fn provider(&self) -> Option<&str> {
        self.value.get("provider").and_then(Value::as_str)
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is this one, word by word.
    pub fn is(&self, other: &Head) -> bool {
        self.text == other.text
    }

    /// Whether something in it has not ended: a run, what waits for it, the wait for a provider's key, or the erasing of what
    /// its journal says goes.
    pub fn is_open(&self) -> bool {
        let starts = || self.recorded("status").is_some_and(|status| status == Status::Starting.as_str());
        starts()
            || ["queue", "erases"].iter().any(|name| self.value.get(name).is_some())
            || self.value.get("run").is_some_and(|run| !run.is_null())
    }

    /// Whether a run of it has not ended, and is not held.
    pub fn is_at_work(&self) -> bool {
        let run = self.value.get("run").filter(|run| !run.is_null());
        run.is_some_and(|run| run.get("held") != Some(&Value::Bool(true)))
    }

    /// The epoch of the holder that it names.
    pub fn holder(&self) -> Option<u64> {
        self.recorded("pid")?.as_u64()
    }

    /// Whether it is of the format that is written today.
    pub fn is_of_today(&self) -> bool {
        self.value.get("v").and_then(Value::as_u64) == Some(FORMAT)
    }

    /// Up to which row its events came from elsewhere, if it says so; those behind were made in this workspace.
    pub fn foreign(&self) -> Option<u64> {
        self.value.get("foreign").and_then(Value::as_u64)
    }

    /// Whether the session's record is in it.
    pub fn has_record(&self) -> bool {
        !self.record.is_empty()
    }

    /// The session's record in it, if it has one.
    pub fn record(&self) -> Option<Value> {
        let mut record = Object::new();
        for [name, value] in &self.record {
            record.value(self.text.get(name.clone())?, json::parse(self.text.get(value.clone())?)?);
        }
        self.has_record().then(|| record.done())
    }

    /// The JSON of a member of the record.
    pub fn recorded_text(&self, name: &str) -> Option<&str> {
        let is_it = |[other, _]: &&[Range<usize>; 2]| self.text.get(other.clone()) == Some(name);
        self.text.get(self.record.iter().rfind(is_it)?[1].clone())
    }

    /// A member of the record.
    pub fn recorded(&self, name: &str) -> Option<Value> {
        self.recorded_text(name).and_then(json::parse)
    }

    /// The head of a session as it is now.
    pub fn of(session: &Session, at: Millis) -> Head {
        Head::parse(&json(&session.head(at)))
    }

    /// `expected`: the signature that its text should have, where there is a key. `strict`: that key has signed every head
    /// of its workspace.
    pub fn judge(&self, expected: Option<&str>, strict: bool) -> Integrity {
        // Nobody writes one that does not say where the journal ends.
        if self.end().is_none() || (strict && self.lacks_ours(expected)) {
            return Integrity::Tampered;
        }
        let verdict = self.signed(expected);
        // What came from elsewhere keeps its verdict, also when this workspace signs what is added to it.
        match self.value.get("origin").and_then(Value::as_str) {
            Some("unverified") if verdict == Integrity::Verified => Integrity::Unverified,
            Some(_) if verdict == Integrity::Verified => Integrity::Unverifiable,
            _ => verdict,
        }
    }

    /// Whether it has no signature, or another key's, where there is a key.
    fn lacks_ours(&self, expected: Option<&str>) -> bool {
        expected.is_some() && matches!(self.signed(expected), Integrity::Unverified | Integrity::Unverifiable)
    }

    /// Whether an event that our key has signed gives away that somebody has taken the head's signature out: a commit that
    /// signs the one signs the other. What came from elsewhere, or was found without one, says so.
    pub fn must_be_ours(&self, expected: Option<&str>) -> bool {
        self.lacks_ours(expected) && self.value.get("origin").is_none()
    }

    fn signed(&self, expected: Option<&str>) -> Integrity {
        self.signature.as_deref().map_or(Integrity::Unverified, |stored| judged(stored, expected))
    }
}

/// What a head says besides its record, and where the members of that stand in its text.
fn without_record(text: &str) -> Option<(Value, Vec<[Range<usize>; 2]>)> {
    let (mut reader, mut first) = (Reader::new(text), true);
    let (mut rest, mut record) = (Object::new(), Vec::new());
    while reader.item(b'{', b'}', first)? {
        first = false;
        let name = reader.name()?;
        if name == "record" && reader.space()? == b'{' {
            while reader.item(b'{', b'}', record.is_empty())? {
                reader.space()?;
                let begin = reader.at() + 1;
                let name = begin..begin + reader.name()?.len();
                let end = reader.value()?.len();
                record.push([name, reader.at() - end..reader.at()]);
            }
        } else {
            rest.value(&name, json::parse(reader.value()?)?);
        }
    }
    reader.space().is_none().then(|| (rest.done(), record))
}

/// What a stored signature says, by the one that it should be. Behind a signature stands which key has made it.
pub(in crate::harness) fn judged(stored: &str, expected: Option<&str>) -> Integrity {
    let key = |signature: &str| signature.split(' ').nth(1).map(String::from);
    // Another key knows nothing of what this one has signed.
    let expected = expected.filter(|expected| key(expected) == key(stored));
    Integrity::of(Some(stored), expected)
}
