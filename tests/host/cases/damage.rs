//! Rows of sessions that are damaged: everybody else works, what is whole can be read, and there is a way out.

use crate::support::desk::Desk;
use crate::support::media::{SAMPLES, given};
use crate::support::parts::quick;
use crate::support::rows;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::{Input, Notice};
use lodger::journal::FORMAT;
use lodger::ports::{Commit, Key, MemoryStore, Part, Read, Rows, Table, Write};
use serde_json::{Value, json};

/// A disk with sessions of each kind, whose page is lost.
pub fn disk() -> (MemoryStore, u64) {
    let mut page = Desk::started("ann");
    for text in ["one", "two", "three"] {
        page.must("sendMessage", json!({ "text": text }));
        page.says(&format!("answer {text}"));
    }
    for id in ["idle", "whole", "lost", "queued"] {
        page.launch(id);
        page.prompt(id, "hello");
        page.says("there");
    }
    for id in ["idle", "whole"] {
        page.prompt(id, "more");
        page.says("and more");
    }
    // The answers of these never come.
    page.prompt("lost", "more");
    page.prompt("queued", "more");
    page.must("sendMessage", json!({ "sessionId": "queued", "text": "later", "whenBusy": "queue" }));
    page.rows("default");
    (page.store, page.now)
}

/// The same where the first session has a run that is open.
pub fn open() -> (MemoryStore, u64) {
    let (store, now) = disk();
    let mut page = Desk::on(store, now + 1_000, "ann");
    page.start();
    page.must("sendMessage", json!({ "text": "four" }));
    page.rows("default");
    (page.store, page.now)
}

const KINDS: [&str; 11] = [
    "content",
    "header",
    "content hash",
    "hash",
    "missing",
    "doubled",
    "moved",
    "swapped",
    "cut",
    "empty",
    "foreign",
];

/// Damages the row of this number, as the kind says. `false`: there is no such damage to it.
fn damage(store: &mut MemoryStore, id: &str, at: u64, kind: &str) -> bool {
    let rows = store.read(&Read::all(Table::Entries, vec![id.into()]));
    let key = |seq: u64| -> Key { vec![id.into(), Part::Number(seq)] };
    let text = |seq: u64| rows.iter().find(|(other, _)| *other == key(seq)).map(|(_, text)| text.clone());
    let row = text(at).unwrap();
    let put = |seq: u64, value: String| Write::Put { table: Table::Entries, key: key(seq), value };
    let delete = |seq: u64| Write::DeletePrefix { table: Table::Entries, prefix: key(seq) };
    let changed = |line: usize| {
        let mut lines: Vec<String> = row.split('\n').map(Into::into).collect();
        let middle = lines[line].len() / 2;
        let old = lines[line].remove(middle);
        lines[line].insert(middle, if old == 'a' { 'b' } else { 'a' });
        lines.join("\n")
    };
    let writes = match (kind, text(at + 1)) {
        ("header", _) => vec![put(at, changed(0))],
        // One that was erased has none.
        ("content", _) if row.split('\n').nth(1) == Some("") => return false,
        ("content", _) => vec![put(at, changed(1))],
        ("content hash", _) => vec![put(at, changed(2))],
        ("hash", _) => vec![put(at, changed(3))],
        ("missing", _) => vec![delete(at)],
        ("doubled", _) => vec![put(at + 1, row)],
        ("moved", None) => vec![delete(at), put(at + 1, row)],
        ("swapped", Some(next)) => vec![put(at, next), put(at + 1, row)],
        ("cut", _) => vec![put(at, row[..row.len() / 2].to_owned())],
        ("empty", _) => vec![put(at, String::new())],
        // The first row of any session is tied to nothing before it.
        ("foreign", _) if at > 1 => {
            let from = if id == "whole" { "idle" } else { "whole" };
            let other = store.read(&Read::all(Table::Entries, vec![from.into()]));
            match other.into_iter().find(|(key, _)| key[1] == Part::Number(at)) {
                Some((_, other)) if other != row => vec![put(at, other)],
                _ => return false,
            }
        }
        _ => return false,
    };
    store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    true
}

/// Each damage to each row of these sessions, on the page that finds it.
fn each(disk: &(MemoryStore, u64), ids: &[&str], look: impl Fn(Desk, &str, u64, &str)) {
    part(disk, ids, (0, 1), look);
}

/// A part of them: each `of`th, with this remainder.
pub fn part(
    disk: &(MemoryStore, u64),
    ids: &[&str],
    (rest, of): (usize, usize),
    look: impl Fn(Desk, &str, u64, &str),
) {
    let (mut count, mut number) = (0, 0);
    for id in ids {
        let last = disk.0.read(&Read::all(Table::Entries, vec![(*id).into()])).len() as u64;
        for (at, kind) in (1..=last).flat_map(|at| KINDS.map(|kind| (at, kind))) {
            number += 1;
            let mut store = disk.0.clone();
            if number % of == rest && damage(&mut store, id, at, kind) {
                count += 1;
                look(Desk::on(store, disk.1 + 1_000, "ann"), id, at, kind);
            }
        }
    }
    assert!(count > 80 / of, "{count} damages");
}

fn listed(page: &mut Desk, id: &str) -> Value {
    let list = page.must("sessions.list", json!({}));
    list.as_array().unwrap().iter().find(|one| one["id"] == id).cloned().unwrap_or_default()
}

/// What a list says of a session's signature.
fn judged(page: &mut Desk, id: &str) -> Value {
    let list = page.must("sessions.list", json!({ "withVerification": true }));
    list.as_array().unwrap().iter().find(|one| one["session"]["id"] == id).unwrap()["hmac_status"].clone()
}

/// Whom the page was told to be damaged.
fn told(page: &Desk) -> Vec<Value> {
    let notices =
        page.events.iter().filter(|(name, detail)| *name == "agent:notice" && detail["kind"] == "damaged");
    notices.map(|(_, detail)| detail["sessionId"].clone()).collect()
}

fn works(page: &mut Desk, id: &str, why: &str) {
    let run = page.ask("sendMessage", json!({ "sessionId": id, "text": "go on" }));
    assert!(run.is_ok(), "{why}: {id}: {run:?}");
    page.says("gone on");
    page.holds(id);
}

#[test]
fn a_damaged_session_is_set_aside_and_named_and_the_others_work() {
    for (disk, ids) in [(disk(), &["default", "idle", "lost", "queued"][..]), (open(), &["default"][..])] {
        each(&disk, ids, |mut page, id, at, kind| {
            let why = format!("{kind} of {id} {at}");
            page.start();
            // The last row, where it is not read at a start, is found by who asks.
            if id == "idle" {
                assert_eq!(page.integrity(id), "tampered", "{why}");
            } else {
                assert_eq!(told(&page), [id], "{why}");
            }
            let damaged = listed(&mut page, id)["damaged"].clone();
            assert!(damaged["seq"].is_u64() && damaged["why"].is_string(), "{why}: {damaged}");
            let found = damaged["seq"].as_u64().unwrap();
            assert!(found == at || (found == at + 1 && kind == "doubled"), "{why}: {damaged}");
            for (name, args) in [
                ("sendMessage", json!({ "sessionId": id, "text": "hi" })),
                ("resume", json!({ "sessionId": id })),
                ("sessions.rename", json!({ "id": id, "displayName": "b" })),
            ] {
                let error = page.ask(name, args).unwrap_err();
                assert_eq!(error.code, Code::Corrupt, "{why}: {name}");
                let way = if id == "default" { "clearConversation" } else { "sessions.remove" };
                assert!(error.hint.as_ref().unwrap().contains(way), "{why}: {:?}", error.hint);
            }
            for other in ["default", "whole"] {
                if other != id {
                    works(&mut page, other, &why);
                }
            }
        });
    }
}

#[test]
fn without_an_agent_a_command_that_would_write_names_the_row_that_is_damaged() {
    each(&disk(), &["idle"], |mut page, id, at, kind| {
        let why = format!("{kind} of {id} {at}");
        let (code, _) = page.fails("sessions.rename", json!({ "id": id, "displayName": "b" }));
        assert_eq!(code, Code::Corrupt, "{why}");
        let found = listed(&mut page, id)["damaged"]["seq"].as_u64();
        assert!(found == Some(at) || (found == Some(at + 1) && kind == "doubled"), "{why}: {found:?}");
    });
}

#[test]
fn a_damaged_session_can_be_given_up() {
    for running in [true, false] {
        each(&open(), &["default", "lost"], |mut page, id, at, kind| {
            let why = format!("{kind} of {id} {at}, {running}");
            if running {
                page.start();
            }
            match id {
                "default" => page.must("clearConversation", json!({})),
                _ => page.must("sessions.remove", json!({ "id": id })),
            };
            page.rows(id);
            if !running {
                assert!(page.stored(Table::Entries, id).is_empty(), "{why}");
                page.start();
            }
            assert_eq!(told(&page).len(), usize::from(running), "{why}");
            let history = page.must("history", json!({}));
            match id {
                "default" => {
                    assert_eq!(history, json!([]), "{why}");
                    works(&mut page, id, &why);
                    assert_eq!(listed(&mut page, id)["damaged"], Value::Null, "{why}");
                    let mut page = page.crash("ann");
                    page.start();
                    assert_eq!(page.must("history", json!({})).as_array().unwrap().len(), 2, "{why}");
                    assert_eq!(page.integrity(id), "verified", "{why}");
                }
                _ => {
                    assert_eq!(listed(&mut page, id), Value::Null, "{why}");
                    page.launch(id);
                    works(&mut page, id, &why);
                }
            }
        });
    }
}

#[test]
fn a_newer_row_is_no_damage() {
    let (mut store, now) = disk();
    let rows = store.read(&Read::all(Table::Entries, vec!["default".into()]));
    let last = rows.len() as u64;
    let (key, row) = rows.into_iter().last().unwrap();
    let mut lines: Vec<String> = row.split('\n').map(Into::into).collect();
    lines[0] = lines[0].replace(&format!("\"v\":{FORMAT}"), &format!("\"v\":{}", FORMAT + 1));
    let before = store.read(&Read::all(Table::Entries, vec!["default".into()]).within(Some(last - 1), None));
    let before = before[0].1.split('\n').nth(3).unwrap();
    let newer = rows::row(&lines[0], &lines[1], before).to_text();
    let writes = vec![Write::Put { table: Table::Entries, key, value: newer }];
    store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    let mut page = Desk::on(store, now + 1_000, "ann");
    assert_eq!(page.fails("startAgent", json!({})).0, Code::NewerVersion);
}

#[test]
fn a_last_row_in_the_place_of_the_next_is_seen_before_anything_is_written_over_it() {
    for running in [true, false] {
        let (mut store, now) = disk();
        let last = store.read(&Read::all(Table::Entries, vec!["idle".into()])).len() as u64;
        assert!(damage(&mut store, "idle", last, "moved"));
        let before = store.read(&Read::all(Table::Entries, vec!["idle".into()]));
        let mut page = Desk::on(store, now + 1_000, "ann");
        if running {
            page.start();
        }
        let rename = json!({ "id": "idle", "displayName": "b" });
        assert_eq!(page.fails("sessions.rename", rename).0, Code::Corrupt, "{running}");
        assert_eq!(page.integrity("idle"), "tampered", "{running}");
        page.now += 200;
        page.handle(Input::Tick { online: true });
        let after: Rows = page.store.read(&Read::all(Table::Entries, vec!["idle".into()]));
        assert_eq!(after, before, "{running}");
    }
}

/// The entries that are lost by a damage: those that are changed or gone, and the one behind them that nothing proves then.
fn lost_by(kind: &str, at: u64, last: u64) -> Vec<u64> {
    let lost = match kind {
        "content" | "header" | "content hash" | "hash" => vec![at],
        "doubled" => vec![at + 1, at + 2],
        "swapped" | "moved" => Vec::new(),
        _ => vec![at, at + 1],
    };
    lost.into_iter().filter(|seq| *seq <= last).collect()
}

/// What is told of a whole session: its journal, its conversation, its file.
struct Whole {
    journal: Vec<Value>,
    history: Vec<Value>,
    lines: Vec<String>,
}

pub fn list(value: Value) -> Vec<Value> {
    value.as_array().unwrap().clone()
}

/// The lines of a session's file, without the last one.
fn file(page: &mut Desk, id: &str) -> Vec<String> {
    let (mut lines, mut args) = (String::new(), json!({ "id": id }));
    loop {
        let part = page.must("sessions.export", args);
        lines += part["lines"].as_str().unwrap();
        if part["next"].is_null() {
            return lines.lines().map(Into::into).collect();
        }
        args = json!({ "id": id, "from": part["next"], "last": part["last"], "hash": part["hash"] });
    }
}

fn whole(disk: &(MemoryStore, u64), id: &str) -> Whole {
    let mut page = Desk::on(disk.0.clone(), disk.1 + 1_000, "ann");
    Whole {
        journal: list(page.must("sessions.journal", json!({ "id": id }))),
        history: list(page.must("history", json!({ "sessionId": id }))),
        lines: file(&mut page, id),
    }
}

/// What stands before an answer whose message is lost.
pub const LOST: &str = "[What was said here is lost.]";
/// What stands for an answer of which no word is left.
pub const LOST_ANSWER: &str = "[What was answered here is lost.]";

pub fn is_gap(one: &&Value) -> bool {
    one["type"] == "damaged" || one["status"] == "damaged"
}

impl Whole {
    /// The messages of runs that have lost nothing.
    fn unharmed(&self, lost: &[u64]) -> Vec<Value> {
        let of = |event: &&Value| lost.contains(&event["seq"].as_u64().unwrap());
        let harmed: Vec<Value> = self.journal.iter().filter(of).map(|event| event["runId"].clone()).collect();
        self.history.iter().filter(|message| !harmed.contains(&message["runId"])).cloned().collect()
    }

    /// Whether these are the events of the journal but for the lost ones, with gaps in their places.
    fn judge_journal(&self, told: &[Value], lost: &[u64], why: &str) {
        let kept = |event: &&Value| !lost.contains(&event["seq"].as_u64().unwrap());
        let expected: Vec<&Value> = self.journal.iter().filter(kept).collect();
        let good: Vec<&Value> = told.iter().filter(|one| !is_gap(one)).collect();
        assert_eq!(good, expected, "{why}");
        let number = |gap: &Value, name: &str| gap[name].as_u64().unwrap();
        let gaps = told.iter().filter(is_gap);
        let gone: Vec<u64> = gaps.flat_map(|gap| number(gap, "from")..=number(gap, "seq")).collect();
        assert_eq!(gone, lost, "{why}");
        assert!(told.is_sorted_by_key(|event| event["seq"].as_u64()), "{why}");
    }
}

const READ: [&str; 4] = ["default", "idle", "lost", "queued"];

#[test]
fn the_journal_of_a_damaged_session_has_gaps() {
    let disk = disk();
    let all: Vec<(&str, Whole)> = READ.iter().map(|id| (*id, whole(&disk, id))).collect();
    each(&disk, &READ, |mut page, id, at, kind| {
        let why = format!("{kind} of {id} {at}");
        let whole = &all.iter().find(|(other, _)| *other == id).unwrap().1;
        let lost = lost_by(kind, at, whole.journal.len() as u64);
        let told = list(page.must("sessions.journal", json!({ "id": id })));
        whole.judge_journal(&told, &lost, &why);
        // Page by page it is the same.
        let (mut paged, mut from) = (Vec::new(), 1);
        loop {
            let more = list(page.must("sessions.journal", json!({ "id": id, "from": from, "limit": 5 })));
            from = more.last().map_or(from, |event| event["seq"].as_u64().unwrap() + 1);
            if more.is_empty() {
                break;
            }
            paged.extend(more);
        }
        whole.judge_journal(&paged, &lost, &why);
        assert_eq!(page.integrity(id), "tampered", "{why}");
    });
}

#[test]
fn what_was_said_in_a_damaged_session_is_shown_with_gaps() {
    let disk = disk();
    let all: Vec<(&str, Whole)> = READ.iter().map(|id| (*id, whole(&disk, id))).collect();
    each(&disk, &READ, |mut page, id, at, kind| {
        let why = format!("{kind} of {id} {at}");
        let whole = &all.iter().find(|(other, _)| *other == id).unwrap().1;
        let lost = lost_by(kind, at, whole.journal.len() as u64);
        let told = list(page.must("history", json!({ "sessionId": id })));
        let unharmed = whole.unharmed(&lost);
        let said: Vec<Value> = told.iter().filter(|one| unharmed.contains(one)).cloned().collect();
        assert_eq!(said, unharmed, "{why}: {told:?}");
        assert_eq!(told.iter().any(|one| is_gap(&one)), !lost.is_empty(), "{why}: {told:?}");
        // Nothing is said that was not.
        for message in told.iter().filter(|one| !is_gap(one)) {
            // An answer whose message is lost has another id.
            let same = |known: &&Value| ["runId", "role"].iter().all(|of| known[of] == message[of]);
            let Some(known) = whole.history.iter().find(same) else {
                assert_eq!(message["parts"][0]["text"], "later", "only what waits stands behind: {why}");
                continue;
            };
            for part in message["parts"].as_array().unwrap() {
                assert!(known["parts"].as_array().unwrap().contains(part), "{why}: {message}");
            }
        }
        // The last page says the same.
        let last = list(page.must("history", json!({ "sessionId": id, "limit": 1 })));
        let said: Vec<&Value> = last.iter().filter(|one| !is_gap(one)).collect();
        assert_eq!(said.last(), told.iter().filter(|one| !is_gap(one)).collect::<Vec<_>>().last(), "{why}");
    });
}

/// What each command that reads of one run says of it.
fn told_of(page: &mut Desk, run: &str) -> Vec<Result<Value, Code>> {
    let asked = ["result", "wait"].map(|name| (name, "runId"));
    let kept =
        ["sessions.activity", "sessions.output", "sessions.task", "sessions.left"].map(|name| (name, "id"));
    let asked = asked.into_iter().chain(kept);
    asked.map(|(name, id)| page.ask(name, json!({ id: run })).map_err(|error| error.code)).collect()
}

#[test]
fn of_a_damaged_session_each_run_that_is_whole_is_told_and_no_other() {
    let disk = disk();
    let mut page = Desk::on(disk.0.clone(), disk.1 + 1_000, "ann");
    let journal = list(page.must("sessions.journal", json!({ "id": "idle" })));
    let mut runs: Vec<(String, Vec<u64>)> = Vec::new();
    for entry in &journal {
        let Some(run) = entry["runId"].as_str() else { continue };
        let seq = entry["seq"].as_u64().unwrap();
        match runs.iter_mut().find(|(id, _)| id == run) {
            Some((_, rows)) => rows.push(seq),
            None => runs.push((run.into(), vec![seq])),
        }
    }
    assert_eq!(runs.len(), 2);
    let whole: Vec<_> = runs.iter().map(|(run, _)| told_of(&mut page, run)).collect();
    assert!(whole.iter().flatten().all(Result::is_ok), "{whole:?}");
    let (mut told, mut refused) = (0, 0);
    let counts = std::cell::RefCell::new((&mut told, &mut refused));
    each(&disk, &["idle"], |mut page, id, at, kind| {
        for started in [false, true] {
            if started {
                page.start();
            }
            for ((run, rows), whole) in runs.iter().zip(&whole) {
                let why = format!("{kind} of {id} {at}: {run}, started: {started}");
                let seen = told_of(&mut page, run);
                let (from, to) = (rows[0], *rows.last().unwrap());
                let mut counts = counts.borrow_mut();
                // What is doubled or swapped takes the row behind it too.
                if at + 3 < from || at > to + 1 {
                    *counts.0 += 1;
                    assert_eq!(&seen, whole, "{why}");
                } else {
                    for (seen, whole) in seen.iter().zip(whole) {
                        *counts.1 += usize::from(seen.is_err());
                        assert!(
                            seen == whole || *seen == Err(Code::Corrupt) || *seen == Err(Code::RunNotFound),
                            "{why}: {seen:?}"
                        );
                    }
                }
            }
        }
    });
    assert!(told > 50 && refused > 50, "{told} runs were told, {refused} answers refused");
}

#[test]
fn the_file_of_a_damaged_session_says_so_and_is_not_taken() {
    let disk = disk();
    let all: Vec<(&str, Whole)> = READ.iter().map(|id| (*id, whole(&disk, id))).collect();
    each(&disk, &READ, |mut page, id, at, kind| {
        let why = format!("{kind} of {id} {at}");
        let whole = &all.iter().find(|(other, _)| *other == id).unwrap().1;
        let lost = lost_by(kind, at, whole.journal.len() as u64);
        let lines = file(&mut page, id);
        let good = lines.iter().filter(|line| !line.starts_with("{\"damaged\""));
        assert!(good.clone().all(|line| whole.lines.contains(line)), "{why}");
        assert_eq!(good.count(), whole.lines.len() - lost.len(), "{why}");
        for line in &lines {
            let line: Value = serde_json::from_str(line).unwrap();
            let stored = line["stored"].as_array();
            assert_eq!(stored.is_some(), line["damaged"].is_object(), "{why}");
            if lost.contains(&at) && kind != "missing" && line["damaged"]["from"] == at {
                let rows = page.stored(Table::Entries, id);
                assert!(stored.unwrap().iter().all(|text| rows.iter().any(|row| text == row)), "{why}");
            }
        }
        if !lost.is_empty() {
            page.must("sessions.import", json!({ "step": "begin" }));
            let lines = json!({ "step": "lines", "lines": lines.join("\n") });
            let error = page.ask("sessions.import", lines).unwrap_err();
            assert_eq!(error.code, Code::Corrupt, "{why}");
            assert!(error.hint.as_ref().unwrap().contains("salvage"), "{why}: {error:?}");
        }
    });
}

/// What was said, by whom.
fn said(messages: &[Value]) -> Vec<(String, String)> {
    let text = |message: &Value| {
        let parts = message["parts"].as_array().unwrap();
        parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
    };
    let said = messages.iter().filter(|one| !is_gap(one));
    said.map(|message| (message["role"].as_str().unwrap().into(), text(message))).collect()
}

/// Each damage is tried in one of four ways: with an agent or without, in the place of the session or beside it.
fn a_whole_session_is_made_of_a_damaged_one(way: usize, running: bool, replaces: bool) {
    let of = if quick() { 40 } else { 4 };
    for (disk, ids) in [(disk(), &READ[..]), (open(), &["default"][..])] {
        let all: Vec<(&str, Whole)> = ids.iter().map(|id| (*id, whole(&disk, id))).collect();
        part(&disk, ids, (way, of), |mut page, id, at, kind| {
            let why = format!("{kind} of {id} {at}, {running} {replaces}");
            let whole = &all.iter().find(|(other, _)| *other == id).unwrap().1;
            let last = whole.journal.len() as u64;
            let lost = lost_by(kind, at, last);
            if running {
                page.start();
            }
            let shown = list(page.must("history", json!({ "sessionId": id })));
            let state = page.must("sessions.salvage", json!({ "id": id, "replace": replaces }));
            let made = state["id"].as_str().unwrap().to_owned();
            assert_eq!(made == id, replaces, "{why}");
            page.holds(&made);
            // What could be read is in it, all of it and nothing else; and what has waited.
            let history = list(page.must("history", json!({ "sessionId": made })));
            let (had, has) = (said(&shown), said(&history));
            let unharmed = said(&whole.unharmed(&lost));
            assert!(unharmed.iter().all(|message| has.contains(message)), "{why}: {had:?} {has:?}");
            let answered =
                |message: &&(String, String)| !["", LOST, LOST_ANSWER, "later"].contains(&message.1.as_str());
            assert!(
                has.iter().filter(answered).all(|message| had.contains(message)),
                "{why}: {had:?} {has:?}"
            );
            let proven = lost.is_empty() || matches!(kind, "content" | "hash");
            let integrity = if proven { "verified" } else { "unverified" };
            assert_eq!(page.integrity(&made), integrity, "{why}");
            let of_salvage = |row: &String| row.contains("\"salvage\"") && row.contains("\"damaged\"");
            assert!(page.rows(&made).iter().any(of_salvage), "{why}");
            let events = list(page.must("sessions.events", json!({ "id": made })));
            let is_salvage = |event: &&Value| event["event_type"] == "salvaged";
            let marked = events.iter().find(is_salvage).unwrap_or_else(|| panic!("{why}: {events:?}"));
            assert_eq!(marked["metadata"]["from_session_id"], id, "{why}");
            let listed = listed(&mut page, &made);
            assert_eq!(listed["damaged"], Value::Null, "{why}");
            if !running {
                page.start();
            }
            works(&mut page, &made, &why);
            works(&mut page, "whole", &why);
            if !replaces {
                assert!(page.ask("sendMessage", json!({ "sessionId": id, "text": "hi" })).is_err(), "{why}");
            }
            let mut page = page.crash("ann");
            page.start();
            assert_eq!(page.integrity(&made), integrity, "{why}");
            works(&mut page, &made, &why);
            assert_eq!(told(&page).is_empty(), replaces || id == "idle", "{why}");
        });
    }
}

#[test]
fn a_session_is_salvaged_in_its_place_by_an_agent() {
    a_whole_session_is_made_of_a_damaged_one(0, true, true);
}

#[test]
fn a_session_is_salvaged_in_its_place() {
    a_whole_session_is_made_of_a_damaged_one(1, false, true);
}

#[test]
fn a_session_is_salvaged_beside_it_by_an_agent() {
    a_whole_session_is_made_of_a_damaged_one(2, true, false);
}

#[test]
fn a_session_is_salvaged_beside_it() {
    a_whole_session_is_made_of_a_damaged_one(3, false, false);
}

/// The signatures of its events are not looked at when it is taken.
#[test]
fn a_damaged_session_with_a_held_run_is_salvaged() {
    for replaces in [true, false] {
        let (store, now) = disk();
        let mut page = Desk::on(store, now + 1_000, "ann");
        page.edits(Table::Entries, "lost", |_, text| {
            let (text, signature) = text.rsplit_once('\n').filter(|(text, _)| text.contains("recorded"))?;
            let other = if signature.starts_with('a') { "b" } else { "a" };
            Some([text, "\n", other, signature.get(1..)?].concat())
        });
        page.start();
        assert_eq!(page.must("sessions.verify", json!({ "id": "lost" }))["hmac_status"], "tampered");
        let state = page.must("sessions.salvage", json!({ "id": "lost", "replace": replaces }));
        let made = state["id"].as_str().unwrap();
        assert_eq!(said(&list(page.must("history", json!({ "sessionId": made })))).len(), 4);
        works(&mut page, made, "it goes on");
    }
}

/// One that was launched with a provider of its own is answered by that one, although no row says so any more.
#[test]
fn a_salvaged_session_keeps_its_provider() {
    for running in [true, false] {
        let (mut store, now) = disk();
        let was = Desk::on(store.clone(), now + 1_000, "ann").status("idle")["provider_id"].clone();
        assert!(damage(&mut store, "idle", 1, "content"));
        let mut page = Desk::on(store, now + 1_000, "ann");
        if running {
            page.start();
        }
        let state = page.must("sessions.salvage", json!({ "id": "idle" }));
        assert_eq!((&state["provider_id"], &was), (&json!("custom"), &json!("custom")));
        page.holds(state["id"].as_str().unwrap());
    }
}

#[test]
fn an_answer_of_which_no_word_is_left_has_its_place() {
    let (store, now) = disk();
    let mut page = Desk::on(store, now + 1_000, "ann");
    page.edits(Table::Entries, "default", |_, text| text.contains("answer two").then(|| "?".into()));
    page.must("sessions.salvage", json!({ "id": "default", "replace": true }));
    let has = said(&list(page.must("history", json!({ "sessionId": "default" }))));
    let texts: Vec<&str> = has.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["one", "answer one", "two", LOST_ANSWER, "three", "answer three"]);
}

#[test]
fn a_whole_session_is_not_salvaged() {
    for running in [true, false] {
        let (store, now) = disk();
        let mut page = Desk::on(store, now + 1_000, "ann");
        if running {
            page.start();
        }
        for id in ["default", "idle"] {
            assert_eq!(page.fails("sessions.salvage", json!({ "id": id })).0, Code::InvalidArguments);
        }
        assert_eq!(page.fails("sessions.salvage", json!({ "id": "none" })).0, Code::SessionNotFound);
    }
}

#[test]
fn somebody_else_does_not_salvage() {
    let (mut store, now) = disk();
    assert!(damage(&mut store, "idle", 5, "content"));
    let mut page = Desk::on(store, now + 1_000, "bob");
    let args = json!({ "id": "idle", "replace": true });
    assert_eq!(page.fails("sessions.salvage", args).0, Code::PermissionDenied);
}

#[test]
fn a_changed_session_stays_tampered_whatever_was_refused_since() {
    let asked = [
        ("sessions.prompt", json!({ "id": "idle", "text": "hello" })),
        ("sendMessage", json!({ "sessionId": "idle", "text": "hello" })),
        ("sessions.rename", json!({ "id": "idle", "displayName": "Other" })),
        ("sessions.bench", json!({ "id": "idle" })),
        ("sessions.stop", json!({ "id": "idle" })),
        ("resume", json!({ "sessionId": "idle" })),
        ("clearConversation", json!({ "sessionId": "idle" })),
        ("sessions.fork", json!({ "id": "idle" })),
    ];
    let disk = disk();
    for looks_first in [false, true] {
        for (name, args) in &asked {
            let mut page = Desk::on(disk.0.clone(), disk.1 + 1_000, "ann");
            assert!(damage(&mut page.store, "idle", 5, "content"));
            if looks_first {
                page.must("sessions.status", json!({ "id": "idle" }));
                assert_eq!(judged(&mut page, "idle"), "tampered");
            }
            page.start();
            assert_eq!(page.fails(name, args.clone()).0, Code::Corrupt, "{name}");
            assert_eq!(judged(&mut page, "idle"), "tampered", "{name}, looked at before: {looks_first}");
        }
    }
}

/// The page goes away, and another one opens; an agent may have run in either. What was found is not forgotten with the page.
#[test]
fn what_was_found_counts_after_a_reload() {
    for (finds, works) in [(false, false), (false, true), (true, true)] {
        let (mut store, now) = disk();
        assert!(damage(&mut store, "idle", 5, "content"));
        let mut page = Desk::on(store, now + 1_000, "ann");
        if finds {
            page.start();
        }
        assert_eq!(judged(&mut page, "idle"), "verified", "a list reads no rows");
        page.must("sessions.verify", json!({ "id": "idle" }));
        let found = listed(&mut page, "idle")["damaged"].clone();
        assert_eq!(found["seq"], 5);
        let mut page = page.crash("ann");
        if works {
            page.start();
        }
        assert_eq!(judged(&mut page, "idle"), "tampered");
        assert_eq!(listed(&mut page, "idle")["damaged"], found);
        if works {
            for (command, args) in [
                ("sessions.prompt", json!({ "id": "idle", "text": "hello" })),
                ("sessions.rename", json!({ "id": "idle", "displayName": "Other" })),
                ("sessions.fork", json!({ "id": "idle" })),
            ] {
                assert_eq!(page.fails(command, args).0, Code::Corrupt, "{command}");
            }
        }
        // It is whole again, and all of it was read.
        let whole = disk().0.read(&Read::all(Table::Entries, vec!["idle".into()]));
        for (key, value) in whole {
            let writes = vec![Write::Put { table: Table::Entries, key, value }];
            page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
        }
        assert_eq!(judged(&mut page, "idle"), "tampered");
        assert_eq!(page.must("sessions.verify", json!({ "id": "idle" }))["hmac_status"], "verified");
        let mut page = page.crash("ann");
        assert_eq!(judged(&mut page, "idle"), "verified");
    }
}

/// A list of a page that has just opened knows the sessions by more than their heads.
#[test]
fn a_session_without_a_head_is_named_by_the_first_list_of_a_page() {
    for works in [false, true] {
        let (store, now) = disk();
        let mut page = Desk::on(store, now + 1_000, "ann");
        for id in ["idle", "default"] {
            page.edits(Table::Heads, id, |_, _| Some(String::new()));
        }
        if works {
            page.start();
        }
        for id in ["idle", "default"] {
            let one = listed(&mut page, id);
            assert_eq!(one["damaged"]["seq"], 0, "{id}: {one}");
            assert_eq!(judged(&mut page, id), "tampered", "{id}");
        }
        // It can be salvaged or removed, and then nothing names it any more.
        if !works {
            page.start();
        }
        let saved = page.must("sessions.salvage", json!({ "id": "idle" }));
        let saved = saved["session"]["id"].as_str().or(saved["id"].as_str()).unwrap().to_owned();
        page.must("sessions.remove", json!({ "id": "idle" }));
        page.now += 20_000;
        page.handle(Input::Tick { online: true });
        assert!(listed(&mut page, "idle").is_null());
        let named = page.store.read(&Read::all(Table::Meta, vec!["session".into()]));
        let named: Vec<&Part> = named.iter().filter_map(|(key, _)| key.last()).collect();
        assert!(named.contains(&&saved.as_str().into()) && !named.contains(&&"idle".into()), "{named:?}");
        let mut page = page.crash("ann");
        assert!(listed(&mut page, "idle").is_null() && !listed(&mut page, &saved).is_null());
    }
}

/// A disk like that of [`disk`], with the heads of an earlier time.
fn with_earlier() -> (MemoryStore, u64, Vec<(Key, String)>) {
    let mut page = Desk::started("ann");
    page.must("sendMessage", json!({ "text": "one" }));
    page.says("answer one");
    for id in ["idle", "whole", "lost"] {
        page.launch(id);
        page.prompt(id, "hello");
        page.says("there");
        page.must("sessions.rename", json!({ "id": id, "displayName": format!("The {id}") }));
        page.rows(id);
    }
    let earlier = page.store.read(&Read::all(Table::Heads, Vec::new()));
    page.must("sendMessage", json!({ "text": "two" }));
    page.says("answer two");
    for id in ["idle", "whole"] {
        page.prompt(id, "more");
        page.says("and more");
    }
    page.prompt("lost", "more");
    page.rows("default");
    (page.store, page.now, earlier)
}

const HEADS: [&str; 11] =
    ["missing", "empty", "cut", "rubbish", "bare", "turns", "end", "hash", "name", "signature", "foreign"];

/// Damages a session's head, as the kind says.
fn damage_head(store: &mut MemoryStore, earlier: &[(Key, String)], id: &str, kind: &str) {
    let read = |id: &str| store.read(&Read::all(Table::Heads, vec![id.into()])).remove(0);
    let (key, text) = read(id);
    let replaced = |from: &str, to: &str| text.replacen(from, to, 1);
    let value = match kind {
        "missing" | "empty" => String::new(),
        "cut" => text[..text.len() / 3].to_owned(),
        "rubbish" => "rubbish".to_owned(),
        "bare" => "{}".to_owned(),
        "turns" => replaced("\"turns\":", "\"turns\":1"),
        "end" => replaced("\"seq\":", "\"seq\":1"),
        "hash" => replaced("\"hash\":\"", "\"hash\":\"0"),
        "name" => replaced("\"provider_id\":\"", "\"provider_id\":\"x"),
        "signature" => replaced("\n", "\n0"),
        "foreign" => read(if id == "whole" { "idle" } else { "whole" }).1,
        _ => earlier.iter().find(|(other, _)| *other == key).unwrap().1.clone(),
    };
    assert!(value != text, "{kind} of {id}");
    let table = Table::Heads;
    let write = match kind {
        "missing" => Write::DeletePrefix { table, prefix: key },
        _ => Write::Put { table, key, value },
    };
    store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
}

/// Each damage to the heads of these sessions, on the page that finds it, with an agent or without.
fn each_head(look: impl Fn(Desk, &str, bool, &str)) {
    let (store, now, earlier) = with_earlier();
    for id in ["default", "idle", "lost"] {
        for (kind, running) in
            HEADS.into_iter().chain(["earlier"]).flat_map(|kind| [(kind, true), (kind, false)])
        {
            let mut store = store.clone();
            damage_head(&mut store, &earlier, id, kind);
            let mut page = Desk::on(store, now + 1_000, "ann");
            if running {
                page.start();
            }
            look(page, id, running, &format!("{kind} head of {id}, {running}"));
        }
    }
}

/// What is told where nothing says where it ends.
fn without_mark(mut told: Vec<Value>, why: &str) -> Vec<Value> {
    let mark = told.pop().unwrap_or_default();
    assert!(is_gap(&&mark) && !told.iter().any(|one| is_gap(&one)), "{why}: {mark} behind {told:?}");
    told
}

#[test]
fn a_session_whose_head_is_damaged_is_named_and_read_whole() {
    let (store, now, _) = with_earlier();
    let disk = (store, now);
    let all: Vec<(&str, Whole)> = ["default", "idle", "lost"].map(|id| (id, whole(&disk, id))).into();
    each_head(|mut page, id, running, why| {
        let whole = &all.iter().find(|(other, _)| *other == id).unwrap().1;
        if running && id == "default" {
            assert_eq!(told(&page), [id], "{why}");
        }
        for other in ["default", "whole"] {
            if running && other != id {
                works(&mut page, other, why);
            }
        }
        // Where it is gone, only who asks for it finds that.
        if !why.starts_with("missing") {
            assert!(page.must("sessions.list", json!({})).to_string().contains("whole"), "{why}");
            assert!(
                listed(&mut page, id)["damaged"]["why"].is_string() || why.starts_with("earlier"),
                "{why}"
            );
        }
        let last = whole.journal.len() as u64;
        for limit in [Value::Null, json!(50)] {
            let history = list(page.must("history", json!({ "sessionId": id, "limit": limit })));
            assert_eq!(said(&without_mark(history, why)), said(&whole.history), "{why}");
        }
        let told = list(page.must("sessions.journal", json!({ "id": id })));
        assert_eq!(told.last().unwrap()["seq"], last + 1, "{why}");
        assert_eq!(without_mark(told, why), whole.journal, "{why}");
        let paged = list(page.must("sessions.journal", json!({ "id": id, "from": last, "limit": 1 })));
        assert_eq!(paged, whole.journal[whole.journal.len() - 1..], "{why}");
        let paged = list(page.must("sessions.journal", json!({ "id": id, "from": last + 1, "limit": 1 })));
        assert_eq!(without_mark(paged, why), [Value::Null; 0], "{why}");
        assert_eq!(
            list(page.must("sessions.journal", json!({ "id": id, "from": last + 2 }))),
            [Value::Null; 0]
        );
        assert_eq!(page.integrity(id), "tampered", "{why}");
        let seen = listed(&mut page, id)["damaged"].clone();
        assert!(seen["seq"] == 0 && seen["why"].is_string(), "{why}: {seen}");
        let verified = page.must("sessions.verify", json!({ "id": id }));
        assert_eq!(
            (&verified["hmac_status"], &verified["entries"]),
            (&json!("tampered"), &json!(last)),
            "{why}"
        );
        let error = page.ask("sessions.rename", json!({ "id": id, "displayName": "b" })).unwrap_err();
        assert_eq!(error.code, Code::Corrupt, "{why}");
        assert!(error.hint.as_ref().unwrap().contains("salvage"), "{why}: {error:?}");
        // What is on record is evidence: whole or not at all.
        assert_eq!(page.fails("sessions.events", json!({ "id": id })).0, Code::Corrupt, "{why}");
    });
}

#[test]
fn the_file_of_a_session_whose_head_is_damaged_has_what_is_stored_of_it() {
    let (store, now, _) = with_earlier();
    let disk = (store, now);
    let all: Vec<(&str, Whole)> = ["default", "idle", "lost"].map(|id| (id, whole(&disk, id))).into();
    each_head(|mut page, id, _, why| {
        let whole = &all.iter().find(|(other, _)| *other == id).unwrap().1;
        let stored = page.stored(Table::Heads, id);
        let lines = file(&mut page, id);
        let rows = |lines: &[String]| -> Vec<String> {
            lines.iter().filter(|line| line.starts_with("{\"row\"")).cloned().collect()
        };
        assert_eq!(rows(&lines), rows(&whole.lines), "{why}");
        let first: Value = serde_json::from_str(&lines[0]).unwrap();
        let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        assert_eq!((&first["head"], &first["session"]), (&Value::Null, &json!(id)), "{why}");
        assert_eq!(last["stored"], json!(stored), "{why}");
        page.must("sessions.import", json!({ "step": "begin" }));
        let error =
            page.ask("sessions.import", json!({ "step": "lines", "lines": lines.join("\n") })).unwrap_err();
        assert!(
            error.code == Code::Corrupt && error.hint.as_ref().unwrap().contains("salvage"),
            "{why}: {error:?}"
        );
    });
}

#[test]
fn a_session_whose_head_is_damaged_is_salvaged_or_removed() {
    let (store, now, _) = with_earlier();
    let disk = (store, now);
    let all: Vec<(&str, Whole)> = ["default", "idle", "lost"].map(|id| (id, whole(&disk, id))).into();
    let before = |id: &str| Desk::on(disk.0.clone(), now + 1_000, "ann").status(id);
    for replaces in [true, false] {
        each_head(|mut page, id, running, why| {
            let whole = &all.iter().find(|(other, _)| *other == id).unwrap().1;
            let state = page.must("sessions.salvage", json!({ "id": id, "replace": replaces }));
            let made = state["id"].as_str().unwrap().to_owned();
            assert_eq!(made == id, replaces, "{why}");
            // All that a head says is in the rows too: its name, its owner, who answers in it.
            let was = before(id);
            for name in ["display_name", "operator_subject", "provider_id", "project_id", "started_at"] {
                assert_eq!(state[name], was[name], "{why}: {name}");
            }
            page.holds(&made);
            let history = list(page.must("history", json!({ "sessionId": made })));
            assert_eq!(said(&history), said(&whole.history), "{why}");
            assert_eq!(page.integrity(&made), "unverified", "{why}");
            assert_eq!(listed(&mut page, &made)["damaged"], Value::Null, "{why}");
            if !running {
                page.start();
            }
            works(&mut page, &made, why);
            let mut page = page.crash("ann");
            page.start();
            assert_eq!(page.integrity(&made), "unverified", "{why}");
            works(&mut page, &made, why);
            if !replaces {
                assert_eq!(page.integrity(id), "tampered", "{why}");
                match id {
                    "default" => page.must("clearConversation", json!({})),
                    _ => page.must("sessions.remove", json!({ "id": id })),
                };
                page.rows(id);
                assert!(id == "default" || page.stored(Table::Entries, id).is_empty(), "{why}");
                assert_eq!(listed(&mut page, id)["damaged"], Value::Null, "{why}");
            }
        });
    }
}

#[test]
fn somebody_else_salvages_no_session_whose_head_is_damaged() {
    let (mut store, now, earlier) = with_earlier();
    damage_head(&mut store, &earlier, "idle", "missing");
    damage_head(&mut store, &earlier, "lost", "rubbish");
    let mut page = Desk::on(store, now + 1_000, "bob");
    for id in ["idle", "lost"] {
        let args = json!({ "id": id, "replace": true });
        assert_eq!(page.fails("sessions.salvage", args).0, Code::PermissionDenied, "{id}");
    }
}

/// Whether a list has a session, and says that it is damaged.
fn is_named(page: &mut Desk, id: &str) -> Option<bool> {
    let all = list(page.must("sessions.list", json!({})));
    all.iter().find(|one| one["id"] == id).map(|one| one.get("damaged").is_some())
}

#[test]
fn a_damaged_session_that_another_tab_has_removed_is_listed_no_more() {
    for (kind, archived) in [("content", false), ("no head", false), ("no head", true)] {
        let why = format!("{kind}, {archived}");
        let (mut store, now) = disk();
        if archived {
            let mut page = Desk::on(store, now + 1_000, "ann");
            page.must("sessions.archive", json!({ "id": "idle" }));
            (store, _) = (page.store, page.now);
            let loose = Read::all(Table::Entries, vec!["idle".into()]).within(Some(0), None);
            assert_eq!(store.read(&loose), Rows::new(), "{why}: all its rows are packed");
        }
        match kind {
            "content" => assert!(damage(&mut store, "idle", 3, kind)),
            _ => damage_head(&mut store, &[], "idle", "missing"),
        }
        let mut page = Desk::on(store, now + 2_000, "ann");
        page.must("history", json!({ "sessionId": "idle" }));
        for _ in 0..2 {
            assert_eq!(is_named(&mut page, "idle"), Some(true), "{why}: as long as anything is left of it");
        }
        let mut other = Desk::on(page.store.clone(), now + 3_000, "ann");
        other.must("history", json!({ "sessionId": "idle" }));
        other.must("sessions.remove", json!({ "id": "idle" }));
        page.store = other.store;
        assert_eq!(is_named(&mut page, "idle"), None, "{why}");
        assert_eq!(is_named(&mut page, "whole"), Some(false), "{why}: nothing else is gone");
        let (code, _) = page.fails("sessions.status", json!({ "id": "idle" }));
        assert_eq!(code, Code::SessionNotFound, "{why}");
        // What comes under its name is another one.
        page.start();
        page.launch("idle");
        assert_eq!(is_named(&mut page, "idle"), Some(false), "{why}");
    }
}

#[test]
fn a_session_of_which_all_rows_are_lost_is_named_until_it_is_removed() {
    for running in [false, true] {
        let (mut store, now) = disk();
        for table in [Table::Entries, Table::Heads, Table::Drafts] {
            let write = Write::DeletePrefix { table, prefix: vec!["idle".into()] };
            store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
        }
        let mut page = Desk::on(store, now + 1_000, "ann");
        if running {
            page.start();
        }
        // What is read of it before the list takes nothing away.
        page.ask("history", json!({ "sessionId": "idle" })).unwrap_err();
        for _ in 0..2 {
            assert_eq!(is_named(&mut page, "idle"), Some(true), "{running}");
        }
        assert_eq!(is_named(&mut page, "whole"), Some(false));
        for (name, args) in [
            ("history", json!({ "sessionId": "idle" })),
            ("sessions.status", json!({ "id": "idle" })),
            ("sessions.export", json!({ "id": "idle" })),
            ("sessions.salvage", json!({ "id": "idle" })),
            ("sessions.launch", json!({ "id": "idle" })),
            ("sessions.prompt", json!({ "id": "idle", "text": "hi" })),
        ] {
            let (code, _) = page.fails(name, args);
            assert!(
                [Code::Corrupt, Code::NotRunning, Code::SessionExists].contains(&code),
                "{name}, {running}: {code:?}"
            );
        }
        let mut page = page.crash("ann");
        if running {
            page.start();
        }
        assert_eq!(is_named(&mut page, "idle"), Some(true), "{running}: after a reload");
        page.must("sessions.remove", json!({ "id": "idle" }));
        assert_eq!(is_named(&mut page, "idle"), None);
        let mut page = page.crash("ann");
        page.start();
        assert_eq!(is_named(&mut page, "idle"), None);
        page.launch("idle");
        assert_eq!(is_named(&mut page, "idle"), Some(false));
    }
}

#[test]
fn who_asks_for_a_damaged_session_that_is_gone_forgets_it() {
    let (mut store, now) = disk();
    assert!(damage(&mut store, "idle", 3, "content"));
    let mut page = Desk::on(store, now + 1_000, "ann");
    page.must("history", json!({ "sessionId": "idle" }));
    page.store = MemoryStore::new();
    let (code, _) = page.fails("history", json!({ "sessionId": "idle" }));
    assert_eq!(code, Code::SessionNotFound);
    page.store = disk().0;
    assert_eq!(is_named(&mut page, "idle"), Some(false), "it is whole, as far as anybody has looked");
}

#[test]
fn a_head_whose_record_nobody_can_read_is_listed_as_damaged_also_where_the_key_is_gone() {
    let edits = [
        ("\"record\":{", "\"record\":{\"zzz\":1,"),
        ("\"status\":\"", "\"status\":\"not_"),
        ("\"started_at\":\"", "\"started_at\":\"x"),
    ];
    for (id, (from, to)) in
        ["default", "idle", "lost"].into_iter().flat_map(|id| edits.map(|edit| (id, edit)))
    {
        let why = format!("{to} in {id}");
        let (store, now) = disk();
        let mut page = Desk::on(store, now + 1_000, "ann");
        page.tampers(Table::Heads, id, from, to);
        page.key = Some("another");
        let all = list(page.must("sessions.list", json!({ "withVerification": true })));
        assert_eq!(all.len(), 5, "{why}");
        let one =
            all.iter().find(|one| one["session"]["id"] == id).unwrap_or_else(|| panic!("{why}: {all:?}"));
        assert_eq!(
            (&one["hmac_status"], &one["session"]["damaged"]["seq"]),
            (&json!("tampered"), &json!(0)),
            "{why}: {one}"
        );
        for other in all.iter().filter(|other| other["session"]["id"] != id) {
            assert_eq!(
                (&other["hmac_status"], other["session"].get("damaged")),
                (&json!("unverifiable"), None),
                "{why}: {other}"
            );
        }
        let status = page.must("sessions.status", json!({ "id": id }));
        assert_eq!(status["hmac_status"], "tampered", "{why}");
        assert!(!list(page.must("history", json!({ "sessionId": id }))).is_empty(), "{why}");
    }
}

#[test]
fn a_damaged_session_that_was_put_aside_suspends_the_agent_no_longer_than_it_is_there() {
    for way in ["sessions.salvage", "sessions.remove"] {
        let mut page = Desk::started("ann");
        page.launch("a");
        page.prompt("a", "hello");
        page.says("there");
        page.prompt("a", "more");
        page.must("sessions.bench", json!({ "id": "a" }));
        page.rows("a");
        let mut page = page.crash("ann");
        assert!(damage(&mut page.store, "a", 4, "content"));
        page.start();
        let told = |page: &Desk| {
            let status = |notice: &Notice| match notice {
                Notice::Status(text) => Some(text.clone()),
                _ => None,
            };
            page.notices.iter().rev().find_map(status).unwrap_or_default()
        };
        assert!(told(&page).contains("\"Suspended\""), "{}", told(&page));
        let args = if way == "sessions.remove" {
            json!({ "id": "a" })
        } else {
            json!({ "id": "a", "replace": true })
        };
        page.must(way, args);
        page.rows("a");
        assert!(told(&page).contains("\"Running\""), "{way}: {}", told(&page));
    }
}

#[test]
fn a_salvaged_session_keeps_the_name_that_its_head_has() {
    for (at, replaces) in [(1, true), (1, false), (4, true), (4, false)] {
        let (mut store, now) = disk();
        let mut page = Desk::on(store.clone(), now + 1_000, "ann");
        page.must("sessions.rename", json!({ "id": "idle", "displayName": "Letters" }));
        page.rows("idle");
        store = page.store;
        assert!(damage(&mut store, "idle", at, "content"));
        let mut page = Desk::on(store, page.now + 1_000, "ann");
        let state = page.must("sessions.salvage", json!({ "id": "idle", "replace": replaces }));
        assert_eq!(state["display_name"], "Letters", "{at}, {replaces}");
        let id = state["id"].as_str().unwrap();
        assert_eq!(page.holds(id).record().unwrap().text("display_name"), Some("Letters"));
    }
}

/// A disk with sessions that have runs, one of them archived, one a copy of another; the runs by their sessions.
fn with_runs() -> (MemoryStore, u64, Vec<(&'static str, String)>) {
    let mut page = Desk::started("ann");
    let mut runs = Vec::new();
    for id in ["default", "notes", "other", "away"] {
        if id != "default" {
            page.launch(id);
        }
        let run = page.must("sendMessage", json!({ "sessionId": id, "text": "hello" }))["runId"].clone();
        page.says(id);
        runs.push((id, run.as_str().unwrap().to_owned()));
    }
    // It has the same runs.
    page.must("sessions.fork", json!({ "id": "notes" }));
    page.must("sessions.archive", json!({ "id": "away" }));
    page.rows("default");
    (page.store, page.now, runs)
}

/// The same disk, on which a run's row leads to this session; empty: it is lost.
fn leading(disk: &MemoryStore, run: &str, row: &str) -> MemoryStore {
    let mut store = disk.clone();
    let key = vec!["run".into(), run.into()];
    let write = match row {
        "" => Write::DeletePrefix { table: Table::Meta, prefix: key },
        row => Write::Put { table: Table::Meta, key, value: row.into() },
    };
    store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
    store
}

/// Whose a run is, as it is stored.
fn kept_of(page: &Desk, run: &str) -> Vec<String> {
    let rows = page.store.read(&Read::all(Table::Meta, vec!["run".into(), run.into()]));
    rows.into_iter().map(|(_, session)| session).collect()
}

#[test]
fn a_run_is_found_where_the_row_that_says_whose_it_is_is_lost_or_wrong() {
    let (disk, now, runs) = with_runs();
    let asks = ["wait", "result", "sessions.task", "sessions.left", "sessions.activity", "sessions.output"];
    let args = |name: &str, run: &str| match name {
        "wait" | "result" => json!({ "runId": run }),
        _ => json!({ "id": run }),
    };
    for running in [false, true] {
        for (id, run) in &runs {
            let opened = |store: MemoryStore| {
                let mut page = Desk::on(store, now + 1_000, "ann");
                if running {
                    page.start();
                }
                page
            };
            let mut whole = opened(disk.clone());
            assert_eq!(kept_of(&whole, run), [*id]);
            for row in ["", "other", "notes", "default", "nowhere", "\u{0}"] {
                for name in asks {
                    let why = format!("{name} of {id}, {row:?}, {running}");
                    let mut page = opened(leading(&disk, run, row));
                    let shown = |answer: Result<Value, _>| answer.map_err(|error: ErrorInfo| error.code);
                    let before = shown(whole.ask(name, args(name, run)));
                    assert_eq!(shown(page.ask(name, args(name, run))), before, "{why}");
                    assert!(before.is_ok() || *id == "away", "{why}: {before:?}");
                    page.rows(id);
                    if running {
                        assert_eq!(kept_of(&page, run), [*id], "{why}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_failed_run_goes_on_where_the_row_that_says_whose_it_is_is_lost_or_wrong() {
    let mut page = Desk::started("ann");
    let mut runs = Vec::new();
    for id in ["default", "notes", "other"] {
        if id != "default" {
            page.launch(id);
        }
        let run = page.must("sendMessage", json!({ "sessionId": id, "text": "hello" }))["runId"].clone();
        page.breaks(Code::InvalidRequest);
        runs.push((id, run.as_str().unwrap().to_owned()));
    }
    page.must("sessions.fork", json!({ "id": "notes" }));
    page.rows("default");
    let (disk, now) = (page.store, page.now);
    for (id, run) in &runs {
        for row in ["", "other", "notes", "default", "nowhere"] {
            let mut page = Desk::on(leading(&disk, run, row), now + 1_000, "ann");
            page.start();
            let goes_on = page.must("resume", json!({ "runId": run }));
            page.says("again");
            let answer = page.must("result", json!({ "runId": goes_on["runId"] }));
            assert_eq!(
                (&answer["text"], page.status(id)["status"].as_str()),
                (&json!("again"), Some("idle")),
                "{id}, {row:?}"
            );
            assert_eq!(
                page.fails("resume", json!({ "runId": run })).0,
                Code::NothingToResume,
                "{id}, {row:?}"
            );
            assert_eq!(kept_of(&page, run), [*id], "{id}, {row:?}");
        }
    }
}

#[test]
fn a_run_that_nobody_has_is_looked_for_once_in_each_session() {
    let (disk, now, _) = with_runs();
    let rows = unpacked_rows(&disk);
    for running in [false, true] {
        let mut page = Desk::on(disk.clone(), now + 1_000, "ann");
        if running {
            page.start();
        }
        for (name, args, code) in [
            ("wait", json!({ "runId": "run_none" }), Code::RunNotFound),
            ("sessions.task", json!({ "id": "run_none" }), Code::RecordNotFound),
        ] {
            let before = page.read;
            assert_eq!(page.fails(name, args).0, code);
            assert!(page.read - before <= 2 * rows, "{} of {rows}", page.read - before);
            assert!(kept_of(&page, "run_none").is_empty());
        }
    }
}

fn unpacked_rows(disk: &MemoryStore) -> usize {
    disk.read(&Read::all(Table::Entries, Vec::new())).len()
}

#[test]
fn a_file_that_came_behind_the_damage_is_taken_along() {
    for replaces in [false, true] {
        let mut page = Desk::started("ann");
        page.launch("notes");
        page.prompt("notes", "a damaged word");
        page.says("well");
        for text in ["look at this", ""] {
            let files = json!([given(&SAMPLES[usize::from(text.is_empty())])]);
            page.must("sessions.prompt", json!({ "id": "notes", "text": text, "files": files }));
            page.says("seen");
        }
        page.rows("notes");
        page.tampers(Table::Entries, "notes", "a damaged word", "a changed word");
        let files = |page: &mut Desk| {
            let shown = list(page.must("history", json!({ "sessionId": "notes" })));
            let of = |message: &Value| list(message["parts"].clone());
            shown.iter().flat_map(of).filter(|part| part["type"] == "file").collect::<Vec<_>>()
        };
        let mut page = page.crash("ann");
        page.start();
        let before = files(&mut page);
        assert_eq!(before.len(), 2, "{before:?}");
        let made = page.must("sessions.salvage", json!({ "id": "notes", "replace": replaces }))["id"].clone();
        let made = made.as_str().unwrap().to_owned();
        if !replaces {
            page.must("sessions.remove", json!({ "id": "notes" }));
            page.now += 11_000;
            page.handle(Input::Tick { online: true });
        }
        let mut page = page.crash("ann");
        page.start();
        page.rows(&made);
        assert_eq!(page.store.read(&Read::all(Table::Files, Vec::new())).len(), 2, "{replaces}");
        let shown = list(page.must("history", json!({ "sessionId": made })));
        let of = |message: &Value| list(message["parts"].clone());
        let after: Vec<Value> = shown.iter().flat_map(of).filter(|part| part["type"] == "file").collect();
        assert_eq!(after, before, "{replaces}");
        // It goes on with them.
        page.prompt(&made, "what was in it?");
        page.says("words");
        page.holds(&made);
    }
}

#[test]
fn no_file_is_deleted_because_a_head_does_not_name_it_any_more() {
    let sends = |page: &mut Desk, id: &str, sample: usize| {
        page.launch(id);
        page.must("sessions.prompt", json!({ "id": id, "text": "look", "files": [given(&SAMPLES[sample])] }));
        page.says("seen");
    };
    let files = |page: &mut Desk| {
        page.rows("default");
        page.store.read(&Read::all(Table::Files, Vec::new())).len()
    };
    type Damages = fn(&str) -> String;
    let kinds: [(&str, Damages); 7] = [
        ("cut", |row| row[..row.len() / 2].into()),
        ("no object", |row| ["7", &row[row.find('\n').unwrap()..]].concat()),
        ("empty object", |row| ["{}", &row[row.find('\n').unwrap()..]].concat()),
        ("another name", |row| row.replacen("\"files\"", "\"filez\"", 1)),
        ("another file", |row| row.replacen("\"files\":[\"file_", "\"files\":[\"fi1e_", 1)),
        ("another's", |_| String::new()),
        ("signature", |row| row.split('\n').next().unwrap().into()),
    ];
    for (kind, damages) in kinds {
        for known in [false, true] {
            let mut page = Desk::started("ann");
            sends(&mut page, "notes", 0);
            sends(&mut page, "other", 1);
            assert_eq!(files(&mut page), 2);
            let of_other = page.stored(Table::Heads, "other").pop().unwrap();
            page.edits(Table::Heads, "notes", |_, row| {
                Some(if kind == "another's" { of_other.clone() } else { damages(row) })
            });
            let mut page = page.crash("ann");
            // A key that has signed all heads tells of one without its signature.
            page.strict = kind != "signature";
            page.start();
            if known {
                page.must("sessions.list", json!({}));
                page.ask("history", json!({ "sessionId": "notes" })).ok();
            }
            let mut page = page.crash("ann");
            page.start();
            assert_eq!(files(&mut page), 2, "{kind}: a start");
            // Where nothing tells that a head is another, what it names is what counts.
            let whole = kind == "signature";
            page.must("clearConversation", json!({ "sessionId": "other" }));
            assert_eq!(files(&mut page), if whole { 1 } else { 2 }, "{kind}: a clearing");
            if whole {
                continue;
            }
            let copy = page.must("sessions.salvage", json!({ "id": "notes" }))["id"].clone();
            let parts = page.must("history", json!({ "sessionId": copy }))[0]["parts"].clone();
            assert!(parts[0]["type"] == "file" && parts[0].get("gone").is_none(), "{kind}: {parts}");
            page.must("sessions.remove", json!({ "id": "notes" }));
            page.now += 11_000;
            page.handle(Input::Tick { online: true });
            assert_eq!(files(&mut page), 1, "{kind}: nobody is damaged any more");
        }
    }
}
