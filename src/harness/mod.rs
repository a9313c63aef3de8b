//! The harness: what `startAgent` and `stopAgent` control.
//!
//! One synchronous machine: [`Harness::handle`] takes what happened, [`Harness::poll`] gives what to do next. It never
//! acts, never waits and knows no clock. Promises: nothing is told, asked or done that a barrier guards before its commit.
//! A failed commit ends no run, and at most one harness writes a workspace. Leaves to others: acting (`browser/`, or the
//! simulator of the tests), one run's decisions (`run/`), what a journal adds up to (`session/`).
//!
//! Its parts, from the ground up. A part owns its state and reaches no part above it. Its methods lie in its folder, a
//! file for each subject:
//!
//! - `config`: what a page configures, as values. `action`: what goes in and what comes out.
//! - `core`: time, who asks (`operators`), the outbox, the sessions (`slots`, `head`), signatures (`integrity`), who
//!   waits (`waits`), what the page is told (`told`), the secrets.
//! - `setup`: what the agent works with, its configuration, its tools and its skills.
//! - `keys`: the vault and trials of keys.
//! - `calls`: what is under way outside, and what is told of it (`streaming`, `events`, `questions`).
//! - `pages`: operations on pages. `memories`: the same on memories.
//! - `reads`: what is read for sessions, and what is told from rows (`look`, `list`, `tail`).
//! - `runner`: runs the runs with `setup`, `calls` and `pages`. Messages, records, the queue, permission, files.
//! - `holding`: how this page holds the workspace, from its start (`start`) to its end (`ends`), and its sessions
//!   (`take`).
//! - here, the methods of [`Harness`], which binds the parts: who may give a command (`gate`), what it does
//!   (`commands`). Which input is taken when (`order`). Which rooms are needed, and what waits for one (`doors`,
//!   `lacking`). What was found at the opening (`opening`), what rows lead to (`rows`,
//!   `looks`, `takes`, `carry`), commits, answers of HTTP (`heard`).

mod action;
mod calls;
mod carry;
mod commands;
mod commits;
mod config;
mod core;
mod doors;
mod gate;
mod heard;
mod holding;
mod keys;
mod lacking;
mod looks;
mod memories;
mod opening;
mod order;
mod pages;
mod reads;
mod rows;
mod runner;
mod setup;
mod takes;

pub use action::{Action, By, CallKey, Input, ModelRequest, Notice, VaultAsk};
pub use config::{Config, Function, Given, Http, IfRunning, Provider, Timeouts};
pub use core::secrets::Secrets;
pub use core::stored::{FORMAT_KEY, LOST_KEY, first_format_write, format_text};
pub use core::{DEFAULT_SESSION, Lifecycle, Options};
pub use doors::{OF_FILES, rooms_of};
pub use opening::{Found, Marker, loss_known};
pub use runner::files::files;

use crate::error::{Code, ErrorInfo};
use crate::model::File;
use crate::ports::{Millis, PatternEngine};
use crate::rooms::{Room, enter};
use crate::session::Session;
use core::Core;
use doors::Doors;
use holding::Holding;
use keys::Keys;
use reads::Reads;
use runner::Runner;

/// The harness of one workspace, running or not.
#[derive(Debug)]
pub struct Harness {
    core: Core,
    runner: Runner,
    keys: Keys,
    reads: Reads,
    holding: Holding,
    doors: Doors,
    deferred: Vec<(Millis, Input)>,
    /// Whether a loss was told when the workspace was opened, until that is acknowledged here.
    lost: bool,
    /// Whether the marker is set.
    marked: bool,
}

impl Harness {
    /// The harness of a workspace that was just opened; it does not run yet. [`rooms_of`] its options are there.
    pub fn new(options: Options) -> Harness {
        Harness::with(options, PatternEngine::default())
    }

    /// The same with regular expressions for the schemas of its tools.
    pub fn with(options: Options, engine: PatternEngine) -> Harness {
        let mut harness = Harness {
            doors: Doors::new(options.page_tools),
            runner: Runner::new(&options, &engine),
            core: Core::new(options, engine),
            keys: Keys::default(),
            reads: Reads::default(),
            holding: Holding::default(),
            deferred: Vec::new(),
            lost: false,
            marked: false,
        };
        harness.runner.setup.tell_tools(&mut harness.core);
        harness
    }

    /// The present configuration, secrets included: the sender of a request needs it.
    pub fn config(&self) -> &Config {
        &self.runner.setup.config
    }

    /// A session in its hands.
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.core.session(id)
    }

    /// Whether files that a tool gives are kept with its call. A door of the room `past`.
    #[inline(never)]
    pub fn keeps(&self, call: CallKey, files: &[File]) -> bool {
        enter(Room::Past);
        matches!(self.runner.keeps(&self.core, call, files), Ok(Some(_)))
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
        &self.core.state.lifecycle
    }

    /// How many results and pieces of answers came too late: nobody waited for them any more, and they were dropped.
    pub fn dropped(&self) -> u64 {
        self.core.runs.all_dropped()
    }

    /// Something happened, at this time. Follow it by [`Harness::poll`] until that gives nothing more.
    pub fn handle(&mut self, now: Millis, input: Input) {
        // A clock that goes backwards must not: entries are in order of time.
        self.core.set_now(now);
        if self.holding.closed {
            if let Input::Command { id, .. } = input {
                self.core.reply_now(id, Err(core::refused::closed()));
            }
            return;
        }
        self.ask_for_rooms(&input);
        if !self.passes(&input, &self.deferred) {
            self.deferred.push((now, input));
            return;
        }
        self.take(input);
        self.go_on_alone();
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
                        .runner
                        .calls
                        .functions
                        .get(*call)
                        .and_then(|live| calls::present_function(&self.runner.setup, live));
                    *function = present.unwrap_or(*function);
                    // A function's time begins when it is called, not when it was ordered: its commit may be slow.
                    if let Some(live) = self.runner.calls.functions.get_mut(*call) {
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
        let due = [
            self.runner.deadline(&self.core),
            self.keys.due(),
            self.core.outbox.due(),
            self.holding.removal_due(&self.core),
            self.holding.archive_due(&self.core, &self.runner),
            self.runner.setup.untold.then_some(self.core.now),
        ];
        due.into_iter().flatten().min()
    }

    fn take(&mut self, input: Input) {
        if !input.changes_tools() {
            self.runner.setup.tell_tools(&mut self.core);
        }
        match input {
            Input::Command { id, request, fresh, by } => {
                self.core.by = by;
                self.command(id, request, fresh);
            }
            Input::Locked(granted) => self.holding.locked(&mut self.core, &mut self.reads, granted),
            Input::LockFailed(error) => {
                if let Some(start) = self.holding.start.take() {
                    self.holding.give_up_start(&mut self.core, start, &error);
                }
            }
            Input::Held(held) => self.holding.peeked(&mut self.core, &mut self.reads, held),
            Input::LockLost => {
                let error = ErrorInfo::new(Code::OwnershipLost, "another tab has taken this workspace over");
                self.holding.fail(
                    &mut self.core,
                    &mut self.runner,
                    &mut self.reads,
                    error.hint("start the agent again to take it back"),
                );
            }
            Input::Committed { commit, result } => self.committed(commit, result),
            Input::Read { read, result } => self.read_done(read, result),
            Input::Signed { id, result, strict } => {
                self.core.strict = strict;
                if let Some((after, rows)) = self.reads.judged.remove(id) {
                    match result {
                        Ok(signatures) => self.rows_read(after, rows, signatures),
                        Err(error) => self.read_failed(after, &error.info()),
                    }
                }
            }
            Input::Account { read, result } => {
                self.holding.account_read(&mut self.core, &mut self.runner, &mut self.reads, read, result)
            }
            Input::Exchanged { id, result } => {
                if result.is_ok() && self.runner.memories.stores(id) {
                    self.mark();
                }
                self.runner.memories.exchanged(&mut self.core, id, result);
            }
            Input::Vault { name, held } => {
                if held {
                    self.mark();
                }
                self.runner.vault_changed(&mut self.core, name, held);
            }
            Input::Answered { call, result } => self.runner.answered(&mut self.core, call, result),
            Input::FilesGone { call, files } => self.runner.files_gone(&mut self.core, call, files),
            Input::Returned { call, result } => self.runner.returned(&mut self.core, call, result),
            Input::Gave { call, json, files, texts } => {
                self.runner.gave(&mut self.core, call, json, (files, texts));
            }
            Input::Progress { call, json } => self.runner.calls.progress(&mut self.core, call, &json),
            Input::Room { room, result } => self.room_came(room, result),
            Input::Online => self.runner.online(&mut self.core),
            Input::Late(call) => self.core.runs.late(call),
            Input::Tick { online } => {
                self.runner.tick(&mut self.core, online);
                self.keys.tick(&mut self.core);
                self.holding.end_removals(&mut self.core, &mut self.reads);
                self.holding.look_for_old(&mut self.core, &self.runner, &mut self.reads);
            }
        }
        self.core.by = By::Here;
    }
}
