//! How a harness ends: it fails, steps back for another tab, or is closed.
//!
//! Promises: no run ends by any of these, and nothing that was not stored has happened; a command that waits is told why;
//! a close waits until everything is stored. Leaves to others: a stop on purpose (`start.rs`).

use super::{Action, After, Harness, Input, Lifecycle, commands};
use crate::error::{Code, ErrorInfo};
use crate::ports::Millis;

impl Harness {
    /// The harness itself cannot go on: nothing in flight is wanted any more, and nothing that was not stored
    /// has happened. No run ends by this; the next start folds what is stored.
    pub(super) fn fail(&mut self, error: ErrorInfo) {
        self.drop_all(&error);
        self.core.lifecycle = Lifecycle::Error(error.message.clone());
        self.core.failure = Some(error.clone());
        self.core.tell_status();
        self.core.tell_error(&error);
        self.core.tell_status_changed();
        if let Some(start) = self.start.take() {
            self.start_failed(start, &error);
        }
        // What has come of it is swept by the next start.
        self.core.sessions.arrival = None;
    }

    /// Another page is to go on with what runs here in this epoch, now: this one may stand still before another commit is
    /// through. What is not stored has not happened, and no run ends by this.
    pub(super) fn step_back(&mut self, command: u32, epoch: u64) {
        let error = ErrorInfo::new(Code::OwnershipLost, "another tab may go on with the agent now");
        let error = error.hint("ask there, or start the agent again to take it back");
        if self.core.lifecycle == Lifecycle::Running && self.core.epoch == epoch {
            self.runner.calls.draft_at_once(&mut self.core);
            self.drop_all(&error);
            self.core.lifecycle = Lifecycle::Stopped;
            self.core.tell_status();
            self.core.tell_status_changed();
            self.core.sessions.arrival = None;
        }
        self.core.reply_now(command, Ok(None));
    }

    /// Gives up all that is under way, and the workspace: those who wait are told why.
    pub(super) fn drop_all(&mut self, error: &ErrorInfo) {
        self.runner.abort_all(&mut self.core);
        for action in self.core.outbox.abandon() {
            if let Action::Reply { id, result } = action {
                self.core.outbox.act(Action::Reply { id, result: result.and(Err(error.clone())) });
            }
        }
        for waiter in std::mem::take(&mut self.core.runs.waiters) {
            self.core.reply_now(waiter.command, Err(error.clone()));
        }
        // What was read for this holding of the workspace must not serve the next one.
        let mut unanswered = Vec::new();
        self.reads.judged.retain(|(after, _)| !matches!(after, After::Load { .. }));
        self.reads.under_way.retain(|after| match after {
            After::Erase { command, .. } => {
                unanswered.push(*command);
                false
            }
            After::Epoch | After::Account { .. } | After::Around | After::Load { .. } | After::Remains => {
                false
            }
            _ => true,
        });
        for command in unanswered {
            self.core.reply_now(command, Err(error.clone()));
        }
        self.core.sessions.let_all_go();
        self.core.runs.forget();
        self.reads.reader = None;
        self.epoch_commit = None;
        self.runner.pages.drop_commit_of_run();
        self.core.unlock(false);
    }

    pub(super) fn close(&mut self, command: Option<u32>) {
        self.runner.calls.write_drafts(&mut self.core);
        self.turn_away();
        self.runner.abort_all(&mut self.core);
        self.closing = Some(command);
    }

    /// A newer version wants the database: what is written is stored, a run at work is held, then all is let go.
    pub fn make_way(&mut self, now: Millis) {
        self.core.set_now(now);
        self.close(None);
    }

    /// Closes once everything is stored. `false`: nothing changed.
    pub(super) fn finish_closing(&mut self) -> bool {
        if !self.core.outbox.is_idle() || self.runner.pages.is_committing() {
            return false;
        }
        let Some(command) = self.closing.take() else { return false };
        self.closed = true;
        for (_, input) in std::mem::take(&mut self.deferred) {
            if let Input::Command { id, .. } = input {
                self.core.reply_now(id, Err(commands::closed()));
            }
        }
        self.core.lifecycle = Lifecycle::Stopped;
        self.core.unlock(false);
        if let Some(command) = command {
            self.core.reply_now(command, Ok(None));
        }
        self.core.outbox.act(Action::Close);
        true
    }
}
