//! What the page is told, and in which order.
//!
//! Promises: a run has one `start` and one end, and nothing after it; the end comes as last chunk, session
//! event, lifecycle, status, all of them after its commit; `seq` counts a run's events one by one. The page's
//! mirror of the status always changes before the events that tell of it.

use super::{Action, Harness, Lifecycle, Notice, Provider};
use crate::error::ErrorInfo;
use crate::journal::Entry;
use crate::json::json;
use crate::list::Listed;
use crate::object::Object;
use crate::run::{CallState, Outcome, Run};
use crate::session;
use crate::tools::Definition;
use serde_json::Value;

/// `WaitResult` when the time is over.
pub(super) fn wait_timeout(run: &str) -> String {
    Object::new().text("runId", run).text("status", "timeout").json()
}

/// `WaitResult` of a run that has ended. `value`: its answer's, where that has a schema.
pub(super) fn wait_result(
    run: &str,
    started_at: u64,
    ended: &crate::run::Ended,
    value: Option<Value>,
) -> Value {
    Object::new()
        .text("runId", run)
        .maybe("value", value)
        .text("status", if ended.outcome == Outcome::Failed { "error" } else { "ok" })
        .text("outcome", ended.outcome.as_str())
        .number("startedAt", started_at)
        .number("endedAt", ended.at)
        .maybe("error", ended.error.as_ref().map(ErrorInfo::to_json))
        .done()
}

/// `RunResult` of a run that has ended.
pub(super) fn run_result(run: &Run) -> Value {
    let ended = run.ended.as_ref();
    Object::new()
        .text("runId", &run.id)
        .value("outcome", ended.map(|ended| ended.outcome.as_str()).into())
        .text("text", &run.text())
        .number("turns", run.turns.len() as u64)
        .maybe("value", run.value())
        .maybe("usage", session::usage(&run.sums))
        .maybe("error", ended.and_then(|ended| ended.error.as_ref()).map(ErrorInfo::to_json))
        .done()
}

impl Harness {
    /// What every detail has. Counts the event where there is a run.
    pub(super) fn detail(&mut self, session: &str, run: Option<&str>) -> Object {
        let mut detail = Object::new();
        detail.text("workspace", &self.options.name);
        detail.text("sessionId", session);
        if let Some(run) = run {
            detail.number("epoch", self.epoch);
            if let Some(slot) = self.sessions.get_mut(session) {
                if let Some(parent) = parent_of(&slot.session, run) {
                    detail.text("parentRunId", &parent);
                }
                detail.text("runId", run);
                let told = slot.told.get(run).map_or(1, |told| told + 1);
                slot.told.insert(run, told);
                detail.number("seq", told);
            }
        }
        detail
    }

    pub(super) fn send(&mut self, name: &'static str, mut detail: Object, barrier: bool) {
        let action = Action::Tell(Notice::Event(name, detail.json()));
        if barrier { self.outbox.tell_after_commit(action) } else { self.outbox.tell(action) }
    }

    /// Tells of something that no journal holds: it waits for nothing, and goes with no commit.
    pub(super) fn send_now(&mut self, name: &'static str, mut detail: Object) {
        self.outbox.act(Action::Tell(Notice::Event(name, detail.json())));
        self.tell_views();
    }

    /// `{ lifecycle, is_streaming }` as it is now.
    pub(super) fn status(&self) -> Value {
        let lifecycle = match &self.lifecycle {
            Lifecycle::Stopped => "Stopped".into(),
            Lifecycle::Starting => "Starting".into(),
            Lifecycle::Running if self.is_suspended() => "Suspended".into(),
            Lifecycle::Running => "Running".into(),
            Lifecycle::Error(message) => Object::new().text("Error", message).done(),
        };
        let is_streaming = self.any_run(Run::working);
        Object::new().value("lifecycle", lifecycle).flag("is_streaming", is_streaming).done()
    }

    /// Whether nothing streams and something waits for a person.
    pub(super) fn is_suspended(&self) -> bool {
        !self.any_run(Run::working) && self.any_run(Run::waiting)
    }

    fn any_run(&self, of: fn(&Run) -> bool) -> bool {
        self.sessions.values().any(|slot| slot.session.current().is_some_and(of))
    }

    pub(super) fn status_notice(&self) -> Action {
        Action::Tell(Notice::Status(json(&self.status())))
    }

    pub(super) fn tell_status(&mut self) {
        self.outbox.tell(self.status_notice());
    }

    pub(super) fn tell_status_changed(&mut self) {
        self.status_changed(false);
    }

    pub(super) fn status_changed(&mut self, barrier: bool) {
        let mut detail = Object::new();
        detail.text("workspace", &self.options.name);
        detail.all(self.status());
        self.told_suspended = self.is_suspended();
        self.send("agent:status-changed", detail, barrier);
    }

    /// The harness itself has failed.
    pub(super) fn tell_error(&mut self, error: &ErrorInfo) {
        let mut detail = Object::new();
        detail.text("workspace", &self.options.name);
        detail.all(error.to_json());
        self.send("agent:error", detail, false);
    }

    /// The same provider is asked again, or another one: the page is told who, when and why.
    pub(super) fn tell_notice(&mut self, session: &str, run: &str, entry: &Entry) {
        let Some(folded) = self.run(session, run) else { return };
        let error = folded.trouble().map(ErrorInfo::to_json);
        let provider = match folded.on.clone() {
            Some(name) => Some(name),
            None => self.config.provider.as_ref().map(Provider::name),
        };
        let mut detail = self.detail(session, Some(run));
        detail.maybe_text("provider", provider.as_deref()).maybe("error", error);
        if let Entry::Retrying { attempt, delay } = entry {
            detail.text("kind", "retry").number("attempt", *attempt).number("delayMs", *delay);
        } else {
            detail.text("kind", "fallback");
        }
        // Nothing else may happen for a while: what is known of the failure must not be lost with the page.
        self.outbox.hurry();
        self.send("agent:notice", detail, false);
    }

    pub(super) fn tell_tools(&mut self) {
        let definition =
            |tool: &Definition| tool.to_json(self.policy.offers(tool) && self.policy.missing(tool).is_none());
        let definitions: Value = self.registry.definitions().map(definition).array();
        self.outbox.tell(Action::Tell(Notice::Tools(json(&definitions))));
    }

    /// A run begins, or goes on in this epoch.
    pub(super) fn tell_begin(&mut self, session: &str, run: &str) {
        let Some(started_at) = self.run(session, run).map(|run| run.started_at) else { return };
        self.outbox.tell_after_commit(self.status_notice());
        let mut detail = self.detail(session, Some(run));
        detail.text("phase", "start");
        detail.number("startedAt", started_at);
        self.send("agent:lifecycle", detail, true);
        let mut detail = self.detail(session, Some(run));
        detail.number("startedAt", started_at);
        self.send("agent:session-started", detail, true);
        self.status_changed(true);
        self.tell_message(session, run, true);
    }

    /// A run has ended. `told` goes up to here; nothing of the run comes after it.
    pub(super) fn tell_end(&mut self, session: &str, id: &str) {
        let Some(run) = self.run(session, id) else { return };
        let Some(ended) = run.ended.clone() else { return };
        let (started_at, result) = (run.started_at, run_result(run));
        if let Some(delegate) = &run.delegate {
            let tool_call = delegate.tool_call.clone();
            self.tell_delegate_end(session, &tool_call, ended.outcome);
            return self.tell_waiters(id, started_at, &ended, &result);
        }
        self.outbox.tell_after_commit(self.status_notice());
        self.tell_message(session, id, false);
        let mut detail = self.detail(session, Some(id));
        match ended.outcome {
            Outcome::Completed => {
                detail.number("endedAt", ended.at);
                for member in ["text", "turns", "value", "usage"] {
                    detail.maybe(member, result.get(member).cloned());
                }
                self.send("agent:session-completed", detail, true);
            }
            Outcome::Interrupted => {
                detail.number("endedAt", ended.at);
                detail.text("reason", &self.interrupt_reason);
                self.send("agent:session-interrupted", detail, true);
            }
            Outcome::Failed => {
                detail.all(ended.error.as_ref().map(ErrorInfo::to_json).into());
                self.send("agent:error", detail, true);
            }
        }
        let mut detail = self.detail(session, Some(id));
        let phase = if ended.outcome == Outcome::Failed { "error" } else { "end" };
        detail.text("phase", phase);
        detail.number("startedAt", started_at);
        detail.number("endedAt", ended.at);
        detail.maybe("error", result.get("error").cloned());
        self.send("agent:lifecycle", detail, true);
        self.status_changed(true);
        self.tell_waiters(id, started_at, &ended, &result);
    }

    /// Answers who waits for a run that has ended, with its `RunResult` or with what `wait` gives.
    fn tell_waiters(&mut self, run: &str, started_at: u64, ended: &crate::run::Ended, result: &Value) {
        for waiter in self.waiters.extract_if(.., |waiter| waiter.run == run) {
            let told = match waiter.until {
                Some(_) => json(&wait_result(run, started_at, ended, result.get("value").cloned())),
                None => json(result),
            };
            self.outbox.tell_after_commit(Action::Reply { id: waiter.command, result: Ok(Some(told)) });
        }
    }

    /// A run that worked for another has ended: it shows as its call there.
    fn tell_delegate_end(&mut self, session: &str, tool_call: &str, outcome: Outcome) {
        let top = self.current_id(session);
        let status = if outcome == Outcome::Completed { "completed" } else { "failed" };
        // An interrupt is told when it is stored, and with it whatever it has ended.
        let barrier = outcome == Outcome::Interrupted;
        self.tell_call(session, &top, tool_call, status, barrier);
        self.tell_message(session, &top, false);
    }

    pub(super) fn tell_call(
        &mut self,
        session: &str,
        run: &str,
        tool_call: &str,
        status: &str,
        barrier: bool,
    ) {
        let Some(call) = self.call_of(session, run, tool_call) else { return };
        let mut part = Object::new();
        // Whoever answers it gets what a tool would get.
        let args = match call.state {
            CallState::Handed => self.args_of(session, run, tool_call),
            _ => session::arguments(&call.arguments),
        };
        part.value("arguments", args);
        part.text("status", status);
        part.text("tool", &call.name);
        part.text("toolCallId", &call.id);
        if let (CallState::Settled(settled), true) = (&call.state, status != "started") {
            match &settled.error {
                None => part.value("result", session::tool_result(&settled.text, settled.json)),
                Some(error) => part.value("error", error.to_json()),
            };
        }
        let mut detail = self.detail(session, Some(run));
        detail.all(part.done());
        self.send("agent:tool-call", detail, barrier);
    }

    pub(super) fn tell_progress(&mut self, session: &str, run: &str, tool_call: &str, progress: Value) {
        let Some(call) = self.call_of(session, run, tool_call) else { return };
        let (name, arguments) = (call.name.clone(), session::arguments(&call.arguments));
        let mut detail = self.detail(session, Some(run));
        detail.value("arguments", arguments);
        detail.value("progress", progress);
        detail.text("status", "started");
        detail.text("tool", &name);
        detail.text("toolCallId", tool_call);
        self.send("agent:tool-call", detail, false);
    }

    /// The messages of a run, to those who watch its session. The person's only where `both` says so.
    pub(super) fn tell_message(&mut self, session: &str, run: &str, both: bool) {
        if !self.watched.contains_key(session) {
            return;
        }
        // A run that works for another shows as its call there.
        let folded = match self.run(session, run) {
            Some(run) if run.delegate.is_some() => self.current(session),
            run => run,
        };
        let Some(folded) = folded else { return };
        // What earlier turns have shown stays as it is: a long run is not told anew with each of its turns.
        let (turn, from) = match folded.turns.len().checked_sub(1) {
            Some(last) if !both => (last, folded.shown_before_last()),
            _ => (0, 0),
        };
        let Some(of) = self.session(session) else { return };
        let user = both.then(|| session::prompt_of(of, folded)).flatten().map(|user| (0, user));
        let assistant = (from, self.answer(of, folded, turn));
        for (from, message) in user.into_iter().chain([assistant]) {
            let action = Action::Tell(Notice::Message(session.into(), from, json(&message)));
            if both { self.outbox.tell_after_commit(action) } else { self.outbox.tell(action) }
        }
    }

    /// The assistant's message of a run, from this turn on, with what streams.
    fn answer(&self, session: &session::Session, run: &Run, turn: usize) -> Value {
        let streams = self.streaming_parts(&session.id, &run.id);
        let mut answer = session::answer(session, run, turn, !streams.is_empty());
        if let Some(parts) = answer.get_mut("parts").and_then(Value::as_array_mut) {
            parts.extend(streams);
        }
        answer
    }

    /// A session's conversation, with what streams.
    pub(super) fn history_of(
        &self,
        folded: &session::Session,
        limit: Option<usize>,
        before: Option<&str>,
    ) -> Option<Vec<Value>> {
        let mut history = session::history(folded, limit, before)?;
        if let (Some(run), Some(last)) = (folded.current(), history.last_mut())
            && last.get("id").and_then(Value::as_str) == Some(&run.answer_id())
        {
            *last = self.answer(folded, run, 0);
        }
        Some(history)
    }

    pub(super) fn tell_history(&mut self, session: &str) {
        let folded = self.session(session);
        let history = folded.and_then(|folded| self.history_of(folded, None, None)).unwrap_or_default();
        let notice = Notice::History(session.into(), json(&Value::from(history)));
        self.outbox.tell(Action::Tell(notice));
    }

    /// Tells those who watch what the sessions say that are in our hands now; of the others they know already.
    pub(super) fn tell_histories(&mut self) {
        for session in self.watched().into_iter().filter(|id| self.sessions.contains_key(id)).list() {
            self.tell_history(&session);
        }
    }

    /// The sessions that the page looks at.
    pub(super) fn watched(&self) -> Vec<String> {
        self.watched.keys().map(Into::into).list()
    }

    /// Tells those who watch what changed in the state of a session's view.
    pub(super) fn tell_views(&mut self) {
        for session in self.watched() {
            let view = json(&self.view_of(&session));
            if self.watched.get(&session) != Some(&view) {
                self.watched.insert(&session, view.clone());
                self.outbox.tell(Action::Tell(Notice::View(session, view)));
            }
        }
    }

    pub(super) fn view_of(&self, session: &str) -> Value {
        let run = self.session(session).and_then(|s| s.runs.last());
        let (status, error) = match &self.lifecycle {
            Lifecycle::Error(_) => ("error", self.failure.as_ref()),
            Lifecycle::Stopped | Lifecycle::Starting => ("stopped", None),
            Lifecycle::Running => match run {
                None => ("ready", None),
                Some(run) if run.held => ("held", None),
                Some(run) if run.waiting() => ("waiting", None),
                Some(run) => match &run.ended {
                    None if !run.turns.is_empty() && self.has_shown(session, &run.id) => ("streaming", None),
                    None if run.turns.len() > 1 => ("streaming", None),
                    None => ("submitted", None),
                    Some(ended) if ended.error.is_some() => ("error", ended.error.as_ref()),
                    Some(_) => ("ready", None),
                },
            },
        };
        let questions = self.questions(session);
        Object::new()
            .text("status", status)
            .maybe("error", error.map(ErrorInfo::to_json))
            .maybe("permissions", (!questions.is_empty()).then(|| questions.into()))
            .done()
    }
}

/// The run that this one works for.
fn parent_of(session: &session::Session, run: &str) -> Option<String> {
    session.run(run)?.delegate.as_ref()?;
    let top = session.runs.iter().rev().find(|top| top.all().iter().any(|part| part.id == run))?;
    Some(top.id.clone())
}
