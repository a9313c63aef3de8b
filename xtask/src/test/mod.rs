//! `test`: all suites, in parts, or the quick ones. `campaign` and `bench`: the long ones.
//!
//! Promises: every suite that was asked for runs, stands unchanged since it passed, or counts as failed. A suite whose
//! tool is missing has failed, and so has a suite that ran no test. A failure stops no other suite. The last line is
//! the sum. The command ends within the time limit.

mod lanes;
mod limit;
mod passed;
mod reading;
mod suites;
mod tally;
pub mod tools;

use crate::build;
use crate::command::{Cmd, npm_ci};
use crate::measured;
use crate::project::Project;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::time::{Duration, Instant};
use suites::{LOCAL_MODEL, PROPERTIES, SUITES, Suite};

/// What is not done by then hangs: a machine with two cores that has to install and compile everything is done before.
const LIMIT: Duration = Duration::from_secs(85 * 60);

#[derive(Clone, Copy, PartialEq, Debug)]
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
    const ALL: [Part; 6] = [Part::Host, Part::Js, Part::Browser, Part::Package, Part::Www, Part::LocalModel];

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
}

/// How often is drawn at random.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effort {
    /// A tenth of the normal.
    Quick,
    Normal,
    /// Ten times and more.
    Campaign,
}

impl Effort {
    /// What says so to the tests: every suite that draws at random reads them.
    fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Effort::Quick => &[("LODGER_QUICK", "1")],
            Effort::Normal => &[],
            Effort::Campaign => &[("LODGER_CAMPAIGN", "1")],
        }
    }
}

/// Which suites, and how.
pub struct Plan {
    suites: Vec<&'static Suite>,
    effort: Effort,
    /// Also those that have not changed since they passed.
    all: bool,
    /// In lanes; else one after the other.
    beside: bool,
}

impl Plan {
    /// `--all`, and `quick` or names of parts. No names: all parts.
    pub fn parse(arguments: &[&str]) -> Result<Plan> {
        let named: Vec<&str> = arguments.iter().copied().filter(|argument| *argument != "--all").collect();
        let all = named.len() < arguments.len();
        let (suites, effort) = match named.as_slice() {
            [] => (SUITES.iter().collect(), Effort::Normal),
            ["quick"] => (SUITES.iter().filter(|suite| suite.quick).collect(), Effort::Quick),
            names => {
                let parts: Vec<Part> = names.iter().map(|name| part(name)).collect::<Result<_>>()?;
                let suites = SUITES.iter().chain([&LOCAL_MODEL]);
                (suites.filter(|suite| parts.contains(&suite.part)).collect(), Effort::Normal)
            }
        };
        Ok(Plan { suites, effort, all, beside: true })
    }

    /// What its sum must not be taken for.
    fn note(&self) -> Option<String> {
        let planned = |suite: &Suite| self.suites.iter().any(|planned| planned.name == suite.name);
        let left_out: Vec<_> =
            SUITES.iter().filter(|suite| !planned(suite)).map(|suite| suite.name).collect();
        (self.effort == Effort::Quick).then(|| {
            format!("quick: a tenth of what is drawn at random, and without {}", left_out.join(", "))
        })
    }
}

fn part(name: &str) -> Result<Part> {
    let known = || Part::ALL.map(Part::name).join(", ");
    let found = Part::ALL.into_iter().find(|part| part.name() == name);
    found.with_context(|| format!("there is no part '{name}': {}, or alone: quick", known()))
}

pub fn test(project: &Project, mut plan: Plan) -> Result<()> {
    // A machine that proves what somebody else has to rely on takes nothing on trust.
    plan.all |= std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false");
    close(project, &plan, Some(LIMIT))
}

/// Which part of a campaign, and what becomes of its counts.
#[derive(Default)]
pub struct Campaign {
    /// What is drawn goes by it; none: that of the sample in every run of the tests.
    pub seed: Option<String>,
    /// Parts, or cases of a part, as `kills/37`. None: all, and after them the suites in full.
    pub only: Vec<String>,
    /// The counts are kept.
    pub record: bool,
}

/// Kills, damages and full disks by the thousand; then what the tests do a tenth of, in full. A failure of one stops no other.
pub fn campaign(project: &Project, options: &Campaign) -> Result<()> {
    let in_full = [Part::Js, Part::Package];
    let suites = SUITES.iter().filter(|suite| in_full.contains(&suite.part));
    let suites = [&PROPERTIES].into_iter().chain(suites).collect();
    // One after the other: each of them loads the machine for long.
    let plan = Plan { suites, effort: Effort::Campaign, all: true, beside: false };
    let lives = whole_lives(project, options);
    if !options.only.is_empty() {
        return lives;
    }
    let year = year(project, options.record);
    lives.and(year).and(close(project, &plan, None))
}

/// What a year of use costs.
fn year(project: &Project, record: bool) -> Result<()> {
    figures(project, "year", in_package_tests(project).arg("bench/year.mjs"), record)
}

fn in_package_tests(project: &Project) -> Cmd {
    Cmd::new("node").in_dir(&project.root.join("pkg-tests"))
}

/// Everything that a workspace can meet (`pkg-tests/campaign`).
fn whole_lives(project: &Project, options: &Campaign) -> Result<()> {
    build::ensure(project)?;
    tools::chromium()?;
    let dir = project.root.join("pkg-tests");
    npm_ci(&dir)?;
    let counts = project.cache("campaign").join("counts.txt");
    fs::create_dir_all(project.cache("campaign"))?;
    let seed = options.seed.iter().flat_map(|seed| ["--seed", seed]);
    let only = options.only.iter().flat_map(|part| ["--only", part]);
    let run = in_package_tests(project).arg("campaign/run.mjs").args(seed).args(only);
    run.arg("--write").arg(&counts).run()?;
    if options.record {
        measured::record(project, "campaign", &fs::read_to_string(&counts)?)?;
    }
    Ok(())
}

fn close(project: &Project, plan: &Plan, limit: Option<Duration>) -> Result<()> {
    let started = Instant::now();
    let tally = lanes::run(project, plan, limit);
    tally.closing(started.elapsed()).iter().for_each(|line| println!("{line}"));
    ensure!(tally.good(), "not everything passed");
    Ok(())
}

/// Beside the peers, then a year of use. `record`: the figures are kept.
pub fn bench(project: &Project, record: bool) -> Result<()> {
    build::ensure(project)?;
    tools::chromium()?;
    let dir = project.root.join("pkg-tests");
    npm_ci(&dir)?;
    npm_ci(&dir.join("bench/peers"))?;
    let speed = in_package_tests(project).arg("bench/run.mjs").arg("--gate").arg(build::bench(project)?);
    figures(project, "speed", speed, record)?;
    year(project, record)
}

/// Runs what prints figures. `record`: they are kept in this block.
fn figures(project: &Project, block: &str, bench: Cmd, record: bool) -> Result<()> {
    if !record {
        return bench.run();
    }
    let figures = bench.captured()?;
    print!("{figures}");
    measured::record(project, block, &figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        Plan::parse(arguments).unwrap().suites.iter().map(|suite| suite.name).collect()
    }

    #[test]
    fn what_is_asked_for_is_planned() {
        let all = Plan::parse(&[]).unwrap();
        assert!(all.suites.len() == SUITES.len() && all.effort == Effort::Normal && !all.all && all.beside);
        assert_eq!(all.note(), None);
        assert_eq!(names(&["js"]), ["modules", "types"]);
        assert_eq!(names(&["www", "js"]), ["modules", "types", "workbench types", "workbench"]);
        assert_eq!(names(&["local-model"]), ["a model in the page"]);
        assert!(Plan::parse(&["--all"]).unwrap().all);
        let refused = |arguments: &[&str]| Plan::parse(arguments).err().map(|error| error.to_string());
        let known = "host, js, browser, package, www, local-model, or alone: quick";
        assert_eq!(refused(&["jss"]), Some(format!("there is no part 'jss': {known}")));
        assert_eq!(refused(&["js", "quick"]), Some(format!("there is no part 'quick': {known}")));
    }

    #[test]
    fn quick_says_what_it_leaves_out() {
        let quick = Plan::parse(&["quick"]).unwrap();
        let note = quick.note().unwrap();
        for suite in &SUITES {
            let named = note.split(", ").any(|name| name.trim_start_matches("and without ") == suite.name);
            assert_ne!(suite.quick, named, "{}", suite.name);
        }
    }
}
