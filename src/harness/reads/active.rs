//! Runs that are active, by what is stored: also those that another tab works on, in whatever version.
//!
//! Decides which runs count: what works, and what waits for a person. Promises: tasks without a session count too, and of those
//! that are over nothing is read where they have no rows. No more is told than a number, so it needs no operator. Leaves to others:
//! what is made of it (`js/tabs`), and what no row tells, such as a call of the page's own code.

use crate::harness::core::Core;
use crate::harness::core::head::Head;
use crate::harness::core::tasks::{self, TASKS_KEY};
use crate::harness::reads::{After, Reads};
use crate::ports::{Read, Rows, Table};

/// Whether a session has an active run, by its head. A run of another epoch than this is no longer anybody's: its session is
/// damaged, so the last holder has not taken it. No signature is asked for, because a script that can change a head can also take
/// the agent over.
fn is_active(head: &Head, epoch: u64) -> bool {
    head.is_at_work() && head.holder().is_none_or(|holder| holder == epoch)
}

impl Reads {
    /// Counts the runs that are active. First it is read which epoch it is, and which tasks are not over.
    pub(in crate::harness) fn count_active(&mut self, core: &mut Core, command: u32) {
        let meta = |key: &str| Read::all(Table::Meta, vec![key.into()]);
        let reads = vec![meta("epoch"), meta(TASKS_KEY), tasks::of_tasks(true)];
        self.read_after_commit(core, reads, After::Active { command, epoch: None });
    }

    /// That was read; then (`epoch`) the heads were.
    pub(in crate::harness) fn active_came(
        &mut self,
        core: &mut Core,
        command: u32,
        epoch: Option<u64>,
        rows: &[Rows],
    ) {
        if let Some(epoch) = epoch {
            let mut active = 0_u64;
            for rows in rows {
                for (_, row) in rows {
                    active += u64::from(is_active(&Head::parse(row), epoch));
                }
            }
            return core.reply_now(command, Ok(Some(active.to_string())));
        }
        let first = |n: usize| rows.get(n).and_then(|rows| rows.first()).map(|(_, text)| text);
        let epoch = first(0).and_then(|text| text.parse().ok()).unwrap_or_default();
        let mut reads = Vec::from(tasks::heads_of_others());
        // The last holder may be of a version that writes no rows for tasks.
        if first(0) != first(1) {
            reads.push(tasks::of_tasks(false));
        } else if let Some(open) = rows.get(2) {
            for (key, text) in open {
                if let (Some(session), true) = (key.last(), text.is_empty()) {
                    reads.push(Read::all(Table::Heads, vec![session.clone()]));
                }
            }
        }
        self.read_after_commit(core, reads, After::Active { command, epoch: Some(epoch) });
    }
}
