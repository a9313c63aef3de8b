//! IndexedDB, by `/js/host/idb.js`: commits and reads as arrays, and back. And the marker of a database, by
//! `/js/host/marker.js`.
//!
//! Promises: what fails comes out typed. Leaves to others: transactions and connections (`/js/host/idb.js`), what a commit and
//! a read mean (`ports`), what a marker says (`harness/opening`).

use super::env::Scope;
use crate::harness::{Found, Marker};
use crate::json::{self, Reader};
use crate::list::Listed;
use crate::ports::{Commit, Durability, Key, Part, Read, Rows, StoreError, Table, Write};
use js_sys::{Array, Uint8Array};
use serde_json::Value;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A connection, which opens when it is used.
    #[derive(Debug)]
    type Connection;
}

#[wasm_bindgen(module = "/js/host/idb.js")]
extern "C" {
    #[wasm_bindgen(js_name = createConnection)]
    fn create_connection(scope: &Scope, name: &str, tables: &Array, gone: &JsValue) -> Connection;
    fn close(connection: &Connection);
    #[wasm_bindgen(catch)]
    async fn commit(
        connection: &Connection,
        expected: &Array,
        writes: &Array,
        strict: bool,
    ) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = commitAtOnce)]
    fn commit_at_once(connection: &Connection, writes: &Array);
    #[wasm_bindgen(catch)]
    async fn read(connection: &Connection, reads: &Array) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn found(connection: &Connection, keys: &Array) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn sizes(connection: &Connection) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn file(connection: &Connection, id: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = keptKey)]
    async fn kept_key(connection: &Connection, made: &JsValue, place: u32) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = deleteDatabase)]
    async fn delete(name: &str) -> Result<JsValue, JsValue>;
}

#[wasm_bindgen(module = "/js/host/marker.js")]
extern "C" {
    fn mark(connection: &Connection);
}

// What `/js/host/idb.js` imports for itself. A crate that uses this one gets the modules that are named here, and no others.
#[wasm_bindgen(module = "/js/host/press.js")]
extern "C" {
    fn pressed(text: &str);
}

#[wasm_bindgen(module = "/js/host/apart.js")]
extern "C" {
    fn apart(store: &JsValue) -> JsValue;
}

#[wasm_bindgen(module = "/js/host/sizes.js")]
extern "C" {
    #[wasm_bindgen(js_name = sizes)]
    fn counted(ask: &JsValue);
}

#[wasm_bindgen(module = "/js/protocol/error.js")]
extern "C" {
    fn late(coming: &JsValue) -> JsValue;
}

/// What stands between the texts of rows: `/js/host/idb.js`.
const BETWEEN: char = '\0';

/// Why a connection has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Another connection wants to upgrade the database. It waits for this one.
    Newer,
    /// Another connection deletes it.
    Deleted,
    /// It is not there any more, and nobody has said so.
    Lost,
}

impl Gone {
    /// By its number in `/js/host/idb.js`.
    fn numbered(number: u32) -> Gone {
        match number {
            0 => Gone::Newer,
            1 => Gone::Deleted,
            _ => Gone::Lost,
        }
    }
}

/// One database.
#[derive(Debug)]
pub(super) struct Idb {
    connection: Connection,
    /// The names of the tables as JavaScript has them, in the order of [`Table::ALL`].
    tables: Array,
    /// What JavaScript calls as long as this is here.
    _gone: Closure<dyn Fn(u32)>,
    /// How sure each commit is, drafts excepted.
    durability: Durability,
}

impl Idb {
    pub fn new(name: &str, durability: Durability, scope: &Scope, gone: Rc<dyn Fn(Gone)>) -> Rc<Idb> {
        let tables = Table::ALL.iter().map(|table| JsValue::from(table.name())).collect::<Array>();
        let gone = Closure::<dyn Fn(u32)>::new(move |why| gone(Gone::numbered(why)));
        let connection = create_connection(scope, name, &tables, gone.as_ref());
        Rc::new(Idb { connection, tables, _gone: gone, durability })
    }

    /// `files`: the bytes of those that it puts.
    pub async fn commit(&self, all: &Commit, files: &Blobs) -> Result<(), StoreError> {
        let expected = Array::new();
        for expect in &all.expect {
            expected.push(&self.row(expect.table, &expect.key, expect.value.as_deref().into()));
        }
        let is_draft = |write: &Write| write.table() == Table::Drafts;
        let least = if all.writes.iter().all(is_draft) { Durability::Relaxed } else { self.durability };
        let strict = all.durability.max(least) == Durability::Strict;
        let wrong =
            commit(&self.connection, &expected, &self.writes(all, files), strict).await.map_err(failed)?;
        match wrong.as_f64().and_then(|place| all.expect.get(place as usize)) {
            Some(expect) => Err(StoreError::Conflict(expect.table, expect.key.clone())),
            None => Ok(()),
        }
    }

    /// Hands the writes over, so that the browser finishes them without this page.
    pub fn write_at_once(&self, commit: &Commit) {
        commit_at_once(&self.connection, &self.writes(commit, &[]));
    }

    pub async fn read(&self, reads: &[Read]) -> Result<Vec<Rows>, StoreError> {
        let asked = Array::new();
        for Read { table, prefix, from, until, texts } in reads {
            let number = |bound: Option<u64>| JsValue::from(bound.map(|bound| bound as f64));
            let (from, until) = match texts {
                Some((from, until)) => (JsValue::from(*from), JsValue::from(*until)),
                None => (number(*from), number(*until)),
            };
            let of: Array = self.row(*table, prefix, from).unchecked_into();
            of.push(&until);
            asked.push(&of);
        }
        let lists: Array = read(&self.connection, &asked).await.map_err(failed)?.unchecked_into();
        let bytes = |at| lists.get(at).unchecked_into::<Uint8Array>().to_vec();
        let text = |at| String::from_utf8(bytes(at)).unwrap_or_default();
        let rows = |at: u32| {
            let (keys, texts) = (text(at), text(at + 1));
            let (mut reader, mut first) = (Reader::new(&keys), true);
            // A key that is none of ours takes no other with it.
            let keys = std::iter::from_fn(|| {
                reader.item(b'[', b']', std::mem::take(&mut first)).filter(|more| *more)?;
                reader.value()
            });
            let rows = keys.zip(texts.split(BETWEEN));
            rows.filter_map(|(key, text)| Some((parts(key)?, text.into()))).list()
        };
        Ok((0..lists.length()).step_by(2).map(rows).list())
    }

    /// The bytes of a file, if there is one of this id: a `Blob`.
    pub async fn file(&self, id: &str) -> Result<Option<JsValue>, StoreError> {
        let file = file(&self.connection, id).await.map_err(failed)?;
        Ok(Some(file).filter(|file| !file.is_undefined()))
    }

    /// How many bytes each session takes.
    pub async fn sizes(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sizes: Array = sizes(&self.connection).await.map_err(failed)?.unchecked_into();
        let size = |pair: JsValue| {
            let pair: Array = pair.unchecked_into();
            Some((pair.get(0).as_string()?, pair.get(1).as_f64()? as u64))
        };
        Ok(sizes.iter().filter_map(size).list())
    }

    /// The key in this place (0: the vault's, 1: the one that signs), or `undefined`; `made`: what it is if there is
    /// none, or `undefined`.
    pub async fn kept_key(&self, made: &JsValue, place: u32) -> Result<JsValue, StoreError> {
        kept_key(&self.connection, made, place).await.map_err(failed)
    }

    pub fn close(&self) {
        close(&self.connection);
    }

    /// What tells at the opening whether anything was stored.
    pub async fn found(&self) -> Result<Found, StoreError> {
        let keys = Found::KEYS.iter().map(|key| JsValue::from(*key)).collect::<Array>();
        let told: Array = found(&self.connection, &keys).await.map_err(failed)?.unchecked_into();
        let marker = match told.get(3).as_f64() {
            None => Marker::Unknown,
            Some(since) if since > 0.0 => Marker::Since(since as u64),
            Some(_) => Marker::Absent,
        };
        let row = |at| told.get(at).as_string();
        Ok(Found { format: row(0), lost: row(1), emptied: row(2).is_some(), marker })
    }

    /// Sets the marker, beside everything else.
    pub fn mark(&self) {
        mark(&self.connection);
    }

    fn writes(&self, commit: &Commit, files: &Blobs) -> Array {
        let writes = Array::new();
        for write in &commit.writes {
            let (key, value) = match write {
                Write::Put { table: Table::Files, key, .. } => {
                    // Bytes that are missing are none that a browser could put.
                    let file = files.iter().find(|(of, _)| of == key).map(|(_, file)| file.clone());
                    (key, file.unwrap_or_else(|| JsValue::symbol(None)))
                }
                // The store has signed it before.
                Write::Put { key, value, .. }
                | Write::Add { key, value, .. }
                | Write::Sign { key, value, .. }
                | Write::Pack { key, value, .. } => (key, value.as_str().into()),
                Write::DeletePrefix { prefix, .. } | Write::DeleteRange { prefix, .. } => {
                    (prefix, JsValue::UNDEFINED)
                }
            };
            let row: Array = self.row(write.table(), key, value).unchecked_into();
            match write {
                Write::Add { .. } => drop(row.push(&"first".into())),
                Write::Pack { .. } => drop(row.push(&"pack".into())),
                Write::DeleteRange { from, until, .. } => {
                    row.push(&(*from as f64).into());
                    row.push(&(*until as f64).into());
                }
                _ => {}
            }
            writes.push(&row);
        }
        writes
    }

    fn row(&self, table: Table, parts: &Key, value: JsValue) -> JsValue {
        Array::of3(&self.tables.get(table as u32), &key(parts), &value).into()
    }
}

/// Deletes a database, its marker first.
pub(super) async fn delete_database(name: &str) -> Result<(), StoreError> {
    delete(name).await.map(drop).map_err(failed)
}

/// The bytes of files, by the keys of their rows.
type Blobs = [(Key, JsValue)];

/// What `/js/host/idb.js` has thrown.
fn failed(error: JsValue) -> StoreError {
    let part = |at| error.dyn_ref::<Array>().and_then(|parts| parts.get(at).as_string());
    let why = part(1).unwrap_or_else(|| "for an unknown reason".into());
    match part(0).as_deref() {
        Some("quota") => StoreError::Quota,
        Some("newer") => StoreError::Newer,
        Some("blocked") => StoreError::Blocked,
        Some("gone") => StoreError::Lost,
        Some("unavailable") => StoreError::Unavailable(why),
        None => StoreError::Absent(js_sys::Error::from(error).message().into()),
        _ => StoreError::Failed(why),
    }
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

fn parts(key: &str) -> Option<Key> {
    let part = |part: &Value| match part.as_f64() {
        Some(number) => Some(Part::Number(number as u64)),
        None => part.as_str().map(Part::from),
    };
    json::parse(key)?.as_array()?.iter().map(part).whole()
}
