//! Taking a workspace, and letting it go.
//!
//! A start takes the lock. It raises the epoch, in one commit that expects the former one. It folds the journal and
//! checks it against its head. It holds what a lost page left, and records the configuration.
//!
//! Decides which step follows, and what becomes of a start that cannot go on. Promises: nothing is written under an epoch
//! that another page has raised. What fails gives the workspace back. Leaves to others: the lock itself (the pump), and
//! what the end of a holder ends (`ends`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::Action;
use crate::harness::config::{Config, IfRunning};
use crate::harness::core::arrival::ARRIVING;
use crate::harness::core::head::Head;
use crate::harness::core::named::all_named;
use crate::harness::core::stored::{FORMAT_KEY, STOPPED_KEY, check_format, format_write, stopped_until};
use crate::harness::core::tasks::TASKS_KEY;
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle, outbox, tasks};
use crate::harness::holding::Holding;
use crate::harness::reads::{After, Reads, Waiting};
use crate::harness::runner::Runner;
use crate::journal::{Entry, StoppedBy};
use crate::list::Listed;
use crate::ports::{Commit, Durability, Read, Rows, StoreError, Table, Write};
use crate::session::Session;
use serde_json::Value;

/// That a start goes on with what another holder was at.
#[derive(Clone, Copy, Debug)]
pub(in crate::harness) struct Over {
    /// It happens only if the holder of this epoch, or where it is 0 the last one, was not stopped on aim; `None`: a
    /// person wants it.
    pub epoch: Option<u64>,
}

/// What a start is for.
#[derive(Debug)]
pub(in crate::harness) enum Aim {
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
pub(in crate::harness) struct Start {
    pub aim: Aim,
    before: Lifecycle,
    /// The epoch's row as it was read.
    stored_epoch: Option<String>,
    /// Whether each task that is not over has its row.
    tasks_have_rows: bool,
    holder: Option<String>,
}

impl Start {
    /// Whether the workspace is only borrowed.
    pub fn borrows(&self) -> bool {
        !matches!(self.aim, Aim::Run { .. })
    }
}

impl Holding {
    pub(in crate::harness) fn start_agent(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        command: u32,
        args: &Value,
        over: Option<Over>,
    ) -> Result<(), ErrorInfo> {
        let config = if args.is_null() { Config::default() } else { Config::default().patched(args)? };
        if let Some(Start {
            aim: Aim::Run { commands, config: chosen, over: standing }, stored_epoch, ..
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
        if self.start.is_some() || core.state.lifecycle == Lifecycle::Running {
            if config.if_running != IfRunning::Reject && core.state.lifecycle == Lifecycle::Running {
                core.reply(command, Ok(None));
                return Ok(());
            }
            return Err(already_running("in this page")
                .hint("stop it first, or leave ifRunning out to go on with it"));
        }
        runner.setup.own_tools_fit(&config)?;
        let aim = Aim::Run { commands: vec![command], config: Box::new(config), over };
        self.begin(core, aim);
        core.state.lifecycle = Lifecycle::Starting;
        core.tell_status();
        core.tell_status_changed();
        Ok(())
    }

    pub(in crate::harness) fn begin(&mut self, core: &mut Core, aim: Aim) {
        self.start = Some(Start {
            aim,
            before: core.state.lifecycle.clone(),
            stored_epoch: None,
            tasks_have_rows: false,
            holder: None,
        });
        // The lock may still be ours until a stop before is stored.
        core.outbox.act_after_commit(Action::Lock { name: core.options.name.clone(), steal: false });
    }

    pub(in crate::harness) fn locked(&mut self, core: &mut Core, reads: &mut Reads, granted: bool) {
        if let Some(start) = &mut self.start {
            start.holder = (!granted).then(String::new);
            let meta = |key: &str| Read::all(Table::Meta, vec![key.into()]);
            let rows = [FORMAT_KEY, "epoch", "holder", STOPPED_KEY, TASKS_KEY].map(meta).to_vec();
            reads.read(core, rows, After::Epoch);
        }
    }

    pub(in crate::harness) fn epoch_read(&mut self, core: &mut Core, rows: &[Rows]) {
        let first = |n: usize| rows.get(n).and_then(|rows| rows.first()).map(|(_, text)| text.clone());
        // A newer version may have held it since this tab opened the workspace.
        if let Err(error) = check_format(first(0).as_deref()) {
            return self.refuse_start(core, &error.info());
        }
        let is_held = self.start.as_ref().is_some_and(|start| start.holder.is_some());
        // Not before it is known that the holder is no newer version.
        if is_held && self.robs() {
            return core.outbox.act(Action::Lock { name: core.options.name.clone(), steal: true });
        }
        let Some(start) = &mut self.start else { return };
        if is_held {
            let error = already_running(&match first(2) {
                Some(holder) if !holder.is_empty() => format!("in another tab (\"{holder}\")"),
                _ => "in another tab".into(),
            })
            .hint("leave ifRunning out to follow it here and go on when that tab is gone, or pass \"takeover\" to take it");
            return self.refuse_start(core, &error);
        }
        self.stopped = stopped_until(first(3).as_deref());
        let stored = first(1);
        let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        // A row that is lost takes no number back: others have it too.
        let before = number(stored.clone()).max(number(first(4)));
        if let Aim::Run { over: Some(Over { epoch: Some(epoch) }), .. } = start.aim
            && self.stopped >= if epoch == 0 { before } else { epoch }
        {
            let error = ErrorInfo::new(Code::NotRunning, "the agent was stopped").hint("call startAgent");
            return self.refuse_start(core, &error);
        }
        start.tasks_have_rows = stored.is_some() && first(4) == stored;
        start.stored_epoch = stored;
        core.epoch = before.max(self.stopped) + 1;
        let expected = outbox::expect(Table::Meta, vec!["epoch".into()], start.stored_epoch.clone());
        let put = |key: &str, value: String| Write::Put { table: Table::Meta, key: vec![key.into()], value };
        let writes = vec![
            put("epoch", core.epoch.to_string()),
            put(TASKS_KEY, core.epoch.to_string()),
            put("holder", core.options.holder.clone()),
            format_write(),
        ];
        let commit = Commit { expect: vec![expected], writes, durability: Durability::Strict };
        self.epoch_commit = Some(core.outbox.send_alone(core.now, commit));
    }

    pub(in crate::harness) fn epoch_committed(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        result: Result<(), StoreError>,
    ) {
        if let Err(error) = result {
            return self.fail(core, runner, reads, error.info());
        }
        self.start_with_account(core, reads);
    }

    /// Looks around in the workspace that was taken.
    pub(in crate::harness) fn look_around(&mut self, core: &mut Core, reads: &mut Reads) {
        let all = |table: Table| Read::all(table, Vec::new());
        let arriving = Read::all(Table::Meta, vec![ARRIVING.into()]);
        let of_tasks = tasks::of_tasks(self.start.as_ref().is_some_and(|start| start.tasks_have_rows));
        let [before, behind] = tasks::heads_of_others();
        let all = vec![before, behind, all(Table::Keys), all(Table::Files), arriving, of_tasks, all_named()];
        reads.read(core, all, After::Around);
    }

    pub(in crate::harness) fn started(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        commands: Vec<u32>,
        config: Config,
        sessions: &[String],
        over: bool,
    ) {
        let at_work = |id: &&String| over && core.sessions.head(id).is_some_and(Head::is_at_work);
        let lost: Vec<String> = sessions.iter().filter(at_work).cloned().list();
        runner.take_config(core, config);
        runner.setup.instructions = None;
        core.state.lifecycle = Lifecycle::Running;
        (self.look_at, self.to_archive, self.tried) = (core.now, Vec::new(), Vec::new());
        core.outbox.act(Action::Announce { epoch: core.epoch });
        for session in sessions.iter().filter(|session| core.sessions.has(session)).list() {
            runner.record_start(core, session);
        }
        runner.start_those_with_keys(core);
        runner.tend(core, DEFAULT_SESSION, true);
        core.outbox.tell_after_commit(core.status_notice());
        core.status_changed(true);
        runner.calls.tell_histories(core);
        for command in commands {
            core.reply(command, Ok(None));
        }
        for session in sessions {
            core.answer_waiters(session);
            // The caller that waited for that one task is gone.
            if core.session(session).is_some_and(Session::is_once) {
                runner.interrupt_session(core, session, StoppedBy::Lost, true);
            }
            runner.calls.tell_questions_again(core, &runner.setup, session);
        }
        let by_itself = if runner.setup.config.resume_auto { sessions } else { &lost };
        for session in by_itself {
            runner.go_on_with(core, session);
        }
    }

    /// A start that takes the workspace from its holder, because a person says so.
    fn robs(&mut self) -> bool {
        let Some(Start { aim: Aim::Run { config, over, .. }, .. }) = &mut self.start else {
            return false;
        };
        let robs = config.if_running == IfRunning::TakeOver && over.is_none();
        if robs {
            *over = Some(Over { epoch: None });
        }
        robs
    }

    /// The workspace is not to be taken: the lock is free again, if this start has it.
    fn refuse_start(&mut self, core: &mut Core, error: &ErrorInfo) {
        if let Some(start) = self.start.take() {
            let locked = start.holder.is_none();
            self.give_up_start(core, start, error);
            if locked {
                core.unlock(false);
            }
        }
    }

    /// A start that follows the holder where there is one.
    pub(in crate::harness) fn joins(&self) -> bool {
        let aim = self.start.as_ref().map(|start| &start.aim);
        matches!(aim, Some(Aim::Run { config, .. }) if config.if_running == IfRunning::Join)
    }

    /// Nothing was taken, so everything is as it was before.
    pub(in crate::harness) fn give_up_start(&mut self, core: &mut Core, start: Start, error: &ErrorInfo) {
        core.state.lifecycle = start.before.clone();
        core.tell_status();
        self.start_failed(core, start, error);
        core.tell_status_changed();
    }

    pub(in crate::harness) fn start_failed(&mut self, core: &mut Core, start: Start, error: &ErrorInfo) {
        match start.aim {
            Aim::Run { commands, .. } => {
                for command in commands {
                    core.reply_now(command, Err(error.clone()));
                }
            }
            Aim::Once(waiting) => core.reply_now(waiting.command, Err(error.clone())),
            Aim::Arrival => {
                if let Some(command) = core.sessions.arrival.take().and_then(|arrival| arrival.waiting) {
                    core.reply_now(command, Err(error.clone()));
                }
            }
            // The holder of the workspace does it.
            Aim::Sweep => core.sessions.forget_heads(),
        }
    }

    pub(in crate::harness) fn stop_agent(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        command: u32,
    ) -> Result<(), ErrorInfo> {
        match core.state.lifecycle {
            Lifecycle::Running => {
                let sessions: Vec<String> = core.sessions.ids();
                for session in &sessions {
                    // What is put aside stays where it is.
                    if !core.sessions.is_benched(session) {
                        runner.interrupt_session(core, session, StoppedBy::Stop, true);
                    }
                }
                for session in &sessions {
                    let grants = core.session(session).is_some_and(|session| !session.grants.is_empty());
                    if grants || session == DEFAULT_SESSION {
                        runner.append(core, session, None, &Entry::Stopped {});
                    }
                }
                // The others are told when they are next taken.
                let (key, value) = (vec![STOPPED_KEY.into()], core.epoch.to_string());
                core.outbox.write(Write::Put { table: Table::Meta, key, value });
                core.outbox.strictly();
                self.release(core, runner);
                core.outbox.tell_after_commit(core.status_notice());
                core.status_changed(true);
                // Other tabs hear the rest before they look for somebody else.
                core.outbox.tell_after_commit(Action::Unlock { epoch: core.epoch, stopped: true });
            }
            Lifecycle::Error(_) => {
                core.state.lifecycle = Lifecycle::Stopped;
                core.tell_status();
                core.tell_status_changed();
            }
            Lifecycle::Stopped | Lifecycle::Starting => {}
        }
        core.reply(command, Ok(None));
        Ok(())
    }

    /// Forgets the sessions: from here on another tab may write them.
    pub(in crate::harness) fn release(&mut self, core: &mut Core, runner: &mut Runner) {
        self.turn_away(core, runner);
        core.write_heads();
        runner.abort_all(core);
        core.state.lifecycle = Lifecycle::Stopped;
        core.sessions.let_all_go();
        core.runs.forget();
    }

    /// Whether what is on its way is the start of an agent.
    pub(in crate::harness) fn runs_next(&self) -> bool {
        self.start.as_ref().is_some_and(|start| !start.borrows())
    }

    /// The workspace is given back before anything in it was touched.
    pub(in crate::harness) fn begin_not(&mut self, core: &mut Core, runner: &mut Runner, error: &ErrorInfo) {
        self.give_back(core, runner);
        if let Some(start) = self.start.take() {
            self.give_up_start(core, start, error);
        }
    }
}

fn already_running(place: &str) -> ErrorInfo {
    ErrorInfo::new(Code::AlreadyRunning, format!("the agent is already running {place}"))
}
