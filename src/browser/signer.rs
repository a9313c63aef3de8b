//! The signer of a workspace: HMAC-SHA-256 under a key that no script can read.
//!
//! Promises: the key is made with the first row that is signed. It lies in the workspace's own database and goes with
//! it (`/js/host/vault.js`). Nothing is signed inside a transaction. Where a browser signs nothing, rows are stored
//! unsigned; where there is no room for the key, nothing is stored. Beside the key stands whether it has signed every head, so
//! that one without its signature was changed. It has not where a head is older: from before signing, or by a key that was
//! lost. It has not either where anything was ever stored unsigned. Leaves to others: what is signed, and what a signature says (`harness/`).

use super::idb::Idb;
use super::vault::has_cipher;
use crate::list::Listed;
use crate::ports::{Commit, Read, StoreError, Table, Write, signed_row};
use js_sys::{Array, Uint8Array};
use std::cell::{Cell, RefCell};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/js/host/vault.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = makeSigningKey)]
    async fn make_signing_key() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn signatures(key: &JsValue, texts: Array) -> Result<JsValue, JsValue>;
}

/// The place of the key that signs; that of the vault is before it.
const PLACE: u32 = 1;
/// There stands what the key is called that has signed every head, or [`NONE`].
const OF_ALL: u32 = 2;
/// There stands [`NONE`] once something was stored unsigned.
const UNSIGNED: u32 = 3;
/// What no key is called.
const NONE: &str = "-";

/// Signs for one database.
#[derive(Debug, Default)]
pub(super) struct Signer {
    /// The key, once it was read or made.
    key: RefCell<Option<JsValue>>,
    /// Whether it has signed every head, once that was read or found out.
    strict: Cell<Option<bool>>,
}

impl Signer {
    /// The signatures of these texts; `None`: there is no key (`make`: none could be made).
    ///
    /// # Errors
    /// There is no room for the key, or it cannot be read.
    pub async fn sign(
        &self,
        idb: &Idb,
        texts: &[String],
        make: bool,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let known = self.key.borrow().clone();
        let key = match known {
            Some(key) => key,
            None => {
                let Some(key) = self.find(idb, make).await? else { return Ok(None) };
                *self.key.borrow_mut() = Some(key.clone());
                key
            }
        };
        if self.strict.get().is_none() {
            self.strict.set(self.has_signed_all(idb, &key, make).await?);
        }
        Ok(signed_by(&key, texts).await)
    }

    /// Whether the key has signed every head here, as far as anybody has looked.
    pub fn is_strict(&self) -> bool {
        self.strict.get() == Some(true)
    }

    /// The same as it stands beside the key. `None`: nobody has looked, which only who writes does (`looks`).
    async fn has_signed_all(
        &self,
        idb: &Idb,
        key: &JsValue,
        looks: bool,
    ) -> Result<Option<bool>, StoreError> {
        let text = async |made: &str, place: u32| {
            let made = if made.is_empty() { JsValue::UNDEFINED } else { made.into() };
            idb.kept_key(&made, place).await.map(|kept| kept.as_string())
        };
        let Some(name) = signed_by(key, &[String::new()]).await.and_then(|made| key_of(made.first()?)) else {
            return Ok(Some(false));
        };
        let mut found = text("", OF_ALL).await?;
        if found.is_none() && looks {
            let heads = idb.read(&[Read::all(Table::Heads, Vec::new())]).await?;
            let is_ours = |row: &str| row.lines().nth(1).and_then(key_of).as_ref() == Some(&name);
            let all = heads.iter().flatten().all(|(_, row)| is_ours(row));
            found = text(if all { &name } else { NONE }, OF_ALL).await?;
        }
        let Some(found) = found else { return Ok(None) };
        Ok(Some(found == name && text("", UNSIGNED).await?.is_none()))
    }

    async fn find(&self, idb: &Idb, make: bool) -> Result<Option<JsValue>, StoreError> {
        if !has_cipher() {
            return Ok(None);
        }
        let there = |key: &JsValue| !key.is_undefined();
        // A key that is there and cannot be read now must not look like none.
        let found = idb.kept_key(&JsValue::UNDEFINED, PLACE).await?;
        if !make || there(&found) {
            return Ok(Some(found).filter(there));
        }
        let Ok(made) = make_signing_key().await else { return Ok(None) };
        // One of two tabs wins.
        match idb.kept_key(&made, PLACE).await {
            Err(StoreError::Quota) => Err(StoreError::Quota),
            kept => Ok(kept.ok().filter(there)),
        }
    }

    /// The commit with its rows signed: what is to be signed is put as it is stored. `None`: nothing is.
    ///
    /// # Errors
    /// There is no room for the key, or it cannot be read.
    pub async fn signed(&self, idb: &Idb, commit: &Commit) -> Result<Option<Commit>, StoreError> {
        let mut texts = Vec::new();
        for write in &commit.writes {
            if let Write::Sign { texts: more, .. } = write {
                texts.extend(more.iter().cloned());
            }
        }
        if texts.is_empty() {
            return Ok(None);
        }
        let signatures = self.sign(idb, &texts, true).await?;
        if signatures.is_none() && self.strict.get() != Some(false) {
            // Its heads will have no signature, and nobody has changed them.
            idb.kept_key(&NONE.into(), UNSIGNED).await?;
            self.strict.set(Some(false));
        }
        let signatures = signatures.unwrap_or_default();
        let mut signatures = signatures.into_iter();
        let mut commit = commit.clone();
        for write in &mut commit.writes {
            if let Write::Sign { table, key, value, texts } = write {
                let own = signatures.by_ref().take(texts.len()).list();
                let value = signed_row(value, &own);
                *write = Write::Put { table: *table, key: std::mem::take(key), value };
            }
        }
        Ok(Some(commit))
    }
}

/// The signatures of these texts by a key, if it signs.
async fn signed_by(key: &JsValue, texts: &[String]) -> Option<Vec<String>> {
    let texts = texts.iter().map(|text| Uint8Array::from(text.as_bytes())).collect::<Array>();
    let made = signatures(key, texts).await.ok().and_then(|made| made.as_string());
    made.map(|made| made.lines().map(Into::into).list())
}

/// What the key is called that has made a signature.
fn key_of(signature: &str) -> Option<String> {
    signature.split(' ').nth(1).map(Into::into)
}
