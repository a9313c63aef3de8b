//! Runs: what each journal entry sets going, and what comes back.
//!
//! Decides what follows from an entry in the world: a call, a question, what is told. Promises: an entry is written before
//! anything follows from it. A late result changes nothing. Leaves to others: the next entry of a run (`run/`), and
//! what a session's record owes (`session/`).

mod bench;
mod compaction;
pub(in crate::harness) mod files;
mod lost;
pub(in crate::harness) mod messages;
mod offer;
mod overdue;
pub(in crate::harness) mod page_calls;
pub(in crate::harness) mod permission;
mod question;
pub(in crate::harness) mod queue;
mod records;
mod returned;
mod vault;

use crate::error::{Code, ErrorInfo};
use crate::harness::action::{Action, CallKey, ModelRequest};
use crate::harness::calls::outcome::{failed_call, returned_entry};
use crate::harness::calls::questions::asked_in;
use crate::harness::calls::streaming::{AskedModel, LiveModel, Purpose};
use crate::harness::calls::watch::Watch;
use crate::harness::calls::{CallOwner, Calls, LiveCall, Owner, RunCall};
use crate::harness::config;
use crate::harness::config::Config;
use crate::harness::core::integrity::row_write;
use crate::harness::core::slots::Instructed;
use crate::harness::core::told::Told;
use crate::harness::core::{Core, Lifecycle, Next, Options};
use crate::harness::memories::Memories;
use crate::harness::pages::Pages;
use crate::harness::setup::Setup;
use crate::journal::canonical::Integrity;
use crate::journal::{Entry, OfCall, OfConversation, OfQueue, OfRecord, OfRun, RecordKind, Scope, StoppedBy};
use crate::list::Listed;
use crate::model::{Answer, StopReason, Usage, served};
use crate::ports::marks::has_marks;
use crate::ports::{Millis, PatternEngine};
use crate::run::{Again, Run};
use crate::session::record::begun_task;
use crate::tools::{OnResume, Origin, ToolText, gate};
use crate::{json, prompt, session};
use compaction::First;
pub(in crate::harness) use compaction::Help;
use serde_json::Value;
use std::rc::Rc;

/// What runs the runs: the agent's equipment, the calls under way, and the pages.
#[derive(Debug)]
pub(in crate::harness) struct Runner {
    pub setup: Setup,
    pub calls: Calls,
    pub pages: Pages,
    pub memories: Memories,
    /// Whether the room is there that makes conversations shorter.
    pub help: Help,
    /// Whether the room `past` is there.
    pub past: bool,
}

impl Runner {
    pub fn new(options: &Options, engine: &PatternEngine) -> Runner {
        let setup = Setup::new(options.page_tools, engine);
        Runner {
            setup,
            calls: Calls::default(),
            pages: Pages::default(),
            memories: Memories::default(),
            help: Help::default(),
            past: false,
        }
    }

    pub(in crate::harness) fn take_config(&mut self, core: &mut Core, config: Config) {
        let before = self.setup.take(core, config);
        self.drop_what_may_not_run(core, &before);
        if core.state.lifecycle == Lifecycle::Running {
            self.start_those_with_keys(core);
        }
    }

    /// Does what a part has found to follow.
    pub(in crate::harness) fn follow(&mut self, core: &mut Core, next: Next) {
        match next {
            Next::NotCalled(call, error) => self.answered(core, call, Err((error, None))),
            Next::Settle { session, run, entry } => self.settle(core, &session, &run, &entry),
            Next::Ready { session } => self.advance(core, &session),
            Next::Stored { session, run, entry } => {
                self.after(core, &session, run.as_deref(), &entry);
                self.advance(core, &session);
            }
        }
    }

    pub(in crate::harness) fn abort_all(&mut self, core: &mut Core) {
        for key in self.calls.models.keys(&|_| true) {
            self.calls.let_go(core, key);
            self.calls.models.remove(key);
        }
        for key in self.calls.functions.keys(&|call| call.owner.run().is_some()) {
            self.calls.let_go(core, key);
            self.calls.functions.remove(key);
        }
        self.pages.drop_of_runs();
        self.memories.drop_of_runs();
    }

    /// When [`tick`](Runner::tick) is wanted at the latest.
    pub fn deadline(&self, core: &Core) -> Option<Millis> {
        let mut due =
            vec![self.calls.draft_due(), self.calls.first_deadline(), core.runs.waiters.first_due()];
        for call in self.calls.functions.values() {
            due.push(call.deadline);
            due.push(call.progress_due());
        }
        for model in self.calls.models.values() {
            due.push(model.asked.watch.due());
        }
        for (_, _, again) in core.retries() {
            due.push(match again {
                Again::At(at) => Some(at),
                Again::Online => None,
            });
        }
        for (session, _) in core.sessions.iter() {
            due.push(self.setup.over_at(core, session));
        }
        due.into_iter().flatten().min()
    }

    /// Time has passed. `online`: there is a network.
    pub fn tick(&mut self, core: &mut Core, online: bool) {
        let now = core.now;
        self.end_all_overdue(core);
        core.end_waits();
        for key in self.calls.functions.keys(&|call| call.deadline.is_some_and(|deadline| deadline <= now)) {
            self.calls.let_go(core, key);
            let limit = self.calls.functions.get(key).map_or(0, |call| call.limit);
            let error = ErrorInfo::new(Code::ToolTimeout, format!("the tool did not end within {limit} ms"));
            self.returned(core, key, Err(error.hint("try again with less work, or go on without it")));
        }
        self.ask_again(core, |again| matches!(again, Again::At(at) if at <= now));
        self.give_up_silent(core, online);
        self.calls.tell_late_progress(core);
        self.expire_questions(core);
        self.calls.draft_if_due(core);
    }

    /// There is a network again: what waits for it goes on.
    pub fn online(&mut self, core: &mut Core) {
        self.ask_again(core, |again| again == Again::Online);
    }

    /// The runs that wait for this ask their model again.
    fn ask_again(&mut self, core: &mut Core, is_due: impl Fn(Again) -> bool) {
        for (session, run, again) in core.retries() {
            if is_due(again) {
                core.settle(session, run, Entry::Due {});
            }
        }
    }

    /// Appends an entry, writes it, and sets going what follows from it alone.
    pub(in crate::harness) fn append(
        &mut self,
        core: &mut Core,
        session: &str,
        run: Option<&str>,
        entry: &Entry,
    ) {
        let run_id = run.unwrap_or_default();
        let asked = asked_in(core, session, run_id);
        if self.store(core, session, run, entry) {
            // What a page that is gone had asked was never told here.
            let answers = matches!(
                entry,
                Entry::PermissionAnswered { .. } | Entry::OfferAnswered { .. } | Entry::Lost { .. }
            );
            if !asked.is_empty() && !answers {
                let still = asked_in(core, session, run_id);
                for question in asked.iter().filter(|asked| !still.contains(asked)) {
                    core.tell_resolved(session, run_id, question, "withdrawn");
                }
            }
            self.after(core, session, run, entry);
        }
    }

    /// Appends an entry and writes it. `false`: it could not be.
    fn store(&mut self, core: &mut Core, session: &str, run: Option<&str>, entry: &Entry) -> bool {
        let now = core.now;
        let row = match core.sessions.get_mut(session).map(|slot| slot.session.append(now, run, entry)) {
            Some(Ok(row)) => row,
            Some(Err(error)) => {
                core.fail(error);
                return false;
            }
            None => return false,
        };
        let seq = core.session(session).map_or(0, session::Session::seq);
        core.outbox.write(row_write(session, seq, &row, entry));
        true
    }

    /// Makes every decision that can be made now.
    pub(in crate::harness) fn advance(&mut self, core: &mut Core, session: &str) {
        self.decide_all(core, session);
        core.let_go_of_once(session);
        core.let_go_of_idle(session);
        // It began to wait for a person, or the person has answered.
        if core.is_suspended() != core.state.told_suspended {
            core.outbox.tell_after_commit(core.status_notice());
            core.status_changed(true);
        }
    }

    fn decide_all(&mut self, core: &mut Core, session: &str) {
        if std::mem::take(&mut self.setup.changed) {
            // Into what was found to be changed nothing is written: what works there has it recorded with its next turn.
            for session in core.sessions.ids() {
                if core.integrity(&session) != Integrity::Tampered {
                    self.record(core, &session);
                }
            }
        }
        while let (Some(slot), None) = (core.sessions.get(session), &core.follows.broken) {
            let Some(next) = slot.session.next() else { return };
            let (run, entry) = next;
            // Nothing new begins in what was found to be changed.
            if matches!(entry, Entry::Taken { .. }) && core.integrity(session) == Integrity::Tampered {
                return;
            }
            // Its timer may be late.
            if !matches!(entry, Entry::Ended { .. }) && self.end_overdue(core, session) {
                return;
            }
            if let Entry::Called { call } = entry {
                if !self.ready_to_call(core, session) {
                    return;
                }
                // What was recorded just now may have changed the decision: fewer turns are left, for example.
                let now = core.session(session).and_then(session::Session::next);
                if !matches!(now, Some((of, Entry::Called { call: next })) if of == run && next == call) {
                    continue;
                }
            }
            let id = run.as_deref().unwrap_or_default();
            let first = match &entry {
                Entry::Called { .. } if self.must_remember(core, session, id) => First::Wait,
                Entry::Called { .. } => match self.before_offer(core, session, id) {
                    First::Call => self.before_call(core, session, id),
                    first => first,
                },
                Entry::Ended { code: Some(code), .. } if code == Code::ContextLength.as_str() => {
                    self.after_refusal(core, session, id)
                }
                _ => First::Call,
            };
            match first {
                First::Call => {}
                First::Wait => return,
                First::Again => continue,
            }
            self.append(core, session, run.as_deref(), &entry);
        }
    }

    /// What follows from an entry that was just folded.
    pub(in crate::harness) fn after(
        &mut self,
        core: &mut Core,
        session: &str,
        run: Option<&str>,
        entry: &Entry,
    ) {
        let run = run.unwrap_or_default();
        match entry.scope() {
            // Only the next decision goes by it.
            Scope::Session(_) => {}
            Scope::Record(of) => after_record(core, session, run, of),
            Scope::Conversation(of) => self.after_conversation(core, session, run, of),
            Scope::Queue(of) => self.after_queue(core, session, run, of, entry),
            Scope::Run(of) => self.after_run(core, session, run, of, entry),
            Scope::Call(of) => self.after_call(core, session, run, of, entry),
        }
    }

    fn after_conversation(&mut self, core: &mut Core, session: &str, run: &str, of: OfConversation<'_>) {
        match of {
            OfConversation::Prompt { files, .. } => {
                self.calls.begun(core, session, run);
                if !files.is_empty() {
                    self.tell_files(core, session);
                }
            }
            OfConversation::Adopted { .. } => core.can_be_found(session, run),
            // The command tells of it.
            OfConversation::Switched { .. }
            | OfConversation::Withdrawn { .. }
            | OfConversation::Cleared { .. } => {}
        }
    }

    fn after_queue(&mut self, core: &mut Core, session: &str, run: &str, of: OfQueue<'_>, entry: &Entry) {
        match of {
            OfQueue::Taken { .. }
                if core.session(session).is_some_and(|s| s.begins_run(Some(run), entry)) =>
            {
                self.calls.begun(core, session, run);
                self.tell_files(core, session);
            }
            OfQueue::Taken { .. } => self.calls.tell_entered(core, session),
            OfQueue::Queued { prompt, .. } => {
                core.can_be_found(session, run);
                // A page that edits or removes the message has its id.
                let message = prompt.get("message").and_then(Value::as_str);
                core.can_be_found(session, message.unwrap_or_default());
            }
            OfQueue::Edited { .. } | OfQueue::Unqueued { .. } | OfQueue::Released {} => {}
        }
    }

    fn after_run(&mut self, core: &mut Core, session: &str, run: &str, of: OfRun<'_>, entry: &Entry) {
        match of {
            OfRun::Resumed {} => {
                // A run that was put aside in this epoch has begun in it.
                if core.runs.get(run).is_some() {
                    core.outbox.tell_after_commit(core.status_notice());
                    core.status_changed(true);
                    self.calls.tell_message(core, session, run, false);
                } else {
                    self.calls.begin_telling(core, session, run);
                }
                self.calls.tell_waiting_calls(core, &self.setup, session);
                // It waits on where it was put aside.
                if core.retries().iter().any(|(_, _, again)| *again == Again::Online) {
                    core.outbox.act(Action::AwaitOnline);
                }
            }
            // The model is told with its next call.
            OfRun::Reminded { .. } => self.calls.tell_message(core, session, run, true),
            OfRun::Compacting { of, .. } => self.calls.tell_compaction(core, session, of, entry),
            OfRun::Shortened { .. } => {
                self.calls.tell_compaction(core, session, run, entry);
                self.calls.tell_message(core, session, run, false);
            }
            OfRun::Called { call } => {
                self.calls.tell_message(core, session, run, false);
                self.call_model(core, session, run, *call);
            }
            OfRun::Answered { .. } | OfRun::Failed { .. } | OfRun::Benched { .. } => {
                core.drop_drafts(session, run);
                self.calls.tell_message(core, session, run, false);
            }
            OfRun::Retrying { .. } | OfRun::FellBack { .. } => {
                self.calls.tell_notice(core, &self.setup, session, run, entry)
            }
            OfRun::Offline {} => {
                self.calls.tell_notice(core, &self.setup, session, run, entry);
                core.outbox.act(Action::AwaitOnline);
            }
            // The start that found the run tells the watchers the whole conversation.
            OfRun::Lost { .. } | OfRun::Interrupted { .. } => core.drop_drafts(session, run),
            OfRun::Ended { code, .. } => {
                // What a run that works for another has done is safe with the end of that one.
                if core.current(session).is_none() {
                    core.outbox.strictly();
                }
                let sums_up = |top: &&Run| top.summaries.last().is_some_and(|summary| summary.run.id == run);
                if let Some(top) = core.current(session).filter(sums_up) {
                    // What was told before it is not sent any more.
                    self.memories.forget_run(&top.id);
                }
                if let Some(slot) = core.sessions.get_mut(session) {
                    slot.transcripts.remove(run);
                    // Files of a request that nobody could read are not sent again.
                    if code.as_deref() == Some(Code::InvalidRequest.as_str()) {
                        slot.transcripts.clear();
                    }
                }
                self.calls.tell_end(core, session, run);
            }
            OfRun::OfferAsked { .. } => self.calls.tell_offer(core, &self.setup, session, run),
            OfRun::OfferAnswered { request, answer } => {
                core.tell_resolved(session, run, request, answer.as_str())
            }
            OfRun::FilesGone { files, .. } => self.tell_gone(core, session, run, files),
            OfRun::KeyRefused { .. }
            | OfRun::Marked { .. }
            | OfRun::Due {}
            | OfRun::OverBudget { .. }
            | OfRun::SentBack { .. } => {}
        }
    }

    fn after_call(&mut self, core: &mut Core, session: &str, run: &str, of: OfCall<'_>, entry: &Entry) {
        match of {
            OfCall::Inspected { tool_call } => self.inspect(core, session, run, tool_call),
            OfCall::Validated { tool_call, error } => {
                if error.is_some() {
                    core.tell_call(session, run, tool_call, Told::Started, false);
                    core.tell_call(session, run, tool_call, Told::Failed, false);
                    self.calls.tell_message(core, session, run, false);
                }
            }
            OfCall::Consulted { tool_call } => self.consult(core, session, run, tool_call),
            OfCall::Explaining { tool_call } => self.explain(core, session, run, tool_call),
            OfCall::PermissionAsked { tool_call, .. } => {
                self.calls.tell_question(core, &self.setup, session, run, tool_call)
            }
            OfCall::PermissionAnswered { tool_call, .. } => {
                self.calls.answered_question(core, session, run, tool_call, entry);
            }
            OfCall::Delegated { tool_call, .. } => {
                core.can_be_found(session, run);
                let top = core.current_id(session);
                core.tell_call(session, &top, tool_call, Told::Started, false);
                self.calls.tell_message(core, session, &top, false);
            }
            OfCall::Handed { tool_call, .. } => self.calls.tell_handed(core, session, run, tool_call),
            OfCall::LookedUp { tool_call } => self.look_up(core, session, run, tool_call),
            OfCall::Ordered { tool_call, .. } => self.order(core, session, run, tool_call),
            OfCall::Refused { tool_call, .. } | OfCall::Unknown { tool_call } => {
                if matches!(of, OfCall::Refused { .. }) {
                    core.tell_call(session, run, tool_call, Told::Started, false);
                }
                core.tell_call(session, run, tool_call, Told::Failed, false);
                self.calls.tell_message(core, session, run, false);
            }
            OfCall::Returned { tool_call, error, .. } => {
                let status = if error.is_some() { Told::Failed } else { Told::Completed };
                core.tell_call(session, run, tool_call, status, false);
                self.calls.tell_message(core, session, run, false);
            }
            OfCall::Judged { .. } | OfCall::Explained { .. } | OfCall::NotFound { .. } => {}
        }
    }

    /// Whether everything is known that a model call needs; what is not is asked for, or recorded first.
    fn ready_to_call(&mut self, core: &mut Core, session: &str) -> bool {
        let run = core.current_id(session);
        let has_own = |session: &session::Session| {
            let own = session.overrides_of(session.current()?)?;
            own.get("instructions").map(drop)
        };
        if let Some(config::Given::Ask(function)) = self.setup.config.instructions
            && core.session(session).and_then(has_own).is_none()
        {
            let Some(slot) = core.sessions.get_mut(session) else { return false };
            match slot.instructed {
                Instructed::Asked => return false,
                Instructed::Yes => {}
                Instructed::No => {
                    slot.instructed = Instructed::Asked;
                    let call = core.outbox.call_key();
                    let owner = CallOwner::Instructions { session: session.into(), run };
                    let limit = self.setup.config.tool_timeout_ms;
                    self.calls.functions.insert(call, LiveCall::new(owner, "", limit));
                    core.outbox.act(Action::CallPage { call, function, kind: "instructions", json: None });
                    return false;
                }
            }
        }
        self.record(core, session);
        true
    }

    /// Records configuration and tools where they are not as the journal has them.
    pub(in crate::harness) fn record(&mut self, core: &mut Core, session: &str) {
        let (config, tools) = (self.setup.config_record(core), self.setup.registry.record());
        let Some(slot) = core.sessions.get_mut(session) else { return };
        let known = &mut slot.session.tools_record;
        // It is asked each turn: what is the very same record is not compared member by member.
        if !Rc::ptr_eq(&tools, known) && tools == *known {
            *known = Rc::clone(&tools);
        }
        let tools = (!Rc::ptr_eq(&tools, known)).then(|| (*tools).clone());
        let entry = Entry::Configured { config: (config != slot.session.config).then_some(config), tools };
        if !matches!(entry, Entry::Configured { config: None, tools: None }) {
            self.append(core, session, None, &entry);
        }
    }

    fn call_model(&mut self, core: &mut Core, session: &str, run: &str, call: u64) {
        let key = core.outbox.call_key();
        let own = core.session(session).and_then(|session| session.overrides_of(session.run(run)?));
        let (config, request) = match self.setup.config_with(own.as_ref()) {
            Ok(config) => (Rc::clone(&config), self.request(core, &config, session, run)),
            // What was there when the message came is not any more.
            Err(error) => (Rc::clone(&self.setup.config), Err(error)),
        };
        let folded = core.run(session, run);
        let base = folded.map_or(0, Run::shown_before_last);
        let last = folded.and_then(|run| run.turns.last());
        let replaces = last.is_some_and(|turn| !turn.had.is_empty());
        let on = folded.and_then(|run| run.on.as_deref());
        let name = config.serving(on).map(|provider| provider.peer().name).unwrap_or_default();
        let asked = AskedModel {
            purpose: match folded {
                Some(Run { delegate: Some(_), .. }) => Purpose::Report,
                Some(Run { summarizes: true, .. }) => Purpose::Summary,
                _ => Purpose::Answer,
            },
            provider: core.sessions.get(session).map(|slot| slot.session.name_of(name)).unwrap_or_default(),
            known: config.known(on).copied(),
            watch: Watch::over(core, &self.setup, on),
            answers_by: match &request {
                Ok((_, tool)) => tool.clone(),
                Err(_) => None,
            },
            http: match &request {
                Ok((ModelRequest::Http { http, request, .. }, _)) => {
                    Some((Rc::clone(http), request.url.clone()))
                }
                _ => None,
            },
        };
        let model = LiveModel::new(session, run, call, asked, base, replaces);
        self.calls.models.insert(key, model);
        match request {
            // Its files are taken from where they are stored.
            Ok((request, _)) if has_marks(request.text()) => {
                core.outbox.act_after_commit(Action::CallModel { call: key, request });
            }
            Ok((request, _)) => core.outbox.act(Action::CallModel { call: key, request }),
            Err(error) => core.follows.next.push_back(Next::NotCalled(key, error)),
        }
    }

    pub(in crate::harness) fn answered(
        &mut self,
        core: &mut Core,
        call: CallKey,
        mut result: Result<Answer, (ErrorInfo, Option<Answer>)>,
    ) {
        if let (Some(model), Ok(answer)) = (self.calls.models.get_mut(call), &mut result) {
            let unit = model.asked.http.as_ref().and_then(|(http, _)| http.preset.wire.served());
            // Who has named such tools has brought that room.
            if let Some(unit) = unit.filter(|_| self.past) {
                served::tell(answer, unit);
            }
            model.take_answer(&mut answer.blocks);
        }
        self.calls.tell_news(core, &self.setup, call, true);
        let Some(model) = self.calls.models.remove(call) else { return core.runs.late(call) };
        let (session, run) = (model.session.clone(), model.run.clone());
        let Some(slot) = core.sessions.get(&session) else { return };
        let entry = match result {
            Ok(Answer { blocks, mut stop, usage, model: mut name, mut id }) => {
                if let Some(StopReason::Refusal(why)) = &mut stop {
                    why.as_mut().map(|why| core.secrets.scrub(why));
                }
                for text in [&mut name, &mut id].into_iter().flatten() {
                    core.secrets.scrub(text);
                }
                Entry::Answered {
                    call: model.call,
                    blocks: slot.session.with_own_ids(core.secrets.scrubbed_blocks(blocks), &|id| {
                        core.waits_elsewhere(&session, id)
                    }),
                    stop: stop.unwrap_or(StopReason::EndTurn),
                    cost: model.asked.cost(&usage),
                    usage,
                    provider: model.asked.provider.clone(),
                    model: name,
                    id,
                }
            }
            // Nothing has come of it but that.
            Err((error, None))
                if model.asked.asks_for_a_key()
                    && slot
                        .session
                        .run(&run)
                        .is_some_and(|run| run.asks_for_another_key(model.call, &error)) =>
            {
                Entry::KeyRefused { call: model.call }
            }
            Err((error, answer)) => {
                let usage = answer.map_or(model.usage, |answer| answer.usage);
                Entry::Failed {
                    call: model.call,
                    error: core.secrets.clean(error),
                    blocks: core.secrets.scrubbed_blocks(model.blocks()),
                    shown: model.has_begun_a_call().then_some(true),
                    cost: model.asked.cost(&usage),
                    usage,
                    draw: core.draw(&run, model.call),
                }
            }
        };
        self.settle(core, &session, &run, &entry);
    }

    /// Takes up an input entry of a run, and everything that follows.
    pub(in crate::harness) fn settle(&mut self, core: &mut Core, session: &str, run: &str, entry: &Entry) {
        if core.session(session).and_then(|session| session.open_run(run)).is_none() {
            return core.runs.drop_of(Some(run));
        }
        self.append(core, session, Some(run), entry);
        self.advance(core, session);
    }

    /// Runs a tool that was ordered.
    fn order(&mut self, core: &mut Core, session: &str, run: &str, tool_call: &str) {
        let Some(folded) = core.session(session) else { return };
        let Some(working) = folded.run(run) else { return };
        let Some(call) = working.call(tool_call) else { return };
        let (name, seen) = (call.name.clone(), call.answers.seen);
        let policy = folded.policy_of(working, &self.setup.policy).into_owned();
        let checked = gate(&self.setup.registry, &policy, &name, &call.arguments).map(|checked| {
            let tool = checked.definition;
            let again = tool.read_only && tool.on_resume == OnResume::Rerun;
            (tool.origin, again, tool.timeout_ms, checked.args)
        });
        let (origin, again, timeout, args) = match checked {
            Ok(checked) => checked,
            // The tool changed or went away since the decision.
            Err(error) => {
                core.tell_call(session, run, tool_call, Told::Started, false);
                return core.settle(session.into(), run.into(), failed_call(tool_call, error));
            }
        };
        // A page tool commits its outcome with its change, and what only reads may be run again unless its page
        // says otherwise: neither waits.
        let barrier = !again && matches!(origin, Origin::Host(_));
        core.tell_call(session, run, tool_call, Told::Started, barrier);
        self.calls.tell_message(core, session, run, false);
        let owner = Owner::Run(RunCall::new(session, run, tool_call));
        match origin {
            Origin::Page => self.pages.page_tool(core, owner, name, args, seen),
            Origin::Host(function) => self.calls.call_tool(
                core,
                owner,
                (&name, function),
                &args,
                timeout.unwrap_or(self.setup.config.tool_timeout_ms),
                barrier,
            ),
            Origin::Skill => {
                let name = args.get("name").and_then(Value::as_str).unwrap_or_default();
                let body = prompt::skill(name, &self.setup.skills, &self.setup.registry, &policy);
                let entry = match body {
                    Ok(body) => returned_entry(tool_call, ToolText::new(core.secrets.scrubbed(body)), false),
                    Err(error) => failed_call(tool_call, error),
                };
                core.settle(session.into(), run.into(), entry);
            }
            Origin::Memory => {
                let call = RunCall::new(session, run, tool_call);
                self.memories.memory_tool(core, call, name, args, self.setup.config.shelf());
            }
            // Others carry these out: they are never ordered.
            Origin::Person | Origin::Delegate => {}
        }
    }

    pub(in crate::harness) fn instructed(
        &mut self,
        core: &mut Core,
        session: &str,
        result: Result<Option<String>, ErrorInfo>,
    ) {
        let text = result.map(|json| json.and_then(|json| json::parse(&json)));
        let text = match text {
            Ok(Some(Value::String(text))) => Ok(text),
            Ok(_) => Err("the function for instructions did not give a text".to_owned()),
            Err(error) => {
                let error = core.secrets.scrubbed_error(error);
                Err(format!("the function for instructions failed: {}", error.message))
            }
        };
        let Some(slot) = core.sessions.get_mut(session) else { return };
        match text {
            Ok(text) => {
                slot.instructed = Instructed::Yes;
                self.setup.instructions = Some(text);
                self.advance(core, session);
            }
            Err(message) => {
                // The call is ordered and fails at once: a run's end always has a recorded reason.
                slot.instructed = Instructed::Yes;
                let Some((Some(run), Entry::Called { call })) = slot.session.next() else { return };
                self.store(core, session, Some(&run), &Entry::Called { call });
                let error = ErrorInfo::new(Code::InvalidConfig, message);
                let (blocks, usage, draw) = (Vec::new(), Usage::default(), core.draw(&run, call));
                let entry = Entry::Failed { call, error, blocks, shown: None, usage, cost: None, draw };
                self.settle(core, session, &run, &entry);
            }
        }
    }

    /// Stops the run of a session, if it has one. A held one too where `held` says so.
    pub(in crate::harness) fn interrupt_session(
        &mut self,
        core: &mut Core,
        session: &str,
        reason: StoppedBy,
        held: bool,
    ) {
        let Some(run) = core.current(session) else { return };
        if run.held && !held {
            return;
        }
        let id = run.id.clone();
        let mut parts: Vec<String> = run.parts().iter().map(|part| part.id.clone()).list();
        // A run that works for another ends before that other.
        parts.reverse();
        let of_part =
            |call: &LiveCall| call.owner.run().is_some_and(|run| parts.iter().any(|part| part == run));
        for key in self.calls.functions.keys(&of_part) {
            self.calls.let_go(core, key);
            self.calls.functions.remove(key);
        }
        self.calls.interrupt_reason = Some(reason);
        for part in &parts {
            let (blocks, usage, cost) = self.calls.cut_model(core, &self.setup, session, part);
            if *part == id {
                self.end_delegates(core, session, &id);
            }
            let calls = core.run(session, part).map(Run::open_calls).unwrap_or_default();
            let open: Vec<_> = calls.iter().map(|call| (call.id.clone(), call.state.is_ahead())).list();
            let entry = Entry::Interrupted { reason: reason.into(), blocks, usage, cost };
            self.append(core, session, Some(part), &entry);
            for (call, ahead) in open {
                if ahead {
                    core.tell_call(session, part, &call, Told::Started, true);
                }
                core.tell_call(session, part, &call, Told::Failed, true);
            }
        }
        self.advance(core, session);
    }

    /// Those that worked for a run and were interrupted end.
    fn end_delegates(&mut self, core: &mut Core, session: &str, top: &str) {
        while let Some((Some(run), entry @ (Entry::Ended { .. } | Entry::Recorded { .. }))) =
            core.session(session).and_then(session::Session::next)
        {
            if run == top && matches!(entry, Entry::Ended { .. }) {
                return;
            }
            if core.follows.broken.is_some() {
                return;
            }
            self.append(core, session, Some(&run), &entry);
        }
    }

    /// Whether a run has to wait for what it is told from memory. It asks before its model is called first, and again where
    /// the conversation was summed up since, and its model has not answered.
    fn must_remember(&mut self, core: &mut Core, session: &str, run: &str) -> bool {
        let memory = self.setup.config.memory.as_ref().filter(|_| self.setup.may_recall());
        let Some(memory) = memory else { return false };
        let Some(begun) = core.run(session, run) else { return false };
        let summed_up = begun.has_forgotten();
        if !begun.turns.is_empty() && !summed_up {
            self.memories.forget_run(run);
            return false;
        }
        let knows = !begun.reminded.is_empty() && !summed_up;
        if knows || begun.prompt.continues.is_some() || begun.works_for_another() {
            return false;
        }
        let limit = memory.limit.saturating_sub(begun.reminded.len());
        match self.memories.waits(run) {
            Some(waits) => waits,
            None => {
                self.memories.remind(core, session, run, limit, memory.shelf);
                true
            }
        }
    }

    /// A held run goes on.
    pub(in crate::harness) fn go_on(&mut self, core: &mut Core, session: &str, run: &str) {
        self.settle(core, session, run, &Entry::Resumed {});
    }
}

/// What follows from something that was done with a session, or put on its record.
fn after_record(core: &mut Core, session: &str, run: &str, of: OfRecord<'_>) {
    match of {
        OfRecord::Commanded { .. } => core.note_benched(session),
        OfRecord::Recorded { what, record } if what.known().is_some_and(RecordKind::is_event) => {
            // A stop waits for the end of its run.
            core.note_benched(session);
            if *what == RecordKind::Event {
                core.tell_session_changed(session, record);
            }
            // Its task is found by its id alone, too.
            if let Some(task) = begun_task(what.known(), record, Some(run)) {
                core.can_be_found(session, &task);
            }
        }
        OfRecord::Recorded { .. } => {}
    }
}

/// There is nobody to ask.
pub(in crate::harness) fn not_configured() -> ErrorInfo {
    ErrorInfo::new(Code::NotConfigured, "LLM provider not configured")
        .hint("give startAgent a provider with its key: {kind: \"anthropic\", apiKey}, a key by keys.set, or offline() from lodger/offline")
}
