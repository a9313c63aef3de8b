//! Running a journal again.

use super::{Session, is_input};
use crate::error::ErrorInfo;
use crate::journal::Row;
use crate::json::items;

/// Where a replay went another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which entry.
    pub seq: u64,
    /// The row that is stored.
    pub stored: Row,
    /// The row that the machine made; `None`: it would have made none.
    pub made: Option<Row>,
}

impl Difference {
    /// `{ seq, stored, made }` as JSON text, the rows as in a file.
    pub fn json(&self) -> String {
        let made = self.made.as_ref().map_or_else(|| "null".into(), Row::to_line);
        let seq = self.seq.to_string();
        ["{\"seq\":", &seq, ",\"stored\":", &self.stored.to_line(), ",\"made\":", &made, "}"].concat()
    }
}

/// Feeds the recorded inputs to a fresh machine. What comes out must be what is stored, byte for byte.
///
/// A run whose content was erased cannot be run again; its rows are folded as they are, and so is what lies between it and
/// the clearing, or the withdrawal, behind it. So are rows of an older format: what makes them again is in the package that has
/// written them.
pub fn replay<'a>(
    id: &str,
    rows: impl IntoIterator<Item = &'a str>,
) -> Result<Result<(), Difference>, ErrorInfo> {
    let mut session = Session::new(id);
    for text in rows {
        if let Some(difference) = again(&mut session, &Row::from_text(text)?)? {
            return Ok(Err(difference));
        }
    }
    Ok(Ok(()))
}

/// The same for the row that comes next, with a machine that has made those before it. After a difference the machine
/// is no use any more.
pub fn again(session: &mut Session, row: &Row) -> Result<Option<Difference>, ErrorInfo> {
    let (header, entry) = row.read()?;
    if row.is_older() {
        session.read(&header, entry.as_ref(), row)?;
        return Ok(None);
    }
    session.settle();
    let erased = header.run.as_ref().is_some_and(|run| session.past.contains_key(run));
    // What was used up in it is known again where an entry behind it says so: until then budgets are another matter.
    let Some(stored) = entry.as_ref().filter(|_| !erased && !session.is_blank()) else {
        session.accept(&header, entry.as_ref(), row)?;
        return Ok(None);
    };
    let made = if is_input(stored) { Some((header.run.clone(), stored.clone())) } else { session.next() };
    let Some((run, entry)) = made else {
        return Ok(Some(Difference { seq: header.seq, stored: row.clone(), made: None }));
    };
    let (made_header, made) = session.row(header.at, run.as_deref(), &entry);
    // The signature is not the machine's affair.
    if made.to_text() != row.to_text() {
        return Ok(Some(Difference { seq: header.seq, stored: row.clone(), made: Some(made) }));
    }
    session.accept(&made_header, Some(&entry), &made)?;
    Ok(None)
}

/// How much work it may be to decide what comes next, besides looking at values: each call of the last answer is gone
/// through, and its arguments may be compared with those of each turn.
pub fn weight(session: &Session) -> u64 {
    let Some(run) = session.current() else { return 0 };
    let calls = run.turns.last().map_or(&[][..], |turn| &turn.calls);
    let arguments: usize = calls.iter().map(|call| call.arguments.len()).sum();
    let tools = items(&session.tools_record).len();
    calls.len() as u64 * (1 + tools as u64 / 32) + run.turns.len() as u64 * (arguments as u64 / 256)
}
