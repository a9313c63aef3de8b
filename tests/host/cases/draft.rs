//! What was written down of an answer that streamed: of a row that is not what was written, no word is shown.

use super::damage::list;
use super::words::streams;
use crate::support::desk::Desk;
use lodger::ports::{Commit, Key, MemoryStore, Part, Table, Write};
use serde_json::{Value, json};

/// A page that goes away when two drafts of an answer were written.
fn left() -> (MemoryStore, u64) {
    let mut page = Desk::started("ann");
    page.must("sendMessage", json!({ "text": "sweep the path" }));
    streams(&mut page, "The path ");
    streams(&mut page, "is half swept");
    page.rows("default");
    assert_eq!(page.stored(Table::Drafts, "default").len(), 2);
    (page.store, page.now)
}

/// The same where somebody edits the drafts: what each of these keys has then; `None`: it goes.
fn edited(edit: impl Fn(usize, Key, String) -> Vec<(Key, Option<String>)>) -> Desk {
    let (store, now) = left();
    let mut page = Desk::on(store, now + 1_000, "ann");
    let drafts = page.store.read(&lodger::ports::Read::all(Table::Drafts, vec!["default".into()]));
    for (at, (key, text)) in drafts.into_iter().enumerate() {
        let put = |(key, text): (Key, Option<String>)| match text {
            Some(value) => Write::Put { table: Table::Drafts, key, value },
            None => Write::DeletePrefix { table: Table::Drafts, prefix: key },
        };
        let writes = edit(at, key, text).into_iter().map(put).collect();
        page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    }
    page
}

/// What the answer shows, and whether it says that it ends early.
fn shown(page: &mut Desk) -> (String, bool) {
    let history = list(page.must("history", json!({})));
    let answer = history.iter().find(|message| message["role"] == "assistant").unwrap();
    assert_eq!(answer["damaged"].is_object(), answer["damaged"]["why"].is_string());
    let texts = answer["parts"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str());
    (texts.collect(), answer["damaged"].is_object())
}

/// The same, before the agent starts and after that, when all of it is in the journal.
fn judged(mut page: Desk, text: &str, early: bool, why: &str) {
    assert_eq!(shown(&mut page), (text.into(), early), "{why}: looked at");
    page.start();
    page.rows("default");
    assert_eq!(shown(&mut page), (text.into(), early), "{why}: taken");
    assert_eq!(page.integrity("default"), "verified", "{why}");
    assert!(page.stored(Table::Drafts, "default").is_empty(), "{why}");
    // What is asked anew is not cut.
    page.must("resume", json!({}));
    page.says("It is swept.");
    assert_eq!(shown(&mut page), ("It is swept.".into(), false), "{why}: answered");
}

fn at(key: &Key, number: u64) -> Key {
    key.iter().take(3).cloned().chain([Part::Number(number)]).collect()
}

#[test]
fn a_draft_that_is_damaged_gives_no_words_and_its_answer_says_so() {
    let swept = |text: String| Some(text.replace("swept", "wept"));
    let on = |n: usize, edit: &dyn Fn(String) -> Option<String>| {
        edited(|at, key, text| if at == n { vec![(key, edit(text))] } else { vec![] })
    };
    judged(edited(|_, _, _| vec![]), "The path is half swept", false, "nothing");
    judged(on(1, &swept), "The path ", true, "a changed end");
    judged(on(0, &|text| Some(text.replace("path", "bath"))), "", true, "a changed beginning");
    judged(
        on(1, &|text| Some(text.replacen(&text[..1], if text.starts_with('0') { "1" } else { "0" }, 1))),
        "The path ",
        true,
        "a changed sum",
    );
    judged(on(1, &|text| Some(text[..text.len() - 4].into())), "The path ", true, "a cut row");
    judged(on(1, &|_| Some("äöü".repeat(40))), "The path ", true, "an end that is no text of ours");
    judged(
        on(1, &|_| Some(String::from("[[0"))),
        "The path ",
        true,
        "a row that is cut so that it looks old",
    );
    judged(on(0, &|_| None), "", true, "no beginning");
    // Nothing says that there was more.
    judged(on(1, &|_| None), "The path ", false, "no end");
    let moved = |n: usize, key: Key, text: String| {
        if n == 1 { vec![(at(&key, 9), Some(text)), (key, None)] } else { vec![] }
    };
    judged(edited(moved), "The path ", true, "another place");
    let both =
        |n: usize, key: Key, text: String| if n == 0 { vec![(at(&key, 2), Some(text))] } else { vec![] };
    judged(edited(both), "The path ", true, "a row in the place of another");
}

#[test]
fn a_draft_from_before_there_were_sums_is_read() {
    let old = |n: usize, key: Key, _: String| {
        let (start, text) = [(0, "It was "), (7, "old.")][n];
        vec![(key, Some(json!([[0, start, ["text", text]]]).to_string()))]
    };
    judged(edited(old), "It was old.", false, "an old row");
    let gap = |n: usize, key: Key, _: String| {
        let (start, text) = [(0, "It was "), (9, "old.")][n];
        vec![(key, Some(json!([[0, start, ["text", text]]]).to_string()))]
    };
    judged(edited(gap), "It was ", true, "an old row with a gap before it");
}

#[test]
fn the_journal_says_of_a_lost_answer_that_it_ends_early() {
    let mut page =
        edited(|n, key, text| if n == 1 { vec![(key, Some(text.replace("half", "calf")))] } else { vec![] });
    page.start();
    let journal = list(page.must("sessions.journal", json!({ "id": "default" })));
    let lost: Vec<&Value> = journal.iter().filter(|entry| entry["type"] == "lost").collect();
    assert_eq!(lost.len(), 1);
    assert_eq!((&lost[0]["blocks"], &lost[0]["damaged"]), (&json!([["text", "The path "]]), &json!(true)));
}

#[test]
fn the_mark_stays_as_long_as_the_words_do() {
    let mut page =
        edited(|n, key, text| if n == 1 { vec![(key, Some(text.replace("swept", "wept")))] } else { vec![] });
    page.start();
    page.must("resume", json!({}));
    assert_eq!(shown(&mut page), ("The path ".into(), true), "asked anew, nothing has come");
    page.must("interrupt", json!({}));
    assert_eq!(shown(&mut page), ("The path ".into(), true), "stopped before anything came");
    page.holds("default");
    // What comes anew and is kept has no mark.
    let mut page =
        edited(|n, key, text| if n == 1 { vec![(key, Some(text.replace("swept", "wept")))] } else { vec![] });
    page.start();
    page.must("resume", json!({}));
    streams(&mut page, "The path is swept, and ");
    page.must("interrupt", json!({}));
    assert_eq!(shown(&mut page), ("The path is swept, and ".into(), false));
}

#[test]
fn a_salvaged_answer_says_that_its_rest_is_lost() {
    let mut page =
        edited(|n, key, text| if n == 1 { vec![(key, Some(text.replace("half", "calf")))] } else { vec![] });
    page.start();
    page.must("sendMessage", json!({ "text": "go on" }));
    page.says("It is swept.");
    // The end of the lost run is not what was written any more, so the session is damaged.
    let lost = page.rows("default").iter().position(|row| row.contains("\"lost\"")).unwrap() as u64;
    page.edits(Table::Entries, "default", |key, _| (key[1] == Part::Number(lost + 2)).then(|| "?".into()));
    let (store, now) = (page.store, page.now);
    let mut page = Desk::on(store, now + 1_000, "ann");
    page.must("sessions.salvage", json!({ "id": "default", "replace": true }));
    let history = list(page.must("history", json!({})));
    let texts = |message: &Value| -> Vec<String> {
        let parts = message["parts"].as_array().unwrap().iter();
        parts.filter_map(|part| part["text"].as_str().map(String::from)).collect()
    };
    let said: Vec<_> = history.iter().map(texts).collect();
    assert_eq!(said[1], ["The path ", "[What was answered behind this is lost.]"], "{history:?}");
}
