//! The rows of `meta` that name the sessions, under `["session", id]`: a head may be lost.
//!
//! Decides what they say: nothing, or where a session is not what was written. Promises: a session whose head is gone is
//! still named. What was found to be wrong in a session counts after a reload too, until all of it is read again. Tasks
//! have no such row, because no list shows them. Leaves to others: what is wrong (`reads/`), and that a session goes
//! (`removed`).

use crate::harness::action::Action;
use crate::harness::core::head::Head;
use crate::harness::core::integrity::NO_HEAD;
use crate::harness::core::{Core, Lifecycle, tasks};
use crate::journal::FORMAT;
use crate::json::parse;
use crate::object::Object;
use crate::ports::{Key, Part, Read, Rows, Table, Write};
use crate::session::damage::Damage;
use serde_json::Value;

/// What the key of such a row begins with; the id of its session follows.
const ROW: &str = "session";

/// What reads all of them.
pub(in crate::harness) fn all_named() -> Read {
    Read::all(Table::Meta, vec![ROW.into()])
}

/// A session is not named from here on.
pub(in crate::harness) fn unnamed(session: &str) -> Write {
    Write::DeletePrefix { table: Table::Meta, prefix: row_key(session) }
}

fn row_key(session: &str) -> Key {
    vec![ROW.into(), session.into()]
}

/// A tab with an earlier version of the package takes all rows for damaged whose format it does not know. This version has
/// worked in the session, so nothing was wrong with it before.
fn is_of_an_older_tab(session: &str, found: &Value, heads: &Rows) -> bool {
    let is_its_own = |(key, _): &&(Key, String)| key.first() == Some(&Part::Text(session.into()));
    let is_older = found.get("v").and_then(Value::as_u64) < Some(FORMAT);
    is_older && heads.iter().find(is_its_own).is_some_and(|(_, head)| Head::parse(head).is_of_today())
}

impl Core {
    /// The row of a session says what is known of it. `None`: it has none.
    pub(in crate::harness) fn named(&self, session: &str) -> Option<Write> {
        let found = |damage: &Damage| Object::new().all(damage.json()).number("v", FORMAT).json();
        let value = self.sessions.damage(session).map(found).unwrap_or_default();
        let row = Write::Put { table: Table::Meta, key: row_key(session), value };
        (!tasks::is_task(session)).then_some(row)
    }

    /// What was found in a session is written down, also by a tab that only looks.
    pub(in crate::harness) fn keep_verdict(&mut self, session: &str) {
        let row = self.named(session);
        row.into_iter().for_each(|row| self.write_named(row));
    }

    /// A holder that was robbed writes nothing, this neither. Who holds nothing has no commits.
    fn write_named(&mut self, write: Write) {
        match self.state.lifecycle {
            Lifecycle::Running => {
                self.outbox.write(write);
                self.outbox.hurry();
            }
            _ => self.outbox.act(Action::Draft { writes: vec![write] }),
        }
    }

    /// Nothing is left of a session that was named.
    pub(in crate::harness) fn forget_session(&mut self, session: &str) {
        self.forget_integrity(session);
        self.write_named(unnamed(session));
    }

    /// Takes in what the rows of [`all_named`] say, and gives the sessions that they name. `heads`: those that are read beside them.
    pub(in crate::harness) fn take_named(&mut self, rows: &Rows, heads: &Rows) -> Vec<String> {
        let mut ids = Vec::new();
        for (key, text) in rows {
            let Some(Part::Text(id)) = key.last() else { continue };
            if self.sessions.damage(id).is_none()
                && let Some(found) = parse(text)
                && let Some(damage) = Damage::read(&found)
                && !is_of_an_older_tab(id, &found, heads)
            {
                self.sessions.set_aside(id, damage);
            }
            ids.push(id.clone());
        }
        ids
    }

    /// The same for who takes the workspace: what the rows do not say was put right by another tab. A session whose head is
    /// gone is worked in by nobody, and none is begun in its place, until a list has seen whether anything is left of it.
    pub(in crate::harness) fn take_over_named(&mut self, rows: &Rows, heads: &Rows) {
        for (key, _) in rows.iter().filter(|(_, text)| text.is_empty()) {
            if let Some(Part::Text(id)) = key.last() {
                self.forget_integrity(id);
            }
        }
        for id in self.take_named(rows, heads) {
            if self.sessions.head(&id).is_none() && self.sessions.damage(&id).is_none() {
                self.sessions.set_aside(&id, Damage::of_head(NO_HEAD));
            }
        }
    }
}
