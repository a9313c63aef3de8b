//! What goes into the harness and what comes out of it.
//!
//! Decides which inputs and actions there are. Promises: they are values, so that a browser, a simulator and a Rust app drive
//! the same harness. Leaves to others: when an input is taken (`order`), and doing what an action says (the pump).

use crate::error::ErrorInfo;
use crate::find;
use crate::harness::config::{Function, Http};
use crate::model::{Answer, File};
use crate::ports::{Commit, HttpRequest, Read, Rows, Shelf, StoreError, Write};
use crate::protocol::{Command, Request};
use crate::rooms::Room;
use crate::session::operator::Operator;
use std::rc::Rc;

/// The number of a call to the page or to a model, unique in this instance.
pub type CallKey = u32;

/// Who gives a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The page of this instance, with the operator who works there.
    Here,
    /// Another page of the workspace, with the operator who works there.
    There(Option<Operator>),
}

/// What is to be done with the vault.
#[derive(Clone, PartialEq, Eq)]
pub enum VaultAsk {
    /// Keep this key under this name.
    Set(String, String),
    /// Forget the key of this name.
    Remove(String),
    /// Another tab has changed the key of this name: know it, if there is one.
    Look(String),
    /// Say which names there are.
    List,
}

impl std::fmt::Debug for VaultAsk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            VaultAsk::Set(name, _) | VaultAsk::Remove(name) | VaultAsk::Look(name) => name,
            VaultAsk::List => "list",
        })
    }
}

/// Something that happened outside.
#[derive(Debug)]
pub enum Input {
    /// The page wants something. Answered by one [`Action::Reply`] with the same id.
    Command {
        /// The page's number for it.
        id: u32,
        /// Which, with its arguments; or what is wrong with it, which is the answer then.
        request: Result<Request, ErrorInfo>,
        /// A random text for the ids that it needs.
        fresh: String,
        /// Who gives it.
        by: By,
    },
    /// The lock was granted, or somebody holds it.
    Locked(bool),
    /// There can be no lock here.
    LockFailed(ErrorInfo),
    /// Whether somebody holds the lock.
    Held(bool),
    /// The lock was taken away.
    LockLost,
    /// What came of a commit.
    Committed {
        /// Which one.
        commit: u64,
        /// What came of it.
        result: Result<(), StoreError>,
    },
    /// What a read gave, in the order of its parts.
    Read {
        /// Which one.
        read: u64,
        /// What it gave.
        result: Result<Vec<Rows>, StoreError>,
    },
    /// The signatures of the texts of [`Action::Sign`], one for each; `None`: there is no key.
    Signed {
        /// Which one.
        id: u64,
        /// The signatures, or why the key could not be read.
        result: Result<Option<Vec<String>>, StoreError>,
        /// Whether this key has signed every head that lies here. Then one that it has not signed was changed.
        strict: bool,
    },
    /// The skills of the account, as [`Action::Account`] gave them, of all workspaces, in the order of their names.
    Account {
        /// Which exchange.
        read: u64,
        /// What came of it.
        result: Result<Vec<String>, StoreError>,
    },
    /// What came of [`Action::Exchange`]: the rows, in the order of its reads.
    Exchanged {
        /// Which one.
        id: u64,
        /// What came of it.
        result: Result<Vec<Rows>, StoreError>,
    },
    /// The vault has a key of this name now, or has it no longer.
    Vault {
        /// The name.
        name: String,
        /// Whether it has one.
        held: bool,
    },
    /// A model call is over.
    Answered {
        /// Which one.
        call: CallKey,
        /// The answer, or why there is none and what had come.
        result: Result<Answer, (ErrorInfo, Option<Answer>)>,
    },
    /// A model call was not made, because files that it has to send are not there or are not what was sent.
    FilesGone {
        /// Which one.
        call: CallKey,
        /// The ids of the files.
        files: Vec<String>,
    },
    /// A function of the page is over: the JSON of its value (`None`: undefined), or what it threw.
    Returned {
        /// Which call.
        call: CallKey,
        /// What came of it.
        result: Result<Option<String>, ErrorInfo>,
    },
    /// A tool is over, and has given files: the JSON of its value (`None`: undefined), and what is known of the files. Their
    /// bytes are there for the commit that puts them.
    Gave {
        /// Which call.
        call: CallKey,
        /// Its value.
        json: Option<String>,
        /// What it gave besides.
        files: Vec<File>,
        /// What stands in those that are text, each with the number of its file.
        texts: Vec<(usize, String)>,
    },
    /// A tool tells how far it is.
    Progress {
        /// Which call.
        call: CallKey,
        /// JSON.
        json: String,
    },
    /// A room is there, or why it does not come.
    Room {
        /// Which one.
        room: Room,
        /// What came of it.
        result: Result<(), String>,
    },
    /// There is a network again.
    Online,
    /// A tool or a custom model has said something that nobody waits for any more; it is dropped, and counted.
    Late(CallKey),
    /// Time has passed.
    Tick {
        /// Whether the browser says that it has a network.
        online: bool,
    },
}

impl Input {
    /// Whether a page gives a tool, or takes one back.
    pub(super) fn changes_tools(&self) -> bool {
        let changes =
            |request: &Request| matches!(request.command, Command::ToolsRegister | Command::ToolsUnregister);
        matches!(self, Input::Command { request: Ok(request), .. } if changes(request))
    }
}

/// Something to do outside.
#[derive(Debug)]
pub enum Action {
    /// Answer a command.
    Reply {
        /// Which one.
        id: u32,
        /// JSON text of the value (`None`: undefined), or why not.
        result: Result<Option<String>, ErrorInfo>,
    },
    /// Tell the page.
    Tell(Notice),
    /// Take the lock of the workspace with this name, then say [`Input::Locked`].
    Lock {
        /// The name.
        name: String,
        /// Whether it is taken from its holder: a person has said so.
        steal: bool,
    },
    /// See whether anybody holds the lock of the workspace, then say [`Input::Held`].
    Peek,
    /// Show that an agent runs here in this epoch, until [`Action::Unlock`].
    Announce {
        /// The epoch.
        epoch: u64,
    },
    /// Let the lock of this epoch go.
    Unlock {
        /// The epoch.
        epoch: u64,
        /// Whether the agent was stopped: nobody goes on with it of themselves.
        stopped: bool,
    },
    /// Keep these skills for all workspaces of the origin, in place of what this workspace gave before, then say
    /// [`Input::Account`].
    Account {
        /// Its number.
        id: u64,
        /// This workspace.
        workspace: String,
        /// Their names, and the rows to keep.
        skills: Vec<(String, String)>,
    },
    /// Store this, then say [`Input::Committed`].
    Commit {
        /// Its number.
        id: u64,
        /// What.
        commit: Commit,
    },
    /// Store this at once, beside the commits: nobody waits for it. Drafts, and that a loss is seen.
    Draft {
        /// What.
        writes: Vec<Write>,
    },
    /// Read this in one transaction, then say [`Input::Read`]. Keys of the vault that are among it go to
    /// [`Harness::secrets_mut`](super::Harness::secrets_mut) before that.
    Read {
        /// Its number.
        id: u64,
        /// What.
        reads: Vec<Read>,
    },
    /// Store this, if there is something, then read this, then say [`Input::Exchanged`]. It is of nobody's journal.
    Exchange {
        /// Its number.
        id: u64,
        /// Where.
        shelf: Shelf,
        /// What is stored first.
        commit: Option<Commit>,
        /// What is read then.
        reads: Vec<Read>,
    },
    /// Sign these texts with the key that signs rows, if there is one, then say [`Input::Signed`]: to see whether what is
    /// stored is what was signed.
    Sign {
        /// Its number.
        id: u64,
        /// What.
        texts: Vec<String>,
    },
    /// Call a model; pieces go to [`Harness::delta`](super::Harness::delta), the end is [`Input::Answered`]. Of an answer
    /// over HTTP the head is told first ([`Harness::head`](super::Harness::head)): one that does not stream goes as that
    /// says.
    CallModel {
        /// The call's number.
        call: CallKey,
        /// What to send, and how.
        request: ModelRequest,
    },
    /// Call a function of the page, then say [`Input::Returned`].
    CallPage {
        /// The call's number.
        call: CallKey,
        /// Which function.
        function: Function,
        /// `tool` or `instructions`.
        kind: &'static str,
        /// Its arguments, JSON.
        json: Option<String>,
    },
    /// Abort a call to a model or to the page; what it says later is not awaited.
    Abort(CallKey),
    /// Do this with the vault: say [`Input::Vault`] if it changed, then answer this command (a list by its names).
    Vault {
        /// The command.
        id: u32,
        /// What.
        ask: VaultAsk,
    },
    /// Send this request to a provider. Of its answer all goes to [`Harness::head`](super::Harness::head),
    /// [`body`](super::Harness::body) and [`over`](super::Harness::over).
    Send {
        /// The call's number.
        call: CallKey,
        /// The provider.
        http: Rc<Http>,
        /// What to send.
        request: HttpRequest,
        /// As in [`ModelRequest::Http`].
        refused: bool,
    },
    /// Give the page the bytes of a file, as the answer to this command.
    File {
        /// The command.
        id: u32,
        /// The file's id.
        file: String,
    },
    /// Bring this room, then say [`Input::Room`]. Where all code is in one module, it is there.
    Room(Room),
    /// Say [`Input::Online`] as soon as there is a network.
    AwaitOnline,
    /// Set the marker that says outside the database that something is stored. Nobody waits for it.
    Mark,
    /// Say how much is stored, and what was lost, as the reply to this command.
    Storage {
        /// The command.
        id: u32,
        /// Whether what each session takes is asked for.
        sessions: bool,
        /// Whether it is stored before that that the loss is known ([`loss_known`](super::loss_known)); where it cannot be,
        /// that is the reply.
        known: bool,
    },
    /// Ask the browser to keep the data, as the reply to this command.
    Persist(u32),
    /// The workspace is closed: let everything go. Comes after its reply.
    Close,
}

/// How a model is reached.
#[derive(Debug, PartialEq, Eq)]
pub enum ModelRequest {
    /// By HTTP.
    Http {
        /// Who is asked, with the headers of the page, the key and the page's `fetch`.
        http: Rc<Http>,
        /// What to send.
        request: HttpRequest,
        /// Whether the key was refused that the page's function gave for the same call: then it is asked for another.
        refused: bool,
    },
    /// By a function of the page.
    Custom {
        /// The function.
        stream: Function,
        /// The `ChatRequest`, JSON.
        json: String,
    },
}

impl ModelRequest {
    /// What is sent; where it has the marks of files, those go.
    pub fn text(&self) -> &str {
        match self {
            ModelRequest::Http { request, .. } => &request.body,
            ModelRequest::Custom { json, .. } => json,
        }
    }
}

/// Something the page is told; `js/PROTOCOL.md` has the shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// `{ lifecycle, is_streaming }`.
    Status(String),
    /// `ToolDefinition[]`.
    Tools(String),
    /// An event: its type and its detail.
    Event(&'static str, String),
    /// What the workspace had stored was lost: `{ at, since? }`.
    Lost(String),
    /// A session's conversation; whether there are messages before these.
    History(String, String, bool),
    /// A message that is new or has changed: its session, the number of the first part that is told, and the
    /// message with its parts from there on.
    Message(String, usize, String),
    /// A message that has left the conversation with all that came after it: its session, its id.
    Gone(String, String),
    /// `{ status, error? }` of a session's view.
    View(String, String),
    /// The journal of a session that somebody follows has this many rows now.
    Grown(String, u64),
}

/// The event that tells of what happens to a session.
pub(in crate::harness) const SESSION_CHANGED: &str = "agent:session-changed";

impl Notice {
    /// Whether it tells of a session or of a run of it.
    pub(super) fn is_of_session(&self) -> bool {
        match self {
            Notice::Status(_) | Notice::Tools(_) | Notice::Lost(_) => false,
            Notice::Event(SESSION_CHANGED, _) => true,
            // Within a text the quotes would be escaped.
            Notice::Event(_, detail) => find::has(detail, "\"runId\":"),
            _ => true,
        }
    }
}
