//! People and the page's `decide`: who is asked about a call, and what an answer sets going.
//!
//! Decides what a question says, who may answer which, and when nobody has answered in time. Promises: a question is
//! told after its entry is stored and answered once. The first answer counts, for just the arguments and the definition
//! it was asked about. Leaves to others: whether to ask at all (`tools::permit`).

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::harness::calls::outcome::failed_call;
use crate::harness::calls::questions::request_of;
use crate::harness::calls::{About, CallOwner, RunCall};
use crate::harness::core::Core;
use crate::harness::runner::Runner;
use crate::harness::runner::offer::asked_by;
use crate::journal::{Answer, Entry, Outside, Verdict};
use crate::object::Object;
use crate::ports::Millis;
use crate::protocol::args::{Members, shortened};
use crate::run::{Call, CallState, NO_ANSWER, Run};
use crate::tools::{Answers, Caller, Facts, ToolText, by_rules};
use serde_json::Value;

/// How much of an explanation is shown, in characters.
const EXPLANATION: usize = 500;

/// What is said to a question.
#[derive(Clone, Copy, Debug)]
pub(in crate::harness) struct Reply<'a> {
    pub answer: Answer,
    /// A word to the model.
    pub word: Option<&'a str>,
    /// The version of the page that was in sight.
    pub version: Option<u64>,
}

impl Reply<'_> {
    /// The time to answer is over.
    const NONE: Reply<'static> = Reply { answer: Answer::Deny, word: Some(NO_ANSWER), version: None };
}

impl Runner {
    /// `decide` is asked about a call of a run.
    pub(in crate::harness) fn consult(&mut self, core: &mut Core, session: &str, run: &str, tool_call: &str) {
        let about = About::Run(RunCall::new(session, run, tool_call));
        let Some(tool) = self.setup.tool_of(core, session, run, tool_call) else {
            // It has gone since: a person is asked.
            return self.judged(core, about, Ok(None));
        };
        let args = core.args_of(session, run, tool_call);
        let folded = core.session(session);
        let none = Outside::default();
        let outside = folded.map_or(&none, |session| &session.outside);
        let facts = Facts {
            tools: &self.setup.registry,
            policy: &self.setup.policy,
            grants: folded.map(|session| session.grants.as_slice()).unwrap_or_default(),
            caller: Caller::Model { outside },
        };
        let reason = by_rules(tool, &args, &facts).reason;
        let of = (tool_call, &*tool.name, Some(tool));
        let request = request_of(of, &args, &Answers::default(), "", &reason.into(), outside);
        self.ask_decide(core, about, request);
    }

    /// Asks the page's `decide`, or a person where it has gone since.
    pub(in crate::harness) fn ask_decide(&mut self, core: &mut Core, about: About, request: Object) {
        match self.setup.config.decide {
            Some(function) => {
                self.calls.ask_page(core, &self.setup, CallOwner::Decide(about), function, "decide", request);
            }
            None => self.judged(core, about, Ok(None)),
        }
    }

    /// What `decide` says. When it throws, says something else or nothing, a person is asked.
    pub(in crate::harness) fn judged(
        &mut self,
        core: &mut Core,
        about: About,
        result: Result<Option<String>, ErrorInfo>,
    ) {
        let said = said(result);
        let verdict = said.as_ref().and_then(Value::as_str).and_then(Verdict::parse).unwrap_or(Verdict::Ask);
        match about {
            About::Page(mut call) => {
                call.answers.judged = Some(verdict);
                self.page_call(core, call);
            }
            About::Run(RunCall { session, run, tool_call }) => {
                let entry = Entry::Judged { tool_call, verdict: verdict.into() };
                core.settle(session, run, entry);
            }
        }
    }

    /// The page's own schema is asked about the arguments of a call of a run, or about the run's answer.
    pub(in crate::harness) fn inspect(&mut self, core: &mut Core, session: &str, run: &str, tool_call: &str) {
        let about = About::Run(RunCall::new(session, run, tool_call));
        let (function, args) = if tool_call.is_empty() {
            let run = core.run(session, run);
            let value = run.and_then(Run::last_value).and_then(Result::ok);
            let output = run.and_then(|run| run.prompt.output.as_ref());
            (output.and_then(|output| output.validate), value.unwrap_or_default())
        } else {
            let function = self.setup.tool_of(core, session, run, tool_call).and_then(|tool| tool.validate);
            (function, core.args_of(session, run, tool_call))
        };
        let Some(function) = function else {
            let error = ErrorInfo::new(Code::ToolNotFound, "the tool is gone");
            return self.validated(core, about, Err(error));
        };
        self.ask_about(core, CallOwner::Validate(about), function, "validate", args);
    }

    /// What it says: what is wrong with them, or nothing.
    pub(in crate::harness) fn validated(
        &mut self,
        core: &mut Core,
        about: About,
        result: Result<Option<String>, ErrorInfo>,
    ) {
        let error = match result {
            Err(error) => Some(core.secrets.scrubbed_error(error)),
            Ok(json) => {
                let said = json.and_then(|json| crate::json::parse(&json));
                let wrong =
                    said.as_ref().and_then(Value::as_str).map(|said| core.secrets.scrubbed(said.into()));
                let answer = matches!(&about, About::Run(of) if of.tool_call.is_empty());
                let code = if answer { Code::InvalidOutput } else { Code::InvalidArguments };
                wrong.map(|wrong| ErrorInfo::new(code, ToolText::cut(wrong).text))
            }
        };
        match (about, error) {
            (About::Page(call), Some(error)) => core.reply_now(call.command, Err(error)),
            (About::Page(mut call), None) => {
                call.answers.valid = true;
                self.page_call(core, call);
            }
            (About::Run(RunCall { session, run, tool_call }), error) => {
                core.settle(session, run, Entry::Validated { tool_call, error });
            }
        }
    }

    /// The tool is asked what a call of a run would do: a person is about to be asked about it.
    pub(in crate::harness) fn explain(&mut self, core: &mut Core, session: &str, run: &str, tool_call: &str) {
        let about = About::Run(RunCall::new(session, run, tool_call));
        match self.setup.tool_of(core, session, run, tool_call).and_then(|tool| tool.explanation) {
            Some(function) => {
                let args = core.args_of(session, run, tool_call);
                self.ask_about(core, CallOwner::Explain(about), function, "explain", args);
            }
            None => self.explained(core, about, Ok(None)),
        }
    }

    /// Calls a function of a tool with the arguments of a call.
    pub(in crate::harness) fn ask_about(
        &mut self,
        core: &mut Core,
        owner: CallOwner,
        function: u32,
        kind: &'static str,
        args: Value,
    ) {
        let mut request = Object::new();
        request.value("args", args);
        self.calls.ask_page(core, &self.setup, owner, function, kind, request);
    }

    /// What it says. When it throws or says nothing, the tool's title is all that a person is told.
    pub(in crate::harness) fn explained(
        &mut self,
        core: &mut Core,
        about: About,
        result: Result<Option<String>, ErrorInfo>,
    ) {
        let said = said(result);
        let text = said.as_ref().and_then(Value::as_str).unwrap_or_default().trim();
        let text = core.secrets.scrubbed(text.into());
        let text = find::beginning(&text, EXPLANATION).to_owned();
        match about {
            About::Page(mut call) => {
                call.answers.explained = Some(text);
                self.page_call(core, call);
            }
            About::Run(RunCall { session, run, tool_call }) => {
                core.settle(session, run, Entry::Explained { tool_call, text });
            }
        }
    }

    /// The tool is asked what became of a call that was lost.
    pub(in crate::harness) fn look_up(&mut self, core: &mut Core, session: &str, run: &str, tool_call: &str) {
        let of = RunCall::new(session, run, tool_call);
        let Some(function) = self.setup.tool_of(core, session, run, tool_call).and_then(|tool| tool.lookup)
        else {
            return self.looked_up(core, of, Ok(None));
        };
        let mut request = Object::new();
        request.value("args", core.args_of(session, run, tool_call)).text("toolCallId", tool_call);
        self.calls.ask_page(core, &self.setup, CallOwner::Lookup(of), function, "lookup", request);
    }

    /// What the tool knows of it: `{ result }`, or nothing.
    pub(in crate::harness) fn looked_up(
        &mut self,
        core: &mut Core,
        of: RunCall,
        result: Result<Option<String>, ErrorInfo>,
    ) {
        let RunCall { session, run, tool_call } = of;
        let said = said(result);
        let entry = match said.as_ref().and_then(|said| said.get("result")) {
            Some(result) => self.calls.returned_value(core, &tool_call, result),
            None => Entry::NotFound { tool_call },
        };
        core.settle(session, run, entry);
    }

    /// `resolvePermission`: the answer of a person.
    pub(in crate::harness) fn resolve_permission(
        &mut self,
        core: &mut Core,
        command: u32,
        args: Members<'_>,
    ) -> Result<(), ErrorInfo> {
        let request = args.needed("requestId");
        let Some(answer) = Answer::parse(args.needed("answer")) else {
            let message = "an answer is \"allow_once\", \"always_allow\" or \"deny\"";
            return Err(ErrorInfo::new(Code::InvalidArguments, message));
        };
        let reply = Reply { answer, word: args.text("reason"), version: args.whole("pageVersion") };
        if self.answer_page_question(core, request, reply) {
            core.reply(command, Ok(None));
            return Ok(());
        }
        let asked = core.sessions.iter().find_map(|(id, slot)| {
            let run = slot.session.current().filter(|run| !run.held)?;
            let of_part = |run: &Run| {
                let offer = run.offer_asked().filter(|asked| asked.id == request).map(|_| String::new());
                let questions = || run.questions().into_iter().find(|(_, question)| question.id == request);
                let call = offer.or_else(|| questions().map(|(call, _)| call.id.clone()))?;
                Some((id.to_owned(), run.id.clone(), call))
            };
            run.parts().into_iter().find_map(of_part)
        });
        let Some((session, run, tool_call)) = asked else {
            core.must_run()?;
            return Err(not_asked(request));
        };
        core.must_answer(&session)?;
        match tool_call.is_empty() {
            // It is about what the provider runs, and about no call.
            true => self.answer_offer(core, &session, &run, request, answer),
            false => self.answer_question(core, &session, &run, tool_call, request, reply),
        }
        core.reply(command, Ok(None));
        Ok(())
    }

    fn answer_question(
        &mut self,
        core: &mut Core,
        session: &str,
        run: &str,
        tool_call: String,
        request: &str,
        Reply { answer, word, version }: Reply<'_>,
    ) {
        self.calls.question_deadlines.retain(|(_, _, other)| *other != tool_call);
        let entry = Entry::PermissionAnswered {
            tool_call,
            request: request.into(),
            answer: answer.into(),
            reason: word.map(|word| core.secrets.scrubbed(word.into())),
            version,
        };
        self.settle(core, session, run, &entry);
    }

    /// Nobody has answered in time: that is a no.
    pub(in crate::harness) fn expire_questions(&mut self, core: &mut Core) {
        let now = core.now;
        let due = |deadline: Option<Millis>| deadline.is_some_and(|deadline| deadline <= now);
        while let Some(asked) = self.calls.page_questions.iter().find(|asked| due(asked.deadline)) {
            let id = asked.id();
            self.answer_page_question(core, &id, Reply::NONE);
        }
        while let Some(at) =
            self.calls.question_deadlines.iter().position(|(deadline, ..)| due(Some(*deadline)))
        {
            let (_, session, tool_call) = self.calls.question_deadlines.remove(at);
            if let Some(run) = asked_by(core, &session, &tool_call) {
                self.answer_offer(core, &session, &run, &tool_call, Answer::Deny);
                continue;
            }
            let asked = core.current(&session).and_then(|run| {
                let of_part = |run: &Run| match &run.calls().iter().find(|call| call.id == tool_call)?.state {
                    CallState::Waiting(question) => Some((run.id.clone(), Some(question.id.clone()))),
                    CallState::Handed => Some((run.id.clone(), None)),
                    _ => None,
                };
                run.parts().into_iter().find_map(of_part)
            });
            match asked {
                Some((run, Some(request))) => {
                    self.answer_question(core, &session, &run, tool_call, &request, Reply::NONE);
                }
                Some((run, None)) => {
                    let entry = failed_call(&tool_call, ErrorInfo::new(Code::ToolTimeout, NO_ANSWER));
                    self.settle(core, &session, &run, &entry);
                }
                None => {}
            }
        }
    }

    /// `tools.resolve`: the answer to a call that has no function.
    pub(in crate::harness) fn resolve_call(
        &mut self,
        core: &mut Core,
        command: u32,
        tool_call: &str,
        answer: &Value,
    ) -> Result<(), ErrorInfo> {
        let waits = core.sessions.iter().find_map(|(id, slot)| {
            let handed = |call: &Call| call.id == tool_call && matches!(call.state, CallState::Handed);
            let parts = slot.session.current()?.parts();
            let part = parts.iter().find(|run| run.calls().iter().any(handed))?;
            Some((id.to_owned(), part.id.clone()))
        });
        let Some((session, run)) = waits else {
            core.must_run()?;
            return Err(not_asked(tool_call));
        };
        core.must_answer(&session)?;
        let entry = match (answer.get("result"), answer.get("error").and_then(Value::as_str)) {
            (None, Some(error)) => {
                failed_call(tool_call, core.secrets.scrubbed_error(ErrorInfo::new(Code::ToolFailed, error)))
            }
            (Some(result), None) => self.calls.returned_value(core, tool_call, result),
            _ => {
                let message = "tools.resolve takes { result } or { error: text }";
                return Err(ErrorInfo::new(Code::InvalidArguments, message));
            }
        };
        self.settle(core, &session, &run, &entry);
        core.reply(command, Ok(None));
        Ok(())
    }

    /// `tools.revoke`: a tool is asked about again.
    pub(in crate::harness) fn revoke(&mut self, core: &mut Core, command: u32, session: &str, tool: &str) {
        if core.session(session).is_some_and(|s| s.grants.iter().any(|grant| grant.tool == tool)) {
            self.append(core, session, None, &Entry::Revoked { tool: tool.into() });
        }
        core.reply(command, Ok(None));
    }
}

pub(in crate::harness) fn not_asked(id: &str) -> ErrorInfo {
    let id = shortened(id);
    ErrorInfo::new(Code::RequestNotFound, format!("nothing called \"{id}\" waits for an answer"))
        .hint("it was answered already, or the run has ended")
}

/// The value that a function of the page gave, if it gave one.
fn said(result: Result<Option<String>, ErrorInfo>) -> Option<Value> {
    result.ok().flatten().and_then(|json| crate::json::parse(&json))
}
