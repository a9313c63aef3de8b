//! The fold and the next decision.

use super::budget::{self, Budget};
use super::output::Output;
use super::retry::Broke;
use crate::error::{Code, ErrorInfo};
use crate::journal::{
    Answer, AskReason, Entry, OfCall, OfRun, Outcome, Process, Scope, Spender, StoppedBy, Sums, Word,
};
use crate::json::{json, texts};
use crate::list::Listed;
use crate::model::errors::refuses_key;
use crate::model::{Block, StopReason};
use crate::object::Object;
use crate::ports::Millis;
use crate::tools::policy;
use crate::tools::schema::Repair;
use crate::tools::{
    Answers, Checked, Facts, OnResume, Origin, Permit, Policy, Source, ToolText, Wanted, decide, gate,
};
use serde_json::Value;
use std::borrow::Cow;

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

/// What makes a run another's delegate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegate {
    /// The tool call that it carries out.
    pub tool_call: String,
    /// The process type that it works as.
    pub process: Word<Process>,
    /// What it may hold at most; `None`: all that the run that delegates holds.
    pub capabilities: Option<Vec<String>>,
    /// How many model calls it may make.
    pub turns: u64,
}

/// A question to a person about a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// Why it is asked.
    pub reason: Word<AskReason>,
    /// The tool's definition that the answer is for.
    pub definition: String,
}

/// Why a question that has a time limit is answered no.
pub const NO_ANSWER: &str = "nobody answered in time";

/// The message that began the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The message's id.
    pub message: String,
    /// What the person said.
    pub text: String,
    /// What the page added for the model.
    pub context: Option<String>,
    /// The page's own notes.
    pub metadata: Option<Value>,
    /// The page's idempotency key.
    pub idempotency: Option<String>,
    /// The failed run before it that it goes on with: then there is no message of a person.
    pub continues: Option<String>,
    /// The files that came with it, each a [`Block::File`].
    pub files: Vec<Block>,
    /// What the answer has to be.
    pub output: Option<Output>,
    /// The first version of the person's message, where there was one before this.
    pub first: Option<String>,
    /// The person's message that it answers where that came before it, and when: an earlier run has answered it already,
    /// or has failed to.
    pub answers: Option<(String, Millis)>,
    /// What has left the conversation for it.
    pub replaces: Option<String>,
}

/// A message that has entered a run at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steered {
    /// How many turns of the run stand before it.
    pub after: usize,
    /// When.
    pub at: Millis,
    /// The run that it would have begun otherwise, and when it was queued.
    pub queued: (String, Millis),
    /// What the person said.
    pub prompt: Prompt,
}

/// What the model has said in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing yet: the answer is awaited.
    Nothing,
    /// The page went away in the middle; the same call can be made again.
    Partial(Vec<Block>),
    /// It broke off for good.
    Cut(Vec<Block>),
    /// All of it.
    Whole {
        /// The blocks.
        blocks: Vec<Block>,
        /// Why it stopped.
        stop: StopReason,
        /// Who has answered: [`Peer::name`](crate::model::Peer).
        provider: String,
        /// The model's name for itself.
        model: Option<String>,
    },
}

impl Said {
    /// The blocks there are.
    pub fn blocks(&self) -> &[Block] {
        match self {
            Said::Nothing => &[],
            Said::Partial(blocks) | Said::Cut(blocks) | Said::Whole { blocks, .. } => blocks,
        }
    }
}

/// How a tool call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// What the model reads.
    pub text: String,
    /// Whether `text` is the JSON of the result; else it is the result itself.
    pub json: bool,
    /// Why it failed, if it did.
    pub error: Option<ErrorInfo>,
    /// How many bytes were cut off.
    pub cut: Option<u64>,
}

/// Where a tool call stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallState {
    /// The model has asked for it.
    Asked,
    /// The page's own schema is asked about its arguments.
    Inspected,
    /// The page's `decide` is asked about it.
    Consulted,
    /// A person is asked about it.
    Waiting(Question),
    /// A person has allowed it.
    Allowed,
    /// It was ordered and has not come back.
    Ordered,
    /// Another run carries it out.
    Delegated,
    /// Someone will answer it by `tools.resolve`.
    Handed,
    /// The tool is asked whether it took effect before the page went away.
    LookedUp,
    /// It was ordered, and the page went away before it came back.
    Lost,
    /// It is over.
    Settled(Settled),
}

impl CallState {
    /// Whether its tool has not begun.
    pub fn is_ahead(&self) -> bool {
        matches!(
            self,
            CallState::Asked
                | CallState::Inspected
                | CallState::Consulted
                | CallState::Waiting(_)
                | CallState::Allowed
        )
    }
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its id, unique in the session.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
    /// Where it stands.
    pub state: CallState,
    /// Where the result comes from; `None`: no tool has said it.
    pub source: Option<Source>,
    /// The run that carries it out, if one does.
    pub delegate: Option<Box<Run>>,
    /// What has been answered about it.
    answers: Answers,
    /// How often a person was asked about it.
    questions: u64,
    /// The tool does not know what became of it.
    looked_up: bool,
    /// Its tool was at work when a page was lost.
    begun: bool,
}

impl Call {
    /// Why it is not run. If it had begun before its page was lost, its outcome is unknown: that is said in place of the
    /// reason why it is not run again.
    fn refused(&self, error: ErrorInfo) -> ErrorInfo {
        if !self.begun || error.code == Code::ToolFailed {
            return error;
        }
        let mut unknown = unknown_outcome();
        unknown.message.push_str("; it was not run again");
        unknown
    }
}

/// One model call and the tool calls that it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which model call of the run, from 1.
    pub call: u64,
    /// What the model has said.
    pub said: Said,
    /// What it had said the last time, when the page went away in the middle: shown until this time says something, and
    /// kept when this time comes to less.
    pub had: Vec<Block>,
    /// The tool calls of a whole answer, in its order.
    pub calls: Vec<Call>,
    /// How many bytes it had said besides that were not kept: an output counts them.
    pub lost: u64,
    /// Why the answer was sent back to the model, if it was.
    pub sent_back: Option<ErrorInfo>,
    /// What the page's own schema has said of the answer.
    inspection: Inspection,
    /// How the key has fared that a function of the page has given for the call.
    key: KeyState,
}

/// How a key has fared that a function of the page has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyState {
    /// Nothing is known against it.
    First,
    /// It was refused, and the call is to be made with another one.
    Refused,
    /// The call was made with another one.
    Another,
}

/// How far a page's own schema has come with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Inspection {
    /// It was not asked.
    Ahead,
    /// It is asked.
    Open,
    /// It has said what is wrong, or that nothing is.
    Over(Option<ErrorInfo>),
}

impl Turn {
    /// A model call that nothing has come of yet.
    fn new(call: u64) -> Turn {
        Turn {
            call,
            said: Said::Nothing,
            had: Vec::new(),
            calls: Vec::new(),
            lost: 0,
            sent_back: None,
            inspection: Inspection::Ahead,
            key: KeyState::First,
        }
    }

    /// The blocks there are, of this time or the last.
    pub fn blocks(&self) -> &[Block] {
        match &self.said {
            Said::Nothing => &self.had,
            said => said.blocks(),
        }
    }

    /// Whether the model has said all of it.
    pub fn answered(&self) -> bool {
        matches!(self.said, Said::Whole { .. })
    }

    /// The text of it.
    fn text(&self) -> String {
        let mut text = String::new();
        self.add_text(&mut text);
        text
    }

    fn add_text(&self, text: &mut String) {
        for block in self.blocks() {
            if let Block::Text(more) = block {
                text.push_str(more);
            }
        }
    }

    /// What came this time or what came the last time: the one with more words.
    fn more(&mut self, blocks: &[Block]) -> Vec<Block> {
        let said = |blocks: &[Block]| blocks.iter().map(Block::said_len).sum::<usize>();
        let had = std::mem::take(&mut self.had);
        let keeps = said(&had) > said(blocks);
        self.lost += bytes_of(if keeps { blocks } else { &had });
        if keeps { had } else { blocks.to_vec() }
    }
}

/// How many bytes of text and thinking these have.
fn bytes_of(blocks: &[Block]) -> u64 {
    blocks.iter().filter_map(Block::words).map(|words| words.len() as u64).sum()
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Millis,
    /// How.
    pub outcome: Outcome,
    /// Why it failed.
    pub error: Option<ErrorInfo>,
}

impl Ended {
    /// The same without what may quote the conversation.
    pub fn without_words(mut self) -> Ended {
        self.error = self.error.map(|error| wordless(error.code));
        self
    }
}

fn wordless(code: Code) -> ErrorInfo {
    ErrorInfo::new(code, "the words went with the conversation")
}

/// A run: the fold of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// When it began.
    pub started_at: Millis,
    /// What began it.
    pub prompt: Prompt,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// The messages that have entered it since.
    pub steered: Vec<Steered>,
    /// Whether it does nothing until someone goes on with it.
    pub held: bool,
    /// Its end, once there is one.
    pub ended: Option<Ended>,
    /// What it has used up, with those that worked for it.
    pub sums: Sums,
    /// What it works for, if another run has begun it.
    pub delegate: Option<Delegate>,
    /// How long it and those that worked for it have worked or waited, in milliseconds; not how long it was held.
    pub worked_ms: Millis,
    /// When its last entry was made, or one of those that worked for it.
    last_at: Millis,
    /// Whether it has read text from outside.
    pub outside: bool,
    /// Whether it was over before its session began: nobody here has worked on it.
    pub adopted: bool,
    /// The name of the provider that is asked: the session's own, or one that has taken over; `None`: the one of all.
    pub on: Option<String>,
    /// When the model is asked again that has failed.
    pub again_at: Option<Millis>,
    /// How often the provider was asked for the present answer.
    tries: u64,
    /// The model call that has failed last, until the model is called again.
    broke: Option<Broke>,
    /// Why the next decision is to end it.
    ending: Option<(Outcome, Option<ErrorInfo>)>,
    /// How many model calls it has made, given-up ones too.
    calls: u64,
}

impl Run {
    /// A run that a prompt has just begun.
    pub fn new(id: String, started_at: Millis, prompt: Prompt) -> Run {
        Run {
            id,
            started_at,
            prompt,
            turns: Vec::new(),
            steered: Vec::new(),
            held: false,
            ended: None,
            sums: Sums::default(),
            delegate: None,
            worked_ms: 0,
            last_at: started_at,
            outside: false,
            adopted: false,
            on: None,
            again_at: None,
            tries: 0,
            broke: None,
            ending: None,
            calls: 0,
        }
    }

    /// The same run once it is over, where its session begins with it. `ends`: how its tool calls ended, in their order.
    /// `None`: there are more or fewer of them.
    pub(crate) fn over(
        mut self,
        blocks: &[Block],
        ends: Vec<Settled>,
        ended: Ended,
        model: Option<&str>,
    ) -> Option<Run> {
        let mut ends = ends.into_iter();
        for block in blocks {
            let call = asked(block);
            // Results stand between a call and what is said after it.
            if self.turns.last().is_none_or(|turn| call.is_none() && !turn.calls.is_empty()) {
                self.calls += 1;
                self.turns.push(Turn::new(self.calls));
            }
            let turn = self.turns.last_mut()?;
            let mut said = match std::mem::replace(&mut turn.said, Said::Nothing) {
                Said::Whole { blocks, .. } => blocks,
                _ => Vec::new(),
            };
            said.push(block.clone());
            if let Some(mut call) = call {
                call.state = CallState::Settled(ends.next()?);
                call.source = Some(Source::External);
                self.outside = true;
                turn.calls.push(call);
            }
            turn.said = Said::Whole {
                blocks: said,
                stop: if turn.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse },
                provider: String::new(),
                model: model.map(Into::into),
            };
        }
        self.adopted = true;
        self.ended = Some(ended);
        ends.next().is_none().then_some(self)
    }

    /// The end that an `ended` entry tells of, where nothing else of the run is left.
    pub fn ended_by(at: Millis, entry: &Entry) -> Option<Ended> {
        match entry {
            Entry::Ended { outcome, code } => Some(Run::end_of(at, outcome.known()?, code.as_deref())),
            _ => None,
        }
    }

    fn end_of(at: Millis, outcome: Outcome, code: Option<&str>) -> Ended {
        let code = code.and_then(Code::parse);
        Ended { at, outcome, error: code.map(wordless) }
    }

    /// Whether it works: it has not ended and nobody needs to do anything.
    pub fn working(&self) -> bool {
        self.ended.is_none() && !self.held && !self.waiting()
    }

    /// Whether it has ended because something failed.
    pub fn has_failed(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.outcome == Outcome::Failed)
    }

    /// Whether it does nothing until a person answers.
    pub fn waiting(&self) -> bool {
        let asked = |call: &Call| match call.state {
            CallState::Waiting(_) | CallState::Handed => true,
            CallState::Delegated => call.delegate.as_ref().is_some_and(|run| run.waiting()),
            _ => false,
        };
        if self.ended.is_some() || self.held || self.ending.is_some() {
            return false;
        }
        let mut waits = false;
        for call in self.calls() {
            match call.state {
                _ if asked(call) => waits = true,
                CallState::Asked | CallState::Settled(_) => {}
                _ => return false,
            }
        }
        waits
    }

    /// The questions that no person has answered yet, of its own calls.
    pub fn questions(&self) -> Vec<(&Call, &Question)> {
        let mut questions = Vec::new();
        for call in self.calls() {
            if let CallState::Waiting(question) = &call.state {
                questions.push((call, question));
            }
        }
        questions
    }

    /// The runs that work for it now.
    pub fn delegates(&self) -> Vec<&Run> {
        let at_work = |call: &&Call| call.state == CallState::Delegated;
        self.calls().iter().filter(at_work).filter_map(|call| call.delegate.as_deref()).list()
    }

    /// What it may do, where its session may do this.
    pub fn policy<'a>(&self, of: &'a Policy) -> Cow<'a, Policy> {
        match &self.delegate {
            Some(delegate) => {
                Cow::Owned(of.delegated(delegate.process.known(), delegate.capabilities.as_deref()))
            }
            None => Cow::Borrowed(of),
        }
    }

    /// The run and those that work for it now.
    pub fn parts(&self) -> Vec<&Run> {
        let mut parts = self.delegates();
        parts.insert(0, self);
        parts
    }

    /// The run and all that ever worked for it.
    pub fn all(&self) -> Vec<&Run> {
        let mut all = vec![self];
        for turn in &self.turns {
            for call in &turn.calls {
                if let Some(delegate) = &call.delegate {
                    all.push(delegate);
                }
            }
        }
        all
    }

    /// The run or one that works for it now, by its id.
    pub(crate) fn part_mut(&mut self, id: &str) -> Option<&mut Run> {
        if self.id == id {
            return Some(self);
        }
        let calls = &mut self.turns.last_mut()?.calls;
        calls.iter_mut().filter_map(|call| call.delegate.as_deref_mut()).find(|run| run.id == id)
    }

    /// Why the model call has failed that is made again.
    pub fn trouble(&self) -> Option<&ErrorInfo> {
        self.broke.as_ref().map(|broke| &broke.error)
    }

    /// The message of a person that it answers, and when that was said.
    pub fn message(&self) -> (&str, Millis) {
        match &self.prompt.answers {
            Some((message, at)) => (message, *at),
            None => (&self.prompt.message, self.started_at),
        }
    }

    /// The id of the assistant's message, known from the beginning.
    pub fn answer_id(&self) -> String {
        answer_id(&self.prompt.message)
    }

    /// Whether the assistant's message has this id.
    pub(crate) fn is_answer(&self, id: &str) -> bool {
        id.strip_suffix(ANSWER) == Some(&self.prompt.message)
    }

    /// The model call that is awaited.
    pub fn awaited(&self) -> Option<u64> {
        let turn = self.turns.last()?;
        (self.working() && turn.said == Said::Nothing).then_some(turn.call)
    }

    /// Whether the key of this model call, which came to this error, is asked for once more. It is where a function of the
    /// page has given it, one time a call.
    pub fn asks_for_another_key(&self, call: u64, error: &ErrorInfo) -> bool {
        let awaits = |turn: &Turn| turn.call == call && turn.key == KeyState::First;
        self.awaited() == Some(call) && self.turns.last().is_some_and(awaits) && refuses_key(error)
    }

    /// Whether the model call that is awaited needs another key than its first, which was refused.
    pub fn needs_another_key(&self) -> bool {
        self.turns.last().is_some_and(|turn| turn.key == KeyState::Another)
    }

    /// How many parts the assistant's message shows before its last turn.
    pub fn shown_before_last(&self) -> usize {
        let before = self.turns.split_last().map(|(_, before)| before).unwrap_or_default();
        let mut shown = 0;
        for turn in before {
            shown += turn.blocks().iter().filter(|block| block.is_shown()).count();
        }
        shown
    }

    /// The tool call with this id.
    pub fn call(&self, id: &str) -> Option<&Call> {
        self.turns.iter().rev().find_map(|turn| turn.calls.iter().find(|call| call.id == id))
    }

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

    /// The tool calls of the last turn: only they can be open.
    pub fn calls(&self) -> &[Call] {
        self.turns.last().map(|turn| turn.calls.as_slice()).unwrap_or_default()
    }

    /// The tool calls that are not over.
    pub fn open_calls(&self) -> Vec<&Call> {
        self.calls().iter().filter(|call| !matches!(call.state, CallState::Settled(_))).list()
    }

    /// The text of all answers together, as the page gets it at the end.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for turn in &self.turns {
            turn.add_text(&mut text);
        }
        text
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
            let on = self.on.clone();
            let call = self.open(tool_call)?;
            let prompt = Prompt { text: task.clone(), ..Prompt::default() };
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
        if let Some(usage) = entry.usage() {
            self.sums.add(usage);
        }
        if let Some((tool_call, (settled, source))) = reported {
            self.settle(&tool_call, settled)?;
            self.comes_from(&tool_call, source);
        }
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
        (Settled { text, json: false, error, cut: truncated.map(|bytes| bytes as u64) }, source)
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
            Scope::Call(entry) => self.fold_call(entry),
            Scope::Session(_) | Scope::Record(_) | Scope::Conversation(_) | Scope::Queue(_) => None,
        }
    }

    /// Something has happened to the run, or in its model call.
    fn fold_turn(&mut self, at: Millis, entry: OfRun<'_>) -> Option<()> {
        match entry {
            OfRun::Called { call } if self.makes_again(*call) => {
                self.turns.last_mut()?.key = KeyState::Another;
            }
            OfRun::KeyRefused { call } => {
                let turn = self.awaited_turn(*call).filter(|turn| turn.key == KeyState::First)?;
                turn.key = KeyState::Refused;
            }
            OfRun::Called { call } => {
                let mut turn = Turn::new(*call);
                self.calls = *call;
                self.broke = None;
                match self.turns.last_mut() {
                    Some(last) if !matches!(last.said, Said::Whole { .. }) => {
                        turn.had = last.blocks().to_vec();
                        turn.lost = last.lost;
                        *last = turn;
                    }
                    _ => self.turns.push(turn),
                }
            }
            OfRun::Answered { call, blocks, stop, provider, model, .. } => {
                self.tries = 0;
                let turn = self.awaited_turn(*call)?;
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
                let shown = !blocks.is_empty() || *shown == Some(true);
                self.broke = Some(Broke { error: error.clone(), shown, draw: *draw, decided: false });
            }
            OfRun::Retrying { delay, .. } => {
                self.broke.as_mut()?.decided = true;
                self.again_at = Some(at.saturating_add(*delay));
            }
            OfRun::OverBudget { of, what, spent, limit } => {
                let error = budget::exceeded(of, what, *spent, *limit);
                self.ending = Some((Outcome::Failed, Some(error)));
            }
            OfRun::Due {} => {
                self.again_at.take()?;
            }
            OfRun::FellBack { to } => {
                self.broke.as_mut()?.decided = true;
                self.tries = 0;
                self.on = Some(to.clone());
            }
            OfRun::SentBack { error } => self.turns.last_mut()?.sent_back = Some(error.clone()),
            OfRun::Interrupted { reason, blocks, .. } => self.cut_off(blocks, *reason == StoppedBy::Timeout),
            OfRun::Lost { blocks } => self.put_aside(blocks, None),
            OfRun::Benched { blocks, calls, .. } => {
                self.put_aside(blocks, Some(&calls.as_ref().and_then(texts).unwrap_or_default()));
            }
            OfRun::Resumed {} => {
                self.held = false;
                if let Some(turn) = self.turns.last_mut() {
                    for run in turn.calls.iter_mut().filter_map(|call| call.delegate.as_deref_mut()) {
                        run.held = false;
                    }
                }
            }
            OfRun::Ended { outcome, code } => self.close(Run::end_of(at, outcome.known()?, code.as_deref())),
        }
        Some(())
    }

    /// Something has happened to a tool call, or to the check of the answer.
    fn fold_call(&mut self, entry: OfCall<'_>) -> Option<()> {
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
            OfCall::PermissionAsked { tool_call, request, reason, definition, .. } => {
                let call = self.open(tool_call)?;
                call.questions += 1;
                call.state = CallState::Waiting(Question {
                    id: request.clone(),
                    reason: reason.clone(),
                    definition: definition.clone(),
                });
            }
            OfCall::PermissionAnswered { tool_call, request, answer, reason } => {
                let call = self.open(tool_call)?;
                let CallState::Waiting(question) = &call.state else { return None };
                if question.id != *request {
                    return None;
                }
                call.state = if *answer == Answer::Deny {
                    let error = call.refused(policy::denied());
                    CallState::Settled(refusal(match reason.as_deref() {
                        Some(NO_ANSWER) if !call.begun => {
                            ErrorInfo::new(Code::PermissionDenied, [NO_ANSWER, "; it was not run"].concat())
                        }
                        Some(word) => error.hint(word),
                        None => error,
                    }))
                } else {
                    call.answers.allowed = Some(question.definition.clone());
                    CallState::Allowed
                };
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
            OfCall::Returned { tool_call, text, json, error, cut } => {
                let settled = Settled { text: text.clone(), json: *json, error: error.clone(), cut: *cut };
                self.settle(tool_call, settled)?;
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
        (self.again_at, self.broke) = (None, None);
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
                (CallState::Consulted | CallState::Inspected, _) => call.state = CallState::Asked,
                _ => {}
            }
        }
    }

    /// Whether it is held, and what it awaits cannot come any more once its page is gone.
    pub fn hangs(&self) -> bool {
        self.held && self.calls().iter().any(|call| call.state == CallState::Ordered)
    }

    /// When its last entry was made, or one of those that worked for it.
    pub fn heard_at(&self) -> Millis {
        self.last_at
    }

    /// When it will have worked or waited this long, if it is not held.
    pub fn after(&self, ms: Millis) -> Millis {
        self.last_at.saturating_add(ms.saturating_sub(self.worked_ms))
    }

    /// Goes back to its `own` provider if the provider that has taken over is not `there` any more. Its delegates do the
    /// same.
    pub(crate) fn leave(&mut self, own: Option<&str>, there: &dyn Fn(&str) -> bool) {
        if self.on.as_deref().is_some_and(|on| own != Some(on) && !there(on)) {
            (self.on, self.tries) = (own.map(Into::into), 0);
            // What that one has failed at is no trouble of the first.
            if let Some(broke) = self.broke.as_mut().filter(|broke| !broke.shown) {
                broke.decided = true;
            }
        }
        for call in self.turns.last_mut().map(|turn| turn.calls.as_mut_slice()).unwrap_or_default() {
            if let Some(run) = &mut call.delegate {
                run.leave(own, there);
            }
        }
    }

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
        if self.held {
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

    /// The number of the turn that a message comes before if it enters now. A call that came to nothing is made again, so
    /// its turn is this one.
    fn next_turn(&self) -> usize {
        let again = self.turns.last().is_some_and(|turn| !turn.answered());
        self.turns.len() - usize::from(again)
    }

    /// Whether a message has entered it since the model was called last.
    fn is_steered(&self) -> bool {
        self.steered.last().is_some_and(|steered| steered.after == self.next_turn())
    }

    /// Whether a message may enter it: one for each model call, where another can be made, and not in the middle of what
    /// its provider has only paused.
    fn can_be_steered(&self, rules: &Rules<'_>) -> bool {
        let whole = self.turns.iter().rev().find_map(|turn| match &turn.said {
            Said::Whole { stop, .. } => Some(stop),
            _ => None,
        });
        rules.steering.is_some()
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

    /// A message enters it, before its next model call.
    pub(crate) fn steer(&mut self, steered: Steered) {
        let after = self.next_turn();
        self.steered.push(Steered { after, ..steered });
    }

    fn next_own(&self, rules: &Rules<'_>) -> Option<Entry> {
        if let Some((outcome, error)) = &self.ending {
            return Some(end(*outcome, error.as_ref().map(|error| error.code)));
        }
        if let Some(broke) = self.broke.as_ref().filter(|broke| !broke.decided) {
            return Some(self.next_of_broken(broke, rules));
        }
        if self.again_at.is_some() {
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

    /// The value of the last answer, or what is wrong with it, as far as that is known. `None`: there is none.
    pub(crate) fn last_value(&self) -> Option<Result<Value, ErrorInfo>> {
        let turn = self.turns.last()?;
        // What the page's own schema has said holds, also when it is gone.
        let elsewhere = match &turn.inspection {
            Inspection::Over(Some(error)) => return Some(Err(error.clone())),
            said => matches!(said, Inspection::Over(None)),
        };
        self.prompt.output.as_ref().map(|output| output.value(turn.blocks(), elsewhere))
    }

    /// The value of its answer, where that has a schema and fits it.
    pub fn value(&self) -> Option<Value> {
        let completed = self.ended.as_ref()?.outcome == Outcome::Completed;
        self.last_value()?.ok().filter(|_| completed)
    }

    /// Its page is gone, and with it the page's own schema: from here on the JSON Schema decides.
    pub(crate) fn forget_page(&mut self) {
        if let Some(output) = &mut self.prompt.output {
            output.validate = None;
        }
    }

    /// What follows from a model call that came to nothing: another try, another provider, or the end.
    fn next_of_broken(&self, broke: &Broke, rules: &Rules<'_>) -> Entry {
        if let Some(delay) = broke.wait(self.tries) {
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

    /// Why a run has failed that the machine itself has ended.
    fn failure(&self, code: Code) -> ErrorInfo {
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
                "clear the conversation, or use a model with a larger window",
            ),
            Code::InvalidOutput => {
                let wrong = self.last_value().and_then(Result::err);
                let message = wrong.map(|error| error.message.clone()).unwrap_or_default();
                (message, "resume to have it asked for again")
            }
            _ => {
                let whole = if self.prompt.output.is_some() { "was whole" } else { "said anything" };
                (["the output limit cut the answer before it ", whole].concat(), "raise maxOutputTokens")
            }
        };
        ErrorInfo::new(code, message).hint(hint)
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
        let delegated = turn.calls.iter().filter(|call| call.state == CallState::Delegated).count() as u64;
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
            lost: call.state == CallState::Lost,
        };
        match decide(&wanted, &rules.facts) {
            Permit::Refuse(error) => Entry::Refused { tool_call, error },
            Permit::Inspect { .. } => Entry::Inspected { tool_call },
            Permit::Consult(..) => Entry::Consulted { tool_call },
            Permit::Ask { reason, arguments, definition } => {
                let request = format!("ask_{tool_call}_{}", call.questions + 1);
                Entry::PermissionAsked { tool_call, request, reason: reason.into(), arguments, definition }
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

    fn awaited_turn(&mut self, call: u64) -> Option<&mut Turn> {
        self.turns.last_mut().filter(|turn| turn.call == call && turn.said == Said::Nothing)
    }

    /// Whether this model call is to be made once more, because its key was refused.
    fn makes_again(&self, call: u64) -> bool {
        let refused = |turn: &Turn| turn.said == Said::Nothing && turn.key == KeyState::Refused;
        self.turns.last().is_some_and(|turn| turn.call == call && refused(turn))
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

/// The id of the assistant's message that answers the message with this id.
pub(crate) fn answer_id(message: &str) -> String {
    [message, ANSWER].concat()
}

/// What stands behind the message's id in its answer's.
const ANSWER: &str = "_a";

fn asked(block: &Block) -> Option<Call> {
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

/// Why the tool calls of an answer that stopped like this are not run.
fn not_wanted(stop: &StopReason) -> Option<ErrorInfo> {
    match stop {
        StopReason::MaxTokens => {
            let why = "the answer was cut at the output limit, so this call was not run";
            Some(ErrorInfo::new(Code::InvalidArguments, why).hint("send the call again, shorter"))
        }
        StopReason::Refusal(_) => {
            let why = "the model refused to go on, so this call was not run";
            Some(ErrorInfo::new(Code::Refused, why))
        }
        _ => None,
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
        Origin::Page | Origin::Host(_) | Origin::Skill => Entry::Ordered { tool_call, repairs },
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

fn refusal(error: ErrorInfo) -> Settled {
    Settled { text: error.for_model(), json: false, error: Some(error), cut: None }
}

/// What has stopped a call. `late`: the time of its run was over.
fn stopped(late: bool, when: &str) -> ErrorInfo {
    let who = if late { "the run's time was over" } else { "the person interrupted the run" };
    ErrorInfo::new(Code::ToolInterrupted, [who, " before this call ", when].concat())
}

fn not_run(late: bool) -> ErrorInfo {
    stopped(late, "began; it was not run")
}

fn interrupted(late: bool) -> ErrorInfo {
    stopped(late, "had ended").hint("it may or may not have taken effect")
}

/// Why a call is not run where a message enters its run.
fn skipped() -> ErrorInfo {
    ErrorInfo::new(Code::ToolInterrupted, "Skipped due to queued user message")
}

fn out_of_time() -> ErrorInfo {
    let mut error = ErrorInfo::new(Code::Timeout, "the run did not end within its time");
    error.provider.retry = Some(false);
    error.hint("resume it, or raise timeouts.runMs")
}

fn unknown_outcome() -> ErrorInfo {
    ErrorInfo::new(Code::UnknownOutcome, "the page closed while this call ran, so its outcome is unknown")
        .hint("check whether it took effect before you call it again")
}
