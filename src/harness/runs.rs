//! Runs: what each journal entry sets going, and what comes back.

use super::calls::{CallOwner, LiveCall, RunCall};
use super::outcome::{failed_call, returned_entry};
use super::pages::Owner;
use super::sessions::row_write;
use super::streaming::{Asked, LiveModel};
use super::{Action, CallKey, Harness, Inner, Instructed, ModelRequest, Notice, Slot, config, outbox};
use crate::error::{Code, ErrorInfo};
use crate::journal::Entry;
use crate::json;
use crate::list::Listed;
use crate::model::{Answer, Block, Form, Settings, StopReason, Usage, Wire};
use crate::ports::files::has_marks;
use crate::ports::{Expect, Millis, Table, Write};
use crate::prompt;
use crate::run::{CallState, Run};
use crate::session::{self, Transcript, what};
use crate::tools::{OnResume, Origin, ToolText, gate};
use serde_json::Value;
use std::rc::Rc;

impl Harness {
    /// Appends an entry, writes it, and sets going what follows from it alone.
    pub(super) fn append(&mut self, session: &str, run: Option<&str>, entry: &Entry) {
        if self.store(session, run, entry) {
            self.after(session, run, entry);
        }
    }

    /// Appends an entry and writes it. `false`: it could not be.
    fn store(&mut self, session: &str, run: Option<&str>, entry: &Entry) -> bool {
        let now = self.now;
        let row = match self.sessions.get_mut(session).map(|slot| slot.session.append(now, run, entry)) {
            Some(Ok(row)) => row,
            Some(Err(error)) => {
                self.fail(error);
                return false;
            }
            None => return false,
        };
        let seq = self.session(session).map_or(0, session::Session::seq);
        self.outbox.write(row_write(session, seq, &row, entry));
        true
    }

    /// Makes every decision that can be made now.
    pub(super) fn advance(&mut self, session: &str) {
        self.decide_all(session);
        self.let_go_of_once(session);
        // It began to wait for a person, or the person has answered.
        if self.is_suspended() != self.told_suspended {
            self.outbox.tell_after_commit(self.status_notice());
            self.status_changed(true);
        }
    }

    fn decide_all(&mut self, session: &str) {
        if std::mem::take(&mut self.changed) {
            for session in self.sessions.keys().map(String::from).list() {
                self.record(&session);
            }
        }
        while let Some(slot) = self.sessions.get(session) {
            let Some(next) = slot.session.next() else { return };
            let (run, entry) = next;
            // Its timer may be late.
            if !matches!(entry, Entry::Ended { .. }) && self.end_overdue(session) {
                return;
            }
            if let Entry::Called { call } = entry {
                if !self.ready_to_call(session) {
                    return;
                }
                // What was recorded just now may have changed the decision: fewer turns, for one.
                let now = self.session(session).and_then(session::Session::next);
                if !matches!(now, Some((of, Entry::Called { call: next })) if of == run && next == call) {
                    continue;
                }
            }
            self.append(session, run.as_deref(), &entry);
        }
    }

    /// A message has begun this run.
    fn begun(&mut self, session: &str, run: &str) {
        let Some(prompt) = self.run(session, run).map(|run| &run.prompt) else { return };
        let (continues, replaces) = (prompt.continues.clone(), prompt.replaces.clone());
        if let Some(failed) = continues {
            self.runs.goes_on(session, &failed, run, self.now);
        }
        if let Some(message) = replaces {
            self.replaced(session, &message);
        }
        self.can_be_found(session, run);
        self.begin_telling(session, run);
    }

    /// A run begins, or goes on in this epoch.
    fn begin_telling(&mut self, session: &str, run: &str) {
        if let Some(slot) = self.sessions.get_mut(session) {
            slot.begun.clear();
            slot.instructed = Instructed::No;
        }
        self.tell_begin(session, run);
    }

    /// What follows from an entry that was just folded.
    pub(super) fn after(&mut self, session: &str, run: Option<&str>, entry: &Entry) {
        let run = run.unwrap_or_default();
        match entry {
            Entry::Prompt { .. } => self.begun(session, run),
            Entry::Taken { .. } if self.session(session).is_some_and(|s| s.begins_run(Some(run), entry)) => {
                self.begun(session, run);
            }
            Entry::Taken { .. } => self.tell_entered(session),
            Entry::Queued { prompt, .. } => {
                self.can_be_found(session, run);
                // Whoever edits or removes it has its id.
                let message = prompt.get("message").and_then(Value::as_str);
                self.can_be_found(session, message.unwrap_or_default());
            }
            Entry::Adopted { .. } => self.can_be_found(session, run),
            Entry::Resumed {} => {
                // One that was put aside in this epoch has begun in it.
                if self.runs.get(run).is_some() {
                    self.outbox.tell_after_commit(self.status_notice());
                    self.status_changed(true);
                    self.tell_message(session, run, false);
                } else {
                    self.begin_telling(session, run);
                }
                self.tell_waiting_calls(session);
            }
            Entry::Called { call } => {
                self.tell_message(session, run, false);
                self.call_model(session, run, *call);
            }
            Entry::Answered { .. } | Entry::Failed { .. } => {
                self.drop_drafts(session, run);
                self.tell_message(session, run, false);
            }
            Entry::Retrying { .. } | Entry::FellBack { .. } => self.tell_notice(session, run, entry),
            Entry::Inspected { tool_call } => self.inspect(session, run, tool_call),
            Entry::Validated { tool_call, error } => {
                if error.is_some() {
                    self.tell_call(session, run, tool_call, "started", false);
                    self.tell_call(session, run, tool_call, "failed", false);
                    self.tell_message(session, run, false);
                }
            }
            Entry::Consulted { tool_call } => self.consult(session, run, tool_call),
            Entry::PermissionAsked { tool_call, .. } => self.tell_question(session, run, tool_call),
            Entry::PermissionAnswered { tool_call, .. } => {
                self.answered_question(session, run, tool_call, entry);
            }
            Entry::Delegated { tool_call, .. } => {
                self.can_be_found(session, run);
                let top = self.current_id(session);
                self.tell_call(session, &top, tool_call, "started", false);
                self.tell_message(session, &top, false);
            }
            Entry::Handed { tool_call, .. } => self.tell_handed(session, run, tool_call),
            Entry::LookedUp { tool_call } => self.look_up(session, run, tool_call),
            Entry::Ordered { tool_call, .. } => self.order(session, run, tool_call),
            Entry::Refused { tool_call, .. } | Entry::Unknown { tool_call } => {
                if matches!(entry, Entry::Refused { .. }) {
                    self.tell_call(session, run, tool_call, "started", false);
                }
                self.tell_call(session, run, tool_call, "failed", false);
                self.tell_message(session, run, false);
            }
            Entry::Returned { tool_call, error, .. } => {
                let status = if error.is_some() { "failed" } else { "completed" };
                self.tell_call(session, run, tool_call, status, false);
                self.tell_message(session, run, false);
            }
            Entry::Benched { .. } => {
                self.drop_drafts(session, run);
                self.tell_message(session, run, false);
            }
            Entry::Commanded { .. } => self.note_benched(session),
            // Who watches is told the whole conversation by the start that found the run.
            Entry::Lost { .. } | Entry::Interrupted { .. } => self.drop_drafts(session, run),
            Entry::Ended { code, .. } => {
                // What a run that works for another has done is safe with the end of that one.
                if self.current(session).is_none() {
                    self.outbox.strictly();
                }
                if let Some(slot) = self.sessions.get_mut(session) {
                    slot.transcripts.remove(run);
                    // Files of a request that nobody could read are not sent again.
                    if code.as_deref() == Some(Code::InvalidRequest.as_str()) {
                        slot.transcripts.clear();
                    }
                }
                self.tell_end(session, run);
            }
            Entry::Recorded { what, record } if what == what::EVENT => {
                // A stop waits for the end of its run.
                self.note_benched(session);
                // Its task is found by its id alone, too.
                if let Some(task) = begun_task(record) {
                    self.can_be_found(session, task);
                }
            }
            Entry::Cleared { .. }
            | Entry::Started { .. }
            | Entry::Configured { .. }
            | Entry::Edited { .. }
            | Entry::Unqueued { .. }
            | Entry::Released {}
            | Entry::Stopped {}
            | Entry::Due {}
            | Entry::OverBudget { .. }
            | Entry::Judged { .. }
            | Entry::SentBack { .. }
            | Entry::NotFound { .. }
            | Entry::Granted { .. }
            | Entry::Revoked { .. }
            | Entry::Found { .. }
            | Entry::Recorded { .. } => {}
        }
    }

    /// Whoever asks after a run, or a task, by its id alone finds its session: the first that has had it.
    pub(super) fn can_be_found(&mut self, session: &str, of: &str) {
        let key = vec!["run".into(), of.into()];
        self.outbox.write(Write::Add { table: Table::Meta, key, value: session.into() });
    }

    /// This message, and all that followed it, is neither sent nor shown any more.
    fn replaced(&mut self, session: &str, message: &str) {
        if let Some(slot) = self.sessions.get_mut(session) {
            // The new version has taken its place already.
            let kept = slot.session.runs.len().saturating_sub(1);
            if let Some(transcript) = slot.transcripts.get_mut("") {
                transcript.rewind(kept);
            }
        }
        if self.watched.contains_key(session) {
            let notice = Notice::Gone(session.into(), message.into());
            self.outbox.tell_after_commit(Action::Tell(notice));
        }
    }

    /// Whether everything is known that a model call needs; what is not is asked for, or recorded first.
    fn ready_to_call(&mut self, session: &str) -> bool {
        let run = self.current_id(session);
        let Some(slot) = self.sessions.get_mut(session) else { return false };
        if let Some(config::Given::Ask(function)) = self.config.instructions {
            match slot.instructed {
                Instructed::Asked => return false,
                Instructed::Yes => {}
                Instructed::No => {
                    slot.instructed = Instructed::Asked;
                    let call = self.key();
                    let owner = CallOwner::Instructions { session: session.into(), run };
                    let limit = self.config.tool_timeout_ms;
                    self.calls.insert(call, LiveCall::new(owner, "", limit));
                    self.outbox.act(Action::CallPage { call, function, kind: "instructions", json: None });
                    return false;
                }
            }
        }
        self.record(session);
        true
    }

    /// Records configuration and tools where they are not as the journal has them.
    pub(super) fn record(&mut self, session: &str) {
        let (config, tools) = (self.config_record(), self.registry.record());
        let Some(slot) = self.sessions.get(session) else { return };
        let changed = |now: Value, then: &Value| (now != *then).then_some(now);
        let entry = Entry::Configured {
            config: changed(config, &slot.session.config),
            tools: changed(tools, &slot.session.tools_record),
        };
        if !matches!(entry, Entry::Configured { config: None, tools: None }) {
            self.append(session, None, &entry);
        }
    }

    /// What the journal keeps of the configuration, with the instructions as they are now.
    pub(super) fn config_record(&self) -> Value {
        let mut record = self.config.record();
        if let (Some(config::Given::Ask(_)), Some(object), Some(text)) =
            (&self.config.instructions, record.as_object_mut(), &self.instructions)
        {
            object.insert("instructions".into(), text.as_str().into());
        }
        self.scrubbed_value(record)
    }

    fn call_model(&mut self, session: &str, run: &str, call: u64) {
        let key = self.key();
        let request = self.request(session, run);
        let folded = self.run(session, run);
        let base = folded.map_or(0, Run::shown_before_last);
        let last = folded.and_then(|run| run.turns.last());
        let replaces = last.is_some_and(|turn| !turn.had.is_empty());
        let on = folded.and_then(|run| run.on.as_deref());
        let name = self.config.serving(on).map(|provider| provider.peer().name).unwrap_or_default();
        let asked = Asked {
            provider: self.sessions.get(session).map(|slot| slot.session.name_of(name)).unwrap_or_default(),
            known: self.config.known(on).copied(),
            watch: self.watch(on),
            answers_by: match &request {
                Ok((_, tool)) => tool.clone(),
                Err(_) => None,
            },
        };
        let model = LiveModel::new(session, run, call, asked, base, replaces);
        self.models.insert(key, model);
        match request {
            // Its files are taken from where they are stored.
            Ok((request, _)) if has_marks(request.text()) => {
                self.outbox.act_after_commit(Action::CallModel { call: key, request });
            }
            Ok((request, _)) => self.outbox.act(Action::CallModel { call: key, request }),
            Err(error) => self.inner.push_back(Inner::NotCalled(key, error)),
        }
    }

    /// The request that goes on with a session's conversation, and the tool that stands for the answer, if one does.
    fn request(&mut self, session: &str, run: &str) -> Result<(ModelRequest, Option<String>), ErrorInfo> {
        let on = self.run(session, run).and_then(|run| run.on.clone());
        let on = on.as_deref();
        let Some(provider) = self.config.serving(on).filter(|provider| provider.configured()) else {
            return Err(not_configured());
        };
        let mut peer = self.config.peer(on).ok_or_else(not_configured)?;
        let system = match &self.config.instructions {
            Some(config::Given::Text(text)) => text.clone(),
            Some(config::Given::Ask(_)) => self.instructions.clone().unwrap_or_default(),
            None => String::new(),
        };
        let gone = || ErrorInfo::new(Code::SessionNotFound, "the session is gone");
        let Slot { session, transcripts, .. } = self.sessions.get_mut(session).ok_or_else(gone)?;
        peer.name = session.name_of(peer.name);
        let asking = session.run(run).ok_or_else(gone)?;
        let policy = asking.policy(&session.policy);
        let mut system = prompt::system(&system, &self.skills, &session.tools, &policy, &session.mark);
        if let Some(delegate) = &asking.delegate {
            system = prompt::delegate(&system, &delegate.process);
        }
        let mut specs = session.tools.specs(&policy);
        let form = asking.prompt.output.as_ref().map(|output| {
            let (known, reasoning) = (self.config.known(on), self.config.reasoning);
            let form = Form::of(&peer, known, reasoning, &output.schema, &mut specs);
            if form.told {
                system = prompt::answer(&system, &output.schema, form.tool());
            }
            form
        });
        let tool = form.as_ref().and_then(Form::tool).map(String::from);
        let settings = Settings { form, ..self.config.settings(on, system) };
        // The conversation is one, over all its runs; whoever works for a run has a conversation of its own.
        let (key, runs) = match asking.delegate {
            Some(_) => (run, std::slice::from_ref(asking)),
            None => ("", session.runs.as_slice()),
        };
        if !transcripts.get(key).is_some_and(|transcript| transcript.serves(&peer, session)) {
            transcripts.insert(key, Transcript::new(peer, session));
        }
        let messages = transcripts.get_mut(key).ok_or_else(gone)?.extend(runs);
        let request = match provider {
            config::Provider::Http(http) => {
                let request = http.preset.wire.request(&http.endpoint, &settings, &specs, messages)?;
                ModelRequest::Http { http: Rc::clone(http), request }
            }
            config::Provider::Custom { stream, .. } => {
                let json = Wire::custom_request(&settings, &specs, messages)?;
                ModelRequest::Custom { stream: *stream, json }
            }
        };
        Ok((request, tool))
    }

    pub(super) fn answered(
        &mut self,
        call: CallKey,
        mut result: Result<Answer, (ErrorInfo, Option<Answer>)>,
    ) {
        if let (Some(model), Ok(answer)) = (self.models.get_mut(call), &mut result) {
            model.take_answer(&mut answer.blocks);
        }
        self.tell_news(call, true);
        let Some(model) = self.models.remove(call) else { return self.runs.late(call) };
        let (session, run) = (model.session.clone(), model.run.clone());
        let Some(slot) = self.sessions.get(&session) else { return };
        let entry = match result {
            Ok(Answer { blocks, mut stop, usage, model: mut name, mut id }) => {
                if let Some(StopReason::Refusal(why)) = &mut stop {
                    why.as_mut().map(|why| self.scrub(why));
                }
                for text in [&mut name, &mut id].into_iter().flatten() {
                    self.scrub(text);
                }
                Entry::Answered {
                    call: model.call,
                    blocks: slot
                        .session
                        .with_own_ids(self.scrubbed_blocks(blocks), &|id| self.waits_elsewhere(&session, id)),
                    stop: stop.unwrap_or(StopReason::EndTurn),
                    cost: model.asked.cost(&usage),
                    usage,
                    provider: model.asked.provider.clone(),
                    model: name,
                    id,
                }
            }
            Err((error, answer)) => {
                let usage = answer.map_or(model.usage, |answer| answer.usage);
                Entry::Failed {
                    call: model.call,
                    error: self.clean(error),
                    blocks: self.scrubbed_blocks(model.blocks()),
                    shown: model.has_begun_a_call().then_some(true),
                    cost: model.asked.cost(&usage),
                    usage,
                    draw: self.draw(&run, model.call),
                }
            }
        };
        self.settle(&session, &run, &entry);
    }

    /// Whether a run of another session has a call with this id: whoever answers one names it by its id alone.
    fn waits_elsewhere(&self, session: &str, tool_call: &str) -> bool {
        let has = |run: &Run| run.parts().iter().any(|part| part.call(tool_call).is_some());
        self.sessions.iter().any(|(other, slot)| other != session && slot.session.current().is_some_and(has))
    }

    /// The runs that wait before they ask their model again: session, run, and until when.
    pub(super) fn retries(&self) -> Vec<(String, String, Millis)> {
        let mut retries = Vec::new();
        for (session, slot) in self.sessions.iter() {
            let Some(current) = slot.session.current().filter(|run| !run.held) else { continue };
            for run in current.parts() {
                if let Some(at) = run.again_at {
                    retries.push((session.into(), run.id.clone(), at));
                }
            }
        }
        retries
    }

    /// A draw from 0 to 999. Each run's id is random, so those who failed together do not draw the same.
    fn draw(&self, run: &str, call: u64) -> u64 {
        let mut hash = self.now ^ call.rotate_left(32);
        for byte in run.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        (hash >> 20) % 1000
    }

    fn scrubbed_blocks(&self, mut blocks: Vec<Block>) -> Vec<Block> {
        for block in &mut blocks {
            match block {
                Block::Text(text) | Block::Extra(text) | Block::Raw(text) => {
                    self.scrub(text);
                }
                Block::ToolCall { id, name, arguments } => {
                    for text in [id, name, arguments] {
                        self.scrub(text);
                    }
                }
                Block::Thinking { text, signature } => {
                    // Its provider would refuse what it has signed otherwise.
                    if self.scrub(text) {
                        *signature = None;
                    }
                }
                Block::File(_) | Block::ToolResult { .. } => {}
            }
        }
        blocks
    }

    /// Takes up an input entry of a run, and everything that follows.
    pub(super) fn settle(&mut self, session: &str, run: &str, entry: &Entry) {
        if self.session(session).and_then(|session| session.open_run(run)).is_none() {
            return self.runs.drop_of(Some(run));
        }
        self.append(session, Some(run), entry);
        self.advance(session);
    }

    /// The same as soon as this one is over: whoever calls stands in the middle of an entry.
    pub(super) fn inner_settle(&mut self, session: String, run: String, entry: Entry) {
        self.inner.push_back(Inner::Settle { session, run, entry: Box::new(entry) });
    }

    /// Runs a tool that was ordered.
    fn order(&mut self, session: &str, run: &str, tool_call: &str) {
        let Some(working) = self.run(session, run) else { return };
        let Some(call) = working.call(tool_call) else { return };
        let (name, policy) = (call.name.clone(), working.policy(&self.policy).into_owned());
        let checked = gate(&self.registry, &policy, &name, &call.arguments).map(|checked| {
            let tool = checked.definition;
            let again = tool.read_only && tool.on_resume == OnResume::Rerun;
            (tool.origin, again, tool.timeout_ms, checked.args)
        });
        let (origin, again, timeout, args) = match checked {
            Ok(checked) => checked,
            // The tool changed or went away since the decision.
            Err(error) => {
                self.tell_call(session, run, tool_call, "started", false);
                return self.inner_settle(session.into(), run.into(), failed_call(tool_call, error));
            }
        };
        // A page tool commits its outcome with its change, and what only reads may be run again unless its page
        // says otherwise: neither waits.
        let barrier = !again && matches!(origin, Origin::Host(_));
        self.tell_call(session, run, tool_call, "started", barrier);
        self.tell_message(session, run, false);
        let owner = Owner::Run(RunCall::new(session, run, tool_call));
        match origin {
            Origin::Page => self.page_tool(owner, name, args),
            Origin::Host(function) => self.call_tool(owner, (&name, function), &args, timeout, barrier),
            Origin::Skill => {
                let name = args.get("name").and_then(Value::as_str).unwrap_or_default();
                let body = prompt::skill(name, &self.skills, &self.registry, &policy);
                let entry = match body {
                    Ok(body) => returned_entry(tool_call, ToolText::new(self.scrubbed(body)), false),
                    Err(error) => failed_call(tool_call, error),
                };
                self.inner_settle(session.into(), run.into(), entry);
            }
            // Others carry these out: they are never ordered.
            Origin::Person | Origin::Delegate => {}
        }
    }

    pub(super) fn instructed(&mut self, session: &str, result: Result<Option<String>, ErrorInfo>) {
        let text = result.map(|json| json.and_then(|json| json::parse(&json)));
        let text = match text {
            Ok(Some(Value::String(text))) => Ok(text),
            Ok(_) => Err("the function for instructions did not give a text".to_owned()),
            Err(error) => {
                let error = self.scrubbed_error(error);
                Err(format!("the function for instructions failed: {}", error.message))
            }
        };
        let Some(slot) = self.sessions.get_mut(session) else { return };
        match text {
            Ok(text) => {
                slot.instructed = Instructed::Yes;
                self.instructions = Some(text);
                self.advance(session);
            }
            Err(message) => {
                // The call is ordered and fails at once: a run's end always has a recorded reason.
                slot.instructed = Instructed::Yes;
                let Some((Some(run), Entry::Called { call })) = slot.session.next() else { return };
                self.store(session, Some(&run), &Entry::Called { call });
                let error = ErrorInfo::new(Code::InvalidConfig, message);
                let (blocks, usage, draw) = (Vec::new(), Usage::default(), self.draw(&run, call));
                let entry = Entry::Failed { call, error, blocks, shown: None, usage, cost: None, draw };
                self.settle(session, &run, &entry);
            }
        }
    }

    /// Stops the run of a session, if it has one. A held one too where `held` says so.
    pub(super) fn interrupt_session(&mut self, session: &str, reason: &str, held: bool) {
        let Some(run) = self.current(session) else { return };
        if run.held && !held {
            return;
        }
        let id = run.id.clone();
        let mut parts: Vec<String> = run.parts().iter().map(|part| part.id.clone()).list();
        // Whoever works for a run ends before it.
        parts.reverse();
        let of_part =
            |call: &LiveCall| call.owner.run().is_some_and(|run| parts.iter().any(|part| part == run));
        for key in self.calls.keys(&of_part) {
            self.let_go(key);
            self.calls.remove(key);
        }
        self.interrupt_reason = reason.into();
        for part in &parts {
            let (blocks, usage, cost) = self.cut_model(session, part);
            if *part == id {
                self.end_delegates(session, &id);
            }
            let calls = self.run(session, part).map(Run::open_calls).unwrap_or_default();
            let open: Vec<_> = calls.iter().map(|call| (call.id.clone(), call.state.is_ahead())).list();
            let entry = Entry::Interrupted { reason: reason.into(), blocks, usage, cost };
            self.append(session, Some(part), &entry);
            for (call, ahead) in open {
                if ahead {
                    self.tell_call(session, part, &call, "started", true);
                }
                self.tell_call(session, part, &call, "failed", true);
            }
        }
        self.advance(session);
    }

    /// Aborts the model call of a run, if there is one: what had come of it, what that has used up, and its price.
    pub(super) fn cut_model(&mut self, session: &str, run: &str) -> (Vec<Block>, Option<Usage>, Option<u64>) {
        let mut cut = (Vec::new(), None, None);
        for key in self.models.keys(&|model| model.session == session && model.run == run) {
            self.tell_news(key, true);
            self.let_go(key);
            if let Some(model) = self.models.remove(key) {
                let usage = Some(model.usage).filter(|usage| *usage != Usage::default());
                let cost = usage.as_ref().and_then(|usage| model.asked.cost(usage));
                cut = (self.scrubbed_blocks(model.blocks()), usage, cost);
            }
        }
        cut
    }

    /// Those that worked for a run and were interrupted end.
    fn end_delegates(&mut self, session: &str, top: &str) {
        while let Some((Some(run), entry @ (Entry::Ended { .. } | Entry::Recorded { .. }))) =
            self.session(session).and_then(session::Session::next)
        {
            if run == top && matches!(entry, Entry::Ended { .. }) {
                return;
            }
            self.append(session, Some(&run), &entry);
        }
    }

    /// A held run goes on.
    pub(super) fn go_on(&mut self, session: &str, run: &str) {
        self.settle(session, run, &Entry::Resumed {});
    }

    pub(super) fn is_open(&self, session: &str, run: &str, tool_call: &str) -> bool {
        self.call_of(session, run, tool_call).is_some_and(|call| call.state == CallState::Ordered)
    }

    /// The row that says whose journals these are.
    pub(super) fn guard(&self) -> Expect {
        outbox::expect(Table::Meta, vec!["epoch".into()], Some(self.epoch.to_string()))
    }
}

/// The task that begins with this event.
pub(super) fn begun_task(event: &Value) -> Option<&str> {
    let text = |name: &str| event.get(name).and_then(Value::as_str);
    text("task_id").filter(|_| text("event_type") == Some("prompt_received"))
}

/// There is nobody to ask.
pub(super) fn not_configured() -> ErrorInfo {
    ErrorInfo::new(Code::NotConfigured, "LLM provider not configured")
        .hint("give startAgent a provider with its key: {kind: \"anthropic\", apiKey}, a key by keys.set, or offline() from lodger/offline")
}
