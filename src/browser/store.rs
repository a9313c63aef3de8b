//! The store of a workspace: IndexedDB, or memory.
//!
//! Promises: a [`Commit`] and a [`Read`] mean the same in both. [`MemoryStore`](crate::ports::MemoryStore) says what that is.

use super::env::{self, Scope};
use super::idb::{Gone, Idb, delete_database};
use super::signer::Signer;
use super::volatile::Volatile;
use crate::harness::Found;
use crate::list::Listed;
use crate::ports::{Commit, Durability, Key, Part, Read, Rows, StoreError, Table, Write};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsValue;

/// Where the rows of one workspace are kept. A cheap handle: clones share the connection.
#[derive(Clone, Debug)]
pub struct Store {
    kind: Kind,
    /// The files that a commit may put.
    offered: Rc<RefCell<Vec<Offered>>>,
    signer: Rc<Signer>,
}

/// The bytes of a file, a `Blob`: the command that they came with (`None`: a tool gave them), and its id.
type Offered = (Option<u32>, String, JsValue);

#[derive(Clone, Debug)]
enum Kind {
    /// Forgotten with the workspace that was opened.
    Memory(Volatile),
    Idb(Rc<Idb>),
}

impl Store {
    /// The store of a workspace. Nothing is opened before the first read or commit. `durability`: how sure each commit is at
    /// least, drafts excepted. `gone`: called when the connection has to go; it is in the way until [`Store::close`].
    pub fn new(
        name: &str,
        in_memory: bool,
        durability: Durability,
        scope: &Scope,
        gone: Rc<dyn Fn(Gone)>,
    ) -> Store {
        if in_memory {
            return Store::in_memory(&env::fresh(scope));
        }
        Store::of_database(&database_name(name), durability, scope, gone)
    }

    /// A store in memory, with nothing in it. `key`: what no other has.
    pub(super) fn in_memory(key: &str) -> Store {
        Store { kind: Kind::Memory(Volatile::new(key)), offered: Rc::default(), signer: Rc::default() }
    }

    /// The store that a database with just this name is.
    pub(super) fn of_database(
        name: &str,
        durability: Durability,
        scope: &Scope,
        gone: Rc<dyn Fn(Gone)>,
    ) -> Store {
        let kind = Kind::Idb(Idb::new(name, durability, scope, gone));
        Store { kind, offered: Rc::default(), signer: Rc::default() }
    }

    /// Does all of it, or nothing.
    ///
    /// # Errors
    /// An expectation does not hold, the quota is used up, or the database fails.
    pub async fn commit(&self, commit: &Commit) -> Result<(), StoreError> {
        let put = |write: &Write| match write {
            Write::Put { table: Table::Files, key, .. } => self.offered(key).map(|blob| (key.clone(), blob)),
            _ => None,
        };
        let files = commit.writes.iter().filter_map(put).list();
        match &self.kind {
            Kind::Memory(memory) => memory.commit(commit, &files)?,
            Kind::Idb(idb) => match self.signer.signed(idb, commit).await? {
                Some(signed) => idb.commit(&signed, &files).await?,
                None => idb.commit(commit, &files).await?,
            },
        }
        self.put(&files);
        Ok(())
    }

    /// These are stored. Those of a command wait for its end, because it may put them again.
    fn put(&self, files: &[(Key, JsValue)]) {
        let mut offered = self.offered.borrow_mut();
        for (key, _) in files {
            let at = offered.iter().position(|(of, id, _)| of.is_none() && is_file(key, id));
            at.map(|at| offered.swap_remove(at));
        }
    }

    /// The signatures of these texts, if there is a key.
    ///
    /// # Errors
    /// The key cannot be read.
    pub async fn sign(&self, texts: &[String]) -> Result<Option<Vec<String>>, StoreError> {
        match &self.kind {
            Kind::Memory(memory) => Ok(Some(memory.sign(texts))),
            Kind::Idb(idb) => self.signer.sign(idb, texts, false).await,
        }
    }

    /// Whether the key that has signed them has signed every head here. Nobody else reaches a memory.
    pub fn is_strict(&self) -> bool {
        matches!(self.kind, Kind::Idb(_)) && self.signer.is_strict()
    }

    /// Takes the bytes of a file that came with a command, or (`None`) that a tool gave. They wait for the commit that puts
    /// them.
    pub(super) fn offer(&self, command: Option<u32>, id: String, blob: JsValue) {
        self.offered.borrow_mut().push((command, id, blob));
    }

    /// The command is answered: what came with it is stored, or nobody wants it.
    pub(super) fn withdraw(&self, command: u32) {
        self.offered.borrow_mut().retain(|(of, ..)| *of != Some(command));
    }

    fn offered(&self, key: &Key) -> Option<JsValue> {
        let offered = self.offered.borrow();
        let is_it = |(_, id, _): &&Offered| is_file(key, id);
        offered.iter().find(is_it).map(|(.., blob)| blob.clone())
    }

    /// The bytes of a file, if there is one of this id: a `Blob`. One that a commit puts is there from the moment on at which a
    /// page may be told of it.
    ///
    /// # Errors
    /// The database cannot be opened, or fails.
    pub(super) async fn file(&self, id: &str) -> Result<Option<JsValue>, StoreError> {
        if let Some(blob) = self.offered(&vec![id.into()]) {
            return Ok(Some(blob));
        }
        match &self.kind {
            Kind::Memory(memory) => Ok(memory.file(id)),
            Kind::Idb(idb) => idb.file(id).await,
        }
    }

    /// Writes without waiting for its turn, or for anything: the page may be about to go.
    pub fn write_at_once(&self, writes: Vec<Write>) {
        let commit = Commit { writes, ..Commit::default() };
        match &self.kind {
            Kind::Memory(memory) => {
                let _ = memory.commit(&commit, &[]);
            }
            Kind::Idb(idb) => idb.write_at_once(&commit),
        }
    }

    /// The rows asked for, each list in the order of its keys, all as they were at one moment.
    ///
    /// # Errors
    /// The database cannot be opened, or fails.
    pub async fn read(&self, reads: &[Read]) -> Result<Vec<Rows>, StoreError> {
        match &self.kind {
            Kind::Memory(memory) => Ok(memory.read(reads)),
            Kind::Idb(idb) => idb.read(reads).await,
        }
    }

    /// The key of the vault, or `undefined`; `made`: what it is if there is none, or `undefined`. `None`: in memory there
    /// is no use for one.
    pub(super) async fn vault_key(&self, made: &JsValue) -> Result<Option<JsValue>, StoreError> {
        match &self.kind {
            Kind::Memory(_) => Ok(None),
            Kind::Idb(idb) => idb.kept_key(made, 0).await.map(Some),
        }
    }

    /// How many bytes it holds, where only it knows.
    pub fn bytes(&self) -> Option<usize> {
        match &self.kind {
            Kind::Memory(memory) => Some(memory.bytes()),
            Kind::Idb(_) => None,
        }
    }

    /// How many bytes each session takes: its rows as they lie there with their keys, and its files.
    ///
    /// # Errors
    /// The database cannot be opened, or fails.
    pub(super) async fn sizes(&self) -> Result<Vec<(String, u64)>, StoreError> {
        match &self.kind {
            Kind::Memory(memory) => Ok(memory.sizes()),
            Kind::Idb(idb) => idb.sizes().await,
        }
    }

    /// What tells at the opening whether anything was stored.
    ///
    /// # Errors
    /// The database cannot be opened, or fails.
    pub(super) async fn found(&self) -> Result<Found, StoreError> {
        match &self.kind {
            Kind::Memory(_) => Ok(Found::default()),
            Kind::Idb(idb) => idb.found().await,
        }
    }

    /// Sets the marker of the database, beside everything else; memory has none.
    pub(super) fn mark(&self) {
        if let Kind::Idb(idb) = &self.kind {
            idb.mark();
        }
    }

    /// Lets the database go, for good: what is asked later fails.
    pub fn close(&self) {
        if let Kind::Idb(idb) = &self.kind {
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

/// Whether a key, or the first parts of one, is that of a file.
pub(super) fn is_file(key: &Key, id: &str) -> bool {
    key.first().is_none_or(|part| *part == Part::from(id))
}

fn database_name(workspace: &str) -> String {
    ["lodger:", workspace].concat()
}
