//! The table of commands: what is written from it, and that the gate keeps to it.

use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::harness::By;
use lodger::protocol::{Command, Need, Source, Subject, written};
use lodger::session::operator::Operator;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// Arguments with which each command reaches what it is about: the session `docs`, its run, a message that waits there.
fn samples(run: &str, message: &str) -> Vec<(&'static str, Value)> {
    let provider = json!({ "kind": "custom", "model": "m", "stream": { "$fn": 9 } });
    let tool = json!({ "name": "other", "description": "d", "inputSchema": "{\"type\":\"object\"}" });
    let page = || json!({ "slug": "s" });
    let id = || json!({ "id": "docs" });
    vec![
        ("startAgent", json!({})),
        ("configureAgent", json!({})),
        ("standIn", json!({})),
        ("letGo", json!({ "epoch": 9 })),
        ("stopAgent", json!({})),
        ("sendMessage", json!({ "text": "Hello.", "sessionId": "docs" })),
        ("regenerate", json!({ "sessionId": "docs" })),
        ("compact", json!({ "sessionId": "docs" })),
        ("result", json!({ "runId": run })),
        ("interrupt", json!({ "sessionId": "docs" })),
        ("resume", json!({ "sessionId": "docs" })),
        ("history", json!({ "sessionId": "docs" })),
        ("clearConversation", json!({ "sessionId": "docs" })),
        ("watch", json!({ "sessionId": "docs" })),
        ("file", json!({ "fileId": "f" })),
        ("wait", json!({ "runId": run })),
        ("queue.edit", json!({ "id": message, "text": "Other." })),
        ("queue.remove", json!({ "id": message })),
        ("queue.release", json!({ "sessionId": "docs" })),
        ("resolvePermission", json!({ "requestId": "r", "answer": "deny" })),
        ("tools.register", tool),
        ("tools.unregister", json!({ "name": "other" })),
        ("tools.execute", json!({ "name": "other" })),
        ("tools.resolve", json!({ "toolCallId": "c", "answer": { "result": 1 } })),
        ("tools.grants", json!({})),
        ("tools.revoke", json!({ "tool": "t", "sessionId": "docs" })),
        ("pages.create", json!({ "title": "T" })),
        ("pages.read", page()),
        ("pages.tree", json!({})),
        ("pages.search", json!({ "query": "q" })),
        ("pages.update", page()),
        ("pages.rename", json!({ "slug": "s", "title": "t" })),
        ("pages.move", json!({ "slug": "s", "parentSlug": null })),
        ("pages.delete", page()),
        ("pages.trash", json!({})),
        ("memory.list", json!({})),
        ("memory.search", json!({ "query": "q" })),
        ("memory.add", json!({ "text": "A fact." })),
        ("memory.update", json!({ "id": "mem_1", "text": "Another." })),
        ("memory.remove", json!({ "id": "mem_1" })),
        ("pages.restore", page()),
        ("pages.backlinks", page()),
        ("pages.outgoingLinks", page()),
        ("pages.versions", page()),
        ("setOperator", json!({ "operator": null })),
        ("sessions.launch", json!({ "id": "other" })),
        ("sessions.prompt", json!({ "id": "docs", "text": "Hello." })),
        ("sessions.status", id()),
        ("sessions.stop", id()),
        ("sessions.restart", id()),
        ("sessions.recover", json!({ "id": "docs", "action": "reconnect" })),
        ("switchTo", json!({ "messageId": "m" })),
        ("removeMessage", json!({ "messageId": "m" })),
        ("sessions.list", json!({})),
        ("activeRuns", json!({})),
        ("sessions.rename", json!({ "id": "docs", "displayName": "New" })),
        ("sessions.configure", json!({ "id": "docs", "config": { "model": "m" } })),
        ("sessions.remove", id()),
        ("sessions.undoRemove", id()),
        ("sessions.archive", id()),
        ("sessions.journal", id()),
        ("sessions.events", id()),
        ("sessions.receipts", id()),
        ("sessions.handoffs", id()),
        ("sessions.task", json!({ "id": run })),
        ("sessions.left", json!({ "id": run })),
        ("sessions.runOnce", json!({ "text": "Hello." })),
        ("sessions.export", id()),
        ("sessions.import", json!({ "step": "begin" })),
        ("sessions.replay", json!({ "step": "begin" })),
        ("sessions.admit", json!({})),
        ("sessions.bench", id()),
        ("sessions.play", id()),
        ("sessions.activity", id()),
        ("sessions.output", id()),
        ("sessions.attach", json!({ "id": "docs", "on": true })),
        ("sessions.fork", id()),
        ("sessions.salvage", id()),
        ("sessions.verify", id()),
        ("keys.set", json!({ "provider": "xai", "key": "sk-1234567890" })),
        ("keys.remove", json!({ "provider": "xai" })),
        ("keys.look", json!({ "provider": "xai" })),
        ("keys.list", json!({})),
        ("keys.validate", json!({ "provider": provider })),
        ("keys.models", json!({ "provider": provider })),
        ("settings", json!({})),
        ("storage", json!({})),
        ("acknowledgeLoss", json!({})),
        ("persist", json!({})),
        ("draft", json!({})),
        ("close", json!({})),
    ]
}

/// A page where `docs` works on a run of ann's, and a message waits there; that run, that message.
fn at_work() -> (Desk, String, String) {
    let mut desk = Desk::started("ann");
    desk.launch("docs");
    let run = desk.prompt("docs", "Begin.")["runId"].as_str().unwrap().to_owned();
    desk.must("sendMessage", json!({ "text": "And then?", "sessionId": "docs", "whenBusy": "queue" }));
    let queue = desk.harness.session("docs").unwrap().queue();
    let message = queue[0].message().to_owned();
    (desk, run, message)
}

/// What each command is answered if it is given so.
fn answers(prepare: impl Fn(&mut Desk)) -> Vec<(Command, Option<Code>)> {
    let (_, run, message) = at_work();
    let samples = samples(&run, &message);
    let answer = |command: &Command| {
        let name = command.row().name;
        let (_, args) = samples.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("{name}"));
        let (mut desk, again, _) = at_work();
        assert_eq!(again, run, "each is the same");
        prepare(&mut desk);
        let id = desk.command(name, args.clone());
        (*command, desk.answers.get(&id).and_then(|answer| answer.as_ref().err()).map(|error| error.code))
    };
    Command::ALL.iter().map(answer).collect()
}

#[test]
fn what_reaches_a_session_says_by_which_need() {
    for command in Command::ALL {
        let row = command.row();
        assert_eq!(Command::named(row.name), Some(*command), "a name is one command's");
        let of_session = matches!(row.need, Need::Read | Need::Write | Need::Work | Need::Recover);
        // What arrives is no session yet.
        assert_eq!(
            of_session && *command != Command::SessionsAdmit,
            row.subject != Subject::None,
            "{}",
            row.name
        );
        assert!(row.source == Source::Fold || row.subject != Subject::None, "{}", row.name);
    }
}

#[test]
fn nobody_reaches_a_session_who_is_no_operator() {
    for nobody in [By::There(None), By::There(Some(operator("ann", Some(1))))] {
        for (command, code) in answers(|desk| desk.by = nobody.clone()) {
            let row = command.row();
            let reaches = row.subject != Subject::None || row.need != Need::Nothing;
            assert_eq!(code == Some(Code::OperatorRequired), reaches, "{}: {code:?}", row.name);
        }
    }
}

#[test]
fn another_operator_reads_a_session_and_changes_nothing() {
    let answers = answers(|desk| desk.by = By::There(Some(operator("bob", None))));
    for (command, code) in answers {
        let row = command.row();
        let changes = row.subject != Subject::None && row.need != Need::Read;
        assert_eq!(code == Some(Code::PermissionDenied), changes, "{}: {code:?}", row.name);
    }
}

#[test]
fn what_needs_an_agent_is_refused_without_one() {
    for (command, code) in answers(|desk| _ = desk.must("stopAgent", json!({}))) {
        let row = command.row();
        if row.runs {
            assert_eq!(code, Some(Code::NotRunning), "{}", row.name);
        }
    }
}

/// A command of the table that no arm takes is answered as if its session were unknown.
#[test]
fn each_command_is_carried_out() {
    for (command, code) in answers(|_| {}) {
        assert_ne!(code, Some(Code::SessionNotFound), "{}", command.row().name);
    }
}

fn operator(subject: &str, expires_at: Option<u64>) -> Operator {
    Operator { subject: subject.into(), issuer: None, expires_at }
}

#[test]
fn what_interrupts_is_what_names_no_run_and_is_not_refused() {
    let interrupts = |name: &str, args: Value| {
        lodger::protocol::read(name, args).is_ok_and(|request| request.interrupts())
    };
    for name in ["interrupt", "stopAgent", "clearConversation", "close"] {
        assert!(interrupts(name, json!({})) && interrupts(name, Value::Null), "{name}");
        assert!(!interrupts(name, json!({ "sesionId": "default" })), "{name}");
    }
    assert!(interrupts("interrupt", json!({ "sessionId": "default", "runId": null })));
    assert!(!interrupts("interrupt", json!({ "runId": "run_1" })));
    assert!(!interrupts("interrupt", json!({ "command": 1 })));
    assert!(!interrupts("sendMessage", json!({ "text": "Hello." })));
}

// ------------------------------------------------------------------ what is written from the table

/// Compares a file with what it should be, or writes it.
fn is_written(file: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("LODGER_WRITE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let write = "`LODGER_WRITE=1 cargo test --test host protocol` writes it anew";
    assert!(found == text, "{file} is not what src/protocol/table.rs says: {write}");
}

#[test]
fn files_are_what_the_table_says() {
    let read = |file: &str| fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    is_written("js/protocol/commands.js", &written::module());
    // What it names is declared in one of these.
    let known = read("js/index.d.ts") + &read("js/shapes.d.ts");
    is_written("js/commands.d.ts", &written::types(&known));
    let [begin, end] = ["<!-- commands -->\n", "<!-- /commands -->"];
    let protocol = read("js/PROTOCOL.md");
    let (before, rest) = protocol.split_once(begin).expect("js/PROTOCOL.md has no mark for the table");
    let (_, after) = rest.split_once(end).expect("the table in js/PROTOCOL.md has no end");
    is_written("js/PROTOCOL.md", &[before, begin, &written::table(), end, after].concat());
}
