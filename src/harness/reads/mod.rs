//! Reads that are under way for sessions, and what each is for.
//!
//! Promises: the heads among rows are judged by their signatures before anything is made of them (`judge`). Leaves to
//! others: what is read (`holding/` and `sessions/`), what its rows lead to (`rows`), and the pages, whose reads are
//! their own (`pages/`).

mod judge;
mod waiting;

use crate::harness::core::Core;
use crate::maps::Few;
use crate::ports::{Key, Millis, Read, Rows};
use crate::protocol::Command;
use crate::session::carry::Reader;
pub(in crate::harness) use waiting::{Tail, Waiting};

/// What a list of all sessions is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::harness) enum Listing {
    Sessions,
    /// With what is known of each one's signature.
    Verified,
    /// What is always allowed in them.
    Grants,
}

/// What is read for sessions, and what is known of it so far.
#[derive(Debug, Default)]
pub(in crate::harness) struct Reads {
    pub under_way: Few<u64, After>,
    /// Rows whose signatures are worked out again.
    pub judged: Few<u64, (After, Vec<Rows>)>,
    /// What waits to hear whether another tab works here.
    pub peeking: Vec<After>,
    /// A file of a session that is being read.
    pub reader: Option<Reader>,
}

/// What a read is for.
#[derive(Debug)]
pub(in crate::harness) enum After {
    /// The epoch and its holder.
    Epoch,
    /// The skills of the account; `starting`: a start waits for them.
    Account { starting: bool },
    /// What there is in a workspace that is taken: heads, names in the vault, files.
    Around,
    /// The journals, heads and drafts of sessions that are taken over.
    Load { sessions: Vec<String>, files: Vec<Key> },
    /// The journal of a session that a command is about.
    Look(Box<Waiting>),
    /// Which session the run is of that a command is about.
    Find(Box<Waiting>),
    /// All heads, to list the sessions.
    List { command: u32, of: Listing, asked: Millis, held: bool },
    /// The head of a session that arrives; nothing was read for it.
    Arrived { command: u32 },
    /// What besides their own rows is left of removed sessions: whose each run is, and the files.
    Remains,
    /// The rows of a cleared conversation.
    Erase { command: u32, session: String },
}

impl After {
    /// Whether a session is folded from the rows.
    pub(in crate::harness) fn folds(&self) -> bool {
        match self {
            After::Load { .. } => true,
            After::Look(waiting) => {
                let command = waiting.request.command;
                !waiting.by_rows() || matches!(command, Command::SessionsTask | Command::SessionsLeft)
            }
            _ => false,
        }
    }
}

impl Reads {
    pub(in crate::harness) fn read(&mut self, core: &mut Core, reads: Vec<Read>, after: After) {
        let id = core.read(reads);
        self.under_way.insert(id, after);
    }

    pub(in crate::harness) fn read_after_commit(&mut self, core: &mut Core, reads: Vec<Read>, after: After) {
        let id = core.read_after_commit(reads);
        self.under_way.insert(id, after);
    }
}
