//! The campaign of the pump's host twin: many seeds, every law at every step.
//!
//! Normal: [`SEEDS`] worlds; with `LODGER_CAMPAIGN=1` ten times as many. `LODGER_SEED=n` runs one alone. A seed
//! that breaks a law is made simpler (fewer kinds of trouble, as long as it still breaks one) and told with
//! the end of what happened.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing
)] // a test file throughout

mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::sim::{Faults, World};

const SEEDS: u64 = 2_000;
const STEPS: usize = 250;

/// Two worlds of three have no page tools: they are most of what a start costs. One of two benches nothing: there it is
/// looked at more strictly what was shown.
fn faults_of(seed: u64) -> Faults {
    Faults { page_tools: seed.is_multiple_of(3), benches: seed.is_multiple_of(2), ..Faults::ALL }
}

/// What one world saw, or the law that it broke and what led to it.
fn run(seed: u64, faults: Faults, keeps_trace: bool) -> Result<World, (String, Vec<String>)> {
    let mut world = World::wild(seed, faults, keeps_trace);
    let done = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..STEPS {
            world.step();
        }
        world.come_to_rest();
    }));
    match done {
        Ok(()) => Ok(world),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
            Err((text.unwrap_or_default(), std::mem::take(&mut world.trace)))
        }
    }
}

fn simplest(seed: u64) -> String {
    let mut faults = faults_of(seed);
    while let Some(fewer) = faults.fewer().into_iter().find(|fewer| run(seed, *fewer, false).is_err()) {
        faults = fewer;
    }
    let Err((broken, trace)) = run(seed, faults, true) else { return "it does not break again".into() };
    let lines = trace.iter().filter(|line| !line.contains("Tell(Tools(") && !line.contains("tools.register"));
    let lines: Vec<String> = lines.map(|line| line.chars().take(700).collect()).collect();
    let end = &lines[lines
        .len()
        .saturating_sub(std::env::var("LODGER_TRACE").ok().and_then(|n| n.parse().ok()).unwrap_or(60))..];
    format!("seed {seed} with {faults:?}\n{}\n{broken}", end.join("\n"))
}

#[test]
fn no_world_breaks_a_law() {
    let campaign = std::env::var("LODGER_CAMPAIGN").is_ok_and(|value| value == "1");
    let only = std::env::var("LODGER_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = match only {
        Some(seed) => seed..seed + 1,
        None if campaign => 0..SEEDS * 10,
        None => 0..SEEDS,
    };
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut failures = Vec::new();
    let mut worlds = 0;
    for seed in seeds {
        worlds += 1;
        match run(seed, faults_of(seed), false) {
            Ok(world) => {
                for (what, times) in &world.seen {
                    *seen.entry((*what).into()).or_default() += times;
                }
                for (kind, times) in &world.journal.kinds {
                    *seen.entry(format!("entries: {kind}")).or_default() += times;
                }
            }
            Err((broken, _)) => {
                failures.push((seed, broken));
                if failures.len() >= 5 {
                    break;
                }
            }
        }
    }
    let told = failures.first().map(|(seed, _)| simplest(*seed));
    std::panic::set_hook(quiet);
    println!("{worlds} worlds: {seen:#?}");
    let all: Vec<String> = failures
        .iter()
        .map(|(seed, broken)| format!("{seed}: {}", broken.chars().take(300).collect::<String>()))
        .collect();
    assert!(told.is_none(), "{}\nall:\n{}", told.unwrap_or_default(), all.join("\n"));
    if only.is_none() {
        everything_happened(&seen);
    }
}

/// A campaign in which something never happens proves nothing of it.
fn everything_happened(seen: &BTreeMap<String, u64>) {
    let kinds = [
        "started",
        "configured",
        "stopped",
        "prompt",
        "called",
        "answered",
        "failed",
        "refused",
        "ordered",
        "returned",
        "unknown",
        "interrupted",
        "lost",
        "benched",
        "resumed",
        "ended",
        "cleared",
        "inspected",
        "validated",
        "consulted",
        "judged",
        "permission_asked",
        "permission_answered",
        "revoked",
        "handed",
        "looked_up",
        "not_found",
        "delegated",
        "retrying",
        "due",
        "fell_back",
        "over_budget",
        "queued",
        "edited",
        "unqueued",
        "released",
        "taken",
        "taken, to begin a run",
        "taken, to enter one",
        "prompt, edited",
        "prompt, made anew",
    ];
    let events = [
        "commits: conflict",
        "commits: quota",
        "commits: failed",
        "commits: unavailable",
        "commits: blocked",
        "commits: newer",
        "commits: deleted",
        "crashes: the commit lands",
        "crashes: the commit is lost",
        "thefts",
        "late answers",
        "reads that fail",
        "locks that are refused",
        "tool calls",
        "model calls",
        "delegates: model calls",
        "messages with files",
        "versions looked at",
        "messages that wait",
    ];
    let kinds = kinds.map(|kind| format!("entries: {kind}"));
    let missing: Vec<_> =
        kinds.iter().map(String::as_str).chain(events).filter(|what| !seen.contains_key(*what)).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
