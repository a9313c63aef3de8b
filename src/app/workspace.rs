//! The workspace, its tools, and how it is opened.

use super::client::{self, come, listen, now, read, some};
use super::functions::{self, Answer, ToolContext};
use super::{Keys, Memories, Operator, Pages, PermissionAnswer, Queue, Run, Sessions, View};
use crate::error::ErrorInfo;
use crate::json;
use crate::object::Object;
use crate::ports::Durability;
use crate::shapes::{
    AgentConfig, Event, Function, Grant, Limits, Message, PermissionReply, PermissionRequest, Rule,
    SendOptions, Shape, Status, Stored, Tool, ToolDefinition, ToolResult, UserInput, WaitResult, What,
};
use js_sys::Array;
use serde_json::{Value, json};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, EventTarget};

/// How a workspace is opened.
#[derive(Clone, Debug)]
pub struct WorkspaceOptions {
    /// Keep everything in memory, and forget it with this workspace; default: in IndexedDB.
    pub in_memory: bool,
    /// How sure it is that what was acknowledged is stored. `Relaxed`: it survives the death of the tab and of the browser.
    /// `Strict`: it is flushed to the disk first, so it survives the loss of power. Default: `Relaxed`.
    pub durability: Durability,
    /// Refuse to open it (`storage_lost`) where what it had stored is gone and lodger has not deleted it; default: it is opened,
    /// and a notice tells of that.
    pub reject_lost: bool,
    /// Whether the agent has the twelve tools for the workspace's pages; default: yes.
    pub page_tools: bool,
    /// Who works here: sessions belong to one. `None`: nobody, and then no session can be reached. Default: one that is called
    /// `local`.
    pub operator: Option<Operator>,
    /// How large things may be.
    pub limits: Limits,
    /// Where events are dispatched as `CustomEvent`s besides the closures; default: the document, where there is one. `Some(None)`: nowhere.
    pub target: Option<Option<EventTarget>>,
    /// Whether a person who leaves the page is asked first while a run works in it.
    pub warn_on_leave: bool,
    /// Whether a run goes on as long as the page lives when the workspace is closed; default: it is held.
    pub keep_alive: bool,
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        WorkspaceOptions {
            in_memory: false,
            durability: Durability::Relaxed,
            reject_lost: false,
            page_tools: true,
            operator: crate::harness::Options::local_operator(),
            limits: Limits::default(),
            target: None,
            warn_on_leave: false,
            keep_alive: false,
        }
    }
}

/// A message of a person: a text, what the app keeps with it, and files.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The text; with files it may be empty.
    pub input: UserInput,
    /// Files, whose names are those of `web_sys::File`s.
    pub files: Vec<Blob>,
}

impl<T: Into<UserInput>> From<T> for Said {
    fn from(input: T) -> Said {
        Said { input: input.into(), files: Vec::new() }
    }
}

impl Said {
    /// The same with these files.
    #[must_use]
    pub fn with(mut self, files: impl IntoIterator<Item = Blob>) -> Said {
        self.files.extend(files);
        self
    }

    /// What of it JSON cannot hold.
    pub(super) fn values(&self, place: &str) -> Array {
        if self.files.is_empty() {
            return Array::new();
        }
        let files = self.files.iter().map(JsValue::from).collect::<Array>();
        value_at(place, &files)
    }
}

/// A value that JSON cannot hold, with its place among the arguments.
pub(super) fn value_at(place: &str, value: &JsValue) -> Array {
    Array::of1(&Array::of2(&place.into(), value))
}

/// A closure that listens, until this is dropped.
#[must_use = "a listener that is dropped hears nothing"]
#[derive(Debug)]
pub struct Listener(js_sys::Function);

impl Listener {
    /// Listens until the workspace is closed.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It only takes listeners away.
        let _ = self.0.call0(&JsValue::UNDEFINED);
    }
}

/// A workspace that is open in this page, alone or with other tabs. A cheap handle: clones are the same workspace. It is open until
/// [`close`](Workspace::close) was called as often as it was opened.
///
/// ```no_run
/// # async fn page() -> Result<(), lodger::error::ErrorInfo> {
/// use lodger::app::{AgentConfig, Provider, SendOptions, Tool, What, Workspace, WorkspaceOptions};
/// use serde_json::json;
///
/// let workspace = Workspace::open("shop", WorkspaceOptions::default()).await?;
/// let add = Tool {
///     name: "add_to_cart".into(),
///     description: "Puts a product into the cart.".into(),
///     input_schema: json!({ "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] }),
///     ..Tool::default()
/// };
/// workspace.tools().register(add, async |args, _| Ok(json!({ "added": args["id"] })))?;
/// workspace.on_event(|event| if let What::MessageChunk(chunk) = &event.what { /* chunk.text */ }).forget();
/// let key = workspace.ask(async || Ok("sk-…".into()));
/// let provider = Provider { kind: "anthropic".into(), api_key: Some(key.into()), ..Provider::default() };
/// workspace.start_agent(AgentConfig { provider: Some(provider), ..AgentConfig::default() }).await?;
/// let run = workspace.send_message("I need a lamp.", SendOptions::default()).await?;
/// let answer = run.result().await?.text;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Workspace(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    client: JsValue,
    name: String,
    /// Those of the app, each in the place of its number.
    functions: Array,
}

/// Deletes everything that a workspace has stored. Every handle in every tab closes with `workspace_deleted`.
///
/// # Errors
/// The database fails.
pub async fn delete_workspace(name: &str) -> Result<(), ErrorInfo> {
    client::of_app("deleteWorkspace", json!([name]), &Array::new()).await.map(drop)
}

impl Workspace {
    /// Opens a workspace.
    ///
    /// # Errors
    /// It is open with other options, its database cannot be opened, a newer version wrote it, or it was lost.
    pub async fn open(name: &str, options: WorkspaceOptions) -> Result<Workspace, ErrorInfo> {
        let WorkspaceOptions { page_tools, warn_on_leave, keep_alive, .. } = options;
        let operator = options.operator.map(|operator| operator.write());
        let given = json!({
            "storage": if options.in_memory { "memory" } else { "indexeddb" },
            "durability": if options.durability == Durability::Strict { "strict" } else { "relaxed" },
            "onStorageLost": if options.reject_lost { "reject" } else { "open" },
            "pageTools": page_tools, "warnOnLeave": warn_on_leave, "keepAlive": keep_alive,
            "operator": operator, "limits": options.limits.write(),
        });
        let values = match options.target {
            None => Array::new(),
            Some(target) => value_at("1.target", &target.map_or(JsValue::NULL, JsValue::from)),
        };
        let client = client::of_app("openWorkspace", json!([name, given]), &values).await?;
        Ok(Workspace(Rc::new(Inner { client, name: name.into(), functions: Array::new() })))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Starts the agent, or joins the one that runs in another tab.
    ///
    /// # Errors
    /// An option is wrong, or the database fails; `already_running` where the configuration says so.
    pub async fn start_agent(&self, config: AgentConfig) -> Result<(), ErrorInfo> {
        self.configured("startAgent", config).await
    }

    /// Changes the members that are there, from the next model call on.
    ///
    /// # Errors
    /// It does not run, or an option is wrong.
    pub async fn configure_agent(&self, patch: AgentConfig) -> Result<(), ErrorInfo> {
        self.configured("configureAgent", patch).await
    }

    /// Gives these members of the configuration their defaults back, by their names in JavaScript: `"maxTurns"`.
    ///
    /// # Errors
    /// It does not run, or there is no such member.
    pub async fn reset_agent(&self, members: &[&str]) -> Result<(), ErrorInfo> {
        let mut patch = Object::new();
        for name in members {
            patch.value(name, Value::Null);
        }
        self.done("configureAgent", json!([patch.done()])).await
    }

    async fn configured(&self, method: &str, config: AgentConfig) -> Result<(), ErrorInfo> {
        let args = Value::Array(vec![config.write()]);
        come(now(&self.0.client, method, &args, &self.0.functions, &Array::new())?).await.map(drop)
    }

    /// Interrupts what runs and stops the agent. Nothing happens if it does not run.
    ///
    /// # Errors
    /// It is still starting, or the database fails.
    pub async fn stop_agent(&self) -> Result<(), ErrorInfo> {
        self.done("stopAgent", json!([])).await
    }

    /// Sends a message. Gives the run that answers it, as soon as the message is stored.
    ///
    /// # Errors
    /// The agent does not run or is busy, the message is empty, or a file is nothing that the model takes.
    pub async fn send_message(&self, said: impl Into<Said>, options: SendOptions) -> Result<Run, ErrorInfo> {
        let said = said.into();
        let args = json!([said.input.write(), options.write()]);
        self.told("sendMessage", args, &said.values("0.files")).await.map(Run::of)
    }

    /// Answers a message anew; `None`: the last one.
    ///
    /// # Errors
    /// As of a message; `message_not_found`.
    pub async fn regenerate(&self, message: Option<&str>, options: SendOptions) -> Result<Run, ErrorInfo> {
        let values = if message.is_some() { Array::new() } else { value_at("0", &JsValue::UNDEFINED) };
        self.told("regenerate", json!([message, options.write()]), &values).await.map(Run::of)
    }

    /// Has what was said in a session so far summed up; `instructions`: what matters most.
    ///
    /// # Errors
    /// `message_not_found`: nothing was said yet; `busy`, or the agent does not run.
    pub async fn compact(&self, session: Option<&str>, instructions: Option<&str>) -> Result<Run, ErrorInfo> {
        let mut options = in_session(session);
        if let (Some(options), Some(instructions)) = (options.as_object_mut(), instructions) {
            options.insert("instructions".into(), instructions.into());
        }
        self.told("compact", json!([options]), &Array::new()).await.map(Run::of)
    }

    /// Interrupts the run that is at work in a session, if one is; `None`: in the workspace's own conversation.
    ///
    /// # Errors
    /// The workspace is closed.
    pub fn interrupt(&self, session: Option<&str>) -> Result<(), ErrorInfo> {
        self.at_once("interrupt", json!([in_session(session)])).map(drop)
    }

    /// Interrupts this run, or takes its message out of the queue.
    ///
    /// # Errors
    /// The workspace is closed.
    pub fn interrupt_run(&self, run: &str) -> Result<(), ErrorInfo> {
        self.at_once("interrupt", json!([{ "runId": run }])).map(drop)
    }

    /// Goes on with the run that a closed or crashed page left in a session, or behind one that has failed or was interrupted.
    ///
    /// # Errors
    /// `nothing_to_resume`, or the agent does not run.
    pub async fn resume(&self, session: Option<&str>) -> Result<Run, ErrorInfo> {
        self.told("resume", json!([in_session(session)]), &Array::new()).await.map(Run::of)
    }

    /// The same for this run.
    ///
    /// # Errors
    /// As of [`resume`](Workspace::resume).
    pub async fn resume_run(&self, run: &str) -> Result<Run, ErrorInfo> {
        self.told("resume", json!([{ "runId": run }]), &Array::new()).await.map(Run::of)
    }

    /// Waits for the end of a run, at most so many milliseconds (default 30,000). The end of the time touches no run. A run that has
    /// failed is waited for as long as `error_grace_ms` (default 0) besides: somebody may go on with it.
    ///
    /// # Errors
    /// `run_not_found`.
    pub async fn wait(
        &self,
        run: &str,
        timeout_ms: Option<u64>,
        error_grace_ms: Option<u64>,
    ) -> Result<WaitResult, ErrorInfo> {
        let mut options = Object::new();
        options.maybe("timeoutMs", timeout_ms.map(Value::from));
        options.maybe("errorGraceMs", error_grace_ms.map(Value::from));
        self.give("wait", json!([run, options.done()])).await
    }

    /// What the harness does.
    ///
    /// # Errors
    /// `protocol`: what was told has another shape.
    pub fn status(&self) -> Result<Status, ErrorInfo> {
        read(&self.at_once("status", json!([]))?)
    }

    /// The conversation of a session, the oldest message first. The agent need not run.
    ///
    /// # Errors
    /// The database fails, or there is no such session.
    pub async fn history(&self, session: Option<&str>) -> Result<Vec<Message>, ErrorInfo> {
        self.give("history", json!([in_session(session)])).await
    }

    /// The last so many messages of it, before this one.
    ///
    /// # Errors
    /// `message_not_found`.
    pub async fn history_page(
        &self,
        session: Option<&str>,
        limit: u64,
        before: Option<&str>,
    ) -> Result<Vec<Message>, ErrorInfo> {
        let mut options = Object::new();
        options.all(in_session(session)).number("limit", limit).maybe_text("before", before);
        self.give("history", json!([options.done()])).await
    }

    /// The same as it was with this version of a message.
    ///
    /// # Errors
    /// `message_not_found`.
    pub async fn history_of_version(
        &self,
        session: Option<&str>,
        version: &str,
    ) -> Result<Vec<Message>, ErrorInfo> {
        let mut options = in_session(session);
        if let Some(options) = options.as_object_mut() {
            options.insert("version".into(), version.into());
        }
        self.give("history", json!([options])).await
    }

    /// Makes an older version of a message the conversation again.
    ///
    /// # Errors
    /// `message_not_found`, `busy`, or the agent does not run.
    pub async fn switch_to(&self, message: &str, session: Option<&str>) -> Result<(), ErrorInfo> {
        self.done("switchTo", json!([message, in_session(session)])).await
    }

    /// Takes a message and its answer out of the conversation, and erases both.
    ///
    /// # Errors
    /// `message_not_found`, `busy`.
    pub async fn remove_message(&self, message: &str, session: Option<&str>) -> Result<(), ErrorInfo> {
        self.done("removeMessage", json!([message, in_session(session)])).await
    }

    /// Interrupts, then erases the conversation's content.
    ///
    /// # Errors
    /// The database fails.
    pub async fn clear_conversation(&self, session: Option<&str>) -> Result<(), ErrorInfo> {
        self.done("clearConversation", some([session])).await
    }

    /// The conversation of a session as it is drawn: a stream of snapshots.
    ///
    /// # Errors
    /// The workspace is closed.
    pub fn view(&self, session: Option<&str>) -> Result<View, ErrorInfo> {
        self.at_once("view", some([session])).map(|store| View::of(&store))
    }

    /// The bytes of a file of a message.
    ///
    /// # Errors
    /// `file_not_found`.
    pub async fn file(&self, file_id: &str) -> Result<Blob, ErrorInfo> {
        self.told("file", json!([file_id]), &Array::new()).await.map(JsCast::unchecked_into)
    }

    /// Answers a question about a call.
    ///
    /// # Errors
    /// `request_not_found`: it was answered, or its run has ended.
    pub async fn resolve_permission(
        &self,
        request_id: &str,
        answer: PermissionAnswer,
        reply: PermissionReply,
    ) -> Result<(), ErrorInfo> {
        self.done("resolvePermission", json!([request_id, answer.as_str(), reply.write()])).await
    }

    /// From here on this person works here; `None`: nobody.
    ///
    /// # Errors
    /// The operator is none.
    pub async fn set_operator(&self, operator: Option<Operator>) -> Result<(), ErrorInfo> {
        self.done("setOperator", json!([operator.map(|operator| operator.write())])).await
    }

    /// How much is stored; with `sessions` also by each session, which reads all of them.
    ///
    /// # Errors
    /// The database fails.
    pub async fn storage(&self, sessions: bool) -> Result<Stored, ErrorInfo> {
        self.give("storage", json!([{ "sessions": sessions }])).await
    }

    /// Asks the browser not to evict what is stored.
    ///
    /// # Errors
    /// The workspace is closed.
    pub async fn persist(&self) -> Result<bool, ErrorInfo> {
        let stored = self.told("storage", json!([]), &Array::new()).await?;
        let given = now(&stored, "persist", &json!([]), &Array::new(), &Array::new())?;
        Ok(come(given).await?.is_truthy())
    }

    /// The app or its person knows of what was lost: nobody is told of it any more.
    ///
    /// # Errors
    /// The database fails.
    pub async fn acknowledge_loss(&self) -> Result<(), ErrorInfo> {
        let stored = self.told("storage", json!([]), &Array::new()).await?;
        let lost = js_sys::Reflect::get(&stored, &"lost".into()).unwrap_or_default();
        if lost.is_undefined() {
            return Ok(());
        }
        let given = now(&lost, "acknowledge", &json!([]), &Array::new(), &Array::new())?;
        come(given).await.map(drop)
    }

    /// A command by its name: `Commands` of `index.d.ts`.
    ///
    /// # Errors
    /// The command is unknown, its arguments are wrong, or it fails.
    pub async fn invoke(&self, command: &str, args: Value) -> Result<Value, ErrorInfo> {
        self.give("invoke", json!([command, args])).await
    }

    /// The app's tools.
    pub fn tools(&self) -> Tools {
        Tools(self.clone())
    }

    /// The workspace's pages.
    pub fn pages(&self) -> Pages {
        Pages::of(self.clone())
    }

    /// What is remembered from one conversation to the next.
    pub fn memory(&self) -> Memories {
        Memories::of(self.clone())
    }

    /// Keys of providers.
    pub fn keys(&self) -> Keys {
        Keys::of(self.clone())
    }

    /// What waits for its turn.
    pub fn queue(&self) -> Queue {
        Queue::of(self.clone())
    }

    /// Conversations with a name, an owner and a record.
    pub fn sessions(&self) -> Sessions {
        Sessions::of(self.clone())
    }

    /// A closure for `instructions` or `api_key`, asked whenever the text is needed.
    pub fn ask<F>(&self, give: F) -> Function
    where
        F: AsyncFn() -> Result<String, String> + 'static,
    {
        self.function(functions::ask(async move |_| give().await.map(Value::from)))
    }

    /// A closure for a tool's `explanation` or `lookup`: it gets the arguments of the call.
    pub fn ask_about<F>(&self, give: F) -> Function
    where
        F: AsyncFn(Value) -> Result<Value, String> + 'static,
    {
        self.function(functions::ask(give))
    }

    /// A closure for `permissions.decide`.
    pub fn decide<F>(&self, decide: F) -> Function
    where
        F: AsyncFn(PermissionRequest) -> Result<Rule, String> + 'static,
    {
        self.function(functions::ask(async move |request| {
            let request = PermissionRequest::read(request).map_err(ErrorInfo::from);
            let rule = decide(request.map_err(|error| error.message.clone())?).await?;
            Ok(rule.write())
        }))
    }

    /// A closure for `provider.stream`: a model of the app's own, with the kind `custom`. It gets the `ChatRequest` of `index.d.ts`, and is
    /// done when it returns.
    pub fn model<F>(&self, stream: F) -> Function
    where
        F: AsyncFn(Value, Answer) -> Result<(), String> + 'static,
    {
        self.function(functions::model(stream))
    }

    /// A function of JavaScript, for `provider.fetch` for example.
    pub fn function(&self, function: js_sys::Function) -> Function {
        let number = self.0.functions.length();
        self.0.functions.push(&function);
        Function(number)
    }

    /// Tells a closure of every event, before the DOM target hears of it.
    pub fn on_event(&self, listener: impl Fn(&Event) + 'static) -> Listener {
        let tell = move |name: String, json: String| {
            let event = Event::read(&name, json::parse(&json).unwrap_or_default()).map_err(ErrorInfo::from);
            event.as_ref().map(&listener).unwrap_or_else(|error| client::unread(&name, error));
        };
        let names = What::NAMES.iter().map(|name| JsValue::from_str(name)).collect::<Array>();
        let tell = client::function(Closure::<dyn Fn(String, String)>::new(tell));
        Listener(listen(&self.0.client, &names, &tell))
    }

    /// Gives this handle back. When it is the last, a run at work is held, as if the page had closed.
    pub async fn close(&self) {
        // A second close fails, and the workspace is closed, as it should be.
        let _ = self.done("close", json!([])).await;
    }

    /// A method that gives nothing.
    pub(super) async fn done(&self, method: &str, args: Value) -> Result<(), ErrorInfo> {
        self.told(method, args, &Array::new()).await.map(drop)
    }

    /// A method that gives plain data.
    pub(super) async fn give<T: Shape>(&self, method: &str, args: Value) -> Result<T, ErrorInfo> {
        read(&self.told(method, args, &Array::new()).await?)
    }

    /// A method that gives something.
    pub(super) async fn told(&self, method: &str, args: Value, values: &Array) -> Result<JsValue, ErrorInfo> {
        come(now(&self.0.client, method, &args, &Array::new(), values)?).await
    }

    /// A method that does not wait.
    pub(super) fn at_once(&self, method: &str, args: Value) -> Result<JsValue, ErrorInfo> {
        self.at_once_with(method, args, &Array::new())
    }

    /// The same, with what JSON cannot hold.
    pub(super) fn at_once_with(
        &self,
        method: &str,
        args: Value,
        values: &Array,
    ) -> Result<JsValue, ErrorInfo> {
        now(&self.0.client, method, &args, &Array::new(), values)
    }

    /// A method that takes a configuration of a provider.
    pub(super) async fn with_functions<T: Shape>(&self, method: &str, args: Value) -> Result<T, ErrorInfo> {
        read(&come(now(&self.0.client, method, &args, &self.0.functions, &Array::new())?).await?)
    }
}

fn in_session(session: Option<&str>) -> Value {
    session.map_or_else(|| json!({}), |session| json!({ "sessionId": session }))
}

/// Functions of the app that the agent may call.
#[derive(Clone, Debug)]
pub struct Tools(Workspace);

impl Tools {
    /// Gives the agent a tool. The closure gets the arguments, which fit the schema; `null` counts as no result, an error is told to
    /// the model. A call that is interrupted is dropped where it awaits.
    ///
    /// # Errors
    /// The name is taken, or the definition or its schema cannot be used.
    pub fn register<F>(&self, tool: Tool, execute: F) -> Result<(), ErrorInfo>
    where
        F: AsyncFn(Value, ToolContext) -> Result<Value, String> + 'static,
    {
        self.put(&tool, Some(functions::tool(execute)), false)
    }

    /// The same in the place of a tool of this name.
    ///
    /// # Errors
    /// The definition or its schema cannot be used.
    pub fn replace<F>(&self, tool: Tool, execute: F) -> Result<(), ErrorInfo>
    where
        F: AsyncFn(Value, ToolContext) -> Result<Value, String> + 'static,
    {
        self.put(&tool, Some(functions::tool(execute)), true)
    }

    /// A tool whose calls wait until [`resolve`](Tools::resolve) answers them.
    ///
    /// # Errors
    /// As of [`register`](Tools::register).
    pub fn register_waiting(&self, tool: Tool) -> Result<(), ErrorInfo> {
        self.put(&tool, None, false)
    }

    fn put(&self, tool: &Tool, execute: Option<js_sys::Function>, replace: bool) -> Result<(), ErrorInfo> {
        let Workspace(inner) = &self.0;
        let values = execute.map_or_else(Array::new, |execute| value_at("0.execute", &execute));
        let args = json!([tool.write(), { "replace": replace }]);
        now(&inner.client, "tools.register", &args, &inner.functions, &values).map(drop)
    }

    /// Takes a tool away. Whether there was one.
    ///
    /// # Errors
    /// The workspace is closed.
    pub fn unregister(&self, name: &str) -> Result<bool, ErrorInfo> {
        self.0.at_once("tools.unregister", json!([name])).map(|there| there.is_truthy())
    }

    /// All tools, in order of registration.
    ///
    /// # Errors
    /// The workspace is closed.
    pub fn definitions(&self) -> Result<Vec<ToolDefinition>, ErrorInfo> {
        read(&self.0.at_once("tools.definitions", json!([]))?)
    }

    /// Runs a tool as the agent would, without one.
    ///
    /// # Errors
    /// There is no such tool, the arguments do not fit, nobody allows it, or it fails.
    pub async fn execute(&self, name: &str, args: Value) -> Result<ToolResult, ErrorInfo> {
        self.0.give("tools.execute", json!([name, args])).await
    }

    /// Answers a call of a tool without a closure, also after a reload.
    ///
    /// # Errors
    /// `request_not_found`.
    pub async fn resolve(&self, tool_call_id: &str, answer: Result<Value, String>) -> Result<(), ErrorInfo> {
        let answer = match answer {
            Ok(result) => json!({ "result": result }),
            Err(error) => json!({ "error": error }),
        };
        self.0.done("tools.resolve", json!([tool_call_id, answer])).await
    }

    /// What is always allowed.
    ///
    /// # Errors
    /// Nobody works here.
    pub async fn grants(&self) -> Result<Vec<Grant>, ErrorInfo> {
        self.0.give("tools.grants", json!([])).await
    }

    /// The tool is asked about again.
    ///
    /// # Errors
    /// The agent does not run.
    pub async fn revoke(&self, tool: &str, session: Option<&str>) -> Result<(), ErrorInfo> {
        self.0.done("tools.revoke", some([Some(tool), session])).await
    }
}
