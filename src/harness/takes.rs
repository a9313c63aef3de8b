//! A workspace is taken: what is read of it, step by step, until its sessions are at hand. And it is closed.
//!
//! Leaves to others: the lock and the epoch (`holding/`), and what a lost page left (`runner/`).

use crate::harness::Harness;
use crate::harness::action::{Action, Input};
use crate::harness::core::refused::closed;
use crate::harness::core::{DEFAULT_SESSION, Lifecycle};
use crate::harness::holding::start::{Purpose, Start};
use crate::harness::reads::After;
use crate::list::Listed;
use crate::ports::{Key, Millis, Read, Rows, Table};
use crate::session::transitions::Status;

impl Harness {
    /// Reads the journals that are needed at once: the first session's, and those of the runs that have not ended. Those of
    /// sessions that wait for a key too, because the key may be there now or come.
    pub(in crate::harness) fn looked_around(&mut self, rows: &[Rows]) {
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        let mut sessions = vec![DEFAULT_SESSION.to_owned()];
        self.core.take_heads(part(0));
        for (id, head) in self.core.sessions.heads().filter(|(id, _)| *id != DEFAULT_SESSION) {
            let starts = head.record().and_then(|record| record.get("status")?.as_str())
                == Some(Status::Starting.as_str());
            // A view of it shows what waits in it.
            let queue = head.value.get("queue").is_some();
            if starts || queue || head.value.get("run").is_some_and(|run| !run.is_null()) {
                sessions.push(id.into());
            }
        }
        self.runner.vault_read(part(1));
        self.core.sweep_arrival(part(3));
        let files = part(2).iter().map(|(key, _)| key.clone()).list();
        match self.holding.start.as_ref().map(|start| &start.purpose) {
            Some(Purpose::Once(waiting)) => sessions = vec![waiting.session.clone()],
            Some(Purpose::Arrival) => {
                self.runner.sweep_files(&mut self.core, &files);
                return self.holding.let_in(&mut self.core, &mut self.runner);
            }
            Some(Purpose::Sweep) => return self.load(&[], &files, &[]),
            _ => {}
        }
        let of = |session: &String, table| Read::all(table, vec![session.as_str().into()]);
        let tables = [Table::Entries, Table::Heads, Table::Drafts];
        let reads = sessions.iter().flat_map(|session| tables.map(|table| of(session, table))).list();
        // What is left of an arrival goes first.
        self.reads.read_after_commit(&mut self.core, reads, After::Load { sessions, files });
    }

    pub(in crate::harness) fn load(&mut self, sessions: &[String], files: &[Key], rows: &[Rows]) {
        for (session, rows) in sessions.iter().zip(rows.chunks(3)) {
            match self.holding.take_session(&mut self.core, &mut self.runner, session, rows) {
                Ok(()) => {}
                // It is told when somebody asks for it; the others are whole.
                Err(_) if session != DEFAULT_SESSION && sessions.len() > 1 => {}
                Err(error) => {
                    let borrows = |start: &mut Start| matches!(start.purpose, Purpose::Once(_));
                    let Some(Purpose::Once(waiting)) =
                        self.holding.start.take_if(borrows).map(|start| start.purpose)
                    else {
                        return self.holding.fail(&mut self.core, &mut self.runner, &mut self.reads, error);
                    };
                    if let Err(error) = self.reads.not_taken(&mut self.core, &waiting, error) {
                        self.core.reply_now(waiting.command, Err(error));
                        self.holding.give_back(&mut self.core, &mut self.runner);
                    }
                    return;
                }
            }
        }
        self.runner.sweep_files(&mut self.core, files);
        let Some(start) = self.holding.start.take() else { return };
        match start.purpose {
            Purpose::Run { commands, config, over } => {
                self.holding.started(
                    &mut self.core,
                    &mut self.runner,
                    commands,
                    *config,
                    sessions,
                    over.is_some(),
                );
            }
            Purpose::Once(waiting) => {
                // What another tab has said since this one looked is not in its views yet.
                self.runner.calls.tell_histories(&mut self.core);
                self.do_once(*waiting);
            }
            Purpose::Arrival => {}
            Purpose::Sweep => self.reads.look_for_remains(&mut self.core),
        }
    }
}

impl Harness {
    /// A newer version wants the database: what is written is stored, a run at work is held, then all is let go.
    pub fn make_way(&mut self, now: Millis) {
        self.core.set_now(now);
        self.holding.close(&mut self.core, &mut self.runner, None);
    }

    /// Closes once everything is stored. `false`: nothing changed.
    pub(in crate::harness) fn finish_closing(&mut self) -> bool {
        if !self.core.outbox.is_idle() || self.runner.pages.is_committing() {
            return false;
        }
        let Some(command) = self.holding.closing.take() else { return false };
        self.holding.closed = true;
        for (_, input) in std::mem::take(&mut self.deferred) {
            if let Input::Command { id, .. } = input {
                self.core.reply_now(id, Err(closed()));
            }
        }
        self.core.lifecycle = Lifecycle::Stopped;
        self.core.unlock(false);
        if let Some(command) = command {
            self.core.reply_now(command, Ok(None));
        }
        self.core.outbox.act(Action::Close);
        true
    }
}
