//! A session's file: a page of it that leaves, and the signatures of what arrives.
//!
//! Promises: memory for a page of rows. Leaves to others: what a file is (`session/carry`), and how a session
//! arrives (`holding/arrivals`).

use crate::error::ErrorInfo;
use crate::harness::core::Core;
use crate::harness::core::arrival::nothing_arrives;
use crate::harness::core::head::Head;
use crate::harness::core::integrity::changed_events;
use crate::harness::reads::Reads;
use crate::journal::canonical::Integrity;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Key, Rows};
use crate::protocol::Members;
use crate::rooms::{Room, enter};
use crate::session::carry;
use crate::session::damage::Survey;
use serde_json::Value;

/// How many rows an export gives at once.
pub(in crate::harness) const PAGE: u64 = 32;

/// A page of a session's file. `rows`: those of its journal, or all that there is of a damaged one; and its head.
#[inline(never)]
pub(in crate::harness) fn page(
    args: Members<'_>,
    rows: Result<&[(Key, String)], &Survey>,
    head: &str,
) -> Result<Value, ErrorInfo> {
    enter(Room::Carry);
    let from = args.whole("from").unwrap_or_default();
    let mut sum = args.needed("hash").to_owned();
    let mut page = Object::new();
    let (mut lines, mut last) = (String::new(), args.whole("last").unwrap_or_default());
    if args.get("from").is_none() {
        let stored = Head::parse(head);
        last = rows.map_or_else(Survey::last, |_| stored.seq());
        // One that is not believed stands in the gap behind the rows.
        let doubted = rows.err().filter(|survey| survey.is_open()).map(Survey::fold);
        let (files, head) = match &doubted {
            Some((folded, _)) => {
                let ids = folded.files().map(|file| file.id.as_str().into()).list();
                (Some(Value::Array(ids)), "null")
            }
            None => (stored.value.get("files").cloned(), head),
        };
        page.maybe("files", files);
        lines = carry::begin(args.needed("id"), head, &mut sum);
    }
    let next = from.saturating_add(PAGE);
    match rows {
        Ok(rows) => {
            // What was written since is not of this file.
            let most = usize::try_from((last + 1).saturating_sub(from.max(1))).unwrap_or(usize::MAX);
            lines.push_str(&carry::page(rows.iter().take(most).map(|(_, text)| text.as_str()), &mut sum)?);
        }
        Err(survey) => {
            lines.push_str(&carry::page_in_part(&survey.places, from..next.min(last + 1), last, &mut sum))
        }
    }
    page.text("lines", &lines).text("hash", &sum).number("last", last);
    Ok(page.maybe("next", (next <= last).then(|| next.into())).done())
}

impl Reads {
    /// The signatures of events, and of the head behind them, were held against what they should be.
    #[inline(never)]
    pub(in crate::harness) fn arrived(
        &mut self,
        core: &mut Core,
        command: u32,
        rows: &[Rows],
        signatures: Option<&[String]>,
    ) {
        enter(Room::Carry);
        let (mut accepted, mut signed) = (Ok(()), false);
        if let Some((_, head)) = rows.iter().skip(1).flatten().next() {
            let Some(arrival) = &mut core.sessions.arrival else {
                return core.reply_now(command, Err(nothing_arrives()));
            };
            // What is not signed here, nobody here can vouch for.
            let expected = signatures.map(|all| all.last().map_or("", String::as_str));
            arrival.integrity = match Head::parse(head).judge(expected, false) {
                Integrity::Unverified => Integrity::Unverifiable,
                judged => judged,
            };
            signed = arrival.integrity == Integrity::Verified;
            accepted = arrival.integrity.accept("agent session state", &arrival.session.id);
        }
        let none = Rows::new();
        let events = rows.first().unwrap_or(&none);
        if let Some(event) = changed_events(events, signatures, signed.then_some(0)).first() {
            accepted = Integrity::Tampered.accept("agent session event", &event.id);
        } else if let Some(reader) = &mut self.reader
            && let Some(event) = changed_events(events, signatures, Some(0)).first()
        {
            // Of another key's, unless ours turns out to have signed the head.
            reader.doubt(events.get(event.at));
        }
        if accepted.is_err() {
            self.reader = None;
            core.sessions.arrival.take_if(|arrival| arrival.id.is_none());
        }
        core.reply_now(command, accepted.map(|()| None));
    }
}
