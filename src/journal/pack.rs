//! Packs: many rows of a journal's past under one key.
//!
//! A conversation that was cleared leaves rows that hardly anything reads again. One by one they cost more than they say,
//! because each of them repeats what the one before it says. So they are put together, and the store presses them.
//!
//! Decides how rows lie in a pack, and under which keys packs and checkpoints lie. Promises: a row comes out of a pack byte
//! for byte. A pack that is damaged comes out as one row that cannot be read, in the place of its last. Leaves to others: which
//! rows are packed (`harness/core/stored`), and how they are pressed (the store).

use crate::list::Listed;
use crate::ports::{Key, Part, Read, Rows, Table, Write};

/// How many rows are in a pack at most. A page that begins before a pack's end reads so many rows more.
pub const PACKED: u64 = 64;

/// The part of a key behind which packs lie, each under the number of its last row.
const PACKS: &str = "packs";

/// The last part of the key of a checkpoint.
const CHECKPOINT: &str = "checkpoint";

/// What stands between two rows: no row has it, because JSON has no raw control character.
const BETWEEN: char = '\u{1e}';

/// The key of a session's checkpoint.
pub fn checkpoint_key(session: &str) -> Key {
    vec![session.into(), CHECKPOINT.into()]
}

/// What reads the rows of a session that no pack holds.
pub fn loose(session: &str) -> Read {
    Read { from: Some(1), ..Read::all(Table::Entries, vec![session.into()]) }
}

/// What reads the packs that may hold rows from this one on and before that one.
pub fn packs(session: &str, from: u64, until: Option<u64>) -> Read {
    let until = until.map(|until| until.saturating_add(PACKED));
    Read { from: Some(from), until, ..Read::all(Table::Entries, vec![session.into(), PACKS.into()]) }
}

/// The writes that pack these rows, which follow each other and end with this number.
pub fn pack(session: &str, rows: &[String], last: u64) -> Vec<Write> {
    let first = (last + 1).saturating_sub(rows.len() as u64);
    let mut next = first;
    let mut writes = Vec::new();
    for rows in rows.chunks(PACKED as usize) {
        next += rows.len() as u64;
        let mut value = String::new();
        for row in rows {
            value.push(BETWEEN);
            value.push_str(row);
        }
        let key = vec![session.into(), PACKS.into(), (next - 1).into()];
        writes.push(Write::Pack { table: Table::Entries, key, value });
    }
    let (table, prefix) = (Table::Entries, vec![session.into()]);
    writes.push(Write::DeleteRange { table, prefix, from: first, until: last + 1 });
    writes
}

/// The write that lets all packs of a session go.
pub fn unpack(session: &str) -> Write {
    Write::DeletePrefix { table: Table::Entries, prefix: vec![session.into(), PACKS.into()] }
}

/// Rows as they were before they were packed, in the order of their numbers; a checkpoint among them is left out.
pub fn unpacked(rows: Rows) -> Rows {
    let is_loose = |(key, _): &(Key, String)| matches!(key.get(1), Some(Part::Number(_)) | None);
    // Packs and the checkpoint sort last.
    if rows.last().is_none_or(is_loose) {
        return rows;
    }
    let mut all = Rows::new();
    let mut loose = Rows::new();
    for (key, text) in rows {
        match (key.first(), key.get(1), key.get(2)) {
            (Some(session), Some(Part::Text(part)), Some(Part::Number(last))) if part == PACKS => {
                all.append(&mut of_pack(session, *last, &text));
            }
            (_, Some(Part::Number(_)), _) => loose.push((key, text)),
            _ => {}
        }
    }
    // What no pack holds came later.
    all.append(&mut loose);
    all
}

/// The rows in a pack; `None`: it is none.
pub fn rows_of(text: &str) -> Option<Vec<&str>> {
    text.strip_prefix(BETWEEN).map(|rows| rows.split(BETWEEN).list())
}

fn of_pack(session: &Part, last: u64, text: &str) -> Rows {
    let row = |seq: u64, text: &str| (vec![session.clone(), Part::Number(seq)], text.to_owned());
    let Some(texts) = rows_of(text) else { return vec![row(last, text)] };
    let first = (last + 1).saturating_sub(texts.len() as u64);
    texts.into_iter().zip(first..).map(|(text, seq)| row(seq, text)).list()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Commit, MemoryStore};

    fn texts(rows: &Rows) -> Vec<&str> {
        rows.iter().map(|(_, text)| text.as_str()).collect()
    }

    fn store(rows: u64) -> (MemoryStore, Vec<String>) {
        let mut store = MemoryStore::new();
        let all: Vec<String> = (1..=rows).map(|n| format!("h{n}\n\nc{n}")).collect();
        let put = |(text, n): (&String, u64)| {
            let (table, key) = (Table::Entries, vec!["a".into(), n.into()]);
            Write::Put { table, key, value: text.clone() }
        };
        let mut writes = all.iter().zip(1..).map(put).collect::<Vec<_>>();
        writes.push(Write::Put { table: Table::Entries, key: checkpoint_key("a"), value: "{}".into() });
        store.commit(&Commit { writes, ..Commit::default() }).unwrap();
        (store, all)
    }

    #[test]
    fn what_is_packed_reads_as_before() {
        for (rows, last) in [(1, 1), (64, 64), (65, 65), (200, 130), (200, 199)] {
            let (mut store, all) = store(rows);
            let writes = pack("a", &all[..last as usize], last);
            store.commit(&Commit { writes, ..Commit::default() }).unwrap();
            assert_eq!(store.read(&loose("a")).len() as u64, rows - last);
            let whole = unpacked(store.read(&Read::all(Table::Entries, vec!["a".into()])));
            assert_eq!(texts(&whole), all);
            assert!(
                whole.iter().zip(1..).all(|((key, _), n)| *key == vec![Part::from("a"), Part::Number(n)])
            );
            for from in [1, 2, 63, 64, 65, 129] {
                let until = from + 3;
                let read = unpacked(store.read(&packs("a", from, Some(until))));
                let wanted = read.iter().filter(|(key, _)| key[1] >= from.into() && key[1] < until.into());
                let expected = all[..last as usize].iter().skip(from as usize - 1).take(3);
                assert!(wanted.map(|(_, text)| text).eq(expected), "{rows} {last} {from}");
            }
        }
    }

    #[test]
    fn a_damaged_pack_is_one_row_that_cannot_be_read() {
        let (mut store, all) = store(70);
        store.commit(&Commit { writes: pack("a", &all, 70), ..Commit::default() }).unwrap();
        let key = vec!["a".into(), PACKS.into(), 64.into()];
        let write = Write::Put { table: Table::Entries, key, value: String::new() };
        store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
        let rows = unpacked(store.read(&Read::all(Table::Entries, vec!["a".into()])));
        assert_eq!(rows.len(), 7);
        assert_eq!(rows[0], (vec!["a".into(), 64.into()], String::new()));
        assert_eq!(texts(&rows)[1..], all[64..]);
    }
}
