//! Pages of a session that is not in our hands, read from the end of its journal.
//!
//! Decides how far back a page of the conversation reaches. Promises: what is read grows with what is shown, not with
//! the session. A page says what the whole would say. Leaves to others: what a journal adds up to (`session/`), and
//! questions that need all of it (`look`).

use crate::error::ErrorInfo;
use crate::harness::calls::Calls;
use crate::harness::core::head::Head;
use crate::harness::core::{Core, drafts};
use crate::harness::reads::look::{begun, number, whole_of};
use crate::harness::reads::{After, Reads, Tail, Waiting};
use crate::journal::{Row, pack};
use crate::json;
use crate::ports::{Read, Rows, Table};
use crate::session::{Session, begins_anew};
use serde_json::Value;

/// How many rows are read at first: a few runs.
const FIRST: u64 = 64;

/// Where the page that was shown last begins: the next one is read from there back.
#[derive(Clone, Debug)]
pub(in crate::harness) struct Shown {
    session: String,
    /// The id of its first message.
    message: String,
    /// The last row, and its hash, before the run behind the one with this message begins.
    end: (u64, String),
    /// Which journal it was: the number of its last row, or where the session at hand goes on from.
    of: u64,
}

impl Shown {
    /// Whether a page is wanted that comes before it, of the same journal.
    fn is_before(&self, waiting: &Waiting, of: u64) -> bool {
        let before = waiting.request.args().text("before");
        self.session == waiting.session && self.of == of && before == Some(&self.message)
    }
}

impl Tail {
    /// The runs whose entries are all among these rows; all that they add up to where they begin with the first.
    fn folded(&self, core: &Core, id: &str, at_first: bool) -> Option<Session> {
        let engine = &core.sessions.engine;
        let mut folded: Option<Session> = at_first.then(|| begun(id, engine, &self.head, &self.checkpoint));
        let mut hash = folded.as_ref().map_or("", Session::hash).to_owned();
        for (key, text) in &self.rows {
            let row = Row::from_text(text).ok()?;
            let (header, entry) = row.read().ok()?;
            if number(key) != Some(header.seq) {
                return None;
            }
            if folded.is_none() && !hash.is_empty() && entry.as_ref().is_some_and(begins_anew) {
                folded = Some(Session::after(id, engine, header.seq - 1, &hash));
            }
            if let Some(folded) = &mut folded {
                if !row.follows(&hash) {
                    return None;
                }
                folded.accept(&header, entry.as_ref(), &row).ok()?;
            }
            hash = row.hash().into();
        }
        folded.filter(|folded| !folded.is_blank() && folded.seq() == self.seq && folded.hash() == self.hash)
    }

    /// Where the page begins that is shown now: behind which rows the run with its first message has ended.
    fn begins(&self, folded: &Session, page: &Value) -> Option<Shown> {
        let message = json::items(page).first()?.get("id")?.as_str()?;
        let next = folded.runs.get(folded.shown_at(message)? + 1)?;
        let of = |text: &str| Row::from_text(text).ok()?.header()?.run;
        let at = self.rows.iter().position(|(_, text)| of(text).as_ref() == Some(&next.id))?;
        let (key, text) = self.rows.get(at.checked_sub(1)?)?;
        let end = (number(key)?, Row::from_text(text).ok()?.hash().into());
        Some(Shown { session: folded.id.clone(), message: message.into(), end, of: self.of })
    }

    /// The page, if what these rows add up to has all of it, or they are all. With where it begins.
    fn page_for(
        &self,
        core: &Core,
        calls: &Calls,
        waiting: &Waiting,
        mut folded: Session,
        is_all: bool,
    ) -> Option<(Value, Option<Shown>)> {
        let limit = waiting.request.args().whole("limit")?;
        let working = folded.current().filter(|run| run.working() && waiting.held != Some(true));
        if let Some(run) = working.map(|run| run.id.clone()) {
            folded.append(core.now, Some(&run), &drafts::lost(&run, &self.drafts)).ok()?;
        }
        let page = calls.read_of(core, &folded, &waiting.request).ok()?;
        let is_whole = is_all || json::items(&page).len() as u64 >= limit;
        is_whole.then(|| {
            let begins = self.begins(&folded, &page);
            (page, begins)
        })
    }
}

impl Reads {
    /// Reads what a page begins with: where the journal ends.
    pub(in crate::harness) fn look_at_end(&mut self, core: &mut Core, mut waiting: Waiting) {
        let [entries, heads, drafts, checkpoint] = whole_of(&waiting.session, false);
        let reads = vec![entries.within(Some(1), Some(1)), heads, drafts, checkpoint];
        waiting.tail = Some(Tail::default());
        self.read(core, reads, After::Look(Box::new(waiting)));
    }

    /// Answers with what was read, if that is enough; else reads on. `None`: all of it was needed, and is there.
    pub(in crate::harness) fn look_further(
        &mut self,
        core: &mut Core,
        calls: &Calls,
        mut waiting: Waiting,
        mut tail: Tail,
        rows: &[Rows],
    ) -> Result<Option<(Waiting, [Rows; 4])>, ErrorInfo> {
        let part = |n: usize| rows.get(n).cloned().unwrap_or_default();
        if tail.seq == 0 {
            (tail.head, tail.drafts, tail.checkpoint) = (part(1), part(2), part(3));
            let head = tail.head.first().map(|(_, row)| Head::parse(row));
            let end = head.as_ref().and_then(Head::end).map(|(seq, hash)| (seq, hash.to_owned()));
            tail.of = of(core, &waiting.session, end.as_ref().map_or(0, |(seq, _)| *seq));
            let shown = self.shown.as_ref().filter(|shown| shown.is_before(&waiting, tail.of));
            tail.behind = shown.is_some();
            (tail.seq, tail.hash) = shown.map(|shown| shown.end.clone()).or(end).unwrap_or_default();
            tail.from = tail.seq + 1;
            tail.first = head.as_ref().map_or(1, Head::first);
        } else {
            let later = std::mem::replace(&mut tail.rows, part(0));
            tail.rows.extend(later);
        }
        let archived = tail.head.first().is_some_and(|(_, row)| Head::parse(row).archived_at().is_some());
        let at_first = tail.seq > 0 && tail.from <= tail.first;
        if !at_first || tail.behind {
            let found = match tail.folded(core, &waiting.session, at_first) {
                Some(folded) => tail.page_for(core, calls, &waiting, folded, at_first),
                None => None,
            };
            if let Some((answer, begins)) = found {
                self.shown = begins;
                core.reply_now(waiting.command, Ok(Some(json::json(&answer))));
                return Ok(None);
            }
            if at_first {
                // What is behind that page has changed it since.
                self.shown = None;
                self.look_at_end(core, Waiting { from: None, until: None, ..waiting });
                return Ok(None);
            }
            if tail.seq > 0 {
                let had = tail.seq + 1 - tail.from;
                let until = tail.from;
                tail.from = until.saturating_sub(FIRST.max(had.saturating_mul(3))).max(tail.first);
                let of = |table| Read::all(table, vec![waiting.session.as_str().into()]);
                // One more than the head names: an earlier head is seen by that.
                let until = if had == 0 && !tail.behind { until + 1 } else { until };
                let (from, until) = (Some(tail.from), Some(until));
                let mut reads = vec![of(Table::Entries).within(from, until)];
                if archived {
                    reads.extend([of(Table::Heads), pack::packs(&waiting.session, tail.from, until)]);
                    (waiting.from, waiting.until) = (from, until);
                }
                waiting.tail = Some(tail);
                self.read(core, reads, After::Look(Box::new(waiting)));
                return Ok(None);
            }
        }
        (waiting.from, waiting.until) = (None, None);
        Ok(Some((waiting, [tail.rows, tail.head, tail.drafts, tail.checkpoint])))
    }
}

/// Which journal of a session a page is of: where the one at hand goes on from, or where it ends (`seq`).
fn of(core: &Core, session: &str, seq: u64) -> u64 {
    let at_hand = core.session(session).filter(|session| session.goes_on());
    at_hand.and_then(Session::window_seq).unwrap_or(seq)
}
