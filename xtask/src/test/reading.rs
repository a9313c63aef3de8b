//! What the runners of tests print, read line by line.
//!
//! Decides what counts as passed, failed and skipped, which lines are not worth showing, and which test it was in when
//! its output stopped.

/// How many lines are kept of what a failed test says, and how such a line begins.
const TOLD: usize = 4;
const DEEP: &str = "      ";

/// How a suite says what it has done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Count {
    /// By its exit code alone: one check.
    One,
    /// Cargo's: `test result: ok. 3 passed; 0 failed; …` for each binary, to be added up.
    Sum,
    /// Node's: `ℹ pass 3` and `ℹ fail 0`.
    Node,
    /// `3 passed, 0 failed`; the last such line is the sum.
    Last,
}

/// What the lines so far have said.
pub struct Reading {
    count: Count,
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
    /// The tests that failed, each with the first lines of what it said.
    pub failures: Vec<String>,
    /// Reading what the tests that passed have printed.
    in_successes: bool,
    ended: Option<String>,
    /// Tests that their runner called slow and that have not ended since.
    slow: Vec<String>,
    last: String,
    /// How many lines below the failure that is being read have been kept.
    told: Option<usize>,
}

impl Reading {
    pub fn of(count: Count) -> Reading {
        Reading {
            count,
            passed: 0,
            failed: 0,
            skipped: 0,
            failures: Vec::new(),
            in_successes: false,
            ended: None,
            slow: Vec::new(),
            last: String::new(),
            told: None,
        }
    }

    /// Takes from a line what it says; `false` where it is not worth showing.
    pub fn line(&mut self, line: &str) -> bool {
        self.fall(line);
        let line = line.trim();
        self.follow(line);
        let skipped = line.strip_prefix("skipped: ").and_then(leading_number);
        self.skipped += skipped.unwrap_or_default();
        match self.count {
            Count::One => {}
            Count::Sum => {
                match line {
                    "successes:" => self.in_successes = true,
                    "failures:" => self.in_successes = false,
                    _ => {}
                }
                if let (true, Some((passed, failed))) =
                    (line.starts_with("test result:"), passed_failed(line))
                {
                    self.passed += passed;
                    self.failed += failed;
                    self.in_successes = false;
                }
            }
            Count::Node => {
                let number =
                    |word: &str| line.strip_prefix("ℹ ")?.strip_prefix(word).and_then(leading_number);
                self.passed = number("pass ").unwrap_or(self.passed);
                self.failed = number("fail ").unwrap_or(self.failed);
            }
            Count::Last => {
                if let Some((passed, failed)) = passed_failed(line) {
                    (self.passed, self.failed) = (passed, failed);
                }
            }
        }
        !self.in_successes || skipped.is_some() || line.starts_with("counts: ")
    }

    /// Where it was when its last line came.
    pub fn stand(&self) -> String {
        if !self.slow.is_empty() {
            return format!("running for long: {}", self.slow.join(", "));
        }
        match &self.ended {
            Some(test) => format!("the last test that ended: {test}"),
            None if self.last.is_empty() => "it has printed nothing".to_owned(),
            None => format!("no test has ended, its last line: {}", self.last),
        }
    }

    /// Keeps the name of a test that failed, and what is said of it directly below.
    fn fall(&mut self, line: &str) {
        if let Some(test) = failed(self.count, line.trim()) {
            if !self.failures.iter().any(|known| known.lines().next() == Some(test)) {
                self.failures.push(test.to_owned());
            }
            self.told = Some(0);
        } else if let (Some(told @ 0..TOLD), true, Some(test)) =
            (self.told, line.starts_with(DEEP), self.failures.last_mut())
        {
            test.push_str(&format!("\n{}", line.trim_end()));
            self.told = Some(told + 1);
        } else {
            self.told = None;
        }
    }

    fn follow(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        line.clone_into(&mut self.last);
        if let Some(test) = slow(self.count, line) {
            self.slow.retain(|slow| slow != test);
            self.slow.push(test.to_owned());
        } else if let Some(test) = ended(self.count, line) {
            self.slow.retain(|slow| slow != test);
            self.ended = Some(test.to_owned());
        }
    }
}

/// The name of a test that a line says is slow.
fn slow(count: Count, line: &str) -> Option<&str> {
    match count {
        Count::One | Count::Node => None,
        // `test a::b has been running for over 60 seconds`
        Count::Sum => Some(line.strip_prefix("test ")?.split_once(" has been running for over ")?.0),
        // `…     suite: title, for 31.0 s`, again and again
        Count::Last => Some(line.strip_prefix("… ")?.trim_start().rsplit_once(", for ")?.0),
    }
}

/// The name of a test that a line says the end of.
fn ended(count: Count, line: &str) -> Option<&str> {
    // `mark name (1.2 s)`
    let after = |marks: &[&str]| {
        let test = marks.iter().find_map(|mark| line.strip_prefix(mark))?.trim_start();
        Some(test.rsplit_once(" (").map_or(test, |(name, _)| name))
    };
    match count {
        Count::One => None,
        Count::Sum => Some(line.strip_prefix("test ")?.rsplit_once(" ... ")?.0),
        Count::Node => after(&["✔ ", "✖ "]),
        Count::Last => after(&["ok ", "FAIL ", "skip "]),
    }
}

/// The name of a test that a line says the failure of.
fn failed(count: Count, line: &str) -> Option<&str> {
    let failure = match count {
        Count::One => false,
        Count::Sum => line.ends_with(" ... FAILED"),
        Count::Node => line.starts_with("✖ ") && line.ends_with(')'),
        Count::Last => line.starts_with("FAIL "),
    };
    ended(count, line).filter(|_| failure)
}

/// `… 12 passed; 3 failed …`, with a comma or a semicolon.
fn passed_failed(line: &str) -> Option<(u32, u32)> {
    let before = |word: &str| line.split_once(word)?.0.split(' ').next_back()?.parse().ok();
    Some((before(" passed")?, before(" failed")?))
}

fn leading_number(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(count: Count, lines: &[&str]) -> Reading {
        let mut reading = Reading::of(count);
        lines.iter().for_each(|line| _ = reading.line(line));
        reading
    }

    fn sums(count: Count, lines: &[&str]) -> (u32, u32, u32) {
        let reading = read(count, lines);
        (reading.passed, reading.failed, reading.skipped)
    }

    #[test]
    fn what_the_runners_print_is_read() {
        let cargo = [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "skipped: 452 recorded streams",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            "3 passed, 4 failed",
        ];
        assert_eq!(sums(Count::Sum, &cargo), (15, 2, 452));
        assert_eq!(sums(Count::Node, &["ℹ tests 9", "ℹ pass 8", "ℹ fail 1", "ℹ cancelled 0"]), (8, 1, 0));
        assert_eq!(sums(Count::Last, &["wire: 3 passed, 0 failed", "", "10 passed, 1 failed"]), (10, 1, 0));
        assert_eq!(sums(Count::One, &["3 passed, 0 failed"]), (0, 0, 0));
    }

    #[test]
    fn what_a_passed_test_prints_is_shown_only_where_it_counts() {
        let mut reading = Reading::of(Count::Sum);
        let lines =
            ["successes:", "noise", "skipped: 2 things", "counts: 3", "test result: ok. 1 passed; 0 failed"];
        let shown: Vec<bool> = lines.iter().map(|line| reading.line(line)).collect();
        assert_eq!(shown, [false, false, true, true, true]);
    }

    #[test]
    fn what_failed_is_kept_with_what_it_said() {
        let page = [
            "FAIL  lives: storage that is wiped (1.1 s; a note)",
            "        it is gone",
            "        + actual - expected",
            "ok    weeks: a year (0.1 s)",
            "        of nothing",
        ];
        let kept = "lives: storage that is wiped\n        it is gone\n        + actual - expected";
        assert_eq!(read(Count::Last, &page).failures, [kept]);
        let cargo = ["test pump::other ... FAILED", "test pump::one ... ok"];
        assert_eq!(read(Count::Sum, &cargo).failures, ["pump::other"]);
        let node = ["✖ one holder (1.2ms)", "ℹ fail 1", "✖ failing tests:", "✖ one holder (1.2ms)"];
        assert_eq!(read(Count::Node, &node).failures, ["one holder"]);
    }

    #[test]
    fn where_a_suite_is_can_be_told_at_any_time() {
        let stand = |count, lines: &[&str]| read(count, lines).stand();
        let cargo = [
            "Compiling lodger",
            "test run::ends ... ok",
            "test pump::worlds has been running for over 60 seconds",
            "test pump::other has been running for over 60 seconds",
            "test pump::other ... FAILED",
        ];
        assert_eq!(stand(Count::Sum, &[]), "it has printed nothing");
        assert_eq!(stand(Count::Sum, &cargo[..1]), "no test has ended, its last line: Compiling lodger");
        assert_eq!(stand(Count::Sum, &cargo[..2]), "the last test that ended: run::ends");
        assert_eq!(stand(Count::Sum, &cargo[..4]), "running for long: pump::worlds, pump::other");
        assert_eq!(stand(Count::Sum, &cargo), "running for long: pump::worlds");
        assert_eq!(
            stand(Count::Node, &["▶ tabs", "  ✔ one holder (of many) (12.3ms)", "ℹ tests 1"]),
            "the last test that ended: one holder (of many)"
        );
        let page = [
            "ok    lives: a killed tab (3 times) (2.0 s)",
            "FAIL  lives: storage that is wiped (1.1 s; a note)",
            "      at 3",
            "…     weeks: 10 sessions, for a week, for 30.1 s",
            "…     weeks: 10 sessions, for a week, for 60.2 s, at 7",
            "ok    weeks: 10 sessions, for a week (70.2 s)",
        ];
        assert_eq!(stand(Count::Last, &page[..1]), "the last test that ended: lives: a killed tab (3 times)");
        assert_eq!(stand(Count::Last, &page[..3]), "the last test that ended: lives: storage that is wiped");
        assert_eq!(stand(Count::Last, &page[..5]), "running for long: weeks: 10 sessions, for a week");
        assert_eq!(stand(Count::Last, &page), "the last test that ended: weeks: 10 sessions, for a week");
        let skipped = ["skip  weeks: a year (0.1 s; skipped: no folder)"];
        assert_eq!(stand(Count::Last, &skipped), "the last test that ended: weeks: a year");
        assert_eq!(
            stand(Count::One, &["Checking lodger"]),
            "no test has ended, its last line: Checking lodger"
        );
    }
}
