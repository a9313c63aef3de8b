//! A run: what it is, and what is asked of it.
//!
//! Decides what of a run, its turns and its tool calls is kept. Promises: a run is its entries and nothing besides, so it
//! stands after a reload where it stood. Leaves to others: what an entry makes of it (`fold`), which entry comes next
//! (`next`), and how a call that did not run is told to the model (`reasons`).

mod fold;
mod next;
mod reasons;

pub use next::{Budgets, Rules};

use crate::error::{Code, ErrorInfo};
use crate::journal::{AskReason, CompactReason, Entry, Outcome, Outside, Process, Sums, Word};
use crate::list::Listed;
use crate::model::errors::refuses_key;
use crate::model::{Block, StopReason};
use crate::ports::Millis;
use crate::run::output::Output;
use crate::run::retry::{Again, Broke};
use crate::tools::{Answers, Policy, Source};
use fold::asked;
use reasons::unknown_outcome;
use serde_json::Value;
use std::borrow::Cow;
use std::rc::Rc;

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
    /// The SHA-256 of the arguments that say where the call sends something, if its tool names them.
    pub destination: Option<String>,
    /// Where the text from outside comes from that may have asked for the call.
    pub outside: Outside,
    /// When it is asked.
    pub at: Millis,
}

/// A question to a person whether tools that the provider runs may be offered in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferQuestion {
    /// Its id.
    pub id: String,
    /// The names of the tools, each with the SHA-256 of how it is offered.
    pub tools: Vec<(String, String)>,
    /// Why it is asked.
    pub reason: Word<AskReason>,
    /// Where the text from outside comes from that no such tool has brought.
    pub outside: Outside,
}

/// What a person has said of the tools that the provider runs, in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// How often a person was asked.
    pub questions: u64,
    /// What is asked now.
    pub asked: Option<OfferQuestion>,
    /// The names that were asked about, each with whether it was allowed, and for text from where.
    pub answered: Vec<(String, bool, Outside)>,
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
    /// Whether the page vouches for that and for the files.
    pub trusted: bool,
    /// The page's own notes.
    pub metadata: Option<Value>,
    /// The page's idempotency key.
    pub idempotency: Option<String>,
    /// The run before it that it goes on with: then there is no message of a person.
    pub continues: Option<String>,
    /// It asks no model to answer, and has what was said before it summed up: what matters, if that was said.
    pub compacts: Option<Option<String>>,
    /// The files that came with it, each a [`Block::File`].
    pub files: Vec<Block>,
    /// What the answer has to be.
    pub output: Option<Output>,
    /// What it has otherwise than its session.
    pub config: Option<Value>,
    /// The first version of the person's message, where there was one before this.
    pub first: Option<String>,
    /// The person's message that it answers where that came before it, and when: an earlier run has answered it already,
    /// or has failed to.
    pub answers: Option<(String, Millis)>,
    /// What has left the conversation for it.
    pub replaces: Option<String>,
}

impl Prompt {
    /// The run whose answer it has made again or goes on with.
    pub fn goes_on_with(&self) -> Option<&str> {
        self.continues.as_deref().filter(|_| self.compacts.is_none())
    }
}

/// A place in a conversation: behind its runs before this one, and behind so many turns of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Until {
    /// The run's id.
    pub run: String,
    /// How many of its turns are before the place.
    pub turns: usize,
}

/// What was said before a place, summed up by a run of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Why.
    pub reason: Word<CompactReason>,
    /// Up to where.
    pub until: Until,
    /// How many bytes of what the person has said before stay word for word, the newest.
    pub words: usize,
    /// How many bytes of the conversation its model is sent.
    pub room: usize,
    /// What matters.
    pub instructions: Option<String>,
    /// How many turns the run had that waits for it.
    pub after: usize,
    /// How many model calls that run had made.
    pub calls: u64,
    /// Whether that run goes on without it where it fails: there is room for its request as it is.
    pub fits: bool,
    /// The run that sums up.
    pub run: Run,
}

/// Where results of tool calls began to be left out of what is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// Up to where they are.
    pub until: Until,
    /// How many model calls the run had made.
    pub calls: u64,
    /// When.
    pub at: Millis,
}

impl Summary {
    /// Whether it is there.
    pub fn is_whole(&self) -> bool {
        self.run.ended.as_ref().is_some_and(|ended| ended.outcome == Outcome::Completed)
    }

    /// Whether it was not made, and its run goes on without it. One whose own request was too long is made of less.
    pub fn is_done_without(&self) -> bool {
        let error = self.run.ended.as_ref().and_then(|ended| ended.error.as_ref());
        self.fits && error.is_some_and(|error| error.code != Code::ContextLength)
    }

    /// Its text, once it is there.
    pub fn text(&self) -> Option<String> {
        self.is_whole().then(|| self.run.turns.last().map(Turn::text).unwrap_or_default())
    }
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
    /// The files that it gave.
    pub files: Vec<Block>,
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
    /// The tool is asked what a person is asked about.
    Explaining,
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
                | CallState::Explaining
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
    pub(crate) answers: Answers,
    /// How often a person was asked about it.
    questions: u64,
    /// The tool does not know what became of it.
    looked_up: bool,
    /// Its tool was at work when a page was lost.
    begun: bool,
}

impl Call {
    /// The files that its tool gave.
    pub fn files(&self) -> &[Block] {
        match &self.state {
            CallState::Settled(settled) => &settled.files,
            _ => &[],
        }
    }

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
    /// Whether what is kept of an answer that was lost with its page ends early, because its drafts were damaged.
    damaged: bool,
    /// How many bytes it had said besides that were not kept: an output counts them.
    pub lost: u64,
    /// How many tokens its model has read; 0: nobody has counted.
    pub read: u64,
    /// How many it has written.
    pub wrote: u64,
    /// Why the answer was sent back to the model, if it was.
    pub sent_back: Option<ErrorInfo>,
    /// What the page's own schema has said of the answer.
    inspection: Inspection,
    /// How the key has fared that a function of the page has given for the call.
    key: KeyState,
    /// Files were gone that the call would have sent: it is to be made without them.
    unsent: bool,
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
            damaged: false,
            lost: 0,
            read: 0,
            wrote: 0,
            sent_back: None,
            inspection: Inspection::Ahead,
            key: KeyState::First,
            unsent: false,
        }
    }

    /// The blocks there are, of this time or the last.
    pub fn blocks(&self) -> &[Block] {
        match &self.said {
            Said::Nothing => &self.had,
            said => said.blocks(),
        }
    }

    /// Whether what it shows ends early, because drafts were damaged.
    pub fn ends_early(&self) -> bool {
        self.damaged && !self.answered()
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
        // The mark goes with the words.
        self.damaged &= keeps || blocks.is_empty();
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
    /// What it has used up, with its delegates: [`Run::spent`] has the summaries too.
    pub sums: Sums,
    /// What it works for, if another run has begun it.
    pub delegate: Option<Delegate>,
    /// Whether it sums up what was said before, for another run.
    pub summarizes: bool,
    /// What its model is told from memory beside the message: ids and texts.
    pub reminded: Vec<(String, String)>,
    /// What was summed up for it, the last one last.
    pub summaries: Vec<Summary>,
    /// Where results of tool calls began to be sent as what stands for them, the last one last.
    pub shortened: Vec<Shortened>,
    /// How long it and those that worked for it have worked or waited, in milliseconds; not how long it was held.
    pub worked_ms: Millis,
    /// When its last entry was made, or one of those that worked for it.
    last_at: Millis,
    /// Whether it has read text from outside.
    pub outside: bool,
    /// Whether the provider has run a tool in the answer that comes, and that may have had an effect.
    pub acted: bool,
    /// Whether it was over before its session began: nobody here has worked on it.
    pub adopted: bool,
    /// The name of the provider that is asked: the session's own, or one that has taken over; `None`: the one of all.
    pub on: Option<String>,
    /// What was asked and answered about tools that the provider runs.
    pub(crate) offer: Option<Rc<Offer>>,
    /// When the model is asked again that has failed.
    pub again: Option<Again>,
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
            summarizes: false,
            reminded: Vec::new(),
            summaries: Vec::new(),
            shortened: Vec::new(),
            worked_ms: 0,
            last_at: started_at,
            outside: false,
            acted: false,
            adopted: false,
            on: None,
            offer: None,
            again: None,
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
        let mut waits = self.offer_asked().is_some();
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

    /// What a person is asked about tools that the provider runs.
    pub fn offer_asked(&self) -> Option<&OfferQuestion> {
        self.offer.as_ref()?.asked.as_ref()
    }

    /// How often a person was asked that in it.
    pub fn offer_questions(&self) -> u64 {
        self.offer.as_ref().map_or(0, |offer| offer.questions)
    }

    /// Whether a person has allowed that this tool of the provider is offered in it, or in one that works for it, beside this
    /// text from outside. `None`: nobody was asked. A no counts for the whole run, and a yes for the origins that were named.
    pub fn offers(&self, tool: &str, outside: &Outside) -> Option<bool> {
        let says = |(name, said, seen): &(String, bool, Outside)| {
            (name == tool && (!said || outside.is_within(seen))).then_some(*said)
        };
        let runs = self.all();
        let answered = runs.iter().filter_map(|run| run.offer.as_ref()).flat_map(|offer| &offer.answered);
        answered.filter_map(says).reduce(|one, other| one && other)
    }

    /// The runs that work for it now.
    pub fn delegates(&self) -> Vec<&Run> {
        let at_work = |call: &&Call| matches!(call.state, CallState::Delegated);
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

    /// What it has used up, with all that worked for it.
    pub fn spent(&self) -> Sums {
        let mut sums = self.sums;
        self.summaries.iter().for_each(|summary| sums.join(&summary.run.sums));
        sums
    }

    /// Whether another run has begun it, and waits for it.
    pub fn works_for_another(&self) -> bool {
        self.delegate.is_some() || self.summarizes
    }

    /// The run that sums up for it now.
    pub fn summarizer(&self) -> Option<&Run> {
        self.summaries.last().map(|summary| &summary.run).filter(|run| run.ended.is_none())
    }

    /// Whether what was said before it was just summed up, and its model has not said anything yet.
    pub fn has_forgotten(&self) -> bool {
        let just = |summary: &Summary| summary.is_whole() && summary.after == self.turns.len();
        self.summaries.last().is_some_and(just) && !self.turns.iter().any(Turn::answered)
    }

    /// The run and those that work for it now.
    pub fn parts(&self) -> Vec<&Run> {
        let mut parts = vec![self];
        for delegate in self.delegates() {
            parts.extend(delegate.parts());
        }
        parts.extend(self.summarizer());
        parts
    }

    /// The run and all that ever worked for it.
    pub fn all(&self) -> Vec<&Run> {
        let mut all = vec![self];
        for call in self.turns.iter().flat_map(|turn| &turn.calls) {
            if let Some(delegate) = &call.delegate {
                all.extend(delegate.all());
            }
        }
        all.extend(self.summaries.iter().map(|summary| &summary.run));
        all
    }

    /// The files of its messages and of its tool calls, to change what is known of them.
    pub(crate) fn change_files(&mut self, change: &mut dyn FnMut(&mut [Block])) {
        change(&mut self.prompt.files);
        for steered in &mut self.steered {
            change(&mut steered.prompt.files);
        }
        for call in self.turns.iter_mut().flat_map(|turn| &mut turn.calls) {
            if let CallState::Settled(settled) = &mut call.state {
                change(&mut settled.files);
            }
            if let Some(delegate) = &mut call.delegate {
                delegate.change_files(change);
            }
        }
    }

    /// The run or one that works for it now, by its id.
    pub(crate) fn part_mut(&mut self, id: &str) -> Option<&mut Run> {
        if self.id == id {
            return Some(self);
        }
        self.workers_mut().find_map(|run| run.part_mut(id))
    }

    /// The runs that work for it, or did in this turn.
    fn workers_mut(&mut self) -> impl Iterator<Item = &mut Run> {
        let calls = self.turns.last_mut().map(|turn| turn.calls.as_mut_slice()).unwrap_or_default();
        let delegates = calls.iter_mut().filter_map(|call| call.delegate.as_deref_mut());
        delegates.chain(self.summaries.last_mut().map(|summary| &mut summary.run))
    }

    /// Whether it goes on as soon as there is a network, or a run that works for it does.
    pub fn awaits_network(&self) -> bool {
        self.parts().iter().any(|part| part.again == Some(Again::Online))
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

    /// Whether it is held, and what it awaits cannot come any more once its page is gone.
    pub fn hangs(&self) -> bool {
        self.held && self.calls().iter().any(|call| matches!(call.state, CallState::Ordered))
    }

    /// When its last entry was made, or one of those that worked for it.
    pub fn heard_at(&self) -> Millis {
        self.last_at
    }

    /// When it will have worked or waited this long, if it is not held.
    pub fn after(&self, ms: Millis) -> Millis {
        self.last_at.saturating_add(ms.saturating_sub(self.worked_ms))
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

    /// Whether this model call is to be made once more, because its key was refused or its files were gone.
    fn makes_again(&self, call: u64) -> bool {
        let again = |turn: &Turn| turn.unsent || turn.key == KeyState::Refused;
        let open = |turn: &Turn| turn.call == call && turn.said == Said::Nothing;
        self.turns.last().is_some_and(|turn| open(turn) && again(turn))
    }
}

/// The id of the assistant's message that answers the message with this id.
pub(crate) fn answer_id(message: &str) -> String {
    [message, ANSWER].concat()
}

/// What stands behind the message's id in its answer's.
const ANSWER: &str = "_a";
