//! All sessions, by their heads: `sessions.list`, and what is always allowed in them.
//!
//! Decides which sessions are listed, and in which order. Promises: a head that somebody has changed is shown as it is
//! stored, and believed in nothing. A session whose rows or head are damaged is listed with that. Leaves to others: how
//! one of them stands (`core/states`).

use crate::harness::core::head::Head;
use crate::harness::core::integrity::{ALL_GONE, CHANGED, NO_HEAD};
use crate::harness::core::named::all_named;
use crate::harness::core::removed::removed_by;
use crate::harness::core::states::with_verdict;
use crate::harness::core::stored::{STOPPED_KEY, stopped_until};
use crate::harness::core::{Core, Lifecycle, tasks};
use crate::harness::reads::judge::judge_head;
use crate::harness::reads::{After, Listing, Reads};
use crate::journal::canonical::Integrity;
use crate::journal::pack;
use crate::json::texts;
use crate::list::Listed;
use crate::maps::{Named, sorted};
use crate::object::Object;
use crate::ports::{Millis, Part, Read, Rows, Table};
use crate::session::damage::Damage;
use crate::session::dates;
use crate::session::record::Record;
use crate::session::{Beside, Session};
use crate::{json, session};
use serde_json::Value;

/// The heads were read for a list, and `signatures` are what they sign to. When it was asked for, and whether another tab
/// works here. Each head is read, told of and dropped before the next, because there may be a thousand.
fn heads_read(
    core: &mut Core,
    (command, of): (u32, Listing),
    (asked, held): (Millis, bool),
    rows: &[Rows],
    heads: &Named<()>,
    signatures: Option<&[String]>,
) {
    let stopped = rows.get(1).and_then(|rows| rows.first());
    let stopped = stopped_until(stopped.map(|(_, text)| text.as_str()));
    let mut told = Told::new();
    for (at, (key, row)) in rows.iter().take(1).flatten().enumerate() {
        let Some(Part::Text(id)) = key.first() else { continue };
        let head = Head::parse(row);
        judge_head(core, id, &head, signatures.map(|all| all.get(at).map_or("", String::as_str)), false);
        let as_written = !core.sessions.has(id) || core.is_as_written(id, &head, asked);
        if !as_written || core.head_integrity(id) == Integrity::Tampered {
            core.found_damage(id, Damage::of_head(CHANGED));
        }
        let believed = core.believed(id, &head);
        let removed = believed.and_then(removed_by).is_some();
        if !removed {
            match of {
                Listing::Grants => told.extend(granted(core, id, &head, stopped)),
                _ => told.extend(listed(core, id, &head, of == Listing::Verified, held)),
            }
        } else if removed && core.state.lifecycle != Lifecycle::Running {
            // The page that removed it may be gone: an instance that sees it erases it in time.
            core.sessions.set_head(id, head);
        }
    }
    for id in core.sessions.ids() {
        if core.is_written_before(&id, asked) && lacks_head(heads, &id) {
            core.found_damage(&id, Damage::of_head(NO_HEAD));
        }
    }
    // Of some even the head is gone.
    for id in core.sessions.damaged() {
        if of != Listing::Grants && lacks_head(heads, &id) {
            told.extend(listed(core, &id, &Head::parse(""), of == Listing::Verified, held));
        }
    }
    let told = sorted(told, |(at, _)| u64::MAX - at).into_iter().map(|(_, text)| text).list();
    core.reply_now(command, Ok(Some(["[", &told.join(","), "]"].concat())));
}

/// What is told of sessions, as JSON, and when that changed last.
type Told = Vec<(Millis, String)>;

/// How a session stands, if it has a record. A record that nobody can read is not what was written.
fn listed(core: &mut Core, id: &str, head: &Head, verified: bool, held: bool) -> Option<(Millis, String)> {
    if let Some(told) = listed_as_written(core, id, head, verified) {
        return Some(told);
    }
    let recorded = head.has_record() && !core.sessions.has(id);
    let state = stands(core, id, head, held).or_else(|| {
        recorded.then(|| core.found_damage(id, Damage::of_head(CHANGED)))?;
        core.state_by(id, head)
    })?;
    let at = state.get("updated_at").and_then(Value::as_str).and_then(dates::parse);
    let own = core.session(id).map_or_else(|| head.provider(), Session::provider);
    let state = core.with_the_present(id, own, state);
    let told = if verified { with_verdict(core.integrity(id), state) } else { state };
    Some((at.unwrap_or_default(), json::json(&told)))
}

/// The same by the text of a head that our key has signed: of a thousand records none is taken apart and put together.
/// `None`: it is told in the other way.
fn listed_as_written(core: &Core, id: &str, head: &Head, verified: bool) -> Option<(Millis, String)> {
    let is_signed = core.integrity(id) == Integrity::Verified && head.is_of_today();
    if !is_signed || head.is_at_work() || core.sessions.has(id) {
        return None;
    }
    let (at, record) = Record::text_of_head(&|name| head.recorded_text(name))?;
    let mut beside = Object::new();
    beside.all(Beside::of_head(&head.value).json());
    let beside =
        beside.maybe("answered_by", core.answered_by(head.provider(), head.value.get("config"))).json();
    let state = ["{", &record, ",", beside.get(1..)?].concat();
    let told = ["{\"hmac_status\":\"", Integrity::Verified.as_str(), "\",\"session\":", &state, "}"];
    Some((at, if verified { told.concat() } else { state }))
}

fn stands(core: &Core, id: &str, head: &Head, held: bool) -> Option<Value> {
    match core.session(id) {
        Some(session) => session.state(),
        // As its status would say.
        None if !held && head.is_at_work() && core.integrity(id) != Integrity::Tampered => {
            let record = session::lost_by(&head.record()?, core.now)?;
            Some(session::state_of(record, &Beside::of_head(&head.value).lost()))
        }
        None => core.state_by(id, head),
    }
}

/// What is always allowed in a session, whose agent was last stopped at the end of this epoch.
fn granted(core: &Core, id: &str, head: &Head, stopped: u64) -> Told {
    let by_head = core.believed(id, head).and_then(|head| head.get("grants"));
    let by_head = by_head
        .filter(|grants| grants.get("epoch").and_then(Value::as_u64).is_some_and(|epoch| epoch > stopped));
    let tools = by_head.and_then(|grants| grants.get("tools")).and_then(texts).unwrap_or_default();
    match core.session(id) {
        Some(session) => granted_in(id, session.grants.iter().map(|grant| grant.tool.as_str())),
        None => granted_in(id, tools.iter().map(String::as_str)),
    }
}

/// What is always allowed in a session: these tools, each once, because leave is given by destination or by origin.
fn granted_in<'a>(session: &str, tools: impl Iterator<Item = &'a str>) -> Told {
    let mut told = Told::new();
    for tool in tools {
        let grant = (0, Object::new().text("tool", tool).text("sessionId", session).json());
        if !told.contains(&grant) {
            told.push(grant);
        }
    }
    told
}

/// How many rows are looked at to see whether there are any.
const FIRST_ROWS: u64 = 64;

/// What is read for each list.
fn all_heads() -> Vec<Read> {
    let stopped = Read::all(Table::Meta, vec![STOPPED_KEY.into()]);
    let [before, behind] = tasks::heads_of_others();
    vec![before, behind, stopped, all_named()]
}

/// What tells whether there are rows of a session, loose or packed.
fn first_rows(id: &str) -> [Read; 2] {
    let loose = Read::all(Table::Entries, vec![id.into()]);
    [loose.within(Some(0), Some(FIRST_ROWS)), pack::packs(id, 0, Some(FIRST_ROWS))]
}

/// Whose heads are among the rows that were read.
fn heads_in(rows: &[Rows]) -> Named<()> {
    let mut heads = Named::default();
    for (key, _) in rows.iter().take(1).flatten() {
        if let Some(Part::Text(id)) = key.first() {
            heads.insert(id, ());
        }
    }
    heads
}

/// Whether the head of this session is not among those that were read, though it should be: those of tasks are not read.
fn lacks_head(heads: &Named<()>, id: &str) -> bool {
    !tasks::is_task(id) && !heads.contains_key(id)
}

impl Reads {
    /// What there is of all sessions, by their heads.
    pub(in crate::harness) fn list_sessions(&mut self, core: &mut Core, command: u32, of: Listing) {
        if core.state.lifecycle == Lifecycle::Running || of == Listing::Grants {
            self.read_heads(core, command, of, false);
        } else {
            self.peek(core, After::List { command, of, asked: core.now, held: false, lacking: Vec::new() });
        }
    }

    /// Reads them. `held`: another tab works here.
    pub(in crate::harness) fn read_heads(&mut self, core: &mut Core, command: u32, of: Listing, held: bool) {
        let after = After::List { command, of, asked: core.now, held, lacking: Vec::new() };
        self.read_after_commit(core, all_heads(), after);
    }

    /// The heads were read for a list. Of a damaged session without one nothing may be left at all, because another tab has
    /// removed it, or because all of it is lost: that is looked for first.
    pub(in crate::harness) fn heads_came(
        &mut self,
        core: &mut Core,
        (command, of): (u32, Listing),
        (asked, held): (Millis, bool),
        lacking: &[String],
        rows: &[Rows],
        signatures: Option<&[String]>,
    ) {
        let heads = heads_in(rows);
        let none = Rows::new();
        let part = |at: usize| rows.get(at).unwrap_or(&none);
        let mut named = core.take_named(part(2), part(0));
        let firsts = rows.get(3..).unwrap_or_default();
        if firsts.is_empty() && of != Listing::Grants {
            named.retain(|id| core.sessions.damage(id).is_none());
            named.extend(core.sessions.damaged());
            named.retain(|id| !core.sessions.has(id) && lacks_head(&heads, id));
            if !named.is_empty() {
                let reads = all_heads().into_iter().chain(named.iter().flat_map(|id| first_rows(id))).list();
                let after = After::List { command, of, asked, held, lacking: named };
                return self.read_after_commit(core, reads, after);
            }
        }
        let still = |id: &str| !core.sessions.has(id) && lacks_head(&heads, id);
        let seen = lacking.iter().zip(firsts.chunks(2)).filter(|(id, _)| still(id)).list();
        for (id, rows) in seen {
            match rows.iter().all(Vec::is_empty) {
                // A removal takes its name away with the rest.
                true if !named.contains(id) => core.forget_integrity(id),
                true => core.found_damage(id, Damage::of_head(ALL_GONE)),
                false => core.found_damage(id, Damage::of_head(NO_HEAD)),
            }
        }
        heads_read(core, (command, of), (asked, held), rows, &heads, signatures);
    }
}
