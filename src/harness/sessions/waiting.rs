//! Commands that wait for their session to be read.
//!
//! Decides which of them are answered from rows alone. Leaves to others: what is read for them, and what they do.

use crate::harness::{By, Input};
use crate::ports::{Millis, Rows};
use serde_json::Value;

/// A command that waits for its session to be read.
#[derive(Debug)]
pub(in crate::harness) struct Waiting {
    pub command: u32,
    pub session: String,
    pub name: String,
    pub args: Value,
    pub fresh: String,
    pub by: By,
    /// When it was given.
    pub asked: Millis,
    /// Whether another tab works here; `None`: that is not known yet.
    pub held: Option<bool>,
    /// The end of the journal, where no more of it is needed.
    pub tail: Option<Tail>,
    /// Before which row a page of the journal ends; `None`: all is read.
    pub until: Option<u64>,
}

impl Waiting {
    pub fn input(self) -> Input {
        Input::Command { id: self.command, name: self.name, args: self.args, fresh: self.fresh, by: self.by }
    }
}

/// The end of a journal, as far as it was read.
#[derive(Debug, Default)]
pub(in crate::harness) struct Tail {
    /// Up to which row; 0: that is not known yet.
    pub seq: u64,
    /// From which row on.
    pub from: u64,
    pub rows: Rows,
    pub head: Rows,
    pub drafts: Rows,
}

/// Whether a command tells what lies in a journal row by row: then the rows are read, whoever holds the session.
pub(super) fn by_rows(name: &str) -> bool {
    let of = name.strip_prefix("sessions.").unwrap_or_default();
    matches!(of, "journal" | "events" | "receipts" | "handoffs" | "task" | "left" | "export")
}
