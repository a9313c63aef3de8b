//! Calls of the page's own code (`tools.execute`): the same gate, schema, `decide` and person as for a model's.
//!
//! Decides how such a call goes on from one answer to the next. Promises: what may be done is looked at again after
//! each of them. Only that call waits, the agent does not. Such a call goes with its page, so no journal holds it, and
//! it needs no running harness. Leaves to others: what a question says, and who answers (`permission`).

use crate::error::{Code, ErrorInfo};
use crate::harness::calls::questions::{PageCall, PageQuestion, request_about};
use crate::harness::calls::{About, CallOwner, Owner};
use crate::harness::core::{Core, DEFAULT_SESSION};
use crate::harness::runner::Runner;
use crate::harness::runner::permission::{Reply, not_asked};
use crate::journal::canonical::Integrity;
use crate::journal::{Answer, AskReason, Entry};
use crate::json::json;
use crate::rooms::{Room, enter};
use crate::tools::{Caller, Checked, Definition, Facts, Origin, Permit, Wanted, decide, policy};
use crate::workspace::Seen;
use serde_json::Value;

impl Runner {
    /// Goes on with a call: it runs, somebody is asked, or it is refused. A door of the room `more`.
    #[inline(never)]
    pub(in crate::harness) fn page_call(&mut self, core: &mut Core, call: PageCall) {
        enter(Room::More);
        let command = call.command;
        if let Err(error) = self.next_of_page_call(core, call) {
            core.reply_now(command, Err(core.secrets.scrubbed_error(error)));
        }
    }

    fn next_of_page_call(&mut self, core: &mut Core, call: PageCall) -> Result<(), ErrorInfo> {
        let session = core.session(DEFAULT_SESSION);
        let facts = Facts {
            tools: &self.setup.registry,
            policy: &self.setup.policy,
            grants: session.map(|session| session.grants.as_slice()).unwrap_or_default(),
            caller: Caller::Page,
        };
        let arguments = json(&call.args);
        let wanted = Wanted {
            name: &call.tool,
            arguments: &arguments,
            answers: &call.answers,
            failed: 0,
            lost: false,
        };
        match decide(&wanted, &facts) {
            Permit::Refuse(error) => return Err(error),
            Permit::Inspect { function, args } => {
                self.ask_about(core, CallOwner::Validate(About::Page(call)), function, "validate", args);
            }
            Permit::Consult(Checked { definition, args, .. }, reason) => {
                let request = request_about(&call, Some(definition), &args, "", reason);
                self.ask_decide(core, About::Page(call), request);
            }
            Permit::Explain { function, args } => {
                self.ask_about(core, CallOwner::Explain(About::Page(call)), function, "explain", args);
            }
            // The answer was about another tool.
            Permit::Ask { reason: AskReason::DefinitionChanged, .. } => {
                return Err(not_asked(&["ask_", &call.id()].concat()));
            }
            Permit::Ask { reason, definition, destination, .. } => {
                let deadline = self.setup.question_deadline(core);
                let at = core.now;
                let question = PageQuestion { call, definition, destination, reason, at, deadline };
                let mut event = core.detail(DEFAULT_SESSION);
                event.all(self.calls.told_page_question(core, &self.setup, &question));
                self.calls.page_questions.push(question);
                self.calls.send_now(core, &self.setup, "agent:permission-required", event);
            }
            Permit::Run(Checked { definition, args, .. }) => {
                let tool = definition.clone();
                return self.run_for_page(core, &call, &tool, args);
            }
        }
        Ok(())
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
            Origin::Page => {
                self.pages.page_tool(core, owner, tool.name.clone(), args, call.answers.seen);
            }
            Origin::Host(function) => self.calls.call_tool(
                core,
                owner,
                (&tool.name, function),
                &args,
                tool.timeout_ms.unwrap_or(self.setup.config.tool_timeout_ms),
                false,
            ),
            // Refused before.
            Origin::Person | Origin::Delegate | Origin::Skill | Origin::Memory => {}
        }
        Ok(())
    }

    /// A person answers. `false`: this question is none of the page's own code.
    pub(in crate::harness) fn answer_page_question(
        &mut self,
        core: &mut Core,
        request: &str,
        reply: Reply<'_>,
    ) -> bool {
        let asked = self.calls.page_questions.iter().position(|asked| asked.id() == request);
        if let Some(at) = asked {
            self.go_on_with_page_call(core, at, request, reply);
        }
        asked.is_some()
    }

    /// The other door.
    #[inline(never)]
    fn go_on_with_page_call(
        &mut self,
        core: &mut Core,
        at: usize,
        request: &str,
        Reply { answer, word, version }: Reply<'_>,
    ) {
        enter(Room::More);
        let PageQuestion { mut call, definition, destination, at: asked, .. } =
            self.calls.page_questions.remove(at);
        let mut event = core.detail(DEFAULT_SESSION);
        event.text("requestId", request).text("answer", answer.as_str());
        self.calls.send_now(core, &self.setup, "agent:permission-resolved", event);
        if answer == Answer::Deny {
            let mut error = policy::denied();
            if let Some(word) = word {
                error = error.hint(word);
            }
            return core.reply_now(call.command, Err(error));
        }
        // Where no agent runs there is no session that it could hold for; into one that was changed nothing is written.
        let holds =
            core.session(DEFAULT_SESSION).is_some() && core.integrity(DEFAULT_SESSION) != Integrity::Tampered;
        if answer == Answer::AlwaysAllow && holds {
            let (tool, definition) = (call.tool.clone(), definition.clone());
            let granted = Entry::Granted { tool, definition, destination };
            self.append(core, DEFAULT_SESSION, None, &granted);
        }
        call.answers.allowed = Some(definition);
        call.answers.seen = Some(Seen::new(version, asked));
        self.page_call(core, call);
    }
}
