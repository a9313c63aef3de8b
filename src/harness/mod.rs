//! The harness: what `startAgent` and `stopAgent` control.
//!
//! Decides the lifecycle, which command does what, and what follows from each journal entry. It is one
//! synchronous machine: [`Harness::handle`] takes what happened, [`Harness::poll`] gives what to do next; it
//! never acts, never waits and knows no clock. Promises: nothing is told, asked or done that a barrier guards
//! before its commit; a failed commit ends no run; at most one harness writes a workspace. Leaves to others:
//! acting (`browser/`, or the simulator in `tests/`), one run's decisions (`run/`), what a journal adds up to
//! (`session/`).

mod account;
mod action;
mod args;
mod calls;
mod commands;
mod config;
mod core;
mod events;
mod files;
mod keys;
mod outbox;
mod outcome;
mod page_calls;
mod pages;
mod permission;
mod queue;
mod runs;
mod secrets;
mod sessions;
mod setup;
mod slots;
mod start;
mod streaming;
mod waits;
mod watch;

pub use action::{Action, By, CallKey, Input, ModelRequest, Notice};
pub use commands::interrupts;
pub use config::{Config, Function, Given, Http, IfRunning, Provider, Timeouts};
pub use files::files;
pub use keys::VaultAsk;
pub use secrets::Secrets;
pub use start::{FORMAT_KEY, check_format};

use crate::error::{Code, ErrorInfo};
use crate::journal::Entry;
use crate::list::Listed;
use crate::maps::Few;
use crate::model::{Delta, Usage};
use crate::ports::{Key, Millis, PatternEngine, Read, Rows, StoreError};
use crate::session::Session;
use crate::session::carry::Reader;
use crate::session::operator::Operator;
use calls::Calls;
use core::{Core, Next};
use pages::Pages;
use sessions::Arrival;
use setup::Setup;

/// The session of the harness's own conversation.
pub const DEFAULT_SESSION: &str = "default";

/// Where the harness stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// Not started, or stopped.
    Stopped,
    /// Taking the lock and reading.
    Starting,
    /// Ready, or at work.
    Running,
    /// The harness itself has failed; starting it again goes on from what is stored.
    Error(String),
}

/// How a workspace was opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The workspace's name.
    pub name: String,
    /// Whether the twelve page tools are there.
    pub page_tools: bool,
    /// What the page of this instance is called, for those who find the lock taken.
    pub holder: String,
    /// Who works here; `None`: nobody, and then no session can be reached.
    pub operator: Option<Operator>,
}

impl Options {
    /// The operator of an origin where nobody says who works there.
    pub fn local_operator() -> Option<Operator> {
        Some(Operator { subject: "local".into(), issuer: None, expires_at: None })
    }
}

/// What a list of all sessions is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    Sessions,
    /// With what is known of each one's signature.
    Verified,
    /// What is always allowed in them.
    Grants,
}

/// What a read is for.
#[derive(Debug)]
enum After {
    /// The epoch and whoever held it.
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

/// The harness of one workspace, running or not.
#[derive(Debug)]
pub struct Harness {
    core: Core,
    closed: bool,
    closing: Option<Option<u32>>,
    /// Until which epoch an agent was stopped on purpose: what was always allowed until then is not any more.
    stopped: u64,
    start: Option<start::Start>,
    setup: Setup,
    calls: Calls,
    pages: Pages,
    /// Rows whose signatures are worked out again.
    judged: Few<u64, (After, Vec<Rows>)>,
    /// What waits to hear whether another tab works here.
    peeking: Vec<After>,
    /// A file of a session that is being read.
    reader: Option<Reader>,
    /// The session that arrives.
    arrival: Option<Arrival>,
    epoch_commit: Option<u64>,
    reads: Few<u64, After>,
    deferred: Vec<(Millis, Input)>,
}

impl Harness {
    /// The harness of a workspace that was just opened; it does not run yet.
    pub fn new(options: Options) -> Harness {
        Harness::with(options, PatternEngine::default())
    }

    /// The same with regular expressions for the schemas of its tools.
    pub fn with(options: Options, engine: PatternEngine) -> Harness {
        let mut harness = Harness {
            setup: Setup::new(options.page_tools, &engine),
            calls: Calls::default(),
            pages: Pages::default(),
            core: Core::new(options, engine),
            closed: false,
            closing: None,
            stopped: 0,
            start: None,
            judged: Few::default(),
            reader: None,
            arrival: None,
            peeking: Vec::new(),
            epoch_commit: None,
            reads: Few::default(),
            deferred: Vec::new(),
        };
        harness.setup.tell_tools(&mut harness.core);
        harness
    }

    fn take_config(&mut self, config: Config) {
        let before = self.setup.take(&mut self.core, config);
        self.drop_what_may_not_run(&before);
        if self.core.lifecycle == Lifecycle::Running {
            self.start_those_with_keys();
        }
    }

    /// The present configuration, secrets included: for whoever sends a request.
    pub fn config(&self) -> &Config {
        &self.setup.config
    }

    /// A session in its hands.
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.core.session(id)
    }

    /// The keys that must not appear anywhere.
    pub fn secrets(&self) -> &Secrets {
        &self.core.secrets
    }

    /// The same, to take note of a key that the world has found.
    pub fn secrets_mut(&mut self) -> &mut Secrets {
        &mut self.core.secrets
    }

    /// Where the harness stands.
    pub fn lifecycle(&self) -> &Lifecycle {
        &self.core.lifecycle
    }

    /// How many results and pieces of answers came too late: nobody waited for them any more, and they were dropped.
    pub fn dropped(&self) -> u64 {
        self.core.runs.all_dropped()
    }

    /// A piece of an answer. `false`: nobody wants it any more.
    pub fn delta(&mut self, call: CallKey, delta: Delta<'_>) -> bool {
        self.calls.delta(&mut self.core, call, delta)
    }

    /// Everything of one network read has come: the page is told, in one event a part. `usage`:
    /// [`Decoder::usage`](crate::model::Decoder::usage), which counts if the answer comes to no end of its own.
    pub fn flush(&mut self, now: Millis, call: CallKey, usage: Usage) {
        self.calls.flush(&mut self.core, &self.setup, now, call, usage);
    }

    /// Something of an answer has come: bytes of its body, or else its head.
    pub fn heard(&mut self, now: Millis, call: CallKey, bytes: bool) {
        self.calls.heard(&mut self.core, now, call, bytes);
    }

    /// Something happened, at this time. Follow it by [`Harness::poll`] until that gives nothing more.
    pub fn handle(&mut self, now: Millis, input: Input) {
        // A clock that goes backwards must not: entries are in order of time.
        self.core.set_now(now);
        if self.closed {
            if let Input::Command { id, .. } = input {
                self.core.reply_now(id, Err(commands::closed()));
            }
            return;
        }
        if !self.passes(&input) {
            self.deferred.push((now, input));
            return;
        }
        self.take(input);
        self.go_on_alone();
    }

    /// While a page change and its outcome are on their way as one, and while a conversation or a session is erased,
    /// nothing may come between.
    fn must_finish(&self) -> bool {
        self.pages.is_committing()
            || self.reads.values().any(|after| matches!(after, After::Erase { .. } | After::Remains))
    }

    /// Whether an input can be taken now: it waits for nothing, or is what is waited for.
    fn passes(&self, input: &Input) -> bool {
        match input {
            Input::Committed { .. } | Input::LockLost => true,
            Input::Read { .. } | Input::Signed { .. } => !self.pages.is_committing(),
            Input::Command { name, .. } if self.start.is_some() && !self.fits_the_start(name) => false,
            Input::Command { name, args, .. } if self.waits_for_a_key(name, args) => false,
            _ => !self.must_finish(),
        }
    }

    /// Whether a command can be taken while the workspace is being taken: what stops or clears waits for the start, and
    /// what starts waits for those before it.
    fn fits_the_start(&self, name: &str) -> bool {
        let waits = |name: &str| name == "stopAgent" || sessions::writes(name);
        let stops =
            |(_, input): &(Millis, Input)| matches!(input, Input::Command { name, .. } if waits(name));
        match &self.start {
            Some(start) if name == "startAgent" => !start.borrows() && !self.deferred.iter().any(stops),
            _ => !waits(name),
        }
    }

    /// Does what follows at once, and takes the inputs that had to wait.
    fn go_on_alone(&mut self) {
        loop {
            if let Some(error) = self.core.broken.take() {
                self.fail(error);
            }
            if !self.must_finish()
                && let Some(next) = self.core.next.pop_front()
            {
                self.follow(next);
                continue;
            }
            let next = self.deferred.iter().position(|(_, input)| self.passes(input));
            let Some((_, input)) = next.map(|at| self.deferred.remove(at)) else { break };
            self.take(input);
        }
        self.calls.tell_views(&mut self.core, &self.setup);
    }

    /// Does what a part has found to follow.
    fn follow(&mut self, next: Next) {
        match next {
            Next::NotCalled(call, error) => self.answered(call, Err((error, None))),
            Next::Settle { session, run, entry } => self.settle(&session, &run, &entry),
            Next::Stored { session, run, entry } => {
                self.after(&session, run.as_deref(), &entry);
                self.advance(&session);
            }
        }
    }

    /// The next thing to do; `None`: nothing until the next input, or until [`Harness::deadline`].
    pub fn poll(&mut self, now: Millis) -> Option<Action> {
        self.core.set_now(now);
        loop {
            if let Some(mut action) = self.core.outbox.pop() {
                // A run goes on while nobody is there; what it says can be read later.
                if let Action::Tell(notice) = &action
                    && self.core.present_operator().is_err()
                    && notice.is_of_session()
                {
                    continue;
                }
                if let Action::CallPage { call, function, .. } = &mut action {
                    let present = self
                        .calls
                        .functions
                        .get(*call)
                        .and_then(|live| calls::present_function(&self.setup, live));
                    *function = present.unwrap_or(*function);
                    // A function's time begins when it is called, not when it was ordered: its commit may be slow.
                    if let Some(live) = self.calls.functions.get_mut(*call) {
                        live.deadline = Some(self.core.now + live.limit);
                    }
                }
                return Some(action);
            }
            if !self.send_next_commit() && !self.finish_closing() {
                return None;
            }
            self.go_on_alone();
        }
    }

    /// When [`Input::Tick`] is wanted at the latest.
    pub fn deadline(&self) -> Option<Millis> {
        if self.must_finish() {
            return None;
        }
        let mut due = vec![
            self.calls.draft_due(),
            self.core.outbox.due(),
            self.calls.first_deadline(),
            self.removal_due(),
        ];
        for call in self.calls.functions.values() {
            due.push(call.deadline);
            due.push(call.progress_due());
        }
        for waiter in &self.core.runs.waiters {
            due.push(waiter.due());
        }
        for model in self.calls.models.values() {
            due.push(model.asked.watch.due());
        }
        for (_, _, at) in self.core.retries() {
            due.push(Some(at));
        }
        for (session, _) in self.core.sessions.iter() {
            due.push(self.setup.over_at(&self.core, session));
        }
        due.into_iter().flatten().min()
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Command { id, name, args, fresh, by } => {
                self.core.by = by;
                self.command(id, &name, args, fresh);
            }
            Input::Locked(granted) => self.locked(granted),
            Input::LockFailed(error) => {
                if let Some(start) = self.start.take() {
                    self.give_up_start(start, &error);
                }
            }
            Input::Held(held) => self.peeked(held),
            Input::LockLost => {
                let error = ErrorInfo::new(Code::OwnershipLost, "another tab has taken this workspace over");
                self.fail(error.hint("start the agent again to take it back"));
            }
            Input::Committed { commit, result } => self.committed(commit, result),
            Input::Read { read, result } => self.read_done(read, result),
            Input::Signed { id, signatures } => {
                if let Some((after, rows)) = self.judged.remove(id) {
                    self.rows_read(after, rows, signatures);
                }
            }
            Input::Account { read, result } => self.account_read(read, result),
            Input::Vault { name, held } => self.vault_changed(name, held),
            Input::Answered { call, result } => self.answered(call, result),
            Input::Returned { call, result } => self.returned(call, result),
            Input::Progress { call, json } => self.calls.progress(&mut self.core, call, &json),
            Input::Late(call) => self.core.runs.late(call),
            Input::Tick => self.tick(),
        }
        self.core.by = By::Here;
    }

    fn tick(&mut self) {
        let now = self.core.now;
        self.end_all_overdue();
        self.core.end_waits();
        for key in self.calls.functions.keys(&|call| call.deadline.is_some_and(|deadline| deadline <= now)) {
            self.calls.let_go(&mut self.core, key);
            let limit = self.calls.functions.get(key).map_or(0, |call| call.limit);
            let error = ErrorInfo::new(Code::ToolTimeout, format!("the tool did not end within {limit} ms"));
            self.returned(key, Err(error.hint("try again with less work, or go on without it")));
        }
        for (session, run, at) in self.core.retries() {
            if at <= now {
                self.core.settle(session, run, Entry::Due {});
            }
        }
        self.give_up_silent();
        self.calls.tell_late_progress(&mut self.core);
        self.expire_questions();
        self.end_removals();
        self.calls.draft_if_due(&mut self.core);
    }

    /// Sends the next commit if one is due. `false`: nothing changed.
    fn send_next_commit(&mut self) -> bool {
        if !self.core.outbox.free() {
            return false;
        }
        let pages_wait = self.pages.has_changes() || self.closing.is_some();
        if let Some(due) = self.core.outbox.due() {
            if due > self.core.now && !pages_wait {
                return false;
            }
            self.core.write_heads();
            let guard = self.core.guard();
            self.core.outbox.send(self.core.now, guard);
            return true;
        }
        self.pages.send_page_commit(&mut self.core)
    }

    fn committed(&mut self, commit: u64, result: Result<(), StoreError>) {
        if self.pages.commits(commit) {
            self.core.outbox.stored(commit);
            self.pages.page_committed(&mut self.core, result);
            self.core.tell_growth();
        } else if self.epoch_commit == Some(commit) {
            self.epoch_commit = None;
            self.core.outbox.stored(commit);
            self.epoch_committed(result);
        } else if !self.core.outbox.forgotten(commit) {
            match result {
                Ok(()) => {
                    self.core.outbox.stored(commit);
                    self.core.tell_growth();
                }
                Err(error) => {
                    self.core.outbox.failed(commit);
                    self.fail(error.info());
                }
            }
        }
    }

    fn read(&mut self, reads: Vec<Read>, after: After) {
        let id = self.core.read(reads);
        self.reads.insert(id, after);
    }

    fn read_done(&mut self, read: u64, result: Result<Vec<Rows>, StoreError>) {
        if self.pages.awaits(read) {
            return self.pages.rows_came(&mut self.core, read, result);
        }
        let Some(after) = self.reads.remove(read) else { return };
        let rows = match result {
            Ok(rows) => rows,
            Err(error) => return self.read_failed(after, &error.info()),
        };
        self.judge_rows(read, after, rows);
    }

    /// Has signed again what is signed among these rows, and goes on with them.
    fn judge_rows(&mut self, read: u64, after: After, rows: Vec<Rows>) {
        let texts = Harness::texts_to_judge(&after, &rows);
        if texts.is_empty() {
            return self.rows_read(after, rows, None);
        }
        self.judged.insert(read, (after, rows));
        self.core.outbox.act(Action::Sign { id: read, texts });
    }

    /// Rows are there, and what the signed ones among them sign to now; `None`: nothing can be signed.
    fn rows_read(&mut self, after: After, rows: Vec<Rows>, signatures: Option<Vec<String>>) {
        let signatures = signatures.as_deref();
        self.core.judge(&after, &rows, signatures);
        match after {
            After::Epoch => self.epoch_read(&rows),
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
            After::Arrived { command } => self.arrived(command, &rows, signatures),
            After::Remains => self.erase_removed(&rows),
            After::Erase { command, session } => {
                for write in rows.iter().take(1).flat_map(|rows| start::erasures(&session, rows)) {
                    self.core.outbox.write(write);
                }
                let files = rows.get(1).into_iter().flatten().map(|(key, _)| key.clone()).list();
                self.sweep_files(&files);
                self.erased(command, Ok(None));
            }
        }
    }

    fn read_failed(&mut self, after: After, error: &ErrorInfo) {
        match after {
            After::Epoch | After::Around | After::Load { .. } | After::Remains => self.fail(error.clone()),
            After::Account { .. } => {}
            After::Look(waiting) | After::Find(waiting) => {
                self.core.reply_now(waiting.command, Err(error.clone()))
            }
            After::List { command, .. } | After::Arrived { command } => {
                self.core.reply_now(command, Err(error.clone()));
            }
            After::Erase { command, .. } => self.erased(command, Err(error.clone())),
        }
    }

    /// The harness itself cannot go on: nothing in flight is wanted any more, and nothing that was not stored
    /// has happened. No run ends by this; the next start folds what is stored.
    fn fail(&mut self, error: ErrorInfo) {
        self.drop_all(&error);
        self.core.lifecycle = Lifecycle::Error(error.message.clone());
        self.core.failure = Some(error.clone());
        self.core.tell_status();
        self.core.tell_error(&error);
        self.core.tell_status_changed();
        if let Some(start) = self.start.take() {
            self.start_failed(start, &error);
        }
        // What has come of it is swept by the next start.
        self.arrival = None;
    }

    /// Another page is to go on with what runs here in this epoch, now: this one may stand still before another commit is
    /// through. What is not stored has not happened, and no run ends by this.
    fn step_back(&mut self, command: u32, epoch: u64) {
        let error = ErrorInfo::new(Code::OwnershipLost, "another tab may go on with the agent now");
        let error = error.hint("ask there, or start the agent again to take it back");
        if self.core.lifecycle == Lifecycle::Running && self.core.epoch == epoch {
            self.calls.draft_at_once(&mut self.core);
            self.drop_all(&error);
            self.core.lifecycle = Lifecycle::Stopped;
            self.core.tell_status();
            self.core.tell_status_changed();
            self.arrival = None;
        }
        self.core.reply_now(command, Ok(None));
    }

    /// Gives up all that is under way, and the workspace: those who wait are told why.
    fn drop_all(&mut self, error: &ErrorInfo) {
        self.abort_all();
        for action in self.core.outbox.abandon() {
            if let Action::Reply { id, result } = action {
                self.core.outbox.act(Action::Reply { id, result: result.and(Err(error.clone())) });
            }
        }
        for waiter in std::mem::take(&mut self.core.runs.waiters) {
            self.core.reply_now(waiter.command, Err(error.clone()));
        }
        // What was read for this holding of the workspace must not serve the next one.
        let mut unanswered = Vec::new();
        self.judged.retain(|(after, _)| !matches!(after, After::Load { .. }));
        self.reads.retain(|after| match after {
            After::Erase { command, .. } => {
                unanswered.push(*command);
                false
            }
            After::Epoch | After::Account { .. } | After::Around | After::Load { .. } | After::Remains => {
                false
            }
            _ => true,
        });
        for command in unanswered {
            self.core.reply_now(command, Err(error.clone()));
        }
        self.core.sessions.let_all_go();
        self.core.runs.forget();
        self.reader = None;
        self.epoch_commit = None;
        self.pages.drop_commit_of_run();
        self.core.unlock(false);
    }

    fn abort_all(&mut self) {
        for key in self.calls.models.keys(&|_| true) {
            self.calls.let_go(&mut self.core, key);
            self.calls.models.remove(key);
        }
        for key in self.calls.functions.keys(&|call| call.owner.run().is_some()) {
            self.calls.let_go(&mut self.core, key);
            self.calls.functions.remove(key);
        }
        self.pages.drop_of_runs();
    }

    fn close(&mut self, command: Option<u32>) {
        self.calls.write_drafts(&mut self.core);
        self.turn_away();
        self.abort_all();
        self.closing = Some(command);
    }

    /// A newer version wants the database: what is written is stored, a run at work is held, then all is let go.
    pub fn make_way(&mut self, now: Millis) {
        self.core.set_now(now);
        self.close(None);
    }

    /// Closes once everything is stored. `false`: nothing changed.
    fn finish_closing(&mut self) -> bool {
        if !self.core.outbox.is_idle() || self.pages.is_committing() {
            return false;
        }
        let Some(command) = self.closing.take() else { return false };
        self.closed = true;
        for (_, input) in std::mem::take(&mut self.deferred) {
            if let Input::Command { id, .. } = input {
                self.core.reply_now(id, Err(commands::closed()));
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
