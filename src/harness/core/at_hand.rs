//! What every part asks of the sessions at hand and of their runs.
//!
//! Promises: nothing here changes a journal. Leaves to others: what is known of a session (`slots`), and what a run has
//! come to (`run/`).

use crate::harness::core::slots::AtHand;
use crate::harness::core::{Core, DEFAULT_SESSION, outbox};
use crate::ports::{Expect, Key, Table, Write};
use crate::rooms::{Room, enter};
use crate::run::{Again, Call, CallState, Run};
use crate::session;
use crate::session::Session;
use crate::session::transitions::Status;
use crate::tools::gate;
use serde_json::Value;

/// What the key begins with under which a run's session stands; the id of the run, task or waiting message follows.
pub(in crate::harness) const RUN: &str = "run";

/// The key of the row that says which session a run is of.
pub(in crate::harness) fn run_key(run: &str) -> Key {
    vec![RUN.into(), run.into()]
}

/// How many sessions stay at hand that nobody works in.
const IDLE: usize = 16;

impl Core {
    /// The session in our hands that this run has not ended in, or whose message waits: it is nobody else's.
    pub(in crate::harness) fn session_of_run(&self, run: &str) -> Option<String> {
        let of = |slot: &AtHand| slot.session.open_run(run).is_some() || slot.session.queued(run).is_some();
        self.sessions.iter().find(|(_, slot)| of(slot)).map(|(id, _)| id.to_owned())
    }

    /// A run or a task can be asked for by its id alone: it leads to the first session that has had it.
    pub(in crate::harness) fn can_be_found(&mut self, session: &str, of: &str) {
        let (table, key) = (Table::Meta, run_key(of));
        self.outbox.write(Write::Add { table, key, value: session.into() });
    }

    /// Whether a run of another session has a call with this id: an answer names its call by the id alone.
    pub(in crate::harness) fn waits_elsewhere(&self, session: &str, tool_call: &str) -> bool {
        let has = |run: &Run| run.parts().iter().any(|part| part.call(tool_call).is_some());
        self.sessions.iter().any(|(other, slot)| other != session && slot.session.current().is_some_and(has))
    }

    /// The runs that wait before they ask their model again: session, run, and until when.
    pub(in crate::harness) fn retries(&self) -> Vec<(String, String, Again)> {
        let mut retries = Vec::new();
        for (session, slot) in self.sessions.iter() {
            let Some(current) = slot.session.current().filter(|run| !run.held) else { continue };
            for run in current.parts() {
                if let Some(again) = run.again {
                    retries.push((session.into(), run.id.clone(), again));
                }
            }
        }
        retries
    }

    /// A draw from 0 to 999. Each run's id is random, so those who failed together do not draw the same.
    pub(in crate::harness) fn draw(&self, run: &str, call: u64) -> u64 {
        let mut hash = self.now ^ call.rotate_left(32);
        for byte in run.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        (hash >> 20) % 1000
    }

    pub(in crate::harness) fn is_open(&self, session: &str, run: &str, tool_call: &str) -> bool {
        self.call_of(session, run, tool_call).is_some_and(|call| matches!(call.state, CallState::Ordered))
    }

    /// The row that says whose journals these are.
    pub(in crate::harness) fn guard(&self) -> Expect {
        outbox::expect(Table::Meta, vec!["epoch".into()], Some(self.epoch.to_string()))
    }

    /// Whether a message would have to wait: a run works in its session, or waits for a person.
    pub(in crate::harness) fn is_busy(&self, session: &str) -> bool {
        self.current(session).is_some_and(|run| !run.held)
    }

    pub(in crate::harness) fn drop_drafts(&mut self, session: &str, run: &str) {
        self.outbox.drop_drafts(vec![session.into(), run.into()]);
    }

    pub(in crate::harness) fn is_starting(&self, session: &str) -> bool {
        let record = self.session(session).and_then(Session::record);
        record.is_some_and(|record| record.status() == Status::Starting)
    }

    /// Lets the session of a task go that is over.
    pub(in crate::harness) fn let_go_of_once(&mut self, session: &str) {
        let is_over =
            |session: &Session| session.is_once() && !session.runs.is_empty() && session.current().is_none();
        if self.session(session).is_some_and(is_over) {
            self.let_go_of_task(session);
        }
    }

    /// Lets sessions go that have been idle longest, until no more than [`IDLE`] are at hand: what is not worked in need not
    /// be kept in memory. `session`: the one that was just worked in.
    pub(in crate::harness) fn let_go_of_idle(&mut self, session: &str) {
        if self.sessions.at_hand() > IDLE {
            self.let_go_of_idlest(session);
        }
    }

    /// Sessions that are so many came from the room `past`: a door of it.
    #[inline(never)]
    fn let_go_of_idlest(&mut self, session: &str) {
        enter(Room::Past);
        self.write_heads();
        while self.sessions.at_hand() > IDLE {
            let at = |id: &str| self.sessions.head(id).and_then(|head| head.value.get("at")?.as_u64());
            let idle =
                self.sessions.iter().filter(|(id, slot)| *id != session && self.is_idle(id, &slot.session));
            let oldest = idle.map(|(id, _)| id).min_by_key(|id| at(id)).map(String::from);
            let Some(oldest) = oldest else { return };
            self.sessions.let_go(&oldest);
        }
    }

    /// Whether nothing of a session at hand has to stay in memory.
    fn is_idle(&self, id: &str, session: &Session) -> bool {
        let needed =
            id == DEFAULT_SESSION || self.sessions.is_watched(id) || self.sessions.damage(id).is_some();
        !needed && session.current().is_none() && session.queue().is_empty()
    }

    /// Keeps in mind whether a session is put aside: one that is not in our hands has no fold to ask.
    pub(in crate::harness) fn note_benched(&mut self, session: &str) {
        let benched = |session: &Session| session.is_benched() && session.removed_at().is_none();
        let benched = self.session(session).is_some_and(benched);
        self.sessions.set_benched(session, benched);
    }

    /// The arguments of a call of a run, as its tool gets them.
    pub(in crate::harness) fn args_of(&self, session: &str, run: &str, tool_call: &str) -> Value {
        let found = self.session(session).and_then(|folded| {
            let run = folded.run(run)?;
            Some(self.repaired(folded, run, run.call(tool_call)?))
        });
        found.unwrap_or_default()
    }

    /// The same of a call at hand: an answer is for these.
    pub(in crate::harness) fn repaired(&self, folded: &Session, run: &Run, call: &Call) -> Value {
        let checked =
            gate(&folded.tools, &folded.policy_of(run, &folded.policy), &call.name, &call.arguments);
        checked.map_or_else(|_| session::arguments(&call.arguments), |checked| checked.args)
    }

    pub(in crate::harness) fn limit_of(&self, session: &str, run: &str, tool_call: &str) -> Option<u64> {
        let name = &self.call_of(session, run, tool_call)?.name;
        self.session(session)?.tools.get(name)?.definition.timeout_ms
    }
}
