//! The append-only record of a session.
//!
//! Decides the data of every entry, its canonical text, the row it is stored as and the chain of hashes that
//! ties the rows together. Decides what is signed of a record ([`canonical`]), and what is taken out of it before it is
//! written ([`redact`]). Promises: the same entry always gives the same bytes. Erasing a row's content leaves the
//! chain verifiable. An entry of a newer version is a clear error, never dropped. Leaves to others: what an entry
//! means (the fold of `run/` and `session/`) and when it is written (`harness/`).

pub mod canonical;
mod entry;
mod outside;
pub mod pack;
pub mod redact;
mod row;
pub mod sealed;
#[cfg(test)]
mod types;
mod withdrawn;
pub(crate) mod words;
#[cfg(test)]
pub(crate) mod written;

pub use entry::{
    Cause, Entry, OfCall, OfConversation, OfQueue, OfRecord, OfRun, OfSession, Scope, Sums, blocks_from_json,
    blocks_to_json,
};
pub use outside::Outside;
pub use row::{GENESIS, Header, Row};
pub(crate) use row::{hex, sha256};
pub use withdrawn::Withdrawn;
pub use words::{
    Answer, Ask, AskReason, CompactReason, Integrity, Limit, Mode, Outcome, Process, RecordKind, Spender,
    StoppedBy, Verdict, Word, Words,
};

/// The version of the entries' format. A row with a higher one was written by a newer package. Those of version 1 have no
/// short records. Of version 2, the end of a run stands for one receipt more, and answers name no version of a page. Those of version 3 have no summaries.
/// Those of version 4 have their hashes in hexadecimal digits.
pub const FORMAT: u64 = 5;
