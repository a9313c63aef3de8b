//! Sessions that somebody has removed.
//!
//! Decides how long a removal can be undone, and when a session goes. Promises: until that is over the session is there for nobody but
//! `undoRemove`. Leaves to others: who may remove (`session/`), and what goes when the time is over
//! (`holding/removal`).

use crate::error::ErrorInfo;
use crate::harness::core::Core;
use crate::harness::core::head::Head;
use crate::harness::core::named::unnamed;
use crate::harness::core::outbox::Outbox;
use crate::harness::core::refused::no_session_for;
use crate::harness::core::tasks::passes;
use crate::list::Listed;
use crate::ports::{Millis, Table, Write};
use crate::protocol::Command;
use crate::run::Removed;
use crate::session::Session;
use serde_json::Value;

impl Core {
    /// When a session was removed, if it was.
    pub(in crate::harness) fn removed_at(&self, session: &str) -> Option<Millis> {
        match self.session(session) {
            Some(session) => session.removed_at(),
            None => removed_by(self.believed(session, self.sessions.head(session)?)?),
        }
    }

    /// When nothing is to be left of a session any more: a while after its removal, or after a task of which nothing stays. Such a
    /// task goes at once where it is removed, because nobody can bring it back.
    pub(in crate::harness) fn gone_at(&self, session: &str) -> Option<Millis> {
        let head = self.sessions.head(session)?;
        let later = |at: Millis| at.saturating_add(UNDO_MS);
        match (self.removed_at(session), passes(&head.value)) {
            (Some(at), true) => Some(at),
            (Some(at), false) => Some(later(at)),
            (None, true) => {
                let works =
                    self.session(session).map_or(head.is_open(), |session| session.current().is_some());
                head.value.get("at").and_then(Value::as_u64).filter(|_| !works).map(later)
            }
            (None, false) => None,
        }
    }

    /// The removed sessions that can no longer be brought back.
    pub(in crate::harness) fn gone(&self) -> Vec<String> {
        let is_over = |session: &&str| self.gone_at(session).is_some_and(|at| at <= self.now);
        self.sessions.heads().map(|(session, _)| session).filter(is_over).map(Into::into).list()
    }

    /// A removed session is not there for any command but the one that brings it back, as long as that can be.
    pub(in crate::harness) fn must_be_there(
        &self,
        command: Command,
        session: &str,
        removed: Option<Millis>,
    ) -> Result<(), ErrorInfo> {
        let there = match (removed, command == Command::SessionsUndoRemove) {
            (None, _) => true,
            (Some(at), true) => self.now < at.saturating_add(UNDO_MS),
            (Some(_), false) => false,
        };
        if there { Ok(()) } else { Err(no_session_for(command, session)) }
    }

    /// The runs that end where a session is removed now: the one that works, and those whose messages wait.
    pub(in crate::harness) fn ends_with(&self, session: &str) -> Vec<Removed> {
        let at = self.now;
        let one =
            |run: &str, started_at| Removed { run: run.into(), session: session.into(), started_at, at };
        let current = self.current(session).map(|run| one(&run.id, Some(run.started_at)));
        let queue = self.session(session).map(Session::queue).unwrap_or_default();
        current.into_iter().chain(queue.iter().map(|queued| one(&queued.run, None))).list()
    }

    /// Removes a session that was changed from outside, at once: nothing in it says whose it is, and there is nothing to
    /// bring back.
    pub(in crate::harness) fn remove_broken(&mut self, session: &str) {
        erase(&mut self.outbox, session);
        // What else there is of it goes with the removed ones.
        self.sessions.set_head(session, Head::parse(r#"{"removed":0}"#));
        self.forget_integrity(session);
        self.note_benched(session);
        self.session_changed(session, "removed");
        self.tell_status();
    }
}

/// How long a removal can be undone, in milliseconds.
const UNDO_MS: Millis = 10_000;

/// All rows of a session go.
pub(in crate::harness) fn erase(outbox: &mut Outbox, session: &str) {
    for table in [Table::Entries, Table::Heads, Table::Drafts] {
        outbox.write(delete(table, session));
    }
    outbox.write(unnamed(session));
}

/// All rows of a session in a table go.
pub(in crate::harness) fn delete(table: Table, session: &str) -> Write {
    Write::DeletePrefix { table, prefix: vec![session.into()] }
}

/// When a session was removed, by its head.
pub(in crate::harness) fn removed_by(head: &Value) -> Option<Millis> {
    head.get("removed").and_then(Value::as_u64)
}
