//! The host twin of the pump: one disk, one lock, one or two pages, and a seed that decides what happens next.
//!
//! It drives `Harness` exactly as a pump must: `handle` what happened, `poll` until nothing is left, `Tick` at
//! the deadline, one commit in flight. In between it is as unkind as a browser can be. Commits are late,
//! fail or abort. Reads are slow. Models and tools fail, hang, or answer after they were aborted.
//! Pages die with a commit in the air. A lock is taken away, and that is told late. Promises: the same seed
//! gives the same world. Every step is held against `laws`. It also has a calm side, for tests that say
//! themselves what happens ([`World::calm`]).

use super::anthropic_rules::Signed;
use super::engine::guarded;
use super::laws::{Journal, Law, SESSION, Told, files_of, law, same};
use super::media::{self, SAMPLES};
use super::script::{self, Asking, Plan};
use super::shapes;
use super::strict::check_request;
use fastrand::Rng;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::{
    Action, By, CallKey, FORMAT_KEY, Found, Given, Harness, Http, Input, Lifecycle, Marker, ModelRequest,
    Notice, Options, Provider, rooms_of,
};
use lodger::model::{Answer, Delta, StopReason, Usage, Wire};
use lodger::ports::marks::{Piece, fill, pieces};
use lodger::ports::{Commit, HttpRequest, MemoryStore, Millis, Read, Rows, Shelf, StoreError, Table, Write};
use lodger::protocol::read;
use lodger::rooms::{Room, Rooms, entered};
use lodger::run::{CallState, Run, Said};
use lodger::session::Session;
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What may go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Commits fail.
    pub commits: bool,
    /// Reads fail.
    pub reads: bool,
    /// Pages die.
    pub crashes: bool,
    /// The lock is taken away.
    pub thefts: bool,
    /// Calls that were aborted answer nevertheless.
    pub late: bool,
    /// There is a second page.
    pub second: bool,
    /// Conversations are cleared.
    pub clears: bool,
    /// Messages are edited, and answers made anew.
    pub edits: bool,
    /// Messages wait in the queue.
    pub queues: bool,
    /// The session is benched and played.
    pub benches: bool,
    /// The page configures and registers in mid-run.
    pub changes: bool,
    /// Rooms do not come.
    pub rooms: bool,
    /// Tools and answers have schemas that few have.
    pub schemas: bool,
    /// The bytes of files are lost.
    pub files: bool,
    /// Conversations become too long for their models.
    pub compacts: bool,
    /// The page tools are there, which makes every start dearer.
    pub page_tools: bool,
}

impl Faults {
    pub const ALL: Faults = Faults {
        commits: true,
        reads: true,
        crashes: true,
        thefts: true,
        late: true,
        second: true,
        clears: true,
        edits: true,
        queues: true,
        benches: true,
        changes: true,
        rooms: true,
        schemas: true,
        files: true,
        compacts: true,
        page_tools: true,
    };

    /// The same with one thing less, for each thing: the ways to make a failure simpler.
    pub fn fewer(self) -> Vec<Faults> {
        let mut ways = Vec::new();
        let mut without = |change: fn(&mut Faults) -> &mut bool| {
            let mut fewer = self;
            if std::mem::take(change(&mut fewer)) {
                ways.push(fewer);
            }
        };
        without(|f| &mut f.second);
        without(|f| &mut f.thefts);
        without(|f| &mut f.crashes);
        without(|f| &mut f.commits);
        without(|f| &mut f.reads);
        without(|f| &mut f.clears);
        without(|f| &mut f.edits);
        without(|f| &mut f.queues);
        without(|f| &mut f.benches);
        without(|f| &mut f.changes);
        without(|f| &mut f.rooms);
        without(|f| &mut f.schemas);
        without(|f| &mut f.files);
        without(|f| &mut f.compacts);
        without(|f| &mut f.late);
        without(|f| &mut f.page_tools);
        ways
    }
}

/// A model call that is open.
#[derive(Debug)]
pub struct Model {
    pub wire: Wire,
    /// The request's body.
    pub body: Value,
    /// Where it goes, and with what; empty where it goes to a function of the page.
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Whether the page's function is asked for another key than the one that was refused.
    pub refused: bool,
    /// Whether it is asked to sum up a conversation.
    pub sums_up: bool,
    /// What its answer says, while it streams, that it has used up.
    pub told: Usage,
    /// How it will go; decided at the first step.
    plan: Option<Plan>,
}

/// The headers as they go out: ours, a key that the page gives as a text, then the page's own over them.
fn outgoing(http: &Http, ours: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut headers = ours;
    if let Some(Given::Text(key)) = &http.key {
        let (name, value) = http.key_header(key);
        headers.push((name.into(), value));
    }
    for (name, value) in &http.headers {
        headers.retain(|(ours, _)| ours != name);
        headers.extend(value.clone().map(|value| (name.clone(), value)));
    }
    headers
}

/// A request to a provider that is on its way.
#[derive(Debug)]
pub struct Sent {
    pub http: Rc<Http>,
    pub request: HttpRequest,
    /// Whether the page's function is asked for another key than the one that was refused.
    pub refused: bool,
}

/// A function of the page that runs.
#[derive(Clone, Debug)]
pub struct Called {
    pub function: u32,
    pub kind: &'static str,
    pub args: Value,
}

/// What the page asked for, and what it got.
#[derive(Debug)]
pub struct Asked {
    pub name: String,
    pub args: Value,
    pub answer: Option<Result<Value, ErrorInfo>>,
    /// How far the stored journal went when it was asked.
    seq: u64,
}

/// A read on its way. The rows are as they were when it was asked, or are read when it is answered.
#[derive(Debug)]
struct OpenRead {
    id: u64,
    reads: Vec<Read>,
    rows: Option<Vec<Rows>>,
}

/// One page with its harness.
#[derive(Debug)]
pub struct Page {
    pub harness: Harness,
    pub told: Told,
    pub asked: BTreeMap<u32, Asked>,
    pub models: BTreeMap<CallKey, Model>,
    pub called: BTreeMap<CallKey, Called>,
    pub sent: BTreeMap<CallKey, Sent>,
    pub closed: bool,
    commit: Option<(u64, Commit)>,
    reads: Vec<OpenRead>,
    /// Exchanges with the account that have come to nothing yet, and what they will give.
    accounts: Vec<(u64, Vec<String>)>,
    exchanges: Vec<(u64, Result<Vec<Rows>, StoreError>)>,
    /// Rooms that are on their way, and those that are there.
    pub awaited: Vec<Room>,
    /// A run waits for the network.
    pub awaits_network: bool,
    /// Its configuration before the last input. One input can let several commands through, one after the other, and what
    /// the first has decided is done with what the last one leads to.
    pub config_before: Value,
    rooms: Rooms,
    /// Whether that of schemas is.
    has_schemas: Rc<Cell<bool>>,
    signing: Vec<(u64, Vec<String>)>,
    /// Model calls that are not made, and the files that they miss.
    unsent: Vec<(CallKey, Vec<String>)>,
    wants_lock: bool,
    /// It waits to hear whether anybody holds the lock.
    peeks: bool,
    /// Whether it has the lock, as far as it knows.
    has_lock: bool,
    /// Whether its lock was taken and it does not know yet.
    robbed: bool,
    /// The epoch in which a clearing could not erase everything: the next start does.
    unerased: Option<u64>,
    gone_models: Vec<CallKey>,
    gone_calls: Vec<CallKey>,
    calls_seen: BTreeSet<CallKey>,
    /// The epoch that it raised last.
    epoch: u64,
}

impl Page {
    /// Whether something waits for it that its browser does by itself.
    fn answers_by_itself(&self) -> bool {
        !(self.accounts.is_empty() && self.exchanges.is_empty() && self.signing.is_empty())
    }
}

/// What can happen in a step.
#[derive(Clone, Copy, Debug)]
enum What {
    Commit,
    Read,
    Account,
    Room,
    Network,
    Lock,
    Stream,
    Call,
    Time,
    Crash,
    Theft,
    Robbed,
    Late,
    Loss,
    Unsent,
    Command,
}

/// The tools that every page registers: name, function, whether it only reads, more members.
const TOOLS: [(&str, u32, bool, &str); 11] = [
    ("get_fact", 1, true, "{}"),
    ("list_slowly", 2, true, r#"{"timeoutMs":400}"#),
    ("send_mail", 3, false, "{}"),
    ("put_log", 4, false, r#"{"concurrency":"parallel","lookup":{"$fn":53}}"#),
    ("mail_again", 5, false, r#"{"onResume":"rerun"}"#),
    ("send_quickly", 6, false, r#"{"timeoutMs":5}"#),
    ("wipe", 7, false, r#"{"destructive":true,"capability":"Wipe","openWorld":false}"#),
    ("read_news", 8, true, r#"{"source":"External"}"#),
    ("pay", 9, false, r#"{"lookup":{"$fn":53},"capability":"Pay"}"#),
    ("fill_form", 10, false, r#"{"validate":{"$fn":54}}"#),
    // Nobody but a person answers it.
    ("ask_boss", 0, false, r#"{"openWorld":false}"#),
];
/// The model that is asked where the page names none.
const DEFAULT_MODEL: &str = "claude-sonnet-4-6";
const DECIDE: u32 = 52;
const STREAM: u32 = 50;
const VALIDATE: u32 = 55;
const INSTRUCTIONS: u32 = 51;
const KEY: u32 = 56;
/// What a model is told that sums up a conversation begins so.
const SUMS_UP: &str = "You sum up a conversation between a person and an assistant";

/// Everything there is.
#[derive(Debug)]
pub struct World {
    pub now: Millis,
    pub disk: MemoryStore,
    /// No commit finds room on it.
    pub full: bool,
    /// Pages that open have page tools, also where nothing goes wrong.
    pub page_tools: bool,
    /// Whether the marker outside of it is set.
    marker: bool,
    pub pages: Vec<Page>,
    /// What the workspaces of the origin give to each other.
    pub account: BTreeMap<(String, String), String>,
    /// The memories of the account.
    pub shelf: MemoryStore,
    pub journal: Journal,
    pub signed: Signed,
    /// What happened how often.
    pub seen: BTreeMap<&'static str, u64>,
    /// The last lines of what happened, when they are kept.
    pub trace: Vec<String>,
    keeps_trace: bool,
    faults: Option<Faults>,
    holder: Option<usize>,
    rng: Rng,
    ids: u32,
}

impl World {
    fn new(seed: u64, faults: Option<Faults>) -> World {
        World {
            now: 1_000_000,
            disk: MemoryStore::new(),
            full: false,
            page_tools: false,
            marker: false,
            pages: Vec::new(),
            account: BTreeMap::new(),
            shelf: MemoryStore::new(),
            journal: Journal::new(),
            signed: Signed::new(),
            seen: BTreeMap::new(),
            trace: Vec::new(),
            keeps_trace: false,
            faults,
            holder: None,
            rng: Rng::with_seed(seed),
            ids: 0,
        }
    }

    /// A world in which nothing goes wrong, with one page.
    pub fn calm() -> World {
        World::on(MemoryStore::new(), Journal::new(), Signed::new())
    }

    /// The same on a disk that has something already.
    pub fn on(disk: MemoryStore, journal: Journal, signed: Signed) -> World {
        let now = journal.at.max(1_000_000);
        let mut world = World { now, disk, journal, signed, ..World::new(0, None) };
        world.open();
        world
    }

    /// A world that its seed drives.
    pub fn wild(seed: u64, faults: Faults, keeps_trace: bool) -> World {
        let mut world = World { keeps_trace, ..World::new(seed, Some(faults)) };
        for _ in 0..=usize::from(faults.second) {
            world.open();
            world.equip(world.pages.len() - 1);
        }
        world
    }

    /// Opens one more page.
    pub fn open(&mut self) -> usize {
        let page = self.fresh_page();
        self.pages.push(page);
        self.pages.len() - 1
    }

    fn fresh_page(&mut self) -> Page {
        self.ids += 1;
        let holder = format!("tab-{}", self.ids);
        let page_tools = self.page_tools || self.faults.is_some_and(|faults| faults.page_tools);
        let has_schemas = Rc::new(Cell::new(false));
        let options = Options { name: "sim".into(), page_tools, holder, operator: Options::local_operator() };
        let mut harness = Harness::with(options, guarded(&has_schemas));
        if self.faults.is_some() {
            let found = self.found();
            let opened = harness.opened(self.now, &found, true);
            assert!(opened.is_ok(), "this version has written it, and it is whole");
        }
        Page {
            harness,
            told: Told::new(),
            asked: BTreeMap::new(),
            models: BTreeMap::new(),
            called: BTreeMap::new(),
            sent: BTreeMap::new(),
            closed: false,
            commit: None,
            reads: Vec::new(),
            accounts: Vec::new(),
            exchanges: Vec::new(),
            awaited: Vec::new(),
            awaits_network: false,
            config_before: Value::Null,
            rooms: rooms_of(page_tools),
            has_schemas,
            signing: Vec::new(),
            unsent: Vec::new(),
            wants_lock: false,
            peeks: false,
            has_lock: false,
            robbed: false,
            unerased: None,
            gone_models: Vec::new(),
            gone_calls: Vec::new(),
            calls_seen: BTreeSet::new(),
            epoch: 0,
        }
    }

    /// What a page finds that opens here.
    fn found(&self) -> Found {
        let row = |key: &str| self.disk.read(&Read::all(Table::Meta, vec![key.into()])).pop();
        let [format, lost, emptied] = Found::KEYS.map(|key| row(key).map(|(_, text)| text));
        let marker = if self.marker { Marker::Since(1) } else { Marker::Absent };
        Found { format, lost, emptied: emptied.is_some(), marker }
    }

    /// Registers the tools of a page.
    pub fn equip(&mut self, page: usize) {
        for (name, function, read_only, more) in TOOLS {
            let mut tool: Value = serde_json::from_str(more).unwrap();
            tool["name"] = name.into();
            tool["description"] = "A tool.".into();
            tool["readOnly"] = read_only.into();
            tool["inputSchema"] = json!({ "type": "object", "properties": { "to": { "type": "string" } } });
            if matches!(name, "put_log" | "read_news") && self.draws_rare_schema() {
                tool["inputSchema"] = script::RARE_TOOL.into();
            }
            if function > 0 {
                tool["execute"] = json!({ "$fn": function });
            }
            self.command(page, "tools.register", tool);
        }
        self.command(page, "watch", json!({}));
    }

    /// Whether a schema is one that few have.
    fn draws_rare_schema(&mut self) -> bool {
        let draws = self.faults.is_some_and(|faults| faults.schemas) && self.rng.u8(..4) == 0;
        if draws {
            self.note("schemas that few have");
        }
        draws
    }

    fn note(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn log(&mut self, line: impl FnOnce() -> String) {
        if self.keeps_trace {
            let line = format!("{:>8} {}", self.now, line());
            self.trace.push(line);
        }
    }

    // The pump.

    /// Something happened to a page. A broken law ends the test, with what led to it.
    pub fn handle(&mut self, page: usize, input: Input) {
        self.log(|| format!("{page} <- {input:?}"));
        let now = self.now;
        // What the world looks at by itself enters rooms too.
        let _ = entered();
        self.pages[page].config_before = self.pages[page].harness.config().record();
        self.pages[page].harness.handle(now, input);
        self.enters_what_is_there(page);
        self.pump(page);
    }

    /// No door is passed before its room has come.
    fn enters_what_is_there(&self, page: usize) {
        let lacks = entered().but(self.pages[page].rooms);
        assert!(lacks.is_empty(), "broken law: {lacks:?} is entered and has not come");
    }

    fn pump(&mut self, page: usize) {
        loop {
            let _ = entered();
            let action = self.pages[page].harness.poll(self.now);
            self.enters_what_is_there(page);
            let Some(action) = action else { break };
            self.log(|| format!("{page} -> {action:?}"));
            if let Err(broken) = self.act(page, action) {
                panic!("broken law: {broken}");
            }
        }
    }

    fn act(&mut self, at: usize, action: Action) -> Law {
        let page = &mut self.pages[at];
        match action {
            Action::Reply { id, result } => self.replied(at, id, result)?,
            Action::Tell(notice) => self.tell(at, notice)?,
            Action::Lock { .. } => {
                law(!page.wants_lock && !page.has_lock, || "the lock is asked for twice".into())?;
                page.wants_lock = true;
            }
            Action::Peek => page.peeks = true,
            Action::Announce { epoch } => {
                law(page.has_lock, || "a holder without the lock".into())?;
                page.epoch = epoch;
            }
            Action::Unlock { .. } => {
                page.has_lock = false;
                page.robbed = false;
                if self.holder == Some(at) {
                    self.holder = None;
                }
            }
            Action::Commit { id, commit } => {
                law(page.commit.is_none(), || "two commits are in flight".into())?;
                law(!commit.writes.is_empty(), || "an empty commit".into())?;
                let entries = commit.writes.iter().any(|write| {
                    matches!(
                        write,
                        Write::Put { table: Table::Entries, .. } | Write::Sign { table: Table::Entries, .. }
                    )
                });
                law(!entries || page.has_lock, || "entries are written without the lock".into())?;
                page.commit = Some((id, commit));
            }
            Action::Draft { writes } => {
                let drafts = |write: &Write| write.table() == Table::Drafts;
                law(writes.iter().all(drafts), || {
                    "something besides drafts is written past the commits".into()
                })?;
                // Nobody waits for it, and it may be lost with its page.
                if self.rng.bool() {
                    let commit = Commit { writes, ..Commit::default() };
                    self.disk.commit(&commit).map_err(|error| format!("a draft: {error:?}"))?;
                }
            }
            Action::Read { id, reads } => {
                // A store may read at once, unless the page's own commit is before it.
                let at_once = page.commit.is_none() && self.rng.bool();
                let rows = at_once.then(|| reads.iter().map(|read| self.disk.read(read)).collect());
                page.reads.push(OpenRead { id, reads, rows });
            }
            Action::Sign { id, texts } => {
                self.pages[at].signing.push((id, self.disk.signatures(&texts)));
            }
            Action::Account { id, workspace, skills } => {
                self.account.retain(|(of, _), _| *of != workspace);
                self.account.extend(skills.into_iter().map(|(name, row)| ((workspace.clone(), name), row)));
                let rows = self.account.values().cloned().collect();
                self.pages[at].accounts.push((id, rows));
            }
            Action::Exchange { id, shelf, commit, reads } => {
                let store = match shelf {
                    Shelf::Workspace => &mut self.disk,
                    Shelf::Account => &mut self.shelf,
                };
                let stored = commit.map_or(Ok(()), |commit| store.commit(&commit));
                let result = stored.map(|()| reads.iter().map(|read| store.read(read)).collect());
                self.pages[at].exchanges.push((id, result));
            }
            Action::Room(room) => {
                law(!page.awaited.contains(&room), || "a room is asked for twice".into())?;
                law(!page.rooms.has(room), || "a room is asked for that is there".into())?;
                page.awaited.push(room);
            }
            Action::AwaitOnline => page.awaits_network = true,
            Action::CallModel { call, request } => self.called_model(at, call, request)?,
            Action::CallPage { call, function, kind, json } => {
                law(page.calls_seen.insert(call), || "a call has the number of another".into())?;
                let args: Value = json.map_or(Value::Null, |json| serde_json::from_str(&json).unwrap());
                if kind == "tool" {
                    self.called_tool(at, function, &args)?;
                }
                self.pages[at].called.insert(call, Called { function, kind, args });
            }
            Action::Abort(call) => {
                page.sent.remove(&call);
                page.unsent.retain(|(unsent, _)| *unsent != call);
                if page.models.remove(&call).is_some() {
                    page.gone_models.push(call);
                }
                // A call that is aborted before it was made must not be made.
                page.calls_seen.insert(call);
                if page.called.remove(&call).is_some() {
                    page.gone_calls.push(call);
                }
            }
            Action::File { id, .. } => self.replied(at, id, Ok(None))?,
            Action::Mark => {
                let format = Read::all(Table::Meta, vec![FORMAT_KEY.into()]);
                law(!self.disk.read(&format).is_empty(), || "a marker without anything stored".into())?;
                self.marker = true;
            }
            Action::Storage { id, .. } => self.replied(at, id, Ok(Some("{}".into())))?,
            Action::Persist(command) => self.replied(at, command, Ok(Some("true".into())))?,
            Action::Vault { id, .. } => self.replied(at, id, Ok(None))?,
            Action::Send { call, http, request, refused } => {
                law(page.calls_seen.insert(call), || "a call has the number of another".into())?;
                let lacks = http.preset.wire.rooms().but(page.rooms);
                law(lacks.is_empty(), || format!("a key is tried without {lacks:?}"))?;
                page.sent.insert(call, Sent { http, request, refused });
            }
            Action::Close => {
                page.closed = true;
                page.called.clear();
                page.unsent.clear();
                page.models.clear();
                if self.holder == Some(at) {
                    self.holder = None;
                }
            }
        }
        Ok(())
    }

    fn replied(&mut self, at: usize, id: u32, result: Result<Option<String>, ErrorInfo>) -> Law {
        let page = &mut self.pages[at];
        let asked = page.asked.get_mut(&id).ok_or_else(|| format!("a reply to {id}, which nobody asked"))?;
        law(asked.answer.is_none(), || format!("{} ({id}) is answered twice", asked.name))?;
        let answer = match result {
            Ok(None) => Ok(Value::Null),
            Ok(Some(json)) => {
                Ok(serde_json::from_str::<Value>(&json).map_err(|_| format!("no JSON: {json}"))?)
            }
            Err(error) => Err(error),
        };
        let version = asked.args.get("version").is_some();
        let (name, seq, whole) = (asked.name.clone(), asked.seq, asked.answer.insert(answer).clone());
        let Ok(value) = whole else {
            if name == "clearConversation" {
                self.pages[at].unerased = Some(self.pages[at].epoch);
            }
            self.note("refusals");
            return Ok(());
        };
        if version {
            self.note("versions looked at");
        }
        shapes::reply(&name, &value)?;
        match name.as_str() {
            "sendMessage" | "regenerate" | "resume" | "compact" => {
                let run = value["runId"].as_str().unwrap_or_default();
                let fold = &self.journal.fold;
                let stored = fold.run_times(run).is_some() || fold.queued(run).is_some();
                if fold.queued(run).is_some() {
                    self.note("messages that wait");
                }
                law(stored, || format!("{name} was accepted before {run} is stored"))
            }
            "clearConversation" => {
                self.journal.nothing_is_left_until(seq, &self.disk)?;
                // Files of a message that the next one has cleared meanwhile go with that one.
                let clears = |asked: &Asked| asked.name == "clearConversation" && asked.answer.is_none();
                let more = self.pages.iter().any(|page| page.asked.values().any(clears));
                if more { Ok(()) } else { self.journal.no_file_is_left(&self.disk) }
            }
            "wait" if value["status"] != "timeout" => {
                let run = value["runId"].as_str().unwrap_or_default();
                let ended = self.journal.fold.run_times(run).and_then(|(_, ended)| ended);
                law(ended.is_some(), || format!("the end of {run} is told before it is stored"))
            }
            _ => Ok(()),
        }
    }

    fn tell(&mut self, at: usize, notice: Notice) -> Law {
        let page = &mut self.pages[at];
        let parsed = |json: &str| serde_json::from_str::<Value>(json).map_err(|_| format!("no JSON: {json}"));
        match notice {
            Notice::Status(json) => page.told.status = parsed(&json)?,
            Notice::Event(kind, json) => {
                let effectful = |name: &str| TOOLS.iter().any(|tool| tool.0 == name && !tool.2);
                let session = page.harness.session(SESSION);
                let detail = parsed(&json)?;
                shapes::event(kind, &detail)?;
                page.told.event(kind, detail, &self.journal, session, effectful)?;
            }
            Notice::History(_, json, _) => {
                let Value::Array(messages) = parsed(&json)? else {
                    return Err("a history that is no array".into());
                };
                messages.iter().try_for_each(shapes::message)?;
                page.told.view = Some(messages);
            }
            Notice::Message(_, from, json) => {
                let message = parsed(&json)?;
                shapes::message(&message)?;
                page.told.message(from, message)?;
            }
            Notice::Gone(_, message) => page.told.gone(&message)?,
            Notice::Tools(json) => drop(parsed(&json)?),
            Notice::Lost(json) => return Err(format!("nothing was lost: {json}")),
            Notice::View(_, json) => {
                page.told.state = parsed(&json)?;
                shapes::view(&page.told.state)?;
            }
            Notice::Grown(..) => {}
        }
        Ok(())
    }

    fn called_model(&mut self, at: usize, call: CallKey, request: ModelRequest) -> Law {
        let page = &mut self.pages[at];
        let (mut url, mut headers) = (String::new(), Vec::new());
        let (wire, json, name, refused) = match request {
            ModelRequest::Http { http, request, refused } => {
                url = request.url;
                headers = outgoing(&http, request.headers);
                (http.preset.wire, request.body, Provider::Http(http).peer().name, refused)
            }
            ModelRequest::Custom { json, .. } => (Wire::OpenAiChat, json, "custom".to_owned(), false),
        };
        let lacks = wire.rooms().but(page.rooms);
        law(lacks.is_empty(), || format!("a model is called without {lacks:?}"))?;
        // Only what is stored can be sent.
        let there = |id: &str| !self.disk.read(&Read::all(Table::Files, vec![id.into()])).is_empty();
        let asked = pieces(&json).into_iter().filter_map(|piece| match piece {
            Piece::File(id, _) => Some(id.to_owned()),
            Piece::Text(_) => None,
        });
        let missing: BTreeSet<String> = asked.filter(|id| !there(id)).collect();
        if !missing.is_empty() {
            law(missing.is_subset(&self.journal.lost_files), || {
                format!("a request lacks the bytes of {missing:?}, and they were not lost")
            })?;
            page.unsent.push((call, missing.into_iter().collect()));
            return Ok(());
        }
        let json = fill(&json, media::bytes).ok_or("a request with a file that was never sent")?;
        let body: Value = serde_json::from_str(&json).map_err(|_| "a request that is no JSON")?;
        // The other one of the page's own functions.
        let name = if name == "custom" && body["model"] == "m" { "custom m".into() } else { name };
        let session = page.harness.session(SESSION).ok_or("a model is called without a session")?;
        let run = session.current().ok_or("a model is called without a run")?;
        let name = session.name_of(name);
        // One call for each run that awaits one: this run, and those that work for it.
        let awaited: Vec<&Run> = run.parts().into_iter().filter(|run| run.awaited().is_some()).collect();
        law(page.models.len() < awaited.len(), || "more model calls than are awaited".into())?;
        let again = awaited.iter().any(|run| run.needs_another_key());
        law(again || !refused, || "another key is asked for, and none was refused".into())?;
        let delegated = json.contains("Another agent has given you the task");
        // A summary is a conversation of its own, which begins with it.
        let sums_up = json.contains(SUMS_UP);
        law(!sums_up || awaited.iter().any(|run| run.summarizes), || "nobody awaits a summary".into())?;
        let paused = if sums_up {
            false
        } else if delegated {
            let parts = awaited.iter().filter(|run| run.delegate.is_some());
            parts.copied().any(|run| paused(std::slice::from_ref(run), &name))
        } else {
            paused(&session.runs, &name)
        };
        check_request(wire, &body, &self.signed, paused).map_err(|why| format!("{why}, in {body}"))?;
        let told = Usage::default();
        page.models.insert(call, Model { wire, body, url, headers, refused, sums_up, told, plan: None });
        self.note("model calls");
        if sums_up {
            self.note("model calls that sum up");
        }
        if delegated {
            self.note("delegates: model calls");
        }
        Ok(())
    }

    fn called_tool(&mut self, at: usize, function: u32, args: &Value) -> Law {
        self.note("tool calls");
        let call = args["toolCallId"].as_str().ok_or("a tool runs for no call")?;
        let Some(run) = args["runId"].as_str() else { return self.page_may_run(at, function, call) };
        let session = self.pages[at].harness.session(SESSION).ok_or("a tool of no session")?;
        let state = session.run(run).and_then(|run| run.call(call)).map(|call| call.state.clone());
        law(state == Some(CallState::Ordered), || format!("{call} runs, and it is {state:?}"))?;
        match TOOLS.iter().find(|tool| tool.1 == function) {
            Some((_, _, false, more)) => self.journal.run_tool(run, call, more.contains("rerun")),
            _ => Ok(()),
        }
    }

    /// A tool that the page's own code calls runs by the configuration of this moment, and by what a person has said.
    fn page_may_run(&self, at: usize, function: u32, call: &str) -> Law {
        let page = &self.pages[at];
        let now = self.page_may_run_by(&page.harness.config().record(), at, function, call);
        now.or_else(|broken| {
            let before = self.page_may_run_by(&page.config_before, at, function, call);
            before.map_err(|_| broken)
        })
    }

    fn page_may_run_by(&self, config: &Value, at: usize, function: u32, call: &str) -> Law {
        let page = &self.pages[at];
        let Some((name, _, read_only, more)) = TOOLS.iter().find(|tool| tool.1 == function) else {
            return Ok(());
        };
        let more: Value = serde_json::from_str(more).unwrap();
        let needed = more["capability"].as_str();
        let held =
            |held: &Value| held.as_array().is_none_or(|held| held.iter().any(|held| held.as_str() == needed));
        law(needed.is_none() || held(&config["capabilities"]), || {
            format!("{name} runs without its capability")
        })?;
        let reads = matches!(config["processType"].as_str(), Some("Researcher" | "SkillComposer"));
        law(*read_only || !reads, || format!("{name} runs in a process that only reads"))?;
        let rules = &config["permissions"];
        let default = rules["default"].as_str().unwrap_or("allow");
        let standard = if more["destructive"] == true && default != "deny" { "ask" } else { default };
        let by_capability = needed.and_then(|needed| rules["capabilities"][needed].as_str());
        let rule = rules["tools"][*name].as_str().or(by_capability).unwrap_or(standard);
        let resolved = |(kind, detail): &(&str, Value)| {
            *kind == "agent:permission-resolved"
                && detail["requestId"] == format!("ask_{call}")
                && detail["answer"] != "deny"
                && detail["answer"] != "withdrawn"
        };
        let allowed = page.told.events.iter().any(resolved);
        law(rule != "deny" || allowed, || format!("{name} runs though it is denied"))?;
        let session = page.harness.session(SESSION);
        let always = session.is_some_and(|session| session.grants.iter().any(|grant| grant.tool == *name));
        // What `decide` says in advance goes before the rule.
        let asks = rule == "ask" && rules["decide"] != true;
        law(!asks || allowed || always, || format!("{name} ({call}) runs, and nobody has allowed it"))
    }

    /// The page asks for something; gives the number of the command.
    pub fn command(&mut self, page: usize, name: &str, args: Value) -> u32 {
        self.ids += 1;
        let id = self.ids;
        let asked =
            Asked { name: name.into(), args: args.clone(), answer: None, seq: self.journal.fold.seq() };
        self.pages[page].asked.insert(id, asked);
        self.pages[page].told.benches |= name == "sessions.bench";
        self.handle(
            page,
            Input::Command { id, request: read(name, args), fresh: format!("{id:x}"), by: By::Here },
        );
        id
    }

    /// The commit in flight comes to this end; `Ok` may still be a conflict.
    pub fn finish_commit(&mut self, page: usize, fate: Result<(), StoreError>) {
        let Some((id, commit)) = self.pages[page].commit.take() else { return };
        let fate = if self.full { Err(StoreError::Quota) } else { fate };
        let result = fate.and_then(|()| self.land(&commit));
        if let Err(error) = &result {
            self.note(match error {
                StoreError::Conflict(..) => "commits: conflict",
                StoreError::Quota => "commits: quota",
                StoreError::Failed(_) | StoreError::Absent(_) => "commits: failed",
                StoreError::Unavailable(_) => "commits: unavailable",
                StoreError::Blocked => "commits: blocked",
                StoreError::Newer => "commits: newer",
                StoreError::Deleted | StoreError::Lost => "commits: deleted",
            });
        } else {
            self.note("commits");
        }
        self.handle(page, Input::Committed { commit: id, result });
    }

    fn land(&mut self, commit: &Commit) -> Result<(), StoreError> {
        let mut before = Rows::new();
        for write in &commit.writes {
            if let Write::Put { table: Table::Entries, key, .. }
            | Write::Sign { table: Table::Entries, key, .. } = write
            {
                before.extend(self.disk.read(&Read::all(Table::Entries, key.clone())));
            }
            if let Write::DeleteRange { table, prefix, from, until } = write {
                let range = Read::all(*table, prefix.clone()).within(Some(*from), Some(*until));
                before.extend(self.disk.read(&range));
            }
        }
        self.disk.commit(commit)?;
        if let Err(broken) = self.journal.stored(commit, &before, &self.disk) {
            self.log(|| format!("stored {commit:?}"));
            panic!("broken law: {broken}");
        }
        Ok(())
    }

    fn finish_read(&mut self, page: usize, which: usize, fails: bool) {
        let open = self.pages[page].reads.remove(which);
        let result = if fails {
            self.note("reads that fail");
            Err(StoreError::Failed("the connection is lost".into()))
        } else {
            Ok(open.rows.unwrap_or_else(|| open.reads.iter().map(|read| self.disk.read(read)).collect()))
        };
        self.handle(page, Input::Read { read: open.id, result });
    }

    fn answer_lock(&mut self, page: usize) {
        if std::mem::take(&mut self.pages[page].peeks) {
            return self.handle(page, Input::Held(self.holder.is_some()));
        }
        self.pages[page].wants_lock = false;
        let granted = self.holder.is_none();
        if granted {
            self.holder = Some(page);
            self.pages[page].has_lock = true;
        } else {
            self.note("locks that are refused");
        }
        self.handle(page, Input::Locked(granted));
    }

    /// The page dies. What was in the air lands, or does not.
    pub fn crash(&mut self, page: usize, lands: bool) {
        self.log(|| format!("{page} dies"));
        self.note("crashes");
        if let Some((_, commit)) = self.pages[page].commit.take() {
            self.note(if lands { "crashes: the commit lands" } else { "crashes: the commit is lost" });
            if lands {
                // A page that died is not told whether it went through.
                let _ = self.land(&commit);
            }
        }
        if self.holder == Some(page) {
            self.holder = None;
        }
        self.pages[page] = self.fresh_page();
    }

    /// The lock of a page is taken away; it does not know yet.
    pub fn rob(&mut self, page: usize) {
        self.log(|| format!("{page} is robbed"));
        self.note("thefts");
        self.holder = None;
        self.pages[page].robbed = true;
    }

    /// Streams `pieces` of the model call, then ends it if nothing is left.
    fn stream(&mut self, page: usize, call: CallKey, pieces: usize) {
        let (now, faults) = (self.now, self.faults);
        let Some(model) = self.pages[page].models.get_mut(&call) else { return };
        if model.plan.is_none() {
            let asked = Asking {
                wire: model.wire,
                tools: tool_names(&model.body),
                formed: has_form(&model.body),
                sums_up: model.sums_up,
                bytes: faults.is_some_and(|faults| faults.compacts).then(|| model.body.to_string().len()),
            };
            let plan = Plan::random(&mut self.rng, &asked, &mut self.signed);
            model.told = plan.end.as_ref().map_or(Usage::default(), |answer| answer.usage);
            model.plan = Some(plan);
        }
        let usage = model.told;
        let Some(plan) = &mut model.plan else { return };
        // Half of them are heard of before the answer is whole.
        let ahead = plan.pieces.len() % 2 == 0;
        let blocks = plan.end.as_ref().map(|answer| answer.blocks.as_slice()).unwrap_or_default();
        let looked_up: Vec<String> =
            blocks.iter().filter(|_| ahead).filter_map(lodger::model::Block::from_outside).collect();
        let news: Vec<script::Piece> = plan.pieces.drain(..pieces.min(plan.pieces.len())).collect();
        let ended = news.is_empty();
        self.log(|| format!("{page} <~ {news:?}"));
        let harness = &mut self.pages[page].harness;
        harness.looked_up(now, call, &looked_up);
        for (part, kind, text) in &news {
            let wanted = harness.delta(call, Delta { part: *part, kind: *kind, text });
            assert!(wanted, "broken law: a model call in the air that nobody wants");
        }
        if ended {
            if let Some(plan) = self.pages[page].models.remove(&call).and_then(|model| model.plan) {
                self.handle(page, Input::Answered { call, result: plan.end });
            }
        } else {
            harness.flush(now, call, usage);
            self.pump(page);
        }
    }

    /// Something is signed, or the account answers.
    fn finish_account(&mut self, page: usize) {
        if !self.pages[page].signing.is_empty() {
            let (id, signatures) = self.pages[page].signing.remove(0);
            return self.handle(page, Input::Signed { id, result: Ok(Some(signatures)), strict: false });
        }
        if !self.pages[page].exchanges.is_empty() {
            let (id, result) = self.pages[page].exchanges.remove(0);
            return self.handle(page, Input::Exchanged { id, result });
        }
        let (read, rows) = self.pages[page].accounts.remove(0);
        self.handle(page, Input::Account { read, result: Ok(rows) });
    }

    /// The harness hears of a model call that was not made.
    fn finish_unsent(&mut self, page: usize) {
        let (call, files) = self.pages[page].unsent.remove(0);
        self.handle(page, Input::FilesGone { call, files });
    }

    /// The bytes of a file go, and nobody is told.
    pub fn loses_file(&mut self, id: &str) {
        self.note("files that are lost");
        let prefix = vec![id.into()];
        let writes = vec![Write::DeletePrefix { table: Table::Files, prefix }];
        self.disk.commit(&Commit { writes, ..Commit::default() }).unwrap();
        self.journal.lost_files.insert(id.into());
    }

    // The calm side.

    /// Finishes commits, reads and locks until the page waits for a model, a function, the time or a person.
    pub fn settle(&mut self, page: usize) {
        loop {
            self.settle_without_rooms(page);
            if self.pages[page].awaited.is_empty() {
                return;
            }
            self.finish_room(page, 0, Ok(()));
        }
    }

    /// The same while rooms are slow.
    pub fn settle_without_rooms(&mut self, page: usize) {
        loop {
            if self.pages[page].wants_lock || self.pages[page].peeks {
                self.answer_lock(page);
            } else if !self.pages[page].reads.is_empty() {
                self.finish_read(page, 0, false);
            } else if !self.pages[page].unsent.is_empty() {
                self.finish_unsent(page);
            } else if self.pages[page].answers_by_itself() {
                self.finish_account(page);
            } else if self.pages[page].commit.is_some() {
                self.finish_commit(page, Ok(()));
            } else {
                return;
            }
        }
    }

    /// A room comes, or does not.
    pub fn finish_room(&mut self, page: usize, which: usize, result: Result<(), String>) {
        let room = self.pages[page].awaited.remove(which);
        match &result {
            Ok(()) => {
                let page = &mut self.pages[page];
                page.rooms = page.rooms.and(Rooms::of(room));
                page.has_schemas.set(page.rooms.has(Room::Schema));
            }
            Err(_) => self.note("rooms that do not come"),
        }
        self.handle(page, Input::Room { room, result });
    }

    /// Time passes, and what is due becomes known.
    pub fn pass(&mut self, page: usize, ms: Millis) {
        self.now += ms;
        self.handle(page, Input::Tick { online: true });
        self.settle(page);
    }

    /// Asks, and settles. Gives the answer, if it has come.
    pub fn ask(&mut self, page: usize, name: &str, args: Value) -> Option<Result<Value, ErrorInfo>> {
        let id = self.command(page, name, args);
        self.settle(page);
        self.pages[page].asked[&id].answer.clone()
    }

    /// Asks for what must succeed at once.
    pub fn must(&mut self, page: usize, name: &str, args: Value) -> Value {
        let answer = self.ask(page, name, args);
        answer.unwrap_or_else(|| panic!("{name} is not answered")).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Asks for what must fail at once.
    pub fn fails(&mut self, page: usize, name: &str, args: Value) -> ErrorInfo {
        let answer = self.ask(page, name, args).unwrap_or_else(|| panic!("{name} is not answered"));
        answer.expect_err(name)
    }

    /// The only model call in the air.
    pub fn model(&self, page: usize) -> (CallKey, &Model) {
        let models = &self.pages[page].models;
        assert_eq!(models.len(), 1, "model calls in the air");
        let (key, model) = models.iter().next().unwrap();
        (*key, model)
    }

    /// Streams some text of the model call's first part.
    pub fn streams(&mut self, page: usize, part: u32, text: &str) {
        self.delta(page, part, lodger::model::DeltaKind::Text, text);
    }

    /// The same with thinking.
    pub fn thinks(&mut self, page: usize, part: u32, text: &str) {
        self.delta(page, part, lodger::model::DeltaKind::Thinking, text);
    }

    /// The model call in the air has used up this, and tells so with what streams next.
    pub fn counts(&mut self, page: usize, usage: Usage) {
        let (call, _) = self.model(page);
        self.pages[page].models.get_mut(&call).unwrap().told = usage;
    }

    fn delta(&mut self, page: usize, part: u32, kind: lodger::model::DeltaKind, text: &str) {
        let (call, model) = self.model(page);
        let usage = model.told;
        let delta = Delta { part, kind, text };
        assert!(self.pages[page].harness.delta(call, delta));
        self.pages[page].harness.flush(self.now, call, usage);
        self.pump(page);
    }

    /// The model answers, streaming all of it first.
    pub fn answers(&mut self, page: usize, answer: Answer) {
        let (call, _) = self.model(page);
        self.answers_call(page, call, answer);
    }

    /// One of several model calls answers with this.
    pub fn answers_call(&mut self, page: usize, call: CallKey, answer: Answer) {
        self.pages[page].models.get_mut(&call).unwrap().plan = Some(Plan::whole(answer));
        self.stream(page, call, usize::MAX);
        self.stream(page, call, 1);
        self.settle(page);
    }

    /// A provider answers over HTTP with an answer that does not stream: a request of the page's, or a model call.
    pub fn responds(&mut self, page: usize, call: CallKey, status: u16, body: &str) {
        let now = self.now;
        let harness = &mut self.pages[page].harness;
        assert!(!harness.head(now, call, status, Vec::new()), "it streams");
        let wanted = harness.body(now, call, body.as_bytes());
        assert!(wanted, "nobody wants a body of {} bytes", body.len());
        self.is_over(page, call, Ok(()));
    }

    /// Such an answer is over.
    pub fn is_over(&mut self, page: usize, call: CallKey, result: Result<(), ErrorInfo>) {
        self.pages[page].sent.remove(&call);
        self.pages[page].models.remove(&call);
        self.pages[page].harness.over(self.now, call, result);
        self.pump(page);
        self.settle(page);
    }

    /// The model call fails.
    pub fn breaks(&mut self, page: usize, error: ErrorInfo) {
        let (call, _) = self.model(page);
        self.pages[page].models.remove(&call);
        self.handle(page, Input::Answered { call, result: Err((error, None)) });
        self.settle(page);
    }

    /// The call with these arguments that runs now.
    pub fn running(&self, page: usize, tool_call: &str) -> CallKey {
        let found = self.pages[page].called.iter().find(|(_, call)| call.args["toolCallId"] == tool_call);
        *found.unwrap_or_else(|| panic!("{tool_call} does not run: {:?}", self.pages[page].called)).0
    }

    /// A function of the page returns.
    pub fn returns(&mut self, page: usize, call: CallKey, result: Result<Option<String>, ErrorInfo>) {
        self.pages[page].called.remove(&call);
        self.handle(page, Input::Returned { call, result });
        self.settle(page);
    }

    /// A tool gives these samples, by their number, and a value.
    pub fn gives(&mut self, page: usize, call: CallKey, json: Option<&str>, which: &[usize]) {
        self.pages[page].called.remove(&call);
        let files: Vec<_> = which.iter().map(|at| media::file(&SAMPLES[*at - 1])).collect();
        let texts = media::texts(&files);
        self.handle(page, Input::Gave { call, json: json.map(Into::into), files, texts });
        self.settle(page);
    }

    /// A function of the page says how far it is.
    pub fn progresses(&mut self, page: usize, call: CallKey, json: &str) {
        self.handle(page, Input::Progress { call, json: json.into() });
    }

    /// The events of these types that a page was told, without their common members.
    pub fn events(&self, page: usize) -> &[(&'static str, Value)] {
        &self.pages[page].told.events
    }

    // The wild side.

    /// One step: one thing of all that could happen now.
    pub fn step(&mut self) {
        let Some(faults) = self.faults else { return };
        let at = self.rng.usize(..self.pages.len());
        let page = &self.pages[at];
        if page.closed {
            return self.reopen(at);
        }
        let holds = page.has_lock && self.holder == Some(at);
        // The moment that matters most: what a tool has done, nobody knows.
        let in_tool = page.called.values().any(|called| called.kind == "tool");
        // How likely each thing is, in parts of the sum of those that are possible.
        let weights = [
            (What::Commit, if page.commit.is_some() { 220 } else { 0 }),
            (What::Read, if page.reads.is_empty() { 0 } else { 100 }),
            (What::Account, if page.answers_by_itself() { 100 } else { 0 }),
            (What::Room, if page.awaited.is_empty() { 0 } else { 100 }),
            (What::Network, if page.awaits_network { 60 } else { 0 }),
            (What::Lock, if page.wants_lock || page.peeks { 60 } else { 0 }),
            (What::Stream, if page.models.is_empty() { 0 } else { 200 }),
            (What::Call, if page.called.is_empty() { 0 } else { 140 }),
            (What::Time, 60),
            (What::Crash, if faults.crashes { 2 + 8 * u32::from(in_tool) } else { 0 }),
            (What::Theft, if faults.thefts && holds { 3 } else { 0 }),
            (What::Robbed, if page.robbed { 20 } else { 0 }),
            (What::Late, if faults.late { 10 } else { 0 }),
            (What::Loss, if faults.files { 4 } else { 0 }),
            (What::Unsent, if page.unsent.is_empty() { 0 } else { 140 }),
            (What::Command, 80),
        ];
        let sum: u32 = weights.iter().map(|(_, weight)| weight).sum();
        let mut left = self.rng.u32(..sum);
        let drawn = weights.iter().find(|(_, weight)| {
            let drawn = left < *weight;
            left = left.saturating_sub(*weight);
            drawn
        });
        match drawn.map_or(What::Time, |(what, _)| *what) {
            What::Commit => {
                let fate = if faults.commits && self.rng.u8(..40) == 0 { Err(self.fault()) } else { Ok(()) };
                self.finish_commit(at, fate);
            }
            What::Read => {
                let which = self.rng.usize(..self.pages[at].reads.len());
                let fails = faults.reads && self.rng.u8(..40) == 0;
                self.finish_read(at, which, fails);
            }
            What::Account => self.finish_account(at),
            What::Room => {
                let which = self.rng.usize(..self.pages[at].awaited.len());
                let fails = faults.rooms && self.rng.u8(..6) == 0;
                self.finish_room(at, which, if fails { Err("offline".into()) } else { Ok(()) });
            }
            What::Network => self.finds_network(at),
            What::Lock => self.answer_lock(at),
            What::Stream => {
                let call = *self.pages[at].models.keys().next().unwrap();
                let pieces = self.rng.usize(1..5);
                self.stream(at, call, pieces);
            }
            What::Call => self.step_of_call(at),
            What::Time => {
                // Half the time just as far as somebody waits for.
                let due = self.pages[at].harness.deadline().filter(|_| self.rng.bool());
                // A model that is silent for minutes is rare: else nothing else would happen.
                let due = due.filter(|due| *due < self.now + 5_000 || self.rng.u8(..20) == 0);
                self.now = due.map_or(self.now + self.rng.u64(1..400), |due| due.max(self.now));
                let online = self.rng.u8(..4) > 0;
                self.handle(at, Input::Tick { online });
            }
            What::Crash => {
                let lands = self.rng.bool();
                self.crash(at, lands);
                self.equip(at);
            }
            What::Theft => self.rob(at),
            What::Robbed => {
                self.pages[at].robbed = false;
                self.pages[at].has_lock = false;
                self.handle(at, Input::LockLost);
            }
            What::Late => self.late(at),
            What::Loss => {
                let ids: Vec<String> = files_of(&self.disk);
                if !ids.is_empty() {
                    let id = &ids[self.rng.usize(..ids.len())];
                    self.loses_file(id);
                }
            }
            What::Unsent => self.finish_unsent(at),
            What::Command => self.random_command(at, faults),
        }
    }

    fn reopen(&mut self, page: usize) {
        self.pages[page] = self.fresh_page();
        self.equip(page);
    }

    fn fault(&mut self) -> StoreError {
        match self.rng.u8(..6) {
            0 => StoreError::Quota,
            1 => StoreError::Failed("aborted".into()),
            2 => StoreError::Unavailable("gone".into()),
            3 => StoreError::Blocked,
            4 => StoreError::Newer,
            _ => StoreError::Deleted,
        }
    }

    fn step_of_call(&mut self, page: usize) {
        let which = self.rng.usize(..self.pages[page].called.len());
        let (key, called) = self.pages[page].called.iter().nth(which).map(|(k, c)| (*k, c.clone())).unwrap();
        match self.rng.u8(..10) {
            0 | 1 => self.handle(page, Input::Progress { call: key, json: "{\"done\":1}".into() }),
            // It takes its time, perhaps for ever.
            2..4 => {}
            4 => {
                self.pages[page].called.remove(&key);
                let error = ErrorInfo::new(Code::ToolFailed, "Error: it threw");
                self.handle(page, Input::Returned { call: key, result: Err(error) });
            }
            n => {
                self.pages[page].called.remove(&key);
                let json = match n {
                    _ if called.kind == "instructions" && n < 9 => Some(format!("\"Be kind {n}.\"")),
                    5..9 if called.kind == "decide" => {
                        Some(["\"allow\"", "\"ask\"", "\"deny\"", "7"][n as usize - 5].into())
                    }
                    5..8 if called.kind == "validate" => None,
                    _ if called.function == VALIDATE => Some("\"the answer does not please\"".into()),
                    5 | 6 if called.kind == "lookup" => Some("{\"result\":\"it was paid\"}".into()),
                    _ if called.kind == "lookup" => Some("null".into()),
                    5 if called.kind == "tool" && self.rng.bool() => {
                        let some = self.rng.usize(1..4);
                        let files: Vec<_> = (0..some)
                            .map(|_| media::file(&SAMPLES[self.rng.usize(..SAMPLES.len())]))
                            .collect();
                        let json = self.rng.bool().then(|| "{\"drawn\":true}".into());
                        self.note("tools that give files");
                        let texts = media::texts(&files);
                        return self.handle(page, Input::Gave { call: key, json, files, texts });
                    }
                    5 => None,
                    6 => Some("\"\"".into()),
                    7 => Some("{\"ok\":true}".into()),
                    _ if called.kind == "tool" => Some(Value::from(self.text(2, 120)).to_string()),
                    _ => Some(Value::from(script::text(&mut self.rng)).to_string()),
                };
                self.handle(page, Input::Returned { call: key, result: Ok(json) });
            }
        }
    }

    /// Something that was aborted answers nevertheless.
    fn late(&mut self, page: usize) {
        self.note("late answers");
        if let Some(call) = self.pages[page].gone_models.pop() {
            let wanted = self.pages[page]
                .harness
                .delta(call, Delta { part: 0, kind: lodger::model::DeltaKind::Text, text: "late" });
            assert!(!wanted, "broken law: a late delta is wanted");
            self.pages[page].harness.flush(self.now, call, Usage::default());
            let result =
                Ok(script::answer(vec![script::call("late", "send_mail", "{}")], StopReason::ToolUse));
            self.handle(page, Input::Answered { call, result });
        }
        if let Some(call) = self.pages[page].gone_calls.pop() {
            self.handle(page, Input::Progress { call, json: "1".into() });
            if self.rng.bool() {
                let files = vec![media::file(&SAMPLES[0])];
                return self.handle(page, Input::Gave { call, json: None, files, texts: Vec::new() });
            }
            self.handle(page, Input::Returned { call, result: Ok(Some("\"late\"".into())) });
        }
    }

    fn random_command(&mut self, page: usize, faults: Faults) {
        let idle = match self.pages[page].harness.lifecycle() {
            Lifecycle::Running => 0,
            Lifecycle::Starting => 1,
            // The second page only tries now and then.
            Lifecycle::Stopped | Lifecycle::Error(_) => 8 / (page + 1),
        };
        if self.rng.usize(..12) < idle {
            let config = self.random_config();
            self.command(page, "startAgent", config);
            return;
        }
        if idle > 0 && self.rng.bool() {
            return;
        }
        let run = self.known_run();
        // What waits for a person is answered sooner or later, and now and then what does not wait.
        if self.rng.u8(..4) == 0
            && let Some((name, args)) = self.random_answer(page)
        {
            self.command(page, name, args);
            return;
        }
        if faults.queues && self.rng.u8(..12) == 0 {
            let (name, args) = self.random_change_of_queue();
            self.command(page, name, args);
            return;
        }
        // What comes of a call that was lost is seen only where its run goes on.
        if self.journal.fold.current().is_some_and(|run| run.held) && self.rng.u8(..3) == 0 {
            self.command(page, "resume", json!({}));
            return;
        }
        let rests = self.journal.fold.current().is_none();
        if faults.compacts && self.rng.u8(..if rests { 5 } else { 40 }) == 0 {
            let mut args = json!({});
            if self.rng.bool() {
                args["instructions"] = script::text(&mut self.rng).into();
            }
            self.command(page, "compact", args);
            return;
        }
        let (name, args) = match self.rng.u8(..44) {
            0..12 => {
                let mut args = json!({ "text": self.text(4, 40) });
                if self.rng.u8(..4) == 0 {
                    args["idempotencyKey"] = format!("key-{}", self.rng.u8(..3)).into();
                }
                if self.rng.u8(..4) == 0 {
                    args["context"] = script::text(&mut self.rng).into();
                }
                if self.rng.u8(..4) == 0 {
                    let some = self.rng.usize(1..4);
                    let files = (0..some).map(|_| media::given(&SAMPLES[self.rng.usize(..SAMPLES.len())]));
                    args["files"] = files.collect();
                    self.note("messages with files");
                }
                if self.rng.u8(..4) == 0 {
                    let schema = match self.draws_rare_schema() {
                        true => script::RARE,
                        false => [script::SCHEMA, script::FREE][self.rng.usize(..2)],
                    };
                    args["schema"] = json!({ "json": schema });
                    if self.rng.u8(..3) == 0 {
                        args["schema"]["validate"] = json!({ "$fn": VALIDATE });
                    }
                }
                if faults.edits && self.rng.u8(..3) == 0 {
                    args["replaces"] = self.known_message(false).into();
                }
                if faults.queues && self.rng.bool() {
                    args["whenBusy"] = ["queue", "steer"][self.rng.usize(..2)].into();
                }
                ("sendMessage", args)
            }
            38 if faults.edits => {
                let mut args = json!({});
                if self.rng.bool() {
                    args["messageId"] = self.known_message(true).into();
                }
                if self.rng.u8(..4) == 0 {
                    args["idempotencyKey"] = format!("key-{}", self.rng.u8(..3)).into();
                }
                ("regenerate", args)
            }
            12..15 => ("interrupt", json!({})),
            15 => ("interrupt", json!({ "runId": run })),
            16..19 => ("resume", json!({})),
            19 => ("resume", json!({ "runId": run })),
            20 => ("history", json!({})),
            21 => ("history", json!({ "version": self.known_message(true) })),
            22 if faults.clears => ("clearConversation", json!({})),
            23 => ("wait", json!({ "runId": run, "timeoutMs": self.rng.u32(..900) })),
            24 => ("result", json!({ "runId": run })),
            25 => ("stopAgent", json!({})),
            26 if faults.changes => {
                let mut patch = self.random_config();
                patch.as_object_mut().unwrap().remove("resume");
                ("configureAgent", patch)
            }
            27 if faults.changes => {
                ("tools.unregister", json!({ "name": TOOLS[self.rng.usize(..TOOLS.len())].0 }))
            }
            28 if faults.changes => {
                self.equip(page);
                return;
            }
            29 => {
                let name = TOOLS[self.rng.usize(..TOOLS.len())].0;
                ("tools.execute", json!({ "name": name, "args": { "to": "x" } }))
            }
            30 => ("draft", json!({})),
            31 if self.rng.u8(..4) == 0 => ("close", json!({})),
            32 => ("sendMessage", json!({ "text": " " })),
            33 => ("startAgent", json!({ "ifRunning": "join" })),
            34..37 => {
                let n = self.rng.u8(..6);
                let page = json!({ "title": format!("Page {n}"), "content": "see [[Page 1]]" });
                match self.rng.u8(..4) {
                    0 => ("pages.create", page),
                    1 => ("pages.read", json!({ "slug": format!("page-{n}") })),
                    2 => ("pages.update", json!({ "slug": format!("page-{n}"), "content": "new" })),
                    _ => ("pages.delete", json!({ "slug": format!("page-{n}") })),
                }
            }
            37 => ("settings", json!({})),
            40 | 41 if faults.benches => ("sessions.bench", json!({ "id": SESSION })),
            42 | 43 if faults.benches => ("sessions.play", json!({ "id": SESSION })),
            _ => ("watch", json!({})),
        };
        self.command(page, name, args);
    }

    /// What is said: one time of so many it comes so many times over, and fills much of a small window.
    fn text(&mut self, of: u8, times: usize) -> String {
        let text = script::text(&mut self.rng);
        let compacts = self.faults.is_some_and(|faults| faults.compacts);
        if compacts && self.rng.u8(..of) == 0 { [&*text, " "].concat().repeat(times) } else { text }
    }

    /// Something is done with a message that waits, or has waited.
    fn random_change_of_queue(&mut self) -> (&'static str, Value) {
        let queue = self.journal.fold.queue();
        let waiting =
            queue.get(self.rng.usize(..queue.len().max(1))).map(|queued| queued.message().to_owned());
        let run = queue.first().map(|queued| queued.run.clone());
        let id = match waiting.filter(|_| self.rng.u8(..8) > 0) {
            Some(id) => id,
            None => self.known_message(false),
        };
        match self.rng.u8(..8) {
            0..3 => ("queue.edit", json!({ "id": id, "text": script::text(&mut self.rng) })),
            3 => ("queue.remove", json!({ "id": id })),
            4 => ("interrupt", json!({ "runId": run.unwrap_or(id) })),
            5 => ("wait", json!({ "runId": run.unwrap_or(id), "timeoutMs": 300, "errorGraceMs": 200 })),
            _ => ("queue.release", json!({})),
        }
    }

    /// An answer to something that waits for a person.
    fn random_answer(&mut self, page: usize) -> Option<(&'static str, Value)> {
        let answer = ["allow_once", "always_allow", "deny"][self.rng.usize(..3)];
        if self.rng.u8(..12) == 0 {
            return Some(match self.rng.u8(..3) {
                0 => ("tools.revoke", json!({ "tool": TOOLS[self.rng.usize(..TOOLS.len())].0 })),
                1 => ("resolvePermission", json!({ "requestId": "ask_nobody_1", "answer": answer })),
                _ => ("tools.resolve", json!({ "toolCallId": "nobody", "answer": { "result": 1 } })),
            });
        }
        let waits = self.waits(page);
        let (id, is_question) = waits.get(self.rng.usize(..waits.len().max(1)))?.clone();
        if is_question {
            let mut args = json!({ "requestId": id, "answer": answer });
            if self.rng.bool() {
                args["reason"] = script::text(&mut self.rng).into();
            }
            return Some(("resolvePermission", args));
        }
        let said = match self.rng.u8(..3) {
            0 => json!({ "error": "the boss said no" }),
            _ => json!({ "result": script::text(&mut self.rng) }),
        };
        Some(("tools.resolve", json!({ "toolCallId": id, "answer": said })))
    }

    /// What waits for a person, as the page knows it: questions, and calls without a function.
    fn waits(&self, page: usize) -> Vec<(String, bool)> {
        let page = &self.pages[page];
        let asked = |(kind, detail): &(&str, Value)| {
            (*kind == "agent:permission-required")
                .then(|| (detail["requestId"].as_str().unwrap().to_owned(), true))
        };
        // Those of the last times: some are over, and answering them again must be refused.
        let mut waits: Vec<_> = page.told.events.iter().rev().filter_map(asked).take(3).collect();
        // And one that is not: a person who looks at the page still sees it.
        let oldest = page.told.state["permissions"].as_array().and_then(|permissions| permissions.last());
        waits.extend(oldest.map(|asked| (asked["requestId"].as_str().unwrap().to_owned(), true)));
        let run = page.harness.session(SESSION).and_then(|session| session.current());
        for call in run.into_iter().flat_map(|run| run.parts()).flat_map(|run| run.open_calls()) {
            if call.state == CallState::Handed {
                waits.push((call.id.clone(), false));
            }
        }
        waits
    }

    fn random_permissions(&mut self) -> Value {
        let mut verdict = || ["allow", "ask", "deny"][self.rng.usize(..3)];
        let mut permissions = json!({ "tools": { "send_mail": verdict(), "wipe": verdict() }, "capabilities": { "Pay": verdict() } });
        if verdict() == "ask" {
            permissions["default"] = verdict().into();
        }
        if verdict() == "ask" {
            permissions["decide"] = json!({ "$fn": DECIDE });
        }
        if verdict() == "ask" {
            permissions["timeoutMs"] = 500.into();
        }
        permissions
    }

    fn random_config(&mut self) -> Value {
        let mut config = json!({});
        config["provider"] = match self.rng.u8(..16) {
            0 => Value::Null,
            1..4 => json!({ "kind": "anthropic", "apiKey": "sk-ant-0123456789" }),
            4..7 => json!({ "kind": "anthropic", "apiKey": { "$fn": KEY } }),
            7 | 8 => json!({ "kind": "ollama", "model": "m" }),
            9 | 10 => json!({ "kind": "openai-responses", "apiKey": "sk-0123456789", "model": "m" }),
            11 => json!({ "kind": "gemini", "apiKey": "AIza0123456789", "model": "m" }),
            _ => json!({ "kind": "custom", "stream": { "$fn": STREAM } }),
        };
        if self.rng.u8(..12) == 0 {
            let tokens = [60, 20_000][self.rng.usize(..2)];
            config["budgets"] =
                json!({ "run": { "turns": self.rng.u8(1..4) }, "session": { "inputTokens": tokens } });
        }
        if self.rng.u8(..3) == 0 {
            let spare = json!({ "kind": "anthropic", "apiKey": "sk-ant-9876543210", "baseUrl": "https://spare.test" });
            config["providers"] = json!({ "spare": spare, "own": { "kind": "custom", "model": "m", "stream": { "$fn": STREAM } } });
            config["fallback"] = json!(["own", "spare"][self.rng.usize(..2)..]);
        }
        if self.faults.is_some_and(|faults| faults.compacts) {
            self.random_window(&mut config);
        }
        if self.rng.u8(..3) == 0 {
            config["maxTurns"] = self.rng.u8(1..4).into();
        }
        if self.rng.u8(..3) == 0 {
            config["retry"] = json!({ "cut": self.rng.bool() });
        }
        match self.rng.u8(..4) {
            0 => config["instructions"] = "Be short.".into(),
            1 => config["instructions"] = json!({ "$fn": INSTRUCTIONS }),
            _ => {}
        }
        if self.rng.bool() {
            config["resume"] = "auto".into();
        }
        if self.rng.u8(..4) == 0 {
            config["toolTimeoutMs"] = 300.into();
        }
        if self.rng.u8(..2) == 0 {
            config["permissions"] = self.random_permissions();
        }
        if self.rng.u8(..4) == 0 {
            let skill = json!({ "name": "greet", "description": "To greet.", "template": "Say {{word}}. {{tools}}", "variables": { "word": "hello" } });
            config["skills"] = json!([skill]);
        }
        match self.rng.u8(..7) {
            0 => config["capabilities"] = json!(["Pay"]),
            1 => config["processType"] = ["Researcher", "Worker"][self.rng.usize(..2)].into(),
            3 | 4 => config["processType"] = "Orchestrator".into(),
            2 => config["maxParallelTools"] = 1.into(),
            _ => {}
        }
        config
    }

    /// How much its models take, and when and how their conversations become shorter.
    fn random_window(&mut self, config: &mut Value) {
        if self.rng.u8(..3) > 0 {
            let window = self.rng.u32(1_800..8_000);
            config["models"] = windows(window, self.rng.u8(..3) == 0);
        }
        match self.rng.u8(..8) {
            0 => config["compaction"] = false.into(),
            1 => {}
            _ => {
                let at = [0.1, 0.1, 0.3, 0.8, 1.0][self.rng.usize(..5)];
                config["compaction"] = json!({ "at": at });
                if self.rng.bool() {
                    config["compaction"]["keep"] = [0, 50, 500][self.rng.usize(..3)].into();
                }
                if self.rng.u8(..4) == 0 {
                    config["compaction"]["instructions"] = script::text(&mut self.rng).into();
                }
                if !config["providers"].is_null() && self.rng.u8(..3) == 0 {
                    config["compaction"]["provider"] = ["own", "spare"][self.rng.usize(..2)].into();
                }
            }
        }
    }

    fn known_run(&mut self) -> String {
        let runs = &self.journal.fold.runs;
        if runs.is_empty() || self.rng.u8(..8) == 0 {
            return "run_unknown".into();
        }
        runs[self.rng.usize(..runs.len())].id.clone()
    }

    /// The id of a message or an answer: mostly one of the conversation as it is now, mostly of the wanted kind.
    fn known_message(&mut self, answer: bool) -> String {
        let now = self.rng.u8(..8) > 0;
        let fold = &self.journal.fold;
        let runs: Vec<&Run> = if now { fold.runs.iter().collect() } else { fold.all_runs().collect() };
        if runs.is_empty() || self.rng.u8(..8) == 0 {
            return "msg_unknown".into();
        }
        let run = runs[self.rng.usize(..runs.len())];
        if answer == (self.rng.u8(..8) > 0) { run.answer_id() } else { run.message().0.into() }
    }

    /// Nothing more goes wrong, everything that is under way comes to its end, and all must be in order: every
    /// command is answered, the writer's state is the fold of the store, and the next holder can go on.
    pub fn come_to_rest(&mut self) {
        self.log(|| "nothing more goes wrong".into());
        for _ in 0..400 {
            for page in 0..self.pages.len() {
                if !self.pages[page].closed {
                    self.rest_of(page);
                }
            }
        }
        for page in 0..self.pages.len() {
            self.at_rest(page);
        }
        self.holds(self.journal.audit(&self.disk));
        self.one_more();
        self.holds(self.journal.audit(&self.disk));
    }

    /// There is a network again.
    pub fn finds_network(&mut self, page: usize) {
        self.pages[page].awaits_network = false;
        self.handle(page, Input::Online);
    }

    fn rest_of(&mut self, page: usize) {
        if self.pages[page].robbed {
            self.pages[page].robbed = false;
            self.pages[page].has_lock = false;
            self.handle(page, Input::LockLost);
        }
        self.settle(page);
        if let Some(call) = self.pages[page].models.keys().next().copied() {
            self.stream(page, call, usize::MAX);
        }
        if let Some(key) = self.pages[page].called.keys().next().copied() {
            // Some functions never return; the time ends those.
            if self.rng.u8(..6) > 0 {
                self.pages[page].called.remove(&key);
                self.handle(page, Input::Returned { call: key, result: Ok(Some("\"at last\"".into())) });
            }
        }
        if let Some((name, args)) = self.random_answer(page) {
            self.command(page, name, args);
        }
        if self.pages[page].awaits_network {
            self.finds_network(page);
        }
        if let Some(due) = self.pages[page].harness.deadline() {
            self.now = self.now.max(due);
            self.handle(page, Input::Tick { online: true });
        }
        self.settle(page);
    }

    fn at_rest(&mut self, at: usize) {
        let page = &self.pages[at];
        if page.closed {
            return;
        }
        for (id, asked) in &page.asked {
            let waits = asked.name == "result" && {
                let run = asked.args["runId"].as_str().unwrap_or_default();
                let queued = self.journal.fold.queued(run).is_some();
                queued || self.journal.fold.run_times(run).is_some_and(|(_, ended)| ended.is_none())
            };
            // A result that somebody else will bring about is not told to this page in this version.
            let elsewhere = asked.name == "result" && page.harness.session(SESSION).is_none();
            let answered = asked.answer.is_some() || waits || elsewhere;
            self.holds(law(answered, || format!("{} ({id}) of page {at} was never answered", asked.name)));
        }
        let Some(session) = page.harness.session(SESSION) else { return };
        // A page that was robbed while it started may have raised the epoch over the holder's: the holder's next
        // commit tells it so.
        let epoch = self.disk.read(&Read::all(Table::Meta, vec!["epoch".into()]));
        if epoch.first().is_none_or(|(_, text)| *text != page.epoch.to_string()) {
            return;
        }
        self.holds(same(session, &self.journal.fold, "the writer's state"));
        if page.unerased != Some(page.epoch) {
            self.holds(self.journal.no_file_is_left(&self.disk));
        }
        if let Some(view) = &page.told.view {
            let history = lodger::session::history(session, None, None).unwrap_or_default();
            self.holds(law(*view == history, || format!("a view shows {view:?}\nand not {history:?}")));
        }
        let rests = session.current().is_none_or(|run| run.held);
        let held = session.queue().iter().all(|queued| queued.held || session.current().is_some());
        self.holds(law(held, || format!("nobody takes what waits: {:?}", session.queue())));
        self.holds(law(rests, || format!("a run stands still: {:?}", session.current())));
    }

    /// All pages die, a new one comes, and its first message is answered.
    fn one_more(&mut self) {
        for page in 0..self.pages.len() {
            self.crash(page, false);
        }
        self.pages.truncate(1);
        let provider = json!({ "kind": "anthropic", "apiKey": "sk-ant-0123456789" });
        self.must(0, "startAgent", json!({ "provider": provider }));
        self.take_up();
        // A run that waited for a person waits again: here it is interrupted, because nobody answers.
        if self.pages[0].harness.session(SESSION).and_then(Session::current).is_some_and(Run::waiting) {
            self.must(0, "interrupt", json!({}));
        }
        let accepted = self.must(0, "sendMessage", json!({ "text": "one more" }));
        self.answers(0, script::answer(vec![lodger::model::Block::Text("yes".into())], StopReason::EndTurn));
        let result = self.must(0, "result", json!({ "runId": accepted["runId"] }));
        assert_eq!((&result["outcome"], &result["text"]), (&json!("completed"), &json!("yes")));
        let drafts = self.disk.read(&Read::all(Table::Drafts, Vec::new()));
        assert!(drafts.is_empty(), "broken law: drafts are left: {drafts:?}");
    }

    /// What is put aside takes no message: its run is ended, and then it is played.
    pub fn take_up(&mut self) {
        let Some(session) = self.pages[0].harness.session(SESSION).filter(|session| session.is_benched())
        else {
            return;
        };
        if let Some(run) = session.current().map(|run| run.id.clone()) {
            self.must(0, "interrupt", json!({ "runId": run }));
        }
        self.must(0, "sessions.play", json!({ "id": SESSION }));
    }

    fn holds(&self, law: Law) {
        if let Err(broken) = law {
            panic!("broken law: {broken}");
        }
    }
}

/// The models that are asked here, with a window of so many tokens. `small`: and short answers.
pub fn windows(tokens: u32, small: bool) -> Value {
    let facts =
        if small { json!({ "context": tokens, "output": 200 }) } else { json!({ "context": tokens }) };
    let models = json!({ DEFAULT_MODEL: facts, "m": facts });
    json!({ "anthropic": models, "ollama": models, "openai-responses": models, "gemini": models, "custom": models })
}

/// Whether a call goes on from an answer that the provider of this name paused: it was the last that came whole since a
/// person has said something.
pub fn paused(runs: &[Run], name: &str) -> bool {
    for run in runs.iter().rev() {
        for turn in run.turns.iter().rev() {
            // What a refusal said is not sent.
            if let Said::Whole { stop, provider: of, .. } = &turn.said
                && !matches!(stop, StopReason::Refusal(_))
            {
                return turn.calls.is_empty() && *stop == StopReason::Pause && of == name;
            }
        }
        if run.prompt.continues.is_none() {
            break;
        }
    }
    false
}

/// Whether the request says what the answer has to be.
fn has_form(body: &Value) -> bool {
    let members =
        [&body["response_format"], &body["format"], &body["text"], &body["output_config"]["format"]];
    members.iter().any(|member| !member.is_null())
}

fn tool_names(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let name = |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).map(String::from);
    tools.filter_map(name).collect()
}
