//! What the page is told, and in which order.
//!
//! Promises: a run has one `start` and one end, and nothing after it; the end comes as last chunk, session
//! event, lifecycle, status, all of them after its commit; `seq` counts a run's events one by one. The page's
//! mirror of the status always changes before the events that tell of it.

use crate::error::ErrorInfo;
use crate::harness::action::{Action, Notice};
use crate::harness::calls::Calls;
use crate::harness::config::Provider;
use crate::harness::core::waits::run_result;
use crate::harness::core::{Core, Lifecycle};
use crate::harness::setup::Setup;
use crate::journal::{Entry, StoppedBy};
use crate::json::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Millis;
use crate::run::{CallState, Ended, Outcome, Run};
use crate::session;
use serde_json::Value;

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
        self.told_suspended = self.is_suspended();
        self.send("agent:status-changed", detail, barrier);
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
        status: &str,
        barrier: bool,
    ) {
        if status == "started" && self.has_begun(session, tool_call) {
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
        part.text("status", status);
        part.text("tool", &call.name);
        part.text("toolCallId", &call.id);
        if let (CallState::Settled(settled), true) = (&call.state, status != "started") {
            match &settled.error {
                None => part.value("result", session::tool_result(&settled.text, settled.json)),
                Some(error) => part.value("error", error.to_json()),
            };
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
}

impl Calls {
    /// Tells of something that no journal holds: it waits for nothing, and goes with no commit.
    pub(in crate::harness) fn send_now(
        &mut self,
        core: &mut Core,
        setup: &Setup,
        name: &'static str,
        mut detail: Object,
    ) {
        core.outbox.act(Action::Tell(Notice::Event(name, detail.json())));
        self.tell_views(core, setup);
    }

    /// The same provider is asked again, or another one: the page is told who, when and why.
    pub(in crate::harness) fn tell_notice(
        &mut self,
        core: &mut Core,
        setup: &Setup,
        session: &str,
        run: &str,
        entry: &Entry,
    ) {
        let Some(folded) = core.run(session, run) else { return };
        let error = folded.trouble().map(ErrorInfo::to_json);
        let provider = match folded.on.clone() {
            Some(name) => Some(name),
            None => setup.config.provider.as_ref().map(Provider::name),
        };
        let Some(mut detail) = core.detail_of(session, run) else { return };
        detail.maybe_text("provider", provider.as_deref()).maybe("error", error);
        if let Entry::Retrying { attempt, delay } = entry {
            detail.text("kind", "retry").number("attempt", *attempt).number("delayMs", *delay);
        } else {
            detail.text("kind", "fallback");
        }
        // Nothing else may happen for a while: what is known of the failure must not be lost with the page.
        core.outbox.hurry();
        core.send("agent:notice", detail, false);
    }

    /// A run begins, or goes on in this epoch.
    pub(in crate::harness) fn tell_begin(&mut self, core: &mut Core, session: &str, run: &str) {
        let Some(started_at) = core.run(session, run).map(|run| run.started_at) else { return };
        core.outbox.tell_after_commit(core.status_notice());
        let Some(mut detail) = core.detail_of(session, run) else { return };
        detail.text("phase", "start");
        detail.number("startedAt", started_at);
        core.send("agent:lifecycle", detail, true);
        let Some(mut detail) = core.detail_of(session, run) else { return };
        detail.number("startedAt", started_at);
        core.send("agent:session-started", detail, true);
        core.status_changed(true);
        self.tell_message(core, session, run, true);
    }

    /// A run has ended. Nothing of it comes after this.
    pub(in crate::harness) fn tell_end(&mut self, core: &mut Core, session: &str, id: &str) {
        let Some(run) = core.run(session, id) else { return };
        let Some(ended) = run.ended.clone() else { return };
        let (started_at, result) = (run.started_at, run_result(run));
        let tool_call = run.delegate.as_ref().map(|delegate| delegate.tool_call.clone());
        // A held one that never went on here has told nothing yet.
        core.runs.begin(id, session, started_at);
        match tool_call {
            Some(tool_call) => self.tell_delegate_end(core, session, &tool_call, ended.outcome),
            None => self.tell_own_end(core, session, id, started_at, &ended, &result),
        }
        core.runs.end(id);
        core.tell_waiters((session, id), started_at, &ended, &result);
    }

    fn tell_own_end(
        &mut self,
        core: &mut Core,
        session: &str,
        id: &str,
        started_at: Millis,
        ended: &Ended,
        result: &Value,
    ) {
        core.outbox.tell_after_commit(core.status_notice());
        self.tell_message(core, session, id, false);
        let Some(mut detail) = core.detail_of(session, id) else { return };
        match ended.outcome {
            Outcome::Completed => {
                detail.number("endedAt", ended.at);
                for member in ["text", "turns", "value", "usage"] {
                    detail.maybe(member, result.get(member).cloned());
                }
                core.send("agent:session-completed", detail, true);
            }
            Outcome::Interrupted => {
                detail.number("endedAt", ended.at);
                detail.text("reason", self.interrupt_reason.map_or("", StoppedBy::as_str));
                core.send("agent:session-interrupted", detail, true);
            }
            Outcome::Failed => {
                detail.all(ended.error.as_ref().map(ErrorInfo::to_json).into());
                core.send("agent:error", detail, true);
            }
        }
        let Some(mut detail) = core.detail_of(session, id) else { return };
        let phase = if ended.outcome == Outcome::Failed { "error" } else { "end" };
        detail.text("phase", phase);
        detail.number("startedAt", started_at);
        detail.number("endedAt", ended.at);
        detail.maybe("error", result.get("error").cloned());
        core.send("agent:lifecycle", detail, true);
        core.status_changed(true);
    }

    /// A run that worked for another has ended: it shows as its call there.
    fn tell_delegate_end(&mut self, core: &mut Core, session: &str, tool_call: &str, outcome: Outcome) {
        let top = core.current_id(session);
        let status = if outcome == Outcome::Completed { "completed" } else { "failed" };
        // An interrupt is told when it is stored, and with it each call that it has ended.
        let barrier = outcome == Outcome::Interrupted;
        core.tell_call(session, &top, tool_call, status, barrier);
        self.tell_message(core, session, &top, false);
    }

    /// The messages of a run, to those who watch its session. The person's only where `both` says so.
    pub(in crate::harness) fn tell_message(&mut self, core: &mut Core, session: &str, run: &str, both: bool) {
        if !core.sessions.is_watched(session) {
            return;
        }
        // A run that works for another shows as its call there.
        let folded = match core.run(session, run) {
            Some(run) if run.delegate.is_some() => core.current(session),
            run => run,
        };
        let Some(folded) = folded else { return };
        // What earlier turns have shown stays as it is: a long run is not told anew with each of its turns.
        let (turn, from) = match folded.turns.len().checked_sub(1) {
            Some(last) if !both => (last, folded.shown_before_last()),
            _ => (0, 0),
        };
        let Some(of) = core.session(session) else { return };
        let user = if both { session::said_in(of, folded) } else { Vec::new() };
        let assistant = (from, self.answer(of, folded, turn));
        for (from, message) in user.into_iter().map(|user| (0, user)).chain([assistant]) {
            let action = Action::Tell(Notice::Message(session.into(), from, json(&message)));
            if both { core.outbox.tell_after_commit(action) } else { core.outbox.tell(action) }
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
    pub(in crate::harness) fn history_of(
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

    /// The conversation of a session in our hands, whole.
    pub(in crate::harness) fn history_notice(&self, core: &Core, session: &str) -> Action {
        let folded = core.session(session);
        let history = folded.and_then(|folded| self.history_of(folded, None, None)).unwrap_or_default();
        Action::Tell(Notice::History(session.into(), json(&Value::from(history))))
    }

    pub(in crate::harness) fn tell_history(&mut self, core: &mut Core, session: &str) {
        core.outbox.tell(self.history_notice(core, session));
    }

    /// Tells those who watch what the sessions say that are in our hands now; of the others they know already.
    pub(in crate::harness) fn tell_histories(&mut self, core: &mut Core) {
        for session in core.sessions.watched().into_iter().filter(|id| core.sessions.has(id)).list() {
            self.tell_history(core, &session);
        }
    }

    /// Tells those who watch what changed in the state of a session's view.
    pub(in crate::harness) fn tell_views(&mut self, core: &mut Core, setup: &Setup) {
        for session in core.sessions.watched() {
            let view = json(&self.view_of(core, setup, &session));
            if core.sessions.told_state(&session) != Some(&view) {
                core.sessions.watch(&session, view.clone());
                core.outbox.tell(Action::Tell(Notice::View(session, view)));
            }
        }
    }

    pub(in crate::harness) fn view_of(&self, core: &Core, setup: &Setup, session: &str) -> Value {
        let run = core.session(session).and_then(|s| s.runs.last());
        let (status, error) = match &core.lifecycle {
            Lifecycle::Error(_) => ("error", core.failure.as_ref()),
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
        let questions = self.questions(core, setup, session);
        Object::new()
            .text("status", status)
            .maybe("error", error.map(ErrorInfo::to_json))
            .maybe("queue", core.session(session).and_then(session::Session::told_queue))
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
