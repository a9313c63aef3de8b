//! Packs: many rows of a journal's past under one key.
//!
//! A conversation that was cleared leaves rows that hardly anything reads again. One by one they cost more than they say,
//! because each of them repeats what the one before it says. So they are put together, and the store presses them.
//!
//! Decides how rows lie in a pack, and under which keys packs and checkpoints lie. Promises: a row comes out of a pack byte
//! for byte. A pack that is damaged comes out as it lies there, as one row that cannot be read, in the place of its last.
//! Hashes that are left out are made again, and the last row of the pack, which has its own, says whether they are right.
//! Leaves to others: which rows are packed (`harness/core/stored`), and how they are pressed (the store).

use crate::journal::Row;
use crate::list::Listed;
use crate::ports::{Key, Part, Read, Rows, Table, Write};

/// How many rows are in a pack at most. A page that begins before a pack's end reads so many rows more.
pub const PACKED: u64 = 64;

/// The part of a key behind which packs lie, each under the number of its last row.
const PACKS: &str = "packs";

/// The last part of the key of a checkpoint.
const CHECKPOINT: &str = "checkpoint";

/// What stands before a row: no row has it, because JSON has no raw control character.
const WHOLE: char = '\u{1e}';

/// What stands before a row whose hashes are left out, because the one before it gives them. Hashes are what pressing
/// cannot make smaller.
const LEAN: char = '\u{1d}';

/// The key of a session's checkpoint.
pub fn checkpoint_key(session: &str) -> Key {
    vec![session.into(), CHECKPOINT.into()]
}

/// The key of the checkpoint of its window. It lies below the other: both are read at once.
pub fn window_key(session: &str) -> Key {
    vec![session.into(), CHECKPOINT.into(), "window".into()]
}

/// What reads the rows of a session that no pack holds.
pub fn loose(session: &str) -> Read {
    Read::all(Table::Entries, vec![session.into()]).within(Some(1), None)
}

/// What reads the packs that may hold rows from this one on and before that one.
pub fn packs(session: &str, from: u64, until: Option<u64>) -> Read {
    let until = until.map(|until| until.saturating_add(PACKED));
    Read::all(Table::Entries, vec![session.into(), PACKS.into()]).within(Some(from), until)
}

/// The writes that pack these rows, which follow each other and end with this number.
pub fn pack(session: &str, rows: &[String], last: u64) -> Vec<Write> {
    let first = (last + 1).saturating_sub(rows.len() as u64);
    let mut next = first;
    let mut writes = Vec::new();
    for rows in rows.chunks(PACKED as usize) {
        next += rows.len() as u64;
        let value = packed(rows);
        let key = vec![session.into(), PACKS.into(), (next - 1).into()];
        writes.push(Write::Pack { table: Table::Entries, key, value });
    }
    let (table, prefix) = (Table::Entries, vec![session.into()]);
    writes.push(Write::DeleteRange { table, prefix, from: first, until: last + 1 });
    writes
}

fn packed(rows: &[String]) -> String {
    let read = rows.iter().filter_map(|row| Row::from_text(row).ok()).list();
    // What is damaged already is kept as it is.
    let mut pairs = read.iter().zip(read.iter().skip(1));
    let in_order = read.len() == rows.len() && pairs.all(|(one, next)| next.follows(one.hash()));
    let mut value = String::new();
    for (at, text) in rows.iter().enumerate() {
        match read.get(at).filter(|_| in_order && at > 0 && at + 1 < rows.len()) {
            Some(row) => {
                value.push(LEAN);
                value.push_str(&row.lean());
            }
            None => {
                value.push(WHOLE);
                value.push_str(text);
            }
        }
    }
    value
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

/// What lies in a pack, each row as it lies there: `None`: it is none.
pub fn rows_of(text: &str) -> Option<Vec<&str>> {
    let rows = text.strip_prefix(WHOLE)?;
    Some(rows.split([WHOLE, LEAN]).list())
}

fn of_pack(session: &Part, last: u64, text: &str) -> Rows {
    let row = |seq: u64, text: String| (vec![session.clone(), Part::Number(seq)], text);
    let Some(texts) = whole_rows(text) else { return vec![row(last, text.to_owned())] };
    let first = (last + 1).saturating_sub(texts.len() as u64);
    texts.into_iter().zip(first..).map(|(text, seq)| row(seq, text)).list()
}

/// The rows in a pack, as they were; `None`: it is none, or not what it was.
fn whole_rows(text: &str) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    let (mut previous, mut made) = (String::new(), false);
    for group in text.strip_prefix(WHOLE)?.split(WHOLE) {
        for (at, text) in group.split(LEAN).enumerate() {
            if at > 0 {
                let row = Row::from_lean(text, &previous)?;
                texts.push(row.stored());
                (previous, made) = (row.hash().to_owned(), true);
                continue;
            }
            let row = Row::from_text(text).ok();
            if made && !row.as_ref().is_some_and(|row| row.follows(&previous)) {
                return None;
            }
            texts.push(text.to_owned());
            (previous, made) = (row.map_or(String::new(), |row| row.hash().to_owned()), false);
        }
    }
    (!made).then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Entry, Header};
    use crate::ports::{Commit, MemoryStore, signed_row};

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

    /// A journal with erased and signed rows among the others.
    fn journal(rows: u64) -> Vec<String> {
        let mut previous = String::new();
        let mut texts = Vec::new();
        for seq in 1..=rows {
            let header = Header { seq, at: seq, kind: "ended".into(), run: Some("run_1".into()) };
            let row = Row::new(
                &header,
                &Entry::Ended { outcome: format!("é{seq}").as_str().into(), code: None },
                &previous,
            );
            previous = row.hash().to_owned();
            let text = if seq % 3 == 0 { row.erased().to_text() } else { row.to_text() };
            let signature = if seq % 4 == 0 { vec![format!("mac{seq} key")] } else { Vec::new() };
            texts.push(signed_row(&text, &signature));
        }
        texts
    }

    fn read_back(rows: &[String]) -> Vec<String> {
        of_pack(&"a".into(), rows.len() as u64, &packed(rows)).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn hashes_that_follow_are_left_out_and_made_again() {
        let rows = journal(64);
        assert_eq!(read_back(&rows), rows);
        let pressed = packed(&rows);
        let hash = |n: usize| rows[n].split('\n').nth(3).unwrap();
        assert!(pressed.contains(hash(0)) && pressed.contains(hash(63)));
        assert!((1..63).all(|n| !pressed.contains(hash(n))));
        // Two have nothing between them that could be left out.
        assert_eq!(read_back(&rows[..2]), rows[..2]);
        assert_eq!(read_back(&rows[5..6]), rows[5..6]);
    }

    #[test]
    fn rows_that_are_damaged_when_they_are_packed_stay_as_they_are() {
        for damaged in [0, 1, 30, 63] {
            let mut rows = journal(64);
            for edit in [rows[damaged].replacen("run_1", "run_2", 1), "rubbish".into(), String::new()] {
                rows[damaged] = edit;
                assert_eq!(read_back(&rows), rows, "{damaged}");
            }
        }
    }

    #[test]
    fn a_pack_that_was_changed_is_one_row_that_cannot_be_read() {
        let rows = journal(8);
        let text = packed(&rows);
        let unreadable = |text: &str| vec![(vec!["a".into(), 8.into()], text.to_owned())];
        let marks = text.matches([WHOLE, LEAN]);
        let pieces: Vec<String> =
            marks.zip(rows_of(&text).unwrap()).map(|(mark, row)| [mark, row].concat()).collect();
        assert_eq!(pieces.concat(), text);
        for row in 0..pieces.len() {
            let mut changed = pieces.clone();
            changed[row] = changed[row].replacen("\"at\":", "\"at\":1", 1);
            assert_ne!(changed, pieces);
            let changed = changed.concat();
            let found = of_pack(&"a".into(), 8, &changed);
            // The first row is whole, and in the pack nothing is before it: the chain says that it was changed.
            if row == 0 {
                assert_eq!(found.len(), 8)
            } else {
                assert_eq!(found, unreadable(&changed), "row {row}")
            }
        }
        // A row that is missing, twice there, or the last of them.
        let [mut without, mut twice, mut cut] = [pieces.clone(), pieces.clone(), pieces.clone()];
        without.remove(1);
        twice.insert(1, pieces[1].clone());
        cut.pop();
        for changed in [without, twice, cut].map(|pieces| pieces.concat()) {
            assert_eq!(of_pack(&"a".into(), 8, &changed), unreadable(&changed));
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
