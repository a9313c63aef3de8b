//! Which rooms are needed, and which are there.
//!
//! Decides which rooms a command needs, by itself and its arguments, and whether a command builds on another. Leaves to
//! others: which wire needs which room (`model/`), which schema (`tools/schema`), and what waits (`lacking`).

use crate::harness::core::DEFAULT_SESSION;
use crate::model::Wire;
use crate::ports::Rows;
use crate::protocol::{Command, Need, Request, Subject};
use crate::rooms::{Room, Rooms};
use crate::session::{overrides, schemas};
use crate::tools::schema::needs_room;
use serde_json::Value;

/// Where the rooms stand.
#[derive(Debug)]
pub(super) struct Doors {
    /// Those that are there.
    pub here: Rooms,
    /// Those that were asked for and have not come yet.
    pub asked: Rooms,
}

impl Doors {
    /// Those of a workspace that was just opened.
    pub fn new(page_tools: bool) -> Doors {
        Doors { here: rooms_of(page_tools), asked: Rooms::NONE }
    }
}

/// The room without which no files are read, sent or given back.
pub const OF_FILES: Room = Room::Past;

/// The rooms that a command needs: those of its row, and those of the providers that it brings.
pub(super) fn needed(request: &Request) -> Rooms {
    let (args, row) = (request.args(), request.command.row());
    let config = row.configures.then(|| args.all().get("config").unwrap_or(args.all()));
    // What comes with a message besides its text, and the queue, are of the room of files.
    let says = row.files || row.options;
    let has = |name: &&str| says && args.all().get(*name).is_some_and(|given| !given.is_null());
    let past = ["whenBusy", "schema", "files", "replaces"].iter().any(has)
        || says && overrides::are_given(args.all());
    config.map_or(Rooms::NONE, of_config).and(row.rooms).and(Rooms::given(past, OF_FILES))
}

/// Whether a command brings a schema that few have: that of a tool, of an answer, or those of a session in a file.
pub(super) fn brings_rare_schema(request: &Request) -> bool {
    let args = request.args().all();
    let of = |name: &str| args.get(name).unwrap_or(&Value::Null);
    match request.command {
        Command::ToolsRegister => needs_room(of("inputSchema"), schemas::formats(args)),
        Command::SendMessage | Command::Regenerate | Command::SessionsPrompt | Command::SessionsRunOnce => {
            of("schema").get("json").is_some_and(|schema| needs_room(schema, false))
        }
        Command::SessionsImport | Command::SessionsReplay => {
            of("lines").as_str().is_some_and(|lines| lines.split('\n').any(schemas::in_line))
        }
        _ => false,
    }
}

/// Whether there is such a schema in a journal.
pub(super) fn have_rare_schema(rows: &[Rows]) -> bool {
    rows.iter().flatten().any(|(_, row)| schemas::in_row(row))
}

/// The rooms without which no workspace can be opened so. Where its page tools are wanted they are told at once.
pub fn rooms_of(page_tools: bool) -> Rooms {
    Rooms::given(page_tools, Room::Pages)
}

/// What a configuration needs. A provider that is none brings nothing: it is refused when it is read.
fn of_config(config: &Value) -> Rooms {
    let named = config.get("providers").and_then(Value::as_object);
    let providers =
        config.get("provider").into_iter().chain(named.into_iter().flat_map(|named| named.values()));
    // It goes on with what another tab has left.
    let takes_over = config.get("ifRunning").and_then(Value::as_str) == Some("takeover");
    let has = |name: &str| config.get(name).is_some_and(|given| !given.is_null());
    // Its options may name tools that a provider runs, too.
    let past = takes_over || has("serverTools") || has("providerOptions");
    let remembers =
        config.get("memory").is_some_and(|memory| memory.is_object() || *memory == Value::Bool(true));
    let memory = if remembers { Rooms::of(Room::Pages).and(Rooms::of(Room::Memory)) } else { Rooms::NONE };
    let mut rooms = Rooms::given(past, Room::Past).and(Rooms::given(has("skills"), Room::More)).and(memory);
    for provider in providers {
        let text = |name: &str| provider.get(name).and_then(Value::as_str).unwrap_or_default();
        rooms = rooms.and(Wire::rooms_of(text("kind"), text("preset")));
    }
    rooms
}

/// Whether a command may build on one that was given before it: then it comes after it.
pub(super) fn builds_on(later: &Request, first: &Request) -> bool {
    let (row, first_row) = (later.command.row(), first.command.row());
    match later.command {
        _ if row.alone => false,
        // What takes the workspace for a moment was given before it is taken for an agent.
        Command::StartAgent if first.command.borrows() => true,
        // A configuration that comes later finds no agent.
        Command::StopAgent => matches!(first.command, Command::StartAgent | Command::StandIn),
        _ if row.need == Need::Read => false,
        // The agent itself, its tools and its pages; or else one session.
        _ => match (row.subject, first_row.subject) {
            (_, Subject::None) => row.runs || row.subject == Subject::None,
            (Subject::None, _) => false,
            _ => same_session(later, first),
        },
    }
}

/// Whether two commands are about one session, as far as they say so; a run may be of any.
fn same_session(later: &Request, first: &Request) -> bool {
    let of = |request: &Request| {
        let text = |name: &str| request.args().all().get(name).and_then(Value::as_str).map(String::from);
        match request.command.row().subject {
            Subject::Session => Some(text("sessionId").unwrap_or_else(|| DEFAULT_SESSION.into())),
            Subject::Id => text("id"),
            _ => None,
        }
    };
    match (of(later), of(first)) {
        (Some(later), Some(first)) => later == first,
        _ => true,
    }
}
