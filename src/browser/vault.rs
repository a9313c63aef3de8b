//! The vault: keys of providers that the page wants kept.
//!
//! Promises: what is stored is encrypted, each key for its name alone (`/js/host/vault.js`). In memory a key is kept as
//! it is and stored nowhere. Nothing is encrypted or decrypted inside a transaction. The page is told names only.
//! Leaves to others: who takes which key (`harness/`).

use super::pump::{Deliver, Pump};
use super::store::Store;
use super::task;
use crate::error::{Code, ErrorInfo};
use crate::harness::{Input, VaultAsk, first_format_write};
use crate::json::json;
use crate::maps::Named;
use crate::ports::{Commit, Durability, Key, Part, Read, Rows, StoreError, Table, Write};
use crate::rooms::{Room, enter};
use serde_json::Value;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/js/host/vault.js")]
extern "C" {
    #[wasm_bindgen(js_name = hasCipher)]
    pub(super) fn has_cipher() -> bool;
    #[wasm_bindgen(catch, js_name = makeKey)]
    async fn make_key() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn seal(key: &JsValue, name: &str, text: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn unseal(key: &JsValue, name: &str, row: &str) -> Result<JsValue, JsValue>;
}

/// The keys of one workspace.
pub(super) struct Vault {
    store: Store,
    /// The keys of a workspace in memory: its rows have only names.
    memory: RefCell<Named<String>>,
}

impl Vault {
    pub fn new(store: Store) -> Vault {
        Vault { store, memory: RefCell::default() }
    }

    /// The key of this name.
    pub async fn get(&self, name: &str) -> Result<Option<String>, ErrorInfo> {
        let Some((_, row)) = self.rows(vec![name.into()]).await?.pop() else { return Ok(None) };
        let key = self.store.vault_key(&JsValue::UNDEFINED).await.map_err(told)?;
        self.opened(key.as_ref(), name, &row).await
    }

    /// The key in this row, under this name. `key`: the vault's, as the store gives it.
    async fn opened(
        &self,
        key: Option<&JsValue>,
        name: &str,
        row: &str,
    ) -> Result<Option<String>, ErrorInfo> {
        let Some(key) = key else { return Ok(self.memory.borrow().get(name).cloned()) };
        needs_cipher()?;
        match unseal(key, name, row).await.ok().and_then(|text| text.as_string()) {
            // As `fetch` would: the harness looks for it as it goes out.
            Some(text) => Ok(Some(text.trim_ascii().into())),
            None => {
                Err(ErrorInfo::new(Code::Corrupt, ["the vault's key of ", name, " cannot be read"].concat())
                    .hint("give it to keys.set once more"))
            }
        }
    }

    async fn set(&self, name: &str, text: &str) -> Result<(), ErrorInfo> {
        let value = match self.store.vault_key(&JsValue::UNDEFINED).await.map_err(told)? {
            None => {
                self.memory.borrow_mut().insert(name, text.into());
                String::new()
            }
            Some(found) => {
                needs_cipher()?;
                let failed = |_| told(StoreError::Failed("the browser does not encrypt".into()));
                let mut key = found;
                if key.is_undefined() {
                    let made = make_key().await.map_err(failed)?;
                    key = self.store.vault_key(&made).await.map_err(told)?.unwrap_or(made);
                }
                seal(&key, name, text).await.map_err(failed)?.as_string().unwrap_or_default()
            }
        };
        let put = Write::Put { table: Table::Keys, key: vec![name.into()], value };
        // A workspace with keys alone is in use: their loss is told as well.
        self.write(vec![put, first_format_write()]).await
    }

    async fn remove(&self, name: &str) -> Result<(), ErrorInfo> {
        self.memory.borrow_mut().remove(name);
        self.write(vec![Write::DeletePrefix { table: Table::Keys, prefix: vec![name.into()] }]).await
    }

    async fn write(&self, writes: Vec<Write>) -> Result<(), ErrorInfo> {
        let commit = Commit { expect: Vec::new(), writes, durability: Durability::Strict };
        self.store.commit(&commit).await.map_err(told)
    }

    async fn rows(&self, prefix: Key) -> Result<Rows, ErrorInfo> {
        let lists = self.store.read(&[Read::all(Table::Keys, prefix)]).await;
        Ok(lists.map_err(told)?.pop().unwrap_or_default())
    }

    async fn names(&self) -> Result<Value, ErrorInfo> {
        let mut names = Vec::new();
        for (key, _) in self.rows(Vec::new()).await? {
            if let Some(Part::Text(name)) = key.into_iter().next() {
                names.push(Value::String(name));
            }
        }
        Ok(names.into())
    }
}

/// Does what the page asks of the vault, and answers its command. A door of the room `more`.
#[inline(never)]
pub(super) fn ask(pump: &Pump, id: u32, ask: VaultAsk) {
    enter(Room::More);
    let pump = pump.clone();
    task::start(async move {
        let vault = &pump.inner().vault;
        let (result, changed) = match ask {
            VaultAsk::Set(name, key) => (vault.set(&name, &key).await.map(|()| None), Some((name, true))),
            VaultAsk::Remove(name) => (vault.remove(&name).await.map(|()| None), Some((name, false))),
            VaultAsk::Look(name) => {
                let key = vault.get(&name).await;
                if let Ok(Some(key)) = &key {
                    pump.inner().harness.borrow_mut().secrets_mut().keep(key);
                }
                // One that cannot be read is told of when it is used.
                let held = !matches!(key, Ok(None));
                (Ok(None), Some((name, held)))
            }
            VaultAsk::List => (vault.names().await.map(|names| Some(json(&names))), None),
        };
        if let (Ok(_), Some((name, held))) = (&result, changed) {
            pump.input(Input::Vault { name, held });
        }
        pump.deliver(Deliver::Reply(id, result));
    });
}

/// Tells the harness the keys that are in these rows, which it has asked for: from its start on they must not appear
/// anywhere, used or not. A key that cannot be read cannot be used either.
pub(super) async fn keep_secret(pump: &Pump, reads: &[Read], rows: &[Rows]) {
    let vault = &pump.inner().vault;
    let of_vault = |(read, _): &(&Read, &Rows)| read.table == Table::Keys;
    let Some((_, rows)) = reads.iter().zip(rows).find(of_vault).filter(|(_, rows)| !rows.is_empty()) else {
        return;
    };
    let Ok(key) = vault.store.vault_key(&JsValue::UNDEFINED).await else { return };
    for (place, row) in rows {
        if let Some(Part::Text(name)) = place.first()
            && let Ok(Some(text)) = vault.opened(key.as_ref(), name, row).await
        {
            pump.inner().harness.borrow_mut().secrets_mut().keep(&text);
        }
    }
}

fn needs_cipher() -> Result<(), ErrorInfo> {
    if has_cipher() {
        return Ok(());
    }
    let error =
        ErrorInfo::new(Code::InsecureContext, "this page is no secure context, so nothing can be encrypted");
    Err(error.hint("serve it over https or from localhost, or give the key as apiKey"))
}

fn told(error: StoreError) -> ErrorInfo {
    error.info()
}
