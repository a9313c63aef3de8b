//! The store of a workspace: IndexedDB, or memory.

use super::env::Scope;
use super::idb::{Idb, delete_database};
use crate::maps::Named;
use crate::ports::{Commit, MemoryStore, Read, Rows, StoreError, Write};
use std::cell::RefCell;
use std::rc::Rc;

type Shared = Rc<RefCell<MemoryStore>>;

thread_local! {
    /// Workspaces in memory live as long as the module, so that one can be closed and opened again.
    static MEMORY: RefCell<Named<Shared>> = RefCell::default();
}

/// Where rows are kept.
#[derive(Clone, Debug)]
pub(super) enum Store {
    Memory(Shared),
    Idb(Rc<Idb>),
}

impl Store {
    /// The store of a workspace. `gone`: called when another tab deletes or upgrades the database.
    pub fn new(name: &str, in_memory: bool, scope: &Scope, gone: Rc<dyn Fn(bool)>) -> Store {
        if in_memory {
            let mut shared = Shared::default();
            MEMORY.with_borrow_mut(|all| all.change(name, |known| shared = Rc::clone(known)));
            return Store::Memory(shared);
        }
        Store::Idb(Idb::new(database_name(name), scope.clone(), gone))
    }

    pub async fn commit(&self, commit: &Commit) -> Result<(), StoreError> {
        match self {
            Store::Memory(memory) => memory.borrow_mut().commit(commit),
            Store::Idb(idb) => idb.commit(commit).await,
        }
    }

    /// Writes without waiting for its turn, or for anything: the page may be about to go.
    pub async fn write_at_once(&self, writes: Vec<Write>) {
        let commit = Commit { writes, ..Commit::default() };
        match self {
            Store::Memory(_) => {
                let _ = self.commit(&commit).await;
            }
            Store::Idb(idb) => idb.write_at_once(&commit),
        }
    }

    pub async fn read(&self, reads: &[Read]) -> Result<Vec<Rows>, StoreError> {
        match self {
            Store::Memory(memory) => {
                let memory = memory.borrow();
                Ok(reads.iter().map(|read| memory.read(read)).collect())
            }
            Store::Idb(idb) => idb.read(reads).await,
        }
    }

    /// How many bytes it holds, where only it knows.
    pub fn bytes(&self) -> Option<usize> {
        match self {
            Store::Memory(memory) => Some(memory.borrow().bytes()),
            Store::Idb(_) => None,
        }
    }

    pub fn close(&self) {
        if let Store::Idb(idb) = self {
            idb.close();
        }
    }
}

/// Deletes a workspace's data. Connections of other tabs close by themselves.
pub async fn delete(name: &str, in_memory: bool) -> Result<(), StoreError> {
    if in_memory {
        MEMORY.with_borrow_mut(|all| all.remove(name));
        return Ok(());
    }
    delete_database(&database_name(name)).await
}

fn database_name(workspace: &str) -> String {
    ["lodger:", workspace].concat()
}
