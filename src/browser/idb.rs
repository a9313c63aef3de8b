//! IndexedDB, by hand: one short transaction a commit, all of its requests issued at once.
//!
//! Promises: a commit counts when the transaction is complete, not when a request succeeded; a failed
//! expectation aborts it whole; a connection that was lost is opened again and the transaction tried once
//! more; opening gives up with a code in bounded time.

use super::env::{self, Scope};
use super::task;
use super::vault::vault_key;
use crate::list::Listed;
use crate::ports::{Commit, Durability, Key, Part, Read, Rows, StoreError, Table, Write};
use js_sys::{Array, Function, Object, Promise, Reflect};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    DomException, IdbDatabase, IdbFactory, IdbKeyRange, IdbObjectStore, IdbOpenDbRequest, IdbRequest,
    IdbTransaction, IdbVersionChangeEvent,
};

#[wasm_bindgen]
extern "C" {
    /// An `IDBDatabase` with the options of `transaction`, which web-sys counts as unstable.
    type Database;
    #[wasm_bindgen(method, catch, js_name = transaction)]
    fn begin(
        this: &Database,
        tables: &Array,
        mode: &str,
        options: &Object,
    ) -> Result<IdbTransaction, JsValue>;

    /// An `IDBTransaction` whose `commit` may throw.
    type Committing;
    #[wasm_bindgen(method, catch)]
    fn commit(this: &Committing) -> Result<(), JsValue>;
}

/// The database's version. It changes only when a table is added; the format of rows is in `meta`.
const VERSION: u32 = 3;
/// What is no text: the key of the vault. Its name is in `/js/vault.js` too.
const VAULT: &str = "vault";
/// How long another tab may keep the database from being opened or deleted, in milliseconds.
const BLOCKED_MS: f64 = 5_000.0;
/// The same where no `blocked` event tells of it: who opens behind a deletion that waits hears nothing. A
/// browser that is busy may need many seconds for its first look at the disk.
const SILENT_MS: f64 = 30_000.0;

/// One database.
pub(super) struct Idb {
    name: String,
    scope: Scope,
    /// The connection, or the promise of one: never two at a time.
    opening: RefCell<Option<Promise>>,
    open: RefCell<Option<Open>>,
    /// Closed for good: nothing may open it again, a deleted database least of all.
    closed: Cell<bool>,
    gone: Rc<dyn Fn(bool)>,
}

struct Open {
    database: IdbDatabase,
    _version_change: Closure<dyn FnMut(IdbVersionChangeEvent)>,
    _close: Closure<dyn FnMut()>,
}

impl std::fmt::Debug for Idb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Why a try did not work: told to the caller, or tried again with a new connection.
enum Trouble {
    Lost(String),
    Told(StoreError),
}

impl Idb {
    pub fn new(name: String, scope: Scope, gone: Rc<dyn Fn(bool)>) -> Rc<Idb> {
        let (opening, open) = (RefCell::new(None), RefCell::new(None));
        Rc::new(Idb { name, scope, opening, open, closed: Cell::new(false), gone })
    }

    /// `files`: the bytes of those that it puts.
    pub async fn commit(self: &Rc<Self>, commit: &Commit, files: &Files) -> Result<(), StoreError> {
        for last in [false, true] {
            let database = self.database().await?;
            match try_commit(&database, commit, files).await {
                Ok(()) => return Ok(()),
                Err(Trouble::Told(error)) => return Err(error),
                Err(Trouble::Lost(why)) if last => return Err(StoreError::Failed(why)),
                Err(Trouble::Lost(_)) => self.let_go(),
            }
        }
        Ok(())
    }

    /// Hands the writes over, so that the browser finishes them without this page.
    pub fn write_at_once(&self, commit: &Commit) {
        let Some(database) = self.open.borrow().as_ref().map(|open| open.database.clone()) else { return };
        let tables = commit.writes.iter().map(Write::table);
        if let Ok(transaction) = begin(&database, tables, "readwrite", false)
            && issue(&transaction, commit, &[]).is_ok()
        {
            finish(&transaction);
        }
    }

    pub async fn read(self: &Rc<Self>, reads: &[Read]) -> Result<Vec<Rows>, StoreError> {
        for last in [false, true] {
            let database = self.database().await?;
            match try_read(&database, reads).await {
                Ok(rows) => return Ok(rows),
                Err(Trouble::Told(error)) => return Err(error),
                Err(Trouble::Lost(why)) if last => return Err(StoreError::Failed(why)),
                Err(Trouble::Lost(_)) => self.let_go(),
            }
        }
        Ok(Vec::new())
    }

    /// The bytes of a file, if there is one of this id: a `Blob`.
    pub async fn file(self: &Rc<Self>, id: &str) -> Result<Option<JsValue>, StoreError> {
        for last in [false, true] {
            let database = self.database().await?;
            match try_file(&database, id).await {
                Ok(file) => return Ok(Some(file).filter(|file| !file.is_undefined())),
                Err(Trouble::Told(error)) => return Err(error),
                Err(Trouble::Lost(why)) if last => return Err(StoreError::Failed(why)),
                Err(Trouble::Lost(_)) => self.let_go(),
            }
        }
        Ok(None)
    }

    /// The key of the vault, or `undefined`; `made`: what it is if there is none, or `undefined`.
    pub async fn vault_key(self: &Rc<Self>, made: &JsValue) -> Result<JsValue, StoreError> {
        for last in [false, true] {
            let database = self.database().await?;
            match vault_key(&database, made).await.map_err(|error| trouble(error.dyn_ref())) {
                Ok(key) => return Ok(key),
                Err(Trouble::Told(error)) => return Err(error),
                Err(Trouble::Lost(why)) if last => return Err(StoreError::Failed(why)),
                Err(Trouble::Lost(_)) => self.let_go(),
            }
        }
        Ok(JsValue::UNDEFINED)
    }

    pub fn close(&self) {
        self.closed.set(true);
        self.let_go();
    }

    /// Forgets the connection; the next request opens another.
    fn let_go(&self) {
        let open = self.open.borrow_mut().take();
        if let Some(open) = open {
            open.database.set_onversionchange(None);
            open.database.set_onclose(None);
            open.database.close();
            env::disown(&self.scope, &open.database);
        }
    }

    async fn database(self: &Rc<Self>) -> Result<IdbDatabase, StoreError> {
        let closed = || Err(StoreError::Failed("the workspace is closed".into()));
        if self.closed.get() {
            return closed();
        }
        if let Some(open) = &*self.open.borrow() {
            return Ok(open.database.clone());
        }
        let waiting = self.opening.borrow().clone();
        let promise = match waiting {
            Some(promise) => promise,
            None => {
                let promise = open(&self.name, &self.scope)?;
                *self.opening.borrow_mut() = Some(promise.clone());
                promise
            }
        };
        let opened = JsFuture::from(promise).await;
        self.opening.borrow_mut().take();
        let database: IdbDatabase = opened.map_err(|error| open_error(&error))?.unchecked_into();
        if self.closed.get() {
            database.close();
            return closed();
        }
        if self.open.borrow().is_none() {
            self.keep(&database);
        }
        Ok(database)
    }

    fn keep(self: &Rc<Self>, database: &IdbDatabase) {
        let gone = Rc::clone(&self.gone);
        let version_change =
            Closure::<dyn FnMut(IdbVersionChangeEvent)>::new(move |event: IdbVersionChangeEvent| {
                gone(event.new_version().is_none());
            });
        let this = Rc::downgrade(self);
        let close = Closure::<dyn FnMut()>::new(move || {
            if let Some(this) = this.upgrade() {
                this.let_go();
            }
        });
        database.set_onversionchange(Some(version_change.as_ref().unchecked_ref()));
        database.set_onclose(Some(close.as_ref().unchecked_ref()));
        env::adopt(&self.scope, database);
        let open = Open { database: database.clone(), _version_change: version_change, _close: close };
        *self.open.borrow_mut() = Some(open);
    }
}

/// The bytes of files, by the keys of their rows.
type Files = [(Key, JsValue)];

async fn try_commit(database: &IdbDatabase, commit: &Commit, files: &Files) -> Result<(), Trouble> {
    let tables =
        commit.expect.iter().map(|expect| expect.table).chain(commit.writes.iter().map(Write::table));
    let strict = commit.durability == Durability::Strict;
    let transaction = begin(database, tables, "readwrite", strict)?;
    let issued = issue(&transaction, commit, files);
    let ended = JsFuture::from(end_of(&transaction));
    let Ok(expected) = issued else {
        let _ = transaction.abort();
        let _ = ended.await;
        return Err(Trouble::Told(StoreError::Failed("a request could not be made".into())));
    };
    // Drafts must outlive a page that goes away meanwhile; nothing else is written without a question.
    if commit.writes.iter().all(|write| write.table() == Table::Drafts) {
        finish(&transaction);
    }
    // The puts are on their way already; a wrong row takes them all back.
    let mut conflict = None;
    for (request, expect) in expected.into_iter().zip(&commit.expect) {
        let Ok(found) = request.await else { break };
        if found.as_string() != expect.value {
            conflict = Some(StoreError::Conflict(expect.table, expect.key.clone()));
            let _ = transaction.abort();
            break;
        }
    }
    match (ended.await, conflict) {
        (_, Some(conflict)) => Err(Trouble::Told(conflict)),
        (Ok(_), None) => Ok(()),
        (Err(_), None) => Err(trouble(transaction.error().as_ref())),
    }
}

/// Issues every request of a commit: first the rows that are expected, then the writes.
fn issue(transaction: &IdbTransaction, commit: &Commit, files: &Files) -> Result<Vec<JsFuture>, JsValue> {
    let mut expected = Vec::new();
    for expect in &commit.expect {
        let request = transaction.object_store(expect.table.name())?.get(&key(&expect.key))?;
        expected.push(result_of(&request));
    }
    for write in &commit.writes {
        let store: IdbObjectStore = transaction.object_store(write.table().name())?;
        match write {
            Write::Put { table: Table::Files, key: parts, .. } => {
                let file = files.iter().find(|(of, _)| of == parts).ok_or(JsValue::UNDEFINED)?;
                store.put_with_key(&file.1, &key(parts))?;
            }
            Write::Put { key: parts, value, .. } => {
                store.put_with_key(&value.as_str().into(), &key(parts))?;
            }
            Write::DeletePrefix { prefix, .. } if prefix.is_empty() => {
                store.clear()?;
            }
            Write::DeletePrefix { prefix, .. } => {
                store.delete(&range(prefix, None)?.into())?;
            }
        }
    }
    Ok(expected)
}

async fn try_file(database: &IdbDatabase, id: &str) -> Result<JsValue, Trouble> {
    let transaction = begin(database, std::iter::once(Table::Files), "readonly", false)?;
    let request = || transaction.object_store(Table::Files.name())?.get(&key(&vec![id.into()]));
    let request = request().map_err(|error| Trouble::Told(StoreError::Failed(message_of(&error))))?;
    result_of(&request).await.map_err(|_| trouble(transaction.error().as_ref()))
}

/// Commits by word: what is issued is stored, whether or not the page lives to hear of it.
fn finish(transaction: &IdbTransaction) {
    let _ = transaction.unchecked_ref::<Committing>().commit();
}

async fn try_read(database: &IdbDatabase, reads: &[Read]) -> Result<Vec<Rows>, Trouble> {
    let tables = reads.iter().map(|read| read.table);
    let transaction = begin(database, tables, "readonly", false)?;
    let mut requests = Vec::new();
    for read in reads {
        let request = || -> Result<[JsFuture; 2], JsValue> {
            let store = transaction.object_store(read.table.name())?;
            let range = match (read.prefix.is_empty(), read.from) {
                (true, None) => JsValue::UNDEFINED,
                _ => range(&read.prefix, read.from)?.into(),
            };
            let keys = store.get_all_keys_with_key(&range)?;
            // Of files the keys will do.
            let values = match read.table {
                Table::Files => store.get_all_keys_with_key(&range)?,
                _ => store.get_all_with_key(&range)?,
            };
            Ok([result_of(&keys), result_of(&values)])
        };
        requests.push(request().map_err(|error| Trouble::Told(StoreError::Failed(message_of(&error))))?);
    }
    let mut all = Vec::new();
    for [keys, values] in requests {
        let lost = |_| trouble(transaction.error().as_ref());
        let keys: Array = keys.await.map_err(lost)?.unchecked_into();
        let values: Array = values.await.map_err(lost)?.unchecked_into();
        let rows = keys.iter().zip(values.iter());
        let text = |value: JsValue| value.as_string().or(value.is_array().then(String::new));
        all.push(rows.filter_map(|(key, value)| Some((parts(&key)?, text(value)?))).list());
    }
    Ok(all)
}

fn begin(
    database: &IdbDatabase,
    tables: impl Iterator<Item = Table>,
    mode: &str,
    strict: bool,
) -> Result<IdbTransaction, Trouble> {
    let names: Array = tables.map(|table| JsValue::from(table.name())).collect();
    let options = Object::new();
    let durability = if strict { "strict" } else { "relaxed" };
    let _ = Reflect::set(&options, &"durability".into(), &durability.into());
    let database: &Database = database.unchecked_ref();
    database.begin(&names, mode, &options).map_err(|error| trouble(error.dyn_ref::<DomException>()))
}

/// Resolves when the transaction is complete, rejects when it was aborted.
fn end_of(transaction: &IdbTransaction) -> Promise {
    Promise::new(&mut |resolve, reject| {
        transaction.set_oncomplete(Some(&resolve));
        transaction.set_onabort(Some(&reject));
    })
}

/// The request's result. Somebody listens from the start: a request that nobody waits for any more may fail
/// without the page hearing of an unhandled rejection.
fn result_of(request: &IdbRequest) -> JsFuture {
    let source = request.clone();
    JsFuture::from(Promise::new(&mut |resolve, reject| {
        let source = source.clone();
        let success = task::once(move || {
            let _ = resolve.call1(&JsValue::UNDEFINED, &source.result().unwrap_or(JsValue::UNDEFINED));
        });
        request.set_onsuccess(Some(&success));
        request.set_onerror(Some(&reject));
    }))
}

fn open(name: &str, scope: &Scope) -> Result<Promise, StoreError> {
    let factory = factory()?;
    let request =
        factory.open_with_u32(name, VERSION).map_err(|error| StoreError::Unavailable(message_of(&error)))?;
    let upgrading = request.clone();
    let upgrade = task::once(move || {
        if let Ok(database) = upgrading.result() {
            let database: IdbDatabase = database.unchecked_into();
            // What an earlier version has made already stays.
            for name in Table::ALL.iter().map(|table| table.name()).chain([VAULT]) {
                let _ = database.create_object_store(name);
            }
        }
    });
    request.set_onupgradeneeded(Some(&upgrade));
    Ok(bounded(&request, scope))
}

/// Deletes a database.
pub(super) async fn delete_database(name: &str) -> Result<(), StoreError> {
    let request =
        factory()?.delete_database(name).map_err(|error| StoreError::Unavailable(message_of(&error)))?;
    JsFuture::from(bounded(&request, &Scope::new())).await.map(|_| ()).map_err(|error| open_error(&error))
}

fn factory() -> Result<IdbFactory, StoreError> {
    let factory = Reflect::get(&js_sys::global(), &"indexedDB".into()).unwrap_or(JsValue::UNDEFINED);
    if factory.is_undefined() || factory.is_null() {
        return Err(StoreError::Unavailable("this browser or context has no IndexedDB".into()));
    }
    Ok(factory.unchecked_into())
}

/// The outcome of an open or delete request; rejects with the text `blocked` when another tab is in the way
/// for too long. A connection that comes after that is closed.
fn bounded(request: &IdbOpenDbRequest, scope: &Scope) -> Promise {
    let (request, scope) = (request.clone(), scope.clone());
    Promise::new(&mut |resolve, reject| {
        let late = Rc::new(Cell::new(false));
        let timer = give_up_after(SILENT_MS, &scope, &late, &reject);
        let was_late = Rc::clone(&late);
        let (source, timers) = (request.clone(), scope.clone());
        let success = task::once(move || {
            env::cancel(&timers, timer);
            let result = source.result().unwrap_or(JsValue::UNDEFINED);
            match result.dyn_ref::<IdbDatabase>() {
                Some(database) if was_late.get() => database.close(),
                _ => drop(resolve.call1(&JsValue::UNDEFINED, &result)),
            }
        });
        let (timers, refuse) = (scope.clone(), reject.clone());
        let blocked = task::once(move || {
            give_up_after(BLOCKED_MS, &timers, &late, &refuse);
        });
        let (source, timers) = (request.clone(), scope.clone());
        let failed = task::once(move || {
            env::cancel(&timers, timer);
            let error = source.error().ok().flatten().map_or(JsValue::UNDEFINED, JsValue::from);
            let _ = reject.call1(&JsValue::UNDEFINED, &error);
        });
        request.set_onsuccess(Some(&success));
        request.set_onerror(Some(&failed));
        request.set_onblocked(Some(&blocked));
    })
}

fn give_up_after(ms: f64, scope: &Scope, late: &Rc<Cell<bool>>, reject: &Function) -> u32 {
    let (late, reject) = (Rc::clone(late), reject.clone());
    let give_up = task::once(move || {
        late.set(true);
        let _ = reject.call1(&JsValue::UNDEFINED, &"blocked".into());
    });
    env::after(scope, ms, &give_up)
}

fn open_error(error: &JsValue) -> StoreError {
    if error.as_string().as_deref() == Some("blocked") {
        return StoreError::Blocked;
    }
    match error.dyn_ref::<DomException>().map(DomException::name).as_deref() {
        Some("VersionError") => StoreError::Newer,
        Some("QuotaExceededError") => StoreError::Quota,
        _ => StoreError::Unavailable(message_of(error)),
    }
}

/// What an aborted transaction, or one that could not begin, means.
fn trouble(error: Option<&DomException>) -> Trouble {
    let Some(error) = error else { return Trouble::Lost("the connection is closing".into()) };
    match error.name().as_str() {
        "QuotaExceededError" => Trouble::Told(StoreError::Quota),
        // Safari loses its storage process in the background; a connection closes when its tab freezes.
        "InvalidStateError" | "UnknownError" | "AbortError" => Trouble::Lost(error.message()),
        name => Trouble::Told(StoreError::Failed([name, ": ", &error.message()].concat())),
    }
}

fn message_of(error: &JsValue) -> String {
    let message = Reflect::get(error, &"message".into()).ok().and_then(|message| message.as_string());
    message.filter(|message| !message.is_empty()).unwrap_or_else(|| "for an unknown reason".into())
}

fn key(parts: &Key) -> JsValue {
    let array = Array::new();
    for part in parts {
        array.push(&match part {
            Part::Number(number) => JsValue::from_f64(*number as f64),
            Part::Text(text) => text.as_str().into(),
        });
    }
    array.into()
}

fn parts(key: &JsValue) -> Option<Key> {
    let part = |part: JsValue| match part.as_f64() {
        Some(number) => Some(Part::Number(number as u64)),
        None => part.as_string().map(Part::Text),
    };
    key.dyn_ref::<Array>()?.iter().map(part).whole()
}

/// All keys that begin with these parts, and go on with a number of at least `from`.
fn range(prefix: &Key, from: Option<u64>) -> Result<IdbKeyRange, JsValue> {
    let mut lower = prefix.clone();
    lower.extend(from.map(Part::Number));
    let upper: Array = key(prefix).unchecked_into();
    // A text sorts after every number, an array after every text.
    upper.push(&if from.is_some() { JsValue::from("") } else { Array::new().into() });
    IdbKeyRange::bound_with_lower_open_and_upper_open(&key(&lower), &upper, false, true)
}
