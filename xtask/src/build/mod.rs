//! `build`: the npm package, from source to `pkg/`.
//!
//! compile (`wasm`) -> bindings (`wasm`) -> shrink (`opt`) -> assemble (`package`) -> measure (`sizes`, `rooms`).
//! Promises: `pkg/` is either complete or said to be incomplete; a package above the gate is a failure; nothing is
//! built again whose sources have not changed.

mod opt;
mod package;
mod rooms;
mod sizes;
mod wasm;

use crate::project::Project;
use crate::stamp::{Stamp, digest};
use anyhow::{Result, bail};
use std::time::Instant;

/// What `import "lodger"` may cost a page, in bytes of brotli. A higher gate needs figures in ARCHITECTURE.md.
const GATE: usize = 150_000;

#[derive(Clone, Copy, PartialEq)]
pub enum Profile {
    /// What is published: small, without names.
    Release,
    /// For finding a fault: function names, checks in the bindings, no gate.
    Debug,
}

/// Makes `pkg/` if it is missing or stale, and prints what it weighs.
pub fn package(project: &Project, profile: Profile) -> Result<()> {
    let started = Instant::now();
    let report = project.cache("report.txt");
    if fresh(project, profile)? {
        println!("pkg/ is up to date");
    } else {
        stamp(project).clear();
        let built = wasm::compile(project, profile)?;
        let bindings = wasm::bind(project, profile, &built)?;
        let small = match profile {
            Profile::Release => opt::shrink(project, &bindings.wasm)?,
            Profile::Debug => opt::Optimised::untouched(&bindings.wasm)?,
        };
        package::assemble(project, &bindings, &small.stripped)?;
        std::fs::write(&report, rooms::report(project, &small.named, small.stripped.len())?)?;
        stamp(project).set(&digests(project, profile)?)?;
        println!("pkg/ made in {:.0} s", started.elapsed().as_secs_f32());
    }
    let weight = sizes::measure(&project.pkg())?;
    print!("\n{}\n{weight}", std::fs::read_to_string(&report)?);
    if profile == Profile::Release && weight.brotli() > GATE {
        bail!(
            "`import \"lodger\"` loads {} bytes of brotli, the gate is {GATE}: \
             the largest functions are listed in {}",
            weight.brotli(),
            project.cache("functions.txt").display()
        );
    }
    Ok(())
}

/// For commands that need the package but are not about it: quiet when there is nothing to do. A debug build that
/// someone is working with is good enough.
pub fn ensure(project: &Project) -> Result<()> {
    if fresh(project, Profile::Debug)? || fresh(project, Profile::Release)? {
        return Ok(());
    }
    package(project, Profile::Release)
}

/// Rust's standard library for wasm is there, or is put there.
pub fn wasm_target() -> Result<()> {
    wasm::ensure_target()
}

fn stamp(project: &Project) -> Stamp {
    Stamp::at(project.cache("pkg.stamp"))
}

fn fresh(project: &Project, profile: Profile) -> Result<bool> {
    Ok(stamp(project).holds(&digests(project, profile)?))
}

/// What the package is made from, and the package itself: one that was changed by hand is stale too.
fn digests(project: &Project, profile: Profile) -> Result<String> {
    let mut sources: Vec<_> =
        ["Cargo.toml", "Cargo.lock", "src", "js", "xtask"].map(|p| project.root.join(p)).into();
    sources.extend(package::TEXTS.map(|text| project.root.join(text)));
    let profile = match profile {
        Profile::Release => "release",
        Profile::Debug => "debug",
    };
    Ok(format!("{profile} {} {}", digest(&sources)?, digest(&[project.pkg()])?))
}
