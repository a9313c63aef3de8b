//! Which entry comes next.
//!
//! Decides it from the run and its rules alone: what is called, asked, retried, refused, and when the run ends. Promises: the
//! same run and the same rules give the same entry, and nothing else decides it. Leaves to others: carrying it out
//! (`harness/runner/`), the order of the checks of a tool call (`tools/permit.rs`), and when a failure is retried (`retry`).

use super::reasons::{not_wanted, skipped, unknown_outcome};
use super::{Call, CallState, Ended, Inspection, Run, Said, Settled, Turn};
use crate::error::{Code, ErrorInfo};
use crate::journal::{AskReason, Entry, Outcome, Outside, Spender, Sums};
use crate::json::json;
use crate::list::Listed;
use crate::model::StopReason;
use crate::object::Object;
use crate::ports::Millis;
use crate::run::budget::Budget;
use crate::run::retry::Broke;
use crate::tools::schema::Repair;
use crate::tools::{Caller, Checked, Facts, OnResume, Origin, Permit, Wanted, decide, gate};
use serde_json::Value;

/// What decisions depend on besides the journal of the run.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// What tool calls are judged by, as the session's journal last recorded it.
    pub facts: Facts<'a>,
    /// How many model calls a run may make.
    pub max_turns: u64,
    /// The names of the providers that take over, in their order, as recorded.
    pub fallback: &'a [String],
    /// The name of the provider that the session was launched with; `None`: it has the one of all.
    pub own: Option<&'a str>,
    /// Whether an answer that was cut in the middle is asked for again, as recorded.
    pub cut: bool,
    /// What may be used up, and what was.
    pub budgets: &'a Budgets,
    /// How many tools run, of the run and of those that work for it.
    pub running: u64,
    /// The message that enters the run before its next model call, if one waits to.
    pub steering: Option<&'a str>,
}

/// What a run and its session may use up, and what they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// Of the run that a message began, with those that work for it: the limits, what was spent, and how long it has taken.
    pub run: (Budget, Sums, Millis),
    /// The same of the session.
    pub session: (Budget, Sums, Millis),
}

impl Budgets {
    /// The first limit that is used up.
    fn exceeded(&self) -> Option<Entry> {
        let over = |of: Spender, (budget, sums, since): &(Budget, Sums, Millis)| {
            let (what, spent, limit) = budget.exceeded(sums, *since)?;
            Some(Entry::OverBudget { of: of.into(), what: what.into(), spent, limit })
        };
        over(Spender::Run, &self.run).or_else(|| over(Spender::Session, &self.session))
    }
}

impl Run {
    /// The entry that comes next of itself, and whose it is: this run's, or that of one that works for it. `None`:
    /// something from outside is awaited, or nothing is left.
    pub fn next(&self, rules: &Rules<'_>) -> Option<(String, Entry)> {
        if self.ended.is_some() {
            return None;
        }
        for run in self.delegates() {
            // What was interrupted ends, also under a run that is held.
            let Some(delegate) = run.delegate.as_ref().filter(|_| !self.held || run.ending.is_some()) else {
                continue;
            };
            let policy = run.policy(rules.facts.policy);
            let facts = Facts { policy: &policy, ..rules.facts };
            let rules = Rules { facts, max_turns: delegate.turns, steering: None, ..*rules };
            if let Some(next) = run.next(&rules) {
                return Some(next);
            }
        }
        if let Some(run) = self.summarizer().filter(|run| !self.held || run.ending.is_some()) {
            let rules = Rules { max_turns: 1, steering: None, ..*rules };
            if let Some(next) = run.next(&rules) {
                return Some(next);
            }
        }
        if self.held || self.summarizer().is_some() && self.ending.is_none() {
            return None;
        }
        let entry = match (self.next_own(rules)?, rules.steering) {
            (next, Some(message)) if self.lets_in(&next, rules) => Entry::Taken { message: message.into() },
            (next, _) => next,
        };
        let id = match &entry {
            Entry::Delegated { tool_call, .. } => [&self.id, "_", tool_call].concat(),
            _ => self.id.clone(),
        };
        Some((id, entry))
    }

    /// Whether a message may enter it: one for each model call, where another can be made, and not in the middle of what
    /// its provider has only paused. What only has the conversation summed up answers nobody.
    fn can_be_steered(&self, rules: &Rules<'_>) -> bool {
        let whole = self.turns.iter().rev().find_map(|turn| match &turn.said {
            Said::Whole { stop, .. } => Some(stop),
            _ => None,
        });
        rules.steering.is_some()
            && self.prompt.compacts.is_none()
            && !self.is_steered()
            && (self.turns.len() as u64) < rules.max_turns
            && whole != Some(&StopReason::Pause)
    }

    /// Whether it does now, in place of what would come next.
    fn lets_in(&self, next: &Entry, rules: &Rules<'_>) -> bool {
        let would_end = matches!(next, Entry::Ended { outcome, .. } if *outcome == Outcome::Completed);
        let goes_on =
            matches!(next, Entry::Called { .. }) || (would_end && rules.budgets.exceeded().is_none());
        goes_on && self.can_be_steered(rules)
    }

    fn next_own(&self, rules: &Rules<'_>) -> Option<Entry> {
        if let Some((outcome, error)) = &self.ending {
            return Some(end(*outcome, error.as_ref().map(|error| error.code)));
        }
        if self.offer_asked().is_some() {
            return None;
        }
        let last = self.summaries.last().filter(|summary| !summary.is_done_without());
        let summed_up = match last.and_then(|summary| summary.run.ended.as_ref()) {
            Some(Ended { outcome: Outcome::Failed, error, .. }) => {
                return Some(end(Outcome::Failed, error.as_ref().map(|error| error.code)));
            }
            _ => last.is_some_and(|summary| summary.after == self.turns.len()),
        };
        if summed_up && self.prompt.compacts.is_some() {
            return Some(end(Outcome::Completed, None));
        }
        if let Some(broke) = self.broke.as_ref().filter(|broke| !broke.decided) {
            return Some(self.next_of_broken(broke, rules));
        }
        if self.again.is_some() {
            return None;
        }
        if self.makes_again(self.calls) {
            return Some(Entry::Called { call: self.calls });
        }
        let call_model = match rules.budgets.exceeded() {
            Some(over) => over,
            None => Entry::Called { call: self.calls + 1 },
        };
        let Some(turn) = self.turns.last() else { return Some(call_model) };
        let (blocks, stop) = match &turn.said {
            Said::Nothing => return None,
            Said::Partial(_) | Said::Cut(_) => return Some(call_model),
            Said::Whole { blocks, stop, .. } => (blocks, stop),
        };
        if self.summarizes {
            return Some(match stop {
                StopReason::Refusal(_) => end(Outcome::Failed, Some(Code::Refused)),
                StopReason::ContextWindow => end(Outcome::Failed, Some(Code::ContextLength)),
                // Half a summary would stand for the whole conversation. It is asked for once more, with more room.
                StopReason::MaxTokens if self.turns.len() < 2 => call_model,
                StopReason::MaxTokens => end(Outcome::Failed, Some(Code::OutputLimit)),
                _ if turn.text().trim().is_empty() => end(Outcome::Failed, Some(Code::OutputLimit)),
                _ => end(Outcome::Completed, None),
            });
        }
        if let Some(entry) = self.next_of_calls(turn, not_wanted(stop), rules) {
            return entry;
        }
        let goes_on = !turn.calls.is_empty()
            || *stop == StopReason::Pause
            || turn.sent_back.is_some()
            || self.is_steered();
        Some(match stop {
            StopReason::Refusal(_) => end(Outcome::Failed, Some(Code::Refused)),
            _ if goes_on && self.turns.len() as u64 >= rules.max_turns => {
                end(Outcome::Failed, Some(Code::MaxTurnsExceeded))
            }
            _ if goes_on => call_model,
            StopReason::ContextWindow if summed_up && (self.turns.len() as u64) < rules.max_turns => {
                call_model
            }
            StopReason::ContextWindow => end(Outcome::Failed, Some(Code::ContextLength)),
            StopReason::MaxTokens if blocks.is_empty() => end(Outcome::Failed, Some(Code::OutputLimit)),
            _ if self.prompt.output.is_some() => {
                return self.next_of_answer(turn, *stop == StopReason::MaxTokens);
            }
            _ => end(Outcome::Completed, None),
        })
    }

    /// What becomes of an answer after which nothing is open. `cut`: the output limit has cut it.
    fn next_of_answer(&self, turn: &Turn, cut: bool) -> Option<Entry> {
        let inspects = self.prompt.output.as_ref().is_some_and(|output| output.validate.is_some());
        let wrong = match (self.last_value()?, &turn.inspection) {
            (Ok(_), Inspection::Ahead) if inspects => {
                return Some(Entry::Inspected { tool_call: String::new() });
            }
            (Ok(_), Inspection::Open) => return None,
            (said, _) => said.err(),
        };
        Some(match wrong {
            None => end(Outcome::Completed, None),
            Some(_) if cut => end(Outcome::Failed, Some(Code::OutputLimit)),
            Some(error) if self.turns.iter().all(|turn| turn.sent_back.is_none()) => {
                Entry::SentBack { error }
            }
            Some(_) => end(Outcome::Failed, Some(Code::InvalidOutput)),
        })
    }

    /// What follows from a model call that came to nothing: a wait for the network, another try, another provider, or the end.
    fn next_of_broken(&self, broke: &Broke, rules: &Rules<'_>) -> Entry {
        if broke.awaits_network(rules.cut) {
            return Entry::Offline {};
        }
        if let Some(delay) = broke.wait(self.tries, rules.cut) {
            return Entry::Retrying { attempt: self.tries + 1, delay };
        }
        let is_own = |name: &str| rules.own == Some(name);
        let mut others = rules.fallback.iter().filter(|name| !is_own(name));
        if let Some(on) = self.on.as_ref().filter(|on| !is_own(on)) {
            others.by_ref().find(|name| *name == on);
        }
        match others.next().filter(|_| broke.falls_back()) {
            Some(to) => Entry::FellBack { to: to.clone() },
            None => end(Outcome::Failed, Some(broke.error.code)),
        }
    }

    /// What the tool calls of a whole answer need next. `None`: they are all over. `Some(None)`: one is awaited.
    ///
    /// They run one after the other in the order of the answer, unless every one of them may run beside others.
    fn next_of_calls(
        &self,
        turn: &Turn,
        refused: Option<ErrorInfo>,
        rules: &Rules<'_>,
    ) -> Option<Option<Entry>> {
        let beside =
            |call: &Call| rules.facts.tools.get(&call.name).is_none_or(|tool| tool.definition.parallel);
        let together = turn.calls.iter().all(beside);
        let delegated =
            turn.calls.iter().filter(|call| matches!(call.state, CallState::Delegated)).count() as u64;
        let full = rules.facts.policy.parallel.is_some_and(|most| rules.running + delegated >= most);
        let steers = self.can_be_steered(rules);
        let mut awaited = false;
        for call in &turn.calls {
            let tool_call = call.id.clone();
            let entry = match &call.state {
                CallState::Waiting(question) if steers && question.reason == AskReason::UnknownOutcome => {
                    Some(Entry::Unknown { tool_call })
                }
                CallState::Asked | CallState::Waiting(_) | CallState::Allowed
                    if steers && refused.is_none() =>
                {
                    Some(Entry::Refused { tool_call, error: skipped() })
                }
                CallState::Settled(_) => continue,
                CallState::Ordered
                | CallState::Delegated
                | CallState::Inspected
                | CallState::Consulted
                | CallState::Explaining
                | CallState::Waiting(_)
                | CallState::Handed
                | CallState::LookedUp => None,
                CallState::Asked => match &refused {
                    Some(error) => Some(Entry::Refused { tool_call, error: error.clone() }),
                    None => Some(self.next_of_call(call, rules)),
                },
                CallState::Allowed => Some(self.next_of_call(call, rules)),
                CallState::Lost => Some(self.next_of_lost(call, rules)),
            };
            match entry {
                // A place has to become free first.
                Some(Entry::Ordered { .. } | Entry::Delegated { .. }) if full => awaited = true,
                Some(entry) => return Some(Some(entry)),
                None => awaited = true,
            }
            if !together {
                break;
            }
        }
        awaited.then_some(None)
    }

    /// What becomes of a call that has not begun, or that is to begin again.
    fn next_of_call(&self, call: &Call, rules: &Rules<'_>) -> Entry {
        let tool_call = call.id.clone();
        let wanted = Wanted {
            name: &call.name,
            arguments: &call.arguments,
            answers: &call.answers,
            failed: self.failed_alike(call),
            lost: matches!(call.state, CallState::Lost),
        };
        match decide(&wanted, &rules.facts) {
            Permit::Refuse(error) => Entry::Refused { tool_call, error },
            Permit::Inspect { .. } => Entry::Inspected { tool_call },
            Permit::Consult(..) => Entry::Consulted { tool_call },
            Permit::Explain { .. } => Entry::Explaining { tool_call },
            Permit::Ask { reason, arguments, definition, destination } => {
                let request = format!("ask_{tool_call}_{}", call.questions + 1);
                let outside = match rules.facts.caller {
                    Caller::Model { outside } => outside.clone(),
                    Caller::Page => Outside::default(),
                };
                let reason = reason.into();
                Entry::PermissionAsked {
                    tool_call,
                    request,
                    reason,
                    arguments,
                    definition,
                    destination,
                    outside,
                }
            }
            Permit::Run(checked) => order(tool_call, &checked, rules.max_turns),
        }
    }

    /// What becomes of a call whose page went away while it ran.
    fn next_of_lost(&self, call: &Call, rules: &Rules<'_>) -> Entry {
        let tool_call = call.id.clone();
        let Some(tool) = rules.facts.tools.get(&call.name) else { return Entry::Unknown { tool_call } };
        let tool = &tool.definition;
        if tool.lookup.is_some() && !call.looked_up {
            return Entry::LookedUp { tool_call };
        }
        if tool.on_resume == OnResume::Fail {
            let mut error = unknown_outcome();
            error.code = Code::ToolFailed;
            return Entry::Refused { tool_call, error };
        }
        if gate(rules.facts.tools, rules.facts.policy, &call.name, &call.arguments).is_err() {
            // It cannot be run again: what became of it stays unknown.
            return Entry::Unknown { tool_call };
        }
        // What may be done may have changed since.
        self.next_of_call(call, rules)
    }

    /// How often in a row this very call has failed before in just the same way.
    fn failed_alike(&self, call: &Call) -> usize {
        let calls = self.turns.iter().rev().flat_map(|turn| turn.calls.iter().rev());
        let before = calls.skip_while(|other| other.id != call.id).skip(1);
        let mut settled = before
            .filter_map(|call| match &call.state {
                CallState::Settled(settled) => Some((call, settled)),
                _ => None,
            })
            .peekable();
        let Some((_, last)) = settled.peek().copied() else { return 0 };
        let same = |(other, settled): &(&Call, &Settled)| {
            settled.error.is_some()
                && settled.text == last.text
                && other.name == call.name
                && same_arguments(&other.arguments, &call.arguments)
        };
        settled.take_while(same).count()
    }
}

fn end(outcome: Outcome, code: Option<Code>) -> Entry {
    Entry::Ended { outcome: outcome.into(), code: code.map(|code| code.as_str().into()) }
}

fn same_arguments(one: &str, other: &str) -> bool {
    let canonical =
        |text: &str| crate::json::parse(text).map_or_else(|| text.to_owned(), |value| json(&value));
    one == other || canonical(one) == canonical(other)
}

fn order(tool_call: String, checked: &Checked<'_>, max_turns: u64) -> Entry {
    let repair = |repair: &Repair| Object::new().text("at", &repair.path).text("what", repair.what).done();
    let repairs = (!checked.repairs.is_empty()).then(|| checked.repairs.iter().map(repair).array());
    match checked.definition.origin {
        Origin::Person => Entry::Handed { tool_call, repairs },
        Origin::Delegate => delegated(tool_call, &checked.args, repairs, max_turns),
        Origin::Page | Origin::Host(_) | Origin::Skill | Origin::Memory => {
            Entry::Ordered { tool_call, repairs }
        }
    }
}

/// A task for another run.
fn delegated(tool_call: String, args: &Value, repairs: Option<Value>, max_turns: u64) -> Entry {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let turns = args.get("maxTurns").and_then(Value::as_u64).unwrap_or(max_turns);
    Entry::Delegated {
        tool_call,
        process: text("process").as_str().into(),
        task: text("task"),
        capabilities: args.get("capabilities").filter(|names| names.is_array()).cloned(),
        turns: turns.min(max_turns),
        repairs,
    }
}
