//! A session that somebody has changed is guarded: what was found counts until all of it is read again, and until then
//! nobody works in it.

use super::carry::{export, import, summed};
use crate::support::desk::Desk;
use crate::support::rows;
use lodger::error::Code;
use lodger::journal::pack::unpacked;
use lodger::journal::{GENESIS, Row};
use lodger::ports::{Commit, Key, MemoryStore, Part, PatternEngine, Read, Table, Write};
use lodger::protocol::{Command, Subject};
use lodger::session::Session;
use serde_json::{Value, json};

const TAMPERED: &str = "stored agent session state has invalid HMAC: docs";

/// What becomes of a command on a session that is damaged: where an agent has it at hand, and where nobody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It is about no session.
    Elsewhere,
    /// It shows what is there; whether all of it is whole, it says itself.
    Looks,
    /// It ends what works there, where anything does.
    Ends,
    /// It gives the session up, or brings back one that was.
    GivesUp,
    /// It makes another session of what is whole.
    Salvages,
    /// It is refused.
    Refused,
}

/// What each command comes to, and its arguments for the session `docs`. A command that is not here fails the test.
fn expected(run: &str, waits: &str) -> Vec<(&'static str, Then, Value)> {
    use Then::{Elsewhere, Ends, GivesUp, Looks, Refused, Salvages};
    let id = || json!({ "id": "docs" });
    let of = || json!({ "sessionId": "docs" });
    let none = Value::Null;
    let mut all = vec![
        ("sendMessage", Refused, json!({ "text": "Hello.", "sessionId": "docs" })),
        ("regenerate", Refused, of()),
        ("compact", Refused, of()),
        ("switchTo", Refused, json!({ "messageId": "msg_1", "sessionId": "docs" })),
        ("removeMessage", Refused, json!({ "messageId": "msg_1", "sessionId": "docs" })),
        ("result", Looks, json!({ "runId": run })),
        ("interrupt", Ends, of()),
        ("resume", Refused, of()),
        ("history", Looks, of()),
        ("clearConversation", Refused, of()),
        ("watch", Looks, of()),
        ("wait", Looks, json!({ "runId": run, "timeoutMs": 0 })),
        ("queue.edit", Refused, json!({ "id": waits, "text": "Other." })),
        ("queue.remove", Refused, json!({ "id": waits })),
        ("queue.release", Refused, of()),
        // These find their session by what they answer.
        ("resolvePermission", Refused, none.clone()),
        ("tools.resolve", Refused, none.clone()),
        ("tools.revoke", Refused, json!({ "tool": "t", "sessionId": "docs" })),
        ("sessions.prompt", Refused, json!({ "id": "docs", "text": "Hello." })),
        ("sessions.status", Looks, id()),
        ("sessions.stop", Refused, id()),
        ("sessions.restart", Refused, id()),
        ("sessions.recover", Refused, id()),
        ("sessions.bench", Refused, id()),
        ("sessions.play", Refused, id()),
        ("sessions.rename", Refused, json!({ "id": "docs", "displayName": "Other" })),
        ("sessions.configure", Refused, json!({ "id": "docs", "config": {} })),
        ("sessions.remove", GivesUp, id()),
        ("sessions.undoRemove", GivesUp, id()),
        ("sessions.archive", Refused, id()),
        ("sessions.journal", Looks, id()),
        ("sessions.events", Looks, id()),
        ("sessions.receipts", Looks, id()),
        ("sessions.handoffs", Looks, id()),
        ("sessions.task", Looks, json!({ "id": run })),
        ("sessions.left", Looks, json!({ "id": run })),
        ("sessions.export", Looks, json!({ "id": "docs", "from": 1, "last": 3, "hash": "" })),
        ("sessions.activity", Looks, id()),
        ("sessions.output", Looks, id()),
        ("sessions.fork", Refused, id()),
        ("sessions.salvage", Salvages, id()),
        ("sessions.verify", Looks, id()),
    ];
    let elsewhere = [
        "startAgent",
        "configureAgent",
        "standIn",
        "letGo",
        "stopAgent",
        "file",
        "tools.register",
        "tools.unregister",
        "tools.execute",
        "tools.grants",
        "setOperator",
        "sessions.launch",
        "sessions.list",
        "activeRuns",
        "sessions.runOnce",
        "sessions.import",
        "sessions.replay",
        "sessions.admit",
        "sessions.attach",
        "keys.set",
        "keys.remove",
        "keys.look",
        "keys.list",
        "keys.validate",
        "keys.models",
        "settings",
        "storage",
        "acknowledgeLoss",
        "persist",
        "draft",
        "close",
        "pages.create",
        "pages.read",
        "pages.tree",
        "pages.search",
        "pages.update",
        "pages.rename",
        "pages.move",
        "pages.delete",
        "pages.trash",
        "pages.restore",
        "pages.backlinks",
        "pages.outgoingLinks",
        "pages.versions",
        "memory.list",
        "memory.search",
        "memory.add",
        "memory.update",
        "memory.remove",
    ];
    all.extend(elsewhere.map(|name| (name, Elsewhere, none.clone())));
    all
}

/// One event has lost its signature: all else is as it was, so only who looks at events sees it.
fn unsign(page: &mut Desk, id: &str) {
    let rows = page.rows(id);
    let signed = |row: &&String| row.lines().count() == 5;
    let first = rows.iter().find(signed).expect("a signed event").clone();
    page.edits(Table::Entries, id, |_, text| {
        (text == first).then(|| text.lines().take(4).collect::<Vec<_>>().join("\n"))
    });
}

/// The event has its signature again: the one that the same key makes.
fn mend(page: &mut Desk) {
    let mut mended = Vec::new();
    for (key, text) in page.store.read(&Read::all(Table::Entries, vec!["docs".into()])) {
        if text.lines().count() == 4 && text.contains("\"event_type\":\"launched\"") {
            let record = lodger::json::parse(text.lines().nth(1).unwrap()).unwrap()["record"].clone();
            let payload = lodger::journal::canonical::payload(&record);
            mended.push((key, format!("{text}\n{}", page.store.signatures(&[payload])[0])));
        }
    }
    assert_eq!(mended.len(), 1, "the first event had lost its signature");
    for (key, value) in mended {
        let write = Write::Put { table: Table::Entries, key, value };
        page.store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
    }
}

/// An operator's page with the session `docs`, one event of which has lost its signature, and that is known: the session
/// is at hand, or an agent runs and has let it go, or none runs. The run that it has had; a message waits if it is at hand.
fn damaged(place: &str) -> (Desk, String, String) {
    let mut page = Desk::started("ann");
    page.launch("docs");
    let run = page.prompt("docs", "hello")["runId"].as_str().unwrap().to_owned();
    page.says("there");
    let mut waits = "run_none".to_owned();
    match place {
        "at hand" => {
            page.prompt("docs", "more");
            let args = json!({ "id": "docs", "text": "and more", "whenBusy": "queue" });
            waits = page.must("sessions.prompt", args)["runId"].as_str().unwrap().to_owned();
            unsign(&mut page, "docs");
            page.must("sessions.verify", json!({ "id": "docs" }));
        }
        _ => {
            page.must("stopAgent", json!({}));
            unsign(&mut page, "docs");
            page = page.crash("ann");
            if place == "let go" {
                page.start();
            }
            page.must("sessions.status", json!({ "id": "docs" }));
        }
    }
    is_tampered(&mut page, place);
    (page, run, waits)
}

fn is_tampered(page: &mut Desk, why: &str) {
    let list = page.must("sessions.list", json!({ "withVerification": true }));
    let docs = list.as_array().unwrap().iter().find(|one| one["session"]["id"] == "docs").expect(why);
    assert_eq!(docs["hmac_status"], "tampered", "{why}: {list}");
    assert!(docs["session"]["damaged"]["why"].is_string(), "{why}: {list}");
}

#[test]
fn a_session_that_was_changed_is_looked_at_salvaged_and_removed_and_no_more() {
    let mut told = expected("r", "w");
    told.retain(|(name, ..)| Command::named(name).is_some());
    for command in Command::ALL {
        let row = command.row();
        let (_, then, _) = told.iter().find(|(name, ..)| *name == row.name).unwrap_or_else(|| {
            panic!(
                "what becomes of {} on a session that somebody has changed? Say it in expected()",
                row.name
            )
        });
        let by_answer = matches!(row.name, "resolvePermission" | "tools.resolve");
        assert_eq!(*then == Then::Elsewhere, row.subject == Subject::None && !by_answer, "{}", row.name);
    }
    assert_eq!(told.len(), Command::ALL.len());
    for place in ["at hand", "let go", "no agent"] {
        for (at, (name, then, _)) in expected("r", "w").into_iter().enumerate() {
            let by_answer = matches!(name, "resolvePermission" | "tools.resolve");
            if then == Then::Elsewhere || by_answer {
                continue;
            }
            let (mut page, run, waits) = damaged(place);
            let (name, then, args) = expected(&run, &waits).swap_remove(at);
            let why = format!("{name}, {place}");
            let before = page.rows("docs");
            let models = page.models.len();
            let answer = page.command(name, args.clone());
            let answer = page.answers.get(&answer).cloned();
            match then {
                Then::Refused => {
                    let error = answer.expect(&why).expect_err(&why);
                    // A message that waits, or a run that goes on, is nowhere but at hand.
                    let codes = match place {
                        "at hand" => vec![Code::Corrupt],
                        "let go" => vec![Code::Corrupt, Code::MessageNotFound],
                        _ => vec![Code::Corrupt, Code::NotRunning],
                    };
                    assert!(codes.contains(&error.code), "{why}: {error:?}");
                    if place == "at hand" {
                        assert_eq!(error.message, TAMPERED, "{why}");
                        let hint = error.hint.clone().unwrap_or_default();
                        assert!(hint.contains("salvage") && hint.contains("remove"), "{why}: {hint}");
                    }
                    assert_eq!((page.rows("docs"), page.models.len()), (before, models), "{why}");
                }
                Then::Looks => assert_eq!(page.rows("docs"), before, "{why}"),
                Then::Ends if place == "at hand" => {
                    answer.expect(&why).expect(&why);
                    assert_eq!(page.models.len(), 0, "{why}");
                }
                Then::Ends => {}
                // Nothing was removed.
                Then::GivesUp if name == "sessions.undoRemove" => {
                    assert_eq!(page.rows("docs"), before, "{why}")
                }
                Then::GivesUp => {
                    answer.expect(&why).expect(&why);
                    let list = page.must("sessions.list", json!({})).to_string();
                    assert!(!list.contains("\"id\":\"docs\""), "{why}: {list}");
                    continue;
                }
                Then::Salvages => {
                    if place == "at hand" {
                        assert_eq!(answer.expect(&why).expect_err(&why).code, Code::Busy, "{why}");
                        page.must("interrupt", json!({ "sessionId": "docs" }));
                        page.must(name, args);
                    } else {
                        answer.expect(&why).expect(&why);
                    }
                    assert_eq!(page.integrity("docs-2"), "verified", "{why}");
                }
                Then::Elsewhere => unreachable!(),
            }
            is_tampered(&mut page, &why);
        }
    }
}

#[test]
fn no_question_of_a_session_that_was_changed_is_answered() {
    for (tool, answer) in [("asks", "resolvePermission"), ("hands", "tools.resolve")] {
        let mut page = Desk::of("ann");
        let rules = json!({ "asks": "ask", "hands": "allow" });
        let schema = "{\"type\":\"object\"}";
        page.must(
            "tools.register",
            json!({ "name": "asks", "description": "d", "inputSchema": schema,
            "execute": { "$fn": 1 } }),
        );
        page.must("tools.register", json!({ "name": "hands", "description": "d", "inputSchema": schema }));
        page.start();
        page.must("configureAgent", json!({ "permissions": { "tools": rules } }));
        page.launch("docs");
        page.prompt("docs", "hello");
        page.wants(tool);
        let asked = page.events.iter().rev().find(|(name, _)| *name == "agent:permission-required");
        let request = asked.map(|(_, detail)| detail["requestId"].clone()).unwrap_or_default();
        unsign(&mut page, "docs");
        page.must("sessions.verify", json!({ "id": "docs" }));
        let args = match answer {
            "resolvePermission" => json!({ "requestId": request, "answer": "allow_once" }),
            _ => json!({ "toolCallId": "c", "answer": { "result": 1 } }),
        };
        assert_eq!(page.fails(answer, args), (Code::Corrupt, TAMPERED.to_owned()), "{answer}");
        assert!(page.tools.is_empty());
        // What works in it can be ended.
        page.must("interrupt", json!({ "sessionId": "docs" }));
        is_tampered(&mut page, answer);
    }
}

/// A question of the page's own code, a configuration and a tool are about no session, and write into each at hand.
#[test]
fn nothing_is_written_into_a_changed_session_by_what_is_about_none() {
    let mut page = Desk::of("ann");
    let tool = |name: &str, f: u64| {
        json!({
            "name": name, "description": "d", "inputSchema": "{\"type\":\"object\"}", "execute": { "$fn": f },
        })
    };
    page.must("tools.register", tool("asks", 1));
    page.start();
    page.must("configureAgent", json!({ "permissions": { "tools": { "asks": "ask" } } }));
    page.must("sendMessage", json!({ "text": "hello" }));
    page.says("there");
    page.rows("default");
    page.tampers(Table::Entries, "default", "hello", "hallo");
    assert!(page.must("sessions.verify", json!({ "id": "default" }))["damaged"].is_object());
    let before = page.rows("default").len();
    page.command("tools.execute", json!({ "name": "asks", "args": {} }));
    let (_, asked) =
        page.events.iter().rfind(|(name, _)| *name == "agent:permission-required").unwrap().clone();
    page.must("resolvePermission", json!({ "requestId": asked["requestId"], "answer": "always_allow" }));
    page.returns(0);
    page.must("configureAgent", json!({ "maxTurns": 7 }));
    page.must("tools.register", tool("later", 2));
    page.launch("docs");
    assert_eq!(page.rows("default").len(), before);
    assert_eq!(page.must("tools.grants", json!({})), json!([]));
    // What is found to be whole again has it recorded with its next turn.
    page.tampers(Table::Entries, "default", "hallo", "hello");
    assert_eq!(page.must("sessions.verify", json!({ "id": "default" }))["hmac_status"], "verified");
    page.must("sendMessage", json!({ "text": "on" }));
    page.says("and on");
    let journal = page.must("sessions.journal", json!({ "id": "default" })).to_string();
    assert!(journal.contains("later"), "{journal}");
    page.holds("default");
}

/// What works when a session is found to be changed comes to its end. What waits in it stays where it is.
#[test]
fn what_waits_in_a_changed_session_does_not_begin() {
    let (mut page, ..) = damaged("at hand");
    page.says("more there");
    assert!(page.models.is_empty(), "what waited has begun");
    let told = page.must("history", json!({ "sessionId": "docs" })).to_string();
    assert!(told.contains("more there") && !told.contains("and more"), "{told}");
    is_tampered(&mut page, "after a run");
    // It was a false alarm, say: then it goes on.
    mend(&mut page);
    assert_eq!(page.must("sessions.verify", json!({ "id": "docs" }))["hmac_status"], "verified");
    page.says("and more there");
    page.holds("docs");
}

/// Who removes a changed session by mistake gets it back, as changed as it was.
#[test]
fn a_changed_session_that_was_removed_comes_back_as_it_was() {
    let (mut page, ..) = damaged("at hand");
    page.must("sessions.remove", json!({ "id": "docs" }));
    assert_eq!(page.fails("sessions.status", json!({ "id": "docs" })).0, Code::SessionNotFound);
    page.must("sessions.undoRemove", json!({ "id": "docs" }));
    is_tampered(&mut page, "brought back");
    let prompt = json!({ "id": "docs", "text": "on" });
    assert_eq!(page.fails("sessions.prompt", prompt).0, Code::Corrupt);
}

/// What was found counts until all rows are read for it: also where the database is as it was again.
#[test]
fn only_who_reads_all_of_it_takes_the_verdict_back() {
    for place in ["at hand", "let go", "no agent"] {
        let (mut page, ..) = damaged(place);
        let copy = page.rows("docs");
        assert!(!copy.is_empty());
        let rename = || json!({ "id": "docs", "displayName": "Other" });
        mend(&mut page);
        assert_eq!(page.fails("sessions.rename", rename()).0, Code::Corrupt, "{place}");
        assert_eq!(page.fails("sessions.fork", json!({ "id": "docs" })).0, Code::Corrupt, "{place}");
        is_tampered(&mut page, place);
        if place == "let go" {
            // A start in this page reads it, and does not forget what was found.
            page.must("stopAgent", json!({}));
            page.start();
            is_tampered(&mut page, place);
        }
        assert_eq!(
            page.must("sessions.verify", json!({ "id": "docs" }))["hmac_status"],
            "verified",
            "{place}"
        );
        page.must("sessions.rename", rename());
        if place != "no agent" {
            page.must("interrupt", json!({ "sessionId": "docs" }));
            page.prompt("docs", "go on");
            page.says("yes");
        }
        assert_eq!(page.integrity("docs"), "verified", "{place}");
        page.holds("docs");
    }
}

/// What lies there is whole, but of an earlier day than what is at hand.
#[test]
fn a_whole_session_of_an_earlier_day_is_not_taken_for_what_is_at_hand() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    page.prompt("docs", "hello");
    page.says("there");
    page.rows("docs");
    let earlier = page.store.clone();
    page.prompt("docs", "more");
    page.says("and more");
    page.rows("docs");
    page.store = earlier;
    assert_eq!(page.must("sessions.verify", json!({ "id": "docs" }))["hmac_status"], "tampered");
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "docs", "text": "on" })).0, Code::Corrupt);
    is_tampered(&mut page, "an earlier day");
}

/// The first session cannot be removed, so it begins anew, also where it is at hand.
#[test]
fn the_first_session_begins_anew_where_it_is_at_hand() {
    let mut page = Desk::started("ann");
    page.must("sendMessage", json!({ "text": "hello" }));
    page.says("there");
    page.must("sendMessage", json!({ "text": "more" }));
    page.tampers(Table::Entries, "default", "hello", "jello");
    assert_eq!(page.must("sessions.verify", json!({ "id": "default" }))["hmac_status"], "tampered");
    assert_eq!(page.fails("sendMessage", json!({ "text": "on" })).0, Code::Corrupt);
    page.must("clearConversation", json!({}));
    assert!(page.models.is_empty(), "its run has ended");
    assert_eq!(page.must("history", json!({})), json!([]));
    page.must("sendMessage", json!({ "text": "again" }));
    page.says("yes");
    page.rows("default");
    assert_eq!(page.must("sessions.verify", json!({ "id": "default" }))["hmac_status"], "verified");
    page.holds("default");
    let mut page = page.crash("ann");
    page.start();
    assert_eq!(page.integrity("default"), "verified");
    assert_eq!(page.must("history", json!({})).as_array().unwrap().len(), 2);
}

/// How the signature of an event of ours can be wrong, by what it is.
type Wrong = (&'static str, fn(&str) -> Option<String>);

const WRONG: [Wrong; 6] = [
    ("garbage", |_| Some("rubbish".into())),
    ("garbage that looks like one", |good| Some(["00", good.get(2..).unwrap()].concat())),
    ("garbage by our key", |_| Some("rubbish 0a1b2c3d".into())),
    ("empty", |_| Some(String::new())),
    ("missing", |_| None),
    ("by an unknown key", |good| Some([good.split(' ').next().unwrap(), " 99999999"].concat())),
];

fn with_signature(text: &str, wrong: fn(&str) -> Option<String>) -> Option<String> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let signature = lines.pop().filter(|_| lines.len() == 4)?;
    let signature = wrong(signature);
    lines.extend(signature.as_deref());
    Some(lines.join("\n"))
}

/// A page whose key has a name, as those of browsers have, with a session that has had a run; cleared before if so.
fn signed_by_name(id: &str, cleared: bool) -> Desk {
    signed_by(OURS, id, cleared)
}

/// What our key is called here.
const OURS: &str = "0a1b2c3d";

/// The same, where the key is called so.
fn signed_by(key: &str, id: &str, cleared: bool) -> Desk {
    let mut page = Desk::on(MemoryStore::with_key(key), Desk::of("ann").now, "ann");
    page.start();
    if id != "default" {
        page.launch(id);
    }
    let say = |page: &mut Desk, text: &str| {
        page.must("sendMessage", json!({ "sessionId": id, "text": text }));
        page.says("there");
    };
    if cleared {
        say(&mut page, "before");
        page.must("clearConversation", json!({ "sessionId": id }));
    }
    say(&mut page, "hello");
    page.rows(id);
    page
}

/// Each event that is signed: its number.
fn signed_events(page: &mut Desk, id: &str) -> Vec<u64> {
    let rows = unpacked(page.store.read(&Read::all(Table::Entries, vec![id.into()])));
    let number = |key: &Key| match key.get(1) {
        Some(Part::Number(seq)) => *seq,
        _ => 0,
    };
    let signed = rows.iter().filter(|(_, text)| Row::from_text(text).unwrap().signature().is_some());
    signed.map(|(key, _)| number(key)).collect()
}

/// The signature of this event is that one instead: what lies there then.
fn with_event(page: &mut Desk, id: &str, seq: u64, wrong: fn(&str) -> Option<String>) -> (MemoryStore, u64) {
    let store = page.store.clone();
    let at = |key: &Key| key.len() == 2 && key.get(1) == Some(&Part::Number(seq));
    page.edits(Table::Entries, id, |key, text| at(key).then(|| with_signature(text, wrong).unwrap()));
    let edited = std::mem::replace(&mut page.store, store);
    let rows = |store: &MemoryStore| store.read(&Read::all(Table::Entries, vec![id.into()]));
    assert!(rows(&edited) != rows(&page.store), "row {seq} is in a pack");
    (edited, page.now)
}

/// Each reader of a session finds that this event was changed, and nobody works in it.
fn is_found_everywhere((store, now): &(MemoryStore, u64), id: &str, seq: u64, why: &str) {
    let anew = || Desk::on(store.clone(), *now, "ann");
    // In the journal, by each command that reads its events.
    for by in ["sessions.verify", "sessions.status"] {
        let mut page = anew();
        assert_eq!(page.must(by, json!({ "id": id }))["hmac_status"], "tampered", "{by} {why}");
    }
    assert_eq!(anew().fails("sessions.events", json!({ "id": id })).0, Code::Corrupt, "{why}");
    assert_eq!(anew().fails("sessions.fork", json!({ "id": id })).0, Code::Corrupt, "{why}");
    // When it is taken, by an agent and without one: nothing was asked before.
    let rename = || json!({ "id": id, "displayName": "Other" });
    let mut page = anew();
    assert_eq!(page.fails("sessions.rename", rename()).0, Code::Corrupt, "{why}");
    let mut page = anew();
    page.start();
    let args = json!({ "sessionId": id, "text": "on" });
    assert_eq!(page.fails("sendMessage", args).0, Code::Corrupt, "{why}");
    assert!(page.models.is_empty(), "{why}");
    let told =
        page.events.iter().any(|(name, detail)| *name == "agent:notice" && detail["kind"] == "damaged");
    assert_eq!(told, id == "default", "a start tells of it: {why}");
    let list = page.must("sessions.list", json!({ "withVerification": true }));
    let one = list.as_array().unwrap().iter().find(|one| one["session"]["id"] == id).unwrap();
    assert_eq!(one["hmac_status"], "tampered", "{why}");
    assert_eq!(one["session"]["damaged"]["seq"], seq, "{why}: {list}");
}

#[test]
fn an_event_of_ours_with_a_wrong_signature_is_tampered_with() {
    // Where the session was cleared before, it is read from its checkpoint on: the events are those behind it.
    for (id, cleared) in [("docs", false), ("docs", true), ("default", false), ("default", true)] {
        for (what, wrong) in WRONG {
            let mut page = signed_by_name(id, cleared);
            let last = *signed_events(&mut page, id).last().unwrap();
            let edited = with_event(&mut page, id, last, wrong);
            is_found_everywhere(&edited, id, last, &format!("{what}, {id}, cleared: {cleared}"));
        }
    }
}

/// A session that came in a file of another browser, and has worked here since; and the number of the row by which it came.
fn came_in_a_file(cleared: bool) -> (Desk, u64) {
    let mut there = signed_by("77777777", "docs", false);
    let file = export(&mut there, "docs");
    let mut page = Desk::on(MemoryStore::with_key(OURS), there.now, "ann");
    page.start();
    assert_eq!(import(&mut page, &file).unwrap()["id"], "docs");
    let came = file.lines().filter(|line| line.starts_with("{\"row\"")).count() as u64 + 1;
    for text in ["more", "and more"] {
        page.prompt("docs", text);
        page.says("yes");
        if cleared && text == "more" {
            page.must("clearConversation", json!({ "sessionId": "docs" }));
        }
    }
    page.rows("docs");
    (page, came)
}

/// The events of a file nobody here has signed. Those that were added here, our key has, and it says so.
#[test]
fn an_event_of_ours_with_a_wrong_signature_is_tampered_with_in_a_session_that_came_in_a_file() {
    for cleared in [false, true] {
        let (mut page, came) = came_in_a_file(cleared);
        assert_eq!(page.integrity("docs"), "unverifiable");
        let rows = page.store.read(&Read::all(Table::Entries, vec!["docs".into()]));
        let lies = |seq: &u64| rows.iter().any(|(key, _)| key.get(1) == Some(&Part::Number(*seq)));
        let mut ours = signed_events(&mut page, "docs");
        ours.retain(|seq| *seq > came && lies(seq));
        assert!(ours.len() > 1, "{ours:?}");
        // Of a page of its journal, too: the row by which it came is not among those that are read.
        for seq in [ours[0], *ours.last().unwrap()] {
            for (what, wrong) in WRONG {
                let why = format!("{what}, {seq}, cleared: {cleared}");
                let edited = with_event(&mut page, "docs", seq, wrong);
                let mut anew = Desk::on(edited.0.clone(), edited.1, "ann");
                let events = json!({ "id": "docs", "from": seq, "limit": 1 });
                assert_eq!(anew.fails("sessions.events", events).0, Code::Corrupt, "{why}");
                is_found_everywhere(&edited, "docs", seq, &why);
                assert_eq!(anew.integrity("docs"), "tampered", "{why}");
                // What is whole of it can be gone on with.
                anew.start();
                assert_eq!(anew.must("sessions.salvage", json!({ "id": "docs" }))["id"], "docs-2", "{why}");
                anew.prompt("docs-2", "on");
                anew.says("yes");
                anew.rows("docs-2");
                let verified = anew.must("sessions.verify", json!({ "id": "docs-2" }));
                assert_eq!(verified["hmac_status"], "unverifiable", "{why}");
            }
        }
    }
}

/// No alarm is false: what came in the file is judged by its chain, and so is all where our key may have missed rows.
#[test]
fn what_came_in_a_file_is_not_ours_to_have_signed() {
    let usable = |(store, now): (MemoryStore, u64), strict: bool, why: &str| {
        let mut page = Desk::on(store, now, "ann");
        page.strict = strict;
        for by in ["sessions.verify", "sessions.status"] {
            assert_eq!(page.must(by, json!({ "id": "docs" }))["hmac_status"], "unverifiable", "{by} {why}");
        }
        page.must("sessions.events", json!({ "id": "docs" }));
        page.must("sessions.fork", json!({ "id": "docs" }));
        page.must("sessions.rename", json!({ "id": "docs", "displayName": "Mine" }));
        page.start();
        page.prompt("docs", "on");
        page.says("yes");
        page.prompt("docs-2", "on");
        page.says("yes");
        page.rows("docs");
        for id in ["docs", "docs-2"] {
            assert_eq!(
                page.must("sessions.verify", json!({ "id": id }))["hmac_status"],
                "unverifiable",
                "{why}"
            );
            assert!(!page.must("sessions.events", json!({ "id": id })).as_array().unwrap().is_empty());
        }
    };
    let (mut page, came) = came_in_a_file(false);
    let (theirs, ours): (Vec<u64>, Vec<u64>) =
        signed_events(&mut page, "docs").into_iter().partition(|seq| *seq <= came);
    assert!(!theirs.is_empty() && !ours.is_empty());
    usable((page.store.clone(), page.now), true, "as it came");
    let last = [*theirs.last().unwrap(), *ours.last().unwrap()];
    for (at, strict) in [(last[0], true), (last[1], false)] {
        for (what, wrong) in WRONG {
            let edited = with_event(&mut page, "docs", at, wrong);
            // A signature that says that it is our key's, and is not, nobody else has made.
            let says_ours = wrong(if strict { "00 77777777" } else { "00 0a1b2c3d" });
            if !says_ours.is_some_and(|signature| signature.ends_with(OURS)) {
                usable(edited, strict, &format!("{what}, {at}"));
            }
        }
    }
    // Its head was changed as well: the writer of what is salvaged is unknown.
    let (store, now) = with_event(&mut page, "docs", ours[0], |_| None);
    let mut page = Desk::on(store, now, "ann");
    page.edits(Table::Heads, "docs", |_, row| row.lines().next().map(String::from));
    page.start();
    assert_eq!(page.must("sessions.verify", json!({ "id": "docs" }))["hmac_status"], "tampered");
    assert_eq!(page.must("sessions.salvage", json!({ "id": "docs" }))["id"], "docs-2");
    let rows = page.rows("docs-2");
    let salvaged = rows.iter().rposition(|row| row.contains("\"what\":\"salvage\"")).unwrap() as u64;
    assert!(salvaged > ours[0]);
    assert_eq!(page.must("sessions.fork", json!({ "id": "docs-2", "at": salvaged }))["id"], "docs-2-2");
    for id in ["docs-2", "docs-2-2"] {
        page.prompt(id, "on");
        page.says("yes");
        page.rows(id);
        assert_eq!(page.must("sessions.verify", json!({ "id": id }))["hmac_status"], "unverifiable", "{id}");
        page.must("sessions.events", json!({ "id": id }));
    }
    // A file of a browser that signs nothing.
    let mut there = Desk::of("ann");
    there.signs = false;
    there.start();
    there.launch("docs");
    there.prompt("docs", "hello");
    there.says("there");
    let file = export(&mut there, "docs");
    let mut page = Desk::on(MemoryStore::with_key(OURS), there.now, "ann");
    assert_eq!(import(&mut page, &file).unwrap()["id"], "docs");
    usable((page.store.clone(), page.now), true, "unsigned");
    // It came where nothing was signed, and was worked with: the key is younger.
    let mut page = Desk::of("ann");
    page.signs = false;
    assert_eq!(import(&mut page, &file).unwrap()["id"], "docs");
    page.start();
    page.prompt("docs", "more");
    page.says("yes");
    page.rows("docs");
    let mut page = Desk::on(page.store.clone(), page.now, "ann");
    page.strict = false;
    page.must("sessions.rename", json!({ "id": "docs", "displayName": "Mine" }));
    usable((page.store.clone(), page.now), false, "a younger key");
}

/// Somebody who writes to the disk has the answer say something else, and makes anew what needs no key: the chain, and the
/// head with this behind it. `events`: their signatures are taken out too.
fn forge(page: &mut Desk, id: &str, head: Option<&str>, events: bool) {
    let (mut before, mut rows) = (GENESIS.to_owned(), Vec::new());
    for (key, text) in page.store.read(&Read::all(Table::Entries, vec![id.into()])) {
        let mut lines: Vec<String> = text.lines().map(Into::into).collect();
        lines[1] = lines[1].replace("there", "FORGED");
        let row = rows::row(&lines[0], &lines[1], &before).to_text();
        lines.splice(..4, row.lines().map(Into::into));
        before.clone_from(&lines[3]);
        lines.truncate(if events { 4 } else { 5 });
        rows.push(lines.join("\n"));
        let write = Write::Put { table: Table::Entries, key, value: lines.join("\n") };
        page.store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
    }
    assert!(rows.iter().any(|row| row.contains("FORGED")), "{id}");
    let fold = Session::load(id, &PatternEngine::default(), rows.iter().map(String::as_str)).unwrap();
    let text = fold.head(page.now).to_string();
    page.edits(Table::Heads, id, |_, _| {
        Some(head.map_or_else(|| text.clone(), |head| format!("{text}\n{head}")))
    });
}

/// A signature is no protection if it may be missing.
#[test]
fn a_forged_session_is_tampered_with_where_its_signatures_were_taken_out() {
    let foreign = [&"ab".repeat(32), " 99999999"].concat();
    let heads =
        [("none", None), ("empty", Some("")), ("nonsense", Some("x")), ("foreign", Some(foreign.as_str()))];
    // A key that has signed all heads misses its signature. One that may not have sees what it has signed of the session.
    for (strict, events) in [(true, true), (true, false), (false, false)] {
        for id in ["docs", "default"] {
            for (what, head) in heads {
                let mut page = signed_by_name(id, false);
                page.must("stopAgent", json!({}));
                forge(&mut page, id, head, events);
                let (store, now) = (page.store.clone(), page.now);
                let anew = || {
                    let mut page = Desk::on(store.clone(), now, "ann");
                    page.strict = strict;
                    page
                };
                let why = format!("{id}, head: {what}, strict: {strict}, events: {events}");
                for by in ["sessions.verify", "sessions.status"] {
                    let mut page = anew();
                    let status = page.must(by, json!({ "id": id }));
                    assert_eq!(status["hmac_status"], "tampered", "{by} {why}");
                    // It is not forgotten when a list reads the head alone.
                    let list = page.must("sessions.list", json!({ "withVerification": true }));
                    let one = list.as_array().unwrap().iter().find(|one| one["session"]["id"] == id);
                    assert_eq!(one.unwrap()["hmac_status"], "tampered", "{by} {why}");
                }
                if strict {
                    let list = anew().must("sessions.list", json!({ "withVerification": true }));
                    let one = list.as_array().unwrap().iter().find(|one| one["session"]["id"] == id);
                    assert_eq!(one.unwrap()["hmac_status"], "tampered", "{why}");
                }
                assert_eq!(anew().fails("sessions.fork", json!({ "id": id })).0, Code::Corrupt, "{why}");
                let rename = json!({ "id": id, "displayName": "Other" });
                assert_eq!(anew().fails("sessions.rename", rename).0, Code::Corrupt, "{why}");
                let mut page = anew();
                page.start();
                let args = json!({ "sessionId": id, "text": "on" });
                assert_eq!(page.fails("sendMessage", args).0, Code::Corrupt, "{why}");
                assert!(page.models.is_empty(), "{why}");
            }
        }
    }
}

/// A key is lost, or there was none: who has done nothing wrong goes on.
#[test]
fn what_no_key_of_here_has_signed_stays_usable() {
    for key_is in ["lost", "made later", "not there"] {
        let mut page = Desk::started("ann");
        page.launch("docs");
        page.prompt("docs", "hello");
        page.says("there");
        page.must("stopAgent", json!({}));
        if key_is == "made later" {
            forge(&mut page, "docs", None, true);
        }
        let mut page = page.crash("ann");
        page.strict = false;
        page.key = (key_is == "lost").then_some("another");
        page.signs = key_is != "not there";
        let integrity = if key_is == "made later" { "unverified" } else { "unverifiable" };
        assert_eq!(page.integrity("docs"), integrity, "{key_is}");
        page.must("sessions.rename", json!({ "id": "docs", "displayName": "Mine" }));
        page.start();
        page.prompt("docs", "more");
        page.says("yes");
        page.must("sessions.fork", json!({ "id": "docs" }));
        assert_eq!(page.integrity("docs"), integrity, "{key_is}");
    }
}

#[test]
fn an_event_of_ours_with_a_wrong_signature_comes_in_with_no_file() {
    let mut page = signed_by_name("docs", false);
    let file = export(&mut page, "docs");
    for (what, wrong) in WRONG {
        let mut lines: Vec<String> = file.lines().map(Into::into).collect();
        let row = lines.iter_mut().rfind(|line| line.contains(",\"mac\":")).unwrap();
        let (start, mac) = row.split_once(",\"mac\":\"").unwrap();
        let mac = wrong(mac.trim_end_matches("\"}")).map(|mac| format!(",\"mac\":\"{mac}\""));
        *row = [start, &mac.unwrap_or_default(), "}"].concat();
        let text = summed(&lines.join("\n"));
        let error = import(&mut page, &text).expect_err(what);
        assert!(
            error.code == Code::Corrupt && error.message.contains("event has invalid HMAC"),
            "{what}: {error:?}"
        );
        assert!(page.stored(Table::Heads, "docs-2").is_empty(), "{what}");
        assert_eq!(page.fails("sessions.admit", json!({})).0, Code::Aborted, "{what}");
    }
    assert_eq!(import(&mut page, &file).unwrap()["id"], "docs-2");
    assert_eq!(page.integrity("docs-2"), "verified");
    // What another browser has signed is not ours to judge.
    let mut there = Desk::on(MemoryStore::with_key("77777777"), page.now, "ann");
    assert_eq!(import(&mut there, &file).unwrap()["id"], "docs");
    assert_eq!(there.integrity("docs"), "unverifiable");
}

/// Who has to say who works here is told how: by a method of this package.
#[test]
fn who_must_say_who_works_here_is_told_how() {
    let mut page = Desk::started("ann");
    page.must("setOperator", json!({ "operator": null }));
    let error = page.ask("sessions.list", json!({})).unwrap_err();
    assert_eq!(error.code, Code::OperatorRequired);
    assert_eq!(error.message, "active operator session required");
    assert_eq!(error.hint.as_deref(), Some("say who works here with setOperator()"));
}

/// A session is under a policy, and so is all that is put on record of it.
#[test]
fn what_is_on_record_names_the_policy_of_its_session() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    for id in ["docs", "default"] {
        let sent = page.must("sendMessage", json!({ "sessionId": id, "text": "hello" }));
        page.says("there");
        let policy = json!(format!("policy_{id}"));
        assert_eq!(page.status(id)["policy_envelope_id"], policy);
        let run = page.must("sessions.task", json!({ "id": sent["runId"] }));
        assert_eq!(run["policy_envelope_id"], policy);
        let events = page.must("sessions.events", json!({ "id": id }));
        assert!(events.as_array().unwrap().len() >= 3);
        for event in events.as_array().unwrap() {
            assert_eq!(event["policy_envelope_id"], policy, "{event}");
        }
        let receipts = page.must("sessions.receipts", json!({ "id": id }));
        assert!(!receipts.as_array().unwrap().is_empty());
        for receipt in receipts.as_array().unwrap() {
            assert_eq!(receipt["result"]["metadata"]["policy_envelope_id"], policy, "{receipt}");
        }
        page.holds(id);
    }
}

/// A file of the first session comes into a workspace in which nothing has happened yet.
#[test]
fn a_file_of_the_first_session_gets_an_id_of_its_own() {
    let mut page = Desk::started("ann");
    page.must("sendMessage", json!({ "text": "hello" }));
    page.says("there");
    let file = export(&mut page, "default");
    let run = page.must("history", json!({}))[1]["runId"].clone();
    let mut there = Desk::of("ann");
    assert_eq!(import(&mut there, &file).unwrap()["id"], "default-2");
    assert_eq!(import(&mut there, &file).unwrap()["id"], "default-3");
    assert_eq!(there.must("sessions.task", json!({ "id": run }))["id"], run);
    // The first session begins as if nothing had come.
    there.start();
    assert_eq!(there.must("history", json!({})), json!([]));
    there.must("sendMessage", json!({ "text": "mine" }));
    there.says("yes");
    for (id, messages) in [("default", 2), ("default-2", 2), ("default-3", 2)] {
        let told = there.must("history", json!({ "sessionId": id }));
        assert_eq!(told.as_array().unwrap().len(), messages, "{id}");
        there.holds(id);
    }
    there.prompt("default-2", "more");
    there.says("and more");
}
