//! The memories of one operator, as their rows have them.
//!
//! Decides what a row means for those before it: each change is a new row with the next number, and takes the place of the
//! row of before. Promises: what was written since is read by one range of numbers. A commit goes by the last number that was
//! ever given, which has a row of its own, so two tabs never overwrite each other. A row that is not what was written hides no other: it is listed as damaged, and goes by a removal or a change. Leaves to others: reading, committing, and what is wanted (`op`).

use super::{Memory, Place, Row, last, shelf};
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::list::Listed;
use crate::maps::Named;
use crate::ports::{Commit, Durability, Expect, Millis, Part, Read, Rows, Table, Write};
use crate::workspace::{Hit, Index};

/// What is known of an operator's memories.
#[derive(Clone, Debug, Default)]
pub struct Book {
    owner: String,
    /// The number of the last change; 0: there was none.
    rev: u64,
    /// What the row says that has it.
    last: Option<String>,
    /// With the number of its row.
    memories: Named<(u64, Memory)>,
    search: Index,
    /// How many rows are of a newer format.
    newer: u64,
}

/// A memory that was found, and how well it fits.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub memory: &'a Memory,
    pub score: f64,
}

impl Book {
    /// One of which nothing is known yet.
    pub fn new(owner: &str) -> Book {
        Book { owner: owner.into(), ..Book::default() }
    }

    /// What has to be read to know what was written since.
    pub fn news(&self) -> Vec<Read> {
        let since = Read::all(Table::Meta, shelf(&self.owner)).within(Some(self.rev + 1), None);
        vec![since, Read::all(Table::Meta, last(&self.owner))]
    }

    /// Takes over what was read by [`news`](Book::news).
    pub fn take(&mut self, news: &[Rows]) {
        self.last = news.get(1).and_then(|rows| rows.first()).map(|(_, row)| row.clone());
        // The row with this number may be gone, because a later change took it away. The number is not given again.
        self.rev = self.rev.max(self.last.as_deref().and_then(|rev| rev.parse().ok()).unwrap_or(0));
        for (key, row) in news.iter().flatten() {
            let Some(Part::Number(rev)) = key.get(2) else { continue };
            self.rev = self.rev.max(*rev);
            match Row::read(&Place { owner: &self.owner, rev: *rev }, row) {
                Ok(Row::Gone(id)) => self.remove(&id),
                Ok(Row::Is(memory)) => {
                    self.remove(&memory.id);
                    self.search.add(&memory.id, &title(&memory), &memory.text);
                    self.memories.insert(&memory.id.clone(), (*rev, memory));
                }
                Err(error) if error.code == Code::NewerVersion => self.newer += 1,
                // It is listed, so that a person can mend or remove it, and found nowhere else.
                Err(_) => {
                    let memory = Memory::damaged(*rev, row);
                    self.memories.insert(&memory.id.clone(), (*rev, memory));
                }
            }
        }
    }

    fn remove(&mut self, id: &str) {
        if let Some((_, memory)) = self.memories.remove(id) {
            self.search.remove(id, &title(&memory), &memory.text);
        }
    }

    /// What is to be told of rows of which nobody can make use.
    pub fn faults(&self) -> Vec<ErrorInfo> {
        let damaged = self.memories.values().filter(|(_, memory)| memory.damaged).count();
        let damaged = (damaged > 0).then(|| {
            ErrorInfo::new(
                Code::Corrupt,
                format!("{damaged} memories are not what was written, and are not used"),
            )
            .hint("memory.list shows them: change or remove them")
        });
        let newer = (self.newer > 0).then(|| {
            ErrorInfo::newer(&format!(
                "{} memories are left out, because a newer version of lodger has written them",
                self.newer
            ))
        });
        damaged.into_iter().chain(newer).list()
    }

    /// How many memories there are.
    pub fn count(&self) -> usize {
        self.memories.len()
    }

    /// One of them.
    pub fn get(&self, id: &str) -> Option<&Memory> {
        self.memories.get(id).map(|(_, memory)| memory)
    }

    /// The one that says just this.
    pub fn saying(&self, text: &str) -> Option<&Memory> {
        self.memories.values().map(|(_, memory)| memory).find(|memory| !memory.damaged && memory.text == text)
    }

    /// All of them, those that were made last first.
    pub fn newest(&self) -> Vec<&Memory> {
        let mut all = self.memories.values().map(|(_, memory)| memory).list();
        all.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| a.id.cmp(&b.id)));
        all
    }

    /// Those that match, by their relevance times how well they match.
    pub fn search(&self, query: &str, now: Millis, limit: usize) -> Vec<&Memory> {
        let hits = self.search.search(query, self.count());
        let scored = |hit: Hit| {
            let memory = self.get(&hit.slug)?;
            Some(Found { memory, score: memory.relevance(now) * hit.score })
        };
        best(hits.into_iter().filter_map(scored).list(), limit)
    }

    /// Those that are told of themselves beside a message, in at most so many bytes. What matches the message counts up to
    /// twice as much. What was made of words from outside is not told, nor is what `known` says.
    pub fn to_tell(
        &self,
        message: &str,
        now: Millis,
        (limit, bytes): (usize, usize),
        known: &dyn Fn(&Memory) -> bool,
    ) -> Vec<&Memory> {
        let hits = self.search.search(message, self.count());
        let most = hits.first().map_or(0.0, |hit| hit.score);
        let mut matches = Named::default();
        for hit in &hits {
            matches.insert(&hit.slug, hit.score / most);
        }
        let scored = |memory: &'_ Memory| {
            let fits = 1.0 + matches.get(&memory.id).copied().unwrap_or_default();
            memory.relevance(now) * fits
        };
        let told = self.memories.values().map(|(_, memory)| memory);
        let told = told.filter(|memory| !memory.damaged && memory.outside.is_empty() && !known(memory));
        let found = told.map(|memory| Found { memory, score: scored(memory) }).list();
        let mut room = bytes;
        let mut told = Vec::new();
        for memory in best(found, self.count()) {
            if told.len() == limit {
                break;
            }
            if memory.text.len() <= room {
                room -= memory.text.len();
                told.push(memory);
            }
        }
        told
    }

    /// A commit after which these memories are as they are here, and those of these ids are gone.
    pub fn commit(&self, changed: &[Memory], gone: &[&str], durability: Durability) -> Commit {
        let place = |rev: u64| Place { owner: &self.owner, rev };
        let (mut writes, mut rev) = (Vec::new(), self.rev);
        let mut put = |id: &str, row: &dyn Fn(&Place<'_>) -> String| {
            if let Some((before, _)) = self.memories.get(id) {
                writes.push(Write::DeletePrefix { table: Table::Meta, prefix: place(*before).key() });
            }
            rev += 1;
            let place = place(rev);
            writes.push(Write::Put { table: Table::Meta, key: place.key(), value: row(&place) });
        };
        changed.iter().for_each(|memory| put(&memory.id, &|place| memory.to_row(place)));
        gone.iter().for_each(|id| put(id, &|place| Memory::gone(id, place)));
        let key = last(&self.owner);
        writes.push(Write::Put { table: Table::Meta, key: key.clone(), value: rev.to_string() });
        // Who has written since was quicker: then this is worked out again.
        let expected = Expect { table: Table::Meta, key, value: self.last.clone() };
        Commit { expect: vec![expected], writes, durability }
    }
}

/// Under which words it is found besides those of its text.
fn title(memory: &Memory) -> String {
    find::join(&memory.tags, " ")
}

/// The best of them, the best first.
fn best(mut found: Vec<Found<'_>>, limit: usize) -> Vec<&Memory> {
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.memory.id.cmp(&b.memory.id)));
    found.truncate(limit);
    found.into_iter().map(|found| found.memory).list()
}
