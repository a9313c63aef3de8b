//! Taking a workspace, and letting it go.
//!
//! The steps of a start: the lock; the epoch, raised in one commit that expects the former one; the journal,
//! folded and checked against its head; what a lost page left, held; the configuration, recorded.

use super::core::Core;
use super::runs::Runner;
use super::sessions::{ARRIVING, Head, Waiting};
use super::{Action, After, Config, DEFAULT_SESSION, Harness, IfRunning, Lifecycle, outbox};
use crate::error::{Code, ErrorInfo};
use crate::journal::{Ask, Entry, Row, StoppedBy, blocks_from_json};
use crate::json;
use crate::list::Listed;
use crate::model::Block;
use crate::ports::{Commit, Durability, Key, Part, Read, Rows, StoreError, Table, Write};
use crate::run::Run;
use crate::session::Session;
use crate::session::transitions::Status;
use serde_json::Value;

/// The row of the table `meta` that says in which format the database is.
pub const FORMAT_KEY: &str = "format";

/// The row that says until which epoch an agent was stopped on purpose.
pub(super) const STOPPED_KEY: &str = "stopped";

/// What that row says.
pub(super) fn stopped_until(row: Option<&str>) -> u64 {
    row.and_then(|row| row.parse().ok()).unwrap_or_default()
}

/// The version of the database's format.
const FORMAT: u64 = crate::journal::FORMAT;

/// Whether a database in this format (the text of the row, if there is one) can be used.
pub fn check_format(stored: Option<&str>) -> Result<(), StoreError> {
    match stored.map(str::parse::<u64>) {
        None => Ok(()),
        Some(Ok(version)) if version <= FORMAT => Ok(()),
        Some(_) => Err(StoreError::Newer),
    }
}

/// The write that says so.
pub(super) fn format_write() -> Write {
    Write::Put { table: Table::Meta, key: vec![FORMAT_KEY.into()], value: FORMAT.to_string() }
}

/// That a start goes on with what another holder was at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    /// It happens only if the holder of this epoch, or where it is 0 the last one, was not stopped on purpose; `None`: a
    /// person wants it.
    pub epoch: Option<u64>,
}

/// What a start is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// To run. Those who joined are answered too.
    Run { commands: Vec<u32>, config: Box<Config>, over: Option<Over> },
    /// To do one thing to a session while nothing runs.
    Once(Box<Waiting>),
    /// To take a session in while nothing runs: over several commands.
    Arrival,
    /// To erase removed sessions while nothing runs.
    Sweep,
}

/// A start on its way.
#[derive(Debug)]
pub(super) struct Start {
    pub purpose: Purpose,
    before: Lifecycle,
    /// The epoch's row as it was read.
    stored_epoch: Option<String>,
    holder: Option<String>,
}

impl Start {
    /// Whether the workspace is only borrowed.
    pub fn borrows(&self) -> bool {
        !matches!(self.purpose, Purpose::Run { .. })
    }
}

impl Core {
    /// What there is of sessions.
    pub(super) fn take_heads(&mut self, rows: &Rows) {
        self.sessions.forget_heads();
        for (key, head) in rows {
            if let Some(Part::Text(id)) = key.first() {
                let head = Head::parse(head);
                let suspended = head.record().and_then(|record| record.get("suspended"));
                let benched = suspended.is_some() && head.value.get("removed").is_none();
                self.sessions.set_benched(id, benched);
                self.sessions.set_head(id, head);
            }
        }
    }
}

impl Runner {
    /// Goes on with the run that a lost page left in a session, if that is this operator's.
    fn go_on_with(&mut self, core: &mut Core, session: &str) {
        let held = core.current(session).filter(|run| run.held).map(|run| run.id.clone());
        let (Some(run), Ok(())) = (held, core.must_own_session(session)) else { return };
        if core.sessions.is_benched(session) {
            return;
        }
        if let (true, Ok(mut args)) = (session != DEFAULT_SESSION, core.as_operator()) {
            args.text("action", "reconnect");
            if self.ask_session(core, session, Ask::Recover, &args.done()).is_err() {
                return;
            }
        }
        self.go_on(core, session, &run);
    }

    /// A run that was at work when its page went away is held, with what the drafts kept of its answer.
    pub(super) fn lose(&mut self, core: &mut Core, session: &str, drafts: &Rows) {
        let Some(run) = core.current(session).filter(|run| run.held || run.working()) else { return };
        // Of a run that was put aside, the tools were waited for that have an effect.
        let is_lost = |part: &&Run| if run.held { part.hangs() } else { part.working() };
        let parts = run.parts().into_iter().filter(is_lost);
        let working: Vec<String> = parts.map(|run| run.id.clone()).list();
        for run in working.into_iter().rev() {
            let blocks = from_drafts(&run, drafts);
            self.append(core, session, Some(&run), &Entry::Lost { blocks });
        }
        // That it has failed is on record before anybody does anything about it.
        let next = |core: &Core| core.session(session).and_then(Session::next);
        while let Some((run, entry @ Entry::Recorded { .. })) = next(core) {
            self.append(core, session, run.as_deref(), &entry);
        }
    }
}

impl Harness {
    pub(super) fn start_agent(
        &mut self,
        command: u32,
        args: &Value,
        over: Option<Over>,
    ) -> Result<(), ErrorInfo> {
        let config = if args.is_null() { Config::default() } else { Config::default().patched(args)? };
        if let Some(Start {
            purpose: Purpose::Run { commands, config: chosen, over: standing },
            stored_epoch,
            ..
        }) = &mut self.start
        {
            // A person who starts it counts more than a tab that would go on by itself and does not have it yet.
            let waits = standing.is_some_and(|over| over.epoch.is_some()) && stored_epoch.is_none();
            let counts_more = waits && over.is_none() && config.if_running != IfRunning::Join;
            if counts_more || config.if_running != IfRunning::Reject {
                if counts_more {
                    (**chosen, *standing) = (config, None);
                }
                commands.push(command);
                return Ok(());
            }
        }
        if self.start.is_some() || self.core.lifecycle == Lifecycle::Running {
            if config.if_running != IfRunning::Reject && self.core.lifecycle == Lifecycle::Running {
                self.core.reply(command, Ok(None));
                return Ok(());
            }
            return Err(already_running("in this page").hint("stop it first, or pass ifRunning: \"join\""));
        }
        self.runner.setup.own_tools_fit(&config)?;
        let purpose = Purpose::Run { commands: vec![command], config: Box::new(config), over };
        self.begin(purpose);
        self.core.lifecycle = Lifecycle::Starting;
        self.core.tell_status();
        self.core.tell_status_changed();
        Ok(())
    }

    pub(super) fn begin(&mut self, purpose: Purpose) {
        self.start =
            Some(Start { purpose, before: self.core.lifecycle.clone(), stored_epoch: None, holder: None });
        // The lock may still be ours until a stop before is stored.
        self.core
            .outbox
            .act_after_commit(Action::Lock { name: self.core.options.name.clone(), steal: false });
    }

    pub(super) fn locked(&mut self, granted: bool) {
        if !granted && self.robs() {
            return self.core.outbox.act(Action::Lock { name: self.core.options.name.clone(), steal: true });
        }
        if let Some(start) = &mut self.start {
            start.holder = (!granted).then(String::new);
            let meta = |key: &str| Read::all(Table::Meta, vec![key.into()]);
            self.reads.read(
                &mut self.core,
                vec![meta("epoch"), meta("holder"), meta(STOPPED_KEY)],
                After::Epoch,
            );
        }
    }

    pub(super) fn epoch_read(&mut self, rows: &[Rows]) {
        let first = |n: usize| rows.get(n).and_then(|rows| rows.first()).map(|(_, text)| text.clone());
        let Some(start) = &mut self.start else { return };
        if start.holder.is_some() {
            let error = already_running(&match first(1) {
                Some(holder) if !holder.is_empty() => format!("in another tab (\"{holder}\")"),
                _ => "in another tab".into(),
            })
            .hint("pass ifRunning: \"join\" to follow it here and go on when that tab is gone, or \"takeover\" to take it");
            if let Some(start) = self.start.take() {
                self.give_up_start(start, &error);
            }
            return;
        }
        self.stopped = stopped_until(first(2).as_deref());
        let stored = first(0);
        let before = stored.as_deref().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        if let Purpose::Run { over: Some(Over { epoch: Some(epoch) }), .. } = start.purpose
            && self.stopped >= if epoch == 0 { before } else { epoch }
        {
            let error = ErrorInfo::new(Code::NotRunning, "the agent was stopped").hint("call startAgent");
            if let Some(start) = self.start.take() {
                self.give_up_start(start, &error);
            }
            return self.core.unlock(false);
        }
        start.stored_epoch = stored;
        self.core.epoch = before + 1;
        let expected = outbox::expect(Table::Meta, vec!["epoch".into()], start.stored_epoch.clone());
        let put = |key: &str, value: String| Write::Put { table: Table::Meta, key: vec![key.into()], value };
        let writes = vec![
            put("epoch", self.core.epoch.to_string()),
            put("holder", self.core.options.holder.clone()),
            format_write(),
        ];
        let commit = Commit { expect: vec![expected], writes, durability: Durability::Strict };
        self.epoch_commit = Some(self.core.outbox.send_alone(self.core.now, commit));
    }

    pub(super) fn epoch_committed(&mut self, result: Result<(), StoreError>) {
        if let Err(error) = result {
            return self.fail(error.info());
        }
        self.start_with_account();
    }

    /// Looks around in the workspace that was taken.
    pub(super) fn look_around(&mut self) {
        let all = |table: Table| Read::all(table, Vec::new());
        let arriving = Read::all(Table::Meta, vec![ARRIVING.into()]);
        self.reads.read(
            &mut self.core,
            vec![all(Table::Heads), all(Table::Keys), all(Table::Files), arriving],
            After::Around,
        );
    }

    /// Reads the journals that are needed at once: the first session's, and those of the runs that have not ended. Those of
    /// sessions that wait for a key too, because the key may be there now or come.
    pub(super) fn looked_around(&mut self, rows: &[Rows]) {
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
        match self.start.as_ref().map(|start| &start.purpose) {
            Some(Purpose::Once(waiting)) => sessions = vec![waiting.session.clone()],
            Some(Purpose::Arrival) => {
                self.runner.sweep_files(&mut self.core, &files);
                return self.let_in();
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

    pub(super) fn load(&mut self, sessions: &[String], files: &[Key], rows: &[Rows]) {
        for (session, rows) in sessions.iter().zip(rows.chunks(3)) {
            match self.take_session(session, rows) {
                Ok(()) => {}
                // It is told when somebody asks for it; the others are whole.
                Err(_) if session != DEFAULT_SESSION && sessions.len() > 1 => {}
                Err(error) => {
                    let borrows = |start: &mut Start| matches!(start.purpose, Purpose::Once(_));
                    let Some(Purpose::Once(waiting)) = self.start.take_if(borrows).map(|start| start.purpose)
                    else {
                        return self.fail(error);
                    };
                    if let Err(error) = self.not_taken(&waiting, error) {
                        self.core.reply_now(waiting.command, Err(error));
                        self.give_back();
                    }
                    return;
                }
            }
        }
        self.runner.sweep_files(&mut self.core, files);
        let Some(start) = self.start.take() else { return };
        match start.purpose {
            Purpose::Run { commands, config, over } => {
                self.started(commands, *config, sessions, over.is_some());
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

    fn started(&mut self, commands: Vec<u32>, config: Config, sessions: &[String], over: bool) {
        let at_work = |id: &&String| over && self.core.sessions.head(id).is_some_and(Head::is_at_work);
        let lost: Vec<String> = sessions.iter().filter(at_work).cloned().list();
        self.runner.take_config(&mut self.core, config);
        self.runner.setup.instructions = None;
        self.core.lifecycle = Lifecycle::Running;
        self.core.outbox.act(Action::Announce { epoch: self.core.epoch });
        for session in sessions.iter().filter(|session| self.core.sessions.has(session)).list() {
            self.runner.record_start(&mut self.core, session);
        }
        self.runner.start_those_with_keys(&mut self.core);
        self.runner.tend_default(&mut self.core, true);
        self.core.outbox.tell_after_commit(self.core.status_notice());
        self.core.status_changed(true);
        self.runner.calls.tell_histories(&mut self.core);
        for command in commands {
            self.core.reply(command, Ok(None));
        }
        for session in sessions {
            self.core.answer_waiters(session);
            // The page that waited for that one task is gone.
            if self.core.session(session).is_some_and(Session::is_once) {
                self.runner.interrupt_session(&mut self.core, session, StoppedBy::Lost, true);
            }
            self.runner.calls.tell_questions_again(&mut self.core, &self.runner.setup, session);
        }
        for session in &lost {
            self.runner.go_on_with(&mut self.core, session);
        }
        if self.runner.setup.config.resume_auto {
            self.runner.go_on_with(&mut self.core, DEFAULT_SESSION);
        }
    }

    /// A start that takes the workspace from its holder, because a person says so.
    fn robs(&mut self) -> bool {
        let Some(Start { purpose: Purpose::Run { config, over, .. }, .. }) = &mut self.start else {
            return false;
        };
        let robs = config.if_running == IfRunning::TakeOver && over.is_none();
        if robs {
            *over = Some(Over { epoch: None });
        }
        robs
    }

    /// Nothing was taken, so everything is as it was before.
    pub(super) fn give_up_start(&mut self, start: Start, error: &ErrorInfo) {
        self.core.lifecycle = start.before.clone();
        self.core.tell_status();
        self.start_failed(start, error);
        self.core.tell_status_changed();
    }

    pub(super) fn start_failed(&mut self, start: Start, error: &ErrorInfo) {
        match start.purpose {
            Purpose::Run { commands, .. } => {
                for command in commands {
                    self.core.reply_now(command, Err(error.clone()));
                }
            }
            Purpose::Once(waiting) => self.core.reply_now(waiting.command, Err(error.clone())),
            Purpose::Arrival => {
                if let Some(command) = self.core.sessions.arrival.take().and_then(|arrival| arrival.waiting) {
                    self.core.reply_now(command, Err(error.clone()));
                }
            }
            // The holder of the workspace does it.
            Purpose::Sweep => self.core.sessions.forget_heads(),
        }
    }

    pub(super) fn stop_agent(&mut self, command: u32) -> Result<(), ErrorInfo> {
        match self.core.lifecycle {
            Lifecycle::Running => {
                let sessions: Vec<String> = self.core.sessions.ids();
                for session in &sessions {
                    // What is put aside stays where it is.
                    if !self.core.sessions.is_benched(session) {
                        self.runner.interrupt_session(&mut self.core, session, StoppedBy::Stop, true);
                    }
                }
                for session in &sessions {
                    let grants = self.core.session(session).is_some_and(|session| !session.grants.is_empty());
                    if grants || session == DEFAULT_SESSION {
                        self.runner.append(&mut self.core, session, None, &Entry::Stopped {});
                    }
                }
                // The others are told when they are next taken.
                let (key, value) = (vec![STOPPED_KEY.into()], self.core.epoch.to_string());
                self.core.outbox.write(Write::Put { table: Table::Meta, key, value });
                self.core.outbox.strictly();
                self.release();
                self.core.outbox.tell_after_commit(self.core.status_notice());
                self.core.status_changed(true);
                // Other tabs hear the rest before they look for somebody else.
                self.core.outbox.tell_after_commit(Action::Unlock { epoch: self.core.epoch, stopped: true });
            }
            Lifecycle::Error(_) => {
                self.core.lifecycle = Lifecycle::Stopped;
                self.core.tell_status();
                self.core.tell_status_changed();
            }
            Lifecycle::Stopped | Lifecycle::Starting => {}
        }
        self.core.reply(command, Ok(None));
        Ok(())
    }

    /// Forgets the sessions: from here on another tab may write them.
    pub(super) fn release(&mut self) {
        self.turn_away();
        self.core.write_heads();
        self.runner.abort_all(&mut self.core);
        self.core.lifecycle = Lifecycle::Stopped;
        self.core.sessions.let_all_go();
        self.core.runs.forget();
    }
}

/// What the drafts of a run kept, as blocks: those of its last holder.
pub(super) fn from_drafts(run: &str, drafts: &Rows) -> Vec<Block> {
    let mut blocks: Vec<(u64, Block)> = Vec::new();
    let of_run = || drafts.iter().filter(|(key, _)| key.get(1) == Some(&Part::from(run)));
    let epoch = of_run().filter_map(|(key, _)| key.get(2)).max();
    for (_, text) in of_run().filter(|(key, _)| key.get(2) == epoch) {
        let pieces = json::parse(text).unwrap_or_default();
        for piece in json::items(&pieces) {
            let number = |n: usize| piece.get(n).and_then(Value::as_u64).unwrap_or_default();
            let (part, start) = (number(0), usize::try_from(number(1)).unwrap_or_default());
            let news = piece
                .get(2)
                .cloned()
                .map(|block| Value::Array(vec![block]))
                .as_ref()
                .and_then(blocks_from_json);
            for block in news.unwrap_or_default() {
                let had = blocks.iter_mut().find(|(other, _)| *other == part).map(|(_, block)| block);
                match (had, block) {
                    (Some(Block::Text(had)), Block::Text(more))
                    | (Some(Block::Thinking { text: had, .. }), Block::Thinking { text: more, .. }) => {
                        had.truncate(had.floor_char_boundary(start));
                        had.push_str(&more);
                    }
                    (_, block) => blocks.push((part, block)),
                }
            }
        }
    }
    blocks.into_iter().map(|(_, block)| block).list()
}

/// The writes that erase what a cleared conversation still holds.
pub(super) fn erasures(session: &str, rows: &Rows) -> Vec<Write> {
    let parsed: Vec<_> = rows.iter().filter_map(|(_, text)| Some((text, Row::from_text(text).ok()?))).list();
    let read = |row: &Row| row.read().ok();
    let Some(until) =
        parsed.iter().rposition(|(_, row)| read(row).is_some_and(|(header, _)| header.kind == "cleared"))
    else {
        return Vec::new();
    };
    let before = parsed.into_iter().take(until);
    let full = before.filter_map(|(_, row)| match row.read() {
        Ok((header, Some(_))) if Entry::erasable(&header.kind) => Some((header.seq, row)),
        _ => None,
    });
    let erase = |(seq, row): (u64, Row)| Write::Put {
        table: Table::Entries,
        key: vec![session.into(), seq.into()],
        value: row.erased().to_text(),
    };
    full.map(erase).list()
}

fn already_running(place: &str) -> ErrorInfo {
    ErrorInfo::new(Code::AlreadyRunning, format!("the agent is already running {place}"))
}
