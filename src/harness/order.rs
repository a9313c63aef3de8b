//! Which input is taken when.
//!
//! Decides what has to wait, and what for. A change of pages may be on its way, or a conversation is being erased, or a
//! start, a key or a room has to come first. Promises: what waits is taken in its order, as soon as nothing stands before it.
//! What follows of itself comes before it. Leaves to others: what an input leads to.

use crate::harness::{After, Harness, Input};
use crate::ports::Millis;
use crate::protocol::Command;

impl Harness {
    /// While a page change and its outcome are on their way as one, and while a conversation or a session is erased,
    /// nothing may come between.
    pub(super) fn must_finish(&self) -> bool {
        self.runner.pages.is_committing()
            || self
                .reads
                .under_way
                .values()
                .any(|after| matches!(after, After::Erase { .. } | After::Remains))
    }

    /// Whether an input can be taken now: it waits for nothing, or is what is waited for.
    /// `before`: what waits and was given before it.
    pub(super) fn passes(&self, input: &Input, before: &[(Millis, Input)]) -> bool {
        match input {
            Input::Committed { .. } | Input::LockLost => true,
            Input::Room { .. } => true,
            Input::Read { .. } if !self.lacks(input).is_empty() => false,
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
    pub(super) fn go_on_alone(&mut self) {
        loop {
            if let Some(error) = self.core.broken.take() {
                self.holding.fail(&mut self.core, &mut self.runner, &mut self.reads, error);
            }
            if !self.must_finish()
                && let Some(next) = self.core.next.pop_front()
            {
                self.runner.follow(&mut self.core, next);
                continue;
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
}
