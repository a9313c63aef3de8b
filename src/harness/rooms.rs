//! Rooms that arrive when they are needed.
//!
//! Decides which rooms a command needs, by itself and its arguments, and which ones rows need that were read for it; and
//! what waits while one is on its way. Promises: a command is carried out when all rooms that it needs are there, and what
//! was given after it and builds on it comes after it. Rows are as good as not read until their rooms are there. A room
//! that does not come rejects the commands that need it, ends no run, and is asked for again by the next command that
//! needs it. Leaves to others: which wire needs which room (`model/`), which schema (`tools/schema`), and bringing it (the
//! pump).

use crate::error::{Code, ErrorInfo};
use crate::harness::Harness;
use crate::harness::action::{Action, Input};
use crate::harness::reads::After;
use crate::model::Wire;
use crate::ports::{Millis, Rows};
use crate::protocol::{Command, Need, Request, Subject};
use crate::rooms::{Room, Rooms};
use crate::session::schemas;
use crate::tools::schema::needs_room;
use serde_json::Value;

/// Where the rooms stand.
#[derive(Debug)]
pub(super) struct Doors {
    /// Those that are there.
    here: Rooms,
    /// Those that were asked for and have not come yet.
    asked: Rooms,
}

impl Doors {
    /// Those of a workspace that was just opened.
    pub fn new(page_tools: bool) -> Doors {
        Doors { here: rooms_of(page_tools), asked: Rooms::NONE }
    }
}

impl Harness {
    /// Asks for the rooms that an input needs and that nobody has asked for.
    pub(super) fn ask_for_rooms(&mut self, input: &Input) {
        for room in self.lacks(input).but(self.doors.asked).iter() {
            self.doors.asked = self.doors.asked.and(Rooms::of(room));
            self.core.outbox.act(Action::Room(room));
        }
    }

    /// The rooms that are not there yet and that this input needs.
    pub(super) fn lacks(&self, input: &Input) -> Rooms {
        let here = self.doors.here;
        // Schemas are read for this alone.
        let rare =
            |brings: &dyn Fn() -> bool| Rooms::given(!here.has(Room::Schema) && brings(), Room::Schema);
        match input {
            Input::Command { request: Ok(request), .. } => {
                needed(request).and(rare(&|| brings_rare_schema(request)))
            }
            Input::Read { read, result: Ok(rows) } => {
                let after = self.reads.under_way.get(*read);
                let past = after.is_some_and(|after| self.tells_of_the_past(after, rows));
                let rare = rare(&|| after.is_some_and(After::folds) && have_rare_schema(rows));
                Rooms::given(past, Room::Past).and(rare)
            }
            Input::Account { result: Ok(skills), .. } => Rooms::given(!skills.is_empty(), Room::More),
            _ => Rooms::NONE,
        }
        .but(here)
    }

    /// Whether a room has to come before this input can be taken.
    pub(super) fn lacks_a_room(&self, input: &Input) -> bool {
        !self.lacks(input).is_empty()
    }

    /// Whether a command has to wait for a room, for itself or for one of those that were given `before` it.
    pub(super) fn waits_for_a_room(&self, input: &Input, before: &[(Millis, Input)]) -> bool {
        if self.lacks_a_room(input) {
            return true;
        }
        let Input::Command { request: Ok(request), .. } = input else { return false };
        let holds = |(_, first): &(Millis, Input)| match first {
            Input::Command { request: Ok(first_request), .. } => {
                !self.lacks(first).is_empty() && builds_on(request, first_request)
            }
            _ => false,
        };
        before.iter().any(holds)
    }

    /// A room is there, or it does not come.
    pub(super) fn room_came(&mut self, room: Room, result: Result<(), String>) {
        let it = Rooms::of(room);
        self.doors.asked = self.doors.asked.but(it);
        let Err(why) = result else {
            self.doors.here = self.doors.here.and(it);
            return;
        };
        let error = not_there(&why);
        for (at, input) in std::mem::take(&mut self.deferred) {
            match input {
                _ if !self.lacks(&input).has(room) => self.deferred.push((at, input)),
                Input::Command { id, .. } => self.core.reply_now(id, Err(error.clone())),
                Input::Read { read, .. } | Input::Account { read, .. } => {
                    if let Some(after) = self.reads.under_way.remove(read) {
                        self.not_understood(after, &error);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The error that a room does not come.
pub fn not_there(why: &str) -> ErrorInfo {
    ErrorInfo::new(Code::WasmUnavailable, why)
        .hint("try again; after a deployment of a new version, reload the page")
}

/// The rooms that a command needs: those of its row, and those of the providers that it brings.
fn needed(request: &Request) -> Rooms {
    let (args, row) = (request.args(), request.command.row());
    let config = match request.command {
        Command::StartAgent | Command::ConfigureAgent | Command::KeysValidate | Command::KeysModels => {
            Some(args.all())
        }
        Command::StandIn => args.get("config"),
        _ => None,
    };
    // What comes with a message besides its text, and the queue, are of the room `past`.
    let says = row.files || row.options;
    let has = |name: &&str| says && args.all().get(*name).is_some_and(|given| !given.is_null());
    let past = ["whenBusy", "schema", "files"].iter().any(has);
    config.map_or(Rooms::NONE, of_config).and(row.rooms).and(Rooms::given(past, Room::Past))
}

/// Whether a command brings a schema that few have: that of a tool, of an answer, or those of a session in a file.
fn brings_rare_schema(request: &Request) -> bool {
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
fn have_rare_schema(rows: &[Rows]) -> bool {
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
    // Who may take over from another goes on with what that one has left.
    let follows = config.get("ifRunning").and_then(Value::as_str).is_some_and(|is| is != "reject");
    let skills = config.get("skills").is_some_and(|skills| !skills.is_null());
    let mut rooms = Rooms::given(follows, Room::Past).and(Rooms::given(skills, Room::More));
    for provider in providers {
        let text = |name: &str| provider.get(name).and_then(Value::as_str).unwrap_or_default();
        rooms = rooms.and(Wire::rooms_of(text("kind"), text("preset")));
    }
    rooms
}

/// Whether a command may build on one that was given before it: then it comes after it. What only reads, what a person
/// answers, and what stops or ends something never waits for another's room.
fn builds_on(later: &Request, first: &Request) -> bool {
    let (row, first_row) = (later.command.row(), first.command.row());
    match later.command {
        Command::Interrupt
        | Command::LetGo
        | Command::Draft
        | Command::Close
        | Command::ResolvePermission
        | Command::ToolsResolve
        // What is read meanwhile must not be read for the operator of before.
        | Command::SetOperator
        | Command::File
        | Command::SessionsList
        | Command::KeysList
        | Command::Storage
        | Command::Persist => false,
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
            Subject::Session => Some(text("sessionId").unwrap_or_else(|| super::DEFAULT_SESSION.into())),
            Subject::Id => text("id"),
            _ => None,
        }
    };
    match (of(later), of(first)) {
        (Some(later), Some(first)) => later == first,
        _ => true,
    }
}
