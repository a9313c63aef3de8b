//! Reads that are under way for sessions, and what is done with their rows.
//!
//! Decides which rows are signed again before anything is made of them. Promises: rows go on to what they were read for,
//! judged; a read that failed is answered to the command that wanted it. Leaves to others: what is read (`holding/`,
//! and the files beside this one), and the pages, whose reads are their own (`pages/`).

use crate::error::ErrorInfo;
use crate::harness::core::Core;
use crate::harness::holding::start;
use crate::harness::sessions;
use crate::harness::{Action, Harness};
use crate::list::Listed;
use crate::maps::Few;
use crate::ports::{Key, Millis, Read, Rows, StoreError};
use crate::protocol::Command;
use crate::session::carry::Reader;

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
    Look(Box<sessions::Waiting>),
    /// Which session the run is of that a command is about.
    Find(Box<sessions::Waiting>),
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

impl Harness {
    pub(in crate::harness) fn read_done(&mut self, read: u64, result: Result<Vec<Rows>, StoreError>) {
        if self.runner.pages.awaits(read) {
            return self.runner.pages.rows_came(&mut self.core, read, result);
        }
        let Some(after) = self.reads.under_way.remove(read) else { return };
        let rows = match result {
            Ok(rows) => rows,
            Err(error) => return self.read_failed(after, &error.info()),
        };
        self.judge_rows(read, after, rows);
    }

    /// Has signed again what is signed among these rows, and goes on with them.
    pub(in crate::harness) fn judge_rows(&mut self, read: u64, after: After, rows: Vec<Rows>) {
        let texts = after.texts_to_judge(&rows);
        if texts.is_empty() {
            return self.rows_read(after, rows, None);
        }
        self.reads.judged.insert(read, (after, rows));
        self.core.outbox.act(Action::Sign { id: read, texts });
    }

    /// Rows are there, and what the signed ones among them sign to now; `None`: nothing can be signed.
    pub(in crate::harness) fn rows_read(
        &mut self,
        after: After,
        rows: Vec<Rows>,
        signatures: Option<Vec<String>>,
    ) {
        let signatures = signatures.as_deref();
        self.core.judge(&after, &rows, signatures);
        match after {
            After::Epoch => self.holding.epoch_read(&mut self.core, &rows),
            After::Around => self.looked_around(&rows),
            After::Load { sessions, files } => self.load(&sessions, &files, &rows),
            After::Account { .. } => {}
            After::Look(waiting) => {
                self.core.by = waiting.by.clone();
                self.look(*waiting, &rows, signatures);
            }
            After::Find(waiting) => self.found(*waiting, &rows),
            After::List { command, of, asked, held } => {
                self.core.heads_read(command, of, (asked, held), &rows)
            }
            After::Arrived { command } => self.reads.arrived(&mut self.core, command, &rows, signatures),
            After::Remains => self.holding.erase_removed(&mut self.core, &mut self.runner, &rows),
            After::Erase { command, session } => {
                for write in rows.iter().take(1).flat_map(|rows| start::erasures(&session, rows)) {
                    self.core.outbox.write(write);
                }
                let files = rows.get(1).into_iter().flatten().map(|(key, _)| key.clone()).list();
                self.runner.sweep_files(&mut self.core, &files);
                self.holding.erased(&mut self.core, &mut self.runner, command, Ok(None));
            }
        }
    }

    pub(in crate::harness) fn read_failed(&mut self, after: After, error: &ErrorInfo) {
        match after {
            After::Epoch | After::Around | After::Load { .. } | After::Remains => {
                self.holding.fail(&mut self.core, &mut self.runner, &mut self.reads, error.clone())
            }
            After::Account { .. } => {}
            After::Look(waiting) | After::Find(waiting) => {
                self.core.reply_now(waiting.command, Err(error.clone()))
            }
            After::List { command, .. } | After::Arrived { command } => {
                self.core.reply_now(command, Err(error.clone()));
            }
            After::Erase { command, .. } => {
                self.holding.erased(&mut self.core, &mut self.runner, command, Err(error.clone()))
            }
        }
    }
}
