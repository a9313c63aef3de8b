//! What a model is asked and what it answers, with any provider.
//!
//! Decides the conversation types. Promises: nothing that a provider sent is lost (what we do not know is kept as raw
//! JSON and goes back as it came). A codec is one module and one row of the table in `wire`. Leaves to others: sending
//! (`browser/`), what goes into a request (`session/`), and what an answer leads to (`run/`).

mod alike;
mod anthropic;
mod assembler;
mod catalog;
mod decoder;
pub mod errors;
mod files;
mod form;
mod gemini;
mod ids;
mod json;
mod lines;
mod list;
mod ollama;
mod openai;
mod openai_chat;
mod openai_responses;
mod presets;
pub mod served;
mod sse;
mod wire;

pub use assembler::Limits;
pub use catalog::{Ability, Catalog, Known};
pub use decoder::{Decoder, Frames};
pub use files::{File, FileKind};
pub use form::{Form, Means};
pub use presets::{Azure, Dialect, Effort, Ids, PRESETS, Preset, Replay, SERVED, Structured};
pub use wire::Wire;

use crate::error::{Code, ErrorInfo};
use crate::list::Listed;
use std::rc::Rc;

/// Who says a message of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// The model's thinking. Without a signature it is shown, but never sent back.
    Thinking {
        /// What can be shown; may be empty where the provider keeps it to itself.
        text: String,
        /// The provider's proof, sent back unchanged.
        signature: Option<String>,
    },
    /// The model asks for a tool.
    ToolCall {
        /// The provider's id of the call; never empty.
        id: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// The arguments as the model wrote them: JSON text, `{}` where it wrote none. May be no JSON at all.
        arguments: String,
    },
    /// A file of the person's.
    File(File),
    /// What a tool said.
    ToolResult {
        /// The id of the call that it answers.
        id: String,
        /// The tool's name as that call has it.
        name: String,
        /// The text for the model; never empty.
        text: String,
        /// Whether the call failed.
        is_error: bool,
        /// The files that it gave, each a [`Block::File`], where its wire has a place for them here.
        files: Vec<Block>,
    },
    /// What the provider added to the block before it (citations, a thought signature): the members of a JSON
    /// object, as JSON text. Not shown; sent back with that block, to the same provider. Never empty.
    Extra(String),
    /// Anything else a provider sent, as JSON text, sent back to the same provider as it came.
    Raw(String),
    /// A call that the provider carries out itself, for people and for other providers. Its own provider has it in the
    /// [`Block::Raw`] before it.
    ServerCall(Rc<ServerCall>),
    /// Where the answer has something from, behind all else of it.
    Cited(Rc<Cited>),
}

/// A call of a tool that the provider runs itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCall {
    /// The provider's id of it; empty: it gave none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// What the model gives it: JSON text.
    pub arguments: String,
    /// What it gave, in short.
    pub result: String,
    /// Whether it has done what it was asked for. `None`: nobody has said that it is over.
    pub done: Option<bool>,
}

impl ServerCall {
    /// One of which no more than the name is known.
    pub fn named(name: &str) -> Rc<ServerCall> {
        Rc::new(ServerCall::new(name))
    }

    /// The same, to say more of it.
    pub fn new(name: &str) -> ServerCall {
        ServerCall { name: name.into(), arguments: "{}".into(), ..ServerCall::default() }
    }
}

/// Where an answer has something from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cited {
    /// The address, of `http:` or `https:`.
    pub url: String,
    /// What it is called; empty: nobody says.
    pub title: String,
    /// What is taken from there, word for word; empty: nobody says.
    pub text: String,
    /// What of the answer has it from there: which of its shown blocks ([`Block::is_shown`]), and from where to where in its
    /// text, in UTF-16 units. Only the first: all of the block. Nothing: nobody says.
    pub at: Vec<u64>,
}

/// A kind of block that only its provider understands, where that is something it has looked up.
fn looked_up(kind: &str) -> Option<String> {
    const OWN: [&str; 4] = ["redacted_thinking", "reasoning", "compaction", "model_output"];
    (!OWN.contains(&kind)).then(|| kind.into())
}

impl Block {
    /// Whether a page shows it: text and thinking with something in them, calls, and where it has something from.
    /// [`Delta::part`] counts these.
    pub fn is_shown(&self) -> bool {
        match self {
            Block::Text(text) | Block::Thinking { text, .. } => !text.is_empty(),
            Block::ToolCall { .. } | Block::ServerCall(_) | Block::Cited(_) => true,
            Block::File(_) | Block::ToolResult { .. } | Block::Extra(_) | Block::Raw(_) => false,
        }
    }

    /// What kind of thing a provider has looked up for the model, where this block says that it did. What it says of its own
    /// thinking, and of what it has shortened, is the model's.
    pub fn from_outside(&self) -> Option<String> {
        let (Block::Raw(json) | Block::Extra(json)) = self else { return None };
        let value = crate::json::parse(json)?;
        if let Block::Extra(_) = self {
            let cites = |name: &&&str| {
                value.get(name).and_then(serde_json::Value::as_array).is_some_and(|all| !all.is_empty())
            };
            return ["citations", "annotations"].iter().find(cites).map(|name| (*name).into());
        }
        match value.get("type").and_then(serde_json::Value::as_str) {
            None if value.get(openai::DETAILS).is_some() => None,
            kind => looked_up(kind.unwrap_or_default()),
        }
    }

    /// Its text or thinking.
    pub fn words(&self) -> Option<&str> {
        match self {
            Block::Text(text) | Block::Thinking { text, .. } => Some(text),
            _ => None,
        }
    }

    /// How much it says to the person, in bytes: thinking is not said.
    pub fn said_len(&self) -> usize {
        match self {
            Block::Text(text) => text.len(),
            _ => 0,
        }
    }
}

/// Leaves out the provider's own tool calls that have no result. A paused answer that nobody goes on with must
/// not be sent with them; one that is gone on with must be sent as it came.
pub fn drop_open_server_calls(blocks: &mut Vec<Block>) {
    let member = |block: &Block, name: &str| match block {
        Block::Raw(json) => json::Members::of(json).unwrap_or_default().text(name).into_owned(),
        _ => String::new(),
    };
    let answered: Vec<String> = blocks.iter().map(|block| member(block, "tool_use_id")).list();
    blocks.retain(|block| {
        !member(block, "type").ends_with("_tool_use") || answered.contains(&member(block, "id"))
    });
}

/// Whom a conversation is written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// How it speaks.
    pub wire: Wire,
    /// Its habits.
    pub dialect: Dialect,
    /// What its answers are recorded under: only answers of the same name are its own.
    pub name: String,
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said; never empty.
    pub blocks: Vec<Block>,
    /// Whether it is an answer of the provider that is asked now: its thinking and raw blocks go back to nobody else.
    pub own: bool,
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments, as JSON text.
    pub input_schema: String,
}

/// How hard a model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// Not at all.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// What a request says besides the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The model's id.
    pub model: String,
    /// The system prompt; empty: none.
    pub system: String,
    /// How much it may answer; `None`: the codec's default.
    pub max_output_tokens: Option<u32>,
    /// What is known of the model; nothing where nobody knows it. No codec's default is above what it can answer.
    pub known: Known,
    /// Sent only when set, as the page wrote it (a JSON number).
    pub temperature: Option<String>,
    /// Sent only when set.
    pub reasoning: Option<Reasoning>,
    /// A JSON object (text) whose members go into the body as they are, over ours; its lists of tools behind ours.
    pub provider_options: Option<String>,
    /// The tools that the provider runs itself: in which list of the body each stands, and its item there.
    pub served: Vec<(&'static str, String)>,
    /// What the answer has to be.
    pub form: Option<Form>,
}

impl Settings {
    /// The schema that the wire's own member takes, and whether it is strict.
    fn schema(&self) -> Option<(&str, &'static str)> {
        self.form.as_ref()?.schema()
    }

    /// The tool that has to be called.
    fn forced(&self) -> Option<&str> {
        self.form.as_ref()?.forced()
    }

    /// The items of a list of the body for what the provider runs itself, behind ours and with commas between them.
    fn with_served(&self, list: &str, mut items: String) -> String {
        for (_, item) in self.served.iter().filter(|(name, _)| *name == list) {
            if !items.is_empty() {
                items.push(',');
            }
            items.push_str(item);
        }
        items
    }

    /// How much it may answer, where this is the codec's default.
    fn output_tokens(&self, default: u32) -> u64 {
        match self.max_output_tokens {
            Some(tokens) => tokens.into(),
            None => self.known.output.unwrap_or(u64::MAX).min(default.into()),
        }
    }

    /// Whether a body can be made of these and of the tools' schemas.
    fn check(&self, tools: &[ToolSpec]) -> Result<(), ErrorInfo> {
        let invalid = |message: &str| ErrorInfo::new(Code::InvalidConfig, message);
        if self.model.is_empty() {
            return Err(invalid("no model is set").hint("set model, or the provider's model"));
        }
        if self.temperature.as_deref().is_some_and(|number| !json::is_number(number)) {
            return Err(invalid("temperature is not a number"));
        }
        match tools.iter().find(|tool| json::Members::of(&tool.input_schema).is_none()) {
            None => Ok(()),
            Some(tool) => Err(ErrorInfo::new(
                Code::InvalidSchema,
                ["the input schema of tool ", &tool.name, " is not a JSON object"].concat(),
            )),
        }
    }
}

/// Where a provider is and what it wants to see; no secret in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The base URL, as the wire's official SDK takes it.
    pub base_url: String,
    /// The API's version, where the wire has a header for it or Azure a query; `None`: the wire's own, or the preset's.
    pub api_version: Option<String>,
    /// Its habits.
    pub dialect: Dialect,
}

impl Endpoint {
    /// The address of a path of the wire's. `model`: whom a request there is for, if it is for one.
    fn url(&self, path: &str, model: Option<&str>) -> Result<String, ErrorInfo> {
        let Some(azure) = self.dialect.azure else { return errors::join_url(&self.base_url, path) };
        let mut below = String::from(azure.root);
        if let (true, Some(model)) = (azure.deployments, model) {
            below.push_str("/deployments/");
            push_escaped(model, &mut below);
        }
        below.push_str(path);
        below.push_str("?api-version=");
        push_escaped(self.api_version.as_deref().unwrap_or(azure.version), &mut below);
        errors::join_url(&self.base_url, &below)
    }
}

/// Appends a text as a part of an address.
fn push_escaped(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            out.push('%');
            let digits = [byte >> 4, byte & 15].into_iter();
            out.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
        }
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It has said what it wanted to say.
    EndTurn,
    /// It waits for tools.
    ToolUse,
    /// The output limit cut it; a tool call that was open is not among the blocks.
    MaxTokens,
    /// The context window is full.
    ContextWindow,
    /// The provider paused a long turn of its own tools: send it back as it is and it goes on.
    Pause,
    /// It refused, with the provider's explanation where there is one.
    Refusal(Option<String>),
    /// A stop sequence.
    StopSequence,
}

/// Tokens, as the provider counts them. Cached ones are apart: the total input is the sum of the three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read without a cache.
    pub input_tokens: u64,
    /// Written by the model, thinking included.
    pub output_tokens: u64,
    /// Read from the cache.
    pub cache_read_tokens: u64,
    /// Written to the cache.
    pub cache_write_tokens: u64,
    /// Of the output, spent on thinking.
    pub reasoning_tokens: u64,
    /// How often the provider has searched the web for it, as it bills that.
    pub searches: u64,
}

impl Usage {
    /// How many tokens the model has read.
    pub fn read(&self) -> u64 {
        self.input_tokens.saturating_add(self.cache_read_tokens).saturating_add(self.cache_write_tokens)
    }

    /// Whether a page can count it: JavaScript's numbers are exact up to 2^53.
    pub fn is_exact(&self) -> bool {
        let Usage {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            reasoning_tokens,
            searches,
        } = *self;
        let all =
            [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, searches];
        all.iter().all(|count| *count < 1 << 53)
    }
}

/// A whole answer, or what came of one before it broke off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it says, in order, without empty blocks.
    pub blocks: Vec<Block>,
    /// Why it ended; `None`: it broke off.
    pub stop: Option<StopReason>,
    /// What it cost.
    pub usage: Usage,
    /// The model that answered, as it calls itself.
    pub model: Option<String>,
    /// The provider's id of the answer.
    pub id: Option<String>,
}

/// What kind of text a piece of a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// Text of the answer.
    Text,
    /// Thinking.
    Thinking,
    /// A tool call begins (its name) - told once, before its arguments.
    ToolCall,
    /// The provider begins to run a tool itself (its name) - told once.
    ServerCall,
    /// The arguments of a tool call, as JSON text, where they are [asked for](Decoder::telling).
    Arguments,
}

impl DeltaKind {
    /// Whether it is text of the answer or thinking.
    pub fn is_text(self) -> bool {
        matches!(self, DeltaKind::Text | DeltaKind::Thinking)
    }
}

/// A piece of an answer while it streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// Which of the answer's shown blocks ([`Block::is_shown`]), from 0.
    pub part: u32,
    /// Its kind.
    pub kind: DeltaKind,
    /// The new text; never empty.
    pub text: &'a str,
}
