//! What a workspace in memory has in place of a database.
//!
//! Decides nothing: what a commit and a read mean is [`MemoryStore`]'s to say. All that it does is the room `volatile`, which is
//! there before such a workspace is.

use super::store::is_file;
use crate::json;
use crate::list::Listed;
use crate::maps::Named;
use crate::ports::{Commit, Key, MemoryStore, Part, Read, Rows, StoreError, Table, Write};
use crate::rooms::{Room, enter};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Blob;

/// The rows and files of one workspace, forgotten with it. A cheap handle.
#[derive(Clone, Debug)]
pub(super) struct Volatile(Rc<RefCell<Kept>>);

#[derive(Debug)]
struct Kept {
    rows: MemoryStore,
    /// The bytes of files by their ids, as `Blob`s.
    files: Vec<(String, JsValue)>,
}

impl Volatile {
    /// With nothing in it. `key`: what no other has.
    pub fn new(key: &str) -> Volatile {
        let kept = Kept { rows: MemoryStore::with_key(key), files: Vec::new() };
        Volatile(Rc::new(RefCell::new(kept)))
    }

    /// Does all of it, or nothing. `put`: the bytes of files whose rows it puts.
    ///
    /// # Errors
    /// An expectation does not hold.
    #[inline(never)]
    pub fn commit(&self, commit: &Commit, put: &[(Key, JsValue)]) -> Result<(), StoreError> {
        enter(Room::Volatile);
        let Kept { rows, files } = &mut *self.0.borrow_mut();
        rows.commit(commit)?;
        for write in commit.writes.iter().filter(|write| write.table() == Table::Files) {
            if let Write::DeletePrefix { prefix, .. } = write {
                files.retain(|(id, _)| !is_file(prefix, id));
            }
        }
        for (key, blob) in put {
            if let (Some(Part::Text(id)), false) = (key.first(), files.iter().any(|(id, _)| is_file(key, id)))
            {
                files.push((id.clone(), blob.clone()));
            }
        }
        Ok(())
    }

    /// The rows asked for.
    #[inline(never)]
    pub fn read(&self, reads: &[Read]) -> Vec<Rows> {
        enter(Room::Volatile);
        let kept = self.0.borrow();
        reads.iter().map(|read| kept.rows.read(read)).list()
    }

    /// The signatures of these texts.
    #[inline(never)]
    pub fn sign(&self, texts: &[String]) -> Vec<String> {
        enter(Room::Volatile);
        self.0.borrow().rows.signatures(texts)
    }

    /// The bytes of a file, if there is one of this id.
    #[inline(never)]
    pub fn file(&self, id: &str) -> Option<JsValue> {
        enter(Room::Volatile);
        self.0.borrow().files.iter().find(|(kept, _)| kept == id).map(|(_, blob)| blob.clone())
    }

    /// How many bytes it holds.
    #[inline(never)]
    pub fn bytes(&self) -> usize {
        enter(Room::Volatile);
        let kept = self.0.borrow();
        kept.rows.bytes() + kept.files.iter().map(|(_, blob)| size_of(blob) as usize).sum::<usize>()
    }

    /// How many bytes each session takes, as `/js/host/sizes.js` counts them in a database. Tasks have no name.
    #[inline(never)]
    pub fn sizes(&self) -> Vec<(String, u64)> {
        enter(Room::Volatile);
        let Kept { rows, files } = &*self.0.borrow();
        let files = files.iter().map(|(id, blob)| (id.as_str(), size_of(blob))).list();
        sizes_of(rows, &files)
    }
}

fn size_of(blob: &JsValue) -> u64 {
    blob.unchecked_ref::<Blob>().size() as u64
}

/// `files`: those of all.
fn sizes_of(memory: &MemoryStore, files: &[(&str, u64)]) -> Vec<(String, u64)> {
    let mut sizes = Named::<u64>::default();
    let (mut hidden, mut tasks) = (Vec::new(), Vec::new());
    for table in [Table::Heads, Table::Entries, Table::Drafts] {
        for (key, value) in memory.read(&Read::all(table, Vec::new())) {
            let Some(Part::Text(id)) = key.first() else { continue };
            let of_part = |part: &Part| match part {
                Part::Text(text) => text.len(),
                Part::Number(number) => number.to_string().len(),
            };
            let mut bytes = (key.iter().map(of_part).sum::<usize>() + value.len()) as u64;
            if table == Table::Heads {
                let head = value.lines().next().and_then(json::parse).unwrap_or_default();
                let named = head.get("files").and_then(json::texts).unwrap_or_default();
                let own = files.iter().filter(|(file, _)| named.iter().any(|named| named == file));
                bytes += own.map(|(_, bytes)| bytes).sum::<u64>();
                if head.get("removed").is_some() {
                    hidden.push(id.clone());
                } else if head.get("once").is_some() {
                    tasks.push(id.clone());
                }
            }
            let id = if tasks.contains(id) { "" } else { id };
            sizes.change(id, |size| *size += bytes);
        }
    }
    let told = sizes.iter().filter(|(id, _)| !hidden.iter().any(|hidden| hidden == id));
    told.map(|(id, bytes)| (id.to_owned(), *bytes)).list()
}
