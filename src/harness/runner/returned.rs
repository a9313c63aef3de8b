//! What a function of the page gives back, by what it was called for.
//!
//! Leaves to others: what a tool's result is as text (`calls`), and what its entry leads to (the rest of the runner).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::{Action, CallKey};
use crate::harness::calls::outcome::{failed_call, returned_entry, tool_value};
use crate::harness::calls::{CallOwner, LiveCall, Owner, RunCall};
use crate::harness::core::Core;
use crate::harness::runner::Runner;
use crate::json;
use crate::tools::{Policy, gate};

impl Runner {
    pub(in crate::harness) fn returned(
        &mut self,
        core: &mut Core,
        call: CallKey,
        result: Result<Option<String>, ErrorInfo>,
    ) {
        let Some(LiveCall { owner, .. }) = self.calls.functions.remove(call) else {
            return core.runs.late(call);
        };
        match owner {
            CallOwner::Instructions { session, .. } => self.instructed(core, &session, result),
            CallOwner::Validate(about) => self.validated(core, about, result),
            CallOwner::Decide(about) => self.judged(core, about, result),
            CallOwner::Explain(about) => self.explained(core, about, result),
            CallOwner::Lookup(of) => self.looked_up(core, of, result),
            CallOwner::Tool(Owner::Run(RunCall { session, run, tool_call })) => {
                let entry = match result {
                    Ok(json) => {
                        let (text, json) = self.calls.tool_text(core, json);
                        returned_entry(&tool_call, text, json)
                    }
                    Err(error) => failed_call(&tool_call, core.secrets.scrubbed_error(error)),
                };
                self.settle(core, &session, &run, &entry);
            }
            CallOwner::Tool(Owner::Command(command)) => {
                let result = result.map_err(|error| core.secrets.scrubbed_error(error)).map(|json| {
                    let (text, json) = self.calls.tool_text(core, json);
                    Some(json::json(&tool_value(&text, json)))
                });
                core.outbox.tell(Action::Reply { id: command, result });
            }
        }
    }

    /// Calls that wait for their commit are not made if they would be refused, or asked about, by what holds now.
    pub(in crate::harness) fn drop_what_may_not_run(&mut self, core: &mut Core, before: &Policy) {
        for key in self.calls.functions.keys(&|live| live.ahead().is_some()) {
            let Some(of) = self.calls.functions.get(key).and_then(LiveCall::ahead).cloned() else { continue };
            let RunCall { session, run, tool_call } = of;
            let Some(folded) = core.session(&session) else { continue };
            let Some(working) = folded.run(&run) else { continue };
            let Some(call) = working.call(&tool_call) else { continue };
            let policy = folded.policy_of(working, &self.setup.policy);
            let checked = gate(&self.setup.registry, &policy, &call.name, &call.arguments);
            let error = match checked {
                Err(error) => error,
                Ok(checked) => {
                    let tool = checked.definition;
                    if self.setup.policy.verdict(tool, false).0 <= before.verdict(tool, false).0 {
                        continue;
                    }
                    ErrorInfo::new(Code::PermissionDenied, "the rules have changed; it was not run")
                        .hint("call it again if it is still wanted")
                }
            };
            self.calls.let_go(core, key);
            self.calls.functions.remove(key);
            core.settle(session, run, failed_call(&tool_call, error));
        }
    }
}
