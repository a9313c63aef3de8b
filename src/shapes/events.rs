//! What a workspace tells: one event for each thing that has happened.

use super::{FilePart, Loss, Misfit, PageDamage, PermissionRequest, Shape, Status, Usage, shapes};
use crate::error::ErrorInfo;
use crate::journal::words::{CompactReason, words};
use crate::object::Object;
use serde_json::Value;

words! {
    /// What has happened to a call.
    CallStep {
        /// It has begun, or tells how far it is.
        Started = "started",
        /// It has a result.
        Completed = "completed",
        /// It has failed.
        Failed = "failed",
    }
    /// What a piece of an answer is.
    ChunkKind {
        /// Words of the answer.
        Text = "text",
        /// What the model thinks.
        Thinking = "thinking",
        /// The arguments of a call, as JSON, where the tool has `streamArguments`.
        Arguments = "arguments",
    }
    /// Where a run stands.
    Phase {
        /// It has begun.
        Start = "start",
        /// It is over: completed, or interrupted.
        End = "end",
        /// It has failed.
        Error = "error",
    }
    /// What a notice is about.
    NoticeKind {
        /// A model is asked again.
        Retry = "retry",
        /// Another provider takes over.
        Fallback = "fallback",
        /// The browser has no network, and the run waits for it.
        Offline = "offline",
        /// Another tab runs the agent now than before.
        Holder = "holder",
        /// Something that is stored is damaged.
        Damaged = "damaged",
        /// All that the workspace had stored is gone.
        StorageLost = "storage_lost",
        /// Files of the conversation are lost.
        Files = "files",
        /// The conversation becomes shorter for its model.
        Compaction = "compaction",
        /// Tools that the provider runs are not offered.
        ServerTools = "server_tools",
    }
    /// Why tools that the provider runs are not offered.
    LeftOut {
        /// The model's provider does not have them, as far as is known.
        Unsupported = "unsupported",
        /// A rule or a person has not allowed it.
        NotAllowed = "not_allowed",
        /// The page has a tool of that name.
        NameTaken = "name_taken",
    }
    /// How far a conversation has become shorter.
    CompactionPhase {
        /// A model is asked to sum it up.
        Start = "start",
        /// It is shorter.
        End = "end",
        /// It is as it was.
        Failed = "failed",
    }
    /// How it becomes shorter.
    CompactionWay {
        /// Old results of tools are not sent any more, but what stands for them.
        Results = "results",
        /// A summary is sent in place of what was said first.
        Summary = "summary",
    }
    /// What a question has come to.
    Settlement {
        /// This call is allowed.
        AllowOnce = "allow_once",
        /// The tool is allowed.
        AlwaysAllow = "always_allow",
        /// It is not allowed.
        Deny = "deny",
        /// Nobody is asked any more.
        Withdrawn = "withdrawn",
    }
}

shapes! {
    /// In every detail; the run's members where there is a run.
    told Detail {
        /// The workspace.
        workspace: String;
        /// The session.
        session_id = "sessionId": Option<String>;
        /// The run.
        run_id = "runId": Option<String>;
        /// The run that has delegated this one.
        parent_run_id = "parentRunId": Option<String>;
        /// Counts a run's events within one `epoch`.
        seq: Option<u64>;
        /// The holder that tells it: each start of an agent has the next one.
        epoch: Option<u64>;
    }

    /// A run has begun.
    told SessionStarted {
        /// When.
        started_at = "startedAt": u64;
    }

    /// `shown = shown.slice(0, offset) + text` of that part. An answer that is asked for again, by `resume()` or by the run itself,
    /// begins with its first part at offset 0: what was shown of it before is gone then, until the run ends with less (a view does this by
    /// itself).
    told MessageChunk {
        /// The message.
        message_id = "messageId": String;
        /// Which part of it.
        part: u64;
        /// From which place on the part is now this text, in UTF-16 units.
        offset: u64;
        /// The text.
        text: String;
        /// Whether it is said or thought, or what a tool is given.
        kind: ChunkKind;
    }

    /// One `started` a call (again with `progress`), then one `completed` or `failed`.
    told ToolCall {
        /// The call.
        tool_call_id = "toolCallId": String;
        /// Its tool.
        tool: String;
        /// What has happened to it.
        status: CallStep;
        /// What the model gives it.
        arguments: Value;
        /// How far it is, as the tool says it.
        progress: Option<Value>;
        /// What it gave.
        result: Option<Value>;
        /// Why it has failed.
        error: Option<ErrorInfo>;
        /// What the tool gave as files.
        files: Option<Vec<FilePart>>;
    }

    /// A question to a person is answered, or nobody is asked any more.
    told PermissionResolved {
        /// The question.
        request_id = "requestId": String;
        /// `withdrawn`: its run was interrupted, benched or stopped, or a message came in between.
        answer: Settlement;
    }

    /// A run has completed.
    told SessionCompleted {
        /// When.
        ended_at = "endedAt": u64;
        /// The text of the answer.
        text: String;
        /// As JSON, where the run has a `schema`.
        value: Option<Value>;
        /// What it has used up.
        usage: Option<Usage>;
        /// How many model calls it took.
        turns: u64;
    }

    /// A run was interrupted.
    told SessionInterrupted {
        /// When.
        ended_at = "endedAt": u64;
        /// By what.
        reason: String;
    }

    /// One `start` a run in each page, and one `end` (completed or interrupted) or `error`, also when another tab works
    /// or goes on with it. A page that opens later hears the run start when a holder goes on with it: `detail.epoch` is another. An
    /// end that a holder wrote and could tell nobody is told when the next holder is there, without `seq`.
    told RunPhase {
        /// Where the run stands.
        phase: Phase;
        /// When it began.
        started_at = "startedAt": u64;
        /// When it ended.
        ended_at = "endedAt": Option<u64>;
        /// Why it has failed.
        error: Option<ErrorInfo>;
    }

    /// Something has happened to a session. What a run does, its own events tell. Every tab hears it, also where no agent runs.
    told SessionChanged {
        /// The type of an event of `sessions.events()`, as `launched`, `renamed`, `removed`, `restored`, `stopped`, `restarted`,
        /// `recovered`, `failed`, `benched`, `played`, `archived`, `cleared`, `forked`, `imported`, `salvaged`.
        change: String;
    }

    /// Something that a person may want to know. A model is asked again after `delayMs`, as try number `attempt`, or `provider` takes over;
    /// `error` says why. `kind: "offline"`: the browser has no network, and the run waits for it; that counts as no try. A provider on this
    /// machine (`localhost`, `127.…`) needs none, and is asked again as ever. `kind: "holder"`: another tab runs the agent now than
    /// before, or (`holder`) this one; with `error` if it was taken from a tab that did not answer. `kind: "storage_lost"`: all that the
    /// workspace had stored is `lost`. Each page that opens it hears that a task later, until somebody has acknowledged it (`storage()`): listen
    /// before anything else is awaited. `kind: "damaged"`: the agent has started without the session `sessionId`, whose rows are damaged;
    /// `error` says what can be done. Or, without a `sessionId`, these `pages` are damaged, and so many more are `missing` of which
    /// nothing that is stored says the name. `kind: "files"`: these `files` of the conversation are lost. Their ids are told once, the run
    /// goes on, and the model is told in their place. `kind: "compaction"`: the model is sent less of the conversation from here on,
    /// `by` a summary, or by leaving out old results of tools. What `history()` shows stays whole. `kind: "server_tools"`: these
    /// `tools` are not offered in this run, and `because` says why; the run goes on without them.
    told Notice {
        /// What it is about.
        kind: NoticeKind;
        /// The files that are lost.
        files: Option<Vec<String>>;
        /// The tools that are not offered.
        tools: Option<Vec<String>>;
        /// Why they are not.
        because: Option<LeftOut>;
        /// Which try of the answer comes.
        attempt: Option<u64>;
        /// After how many milliseconds.
        delay_ms = "delayMs": Option<u64>;
        /// The provider that takes over.
        provider: Option<String>;
        /// Whether the agent runs in this tab now.
        holder: Option<bool>;
        /// What is gone.
        lost: Option<Loss>;
        /// The pages that are damaged.
        pages: Option<Vec<DamagedPage>>;
        /// How many more are.
        missing: Option<u64>;
        /// How far a conversation has become shorter.
        phase: Option<CompactionPhase>;
        /// How it becomes shorter.
        by: Option<CompactionWay>;
        /// Why it does.
        reason: Option<CompactReason>;
        /// How many tokens it had before, about.
        used: Option<u64>;
        /// How many its model takes, if that is known.
        window: Option<u64>;
        /// Whether what sums up has no room for the oldest part: nothing of that is in the summary.
        left_out = "leftOut": Option<bool>;
        /// Why.
        error: Option<ErrorInfo>;
    }

    /// A page that is damaged.
    told DamagedPage {
        /// Its address.
        slug: String;
        /// What is wrong with it.
        damage = "..": PageDamage;
    }
}

macro_rules! events {
    ($( $(#[doc = $doc:literal])+ $variant:ident($shape:ty) = $name:literal; )+) => {
        /// What has happened.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum What {
            $( $(#[doc = $doc])+ $variant($shape), )+
        }

        impl What {
            /// The names of all events.
            pub const NAMES: &[&str] = &[$($name),+];

            /// What the event is called in the page.
            pub fn name(&self) -> &'static str {
                match self { $( What::$variant(_) => $name, )+ }
            }

            fn read(name: &str, value: Value) -> Result<What, Misfit> {
                match name {
                    $( $name => <$shape>::read(value).map(What::$variant), )+
                    _ => Err(Misfit::new("an event of this version")),
                }
            }

            fn write(&self) -> Value {
                match self { $( What::$variant(shape) => shape.write(), )+ }
            }
        }

        /// The events, each with what its detail has besides [`Detail`].
        #[cfg(test)]
        pub(super) const EVENTS: &[(&str, &str)] = &[$( ($name, stringify!($shape)) ),+];
    };
}

events! {
    /// Where the harness stands is different from before.
    StatusChanged(Status) = "agent:status-changed";
    /// A run has begun.
    SessionStarted(SessionStarted) = "agent:session-started";
    /// A piece of an answer.
    MessageChunk(MessageChunk) = "agent:message-chunk";
    /// Something has happened to a call.
    ToolCall(Box<ToolCall>) = "agent:tool-call";
    /// A person is asked about a call.
    PermissionRequired(Box<PermissionRequest>) = "agent:permission-required";
    /// A question is answered, or nobody is asked any more.
    PermissionResolved(PermissionResolved) = "agent:permission-resolved";
    /// A run has completed.
    SessionCompleted(SessionCompleted) = "agent:session-completed";
    /// A run was interrupted.
    SessionInterrupted(SessionInterrupted) = "agent:session-interrupted";
    /// Something has failed.
    Error(ErrorInfo) = "agent:error";
    /// Where a run stands.
    RunPhase(RunPhase) = "agent:lifecycle";
    /// Something has happened to a session.
    SessionChanged(SessionChanged) = "agent:session-changed";
    /// Something that a person may want to know.
    Notice(Box<Notice>) = "agent:notice";
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where.
    pub detail: Detail,
    /// What has happened.
    pub what: What,
}

impl Event {
    /// Reads the detail of the event of this name.
    ///
    /// # Errors
    /// There is no such event, or the detail has another shape.
    pub fn read(name: &str, detail: Value) -> Result<Event, Misfit> {
        Ok(Event { detail: Detail::read(detail.clone())?, what: What::read(name, detail)? })
    }

    /// What it is called in the page.
    pub fn name(&self) -> &'static str {
        self.what.name()
    }

    /// Its detail as JSON.
    pub fn write(&self) -> Value {
        let mut members = Object::new();
        members.all(self.detail.write()).all(self.what.write()).done()
    }
}
