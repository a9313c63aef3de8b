//! A database that a newer version of the package has taken while this one has it open: nothing is written into it, and
//! what it says is told.

use crate::support::calm::{send, started};
use crate::support::desk::Desk;
use crate::support::sim::World;
use lodger::error::Code;
use lodger::harness::{FORMAT_KEY, format_text};
use lodger::journal::FORMAT;
use lodger::ports::{Commit, Read, Table, Write};
use serde_json::json;

/// What a newer version leaves when it takes a workspace.
fn taken_by_a_newer_one(world: &mut World) {
    let write =
        Write::Put { table: Table::Meta, key: vec![FORMAT_KEY.into()], value: format_text(FORMAT + 1) };
    world.disk.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
}

#[test]
fn an_older_version_starts_no_agent_on_a_newer_format() {
    let mut world = started();
    world.must(0, "stopAgent", json!({}));
    taken_by_a_newer_one(&mut world);
    let before = world.disk.clone();
    let config = json!({ "provider": { "kind": "custom", "stream": { "$fn": 50 } } });
    for way in ["reject", "join", "takeover"] {
        let mut config = config.clone();
        config["ifRunning"] = json!(way);
        let error = world.fails(0, "startAgent", config);
        assert_eq!((error.code, error.retryable()), (Code::NewerVersion, false), "{way}");
    }
    let stands_in = world.fails(0, "standIn", json!({ "config": config, "after": 0 }));
    assert_eq!(stands_in.code, Code::NewerVersion);
    assert_eq!(world.disk, before, "nothing was written");
}

/// One that works is not robbed: its lock is not taken before it is known that this version can read what it writes.
#[test]
fn an_older_version_does_not_rob_a_newer_one() {
    let mut desk = Desk::started("somebody");
    let row = |text: String| Write::Put { table: Table::Meta, key: vec![FORMAT_KEY.into()], value: text };
    let writes = |desk: &mut Desk, text: String| {
        desk.store.commit(&Commit { writes: vec![row(text)], ..Commit::default() }).unwrap();
    };
    writes(&mut desk, format_text(FORMAT + 1));
    let mut page = desk.crash("somebody");
    page.held = true;
    let config =
        json!({ "provider": { "kind": "custom", "stream": { "$fn": 50 } }, "ifRunning": "takeover" });
    assert_eq!(page.fails("startAgent", config.clone()).0, Code::NewerVersion);
    assert_eq!((page.locks.as_slice(), page.held), (&["lock"][..], true), "nobody was robbed");
    // One of this version is.
    writes(&mut page, format_text(FORMAT));
    page.must("startAgent", config);
    assert!(page.locks.contains(&"steal"), "{:?}", page.locks);
}

#[test]
fn a_start_that_a_newer_format_refused_leaves_the_workspace_free() {
    let mut world = started();
    world.must(0, "stopAgent", json!({}));
    taken_by_a_newer_one(&mut world);
    let config = json!({ "provider": { "kind": "custom", "stream": { "$fn": 50 } } });
    world.fails(0, "startAgent", config.clone());
    // The newer version has changed its mind, or was another database's: the same tab starts as if nothing had been.
    let write = Write::Put { table: Table::Meta, key: vec![FORMAT_KEY.into()], value: FORMAT.to_string() };
    world.disk.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
    world.must(0, "startAgent", config);
    send(&mut world, "hello");
}

#[test]
fn an_older_version_changes_no_page_of_a_newer_format() {
    let mut world = started();
    world.must(0, "pages.create", json!({ "title": "Stock", "content": "What there is." }));
    world.must(0, "stopAgent", json!({}));
    taken_by_a_newer_one(&mut world);
    let before = world.disk.clone();
    let changes = [
        ("pages.create", json!({ "title": "Shelves" })),
        ("pages.update", json!({ "slug": "stock", "content": "What there was." })),
        ("pages.read", json!({ "slug": "stock" })),
    ];
    for (name, args) in changes {
        assert_eq!(world.fails(0, name, args).code, Code::NewerVersion, "{name}");
    }
    assert_eq!(world.disk, before, "nothing was written");
    let format = Read::all(Table::Meta, vec![FORMAT_KEY.into()]);
    assert_eq!(world.disk.read(&format).first().map(|(_, value)| &**value), Some(&*format_text(FORMAT + 1)));
}

/// Two tabs of other formats cannot share a workspace, so they must not take each other for the same version.
#[test]
fn tabs_and_rows_have_one_version() {
    let source = include_str!("../../../js/tabs/tabs.js");
    let version = source.lines().find_map(|line| line.strip_prefix("const VERSION = ")).unwrap();
    assert_eq!(version, format!("{FORMAT};"));
}

/// What an earlier version makes of rows that it does not know says nothing, once this one has worked with them.
#[test]
fn what_an_older_tab_takes_for_damage_is_none() {
    for (found, works) in
        [("", true), (r#"{"seq":1,"why":"x"}"#, true), (r#"{"seq":1,"v":5,"why":"x"}"#, false)]
    {
        let mut page = Desk::started("ann");
        page.prompt("default", "hello");
        page.says("there");
        page.rows("default");
        let key = vec!["session".into(), "default".into()];
        let write = Write::Put { table: Table::Meta, key, value: found.into() };
        page.store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
        let mut next = page.crash("ann");
        let listed = next.must("sessions.list", json!({ "withVerification": true }));
        assert_eq!(listed[0]["hmac_status"] == "tampered", !works, "{found}: {listed}");
        next.start();
        assert_eq!(next.ask("sendMessage", json!({ "text": "on" })).is_ok(), works, "{found}");
    }
}

/// A row of the format with one bit flipped, each of them.
fn flipped(text: &str) -> impl Iterator<Item = String> {
    (0..text.len() * 8).filter_map(|bit| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        String::from_utf8(bytes).ok()
    })
}

#[test]
fn a_bit_that_flips_makes_no_newer_version() {
    let mut world = started();
    world.must(0, "stopAgent", json!({}));
    for value in (1..=FORMAT).flat_map(|version| flipped(&format_text(version)).collect::<Vec<_>>()) {
        let write = Write::Put { table: Table::Meta, key: vec![FORMAT_KEY.into()], value: value.clone() };
        world.disk.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
        world.must(0, "pages.create", json!({ "title": "Stock", "content": value }));
        world.must(0, "startAgent", json!({ "provider": { "kind": "custom", "stream": { "$fn": 50 } } }));
        let format = Read::all(Table::Meta, vec![FORMAT_KEY.into()]);
        assert_eq!(world.disk.read(&format)[0].1, format_text(FORMAT), "{value:?} is written anew");
        world.must(0, "stopAgent", json!({}));
    }
}
