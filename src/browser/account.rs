//! What all workspaces of one origin share: their account's skills, and memories of that scope.
//!
//! Promises: who has none to give makes no database. A connection is held no longer than one exchange. Leaves to
//! others: what a skill is, which one counts (`prompt/`), and what a memory is (`memory/`).

use super::env::{self, Scope, bring};
use super::store::{self, Store};
use crate::list::Listed;
use crate::ports::{Commit, Durability, Part, Read, Rows, StoreError, Table, Write};
use crate::rooms::{Room, enter};
use std::cell::OnceCell;
use std::pin::Pin;
use std::rc::Rc;

/// The database. No workspace's has a name like this one.
const NAME: &str = "lodger-account";

/// How the keys of skills begin; the workspace and the skill's name follow.
const SKILL: &str = "skill";

thread_local! {
    /// What the workspaces in memory share, once it is needed, as long as the page lives.
    static MEMORY: OnceCell<Store> = const { OnceCell::new() };
}

/// Keeps the skills that a workspace gives in place of those it gave before; the rows of all workspaces, in order.
///
/// # Errors
/// The database cannot be opened, or fails; the room `more` does not come.
pub(super) async fn exchange(
    workspace: &str,
    skills: Vec<(String, String)>,
    in_memory: bool,
    scope: &Scope,
) -> Result<Vec<String>, StoreError> {
    if skills.is_empty() && !exists(in_memory).await {
        return Ok(Vec::new());
    }
    let store = shared(in_memory, scope);
    let rows = async {
        let rows = all(&store).await?;
        if skills.is_empty() && rows.is_empty() {
            return Ok(Vec::new());
        }
        bring(scope, Room::More).await.map_err(StoreError::Absent)?;
        kept(store.clone(), rows, workspace.into(), skills).await
    };
    let rows = rows.await;
    store.close();
    rows
}

/// Deletes a workspace's data, and what it gave to the account. Connections of other tabs close by themselves.
///
/// # Errors
/// There is no IndexedDB, or another tab keeps the database open for too long.
pub async fn delete(workspace: &str) -> Result<(), StoreError> {
    store::delete(workspace).await?;
    if !exists(false).await {
        return Ok(());
    }
    let store = shared(false, &Scope::new());
    let rows = async { kept(store.clone(), all(&store).await?, workspace.into(), Vec::new()).await };
    let rows = rows.await;
    store.close();
    rows.map(drop)
}

/// Stores and reads memories of the account.
///
/// # Errors
/// The database cannot be opened, or fails; `Conflict`: it is not as the commit expects.
pub(super) async fn shelf(
    commit: Option<&Commit>,
    reads: &[Read],
    in_memory: bool,
    scope: &Scope,
) -> Result<Vec<Rows>, StoreError> {
    if commit.is_none() && !exists(in_memory).await {
        return Ok(reads.iter().map(|_| Rows::new()).list());
    }
    let store = shared(in_memory, scope);
    let rows = store_and_read(&store, commit, reads).await;
    store.close();
    rows
}

/// Stores something, if there is something, and then reads.
///
/// # Errors
/// As [`Store::commit`] and [`Store::read`].
pub(super) async fn store_and_read(
    store: &Store,
    commit: Option<&Commit>,
    reads: &[Read],
) -> Result<Vec<Rows>, StoreError> {
    if let Some(commit) = commit {
        store.commit(commit).await?;
    }
    if reads.is_empty() { Ok(Vec::new()) } else { store.read(reads).await }
}

/// The store of the account.
fn shared(in_memory: bool, scope: &Scope) -> Store {
    if in_memory {
        return MEMORY.with(|store| store.get_or_init(|| Store::in_memory("")).clone());
    }
    Store::of_database(NAME, Durability::Strict, scope, Rc::new(|_| {}))
}

async fn exists(in_memory: bool) -> bool {
    if in_memory {
        return MEMORY.with(|store| store.get().is_some());
    }
    env::has_database(NAME).await.map_or(true, |has| has.is_truthy())
}

/// All skills of the account.
async fn all(store: &Store) -> Result<Rows, StoreError> {
    let read = Read::all(Table::Meta, vec![SKILL.into()]);
    Ok(store.read(&[read]).await?.pop().unwrap_or_default())
}

type Kept = Pin<Box<dyn Future<Output = Result<Vec<String>, StoreError>>>>;

/// Keeps skills in this store, which has these `rows`. A door of the room `more`.
#[inline(never)]
fn kept(store: Store, rows: Rows, workspace: String, skills: Vec<(String, String)>) -> Kept {
    enter(Room::More);
    Box::pin(async move {
        let key = |name: &str| vec![SKILL.into(), workspace.as_str().into(), Part::from(name)];
        let given: Rows = skills.into_iter().map(|(name, row)| (key(&name), row)).list();
        let ours = rows.iter().filter(|(key, _)| key.get(1) == Some(&Part::from(workspace.as_str())));
        if ours.count() == given.len() && given.iter().all(|row| rows.contains(row)) {
            return Ok(rows.into_iter().map(|(_, row)| row).list());
        }
        let prefix = vec![SKILL.into(), workspace.as_str().into()];
        let mut writes = vec![Write::DeletePrefix { table: Table::Meta, prefix }];
        let put = |(key, value)| Write::Put { table: Table::Meta, key, value };
        writes.extend(given.into_iter().map(put));
        store.commit(&Commit { expect: Vec::new(), writes, durability: Durability::Strict }).await?;
        Ok(all(&store).await?.into_iter().map(|(_, row)| row).list())
    })
}
