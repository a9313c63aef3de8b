//! Archived sessions: all rows are packed, everything reads as before, and the next prompt opens them.

use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::journal::pack::loose;
use lodger::ports::{Commit, Key, MemoryStore, Read, Rows, Table, Write};
use serde_json::{Value, json};

const DAY: u64 = 86_400_000;

fn talk(page: &mut Desk, id: &str, text: &str) -> Value {
    let run = page.prompt(id, text)["runId"].clone();
    page.says(&format!("answer {text}"));
    run
}

/// A page with a session of so many runs, which was cleared in between if so.
fn with_session(runs: usize, clears: bool) -> Desk {
    let mut page = Desk::started("ann");
    page.launch("docs");
    for n in 0..runs {
        talk(&mut page, "docs", &format!("word {n}"));
        if clears && n == runs / 2 {
            page.must("clearConversation", json!({ "sessionId": "docs" }));
        }
    }
    page.rows("docs");
    page
}

fn all(store: &MemoryStore, id: &str) -> Rows {
    store.read(&Read::all(Table::Entries, vec![id.into()]))
}

fn loose_rows(page: &Desk, id: &str) -> usize {
    page.store.read(&loose(id)).len()
}

/// All that a page that has just come reads of a session.
fn told(page: &Desk, id: &str) -> Vec<Value> {
    let mut page = Desk::on(page.store.clone(), page.now + 1_000, "ann");
    let of = json!({ "id": id });
    let mut told = vec![
        page.must("history", json!({ "sessionId": id })),
        page.must("history", json!({ "sessionId": id, "limit": 2 })),
        page.must("sessions.journal", of.clone()),
        page.must("sessions.journal", json!({ "id": id, "from": 3, "limit": 70 })),
        page.must("sessions.events", of.clone()),
        page.must("sessions.receipts", of.clone()),
        page.must("sessions.handoffs", of.clone()),
        page.must("sessions.status", of.clone()),
        page.must("sessions.verify", of.clone()),
        page.must("sessions.export", of),
    ];
    told.push(page.must("sessions.list", json!({})));
    told
}

#[test]
fn an_archived_session_is_packed_and_says_what_it_said() {
    for (runs, clears) in [(1, false), (20, false), (9, true)] {
        let mut page = with_session(runs, clears);
        let history = page.must("history", json!({ "sessionId": "docs" }));
        let before = page.rows("docs");
        let state = page.must("sessions.archive", json!({ "id": "docs" }));
        assert!(state["archived"].is_string() && state["status"] == "idle", "{state}");
        assert_eq!(loose_rows(&page, "docs"), 0);
        let rows = page.rows("docs");
        assert_eq!(rows[..before.len()], before);
        page.holds("docs");
        // The same rows, one by one.
        let mut plain = Desk::on(page.store.clone(), page.now, "ann");
        let keys = (1_u64..).map(|n| -> Key { vec!["docs".into(), n.into()] });
        let puts = keys.zip(&rows).map(|(key, value)| Write::Put {
            table: Table::Entries,
            key,
            value: value.clone(),
        });
        let mut writes = vec![Write::DeletePrefix { table: Table::Entries, prefix: vec!["docs".into()] }];
        writes.extend(puts);
        plain.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
        assert_eq!(told(&page, "docs"), told(&plain, "docs"), "{runs} {clears}");
        // While the agent runs, too.
        assert_eq!(page.must("history", json!({ "sessionId": "docs" })), history);
        assert_eq!(page.status("docs")["archived"], state["archived"]);
        assert_eq!(page.must("sessions.fork", json!({ "id": "docs" }))["session"]["archived"], Value::Null);
        assert_eq!(loose_rows(&page, "docs"), 0);
    }
}

#[test]
fn the_next_prompt_opens_it() {
    for (clears, crashes) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut page = with_session(20, clears);
        page.must("sessions.archive", json!({ "id": "docs" }));
        let past = all(&page.store, "docs").len();
        if crashes {
            page = page.crash("ann");
            page.start();
            assert_eq!(loose_rows(&page, "docs"), 0, "a start leaves it closed");
        }
        let run = talk(&mut page, "docs", "again");
        assert_eq!(page.status("docs")["archived"], Value::Null);
        page.rows("docs");
        assert!(loose_rows(&page, "docs") > past);
        assert!(format!("{}", page.asked).contains("word 19"), "{}", page.asked);
        page.holds("docs");
        assert_eq!(page.must("wait", json!({ "runId": run }))["outcome"], "completed");
        // What is said in it can be cleared.
        page.must("clearConversation", json!({ "sessionId": "docs" }));
        assert!(!format!("{:?}", all(&page.store, "docs")).contains("word"));
        page.holds("docs");
        assert_eq!(page.status("docs")["archived"], Value::Null);
    }
}

#[test]
fn what_only_changes_something_about_it_leaves_it_archived() {
    for runs in [true, false] {
        let mut page = with_session(5, true);
        page.must("sessions.archive", json!({ "id": "docs" }));
        if !runs {
            page.must("stopAgent", json!({}));
        }
        let of = json!({ "id": "docs" });
        page.must("sessions.rename", json!({ "id": "docs", "displayName": "Old" }));
        let listed = page.must("sessions.list", json!({}));
        let listed = listed.as_array().unwrap().iter().find(|state| state["id"] == "docs").unwrap();
        assert!(listed["archived"].is_string() && listed["display_name"] == "Old", "{listed}");
        assert_eq!(loose_rows(&page, "docs"), 0);
        page.must("sessions.archive", of.clone());
        page.must("sessions.remove", of.clone());
        assert_eq!(page.fails("sessions.archive", of.clone()).0, Code::SessionNotFound);
        assert!(page.must("sessions.undoRemove", of)["archived"].is_string());
        assert_eq!(loose_rows(&page, "docs"), 0);
        page.must("clearConversation", json!({ "sessionId": "docs" }));
        assert!(page.status("docs")["archived"].is_string());
        assert!(!format!("{:?}", all(&page.store, "docs")).contains("word"));
        assert_eq!(loose_rows(&page, "docs"), 0);
        page.holds("docs");
    }
}

#[test]
fn only_an_idle_session_of_ones_own_is_archived() {
    let mut page = with_session(1, false);
    let of = json!({ "id": "docs" });
    page.prompt("docs", "more");
    assert_eq!(page.fails("sessions.archive", of.clone()).0, Code::Busy);
    page.must("sendMessage", json!({ "text": "waits", "sessionId": "docs", "whenBusy": "queue" }));
    page.says("first");
    assert_eq!(page.fails("sessions.archive", of.clone()).0, Code::Busy);
    page.says("second");
    let mut other = Desk::on(page.store.clone(), page.now, "ben");
    assert_eq!(other.fails("sessions.archive", of.clone()).0, Code::PermissionDenied);
    assert_eq!(page.fails("sessions.archive", json!({ "id": "none" })).0, Code::SessionNotFound);
    // Where no agent runs it is borrowed for that, and given back.
    page.rows("docs");
    let mut alone = Desk::on(page.store.clone(), page.now, "ann");
    assert!(alone.must("sessions.archive", of)["archived"].is_string());
    assert_eq!((loose_rows(&alone, "docs"), alone.locks), (0, vec!["lock", "unlock"]));
}

#[test]
fn the_first_session_is_archived_as_the_others_are() {
    let mut page = Desk::started("ann");
    page.must("sendMessage", json!({ "text": "one" }));
    page.says("answer");
    page.must("sessions.archive", json!({ "id": "default" }));
    page.rows("default");
    for start in [false, true] {
        if start {
            page = page.crash("ann");
            page.start();
        }
        assert_eq!(loose_rows(&page, "default"), 0);
        assert_eq!(page.must("history", json!({})).as_array().unwrap().len(), 2);
    }
    page.must("stopAgent", json!({}));
    page.start();
    assert_eq!(loose_rows(&page, "default"), 0);
    page.must("sendMessage", json!({ "text": "two" }));
    page.says("more");
    assert_eq!(page.must("history", json!({})).as_array().unwrap().len(), 4);
    assert_eq!(page.status("default")["archived"], Value::Null);
    page.holds("default");
}

/// The page goes when the journal says that content goes, and before that content has gone.
#[test]
fn the_next_start_erases_what_was_not_erased_in_every_session() {
    for (session, archived) in [("default", false), ("default", true), ("docs", false), ("docs", true)] {
        for act in ["removeMessage", "clearConversation"] {
            let mut page = Desk::started("ann");
            if session == "docs" {
                page.launch("docs");
            }
            let of = json!({ "sessionId": session });
            for text in ["my secret garden", "the weather"] {
                page.must("sendMessage", json!({ "sessionId": session, "text": text }));
                page.says(&format!("about {text}"));
            }
            let history = page.must("history", of.clone());
            if archived {
                page.must("sessions.archive", json!({ "id": session }));
                page.rows(session);
                page = page.crash("ann");
                page.start();
            }
            page.late = Some(Vec::new());
            let of_message = json!({ "sessionId": session, "messageId": history[0]["id"] });
            page.command(act, if act == "removeMessage" { of_message } else { of.clone() });
            let said = |page: &Desk| {
                let rows = page.stored(Table::Entries, session);
                rows.iter()
                    .any(|row| row.contains("\"kind\":\"withdrawn\"") || row.contains("\"kind\":\"cleared\""))
            };
            // What it reads comes step by step, until the journal says it.
            while !said(&page) {
                let read = page.late.replace(Vec::new()).unwrap();
                assert!(!read.is_empty(), "{session} {archived} {act}: it is never said");
                read.into_iter().for_each(|read| page.handle(read));
            }
            let found =
                |page: &Desk| format!("{:?}", page.stored(Table::Entries, session)).contains("secret garden");
            assert!(found(&page), "{session} {archived} {act}");
            let mut page = page.crash("ann");
            page.start();
            assert!(!found(&page), "{session} {archived} {act}: it is still stored");
            let left = if act == "removeMessage" { 2 } else { 0 };
            assert_eq!(page.must("history", of.clone()).as_array().unwrap().len(), left);
            let head = page.stored(Table::Heads, session);
            assert!(!format!("{head:?}").contains("erases"), "{head:?}");
            assert_eq!(page.status(session)["archived"].is_string(), archived);
            assert_eq!(loose_rows(&page, session) == 0, archived, "{session} {act}");
            page.holds(session);
        }
    }
}

#[test]
fn a_damaged_pack_of_an_archived_session_hides_its_own_rows() {
    let mut page = with_session(40, false);
    page.must("sessions.archive", json!({ "id": "docs" }));
    let whole = page.must("history", json!({ "sessionId": "docs" })).as_array().unwrap().len();
    let packs = all(&page.store, "docs");
    assert!(packs.len() > 3);
    let (key, value) = (packs[1].0.clone(), String::new());
    let writes = vec![Write::Put { table: Table::Entries, key, value }];
    page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    let mut page = page.crash("ann");
    let history = page.must("history", json!({ "sessionId": "docs" }));
    let messages = history.as_array().unwrap();
    assert!(messages.iter().any(|message| message["status"] == "damaged") && messages.len() > whole / 2);
    assert!(format!("{history}").contains("word 39") && format!("{history}").contains("word 0"));
    page.start();
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "docs", "text": "x" })).0, Code::Corrupt);
}

#[test]
fn an_archived_session_whose_head_is_damaged_is_read_and_salvaged() {
    for (clears, missing, running) in
        [(false, true, true), (true, true, false), (false, false, false), (true, false, true)]
    {
        let why = format!("{clears} {missing} {running}");
        let mut page = with_session(20, clears);
        let history = page.must("history", json!({ "sessionId": "docs" }));
        page.must("sessions.archive", json!({ "id": "docs" }));
        let rows = page.rows("docs").len();
        page.edits(Table::Heads, "docs", |_, _| Some(if missing { String::new() } else { "rubbish".into() }));
        let mut page = page.crash("ann");
        if running {
            page.start();
        }
        for limit in [Value::Null, json!(500)] {
            let mut told = page.must("history", json!({ "sessionId": "docs", "limit": limit }));
            let mark = told.as_array_mut().unwrap().pop().unwrap_or_default();
            assert_eq!((&told, &mark["status"]), (&history, &json!("damaged")), "{why}");
        }
        let journal = page.must("sessions.journal", json!({ "id": "docs" }));
        assert_eq!(journal.as_array().unwrap().len(), rows + 1, "{why}");
        assert_eq!(page.integrity("docs"), "tampered", "{why}");
        let state = page.must("sessions.salvage", json!({ "id": "docs", "replace": true }));
        assert_eq!(state["archived"], Value::Null, "{why}");
        assert_eq!(page.must("history", json!({ "sessionId": "docs" })), history, "{why}");
        page.holds("docs");
        if !running {
            page.start();
        }
        talk(&mut page, "docs", "again");
        page.holds("docs");
    }
}

#[test]
fn a_prompt_that_comes_meanwhile_is_taken_after_it() {
    let mut page = with_session(3, false);
    page.late = Some(Vec::new());
    let archives = page.command("sessions.archive", json!({ "id": "docs" }));
    let prompts = page.command("sessions.prompt", json!({ "id": "docs", "text": "meanwhile" }));
    for _ in 0..6 {
        page.comes();
        page.late = Some(Vec::new());
    }
    page.comes();
    assert!(page.answers.remove(&archives).unwrap().unwrap()["archived"].is_string());
    assert!(page.answers.remove(&prompts).unwrap().is_ok());
    page.says("answered");
    assert_eq!(page.status("docs")["archived"], Value::Null);
    page.holds("docs");
}

#[test]
fn the_policy_archives_what_was_not_changed_for_so_long() {
    let mut page = with_session(2, false);
    page.launch("new");
    page.rows("new");
    for policy in [json!(false), json!({ "afterDays": 30 })] {
        page = page.crash("ann");
        page.now += 20 * DAY;
        page.start();
        talk(&mut page, "new", "hello");
        page.must("configureAgent", json!({ "archive": policy }));
        page.now += 200;
        page.handle(lodger::harness::Input::Tick { online: true });
        page.handle(lodger::harness::Input::Tick { online: true });
        let archives = policy != json!(false);
        assert_eq!(page.status("docs")["archived"].is_string(), archives, "{policy}");
        assert_eq!(loose_rows(&page, "docs") == 0, archives);
        assert_eq!(page.status("new")["archived"], Value::Null);
    }
    // Once a day while it runs.
    page.now += 31 * DAY;
    page.handle(lodger::harness::Input::Tick { online: true });
    page.handle(lodger::harness::Input::Tick { online: true });
    assert!(page.status("new")["archived"].is_string());
    let record = page.holds("new");
    assert!(record.archived_at().is_some());
    for wrong in
        [json!({}), json!(true), json!({ "afterDays": 0 }), json!({ "afterDays": 1.5 }), json!({ "days": 1 })]
    {
        assert_eq!(page.fails("configureAgent", json!({ "archive": wrong })).0, Code::InvalidConfig);
    }
}

#[test]
fn what_the_policy_may_not_archive_keeps_no_other_from_its_turn() {
    let mut page = Desk::started("ann");
    let issued = json!({ "operator": { "subject": "ann", "issuer": "elsewhere" } });
    page.must("setOperator", issued);
    for n in 0..40 {
        page.launch(&format!("theirs{n}"));
    }
    page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
    page.now += DAY;
    page.launch("docs");
    talk(&mut page, "docs", "hello");
    page.must("configureAgent", json!({ "archive": { "afterDays": 30 } }));
    page.now += 40 * DAY;
    for _ in 0..200 {
        page.now += DAY / 24;
        page.handle(lodger::harness::Input::Tick { online: true });
    }
    assert!(page.status("docs")["archived"].is_string());
    assert_eq!(page.status("theirs0")["archived"], Value::Null);
}

#[test]
fn a_damaged_session_that_the_policy_comes_to_is_named_and_stays() {
    for packed in [false, true] {
        // Of the longer one, rows lie in a pack already.
        let mut page = with_session(if packed { 12 } else { 2 }, false);
        page.launch("new");
        talk(&mut page, "new", "hello");
        page.rows("new");
        let last = format!("answer word {}", if packed { 11 } else { 1 });
        page.tampers(Table::Entries, "docs", &last, "answer nobody gave");
        let mut page = page.crash("ann");
        page.now += 40 * DAY;
        page.start();
        page.must("configureAgent", json!({ "archive": { "afterDays": 30 } }));
        for _ in 0..6 {
            page.now += 200;
            page.handle(lodger::harness::Input::Tick { online: true });
        }
        let listed = page.must("sessions.list", json!({ "withVerification": true }));
        let docs = listed.as_array().unwrap().iter().find(|one| one["session"]["id"] == "docs").unwrap();
        assert_eq!(docs["hmac_status"], "tampered", "{packed}: {docs}");
        assert!(docs["session"]["damaged"].is_object() && docs["session"]["archived"].is_null(), "{docs}");
        assert!(page.status("new")["archived"].is_string(), "the others are archived");
    }
}
