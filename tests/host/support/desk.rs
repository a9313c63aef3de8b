//! A page with sessions, on a store that never fails: what tests of single cases of sessions begin with.
//!
//! It does at once whatever the harness asks for. Promises: each command is answered once. Pages share nothing but the
//! store that one hands to the next.

use super::shapes;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::{Action, By, CallKey, Harness, Input, ModelRequest, Notice, Options};
use lodger::journal::pack::unpacked;
use lodger::journal::{Entry, RecordKind, Row, Word};
use lodger::model::{Answer, Block, StopReason, Usage};
use lodger::ports::{Commit, Key, MemoryStore, PatternEngine, Read, Shelf, StoreError, Table, Write};
use lodger::protocol::{Request, read};
use lodger::session::operator::Operator;
use lodger::session::record::{Record, Short};
use lodger::session::{Session, replay};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub type Answered = Result<Value, ErrorInfo>;

pub struct Desk {
    pub harness: Harness,
    pub store: MemoryStore,
    pub now: u64,
    ids: u32,
    pub answers: BTreeMap<u32, Answered>,
    pub events: Vec<(&'static str, Value)>,
    /// What else the page was told.
    pub notices: Vec<Notice>,
    pub models: Vec<CallKey>,
    /// The tools that run.
    pub tools: Vec<CallKey>,
    /// What `decide` was asked.
    pub consulted: Vec<Value>,
    /// Which function was called for each model call so far.
    pub streams: Vec<u32>,
    /// What the model was asked last.
    pub asked: Value,
    /// The same as text, with the marks of files.
    pub sent: String,
    /// How many rows of journals were read.
    pub read: usize,
    /// How many heads of sessions were read.
    pub heads: usize,
    /// How many rows of `meta` were read.
    pub metas: usize,
    /// The key that signs has this name; the store's own has none.
    pub key: Option<&'static str>,
    /// Whether there is a key.
    pub signs: bool,
    /// Whether the store's key is older than all that lies there.
    pub strict: bool,
    /// Whether another tab works here.
    pub held: bool,
    /// What was done about locks: "lock", "steal", "announce", "unlock", "unlock, stopped".
    pub locks: Vec<&'static str>,
    /// Who gives the next commands.
    pub by: By,
    /// What was read or locked, and has not come yet; `None`: it comes at once.
    pub late: Option<Vec<Input>>,
    /// What all workspaces of the origin share.
    pub account: MemoryStore,
    /// Whether memories can be read and written.
    pub remembers: bool,
    /// Whether what all workspaces share cannot be opened.
    pub account_fails: bool,
}

impl Desk {
    pub fn on(store: MemoryStore, now: u64, subject: &str) -> Desk {
        Desk::with(store, now, subject, false)
    }

    /// The same, where agents have page tools if so.
    pub fn with(store: MemoryStore, now: u64, subject: &str, page_tools: bool) -> Desk {
        let operator = Some(Operator { subject: subject.into(), issuer: None, expires_at: None });
        let options = Options { name: "docs".into(), page_tools, holder: "h".into(), operator };
        Desk {
            harness: Harness::new(options),
            store,
            now,
            ids: 0,
            answers: BTreeMap::new(),
            events: Vec::new(),
            notices: Vec::new(),
            models: Vec::new(),
            tools: Vec::new(),
            consulted: Vec::new(),
            streams: Vec::new(),
            asked: Value::Null,
            sent: String::new(),
            read: 0,
            heads: 0,
            metas: 0,
            key: None,
            signs: true,
            strict: true,
            held: false,
            locks: Vec::new(),
            by: By::Here,
            late: None,
            account: MemoryStore::new(),
            remembers: true,
            account_fails: false,
        }
    }

    /// Somebody's page, on a disk of its own.
    pub fn of(subject: &str) -> Desk {
        Desk::on(MemoryStore::new(), 1_779_430_500_000, subject)
    }

    /// The same with an agent that runs.
    pub fn started(subject: &str) -> Desk {
        let mut desk = Desk::of(subject);
        desk.start();
        desk
    }

    pub fn start(&mut self) {
        self.start_with(json!({}));
    }

    /// Starts the agent with these providers besides.
    pub fn start_with(&mut self, more: Value) {
        let stream = |f: u64| json!({ "kind": "custom", "model": "model-1", "stream": { "$fn": f } });
        let mut providers = json!({ "spare": stream(51) });
        providers.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.must("startAgent", json!({ "provider": stream(50), "providers": providers }));
    }

    /// What was read late comes.
    pub fn comes(&mut self) {
        for read in self.late.take().unwrap_or_default() {
            self.handle(read);
        }
    }

    /// The page goes away without a word, and another opens.
    pub fn crash(self, subject: &str) -> Desk {
        Desk { strict: self.strict, ..Desk::on(self.store, self.now + 1_000, subject) }
    }

    pub fn handle(&mut self, input: Input) {
        self.now += 1;
        self.harness.handle(self.now, input);
        while let Some(action) = self.harness.poll(self.now) {
            match action {
                Action::Reply { id, result } => {
                    let value = |json: Option<String>| {
                        json.map_or(Value::Null, |json| serde_json::from_str(&json).unwrap())
                    };
                    assert!(self.answers.insert(id, result.map(value)).is_none(), "{id} is answered twice");
                }
                Action::Tell(Notice::Event(name, detail)) => {
                    let detail = serde_json::from_str(&detail).unwrap();
                    shapes::event(name, &detail).unwrap();
                    self.events.push((name, detail));
                }
                Action::Tell(notice) => self.notices.push(notice),
                Action::Peek => self.harness.handle(self.now, Input::Held(self.held)),
                Action::Lock { steal, .. } => {
                    self.locks.push(if steal { "steal" } else { "lock" });
                    self.held &= !steal;
                    let locked = Input::Locked(!self.held);
                    match &mut self.late {
                        Some(late) => late.push(locked),
                        None => self.harness.handle(self.now, locked),
                    }
                }
                Action::Announce { .. } => self.locks.push("announce"),
                Action::Unlock { stopped, .. } => {
                    self.locks.push(if stopped { "unlock, stopped" } else { "unlock" });
                }
                Action::Account { id, .. } => {
                    let result = match self.account_fails {
                        true => Err(StoreError::Unavailable("it is damaged".into())),
                        false => Ok(vec![]),
                    };
                    self.harness.handle(self.now, Input::Account { read: id, result });
                }
                Action::Commit { id, commit } => {
                    let result = self.store.commit(&commit);
                    self.harness.handle(self.now, Input::Committed { commit: id, result });
                }
                Action::Exchange { id, shelf, commit, reads } => {
                    let store = match shelf {
                        Shelf::Workspace => &mut self.store,
                        Shelf::Account => &mut self.account,
                    };
                    let stored = commit.map_or(Ok(()), |commit| store.commit(&commit));
                    let result = stored.map(|()| reads.iter().map(|read| store.read(read)).collect());
                    let result = if self.remembers { result } else { Err(StoreError::Failed("no".into())) };
                    self.harness.handle(self.now, Input::Exchanged { id, result });
                }
                Action::Read { id, reads } => {
                    let rows: Vec<_> = reads.iter().map(|read| self.store.read(read)).collect();
                    for (read, rows) in reads.iter().zip(&rows) {
                        match read.table {
                            Table::Entries => self.read += rows.len(),
                            Table::Heads => self.heads += rows.len(),
                            Table::Meta => self.metas += rows.len(),
                            _ => {}
                        }
                    }
                    let read = Input::Read { read: id, result: Ok(rows) };
                    match &mut self.late {
                        Some(late) => late.push(read),
                        None => self.harness.handle(self.now, read),
                    }
                }
                Action::Room(room) => self.harness.handle(self.now, Input::Room { room, result: Ok(()) }),
                Action::Sign { id, texts } => {
                    let mut signatures = self.store.signatures(&texts);
                    for (signature, key) in signatures.iter_mut().zip(self.key.iter().cycle()) {
                        signature.push(' ');
                        signature.push_str(key);
                    }
                    let signatures = Some(signatures).filter(|_| self.signs);
                    // Another key than the store's has not signed what lies there.
                    let strict = self.strict && self.key.is_none();
                    self.harness.handle(self.now, Input::Signed { id, result: Ok(signatures), strict });
                }
                Action::CallModel { call, request } => {
                    request.text().clone_into(&mut self.sent);
                    if let ModelRequest::Custom { stream, .. } = &request {
                        self.streams.push(*stream);
                        // One with files in it is text around them.
                        self.asked = serde_json::from_str(request.text()).unwrap_or_default();
                    }
                    if let ModelRequest::Http { request, .. } = &request {
                        self.asked = serde_json::from_str(&request.body).unwrap_or_default();
                    }
                    self.models.push(call);
                }
                Action::CallPage { call, kind: "tool", .. } => self.tools.push(call),
                Action::CallPage { kind: "decide", json: Some(json), .. } => {
                    self.consulted.push(serde_json::from_str(&json).unwrap());
                }
                Action::Draft { writes } => {
                    self.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
                }
                Action::Abort(call) => {
                    self.models.retain(|model| *model != call);
                    self.tools.retain(|tool| *tool != call);
                }
                _ => {}
            }
        }
    }

    /// Gives a command; its number.
    pub fn command(&mut self, name: &str, args: Value) -> u32 {
        self.gives(read(name, args))
    }

    /// The same of a command that was read.
    pub fn gives(&mut self, request: Result<Request, ErrorInfo>) -> u32 {
        self.ids += 1;
        let id = self.ids;
        let fresh = format!("{:x}_{id}", self.now);
        self.handle(Input::Command { id, request, fresh, by: self.by.clone() });
        id
    }

    pub fn ask(&mut self, name: &str, args: Value) -> Answered {
        let id = self.command(name, args);
        self.answers.get(&id).cloned().unwrap_or_else(|| panic!("no answer to {name}"))
    }

    pub fn must(&mut self, name: &str, args: Value) -> Value {
        let told = self.ask(name, args).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        shapes::reply(name, &told).unwrap_or_else(|error| panic!("{error}"));
        told
    }

    pub fn fails(&mut self, name: &str, args: Value) -> (Code, String) {
        let error = self.ask(name, args).expect_err(name);
        (error.code, error.message.clone())
    }

    /// The model that was called first says so.
    pub fn says(&mut self, text: &str) {
        self.answers_with(vec![Block::Text(text.into())], StopReason::EndTurn);
    }

    pub fn answers_with(&mut self, blocks: Vec<Block>, stop: StopReason) {
        let call = self.models.remove(0);
        let usage = Usage { input_tokens: 10, output_tokens: 20, ..Usage::default() };
        let answer = Answer { blocks, stop: Some(stop), usage, model: None, id: None };
        self.handle(Input::Answered { call, result: Ok(answer) });
    }

    /// The model that was called first is not asked, because this file is gone.
    pub fn misses(&mut self, file: &str) {
        let call = self.models.remove(0);
        self.handle(Input::FilesGone { call, files: vec![file.into()] });
    }

    /// The model that was called first wants this tool.
    pub fn wants(&mut self, tool: &str) {
        let call = Block::ToolCall { id: "c".into(), name: tool.into(), arguments: "{}".into() };
        self.answers_with(vec![call], StopReason::ToolUse);
    }

    /// One of the tools that run has done it.
    pub fn returns(&mut self, at: usize) {
        let call = self.tools.remove(at);
        self.handle(Input::Returned { call, result: Ok(Some("\"done\"".into())) });
    }

    /// What was done by tools in a session, each as its tool, capability, status and summary.
    pub fn deeds(&mut self, id: &str) -> Vec<Value> {
        let told = |receipt: &Value| {
            let result = &receipt["result"];
            let tool = result["metadata"]["command_ref"].clone();
            json!([tool, receipt["capability"], result["status"], result["summary"]])
        };
        let receipts = self.recorded(id, "receipt");
        let of_tools = |receipt: &&Value| receipt["result"]["metadata"]["tool_call_id"].is_string();
        receipts.iter().filter(of_tools).map(told).collect()
    }

    /// The model that was called first fails so.
    pub fn breaks(&mut self, code: Code) {
        let call = self.models.remove(0);
        let error = ErrorInfo::new(code, "provider returned token=secret-token");
        self.handle(Input::Answered { call, result: Err((error, None)) });
    }

    pub fn launch(&mut self, id: &str) -> Value {
        self.must("sessions.launch", json!({ "id": id }))
    }

    pub fn prompt(&mut self, id: &str, text: &str) -> Value {
        self.must("sessions.prompt", json!({ "id": id, "text": text }))
    }

    pub fn status(&mut self, id: &str) -> Value {
        self.must("sessions.status", json!({ "id": id }))["session"].clone()
    }

    /// Events, receipts or handoffs as the journal has them.
    pub fn recorded(&mut self, id: &str, kind: &str) -> Vec<Value> {
        let mut found = Vec::new();
        for text in self.rows(id) {
            let (header, entry) = Row::from_text(&text).unwrap().read().unwrap();
            let Some(Entry::Recorded { what, record }) = entry else { continue };
            for (what, record) in whole(&what, record, header.run.as_deref()) {
                if what == kind {
                    found.push(record);
                }
            }
        }
        found
    }

    pub fn event_types(&mut self, id: &str) -> Vec<String> {
        self.recorded(id, "event").iter().map(|event| event["event_type"].as_str().unwrap().into()).collect()
    }

    /// What is stored once nothing is on its way.
    pub fn rows(&mut self, id: &str) -> Vec<String> {
        self.now += 200;
        self.handle(Input::Tick { online: true });
        self.stored(Table::Entries, id)
    }

    /// All that the workspace has stored, as it lies there.
    pub fn all_stored(&self) -> String {
        let rows = Table::ALL.into_iter().flat_map(|table| self.store.read(&Read::all(table, Vec::new())));
        rows.map(|(_, text)| text + "\n").collect()
    }

    pub fn stored(&self, table: Table, key: &str) -> Vec<String> {
        let rows = self.store.read(&Read::all(table, vec![key.into()]));
        let rows = if table == Table::Entries { unpacked(rows) } else { rows };
        rows.into_iter().map(|(_, text)| text).collect()
    }

    /// Somebody edits the database: each row of this session in a table, its key and text; `None`: it stays, and a row
    /// without text goes.
    pub fn edits(&mut self, table: Table, id: &str, edit: impl Fn(&Key, &str) -> Option<String>) {
        for (key, text) in self.store.read(&Read::all(table, vec![id.into()])) {
            let write = match edit(&key, &text) {
                Some(text) if text.is_empty() => Write::DeletePrefix { table, prefix: key },
                Some(value) => Write::Put { table, key, value },
                None => continue,
            };
            self.store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
        }
    }

    /// The same for the first row that has this text.
    pub fn tampers(&mut self, table: Table, id: &str, from: &str, to: &str) {
        self.rows(id);
        let rows = self.stored(table, id);
        let first = rows.iter().find(|text| text.contains(from)).expect("such a row");
        self.edits(table, id, |_, text| (text == first).then(|| text.replacen(from, to, 1)));
    }

    pub fn integrity(&mut self, id: &str) -> Value {
        self.must("sessions.status", json!({ "id": id }))["hmac_status"].clone()
    }

    /// The journal folds to what the head says, and replays byte for byte. What it folds to.
    pub fn holds(&mut self, id: &str) -> Session {
        let rows = self.rows(id);
        let texts = || rows.iter().map(String::as_str);
        let fold = Session::load(id, &PatternEngine::default(), texts()).unwrap();
        let head: Value =
            serde_json::from_str(self.stored(Table::Heads, id)[0].lines().next().unwrap()).unwrap();
        assert!(fold.agrees_with(&head));
        assert_eq!(Record::read(&head["record"]).as_ref(), Ok(fold.record().unwrap()));
        assert_eq!(replay(id, texts()).unwrap(), Ok(()));
        fold
    }
}

/// The same as before format 3, where the end of a run told also whether it had tools.
pub fn whole_before(
    what: &Word<RecordKind>,
    record: Value,
    run: Option<&str>,
    granted: bool,
) -> Vec<(String, Value)> {
    let older = Short::of(what.known(), &record, run).and_then(|short| short.in_older_form(granted));
    whole(what, older.unwrap_or(record), run)
}

/// The records that one entry puts down, each by its kind: several where it is a short one.
pub fn whole(what: &Word<RecordKind>, record: Value, run: Option<&str>) -> Vec<(String, Value)> {
    match Short::of(what.known(), &record, run) {
        Some(short) => {
            let whole = short.whole().unwrap_or_else(|error| panic!("{record}: {error}"));
            whole.into_iter().map(|(what, record)| (what.as_str().into(), record)).collect()
        }
        None => vec![(what.as_str().into(), record)],
    }
}
