//! Calls of the page's functions that are on their way.
//!
//! Decides whose a result is, how often progress is told, and which calls that have not begun are not wanted any more.
//! Promises: a function is called once for each call, and what nobody waits for any more is dropped and counted. Leaves to
//! others: whether a tool may run (`run`, `tools`), and what its result leads to (`runner`).

pub(in crate::harness) mod events;
mod live;
pub(in crate::harness) mod outcome;
pub(in crate::harness) mod questions;
mod reading;
pub(in crate::harness) mod streaming;
pub(in crate::harness) mod watch;

use crate::harness::action::{Action, CallKey};
use crate::harness::calls::outcome::result_text;
use crate::harness::calls::questions::{PageCall, PageQuestion};
use crate::harness::calls::streaming::LiveModel;
use crate::harness::core::Core;
use crate::harness::setup::Setup;
use crate::journal::StoppedBy;
use crate::json;
use crate::maps::Few;
use crate::object::Object;
use crate::ports::Millis;
use crate::tools::{Origin, ToolText};
use serde_json::Value;

/// What is under way outside: calls of models and of the page's functions, and questions to a person.
#[derive(Debug, Default)]
pub(in crate::harness) struct Calls {
    pub models: Few<CallKey, LiveModel>,
    pub functions: Few<CallKey, LiveCall>,
    /// When the text that streams was last written down.
    pub last_draft: Millis,
    /// Calls of the page's own code that wait for a person.
    pub page_questions: Vec<PageQuestion>,
    /// When a question of a run, or a call that somebody answers, is not waited for any longer: session and tool call.
    pub question_deadlines: Vec<(Millis, String, String)>,
    /// Why the run that ends next was interrupted.
    pub interrupt_reason: Option<StoppedBy>,
}

/// A function of the page that was called.
#[derive(Debug)]
pub(in crate::harness) struct LiveCall {
    pub owner: CallOwner,
    /// `None`: it waits for its commit and was not called yet.
    pub deadline: Option<Millis>,
    /// How long it may take, for the message.
    pub limit: u64,
    /// The tool that it is for, if it is for one.
    pub tool: String,
    /// When it told of its progress last.
    pub heard: Option<Millis>,
    /// What it has told of its progress.
    progress: Progress,
}

/// What a call has told of its progress: the page hears of it at most every [`PROGRESS_MS`].
#[derive(Debug, Default)]
struct Progress {
    /// The last that the page has not heard of.
    news: Option<Value>,
    /// When it heard of it.
    told: Option<Millis>,
}

/// How often a page is told of a call's progress, in milliseconds.
const PROGRESS_MS: Millis = 100;

/// For whom a tool call or an operation on pages is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::harness) enum Owner {
    /// A command of the page.
    Command(u32),
    /// A tool call of a run.
    Run(RunCall),
}

/// Who wants the result of a function.
#[derive(Clone, Debug)]
pub(in crate::harness) enum CallOwner {
    /// A tool call.
    Tool(Owner),
    /// The instructions of a session's run.
    Instructions { session: String, run: String },
    /// What the page's own schema says of a call.
    Validate(About),
    /// What `decide` says of a call.
    Decide(About),
    /// What a call would do, said to the person who is asked about it.
    Explain(About),
    /// What became of a call that was lost.
    Lookup(RunCall),
}

/// The call that the page is asked about.
#[derive(Clone, Debug)]
pub(in crate::harness) enum About {
    /// A call of the page's own code.
    Page(PageCall),
    /// A call of a run.
    Run(RunCall),
}

/// A tool call of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::harness) struct RunCall {
    pub session: String,
    pub run: String,
    pub tool_call: String,
}

impl RunCall {
    pub fn new(session: &str, run: &str, tool_call: &str) -> RunCall {
        RunCall { session: session.into(), run: run.into(), tool_call: tool_call.into() }
    }
}

impl CallOwner {
    /// The run that the call is for, unless it is for the page's own code.
    pub fn run(&self) -> Option<&str> {
        match self {
            CallOwner::Instructions { run, .. } => Some(run),
            CallOwner::Tool(Owner::Run(of))
            | CallOwner::Validate(About::Run(of))
            | CallOwner::Decide(About::Run(of))
            | CallOwner::Explain(About::Run(of))
            | CallOwner::Lookup(of) => Some(&of.run),
            CallOwner::Tool(Owner::Command(_))
            | CallOwner::Validate(About::Page(_))
            | CallOwner::Decide(About::Page(_))
            | CallOwner::Explain(About::Page(_)) => None,
        }
    }
}

impl LiveCall {
    /// A call that waits to be made.
    pub fn new(owner: CallOwner, tool: &str, limit: u64) -> LiveCall {
        LiveCall {
            owner,
            deadline: None,
            limit,
            tool: tool.into(),
            heard: None,
            progress: Progress::default(),
        }
    }

    /// The tool call that waits for its commit, and has not begun.
    pub fn ahead(&self) -> Option<&RunCall> {
        match &self.owner {
            CallOwner::Tool(Owner::Run(of)) if self.deadline.is_none() => Some(of),
            _ => None,
        }
    }

    /// When the page is to hear of its progress.
    pub fn progress_due(&self) -> Option<Millis> {
        self.progress.news.as_ref().and(self.progress.told).map(|told| told + PROGRESS_MS)
    }
}

impl Calls {
    /// Aborts a call that is still known: what it says from here on comes too late for its run.
    pub fn let_go(&mut self, core: &mut Core, key: CallKey) {
        core.outbox.abort(key);
        let of_model = self.models.get(key).map(|model| model.run.as_str());
        let run = of_model.or_else(|| self.functions.get(key)?.owner.run());
        if let Some(run) = run {
            core.runs.let_go(key, run);
        }
    }

    /// Calls a tool of the page.
    pub(in crate::harness) fn call_tool(
        &mut self,
        core: &mut Core,
        owner: Owner,
        (tool, function): (&str, u32),
        args: &Value,
        limit: u64,
        barrier: bool,
    ) {
        let call = core.outbox.call_key();
        let mut given = Object::new();
        given.value("args", args.clone());
        match &owner {
            Owner::Run(of) => given.text("toolCallId", &of.tool_call).text("runId", &of.run),
            Owner::Command(command) => given.text("toolCallId", &format!("call-{command}")),
        };
        let json = given.json();
        self.functions.insert(call, LiveCall::new(CallOwner::Tool(owner), tool, limit));
        let action = Action::CallPage { call, function, kind: "tool", json: Some(json) };
        if barrier {
            core.outbox.strictly();
            core.outbox.act_after_commit(action);
        } else {
            core.outbox.act(action);
        }
    }

    /// What a tool of the page returned, as text for the model, and whether that is JSON.
    pub(in crate::harness) fn tool_text(&self, core: &Core, json: Option<String>) -> (ToolText, bool) {
        let (text, json) = result_text(json);
        let text = ToolText::new(core.secrets.scrubbed(text));
        let json = json && text.truncated.is_none();
        (text, json)
    }

    /// A call says how far it is. What comes sooner than the page is to hear of it takes the place of what waits.
    pub(in crate::harness) fn progress(&mut self, core: &mut Core, call: CallKey, json: &str) {
        let progress = json::parse(&core.secrets.scrubbed(json.into())).unwrap_or_default();
        let now = core.now;
        let Some(live) = self.functions.get_mut(call) else { return core.runs.late(call) };
        live.heard = Some(now);
        live.progress.news = Some(progress);
        if live.progress.told.is_none_or(|told| told + PROGRESS_MS <= now) {
            self.tell_progress_of(core, call);
        }
    }

    /// Tells of the progress that waited.
    pub(in crate::harness) fn tell_late_progress(&mut self, core: &mut Core) {
        let now = core.now;
        for call in self.functions.keys(&|call| call.progress_due().is_some_and(|due| due <= now)) {
            self.tell_progress_of(core, call);
        }
    }

    fn tell_progress_of(&mut self, core: &mut Core, call: CallKey) {
        let now = core.now;
        let Some(live) = self.functions.get_mut(call) else { return };
        let Some(news) = live.progress.news.take() else { return };
        live.progress.told = Some(now);
        let CallOwner::Tool(Owner::Run(of)) = &live.owner else { return };
        let RunCall { session, run, tool_call } = of.clone();
        core.tell_progress(&session, &run, &tool_call, news);
    }
}

/// The function of a tool call: the tool may have been registered anew while the call waited for its commit.
pub(in crate::harness) fn present_function(setup: &Setup, live: &LiveCall) -> Option<u32> {
    match setup.registry.get(&live.tool)?.definition.origin {
        Origin::Host(function) => Some(function),
        _ => None,
    }
}
