//! The world, as a browser (or Node) gives it.
//!
//! Decides nothing: the [`Pump`] does what the harness says and tells it what came of it. Promises: no borrow
//! of Rust data lives across an await or a call into JS. A request that nobody wants is aborted. Locks,
//! fetches, timers and connections are held on the JS side (`/js/host/env.js`), because a dead module cannot let them
//! go. They are in a scope that can be disposed without it. Leaves to others: the shapes of messages (`js/`).

mod account;
mod answers;
mod bytes;
mod env;
mod fetch;
mod idb;
mod patterns;
mod pump;
mod signer;
mod store;
mod task;
mod vault;
mod volatile;

pub use crate::session::operator::Operator;
pub use account::delete;
pub use env::Scope;
pub use idb::Gone;
pub use patterns::Engine;
pub use pump::{Deliver, Opening, Pump, break_down};
pub use store::Store;
pub use task::promise;
