//! What an entry makes of a run.
//!
//! Promises: an entry that cannot stand where the run stands is told, and changes nothing that is told of the run. Each
//! tool call of a whole answer is settled once. Leaves to others: which entry comes next (`next`).

use super::reasons::{interrupted, not_run, out_of_time, refusal, unknown_outcome};
use super::{
    Call, CallState, Delegate, Ended, Inspection, KeyState, NO_ANSWER, OfferQuestion, Prompt, Question, Run,
    Said, Settled, Shortened, Steered, Summary, Turn, Until, bytes_of,
};
use crate::error::{Code, ErrorInfo};
use crate::journal::{Answer, Entry, OfCall, OfRun, Outcome, Scope, StoppedBy};
use crate::json::texts;
use crate::list::Listed;
use crate::model::{Block, StopReason};
use crate::ports::Millis;
use crate::rooms::{Room, enter};
use crate::run::budget;
use crate::run::retry::{Again, Broke};
use crate::tools::{Answers, Source, ToolText, policy};
use crate::workspace::Seen;
use serde_json::Value;
use std::rc::Rc;

impl Run {
    /// Says where the result of a call comes from.
    pub(crate) fn comes_from(&mut self, id: &str, source: Source) {
        for turn in self.turns.iter_mut().rev() {
            if let Some(call) = turn.calls.iter_mut().find(|call| call.id == id) {
                call.source = Some(source);
                self.outside |= source == Source::External;
                return;
            }
        }
    }

    /// Takes up one entry of the run with this id: this one, or one that works for it. `None`: the entry does not fit
    /// where the run stands.
    pub fn fold(&mut self, id: &str, at: Millis, entry: &Entry) -> Option<()> {
        let since = at.saturating_sub(std::mem::replace(&mut self.last_at, at));
        // Before it was found lost, nobody was there.
        if !self.held && !matches!(entry, Entry::Lost { .. }) {
            self.worked_ms = self.worked_ms.saturating_add(since);
        }
        if let Entry::Delegated { tool_call, process, task, capabilities, turns, .. } = entry {
            let (on, config) = (self.on.clone(), self.prompt.config.clone());
            let call = self.open(tool_call)?;
            let prompt = Prompt { text: task.clone(), config, ..Prompt::default() };
            let mut run = Run::new(id.into(), at, prompt);
            run.delegate = Some(Delegate {
                tool_call: tool_call.clone(),
                process: process.clone(),
                capabilities: capabilities.as_ref().and_then(texts),
                turns: *turns,
            });
            // A provider that has failed the one has failed the other.
            run.on = on;
            call.delegate = Some(Box::new(run));
            call.state = CallState::Delegated;
            return Some(());
        }
        if let Entry::Compacting { of, .. } = entry {
            return self.part_mut(of)?.sum_up(id, at, entry);
        }
        if id == self.id {
            return self.fold_own(at, entry);
        }
        let run = self.part_mut(id)?;
        run.fold_own(at, entry)?;
        let reported = match (&run.ended, &run.delegate) {
            (Some(ended), Some(delegate)) => {
                Some((delegate.tool_call.clone(), run.reported(ended, delegate)))
            }
            _ => None,
        };
        // What a summary took is in its own sums: they go with it.
        let sums_up = self.summaries.iter().any(|summary| summary.run.id == id);
        if let Some(usage) = entry.usage().filter(|_| !sums_up) {
            self.sums.add(usage);
        }
        if let Some((tool_call, (settled, source))) = reported {
            self.settle(&tool_call, settled)?;
            self.comes_from(&tool_call, source);
        }
        Some(())
    }

    /// A run begins that sums up for this one.
    fn sum_up(&mut self, id: &str, at: Millis, entry: &Entry) -> Option<()> {
        let Entry::Compacting { reason, until, turns, words, room, instructions, on, fits, .. } = entry
        else {
            return None;
        };
        if self.ended.is_some() || self.summarizes || self.summarizer().is_some() {
            return None;
        }
        let prompt = Prompt { config: self.prompt.config.clone(), ..Prompt::default() };
        let mut run = Run::new(id.into(), at, prompt);
        run.summarizes = true;
        run.on = on.clone().or_else(|| self.on.clone());
        // What was too long is not asked again.
        self.broke = None;
        let bytes = |count: &u64| usize::try_from(*count).unwrap_or(usize::MAX);
        self.summaries.push(Summary {
            reason: reason.clone(),
            until: Until { run: until.clone(), turns: bytes(turns) },
            words: bytes(words),
            room: bytes(room),
            instructions: instructions.clone(),
            after: self.turns.len(),
            calls: self.calls,
            fits: *fits == Some(true),
            run,
        });
        Some(())
    }

    /// What the run that delegates reads of this one, which has ended.
    fn reported(&self, ended: &Ended, Delegate { process, .. }: &Delegate) -> (Settled, Source) {
        let source = if self.outside { Source::External } else { Source::Workspace };
        let said = self.turns.last().map(Turn::text).unwrap_or_default();
        let (text, error) = match (ended.outcome, &ended.error) {
            (Outcome::Completed, _) => (said, None),
            (Outcome::Interrupted, _) => (String::new(), Some(interrupted(false))),
            (Outcome::Failed, error) => {
                let why = error.as_ref().map_or("", |error| &error.message);
                let error = ErrorInfo::new(
                    Code::ToolFailed,
                    format!("the {} could not finish: {why}", process.as_str()),
                );
                (said, Some(error))
            }
        };
        let text = match &error {
            None => text,
            Some(error) if text.is_empty() => error.for_model(),
            Some(error) => [&error.for_model(), "\n\nWhat it said last:\n", &text].concat(),
        };
        let ToolText { text, truncated } = ToolText::new(text);
        let cut = truncated.map(|bytes| bytes as u64);
        (Settled { text, json: false, error, cut, files: Vec::new() }, source)
    }

    fn fold_own(&mut self, at: Millis, entry: &Entry) -> Option<()> {
        if self.ended.is_some() {
            return None;
        }
        if let Some(usage) = entry.usage() {
            self.sums.add(usage);
        }
        match entry.scope() {
            Scope::Run(entry) => self.fold_turn(at, entry),
            Scope::Call(entry) => self.fold_call(at, entry),
            Scope::Session(_) | Scope::Record(_) | Scope::Conversation(_) | Scope::Queue(_) => None,
        }
    }

    /// Something has happened to the run, or in its model call.
    fn fold_turn(&mut self, at: Millis, entry: OfRun<'_>) -> Option<()> {
        match entry {
            OfRun::FilesGone { call, .. } => {
                // Twice only where the call was made in between.
                self.awaited_turn(*call).filter(|turn| !turn.unsent)?.unsent = true;
            }
            OfRun::KeyRefused { call } => {
                let turn = self.awaited_turn(*call).filter(|turn| turn.key == KeyState::First)?;
                turn.key = KeyState::Refused;
            }
            OfRun::Marked { outside } => {
                (self.outside, self.acted) = (true, self.acted || outside.has_acted())
            }
            OfRun::Reminded { memories } => self.reminded.extend(told(memories)?),
            // It begins a run, which takes it up.
            OfRun::Compacting { .. } => return None,
            OfRun::Shortened { until, turns, .. } => {
                let turns = usize::try_from(*turns).unwrap_or(usize::MAX);
                let until = Until { run: until.clone(), turns };
                self.shortened.push(Shortened { until, calls: self.calls, at });
                self.broke = None;
            }
            OfRun::OfferAsked { .. } | OfRun::OfferAnswered { .. } => self.fold_offer(entry)?,
            OfRun::Called { call } => self.fold_called(*call),
            OfRun::Answered { call, blocks, stop, provider, model, usage, .. } => {
                self.tries = 0;
                let turn = self.awaited_turn(*call)?;
                (turn.read, turn.wrote) = (usage.read(), usage.output_tokens);
                turn.lost += bytes_of(&std::mem::take(&mut turn.had));
                turn.calls = blocks.iter().filter_map(asked).list();
                turn.said = Said::Whole {
                    blocks: blocks.clone(),
                    stop: stop.clone(),
                    provider: provider.clone(),
                    model: model.clone(),
                };
            }
            OfRun::Failed { call, error, blocks, draw, shown, .. } => {
                let turn = self.awaited_turn(*call)?;
                turn.said = Said::Cut(turn.more(blocks));
                self.tries += 1;
                let (shown, began) = (!blocks.is_empty(), *shown == Some(true));
                let (error, acted) = (error.clone(), self.acted);
                self.broke = Some(Broke { error, shown, began, acted, draw: *draw, decided: false });
            }
            OfRun::Retrying { delay, .. } => {
                self.broke.as_mut()?.decided = true;
                self.again = Some(Again::At(at.saturating_add(*delay)));
            }
            OfRun::Offline {} => {
                self.broke.as_mut()?.decided = true;
                self.tries = self.tries.saturating_sub(1);
                self.again = Some(Again::Online);
            }
            OfRun::OverBudget { of, what, spent, limit } => {
                let error = budget::exceeded(of, what, *spent, *limit);
                self.ending = Some((Outcome::Failed, Some(error)));
            }
            OfRun::Due {} => {
                self.again.take()?;
            }
            OfRun::FellBack { to } => {
                self.broke.as_mut()?.decided = true;
                self.tries = 0;
                self.on = Some(to.clone());
            }
            OfRun::SentBack { error } => self.turns.last_mut()?.sent_back = Some(error.clone()),
            OfRun::Interrupted { reason, blocks, .. } => self.cut_off(blocks, *reason == StoppedBy::Timeout),
            OfRun::Lost { blocks, damaged } => {
                self.put_aside(blocks, None);
                if let Some(turn) = self.turns.last_mut() {
                    turn.damaged |= *damaged == Some(true);
                }
            }
            OfRun::Benched { blocks, calls, .. } => {
                self.put_aside(blocks, Some(&calls.as_ref().and_then(texts).unwrap_or_default()));
            }
            OfRun::Resumed {} => {
                self.wake();
            }
            OfRun::Ended { outcome, code } => self.close(Run::end_of(at, outcome.known()?, code.as_deref())),
        }
        Some(())
    }

    /// A person is asked about tools that the provider runs, or has answered. A door of the room `past`.
    #[inline(never)]
    fn fold_offer(&mut self, entry: OfRun<'_>) -> Option<()> {
        enter(Room::Past);
        let ends = self.ending.is_some();
        let offer = Rc::make_mut(self.offer.get_or_insert_default());
        match entry {
            OfRun::OfferAsked { request, tools, reason, outside } => {
                let definition =
                    |(name, text): (&String, &Value)| Some((name.clone(), text.as_str()?.to_owned()));
                let tools = tools.as_object()?.iter().map(definition).whole()?;
                if offer.asked.is_some() || ends {
                    return None;
                }
                offer.questions += 1;
                let (id, reason, outside) = (request.clone(), reason.clone(), outside.clone());
                offer.asked = Some(OfferQuestion { id, tools, reason, outside });
            }
            OfRun::OfferAnswered { request, answer } => {
                let asked = offer.asked.take().filter(|asked| asked.id == *request)?;
                let allowed = matches!(answer.known(), Some(Answer::AllowOnce | Answer::AlwaysAllow));
                offer
                    .answered
                    .extend(asked.tools.into_iter().map(|(name, _)| (name, allowed, asked.outside.clone())));
            }
            _ => return None,
        }
        Some(())
    }

    /// The model is called, or the same call is made once more.
    fn fold_called(&mut self, call: u64) {
        let again = self.makes_again(call);
        match self.turns.last_mut() {
            // With the key that it had before its files were missed.
            Some(turn) if again && turn.unsent => turn.unsent = false,
            Some(turn) if again => turn.key = KeyState::Another,
            last => {
                let mut turn = Turn::new(call);
                (self.calls, self.broke, self.acted) = (call, None, false);
                match last {
                    Some(last) if !matches!(last.said, Said::Whole { .. }) => {
                        turn.had = last.blocks().to_vec();
                        turn.damaged = last.damaged;
                        turn.lost = last.lost;
                        *last = turn;
                    }
                    _ => self.turns.push(turn),
                }
            }
        }
    }

    /// A person has answered a question about a call.
    fn fold_answer(
        &mut self,
        tool_call: &str,
        request: &str,
        denied: bool,
        word: Option<&str>,
        version: Option<u64>,
    ) -> Option<()> {
        let call = self.open(tool_call)?;
        let CallState::Waiting(question) = &call.state else { return None };
        if question.id != request {
            return None;
        }
        call.state = if denied {
            let error = call.refused(policy::denied());
            CallState::Settled(refusal(match word {
                Some(NO_ANSWER) if !call.begun => {
                    ErrorInfo::new(Code::PermissionDenied, [NO_ANSWER, "; it was not run"].concat())
                }
                Some(word) => error.hint(word),
                None => error,
            }))
        } else {
            call.answers.allowed = Some(question.definition.clone());
            call.answers.seen = Some(Seen::new(version, question.at));
            // Another question about it is another one: the tool may say something else by then.
            call.answers.explained = None;
            CallState::Allowed
        };
        Some(())
    }

    /// Something has happened to a tool call, or to the check of the answer.
    fn fold_call(&mut self, at: Millis, entry: OfCall<'_>) -> Option<()> {
        match entry {
            OfCall::Inspected { tool_call } if tool_call.is_empty() => {
                self.turns.last_mut()?.inspection = Inspection::Open;
            }
            OfCall::Validated { tool_call, error } if tool_call.is_empty() => {
                let turn = self.turns.last_mut().filter(|turn| turn.inspection == Inspection::Open)?;
                turn.inspection = Inspection::Over(error.clone());
            }
            OfCall::Inspected { tool_call } => self.open(tool_call)?.state = CallState::Inspected,
            OfCall::Validated { tool_call, error } => {
                let call = self.open(tool_call)?;
                call.answers.valid = error.is_none();
                call.state = match error {
                    None => CallState::Asked,
                    Some(error) => CallState::Settled(refusal(error.clone())),
                };
            }
            OfCall::Consulted { tool_call } => self.open(tool_call)?.state = CallState::Consulted,
            OfCall::Judged { tool_call, verdict } => {
                let call = self.open(tool_call)?;
                call.answers.judged = verdict.known();
                call.state = CallState::Asked;
            }
            OfCall::Explaining { tool_call } => self.open(tool_call)?.state = CallState::Explaining,
            OfCall::Explained { tool_call, text } => {
                let call = self.open(tool_call)?;
                call.answers.explained = Some(text.clone());
                call.state = if call.begun { CallState::Lost } else { CallState::Asked };
            }
            OfCall::PermissionAsked {
                tool_call, request, reason, definition, destination, outside, ..
            } => {
                let call = self.open(tool_call)?;
                call.questions += 1;
                call.state = CallState::Waiting(Question {
                    id: request.clone(),
                    reason: reason.clone(),
                    definition: definition.clone(),
                    destination: destination.clone(),
                    outside: outside.clone(),
                    at,
                });
            }
            OfCall::PermissionAnswered { tool_call, request, answer, reason, version } => {
                let denied = *answer == Answer::Deny;
                self.fold_answer(tool_call, request, denied, reason.as_deref(), *version)?;
            }
            OfCall::Ordered { tool_call, .. } => self.open(tool_call)?.state = CallState::Ordered,
            OfCall::Handed { tool_call, .. } => self.open(tool_call)?.state = CallState::Handed,
            OfCall::LookedUp { tool_call } => self.open(tool_call)?.state = CallState::LookedUp,
            OfCall::NotFound { tool_call } => {
                let call = self.open(tool_call)?;
                call.looked_up = true;
                call.state = CallState::Lost;
            }
            OfCall::Refused { tool_call, error } => {
                let call = self.open(tool_call)?;
                call.state = CallState::Settled(refusal(call.refused(error.clone())));
            }
            OfCall::Returned { tool_call, text, json, error, cut, files, .. } => {
                let (text, error, files) = (text.clone(), error.clone(), files.to_vec());
                self.settle(tool_call, Settled { text, json: *json, error, cut: *cut, files })?;
            }
            OfCall::Unknown { tool_call } => {
                let call = self.open(tool_call)?;
                call.state = CallState::Settled(refusal(call.refused(unknown_outcome())));
            }
            // It begins a run, which takes it up.
            OfCall::Delegated { .. } => return None,
        }
        Some(())
    }

    /// It is to end before its time, and its open calls have. `late`: because its time was over.
    fn cut_off(&mut self, blocks: &[Block], late: bool) {
        self.offer = None;
        if let Some(turn) = self.turns.last_mut() {
            match &mut turn.said {
                Said::Whole { .. } => {}
                Said::Partial(had) | Said::Cut(had) if blocks.is_empty() => {
                    turn.said = Said::Cut(std::mem::take(had));
                }
                _ => turn.said = Said::Cut(turn.more(blocks)),
            }
            for call in &mut turn.calls {
                let error = match &call.state {
                    CallState::Settled(_) => continue,
                    CallState::Ordered | CallState::Handed | CallState::Delegated => interrupted(late),
                    _ => call.refused(not_run(late)),
                };
                call.state = CallState::Settled(refusal(error));
            }
        }
        self.held = false;
        (self.again, self.broke) = (None, None);
        self.ending = Some(match late {
            true => (Outcome::Failed, Some(out_of_time())),
            false => (Outcome::Interrupted, None),
        });
    }

    /// It is over.
    fn close(&mut self, mut ended: Ended) {
        let broke = self.broke.take().map(|broke| broke.error);
        let known = self.ending.take().and_then(|(_, error)| error).or(broke);
        ended.error = ended.error.map(|error| known.unwrap_or_else(|| self.failure(error.code)));
        self.ended = Some(ended);
        self.held = false;
        // Nobody makes the call again that was lost with a page: what it had said is all there is.
        if let Some(turn) = self.turns.last_mut()
            && let Said::Partial(had) = &mut turn.said
        {
            turn.said = Said::Cut(std::mem::take(had));
        }
    }

    /// It goes on, and all that work for it.
    fn wake(&mut self) {
        self.held = false;
        self.workers_mut().for_each(Run::wake);
    }

    /// It does nothing until somebody goes on with it. `aborted`: the calls that were stopped on purpose; the others go on
    /// to their end. `None`: the page is gone, and with it all that ran there.
    fn put_aside(&mut self, blocks: &[Block], aborted: Option<&[String]>) {
        self.held = true;
        let Some(turn) = self.turns.last_mut() else { return };
        if turn.said == Said::Nothing {
            turn.said = Said::Partial(turn.more(blocks));
        }
        if turn.inspection == Inspection::Open {
            turn.inspection = Inspection::Ahead;
        }
        for call in &mut turn.calls {
            match (&call.state, aborted) {
                (CallState::Ordered, Some(aborted)) if aborted.contains(&call.id) => {
                    let allowed = call.answers.allowed.is_some();
                    call.state = if allowed { CallState::Allowed } else { CallState::Asked };
                }
                (CallState::Ordered, Some(_)) => {}
                (CallState::Ordered | CallState::LookedUp, _) => {
                    (call.state, call.begun) = (CallState::Lost, true);
                }
                (CallState::Explaining, _) if call.begun => call.state = CallState::Lost,
                (CallState::Consulted | CallState::Inspected | CallState::Explaining, _) => {
                    call.state = CallState::Asked;
                }
                _ => {}
            }
        }
    }

    /// Goes back to its `own` provider if the provider that has taken over is not `there` any more. Its delegates do the
    /// same.
    pub(crate) fn leave(&mut self, own: Option<&str>, there: &dyn Fn(&str) -> bool) {
        if self.on.as_deref().is_some_and(|on| own != Some(on) && !there(on)) {
            self.turn_to(own);
        }
        self.workers_mut().for_each(|run| run.leave(own, there));
    }

    /// This provider is asked next, also by its delegates.
    pub(crate) fn turn_to(&mut self, own: Option<&str>) {
        (self.on, self.tries) = (own.map(Into::into), 0);
        // What the other has failed at is no trouble of this one.
        if let Some(broke) = self.broke.as_mut().filter(|broke| !broke.left_something()) {
            broke.decided = true;
        }
        self.workers_mut().for_each(|run| run.turn_to(own));
    }

    /// A message enters it, before its next model call.
    pub(crate) fn steer(&mut self, steered: Steered) {
        let after = self.next_turn();
        self.steered.push(Steered { after, ..steered });
    }

    /// Its page is gone, and with it the page's own schema: from here on the JSON Schema decides.
    pub(crate) fn forget_page(&mut self) {
        if let Some(output) = &mut self.prompt.output {
            output.validate = None;
        }
    }

    /// Why a run has failed that the machine itself has ended.
    fn failure(&self, code: Code) -> ErrorInfo {
        let summary = self.summaries.last().filter(|summary| !summary.is_done_without());
        let summary = summary.and_then(|summary| summary.run.ended.as_ref()?.error.clone());
        if let Some(error) = summary.filter(|error| error.code == code) {
            return error;
        }
        let refusal = self.turns.last().and_then(|turn| match &turn.said {
            Said::Whole { stop: StopReason::Refusal(why), .. } => why.clone(),
            _ => None,
        });
        let (message, hint) = match code {
            Code::Refused => (
                refusal.unwrap_or_else(|| "the model refused to answer".into()),
                "rephrase the message, or clear the conversation",
            ),
            Code::MaxTurnsExceeded => (
                format!("the run used up its {} turns", self.turns.len()),
                "resume, send another message, or raise maxTurns",
            ),
            Code::ContextLength => (
                "the conversation fills the model's window".into(),
                "use a model with a larger window, or turn compaction on",
            ),
            Code::InvalidOutput => {
                let wrong = self.last_value().and_then(Result::err);
                let message = wrong.map(|error| error.message.clone()).unwrap_or_default();
                (message, "resume to have it asked for again")
            }
            _ if self.summarizes => {
                ("the model has summed up nothing".into(), "resume, or raise maxOutputTokens")
            }
            _ => {
                let whole = if self.prompt.output.is_some() { "was whole" } else { "said anything" };
                (["the output limit cut the answer before it ", whole].concat(), "raise maxOutputTokens")
            }
        };
        ErrorInfo::new(code, message).hint(hint)
    }

    fn awaited_turn(&mut self, call: u64) -> Option<&mut Turn> {
        self.turns.last_mut().filter(|turn| turn.call == call && turn.said == Said::Nothing)
    }

    fn open(&mut self, id: &str) -> Option<&mut Call> {
        let calls = &mut self.turns.last_mut()?.calls;
        calls.iter_mut().find(|call| call.id == id && !matches!(call.state, CallState::Settled(_)))
    }

    fn settle(&mut self, id: &str, settled: Settled) -> Option<()> {
        self.open(id)?.state = CallState::Settled(settled);
        Some(())
    }
}

pub(super) fn asked(block: &Block) -> Option<Call> {
    let Block::ToolCall { id, name, arguments } = block else { return None };
    Some(Call {
        id: id.clone(),
        name: name.clone(),
        arguments: arguments.clone(),
        state: CallState::Asked,
        source: None,
        delegate: None,
        answers: Answers::default(),
        questions: 0,
        looked_up: false,
        begun: false,
    })
}

/// Ids and texts of memories, as an entry has them.
fn told(memories: &Value) -> Option<Vec<(String, String)>> {
    let pair = |pair: &Value| match texts(pair)?.as_slice() {
        [id, text] => Some((id.clone(), text.clone())),
        _ => None,
    };
    memories.as_array()?.iter().map(pair).whole()
}
