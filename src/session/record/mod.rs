//! The records of a session: what stands in them, and what is derived for them.
//!
//! Decides the shapes (members, their names and words, as `tables` has them) and the ids. Promises: what has one of
//! these types has every member of its shape, no other, and what its validator asks for. Nothing is stored that still
//! has a secret ([`storable`]), nor taken from elsewhere that is not as it would be written here ([`check`]). Leaves to
//! others: when a record is written and where it is kept, and what may happen to a session (`lifecycle`).
//!
//! They are kept as JSON, because they are signed, hashed, stored and shown byte for byte.

mod handoff;
mod receipt;
mod shape;
mod short;
mod tables;
#[cfg(test)]
mod types;

pub use handoff::{Draft, End};
pub use receipt::{Boundary, Deed, ToolDeed, UNKNOWN, check_chain};
pub(super) use short::{Ended, of_end, of_prompt};
pub use short::{Short, begun_task};

use super::dates;
use super::operator::Owner;
use super::transitions::Status;
use crate::error::{Code, ErrorInfo};
use crate::journal::redact::has_secret;
use crate::journal::{RecordKind, sha256};
use crate::json::{parse, texts};
use crate::list::Listed;
use crate::maps::Named;
use crate::object::{self, Object};
use crate::ports::Millis;
use crate::tools::Registry;
use serde_json::{Map, Value};

/// The members of a record.
type Members = Map<String, Value>;

/// How many notes, receipts and handoffs a session's record names: the newest. All of them are in the journal.
const LISTED: usize = 8;

macro_rules! records {
    ($( $(#[$doc:meta])* $name:ident = $shape:ident, $check:path; )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(Members);

        impl $name {
            /// Reads one. Members that may be absent are filled in.
            ///
            /// # Errors
            /// `corrupt`, saying what is wrong with it.
            pub fn read(value: &Value) -> Result<$name, ErrorInfo> {
                let members = value.as_object().cloned().unwrap_or_default();
                read(&tables::$shape, $check, members).map($name)
            }

            /// It as JSON, with every member.
            pub fn json(&self) -> Value {
                self.0.clone().into()
            }

            /// A member that is a text; `None` for one that is `null`, or no text.
            pub fn text(&self, name: &str) -> Option<&str> {
                self.0.get(name)?.as_str()
            }

            /// A member that is a list of texts; empty for any other.
            pub fn texts(&self, name: &str) -> Vec<String> {
                self.0.get(name).and_then(texts).unwrap_or_default()
            }

            /// Its id.
            pub fn id(&self) -> &str {
                self.text("id").unwrap_or_default()
            }
        }
    )* };
}

records! {
    /// How a session stands: `craik.agent_session_state`.
    Record = SESSION, consistent;
    /// Something that has happened to a session: `craik.agent_session_event`.
    Event = EVENT, anything;
    /// Something that was done under a policy: `craik.capability_receipt`.
    Receipt = RECEIPT, receipt::hashed;
    /// What one run leaves for the next: `craik.handoff`.
    Handoff = HANDOFF, anything;
    /// One run of a task: `craik.task_run`.
    TaskRun = RUN, anything;
    /// What a run has brought about: `craik.run_output`.
    RunOutput = OUTPUT, anything;
}

type Check = fn(&mut Members) -> Result<(), String>;

fn read(shape: &shape::Shape, check: Check, given: Members) -> Result<Members, ErrorInfo> {
    let whole = shape.whole(given).and_then(|mut members| check(&mut members).map(|()| members));
    whole.map_err(|why| ErrorInfo::new(Code::Corrupt, why).hint("it was changed, or made by another program"))
}

fn anything(_: &mut Members) -> Result<(), String> {
    Ok(())
}

/// Whether a record may be stored. `known`: keys that the page has.
///
/// # Errors
/// `invalid_arguments`: there is a secret in it.
pub fn storable(record: &Value, known: &[String]) -> Result<(), ErrorInfo> {
    if !has_secret(record, known) {
        return Ok(());
    }
    Err(ErrorInfo::new(Code::InvalidArguments, "refusing to persist unredacted secret material")
        .hint("a name, a reason or an id holds what looks like a key: say it without"))
}

/// Whether what was put on record elsewhere is as it would be put on record here, in short or whole. `run`: of which run it
/// is. `receipts`: the hashes of those that came before. `tools`: what a tool is called is the page's to say, be it like a key.
///
/// # Errors
/// `corrupt`, saying what is wrong with it; `invalid_arguments`: there is a secret in it.
pub fn check(
    what: Option<RecordKind>,
    record: &Value,
    run: Option<&str>,
    receipts: &mut Named<()>,
    tools: &Registry,
) -> Result<(), ErrorInfo> {
    let no_record = || ErrorInfo::new(Code::Corrupt, "no such record is written here");
    if let Some(short) = Short::of(what, record, run) {
        if !short.has_its_shape() {
            return Err(no_record());
        }
        for (kind, record) in short.whole()? {
            check(Some(kind), &record, run, receipts, tools)?;
        }
        if !short.is_as_written() {
            return Err(no_record());
        }
        // Not all that it says is in its records. Its members have names of their own.
        let said = record.as_object().into_iter().flatten().map(|(_, said)| said.clone()).list();
        return storable(&said.into(), &[]);
    }
    let (shape, check): (_, Check) = match what {
        Some(RecordKind::Event) => (&tables::EVENT, anything),
        Some(RecordKind::Receipt) => (&tables::RECEIPT, receipt::hashed),
        Some(RecordKind::Handoff) => (&tables::HANDOFF, anything),
        Some(RecordKind::Run) => (&tables::RUN, anything),
        Some(RecordKind::Prompt | RecordKind::End) | None => return Err(no_record()),
    };
    let whole = |shape, check, given: &Members| {
        let whole = read(shape, check, given.clone())?;
        if whole == *given { Ok(whole) } else { Err(no_record()) }
    };
    let mut given = record.as_object().cloned().unwrap_or_default();
    if what == Some(RecordKind::Run) {
        let Some(Value::Array(outputs)) = object::take(&mut given, "outputs") else {
            return Err(no_record());
        };
        for output in outputs {
            whole(&tables::OUTPUT, anything, output.as_object().unwrap_or(&Members::new()))?;
        }
    }
    let whole = whole(shape, check, &given)?;
    if what == Some(RecordKind::Receipt) {
        check_chain(receipts, &Receipt(whole))?;
    }
    let mut said = record.clone();
    let tool = said.get_mut("metadata").and_then(|metadata| metadata.get_mut("tool"));
    if let Some(tool) = tool.filter(|tool| tool.as_str().is_some_and(|tool| tools.get(tool).is_some())) {
        *tool = Value::Null;
    }
    storable(&said, &[])
}

/// The error for an id that nobody has. `what`: `agent session`, `task`, `task run`, `receipt`, `handoff or task`.
pub fn unknown(what: &str, id: &str) -> ErrorInfo {
    let code = if what == "agent session" { Code::SessionNotFound } else { Code::RecordNotFound };
    ErrorInfo::new(code, ["unknown ", what, ": ", id].concat())
}

/// What must hold of a session's record.
fn consistent(record: &mut Members) -> Result<(), String> {
    let time = |name: &str| time(record, name);
    let status = status(record);
    let started = time("started_at");
    let precedes = |name: &str| started.is_some_and(|started| time(name).is_some_and(|at| at < started));
    let list = |name: &str| record.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    let failed = status.is_recoverable() && status != Status::Stopped;
    let faults = [
        (
            status.is_active() && status != Status::Starting && started.is_none(),
            "active agent session state requires started_at",
        ),
        (
            status == Status::Stopped && time("stopped_at").is_none(),
            "stopped agent session state requires stopped_at",
        ),
        (failed && list("supervision_notes") == 0, "failed agent session state requires supervision_notes"),
        (
            !status.is_active() && record.get("pid").is_some_and(|pid| !pid.is_null()),
            "agent session pid is only valid while process may be active",
        ),
        (precedes("last_activity_at"), "last_activity_at cannot precede started_at"),
        (precedes("stopped_at"), "stopped_at cannot precede started_at"),
    ];
    match faults.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, fault)) => Err(fault.into()),
        None => Ok(()),
    }
}

fn time(record: &Members, name: &str) -> Option<Millis> {
    record.get(name).and_then(Value::as_str).and_then(dates::parse)
}

fn status(record: &Members) -> Status {
    // The shape has seen to it that it is one of the words.
    record.get("status").and_then(Value::as_str).and_then(Status::parse).unwrap_or(Status::Failed)
}

/// Lists that have become too long lose what is oldest.
fn shorten(record: &mut Members) {
    for name in ["supervision_notes", "receipt_ids", "handoff_ids"] {
        if let Some(Value::Array(list)) = record.get_mut(name) {
            list.drain(..list.len().saturating_sub(LISTED));
        }
    }
}

impl Record {
    /// It as a head has it: without what is said by leaving it out.
    pub fn lean(&self) -> Value {
        tables::SESSION.lean(&self.0).into()
    }

    /// The record that a head has. One of an earlier version has named more receipts.
    ///
    /// # Errors
    /// `corrupt`, saying what is wrong with it.
    pub fn of_head(stored: Value) -> Result<Record, ErrorInfo> {
        let mut members = match stored {
            Value::Object(members) => members,
            _ => Members::new(),
        };
        shorten(&mut members);
        read(&tables::SESSION, consistent, members).map(Record)
    }

    /// The JSON of the record that has these members in a head, with every member and without braces, and when it was
    /// changed last. None of them is checked. `None`: its session is active, or this is no record.
    pub fn text_of_head<'a>(member: &dyn Fn(&str) -> Option<&'a str>) -> Option<(Millis, String)> {
        let at = parse(member("updated_at")?)?;
        let whole = if member("pid").is_none() { tables::SESSION.whole_text(member) } else { None };
        Some((dates::parse(at.as_str()?)?, whole?))
    }

    /// It as JSON, with every member.
    pub fn into_json(self) -> Value {
        self.0.into()
    }

    /// Its status.
    pub fn status(&self) -> Status {
        status(&self.0)
    }

    /// Whose the session is.
    pub fn owner(&self) -> Owner<'_> {
        Owner { subject: self.text("operator_subject"), issuer: self.text("operator_issuer") }
    }

    /// A member that is a time.
    pub fn time(&self, name: &str) -> Option<Millis> {
        time(&self.0, name)
    }

    /// Whether it is put aside.
    pub fn is_suspended(&self) -> bool {
        self.0.get("suspended") == Some(&Value::Bool(true)) || self.0.contains_key("suspendedAt")
    }

    /// The number of its holder while it works.
    pub fn pid(&self) -> Option<u64> {
        self.0.get("pid")?.as_u64()
    }

    /// The same with these members; `recovery_metadata` is added to what is there, a note goes behind the others. Lists
    /// that have become too long lose what is oldest.
    pub(super) fn with(&self, changes: Value, note: Option<&str>) -> Result<Record, ErrorInfo> {
        let mut members = self.0.clone();
        if let Value::Object(changes) = changes {
            for (name, value) in changes {
                match (name.as_str(), value, members.get_mut(&name)) {
                    ("recovery_metadata", Value::Object(more), Some(Value::Object(there))) => {
                        there.extend(more);
                    }
                    (_, value, _) => drop(members.insert(name, value)),
                }
            }
        }
        if let (Some(note), Some(Value::Array(notes))) = (note, members.get_mut("supervision_notes")) {
            notes.push(note.into());
        }
        shorten(&mut members);
        read(&tables::SESSION, consistent, members).map(Record)
    }

    /// The same with a signature.
    ///
    /// # Errors
    /// None for a record that is one.
    pub fn signed(&self, signature: &str) -> Result<Record, ErrorInfo> {
        self.with(Object::new().text("receipt_hmac", signature).done(), None)
    }
}

impl Event {
    /// Whether it is of this kind.
    pub(super) fn is(&self, kind: &str) -> bool {
        self.text("event_type") == Some(kind)
    }

    /// An event of a session. `more`: what else it has, by the names of the members.
    ///
    /// # Errors
    /// `corrupt` for a member that an event has not.
    pub fn of(record: &Record, kind: &str, at: Millis, more: Value) -> Result<Event, ErrorInfo> {
        let mut event = Object::new();
        event.text("id", &event_id(record.id(), kind, at));
        event.text("session_id", record.id()).text("event_type", kind).text("created_at", &dates::utc(at));
        for name in [
            "operator_subject",
            "operator_issuer",
            "project_id",
            "provider_id",
            "model_id",
            "policy_envelope_id",
        ] {
            event.value(name, record.text(name).into());
        }
        Event::read(&event.all(more).done())
    }
}

/// Letters and digits of a text in lower case, what is between them as `_`.
fn slug(text: &str, empty: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('_') {
            slug.push('_');
        }
    }
    if slug.ends_with('_') {
        slug.pop();
    }
    if slug.is_empty() { empty.into() } else { slug }
}

/// The id of a session for which nobody has chosen one.
pub fn session_id(project: Option<&str>, provider: &str, at: Millis) -> String {
    let project = slug(project.unwrap_or_default(), "default");
    ["agent_", &project, "_", &slug(provider, "default"), "_", &dates::compact(at)].concat()
}

/// The id of an event.
pub fn event_id(session: &str, kind: &str, at: Millis) -> String {
    let hash = sha256(&[session, ":", kind, ":", &dates::isoformat(at)]);
    ["agent_event_", hash.get(..24).unwrap_or_default()].concat()
}

/// What is kept of a prompt's text.
pub fn prompt_hash(text: &str) -> String {
    let mut hash = sha256(&[text.trim()]);
    hash.truncate(16);
    hash
}

/// The title of a prompt's task.
pub fn task_title(session: &str, at: Millis, prompt_hash: &str) -> String {
    ["Agent ", session, " prompt ", &dates::compact(at), " ", prompt_hash].concat()
}

/// The id of a task.
pub fn task_id(title: &str) -> String {
    ["task_", &slug(title, "untitled")].concat()
}

/// The id of what is made for a task: `handoff`, `run`, `case`, `policy`, `intent`.
pub fn task_part_id(what: &str, task: &str) -> String {
    [what, "_", task.strip_prefix("task_").unwrap_or(task)].concat()
}

/// The texts of both lists, each once and in order.
pub(super) fn merged(list: &[String], more: &[String]) -> Value {
    let mut set = Map::new();
    for text in list.iter().chain(more) {
        set.insert(text.clone(), Value::Null);
    }
    let mut all = Vec::new();
    for (text, _) in set {
        all.push(text.into());
    }
    Value::Array(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_derived() {
        let at = dates::parse("2026-05-22T06:15:00Z").unwrap();
        let id = session_id(Some("Project: docs!"), "provider_openai", at);
        assert_eq!(id, "agent_project_docs_provider_openai_20260522061500");
        assert_eq!(session_id(None, "--", at), "agent_default_default_20260522061500");
        assert_eq!(
            event_id("agent_session_docs", "prompt_received", at),
            "agent_event_e440341c3db268654a90a135"
        );
        let hash = prompt_hash("  Implement the next bounded provider task.\n");
        assert_eq!(hash, "4d5f633f2142c214");
        let title = task_title("agent_docs", at, &hash);
        assert_eq!(title, "Agent agent_docs prompt 20260522061500 4d5f633f2142c214");
        let task = task_id(&title);
        assert_eq!(task, "task_agent_agent_docs_prompt_20260522061500_4d5f633f2142c214");
        assert_eq!(task_part_id("handoff", "task_review_docs"), "handoff_review_docs");
        assert_eq!(task_part_id("run", "review"), "run_review");
        assert_eq!(task_id("é?"), "task_untitled");
    }
}
