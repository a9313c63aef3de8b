//! Sessions in the hands of the harness: who may reach one, what is done with it, and how it is read, kept and carried.
//!
//! - `gate`: which session a command is about, and who may give it.
//! - `look`: how that session is read for it, and what is answered from it.
//! - `take`: how it comes into our hands.
//! - `commands`: launch, status, stop, restart, recover, rename, list, tasks.
//! - `bench`: put aside, and taken up again.
//! - `live`: what goes on, and what was said so far.
//! - `tail`: pages of a conversation, from the end of a journal.
//! - `removal`: removed, until nothing is left.
//! - `arrivals`: export, import and fork.
//!
//! What a session's entries add up to is decided in `session/`, without a store or a command.

mod arrivals;
mod bench;
mod commands;
mod gate;
mod live;
mod look;
mod removal;
mod tail;
mod take;
