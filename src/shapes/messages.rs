//! A conversation as it is shown: messages, calls, questions, and how runs end.

use super::{CompactionWay, Misfit, Shape, shapes};
use crate::error::ErrorInfo;
use crate::journal::words::{CompactReason, Mode, Outcome, words};
use serde_json::{Map, Value};
use std::rc::Rc;

words! {
    /// Who has said a message.
    Role {
        /// A person.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// Nobody: here is a gap, or an instruction of a conversation from elsewhere.
        System = "system",
    }
    /// What has become of a message.
    MessageStatus {
        /// It is whole.
        Complete = "complete",
        /// It still streams, or a lost page left it so.
        Partial = "partial",
        /// Its run was interrupted.
        Interrupted = "interrupted",
        /// Its run has failed.
        Failed = "failed",
        /// Rows of the session are damaged here.
        Damaged = "damaged",
    }
    /// What has become of a call.
    CallStatus {
        /// Its arguments still come.
        Receiving = "receiving",
        /// It waits for its turn, or for a person.
        Waiting = "waiting",
        /// It runs.
        Started = "started",
        /// It has a result.
        Completed = "completed",
        /// It has failed.
        Failed = "failed",
        /// Nobody has allowed it, so it was not run.
        Denied = "denied",
        /// The page was lost while it ran.
        Unknown = "unknown",
    }
    /// Who runs a tool, where that is nobody here.
    CalledBy {
        /// The model's provider.
        Provider = "provider",
    }
    /// What a conversation does.
    ViewStatus {
        /// Nothing was heard of it yet.
        Loading = "loading",
        /// No agent runs.
        Stopped = "stopped",
        /// It takes the next message.
        Ready = "ready",
        /// A message is accepted, and no text has come yet.
        Submitted = "submitted",
        /// An answer comes.
        Streaming = "streaming",
        /// It waits for a person.
        Waiting = "waiting",
        /// A lost page left a run, which can be gone on with; or it is benched.
        Held = "held",
        /// It has failed.
        Error = "error",
    }
    /// How a run has ended, as a page can know it.
    RunOutcome {
        /// The model has finished.
        Completed = "completed",
        /// Somebody has stopped it.
        Interrupted = "interrupted",
        /// It could not go on.
        Failed = "failed",
        /// Nobody tells this page how it ends.
        Unknown = "unknown",
    }
    /// What a wait has come to.
    WaitStatus {
        /// The run has ended, also by an interrupt.
        Ok = "ok",
        /// It has failed.
        Error = "error",
        /// It had not ended by then.
        Timeout = "timeout",
    }
}

shapes! {
    /// One message of the conversation; a run gives one assistant message.
    told Message {
        /// Its id.
        id: String;
        /// Who has said it.
        role: Role;
        /// What it says, in its order.
        parts: Vec<Part>;
        /// When it began.
        created_at = "createdAt": u64;
        /// The run that it belongs to.
        run_id = "runId": Option<String>;
        /// `partial`: it still streams, or a lost page left it so. `damaged`: here is a gap, because rows of the session are
        /// damaged; its role is `system`, and `damaged` says which entries are lost. An answer has `damaged` without entries where it was
        /// cut with its page and what was written down of it is damaged: it ends where that is whole.
        status: MessageStatus;
        /// Which entries of the session are lost here, and why.
        damaged: Option<Gap>;
        /// What the page gave with it.
        metadata: Option<Map<String, Value>>;
        /// The model that has answered.
        model: Option<String>;
        /// What the answer has used up.
        usage: Option<Usage>;
        /// Why its run has failed.
        error: Option<ErrorInfo>;
        /// Where the conversation was made shorter for the model in this run, the last one last. What is shown stays whole.
        compactions: Option<Vec<Compaction>>;
        /// Of a person's message: what its model was told from memory beside it.
        memories: Option<Vec<MemoryTold>>;
        /// Of a message that was edited, and of an answer that was made anew: the ids of all versions, the oldest first, this one
        /// included. An edited message's answer begins versions of its own. `history({ version })` shows the conversation with an older
        /// one. Where a failed run was gone on with, the first of its answers stands for all of them.
        versions: Option<Vec<String>>;
    }

    /// Something from memory that was told beside a message.
    told MemoryTold {
        /// Its id.
        id: String;
        /// What was remembered then.
        text: String;
    }

    /// A place where a conversation was made shorter for its model.
    told Compaction {
        /// When.
        at: u64;
        /// How.
        kind: CompactionWay;
        /// Why.
        reason: CompactReason;
        /// The id of the run (`runId` of its messages) from which on the model is sent all of it, word for word. Its own answer may be cut
        /// inside.
        until: String;
        /// Of a summary: what the model is sent in place of what was said before.
        summary: Option<String>;
    }

    /// How much of a model's window a conversation has.
    told Context {
        /// How many tokens the next request has, about.
        used: u64;
        /// How many the model takes, with its answer. Absent: that is not known.
        window: Option<u64>;
        /// How often the conversation was summed up.
        compactions: u64;
    }

    /// A gap in a conversation.
    told Gap {
        /// The first entry that is lost.
        from: Option<u64>;
        /// The last of them.
        to: Option<u64>;
        /// What is wrong there.
        why: String;
    }

    /// What a message says in words.
    told TextPart("text") {
        /// The words, in Markdown where a model has written them.
        text: String;
    }

    /// What a model has thought, as far as its provider shows it.
    told ThinkingPart("thinking") {
        /// The words.
        text: String;
    }

    /// A file that came with a message, or that a tool gave: `ws.file(fileId)` has its bytes.
    told FilePart("file") {
        /// Its id in the workspace.
        file_id = "fileId": String;
        /// What it is, by its bytes.
        media_type = "mediaType": String;
        /// How many bytes it has.
        size: u64;
        /// What it was called.
        filename: Option<String>;
        /// Its bytes are lost, as a request of its conversation has noticed. The model is told so in its place, until the same file is sent
        /// again.
        gone: Option<bool>;
    }

    /// A call of a tool, with what has become of it.
    told ToolCallPart("tool-call") {
        /// Its id.
        tool_call_id = "toolCallId": String;
        /// The tool's name.
        tool: String;
        /// What the model gives it. While it is `receiving`, a view has as much of it as has come, where the tool has
        /// `streamArguments`.
        arguments: Value;
        /// As much of it as has come, as JSON: while it is `receiving`, and where the tool has `streamArguments`.
        arguments_text = "argumentsText": Option<String>;
        /// The question that waits for a person, while it does.
        request_id = "requestId": Option<String>;
        /// `receiving`: its arguments still come. `waiting`: for its turn, or for a person. `denied`: nobody has allowed it, so
        /// it was not run. `unknown`: the page was lost while it ran.
        status: CallStatus;
        /// How far it is, as the tool says it.
        progress: Option<Value>;
        /// What it gave.
        result: Option<Value>;
        /// Why it has failed.
        error: Option<ErrorInfo>;
        /// What the tool gave as files, in its order.
        files: Option<Vec<FilePart>>;
        /// `provider`: the model's provider has run it (`serverTools`). `result` is what it gave in short; nobody was asked, and no
        /// event tells of it.
        by: Option<CalledBy>;
    }

    /// Where an answer has something from, as its provider says. It stands behind all that its model has said then.
    told SourcePart("source") {
        /// The address; of `http:` or `https:`.
        url: String;
        /// What it is called, or its address.
        title: String;
        /// What is taken from there, word for word.
        cited_text = "citedText": Option<String>;
        /// What of the message has it from there.
        at: Option<SourcePlace>;
    }

    /// A place in a message.
    told SourcePlace {
        /// Which of its parts, from 0.
        part: u64;
        /// From where on in its text, in UTF-16 units; absent: all of it.
        start: Option<u64>;
        /// Up to where.
        end: Option<u64>;
    }

    /// Tokens. Cached ones are apart: the whole input is the sum of the three. Reasoning is part of the output. Of an answer that
    /// broke off or was interrupted it has what the provider had told until then, which most do at the end only; of one that a
    /// lost page cut, nothing.
    told Usage {
        /// What was sent, but for cached tokens.
        input_tokens = "inputTokens": u64;
        /// What was answered.
        output_tokens = "outputTokens": u64;
        /// What was read from a cache.
        cache_read_tokens = "cacheReadTokens": Option<u64>;
        /// What was written to one.
        cache_write_tokens = "cacheWriteTokens": Option<u64>;
        /// How much of the output was reasoning.
        reasoning_tokens = "reasoningTokens": Option<u64>;
        /// How often the provider has searched the web, as it bills that.
        searches: Option<u64>;
        /// Dollars, by the prices known when each answer came (`AgentConfig.models`), with the fee for web searches where that is
        /// known. Absent where one of the answers has no known price: the sum would be too low. What it does not know of: discounts,
        /// taxes, other fees for tools the provider runs, and caches paid for an hour.
        cost: Option<f64>;
    }

    /// A message that waits for its turn.
    told QueuedMessage {
        /// The id that it will have in the conversation.
        id: String;
        /// What it says.
        text: String;
        /// `queue`: it waits as a run of its own; `steer`: to enter the run that works.
        mode: Mode;
    }

    /// All there is to draw of a conversation.
    told Snapshot {
        /// `loading`: until the first listener has heard of something else. `submitted`: accepted, no text yet. `waiting`: for a person.
        /// `held`: a lost page left a run, `resume()` goes on with it; or it is benched.
        status: ViewStatus;
        /// The conversation, the oldest first.
        messages: Vec<Rc<Message>>;
        /// True: what came before the first of `messages` is still on its way. A start does not wait for what is before a summary.
        earlier: Option<bool>;
        /// What waits for a person.
        permissions: Vec<PermissionRequest>;
        /// What waits for its turn; empty while no agent runs. Where no run works, it is held: `queue.release()`, or send something.
        queue: Vec<QueuedMessage>;
        /// True: the run waits for the network, and goes on by itself when it is back.
        offline: Option<bool>;
        /// Why it has failed.
        error: Option<ErrorInfo>;
        /// How much of the model's window the conversation has, as far as that is known.
        context: Option<Context>;
        /// Whether the agent runs in this tab.
        holder: bool;
    }

    /// A question to a person about a call.
    told PermissionRequest {
        /// The id that an answer names.
        request_id = "requestId": String;
        /// The call.
        tool_call_id = "toolCallId": String;
        /// Its tool.
        tool: String;
        /// The tool's name for people, if it has one.
        title: Option<String>;
        /// What has to be held for the tool.
        capability: Option<String>;
        /// What the model gives it.
        arguments: Value;
        /// What is asked, for the person: the tool's own `explanation`, or its title or name as a question, "Place the order?".
        explanation: String;
        /// What the person has to know besides: that the call may have taken effect already, that the tool has changed, that a text from
        /// outside may want it.
        warning: Option<String>;
        /// Why: `policy`, `destructive`, `external_text`, `decide`, `unknown_outcome`, `definition_changed`.
        reason: String;
        /// No answer covers the next call like this: it leaves nothing of a page's text, or it was lost with its page. Offer no "always"
        /// then. What empties a page is asked about no more where the rules or a person always allow `delete_page`.
        once: Option<bool>;
        /// Where the text from outside comes from that may have asked for the call; absent where the conversation holds none.
        /// `tool:NAME` and `provider:TYPE`: a tool's result. `context` and `file:NAME#DIGITS`: what came with a message; the digits stand
        /// for the content. `import`, `adopted`: a conversation from elsewhere. `unknown`: a page from before there were marks, or what is
        /// left of something damaged.
        outside: Option<Vec<String>>;
    }

    /// How a run has ended.
    told RunResult {
        /// The run.
        run_id = "runId": String;
        /// `unknown`: nobody tells this page how it ends. It may go on in another tab, or wait to be resumed.
        outcome: RunOutcome;
        /// The text of the answer; of an unknown outcome, what this page has heard of it.
        text: String;
        /// What the answer says, where the run has a `schema` and completed.
        value: Option<Value>;
        /// Absent where the model does not tell.
        usage: Option<Usage>;
        /// How many model calls it took; 0 where nobody tells.
        turns: u64;
        /// Why it failed, or why nobody tells.
        error: Option<ErrorInfo>;
    }

    /// What a wait for a run has come to.
    told WaitResult {
        /// The run.
        run_id = "runId": String;
        /// An interrupted run is `ok`.
        status: WaitStatus;
        /// How it has ended.
        outcome: Option<Outcome>;
        /// As JSON, where the run has a `schema` and completed.
        value: Option<Value>;
        /// When it began.
        started_at = "startedAt": Option<u64>;
        /// When it ended.
        ended_at = "endedAt": Option<u64>;
        /// Why it has failed.
        error: Option<ErrorInfo>;
    }

    /// What a tool gave to the page's own code.
    told ToolResult {
        /// As JSON; what is kept fits 102,400 bytes.
        result: Value;
        /// What was left out.
        truncated: Option<Truncated>;
    }

    /// What was left out of a result.
    told Truncated {
        /// How many bytes.
        bytes: u64;
    }

    /// A tool as it is registered.
    told ToolDefinition {
        /// Its name.
        name: String;
        /// Its name for people.
        title: Option<String>;
        /// By what the model chooses it.
        description: String;
        /// The JSON Schema of its arguments.
        input_schema = "inputSchema": Map<String, Value>;
        /// Where what it says comes from.
        source: String;
        /// What must be held for it.
        capability: Option<String>;
        /// Whether it changes nothing.
        read_only = "readOnly": bool;
        /// The process type has it, and its capability is held.
        available: bool;
        /// It has an `explanation` for a person.
        explains: Option<bool>;
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// Words.
    Text(TextPart),
    /// What a model has thought.
    Thinking(ThinkingPart),
    /// A file.
    File(FilePart),
    /// A call of a tool.
    ToolCall(Box<ToolCallPart>),
    /// Where an answer has something from.
    Source(Box<SourcePart>),
}

impl Part {
    /// Its words, where it is a text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Part::Text(part) => Some(&part.text),
            _ => None,
        }
    }
}

impl Shape for Part {
    fn read(value: Value) -> Result<Part, Misfit> {
        match value.get("type").and_then(Value::as_str) {
            Some("text") => TextPart::read(value).map(Part::Text),
            Some("thinking") => ThinkingPart::read(value).map(Part::Thinking),
            Some("file") => FilePart::read(value).map(Part::File),
            Some("tool-call") => ToolCallPart::read(value).map(|call| Part::ToolCall(Box::new(call))),
            Some("source") => SourcePart::read(value).map(|source| Part::Source(Box::new(source))),
            _ => Err(Misfit::new("a known kind of part").within("type")),
        }
    }
    fn write(&self) -> Value {
        match self {
            Part::Text(part) => part.write(),
            Part::Thinking(part) => part.write(),
            Part::File(part) => part.write(),
            Part::ToolCall(part) => part.write(),
            Part::Source(part) => part.write(),
        }
    }
}

impl Message {
    /// Its words: all parts that are text, one behind the other.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::text).collect::<String>()
    }
}
