//! How many runs are active, by what is stored: what a newer version of the package asks its own host, in front of an older
//! holder.

use crate::support::desk::Desk;
use lodger::harness::{By, Harness};
use lodger::ports::{Commit, Table, Write};
use lodger::session::operator::Operator;
use serde_json::{Value, json};

/// What another tab is told, whose host has the same disk; and how many heads it has read.
fn seen(page: &mut Desk) -> (Value, usize) {
    page.rows("default");
    let mut other = Desk::on(page.store.clone(), page.now, "bob");
    other.held = true;
    let active = other.must("activeRuns", json!({}));
    (active, other.heads)
}

fn active(page: &mut Desk) -> Value {
    seen(page).0
}

/// What is stored is of a version that has no rows for tasks: `tasks` is what it leaves in the row of their epoch.
fn without_task_rows(page: &mut Desk, tasks: Option<&str>) {
    page.rows("default");
    let gone = |key: &str| Write::DeletePrefix { table: Table::Meta, prefix: vec![key.into()] };
    let put = |value: &str| Write::Put { table: Table::Meta, key: vec!["tasks".into()], value: value.into() };
    let writes = [gone("task"), gone("tasks")].into_iter().chain(tasks.map(put)).collect();
    page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
}

/// A session works, another waits for a person's answer, and a task works.
fn three_at_work() -> Desk {
    let mut page = Desk::of("ann");
    let schema = "{\"type\":\"object\"}";
    page.must(
        "tools.register",
        json!({ "name": "asks", "description": "d", "inputSchema": schema, "execute": { "$fn": 1 } }),
    );
    page.start();
    page.must("configureAgent", json!({ "permissions": { "tools": { "asks": "ask" } } }));
    for id in ["waits", "works", "idle"] {
        page.launch(id);
    }
    assert_eq!(active(&mut page), 0);
    page.prompt("waits", "ask me");
    page.wants("asks");
    page.prompt("works", "long work");
    page.must("sessions.runOnce", json!({ "text": "sort the shelves" }));
    page
}

#[test]
fn what_works_what_waits_and_tasks_are_counted_until_they_are_over() {
    let mut page = three_at_work();
    assert_eq!(active(&mut page), 3);
    page.says("worked");
    assert_eq!(active(&mut page), 2);
    page.says("sorted");
    assert_eq!(active(&mut page), 1, "the question waits");
    let asked = page.events.iter().rev().find(|(name, _)| *name == "agent:permission-required");
    let request = asked.map(|(_, detail)| detail["requestId"].clone()).unwrap();
    page.must("resolvePermission", json!({ "requestId": request, "answer": "deny" }));
    page.says("then not");
    assert_eq!(active(&mut page), 0);
}

#[test]
fn a_task_that_fails_is_over_and_one_that_is_resumed_is_not() {
    let mut page = Desk::started("ann");
    let run = page.must("sessions.runOnce", json!({ "text": "sort the shelves" }))["runId"].clone();
    page.breaks(lodger::error::Code::InvalidConfig);
    assert_eq!(active(&mut page), 0);
    page.must("resume", json!({ "runId": run }));
    assert_eq!(active(&mut page), 1);
}

#[test]
fn it_is_told_without_an_operator_and_whether_or_not_another_tab_works_here() {
    let mut page = three_at_work();
    page.rows("default");
    let expired = Operator { subject: "ann".into(), issuer: None, expires_at: Some(1) };
    for by in [By::Here, Harness::by_another(&Value::Null).unwrap(), By::There(Some(expired))] {
        for held in [false, true] {
            let mut other = Desk::on(page.store.clone(), page.now, "bob");
            (other.by, other.held) = (by.clone(), held);
            assert_eq!(other.must("activeRuns", json!({})), 3);
        }
    }
    assert_eq!(page.must("activeRuns", json!({})), 3, "and where it works");
}

#[test]
fn of_tasks_that_are_over_no_head_is_read() {
    let mut page = Desk::started("ann");
    for n in 0..30 {
        page.must("sessions.runOnce", json!({ "text": format!("task {n}") }));
        page.says("done");
    }
    page.must("sessions.runOnce", json!({ "text": "sort the shelves" }));
    assert_eq!(seen(&mut page), (json!(1), 2), "that of the agent, and that of the task");
}

#[test]
fn a_task_of_a_version_without_such_rows_is_counted_by_its_head() {
    // It never had them, or has held the workspace again since another had.
    for tasks in [None, Some("0")] {
        let mut page = three_at_work();
        without_task_rows(&mut page, tasks);
        assert_eq!(active(&mut page), 3, "{tasks:?}");
        for told in ["worked", "sorted"] {
            page.says(told);
        }
        without_task_rows(&mut page, tasks);
        assert_eq!(active(&mut page), 1, "{tasks:?}");
    }
}

#[test]
fn a_run_that_is_held_waits_for_nobody() {
    let mut page = three_at_work();
    page.rows("default");
    let mut page = page.crash("ann");
    page.start();
    assert_eq!(active(&mut page), 0, "the task is interrupted, the others are held");
    page.must("sessions.play", json!({ "id": "works" }));
    assert_eq!(active(&mut page), 1);
    page.must("sessions.bench", json!({ "id": "works" }));
    assert_eq!(active(&mut page), 0);
}

/// No holder takes a damaged session, so its head stays as it is.
#[test]
fn a_run_that_no_holder_can_take_is_not_waited_for() {
    let mut page = three_at_work();
    page.rows("default");
    let mut heads = page.store.read(&lodger::ports::Read::all(Table::Heads, Vec::new()));
    heads.retain(|(_, head)| head.contains("\"held\":false"));
    assert_eq!(heads.len(), 3);
    for (key, _) in heads {
        let writes = vec![Write::DeletePrefix { table: Table::Entries, prefix: key }];
        page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    }
    assert_eq!(active(&mut page), 3, "until another holds the workspace");
    let mut page = page.crash("ann");
    page.start();
    let task = page.stored(Table::Meta, "task");
    assert_eq!((active(&mut page), task), (json!(0), vec![String::new()]));
}
