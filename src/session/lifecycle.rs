//! What an operator does with a session, and what a run does to it.
//!
//! Decides, for each command, the order of checks, what changes in the record, and what is told of it. Promises: the
//! status changes by the table of `transitions` only. A clock that goes backwards breaks no record. What comes out may
//! be stored as it is. Leaves to others: time, ids and whether a holder lives (they come in), the run itself, and
//! writing it all down (`harness/`).
//!
//! The order of checks and the texts are held against the cases in `tests/host/origins/craik`. Each change gives an event, an exit
//! word takes the holder away, and a prompt looks for a lost holder too. The id of a session, also of a stopped one, is
//! given to no other as long as anything of it is there.

use super::dates;
use super::operator::{Action, Operator, may, owner, present};
use super::record::{
    Event, Record, merged, prompt_hash, session_id, storable, task_id, task_part_id, task_title, unknown,
};
use super::transitions::{Cause, Status, go, next};
use crate::error::{Code, ErrorInfo};
use crate::find::{turns, unseen};
use crate::journal::redact;
use crate::object::Object;
use crate::ports::Millis;
use crate::protocol::args::SHORT;
use serde_json::Value;

/// Prompts that stop the session instead.
const EXIT_WORDS: [&str; 4] = ["/exit", "exit", "quit", "/quit"];

/// How many characters a session's name may have.
const NAME: usize = 200;

/// How many letters a reason or a detail may have.
pub(crate) const DETAIL: usize = SHORT;

/// How many bytes a session's id may have.
pub(crate) const ID: usize = 256;

/// Somebody asks something of a session.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The session's id, as it was said. Empty at a launch: it is derived.
    pub id: &'a str,
    /// Its record, if there is one.
    pub record: Option<&'a Record>,
    /// Who asks.
    pub operator: Option<&'a Operator>,
    /// When.
    pub at: Millis,
    /// Whether the holder lives whose number is in the record's `pid`; not looked at where there is none.
    pub alive: bool,
    /// Keys that the page has.
    pub known: &'a [String],
}

/// What came of it. A refusal may come with a record: what was found on the way is written down.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The record from now on; `None`: it has not changed.
    pub record: Option<Record>,
    /// What is to be told of it, the oldest first.
    pub events: Vec<Event>,
    /// Why it was refused, if it was.
    pub refused: Option<ErrorInfo>,
    /// What is to be done now.
    pub then: Then,
}

/// What is to be done after a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    #[default]
    Nothing,
    /// The prompt waits until the session has started; then it is asked again.
    Wait,
    /// A run.
    Run {
        /// Its task's id.
        task_id: String,
        /// The prompt without white space around it.
        text: String,
    },
}

/// A command on its way.
struct Act<'a> {
    /// The record as it is by now.
    record: Record,
    at: Millis,
    known: &'a [String],
    /// Whether what comes first was told already.
    told: bool,
    outcome: Outcome,
}

/// What is left of a command, once it is known that it may be given.
type Rest<'r> = &'r mut dyn FnMut(&mut Act<'_>) -> Result<(), ErrorInfo>;

impl Act<'_> {
    /// A command of an operator. `wrong`: what is wrong with what was said.
    fn on(asked: &Asked<'_>, action: Action, wrong: Option<ErrorInfo>, rest: Rest<'_>) -> Outcome {
        let begun = present(asked.operator, asked.at).and_then(|_| match wrong {
            Some(wrong) => Err(wrong),
            None => asked.record.ok_or_else(|| unknown("agent session", asked.id)),
        });
        match begun
            .and_then(|record| may(asked.operator, action, Some(record.owner()), asked.at).map(|()| record))
        {
            Ok(record) => Act::by(record, asked.at, asked.known, rest),
            Err(error) => Outcome { refused: Some(error), ..Outcome::default() },
        }
    }

    /// Something that the page itself does.
    fn by(record: &Record, at: Millis, known: &[String], rest: Rest<'_>) -> Outcome {
        let mut act = Act { record: record.clone(), at, known, told: false, outcome: Outcome::default() };
        act.outcome.refused = rest(&mut act).err();
        act.outcome
    }

    /// The time of a change: a clock that was set back must not put it before the start, but where the session begins
    /// anew.
    fn moment(&self, cause: Cause) -> Millis {
        let started = self.record.time("started_at").filter(|_| cause != Cause::Restart);
        self.at.max(started.unwrap_or_default())
    }

    /// Changes the status by the table, and the members that go with it, and tells of it.
    fn make(
        &mut self,
        cause: Cause,
        changes: &mut Object,
        note: Option<&str>,
        kind: &str,
        more: Value,
    ) -> Result<(), ErrorInfo> {
        let from = self.record.status();
        let status = match cause {
            // It may have failed, or stopped, in the meantime: that stays.
            Cause::RunEnded => next(Some(from), cause).unwrap_or(from),
            _ => go(self.record.id(), from, cause)?,
        };
        let at = self.moment(cause);
        let now = dates::utc(at);
        changes.text("status", status.as_str()).text("last_activity_at", &now).text("updated_at", &now);
        if cause == Cause::Restart || (status.is_active() && self.record.time("started_at").is_none()) {
            changes.text("started_at", &now);
        }
        if !status.is_active() {
            changes.value("pid", Value::Null).all(taken_up());
        }
        if from.is_recoverable() && status.is_active() {
            changes.value("stopped_at", Value::Null);
        }
        if status == Status::Stopped && from != status {
            changes.text("stopped_at", &now);
        }
        let mut fresh = changes.done();
        let record = self.record.with(fresh.clone(), note)?;
        if let (Some(members), Some(note)) = (fresh.as_object_mut(), note) {
            members.insert("note".into(), note.into());
        }
        self.keep(record, &fresh, kind, at, more)
    }

    /// The record is this from now on, and this is told of it; if both may be stored. `fresh`: what is new in the record;
    /// the rest of it is stored already.
    fn keep(
        &mut self,
        record: Record,
        fresh: &Value,
        kind: &str,
        at: Millis,
        more: Value,
    ) -> Result<(), ErrorInfo> {
        storable(fresh, self.known)?;
        if !std::mem::take(&mut self.told) {
            let event = Event::of(&record, kind, at, more)?;
            storable(&event.json(), self.known)?;
            self.outcome.events.push(event);
        }
        self.outcome.record = Some(record.clone());
        self.record = record;
        Ok(())
    }

    /// Whether the session was lost; then it has failed.
    fn look(&mut self, asked: &Asked<'_>) -> Result<(), ErrorInfo> {
        let record = &self.record;
        let active = record.status().is_active();
        let background = record.text("mode") == Some("background");
        let reachable = record.text("endpoint_url").is_some_and(|url| !url.is_empty());
        let reason = match record.pid() {
            Some(_) if active && !asked.alive => Reason::StalePid,
            None if active && background && reachable => Reason::StaleEndpoint,
            _ => return Ok(()),
        };
        self.fail(&Failure::plain(reason), Cause::Stale, "status")
    }

    fn finish(&mut self, finish: &Finish<'_>) -> Result<(), ErrorInfo> {
        let from = self.record.status();
        let EndTold { kind, behavior, recovery, more } = told_of_end(finish, self.known);
        let mut handoffs = self.record.texts("handoff_ids");
        handoffs.extend(finish.handoff_id.map(Into::into));
        let mut changes = Object::new();
        changes.text("active_run_id", finish.run_id).maybe_text("active_task_id", finish.task_id);
        changes.value("receipt_ids", merged(&self.record.texts("receipt_ids"), finish.receipt_ids));
        changes.value("handoff_ids", merged(&handoffs, &[])).value("recovery_metadata", recovery);
        if self.record.text("mode") == Some("foreground") {
            changes.value("pid", Value::Null);
        }
        let note = ["Persistent agent prompt finished with ", behavior, "."].concat();
        self.make(Cause::RunEnded, &mut changes, Some(&note), kind, more)?;
        let failed = finish.code.and_then(Code::parse).and_then(|code| Some((code, Reason::of(code)?)));
        match (from, self.record.status(), failed) {
            (Status::Stopping, ..) => {
                let record = self.record.clone();
                self.keep(record, &Value::Null, "stopped", self.moment(Cause::Stop), Value::Null)
            }
            (_, Status::Idle, Some((code, reason))) => {
                let mut context = Object::new();
                context.text("code", code.as_str()).text("run_id", finish.run_id);
                let detail = finish.detail.or(Some(code.as_str()));
                let failure = Failure { reason, detail, context: context.done() };
                self.fail(&failure, reason.cause(), "runtime")
            }
            _ => Ok(()),
        }
    }

    /// Marks a failure. `source`: who has seen it.
    fn fail(&mut self, failure: &Failure<'_>, cause: Cause, source: &str) -> Result<(), ErrorInfo> {
        let [word, label, recommended] = failure.reason.words();
        let status = next(Some(self.record.status()), cause).unwrap_or(Status::Failed);
        let mut metadata = Object::new();
        metadata.text("recovery_reason", word).text("recovery_status", status.as_str());
        metadata.text("recovery_source", source);
        metadata.text("recovery_detected_at", &dates::isoformat(self.moment(cause)));
        let detail = failure.detail.map(|detail| redact::cleaned(detail, self.known));
        metadata.value("recovery_detail", detail.into());
        metadata.value("recovery_context", redact::value(&failure.context, self.known).0);
        metadata.flag("recoverable", true).text("recommended_action", recommended);
        for name in ["provider_id", "model_id", "project_id"] {
            metadata.value(name, self.record.text(name).into());
        }
        let told = Object::new().value("recovery_metadata", metadata.done()).done();
        let note = ["Persistent agent recovery required: ", label, "."].concat();
        self.make(cause, Object::new().all(told.clone()), Some(&note), "failed", told)
    }
}

/// A member that is an object with one text.
fn told(member: &str, name: &str, text: &str) -> Value {
    Object::new().value(member, Object::new().text(name, text).done()).done()
}

/// What the events, receipts and runs of a session say that they are under.
pub fn policy_of(session: &str) -> String {
    ["policy_", session].concat()
}

/// How a session begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launch<'a> {
    /// The provider's name.
    pub provider_id: &'a str,
    /// The model's.
    pub model_id: Option<&'a str>,
    /// What it belongs to.
    pub project_id: Option<&'a str>,
    /// The name that people see.
    pub display_name: Option<&'a str>,
    /// Which credentials, by name.
    pub auth_profile_id: Option<&'a str>,
    /// What they can be told by.
    pub auth_identity_hash: Option<&'a str>,
    /// The policy that it is under.
    pub policy_envelope_id: Option<&'a str>,
    /// What it works on already.
    pub active_task_id: Option<&'a str>,
    /// The run that does.
    pub active_run_id: Option<&'a str>,
    /// Whether its holder is there when nobody looks on.
    pub background: bool,
    /// Who holds it.
    pub pid: Option<u64>,
    /// Where it can be reached.
    pub endpoint_url: Option<&'a str>,
    /// Whether something is still missing: its provider's key.
    pub waiting: bool,
}

/// A new session.
pub fn launch(asked: &Asked<'_>, launch: &Launch<'_>) -> Outcome {
    match launched(asked, launch) {
        Ok((record, event)) => Outcome { record: Some(record), events: vec![event], ..Outcome::default() },
        Err(error) => Outcome { refused: Some(error), ..Outcome::default() },
    }
}

fn launched(asked: &Asked<'_>, launch: &Launch<'_>) -> Result<(Record, Event), ErrorInfo> {
    let operator = present(asked.operator, asked.at)?;
    may(asked.operator, Action::Launch, None, asked.at)?;
    check_name(launch.display_name.unwrap_or("any"))?;
    let derived = session_id(launch.project_id, launch.provider_id, asked.at);
    let id = if asked.id.is_empty() { &derived } else { asked.id };
    check_id(id)?;
    if asked.record.is_some() {
        let message = ["agent session already exists: ", id].concat();
        return Err(ErrorInfo::new(Code::SessionExists, message)
            .hint("send to it by its sessionId, or choose another id"));
    }
    let cause = if launch.waiting { Cause::LaunchWaiting } else { Cause::Launch };
    let now = dates::utc(asked.at);
    let mut record = Object::new();
    for (name, value) in [
        ("id", Some(id)),
        ("status", next(None, cause).map(Status::as_str)),
        ("mode", Some(if launch.background { "background" } else { "foreground" })),
        ("operator_subject", Some(operator.subject.as_str())),
        ("operator_issuer", operator.issuer.as_deref()),
        ("provider_id", Some(launch.provider_id)),
        ("model_id", launch.model_id),
        ("project_id", launch.project_id),
        ("display_name", launch.display_name),
        ("auth_profile_id", launch.auth_profile_id),
        ("auth_identity_hash", launch.auth_identity_hash),
        ("policy_envelope_id", launch.policy_envelope_id),
        ("active_task_id", launch.active_task_id),
        ("active_run_id", launch.active_run_id),
        ("endpoint_url", launch.endpoint_url),
        ("started_at", Some(&now)),
        ("last_activity_at", Some(&now)),
        ("updated_at", Some(&now)),
    ] {
        record.value(name, value.into());
    }
    record.value("pid", launch.pid.into());
    record.value("supervision_notes", ["Persistent agent session started."].as_slice().into());
    // What does not fit here is what the caller has passed.
    let record = Record::read(&record.done())
        .map_err(|error| ErrorInfo::new(Code::InvalidArguments, error.message.as_str()))?;
    let event = Event::of(&record, "launched", asked.at, Value::Null)?;
    // The event has nothing that the record has not.
    storable(&record.json(), asked.known)?;
    Ok((record, event))
}

/// The key that a launch has waited for has come.
pub fn ready(record: &Record, at: Millis, known: &[String]) -> Outcome {
    Act::by(record, at, known, &mut |act| match act.record.status() {
        Status::Starting => act.make(Cause::Ready, &mut Object::new(), None, "started", Value::Null),
        _ => Ok(()),
    })
}

/// How a session stands, once it is known whether it was lost. Not for a record that was tampered with: that is shown
/// as it is.
pub fn status(asked: &Asked<'_>) -> Outcome {
    Act::on(asked, Action::Status, None, &mut |act| act.look(asked))
}

/// Stops a session. `working`: a run does; the session stops when that has ended ([`finish`]).
pub fn stop(asked: &Asked<'_>, reason: Option<&str>, working: bool) -> Outcome {
    Act::on(asked, Action::Stop, None, &mut |act| {
        act.look(asked)?;
        let (cause, kind) = match working {
            true => (Cause::StopWaiting, "stopping"),
            false => (Cause::Stop, "stopped"),
        };
        let note = reason.unwrap_or("stopped by operator");
        act.make(cause, &mut Object::new(), Some(note), kind, told("metadata", "reason", note))
    })
}

/// Starts a session again that has stopped or failed. It has a new holder or none.
pub fn restart(
    asked: &Asked<'_>,
    reason: Option<&str>,
    pid: Option<u64>,
    endpoint_url: Option<&str>,
) -> Outcome {
    Act::on(asked, Action::Restart, None, &mut |act| {
        act.look(asked)?;
        let note = reason.unwrap_or("restarted by operator");
        let mut changes = held_by(pid, endpoint_url);
        act.make(Cause::Restart, &mut changes, Some(note), "restarted", told("metadata", "reason", note))
    })
}

/// Puts a session aside (`aside`), or takes it up again. Its status stays, nobody holds it until its run goes on, and it
/// takes no prompts.
pub fn bench(asked: &Asked<'_>, aside: bool) -> Outcome {
    let action = if aside { Action::Bench } else { Action::Play };
    Act::on(asked, action, None, &mut |act| {
        act.look(asked)?;
        if !aside && !act.record.is_suspended() {
            return Err(not_suspended());
        }
        let mut changes = Object::new();
        let (note, kind) = if aside {
            let since = act.moment(Cause::Bench);
            changes.value("pid", Value::Null).flag("suspended", true).number("suspendedAt", since);
            ("Persistent agent session benched.", "benched")
        } else {
            changes.all(taken_up());
            ("Persistent agent session played.", "played")
        };
        act.make(Cause::Bench, &mut changes, Some(note), kind, Value::Null)
    })
}

/// There is nothing to take up again.
pub(crate) fn not_suspended() -> ErrorInfo {
    ErrorInfo::new(Code::InvalidTransition, "agent is not suspended").hint("only what was benched is played")
}

/// What a record has no more that is not put aside.
fn taken_up() -> Value {
    Object::new().value("suspended", Value::Null).value("suspendedAt", Value::Null).done()
}

/// Removes a session or takes that back, or archives it: how it stands stays. `kind`: what is told.
pub fn mark(asked: &Asked<'_>, kind: &str) -> Outcome {
    Act::on(asked, Action::Remove, None, &mut |act| {
        act.keep(act.record.clone(), &Value::Null, kind, asked.at, Value::Null)
    })
}

/// Gives a session another name, or takes its name back. It is no activity: the time of its last change stays.
pub fn rename<'a>(asked: &Asked<'_>, name: impl Into<Option<&'a str>>) -> Outcome {
    let name = name.into();
    Act::on(asked, Action::Rename, name.and_then(|name| check_name(name).err()), &mut |act| {
        act.look(asked)?;
        let fresh = Object::new().value("display_name", name.into()).done();
        let record = act.record.with(fresh.clone(), None)?;
        let more = name.map_or(Value::Null, |name| told("metadata", "display_name", name));
        act.keep(record, &fresh, "renamed", asked.at, more)
    })
}

/// Another provider or model answers a session from here on, or it is answered otherwise. It is no activity.
pub fn configure(asked: &Asked<'_>, provider_id: &str, model_id: Option<&str>) -> Outcome {
    Act::on(asked, Action::Rename, None, &mut |act| {
        act.look(asked)?;
        let fresh = Object::new().text("provider_id", provider_id).value("model_id", model_id.into()).done();
        let record = act.record.with(fresh.clone(), None)?;
        act.keep(record, &fresh, "configured", asked.at, Value::Null)
    })
}

/// A copy of a session, that was imported, forked or salvaged.
#[derive(Clone, Debug)]
pub struct Copy<'a> {
    /// Its own id.
    pub id: &'a str,
    /// What is told of it: `imported`, `forked` or `salvaged`.
    pub kind: &'a str,
    /// The provider's name, if it is another from here on.
    pub provider_id: Option<&'a str>,
    /// The model's.
    pub model_id: Option<&'a str>,
    /// The name that people see, if its rows do not have it.
    pub display_name: Option<&'a str>,
    /// What it is a copy of: an object.
    pub from: Value,
}

/// A copy becomes a session of its own, owned by the operator who made it. Its status stays; nobody holds it.
pub fn copy(asked: &Asked<'_>, record: &Record, copy: &Copy<'_>) -> Outcome {
    let begun = present(asked.operator, asked.at)
        .and_then(|operator| may(asked.operator, Action::Launch, None, asked.at).map(|()| operator))
        .and_then(|operator| check_id(copy.id).map(|()| operator));
    let operator = match begun {
        Ok(operator) => operator,
        Err(error) => return Outcome { refused: Some(error), ..Outcome::default() },
    };
    Act::by(record, asked.at, asked.known, &mut |act| {
        let at = act.moment(Cause::Launch);
        let now = dates::utc(at);
        let mut changes = Object::new();
        changes.text("id", copy.id).value("pid", Value::Null).all(taken_up());
        changes.text("last_activity_at", &now).text("updated_at", &now);
        changes.text("operator_subject", &operator.subject);
        changes.value("operator_issuer", operator.issuer.as_deref().into());
        changes.maybe_text("provider_id", copy.provider_id).maybe_text("model_id", copy.model_id);
        changes.maybe_text("display_name", copy.display_name);
        let note = ["Persistent agent session ", copy.kind, "."].concat();
        let record = act.record.with(changes.done(), Some(&note))?;
        let metadata = Object::new().all(copy.from.clone()).done();
        // The instance that wrote the original may not have looked.
        let whole = record.json();
        act.keep(record, &whole, copy.kind, at, Object::new().value("metadata", metadata).done())
    })
}

/// What is to be done about a session that failed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recovery<'a> {
    /// `reconnect` or `resume`; absent: a failure is marked.
    pub action: Option<&'a str>,
    /// Which failure.
    pub reason: Option<&'a str>,
    /// What is known of it.
    pub detail: Option<&'a str>,
    /// Who holds the session then.
    pub pid: Option<u64>,
    /// Where it can be reached then; absent: where it was.
    pub endpoint_url: Option<&'a str>,
}

/// Recovers a session that has stopped or failed, or marks one as failed.
pub fn recover(asked: &Asked<'_>, recovery: &Recovery<'_>) -> Outcome {
    let marked = recovery.reason.and_then(Reason::parse).filter(|reason| *reason != Reason::StalePid);
    let wrong = match (recovery.action, recovery.reason) {
        (Some("reconnect" | "resume"), _) => None,
        (Some(_), _) => Some("action must be reconnect or resume"),
        (None, None) => Some("reason is required when action is omitted"),
        (None, Some(_)) if marked.is_some() => None,
        _ => Some("reason must be auth_expired, provider_unavailable, sandbox_failed, or stale_endpoint"),
    };
    let wrong = wrong.map(|wrong| ErrorInfo::new(Code::InvalidArguments, wrong));
    Act::on(asked, Action::Recover, wrong, &mut |act| {
        let Some(action) = recovery.action else {
            let reason = marked.unwrap_or(Reason::StaleEndpoint);
            let failure = Failure { detail: recovery.detail, ..Failure::plain(reason) };
            return act.fail(&failure, reason.cause(), "operator");
        };
        let cause = if action == "resume" { Cause::Resume } else { Cause::Reconnect };
        let mut metadata = Object::new();
        metadata.text("recovery_action", action);
        metadata.text("recovery_action_at", &dates::isoformat(act.moment(cause)));
        metadata.text("recovered_from_status", act.record.status().as_str());
        let told = Object::new().value("recovery_metadata", metadata.done()).done();
        let mut changes = held_by(recovery.pid, recovery.endpoint_url);
        let note = ["Persistent agent recovery action: ", action, "."].concat();
        act.make(cause, changes.all(told.clone()), Some(&note), "recovered", told)
    })
}

/// Something for the model, or an exit word. `files`: something besides the text. `pid`: who holds the session while
/// the run works. Whether the session works already is not asked here: the harness, which knows, drops what came of it.
pub fn prompt(asked: &Asked<'_>, text: &str, files: bool, pid: Option<u64>) -> Outcome {
    // The owner is checked later: that the session takes no prompts is said first.
    Act::on(asked, Action::Status, None, &mut |act| {
        act.look(asked)?;
        let status = go(act.record.id(), act.record.status(), Cause::Prompt)?;
        owner(present(asked.operator, asked.at)?, act.record.owner())?;
        let text = text.trim();
        if text.is_empty() && !files {
            return Err(ErrorInfo::new(Code::EmptyMessage, "agent prompt cannot be empty"));
        }
        if EXIT_WORDS.iter().any(|word| word.eq_ignore_ascii_case(text)) && !files {
            let mut changes = Object::new();
            changes.all(told("recovery_metadata", "exit_behavior", "operator_exit"));
            let note = "Persistent agent prompt loop exited by operator.";
            let more = told("metadata", "exit_command", text);
            return act.make(Cause::Exit, &mut changes, Some(note), "exited", more);
        }
        if act.record.is_suspended() {
            let message = ["agent session ", act.record.id(), " is benched; it accepts no prompts"].concat();
            return Err(ErrorInfo::new(Code::Benched, message).hint("play it first"));
        }
        if status == Status::Starting {
            act.outcome.then = Then::Wait;
            return Ok(());
        }
        if act.record.text("project_id").is_none() {
            let why = " has no project_id; prompt execution requires a project";
            let message = ["agent session ", act.record.id(), why].concat();
            return Err(ErrorInfo::new(Code::InvalidArguments, message));
        }
        let hash = prompt_hash(text);
        let task = free_task(&act.record, &task_title(act.record.id(), act.moment(Cause::Prompt), &hash));
        let mut changes = Object::new();
        changes.text("active_task_id", &task).maybe("pid", pid.map(Into::into));
        let mut more = Object::new();
        more.text("task_id", &task).all(told("metadata", "prompt_hash", &hash));
        let note = "Persistent agent prompt received.";
        act.make(Cause::Prompt, &mut changes, Some(note), "prompt_received", more.done())?;
        act.outcome.then = Then::Run { task_id: task, text: text.into() };
        Ok(())
    })
}

/// The id of a prompt's task; numbered where the same words were said in the same second. Sessions whose ids look alike in
/// it are told apart.
fn free_task(record: &Record, title: &str) -> String {
    let mut id = task_id(title);
    if task_id(record.id()).strip_prefix("task_") != Some(record.id()) {
        id = [&id, "_", prompt_hash(record.id()).get(..8).unwrap_or_default()].concat();
    }
    let handoffs = record.texts("handoff_ids");
    let taken = |id: &String| {
        record.text("active_task_id") == Some(id) || handoffs.contains(&task_part_id("handoff", id))
    };
    let (mut free, mut number) = (id.clone(), 1);
    while taken(&free) {
        number += 1;
        free = [&id, "_", &u64::to_string(&number)].concat();
    }
    free
}

/// A run that was held goes on, with this holder.
pub fn go_on(record: &Record, run_id: &str, pid: Option<u64>, at: Millis, known: &[String]) -> Outcome {
    Act::by(record, at, known, &mut |act| {
        let mut changes = Object::new();
        changes.text("active_run_id", run_id).value("pid", pid.into());
        let more = Object::new().text("run_id", run_id).done();
        act.make(Cause::GoesOn, &mut changes, Some("Persistent agent run goes on."), "run_resumed", more)
    })
}

/// A run that is over.
#[derive(Clone, Copy, Debug)]
pub struct Finish<'a> {
    /// Its task.
    pub task_id: Option<&'a str>,
    /// Its id.
    pub run_id: &'a str,
    /// What it leaves.
    pub handoff_id: Option<&'a str>,
    /// Its receipts.
    pub receipt_ids: &'a [String],
    /// `completed`, `blocked`, `failed` or `interrupted`.
    pub run_status: &'a str,
    /// What has interrupted it: a limit ([`interruption`]), or a person.
    pub interrupted_error: Option<&'a str>,
    /// Why it failed, with all retries made.
    pub code: Option<&'a str>,
    /// What its provider says of that.
    pub detail: Option<&'a str>,
    /// When.
    pub at: Millis,
}

/// What is told of a run that is over.
pub(super) struct EndTold<'a> {
    /// The kind of its event.
    pub kind: &'static str,
    /// How the session came out of it, and what its record has of that.
    behavior: &'a str,
    recovery: Value,
    /// The members of the event.
    pub more: Value,
}

/// What is told of a run that is over. `known`: keys that the page has.
pub(super) fn told_of_end<'a>(finish: &Finish<'a>, known: &[String]) -> EndTold<'a> {
    let interrupted = finish.interrupted_error.map(|error| redact::cleaned(error, known));
    let (kind, behavior) = match interrupted {
        Some(_) => ("run_interrupted", "interrupted"),
        None => ("run_completed", finish.run_status),
    };
    let mut recovery = Object::new();
    recovery.text("exit_behavior", behavior).maybe_text("handoff_id", finish.handoff_id);
    recovery.maybe_text("interrupted_error", interrupted.as_deref());
    let recovery = recovery.done();
    let mut metadata = Object::new();
    metadata.text("run_status", finish.run_status).maybe_text("code", finish.code);
    let detail = finish.detail.filter(|_| finish.code.is_some());
    metadata.maybe_text("detail", detail.map(|detail| redact::cleaned(detail, known)).as_deref());
    metadata.maybe_text("interrupted_error", interrupted.as_deref());
    let mut more = Object::new();
    more.value("task_id", finish.task_id.into()).text("run_id", finish.run_id);
    more.value("handoff_id", finish.handoff_id.into()).value("metadata", metadata.done());
    more.value("receipt_ids", merged(finish.receipt_ids, &[])).value("recovery_metadata", recovery.clone());
    EndTold { kind, behavior, recovery, more: more.done() }
}

/// A run is over: its receipts and its handoff are linked, and the session is idle, has stopped if it was to, or has
/// failed if the provider cannot be used.
pub fn finish(record: &Record, finish: &Finish<'_>, known: &[String]) -> Outcome {
    Act::by(record, finish.at, known, &mut |act| act.finish(finish))
}

/// The same once it was told: what else is to be told, and the record.
pub fn finished(record: &Record, finish: &Finish<'_>) -> Outcome {
    Act::by(record, finish.at, &[], &mut |act| {
        act.told = true;
        act.finish(finish)
    })
}

/// What a limit says that has ended a run. `what`: which, as in a budget (`turns`, `inputTokens`, `outputTokens`,
/// `cost`, `wallMs`).
pub fn interruption(what: &str, limit: u64) -> String {
    match what {
        "turns" => ["max iterations ", &limit.to_string(), " reached"].concat(),
        "wallMs" => {
            let mut seconds = (limit / 1000).to_string();
            let parts = limit % 1000;
            if parts > 0 {
                let parts = (1000 + parts).to_string();
                seconds.push('.');
                seconds.push_str(parts.get(1..).unwrap_or_default().trim_end_matches('0'));
            }
            ["wall-clock budget ", &seconds, "s exceeded"].concat()
        }
        _ => "provider token budget exhausted".into(),
    }
}

/// Why a session failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its holder is gone in the middle of a run.
    StalePid,
    /// Nothing holds what is said to be reachable there.
    StaleEndpoint,
    /// The provider does not accept the key.
    AuthExpired,
    /// The provider does not answer.
    ProviderUnavailable,
    /// What its tools run in has failed.
    SandboxFailed,
}

impl Reason {
    const ALL: [Reason; 5] = [
        Reason::StalePid,
        Reason::StaleEndpoint,
        Reason::AuthExpired,
        Reason::ProviderUnavailable,
        Reason::SandboxFailed,
    ];

    /// Of each: its word, the same for people, and what to do about it.
    const WORDS: [[&str; 3]; 5] = [
        ["stale_pid", "stale pid", "reconnect session process, then resume"],
        ["stale_endpoint", "stale endpoint", "reconnect session process, then resume"],
        ["auth_expired", "auth expired", "reauthenticate provider credentials, then resume"],
        [
            "provider_unavailable",
            "provider unavailable",
            "retry provider route or switch provider, then resume",
        ],
        ["sandbox_failed", "sandbox failed", "inspect sandbox policy/backend, then resume"],
    ];

    fn words(self) -> [&'static str; 3] {
        Reason::WORDS.get(self as usize).copied().unwrap_or_default()
    }

    /// The public word.
    pub fn as_str(self) -> &'static str {
        let [word, ..] = self.words();
        word
    }

    /// What to do about it.
    pub fn recommended(self) -> &'static str {
        let [.., action] = self.words();
        action
    }

    fn parse(word: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// What a run's failure is to its session, if the session cannot go on with it.
    pub fn of(code: Code) -> Option<Reason> {
        match code {
            Code::Auth | Code::Permission => Some(Reason::AuthExpired),
            Code::Network
            | Code::Timeout
            | Code::Server
            | Code::Overloaded
            | Code::RateLimit
            | Code::Quota => Some(Reason::ProviderUnavailable),
            _ => None,
        }
    }

    /// How a session comes to it when somebody says so.
    fn cause(self) -> Cause {
        match self {
            Reason::StalePid | Reason::StaleEndpoint => Cause::MarkStale,
            Reason::AuthExpired => Cause::MarkAuth,
            Reason::ProviderUnavailable => Cause::MarkProvider,
            Reason::SandboxFailed => Cause::MarkSandbox,
        }
    }
}

/// A failure to be written down.
#[derive(Clone, Debug)]
struct Failure<'a> {
    /// Which.
    reason: Reason,
    /// What is known of it.
    detail: Option<&'a str>,
    /// What else: an object.
    context: Value,
}

impl Failure<'_> {
    /// A failure of which nothing else is known.
    fn plain(reason: Reason) -> Self {
        Failure { reason, detail: None, context: Object::new().done() }
    }
}

/// The members that say who holds a session.
fn held_by(pid: Option<u64>, endpoint_url: Option<&str>) -> Object {
    let mut held = Object::new();
    held.value("pid", pid.into()).maybe_text("endpoint_url", endpoint_url);
    held
}

/// Whether a session may have this id: `bench` and `play` take "all" for each of them.
pub(super) fn check_id(id: &str) -> Result<(), ErrorInfo> {
    if id.len() <= ID && id != "all" && !id.chars().any(|c| c.is_control() || unseen(c)) {
        return Ok(());
    }
    Err(ErrorInfo::new(
        Code::InvalidArguments,
        "a session id has at most 256 bytes, no control characters and none that nobody sees, and is not \"all\"",
    ))
}

/// Whether a session may be called so: any text in any language, as long as it stays in its line and in its direction.
///
/// # Errors
/// `invalid_arguments`
pub fn check_name(name: &str) -> Result<(), ErrorInfo> {
    let why = if name != name.trim() {
        "must not have leading or trailing whitespace"
    } else if name.is_empty() {
        "must not be empty"
    } else if name.chars().count() > NAME {
        "must be 200 characters or fewer"
    } else if name.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        "must not contain control characters"
    } else if name.chars().any(turns) {
        "must not contain characters that turn the direction of text"
    } else if name.chars().all(unseen) {
        "must have a character that is seen"
    } else {
        return Ok(());
    };
    Err(ErrorInfo::new(Code::InvalidArguments, ["session name ", why].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// test_agent_sessions.py, agent_recovery_marks_explicit_failure_states: what is known besides.
    #[test]
    fn what_is_known_of_a_failure_is_redacted() {
        let operator = Operator { subject: "operator-123".into(), issuer: None, expires_at: None };
        let id = "agent_session_docs";
        let asked = Asked { id, record: None, operator: Some(&operator), at: 1, alive: true, known: &[] };
        let how = Launch { provider_id: "provider_openai", ..Launch::default() };
        let started = launch(&asked, &how).record.unwrap();
        for reason in [Reason::AuthExpired, Reason::ProviderUnavailable, Reason::SandboxFailed] {
            let failure = Failure {
                reason,
                detail: Some("provider returned token=secret-token"),
                context: json!({ "api_key": "sk-example-secret", "attempt": 1 }),
            };
            let outcome = Act::by(&started, 2, &[], &mut |act| act.fail(&failure, reason.cause(), "runtime"));
            assert!(!format!("{outcome:?}").contains("sk-example-secret"));
            let failed = outcome.record.unwrap().json();
            let told = &failed["recovery_metadata"];
            assert_eq!(told["recovery_context"], json!({ "api_key": "[REDACTED]", "attempt": 1 }));
            assert_eq!(told["recovery_detail"], "provider returned token=[REDACTED]");
            assert_eq!(told["recovery_source"], "runtime");
        }
    }
}
