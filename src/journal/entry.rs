//! Entries: what a journal can say.
//!
//! Every kind is either an *input* or a *decision*. An input came from outside and cannot be known otherwise. A
//! decision was drawn by the machine from what stood before. Replaying the inputs must give the decisions again.
//!
//! Decides which kinds there are, what each has as members, what each is about, and what a clearing erases of it. Promises:
//! an entry is written with the same bytes each time. One of a kind that this version does not know is told from a broken
//! one. Leaves to others: the words of closed sets (`words`), the row around an entry (`row`), and what an entry means to a
//! run or a session (their folds).

use super::outside::Outside;
use super::words::{
    Answer, Ask, AskReason, CompactReason, Integrity, Limit, Mode, Outcome, Process, RecordKind, Spender,
    StoppedBy, Verdict, Word, Words,
};
use crate::error::ErrorInfo;
use crate::json::items;
use crate::list::Listed;
use crate::model::{Block, Cited, File, ServerCall, StopReason, Usage};
use crate::object::Object;
use crate::rooms::{Room, enter};
use serde_json::Value;
use std::rc::Rc;

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// From outside.
    Input,
    /// From the machine.
    Decision,
}

/// What a session has used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Model calls that have counted something.
    pub turns: u64,
    /// Their tokens.
    pub usage: Usage,
    /// Their price in nano-dollars. `None`: there was no answer yet, or one that nobody knows the price of. A sum
    /// without it would be too low, and pass for the truth.
    pub cost: Option<u64>,
    /// As much of that as is known.
    pub known_cost: u64,
    /// How long its runs took that have ended, in milliseconds.
    pub wall_ms: u64,
}

impl Sums {
    /// Whether a page can count all of it, as [`Usage::is_exact`].
    pub fn is_exact(&self) -> bool {
        let Sums { turns, usage, cost, known_cost, wall_ms } = *self;
        let all = [turns, cost.unwrap_or_default(), known_cost, wall_ms];
        usage.is_exact() && all.iter().all(|sum| *sum < 1 << 53)
    }

    /// Adds all of another sum.
    pub fn join(&mut self, other: &Sums) {
        let Sums { turns, usage, cost, known_cost, wall_ms } = other;
        if *turns == 0 {
            return;
        }
        let before = (self.turns, self.known_cost);
        self.add((usage, *cost));
        self.turns = before.0.saturating_add(*turns);
        self.known_cost = before.1.saturating_add(*known_cost);
        self.wall_ms = self.wall_ms.saturating_add(*wall_ms);
    }

    /// Adds what [`Entry::usage`] tells of one answer.
    pub fn add(&mut self, (usage, cost): (&Usage, Option<u64>)) {
        self.cost = match self.turns {
            0 => cost,
            _ => self.cost.zip(cost).map(|(sum, cost)| sum.saturating_add(cost)),
        };
        self.known_cost = self.known_cost.saturating_add(cost.unwrap_or_default());
        self.turns = self.turns.saturating_add(1);
        let sum = &mut self.usage;
        // A journal from elsewhere may say anything.
        for (sum, more) in [
            (&mut sum.input_tokens, usage.input_tokens),
            (&mut sum.output_tokens, usage.output_tokens),
            (&mut sum.cache_read_tokens, usage.cache_read_tokens),
            (&mut sum.cache_write_tokens, usage.cache_write_tokens),
            (&mut sum.reasoning_tokens, usage.reasoning_tokens),
            (&mut sum.searches, usage.searches),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// A value that can stand in an entry. `None` of an optional one is left out.
trait Field: Sized {
    fn put(&self) -> Option<Value>;
    /// Reads it back. What is missing or wrong makes the entry less than `whole`.
    fn get(value: Option<&Value>, whole: &mut bool) -> Self;
}

/// A field of a content, read. Out of line: there are ninety.
#[inline(never)]
fn field<T: Field>(content: &Value, name: &str, whole: &mut bool) -> T {
    T::get(content.get(name), whole)
}

fn or_default<T: Default>(value: Option<T>, whole: &mut bool) -> T {
    *whole &= value.is_some();
    value.unwrap_or_default()
}

macro_rules! entries {
    ($( $(#[doc = $scope_doc:literal])* $scope:ident $of:ident {
        $( $(#[doc = $doc:literal])* $cause:ident $name:ident = $kind:literal $(erasable $erasable:literal)? {
            $( $(#[doc = $field_doc:literal])* $field:ident : $type:ty ),* $(,)?
        } )*
    } )*) => {
        /// One thing that happened.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Entry {
            $($( $(#[doc = $doc])* $name { $( $(#[doc = $field_doc])* $field: $type, )* }, )*)*
        }

        /// An entry by what it is about. Each fold takes the entries of its scope, and the compiler knows whether it has
        /// forgotten one.
        #[derive(Clone, Copy, Debug)]
        pub enum Scope<'a> {
            $( $(#[doc = $scope_doc])* $scope($of<'a>), )*
        }

        $(
            $(#[doc = $scope_doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $of<'a> {
                $( $(#[doc = $doc])* $name { $( $(#[doc = $field_doc])* $field: &'a $type, )* }, )*
            }
        )*

        impl Entry {
            /// The kind's stable name.
            pub fn kind(&self) -> &'static str {
                match self { $($( Entry::$name { .. } => $kind, )*)* }
            }

            /// Whether it came from outside or from the machine.
            pub fn cause(&self) -> Cause {
                match self { $($( Entry::$name { .. } => Cause::$cause, )*)* }
            }

            /// What it is about.
            pub fn scope(&self) -> Scope<'_> {
                match self { $($( Entry::$name { $( $field, )* } => Scope::$scope($of::$name { $( $field, )* }), )*)* }
            }

            /// Whether clearing a conversation erases the content of this kind.
            pub fn erasable(kind: &str) -> bool {
                match kind { $($( $kind => false $(|| $erasable)?, )*)* _ => false }
            }

            /// The content: a JSON object with sorted keys.
            pub fn to_json(&self) -> Value {
                let mut object = Object::new();
                match self { $($( Entry::$name { $( $field, )* } => {
                    $( object.maybe(stringify!($field), $field.put()); )*
                } )*)* }
                object.done()
            }

            /// Reads a content back; `None` for an unknown kind or a content that is not of that kind.
            pub fn from_json(kind: &str, value: &Value) -> Option<Entry> {
                let mut whole = true;
                let entry = match kind {
                    $($( $kind => Entry::$name { $( $field: field(value, stringify!($field), &mut whole), )* }, )*)*
                    _ => return None,
                };
                whole.then_some(entry)
            }
        }

        /// The table as data, of which the types are written.
        #[cfg(test)]
        pub(super) const TABLE: &[Kind] = &[$($( Kind {
            name: $kind,
            docs: &[$( $doc ),*],
            erasable: false $(|| $erasable)?,
            members: &[$( (stringify!($field), stringify!($type), &[$( $field_doc ),*]) ),*],
        }, )*)*];
    };
}

/// A kind of entry, as the table has it.
#[cfg(test)]
pub(super) struct Kind {
    pub name: &'static str,
    pub docs: &'static [&'static str],
    pub erasable: bool,
    /// The name, the type and the sentences of each member.
    pub members: &'static [(&'static str, &'static str, &'static [&'static str])],
}

entries! {
    /// The session itself: who holds it, by which rules, and what is always allowed.
    Session OfSession {
        /// The harness was started with this configuration.
        Input Started = "started" {
            /// Whose writes these are from here on.
            epoch: u64,
            /// Everything a decision may depend on, without secrets; absent: as it was before.
            config: Option<Value>,
            /// The tools, as `Definition::to_record` writes them; absent: as they were before.
            tools: Option<Value>,
        }
        /// The configuration or the tools are different from here on.
        Input Configured = "configured" {
            /// As in `started`; absent: unchanged.
            config: Option<Value>,
            /// As in `started`; absent: unchanged.
            tools: Option<Value>,
        }
        /// The harness was stopped on purpose.
        Input Stopped = "stopped" {}
        /// Its head was not signed, or with a key that is gone, when it was taken: nobody knows who has written what is before.
        Input Found = "found" {
            /// What is known of it instead of `verified`.
            integrity: Word<Integrity>,
        }
        /// A person has always allowed a tool, asked about a call of the page's own code.
        Input Granted = "granted" {
            /// Which tool.
            tool: String,
            /// The SHA-256 of the definition that was allowed.
            definition: String,
            /// The SHA-256 of the arguments that say where the call sends something, if its tool names them.
            destination: Option<String>,
        }
        /// The session goes by these instead of the agent's configuration.
        Input Overridden = "overridden" {
            /// All that it has otherwise: members as in `started`, but for `provider`, which is a name in `providers`, and
            /// `tools`, the names of those that it has.
            config: Value,
        }
        /// What a person has always allowed is not allowed any more.
        Input Revoked = "revoked" {
            /// Which tool.
            tool: String,
        }
    }
    /// The record of the session: what an operator does with it, and what is put down.
    Record OfRecord {
        /// An operator does something with the session itself: launches, stops, renames it.
        Input Commanded = "commanded" {
            /// What.
            what: Word<Ask>,
            /// Who, and what else there is to say.
            args: Value,
        }
        /// Something is put on record: an event, a receipt, a handoff. It stays when the conversation is cleared.
        Decision Recorded = "recorded" {
            /// Which of them.
            what: Word<RecordKind>,
            /// It.
            record: Value,
        }
    }
    /// The conversation: what begins a run, and what ends all of them.
    Conversation OfConversation {
        /// A message that begins a run.
        Input Prompt = "prompt" erasable true {
            /// The message's id.
            message: String,
            /// What the person said.
            text: String,
            /// What the page adds for the model.
            context: Option<String>,
            /// Whether the page vouches for that and for the files: else they are text from outside.
            trusted: Option<bool>,
            /// The page's own notes, JSON.
            metadata: Option<Value>,
            /// The page's key: the same key is the same run.
            idempotency: Option<String>,
            /// The run before it that it goes on with: then nobody has said anything.
            continues: Option<String>,
            /// It asks no model to answer. What was said before it is summed up: `{ instructions? }`, what matters.
            compacts: Option<Value>,
            /// The files that came with it, each a [`Block::File`]: never their bytes.
            files: Vec<Block>,
            /// What the answer has to be: `{ json, validate? }`, the JSON Schema as text and the page's function.
            schema: Option<Value>,
            /// What it has otherwise than its session, as in `overridden`; `null`: what the configuration says.
            config: Option<Value>,
            /// What leaves the view for it, with all that followed: a message of a person, of which this is another version;
            /// or an answer, where the message before it is answered anew. Then the contents above are copies.
            replaces: Option<String>,
        }
        /// A message and its answer from elsewhere, which the session begins with. Its run was over before.
        Input Adopted = "adopted" erasable true {
            /// The message's id.
            message: String,
            /// What the person said.
            text: String,
            /// The files that came with it, as in `prompt`: of a session of this workspace.
            files: Vec<Block>,
            /// Notes of the page that it came from, JSON.
            metadata: Option<Value>,
            /// When it was said there.
            said_at: Option<u64>,
            /// What was answered: text, thinking, tool calls.
            blocks: Vec<Block>,
            /// How the tool calls ended, in their order: `{ text, json, error?, files? }` each, as in `returned`.
            ends: Option<Value>,
            /// As in `ended`.
            outcome: Word<Outcome>,
            /// The model's name for itself.
            model: Option<String>,
            /// Where the text from outside comes from that was read before.
            outside: Outside,
        }
        /// An older version of a message is the conversation again, with what followed it.
        Input Switched = "switched" {
            /// The id of a message that has left the conversation.
            message: String,
        }
        /// A message leaves the conversation with what was answered, and with its other versions: their content is erased.
        Input Withdrawn = "withdrawn" {
            /// The ids of their runs, and of those that worked for them.
            runs: Value,
            /// The ids of the runs that the conversation has from here on.
            stay: Value,
            /// What has left it, the oldest first, each `{ at, runs }`: how many runs stood before, and their ids.
            older: Option<Value>,
            /// As in `cleared`.
            sums: Sums,
            /// Where the text from outside comes from that the conversation had read.
            outside: Outside,
            /// How often a provider could not open what it had sealed.
            unsealed: u64,
        }
        /// The conversation starts anew; what came before is erased.
        Input Cleared = "cleared" {
            /// What had been used up until here.
            sums: Sums,
        }
    }
    /// The messages that wait for their turn.
    Queue OfQueue {
        /// A message waits for its turn, because a run works. The entry's run is the one that it will begin, unless it
        /// enters the one at work.
        Input Queued = "queued" erasable true {
            /// How.
            mode: Word<Mode>,
            /// What its `prompt` would say.
            prompt: Value,
        }
        /// A message that waits says something else.
        Input Edited = "edited" erasable true {
            /// The message's id.
            message: String,
            /// What the person says now.
            text: String,
        }
        /// A message does not wait any more, and is not sent. The entry's run as in `queued`.
        Input Unqueued = "unqueued" {
            /// The message's id.
            message: String,
        }
        /// The messages that wait are not held any more.
        Input Released = "released" {}
        /// The turn of a message has come: it begins the entry's run, or enters it.
        Decision Taken = "taken" erasable true {
            /// The message's id.
            message: String,
        }
    }
    /// A run and its model calls.
    Run OfRun {
        /// The run's model is told this beside the message, because it is relevant: what is remembered from earlier
        /// conversations.
        Input Reminded = "reminded" erasable true {
            /// Of each memory its id and its text, in a list.
            memories: Value,
        }
        /// The conversation fills the model's window. Of the results of tool calls before a place only what stands for them is
        /// sent from here on.
        Input Shortened = "shortened" {
            /// The run of the place.
            until: String,
            /// How many of its turns are before it.
            turns: u64,
            /// How many tokens the conversation has, about.
            used: u64,
            /// How many of them it may have, if that is known.
            window: Option<u64>,
        }
        /// A model sums up the conversation before a place: from then on the summary is sent in place of it. The entry's run is
        /// the one that begins with it.
        Input Compacting = "compacting" erasable true {
            /// The run that waits for the summary.
            of: String,
            /// Why.
            reason: Word<CompactReason>,
            /// As in `shortened`.
            until: String,
            /// As in `shortened`.
            turns: u64,
            /// How many bytes of what the person has said before stay word for word, the newest.
            words: u64,
            /// How many bytes of the conversation the model is sent that sums it up.
            room: u64,
            /// As in `shortened`.
            used: u64,
            /// As in `shortened`.
            window: Option<u64>,
            /// What matters, by the page or the person.
            instructions: Option<String>,
            /// The name in `providers` of the provider that sums up; absent: that of the run.
            on: Option<String>,
            /// Whether there is room for the request as it is: its run goes on without the summary then, if that fails.
            fits: Option<bool>,
        }
        /// A person is asked whether tools that the provider runs may be offered in this run: nobody can be asked when one of
        /// them runs, and it can carry words out.
        Input OfferAsked = "offer_asked" {
            /// The id of the question.
            request: String,
            /// The names of the tools, each with the SHA-256 of how it is offered.
            tools: Value,
            /// Why.
            reason: Word<AskReason>,
            /// Where the text from outside comes from that the conversation holds, and that no such tool has brought.
            outside: Outside,
        }
        /// A person has answered.
        Input OfferAnswered = "offer_answered" {
            /// The id of the question.
            request: String,
            /// What.
            answer: Word<Answer>,
        }
        /// The model is called.
        Decision Called = "called" {
            /// Which call of the run, from 1.
            call: u64,
        }
        /// The provider refuses the key that a function of the page has given. The function is asked for another one, and the
        /// same call is made once more.
        Input KeyRefused = "key_refused" {
            /// Which call.
            call: u64,
        }
        /// Files that the call would send are not there any more, or are not what was sent. The same call is made once more,
        /// with a note in the place of each.
        Input FilesGone = "files_gone" erasable true {
            /// Which call.
            call: u64,
            /// The ids of the files.
            files: Value,
        }
        /// The provider has looked something up for an answer that is not whole yet: the model has read it, also where the
        /// rest never comes.
        Input Marked = "marked" {
            /// Where what it has found comes from.
            outside: Outside,
        }
        /// The model has answered.
        Input Answered = "answered" erasable true {
            /// Which call.
            call: u64,
            /// The answer's blocks; the ids of tool calls are unique in the session.
            blocks: Vec<Block>,
            /// Why it stopped.
            stop: StopReason,
            /// What it used up.
            usage: Usage,
            /// Its price in nano-dollars, by what was known of the model when it was asked: prices change.
            cost: Option<u64>,
            /// Who has answered: [`Peer::name`](crate::model::Peer).
            provider: String,
            /// The model's name for itself.
            model: Option<String>,
            /// The provider's id of the answer.
            id: Option<String>,
        }
        /// The model call came to nothing.
        Input Failed = "failed" erasable true {
            /// Which call.
            call: u64,
            /// Why.
            error: ErrorInfo,
            /// What had come before.
            blocks: Vec<Block>,
            /// Whether more was shown than `blocks` has: the beginning of a tool call.
            shown: Option<bool>,
            /// What it used up.
            usage: Usage,
            /// As in `answered`.
            cost: Option<u64>,
            /// What is drawn for the wait before the next try, from 0 to 999.
            draw: u64,
        }
        /// The same provider is asked again after a while.
        Decision Retrying = "retrying" {
            /// Which try comes next, from 2.
            attempt: u64,
            /// After how many milliseconds from this entry on.
            delay: u64,
        }
        /// The browser has no network: the same provider is asked again when there is one, and that counts as no try.
        Decision Offline = "offline" {}
        /// That while is over, or there is a network again.
        Input Due = "due" {}
        /// Nothing is left of a budget for another model call.
        Decision OverBudget = "over_budget" {
            /// Whose.
            of: Word<Spender>,
            /// Which limit; a cost is in nano-dollars.
            what: Word<Limit>,
            /// How much was spent.
            spent: u64,
            /// How much might have been.
            limit: u64,
        }
        /// Another provider takes over for the rest of the run.
        Decision FellBack = "fell_back" {
            /// Its name in `providers`.
            to: String,
        }
        /// The answer does not fit its schema: the model is told why, and asked once more.
        Decision SentBack = "sent_back" erasable true {
            /// What is wrong with it.
            error: ErrorInfo,
        }
        /// The run was told to stop.
        Input Interrupted = "interrupted" erasable true {
            /// Who or what has told it; `timeout`: its time was over, so it has failed.
            reason: Word<StoppedBy>,
            /// What the open model call had said.
            blocks: Vec<Block>,
            /// What it had used up, as far as its provider had told.
            usage: Option<Usage>,
            /// As in `answered`.
            cost: Option<u64>,
        }
        /// The page went away while the run worked.
        Input Lost = "lost" erasable true {
            /// What the open model call had said, as far as it was written down.
            blocks: Vec<Block>,
            /// Whether more was written down, and is not what was written any more.
            damaged: Option<bool>,
        }
        /// The run is put aside: what was asked of the model is asked anew when it goes on.
        Input Benched = "benched" erasable true {
            /// What the open model call had said.
            blocks: Vec<Block>,
            /// The ids of the tool calls that were aborted, if any were: they only read, and are run again.
            calls: Option<Value>,
            /// As in `interrupted`.
            usage: Option<Usage>,
            /// As in `answered`.
            cost: Option<u64>,
        }
        /// A held run goes on.
        Input Resumed = "resumed" {}
        /// The run is over.
        Decision Ended = "ended" {
            /// How.
            outcome: Word<Outcome>,
            /// The code of why it failed. The words may quote the conversation; they stand where it can be erased.
            code: Option<String>,
        }
    }
    /// A tool call of a run, or the check of its answer.
    Call OfCall {
        /// The page's own schema is asked about the arguments of a tool call, or about the answer.
        Decision Inspected = "inspected" {
            /// Which tool call; empty: the answer.
            tool_call: String,
        }
        /// What it says.
        Input Validated = "validated" erasable true {
            /// Which tool call; empty: the answer.
            tool_call: String,
            /// What is wrong with it, if anything is.
            error: Option<ErrorInfo>,
        }
        /// The page's `decide` is asked about a tool call.
        Decision Consulted = "consulted" {
            /// Which tool call.
            tool_call: String,
        }
        /// What `decide` says.
        Input Judged = "judged" {
            /// Which tool call.
            tool_call: String,
            /// That.
            verdict: Word<Verdict>,
        }
        /// The tool's `explanation` is called, because a person will be asked about the call.
        Decision Explaining = "explaining" {
            /// Which tool call.
            tool_call: String,
        }
        /// What it says.
        Input Explained = "explained" erasable true {
            /// Which tool call.
            tool_call: String,
            /// That; empty: nothing that can be shown.
            text: String,
        }
        /// A person is asked about a tool call.
        Decision PermissionAsked = "permission_asked" {
            /// Which tool call.
            tool_call: String,
            /// The id of the question.
            request: String,
            /// Why.
            reason: Word<AskReason>,
            /// The SHA-256 of the canonical arguments that the answer is for.
            arguments: String,
            /// The SHA-256 of the tool's definition that the answer is for.
            definition: String,
            /// As in `granted`.
            destination: Option<String>,
            /// Where the text from outside comes from that may have asked for the call.
            outside: Outside,
        }
        /// A person has answered.
        Input PermissionAnswered = "permission_answered" erasable true {
            /// Which tool call.
            tool_call: String,
            /// The id of the question.
            request: String,
            /// What.
            answer: Word<Answer>,
            /// A word to the model.
            reason: Option<String>,
            /// The version of the page that was in sight, if a page would be changed.
            version: Option<u64>,
        }
        /// The gate refuses a tool call: nothing was run.
        Decision Refused = "refused" erasable true {
            /// Which tool call.
            tool_call: String,
            /// Why: the model reads it too.
            error: ErrorInfo,
        }
        /// A tool is to be run.
        Decision Ordered = "ordered" {
            /// Which tool call.
            tool_call: String,
            /// What of its arguments was repaired, if anything was: where, and how.
            repairs: Option<Value>,
        }
        /// Another agent carries out a task for a tool call. The entry's run is the one that begins with it.
        Decision Delegated = "delegated" erasable true {
            /// Which tool call of the run that delegates.
            tool_call: String,
            /// The process type that it works as.
            process: Word<Process>,
            /// What it has to do.
            task: String,
            /// The names of what it may hold at most; absent: all that the run that delegates holds.
            capabilities: Option<Value>,
            /// How many model calls it may make.
            turns: u64,
            /// As in `ordered`.
            repairs: Option<Value>,
        }
        /// A tool call is left to a person or a page, which answers it by `tools.resolve`.
        Decision Handed = "handed" {
            /// Which tool call.
            tool_call: String,
            /// As in `ordered`.
            repairs: Option<Value>,
        }
        /// The tool is asked whether a call that was lost took effect.
        Decision LookedUp = "looked_up" {
            /// Which tool call.
            tool_call: String,
        }
        /// It did not, or the tool does not know.
        Input NotFound = "not_found" {
            /// Which tool call.
            tool_call: String,
        }
        /// A tool has ended.
        Input Returned = "returned" erasable true {
            /// Which tool call.
            tool_call: String,
            /// What the model reads.
            text: String,
            /// Whether `text` is the JSON of the result; else it is the result itself.
            json: bool,
            /// Why it failed, if it did.
            error: Option<ErrorInfo>,
            /// How many bytes were cut off.
            cut: Option<u64>,
            /// Where the text from outside comes from that a page holds which was read or changed.
            outside: Outside,
            /// The files that it gave, each a [`Block::File`]: never their bytes.
            files: Vec<Block>,
        }
        /// Nobody knows whether the tool took effect, and it is not run again.
        Decision Unknown = "unknown" erasable true {
            /// Which tool call.
            tool_call: String,
        }
    }
}

impl Entry {
    /// What the model call has used up that this entry tells of, and its price in nano-dollars. `None`: it tells of
    /// none, or of one that failed or was interrupted before anybody counted.
    pub fn usage(&self) -> Option<(&Usage, Option<u64>)> {
        match self {
            Entry::Answered { usage, cost, .. } => Some((usage, *cost)),
            Entry::Failed { usage, cost, .. } => {
                Some((usage, *cost)).filter(|(usage, _)| **usage != Usage::default())
            }
            Entry::Interrupted { usage: Some(usage), cost, .. }
            | Entry::Benched { usage: Some(usage), cost, .. } => Some((usage, *cost)),
            _ => None,
        }
    }
}

impl Field for String {
    fn put(&self) -> Option<Value> {
        Some(self.as_str().into())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        or_default(value.and_then(Value::as_str), whole).into()
    }
}

impl<T: Words> Field for Word<T> {
    fn put(&self) -> Option<Value> {
        Some(self.as_str().into())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        or_default(value.and_then(Value::as_str), whole).into()
    }
}

impl Field for u64 {
    fn put(&self) -> Option<Value> {
        Some((*self).into())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        or_default(value.and_then(Value::as_u64), whole)
    }
}

impl Field for bool {
    fn put(&self) -> Option<Value> {
        Some((*self).into())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        or_default(value.and_then(Value::as_bool), whole)
    }
}

impl Field for Value {
    fn put(&self) -> Option<Value> {
        Some(self.clone())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        or_default(value.cloned(), whole)
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self) -> Option<Value> {
        self.as_ref().and_then(Field::put)
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        value.map(|value| T::get(Some(value), whole))
    }
}

impl Field for ErrorInfo {
    fn put(&self) -> Option<Value> {
        Some(self.to_json())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        ErrorInfo::from_json(or_default(value.map(Some), whole).unwrap_or(&Value::Null))
    }
}

impl Field for Usage {
    fn put(&self) -> Option<Value> {
        let counts = [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.reasoning_tokens,
            self.searches,
        ];
        // Most have none, and earlier versions did not count them.
        let told = if self.searches == 0 { 5 } else { 6 };
        Some(counts.get(..told).unwrap_or_default().into())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        let searches = value.and_then(|counts| counts.get(5));
        let searches = searches.map_or(0, |count| u64::get(Some(count), whole));
        let mut count = |n: usize| u64::get(value.and_then(|counts| counts.get(n)), whole);
        Usage {
            searches,
            input_tokens: count(0),
            output_tokens: count(1),
            cache_read_tokens: count(2),
            cache_write_tokens: count(3),
            reasoning_tokens: count(4),
        }
    }
}

impl Field for Sums {
    fn put(&self) -> Option<Value> {
        let mut sums = Object::new();
        sums.number("turns", self.turns).maybe("usage", self.usage.put()).maybe("cost", self.cost.put());
        Some(sums.number("knownCost", self.known_cost).number("wallMs", self.wall_ms).done())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        let member = |name: &str| value.and_then(|sums| sums.get(name));
        Sums {
            turns: u64::get(member("turns"), whole),
            usage: Usage::get(member("usage"), whole),
            cost: Field::get(member("cost"), whole),
            known_cost: u64::get(member("knownCost"), whole),
            wall_ms: u64::get(member("wallMs"), whole),
        }
    }
}

impl Field for StopReason {
    fn put(&self) -> Option<Value> {
        let word = match self {
            StopReason::EndTurn => "end_turn",
            StopReason::ToolUse => "tool_use",
            StopReason::MaxTokens => "max_tokens",
            StopReason::ContextWindow => "context_window",
            StopReason::Pause => "pause",
            StopReason::StopSequence => "stop_sequence",
            StopReason::Refusal(None) => "refusal",
            StopReason::Refusal(Some(why)) => return Some(Object::new().text("refusal", why).done()),
        };
        Some(word.into())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        if let Some(why) = value.and_then(|value| value.get("refusal")) {
            return StopReason::Refusal(Some(String::get(Some(why), whole)));
        }
        match value.and_then(Value::as_str) {
            Some("end_turn") => StopReason::EndTurn,
            Some("tool_use") => StopReason::ToolUse,
            Some("max_tokens") => StopReason::MaxTokens,
            Some("context_window") => StopReason::ContextWindow,
            Some("pause") => StopReason::Pause,
            Some("stop_sequence") => StopReason::StopSequence,
            Some("refusal") => StopReason::Refusal(None),
            _ => {
                *whole = false;
                StopReason::EndTurn
            }
        }
    }
}

impl Field for Outside {
    fn put(&self) -> Option<Value> {
        (!self.is_empty()).then(|| self.to_json())
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        value.map_or_else(Outside::default, |value| or_default(Outside::from_json(value), whole))
    }
}

impl Field for Vec<Block> {
    fn put(&self) -> Option<Value> {
        (!self.is_empty()).then(|| blocks_to_json(self))
    }
    fn get(value: Option<&Value>, whole: &mut bool) -> Self {
        value.map_or_else(Vec::new, |value| or_default(blocks_from_json(value), whole))
    }
}

/// Blocks as they stand in an entry or a draft: arrays that begin with the kind.
pub fn blocks_to_json(blocks: &[Block]) -> Value {
    let block = |block: &Block| {
        let (kind, texts, last): (_, &[&str], Option<Value>) = match block {
            Block::Text(text) => ("text", &[text], None),
            Block::Thinking { text, signature } => ("thinking", &[text], Some(signature.as_deref().into())),
            Block::ToolCall { id, name, arguments } => ("tool_call", &[id, name, arguments], None),
            // Results are entries of their own: none is among these blocks.
            Block::ToolResult { id, name, text, is_error, .. } => {
                ("tool_result", &[id, name, text], Some((*is_error).into()))
            }
            Block::File(File { id, media_type, size, name, gone }) => {
                let kind = if *gone { "gone" } else { "file" };
                (kind, &[id, media_type, name], Some((*size).into()))
            }
            Block::Extra(members) => ("extra", &[members], None),
            Block::Raw(raw) => ("raw", &[raw], None),
            Block::ServerCall(call) => {
                let ServerCall { id, name, arguments, result, done } = &**call;
                ("server_call", &[id, name, arguments, result], done.map(Value::from))
            }
            Block::Cited(cited) => {
                let Cited { url, title, text, at } = &**cited;
                ("cited", &[url, title, text], Some(at.as_slice().into()))
            }
        };
        let texts = [&[kind], texts].concat();
        texts.into_iter().map(Value::from).chain(last).array()
    };
    blocks.iter().map(block).array()
}

/// Reads them back.
pub fn blocks_from_json(value: &Value) -> Option<Vec<Block>> {
    let block = |value: &Value| {
        let text = |n: usize| value.get(n)?.as_str().map(str::to_owned);
        Some(match value.get(0)?.as_str()? {
            "text" => Block::Text(text(1)?),
            "thinking" => Block::Thinking { text: text(1)?, signature: text(2) },
            "tool_call" => Block::ToolCall { id: text(1)?, name: text(2)?, arguments: text(3)? },
            kind @ ("file" | "gone") => Block::File(File {
                id: text(1)?,
                media_type: text(2)?,
                name: text(3)?,
                size: value.get(4)?.as_u64()?,
                gone: kind == "gone",
            }),
            "tool_result" => Block::ToolResult {
                id: text(1)?,
                name: text(2)?,
                text: text(3)?,
                is_error: value.get(4)?.as_bool()?,
                files: Vec::new(),
            },
            "extra" => Block::Extra(text(1)?),
            "raw" => Block::Raw(text(1)?),
            kind @ ("server_call" | "cited") => return told_from_json(kind, value),
            _ => return None,
        })
    };
    value.as_array()?.iter().map(block).whole()
}

/// What is told of tools that a provider has run. A door of the room `past`.
#[inline(never)]
fn told_from_json(kind: &str, value: &Value) -> Option<Block> {
    enter(Room::Past);
    let text = |n: usize| value.get(n)?.as_str().map(str::to_owned);
    Some(match kind {
        "cited" => Block::Cited(Rc::new(Cited {
            url: text(1)?,
            title: text(2)?,
            text: text(3)?,
            at: items(value.get(4)?).iter().filter_map(Value::as_u64).list(),
        })),
        _ => Block::ServerCall(Rc::new(ServerCall {
            id: text(1)?,
            name: text(2)?,
            arguments: text(3)?,
            result: text(4)?,
            done: value.get(5).and_then(Value::as_bool),
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use serde_json::json;

    fn file() -> Block {
        Block::File(File {
            id: "file_1".into(),
            media_type: "image/png".into(),
            size: 7,
            name: "a.png".into(),
            gone: false,
        })
    }

    fn samples() -> Vec<Entry> {
        let blocks = vec![
            Block::Text("hé\n😀".into()),
            Block::Thinking { text: String::new(), signature: Some("s".into()) },
            Block::Thinking { text: "t".into(), signature: None },
            Block::ToolCall { id: "a".into(), name: "n".into(), arguments: "{\"x\": 1.50}".into() },
            Block::ToolResult {
                id: "a".into(),
                name: "n".into(),
                text: "r".into(),
                is_error: true,
                files: Vec::new(),
            },
            Block::Extra("{\"citations\":[]}".into()),
            Block::Raw("{\"type\":\"x\"}".into()),
            Block::ServerCall(ServerCall::named("web_search")),
            Block::ServerCall(Rc::new(ServerCall {
                id: "s".into(),
                arguments: "{\"q\":1}".into(),
                result: "r".into(),
                done: Some(false),
                ..ServerCall::new("web_search")
            })),
            Block::Cited(Rc::new(Cited { url: "https://a.example/".into(), ..Cited::default() })),
            Block::Cited(Rc::new(Cited {
                url: "https://a.example/".into(),
                title: "A".into(),
                text: "a".into(),
                at: vec![2, 1, 3],
            })),
        ];
        let usage = Usage { input_tokens: 1, output_tokens: 2, searches: 3, ..Usage::default() };
        let error = ErrorInfo::new(Code::Overloaded, "busy");
        let answered = |stop| Entry::Answered {
            call: 1,
            blocks: blocks.clone(),
            stop,
            usage,
            cost: Some(10_500_000),
            provider: "anthropic".into(),
            model: None,
            id: Some("m".into()),
        };
        vec![
            Entry::Started { epoch: 3, config: Some(json!({"a": 1})), tools: Some(json!([])) },
            Entry::Started { epoch: 3, config: None, tools: None },
            Entry::Configured { config: None, tools: Some(json!([1])) },
            Entry::Stopped {},
            Entry::Prompt {
                message: "m".into(),
                text: "t".into(),
                context: None,
                trusted: Some(true),
                metadata: Some(json!({"k": [1, "x"]})),
                idempotency: Some("i".into()),
                continues: None,
                compacts: Some(json!({"instructions": "i"})),
                files: vec![file()],
                schema: Some(json!({"json": "{}", "validate": 7})),
                config: Some(json!({"model": "m"})),
                replaces: Some("m0_a".into()),
            },
            Entry::Overridden { config: json!({"provider": "spare", "tools": []}) },
            Entry::Switched { message: "m0".into() },
            Entry::Withdrawn {
                runs: json!(["r0"]),
                stay: json!(["r1"]),
                older: Some(json!([{"at": 1, "runs": ["r2"]}])),
                sums: Sums { turns: 1, ..Sums::default() },
                outside: Outside::default(),
                unsealed: 0,
            },
            Entry::Adopted {
                message: "m".into(),
                text: "t".into(),
                files: vec![file()],
                metadata: None,
                said_at: Some(7),
                blocks: blocks.clone(),
                ends: Some(json!([{"text": "r", "json": false}])),
                outcome: "interrupted".into(),
                model: Some("m".into()),
                outside: Outside::of(Outside::UNKNOWN),
            },
            Entry::Queued { mode: "steer".into(), prompt: json!({"message": "m", "text": "t"}) },
            Entry::Edited { message: "m".into(), text: "é".into() },
            Entry::Unqueued { message: "m".into() },
            Entry::Released {},
            Entry::Taken { message: "m".into() },
            Entry::SentBack { error: error.clone() },
            Entry::Shortened { until: "r0".into(), turns: 2, used: 7_000, window: None },
            Entry::Compacting {
                of: "r1".into(),
                reason: "window".into(),
                until: "r0".into(),
                turns: 0,
                words: 9,
                room: 30_000,
                used: 7_000,
                window: Some(8_000),
                instructions: Some("i".into()),
                on: None,
                fits: Some(true),
            },
            Entry::OfferAsked {
                request: "ask_r1_1".into(),
                tools: json!({"web_search": "ab"}),
                reason: "external_text".into(),
                outside: Outside::of(Outside::CONTEXT),
            },
            Entry::OfferAnswered { request: "ask_r1_1".into(), answer: "allow_once".into() },
            Entry::Called { call: 1 },
            Entry::KeyRefused { call: 1 },
            Entry::Marked { outside: Outside::of("provider:web_search_call") },
            Entry::FilesGone { call: 1, files: json!(["file_1"]) },
            answered(StopReason::EndTurn),
            answered(StopReason::Refusal(None)),
            answered(StopReason::Refusal(Some("why".into()))),
            Entry::Failed {
                call: 1,
                error: error.clone(),
                blocks: vec![],
                shown: None,
                usage,
                cost: None,
                draw: 7,
            },
            Entry::Refused { tool_call: "a".into(), error: error.clone() },
            Entry::Ordered { tool_call: "a".into(), repairs: None },
            Entry::Ordered {
                tool_call: "a".into(),
                repairs: Some(json!([{"at": "/n", "what": "number_text"}])),
            },
            Entry::Returned {
                tool_call: "a".into(),
                text: "x".into(),
                json: true,
                error: None,
                cut: Some(5),
                outside: Outside::tool("fetch"),
                files: vec![Block::File(File { id: "file_1".into(), ..File::default() })],
            },
            Entry::Unknown { tool_call: "a".into() },
            Entry::Interrupted { reason: "user".into(), blocks, usage: Some(usage), cost: Some(7) },
            Entry::Interrupted { reason: "stop".into(), blocks: vec![], usage: None, cost: None },
            Entry::Lost { blocks: vec![], damaged: None },
            Entry::Benched { blocks: vec![], calls: Some(json!(["a"])), usage: Some(usage), cost: None },
            Entry::Resumed {},
            Entry::Ended { outcome: "failed".into(), code: Some(error.code.as_str().into()) },
            Entry::Cleared { sums: Sums { turns: 2, usage, cost: None, known_cost: 5, wall_ms: 0 } },
            Entry::Cleared { sums: Sums { turns: 2, usage, cost: Some(7), known_cost: 7, wall_ms: 9 } },
        ]
    }

    #[test]
    fn every_kind_reads_back_from_its_canonical_text() {
        for entry in samples() {
            let text = entry.to_json().to_string();
            let value = serde_json::from_str(&text).unwrap();
            assert_eq!(Entry::from_json(entry.kind(), &value), Some(entry), "{text}");
        }
    }

    #[test]
    fn a_content_without_a_needed_member_is_not_read() {
        assert_eq!(Entry::from_json("called", &json!({})), None);
        assert_eq!(Entry::from_json("called", &json!({"call": "1"})), None);
        assert_eq!(Entry::from_json("dreamt", &json!({})), None);
    }

    #[test]
    fn a_sum_has_a_price_when_all_of_it_has() {
        let usage = Usage { input_tokens: 1, ..Usage::default() };
        let sum = |costs: &[Option<u64>]| {
            let mut sums = Sums::default();
            costs.iter().for_each(|cost| sums.add((&usage, *cost)));
            (sums.turns, sums.cost, sums.known_cost)
        };
        assert_eq!(sum(&[]), (0, None, 0));
        assert_eq!(sum(&[Some(2), Some(0), Some(3)]), (3, Some(5), 5));
        assert_eq!(sum(&[None, Some(3)]), (2, None, 3));
        assert_eq!(sum(&[Some(3), None, Some(3)]), (3, None, 6));
        assert_eq!(sum(&[Some(u64::MAX), Some(1)]), (2, Some(u64::MAX), u64::MAX));
    }

    #[test]
    fn only_what_was_said_is_erased() {
        assert!(Entry::erasable("prompt") && Entry::erasable("returned"));
        assert!(!Entry::erasable("ended") && !Entry::erasable("started") && !Entry::erasable("cleared"));
    }
}
