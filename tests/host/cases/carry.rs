//! Sessions in files, case by case: what is exported comes in again whole or not at all, and is run again.

use crate::support::desk::{Answered, Desk, whole_before};
use crate::support::rows;
use fastrand::Rng;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::Input;
use lodger::journal::{Ask, Entry, FORMAT, GENESIS, Header, Outside, RecordKind, Row, Sums};
use lodger::model::{Block, StopReason, Usage};
use lodger::ports::{Key, Part, PatternEngine, Read, Table};
use lodger::session::carry::{self, Reader};
use lodger::session::record::{Receipt, Short};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\xff";
const BASE64: &str = "iVBORw0KGgoA/w==";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id of a file with these bytes.
fn file_id(media_type: &str, bytes: &[u8]) -> String {
    let of = |bytes: &[u8]| hex(&Sha256::digest(bytes));
    let hash = of(format!("{media_type} {}", of(bytes)).as_bytes());
    ["file_", hash.get(..40).unwrap()].concat()
}

/// A session "a" with two runs: an answer with a file before it, and one that was lost while a tool call was open.
fn worked() -> Desk {
    let mut desk = Desk::started("ann");
    let tool = json!({ "name": "send_mail", "description": "Sends.", "inputSchema": { "type": "object" }, "execute": { "$fn": 3 } });
    desk.must("tools.register", tool);
    desk.must("sessions.launch", json!({ "id": "a", "displayName": "Docs" }));
    let file = json!([{ "id": file_id("image/png", PNG), "mediaType": "image/png", "size": PNG.len(), "name": "a.png" }]);
    desk.must("sessions.prompt", json!({ "id": "a", "text": "hello", "files": file }));
    desk.says("there");
    desk.must("sessions.prompt", json!({ "id": "a", "text": "mail it" }));
    let call = Block::ToolCall { id: "c".into(), name: "send_mail".into(), arguments: "{}".into() };
    desk.answers_with(vec![call], StopReason::ToolUse);
    desk.rows("a");
    desk
}

/// What a page makes of an export.
pub fn export(desk: &mut Desk, id: &str) -> String {
    let mut page = desk.must("sessions.export", json!({ "id": id }));
    let files = page["files"].as_array().cloned().unwrap_or_default();
    let mut text = page["lines"].as_str().unwrap().to_owned();
    while page.get("next").is_some() {
        let args = json!({ "id": id, "from": page["next"], "last": page["last"], "hash": page["hash"] });
        page = desk.must("sessions.export", args);
        text += page["lines"].as_str().unwrap();
    }
    for file in &files {
        let line = json!({ "file": file, "mediaType": "image/png", "size": PNG.len() });
        text += &format!("{line}\n{}\n", json!({ "bytes": BASE64 }));
    }
    text + &carry::end(page["last"].as_u64().unwrap(), files.len() as u64, page["hash"].as_str().unwrap())
}

/// The steps of an import up to the one that admits it.
fn check(desk: &mut Desk, text: &str) -> Answered {
    desk.must("sessions.import", json!({ "step": "begin" }));
    for lines in text.lines().collect::<Vec<_>>().chunks(3) {
        desk.ask("sessions.import", json!({ "step": "lines", "lines": lines.join("\n") }))?;
    }
    desk.ask("sessions.import", json!({ "step": "check" }))
}

/// What is written once it was admitted.
fn write(desk: &mut Desk, text: &str) -> Answered {
    for line in text.lines().filter(|line| line.starts_with("{\"row\"")) {
        desk.ask("sessions.import", json!({ "step": "rows", "lines": line }))?;
    }
    for line in text.lines().filter(|line| line.starts_with("{\"file\"")) {
        let file: Value = serde_json::from_str(line).unwrap();
        if file.get("gone").is_some() {
            continue;
        }
        let files = json!([{ "id": file["file"], "mediaType": "image/png", "size": PNG.len() }]);
        desk.ask("sessions.import", json!({ "step": "file", "files": files }))?;
    }
    desk.ask("sessions.import", json!({ "step": "done" }))
}

pub fn import(desk: &mut Desk, text: &str) -> Answered {
    check(desk, text)?;
    desk.ask("sessions.admit", json!({}))?;
    let done = write(desk, text);
    if done.is_err() {
        desk.must("sessions.import", json!({ "step": "cancel" }));
    }
    done
}

fn replayed(desk: &mut Desk, text: &str) -> Answered {
    desk.must("sessions.replay", json!({ "step": "begin" }));
    for line in text.lines() {
        if desk.ask("sessions.replay", json!({ "step": "lines", "lines": line }))? == true {
            break;
        }
    }
    desk.ask("sessions.replay", json!({ "step": "check" }))
}

fn integrity(desk: &mut Desk, id: &str) -> Value {
    desk.must("sessions.status", json!({ "id": id }))["hmac_status"].clone()
}

fn texts(desk: &mut Desk, id: &str) -> Vec<Value> {
    let history = desk.must("history", json!({ "sessionId": id }));
    let part = |message: &Value| message["parts"].as_array().unwrap().last().cloned().unwrap_or_default();
    history.as_array().unwrap().iter().map(|message| part(message)["text"].clone()).collect()
}

/// The same file with other rows: hashes, head and end are made anew, so that nothing but what it says is wrong.
fn forged(text: &str, change: &mut dyn FnMut(&Header, Value) -> Option<Value>) -> String {
    let engine = PatternEngine::default();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let mut rows: Vec<String> = Vec::new();
    let mut hash = GENESIS.to_owned();
    for line in text.lines().filter(|line| line.starts_with("{\"row\"")) {
        let row = Row::from_line(line).unwrap();
        let (mut header, entry) = row.read().unwrap();
        let said = change(&header, entry.unwrap().to_json());
        let entry = said.and_then(|said| Entry::from_json(&header.kind, &said));
        let Some(entry) = entry else { continue };
        header.seq = rows.len() as u64 + 1;
        let row = Row::new(&header, &entry, &hash);
        hash = row.hash().into();
        rows.push(row.to_text());
    }
    // The head that such rows have, if they have one.
    let id = first["session"].as_str().unwrap();
    let head = lodger::session::Session::load(id, &engine, rows.iter().map(String::as_str));
    let head = head.map_or_else(|_| first["head"].to_string(), |session| session.head(0).to_string());
    let mut sum = String::new();
    let mut file = carry::begin(id, &head, &mut sum);
    file += &carry::page(rows.iter().map(String::as_str), &mut sum).unwrap();
    let files: Vec<&str> =
        text.lines().filter(|line| line.starts_with("{\"file\"") || line.starts_with("{\"bytes\"")).collect();
    for line in &files {
        file += &format!("{line}\n");
    }
    file + &carry::end(rows.len() as u64, files.len() as u64 / 2, &sum)
}

#[test]
fn a_session_comes_in_as_it_went_out() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    let before = desk.rows("a");
    // On another machine, where nothing has ever run.
    let mut there = Desk::of("bea");
    there.now += 60_000;
    let state = import(&mut there, &file).unwrap();
    assert_eq!(state["id"], "a");
    assert_eq!((&state["operator_subject"], &state["display_name"]), (&json!("bea"), &json!("Docs")));
    assert_eq!((&state["status"], &state["pid"]), (&json!("idle"), &Value::Null));
    let rows = there.rows("a");
    assert_eq!(rows[..before.len()], before, "rows and their signatures are as they were");
    let fold = there.holds("a");
    assert!(fold.current().is_none());
    assert_eq!(texts(&mut there, "a")[..2], [json!("hello"), json!("there")]);
    let events = there.must("sessions.events", json!({ "id": "a" }));
    let kinds: Vec<&str> =
        events.as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["imported", "run_interrupted"]);
    let imported = &events[kinds.len() - 2];
    assert_eq!(imported["metadata"]["from_session_id"], "a");
    assert_eq!(imported["metadata"]["from_seq"], before.len());
    assert_eq!(imported["operator_subject"], "bea");
    // Every receipt that was there is there, and the chain goes on.
    let receipts = there.must("sessions.receipts", json!({ "id": "a" }));
    for pair in receipts.as_array().unwrap().windows(2) {
        assert_eq!(pair[1]["previous_receipt_hash"], pair[0]["self_hash"]);
    }
    // It goes on with an agent, and the model is told what was said.
    there.start();
    there.must("sessions.prompt", json!({ "id": "a", "text": "and now?" }));
    there.says("now");
    there.holds("a");
    assert_eq!(there.must("sessions.list", json!({})).as_array().unwrap().len(), 2);
    assert!(there.stored(Table::Meta, "arriving").is_empty());
    assert_eq!(there.stored(Table::Files, &file_id("image/png", PNG)).len(), 1);
}

/// The same file without the bytes of its file, of which it says that they are lost.
fn without_bytes(text: &str) -> String {
    let line = |line: &str| match serde_json::from_str::<Value>(line).unwrap() {
        said if said["bytes"].is_string() => String::new(),
        said if said["file"].is_string() => format!("{}\n", json!({ "file": said["file"], "gone": "why" })),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn a_file_without_lost_bytes_comes_in_where_its_journal_says_so() {
    let mut desk = Desk::started("ann");
    let id = file_id("image/png", PNG);
    desk.must("sessions.launch", json!({ "id": "a" }));
    let file = json!([{ "id": id, "mediaType": "image/png", "size": PNG.len() }]);
    desk.must("sessions.prompt", json!({ "id": "a", "text": "hello", "files": file }));
    desk.says("there");
    // Nothing is put down yet: somebody may have made the file shorter.
    let before = without_bytes(&export(&mut desk, "a"));
    let mut there = Desk::started("ann");
    let error = import(&mut there, &before).unwrap_err();
    assert_eq!(error.code, Code::Corrupt);
    assert!(error.message.contains(&id) && error.message.starts_with("line "), "{error}");
    assert!(
        error.hint.as_ref().is_some_and(|hint| hint.contains("send a message in the session")),
        "{error}"
    );
    assert_eq!(replayed(&mut there, &before).unwrap()["same"], true, "a replay needs no bytes");
    // The run goes on without the file.
    desk.must("sessions.prompt", json!({ "id": "a", "text": "and now" }));
    desk.misses(&id);
    desk.says("it is lost");
    let after = without_bytes(&export(&mut desk, "a"));
    let state = import(&mut there, &after).unwrap();
    let copy = state["id"].as_str().unwrap().to_owned();
    assert!(there.stored(Table::Files, &id).is_empty());
    let gone = |desk: &mut Desk, id: &str| {
        desk.must("history", json!({ "sessionId": id }))[0]["parts"][0]["gone"].clone()
    };
    assert_eq!(gone(&mut there, &copy), true);
    assert_eq!(replayed(&mut there, &after).unwrap()["same"], true);
    // Nobody says twice that they are lost, and a fork from before the loss finds it out for itself.
    let rows = there.rows(&copy).len();
    there.must("sessions.prompt", json!({ "id": copy, "text": "still there?" }));
    there.says("no");
    assert!(!there.rows(&copy)[rows..].iter().any(|row| row.contains("\"files_gone\"")));
    let fork = desk.must("sessions.fork", json!({ "id": "a" }))["id"].as_str().unwrap().to_owned();
    assert_eq!(gone(&mut desk, &fork), true);
    // With its bytes it comes in as ever: another session may have them.
    let whole = export(&mut desk, "a");
    import(&mut there, &whole).unwrap();
    assert_eq!(there.stored(Table::Files, &id).len(), 1);
}

#[test]
fn what_comes_from_a_file_is_answered_by_the_provider_that_is_asked_first() {
    let mut desk = Desk::started("ann");
    desk.must("sessions.launch", json!({ "id": "own", "provider": "spare" }));
    let file = export(&mut desk, "own");
    let state = import(&mut desk, &file).unwrap();
    assert_eq!((&state["id"], &state["provider_id"]), (&json!("own-2"), &json!("custom")));
    desk.prompt("own-2", "hello");
    desk.says("there");
    assert_eq!(desk.streams, [50]);
    desk.holds("own-2");
    let fork = desk.must("sessions.fork", json!({ "id": "own-2", "provider": "spare" }));
    assert_eq!(fork["provider_id"], "spare");
}

#[test]
fn an_id_that_is_taken_gets_a_number() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    for id in ["a-2", "a-3"] {
        assert_eq!(import(&mut desk, &file).unwrap()["id"], id);
        let fold = desk.holds(id);
        assert_eq!(fold.record().unwrap().id(), id);
    }
    // A copy of a copy, and the first conversation.
    let copy = export(&mut desk, "a-2");
    assert_eq!(import(&mut desk, &copy).unwrap()["id"], "a-2-2");
    desk.holds("a-2-2");
    let default = export(&mut desk, "default");
    assert_eq!(import(&mut desk, &default).unwrap()["id"], "default-2");
    // The run at work has its own page, and was not touched.
    assert_eq!(desk.must("sessions.status", json!({ "id": "a" }))["session"]["status"], "running");
}

#[test]
fn what_another_key_has_signed_stays_unverifiable() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    import(&mut desk, &file).unwrap();
    assert_eq!(integrity(&mut desk, "a-2"), "verified");
    desk.key = Some("other");
    import(&mut desk, &file).unwrap();
    desk.key = None;
    assert_eq!(integrity(&mut desk, "a-3"), "unverifiable");
    desk.must("sessions.rename", json!({ "id": "a-3", "displayName": "Mine" }));
    assert_eq!(integrity(&mut desk, "a-3"), "unverifiable");
    // What has no signature need not be what was never signed; a wrong one is told.
    let head = serde_json::from_str::<Value>(file.lines().next().unwrap()).unwrap()["signatures"].to_string();
    let unsigned = with_first_line(&file, &head, "[]");
    assert_eq!(import(&mut desk, &unsigned).unwrap()["id"], "a-4");
    assert_eq!(integrity(&mut desk, "a-4"), "unverifiable");
    let wrong = with_first_line(&file, &head, "[\"1\",\"2\"]");
    let error = import(&mut desk, &wrong).unwrap_err();
    assert_eq!(
        (error.code, &*error.message),
        (Code::Corrupt, "stored agent session state has invalid HMAC: a")
    );
}

/// The file with another first line, and the hash that comes of it.
fn with_first_line(text: &str, from: &str, to: &str) -> String {
    let first = text.lines().next().unwrap();
    assert!(first.contains(from));
    summed(&text.replacen(first, &first.replacen(from, to, 1), 1))
}

/// The file with the hash of its lines.
pub fn summed(text: &str) -> String {
    let mut sum = String::new();
    let mut lines: Vec<String> = text.lines().map(Into::into).collect();
    for line in lines.iter().take(1).chain(lines.iter().filter(|line| line.starts_with("{\"row\""))) {
        sum = hex(&Sha256::digest(format!("{sum}\n{line}")));
    }
    let last = lines.pop().unwrap();
    let mut end: Value = serde_json::from_str(&last).unwrap();
    end["end"]["hash"] = sum.into();
    lines.push(end.to_string());
    lines.join("\n")
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_no_session() {
    let mut desk = worked();
    for name in ["One", "Two", "Three"] {
        desk.must("sessions.rename", json!({ "id": "a", "displayName": name }));
    }
    let file = export(&mut desk, "a");
    let lines: Vec<&str> = file.lines().collect();
    assert!(lines.len() > 20, "{}", lines.len());
    let mut there = Desk::of("bea");
    for length in 0..lines.len() {
        let error = check(&mut there, &lines[..length].join("\n")).unwrap_err();
        assert!(matches!(error.code, Code::Corrupt | Code::InvalidArguments), "{length}: {error:?}");
        assert!(error.message.starts_with("line "), "{error:?}");
    }
    // Without any one of its lines, and with any two of them the other way round.
    for at in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(at);
        assert!(check(&mut there, &fewer.join("\n")).is_err(), "line {at}");
        let mut other = lines.clone();
        other.swap(at, (at + 1) % lines.len());
        assert!(check(&mut there, &other.join("\n")).is_err(), "line {at}");
    }
    assert!(there.stored(Table::Entries, "a").is_empty());
    import(&mut there, &file).unwrap();
}

#[test]
fn hostile_files_are_clear_errors() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    let count = file.lines().count();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let row = file.lines().nth(1).unwrap();
    let with = |from: &str, to: &str| {
        assert!(file.contains(from), "{from}");
        file.replacen(from, to, 1)
    };
    let cases: Vec<(&str, String, Code, &str)> = vec![
        ("another file", "hello\nthere".into(), Code::InvalidArguments, "line 1: this is no session"),
        ("an empty one", String::new(), Code::InvalidArguments, "line 1: this is no session"),
        ("JSON", "{\"a\":1}".into(), Code::InvalidArguments, "line 1: this is no session"),
        ("a newer one", with("\"v\":1", "\"v\":2"), Code::NewerVersion, "line 1: a newer version"),
        (
            "newer rows",
            summed(&rehashed(&file)),
            Code::NewerVersion,
            "line 2: entry 1 was written by a newer",
        ),
        (
            "a wrong hash",
            with("\"contentHash\":\"", "\"contentHash\":\"0"),
            Code::Corrupt,
            "the row does not follow",
        ),
        ("a word", with("there", "where"), Code::Corrupt, "the row does not follow"),
        ("a row that is none", with(row, "{\"row\":[]}"), Code::Corrupt, "line 2: "),
        ("deep nesting", with(row, &deep), Code::Corrupt, "line 2: it is no line of a session"),
        ("a deep row", with(row, &format!("{{\"row\":{deep}}}")), Code::Corrupt, "line 2: "),
        (
            "a deep head",
            with("\"head\":{", &format!("\"x\":{deep},\"head\":{{")),
            Code::InvalidArguments,
            "line 1: ",
        ),
        (
            "prototype names",
            with("{\"file\":", "{\"__proto__\":{\"file\":\"x\"},\"constructor\":"),
            Code::Corrupt,
            "it is no line of a session",
        ),
        (
            "a forged status",
            with_first_line(&file, "\"status\":\"running\"", "\"status\":\"idle\""),
            Code::Corrupt,
            "the head in line 1 does not say what the rows say",
        ),
        (
            "a forged owner",
            with_first_line(&file, "\"operator_subject\":\"ann\"", "\"operator_subject\":\"bea\""),
            Code::Corrupt,
            "the head in line 1 does not say what the rows say",
        ),
        (
            "another id",
            with_first_line(&file, "\"session\":\"a\"", "\"session\":\"b\""),
            Code::Corrupt,
            "the head in line 1 does not say what the rows say",
        ),
        (
            "a long id",
            with_first_line(&file, "\"session\":\"a\"", &format!("\"session\":\"{}\"", "a".repeat(10_000))),
            Code::Corrupt,
            "line 1: no session can have this id",
        ),
        (
            "a file of the head's that is not there",
            with_first_line(&file, "\"files\":[", "\"files\":[\"file_x\","),
            Code::Corrupt,
            "lines are missing, or were changed",
        ),
        ("other bytes", with(BASE64, "iVBORw0KGgoA/g=="), Code::Corrupt, "is not what its id says"),
        (
            "another type",
            with("image/png\",\"size", "text/html\",\"size"),
            Code::Corrupt,
            "is not what its id says",
        ),
        ("no base64", with(BASE64, "iVBORw0KGgoA/w=!"), Code::Corrupt, "the bytes are no base64"),
        (
            "bytes of no file",
            with("{\"file\"", "{\"bytes\":\"AAAA\"}\n{\"file\""),
            Code::Corrupt,
            "belong to no file",
        ),
        ("more behind the end", format!("{file}{row}"), Code::Corrupt, "something comes after the end"),
        (
            "other counts",
            with("\"files\":1", "\"files\":2"),
            Code::Corrupt,
            "lines are missing, or were changed",
        ),
    ];
    let mut there = Desk::of("bea");
    for (what, text, code, words) in cases {
        let error = check(&mut there, &text).expect_err(what);
        assert_eq!(error.code, code, "{what}: {error:?}");
        assert!(error.message.contains(words) && error.message.starts_with("line "), "{what}: {error:?}");
        assert!(error.hint.is_some(), "{what}: {error:?}");
    }
    // A line without an end is refused before it is looked at.
    let mut reader = Reader::new(&PatternEngine::default(), false);
    assert_eq!(reader.line(&" ".repeat(carry::LINE + 1)).unwrap_err().message, "line 1: it is too long");
    assert!(there.stored(Table::Entries, "a").is_empty() && there.stored(Table::Heads, "a").is_empty());
    assert_eq!(there.fails("sessions.admit", json!({})).0, Code::Aborted);
    assert_eq!(count, file.lines().count());
}

/// The file with a first row that a later version has written.
fn rehashed(file: &str) -> String {
    let row = file.lines().nth(1).unwrap();
    let text = Row::from_line(row).unwrap().to_text();
    let lines: Vec<&str> = text.lines().collect();
    let newer = lines[0].replace(&format!("\"v\":{FORMAT}"), &format!("\"v\":{}", FORMAT + 1));
    file.replacen(row, &rows::row(&newer, lines[1], GENESIS).to_line(), 1)
}

#[test]
fn whatever_rows_say_nothing_breaks() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    let mut rng = Rng::with_seed(5);
    let mut said: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..600 {
        let target = rng.u64(1..40);
        let mut other = |header: &Header, mut value: Value| {
            if header.seq != target && rng.u8(..20) > 0 {
                return Some(value);
            }
            let members = value.as_object_mut().unwrap();
            let name = members.keys().nth(rng.usize(..members.len().max(1))).cloned();
            let replaced = match rng.u8(..7) {
                0 => return None,
                1 => json!(u64::MAX),
                2 => json!("a".repeat(rng.usize(..300))),
                3 => json!([[["text", "x"]]]),
                4 => json!({ "__proto__": { "status": "idle" } }),
                5 => Value::Null,
                _ => json!(-1),
            };
            match name {
                Some(name) if rng.bool() => drop(members.insert(name, replaced)),
                Some(name) => drop(members.remove(&name)),
                None => {}
            }
            Some(value)
        };
        let text = forged(&file, &mut other);
        let mut there = Desk::of("bea");
        match import(&mut there, &text) {
            Ok(state) => {
                *said.entry("imported").or_default() += 1;
                there.holds_together(state["id"].as_str().unwrap());
            }
            Err(error) => {
                *said.entry(error.code.as_str()).or_default() += 1;
                assert!(there.stored(Table::Heads, "a").is_empty(), "{error:?}");
                assert!(there.stored(Table::Entries, "a").is_empty(), "{error:?}");
            }
        }
        let _ = replayed(&mut there, &text);
    }
    assert!(said["imported"] > 50 && said["corrupt"] > 50, "{said:?}");
}

trait Together {
    fn holds_together(&mut self, id: &str);
}

impl Together for Desk {
    /// The journal folds to its head. Whether it replays is another thing: somebody has made it up.
    fn holds_together(&mut self, id: &str) {
        let rows = self.rows(id);
        let texts = rows.iter().map(String::as_str);
        let fold = lodger::session::Session::load(id, &PatternEngine::default(), texts).unwrap();
        let head = self.stored(Table::Heads, id)[0].clone();
        let head: Value = serde_json::from_str(head.lines().next().unwrap()).unwrap();
        assert!(fold.agrees_with(&head) && fold.current().is_none());
        self.must("history", json!({ "sessionId": id }));
    }
}

#[test]
fn a_journal_is_run_again_and_the_first_difference_told() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(replayed(&mut desk, &file).unwrap(), json!({ "same": true, "package": version }));
    // Nobody has decided so.
    let mut seq = 0;
    let text = forged(&file, &mut |header, mut value| {
        if header.kind == "ended" && seq == 0 {
            seq = header.seq;
            value["outcome"] = "failed".into();
        }
        Some(value)
    });
    let told = replayed(&mut desk, &text).unwrap();
    assert_eq!(told["same"], false);
    let difference = &told["firstDifference"];
    assert_eq!(difference["seq"], seq);
    assert_eq!(difference["stored"]["entry"]["outcome"], "failed");
    assert_eq!(difference["made"]["entry"]["outcome"], "completed");
    // A decision too many.
    let last = file.lines().filter(|line| line.starts_with("{\"row\"")).count() as u64;
    let short = forged(&file, &mut |header, value| (header.seq != last).then_some(value));
    assert_eq!(replayed(&mut desk, &short).unwrap()["same"], true);
    // A file that is not whole is no journal.
    assert_eq!(replayed(&mut desk, &file.replacen("there", "where", 1)).unwrap_err().code, Code::Corrupt);
    // An imported one replays too, with what has made it one of its own.
    import(&mut desk, &file).unwrap();
    let again = export(&mut desk, "a-2");
    assert_eq!(replayed(&mut desk, &again).unwrap()["same"], true);
}

/// JavaScript's numbers are exact up to 2^53, and sums must be.
#[test]
fn a_usage_that_nobody_can_count_is_corrupt() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    let counts = |n: u64| json!([n, 1, 0, 0, 0]);
    for (usage, cost, comes) in [
        (counts((1 << 53) - 1), json!(1), true),
        (counts(1 << 53), json!(1), false),
        (counts(u64::MAX), json!(1), false),
        (counts(1), json!(1_u64 << 53), false),
    ] {
        let text = forged(&file, &mut |header, mut entry| {
            if header.kind == "answered" {
                (entry["usage"], entry["cost"]) = (usage.clone(), cost.clone());
            }
            Some(entry)
        });
        let mut there = Desk::of("bea");
        let came = import(&mut there, &text);
        assert_eq!(
            came.as_ref().err().map(|error| error.code),
            (!comes).then_some(Code::Corrupt),
            "{usage} {cost} {came:?}"
        );
    }
}

/// A file with these entries behind the row of each number, under a head that fits if one can.
fn lengthened(file: &str, more: &dyn Fn(&Header) -> Vec<Entry>) -> String {
    let (mut rows, mut hash) = (Vec::new(), GENESIS.to_owned());
    for line in file.lines().filter(|line| line.starts_with("{\"row\"")) {
        let (mut header, entry) = Row::from_line(line).unwrap().read().unwrap();
        let added = more(&header);
        for entry in std::iter::once(entry.unwrap()).chain(added) {
            header.kind = entry.kind().into();
            header.run = header.run.filter(|_| !matches!(entry, Entry::Cleared { .. }));
            header.seq = rows.len() as u64 + 1;
            let row = Row::new(&header, &entry, &hash);
            hash = row.hash().into();
            rows.push(row.to_text());
        }
    }
    let texts = rows.iter().map(String::as_str);
    let head = lodger::session::Session::load("a", &PatternEngine::default(), texts.clone()).unwrap();
    let mut sum = String::new();
    let mut file = carry::begin("a", &head.head(0).to_string(), &mut sum);
    file += &carry::page(texts, &mut sum).unwrap();
    file + &carry::end(rows.len() as u64, 0, &sum)
}

/// A session of three runs, in a file. And how many rows it has.
fn three_runs(desk: &mut Desk) -> (String, u64) {
    desk.must("sessions.launch", json!({ "id": "a" }));
    for text in ["one", "two", "three"] {
        desk.must("sessions.prompt", json!({ "id": "a", "text": text }));
        desk.says(text);
    }
    let file = export(desk, "a");
    let rows = file.lines().filter(|line| line.starts_with("{\"row\"")).count() as u64;
    (file, rows)
}

#[test]
fn sums_that_nobody_can_count_are_corrupt() {
    let (file, last) = three_runs(&mut Desk::started("ann"));
    let usage = |input_tokens: u64| Usage { input_tokens, ..Usage::default() };
    let most = (1 << 53) - 1;
    for (sums, comes) in [
        (Sums { turns: most, usage: usage(most), cost: Some(most), known_cost: most, wall_ms: most }, true),
        (Sums { turns: most + 1, ..Sums::default() }, false),
        (Sums { usage: usage(u64::MAX), ..Sums::default() }, false),
        (Sums { cost: Some(u64::MAX), ..Sums::default() }, false),
        (Sums { known_cost: most + 1, ..Sums::default() }, false),
        (Sums { wall_ms: u64::MAX, ..Sums::default() }, false),
    ] {
        let cleared =
            |header: &Header| if header.seq == last { vec![Entry::Cleared { sums }] } else { vec![] };
        let came = import(&mut Desk::of("bea"), &lengthened(&file, &cleared));
        let code = came.as_ref().err().map(|error| error.code);
        assert_eq!(code, (!comes).then_some(Code::Corrupt), "{sums:?} {came:?}");
    }
}

/// An id in which something is that nobody sees could look like another session's.
#[test]
fn a_file_with_an_id_that_hides_something_is_corrupt() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    let first = file.lines().next().unwrap();
    assert!(first.contains("\"session\":\"a\""), "{first}");
    for hidden in ["\u{200b}", "\u{34f}", "\u{fe0f}", "\u{180b}", "\u{17b4}", "\u{2028}", "\u{e0100}"] {
        let hiding = file.replacen("\"session\":\"a\"", &format!("\"session\":\"a{hidden}\""), 1);
        let error = import(&mut Desk::of("bea"), &forged(&hiding, &mut |_, entry| Some(entry))).unwrap_err();
        assert_eq!(error.code, Code::Corrupt, "{hidden:?}");
        let (code, _) = desk.fails("sessions.launch", json!({ "id": format!("b{hidden}") }));
        assert_eq!(code, Code::InvalidArguments, "{hidden:?}");
    }
}

/// Names of origins without end: each row is held against all that came before it.
#[test]
fn marks_without_end_are_corrupt() {
    let mut desk = Desk::started("ann");
    let (file, _) = three_runs(&mut desk);
    let outside = |from: u64, many: u64| {
        let names: Vec<String> = (from..from + many).map(|n| format!("tool:{n:08}")).collect();
        Outside::from_json(&json!(names)).unwrap()
    };
    for (rows, same) in [(1, true), (1_500, false)] {
        let marked = |header: &Header| match header.kind.as_str() {
            "called" => (0..rows)
                .map(|n| Entry::Marked { outside: outside(header.seq * 200_000 + (rows - n) * 50, 50) })
                .collect(),
            _ => vec![],
        };
        let file = lengthened(&file, &marked);
        let told = replayed(&mut desk, &file);
        let said = told.as_ref().map(|told| told["same"].clone()).map_err(|error| error.message.clone());
        match said {
            Ok(said) => assert!(same && said == true),
            Err(said) => assert!(!same && said.contains("more work to read than a session can be"), "{said}"),
        }
        assert_eq!(import(&mut Desk::of("bea"), &file).is_ok(), same);
    }
}

#[test]
fn a_file_that_keeps_its_reader_busy_is_corrupt() {
    let both = json!({ "items": { "$ref": "#/$defs/n" } });
    let twice = json!({ "type": "array", "anyOf": [both, both] });
    let schema =
        json!({ "type": "object", "properties": { "v": { "$ref": "#/$defs/n" } }, "$defs": { "n": twice } });
    let busy = |depth: usize| {
        let mut desk = Desk::started("ann");
        desk.must("sessions.launch", json!({ "id": "a", "displayName": "Docs" }));
        let text = format!("{{\"v\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        for _ in 0..3 {
            desk.must("sessions.prompt", json!({ "id": "a", "text": "hello", "schema": { "json": schema } }));
            desk.says(&text);
            desk.says(&text);
        }
        export(&mut desk, "a")
    };
    let mut desk = Desk::started("bea");
    assert_eq!(replayed(&mut desk, &busy(5)).unwrap()["same"], true);
    let error = replayed(&mut desk, &busy(60)).unwrap_err();
    assert_eq!(error.code, Code::Corrupt);
    assert!(error.message.contains("more work to read than a session can be"), "{error:?}");
    assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("busy")));
}

#[test]
fn many_calls_of_one_answer_are_gone_through_so_often_and_no_more() {
    let calls = |count: usize| {
        let mut desk = Desk::started("ann");
        let id = "a";
        desk.must("sessions.launch", json!({ "id": id, "displayName": "Docs" }));
        desk.must("sessions.prompt", json!({ "id": id, "text": "hello" }));
        let call = |n| Block::ToolCall { id: format!("c{n}"), name: "none".into(), arguments: "{}".into() };
        desk.answers_with((0..count).map(call).collect(), StopReason::ToolUse);
        desk.says("done");
        export(&mut desk, id)
    };
    let mut desk = Desk::started("bea");
    assert_eq!(replayed(&mut desk, &calls(500)).unwrap()["same"], true);
    assert_eq!(replayed(&mut desk, &calls(8_000)).unwrap_err().code, Code::Corrupt);
}

#[test]
fn what_was_cleared_is_in_no_file_and_is_folded() {
    let mut desk = worked();
    desk.must("clearConversation", json!({ "sessionId": "a" }));
    desk.must("sessions.prompt", json!({ "id": "a", "text": "anew" }));
    desk.says("yes");
    let file = export(&mut desk, "a");
    assert!(!file.contains("there") && !file.contains("mail it") && file.contains("anew"), "{file}");
    assert_eq!(replayed(&mut desk, &file).unwrap()["same"], true);
    let mut there = Desk::of("bea");
    import(&mut there, &file).unwrap();
    there.holds("a");
    assert_eq!(texts(&mut there, "a"), [json!("anew"), json!("yes")]);
}

#[test]
fn an_export_goes_page_by_page_and_ends_where_it_began() {
    let mut desk = Desk::started("ann");
    desk.must("sessions.launch", json!({ "id": "a" }));
    for number in 0..30 {
        desk.must("sessions.prompt", json!({ "id": "a", "text": format!("prompt {number}") }));
        desk.says("answer");
    }
    desk.rows("a");
    let first = desk.must("sessions.export", json!({ "id": "a" }));
    assert_eq!(first["lines"].as_str().unwrap().lines().count(), 32);
    // What comes now is not of this file.
    desk.must("sessions.prompt", json!({ "id": "a", "text": "later" }));
    desk.says("answer");
    let mut page = first.clone();
    let mut text = page["lines"].as_str().unwrap().to_owned();
    let mut pages = 1;
    while page.get("next").is_some() {
        let args = json!({ "id": "a", "from": page["next"], "last": page["last"], "hash": page["hash"] });
        page = desk.must("sessions.export", args);
        text += page["lines"].as_str().unwrap();
        pages += 1;
    }
    let last = page["last"].as_u64().unwrap();
    assert_eq!(pages, (last + 1).div_ceil(32));
    text += &carry::end(last, 0, page["hash"].as_str().unwrap());
    assert!(!text.contains("later"));
    import(&mut Desk::of("bea"), &text).unwrap();
}

#[test]
fn a_page_that_goes_away_leaves_nothing_of_what_did_not_arrive() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    let mut there = Desk::of("bea");
    check(&mut there, &file).unwrap();
    assert_eq!(there.must("sessions.admit", json!({})), json!({ "id": "a" }));
    for line in file.lines().skip(1).take(5) {
        there.must("sessions.import", json!({ "step": "rows", "lines": line }));
    }
    assert_eq!(there.stored(Table::Entries, "a").len(), 5);
    let mut there = there.crash("bea");
    assert_eq!(there.must("sessions.list", json!({})), json!([]), "it is there for nobody");
    assert_eq!(there.fails("sessions.status", json!({ "id": "a" })).0, Code::SessionNotFound);
    there.start();
    there.rows("a");
    assert!(there.stored(Table::Entries, "a").is_empty());
    assert!(there.stored(Table::Meta, "arriving").is_empty());
    assert_eq!(import(&mut there, &file).unwrap()["id"], "a");
    there.holds("a");
    // A start after one that has arrived takes nothing away.
    let mut there = there.crash("bea");
    there.start();
    there.holds("a");
}

#[test]
fn an_import_that_is_given_up_leaves_nothing() {
    let file = export(&mut worked(), "a");
    type End = fn(&mut Desk);
    let ends: [(End, bool); 3] = [
        (|desk| drop(desk.must("sessions.import", json!({ "step": "cancel" }))), true),
        (|desk| drop(desk.must("stopAgent", json!({}))), true),
        (|desk| drop(desk.must("close", json!({}))), false),
    ];
    for (end, goes_on) in ends {
        for runs in [false, true] {
            let mut there = Desk::of("bea");
            if runs {
                there.start();
            }
            check(&mut there, &file).unwrap();
            there.must("sessions.admit", json!({}));
            there.must("sessions.import", json!({ "step": "rows", "lines": file.lines().nth(1).unwrap() }));
            if !runs && goes_on {
                // A start waits for the end of it; so does a stop.
                let start = there.command("startAgent", json!({}));
                assert_eq!(there.answers.get(&start), None);
                there.must("sessions.import", json!({ "step": "cancel" }));
                assert_eq!(there.answers.get(&start), Some(&Ok(Value::Null)));
            } else {
                end(&mut there);
            }
            assert!(there.stored(Table::Entries, "a").is_empty());
            if goes_on {
                let rows = json!({ "step": "rows", "lines": file.lines().nth(2).unwrap() });
                assert_eq!(there.fails("sessions.import", rows).0, Code::Aborted);
                assert_eq!(import(&mut there, &file).unwrap()["id"], "a");
            }
        }
    }
}

#[test]
fn one_session_arrives_at_a_time_and_others_go_on() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    check(&mut desk, &file).unwrap();
    desk.must("sessions.admit", json!({}));
    assert_eq!(check(&mut desk, &file).unwrap_err().code, Code::Busy);
    assert_eq!(desk.fails("sessions.fork", json!({ "id": "a" })).0, Code::Busy);
    desk.must("sendMessage", json!({ "text": "hi" }));
    assert_eq!(write(&mut desk, &file).unwrap()["id"], "a-2");
    desk.holds("a-2");
    // What comes the second time must be what came the first.
    check(&mut desk, &file).unwrap();
    desk.must("sessions.admit", json!({}));
    let (head, rows) = file.split_once('\n').unwrap();
    let other = [head, &rows.replacen("hello", "jello", 1)].join("\n");
    assert_eq!(write(&mut desk, &other).unwrap_err().message, "the file has changed while it was read");
    desk.must("sessions.import", json!({ "step": "cancel" }));
    check(&mut desk, &file).unwrap();
    desk.must("sessions.admit", json!({}));
    assert_eq!(desk.fails("sessions.import", json!({ "step": "done" })).0, Code::Corrupt);
    desk.must("sessions.import", json!({ "step": "cancel" }));
}

#[test]
fn nobody_carries_a_session_without_an_operator() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    desk.must("setOperator", json!({ "operator": { "subject": "bea" } }));
    export(&mut desk, "a");
    assert_eq!(desk.fails("sessions.fork", json!({ "id": "a" })).0, Code::PermissionDenied);
    desk.must("setOperator", json!({ "operator": null }));
    for (name, args) in [
        ("sessions.export", json!({ "id": "a" })),
        ("sessions.fork", json!({ "id": "a" })),
        ("sessions.import", json!({ "step": "begin" })),
        ("sessions.replay", json!({ "step": "begin" })),
    ] {
        assert_eq!(desk.fails(name, args).0, Code::OperatorRequired, "{name}");
    }
    // One who leaves in between has imported nothing.
    desk.must("setOperator", json!({ "operator": { "subject": "ann" } }));
    check(&mut desk, &file).unwrap();
    desk.must("setOperator", json!({ "operator": null }));
    assert_eq!(desk.fails("sessions.admit", json!({})).0, Code::OperatorRequired);
}

#[test]
fn a_fork_begins_at_any_entry() {
    let mut desk = worked();
    let before = desk.rows("a");
    let history = desk.must("history", json!({ "sessionId": "a" }));
    let mut interrupted = 0;
    for at in 1..=before.len() {
        let state = desk.must("sessions.fork", json!({ "id": "a", "at": at }));
        let id = state["id"].as_str().unwrap().to_owned();
        assert_eq!(id, format!("a-{}", at + 1));
        let rows = desk.rows(&id);
        assert_eq!(rows[..at], before[..at]);
        let fold = desk.holds(&id);
        assert!(fold.current().is_none());
        interrupted += usize::from(rows.iter().any(|row| row.contains("\"copied\"")));
        assert_eq!(state["operator_subject"], "ann");
        let events = desk.must("sessions.events", json!({ "id": id }));
        let forked = events.as_array().unwrap().iter().find(|event| event["event_type"] == "forked").unwrap();
        assert_eq!(forked["metadata"]["from_seq"], at);
        // It goes on as a session of its own.
        desk.must("sessions.prompt", json!({ "id": id, "text": "go on" }));
        desk.says("gone on");
        desk.holds(&id);
        assert_eq!(integrity(&mut desk, &id), "verified");
    }
    assert!(interrupted > 5 && interrupted < before.len(), "{interrupted} of {}", before.len());
    assert_eq!(desk.rows("a"), before, "nothing has changed where they came from");
    assert_eq!(desk.must("history", json!({ "sessionId": "a" })), history);
}

#[test]
fn a_fork_of_what_came_from_a_file_came_from_it_too() {
    let file = export(&mut worked(), "a");
    let rows = file.lines().filter(|line| line.starts_with("{\"row\"")).count() as u64;
    let mut desk = Desk::started("ann");
    desk.key = Some("another");
    import(&mut desk, &file).unwrap();
    // What the file says ends before the entry that says where it comes from.
    for (of, at) in [("a", rows), ("a-2", rows), ("a-2-2", rows + 1)] {
        let fork = desk.must("sessions.fork", json!({ "id": of, "at": at }));
        let id = fork["id"].as_str().unwrap().to_owned();
        assert_eq!(integrity(&mut desk, &id), "unverifiable", "{id}");
        let fold = desk.holds(&id);
        assert!(fold.imported_at() > rows, "{id}");
        // A tool that can send something out is not used without a question.
        let tool = json!({ "name": "fetch", "description": "Asks.", "openWorld": true, "readOnly": true,
            "inputSchema": { "type": "object" }, "execute": { "$fn": 3 }, "replace": true });
        desk.must("tools.register", tool);
        desk.prompt(&id, "go on");
        let call = Block::ToolCall { id: "d".into(), name: "fetch".into(), arguments: "{}".into() };
        desk.answers_with(vec![call], StopReason::ToolUse);
        let asked = desk.events.iter().rfind(|(name, _)| *name == "agent:permission-required");
        let asked = asked.unwrap_or_else(|| panic!("{id}: {:?}", desk.events));
        assert_eq!((&asked.1["sessionId"], &asked.1["reason"]), (&json!(id), &json!("external_text")));
    }
}

#[test]
fn the_runs_of_what_it_is_a_copy_of_stay_where_they_are_found() {
    let mut desk = worked();
    let run = desk.must("history", json!({ "sessionId": "a" }))[0]["runId"].clone();
    desk.must("sessions.fork", json!({ "id": "a" }));
    let own = desk.prompt("a-2", "on")["runId"].clone();
    desk.says("gone on");
    let file = export(&mut desk, "a-2");
    let remove = |desk: &mut Desk| {
        desk.must("sessions.remove", json!({ "id": "a-2" }));
        desk.now += 10_000;
        desk.rows("a-2");
        assert!(desk.rows("a-2").is_empty());
    };
    remove(&mut desk);
    assert_eq!(import(&mut desk, &file).unwrap()["id"], "a-2");
    let found = |desk: &Desk, run: &Value| {
        let of = |key: &Key| key.get(1) == Some(&Part::Text(run.as_str().unwrap().into()));
        let rows = desk.store.read(&Read::all(Table::Meta, vec!["run".into()]));
        rows.into_iter().find(|(key, _)| of(key)).map(|(_, session)| session)
    };
    desk.rows("a-2");
    assert_eq!((found(&desk, &run), found(&desk, &own)), (Some("a".into()), Some("a-2".into())));
    remove(&mut desk);
    assert_eq!((found(&desk, &run), found(&desk, &own)), (Some("a".into()), None));
    let mut desk = desk.crash("ann");
    assert_eq!(desk.must("wait", json!({ "runId": run }))["outcome"], "completed");
}

/// The session of the run that has begun last.
fn begun(desk: &Desk) -> Value {
    let begun = desk.events.iter().rfind(|(name, _)| *name == "agent:session-started");
    begun.unwrap().1["sessionId"].clone()
}

/// A session "a" whose last run has failed, and a copy of it: what `resume` gives for that run.
fn failed_and_forked() -> (Desk, Value) {
    let mut desk = Desk::started("ann");
    desk.launch("a");
    let run = desk.prompt("a", "hello")["runId"].clone();
    desk.breaks(Code::InvalidRequest);
    desk.must("sessions.fork", json!({ "id": "a" }));
    (desk, run)
}

#[test]
fn a_run_asked_for_by_its_id_alone_is_the_originals_and_a_copy_goes_on_by_its_own() {
    // Also where one of the two was looked at, or both.
    for taken in [vec![], vec!["a-2"], vec!["a-2", "a"]] {
        let (desk, run) = failed_and_forked();
        let mut desk = desk.crash("ann");
        desk.start();
        for id in &taken {
            desk.must("sessions.rename", json!({ "id": id, "displayName": "Mine" }));
        }
        let resumed = desk.must("resume", json!({ "runId": run }));
        assert_ne!(resumed["runId"], run);
        assert_eq!(begun(&desk), "a", "{taken:?}");
        desk.says("gone on");
    }
    for args in [json!({ "sessionId": "a-2" }), json!({ "sessionId": "a-2", "runId": null })] {
        let (mut desk, run) = failed_and_forked();
        let before = desk.rows("a");
        let resumed = desk.must("resume", args);
        assert_eq!(begun(&desk), "a-2");
        desk.says("gone on");
        assert_eq!(texts(&mut desk, "a-2"), [json!("hello"), Value::Null, json!("gone on")]);
        assert_eq!(desk.must("wait", json!({ "runId": resumed["runId"] }))["outcome"], "completed");
        assert_eq!(desk.rows("a"), before);
        // The copy has gone on, so that one is not its last any more.
        let named = json!({ "sessionId": "a-2", "runId": run });
        assert_eq!(desk.fails("resume", named).0, Code::NothingToResume);
        let named = json!({ "sessionId": "a", "runId": run });
        desk.must("resume", named);
        assert_eq!(begun(&desk), "a");
    }
    let (mut desk, _) = failed_and_forked();
    assert_eq!(desk.fails("resume", json!({ "sessionId": "b" })).0, Code::SessionNotFound);
    assert_eq!(desk.fails("resume", json!({ "sessionId": 1 })).0, Code::InvalidArguments);
}

#[test]
fn who_waits_for_a_run_hears_of_it_and_not_of_its_copy() {
    let mut desk = Desk::started("ann");
    desk.launch("a");
    let run = desk.prompt("a", "hello")["runId"].clone();
    let (result, wait) = (json!({ "runId": run }), json!({ "runId": run, "timeoutMs": 60_000 }));
    let waiting = [desk.command("result", result), desk.command("wait", wait)];
    // In the copy it is interrupted.
    desk.must("sessions.fork", json!({ "id": "a" }));
    desk.prompt("a-2", "on");
    assert!(waiting.iter().all(|command| !desk.answers.contains_key(command)));
    desk.says("there");
    for command in waiting {
        assert_eq!(desk.answers[&command].as_ref().unwrap()["outcome"], "completed");
    }
}

#[test]
fn a_file_that_names_runs_of_others_does_not_take_them_over() {
    // The same steps in other workspaces give the same ids.
    let made = |own: &str, other: &str| {
        let mut desk = Desk::started("ann");
        for id in [own, "other"] {
            desk.launch(id);
        }
        let runs = [own, other].map(|id| desk.prompt(id, "hello")["runId"].clone());
        desk.says("one");
        desk.says("two");
        (desk, runs)
    };
    let (mut desk, runs) = made("z", "default");
    let [run, first] = runs.clone();
    let task = desk.must("sessions.task", json!({ "id": run }));
    desk.must("sessions.remove", json!({ "id": "other" }));
    desk.now += 10_000;
    desk.rows("other");
    for (own, other, brings) in [("aaa", "other", "aaa"), ("x", "other", "other")] {
        let (mut elsewhere, same) = made(own, other);
        assert_eq!(same, runs);
        assert_eq!(import(&mut desk, &export(&mut elsewhere, brings)).unwrap()["id"], brings);
    }
    for takes in [false, true] {
        if takes {
            for id in ["aaa", "other"] {
                desk.must("sessions.rename", json!({ "id": id, "displayName": "Mine" }));
            }
        }
        for (run, text) in [(&run, "one"), (&first, "two")] {
            assert_eq!(desk.must("result", json!({ "runId": run }))["text"], text);
        }
        assert_eq!(desk.must("sessions.task", json!({ "id": run })), task);
    }
    // Where no agent runs, too; and when those that came are gone.
    let mut desk = desk.crash("ann");
    for removed in [false, true] {
        if removed {
            desk.start();
            for id in ["aaa", "other"] {
                desk.must("sessions.remove", json!({ "id": id }));
            }
            desk.now += 10_000;
            desk.rows("z");
        }
        for (run, text) in [(&run, "one"), (&first, "two")] {
            assert_eq!(desk.must("result", json!({ "runId": run }))["text"], text);
        }
        assert_eq!(desk.must("sessions.task", json!({ "id": run })), task);
    }
}

#[test]
fn a_fork_says_what_it_cannot_do() {
    let mut desk = worked();
    let last = desk.rows("a").len();
    for at in [json!(0), json!(last + 1), json!(-1), json!("1")] {
        let (code, message) = desk.fails("sessions.fork", json!({ "id": "a", "at": at }));
        assert_eq!(code, Code::InvalidArguments, "{message}");
    }
    let (_, message) = desk.fails("sessions.fork", json!({ "id": "a", "at": last + 1 }));
    assert_eq!(message, format!("sessions.fork needs \"at\" to be an entry of the journal: 1 to {last}"));
    assert_eq!(desk.fails("sessions.fork", json!({ "id": "b" })).0, Code::SessionNotFound);
    assert_eq!(desk.fails("sessions.fork", json!({ "id": "a", "provider": "x" })).0, Code::InvalidConfig);
    let state = desk.must("sessions.fork", json!({ "id": "a", "provider": "spare" }));
    assert_eq!((&state["provider_id"], &state["model_id"]), (&json!("spare"), &json!("model-1")));
    // Without an agent: the workspace is borrowed for it.
    let mut desk = desk.crash("ann");
    let state = desk.must("sessions.fork", json!({ "id": "a", "at": 4 }));
    assert_eq!(state["id"], "a-3");
    desk.holds("a-3");
    assert_eq!(desk.fails("sessions.fork", json!({ "id": "a", "provider": "spare" })).0, Code::NotRunning);
    desk.start();
    desk.must("sessions.prompt", json!({ "id": "a-3", "text": "hi" }));
}

#[test]
fn what_a_person_has_always_allowed_is_not_allowed_to_a_copy() {
    let mut desk = worked();
    desk.must("sessions.stop", json!({ "id": "a" }));
    let rows = desk.rows("a");
    let mut session =
        lodger::session::Session::load("a", &PatternEngine::default(), rows.iter().map(String::as_str))
            .unwrap();
    let entry = Entry::Granted { tool: "send_mail".into(), definition: "d".into(), destination: None };
    session.append(desk.now, None, &entry).unwrap();
    assert_eq!(session.grants.len(), 1);
    let mark = session.mark.clone();
    let args = json!({ "operator": { "subject": "ann" }, "id": "b", "from": {}, "integrity": "unverified" });
    carry::adopt(&mut session, desk.now, Ask::Import, "b", args).unwrap();
    assert_eq!(session.grants.len(), 0);
    assert_ne!(session.mark, mark, "the maker of the file knows the old one");
}

/// A line with other content, and the hash that the row before it has.
fn with_content(line: &str, content: &str, before: &str) -> Row {
    let text = Row::from_line(line).unwrap().stored();
    let mut lines = text.split('\n');
    let row = rows::row(lines.next().unwrap(), content, before);
    let signature = lines.nth(3).map(|signature| format!("\n{signature}"));
    Row::from_text(&[row.to_text(), signature.unwrap_or_default()].concat()).unwrap()
}

/// The same file, whose rows say something else in the letters that `change` gives; signatures of rows stay, the head's
/// are left out. `change` takes the kind of an entry and what it puts on record.
fn rewritten(text: &str, change: &dyn Fn(&str, Value) -> String) -> String {
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let id = first["session"].as_str().unwrap();
    let (mut rows, mut before): (Vec<String>, _) = (Vec::new(), GENESIS.to_owned());
    for line in text.lines().filter(|line| line.starts_with("{\"row\"")) {
        let said: Value = serde_json::from_str(line).unwrap();
        let kind = said["entry"]["what"].as_str().or(said["row"]["kind"].as_str()).unwrap().to_owned();
        let content = change(&kind, said["entry"].clone());
        let row = with_content(line, &content, &before);
        before = row.hash().into();
        rows.push(row.stored());
    }
    assembled(text, id, &rows)
}

/// A file with these rows, and the files that the text has.
fn assembled(text: &str, id: &str, rows: &[String]) -> String {
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let fold = lodger::session::Session::load(id, &PatternEngine::default(), rows.iter().map(String::as_str));
    let head = fold.map_or_else(|_| first["head"].to_string(), |fold| fold.head(0).to_string());
    let mut sum = String::new();
    let mut file = carry::begin(id, &head, &mut sum);
    file += &carry::page(rows.iter().map(String::as_str), &mut sum).unwrap();
    let files: Vec<&str> =
        text.lines().filter(|line| line.starts_with("{\"file\"") || line.starts_with("{\"bytes\"")).collect();
    files.iter().for_each(|line| file += &format!("{line}\n"));
    file + &carry::end(rows.len() as u64, files.len() as u64 / 2, &sum)
}

/// The same file as an earlier version has written it: each record in a row of its own, in the format of before.
fn as_before(text: &str) -> String {
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let (mut texts, mut before): (Vec<String>, _) = (Vec::new(), GENESIS.to_owned());
    for line in text.lines().filter(|line| line.starts_with("{\"row\"")) {
        let said: Value = serde_json::from_str(line).unwrap();
        let (header, entry) = Row::from_line(line).unwrap().read().unwrap();
        let entries = match entry {
            Some(Entry::Recorded { what, record }) => {
                whole_before(&what, record, header.run.as_deref(), true)
                    .into_iter()
                    .map(|(what, record)| json!({ "what": what, "record": record }))
                    .collect()
            }
            _ => vec![said["entry"].clone()],
        };
        for entry in entries {
            let mut header = said["row"].clone();
            (header["seq"], header["v"]) = ((texts.len() + 1).into(), 1.into());
            let row = rows::row(&header.to_string(), &entry.to_string(), &before);
            before = row.hash().into();
            texts.push(row.to_text());
        }
    }
    assembled(text, first["session"].as_str().unwrap(), &texts)
}

/// A receipt with the hash that it must have.
fn hashed(mut receipt: Value) -> Value {
    receipt["self_hash"] = "".into();
    Receipt::read(&receipt).unwrap().json()
}

#[test]
fn records_that_nobody_here_has_made_are_refused_with_all_that_comes_with_them() {
    let mut desk = worked();
    let file = as_before(&export(&mut desk, "a"));
    let secrets = ["sk-ant-REALSECRET12345678", "by Bearer abcdefghijklmnop", "password=hunter22"];
    // What is changed in which entry, and what is said of it.
    type Change = Box<dyn Fn(&mut Value)>;
    let (receipt, handoff, event, run) = ("receipt", "handoff", "event", "run");
    let (hash, chain) =
        ("capability receipt hash did not match payload", "stored capability receipt chain is broken");
    let (none, secret) = ("no such record is written here", "refusing to persist unredacted secret material");
    let sandbox = |receipt: &Value| receipt["id"].as_str().unwrap_or_default().contains("sandbox");
    let behind = move |previous: Value| -> Change {
        Box::new(move |entry| {
            if sandbox(&entry["record"]) {
                entry["record"]["previous_receipt_hash"] = previous.clone();
                entry["record"] = hashed(entry["record"].take());
            }
        })
    };
    let put = |path: &'static str, value: Value| -> Change {
        Box::new(move |entry| *entry["record"].pointer_mut(path).unwrap() = value.clone())
    };
    let add = |path: &'static str, name: &'static str| -> Change {
        Box::new(move |entry| entry.pointer_mut(path).unwrap()[name] = json!({ "x": 1 }))
    };
    let mut cases: Vec<(&str, &str, Change, &str)> = vec![
        ("another reason", receipt, put("/reason", json!("Nothing at all.")), hash),
        ("another hash", receipt, put("/self_hash", json!("0".repeat(64))), hash),
        ("no hash", receipt, put("/self_hash", json!("")), none),
        ("behind nothing", receipt, behind(json!("0".repeat(64))), chain),
        ("a second first one", receipt, behind(Value::Null), chain),
        ("a receipt that is a text", receipt, put("", json!("x")), "craik.capability_receipt has no id"),
        (
            "a receipt less",
            receipt,
            Box::new(move |entry| {
                if !sandbox(&entry["record"]) {
                    *entry = json!({ "record": { "event_type": "x" }, "what": "event" });
                }
            }),
            "craik.agent_session_event has no id",
        ),
        (
            "a status",
            handoff,
            put("/status", json!("exploded")),
            "craik.handoff.status must be one of its words",
        ),
        ("another kind", receipt, Box::new(|entry| entry["what"] = "receipx".into()), none),
        ("a member", handoff, add("/record", "more"), "craik.handoff has no member called more"),
        (
            "a member less",
            event,
            Box::new(|entry| drop(entry["record"].as_object_mut().unwrap().remove("redacted"))),
            none,
        ),
        ("outputs", run, put("/outputs", json!("x")), none),
        ("an output", run, put("/outputs/0", json!({})), "craik.run_output has no id"),
        ("a member that holds a key", event, add("/record/metadata", "api_key"), secret),
        ("a name that sets a prototype", "prompt", add("", "__proto__"), "a name that nobody here gives"),
        ("one in a record", event, add("/record/metadata", "__proto__"), "a name that nobody here gives"),
        ("a launch", "launch", Box::new(move |entry| entry["args"]["modelId"] = secrets[0].into()), secret),
    ];
    for text in secrets {
        cases.push((
            "a receipt's",
            receipt,
            Box::new(move |entry| {
                if sandbox(&entry["record"]) {
                    entry["record"]["reason"] = text.into();
                    entry["record"] = hashed(entry["record"].take());
                }
            }),
            secret,
        ));
        cases.push(("a handoff's", handoff, put("/summary", json!(text)), secret));
        cases.push(("a run's", run, put("/stop_reason", json!(text)), secret));
        cases.push(("an event's", event, put("/metadata", json!({ "note": [text] })), secret));
    }
    let mut there = Desk::of("bea");
    for (what, kind, change, words) in cases {
        let text = rewritten(&file, &|found, mut entry| {
            if found == kind {
                change(&mut entry);
            }
            entry.to_string()
        });
        let error = check(&mut there, &text).expect_err(what);
        assert_eq!(error.code, Code::Corrupt, "{what}: {error:?}");
        assert!(error.message.starts_with("line ") && error.message.contains(words), "{what}: {error:?}");
        assert!(error.hint.is_some(), "{what}: {error:?}");
        assert!(there.fails("sessions.admit", json!({})).0 == Code::Aborted, "{what}");
    }
    // The letters of a name may be escaped.
    let escaped = rewritten(&file, &|kind, entry| match kind {
        "prompt" => entry.to_string().replacen('{', "{\"\\u005f_prot\\u006f__\":{},", 1),
        _ => entry.to_string(),
    });
    assert!(check(&mut there, &escaped).unwrap_err().message.contains("a name that nobody here gives"));
    assert!(there.stored(Table::Entries, "a").is_empty() && there.stored(Table::Heads, "a").is_empty());
    // It is what they say that is refused, not that somebody has written it.
    let same = rewritten(&file, &|_, entry| entry.to_string());
    import(&mut there, &same).unwrap();
    assert_eq!(integrity(&mut there, "a"), "unverifiable");
}

/// The end of a run in short, behind another receipt: all else follows from it.
fn behind(entry: &mut Value, run: &str, previous: Value) {
    let whole = Short::of(Some(RecordKind::End), &entry["record"], Some(run)).unwrap().whole().unwrap();
    let mut provider = whole[0].1.clone();
    provider["previous_receipt_hash"] = previous.clone();
    let provider = hashed(provider);
    entry["record"]["self"] = provider["self_hash"].clone();
    match previous {
        Value::Null => drop(entry["record"].as_object_mut().unwrap().remove("previous")),
        _ => entry["record"]["previous"] = previous,
    }
}

/// What goes without saying is not said: two rows that say the same would have two hashes.
#[test]
fn records_in_short_that_say_more_than_they_need_are_refused() {
    let mut desk = Desk::started("ann");
    desk.launch("a");
    desk.prompt("a", "hello");
    desk.says("there");
    desk.rows("a");
    let file = export(&mut desk, "a");
    let of = |record: &Value, name: &str| record[name].clone();
    type Change<'a> = Box<dyn Fn(&mut Value) + 'a>;
    let put = |name: &'static str, value: Value| -> Change<'_> {
        Box::new(move |record| record[name] = value.clone())
    };
    let whole = |record: &Value, kind, run| {
        let short = Short::of(Some(kind), record, Some(run)).unwrap();
        short.task().unwrap()
    };
    let (end, prompt) = (RecordKind::End, RecordKind::Prompt);
    let cases: Vec<(&str, RecordKind, Change<'_>)> = vec![
        ("no tools", end, put("granted", json!(false))),
        ("the provider", end, Box::new(|record| record["on"] = of(record, "provider"))),
        ("no receipts", end, put("receipts", json!([]))),
        ("nothing is left", end, put("left", json!({}))),
        ("left by who is there", end, put("left", json!({ "operator_subject": "ann" }))),
        ("told then", end, Box::new(|record| record["told"] = of(record, "at"))),
        ("the task and its tail", end, Box::new(|record| record["task"] = whole(record, end, "run").into())),
        (
            "the task and its tail",
            prompt,
            Box::new(|record| record["task"] = whole(record, prompt, "run").into()),
        ),
        (
            "the task for its tail",
            end,
            Box::new(|record| {
                record["task"] = whole(record, end, "run").into();
                record.as_object_mut().unwrap().remove("tail").unwrap();
            }),
        ),
        (
            "the task for its tail",
            prompt,
            Box::new(|record| {
                record["task"] = whole(record, prompt, "run").into();
                let tail = record.as_object_mut().unwrap().remove("tail").unwrap();
                // Its hash goes with it.
                record["hash"] = tail.as_str().unwrap()[1..17].into();
            }),
        ),
        (
            "the hash in the tail",
            prompt,
            Box::new(|record| {
                record["hash"] = record["tail"].as_str().unwrap()[1..17].into();
            }),
        ),
    ];
    let mut there = Desk::of("bea");
    for (what, kind, change) in cases {
        let mut changed = 0;
        let text = {
            let changed = std::cell::RefCell::new(&mut changed);
            rewritten(&file, &|_, mut entry| {
                if entry["what"] == kind.as_str() {
                    **changed.borrow_mut() += 1;
                    change(&mut entry["record"]);
                }
                entry.to_string()
            })
        };
        assert!(changed > 0, "{what}");
        let error = check(&mut there, &text).expect_err(what);
        assert_eq!(error.code, Code::Corrupt, "{what}: {error:?}");
        assert!(error.message.contains("no such record is written here"), "{what}: {error:?}");
    }
    let same = rewritten(&file, &|_, entry| entry.to_string());
    assert_eq!(check(&mut there, &same).map(drop), Ok(()));
}

#[test]
fn records_in_short_that_nobody_here_has_made_are_refused_with_all_that_comes_with_them() {
    let mut desk = worked();
    let question =
        desk.events.iter().rfind(|(name, _)| *name == "agent:permission-required").unwrap().1.clone();
    desk.must("resolvePermission", json!({ "requestId": question["requestId"], "answer": "deny" }));
    desk.says("no");
    desk.rows("a");
    let file = export(&mut desk, "a");
    type Change<'a> = Box<dyn Fn(&mut Value, &str) + 'a>;
    let put = |name: &'static str, value: Value| -> Change<'_> {
        Box::new(move |entry, _| entry["record"][name] = value.clone())
    };
    let drops = |name: &'static str| -> Change<'_> {
        Box::new(move |entry, _| drop(entry["record"].as_object_mut().unwrap().remove(name).unwrap()))
    };
    let (none, secret) = ("no such record is written here", "refusing to persist unredacted secret material");
    let (lead, chain) =
        ("a short record does not lead to its last receipt", "stored capability receipt chain is broken");
    let zeros = || json!("0".repeat(64));
    let mut cases: Vec<(&str, &str, Change<'_>, &str)> = vec![
        ("fewer answers", "end", put("answers", json!(0)), lead),
        ("another hash", "end", put("self", zeros()), lead),
        ("another time", "end", put("at", json!(1)), lead),
        ("another provider", "end", put("on", json!("other")), lead),
        ("an older form", "end", drops("v"), lead),
        ("tools", "end", put("granted", json!(true)), none),
        ("a form that there is not", "end", put("v", json!(4)), lead),
        ("a newer form", "end", put("v", json!(6)), none),
        ("its own policy", "end", put("policy", json!("policy_a")), none),
        ("another policy", "end", put("policy", json!("policy_b")), none),
        ("the form of before, without a policy", "end", put("v", json!(3)), lead),
        ("the policy of a prompt", "prompt", put("policy", json!("policy_a")), none),
        ("a newer form of a prompt", "prompt", put("v", json!(6)), none),
        ("behind nothing", "end", Box::new(move |entry, run| behind(entry, run, zeros())), chain),
        ("a hash less", "end", drops("self"), none),
        ("a member less", "end", drops("tokens"), none),
        ("a member more", "end", put("more", json!("x")), none),
        ("a member that is null", "end", put("issuer", Value::Null), none),
        ("a status", "end", put("status", json!("exploded")), none),
        ("what goes without saying", "end", put("status", json!("completed")), none),
        ("a number that is none", "end", put("turns", json!("1")), none),
        ("receipts that are none", "end", put("receipts", json!([1])), none),
        ("left by nobody", "end", put("left", json!({ "summary": "All is well." })), none),
        ("left by a number", "end", put("left", json!({ "operator_issuer": 1 })), none),
        ("a text", "end", Box::new(|entry, _| entry["record"] = "x".into()), none),
        ("another kind", "end", Box::new(|entry, _| entry["what"] = "ende".into()), none),
        ("no end", "end", Box::new(|entry, _| entry["what"] = "prompt".into()), none),
        ("nobody's", "prompt", drops("operator"), none),
        ("no time", "prompt", drops("at"), none),
        ("a prompt with more", "prompt", put("answers", json!(1)), none),
        ("no prompt", "prompt", Box::new(|entry, _| entry["what"] = "end".into()), none),
        ("a prototype", "prompt", put("__proto__", json!({ "x": 1 })), "a name that nobody here gives"),
        ("another, in what is left", "end", put("left", json!({ "__proto__": {} })), "a name that nobody"),
    ];
    for text in ["sk-ant-REALSECRET12345678", "by Bearer abcdefghijklmnop", "password=hunter22"] {
        for name in ["model", "detail", "code", "interrupted", "project", "profile", "identity"] {
            cases.push((name, "end", put(name, text.into()), secret));
        }
        // What the event of a prompt does not have is refused too.
        for name in ["model", "project", "hash", "issuer", "profile", "identity"] {
            cases.push((name, "prompt", put(name, text.into()), secret));
        }
        let policy = move |entry: &mut Value, _: &str| {
            let said = entry["record"].as_object_mut().unwrap();
            said.remove("v").unwrap();
            said.insert("policy".into(), text.into());
        };
        cases.push(("policy", "prompt", Box::new(policy), secret));
        cases.push(("left", "end", put("left", json!({ "auth_profile_id": text })), secret));
        cases.push(("receipts", "end", put("receipts", json!([text])), secret));
    }
    let mut there = Desk::of("bea");
    // Which run the end is of, by its place among them.
    let ends = file.lines().filter(|line| line.contains("\"what\":\"end\""));
    let runs: Vec<String> =
        ends.map(|line| Row::from_line(line).unwrap().header().unwrap().run.unwrap()).collect();
    assert_eq!(runs.len(), 2);
    // The second end is behind receipts. The first is behind none.
    cases.push(("a second first one", "last", Box::new(|entry, run| behind(entry, run, Value::Null)), chain));
    for (what, kind, change, words) in cases {
        let (mut at, mut changed) = (0, 0);
        let ends = std::cell::RefCell::new((&mut at, &mut changed));
        let text = rewritten(&file, &|_, mut entry| {
            let mut ends = ends.borrow_mut();
            let found = entry["what"].as_str().unwrap_or_default().to_owned();
            let run = runs.get(*ends.0).map_or("", String::as_str);
            *ends.0 += usize::from(found == "end");
            if found == kind || found == "end" && kind == "last" && *ends.0 == 2 {
                *ends.1 += 1;
                change(&mut entry, run);
            }
            entry.to_string()
        });
        assert!(changed > 0, "{what}");
        let error = check(&mut there, &text).expect_err(what);
        assert_eq!(error.code, Code::Corrupt, "{what}: {error:?}");
        assert!(error.message.starts_with("line ") && error.message.contains(words), "{what}: {error:?}");
        assert!(error.hint.is_some(), "{what}: {error:?}");
        assert!(there.fails("sessions.admit", json!({})).0 == Code::Aborted, "{what}");
    }
    assert!(there.stored(Table::Entries, "a").is_empty() && there.stored(Table::Heads, "a").is_empty());
    let same = rewritten(&file, &|_, entry| entry.to_string());
    import(&mut there, &same).unwrap();
    assert_eq!(integrity(&mut there, "a"), "unverifiable");
}

#[test]
fn an_event_with_a_wrong_signature_of_our_own_does_not_come_in() {
    let mut desk = worked();
    let file = export(&mut desk, "a");
    let told = "stored agent session event has invalid HMAC: agent_event_";
    let mac = |to: &dyn Fn(&str) -> String| {
        let lines = file.lines().map(|line| match line.split_once(",\"mac\":\"") {
            Some((row, mac)) => row.to_owned() + &to(mac.trim_end_matches("\"}")) + "}",
            None => line.into(),
        });
        lines.collect::<Vec<String>>().join("\n")
    };
    let wrong = mac(&|mac| format!(",\"mac\":\"{}\"", mac.chars().rev().collect::<String>()));
    let without = mac(&|_| String::new());
    let unsigned = |text: &str| {
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        with_first_line(text, &first["signatures"].to_string(), "[]")
    };
    let before = desk.stored(Table::Meta, "arriving");
    for text in [unsigned(&wrong), summed(&wrong), summed(&without)] {
        let error = import(&mut desk, &text).unwrap_err();
        assert!(error.code == Code::Corrupt && error.message.starts_with(told), "{error:?}");
        assert_eq!(desk.fails("sessions.admit", json!({})).0, Code::Aborted);
        assert!(desk.stored(Table::Entries, "a-2").is_empty() && desk.stored(Table::Heads, "a-2").is_empty());
    }
    assert_eq!(desk.stored(Table::Meta, "arriving"), before);
    // What nobody here can judge comes in, and can be read.
    for (key, text) in [(None, unsigned(&without)), (Some("other"), wrong), (Some("other"), without)] {
        desk.key = key;
        let state = import(&mut desk, &summed(&text)).unwrap();
        assert_eq!(integrity(&mut desk, state["id"].as_str().unwrap()), "unverifiable");
        desk.key = None;
    }
    desk.must("sessions.events", json!({ "id": "a-2" }));
    desk.must("sessions.receipts", json!({ "id": "a-2" }));
    import(&mut desk, &file).unwrap();
}

#[test]
fn a_tool_may_be_called_like_a_key() {
    let mut desk = Desk::started("ann");
    let tool = "sk_send_mail_now";
    desk.must("tools.register", json!({ "name": tool, "description": "Sends.", "inputSchema": { "type": "object" }, "destructive": true, "execute": { "$fn": 3 } }));
    desk.must("sessions.launch", json!({ "id": "a" }));
    desk.must("sessions.prompt", json!({ "id": "a", "text": "mail it" }));
    let call = Block::ToolCall { id: "c".into(), name: tool.into(), arguments: "{}".into() };
    desk.answers_with(vec![call], StopReason::ToolUse);
    let question =
        desk.events.iter().rfind(|(name, _)| *name == "agent:permission-required").unwrap().1.clone();
    desk.must("resolvePermission", json!({ "requestId": question["requestId"], "answer": "deny" }));
    desk.says("no");
    let file = export(&mut desk, "a");
    assert!(file.contains(&format!("\"tool\":\"{tool}\"")), "{file}");
    assert_eq!(import(&mut desk, &file).unwrap()["id"], "a-2");
    // Not so where it is no tool's name.
    let other = rewritten(&file, &|_, entry| {
        entry.to_string().replace(&format!("\"tool\":\"{tool}\""), "\"tool\":\"sk_another_key\"")
    });
    assert!(import(&mut desk, &other).unwrap_err().message.contains("unredacted secret"));
}

#[test]
fn what_a_provider_said_at_length_can_be_taken_along_wherever_it_was_cut() {
    for before in 975..1_001 {
        let mut desk = Desk::started("ann");
        desk.launch("a");
        desk.prompt("a", "hello");
        let message = ["x".repeat(before), "token=secret-token".into()].join(" ");
        let call = desk.models.remove(0);
        desk.handle(Input::Answered { call, result: Err((ErrorInfo::new(Code::Auth, message), None)) });
        let detail = desk.status("a")["recovery_metadata"]["recovery_detail"].clone();
        assert!(!detail.as_str().unwrap().contains("secret"), "{before}");
        let file = export(&mut desk, "a");
        import(&mut Desk::started("bob"), &file).unwrap_or_else(|error| panic!("{before}: {error:?}"));
    }
}
