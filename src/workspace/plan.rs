//! What an operation leads to: a value, and the writes that make it true.

use super::page::{Page, corrupt};
use crate::error::ErrorInfo;
use crate::ports::{Expect, Millis, Part, Read, Rows, Table, Write};
use serde_json::{Value, json};

/// What came of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is worked out.
    Done(Plan),
    /// It needs rows that are only in the store.
    Read(Pending),
}

/// An operation that is worked out but not done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What the operation answers, once it is committed.
    pub value: Value,
    /// What to write; empty: nothing changes, and no commit is needed.
    pub writes: Vec<Write>,
    /// What must still be true in the store when that is written.
    pub expect: Vec<Expect>,
    pub(super) rev: u64,
    pub(super) changed: Vec<Page>,
}

impl Plan {
    /// An answer that changes nothing.
    pub(super) fn answer(value: Value) -> Plan {
        Plan { value, ..Plan::default() }
    }

    /// The number of the change; 0: it changes nothing.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// The slugs of the pages that it changes.
    pub fn changed(&self) -> impl Iterator<Item = &str> {
        self.changed.iter().map(|page| page.slug.as_str())
    }
}

/// A reading operation that waits for rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    read: Read,
    slug: String,
    limit: usize,
    version: u64,
    at: Millis,
    content: String,
}

impl Pending {
    pub(super) fn versions(page: &Page, limit: usize) -> Pending {
        let older = u64::try_from(limit.saturating_sub(1)).unwrap_or(u64::MAX);
        Pending {
            read: Read {
                table: Table::Versions,
                prefix: vec![page.slug.as_str().into()],
                from: Some(page.version.saturating_sub(older)),
            },
            slug: page.slug.clone(),
            limit,
            version: page.version,
            at: page.written_at,
            content: page.content.clone(),
        }
    }

    /// The rows it waits for.
    pub fn read(&self) -> &Read {
        &self.read
    }

    /// Goes on with the rows of [`Pending::read`].
    pub fn finish(self, rows: &Rows) -> Result<Plan, ErrorInfo> {
        let mut versions = vec![json!({ "version": self.version, "at": self.at, "content": self.content })];
        for (key, text) in rows.iter().rev() {
            let Some(Part::Number(version)) = key.get(1) else { continue };
            // Another tab may have written on since: this answer is of the moment it was asked.
            if *version >= self.version || versions.len() >= self.limit {
                continue;
            }
            let bad = || corrupt(&format!("version {version} of the page '{}'", self.slug), "the row");
            let mut row: Value = serde_json::from_str(text).map_err(|_| bad())?;
            row.as_object_mut().ok_or_else(bad)?.insert("version".into(), (*version).into());
            versions.push(row);
        }
        Ok(Plan::answer(versions.into()))
    }
}

/// Changes of other tabs that are not known here yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The number of the last of them.
    pub rev: u64,
    /// The pages to read, each once; their rows go to `Workspace::apply_rows`.
    pub reads: Vec<Read>,
}

impl Missed {
    /// From the rows of `Workspace::missed`; `None`: nothing was missed.
    pub fn from_rows(rows: &Rows) -> Result<Option<Missed>, ErrorInfo> {
        let mut slugs = std::collections::BTreeSet::new();
        let mut last = None;
        for (key, text) in rows {
            let Some(Part::Number(rev)) = key.first() else { continue };
            let bad = || corrupt(&format!("change {rev}"), "the row");
            let changed: Value = serde_json::from_str(text).map_err(|_| bad())?;
            for slug in changed.as_array().ok_or_else(bad)? {
                slugs.insert(slug.as_str().ok_or_else(bad)?.to_string());
            }
            last = last.max(Some(*rev));
        }
        let read = |slug: &String| Read::all(Table::Pages, vec![slug.as_str().into()]);
        Ok(last.map(|rev| Missed { rev, reads: slugs.iter().map(read).collect() }))
    }
}

pub(super) const REV: &str = "pages_rev";

pub(super) fn load_reads() -> [Read; 2] {
    [Read::all(Table::Meta, vec![REV.into()]), Read::all(Table::Pages, Vec::new())]
}

pub(super) fn missed(rev: u64) -> Read {
    Read { table: Table::Changes, prefix: Vec::new(), from: Some(rev + 1) }
}
