//! Reads that are under way for sessions, and what each is for.
//!
//! Promises: the heads among rows are judged by their signatures before anything is made of them (`judge`). Leaves to
//! others: when it is read (`gate`, `holding/`), what its rows lead to (`rows`), and the pages, whose reads are
//! their own (`pages/`).

mod judge;
mod waiting;
pub(in crate::harness) use waiting::{Tail, Waiting};
pub(in crate::harness) mod carried;
pub(in crate::harness) mod list;
pub(in crate::harness) mod look;
mod tail;
mod told;

use crate::error::{Code, ErrorInfo};
use crate::harness::action::Action;
use crate::harness::core::{Core, DEFAULT_SESSION};
use crate::list::Listed;
use crate::maps::Few;
use crate::ports::{Key, Millis, Read, Rows, Table};
use crate::prompt;
use crate::prompt::{Scope, Skill};
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

    /// Gives the skills of this configuration to the account, and asks for those of the others.
    pub(in crate::harness) fn give_to_account(&mut self, core: &mut Core, skills: &[Skill], starting: bool) {
        let given = skills.iter().filter(|skill| skill.scope == Scope::Account);
        let skills = given.map(|skill| (skill.name.clone(), prompt::to_row(skill))).list();
        let (id, workspace) = (core.outbox.read_key(), core.options.name.clone());
        self.under_way.insert(id, After::Account { starting });
        core.outbox.act(Action::Account { id, workspace, skills });
    }

    /// Reads the first session of a workspace in which there is none yet: somebody may have begun it meanwhile.
    pub(in crate::harness) fn load_first(&mut self, core: &mut Core) {
        core.sessions.forget_heads();
        self.load(core, vec![DEFAULT_SESSION.into()], Vec::new());
    }

    /// Reads these journals.
    pub(in crate::harness) fn load(&mut self, core: &mut Core, sessions: Vec<String>, files: Vec<Key>) {
        let of = |session: &String, table| Read::all(table, vec![session.as_str().into()]);
        let tables = [Table::Entries, Table::Heads, Table::Drafts];
        let reads = sessions.iter().flat_map(|session| tables.map(|table| of(session, table))).list();
        // What is left of an arrival goes first.
        self.read_after_commit(core, reads, After::Load { sessions, files });
    }

    /// Reads what has to go besides the rows of the removed sessions themselves.
    pub(in crate::harness) fn look_for_remains(&mut self, core: &mut Core) {
        let runs = Read::all(Table::Meta, vec!["run".into()]);
        self.read_after_commit(core, vec![runs, Read::all(Table::Files, Vec::new())], After::Remains);
    }

    /// A session that a command is for is not what was written: the command fails, unless it gives the session up.
    pub(in crate::harness) fn not_taken(
        &mut self,
        core: &mut Core,
        waiting: &Waiting,
        error: ErrorInfo,
    ) -> Result<(), ErrorInfo> {
        if !waiting.gives_up() || error.code != Code::Corrupt {
            return Err(error);
        }
        core.remove_broken(&waiting.session);
        core.reply(waiting.command, Ok(None));
        self.look_for_remains(core);
        Ok(())
    }
}
