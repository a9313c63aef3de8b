//! Files that no conversation refers to.
//!
//! Decides which files are deleted. A session at hand says itself what it refers to; the head of another says it for that.
//! Promises: no file goes on the word of a head that somebody has changed. Such a head keeps all files, because what
//! it named is not known. Leaves to others: who is to look for such files (`rows`), and when bytes are written (`runner/files`).

use crate::harness::core::arrival::Arrival;
use crate::harness::core::head::Head;
use crate::harness::core::{Core, tasks};
use crate::harness::reads::judge::verdict;
use crate::harness::reads::{After, Reads};
use crate::journal::canonical::Integrity;
use crate::json;
use crate::ports::{Key, Part, Read, Rows, Table, Write};
use crate::rooms::{Room, enter};

/// What it is looked for such files after, and what goes on then.
#[derive(Debug)]
pub(in crate::harness) enum Then {
    /// A start: all heads are read, those of tasks too, whose rows in `meta` may be lost.
    Started,
    /// A message that had waited with files.
    Unqueued,
    /// A command had content of a session erased.
    Erased { command: u32, session: String },
    /// Removed sessions were erased.
    Removed,
}

impl Reads {
    /// Deletes the files among these that no conversation refers to. Gives back what goes on, where there is none.
    pub(in crate::harness) fn sweep(&mut self, core: &mut Core, files: Vec<Key>, then: Then) -> Option<Then> {
        let files = if files.is_empty() { files } else { unused(core, files) };
        if files.is_empty() {
            return Some(then);
        }
        let heads = match then {
            Then::Started => vec![Read::all(Table::Heads, Vec::new())],
            _ => tasks::heads_of_others().into(),
        };
        self.read_after_commit(core, heads, After::Sweep { files, then });
        None
    }
}

/// Deletes what none of these heads names either.
pub(in crate::harness) fn delete_unused(
    core: &mut Core,
    files: Vec<Key>,
    rows: &[Rows],
    signatures: Option<&[String]>,
) {
    let mut files = unused(core, files);
    if files.is_empty() {
        return;
    }
    for (at, (key, row)) in rows.iter().take(1).flatten().enumerate() {
        let Some(Part::Text(id)) = key.first() else { continue };
        if core.sessions.has(id) {
            continue;
        }
        let head = Head::parse(row);
        let expected = signatures.map(|all| all.get(at).map_or("", String::as_str));
        if verdict(id, &head, expected, core.strict) == Integrity::Tampered {
            return;
        }
        files.retain(|file| !file_of(file).is_some_and(|file| names(&head, file)));
    }
    for file in files {
        core.outbox.write(Write::DeletePrefix { table: Table::Files, prefix: file });
        core.outbox.strictly();
    }
}

/// The files among these that nothing here is known to refer to. A door of the room `past`.
#[inline(never)]
fn unused(core: &Core, mut files: Vec<Key>) -> Vec<Key> {
    enter(Room::Past);
    // What a damaged session refers to is not known where its head is lost.
    let is_lost = |id: &String| core.sessions.head(id).is_none_or(|head| !head.value.is_object());
    if core.sessions.damaged().iter().any(is_lost) {
        return Vec::new();
    }
    let comes = |arrival: &Arrival, id: &str| arrival.session.keeps_file(id);
    files.retain(|file| {
        file_of(file).is_none_or(|id| {
            let by_head = |(session, head): (&str, &Head)| !core.sessions.has(session) && names(head, id);
            !core.sessions.arrival.as_ref().is_some_and(|arrival| comes(arrival, id))
                && !core.sessions.iter().any(|(_, slot)| slot.session.keeps_file(id))
                && !core.sessions.heads().any(by_head)
        })
    });
    files
}

/// The id of a file, by the key of its row.
fn file_of(key: &Key) -> Option<&str> {
    match key.first() {
        Some(Part::Text(id)) => Some(id),
        _ => None,
    }
}

/// Whether a head names this file among those that its session refers to.
fn names(head: &Head, file: &str) -> bool {
    let files = head.value.get("files").map(json::items).unwrap_or_default();
    files.iter().any(|named| named.as_str() == Some(file))
}
