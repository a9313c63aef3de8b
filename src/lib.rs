//! Lodger: an LLM agent that lives in a web page.
//!
//! A session is its journal. A run is a pure machine that reads inputs and writes journal entries. Everything
//! a person or a page sees is a view of the journal.
//!
//! The rooms, and the one direction in which they may import (a test in `tests/house.rs` keeps it):
//! `js -> browser -> harness -> session -> run -> prompt -> tools -> workspace`; `journal`, `model`, `ports`,
//! `error`, `object` and `maps` lie under all.

#[cfg(target_arch = "wasm32")]
pub mod browser;
pub mod error;
pub mod harness;
pub mod journal;
#[cfg(all(target_arch = "wasm32", feature = "npm"))]
mod js;
pub mod maps;
pub mod model;
pub mod object;
pub mod ports;
pub mod prompt;
pub mod run;
pub mod session;
pub mod tools;
pub mod workspace;
