//! Sessions that are read for a command.
//!
//! Decides what is read of a session for it (rows, the journal's end, all of it), and what the answer is made from: those
//! rows, what is in our hands held against what is stored, or the session folded anew. Promises: rows that do not follow
//! each other, or do not lead to where the head says, are told as a broken session and never believed; a read changes
//! nothing. Leaves to others: who may give the command (`gate.rs`), how far back a page of a conversation reaches
//! (`tail.rs`), and taking a session to work in it (`take.rs`).

use crate::error::{Code, ErrorInfo};
use crate::harness::Harness;
use crate::harness::action::Action;
use crate::harness::core::arrival::ARRIVING;
use crate::harness::core::integrity::{Head, changed_event};
use crate::harness::core::refused::{no_session, no_session_for};
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle, stored};
use crate::harness::holding::Holding;
use crate::harness::reads::{After, Reads, Waiting};
use crate::harness::runner::Runner;
use crate::harness::sessions::arrivals;
use crate::harness::sessions::arrivals::PAGE;
use crate::harness::sessions::commands::{is_once, left_by, told_rows};
use crate::harness::sessions::gate::must_be_shown;
use crate::harness::sessions::removal::removed_by;
use crate::harness::sessions::tail::is_a_page;
use crate::journal::canonical::Integrity;
use crate::journal::{Entry, GENESIS, Row};
use crate::json;
use crate::object::Object;
use crate::ports::{Key, Part, Read, Rows, Table};
use crate::protocol::args::whole;
use crate::protocol::{Command, Need, Request, Source};
use crate::session::record::Record;
use crate::session::{Session, record};
use serde_json::Value;

/// How many rows are read at first to find events among them.
const EVENT_ROWS: u64 = 512;

/// What is stored of a session, as it was read for a command: its entries, its head, the drafts of its run.
pub(super) struct Stored<'a> {
    rows: &'a [Rows],
    head: Option<Head>,
}

impl<'a> Stored<'a> {
    pub(super) fn of(rows: &'a [Rows]) -> Stored<'a> {
        let mut stored = Stored { rows, head: None };
        stored.head = stored.head_row().map(Head::parse);
        stored
    }

    fn part(&self, n: usize) -> &'a Rows {
        static NONE: Rows = Rows::new();
        self.rows.get(n).unwrap_or(&NONE)
    }

    pub(super) fn entries(&self) -> &'a Rows {
        self.part(0)
    }

    pub(super) fn head_row(&self) -> Option<&'a str> {
        self.part(1).first().map(|(_, row)| row.as_str())
    }

    pub(super) fn drafts(&self) -> &'a Rows {
        self.part(2)
    }
}

impl Core {
    /// What the head says that was read for a command, unless somebody has changed it.
    fn believed_head<'a>(&self, waiting: &Waiting, stored: &'a Stored) -> Option<&'a Value> {
        self.believed(&waiting.session, stored.head.as_ref()?)
    }

    /// Whether what was signed among these rows is what was written.
    fn must_be_as_signed(
        &self,
        waiting: &Waiting,
        stored: &Stored,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let signed = self.head_integrity(&waiting.session) == Integrity::Verified;
        let changed = changed_event(stored.entries(), signatures, signed);
        changed.map_or(Ok(()), |event| Integrity::Tampered.accept("agent session event", &event))
    }

    /// Whether there is a session of that name to be read, and it was not removed.
    fn must_be_stored<'a>(&self, waiting: &Waiting, stored: &'a Stored) -> Result<&'a Head, ErrorInfo> {
        let Some(head) = &stored.head else {
            return Err(if stored.entries().is_empty() {
                no_session_for(waiting.request.command, &waiting.session)
            } else {
                no_end()
            });
        };
        let removed = self.believed_head(waiting, stored).and_then(removed_by);
        self.must_be_there(waiting.request.command, &waiting.session, removed)?;
        Ok(head)
    }

    /// How a session in our hands stands, held against what is stored of it.
    fn answer_status(
        &mut self,
        waiting: &Waiting,
        stored: &Stored,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let session = &waiting.session;
        let state = self.session(session).and_then(Session::state).ok_or_else(|| no_session(session))?;
        let head = stored.head.as_ref().ok_or_else(|| no_session(session))?;
        let as_written = self.is_as_written(session, head, waiting.asked);
        let signed = self.must_be_as_signed(waiting, stored, signatures);
        // Where the journal ended when it was asked for, it may not end any more.
        let first = stored.entries().first().and_then(|(key, _)| number(key)).unwrap_or(u64::MAX);
        let end = first.min(head.seq());
        if !as_written || signed.and_then(|()| check_chain(stored.entries(), head, end, None)).is_err() {
            self.found_out(session);
        }
        let status = match self.status_by(session, head) {
            Some(stored) if !as_written => stored,
            _ => self.with_integrity(session, state),
        };
        self.reply_value(waiting.command, &status);
        Ok(())
    }

    /// What lies there is not what was written: its status is shown as it is stored, and nothing of it is believed.
    fn answer_broken(
        &mut self,
        waiting: &Waiting,
        stored: &Stored,
        error: ErrorInfo,
    ) -> Result<(), ErrorInfo> {
        self.found_out(&waiting.session);
        let shows = waiting.request.command.row().source == Source::End && error.code == Code::Corrupt;
        let status = stored.head.as_ref().filter(|_| shows);
        let status = status.and_then(|head| self.status_by(&waiting.session, head)).ok_or(error)?;
        self.reply_value(waiting.command, &status);
        Ok(())
    }

    /// A run by its id or its task's: as it was kept, or as it stands.
    fn task(&self, waiting: &Waiting, rows: &[(Key, String)]) -> Result<Value, ErrorInfo> {
        let Waiting { session, request, .. } = waiting;
        let id = request.args().needed("id");
        if let Some(mut left) = left_by(id, rows)? {
            let run =
                left.get_mut("run").filter(|_| request.command == Command::SessionsTask).map(Value::take);
            return Ok(run.map_or(left, |run| self.with_dropped(run)));
        }
        let open = match self.session(session) {
            Some(session) => session.open_task(id),
            None => {
                let texts = rows.iter().map(|(_, text)| text.as_str());
                Session::load(session, &self.engine, texts)?.open_task(id)
            }
        };
        open.map(|run| self.with_dropped(run)).ok_or_else(|| record::unknown("task run", id))
    }

    /// The record of a run, with how much came too late for it while this page has worked on it.
    fn with_dropped(&self, run: Value) -> Value {
        let id = run.get("id").and_then(Value::as_str).unwrap_or_default();
        let dropped = Some(self.runs.dropped(id)).filter(|dropped| *dropped > 0);
        Object::new().maybe("dropped", dropped.map(Value::from)).all(run).done()
    }
}

impl Runner {
    /// Answers from a session that was folded for this and is let go again.
    fn answer_folded(
        &mut self,
        core: &mut Core,
        waiting: &Waiting,
        stored: &Stored,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let Waiting { command, session, request, .. } = waiting;
        let signed = match request.command.row().source {
            Source::End => core.must_be_as_signed(waiting, stored, signatures),
            _ => Ok(()),
        };
        let mut folded = match load(session, core, stored).and_then(|folded| signed.map(|()| folded)) {
            Ok(folded) => folded,
            Err(error) => return core.answer_broken(waiting, stored, error),
        };
        core.must_be_there(request.command, session, folded.removed_at())?;
        // What a lost page left reads as it will once the agent is started; here it is only looked at.
        let working = folded.current().filter(|run| run.working() && waiting.held != Some(true));
        if let Some(run) = working.map(|run| run.id.clone()) {
            let blocks = stored::from_drafts(&run, stored.drafts());
            folded.append(core.now, Some(&run), &Entry::Lost { blocks })?;
        }
        self.calls.answer_look(core, *command, &folded, request)
    }
}

impl Reads {
    /// Reads which session a run belongs to.
    pub(super) fn look_for_run(&mut self, core: &mut Core, run: &str, waiting: Waiting) {
        let row = Read::all(Table::Meta, vec!["run".into(), run.into()]);
        self.read_after_commit(core, vec![row], After::Find(Box::new(waiting)));
    }

    /// Reads as many rows of a journal as a command asks for.
    pub(super) fn look_at_page(&mut self, core: &mut Core, mut waiting: Waiting) {
        let limit = number_in(&waiting.request, "limit");
        // There are other rows between events.
        let rows = match waiting.request.command {
            Command::SessionsExport => Some(PAGE),
            Command::SessionsJournal => limit,
            _ => limit.map(|_| EVENT_ROWS),
        };
        waiting.until = rows.map(|rows| rows_from(&waiting.request).saturating_add(rows));
        self.look_at_rows(core, waiting);
    }

    /// Reads rows of a journal, and its head.
    fn look_at_rows(&mut self, core: &mut Core, waiting: Waiting) {
        // The row before is what the first one follows.
        let from = rows_from(&waiting.request).saturating_sub(1);
        let until = waiting.until;
        self.look_at_entries(core, waiting, Some(from), until);
    }

    /// Reads the whole journal, and its head.
    pub(super) fn look_at_journal(&mut self, core: &mut Core, waiting: Waiting) {
        self.look_at_entries(core, waiting, None, None);
    }

    /// Reads what is stored of a session that is in our hands, where its journal ends: how it stands is known; whether
    /// somebody has changed what is stored, is not.
    pub(super) fn look_at_stored_end(&mut self, core: &mut Core, waiting: Waiting) {
        let seq = core.session(&waiting.session).map(Session::seq);
        self.look_at_entries(core, waiting, seq, None);
    }

    /// What was done before is told with the rest: it is read behind the commits that are on their way.
    fn look_at_entries(&mut self, core: &mut Core, waiting: Waiting, from: Option<u64>, until: Option<u64>) {
        let of = |table| Read::all(table, vec![waiting.session.as_str().into()]);
        let reads = vec![Read { from, until, ..of(Table::Entries) }, of(Table::Heads)];
        self.read_after_commit(core, reads, After::Look(Box::new(waiting)));
    }

    /// What another tab works on is not lost: where no agent runs here, that is asked first.
    pub(super) fn peek(&mut self, core: &mut Core, after: After) {
        if self.peeking.is_empty() {
            core.outbox.act(Action::Peek);
        }
        self.peeking.push(after);
    }

    /// Reads a session that is not in our hands.
    pub(super) fn look_at(&mut self, core: &mut Core, waiting: Waiting) {
        if waiting.held.is_none() && core.lifecycle != Lifecycle::Running {
            return self.peek(core, After::Look(Box::new(waiting)));
        }
        if is_a_page(&waiting) {
            return self.look_at_end(core, waiting);
        }
        let of = |table: Table| Read::all(table, vec![waiting.session.as_str().into()]);
        let arriving = Read::all(Table::Meta, vec![ARRIVING.into()]);
        let reads = vec![of(Table::Entries), of(Table::Heads), of(Table::Drafts), arriving];
        self.read(core, reads, After::Look(Box::new(waiting)));
    }
}

impl Reads {
    /// Answers from the rows of a journal, also where another tab holds the session.
    fn answer_by_rows(
        &mut self,
        core: &mut Core,
        mut waiting: Waiting,
        stored: &Stored,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let head = core.must_be_stored(&waiting, stored)?;
        let Waiting { command, session, request, until, .. } = &waiting;
        let (rows, from, until) = (stored.entries(), rows_from(request), *until);
        // What comes before the change can still be read.
        core.head_integrity(session).accept("agent session state", session)?;
        let signed = core.must_be_as_signed(&waiting, stored, signatures);
        if let Err(error) = signed.and_then(|()| check_chain(rows, head, from.saturating_sub(1), until)) {
            if error.code == Code::Corrupt {
                core.found_out(session);
            }
            return Err(error);
        }
        let before = |(key, _): &&(Key, String)| key.get(1) < Some(&Part::Number(from));
        let shown = rows.get(rows.iter().take_while(before).count()..).unwrap_or_default();
        let limit = number_in(request, "limit");
        let told = match request.command {
            Command::SessionsExport => {
                arrivals::page(request.args(), shown, stored.head_row().unwrap_or_default())?
            }
            Command::SessionsTask | Command::SessionsLeft => core.task(&waiting, shown)?,
            command => told_rows(command, limit, shown)?,
        };
        // Too few of these rows were events, and there are more.
        if let (Some(until), Some(limit)) = (until, limit)
            && until <= head.seq()
            && (json::items(&told).len() as u64) < limit
        {
            waiting.until = Some(from.saturating_add((until - from).saturating_mul(4)));
            self.look_at_rows(core, waiting);
            return Ok(());
        }
        core.reply_now(*command, Ok(Some(json::json(&told))));
        Ok(())
    }
}

impl Holding {
    /// Whether anybody holds the workspace is known.
    pub(in crate::harness) fn peeked(&mut self, core: &mut Core, reads: &mut Reads, held: bool) {
        let elsewhere = held && self.start.is_none() && core.lifecycle != Lifecycle::Running;
        for after in std::mem::take(&mut reads.peeking) {
            match after {
                After::Look(mut waiting) => {
                    waiting.held = Some(elsewhere);
                    reads.look_at(core, *waiting);
                }
                After::List { command, of, .. } => reads.read_heads(core, command, of, elsewhere),
                _ => {}
            }
        }
    }
}

impl Harness {
    /// The row that says which session a run belongs to was read.
    pub(in crate::harness) fn found(&mut self, mut waiting: Waiting, rows: &[Rows]) {
        let row = rows.first().and_then(|rows| rows.first());
        waiting.session = row.map_or_else(|| DEFAULT_SESSION.into(), |(_, session)| session.clone());
        if !self.core.sessions.has(&waiting.session) || waiting.by_rows() {
            return self.reads.look_at(&mut self.core, waiting);
        }
        let command = waiting.command;
        if let Err(error) = self.dispatch_waiting(waiting) {
            self.core.reply_now(command, Err(error));
        }
    }

    /// Nothing is stored of the session that a command would read.
    pub(in crate::harness) fn look_at_nothing(&mut self, waiting: Waiting) -> Result<(), ErrorInfo> {
        self.core.by = waiting.by.clone();
        let Waiting { command, session, request, .. } = &waiting;
        // A start may have come first.
        if self.core.sessions.has(session) {
            return self.dispatch_waiting(waiting);
        }
        if session != DEFAULT_SESSION {
            return Err(no_session_for(request.command, session));
        }
        let none = Session::with(session, &self.core.engine);
        self.runner.calls.answer_look(&mut self.core, *command, &none, request)
    }

    /// The session of a command was read.
    pub(in crate::harness) fn look(
        &mut self,
        waiting: Waiting,
        rows: &[Rows],
        signatures: Option<&[String]>,
    ) {
        let command = waiting.command;
        if let Err(error) = self.looked(waiting, rows, signatures) {
            self.core.reply_now(command, Err(error));
        }
    }

    fn looked(
        &mut self,
        mut waiting: Waiting,
        rows: &[Rows],
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        // What is still being brought in is not there yet.
        let arrives = rows.get(3).is_some_and(|ids| ids.iter().any(|(_, id)| *id == waiting.session));
        let stored = Stored::of(if arrives { &[] } else { rows });
        let once = self.core.believed_head(&waiting, &stored).is_some_and(is_once);
        must_be_shown(&waiting.request, &waiting.session, once)?;
        match waiting.request.command.row().source {
            Source::Rows => return self.reads.answer_by_rows(&mut self.core, waiting, &stored, signatures),
            Source::Journal => {
                self.core.must_be_stored(&waiting, &stored)?;
                let whole = load(&waiting.session, &self.core, &stored)?;
                self.core.must_be_as_signed(&waiting, &stored, signatures)?;
                return self.fork(waiting, stored.entries(), whole);
            }
            // A start may have come first, and know more than this.
            Source::End if self.core.sessions.has(&waiting.session) => {
                return self.core.answer_status(&waiting, &stored, signatures);
            }
            Source::Fold if self.core.sessions.has(&waiting.session) => {
                return self.dispatch_waiting(waiting);
            }
            Source::End | Source::Fold => {}
        }
        if let Some(tail) = waiting.tail.take() {
            self.core.integrity(&waiting.session).accept("agent session state", &waiting.session)?;
            let removed = self.core.believed_head(&waiting, &stored).and_then(removed_by);
            self.core.must_be_there(waiting.request.command, &waiting.session, removed)?;
            return match self.reads.look_further(&mut self.core, &mut self.runner, waiting, tail, rows)? {
                Some((waiting, rows)) => self.answer_whole(waiting, &Stored::of(&rows), None),
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
            return Err(no_session_for(waiting.request.command, session));
        }
        match waiting.request.need() {
            Need::Read => self.runner.answer_folded(&mut self.core, &waiting, stored, signatures),
            _ if self.core.lifecycle == Lifecycle::Running => self.take_for(waiting, stored.rows),
            Need::Write => self.write_once(waiting, stored),
            _ => self.dispatch_waiting(waiting),
        }
    }

    /// Writes to a session while no agent runs, by borrowing the workspace for it, if there is something to write.
    fn write_once(&mut self, waiting: Waiting, stored: &Stored) -> Result<(), ErrorInfo> {
        match load(&waiting.session, &self.core, stored) {
            Ok(folded) => {
                self.core.must_be_there(waiting.request.command, &waiting.session, folded.removed_at())?;
                let empty =
                    folded.runs.is_empty() && stored::erasures(&waiting.session, stored.entries()).is_empty();
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
            // All that can be done with it is to remove it.
            Err(error)
                if waiting.request.command == Command::SessionsRemove
                    && self.holding.start.is_none()
                    && error.code == Code::Corrupt =>
            {
                self.holding.borrow_for(&mut self.core, waiting);
                Ok(())
            }
            Err(error) => self.core.answer_broken(&waiting, stored, error),
        }
    }
}

/// From which row on a command reads.
fn rows_from(request: &Request) -> u64 {
    number_in(request, "from").unwrap_or_default()
}

/// A whole number among the arguments; not all commands that read rows have it.
fn number_in(request: &Request, name: &str) -> Option<u64> {
    request.args().all().get(name).and_then(whole)
}

/// The number of a journal's row, by its key.
fn number(key: &Key) -> Option<u64> {
    match key.get(1) {
        Some(Part::Number(seq)) => Some(*seq),
        _ => None,
    }
}

/// Whether the rows that were read from `from` on and before `until` are all there, follow each other, and lead to where the
/// head says.
fn check_chain(rows: &Rows, head: &Head, from: u64, until: Option<u64>) -> Result<(), ErrorInfo> {
    let first = from.max(1);
    let mut before: Option<(u64, String)> = None;
    for (key, text) in rows {
        let Some(seq) = number(key) else { continue };
        let row = Row::from_text(text)?;
        let follows = match &before {
            Some((last, hash)) => *last + 1 == seq && row.follows(hash),
            None if seq != first => false,
            None if seq == 1 => row.follows(GENESIS),
            // It is there for the one behind it; what is before it is not read.
            None => row.has_its_content(),
        };
        if !follows {
            let message = ["journal row ", &seq.to_string(), " does not follow the one before it"].concat();
            return Err(ErrorInfo::new(Code::Corrupt, message).hint("the database was changed from outside"));
        }
        before = Some((seq, row.hash().into()));
    }
    let last = until.map_or(head.seq(), |until| head.seq().min(until.saturating_sub(1)));
    let end = before.map_or((0, String::new()), |end| end);
    let hash = head.value.get("hash").and_then(Value::as_str);
    let ends = end.0 == last && (last < head.seq() || Some(end.1.as_str()) == hash);
    if ends || first > last { Ok(()) } else { Err(no_end()) }
}

/// Rows are missing, or their head is.
fn no_end() -> ErrorInfo {
    ErrorInfo::new(Code::Corrupt, "the journal's end does not agree with its head")
        .hint("the database was changed from outside: remove the session, or delete the workspace if it is the first one")
}

/// Folds a session's rows and holds them against its head.
pub(super) fn load(id: &str, core: &Core, stored: &Stored) -> Result<Session, ErrorInfo> {
    core.integrity(id).accept("agent session state", id)?;
    let texts = stored.entries().iter().map(|(_, text)| text.as_str());
    let session = Session::load(id, &core.engine, texts)?;
    let record = session.record().map(Record::json);
    if record.as_ref().is_some_and(|record| record.get("id").and_then(Value::as_str) != Some(id)) {
        let error = ErrorInfo::new(Code::Corrupt, "these rows are another session's");
        return Err(error.hint("they were copied in the database: export and import copy a session"));
    }
    let agrees = |head: &Head| session.agrees_with(&head.value) && head.record() == record.as_ref();
    if stored.head.as_ref().map_or(!stored.entries().is_empty(), |head| !agrees(head)) {
        return Err(no_end());
    }
    Ok(session)
}
