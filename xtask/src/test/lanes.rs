//! Running suites beside each other.
//!
//! Decides what is shown when. One suite is live, its lines come as they are printed. Those beside it are shown whole
//! when they end. Promises: a failure stops no other suite. Every suite is counted once. A run that meets its limit
//! says where each suite was and which have not run, counts both as failed, and leaves no process behind.

use super::limit::end_children;
use super::passed::{self, Kept};
use super::reading::{Count, Reading};
use super::suites::{Suite, Work};
use super::tally::{Done, Tally};
use super::{Effort, Plan};
use crate::command::{Cmd, show_by};
use crate::project::Project;
use anyhow::{Result, bail, ensure};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How much of what is not shown yet the report of a limit shows.
const TAIL: usize = 20;

/// Runs what is planned; what is not done within the limit is ended, and this process with it.
pub fn run(project: &Project, plan: &Plan, limit: Option<Duration>) -> Tally {
    let floor = Arc::new(Floor(Mutex::new(State::new(&plan.suites, plan.note()))));
    if let Some(limit) = limit {
        let floor = floor.clone();
        thread::spawn(move || {
            thread::sleep(limit);
            floor.at(|state| state.stopping = true);
            // What is said by those that are ended is still shown.
            end_children();
            floor.at(|state| state.stop(limit));
            std::process::exit(1);
        });
    }
    let mut lanes: BTreeMap<_, Vec<&'static Suite>> = BTreeMap::new();
    for suite in plan.suites.iter().copied() {
        lanes.entry(plan.beside.then_some(suite.lane)).or_default().push(suite);
    }
    thread::scope(|scope| {
        for suites in lanes.into_values() {
            let floor = &floor;
            scope.spawn(move || suites.into_iter().for_each(|suite| one(project, plan, suite, floor)));
        }
    });
    floor.at(|state| std::mem::take(&mut state.tally))
}

fn one(project: &Project, plan: &Plan, suite: &'static Suite, floor: &Arc<Floor>) {
    let sources = passed::sources(project, suite);
    let inputs = || passed::inputs(project, suite, sources.as_ref()?);
    if let Some(inputs) = inputs() {
        if let (false, Some(kept)) = (plan.all, passed::stands(project, suite, plan.effort, &inputs)) {
            return floor.at(|state| state.stood(suite, kept));
        }
        passed::forget(project, suite, &inputs);
    }
    floor.wait_if_stopping();
    floor.at(|state| state.begin(suite));
    let shown = floor.clone();
    show_by(move |line| shown.at(|state| state.show(suite, line)));
    let ended = work(project, plan.effort, suite, floor);
    floor.wait_if_stopping();
    let done = floor.at(|state| state.end(suite, ended));
    // An edit while it ran may or may not have been seen by it.
    if done.failed == 0 && sources.is_some() && sources == passed::sources(project, suite) {
        let kept = Kept {
            passed: done.passed,
            skipped: done.skipped,
            seconds: done.time.as_secs_f32().round() as u32,
        };
        // What passed has passed, also where that cannot be written down.
        let _ = inputs().map(|inputs| passed::keep(project, suite, plan.effort, &inputs, &kept));
    }
}

fn work(project: &Project, effort: Effort, suite: &'static Suite, floor: &Floor) -> Result<()> {
    match (suite.work)(project, effort)? {
        Work::Watch(cmd) => watch(cmd, suite, floor),
        Work::Done => {
            floor.at(|state| state.running(suite).reading.passed = 1);
            Ok(())
        }
    }
}

/// What the command prints is shown, and read.
fn watch(cmd: Cmd, suite: &'static Suite, floor: &Floor) -> Result<()> {
    let shown = cmd.to_string();
    let status = cmd.watched(|line| floor.at(|state| state.read(suite, line)))?;
    if status.success() && suite.count == Count::One {
        floor.at(|state| state.running(suite).reading.passed = 1);
    }
    let (passed, failed) = floor.at(|state| {
        let reading = &state.running(suite).reading;
        (reading.passed, reading.failed)
    });
    if !status.success() && failed == 0 {
        bail!("`{shown}` failed ({status})");
    }
    ensure!(passed + failed > 0, "`{shown}` ran no test");
    Ok(())
}

/// What all lanes write to, one at a time.
struct Floor(Mutex<State>);

impl Floor {
    fn at<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut state);
        state.shown.drain(..).for_each(|line| println!("{line}"));
        result
    }

    /// Once the limit is met, no suite begins any more, and how one ends says nothing of it.
    fn wait_if_stopping(&self) {
        while self.at(|state| state.stopping) {
            thread::sleep(Duration::from_secs(1));
        }
    }
}

struct State {
    started: Instant,
    waiting: Vec<&'static Suite>,
    /// The first of them is live.
    running: Vec<Running>,
    tally: Tally,
    /// Lines to be shown now.
    shown: Vec<String>,
    /// The limit is met.
    stopping: bool,
}

struct Running {
    suite: &'static Suite,
    started: Instant,
    reading: Reading,
    /// Lines that are shown when the suite is live, or ends.
    held: Vec<String>,
}

impl State {
    fn new(suites: &[&'static Suite], note: Option<String>) -> State {
        State {
            started: Instant::now(),
            waiting: suites.into(),
            running: Vec::new(),
            tally: Tally::new(note),
            shown: Vec::new(),
            stopping: false,
        }
    }

    fn begin(&mut self, suite: &'static Suite) {
        self.waiting.retain(|waiting| waiting.name != suite.name);
        let held = vec![String::new(), format!("== {}", suite.name)];
        let reading = Reading::of(suite.count);
        self.running.push(Running { suite, started: Instant::now(), reading, held });
        self.flush();
    }

    /// A line of our own: nothing is counted by it.
    fn show(&mut self, suite: &Suite, line: &str) {
        self.running(suite).held.push(line.to_owned());
        self.flush();
    }

    fn read(&mut self, suite: &Suite, line: &str) {
        if self.running(suite).reading.line(line) {
            self.show(suite, line);
        }
    }

    fn end(&mut self, suite: &Suite, ended: Result<()>) -> Done {
        let live = self.running.first().is_some_and(|live| live.suite.name == suite.name);
        let at = self.place(suite);
        let mut running = self.running.remove(at);
        if let Err(error) = &ended {
            running.held.extend(format!("{error:#}").lines().map(str::to_owned));
        }
        let Reading { passed, failed, skipped, failures, .. } = running.reading;
        let failed = if ended.is_err() { failed.max(1) } else { failed };
        let done = Done { passed, failed, skipped, time: running.started.elapsed() };
        self.shown.append(&mut running.held);
        self.shown.push(format!("== {}: {}", suite.name, summary(passed, failed, done.time)));
        if let (false, Some(first)) = (live, self.running.first()) {
            self.shown.extend([String::new(), format!("== {} goes on", first.suite.name)]);
        }
        self.tally.ran(suite, done);
        self.tally.fell(suite, failures);
        self.flush();
        done
    }

    fn stood(&mut self, suite: &'static Suite, kept: Kept) {
        self.waiting.retain(|waiting| waiting.name != suite.name);
        self.shown.push(kept.line(suite.name));
        self.tally.stood(suite, kept);
    }

    /// What is not done has failed.
    fn stop(&mut self, limit: Duration) {
        let mut ends =
            vec![String::new(), format!("== not done after {} minutes, ended", limit.as_secs() / 60)];
        for mut running in std::mem::take(&mut self.running) {
            let held = running.held.len();
            self.shown.extend(running.held.drain(..2.min(held)));
            let held = running.held.len();
            self.shown.extend(running.held.drain(held.saturating_sub(TAIL)..));
            let Reading { passed, failed, skipped, ref mut failures, .. } = running.reading;
            self.tally.fell(running.suite, std::mem::take(failures));
            let done = Done { passed, failed: failed.max(1), skipped, time: running.started.elapsed() };
            let summary = summary(passed, failed, done.time);
            ends.push(format!("in {}: {summary}; {}", running.suite.name, running.reading.stand()));
            self.tally.ran(running.suite, done);
        }
        let waiting = std::mem::take(&mut self.waiting);
        if !waiting.is_empty() {
            let names: Vec<_> = waiting.iter().map(|suite| suite.name).collect();
            ends.push(format!("not begun: {}", names.join(", ")));
        }
        for suite in waiting {
            self.tally.ran(suite, Done { passed: 0, failed: 1, skipped: 0, time: Duration::ZERO });
        }
        self.shown.append(&mut ends);
        self.shown.extend(self.tally.closing(self.started.elapsed()));
    }

    fn place(&self, suite: &Suite) -> usize {
        // A lane speaks of the suite that it has begun, and of no other.
        self.running.iter().position(|running| running.suite.name == suite.name).unwrap_or_default()
    }

    fn running(&mut self, suite: &Suite) -> &mut Running {
        let at = self.place(suite);
        &mut self.running[at]
    }

    fn flush(&mut self) {
        if let Some(live) = self.running.first_mut() {
            self.shown.append(&mut live.held);
        }
    }
}

fn summary(passed: u32, failed: u32, time: Duration) -> String {
    format!("{passed} passed, {failed} failed, {:.0} s", time.as_secs_f32())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;
    use crate::test::suites::{CHECK, Lane, SUITES};
    use std::path::PathBuf;

    fn suite(name: &str) -> &'static Suite {
        SUITES.iter().find(|suite| suite.name == name).unwrap()
    }

    /// Without what took how long.
    fn shown(state: &mut State) -> Vec<String> {
        state.shown.drain(..).filter(|line| !line.is_empty() && !line.starts_with("time: ")).collect()
    }

    #[test]
    fn one_suite_is_live_and_those_beside_it_are_shown_whole() {
        let (core, types, format) = (suite("core"), suite("types"), suite("format"));
        let mut state = State::new(&[core, types, format], None);
        state.begin(core);
        state.read(core, "test a ... ok");
        state.begin(types);
        state.read(types, "checking");
        assert_eq!(shown(&mut state), ["== core", "test a ... ok"]);
        state.read(core, "test b ... ok");
        state.running(types).reading.passed = 1;
        state.end(types, Ok(()));
        assert_eq!(
            shown(&mut state),
            ["test b ... ok", "== types", "checking", "== types: 1 passed, 0 failed, 0 s", "== core goes on"]
        );
        state.begin(format);
        state.show(format, "before");
        state.read(core, "test result: FAILED. 2 passed; 1 failed");
        state.end(core, Ok(()));
        assert_eq!(
            shown(&mut state),
            [
                "test result: FAILED. 2 passed; 1 failed",
                "== core: 2 passed, 1 failed, 0 s",
                "== format",
                "before"
            ]
        );
        state.end(format, Err(anyhow::anyhow!("no such program")));
        assert_eq!(shown(&mut state), ["no such program", "== format: 0 passed, 1 failed, 0 s"]);
        let closing = state.tally.closing(Duration::ZERO);
        assert_eq!(closing[2..], ["failed: core, format", "3 passed, 2 failed"]);
    }

    #[test]
    fn a_run_that_meets_its_limit_says_where_it_was_and_what_is_left() {
        let [core, package, xtask, size, types] = ["core", "package", "xtask", "size", "types"].map(suite);
        let mut state = State::new(&[core, package, xtask, size, types], None);
        state.stood(types, Kept { passed: 1, skipped: 0, seconds: 3 });
        state.begin(core);
        state.read(core, "test result: ok. 5 passed; 0 failed");
        state.read(core, "test pump::worlds has been running for over 60 seconds");
        state.begin(package);
        (0..30).for_each(|n| state.read(package, &format!("ok    wire: {n}")));
        shown(&mut state);
        state.stop(Duration::from_secs(3600));
        let shown = shown(&mut state);
        let (tail, report) = shown.split_at(1 + TAIL);
        assert_eq!((tail[0].as_str(), tail[1].as_str()), ("== package", "ok    wire: 10"));
        assert_eq!(
            report,
            [
                "== not done after 60 minutes, ended",
                "in core: 5 passed, 0 failed, 0 s; running for long: pump::worlds",
                "in package: 0 passed, 0 failed, 0 s; the last test that ended: wire: 29",
                "not begun: xtask, size",
                "not run, because nothing has changed since: types (--all runs them)",
                "failed: core, package, xtask, size",
                "5 passed, 4 failed; 1 passed earlier, unchanged since",
            ]
        );
    }

    /// A suite that does this, in a project that has no git: nothing stands.
    fn made(
        name: &'static str,
        lane: Lane,
        count: Count,
        work: fn(&Project, Effort) -> Result<Work>,
    ) -> &'static Suite {
        Box::leak(Box::new(Suite { name, lane, count, work, ..CHECK }))
    }

    #[test]
    fn lanes_come_to_the_same_sums_as_one() {
        fn echo(text: &str) -> Result<Work> {
            Ok(Work::Watch(Cmd::new("echo").arg(text)))
        }
        let suites = vec![
            made("good", Lane::Lints, Count::Last, |_, _| echo("2 passed, 0 failed")),
            made("empty", Lane::Cargo, Count::Last, |_, _| echo("nothing here")),
            made("bad", Lane::Node, Count::One, |_, _| Ok(Work::Watch(Cmd::new("false")))),
            made("absent", Lane::Node, Count::One, |_, _| {
                Ok(Work::Watch(Cmd::new("no-such-program-anywhere")))
            }),
            made("ours", Lane::Cargo, Count::One, |_, _| Ok(Work::Done)),
            made("too big", Lane::Lints, Count::One, |_, _| bail!("too big")),
        ];
        let text = String::new;
        let root = PathBuf::from("/nowhere/at/all");
        let project = Project {
            target: root.join("target"),
            version: text(),
            description: text(),
            license: text(),
            root,
        };
        for beside in [false, true] {
            let plan = Plan { suites: suites.clone(), effort: Effort::Normal, all: false, beside };
            let tally = run(&project, &plan, Some(Duration::from_secs(600)));
            assert!(!tally.good());
            assert_eq!(tally.closing(Duration::ZERO).last().unwrap(), "3 passed, 4 failed");
        }
    }
}
