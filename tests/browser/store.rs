//! The store: IndexedDB means what `MemoryStore` says, and its troubles come out typed.

use crate::faults;
use crate::host::{Host, until};
use fastrand::Rng;
use lodger::browser::{self, Gone, Scope, Store};
use lodger::error::Code;
use lodger::harness::{FORMAT_KEY, format_text};
use lodger::ports::{Commit, Durability, Expect, Key, MemoryStore, Part, Read, StoreError, Table, Write};
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen_test::wasm_bindgen_test;

const TABLES: [Table; 3] = [Table::Meta, Table::Entries, Table::Pages];

struct Opened {
    store: Store,
    scope: Scope,
    /// Why the store said that its connection has to go.
    gone: Rc<RefCell<Vec<Gone>>>,
}

async fn fresh(name: &str) -> Opened {
    browser::delete(name).await.unwrap();
    opened(name)
}

fn opened(name: &str) -> Opened {
    let scope = Scope::new();
    let gone = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&gone);
    let store =
        Store::new(name, false, Durability::Relaxed, &scope, Rc::new(move |why| log.borrow_mut().push(why)));
    Opened { store, scope, gone }
}

fn key(parts: &[&str]) -> Key {
    parts.iter().map(|part| Part::from(*part)).collect()
}

fn put(name: &str, value: &str) -> Write {
    Write::Put { table: Table::Meta, key: key(&[name]), value: value.into() }
}

fn expect(name: &str, value: Option<&str>) -> Expect {
    Expect { table: Table::Meta, key: key(&[name]), value: value.map(Into::into) }
}

fn writes(writes: Vec<Write>) -> Commit {
    Commit { writes, ..Commit::default() }
}

async fn all(store: &Store, table: Table) -> Vec<(Key, String)> {
    store.read(&[Read::all(table, Vec::new())]).await.unwrap().remove(0)
}

#[wasm_bindgen_test]
async fn a_commit_whose_expectation_fails_changes_nothing() {
    let rejections = faults::watch_rejections();
    let Opened { store, .. } = fresh("conflict").await;
    store.commit(&writes(vec![put("a", "1"), put("b", "1")])).await.unwrap();
    let before = all(&store, Table::Meta).await;
    for (expect, wrong) in [
        (vec![expect("a", Some("2")), expect("b", Some("1")), expect("c", None)], "a"),
        (vec![expect("a", Some("1")), expect("b", None)], "b"),
        (vec![expect("a", Some("1")), expect("c", Some("1")), expect("b", Some("0"))], "c"),
    ] {
        let delete = Write::DeletePrefix { table: Table::Meta, prefix: Vec::new() };
        let commit = Commit { expect, writes: vec![delete, put("d", "1")], ..Commit::default() };
        assert_eq!(store.commit(&commit).await, Err(StoreError::Conflict(Table::Meta, key(&[wrong]))));
        assert_eq!(all(&store, Table::Meta).await, before);
    }
    let only_expects = Commit { expect: vec![expect("a", None)], ..Commit::default() };
    assert_eq!(store.commit(&only_expects).await, Err(StoreError::Conflict(Table::Meta, key(&["a"]))));
    faults::task().await;
    assert_eq!(rejections.seen(), [""; 0], "rejections that nobody handled");
    store.close();
}

#[wasm_bindgen_test]
async fn random_commits_and_reads_do_what_they_do_in_memory() {
    let Opened { store, .. } = fresh("random").await;
    let mut memory = MemoryStore::new();
    let mut rng = Rng::with_seed(7);
    let (mut refused, mut rows) = (0, 0);
    for _ in 0..300 {
        let commit = random_commit(&mut rng, &memory);
        let expected = memory.commit(&commit);
        refused += u32::from(expected.is_err());
        assert_eq!(store.commit(&commit).await, expected, "{commit:?}");
        let reads: Vec<Read> = (0..rng.usize(1..4)).map(|_| random_read(&mut rng)).collect();
        let expected: Vec<_> = reads.iter().map(|read| memory.read(read)).collect();
        rows += expected.iter().map(Vec::len).sum::<usize>();
        assert_eq!(store.read(&reads).await.unwrap(), expected, "{reads:?}");
    }
    // Both outcomes and real lists were seen, or this test has seen nothing.
    assert!(refused > 30 && rows > 300, "{refused} refused, {rows} rows");
    store.close();
}

fn random_table(rng: &mut Rng) -> Table {
    TABLES[rng.usize(..TABLES.len())]
}

fn random_key(rng: &mut Rng, least: usize) -> Key {
    let part = |rng: &mut Rng| match rng.u8(..5) {
        0 => Part::Number(rng.u64(..4)),
        1 => Part::Number([9, 10, 11, 1 << 40, (1 << 53) - 1][rng.usize(..5)]),
        2 => Part::from(["", "a", "b"][rng.usize(..3)]),
        3 => Part::from(["aa", "Z", "10", "ä", "木"][rng.usize(..5)]),
        _ => Part::Number(1),
    };
    (0..rng.usize(least..4)).map(|_| part(rng)).collect()
}

fn random_commit(rng: &mut Rng, memory: &MemoryStore) -> Commit {
    let mut commit = Commit::default();
    for _ in 0..rng.usize(..3) {
        let (table, key) = (random_table(rng), random_key(rng, 1));
        let read = Read::all(table, key.clone());
        let found = memory.read(&read).into_iter().find(|(found, _)| *found == key).map(|(_, value)| value);
        let value = if rng.u8(..5) == 0 { Some("no".into()) } else { found };
        commit.expect.push(Expect { table, key, value });
    }
    for n in 0..rng.usize(1..6) {
        let table = random_table(rng);
        let value = format!("{n}-{}", rng.u16(..));
        commit.writes.push(match rng.u8(..12) {
            0 => Write::DeletePrefix { table, prefix: random_key(rng, 0) },
            1..4 => Write::Add { table, key: random_key(rng, 1), value },
            _ => Write::Put { table, key: random_key(rng, 1), value },
        });
    }
    commit
}

fn random_read(rng: &mut Rng) -> Read {
    let from = rng.bool().then(|| rng.u64(..12));
    let until = from.filter(|_| rng.bool()).map(|from| from + rng.u64(1..6));
    let read = Read::all(random_table(rng), random_key(rng, 0));
    match rng.u8(..4) {
        0 => Read {
            texts: Some([("", None), ("", Some("b")), ("Z", Some("aa")), ("b", None)][rng.usize(..4)]),
            ..read
        },
        _ => read.within(from, until),
    }
}

#[wasm_bindgen_test]
async fn a_commit_says_how_sure_it_must_be() {
    let Opened { store, .. } = fresh("durability").await;
    let watch = faults::watch_writes(0);
    for durability in [Durability::Strict, Durability::Relaxed] {
        let commit = Commit { writes: vec![put("a", "1")], durability, ..Commit::default() };
        store.commit(&commit).await.unwrap();
    }
    assert_eq!(watch.seen(), ["strict", "relaxed"]);
    store.close();
}

#[wasm_bindgen_test]
async fn a_connection_that_was_lost_is_opened_again() {
    let Opened { store, scope, .. } = fresh("lost").await;
    store.commit(&writes(vec![put("a", "1")])).await.unwrap();
    faults::cut(&scope);
    assert_eq!(all(&store, Table::Meta).await.len(), 1);
    faults::cut(&scope);
    store.commit(&writes(vec![put("a", "2")])).await.unwrap();
    assert_eq!(all(&store, Table::Meta).await, [(key(&["a"]), "2".into())]);
    assert_eq!(faults::connections(&scope), 1, "the dead connections are forgotten");
    store.close();
    assert_eq!(faults::connections(&scope), 0);
}

#[wasm_bindgen_test]
async fn a_transaction_that_is_aborted_is_tried_once_more() {
    let Opened { store, .. } = fresh("abort").await;
    store.commit(&writes(vec![put("a", "1")])).await.unwrap();
    let watch = faults::watch_writes(1);
    store.commit(&writes(vec![put("a", "2")])).await.unwrap();
    assert_eq!(watch.seen().len(), 2);
    drop(watch);
    let watch = faults::watch_writes(2);
    let failed = store.commit(&writes(vec![put("a", "3")])).await.unwrap_err();
    assert_eq!(failed.info().code, Code::StorageFailed);
    assert_eq!(watch.seen().len(), 2);
    drop(watch);
    assert_eq!(all(&store, Table::Meta).await, [(key(&["a"]), "2".into())]);
    store.close();
}

#[wasm_bindgen_test]
async fn what_aborts_a_transaction_decides_its_error() {
    let Opened { store, .. } = fresh("abort errors").await;
    store.commit(&writes(vec![put("a", "1")])).await.unwrap();
    for (name, code, tries) in [
        ("QuotaExceededError", Code::QuotaExceeded, 1),
        ("UnknownError: IO error: FILE_ERROR_NO_SPACE", Code::QuotaExceeded, 1),
        ("DataError: Failed to write blobs (IOError)", Code::QuotaExceeded, 1),
        ("UnknownError", Code::StorageFailed, 2),
        ("DataError", Code::StorageFailed, 1),
    ] {
        let watch = faults::failing_writes(name);
        let error = store.commit(&writes(vec![put("a", "2")])).await.unwrap_err();
        assert_eq!((error.info().code, watch.seen().len()), (code, tries), "{name}");
    }
    assert_eq!(all(&store, Table::Meta).await, [(key(&["a"]), "1".into())]);
    store.close();
}

/// In a browser with storage buckets, Chromium; elsewhere a quota cannot be provoked, only played as above.
#[wasm_bindgen_test]
async fn a_full_disk_has_its_own_error_and_nothing_is_written() {
    let Some(_disk) = faults::disk_of(3_000_000.0).await else { return };
    let Opened { store, .. } = opened("quota");
    store.commit(&writes(vec![put("a", "1")])).await.unwrap();
    // What could be compressed might fit.
    let mut rng = Rng::with_seed(1);
    let large: String = (0..1 << 20).map(|_| rng.alphanumeric()).collect();
    let mut full = None;
    for n in 0..40 {
        let commit = writes(vec![put("a", &n.to_string()), put(&format!("large {n}"), &large)]);
        if let Err(error) = store.commit(&commit).await {
            full = Some((n, error));
            break;
        }
    }
    let (failed, error) = full.unwrap();
    assert_eq!(error, StoreError::Quota);
    assert_eq!(error.info().code, Code::QuotaExceeded);
    let rows = all(&store, Table::Meta).await;
    let last = if failed == 0 { "1".into() } else { (failed - 1).to_string() };
    assert_eq!(rows.first(), Some(&(key(&["a"]), last)));
    assert_eq!(rows.len(), failed + 1);
    store.close();
}

#[wasm_bindgen_test]
async fn what_a_newer_version_wrote_is_refused() {
    browser::delete("newer").await.unwrap();
    let other = faults::connect("lodger:newer", Some(99), false).await.unwrap();
    assert_eq!(Host::open("newer").await.err().unwrap().code, Code::NewerVersion);
    faults::close(&other);

    let Opened { store, .. } = fresh("newer format").await;
    let format = Write::Put { table: Table::Meta, key: key(&[FORMAT_KEY]), value: format_text(999) };
    store.commit(&writes(vec![format])).await.unwrap();
    store.close();
    assert_eq!(Host::open("newer format").await.err().unwrap().code, Code::NewerVersion);
}

#[wasm_bindgen_test]
async fn who_is_kept_waiting_by_another_tab_learns_it_in_bounded_time() {
    let Opened { store, .. } = fresh("blocked").await;
    store.commit(&writes(vec![put("a", "1")])).await.unwrap();
    store.close();
    let other = faults::connect("lodger:blocked", None, true).await.unwrap();
    let hurried = faults::hurried();
    // The deletion waits for the other tab, and an open waits for the deletion.
    let deleted = browser::delete("blocked").await;
    assert_eq!(deleted, Err(StoreError::Blocked));
    assert_eq!(Host::open("blocked").await.err().unwrap().code, Code::StorageBlocked);
    drop(hurried);
    faults::close(&other);
    // Nobody is in the way any more, and a connection that came too late does not stay.
    browser::delete("blocked").await.unwrap();
    let Opened { store, .. } = opened("blocked");
    assert_eq!(all(&store, Table::Meta).await, []);
    store.close();
}

#[wasm_bindgen_test]
async fn no_indexed_db_has_its_own_error() {
    let missing = faults::no_indexed_db();
    let error = Host::open("unavailable").await.err().unwrap();
    assert_eq!(error.code, Code::StorageUnavailable);
    assert!(error.hint.as_deref().unwrap().contains("storage: \"memory\""));
    drop(missing);
}

#[wasm_bindgen_test]
async fn a_store_tells_of_an_upgrade_and_makes_way_when_it_is_closed() {
    let Opened { store, gone, .. } = fresh("upgrade").await;
    store.commit(&writes(vec![put("a", "1")])).await.unwrap();
    let upgrading = Rc::new(RefCell::new(None));
    let result = Rc::clone(&upgrading);
    wasm_bindgen_futures::spawn_local(async move {
        *result.borrow_mut() = Some(faults::connect("lodger:upgrade", Some(99), false).await.unwrap());
    });
    until(|| (!gone.borrow().is_empty()).then_some(())).await;
    assert_eq!(*gone.borrow(), [Gone::Newer]);
    assert!(upgrading.borrow().is_none());
    store.close();
    let upgraded = until(|| upgrading.borrow_mut().take()).await;
    faults::close(&upgraded);
    // Closed is for good: this must not open the newer database.
    assert!(store.commit(&writes(vec![put("a", "2")])).await.is_err());
    browser::delete("upgrade").await.unwrap();
}

#[wasm_bindgen_test]
async fn a_database_that_was_there_and_is_gone_is_told_and_not_made_anew() {
    let Opened { store, scope, gone } = fresh("vanished").await;
    store.commit(&writes(vec![put("a", "1")])).await.unwrap();
    faults::cut(&scope);
    browser::delete("vanished").await.unwrap();
    assert_eq!(store.commit(&writes(vec![put("a", "2")])).await, Err(StoreError::Lost));
    assert_eq!(*gone.borrow(), [Gone::Lost]);
    assert!(!faults::database_exists("vanished").await);
    store.close();
    // Who opens it anew begins anew.
    let Opened { store, .. } = opened("vanished");
    assert_eq!(all(&store, Table::Meta).await, []);
    store.close();
    browser::delete("vanished").await.unwrap();
}

#[wasm_bindgen_test]
async fn a_strict_store_flushes_each_commit_but_drafts() {
    browser::delete("strict").await.unwrap();
    let scope = Scope::new();
    let store = Store::new("strict", false, Durability::Strict, &scope, Rc::new(|_| {}));
    store.commit(&writes(vec![put("a", "1")])).await.unwrap();
    let watched = faults::watch_writes(0);
    store.commit(&writes(vec![put("a", "2")])).await.unwrap();
    let draft = Write::Put { table: Table::Drafts, key: key(&["a"]), value: "1".into() };
    store.commit(&writes(vec![draft])).await.unwrap();
    assert_eq!(watched.seen(), ["strict", "relaxed"]);
    drop(watched);
    store.close();
    browser::delete("strict").await.unwrap();
}

#[wasm_bindgen_test]
async fn a_workspace_that_is_deleted_elsewhere_closes_and_leaves_nothing() {
    let host = Host::fresh("deleted").await;
    host.ask("startAgent", json!({})).await.unwrap();
    assert!(faults::database_exists("deleted").await);
    browser::delete("deleted").await.unwrap();
    let error = until(|| host.closed()).await.unwrap();
    assert_eq!(error.code, Code::WorkspaceDeleted);
    faults::lock_is_free("lodger:deleted").await;
    // What still comes from the page is not written into a new database.
    host.send("sendMessage", json!({ "text": "Hello" }));
    for _ in 0..20 {
        faults::task().await;
    }
    assert!(!faults::database_exists("deleted").await);
}

#[wasm_bindgen_test]
async fn a_newer_version_gets_the_database_and_the_run_is_held() {
    let host = Host::fresh("make way").await;
    host.ask("startAgent", crate::host::custom()).await.unwrap();
    host.ask("sendMessage", json!({ "text": "Tell me" })).await.unwrap();
    let (call, _) = host.call("stream", 0).await;
    host.pump.feed_text(call, "Once upon");
    let upgraded = faults::connect("lodger:make way", Some(99), false).await.unwrap();
    let error = host.closed().unwrap().unwrap();
    assert_eq!(error.code, Code::WorkspaceClosed);
    assert!(error.hint.as_deref().unwrap().contains("reload the page"), "{error}");
    faults::lock_is_free("lodger:make way").await;
    faults::close(&upgraded);
    browser::delete("make way").await.unwrap();
}
