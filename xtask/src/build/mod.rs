//! `build`: the npm package, from source to `pkg/`.
//!
//! compile (`wasm`) -> lay out (`parts`) -> bindings (`wasm`) -> shrink (`opt`) -> divide (`parts`, `arrange`) -> modules
//! (`modules`) -> assemble (`package`) -> measure (`sizes`, `rooms`).
//! Promises: `pkg/` is either complete or said to be incomplete. What is above its gate or has none is a failure.
//! Nothing is built again whose sources have not changed.

mod arrange;
mod modules;
mod notices;
mod opt;
mod package;
mod parts;
mod rooms;
mod sizes;
mod wasm;

use crate::command::{Cmd, npm_bin, npm_ci, say};
use crate::measured;
use crate::project::{Project, files};
use crate::stamp::{Stamp, digest};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Clone, Copy, PartialEq)]
pub enum Profile {
    /// What is published: small, without names.
    Release,
    /// For finding a fault: function names, checks in the bindings, no gate.
    Debug,
}

/// Makes `pkg/` if it is missing or stale, and says what it weighs; too much is an error. `record`: the figures are kept.
pub fn package(project: &Project, profile: Profile, record: bool) -> Result<()> {
    make(project, profile)?;
    let weight = sizes::measure(project)?;
    let figures = format!("{}\n{weight}", fs::read_to_string(report(project))?);
    say(format!("\n{figures}").trim_end());
    if record {
        measured::record(project, "size", &figures)?;
    }
    let faults = weight.faults();
    if profile == Profile::Release && !faults.is_empty() {
        bail!(
            "{}; the largest functions are listed in {}",
            faults.join("; "),
            project.cache("functions.txt").display()
        );
    }
    Ok(())
}

/// For commands that need the package and do not judge it. A debug build that someone is working with is good enough.
pub fn ensure(project: &Project) -> Result<()> {
    if fresh(project, Profile::Debug)? { package::texts(project) } else { make(project, Profile::Release) }
}

fn make(project: &Project, profile: Profile) -> Result<()> {
    if fresh(project, profile)? {
        say("pkg/ is up to date");
        return package::texts(project);
    }
    let started = Instant::now();
    stamp(project).clear();
    let built = wasm::compile(project, profile, "npm")?;
    let (named, parts, glue) = match profile {
        Profile::Release => {
            let (laid, linked) = parts::laid_out(&fs::read(&built)?)?;
            let laid_out = built.with_extension("laid.wasm");
            fs::write(&laid_out, laid)?;
            let bindings = wasm::bind(project, profile, &laid_out)?;
            let small = opt::shrink(project, &bindings.wasm)?;
            let parts = parts::divide(&linked, &small)?;
            (small, parts, bindings.glue)
        }
        Profile::Debug => {
            let bindings = wasm::bind(project, profile, &built)?;
            let whole = fs::read(&bindings.wasm)?;
            (whole.clone(), parts::undivided(whole), bindings.glue)
        }
    };
    let modules = modules::bundle(project, profile, &glue, &parts.build)?;
    package::assemble(project, &modules, &parts)?;
    package::texts(project)?;
    let weight = parts.parts.iter().map(|(_, part)| part.len()).sum::<usize>() + parts.main.len();
    fs::write(report(project), rooms::report(project, &named, weight)?)?;
    stamp(project).set(&digests(project, profile)?)?;
    say(format!("pkg/ made in {:.0} s", started.elapsed().as_secs_f32()));
    Ok(())
}

/// The module with what only the benchmark calls, built as the package's, in a folder with its glue.
pub fn bench(project: &Project) -> Result<PathBuf> {
    let built = wasm::compile(project, Profile::Release, "bench")?;
    let bindings = wasm::bind(project, Profile::Release, &built)?;
    let whole = parts::whole(&opt::shrink(project, &bindings.wasm)?)?;
    let dir = project.cache("bench");
    let _ = fs::remove_dir_all(&dir);
    modules::copy(project, &bindings.glue, &dir)?;
    fs::write(dir.join(package::WASM_FILE), &whole)?;
    Ok(dir)
}

/// Rust's standard library for wasm is there, or is put there.
pub fn wasm_target() -> Result<()> {
    wasm::ensure_target()
}

/// A program from the npm packages that the build uses, installed when they are not.
fn tool(project: &Project, name: &str) -> Result<Cmd> {
    let dir = project.cache("npm");
    fs::create_dir_all(&dir)?;
    for file in ["package.json", "package-lock.json"] {
        let from = project.root.join("xtask/npm").join(file);
        fs::copy(&from, dir.join(file)).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    npm_ci(&dir)?;
    Ok(npm_bin(&dir, name))
}

/// The rooms' shares, kept for when nothing has to be built.
fn report(project: &Project) -> PathBuf {
    project.cache("report.txt")
}

fn stamp(project: &Project) -> Stamp {
    Stamp::at(project.cache("pkg.stamp"))
}

fn fresh(project: &Project, profile: Profile) -> Result<bool> {
    Ok(stamp(project).holds(&digests(project, profile)?))
}

/// What the package is made from, and the package itself: one that was changed by hand is stale too. Its texts are not in it.
fn digests(project: &Project, profile: Profile) -> Result<String> {
    let sources: Vec<_> =
        ["Cargo.toml", "Cargo.lock", "src", "js", "xtask"].map(|p| project.root.join(p)).into();
    let profile = match profile {
        Profile::Release => "release",
        Profile::Debug => "debug",
    };
    let made: Vec<_> =
        files(&project.pkg())?.into_iter().filter(|file| !package::is_text(project, file)).collect();
    Ok(format!("{profile} {} {}", digest(&sources)?, digest(&made)?))
}
