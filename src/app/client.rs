//! The client's functions, and how values get to it and back.
//!
//! Promises: what was thrown is a typed error. What is told has the shape that its caller names, or the call fails with `protocol`.

use crate::browser;
use crate::error::{Code, ErrorInfo};
use crate::js::{self, Host, Received, plain};
use crate::json;
use crate::list::Listed;
use crate::shapes::Shape;
use js_sys::{Array, Function, JSON, Object, Promise, Reflect};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen(module = "/js/client/app.js")]
extern "C" {
    #[wasm_bindgen(js_name = createApp)]
    fn create_app(open: &Function, remove: &Function) -> JsValue;
    #[wasm_bindgen(catch)]
    fn call(
        target: &JsValue,
        path: &str,
        args: &str,
        functions: &Array,
        values: &Array,
    ) -> Result<JsValue, JsValue>;
    pub(super) fn made(kind: &str, begin: &Function) -> Function;
    pub(super) fn listen(workspace: &JsValue, names: &Array, tell: &Function) -> Function;
    pub(super) fn changes(last: &JsValue, next: &JsValue, list: &str) -> String;
    pub(super) fn iterator(iterable: &JsValue) -> js_sys::AsyncIterator;
}

#[wasm_bindgen(module = "/js/protocol/error.js")]
extern "C" {
    #[wasm_bindgen(js_name = errorInfo)]
    fn error_info(error: &JsValue) -> JsValue;
}

// What `/js/client/app.js` imports for itself, each with a name that nothing calls. A crate that uses this one gets the modules that
// are named here or in `browser`, and no others.
macro_rules! imported {
    ($($name:ident in $module:literal)+) => { $(
        #[wasm_bindgen(module = $module)]
        extern "C" {
            fn $name();
        }
    )+ };
}

imported! {
    client_attach in "/js/client/attach.js"
    client_content in "/js/client/content.js"
    client_foreign in "/js/client/foreign.js"
    client_functions in "/js/client/functions.js"
    client_html in "/js/client/html.js"
    client_invoke in "/js/client/invoke.js"
    client_lost in "/js/client/lost.js"
    client_root in "/js/client/root.js"
    client_run in "/js/client/run.js"
    client_search in "/js/client/search.js"
    client_session_files in "/js/client/session-files.js"
    client_sessions_view in "/js/client/sessions-view.js"
    client_title in "/js/client/title.js"
    client_view in "/js/client/view.js"
    client_workspace in "/js/client/workspace.js"
    client_workspaces in "/js/client/workspaces.js"
    protocol_commands in "/js/protocol/commands.js"
    protocol_hints in "/js/protocol/hints.js"
    protocol_json in "/js/protocol/json.js"
    protocol_status in "/js/protocol/status.js"
    tabs_channel in "/js/tabs/channel.js"
    tabs_guests in "/js/tabs/guests.js"
    tabs_neighbours in "/js/tabs/neighbours.js"
    tabs_tabs in "/js/tabs/tabs.js"
}

thread_local! {
    /// What opens and deletes workspaces: it knows those that are open.
    static APP: JsValue = create_app(&opens(), &removes());
}

/// The function that opens a host in this module.
fn opens() -> Function {
    let open = |name, options, deliver| {
        browser::promise(async move { Host::open(name, options, deliver, || ()).await.map(handle) })
    };
    function(Closure::<dyn Fn(String, JsValue, Function) -> Promise>::new(open))
}

/// The function that deletes what is stored.
fn removes() -> Function {
    let remove = |name: String, storage: String| js::remove(name, Some(storage));
    function(Closure::<dyn Fn(String, String) -> Promise>::new(remove))
}

/// A host as the client has it, until it is freed.
fn handle(host: Host) -> JsValue {
    let kept = Rc::new(RefCell::new(Some(host)));
    let here = Rc::clone(&kept);
    let receive = move |message: Received| {
        let host = here.borrow().clone();
        if let Some(host) = host {
            host.receive(&message);
        }
    };
    let free = move || drop(kept.take());
    let handle = Object::new();
    for (name, function) in [
        ("receive", function(Closure::<dyn Fn(Received)>::new(receive))),
        ("free", function(Closure::<dyn Fn()>::new(free))),
    ] {
        // Setting a member of a plain object of our own cannot fail.
        let _ = Reflect::set(&handle, &name.into(), &function);
    }
    handle.into()
}

/// A closure as a function, which lives as long as JavaScript has it.
pub(super) fn function<T: ?Sized + wasm_bindgen::closure::WasmClosure>(closure: Closure<T>) -> Function {
    closure.into_js_value().unchecked_into()
}

/// A method of what opens and deletes workspaces.
pub(super) async fn of_app(path: &str, args: Value, values: &Array) -> Result<JsValue, ErrorInfo> {
    let given = APP.with(|app| now(app, path, &args, &Array::new(), values));
    come(given?).await
}

/// Calls a method, at once. `args` is the list of its arguments.
pub(super) fn now(
    target: &JsValue,
    path: &str,
    args: &Value,
    functions: &Array,
    values: &Array,
) -> Result<JsValue, ErrorInfo> {
    call(target, path, &json::json(args), functions, values).map_err(|thrown| error_of(&thrown))
}

/// Waits for what a method gave.
pub(super) async fn come(given: JsValue) -> Result<JsValue, ErrorInfo> {
    JsFuture::from(Promise::resolve(&given)).await.map_err(|thrown| error_of(&thrown))
}

/// Those of these texts that are there, as arguments.
pub(super) fn some<const COUNT: usize>(texts: [Option<&str>; COUNT]) -> Value {
    Value::Array(texts.into_iter().flatten().map(Value::from).list())
}

/// What was thrown.
pub(super) fn error_of(thrown: &JsValue) -> ErrorInfo {
    ErrorInfo::from_json(&plain(&error_info(thrown)).unwrap_or_default())
}

/// Tells the console of something that is left out, because it has another shape than its name.
pub(super) fn unread(what: &str, error: &ErrorInfo) {
    let words = ["lodger: what was told of \"", what, "\" was left out: ", &error.message].concat();
    web_sys::console::error_1(&words.into());
}

/// What was told, in this shape.
pub(super) fn read<T: Shape>(value: &JsValue) -> Result<T, ErrorInfo> {
    let text = JSON::stringify(value).ok().and_then(|text| text.as_string());
    T::from_json(text.as_deref().unwrap_or("null"))
        .map_err(|error| ErrorInfo::new(Code::Protocol, error.message.clone()))
}
