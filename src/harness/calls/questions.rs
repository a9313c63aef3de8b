//! Questions to a person: about a call of a run, and about one of the page's own code.
//!
//! Decides what a question says, and until when it waits. Promises: a question is told after its entry is stored. Leaves to
//! others: whether to ask at all (`tools::permit`), who answers (`runner/permission`), and how a call of the page's own code
//! goes on (`runner/page_calls`).

use crate::find;
use crate::harness::action::Action;
use crate::harness::calls::{CallOwner, Calls, LiveCall};
use crate::harness::core::told::Told;
use crate::harness::core::{Core, DEFAULT_SESSION};
use crate::harness::setup::Setup;
use crate::journal::{Answer, AskReason, Entry, Outside, Word};
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Millis;
use crate::rooms::{Room, enter};
use crate::run::{Call, CallState, OfferQuestion, Question, Run};
use crate::session;
use crate::tools::{Answers, Definition, Origin, ToolText, empties_page};
use serde_json::Value;

/// A call.
#[derive(Clone, Debug)]
pub(in crate::harness) struct PageCall {
    /// Who is answered.
    pub command: u32,
    /// The tool's name.
    pub tool: String,
    /// The arguments as they were given.
    pub args: Value,
    /// What has been answered about it.
    pub answers: Answers,
}

impl PageCall {
    /// A call that nobody was asked about.
    pub fn new(command: u32, tool: &str, args: Value) -> PageCall {
        PageCall { command, tool: tool.into(), args, answers: Answers::default() }
    }

    /// Its id, as the tool and a question about it have it.
    pub fn id(&self) -> String {
        format!("call-{}", self.command)
    }
}

/// A call that waits for a person.
#[derive(Debug)]
pub(in crate::harness) struct PageQuestion {
    pub call: PageCall,
    pub definition: String,
    /// The SHA-256 of the arguments that say where the call sends something, if its tool names them.
    pub destination: Option<String>,
    pub reason: AskReason,
    /// When it is asked.
    pub at: Millis,
    /// When nobody's answer counts any more.
    pub deadline: Option<Millis>,
}

impl PageQuestion {
    /// Its id.
    pub fn id(&self) -> String {
        ["ask_", &self.call.id()].concat()
    }
}

impl Calls {
    /// `PermissionRequest` of the contract.
    pub(in crate::harness) fn told_page_question(
        &self,
        core: &Core,
        setup: &Setup,
        asked: &PageQuestion,
    ) -> Value {
        let tool = setup.registry.get(&asked.call.tool).map(|tool| &tool.definition);
        let args = core.secrets.scrubbed_value(asked.call.args.clone());
        request_about(&asked.call, tool, &args, &asked.id(), asked.reason).done()
    }

    /// Calls a function of the page about a call.
    pub(in crate::harness) fn ask_page(
        &mut self,
        core: &mut Core,
        setup: &Setup,
        owner: CallOwner,
        function: u32,
        kind: &'static str,
        mut request: Object,
    ) {
        let call = core.outbox.call_key();
        let limit = setup.config.tool_timeout_ms;
        self.functions.insert(call, LiveCall::new(owner, "", limit));
        core.outbox.act(Action::CallPage { call, function, kind, json: Some(request.json()) });
    }

    /// A question of a run is stored: everyone is told.
    pub(in crate::harness) fn tell_question(
        &mut self,
        core: &mut Core,
        setup: &Setup,
        session: &str,
        run: &str,
        tool_call: &str,
    ) {
        let Some(detail) = question_of(core, session, run, tool_call) else { return };
        if let Some(deadline) = setup.question_deadline(core) {
            self.question_deadlines.push((deadline, session.into(), tool_call.into()));
        }
        let Some(mut event) = core.detail_of(session, run) else { return };
        event.all(detail);
        core.outbox.tell_after_commit(core.status_notice());
        core.send("agent:permission-required", event, true);
        self.tell_message(core, session, run, false);
    }

    /// A question about tools that the provider runs is stored: everyone is told. A door of the room `past`.
    #[inline(never)]
    pub(in crate::harness) fn tell_offer(
        &mut self,
        core: &mut Core,
        setup: &Setup,
        session: &str,
        run: &str,
    ) {
        enter(Room::Past);
        let Some(asked) = core.run(session, run).and_then(Run::offer_asked) else { return };
        let (id, detail) = (asked.id.clone(), offer_request(asked));
        if let Some(deadline) = setup.question_deadline(core) {
            self.question_deadlines.push((deadline, session.into(), id));
        }
        let Some(mut event) = core.detail_of(session, run) else { return };
        event.all(detail);
        core.outbox.tell_after_commit(core.status_notice());
        core.send("agent:permission-required", event, true);
    }

    /// A call waits for `tools.resolve`: as long as it takes, or as its tool says.
    pub(in crate::harness) fn tell_handed(
        &mut self,
        core: &mut Core,
        session: &str,
        run: &str,
        tool_call: &str,
    ) {
        if let Some(limit) = core.limit_of(session, run, tool_call) {
            let deadline = core.now.saturating_add(limit);
            self.question_deadlines.push((deadline, session.into(), tool_call.into()));
        }
        core.tell_call(session, run, tool_call, Told::Started, true);
        // The message says that it waits; an event alone says that it runs.
        self.tell_message(core, session, run, false);
    }

    /// A run that waited for a person waits again after a reload.
    pub(in crate::harness) fn tell_questions_again(&mut self, core: &mut Core, setup: &Setup, session: &str) {
        if core.current(session).is_some_and(Run::waiting) {
            let run = core.current_id(session);
            self.tell_begin(core, session, &run);
            self.tell_waiting_calls(core, setup, session);
        }
    }

    /// All calls that wait for a person, and those that other runs carry out.
    pub(in crate::harness) fn tell_waiting_calls(&mut self, core: &mut Core, setup: &Setup, session: &str) {
        let Some(run) = core.current(session) else { return };
        let (mut waiting, mut offers) = (Vec::new(), Vec::new());
        for part in run.parts() {
            offers.extend(part.offer_asked().map(|_| part.id.clone()));
            for call in part.open_calls() {
                if matches!(call.state, CallState::Waiting(_) | CallState::Handed | CallState::Delegated) {
                    waiting.push((part.id.clone(), call.id.clone(), call.state.clone()));
                }
            }
        }
        for run in offers {
            self.tell_offer(core, setup, session, &run);
        }
        for (run, call, state) in waiting {
            match state {
                CallState::Handed => self.tell_handed(core, session, &run, &call),
                CallState::Delegated => core.tell_call(session, &run, &call, Told::Started, true),
                _ => self.tell_question(core, setup, session, &run, &call),
            }
        }
    }

    /// All questions of a session that nobody has answered.
    pub(in crate::harness) fn questions(&self, core: &Core, setup: &Setup, session: &str) -> Vec<Value> {
        let mut questions = Vec::new();
        if let Some(folded) = core.session(session) {
            let parts = folded.current().filter(|run| !run.held).map(Run::parts).unwrap_or_default();
            for run in parts {
                questions.extend(run.offer_asked().map(offer_request));
                for (call, question) in run.questions() {
                    questions.push(told_question(core, folded, run, call, question));
                }
            }
        }
        if session == DEFAULT_SESSION {
            for asked in &self.page_questions {
                questions.push(self.told_page_question(core, setup, asked));
            }
        }
        questions
    }

    /// An answer is stored.
    pub(in crate::harness) fn answered_question(
        &mut self,
        core: &mut Core,
        session: &str,
        run: &str,
        tool_call: &str,
        entry: &Entry,
    ) {
        let Entry::PermissionAnswered { request, answer, .. } = entry else { return };
        core.tell_resolved(session, run, request, answer.as_str());
        if *answer == Answer::Deny {
            core.tell_call(session, run, tool_call, Told::Started, true);
            core.tell_call(session, run, tool_call, Told::Failed, true);
        }
        self.tell_message(core, session, run, false);
    }

    /// When the first question or call is not waited for any longer.
    pub(in crate::harness) fn first_deadline(&self) -> Option<Millis> {
        let of_runs = self.question_deadlines.iter().map(|(deadline, ..)| *deadline);
        self.page_questions.iter().filter_map(|asked| asked.deadline).chain(of_runs).min()
    }

    pub(in crate::harness) fn returned_value(&self, core: &Core, tool_call: &str, result: &Value) -> Entry {
        let (text, json): (ToolText, bool) = self.tool_text(core, Some(crate::json::json(result)));
        crate::harness::calls::outcome::returned_entry(tool_call, text, json)
    }
}

pub(in crate::harness) fn request_about(
    call: &PageCall,
    tool: Option<&Definition>,
    args: &Value,
    request: &str,
    reason: AskReason,
) -> Object {
    let none = Outside::default();
    request_of((&call.id(), &call.tool, tool), args, &call.answers, request, &reason.into(), &none)
}

/// The questions of a run that wait for a person: none while it is put aside.
pub(in crate::harness) fn asked_in(core: &Core, session: &str, run: &str) -> Vec<String> {
    let parts = core.current(session).filter(|top| !top.held).map(Run::parts).unwrap_or_default();
    let Some(part) = parts.into_iter().find(|part| part.id == run) else { return Vec::new() };
    let asked = part.offer_asked().map(|asked| asked.id.clone());
    asked.into_iter().chain(part.questions().iter().map(|(_, question)| question.id.clone())).list()
}

/// `PermissionRequest` of the contract, where it is about tools that the provider runs. A door of the room `past`.
#[inline(never)]
fn offer_request(asked: &OfferQuestion) -> Value {
    enter(Room::Past);
    let names = asked.tools.iter().map(|(name, _)| name.as_str()).list();
    let list = find::join(&names, ", ");
    let external = asked.reason.known() == Some(AskReason::ExternalText);
    let mut object = Object::new();
    object
        .text("requestId", &asked.id)
        .text("toolCallId", &asked.id)
        .text("tool", &list)
        .value("arguments", Object::new().value("serverTools", names.as_slice().into()).done())
        .text("explanation", &["Let the model's provider use ", &list, " for this answer?"].concat())
        .maybe_text("warning", external.then_some(CARRIES_OUT))
        .text("reason", asked.reason.as_str());
    if !asked.outside.is_empty() {
        object.value("outside", asked.outside.to_json());
    }
    object.done()
}

/// What a person has to know of tools that a provider runs.
const CARRIES_OUT: &str = "The conversation holds text from outside, which may use them to send words out. Nobody is asked again before they run.";

/// `PermissionRequest` of the contract; `decide` gets it before there is a question. A call: its id, the name of its tool,
/// and that tool, if it is still there.
pub(in crate::harness) fn request_of(
    (tool_call, name, tool): (&str, &str, Option<&Definition>),
    args: &Value,
    answers: &Answers,
    request: &str,
    reason: &Word<AskReason>,
    outside: &Outside,
) -> Object {
    let title = tool.and_then(|tool| tool.title.as_deref());
    let explained = answers.explained.as_deref().filter(|text| !text.is_empty());
    let empties = tool.is_some_and(|tool| empties_page(tool, args));
    let asks = if empties { Some("Empty a page") } else { title };
    let page = tool.and_then(|tool| page_of(tool, args));
    let what = explained.map_or_else(|| question(asks, name, page), String::from);
    let mut object = Object::new();
    object
        .text("requestId", request)
        .text("toolCallId", tool_call)
        .text("tool", name)
        .maybe_text("title", title)
        .maybe_text("capability", tool.and_then(|tool| tool.capability.as_deref()))
        .value("arguments", args.clone())
        .text("explanation", &what)
        .maybe_text("warning", warning(reason.known(), !outside.is_empty()))
        .text("reason", reason.as_str());
    // No leave lasts for its like.
    if reason.known() == Some(AskReason::UnknownOutcome) || empties {
        object.flag("once", true);
    }
    if !outside.is_empty() {
        object.value("outside", outside.to_json());
    }
    object
}

/// The page that a call of a page tool is about.
fn page_of<'a>(tool: &Definition, args: &'a Value) -> Option<&'a str> {
    let slug = args.get("slug").filter(|_| tool.origin == Origin::Page)?.as_str()?;
    // Nothing else is called so.
    let is_slug = slug.len() <= 80 && slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_slug.then_some(slug)
}

/// A tool's title, or its name, as a question: `place_order` is "Place order?". `page`: which page it is about.
fn question(title: Option<&str>, name: &str, page: Option<&str>) -> String {
    let mut words = match title {
        Some(title) => find::replace(title, "?", ""),
        None => find::replace(&find::replace(name, "_", " "), "-", " "),
    };
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if let Some(page) = page {
        words = [&words, ": ", page].concat();
    }
    words.push('?');
    words
}

/// What a person has to know besides. `outside`: there is text from outside that no answer has covered yet.
fn warning(reason: Option<AskReason>, outside: bool) -> Option<&'static str> {
    match reason? {
        AskReason::UnknownOutcome => {
            Some("The page went away while it ran. It may have taken effect already; allowing runs it again.")
        }
        AskReason::DefinitionChanged => Some("The tool has changed since it was allowed."),
        AskReason::Destructive | AskReason::Decide | AskReason::Policy if !outside => None,
        _ => Some("The conversation holds text from outside, which may have asked for it."),
    }
}

/// `PermissionRequest` of the contract.
fn question_of(core: &Core, session: &str, run: &str, tool_call: &str) -> Option<Value> {
    let folded = core.session(session)?;
    let run = folded.run(run)?;
    let (call, question) = run.questions().into_iter().find(|(call, _)| call.id == tool_call)?;
    Some(told_question(core, folded, run, call, question))
}

fn told_question(
    core: &Core,
    folded: &session::Session,
    run: &Run,
    call: &Call,
    question: &Question,
) -> Value {
    let args = core.repaired(folded, run, call);
    // The tool may be gone since.
    let tool = folded.tools.get(&call.name).map(|tool| &tool.definition);
    let of = (&*call.id, &*call.name, tool);
    request_of(of, &args, &call.answers, &question.id, &question.reason, &question.outside).done()
}
