//! The signer of a workspace: HMAC-SHA-256 under a key that no script can read.
//!
//! Promises: the key is made with the first row that is signed. It lies in the workspace's own database and goes with
//! it (`/js/host/vault.js`). Nothing is signed inside a transaction. Where a browser signs nothing, rows are stored
//! unsigned; where there is no room for the key, nothing is stored. Leaves to others: what is signed, and what a signature says (`harness/`).

use super::idb::Idb;
use super::vault::has_cipher;
use crate::list::Listed;
use crate::ports::{Commit, StoreError, Write, signed_row};
use js_sys::{Array, Uint8Array};
use std::cell::RefCell;
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

/// Signs for one database.
#[derive(Debug, Default)]
pub(super) struct Signer {
    /// The key, once it was read or made.
    key: RefCell<Option<JsValue>>,
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
        let texts = texts.iter().map(|text| Uint8Array::from(text.as_bytes())).collect::<Array>();
        let made = signatures(&key, texts).await.ok().and_then(|made| made.as_string());
        Ok(made.map(|made| made.lines().map(Into::into).list()))
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
        let signatures = self.sign(idb, &texts, true).await?.unwrap_or_default();
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
