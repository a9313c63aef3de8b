//! The signatures among rows that were read: which are worked out again, and what comes of the heads.
//!
//! Leaves to others: what a signature says (`core/integrity`).

use crate::harness::core::integrity::{Head, event_in};
use crate::harness::core::{Core, DEFAULT_SESSION};
use crate::harness::reads::After;
use crate::journal::canonical::Integrity;
use crate::list::Listed;
use crate::ports::{Key, Part, Rows};
use serde_json::Value;

/// Holds a head against the signature that its text should have. `whole`: all rows of the session are read with it.
pub(super) fn judge_head(core: &mut Core, id: &str, head: &Head, expected: Option<&str>, whole: bool) {
    // A head in another's place says the truth of another session; only the first session is older than records.
    let named = head.record().map(|record| record.get("id").and_then(Value::as_str));
    let moved = named.map_or(id != DEFAULT_SESSION, |named| named != Some(id));
    let verdict = head.judge(expected);
    core.sessions.change(id, |slot| {
        slot.verdict = Some(if moved { Integrity::Tampered } else { verdict });
        slot.tampered &= !whole;
        slot.damage.take_if(|_| whole);
    });
}

impl After {
    /// Holds the heads among these rows against what their texts sign to. Of a list each is judged when it is told of.
    pub(in crate::harness) fn judge(&self, core: &mut Core, rows: &[Rows], signatures: Option<&[String]>) {
        if matches!(self, After::Arrived { .. } | After::List { .. }) {
            return;
        }
        let heads = heads_among(self, rows);
        let before = signatures.map_or(0, <[String]>::len).saturating_sub(heads.len());
        for (at, (key, row)) in heads.into_iter().enumerate() {
            let expected = signatures.map(|all| all.get(before + at).map_or("", String::as_str));
            let Some(Part::Text(id)) = key.first() else { continue };
            // What rows gave away counts until all of them are read again.
            let whole = match self {
                After::Look(waiting) => {
                    let page = waiting.by_rows() || waiting.tail.is_some();
                    !page && !core.sessions.has(id)
                }
                _ => true,
            };
            let head = Head::parse(row);
            // What lies before its checkpoint is read where somebody asks for all of it.
            let all = head.first() <= 1 || matches!(self, After::Look(waiting) if waiting.whole);
            judge_head(core, id, &head, expected, whole && all);
        }
    }

    /// What is to be signed again to judge rows that were read for this: events, then heads.
    pub(in crate::harness) fn texts_to_judge(&self, rows: &[Rows]) -> Vec<String> {
        let mut texts = Vec::new();
        let by_events = match self {
            After::Look(waiting) => waiting.judges_events(),
            _ => matches!(self, After::Arrived { .. }),
        };
        if by_events {
            let events = rows.iter().take(1).flatten().filter_map(|(_, text)| event_in(text));
            texts.extend(events.filter_map(|(_, payload, stored)| stored.map(|_| payload)));
        }
        for (_, row) in heads_among(self, rows) {
            texts.push(Head::signed_text(row).into());
        }
        texts
    }
}

/// The heads among rows that were read for this.
fn heads_among<'a>(after: &After, rows: &'a [Rows]) -> Vec<&'a (Key, String)> {
    match after {
        After::Look(_) | After::Arrived { .. } | After::Archive { .. } => {
            rows.iter().skip(1).take(1).flatten().list()
        }
        After::Load { .. } => rows.chunks(4).filter_map(|rows| rows.get(1)).flatten().list(),
        After::List { .. } => rows.iter().take(1).flatten().list(),
        // Nothing is erased on the word of a head that somebody has changed; the others are judged when they are taken.
        After::Around => {
            let removed = |(_, head): &&(Key, String)| head.contains("\"removed\"");
            rows.iter().take(1).flatten().filter(removed).list()
        }
        _ => Vec::new(),
    }
}
