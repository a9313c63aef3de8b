//! What somebody has changed in the database, row by row, is seen, and believed by nothing.

use crate::support::desk::Desk;
use crate::support::rows;
use lodger::error::Code;
use lodger::harness::Input;
use lodger::journal::Row;
use lodger::ports::{Commit, Key, Part, Read, Table, Write};
use serde_json::{Value, json};

fn worked() -> Desk {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.prompt("a", "hello");
    page.says("there");
    page
}

#[test]
fn status_surfaces_a_tampered_session() {
    for running in [false, true] {
        let mut page = worked();
        assert_eq!(page.integrity("a"), "verified");
        page.tampers(
            Table::Heads,
            "a",
            "\"provider_id\":\"custom\"",
            "\"provider_id\":\"provider_tampered\"",
        );
        if !running {
            page = page.crash("ann");
        }
        let status = page.must("sessions.status", json!({ "id": "a" }));
        assert_eq!(status["hmac_status"], "tampered");
        if !running {
            assert_eq!(status["session"]["provider_id"], "provider_tampered", "shown as it is stored");
            let invalid = "stored agent session state has invalid HMAC: a".to_owned();
            let rename = json!({ "id": "a", "displayName": "b" });
            assert_eq!(page.fails("sessions.rename", rename), (Code::Corrupt, invalid.clone()));
            let list = page.must("sessions.list", json!({}));
            let damaged = |one: &&Value| one["damaged"]["why"].is_string();
            let damaged: Vec<&Value> = list.as_array().unwrap().iter().filter(damaged).collect();
            assert_eq!(damaged.iter().map(|one| &one["id"]).collect::<Vec<_>>(), ["a"], "{list}");
            page.start();
            let prompt = json!({ "id": "a", "text": "hi" });
            assert_eq!(page.fails("sessions.prompt", prompt), (Code::Corrupt, invalid));
        }
        let listed = page.must("sessions.list", json!({ "withVerification": true }));
        let of = |id: &str| listed.as_array().unwrap().iter().find(|one| one["session"]["id"] == id).cloned();
        assert_eq!(of("a").unwrap()["hmac_status"], "tampered");
        assert_eq!(of("default").unwrap()["hmac_status"], "verified");
    }
}

#[test]
fn what_was_written_since_it_was_read_is_not_tampered_with() {
    let mut page = worked();
    page.prompt("a", "more");
    page.late = Some(Vec::new());
    let status = page.command("sessions.status", json!({ "id": "a" }));
    let list = page.command("sessions.list", json!({ "withVerification": true }));
    page.now += 10;
    page.says("and more");
    page.comes();
    assert_eq!(page.answers[&status].as_ref().unwrap()["hmac_status"], "verified");
    for one in page.answers[&list].as_ref().unwrap().as_array().unwrap() {
        assert_eq!(one["hmac_status"], "verified");
    }
    page.must("sessions.list", json!({}));
}

#[test]
fn rows_that_were_changed_are_seen() {
    // Content, order of time, a hash; each is a row that the chain does not hold.
    for (from, to) in [("hello", "jello"), ("\"at\":17794305", "\"at\":17794304"), ("there", "where")] {
        let mut page = worked();
        page.tampers(Table::Entries, "a", from, to);
        let mut page = page.crash("ann");
        assert_eq!(page.integrity("a"), "tampered", "{from}");
        let told = page.must("history", json!({ "sessionId": "a" })).to_string();
        assert!(told.contains("\"damaged\"") && !told.contains(to), "{from}: {told}");
    }
    // The tail is gone, and the head with it is of before.
    let mut page = worked();
    let rows = page.rows("a").len() as u64;
    let prefix = vec!["a".into(), rows.into()];
    let cut = Write::DeletePrefix { table: Table::Entries, prefix };
    page.store.commit(&Commit { writes: vec![cut], ..Commit::default() }).unwrap();
    let mut page = page.crash("ann");
    assert_eq!(page.integrity("a"), "tampered");
}

#[test]
fn an_event_that_was_changed_is_not_told() {
    // One that is whole, and those in short: of a prompt, and of the end of a run. A row's run stands in its header.
    for (at, from, to) in [
        (0, "\"event_type\":\"launched\"", "\"event_type\":\"lunched\""),
        (1, "\"provider\":\"custom\"", "\"provider\":\"another\""),
        (2, "\"turns\":1", "\"turns\":2"),
        (2, "\"run\":\"run_", "\"run\":\"another_"),
    ] {
        let mut page = worked();
        let event = page.recorded("a", "event")[at].clone();
        let told = page.must("sessions.events", json!({ "id": "a" }));
        assert!(told[at]["receipt_hmac"].is_string());
        let seq = told[at]["seq"].clone();
        page.rows("a");
        page.edits(Table::Entries, "a", |key, text| {
            let here = key.get(1) == seq.as_u64().map(Part::Number).as_ref();
            here.then(|| {
                assert!(text.contains(from), "{from} in {text}");
                text.replacen(from, to, 1)
            })
        });
        let invalid =
            format!("stored agent session event has invalid HMAC: {}", event["id"].as_str().unwrap());
        assert_eq!(page.fails("sessions.events", json!({ "id": "a" })), (Code::Corrupt, invalid), "{to}");
    }
}

/// The session is from before this key signed: each of its signatures is another, or there is none.
fn before_signing(page: &mut Desk, id: &str, other: fn(&str) -> Option<String>) {
    page.rows(id);
    let edit = |text: &str, at: usize| {
        let mut lines: Vec<String> = text.lines().map(Into::into).collect();
        let signature = lines.drain(at..).next()?;
        lines.extend(other(&signature));
        Some(lines.join("\n"))
    };
    page.edits(Table::Heads, id, |_, text| edit(text, 1));
    page.edits(Table::Entries, id, |_, text| (text.lines().count() == 5).then(|| edit(text, 4))?);
    page.strict = false;
}

#[test]
fn rows_without_signatures_stay_readable() {
    let mut page = worked();
    before_signing(&mut page, "a", |_| None);
    let mut page = page.crash("ann");
    assert_eq!(page.integrity("a"), "unverified");
    assert_eq!(page.must("history", json!({ "sessionId": "a" })).as_array().unwrap().len(), 2);
    // What signs is gone: nothing can be said.
    let mut page = worked().crash("ann");
    page.signs = false;
    assert_eq!(page.integrity("a"), "unverifiable");
}

/// What our key has signed is told of as it is written, everything else is read first.
#[test]
fn a_list_tells_the_same_of_a_session_with_its_signature_and_without() {
    let mut page = worked();
    for id in ["asked", "benched", "archived", "stopped", "failed", "waits", "removed"] {
        page.launch(id);
        page.prompt(id, "hello");
        match id {
            "asked" | "waits" => {}
            "failed" => page.breaks(Code::Server),
            _ => page.says("\"there\", she said: \u{1f600} \\ \n"),
        }
    }
    page.must("sessions.launch", json!({ "id": "named", "displayName": "Docs 2" }));
    page.must("sessions.bench", json!({ "id": "benched" }));
    page.must("sessions.archive", json!({ "id": "archived" }));
    page.must("sessions.stop", json!({ "id": "stopped" }));
    page.must("sessions.remove", json!({ "id": "removed" }));
    let (disk, now) = (page.store.clone(), page.now + 1_000_000);
    let list = |signs: bool, verdicts: bool| {
        let mut page = Desk::on(disk.clone(), now, "ann");
        page.signs = signs;
        let list = page.must("sessions.list", json!({ "withVerification": verdicts }));
        let of = |one: &Value| {
            if !verdicts {
                return one.clone();
            }
            let verdict = if signs { "verified" } else { "unverifiable" };
            assert_eq!((&one["hmac_status"], one.as_object().unwrap().len()), (&json!(verdict), 2), "{one}");
            one["session"].clone()
        };
        list.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let told = list(true, false);
    let ids: Vec<&str> = told.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["waits", "stopped", "benched", "named", "failed", "archived", "asked", "a", "default"]);
    assert!(list(true, true) == told && list(false, true) == told && list(false, false) == told);
    let mut page = Desk::on(disk.clone(), now, "ann");
    for one in &told {
        let status = page.must("sessions.status", json!({ "id": one["id"] }));
        assert_eq!((&status["session"], &status["hmac_status"]), (one, &json!("verified")));
    }
}

#[test]
fn another_sessions_rows_are_not_believed_in_its_place() {
    let mut page = worked();
    page.launch("b");
    page.prompt("b", "mine");
    page.says("yes");
    page.must("stopAgent", json!({}));
    // Everything of one session is put in the place of the other.
    let (mut writes, id) = (Vec::new(), "a");
    for table in [Table::Entries, Table::Heads] {
        writes.push(Write::DeletePrefix { table, prefix: vec![id.into()] });
        for (mut key, value) in page.store.read(&Read::all(table, vec!["b".into()])) {
            key[0] = id.into();
            writes.push(Write::Put { table, key, value });
        }
    }
    page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    let mut page = page.crash("ann");
    let status = page.must("sessions.status", json!({ "id": id }));
    assert_eq!(status["hmac_status"], "tampered");
    assert_eq!(page.fails("history", json!({ "sessionId": id })).0, Code::Corrupt);
    let listed = page.must("sessions.list", json!({ "withVerification": true }));
    let tampered = |one: &&Value| one["hmac_status"] == "tampered";
    assert_eq!(listed.as_array().unwrap().iter().filter(tampered).count(), 1, "{listed}");
}

#[test]
fn the_record_is_not_told_from_rows_that_do_not_follow_each_other() {
    for (what, other) in [
        ("\"what\":\"prompt\"", "\"what\":\"end\""),
        ("\"answers\":1", "\"answers\":0"),
        ("\"turns\":1", "\"turns\":2"),
        ("\"event_type\":\"launched\"", "\"event_type\":\"forgiven\""),
    ] {
        let mut page = worked();
        page.must("stopAgent", json!({}));
        let rows = page.store.read(&Read::all(Table::Entries, vec!["a".into()]));
        let (key, row) = rows.into_iter().find(|(_, row)| row.contains(what)).unwrap();
        let Some(Part::Number(seq)) = key.get(1).cloned() else { panic!("no number") };
        // Without the signature, which would give it away.
        let lines: Vec<&str> = row.lines().take(4).collect();
        let value = lines.join("\n").replace(what, other);
        let writes = vec![Write::Put { table: Table::Entries, key, value }];
        page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
        let mut page = page.crash("ann");
        for name in ["sessions.events", "sessions.receipts", "sessions.handoffs"] {
            assert_eq!(page.fails(name, json!({ "id": "a" })).0, Code::Corrupt, "{name} after {what}");
        }
        let told = page.must("sessions.journal", json!({ "id": "a" }));
        let gaps = told.as_array().unwrap().iter().filter(|event| event["seq"] == seq);
        assert_eq!(gaps.map(|gap| &gap["type"]).collect::<Vec<_>>(), ["damaged"], "{what}");
        is_seen(&mut page, "sessions.export", json!({ "id": "a" }), what);
    }
}

#[test]
fn what_was_not_verified_when_it_was_taken_never_is() {
    // The signatures are cut off; or they are of a key that is gone, while another signs from here on.
    for integrity in ["unverified", "unverifiable"] {
        let mut page = worked();
        match integrity {
            "unverified" => before_signing(&mut page, "a", |_| None),
            _ => before_signing(&mut page, "a", |signature| Some(format!("{signature} gone"))),
        }
        let mut page = page.crash("ann");
        assert_eq!(page.integrity("a"), integrity);
        // A write of an agent, and one without; then again.
        page.must("sessions.rename", json!({ "id": "a", "displayName": "Mine" }));
        assert_eq!(page.integrity("a"), integrity);
        page.start();
        page.prompt("a", "more");
        page.says("yes");
        assert_eq!(page.integrity("a"), integrity);
        let mut page = page.crash("ann");
        page.start();
        page.prompt("a", "and more");
        page.says("yes");
        page.must("stopAgent", json!({}));
        let mut page = page.crash("ann");
        assert_eq!(page.integrity("a"), integrity);
        let found = format!("\"integrity\":\"{integrity}\"");
        let found = page.rows("a").iter().filter(|row| row.contains(&found)).count();
        assert_eq!(found, 1, "it is on record, once");
        page.holds("a");
        // A session that begins then is what it is.
        page.start();
        page.launch("b");
        page.must("stopAgent", json!({}));
        let mut page = page.crash("ann");
        assert_eq!(page.integrity("b"), "verified");
    }
}

#[test]
fn a_copy_is_no_better_than_what_it_is_a_copy_of() {
    for running in [false, true] {
        let mut page = worked();
        let last = page.rows("a").len() as u64;
        // The signatures are cut off; so are those of a whole database that somebody has made.
        before_signing(&mut page, "a", |_| None);
        let mut page = page.crash("ann");
        if running {
            page.start();
            page.prompt("a", "more");
            page.says("yes");
            assert!(page.rows("a").len() as u64 > last);
        }
        // At an entry of before anybody has looked, too; and a copy of the copy.
        for (of, at) in [("a", last), ("a", 4), ("a-2", 4), ("a-3", 4)] {
            let copy = page.must("sessions.fork", json!({ "id": of, "at": at }));
            let id = copy["id"].as_str().unwrap();
            assert_eq!(page.integrity(id), "unverified", "{id} of {of} at {at}, {running}");
            page.holds(id);
            page.must("sessions.events", json!({ "id": id }));
        }
    }
}

#[test]
fn what_was_blanked_is_no_clearing() {
    let erase = |_: &Key, text: &str| {
        text.contains("hello").then(|| Row::from_text(text).unwrap().erased().to_text())
    };
    let mut page = worked();
    page.rows("a");
    page.edits(Table::Entries, "a", erase);
    let mut page = page.crash("ann");
    assert_eq!(page.integrity("a"), "tampered");
    let listed = page.must("sessions.list", json!({ "withVerification": true }));
    let of = |one: &&Value| one["session"]["id"] == "a";
    assert_eq!(listed.as_array().unwrap().iter().find(of).unwrap()["hmac_status"], "tampered");
    let marks =
        |told: &Value| told.as_array().unwrap().iter().filter(|one| one["status"] == "damaged").count();
    for limit in [Value::Null, json!(2), json!(50)] {
        let told = page.must("history", json!({ "sessionId": "a", "limit": limit }));
        assert_eq!(marks(&told), 1);
    }
    // A page of one is the answer. The mark stands before it, on the next page.
    let last = page.must("history", json!({ "sessionId": "a", "limit": 1 }));
    let next = page.must("history", json!({ "sessionId": "a", "limit": 1, "before": last[0]["id"] }));
    assert_eq!((marks(&last), marks(&next)), (0, 1));
    page.start();
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "a", "text": "hi" })).0, Code::Corrupt);
    // A clearing erases too, and that is well; but not in a copy that ends before it.
    let mut page = worked();
    let before = page.rows("a").len();
    page.must("clearConversation", json!({ "sessionId": "a" }));
    page.rows("a");
    assert_eq!(page.integrity("a"), "verified");
    let (code, message) = page.fails("sessions.fork", json!({ "id": "a", "at": before }));
    assert_eq!(code, Code::InvalidArguments, "{message}");
    let fork = page.must("sessions.fork", json!({ "id": "a" }));
    assert_eq!(page.must("history", json!({ "sessionId": fork["id"] })), json!([]));
    let mut page = page.crash("ann");
    assert_eq!(page.integrity("a"), "verified");
    page.holds("a");
}

#[test]
fn rows_without_their_head_are_not_taken_for_nothing() {
    let mut page = worked();
    page.must("sendMessage", json!({ "text": "mine" }));
    page.says("yes");
    page.must("stopAgent", json!({}));
    for id in ["a", "default"] {
        page.edits(Table::Heads, id, |_, _| Some(String::new()));
    }
    let mut page = page.crash("ann");
    for id in ["a", "default"] {
        let told = page.must("history", json!({ "sessionId": id }));
        let last = told.as_array().unwrap().last().unwrap();
        assert_eq!((told.as_array().unwrap().len(), &last["status"]), (3, &json!("damaged")), "{id}");
    }
    page.start();
    let message = json!({ "text": "mine" });
    assert_eq!(page.fails("sendMessage", message).0, Code::Corrupt, "nothing begins anew on what is there");
    // None of its name begins in the place of the other, before it was removed.
    let mut page = worked();
    page.must("stopAgent", json!({}));
    page.edits(Table::Heads, "a", |_, _| Some(String::new()));
    let mut page = page.crash("ann");
    page.start();
    assert_eq!(page.fails("sessions.launch", json!({ "id": "a" })).0, Code::SessionExists);
    assert!(page.must("history", json!({ "sessionId": "a" })).as_array().unwrap().len() > 1);
    page.must("sessions.remove", json!({ "id": "a" }));
    page.now += 20_000;
    page.handle(Input::Tick { online: true });
    page.launch("a");
    page.prompt("a", "again");
    page.says("yes");
    page.holds("a");
    let mut page = page.crash("ann");
    assert_eq!(page.must("history", json!({ "sessionId": "a" })).as_array().unwrap().len(), 2);
    assert_eq!(page.integrity("a"), "verified");
}

#[test]
fn a_page_of_the_record_does_not_believe_what_was_changed() {
    let mut page = worked();
    page.must("stopAgent", json!({}));
    let last = page.stored(Table::Entries, "a").len() as u64;
    let (disk, now) = (page.store.clone(), page.now);
    let events = page.must("sessions.events", json!({ "id": "a" }));
    let of = |name: &str, from: u64, limit: u64| {
        (name.to_owned(), json!({ "id": "a", "from": from, "limit": limit }))
    };
    let export = |from: u64| {
        ("sessions.export".to_owned(), json!({ "id": "a", "from": from, "last": last, "hash": "" }))
    };
    let event = events[1]["seq"].as_u64().unwrap();
    type Edit<'a> = &'a dyn Fn(u64, &str) -> Option<String>;
    let cut: Edit<'_> = &|seq, _| (seq + 1 >= last).then(String::new);
    let changed: Edit<'_> = &|_, text| text.contains("there").then(|| forged(text, "there", "where"));
    let unsigned: Edit<'_> = &|seq, text| {
        let row = text.lines().take(4).collect::<Vec<_>>().join("\n");
        (seq == event).then(|| forged(&row, "\"operator\":\"ann\"", "\"operator\":\"eve\""))
    };
    let answer = page
        .stored(Table::Entries, "a")
        .iter()
        .position(|row| row.contains("there"))
        .map(|at| at as u64 + 1)
        .unwrap();
    let cases = [
        (
            cut,
            vec![
                of("sessions.journal", 1, 1_000),
                of("sessions.events", 1, 1_000),
                of("sessions.journal", last, 1),
                export(1),
            ],
        ),
        (changed, vec![of("sessions.journal", answer, 1), of("sessions.journal", 1, 1_000), export(answer)]),
        (
            unsigned,
            vec![
                of("sessions.events", event, 1),
                ("sessions.events".to_owned(), json!({ "id": "a", "from": event })),
            ],
        ),
    ];
    for (edit, commands) in cases {
        let mut page = Desk::on(disk.clone(), now, "ann");
        page.edits(Table::Entries, "a", |key, text| {
            let Some(Part::Number(seq)) = key.get(1) else { return None };
            edit(*seq, text)
        });
        for (name, args) in commands {
            is_seen(&mut page, &name, args.clone(), &args.to_string());
        }
    }
}

/// What was changed is told by nothing: what is on record is refused, a journal and a file have a gap in its place.
fn is_seen(page: &mut Desk, name: &str, args: Value, why: &str) {
    match (name, page.ask(name, args)) {
        ("sessions.journal", Ok(told)) => {
            let told = told.to_string();
            assert!(told.contains("\"damaged\"") && !told.contains("where"), "{name} {why}: {told}");
        }
        ("sessions.export", Ok(told)) => {
            let gap = |line: &str| line.starts_with("{\"damaged\"");
            assert!(told["lines"].as_str().unwrap().lines().any(gap), "{name} {why}: {told}");
        }
        (_, answer) => assert_eq!(answer.expect_err(name).code, Code::Corrupt, "{name} {why}"),
    }
}

/// The row with another text in it and the hash of that, but not its own.
fn forged(row: &str, from: &str, to: &str) -> String {
    let mut lines: Vec<String> = row.lines().map(Into::into).collect();
    assert!(lines[1].contains(from), "{from} in {row}");
    lines[1] = lines[1].replace(from, to);
    lines[2] = rows::hash(&lines[1]);
    lines.join("\n")
}

#[test]
fn what_an_agent_holds_is_held_against_what_is_stored() {
    let mut page = worked();
    let rows = page.rows("a").len() as u64;
    let (disk, prefix) = (page.store.clone(), vec!["a".into(), rows.into()]);
    let cut = Write::DeletePrefix { table: Table::Entries, prefix };
    page.store.commit(&Commit { writes: vec![cut], ..Commit::default() }).unwrap();
    assert_eq!(page.integrity("a"), "tampered");
    // What was found out is not forgotten until all of it is read again.
    page.store = disk;
    assert_eq!(page.integrity("a"), "tampered");
    let mut page = page.crash("ann");
    assert_eq!(page.integrity("a"), "verified");
    page.start();
    page.must("sessions.rename", json!({ "id": "a", "displayName": "b" }));
    page.tampers(Table::Heads, "a", "\"provider_id\":\"custom\"", "\"provider_id\":\"other\"");
    let status = page.must("sessions.status", json!({ "id": "a" }));
    assert_eq!(
        (&status["hmac_status"], &status["session"]["provider_id"]),
        (&json!("tampered"), &json!("other"))
    );
}

#[test]
fn what_was_changed_can_be_removed() {
    for running in [false, true] {
        let mut page = worked();
        page.must("stopAgent", json!({}));
        page.tampers(Table::Entries, "a", "hello", "jello");
        let mut page = page.crash("ann");
        if running {
            page.start();
        }
        assert_eq!(page.fails("sessions.rename", json!({ "id": "a", "displayName": "b" })).0, Code::Corrupt);
        page.must("sessions.remove", json!({ "id": "a" }));
        page.rows("a");
        for table in [Table::Entries, Table::Heads, Table::Drafts] {
            assert!(page.stored(table, "a").is_empty(), "{table:?}");
        }
        assert!(!page.stored(Table::Meta, "run").iter().any(|session| session == "a"));
        assert_eq!(page.fails("sessions.status", json!({ "id": "a" })).0, Code::SessionNotFound);
        page.must("sessions.list", json!({}));
        if !running {
            page.start();
        }
        page.launch("a");
        page.holds("a");
    }
}

#[test]
fn the_record_is_not_told_under_a_head_that_was_changed() {
    let mut page = worked();
    page.must("stopAgent", json!({}));
    page.tampers(Table::Heads, "a", "\"turns\":1", "\"turns\":2");
    let mut page = page.crash("ann");
    for name in ["sessions.events", "sessions.receipts", "sessions.handoffs"] {
        assert_eq!(page.fails(name, json!({ "id": "a" })).0, Code::Corrupt, "{name}");
    }
}

/// A page that finds a head of "a" which somebody has changed, with an agent or without one.
fn with_head(running: bool, edit: impl Fn(&str) -> String) -> Desk {
    let mut page = worked();
    page.must("stopAgent", json!({}));
    page.rows("a");
    page.edits(Table::Heads, "a", |_, text| Some(edit(text)));
    let mut page = page.crash("ann");
    if running {
        page.start();
    }
    page
}

fn listed(page: &mut Desk, id: &str) -> Value {
    let list = page.must("sessions.list", json!({ "withVerification": true }));
    list.as_array().unwrap().iter().find(|one| one["session"]["id"] == id).cloned().unwrap_or_default()
}

#[test]
fn a_changed_head_neither_hides_its_session_nor_has_it_erased() {
    for running in [false, true] {
        for says in ["\"removed\":1,", "\"once\":true,"] {
            let mut page = with_head(running, |text| text.replacen('{', &format!("{{{says}"), 1));
            assert_eq!(listed(&mut page, "a")["hmac_status"], "tampered", "{says} {running}");
            assert_eq!(page.integrity("a"), "tampered");
            let rows = page.stored(Table::Entries, "a").len();
            page.now += 60_000;
            page.handle(Input::Tick { online: true });
            page.handle(Input::Tick { online: true });
            assert_eq!(page.stored(Table::Entries, "a").len(), rows);
            let told = page.must("history", json!({ "sessionId": "a" }));
            assert_eq!(told.as_array().unwrap().last().unwrap()["status"], "damaged");
            page.must("sessions.remove", json!({ "id": "a" }));
            page.rows("a");
            assert!(page.stored(Table::Entries, "a").is_empty(), "{says} {running}");
            page.must("sessions.list", json!({}));
        }
    }
}

#[test]
fn a_session_whose_record_cannot_be_read_is_listed_and_can_be_removed() {
    let signatures =
        |text: &str| text.split_once('\n').map_or(String::new(), |(_, rest)| format!("\n{rest}"));
    let edits: [&dyn Fn(&str) -> String; 4] = [
        &|_| "rubbish".to_owned(),
        &|_| "{}".to_owned(),
        &|text| format!("{{\"seq\":13}}{}", signatures(text)),
        &|text| text.replacen("\"record\":{", "\"record\":{},\"was\":{", 1),
    ];
    for running in [false, true] {
        for edit in &edits {
            let mut page = with_head(running, edit);
            let one = listed(&mut page, "a");
            assert_eq!((&one["hmac_status"], &one["session"]["id"]), (&json!("tampered"), &json!("a")));
            assert!(one["session"]["updated_at"].is_string());
            assert_eq!(page.status("a")["id"], "a");
            let list = page.must("sessions.list", json!({}));
            let one = list.as_array().unwrap().iter().find(|one| one["id"] == "a").unwrap();
            assert_eq!(one["damaged"]["seq"], 0, "{list}");
            page.must("sessions.remove", json!({ "id": "a" }));
            page.must("sessions.list", json!({}));
        }
    }
    let mut page = with_head(false, |_| String::new());
    assert_eq!(page.fails("sessions.events", json!({ "id": "a" })).0, Code::Corrupt);
    assert_eq!(page.integrity("a"), "tampered");
}

/// One that somebody has removed is gone, also where its head says nothing of that any more.
#[test]
fn a_changed_head_does_not_bring_a_removed_session_back() {
    let mut page = worked();
    page.must("sessions.remove", json!({ "id": "a" }));
    page.rows("a");
    page.edits(Table::Heads, "a", |_, text| Some(text.replacen("\"removed\":", "\"was\":", 1)));
    let mut page = page.crash("ann");
    for name in ["sessions.journal", "sessions.export", "sessions.salvage"] {
        assert_eq!(page.fails(name, json!({ "id": "a" })).0, Code::SessionNotFound, "{name}");
    }
    assert_eq!(page.fails("history", json!({ "sessionId": "a" })).0, Code::SessionNotFound);
    page.must("sessions.remove", json!({ "id": "a" }));
    page.rows("a");
    assert!(page.stored(Table::Entries, "a").is_empty());
}

/// What is damaged while an agent has it at hand is named in a list, with where, however that was found.
#[test]
fn what_is_damaged_while_it_is_at_hand_is_listed_as_that() {
    for found in ["sessions.status", "sessions.verify", "sessions.list"] {
        for what in ["last row", "head", "no head", "row"] {
            let why = format!("{what} by {found}");
            let mut page = worked();
            let last = page.rows("a").len() as u64;
            let seq = match what {
                "last row" => last,
                "row" => 3,
                _ => 0,
            };
            let at = |number: u64| {
                move |key: &Key, text: &str| {
                    (key.get(1) == Some(&Part::Number(number))).then(|| text.replacen('1', "2", 1))
                }
            };
            match what {
                "head" => page.edits(Table::Heads, "a", |_, text| Some(text.replacen("custom", "other", 1))),
                "no head" => page.edits(Table::Heads, "a", |_, _| Some(String::new())),
                _ => page.edits(Table::Entries, "a", at(seq)),
            }
            // A list reads no rows, and a status the last of them.
            let sees = match found {
                "sessions.list" => seq == 0,
                "sessions.status" => what != "row",
                _ => true,
            };
            page.must(found, if found == "sessions.list" { json!({}) } else { json!({ "id": "a" }) });
            let one = listed(&mut page, "a");
            let verdict = if sees { "tampered" } else { "verified" };
            assert_eq!(one["hmac_status"], verdict, "{why}: {one}");
            let damaged = &one["session"]["damaged"];
            assert_eq!(damaged["seq"], if sees { json!(seq) } else { Value::Null }, "{why}: {damaged}");
            let status = page.must("sessions.status", json!({ "id": "a" }));
            assert!(status["session"]["damaged"].is_object() || !sees, "{why}: {status}");
            let plain = page.must("sessions.list", json!({}));
            let plain = plain.as_array().unwrap().iter().filter(|one| one["damaged"].is_object()).count();
            assert_eq!(plain, usize::from(sees || what == "last row"), "{why}");
            assert_eq!(listed(&mut page, "default")["session"]["damaged"], Value::Null);
            // By now each but a row before the last is found.
            let prompt = page.ask("sessions.prompt", json!({ "id": "a", "text": "more" }));
            match sees || what == "last row" {
                true => assert_eq!(prompt.unwrap_err().code, Code::Corrupt, "{why}"),
                false => drop(prompt.unwrap()),
            }
        }
    }
}

#[test]
fn rows_that_are_gone_are_missed_wherever_they_were() {
    for running in [false, true] {
        let mut page = worked();
        let last = page.rows("a").len() as u64;
        let reads = [
            ("sessions.events", json!({ "id": "a" })),
            ("sessions.receipts", json!({ "id": "a" })),
            ("sessions.journal", json!({ "id": "a", "from": 2, "limit": 5 })),
            ("sessions.export", json!({ "id": "a", "from": 1, "last": last, "hash": "" })),
        ];
        for (name, args) in reads {
            for gone in [1..=4, 3..=3, 5..=7, 1..=last] {
                let disk = page.store.clone();
                page.edits(Table::Entries, "a", |key, _| {
                    matches!(key.get(1), Some(Part::Number(seq)) if gone.contains(seq)).then(String::new)
                });
                let mut found = if running { page } else { page.crash("ann") };
                is_seen(&mut found, name, args.clone(), &format!("{gone:?}"));
                // It is not forgotten by who has seen it.
                assert_eq!(listed(&mut found, "a")["hmac_status"], "tampered", "{name} {gone:?}");
                page = Desk::on(disk, found.now, "ann");
                if running {
                    page.start();
                    page.must("sessions.rename", json!({ "id": "a", "displayName": "b" }));
                }
            }
        }
    }
}

#[test]
fn an_event_without_its_signature_is_seen_by_status_and_not_copied() {
    let events = ["\"what\":\"prompt\"", "\"what\":\"end\"", "\"event_type\":\"launched\""];
    // Or with one of which it is said that another key has made it: where ours has signed the head, it has signed all.
    for (what, by) in events.iter().flat_map(|what| [(what, None), (what, Some(" 0123abcd"))]) {
        let mut page = worked();
        page.must("stopAgent", json!({}));
        let last = page.rows("a").len();
        let found = std::cell::Cell::new(0);
        page.edits(Table::Entries, "a", |_, text| {
            let (rest, signature) = text.rsplit_once('\n').filter(|_| text.contains(what))?;
            assert_eq!(text.lines().count(), 5, "{what}: it has one signature");
            found.set(found.get() + 1);
            Some(by.map_or(rest.into(), |by| [rest, "\n", signature.split(' ').next().unwrap(), by].concat()))
        });
        assert!(found.get() > 0, "{what}");
        let mut page = page.crash("ann");
        assert_eq!(page.integrity("a"), "tampered", "{what} {by:?}");
        // It is called by its row, and nothing that is read after it forgets it.
        let place = page.must("sessions.verify", json!({ "id": "a" }))["damaged"]["seq"].clone();
        assert!(place.as_u64() > Some(0), "{place}");
        for _ in 0..2 {
            let list = page.must("sessions.list", json!({ "withVerification": true }));
            let a = list.as_array().unwrap().iter().find(|told| told["session"]["id"] == "a").unwrap();
            assert_eq!((&a["hmac_status"], &a["session"]["damaged"]["seq"]), (&json!("tampered"), &place));
            let status = page.must("sessions.status", json!({ "id": "a" }));
            assert_eq!(status["session"]["damaged"]["seq"], place);
        }
        assert_eq!(page.fails("sessions.events", json!({ "id": "a" })).0, Code::Corrupt, "{what} {by:?}");
        page.start();
        let copy = page.fails("sessions.fork", json!({ "id": "a", "at": last }));
        assert_eq!(copy.0, Code::Corrupt, "{what} {by:?}");
    }
}
