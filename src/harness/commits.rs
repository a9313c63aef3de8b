//! Commits: when the next one goes, and what comes of it.
//!
//! Promises: one commit is on its way at a time. Heads go with the commit that changes them. A commit that failed ends
//! no run. Leaves to others: what waits for it (`core/outbox.rs`), and the commits of pages (`pages/`).

use crate::harness::Harness;
use crate::ports::StoreError;

impl Harness {
    /// Sends the next commit if one is due. `false`: nothing changed.
    pub(super) fn send_next_commit(&mut self) -> bool {
        if !self.core.outbox.free() {
            return false;
        }
        let pages_wait = self.runner.pages.has_changes() || self.holding.closing.is_some();
        if let Some(due) = self.core.outbox.due() {
            if due > self.core.now && !pages_wait {
                return false;
            }
            self.core.write_heads();
            let guard = self.core.guard();
            self.core.outbox.send(self.core.now, guard);
            return true;
        }
        // Without changes nothing says that pages are there at all.
        self.runner.pages.has_changes() && self.runner.pages.send_page_commit(&mut self.core)
    }

    pub(super) fn committed(&mut self, commit: u64, result: Result<(), StoreError>) {
        let stored = result.is_ok();
        if self.runner.pages.commits(commit) {
            self.core.outbox.stored(commit);
            self.runner.pages.page_committed(&mut self.core, result);
            self.core.tell_growth();
        } else if self.holding.epoch_commit == Some(commit) {
            self.holding.epoch_commit = None;
            self.core.outbox.stored(commit);
            self.holding.epoch_committed(&mut self.core, &mut self.runner, &mut self.reads, result);
        } else if !self.core.outbox.forgotten(commit) {
            match result {
                Ok(()) => {
                    self.core.outbox.stored(commit);
                    self.core.tell_growth();
                }
                Err(error) => {
                    self.core.outbox.failed(commit);
                    self.holding.fail(&mut self.core, &mut self.runner, &mut self.reads, error.info());
                }
            }
        }
        // The row of the format has gone with it, or before it.
        if stored {
            self.mark();
        }
    }
}
