//! What the page is told, and in which order.
//!
//! Promises: a run has one `start` and one end, and nothing after it; the end comes as last chunk, session
//! event, lifecycle, status, all of them after its commit; `seq` counts a run's events one by one. The page's
//! mirror of the status always changes before the events that tell of it.

use super::{Action, Harness, Lifecycle, Notice};
use crate::error::ErrorInfo;
use crate::run::{CallState, Outcome, Run};
use crate::session;
use serde_json::{Map, Value, json};

/// An event's detail while it is put together.
pub(super) type Detail = Map<String, Value>;

/// Adds a member.
pub(super) fn event(detail: &mut Detail, name: &str, value: Value) {
    detail.insert(name.into(), value);
}

/// `WaitResult` when the time is over.
pub(super) fn wait_timeout(run: &str) -> String {
    json!({ "runId": run, "status": "timeout" }).to_string()
}

/// `WaitResult` of a run that has ended.
pub(super) fn wait_result(run: &str, started_at: u64, ended: &crate::run::Ended) -> Value {
    let status = if ended.outcome == Outcome::Failed { "error" } else { "ok" };
    let mut value = json!({
        "runId": run, "status": status, "outcome": ended.outcome.as_str(),
        "startedAt": started_at, "endedAt": ended.at,
    });
    if let (Some(error), Some(object)) = (&ended.error, value.as_object_mut()) {
        object.insert("error".into(), error.to_json());
    }
    value
}

/// `RunResult` of a run that has ended.
pub(super) fn run_result(run: &Run) -> Value {
    let ended = run.ended.as_ref();
    let mut value = json!({
        "runId": run.id, "outcome": ended.map(|ended| ended.outcome.as_str()),
        "text": run.text(), "turns": run.turns.len(),
    });
    if let Some(object) = value.as_object_mut() {
        if let Some(usage) = session::usage(&run.sums) {
            object.insert("usage".into(), usage);
        }
        if let Some(error) = ended.and_then(|ended| ended.error.as_ref()) {
            object.insert("error".into(), error.to_json());
        }
    }
    value
}

impl Harness {
    /// What every detail has. Counts the event where there is a run.
    pub(super) fn detail(&mut self, session: &str, run: Option<&str>) -> Detail {
        let mut detail = Detail::new();
        event(&mut detail, "workspace", self.options.name.as_str().into());
        event(&mut detail, "sessionId", session.into());
        if let Some(run) = run {
            event(&mut detail, "epoch", self.epoch.into());
            event(&mut detail, "runId", run.into());
            if let Some(slot) = self.sessions.get_mut(session) {
                slot.told += 1;
                event(&mut detail, "seq", slot.told.into());
            }
        }
        detail
    }

    pub(super) fn send(&mut self, name: &'static str, detail: Detail, barrier: bool) {
        let action = Action::Tell(Notice::Event(name, Value::Object(detail).to_string()));
        if barrier { self.outbox.tell_after_commit(action) } else { self.outbox.tell(action) }
    }

    /// `{ lifecycle, is_streaming }` as it is now.
    pub(super) fn status(&self) -> Value {
        let lifecycle = match &self.lifecycle {
            Lifecycle::Stopped => json!("Stopped"),
            Lifecycle::Starting => json!("Starting"),
            Lifecycle::Running => json!("Running"),
            Lifecycle::Error(message) => json!({ "Error": message }),
        };
        let streams = |slot: &super::Slot| slot.session.current().is_some_and(Run::working);
        json!({ "lifecycle": lifecycle, "is_streaming": self.sessions.values().any(streams) })
    }

    pub(super) fn status_notice(&self) -> Action {
        Action::Tell(Notice::Status(self.status().to_string()))
    }

    pub(super) fn tell_status(&mut self) {
        self.outbox.tell(self.status_notice());
    }

    pub(super) fn tell_status_changed(&mut self) {
        self.status_changed(false);
    }

    pub(super) fn status_changed(&mut self, barrier: bool) {
        let mut detail = Detail::new();
        event(&mut detail, "workspace", self.options.name.as_str().into());
        if let Value::Object(status) = self.status() {
            detail.extend(status);
        }
        self.send("agent:status-changed", detail, barrier);
    }

    /// The harness itself has failed.
    pub(super) fn tell_error(&mut self, error: &ErrorInfo) {
        let mut detail = Detail::new();
        event(&mut detail, "workspace", self.options.name.as_str().into());
        if let Value::Object(error) = error.to_json() {
            detail.extend(error);
        }
        self.send("agent:error", detail, false);
    }

    pub(super) fn tell_tools(&mut self) {
        let definitions: Value = self.registry.definitions().map(crate::tools::Definition::to_json).collect();
        self.outbox.tell(Action::Tell(Notice::Tools(definitions.to_string())));
    }

    /// A run begins, or goes on in this epoch.
    pub(super) fn tell_begin(&mut self, session: &str, run: &str) {
        let Some(started_at) = self.session(session).and_then(|s| s.run(run)).map(|run| run.started_at)
        else {
            return;
        };
        self.outbox.tell_after_commit(self.status_notice());
        let mut detail = self.detail(session, Some(run));
        event(&mut detail, "phase", "start".into());
        event(&mut detail, "startedAt", started_at.into());
        self.send("agent:lifecycle", detail, true);
        let mut detail = self.detail(session, Some(run));
        event(&mut detail, "startedAt", started_at.into());
        self.send("agent:session-started", detail, true);
        self.status_changed(true);
        self.tell_message(session, run, true);
    }

    /// A run has ended. `told` goes up to here; nothing of the run comes after it.
    pub(super) fn tell_end(&mut self, session: &str, run: &str) {
        let Some(run) = self.session(session).and_then(|s| s.run(run)).cloned() else { return };
        let Some(ended) = &run.ended else { return };
        self.outbox.tell_after_commit(self.status_notice());
        self.tell_message(session, &run.id, false);
        let mut detail = self.detail(session, Some(&run.id));
        match ended.outcome {
            Outcome::Completed => {
                event(&mut detail, "endedAt", ended.at.into());
                event(&mut detail, "text", run.text().into());
                event(&mut detail, "turns", run.turns.len().into());
                if let Some(usage) = session::usage(&run.sums) {
                    event(&mut detail, "usage", usage);
                }
                self.send("agent:session-completed", detail, true);
            }
            Outcome::Interrupted => {
                event(&mut detail, "endedAt", ended.at.into());
                event(&mut detail, "reason", self.interrupt_reason.as_str().into());
                self.send("agent:session-interrupted", detail, true);
            }
            Outcome::Failed => {
                if let Some(Value::Object(error)) = ended.error.as_ref().map(ErrorInfo::to_json) {
                    detail.extend(error);
                }
                self.send("agent:error", detail, true);
            }
        }
        let mut detail = self.detail(session, Some(&run.id));
        let phase = if ended.outcome == Outcome::Failed { "error" } else { "end" };
        event(&mut detail, "phase", phase.into());
        event(&mut detail, "startedAt", run.started_at.into());
        event(&mut detail, "endedAt", ended.at.into());
        if let Some(error) = &ended.error {
            event(&mut detail, "error", error.to_json());
        }
        self.send("agent:lifecycle", detail, true);
        self.status_changed(true);
        for waiter in self.waiters.extract_if(.., |waiter| waiter.run == run.id) {
            let value = match waiter.until {
                Some(_) => wait_result(&run.id, run.started_at, ended),
                None => run_result(&run),
            };
            self.outbox
                .tell_after_commit(Action::Reply { id: waiter.command, result: Ok(Some(value.to_string())) });
        }
    }

    pub(super) fn tell_call(
        &mut self,
        session: &str,
        run: &str,
        tool_call: &str,
        status: &str,
        barrier: bool,
    ) {
        let Some(call) = self.session(session).and_then(|s| s.run(run)).and_then(|run| run.call(tool_call))
        else {
            return;
        };
        let mut part = Detail::new();
        event(&mut part, "arguments", session::arguments(&call.arguments));
        event(&mut part, "status", status.into());
        event(&mut part, "tool", call.name.as_str().into());
        event(&mut part, "toolCallId", call.id.as_str().into());
        if let (CallState::Settled(settled), true) = (&call.state, status != "started") {
            match &settled.error {
                None => event(&mut part, "result", session::tool_result(&settled.text, settled.json)),
                Some(error) => event(&mut part, "error", error.to_json()),
            }
        }
        let mut detail = self.detail(session, Some(run));
        detail.extend(part);
        self.send("agent:tool-call", detail, barrier);
    }

    pub(super) fn tell_progress(&mut self, session: &str, run: &str, tool_call: &str, progress: Value) {
        let Some(call) = self.session(session).and_then(|s| s.run(run)).and_then(|run| run.call(tool_call))
        else {
            return;
        };
        let (name, arguments) = (call.name.clone(), session::arguments(&call.arguments));
        let mut detail = self.detail(session, Some(run));
        event(&mut detail, "arguments", arguments);
        event(&mut detail, "progress", progress);
        event(&mut detail, "status", "started".into());
        event(&mut detail, "tool", name.into());
        event(&mut detail, "toolCallId", tool_call.into());
        self.send("agent:tool-call", detail, false);
    }

    /// The messages of a run, to those who watch its session. The person's only where `both` says so.
    pub(super) fn tell_message(&mut self, session: &str, run: &str, both: bool) {
        if !self.watched.contains_key(session) {
            return;
        }
        let Some(folded) = self.session(session).and_then(|s| s.run(run)) else { return };
        // What earlier turns have shown stays as it is: a long run is not told anew with each of its turns.
        let (turn, from) = match folded.turns.len().checked_sub(1) {
            Some(last) if !both => (last, folded.shown_before_last()),
            _ => (0, 0),
        };
        let user = both.then(|| (0, session::prompt_of(folded)));
        let assistant = (from, self.answer(session, folded, turn));
        for (from, message) in user.into_iter().chain([assistant]) {
            let action = Action::Tell(Notice::Message(session.into(), from, message.to_string()));
            if both { self.outbox.tell_after_commit(action) } else { self.outbox.tell(action) }
        }
    }

    /// The assistant's message of a run, from this turn on, with what streams.
    fn answer(&self, session: &str, run: &Run, turn: usize) -> Value {
        let mut answer = session::answer_of(run, turn);
        if let Some(parts) = answer.get_mut("parts").and_then(Value::as_array_mut) {
            parts.extend(self.streaming_parts(session, &run.id));
        }
        answer
    }

    /// A session's conversation, with what streams.
    pub(super) fn history(
        &self,
        session: &str,
        limit: Option<usize>,
        before: Option<&str>,
    ) -> Option<Vec<Value>> {
        let folded = self.session(session)?;
        let mut history = session::history(folded, limit, before)?;
        if let (Some(run), Some(last)) = (folded.current(), history.last_mut())
            && last.get("id").and_then(Value::as_str) == Some(&run.answer_id())
        {
            *last = self.answer(session, run, 0);
        }
        Some(history)
    }

    pub(super) fn tell_history(&mut self, session: &str) {
        let history = self.history(session, None, None).unwrap_or_default();
        let notice = Notice::History(session.into(), Value::from(history).to_string());
        self.outbox.tell(Action::Tell(notice));
    }

    /// The sessions that the page looks at.
    pub(super) fn watched(&self) -> Vec<String> {
        self.watched.keys().map(Into::into).collect()
    }

    /// Tells those who watch what changed in the state of a session's view.
    pub(super) fn tell_views(&mut self) {
        for session in self.watched() {
            let view = self.view_of(&session).to_string();
            if self.watched.get(&session) != Some(&view) {
                self.watched.insert(&session, view.clone());
                self.outbox.tell(Action::Tell(Notice::View(session, view)));
            }
        }
    }

    pub(super) fn view_of(&self, session: &str) -> Value {
        let run = self.session(session).and_then(|s| s.runs.last());
        let status = match &self.lifecycle {
            Lifecycle::Error(message) => {
                return json!({ "status": "error", "error": { "code": "storage_failed", "message": message, "retryable": true } });
            }
            Lifecycle::Stopped | Lifecycle::Starting => "stopped",
            Lifecycle::Running => match run {
                None => "ready",
                Some(run) if run.held => "held",
                Some(run) => match &run.ended {
                    None if !run.turns.is_empty() && self.has_shown(session, &run.id) => "streaming",
                    None if run.turns.len() > 1 => "streaming",
                    None => "submitted",
                    Some(ended) => match &ended.error {
                        Some(error) => return json!({ "status": "error", "error": error.to_json() }),
                        None => "ready",
                    },
                },
            },
        };
        json!({ "status": status })
    }
}
