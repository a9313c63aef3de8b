//! Waiting for the end of a run: `wait`, and `result`.
//!
//! Decides who is answered what, and when. Promises: waiting for a run does not touch it. A waiter that joins late is
//! answered as all the others, also after a reload. An answer comes after the commit of what it tells. Leaves to
//! others: how a run has ended (`session/`), which events it has (`calls/events`).
//!
//! After the end of a failed run, an answer waits `errorGraceMs`. A run that goes on with it within that time takes its
//! place: the answer has that run's times under the id that was asked for. If that run fails too, the same holds for
//! it. The grace counts from the time that the journal has, so all waiters are told the same. A cleared conversation
//! only keeps how each run has ended. What a removal of the session has ended is remembered here, because no journal has it.

use crate::error::{Code, ErrorInfo};
use crate::harness::action::Action;
use crate::harness::core::{Core, Lifecycle};
use crate::json::json;
use crate::object::Object;
use crate::ports::Millis;
use crate::protocol::args::shortened;
use crate::protocol::{Command, Request};
use crate::run::{Ended, Outcome, Run, Waiter};
use crate::session;
use crate::session::Session;
use serde_json::Value;

/// How long `wait` waits where nobody says, in milliseconds.
const WAIT_MS: u64 = 30_000;

/// Which run is waited for, and how.
#[derive(Clone, Copy, Debug)]
pub(in crate::harness) struct Awaited<'a> {
    pub run: &'a str,
    /// `None`: however long it takes, and the answer is a `RunResult`.
    pub until: Option<Millis>,
    /// How long the answer waits where the run has failed.
    pub grace: Millis,
}

impl Core {
    /// Which run `wait` and `result` are for, and until when.
    pub(in crate::harness) fn awaited<'a>(&self, request: &'a Request) -> Awaited<'a> {
        let args = request.args();
        let run = args.needed("runId");
        if request.command == Command::Result {
            return Awaited { run, until: None, grace: 0 };
        }
        Awaited {
            run,
            until: Some(self.now.saturating_add(args.whole("timeoutMs").unwrap_or(WAIT_MS))),
            grace: args.whole("errorGraceMs").unwrap_or_default(),
        }
    }

    pub(in crate::harness) fn wait(
        &mut self,
        id: u32,
        session: &str,
        asked: &Awaited<'_>,
    ) -> Result<(), ErrorInfo> {
        let no_run = || no_run(asked.run);
        let found = self.session(session).map(|session| self.stands(session, asked)).ok_or_else(no_run)??;
        if let Some(answer) = self.keep_waiter(id, session, asked, found)? {
            self.reply(id, Ok(Some(answer)));
        }
        Ok(())
    }

    /// The answer by a session that is only looked at. `None`: the command waits.
    pub(in crate::harness) fn answer_or_wait(
        &mut self,
        id: u32,
        session: &Session,
        asked: &Awaited<'_>,
    ) -> Result<Option<String>, ErrorInfo> {
        let found = self.stands(session, asked)?;
        self.keep_waiter(id, &session.id, asked, found)
    }

    /// How a run stands that is asked for: the run whose end is awaited, its answer if it has ended, and until when that
    /// one waits for another try.
    fn stands(&self, session: &Session, asked: &Awaited<'_>) -> Result<Stands, ErrorInfo> {
        let mut on = asked.run;
        let mut end = session.run_times(on);
        // A run that goes on with another comes after it.
        for run in session.all_runs().filter(|_| asked.grace > 0) {
            let failed = end.and_then(|(_, ended)| ended).filter(|ended| ended.outcome == Outcome::Failed);
            let in_time = failed.is_some_and(|ended| run.started_at < held_until(ended, asked.grace));
            if in_time && run.prompt.goes_on_with() == Some(on) {
                (on, end) = (&run.id, session.run_times(&run.id));
            }
        }
        let Some((started_at, ended)) = end else {
            let waits =
                session.queued(asked.run).map(|_| Stands { on: on.into(), answer: None, failed: None });
            return waits.ok_or_else(|| no_run(asked.run));
        };
        // A run whose message was removed has never begun.
        let begun = session.past.get(on).is_none_or(|past| past.begun).then_some(started_at);
        Ok(Stands {
            on: on.into(),
            answer: ended.map(|ended| match (asked.until, session.run(on)) {
                (None, Some(run)) => run_result(run),
                (None, None) => result_without_words(on, ended),
                (Some(_), run) => wait_result(asked.run, begun, ended, run.and_then(Run::value)),
            }),
            failed: ended
                .filter(|ended| asked.grace > 0 && ended.outcome == Outcome::Failed)
                .map(|ended| held_until(ended, asked.grace))
                .filter(|until| *until > self.now),
        })
    }

    /// The answer. `None`: it is not there yet, or an error that is held back; then the command waits.
    ///
    /// # Errors
    /// The harness has failed: a result that it would have written does not come.
    fn keep_waiter(
        &mut self,
        command: u32,
        session: &str,
        asked: &Awaited<'_>,
        found: Stands,
    ) -> Result<Option<String>, ErrorInfo> {
        let answer = found.answer.as_ref().map(json);
        let failed = found.failed.zip(answer.clone());
        if answer.is_some() && failed.is_none() {
            return Ok(answer);
        }
        let Awaited { run, until, grace } = *asked;
        // Where another holder has taken it over, that one may go on with the run.
        let failure = self.state.failure.as_ref().filter(|failure| failure.code != Code::OwnershipLost);
        if let (Lifecycle::Error(_), Some(failure), None) = (&self.state.lifecycle, failure, until) {
            return Err(failure.clone());
        }
        let (session, run) = (session.into(), run.into());
        self.runs.waiters.push(Waiter { command, session, run, on: found.on, until, grace, failed });
        Ok(None)
    }

    /// The answer about a run that has ended by the removal of its session.
    pub(in crate::harness) fn ended_by_removal(&self, request: &Request) -> Option<String> {
        if !matches!(request.command, Command::Wait | Command::Result) {
            return None;
        }
        let Awaited { run, until, .. } = self.awaited(request);
        let gone = self.runs.gone(run)?;
        let ended = Ended { at: gone.at, outcome: Outcome::Interrupted, error: None };
        Some(json(&match until {
            Some(_) => wait_result(run, gone.started_at, &ended, None),
            None => result_without_words(run, &ended),
        }))
    }

    /// Answers those who waited since before this start for runs of a session that have ended meanwhile.
    pub(in crate::harness) fn answer_waiters(&mut self, id: &str) {
        let Some(slot) = self.sessions.get(id) else { return };
        let times = |run: &str| slot.session.run_times(run);
        let is_over = |run: &str| times(run).is_some_and(|(_, ended)| ended.is_some());
        let over = self.runs.waiters.take_over(id, is_over);
        for Waiter { command, run, until, grace, .. } in over {
            if let Err(error) = self.wait(command, id, &Awaited { run: &run, until, grace }) {
                self.reply_now(command, Err(error));
            }
        }
    }

    /// Answers who waits for a run that has ended, with its `RunResult` or with what `wait` gives.
    pub(in crate::harness) fn tell_waiters(
        &mut self,
        (session, run): (&str, &str),
        started_at: Millis,
        ended: &Ended,
        result: &Value,
    ) {
        let failed = ended.outcome == Outcome::Failed;
        let answer = |waiter: &Waiter| {
            let answer = || json(&wait_result(&waiter.run, Some(started_at), ended, None));
            (failed && waiter.grace > 0).then(|| (held_until(ended, waiter.grace), answer()))
        };
        for waiter in self.runs.waiters.take_ended(session, run, answer) {
            let told = match waiter.until {
                Some(_) => wait_result(&waiter.run, Some(started_at), ended, result.get("value").cloned()),
                None => result.clone(),
            };
            self.outbox
                .tell_after_commit(Action::Reply { id: waiter.command, result: Ok(Some(json(&told))) });
        }
    }

    /// Answers those who have waited long enough.
    pub(in crate::harness) fn end_waits(&mut self) {
        for waiter in self.runs.waiters.take_due(self.now) {
            let timeout = Object::new().text("runId", &waiter.run).text("status", "timeout").json();
            let id = waiter.command;
            match waiter.answer() {
                // The commit of the end may be slow.
                Some(failed) => self.reply(id, Ok(Some(failed))),
                None => self.reply_now(id, Ok(Some(timeout))),
            }
        }
    }
}

/// How a run stands that somebody waits for.
struct Stands {
    /// The run whose end is awaited.
    on: String,
    /// What is answered, if it has ended.
    answer: Option<Value>,
    /// It has failed: until when the answer waits.
    failed: Option<Millis>,
}

fn held_until(ended: &Ended, grace: Millis) -> Millis {
    ended.at.saturating_add(grace)
}

/// `RunResult` of a run that has ended.
pub(in crate::harness) fn run_result(run: &Run) -> Value {
    let ended = run.ended.as_ref();
    Object::new()
        .text("runId", &run.id)
        .value("outcome", ended.map(|ended| ended.outcome.as_str()).into())
        .text("text", &run.text())
        .number("turns", run.turns.len() as u64)
        .maybe("value", run.value())
        .maybe("usage", session::usage(&run.spent()))
        .maybe("error", ended.and_then(|ended| ended.error.as_ref()).map(ErrorInfo::to_json))
        .done()
}

/// `WaitResult` of a run that has ended. `value`: its answer's, where that has a schema.
fn wait_result(run: &str, started_at: Option<Millis>, ended: &Ended, value: Option<Value>) -> Value {
    Object::new()
        .text("runId", run)
        .maybe("value", value)
        .text("status", if ended.outcome == Outcome::Failed { "error" } else { "ok" })
        .text("outcome", ended.outcome.as_str())
        .maybe("startedAt", started_at.map(Value::from))
        .number("endedAt", ended.at)
        .maybe("error", ended.error.as_ref().map(ErrorInfo::to_json))
        .done()
}

/// `RunResult` of a run whose conversation was cleared, or that has never begun.
fn result_without_words(run: &str, ended: &Ended) -> Value {
    Object::new()
        .text("runId", run)
        .text("outcome", ended.outcome.as_str())
        .text("text", "")
        .number("turns", 0)
        .done()
}

pub(in crate::harness) fn no_run(id: &str) -> ErrorInfo {
    let id = shortened(id);
    ErrorInfo::new(Code::RunNotFound, format!("no run has the id \"{id}\""))
}
