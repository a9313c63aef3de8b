//! Running a journal again.

use super::{Session, is_input};
use crate::error::ErrorInfo;
use crate::journal::Row;

/// Where a replay went another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which entry.
    pub seq: u64,
    /// The row that is stored.
    pub stored: String,
    /// The row that the machine made; `None`: it would have made none.
    pub made: Option<String>,
}

/// Feeds the recorded inputs to a fresh machine. What comes out must be what is stored, byte for byte.
///
/// A run whose content was erased cannot be run again; its rows are folded as they are.
pub fn replay<'a>(
    id: &str,
    rows: impl IntoIterator<Item = &'a str>,
) -> Result<Result<(), Difference>, ErrorInfo> {
    let mut session = Session::new(id);
    for text in rows {
        let row = Row::from_text(text)?;
        let (header, entry) = row.read()?;
        let erased = header.run.as_ref().is_some_and(|run| session.past.contains_key(run));
        let Some(stored) = entry.filter(|_| !erased) else {
            session.accept(&header, row.read()?.1.as_ref(), &row)?;
            continue;
        };
        let made = if is_input(&stored) {
            Some((header.run.clone(), stored))
        } else {
            session.next().map(|(run, entry)| (Some(run), entry))
        };
        let (header, row) = match &made {
            Some((run, entry)) => session.row(header.at, run.as_deref(), entry),
            None => (header, row),
        };
        if made.is_none() || row.to_text() != text {
            let made = made.map(|_| row.to_text());
            return Ok(Err(Difference { seq: header.seq, stored: text.into(), made }));
        }
        session.accept(&header, made.as_ref().map(|(_, entry)| entry), &row)?;
    }
    Ok(Ok(()))
}
