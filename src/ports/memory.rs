//! A store that forgets: the same transactions over sorted rows.
//!
//! Decides nothing. It serves `storage: "memory"`, Node, the simulator and the examples, and is the plainest
//! statement of what [`Commit`] and [`Read`] mean.

use super::{Commit, Key, Part, Read, Rows, StoreError, Table, Write, signed_row};
use crate::list::Listed;
use crate::work;

/// A whole database in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryStore {
    /// The rows of each table, sorted by key.
    tables: [Rows; Table::ALL.len()],
    /// What tells its signatures from another store's.
    key: String,
}

impl MemoryStore {
    /// An empty database.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and what another store has signed is not taken for its own.
    pub fn with_key(key: &str) -> Self {
        MemoryStore { key: key.into(), ..Self::default() }
    }

    /// The signatures of texts. Nobody else reaches this store, so any sum will do.
    pub fn signatures(&self, texts: &[String]) -> Vec<String> {
        let sum = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let sign = |text: &String| {
            let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325, sum).to_string();
            if self.key.is_empty() { sum } else { [&sum, " ", &self.key].concat() }
        };
        texts.iter().map(sign).list()
    }

    /// Does all of it, or nothing.
    pub fn commit(&mut self, commit: &Commit) -> Result<(), StoreError> {
        for expect in &commit.expect {
            let rows = self.rows(expect.table);
            let row = find(rows, &expect.key).ok().and_then(|at| rows.get(at));
            if row.map(|(_, value)| value) != expect.value.as_ref() {
                return Err(StoreError::Conflict(expect.table, expect.key.clone()));
            }
        }
        for write in &commit.writes {
            let signatures = match write {
                Write::Sign { texts, .. } => self.signatures(texts),
                _ => Vec::new(),
            };
            let Some(rows) = self.tables.get_mut(write.table() as usize) else { continue };
            match write {
                Write::Put { key, value, .. } | Write::Pack { key, value, .. } => {
                    put(rows, key, value.clone());
                }
                Write::Add { key, value, .. } => {
                    if let Err(at) = find(rows, key) {
                        rows.insert(at, (key.clone(), value.clone()));
                    }
                }
                Write::Sign { key, value, .. } => put(rows, key, signed_row(value, &signatures)),
                Write::DeleteRange { prefix, from, until, .. } => rows.retain(|(key, _)| {
                    let is_in = |part: &Part| matches!(part, Part::Number(n) if from <= n && n < until);
                    !(key.starts_with(prefix) && key.get(prefix.len()).is_some_and(is_in))
                }),
                Write::DeletePrefix { prefix, .. } => {
                    let first = find(rows, prefix).unwrap_or_else(|at| at);
                    let below =
                        rows.iter().skip(first).take_while(|(key, _)| key.starts_with(prefix)).count();
                    rows.drain(first..first + below);
                }
            }
        }
        Ok(())
    }

    /// The rows asked for, in the order of their keys.
    pub fn read(&self, read: &Read) -> Rows {
        let mut first = read.prefix.clone();
        first.extend(read.from.map(Part::Number));
        let wanted = |key: &Key| match (read.from, read.texts, key.get(read.prefix.len())) {
            (None, None, _) => true,
            (Some(from), _, Some(Part::Number(n))) => *n >= from && read.until.is_none_or(|until| *n < until),
            (_, Some((from, until)), Some(Part::Text(text))) => {
                text.as_str() >= from && until.is_none_or(|until| text.as_str() < until)
            }
            _ => false,
        };
        let rows = self.rows(read.table);
        let first = find(rows, &first).unwrap_or_else(|at| at);
        let below = rows.iter().skip(first).take_while(|(key, _)| key.starts_with(&read.prefix));
        below.inspect(|_| work::did(1)).filter(|(key, _)| wanted(key)).cloned().list()
    }

    fn rows(&self, table: Table) -> &[(Key, String)] {
        self.tables.get(table as usize).map_or(&[], Vec::as_slice)
    }

    /// How many bytes of text it holds.
    pub fn bytes(&self) -> usize {
        self.tables.iter().flatten().map(|(_, value)| value.len()).sum()
    }
}

fn put(rows: &mut Rows, key: &Key, value: String) {
    match find(rows, key) {
        Ok(at) => rows.get_mut(at).into_iter().for_each(|row| row.1.clone_from(&value)),
        Err(at) => rows.insert(at, (key.clone(), value)),
    }
}

/// Where a key's row is, or where it belongs.
fn find(rows: &[(Key, String)], key: &Key) -> Result<usize, usize> {
    rows.binary_search_by(|(other, _)| other.cmp(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Durability, Expect};

    fn put(key: &[Part], value: &str) -> Write {
        Write::Put { table: Table::Entries, key: key.to_vec(), value: value.into() }
    }

    #[test]
    fn a_commit_whose_expectation_fails_changes_nothing() {
        let mut store = MemoryStore::new();
        let key = vec![Part::from("a"), Part::from(1)];
        let first = Commit { writes: vec![put(&key, "one")], ..Commit::default() };
        store.commit(&first).unwrap();
        let before = store.clone();
        let second = Commit {
            expect: vec![Expect { table: Table::Entries, key: key.clone(), value: Some("two".into()) }],
            writes: vec![put(&key, "three")],
            durability: Durability::Strict,
        };
        assert_eq!(store.commit(&second), Err(StoreError::Conflict(Table::Entries, key)));
        assert_eq!(store, before);
    }

    #[test]
    fn a_read_stays_below_its_prefix_and_starts_where_it_is_told() {
        let mut store = MemoryStore::new();
        for n in [1_u64, 2, 10] {
            for session in ["a", "b"] {
                let write = put(&[session.into(), n.into()], &format!("{session}{n}"));
                store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
            }
        }
        let mut read = Read::all(Table::Entries, vec!["a".into()]).within(Some(2), None);
        let texts: Vec<_> = store.read(&read).into_iter().map(|row| row.1).collect();
        assert_eq!(texts, ["a2", "a10"]);
        read.until = Some(10);
        let texts: Vec<_> = store.read(&read).into_iter().map(|row| row.1).collect();
        assert_eq!(texts, ["a2"]);
        let wipe = Write::DeletePrefix { table: Table::Entries, prefix: vec!["a".into()] };
        store.commit(&Commit { writes: vec![wipe], ..Commit::default() }).unwrap();
        assert!(store.read(&read).is_empty());
        assert_eq!(store.read(&Read::all(Table::Entries, vec!["b".into()])).len(), 3);
    }
}
