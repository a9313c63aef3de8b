//! What can be done with memories: by the page's own code, and by a model.
//!
//! Decides what each operation gives and changes. Promises: an operation that fails has changed nothing. What a model
//! remembers in a conversation with words from outside has their marks, and what it recalls hands them on. Leaves to
//! others: whose memories they are, and committing (`harness/memories`).

use super::{Book, MOST, Memory, full, id_by, not_found};
use crate::error::{Code, ErrorInfo};
use crate::journal::Outside;
use crate::json::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Commit, Durability, Millis};
use crate::protocol::args::whole;
use crate::tools::own::{FORGET, RECALL};
use serde_json::Value;

/// How many memories a list or a search gives where nobody says, and at most.
const LIMIT: (u64, u64) = (50, 1_000);
/// How many a model recalls at once, where it does not say, and at most.
const RECALLED: (u64, u64) = (10, 50);

/// An operation on memories.
#[derive(Clone, Debug)]
pub enum Op {
    /// One of the page's own code: the command's name, and its arguments.
    Page {
        /// `list`, `search`, `add`, `update`, `remove`.
        name: &'static str,
        /// As the command has them.
        args: Value,
        /// What the id of a new one is made of.
        fresh: String,
    },
    /// A tool that a model has called.
    Tool {
        /// Its name.
        name: String,
        /// Its arguments, which have passed the gate.
        args: Value,
        /// The id that a new memory has.
        id: String,
        /// Where the text from outside comes from that the conversation holds.
        outside: Outside,
    },
    /// These memories were read.
    Read(Vec<String>),
}

/// What an operation leads to.
#[derive(Debug, Default)]
pub struct Done {
    /// What its caller gets.
    pub value: Value,
    /// What is to be committed first.
    pub commit: Option<Commit>,
    /// Where the text from outside comes from that the value holds.
    pub outside: Outside,
    /// The ids of the memories that a model reads by it.
    pub read: Vec<String>,
}

impl Done {
    fn gives(value: Value) -> Result<Done, ErrorInfo> {
        Ok(Done { value, ..Done::default() })
    }
}

impl Op {
    /// Whether it is to change something.
    pub fn changes(&self) -> bool {
        match self {
            Op::Page { name, .. } => !matches!(*name, "list" | "search"),
            Op::Tool { name, .. } => name != RECALL,
            Op::Read(_) => true,
        }
    }

    /// What it does with these memories.
    ///
    /// # Errors
    /// `invalid_arguments`, `memory_not_found`, `too_large`.
    pub fn plan(&self, book: &Book, now: Millis) -> Result<Done, ErrorInfo> {
        match self {
            Op::Page { name, args, fresh } => of_page(name, args, fresh, book, now),
            Op::Tool { name, args, id, outside } => match name.as_str() {
                RECALL => recall(args, book, now),
                FORGET => {
                    let commit = Some(remove(args, book)?);
                    Ok(Done { value: "Forgotten.".into(), commit, ..Done::default() })
                }
                _ => {
                    let (memory, commit) = add(args, "remember", (id, outside), book, now)?;
                    let value = Object::new().text("id", &memory.id).json();
                    Ok(Done { value: value.into(), commit, ..Done::default() })
                }
            },
            Op::Read(ids) => {
                let read = |id: &String| {
                    let memory = book.get(id)?;
                    Some(Memory { read_at: now, reads: memory.reads.saturating_add(1), ..memory.clone() })
                };
                let read = ids.iter().filter_map(read).list();
                let commit = (!read.is_empty()).then(|| book.commit(&read, &[], Durability::Relaxed));
                Ok(Done { commit, ..Done::default() })
            }
        }
    }
}

/// How many are wanted: what is said, or what counts where nobody says, and at most so many.
fn number(args: &Value, name: &str, (own, most): (u64, u64)) -> usize {
    let number = args.get(name).and_then(whole).unwrap_or(own).min(most);
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn of_page(name: &str, args: &Value, fresh: &str, book: &Book, now: Millis) -> Result<Done, ErrorInfo> {
    let shown = |memories: &[&Memory]| Value::Array(memories.iter().map(|memory| memory.to_json()).list());
    match name {
        "search" => {
            let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
            Done::gives(shown(&book.search(query, now, number(args, "limit", LIMIT))))
        }
        "add" => {
            let id = id_by(fresh);
            let (memory, commit) = add(args, "memory.add", (&id, &Outside::default()), book, now)?;
            Ok(Done { value: memory.to_json(), commit, ..Done::default() })
        }
        "update" => {
            let id = args.get("id").and_then(Value::as_str).unwrap_or_default();
            let mut memory = book.get(id).ok_or_else(|| not_found(id))?.clone();
            if memory.damaged && args.get("text").is_none_or(Value::is_null) {
                let message = ["the memory '", id, "' is not what was written"].concat();
                let error = ErrorInfo::new(Code::Corrupt, message);
                return Err(error.hint("give the text that it is to have, or remove it"));
            }
            memory.take(args, "memory.update")?;
            if std::mem::take(&mut memory.damaged) {
                memory.created_at = now;
            }
            memory.updated_at = now;
            let commit = Some(book.commit(std::slice::from_ref(&memory), &[], Durability::Strict));
            Ok(Done { value: memory.to_json(), commit, ..Done::default() })
        }
        "remove" => {
            let commit = Some(remove(args, book)?);
            Ok(Done { commit, ..Done::default() })
        }
        _ => {
            let skip = number(args, "offset", (0, u64::MAX));
            Done::gives(shown(&book.newest(skip, number(args, "limit", LIMIT))))
        }
    }
}

/// A new memory, and what makes it one. What says the same is there already: then that is it.
fn add(
    args: &Value,
    what: &str,
    (id, outside): (&str, &Outside),
    book: &Book,
    now: Millis,
) -> Result<(Memory, Option<Commit>), ErrorInfo> {
    let mut memory = Memory {
        id: id.into(),
        importance: super::IMPORTANCE,
        created_at: now,
        updated_at: now,
        outside: outside.carried(),
        ..Memory::default()
    };
    memory.take(args, what)?;
    // The same call, which runs again because its page went away.
    let known = book.get(id).or_else(|| book.saying(&memory.text, &memory.outside));
    if let Some(known) = known {
        return Ok((known.clone(), None));
    }
    if book.count() >= MOST {
        return Err(full());
    }
    let commit = book.commit(std::slice::from_ref(&memory), &[], Durability::Strict);
    Ok((memory, Some(commit)))
}

fn remove(args: &Value, book: &Book) -> Result<Commit, ErrorInfo> {
    let id = args.get("id").and_then(Value::as_str).unwrap_or_default();
    let memory = book.get(id).ok_or_else(|| not_found(id))?;
    Ok(book.commit(&[], &[&memory.id], Durability::Strict))
}

/// What a model gets that looks something up.
fn recall(args: &Value, book: &Book, now: Millis) -> Result<Done, ErrorInfo> {
    let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
    let found = book.search(query, now, number(args, "limit", RECALLED));
    let mut outside = Outside::default();
    for memory in &found {
        outside.join(&memory.outside);
    }
    let one = |memory: &&Memory| {
        Object::new()
            .text("id", &memory.id)
            .text("text", &memory.text)
            .value("tags", memory.tags.as_slice().into())
            .number("createdAt", memory.created_at)
            .done()
    };
    let text = match found.as_slice() {
        [] => "Nothing is remembered that matches.".into(),
        found => json(&Value::Array(found.iter().map(one).list())),
    };
    let read = found.iter().map(|memory| memory.id.clone()).list();
    Ok(Done { value: text.into(), outside, read, commit: None })
}
