//! All suites: which part each belongs to, beside what it runs, what it reads, and by which command.
//!
//! Leaves to others: in which order and when they run (`lanes`), and whether one has to (`passed`).

use super::reading::Count;
use super::{Effort, Part, tools};
use crate::build;
use crate::command::{Cmd, cargo, npm, npm_bin, npm_ci, say};
use crate::demo;
use crate::docs;
use crate::local_model;
use crate::project::{Project, WASM, files};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

pub struct Suite {
    pub name: &'static str,
    pub part: Part,
    pub lane: Lane,
    pub count: Count,
    /// One of `test quick`.
    pub quick: bool,
    /// It draws at random: the effort is how often.
    pub draws: bool,
    /// Files of the repository; folders with all that is in them, but for documents; `folder/*.md`, these documents;
    /// `*.x`, all files of this kind.
    /// What runs all suites, `RUNNER`, is in none of these lists.
    pub(super) reads: &'static [&'static [&'static str]],
    /// What it reads that is not in the repository.
    pub outside: fn(&Project) -> Vec<PathBuf>,
    /// What it is made or run by, and may come in another version tomorrow.
    pub by: &'static [Program],
    pub work: fn(&Project, Effort) -> Result<Work>,
}

/// Suites in one lane run one after the other, in the order of the table, and lanes run beside each other. No two lanes
/// build in the same folder: Cargo would have one wait for the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lane {
    /// What a compiler says without making a program.
    Lints,
    /// Tests that Cargo builds.
    Cargo,
    /// What Node runs, and the package, which has a folder to be built in. Two suites of pages at a time are too many.
    Node,
}

#[derive(Clone, Copy)]
pub enum Program {
    Rust,
    Node,
    Chromium,
    Firefox,
    WebKit,
}

pub enum Work {
    /// A command, whose output is read.
    Watch(Cmd),
    /// A check that has been done: one test.
    Done,
}

/// What runs them.
const RUNNER: &[&str] = &[".ci", ".gitignore", "xtask"];
/// The crate as Cargo builds it, with the modules that it imports.
const CRATE: &[&str] = &["Cargo.toml", "Cargo.lock", ".cargo", "src", "js"];
const LINTS: &[&str] = &["clippy.toml", "tests", "examples", "docs/start/rust.md"];
/// What the package is made from, besides the crate.
const PACKAGE: &[&str] = &["README.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// The pages that readers get, in the package and as a site.
const PAGES: &[&str] = &[
    "docs/menu.json",
    "docs/start/*.md",
    "docs/guides/*.md",
    "docs/concepts/*.md",
    "docs/index.md",
    "docs/errors.md",
    "docs/security.md",
    "docs/questions.md",
    "docs/statuses.md",
    "docs/models.md",
    "docs/SKILL.md",
];
/// What the apps are built from that bundlers make of the package.
const BUNDLED: &[&str] = &[
    "pkg-tests/.npmrc",
    "pkg-tests/package.json",
    "pkg-tests/package-lock.json",
    "pkg-tests/run.mjs",
    "pkg-tests/lib",
    "pkg-tests/servers",
    "pkg-tests/consumers",
    "pkg-tests/suites/bundlers.mjs",
];
/// One of the judges of JSON Schema; the other comes from a registry whole.
const AJV: &str = "tests/host/corpora/schema/ajv";

/// Most suites are one check that Rust makes.
pub const CHECK: Suite = Suite {
    name: "",
    part: Part::Host,
    lane: Lane::Lints,
    count: Count::One,
    quick: false,
    draws: false,
    reads: &[],
    outside: |_| Vec::new(),
    by: RUST,
    work: |_, _| Ok(Work::Done),
};

const RUST: &[Program] = &[Program::Rust];
const NODE: &[Program] = &[Program::Node];

pub static SUITES: [Suite; 17] = [
    Suite {
        name: "format",
        quick: true,
        reads: &[&["*.rs", "*.toml"]],
        work: |project, _| Ok(Work::Watch(behind(project, &["fmt", "--all", "--check"]))),
        ..CHECK
    },
    Suite {
        name: "host lints",
        quick: true,
        reads: &[CRATE, LINTS, &["fuzz"]],
        work: |project, _| {
            // The fuzz targets run by their own command; that they compile is seen here.
            let names = ["lodger", "xtask", "replay", "test-runner", "lodger-fuzz"];
            let packages = names.map(|name| ["--package", name]);
            let clippy = clippy(project, &[packages.as_flattened(), &["--all-targets"]].concat());
            // Nothing is linked, so its library need not be there, which half a minute of C++ would build.
            Ok(Work::Watch(clippy.env("CUSTOM_LIBFUZZER_PATH", project.cache("lints").join("libfuzzer.a"))))
        },
        ..CHECK
    },
    Suite {
        name: "wasm lints",
        quick: true,
        reads: &[CRATE, LINTS],
        work: |project, _| {
            build::wasm_target()?;
            let all = ["--features", "lodger/npm", "--all-targets", "--target", WASM];
            let packages = &["--package", "lodger", "--package", "wasm-app"][..];
            Ok(Work::Watch(clippy(project, &[packages, &all].concat())))
        },
        ..CHECK
    },
    Suite {
        name: "documentation",
        reads: &[CRATE, &["docs/start/rust.md"]],
        work: |project, _| {
            build::wasm_target()?;
            Ok(doc(project, &["--target", WASM]))
        },
        ..CHECK
    },
    // Without its judges the validator's tests would skip, so their absence is a failure of its own.
    Suite {
        name: "judges of JSON Schema",
        lane: Lane::Cargo,
        quick: true,
        reads: &[&[AJV]],
        outside: judges_places,
        by: NODE,
        work: |project, _| judges(project).map(|_| Work::Done),
        ..CHECK
    },
    Suite {
        name: "core",
        lane: Lane::Cargo,
        count: Count::Sum,
        quick: true,
        draws: true,
        // Documents too: what they say is among its tests.
        reads: &[CRATE, &["tests", "examples", "fuzz", "*.md"]],
        outside: |project| [judges_places(project), recordings(project)].concat(),
        by: &[Program::Rust, Program::Node],
        work: core,
        ..CHECK
    },
    Suite {
        name: "xtask",
        lane: Lane::Cargo,
        count: Count::Sum,
        reads: &[&["Cargo.toml", "Cargo.lock", ".cargo"]],
        // In the profile of `cargo xtask` itself, for which all that it depends on is built already.
        work: |project, _| {
            Ok(Work::Watch(behind(project, &["test", "--package", "xtask", "--profile", "dev"])))
        },
        ..CHECK
    },
    Suite {
        name: "Chromium",
        part: Part::Browser,
        lane: Lane::Cargo,
        count: Count::Sum,
        reads: &[CRATE, &["tests", "examples", "webdriver.json"]],
        by: &[Program::Rust, Program::Chromium],
        work: |project, _| in_browser(project, &tools::chromium()?),
        ..CHECK
    },
    Suite {
        name: "Firefox",
        part: Part::Browser,
        lane: Lane::Cargo,
        count: Count::Sum,
        reads: &[CRATE, &["tests", "examples", "webdriver.json"]],
        by: &[Program::Rust, Program::Firefox],
        work: |project, _| in_browser(project, &tools::firefox(project)?),
        ..CHECK
    },
    Suite {
        name: "modules",
        part: Part::Js,
        lane: Lane::Node,
        count: Count::Node,
        quick: true,
        draws: true,
        // The lists of both sides are compared.
        reads: &[&["js", "src", "docs/errors.md"]],
        by: NODE,
        work: modules,
        ..CHECK
    },
    Suite {
        name: "types",
        part: Part::Js,
        lane: Lane::Node,
        quick: true,
        reads: &[&["js", "src/model/models.json"]],
        by: NODE,
        work: |project, _| tsc(&project.root.join("js"), "test"),
        ..CHECK
    },
    Suite {
        name: "size",
        part: Part::Package,
        lane: Lane::Node,
        reads: &[CRATE, PACKAGE, PAGES],
        // A package that was changed by hand, or is gone, is made anew.
        outside: |project| vec![project.pkg()],
        by: &[Program::Rust, Program::Node],
        work: |project, _| build::package(project, build::Profile::Release, false).map(|()| Work::Done),
        ..CHECK
    },
    Suite {
        name: "package",
        part: Part::Package,
        lane: Lane::Node,
        count: Count::Last,
        draws: true,
        reads: &[CRATE, PACKAGE, PAGES, &["pkg-tests"]],
        outside: recordings,
        by: &[Program::Rust, Program::Node, Program::Chromium, Program::Firefox, Program::WebKit],
        work: |project, effort| {
            tools::firefox_alone()?;
            tools::webkit()?;
            package(project, effort, &["--without", "bundlers"])
        },
        ..CHECK
    },
    // Apart, because it builds for minutes and stands on little: no other suite's edit builds Next again.
    Suite {
        name: "bundlers",
        part: Part::Package,
        lane: Lane::Node,
        count: Count::Last,
        reads: &[CRATE, BUNDLED],
        by: &[Program::Rust, Program::Node, Program::Chromium],
        work: |project, effort| package(project, effort, &["--only", "bundlers"]),
        ..CHECK
    },
    // A link that leads nowhere fails it.
    Suite {
        name: "documents",
        part: Part::Package,
        lane: Lane::Node,
        reads: &[PAGES, &["docs", "js"]],
        by: NODE,
        work: |project, _| docs::make(project).map(|()| Work::Done),
        ..CHECK
    },
    Suite {
        name: "workbench types",
        part: Part::Www,
        lane: Lane::Node,
        reads: &[&["www", "js"]],
        by: NODE,
        work: |project, _| tsc(&project.root.join("www"), "."),
        ..CHECK
    },
    Suite {
        name: "workbench",
        part: Part::Www,
        lane: Lane::Node,
        count: Count::Last,
        // It speaks to the servers of the package's tests.
        reads: &[CRATE, PACKAGE, &["www", "pkg-tests"]],
        by: &[Program::Rust, Program::Node, Program::Chromium, Program::Firefox, Program::WebKit],
        work: workbench,
        ..CHECK
    },
];

/// By its part's name only.
pub static LOCAL_MODEL: Suite = Suite {
    name: "a model in the page",
    part: Part::LocalModel,
    lane: Lane::Node,
    count: Count::Last,
    reads: &[CRATE, PACKAGE, &["www", "pkg-tests"]],
    by: &[Program::Rust, Program::Node, Program::Chromium],
    work: model_in_the_page,
    ..CHECK
};

/// By `campaign` only: the core as it is published.
pub static PROPERTIES: Suite = Suite {
    name: "properties, in full",
    lane: Lane::Cargo,
    count: Count::Sum,
    draws: true,
    work: |project, effort| {
        let tests = ["test", "--package", "lodger", "--release", "--lib", "--tests", "--no-fail-fast"];
        Ok(Work::Watch(behind(project, &tests).envs(effort.variables())))
    },
    ..CHECK
};

impl Suite {
    /// Whether this file of the repository is among what it stands on.
    pub fn reads(&self, file: &str) -> bool {
        let document = file.ends_with(".md");
        RUNNER.iter().chain(self.reads.iter().copied().flatten()).any(|place| {
            let within = |folder| Some(file.strip_prefix(folder)?.starts_with('/'));
            match (place.strip_prefix('*'), place.strip_suffix("/*.md")) {
                (Some(ending), _) => file.ends_with(ending),
                (_, Some(folder)) => document && within(folder) == Some(true),
                _ => file == *place || !document && within(place) == Some(true),
            }
        })
    }
}

fn in_root(project: &Project, args: &[&str]) -> Cmd {
    Cmd::new(cargo()).args(args).in_dir(&project.root)
}

/// Cargo where no browser comes of it: browsers beside it have the machine when they want it, because tests of pages
/// wait at most so long, and a compiler takes what is left.
fn behind(project: &Project, args: &[&str]) -> Cmd {
    if cfg!(unix) {
        Cmd::new("nice").args(["-n", "10"]).arg(cargo()).args(args).in_dir(&project.root)
    } else {
        in_root(project, args)
    }
}

/// In a folder of its own, so that it need not wait for what is built in the other.
fn clippy(project: &Project, args: &[&str]) -> Cmd {
    let deny = ["--", "--deny", "warnings"];
    behind(project, &["clippy"]).args(args).arg("--target-dir").arg(project.cache("lints")).args(deny)
}

fn doc(project: &Project, args: &[&str]) -> Work {
    let cmd = behind(project, &["doc", "--package", "lodger", "--no-deps"]).args(args);
    Work::Watch(cmd.arg("--target-dir").arg(project.cache("lints")).env("RUSTDOCFLAGS", "--deny warnings"))
}

fn judges(project: &Project) -> Result<PathBuf> {
    npm_ci(&project.root.join(AJV))?;
    tools::schema_suite(project)
}

fn judges_places(project: &Project) -> Vec<PathBuf> {
    vec![project.cache("suite"), project.root.join(AJV).join("node_modules/.installed")]
}

fn recordings(project: &Project) -> Vec<PathBuf> {
    let given = env::var_os("LODGER_FIXTURES").map(PathBuf::from);
    vec![given.unwrap_or_else(|| project.root.join("../shared/fixtures/streams"))]
}

fn core(project: &Project, effort: Effort) -> Result<Work> {
    for place in recordings(project).iter().filter(|place| !place.is_dir()) {
        say(format!(
            "The recorded provider streams are not at {}: their tests say \"skipped: N\".",
            place.display()
        ));
    }
    // With what passed tests print: one that skips fixtures says so there.
    let tests = ["test", "--package", "lodger", "--no-fail-fast", "--", "--show-output"];
    let cmd = behind(project, &tests).envs(effort.variables());
    Ok(Work::Watch(match judges(project) {
        Ok(suite) => cmd.env("LODGER_SCHEMA_SUITE", suite),
        Err(_) => cmd,
    }))
}

fn modules(project: &Project, effort: Effort) -> Result<Work> {
    let dir = project.root.join("js");
    npm_ci(&dir)?;
    let tests = files(&dir.join("test"))?.into_iter().filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".test.js") || name.ends_with(".test.mjs")
    });
    // Named one by one: what `node --test <folder>` means differs between versions.
    let cmd = Cmd::new("node").args(["--test", "--test-reporter=spec"]).args(tests);
    Ok(Work::Watch(cmd.in_dir(&dir).envs(effort.variables())))
}

fn tsc(dir: &Path, config: &str) -> Result<Work> {
    npm_ci(dir)?;
    Ok(Work::Watch(npm_bin(dir, "tsc").args(["--project", config]).in_dir(dir)))
}

fn in_browser(project: &Project, driver: &tools::Driver) -> Result<Work> {
    build::wasm_target()?;
    let mut cmd =
        in_root(project, &["test", "--package", "lodger", "--package", "wasm-app", "--target", WASM])
            .arg("--no-fail-fast")
            .args(browser_tests(project)?)
            // It keeps wasm-bindgen's custom sections whole.
            .env("CARGO_PROFILE_TEST_CODEGEN_UNITS", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", tools::test_runner(project)?)
            .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", project.root.join("webdriver.json"))
            // In seconds; the defaults are for machines with nothing else to do.
            .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60")
            .env("WASM_BINDGEN_TEST_TIMEOUT", "300");
    // The runner takes the first driver that it finds named.
    for other in ["GECKODRIVER", "SAFARIDRIVER", "CHROMEDRIVER", "MSEDGEDRIVER"] {
        cmd = cmd.without_env(other);
    }
    Ok(Work::Watch(cmd.env(driver.variable, &driver.path)))
}

/// What names the tests in browsers to Cargo.
fn browser_tests(project: &Project) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for dir in ["tests", "examples/wasm-app/tests"].map(|dir| project.root.join(dir)) {
        // A test is a file in this folder, or a folder there.
        for file in files(&dir)?.iter().filter(|file| uses_wasm_bindgen_test(file)) {
            let first = file.strip_prefix(&dir)?.components().next().context("a test without a name")?;
            let name = Path::new(&first).with_extension("");
            names.insert(name.to_string_lossy().into_owned());
        }
    }
    let mut arguments: Vec<String> = names.into_iter().flat_map(|name| ["--test".to_owned(), name]).collect();
    if files(&project.root.join("src"))?.iter().any(|file| uses_wasm_bindgen_test(file)) {
        arguments.push("--lib".to_owned());
    }
    ensure!(!arguments.is_empty(), "no file in tests/ uses wasm_bindgen_test");
    Ok(arguments)
}

fn uses_wasm_bindgen_test(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
        && fs::read_to_string(file).is_ok_and(|text| text.contains("#[wasm_bindgen_test"))
}

fn package(project: &Project, effort: Effort, which: &[&str]) -> Result<Work> {
    let dir = project.root.join("pkg-tests");
    build::ensure(project)?;
    tools::chromium()?;
    npm_ci(&dir)?;
    Ok(Work::Watch(Cmd::new("node").arg("run.mjs").args(which).in_dir(&dir).envs(effort.variables())))
}

fn workbench(project: &Project, _: Effort) -> Result<Work> {
    demo::make(project)?;
    tools::chromium()?;
    tools::firefox_alone()?;
    tools::webkit()?;
    // What drives Firefox is among them.
    npm_ci(&project.root.join("pkg-tests"))?;
    let test = npm(&project.root.join("www")).args(["test", "--silent"]);
    Ok(Work::Watch(test.env("LODGER_DEMO_URL", demo::started(project, None)?)))
}

fn model_in_the_page(project: &Project, _: Effort) -> Result<Work> {
    let dir = project.root.join("pkg-tests");
    demo::make(project)?;
    tools::chromium()?;
    npm_ci(&dir)?;
    let model = local_model::fetched(project)?;
    let cmd = Cmd::new("node").arg("local-model.mjs").in_dir(&dir);
    Ok(Work::Watch(cmd.env("LODGER_DEMO_URL", demo::started(project, Some(model))?)))
}
