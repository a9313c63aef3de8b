//! What stored rows say that no session reads: the database's format, a loss, that an agent was stopped, and what a
//! clearing still has to erase. And how the rows before a checkpoint are packed.

use crate::harness::core::Core;
use crate::journal::{Entry, Row, Withdrawn, pack};
use crate::list::Listed;
use crate::ports::{Key, Part, Rows, StoreError, Table, Write};
use crate::session::Checkpoint;

/// The row of the table `meta` that says in which format the database is.
pub const FORMAT_KEY: &str = "format";

/// The row that tells of a loss of all that was stored, until that is acknowledged: JSON, `at` and `since`.
pub const LOST_KEY: &str = "lost";

/// The row that `js/host/idb.js` writes where the browser says that it makes this database in place of a damaged one.
pub(in crate::harness) const EMPTIED_KEY: &str = "emptied";

/// The row that says until which epoch an agent was stopped on purpose.
pub(in crate::harness) const STOPPED_KEY: &str = "stopped";

/// What that row says.
pub(in crate::harness) fn stopped_until(row: Option<&str>) -> u64 {
    row.and_then(|row| row.parse().ok()).unwrap_or_default()
}

/// The version of the database's format.
const FORMAT: u64 = crate::journal::FORMAT;

/// The formats that are written once: a higher one is written twice, because a bit that flips makes a 3 of a 2.
const WRITTEN_ONCE: u64 = 2;

/// What the row of a format says: its number.
pub fn format_text(version: u64) -> String {
    if version > WRITTEN_ONCE { format!("{version}={version}") } else { version.to_string() }
}

/// Whether a database in this format (the text of the row, if there is one) can be used.
pub(in crate::harness) fn check_format(stored: Option<&str>) -> Result<(), StoreError> {
    // Anything else nobody has written: it is damaged, and each row says its own format.
    let written_twice = stored.and_then(|text| text.split_once('=')).filter(|(one, other)| one == other);
    match written_twice.and_then(|(version, _)| version.parse::<u64>().ok()) {
        Some(version) if version > FORMAT => Err(StoreError::Newer),
        _ => Ok(()),
    }
}

/// The write of a tab that takes the workspace: from here on it is in this format.
pub(in crate::harness) fn format_write() -> Write {
    let (table, key, value) = format_row();
    Write::Put { table, key, value }
}

/// The same of a tab that does not: a newer one may be at work beside it.
pub fn first_format_write() -> Write {
    let (table, key, value) = format_row();
    Write::Add { table, key, value }
}

fn format_row() -> (Table, Key, String) {
    (Table::Meta, vec![FORMAT_KEY.into()], format_text(FORMAT))
}

/// Whether a cleared conversation still holds content in these rows.
pub(in crate::harness) fn holds_erased(rows: &Rows) -> bool {
    erased(rows).into_iter().any(|row| row.is_some())
}

/// What takes the place of each of these rows, where a clearing behind it, or the withdrawal of its message, wants its
/// content erased.
fn erased(rows: &Rows) -> Vec<Option<String>> {
    let parsed = rows.iter().map(|(_, text)| Row::from_text(text).ok()).list();
    let is_clearing =
        |row: &Option<Row>| row.as_ref().and_then(Row::header).is_some_and(|header| header.kind == "cleared");
    let until = parsed.iter().rposition(is_clearing).unwrap_or_default();
    let mut withdrawn = Withdrawn::default();
    for (at, row) in parsed.iter().enumerate() {
        let row = row.as_ref().filter(|row| row.header().is_some_and(|header| header.kind == "withdrawn"));
        if let Some((_, Some(entry))) = row.and_then(|row| row.read().ok()) {
            withdrawn.take(at, &entry);
        }
    }
    let erase = |(at, row): (usize, Option<Row>)| {
        let row = row?;
        let (header, entry) = row.read().ok()?;
        if at >= until && !withdrawn.covers(at, &header) {
            return None;
        }
        (entry.is_some() && Entry::erasable(&header.kind)).then(|| row.erased().to_text())
    };
    parsed.into_iter().enumerate().map(erase).list()
}

impl Core {
    /// Content of a session at hand is to be erased: its head says so until it is.
    pub(in crate::harness) fn erases(&mut self, session: &str) {
        if let Some(taken) = self.sessions.get_mut(session) {
            taken.session.erases();
        }
    }

    /// Erases the content of cleared conversations in these rows, which are all from the checkpoint on (`whole`: from the
    /// first on). Where there can be a checkpoint it is written, and the rows before it are packed. `opened`: the others were
    /// packed too, and are not any more.
    pub(in crate::harness) fn pack(
        &mut self,
        session: &str,
        rows: &Rows,
        place: Option<Checkpoint>,
        (whole, opened): (bool, bool),
    ) {
        let erased = erased(rows);
        let seq = |key: &Key| match key.get(1) {
            Some(Part::Number(seq)) => *seq,
            _ => u64::MAX,
        };
        let place = place.filter(|place| {
            self.sessions.has(session) && rows.iter().any(|(key, text)| place.is_at(seq(key), text))
        });
        let packed = place.as_ref().map_or(0, |place| place.seq);
        if opened || (whole && packed > 0) {
            self.outbox.write(pack::unpack(session));
        }
        let mut texts = Vec::new();
        for ((key, text), erased) in rows.iter().zip(erased) {
            if seq(key) <= packed {
                texts.push(erased.unwrap_or_else(|| text.clone()));
            } else if let Some(value) = erased.or_else(|| opened.then(|| text.clone())) {
                self.outbox.write(Write::Put { table: Table::Entries, key: key.clone(), value });
            }
        }
        // Its head is written anew: it says no more that something is to be erased, and it names the checkpoint.
        if let Some(taken) = self.sessions.get_mut(session) {
            taken.written = 0;
            taken.session.is_erased(place.as_ref());
        }
        let Some(place) = place else { return };
        for write in pack::pack(session, &texts, place.seq) {
            self.outbox.write(write);
        }
        let (table, key) = (Table::Entries, pack::checkpoint_key(session));
        self.outbox.write(Write::Pack { table, key, value: place.text });
    }
}
