//! All sessions, by their heads: `sessions.list`, and what is always allowed in them.
//!
//! Decides which sessions are listed, and in which order. Promises: a head that somebody has changed is not believed, and
//! without verification no list has one. A session whose rows are damaged is listed with that. Leaves to others: how one
//! of them stands (`core/states`).

use crate::harness::core::integrity::Head;
use crate::harness::core::removed::removed_by;
use crate::harness::core::states::{is_once, with_verdict};
use crate::harness::core::stored::{STOPPED_KEY, stopped_until};
use crate::harness::core::{Core, Lifecycle};
use crate::harness::reads::{After, Listing, Reads};
use crate::journal::canonical::Integrity;
use crate::json::texts;
use crate::list::Listed;
use crate::maps::sorted;
use crate::object::Object;
use crate::ports::{Millis, Read, Rows, Table};
use crate::session::dates;
use crate::{json, session};
use serde_json::Value;

/// The heads were read for a list. When it was asked for, and whether another tab works here. `stopped`: the row that says
/// when the agent was stopped.
pub(in crate::harness) fn heads_read(
    core: &mut Core,
    (command, of): (u32, Listing),
    (asked, held): (Millis, bool),
    read: Vec<(String, Head)>,
    stopped: &Rows,
) {
    // Of some even the head is gone.
    let gone = |id: &String| of != Listing::Grants && !read.iter().any(|(with_head, _)| with_head == id);
    let gone = core.sessions.damaged().into_iter().filter(gone).list();
    let mut heads = Vec::new();
    for (id, head) in read {
        if core.sessions.has(&id) && !core.is_as_written(&id, &head, asked) {
            core.found_out(&id);
        }
        if let (false, Err(error)) =
            (of == Listing::Verified, core.vouched(&id).accept("agent session state", &id))
        {
            return core.reply_now(command, Err(error));
        }
        let believed = core.believed(&id, &head);
        let removed = believed.and_then(removed_by).is_some();
        if !removed && !believed.is_some_and(is_once) {
            heads.push((id, head));
        } else if removed && core.state.lifecycle != Lifecycle::Running {
            // The page that removed it may be gone: an instance that sees it erases it in time.
            core.sessions.set_head(&id, head);
        }
    }
    heads.extend(gone.into_iter().map(|id| (id, Head::parse(""))));
    let listed = match of {
        Listing::Grants => {
            granted(core, heads, stopped_until(stopped.first().map(|(_, text)| text.as_str())))
        }
        _ => listed(core, heads, of == Listing::Verified, held),
    };
    core.reply_now(command, Ok(Some(json::json(&listed))));
}

/// The sessions that have a record, the one that was last changed first.
fn listed(core: &Core, heads: Vec<(String, Head)>, verified: bool, held: bool) -> Value {
    let mut states: Vec<(Integrity, Value)> = Vec::new();
    for (id, head) in heads {
        let state = match core.session(&id) {
            Some(session) => session.state(),
            // As its status would say.
            None if !held && head.is_at_work() && core.integrity(&id) != Integrity::Tampered => {
                let record = head.record().and_then(|record| session::lost_by(record, core.now));
                record.map(|record| session::state_of(record, head.value.get("usage"), None))
            }
            None => core.state_by(&id, head),
        };
        states.extend(state.map(|state| (core.integrity(&id), state)));
    }
    let newest = |(_, state): &(Integrity, Value)| {
        let at = state.get("updated_at").and_then(Value::as_str).and_then(dates::parse);
        u64::MAX - at.unwrap_or_default()
    };
    let states = sorted(states, newest);
    let told = |(verdict, state)| if verified { with_verdict(verdict, state) } else { state };
    states.into_iter().map(told).list().into()
}

/// What is always allowed in these sessions, whose agent was last stopped at the end of this epoch.
fn granted(core: &Core, heads: Vec<(String, Head)>, stopped: u64) -> Value {
    let mut all = Vec::new();
    for (id, head) in heads {
        let by_head = head.value.get("grants").filter(|grants| {
            grants.get("epoch").and_then(Value::as_u64).is_some_and(|epoch| epoch > stopped)
        });
        let tools = by_head.and_then(|grants| grants.get("tools")).and_then(texts).unwrap_or_default();
        all.append(&mut match core.session(&id) {
            Some(session) => granted_in(&id, session.grants.iter().map(|grant| grant.tool.as_str())),
            None => granted_in(&id, tools.iter().map(String::as_str)),
        });
    }
    all.into()
}

/// What is always allowed in a session: these tools.
fn granted_in<'a>(session: &str, tools: impl Iterator<Item = &'a str>) -> Vec<Value> {
    tools.map(|tool| Object::new().text("tool", tool).text("sessionId", session).done()).list()
}

impl Reads {
    /// What there is of all sessions, by their heads.
    pub(in crate::harness) fn list_sessions(&mut self, core: &mut Core, command: u32, of: Listing) {
        if core.state.lifecycle == Lifecycle::Running || of == Listing::Grants {
            self.read_heads(core, command, of, false);
        } else {
            self.peek(core, After::List { command, of, asked: core.now, held: false });
        }
    }

    /// Reads them. `held`: another tab works here.
    pub(in crate::harness) fn read_heads(&mut self, core: &mut Core, command: u32, of: Listing, held: bool) {
        let stopped = Read::all(Table::Meta, vec![STOPPED_KEY.into()]);
        let reads = vec![Read::all(Table::Heads, Vec::new()), stopped];
        self.read_after_commit(core, reads, After::List { command, of, asked: core.now, held });
    }
}
