//! A journal that is not as it was written: what of it can still be believed.
//!
//! Decides which rows are whole, by the chain of their hashes, and what a conversation is without the others. A row is
//! believed where the rows before it tie it to the first one, or the rows behind it to the end that its head names. Where
//! nobody can be believed who says where it ends, there is a gap behind the last row, because more may be lost.
//! Promises: what was put in the place of a row is never told. A whole journal has no damage. Leaves to others: signatures
//! (`harness/core/integrity`), and what becomes of a damaged session (`harness/`).

use super::Session;
use crate::error::{Code, ErrorInfo};
use crate::journal::{Entry, Header, Row};
use crate::list::Listed;
use crate::maps::sorted;
use crate::object::Object;
use crate::ports::{Key, Millis, Part, Rows};
use crate::run::{Ended, Outcome};
use serde_json::Value;

/// The first place at which a session is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The number of the entry; 0: the head, which is none.
    pub seq: u64,
    /// What is wrong there.
    pub why: String,
}

impl Damage {
    /// What is wrong is not in the rows.
    pub fn of_head(why: &str) -> Damage {
        Damage { seq: 0, why: why.into() }
    }

    /// `{ seq, why }`.
    pub fn json(&self) -> Value {
        Object::new().number("seq", self.seq).text("why", &self.why).done()
    }
}

/// Rows that are missing or not to be believed, one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The number of the first entry.
    pub from: u64,
    /// And of the last.
    pub to: u64,
    /// What is wrong with the first.
    pub why: String,
    /// When the entry before them was written.
    pub at: Millis,
    /// What is stored in their place.
    pub stored: Vec<String>,
}

impl Gap {
    /// `{ from, to, why }`.
    pub fn json(&self) -> Value {
        Object::new().number("from", self.from).number("to", self.to).text("why", &self.why).done()
    }
}

/// What stands in a place of a journal.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(target_arch = "wasm32"),
    expect(clippy::large_enum_variant, reason = "there are few of the other")
)]
pub enum Place {
    /// A row that is whole; its entry, unless that was erased.
    Whole(Header, Option<Entry>, Row),
    /// No such row.
    Lost(Gap),
    /// Behind the last row: nobody says that it is the last one. What is stored of the head stands in it.
    Open(Gap),
}

impl Place {
    /// When it was written, if it is whole.
    fn at(&self) -> Option<Millis> {
        match self {
            Place::Whole(header, ..) => Some(header.at),
            Place::Lost(_) | Place::Open(_) => None,
        }
    }
}

/// Where a journal ends, by its head.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// With the row of this number and hash.
    At(u64, &'a str),
    /// Nobody can be believed who says so; why.
    Unknown(&'static str),
}

impl End<'_> {
    /// The number and the hash of the last row.
    fn known(&self) -> Option<(u64, &str)> {
        match self {
            End::At(seq, hash) => Some((*seq, hash)),
            End::Unknown(_) => None,
        }
    }

    /// An end from which these rows go on is an earlier one.
    fn held_against(self, rows: &Rows) -> Self {
        let Some((end, hash)) = self.known() else { return self };
        let goes_on = |text: &str| {
            let row = Row::from_text(text).ok()?;
            (row.header()?.seq == end + 1 && row.follows(hash)).then_some(())
        };
        let behind = |key: &Key| matches!(key.get(1), Some(Part::Number(number)) if *number > end);
        match rows.iter().any(|(key, text)| behind(key) && goes_on(text).is_some()) {
            true => End::Unknown("rows go on behind the end that its head names"),
            false => self,
        }
    }
}

/// A journal, place by place.
#[derive(Clone, Debug)]
pub struct Survey {
    /// What the rows go on from.
    begun: Session,
    /// In the order of their numbers.
    pub places: Vec<Place>,
    /// What is wrong first, also where no row is lost by it.
    pub damage: Option<Damage>,
    /// Whether the rows before all damage are tied to the end too.
    pub proven: bool,
}

/// A place while it is looked at.
struct Seen {
    place: Place,
    /// Whether the rows before tie it to the first.
    tied: bool,
}

/// A hash that the next row may build on.
struct Link {
    hash: String,
    /// Whether it comes from the rows before.
    tied: bool,
}

/// How many of them are followed up.
const LINKS: usize = 8;

const MISSING: &str = "it is missing";
const UNFIT: &str = "it does not fit the journal";

/// What became of rows that go on from `begun`. `doubted`: the numbers among these rows of those that somebody has changed
/// although their hashes are right. `head`: what is stored of it.
///
/// # Errors
/// `newer_version`: a newer package has written one.
pub fn survey(
    begun: Session,
    rows: &Rows,
    end: End<'_>,
    head: Option<&str>,
    doubted: &[usize],
) -> Result<Survey, ErrorInfo> {
    let end = end.held_against(rows);
    let (mut next, mut tied, mut from) = (begun.seq + 1, true, 0);
    let mut before = vec![Link { hash: begun.hash.clone(), tied: true }];
    let mut survey = Survey { begun, places: Vec::new(), damage: None, proven: false };
    let stored = survey.sort(rows, end.known(), doubted);
    let mut seen: Vec<Seen> = Vec::new();
    let mut stored = stored.into_iter().peekable();
    while let Some((seq, ..)) = stored.peek() {
        let seq = *seq;
        let mut here = Vec::new();
        while let Some(one) = stored.next_if(|(other, ..)| *other == seq) {
            here.push(one);
        }
        if seq > next {
            seen.push(lost(next, seq - 1, MISSING, Vec::new()));
            before.clear();
        }
        next = seq.saturating_add(1);
        let rows = || here.iter().filter_map(|(_, row, _, doubted)| Some((row.as_ref()?, *doubted)));
        let link_of =
            |row: &Row| before.iter().filter(|link| row.follows(&link.hash)).map(|link| link.tied).max();
        let found = rows().find_map(|(row, doubted)| Some((row, doubted, link_of(row)?)));
        if let Some((row, doubted, linked)) = found {
            let read = match row.read() {
                Err(error) if error.code == Code::NewerVersion => return Err(error),
                read => read.ok().filter(|_| !doubted),
            };
            if !linked {
                (tied, from) = (false, seen.len());
            }
            before = vec![Link { hash: row.hash().into(), tied: true }];
            seen.push(match read {
                Some((header, entry)) => Seen { place: Place::Whole(header, entry, row.clone()), tied },
                None => lost(seq, seq, "it says what nobody has written", vec![row.stored()]),
            });
            continue;
        }
        let why = match rows().next() {
            None => "it cannot be read",
            Some((row, _)) if !row.has_its_content() => "its content is not what was written",
            Some(_) if before.is_empty() => "nothing ties it to another",
            Some(_) => "it does not follow the one before it",
        };
        let mut after: Vec<Link> = Vec::new();
        for (row, _) in rows() {
            // What its header and its content say, and what it says itself.
            after.extend(before.iter().map(|link| Link { hash: row.hash_after(&link.hash), ..*link }));
            if !after.iter().any(|link| link.hash == row.hash()) {
                after.insert(after.len().min(1), Link { hash: row.hash().into(), tied: false });
            }
        }
        // Of many damaged rows one behind the other nothing is worth more work.
        after.truncate(LINKS);
        before = after;
        seen.push(lost(seq, seq, why, here.into_iter().map(|(_, _, text, _)| text.into()).list()));
    }
    let leads = match end.known() {
        Some((last, _)) if last >= next => {
            seen.push(lost(next, last, MISSING, Vec::new()));
            None
        }
        Some((_, hash)) => before.iter().filter(|link| link.hash == hash).map(|link| link.tied).max(),
        None => None,
    };
    let whole = |last: &Seen| matches!(last.place, Place::Whole(..));
    if leads.is_none() && end.known().is_some() && seen.last().is_some_and(whole) {
        survey.blame(next - 1, "it is not the end that the head names");
    }
    let from = match leads {
        Some(true) => from,
        Some(false) => seen.len(),
        None => usize::MAX,
    };
    survey.proven = from == 0;
    survey.keep(seen, from);
    if let End::Unknown(why) = end {
        let at = survey.places.iter().rev().find_map(Place::at).unwrap_or_default();
        let stored = head.map(String::from).into_iter().list();
        survey.places.push(Place::Open(Gap { from: next, to: next, why: why.into(), at, stored }));
        survey.damage.get_or_insert_with(|| Damage::of_head(why));
    }
    Ok(survey)
}

fn lost(from: u64, to: u64, why: &str, stored: Vec<String>) -> Seen {
    Seen { place: Place::Lost(Gap { from, to, why: why.into(), at: 0, stored }), tied: false }
}

/// What is stored for a number: the row, if it is one; the text; whether it is doubted.
type Stored<'a> = (u64, Option<Row>, &'a str, bool);

/// Whether the row of this number lies in its place. A copy of it that lies elsewhere is missed by nobody.
fn has_its_row(rows: &Rows, seq: u64) -> bool {
    let is_its_own = |text: &str| Some(Row::from_text(text).ok()?.header()?.seq == seq);
    rows.iter().any(|(key, text)| key.get(1) == Some(&Part::Number(seq)) && is_its_own(text) == Some(true))
}

impl Survey {
    /// The rows in the order of the numbers that they have themselves, as far as they have one.
    fn sort<'a>(&mut self, rows: &'a Rows, end: Option<(u64, &str)>, doubted: &[usize]) -> Vec<Stored<'a>> {
        let mut stored = Vec::new();
        for (at, (key, text)) in rows.iter().enumerate() {
            let Some(Part::Number(number)) = key.get(1) else { continue };
            let row = Row::from_text(text).ok();
            let seq = row.as_ref().and_then(Row::header).map_or(*number, |header| header.seq);
            if seq != *number {
                let strayed = seq <= self.begun.seq || (seq < *number && has_its_row(rows, seq));
                self.blame(if strayed { *number } else { seq.min(*number) }, "it does not lie in its place");
            }
            match end {
                Some((end, _)) if seq > end => self.blame(end.saturating_add(1), "it lies behind the end"),
                // It is none of those that go on from there.
                _ if seq.max(*number) <= self.begun.seq => {}
                _ if seq <= self.begun.seq => stored.push((*number, None, text.as_str(), false)),
                _ => stored.push((seq, row, text.as_str(), doubted.contains(&at))),
            }
        }
        sorted(stored, |(seq, ..)| *seq)
    }

    fn blame(&mut self, seq: u64, why: &str) {
        if self.damage.as_ref().is_none_or(|damage| seq < damage.seq) {
            self.damage = Some(Damage { seq, why: why.into() });
        }
    }

    /// Keeps the rows that can be believed: those that are tied to the first, and those from this place on.
    fn keep(&mut self, seen: Vec<Seen>, from: usize) {
        let believed = |(at, seen): (usize, &Seen)| seen.tied || at >= from;
        let clears = |seen: &Seen| matches!(&seen.place, Place::Whole(_, Some(Entry::Cleared { .. }), _));
        let mut pairs = seen.iter().enumerate().rev();
        let cleared = pairs.find(|(at, seen)| clears(seen) && believed((*at, seen))).map(|(at, _)| at);
        let mut last = 0;
        for (at, one) in seen.into_iter().enumerate() {
            let whole = believed((at, &one));
            match one.place {
                Place::Whole(header, entry, row) => {
                    // Content is erased before a clearing only.
                    let there = entry.is_some()
                        || (Entry::erasable(&header.kind) && cleared.is_some_and(|cleared| at < cleared));
                    if whole && there {
                        last = header.at;
                        self.places.push(Place::Whole(header, entry, row));
                        continue;
                    }
                    let why = if there { "nothing ties it to another" } else { "its content is gone" };
                    let (from, to) = (header.seq, header.seq);
                    self.lose(Gap { from, to, why: why.into(), at: last, stored: vec![row.stored()] });
                }
                Place::Lost(gap) | Place::Open(gap) => self.lose(Gap { at: last, ..gap }),
            }
        }
    }

    fn lose(&mut self, gap: Gap) {
        self.blame(gap.from, &gap.why);
        match self.places.last_mut() {
            Some(Place::Lost(before)) => {
                before.to = gap.to;
                before.stored.extend(gap.stored);
            }
            _ => self.places.push(Place::Lost(gap)),
        }
    }

    /// The number of the last row.
    pub fn last(&self) -> u64 {
        match self.places.last() {
            Some(Place::Whole(header, ..)) => header.seq,
            Some(Place::Lost(gap)) => gap.to,
            Some(Place::Open(gap)) => gap.from.saturating_sub(1),
            None => self.begun.seq,
        }
    }

    /// Whether nobody says where it ends.
    pub fn is_open(&self) -> bool {
        matches!(self.places.last(), Some(Place::Open(_)))
    }

    /// Whether what the rows add up to is another session than `id`, and none of them is lost.
    pub fn is_of_another(&self, id: &str) -> bool {
        let is_lost = |place: &Place| matches!(place, Place::Lost(_));
        let folded = || self.fold().0;
        !self.places.iter().any(is_lost) && folded().record().is_some_and(|record| record.id() != id)
    }

    /// What the rows add up to that are whole, for reading: a run that lacks some is shown as far as it goes. With where
    /// something is lost: behind which run, if there is one.
    pub fn fold(&self) -> (Session, Vec<(Option<String>, Gap)>) {
        let mut session = self.begun.clone();
        let mut gaps = Vec::new();
        let mut skips = false;
        for place in &self.places {
            let (header, entry, row) = match place {
                Place::Whole(header, entry, row) => (header, entry.as_ref(), row),
                Place::Lost(gap) | Place::Open(gap) => {
                    gaps.push((session.runs.last().map(|run| run.id.clone()), gap.clone()));
                    continue;
                }
            };
            let clears = matches!(entry, Some(Entry::Cleared { .. }));
            let begins = clears || entry.is_some_and(begins_anew);
            if skips && !begins {
                continue;
            }
            skips = false;
            session.seq = header.seq.saturating_sub(1);
            if session.read(header, entry, row).is_err() && !matches!(entry, Some(Entry::Recorded { .. })) {
                // What it builds on is lost.
                session.leave_open(header.at);
                session.seq = header.seq.saturating_sub(1);
                skips = session.read(header, entry, row).is_err();
                if skips && gaps.is_empty() {
                    let (run, why) = (session.runs.last().map(|run| run.id.clone()), UNFIT.into());
                    let (from, to, at) = (header.seq, header.seq, header.at);
                    gaps.push((run, Gap { from, to, why, at, stored: Vec::new() }));
                }
            }
            if clears {
                gaps.clear();
            }
        }
        session.settle();
        (session, gaps)
    }
}

/// Whether an entry begins a run that builds on none before it, as far as a person sees.
pub fn begins_anew(entry: &Entry) -> bool {
    matches!(entry, Entry::Prompt { continues: None, replaces: None, .. } | Entry::Adopted { .. })
}

/// Puts a mark into a page of a conversation for each place where something is lost. `all`: nothing was said before it.
pub fn mark(messages: &mut Vec<Value>, gaps: &[(Option<String>, Gap)], all: bool) {
    for (run, gap) in gaps.iter().rev() {
        let of_run = |message: &Value| message.get("runId").and_then(Value::as_str) == run.as_deref();
        let at = match run {
            Some(_) => messages.iter().rposition(of_run).map(|at| at + 1),
            None => all.then_some(0),
        };
        if let Some(at) = at {
            messages.insert(at, message_of(gap));
        }
    }
}

/// `Message` of the contract that stands where something is lost.
fn message_of(gap: &Gap) -> Value {
    Object::new()
        .text("id", &["damaged_", &gap.from.to_string()].concat())
        .text("role", "system")
        .value("parts", Value::Array(Vec::new()))
        .number("createdAt", gap.at)
        .text("status", "damaged")
        .value("damaged", gap.json())
        .done()
}

/// `SessionEvent` of the contract that stands where something is lost, from this entry on.
pub fn event_of(gap: &Gap, from: u64) -> Value {
    Object::new()
        .number("v", 1)
        .number("seq", gap.to)
        .number("at", gap.at)
        .text("type", "damaged")
        .text("hash", "")
        .number("from", gap.from.max(from))
        .text("why", &gap.why)
        .done()
}

impl Session {
    /// What has not ended is left as it is: how it went on is lost.
    fn leave_open(&mut self, at: Millis) {
        if let Some(run) = self.runs.last_mut().filter(|run| run.ended.is_none()) {
            run.ended = Some(Ended { at, outcome: Outcome::Interrupted, error: None });
        }
    }
}
