//! What the page is told of the harness and of runs: events, and how it stands.
//!
//! Decides what is in every detail. Promises: a run's events are numbered one by one, and none comes after its end. How
//! the harness stands is told as it is. Leaves to others: when something is told, and in which order (`calls/events`).

use crate::error::ErrorInfo;
use crate::harness::action::{Action, Notice, SESSION_CHANGED};
use crate::harness::core::{Core, Lifecycle};
use crate::json::json;
use crate::object::Object;
use crate::run::{CallState, Run};
use crate::session;
use serde_json::Value;

/// How a page is told that a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::harness) enum Told {
    /// It has begun, or waits for a person or for the page.
    Started,
    /// It has a result.
    Completed,
    /// It has an error in place of a result.
    Failed,
}

impl Told {
    fn as_str(self) -> &'static str {
        match self {
            Told::Started => "started",
            Told::Completed => "completed",
            Told::Failed => "failed",
        }
    }
}

impl Core {
    /// What every detail has.
    pub(in crate::harness) fn detail(&self, session: &str) -> Object {
        let mut detail = Object::new();
        detail.text("workspace", &self.options.name);
        detail.text("sessionId", session);
        detail
    }

    /// The same for a run, with the event's number. `None`: the run is over, and nothing comes after its end.
    pub(in crate::harness) fn detail_of(&mut self, session: &str, run: &str) -> Option<Object> {
        let open = self.session(session).and_then(|folded| folded.open_run(run));
        if let Some(started_at) = open.map(|run| run.started_at) {
            self.runs.begin(run, session, started_at);
        }
        let seq = self.runs.next_seq(run)?;
        let mut detail = self.detail(session);
        detail.number("epoch", self.epoch).text("runId", run).number("seq", seq);
        let parent = self.session(session).and_then(|folded| parent_of(folded, run));
        detail.maybe_text("parentRunId", parent.as_deref());
        Some(detail)
    }

    pub(in crate::harness) fn send(&mut self, name: &'static str, mut detail: Object, barrier: bool) {
        let action = Action::Tell(Notice::Event(name, detail.json()));
        if barrier { self.outbox.tell_after_commit(action) } else { self.outbox.tell(action) }
    }

    /// `{ lifecycle, is_streaming }` as it is now.
    pub(in crate::harness) fn status(&self) -> Value {
        let lifecycle = match &self.state.lifecycle {
            Lifecycle::Stopped => "Stopped".into(),
            Lifecycle::Starting => "Starting".into(),
            Lifecycle::Running if self.is_suspended() => "Suspended".into(),
            Lifecycle::Running => "Running".into(),
            Lifecycle::Error(message) => Object::new().text("Error", message).done(),
        };
        let is_streaming = self.any_run(Run::working);
        Object::new().value("lifecycle", lifecycle).flag("is_streaming", is_streaming).done()
    }

    /// Whether nothing streams, and something waits for a person or is put aside.
    pub(in crate::harness) fn is_suspended(&self) -> bool {
        !self.any_run(Run::working) && (self.any_run(Run::waiting) || self.sessions.any_benched())
    }

    fn any_run(&self, of: fn(&Run) -> bool) -> bool {
        self.sessions.iter().any(|(_, slot)| slot.session.current().is_some_and(of))
    }

    pub(in crate::harness) fn status_notice(&self) -> Action {
        Action::Tell(Notice::Status(json(&self.status())))
    }

    pub(in crate::harness) fn tell_status(&mut self) {
        self.outbox.tell(self.status_notice());
    }

    pub(in crate::harness) fn tell_status_changed(&mut self) {
        self.status_changed(false);
    }

    pub(in crate::harness) fn status_changed(&mut self, barrier: bool) {
        let mut detail = Object::new();
        detail.text("workspace", &self.options.name);
        detail.all(self.status());
        self.state.told_suspended = self.is_suspended();
        self.send("agent:status-changed", detail, barrier);
    }

    /// Something has happened to a session: this event of its record. What a run does to it, the run tells.
    pub(in crate::harness) fn tell_session_changed(&mut self, session: &str, event: &Value) {
        let change = event.get("event_type").and_then(Value::as_str);
        self.session_changed(session, change.unwrap_or_default());
    }

    /// The same by its kind.
    pub(in crate::harness) fn session_changed(&mut self, session: &str, change: &str) {
        if self.session(session).is_none_or(|session| !session.is_once()) {
            let mut detail = self.detail(session);
            detail.text("change", change);
            self.send(SESSION_CHANGED, detail, true);
        }
    }

    /// Nobody is asked any more: what has come of a question.
    pub(in crate::harness) fn tell_resolved(
        &mut self,
        session: &str,
        run: &str,
        request: &str,
        answer: &str,
    ) {
        let Some(mut event) = self.detail_of(session, run) else { return };
        event.text("requestId", request).text("answer", answer);
        self.send("agent:permission-resolved", event, true);
    }

    /// The harness itself has failed.
    pub(in crate::harness) fn tell_error(&mut self, error: &ErrorInfo) {
        let mut detail = Object::new();
        detail.text("workspace", &self.options.name);
        detail.all(error.to_json());
        self.send("agent:error", detail, false);
    }

    pub(in crate::harness) fn tell_call(
        &mut self,
        session: &str,
        run: &str,
        tool_call: &str,
        status: Told,
        barrier: bool,
    ) {
        if status == Told::Started && self.has_begun(session, tool_call) {
            return;
        }
        let Some(call) = self.call_of(session, run, tool_call) else { return };
        let mut part = Object::new();
        // The person or page that answers it gets what a tool would get.
        let args = match call.state {
            CallState::Handed => self.args_of(session, run, tool_call),
            _ => session::arguments(&call.arguments),
        };
        part.value("arguments", args);
        part.text("status", status.as_str());
        part.text("tool", &call.name);
        part.text("toolCallId", &call.id);
        if let (CallState::Settled(settled), true) = (&call.state, status != Told::Started) {
            match &settled.error {
                None => part.value("result", session::tool_result(&settled.text, settled.json)),
                Some(error) => part.value("error", error.to_json()),
            };
            part.maybe("files", session::files_given(call));
        }
        let Some(mut detail) = self.detail_of(session, run) else { return };
        detail.all(part.done());
        self.send("agent:tool-call", detail, barrier);
    }

    /// Whether everybody knows that a call has begun: before its run was put aside.
    fn has_begun(&self, session: &str, tool_call: &str) -> bool {
        self.sessions.get(session).is_some_and(|slot| slot.begun.iter().any(|begun| begun == tool_call))
    }

    pub(in crate::harness) fn tell_progress(
        &mut self,
        session: &str,
        run: &str,
        tool_call: &str,
        progress: Value,
    ) {
        let Some(call) = self.call_of(session, run, tool_call) else { return };
        let (name, arguments) = (call.name.clone(), session::arguments(&call.arguments));
        let Some(mut detail) = self.detail_of(session, run) else { return };
        detail.value("arguments", arguments);
        detail.value("progress", progress);
        detail.text("status", "started");
        detail.text("tool", &name);
        detail.text("toolCallId", tool_call);
        self.send("agent:tool-call", detail, false);
    }

    /// Somebody follows the journal of a session from here on, or nobody does any more.
    pub(in crate::harness) fn attach(&mut self, id: &str, on: bool) {
        self.sessions.attach(id, on.then_some(0));
    }

    /// Tells those who follow a journal how long it is by now, as far as it is stored.
    pub(in crate::harness) fn tell_growth(&mut self) {
        for (id, seq) in self.sessions.grown() {
            self.sessions.attach(&id, Some(seq));
            self.outbox.act(Action::Tell(Notice::Grown(id, seq)));
        }
    }
}

/// The run that this one works for.
fn parent_of(session: &session::Session, run: &str) -> Option<String> {
    session.run(run).filter(|run| run.works_for_another())?;
    let top = session.runs.iter().rev().find(|top| top.all().iter().any(|part| part.id == run))?;
    Some(top.id.clone())
}
