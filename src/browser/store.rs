//! The store of a workspace: IndexedDB, or memory.
//!
//! Promises: a [`Commit`] and a [`Read`] mean the same in both; [`MemoryStore`] says what that is.

use super::env::Scope;
use super::idb::{Idb, delete_database};
use crate::list::Listed;
use crate::ports::{Commit, MemoryStore, Read, Rows, StoreError, Write};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsValue;

/// Where the rows of one workspace are kept. A cheap handle: clones share the connection.
#[derive(Clone, Debug)]
pub struct Store(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Forgotten with the workspace that was opened.
    Memory(Rc<RefCell<MemoryStore>>),
    Idb(Rc<Idb>),
}

impl Store {
    /// The store of a workspace. Nothing is opened before the first read or commit. `gone`: called when
    /// another connection deletes the database (`true`) or wants to upgrade it; it is in the way until
    /// [`Store::close`].
    pub fn new(name: &str, in_memory: bool, scope: &Scope, gone: Rc<dyn Fn(bool)>) -> Store {
        if in_memory { Store::in_memory() } else { Store::of_database(database_name(name), scope, gone) }
    }

    /// A store in memory, with nothing in it.
    pub(super) fn in_memory() -> Store {
        Store(Kind::Memory(Rc::default()))
    }

    /// The store that a database with just this name is.
    pub(super) fn of_database(name: String, scope: &Scope, gone: Rc<dyn Fn(bool)>) -> Store {
        Store(Kind::Idb(Idb::new(name, scope.clone(), gone)))
    }

    /// Does all of it, or nothing.
    ///
    /// # Errors
    /// An expectation does not hold, the quota is used up, or the database fails.
    pub async fn commit(&self, commit: &Commit) -> Result<(), StoreError> {
        match &self.0 {
            Kind::Memory(memory) => memory.borrow_mut().commit(commit),
            Kind::Idb(idb) => idb.commit(commit).await,
        }
    }

    /// Writes without waiting for its turn, or for anything: the page may be about to go.
    pub fn write_at_once(&self, writes: Vec<Write>) {
        let commit = Commit { writes, ..Commit::default() };
        match &self.0 {
            Kind::Memory(memory) => {
                let _ = memory.borrow_mut().commit(&commit);
            }
            Kind::Idb(idb) => idb.write_at_once(&commit),
        }
    }

    /// The rows asked for, each list in the order of its keys, all as they were at one moment.
    ///
    /// # Errors
    /// The database cannot be opened, or fails.
    pub async fn read(&self, reads: &[Read]) -> Result<Vec<Rows>, StoreError> {
        match &self.0 {
            Kind::Memory(memory) => {
                let memory = memory.borrow();
                Ok(reads.iter().map(|read| memory.read(read)).list())
            }
            Kind::Idb(idb) => idb.read(reads).await,
        }
    }

    /// The key of the vault, or `undefined`; `made`: what it is if there is none, or `undefined`. `None`: in memory there
    /// is no use for one.
    pub(super) async fn vault_key(&self, made: &JsValue) -> Result<Option<JsValue>, StoreError> {
        match &self.0 {
            Kind::Memory(_) => Ok(None),
            Kind::Idb(idb) => idb.vault_key(made).await.map(Some),
        }
    }

    /// How many bytes it holds, where only it knows.
    pub fn bytes(&self) -> Option<usize> {
        match &self.0 {
            Kind::Memory(memory) => Some(memory.borrow().bytes()),
            Kind::Idb(_) => None,
        }
    }

    /// Lets the database go, for good: what is asked later fails.
    pub fn close(&self) {
        if let Kind::Idb(idb) = &self.0 {
            idb.close();
        }
    }
}

/// Deletes a workspace's data. Connections of other tabs close by themselves.
///
/// # Errors
/// There is no IndexedDB, or another tab keeps the database open for too long.
pub(super) async fn delete(name: &str) -> Result<(), StoreError> {
    delete_database(&database_name(name)).await
}

fn database_name(workspace: &str) -> String {
    ["lodger:", workspace].concat()
}
