//! How this page holds its workspace: what it begins with, and what is still under way of it.
//!
//! Promises: at most one start is on its way. Leaves to others: how a workspace is got (`start.rs`), and how it is let go
//! (`ends.rs`).

mod account;
mod ends;
pub(in crate::harness) mod start;

use crate::harness::holding::start::Start;

/// How this page holds its workspace.
#[derive(Debug, Default)]
pub(in crate::harness) struct Holding {
    pub closed: bool,
    /// What is closed once everything is stored; within it the command that is answered then.
    pub closing: Option<Option<u32>>,
    /// Until which epoch an agent was stopped on purpose: what was always allowed until then is not any more.
    pub stopped: u64,
    pub start: Option<Start>,
    /// The commit that takes the workspace.
    pub epoch_commit: Option<u64>,
}
