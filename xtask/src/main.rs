//! `cargo xtask`: everything that is done to the project rather than by it.
//!
//! Each command works from a bare clone on a machine with a Rust toolchain and Node. What else a command needs it
//! installs, or it says by name what is missing and stops; nothing is skipped in silence.

mod build;
mod command;
mod demo;
mod docs;
mod fuzz;
mod local_model;
mod measured;
mod project;
mod serve;
mod stamp;
mod test;

use anyhow::{Context, Result, bail};
use command::{Cmd, cargo};
use project::Project;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask <command>

  build [--debug | --record]    make the npm package in pkg/, print its size, fail above the gate; --record: and put the
                                figures into docs/measured.md
  demo [--port N] [--no-open]   build what is missing, serve the workbench, open it in the browser; the documents under /docs/
       [--local-model]          with a small language model that runs in the page; 100 MB, fetched once
  docs                          the site of the documents, in docs/.vitepress/dist
  test [part...]                all tests, or these parts: host, js, browser, package, www; and, by its name only,
                                local-model: a real model calls a tool in Chromium
  test quick                    after an edit: format, lints, the core at a tenth of its worlds, the modules and types
       [--all]                  with either: also what has not changed since it passed (so does CI=true)
  campaign [--record]           kills, damages and full disks by the thousand, drawn from a seed, a year of use, then what the
       [--seed N]               tests draw at random in full; --record: and put counts and figures into docs/measured.md
       [--only PART[/NUMBER]]   only these: kills, browser, damage, profile, disk, judge; a number: this case alone
  fuzz [target] [--minutes 5]   bytes drawn at random, guided by coverage, for all targets or this one
  replay FILE                   run an exported session again: it must decide what is recorded, byte for byte
  bench [--record]              speed and size beside the peers, and what a year of use costs; --record: and put them
                                into docs/measured.md
  screenshots                   the workbench's pictures in www/screenshots/";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let Some((command, rest)) = args.split_first() else { bail!("which command?\n\n{USAGE}") };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    match (command.as_str(), rest.as_slice()) {
        ("build", []) => build::package(&Project::open()?, build::Profile::Release, false),
        ("help" | "--help" | "-h", _) | (_, ["help" | "--help" | "-h", ..]) => {
            println!("{USAGE}");
            Ok(())
        }
        ("build", ["--record"]) => build::package(&Project::open()?, build::Profile::Release, true),
        ("build", ["--debug"]) => build::package(&Project::open()?, build::Profile::Debug, false),
        ("demo", options) => demo::demo(&Project::open()?, &demo_options(options)?),
        ("docs", []) => docs::docs(&Project::open()?),
        ("test", arguments) => {
            let plan = test::Plan::parse(arguments)?;
            test::test(&Project::open()?, plan)
        }
        ("campaign", options) => {
            let options = campaign_options(options)?;
            test::campaign(&Project::open()?, &options)
        }
        ("fuzz", options) => fuzz::fuzz(&Project::open()?, &fuzz_options(options)?),
        ("replay", [file]) => {
            Cmd::new(cargo()).args(["run", "--quiet", "--package", "replay", "--", file]).run()
        }
        ("replay", _) => bail!("`replay` takes the file of an exported session\n\n{USAGE}"),
        ("bench", []) => test::bench(&Project::open()?, false),
        ("bench", ["--record"]) => test::bench(&Project::open()?, true),
        ("screenshots", []) => demo::screenshots(&Project::open()?),
        ("build" | "bench" | "docs" | "screenshots", [unknown, ..]) => {
            bail!("`{command}` has no argument '{unknown}'\n\n{USAGE}")
        }
        _ => bail!("there is no command '{command}'\n\n{USAGE}"),
    }
}

fn campaign_options(options: &[&str]) -> Result<test::Campaign> {
    let mut parsed = test::Campaign::default();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--record" => parsed.record = true,
            "--seed" => {
                let seed = options.next().context("--seed needs a number")?;
                seed.parse::<u32>().with_context(|| format!("--seed {seed} is no number"))?;
                parsed.seed = Some((*seed).to_owned());
            }
            "--only" => {
                let part = options.next().context("--only needs a part, as `kills` or `kills/37`")?;
                parsed.only.push((*part).to_owned());
            }
            other => bail!("`campaign` has no argument '{other}'\n\n{USAGE}"),
        }
    }
    if parsed.record && !parsed.only.is_empty() {
        bail!("`--record` keeps the counts of a whole campaign: leave `--only` out");
    }
    Ok(parsed)
}

fn fuzz_options<'a>(options: &[&'a str]) -> Result<fuzz::Options<'a>> {
    let mut parsed = fuzz::Options { target: None, minutes: 5 };
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--minutes" => {
                let minutes = options.next().context("--minutes needs a number")?;
                parsed.minutes =
                    minutes.parse().with_context(|| format!("--minutes {minutes} is no number"))?;
            }
            name if parsed.target.is_none() && !name.starts_with('-') => parsed.target = Some(name),
            other => bail!("`fuzz` has no argument '{other}'\n\n{USAGE}"),
        }
    }
    Ok(parsed)
}

fn demo_options(options: &[&str]) -> Result<demo::Options> {
    let mut parsed = demo::Options { port: demo::PORT, open: true, local_model: false };
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--no-open" => parsed.open = false,
            "--local-model" => parsed.local_model = true,
            "--port" => {
                let port = options.next().context("--port needs a number")?;
                parsed.port = port.parse().with_context(|| format!("--port {port} is no port number"))?;
            }
            other => bail!("`demo` has no argument '{other}'\n\n{USAGE}"),
        }
    }
    Ok(parsed)
}
