//! The campaign of the pump's host twin: many seeds, every law at every step.
//!
//! Normal: [`SEEDS`] worlds, and with `LODGER_CAMPAIGN=1` ten times as many. `LODGER_SEED=n` runs one alone. A seed
//! that breaks a law is made simpler: fewer kinds of trouble, as long as it still breaks one. It is told with
//! the end of what happened.

use crate::support::parts::{Whole, drawn, in_parts, seeds};
use crate::support::sim::{Faults, World};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

const SEEDS: u64 = 2_000;
const STEPS: usize = 250;

/// How often everything happened.
type Seen = BTreeMap<String, u64>;

/// Two worlds of three have no page tools: they are most of what a start costs. One of two benches nothing: there it is
/// looked at more strictly what was shown.
fn faults_of(seed: u64) -> Faults {
    Faults { page_tools: seed.is_multiple_of(3), benches: seed.is_multiple_of(2), ..Faults::ALL }
}

/// What one world saw, or the law that it broke and what led to it.
fn run(seed: u64, faults: Faults, keeps_trace: bool) -> Result<World, (String, Vec<String>)> {
    let mut world = World::wild(seed, faults, keeps_trace);
    let lives = AssertUnwindSafe(|| {
        for _ in 0..STEPS {
            world.step();
        }
        world.come_to_rest();
    });
    match quietly(|| catch_unwind(lives)) {
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

/// Lets the panics of this thread say nothing meanwhile. There is one hook for all threads, so it is set once.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    HOOK.call_once(|| {
        let told = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                told(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = work();
    QUIET.set(false);
    done
}

in_parts!(no_world_breaks_a_law);

fn no_world_breaks_a_law(part: u64) {
    static WHOLE: Whole<Seen> = Whole::new();
    let only = std::env::var("LODGER_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let end = only.map_or(drawn(SEEDS, SEEDS * 10), |seed| seed + 1);
    let mut seen = Seen::new();
    let mut failures = Vec::new();
    let mut worlds = 0;
    let seeds = seeds(part).take_while(|seed| *seed < end);
    for seed in seeds.filter(|seed| only.is_none_or(|only| only == *seed)) {
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
    println!("{worlds} worlds: {seen:#?}");
    let all: Vec<String> = failures
        .iter()
        .map(|(seed, broken)| format!("{seed}: {}", broken.chars().take(300).collect::<String>()))
        .collect();
    assert!(told.is_none(), "{}\nall:\n{}", told.unwrap_or_default(), all.join("\n"));
    if let Some(parts) = WHOLE.add(seen).filter(|_| only.is_none()) {
        everything_happened(&parts);
    }
}

/// A campaign in which something never happens proves nothing of it.
fn everything_happened(parts: &[Seen]) {
    let kinds = [
        "started",
        "configured",
        "stopped",
        "prompt",
        "called",
        "key_refused",
        "files_gone",
        "compacting",
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
        "offline",
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
        "model calls that sum up",
        "messages with files",
        "tools that give files",
        "files that are lost",
        "versions looked at",
        "messages that wait",
        "schemas that few have",
    ];
    let kinds = kinds.map(|kind| format!("entries: {kind}"));
    let missing: Vec<_> = kinds
        .iter()
        .map(String::as_str)
        .chain(events)
        .filter(|what| !parts.iter().any(|seen| seen.contains_key(*what)))
        .collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
