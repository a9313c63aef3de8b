//! A persistent conversation: the fold of its journal.
//!
//! Decides what a journal adds up to and how the next row is tied to it. Promises: the fold of the stored rows
//! equals the state that wrote them. A journal replays byte for byte ([`replay`]). Any prefix of a journal
//! leads to requests that a provider accepts. Leaves to others: which input comes next (`harness/`), one run's
//! decisions (`run/`).

pub mod activity;
mod adopted;
pub mod carry;
mod checkpoint;
pub mod compaction;
pub mod damage;
pub mod dates;
mod earlier;
mod gone;
mod keeping;
pub mod lifecycle;
pub mod operator;
pub mod output;
pub mod overrides;
mod queue;
pub mod record;
mod replay;
pub mod schemas;
mod transcript;
pub mod transitions;
mod versions;
mod view;

pub use adopted::adopted;
pub use checkpoint::Checkpoint;
pub use earlier::Earlier;
pub(crate) use earlier::begins_anew;
pub use keeping::{Beside, as_stored, lost_by, state_of};
pub use queue::Queued;
pub use replay::{Difference, again, replay, weight};
pub use transcript::Transcript;
pub(crate) use view::{answer, arguments, files_given, said_in, served_part, text_part, usage, waiting};
pub use view::{answer_of, history, history_of_version, tool_result};

use crate::error::ErrorInfo;
use crate::journal::{
    Answer, Ask, Cause, Entry, GENESIS, Header, OfConversation, OfRecord, OfSession, Outside, Row, Scope,
    Sums, Word,
};
use crate::json::texts;
use crate::list::Listed;
use crate::maps::Named;
use crate::model::errors::is_sealed;
use crate::model::{Block, File};
use crate::object::{self, Object};
use crate::ports::{Millis, PatternEngine};
use crate::rooms::{Room, enter};
use crate::run::{Budget, Budgets, CallState, Ended, Outcome, Output, Prompt, Rules, Run};
use crate::tools::{Caller, Facts, Grant, Origin, Policy, Registry, Source};
use keeping::Keeping;
use record::Record;
use serde_json::Value;
use std::borrow::Cow;
use std::rc::Rc;
use versions::Versions;

/// How many model calls a run may make where the page does not say.
pub const DEFAULT_MAX_TURNS: u64 = 20;

/// How long the mark of a conversation is, in characters of a hash.
const MARK: usize = 12;

/// A run that is over, as later questions about it need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// When it began, or its message was queued.
    pub started_at: Millis,
    /// Whether it has begun: a message that waits may be removed.
    pub begun: bool,
    /// How it ended; `None` only while the fold passes an erased run.
    pub ended: Option<Ended>,
}

impl Past {
    /// What is left of a run.
    fn of(run: &Run) -> Past {
        match &run.ended {
            Some(ended) if run.adopted => {
                Past { started_at: ended.at, begun: true, ended: Some(Past::over(ended.at)) }
            }
            ended => Past {
                started_at: run.started_at,
                begun: true,
                ended: ended.clone().map(Ended::without_words),
            },
        }
    }

    /// A run that never begins: its message does not wait any more at this time.
    fn never(started_at: Millis, at: Millis) -> Past {
        let ended = Ended { at, outcome: Outcome::Interrupted, error: None };
        Past { started_at, begun: false, ended: Some(ended) }
    }

    /// The end of a run that was over when its session began, at this time: what it came to is erased with it.
    fn over(at: Millis) -> Ended {
        Ended { at, outcome: Outcome::Completed, error: None }
    }
}

/// A session: everything its journal adds up to.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The runs of the conversation as it is now, since it was last cleared, the newest last.
    pub runs: Vec<Run>,
    /// What newer versions have taken the place of.
    versions: Versions,
    /// Runs of conversations that were cleared.
    pub past: Named<Past>,
    /// What the session has used up, cleared conversations included.
    pub sums: Sums,
    /// The configuration that decisions go by, as recorded.
    pub config: Value,
    /// What may be done and what is asked about, by that configuration.
    pub policy: Policy,
    /// What a person has always allowed.
    pub grants: Vec<Grant>,
    /// Where the text from outside comes from that it holds.
    pub(crate) outside: Outside,
    /// The number of the entry by which it came from a file, or is a copy of what did; 0: there is none.
    imported_at: u64,
    /// The number of the entry by which it became a copy under another id: runs before it are another session's.
    copied_at: u64,
    /// The number of the entry by which it was made of what was whole of another; 0: there is none.
    salvaged_at: u64,
    /// The names of the providers that take over.
    fallback: Vec<String>,
    /// Whether an answer that was cut in the middle is asked for again.
    cut: bool,
    /// What a run may use up, and the session.
    budgets: (Budget, Budget),
    /// Whether an answer of no known cost has come since what is asked, and what it may cost, was configured last.
    uncounted: bool,
    /// The tools that decisions go by, as recorded.
    pub tools: Registry,
    /// The tools' record, to see whether it has changed: the registry's own where it has not.
    pub tools_record: Rc<Value>,
    /// How often the conversation was cleared: a transcript of an earlier one is of no use.
    pub generation: u64,
    /// What frames the results of tools in this conversation.
    pub mark: String,
    /// What was known of its signature when it was imported, copied or taken, where that was not `verified`.
    pub origin: Option<String>,
    /// The runs whose content is gone without an entry behind it that says so.
    blank: Vec<String>,
    /// How often a provider could not open what it had sealed.
    unsealed: u64,
    /// How often it turned out that files of this conversation are gone, or are there again: a transcript of before says
    /// otherwise.
    pub files_told: u64,
    engine: PatternEngine,
    seq: u64,
    hash: String,
    call_ids: Named<()>,
    /// The messages that wait for their turn.
    queue: Vec<Queued>,
    /// What it keeps of itself besides its conversation.
    keeping: Keeping,
    /// What it has otherwise than the agent's configuration, but for its provider: an object.
    own: Option<Value>,
    /// The checkpoint that is stored: up to which row it speaks, and the SHA-256 of its text.
    checkpoint: Option<(u64, String)>,
    /// The journal says that content goes which is still stored: its head says so, until it is erased.
    erases: bool,
    /// What is known of the runs that it goes on without.
    earlier: Option<Rc<Earlier>>,
    /// The window's checkpoint that is stored.
    window: Option<earlier::Stored>,
}

impl Session {
    /// A session without a journal.
    pub fn new(id: &str) -> Session {
        Session {
            id: id.into(),
            runs: Vec::new(),
            versions: Versions::default(),
            past: Named::default(),
            sums: Sums::default(),
            config: Value::Null,
            policy: Policy::default(),
            grants: Vec::new(),
            outside: Outside::default(),
            imported_at: 0,
            copied_at: 0,
            salvaged_at: 0,
            fallback: Vec::new(),
            cut: false,
            budgets: Default::default(),
            uncounted: false,
            tools: Registry::default(),
            tools_record: Rc::default(),
            generation: 0,
            mark: String::new(),
            origin: None,
            blank: Vec::new(),
            unsealed: 0,
            files_told: 0,
            engine: PatternEngine::default(),
            seq: 0,
            hash: GENESIS.into(),
            call_ids: Named::default(),
            queue: Vec::new(),
            keeping: Keeping::default(),
            own: None,
            checkpoint: None,
            erases: false,
            earlier: None,
            window: None,
        }
    }

    /// The same with regular expressions for the schemas of its tools.
    pub fn with(id: &str, engine: &PatternEngine) -> Session {
        Session { engine: engine.clone(), ..Session::new(id) }
    }

    /// The same, to fold rows behind the one with this number and hash: a part of its conversation.
    pub fn after(id: &str, engine: &PatternEngine, seq: u64, hash: &str) -> Session {
        Session { seq, hash: hash.into(), ..Session::with(id, engine) }
    }

    /// Folds stored rows, checking the chain.
    pub fn load<'a>(
        id: &str,
        engine: &PatternEngine,
        rows: impl IntoIterator<Item = &'a str>,
    ) -> Result<Session, ErrorInfo> {
        Session::with(id, engine).go_on(rows).map(|(session, _)| session)
    }

    /// Folds the stored rows that follow, checking the chain. With the last place among them at which there can be a
    /// checkpoint.
    ///
    /// # Errors
    /// As [`Session::load`].
    pub fn go_on<'a>(
        mut self,
        rows: impl IntoIterator<Item = &'a str>,
    ) -> Result<(Session, Option<Checkpoint>), ErrorInfo> {
        let session = &mut self;
        let (mut cleared, mut place) = (false, None);
        for text in rows {
            let row = Row::from_text(text)?;
            if !row.follows(&session.hash) {
                return Err(ErrorInfo::corrupt(format!(
                    "journal row {} does not follow the one before it",
                    session.seq + 1
                )));
            }
            let (header, entry) = row.read()?;
            if cleared && header.kind != "recorded" {
                session.settle();
                place = session.checkpoint().or(place);
                cleared = false;
            }
            session.read(&header, entry.as_ref(), &row)?;
            cleared |= header.kind == "cleared";
        }
        session.settle();
        if cleared {
            place = session.checkpoint().or(place);
        }
        Ok((self, place))
    }

    /// The number of rows.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The hash of the last row.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The run that has not ended.
    pub fn current(&self) -> Option<&Run> {
        self.runs.last().filter(|run| run.ended.is_none())
    }

    /// The run with this id, since the conversation was last cleared: one that a message began, or that works for such a
    /// one.
    pub fn run(&self, id: &str) -> Option<&Run> {
        let begun = self.runs.iter().rev().find(|run| run.id == id);
        begun.or_else(|| self.all_runs().find_map(|run| run.all().into_iter().find(|run| run.id == id)))
    }

    /// The run with this id, if it has not ended.
    pub fn open_run(&self, id: &str) -> Option<&Run> {
        self.current()?.parts().into_iter().find(|run| run.id == id)
    }

    /// Whether it knows what became of this run: of those that were over long before its checkpoint it does not.
    pub(crate) fn knows(&self, run: &str) -> bool {
        self.run_times(run).is_some() || self.queued(run).is_some()
    }

    /// When a run began and how it ended, of any conversation.
    pub fn run_times(&self, id: &str) -> Option<(Millis, Option<&Ended>)> {
        match self.run(id) {
            Some(run) => Some((run.started_at, run.ended.as_ref())),
            None => self.past.get(id).map(|past| (past.started_at, past.ended.as_ref())),
        }
    }

    /// What the answers of a provider are recorded under from here on. A provider that could not open what it had sealed gets
    /// another name: what it has said so far is a stranger's, and goes to it without what only its author may read.
    pub fn name_of(&self, mut provider: String) -> String {
        if self.unsealed > 0 {
            provider.push('#');
            provider.push_str(&self.unsealed.to_string());
        }
        provider
    }

    /// How many model calls a run may make.
    fn max_turns(&self) -> u64 {
        self.config.get("maxTurns").and_then(Value::as_u64).unwrap_or(DEFAULT_MAX_TURNS)
    }

    /// What the next decision is, if there is one to make, and of which run.
    pub fn next(&self) -> Option<(Option<String>, Entry)> {
        if let Some(owed) = self.owed() {
            return Some(owed);
        }
        let max_turns = self.max_turns();
        let Some(current) = self.current() else { return self.next_of_queue() };
        let mut running = 0;
        for run in current.parts() {
            running += run.calls().iter().filter(|call| matches!(call.state, CallState::Ordered)).count();
        }
        // In a session's budget the known part of the cost counts, because other configurations may have come before. In a
        // run's budget it does not: the next run has a budget of its own.
        let spent = (!self.uncounted).then_some(self.sums.known_cost);
        let sums = Sums { cost: spent, ..self.sums };
        let policy = self.narrowed(current, Cow::Borrowed(&self.policy));
        let next = current.next(&Rules {
            running: running as u64,
            facts: Facts {
                tools: &self.tools,
                policy: &policy,
                grants: &self.grants,
                caller: Caller::Model { outside: &self.outside },
            },
            max_turns,
            fallback: &self.fallback,
            cut: self.cut,
            own: self.provider_of(&current.prompt),
            budgets: &Budgets {
                run: (self.budgets.0, current.spent(), current.worked_ms),
                session: (self.budgets.1, sums, sums.wall_ms.saturating_add(current.worked_ms)),
            },
            steering: self.steering(),
        });
        next.map(|(run, entry)| (Some(run), entry))
    }

    /// The row that this entry would become. Changes nothing.
    pub fn row(&self, at: Millis, run: Option<&str>, entry: &Entry) -> (Header, Row) {
        let kind = entry.kind().to_owned();
        let header = Header { seq: self.seq + 1, at, kind, run: run.map(Into::into) };
        let row = Row::new(&header, entry, &self.hash);
        (header, row)
    }

    /// Appends an entry: the row to store.
    pub fn append(&mut self, at: Millis, run: Option<&str>, entry: &Entry) -> Result<Row, ErrorInfo> {
        let (header, row) = self.row(at, run, entry);
        self.accept(&header, Some(entry), &row)?;
        Ok(row)
    }

    /// Folds one row that comes next; `entry` is `None` where its content was erased.
    pub fn accept(&mut self, header: &Header, entry: Option<&Entry>, row: &Row) -> Result<(), ErrorInfo> {
        self.read(header, entry, row)?;
        self.settle();
        Ok(())
    }

    /// The same for a row that others follow. Behind the last one comes [`Session::settle`].
    fn read(&mut self, header: &Header, entry: Option<&Entry>, row: &Row) -> Result<(), ErrorInfo> {
        if !matches!(entry, Some(Entry::Recorded { .. })) {
            self.settle();
        }
        let fits = header.seq == self.seq + 1
            && self.fold(header, entry).and_then(|()| self.keep(header, entry)).is_some();
        if !fits {
            return Err(ErrorInfo::corrupt(format!(
                "entry {} ({}) does not fit the journal",
                header.seq, header.kind
            )));
        }
        if self.is_of_a_page(header, entry) && row.has_no_marks() {
            self.outside.add(Outside::UNKNOWN.into());
        }
        self.seq = header.seq;
        self.hash = row.hash().into();
        // The conversation's mark comes from the row that it begins with: nobody knows it before.
        let begins = matches!(entry, Some(Entry::Commanded { what, .. }) if is_copy(what));
        if self.mark.is_empty() || header.kind == "cleared" || begins {
            self.mark = self.hash.get(..MARK).unwrap_or_default().into();
        }
        Ok(())
    }

    /// Whether an entry is what a page tool has said.
    fn is_of_a_page(&self, header: &Header, entry: Option<&Entry>) -> bool {
        let Some(Entry::Returned { tool_call, .. }) = entry else { return false };
        let run = header.run.as_deref().and_then(|run| self.run(run));
        let call = run.and_then(|run| run.call(tool_call));
        call.and_then(|call| self.tools.get(&call.name))
            .is_some_and(|tool| tool.definition.origin == Origin::Page)
    }

    /// The head: a cache of the fold, written with every commit.
    pub fn head(&self, at: Millis) -> Value {
        self.head_at(at, self.seq, &self.hash)
    }

    /// The head once this row, the outcome of a tool, is folded.
    pub fn head_after(&self, at: Millis, header: &Header, row: &Row) -> Value {
        self.head_at(at, header.seq, row.hash())
    }

    fn head_at(&self, at: Millis, seq: u64, hash: &str) -> Value {
        let usage = &self.sums.usage;
        let tokens = [usage.input_tokens, usage.output_tokens];
        let waits = |run: &Run| run.waiting().then_some(Value::Bool(true));
        let of_run = |run: &Run| {
            Object::new().text("id", &run.id).flag("held", run.held).maybe("waits", waits(run)).done()
        };
        let run = self.current().map(of_run);
        let files = self.file_ids();
        let foreign = Some(self.foreign()).filter(|until| *until > 0);
        let tools: Vec<Value> = self.grants.iter().map(|grant| grant.tool.as_str().into()).list();
        let granted = |tools: Vec<Value>| {
            Object::new().number("epoch", self.epoch()).value("tools", tools.into()).done()
        };
        Object::new()
            .number("v", crate::journal::FORMAT)
            .number("seq", seq)
            .text("hash", hash)
            .number("at", at)
            .number("turns", self.sums.turns)
            .value("tokens", tokens.as_slice().into())
            .value("run", run.into())
            .maybe("grants", (!tools.is_empty()).then(|| granted(tools)))
            .maybe("removed", self.removed_at().map(Value::from))
            .maybe("archived", self.archived_at().map(Value::from))
            .maybe("once", self.is_once().then_some(Value::Bool(true)))
            .maybe("passes", self.passes().then_some(Value::Bool(true)))
            .maybe("record", self.record().map(Record::lean))
            .maybe("usage", view::usage(&self.sums))
            .maybe_text("title", view::title(self).as_deref())
            .maybe_text("provider", self.provider())
            .maybe("config", self.overrides())
            .maybe("queue", (!self.queue.is_empty()).then(|| self.queue.len().into()))
            .maybe("files", (!files.is_empty()).then(|| files.into()))
            .maybe_text("origin", self.origin.as_deref())
            .maybe("foreign", self.origin.as_ref().and(foreign).map(Value::from))
            .maybe("erases", self.erases.then_some(Value::Bool(true)))
            .maybe("checkpoint", self.checkpoint.as_ref().map(|(seq, sum)| checkpoint::named(*seq, sum)))
            .maybe("window", self.window.as_ref().and_then(|_| self.named_window()))
            .done()
    }

    /// Its journal says that content goes, which is still stored.
    pub fn erases(&mut self) {
        self.erases = true;
    }

    /// That content is gone; with a checkpoint, that is stored from here on.
    pub fn is_erased(&mut self, checkpoint: Option<&Checkpoint>) {
        self.erases = false;
        if let Some(checkpoint) = checkpoint {
            self.checkpoint = Some((checkpoint.seq, checkpoint.sum()));
        }
    }

    /// The files of its conversation, of versions of it, and of what waits.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.all_runs().flat_map(files_of).chain(self.queued_files())
    }

    /// Those that a model is sent with so many of its runs, and those of what waits: what was summed up is not sent any more.
    pub fn files_sent(&self, kept: usize) -> impl Iterator<Item = &File> {
        let runs = self.runs.get(..kept).unwrap_or(&self.runs);
        let start = compaction::Window::of(runs).start.run;
        runs.iter().skip(start).flat_map(files_of).chain(self.queued_files())
    }

    /// The number of the entry by which it came from a file, or is a copy of what did; 0: there is none.
    pub fn imported_at(&self) -> u64 {
        self.imported_at
    }

    /// The number of the entry by which it became a copy under another id: runs before it are another session's. 0: it is
    /// none.
    pub fn copied_at(&self) -> u64 {
        self.copied_at
    }

    /// Up to which row nobody here need have signed its events, because they came so. 0: no entry says that.
    pub fn foreign(&self) -> u64 {
        self.imported_at.max(self.salvaged_at)
    }

    /// How often a provider could not open what it had sealed.
    pub(crate) fn unsealed(&self) -> u64 {
        self.unsealed
    }

    /// Whether content is gone that no clearing behind it has erased: then somebody else has, or the clearing is cut off.
    pub fn is_blank(&self) -> bool {
        !self.blank.is_empty()
    }

    /// Whether a stored head belongs to this fold, and nothing of it was erased in silence.
    pub fn agrees_with(&self, head: &Value) -> bool {
        !self.is_blank()
            && head.get("seq").and_then(Value::as_u64) == Some(self.seq)
            && head.get("hash").and_then(Value::as_str) == Some(&self.hash)
    }

    /// The same blocks with ids of tool calls that this session has not seen yet and that nobody else has `taken`, of
    /// letters that every provider takes: two ids must not become one when they are sent to another.
    pub fn with_own_ids(&self, mut blocks: Vec<Block>, taken: &dyn Fn(&str) -> bool) -> Vec<Block> {
        let mut fresh = Vec::new();
        for block in &mut blocks {
            let Block::ToolCall { id, .. } = block else { continue };
            let mut n = 1;
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            *id = id.chars().map(|c| if allowed(c) { c } else { '_' }).collect::<String>();
            let mut own = id.clone();
            while self.call_ids.contains_key(&own) || fresh.contains(&own) || taken(&own) {
                n += 1;
                own = format!("{id}_{n}");
            }
            fresh.push(own.clone());
            *id = own;
        }
        blocks
    }

    fn fold(&mut self, header: &Header, entry: Option<&Entry>) -> Option<()> {
        let Some(entry) = entry else { return self.fold_erased(header) };
        match entry.scope() {
            Scope::Session(of) => self.fold_own(of)?,
            Scope::Record(of) => self.fold_record(header, of),
            Scope::Conversation(of) => self.fold_conversation(header, of, entry)?,
            Scope::Queue(of) => self.fold_queue(header, of)?,
            Scope::Run(_) | Scope::Call(_) => self.fold_run(header, entry)?,
        }
        Some(())
    }

    /// Something has happened to the session itself.
    fn fold_own(&mut self, entry: OfSession<'_>) -> Option<()> {
        match entry {
            OfSession::Started { config, tools, .. } => {
                self.configure(config.as_ref(), tools.as_ref())?;
                if let Some(run) = self.runs.last_mut().filter(|run| run.ended.is_none()) {
                    run.forget_page();
                }
                // A holder that takes the session over does not send what the page of another has queued.
                self.hold_queue(true);
                self.forget_page_of_queue();
            }
            OfSession::Configured { config, tools } => self.configure(config.as_ref(), tools.as_ref())?,
            // What was always allowed was allowed until now.
            OfSession::Stopped {} => self.grants.clear(),
            OfSession::Found { integrity } => {
                self.origin = std::mem::take(&mut self.origin).or_else(|| Some(integrity.as_str().into()));
            }
            OfSession::Granted { tool, definition, destination } => self.grants.push(Grant {
                tool: tool.clone(),
                definition: definition.clone(),
                destination: destination.clone(),
                // What this conversation has read, the question did not say.
                outside: Outside::default(),
            }),
            OfSession::Overridden { config } => self.override_by(config),
            OfSession::Revoked { tool } => self.grants.retain(|grant| grant.tool != *tool),
        }
        Some(())
    }

    /// Something was done with the session, or put on record: what the conversation has of it.
    fn fold_record(&mut self, header: &Header, entry: OfRecord<'_>) {
        let (what, args) = match entry {
            OfRecord::Commanded { what, args } if is_copy(what) => (what, args),
            // The record is kept apart: `keeping`.
            OfRecord::Commanded { .. } | OfRecord::Recorded { .. } => return,
        };
        // What was always allowed was allowed there. Nobody knows who has written what comes from a file.
        self.grants.clear();
        self.empty_queue(header.at);
        if *what == Ask::Import || args.get("imported") == Some(&Value::Bool(true)) {
            self.outside.add(Outside::IMPORT.into());
            self.imported_at = header.seq;
        }
        if *what == Ask::Salvage {
            self.salvaged_at = header.seq;
        }
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        if *what == Ask::Import {
            self.forget_overrides();
        } else if let (Some(_), Some(Value::Object(own))) = (text("provider"), &mut self.own) {
            object::take(own, "model");
        }
        if self.record().map(Record::id) != text("id") {
            self.copied_at = header.seq;
        }
        let integrity = text("integrity").map(Into::into);
        self.origin = std::mem::take(&mut self.origin).or(integrity);
    }

    /// The conversation begins a run, or begins anew.
    fn fold_conversation(&mut self, header: &Header, of: OfConversation<'_>, entry: &Entry) -> Option<()> {
        if self.current().is_some() {
            return None;
        }
        match of {
            OfConversation::Prompt { .. } => {
                self.fold_prompt(header, entry)?;
            }
            OfConversation::Adopted { .. } => self.fold_adopted(header, entry)?,
            OfConversation::Switched { message } => self.switch_to(message)?,
            OfConversation::Withdrawn { .. } => self.withdraw(header, of)?,
            OfConversation::Cleared { sums } => self.fold_cleared(header, *sums),
        }
        Some(())
    }

    /// A run that was not made here. A door of the room `past`.
    #[inline(never)]
    fn fold_adopted(&mut self, header: &Header, entry: &Entry) -> Option<()> {
        enter(Room::Past);
        let run = adopted::run_of(header, entry)?;
        if run.outside {
            self.outside.add(Outside::ADOPTED.into());
        }
        if let Entry::Adopted { outside, .. } = entry {
            self.outside.join(outside);
        }
        for call in run.turns.iter().flat_map(|turn| &turn.calls) {
            self.call_ids.insert(&call.id, ());
        }
        self.runs.push(run);
        Some(())
    }

    /// The conversation begins anew. A door of the room `past`.
    #[inline(never)]
    fn fold_cleared(&mut self, header: &Header, sums: Sums) {
        enter(Room::Past);
        let mut past = std::mem::take(&mut self.past);
        for (id, over) in self.earlier.take().iter().flat_map(|earlier| &earlier.ends) {
            past.insert(id, over.clone());
        }
        for run in self.all_runs().flat_map(Run::all) {
            past.insert(&run.id, Past::of(run));
        }
        self.past = past;
        self.empty_queue(header.at);
        self.runs.clear();
        self.versions = Versions::default();
        self.sums = sums;
        self.call_ids.clear();
        self.grants.clear();
        self.outside = Outside::default();
        self.unsealed = 0;
        self.files_told = 0;
        self.uncounted = false;
        self.generation += 1;
        self.window = None;
        self.blank.clear();
    }

    /// What a `prompt` says, as the run keeps it.
    fn said(&self, entry: &Entry) -> Option<Prompt> {
        let Entry::Prompt {
            message,
            text,
            context,
            trusted,
            metadata,
            idempotency,
            continues,
            compacts,
            files,
            schema,
            config,
            ..
        } = entry
        else {
            return None;
        };
        Some(Prompt {
            message: message.clone(),
            text: text.clone(),
            context: context.clone(),
            trusted: *trusted == Some(true),
            metadata: metadata.clone(),
            idempotency: idempotency.clone(),
            continues: continues.clone(),
            compacts: compacts
                .as_ref()
                .map(|of| of.get("instructions").and_then(Value::as_str).map(Into::into)),
            files: files.clone(),
            config: config.clone(),
            output: match schema {
                Some(schema) => Some(Output::from_record(schema, &self.engine)?),
                None => None,
            },
            ..Prompt::default()
        })
    }

    /// A message begins a run.
    fn fold_prompt(&mut self, header: &Header, entry: &Entry) -> Option<()> {
        let mut prompt = self.said(entry)?;
        let mut steered = Vec::new();
        if let Entry::Prompt { replaces: Some(replaces), .. } = entry {
            match self.replace(replaces, &mut prompt) {
                Some(stay) => (steered, prompt.replaces) = (stay, Some(replaces.clone())),
                // It was withdrawn since, and its content erased.
                None if self.is_blank() => {}
                None => return None,
            }
        } else if prompt.continues.is_some() {
            prompt.answers = prompt.continues.as_deref().and_then(|failed| self.run(failed)).map(|run| {
                let (message, at) = run.message();
                (message.into(), at)
            });
        }
        self.take_in(&prompt);
        let mut run = Run::new(header.run.clone()?, header.at, prompt);
        run.on = self.provider_of(&run.prompt).map(Into::into);
        run.steered = steered;
        self.runs.push(run);
        Some(())
    }

    /// What comes with a message: a person who attaches a file may not have read all that it says.
    pub(super) fn take_in(&mut self, prompt: &Prompt) {
        if !prompt.trusted {
            if prompt.context.is_some() {
                self.outside.add(Outside::CONTEXT.into());
            }
            for file in files_among(&prompt.files) {
                self.outside.add(Outside::file(file));
            }
        }
        if !prompt.files.is_empty() {
            self.files_come(&prompt.files);
        }
    }

    /// Something has happened in a run.
    fn fold_run(&mut self, header: &Header, entry: &Entry) -> Option<()> {
        // The end of a run whose content was erased: only its past is kept.
        if let (Entry::Ended { .. }, Some(id)) = (entry, &header.run)
            && let Some(past) = self.past.get_mut(id)
        {
            past.ended = Run::ended_by(header.at, entry);
            return past.ended.as_ref().map(|_| ());
        }
        if header.run.as_ref().is_some_and(|id| self.past.contains_key(id)) {
            return Some(());
        }
        let (top, id) = (self.runs.last_mut()?, header.run.as_deref()?);
        let granted = top.part_mut(id).map(|run| granted_by(run, entry)).unwrap_or_default();
        top.fold(id, header.at, entry)?;
        let run = top.part_mut(id)?;
        self.grants.extend(granted);
        match entry {
            Entry::Returned { tool_call, outside, .. } => {
                let name = run.call(tool_call).map(|call| &*call.name).unwrap_or_default();
                // Nothing is known of a tool that went away while it ran.
                let source = self.tools.get(name).map_or(Source::External, |tool| tool.definition.source);
                if source == Source::External {
                    self.outside.join(&Outside::tool(name));
                }
                self.outside.join(outside);
                run.comes_from(tool_call, if outside.is_empty() { source } else { Source::External });
            }
            Entry::Marked { outside } => self.outside.join(outside),
            // What a provider has looked up for the model, the model has read.
            Entry::Answered { blocks, .. } => {
                for kind in blocks.iter().filter_map(Block::from_outside) {
                    self.outside.add(Outside::provider(&kind));
                    run.outside = true;
                }
            }
            _ => {}
        }
        let (ended, worked_ms) = (top.ended.as_ref().map(|ended| ended.outcome), top.worked_ms);
        if let Some(outcome) = ended {
            self.sums.wall_ms = self.sums.wall_ms.saturating_add(worked_ms);
            self.queue_after(outcome == Outcome::Completed);
        }
        if let Some(usage) = entry.usage() {
            self.sums.add(usage);
            self.uncounted |= usage.1.is_none();
        }
        if let Entry::Failed { error, .. } = entry
            && is_sealed(error)
        {
            self.unsealed += 1;
        }
        match entry {
            Entry::FilesGone { files, .. } => self.files_go(files),
            Entry::Returned { files, .. } if !files.is_empty() => self.files_come(files),
            _ => {}
        }
        if let Entry::Answered { blocks, .. } = entry {
            for block in blocks {
                if let Block::ToolCall { id, .. } = block {
                    self.call_ids.insert(id, ());
                }
            }
        }
        Some(())
    }

    fn fold_erased(&mut self, header: &Header) -> Option<()> {
        if !Entry::erasable(&header.kind) {
            return None;
        }
        let run = header.run.clone().unwrap_or_default();
        // The rows of a run lie together.
        if self.blank.last() != Some(&run) {
            self.blank.push(run);
        }
        let ended = match header.kind.as_str() {
            "prompt" | "delegated" | "compacting" | "queued" => None,
            // It enters a run that has begun before.
            "taken" if self.past.get(header.run.as_ref()?).is_some_and(|past| past.begun) => return Some(()),
            "taken" => None,
            "adopted" => Some(Past::over(header.at)),
            _ => return Some(()),
        };
        let begun = header.kind != "queued";
        self.past.insert(header.run.as_ref()?, Past { started_at: header.at, begun, ended });
        Some(())
    }

    fn configure(&mut self, config: Option<&Value>, tools: Option<&Value>) -> Option<()> {
        if let Some(config) = config {
            self.policy = Policy::from_record(config);
            self.fallback = config.get("fallback").and_then(texts).unwrap_or_default();
            // An earlier version has not recorded it, and has not asked again.
            let retry = config.get("retry").and_then(|retry| retry.get("cut"));
            self.cut = retry == Some(&Value::Bool(true));
            let budget = |of| Budget::from_record(config.get("budgets").and_then(|budgets| budgets.get(of)));
            self.budgets = (budget("run"), budget("session"));
            let changed = |name: &&str| config.get(name) != self.config.get(name);
            self.uncounted &= !["provider", "model", "providers", "budgets"].iter().any(changed);
            let there = |on: &str| {
                let provider = config.get("providers").and_then(|providers| providers.get(on));
                let configured = provider.and_then(|provider| provider.get("configured"));
                configured == Some(&Value::Bool(true)) && self.fallback.iter().any(|name| name == on)
            };
            self.config = config.clone();
            let own = self.current().map(|run| self.provider_of(&run.prompt).map(String::from));
            if let (Some(own), Some(run)) = (own, self.runs.last_mut()) {
                run.leave(own.as_deref(), &there);
            }
        }
        if let Some(tools) = tools {
            self.tools = Registry::from_record(tools, &self.engine).ok()?;
            self.tools_record = Rc::new(tools.clone());
        }
        Some(())
    }
}

/// The files that came with the messages of a run, and those that its tools gave.
pub(crate) fn files_of(run: &Run) -> Vec<&File> {
    let mut files = Vec::new();
    let mut add = |blocks| files.extend(files_among(blocks));
    add(&run.prompt.files);
    for steered in &run.steered {
        add(&steered.prompt.files);
    }
    for call in run.turns.iter().flat_map(|turn| &turn.calls) {
        add(call.files());
        let delegate = call.delegate.as_deref().map_or(&[][..], |run| &run.turns);
        for call in delegate.iter().flat_map(|turn| &turn.calls) {
            add(call.files());
        }
    }
    files
}

/// The files among these blocks.
pub(crate) fn files_among(blocks: &[Block]) -> impl Iterator<Item = &File> {
    blocks.iter().filter_map(|block| match block {
        Block::File(file) => Some(file),
        _ => None,
    })
}

/// What this entry always allows.
fn granted_by(run: &Run, entry: &Entry) -> Vec<Grant> {
    match entry {
        Entry::PermissionAnswered { tool_call, answer, .. } if *answer == Answer::AlwaysAllow => {
            let Some(call) = run.call(tool_call) else { return Vec::new() };
            let CallState::Waiting(question) = &call.state else { return Vec::new() };
            vec![Grant {
                tool: call.name.clone(),
                definition: question.definition.clone(),
                destination: question.destination.clone(),
                outside: question.outside.clone(),
            }]
        }
        Entry::OfferAnswered { answer, .. } if *answer == Answer::AlwaysAllow => offer_granted(run),
        _ => Vec::new(),
    }
}

/// What an answer about tools that the provider runs always allows. A door of the room `past`.
#[inline(never)]
fn offer_granted(run: &Run) -> Vec<Grant> {
    enter(Room::Past);
    let Some(asked) = run.offer_asked() else { return Vec::new() };
    let grant = |(tool, definition): &(String, String)| Grant {
        tool: tool.clone(),
        definition: definition.clone(),
        destination: None,
        outside: asked.outside.clone(),
    };
    asked.tools.iter().map(grant).list()
}

/// Whether a command makes a copy of a session one of its own.
fn is_copy(what: &Word<Ask>) -> bool {
    matches!(what.known(), Some(Ask::Import | Ask::Fork | Ask::Salvage))
}

/// Whether an entry is one that came from outside.
pub(crate) fn is_input(entry: &Entry) -> bool {
    entry.cause() == Cause::Input
}
