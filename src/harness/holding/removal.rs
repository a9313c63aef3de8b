//! Removed sessions, when nothing of them is to be left.
//!
//! Decides when a removal can no longer be undone. Promises: the holder of that moment sees to it, be it at a later start. Leaves to
//! others: how long that is (`core/removed`), and what goes then (`reads/remains`).

use crate::harness::core::{Core, Lifecycle};
use crate::harness::holding::Holding;
use crate::harness::holding::start::Aim;
use crate::harness::reads::Reads;
use crate::ports::Millis;

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
            reads.look_for_remains(core, None);
        } else {
            self.begin(core, Aim::Sweep);
        }
    }
}
