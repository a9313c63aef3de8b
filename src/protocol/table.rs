//! The table of commands.
//!
//! Decides nothing beyond its rows. Each has what the module needs to know. Behind `=>` is what only tabs, `invoke` and
//! documents ask for (`written.rs`); it is not compiled into a module for the browser. A row begins as what reaches
//! nothing: what it says besides opens that.

/// What a session or a message may have otherwise than the agent's configuration: a spec.
macro_rules! overrides {
    () => {
        "provider? model? reasoning? instructions? tools?* serverTools?* temperature?* maxOutputTokens?# providerOptions?{"
    };
}

/// The same as a spec of its own.
pub const OVERRIDES: &str = overrides!();

use super::Need::{Operator, Read, Recover, Work, Write};
use super::Subject::{Id, IdOrRun, Run, Session, SessionOrRun, Worker};
use super::{Need, Source, Subject};
use crate::rooms::Room::{Carry, Compaction, Memory, More, Pages, Past, Upkeep};
use crate::rooms::{Room, Rooms};

/// What is known of a command.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it is called on the wire.
    pub name: &'static str,
    /// Its arguments, as `args.rs` reads them; `*`: they are a whole that has its own reader; `...` at the end: the others
    /// are those of `sendMessage`.
    pub(super) spec: &'static str,
    /// What it is about.
    pub subject: Subject,
    /// What it needs of that.
    pub need: Need,
    /// From what it is answered.
    pub source: Source,
    /// Whether an agent must run.
    pub runs: bool,
    /// Whether files come with it, which are read first.
    pub files: bool,
    /// Whether it asks whose the session is by itself, in the order of its own checks.
    pub asks: bool,
    /// The rooms that it needs, whatever its arguments are.
    pub rooms: Rooms,
    /// Whether it brings a configuration: its argument `config`, or all of them.
    pub configures: bool,
    /// Whether it never waits for what another command needs: what reads by itself, answers, or ends something.
    pub alone: bool,
    /// Whether it speaks of its session as of an agent.
    pub agents: bool,
    /// Whether it stops what was given before it.
    pub(super) stops: bool,
    /// Whether its arguments are options of a message: one that is unknown may be of a later version.
    pub options: bool,
    /// Whether its arguments go on to `sendMessage`.
    pub(super) says: bool,
}

/// A command that reaches nothing yet.
const fn row(name: &'static str, spec: &'static str) -> Row {
    Row {
        name,
        spec,
        subject: Subject::None,
        need: Need::Nothing,
        source: Source::Fold,
        runs: false,
        files: false,
        asks: false,
        rooms: Rooms::NONE,
        configures: false,
        alone: false,
        agents: false,
        stops: false,
        options: false,
        says: false,
    }
}

impl Row {
    const fn needs(mut self, need: Need) -> Row {
        self.need = need;
        self
    }

    const fn of(mut self, subject: Subject, need: Need) -> Row {
        self.subject = subject;
        self.needs(need)
    }

    const fn from(mut self, source: Source) -> Row {
        self.source = source;
        self
    }

    const fn runs(mut self) -> Row {
        self.runs = true;
        self
    }

    const fn files(mut self) -> Row {
        self.files = true;
        self
    }

    const fn asks(mut self) -> Row {
        self.asks = true;
        self
    }

    const fn within(mut self, room: Room) -> Row {
        self.rooms = self.rooms.and(Rooms::of(room));
        self
    }

    const fn configures(mut self) -> Row {
        self.configures = true;
        self
    }

    const fn alone(mut self) -> Row {
        self.alone = true;
        self
    }

    const fn agents(mut self) -> Row {
        self.agents = true;
        self
    }

    const fn stops(mut self) -> Row {
        self.stops = true;
        self
    }

    const fn options(mut self) -> Row {
        self.options = true;
        self
    }

    const fn says(mut self) -> Row {
        self.says = true;
        self
    }
}

macro_rules! commands {
    ($($(#[doc = $doc:literal])+ $variant:ident = $row:expr => $more:expr;)+) => {
        /// A command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Command {
            $($(#[doc = $doc])+ $variant,)+
        }

        static ROWS: &[Row] = &[$($row,)+];

        impl Command {
            /// All of them, in the order of the table.
            pub const ALL: &[Command] = &[$(Command::$variant,)+];

            /// Its row.
            pub fn row(self) -> &'static Row {
                static NONE: Row = row("", "");
                ROWS.get(self as usize).unwrap_or(&NONE)
            }
        }

        /// What only documents, tabs and `invoke` ask for, of each command in its order.
        #[cfg(not(target_arch = "wasm32"))]
        pub(super) fn more() -> Vec<super::written::More> {
            use super::written::{again, keyed, once, own};
            vec![$($more.done(concat!($($doc),+)),)+]
        }
    };
}

commands! {
    /// Starts the agent.
    StartAgent = row("startAgent", "*").configures()
        => own().takes("the config").invoked("start_agent", "startAgent(*)", "void").takes_all("AgentConfig");
    /// Changes the configuration of the agent that runs.
    ConfigureAgent = row("configureAgent", "*").configures().runs() => again().takes("the patch");
    /// `startAgent` that goes on with what the last holder was at, unless the one of the epoch `after` (0: the last) was
    /// stopped on purpose (`not_running`).
    StandIn = row("standIn", "config?* after?#").configures().within(Past) => own();
    /// The agent that runs in this epoch is left as if the page had closed, at once.
    LetGo = row("letGo", "epoch?#").alone() => own();
    /// Interrupts every run, and stops the agent.
    StopAgent = row("stopAgent", "").stops() => again().invoked("stop_agent", "stopAgent()", "void");
    /// Accepts what a person says, and begins a run. `schema` is `{ json, validate?: { "$fn": n }, wraps? }`, its JSON as text,
    /// because that keeps its order. `wraps`: the value is the only member, `value`.
    SendMessage =
        row("sendMessage", concat!("text replaces? metadata?* context? trusted?* sessionId? idempotencyKey? whenBusy? schema?* files?* ", overrides!()))
            .of(Session, Work).runs().files().asks().options()
        => keyed().begins().gives("`{ runId, status, acceptedAt, wraps? }`")
            .invoked("send_agent_message", "sendMessage(message, {replaces?})", ACCEPTED)
            .says("Resolves once the message is accepted; the answer comes by events.");
    /// Makes an answer anew, with what its message was sent with but for what is said here.
    Regenerate = row("regenerate", concat!("messageId? metadata?* context? trusted?* sessionId? idempotencyKey? schema?* ", overrides!())).within(More).within(Past)
            .of(Session, Work).runs().asks().options()
        => keyed().begins().gives("`{ runId, status, acceptedAt, wraps? }`")
            .invoked("regenerate_agent_message", "regenerate(messageId?)", ACCEPTED);
    /// Has what was said so far summed up: from then on its model is sent the summary in place of it.
    Compact = row("compact", "sessionId? instructions?").within(More).within(Past).within(Compaction).of(Session, Work).runs()
        => once().begins().gives("`{ runId, status, acceptedAt }`")
            .invoked("compact_conversation", "compact({instructions?})", ACCEPTED);
    /// An older version of a message is the conversation again, with what followed it.
    SwitchTo = row("switchTo", "messageId sessionId?").within(More).within(Past).of(Session, Work).runs()
        => again().invoked("switch_to", "switchTo(messageId)", "void");
    /// Takes a message out of the conversation, with its answer and its other versions, and erases them.
    RemoveMessage = row("removeMessage", "messageId sessionId?").within(Past).of(Session, Write)
        => once().invoked("remove_message", "removeMessage(messageId)", "void");
    /// Answers when the run has ended, whatever its outcome.
    Result = row("result", "runId").of(SessionOrRun, Read) => again().waits().gives("`RunResult`");
    /// Interrupts what works in a session. Of a run whose message waits, it removes that message. `command` is the number of a
    /// prompt that waits for its provider's key: nothing else is meant then.
    Interrupt = row("interrupt", "sessionId? runId? command?#").alone().of(Worker, Work).stops()
        => again().invoked("interrupt_agent", "interrupt()", "void");
    /// Goes on with a held run, or after a failed one.
    Resume = row("resume", "sessionId? runId?").of(SessionOrRun, Work).runs()
        => once().begins().gives("`{ runId, status, acceptedAt, wraps? }`");
    /// What was said in a session.
    History = row("history", "sessionId? limit?# before? version?").of(Session, Read)
        => again().gives("`Message[]`").invoked("get_conversation_history", "history({version?})", "Message[]");
    /// Interrupts a session's run, and erases what was said.
    ClearConversation = row("clearConversation", "sessionId?").within(Past).of(Session, Write).stops()
        => once().invoked("clear_conversation", "clearConversation()", "void");
    /// From here on `history`, `message` and `view` messages come for this session.
    Watch = row("watch", "sessionId?").of(Session, Read) => again();
    /// The bytes of a file of a message.
    File = row("file", "fileId").alone().within(Past).needs(Operator) => own().gives("a `Blob`");
    /// Answers when the run has ended, or the time is over.
    Wait = row("wait", "runId timeoutMs?# errorGraceMs?#").of(SessionOrRun, Read)
        => again().waits().gives("`WaitResult`")
            .invoked("agent.wait", "wait(runId, {timeoutMs?: number, errorGraceMs?: number})", "WaitResult");
    /// Gives a message that waits another text.
    QueueEdit = row("queue.edit", "id text").within(More).of(Run, Work).runs() => again();
    /// A message does not wait any more; it was never sent.
    QueueRemove = row("queue.remove", "id").within(More).of(Run, Work).runs() => again();
    /// What is held in a session's queue goes on.
    QueueRelease = row("queue.release", "sessionId?").within(More).of(Session, Work).runs() => again();
    /// Answers a question; it finds its session by the question, and asks whose that is.
    ResolvePermission = row("resolvePermission", "requestId answer reason? pageVersion?1").alone()
        => again().invoked("respond_permission_request",
            "resolvePermission(requestId, answer: PermissionAnswer, {reason?, pageVersion?: number})", "void")
            .says("Answers a question, like `resolvePermission`.");
    /// Gives the agent a tool. Its schema is JSON as text, because that keeps its order; its functions are `{ "$fn": n }`.
    ToolsRegister = row("tools.register", "*")
        => once().takes("`{ name, …, inputSchema, execute?, lookup?, validate?, replace? }`");
    /// Takes a tool away. Whether there was one.
    ToolsUnregister = row("tools.unregister", "name") => once().gives("`boolean`");
    /// Runs a tool for the page's own code.
    ToolsExecute = row("tools.execute", "name args?*").within(More)
        => once().gives("`ToolResult`")
            .invoked("execute_tool", "tools.execute(tool, arguments?: object)", "ToolResult");
    /// Answers a call that was handed to a person; it finds its session by the call, and asks whose that is.
    ToolsResolve = row("tools.resolve", "toolCallId answer?*").alone().within(More) => again();
    /// What is always allowed, in which session.
    ToolsGrants = row("tools.grants", "").within(More).within(Past).needs(Operator) => again().gives("`{ tool, sessionId }[]`");
    /// What was always allowed is not any more.
    ToolsRevoke = row("tools.revoke", "tool sessionId?").within(More).of(Session, Work).runs() => again();
    /// Makes a page.
    PagesCreate = row("pages.create", "title content? parentSlug? slug?").within(Pages) => own().gives("`Page`");
    /// One page.
    PagesRead = row("pages.read", "slug").within(Pages) => own().gives("`Page`");
    /// The tree of pages, or what is below one.
    PagesTree = row("pages.tree", "rootSlug?").within(Pages) => own().gives("`PageNode[]`");
    /// The pages that match best.
    PagesSearch = row("pages.search", "query limit?1").within(Pages) => own().gives("`SearchHit[]`");
    /// Changes a page's content or metadata.
    PagesUpdate = row("pages.update", "slug content? metadata?{ expectedVersion?1").within(Pages) => own().gives("`Page`");
    /// Gives a page another title; links to it follow.
    PagesRename = row("pages.rename", "slug title").within(Pages).within(Upkeep) => own().gives("`Page`");
    /// Puts a page elsewhere in the tree. `parentSlug` is `null` for the top.
    PagesMove = row("pages.move", "slug parentSlug= position?0").within(Pages).within(Upkeep) => own().gives("`Page`");
    /// Puts a page into the trash; of a damaged one what is whole of it.
    PagesDelete = row("pages.delete", "slug").within(Pages) => own();
    /// What is in the trash.
    PagesTrash = row("pages.trash", "").within(Pages).within(Upkeep) => own().gives("`Page[]`");
    /// Takes a page out of the trash, or makes a damaged one anew of what is whole.
    PagesRestore = row("pages.restore", "slug").within(Pages).within(Upkeep) => own().gives("`Page`");
    /// The pages that link to a page.
    PagesBacklinks = row("pages.backlinks", "slug").within(Pages).within(Upkeep) => own().gives("`Page[]`");
    /// What a page links to.
    PagesOutgoingLinks = row("pages.outgoingLinks", "slug").within(Pages).within(Upkeep) => own().gives("`{ title, slug }[]`");
    /// The contents that a page has had.
    PagesVersions = row("pages.versions", "slug limit?1").within(Pages).within(Upkeep) => own().gives("`PageVersion[]`");
    /// What is remembered, the newest first.
    MemoryList = row("memory.list", "limit?1 offset?0 scope?").within(Pages).within(Memory).needs(Operator)
        => again().gives("`Memory[]`");
    /// What is remembered that matches, the best first.
    MemorySearch = row("memory.search", "query limit?1 scope?").within(Pages).within(Memory).needs(Operator)
        => again().gives("`Memory[]`");
    /// Remembers something.
    MemoryAdd = row("memory.add", "text importance?* tags?* scope?").within(Pages).within(Memory).needs(Operator)
        => once().gives("`Memory`");
    /// Changes what is remembered.
    MemoryUpdate = row("memory.update", "id text? importance?* tags?* scope?").within(Pages).within(Memory).needs(Operator)
        => again().gives("`Memory`");
    /// Forgets it.
    MemoryRemove = row("memory.remove", "id scope?").within(Pages).within(Memory).needs(Operator) => once();
    /// From here on this operator works here, or (`null`) nobody.
    // Alone: what is read meanwhile must not be read for the operator of before.
    SetOperator = row("setOperator", "operator?*").alone() => own();
    /// Begins a session.
    SessionsLaunch = row("sessions.launch", concat!("id? displayName? projectId?~ messages?* ", overrides!())).within(More).within(Past).needs(Operator).runs()
        => once().gives("`SessionState`").invoked("session_launch", "sessions.launch(*)", "SessionState")
            .takes_all("NonNullable<Parameters<Sessions[\"launch\"]>[0]>");
    /// `sendMessage` to a session, but exit words stop it: then there is no run.
    SessionsPrompt = row("sessions.prompt", "id text? sessionId?* ...").within(More).of(Id, Work).runs().files().asks().says()
        => keyed().begins().takes("`{ id, text, … }`, as `sendMessage`")
            .gives("`{ runId, status, acceptedAt, wraps? }`, or `{ runId: null }`")
            .invoked("session_prompt", "sessions.prompt(id, prompt)", "{ runId: string | null }");
    /// How a session stands.
    SessionsStatus = row("sessions.status", "id").within(Past).of(Id, Read).from(Source::End)
        => again().gives(VERIFIED_STATE).invoked("session_status", "sessions.status(id)", VERIFIED);
    /// Stops a session; its run is interrupted.
    SessionsStop = row("sessions.stop", "id reason?~").within(More).within(Past).of(Id, Write).asks()
        => once().gives("`SessionState`").invoked("session_stop", "sessions.stop(id, reason?)", "SessionState");
    /// Starts a session again that has stopped or failed.
    SessionsRestart = row("sessions.restart", "id reason?~").within(More).of(Id, Write).asks()
        => once().gives("`SessionState`").invoked("session_restart", "sessions.restart(id, reason?)", "SessionState");
    /// Goes on after a failure, or says that there was one. With the action `reconnect` an agent must run.
    SessionsRecover = row("sessions.recover", "id action?~ reason?~ detail?~").within(More).of(Id, Recover).asks()
        => once().gives("`SessionState`")
            .invoked("session_recover", "sessions.recover(id, {action?, reason?, detail?})", "SessionState");
    /// Puts one session aside; "all" is many of these.
    SessionsBench = row("sessions.bench", "id").agents().within(More).within(Past).of(Id, Write).asks()
        => again().gives("`{ suspended: string[] }`")
            .invoked("session_bench", "sessions.bench(target)", "{ suspended: string[] }");
    /// Takes one session up again; "all" is many of these.
    SessionsPlay = row("sessions.play", "id").agents().within(More).within(Past).of(Id, Write).asks()
        => again().gives("`SessionState`").invoked("session_play", "sessions.play(target)", "SessionState[]");
    /// All sessions, the one that was last changed first.
    SessionsList = row("sessions.list", "withVerification?*").alone().within(More).within(Past).needs(Operator)
        => again().gives("`SessionState[]`, or `{ session, hmac_status }[]`")
            .invoked("session_list", "sessions.list()", "SessionState[]");
    /// How many runs are active under the last holder, those of tasks too: they work, or wait for a person. Stored rows tell it.
    ActiveRuns = row("activeRuns", "").alone().within(More).within(Past) => own().gives("`number`");
    /// Gives a session another name.
    SessionsRename = row("sessions.rename", "id displayName of?").within(More).within(Past).of(Id, Write).asks()
        => again().gives("`SessionState`")
            .invoked("session_rename", "sessions.rename(id, displayName)", "SessionState");
    /// A session goes by these instead of the agent's configuration; what is `null` it has from there again.
    SessionsConfigure = row("sessions.configure", "id config?*").within(More).within(Past).of(Id, Work).runs().asks()
        => again().gives("`SessionState`")
            .invoked("session_configure", "sessions.configure(id, config: Overrides)", "SessionState");
    /// Removes a session, whose run is interrupted.
    SessionsRemove = row("sessions.remove", "id").within(More).within(Past).of(Id, Write).asks()
        => once().invoked("session_remove", "sessions.remove(id)", "void");
    /// Brings a session back that was removed within the last ten seconds.
    SessionsUndoRemove = row("sessions.undoRemove", "id").within(More).within(Past).of(Id, Write).asks()
        => once().gives("`SessionState`").invoked("session_undo_remove", "sessions.undoRemove(id)", "SessionState");
    /// Puts an idle session away: its rows are packed, until a run begins in it.
    SessionsArchive = row("sessions.archive", "id").within(More).within(Past).of(Id, Write)
        => once().gives("`SessionState`").invoked("session_archive", "sessions.archive(id)", "SessionState");
    /// A session's journal.
    SessionsJournal = row("sessions.journal", "id from?# limit?#").within(Past).of(Id, Read).from(Source::Rows)
        => again().gives("`SessionEvent[]`");
    /// A session's events.
    SessionsEvents = row("sessions.events", "id from?# limit?#").within(Past).of(Id, Read).from(Source::Rows)
        => again().gives("`SessionRecordEvent[]`");
    /// What was done in a session.
    SessionsReceipts = row("sessions.receipts", "id").within(Past).of(Id, Read).from(Source::Rows) => again().gives("`Receipt[]`");
    /// What a session's runs have left.
    SessionsHandoffs = row("sessions.handoffs", "id").within(Past).of(Id, Read).from(Source::Rows) => again().gives("`Handoff[]`");
    /// A run by its id, or by its task's.
    SessionsTask = row("sessions.task", "id").within(Past).of(Run, Read).from(Source::Rows)
        => again().gives("`TaskRun`").invoked("session_task", "sessions.task(id)", "TaskRun");
    /// All that a run has left which has ended, by its id or its task's.
    SessionsLeft = row("sessions.left", "id").within(Past).of(Run, Read).from(Source::Rows)
        => again().gives("`{ run, receipts, handoff }`");
    /// One task without a session.
    SessionsRunOnce = row("sessions.runOnce", concat!("text?* files?* metadata?* context?* trusted?* schema?* keep?* ", overrides!())).within(More).within(Past)
            .needs(Operator).runs().files().says()
        => once().begins().takes("as `sendMessage`: `{ text, metadata?, context?, trusted?, schema?, files?, keep? }`")
            .gives("`{ runId, status, acceptedAt, wraps? }`")
            .invoked("run_once", "sessions.runOnce(objective)", "TaskDone");
    /// A page of a session's file; behind the first with what came before it: `from` is its `next`.
    SessionsExport = row("sessions.export", "id from?# last?# hash?").within(Past).of(Id, Read).from(Source::Rows).within(Carry)
        => own().gives("`{ lines, hash, last, next?, files? }`")
            .invoked("session_export", "sessions.export(id, {format?: \"journal\" | \"markdown\" | \"json\" | \"html\"})", "Blob");
    /// Takes a file in: `begin`; `lines` as often as it takes (several with `\n` between); `check`; then, behind
    /// `sessions.admit`, `rows` with `lines`, `file` with its `files`, `done`. Or `cancel`. Of `done` the value is there.
    SessionsImport = row("sessions.import", "step lines? files?*").needs(Operator).files().within(Past).within(Carry)
        => once().gives("`SessionState`").invoked("session_import", "sessions.import(file: Blob)", "SessionState");
    /// Runs a file again: `begin`; `lines` as often as it takes, which says `true` when it went another way, and no more is
    /// needed; `check`, of which the value is there.
    SessionsReplay = row("sessions.replay", "step lines? files?*").needs(Operator).files().within(Past).within(Carry)
        => own().gives("`{ same, firstDifference?, package }`")
            .invoked("session_replay", "sessions.replay(file: Blob)", "Replay");
    /// The file that was checked comes in, under this id.
    SessionsAdmit = row("sessions.admit", "").needs(Write).within(Past).within(Carry) => once().gives("`{ id }`");
    /// What goes on in a session or a run.
    SessionsActivity = row("sessions.activity", "id").agents().within(More).of(IdOrRun, Read)
        => again().gives("`\"streaming\"`, `\"waiting\"` or `\"broken\"`");
    /// What was said in a session or a run, as bytes. The text begins with the letter that the first byte is in, `before` so
    /// many bytes before it.
    SessionsOutput = row("sessions.output", "id from?# tail?#").agents().within(More).of(IdOrRun, Read)
        => again().gives("`{ text, before, offset }`");
    /// From here on `grown` messages come for this session, or no more. They are held back while nobody works here.
    SessionsAttach = row("sessions.attach", "id on?*").within(More) => again();
    /// Makes another session of the beginning of one.
    SessionsFork = row("sessions.fork", "id at?# provider?").of(Id, Write).from(Source::Journal).asks().within(Past).within(Carry)
        => once().gives("`SessionState`")
            .invoked("session_fork", "sessions.fork(id, {at?: number, provider?})", "SessionState");
    /// Makes a whole session of what is whole of a damaged one; with `replace` in its place.
    SessionsSalvage = row("sessions.salvage", "id replace?*").of(Id, Write).from(Source::Journal).asks().within(Past).within(Carry)
        => once().gives("`SessionState`")
            .invoked("session_salvage", "sessions.salvage(id, {replace?: boolean})", "SessionState");
    /// Reads all rows of a session, and says whether they are what was written.
    SessionsVerify = row("sessions.verify", "id").of(Id, Read).from(Source::Journal).within(Past)
        => again().gives("`Verified`").invoked("session_verify", "sessions.verify(id)", "Verified");
    /// Keeps a key in the vault.
    KeysSet = row("keys.set", "provider key").within(More) => own();
    /// Forgets a key.
    KeysRemove = row("keys.remove", "provider").within(More) => own();
    /// Another tab has changed the vault's key of this name: the agent looks for itself, because no key goes from tab to tab.
    KeysLook = row("keys.look", "provider").within(More) => once();
    /// The names of the keys that there are.
    KeysList = row("keys.list", "").alone().within(More) => own().gives("`string[]`");
    /// Tries a provider's key.
    KeysValidate = row("keys.validate", "provider?*").configures().within(More) => own().takes("`{ provider: { kind, … } }`").gives("`{ ok, error? }`");
    /// The models that a provider offers.
    KeysModels = row("keys.models", "provider?*").configures().within(More) => own().takes("`{ provider: { kind, … } }`").gives("`{ id, name? }[]`");
    /// What the agent is configured to ask.
    Settings = row("settings", "")
        => again().gives("`{ api_key_configured, provider, model }`")
            .invoked("get_agent_settings", "settings()", "AgentSettings");
    /// How much is stored.
    Storage = row("storage", "sessions?*").alone().within(More)
        => own().gives("`{ kind, bytes, quota, persisted, lost?, sessions? }`");
    /// The person or the page knows that what was stored is lost: nobody is told any more. Answered as `storage`.
    AcknowledgeLoss = row("acknowledgeLoss", "").alone().within(More) => own().gives("`{ kind, bytes, quota, persisted, lost? }`");
    /// Asks the browser to keep what is stored.
    Persist = row("persist", "").alone() => own().gives("`boolean`");
    /// Writes what has streamed so far at once (`hidden`, `pagehide`).
    Draft = row("draft", "").alone() => own();
    /// Closes the workspace.
    Close = row("close", "").alone().stops() => own();
}

/// What a message is answered that was accepted.
#[cfg(not(target_arch = "wasm32"))]
const ACCEPTED: &str = "{ runId: string; status: \"accepted\"; acceptedAt: number }";
#[cfg(not(target_arch = "wasm32"))]
const VERIFIED: &str = "{ session: SessionState; hmac_status: HmacStatus }";
#[cfg(not(target_arch = "wasm32"))]
const VERIFIED_STATE: &str = "`{ session, hmac_status }`";
