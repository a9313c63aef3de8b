//! What is whole of a damaged session is shown, and kept when it is salvaged: each word of each row.

use super::damage::{LOST, LOST_ANSWER, disk, is_gap, list, open, part};
use crate::support::desk::Desk;
use crate::support::parts::quick;
use lodger::error::Code;
use lodger::harness::Input;
use lodger::model::{Delta, DeltaKind, Usage};
use lodger::ports::{MemoryStore, Table};
use serde_json::{Value, json};

/// A piece of the answer comes, and is drafted.
pub fn streams(page: &mut Desk, text: &str) {
    let call = page.models[0];
    assert!(page.harness.delta(call, Delta { part: 0, kind: DeltaKind::Text, text }));
    page.now += 5_000;
    page.harness.flush(page.now, call, Usage::default());
    page.handle(Input::Tick { online: true });
}

/// A page that has done a little of everything in `id`, and goes away in the middle of an answer.
fn busy(id: &str) -> (MemoryStore, u64) {
    let mut page = Desk::started("ann");
    if id != "default" {
        page.launch(id);
    }
    let tool = json!({
        "name": "dig", "description": "It digs.", "inputSchema": { "type": "object" }, "execute": { "$fn": 71 },
    });
    page.must("tools.register", tool);
    let say = |page: &mut Desk, text: &str, when: &str| {
        page.must("sendMessage", json!({ "sessionId": id, "text": text, "whenBusy": when }));
    };
    say(&mut page, "dig a hole", "queue");
    page.wants("dig");
    say(&mut page, "a deep hole", "steer");
    page.returns(0);
    page.says("It is deep.");
    say(&mut page, "plant a tree", "queue");
    say(&mut page, "water the tree", "queue");
    page.says("It is planted.");
    page.says("It is watered.");
    say(&mut page, "cut the hedge", "queue");
    streams(&mut page, "The hedge is");
    page.must("interrupt", json!({ "sessionId": id }));
    say(&mut page, "mow the lawn", "queue");
    page.breaks(Code::Refused);
    page.must("resume", json!({ "sessionId": id }));
    page.says("It is mown.");
    say(&mut page, "feed the fish", "queue");
    page.says("They are fed.");
    page.must("regenerate", json!({ "sessionId": id }));
    page.says("They are full.");
    say(&mut page, "open the gate", "queue");
    page.says("It is open.");
    let history = list(page.must("history", json!({ "sessionId": id })));
    let last = history.iter().rev().find(|one| one["role"] == "user").unwrap()["id"].clone();
    page.must("sendMessage", json!({ "sessionId": id, "text": "close the gate", "replaces": last }));
    page.says("It is closed.");
    say(&mut page, "sweep the path", "queue");
    streams(&mut page, "The path is half");
    page.rows(id);
    assert!(!page.stored(Table::Drafts, id).is_empty());
    (page.store, page.now)
}

/// The texts that a person and a model have said, in messages.
fn texts(messages: &[Value]) -> Vec<String> {
    let parts = messages.iter().filter(|one| !is_gap(one)).flat_map(|one| one["parts"].as_array().unwrap());
    parts.filter_map(|part| Some(part["text"].as_str()?.to_owned())).collect()
}

/// What is said in whole rows of a journal.
fn in_rows(journal: &[Value]) -> String {
    let says = |one: &&Value| {
        ["prompt", "queued", "answered", "failed", "interrupted", "lost"]
            .iter()
            .any(|kind| one["type"] == *kind)
    };
    journal.iter().filter(says).map(Value::to_string).collect()
}

/// What a session shows that nobody has harmed.
fn shown(disk: &(MemoryStore, u64), id: &str) -> Vec<String> {
    let mut page = Desk::on(disk.0.clone(), disk.1 + 1_000, "ann");
    texts(&list(page.must("history", json!({ "sessionId": id }))))
}

/// What a whole session shows (`said`), of which these rows have the words, is shown and salvaged; nothing else is, and
/// nothing is shown twice. Where the row is lost that has chosen a version, another may be shown.
fn judge(mut page: Desk, id: &str, said: &[String], why: &str) {
    let journal = list(page.must("sessions.journal", json!({ "id": id })));
    let rows = in_rows(&journal);
    let is_chosen = id != "switched" || journal.iter().any(|one| one["type"] == "switched");
    let drafts = page.stored(Table::Drafts, id).concat();
    let is_stored = |text: &&String| {
        let text = json!(text).to_string();
        rows.contains(&text) || drafts.contains(&text)
    };
    let whole: Vec<&String> = said.iter().filter(|text| is_chosen && is_stored(text)).collect();
    let told = list(page.must("history", json!({ "sessionId": id })));
    let ids: Vec<&Value> = told.iter().map(|message| &message["id"]).collect();
    assert!(ids.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1), "{why}: {told:?}");
    let told = texts(&told);
    assert!(whole.iter().all(|text| told.contains(text)), "{why}: {whole:?} {told:?}");
    let many = |texts: &[String], text: &String| texts.iter().filter(|other| *other == text).count();
    assert!(said.iter().all(|text| many(&told, text) <= many(said, text)), "{why}: {told:?}");
    let is_own = |text: &&String| ![LOST, LOST_ANSWER].contains(&text.as_str());
    if let Err(error) = page.ask("sessions.salvage", json!({ "id": id, "replace": true })) {
        // A row was in the place of another, and all can be read.
        assert_eq!(error.code, Code::InvalidArguments, "{why}: {error:?}");
        return;
    }
    page.holds(id);
    let kept = texts(&list(page.must("history", json!({ "sessionId": id }))));
    assert!(told.iter().filter(is_own).all(|text| kept.contains(text)), "{why}: {told:?} {kept:?}");
    let is_known = |text: &String| is_stored(&text) || [LOST, LOST_ANSWER, "Go on."].contains(&text.as_str());
    assert!(kept.iter().all(is_known), "{why}: {kept:?}");
}

fn judge_each(disk: &(MemoryStore, u64), ids: &[&str], way: (usize, usize)) {
    let all: Vec<(&str, Vec<String>)> = ids.iter().map(|id| (*id, shown(disk, id))).collect();
    part(disk, ids, way, |page, id, at, kind| {
        let (_, said) = all.iter().find(|(other, _)| *other == id).unwrap();
        judge(page, id, said, &format!("{kind} of {id} {at}"));
    });
}

#[test]
fn each_word_of_a_whole_row_is_shown_and_salvaged() {
    judge_each(&disk(), &["default", "idle", "lost", "queued"], (0, 1));
    judge_each(&open(), &["default"], (0, 1));
}

#[test]
fn so_it_is_after_a_little_of_everything() {
    let of = if quick() { 5 } else { 1 };
    judge_each(&busy("default"), &["default"], (0, of));
}

#[test]
fn so_it_is_where_only_the_head_is_damaged() {
    for id in ["default", "a"] {
        for head in ["", "{}"] {
            let disk = busy(id);
            let mut page = Desk::on(disk.0.clone(), disk.1 + 1_000, "ann");
            page.edits(Table::Heads, id, |_, _| Some(head.into()));
            judge(page, id, &shown(&disk, id), &format!("{head:?} of {id}"));
        }
    }
}

/// A session with versions of which an older one is shown, and another from which messages were removed.
fn turned() -> (MemoryStore, u64) {
    let mut page = Desk::started("ann");
    let say = |page: &mut Desk, id: &str, text: &str| {
        page.must("sendMessage", json!({ "sessionId": id, "text": text }));
        page.says(&format!("answer {text}"));
    };
    let message = |page: &mut Desk, id: &str, text: &str| {
        let history = list(page.must("history", json!({ "sessionId": id })));
        history.iter().find(|one| one["parts"][0]["text"] == text).unwrap()["id"].clone()
    };
    for id in ["switched", "removed", "both"] {
        page.launch(id);
        for text in ["one", "two", "three", "four"] {
            say(&mut page, id, text);
        }
        let two = message(&mut page, id, "two");
        if id != "removed" {
            page.must("sendMessage", json!({ "sessionId": id, "text": "another two", "replaces": two }));
            page.says("answer another two");
            page.must("regenerate", json!({ "sessionId": id }));
            page.says("a better answer");
            say(&mut page, id, "other words");
            page.must("switchTo", json!({ "sessionId": id, "messageId": two }));
        }
        say(&mut page, id, "five");
        if id != "switched" {
            for text in ["three", "one"] {
                let removed = message(&mut page, id, text);
                page.must("removeMessage", json!({ "sessionId": id, "messageId": removed }));
                say(&mut page, id, &format!("not {text}"));
            }
        }
        page.rows(id);
    }
    (page.store, page.now)
}

#[test]
fn so_it_is_where_a_version_was_switched_to_or_a_message_removed() {
    let disk = turned();
    let of = if quick() { 3 } else { 1 };
    for id in ["switched", "removed", "both"] {
        assert!(shown(&disk, id).contains(&"answer five".into()));
        judge_each(&disk, &[id], (0, of));
    }
}
