//! The table of wires: what each codec gives, in one row.
//!
//! Decides what a codec is, and what all requests have in common. Promises: a new one is a module and a row of
//! [`wires`]. What a wire does its own way is said in its row, and its functions are reached through the row alone.
//! Leaves to others: what the bytes mean (the codecs), which wire a provider speaks and its habits (`presets`).

use super::assembler::Assembler;
use super::errors::{self, check_header};
use super::json::Body;
use super::list::{self, List};
use super::served::Unit;
use super::{
    Delta, Dialect, Endpoint, Message, Preset, Settings, ToolSpec, Usage, anthropic, gemini, ollama,
    openai_chat, openai_responses,
};
use crate::error::ErrorInfo;
use crate::list::Listed;
use crate::ports::{HttpRequest, Millis};
use crate::rooms::{Room, Rooms};
use serde_json::Value;

/// What marks off one event of an answer from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// Lines, each an object.
    Lines,
}

/// The list of a body for tools that the provider runs itself, where these are not among the others.
const PLUGINS: &str = "plugins";

/// What a codec gives.
pub(super) struct Codec {
    /// The header that carries the key, and what stands before the key in its value.
    pub key_header: (&'static str, &'static str),
    /// The headers that it wants to see with each request. The first has the API's version, which a page may set.
    pub headers: &'static [(&'static str, &'static str)],
    /// Where a request goes, below the base URL.
    pub path: &'static str,
    /// Whether a message has a place for a document.
    pub documents: bool,
    /// Whether the result of a tool has a place for files. Elsewhere they follow as what a person says.
    pub files_in_results: bool,
    /// What the provider counts the places of a text in, where it runs tools itself. `None`: a request has no place for such.
    pub served: Option<Unit>,
    /// How an answer is cut into events.
    pub framing: Framing,
    /// Where its list of models is.
    pub list: List,
    /// Appends a message, as one or more objects with commas between them and to what is there, or nothing.
    pub encode_message: fn(&Dialect, &Message, &mut String),
    /// Writes the members of a request that follow the model's id.
    pub write: fn(&mut Body<'_>, &Dialect, &Settings, &[ToolSpec], &str),
    /// What reads an answer.
    pub stream: fn() -> Box<dyn Stream>,
    /// What the last three are in: they may be called when this room is there.
    pub room: Room,
}

impl Codec {
    /// What it wants to see with each request besides the key.
    pub fn headers(&self, endpoint: &Endpoint) -> Vec<(String, String)> {
        let own = |(name, value): &(&str, &str)| (String::from(*name), String::from(*value));
        let mut headers = self.headers.iter().map(own).list();
        if let (Some((_, value)), Some(version)) = (headers.first_mut(), &endpoint.api_version) {
            value.clone_from(version);
        }
        headers
    }

    /// The body of a request.
    fn body(
        &self,
        dialect: &Dialect,
        settings: &Settings,
        tools: &[ToolSpec],
        messages: &str,
    ) -> Result<String, ErrorInfo> {
        settings.check(tools)?;
        let room = messages.len() + settings.system.len() + 4096;
        let mut body = Body::new(room, settings.provider_options.as_deref())?;
        body.text("model", &settings.model);
        if settings.served.iter().any(|(list, _)| *list == PLUGINS) {
            body.list(PLUGINS, &settings.with_served(PLUGINS, String::new()));
        }
        (self.write)(&mut body, dialect, settings, tools, messages);
        Ok(body.finish())
    }
}

/// The row of what a function of the page speaks. No caller can see what it calls, and take in what is to arrive with its
/// room.
pub(super) fn custom() -> &'static Codec {
    std::hint::black_box(&openai_chat::CUSTOM)
}

/// Reads the events of one answer.
pub(super) trait Stream {
    /// One event: its name (empty where the framing has none) and its data. Whether it has done nothing but append: the
    /// same data again, with another text in the same place, would append that to the same block, whatever the name.
    ///
    /// # Errors
    /// What the provider tells in the stream, or `protocol`.
    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut Assembler,
        sink: &mut dyn FnMut(Delta<'_>),
    ) -> Result<bool, ErrorInfo>;

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
    /// Google's Interactions.
    Gemini = "gemini", gemini::CODEC;
}

impl Wire {
    /// How a conversation is written for a function of the page.
    pub const CUSTOM: Wire = Wire::OpenAiChat;

    /// What must be there before it is spoken.
    pub fn rooms(self) -> Rooms {
        Rooms::of(self.codec().room)
    }

    /// What a provider of this kind and preset needs; none where there is no such provider.
    pub fn rooms_of(kind: &str, preset: &str) -> Rooms {
        match kind {
            "custom" => Rooms::of(custom().room),
            _ => Preset::find(kind, preset).map_or(Rooms::NONE, |row| row.wire.rooms()),
        }
    }

    /// Whether the result of a tool has a place for files.
    pub fn has_files_in_results(self) -> bool {
        self.codec().files_in_results
    }

    /// What the provider counts the places of a text in, where it runs tools itself. `None`: a request has no place for such.
    pub fn served(self) -> Option<Unit> {
        self.codec().served
    }

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
        let codec = self.codec();
        let mut headers = codec.headers(endpoint);
        for (name, value) in &headers {
            check_header(name, value)?;
        }
        headers.insert(0, ("content-type".into(), "application/json".into()));
        let body = codec.body(&endpoint.dialect, settings, tools, messages)?;
        Ok(HttpRequest { url: endpoint.url(codec.path, Some(&settings.model))?, headers, body })
    }

    /// The request that a function of the page gets: a `ChatRequest` as JSON text. Its messages are those of
    /// [`Wire::CUSTOM`].
    ///
    /// # Errors
    /// `invalid_config` or `invalid_schema`, naming what cannot be sent.
    pub fn custom_request(
        settings: &Settings,
        tools: &[ToolSpec],
        messages: &str,
    ) -> Result<String, ErrorInfo> {
        custom().body(&Dialect::CUSTOM, settings, tools, messages)
    }

    /// Whether a page's `apiVersion` can be sent, on the wires that have a header for it.
    ///
    /// # Errors
    /// `invalid_config`, naming the header.
    pub fn check_version(version: &str) -> Result<(), ErrorInfo> {
        let mut headers = Wire::ALL.iter().filter_map(|wire| wire.codec().headers.first());
        headers.try_for_each(|(name, _)| check_header(name, version))
    }

    /// The cheapest request that shows whether a key is good, without the key; `list`: the one for the list of models.
    ///
    /// # Errors
    /// `invalid_config`: the base URL is none.
    pub fn ask(self, endpoint: &Endpoint, list: bool) -> Result<HttpRequest, ErrorInfo> {
        list::request(self.codec(), endpoint, list)
    }

    /// What the answer to such a request says: the models, `{ id, name? }` each.
    ///
    /// # Errors
    /// `protocol`: it is no such answer; or what it says went wrong.
    pub fn models(self, endpoint: &Endpoint, list: bool, body: &str) -> Result<Vec<Value>, ErrorInfo> {
        list::read(&self.codec().list, endpoint, list, body)
    }

    /// The header that carries the key for a server of these habits: its name and what stands before the key in its value.
    pub fn key_header(self, dialect: &Dialect) -> (&'static str, &'static str) {
        match dialect.azure {
            Some(_) => ("api-key", ""),
            None => self.codec().key_header,
        }
    }

    /// What an answer means that is not 2xx. Its body may be cut anywhere; the provider's words are kept.
    pub fn error(self, status: u16, headers: &[(String, String)], body: &str, now: Millis) -> ErrorInfo {
        errors::http(status, headers, body, now)
    }
}
