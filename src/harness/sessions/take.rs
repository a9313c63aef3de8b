//! Sessions that come into our hands.
//!
//! Decides what is put on record when a session is taken: that this holder writes from here on, that a page was lost with
//! its run, that what was found was not verified. Promises: a workspace that is borrowed for one write is given back.
//! Leaves to others: what is read for it (`look.rs`), and how a workspace is got (`holding/start.rs`).

use crate::error::{Code, ErrorInfo};
use crate::harness::Harness;
use crate::harness::action::Action;
use crate::harness::core::{Core, DEFAULT_SESSION, stored};
use crate::harness::holding::{Holding, start};
use crate::harness::reads::{Reads, Waiting};
use crate::harness::runner::Runner;
use crate::harness::sessions::look::{Stored, load};
use crate::harness::sessions::removal::delete;
use crate::journal::Entry;
use crate::journal::canonical::Integrity;
use crate::ports::{Rows, Table};
use crate::protocol::Command;

impl Runner {
    /// A session that was taken goes by the present configuration, and what waits in it waits again.
    pub(in crate::harness) fn start_session(&mut self, core: &mut Core, session: &str) {
        self.record_start(core, session);
        self.start_those_with_keys(core);
        core.answer_waiters(session);
        self.calls.tell_questions_again(core, &self.setup, session);
    }

    /// From here on this holder writes the journal, and decisions go by its configuration.
    pub(in crate::harness) fn record_start(&mut self, core: &mut Core, session: &str) {
        let (config, tools) = (self.setup.config_record(core), self.setup.registry.record());
        let tools = (*tools).clone();
        self.append(core, session, None, &Entry::Started { epoch: core.epoch, config, tools });
    }
}

impl Reads {
    /// A session that a command is for is not what was written. All that can be done with it is to remove it.
    pub(in crate::harness) fn not_taken(
        &mut self,
        core: &mut Core,
        waiting: &Waiting,
        error: ErrorInfo,
    ) -> Result<(), ErrorInfo> {
        if waiting.request.command != Command::SessionsRemove
            || error.code != Code::Corrupt
            || waiting.session == DEFAULT_SESSION
        {
            return Err(error);
        }
        core.remove_broken(&waiting.session);
        core.reply(waiting.command, Ok(None));
        self.look_for_remains(core);
        Ok(())
    }
}

impl Holding {
    /// Borrows the workspace for one command that writes.
    pub(super) fn borrow_for(&mut self, core: &mut Core, waiting: Waiting) {
        self.begin(core, start::Purpose::Once(Box::new(waiting)));
    }

    /// Lets a borrowed workspace go.
    pub(in crate::harness) fn give_back(&mut self, core: &mut Core, runner: &mut Runner) {
        self.release(core, runner);
        core.outbox.tell_after_commit(Action::Unlock { epoch: core.epoch, stopped: false });
    }

    /// Takes a session's journal into our hands: its entries, head and drafts as they were read.
    pub(in crate::harness) fn take_session(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        id: &str,
        rows: &[Rows],
    ) -> Result<(), ErrorInfo> {
        let stored = Stored::of(rows);
        let session = load(id, core, &stored)?;
        let stopped = session.epoch() <= self.stopped && !session.grants.is_empty();
        let doubted = session.origin.is_none() && stored.head_row().is_some();
        core.sessions.take(session);
        let integrity = core.integrity(id);
        if doubted && integrity != Integrity::Verified {
            // What is signed from here on says nothing of what was before.
            runner.append(core, id, None, &Entry::Found { integrity: integrity.into() });
        }
        if stopped {
            runner.append(core, id, None, &Entry::Stopped {});
        }
        for write in stored::erasures(id, stored.entries()) {
            core.outbox.write(write);
        }
        // What a lost page wrote past its commits may belong to no run any more.
        if !stored.drafts().is_empty() {
            core.outbox.write(delete(Table::Drafts, id));
        }
        runner.lose(core, id, stored.drafts());
        if core.sessions.is_watched(id) {
            runner.calls.tell_history(core, id);
        }
        Ok(())
    }
}

impl Harness {
    /// Takes the session of a command, and carries it out.
    pub(super) fn take_for(&mut self, waiting: Waiting, rows: &[Rows]) -> Result<(), ErrorInfo> {
        if let Err(error) =
            self.holding.take_session(&mut self.core, &mut self.runner, &waiting.session, rows)
        {
            return self.reads.not_taken(&mut self.core, &waiting, error);
        }
        self.runner.start_session(&mut self.core, &waiting.session);
        self.dispatch_waiting(waiting)
    }

    /// Does the one thing that a workspace was borrowed for, and lets it go.
    pub(in crate::harness) fn do_once(&mut self, waiting: Waiting) {
        let command = waiting.command;
        let clears = waiting.request.command == Command::ClearConversation;
        match self.dispatch_waiting(waiting) {
            // It goes on until everything is erased.
            Ok(()) if clears => return,
            Ok(()) => {}
            Err(error) => self.core.reply_now(command, Err(error)),
        }
        self.holding.give_back(&mut self.core, &mut self.runner);
    }
}
