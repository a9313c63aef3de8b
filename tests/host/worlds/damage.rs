//! Damages at random to sessions of any past. Whatever is harmed, the agent starts and the others work. Nothing is told that
//! was not said or was cleared, and what is salvaged is whole.

use crate::cases::damage::{LOST, LOST_ANSWER};
use crate::support::desk::Desk;
use crate::support::parts::{drawn, quick};
use fastrand::Rng;
use lodger::ports::{Commit, Key, Part, Read, Table, Write};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const IDS: [&str; 3] = ["default", "one", "two"];

/// What was said in each session and not cleared.
type Said = BTreeMap<&'static str, BTreeSet<String>>;

#[test]
fn no_damage_spreads() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..drawn(300, 3_000) {
        world(seed, &mut seen);
    }
    for what in
        ["harmed", "salvaged", "gap", "cleared", "removed", "taken along", "past salvaged", "summed up"]
    {
        assert!(quick() || seen.contains_key(what), "{what} never happened: {seen:?}");
    }
}

fn world(seed: u64, seen: &mut BTreeMap<&'static str, usize>) {
    let rng = &mut Rng::with_seed(seed);
    let (mut page, said) = past(rng, seen);
    let mut harmed = BTreeSet::new();
    for _ in 0..rng.u8(1..4) {
        let id = IDS[rng.usize(..3)];
        if harm(rng, &mut page, id) {
            harmed.insert(id);
            *seen.entry("harmed").or_default() += 1;
        }
    }
    let mut page = page.crash("ann");
    page.start();
    for id in IDS {
        let why = format!("seed {seed}, {id}");
        let history = page.must("history", json!({ "sessionId": id }));
        told(&history, &said[id], &why);
        if history.to_string().contains("\"damaged\"") {
            *seen.entry("gap").or_default() += 1;
        }
        page.must("sessions.list", json!({}));
        // Reading all of it finds what lies before a clearing, and that counts from then on.
        if rng.bool() {
            page.must("sessions.journal", json!({ "id": id }));
        }
        if harmed.contains(id)
            && page.ask("sessions.rename", json!({ "id": id, "displayName": "b" })).is_err()
        {
            if id != "default" && rng.u8(..4) == 0 {
                page.must("sessions.remove", json!({ "id": id }));
                page.rows(id);
                assert!(page.stored(Table::Entries, id).is_empty(), "{why}");
                page.launch(id);
                *seen.entry("removed").or_default() += 1;
            } else {
                page.must("sessions.salvage", json!({ "id": id, "replace": true }));
                page.holds(id);
                told(&page.must("history", json!({ "sessionId": id })), &said[id], &why);
                *seen.entry("salvaged").or_default() += 1;
                if page.rows(id).iter().any(|row| row.contains("\"kind\":\"adopted\"")) {
                    *seen.entry("taken along").or_default() += 1;
                }
            }
        }
        // It was lost in the middle of a run, or is as it was then.
        _ = page.ask("sessions.recover", json!({ "id": id, "action": "resume" }));
        page.models.clear();
        let message = json!({ "sessionId": id, "text": "go on" });
        page.ask("sendMessage", message).unwrap_or_else(|error| panic!("{why}: {error:?}"));
        page.says("gone on");
        // What was cleared is not read for any of that.
        page.rows(id);
        if page.must("sessions.verify", json!({ "id": id }))["hmac_status"] == "tampered" {
            assert!(harmed.contains(id), "{why}");
            // A message that waited may have begun another run.
            page.must("interrupt", json!({ "sessionId": id }));
            page.must("sessions.salvage", json!({ "id": id, "replace": true }));
            *seen.entry("past salvaged").or_default() += 1;
        }
        page.holds(id);
    }
    let mut page = page.crash("ann");
    page.start();
    let damaged = page.events.iter().filter(|(_, detail)| detail["kind"] == "damaged").count();
    assert_eq!(damaged, 0, "seed {seed}");
}

/// A page that has worked in its sessions, and perhaps went away in the middle.
fn past(rng: &mut Rng, seen: &mut BTreeMap<&'static str, usize>) -> (Desk, Said) {
    let mut page = Desk::started("ann");
    let mut said: Said = IDS.iter().map(|id| (*id, BTreeSet::new())).collect();
    page.launch("one");
    page.launch("two");
    let mut words = 0;
    for _ in 0..rng.u8(4..20) {
        let id = IDS[rng.usize(..3)];
        words += 1;
        match rng.u8(..14) {
            0 => {
                page.must("clearConversation", json!({ "sessionId": id }));
                said.get_mut(id).unwrap().clear();
                *seen.entry("cleared").or_default() += 1;
            }
            1 => {
                _ = page.ask("regenerate", json!({ "sessionId": id }));
            }
            2 => {
                page = page.crash("ann");
                page.start();
            }
            3 | 4 => {
                if page.ask("compact", json!({ "sessionId": id })).is_ok() {
                    *seen.entry("summed up").or_default() += 1;
                }
            }
            _ => {
                let (text, queue) = (format!("word {words}"), json!("queue"));
                // One that was lost in the middle of a run takes a message then.
                _ = page.ask("sessions.recover", json!({ "id": id, "action": "resume" }));
                page.must("sendMessage", json!({ "sessionId": id, "text": text, "whenBusy": queue }));
                said.get_mut(id).unwrap().insert(text);
            }
        }
        if !page.models.is_empty() && rng.u8(..4) > 0 {
            words += 1;
            let text = format!("answer {words}");
            // The answer may belong to any session: each of them may say it.
            said.values_mut().for_each(|said| _ = said.insert(text.clone()));
            page.says(&text);
        }
    }
    IDS.iter().for_each(|id| _ = page.rows(id));
    (page, said)
}

/// Nothing is told that was not said.
fn told(history: &Value, said: &BTreeSet<String>, why: &str) {
    for message in history.as_array().unwrap() {
        for text in message["parts"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str()) {
            assert!(said.contains(text) || [LOST, LOST_ANSWER].contains(&text), "{why}: {text}");
        }
    }
}

/// Damages a row of a session. `false`: it is as it was.
fn harm(rng: &mut Rng, page: &mut Desk, id: &'static str) -> bool {
    let rows = page.store.read(&Read::all(Table::Entries, vec![id.into()]));
    let (key, text) = rows[rng.usize(..rows.len())].clone();
    let other = rows[rng.usize(..rows.len())].clone();
    let table = Table::Entries;
    let put = |key: &Key, text: &str| Write::Put { table, key: key.clone(), value: text.into() };
    let delete = Write::DeletePrefix { table, prefix: key.clone() };
    let writes = match rng.u8(..8) {
        0 => vec![delete],
        1 => vec![put(&key, &other.1)],
        2 => vec![put(&key, &other.1), put(&other.0, &text)],
        3 => vec![put(&key, &text[..rng.usize(..text.len())])],
        4 => vec![delete, put(&vec![id.into(), Part::Number(rows.len() as u64 + 1)], &text)],
        _ => {
            let at = rng.usize(..text.len());
            let (before, after) = text.split_at(at);
            let letter = ["x", "7", "\"", "\n", "{", " "][rng.usize(..6)];
            vec![put(&key, &[before, letter, &after[1..]].concat())]
        }
    };
    page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    page.store.read(&Read::all(Table::Entries, vec![id.into()])) != rows
}
