//! Sessions that come into our hands.
//!
//! Decides what is put on record when a session is taken: that a page was lost with
//! its run, that what was found was not verified. Promises: a workspace that is borrowed for one write is given back.
//! Leaves to others: what is read for it (`reads/look`), and how a workspace is got (`start`).

use crate::error::ErrorInfo;
use crate::harness::action::Action;
use crate::harness::core::Core;
use crate::harness::core::removed::delete;
use crate::harness::holding::{Holding, start};
use crate::harness::reads::Waiting;
use crate::harness::reads::look::{Stored, load_with_place, window_of};
use crate::harness::runner::Runner;
use crate::journal::Entry;
use crate::journal::canonical::Integrity;
use crate::ports::Table;

impl Holding {
    /// Borrows the workspace for one command that writes.
    pub(in crate::harness) fn borrow_for(&mut self, core: &mut Core, waiting: Waiting) {
        self.begin(core, start::Aim::Once(Box::new(waiting)));
    }

    /// Lets a borrowed workspace go.
    pub(in crate::harness) fn give_back(&mut self, core: &mut Core, runner: &mut Runner) {
        self.release(core, runner);
        core.outbox.tell_after_commit(Action::Unlock { epoch: core.epoch, stopped: false });
    }

    /// Takes a session's journal into our hands: its entries, head and drafts as they were read. `opened`: its entries were
    /// packed.
    pub(in crate::harness) fn take_session(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        id: &str,
        (stored, opened): (&Stored, bool),
    ) -> Result<(), ErrorInfo> {
        let (session, place) = load_with_place(id, core, stored)?;
        let works = self.start.as_ref().is_none_or(|start| !start.borrows());
        let window = match works && !opened && session.archived_at().is_none() && !session.is_once() {
            true => window_of(id, core, stored, &session),
            false => None,
        };
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
        core.pack(id, stored.entries(), place, (stored.is_whole(), opened));
        if let Some((window, run)) = window {
            core.keep_window(id, window, run);
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
