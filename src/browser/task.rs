//! Tasks and callbacks. All of one type: for every other the module gets a copy of what runs it.

use js_sys::Function;
use std::pin::Pin;
use wasm_bindgen::prelude::*;

/// Runs a task beside everything else.
pub(super) fn start(task: impl Future<Output = ()> + 'static) {
    let task: Pin<Box<dyn Future<Output = ()>>> = Box::pin(task);
    wasm_bindgen_futures::spawn_local(task);
}

/// The promise of what a task gives.
pub fn promise(task: impl Future<Output = Result<JsValue, JsValue>> + 'static) -> js_sys::Promise {
    let task: Pin<Box<dyn Future<Output = Result<JsValue, JsValue>>>> = Box::pin(task);
    wasm_bindgen_futures::future_to_promise(task)
}

/// A function for JavaScript to call once. It is gone after that, or with what holds it.
pub(super) fn once(act: impl FnOnce() + 'static) -> Function {
    let act: Box<dyn FnOnce()> = Box::new(act);
    Closure::once_into_js(act).unchecked_into()
}
