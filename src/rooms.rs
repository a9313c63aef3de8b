//! The rooms of the house that arrive when they are needed.
//!
//! Decides which there are. The build makes of each a part of the module of its own, which shares memory and table with
//! the rest (`xtask/src/build/parts/`). Promises: a set of rooms is a few bits, and can be said in a table. Leaves to
//! others: what needs a room (the rows of wires and commands, `harness/doors.rs`), and how it comes (`js/rooms.js`).

macro_rules! rooms {
    ($( $(#[$doc:meta])* $name:ident = $text:literal ;)*) => {
        /// A room that arrives when it is needed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Room { $( $(#[$doc])* $name, )* }

        impl Room {
            /// All of them.
            pub const ALL: &'static [Room] = &[ $( Room::$name, )* ];

            /// The stable name, which is also that of its file.
            pub fn as_str(self) -> &'static str {
                match self { $( Room::$name => $text, )* }
            }
        }
    };
}

rooms! {
    /// Anthropic Messages.
    Anthropic = "anthropic";
    /// OpenAI Chat Completions.
    Chat = "chat";
    /// Ollama's own API.
    Ollama = "ollama";
    /// OpenAI Responses.
    Responses = "responses";
    /// Google's Interactions.
    Gemini = "gemini";
    /// The pages of a workspace, and the tools for them.
    Pages = "pages";
    /// What is done with pages now and then: they are moved and renamed, asked for their links and earlier contents, brought
    /// back from the trash, and put right where they are damaged.
    Upkeep = "upkeep";
    /// Export, import, replay and fork.
    Carry = "carry";
    /// What few JSON Schemas have: references, alternatives, patterns.
    Schema = "schema";
    /// Commands that a plain conversation does without: named sessions, the queue, keys, new versions,
    /// skills, storage, tools for the page's own code.
    More = "more";
    /// What makes a conversation shorter for a model whose window it fills.
    Compaction = "compaction";
    /// What is remembered from one conversation to the next. It stands on the room `pages`, whose search finds memories too.
    Memory = "memory";
    /// What a first conversation of plain text has none of: sessions that are read back, and their record; messages that
    /// wait; files; answers of a form.
    Past = "past";
    /// What a workspace in memory has in place of a database.
    Volatile = "volatile";
}

/// A door is passed into this room. On the host, where all of them are in the module, it is noted.
pub fn enter(room: Room) {
    #[cfg(not(target_arch = "wasm32"))]
    ENTERED.set(ENTERED.get().and(Rooms::of(room)));
    #[cfg(target_arch = "wasm32")]
    let _ = room;
}

/// The rooms that were entered in this thread since this was last asked.
#[cfg(not(target_arch = "wasm32"))]
pub fn entered() -> Rooms {
    ENTERED.take()
}

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    static ENTERED: std::cell::Cell<Rooms> = const { std::cell::Cell::new(Rooms::NONE) };
}

/// Some rooms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rooms(u16);

impl Rooms {
    /// None of them.
    pub const NONE: Rooms = Rooms(0);

    /// This one alone.
    pub const fn of(room: Room) -> Rooms {
        Rooms(1 << room as u16)
    }

    /// This one, if that is so.
    pub const fn given(so: bool, room: Room) -> Rooms {
        if so { Rooms::of(room) } else { Rooms::NONE }
    }

    /// These and those.
    pub const fn and(self, those: Rooms) -> Rooms {
        Rooms(self.0 | those.0)
    }

    /// These but for those.
    pub const fn but(self, those: Rooms) -> Rooms {
        Rooms(self.0 & !those.0)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this one is among them.
    pub const fn has(self, room: Room) -> bool {
        self.0 & Rooms::of(room).0 != 0
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = Room> {
        Room::ALL.iter().copied().filter(move |room| self.has(*room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_rooms() {
        let (one, other) = (Rooms::of(Room::Anthropic), Rooms::of(Room::Responses));
        let both = one.and(other);
        assert_eq!(both.iter().collect::<Vec<_>>(), [Room::Anthropic, Room::Responses]);
        assert!(both.has(Room::Responses) && !both.has(Room::Chat));
        assert_eq!(both.but(one), other);
        assert!(one.but(both).is_empty() && Rooms::NONE.is_empty() && !one.is_empty());
        assert!(Room::ALL.len() <= 16);
    }
}
