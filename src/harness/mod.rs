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
mod calls;
mod commands;
mod config;
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
mod sessions;
mod start;
mod streaming;
mod waits;
mod watch;

pub use action::{Action, By, CallKey, Input, ModelRequest, Notice};
pub use config::{Config, Function, Given, Http, IfRunning, Provider, Timeouts};
pub use files::files;
pub use keys::VaultAsk;
pub use start::{FORMAT_KEY, check_format};

use crate::error::{Code, ErrorInfo, Provided, Told};
use crate::find;
use crate::journal::Entry;
use crate::journal::canonical::Integrity;
use crate::json::json;
use crate::list::Listed;
use crate::maps::{Few, Named};
use crate::object::Object;
use crate::ports::{Key, Millis, PatternEngine, Read, Rows, StoreError};
use crate::prompt::{self, Skill};
use crate::protocol::Command;
use crate::run::{Call, Run, Runs};
use crate::session::carry::Reader;
use crate::session::operator::Operator;
use crate::session::{Session, Transcript};
use crate::tools::{Definition, Policy, Registry, ToolText, own};
use crate::workspace::Workspace;
use calls::LiveCall;
use outbox::Outbox;
use serde_json::Value;
use sessions::{Arrival, Head};
use std::collections::VecDeque;
use streaming::LiveModel;

/// What stands in place of a key.
const REDACTED: &str = "[REDACTED]";

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

/// A session in the hands of this harness.
#[derive(Debug)]
struct Slot {
    session: Session,
    /// What the models of the present run, and of those that work for it, were sent.
    transcripts: Named<Transcript>,
    /// Whether the run's instructions were asked for, and given.
    instructed: Instructed,
    /// The tool calls that had begun when it was benched in this epoch: that is told once.
    begun: Vec<String>,
    /// Up to which entry its head is written.
    head: u64,
}

impl Slot {
    fn new(session: Session) -> Slot {
        Slot {
            session,
            transcripts: Named::default(),
            instructed: Instructed::No,
            begun: Vec::new(),
            head: 0,
        }
    }
}

/// Whether a function that gives the instructions was asked, this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructed {
    No,
    Asked,
    Yes,
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
    /// Pages, all or the changed ones.
    Pages(pages::Refresh),
    /// What an operation on pages needs besides the pages.
    PageRows(Box<pages::Job>),
}

/// The harness of one workspace, running or not.
#[derive(Debug)]
pub struct Harness {
    options: Options,
    now: Millis,
    /// Who has given the command that is carried out now.
    by: By,
    lifecycle: Lifecycle,
    /// Why it stands at `Error`, whole.
    failure: Option<ErrorInfo>,
    closed: bool,
    closing: Option<Option<u32>>,
    epoch: u64,
    /// Until which epoch an agent was stopped on purpose: what was always allowed until then is not any more.
    stopped: u64,
    start: Option<start::Start>,
    config: Config,
    /// Every key that was ever given: what is on its way may still name an earlier one.
    secrets: Vec<String>,
    /// The names under which the vault has keys.
    vault: Vec<String>,
    /// What the function for the instructions gave.
    instructions: Option<String>,
    registry: Registry,
    engine: PatternEngine,
    /// What may be done and what is asked about, by the present configuration.
    policy: Policy,
    /// The skills that count: the page's, and the account's.
    skills: Vec<Skill>,
    /// The skills that the account of this origin has.
    account: Vec<Skill>,
    /// Configuration or tools are not yet as the journals have them.
    changed: bool,
    /// Calls of the page's own code that wait for a person.
    page_questions: Vec<page_calls::PageQuestion>,
    /// Whether the page was last told that it waits for a person.
    told_suspended: bool,
    /// When a question of a run, or a call that somebody answers, is not waited for any longer: session and tool call.
    question_deadlines: Vec<(Millis, String, String)>,
    sessions: Named<Slot>,
    /// The heads of all sessions of the workspace, as they were read or written last, while it is in our hands.
    heads: Named<Head>,
    /// The sessions of the workspace that are put aside, while it is in our hands.
    benched: Named<()>,
    /// What is known of the signatures of heads, as they were read last.
    verdicts: Named<Integrity>,
    /// The sessions of which something else gave away that somebody has changed them.
    tampered: Named<()>,
    /// Rows whose signatures are worked out again.
    judged: Few<u64, (After, Vec<Rows>)>,
    /// What waits to hear whether another tab works here.
    peeking: Vec<After>,
    /// A file of a session that is being read.
    reader: Option<Reader>,
    /// The session that arrives.
    arrival: Option<Arrival>,
    /// The sessions that a view watches, with the state that it was told last.
    watched: Named<String>,
    /// The sessions whose journals are followed, each with the length that was told last.
    attached: Named<u64>,
    workspace: Option<Workspace>,
    page_jobs: VecDeque<pages::Job>,
    page_commit: Option<(u64, pages::Job, pages::Step)>,
    refreshing: bool,
    refresh_queue: Vec<pages::Job>,
    outbox: Outbox,
    epoch_commit: Option<u64>,
    models: Few<CallKey, LiveModel>,
    calls: Few<CallKey, LiveCall>,
    keys: CallKey,
    reads: Few<u64, After>,
    read_ids: u64,
    /// The runs under way, and who waits for their ends.
    runs: Runs,
    deferred: Vec<(Millis, Input)>,
    /// What follows at once, of itself.
    inner: VecDeque<Inner>,
    last_draft: Millis,
    /// Why the run that ends next was interrupted.
    interrupt_reason: String,
}

/// Something that follows at once, without the world.
#[derive(Debug)]
enum Inner {
    /// A model call that could not even be made.
    NotCalled(CallKey, ErrorInfo),
    /// An entry of a run that is known already.
    Settle { session: String, run: String, entry: Box<Entry> },
}

impl Harness {
    /// The harness of a workspace that was just opened; it does not run yet.
    pub fn new(options: Options) -> Harness {
        Harness::with(options, PatternEngine::default())
    }

    /// The same with regular expressions for the schemas of its tools.
    pub fn with(options: Options, engine: PatternEngine) -> Harness {
        let mut registry = Registry::with(engine.clone());
        for definition in crate::tools::pages::definitions().into_iter().filter(|_| options.page_tools) {
            // Their schemas compile and their names differ: a test of `tools/` says so.
            let registered = registry.register(definition, false);
            debug_assert!(registered.is_ok());
        }
        let mut harness = Harness {
            options,
            now: 0,
            by: By::Here,
            lifecycle: Lifecycle::Stopped,
            failure: None,
            closed: false,
            closing: None,
            epoch: 0,
            stopped: 0,
            start: None,
            config: Config::default(),
            secrets: Vec::new(),
            vault: Vec::new(),
            instructions: None,
            registry,
            engine,
            policy: Policy::default(),
            skills: Vec::new(),
            account: Vec::new(),
            changed: false,
            page_questions: Vec::new(),
            told_suspended: false,
            question_deadlines: Vec::new(),
            sessions: Named::default(),
            heads: Named::default(),
            benched: Named::default(),
            verdicts: Named::default(),
            tampered: Named::default(),
            judged: Few::default(),
            reader: None,
            arrival: None,
            peeking: Vec::new(),
            watched: Named::default(),
            attached: Named::default(),
            workspace: None,
            page_jobs: VecDeque::new(),
            page_commit: None,
            refreshing: false,
            refresh_queue: Vec::new(),
            outbox: Outbox::default(),
            epoch_commit: None,
            models: Few::default(),
            calls: Few::default(),
            keys: 0,
            reads: Few::default(),
            read_ids: 0,
            runs: Runs::default(),
            deferred: Vec::new(),
            inner: VecDeque::new(),
            last_draft: 0,
            interrupt_reason: String::new(),
        };
        harness.tell_tools();
        harness
    }

    /// Takes note of a key: it must not appear anywhere, nor as a JSON text or a URL writes it. What `fetch` trims goes
    /// out without its ends, and may come back so.
    pub fn keep_secret(&mut self, key: &str) {
        let key = key.trim_ascii();
        if key.len() < config::SECRET_BYTES {
            return;
        }
        for form in [key.into(), keys::in_json(key), keys::in_url(key)] {
            if !self.secrets.contains(&form) {
                // The longer one first: if a shorter one is its beginning, what is left of it would be half a key.
                let at = self.secrets.iter().position(|other| other.len() < form.len());
                self.secrets.insert(at.unwrap_or(self.secrets.len()), form);
            }
        }
    }

    fn take_config(&mut self, config: Config) {
        for secret in config.secrets() {
            self.keep_secret(secret);
        }
        self.config = config;
        self.config.look_in_vault(&self.vault);
        let policy = Policy::from_record(&self.config.record());
        let before = std::mem::replace(&mut self.policy, policy);
        self.skills = prompt::merged(&self.config.skills, &self.account);
        self.equip();
        self.changed = true;
        self.tell_tools();
        self.drop_what_may_not_run(&before);
        if self.lifecycle == Lifecycle::Running {
            self.start_those_with_keys();
        }
    }

    /// Puts the harness's own tools there, as far as the configuration wants them.
    fn equip(&mut self) {
        let names: Vec<&str> = prompt::offered(&self.skills).map(|skill| skill.name.as_str()).list();
        let skills = (!names.is_empty()).then(|| own::use_skill(names.into_iter()));
        let wanted = [(own::DELEGATE, self.config.delegates().then(own::delegate)), (own::USE_SKILL, skills)];
        for (name, definition) in wanted {
            // A tool of the page with the name of ours stays: then the skills of other workspaces are not to be had here.
            let _ = self.registry.set_own(name, definition);
        }
    }

    /// Whether the names are free that a configuration needs for the harness's own tools.
    fn own_tools_fit(&self, config: &Config) -> Result<(), ErrorInfo> {
        let needed = [
            (own::DELEGATE, config.delegates(), "an Orchestrator"),
            (own::USE_SKILL, !config.skills.is_empty(), "skills"),
        ];
        match needed.iter().find(|(name, needed, _)| *needed && self.registry.is_taken(name)) {
            Some((name, _, what)) => {
                let message = format!("the page has a tool called '{name}', which {what} would need");
                Err(ErrorInfo::new(Code::DuplicateTool, message).hint("give the page's tool another name"))
            }
            None => Ok(()),
        }
    }

    /// The present configuration, secrets included: for whoever sends a request.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where the harness stands.
    pub fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }

    /// How many results and pieces of answers came too late: nobody waited for them any more, and they were dropped.
    pub fn dropped(&self) -> u64 {
        self.runs.all_dropped()
    }

    /// A session in its hands.
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.get(id).map(|slot| &slot.session)
    }

    /// The run of a session that has not ended.
    fn current(&self, session: &str) -> Option<&Run> {
        self.session(session)?.current()
    }

    /// Its id, as entries and events name it.
    fn current_id(&self, session: &str) -> String {
        self.current(session).map(|run| run.id.clone()).unwrap_or_default()
    }

    /// A run of a session's present conversation.
    fn run(&self, session: &str, run: &str) -> Option<&Run> {
        self.session(session)?.run(run)
    }

    /// A tool call of such a run.
    fn call_of(&self, session: &str, run: &str, tool_call: &str) -> Option<&Call> {
        self.run(session, run)?.call(tool_call)
    }

    /// The tool of such a call, as it is now.
    fn tool_of(&self, session: &str, run: &str, tool_call: &str) -> Option<&Definition> {
        Some(&self.registry.get(&self.call_of(session, run, tool_call)?.name)?.definition)
    }

    /// Something happened, at this time. Follow it by [`Harness::poll`] until that gives nothing more.
    pub fn handle(&mut self, now: Millis, input: Input) {
        // A clock that goes backwards must not: entries are in order of time.
        self.now = self.now.max(now);
        if self.closed {
            if let Input::Command { id, .. } = input {
                self.reply_now(id, Err(commands::closed()));
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
        self.page_commit.is_some()
            || self.reads.values().any(|after| matches!(after, After::Erase { .. } | After::Remains))
    }

    /// Whether an input can be taken now: it waits for nothing, or is what is waited for.
    fn passes(&self, input: &Input) -> bool {
        match input {
            Input::Committed { .. } | Input::LockLost => true,
            Input::Read { .. } | Input::Signed { .. } => self.page_commit.is_none(),
            Input::Command { request: Ok(request), .. }
                if self.start.is_some() && !self.fits_the_start(request.command) =>
            {
                false
            }
            Input::Command { request: Ok(request), .. } if self.waits_for_a_key(request) => false,
            _ => !self.must_finish(),
        }
    }

    /// Whether a command can be taken while the workspace is being taken: what stops or clears waits for the start, and
    /// what starts waits for those before it.
    fn fits_the_start(&self, command: Command) -> bool {
        let waits = |command: Command| command == Command::StopAgent || command.borrows();
        let stops = |(_, input): &(Millis, Input)| matches!(input, Input::Command { request: Ok(request), .. } if waits(request.command));
        match &self.start {
            Some(start) if command == Command::StartAgent => {
                !start.borrows() && !self.deferred.iter().any(stops)
            }
            _ => !waits(command),
        }
    }

    /// Does what follows at once, and takes the inputs that had to wait.
    fn go_on_alone(&mut self) {
        loop {
            if !self.must_finish()
                && let Some(inner) = self.inner.pop_front()
            {
                match inner {
                    Inner::NotCalled(call, error) => self.answered(call, Err((error, None))),
                    Inner::Settle { session, run, entry } => self.settle(&session, &run, &entry),
                }
                continue;
            }
            let next = self.deferred.iter().position(|(_, input)| self.passes(input));
            let Some((_, input)) = next.map(|at| self.deferred.remove(at)) else { break };
            self.take(input);
        }
        self.tell_views();
    }

    /// The next thing to do; `None`: nothing until the next input, or until [`Harness::deadline`].
    pub fn poll(&mut self, now: Millis) -> Option<Action> {
        self.now = self.now.max(now);
        loop {
            if let Some(mut action) = self.outbox.pop() {
                // A run goes on while nobody is there; what it says can be read later.
                if let Action::Tell(notice) = &action
                    && self.present_operator().is_err()
                    && notice.is_of_session()
                {
                    continue;
                }
                if let Action::CallPage { call, function, .. } = &mut action {
                    let present = self.calls.get(*call).and_then(|live| self.present_function(live));
                    *function = present.unwrap_or(*function);
                    // A function's time begins when it is called, not when it was ordered: its commit may be slow.
                    if let Some(live) = self.calls.get_mut(*call) {
                        live.deadline = Some(self.now + live.limit);
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
        let mut due = vec![self.draft_due(), self.outbox.due(), self.first_deadline(), self.removal_due()];
        for call in self.calls.values() {
            due.push(call.deadline);
            due.push(call.progress_due());
        }
        for waiter in &self.runs.waiters {
            due.push(waiter.due());
        }
        for model in self.models.values() {
            due.push(model.asked.watch.due());
        }
        for (_, _, at) in self.retries() {
            due.push(Some(at));
        }
        for session in self.sessions.keys() {
            due.push(self.over_at(session));
        }
        due.into_iter().flatten().min()
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Command { id, request, fresh, by } => {
                self.by = by;
                self.command(id, request, fresh);
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
            Input::Progress { call, json } => self.progress(call, &json),
            Input::Late(call) => self.runs.late(call),
            Input::Tick => self.tick(),
        }
        self.by = By::Here;
    }

    fn tick(&mut self) {
        let now = self.now;
        self.end_all_overdue();
        self.end_waits();
        for key in self.calls.keys(&|call| call.deadline.is_some_and(|deadline| deadline <= now)) {
            self.let_go(key);
            let limit = self.calls.get(key).map_or(0, |call| call.limit);
            let error = ErrorInfo::new(Code::ToolTimeout, format!("the tool did not end within {limit} ms"));
            self.returned(key, Err(error.hint("try again with less work, or go on without it")));
        }
        for (session, run, at) in self.retries() {
            if at <= now {
                self.inner_settle(session, run, Entry::Due {});
            }
        }
        self.give_up_silent();
        self.tell_late_progress();
        self.expire_questions();
        self.end_removals();
        self.draft_if_due();
    }

    /// Sends the next commit if one is due. `false`: nothing changed.
    fn send_next_commit(&mut self) -> bool {
        if !self.outbox.free() {
            return false;
        }
        let pages_wait = !self.page_jobs.is_empty() || self.closing.is_some();
        if let Some(due) = self.outbox.due() {
            if due > self.now && !pages_wait {
                return false;
            }
            self.write_heads();
            let guard = self.guard();
            self.outbox.send(self.now, guard);
            return true;
        }
        self.send_page_commit()
    }

    fn committed(&mut self, commit: u64, result: Result<(), StoreError>) {
        if self.page_commit.as_ref().is_some_and(|(id, ..)| *id == commit) {
            self.outbox.stored(commit);
            self.page_committed(result);
            self.tell_growth();
        } else if self.epoch_commit == Some(commit) {
            self.epoch_commit = None;
            self.outbox.stored(commit);
            self.epoch_committed(result);
        } else if !self.outbox.forgotten(commit) {
            match result {
                Ok(()) => {
                    self.outbox.stored(commit);
                    self.tell_growth();
                }
                Err(error) => {
                    self.outbox.failed(commit);
                    self.fail(error.info());
                }
            }
        }
    }

    fn read(&mut self, reads: Vec<Read>, after: After) {
        self.read_ids += 1;
        self.reads.insert(self.read_ids, after);
        self.outbox.act(Action::Read { id: self.read_ids, reads });
    }

    fn read_done(&mut self, read: u64, result: Result<Vec<Rows>, StoreError>) {
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
        self.outbox.act(Action::Sign { id: read, texts });
    }

    /// Rows are there, and what the signed ones among them sign to now; `None`: nothing can be signed.
    fn rows_read(&mut self, after: After, rows: Vec<Rows>, signatures: Option<Vec<String>>) {
        let signatures = signatures.as_deref();
        self.judge(&after, &rows, signatures);
        match after {
            After::Epoch => self.epoch_read(&rows),
            After::Around => self.looked_around(&rows),
            After::Load { sessions, files } => self.load(&sessions, &files, &rows),
            After::Account { .. } => {}
            After::Look(waiting) => {
                self.by = waiting.by.clone();
                self.look(*waiting, &rows, signatures);
            }
            After::Find(waiting) => self.found(*waiting, &rows),
            After::List { command, of, asked, held } => self.heads_read(command, of, (asked, held), &rows),
            After::Arrived { command } => self.arrived(command, &rows, signatures),
            After::Remains => self.erase_removed(&rows),
            After::Erase { command, session } => {
                for write in rows.iter().take(1).flat_map(|rows| start::erasures(&session, rows)) {
                    self.outbox.write(write);
                }
                let files = rows.get(1).into_iter().flatten().map(|(key, _)| key.clone()).list();
                self.sweep_files(&files);
                self.erased(command, Ok(None));
            }
            After::Pages(refresh) => self.pages_read(refresh, rows),
            After::PageRows(job) => self.page_rows(*job, rows),
        }
    }

    fn read_failed(&mut self, after: After, error: &ErrorInfo) {
        match after {
            After::Epoch | After::Around | After::Load { .. } | After::Remains => self.fail(error.clone()),
            After::Account { .. } => {}
            After::Look(waiting) | After::Find(waiting) => {
                self.reply_now(waiting.command, Err(error.clone()))
            }
            After::List { command, .. } | After::Arrived { command } => {
                self.reply_now(command, Err(error.clone()));
            }
            After::Erase { command, .. } => self.erased(command, Err(error.clone())),
            After::Pages(refresh) => {
                self.refreshing = false;
                for job in refresh.jobs {
                    self.page_job_done(job, Err(error.clone()));
                }
                self.refresh();
            }
            After::PageRows(job) => self.page_job_done(*job, Err(error.clone())),
        }
    }

    /// The harness itself cannot go on: nothing in flight is wanted any more, and nothing that was not stored
    /// has happened. No run ends by this; the next start folds what is stored.
    fn fail(&mut self, error: ErrorInfo) {
        self.drop_all(&error);
        self.lifecycle = Lifecycle::Error(error.message.clone());
        self.failure = Some(error.clone());
        self.tell_status();
        self.tell_error(&error);
        self.tell_status_changed();
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
        if self.lifecycle == Lifecycle::Running && self.epoch == epoch {
            self.draft_at_once();
            self.drop_all(&error);
            self.lifecycle = Lifecycle::Stopped;
            self.tell_status();
            self.tell_status_changed();
            self.arrival = None;
        }
        self.reply_now(command, Ok(None));
    }

    /// Gives up all that is under way, and the workspace: those who wait are told why.
    fn drop_all(&mut self, error: &ErrorInfo) {
        self.abort_all();
        for action in self.outbox.abandon() {
            if let Action::Reply { id, result } = action {
                self.outbox.act(Action::Reply { id, result: result.and(Err(error.clone())) });
            }
        }
        for waiter in std::mem::take(&mut self.runs.waiters) {
            self.reply_now(waiter.command, Err(error.clone()));
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
            self.reply_now(command, Err(error.clone()));
        }
        self.sessions.clear();
        self.runs.forget();
        self.reader = None;
        self.epoch_commit = None;
        self.page_commit.take_if(|(_, job, _)| !job.is_of_page());
        self.unlock(false);
    }

    fn unlock(&mut self, stopped: bool) {
        self.outbox.act(Action::Unlock { epoch: self.epoch, stopped });
    }

    fn abort_all(&mut self) {
        for key in self.models.keys(&|_| true) {
            self.let_go(key);
            self.models.remove(key);
        }
        for key in self.calls.keys(&|call| call.owner.run().is_some()) {
            self.let_go(key);
            self.calls.remove(key);
        }
        self.page_jobs.retain(pages::Job::is_of_page);
    }

    /// Aborts a call that is still known: what it says from here on comes too late for its run.
    fn let_go(&mut self, key: CallKey) {
        self.outbox.abort(key);
        let of_model = self.models.get(key).map(|model| model.run.as_str());
        let run = of_model.or_else(|| self.calls.get(key)?.owner.run());
        if let Some(run) = run {
            self.runs.let_go(key, run);
        }
    }

    fn reply_now(&mut self, id: u32, result: Result<Option<String>, ErrorInfo>) {
        self.outbox.act(Action::Reply { id, result });
    }

    fn reply(&mut self, id: u32, result: Result<Option<String>, ErrorInfo>) {
        self.outbox.tell_after_commit(Action::Reply { id, result });
    }

    fn reply_value(&mut self, id: u32, value: &Value) {
        self.reply(id, Ok(Some(json(value))));
    }

    fn key(&mut self) -> CallKey {
        self.keys = self.keys.wrapping_add(1);
        self.keys
    }

    /// The same text without the keys that must not appear anywhere.
    fn scrubbed(&self, text: String) -> String {
        let mut text = text;
        self.scrub(&mut text);
        text
    }

    /// Takes the keys out of a text. Whether there were any.
    fn scrub(&self, text: &mut String) -> bool {
        let mut found = false;
        for secret in &self.secrets {
            if find::has(text, secret) {
                *text = find::replace(text, secret, REDACTED);
                found = true;
            }
        }
        found
    }

    /// The same value with its texts scrubbed.
    fn scrubbed_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.scrubbed(text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.scrubbed_value(item)).array(),
            Value::Object(members) => {
                let mut scrubbed = Object::new();
                for (name, value) in members {
                    scrubbed.value(&self.scrubbed(name), self.scrubbed_value(value));
                }
                scrubbed.done()
            }
            other => other,
        }
    }

    /// An error of the page's own code as the journal keeps it: without keys, and no longer than a result.
    fn scrubbed_error(&self, mut error: ErrorInfo) -> ErrorInfo {
        self.scrub_error(&mut error);
        error.message = ToolText::cut(std::mem::take(&mut error.message)).text;
        error
    }

    fn scrub_error(&self, error: &mut ErrorInfo) {
        let Told { message, hint, provider: Provided { code, request, .. }, .. } = &mut **error;
        self.scrub(message);
        for text in [hint, code, request].into_iter().flatten() {
            self.scrub(text);
        }
    }

    fn close(&mut self, command: Option<u32>) {
        self.write_drafts();
        self.turn_away();
        self.abort_all();
        self.closing = Some(command);
    }

    /// A newer version wants the database: what is written is stored, a run at work is held, then all is let go.
    pub fn make_way(&mut self, now: Millis) {
        self.now = self.now.max(now);
        self.close(None);
    }

    /// Closes once everything is stored. `false`: nothing changed.
    fn finish_closing(&mut self) -> bool {
        if !self.outbox.is_idle() || self.page_commit.is_some() {
            return false;
        }
        let Some(command) = self.closing.take() else { return false };
        self.closed = true;
        for (_, input) in std::mem::take(&mut self.deferred) {
            if let Input::Command { id, .. } = input {
                self.reply_now(id, Err(commands::closed()));
            }
        }
        self.lifecycle = Lifecycle::Stopped;
        self.unlock(false);
        if let Some(command) = command {
            self.reply_now(command, Ok(None));
        }
        self.outbox.act(Action::Close);
        true
    }
}
