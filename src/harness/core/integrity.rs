//! Whether what is stored is what was written.
//!
//! Decides what is signed with a commit, and what is made of signatures that are read. Signed are the head of each
//! session that has changed, and each event; a head covers its record and the journal's end.
//! Promises: a head or an event that somebody changed is never taken for what it says. It is shown as it is by
//! `sessions.status` and by a list with verification, and changes nothing. Leaves to others: the key, which no page can
//! read (`browser/`), and the chain of rows (`journal/`).
//!
//! It tells of changes on the disk, or in a backup of it, that were made without the key. A script of this origin can
//! have anything signed, and a database that was put back whole is what it was.

use crate::error::{Code, ErrorInfo};
use crate::harness::core::head::{Head, judged};
use crate::harness::core::refused::no_session_for;
use crate::harness::core::{Core, DEFAULT_SESSION, tasks};
use crate::journal::canonical::{Integrity, payload};
use crate::journal::{Entry, RecordKind, Row};
use crate::list::Listed;
use crate::ports::{Key, Millis, Rows, Table, Write};
use crate::protocol::Command;
use crate::rooms::{Room, enter};
use crate::session::damage::Damage;
use crate::session::record::Short;
use serde_json::Value;
use std::slice::Iter;

/// What is wrong with a session whose head is not believed.
pub(in crate::harness) const CHANGED: &str = "its head is not what was written";

pub(in crate::harness) const NO_HEAD: &str = "its head is missing";

/// What is said of a session of which nothing is stored but its name: somebody has removed it otherwise than by a command.
pub(in crate::harness) const ALL_GONE: &str = "all its rows are missing";

impl Core {
    /// Writes the heads of the sessions that have changed.
    pub(in crate::harness) fn write_heads(&mut self) {
        for id in self.sessions.ids() {
            let Some(slot) = self.sessions.get_mut(&id) else { continue };
            if slot.written != slot.session.seq() {
                let is_first = slot.written == 0;
                slot.written = slot.session.seq();
                let head = Head::of(&slot.session, self.now);
                self.outbox.write(signed_head(&id, &head));
                if is_first && let Some(row) = self.named(&id) {
                    self.outbox.write(row);
                }
                if tasks::is_task(&id) {
                    self.write_task(&id, &head);
                }
                self.sessions.set_head(&id, head);
            }
        }
    }

    /// Whether a session's head, that was `asked` for then, is the one that was written last. What was written since may not
    /// have been read: then its signature decides.
    pub(in crate::harness) fn is_as_written(&self, session: &str, read: &Head, asked: Millis) -> bool {
        !self.is_written_before(session, asked)
            || self.sessions.head(session).is_none_or(|head| head.is(read))
    }

    /// Whether a session's head was written last before this was `asked` for.
    pub(in crate::harness) fn is_written_before(&self, session: &str, asked: Millis) -> bool {
        let at = self.sessions.head(session).and_then(|head| head.value.get("at")?.as_u64());
        at.is_some_and(|at| at < asked)
    }

    /// What a head says of its session, unless somebody has changed it.
    pub(in crate::harness) fn believed<'a>(&self, session: &str, head: &'a Head) -> Option<&'a Value> {
        (self.vouched(session) != Integrity::Tampered).then_some(&head.value)
    }

    /// What is known of a session, as far as its head says who it is: damaged rows change nothing in that.
    pub(in crate::harness) fn vouched(&self, session: &str) -> Integrity {
        match self.sessions.damage(session) {
            Some(_) => self.head_integrity(session),
            None => self.integrity(session),
        }
    }

    /// A session is not what was written, and where: that counts for all that is told of it later, until it was read whole
    /// again. Nobody takes it until then; in one that is at hand work goes on.
    pub(in crate::harness) fn set_aside(&mut self, session: &str, damage: Damage) {
        if self.sessions.damage(session) != Some(&damage) {
            self.sessions.set_aside(session, damage);
            self.keep_verdict(session);
        }
    }

    /// The same where no more is known of the place than this.
    pub(in crate::harness) fn found_damage(&mut self, session: &str, damage: Damage) {
        if self.sessions.damage(session).is_none() {
            self.set_aside(session, damage);
        }
    }

    /// Tells that a session is damaged, where no command has asked for it.
    pub(in crate::harness) fn tell_damaged(&mut self, session: &str, error: &ErrorInfo) {
        let mut detail = self.detail(session);
        detail.text("kind", "damaged").value("error", error.to_json());
        self.send("agent:notice", detail, true);
    }

    /// What is known of a session.
    pub(in crate::harness) fn integrity(&self, session: &str) -> Integrity {
        let tampered = self.sessions.slot(session).is_some_and(|slot| slot.tampered);
        if tampered { Integrity::Tampered } else { self.head_integrity(session) }
    }

    /// Whether a command that changes something may be given on a session, as far as that is what was written.
    pub(in crate::harness) fn must_be_sound(&self, command: Command, session: &str) -> Result<(), ErrorInfo> {
        match self.integrity(session) {
            Integrity::Tampered => may_be_damaged(command, session),
            _ => Ok(()),
        }
    }

    /// What is known of a session's head alone.
    pub(in crate::harness) fn head_integrity(&self, session: &str) -> Integrity {
        let verdict = self.sessions.slot(session).and_then(|slot| slot.verdict);
        verdict.unwrap_or(Integrity::Unverified)
    }

    /// Behind which row our key must have signed each event of a session. `None`: it need not have signed any.
    pub(in crate::harness) fn signs_behind(&self, session: &str) -> Option<u64> {
        match self.head_integrity(session) {
            Integrity::Verified => Some(0),
            Integrity::Tampered => None,
            _ => self.sessions.slot(session).and_then(|slot| slot.foreign),
        }
    }

    /// Whether a list has found that nothing is stored of a session but its name.
    pub(in crate::harness) fn is_all_lost(&self, session: &str) -> bool {
        self.sessions.damage(session).is_some_and(|damage| damage.why == ALL_GONE)
    }

    /// Why a command finds nothing stored of a session.
    pub(in crate::harness) fn not_stored(&self, command: Command, session: &str) -> ErrorInfo {
        if !self.is_all_lost(session) {
            return no_session_for(command, session);
        }
        let message = ["nothing is left of the session \"", session, "\": ", ALL_GONE].concat();
        let error = ErrorInfo::new(Code::Corrupt, message);
        error.hint("sessions.remove() takes its name away; an export of before can be imported")
    }

    /// Nothing is known of a session that is gone.
    pub(in crate::harness) fn forget_integrity(&mut self, session: &str) {
        self.sessions.change(session, |slot| {
            (slot.verdict, slot.unsigned, slot.foreign) = (None, false, None);
            (slot.tampered, slot.damage) = (false, None);
        });
    }
}

/// A session that somebody has changed can be looked at, salvaged and removed. What works in it can be ended, because that
/// comes before. Nothing else is done with it. A door of the room `past`: what was read has given it away.
#[inline(never)]
fn may_be_damaged(command: Command, session: &str) -> Result<(), ErrorInfo> {
    enter(Room::Past);
    match command {
        Command::SessionsRemove
        | Command::SessionsUndoRemove
        | Command::SessionsSalvage
        | Command::Interrupt => Ok(()),
        // It cannot be removed, but begins anew.
        Command::ClearConversation if session == DEFAULT_SESSION => Ok(()),
        _ => Integrity::Tampered
            .accept("agent session state", session)
            .map_err(|error| error.hint(ways_out(session))),
    }
}

/// What can be done about a damaged session.
pub(in crate::harness) fn ways_out(id: &str) -> String {
    let away = match id {
        DEFAULT_SESSION => "clearConversation() begins it anew",
        _ => "sessions.remove() takes it away",
    };
    let ways = "the database was changed from outside: sessions.export() keeps it as it is, \
                sessions.salvage() makes a whole session of what is whole, ";
    [ways, away].concat()
}

/// A signature without its key's name.
pub(in crate::harness) fn bare(signature: &str) -> &str {
    signature.split(' ').next().unwrap_or_default()
}

/// An event among rows that were read, held against its signature.
pub(in crate::harness) struct Judged {
    /// Which of the rows it is.
    pub at: usize,
    /// The number of its row in the journal.
    pub seq: u64,
    pub id: String,
    verdict: Integrity,
}

impl Judged {
    /// Whether our key has signed it.
    pub fn is_ours(&self) -> bool {
        self.verdict == Integrity::Verified
    }
}

/// Those of these events that were changed since they were signed. `behind`: our key must have signed each behind this row;
/// `keyed`: there is a key.
pub(in crate::harness) fn changed_among(
    mut changed: Vec<Judged>,
    behind: Option<u64>,
    keyed: bool,
) -> Vec<Judged> {
    changed.retain(|event| {
        let signed = behind.is_some_and(|behind| behind < event.seq);
        match event.verdict {
            Integrity::Tampered => true,
            Integrity::Verified => false,
            Integrity::Unverified => signed,
            // No other key has signed what was written here. Without a key nothing is known.
            Integrity::Unverifiable => signed && keyed,
        }
    });
    changed
}

/// The same of the events among these rows.
pub(in crate::harness) fn changed_events(
    rows: &Rows,
    signatures: Option<&[String]>,
    behind: Option<u64>,
) -> Vec<Judged> {
    let judged = judged_events(rows, &mut signatures.map(|signatures| signatures.iter()));
    changed_among(judged, behind, signatures.is_some())
}

/// What the signature of each event among these rows says. `expected` are the signatures that they should have, and those of
/// other rows behind them.
pub(in crate::harness) fn judged_events(rows: &Rows, expected: &mut Option<Iter<'_, String>>) -> Vec<Judged> {
    let mut judge = |stored: &str| {
        let expected = expected.as_mut().map(|rest| rest.next().map_or("", String::as_str));
        judged(stored, expected)
    };
    let event = |(at, (_, text)): (usize, &(Key, String))| {
        let Event { seq, id, signature, .. } = event_in(text)?;
        let verdict = signature.map_or(Integrity::Unverified, |stored| judge(&stored));
        Some(Judged { at, seq, id, verdict })
    };
    rows.iter().enumerate().filter_map(event).list()
}

/// A row that is an event.
pub(in crate::harness) struct Event {
    seq: u64,
    id: String,
    /// What is signed of it.
    pub signed: String,
    pub signature: Option<String>,
}

/// What a row says of an event, if it is one.
pub(in crate::harness) fn event_in(text: &str) -> Option<Event> {
    let row = Row::from_text(text).ok().filter(Row::is_recorded)?;
    let (header, Some(Entry::Recorded { what, record })) = row.read().ok()? else { return None };
    let signature = row.signature().map(Into::into);
    let (id, signed) = match Short::of(what.known(), &record, header.run.as_deref()) {
        Some(short) => (short.event_id(), row.said()),
        None if what != RecordKind::Event => return None,
        None => {
            let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
            (id.into(), payload(&record))
        }
    };
    Some(Event { seq: header.seq, id, signed, signature })
}

/// The write of a row: an event is signed, and of a short one what its row says, so that nothing has to be made of it.
pub(in crate::harness) fn row_write(session: &str, seq: u64, row: &Row, entry: &Entry) -> Write {
    let (table, key, value) = (Table::Entries, vec![session.into(), seq.into()], row.to_text());
    match entry {
        Entry::Recorded { what, record } if what.known().is_some_and(RecordKind::is_event) => {
            let text = if *what == RecordKind::Event { payload(record) } else { row.said() };
            Write::Sign { table, key, value, texts: vec![text] }
        }
        _ => Write::Put { table, key, value },
    }
}

/// The write of a head.
pub(in crate::harness) fn signed_head(session: &str, head: &Head) -> Write {
    Write::Sign {
        table: Table::Heads,
        key: vec![session.into()],
        value: head.text().into(),
        texts: vec![head.text().into()],
    }
}
