//! What the rows of a journal say for themselves: events, receipts, handoffs, and what a run that is over has left.
//!
//! Leaves to others: whether these rows can be believed (`look`).

use crate::error::ErrorInfo;
use crate::harness::core::integrity::bare;
use crate::journal::{Entry, Header, RecordKind, Row};
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Key;
use crate::protocol::Command;
use crate::session::damage;
use crate::session::damage::{Place, Survey};
use crate::session::record::Short;
use serde_json::Value;

/// What a run that is over has left in these rows, by its id or its task's: `{ run, receipts, handoff }`.
pub(in crate::harness) fn left_by(id: &str, rows: &[(Key, String)]) -> Result<Option<Value>, ErrorInfo> {
    let mut receipts: Vec<(String, Value)> = Vec::new();
    let mut task = None;
    for (_, text) in rows {
        let (header, entry) = Row::from_text(text)?.read()?;
        let (Some(run), Some(Entry::Recorded { what, record })) = (header.run, entry) else { continue };
        if let Some(short) = Short::of(what.known(), &record, Some(&run)) {
            let ends = what == RecordKind::End && (run == id || short.task().as_deref() == Some(id));
            let whole = |kind| short.records(kind).map(|records| records.into_iter());
            if ends
                && let (Some(task), Some(handoff)) =
                    (whole(RecordKind::Run)?.next(), whole(RecordKind::Handoff)?.next())
            {
                let of_run = receipts.into_iter().filter(|(of, _)| *of == run).map(|(_, receipt)| receipt);
                let receipts = of_run.chain(whole(RecordKind::Receipt)?).list();
                return Ok(Some(left(task, receipts, handoff)));
            }
            continue;
        }
        match what.known() {
            Some(RecordKind::Receipt) => receipts.push((run, record)),
            Some(RecordKind::Run)
                if run == id || record.get("task_id").and_then(Value::as_str) == Some(id) =>
            {
                task = Some((run, record));
            }
            Some(RecordKind::Handoff) => {
                if let Some((run, task)) = task.take() {
                    let of_run = receipts.into_iter().filter(|(of, _)| *of == run);
                    return Ok(Some(left(task, of_run.map(|(_, receipt)| receipt).list(), record)));
                }
            }
            _ => {}
        }
    }
    Ok(None)
}

fn left(run: Value, receipts: Vec<Value>, handoff: Value) -> Value {
    let mut left = Object::new();
    left.value("run", run).value("receipts", receipts.into()).value("handoff", handoff).done()
}

/// `SessionEvent` of the contract: what a row of the journal says.
fn event_of(header: &Header, entry: Option<&Entry>, row: &Row) -> Value {
    let mut event = Object::new();
    event.all(entry.map(Entry::to_json).into());
    event.number("v", 1).number("seq", header.seq).number("at", header.at);
    event.text("type", &header.kind).maybe_text("runId", header.run.as_deref());
    event.text("hash", row.hash()).done()
}

/// The journal of a damaged session, so far as it is whole; a gap stands where the last of its rows was.
pub(in crate::harness) fn told_in_part(from: u64, limit: Option<u64>, survey: &Survey) -> Value {
    let mut told: Vec<Value> = Vec::new();
    for place in &survey.places {
        if told.len() as u64 >= limit.unwrap_or(u64::MAX) {
            break;
        }
        match place {
            Place::Whole(header, entry, row) if header.seq >= from => {
                told.push(event_of(header, entry.as_ref(), row));
            }
            Place::Lost(gap) | Place::Open(gap) if gap.to >= from => told.push(damage::event_of(gap, from)),
            _ => {}
        }
    }
    told.into()
}

/// What the rows of a session say: `SessionEvent`s of the contract, or what was put on record.
pub(in crate::harness) fn told_rows(
    command: Command,
    limit: Option<u64>,
    rows: &[(Key, String)],
) -> Result<Value, ErrorInfo> {
    let limit = limit.unwrap_or(u64::MAX);
    let wanted = match command {
        Command::SessionsEvents => Some(RecordKind::Event),
        Command::SessionsReceipts => Some(RecordKind::Receipt),
        Command::SessionsHandoffs => Some(RecordKind::Handoff),
        _ => None,
    };
    let mut told: Vec<Value> = Vec::new();
    for (_, text) in rows {
        if told.len() as u64 >= limit {
            break;
        }
        let row = Row::from_text(text)?;
        let (header, entry) = row.read()?;
        let Some(wanted) = wanted else {
            told.push(event_of(&header, entry.as_ref(), &row));
            continue;
        };
        let Some(Entry::Recorded { what, record }) = entry else { continue };
        let records = match Short::of(what.known(), &record, header.run.as_deref()) {
            Some(short) => short.records(wanted)?,
            None if what == wanted => vec![record],
            None => continue,
        };
        for record in records {
            let mut whole = Object::new();
            whole.all(record);
            // An event has the signature that it is stored with, and where it stands.
            if wanted == RecordKind::Event {
                whole.maybe_text("receipt_hmac", row.signature().map(bare)).number("seq", header.seq);
            }
            told.push(whole.done());
        }
    }
    Ok(told.into())
}
