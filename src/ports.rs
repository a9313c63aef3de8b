//! What the core asks of the world, as data.
//!
//! The core never acts and never waits. It hands out descriptions (a [`Commit`], a [`Read`], an
//! [`HttpRequest`]) and is told later what came of them. Time, ids and random draws arrive with each input.
//!
//! Promises: everything stored is text under a compound key, so that a store is a sorted map and nothing more. Files
//! are bytes, which only their ids stand for here; a commit happens whole or not at all. Leaves to others: IndexedDB,
//! locks and `fetch` (`browser/`).

pub mod marks;
mod memory;

pub use memory::MemoryStore;

use crate::error::{Code, ErrorInfo};
use crate::list::Listed;
use std::rc::Rc;

/// Milliseconds since the epoch.
pub type Millis = u64;

/// The longest delay that a browser's timer takes, in milliseconds.
pub const MAX_DELAY_MS: Millis = i32::MAX as Millis;

/// The tables of a workspace's database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Single values: `format`, `epoch`, `holder`, `pages_rev`, `lost`, `tasks`. And whose a run is, under `["run", id]`, and
    /// the tasks without a session that are not over, under `["task", session]`. And that a session is there, under
    /// `["session", id]`. And memories, under `["memory", operator, n]`, with the last
    /// `n` under `["memory", operator, "last"]`.
    Meta,
    /// Journal rows under `[session, seq]`; packs of them and a checkpoint, as [`pack`](crate::journal::pack) has it.
    Entries,
    /// One head a session under `[session]`.
    Heads,
    /// Text that no entry holds yet, under `[session, run, epoch, n]`.
    Drafts,
    /// Pages under `[slug]`.
    Pages,
    /// Earlier contents under `[slug, version]`.
    Versions,
    /// Which page changed, under `[rev]`.
    Changes,
    /// Keys of providers, encrypted, under `[name]`. What decrypts them is no text, and in no table.
    Keys,
    /// Files that persons have sent, under `[id]`. Their rows have bytes in place of text: the store puts there what it was
    /// given under this id, not the text of the write. A read gives the keys alone, with empty texts.
    Files,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 9] = [
        Table::Meta,
        Table::Entries,
        Table::Heads,
        Table::Drafts,
        Table::Pages,
        Table::Versions,
        Table::Changes,
        Table::Keys,
        Table::Files,
    ];

    /// The table's name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Table::Meta => "meta",
            Table::Entries => "entries",
            Table::Heads => "heads",
            Table::Drafts => "drafts",
            Table::Pages => "pages",
            Table::Versions => "versions",
            Table::Changes => "changes",
            Table::Keys => "keys",
            Table::Files => "files",
        }
    }
}

/// Where memories are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shelf {
    /// In the workspace.
    #[default]
    Workspace,
    /// With what all workspaces of the origin share.
    Account,
}

/// One part of a key. Numbers sort before texts, as in IndexedDB.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A number below 2^53.
    Number(u64),
    /// A text; sorted by UTF-16 code units in a browser, by bytes in memory. No code relies on the difference.
    Text(String),
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Part::Text(text.into())
    }
}

impl From<u64> for Part {
    fn from(number: u64) -> Self {
        Part::Number(number)
    }
}

/// A compound key.
pub type Key = Vec<Part>;

/// A row that must be as the core believes, or the commit is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Where.
    pub table: Table,
    /// Which row.
    pub key: Key,
    /// Its text; `None`: there is no such row.
    pub value: Option<String>,
}

/// A change of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Puts a row, in place of one that is there.
    Put {
        /// Where.
        table: Table,
        /// Which row.
        key: Key,
        /// Its new text.
        value: String,
    },
    /// Puts a row where there is none.
    Add {
        /// Where.
        table: Table,
        /// Which row.
        key: Key,
        /// Its text.
        value: String,
    },
    /// Puts a row that is signed: its text is `value`, and behind it, each on a line of its own, the signatures of these
    /// texts. The store signs before the transaction; where nothing can be signed, the row is `value` alone.
    Sign {
        /// Where.
        table: Table,
        /// Which row.
        key: Key,
        /// The text before the signatures.
        value: String,
        /// What is signed.
        texts: Vec<String>,
    },
    /// Puts a row that the store may press, because it is long and hardly read.
    Pack {
        /// Where.
        table: Table,
        /// Which row.
        key: Key,
        /// Its text.
        value: String,
    },
    /// Deletes the rows whose keys begin with these parts and go on with a number of this range.
    DeleteRange {
        /// Where.
        table: Table,
        /// The first parts of the keys.
        prefix: Key,
        /// The first number.
        from: u64,
        /// The number behind the last.
        until: u64,
    },
    /// Deletes every row whose key begins with these parts.
    DeletePrefix {
        /// Where.
        table: Table,
        /// The first parts of the keys; empty: the whole table.
        prefix: Key,
    },
}

impl Write {
    /// The table that it changes.
    pub fn table(&self) -> Table {
        match self {
            Write::Put { table, .. }
            | Write::Add { table, .. }
            | Write::Sign { table, .. }
            | Write::Pack { table, .. }
            | Write::DeleteRange { table, .. }
            | Write::DeletePrefix { table, .. } => *table,
        }
    }
}

/// The text of a signed row: `value`, and behind it the signatures, each on a line of its own.
pub fn signed_row(value: &str, signatures: &[String]) -> String {
    let mut row = value.to_owned();
    for signature in signatures {
        row.push('\n');
        row.push_str(signature);
    }
    row
}

/// How sure a commit must be before it counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Handed to the operating system: survives the death of the tab and the browser (but for a fault of Chromium: decision 121).
    #[default]
    Relaxed,
    /// Flushed to the disk: survives the loss of power.
    Strict,
}

/// One transaction: all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// What must still be true.
    pub expect: Vec<Expect>,
    /// What changes, in this order.
    pub writes: Vec<Write>,
    /// How sure.
    pub durability: Durability,
}

/// Rows of one table whose keys begin with a prefix, in the order of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Where.
    pub table: Table,
    /// The first parts of the keys; empty: the whole table.
    pub prefix: Key,
    /// Only rows whose next part is a number of at least this.
    pub from: Option<u64>,
    /// Only rows whose next part is a number below this. Together with `from`.
    pub until: Option<u64>,
    /// Only rows whose next part is a text of at least the first of these, and below the second. In place of `from`.
    pub texts: Option<(&'static str, Option<&'static str>)>,
}

impl Read {
    /// All rows below a prefix.
    pub fn all(table: Table, prefix: Key) -> Self {
        Read { table, prefix, from: None, until: None, texts: None }
    }

    /// Of these rows those whose next part is a number of at least this, and below that.
    #[must_use]
    pub fn within(self, from: Option<u64>, until: Option<u64>) -> Self {
        Read { from, until, ..self }
    }
}

/// Rows as they were read.
pub type Rows = Vec<(Key, String)>;

/// The keys of rows.
pub fn keys(rows: &Rows) -> Vec<Key> {
    rows.iter().map(|(key, _)| key.clone()).list()
}

/// Why a store did not do as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// An [`Expect`] did not hold; the first that failed. Nothing was written.
    Conflict(Table, Key),
    /// The quota is used up. Nothing was written.
    Quota,
    /// The transaction was aborted or the connection is lost. Nothing was written.
    Failed(String),
    /// The database cannot be opened at all.
    Unavailable(String),
    /// A part of the package did not come.
    Absent(String),
    /// Another connection keeps an upgrade waiting.
    Blocked,
    /// A newer version of the package wrote this database.
    Newer,
    /// The database was deleted.
    Deleted,
    /// What was stored is gone, and nobody here has deleted it.
    Lost,
}

impl StoreError {
    /// The error as the page sees it.
    pub fn info(&self) -> ErrorInfo {
        let again = "start the agent again to go on from what is stored";
        let (code, message, hint) = match self {
            StoreError::Conflict(table, _) => {
                let message = format!("another holder has written to this workspace ({})", table.name());
                (Code::OwnershipLost, message, again)
            }
            StoreError::Quota => (
                Code::QuotaExceeded,
                "the storage quota is used up".into(),
                "free some space for this site, then start the agent again",
            ),
            StoreError::Failed(why) => {
                (Code::StorageFailed, format!("a write did not go through: {why}"), again)
            }
            StoreError::Unavailable(why) => (
                Code::StorageUnavailable,
                format!("the database cannot be opened: {why}"),
                "free some space if the disk is full, or open the workspace with storage: \"memory\" to keep nothing",
            ),
            StoreError::Absent(why) => return ErrorInfo::absent(why),
            StoreError::Blocked => (
                Code::StorageBlocked,
                "another tab keeps the database from being opened".into(),
                "close other tabs of this site and try again",
            ),
            StoreError::Newer => {
                return ErrorInfo::newer("this workspace was written by a newer version of lodger");
            }
            StoreError::Lost => (
                Code::StorageLost,
                "what this workspace had stored is gone: the browser or somebody else has deleted its database".into(),
                "open it without onStorageLost: \"reject\" to begin anew",
            ),
            StoreError::Deleted => {
                (Code::WorkspaceDeleted, "the workspace was deleted".into(), "open it again to begin anew")
            }
        };
        ErrorInfo::new(code, message).hint(hint)
    }
}

/// A request for a model API. The sender adds the secret headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The absolute address.
    pub url: String,
    /// Names in lower case, and values, both checked.
    pub headers: Vec<(String, String)>,
    /// The body; empty: there is none. Where it has the mark of a file ([`marks`]), that goes.
    pub body: String,
}

impl HttpRequest {
    /// The body, if it has one.
    pub fn body(&self) -> Option<&str> {
        Some(self.body.as_str()).filter(|body| !body.is_empty())
    }

    /// The method: what has no body only asks.
    pub fn method(&self) -> &'static str {
        if self.body.is_empty() { "GET" } else { "POST" }
    }
}

/// Regular expressions with the meaning that ECMA-262 gives them, which is what JSON Schema asks for. Whether one matches
/// a text is decided here, in linear time (`tools/schema/rare/pattern`). A browser knows what is one, and what is in a class
/// that has a table.
pub trait Patterns {
    /// Whether a regular expression, with or without the flag `u`, matches a character; `None`: it matches nothing. The error
    /// says why it is none.
    fn test(&self, source: &str, unicode: bool, c: Option<char>) -> Result<bool, String>;
}

/// The regular expressions that the host brings, if it brings any. Without them a schema that has a pattern is refused.
#[derive(Clone, Default)]
pub struct PatternEngine(Option<Rc<dyn Patterns>>);

impl PatternEngine {
    /// The host's.
    pub fn new(patterns: Rc<dyn Patterns>) -> PatternEngine {
        PatternEngine(Some(patterns))
    }

    /// What compiles patterns.
    pub fn patterns(&self) -> Rc<dyn Patterns> {
        self.0.clone().unwrap_or_else(|| Rc::new(NoPatterns))
    }
}

impl std::fmt::Debug for PatternEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "PatternEngine" } else { "no engine" })
    }
}

struct NoPatterns;

impl Patterns for NoPatterns {
    fn test(&self, _: &str, _: bool, _: Option<char>) -> Result<bool, String> {
        Err("this host has no regular expressions".into())
    }
}
