//! How a harness ends: it fails, steps back for another tab, or is closed.
//!
//! Promises: no run ends by any of these, and nothing that was not stored has happened. A command that waits is told
//! why. A close waits until everything is stored. Leaves to others: a stop on aim (`start.rs`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::Action;
use crate::harness::core::{Core, Lifecycle};
use crate::harness::holding::Holding;
use crate::harness::reads::sweep::Then;
use crate::harness::reads::{After, Reads};
use crate::harness::runner::Runner;

impl Holding {
    /// The harness itself cannot go on: nothing in flight is wanted any more, and nothing that was not stored
    /// has happened. No run ends by this; the next start folds what is stored.
    pub(in crate::harness) fn fail(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        error: ErrorInfo,
    ) {
        self.drop_all(core, runner, reads, &error);
        core.state.lifecycle = Lifecycle::Error(error.message.clone());
        core.state.failure = Some(error.clone());
        core.tell_status();
        core.tell_error(&error);
        core.tell_status_changed();
        if let Some(start) = self.start.take() {
            self.start_failed(core, start, &error);
        }
        // What has come of it is swept by the next start.
        core.sessions.arrival = None;
    }

    /// Another page is to go on with what runs here in this epoch, now: this one may stand still before another commit is
    /// through. What is not stored has not happened, and no run ends by this.
    pub(in crate::harness) fn step_back(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        command: u32,
        epoch: u64,
    ) {
        let error = ErrorInfo::new(Code::OwnershipLost, "another tab may go on with the agent now");
        let error = error.hint("ask there, or start the agent again to take it back");
        if core.state.lifecycle == Lifecycle::Running && core.epoch == epoch {
            runner.calls.draft_at_once(core);
            self.drop_all(core, runner, reads, &error);
            core.state.lifecycle = Lifecycle::Stopped;
            core.tell_status();
            core.tell_status_changed();
            core.sessions.arrival = None;
        }
        core.reply_now(command, Ok(None));
    }

    /// Gives up all that is under way, and the workspace: those who wait are told why.
    pub(in crate::harness) fn drop_all(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        error: &ErrorInfo,
    ) {
        runner.abort_all(core);
        for action in core.outbox.abandon() {
            if let Action::Reply { id, result } = action {
                core.outbox.act(Action::Reply { id, result: result.and(Err(error.clone())) });
            }
        }
        for waiter in core.runs.waiters.take_all() {
            core.reply_now(waiter.command, Err(error.clone()));
        }
        // What was read for this holding of the workspace must not serve the next one.
        let mut unanswered = Vec::new();
        let mut stays = |after: &After| match after {
            After::Erase { command, .. } | After::Sweep { then: Then::Erased { command, .. }, .. } => {
                unanswered.push(*command);
                false
            }
            After::Archive { command, .. } => {
                unanswered.extend(*command);
                false
            }
            After::Epoch
            | After::Account { .. }
            | After::Around
            | After::Load { .. }
            | After::Remains(_)
            | After::Sweep { .. } => false,
            _ => true,
        };
        reads.judged.retain(|(after, _)| stays(after));
        reads.under_way.retain(stays);
        for command in unanswered {
            core.reply_now(command, Err(error.clone()));
        }
        core.sessions.let_all_go();
        core.runs.forget();
        reads.reader = None;
        self.epoch_commit = None;
        runner.pages.drop_commit_of_run();
        core.unlock(false);
    }

    pub(in crate::harness) fn close(&mut self, core: &mut Core, runner: &mut Runner, command: Option<u32>) {
        runner.calls.write_drafts(core);
        self.turn_away(core, runner);
        runner.abort_all(core);
        self.closing = Some(command);
    }
}
