//! Tools: what the model may do, and the checks before it is done.
//!
//! Decides which tools there are (`registry`), what one is (`definition`), and whether a call may run (`permit`, with
//! `gate` and `policy`). Decides what JSON Schema says of a value (`schema`), and how much of a result is kept
//! (`result`). Has the harness's own tools (`own`) and the twelve tools on the workspace's pages (`pages`). Promises: a
//! call that may not run, or cannot, is an error with a code, which is an answer to the model. Leaves to others: running
//! the page's own functions (`run/`, `js/`).

pub mod definition;
pub mod gate;
pub mod own;
pub mod pages;
pub mod permit;
pub mod policy;
pub mod registry;
pub mod result;
pub mod schema;

pub use crate::journal::Verdict;
pub use definition::{Definition, OnResume, Origin, Source};
pub use gate::{Checked, gate};
pub use permit::{Answers, Caller, Facts, Grant, Permit, Wanted, by_rules, decide, empties_page};
pub use policy::Policy;
pub use registry::Registry;
pub use result::{MAX_RESULT_BYTES, ToolText};
