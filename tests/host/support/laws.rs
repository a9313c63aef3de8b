//! What must be true at every step of a simulation, whatever happens.
//!
//! Two books are kept. [`Journal`] follows what is stored, commit by commit: the chain, the machine's decisions
//! made again, heads, erasures, whose turn it is to write. [`Told`] follows what one page was told: the order
//! of events, their numbers, one end a run, and nothing before its commit. Promises: a broken law is an `Err`
//! that names it. Leaves to others: making things happen (`sim`).

use super::engine::patterns;
use lodger::journal::canonical::without;
use lodger::journal::pack::{checkpoint_key, loose, unpacked, window_key};
use lodger::journal::{Answer, Ask, AskReason, Cause, Entry, GENESIS, Mode, RecordKind, Row, Word};
use lodger::model::Block;
use lodger::ports::{Commit, Durability, Key, MemoryStore, Part, Read, Rows, Table, Write};
use lodger::run::{CallState, Outcome, Run};
use lodger::session::record::{Short, task_id, task_title};
use lodger::session::{self, Session, again};
use lodger::tools::Source;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

pub type Law = Result<(), String>;

/// `Err` with this text unless it holds.
pub fn law(holds: bool, broken: impl FnOnce() -> String) -> Law {
    if holds { Ok(()) } else { Err(broken()) }
}

pub const SESSION: &str = "default";

/// What is stored of the session, followed from the outside.
#[derive(Clone, Debug)]
pub struct Journal {
    /// The rows as they were written first, before any erasing.
    pub rows: Vec<String>,
    /// Their fold.
    pub fold: Session,
    /// How often a tool call was ordered, by run and call.
    pub ordered: BTreeMap<(String, String), u32>,
    /// How often a tool with effects was run, by run and call.
    pub executed: BTreeMap<(String, String), u32>,
    /// Every question that is stored, and whether it is answered.
    questions: BTreeMap<(String, String), bool>,
    /// The tool calls that a person has allowed.
    allowed: BTreeSet<(String, String)>,
    /// The tools that are always allowed, and which text from outside was there each time.
    always: BTreeMap<String, Vec<BTreeSet<String>>>,
    /// Which was there when a person was asked about a tool call.
    asked: BTreeMap<(String, String), BTreeSet<String>>,
    /// What `decide` has said of tool calls.
    judged: BTreeMap<(String, String), String>,
    /// The tool calls that a person was asked about because nobody knows what became of them.
    unknown: BTreeSet<(String, String)>,
    /// The tool calls with an effect that have begun, or that a person has denied, by run and call.
    deeds: BTreeSet<(String, String)>,
    /// The tool calls that have a receipt, by run and call.
    receipts: BTreeSet<(String, String)>,
    /// The hash of the latest receipt.
    receipt: Option<String>,
    /// Where the text from outside comes from, worked out from the entries alone.
    outside: BTreeSet<String>,
    /// The messages that wait, worked out from the entries alone.
    queue: Vec<Waits>,
    /// The messages whose turn has come.
    taken: BTreeSet<String>,
    /// The runs that were lost once.
    pub lost: BTreeSet<String>,
    /// The runs that waited for a person once: they are not lost with their page, and a page that never told of them
    /// may end them.
    pub waited: BTreeSet<String>,
    /// How many entries of each kind there were.
    pub kinds: BTreeMap<String, u64>,
    /// The model calls of each run that were made, and how often each of their keys was refused, or files were gone.
    called: BTreeMap<(String, u64), (u64, u64, u64)>,
    /// The files whose bytes the world has taken away, and that no message has brought again.
    pub lost_files: BTreeSet<String>,
    /// The latest `cleared`.
    pub cleared: u64,
    /// When the latest entry was written.
    pub at: u64,
    hash: String,
    /// Who wrote last.
    epoch: u64,
}

impl Journal {
    /// An empty one.
    pub fn new() -> Journal {
        Journal {
            rows: Vec::new(),
            fold: Session::with(SESSION, &patterns()),
            ordered: BTreeMap::new(),
            executed: BTreeMap::new(),
            questions: BTreeMap::new(),
            allowed: BTreeSet::new(),
            always: BTreeMap::new(),
            judged: BTreeMap::new(),
            unknown: BTreeSet::new(),
            deeds: BTreeSet::new(),
            receipts: BTreeSet::new(),
            receipt: None,
            queue: Vec::new(),
            taken: BTreeSet::new(),
            outside: BTreeSet::new(),
            asked: BTreeMap::new(),
            lost: BTreeSet::new(),
            waited: BTreeSet::new(),
            kinds: BTreeMap::new(),
            called: BTreeMap::new(),
            lost_files: BTreeSet::new(),
            cleared: 0,
            hash: GENESIS.into(),
            at: 0,
            epoch: 0,
        }
    }

    /// A commit went through; `before` are the rows that it took the place of, `disk` is as it is after it.
    pub fn stored(&mut self, commit: &Commit, before: &Rows, disk: &MemoryStore) -> Law {
        let mut appended = Vec::new();
        let mut head = None;
        let mut pages = 0;
        let mut files = 0;
        let mut clears = false;
        let mut packed = Rows::new();
        for write in &commit.writes {
            match write {
                Write::Pack { table: Table::Entries, key, .. } if *key == window_key(SESSION) => {}
                Write::Pack { table: Table::Entries, key, value } if *key == checkpoint_key(SESSION) => {
                    self.is_a_checkpoint(value)?;
                }
                Write::Pack { key, value, .. } => {
                    packed.append(&mut unpacked(vec![(key.clone(), value.clone())]));
                }
                Write::DeleteRange { from, until, .. } => {
                    let gone =
                        before.iter().filter(|(key, _)| place(key).is_ok_and(|n| n >= *from && n < *until));
                    for (key, old) in gone {
                        let erased = Row::from_text(old).map_err(|e| e.message.clone())?.erased().to_text();
                        let kept = packed
                            .iter()
                            .any(|(other, text)| other == key && (text == old || *text == erased));
                        law(kept, || format!("{key:?} is gone, and no pack has it"))?;
                    }
                }
                Write::Put { table: Table::Entries, key, value }
                | Write::Sign { table: Table::Entries, key, value, .. } => {
                    let seq = place(key)?;
                    if seq == self.fold.seq() + 1 {
                        let kind = self.append(value)?;
                        clears |= kind == "cleared";
                        appended.push(kind);
                    } else {
                        self.erased(seq, key, value, before)?;
                    }
                }
                Write::Sign { table: Table::Heads, key, value, texts } => {
                    law(texts.first() == Some(value), || "a head that is not signed as it is".into())?;
                    law(key == &vec![Part::from(SESSION)], || format!("a head under {key:?}"))?;
                    head = Some(value);
                }
                Write::Put { table: Table::Pages | Table::Versions, .. } => pages += 1,
                Write::DeletePrefix { table: Table::Pages, .. } => pages += 1,
                Write::Put { table: Table::Files, key, .. } => {
                    files += 1;
                    self.lost_files.retain(|id| *key != vec![Part::from(id.as_str())]);
                }
                // That none is deleted which somebody refers to is looked at below.
                Write::DeletePrefix { table: Table::Files, prefix } => {
                    law(prefix.len() == 1, || "more than a file was deleted".into())?;
                }
                // What was cleared or removed goes there too.
                Write::DeletePrefix { table: Table::Entries, prefix } if *prefix == window_key(SESSION) => {}
                Write::DeletePrefix { table: Table::Entries, prefix } => {
                    law(prefix.get(1) == Some(&"packs".into()), || "rows of entries were deleted".into())?;
                }
                Write::DeletePrefix { table, .. } => {
                    law(*table == Table::Drafts, || format!("rows of {} were deleted", table.name()))?;
                }
                Write::Put { table: Table::Heads, .. } => law(false, || "a head that is not signed".into())?,
                Write::Add { table, .. } => {
                    law(*table == Table::Meta, || format!("a row was added to {}", table.name()))?;
                }
                Write::Put { .. } | Write::Sign { .. } => {}
            }
        }
        let guarded = commit.expect.iter().any(|e| e.table == Table::Meta && e.key == vec!["epoch".into()]);
        if !appended.is_empty() || head.is_some() {
            law(guarded, || format!("{appended:?} were written without checking the epoch"))?;
            let epoch = epoch_of(commit).ok_or("the epoch that is expected is no number")?;
            law(epoch >= self.epoch, || format!("epoch {epoch} wrote after epoch {}", self.epoch))?;
            self.epoch = epoch;
        }
        if !appended.is_empty() {
            let head = head.ok_or("entries without a head")?;
            let head: Value = serde_json::from_str(head).map_err(|_| "a head that is no JSON")?;
            law(self.fold.agrees_with(&head), || format!("the head {head} is not that of the fold"))?;
        }
        if appended.iter().any(|kind| kind == "ended" || kind == "stopped") || clears {
            law(commit.durability == Durability::Strict, || format!("{appended:?} were not flushed"))?;
        }
        if pages > 0 && guarded {
            let returned = matches!(appended.as_slice(), [one] if one.starts_with("returned"));
            law(returned, || format!("pages changed with {appended:?}"))?;
        } else if pages > 0 {
            law(appended.is_empty(), || "pages changed with entries, unguarded".into())?;
        }
        let accepts = |kind: &String| kind == "prompt" || kind == "queued" || kind.starts_with("returned");
        law(files == 0 || appended.iter().any(accepts), || "files of no message and no tool".into())?;
        let there = files_of(disk);
        let is_there = |id: &String| there.contains(id) || self.lost_files.contains(id);
        let missing: Vec<String> = self.files().filter(|id| !is_there(id)).collect();
        law(missing.is_empty(), || format!("the bytes of {missing:?} are not there"))?;
        self.page_tools_made_their_change(commit, pages > 0)?;
        let rows = Read::all(Table::Entries, vec![SESSION.into()]);
        let next = rows.within(Some(self.fold.seq()), None);
        let stored = disk.read(&next).len();
        law(stored <= 1, || format!("rows after {} that were not told", self.fold.seq()))
    }

    /// The outcome of a page tool that changes pages came with the change, or it is an error.
    fn page_tools_made_their_change(&self, commit: &Commit, changed: bool) -> Law {
        for write in &commit.writes {
            let Write::Put { table: Table::Entries, value, .. } = write else { continue };
            let Ok((header, Some(Entry::Returned { tool_call, error: None, .. }))) =
                Row::from_text(value).and_then(|row| row.read())
            else {
                continue;
            };
            let run = header.run.as_deref().and_then(|run| self.fold.run(run));
            let Some(call) = run.and_then(|run| run.call(&tool_call)) else { continue };
            if call.name == "create_page" {
                law(changed, || format!("{tool_call} created a page that is not there"))?;
            }
        }
        Ok(())
    }

    /// Takes up the next row, outside of a commit.
    pub fn follow(&mut self, row: &str) -> Law {
        self.append(row).map(drop)
    }

    /// The next row, as it was written.
    fn append(&mut self, text: &str) -> Result<String, String> {
        let row = Row::from_text(text).map_err(|e| e.message.clone())?;
        law(row.follows(&self.hash), || format!("row {} breaks the chain", self.fold.seq() + 1))?;
        let (header, entry) = row.read().map_err(|e| e.message.clone())?;
        law(header.at >= self.at, || format!("entry {} goes back in time", header.seq))?;
        if let Some(entry) = &entry {
            if entry.cause() == Cause::Decision {
                let made = self.fold.next();
                let same = made.as_ref().is_some_and(|(run, made)| header.run == *run && made == entry);
                law(same, || format!("entry {} is {entry:?}, and a replay makes {made:?}", header.seq))?;
            }
            let (_, again) = self.fold.row(header.at, header.run.as_deref(), entry);
            law(again.to_text() == text, || format!("entry {} has other bytes in a replay", header.seq))?;
            let run = header.run.clone().unwrap_or_default();
            match entry {
                Entry::Prompt { .. } => self.comes_with(&entry.to_json()),
                Entry::Called { call } => {
                    let (made, refused, gone) = self.called.entry((run.clone(), *call)).or_default();
                    law(*made == *refused + *gone, || {
                        format!("call {call} of {run} is made twice for nothing")
                    })?;
                    *made += 1;
                }
                Entry::KeyRefused { call } => {
                    let (made, refused, gone) = self.called.entry((run.clone(), *call)).or_default();
                    *refused += 1;
                    let once = *refused == 1 && *made == *refused + *gone;
                    law(once, || format!("{refused} keys are refused in {made} calls {call} of {run}"))?;
                }
                Entry::FilesGone { call, files } => {
                    let (made, refused, gone) = self.called.entry((run.clone(), *call)).or_default();
                    *gone += 1;
                    law(*made == *refused + *gone, || format!("call {call} of {run} was not made"))?;
                    let files = files.as_array().ok_or("files that are no list")?;
                    law(!files.is_empty(), || "no file is gone".into())?;
                    for file in files {
                        let id = file.as_str().unwrap_or_default();
                        let told = self.fold.files().any(|file| file.id == id && !file.gone);
                        law(told, || format!("{id} is gone, and no request has it"))?;
                    }
                }
                Entry::PermissionAsked { tool_call, request, reason, outside, .. } => {
                    self.wait(&run);
                    let told = outside.to_json();
                    law(told == json!(self.outside), || {
                        format!("{request} tells {told}, not {:?}", self.outside)
                    })?;
                    self.asked.insert((run.clone(), tool_call.clone()), self.outside.clone());
                    if *reason == AskReason::UnknownOutcome {
                        self.unknown.insert((run.clone(), tool_call.clone()));
                    }
                    law(self.questions.insert((run, request.clone()), false).is_none(), || {
                        format!("{request} is asked twice")
                    })?;
                }
                Entry::PermissionAnswered { tool_call, request, answer, .. } => {
                    let answered = self.questions.get_mut(&(run.clone(), request.clone()));
                    let answered = answered.ok_or_else(|| format!("{request} was never asked"))?;
                    law(!*answered, || format!("{request} is answered twice"))?;
                    *answered = true;
                    if *answer == Answer::Deny {
                        self.has_effect(&run, tool_call)?;
                    } else {
                        self.allowed.insert((run.clone(), tool_call.clone()));
                        if *answer == Answer::AlwaysAllow {
                            let name = self.call_name(&run, tool_call)?;
                            let outside = self.asked.get(&(run.clone(), tool_call.clone())).cloned();
                            self.always.entry(name).or_default().push(outside.unwrap_or_default());
                        }
                    }
                }
                Entry::Marked { outside } => self.outside.extend(
                    outside
                        .to_json()
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .map(Into::into),
                ),
                Entry::Answered { blocks, .. } => {
                    for block in blocks {
                        if let Block::Raw(json) = block {
                            let kind: Value = serde_json::from_str(json).unwrap_or_default();
                            let kind = kind["type"].as_str().unwrap_or_default();
                            let own = ["redacted_thinking", "reasoning", "compaction"].contains(&kind);
                            self.outside.extend((!own).then(|| format!("provider:{kind}")));
                        }
                    }
                }
                Entry::Judged { tool_call, verdict } => {
                    self.judged.insert((run, tool_call.clone()), verdict.as_str().to_owned());
                }
                Entry::Granted { tool, .. } => {
                    self.always.entry(tool.clone()).or_default().push(BTreeSet::new());
                }
                Entry::Revoked { tool } => drop(self.always.remove(tool)),
                Entry::Stopped {} => self.always.clear(),
                Entry::Returned { tool_call, outside, .. } => {
                    let marks = outside.to_json();
                    let marks = marks.as_array().into_iter().flatten();
                    self.outside.extend(marks.filter_map(|mark| mark.as_str().map(String::from)));
                    let name = self.call_name(&run, tool_call)?;
                    let tool = self.fold.tools.get(&name);
                    if tool.is_none_or(|tool| tool.definition.source == Source::External) {
                        self.outside.insert(format!("tool:{name}"));
                    }
                }
                Entry::Handed { tool_call, .. } => {
                    self.may_run(&run, tool_call)?;
                    self.has_effect(&run, tool_call)?;
                    self.wait(&run);
                }
                Entry::Delegated { tool_call, .. } => {
                    let parent = self.fold.current().map(|run| run.id.clone()).unwrap_or_default();
                    self.may_run(&parent, tool_call)?;
                }
                Entry::Ordered { tool_call, .. } => {
                    self.may_run(&run, tool_call)?;
                    self.has_effect(&run, tool_call)?;
                    *self.ordered.entry((run, tool_call.clone())).or_default() += 1;
                }
                Entry::Lost { .. } => drop(self.lost.insert(run)),
                // It may be ended by a page that never told of it, as what was lost.
                Entry::Benched { .. } => drop(self.lost.insert(run)),
                Entry::Recorded { what, record } => {
                    for (what, record) in records(what, record, header.run.as_deref())? {
                        if what == RecordKind::Receipt {
                            self.receipt_follows(&record)?;
                            self.has_receipt(run.clone(), &record)?;
                        }
                    }
                }
                Entry::Ended { .. } => self.has_its_receipts(&run)?,
                Entry::Cleared { .. } => {
                    self.cleared = header.seq;
                    self.always.clear();
                    self.outside.clear();
                }
                _ => {}
            }
        }
        if let Some(entry) = &entry {
            self.waits(entry, header.run.as_deref())?;
        }
        let before = self.before(entry.as_ref());
        self.fold.accept(&header, entry.as_ref(), &row).map_err(|e| e.message.clone())?;
        if let Some((replaces, before)) = before {
            let answer = self.took_its_place(&replaces, &before)?;
            let what = if answer { "prompt, made anew" } else { "prompt, edited" };
            *self.kinds.entry(what.into()).or_default() += 1;
        }
        if let Some(Entry::Taken { message }) = &entry {
            let begins = self.fold.runs.last().is_some_and(|run| run.prompt.message == *message);
            let what = if begins { "taken, to begin a run" } else { "taken, to enter one" };
            *self.kinds.entry(what.into()).or_default() += 1;
            self.stands_where_it_belongs(message, header.run.as_deref().unwrap_or_default())?;
        }
        self.hash = row.hash().into();
        self.at = header.at;
        self.rows.push(text.into());
        *self.kinds.entry(header.kind.clone()).or_default() += 1;
        // What works for another run is safe with the end of that one.
        let of_another =
            header.run.as_ref().and_then(|run| self.fold.run(run)).is_some_and(Run::works_for_another);
        Ok(if of_another { format!("{} for another run", header.kind) } else { header.kind })
    }

    /// What is replaced by an entry, and the ids of the conversation before.
    fn before(&self, entry: Option<&Entry>) -> Option<(String, Vec<String>)> {
        let replaces = match entry? {
            Entry::Prompt { replaces, .. } => replaces.clone()?,
            Entry::Taken { message } => {
                let said = &self.queue_of(message)?.prompt["replaces"];
                let there = ids(&session::history(&self.fold, None, None)?);
                said.as_str().filter(|id| there.iter().any(|there| there == id))?.to_owned()
            }
            _ => return None,
        };
        Some((replaces.clone(), ids(&session::history(&self.fold, None, None)?)))
    }

    /// What waits or has just been taken under this id.
    fn queue_of(&self, message: &str) -> Option<&Waits> {
        self.queue.iter().find(|waits| waits.id == message)
    }

    /// An entry that is about the queue, held against what waits.
    fn waits(&mut self, entry: &Entry, run: Option<&str>) -> Law {
        // What was taken stays until the next entry, so that a law can look at what it has done.
        let taken = &self.taken;
        self.queue.retain(|waits| !taken.contains(&waits.id));
        let of_top = run.is_some() && self.fold.current().map(|top| top.id.as_str()) == run;
        match entry {
            Entry::Queued { mode, prompt } => {
                let id = prompt["message"].as_str().unwrap_or_default().to_owned();
                law(self.fold.current().is_some(), || format!("{id} waits for nothing"))?;
                let (prompt, run) = (prompt.clone(), run.ok_or("what waits has no run")?.into());
                self.queue.push(Waits { id, run, steers: *mode == Mode::Steer, held: false, prompt });
            }
            Entry::Edited { message, text } => {
                let waits = self.queue.iter_mut().find(|waits| waits.id == *message);
                waits.ok_or("what does not wait is edited")?.prompt["text"] = text.as_str().into();
            }
            Entry::Unqueued { message } => {
                let at = self.queue.iter().position(|waits| waits.id == *message);
                self.queue.remove(at.ok_or("what does not wait is removed")?);
            }
            Entry::Released {} => self.queue.iter_mut().for_each(|waits| waits.held = false),
            Entry::Started { .. } => self.queue.iter_mut().for_each(|waits| waits.held = true),
            Entry::Ended { outcome, .. } if of_top => {
                for waits in &mut self.queue {
                    (waits.steers, waits.held) = (false, *outcome != Outcome::Completed);
                }
            }
            Entry::Cleared { .. } => self.queue.clear(),
            Entry::Commanded { what, .. } if matches!(what.known(), Some(Ask::Fork | Ask::Import)) => {
                self.queue.clear()
            }
            Entry::Taken { message } => {
                let steers = self.fold.current().is_some();
                let next = self.queue.iter().find(|waits| waits.steers == steers);
                let next = next.ok_or_else(|| format!("{message} is taken, and nothing waits"))?;
                law(next.id == *message || next.held, || format!("{message} is taken before {}", next.id))?;
                let waits = self.queue_of(message).ok_or_else(|| format!("{message} does not wait"))?;
                law(!waits.held, || format!("{message} is held and taken"))?;
                law(waits.steers == steers && of_top == steers, || format!("{message} goes into {run:?}"))?;
                law(steers || Some(waits.run.as_str()) == run, || {
                    format!("{message} begins {run:?}, and was to begin {:?}", waits.run)
                })?;
                let open = self.fold.current().map(Run::open_calls).unwrap_or_default().len();
                law(open == 0, || format!("{message} enters, and {open} calls are open"))?;
                let prompt = waits.prompt.clone();
                self.comes_with(&prompt);
                law(self.taken.insert(message.clone()), || format!("{message} is taken twice"))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A message that was taken is shown as it was said last: the last one before the answer of its run.
    fn stands_where_it_belongs(&self, message: &str, run: &str) -> Law {
        let history = session::history(&self.fold, None, None).unwrap_or_default();
        let said = history.iter().position(|shown| shown["id"] == message);
        let said = said.ok_or_else(|| format!("{message} was taken and is not shown"))?;
        law(history[said]["runId"] == run, || format!("{message} of {run} is {}", history[said]))?;
        let answer = &history[said + 1];
        law(answer["runId"] == run && answer["role"] == "assistant", || {
            format!("{message} is before {answer}")
        })?;
        let text = self.queue_of(message).map(|waits| waits.prompt["text"].clone()).unwrap_or_default();
        let shown =
            history[said]["parts"].as_array().and_then(|parts| parts.last()).map(|part| &part["text"]);
        law(shown == Some(&text) || text == "", || format!("{message} says {shown:?} and not {text}"))
    }

    /// A new version stands where the old one did, with nothing behind it and all that was before it; and what left can
    /// be looked at. Whether it was an answer.
    fn took_its_place(&self, replaces: &str, before: &[String]) -> Result<bool, String> {
        let history = session::history(&self.fold, None, None).unwrap_or_default();
        let now = ids(&history);
        let stood = before.iter().position(|id| id == replaces).ok_or("what was not there is replaced")?;
        // What had entered a run that went on with a failed answer was said before the new one, and stays.
        let was_said = |at: &usize| history[*at]["role"] == "user" && before[stood..].contains(&now[*at]);
        let at = stood + (stood..now.len()).take_while(was_said).count();
        let answer = now.len() == at + 1;
        law(now.len() > at && now[..stood] == before[..stood] && (answer || now.len() == at + 2), || {
            format!("{replaces} of {before:?} is replaced, and now there is {now:?}")
        })?;
        law(!now.iter().any(|id| id == replaces), || format!("{replaces} is replaced, and still there"))?;
        let was = session::history_of_version(&self.fold, replaces, None, None).unwrap_or_default();
        law(ids(&was) == before, || format!("{before:?} is remembered as {:?}", ids(&was)))?;
        let versions = history[at]["versions"].as_array().ok_or("a new version without versions")?;
        let [.., old, new] = versions.as_slice() else { return Err("one version alone".into()) };
        law(old == replaces && *new == now[at].as_str(), || format!("{replaces} is not before {new}"))?;
        Ok(answer)
    }

    /// Every version of every message can be looked at, and says the same of the others.
    fn versions_can_be_seen(&self) -> Law {
        for message in session::history(&self.fold, None, None).unwrap_or_default() {
            for version in message["versions"].as_array().into_iter().flatten() {
                let id = version.as_str().unwrap_or_default();
                let was = session::history_of_version(&self.fold, id, None, None).unwrap_or_default();
                let then = was.iter().find(|then| then["id"] == id);
                let same = then.is_some_and(|then| then["versions"] == message["versions"]);
                law(same, || format!("the version {id} of {message} is {then:?}"))?;
            }
        }
        Ok(())
    }

    /// A run waits for a person, and with it the one that it works for.
    fn wait(&mut self, run: &str) {
        self.waited.insert(run.into());
        self.waited.extend(self.fold.current().map(|top| top.id.clone()));
    }

    fn call_name(&self, run: &str, tool_call: &str) -> Result<String, String> {
        let call = self.fold.run(run).and_then(|run| run.call(tool_call));
        call.map(|call| call.name.clone()).ok_or_else(|| format!("{tool_call} is no call"))
    }

    /// A tool call begins, or is denied: if its tool has an effect, it leaves a receipt.
    fn has_effect(&mut self, run: &str, tool_call: &str) -> Law {
        let name = self.call_name(run, tool_call)?;
        if self.fold.tools.get(&name).is_some_and(|tool| !tool.definition.read_only) {
            self.deeds.insert((run.into(), tool_call.into()));
        }
        Ok(())
    }

    fn has_receipt(&mut self, run: String, receipt: &Value) -> Law {
        let Some(call) = receipt["result"]["metadata"]["tool_call_id"].as_str() else { return Ok(()) };
        let told = format!("{call} of {run} has a second receipt");
        law(self.receipts.insert((run, call.into())), || told)
    }

    /// A receipt is behind the latest one, and has the hash of what it says.
    fn receipt_follows(&mut self, receipt: &Value) -> Law {
        let previous = receipt["previous_receipt_hash"].as_str();
        let last = self.receipt.as_deref();
        law(previous == last, || format!("a receipt follows {previous:?}, and the latest is {last:?}"))?;
        let mut said = receipt.clone();
        let hash = said.as_object_mut().and_then(|said| said.remove("self_hash"));
        let digest = Sha256::digest(without(&said, ""));
        let sum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        law(hash == Some(sum.clone().into()), || format!("a receipt has the hash {hash:?}, not {sum}"))?;
        self.receipt = Some(sum);
        Ok(())
    }

    /// Whatever a run has done is on record before it ends.
    fn has_its_receipts(&self, run: &str) -> Law {
        let left = self.deeds.difference(&self.receipts).find(|(of, _)| of == run);
        law(left.is_none(), || format!("{left:?} has no receipt"))
    }

    /// What comes with a message, unless the page vouches for it.
    fn comes_with(&mut self, prompt: &Value) {
        if prompt["trusted"] != true {
            self.outside.extend(prompt["context"].is_string().then(|| "context".to_owned()));
            let files = prompt["files"].as_array().into_iter().flatten();
            let digits =
                |id: &str| id.chars().take("file_".len() + 32).skip("file_".len()).collect::<String>();
            let origin =
                |file: &Value| Some(format!("file:{}#{}", file[3].as_str()?, digits(file[1].as_str()?)));
            self.outside.extend(files.filter_map(origin));
        }
    }

    /// Nothing runs that nobody has allowed: worked out from the recorded configuration and the answers alone.
    fn may_run(&self, run: &str, tool_call: &str) -> Law {
        let name = self.call_name(run, tool_call)?;
        let tool =
            &self.fold.tools.get(&name).ok_or_else(|| format!("{name} runs and is not there"))?.definition;
        let config = &self.fold.config;
        let delegate = self.fold.run(run).and_then(|run| run.delegate.as_ref());
        let held = |needed: &str| {
            let given = delegate.and_then(|delegate| delegate.capabilities.as_ref());
            config["capabilities"].as_array().is_none_or(|held| held.iter().any(|held| held == needed))
                && given.is_none_or(|given| given.iter().any(|given| given == needed))
        };
        law(tool.capability.as_deref().is_none_or(held), || format!("{name} runs without its capability"))?;
        let process = delegate.map(|delegate| delegate.process.as_str());
        let process = process.or(config["processType"].as_str());
        let reads = matches!(process, Some("Researcher" | "SkillComposer"));
        law(name != "delegate" || process == Some("Orchestrator"), || "nobody else delegates".into())?;
        law(tool.read_only || !reads, || format!("{name} runs in a process that only reads"))?;
        let rules = &config["permissions"];
        let capability = tool.capability.clone().unwrap_or_default();
        let default = rules["default"].as_str().unwrap_or("allow");
        let standard = if tool.destructive && default != "deny" { "ask" } else { default };
        let rule = rules["tools"][&name]
            .as_str()
            .or(rules["capabilities"][&capability].as_str())
            .unwrap_or(standard);
        law(rule != "deny", || format!("{name} runs though it is denied"))?;
        let key = (run.to_owned(), tool_call.to_owned());
        let judged = self.judged.get(&key).map(String::as_str).filter(|_| rules["decide"] == true);
        let always = self.always.get(&name);
        // No tool here says where it sends something.
        let foreseen = || always.into_iter().flatten().any(|seen| self.outside.is_subset(seen));
        let outside = tool.open_world && !self.outside.is_empty() && !foreseen();
        let rule = judged.unwrap_or(rule);
        let allowed = self.allowed.contains(&key);
        law(rule != "deny" || allowed, || format!("{name} runs though decide denies it"))?;
        let asks = rule == "ask" || outside;
        let again = self.ordered.contains_key(&key);
        law(!asks || allowed || again || (always.is_some() && !outside), || {
            format!("{name} ({tool_call}) runs, and nobody has allowed it")
        })
    }

    /// Whether this question of a run was asked, and stands as it should.
    fn knows_question(&self, run: &str, request: &str, answered: bool) -> Law {
        let known = self.questions.get(&(run.to_owned(), request.to_owned()));
        // Its time may be over before its commit is: then the question and its answer are told one after the other.
        law(known.is_some_and(|known| *known >= answered), || {
            format!("the question {request} is {known:?} in the store")
        })
    }

    fn erased(&self, seq: u64, key: &Key, value: &str, before: &Rows) -> Law {
        law(seq <= self.fold.seq(), || format!("row {seq} leaves a gap after {}", self.fold.seq()))?;
        law(seq < self.cleared, || format!("row {seq} was written again"))?;
        let old = before.iter().find(|(old, _)| old == key);
        let (_, old) = old.ok_or_else(|| format!("row {seq} was not there"))?;
        let erased = Row::from_text(old).map_err(|e| e.message.clone())?.erased().to_text();
        law(erased == value, || format!("row {seq} was changed and not erased"))
    }

    /// A checkpoint says what the rows before it add up to.
    fn is_a_checkpoint(&self, text: &str) -> Law {
        let at =
            Session::at_checkpoint(SESSION, &patterns(), text).ok_or("a checkpoint that cannot be read")?;
        let rows = self.rows.iter().take(at.seq() as usize).map(String::as_str);
        let folded = Session::load(SESSION, &patterns(), rows).map_err(|e| e.message.clone())?;
        let place = folded.checkpoint().ok_or("there can be no checkpoint")?;
        law(place.text == text, || format!("the checkpoint {text} should be {}", place.text))
    }

    /// A session that goes on from its checkpoint is the one that all rows give.
    fn goes_on(&self, disk: &MemoryStore) -> Law {
        let checkpoint = disk.read(&Read::all(Table::Entries, checkpoint_key(SESSION)));
        let Some((_, text)) = checkpoint.first() else { return Ok(()) };
        let at =
            Session::at_checkpoint(SESSION, &patterns(), text).ok_or("a checkpoint that cannot be read")?;
        let again = at.checkpoint().ok_or("no checkpoint is at the checkpoint")?;
        law(again.text == *text, || format!("the checkpoint {text} reads as {}", again.text))?;
        let rows = disk.read(&loose(SESSION));
        let texts = rows.iter().map(|(_, text)| text.as_str());
        let (resumed, _) = at.go_on(texts).map_err(|e| e.message.clone())?;
        same(&resumed, &self.fold, "the session behind its checkpoint")
    }

    /// The whole store once more, from nothing: the chain, the fold, the head, a replay, what is erased.
    pub fn audit(&self, disk: &MemoryStore) -> Law {
        self.goes_on(disk)?;
        let rows = unpacked(disk.read(&Read::all(Table::Entries, vec![SESSION.into()])));
        let texts = || rows.iter().map(|(_, text)| text.as_str());
        let loaded = Session::load(SESSION, &patterns(), texts()).map_err(|e| e.message.clone())?;
        same(&loaded, &self.fold, "the fold of the store")?;
        self.versions_can_be_seen()?;
        let head = disk.read(&Read::all(Table::Heads, vec![SESSION.into()]));
        if let Some((_, head)) = head.first() {
            // Its signatures stand behind it.
            let head = head.lines().next().unwrap_or_default();
            let head: Value = serde_json::from_str(head).map_err(|_| "a head that is no JSON")?;
            law(loaded.agrees_with(&head), || "the head does not agree with the journal".into())?;
        }
        law(head.is_empty() == rows.is_empty(), || "a journal without a head, or the other way".into())?;
        replays(texts())?;
        // A replay goes row by row and stops at the first difference: all prefixes are replayed with the whole.
        replays(self.rows.iter().map(String::as_str))
    }

    /// What was said up to this entry is nowhere.
    pub fn nothing_is_left_until(&self, seq: u64, disk: &MemoryStore) -> Law {
        for (key, text) in unpacked(disk.read(&Read::all(Table::Entries, vec![SESSION.into()]))) {
            let row = Row::from_text(&text).map_err(|e| e.message.clone())?;
            let (header, entry) = row.read().map_err(|e| e.message.clone())?;
            let gone = header.seq > seq || !Entry::erasable(&header.kind) || entry.is_none();
            law(gone, || format!("the row {key:?} ({}) still has its content", header.kind))?;
        }
        Ok(())
    }

    /// The ids of the files that the conversation refers to.
    fn files(&self) -> impl Iterator<Item = String> {
        let said = self.fold.all_runs().flat_map(|run| &run.prompt.files);
        let steered = self.fold.all_runs().flat_map(|run| &run.steered);
        let steered = steered.flat_map(|steered| &steered.prompt.files);
        let waiting = self.fold.queue().iter().flat_map(|queued| queued.files());
        let turns = self.fold.all_runs().flat_map(|run| run.all()).flat_map(|run| &run.turns);
        let given = turns.flat_map(|turn| &turn.calls).flat_map(|call| call.files());
        said.chain(steered).chain(given).chain(waiting).map(|block| match block {
            Block::File(file) => file.id.clone(),
            other => panic!("{other:?} is no file"),
        })
    }

    /// There are no bytes that nobody refers to.
    pub fn no_file_is_left(&self, disk: &MemoryStore) -> Law {
        let used: Vec<String> = self.files().collect();
        let left: Vec<String> = files_of(disk).into_iter().filter(|id| !used.contains(id)).collect();
        law(left.is_empty(), || format!("nobody refers to {left:?}"))
    }

    /// A tool with effects is to run: after its order is stored, and twice only if it says that it may.
    pub fn run_tool(&mut self, run: &str, call: &str, again: bool) -> Law {
        let key = (run.to_owned(), call.to_owned());
        let ordered = self.ordered.get(&key).copied().unwrap_or_default();
        let times = self.executed.entry(key).or_default();
        *times += 1;
        law(*times <= ordered, || {
            format!("{call} of {run} runs for the {times}. time, and {ordered} orders are stored")
        })?;
        let key = (run.to_owned(), call.to_owned());
        let again = again || (self.unknown.contains(&key) && self.allowed.contains(&key));
        law(*times == 1 || again, || format!("{call} of {run} takes effect twice"))
    }
}

/// A message that waits.
#[derive(Clone, Debug)]
struct Waits {
    id: String,
    run: String,
    steers: bool,
    held: bool,
    prompt: Value,
}

fn ids(messages: &[Value]) -> Vec<String> {
    messages.iter().map(|message| message["id"].as_str().unwrap_or_default().into()).collect()
}

pub fn files_of(disk: &MemoryStore) -> Vec<String> {
    let id = |(key, _): (Key, String)| match key.into_iter().next() {
        Some(Part::Text(id)) => id,
        other => panic!("a file under {other:?}"),
    };
    disk.read(&Read::all(Table::Files, Vec::new())).into_iter().map(id).collect()
}

/// The machine makes all of these rows again.
pub fn replays<'a>(rows: impl Iterator<Item = &'a str>) -> Law {
    let mut machine = Session::with(SESSION, &patterns());
    for text in rows {
        let row = Row::from_text(text).map_err(|error| error.message.clone())?;
        let said = again(&mut machine, &row).map_err(|error| format!("a replay fails: {}", error.message))?;
        law(said.is_none(), || format!("a replay differs: {said:?}"))?;
    }
    Ok(())
}

/// Whether two sessions are the same in everything that they hold.
pub fn same(one: &Session, other: &Session, what: &str) -> Law {
    let whole = one.past.len().max(other.past.len()) <= 64;
    let told = |session: &Session| {
        let mut session = session.clone();
        if !whole {
            // One that was read from its checkpoint knows no more ends.
            session.past = Default::default();
        }
        let told = format!("{session:?}");
        // Rows do not tell which checkpoint is stored.
        told.rsplit_once(", checkpoint: ").map_or(told.clone(), |(told, _)| told.to_owned())
    };
    let (one, other) = (told(one), told(other));
    law(one == other, || format!("{what} is another:\n{one}\n{other}"))
}

/// The epoch that a commit expects.
pub fn epoch_of(commit: &Commit) -> Option<u64> {
    let row = commit.expect.iter().find(|e| e.table == Table::Meta && e.key == vec!["epoch".into()])?;
    row.value.as_ref()?.parse().ok()
}

fn place(key: &Key) -> Result<u64, String> {
    match key.as_slice() {
        [Part::Text(session), Part::Number(seq)] if session == SESSION => Ok(*seq),
        _ => Err(format!("a row under {key:?}")),
    }
}

/// Where a run stands in what a page was told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Unheard,
    Start,
    Open,
    Result(Outcome),
    Over,
}

#[derive(Debug)]
struct RunTold {
    seq: u64,
    stage: Stage,
    calls: BTreeMap<String, (bool, bool)>,
    parts: BTreeMap<u64, String>,
    /// Those of them that the answer being made has told of.
    latest: BTreeSet<u64>,
    /// The answer that is shown was cut, and is asked for again: what the next one says takes its place.
    cut: bool,
    /// They have.
    replaced: bool,
}

/// What one page was told, since it was opened.
#[derive(Debug)]
pub struct Told {
    /// The mirror of the status.
    pub status: Value,
    /// Every event.
    pub events: Vec<(&'static str, Value)>,
    /// The status when a person was asked.
    pub asked: Vec<Value>,
    /// The conversation as a view keeps it, from what it was told piece by piece.
    pub view: Option<Vec<Value>>,
    /// The state of that view.
    pub state: Value,
    runs: BTreeMap<(u64, String), RunTold>,
    /// The run whose `agent:status-changed` must come next.
    ends: bool,
    /// Whether this page has put something aside, or has waited for the network: then an answer may be made again in one epoch, and say less.
    pub benches: bool,
}

impl Told {
    pub fn new() -> Told {
        Told {
            status: Value::Null,
            events: Vec::new(),
            asked: Vec::new(),
            view: None,
            state: Value::Null,
            runs: BTreeMap::new(),
            ends: false,
            benches: false,
        }
    }

    /// A message that is new or has changed from this part on.
    pub fn message(&mut self, from: usize, mut message: Value) -> Law {
        let Some(view) = &mut self.view else { return Ok(()) };
        match view.iter_mut().find(|known| known["id"] == message["id"]) {
            Some(known) => {
                let had = known["parts"].as_array().map_or(&[][..], Vec::as_slice);
                law(from <= had.len(), || format!("parts from {from} on of a message with {}", had.len()))?;
                let mut parts = had[..from].to_vec();
                parts.extend(message["parts"].as_array().cloned().unwrap_or_default());
                message["parts"] = parts.into();
                *known = message;
            }
            None => {
                law(from == 0, || "a new message that is told in part".into())?;
                view.push(message);
            }
        }
        Ok(())
    }

    /// A message that has left the conversation with all that came after it.
    pub fn gone(&mut self, message: &str) -> Law {
        let Some(view) = &mut self.view else { return Ok(()) };
        let at = view.iter().position(|known| known["id"] == message);
        view.truncate(at.ok_or_else(|| format!("{message} left, and was not there"))?);
        Ok(())
    }

    /// A chunk, taken up as the contract says: cut at the offset, then append.
    fn chunk_of_view(&mut self, detail: &Value) -> Law {
        let known = self.view.iter_mut().flatten().find(|known| known["id"] == detail["messageId"]);
        let Some(parts) = known.and_then(|known| known["parts"].as_array_mut()) else { return Ok(()) };
        let part = detail["part"].as_u64().unwrap_or_default() as usize;
        law(part <= parts.len(), || format!("a chunk of part {part} of {}", parts.len()))?;
        if part == parts.len() {
            parts.push(serde_json::json!({ "type": detail["kind"], "text": "" }));
        }
        let had: Vec<u16> = parts[part]["text"].as_str().unwrap_or_default().encode_utf16().collect();
        let offset = detail["offset"].as_u64().unwrap_or_default() as usize;
        let kept = had.get(..offset).ok_or_else(|| format!("an offset behind the end of {had:?}"))?;
        let text = String::from_utf16_lossy(kept) + detail["text"].as_str().unwrap_or_default();
        parts[part]["text"] = text.into();
        Ok(())
    }

    /// One event. `session`: the fold in the hands of the harness that tells it, if it has one.
    pub fn event(
        &mut self,
        kind: &'static str,
        detail: Value,
        journal: &Journal,
        session: Option<&Session>,
        effectful: impl Fn(&str) -> bool,
    ) -> Law {
        if self.ends {
            law(kind == "agent:status-changed", || format!("{kind} stands between an end and its status"))?;
            self.ends = false;
        }
        if kind == "agent:status-changed" {
            for member in ["lifecycle", "is_streaming"] {
                law(detail[member] == self.status[member], || {
                    format!("status-changed says {detail} and the mirror says {}", self.status)
                })?;
            }
        }
        if kind == "agent:message-chunk" {
            self.chunk_of_view(&detail).map_err(|why| format!("{why}, at {kind} {detail}"))?;
        }
        if detail["runId"].is_string() {
            self.of_run(kind, &detail, journal, session, effectful)
                .map_err(|why| format!("{why}, at {kind} {detail}"))?;
        }
        self.events.push((kind, detail));
        Ok(())
    }

    fn of_run(
        &mut self,
        kind: &str,
        detail: &Value,
        journal: &Journal,
        session: Option<&Session>,
        effectful: impl Fn(&str) -> bool,
    ) -> Law {
        let run = detail["runId"].as_str().unwrap_or_default();
        let epoch = detail["epoch"].as_u64().ok_or("an event of a run without an epoch")?;
        let told = self.runs.entry((epoch, run.into())).or_insert_with(|| RunTold {
            seq: 0,
            stage: Stage::Unheard,
            calls: BTreeMap::new(),
            parts: BTreeMap::new(),
            latest: BTreeSet::new(),
            cut: false,
            replaced: false,
        });
        told.seq += 1;
        law(detail["seq"] == told.seq, || format!("seq should be {}", told.seq))?;
        let stored = journal.fold.run_times(run);
        let lost = journal.lost.contains(run) || journal.waited.contains(run);
        let fold = session.and_then(|session| session.run(run));
        let phase = detail["phase"].as_str().unwrap_or_default();
        // What works for another run shows as its call: it has no beginning and no end of its own.
        if let Some(parent) = detail["parentRunId"].as_str() {
            law(
                matches!(
                    kind,
                    "agent:tool-call"
                        | "agent:permission-required"
                        | "agent:permission-resolved"
                        | "agent:notice"
                ),
                || "a run that works for another tells of itself".into(),
            )?;
            law(journal.fold.run_times(parent).is_some(), || "of a run that nobody knows".into())?;
            told.stage = Stage::Open;
        }
        self.benches |= kind == "agent:notice" && detail["kind"] == "offline";
        told.cut |=
            kind == "agent:notice" && detail["kind"] == "retry" && detail["error"]["code"] == "stream_broken";
        // A held run that is ended and never goes on is not begun again in this epoch.
        if told.stage == Stage::Unheard && lost && phase != "start" {
            told.stage = Stage::Open;
        }
        told.stage = match (kind, told.stage) {
            ("agent:lifecycle", Stage::Unheard) if phase == "start" => {
                law(stored.is_some(), || "the run begins before its prompt is stored".into())?;
                Stage::Start
            }
            ("agent:session-started", Stage::Start) => Stage::Open,
            ("agent:message-chunk", Stage::Open) => {
                told.chunk(detail, fold, self.benches)?;
                Stage::Open
            }
            ("agent:permission-required" | "agent:permission-resolved", Stage::Open) => {
                told.calls_begin();
                let request = detail["requestId"].as_str().unwrap_or_default();
                let resolved = kind == "agent:permission-resolved";
                let withdrawn = detail["answer"] == "withdrawn";
                journal.knows_question(run, request, resolved && !withdrawn)?;
                if !resolved {
                    self.asked.push(self.status.clone());
                }
                Stage::Open
            }
            ("agent:tool-call", Stage::Open) => {
                told.calls_begin();
                told.call(detail, fold, run, journal, lost, effectful)?;
                Stage::Open
            }
            ("agent:notice", Stage::Open) => {
                let shortened = detail["kind"] == "compaction" && detail["phase"].is_string();
                law(shortened || detail["error"]["code"].is_string(), || {
                    "a notice does not say what has happened".into()
                })?;
                Stage::Open
            }
            ("agent:session-completed", Stage::Open) => Stage::Result(Outcome::Completed),
            ("agent:session-interrupted", Stage::Open) => Stage::Result(Outcome::Interrupted),
            ("agent:error", Stage::Open) => Stage::Result(Outcome::Failed),
            ("agent:lifecycle", Stage::Result(outcome)) => {
                let wanted = if outcome == Outcome::Failed { "error" } else { "end" };
                law(phase == wanted, || format!("the phase should be {wanted}"))?;
                self.ends = true;
                Stage::Over
            }
            (_, stage) => return Err(format!("not allowed in the stage {stage:?}")),
        };
        if let Stage::Result(outcome) = told.stage {
            let ended = stored.and_then(|(_, ended)| ended).ok_or("the end is told before it is stored")?;
            law(outcome == ended.outcome, || format!("the journal says {:?}", ended.outcome))?;
            let open = told.calls.iter().find(|(_, (begun, over))| *begun && !over);
            law(open.is_none(), || format!("the run ends before its call {open:?}"))?;
            if let Some(run) = journal.fold.run(run).filter(|_| !self.benches && !told.cut) {
                told.shows_what_is_kept(&journal.fold, run, lost)?;
            }
        }
        if matches!(told.stage, Stage::Result(_) | Stage::Over) {
            law(self.status["is_streaming"] == false, || "the mirror still streams at the end".into())?;
        }
        Ok(())
    }
}

impl RunTold {
    /// `again`: the answer may be made again in this epoch, because it was put aside.
    fn chunk(&mut self, detail: &Value, run: Option<&Run>, again: bool) -> Law {
        if let Some(run) = run {
            law(detail["messageId"] == run.answer_id(), || "the chunk is of another message".into())?;
        }
        let part = detail["part"].as_u64().ok_or("a chunk without a part")?;
        let text = detail["text"].as_str().filter(|text| !text.is_empty()).ok_or("an empty chunk")?;
        if (again || self.cut) && detail["offset"] == 0 {
            // The new answer may begin with a call, which is no chunk.
            let cut = if std::mem::take(&mut self.cut) {
                std::mem::take(&mut self.latest)
            } else {
                BTreeSet::new()
            };
            self.replaced |= !cut.is_empty();
            self.parts.retain(|known, _| *known < part && !cut.contains(known));
        }
        let shown = self.parts.entry(part).or_default();
        let offset = shown.encode_utf16().count() as u64;
        law(detail["offset"] == offset, || format!("the offset should be {offset}"))?;
        shown.push_str(text);
        self.latest.insert(part);
        Ok(())
    }

    /// An answer is whole and its calls begin. Where it took the place of one that was cut, it may have said no word itself.
    fn calls_begin(&mut self) {
        let latest = std::mem::take(&mut self.latest);
        if std::mem::take(&mut self.cut) {
            self.parts.retain(|part, _| !latest.contains(part));
            self.replaced |= !latest.is_empty();
        }
    }

    fn call(
        &mut self,
        detail: &Value,
        run: Option<&Run>,
        run_id: &str,
        journal: &Journal,
        lost: bool,
        effectful: impl Fn(&str) -> bool,
    ) -> Law {
        let id = detail["toolCallId"].as_str().ok_or("a call without an id")?;
        let (begun, over) = self.calls.entry(id.into()).or_default();
        law(!*over, || "the call is over".into())?;
        match detail["status"].as_str() {
            Some("started") if detail.get("progress").is_some() => {
                law(*begun, || "progress before the call began".into())
            }
            Some("started") => {
                law(!*begun, || "the call has begun already".into())?;
                *begun = true;
                let state = run.and_then(|run| run.call(id)).map(|call| &call.state);
                if state == Some(&CallState::Ordered)
                    && effectful(detail["tool"].as_str().unwrap_or_default())
                {
                    let key = (run_id.to_owned(), id.to_owned());
                    law(journal.ordered.contains_key(&key), || "told before its order is stored".into())?;
                }
                Ok(())
            }
            Some("completed" | "failed") => {
                law(*begun || lost, || "the call ends before it began".into())?;
                *over = true;
                let wanted = if detail["status"] == "completed" { "result" } else { "error" };
                law(!detail[wanted].is_null(), || format!("no {wanted}"))
            }
            other => Err(format!("the status {other:?}")),
        }
    }

    /// What was streamed is what the history keeps. An answer that broke off loses its open tool calls, so that
    /// what came after them moves up; a run that went on in this epoch has earlier parts that were not told in it.
    fn shows_what_is_kept(&self, fold: &Session, run: &Run, lost: bool) -> Law {
        let message = session::answer_of(fold, run);
        let parts = message["parts"].as_array().ok_or("a message without parts")?;
        if run.ended.as_ref().is_some_and(|ended| ended.outcome == Outcome::Completed) {
            for (part, shown) in &self.parts {
                let kept = parts.get(*part as usize).and_then(|part| part["text"].as_str());
                law(kept == Some(shown), || format!("part {part} is shown as {shown:?}, kept as {kept:?}"))?;
            }
        }
        let kept: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        let shown: Vec<&str> = self.parts.values().map(String::as_str).collect();
        // What was said before a loss is kept where going on came to less; thinking says nothing.
        let said = |part: &&Value| part["type"] == "text";
        let had_more = (lost || self.replaced) && parts.iter().any(|part| said(&part));
        law(kept.ends_with(&shown) || had_more, || format!("shown is {shown:?}, and kept is {kept:?}"))
    }
}

/// The records that a row puts down. A short one is of a run, and says nothing that goes without saying.
fn records(
    what: &Word<RecordKind>,
    record: &Value,
    run: Option<&str>,
) -> Result<Vec<(RecordKind, Value)>, String> {
    let kind = what.known().ok_or_else(|| format!("a record of the kind {what:?}"))?;
    if !matches!(kind, RecordKind::Prompt | RecordKind::End) {
        return Ok(vec![(kind, record.clone())]);
    }
    let short = Short::of(Some(kind), record, run).ok_or("a short record of no run")?;
    let whole = short.whole().map_err(|error| error.message.clone())?;
    let event = whole.iter().find(|(kind, _)| *kind == RecordKind::Event).map(|(_, event)| event);
    let event = event.ok_or("a short record without an event")?;
    let task = event["task_id"].as_str();
    let has = |name: &str| record.get(name).is_some();
    let said = |name: &str| record[name].as_str().unwrap_or_default();
    let begun = if kind == RecordKind::End { &record["started"] } else { &record["at"] };
    let stem = task_id(&task_title(said("session"), begun.as_u64().unwrap_or_default(), ""));
    let ends_so =
        task.is_some_and(|task| task.strip_prefix(&*stem).is_some_and(|tail| tail.starts_with('_')));
    let of_prompt = [
        ("a task in a tail", has("tail") == ends_so && (has("task") == (task.is_some() && !ends_so))),
        (
            "a hash that its task has",
            !has("hash") || !said("tail").get(1..).is_some_and(|tail| tail.starts_with(said("hash"))),
        ),
    ];
    let of_end = [
        ("tools", record.get("granted").is_none_or(|granted| granted == true)),
        ("a provider", !has("on") || said("on") != said("provider")),
        ("a status", !has("status") || said("status") != "completed"),
        (
            "receipts",
            record.get("receipts").is_none_or(|ids| ids.as_array().is_some_and(|ids| !ids.is_empty())),
        ),
        (
            "what is left",
            record.get("left").is_none_or(|left| left.as_object().is_some_and(|left| !left.is_empty())),
        ),
        ("a time", record.get("told").is_none_or(|told| told.as_u64() > record["at"].as_u64())),
    ];
    for (of, holds) in of_prompt.into_iter().chain(of_end) {
        law(holds, || format!("a short record does not say {of} in its shortest form: {record}"))?;
    }
    let bare = |value: &Value| value.is_null();
    let nothing = record.as_object().into_iter().flatten().find(|(_, value)| bare(value));
    law(nothing.is_none(), || format!("a short record says nothing at length: {nothing:?}"))?;
    Ok(whole)
}
