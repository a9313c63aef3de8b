//! The sums, and how a run ends.
//!
//! Promises: what ran now is counted. What stands from before is said in words and never among what ran.

use super::passed::Kept;
use super::suites::Suite;
use std::time::Duration;

#[derive(Default)]
pub struct Tally {
    passed: u32,
    failed: u32,
    skipped: u32,
    failures: Vec<&'static str>,
    /// What failed by name, with its suite and what it said: the last lines are what a reader of a long log sees.
    fallen: Vec<String>,
    /// By part, in the order of the first suites to end.
    times: Vec<(&'static str, Duration)>,
    stood: Vec<(&'static str, Kept)>,
    /// What the sum must not be taken for.
    note: Option<String>,
}

/// What a suite has done that ran now. A failed one has at least one failure.
#[derive(Clone, Copy)]
pub struct Done {
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
    pub time: Duration,
}

impl Tally {
    pub fn new(note: Option<String>) -> Tally {
        Tally { note, ..Tally::default() }
    }

    pub fn ran(&mut self, suite: &Suite, done: Done) {
        self.passed += done.passed;
        self.failed += done.failed;
        self.skipped += done.skipped;
        if done.failed > 0 {
            self.failures.push(suite.name);
        }
        let part = suite.part.name();
        match self.times.iter_mut().find(|(name, _)| *name == part) {
            Some((_, time)) => *time += done.time,
            None => self.times.push((part, done.time)),
        }
    }

    /// Tests of the suite that failed.
    pub fn fell(&mut self, suite: &Suite, tests: Vec<String>) {
        self.fallen.extend(tests.into_iter().map(|test| format!("FAIL  {}: {test}", suite.name)));
    }

    pub fn stood(&mut self, suite: &Suite, kept: Kept) {
        self.stood.push((suite.name, kept));
    }

    pub fn good(&self) -> bool {
        self.failed == 0
    }

    /// The last lines. What stood has passed, but not now.
    pub fn closing(&self, whole: Duration) -> Vec<String> {
        let mut lines = vec![String::new()];
        let times: Vec<_> =
            self.times.iter().map(|(part, time)| format!("{part} {:.0} s", time.as_secs_f32())).collect();
        let whole = whole.as_secs_f32();
        match times.as_slice() {
            [] => {}
            [one] => lines.push(format!("time: {one}")),
            more => lines.push(format!("time: {}; beside each other, {whole:.0} s", more.join(", "))),
        }
        if !self.stood.is_empty() {
            let names: Vec<_> = self.stood.iter().map(|(name, _)| *name).collect();
            lines.push(format!(
                "not run, because nothing has changed since: {} (--all runs them)",
                names.join(", ")
            ));
        }
        let skipped = self.skipped + self.stood.iter().map(|(_, kept)| kept.skipped).sum::<u32>();
        if skipped > 0 {
            lines.push(format!(
                "skipped: {skipped} (what they need is not on this machine; the lines above name it)"
            ));
        }
        lines.extend(self.fallen.iter().flat_map(|test| test.lines()).map(str::to_owned));
        if !self.failures.is_empty() {
            lines.push(format!("failed: {}", self.failures.join(", ")));
        }
        lines.extend(self.note.clone());
        let before: u32 = self.stood.iter().map(|(_, kept)| kept.passed).sum();
        let stood = if self.stood.is_empty() {
            String::new()
        } else {
            format!("; {before} passed earlier, unchanged since")
        };
        lines.push(format!("{} passed, {} failed{stood}", self.passed, self.failed));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::suites::SUITES;

    fn suite(name: &str) -> &'static Suite {
        SUITES.iter().find(|suite| suite.name == name).unwrap()
    }

    fn done(passed: u32, failed: u32, skipped: u32) -> Done {
        Done { passed, failed, skipped, time: Duration::from_secs(10) }
    }

    #[test]
    fn what_ran_is_added_up() {
        let mut tally = Tally::default();
        tally.ran(suite("core"), done(823, 0, 0));
        assert_eq!(tally.closing(Duration::from_secs(10)), ["", "time: host 10 s", "823 passed, 0 failed"]);
        assert!(tally.good());
        tally.ran(suite("package"), done(20, 2, 452));
        tally.fell(suite("package"), vec!["lives: a wiped storage\n        it is gone".to_owned()]);
        tally.ran(suite("xtask"), done(0, 1, 0));
        let closing = [
            "",
            "time: host 20 s, package 10 s; beside each other, 21 s",
            "skipped: 452 (what they need is not on this machine; the lines above name it)",
            "FAIL  package: lives: a wiped storage",
            "        it is gone",
            "failed: package, xtask",
            "843 passed, 3 failed",
        ];
        assert_eq!(tally.closing(Duration::from_secs(21)), closing);
        assert!(!tally.good());
    }

    #[test]
    fn what_stands_is_not_among_what_ran() {
        let mut tally = Tally::new(Some("not all".to_owned()));
        tally.stood(suite("core"), Kept { passed: 823, skipped: 2, seconds: 74 });
        tally.stood(suite("types"), Kept { passed: 1, skipped: 0, seconds: 3 });
        tally.ran(suite("format"), done(1, 0, 0));
        let closing = [
            "",
            "time: host 10 s",
            "not run, because nothing has changed since: core, types (--all runs them)",
            "skipped: 2 (what they need is not on this machine; the lines above name it)",
            "not all",
            "1 passed, 0 failed; 824 passed earlier, unchanged since",
        ];
        assert_eq!(tally.closing(Duration::from_secs(10)), closing);
    }
}
