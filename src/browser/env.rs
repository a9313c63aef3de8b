//! The functions of `/js/host/env.js`.

use crate::rooms::Room;
use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;
use web_sys::AbortController;

#[wasm_bindgen]
extern "C" {
    /// What one host holds on the JS side.
    #[derive(Clone, Debug)]
    pub type Scope;
}

#[wasm_bindgen(module = "/js/host/env.js")]
extern "C" {
    #[wasm_bindgen(js_name = createScope)]
    fn create_scope() -> Scope;
    pub(super) fn now(scope: &Scope) -> f64;
    #[wasm_bindgen(js_name = hasLocks)]
    pub(super) fn has_locks() -> bool;
    pub(super) fn hold(scope: &Scope, name: &str, steal: bool, lost: Option<&Function>) -> Promise;
    pub(super) fn held(name: &str) -> Promise;
    pub(super) fn release(scope: &Scope, name: &str);
    pub(super) fn aborter(scope: &Scope) -> AbortController;
    pub(super) fn done(scope: &Scope, controller: &AbortController);
    pub(super) fn after(scope: &Scope, ms: f64, callback: &Function) -> u32;
    pub(super) fn cancel(scope: &Scope, id: u32);
    #[wasm_bindgen(catch, js_name = hasDatabase)]
    pub(super) async fn has_database(name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    pub(super) async fn estimate() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    pub(super) async fn persist() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    pub(super) async fn room(scope: &Scope, name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = isOnline)]
    pub(super) fn is_online() -> bool;
    #[wasm_bindgen(catch)]
    pub(super) async fn online(scope: &Scope) -> Result<JsValue, JsValue>;
    pub(super) fn fresh(scope: &Scope) -> String;
    pub(super) fn title(scope: &Scope) -> String;
    pub(super) fn dispose(scope: &Scope);
}

impl Scope {
    /// A scope that holds nothing yet.
    pub fn new() -> Scope {
        create_scope()
    }
}

/// Brings a room, or says why it does not come.
pub(super) async fn bring(scope: &Scope, which: Room) -> Result<(), String> {
    match room(scope, which.as_str()).await {
        Ok(_) => Ok(()),
        Err(error) => Err(js_sys::Error::from(error).message().into()),
    }
}

impl Default for Scope {
    fn default() -> Self {
        Scope::new()
    }
}
