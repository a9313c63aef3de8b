//! Removed sessions, until nothing is left of them.
//!
//! Decides what goes when a removal can no longer be undone. Promises: afterwards no row speaks of the session. The holder
//! of that moment sees to it, be it at a later start. Leaves to others: how long that is (`core/removed`).

use crate::harness::core::removed::erase;
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle, tasks};
use crate::harness::holding::Holding;
use crate::harness::holding::start::Aim;
use crate::harness::reads::Reads;
use crate::list::Listed;
use crate::ports::{Millis, Rows, Table, Write};

impl Holding {
    /// When the first removed session is to go, if one is.
    pub(in crate::harness) fn removal_due(&self, core: &Core) -> Option<Millis> {
        let can = matches!(core.state.lifecycle, Lifecycle::Running | Lifecycle::Stopped);
        if !can || self.start.is_some() || self.closing.is_some() {
            return None;
        }
        core.sessions.heads().filter_map(|(session, _)| core.gone_at(session)).min()
    }

    /// Erases what can no longer be brought back; borrows the workspace for it where no agent runs.
    pub(in crate::harness) fn end_removals(&mut self, core: &mut Core, reads: &mut Reads) {
        if self.removal_due(core).is_none_or(|due| due > core.now) {
            return;
        }
        if core.state.lifecycle == Lifecycle::Running {
            reads.look_for_remains(core, false);
        } else {
            self.begin(core, Aim::Sweep);
        }
    }

    /// Nothing is left of the removed sessions but their files. `rows`: which session each run is of. `first`: what is known of
    /// runs of the first session is of one that was removed.
    pub(in crate::harness) fn erase_removed(&self, core: &mut Core, rows: &[Rows], first: bool) {
        let is_over = |session: &&str| core.gone_at(session).is_some_and(|at| at <= core.now);
        let gone: Vec<String> =
            core.sessions.heads().map(|(session, _)| session).filter(is_over).map(Into::into).list();
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        for (key, session) in part(0) {
            if gone.contains(session) || (first && session == DEFAULT_SESSION) {
                core.outbox.write(Write::DeletePrefix { table: Table::Meta, prefix: key.clone() });
            }
        }
        for session in &gone {
            erase(&mut core.outbox, session);
            core.outbox.write(tasks::no_row(session));
        }
        for session in &gone {
            core.sessions.remove(session);
        }
        core.outbox.strictly();
    }
}
