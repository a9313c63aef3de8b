//! Drafts: what streams and is in no entry yet, as it is stored beside the journal.
//!
//! Decides what a row of a draft has and what of a lost answer is believed. Promises: a row that is not what was written
//! gives no text, and the entry says so. Leaves to others: when a draft is written (`calls/streaming`), and what becomes
//! of the answer (`runner/lost`).

use crate::journal::{Entry, blocks_from_json, sha256};
use crate::json;
use crate::list::Listed;
use crate::maps::Named;
use crate::model::Block;
use crate::ports::{Key, Part, Rows, Table, Write};
use serde_json::Value;

/// How many characters of a row say what the others are: digits of a hash.
const SUM: usize = 64;

/// What a row says of its key and its text. Drafts are in no chain of hashes.
fn sum(key: &[Part], text: &str) -> String {
    let mut place = String::new();
    for part in key {
        match part {
            Part::Number(number) => place.push_str(&number.to_string()),
            Part::Text(text) => place.push_str(text),
        }
        place.push(' ');
    }
    sha256(&[&place, text])
}

/// The write of a row: pieces of the parts of an answer, `[part, start in bytes, block]`.
pub(in crate::harness) fn write(key: Key, pieces: Vec<Value>) -> Write {
    let text = json::json(&pieces.into());
    let value = [&*sum(&key, &text), &text].concat();
    Write::Put { table: Table::Drafts, key, value }
}

/// The pieces of a row, if it is what was written.
fn read(key: &[Part], row: &str) -> Option<Value> {
    // Rows from before there were sums begin with their text.
    let text = match row.split_at_checked(SUM) {
        Some((said, text)) if !row.starts_with('[') => (said == sum(key, text)).then_some(text)?,
        _ => row,
    };
    json::parse(text)
}

/// That a run was lost, with what the drafts of its last holder kept of its answer.
pub(in crate::harness) fn lost(run: &str, drafts: &Rows) -> Entry {
    let rows = drafts.iter().map(|(key, row)| (key, read(key, row))).list();
    let of_run =
        || rows.iter().filter(|(key, pieces)| key.get(1) == Some(&Part::from(run)) && pieces.is_some());
    let epoch = of_run().filter_map(|(key, _)| key.get(2)).max();
    // A row that is not what was written may be of any run.
    let mut damaged = rows.iter().any(|(_, pieces)| pieces.is_none());
    // What has come of each part, and the places of the parts there.
    let mut blocks: Vec<Block> = Vec::new();
    let mut places: Named<()> = Named::default();
    let last = of_run().filter(|(key, _)| key.get(2) == epoch).filter_map(|(_, pieces)| pieces.as_ref());
    for piece in last.flat_map(json::items) {
        let number = |n: usize| piece.get(n).and_then(Value::as_u64).unwrap_or_default();
        let (part, start) = (number(0).to_string(), usize::try_from(number(1)).unwrap_or_default());
        let news = piece.get(2).cloned().map(|block| Value::Array(vec![block]));
        for block in news.as_ref().and_then(blocks_from_json).unwrap_or_default() {
            let had = places.number(&part).and_then(|place| blocks.get_mut(place));
            match (had, block) {
                (Some(Block::Text(had)), Block::Text(more))
                | (Some(Block::Thinking { text: had, .. }), Block::Thinking { text: more, .. })
                    if start <= had.len() =>
                {
                    had.truncate(had.floor_char_boundary(start));
                    had.push_str(&more);
                }
                (None, block) if start == 0 => {
                    places.insert(&part, ());
                    blocks.push(block);
                }
                // What this goes on from is not there.
                _ => damaged = true,
            }
        }
    }
    Entry::Lost { blocks, damaged: damaged.then_some(true) }
}
