//! Runs whose time is over, and answers that have kept silent too long.
//!
//! Leaves to others: how long each may take (`calls/watch`).

use crate::harness::core::Core;
use crate::harness::runner::Runner;
use crate::journal::StoppedBy;
use crate::model::errors::without_network;

impl Runner {
    /// Ends the run of a session if its time is over. `false`: it has time, or there is none.
    pub(in crate::harness) fn end_overdue(&mut self, core: &mut Core, session: &str) -> bool {
        let over = self.setup.over_at(core, session).is_some_and(|at| at <= core.now);
        if over {
            self.interrupt_session(core, session, StoppedBy::Timeout, false);
        }
        over
    }

    /// The same with every session.
    pub(in crate::harness) fn end_all_overdue(&mut self, core: &mut Core) {
        for session in core.sessions.ids() {
            self.end_overdue(core, &session);
        }
    }

    /// Gives up the answers that have kept silent too long. `online`: there is a network.
    pub(in crate::harness) fn give_up_silent(&mut self, core: &mut Core, online: bool) {
        let now = core.now;
        for call in self.calls.models.keys(&|model| model.asked.watch.due().is_some_and(|due| due <= now)) {
            let Some(model) = self.calls.models.get_mut(call) else { continue };
            let Some(mut error) = model.asked.watch.look(now) else { continue };
            if let Some((http, _)) = model.asked.http.as_ref().filter(|_| !online) {
                error = without_network(error, &http.endpoint.base_url);
            }
            self.calls.let_go(core, call);
            self.answered(core, call, Err((error, None)));
        }
    }
}
