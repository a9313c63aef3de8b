//! The commands that wait for the end of a run: `wait` and `result`.
//!
//! Decides which of them are over at a time or by an end, and which wait for another run from now on. Promises: the
//! command that came first is answered first. Leaves to others: what they are told (`harness/core/waits`).

use crate::list::Listed;
use crate::ports::Millis;

/// A command that waits for the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The command that is answered.
    pub command: u32,
    /// The session that the run is of: a copy of it has the run as well.
    pub session: String,
    /// The run that was asked for.
    pub run: String,
    /// The run whose end is awaited: that one, or one that goes on with it.
    pub on: String,
    /// `None`: however long it takes, and the answer is a `RunResult`.
    pub until: Option<Millis>,
    /// How long the answer waits for another try where the run has failed.
    pub grace: Millis,
    /// It has failed: until when the answer waits, and the answer.
    pub failed: Option<(Millis, String)>,
}

impl Waiter {
    fn is_on(&self, session: &str, run: &str) -> bool {
        self.on == run && self.session == session
    }

    /// When it is answered at the latest.
    fn due(&self) -> Option<Millis> {
        let failed = self.failed.as_ref().map(|(at, _)| *at);
        self.until.into_iter().chain(failed).min()
    }

    /// What it is told when that time has come; `None`: that it was over.
    pub fn answer(self) -> Option<String> {
        let (at, answer) = self.failed?;
        self.until.is_none_or(|until| until >= at).then_some(answer)
    }
}

/// All of them, the oldest first.
#[derive(Debug, Default)]
pub struct Waiters(Vec<Waiter>);

impl Waiters {
    /// One more.
    pub fn push(&mut self, waiter: Waiter) {
        self.0.push(waiter);
    }

    /// When the first of them is answered at the latest.
    pub fn first_due(&self) -> Option<Millis> {
        self.0.iter().filter_map(Waiter::due).min()
    }

    /// Takes those that have waited long enough.
    pub fn take_due(&mut self, now: Millis) -> Vec<Waiter> {
        self.take(|waiter| waiter.due().is_some_and(|due| due <= now))
    }

    /// Takes all of them.
    pub fn take_all(&mut self) -> Vec<Waiter> {
        std::mem::take(&mut self.0)
    }

    /// Takes those of a session whose run is over already.
    pub fn take_over(&mut self, session: &str, is_over: impl Fn(&str) -> bool) -> Vec<Waiter> {
        self.take(|waiter| waiter.session == session && is_over(&waiter.on))
    }

    /// A run of a session has ended. Gives those that are answered now. Where it has failed, `answer` says until when a
    /// waiter with a grace waits for another try, and what it is told then.
    pub fn take_ended(
        &mut self,
        session: &str,
        run: &str,
        answer: impl Fn(&Waiter) -> Option<(Millis, String)>,
    ) -> Vec<Waiter> {
        for waiter in self.0.iter_mut().filter(|waiter| waiter.is_on(session, run)) {
            waiter.failed = answer(waiter);
        }
        self.take(|waiter| waiter.is_on(session, run) && waiter.failed.is_none())
    }

    /// A run goes on with a failed run. The waiters whose grace for the failed run is not over wait for this run now.
    pub fn goes_on(&mut self, session: &str, failed: &str, run: &str, now: Millis) {
        for waiter in &mut self.0 {
            if waiter.is_on(session, failed) && waiter.failed.as_ref().is_some_and(|(at, _)| now < *at) {
                (waiter.on, waiter.failed) = (run.into(), None);
            }
        }
    }

    fn take(&mut self, which: impl Fn(&Waiter) -> bool) -> Vec<Waiter> {
        self.0.extract_if(.., |waiter| which(waiter)).list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_over_by_its_own_time_or_by_that_of_the_error() {
        let waiter = |until: Option<Millis>, failed: Option<Millis>| Waiter {
            command: 1,
            session: "s".into(),
            run: "r".into(),
            on: "r".into(),
            until,
            grace: 0,
            failed: failed.map(|at| (at, "failed".into())),
        };
        let both = |until, failed| {
            let waiter = waiter(until, failed);
            (waiter.due(), waiter.answer().is_some())
        };
        assert_eq!(both(Some(10), None), (Some(10), false));
        assert_eq!(both(Some(10), Some(20)), (Some(10), false));
        assert_eq!(both(Some(20), Some(20)), (Some(20), true));
        assert_eq!(both(Some(30), Some(20)), (Some(20), true));
        assert_eq!(both(None, None), (None, false));
    }
}
