//! Which input is taken when.
//!
//! Decides what has to wait, and what for. A change of pages may be on its way, or a conversation is being erased, or a
//! start, a key or a room has to come first. Promises: what waits is taken in its order, as soon as nothing stands before it.
//! What follows of itself comes before it. Leaves to others: what an input leads to.

use crate::error::{Code, ErrorInfo};
use crate::harness::Harness;
use crate::harness::action::Input;
use crate::harness::reads::After;
use crate::harness::reads::sweep::Then;
use crate::harness::runner::Help;
use crate::harness::runner::messages::prompted;
use crate::ports::Millis;
use crate::protocol::Command;
use crate::rooms::{Room, Rooms};

impl Harness {
    /// While a page change and its outcome are on their way as one, and while a session is erased or archived,
    /// nothing may come between.
    pub(super) fn must_finish(&self) -> bool {
        self.runner.pages.is_committing()
            || self.reads.all().any(|after| {
                matches!(
                    after,
                    After::Erase { .. } | After::Remains(_) | After::Sweep { .. } | After::Archive { .. }
                )
            })
    }

    /// Whether an input can be taken now: it waits for nothing, or is what is waited for.
    /// `before`: what waits and was given before it.
    pub(super) fn passes(&self, input: &Input, before: &[(Millis, Input)]) -> bool {
        match input {
            Input::Committed { .. } | Input::LockLost => true,
            Input::Room { .. } => true,
            Input::Read { .. } | Input::Account { .. } | Input::Gave { .. } if self.lacks_a_room(input) => {
                false
            }
            Input::Read { .. } | Input::Signed { .. } => !self.runner.pages.is_committing(),
            Input::Command { .. } if self.waits_for_a_room(input, before) => false,
            Input::Command { request: Ok(request), .. }
                if self.holding.start.is_some() && !self.fits_the_start(request.command) =>
            {
                false
            }
            Input::Command { request: Ok(request), .. }
                if self.runner.waits_for_a_key(&self.core, request) =>
            {
                false
            }
            _ => !self.must_finish(),
        }
    }

    /// Whether a command can be taken while the workspace is being taken: what stops or clears waits for the start, and
    /// what starts waits for those before it.
    pub(super) fn fits_the_start(&self, command: Command) -> bool {
        let waits = |command: Command| command == Command::StopAgent || command.borrows();
        let stops = |(_, input): &(Millis, Input)| matches!(input, Input::Command { request: Ok(request), .. } if waits(request.command));
        match &self.holding.start {
            Some(start) if command == Command::StartAgent => {
                !start.borrows() && !self.deferred.iter().any(stops)
            }
            _ => !waits(command),
        }
    }

    /// Does what follows at once, and takes the inputs that had to wait.
    ///
    /// Several may be taken in one go, after a room has come for example. It is as if they had come one right after the
    /// other: each is taken whole, what follows of it comes before the next, and whether the next passes is asked anew.
    /// What each writes and tells stands in the outbox in that order, behind the same commits. Only the views are told
    /// once, as they are at the end.
    pub(super) fn go_on_alone(&mut self) {
        loop {
            if let Some(error) = self.core.follows.broken.take() {
                self.holding.fail(&mut self.core, &mut self.runner, &mut self.reads, error);
            }
            if !self.must_finish()
                && let Some(next) = self.core.follows.next.pop_front()
            {
                self.runner.follow(&mut self.core, next);
                continue;
            }
            if !self.must_finish() && !self.core.follows.files.is_empty() {
                let files = std::mem::take(&mut self.core.follows.files);
                self.reads.sweep(&mut self.core, files, Then::Unqueued);
                continue;
            }
            if self.runner.help == Help::Wanted {
                if self.doors.here.has(Room::Compaction) {
                    self.runner.help_came(&mut self.core, true);
                    continue;
                }
                self.ask_for(Rooms::of(Room::Compaction));
            }
            let passes = |at: &usize| {
                self.deferred
                    .split_at_checked(*at)
                    .and_then(|(before, rest)| Some(self.passes(&rest.first()?.1, before)))
                    .unwrap_or_default()
            };
            let next = (0..self.deferred.len()).find(passes);
            let Some((_, input)) = next.map(|at| self.deferred.remove(at)) else { break };
            self.take(input);
        }
        self.runner.calls.tell_views(&mut self.core, &self.runner.setup);
    }

    /// The session that the prompt of this command still waits for.
    pub(in crate::harness) fn waited_for(&self, command: u64) -> Option<&str> {
        self.deferred.iter().find_map(|(_, input)| match input {
            Input::Command { id, request: Ok(request), .. } if u64::from(*id) == command => prompted(request),
            _ => None,
        })
    }

    /// Gives up the prompts to a session that wait for its start or for a room, or the one of this command.
    pub(in crate::harness) fn drop_prompts(&mut self, session: &str, command: Option<u64>) {
        let mut at = 0;
        while let Some((_, input)) = self.deferred.get(at) {
            at += 1;
            if let Input::Command { id, request: Ok(request), .. } = input
                && command.is_none_or(|command| command == u64::from(*id))
                && prompted(request) == Some(session)
            {
                let id = *id;
                at -= 1;
                self.deferred.remove(at);
                let message = "the message was interrupted before it was sent";
                self.core.reply_now(id, Err(ErrorInfo::new(Code::Aborted, message)));
            }
        }
    }
}
