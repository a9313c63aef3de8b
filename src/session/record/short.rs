//! Records in short: what a prompt and the end of a run put on record, without what follows from it.
//!
//! Decides the members of both, and which records they stand for. Promises: no other row is
//! needed to tell its records, and they are made here alone, the same each time. Leaves to others: when one is owed
//! (`keeping`), and that its members have their kinds (`tables`).

use super::handoff::{Draft, End, IDENTITY, single};
use super::receipt::{Boundary, provider_receipt, sandbox_receipt};
use super::{Event, Handoff, Receipt, Record, RunOutput, TaskRun, tables, task_id, task_part_id, task_title};
use crate::error::ErrorInfo;
use crate::journal::RecordKind;
use crate::json::texts;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Millis;
use crate::session::dates;
use crate::session::lifecycle::{Finish, policy_of, told_of_end};
use crate::session::operator::Operator;
use serde_json::Value;

/// What it has of a session's record: by its name here, and there.
const NAMES: [(&str, &str); 8] = [
    ("session", "id"),
    ("operator", "operator_subject"),
    ("issuer", "operator_issuer"),
    ("project", "project_id"),
    ("provider", "provider_id"),
    ("model", "model_id"),
    ("profile", "auth_profile_id"),
    ("identity", "auth_identity_hash"),
];

/// The form of what the end of a run leaves: the format since when it is so. Those of before name none.
const FORM: u64 = 3;

/// The form of both where the policy goes without saying, because it is the session's own. Where it is another, it is said.
const UNSAID: u64 = 5;

/// How many digits of a prompt's hash are kept.
const HASH: usize = 16;

/// A short record, and the run that it is of.
#[derive(Clone, Copy, Debug)]
pub struct Short<'a> {
    kind: RecordKind,
    said: &'a Value,
    run: &'a str,
}

/// What the end of a run comes to, besides how its session stands.
#[derive(Debug)]
pub(in crate::session) struct Ended<'a> {
    /// The run.
    pub run: &'a str,
    /// When it ended.
    pub at: Millis,
    /// When it began.
    pub started: Millis,
    /// `completed`, `failed` or `interrupted`.
    pub status: &'a str,
    /// What has interrupted it.
    pub interrupted: Option<&'a str>,
    /// Why it failed.
    pub code: Option<&'a str>,
    /// What its provider says of that.
    pub detail: Option<&'a str>,
    /// How many model calls it made, may make, and had an answer to.
    pub turns: u64,
    pub limit: u64,
    pub answers: u64,
    /// The tokens that it took.
    pub tokens: u64,
    /// Whether it had tools, in a record of before format 3: there it stands for a receipt of that.
    pub granted: Option<bool>,
    /// The receipts of its tool calls.
    pub receipts: &'a [Receipt],
    /// The hash of the receipt before.
    pub previous: Option<&'a str>,
    /// The provider that has answered.
    pub on: Option<&'a str>,
}

/// What all short records have: the session, when, and the task, which was begun at `since`. `form`: the form where the
/// policy is said, `None` where that has none. `says`: it is said in any case, as before format 5.
fn begun(
    record: &Record,
    (form, says): (Option<u64>, bool),
    at: Millis,
    since: Millis,
    task: Option<&str>,
) -> Object {
    let mut said = Object::new();
    for (short, name) in NAMES {
        said.maybe_text(short, record.text(name));
    }
    let policy = record.text("policy_envelope_id");
    let unsaid = !says && policy == Some(&policy_of(record.id()));
    said.maybe_text("policy", policy.filter(|_| !unsaid));
    said.maybe("v", if unsaid { Some(UNSAID) } else { form }.map(Value::from));
    said.number("at", at);
    match task.and_then(|task| Some(tail(task.strip_prefix(&stem(record.id(), since))?))) {
        Some(Some(tail)) => said.text("tail", tail),
        _ => said.maybe_text("task", task),
    };
    said
}

/// What the ids of a session's tasks of one time begin with.
fn stem(session: &str, at: Millis) -> String {
    task_id(&task_title(session, at, ""))
}

/// What follows it, if that can be told from an id.
fn tail(rest: &str) -> Option<&str> {
    rest.starts_with('_').then_some(rest)
}

/// The event that a prompt has come, in short. `None`: it is another event.
pub(in crate::session) fn of_prompt(record: &Record, event: &Event) -> Option<Value> {
    prompt_in(record, event, false)
}

/// The same; `says`: also of its own policy.
fn prompt_in(record: &Record, event: &Event, says: bool) -> Option<Value> {
    let at = event.text("created_at").and_then(dates::parse).filter(|_| event.is("prompt_received"))?;
    let said = begun(record, (None, says), at, at, event.text("task_id")).done();
    let hash = event.0.get("metadata")?.get("prompt_hash")?.as_str();
    let hash = hash.filter(|hash| hash_in(&said) != Some(hash));
    Some(Object::new().all(said.clone()).maybe_text("hash", hash).done())
}

/// The hash of a prompt, by what its task is called.
fn hash_in(said: &Value) -> Option<&str> {
    said.get("tail")?.as_str()?.get(1..=HASH)
}

/// What the end of a run leaves, in short; `None`: nothing can be made of it.
pub(in crate::session) fn of_end(record: &Record, end: &Ended<'_>) -> Option<Value> {
    end_in(record, end, end.granted.is_some())
}

/// The same; `says`: also of its own policy.
fn end_in(record: &Record, end: &Ended<'_>, says: bool) -> Option<Value> {
    let form = end.granted.is_none().then_some(FORM);
    let mut said = begun(record, (form, says), end.at, end.started, record.text("active_task_id"));
    said.number("started", end.started).number("turns", end.turns).number("answers", end.answers);
    said.number("tokens", end.tokens).number("limit", end.limit);
    said.maybe("granted", (end.granted == Some(true)).then_some(Value::Bool(true)));
    said.maybe_text("status", Some(end.status).filter(|status| *status != "completed"));
    said.maybe_text("interrupted", end.interrupted).maybe_text("code", end.code);
    said.maybe_text("detail", end.detail).maybe_text("previous", end.previous);
    said.maybe_text("on", end.on.filter(|on| record.text("provider_id") != Some(on)));
    let ids: Vec<Value> = end.receipts.iter().map(|receipt| receipt.id().into()).list();
    said.maybe("receipts", (!ids.is_empty()).then(|| ids.into()));
    // A clock that was set back does not put what is told before the start of the session.
    let told = record.time("started_at").filter(|started| *started > end.at);
    said.maybe("told", told.map(Value::from));
    // Who was there is also in the receipts, which may have come from elsewhere.
    let mut left = Object::new();
    for name in IDENTITY {
        left.maybe_text(name, single(end.receipts, name).filter(|_| record.text(name).is_none()));
    }
    let left = left.done();
    said.maybe("left", (left != Object::new().done()).then_some(left));
    with_hash(said.done(), end.run)
}

/// With the hash of the last receipt.
fn with_hash(said: Value, run: &str) -> Option<Value> {
    let receipts = Short { kind: RecordKind::End, said: &said, run }.receipts().ok()?;
    let hash = receipts.last()?.text("self_hash");
    Some(Object::new().all(said).maybe_text("self", hash).done())
}

impl<'a> Short<'a> {
    /// A record that is a short one; `None`: it stands for itself alone, or is of no run.
    pub fn of(kind: Option<RecordKind>, said: &'a Value, run: Option<&'a str>) -> Option<Short<'a>> {
        let kind = kind.filter(|kind| matches!(kind, RecordKind::Prompt | RecordKind::End))?;
        Some(Short { kind, said, run: run? })
    }

    /// Whether it has the members of its kind, and no others.
    pub(super) fn has_its_shape(&self) -> bool {
        let shape = if self.ends() { &tables::END } else { &tables::PROMPT };
        shape.is_of(self.said)
    }

    /// Whether it says what it says in the members by which it would be written here: of what goes without saying, nothing.
    pub(super) fn is_as_written(&self) -> bool {
        let again = if self.ends() { self.ended_again() } else { self.prompted_again() };
        again.as_ref() == Some(self.said)
    }

    /// The short form of the event that it stands for.
    fn prompted_again(&self) -> Option<Value> {
        let event = Event::read(&self.event().ok()?).ok()?;
        prompt_in(&self.session(false).ok()?, &event, self.says_policy())
    }

    /// The short form of the end that it stands for.
    fn ended_again(&self) -> Option<Value> {
        let mut record = Object::new();
        let told = self.number("told").map(dates::utc);
        record.all(self.session(false).ok()?.json()).maybe_text("started_at", told.as_deref());
        let record = record.maybe_text("active_task_id", self.task().as_deref()).done();
        // Of the receipts of its tool calls, who was there is known by them, and only that.
        let mut receipts = Vec::new();
        for id in self.said.get("receipts").map_or_else(|| Some(Vec::new()), texts)? {
            let mut receipt = Object::new();
            receipt.all(self.said.get("left").cloned().unwrap_or_default()).text("id", &id);
            receipts.push(Receipt(receipt.done().as_object().cloned().unwrap_or_default()));
        }
        let ended = Ended {
            run: self.run,
            at: self.number("at")?,
            started: self.number("started")?,
            status: self.status(),
            interrupted: self.text("interrupted"),
            code: self.text("code"),
            detail: self.text("detail"),
            turns: self.count("turns"),
            limit: self.count("limit"),
            answers: self.count("answers"),
            tokens: self.count("tokens"),
            granted: self.granted(),
            receipts: &receipts,
            previous: self.text("previous"),
            on: self.text("on"),
        };
        end_in(&Record::read(&record).ok()?, &ended, self.says_policy())
    }

    /// The end of a run in the form of before format 3. `granted`: whether it had tools. `None`: it is no end.
    pub fn in_older_form(&self, granted: bool) -> Option<Value> {
        let mut older = Object::new();
        let members = self.said.as_object().filter(|_| self.ends())?.iter();
        for (name, member) in members.filter(|(name, _)| !matches!(name.as_str(), "v" | "self")) {
            older.value(name, member.clone());
        }
        older.maybe_text("policy", self.policy().as_deref());
        older.maybe("granted", granted.then_some(Value::Bool(true)));
        with_hash(older.done(), self.run)
    }

    /// Whether the run had tools, where a receipt says that.
    fn granted(&self) -> Option<bool> {
        self.number("v").is_none().then(|| self.said.get("granted") == Some(&Value::Bool(true)))
    }

    /// Whether it says its policy, if there is one.
    fn says_policy(&self) -> bool {
        self.number("v") < Some(UNSAID)
    }

    fn policy(&self) -> Option<String> {
        if self.says_policy() {
            self.text("policy").map(Into::into)
        } else {
            self.text("session").map(policy_of)
        }
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.said.get(name)?.as_str()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.said.get(name)?.as_u64()
    }

    fn count(&self, name: &str) -> u64 {
        self.number(name).unwrap_or_default()
    }

    /// Whether a run is over.
    fn ends(&self) -> bool {
        self.kind == RecordKind::End
    }

    /// When its event is told.
    pub fn told_at(&self) -> Option<Millis> {
        self.number("told").or(self.number("at"))
    }

    /// The id of its task.
    pub fn task(&self) -> Option<String> {
        match self.text("tail") {
            Some(tail) => {
                let since = if self.ends() { self.number("started") } else { self.number("at") };
                Some([&stem(self.text("session")?, since?), tail].concat())
            }
            None => self.text("task").map(Into::into),
        }
    }

    /// The hash of the last receipt.
    pub fn last_receipt(&self) -> Option<&'a str> {
        self.text("self")
    }

    /// Which event it is.
    fn event_type(&self) -> &'static str {
        match (self.ends(), self.text("interrupted")) {
            (false, _) => "prompt_received",
            (true, None) => "run_completed",
            (true, Some(_)) => "run_interrupted",
        }
    }

    /// The id of its event.
    pub fn event_id(&self) -> String {
        let at = self.told_at().unwrap_or_default();
        super::event_id(self.text("session").unwrap_or_default(), self.event_type(), at)
    }

    /// What the end of a run changes: what the machine makes of it.
    pub(in crate::session) fn finish<T>(&self, with: impl FnOnce(&Finish<'_>) -> T) -> Option<T> {
        let (at, task) = (self.told_at()?, self.task());
        let mut ids = self.said.get("receipts").map_or_else(|| Some(Vec::new()), texts)?;
        ids.push(provider_receipt(self.run));
        ids.extend(self.granted().map(|_| sandbox_receipt(self.run)));
        let handoff = self.handoff_id(task.as_deref());
        let finish = Finish {
            task_id: task.as_deref(),
            run_id: self.run,
            handoff_id: handoff.as_deref(),
            receipt_ids: &ids,
            run_status: self.status(),
            interrupted_error: self.text("interrupted"),
            code: self.text("code"),
            detail: self.text("detail"),
            at,
        };
        Some(with(&finish))
    }

    fn status(&self) -> &'a str {
        self.text("status").unwrap_or("completed")
    }

    /// A run that may call no model leaves no handoff.
    fn handoff_id(&self, task: Option<&str>) -> Option<String> {
        (self.count("limit") > 0).then(|| task_part_id("handoff", task.unwrap_or_default()))
    }

    /// The session as its records name it. `runs`: with the provider that has answered.
    fn session(&self, runs: bool) -> Result<Record, ErrorInfo> {
        let mut record = Object::new();
        for (short, name) in NAMES {
            record.maybe_text(name, self.text(short));
        }
        record.maybe_text("policy_envelope_id", self.policy().as_deref());
        record.maybe_text("provider_id", self.text("on").filter(|_| runs));
        record.text("status", "starting").text("updated_at", &dates::utc(self.count("at")));
        Record::read(&record.done())
    }

    /// What it says of the provider, and before format 3 of the tools.
    fn receipts(&self) -> Result<Vec<Receipt>, ErrorInfo> {
        let session = self.session(true)?;
        let subject = self.text("operator").unwrap_or_default().into();
        let operator = Operator { subject, issuer: self.text("issuer").map(Into::into), expires_at: None };
        let task = self.task().unwrap_or_default();
        let mut boundary = Boundary {
            session: &session,
            operator: Some(&operator),
            task_id: &task,
            run_id: self.run,
            handoff_id: Some(&task_part_id("handoff", &task)),
            receipt_ids: &[],
            at: self.count("at"),
            previous: self.text("previous"),
            known: &[],
        };
        let provider = Receipt::of_provider(&boundary, self.count("answers"))?;
        let Some(granted) = self.granted() else { return Ok(vec![provider]) };
        boundary.previous = provider.text("self_hash");
        let sandbox = Receipt::of_sandbox(&boundary, granted)?;
        Ok(vec![provider, sandbox])
    }

    /// The records of one kind that it stands for, as they would be written whole.
    ///
    /// # Errors
    /// `corrupt`: it is not as it would be written here.
    pub fn records(&self, kind: RecordKind) -> Result<Vec<Value>, ErrorInfo> {
        let ends = self.ends();
        let mut records = Vec::new();
        match kind {
            RecordKind::Event => records.push(self.event()?),
            RecordKind::Receipt if ends => {
                let receipts = self.receipts()?;
                if receipts.last().and_then(|last| last.text("self_hash")) != self.last_receipt() {
                    return Err(ErrorInfo::corrupt("a short record does not lead to its last receipt"));
                }
                records.extend(receipts.iter().map(Receipt::json));
            }
            RecordKind::Run | RecordKind::Handoff if ends && self.count("limit") > 0 => {
                let [run, handoff] = self.left()?;
                records.push(if kind == RecordKind::Run { run } else { handoff });
            }
            _ => {}
        }
        Ok(records)
    }

    /// All of them, in their order.
    ///
    /// # Errors
    /// The same.
    pub fn whole(&self) -> Result<Vec<(RecordKind, Value)>, ErrorInfo> {
        let mut whole = Vec::new();
        for kind in [RecordKind::Receipt, RecordKind::Run, RecordKind::Handoff, RecordKind::Event] {
            whole.extend(self.records(kind)?.into_iter().map(|record| (kind, record)));
        }
        Ok(whole)
    }

    fn event(&self) -> Result<Value, ErrorInfo> {
        let ended = |finish: &Finish<'_>| told_of_end(finish, &[]).more;
        let more = if self.ends() { self.finish(ended) } else { Some(self.prompted()) };
        let none = || ErrorInfo::corrupt("a short record says not when");
        let event = Event::of(
            &self.session(false)?,
            self.event_type(),
            self.told_at().ok_or_else(none)?,
            more.ok_or_else(none)?,
        )?;
        Ok(event.json())
    }

    fn prompted(&self) -> Value {
        let hash = self.text("hash").or_else(|| hash_in(self.said)).unwrap_or_default();
        let metadata = Object::new().text("prompt_hash", hash).done();
        Object::new().value("task_id", self.task().into()).value("metadata", metadata).done()
    }

    /// The run with what it has brought about, and its handoff.
    fn left(&self) -> Result<[Value; 2], ErrorInfo> {
        let (session, task, at) = (self.session(true)?, self.task().unwrap_or_default(), self.count("at"));
        let begun = TaskRun::begun(&session, self.run, &task, self.count("limit"), self.count("started"))?;
        let none = || ErrorInfo::corrupt("the receipts of a short record are none");
        let ids = self.finish(|finish| finish.receipt_ids.to_vec()).ok_or_else(none)?;
        let run = begun.ended(&End {
            status: self.status(),
            iteration: self.count("turns"),
            stop_reason: self.text("interrupted").or(self.text("code")),
            tokens: self.count("tokens"),
            receipt_ids: &ids,
            at,
            known: &[],
        })?;
        let observed = Object::new()
            .number("turns", self.count("turns"))
            .number("answers", self.count("answers"))
            .done();
        let summary = "The run's answers are in the conversation.";
        let outputs = [RunOutput::of(&run, summary, observed, at)?];
        let draft = Draft {
            members: self.said.get("left").cloned().unwrap_or_default(),
            receipts: &self.receipts()?,
            notes: &[],
            assumptions_reviewed: false,
            at,
            known: &[],
        };
        let project = session.text("project_id").unwrap_or_default();
        let handoff = Handoff::of_run(&run, &outputs, project, &draft)?;
        let run = run.handed_off(&handoff)?;
        let outputs = Value::Array(outputs.iter().map(RunOutput::json).list());
        let run = Object::new().all(run.json()).value("outputs", outputs).done();
        // The receipts of its tool calls have rows of their own.
        Ok([run, Object::new().all(handoff.json()).value("receipt_ids", ids.as_slice().into()).done()])
    }
}

/// The task that begins with what is put on record for this run.
pub fn begun_task(what: Option<RecordKind>, record: &Value, run: Option<&str>) -> Option<String> {
    if what == Some(RecordKind::Prompt) {
        return Short::of(what, record, run)?.task();
    }
    let text = |name: &str| record.get(name).and_then(Value::as_str);
    text("task_id").filter(|_| text("event_type") == Some("prompt_received")).map(Into::into)
}
