//! A call of the page's own code, and how a person is asked about a call, of that code or of a run.
//!
//! Leaves to others: how such a call goes on (`runner/page_calls`), and who answers (`runner/permission`).

use crate::harness::calls::Calls;
use crate::harness::core::Core;
use crate::harness::setup::Setup;
use crate::journal::{AskReason, Word};
use crate::object::Object;
use crate::ports::Millis;
use crate::tools::{Answers, Definition};
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
    pub reason: AskReason,
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
}

pub(in crate::harness) fn request_about(
    call: &PageCall,
    tool: Option<&Definition>,
    args: &Value,
    request: &str,
    reason: AskReason,
) -> Object {
    let capability = tool.and_then(|tool| tool.capability.as_deref());
    request_of(&call.id(), &call.tool, capability, args, request, &reason.into())
}

/// `PermissionRequest` of the contract; `decide` gets it before there is a question.
pub(in crate::harness) fn request_of(
    tool_call: &str,
    tool: &str,
    capability: Option<&str>,
    args: &Value,
    request: &str,
    reason: &Word<AskReason>,
) -> Object {
    let mut object = Object::new();
    object
        .text("requestId", request)
        .text("toolCallId", tool_call)
        .text("tool", tool)
        .maybe_text("capability", capability)
        .value("arguments", args.clone())
        .text("explanation", explanation(reason.known()))
        .text("reason", reason.as_str());
    object
}

/// Why a person is asked, in words.
fn explanation(reason: Option<AskReason>) -> &'static str {
    match reason {
        Some(AskReason::Destructive) => "It can destroy something.",
        Some(AskReason::ExternalText) => {
            "The conversation holds text from outside, and this tool can send something out."
        }
        Some(AskReason::Decide) => "The app wants you to decide.",
        Some(AskReason::UnknownOutcome) => {
            "The page went away while it ran. It may have taken effect already; allowing runs it again."
        }
        Some(AskReason::DefinitionChanged) => "The tool has changed since it was allowed.",
        Some(AskReason::Policy) | None => "The app asks before it uses this tool.",
    }
}
