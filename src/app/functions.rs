//! Async closures as functions of the client.
//!
//! Promises: a closure's future is polled as long as its call is wanted, then dropped where it awaits. What it gives too late is
//! nobody's. Leaves to others: what each kind of function is called with (`js/client/functions.js`).

use super::client::{function, made};
use crate::json;
use js_sys::{Array, Function, Promise};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{AbortSignal, Blob};

/// What a tool knows of its call, besides the arguments.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The call's id.
    pub tool_call_id: String,
    /// The run that called; `None`: the app did.
    pub run_id: Option<String>,
    tell: Function,
    files: Array,
}

impl ToolContext {
    /// Tells how far the call is, any JSON.
    pub fn progress(&self, progress: &Value) {
        // A client that does not take it says so by itself.
        let _ = self.tell.call1(&JsValue::UNDEFINED, &json::json(progress).into());
    }

    /// Gives a file with the result: models that take images or PDF files see these. Alone it is the result; beside a value, that is
    /// the member `result`.
    pub fn give_file(&self, file: &Blob) {
        self.files.push(file);
    }
}

/// Where a model of the app's own puts its answer.
#[derive(Clone, Debug)]
pub struct Answer(Function);

impl Answer {
    /// The next piece of text.
    pub fn text(&self, text: &str) {
        let _ = self.0.call1(&JsValue::UNDEFINED, &text.into());
    }

    /// The next chunk of OpenAI's chat format, for answers that call tools.
    pub fn chunk(&self, chunk: &Value) {
        let _ = self.0.call2(&JsValue::UNDEFINED, &JsValue::UNDEFINED, &json::json(chunk).into());
    }
}

type Task = Pin<Box<dyn Future<Output = Result<Value, String>>>>;

/// The function of a tool.
pub(super) fn tool<F>(execute: F) -> Function
where
    F: AsyncFn(Value, ToolContext) -> Result<Value, String> + 'static,
{
    let execute = Rc::new(execute);
    of_kind("tool", move |mut input, tell, files| {
        let execute = Rc::clone(&execute);
        let text = |input: &Value, name: &str| input.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let (tool_call_id, run_id) = (text(&input, "toolCallId").unwrap_or_default(), text(&input, "runId"));
        let args = input.get_mut("args").map(Value::take).unwrap_or_default();
        Box::pin(async move { execute(args, ToolContext { tool_call_id, run_id, tell, files }).await })
    })
}

/// A function that is asked something.
pub(super) fn ask<F>(give: F) -> Function
where
    F: AsyncFn(Value) -> Result<Value, String> + 'static,
{
    let give = Rc::new(give);
    of_kind("ask", move |input, _, _| {
        let give = Rc::clone(&give);
        Box::pin(async move { give(input).await })
    })
}

/// A model of the app's own.
pub(super) fn model<F>(stream: F) -> Function
where
    F: AsyncFn(Value, Answer) -> Result<(), String> + 'static,
{
    let stream = Rc::new(stream);
    of_kind("model", move |request, tell, _| {
        let stream = Rc::clone(&stream);
        Box::pin(async move { stream(request, Answer(tell)).await.map(|()| Value::Null) })
    })
}

/// A function that begins a task with what it was given, and gives `[json, files]`.
fn of_kind(kind: &str, begin: impl Fn(Value, Function, Array) -> Task + 'static) -> Function {
    let begin = move |input: String, signal: Option<AbortSignal>, tell: JsValue| {
        let (files, tell) = (Array::new(), tell.dyn_into().unwrap_or_default());
        let task = begin(json::parse(&input).unwrap_or_default(), tell, files.clone());
        promised(task, signal, files)
    };
    made(kind, &function(Closure::<dyn Fn(String, Option<AbortSignal>, JsValue) -> Promise>::new(begin)))
}

/// Whether a call is still wanted.
#[derive(Default)]
struct Wanted {
    given_up: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// The promise of what a task gives. It is not settled any more when the call is given up.
fn promised(mut task: Task, signal: Option<AbortSignal>, files: Array) -> Promise {
    let wanted = Rc::new(Wanted::default());
    if let Some(signal) = signal {
        wanted.given_up.set(signal.aborted());
        let told = Rc::clone(&wanted);
        let give_up = Closure::once_into_js(move || {
            told.given_up.set(true);
            if let Some(waker) = told.waker.take() {
                waker.wake();
            }
        });
        // A signal takes any listener.
        let _ = signal.add_event_listener_with_callback("abort", give_up.unchecked_ref());
    }
    let mut settles = None;
    let promise = Promise::new(&mut |resolve, reject| settles = Some((resolve, reject)));
    let Some((resolve, reject)) = settles else { return promise };
    spawn_local(async move {
        let result = poll_fn(|context| {
            if wanted.given_up.get() {
                return Poll::Ready(None);
            }
            *wanted.waker.borrow_mut() = Some(context.waker().clone());
            task.as_mut().poll(context).map(Some)
        });
        let (settle, value) = match result.await {
            None => return,
            Some(Ok(value)) => {
                let json = if value.is_null() { JsValue::UNDEFINED } else { json::json(&value).into() };
                (resolve, Array::of2(&json, &files).into())
            }
            Some(Err(error)) => (reject, JsValue::from(error)),
        };
        let _ = settle.call1(&JsValue::UNDEFINED, &value);
    });
    promise
}
