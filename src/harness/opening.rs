//! What was found where a workspace is opened.
//!
//! Decides whether it can be used, and whether what it had stored was lost. Promises: a loss is told at each opening
//! until the page has acknowledged it. What never stored anything, and what lodger itself has deleted, is never told as
//! lost. The marker follows the first commit and never precedes it. Leaves to others: looking, and setting the marker
//! (the pump).

use crate::harness::Harness;
use crate::harness::action::{Action, Notice};
use crate::harness::core::stored::{EMPTIED_KEY, FORMAT_KEY, LOST_KEY, check_format, first_format_write};
use crate::object::Object;
use crate::ports::{Commit, Millis, StoreError, Table, Write};
use crate::rooms::{Room, Rooms};

/// What is known of the marker, which says outside the database that something is stored in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marker {
    /// Nothing: there is no place for markers, or no workspace has ever set one there.
    #[default]
    Unknown,
    /// It is not there, and those of others may be.
    Absent,
    /// It has been there since this time.
    Since(Millis),
}

/// What is found as a workspace is opened.
#[derive(Debug, Default)]
pub struct Found {
    /// The row of the format; `None`: nothing was ever stored in this database.
    pub format: Option<String>,
    /// The row of a loss that nobody has acknowledged yet.
    pub lost: Option<String>,
    /// Whether the browser has said that it makes this database in place of one that it has dropped.
    pub emptied: bool,
    /// The marker. It counts only where there is neither row.
    pub marker: Marker,
}

impl Found {
    /// The keys in the table `meta` of the rows that tell of it, in this order.
    pub const KEYS: [&str; 3] = [FORMAT_KEY, LOST_KEY, EMPTIED_KEY];

    /// The row of a loss, if what was stored here was lost.
    fn loss(&self, now: Millis) -> Option<String> {
        if self.format.is_some() || self.lost.is_some() {
            return self.lost.clone();
        }
        let mut loss = Object::new();
        loss.number("at", now);
        match self.marker {
            Marker::Since(since) => loss.number("since", since),
            Marker::Unknown if self.emptied => &mut loss,
            // What the browser has dropped was of others.
            _ => return None,
        };
        Some(loss.json())
    }
}

impl Harness {
    /// The workspace is open. `rejects`: the page does not want it where what it had stored was lost. What a used one was
    /// left with will need its room, so that is asked for before anything waits for it.
    ///
    /// # Errors
    /// [`StoreError::Newer`] where a newer version of the package has written it, [`StoreError::Lost`] where nothing was
    /// stored since a loss and the page rejects that.
    pub fn opened(&mut self, now: Millis, found: &Found, rejects: bool) -> Result<(), StoreError> {
        check_format(found.format.as_deref())?;
        let used = found.format.is_some();
        if let Some(lost) = found.loss(now) {
            if rejects && !used {
                return Err(StoreError::Lost);
            }
            if found.lost.is_none() {
                // Of several tabs the first one counts. What any of them stores comes after it.
                let row = Write::Add { table: Table::Meta, key: vec![LOST_KEY.into()], value: lost.clone() };
                self.core.outbox.act(Action::Draft { writes: vec![row] });
            }
            self.lost = true;
            self.core.outbox.act(Action::Tell(Notice::Lost(lost)));
        }
        if used {
            self.mark();
        }
        self.ask_for(Rooms::given(used, Room::Past));
        Ok(())
    }

    /// Something is stored: from here on its loss can be seen.
    pub(super) fn mark(&mut self) {
        if !std::mem::replace(&mut self.marked, true) {
            self.core.outbox.act(Action::Mark);
        }
    }
}

/// The person or the page knows of the loss. From here on the workspace counts as used, so that the marker that is there
/// tells of nothing any more.
pub fn loss_known() -> Commit {
    let known = Write::DeletePrefix { table: Table::Meta, prefix: vec![LOST_KEY.into()] };
    Commit { writes: vec![known, first_format_write()], ..Commit::default() }
}
