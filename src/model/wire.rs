//! The table of wires: what each codec gives, in one row.
//!
//! Decides what a codec is. Promises: a new one is a module and a row of [`wires`].
//! Leaves to others: what the bytes mean (the codecs), and which wire a provider speaks (`presets`).

use super::assembler::Assembler;
use super::list::List;
use super::{
    Delta, Dialect, Endpoint, Message, Settings, ToolSpec, Usage, anthropic, errors, list, ollama,
    openai_chat, openai_responses,
};
use crate::error::ErrorInfo;
use crate::ports::{HttpRequest, Millis};
use serde_json::Value;

/// What marks off one event of an answer from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// Lines, each an object.
    Lines,
}

/// What a codec gives.
pub(super) struct Codec {
    /// The header that carries the key, and what stands before the key in its value.
    pub key_header: (&'static str, &'static str),
    /// Appends a message, as one or more objects with commas between them and to what is there, or nothing.
    pub encode_message: fn(&Dialect, &Message, &mut String),
    /// Makes the whole request, without the key.
    pub request: Request,
    /// How an answer is cut into events.
    pub framing: Framing,
    /// Where its list of models is.
    pub list: List,
    /// What reads an answer.
    pub stream: fn() -> Box<dyn Stream>,
}

type Request = fn(&Endpoint, &Settings, &[ToolSpec], &str) -> Result<HttpRequest, ErrorInfo>;

/// Reads the events of one answer.
pub(super) trait Stream {
    /// One event: its name (empty where the framing has none) and its data.
    ///
    /// # Errors
    /// What the provider tells in the stream, or `protocol`.
    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<(), ErrorInfo>;

    /// Whether the provider has said that this is all; then `answer.stop` is known.
    fn whole(&self, answer: &mut Assembler) -> bool;

    /// What the answer has used up, as far as the provider has told.
    fn usage(&self, answer: &Assembler) -> Usage {
        answer.usage
    }

    /// Completes what has come with what was not worth doing for every event.
    fn complete(&self, answer: &mut Assembler) {
        let _ = answer;
    }
}

/// Not by each codec: what a codec can print of itself is in the module as soon as one can be asked to.
impl std::fmt::Debug for dyn Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

macro_rules! wires {
    ($( $(#[$doc:meta])* $name:ident = $text:literal, $codec:expr ;)*) => {
        /// How a provider speaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Wire { $( $(#[$doc])* $name, )* }

        impl Wire {
            /// All of them.
            pub const ALL: &'static [Wire] = &[ $( Wire::$name, )* ];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self { $( Wire::$name => $text, )* }
            }

            pub(super) fn codec(self) -> &'static Codec {
                match self { $( Wire::$name => &$codec, )* }
            }
        }
    };
}

wires! {
    /// Anthropic Messages.
    Anthropic = "anthropic", anthropic::CODEC;
    /// OpenAI Chat Completions, and what is shaped like it.
    OpenAiChat = "openai-chat", openai_chat::CODEC;
    /// OpenAI Responses, and xAI's.
    OpenAiResponses = "openai-responses", openai_responses::CODEC;
    /// Ollama's own API.
    Ollama = "ollama", ollama::CODEC;
}

impl Wire {
    /// Appends a message as one or more objects of this wire's list of messages, with commas between them and
    /// to what is there. Nothing when there is nothing that the provider would accept.
    pub fn encode_message(self, dialect: &Dialect, message: &Message, out: &mut String) {
        (self.codec().encode_message)(dialect, message, out);
    }

    /// The whole request, without the key. `messages` is what [`Wire::encode_message`] has appended so far.
    ///
    /// # Errors
    /// `invalid_config` or `invalid_schema`, naming what cannot be sent.
    pub fn request(
        self,
        endpoint: &Endpoint,
        settings: &Settings,
        tools: &[ToolSpec],
        messages: &str,
    ) -> Result<HttpRequest, ErrorInfo> {
        (self.codec().request)(endpoint, settings, tools, messages)
    }

    /// The cheapest request that shows whether a key is good, without the key; `list`: the one for the list of models.
    ///
    /// # Errors
    /// `invalid_config`: the base URL is none.
    pub fn ask(self, endpoint: &Endpoint, list: bool) -> Result<HttpRequest, ErrorInfo> {
        list::request(&self.codec().list, endpoint, list)
    }

    /// What the answer to such a request says: the models, `{ id, name? }` each.
    ///
    /// # Errors
    /// `protocol`: it is no such answer; or what it says went wrong.
    pub fn models(self, endpoint: &Endpoint, list: bool, body: &str) -> Result<Vec<Value>, ErrorInfo> {
        list::read(&self.codec().list, endpoint, list, body)
    }

    /// The header that carries the key: its name and what stands before the key in its value.
    pub fn key_header(self) -> (&'static str, &'static str) {
        self.codec().key_header
    }

    /// What an answer means that is not 2xx. Its body may be cut anywhere; the provider's words are kept.
    pub fn error(self, status: u16, headers: &[(String, String)], body: &str, now: Millis) -> ErrorInfo {
        errors::http(status, headers, body, now)
    }
}
