//! Reads that are under way for sessions, and what each is for.
//!
//! Promises: the heads among rows are judged by their signatures before anything is made of them (`judge`). Leaves to
//! others: when it is read (`gate`, `holding/`), what its rows lead to (`rows`), and the pages, whose reads are
//! their own (`pages/`).

mod active;
mod judge;
mod remains;
mod waiting;
pub(in crate::harness) use waiting::{Tail, Waiting};
pub(in crate::harness) mod carried;
pub(in crate::harness) mod list;
pub(in crate::harness) mod look;
pub(in crate::harness) mod sweep;
mod tail;
mod told;

use crate::error::{Code, ErrorInfo};
use crate::harness::action::Action;
use crate::harness::core::{Core, DEFAULT_SESSION, tasks};
use crate::harness::reads::sweep::Then;
use crate::journal::pack;
use crate::list::Listed;
use crate::maps::Few;
use crate::ports::{Key, Millis, Read, Rows, Table};
use crate::prompt;
use crate::prompt::{Scope, Skill};
use crate::protocol::{Command, Source};
use crate::session::Checkpoint;
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
    /// The page of a conversation that was shown last.
    pub shown: Option<tail::Shown>,
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
    Load { sessions: Vec<String>, files: Vec<Key>, whole: Vec<String> },
    /// The journal of a session that a command is about.
    Look(Box<Waiting>),
    /// The head of one, which says where its window begins.
    Head(Box<Waiting>),
    /// Which session the run is of that a command is about.
    Find(Box<Waiting>),
    /// The same, where no row says so: all heads, then the rows of one session after the other.
    Seek { waiting: Box<Waiting>, rest: Vec<String> },
    /// All heads, to list the sessions; of those that should have one and have none (`lacking`) the first rows as well.
    List { command: u32, of: Listing, asked: Millis, held: bool, lacking: Vec<String> },
    /// The epoch and the rows of tasks, to count active runs; then (`epoch`) the heads.
    Active { command: u32, epoch: Option<u64> },
    /// The head of a session that arrives; nothing was read for it.
    Arrived { command: u32 },
    /// What is left of removed sessions.
    Remains(Remains),
    /// The rows of a cleared conversation.
    Erase { command: u32, session: String, place: Option<Checkpoint> },
    /// The heads, to know which of these files no conversation refers to.
    Sweep { files: Vec<Key>, then: Then },
    /// A session that is archived; `command`: who asked for that, if anybody did.
    Archive { command: Option<u32>, session: String, step: Archiving },
}

/// What is read of removed sessions, until nothing is left of them.
#[derive(Debug)]
pub(in crate::harness) enum Remains {
    /// The files there are; `given_up`: of this session, whose rows have gone already.
    Files { given_up: Option<String> },
    /// The rows of the sessions that are to go, which name their runs.
    Rows { gone: Vec<String>, files: Vec<Key> },
    /// Whose each of these runs is.
    Runs { gone: Vec<String>, files: Vec<Key> },
}

/// What is read of a session that is archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::harness) enum Archiving {
    /// Nothing yet: it is looked for the next one.
    Next,
    /// All that it is taken by; the rows in packs too, or those behind the checkpoint.
    Take { whole: bool },
    /// The rows that are packed.
    Pack,
    /// Nothing any more: all is stored.
    LetGo,
}

impl After {
    /// Whether the first rows that are read for it are a session's entries.
    fn reads_entries(&self) -> bool {
        matches!(
            self,
            After::Load { .. }
                | After::Look(_)
                | After::Erase { .. }
                | After::Remains(Remains::Rows { .. })
                | After::Archive { .. }
        )
    }

    /// The rows as if each kind of them were read at once.
    pub(in crate::harness) fn gathered(&self, rows: Vec<Rows>) -> Vec<Rows> {
        match self {
            After::Around | After::List { .. } | After::Sweep { .. } => tasks::joined(rows),
            _ if self.reads_entries() => self.unpacked(rows),
            _ => rows,
        }
    }

    /// The rows as they were before they were packed; of a part of a journal no more than was asked for.
    fn unpacked(&self, mut rows: Vec<Rows>) -> Vec<Rows> {
        if let After::Look(waiting) = self
            && let Some(from) = waiting.from
            && let Some(mut packs) = rows.get_mut(2).map(std::mem::take)
            && let Some(entries) = rows.first_mut()
        {
            entries.append(&mut packs);
            *entries = pack::unpacked(std::mem::take(entries));
            let until = waiting.until.unwrap_or(u64::MAX);
            entries.retain(|(key, _)| look::number(key).is_some_and(|seq| from <= seq && seq < until));
        }
        let every = match self {
            After::Load { .. } => 4,
            After::Remains(_) => 1,
            _ => usize::MAX,
        };
        for entries in rows.iter_mut().step_by(every) {
            *entries = pack::unpacked(std::mem::take(entries));
        }
        rows
    }

    /// Whether a session is folded from the rows.
    pub(in crate::harness) fn folds(&self) -> bool {
        match self {
            After::Load { .. } | After::Archive { .. } | After::Seek { .. } => true,
            After::Look(waiting) => {
                let command = waiting.request.command;
                !waiting.by_rows() || matches!(command, Command::SessionsTask | Command::SessionsLeft)
            }
            _ => false,
        }
    }
}

impl Reads {
    /// Whether a command waits for this session to be read that counts on what it finds.
    pub(in crate::harness) fn await_session(&self, session: &str) -> bool {
        let waits = |after: &After| match after {
            After::Look(waiting) => {
                let reads = waiting.request.command.row().source;
                waiting.session == session && matches!(reads, Source::Fold | Source::End)
            }
            After::Find(_) | After::Seek { .. } => true,
            _ => false,
        };
        self.all().chain(&self.peeking).any(waits)
    }

    /// What rows are read for, those among them whose signatures are worked out.
    pub(in crate::harness) fn all(&self) -> impl Iterator<Item = &After> {
        self.under_way.values().chain(self.judged.values().map(|(after, _)| after))
    }

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
        self.load(core, vec![DEFAULT_SESSION.into()], Vec::new(), Vec::new(), true);
    }

    /// Reads these journals; of some all rows (`whole`), because their checkpoints are of no use. `goes_on`: of the others no more
    /// than what is behind their windows' checkpoints.
    pub(in crate::harness) fn load(
        &mut self,
        core: &mut Core,
        sessions: Vec<String>,
        files: Vec<Key>,
        whole: Vec<String>,
        goes_on: bool,
    ) {
        let of = |session: &String| match core.sessions.head(session).filter(|_| goes_on) {
            Some(head) if !whole.contains(session) => look::behind(session, head.window()),
            _ => look::whole_of(session, whole.contains(session)),
        };
        let reads = sessions.iter().flat_map(of).list();
        // What is left of an arrival goes first.
        self.read_after_commit(core, reads, After::Load { sessions, files, whole });
    }

    /// Reads what is left of the removed sessions, from the files on.
    pub(in crate::harness) fn look_for_remains(&mut self, core: &mut Core, given_up: Option<String>) {
        let after = After::Remains(Remains::Files { given_up });
        self.read_after_commit(core, vec![Read::all(Table::Files, Vec::new())], after);
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
        self.give_up(core, waiting.command, &waiting.session);
        Ok(())
    }

    /// A damaged session goes, and what there is of it besides.
    pub(in crate::harness) fn give_up(&mut self, core: &mut Core, command: u32, session: &str) {
        core.remove_broken(session);
        core.reply(command, Ok(None));
        self.look_for_remains(core, Some(session.into()));
    }
}
