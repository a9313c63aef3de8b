//! Sessions in the hands of the harness: who may reach one, what is done with it, and how it is read, kept and carried.
//!
//! - `gate`: which session a command is about, who may give it, and how that session is read for it.
//! - `commands`: launch, status, stop, restart, recover, rename, list, tasks.
//! - `tail`: pages of a conversation, from the end of a journal.
//! - `integrity`: signatures of heads and events.
//! - `removal`: removed, until nothing is left.
//! - `carry`: export, import and fork.
//!
//! What a session's entries add up to is decided in `session/`, without a store or a command.

mod carry;
mod commands;
mod gate;
mod integrity;
mod removal;
mod tail;
mod waiting;

pub(super) use carry::{ARRIVING, Arrival};
pub(super) use gate::writes;
pub(super) use integrity::{Head, row_write, signed_head};
pub(super) use waiting::Waiting;
