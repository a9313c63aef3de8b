//! The signatures among rows that were read: which are worked out again, and what comes of the heads, and of the events of
//! sessions that are taken.
//!
//! Promises: nobody takes a session one of whose signatures is wrong. What was found to be wrong with it counts until all
//! of it is read again for `sessions.verify`.
//! Leaves to others: what a signature says (`core/integrity`).

use crate::harness::core::head::Head;
use crate::harness::core::integrity::{CHANGED, Judged, changed_among, event_in, judged_events};
use crate::harness::core::{Core, DEFAULT_SESSION};
use crate::harness::reads::{After, Archiving};
use crate::journal::canonical::Integrity;
use crate::list::Listed;
use crate::ports::{Key, Part, Rows};
use crate::protocol::{Command, Source};
use crate::session::damage::Damage;

/// Holds a head against the signature that its text should have. `whole`: all rows of the session are read with it, to say
/// whether they are what was written.
pub(super) fn judge_head(core: &mut Core, id: &str, head: &Head, expected: Option<&str>, whole: bool) {
    let strict = core.strict && expected.is_some();
    let verdict = verdict(id, head, expected, core.strict);
    core.sessions.change(id, |slot| {
        (slot.verdict, slot.unsigned) = (Some(verdict), head.must_be_ours(expected));
        slot.foreign = head.foreign().filter(|_| strict);
        slot.tampered &= !whole;
        slot.damage.take_if(|_| whole);
    });
}

/// What a head is worth, held against the signature that its text should have. `strict`: our key has signed each.
pub(super) fn verdict(id: &str, head: &Head, expected: Option<&str>, strict: bool) -> Integrity {
    // A head in another's place says the truth of another session; only the first session is older than records.
    let named = head.recorded("id");
    let moved = named.map_or(id != DEFAULT_SESSION || head.has_record(), |named| named != id);
    if moved { Integrity::Tampered } else { head.judge(expected, strict) }
}

impl After {
    /// Holds the heads among these rows against what their texts sign to. Of a list each is judged when it is told of, and of a
    /// sweep when it is asked for its files.
    pub(in crate::harness) fn judge(&self, core: &mut Core, rows: &[Rows], signatures: Option<&[String]>) {
        if matches!(self, After::Arrived { .. } | After::List { .. } | After::Sweep { .. }) {
            return;
        }
        let heads = heads_among(self, rows);
        let before = signatures.map_or(0, <[String]>::len).saturating_sub(heads.len());
        for (at, (key, row)) in heads.into_iter().enumerate() {
            let expected = signatures.map(|all| all.get(before + at).map_or("", String::as_str));
            let Some(Part::Text(id)) = key.first() else { continue };
            let head = Head::parse(row);
            // What rows gave away counts until somebody has all of them read again.
            let verifies =
                matches!(self, After::Look(waiting) if waiting.request.command == Command::SessionsVerify);
            judge_head(core, id, &head, expected, verifies);
        }
        self.judge_events(core, rows, signatures);
    }

    /// Holds the events of sessions that are taken against what they sign to. A command that only looks does that by itself,
    /// except that it cannot see by them that the head's signature was taken out.
    fn judge_events(&self, core: &mut Core, rows: &[Rows], signatures: Option<&[String]>) {
        let ids = match self {
            After::Look(waiting) => vec![waiting.session.as_str()],
            After::Load { sessions, .. } => sessions.iter().map(String::as_str).list(),
            After::Archive { session, .. } => vec![session.as_str()],
            _ => return,
        };
        let looks =
            matches!(self, After::Look(waiting) if waiting.request.command.row().source != Source::Fold);
        let mut expected = signatures.map(|signatures| signatures.iter());
        for (id, entries) in ids.into_iter().zip(self.events_among(rows)) {
            let unsigned = core.sessions.slot(id).is_some_and(|slot| slot.unsigned);
            if looks && !unsigned {
                return;
            }
            let judged = judged_events(entries, &mut expected);
            if unsigned && judged.iter().any(Judged::is_ours) {
                core.sessions.change(id, |slot| slot.verdict = Some(Integrity::Tampered));
                core.set_aside(id, Damage::of_head(CHANGED));
                continue;
            }
            let changed = changed_among(judged, core.signs_behind(id), signatures.is_some());
            let Some(event) = changed.into_iter().next().filter(|_| !looks) else { continue };
            let Err(error) = Integrity::Tampered.accept("agent session event", &event.id) else { continue };
            core.set_aside(id, Damage { seq: event.seq, why: error.message.clone() });
        }
    }

    /// Of each session that was read for this, the rows whose events are judged.
    fn events_among<'a>(&self, rows: &'a [Rows]) -> Vec<&'a Rows> {
        let first = || rows.iter().take(1).list();
        match self {
            After::Look(waiting) if waiting.judges_events() => first(),
            After::Arrived { .. } | After::Archive { step: Archiving::Take { .. }, .. } => first(),
            After::Load { .. } => rows.iter().step_by(4).list(),
            _ => Vec::new(),
        }
    }

    /// What is to be signed again to judge rows that were read for this: events, then heads.
    pub(in crate::harness) fn texts_to_judge(&self, rows: &[Rows]) -> Vec<String> {
        let mut texts = Vec::new();
        for entries in self.events_among(rows) {
            let events = entries.iter().filter_map(|(_, text)| event_in(text));
            texts.extend(events.filter_map(|event| event.signature.map(|_| event.signed)));
        }
        for (_, row) in heads_among(self, rows) {
            texts.push(Head::signed_text(row).into());
        }
        texts
    }
}

/// The heads among rows that were read for this.
fn heads_among<'a>(after: &After, rows: &'a [Rows]) -> Vec<&'a (Key, String)> {
    match after {
        After::Look(_) | After::Arrived { .. } | After::Archive { .. } => {
            rows.iter().skip(1).take(1).flatten().list()
        }
        After::Load { .. } => rows.chunks(4).filter_map(|rows| rows.get(1)).flatten().list(),
        After::List { .. } | After::Sweep { .. } => rows.iter().take(1).flatten().list(),
        // Nothing is erased on the word of a head that somebody has changed; the others are judged when they are taken.
        After::Around => {
            let removed = |(_, head): &&(Key, String)| head.contains("\"removed\"");
            rows.iter().take(1).flatten().filter(removed).list()
        }
        _ => Vec::new(),
    }
}
