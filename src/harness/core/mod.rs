//! What every part of the harness works with: when it is, who asks, what goes out, and the sessions.
//!
//! Decides what of that all parts share: who is answered, who may ask, what is told in an event. Promises: time never runs
//! backwards. The core knows no part, so that no part is reached through it. Leaves to others: what is done with a
//! session, a run or a call.

pub(in crate::harness) mod about;
pub(in crate::harness) mod arrival;
pub(in crate::harness) mod at_hand;
pub(in crate::harness) mod drafts;
mod earlier;
pub(in crate::harness) mod head;
pub(in crate::harness) mod integrity;
pub(in crate::harness) mod named;
pub(in crate::harness) mod operators;
pub(in crate::harness) mod outbox;
pub(in crate::harness) mod refused;
pub(in crate::harness) mod removed;
pub(in crate::harness) mod secrets;
pub(in crate::harness) mod slots;
pub(in crate::harness) mod states;
pub(in crate::harness) mod stored;
pub(in crate::harness) mod tasks;
pub(in crate::harness) mod told;
pub(in crate::harness) mod waits;
pub(in crate::harness) mod whole;

use crate::error::{Code, ErrorInfo};
use crate::harness::action::{Action, By, CallKey};
use crate::harness::core::outbox::Outbox;
use crate::harness::core::secrets::Secrets;
use crate::harness::core::slots::Sessions;
use crate::journal::Entry;
use crate::json::json;
use crate::ports::{Key, Millis, PatternEngine, Read};
use crate::run::{Call, Run, Runs};
use crate::session::Session;
use crate::session::operator::Operator;
use serde_json::Value;
use std::collections::VecDeque;

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
    /// The name of this instance's page, told to a page that finds the lock taken.
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

/// Something that follows at once, without the world: a part says so, and who stands above it does it.
#[derive(Debug)]
pub(in crate::harness) enum Next {
    /// A model call that could not even be made.
    NotCalled(CallKey, ErrorInfo),
    /// An entry of a run that is known already.
    Settle { session: String, run: String, entry: Box<Entry> },
    /// A session may go on: what it has waited for is there.
    Ready { session: String },
    /// An entry of a run that was stored with a change of pages.
    Stored { session: String, run: Option<String>, entry: Box<Entry> },
}

/// How the harness stands to its workspace.
#[derive(Debug)]
pub(in crate::harness) struct State {
    pub lifecycle: Lifecycle,
    /// Why it stands at `Error`, whole.
    pub failure: Option<ErrorInfo>,
    /// Whether the page was last told that it waits for a person.
    pub told_suspended: bool,
    /// Who answers, as `SessionState` says it: by the name of a provider; the first without one.
    pub answers: Vec<(Option<String>, Value)>,
}

/// What follows at once, of itself: the parts say so, and the harness does it.
#[derive(Debug, Default)]
pub(in crate::harness) struct Follows {
    pub next: VecDeque<Next>,
    /// Files of messages that wait no more: it is looked whether anything else refers to them.
    pub files: Vec<Key>,
    /// Why the harness itself cannot go on, where a part has found that out.
    pub broken: Option<ErrorInfo>,
}

/// What every part works with.
#[derive(Debug)]
pub(in crate::harness) struct Core {
    /// The workspace's name is in what is told, and its operator is asked by the gate.
    pub options: Options,
    /// Entries and limits go by it.
    pub now: Millis,
    /// Who has given the command that is carried out now.
    pub by: By,
    /// Drafts, events and commits say of which holding they are.
    pub epoch: u64,
    /// Most commands ask how the harness stands.
    pub state: State,
    /// What goes out, and the numbers of it.
    pub outbox: Outbox,
    /// Our key has signed every head that lies here, as far as was known when signatures were read last.
    pub strict: bool,
    /// What is known of each session.
    pub sessions: Sessions,
    /// The runs under way, and the commands that wait for their ends.
    pub runs: Runs,
    /// What must be taken out of every text.
    pub secrets: Secrets,
    /// What a part leaves to the harness.
    pub follows: Follows,
}

impl Core {
    pub fn new(options: Options, engine: PatternEngine) -> Core {
        Core {
            options,
            now: 0,
            by: By::Here,
            epoch: 0,
            state: State {
                lifecycle: Lifecycle::Stopped,
                failure: None,
                told_suspended: false,
                answers: Vec::new(),
            },
            outbox: Outbox::default(),
            strict: false,
            sessions: Sessions::new(engine),
            runs: Runs::default(),
            secrets: Secrets::default(),
            follows: Follows::default(),
        }
    }

    /// It is this late, or as late as it was: entries are in order of time.
    pub fn set_now(&mut self, now: Millis) {
        self.now = self.now.max(now);
    }

    /// The harness itself cannot go on. The first reason counts.
    pub fn fail(&mut self, error: ErrorInfo) {
        self.follows.broken.get_or_insert(error);
    }

    /// An entry of a run follows as soon as what happens now is over: the caller stands in the middle of an entry.
    pub fn settle(&mut self, session: String, run: String, entry: Entry) {
        self.follows.next.push_back(Next::Settle { session, run, entry: Box::new(entry) });
    }

    /// Reads now: the number under which the rows will come.
    pub fn read(&mut self, reads: Vec<Read>) -> u64 {
        let id = self.outbox.read_key();
        self.outbox.act(Action::Read { id, reads });
        id
    }

    /// The same behind the commits that are on their way.
    pub fn read_after_commit(&mut self, reads: Vec<Read>) -> u64 {
        let id = self.outbox.read_key();
        self.outbox.act_after_commit(Action::Read { id, reads });
        id
    }

    pub fn must_run(&self) -> Result<(), ErrorInfo> {
        match self.state.lifecycle {
            Lifecycle::Running => Ok(()),
            _ => Err(ErrorInfo::new(Code::NotRunning, "Agent harness is not running")
                .hint("call startAgent first")),
        }
    }

    /// A session in its hands.
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.get(id).map(|slot| &slot.session)
    }

    /// The run of a session that has not ended.
    pub fn current(&self, session: &str) -> Option<&Run> {
        self.session(session)?.current()
    }

    /// Its id, as entries and events name it.
    pub fn current_id(&self, session: &str) -> String {
        self.current(session).map(|run| run.id.clone()).unwrap_or_default()
    }

    /// A run of a session's present conversation.
    pub fn run(&self, session: &str, run: &str) -> Option<&Run> {
        self.session(session)?.run(run)
    }

    /// A tool call of such a run.
    pub fn call_of(&self, session: &str, run: &str, tool_call: &str) -> Option<&Call> {
        self.run(session, run)?.call(tool_call)
    }

    pub fn unlock(&mut self, stopped: bool) {
        self.outbox.act(Action::Unlock { epoch: self.epoch, stopped });
    }

    pub fn reply_now(&mut self, id: u32, result: Result<Option<String>, ErrorInfo>) {
        self.outbox.act(Action::Reply { id, result });
    }

    pub fn reply(&mut self, id: u32, result: Result<Option<String>, ErrorInfo>) {
        self.outbox.tell_after_commit(Action::Reply { id, result });
    }

    pub fn reply_value(&mut self, id: u32, value: &Value) {
        self.reply(id, Ok(Some(json(value))));
    }
}
