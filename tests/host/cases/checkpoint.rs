//! Checkpoints and packs: a session that was cleared is read from there on, and says what it said before.

use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::journal::pack::{checkpoint_key, loose, unpacked};
use lodger::ports::{Commit, Key, MemoryStore, Part, Read, Rows, Table, Write};
use lodger::session::Checkpoint;
use serde_json::{Value, json};

/// Says something in the first session, which is answered. Gives the run's id.
fn talk(page: &mut Desk, text: &str) -> Value {
    let run = page.must("sendMessage", json!({ "text": text }))["runId"].clone();
    page.says(&format!("answer {text}"));
    run
}

/// A page whose first session was cleared after each of so many conversations of three runs, and has one run since. With the
/// ids of all runs.
fn cleared(times: usize) -> (Desk, Vec<Value>) {
    let mut page = Desk::started("ann");
    let mut runs = Vec::new();
    for n in 0..times {
        for said in ["one", "two", "three"] {
            runs.push(talk(&mut page, &format!("{said} {n}")));
        }
        page.must("clearConversation", json!({}));
    }
    runs.push(talk(&mut page, "last"));
    page.rows("default");
    (page, runs)
}

fn all(store: &MemoryStore) -> Rows {
    store.read(&Read::all(Table::Entries, vec!["default".into()]))
}

fn checkpoint(store: &MemoryStore) -> Option<String> {
    store.read(&Read::all(Table::Entries, checkpoint_key("default"))).pop().map(|(_, text)| text)
}

fn write(store: &mut MemoryStore, write: Write) {
    store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
}

/// What a page shows of the first session, read by a page that has just come.
fn shown(store: &MemoryStore, now: u64) -> [Value; 5] {
    let mut page = Desk::on(store.clone(), now + 1_000, "ann");
    let of = json!({ "id": "default" });
    [
        page.must("history", json!({})),
        page.must("history", json!({ "limit": 1 })),
        page.must("sessions.events", of.clone()),
        page.must("sessions.journal", json!({ "id": "default" })),
        page.must("sessions.status", of)["session"].clone(),
    ]
}

/// The pack with the last rows: its key and its text.
fn last_pack(store: &MemoryStore) -> (Key, String) {
    let is_pack = |(key, _): &(Key, String)| key.len() == 3;
    all(store).into_iter().rfind(is_pack).unwrap()
}

#[test]
fn a_start_reads_what_came_after_the_clearing() {
    let (few, _) = cleared(1);
    let (many, _) = cleared(40);
    assert!(all(&many.store).len() < all(&few.store).len() + 60, "cleared rows are packed");
    let reads = |page: Desk| {
        let mut page = page.crash("ann");
        page.start();
        (page.read, page.must("history", json!({})))
    };
    let ((few, said), (many, same)) = (reads(few), reads(many));
    assert_eq!(few, many);
    assert_eq!(
        (said[0]["parts"][0]["text"].clone(), same[1]["parts"][0]["text"].clone()),
        (json!("last"), json!("answer last"))
    );
}

#[test]
fn everything_is_told_as_before() {
    let (mut page, _) = cleared(3);
    let (loose_rows, whole) = (page.store.read(&loose("default")).len(), page.rows("default").len());
    assert!(loose_rows < whole && checkpoint(&page.store).is_some());
    let now = page.now;
    // The same rows, one by one and without a checkpoint, as the version before has them.
    let mut plain = page.store.clone();
    let rows = unpacked(all(&plain));
    write(&mut plain, Write::DeletePrefix { table: Table::Entries, prefix: vec!["default".into()] });
    for (key, value) in rows {
        write(&mut plain, Write::Put { table: Table::Entries, key, value });
    }
    assert_eq!(shown(&page.store, now), shown(&plain, now));
    // In pages of any length, from any place.
    let (mut packed, mut plain) = (Desk::on(page.store.clone(), now, "ann"), Desk::on(plain, now, "ann"));
    for from in [1, 2, 9, whole - loose_rows, whole - loose_rows + 1, whole - 1] {
        for limit in [1, 5, 70] {
            for name in ["sessions.journal", "sessions.events"] {
                let asked = json!({ "id": "default", "from": from, "limit": limit });
                assert_eq!(
                    packed.must(name, asked.clone()),
                    plain.must(name, asked),
                    "{name} {from} {limit}"
                );
            }
        }
    }
    page.holds("default");
}

#[test]
fn what_a_version_before_has_cleared_is_packed_when_it_is_taken() {
    let (page, _) = cleared(2);
    let (mut plain, now) = (page.store.clone(), page.now);
    let rows = unpacked(all(&plain));
    write(&mut plain, Write::DeletePrefix { table: Table::Entries, prefix: vec!["default".into()] });
    for (key, value) in rows.clone() {
        write(&mut plain, Write::Put { table: Table::Entries, key, value });
    }
    let before = shown(&plain, now);
    let mut page = Desk::on(plain, now, "ann");
    page.start();
    let after = page.rows("default");
    assert_eq!(after[..rows.len()], rows.into_iter().map(|(_, text)| text).collect::<Vec<_>>());
    assert!(checkpoint(&page.store).is_some() && page.store.read(&loose("default")).len() < 20);
    assert_eq!(shown(&page.store, page.now)[0], before[0]);
    page.holds("default");
}

#[test]
fn a_checkpoint_that_is_not_what_was_written_is_made_anew() {
    let (page, _) = cleared(2);
    let (store, now) = (page.store, page.now);
    let (whole, text) = (shown(&store, now), checkpoint(&store).unwrap());
    let key = checkpoint_key("default");
    for damaged in
        [text.replace("\"generation\":2", "\"generation\":3"), "{}".into(), String::new(), "gone".into()]
    {
        let mut store = store.clone();
        write(
            &mut store,
            match damaged.as_str() {
                "gone" => Write::DeletePrefix { table: Table::Entries, prefix: key.clone() },
                _ => Write::Put { table: Table::Entries, key: key.clone(), value: damaged.clone() },
            },
        );
        assert_eq!(shown(&store, now), whole, "{damaged}");
        let mut page = Desk::on(store, now, "ann");
        page.start();
        assert_eq!(page.must("history", json!({})), whole[0], "{damaged}");
        page.rows("default");
        assert_eq!(checkpoint(&page.store).as_ref(), Some(&text), "{damaged}");
        let verified = page.must("sessions.verify", json!({ "id": "default" }));
        assert_eq!((&verified["hmac_status"], &verified["damaged"]), (&json!("verified"), &Value::Null));
    }
}

/// As a package leaves it whose fold adds up to something else.
#[test]
fn one_of_another_format_is_no_damage_and_is_made_anew() {
    let (page, _) = cleared(2);
    let (mut store, now) = (page.store, page.now);
    let (whole, text) = (shown(&store, now), checkpoint(&store).unwrap());
    let other = text.replace("\"generation\":2", "\"generation\":7").replace("\"v\":1}", "\"v\":0}");
    let sum = |text: &str| Checkpoint { seq: 0, hash: String::new(), text: text.into() }.sum();
    let (key, head) = store.read(&Read::all(Table::Heads, vec!["default".into()])).pop().unwrap();
    let head = head.lines().next().unwrap().replace(&sum(&text), &sum(&other));
    assert!(head.contains(&sum(&other)), "{head}");
    let signature = store.signatures(std::slice::from_ref(&head)).remove(0);
    write(&mut store, Write::Put { table: Table::Heads, key, value: format!("{head}\n{signature}") });
    write(&mut store, Write::Put { table: Table::Entries, key: checkpoint_key("default"), value: other });
    assert_eq!(shown(&store, now), whole);
    let mut page = Desk::on(store, now, "ann");
    for is_taken in [false, true] {
        if is_taken {
            page.start();
            page.rows("default");
        }
        let verified = page.must("sessions.verify", json!({ "id": "default" }));
        assert_eq!((&verified["hmac_status"], &verified["damaged"]), (&json!("verified"), &Value::Null));
    }
    assert_eq!(checkpoint(&page.store), Some(text));
}

#[test]
fn a_damaged_pack_hides_its_own_rows_and_nothing_else() {
    let (page, _) = cleared(30);
    let (mut store, now) = (page.store, page.now);
    let (key, text) = last_pack(&store);
    let pack = all(&store).into_iter().find(|(key, _)| key.len() == 3).unwrap().0;
    let whole = shown(&store, now);
    write(&mut store, Write::Put { table: Table::Entries, key: pack.clone(), value: String::new() });
    let mut page = Desk::on(store, now, "ann");
    assert_eq!(page.must("history", json!({})), whole[0]);
    // Nothing proves the header of the row behind a gap, so that one is lost too.
    let Some(Part::Number(last)) = pack.get(2) else { panic!("{pack:?}") };
    let journal = page.must("sessions.journal", json!({ "id": "default" }));
    assert_eq!(
        (&journal[0]["type"], &journal[0]["seq"], &journal[0]["from"]),
        (&json!("damaged"), &json!(last + 1), &json!(1))
    );
    let verified = page.must("sessions.verify", json!({ "id": "default" }));
    assert_eq!((&verified["hmac_status"], &verified["damaged"]["seq"]), (&json!("tampered"), &json!(1)));
    // What that has found counts until all rows are read again, and no more than the checkpoint is read for these.
    for _ in 0..2 {
        let status = page.must("sessions.status", json!({ "id": "default" }));
        assert_eq!(
            (&status["hmac_status"], &status["session"]["damaged"]["seq"]),
            (&json!("tampered"), &json!(1))
        );
        let list = page.must("sessions.list", json!({ "withVerification": true }));
        assert_eq!(
            (&list[0]["hmac_status"], &list[0]["session"]["damaged"]["seq"]),
            (&json!("tampered"), &json!(1))
        );
    }
    // And the rows of a pack are held against the chain, as others are.
    let mut store = page.store.clone();
    write(
        &mut store,
        Write::Put { table: Table::Entries, key, value: text.replacen("\"call\":1", "\"call\":2", 1) },
    );
    let damaged = Desk::on(store, now, "ann").must("sessions.verify", json!({ "id": "default" }));
    assert_eq!(damaged["hmac_status"], "tampered");
}

#[test]
fn damage_behind_the_checkpoint_is_found_and_shown_as_before() {
    let (page, _) = cleared(2);
    let (store, now) = (page.store, page.now);
    let rows = store.read(&loose("default"));
    let (key, text) = rows.iter().find(|(_, text)| text.contains("\"kind\":\"answered\"")).unwrap();
    let mut store = store.clone();
    write(
        &mut store,
        Write::Put {
            table: Table::Entries,
            key: key.clone(),
            value: text.replace("answer last", "answer lost"),
        },
    );
    let mut page = Desk::on(store, now, "ann");
    let history = page.must("history", json!({}));
    let statuses = history.as_array().unwrap().iter().map(|message| message["status"].as_str().unwrap());
    assert!(statuses.clone().any(|status| status == "damaged"), "{history}");
    page.start();
    let Some(Part::Number(seq)) = key.get(1) else { panic!("{key:?}") };
    let list = page.must("sessions.list", json!({}));
    assert_eq!(list[0]["damaged"]["seq"], json!(seq), "{list}");
    assert_eq!(page.fails("sendMessage", json!({ "text": "more" })).0, Code::Corrupt);
}

#[test]
fn a_row_of_the_past_in_the_place_of_a_later_one_hides_no_more_than_that_one() {
    let (mut page, _) = cleared(2);
    let place = page.rows("default").len() as u64 + 1;
    talk(&mut page, "later");
    page.rows("default");
    let (mut store, now) = (page.store, page.now);
    let [whole, _, _, journal, _] = shown(&store, now);
    let past = unpacked(all(&store)).into_iter().nth(5).unwrap().1;
    let key = vec!["default".into(), Part::Number(place)];
    write(&mut store, Write::Put { table: Table::Entries, key, value: past });
    let mut page = Desk::on(store, now + 1_000, "ann");
    let history = page.must("history", json!({}));
    let told = page.must("sessions.journal", json!({ "id": "default" }));
    let whole_ones = |messages: &Value| -> Vec<Value> {
        messages.as_array().unwrap().iter().filter(|one| one["status"] != "damaged").cloned().collect()
    };
    // What was said in the run before it, and the answer of the run whose message is lost.
    let (seen, was) = (whole_ones(&history), whole_ones(&whole));
    assert_eq!((&seen[..2], seen.len()), (&was[..2], 3), "{history}");
    assert_eq!(seen[2]["parts"], was[3]["parts"], "{history}");
    assert_eq!(history[2]["status"], "damaged");
    let gap = told.as_array().unwrap().iter().find(|one| one["type"] == "damaged").unwrap().clone();
    assert_eq!((&gap["from"], &gap["seq"]), (&json!(place), &json!(place + 1)), "{gap}");
    let before = |journal: &Value| journal.as_array().unwrap()[..place as usize - 1].to_vec();
    assert_eq!(before(&told), before(&journal));
    let verified = page.must("sessions.verify", json!({ "id": "default" }));
    assert_eq!(verified["damaged"], json!({ "seq": place, "why": "it does not lie in its place" }));
}

#[test]
fn the_end_of_a_run_of_long_ago_is_still_known() {
    let (page, runs) = cleared(40);
    for (start, page) in [(true, page.crash("ann"))] {
        let mut page = page;
        if start {
            page.start();
        }
        for run in [&runs[0], &runs[60], runs.last().unwrap()] {
            let told = page.must("wait", json!({ "runId": run }));
            assert_eq!(
                (&told["status"], &told["outcome"]),
                (&json!("ok"), &json!("completed")),
                "{run}: {told}"
            );
        }
        assert_eq!(page.fails("wait", json!({ "runId": "run_none" })).0, Code::RunNotFound);
    }
}

#[test]
fn a_message_that_comes_while_a_clearing_erases_is_not_packed() {
    let mut page = Desk::started("ann");
    talk(&mut page, "one");
    page.rows("default");
    // What it reads to erase comes late.
    page.late = Some(Vec::new());
    let clearing = page.command("clearConversation", json!({}));
    page.now += 200;
    page.handle(lodger::harness::Input::Tick { online: true });
    let sent = page.command("sendMessage", json!({ "text": "two" }));
    page.comes();
    page.late = None;
    page.rows("default");
    assert_eq!(page.answers.remove(&clearing), Some(Ok(Value::Null)));
    assert!(page.answers.remove(&sent).is_some_and(|sent| sent.is_ok()));
    page.says("second");
    page.holds("default");
    let mut page = page.crash("ann");
    page.start();
    let history = page.must("history", json!({}));
    assert_eq!((history.as_array().unwrap().len(), &history[0]["parts"][0]["text"]), (2, &json!("two")));
    assert!(!format!("{:?}", all(&page.store)).contains("answer one"));
}

/// A page that is opened each day has the same tools there: to name them all again would be most of what a day stores.
#[test]
fn a_start_names_its_configuration_and_its_tools_where_they_have_changed() {
    let mut page = Desk::started("ann");
    talk(&mut page, "one");
    page.rows("default");
    let starts = |page: &Desk| -> Vec<Value> {
        let rows = unpacked(all(&page.store)).into_iter();
        let rows = rows.filter(|(_, text)| text.contains("\"kind\":\"started\""));
        rows.map(|(_, text)| serde_json::from_str(text.lines().nth(1).unwrap()).unwrap()).collect()
    };
    for day in 0..10 {
        page = page.crash("ann");
        page.start();
        let last = starts(&page).pop().unwrap();
        assert_eq!((&last["config"], &last["tools"]), (&Value::Null, &Value::Null), "day {day}");
        talk(&mut page, "more");
        page.rows("default");
    }
    // What has changed is said, and what it was before is not forgotten.
    page = page.crash("ann");
    let tool = json!({ "name": "ring", "description": "d", "inputSchema": {}, "execute": { "$fn": 70 } });
    page.must("tools.register", tool);
    page.start();
    let last = starts(&page).pop().unwrap();
    assert!(last["tools"].to_string().contains("\"ring\"") && last["config"].is_null(), "{last}");
    page = page.crash("ann");
    page.start_with(json!({ "other": { "kind": "custom", "model": "m", "stream": { "$fn": 52 } } }));
    let last = starts(&page).pop().unwrap();
    assert!(
        !last["tools"].to_string().contains("ring") && last["config"].to_string().contains("\"other\""),
        "{last}"
    );
    talk(&mut page, "last");
    page.rows("default");
}
