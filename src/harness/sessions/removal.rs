//! Sessions that somebody has removed, until nothing is left of them.
//!
//! Decides how long a removal can be undone, and what goes when that is over. Promises: until then the session is there
//! for nobody but `undoRemove`, and whole; afterwards no row speaks of it. The holder of that moment sees to it, be it
//! at a later start. Leaves to others: who may remove (`session/`), and to ask for each command whether its session was
//! removed (`gate.rs`, `look.rs`).

use crate::error::{Code, ErrorInfo};
use crate::harness::core::integrity::Head;
use crate::harness::core::refused::no_session_for;
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle};
use crate::harness::holding::Holding;
use crate::harness::holding::start::Purpose;
use crate::harness::reads::{After, Reads};
use crate::harness::runner::Runner;
use crate::journal::{Ask, StoppedBy};
use crate::list::Listed;
use crate::ports::{Millis, Read, Rows, Table, Write};
use crate::protocol::Command;
use serde_json::Value;

/// How long a removal can be undone, in milliseconds.
const UNDO_MS: Millis = 10_000;

impl Core {
    /// When a session was removed, if it was.
    pub(in crate::harness) fn removed_at(&self, session: &str) -> Option<Millis> {
        match self.session(session) {
            Some(session) => session.removed_at(),
            None => removed_by(self.believed(session, self.sessions.head(session)?)?),
        }
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

    /// Removes a session that was changed from outside, at once: nothing in it says whose it is, and there is nothing to
    /// bring back.
    pub(super) fn remove_broken(&mut self, session: &str) {
        for table in [Table::Entries, Table::Heads, Table::Drafts] {
            self.outbox.write(delete(table, session));
        }
        // What else there is of it goes with the removed ones.
        self.sessions.set_head(session, Head::parse(r#"{"removed":0}"#));
        self.forget_integrity(session);
    }
}

impl Runner {
    /// Removes a session that may be removed.
    pub(in crate::harness) fn remove_session(
        &mut self,
        core: &mut Core,
        session: &str,
        args: &Value,
    ) -> Result<(), ErrorInfo> {
        if session == DEFAULT_SESSION {
            let error = ErrorInfo::new(Code::InvalidArguments, "the first session cannot be removed");
            return Err(error.hint("clearConversation erases what was said in it"));
        }
        // An operator who may not remove it must not stop its run.
        core.must_own_session(session)?;
        self.interrupt_session(core, session, StoppedBy::Removed, true);
        self.unqueue_all(core, session);
        self.ask_session(core, session, Ask::Remove, args)?;
        core.outbox.strictly();
        Ok(())
    }
}

impl Reads {
    /// Reads what has to go besides the rows of the removed sessions themselves.
    pub(in crate::harness) fn look_for_remains(&mut self, core: &mut Core) {
        let runs = Read::all(Table::Meta, vec!["run".into()]);
        self.read_after_commit(core, vec![runs, Read::all(Table::Files, Vec::new())], After::Remains);
    }
}

impl Holding {
    /// When the first removed session is to go, if one is.
    pub(in crate::harness) fn removal_due(&self, core: &Core) -> Option<Millis> {
        let can = matches!(core.lifecycle, Lifecycle::Running | Lifecycle::Stopped);
        if !can || self.start.is_some() || self.closing.is_some() {
            return None;
        }
        let removed = core.sessions.heads().filter_map(|(session, _)| core.removed_at(session));
        removed.min().map(|at| at.saturating_add(UNDO_MS))
    }

    /// Erases what can no longer be brought back; borrows the workspace for it where no agent runs.
    pub(in crate::harness) fn end_removals(&mut self, core: &mut Core, reads: &mut Reads) {
        if self.removal_due(core).is_none_or(|due| due > core.now) {
            return;
        }
        if core.lifecycle == Lifecycle::Running {
            reads.look_for_remains(core);
        } else {
            self.begin(core, Purpose::Sweep);
        }
    }

    /// Nothing is left of the removed sessions. `rows`: which session each run is of, and the files.
    pub(in crate::harness) fn erase_removed(&mut self, core: &mut Core, runner: &mut Runner, rows: &[Rows]) {
        let over = |at: Millis| at.saturating_add(UNDO_MS) <= core.now;
        let is_over = |session: &&str| core.removed_at(session).is_some_and(over);
        let gone: Vec<String> =
            core.sessions.heads().map(|(session, _)| session).filter(is_over).map(Into::into).list();
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        for (key, session) in part(0) {
            if gone.contains(session) {
                core.outbox.write(Write::DeletePrefix { table: Table::Meta, prefix: key.clone() });
            }
        }
        for session in &gone {
            for table in [Table::Entries, Table::Heads, Table::Drafts] {
                core.outbox.write(delete(table, session));
            }
        }
        for session in &gone {
            core.sessions.remove(session);
        }
        let files = part(1).iter().map(|(key, _)| key.clone()).list();
        runner.sweep_files(core, &files);
        core.outbox.strictly();
        if core.lifecycle != Lifecycle::Running {
            self.give_back(core, runner);
        }
    }
}

/// All rows of a session in a table go.
pub(super) fn delete(table: Table, session: &str) -> Write {
    Write::DeletePrefix { table, prefix: vec![session.into()] }
}

/// When a session was removed, by its head.
pub(in crate::harness) fn removed_by(head: &Value) -> Option<Millis> {
    head.get("removed").and_then(Value::as_u64)
}
