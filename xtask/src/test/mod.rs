//! `test`: all suites, in parts; `campaign` and `bench`: the long ones.
//!
//! Promises: every suite that was asked for runs or counts as failed, also when a tool for it is missing and when it
//! ran no test at all; a failure stops no other suite; the last line is the sum; it ends within the time limit.

pub mod tools;

use crate::build;
use crate::command::{Cmd, cargo, lines, npm, npm_bin, npm_ci};
use crate::demo;
use crate::local_model;
use crate::project::{Project, WASM, files};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What is not done by then hangs: on two cores, with everything still to be installed and compiled, it takes half of it.
const LIMIT: Duration = Duration::from_secs(80 * 60);

#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    /// The core, without a browser: format, lints, unit tests, properties, corpora, documentation.
    Host,
    /// The hand-written modules and types of the package.
    Js,
    /// The crate in Chromium and Firefox.
    Browser,
    /// The packed npm package in the hands of its users.
    Package,
    /// The workbench.
    Www,
    /// A real model in Chromium. It is slow, and fetches 100 MB: it runs only when it is named.
    LocalModel,
}

impl Part {
    /// What runs when nothing is named.
    const ALL: [Part; 5] = [Part::Host, Part::Js, Part::Browser, Part::Package, Part::Www];

    fn name(self) -> &'static str {
        match self {
            Part::Host => "host",
            Part::Js => "js",
            Part::Browser => "browser",
            Part::Package => "package",
            Part::Www => "www",
            Part::LocalModel => "local-model",
        }
    }

    /// No names: all parts.
    pub fn parse(names: &[&str]) -> Result<Vec<Part>> {
        if names.is_empty() {
            return Ok(Part::ALL.into());
        }
        let part = |name: &&str| {
            let parts = || Part::ALL.into_iter().chain([Part::LocalModel]);
            let known = || parts().map(Part::name).collect::<Vec<_>>().join(", ");
            parts()
                .find(|part| part.name() == *name)
                .with_context(|| format!("there is no part '{name}': {}", known()))
        };
        names.iter().map(part).collect()
    }
}

pub fn test(project: &Project, parts: &[Part]) -> Result<()> {
    stop_after(LIMIT);
    let mut tally = Tally::default();
    let mut times = Vec::new();
    let beside = [Part::Package, Part::Www].iter().all(|part| parts.contains(part));
    for part in parts {
        let started = Instant::now();
        match part {
            Part::Host => host(project, &mut tally),
            Part::Js => js(project, &mut tally, &[]),
            Part::Browser => browser(project, &mut tally),
            Part::Package => package(project, &mut tally, &[], beside),
            Part::Www => www(project, &mut tally, beside),
            Part::LocalModel => local_model(project, &mut tally),
        }
        times.push(format!("{} {:.0} s", part.name(), started.elapsed().as_secs_f32()));
    }
    tally.close(&times)
}

/// What the tests do a tenth of, in full: every suite that draws at random reads this variable.
pub fn campaign(project: &Project) -> Result<()> {
    let mut tally = Tally::default();
    let full = [("LODGER_CAMPAIGN", "1")];
    let properties =
        in_root(project, &["test", "--package", "lodger", "--release", "--lib", "--tests", "--no-fail-fast"]);
    tally.run("properties, in full", Count::Sum, Ok(properties.envs(&full)));
    js(project, &mut tally, &full);
    package(project, &mut tally, &full, false);
    tally.close(&[])
}

pub fn bench(project: &Project) -> Result<()> {
    build::ensure(project)?;
    tools::chromium()?;
    let dir = project.root.join("pkg-tests");
    npm_ci(&dir)?;
    npm_ci(&dir.join("bench/peers"))?;
    Cmd::new("node").args(["bench/run.mjs", "--gate"]).arg(build::bench(project)?).in_dir(&dir).run()
}

fn host(project: &Project, tally: &mut Tally) {
    let fixtures = std::env::var_os("LODGER_FIXTURES")
        .map_or_else(|| project.root.join("../shared/fixtures/streams"), PathBuf::from);
    if !fixtures.is_dir() {
        println!(
            "The recorded provider streams are not at {}: their tests say \"skipped: N\".",
            fixtures.display()
        );
    }
    let cargo = |args: &[&str]| Ok(in_root(project, args));
    let deny = ["--", "--deny", "warnings"];
    tally.run("format", Count::One, cargo(&["fmt", "--all", "--check"]));
    tally.run(
        "lints, host",
        Count::One,
        cargo(
            &[
                &["clippy", "--package", "lodger", "--package", "xtask", "--package", "test-runner"][..],
                &["--all-targets"],
                &deny,
            ]
            .concat(),
        ),
    );
    tally.run(
        "lints, wasm",
        Count::One,
        build::wasm_target().and_then(|()| {
            let all =
                ["--package", "wasm-app", "--features", "lodger/npm", "--all-targets", "--target", WASM];
            cargo(&[&["clippy", "--package", "lodger"][..], &all, &deny].concat())
        }),
    );
    // They run by their own command; that they compile is seen here.
    tally.run(
        "lints, fuzz",
        Count::One,
        tools::cpp().and_then(|()| cargo(&[&["clippy", "--package", "lodger-fuzz"][..], &deny].concat())),
    );
    // With what passed tests print: one that skips fixtures says so there.
    let tests = &["test", "--package", "lodger", "--no-fail-fast", "--", "--show-output"];
    // Without its judges the validator's tests would skip, so their absence is a failure of its own.
    let judges = || -> Result<PathBuf> {
        npm_ci(&project.root.join("tests/schema/ajv"))?;
        tools::schema_suite(project)
    };
    let mut core = in_root(project, tests);
    tally.check("judges of JSON Schema", || {
        let suite = judges()?;
        core = in_root(project, tests).env("LODGER_SCHEMA_SUITE", suite);
        Ok(())
    });
    tally.run("core", Count::Sum, Ok(core));
    tally.run("xtask", Count::Sum, cargo(&["test", "--package", "xtask"]));
    let doc = ["doc", "--package", "lodger", "--no-deps"];
    for (name, target) in [("documentation", &[][..]), ("documentation, wasm", &["--target", WASM])] {
        let cmd = cargo(&[&doc, target].concat());
        tally.run(name, Count::One, cmd.map(|cmd: Cmd| cmd.env("RUSTDOCFLAGS", "--deny warnings")));
    }
}

fn js(project: &Project, tally: &mut Tally, env: &[(&str, &str)]) {
    let dir = project.root.join("js");
    let tests = || -> Result<Vec<PathBuf>> {
        npm_ci(&dir)?;
        let tests = files(&dir.join("test"))?.into_iter().filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.ends_with(".test.js") || name.ends_with(".test.mjs")
        });
        Ok(tests.collect())
    };
    // Named one by one: what `node --test <folder>` means differs between versions.
    tally.run(
        "modules",
        Count::Node,
        tests()
            .map(|tests| Cmd::new("node").args(["--test", "--test-reporter=spec"]).args(tests))
            .map(|cmd| cmd.in_dir(&dir).envs(env)),
    );
    tally.run("types", Count::One, npm_ci(&dir).map(|()| tsc(&dir, "test")));
}

fn browser(project: &Project, tally: &mut Tally) {
    let arguments = || -> Result<Vec<String>> {
        build::wasm_target()?;
        let mut names = BTreeSet::new();
        for dir in ["tests", "examples/wasm-app/tests"].map(|dir| project.root.join(dir)) {
            // A test is a file in this folder, or a folder there.
            for file in files(&dir)?.iter().filter(|file| uses_wasm_bindgen_test(file)) {
                let first = file.strip_prefix(&dir)?.components().next().context("a test without a name")?;
                let name = Path::new(&first).with_extension("");
                names.insert(name.to_string_lossy().into_owned());
            }
        }
        let mut arguments: Vec<String> =
            names.into_iter().flat_map(|name| ["--test".to_owned(), name]).collect();
        if files(&project.root.join("src"))?.iter().any(|file| uses_wasm_bindgen_test(file)) {
            arguments.push("--lib".to_owned());
        }
        ensure!(!arguments.is_empty(), "no file in tests/ uses wasm_bindgen_test");
        Ok(arguments)
    };
    for (name, driver) in
        [("Chromium", tools::chromium as fn() -> Result<tools::Driver>), ("Firefox", tools::firefox)]
    {
        let cmd = || -> Result<Cmd> {
            let driver = driver()?;
            let mut cmd =
                in_root(project, &["test", "--package", "lodger", "--package", "wasm-app", "--target", WASM])
                    .arg("--no-fail-fast")
                    .args(arguments()?)
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", tools::test_runner(project)?)
                    .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", project.root.join("webdriver.json"))
                    // In seconds; the defaults are for machines with nothing else to do.
                    .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60")
                    .env("WASM_BINDGEN_TEST_TIMEOUT", "300");
            // The runner takes the first driver that it finds named.
            for other in ["GECKODRIVER", "SAFARIDRIVER", "CHROMEDRIVER", "MSEDGEDRIVER"] {
                cmd = cmd.without_env(other);
            }
            Ok(cmd.env(driver.variable, driver.path))
        };
        tally.run(name, Count::Sum, cmd());
    }
}

/// `beside`: the workbench's tests share the lanes of these.
fn package(project: &Project, tally: &mut Tally, env: &[(&str, &str)], beside: bool) {
    let dir = project.root.join("pkg-tests");
    let ready = || -> Result<Cmd> {
        build::ensure(project)?;
        tools::chromium()?;
        tools::firefox_alone()?;
        npm_ci(&dir)?;
        Ok(Cmd::new("node").arg("run.mjs").in_dir(&dir).envs(env))
    };
    tally.check("size", || build::package(project, build::Profile::Release));
    let mut workbench = None;
    if beside {
        tally.check("workbench", || {
            demo::make(project)?;
            workbench = Some(demo::started(project, None)?);
            Ok(())
        });
    }
    let name = if workbench.is_some() { "package and workbench" } else { "package" };
    let more = workbench.iter().flat_map(|address| ["--workbench", address.as_str()]);
    tally.run(name, Count::Last, ready().map(|cmd| cmd.args(more)));
}

fn www(project: &Project, tally: &mut Tally, beside: bool) {
    let dir = project.root.join("www");
    tally.run("workbench, types", Count::One, npm_ci(&dir).map(|()| tsc(&dir, ".")));
    if beside {
        return;
    }
    let ready = || -> Result<Cmd> {
        demo::make(project)?;
        tools::chromium()?;
        Ok(npm(&dir).args(["test", "--silent"]).env("LODGER_DEMO_URL", demo::started(project, None)?))
    };
    tally.run("workbench", Count::Last, ready());
}

fn local_model(project: &Project, tally: &mut Tally) {
    let dir = project.root.join("pkg-tests");
    let ready = || -> Result<Cmd> {
        demo::make(project)?;
        tools::chromium()?;
        npm_ci(&dir)?;
        let model = local_model::fetched(project)?;
        let cmd = Cmd::new("node").arg("local-model.mjs").in_dir(&dir);
        Ok(cmd.env("LODGER_DEMO_URL", demo::started(project, Some(model))?))
    };
    tally.run("a model in the page", Count::Last, ready());
}

fn in_root(project: &Project, args: &[&str]) -> Cmd {
    Cmd::new(cargo()).args(args).in_dir(&project.root)
}

fn tsc(dir: &Path, config: &str) -> Cmd {
    npm_bin(dir, "tsc").args(["--project", config]).in_dir(dir)
}

fn uses_wasm_bindgen_test(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
        && fs::read_to_string(file).is_ok_and(|text| text.contains("#[wasm_bindgen_test"))
}

/// How a suite says what it has done.
#[derive(Clone, Copy)]
enum Count {
    /// By its exit code alone: one check.
    One,
    /// Cargo's: `test result: ok. 3 passed; 0 failed; …` for each binary, to be added up.
    Sum,
    /// Node's: `ℹ pass 3` and `ℹ fail 0`.
    Node,
    /// `3 passed, 0 failed`; the last such line is the sum.
    Last,
}

#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    skipped: u32,
    failures: Vec<String>,
}

impl Tally {
    /// Runs one suite. What it prints is shown as it comes, and read.
    fn run(&mut self, name: &str, count: Count, cmd: Result<Cmd>) {
        self.suite(name, count, |suite| suite.watch(cmd?));
    }

    /// One check that is a function of ours.
    fn check(&mut self, name: &str, check: impl FnOnce() -> Result<()>) {
        self.suite(name, Count::One, |suite| {
            check()?;
            suite.passed = 1;
            Ok(())
        });
    }

    fn suite(&mut self, name: &str, count: Count, run: impl FnOnce(&mut Suite) -> Result<()>) {
        println!("\n== {name}");
        let started = Instant::now();
        let mut suite = Suite { count, passed: 0, failed: 0, skipped: 0, in_successes: false };
        let ended = run(&mut suite);
        if let Err(error) = &ended {
            println!("{error:#}");
        }
        if ended.is_err() || suite.failed > 0 {
            suite.failed = suite.failed.max(1);
            self.failures.push(name.to_owned());
        }
        println!(
            "== {name}: {} passed, {} failed, {:.0} s",
            suite.passed,
            suite.failed,
            started.elapsed().as_secs_f32()
        );
        self.passed += suite.passed;
        self.failed += suite.failed;
        self.skipped += suite.skipped;
    }

    fn close(self, times: &[String]) -> Result<()> {
        println!();
        if !times.is_empty() {
            println!("time: {}", times.join(", "));
        }
        if self.skipped > 0 {
            println!(
                "skipped: {} (what they need is not on this machine; the lines above name it)",
                self.skipped
            );
        }
        if !self.failures.is_empty() {
            println!("failed: {}", self.failures.join(", "));
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        ensure!(self.failed == 0, "not everything passed");
        Ok(())
    }
}

struct Suite {
    count: Count,
    passed: u32,
    failed: u32,
    skipped: u32,
    /// Reading what the tests that passed have printed.
    in_successes: bool,
}

/// The process that runs now, for the time limit to end.
static RUNNING: AtomicU32 = AtomicU32::new(0);

impl Suite {
    fn watch(&mut self, cmd: Cmd) -> Result<()> {
        let shown = cmd.to_string();
        let mut child = cmd.piped()?;
        RUNNING.store(child.id(), Ordering::SeqCst);
        lines(&mut child, |line| {
            if self.read(line) {
                println!("{line}");
            }
        })?;
        let status = child.wait()?;
        RUNNING.store(0, Ordering::SeqCst);
        if matches!(self.count, Count::One) {
            self.passed = u32::from(status.success());
        }
        if !status.success() && self.failed == 0 {
            bail!("`{shown}` failed ({status})");
        }
        ensure!(self.passed + self.failed > 0, "`{shown}` ran no test");
        Ok(())
    }

    /// Takes from a line what it says; `false` where it is not worth showing.
    fn read(&mut self, line: &str) -> bool {
        let line = line.trim();
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
}

/// `… 12 passed; 3 failed …`, with a comma or a semicolon.
fn passed_failed(line: &str) -> Option<(u32, u32)> {
    let before = |word: &str| line.split_once(word)?.0.split(' ').next_back()?.parse().ok();
    Some((before(" passed")?, before(" failed")?))
}

fn leading_number(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Ends everything when the time is over: a suite that hangs must not hang its callers too.
fn stop_after(limit: Duration) {
    thread::spawn(move || {
        thread::sleep(limit);
        let running = RUNNING.load(Ordering::SeqCst);
        if running != 0 {
            let _ = Cmd::new("kill").arg(running.to_string()).run();
        }
        println!("\nfailed: not done after {} minutes, stopped in the suite above", limit.as_secs() / 60);
        std::process::exit(1);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(count: Count, lines: &[&str]) -> (u32, u32, u32) {
        let mut suite = Suite { count, passed: 0, failed: 0, skipped: 0, in_successes: false };
        lines.iter().for_each(|line| _ = suite.read(line));
        (suite.passed, suite.failed, suite.skipped)
    }

    #[test]
    fn what_the_runners_print_is_read() {
        let cargo = [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "skipped: 452 recorded streams",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            "3 passed, 4 failed",
        ];
        assert_eq!(read(Count::Sum, &cargo), (15, 2, 452));
        assert_eq!(read(Count::Node, &["ℹ tests 9", "ℹ pass 8", "ℹ fail 1", "ℹ cancelled 0"]), (8, 1, 0));
        assert_eq!(read(Count::Last, &["wire: 3 passed, 0 failed", "", "10 passed, 1 failed"]), (10, 1, 0));
        assert_eq!(read(Count::One, &["3 passed, 0 failed"]), (0, 0, 0));
    }

    #[test]
    fn a_suite_that_fails_or_runs_nothing_counts_as_failed() {
        let mut tally = Tally::default();
        tally.run("good", Count::Last, Ok(Cmd::new("echo").arg("2 passed, 0 failed")));
        tally.run("empty", Count::Last, Ok(Cmd::new("echo").arg("nothing here")));
        tally.run("bad", Count::One, Ok(Cmd::new("false")));
        tally.run("absent", Count::One, Ok(Cmd::new("no-such-program-anywhere")));
        tally.check("ours", || Ok(()));
        tally.check("too big", || bail!("too big"));
        assert_eq!((tally.passed, tally.failed), (3, 4));
        assert_eq!(tally.failures, ["empty", "bad", "absent", "too big"]);
        assert!(tally.close(&[]).is_err());
    }

    #[test]
    fn parts_are_known_by_name() {
        assert!(Part::parse(&[]).unwrap() == Part::ALL);
        assert!(Part::parse(&["js", "host"]).unwrap() == [Part::Js, Part::Host]);
        assert!(Part::parse(&["local-model"]).unwrap() == [Part::LocalModel]);
        assert!(!Part::ALL.contains(&Part::LocalModel));
        assert!(Part::parse(&["jss"]).is_err_and(|error| error.to_string().contains("host, js, browser")));
    }
}
