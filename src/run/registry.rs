//! The runs under way: what is known of them that no journal holds, in one place, by their ids.
//!
//! Decides the number of a run's next event, and what comes too late for one. Promises: the events of a run are
//! numbered one by one. After its end there is none. What still comes is dropped, and counted for the run that it was
//! of. Leaves to others: what a run has come to (its journal, also after its end). The text of an answer on its way
//! lies with its model call (`harness/calls/streaming`), the commands that wait for a run's end with `waiters`.

use crate::maps::Named;
use crate::ports::Millis;
use crate::run::waiters::Waiters;

/// How many calls that were let go are remembered. What they still say comes soon or never.
const LET_GO: usize = 64;
/// How many runs are remembered that went with their session. Their callers ask soon.
const REMOVED: usize = 64;

/// A run under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its session.
    pub session: String,
    /// When it began.
    pub started_at: Millis,
    /// The number of its last event, in this epoch.
    pub last_seq: u64,
}

/// A run that the removal of its session has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its id.
    pub run: String,
    /// Its session.
    pub session: String,
    /// When it began; `None`: its message still waited.
    pub started_at: Option<Millis>,
    /// When it ended.
    pub at: Millis,
}

/// The runs under way.
#[derive(Debug, Default)]
pub struct Runs {
    /// The commands that wait for the end of one.
    pub waiters: Waiters,
    live: Named<Live>,
    /// The calls that nobody waits for any more, each with its run, the oldest first.
    let_go: Vec<(u32, String)>,
    /// The runs that went with their session, the oldest first: no journal has them.
    removed: Vec<Removed>,
    /// How much came too late, by run.
    dropped: Named<u64>,
    /// The same of all, also of what was no run's.
    all_dropped: u64,
}

impl Runs {
    /// A run that has not ended is under way from here on, unless it was.
    pub fn begin(&mut self, run: &str, session: &str, started_at: Millis) {
        if !self.live.contains_key(run) {
            self.live.insert(run, Live { session: session.into(), started_at, last_seq: 0 });
        }
    }

    /// It is over, and all is told of it.
    pub fn end(&mut self, run: &str) {
        self.live.remove(run);
    }

    /// No run is under way here any more.
    pub fn forget(&mut self) {
        self.live.clear();
    }

    /// A run that is under way.
    pub fn get(&self, run: &str) -> Option<&Live> {
        self.live.get(run)
    }

    /// The number of the next event of a run. `None`: it is over, so the event is dropped.
    pub fn next_seq(&mut self, run: &str) -> Option<u64> {
        let Some(live) = self.live.get_mut(run) else {
            self.drop_of(Some(run));
            return None;
        };
        live.last_seq += 1;
        Some(live.last_seq)
    }

    /// Runs have ended by the removal of their session.
    pub fn go_with_session(&mut self, gone: Vec<Removed>) {
        self.removed.extend(gone);
        self.removed.drain(..self.removed.len().saturating_sub(REMOVED));
    }

    /// A session was brought back, with its runs.
    pub fn come_back(&mut self, session: &str) {
        self.removed.retain(|gone| gone.session != session);
    }

    /// A run that went with its session.
    pub fn gone(&self, run: &str) -> Option<&Removed> {
        self.removed.iter().find(|gone| gone.run == run)
    }

    /// Nobody waits for a call of this run any more.
    pub fn let_go(&mut self, call: u32, run: &str) {
        if self.let_go.len() == LET_GO {
            self.let_go.remove(0);
        }
        self.let_go.push((call, run.into()));
    }

    /// A call says something that nobody waits for.
    pub fn late(&mut self, call: u32) {
        let of = self.let_go.iter().find(|(other, _)| *other == call).map(|(_, run)| run.clone());
        self.drop_of(of.as_deref());
    }

    /// Something came too late: it was this run's.
    pub fn drop_of(&mut self, run: Option<&str>) {
        self.all_dropped += 1;
        if let Some(run) = run {
            self.dropped.insert(run, self.dropped(run) + 1);
        }
    }

    /// How much came too late for a run.
    pub fn dropped(&self, run: &str) -> u64 {
        self.dropped.get(run).copied().unwrap_or_default()
    }

    /// The same of all.
    pub fn all_dropped(&self) -> u64 {
        self.all_dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OpenClaw, agent-events.test.ts: "maintains monotonic seq per runId".
    #[test]
    fn the_events_of_each_run_are_numbered_one_by_one() {
        let mut runs = Runs::default();
        runs.begin("run-1", "s", 7);
        runs.begin("run-2", "s", 8);
        let seqs: Vec<_> = ["run-1", "run-1", "run-2", "run-1"].map(|run| runs.next_seq(run)).into();
        assert_eq!(seqs, [1, 2, 1, 3].map(Some));
        runs.begin("run-1", "other", 9);
        assert_eq!(runs.get("run-1"), Some(&Live { session: "s".into(), started_at: 7, last_seq: 3 }));
    }

    /// OpenClaw, agent-events.test.ts: "stores and clears run context".
    #[test]
    fn what_is_known_of_a_run_is_there_until_its_end() {
        let mut runs = Runs::default();
        runs.begin("run-1", "main", 7);
        assert_eq!(runs.get("run-1").map(|live| live.session.as_str()), Some("main"));
        runs.end("run-1");
        assert_eq!(runs.get("run-1"), None);
    }

    #[test]
    fn after_the_end_of_a_run_its_events_are_dropped_and_counted() {
        let mut runs = Runs::default();
        runs.begin("run-1", "s", 7);
        runs.let_go(5, "run-1");
        runs.end("run-1");
        assert_eq!(runs.next_seq("run-1"), None);
        runs.late(5);
        runs.late(6);
        assert_eq!((runs.dropped("run-1"), runs.dropped("run-2"), runs.all_dropped()), (2, 0, 3));
    }

    #[test]
    fn calls_that_were_let_go_are_not_remembered_for_ever() {
        let mut runs = Runs::default();
        (0..=LET_GO as u32).for_each(|call| runs.let_go(call, "run-1"));
        runs.late(0);
        runs.late(1);
        assert_eq!((runs.dropped("run-1"), runs.let_go.len()), (1, LET_GO));
    }
}
