//! A journal that is not as it was written: what of it can still be believed.
//!
//! Decides which rows are whole, by the chain of their hashes, and what a conversation is without the others. A row is
//! believed where the rows before it tie it to the first one, or the rows behind it to the end that its head names. A
//! checkpoint that the head names is such an end, and what follows it such a beginning. Where
//! nobody can be believed who says where it ends, there is a gap behind the last row, because more may be lost.
//! Promises: what was put in the place of a row is never told. A whole journal has no damage. Leaves to others: signatures
//! (`harness/core/integrity`), and what becomes of a damaged session (`harness/`).

use super::Session;
use crate::error::{Code, ErrorInfo};
use crate::journal::{Entry, Header, OfQueue, Row, Scope, Sums, Withdrawn};
use crate::json::texts;
use crate::list::Listed;
use crate::maps::sorted;
use crate::object::Object;
use crate::ports::{Key, Millis, Part, Rows};
use crate::run::{Ended, Outcome, Prompt, Run, Said, Turn};
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

    /// Reads that.
    pub fn read(value: &Value) -> Option<Damage> {
        Some(Damage { seq: value.get("seq")?.as_u64()?, why: value.get("why")?.as_str()?.into() })
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
#[expect(clippy::large_enum_variant, reason = "there are few of the other")]
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

    /// The number of its last row.
    fn last(&self) -> u64 {
        match self {
            Place::Whole(header, ..) => header.seq,
            Place::Lost(gap) | Place::Open(gap) => gap.to,
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
    /// What they add up to where one of them was cleared, as the head vouches for it.
    checkpoint: Option<Session>,
    /// In the order of their numbers.
    pub places: Vec<Place>,
    /// What is wrong first, also where no row is lost by it.
    pub damage: Option<Damage>,
    /// Whether the rows before all damage are tied to the end too.
    pub proven: bool,
    /// What was said in runs that had not ended, and is in no row yet.
    pub drafts: Vec<(String, Entry)>,
}

/// A place while it is looked at.
struct Seen {
    place: Place,
    /// Whether it is tied to where these rows begin or end.
    believed: bool,
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
const OTHER_PAST: &str = "it is not the one that the checkpoint names";
const UNFIT: &str = "it does not fit the journal";

/// What became of rows that go on from `begun`. `doubted`: the numbers among these rows of those that somebody has changed
/// although their hashes are right. `head`: what is stored of it. `checkpoint`: what it vouches for besides their end.
///
/// # Errors
/// `newer_version`: a newer package has written one.
pub fn survey(
    begun: Session,
    rows: &Rows,
    end: End<'_>,
    head: Option<&str>,
    doubted: &[usize],
    checkpoint: Option<Session>,
) -> Result<Survey, ErrorInfo> {
    let end = end.held_against(rows);
    let mut from = (begun.seq, begun.hash.clone());
    let (places, drafts) = (Vec::new(), Vec::new());
    let mut survey = Survey { begun, checkpoint: None, places, damage: None, proven: true, drafts };
    let mut stored = survey.sort(rows, end.known(), doubted);
    let mut seen: Vec<Seen> = Vec::new();
    if let Some(checkpoint) = &checkpoint {
        let later = stored.split_off(stored.partition_point(|(seq, ..)| *seq <= checkpoint.seq));
        let to = (checkpoint.seq, checkpoint.hash.clone());
        let (_, leads) = survey.walk(&mut seen, from, stored, Some((to.0, &to.1)))?;
        // Those behind it are another's.
        if let Some(Seen { place: Place::Whole(header, _, row), .. }) = seen.last().filter(|_| !leads) {
            let last = lost(header.seq, header.seq, OTHER_PAST, vec![row.stored()]);
            seen.pop();
            seen.push(last);
        }
        (from, stored) = (to, later);
    }
    let past = seen.len();
    let (next, leads) = survey.walk(&mut seen, from, stored, end.known())?;
    let whole = |last: &Seen| matches!(last.place, Place::Whole(..));
    if !leads && end.known().is_some() && seen.last().is_some_and(whole) {
        survey.blame(next - 1, "it is not the end that the head names");
    }
    survey.checkpoint = checkpoint;
    survey.keep(seen, past);
    if let End::Unknown(why) = end {
        let at = survey.places.iter().rev().find_map(Place::at).unwrap_or_default();
        let stored = head.map(String::from).into_iter().list();
        survey.places.push(Place::Open(Gap { from: next, to: next, why: why.into(), at, stored }));
        survey.damage.get_or_insert_with(|| Damage::of_head(why));
    }
    Ok(survey)
}

fn lost(from: u64, to: u64, why: &str, stored: Vec<String>) -> Seen {
    Seen { place: Place::Lost(Gap { from, to, why: why.into(), at: 0, stored }), believed: false }
}

/// Before which of these places the content of rows may be gone, because the conversation was cleared there: `past`, or the
/// last clearing. Where that is lost, it was in a gap before which no content is left.
fn until_cleared(seen: &[Seen], past: usize) -> usize {
    let clears =
        |seen: &Seen| seen.believed && matches!(&seen.place, Place::Whole(_, Some(Entry::Cleared { .. }), _));
    let known = seen.iter().rposition(clears).unwrap_or_default().max(past);
    let (mut cleared, mut erased) = (known, false);
    for (at, one) in seen.iter().enumerate().skip(known) {
        match &one.place {
            Place::Whole(header, entry, _) if one.believed => match entry {
                Some(_) if Entry::erasable(&header.kind) => break,
                Some(_) => {}
                None => erased = true,
            },
            _ if erased => cleared = at,
            _ => {}
        }
    }
    cleared
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

    /// Looks at the rows between two that are known: what follows the first (`from`), and what leads to the last (`end`).
    /// Gives the number behind them, and whether they lead there.
    fn walk(
        &mut self,
        seen: &mut Vec<Seen>,
        from: (u64, String),
        stored: Vec<Stored<'_>>,
        end: Option<(u64, &str)>,
    ) -> Result<(u64, bool), ErrorInfo> {
        let first = seen.len();
        let (mut next, mut tied, mut unbroken) = (from.0 + 1, true, first);
        let mut before = vec![Link { hash: from.1, tied: true }];
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
                    (tied, unbroken) = (false, seen.len());
                }
                before = vec![Link { hash: row.hash().into(), tied: true }];
                seen.push(match read {
                    Some((header, entry)) => {
                        Seen { place: Place::Whole(header, entry, row.clone()), believed: tied }
                    }
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
        let leads = match end {
            Some((last, _)) if last >= next => {
                seen.push(lost(next, last, MISSING, Vec::new()));
                None
            }
            Some((_, hash)) => before.iter().filter(|link| link.hash == hash).map(|link| link.tied).max(),
            None => None,
        };
        let proven = match leads {
            Some(true) => unbroken,
            Some(false) => seen.len(),
            None => usize::MAX,
        };
        self.proven &= proven == first;
        seen.iter_mut().skip(proven).for_each(|one| one.believed = true);
        Ok((next, leads.is_some()))
    }

    /// Keeps the rows that can be believed. `past`: how many of them a checkpoint is behind.
    fn keep(&mut self, seen: Vec<Seen>, past: usize) {
        let cleared = until_cleared(&seen, past);
        let mut withdrawn = Withdrawn::default();
        for (at, one) in seen.iter().enumerate().filter(|(_, one)| one.believed) {
            if let Place::Whole(_, Some(entry), _) = &one.place {
                withdrawn.take(at, entry);
            }
        }
        let mut last = 0;
        for (at, one) in seen.into_iter().enumerate() {
            let whole = one.believed;
            match one.place {
                Place::Whole(header, entry, row) => {
                    // Content is erased before a clearing only, or where its message was withdrawn.
                    let may_go = at < cleared || withdrawn.covers(at, &header);
                    let erased = Entry::erasable(&header.kind) && may_go;
                    let there = entry.is_some() || erased;
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
            Some(Place::Open(gap)) => gap.from.saturating_sub(1),
            Some(place) => place.last(),
            None => self.begun.seq,
        }
    }

    /// The rows from the first of a run that is over to its last, if the first one begins it, and none of them or beside them is
    /// lost.
    pub fn run(&self, id: &str) -> Option<Vec<String>> {
        let of_run =
            |place: &Place| matches!(place, Place::Whole(header, ..) if header.run.as_deref() == Some(id));
        let first = self.places.iter().position(of_run)?;
        let last = self.places.iter().rposition(of_run)?;
        let begins = |place: &Place| {
            let kinds = ["prompt", "queued", "adopted", "delegated", "compacting"];
            matches!(place, Place::Whole(header, ..) if kinds.contains(&header.kind.as_str()))
        };
        self.places.get(first).filter(|place| begins(place))?;
        let around = self.places.get(first.saturating_sub(1)..(last + 2).min(self.places.len()))?;
        let is_over =
            |place: &Place| of_run(place) && matches!(place, Place::Whole(_, Some(Entry::Ended { .. }), _));
        if around.iter().any(|place| matches!(place, Place::Lost(_))) || !around.iter().any(is_over) {
            return None;
        }
        let row = |place: &Place| match place {
            Place::Whole(_, _, row) => Some(row.to_text()),
            Place::Lost(_) | Place::Open(_) => None,
        };
        Some(around.iter().filter_map(row).list())
    }

    /// What was used up until the conversation was cleared last, as far as that is known behind so many places.
    pub fn sums_behind(&self, kept: usize) -> Option<Sums> {
        let clearing = |place: &Place| match place {
            Place::Whole(header, Some(Entry::Cleared { sums }), _) => Some((header.seq, *sums)),
            _ => None,
        };
        let cleared = self.places.iter().skip(kept).rev().find_map(clearing);
        let checkpoint = self.checkpoint.as_ref().map(|checkpoint| (checkpoint.seq, checkpoint.sums));
        let is_behind = |(seq, _): &(u64, Sums)| *seq > self.begun.seq + kept as u64;
        let known = cleared.into_iter().chain(checkpoint.filter(is_behind));
        known.max_by_key(|(seq, _)| *seq).map(|(_, sums)| sums)
    }

    /// The entry that has removed messages last behind so many places, with the runs that each of them has removed.
    pub fn withdrawn_behind(&self, kept: usize) -> Option<Entry> {
        let entry = |place: &Place| match place {
            Place::Whole(_, Some(entry @ Entry::Withdrawn { .. }), _) => Some(entry.clone()),
            _ => None,
        };
        let entries = self.places.iter().skip(kept).filter_map(entry).list();
        let all = entries.iter().flat_map(|entry| match entry {
            Entry::Withdrawn { runs, .. } => texts(runs).unwrap_or_default(),
            _ => Vec::new(),
        });
        let all = all.list();
        let mut last = entries.into_iter().next_back()?;
        if let Entry::Withdrawn { runs, .. } = &mut last {
            *runs = all.into();
        }
        Some(last)
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

    /// What the rows add up to that are whole, for reading: where a row is lost that others build on, something stands for
    /// it that says nothing. With where something is lost: behind which run, if there is one.
    pub fn fold(&self) -> (Session, Vec<(Option<String>, Gap)>) {
        let mut session = self.begun.clone();
        let mut gaps: Vec<(Option<String>, Gap)> = Vec::new();
        let mut past = self.checkpoint.as_ref();
        for place in &self.places {
            // What is lost before it was cleared.
            if let Some(checkpoint) = past.take_if(|checkpoint| place.last() > checkpoint.seq) {
                session = checkpoint.clone();
                gaps.clear();
            }
            let (header, entry, row) = match place {
                Place::Whole(header, entry, row) => (header, entry.as_ref(), row),
                Place::Lost(gap) | Place::Open(gap) => {
                    gaps.push((session.runs.last().map(|run| run.id.clone()), gap.clone()));
                    continue;
                }
            };
            let before = session.runs.last().map(|run| run.id.clone());
            let plain = entry.and_then(|entry| session.without_lost_version(entry));
            let entry = plain.as_ref().or(entry);
            let mut fits = plain.is_none();
            if let Some(entry) = entry {
                fits &= !session.bridge(header, entry, &|run| self.is_delegate(run));
            }
            session.seq = header.seq.saturating_sub(1);
            fits &= session.read(header, entry, row).is_ok() || matches!(entry, Some(Entry::Recorded { .. }));
            if !fits && gaps.is_empty() {
                let (from, to, at, why) = (header.seq, header.seq, header.at, UNFIT.into());
                gaps.push((before, Gap { from, to, why, at, stored: Vec::new() }));
            }
            if matches!(entry, Some(Entry::Cleared { .. })) {
                gaps.clear();
            }
        }
        if let Some(checkpoint) = past {
            session = checkpoint.clone();
            gaps.clear();
        }
        let at = self.places.iter().rev().find_map(Place::at).unwrap_or_default();
        for (run, entry) in &self.drafts {
            let header = Header { seq: session.seq, at, kind: entry.kind().into(), run: Some(run.clone()) };
            session.bridge(&header, entry, &|run| self.is_delegate(run));
            let _ = session.fold(&header, Some(entry));
        }
        session.settle();
        (session, gaps)
    }

    /// Whether the run with this id works for another.
    fn is_delegate(&self, id: &str) -> bool {
        let begins = |run: &str| id.strip_prefix(run).is_some_and(|rest| rest.starts_with('_'));
        let by = |place: &Place| match place {
            Place::Whole(header, ..) => header.run.as_deref().is_some_and(begins),
            Place::Lost(_) | Place::Open(_) => false,
        };
        self.places.iter().any(by)
    }
}

/// Whether it has words of a model.
fn says(entry: &Entry) -> bool {
    match entry {
        Entry::Answered { blocks, .. }
        | Entry::Failed { blocks, .. }
        | Entry::Interrupted { blocks, .. }
        | Entry::Lost { blocks, .. }
        | Entry::Benched { blocks, .. } => !blocks.is_empty(),
        _ => false,
    }
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
    /// Puts something in the place of what is lost that this entry builds on. Whether it did: before an entry of a whole
    /// journal nothing is missing.
    fn bridge(&mut self, header: &Header, entry: &Entry, is_delegate: &dyn Fn(&str) -> bool) -> bool {
        let Some(id) = header.run.as_deref() else {
            return matches!(entry.scope(), Scope::Conversation(_)) && self.leave_open(header.at);
        };
        let is_current = self.current().is_some_and(|run| run.id == id);
        match entry.scope() {
            Scope::Session(_) | Scope::Record(_) => false,
            Scope::Conversation(_) => self.leave_open(header.at),
            Scope::Queue(OfQueue::Taken { message }) => {
                let left = !is_current && self.leave_open(header.at);
                let queued = self.queued(message).is_some();
                let begins = !queued && !is_current && self.run(id).is_none();
                if begins {
                    self.begin_lost(id, header.at);
                }
                left || begins
            }
            Scope::Queue(_) => false,
            Scope::Run(_) | Scope::Call(_) if self.past.contains_key(id) => false,
            Scope::Run(_) | Scope::Call(_) => {
                let is_there = self.runs.last_mut().is_some_and(|run| run.part_mut(id).is_some());
                if !is_there {
                    let taken =
                        self.queued(id).map(|queued| Entry::Taken { message: queued.message().into() });
                    if taken.is_none() && !says(entry) || self.run(id).is_some() || is_delegate(id) {
                        return false;
                    }
                    self.leave_open(header.at);
                    if taken.is_none_or(|taken| self.fold(header, Some(&taken)).is_none()) {
                        self.begin_lost(id, header.at);
                    }
                }
                let run = self.runs.last_mut().and_then(|run| run.part_mut(id));
                let called = run.and_then(|run| run.lacks_call(entry)).map(|call| Entry::Called { call });
                let is_called = called.is_some_and(|called| self.fold(header, Some(&called)).is_some());
                is_called || !is_there
            }
        }
    }

    /// A run of which the message is lost: nobody has said anything.
    fn begin_lost(&mut self, id: &str, at: Millis) {
        let message = ["lost_", id].concat();
        let prompt = Prompt { message, continues: Some(String::new()), ..Prompt::default() };
        self.runs.push(Run::new(id.into(), at, prompt));
    }

    /// The same message as one like any other, where what it takes the place of is lost.
    fn without_lost_version(&self, entry: &Entry) -> Option<Entry> {
        let Entry::Prompt { replaces: Some(replaced), .. } = entry else { return None };
        let mut entry = entry.clone();
        match &mut entry {
            Entry::Prompt { replaces, .. } if self.place_of(replaced).is_none() => *replaces = None,
            _ => return None,
        }
        Some(entry)
    }

    /// What has not ended is left as it is: how it went on is lost.
    fn leave_open(&mut self, at: Millis) -> bool {
        let Some(run) = self.runs.last_mut().filter(|run| run.ended.is_none()) else { return false };
        run.ended = Some(Ended { at, outcome: Outcome::Interrupted, error: None });
        true
    }
}

impl Run {
    /// The model call that has said what stands in this entry, where the row is lost that says that it was made.
    fn lacks_call(&self, entry: &Entry) -> Option<u64> {
        let said = |turn: &Turn| turn.said == Said::Nothing;
        let last = self.turns.last().filter(|turn| said(turn));
        match entry {
            Entry::Answered { call, .. } | Entry::Failed { call, .. } => {
                last.is_none_or(|turn| turn.call != *call).then_some(*call)
            }
            entry => (last.is_none() && says(entry)).then_some(self.turns.len() as u64 + 1),
        }
    }
}
