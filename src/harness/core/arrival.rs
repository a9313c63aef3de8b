//! A session that arrives: what is known of it until it is one of the workspace.
//!
//! Leaves to others: how it comes (`holding/arrivals`).

use crate::error::{Code, ErrorInfo};
use crate::harness::core::Core;
use crate::harness::core::head::Head;
use crate::harness::core::removed::delete;
use crate::journal::canonical::Integrity;
use crate::journal::{Ask, Entry, GENESIS};
use crate::object::Object;
use crate::ports::{Rows, Table};
use crate::session::Session;
use crate::session::record::Record;
use serde_json::Value;

/// The row of the table `meta` that names the session that arrives.
pub(in crate::harness) const ARRIVING: &str = "arriving";

/// A session that arrives.
#[derive(Debug)]
pub(in crate::harness) struct Arrival {
    /// What it will be, without what makes it one of its own.
    pub session: Session,
    /// `import`, `fork` or `salvage`.
    pub what: Ask,
    /// What is known of its signature.
    pub integrity: Integrity,
    /// Where it comes from.
    pub from: Value,
    /// The name of a fork's own provider.
    pub provider: Option<String>,
    /// What its head has said of it: the rows that say it may be lost.
    pub record: Option<Record>,
    /// Whether a fork has of a file what its own rows do not tell of.
    pub imported: bool,
    /// The rows of a fork, or those that are kept of a damaged session.
    pub rows: Vec<String>,
    /// What follows them, with its run.
    pub rest: Vec<(Option<String>, Entry)>,
    /// It takes the place of the damaged session, which had this head.
    pub replaces: Option<Option<Head>>,
    /// The command that waits for it to be admitted.
    pub waiting: Option<u32>,
    /// Its id here, once it was admitted.
    pub id: Option<String>,
    /// How many rows are written, and the hash of the last one.
    pub written: u64,
    pub hash: String,
    /// The files that are not written yet.
    pub files: Vec<String>,
}

impl Arrival {
    /// Whether this is the id that it gets.
    pub fn is_called(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    /// What will be this session.
    pub fn new(session: Session, what: Ask) -> Arrival {
        let from = Object::new()
            .text("from_session_id", &session.id)
            .number("from_seq", session.seq())
            .text("from_hash", session.hash())
            .done();
        Arrival {
            session,
            what,
            integrity: Integrity::Verified,
            from,
            provider: None,
            record: None,
            imported: false,
            rows: Vec::new(),
            rest: Vec::new(),
            replaces: None,
            waiting: None,
            id: None,
            written: 0,
            hash: GENESIS.into(),
            files: Vec::new(),
        }
    }
}

impl Core {
    /// What a page left that went away while a session arrived.
    pub(in crate::harness) fn sweep_arrival(&mut self, rows: &Rows) {
        let Some((_, id)) = rows.first() else { return };
        if self.sessions.head(id).is_none() {
            self.outbox.write(delete(Table::Entries, id));
        }
        self.outbox.write(delete(Table::Meta, ARRIVING));
    }
}

pub(in crate::harness) fn nothing_arrives() -> ErrorInfo {
    ErrorInfo::new(Code::Aborted, "the session does not arrive any more")
        .hint("the agent was stopped or has failed meanwhile: import it again")
}
