//! The end of a run that hangs, with everything that it has started.
//!
//! Decides whom to end: all descendants of this process, because a browser and a server lead groups of their own.

use crate::command::Cmd;
use std::collections::HashMap;
use std::fs;
use std::thread;
use std::time::Duration;

/// Every process that this one has started, and those have.
pub fn end_children() {
    end_below(std::process::id());
}

/// Politely, so that a runner closes its browser; what is still there after some seconds is ended at once.
fn end_below(process: u32) {
    let mut ended = Vec::new();
    for _ in 0..10 {
        let new: Vec<u32> =
            descendants(process, &parents()).into_iter().filter(|id| !ended.contains(id)).collect();
        signal("TERM", &new);
        ended.extend(new);
        thread::sleep(Duration::from_millis(500));
        let running = parents();
        ended.retain(|id| running.contains_key(id));
        if ended.is_empty() && descendants(process, &running).is_empty() {
            return;
        }
    }
    signal("KILL", &ended);
}

/// By the shell: the program `kill` is not on every machine.
fn signal(name: &str, processes: &[u32]) {
    if processes.is_empty() {
        return;
    }
    let ids: Vec<String> = processes.iter().map(u32::to_string).collect();
    // A process that has ended in the meantime is no failure.
    let _ = Cmd::new("sh").args(["-c", &format!("kill -{name} {}", ids.join(" "))]).captured();
}

/// Of each process that runs, its parent. Empty where the system tells nobody.
fn parents() -> HashMap<u32, u32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        let table = Cmd::new("ps").args(["-A", "-o", "pid=,ppid=,state="]).captured().unwrap_or_default();
        return table.lines().filter_map(|line| row(line.split_whitespace())).collect();
    };
    let stats =
        processes.flatten().filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    // `12 (name) S 1 …`, where the name may be anything.
    let rows = stats.filter_map(|stat| {
        let (id, rest) = stat.split_once(' ')?;
        let mut rest = rest.rsplit_once(')')?.1.split_whitespace();
        let state = rest.next()?;
        row([id, rest.next()?, state].into_iter())
    });
    rows.collect()
}

/// Id, parent, state; a process that has ended and waits to be asked about it does not count.
fn row<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<(u32, u32)> {
    let (id, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (!words.next()?.starts_with('Z')).then_some((id, parent))
}

fn descendants(of: u32, parents: &HashMap<u32, u32>) -> Vec<u32> {
    let mut found = vec![of];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, its)| **its == parent).map(|(id, _)| *id));
        at += 1;
    }
    found.remove(0);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    #[test]
    fn descendants_are_found_however_deep() {
        let parents = [(2, 1), (3, 2), (4, 3), (5, 1), (9, 8)].into_iter().collect();
        let mut found = descendants(2, &parents);
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
        assert!(descendants(9, &parents).is_empty());
    }

    #[test]
    fn what_leads_a_group_of_its_own_or_does_not_want_to_end_is_ended_too() {
        // The shell tells the two ids, and ends when both have.
        let script =
            "setsid sleep 600 & echo $!; sh -c 'trap \"\" TERM; while :; do sleep 1; done' & echo $!; wait";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(shell.stdout.take().unwrap()).lines().take(2);
        let told: Vec<u32> = told.map(|line| line.unwrap().parse().unwrap()).collect();
        assert!(told.iter().all(|id| parents().contains_key(id)));
        end_below(shell.id());
        shell.wait().unwrap();
        assert!(!told.iter().any(|id| parents().contains_key(id)));
    }

    #[test]
    fn the_running_processes_are_known_with_their_parents() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(parents().get(&child.id()), Some(&std::process::id()));
        assert!(descendants(std::process::id(), &parents()).contains(&child.id()));
        signal("TERM", &[child.id()]);
        child.wait().unwrap();
        assert!(!parents().contains_key(&child.id()));
    }
}
