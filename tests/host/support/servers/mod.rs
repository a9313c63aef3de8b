//! The provider's side of each wire: what a model says, written as its API would write it.
//!
//! Decides how an answer looks on a wire, and nothing of how it is read. Promises: a wire whose form has no way to
//! say something says so with `None`. Leaves to others: what a codec must make of it (`cases::conformance`).

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use lodger::error::Code;
use lodger::model::{Usage, Wire};

/// One answer.
pub struct Case {
    pub name: &'static str,
    pub says: &'static [Say],
    pub end: End,
    pub usage: Usage,
}

/// A piece of an answer.
#[derive(Clone, Copy, PartialEq)]
pub enum Say {
    Text(&'static str),
    Thinking(&'static str),
    /// A tool call: its id, its name, its arguments as the model writes them (empty: none).
    Call(&'static str, &'static str, &'static str),
}

/// How an answer ends.
#[derive(Clone, Copy)]
pub enum End {
    Turn,
    /// At the output limit.
    Length,
    /// The model or its provider refuses, with the words for it.
    Refusal(Option<&'static str>),
    /// An error in the middle of the stream.
    Error,
}

/// A provider of a wire.
pub struct Server {
    pub wire: Wire,
    /// The body of an answer.
    pub answer: fn(&Case) -> Option<String>,
    /// What the form can tell of what an answer cost; the rest is 0.
    pub usage: fn(Usage) -> Usage,
    /// Whether what it cost comes after the answer is whole.
    pub late_usage: bool,
    /// Whether its calls have ids.
    pub call_ids: bool,
    /// Whether it says where a call ends: without, the last call of a broken answer may lack something.
    pub ends_calls: bool,
    /// What its error in the middle of a stream means.
    pub breaks: Code,
    /// The status and the body of a failure before anything came.
    pub failure: fn(Code) -> Option<(u16, &'static str)>,
}

/// One for each wire.
pub const SERVERS: &[Server] =
    &[anthropic::SERVER, openai_chat::SERVER, openai_responses::SERVER, ollama::SERVER, gemini::SERVER];

/// A text in the pieces in which it is sent: of every length, split between characters.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while !rest.is_empty() {
        let count = (pieces.len() % 7 + 1).min(rest.len());
        pieces.push(rest.drain(..count).collect());
    }
    pieces
}
