//! Sessions: how each stands, what is stored of it, and all of them as a list.

use super::{Misfit, Overrides, Shape, Usage, shapes};
use crate::error::ErrorInfo;
use crate::journal::words::{Integrity, Word, words};
use crate::object::Object;
use crate::session::transitions::Status as SessionStatus;
use serde_json::{Map, Value};
use std::rc::Rc;

words! {
    /// What goes on in a session or a run.
    Activity {
        /// It works, and says something.
        Streaming = "streaming",
        /// It is there, and waits.
        Waiting = "waiting",
        /// It is over, or lost.
        Broken = "broken",
    }
    /// What goes on in a session of a list.
    ItemActivity {
        /// A run works in it.
        Working = "working",
        /// It waits for a person.
        Waiting = "waiting",
        /// It takes the next message.
        Idle = "idle",
        /// A page went away in the middle of a run.
        Held = "held",
        /// It is put aside.
        Benched = "benched",
        /// It waits for its provider's key.
        Starting = "starting",
        /// It stops when its run has ended.
        Stopping = "stopping",
        /// It has stopped.
        Stopped = "stopped",
        /// Its provider or an operator has failed it.
        Failed = "failed",
        /// It is put away.
        Archived = "archived",
        /// Its rows are damaged.
        Damaged = "damaged",
    }
    /// Whether a list of sessions is there.
    ListStatus {
        /// It was not read yet.
        Loading = "loading",
        /// It is there.
        Ready = "ready",
        /// It could not be read.
        Error = "error",
    }
    /// Where a workspace is kept.
    StorageKind {
        /// In the browser's database.
        IndexedDb = "indexeddb",
        /// In memory, as long as it is open.
        Memory = "memory",
    }
}

shapes! {
    /// A session's record. Times are texts (`2026-05-22T06:15:00Z`).
    told SessionState {
        /// Its id.
        id: String;
        /// What it is called.
        display_name or null: Option<String>;
        /// How it stands; of a record that was changed it may be any word.
        status: Word<SessionStatus>;
        /// Whose it is.
        operator_subject: String;
        /// Who says so.
        operator_issuer or null: Option<String>;
        /// The project that it belongs to.
        project_id or null: Option<String>;
        /// Who answers it.
        provider_id: String;
        /// By which model.
        model_id or null: Option<String>;
        /// Under which policy it is; null where it has begun before sessions had one.
        policy_envelope_id or null: Option<String>;
        /// The holder that works on it; null while no run does.
        pid or null: Option<String>;
        /// The task at work.
        active_task_id or null: Option<String>;
        /// The run at work.
        active_run_id or null: Option<String>;
        /// When it began.
        started_at or null: Option<String>;
        /// When something was said in it last.
        last_activity_at or null: Option<String>;
        /// When it was stopped.
        stopped_at or null: Option<String>;
        /// When its record was changed last.
        updated_at: String;
        /// The newest 8 receipts; `receipts()` has all.
        receipt_ids: Vec<String>;
        /// The newest 8 handoffs; `handoffs()` has all.
        handoff_ids: Vec<String>;
        /// The newest 8 notes; `events()` has all.
        supervision_notes: Vec<String>;
        /// What is known of its last failure, also when that is over.
        recovery_metadata: Recovery;
        /// It is benched; absent where it is not.
        suspended: Option<bool>;
        /// Since then.
        suspended_at = "suspendedAt": Option<u64>;
        /// What it is called where it has no `display_name`: the first words that were said in it.
        title: Option<String>;
        /// A run of it is held: a lost page left it, or it is benched.
        held: Option<bool>;
        /// A run of it waits for a person: for an answer to a question, or to a call that was handed to the page.
        waiting: Option<bool>;
        /// Who answers it now, while an agent runs. In lists and `status`.
        answered_by: Option<Answerer>;
        /// What it has otherwise than the agent's configuration.
        config: Option<Overrides>;
        /// What its runs have used up, cleared conversations included.
        usage: Option<Usage>;
        /// When it was archived; its next run ends that.
        archived: Option<String>;
        /// Its rows are not what was written, first in the entry `seq` (0: what says how it stands, its head); absent where nobody has
        /// found such a thing. Everything else works; what would write to this session rejects with `corrupt`, and the hint says what can
        /// be done. It is found when the session is read: those with an open run, and the first one, at each start. One that the agent
        /// works in goes on.
        damaged: Option<Damage>;
        /// Members of a later version.
        more = "..": Map<String, Value>;
    }

    /// What is known of a session's last failure: it counts while the session's `status` is `recovery_status`.
    told Recovery {
        /// Why it has failed.
        recovery_reason: Option<String>;
        /// As what.
        recovery_status: Option<Word<SessionStatus>>;
        /// What to do.
        recommended_action: Option<String>;
        /// How its last run has ended.
        exit_behavior: Option<String>;
        /// More of it.
        more = "..": Map<String, Value>;
    }

    /// Who answers a session.
    told Answerer {
        /// A name in `providers`, or the kind of the main provider.
        provider or null: Option<String>;
        /// Its model.
        model or null: Option<String>;
    }

    /// Where rows are not what was written.
    told Damage {
        /// The first entry that is not; 0: the head.
        seq: u64;
        /// What is wrong there.
        why: String;
    }

    /// A session, and what its signature says.
    told VerifiedSession {
        /// How it stands.
        session: SessionState;
        /// What its signature says.
        hmac_status: Integrity;
    }

    /// What all entries of a session say.
    told Verified {
        /// Of all that is signed. `tampered`: it is not what was written, and nobody works in it. Nothing else takes that back.
        hmac_status: Integrity;
        /// How many entries there are by the session's head; where that is damaged, by the entries themselves.
        entries: u64;
        /// The first entry that is not as it was written, and what is wrong there. `seq` is 0 where that is the head.
        damaged: Option<Damage>;
    }

    /// A session that was found.
    told SessionHit {
        /// The session.
        session: SessionState;
        /// The newest message that has all of the words.
        message_id = "messageId": Option<String>;
        /// Its text around the first of them.
        excerpt: Option<String>;
    }

    /// All sessions, as a list draws them.
    told SessionsSnapshot {
        /// `error`: they could not be read, and `sessions` are those that were known.
        status: ListStatus;
        /// The last changed first. What did not change is the same object as before.
        sessions: Vec<Rc<SessionItem>>;
        /// Why they could not be read.
        error: Option<ErrorInfo>;
    }

    /// A session in a list.
    told SessionItem {
        /// Its id.
        id: String;
        /// Its `display_name`, else the first words that were said in it, else its id.
        title: String;
        /// What goes on in it. `waiting`: for a person. `held`: a page went away in the middle of a run. `failed`: its provider or an
        /// operator has failed it. A session that was launched and has not worked yet is `idle`. `sessions.activity()` tells more of a run.
        activity: ItemActivity;
        /// Something in it waits for a person.
        needs_you = "needsYou": bool;
        /// Something was said in it since a person looked at it. This browser keeps that for the page, in `localStorage`.
        unread: bool;
        /// How it stands.
        session: SessionState;
        /// What its signature says.
        hmac_status: Integrity;
    }

    /// What became of a replay.
    told Replay {
        /// Whether all came out as it is recorded.
        same: bool;
        /// The version that has recorded it.
        package: String;
        /// The first entry that came out otherwise.
        first_difference = "firstDifference": Option<Difference>;
    }

    /// An entry that came out otherwise.
    told Difference {
        /// Which one.
        seq: u64;
        /// As it is recorded.
        stored: JournalRow;
        /// As it was made now; null: no entry was.
        made or null: Option<JournalRow>;
    }

    /// An entry as it stands in a file of `export`. Without `entry`, its content was erased.
    told JournalRow {
        /// Its head.
        row: RowHead;
        /// What it says.
        entry: Option<Map<String, Value>>;
        /// The hash of its content.
        content_hash = "contentHash": String;
        /// Its hash in the chain.
        hash: String;
        /// Its signature.
        mac: Option<String>;
    }

    /// The head of an entry.
    told RowHead {
        /// Its place in the journal.
        seq: u64;
        /// When it was written.
        at: u64;
        /// What kind of entry it is.
        kind: String;
        /// The run that it is of.
        run: Option<String>;
        /// Its format.
        v: u64;
    }

    /// How much is stored.
    told Stored {
        /// Where it is kept.
        kind: StorageKind;
        /// In memory: of this workspace. Else of the whole origin, as the browser estimates it, and 0 where it does not.
        bytes: u64;
        /// 0 where the browser tells of none.
        quota: u64;
        /// Whether the browser has promised not to evict it.
        persisted: bool;
        /// What was stored here before is gone. It stays, over reloads and in every tab, until somebody acknowledges it.
        lost: Option<Loss>;
        /// What each session takes, the largest first, where that was asked for.
        sessions: Option<Vec<SessionSize>>;
        /// What all tasks of `sessions.runOnce` take together, counted in the same way, where there are any.
        tasks: Option<u64>;
    }

    /// What a session takes.
    told SessionSize {
        /// The session.
        id: String;
        /// UTF-8 of its rows and their keys as they lie there (what is pressed as it is pressed), and its files.
        bytes: u64;
    }

    /// What was stored is gone.
    told Loss {
        /// When that was noticed, in milliseconds since the epoch.
        at: u64;
        /// Since when the workspace of this name had something stored, where that is known.
        since: Option<u64>;
    }

    /// A tool that is always allowed in a session.
    told Grant {
        /// The tool's name.
        tool: String;
        /// The session.
        session_id = "sessionId": String;
    }

    /// A model that a provider offers.
    told OfferedModel {
        /// The id that `model` takes.
        id: String;
        /// What its provider calls it.
        name: Option<String>;
    }

    /// What a trial of a key has come to.
    told KeyTrial {
        /// Whether the provider takes it.
        ok: bool;
        /// What is wrong, and what to do.
        error: Option<ErrorInfo>;
    }

    /// What the harness does.
    told Status {
        /// Where it stands.
        lifecycle: Lifecycle;
        /// Whether a run works.
        is_streaming: bool;
    }
}

/// Where the harness stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// No agent runs.
    Stopped,
    /// It begins.
    Starting,
    /// It runs.
    Running,
    /// Its run waits for a person.
    Suspended,
    /// The harness itself is lost, and this is why; start it again.
    Error(String),
}

impl Shape for Lifecycle {
    fn read(value: Value) -> Result<Lifecycle, Misfit> {
        let error = value.get("Error").and_then(Value::as_str);
        Ok(match (value.as_str(), error) {
            (_, Some(error)) => Lifecycle::Error(error.into()),
            (Some("Stopped"), _) => Lifecycle::Stopped,
            (Some("Starting"), _) => Lifecycle::Starting,
            (Some("Running"), _) => Lifecycle::Running,
            (Some("Suspended"), _) => Lifecycle::Suspended,
            _ => return Err(Misfit::new("a lifecycle")),
        })
    }
    fn write(&self) -> Value {
        match self {
            Lifecycle::Stopped => "Stopped".into(),
            Lifecycle::Starting => "Starting".into(),
            Lifecycle::Running => "Running".into(),
            Lifecycle::Suspended => "Suspended".into(),
            Lifecycle::Error(error) => Object::new().text("Error", error).done(),
        }
    }
}
