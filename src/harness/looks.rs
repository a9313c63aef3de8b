//! A session was read for a command: what follows.
//!
//! Decides what the command is answered from: those rows, what is in our hands held against what is stored, or the
//! session folded anew. Decides also when it is carried out instead, in a session that is taken for it or in a
//! workspace that is borrowed. Promises: a run is found where the row is lost or wrong that says whose it is, because that
//! is a cache. Leaves to others: what is read, and whether it can be believed (`reads/look`).

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::harness::Harness;
use crate::harness::core::about::run_of;
use crate::harness::core::at_hand::run_key;
use crate::harness::core::removed::removed_by;
use crate::harness::core::states::is_once;
use crate::harness::core::tasks::passes;
use crate::harness::core::waits::no_run;
use crate::harness::core::{DEFAULT_SESSION, Lifecycle, stored};
use crate::harness::gate::must_be_shown;
use crate::harness::reads::look::{Stored, folded, load, number};
use crate::harness::reads::{After, Waiting};
use crate::journal::{Entry, Row, pack};
use crate::list::Listed;
use crate::ports::{Key, Part, Read, Rows, Table, Write};
use crate::protocol::{Command, Need, Request, Source};
use crate::session::Session;
use crate::session::record::begun_task;

impl Harness {
    /// The row that says which session a run belongs to was read.
    pub(in crate::harness) fn found(&mut self, mut waiting: Waiting, rows: &[Rows]) {
        let row = rows.first().and_then(|rows| rows.first());
        waiting.session = row.map_or_else(|| DEFAULT_SESSION.into(), |(_, session)| session.clone());
        if !self.core.sessions.has(&waiting.session) || waiting.by_rows() {
            return self.reads.look_at(&mut self.core, waiting);
        }
        if self.is_strange(&waiting) {
            return self.reads.look_at(&mut self.core, Waiting { whole: true, ..waiting });
        }
        let command = waiting.command;
        if let Err(error) = self.dispatch_waiting(waiting) {
            self.core.reply_now(command, Err(error));
        }
    }

    /// Whether the session at hand does not know the run of a command: it goes on from a checkpoint behind that, or the
    /// row is wrong that has led here.
    fn is_strange(&self, waiting: &Waiting) -> bool {
        let knows = |session: &Session| run_of(&waiting.request).is_none_or(|run| session.knows(run));
        self.core.session(&waiting.session).is_some_and(|session| !knows(session))
    }

    /// Whether a command only reads of a run that the session at hand does not know.
    fn has_forgotten(&self, waiting: &Waiting) -> bool {
        waiting.request.need() == Need::Read
            && (self.is_strange(waiting) || self.core.is_earlier(&waiting.request, &waiting.session))
    }

    /// All of a session was read that is at hand without its first runs: it has them from here on.
    fn all_came(&mut self, waiting: Waiting, stored: &Stored) -> Result<(), ErrorInfo> {
        let session = &waiting.session;
        let whole = load(session, &self.core, stored).inspect_err(|error| {
            if error.code == Code::Corrupt {
                stored.set_aside(&mut self.core, session, error);
            }
        })?;
        if !self.core.has_all(whole) {
            // More was written meanwhile.
            self.reads.look_at_all(&mut self.core, waiting);
            return Ok(());
        }
        if self.core.sessions.is_watched(session) {
            self.runner.calls.tell_history(&mut self.core, session);
        }
        self.dispatch_waiting(waiting)
    }

    /// Nothing is stored of the session that a command would read.
    pub(in crate::harness) fn look_at_nothing(&mut self, waiting: Waiting) -> Result<(), ErrorInfo> {
        self.core.by = waiting.by.clone();
        // A start may have come first.
        if self.core.sessions.has(&waiting.session) {
            return self.dispatch_waiting(waiting);
        }
        // Where the head is gone, all that is left may be packed.
        if !waiting.whole {
            self.reads.look_at(&mut self.core, Waiting { whole: true, tail: None, ..waiting });
            return Ok(());
        }
        let Waiting { command, session, request, .. } = &waiting;
        if session != DEFAULT_SESSION {
            return self.answer_nothing(*command, request, session);
        }
        let none = Session::with(session, &self.core.sessions.engine);
        self.runner.calls.answer_look(&mut self.core, *command, &none, request)
    }

    /// No row says whose a run is, or it names a session that does not have it: all sessions are looked through.
    pub(in crate::harness) fn seek(&mut self, waiting: Waiting) {
        // What was read of another session says nothing of this one.
        let waiting = Waiting {
            session: String::new(),
            tail: None,
            from: None,
            until: None,
            window: None,
            whole: false,
            in_part: false,
            sought: true,
            ..waiting
        };
        let after = After::Seek { waiting: Box::new(waiting), rest: Vec::new() };
        self.reads.read_after_commit(&mut self.core, vec![Read::all(Table::Heads, Vec::new())], after);
    }

    /// The next one was read, or all heads were.
    pub(in crate::harness) fn seek_on(&mut self, mut waiting: Waiting, mut rest: Vec<String>, rows: Rows) {
        let run = run_of(&waiting.request).unwrap_or_default();
        if waiting.session.is_empty() {
            rest = rows.into_iter().filter_map(|(key, _)| session_in(&key)).list();
        } else if self.has_begun(&waiting.session, run, rows) {
            if self.core.state.lifecycle == Lifecycle::Running {
                let (table, key) = (Table::Meta, run_key(run));
                self.core.outbox.write(Write::Put { table, key, value: waiting.session.clone() });
            }
            return self.reads.look_at(&mut self.core, waiting);
        }
        let Some(next) = rest.pop() else {
            waiting.session = DEFAULT_SESSION.into();
            return self.reads.look_at(&mut self.core, waiting);
        };
        let read = Read::all(Table::Entries, vec![next.as_str().into()]);
        waiting.session = next;
        let after = After::Seek { waiting: Box::new(waiting), rest };
        self.reads.read_after_commit(&mut self.core, vec![read], after);
    }

    /// Whether a run, or a task, has begun in the session of these rows: a copy of a session has its runs too.
    fn has_begun(&self, session: &str, run: &str, rows: Rows) -> bool {
        let rows = pack::unpacked(rows);
        let is_of = |text: &str| {
            let (header, entry) = Row::from_text(text).ok()?.read().ok()?;
            let task = match &entry {
                Some(Entry::Recorded { what, record }) => {
                    begun_task(what.known(), record, header.run.as_deref())
                }
                _ => None,
            };
            Some(header.run.as_deref() == Some(run) || task.as_deref() == Some(run))
        };
        let mut own = rows.iter().filter(|(_, text)| find::has(text, run) && is_of(text) == Some(true));
        let Some(first) = own.next().and_then(|(key, _)| number(key)) else { return false };
        // Where it is damaged, that is told of.
        !folded(session, &self.core, &rows).is_ok_and(|folded| first <= folded.copied_at())
    }

    /// The session of a command was read.
    pub(in crate::harness) fn look(
        &mut self,
        waiting: Waiting,
        rows: &[Rows],
        signatures: Option<&[String]>,
    ) {
        let of_run = !waiting.sought && run_of(&waiting.request).is_some();
        let again = of_run.then(|| waiting.clone());
        let command = waiting.command;
        let Err(error) = self.looked(waiting, rows, signatures) else { return };
        let is_elsewhere = match error.code {
            Code::RunNotFound | Code::RecordNotFound | Code::SessionNotFound => true,
            Code::NothingToResume => again.as_ref().is_some_and(|again| self.is_strange(again)),
            _ => false,
        };
        match again.filter(|_| is_elsewhere) {
            Some(again) => self.seek(again),
            None => self.core.reply_now(command, Err(error)),
        }
    }

    fn looked(
        &mut self,
        mut waiting: Waiting,
        rows: &[Rows],
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        // What is still being brought in is not there yet.
        let arrives = rows.get(4).is_some_and(|ids| ids.iter().any(|(_, id)| *id == waiting.session));
        let source = waiting.request.command.row().source;
        let whole = waiting.whole || matches!(source, Source::Rows | Source::Journal);
        let stored = Stored::read(if arrives { &[] } else { rows }, whole);
        // A task that is damaged is named, so that something can be done about it.
        let damaged = self.core.sessions.damage(&waiting.session).is_some();
        let head = stored.believed_head(&self.core, &waiting);
        let once = (!damaged && head.is_some_and(is_once), head.is_some_and(passes));
        must_be_shown(&waiting.request, &waiting.session, once)?;
        match source {
            Source::Rows => return self.reads.answer_by_rows(&mut self.core, waiting, &stored, signatures),
            Source::Journal if waiting.request.command == Command::SessionsSalvage => {
                return self.salvage(waiting, &stored, signatures);
            }
            Source::Journal if waiting.request.command == Command::SessionsVerify => {
                let answered = stored.answer_verified(&mut self.core, &waiting, signatures);
                // What waits there has stood still as long as it was taken for changed.
                if self.core.sessions.has(&waiting.session) {
                    self.runner.advance(&mut self.core, &waiting.session);
                }
                return answered;
            }
            Source::Journal => {
                stored.must_be_stored(&self.core, &waiting)?;
                let signed = stored.must_be_as_signed(&self.core, &waiting, signatures);
                let whole = load(&waiting.session, &self.core, &stored);
                return match whole.and_then(|whole| signed.map(|()| whole)) {
                    Ok(whole) => self.fork(waiting, stored.entries(), whole),
                    Err(error) => stored.answer_broken(&mut self.core, &waiting, signatures, error),
                };
            }
            // A start may have come first, and know more than this.
            Source::End if self.core.sessions.has(&waiting.session) => {
                return stored.answer_status(&mut self.core, &waiting, signatures);
            }
            Source::Fold if self.core.reaches_back(&waiting.request, &waiting.session) => {
                return self.all_came(waiting, &stored);
            }
            Source::Fold if self.core.sessions.has(&waiting.session) && !self.has_forgotten(&waiting) => {
                return self.dispatch_waiting(waiting);
            }
            Source::End | Source::Fold => {}
        }
        let in_part = match &waiting.tail {
            None => stored.lacks_rows(&self.core, &waiting.session),
            Some(tail) => tail.seq == 0 && stored.is_open(&self.core, &waiting.session),
        };
        if in_part && !waiting.whole {
            self.reads.look_at(&mut self.core, Waiting { whole: true, tail: None, ..waiting });
            return Ok(());
        }
        if let Some(tail) = waiting.tail.take() {
            let removed = stored.believed_head(&self.core, &waiting).and_then(removed_by);
            self.core.must_be_there(waiting.request.command, &waiting.session, removed)?;
            return match self.reads.look_further(&mut self.core, &self.runner.calls, waiting, tail, rows)? {
                Some((waiting, rows)) => {
                    let stored = Stored::of(&rows);
                    // Another tab may have cleared it between two reads.
                    match load(&waiting.session, &self.core, &stored) {
                        Err(error) if error.code == Code::Corrupt => {
                            self.reads.look_at(&mut self.core, Waiting { whole: true, ..waiting });
                            Ok(())
                        }
                        _ => self.answer_whole(waiting, &stored, None),
                    }
                }
                None => Ok(()),
            };
        }
        self.answer_whole(waiting, &stored, signatures)
    }

    /// All of a session that is not in our hands is there: it is taken to work in it, or only looked at.
    fn answer_whole(
        &mut self,
        waiting: Waiting,
        stored: &Stored,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let session = &waiting.session;
        if stored.entries().is_empty() && stored.head.is_none() && session != DEFAULT_SESSION {
            return self.answer_nothing(waiting.command, &waiting.request, session);
        }
        match waiting.request.need() {
            Need::Read => {
                let calls = &mut self.runner.calls;
                let answered = stored.answer_folded(&mut self.core, calls, &waiting, signatures);
                match (&answered, run_of(&waiting.request)) {
                    // Runs that were over long before the checkpoint are in the packs alone.
                    (Err(_), Some(_)) if !waiting.whole && !stored.is_whole() => {
                        self.reads.look_at(&mut self.core, Waiting { whole: true, ..waiting });
                        Ok(())
                    }
                    _ => answered,
                }
            }
            _ if self.core.state.lifecycle == Lifecycle::Running => {
                // A session is not taken to find that the run is another's.
                if let Some(run) = run_of(&waiting.request).filter(|_| !waiting.sought)
                    && load(session, &self.core, stored).is_ok_and(|folded| !folded.knows(run))
                {
                    return Err(no_run(run));
                }
                self.take_for(waiting, stored)
            }
            Need::Write => self.write_once(waiting, stored, signatures),
            _ => self.dispatch_waiting(waiting),
        }
    }

    /// Nothing is stored of a session: there is none, or all of it is lost. Such a one goes by its name.
    fn answer_nothing(&mut self, command: u32, request: &Request, session: &str) -> Result<(), ErrorInfo> {
        let core = &mut self.core;
        if !core.is_all_lost(session) {
            // Another tab has removed it, whatever was found to be wrong with it before.
            core.forget_integrity(session);
        } else if request.command == Command::SessionsRemove {
            core.forget_session(session);
            core.session_changed(session, "removed");
            core.reply(command, Ok(None));
            return Ok(());
        }
        Err(core.not_stored(request.command, session))
    }

    /// Writes to a session while no agent runs, by borrowing the workspace for it, if there is something to write.
    fn write_once(
        &mut self,
        waiting: Waiting,
        stored: &Stored,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        match load(&waiting.session, &self.core, stored) {
            Ok(folded) => {
                self.core.must_be_there(waiting.request.command, &waiting.session, folded.removed_at())?;
                let empty = folded.runs.is_empty() && !stored::holds_erased(stored.entries());
                if waiting.request.command == Command::ClearConversation && empty {
                    self.core.reply_now(waiting.command, Ok(None));
                } else if self.holding.start.is_some() {
                    // The agent was started meanwhile: it is done then.
                    self.deferred.push((self.core.now, waiting.input()));
                } else {
                    self.holding.borrow_for(&mut self.core, waiting);
                }
                Ok(())
            }
            Err(error)
                if waiting.gives_up() && self.holding.start.is_none() && error.code == Code::Corrupt =>
            {
                self.holding.borrow_for(&mut self.core, waiting);
                Ok(())
            }
            Err(error) => stored.answer_broken(&mut self.core, &waiting, signatures, error),
        }
    }
}

/// The session that a row of heads is of.
fn session_in(key: &Key) -> Option<String> {
    match key.first() {
        Some(Part::Text(id)) => Some(id.clone()),
        _ => None,
    }
}
