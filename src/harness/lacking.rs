//! What waits for a room that arrives when it is needed.
//!
//! Promises: a command is carried out when all rooms that it needs are there, and what was given after it and builds on it
//! comes after it. Rows are as good as not read until their rooms are there. A room that does not come rejects the
//! commands that need it, ends no run, and is asked for again by the next command that needs it. Leaves to others: which
//! rooms are needed (`doors`), and bringing them (the pump).

use crate::error::ErrorInfo;
use crate::harness::Harness;
use crate::harness::action::{Action, Input};
use crate::harness::doors::{OF_FILES, brings_rare_schema, builds_on, have_rare_schema, needed};
use crate::harness::reads::After;
use crate::ports::Millis;
use crate::rooms::{Room, Rooms};

impl Harness {
    /// Asks for the rooms that an input needs. A tab that joins another may go on with its sessions later, without a server:
    /// it brings what that needs, and waits for nothing.
    pub(super) fn ask_for_rooms(&mut self, input: &Input) {
        let joins = matches!(input, Input::Locked(false)) && self.holding.joins();
        let later = Rooms::given(joins, Room::Past);
        self.ask_for(self.lacks(input).and(later));
    }

    /// Asks for those of these rooms that are not there and that nobody has asked for.
    pub(super) fn ask_for(&mut self, rooms: Rooms) {
        for room in rooms.but(self.doors.here).but(self.doors.asked).iter() {
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
                let upkeep = self.runner.pages.needs_upkeep(*read);
                Rooms::given(past, Room::Past).and(Rooms::given(upkeep, Room::Upkeep)).and(rare)
            }
            Input::Gave { .. } => Rooms::of(OF_FILES),
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
        if room == Room::Compaction {
            self.runner.help_came(&mut self.core, result.is_ok());
        }
        self.runner.past |= room == Room::Past && result.is_ok();
        let Err(why) = result else {
            self.doors.here = self.doors.here.and(it);
            return;
        };
        let error = ErrorInfo::absent(&why);
        for (at, input) in std::mem::take(&mut self.deferred) {
            match input {
                _ if !self.lacks(&input).has(room) => self.deferred.push((at, input)),
                Input::Command { id, .. } => self.core.reply_now(id, Err(error.clone())),
                Input::Read { read, .. } if self.runner.pages.awaits(read) => {
                    self.runner.pages.rows_came(&mut self.core, read, Err(error.clone()));
                }
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
