//! Taking a workspace, and letting it go.
//!
//! The steps of a start: the lock; the epoch, raised in one commit that expects the former one; the journal,
//! folded and checked against its head; what a lost page left, held; the configuration, recorded.

use super::{Action, After, Config, DEFAULT_SESSION, Harness, IfRunning, Lifecycle, Slot, outbox};
use crate::error::{Code, ErrorInfo};
use crate::journal::{Entry, Row, blocks_from_json};
use crate::json;
use crate::list::Listed;
use crate::model::Block;
use crate::ports::{Commit, Durability, Part, Read, Rows, StoreError, Table, Write};
use crate::session::Session;
use serde_json::Value;

/// The row of the table `meta` that says in which format the database is.
pub const FORMAT_KEY: &str = "format";

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

/// What a start is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// To run. Those who joined are answered too.
    Run { commands: Vec<u32>, config: Box<Config> },
    /// To clear a conversation while nothing runs.
    Clear { command: u32, session: String },
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
    /// Whether it is only for clearing.
    pub fn clears(&self) -> bool {
        matches!(self.purpose, Purpose::Clear { .. })
    }
}

impl Harness {
    pub(super) fn start_agent(&mut self, command: u32, args: &Value) -> Result<(), ErrorInfo> {
        let config = if args.is_null() { Config::default() } else { Config::default().patched(args)? };
        if let Some(Start { purpose: Purpose::Run { commands, .. }, .. }) = &mut self.start
            && config.if_running == IfRunning::Join
        {
            commands.push(command);
            return Ok(());
        }
        if self.start.is_some() || self.lifecycle == Lifecycle::Running {
            if config.if_running == IfRunning::Join && self.lifecycle == Lifecycle::Running {
                self.reply(command, Ok(None));
                return Ok(());
            }
            return Err(already_running("in this page").hint("stop it first, or pass ifRunning: \"join\""));
        }
        self.own_tools_fit(&config)?;
        let purpose = Purpose::Run { commands: vec![command], config: Box::new(config) };
        self.begin(purpose);
        self.lifecycle = Lifecycle::Starting;
        self.tell_status();
        self.tell_status_changed();
        Ok(())
    }

    pub(super) fn begin(&mut self, purpose: Purpose) {
        self.start =
            Some(Start { purpose, before: self.lifecycle.clone(), stored_epoch: None, holder: None });
        // The lock may still be ours until a stop before is stored.
        self.outbox.act_after_commit(Action::Lock { name: self.options.name.clone() });
    }

    pub(super) fn locked(&mut self, granted: bool) {
        if let Some(start) = &mut self.start {
            start.holder = (!granted).then(String::new);
            let meta = |key: &str| Read::all(Table::Meta, vec![key.into()]);
            self.read(vec![meta("epoch"), meta("holder")], After::Epoch);
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
            .hint("stop it there or close that tab; what is stored can be read here");
            if let Some(start) = self.start.take() {
                self.give_up_start(start, &error);
            }
            return;
        }
        start.stored_epoch = first(0);
        let before = start.stored_epoch.as_deref().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        self.epoch = before + 1;
        let expected = outbox::expect(Table::Meta, vec!["epoch".into()], start.stored_epoch.clone());
        let put = |key: &str, value: String| Write::Put { table: Table::Meta, key: vec![key.into()], value };
        let writes = vec![
            put("epoch", self.epoch.to_string()),
            put("holder", self.options.holder.clone()),
            format_write(),
        ];
        let commit = Commit { expect: vec![expected], writes, durability: Durability::Strict };
        self.epoch_commit = Some(self.outbox.send_alone(self.now, commit));
    }

    pub(super) fn epoch_committed(&mut self, result: Result<(), StoreError>) {
        if let Err(error) = result {
            return self.fail(error.info());
        }
        self.outbox.act(Action::Announce { epoch: self.epoch });
        self.start_with_account();
    }

    /// Reads the journal of the workspace that was taken.
    pub(super) fn load_session(&mut self) {
        let session = match &self.start {
            Some(Start { purpose: Purpose::Clear { session, .. }, .. }) => session.as_str(),
            _ => DEFAULT_SESSION,
        };
        let of = |table: Table| Read::all(table, vec![session.into()]);
        let all = |table: Table| Read::all(table, Vec::new());
        let reads = vec![
            of(Table::Entries),
            of(Table::Heads),
            of(Table::Drafts),
            all(Table::Keys),
            all(Table::Files),
        ];
        self.read(reads, After::Load);
    }

    pub(super) fn load(&mut self, rows: &[Rows]) {
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        let session =
            match Session::load(DEFAULT_SESSION, &self.engine, part(0).iter().map(|(_, text)| text.as_str()))
            {
                Ok(session) => session,
                Err(error) => return self.fail(error),
            };
        let head = part(1).first().and_then(|(_, text)| json::parse(text));
        if head.is_some_and(|head| !session.agrees_with(&head)) {
            let error = ErrorInfo::new(Code::Corrupt, "the journal's end does not agree with its head");
            return self
                .fail(error.hint("rows are missing: delete the workspace to start anew, or report this"));
        }
        self.sessions.insert(&session.id.clone(), Slot::new(session));
        self.vault_read(part(3));
        for write in erasures(DEFAULT_SESSION, part(0)) {
            self.outbox.write(write);
        }
        self.sweep_files(part(4));
        // What a lost page wrote past its commits may belong to no run any more.
        if !part(2).is_empty() {
            let prefix = vec![DEFAULT_SESSION.into()];
            self.outbox.write(Write::DeletePrefix { table: Table::Drafts, prefix });
        }
        let Some(start) = self.start.take() else { return };
        match start.purpose {
            Purpose::Run { commands, config } => self.started(commands, *config, part(2)),
            Purpose::Clear { command, session } => {
                self.lose(&session, part(2));
                // What another tab has said since this one looked is not in its views yet.
                for session in self.watched() {
                    self.tell_history(&session);
                }
                self.clear(command, &session);
            }
        }
    }

    fn started(&mut self, commands: Vec<u32>, config: Config, drafts: &Rows) {
        self.take_config(config);
        self.instructions = None;
        self.lifecycle = Lifecycle::Running;
        self.lose(DEFAULT_SESSION, drafts);
        let entry =
            Entry::Started { epoch: self.epoch, config: self.config_record(), tools: self.registry.record() };
        self.append(DEFAULT_SESSION, None, &entry);
        self.outbox.tell_after_commit(self.status_notice());
        self.status_changed(true);
        for session in self.watched() {
            self.tell_history(&session);
        }
        for command in commands {
            self.reply(command, Ok(None));
        }
        self.answer_waiters();
        self.tell_questions_again(DEFAULT_SESSION);
        let held = self.current(DEFAULT_SESSION).filter(|run| run.held).map(|run| run.id.clone());
        if let (true, Some(run)) = (self.config.resume_auto, held) {
            self.go_on(DEFAULT_SESSION, &run);
        }
    }

    /// A run that was at work when its page went away is held, with what the drafts kept of its answer.
    fn lose(&mut self, session: &str, drafts: &Rows) {
        let Some(run) = self.current(session).filter(|run| run.working()) else { return };
        let parts = run.parts().into_iter().filter(|run| run.working());
        let working: Vec<String> = parts.map(|run| run.id.clone()).list();
        for run in working.into_iter().rev() {
            let blocks = from_drafts(&run, drafts);
            self.append(session, Some(&run), &Entry::Lost { blocks });
        }
    }

    /// Nothing was taken, so everything is as it was before.
    pub(super) fn give_up_start(&mut self, start: Start, error: &ErrorInfo) {
        self.lifecycle = start.before.clone();
        self.tell_status();
        self.start_failed(start, error);
        self.tell_status_changed();
    }

    pub(super) fn start_failed(&mut self, start: Start, error: &ErrorInfo) {
        match start.purpose {
            Purpose::Run { commands, .. } => {
                for command in commands {
                    self.reply_now(command, Err(error.clone()));
                }
            }
            Purpose::Clear { command, .. } => self.reply_now(command, Err(error.clone())),
        }
    }

    pub(super) fn stop_agent(&mut self, command: u32) -> Result<(), ErrorInfo> {
        match self.lifecycle {
            Lifecycle::Running => {
                let sessions: Vec<String> = self.sessions.keys().map(Into::into).list();
                for session in &sessions {
                    self.interrupt_session(session, "stop", true);
                }
                self.append(DEFAULT_SESSION, None, &Entry::Stopped {});
                self.outbox.strictly();
                self.release();
                self.outbox.tell_after_commit(Action::Unlock { epoch: self.epoch });
                self.outbox.tell_after_commit(self.status_notice());
                self.status_changed(true);
            }
            Lifecycle::Error(_) => {
                self.lifecycle = Lifecycle::Stopped;
                self.tell_status();
                self.tell_status_changed();
            }
            Lifecycle::Stopped | Lifecycle::Starting => {}
        }
        self.reply(command, Ok(None));
        Ok(())
    }

    /// Forgets the sessions: from here on another tab may write them.
    pub(super) fn release(&mut self) {
        self.write_heads();
        self.abort_all();
        self.lifecycle = Lifecycle::Stopped;
        self.sessions.clear();
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
