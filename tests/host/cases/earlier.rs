//! Conversations that were summed up and go on without what is before their window: what a start reads, and that nothing else
//! tells the two apart.

use super::compaction::{answers, history, long, say, says, start, sums_up};
use crate::support::desk::Desk;
use crate::support::media::{SAMPLES, given};
use fastrand::Rng;
use lodger::error::Code;
use lodger::harness::Notice;
use lodger::journal::Row;
use lodger::journal::pack::window_key;
use lodger::model::{Block, StopReason};
use lodger::ports::{Commit, PatternEngine, Read, Table, Write};
use lodger::session::Session;
use serde_json::{Value, json};

fn window(page: &Desk) -> Option<String> {
    page.store.read(&Read::all(Table::Entries, window_key("default"))).pop().map(|(_, text)| text)
}

/// What another page goes on with, with its agent.
fn again(page: Desk) -> Desk {
    let mut page = page.crash("somebody");
    begin(&mut page);
    page
}

fn begin(page: &mut Desk) {
    let tool = |name: &str| json!({ "name": name, "description": "d", "inputSchema": "{}", "readOnly": true, "execute": { "$fn": 7 } });
    page.must("tools.register", tool("read"));
    start(page, json!({ "skills": [{ "name": "sell", "description": "d", "template": "Sell it." }] }));
}

fn goes_on(page: &Desk) -> bool {
    page.harness.session("default").unwrap().goes_on()
}

/// Says something, which is answered with a tool call or without one, and summed up before where that is asked for.
fn talk(page: &mut Desk, rng: &mut Rng, n: usize) {
    let mut message = json!({ "text": format!("message {n} {}", long("word", 20 + rng.usize(..90))) });
    if rng.u8(..4) == 0 {
        message["idempotencyKey"] = format!("key {n}").into();
    }
    if rng.u8(..8) == 0 {
        message["context"] = format!("from the page {n}").into();
    }
    page.must("sendMessage", message);
    goes_through(page, rng, n);
}

fn goes_through(page: &mut Desk, rng: &mut Rng, n: usize) {
    let mut calls = 0;
    while !page.models.is_empty() {
        if sums_up(page) {
            says(page, &format!("summed up before {n}"));
        } else if calls < 2 && rng.u8(..4) == 0 {
            calls += 1;
            let (name, arguments) = match rng.u8(..4) {
                0 => ("use_skill", json!({ "name": "sell" })),
                _ => ("read", json!({ "n": n })),
            };
            // Some servers give each call the same id.
            let call =
                Block::ToolCall { id: "call_0".into(), name: name.into(), arguments: arguments.to_string() };
            answers(page, vec![call], StopReason::ToolUse);
            while !page.tools.is_empty() {
                page.returns(0);
            }
        } else {
            says(page, &format!("answer {n} {}", long("so", 20 + rng.usize(..90))));
        }
    }
}

/// A conversation of so many messages, in which two were edited, and its checkpoint is stored.
fn conversation(seed: u64, messages: usize) -> Desk {
    let mut rng = Rng::with_seed(seed);
    let mut page = Desk::of("somebody");
    begin(&mut page);
    for n in 0..messages {
        talk(&mut page, &mut rng, n);
        if n == 5 {
            let id = history(&mut page)[4]["id"].clone();
            page.must("sendMessage", json!({ "text": "otherwise", "replaces": id }));
            goes_through(&mut page, &mut rng, n);
        }
        if n == 9 {
            page.must("regenerate", json!({}));
            goes_through(&mut page, &mut rng, n);
        }
    }
    let mut page = again(page);
    page.rows("default");
    assert!(
        window(&page).is_some() && !goes_on(&page),
        "seed {seed}: it was made by a start that has read all"
    );
    page
}

/// What a model has said of a conversation, and what it was told from memory, is content like the rest of it.
#[test]
fn clearing_erases_what_was_summed_up_and_what_was_told_from_memory() {
    let remembers = |page: Desk| {
        let mut page = page.crash("somebody");
        start(&mut page, json!({ "memory": true }));
        page
    };
    for (seed, messages) in [(1, 0), (1, 160), (2, 200)] {
        let page = if messages == 0 { Desk::of("somebody") } else { conversation(seed, messages) };
        let mut page = remembers(page);
        assert_eq!(goes_on(&page), messages > 0);
        let told = page.must("memory.add", json!({ "text": "The porcupine lives in Oslo." }))["id"].clone();
        page.must("sendMessage", json!({ "text": "The walrus says hello." }));
        let mut summaries = 0;
        while sums_up(&page) {
            summaries += 1;
            says(&mut page, "Of all that was said, the quokka matters.");
        }
        says(&mut page, "The xylophone answers.");
        if summaries == 0 {
            page.must("compact", json!({ "instructions": "Above all the zebra." }));
            assert!(sums_up(&page));
            says(&mut page, "Of all that was said, the quokka matters.");
        }
        // What the memory says now is not what was told.
        page.must("memory.update", json!({ "id": told, "text": "Lives in Bergen." }));
        page.rows("default");
        let mut page = remembers(page);
        page.must("history", json!({}));
        page.rows("default");
        let mut words = vec!["porcupine", "walrus", "quokka", "xylophone"];
        words.extend((summaries == 0).then_some("zebra"));
        words.extend((messages > 0).then_some("summed up before"));
        for word in &words {
            assert!(page.all_stored().contains(word), "{word}, {messages} messages");
        }
        page.must("clearConversation", json!({}));
        for after in ["cleared", "said something since", "in the next page"] {
            page.rows("default");
            for word in &words {
                assert!(!page.all_stored().contains(word), "{word}, {messages} messages, {after}");
            }
            match after {
                "cleared" => {
                    page.must("sendMessage", json!({ "text": "Hello again." }));
                    assert!(
                        words.iter().all(|word| !page.asked.to_string().contains(word)),
                        "{}",
                        page.asked
                    );
                    assert!(page.asked.to_string().contains("Lives in Bergen."), "the memory itself stays");
                    says(&mut page, "Fresh.");
                }
                _ => page = remembers(page),
            }
        }
        assert_eq!(page.must("sessions.verify", json!({ "id": "default" }))["hmac_status"], "verified");
        page.holds("default");
    }
}

#[test]
fn a_start_reads_what_is_behind_the_window() {
    let read = |messages: usize| {
        let mut page = again(conversation(1, messages));
        assert!(goes_on(&page));
        let (read, shown) = (page.read, page.notices.len());
        page.must("watch", json!({}));
        let told = page.notices.drain(shown..).find_map(|notice| match notice {
            Notice::History(_, json, earlier) => Some((json.len(), earlier)),
            _ => None,
        });
        let (told, earlier) = told.unwrap();
        assert!(earlier && told < 60_000, "{told}");
        say(&mut page, "and now?", "yes");
        assert_eq!(page.read, read, "a message reads nothing more");
        page.holds("default");
        read
    };
    let (few, many) = (read(150), read(600));
    assert!(many < few + 400 && many < 1_600, "{few} and {many}");
}

#[test]
fn files_of_what_is_before_it_stay_as_long_as_they_are_shown() {
    let files = |page: &mut Desk| {
        page.rows("default");
        page.store.read(&Read::all(Table::Files, Vec::new())).len()
    };
    let mut rng = Rng::with_seed(1);
    let mut page = Desk::of("somebody");
    begin(&mut page);
    page.must("sendMessage", json!({ "text": "look", "files": [given(&SAMPLES[0])] }));
    says(&mut page, "a picture");
    for n in 0..200 {
        talk(&mut page, &mut rng, n);
    }
    for start in 0..3 {
        page = again(page);
        assert_eq!((goes_on(&page), files(&mut page)), (start > 0, 1));
    }
    // Other conversations give up their files, and look which of all are still wanted.
    page.launch("docs");
    let queued = json!({ "text": "later", "whenBusy": "queue", "files": [given(&SAMPLES[1])] });
    page.must(
        "sendMessage",
        json!({ "text": "and this", "sessionId": "docs", "files": [given(&SAMPLES[2])] }),
    );
    says(&mut page, "another picture");
    page.must("sendMessage", json!({ "text": "now" }));
    page.must("sendMessage", queued);
    let waits = page.harness.session("default").unwrap().queue()[0].message().to_owned();
    assert_eq!(files(&mut page), 3);
    page.must("queue.remove", json!({ "id": waits }));
    says(&mut page, "yes");
    assert_eq!(files(&mut page), 2, "that of the message which waited is gone");
    page.must("clearConversation", json!({ "sessionId": "docs" }));
    assert_eq!((goes_on(&page), files(&mut page)), (true, 1));
    page.must("clearConversation", json!({}));
    assert_eq!(files(&mut page), 0);
}

#[test]
fn pages_of_what_is_before_it_cost_what_they_show() {
    let mut page = again(conversation(1, 600));
    let whole = history(&mut again_without(&page));
    let mut before: Option<Value> = None;
    let mut shown: Vec<Value> = Vec::new();
    let mut most = 0;
    loop {
        let read = page.read;
        let mut asked = json!({ "limit": 50 });
        asked.as_object_mut().unwrap().extend(before.map(|id| ("before".to_owned(), id)));
        let next = page.must("history", asked);
        let next = next.as_array().unwrap();
        most = most.max(page.read - read);
        shown.splice(0..0, next.clone());
        if next.len() < 50 {
            break;
        }
        before = Some(next[0]["id"].clone());
    }
    assert_eq!(shown, whole);
    assert!(goes_on(&page) && most < 1_500, "{most} rows");
    assert_eq!(history(&mut page), whole);
    assert!(goes_on(&page));
}

/// The same disk without that checkpoint.
fn again_without(page: &Desk) -> Desk {
    let mut store = page.store.clone();
    let delete = Write::DeletePrefix { table: Table::Entries, prefix: window_key("default") };
    store.commit(&Commit { writes: vec![delete], ..Commit::default() }).unwrap();
    again(Desk::on(store, page.now, "somebody"))
}

/// A command of which the answer, what is asked of the model by it, and what is stored have to be the same.
fn both(desks: &mut [Desk; 2], name: &str, args: Value, seed: u64) {
    let told = desks.each_mut().map(|desk| desk.ask(name, args.clone()).map_err(|error| error.to_json()));
    assert_eq!(told[0], told[1], "seed {seed}: {name} {args}");
    let asked = desks.each_ref().map(|desk| (desk.models.clone(), desk.asked.clone()));
    assert_eq!(asked[0], asked[1], "seed {seed}: {name} {args}");
    for desk in &mut *desks {
        goes_through(desk, &mut Rng::with_seed(seed), 7_000);
    }
    let asked = desks.each_ref().map(|desk| desk.asked.clone());
    assert_eq!(asked[0], asked[1], "seed {seed}: {name} {args}");
    let rows = desks.each_mut().map(|desk| desk.rows("default"));
    assert_eq!(rows[0], rows[1], "seed {seed}: {name} {args}");
}

#[test]
fn whatever_is_asked_is_done_as_with_all_runs() {
    for seed in 0..12 {
        let page = conversation(seed, 130);
        let whole = history(&mut again_without(&page));
        let mut rng = Rng::with_seed(seed);
        for _ in 0..4 {
            let mut desks = [again(Desk::on(page.store.clone(), page.now, "somebody")), again_without(&page)];
            assert_eq!(desks.each_ref().map(goes_on), [true, false]);
            for step in 0..4 {
                let ids = whole.iter().map(|message| &message["id"]);
                let id = ids.clone().nth(rng.usize(..whole.len())).unwrap();
                let late = ids.rev().nth(rng.usize(..8)).unwrap();
                let run = &whole[rng.usize(..whole.len())]["runId"];
                let id = if rng.bool() { id } else { late };
                let key = format!("key {}", rng.usize(..130));
                let limit = 1 + rng.usize(..120);
                let (name, args) = match rng.u8(..20) {
                    0 => ("history", json!({})),
                    1 => ("history", json!({ "limit": limit })),
                    2 => ("history", json!({ "limit": limit, "before": id })),
                    3 => ("history", json!({ "version": id })),
                    4 => ("sendMessage", json!({ "text": "more", "idempotencyKey": key })),
                    5 | 6 => ("sendMessage", json!({ "text": "instead", "replaces": id })),
                    7 => ("regenerate", json!({})),
                    8 => ("regenerate", json!({ "messageId": id })),
                    9 => ("switchTo", json!({ "messageId": id })),
                    10 => ("removeMessage", json!({ "messageId": id })),
                    11 => ("clearConversation", json!({})),
                    12 => ("sessions.output", json!({ "id": "default" })),
                    13 => ("wait", json!({ "runId": run })),
                    14 => ("result", json!({ "runId": run })),
                    15 => ("compact", json!({})),
                    16 => ("sessions.activity", json!({ "id": run })),
                    17 => ("sessions.archive", json!({ "id": "default" })),
                    18 => ("sessions.status", json!({ "id": "default" })),
                    _ => ("sendMessage", json!({ "text": "and then?" })),
                };
                both(&mut desks, name, args, seed * 100 + step);
            }
            for desk in &mut desks {
                desk.holds("default");
                let verified = desk.must("sessions.verify", json!({ "id": "default" }));
                assert_eq!(
                    (&verified["hmac_status"], &verified["damaged"]),
                    (&json!("verified"), &Value::Null)
                );
                let heads = desk.stored(Table::Heads, "default");
                assert!(!heads[0].contains("\"erases\""), "seed {seed}");
            }
            let again = desks.map(|desk| {
                let mut desk = again(desk);
                let verified = desk.must("sessions.verify", json!({ "id": "default" }));
                assert_eq!(
                    (&verified["hmac_status"], &verified["damaged"]),
                    (&json!("verified"), &Value::Null)
                );
                (
                    history(&mut desk),
                    say(&mut desk, "at last", "good"),
                    desk.asked.clone(),
                    desk.rows("default"),
                )
            });
            assert_eq!(again[0], again[1], "seed {seed}");
        }
    }
}

#[test]
fn the_next_one_is_made_from_the_one_before() {
    let mut page = again(conversation(6, 130));
    let mut rng = Rng::with_seed(6);
    for round in 1..4 {
        let first = window(&page);
        for n in 0..90 {
            talk(&mut page, &mut rng, 1_000 * round + n);
        }
        let read = page.read;
        page = again(page);
        assert!(goes_on(&page) && page.read < read + 1_600, "{}", page.read);
        page.rows("default");
        assert_ne!(window(&page), first);
        // It is held against what all rows add up to.
        let verified = page.must("sessions.verify", json!({ "id": "default" }));
        assert_eq!((&verified["hmac_status"], &verified["damaged"]), (&json!("verified"), &Value::Null));
        page.holds("default");
    }
    assert_eq!(history(&mut page), history(&mut again_without(&page)));
}

#[test]
fn what_is_cleared_or_removed_leaves_the_checkpoint_with_it() {
    let page = conversation(3, 130);
    let first = history(&mut again_without(&page))[0]["id"].clone();
    for (name, args) in [("clearConversation", json!({})), ("removeMessage", json!({ "messageId": first }))] {
        let mut page = again(Desk::on(page.store.clone(), page.now, "somebody"));
        page.must(name, args);
        page.rows("default");
        assert_eq!(window(&page), None, "{name}");
        let mut page = again(page);
        page.holds("default");
        assert!(!page.stored(Table::Entries, "default").iter().any(|row| row.contains("message 0 ")));
    }
}

/// What a start finds that does not go on from it: another text, none, the head of an earlier package.
#[test]
fn one_that_is_not_believed_is_made_anew() {
    let page = conversation(2, 130);
    let (text, whole) = (window(&page).unwrap(), history(&mut again_without(&page)));
    for damaged in [text.replace("\"generation\":0", "\"generation\":4"), "{}".into(), String::new()] {
        let mut store = page.store.clone();
        let write = Write::Put { table: Table::Entries, key: window_key("default"), value: damaged };
        store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
        let mut other = again(Desk::on(store, page.now, "somebody"));
        assert!(!goes_on(&other));
        assert_eq!(history(&mut other), whole);
        other.holds("default");
        assert_eq!(window(&again(again(other))).map(|text| text.len() > 100), Some(true));
    }
}

/// At every place of a journal at which there can be one.
#[test]
fn a_fold_from_it_is_the_fold_of_all_rows() {
    let mut page = conversation(4, 150);
    let rows = page.rows("default");
    let texts: Vec<&str> = rows.iter().map(String::as_str).collect();
    let engine = PatternEngine::default();
    let load = |rows: &[&str]| Session::load("default", &engine, rows.iter().copied()).unwrap();
    let (mut places, mut found) = (0, 0);
    for end in (40..=texts.len()).step_by(5) {
        let whole = load(&texts[..end]);
        let made = |least: u64| Session::with("default", &engine).window_of(&whole, &texts[..end], least);
        let Some((place, run)) = made(0) else {
            continue;
        };
        found += 1;
        assert_eq!(made(place.seq), Some((place.clone(), run.clone())));
        assert!(made(end as u64).is_none());
        let next = Row::from_text(texts[place.seq as usize]).unwrap().header().unwrap();
        assert_eq!(next.run.as_ref(), Some(&run));
        // It goes on as the other does, as long as nothing is about what is before it.
        let at = Session::at_checkpoint("default", &engine, &place.text).unwrap();
        for more in [end, (end + 60).min(texts.len())] {
            let Ok((tail, _)) = at.clone().go_on(texts[place.seq as usize..more].iter().copied()) else {
                continue;
            };
            let whole = load(&texts[..more]);
            assert_eq!((tail.seq(), tail.hash(), tail.next()), (whole.seq(), whole.hash(), whole.next()));
            assert_eq!(tail.state(), whole.state());
            places += 1;
        }
    }
    assert!(found > 100 && places > 150, "{found} {places}");
}

/// What is damaged before the window, a start does not read. What shows it says so, and work goes on.
#[test]
fn damage_before_the_window_is_found_by_what_reads_it() {
    let page = conversation(7, 130);
    let damaged = |from: &str| {
        let mut page = Desk::on(page.store.clone(), page.now, "somebody");
        page.tampers(Table::Entries, "default", from, "other");
        again(page)
    };
    let mut before = damaged("message 20 ");
    assert!(goes_on(&before));
    say(&mut before, "and now?", "yes");
    assert_eq!(before.integrity("default"), "verified");
    let shown = history(&mut before);
    assert!(shown.iter().any(|message| message.get("damaged").is_some()), "{:?}", shown.first());
    assert_eq!(shown.last().unwrap()["parts"][0]["text"], "yes");
    // It is set aside from here on, as one whose damage was found by a start.
    assert_eq!(before.integrity("default"), "tampered");
    let first = shown.iter().find(|message| message["role"] == "user").unwrap()["id"].clone();
    assert_eq!(before.fails("removeMessage", json!({ "messageId": first })).0, Code::Corrupt);
    // Behind it the start finds it.
    let mut behind = damaged("message 129 ");
    assert!(behind.harness.session("default").is_none());
    assert_eq!(behind.fails("sendMessage", json!({ "text": "and now?" })).0, Code::Corrupt);
}

#[test]
fn a_session_that_is_taken_by_its_next_message_goes_on_from_there_too() {
    let mut page = Desk::of("somebody");
    begin(&mut page);
    page.launch("a");
    let ask = |page: &mut Desk, n: usize| {
        page.must(
            "sessions.prompt",
            json!({ "id": "a", "text": format!("message {n} {}", long("word", 60)) }),
        );
        goes_through(page, &mut Rng::with_seed(n as u64), n);
    };
    for n in 0..130 {
        ask(&mut page, n);
    }
    for round in 0..3 {
        page = again(page);
        let read = page.read;
        ask(&mut page, 200 + round);
        let read = page.read - read;
        assert_eq!(page.harness.session("a").unwrap().goes_on(), round > 0);
        assert!(round == 0 || read < 900, "{read} rows");
        page.rows("a");
    }
    assert_eq!(page.must("history", json!({ "sessionId": "a" })).as_array().unwrap().len(), 266);
    page.holds("a");
}

#[test]
fn files_before_a_summary_leave_room_for_others() {
    let file = |n: usize| json!([{ "id": format!("{n:064}"), "mediaType": "image/png", "size": 3_900_000 }]);
    let mut rng = Rng::with_seed(1);
    let mut page = Desk::of("somebody");
    begin(&mut page);
    for n in 0..6 {
        page.must("sendMessage", json!({ "text": "look", "files": file(n) }));
        goes_through(&mut page, &mut rng, n);
    }
    let more = json!({ "text": "look at this", "files": file(9) });
    for n in 0..100 {
        talk(&mut page, &mut rng, n);
    }
    assert_eq!(page.sent.matches("image/png").count(), 0);
    // Whether it has all runs at hand or goes on from its window.
    for _ in 0..2 {
        page.must("sendMessage", more.clone());
        goes_through(&mut page, &mut rng, 999);
        page = again(page);
    }
}
