//! Conversations that are cleared, and messages that are removed.
//!
//! Promises: first the journal says it, then the content leaves the database. The head says so until that is done, so the
//! next start erases what was not erased then, in every session. Leaves to others: which rows have content
//! (`core/stored`), and taking a session whose head says so (`takes`).

use crate::error::{Code, ErrorInfo};
use crate::harness::core::refused::no_session;
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle};
use crate::harness::holding::Holding;
use crate::harness::holding::arrivals::begin_anew;
use crate::harness::reads::{After, Reads};
use crate::harness::runner::Runner;
use crate::journal::canonical::Integrity;
use crate::journal::{Entry, StoppedBy, pack};
use crate::ports::{Read, Table};
use crate::rooms::{Room, enter};
use crate::session::{Checkpoint, Session};

impl Holding {
    /// Erases a conversation: first in the journal's word, then its content in the database. A door of the room `past`.
    #[inline(never)]
    pub(in crate::harness) fn clear(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        command: u32,
        session: &str,
    ) {
        enter(Room::Past);
        runner.interrupt_session(core, session, StoppedBy::Cleared, true);
        if core.integrity(session) == Integrity::Tampered {
            // What lies before the clearing would still not be what was written.
            core.answer_waiters(session);
            reads.give_up(core, command, session);
            return begin_anew(core, runner);
        }
        let Some(folded) = core.session(session) else { return };
        let (sums, is_titled) = (folded.sums, folded.is_titled_by(None));
        runner.append(core, session, None, &Entry::Cleared { sums });
        core.drop_window(session);
        core.erases(session);
        if is_titled {
            runner.take_title_back(core, session);
        }
        core.answer_waiters(session);
        runner.advance(core, session);
        core.outbox.strictly();
        if let Some(slot) = core.sessions.get_mut(session) {
            slot.transcripts.clear();
        }
        if core.sessions.is_watched(session) {
            runner.calls.tell_history(core, session);
        }
        let place = core.session(session).and_then(Session::checkpoint);
        read_to_erase(core, reads, command, session, place);
    }

    /// Takes a message out of a conversation with what was answered, and erases their content: first in the journal's word. A
    /// door of the room `past`.
    ///
    /// # Errors
    /// `busy`, `message_not_found`
    #[inline(never)]
    pub(in crate::harness) fn remove_message(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        (command, session): (u32, &str),
        message: &str,
    ) -> Result<(), ErrorInfo> {
        enter(Room::Past);
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let Some(runs) = folded.goes_with(message) else { return Err(not_there(folded, message)) };
        runner.make_room(core, session)?;
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let (stay, older) = folded.left_without(&runs);
        let entry = Entry::Withdrawn {
            runs: runs.as_slice().into(),
            stay,
            older,
            sums: folded.sums,
            outside: folded.outside_without(&runs),
            unsealed: folded.unsealed(),
        };
        let is_titled = folded.is_titled_by(Some(&runs));
        runner.append(core, session, None, &entry);
        core.drop_window(session);
        core.erases(session);
        if is_titled {
            runner.take_title_back(core, session);
        }
        runner.advance(core, session);
        core.outbox.strictly();
        runner.tell_other_conversation(core, session);
        read_to_erase(core, reads, command, session, None);
        Ok(())
    }

    /// Removes the first session. There is one as long as an agent runs: so it goes at once, and begins anew.
    #[inline(never)]
    pub(in crate::harness) fn remove_first(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        command: u32,
    ) -> Result<(), ErrorInfo> {
        enter(Room::Past);
        if core.integrity(DEFAULT_SESSION) != Integrity::Tampered {
            core.must_own_session(DEFAULT_SESSION)?;
        }
        let gone = core.ends_with(DEFAULT_SESSION);
        runner.interrupt_session(core, DEFAULT_SESSION, StoppedBy::Removed, true);
        runner.unqueue_all(core, DEFAULT_SESSION);
        core.answer_waiters(DEFAULT_SESSION);
        core.runs.go_with_session(gone);
        reads.give_up(core, command, DEFAULT_SESSION);
        begin_anew(core, runner);
        Ok(())
    }

    /// A clearing is over. What it could not erase, the next start erases.
    pub(in crate::harness) fn erased(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        (command, session): (u32, &str),
        result: Result<Option<String>, ErrorInfo>,
    ) {
        core.reply(command, result);
        if self.put_back(core, reads, session) {
            return;
        }
        // The conversation of a harness that does not run was only borrowed.
        if core.state.lifecycle != Lifecycle::Running {
            self.give_back(core, runner);
        }
    }
}

/// Reads the rows in which something is to be erased, once the journal says so.
fn read_to_erase(core: &mut Core, reads: &mut Reads, command: u32, session: &str, place: Option<Checkpoint>) {
    let until = place.as_ref().map(|place| place.seq + 1);
    let rows = pack::loose(session).within(Some(1), until);
    let after = After::Erase { command, session: session.into(), place };
    reads.read_after_commit(core, vec![rows, Read::all(Table::Files, Vec::new())], after);
}

/// The conversation has no such message that could be removed.
fn not_there(session: &Session, message: &str) -> ErrorInfo {
    let error = ErrorInfo::new(Code::MessageNotFound, "the conversation has no such message");
    match session.entered_with(message) {
        Some(first) => {
            error.hint(["it has entered the run of \"", first, "\": remove that message"].concat())
        }
        None if session.queued(message).is_some() => {
            error.hint("it waits for its turn: queue.remove takes it away")
        }
        None => error.hint("name a message that history() shows; an older version goes with the present one"),
    }
}
