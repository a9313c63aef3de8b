//! A workspace for Rust apps: what `js/client/workspace.js` is for JavaScript, without the npm package.
//!
//! Decides how commands, tools and events look in Rust: commands are async methods, tools are async closures,
//! events come to closures and, as `CustomEvent`s, to a DOM target. Promises: a listener may call any method.
//! What is interrupted is dropped, as futures are. When the workspace is closed every call that waits is
//! answered. Leaves to others: what commands mean (`harness/`), what their JSON looks like (`index.d.ts` of the
//! npm package and `js/PROTOCOL.md` say it once for both).

use super::env::Scope;
use super::pump::{Deliver, Opening, Pump};
use crate::error::{Code, ErrorInfo};
use crate::harness::{Action, By, CallKey, Lifecycle, Notice, Options};
use crate::json;
use crate::list::Listed;
use crate::maps::Few;
use crate::model::Limits;
use crate::ports::{Durability, StoreError};
use crate::protocol::read;
use crate::session::operator::Operator;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::mem::take;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, CustomEvent, CustomEventInit, EventTarget};

/// How a workspace is opened.
#[derive(Clone, Debug)]
pub struct WorkspaceOptions {
    /// Keep everything in memory, and forget it with this workspace; default: in IndexedDB.
    pub in_memory: bool,
    /// How sure it is that what was acknowledged is stored. `Relaxed`: it survives the death of the tab and of the browser.
    /// `Strict`: it is flushed to the disk first, so it survives the loss of power. Default: `Relaxed`.
    pub durability: Durability,
    /// Refuse to open it (`storage_lost`) where what it had stored is gone and lodger has not deleted it; default: it is opened,
    /// and `agent:notice` tells of that.
    pub reject_lost: bool,
    /// Whether the agent has the twelve tools for the workspace's pages; default: yes.
    pub page_tools: bool,
    /// Who works here: sessions belong to one. `None`: nobody, and then no session can be reached. Default: one that is called
    /// `local`. The command `setOperator` changes it.
    pub operator: Option<Operator>,
    /// How much is taken of a model's answer.
    pub limits: Limits,
    /// Where events are dispatched as `CustomEvent`s; default: the document, where there is one.
    pub target: Option<EventTarget>,
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        let operator = Options::local_operator();
        WorkspaceOptions {
            in_memory: false,
            durability: Durability::Relaxed,
            reject_lost: false,
            page_tools: true,
            operator,
            limits: Limits::default(),
            target: document(),
        }
    }
}

fn document() -> Option<EventTarget> {
    js_sys::Reflect::get(&js_sys::global(), &"document".into()).ok()?.dyn_into().ok()
}

/// Where the harness stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its lifecycle.
    pub lifecycle: Lifecycle,
    /// Whether a run is at work.
    pub is_streaming: bool,
}

impl Status {
    const STOPPED: Status = Status { lifecycle: Lifecycle::Stopped, is_streaming: false };

    fn parse(json: &str) -> Status {
        let value = parse(json);
        let lifecycle = value.get("lifecycle").unwrap_or(&Value::Null);
        let error = lifecycle.get("Error").and_then(Value::as_str);
        let lifecycle = match (lifecycle.as_str(), error) {
            (_, Some(error)) => Lifecycle::Error(error.into()),
            (Some("Starting"), _) => Lifecycle::Starting,
            (Some("Running" | "Suspended"), _) => Lifecycle::Running,
            _ => Lifecycle::Stopped,
        };
        Status { lifecycle, is_streaming: value.get("is_streaming") == Some(&Value::Bool(true)) }
    }
}

/// Something that the workspace tells.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Its type: `agent:message-chunk` and the others of `WorkspaceEvents` in `index.d.ts`.
    pub name: &'a str,
    /// Its detail, as JSON text.
    pub json: &'a str,
}

impl Event<'_> {
    /// Its detail.
    pub fn detail(&self) -> Value {
        parse(self.json)
    }
}

/// A closure that listens, until this is dropped.
#[must_use = "a listener that is dropped hears nothing"]
#[derive(Debug)]
pub struct Listener {
    workspace: Weak<Inner>,
    id: u32,
}

impl Listener {
    /// Listens until the workspace is closed.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(inner) = self.workspace.upgrade() {
            inner.listeners.borrow_mut().remove(self.id);
        }
    }
}

/// What a tool knows of its call, besides the arguments.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The call's id.
    pub tool_call_id: String,
    /// The run that called; `None`: the app did.
    pub run_id: Option<String>,
    caller: Caller,
}

impl ToolContext {
    /// Tells how far the call is, any JSON.
    pub fn progress(&self, progress: &Value) {
        self.caller.with(|pump, call| pump.progress(call, progress.to_string()));
    }
}

/// Where a model of the app's own puts its answer.
#[derive(Clone, Debug)]
pub struct Answer(Caller);

impl Answer {
    /// The next piece of text.
    pub fn text(&self, text: &str) {
        self.0.with(|pump, call| pump.feed_text(call, text));
    }

    /// The next chunk of OpenAI's chat format, for answers that call tools.
    pub fn chunk(&self, chunk: &Value) {
        self.0.with(|pump, call| pump.feed_chunk(call, &chunk.to_string()));
    }
}

/// A call to a closure of the app.
#[derive(Clone, Debug)]
struct Caller {
    workspace: Weak<Inner>,
    call: CallKey,
}

impl Caller {
    fn with(&self, tell: impl FnOnce(&Pump, CallKey)) {
        let Some(inner) = self.workspace.upgrade() else { return };
        let wanted = inner.calls.borrow().get(self.call).is_some();
        if let (true, Ok(pump)) = (wanted, inner.pump()) {
            tell(&pump, self.call);
        }
    }
}

type Task = Pin<Box<dyn Future<Output = Result<Value, String>>>>;
type Callback = Rc<dyn Fn(Value, Caller) -> Task>;
type OnEvent = Rc<dyn Fn(&Event<'_>)>;

/// A workspace that is open in this page. A cheap handle: clones are the same workspace. It is open until
/// [`close`](Workspace::close), also when nobody has a handle any more.
///
/// ```no_run
/// # async fn page() -> Result<(), lodger::error::ErrorInfo> {
/// use lodger::browser::{Workspace, WorkspaceOptions};
/// use serde_json::json;
///
/// let workspace = Workspace::open("shop", WorkspaceOptions::default()).await?;
/// let add = json!({ "name": "add_to_cart", "description": "Puts a product into the cart.",
///     "inputSchema": { "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] } });
/// workspace.register_tool(add, async |args, _| Ok(json!({ "added": args["id"] }))).await?;
/// workspace.on_event(|event| if event.name == "agent:message-chunk" { /* event.detail() */ }).forget();
/// let provider = json!({ "kind": "anthropic", "apiKey": workspace.ask(async || Ok("sk-…".into())) });
/// workspace.start_agent(json!({ "provider": provider })).await?;
/// let run = workspace.send_message("I need a lamp.").await?;
/// let answer = workspace.result(&run).await?["text"].clone();
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Workspace(Rc<Inner>);

impl Workspace {
    /// Opens a workspace. One handle a page and name is meant to be: clone it.
    ///
    /// # Errors
    /// The database cannot be opened (`storage_unavailable`, `storage_blocked`), a newer version wrote it, or it was lost.
    pub async fn open(name: &str, options: WorkspaceOptions) -> Result<Workspace, ErrorInfo> {
        let scope = Scope::new();
        let inner = Rc::new(Inner {
            name: name.into(),
            target: options.target,
            pump: RefCell::new(Err(ErrorInfo::new(Code::NoWorkspace, "the workspace is not open yet"))),
            status: RefCell::new(Status::STOPPED),
            last: Cell::new(0),
            replies: RefCell::default(),
            callbacks: RefCell::default(),
            calls: RefCell::default(),
            listeners: RefCell::default(),
            hiding: RefCell::new(None),
        });
        let told = Rc::clone(&inner);
        let sink = Box::new(move |message: Deliver<'_>| told.receive(message));
        let WorkspaceOptions { in_memory, durability, reject_lost, page_tools, operator, limits, .. } =
            options;
        let opening = Opening { in_memory, durability, rejects: reject_lost, page_tools, operator, limits };
        let pump = Pump::open(name.into(), opening, scope, sink).await?;
        *inner.pump.borrow_mut() = Ok(pump);
        inner.draft_when_hidden();
        Ok(Workspace(inner))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Starts the agent. `config` is the `AgentConfig` of `index.d.ts`; a function in it is what
    /// [`ask`](Workspace::ask) or [`model`](Workspace::model) gives.
    ///
    /// # Errors
    /// It runs already, here or in another tab; an option is wrong; the database fails.
    pub async fn start_agent(&self, config: Value) -> Result<(), ErrorInfo> {
        self.command("startAgent", config).await.map(drop)
    }

    /// Changes the configuration of the agent that runs, from the next model call on.
    ///
    /// # Errors
    /// It does not run, or an option is wrong.
    pub async fn configure_agent(&self, patch: Value) -> Result<(), ErrorInfo> {
        self.command("configureAgent", patch).await.map(drop)
    }

    /// Interrupts what runs and stops the agent. Nothing happens if it does not run.
    ///
    /// # Errors
    /// It is still starting, or the database fails.
    pub async fn stop_agent(&self) -> Result<(), ErrorInfo> {
        self.command("stopAgent", json!({})).await.map(drop)
    }

    /// Sends a message. Gives the id of the run that answers it, as soon as the message is stored.
    ///
    /// # Errors
    /// The agent does not run or is busy, or the message is empty.
    pub async fn send_message(&self, text: &str) -> Result<String, ErrorInfo> {
        self.command("sendMessage", json!({ "text": text })).await.map(|run| run_id(&run))
    }

    /// The same with files, whose names are those of `web_sys::File`s. The text may be empty.
    ///
    /// # Errors
    /// Besides those: a file is empty, too large, cannot be read, or is nothing that the model takes.
    pub async fn send_files(&self, text: &str, files: &[Blob]) -> Result<String, ErrorInfo> {
        let blobs = files.iter().map(JsValue::from).collect::<js_sys::Array>();
        let args = json!({ "text": text });
        let send = |pump: &Pump, id| pump.command_with(id, read("sendMessage", args), blobs, By::Here);
        self.reply_to(send).await.map(|run| run_id(&run))
    }

    /// The bytes of a file that was sent with a message: `fileId` of a part of [`history`](Workspace::history).
    ///
    /// # Errors
    /// There is no such file, or the database fails.
    pub async fn file(&self, file_id: &str) -> Result<Blob, ErrorInfo> {
        let pump = self.0.pump()?;
        pump.file(file_id).await.map(JsCast::unchecked_into)
    }

    /// Waits for the end of a run, whatever its outcome. Gives its `RunResult`.
    ///
    /// # Errors
    /// There is no such run, or the harness fails before the run has ended.
    pub async fn result(&self, run_id: &str) -> Result<Value, ErrorInfo> {
        self.command("result", json!({ "runId": run_id })).await
    }

    /// Interrupts the run that is at work, if one is.
    pub fn interrupt(&self) {
        if let Ok(pump) = self.0.pump() {
            pump.command(self.0.next(), read("interrupt", json!({})), By::Here);
        }
    }

    /// Goes on with the run that a closed or crashed page left. Gives its id.
    ///
    /// # Errors
    /// There is none, or the agent does not run.
    pub async fn resume(&self) -> Result<String, ErrorInfo> {
        self.command("resume", json!({})).await.map(|run| run_id(&run))
    }

    /// Where the harness stands.
    pub fn status(&self) -> Status {
        self.0.status.borrow().clone()
    }

    /// The conversation, each a `Message`. The agent need not run.
    ///
    /// # Errors
    /// The database fails.
    pub async fn history(&self) -> Result<Vec<Value>, ErrorInfo> {
        let history = self.command("history", json!({})).await?;
        Ok(history.as_array().cloned().unwrap_or_default())
    }

    /// Everything else: a command of `js/PROTOCOL.md` by its name, `pages.create` or `clearConversation` say.
    ///
    /// # Errors
    /// The command is unknown, its arguments are wrong, or it fails.
    pub async fn command(&self, name: &str, args: Value) -> Result<Value, ErrorInfo> {
        self.reply_to(|pump: &Pump, id| pump.command(id, read(name, args), By::Here)).await
    }

    /// What a command that is given so is answered by.
    async fn reply_to(&self, give: impl FnOnce(&Pump, u32)) -> Result<Value, ErrorInfo> {
        let (pump, id, reply) = (self.0.pump()?, self.0.next(), Rc::<RefCell<Reply>>::default());
        self.0.replies.borrow_mut().insert(id, Rc::clone(&reply));
        give(&pump, id);
        drop(pump);
        let json = poll_fn(|context| {
            let mut reply = reply.borrow_mut();
            match reply.result.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    reply.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        });
        json.await.map(|json| json.as_deref().map_or(Value::Null, parse))
    }

    /// Gives the agent a tool. `definition` is the `Tool` of `index.d.ts` without `execute`; `"replace": true`
    /// puts it in the place of another. The closure gets the arguments, which fit the schema; `null` counts as
    /// no result, an error is told to the model. A call that is interrupted is dropped where it awaits.
    ///
    /// # Errors
    /// The name is taken, or the definition or its schema cannot be used.
    pub async fn register_tool<F>(&self, definition: Value, execute: F) -> Result<(), ErrorInfo>
    where
        F: AsyncFn(Value, ToolContext) -> Result<Value, String> + 'static,
    {
        let function = self.0.add(execute, async |execute: &F, mut input: Value, caller| {
            let text = |name: &str| input.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
            let (tool_call_id, run_id) = (text("toolCallId").unwrap_or_default(), text("runId"));
            let args = input.get_mut("args").map(Value::take).unwrap_or_default();
            execute(args, ToolContext { tool_call_id, run_id, caller }).await
        });
        let mut definition = definition;
        if let Some(members) = definition.as_object_mut() {
            members.insert("execute".into(), function.clone());
        }
        let registered = self.command("tools.register", definition).await;
        registered.map(drop).inspect_err(|_| self.0.remove(&function))
    }

    /// A closure for `instructions` or `provider.apiKey`, asked whenever the text is needed. It is kept until
    /// the workspace is closed.
    pub fn ask<F>(&self, give: F) -> Value
    where
        F: AsyncFn() -> Result<String, String> + 'static,
    {
        self.0.add(give, async |give: &F, _, _| give().await.map(Value::from))
    }

    /// A closure for `permissions.decide`: it gets a `PermissionRequest` of `index.d.ts` and says `allow`, `ask` or `deny`.
    /// It is kept until the workspace is closed. A person answers by the command `resolvePermission`.
    pub fn decide<F>(&self, decide: F) -> Value
    where
        F: AsyncFn(Value) -> Result<String, String> + 'static,
    {
        self.0.add(decide, async |decide: &F, request, _| decide(request).await.map(Value::from))
    }

    /// A closure for `provider.stream`: a model of the app's own, with `"kind": "custom"`. It gets the
    /// `ChatRequest` and is done when it returns. It is kept until the workspace is closed.
    pub fn model<F>(&self, stream: F) -> Value
    where
        F: AsyncFn(Value, Answer) -> Result<(), String> + 'static,
    {
        self.0.add(stream, async |stream: &F, request, caller| {
            stream(request, Answer(caller)).await.map(|()| Value::Null)
        })
    }

    /// Tells a closure of every event, before the DOM target hears of it.
    pub fn on_event(&self, listener: impl Fn(&Event<'_>) + 'static) -> Listener {
        let id = self.0.next();
        self.0.listeners.borrow_mut().insert(id, Rc::new(listener));
        Listener { workspace: Rc::downgrade(&self.0), id }
    }

    /// Stores what is not stored yet and lets everything go; a run at work is held, as if the page had closed.
    pub async fn close(&self) {
        // A second close fails, and the workspace is closed, as it should be.
        let _ = self.command("close", json!({})).await;
    }
}

fn run_id(run: &Value) -> String {
    run.get("runId").and_then(Value::as_str).unwrap_or_default().into()
}

fn parse(json: &str) -> Value {
    json::parse(json).unwrap_or_default()
}

/// The answer to a command, on its way.
#[derive(Default)]
struct Reply {
    result: Option<Result<Option<String>, ErrorInfo>>,
    waker: Option<Waker>,
}

struct Inner {
    name: String,
    target: Option<EventTarget>,
    /// The pump, which holds this as its sink until it ends; then why there is none.
    pump: RefCell<Result<Pump, ErrorInfo>>,
    status: RefCell<Status>,
    last: Cell<u32>,
    replies: RefCell<Few<u32, Rc<RefCell<Reply>>>>,
    callbacks: RefCell<Few<u32, Callback>>,
    /// Calls of closures that are wanted, with who drives them.
    calls: RefCell<Few<CallKey, Option<Waker>>>,
    listeners: RefCell<Few<u32, OnEvent>>,
    /// What writes the draft when the page is hidden or goes away.
    hiding: RefCell<Option<Closure<dyn FnMut()>>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl Inner {
    fn pump(&self) -> Result<Pump, ErrorInfo> {
        self.pump.borrow().clone()
    }

    fn next(&self) -> u32 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    /// Keeps a closure. Gives what stands for it in a command.
    fn add<F: 'static>(
        &self,
        function: F,
        call: impl AsyncFn(&F, Value, Caller) -> Result<Value, String> + Copy + 'static,
    ) -> Value {
        let (id, function) = (self.next(), Rc::new(function));
        let callback = move |input, caller| -> Task {
            let function = Rc::clone(&function);
            Box::pin(async move { call(&function, input, caller).await })
        };
        self.callbacks.borrow_mut().insert(id, Rc::new(callback));
        json!({ "$fn": id })
    }

    fn remove(&self, function: &Value) {
        let id = function.get("$fn").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
        self.callbacks.borrow_mut().remove(id.unwrap_or_default());
    }

    fn receive(self: &Rc<Self>, message: Deliver<'_>) {
        match message {
            Deliver::Reply(id, result) => {
                let reply = self.replies.borrow_mut().remove(id);
                settle(reply.as_deref(), result);
            }
            // A page that wants a file asks by `Workspace::file`.
            Deliver::File(id, _) => settle(self.replies.borrow_mut().remove(id).as_deref(), Ok(None)),
            Deliver::Call(call, function, _, json, _) => {
                self.call(call, function, json.and_then(|json| json.as_string()).as_deref());
            }
            Deliver::Abort(call) => {
                let waker = self.calls.borrow_mut().remove(call);
                wake(waker.flatten());
            }
            Deliver::Closed(error) => self.end(error),
            Deliver::Action(Action::Tell(Notice::Status(json))) => {
                *self.status.borrow_mut() = Status::parse(json);
            }
            Deliver::Action(Action::Tell(Notice::Event(name, json))) => self.tell(&Event { name, json }),
            Deliver::Action(Action::Tell(Notice::Lost(json))) => {
                let error = StoreError::Lost.info().to_json();
                let detail = json!({ "workspace": self.name, "kind": "storage_lost", "lost": parse(json), "error": error });
                let (inner, json) = (Rc::clone(self), detail.to_string());
                // Who opens a workspace listens to it when that is done.
                spawn_local(async move { inner.tell(&Event { name: "agent:notice", json: &json }) });
            }
            Deliver::Action(_) => {}
        }
    }

    /// Calls a closure of the app. Its future is polled as long as the call is wanted, then dropped.
    fn call(self: &Rc<Self>, call: CallKey, function: u32, json: Option<&str>) {
        let callback = self.callbacks.borrow().get(function).cloned();
        let caller = Caller { workspace: Rc::downgrade(self), call };
        let input = json.map_or(Value::Null, parse);
        self.calls.borrow_mut().insert(call, None);
        let inner = Rc::clone(self);
        spawn_local(async move {
            let mut task: Task = match callback {
                Some(callback) => callback(input, caller),
                None => Box::pin(async { Err("there is no such function any more".into()) }),
            };
            let wanted = poll_fn(|context| {
                match inner.calls.borrow_mut().get_mut(call) {
                    Some(waker) => *waker = Some(context.waker().clone()),
                    None => return Poll::Ready(None),
                }
                task.as_mut().poll(context).map(Some)
            });
            let Some(result) = wanted.await else { return };
            let still_wanted = inner.calls.borrow_mut().remove(call).is_some();
            if let (true, Ok(pump)) = (still_wanted, inner.pump()) {
                let value = |value: Value| (!value.is_null()).then(|| value.to_string());
                pump.answer(call, result.map(value).map_err(|error| ErrorInfo::new(Code::ToolFailed, error)));
            }
        });
    }

    /// Tells the closures, then the DOM. No borrow is held while they are called.
    fn tell(&self, event: &Event<'_>) {
        let listeners = self.listeners.borrow().values().cloned().list();
        for listener in listeners {
            listener(event);
        }
        let Some(target) = &self.target else { return };
        let init = CustomEventInit::new();
        init.set_detail(&js_sys::JSON::parse(event.json).unwrap_or(JsValue::NULL));
        // The names are ours, and a browser reports what listeners throw.
        if let Ok(event) = CustomEvent::new_with_event_init_dict(event.name, &init) {
            let _ = target.dispatch_event(&event);
        }
    }

    /// A browser that hides a page may kill it without another word.
    fn draft_when_hidden(self: &Rc<Self>) {
        let weak = Rc::downgrade(self);
        let draft = Closure::<dyn FnMut()>::new(move || {
            if let Some(inner) = weak.upgrade().filter(|inner| inner.status.borrow().is_streaming)
                && let Ok(pump) = inner.pump()
            {
                pump.command(inner.next(), read("draft", json!({})), By::Here);
            }
        });
        for (target, event) in hiding_events() {
            let _ = target.add_event_listener_with_callback(event, draft.as_ref().unchecked_ref());
        }
        *self.hiding.borrow_mut() = Some(draft);
    }

    /// The workspace is closed: everyone who waits is answered, and what was given is dropped.
    fn end(&self, error: Option<ErrorInfo>) {
        let asked = error.is_none();
        let error = error.unwrap_or_else(|| {
            ErrorInfo::new(Code::WorkspaceClosed, "the workspace is closed").hint("open it again")
        });
        let was = self.status.replace(Status::STOPPED);
        let pump = self.pump.replace(Err(error.clone()));
        if let Some(draft) = self.hiding.take() {
            for (target, event) in hiding_events() {
                let _ = target.remove_event_listener_with_callback(event, draft.as_ref().unchecked_ref());
            }
        }
        for reply in self.replies.take().values() {
            settle(Some(reply), Err(error.clone()));
        }
        for waker in self.calls.take().values_mut() {
            wake(waker.take());
        }
        if !asked {
            let mut detail = error.to_json();
            if let Some(members) = detail.as_object_mut() {
                members.insert("workspace".into(), self.name.as_str().into());
            }
            self.tell(&Event { name: "agent:error", json: &detail.to_string() });
            if was != Status::STOPPED {
                let status = json!({ "workspace": self.name, "lifecycle": "Stopped", "is_streaming": false });
                self.tell(&Event { name: "agent:status-changed", json: &status.to_string() });
            }
        }
        // Closures of the app may hold handles of this workspace: dropped last, and outside of any borrow.
        let given = (self.callbacks.take(), take(&mut *self.listeners.borrow_mut()), pump);
        drop(given);
    }
}

fn hiding_events() -> impl Iterator<Item = (EventTarget, &'static str)> {
    let window = || js_sys::global().unchecked_into::<EventTarget>();
    document().into_iter().flat_map(move |document| [(document, "visibilitychange"), (window(), "pagehide")])
}

fn settle(reply: Option<&RefCell<Reply>>, result: Result<Option<String>, ErrorInfo>) {
    let waker = reply.and_then(|reply| {
        let mut reply = reply.borrow_mut();
        reply.result = Some(result);
        reply.waker.take()
    });
    wake(waker);
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
