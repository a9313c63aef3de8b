//! Runs: what each journal entry sets going, and what comes back.

use super::outcome::{failed_call, returned_entry, tool_value};
use super::page_calls::PageCall;
use super::pages::Owner;
use super::{Action, CallKey, Harness, Inner, Instructed, ModelRequest, Slot, config, outbox};
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::journal::Entry;
use crate::json;
use crate::model::{Answer, Block, Delta, DeltaKind, StopReason, Usage, Wire, openai_chat};
use crate::object::Object;
use crate::ports::{Expect, Millis, Table, Write};
use crate::prompt;
use crate::run::{CallState, Run};
use crate::session::{self, Transcript};
use crate::tools::{OnResume, Origin, Policy, ToolText, gate};
use serde_json::Value;

/// How often the text of an answer is written down while it streams, in milliseconds.
const DRAFT_MS: Millis = 250;

/// One part of an answer that streams.
#[derive(Debug)]
struct Streamed {
    kind: DeltaKind,
    text: String,
    /// How much of it was told, in bytes, and in UTF-16 units as pages count.
    told: usize,
    told_units: usize,
    /// How much of it is in a draft, in bytes.
    drafted: usize,
}

impl Streamed {
    /// Up to where the text can be told: a key in it is replaced, and what may be the beginning of one waits.
    fn tellable(&mut self, secrets: &[String], last: bool) -> usize {
        let mut held = 0;
        for secret in secrets {
            let Some(news) = self.text.get(self.told..) else { continue };
            if find::has(news, secret) {
                let clean = find::replace(news, secret, super::REDACTED);
                self.text.truncate(self.told);
                self.text.push_str(&clean);
            }
            let Some(news) = self.text.get(self.told..) else { continue };
            let begins = |n: &usize| secret.get(..*n).is_some_and(|beginning| news.ends_with(beginning));
            held = held.max((1..secret.len().min(news.len() + 1)).rev().find(begins).unwrap_or(0));
        }
        self.text.len() - if last { 0 } else { held }
    }
}

/// A model call in the air.
#[derive(Debug)]
pub(super) struct LiveModel {
    session: String,
    run: String,
    call: u64,
    /// What it was asked by; the configuration may change while it answers.
    wire: Wire,
    parts: Vec<Streamed>,
    drafts: u64,
    /// How many shown parts the run had before this answer.
    base: usize,
    /// Whether a tool call began since the page was told last.
    fresh_call: bool,
    /// Whether the page still shows what this call had said before it was made again.
    replaces: bool,
}

impl LiveModel {
    /// Whether there is text that no draft holds.
    pub fn has_news(&self) -> bool {
        self.parts.iter().any(|part| part.drafted < part.told && part.kind != DeltaKind::ToolCall)
    }

    /// What has come, as far as it can stand alone.
    fn blocks(&self) -> Vec<Block> {
        self.parts.iter().filter_map(|part| block(part.kind, &part.text)).collect()
    }
}

fn block(kind: DeltaKind, text: &str) -> Option<Block> {
    match kind {
        DeltaKind::Text => Some(Block::Text(text.into())),
        DeltaKind::Thinking => Some(Block::Thinking { text: text.into(), signature: None }),
        DeltaKind::ToolCall => None,
    }
}

/// A function of the page that was called.
#[derive(Debug)]
pub(super) struct LiveCall {
    pub owner: CallOwner,
    /// `None`: it waits for its commit and was not called yet.
    pub deadline: Option<Millis>,
    /// How long it may take, for the message.
    pub limit: u64,
    /// The tool that it is for, if it is for one.
    pub tool: String,
    /// What it has told of its progress.
    progress: Progress,
}

/// What a call has told of its progress: the page hears of it at most every [`PROGRESS_MS`].
#[derive(Debug, Default)]
struct Progress {
    /// The last that the page has not heard of.
    news: Option<Value>,
    /// When it heard of it.
    told: Option<Millis>,
}

/// How often a page is told of a call's progress, in milliseconds.
const PROGRESS_MS: Millis = 100;

/// Who wants the result of a function.
#[derive(Clone, Debug)]
pub(super) enum CallOwner {
    /// A tool call.
    Tool(Owner),
    /// The instructions of a session's run.
    Instructions { session: String, run: String },
    /// What the page's own schema says of a call of the page's own code.
    Validate(PageCall),
    /// What it says of a call of a run.
    ValidateForRun { session: String, run: String, tool_call: String },
    /// What `decide` says of a call of the page's own code.
    Decide(PageCall),
    /// What it says of a call of a run.
    DecideForRun { session: String, run: String, tool_call: String },
    /// What became of a call that was lost.
    Lookup { session: String, run: String, tool_call: String },
}

impl LiveCall {
    /// A call that waits to be made.
    pub fn new(owner: CallOwner, tool: &str, limit: u64) -> LiveCall {
        LiveCall { owner, deadline: None, limit, tool: tool.into(), progress: Progress::default() }
    }

    /// Whether it waits for its commit, and has not begun.
    fn is_ahead_of(&self) -> Option<(&str, &str, &str)> {
        match &self.owner {
            CallOwner::Tool(Owner::Run { session, run, tool_call }) if self.deadline.is_none() => {
                Some((session, run, tool_call))
            }
            _ => None,
        }
    }

    /// When the page is to hear of its progress.
    pub fn progress_due(&self) -> Option<Millis> {
        self.progress.news.as_ref().and(self.progress.told).map(|told| told + PROGRESS_MS)
    }

    /// Whether the page's own code asked for it.
    pub fn is_of_page(&self) -> bool {
        matches!(
            self.owner,
            CallOwner::Tool(Owner::Command(_)) | CallOwner::Decide(_) | CallOwner::Validate(_)
        )
    }
}

impl Harness {
    /// A piece of an answer. `false`: nobody wants it any more.
    pub fn delta(&mut self, call: CallKey, delta: Delta<'_>) -> bool {
        let Some(model) = self.models.get_mut(call) else {
            self.dropped += 1;
            return false;
        };
        let index = delta.part as usize;
        while model.parts.len() <= index {
            let kind = delta.kind;
            model.fresh_call |= kind == DeltaKind::ToolCall;
            model.parts.push(Streamed { kind, text: String::new(), told: 0, told_units: 0, drafted: 0 });
        }
        if let Some(part) = model.parts.get_mut(index) {
            part.text.push_str(delta.text);
        }
        true
    }

    /// Everything of one network read has come: the page is told, in one event a part.
    pub fn flush(&mut self, now: Millis, call: CallKey) {
        self.now = self.now.max(now);
        self.tell_news(call, false);
        // Not by a timer: the page may be gone before it fires.
        self.draft_if_due();
    }

    /// When the text that streams is to be written down, if some is not.
    pub(super) fn draft_due(&self) -> Option<Millis> {
        self.models.values().any(LiveModel::has_news).then_some(self.last_draft + DRAFT_MS)
    }

    /// Writes it down if that time has come.
    pub(super) fn draft_if_due(&mut self) {
        if self.draft_due().is_some_and(|due| due <= self.now) {
            self.write_drafts();
        }
    }

    /// Tells what of an answer was not told. `last`: nothing more comes of it.
    fn tell_news(&mut self, call: CallKey, last: bool) {
        let Some(model) = self.models.get_mut(call) else { return };
        let (session, run) = (model.session.clone(), model.run.clone());
        let mut news = Vec::new();
        for (index, part) in model.parts.iter_mut().enumerate() {
            let until = part.tellable(&self.secrets, last);
            let Some(text) = part.text.get(part.told..until).filter(|text| !text.is_empty()) else {
                continue;
            };
            if part.kind != DeltaKind::ToolCall {
                news.push((model.base + index, part.kind, part.told_units, text.to_owned()));
            }
            part.told_units += if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
            part.told = until;
        }
        // What a run says that works for another is told with its call.
        let of_another = self.sessions.get(&session).and_then(|slot| slot.session.run(&run));
        if of_another.is_some_and(|run| run.delegate.is_some()) {
            return;
        }
        let replaced = !news.is_empty() && std::mem::take(&mut model.replaces);
        let fresh_call = std::mem::take(&mut model.fresh_call) || replaced;
        if news.is_empty() && !fresh_call {
            return;
        }
        // The part of a call that begins must be there before text that comes after it; what is replaced must be gone.
        if fresh_call {
            self.tell_message(&session, &run, false);
        }
        if let Some(message) =
            self.sessions.get(&session).and_then(|slot| slot.session.run(&run)).map(Run::answer_id)
        {
            for (part, kind, offset, text) in news {
                let kind = if kind == DeltaKind::Thinking { "thinking" } else { "text" };
                let mut detail = self.detail(&session, Some(&run));
                detail.text("kind", kind).text("messageId", &message).text("text", &text);
                detail.number("offset", offset as u64).number("part", part as u64);
                self.send("agent:message-chunk", detail, false);
            }
        }
        self.tell_views();
    }

    /// The parts of a run's answer that stream and are in no entry yet.
    pub(super) fn streaming_parts(&self, session: &str, run: &str) -> Vec<Value> {
        let model = self.models.values().find(|model| model.session == session && model.run == run);
        let parts = model.map(|model| model.parts.as_slice()).unwrap_or_default();
        let told = |part: &Streamed| part.text.get(..part.told).unwrap_or_default().to_owned();
        let part = |(index, part): (usize, &Streamed)| match part.kind {
            DeltaKind::Text => session::text_part("text", &told(part)),
            DeltaKind::Thinking => session::text_part("thinking", &told(part)),
            DeltaKind::ToolCall => Object::new()
                .text("type", "tool-call")
                .text("toolCallId", &format!("receiving-{index}"))
                .text("tool", &part.text)
                .value("arguments", Object::new().done())
                .text("status", "receiving")
                .done(),
        };
        parts.iter().enumerate().map(part).collect()
    }

    /// Whether a run has shown anything of the answer that it awaits.
    pub(super) fn has_shown(&self, session: &str, run: &str) -> bool {
        self.models.values().any(|m| m.session == session && m.run == run && !m.parts.is_empty())
    }

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
        let key = vec![session.into(), seq.into()];
        self.outbox.write(Write::Put { table: Table::Entries, key, value: row.to_text() });
        true
    }

    /// Makes every decision that can be made now.
    pub(super) fn advance(&mut self, session: &str) {
        self.decide_all(session);
        // It began to wait for a person, or the person has answered.
        if self.is_suspended() != self.told_suspended {
            self.outbox.tell_after_commit(self.status_notice());
            self.status_changed(true);
        }
    }

    fn decide_all(&mut self, session: &str) {
        if std::mem::take(&mut self.changed) {
            for session in self.sessions.keys().map(String::from).collect::<Vec<_>>() {
                self.record(&session);
            }
        }
        while let Some(slot) = self.sessions.get(session) {
            let Some(next) = slot.session.next() else { return };
            if let Entry::Called { .. } = next.1 {
                if !self.ready_to_call(session) {
                    return;
                }
                // What was recorded just now may have changed the decision: fewer turns, for one.
                if self.session(session).and_then(session::Session::next).as_ref() != Some(&next) {
                    continue;
                }
            }
            let (run, entry) = next;
            self.append(session, Some(&run), &entry);
        }
    }

    /// A run begins, or goes on in this epoch.
    fn begin_telling(&mut self, session: &str, run: &str) {
        if let Some(slot) = self.sessions.get_mut(session) {
            slot.told.clear();
            slot.instructed = Instructed::No;
        }
        self.tell_begin(session, run);
    }

    /// What a run may do by the present configuration.
    pub(super) fn policy_of(&self, session: &str, run: &str) -> Policy {
        let run = self.session(session).and_then(|session| session.run(run));
        match run.and_then(|run| run.delegate.as_ref()) {
            Some(delegate) => delegate.policy(&self.policy),
            None => self.policy.clone(),
        }
    }

    /// What follows from an entry that was just folded.
    pub(super) fn after(&mut self, session: &str, run: Option<&str>, entry: &Entry) {
        let run = run.unwrap_or_default();
        match entry {
            Entry::Prompt { .. } => {
                self.begin_telling(session, run);
            }
            Entry::Resumed {} => {
                self.begin_telling(session, run);
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
                let top = self.session(session).and_then(session::Session::current).map(|top| top.id.clone());
                let top = top.unwrap_or_default();
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
            // Who watches is told the whole conversation by the start that found the run.
            Entry::Lost { .. } | Entry::Interrupted { .. } => self.drop_drafts(session, run),
            Entry::Ended { .. } => {
                // What a run that works for another has done is safe with the end of that one.
                if self.session(session).and_then(session::Session::current).is_none() {
                    self.outbox.strictly();
                }
                if let Some(slot) = self.sessions.get_mut(session) {
                    slot.transcripts.remove(run);
                }
                self.tell_end(session, run);
            }
            Entry::Cleared { .. }
            | Entry::Started { .. }
            | Entry::Configured { .. }
            | Entry::Stopped {}
            | Entry::Judged { .. }
            | Entry::NotFound { .. }
            | Entry::Granted { .. }
            | Entry::Revoked { .. } => {}
        }
    }

    /// Whether everything is known that a model call needs; what is not is asked for, or recorded first.
    fn ready_to_call(&mut self, session: &str) -> bool {
        let Some(slot) = self.sessions.get_mut(session) else { return false };
        let run = slot.session.current().map(|run| run.id.clone()).unwrap_or_default();
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
        let folded = self.session(session).and_then(|s| s.run(run));
        let base = folded.map_or(0, Run::shown_before_last);
        let last = folded.and_then(|run| run.turns.last());
        let replaces = last.is_some_and(|turn| !turn.had.is_empty());
        self.models.insert(
            key,
            LiveModel {
                session: session.into(),
                run: run.into(),
                call,
                wire: self.config.wire(),
                parts: Vec::new(),
                drafts: 0,
                base,
                fresh_call: false,
                replaces,
            },
        );
        match request {
            Ok(request) => self.outbox.act(Action::CallModel { call: key, request }),
            Err(error) => self.inner.push_back(Inner::NotCalled(key, error)),
        }
    }

    /// The request that goes on with a session's conversation.
    fn request(&mut self, session: &str, run: &str) -> Result<ModelRequest, ErrorInfo> {
        if !self.config.configured() {
            return Err(not_configured());
        }
        let wire = self.config.wire();
        let system = match &self.config.instructions {
            Some(config::Given::Text(text)) => text.clone(),
            Some(config::Given::Ask(_)) => self.instructions.clone().unwrap_or_default(),
            None => String::new(),
        };
        let Some(Slot { session, transcripts, .. }) = self.sessions.get_mut(session) else {
            return Err(ErrorInfo::new(Code::SessionNotFound, "the session is gone"));
        };
        let policy = session.policy_of(run);
        let mut system = prompt::system(&system, &self.skills, &session.tools, &policy, &session.mark);
        let working = session.run(run).filter(|run| run.delegate.is_some());
        if let Some(delegate) = working.and_then(|run| run.delegate.as_ref()) {
            system = prompt::delegate(&system, &delegate.process);
        }
        let settings = self.config.settings(system);
        // The conversation is one, over all its runs; whoever works for a run has a conversation of its own.
        let key = if working.is_some() { run } else { "" };
        if !transcripts.get(key).is_some_and(|transcript| transcript.serves(wire, session)) {
            transcripts.insert(key, Transcript::new(wire, session));
        }
        let Some(transcript) = transcripts.get_mut(key) else {
            return Err(ErrorInfo::new(Code::SessionNotFound, "the session is gone"));
        };
        let messages = transcript.extend(working.map_or(session.runs.as_slice(), std::slice::from_ref));
        let specs = session.tools.specs(&policy);
        match &self.config.provider {
            Some(config::Provider::Http(http)) => {
                let request = wire.request(&http.endpoint, &settings, &specs, messages)?;
                Ok(ModelRequest::Http { wire, request })
            }
            Some(config::Provider::Custom { stream, .. }) => {
                let json = openai_chat::chat_request(&settings, &specs, messages)?;
                Ok(ModelRequest::Custom { stream: *stream, json })
            }
            None => Err(not_configured()),
        }
    }

    pub(super) fn answered(&mut self, call: CallKey, result: Result<Answer, (ErrorInfo, Option<Answer>)>) {
        self.tell_news(call, true);
        let Some(model) = self.models.remove(call) else { return };
        let (session, run) = (model.session.clone(), model.run.clone());
        let Some(slot) = self.sessions.get(&session) else { return };
        let entry = match result {
            Ok(Answer { blocks, stop, usage, model: name, id }) => Entry::Answered {
                call: model.call,
                blocks: self.scrubbed_blocks(slot.session.with_own_ids(blocks)),
                stop: stop.unwrap_or(StopReason::EndTurn),
                usage,
                wire: model.wire.as_str().into(),
                model: name,
                id,
            },
            Err((error, answer)) => Entry::Failed {
                call: model.call,
                error: self.scrubbed_error(error),
                blocks: self.scrubbed_blocks(model.blocks()),
                usage: answer.map_or(Usage::default(), |answer| answer.usage),
            },
        };
        self.settle(&session, &run, &entry);
    }

    fn scrubbed_blocks(&self, mut blocks: Vec<Block>) -> Vec<Block> {
        for block in &mut blocks {
            // What is signed or raw goes back to its provider unchanged; a key in it came from there.
            if let Block::Text(text) | Block::ToolCall { arguments: text, .. } = block {
                *text = self.scrubbed(std::mem::take(text));
            }
        }
        blocks
    }

    /// Takes up an input entry of a run, and everything that follows.
    pub(super) fn settle(&mut self, session: &str, run: &str, entry: &Entry) {
        if self.session(session).and_then(|session| session.open_run(run)).is_none() {
            return;
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
        let Some(call) = self.session(session).and_then(|s| s.run(run)).and_then(|run| run.call(tool_call))
        else {
            return;
        };
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        let policy = self.policy_of(session, run);
        let checked = gate(&self.registry, &policy, &name, &arguments).map(|checked| {
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
        let owner = Owner::Run { session: session.into(), run: run.into(), tool_call: tool_call.into() };
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

    /// Calls a tool of the page.
    pub(super) fn call_tool(
        &mut self,
        owner: Owner,
        (tool, function): (&str, u32),
        args: &Value,
        timeout: Option<u64>,
        barrier: bool,
    ) {
        let limit = timeout.unwrap_or(self.config.tool_timeout_ms);
        let call = self.key();
        let mut given = Object::new();
        given.value("args", args.clone());
        match &owner {
            Owner::Run { run, tool_call, .. } => given.text("toolCallId", tool_call).text("runId", run),
            Owner::Command(command) => given.text("toolCallId", &format!("call-{command}")),
        };
        let json = given.json();
        self.calls.insert(call, LiveCall::new(CallOwner::Tool(owner), tool, limit));
        let action = Action::CallPage { call, function, kind: "tool", json: Some(json) };
        if barrier {
            self.outbox.strictly();
            self.outbox.act_after_commit(action);
        } else {
            self.outbox.act(action);
        }
    }

    pub(super) fn returned(&mut self, call: CallKey, result: Result<Option<String>, ErrorInfo>) {
        let Some(LiveCall { owner, .. }) = self.calls.remove(call) else {
            self.dropped += 1;
            return;
        };
        match owner {
            CallOwner::Instructions { session, .. } => self.instructed(&session, result),
            CallOwner::Validate(_) | CallOwner::ValidateForRun { .. } => self.validated(owner, result),
            CallOwner::Decide(_) | CallOwner::DecideForRun { .. } => self.judged(owner, result),
            CallOwner::Lookup { .. } => self.looked_up(owner, result),
            CallOwner::Tool(Owner::Run { session, run, tool_call }) => {
                let entry = match result {
                    Ok(json) => {
                        let (text, json) = self.tool_text(json);
                        returned_entry(&tool_call, text, json)
                    }
                    Err(error) => failed_call(&tool_call, self.scrubbed_error(error)),
                };
                self.settle(&session, &run, &entry);
            }
            CallOwner::Tool(Owner::Command(command)) => {
                let result = result.map_err(|error| self.scrubbed_error(error)).map(|json| {
                    let (text, json) = self.tool_text(json);
                    Some(json::json(&tool_value(&text, json)))
                });
                self.outbox.tell(Action::Reply { id: command, result });
            }
        }
    }

    /// The function of a tool call: the tool may have been registered anew while the call waited for its commit.
    pub(super) fn present_function(&self, live: &LiveCall) -> Option<u32> {
        match self.registry.get(&live.tool)?.definition.origin {
            Origin::Host(function) => Some(function),
            _ => None,
        }
    }

    /// Calls that wait for their commit are not made if they would be refused, or asked about, by what holds now.
    pub(super) fn drop_what_may_not_run(&mut self, before: &Policy) {
        let waiting = self.calls.values().filter_map(LiveCall::is_ahead_of);
        let waiting: Vec<_> = waiting
            .map(|(session, run, call)| (session.to_owned(), run.to_owned(), call.to_owned()))
            .collect();
        for (session, run, tool_call) in waiting {
            let call = self.session(&session).and_then(|s| s.run(&run)).and_then(|run| run.call(&tool_call));
            let Some((name, arguments)) = call.map(|call| (call.name.clone(), call.arguments.clone())) else {
                continue;
            };
            let checked = gate(&self.registry, &self.policy_of(&session, &run), &name, &arguments);
            let error = match checked {
                Err(error) => error,
                Ok(checked) => {
                    let tool = checked.definition;
                    if self.policy.verdict(tool, false).0 <= before.verdict(tool, false).0 {
                        continue;
                    }
                    ErrorInfo::new(Code::PermissionDenied, "the rules have changed; it was not run")
                        .hint("call it again if it is still wanted")
                }
            };
            let of_call = |live: &LiveCall| live.is_ahead_of().is_some_and(|(.., id)| id == tool_call);
            for key in self.calls.keys(of_call) {
                self.calls.remove(key);
                self.outbox.abort(key);
            }
            self.inner_settle(session, run, failed_call(&tool_call, error));
        }
    }

    /// What a tool of the page returned, as text for the model, and whether that is JSON.
    pub(super) fn tool_text(&self, json: Option<String>) -> (ToolText, bool) {
        let json = json.unwrap_or_default();
        let (text, json) = match json::parse(&json) {
            Some(Value::String(text)) => (text, false),
            Some(Value::Null) | None => (String::new(), false),
            Some(_) => (json, true),
        };
        let text = ToolText::new(self.scrubbed(text));
        let json = json && text.truncated.is_none();
        (text, json)
    }

    fn instructed(&mut self, session: &str, result: Result<Option<String>, ErrorInfo>) {
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
                let Some((run, Entry::Called { call })) = slot.session.next() else { return };
                self.store(session, Some(&run), &Entry::Called { call });
                let error = ErrorInfo::new(Code::InvalidConfig, message);
                let entry = Entry::Failed { call, error, blocks: Vec::new(), usage: Usage::default() };
                self.settle(session, &run, &entry);
            }
        }
    }

    /// A call says how far it is. What comes sooner than the page is to hear of it takes the place of what waits.
    pub(super) fn progress(&mut self, call: CallKey, json: &str) {
        let progress = json::parse(&self.scrubbed(json.into())).unwrap_or_default();
        let now = self.now;
        let Some(live) = self.calls.get_mut(call) else { return };
        live.progress.news = Some(progress);
        if live.progress.told.is_none_or(|told| told + PROGRESS_MS <= now) {
            self.tell_progress_of(call);
        }
    }

    /// Tells of the progress that waited.
    pub(super) fn tell_late_progress(&mut self) {
        let now = self.now;
        for call in self.calls.keys(|call| call.progress_due().is_some_and(|due| due <= now)) {
            self.tell_progress_of(call);
        }
    }

    fn tell_progress_of(&mut self, call: CallKey) {
        let now = self.now;
        let Some(live) = self.calls.get_mut(call) else { return };
        let Some(news) = live.progress.news.take() else { return };
        live.progress.told = Some(now);
        let CallOwner::Tool(Owner::Run { session, run, tool_call }) = &live.owner else { return };
        let (session, run, tool_call) = (session.clone(), run.clone(), tool_call.clone());
        self.tell_progress(&session, &run, &tool_call, news);
    }

    /// Stops the run of a session, if it has one. A held one too where `held` says so.
    pub(super) fn interrupt_session(&mut self, session: &str, reason: &str, held: bool) {
        let Some(run) = self.session(session).and_then(session::Session::current) else { return };
        if run.held && !held {
            return;
        }
        let id = run.id.clone();
        let mut parts: Vec<String> = run.parts().map(|part| part.id.clone()).collect();
        // Whoever works for a run ends before it.
        parts.reverse();
        let of_run = |call: &LiveCall| match &call.owner {
            CallOwner::Tool(Owner::Run { run, .. })
            | CallOwner::Instructions { run, .. }
            | CallOwner::ValidateForRun { run, .. }
            | CallOwner::DecideForRun { run, .. }
            | CallOwner::Lookup { run, .. } => parts.contains(run),
            CallOwner::Tool(Owner::Command(_)) | CallOwner::Decide(_) | CallOwner::Validate(_) => false,
        };
        for key in self.calls.keys(of_run) {
            self.calls.remove(key);
            self.outbox.abort(key);
        }
        self.interrupt_reason = reason.into();
        for part in &parts {
            let mut blocks = Vec::new();
            for key in self.models.keys(|model| model.session == session && model.run == *part) {
                self.tell_news(key, true);
                if let Some(model) = self.models.remove(key) {
                    blocks = self.scrubbed_blocks(model.blocks());
                }
                self.outbox.abort(key);
            }
            if *part == id {
                self.end_delegates(session, &id);
            }
            let calls = self.session(session).and_then(|s| s.run(part)).into_iter().flat_map(Run::open_calls);
            let open: Vec<_> = calls.map(|call| (call.id.clone(), call.state.is_ahead())).collect();
            self.append(session, Some(part), &Entry::Interrupted { reason: reason.into(), blocks });
            for (call, ahead) in open {
                if ahead {
                    self.tell_call(session, part, &call, "started", true);
                }
                self.tell_call(session, part, &call, "failed", true);
            }
        }
        self.advance(session);
    }

    /// Those that worked for a run and were interrupted end.
    fn end_delegates(&mut self, session: &str, top: &str) {
        while let Some((run, entry @ Entry::Ended { .. })) =
            self.session(session).and_then(session::Session::next)
        {
            if run == top {
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
        let call = self.session(session).and_then(|s| s.run(run)).and_then(|run| run.call(tool_call));
        call.is_some_and(|call| call.state == CallState::Ordered)
    }

    /// The row that says whose journals these are.
    pub(super) fn guard(&self) -> Expect {
        outbox::expect(Table::Meta, vec!["epoch".into()], Some(self.epoch.to_string()))
    }

    fn drop_drafts(&mut self, session: &str, run: &str) {
        self.outbox
            .write(Write::DeletePrefix { table: Table::Drafts, prefix: vec![session.into(), run.into()] });
    }

    /// Writes down the text that streams and is in no draft yet.
    pub(super) fn write_drafts(&mut self) {
        self.last_draft = self.now;
        for write in self.drafts(false) {
            self.outbox.write(write);
        }
        self.outbox.hurry();
    }

    /// Writes down all that streams, at once: the page may be gone before a commit that waits for its turn.
    pub(super) fn draft_at_once(&mut self) {
        self.last_draft = self.now;
        let writes = self.drafts(true);
        if !writes.is_empty() {
            self.outbox.act(Action::Draft { writes });
        }
    }

    /// The drafts of what streams: under the epoch, so that a former holder's are told apart.
    fn drafts(&mut self, whole: bool) -> Vec<Write> {
        let epoch = self.epoch;
        let mut drafts = Vec::new();
        for model in self.models.values_mut().filter(|model| whole || model.has_news()) {
            let mut pieces = Vec::new();
            for (index, part) in model.parts.iter_mut().enumerate() {
                let start = if whole { 0 } else { part.drafted };
                let news = part.text.get(start..part.told).filter(|text| !text.is_empty());
                let Some(block) = news.and_then(|text| block(part.kind, text)) else { continue };
                let blocks = crate::journal::blocks_to_json(&[block]);
                let block = blocks.get(0).cloned().unwrap_or_default();
                pieces.push(Value::Array(vec![index.into(), start.into(), block]));
                if !whole {
                    // What is written at once may be lost with the page: the next draft says it again.
                    part.drafted = part.told;
                }
            }
            if pieces.is_empty() {
                continue;
            }
            model.drafts += 1;
            let key = vec![
                model.session.as_str().into(),
                model.run.as_str().into(),
                epoch.into(),
                model.drafts.into(),
            ];
            drafts.push((key, json::json(&Value::from(pieces))));
        }
        let put = |(key, value)| Write::Put { table: Table::Drafts, key, value };
        drafts.into_iter().map(put).collect()
    }

    /// Writes the heads of the sessions that have changed.
    pub(super) fn write_heads(&mut self) {
        for slot in self.sessions.values_mut() {
            if slot.head != slot.session.seq() {
                slot.head = slot.session.seq();
                let value = json::json(&slot.session.head(self.now));
                self.outbox.write(Write::Put {
                    table: Table::Heads,
                    key: vec![slot.session.id.as_str().into()],
                    value,
                });
            }
        }
    }
}

/// There is nobody to ask.
pub(super) fn not_configured() -> ErrorInfo {
    ErrorInfo::new(Code::NotConfigured, "LLM provider not configured")
        .hint("give startAgent a provider: {kind: \"anthropic\", apiKey}, or offline() from lodger/offline")
}
