//! Lodger: an LLM agent that lives in a web page.
//!
//! A session is its journal. A run is a pure machine that reads inputs and writes journal entries. Everything
//! a person or a page sees is a view of the journal.
//!
//! # The rooms
//!
//! From the ground up; each may import those before it and none after it (a test in `tests/host/house.rs` keeps that).
//!
//! | room | what it decides |
//! |---|---|
//! | [`find`] | one text in another; texts joined |
//! | [`list`] | lists from iterators, small in the module |
//! | [`maps`] | maps and sorting that are small in the module |
//! | [`work`] | how much work was done on what others have made |
//! | [`json`] | JSON: read byte by byte, as a tree, and written |
//! | [`object`] | JSON objects, put together member by member |
//! | [`error`] | the stable codes, and what to do about each |
//! | [`protocol`] | what can be asked of the harness: the table of commands, and the reader of arguments |
//! | [`ports`] | what the core asks of the world, as data; a store in memory |
//! | [`model`] | conversations, and one codec for each wire |
//! | [`journal`] | the entries of a session, and how they are stored |
//! | [`workspace`] | pages, their tree, links, versions, search |
//! | [`tools`] | what tools there are, and whether a call may run |
//! | [`memory`] | what is remembered from one conversation to the next |
//! | [`prompt`] | what the model is told besides the conversation |
//! | [`run`] | one prompt, processed to its end |
//! | [`session`] | what a journal adds up to: transcript, history, view |
//! | [`shapes`] | what an app in Rust gives and is told, as structs |
//! | [`harness`] | lifecycle, commands, events: the machine that the rest of the world drives |
//! | `browser` | the world as a browser gives it; on `wasm32` only |
//! | `js` | the border to clients in JavaScript, and what the npm package calls; on `wasm32` only |
//! | `app` | the API for apps in Rust; on `wasm32` only |
//!
//! # In a wasm app
//!
//! Open an `app::Workspace`, start the agent, send messages; `examples/wasm-app` is a whole app. In an app
//! written in JavaScript, use the npm package `lodger`.
//!
//! # Anywhere else
//!
//! The core is one synchronous machine without a browser, clock or network in it. Inputs go in, actions come
//! out, and the host that drives it does them. This is all that a start takes:
//!
//! ```
//! use lodger::harness::{Action, By, Harness, Input, Lifecycle, Options};
//! use lodger::ports::MemoryStore;
//! use lodger::protocol::read;
//! use serde_json::json;
//!
//! let mut harness = Harness::new(Options {
//!     name: "demo".into(),
//!     page_tools: true,
//!     holder: "me".into(),
//!     operator: Options::local_operator(),
//! });
//! let mut store = MemoryStore::new();
//! let mut now = 1_000; // milliseconds since the epoch, from any clock
//!
//! let request = read("startAgent", json!({ "model": "any" }));
//! harness.handle(now, Input::Command { id: 1, request, fresh: "a1".into(), by: By::Here });
//! let mut answer = None;
//! while let Some(action) = harness.poll(now) {
//!     now += 1;
//!     match action {
//!         Action::Lock { .. } => harness.handle(now, Input::Locked(true)),
//!         // The skills that workspaces share: there is only this one.
//!         Action::Account { id, .. } => harness.handle(now, Input::Account { read: id, result: Ok(vec![]) }),
//!         Action::Commit { id, commit } => {
//!             harness.handle(now, Input::Committed { commit: id, result: store.commit(&commit) });
//!         }
//!         Action::Read { id, reads } => {
//!             let rows = reads.iter().map(|read| store.read(read)).collect();
//!             harness.handle(now, Input::Read { read: id, result: Ok(rows) });
//!         }
//!         Action::Sign { id, texts } => {
//!             let result = Ok(Some(store.signatures(&texts)));
//!             harness.handle(now, Input::Signed { id, result, strict: false });
//!         }
//!         // Rooms that arrive when they are needed: outside of the npm package all are there.
//!         Action::Room(room) => harness.handle(now, Input::Room { room, result: Ok(()) }),
//!         Action::Reply { result, .. } => answer = Some(result),
//!         // Events for the page, calls of models and tools: nothing of it is needed to start.
//!         _ => {}
//!     }
//! }
//! assert_eq!(answer, Some(Ok(None)));
//! assert_eq!(harness.lifecycle(), &Lifecycle::Running);
//! ```

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test tells its story in one piece"))]

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(target_arch = "wasm32")]
pub mod browser;
pub mod error;
pub mod find;
pub mod harness;
pub mod journal;
#[cfg(target_arch = "wasm32")]
mod js;
pub mod json;
pub mod list;
pub mod maps;
pub mod memory;
pub mod model;
pub mod object;
pub mod ports;
pub mod prompt;
pub mod protocol;
pub mod rooms;
pub mod run;
pub mod session;
pub mod shapes;
pub mod tools;
pub mod work;
pub mod workspace;

/// What the documents show is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/start/rust.md")]
pub struct Start;
