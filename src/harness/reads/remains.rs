//! What is left of removed sessions, until nothing is.
//!
//! Decides what goes besides their own rows. Promises: afterwards no row speaks of the session, and what was read for it is as much as the
//! session has. Leaves to others: when that is (`holding/removal`), and which files go with it (`sweep`).

use crate::harness::core::at_hand::{RUN, run_key};
use crate::harness::core::removed::erase;
use crate::harness::core::{Core, tasks};
use crate::harness::reads::{After, Reads, Remains};
use crate::journal::{Entry, Row};
use crate::list::Listed;
use crate::ports::{Key, Read, Rows, Table, Write, keys};
use crate::session::record::begun_task;
use serde_json::Value;

/// How many rows are read by their keys at most. Of more, all rows of their kind are read instead.
const ONE_BY_ONE: usize = 1_024;

impl Reads {
    /// A step of the reads of what is left was carried out. Gives the files there are once all else is erased.
    pub(in crate::harness) fn remains_came(
        &mut self,
        core: &mut Core,
        step: Remains,
        rows: &[Rows],
    ) -> Option<Vec<Key>> {
        let (reads, next) = match step {
            Remains::Files { given_up } => {
                let files = rows.first().map(keys).unwrap_or_default();
                match given_up {
                    Some(session) => (all_runs(), Remains::Runs { gone: vec![session], files }),
                    None => {
                        let gone = core.gone();
                        let rows =
                            |session: &String| Read::all(Table::Entries, vec![session.as_str().into()]);
                        (gone.iter().map(rows).list(), Remains::Rows { gone, files })
                    }
                }
            }
            Remains::Rows { gone, files } => {
                let by_key =
                    |runs: Vec<String>| runs.iter().map(|run| Read::all(Table::Meta, run_key(run))).list();
                (runs_of(rows).map_or_else(all_runs, by_key), Remains::Runs { gone, files })
            }
            Remains::Runs { gone, files } => {
                erase_removed(core, rows.iter().flatten(), &gone);
                return Some(files);
            }
        };
        if reads.is_empty() {
            return self.remains_came(core, next, &[]);
        }
        self.read_after_commit(core, reads, After::Remains(next));
        None
    }
}

/// What reads of each run whose it is.
fn all_runs() -> Vec<Read> {
    vec![Read::all(Table::Meta, vec![RUN.into()])]
}

/// The ids by which runs, tasks and waiting messages are found that these rows of sessions name. `None`: so many are not read one
/// by one, or a row does not say it any more.
fn runs_of(rows: &[Rows]) -> Option<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    for (_, text) in rows.iter().flatten() {
        let (header, entry) = Row::from_text(text).ok()?.read().ok()?;
        let run = header.run.as_deref();
        let other = match &entry {
            Some(Entry::Queued { prompt, .. }) => {
                prompt.get("message").and_then(Value::as_str).map(Into::into)
            }
            Some(Entry::Recorded { what, record }) => begun_task(what.known(), record, run),
            None if header.kind == "queued" => return None,
            _ => None,
        };
        for id in run.map(String::from).into_iter().chain(other) {
            if !ids.iter().rev().any(|known| *known == id) {
                ids.push(id);
            }
        }
        if ids.len() > ONE_BY_ONE {
            return None;
        }
    }
    Some(ids)
}

/// Nothing is left of these sessions but their files. `runs`: which session each run is of.
fn erase_removed<'a>(core: &mut Core, runs: impl Iterator<Item = &'a (Key, String)>, gone: &[String]) {
    for (key, session) in runs {
        if gone.contains(session) {
            core.outbox.write(Write::DeletePrefix { table: Table::Meta, prefix: key.clone() });
        }
    }
    // The first session may have begun anew.
    for session in core.gone().iter().filter(|session| gone.contains(session)) {
        erase(&mut core.outbox, session);
        core.outbox.write(tasks::no_row(session));
        core.sessions.remove(session);
    }
    core.outbox.strictly();
}
