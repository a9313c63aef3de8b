//! One workspace in several tabs, case by case, as the harness of one of them sees it: who takes over what, who lets go, and
//! who has given a command. What tabs say to each other is `js/tabs/tabs.js`'s.

use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::harness::{By, Harness};
use lodger::ports::{Commit, Table, Write};
use serde_json::{Value, json};

fn config() -> Value {
    json!({ "provider": { "kind": "custom", "model": "model-1", "stream": { "$fn": 50 } } })
}

/// A page of ann's where two sessions and the first conversation work, one has a run that was lost before, and one is idle.
fn at_work() -> Desk {
    let mut page = Desk::started("ann");
    page.launch("before");
    page.prompt("before", "lost long ago");
    let mut page = page.crash("ann");
    page.start();
    for id in ["a", "b", "idle"] {
        page.launch(id);
    }
    page.prompt("a", "one");
    page.prompt("b", "two");
    page.must("sendMessage", json!({ "text": "three" }));
    page.rows("a");
    page
}

#[test]
fn who_stands_in_goes_on_with_what_the_last_holder_was_at_and_with_nothing_else() {
    let mut page = at_work().crash("ann");
    page.must("standIn", json!({ "config": config(), "after": 2 }));
    assert_eq!(page.locks, ["lock", "announce"]);
    assert_eq!(page.models.len(), 3, "the calls that were cut are made again");
    for _ in 0..3 {
        page.says("done");
    }
    for id in ["a", "b", "default"] {
        assert_eq!(page.status(id)["status"], "idle", "{id}");
        page.holds(id);
    }
    assert_eq!(page.event_types("a").last().unwrap(), "run_completed");
    assert!(page.event_types("a").contains(&"recovered".into()), "{:?}", page.event_types("a"));
    assert_eq!(
        page.status("before")["status"],
        "failed",
        "it was lost before, and nobody has gone on with it"
    );
    assert_eq!(page.status("idle")["status"], "running");
}

#[test]
fn a_person_who_starts_the_agent_counts_more_than_a_tab_that_waits_to_go_on() {
    let start = |page: &mut Desk, way: &str, model: &str| {
        let provider = json!({ "kind": "custom", "model": model, "stream": { "$fn": 50 } });
        page.command("startAgent", json!({ "provider": provider, "ifRunning": way }))
    };
    for (way, held) in [("reject", false), ("takeover", false), ("reject", true), ("join", false)] {
        let mut page = at_work();
        page.must("stopAgent", json!({}));
        let mut page = page.crash("ann");
        (page.late, page.held) = (Some(Vec::new()), held);
        let by_itself = page.command("standIn", json!({ "config": config(), "after": 1 }));
        let by_person = start(&mut page, way, "theirs");
        for input in page.late.take().unwrap() {
            page.handle(input);
        }
        let answer = |id: u32| page.answers[&id].as_ref().map(|_| ()).map_err(|error| error.code);
        let expected = match (way, held) {
            ("join", _) => Err(Code::NotRunning),
            (_, true) => Err(Code::AlreadyRunning),
            _ => Ok(()),
        };
        assert_eq!((answer(by_itself), answer(by_person)), (expected, expected), "{way}, {held}");
        if expected.is_ok() {
            assert_eq!(page.must("settings", json!({}))["model"], "theirs");
            // Once it has the agent, it is as any other that runs.
            let again = start(&mut page, "reject", "other");
            assert_eq!(page.answers[&again].as_ref().unwrap_err().code, Code::AlreadyRunning);
        }
    }
}

#[test]
fn what_another_operator_was_at_waits_for_that_one() {
    let mut page = at_work().crash("bob");
    page.must("standIn", json!({ "config": config() }));
    assert_eq!(page.models.len(), 0);
    assert_eq!(page.status("a")["status"], "failed");
}

#[test]
fn nobody_stands_in_for_a_holder_that_was_stopped() {
    let mut page = at_work();
    page.must("stopAgent", json!({}));
    assert_eq!(page.locks.last(), Some(&"unlock, stopped"));
    let mut page = page.crash("ann");
    // Also for a tab that has never heard which holder that was: then it is the last one.
    for after in [2, 0] {
        let stopped = page.fails("standIn", json!({ "config": config(), "after": after }));
        assert_eq!(stopped, (Code::NotRunning, "the agent was stopped".into()));
    }
    assert_eq!(page.locks, ["lock", "unlock", "lock", "unlock"], "the lock is free again");
    // A person's word counts, and one that has joined a later holder goes on.
    page.must("standIn", json!({ "config": config(), "after": 3 }));
}

#[test]
fn a_person_takes_the_agent_from_the_tab_that_has_it() {
    let mut page = at_work().crash("ann");
    page.held = true;
    let (code, message) = page.fails("startAgent", config());
    assert_eq!(
        (code, message.as_str()),
        (Code::AlreadyRunning, "the agent is already running in another tab (\"h\")")
    );
    let mut config = config();
    config["ifRunning"] = "takeover".into();
    page.must("startAgent", config.clone());
    assert_eq!(page.locks, ["lock", "lock", "steal", "announce"]);
    assert_eq!(page.models.len(), 3, "it goes on with what that one was at");
    page.must("startAgent", config);
    assert_eq!(page.locks.len(), 4, "here already is fine");
}

#[test]
fn a_holder_that_lets_go_has_lost_nothing_and_answers_those_who_wait() {
    let mut page = at_work();
    let run = page.status("a")["active_run_id"].clone();
    let waits = page.command("result", json!({ "runId": run }));
    page.must("letGo", json!({ "epoch": 1 }));
    assert_eq!(page.models.len(), 3, "another epoch was meant");
    page.must("letGo", json!({ "epoch": 2 }));
    assert_eq!((page.models.len(), page.locks.last()), (0, Some(&"unlock")));
    assert_eq!(page.answers[&waits].as_ref().unwrap_err().code, Code::OwnershipLost);
    assert_eq!(page.events.last().unwrap().1["lifecycle"], "Stopped");
    assert_eq!(page.fails("sendMessage", json!({ "text": "?" })).0, Code::NotRunning);
    let mut page = page.crash("ann");
    page.must("standIn", json!({ "config": config(), "after": 0 }));
    assert_eq!(page.models.len(), 3);
}

#[test]
fn a_command_of_another_tab_is_judged_by_who_works_there() {
    let mut page = Desk::started("ann");
    page.launch("anns");
    let there = |operator: Value| Harness::by_another(&operator).unwrap();
    page.by = there(json!({ "subject": "bob" }));
    page.launch("bobs");
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "anns", "text": "?" })).0, Code::PermissionDenied);
    assert_eq!(page.fails("clearConversation", json!({ "sessionId": "anns" })).0, Code::PermissionDenied);
    page.by = nobody_there();
    assert_eq!(page.fails("sessions.list", json!({})).0, Code::OperatorRequired);
    page.by = By::Here;
    assert_eq!(
        page.fails("sessions.rename", json!({ "id": "bobs", "displayName": "mine" })).0,
        Code::PermissionDenied
    );
    assert_eq!(page.status("bobs")["operator_subject"], "bob");
    // Also where the session has to be read first.
    let mut page = page.crash("ann");
    page.start();
    page.by = there(json!({ "subject": "bob" }));
    page.prompt("bobs", "hello");
    page.by = By::Here;
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "bobs", "text": "?" })).0, Code::PermissionDenied);
    let begun = page
        .recorded("bobs", "event")
        .into_iter()
        .find(|event| event["event_type"] == "prompt_received")
        .unwrap();
    assert_eq!(begun["operator_subject"], "bob");
}

fn nobody_there() -> By {
    Harness::by_another(&Value::Null).unwrap()
}

#[test]
fn a_lost_number_of_the_last_start_takes_none_back() {
    let mut page = Desk::started("ann");
    for _ in 0..3 {
        page.must("stopAgent", json!({}));
        page.start();
    }
    for lost in [&["epoch"][..], &["epoch", "tasks"]] {
        let mut dead = page.crash("ann");
        let write = |key: &&str| Write::DeletePrefix { table: Table::Meta, prefix: vec![(*key).into()] };
        let writes = lost.iter().map(write).collect();
        dead.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
        dead.start();
        dead.must("sendMessage", json!({ "text": "three" }));
        // Its page dies, and another goes on with what it has left.
        let mut next = dead.crash("ann");
        let after: u64 = next.stored(Table::Meta, "epoch")[0].parse().unwrap();
        next.must("standIn", json!({ "config": config(), "after": after }));
        page = next;
    }
}

#[test]
fn an_account_that_cannot_be_opened_stops_only_who_gives_something_to_it() {
    let mut page = Desk::of("ann");
    page.account_fails = true;
    page.start();
    let told = |page: &Desk| {
        page.events.iter().filter(|(_, detail)| detail["code"] == "storage_unavailable").count()
    };
    assert_eq!(told(&page), 1);
    page.must("sendMessage", json!({ "text": "hello" }));
    let mut page = page.crash("ann");
    page.account_fails = true;
    let mut gives = config();
    gives["skills"] =
        json!([{ "name": "greet", "description": "Greets.", "template": "Hello.", "scope": "account" }]);
    assert_eq!(page.fails("startAgent", gives).0, Code::StorageUnavailable);
}
