//! Calls of the page's own code (`tools.execute`): the same gate, schema, `decide` and person as for a model's.
//!
//! Decides how such a call goes on from one answer to the next. Promises: what may be done is looked at again after each
//! of them; only that call waits, the agent does not. Such a call goes with its page, so no journal holds it, and it needs
//! no running harness. Leaves to others: what a question says, and who answers (`permission`).

use super::DEFAULT_SESSION;
use super::calls::Calls;
use super::calls::{About, CallOwner};
use super::core::Core;
use super::pages::Owner;
use super::permission::{not_asked, request_of};
use super::runs::Runner;
use super::setup::Setup;
use crate::error::{Code, ErrorInfo};
use crate::journal::Entry;
use crate::json::json;
use crate::object::Object;
use crate::ports::Millis;
use crate::tools::policy::{self, fingerprint};
use crate::tools::{Definition, Origin, Verdict, gate};
use serde_json::Value;

/// A call.
#[derive(Clone, Debug)]
pub(super) struct PageCall {
    /// Who is answered.
    pub command: u32,
    /// The tool's name.
    pub tool: String,
    /// The arguments as they were given.
    pub args: Value,
}

impl PageCall {
    /// Its id, for the tool and for a question about it.
    fn id(&self) -> String {
        format!("call-{}", self.command)
    }
}

/// A call that waits for a person.
#[derive(Debug)]
pub(super) struct PageQuestion {
    call: PageCall,
    definition: String,
    reason: &'static str,
    /// When nobody's answer counts any more.
    pub deadline: Option<Millis>,
}

impl PageQuestion {
    /// Its id.
    pub fn id(&self) -> String {
        ["ask_", &self.call.id()].concat()
    }
}

/// How far a call has come.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// It is new.
    Asked,
    /// The page's own schema has found nothing wrong.
    Valid,
    /// `decide` has said this.
    Judged(Verdict),
    /// A person has allowed it, with this definition of the tool.
    Allowed(String),
}

impl Calls {
    /// `PermissionRequest` of the contract.
    pub(super) fn told_page_question(&self, core: &Core, setup: &Setup, asked: &PageQuestion) -> Value {
        let tool = setup.registry.get(&asked.call.tool).map(|tool| &tool.definition);
        let args = core.secrets.scrubbed_value(asked.call.args.clone());
        request_about(&asked.call, tool, &args, &asked.id(), asked.reason).done()
    }
}

impl Runner {
    /// Goes on with a call: it runs, somebody is asked, or it is refused.
    pub(super) fn page_call(&mut self, core: &mut Core, call: PageCall, stage: Stage) {
        let command = call.command;
        if let Err(error) = self.next_of_page_call(core, call, &stage) {
            core.reply_now(command, Err(core.secrets.scrubbed_error(error)));
        }
    }

    fn next_of_page_call(&mut self, core: &mut Core, call: PageCall, stage: &Stage) -> Result<(), ErrorInfo> {
        let checked = gate(&self.setup.registry, &self.setup.policy, &call.tool, &json(&call.args))?;
        let (tool, args) = (checked.definition.clone(), checked.args);
        if matches!(tool.origin, Origin::Person | Origin::Delegate | Origin::Skill) {
            let message = format!("{} is of use to a model only", tool.name);
            return Err(ErrorInfo::new(Code::ToolFailed, message).hint("let a model call it, in a run"));
        }
        let (mut verdict, mut reason) = self.setup.policy.verdict(&tool, false);
        if let Stage::Allowed(definition) = stage {
            if *definition != fingerprint(&tool) {
                return Err(not_asked(&["ask_", &call.id()].concat()));
            }
            if verdict != Verdict::Deny {
                return self.run_for_page(core, &call, &tool, args);
            }
        }
        if let (Stage::Asked, Some(function)) = (stage, tool.validate) {
            let mut request = Object::new();
            request.value("args", args);
            self.calls.ask_page(
                core,
                &self.setup,
                CallOwner::Validate(About::Page(call)),
                function,
                "validate",
                request,
            );
            return Ok(());
        }
        if let (true, Some(function)) = (verdict != Verdict::Deny, self.setup.config.decide) {
            let Stage::Judged(judged) = stage else {
                let request = request_about(&call, Some(&tool), &args, "", reason);
                self.calls.ask_page(
                    core,
                    &self.setup,
                    CallOwner::Decide(About::Page(call)),
                    function,
                    "decide",
                    request,
                );
                return Ok(());
            };
            (verdict, reason) = (*judged, "decide");
        }
        let session = core.session(DEFAULT_SESSION);
        let granted = session.is_some_and(|session| session.grants.iter().any(|grant| grant.covers(&tool)));
        match verdict {
            Verdict::Deny => Err(policy::not_allowed(&tool)),
            Verdict::Ask if !granted => {
                let definition = fingerprint(&tool);
                let question =
                    PageQuestion { call, definition, reason, deadline: self.setup.question_deadline(core) };
                let mut event = core.detail(DEFAULT_SESSION);
                event.all(self.calls.told_page_question(core, &self.setup, &question));
                self.calls.page_questions.push(question);
                self.calls.send_now(core, &self.setup, "agent:permission-required", event);
                Ok(())
            }
            Verdict::Allow | Verdict::Ask => self.run_for_page(core, &call, &tool, args),
        }
    }

    fn run_for_page(
        &mut self,
        core: &mut Core,
        call: &PageCall,
        tool: &Definition,
        args: Value,
    ) -> Result<(), ErrorInfo> {
        let running =
            self.calls.functions.values().filter(|live| matches!(live.owner, CallOwner::Tool(_))).count();
        if self.setup.policy.parallel.is_some_and(|most| running as u64 >= most) {
            let error = ErrorInfo::new(Code::Busy, "as many tools run as maxParallelTools allows");
            return Err(error.hint("call it again when one of them has ended"));
        }
        let owner = Owner::Command(call.command);
        match tool.origin {
            Origin::Page => self.pages.page_tool(core, owner, tool.name.clone(), args),
            Origin::Host(function) => self.calls.call_tool(
                core,
                owner,
                (&tool.name, function),
                &args,
                tool.timeout_ms.unwrap_or(self.setup.config.tool_timeout_ms),
                false,
            ),
            // Refused before.
            Origin::Person | Origin::Delegate | Origin::Skill => {}
        }
        Ok(())
    }

    /// A person answers. `false`: this question is none of the page's own code.
    pub(super) fn answer_page_question(
        &mut self,
        core: &mut Core,
        request: &str,
        answer: &str,
        word: Option<&str>,
    ) -> bool {
        let Some(at) = self.calls.page_questions.iter().position(|asked| asked.id() == request) else {
            return false;
        };
        let PageQuestion { call, definition, .. } = self.calls.page_questions.remove(at);
        let mut event = core.detail(DEFAULT_SESSION);
        event.text("requestId", request).text("answer", answer);
        self.calls.send_now(core, &self.setup, "agent:permission-resolved", event);
        if answer == "deny" {
            let mut error = policy::denied();
            if let Some(word) = word {
                error = error.hint(word);
            }
            core.reply_now(call.command, Err(error));
            return true;
        }
        // Where no agent runs there is no session that it could hold for.
        if answer == "always_allow" && core.session(DEFAULT_SESSION).is_some() {
            let granted = Entry::Granted { tool: call.tool.clone(), definition: definition.clone() };
            self.append(core, DEFAULT_SESSION, None, &granted);
        }
        self.page_call(core, call, Stage::Allowed(definition));
        true
    }
}

fn request_about(
    call: &PageCall,
    tool: Option<&Definition>,
    args: &Value,
    request: &str,
    reason: &str,
) -> Object {
    let capability = tool.and_then(|tool| tool.capability.as_deref());
    request_of(&call.id(), &call.tool, capability, args, request, reason)
}
