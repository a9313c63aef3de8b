//! The sessions of tasks without a session (`runOnce`), which no list shows and of which a year leaves thousands.
//!
//! Decides which of them are read again. Promises: a start and a list cost nothing for the tasks that are over. A task that
//! is not over has a row in `meta`, as have one of which nothing stays and one whose files must. Leaves to others: what becomes of a task (`runner/`).

use crate::harness::core::Core;
use crate::harness::core::head::Head;
use crate::object::Object;
use crate::ports::{Key, Part, Read, Rows, Table, Write};
use crate::rooms::{Room, enter};
use serde_json::Value;

/// The row that names the epoch whose holder wrote such rows: a version without them may have held the workspace since.
pub(in crate::harness) const TASKS_KEY: &str = "tasks";

/// What the ids of their sessions begin with.
const PREFIX: &str = "once_";

/// The first text behind all that begin with it.
const BEHIND: &str = "once`";

/// What the key of a task's row begins with; the id of its session follows.
const ROW: &str = "task";

/// The id of a task's session.
pub(in crate::harness) fn session_of(fresh: &str) -> String {
    [PREFIX, fresh].concat()
}

/// Whether a session is that of a task, by its id.
pub(in crate::harness) fn is_task(session: &str) -> bool {
    session.starts_with(PREFIX)
}

/// Whether nothing of a task stays, by its head.
pub(in crate::harness) fn passes(head: &Value) -> bool {
    head.get("passes").is_some()
}

/// The same id, where the session is no task.
pub(in crate::harness) fn without_task(mut session: &str) -> &str {
    while let Some(rest) = session.strip_prefix(PREFIX) {
        session = rest;
    }
    session
}

/// What reads the heads of all other sessions, in two parts.
pub(in crate::harness) fn heads_of_others() -> [Read; 2] {
    let heads = |texts| Read { texts: Some(texts), ..Read::all(Table::Heads, Vec::new()) };
    [heads(("", Some(PREFIX))), heads((BEHIND, None))]
}

/// Rows that were read after such heads: all heads are the first of them.
pub(in crate::harness) fn joined(mut rows: Vec<Rows>) -> Vec<Rows> {
    if rows.len() > 1 {
        let mut behind = rows.remove(1);
        rows.first_mut().into_iter().for_each(|heads| heads.append(&mut behind));
    }
    rows
}

/// What reads of the tasks what a start must know: their rows or, where they may have none, their heads.
pub(in crate::harness) fn of_tasks(have_rows: bool) -> Read {
    if have_rows {
        return Read::all(Table::Meta, vec![ROW.into()]);
    }
    Read { texts: Some((PREFIX, Some(BEHIND))), ..Read::all(Table::Heads, Vec::new()) }
}

/// A task has no row from here on.
pub(in crate::harness) fn no_row(session: &str) -> Write {
    Write::DeletePrefix { table: Table::Meta, prefix: row_key(session) }
}

/// What the row of a task says: nothing while it is not over or has to go, then which files it has. `None`: there is no row.
fn row_by(head: &Head) -> Option<String> {
    if head.is_open() || passes(&head.value) || head.value.get("removed").is_some() {
        return Some(String::new());
    }
    let files = head.value.get("files")?;
    Some(Object::new().value("files", files.clone()).json())
}

fn row_key(session: &str) -> Key {
    vec![ROW.into(), session.into()]
}

impl Core {
    /// Writes the row of a task at hand whose head is written. A door of the room `past`.
    #[inline(never)]
    pub(in crate::harness) fn write_task(&mut self, session: &str, head: &Head) {
        enter(Room::Past);
        let write = match row_by(head) {
            Some(value) => Write::Put { table: Table::Meta, key: row_key(session), value },
            None => no_row(session),
        };
        self.outbox.write(write);
    }

    /// Lets the session of a task go, with its head if that says of nothing that it must stay. Another door.
    #[inline(never)]
    pub(in crate::harness) fn let_go_of_task(&mut self, session: &str) {
        enter(Room::Past);
        self.write_heads();
        self.sessions.let_go(session);
        self.sessions.change(session, |slot| drop(slot.head.take_if(|head| row_by(head).is_none())));
    }

    /// Takes in what was read by [`of_tasks`], and gives the sessions of those that are not over.
    pub(in crate::harness) fn take_tasks(&mut self, rows: &Rows) -> Vec<String> {
        let mut open = Vec::new();
        for (key, text) in rows {
            let Some(Part::Text(session)) = key.last() else { continue };
            let has_row = key.len() > 1;
            let row = if has_row { Some(text.clone()) } else { row_by(&Head::parse(text)) };
            let says = |row: String| {
                (!row.is_empty()).then(|| Head::parse(&row)).filter(|head| head.value.is_object())
            };
            match row.map(says) {
                // A row that says nothing is of one that is not over, and so is one that nobody can read.
                Some(None) => open.push(session.clone()),
                Some(Some(head)) => {
                    if !has_row {
                        self.write_task(session, &head);
                    }
                    self.sessions.set_head(session, head);
                }
                None => {}
            }
        }
        open
    }
}
