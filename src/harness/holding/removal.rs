//! Removed sessions, until nothing is left of them.
//!
//! Decides what goes when a removal can no longer be undone. Promises: afterwards no row speaks of the session. The holder
//! of that moment sees to it, be it at a later start. Leaves to others: how long that is (`core/removed`).

use crate::harness::core::removed::erase;
use crate::harness::core::{Core, Lifecycle, tasks};
use crate::harness::holding::Holding;
use crate::harness::holding::start::Aim;
use crate::harness::reads::Reads;
use crate::journal::{Entry, Row};
use crate::ports::{Key, Millis, Rows, Table, Write};
use crate::session::record::begun_task;
use serde_json::Value;

/// How many rows are read by their keys at most. Of more, all rows of their kind are read instead.
const ONE_BY_ONE: usize = 1_024;

impl Holding {
    /// When the first removed session is to go, if one is.
    pub(in crate::harness) fn removal_due(&self, core: &Core) -> Option<Millis> {
        let can = matches!(core.state.lifecycle, Lifecycle::Running | Lifecycle::Stopped);
        if !can || self.start.is_some() || self.closing.is_some() {
            return None;
        }
        core.sessions.heads().filter_map(|(session, _)| core.gone_at(session)).min()
    }

    /// Erases what can no longer be brought back; borrows the workspace for it where no agent runs.
    pub(in crate::harness) fn end_removals(&mut self, core: &mut Core, reads: &mut Reads) {
        if self.removal_due(core).is_none_or(|due| due > core.now) {
            return;
        }
        if core.state.lifecycle == Lifecycle::Running {
            reads.look_for_runs(core);
        } else {
            self.begin(core, Aim::Sweep);
        }
    }
}

/// The ids by which runs, tasks and waiting messages are found that these rows of sessions name. `None`: so many are not read one
/// by one, or a row does not say it any more.
pub(in crate::harness) fn runs_of(rows: &[Rows]) -> Option<Vec<String>> {
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
pub(in crate::harness) fn erase_removed<'a>(
    core: &mut Core,
    runs: impl Iterator<Item = &'a (Key, String)>,
    gone: &[String],
) {
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
