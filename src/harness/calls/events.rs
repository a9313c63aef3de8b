//! What the page is told, and in which order.
//!
//! Decides what is told of a run, a call and a message, and when. Promises: a run has one `start` and one end, and
//! nothing after it. The end comes as last chunk, session event, lifecycle, status, all of them after its commit. `seq`
//! counts a run's events one by one. The page's mirror of the status always changes before the events that tell of it.
//! Leaves to others: what a detail holds (`core/told.rs`), and dispatching events (the client).

use crate::error::ErrorInfo;
use crate::harness::action::{Action, Notice};
use crate::harness::calls::Calls;
use crate::harness::config::Provider;
use crate::harness::core::slots::{AtHand, Instructed};
use crate::harness::core::told::Told;
use crate::harness::core::waits::run_result;
use crate::harness::core::{Core, Lifecycle};
use crate::harness::setup::Setup;
use crate::journal::{CompactReason, Entry, StoppedBy};
use crate::json::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Millis;
use crate::run::{Ended, Outcome, Run};
use crate::session;
use crate::session::compaction::summing::leaves_out;
use crate::session::compaction::{GUESS, Measure, Window, conversation_of};
use serde_json::Value;

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
        match entry {
            Entry::Retrying { attempt, delay } => {
                detail.text("kind", "retry").number("attempt", *attempt).number("delayMs", *delay)
            }
            Entry::Offline {} => detail.text("kind", "offline"),
            _ => detail.text("kind", "fallback"),
        };
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
        let summarizes = run.summarizes;
        // A held one that never went on here has told nothing yet.
        core.runs.begin(id, session, started_at);
        match tool_call {
            _ if summarizes => self.tell_summary_end(core, session, id, &ended),
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
        let status = if outcome == Outcome::Completed { Told::Completed } else { Told::Failed };
        // An interrupt is told when it is stored, and with it each call that it has ended.
        let barrier = outcome == Outcome::Interrupted;
        core.tell_call(session, &top, tool_call, status, barrier);
        self.tell_message(core, session, &top, false);
    }

    /// A conversation becomes shorter for its model, or has: this entry of the run says how.
    pub(in crate::harness) fn tell_compaction(
        &mut self,
        core: &mut Core,
        session: &str,
        run: &str,
        entry: &Entry,
    ) {
        let Some(mut detail) = core.detail_of(session, run) else { return };
        detail.text("kind", "compaction");
        match entry {
            Entry::Compacting { of, reason, used, window, .. } => {
                detail.text("phase", "start").text("by", "summary").text("reason", reason.as_str());
                detail.number("used", *used).maybe("window", window.map(Value::from));
                let leaves_out = core.session(session).is_some_and(|folded| {
                    let summary = folded.run(of).and_then(|run| run.summaries.last());
                    summary.is_some_and(|summary| leaves_out(conversation_of(folded, of), summary))
                });
                detail.maybe("leftOut", leaves_out.then_some(Value::Bool(true)));
            }
            Entry::Shortened { used, window, .. } => {
                let reason = CompactReason::Window.as_str();
                detail.text("phase", "end").text("by", "results").text("reason", reason);
                detail.number("used", *used).maybe("window", window.map(Value::from));
            }
            _ => return,
        }
        core.send("agent:notice", detail, false);
    }

    /// A run that summed up has ended: the page hears it of the run that waits for it.
    fn tell_summary_end(&mut self, core: &mut Core, session: &str, id: &str, ended: &Ended) {
        let waits = |folded: &session::Session| {
            let sums_up = |run: &&Run| run.summaries.last().is_some_and(|last| last.run.id == id);
            let run = folded.runs.last()?.parts().into_iter().find(sums_up)?;
            Some((run.id.clone(), run.summaries.last()?.reason.as_str().to_owned()))
        };
        let Some((run, reason)) = core.session(session).and_then(waits) else { return };
        let Some(mut detail) = core.detail_of(session, &run) else { return };
        let phase = if ended.outcome == Outcome::Completed { "end" } else { "failed" };
        detail.text("kind", "compaction").text("phase", phase).text("by", "summary").text("reason", &reason);
        detail.maybe("error", ended.error.as_ref().map(ErrorInfo::to_json));
        core.send("agent:notice", detail, false);
        self.tell_message(core, session, &run, false);
    }

    /// The messages of a run, to those who watch its session. The person's only where `both` says so.
    pub(in crate::harness) fn tell_message(&mut self, core: &mut Core, session: &str, run: &str, both: bool) {
        if !core.sessions.is_watched(session) {
            return;
        }
        // A run that works for another shows as its call there.
        let folded = match core.run(session, run) {
            Some(run) if run.works_for_another() => core.current(session),
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

    /// The conversation of a session in our hands, as far as it is there.
    pub(in crate::harness) fn history_notice(&self, core: &Core, session: &str) -> Action {
        let folded = core.session(session);
        let history = folded.and_then(|folded| self.history_of(folded, None, None)).unwrap_or_default();
        let goes_on = folded.is_some_and(session::Session::goes_on);
        Action::Tell(Notice::History(session.into(), json(&Value::from(history)), goes_on))
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
        let (status, error) = match &core.state.lifecycle {
            Lifecycle::Error(_) => ("error", core.state.failure.as_ref()),
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
        let offline = run.filter(|run| run.ended.is_none() && !run.held && run.awaits_network());
        let questions = self.questions(core, setup, session);
        Object::new()
            .text("status", status)
            .maybe("offline", offline.map(|_| Value::Bool(true)))
            .maybe("error", error.map(ErrorInfo::to_json))
            .maybe("queue", core.session(session).and_then(session::Session::told_queue))
            .maybe("permissions", (!questions.is_empty()).then(|| questions.into()))
            .maybe("context", context_of(core, setup, session))
            .done()
    }

    /// A message has begun this run.
    pub(in crate::harness) fn begun(&mut self, core: &mut Core, session: &str, run: &str) {
        let Some(prompt) = core.run(session, run).map(|run| &run.prompt) else { return };
        let (continues, replaces) = (prompt.goes_on_with().map(String::from), prompt.replaces.clone());
        if let Some(failed) = continues {
            core.runs.waiters.goes_on(session, &failed, run, core.now);
        }
        if let Some(message) = replaces {
            self.replaced(core, session, &message);
        }
        core.can_be_found(session, run);
        self.begin_telling(core, session, run);
    }

    /// A run begins, or goes on in this epoch.
    pub(in crate::harness) fn begin_telling(&mut self, core: &mut Core, session: &str, run: &str) {
        if let Some(slot) = core.sessions.get_mut(session) {
            slot.begun.clear();
            slot.instructed = Instructed::No;
        }
        self.tell_begin(core, session, run);
    }

    /// This message, and all that followed it, is neither sent nor shown any more.
    fn replaced(&mut self, core: &mut Core, session: &str, message: &str) {
        if let Some(slot) = core.sessions.get_mut(session) {
            // The new version has taken its place already.
            let kept = slot.session.runs.len().saturating_sub(1);
            if let Some(transcript) = slot.transcripts.get_mut("") {
                transcript.rewind(kept);
            }
        }
        if core.sessions.is_watched(session) {
            let notice = Notice::Gone(session.into(), message.into());
            core.outbox.tell_after_commit(Action::Tell(notice));
        }
    }

    /// Tells the watchers that a message has entered its run: before the answer that is there already.
    pub(in crate::harness) fn tell_entered(&mut self, core: &mut Core, session: &str) {
        if core.sessions.is_watched(session) {
            core.outbox.tell_after_commit(self.history_notice(core, session));
        }
    }
}

/// How much of its model's window a session's conversation has: `Context` of the contract. `None`: that is not known.
fn context_of(core: &Core, setup: &Setup, session: &str) -> Option<Value> {
    let AtHand { session, transcripts, .. } = core.sessions.get(session)?;
    let run = session.runs.last()?;
    // A session and a message may ask another model. What is gone of that fails the run, and is told then.
    let own = setup.config_with(session.overrides_of(run).as_ref()).ok();
    let config = own.as_ref().unwrap_or(&setup.config);
    let window = config.known(run.on.as_deref()).and_then(|known| known.context);
    let compactions = session.compactions();
    let counted = session.sums.usage.read() > 0 || run.sums.usage.read() > 0;
    if window.is_none() && compactions == 0 && !counted {
        return None;
    }
    let guess = Measure { ratio: GUESS, beside: 0, told: 0, by: None };
    let used = match transcripts.get("") {
        Some(transcript) => transcript.tokens(&session.runs),
        None => guess.used(&session.runs, &Window::of(&session.runs)),
    };
    let mut context = Object::new();
    context.number("used", used).maybe("window", window.map(Value::from));
    Some(context.number("compactions", compactions).done())
}
