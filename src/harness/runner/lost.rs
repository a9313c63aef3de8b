//! Runs that a lost page left, and those that another page had at work.
//!
//! Decides which of them go on of themselves. Promises: what the drafts kept of an answer is on record. Leaves to others:
//! when a session is taken (`holding/take`).

use crate::harness::core::{Core, DEFAULT_SESSION, drafts as drafted};
use crate::harness::runner::Runner;
use crate::journal::{Ask, Entry};
use crate::list::Listed;
use crate::ports::Rows;
use crate::run::Run;
use crate::session::Session;

impl Runner {
    /// Goes on with the run that a lost page left in a session, if that is this operator's.
    pub(in crate::harness) fn go_on_with(&mut self, core: &mut Core, session: &str) {
        let held = core.current(session).filter(|run| run.held).map(|run| run.id.clone());
        let (Some(run), Ok(())) = (held, core.must_own_session(session)) else { return };
        if core.sessions.is_benched(session) {
            return;
        }
        if let (true, Ok(mut args)) = (session != DEFAULT_SESSION, core.as_operator()) {
            args.text("action", "reconnect");
            if self.ask_session(core, session, Ask::Recover, &args.done()).is_err() {
                return;
            }
        }
        self.go_on(core, session, &run);
    }

    /// A run that was at work when its page went away is held, with what the drafts kept of its answer.
    pub(in crate::harness) fn lose(&mut self, core: &mut Core, session: &str, drafts: &Rows) {
        let Some(run) = core.current(session).filter(|run| run.held || run.working()) else { return };
        // The tools with an effect were waited for when a run was put aside.
        let is_lost = |part: &&Run| if run.held { part.hangs() } else { part.working() };
        let parts = run.parts().into_iter().filter(is_lost);
        let working: Vec<String> = parts.map(|run| run.id.clone()).list();
        for run in working.into_iter().rev() {
            self.append(core, session, Some(&run), &drafted::lost(&run, drafts));
        }
        // That it has failed is on record before anybody does anything about it.
        let next = |core: &Core| core.session(session).and_then(Session::next);
        while let Some((run, entry @ Entry::Recorded { .. })) = next(core) {
            self.append(core, session, run.as_deref(), &entry);
        }
    }
}
