//! Sessions that are put aside, and taken up again.
//!
//! Decides what is aborted when a run is put aside, and what is waited for. Promises: a model call and a tool that only
//! reads are asked anew by `play`. A tool with an effect comes to its end, and its result is on record. A person's
//! question waits, and is asked again. Nothing of a benched session costs a timer, a request or time of its budget.
//! Leaves to others: whether a session may be benched (`session/lifecycle`), and all of them at once
//! (`js/client/workspace.js`). Each goes through the gate by itself.

use crate::error::ErrorInfo;
use crate::harness::calls::{CallOwner, Owner};
use crate::harness::core::Core;
use crate::harness::core::refused::no_agent;
use crate::harness::core::slots::Instructed;
use crate::harness::runner::{Runner, not_configured};
use crate::journal::{Ask, Entry};
use crate::object::Object;
use crate::session::lifecycle::not_suspended;
use crate::tools::{Definition, OnResume};
use serde_json::Value;

impl Runner {
    /// Aborts what can be asked again: the ids of the tool calls among it.
    fn abort_what_only_reads(&mut self, core: &mut Core, session: &str, run: &str) -> Vec<Value> {
        let mut aborted = Vec::new();
        for key in self.calls.functions.keys(&|call| call.owner.run() == Some(run)) {
            let Some(live) = self.calls.functions.get(key) else { continue };
            if let CallOwner::Tool(Owner::Run(of)) = &live.owner {
                let again = |tool: &Definition| tool.read_only && tool.on_resume == OnResume::Rerun;
                if !self.setup.tool_of(core, session, run, &of.tool_call).is_some_and(again) {
                    continue;
                }
                aborted.push(of.tool_call.as_str().into());
            }
            self.calls.let_go(core, key);
            self.calls.functions.remove(key);
        }
        aborted
    }

    /// Puts a session aside, if it is alive and is not put aside already: `{ suspended: [id] }`, or none.
    pub(in crate::harness) fn bench(&mut self, core: &mut Core, session: &str) -> Result<Value, ErrorInfo> {
        core.must_own_session(session)?;
        let folded = core.session(session).ok_or_else(|| no_agent(session))?;
        let record = folded.record().ok_or_else(|| no_agent(session))?;
        let mut benched = Vec::new();
        if record.status().is_active() && !record.is_suspended() {
            let args = core.as_operator()?.done();
            self.ask_session(core, session, Ask::Bench, &args)?;
            self.put_aside(core, session);
            benched.push(session.into());
        }
        Ok(Object::new().value("suspended", Value::Array(benched)).done())
    }

    /// Stops the run of a session where it can go on from later.
    fn put_aside(&mut self, core: &mut Core, session: &str) {
        self.calls.question_deadlines.retain(|(_, of, _)| of != session);
        let Some(run) = core.current(session).filter(|run| !run.held) else { return };
        let top = run.id.clone();
        let (mut parts, mut begun) = (Vec::new(), Vec::new());
        for part in run.parts() {
            // A run that waits for a person has nothing that could be stopped.
            if part.id == top || part.working() {
                parts.push(part.id.clone());
            }
            let calls = part.open_calls();
            begun.extend(calls.iter().filter(|call| !call.state.is_ahead()).map(|call| call.id.clone()));
        }
        if let Some(slot) = core.sessions.get_mut(session) {
            slot.begun.append(&mut begun);
            // A function that was asked for the instructions is not heard any more.
            if slot.instructed == Instructed::Asked {
                slot.instructed = Instructed::No;
            }
        }
        for part in parts.into_iter().rev() {
            let calls = self.abort_what_only_reads(core, session, &part);
            let (blocks, usage, cost) = self.calls.cut_model(core, &self.setup, session, &part);
            let calls = (!calls.is_empty()).then(|| calls.into());
            self.append(core, session, Some(&part), &Entry::Benched { blocks, calls, usage, cost });
        }
        self.advance(core, session);
    }

    /// Takes a session up again that was put aside, or lost with its page in the middle of a run: its run goes on.
    pub(in crate::harness) fn play(&mut self, core: &mut Core, session: &str) -> Result<(), ErrorInfo> {
        core.must_own_session(session)?;
        let folded = core.session(session).ok_or_else(|| no_agent(session))?;
        let held = folded.current().filter(|run| run.held).map(|run| run.id.clone());
        let lost = folded.record().is_some_and(|record| record.status().is_recoverable());
        let what = match (folded.is_benched(), &held) {
            (true, _) => Some(Ask::Play),
            (false, None) => return Err(not_suspended()),
            // The session has failed because its page was lost. After any other failure the run has ended.
            (false, _) if lost => Some(Ask::Recover),
            _ => None,
        };
        if held.is_some() {
            core.must_run()?;
            let provider = folded.current().and_then(|run| folded.provider_of(&run.prompt));
            if !self.setup.config.answers(provider) {
                return Err(not_configured());
            }
        }
        if let Some(what) = what {
            let mut args = core.as_operator()?;
            self.ask_session(core, session, what, &args.text("action", "reconnect").done())?;
        }
        if let Some(run) = held {
            self.go_on(core, session, &run);
        }
        Ok(())
    }
}
