//! What the npm package exports to its scripts. An app in Rust must not get it: every export of a crate ends up in the app's own
//! module.
//!
//! Promises: exported handles are cheap clones with `&self` methods only. A panic reaches every client before the module stops.

use super::host::{self, Received, tell};
use crate::browser::{self, Deliver};
use crate::error::{Code, ErrorInfo};
use js_sys::{Function, Promise};
use std::cell::RefCell;
use talc::wasm::{WasmDynamicTalc, new_wasm_dynamic_allocator};
use wasm_bindgen::prelude::*;

/// As fast as Rust's own and a third of its size.
#[global_allocator]
static ALLOCATOR: WasmDynamicTalc = new_wasm_dynamic_allocator();

thread_local! {
    /// Where the clients of this instance listen: they get the one message that follows a panic.
    static CLIENTS: RefCell<Vec<Function>> = const { RefCell::new(Vec::new()) };
}

/// A host: one workspace in this instance of the module.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Host(host::Host);

#[wasm_bindgen]
impl Host {
    /// Takes a message of the client.
    pub fn receive(&self, message: &Received) {
        self.0.receive(message);
    }
}

/// Opens a workspace, as [`host::Host::open`] says.
#[wasm_bindgen]
pub fn open_host(name: String, options: JsValue, deliver: Function) -> Promise {
    browser::promise(async move {
        CLIENTS.with_borrow_mut(|clients| clients.push(deliver.clone()));
        let client = deliver.clone();
        let forget = move || CLIENTS.with_borrow_mut(|clients| clients.retain(|other| *other != client));
        let forgets = forget.clone();
        let opened = host::Host::open(name, options, deliver, forget).await;
        opened.map(|host| Host(host).into()).inspect_err(|_| forgets())
    })
}

/// Deletes a workspace's data, as [`host::remove`] says.
#[wasm_bindgen]
pub fn delete_workspace(name: String, storage: Option<String>) -> Promise {
    host::remove(name, storage)
}

/// Breaks the module down, as a bug in it would: for tests of what a page does then.
#[wasm_bindgen]
#[allow(clippy::panic, reason = "that is what it is for")]
pub fn break_down() {
    panic!("break_down was called");
}

/// Panics report to the console and to every client; the module is not called again after that.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|info| {
        browser::break_down();
        console_error_panic_hook::hook(info);
        let error = ErrorInfo::new(Code::Panicked, "the module broke down; what was stored is safe")
            .hint("call startAgent again: a fresh instance goes on from what is stored");
        let clients = CLIENTS
            .try_with(|clients| clients.try_borrow_mut().map(|mut clients| std::mem::take(&mut *clients)));
        for client in clients.into_iter().flatten().flatten() {
            tell(&client, &Deliver::Closed(Some(error.clone())));
        }
    }));
}
