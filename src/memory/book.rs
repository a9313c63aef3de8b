//! The memories of one operator, as their rows have them.
//!
//! Decides what a row means for those before it: each change is a new row with the next number, and takes the place of the
//! row of before. Promises: what was written since is read by one range of numbers. A commit goes by the last number that was
//! ever given, which has a row of its own, so two tabs never overwrite each other. A row that is not what was written hides no other: it is listed as damaged, and goes by a removal or a change.
//! What an addition costs does not grow with what is remembered. A search goes through all once, and sorts what it gives. Leaves to others: reading, committing, and what is wanted (`op`).

use super::{Memory, Place, Row, last, shelf};
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::journal::{Outside, sha256};
use crate::list::Listed;
use crate::maps::{Best, Named};
use crate::ports::{Commit, Durability, Expect, Millis, Part, Read, Rows, Table, Write};
use crate::work;
use crate::workspace::Index;

/// What is known of an operator's memories.
#[derive(Clone, Debug, Default)]
pub struct Book {
    owner: String,
    /// The number of the last change; 0: there was none.
    rev: u64,
    /// What the row says that has it.
    last: Option<String>,
    memories: Named<Kept>,
    search: Index,
    /// The ids of those that say a text, by its hash.
    saying: Named<Vec<String>>,
    damaged: usize,
    /// How many rows are of a newer format.
    newer: u64,
    /// It was read once.
    known: bool,
}

/// A memory that is there.
#[derive(Clone, Debug)]
struct Kept {
    memory: Memory,
    /// The number of its row.
    rev: u64,
    /// Its number in the search. `None`: it is damaged, and not found.
    place: Option<usize>,
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

    /// What [`news`](Book::news) would read behind a commit of this book.
    pub fn news_of(commit: &Commit) -> [Rows; 2] {
        let put = |write: &Write| match write {
            Write::Put { key, value, .. } => Some((key.clone(), value.clone())),
            _ => None,
        };
        let mut rows = commit.writes.iter().filter_map(put).list();
        let last = rows.pop();
        [rows, last.into_iter().list()]
    }

    /// Whether it was read once: then a commit goes through only where nothing was written since.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// Takes over what was read by [`news`](Book::news).
    pub fn take(&mut self, news: &[Rows]) {
        self.known = true;
        self.last = news.get(1).and_then(|rows| rows.first()).map(|(_, row)| row.clone());
        // The row with this number may be gone, because a later change took it away. The number is not given again.
        self.rev = self.rev.max(self.last.as_deref().and_then(|rev| rev.parse().ok()).unwrap_or(0));
        for (key, row) in news.iter().flatten() {
            let Some(Part::Number(rev)) = key.get(2) else { continue };
            self.rev = self.rev.max(*rev);
            match Row::read(&Place { owner: &self.owner, rev: *rev }, row) {
                Ok(Row::Gone(id)) => self.remove(&id),
                Ok(Row::Is(memory)) => self.keep(*rev, memory),
                Err(error) if error.code == Code::NewerVersion => self.newer += 1,
                // It is listed, so that a person can mend or remove it, and found nowhere else.
                Err(_) => {
                    let memory = Memory::damaged(*rev, row);
                    self.remove(&memory.id);
                    self.damaged += 1;
                    self.memories.insert(&memory.id.clone(), Kept { memory, rev: *rev, place: None });
                }
            }
        }
    }

    fn keep(&mut self, rev: u64, memory: Memory) {
        let is_same = |of: &Memory| of.text == memory.text && of.tags == memory.tags;
        match self.memories.get_mut(&memory.id) {
            // It was only read: it is found by the same words.
            Some(kept) if kept.place.is_some() && is_same(&kept.memory) => {
                (kept.memory, kept.rev) = (memory, rev);
            }
            _ => {
                let id = memory.id.clone();
                self.remove(&id);
                self.search.add(&id, &title(&memory), &memory.text);
                self.saying.change(&sha256(&[&memory.text]), |ids| ids.push(id.clone()));
                let place = self.search.number(&id);
                self.memories.insert(&id, Kept { memory, rev, place });
            }
        }
    }

    fn remove(&mut self, id: &str) {
        let Some(Kept { memory, place, .. }) = self.memories.remove(id) else { return };
        if place.is_none() {
            self.damaged -= 1;
            return;
        }
        self.search.remove(id, &title(&memory), &memory.text);
        let hash = sha256(&[&memory.text]);
        if let Some(ids) = self.saying.get_mut(&hash) {
            ids.retain(|other| other != id);
            if ids.is_empty() {
                self.saying.remove(&hash);
            }
        }
    }

    /// What is to be told of rows of which nobody can make use.
    pub fn faults(&self) -> Vec<ErrorInfo> {
        let damaged = (self.damaged > 0).then(|| {
            ErrorInfo::new(
                Code::Corrupt,
                format!("{} memories are not what was written, and are not used", self.damaged),
            )
            .hint("memory.list shows them: change or remove them")
        });
        let newer = (self.newer > 0).then(|| {
            ErrorInfo::newer(format!(
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
        self.memories.get(id).map(|kept| &kept.memory)
    }

    /// All of them, by their ids.
    fn all(&self) -> impl Iterator<Item = &Kept> {
        self.memories.values().inspect(|_| work::did(1))
    }

    /// The one that says just this, and was made of the same text from outside.
    pub fn saying(&self, text: &str, outside: &Outside) -> Option<&Memory> {
        let same = |memory: &&Memory| memory.text == text && memory.outside == *outside;
        self.saying.get(&sha256(&[text]))?.iter().filter_map(|id| self.get(id)).find(same)
    }

    /// Those that were made last first, from one of them on.
    pub fn newest(&self, skip: usize, limit: usize) -> Vec<&Memory> {
        ranked(self.all().map(|kept| (&kept.memory, kept.memory.created_at)).list())
            .skip(skip)
            .take(limit)
            .list()
    }

    /// Those that match, by their relevance times how well they match.
    pub fn search(&self, query: &str, now: Millis, limit: usize) -> Vec<&Memory> {
        let scores = self.search.scores(query);
        let found = self.all().filter_map(|Kept { memory, place, .. }| {
            let fits = scores.get((*place)?).filter(|fits| **fits > 0.0)?;
            Some((memory, rank(memory.relevance(now) * fits)))
        });
        ranked(found.list()).take(limit).list()
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
        let scores = self.search.scores(message);
        let most = scores.iter().copied().fold(0.0, f64::max);
        let mut shortest = usize::MAX;
        let found = self.all().filter(|kept| kept.memory.outside.is_empty());
        let found = found.filter_map(|Kept { memory, place, .. }| {
            let fits = scores.get((*place)?).filter(|fits| **fits > 0.0).map_or(0.0, |fits| fits / most);
            shortest = shortest.min(memory.text.len());
            Some((memory, rank(memory.relevance(now) * (1.0 + fits))))
        });
        let found = ranked(found.list());
        let mut room = bytes;
        let mut told = Vec::new();
        for memory in found {
            if told.len() == limit || room < shortest {
                break;
            }
            if memory.text.len() <= room && !known(memory) {
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
            if let Some(before) = self.memories.get(id) {
                writes.push(Write::DeletePrefix { table: Table::Meta, prefix: place(before.rev).key() });
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

/// A number that is in the order of these, none of which is below zero.
fn rank(score: f64) -> u64 {
    score.to_bits()
}

/// Those with the highest numbers first, as far as they are asked for.
fn ranked(found: Vec<(&Memory, u64)>) -> impl Iterator<Item = &Memory> {
    let best = Best::of(found.iter().map(|(_, rank)| *rank).list()).inspect(|_| work::did(1));
    best.filter_map(move |place| found.get(place).map(|(memory, _)| *memory))
}
