//! The record of a session as its journal gives it, and what is owed to it: events, receipts, runs, handoffs.
//!
//! Decides what of an entry is told in the record, and in which order. Promises: the record is a fold of entries that
//! clearing a conversation leaves whole, so it stays the same when the conversation is erased. What is owed becomes
//! entries of its own before anything else is decided. Nothing in it quotes the conversation. Leaves to others: what an
//! operator may do and which status follows which (`lifecycle`), when entries are written (`harness/`).

use super::lifecycle::{self, Asked, Copy, DETAIL, Finish, Launch, Outcome, Reason, Recovery, interruption};
use super::operator::Operator;
use super::record::{
    self, Boundary, Event, Receipt, Record, Short, TaskRun, ToolDeed, UNKNOWN, task_part_id,
};
use super::transitions::{Cause, Status, next};
use super::{Session, dates};
use crate::error::{Code, ErrorInfo};
use crate::find::beginning;
use crate::journal::{Answer, Ask, Entry, Header, RecordKind, Word, redact};
use crate::list::Listed;
use crate::maps::Named;
use crate::object::Object;
use crate::ports::Millis;
use crate::rooms::{Room, enter};
use crate::run::{Outcome as Ending, Run};
use crate::tools::Definition;
use crate::tools::policy::bound_to;
use serde_json::Value;
use std::collections::VecDeque;

/// What a session keeps of itself besides its conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Keeping {
    /// How it stands, once it was launched.
    pub record: Option<Record>,
    /// What is to be written down next: of which run, as what, and the record.
    owed: VecDeque<(Option<String>, RecordKind, Value)>,
    /// The hash of the last receipt.
    receipt: Option<String>,
    /// The receipts of the present run.
    receipts: Vec<Value>,
    /// The tool calls with an effect that have begun and have no receipt, and the capability that each needs. The tool may
    /// be gone, or be another, when it is known what came of its call.
    begun: Named<Option<String>>,
    /// What has happened last, if it is still to be worked out what is owed to it.
    later: Option<Box<Later>>,
    /// What has ended the present run before its time: the words of a limit, or that it was stopped.
    interrupted: Option<String>,
    /// Who writes the journal.
    epoch: u64,
    /// The name of the provider that it was launched with, where that is not the one of all.
    provider: Option<String>,
    /// When it was removed.
    removed: Option<Millis>,
    /// When it was archived, if no run has begun since.
    archived: Option<Millis>,
    /// Whether it is there for one task only, and no list shows it.
    once: bool,
    /// Whether nothing of it stays once that task is over.
    passes: bool,
    /// The run of whose answer a model has made its name, where nobody has given it another since.
    titled: Option<String>,
}

/// An entry of a run that something may be owed to. In a journal that is read the records come right behind it, and need
/// not be worked out again.
#[derive(Clone, Debug)]
struct Later {
    run: Option<String>,
    at: Millis,
    what: Happened,
    /// The hash of the last receipt before it, and how many the run had.
    receipts: (Option<String>, usize),
    /// How many of its records have come.
    come: usize,
}

/// What such an entry says that goes on record.
#[derive(Clone, Debug)]
enum Happened {
    /// The run has begun.
    Began,
    /// A message has entered a run that was at work.
    Entered,
    /// This has come of a tool call.
    Call(String, &'static str),
    /// The run has ended, with this code.
    Ended(Option<Ending>, Option<String>),
}

impl Keeping {
    /// What a checkpoint keeps of it. `None`: something is under way.
    pub fn at_rest(&self) -> Option<Value> {
        let rests = self.owed.is_empty()
            && self.receipts.is_empty()
            && self.begun.is_empty()
            && self.later.is_none()
            && self.interrupted.is_none();
        let mut kept = Object::new();
        kept.maybe("record", self.record.as_ref().map(Record::json)).number("epoch", self.epoch);
        kept.maybe_text("receipt", self.receipt.as_deref()).maybe_text("provider", self.provider.as_deref());
        kept.maybe("removed", self.removed.map(Value::from)).flag("once", self.once);
        kept.maybe("passes", self.passes.then_some(Value::Bool(true)));
        kept.maybe_text("titled", self.titled.as_deref());
        kept.maybe("archived", self.archived.map(Value::from));
        rests.then(|| kept.done())
    }

    /// The same read back.
    pub fn from_rest(kept: &Value) -> Option<Keeping> {
        let text = |name: &str| kept.get(name).and_then(Value::as_str).map(String::from);
        Some(Keeping {
            record: match kept.get("record") {
                Some(record) => Some(Record::read(record).ok()?),
                None => None,
            },
            receipt: text("receipt"),
            epoch: kept.get("epoch")?.as_u64()?,
            provider: text("provider"),
            removed: kept.get("removed").and_then(Value::as_u64),
            archived: kept.get("archived").and_then(Value::as_u64),
            once: kept.get("once")?.as_bool()?,
            passes: kept.get("passes").is_some(),
            titled: text("titled"),
            ..Keeping::default()
        })
    }
}

impl Session {
    /// How the session stands; `None`: it was never launched.
    pub fn record(&self) -> Option<&Record> {
        self.keeping.record.as_ref()
    }

    /// The name of the provider that it was launched with; `None`: the provider that is asked first.
    pub fn provider(&self) -> Option<&str> {
        self.keeping.provider.as_deref()
    }

    /// It keeps to the provider of this name from here on. Gives the one of before.
    pub(super) fn keep_to(&mut self, provider: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.keeping.provider, provider)
    }

    /// In which epoch it was last in the hands of an agent.
    pub fn epoch(&self) -> u64 {
        self.keeping.epoch
    }

    /// Whether it is put aside.
    pub fn is_benched(&self) -> bool {
        self.record().is_some_and(Record::is_suspended)
    }

    /// Whether it is there for one task only.
    pub fn is_once(&self) -> bool {
        self.keeping.once
    }

    /// Whether nothing of it stays once its task is over.
    pub fn passes(&self) -> bool {
        self.keeping.passes
    }

    /// Whether its name was made of what goes with these runs (`None`: with all of its conversation).
    pub fn is_titled_by(&self, runs: Option<&[String]>) -> bool {
        // Runs before the first at hand may be in its window.
        let first = self.runs.first().filter(|_| self.earlier.is_none());
        let of = [self.keeping.titled.as_ref(), first.map(|first| &first.id)];
        let goes = |runs: &[String]| of.into_iter().flatten().any(|run| runs.contains(run));
        self.keeping.titled.is_some() && runs.is_none_or(goes)
    }

    /// When it was removed; `None`: it is there.
    pub fn removed_at(&self) -> Option<Millis> {
        self.keeping.removed
    }

    /// When it was archived; `None`: it was not, or a run has begun since.
    pub fn archived_at(&self) -> Option<Millis> {
        self.keeping.archived
    }

    /// What is to be written down before anything else is decided.
    pub(super) fn owed(&self) -> Option<(Option<String>, Entry)> {
        let (run, what, record) = self.keeping.owed.front()?;
        Some((run.clone(), Entry::Recorded { what: (*what).into(), record: record.clone() }))
    }

    /// Whether an entry has begun this run: a message does, unless it has entered one.
    pub(crate) fn begins_run(&self, run: Option<&str>, entry: &Entry) -> bool {
        match entry {
            Entry::Prompt { .. } => true,
            Entry::Taken { message } => {
                run.and_then(|run| self.run(run)).is_some_and(|run| run.prompt.message == *message)
            }
            _ => false,
        }
    }

    /// Whether a run has not ended, be it one whose content was erased since.
    fn works(&self) -> bool {
        self.current().is_some() || self.past.values().any(|past| past.ended.is_none())
    }

    /// What comes of something that is asked of the session itself. Changes nothing.
    ///
    /// `args`: `{ operator: { subject, issuer? }, … }`, and by the word: `launch` takes `id`, `providerId`, `modelId`,
    /// `projectId`, `displayName`, `policy`, `provider` (one of its own, by name), `waiting` (for that one's key), `once` (for
    /// one task only), `passes` (nothing of that stays); `prompt` takes `text`, `files`; `stop` and `restart` `reason`; `rename` `name` and `of`, or nothing; `configure` `providerId` and
    /// `modelId`; `recover` `action`, `reason`, `detail`; `go_on` `run`; `import`, `fork` and `salvage` `id`, `from`, `provider`,
    /// `providerId`, `modelId`, `integrity`, `imported`; `ready`, `bench`, `play`, `remove`, `undoRemove`, `archive` and `status` nothing else.
    pub fn ask(&self, what: Ask, args: &Value, at: Millis) -> Outcome {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let operator = args.get("operator").and_then(operator_from);
        let record = self.record();
        // A copy of a session is folded under the id that it was launched with, until it gets its own.
        let id = text("id").unwrap_or(&self.id);
        let asked = Asked { id, record, operator: operator.as_ref(), at, alive: true, known: &[] };
        let pid = Some(self.keeping.epoch).filter(|epoch| *epoch > 0);
        match (what, record) {
            // A conversation of before there were records gets one.
            (Ask::Launch, _) | (Ask::Import | Ask::Fork | Ask::Salvage, None) => {
                let launch = Launch {
                    provider_id: text("providerId").unwrap_or("none"),
                    model_id: text("modelId"),
                    project_id: text("projectId"),
                    display_name: text("displayName"),
                    policy_envelope_id: text("policy"),
                    waiting: args.get("waiting") == Some(&Value::Bool(true)),
                    ..Launch::default()
                };
                lifecycle::launch(&asked, &launch)
            }
            (Ask::Prompt, _) => {
                let files = args.get("files") == Some(&Value::Bool(true));
                lifecycle::prompt(&asked, text("text").unwrap_or_default(), files, pid)
            }
            (Ask::Restart, _) => lifecycle::restart(&asked, text("reason"), None, None),
            (Ask::Recover, _) => {
                let (action, reason, detail) = (text("action"), text("reason"), text("detail"));
                lifecycle::recover(&asked, &Recovery { action, reason, detail, ..Recovery::default() })
            }
            (Ask::Ready, Some(record)) => lifecycle::ready(record, at, &[]),
            (Ask::GoOn, Some(record)) => {
                lifecycle::go_on(record, text("run").unwrap_or_default(), pid, at, &[])
            }
            (Ask::Status, _) | (Ask::Ready | Ask::GoOn, None) => lifecycle::status(&asked),
            _ => self.ask_rarely(what, args, &asked),
        }
    }

    /// The same of what a first conversation is not asked. A door of the room `past`.
    #[inline(never)]
    fn ask_rarely(&self, what: Ask, args: &Value, asked: &Asked<'_>) -> Outcome {
        enter(Room::Past);
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        match (what, asked.record) {
            (Ask::Stop, _) => lifecycle::stop(asked, text("reason"), self.works()),
            (Ask::Rename, _) => lifecycle::rename(asked, text("name")),
            (Ask::Configure, _) => {
                lifecycle::configure(asked, text("providerId").unwrap_or("none"), text("modelId"))
            }
            (Ask::Remove, _) => lifecycle::mark(asked, "removed"),
            (Ask::UndoRemove, _) => lifecycle::mark(asked, "restored"),
            (Ask::Archive, _) => lifecycle::mark(asked, "archived"),
            (Ask::Bench | Ask::Play, _) => lifecycle::bench(asked, what == Ask::Bench),
            (Ask::Import | Ask::Fork | Ask::Salvage, Some(record)) => {
                let copy = Copy {
                    id: asked.id,
                    kind: match what {
                        Ask::Fork => "forked",
                        Ask::Salvage => "salvaged",
                        _ => "imported",
                    },
                    provider_id: text("providerId"),
                    model_id: text("modelId"),
                    display_name: text("displayName"),
                    from: args.get("from").cloned().unwrap_or_default(),
                };
                lifecycle::copy(asked, record, &copy)
            }
            _ => lifecycle::status(asked),
        }
    }

    /// Works out what is owed to what has happened last.
    pub(super) fn settle(&mut self) {
        let Some(later) = self.keeping.later.take() else { return };
        let (receipt, count) = later.receipts;
        self.keeping.receipt = receipt;
        self.keeping.receipts.truncate(count);
        if let Some(run) = later.run.as_deref().filter(|run| !self.past.contains_key(run)) {
            self.keep_happened(run, later.what, later.at);
        }
        if later.come > 0 {
            self.owe_rest(later.come);
        }
    }

    /// An earlier version has written what is owed as whole records, and was cut off behind the first of them: the others
    /// are owed whole.
    #[inline(never)]
    fn owe_rest(&mut self, come: usize) {
        enter(Room::Past);
        let mut whole = VecDeque::new();
        let granted = self.tools.definitions().next().is_some();
        for (run, what, mut record) in std::mem::take(&mut self.keeping.owed) {
            // What was begun is ended in the form that it has. Its last receipt is another one.
            let short = Short::of(Some(what), &record, run.as_deref());
            if let Some(older) = short.and_then(|short| short.in_older_form(granted)) {
                self.keeping.receipt = hash_of(&older);
                record = older;
            }
            let records = Short::of(Some(what), &record, run.as_deref()).and_then(|short| short.whole().ok());
            match records {
                Some(records) => {
                    whole.extend(records.into_iter().map(|(what, record)| (run.clone(), what, record)));
                }
                None => whole.push_back((run, what, record)),
            }
        }
        whole.drain(..come.min(whole.len()));
        self.keeping.owed = whole;
    }

    /// Keeps what an entry, folded just now, tells of the session itself.
    pub(super) fn keep(&mut self, header: &Header, entry: Option<&Entry>) -> Option<()> {
        let run = header.run.as_deref();
        // A run begins: the header says so, which stays where the words are erased.
        if matches!(header.kind.as_str(), "prompt" | "taken") {
            self.keeping.archived = None;
        }
        match entry {
            Some(Entry::Started { epoch, .. }) => self.keeping.epoch = *epoch,
            Some(Entry::Commanded { what, args }) => {
                // A word of a later version changes nothing that this one knows.
                let what = what.known().unwrap_or(Ask::Status);
                let outcome = self.ask(what, args, header.at);
                if outcome.refused.is_none() {
                    match what {
                        Ask::Launch => {
                            let own = args.get("provider").and_then(Value::as_str);
                            self.keeping.provider = own.map(Into::into);
                            self.keeping.once = args.get("once") == Some(&Value::Bool(true));
                            self.keeping.passes = args.get("passes") == Some(&Value::Bool(true));
                        }
                        Ask::Rename => {
                            self.keeping.titled = args.get("of").and_then(Value::as_str).map(Into::into);
                        }
                        Ask::Remove => self.keeping.removed = Some(header.at),
                        Ask::UndoRemove => self.keeping.removed = None,
                        Ask::Archive => self.keeping.archived = Some(header.at),
                        Ask::Import | Ask::Fork | Ask::Salvage => {
                            // Names of providers are those of a workspace.
                            let own = args.get("provider").and_then(Value::as_str).map(String::from);
                            let kept = (what != Ask::Import).then(|| self.keeping.provider.take()).flatten();
                            self.keeping.provider = own.or(kept);
                            // The copy is a session of its own, also of a removed one or a task of its own.
                            (self.keeping.once, self.keeping.passes, self.keeping.removed) =
                                (false, false, None);
                            self.keeping.archived = None;
                        }
                        _ => {}
                    }
                }
                self.take(None, outcome);
            }
            Some(Entry::Recorded { what, record }) => {
                self.recorded(run, what, record)?;
                self.keeping.later = self.keeping.later.take().and_then(|mut later| {
                    later.come += 1;
                    // The event comes last at the end of a run, and anything else gives one thing.
                    let last = *what == RecordKind::Event || *what == RecordKind::End;
                    let more = matches!(later.what, Happened::Ended(..)) && !last;
                    more.then_some(later)
                });
            }
            _ if self.record().is_none() => {}
            Some(Entry::Cleared { .. }) => self.owe_event("cleared", None, header.at, Value::Null),
            Some(Entry::Switched { .. }) => self.owe_event("switched", None, header.at, Value::Null),
            Some(Entry::Withdrawn { .. }) => self.owe_event("message_removed", None, header.at, Value::Null),
            Some(entry) => match self.happened(run, entry) {
                Some(what) => {
                    if let Happened::Began = what {
                        self.keeping.receipts.clear();
                        self.keeping.interrupted = None;
                    }
                    let receipts = (self.keeping.receipt.clone(), self.keeping.receipts.len());
                    let (run, at) = (run.map(Into::into), header.at);
                    self.keeping.later = Some(Box::new(Later { run, at, what, receipts, come: 0 }));
                    if !self.keeping.owed.is_empty() {
                        self.settle();
                    }
                }
                None => self.keep_run(header, entry),
            },
            None => {}
        }
        // Its text may have been erased since.
        let is_whole = self.runs.last().is_some_and(|top| Some(top.id.as_str()) == run);
        if header.kind == "lost" && (is_whole || run.is_some_and(|run| self.past.contains_key(run))) {
            self.lost(header.at);
        }
        Some(())
    }

    fn take(&mut self, run: Option<&str>, outcome: Outcome) {
        if let Some(record) = outcome.record {
            self.keeping.record = Some(record);
        }
        for event in outcome.events {
            self.owe(run, RecordKind::Event, event.json());
        }
    }

    fn owe(&mut self, run: Option<&str>, what: RecordKind, record: Value) {
        self.keeping.owed.push_back((run.map(Into::into), what, record));
    }

    fn owe_event(&mut self, kind: &str, run: Option<&str>, at: Millis, more: Value) {
        let event = self.record().and_then(|record| Event::of(record, kind, at, more).ok());
        if let Some(event) = event {
            self.owe(run, RecordKind::Event, event.json());
        }
    }

    fn owe_receipt(&mut self, run: &str, receipt: Option<Result<Receipt, ErrorInfo>>) {
        let Some(Ok(receipt)) = receipt else { return };
        self.keeping.receipt = receipt.text("self_hash").map(Into::into);
        self.owe(Some(run), RecordKind::Receipt, receipt.json());
    }

    /// What of a run's entry is told in the record.
    fn keep_run(&mut self, header: &Header, entry: &Entry) {
        let Some(run) = header.run.as_deref() else { return };
        let at = header.at;
        if let Entry::Resumed {} = entry {
            let outcome = self.ask(Ask::GoOn, &Object::new().text("run", run).done(), at);
            return self.take(Some(run), outcome);
        }
        // What was to be told of a run whose content is erased is in the entries behind it.
        if self.past.contains_key(run) {
            return;
        }
        match entry {
            Entry::PermissionAnswered { tool_call, answer, request, .. } => {
                let tool = self.run(run).and_then(|run| run.call(tool_call)).map(|call| call.name.clone());
                let metadata = Object::new()
                    .text("answer", answer.as_str())
                    .text("request_id", request)
                    .value("tool", tool.into())
                    .done();
                let more = Object::new().text("run_id", run).value("metadata", metadata).done();
                self.owe_event("permission_answered", Some(run), at, more);
                if *answer == Answer::Deny {
                    self.keep_call(run, tool_call, "denied", at);
                }
            }
            Entry::Ordered { tool_call, .. } | Entry::Handed { tool_call, .. } => {
                let call = self.run(run).and_then(|run| run.call(tool_call));
                if let Some(tool) = call.and_then(|call| self.effect_of(&call.name)) {
                    let capability = tool.capability.clone();
                    self.keeping.begun.insert(tool_call, capability);
                }
            }
            // Nobody will hear any more what came of the calls that it has cut off.
            Entry::Interrupted { .. } => {
                let calls = self.run(run).map(Run::calls).unwrap_or_default().iter();
                let begun = calls.filter(|call| self.keeping.begun.contains_key(&call.id));
                for call in begun.map(|call| call.id.clone()).list() {
                    self.keep_call(run, &call, UNKNOWN, at);
                }
            }
            Entry::OverBudget { what, limit, .. } => {
                self.keeping.interrupted = Some(interruption(what.as_str(), *limit));
            }
            _ => {}
        }
    }

    /// What an entry says that is worked out later. `None`: nothing.
    fn happened(&self, run: Option<&str>, entry: &Entry) -> Option<Happened> {
        let of_call = |tool_call: &String, status| Happened::Call(tool_call.clone(), status);
        Some(match entry {
            Entry::Prompt { .. } | Entry::Taken { .. } if self.begins_run(run, entry) => Happened::Began,
            Entry::Prompt { .. } | Entry::Taken { .. } => Happened::Entered,
            Entry::Returned { tool_call, error, .. } => {
                of_call(tool_call, if error.is_some() { "failed" } else { "passed" })
            }
            Entry::Refused { tool_call, error } => {
                let skipped = error.code == Code::ToolInterrupted;
                of_call(tool_call, if skipped { "skipped" } else { "denied" })
            }
            Entry::Unknown { tool_call } => of_call(tool_call, UNKNOWN),
            Entry::Ended { outcome, code } => Happened::Ended(outcome.known(), code.clone()),
            _ => return None,
        })
    }

    /// The same, told in the record.
    fn keep_happened(&mut self, run: &str, what: Happened, at: Millis) {
        match what {
            Happened::Began => {
                let text = self.run(run).map(|run| run.prompt.text.clone()).unwrap_or_default();
                // A run that goes on with another has no words of its own.
                let mut args = Object::new();
                args.text("text", &text).flag("files", true).value("operator", self.owner());
                let outcome = self.ask(Ask::Prompt, &args.done(), at);
                // The record changes with the event: that stays when the text is erased.
                for event in outcome.events {
                    match self.record().and_then(|record| record::of_prompt(record, &event)) {
                        Some(short) => self.owe(Some(run), RecordKind::Prompt, short),
                        None => self.owe(Some(run), RecordKind::Event, event.json()),
                    }
                }
            }
            Happened::Call(tool_call, status) => self.keep_call(run, &tool_call, status, at),
            Happened::Ended(Some(outcome), code) if self.runs.last().is_some_and(|top| top.id == run) => {
                self.keep_end(run, outcome, code.as_deref(), at);
            }
            Happened::Entered | Happened::Ended(..) => {}
        }
    }

    /// Who may do what the owner may.
    fn owner(&self) -> Value {
        let text = |name: &str| self.record().and_then(|record| record.text(name));
        Object::new()
            .value("subject", text("operator_subject").into())
            .value("issuer", text("operator_issuer").into())
            .done()
    }

    /// The definition of a tool that has an effect.
    fn effect_of(&self, name: &str) -> Option<&Definition> {
        self.tools.get(name).map(|tool| &tool.definition).filter(|tool| !tool.read_only)
    }

    /// The receipt of a tool call that has an effect.
    fn keep_call(&mut self, run: &str, tool_call: &str, status: &str, at: Millis) {
        let begun = self.keeping.begun.remove(tool_call);
        let Some(call) = self.run(run).and_then(|run| run.call(tool_call)) else { return };
        // A call that is not run again had begun before its page was lost.
        let status = if begun.is_some() && status == "denied" { UNKNOWN } else { status };
        let capability = begun.or_else(|| self.effect_of(&call.name).map(|tool| tool.capability.clone()));
        let Some(capability) = capability else { return };
        let hash = bound_to(&super::arguments(&call.arguments));
        let deed = ToolDeed {
            call_id: tool_call,
            tool: &call.name,
            capability: capability.as_deref(),
            status,
            arguments: &hash,
        };
        let receipt = self.boundary(run, at, |boundary| Receipt::of_tool(boundary, &deed));
        self.owe_receipt(run, receipt);
    }

    /// The record as the present run has it: with the provider that answers it. The one that the session was launched with
    /// may be another by now, or unknown here.
    fn as_it_runs(&self) -> Option<Record> {
        let on = self.runs.last().and_then(|run| run.on.as_deref());
        let on = on.or_else(|| self.config.get("provider")?.as_str());
        let mut changes = Object::new();
        self.record()?.with(changes.maybe_text("provider_id", on).done(), None).ok()
    }

    fn boundary<T>(&self, run: &str, at: Millis, with: impl FnOnce(&Boundary<'_>) -> T) -> Option<T> {
        let record = &self.as_it_runs()?;
        let operator = operator_from(&self.owner());
        let task = record.text("active_task_id").unwrap_or_default();
        Some(with(&Boundary {
            session: record,
            operator: operator.as_ref(),
            task_id: task,
            run_id: run,
            handoff_id: Some(&task_part_id("handoff", task)),
            receipt_ids: &[],
            at,
            previous: self.keeping.receipt.as_deref(),
            known: &[],
        }))
    }

    /// The run of the present task as it began.
    fn task_run(&self, id: &str, started_at: Millis) -> Option<TaskRun> {
        let record = self.as_it_runs()?;
        let task = record.text("active_task_id").unwrap_or_default();
        TaskRun::begun(&record, id, task, self.max_turns(), started_at).ok()
    }

    /// A run that has not ended, by its id or its task's, as one that has is kept: `craik.task_run` with its `outputs`.
    pub fn open_task(&self, id: &str) -> Option<Value> {
        let run = self.current()?;
        let begun = self.task_run(&run.id, run.started_at)?;
        if run.id != id && begun.text("task_id") != Some(id) {
            return None;
        }
        let usage = &run.sums.usage;
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        let task = Object::new()
            .all(begun.json())
            .number("iteration", run.turns.len() as u64)
            .number("provider_tokens_used", tokens)
            .value("outputs", Vec::<Value>::new().into())
            .done();
        Some(task)
    }

    /// What a run that is over leaves behind.
    fn keep_end(&mut self, id: &str, outcome: Ending, code: Option<&str>, at: Millis) {
        let Some(run) = self.run(id) else { return };
        let answers = run.turns.iter().filter(|turn| turn.answered()).count() as u64;
        let turns = run.turns.len() as u64;
        let usage = run.sums.usage;
        let (turn_limit, started) = (code == Some(Code::MaxTurnsExceeded.as_str()), run.started_at);
        let stopped = run.ended.as_ref().is_some_and(|ended| ended.outcome == Ending::Interrupted);
        // The conversation may be cleared: only what a provider says of itself stays.
        let error = run.ended.as_ref().and_then(|ended| ended.error.as_ref());
        let error = error.filter(|error| Reason::of(error.code).is_some());
        let cleaned = |text: &str| redact::cleaned(text, &[]);
        // What is cut in the middle of a mark is marked again.
        let detail = error.map(|error| cleaned(beginning(&cleaned(&error.message), DETAIL)));
        let limit = self.max_turns();
        if turn_limit {
            self.keeping.interrupted = Some(interruption("turns", limit));
        } else if stopped {
            self.keeping.interrupted = Some("run interrupted".into());
        }
        let read = |receipt: &Value| Receipt::read(receipt).ok();
        let receipts: Vec<Receipt> = self.keeping.receipts.iter().filter_map(read).list();
        let interrupted = self.keeping.interrupted.take();
        let code = code.filter(|_| outcome == Ending::Failed);
        let (Some(record), Some(running)) = (self.record(), self.as_it_runs()) else { return };
        let end = record::Ended {
            run: id,
            at,
            started,
            status: if interrupted.is_some() { "interrupted" } else { outcome.as_str() },
            interrupted: interrupted.as_deref(),
            code,
            detail: detail.as_deref().filter(|_| code.is_some()),
            turns,
            limit,
            answers,
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            granted: None,
            receipts: &receipts,
            previous: self.keeping.receipt.as_deref(),
            on: running.text("provider_id"),
        };
        let Some(said) = record::of_end(record, &end) else { return };
        let short = Short::of(Some(RecordKind::End), &said, Some(id));
        let finish = short.and_then(|short| short.finish(|finish| lifecycle::finish(record, finish, &[])));
        // What may not be stored is not told either.
        if finish.is_some_and(|finish| finish.refused.is_none()) {
            self.keeping.receipt = hash_of(&said);
            self.owe(Some(id), RecordKind::End, said);
        }
    }

    /// Something that was owed is written down.
    fn recorded(&mut self, run: Option<&str>, what: &Word<RecordKind>, record: &Value) -> Option<()> {
        // An earlier version has put something between an entry and its whole records.
        let is_short = |what| matches!(what, Some(RecordKind::Prompt | RecordKind::End));
        let owed = |keeping: &Keeping| keeping.owed.front().map(|(_, what, _)| *what);
        if !is_short(what.known()) && is_short(owed(&self.keeping)) {
            self.owe_rest(0);
        }
        // What is short may be in an older form.
        if let Some((_, kind, owed)) = self.keeping.owed.front()
            && Some(*kind) == what.known()
            && (owed == record || is_short(what.known()))
        {
            self.keeping.owed.pop_front();
        }
        match what.known() {
            Some(RecordKind::Receipt) => {
                self.keeping.receipt = record.get("self_hash").and_then(Value::as_str).map(Into::into);
                self.keeping.receipts.push(record.clone());
                let metadata = record.get("result").and_then(|result| result.get("metadata"));
                let call = metadata.and_then(|metadata| metadata.get("tool_call_id")?.as_str());
                self.keeping.begun.remove(call.unwrap_or_default());
            }
            Some(RecordKind::Event) => self.told(run, record)?,
            Some(RecordKind::Prompt) => {
                let short = Short::of(what.known(), record, run)?;
                self.prompted(run, short.task().as_deref(), short.told_at()?)?;
            }
            Some(RecordKind::End) => {
                let short = Short::of(what.known(), record, run)?;
                self.keeping.receipt = Some(short.last_receipt()?.into());
                short.finish(|finish| self.finished(run, finish))?;
            }
            Some(RecordKind::Handoff | RecordKind::Run) | None => {}
        }
        Some(())
    }

    /// An event that changes the record.
    fn told(&mut self, run: Option<&str>, event: &Value) -> Option<()> {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        if self.record().is_none() {
            return Some(());
        }
        let at = text("created_at").and_then(dates::parse)?;
        match text("event_type")? {
            "prompt_received" => self.prompted(run, text("task_id"), at)?,
            "run_completed" | "run_interrupted" => {
                let metadata = event.get("metadata");
                let of = |name: &str| metadata?.get(name)?.as_str();
                let receipts = event.get("receipt_ids").and_then(crate::json::texts).unwrap_or_default();
                let finish = Finish {
                    task_id: text("task_id"),
                    run_id: text("run_id")?,
                    handoff_id: text("handoff_id"),
                    receipt_ids: &receipts,
                    run_status: of("run_status")?,
                    interrupted_error: of("interrupted_error"),
                    code: of("code"),
                    detail: of("detail"),
                    at,
                };
                self.finished(run, &finish);
            }
            _ => {}
        }
        Some(())
    }

    /// A prompt was told of.
    fn prompted(&mut self, run: Option<&str>, task: Option<&str>, at: Millis) -> Option<()> {
        let Some(record) = self.record() else { return Some(()) };
        let status = next(Some(record.status()), Cause::Prompt).unwrap_or(Status::Running);
        let now = dates::utc(at);
        let mut changes = Object::new();
        changes.text("status", status.as_str()).text("last_activity_at", &now).text("updated_at", &now);
        changes.value("active_task_id", task.into()).value("active_run_id", run.into());
        changes.value("pid", Some(self.keeping.epoch).filter(|epoch| *epoch > 0).into());
        let record = record.with(changes.done(), Some("Persistent agent prompt received.")).ok()?;
        self.keeping.record = Some(record);
        Some(())
    }

    /// The end of a run was told of.
    fn finished(&mut self, run: Option<&str>, finish: &Finish<'_>) {
        let Some(record) = self.record() else { return };
        let outcome = lifecycle::finished(record, finish);
        self.take(run, outcome);
        self.keeping.receipts.clear();
        self.keeping.interrupted = None;
    }

    /// Its holder was lost in the middle of a run.
    fn lost(&mut self, at: Millis) {
        let operator = operator_from(&self.owner());
        let record = self.record();
        let asked = Asked { id: &self.id, record, operator: operator.as_ref(), at, alive: false, known: &[] };
        let outcome = lifecycle::status(&asked);
        self.take(None, outcome);
    }

    /// How the session stands, as everybody is told: `SessionState` of the contract.
    pub fn state(&self) -> Option<Value> {
        let (usage, title) = (super::usage(&self.sums), super::view::title(self));
        let config = self.overrides();
        let run = self.current();
        let beside = Beside {
            usage: usage.as_ref(),
            archived: self.archived_at(),
            title: title.as_deref(),
            config: config.as_ref(),
            held: run.is_some_and(|run| run.held),
            waits: run.is_some_and(Run::waiting),
        };
        Some(state_of(self.record()?.json(), &beside))
    }
}

/// The record of a session whose holder was lost in the middle of a run, by the record that it had.
pub fn lost_by(record: &Value, at: Millis) -> Option<Value> {
    let record = Record::read(record).ok()?;
    let mut session = Session::new(record.id());
    session.keeping.record = Some(record);
    session.lost(at);
    session.record().map(Record::json)
}

/// A record that nobody vouches for, as it is stored: what of it is no record is filled in.
pub fn as_stored(id: &str, stored: Option<&Value>, at: Millis) -> Value {
    let mut record = Object::new();
    record.text("id", id).text("status", "failed").text("updated_at", &dates::utc(at));
    record.text("operator_subject", "unknown").text("provider_id", "unknown");
    let note = Value::from("The record of this session cannot be read.");
    record.value("supervision_notes", Value::Array(vec![note]));
    let mut filled = Record::read(&record.done()).map(|record| record.json()).unwrap_or_default();
    let kind = std::mem::discriminant::<Value>;
    for (name, value) in stored.and_then(Value::as_object).into_iter().flatten() {
        if let Some(member) = filled.get_mut(name)
            && (member.is_null() || kind(member) == kind(value))
            && name != "id"
        {
            *member = value.clone();
        }
    }
    filled
}

/// What is told of a session besides its record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// What it has used up.
    usage: Option<&'a Value>,
    /// When it was archived.
    archived: Option<Millis>,
    /// Its first words.
    title: Option<&'a str>,
    /// What it has otherwise than the agent's configuration.
    config: Option<&'a Value>,
    /// Whether a run of it is held.
    held: bool,
    /// Whether a run of it waits for a person.
    waits: bool,
}

impl<'a> Beside<'a> {
    /// What its head says.
    pub fn of_head(head: &'a Value) -> Beside<'a> {
        let run = |flag: &str| head.get("run").and_then(|run| run.get(flag)) == Some(&Value::Bool(true));
        Beside {
            usage: head.get("usage"),
            archived: head.get("archived").and_then(Value::as_u64),
            title: head.get("title").and_then(Value::as_str),
            config: head.get("config"),
            held: run("held"),
            waits: run("waits"),
        }
    }

    /// The same of a session that was lost in the middle of a run.
    pub fn lost(self) -> Beside<'a> {
        Beside { held: true, ..self }
    }

    /// The members of `SessionState`.
    pub fn json(&self) -> Value {
        let mut state = Object::new();
        let yes = |is: bool| is.then_some(Value::Bool(true));
        state.text("runtime_boundary", "persistent_agent").maybe("usage", self.usage.cloned());
        state.maybe("archived", self.archived.map(|at| dates::utc(at).into()));
        state.maybe_text("title", self.title).maybe("config", self.config.cloned());
        state.maybe("held", yes(self.held)).maybe("waiting", yes(self.waits));
        state.done()
    }
}

/// `SessionState` of the contract: the record, and what is told besides.
pub fn state_of(record: Value, beside: &Beside<'_>) -> Value {
    let mut state = Object::new();
    // A number would say that it is a process.
    let pid = record.get("pid").and_then(Value::as_u64);
    state.all(record);
    state.value("pid", pid.map(|pid| pid.to_string()).into());
    state.all(beside.json()).done()
}

fn operator_from(value: &Value) -> Option<Operator> {
    let subject = value.get("subject")?.as_str()?.to_owned();
    let issuer = value.get("issuer").and_then(Value::as_str).map(Into::into);
    Some(Operator { subject, issuer, expires_at: None })
}

/// The hash of the last receipt that the end of a run stands for.
fn hash_of(end: &Value) -> Option<String> {
    end.get("self").and_then(Value::as_str).map(Into::into)
}
