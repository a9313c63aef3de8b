//! Databases that earlier versions of the package have written (`pkg-tests/data/golden`), read and gone on with by this one.
//!
//! The package's suite of the same name does that in a browser. Here a change of a format is seen in a second: chains, entries
//! and machine, what is shown, and that all that was under way comes to its end.

use crate::support::desk::{Desk, whole_before};
use crate::support::media::decoded;
use flate2::read::DeflateDecoder;
use lodger::harness::{Harness, Input, Options};
use lodger::journal::{Entry, FORMAT, GENESIS, Header, Row, pack};
use lodger::ports::{Commit, Key, MemoryStore, Part, PatternEngine, Read, Table, Write};
use lodger::session::{Session, replay};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Kinds that no golden has, and why.
const IN_NONE: [(&str, &str); 0] = [];

/// A database in its file.
struct Golden {
    name: String,
    /// The first entry of a session that today's machine makes otherwise.
    differs: BTreeMap<String, u64>,
    file: Value,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pkg-tests/data/golden")
}

fn table() -> Value {
    serde_json::from_str(&fs::read_to_string(root().join("table.json")).unwrap()).unwrap()
}

fn goldens() -> Vec<Golden> {
    let read = |(name, said): (&String, &Value)| Golden {
        name: name.clone(),
        differs: serde_json::from_value(said.get("differs").cloned().unwrap_or_else(|| json!({}))).unwrap(),
        file: serde_json::from_str(&fs::read_to_string(root().join(format!("{name}.json"))).unwrap())
            .unwrap(),
    };
    table().as_object().unwrap().iter().map(read).collect()
}

impl Golden {
    /// The rows of a store, by their keys.
    fn rows(&self, store: &str) -> Vec<(Key, &Value)> {
        let part = |part: &Value| match part.as_u64() {
            Some(number) => Part::Number(number),
            None => Part::Text(part.as_str().unwrap().into()),
        };
        let rows = self.file["stores"][store].as_array().unwrap();
        rows.iter().map(|row| (row[0].as_array().unwrap().iter().map(part).collect(), &row[1])).collect()
    }

    /// The texts of each journal, in order, out of their packs.
    fn journals(&self) -> BTreeMap<String, Vec<String>> {
        let store = self.store();
        let mut journals = BTreeMap::new();
        for (key, _) in self.rows("heads") {
            let rows = pack::unpacked(store.read(&Read::all(Table::Entries, key.clone())));
            let [Part::Text(session)] = key.as_slice() else { panic!("{key:?}") };
            journals.insert(session.clone(), rows.into_iter().map(|(_, text)| text).collect());
        }
        journals
    }

    /// The same database, on a disk of the host. Bytes stand outside the core; a pack is not pressed there.
    fn store(&self) -> MemoryStore {
        let mut store = MemoryStore::new();
        for table in Table::ALL {
            for (key, row) in self.rows(table.name()) {
                let value = match row["pressed"].as_str() {
                    Some(pressed) => unpressed(&decoded(pressed).unwrap()),
                    None => row.as_str().unwrap_or_default().into(),
                };
                let writes = vec![Write::Put { table, key, value }];
                store.commit(&Commit { writes, ..Commit::default() }).unwrap();
            }
        }
        store
    }

    /// A page on that disk, a day later.
    fn page(&self) -> Desk {
        let rows = self.journals().into_values().flatten();
        let last = rows.map(|row| Row::from_text(&row).unwrap().read().unwrap().0.at).max().unwrap();
        self.page_on(self.store(), last + 86_400_000)
    }

    /// A page on a disk that was begun with it.
    fn page_on(&self, store: MemoryStore, now: u64) -> Desk {
        let mut page = Desk::on(store, now, "local");
        page.harness = Harness::new(Options {
            name: "golden".into(),
            page_tools: self.file["pageTools"] != false,
            holder: "h".into(),
            operator: Options::local_operator(),
        });
        page.key = Some("golden");
        page
    }

    /// The runs that were under way, by their sessions.
    fn under(&self) -> impl Iterator<Item = (&str, &str)> {
        let runs = self.file["under"]["runs"].as_object().into_iter().flatten();
        runs.map(|(session, run)| (session.as_str(), run.as_str().unwrap()))
    }
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unpressed(bytes: &[u8]) -> String {
    let mut text = String::new();
    DeflateDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

/// Lists of a record of which only the newest are named now.
const SHORTER: [&str; 3] = [".supervision_notes", ".receipt_ids", ".handoff_ids"];

/// Every member of `part` is in `whole`, as it is there.
fn includes(whole: &Value, part: &Value, place: &str) {
    match (whole, part) {
        (Value::Object(_), Value::Object(members)) => {
            for (name, member) in members {
                includes(&whole[name], member, &format!("{place}.{name}"));
            }
        }
        (Value::Array(list), Value::Array(items)) if SHORTER.iter().any(|name| place.ends_with(name)) => {
            assert!(items.ends_with(list) && list.len() == items.len().min(8), "{place}: {list:?}");
        }
        (Value::Array(list), Value::Array(items)) => {
            assert_eq!(list.len(), items.len(), "{place}");
            for (at, (whole, part)) in list.iter().zip(items).enumerate() {
                includes(whole, part, &format!("{place}.{at}"));
            }
        }
        _ => assert_eq!(whole, part, "{place}"),
    }
}

#[test]
fn no_golden_has_changed_and_none_is_lost() {
    let table = table();
    let known = table.as_object().unwrap();
    let files = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<_> = files.filter(|file| file != "table.json").collect();
    assert_eq!(found, known.keys().map(|name| format!("{name}.json")).collect());
    for (name, said) in known {
        let bytes = fs::read(root().join(format!("{name}.json"))).unwrap();
        assert_eq!(
            said["sha256"],
            sum(&bytes),
            "{name} is what an earlier version has written: it stays as it is"
        );
        assert!(bytes.len() <= 400_000, "{name} is too large");
        assert_eq!(
            said.get("differs").is_some(),
            said.get("why").is_some(),
            "{name}: a reason for what differs"
        );
    }
}

#[test]
fn every_kind_of_entry_is_in_a_golden_of_the_present_format() {
    let source =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/entry.rs")).unwrap();
    let kinds = source.lines().filter_map(|line| {
        let row = line.trim().strip_prefix("Input ").or(line.trim().strip_prefix("Decision "))?;
        Some(row.split_once(" = \"")?.1.split_once('"')?.0.to_owned())
    });
    let kinds: BTreeSet<String> = kinds.collect();
    assert!(kinds.len() > 40, "the table of entries is written in another way: {kinds:?}");
    let goldens = goldens();
    let rows = goldens.iter().flat_map(Golden::journals).flat_map(|(_, rows)| rows);
    let rows = rows.map(|row| Row::from_text(&row).unwrap()).filter(|row| !row.is_older());
    let found: BTreeSet<String> = rows.map(|row| row.read().unwrap().0.kind).collect();
    let excepted: BTreeSet<String> = IN_NONE.iter().map(|(kind, _)| (*kind).to_owned()).collect();
    let missing: Vec<_> = kinds.difference(&found).filter(|kind| !excepted.contains(*kind)).collect();
    assert!(
        missing.is_empty(),
        "no golden has {missing:?}: write one (pkg-tests/suites/golden.mjs), or say why not"
    );
    assert!(excepted.is_disjoint(&found), "they are in one");
}

#[test]
fn each_journal_of_a_golden_is_whole_folds_to_its_head_and_replays() {
    for golden in goldens() {
        let heads: BTreeMap<_, _> = golden.rows("heads").into_iter().collect();
        let mut differs = golden.differs.clone();
        for (id, rows) in golden.journals() {
            let place = format!("{}: {id}", golden.name);
            let (mut hash, mut old) = (GENESIS.to_owned(), false);
            for (at, text) in rows.iter().enumerate() {
                let row = Row::from_text(text).unwrap();
                assert_eq!(row.stored(), *text, "{place} {at}");
                assert!(row.follows(&hash), "{place} {at}");
                let (header, _) = row.read().unwrap_or_else(|error| panic!("{place}: {error}"));
                assert_eq!(header.seq, at as u64 + 1, "{place}");
                let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
                old |= header["v"] != FORMAT;
                hash = row.hash().into();
            }
            let texts = || rows.iter().map(String::as_str);
            let fold = Session::load(&id, &PatternEngine::default(), texts());
            let fold = fold.unwrap_or_else(|error| panic!("{place}: {error}"));
            let head = heads[&vec![Part::from(id.as_str())]].as_str().unwrap();
            let head: Value = serde_json::from_str(head.lines().next().unwrap()).unwrap();
            assert!(fold.agrees_with(&head), "{place}: {head}");
            // Rows of an older format are read; what makes them again is in the package that has written them.
            let differs = differs.remove(&id);
            let first = replay(&id, texts()).unwrap().err();
            let differs = differs.filter(|_| !old);
            assert_eq!(first.as_ref().map(|first| first.seq), differs, "{place}: {first:?}");
        }
        assert!(differs.is_empty(), "{}: no such sessions: {differs:?}", golden.name);
    }
}

fn folded(id: &str, rows: &[String]) -> Session {
    Session::load(id, &PatternEngine::default(), rows.iter().map(String::as_str)).unwrap()
}

/// What the checkpoint would say if the conversation were cleared behind these rows, unless something is under way. The row
/// that clears is of today's format, and so is its hash: both are left out.
fn cleared(id: &str, rows: &[String]) -> Option<String> {
    let mut session = folded(id, rows);
    let sums = session.sums;
    session.append(0, None, &Entry::Cleared { sums }).ok()?;
    let mut said: Value = serde_json::from_str(&session.checkpoint()?.text).unwrap();
    said.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "hash" | "mark"));
    Some(said.to_string())
}

/// What the checkpoint before the window of the conversation would say behind these rows, if there can be one.
fn window(id: &str, rows: &[String]) -> Option<String> {
    let texts: Vec<&str> = rows.iter().map(String::as_str).collect();
    let begun = Session::with(id, &PatternEngine::default());
    begun.window_of(&folded(id, rows), &texts, 0).map(|(place, _)| place.text)
}

/// Those of older packages are gone on from. So one that says something else of the same rows has another format.
#[test]
fn a_checkpoint_says_of_the_same_rows_what_it_said() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let format = read(&Session::new("a").checkpoint().unwrap().text)["v"].clone();
    let table = table();
    let (mut places, mut windows, mut stored, mut changed) = (0, 0, 0, Vec::new());
    for golden in goldens() {
        let (store, mut all) = (golden.store(), String::new());
        for (id, rows) in golden.journals() {
            for place in (0..=rows.len()).filter_map(|at| window(&id, &rows[..at])) {
                all += &place;
                windows += 1;
            }
            for place in (0..=rows.len()).filter_map(|at| cleared(&id, &rows[..at])) {
                all += &place;
                places += 1;
            }
            let kept = store.read(&Read::all(Table::Entries, pack::checkpoint_key(&id))).pop();
            let Some((_, text)) = kept.filter(|(_, text)| read(text)["v"] == format) else {
                continue;
            };
            let seq = read(&text)["seq"].as_u64().unwrap() as usize;
            assert_eq!(folded(&id, &rows[..seq]).checkpoint().unwrap().text, text, "{}: {id}", golden.name);
            stored += 1;
        }
        let sum = sum(all.as_bytes());
        if table[&golden.name]["checkpoints"][format.to_string()] != sum {
            changed.push(format!("{}: {sum}", golden.name));
        }
    }
    assert!(
        changed.is_empty(),
        "if the fold has changed, FORMAT of src/session/checkpoint.rs rises. table.json has the sums of each format, and \
         of {format}: {changed:#?}"
    );
    assert!(places > 100 && windows > 0, "{places} places, {windows} windows");
    assert!(stored > 0, "no golden has a checkpoint of format {format}: write one");
}

/// Whether a row is of the format in which each record has a row of its own.
fn is_of_first_format(row: &str) -> bool {
    let header: Value = serde_json::from_str(row.lines().next().unwrap()).unwrap();
    header["v"] == 1
}

/// What is owed behind these rows: each record by its kind, as it is made and as it is whole.
fn owed(id: &str, rows: &[&str], at: u64, granted: bool) -> (usize, Vec<(Option<String>, String, String)>) {
    let mut session = Session::load(id, &PatternEngine::default(), rows.iter().copied()).unwrap();
    let (mut short, mut records) = (0, Vec::new());
    while let Some((run, entry @ Entry::Recorded { .. })) = session.next() {
        session.append(at, run.as_deref(), &entry).unwrap();
        let Entry::Recorded { what, record } = entry else { unreachable!() };
        let name = what.as_str().to_owned();
        let whole = whole_before(&what, record, run.as_deref(), granted);
        short += usize::from(whole.iter().all(|(kind, _)| name != *kind));
        records.extend(whole.into_iter().map(|(what, record)| (run.clone(), what, record.to_string())));
    }
    (short, records)
}

#[test]
fn what_is_put_on_record_in_short_is_what_a_golden_has_whole() {
    let (mut short, mut prompts, mut ends, mut cuts) = (0, 0, 0, 0);
    for golden in goldens() {
        for (id, rows) in golden.journals() {
            let place = format!("{}: {id}", golden.name);
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            let read: Vec<(Header, Option<Entry>)> =
                rows.iter().map(|row| Row::from_text(row).unwrap().read().unwrap()).collect();
            // The text of a run that was cleared is gone: nothing is owed to it any more.
            let erased: BTreeSet<_> =
                read.iter().filter(|(_, entry)| entry.is_none()).map(|(header, _)| &header.run).collect();
            let is_record = |at: usize| matches!(read[at].1, Some(Entry::Recorded { .. }));
            // Later ones have them in short themselves.
            let is_whole = |at: &usize| is_of_first_format(rows[*at]);
            for first in (1..rows.len()).filter(|at| is_record(*at) && !is_record(at - 1)).filter(is_whole) {
                let last = (first..rows.len()).find(|at| !is_record(*at)).unwrap_or(rows.len());
                let stored: Vec<_> = read[first..last]
                    .iter()
                    .map(|(header, entry)| match entry {
                        Some(Entry::Recorded { what, record }) => {
                            (header.run.clone(), what.as_str().to_owned(), record.to_string())
                        }
                        _ => unreachable!(),
                    })
                    .collect();
                let run = &read[first].0.run;
                if run.is_some() && erased.contains(run) {
                    continue;
                }
                // Whether the run had tools is said there alone.
                let granted = stored.iter().any(|(_, _, record)| record.contains("action grant was present"));
                for cut in first..last {
                    let (made, records) = owed(&id, &rows[..cut], read[first].0.at, granted);
                    // From there on today's machine makes it otherwise, on purpose.
                    let differs = golden.differs.get(&id).map_or(usize::MAX, |seq| *seq as usize - 1);
                    let same = differs.clamp(cut, last) - cut;
                    let more = records.get(last - cut..).unwrap_or_default();
                    let too_few = records.len() < last - cut;
                    assert!(more.is_empty() && !too_few, "{place}, from entry {} on: {more:?}", cut + 1);
                    for (made, stored) in records.iter().zip(&stored[cut - first..]).take(same) {
                        assert_eq!(made, stored, "{place}, from entry {} on", cut + 1);
                    }
                    if cut == first {
                        short += made;
                        let has = |word: &str| stored.iter().any(|(_, _, record)| record.contains(word));
                        prompts += usize::from(has("\"event_type\":\"prompt_received\""));
                        let ended = ["run_completed", "run_interrupted"];
                        ends +=
                            usize::from(ended.iter().any(|kind| has(&format!("\"event_type\":\"{kind}\""))));
                    } else if read[first - 1].0.kind == "ended" && made == 0 {
                        cuts += 1;
                    }
                }
            }
        }
    }
    println!("{prompts} prompts, {ends} ends, {cuts} cuts, {short} in short");
    assert_eq!(short, prompts + ends, "each of them is made in short");
    assert!(prompts > 20 && ends > 20 && cuts > 60, "{prompts} prompts, {ends} ends, {cuts} cuts");
}

/// The rest of the records is written behind the copy, in the form of those that it has. The next run names the last receipt.
#[test]
fn a_copy_that_ends_among_older_records_goes_on_behind_their_last_receipt() {
    let mut copies = 0;
    for golden in goldens() {
        for (id, rows) in golden.journals() {
            let is_whole = |at: &usize| {
                is_of_first_format(&rows[*at]) && Row::from_text(&rows[*at]).unwrap().is_recorded()
            };
            for at in (0..rows.len()).filter(is_whole) {
                let place = format!("{}: {id}, up to entry {}", golden.name, at + 1);
                let mut page = golden.page();
                page.start();
                let Ok(copy) = page.ask("sessions.fork", json!({ "id": id, "at": at + 1 })) else { continue };
                let copy = copy["id"].as_str().unwrap().to_owned();
                page.rows(&copy);
                let mut page = golden.page_on(page.store, page.now + 1_000);
                page.start();
                let prompted = page.ask("sessions.prompt", json!({ "id": copy, "text": "go on" }));
                // Its last run has failed, or its provider is not the one of this page.
                if prompted.is_err() || page.models.is_empty() {
                    continue;
                }
                page.says("gone on");
                page.holds(&copy);
                let receipts = page.must("sessions.receipts", json!({ "id": copy }));
                for pair in receipts.as_array().unwrap().windows(2) {
                    assert_eq!(pair[1]["previous_receipt_hash"], pair[0]["self_hash"], "{place}");
                }
                page.must("clearConversation", json!({ "sessionId": copy }));
                page.rows(&copy);
                let judged = page.must("sessions.verify", json!({ "id": copy }));
                assert_ne!(judged["hmac_status"], "tampered", "{place}: {judged}");
                copies += 1;
            }
        }
    }
    assert!(copies > 20, "{copies} copies");
}

#[test]
fn what_a_golden_showed_is_shown() {
    for golden in goldens() {
        let mut page = golden.page();
        let shown = &golden.file["shown"];
        let listed = page.must("sessions.list", json!({ "withVerification": true }));
        for (one, session) in listed.as_array().unwrap().iter().zip(shown["sessions"].as_array().unwrap()) {
            assert_eq!(one["hmac_status"], "unverifiable", "{}: its key stays in its browser", golden.name);
            includes(&one["session"], session, &golden.name);
        }
        for (member, command, name) in [
            ("histories", "history", "sessionId"),
            ("events", "sessions.events", "id"),
            ("receipts", "sessions.receipts", "id"),
            ("handoffs", "sessions.handoffs", "id"),
        ] {
            for (id, before) in shown[member].as_object().unwrap() {
                let seen = page.must(command, json!({ name: id }));
                includes(&seen, before, &format!("{}: {member} of {id}", golden.name));
            }
        }
        includes(&page.must("pages.tree", json!({})), &shown["pages"], &golden.name);
    }
}

#[test]
fn what_was_under_way_in_a_golden_is_counted_unless_it_was_put_aside() {
    for golden in goldens() {
        let runs = golden.under().filter(|(session, _)| *session != "benched").count();
        let under = runs + usize::from(golden.file["under"]["task"].is_string());
        assert_eq!(golden.page().must("activeRuns", json!({})), under, "{}", golden.name);
    }
}

#[test]
fn all_that_was_under_way_in_a_golden_comes_to_its_end() {
    for golden in goldens() {
        let mut page = golden.page();
        let under = &golden.file["under"];
        let stream =
            |function: u64| json!({ "kind": "custom", "model": "golden", "stream": { "$fn": function } });
        page.must("tools.register", json!({ "name": "ask_colleague", "description": "It is one.", "inputSchema": { "type": "object" } }));
        page.start_with(
            json!({ "wire": stream(52), "closed": stream(53), "slow": stream(54), "small": stream(55), "search": stream(56) }),
        );
        for (session, _) in golden.under() {
            match session {
                // What waits for a person waits again by itself.
                "asks" | "hands" => Value::Null,
                "default" => page.must("resume", json!({})),
                "benched" => page.must("sessions.play", json!({ "id": session })),
                _ => page.must("sessions.recover", json!({ "id": session, "action": "reconnect" })),
            };
        }
        if under.get("runs").is_some() {
            page.must(
                "resolvePermission",
                json!({ "requestId": under["requestId"], "answer": "allow_once" }),
            );
            page.must(
                "tools.resolve",
                json!({ "toolCallId": under["toolCallId"], "answer": { "result": 4 } }),
            );
            page.must("queue.release", json!({ "sessionId": "pause" }));
        }
        says_all(&mut page);
        let queued = under["queued"].as_array().into_iter().flatten().chain(under.get("after"));
        let runs = golden.under().map(|(_, run)| run).chain(queued.map(|run| run.as_str().unwrap()));
        for run in runs {
            let waited = page.must("wait", json!({ "runId": run }));
            assert_eq!(waited["outcome"], "completed", "{}: {run} {waited}", golden.name);
        }
        for one in page.must("sessions.list", json!({ "withVerification": true })).as_array().unwrap() {
            goes_on(&golden, &mut page, &one["session"]);
        }
    }
}

/// Each model call is answered, and what comes of it; what waits for a time has it.
fn says_all(page: &mut Desk) {
    page.now += 1_000;
    page.handle(Input::Tick { online: true });
    while !page.models.is_empty() {
        page.says("done");
    }
}

/// One more message to a session, which is whole after that.
fn goes_on(golden: &Golden, page: &mut Desk, session: &Value) {
    let id = session["id"].as_str().unwrap();
    if session["operator_subject"] != "local" {
        let (code, _) = page.fails("sessions.prompt", json!({ "id": id, "text": "And now?" }));
        assert_eq!(code.as_str(), "permission_denied", "{}: {id}", golden.name);
        return;
    }
    match session["status"].as_str().unwrap() {
        "failed" | "sandbox_failed" => {
            page.must("sessions.recover", json!({ "id": id, "action": "resume" }));
        }
        "stopped" => drop(page.must("sessions.restart", json!({ "id": id }))),
        _ => {}
    }
    let run = page.prompt(id, "And now?")["runId"].clone();
    says_all(page);
    assert_eq!(page.must("wait", json!({ "runId": run }))["outcome"], "completed", "{}: {id}", golden.name);
    if !golden.differs.contains_key(id) {
        page.holds(id);
    }
}
