//! The pump: does what the harness says and tells it what came of it.
//!
//! Decides nothing. Promises: each action is done once, in the order in which it was said. Its outcome comes back as an
//! input, or answers the command that only asked for it. Nothing is done after the end. Leaves to others: each kind of
//! work (`fetch`, `store`, `vault`, `account`, `bytes`).

use super::answers::Incoming;
use super::env::{self, Scope, bring};
use super::fetch::Attempt;
use super::idb::Gone;
use super::patterns::Engine;
use super::store::Store;
use super::vault::{self, Vault};
use super::{account, answers, bytes, fetch, task};
use crate::error::{Code, ErrorInfo};
use crate::harness::{
    Action, By, CallKey, Harness, Input, LOST_KEY, OF_FILES, Options, first_format_write, loss_known,
    rooms_of,
};
use crate::json;
use crate::list::Listed;
use crate::maps::{Few, sorted};
use crate::model::Limits;
use crate::object::Object;
use crate::ports::{Commit, Durability, Millis, PatternEngine, Read, Shelf, StoreError, Table};
use crate::protocol::Request;
use crate::rooms::{Room, Rooms, enter};
use crate::session::operator::Operator;
use js_sys::{Function, Promise};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::AbortController;

/// After how long at the latest it is looked again what is due.
const LOOK_MS: Millis = 3_600_000;

/// What goes from a host to its client.
#[derive(Debug)]
pub enum Deliver<'a> {
    /// Something the harness wants done or told that only the client can do: the rest of the actions.
    Action(&'a Action),
    /// A function of the page is called: the call, the function, what kind, its arguments as JSON, and the body where it
    /// is a `fetch`. Both are strings.
    Call(CallKey, u32, &'static str, Option<JsValue>, Option<JsValue>),
    /// Such a call is not wanted any more.
    Abort(CallKey),
    /// The answer to a command.
    Reply(u32, Result<Option<String>, ErrorInfo>),
    /// The answer to a command that asks for a file: a `Blob`.
    File(u32, JsValue),
    /// The host is gone, and why.
    Closed(Option<ErrorInfo>),
}

/// How a workspace is opened.
#[derive(Debug)]
pub struct Opening {
    /// Everything is kept in memory only.
    pub in_memory: bool,
    /// How sure each commit is at least, drafts excepted.
    pub durability: Durability,
    /// Not where what it had stored was lost.
    pub rejects: bool,
    /// Whether the agent has the tools for pages.
    pub page_tools: bool,
    /// Who works here.
    pub operator: Option<Operator>,
    /// How much is taken of a model's answer.
    pub limits: Limits,
}

type Sink = Box<dyn Fn(Deliver<'_>)>;

/// What waits for a room, which is there or does not come.
type Then = dyn FnOnce(&Pump, Result<(), ErrorInfo>);

pub(super) struct Inner {
    pub harness: RefCell<Harness>,
    pub scope: Scope,
    name: String,
    needs_lock: bool,
    pub store: Store,
    pub vault: Vault,
    pub limits: Limits,
    sink: Sink,
    pumping: Cell<bool>,
    ended: Cell<bool>,
    /// A newer version in another tab wants the database.
    in_the_way: Cell<bool>,
    timer: Cell<Option<(u32, Millis)>>,
    /// Requests of this module that can be aborted.
    pub aborters: RefCell<Few<CallKey, AbortController>>,
    /// What `/js/host/fetch.js` tells of their answers.
    pub heard: Function,
    /// Answers of models on their way.
    pub incoming: RefCell<Few<CallKey, Incoming>>,
    /// Questions of the pump itself to the page (an API key), by their call.
    pub asked: RefCell<Few<CallKey, Function>>,
    pub last_ask: Cell<CallKey>,
    /// The commands whose files are being read.
    pub reading: RefCell<Vec<u32>>,
}

thread_local! {
    static BROKEN: Cell<bool> = const { Cell::new(false) };
}

/// This instance of the module has panicked: from here on no pump of it does anything. What was under way would
/// go on otherwise, beside the fresh instance that takes over.
pub fn break_down() {
    BROKEN.set(true);
}

pub(super) fn broken_down() -> bool {
    BROKEN.get()
}

/// The pump of one workspace. A cheap handle: clones share everything.
#[derive(Clone)]
pub struct Pump(Rc<Inner>);

impl std::fmt::Debug for Pump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl Pump {
    /// Opens a workspace. `sink` gets what the client is told; it may call back at any time.
    ///
    /// # Errors
    /// The database cannot be opened, was written by a newer version, or (`rejects`) was lost.
    pub async fn open(name: String, opening: Opening, scope: Scope, sink: Sink) -> Result<Pump, ErrorInfo> {
        let Opening { in_memory, durability, rejects, page_tools, operator, limits } = opening;
        for room in rooms_of(page_tools).and(Rooms::given(in_memory, Room::Volatile)).iter() {
            bring(&scope, room).await.map_err(|why| ErrorInfo::absent(&why))?;
        }
        let holder = env::title(&scope);
        let options = Options { name: name.clone(), page_tools, holder, operator };
        let inner = Rc::new_cyclic(|weak: &Weak<Inner>| {
            let heard = fetch::listener(weak.clone());
            let weak = weak.clone();
            let gone = Rc::new(move |why: Gone| {
                if let Some(pump) = Pump::of(&weak) {
                    pump.gone(why);
                }
            });
            let store = Store::new(&name, in_memory, durability, &scope, gone);
            Inner {
                harness: RefCell::new(Harness::with(options, PatternEngine::new(Rc::new(Engine)))),
                vault: Vault::new(store.clone()),
                limits,
                store,
                scope,
                name,
                needs_lock: !in_memory,
                sink,
                pumping: Cell::new(false),
                ended: Cell::new(false),
                in_the_way: Cell::new(false),
                timer: Cell::new(None),
                aborters: RefCell::default(),
                heard,
                incoming: RefCell::default(),
                asked: RefCell::default(),
                last_ask: Cell::new(CallKey::MAX),
                reading: RefCell::default(),
            }
        });
        let found = inner.store.found().await;
        let pump = Pump(inner);
        let now = pump.now();
        let opened = found.and_then(|found| pump.0.harness.borrow_mut().opened(now, &found, rejects));
        if let Err(error) = opened {
            pump.0.store.close();
            return Err(error.info());
        }
        pump.run(now);
        Ok(pump)
    }

    /// A command of the page, with the `Blob`s that come with it.
    pub fn command_with(&self, id: u32, request: Result<Request, ErrorInfo>, blobs: js_sys::Array, by: By) {
        self.0.reading.borrow_mut().push(id);
        self.with_files(Box::new(move |pump, room| match room {
            Ok(()) => bytes::send(pump, id, request, blobs, by),
            Err(error) if bytes::is_awaited(pump, id) => pump.deliver(Deliver::Reply(id, Err(error))),
            Err(_) => {}
        }));
    }

    /// A tool is over, and gave these `Blob`s besides its value.
    pub fn receive(&self, call: CallKey, json: Option<String>, blobs: js_sys::Array) {
        self.with_files(Box::new(move |pump, room| match room {
            Ok(()) => bytes::receive(pump, call, json, blobs),
            Err(error) => pump.input(Input::Returned { call, result: Err(error) }),
        }));
    }

    /// Does this when the room of files is there, or does not come.
    fn with_files(&self, then: Box<Then>) {
        let pump = self.clone();
        task::start(async move {
            let room = bring(&pump.0.scope, OF_FILES).await;
            then(&pump, room.map_err(|why| ErrorInfo::absent(&why)));
        });
    }

    /// A command of the page.
    pub fn command(&self, id: u32, request: Result<Request, ErrorInfo>, by: By) {
        // What somebody says of a file is not all that has to be known of it.
        let request = request.and_then(|request| request.with_files(None));
        if request.as_ref().is_ok_and(Request::interrupts) {
            bytes::give_up(self);
        }
        let fresh = env::fresh(&self.0.scope);
        self.input(Input::Command { id, request, fresh, by });
    }

    /// Answers a command of which nobody knows who gives it.
    pub fn refuse(&self, id: u32, error: ErrorInfo) {
        self.deliver(Deliver::Reply(id, Err(error)));
    }

    /// A tool tells how far it is.
    pub fn progress(&self, call: CallKey, json: String) {
        self.input(Input::Progress { call, json });
    }

    /// A function of the page says something that nobody waits for any more.
    pub fn late(&self, call: CallKey) {
        self.input(Input::Late(call));
    }

    /// Something happened. Nothing does after the end.
    pub fn input(&self, input: Input) {
        if self.0.ended.get() || broken_down() {
            return;
        }
        let now = self.now();
        if let Ok(mut harness) = self.0.harness.try_borrow_mut() {
            harness.handle(now, input);
        }
        self.run(now);
    }

    /// What is due is done now.
    pub fn look(&self) {
        self.input(Input::Tick { online: env::is_online() });
    }

    /// The pump that this is of, while anybody uses it.
    pub(super) fn of(inner: &Weak<Inner>) -> Option<Pump> {
        inner.upgrade().map(Pump)
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(super) fn now(&self) -> Millis {
        env::now(&self.0.scope).max(0.0) as Millis
    }

    pub(super) fn deliver(&self, message: Deliver<'_>) {
        (self.0.sink)(message);
    }

    /// Does everything that can be done now. What the page calls meanwhile is taken up in its turn: the loop
    /// that runs already does it, so that what the page is told stays in order.
    pub(super) fn run(&self, mut now: Millis) {
        if self.0.ended.get() || self.0.pumping.replace(true) {
            return;
        }
        loop {
            let action = self.0.harness.borrow_mut().poll(now);
            let Some(action) = action else { break };
            self.act(action);
            // What the page was told may have taken its time. The clock may be the page's own function: it is asked before
            // anything is borrowed.
            now = self.now();
        }
        self.0.pumping.set(false);
        self.set_timer();
    }

    /// A timer that comes too early only looks what is due: it is not armed again for a deadline that has moved back.
    fn set_timer(&self) {
        let deadline = self.0.harness.borrow().deadline().filter(|_| !self.0.ended.get());
        let armed = self.0.timer.get();
        if armed.is_some_and(|(_, at)| deadline.is_some_and(|deadline| at <= deadline)) {
            return;
        }
        if let Some((id, _)) = self.0.timer.take() {
            env::cancel(&self.0.scope, id);
        }
        let Some(deadline) = deadline else { return };
        // Timers may be late, and may be throttled: the clock decides, not their number. A computer that sleeps stops timers,
        // and the clock goes on.
        let wait = deadline.saturating_sub(self.now()).clamp(1, LOOK_MS);
        let pump = Rc::downgrade(&self.0);
        let tick = task::once(move || {
            if let Some(pump) = Pump::of(&pump) {
                pump.0.timer.take();
                pump.look();
            }
        });
        let id = env::after(&self.0.scope, wait as f64, &tick);
        self.0.timer.set(Some((id, deadline)));
    }

    fn act(&self, action: Action) {
        match action {
            Action::Reply { id, result } => {
                self.0.store.withdraw(id);
                self.deliver(Deliver::Reply(id, result));
            }
            Action::File { id, file } => bytes::give(self, id, file),
            Action::Tell(_) => self.deliver(Deliver::Action(&action)),
            Action::Lock { name, steal } => self.lock(name, steal),
            Action::Peek => self.peek(),
            Action::Announce { epoch } => {
                if self.0.needs_lock {
                    let _ = env::hold(&self.0.scope, &self.alive(epoch), false, None);
                }
                self.deliver(Deliver::Action(&action));
            }
            Action::Unlock { epoch, .. } => {
                env::release(&self.0.scope, &self.owner_lock());
                // Told before `alive` is free: a tab that waits for that lock then asks what has become of the holder.
                self.deliver(Deliver::Action(&action));
                env::release(&self.0.scope, &self.alive(epoch));
            }
            Action::Commit { id, commit } => {
                let pump = self.clone();
                task::start(async move {
                    let result = pump.0.store.commit(&commit).await;
                    pump.input(Input::Committed { commit: id, result });
                });
            }
            Action::Account { id, workspace, skills } => {
                let pump = self.clone();
                task::start(async move {
                    let Inner { needs_lock, scope, .. } = &*pump.0;
                    let result = account::exchange(&workspace, skills, !needs_lock, scope).await;
                    pump.input(Input::Account { read: id, result });
                });
            }
            Action::Exchange { id, shelf, commit, reads } => self.exchange(id, shelf, commit, reads),
            Action::Sign { id, texts } => {
                let pump = self.clone();
                task::start(async move {
                    let result = pump.0.store.sign(&texts).await;
                    let strict = pump.0.store.is_strict();
                    pump.input(Input::Signed { id, result, strict });
                });
            }
            Action::Draft { writes } => self.0.store.write_at_once(writes),
            Action::Read { id, reads } => {
                let pump = self.clone();
                task::start(async move {
                    let result = pump.0.store.read(&reads).await;
                    if let Ok(rows) = &result {
                        vault::keep_secret(&pump, &reads, rows).await;
                    }
                    pump.input(Input::Read { read: id, result });
                });
            }
            Action::Room(room) => self.room(room),
            Action::CallModel { call, request } => fetch::start(self, call, request),
            Action::CallPage { call, function, kind, json } => {
                self.deliver(Deliver::Call(call, function, kind, json.as_deref().map(JsValue::from), None));
            }
            Action::Vault { id, ask } => vault::ask(self, id, ask),
            Action::Send { call, http, request, refused } => {
                fetch::begin(self, call, Attempt { http, request }, refused, false);
            }
            Action::Abort(call) => answers::abort(self, call),
            Action::AwaitOnline => self.await_online(),
            Action::Mark => self.0.store.mark(),
            Action::Storage { id, sessions, known } => self.storage(id, sessions, known),
            Action::Persist(id) => {
                let pump = self.clone();
                task::start(async move {
                    let kept = env::persist().await.is_ok_and(|kept| kept.is_truthy());
                    pump.deliver(Deliver::Reply(id, Ok(Some(kept.to_string()))));
                });
            }
            Action::Close => self.end(self.0.in_the_way.get().then(|| {
                ErrorInfo::new(Code::WorkspaceClosed, "a newer version of lodger is open in another tab")
                    .hint("reload the page to get it")
            })),
        }
    }

    /// A door of the room `memory`.
    #[inline(never)]
    fn exchange(&self, id: u64, shelf: Shelf, commit: Option<Commit>, reads: Vec<Read>) {
        enter(Room::Memory);
        let pump = self.clone();
        task::start(async move {
            let Inner { needs_lock, scope, store, .. } = &*pump.0;
            let result = match shelf {
                Shelf::Workspace => account::store_and_read(store, commit.as_ref(), &reads).await,
                Shelf::Account => account::shelf(commit.as_ref(), &reads, !needs_lock, scope).await,
            };
            if shelf == Shelf::Account && commit.is_some() && result.is_ok() {
                // The databases of an origin die together: a workspace that has given something there counts as used.
                let used = Commit { writes: vec![first_format_write()], ..Commit::default() };
                _ = store.commit(&used).await;
            }
            pump.input(Input::Exchanged { id, result });
        });
    }

    fn await_online(&self) {
        let pump = self.clone();
        task::start(async move {
            if env::online(&pump.0.scope).await.is_ok_and(|online| online.is_truthy()) {
                pump.input(Input::Online);
            }
        });
    }

    fn lock(&self, name: String, steal: bool) {
        if self.0.needs_lock && !env::has_locks() {
            let error = ErrorInfo::new(
                Code::InsecureContext,
                "this page is no secure context, so it has no Web Locks",
            )
            .hint("serve it over https or from localhost, or open the workspace with storage: \"memory\"");
            // In a task of its own, as a granted lock would be.
            let pump = self.clone();
            return task::start(async move { pump.input(Input::LockFailed(error)) });
        }
        if !self.0.needs_lock {
            let pump = self.clone();
            return task::start(async move { pump.input(Input::Locked(true)) });
        }
        debug_assert_eq!(name, self.0.name);
        let weak = Rc::downgrade(&self.0);
        let lost = task::once(move || {
            if let Some(pump) = Pump::of(&weak) {
                pump.input(Input::LockLost);
            }
        });
        let promise: Promise = env::hold(&self.0.scope, &self.owner_lock(), steal, Some(&lost));
        let pump = self.clone();
        task::start(async move {
            match JsFuture::from(promise).await {
                Ok(granted) => pump.input(Input::Locked(granted.is_truthy())),
                Err(_) => {
                    let error =
                        ErrorInfo::new(Code::StorageUnavailable, "the workspace's lock cannot be taken");
                    pump.input(Input::LockFailed(error));
                }
            }
        });
    }

    /// A room comes by the function that was given for it; without one all are in the module already.
    fn room(&self, room: Room) {
        let pump = self.clone();
        task::start(async move {
            let result = bring(&pump.0.scope, room).await;
            pump.input(Input::Room { room, result });
        });
    }

    /// Whether anybody holds the lock; where the browser does not tell, nobody does.
    fn peek(&self) {
        let pump = self.clone();
        task::start(async move {
            let held = if pump.0.needs_lock {
                JsFuture::from(env::held(&pump.owner_lock())).await.is_ok_and(|held| held.is_truthy())
            } else {
                false
            };
            pump.input(Input::Held(held));
        });
    }

    fn owner_lock(&self) -> String {
        ["lodger:", &self.0.name].concat()
    }

    /// Held as long as a holder lives: a tab that waits for it learns of the holder's death.
    fn alive(&self, epoch: u64) -> String {
        format!("lodger:{}:alive:{epoch}", self.0.name)
    }

    /// The bytes of a file, as a `Blob`.
    ///
    /// # Errors
    /// There is no such file, or the database fails.
    pub async fn file(&self, id: &str) -> Result<JsValue, ErrorInfo> {
        bytes::file(self, id).await
    }

    /// How much is stored, and what was lost. A door of the room `more`.
    #[inline(never)]
    fn storage(&self, id: u32, sessions: bool, known: bool) {
        enter(Room::More);
        let pump = self.clone();
        task::start(async move {
            if known && let Err(error) = pump.0.store.commit(&loss_known()).await {
                return pump.deliver(Deliver::Reply(id, Err(error.info())));
            }
            let rows = pump.0.store.read(&[Read::all(Table::Meta, vec![LOST_KEY.into()])]).await;
            let lost = rows.ok().and_then(|rows| json::parse(&rows.into_iter().flatten().next()?.1));
            let estimate = env::estimate().await.unwrap_or(JsValue::UNDEFINED);
            let number =
                |name: &str| js_sys::Reflect::get(&estimate, &name.into()).ok().and_then(|n| n.as_f64());
            let persisted = js_sys::Reflect::get(&estimate, &"persisted".into()).is_ok_and(|p| p.is_truthy());
            let memory = pump.0.store.bytes();
            let bytes = memory.map_or_else(|| number("usage").unwrap_or(0.0), |bytes| bytes as f64);
            let sizes = if sessions { Some(pump.0.store.sizes().await) } else { None };
            let (sizes, tasks) = match sizes.transpose() {
                Ok(sizes) => sizes.map_or((None, None), |sizes| {
                    let (tasks, sizes) = sizes.into_iter().partition(|(id, _)| id.is_empty());
                    (Some(sizes), Vec::pop(&mut { tasks }))
                }),
                Err(error) => return pump.deliver(Deliver::Reply(id, Err(error.info()))),
            };
            let value = Object::new()
                .text("kind", if memory.is_some() { "memory" } else { "indexeddb" })
                .value("bytes", bytes.into())
                .value("quota", number("quota").unwrap_or(0.0).into())
                .flag("persisted", persisted)
                .maybe("lost", lost)
                .maybe("sessions", sizes.map(told_sizes))
                .maybe("tasks", tasks.map(|(_, bytes): (String, u64)| bytes.into()))
                .json();
            pump.deliver(Deliver::Reply(id, Ok(Some(value))));
        });
    }

    /// The database goes. Where another tab opens a newer one, what is written is stored, then the way is free.
    fn gone(&self, why: Gone) {
        match why {
            Gone::Deleted => self.end(Some(StoreError::Deleted.info())),
            Gone::Lost => self.end(Some(StoreError::Lost.info().hint("open it again to begin anew"))),
            Gone::Newer => {
                let now = self.now();
                self.0.in_the_way.set(true);
                self.0.harness.borrow_mut().make_way(now);
                self.run(now);
            }
        }
    }

    fn end(&self, error: Option<ErrorInfo>) {
        if self.0.ended.replace(true) {
            return;
        }
        self.0.store.close();
        env::dispose(&self.0.scope);
        self.deliver(Deliver::Closed(error));
    }
}

/// What each session takes, the one that takes most first.
fn told_sizes(sizes: Vec<(String, u64)>) -> Value {
    let largest = sorted(sizes, |(_, bytes)| u64::MAX - bytes);
    let told = |(id, bytes): (String, u64)| Object::new().text("id", &id).number("bytes", bytes).done();
    largest.into_iter().map(told).list().into()
}
