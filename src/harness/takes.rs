//! A workspace is taken: what is read of it, step by step, until its sessions are at hand. And it is closed.
//!
//! Leaves to others: the lock and the epoch (`holding/`), and what a lost page left (`runner/`).

use crate::error::{Code, ErrorInfo};
use crate::harness::Harness;
use crate::harness::action::{Action, Input};
use crate::harness::core::refused::closed;
use crate::harness::core::{DEFAULT_SESSION, Lifecycle};
use crate::harness::holding::archiving::pack_again;
use crate::harness::holding::arrivals::begin_anew;
use crate::harness::holding::start::{Aim, Start};
use crate::harness::reads::Waiting;
use crate::harness::reads::look::Stored;
use crate::harness::reads::sweep::Then;
use crate::list::Listed;
use crate::ports::{Key, Millis, Rows, keys};
use crate::session::Session;

impl Harness {
    /// Begins with a session of which nothing is stored.
    pub(in crate::harness) fn begin_first(&mut self, sessions: &[String]) {
        self.core.sessions.take(Session::with(DEFAULT_SESSION, &self.core.sessions.engine));
        if self.core.sessions.is_watched(DEFAULT_SESSION) {
            self.runner.calls.tell_history(&mut self.core, DEFAULT_SESSION);
        }
        self.run_started(sessions);
    }

    /// An agent runs from here on, if that is what the start was for.
    fn run_started(&mut self, sessions: &[String]) -> Option<Aim> {
        match self.holding.start.take()?.aim {
            Aim::Run { commands, config, over } => {
                let over = over.is_some();
                self.holding.started(&mut self.core, &mut self.runner, commands, *config, sessions, over);
                None
            }
            aim => Some(aim),
        }
    }

    /// Reads the journals that are needed at once: the first session's, and those of the runs that have not ended. Those of
    /// sessions that wait for a key too, because the key may be there now or come.
    pub(in crate::harness) fn looked_around(&mut self, rows: &[Rows]) {
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        self.core.sessions.take_heads(part(0));
        self.core.take_over_named(part(5), part(0));
        let mut sessions = Vec::new();
        // An archived one is opened when it is needed, as the others are.
        let first = self.core.sessions.head(DEFAULT_SESSION);
        if first.is_none_or(|head| head.archived_at().is_none() || head.is_open()) {
            sessions.push(DEFAULT_SESSION.to_owned());
        }
        // A view shows what waits in a session.
        let open = self.core.sessions.heads().filter(|(id, head)| *id != DEFAULT_SESSION && head.is_open());
        sessions.extend(open.map(|(id, _)| id.to_owned()));
        sessions.extend(self.core.take_tasks(part(4)));
        self.runner.vault_read(part(1));
        self.core.sweep_arrival(part(3));
        let files = keys(part(2));
        match self.holding.start.as_ref().map(|start| &start.aim) {
            Some(Aim::Once(waiting)) => sessions = vec![waiting.session.clone()],
            Some(Aim::Arrival) => return self.holding.let_in(&mut self.core, &mut self.runner),
            Some(Aim::Sweep) => return self.load(Vec::new(), files, &[], &[]),
            _ => {}
        }
        let goes_on = self.holding.runs_next();
        self.reads.load(&mut self.core, sessions, files, Vec::new(), goes_on);
    }

    pub(in crate::harness) fn load(
        &mut self,
        sessions: Vec<String>,
        files: Vec<Key>,
        whole: &[String],
        rows: &[Rows],
    ) {
        let read = sessions.iter().zip(rows.chunks(4).map(Stored::of)).list();
        let in_part = read.iter().filter(|(id, _)| !whole.contains(id));
        let lacks = in_part.filter(|(id, stored)| stored.lacks_rows(&self.core, id));
        let lacking = lacks.map(|(id, _)| String::clone(id)).list();
        if !lacking.is_empty() {
            let goes_on = self.holding.runs_next();
            return self.reads.load(&mut self.core, sessions, files, lacking, goes_on);
        }
        let mut damaged = Vec::new();
        for &(session, ref stored) in &read {
            let all = (stored, whole.contains(session));
            let taken = self.holding.take_session(&mut self.core, &mut self.runner, session, all);
            let Err(error) = taken else { continue };
            let borrows = |start: &mut Start| matches!(start.aim, Aim::Once(_));
            if let Some(Aim::Once(waiting)) = self.holding.start.take_if(borrows).map(|start| start.aim) {
                if let Err(error) = self.not_taken(&waiting, stored, error) {
                    self.core.reply_now(waiting.command, Err(error));
                    self.holding.give_back(&mut self.core, &mut self.runner);
                }
                return;
            }
            // The others are whole: it is set aside.
            if error.code == Code::Corrupt {
                stored.set_aside(&mut self.core, session, &error);
                damaged.push((session, error));
            } else if session == DEFAULT_SESSION {
                return self.holding.fail(&mut self.core, &mut self.runner, &mut self.reads, error);
            }
        }
        let aim = self.run_started(&sessions);
        for (session, error) in damaged {
            self.core.tell_damaged(session, &error);
        }
        match aim {
            // An archived one was taken only to be erased.
            None => {
                for session in &sessions {
                    pack_again(&mut self.core, &mut self.reads, session);
                }
                self.reads.sweep(&mut self.core, files, Then::Started);
            }
            Some(Aim::Once(waiting)) => {
                // What another tab has said since this one looked is not in its views yet.
                self.runner.calls.tell_histories(&mut self.core);
                self.do_once(*waiting);
            }
            Some(Aim::Sweep) => self.reads.look_for_remains(&mut self.core, None),
            Some(_) => {}
        }
    }

    /// Takes the session of a command, and carries it out.
    pub(in crate::harness) fn take_for(
        &mut self,
        waiting: Waiting,
        stored: &Stored,
    ) -> Result<(), ErrorInfo> {
        let (id, all) = (waiting.session.clone(), (stored, waiting.whole));
        if let Err(error) = self.holding.take_session(&mut self.core, &mut self.runner, &id, all) {
            return self.not_taken(&waiting, stored, error);
        }
        self.runner.start_session(&mut self.core, &id);
        let result = self.dispatch_waiting(waiting);
        self.holding.put_back(&mut self.core, &mut self.reads, &id);
        self.core.let_go_of_idle(&id);
        result
    }

    /// The session of a command is not what was written. Where the first one was given up by that, it begins anew.
    fn not_taken(&mut self, waiting: &Waiting, stored: &Stored, error: ErrorInfo) -> Result<(), ErrorInfo> {
        if error.code == Code::Corrupt {
            stored.set_aside(&mut self.core, &waiting.session, &error);
        }
        self.reads.not_taken(&mut self.core, waiting, error)?;
        if waiting.session == DEFAULT_SESSION {
            begin_anew(&mut self.core, &mut self.runner);
        }
        Ok(())
    }

    /// Does the one thing that a workspace was borrowed for, and lets it go.
    pub(in crate::harness) fn do_once(&mut self, waiting: Waiting) {
        let (command, session) = (waiting.command, waiting.session.clone());
        if let Err(error) = self.dispatch_waiting(waiting) {
            self.core.reply_now(command, Err(error));
        }
        // It goes on until everything is erased, or packed.
        if !self.holding.put_back(&mut self.core, &mut self.reads, &session) {
            self.holding.give_back(&mut self.core, &mut self.runner);
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
        self.core.state.lifecycle = Lifecycle::Stopped;
        self.core.unlock(false);
        if let Some(command) = command {
            self.core.reply_now(command, Ok(None));
        }
        self.core.outbox.act(Action::Close);
        true
    }
}
