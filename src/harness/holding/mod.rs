//! How this page holds its workspace: what it begins with, and what is still under way of it.
//!
//! Promises: at most one start is on its way. Leaves to others: how a workspace is got (`start.rs`), and how it is let go
//! (`ends.rs`).

mod account;
pub(in crate::harness) mod archiving;
pub(in crate::harness) mod arrivals;
mod clearing;
mod ends;
mod removal;
pub(in crate::harness) mod start;
mod take;

use crate::harness::core::{Core, Lifecycle};
use crate::harness::holding::start::Start;
use crate::harness::reads::{After, Reads};
use crate::ports::Millis;

/// How this page holds its workspace.
#[derive(Debug, Default)]
pub(in crate::harness) struct Holding {
    pub closed: bool,
    /// What is closed once everything is stored; within it the command that is answered then.
    pub closing: Option<Option<u32>>,
    /// Until which epoch an agent was stopped on aim: what was always allowed until then is not any more.
    pub stopped: u64,
    pub start: Option<Start>,
    /// The sessions that are to be archived by the policy, the next one last.
    pub to_archive: Vec<String>,
    /// Those that it tried to archive since all were looked through last: what was refused keeps no other from its turn.
    pub tried: Vec<String>,
    /// When it is next looked for them.
    pub look_at: Millis,
    /// The commit that takes the workspace.
    pub epoch_commit: Option<u64>,
}

impl Holding {
    /// Whether anybody holds the workspace is known.
    pub(in crate::harness) fn peeked(&mut self, core: &mut Core, reads: &mut Reads, held: bool) {
        let elsewhere = held && self.start.is_none() && core.state.lifecycle != Lifecycle::Running;
        for after in std::mem::take(&mut reads.peeking) {
            match after {
                After::Look(mut waiting) => {
                    waiting.held = Some(elsewhere);
                    reads.look_at(core, *waiting);
                }
                After::List { command, of, .. } => reads.read_heads(core, command, of, elsewhere),
                _ => {}
            }
        }
    }
}
