//! Rows that are damaged of a session that was cleared: what lies before them stays, and what was said behind the clearing
//! is not touched.

use crate::cases::damage::{is_gap, list};
use crate::support::desk::Desk;
use lodger::journal::canonical::payload;
use lodger::journal::pack::{checkpoint_key, unpacked};
use lodger::journal::{Entry, Header, Row, Sums};
use lodger::ports::{Commit, Key, MemoryStore, Part, Read, Rows, Table, Write};
use serde_json::{Value, json};

/// How many runs are said before the clearing, and behind it.
const RUNS: (usize, usize) = (22, 3);

/// A disk with a session that was cleared, and gone on with since.
fn disk() -> (MemoryStore, u64) {
    let mut page = Desk::started("ann");
    page.launch("s");
    for n in 0..RUNS.0 {
        talk(&mut page, "s", &format!("before {n}"));
    }
    page.must("clearConversation", json!({ "sessionId": "s" }));
    for n in 0..RUNS.1 {
        talk(&mut page, "s", &format!("anew {n}"));
    }
    page.rows("s");
    (page.store, page.now)
}

fn talk(page: &mut Desk, id: &str, text: &str) {
    page.prompt(id, text);
    page.says(&format!("answer {text}"));
}

fn all(store: &MemoryStore) -> Rows {
    store.read(&Read::all(Table::Entries, vec!["s".into()]))
}

fn write(store: &mut MemoryStore, writes: Vec<Write>) {
    store.commit(&Commit { writes, ..Commit::default() }).unwrap();
}

/// The same disk where the rows lie one by one. `keeps`: with the checkpoint.
fn plain(disk: &MemoryStore, keeps: bool) -> MemoryStore {
    let mut store = disk.clone();
    let checkpoint = store.read(&Read::all(Table::Entries, checkpoint_key("s")));
    let rows = unpacked(all(&store)).into_iter().chain(checkpoint.into_iter().filter(|_| keeps));
    let puts = rows.map(|(key, value)| Write::Put { table: Table::Entries, key, value });
    let mut writes = vec![Write::DeletePrefix { table: Table::Entries, prefix: vec!["s".into()] }];
    writes.extend(puts);
    write(&mut store, writes);
    store
}

/// Changes the time of the row of this number: what its header was, nothing proves.
fn changed(store: &mut MemoryStore, at: u64) {
    let key: Key = vec!["s".into(), Part::Number(at)];
    let row = all(store).into_iter().find(|(other, _)| *other == key).unwrap().1;
    let value = row.replacen("\"at\":1", "\"at\":2", 1);
    assert_ne!(value, row);
    write(store, vec![Write::Put { table: Table::Entries, key, value }]);
}

/// Takes the row of this number away.
fn lost(store: &mut MemoryStore, at: u64) {
    write(
        store,
        vec![Write::DeletePrefix { table: Table::Entries, prefix: vec!["s".into(), Part::Number(at)] }],
    );
}

/// The number of the row that cleared it.
fn clearing(store: &MemoryStore) -> u64 {
    let rows = unpacked(all(store));
    let at = rows.iter().position(|(_, text)| text.contains("\"kind\":\"cleared\"")).unwrap();
    at as u64 + 1
}

fn used(store: &MemoryStore) -> String {
    let rows: Vec<String> = unpacked(all(store)).into_iter().map(|(_, text)| text).collect();
    sums(&rows).unwrap().to_owned()
}

fn texts(history: &Value) -> Vec<String> {
    let parts = history.as_array().unwrap().iter().flat_map(|message| message["parts"].as_array().unwrap());
    parts.filter_map(|part| part["text"].as_str()).map(Into::into).collect()
}

fn anew() -> Vec<String> {
    (0..RUNS.1).flat_map(|n| [format!("anew {n}"), format!("answer anew {n}")]).collect()
}

/// What was used up until it was cleared last, by these rows.
fn sums(rows: &[String]) -> Option<&str> {
    let row = rows.iter().rfind(|row| row.contains("\"kind\":\"cleared\""))?;
    row.lines().nth(1)
}

/// What is made of it keeps this many rows, and has what was said behind the clearing and nothing else. It is read, verified,
/// exported, replayed and gone on with.
fn is_salvaged(store: &MemoryStore, now: u64, kept: u64, of: (&str, &str), why: &str) {
    is_salvaged_with(store, now, kept, 0, of, why);
}

/// The same where so many records are lost that are made anew before anything else.
fn is_salvaged_with(
    store: &MemoryStore,
    now: u64,
    kept: u64,
    anew_first: usize,
    (integrity, used): (&str, &str),
    why: &str,
) {
    let was: Vec<String> = unpacked(all(store)).into_iter().map(|(_, text)| text).collect();
    for (replaces, running) in [(false, false), (true, true)] {
        let why = format!("{why}, {replaces}");
        let mut page = Desk::on(store.clone(), now + 1_000, "ann");
        if running {
            page.start();
        }
        let shown = page.must("history", json!({ "sessionId": "s" }));
        assert_eq!(texts(&shown), anew(), "{why}");
        let state = page.must("sessions.salvage", json!({ "id": "s", "replace": replaces }));
        let made = state["id"].as_str().unwrap().to_owned();
        let rows = page.rows(&made);
        assert_eq!(rows[..kept as usize], was[..kept as usize], "{why}");
        let then = &rows[kept as usize..];
        assert!(then[..anew_first].iter().all(|row| row.contains("\"kind\":\"recorded\"")), "{why}");
        assert!(then[anew_first].contains("\"kind\":\"commanded\""), "{why}");
        let of = json!({ "id": made });
        let events = list(page.must("sessions.events", of.clone()));
        let salvaged = events.iter().find(|event| event["event_type"] == "salvaged").unwrap();
        assert_eq!(salvaged["metadata"]["from_seq"], kept, "{why}");
        // The receipts of the runs whose ends are kept.
        let receipts = list(page.must("sessions.receipts", of.clone()));
        let ends = was[..kept as usize].iter().filter(|row| row.contains("\"what\":\"end\"")).count();
        assert!(ends > 0 && receipts.len() >= ends, "{why}: {} of {ends}", receipts.len());
        for _ in 0..2 {
            assert_eq!(texts(&page.must("history", json!({ "sessionId": made }))), anew(), "{why}");
            let verified = page.must("sessions.verify", of.clone());
            assert_eq!(
                (&verified["damaged"], &verified["hmac_status"]),
                (&Value::Null, &json!(integrity)),
                "{why}"
            );
            page.holds(&made);
            page = page.crash("ann");
        }
        // What was used up before the clearing is not used up anew.
        assert_eq!(sums(&rows), Some(used), "{why}");
        page.start();
        talk(&mut page, &made, "go on");
        page.holds(&made);
        page.must("clearConversation", of_session(&made));
        talk(&mut page, &made, "and on");
        page.holds(&made);
        let mut page = page.crash("ann");
        page.start();
        assert_eq!(texts(&page.must("history", of_session(&made))), ["and on", "answer and on"], "{why}");
        assert!(page.store.read(&Read::all(Table::Entries, checkpoint_key(&made))).len() == 1, "{why}");
        let verified = page.must("sessions.verify", of);
        assert_eq!(
            (&verified["damaged"], &verified["hmac_status"]),
            (&Value::Null, &json!(integrity)),
            "{why}"
        );
    }
}

fn of_session(id: &str) -> Value {
    json!({ "sessionId": id })
}

#[test]
fn the_rows_before_the_damage_stay_also_where_their_content_was_cleared() {
    let (disk, now) = disk();
    let (clearing, used) = (clearing(&disk), used(&disk));
    for at in [clearing - 7, clearing - 30, 40] {
        let mut store = plain(&disk, true);
        changed(&mut store, at);
        is_salvaged(&store, now, at - 1, ("unverified", &used), &format!("row {at} of {clearing}"));
    }
}

/// The row that cleared it is lost: its checkpoint says so, or that nothing is left of what was said before it.
#[test]
fn the_rows_before_a_clearing_that_is_lost_stay() {
    let (disk, now) = disk();
    let (clearing, used) = (clearing(&disk), used(&disk));
    for keeps in [true, false] {
        let mut store = plain(&disk, keeps);
        lost(&mut store, clearing);
        // What was used up is in the clearing and in the checkpoint alone.
        let none = Entry::Cleared { sums: Sums::default() }.to_json().to_string();
        let used = if keeps { &used } else { &none };
        is_salvaged(&store, now, clearing - 1, ("unverified", used), &format!("a checkpoint: {keeps}"));
    }
}

/// Nothing of what was said behind a clearing builds on what lies before it.
#[test]
fn what_is_lost_before_a_checkpoint_takes_nothing_with_it() {
    let (disk, now) = disk();
    let used = used(&disk);
    let (key, _) = all(&disk).into_iter().rfind(|(key, _)| key.len() == 3).unwrap();
    let Some(Part::Number(last)) = key.get(2) else { panic!("{key:?}") };
    let before = all(&disk).into_iter().filter(|(key, _)| key.len() == 3).rev().nth(1).unwrap().0;
    let Some(Part::Number(kept)) = before.get(2) else { panic!("{before:?}") };
    let whole = Desk::on(disk.clone(), now + 1_000, "ann").must("sessions.journal", json!({ "id": "s" }));
    for cut in [true, false] {
        let mut store = disk.clone();
        let put = Write::Put { table: Table::Entries, key: key.clone(), value: "cut".into() };
        let gone = Write::DeletePrefix { table: Table::Entries, prefix: key.clone() };
        write(&mut store, vec![if cut { put } else { gone }]);
        is_salvaged(&store, now, *kept, ("unverified", &used), &format!("the last pack, {cut}"));
        let mut page = Desk::on(store, now + 1_000, "ann");
        let journal = list(page.must("sessions.journal", json!({ "id": "s" })));
        let gaps: Vec<&Value> = journal.iter().filter(is_gap).collect();
        assert_eq!(gaps.len(), 1, "{gaps:?}");
        assert_eq!((&gaps[0]["from"], &gaps[0]["seq"]), (&json!(kept + 1), &json!(last)));
        let rest: Vec<&Value> = journal.iter().filter(|entry| !is_gap(entry)).collect();
        let lies_elsewhere = |entry: &&Value| !(*kept + 1..=*last).contains(&entry["seq"].as_u64().unwrap());
        assert_eq!(rest, whole.as_array().unwrap().iter().filter(lies_elsewhere).collect::<Vec<_>>());
    }
}

/// A row whose own hashes are right, and which follows the one before it, is still not the one that the checkpoint has covered.
#[test]
fn a_checkpoint_names_the_row_that_it_covers_last() {
    let (disk, now) = disk();
    let used = used(&disk);
    let (key, _) = all(&disk).into_iter().rfind(|(key, _)| key.len() == 3).unwrap();
    let Some(Part::Number(last)) = key.get(2) else { panic!("{key:?}") };
    let mut store = plain(&disk, true);
    let rows: Vec<Row> = unpacked(all(&disk))
        .iter()
        .map(|(_, text)| Row::from_text(text).unwrap())
        .take(*last as usize)
        .collect();
    let [.., before, row] = &rows[..] else { panic!("{last}") };
    let (header, entry) = row.read().unwrap();
    let other = Row::new(&Header { at: header.at + 1, ..header }, &entry.unwrap(), before.hash());
    assert!(other.follows(before.hash()) && other.hash() != row.hash());
    let key = vec!["s".into(), Part::Number(*last)];
    let Some(Entry::Recorded { record, .. }) = other.read().unwrap().1 else { panic!("{other:?}") };
    let texts = vec![payload(&record)];
    write(&mut store, vec![Write::Sign { table: Table::Entries, key, value: other.to_text(), texts }]);
    is_salvaged_with(&store, now, last - 1, 1, ("unverified", &used), "another row");
    let mut page = Desk::on(store, now + 1_000, "ann");
    let verified = page.must("sessions.verify", json!({ "id": "s" }));
    let why = "it is not the one that the checkpoint names";
    assert_eq!(verified["damaged"], json!({ "seq": last, "why": why }));
}

#[test]
fn packs_that_are_all_gone_are_missed() {
    let (mut store, now) = disk();
    let packs = all(&store).into_iter().filter(|(key, _)| key.len() == 3).map(|(key, _)| key);
    write(&mut store, packs.map(|prefix| Write::DeletePrefix { table: Table::Entries, prefix }).collect());
    let mut page = Desk::on(store, now + 1_000, "ann");
    assert_eq!(texts(&page.must("history", of_session("s"))), anew());
    assert_eq!(page.must("sessions.verify", json!({ "id": "s" }))["damaged"]["seq"], 1);
    assert_eq!(page.must("sessions.journal", json!({ "id": "s" }))[0]["from"], 1);
    page.must("sessions.salvage", json!({ "id": "s", "replace": true }));
    assert_eq!(texts(&page.must("history", of_session("s"))), anew());
    page.holds("s");
}
