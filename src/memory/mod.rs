//! What an agent remembers from one conversation to the next.
//!
//! Decides what a memory is, how its row is written, and how relevant it is: importance × 0.995^hours × (1 + ln(1 + reads)),
//! counted from when it was read last. Promises: a memory belongs to one operator, and keeps the marks of text from
//! outside. Leaves to others: which memories there are (`book`), what is done with them (`op`), and storing (`harness`).

mod book;
mod op;

pub use book::Book;
pub use op::{Done, Op};

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::journal::sealed::{self, seal};
use crate::journal::{Outside, sha256};
use crate::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Key, Millis, Part};
use crate::protocol::args::whole;
use crate::rooms::{Room, enter};
use crate::tools::Definition;
use crate::tools::own::{self, FORGET, RECALL, REMEMBER};
use serde_json::Value;

const REMEMBERED: &str = r#"{"type":"object","properties":{"text":{"type":"string","minLength":1,"maxLength":4000,"description":"One fact, in a sentence that can be understood alone."},"importance":{"type":"number","minimum":0,"maximum":1,"description":"How much it matters later; 0.5 if left out."},"tags":{"type":"array","items":{"type":"string","minLength":1,"maxLength":50},"maxItems":10,"description":"Words under which it is found besides."}},"required":["text"],"additionalProperties":false}"#;
const RECALLED: &str = r#"{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"Words that it may say."},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many, at most; 10 if left out."}},"required":["query"],"additionalProperties":false}"#;
const FORGOTTEN: &str = r#"{"type":"object","properties":{"id":{"type":"string","description":"The id, as recall gives it."}},"required":["id"],"additionalProperties":false}"#;

/// The tools for memories. A door of the room `memory`.
#[inline(never)]
pub fn tools() -> [Definition; 3] {
    enter(Room::Memory);
    [
        own::memory(
            REMEMBER,
            "Keeps a fact for later conversations: what the person prefers, has decided, or wants to be known. Not for what only this conversation needs.",
            REMEMBERED,
        ),
        own::memory(RECALL, "Looks up what was kept in earlier conversations.", RECALLED),
        own::memory(FORGET, "Forgets a fact that was kept, for good.", FORGOTTEN),
    ]
}

/// How many characters a memory may have.
pub const TEXT: usize = 4_000;
/// How many tags it may have.
pub const TAGS: usize = 10;
/// How many characters a tag may have.
pub const TAG: usize = 50;
/// How many memories an operator may have.
pub const MOST: usize = 10_000;

/// How important a memory is where nobody says, in thousandths.
const IMPORTANCE: u64 = 500;
/// The natural logarithm of 0.995: what an hour takes.
const DECAY: f64 = -0.005_012_541_823_544_286;
const HOUR: f64 = 3_600_000.0;

/// Something that is remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Its id.
    pub id: String,
    /// What is remembered.
    pub text: String,
    /// How important that is, in thousandths.
    pub importance: u64,
    /// Words under which it is found besides.
    pub tags: Vec<String>,
    /// When it was made.
    pub created_at: Millis,
    /// When its text, importance or tags were changed last.
    pub updated_at: Millis,
    /// When it was read last; 0: never.
    pub read_at: Millis,
    /// How often it was read.
    pub reads: u64,
    /// Where the text from outside comes from that it was made of.
    pub outside: Outside,
    /// Its row is not what was written: this is what can be read of it.
    pub damaged: bool,
}

/// The id of the memory that a call makes: the same call makes the same one, also when it runs again.
pub fn id_of(session: &str, run: &str, tool_call: &str) -> String {
    id_by(&[session, run, tool_call].join("\n"))
}

/// The id of a memory, made of this text.
pub fn id_by(text: &str) -> String {
    let hash = sha256(&[text]);
    ["mem_", hash.get(..12).unwrap_or(&hash)].concat()
}

/// The format of the rows of memories.
const FORMAT: u64 = 1;

/// Under which keys the memories of an operator are.
pub fn shelf(owner: &str) -> Key {
    vec!["memory".into(), Part::from(owner)]
}

/// Under which key the number of the last change is.
pub fn last(owner: &str) -> Key {
    let mut key = shelf(owner);
    key.push("last".into());
    key
}

/// What a row says.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A memory is this.
    Is(Memory),
    /// The memory of this id was forgotten.
    Gone(String),
}

impl Row {
    /// Reads the row that lies there.
    ///
    /// # Errors
    /// `corrupt`: it is not what was written; `newer_version`.
    pub fn read(place: &Place<'_>, row: &str) -> Result<Row, ErrorInfo> {
        let value = json::parse(row).unwrap_or_default();
        sealed::check(&value, &place.name(), row, FORMAT)?;
        match value.get("gone").and_then(Value::as_str) {
            Some(id) => Ok(Row::Gone(id.into())),
            None => Memory::read(&value)
                .map(Row::Is)
                .ok_or_else(|| ErrorInfo::new(Code::Corrupt, sealed::CHANGED)),
        }
    }
}

/// Where a row lies: whose it is, and its number.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The operator.
    pub owner: &'a str,
    /// The number of the change.
    pub rev: u64,
}

impl Place<'_> {
    /// Its key.
    pub fn key(&self) -> Key {
        let mut key = shelf(self.owner);
        key.push(Part::Number(self.rev));
        key
    }

    fn name(&self) -> String {
        [&self.rev.to_string(), "\n", self.owner].concat()
    }

    fn row(&self, row: &mut Object) -> String {
        seal(&self.name(), &row.number("v", FORMAT).json())
    }
}

impl Memory {
    /// How relevant it is now.
    pub fn relevance(&self, now: Millis) -> f64 {
        let since = now.saturating_sub(self.read_at.max(self.created_at));
        let hours = since as f64 / HOUR;
        self.importance as f64 / 1_000.0 * (DECAY * hours).exp() * (1.0 + (1.0 + self.reads as f64).ln())
    }

    /// Its row.
    pub fn to_row(&self, place: &Place<'_>) -> String {
        let outside = (!self.outside.is_empty()).then(|| self.outside.to_json());
        place.row(self.shown().maybe("outside", outside))
    }

    /// What stands in the place of one that was forgotten: its id alone.
    pub fn gone(id: &str, place: &Place<'_>) -> String {
        place.row(Object::new().text("gone", id))
    }

    /// What can be read of a row that is not what was written: its text, else all that lies there.
    fn damaged(rev: u64, row: &str) -> Memory {
        let value = json::parse(row).unwrap_or_default();
        let text = value.get("text").and_then(Value::as_str).unwrap_or(row);
        Memory {
            id: ["mem_row_", &rev.to_string()].concat(),
            text: find::beginning(text, TEXT).into(),
            importance: IMPORTANCE,
            outside: Outside::of(Outside::UNKNOWN),
            damaged: true,
            ..Memory::default()
        }
    }

    fn read(value: &Value) -> Option<Memory> {
        let member = |name: &str| value.get(name).and_then(Value::as_str).map(String::from);
        let number = |name: &str| value.get(name).and_then(whole);
        Some(Memory {
            id: member("id")?,
            text: member("text")?,
            importance: (value.get("importance")?.as_f64()? * 1_000.0).round() as u64,
            tags: json::texts(value.get("tags")?)?,
            created_at: number("createdAt")?,
            updated_at: number("updatedAt")?,
            read_at: number("readAt").unwrap_or_default(),
            reads: number("reads")?,
            outside: match value.get("outside") {
                Some(outside) => Outside::from_json(outside)?,
                None => Outside::default(),
            },
            damaged: false,
        })
    }

    /// What a page gets.
    pub fn to_json(&self) -> Value {
        let is = |given: bool| given.then_some(Value::Bool(true));
        self.shown().maybe("outside", is(!self.outside.is_empty())).maybe("damaged", is(self.damaged)).done()
    }

    fn shown(&self) -> Object {
        let mut shown = Object::new();
        shown
            .text("id", &self.id)
            .text("text", &self.text)
            .value("importance", (self.importance as f64 / 1_000.0).into())
            .value("tags", self.tags.as_slice().into())
            .number("createdAt", self.created_at)
            .number("updatedAt", self.updated_at)
            .maybe("readAt", (self.read_at > 0).then(|| self.read_at.into()))
            .number("reads", self.reads);
        shown
    }

    /// Takes over what is said of it. `what`: who says so, for an error.
    ///
    /// # Errors
    /// `invalid_arguments`, with the member's name.
    fn take(&mut self, args: &Value, what: &str) -> Result<(), ErrorInfo> {
        let wrong = |member: &str, must: String| {
            let message = [what, " needs \"", member, "\" to ", &must].concat();
            Err(ErrorInfo::new(Code::InvalidArguments, message))
        };
        let given = |name: &str| args.get(name).filter(|value| !value.is_null());
        if let Some(text) = given("text") {
            match text.as_str().map(str::trim) {
                Some(text) if !text.is_empty() && text.chars().nth(TEXT).is_none() => self.text = text.into(),
                _ => return wrong("text", format!("be a text of 1 to {TEXT} characters")),
            }
        }
        if let Some(importance) = given("importance") {
            match importance.as_f64().filter(|part| (0.0..=1.0).contains(part)) {
                Some(part) => self.importance = (part * 1_000.0).round() as u64,
                None => return wrong("importance", "be a number from 0 to 1".into()),
            }
        }
        if let Some(given) = given("tags") {
            let fits = |tag: &String| !tag.trim().is_empty() && tag.chars().nth(TAG).is_none();
            let tags = json::texts(given).unwrap_or_default();
            let count = given.as_array().map(Vec::len);
            if count != Some(tags.len()) || tags.len() > TAGS || !tags.iter().all(fits) {
                return wrong("tags", format!("be at most {TAGS} texts of 1 to {TAG} characters"));
            }
            self.tags = tags.iter().map(|tag| tag.trim().to_owned()).list();
        }
        Ok(())
    }
}

/// An operator has as many memories as one may.
fn full() -> ErrorInfo {
    ErrorInfo::new(
        Code::TooLarge,
        format!("there are {MOST} memories, which is as many as one operator may have"),
    )
    .hint("forget some of them first")
}

/// There is no such memory.
fn not_found(id: &str) -> ErrorInfo {
    ErrorInfo::new(Code::MemoryNotFound, format!("no memory has the id '{id}'"))
        .hint("look it up first: recall and memory.list give the ids")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Commit, Durability, MemoryStore, Read, Table, Write};
    use serde_json::json;

    const HOUR_MS: Millis = 3_600_000;

    fn near(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-6, "{one} is not {other}");
    }

    fn page(name: &'static str, args: Value) -> Op {
        Op::Page { name, args, fresh: "fresh".into() }
    }

    fn stored(store: &mut MemoryStore, book: &mut Book, op: &Op, now: Millis) -> Result<Value, ErrorInfo> {
        let done = op.plan(book, now)?;
        if let Some(commit) = done.commit {
            store.commit(&commit).unwrap();
            reads(store, book);
        }
        Ok(done.value)
    }

    fn reads(store: &MemoryStore, book: &mut Book) {
        let news = book.news().iter().map(|read| store.read(read)).list();
        book.take(&news);
    }

    fn texts(book: &Book) -> Vec<String> {
        book.newest(0, MOST).iter().map(|memory| memory.text.clone()).list()
    }

    #[test]
    fn relevance_is_as_worked_out_by_hand() {
        let memory = Memory { importance: 500, created_at: 1_000, ..Memory::default() };
        near(memory.relevance(1_000), 0.5);
        // 0.5 * 0.995 after an hour; 0.995^24 = 0.886653 after a day.
        near(memory.relevance(1_000 + HOUR_MS), 0.4975);
        near(memory.relevance(1_000 + 24 * HOUR_MS), 0.443_326_7);
        // Read three times: 1 + ln 4 = 2.386294. It counts from then on.
        let read = Memory { read_at: 1_000 + 24 * HOUR_MS, reads: 3, ..memory };
        near(read.relevance(1_000 + 24 * HOUR_MS), 1.193_147_2);
    }

    #[test]
    fn a_row_reads_back_and_what_is_not_as_written_is_none() {
        let memory = Memory {
            id: "mem_1".into(),
            text: "Ünïcode \n \"quoted\"".into(),
            importance: 123,
            tags: vec!["a".into(), "b c".into()],
            created_at: 1,
            updated_at: 2,
            read_at: 3,
            reads: 4,
            outside: Outside::of("context"),
            damaged: false,
        };
        let here = Place { owner: "me", rev: 7 };
        let row = memory.to_row(&here);
        assert_eq!(Row::read(&here, &row), Ok(Row::Is(memory)));
        let code = |place: &Place<'_>, row: &str| Row::read(place, row).map_err(|error| error.code);
        for changed in [&row.replace("quoted", "other"), "", "{}"] {
            assert_eq!(code(&here, changed), Err(Code::Corrupt));
        }
        assert_eq!(Row::read(&here, &Memory::gone("mem_1", &here)), Ok(Row::Gone("mem_1".into())));
        // A row of another number, or of another operator.
        for elsewhere in [Place { rev: 8, ..here }, Place { owner: "you", ..here }] {
            assert_eq!(code(&elsewhere, &row), Err(Code::Corrupt));
        }
        let newer = seal(&here.name(), r#"{"gone":"mem_1","v":2}"#);
        assert_eq!(code(&here, &newer), Err(Code::NewerVersion));
    }

    #[test]
    fn two_tabs_do_not_overwrite_each_other() {
        let mut store = MemoryStore::new();
        let (mut one, mut other) = (Book::new("me"), Book::new("me"));
        stored(&mut store, &mut one, &page("add", json!({ "text": "Lives in Oslo." })), 1).unwrap();
        // The other has not read that yet.
        let late = page("add", json!({ "text": "Has a boat." })).plan(&other, 2).unwrap().commit.unwrap();
        assert!(store.commit(&late).is_err());
        reads(&store, &mut other);
        let op = Op::Page { name: "add", args: json!({ "text": "Has a boat." }), fresh: "b".into() };
        stored(&mut store, &mut other, &op, 2).unwrap();
        let id = other.saying("Lives in Oslo.", &Outside::default()).unwrap().id.clone();
        stored(&mut store, &mut other, &page("remove", json!({ "id": id })), 3).unwrap();
        reads(&store, &mut one);
        assert_eq!(
            (texts(&one), texts(&other)),
            (vec!["Has a boat.".to_owned()], vec!["Has a boat.".to_owned()])
        );
        assert!(one.search("Oslo", 4, 9).is_empty() && one.search("boat", 4, 9).len() == 1);
    }

    #[test]
    fn a_number_that_was_taken_away_is_not_given_again() {
        let mut store = MemoryStore::new();
        let (mut one, mut other) = (Book::new("me"), Book::new("me"));
        stored(&mut store, &mut one, &page("add", json!({ "text": "Lives in Oslo." })), 1).unwrap();
        reads(&store, &mut other);
        let id = one.saying("Lives in Oslo.", &Outside::default()).unwrap().id.clone();
        // The other tab stands still. The same memory is changed twice, and the first change takes its row away again.
        for text in ["Lives in Bergen.", "Lives in Rome."] {
            stored(&mut store, &mut one, &page("update", json!({ "id": id, "text": text })), 2).unwrap();
        }
        let boat = Op::Page { name: "add", args: json!({ "text": "Has a boat." }), fresh: "b".into() };
        let paris = page("update", json!({ "id": id, "text": "Lives in Paris." }));
        let late = other.clone();
        for op in [boat, paris] {
            assert!(store.commit(&op.plan(&late, 3).unwrap().commit.unwrap()).is_err());
            reads(&store, &mut other);
            stored(&mut store, &mut other, &op, 3).unwrap();
        }
        reads(&store, &mut one);
        let mut fresh = Book::new("me");
        reads(&store, &mut fresh);
        for book in [&one, &other, &fresh] {
            assert_eq!(texts(book), ["Has a boat.", "Lives in Paris."]);
        }
    }

    #[test]
    fn a_call_that_runs_again_makes_one_memory() {
        let mut store = MemoryStore::new();
        let mut book = Book::new("me");
        let op = Op::Tool {
            name: REMEMBER.into(),
            args: json!({ "text": "Lives in Oslo." }),
            id: id_of("default", "run_1", "call_1"),
            outside: Outside::default(),
        };
        let first = stored(&mut store, &mut book, &op, 1).unwrap();
        let again = op.plan(&book, 2).unwrap();
        assert_eq!((again.value, again.commit), (first, None));
        assert_eq!(book.count(), 1);
    }

    #[test]
    fn a_damaged_row_hides_no_other() {
        let mut store = MemoryStore::new();
        let mut book = Book::new("me");
        for (n, text) in ["one", "two"].into_iter().enumerate() {
            let op = Op::Page { name: "add", args: json!({ "text": text }), fresh: n.to_string() };
            stored(&mut store, &mut book, &op, 1).unwrap();
        }
        let mut rows = Book::new("me").news().iter().map(|read| store.read(read)).list();
        rows[0][0].1 = rows[0][0].1.replace("one", "two, forged");
        let mut read = Book::new("me");
        read.take(&rows);
        let faults = |book: &Book| book.faults().iter().map(|fault| fault.code).list();
        assert_eq!(
            (texts(&read), faults(&read)),
            (vec!["two".into(), "two, forged".into()], vec![Code::Corrupt])
        );
        // It is neither found nor told, and saying the same makes another.
        assert!(
            read.search("forged", 1, 9).is_empty()
                && read.saying("two, forged", &Outside::default()).is_none()
        );
        assert_eq!(read.to_tell("forged", 1, (9, 99), &|_| false).len(), 1);
        // What comes next does not take its place.
        let commit =
            read.commit(&[Memory { id: "mem_3".into(), ..Memory::default() }], &[], Durability::Strict);
        assert_eq!(store.commit(&commit), Ok(()));
    }

    #[test]
    fn a_damaged_memory_is_changed_or_removed() {
        for (name, args) in [("remove", json!({})), ("update", json!({ "text": "one, mended" }))] {
            let (mut store, mut book) = (MemoryStore::new(), Book::new("me"));
            stored(&mut store, &mut book, &page("add", json!({ "text": "one" })), 1).unwrap();
            let key = Place { owner: "me", rev: 1 }.key();
            let write = Write::Put { table: Table::Meta, key: key.clone(), value: "rubbish".into() };
            store.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
            let mut book = Book::new("me");
            reads(&store, &mut book);
            let listed = page("list", json!({})).plan(&book, 2).unwrap().value;
            let damaged = listed[0].clone();
            assert_eq!((&damaged["text"], &damaged["damaged"]), (&json!("rubbish"), &json!(true)));
            assert_eq!(damaged["outside"], json!(true), "nobody knows what it was made of");
            let update = page("update", json!({ "id": damaged["id"], "importance": 1 }));
            assert_eq!(update.plan(&book, 2).unwrap_err().code, Code::Corrupt);
            let mut all = args;
            all["id"] = damaged["id"].clone();
            stored(&mut store, &mut book, &page(name, all), 2).unwrap();
            assert!(store.read(&Read::all(Table::Meta, key)).is_empty());
            let mut fresh = Book::new("me");
            reads(&store, &mut fresh);
            let expected = if name == "update" { vec!["one, mended".to_owned()] } else { Vec::new() };
            for book in [&book, &fresh] {
                assert_eq!((texts(book), book.faults()), (expected.clone(), Vec::new()));
                assert!(book.newest(0, MOST).iter().all(|memory| !memory.outside.is_empty()));
            }
        }
    }

    #[test]
    fn there_are_no_more_than_the_most() {
        let mut book = Book::new("me");
        let mut rows = Vec::new();
        for n in 0..MOST as u64 {
            let memory = Memory { id: format!("mem_{n}"), text: format!("fact {n}"), ..Memory::default() };
            let place = Place { owner: "me", rev: n + 1 };
            rows.push((place.key(), memory.to_row(&place)));
        }
        book.take(&[rows]);
        let error = page("add", json!({ "text": "one more" })).plan(&book, 1).unwrap_err();
        assert_eq!(error.code, Code::TooLarge);
        assert_eq!(book.search("fact", 1, 3).len(), 3);
    }
}
