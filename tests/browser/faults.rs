//! The functions of `faults.js`.

use js_sys::{Array, Function};
use lodger::browser::Scope;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/tests/browser/faults.js")]
extern "C" {
    pub async fn task();
    /// The page goes away, as far as its listeners know.
    pub fn hide();

    #[wasm_bindgen(catch)]
    pub async fn connect(name: &str, version: Option<u32>, stubborn: bool) -> Result<JsValue, JsValue>;
    pub fn close(database: &JsValue);
    async fn databases() -> JsValue;
    pub fn cut(scope: &Scope);
    pub fn connections(scope: &Scope) -> u32;
    async fn stall(name: &str) -> JsValue;

    pub async fn early(name: &str);
    async fn vault(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = vaultRow)]
    fn vault_row(vault: &JsValue, name: &str) -> Option<String>;
    #[wasm_bindgen(js_name = vaultText)]
    async fn vault_text(vault: &JsValue, row: &str, name: &str) -> JsValue;
    #[wasm_bindgen(js_name = vaultKeys)]
    fn vault_keys(vault: &JsValue) -> u32;
    #[wasm_bindgen(js_name = putVaultRow)]
    pub async fn put_vault_row(database: &str, name: &str, value: &str);
    async fn exportable(vault: &JsValue) -> JsValue;
    pub fn decoded(row: &str) -> String;
    #[wasm_bindgen(js_name = withoutCipher)]
    fn without_cipher() -> Function;

    #[wasm_bindgen(js_name = watchWrites)]
    fn js_watch_writes(abort: u32, error: Option<&str>) -> Patch;
    #[wasm_bindgen(js_name = watchRejections)]
    fn js_watch_rejections() -> Patch;
    fn server() -> Patch;

    /// A part of the platform that was replaced.
    type Patch;
    #[wasm_bindgen(method, getter)]
    fn seen(this: &Patch) -> Array;
    #[wasm_bindgen(method, getter)]
    fn restore(this: &Patch) -> Function;

    #[wasm_bindgen(js_name = withoutIndexedDb)]
    fn without_indexed_db() -> Function;
    #[wasm_bindgen(js_name = withoutLocks)]
    fn without_locks() -> Function;
    #[wasm_bindgen(js_name = smallDisk)]
    async fn small_disk(quota: f64) -> JsValue;
    fn hurry() -> Function;
    fn freeze() -> Function;

    async fn held() -> JsValue;
    async fn steal(name: &str) -> JsValue;

    pub type Request;
    #[wasm_bindgen(method, getter)]
    pub fn url(this: &Request) -> String;
    #[wasm_bindgen(method, getter)]
    pub fn headers(this: &Request) -> JsValue;
    #[wasm_bindgen(method, getter)]
    pub fn aborted(this: &Request) -> bool;
    pub fn answer(request: &Request, status: u16);
    pub fn write(request: &Request, text: &str);
    pub fn end(request: &Request);
}

fn texts(array: JsValue) -> Vec<String> {
    Array::from(&array).iter().map(|text| text.as_string().unwrap_or_default()).collect()
}

/// Calls a function of JS at the end of a scope, or before.
pub struct Undo(Function);

impl Undo {
    fn new(function: JsValue) -> Undo {
        Undo(function.unchecked_into())
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = self.0.call0(&JsValue::UNDEFINED);
    }
}

/// What a replaced part of the platform has seen; dropped, it is put back.
pub struct Watch {
    patch: Patch,
    _undo: Undo,
}

impl Watch {
    fn new(patch: Patch) -> Watch {
        Watch { _undo: Undo(patch.restore()), patch }
    }

    pub fn seen(&self) -> Vec<String> {
        texts(self.patch.seen().into())
    }
}

/// Sees how sure each writing transaction is to be, and aborts the first of them.
pub fn watch_writes(abort: u32) -> Watch {
    Watch::new(js_watch_writes(abort, None))
}

/// Aborts every writing transaction with an error of this name.
pub fn failing_writes(error: &str) -> Watch {
    Watch::new(js_watch_writes(u32::MAX, Some(error)))
}

pub fn watch_rejections() -> Watch {
    Watch::new(js_watch_rejections())
}

/// A model server in place of the network.
pub struct Server(Watch);

impl Server {
    pub fn start() -> Server {
        Server(Watch::new(server()))
    }

    pub fn requests(&self) -> Vec<Request> {
        self.0.patch.seen().iter().map(JsCast::unchecked_into).collect()
    }
}

pub async fn database_exists(workspace: &str) -> bool {
    texts(databases().await).contains(&format!("lodger:{workspace}"))
}

pub async fn lock_is_held(name: &str) -> bool {
    texts(held().await).iter().any(|held| held == name)
}

/// Waits until a lock is free: the browser hears of a release later than the page.
pub async fn lock_is_free(name: &str) {
    while lock_is_held(name).await {}
}

/// Keeps the writes of a workspace waiting.
pub async fn stalled(workspace: &str) -> Undo {
    Undo::new(stall(&format!("lodger:{workspace}")).await)
}

pub async fn stolen(lock: &str) -> Undo {
    Undo::new(steal(lock).await)
}

pub fn no_indexed_db() -> Undo {
    Undo(without_indexed_db())
}

pub fn no_locks() -> Undo {
    Undo(without_locks())
}

pub fn hurried() -> Undo {
    Undo(hurry())
}

/// No timer fires that is set from now on.
pub fn frozen() -> Undo {
    Undo(freeze())
}

/// `None`: this browser has no storage buckets.
pub async fn disk_of(bytes: f64) -> Option<Undo> {
    let undo = small_disk(bytes).await;
    undo.is_function().then(|| Undo::new(undo))
}

/// What the database of a workspace has of the vault.
pub struct Vault(JsValue);

impl Vault {
    pub async fn of(workspace: &str) -> Vault {
        Vault(vault(&format!("lodger:{workspace}")).await)
    }

    pub fn row(&self, name: &str) -> Option<String> {
        vault_row(&self.0, name)
    }

    /// What the row of a name says if it is taken for that of another; `None`: nothing.
    pub async fn text(&self, row: &str, name: &str) -> Option<String> {
        vault_text(&self.0, row, name).await.as_string()
    }

    /// How many keys of its own it has.
    pub fn keys(&self) -> u32 {
        vault_keys(&self.0)
    }

    /// How many of these a script can take away.
    pub async fn exportable(&self) -> f64 {
        exportable(&self.0).await.as_f64().unwrap()
    }
}

pub fn no_cipher() -> Undo {
    Undo(without_cipher())
}
