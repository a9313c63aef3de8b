//! Pages of a session that is not in our hands, read from the end of its journal.
//!
//! Decides how far back a page of the conversation reaches. Promises: what is read grows with what is shown, not with
//! the session. A page says what the whole would say. Leaves to others: what a journal adds up to (`session/`), and
//! questions that need all of it (`look`).

use crate::error::ErrorInfo;
use crate::harness::calls::Calls;
use crate::harness::core::head::Head;
use crate::harness::core::{Core, drafts};
use crate::harness::reads::look::{number, whole_of};
use crate::harness::reads::{After, Reads, Tail, Waiting};
use crate::journal::{Entry, Row, pack};
use crate::json;
use crate::ports::{Read, Rows, Table};
use crate::session::Session;
use serde_json::Value;

/// How many rows are read at first: a few runs.
const FIRST: u64 = 64;

impl Tail {
    /// The runs whose entries are all among these rows.
    fn folded(&self, core: &Core, id: &str) -> Option<Session> {
        let mut folded: Option<Session> = None;
        let mut hash = String::new();
        for (key, text) in &self.rows {
            let row = Row::from_text(text).ok()?;
            let (header, entry) = row.read().ok()?;
            if number(key) != Some(header.seq) {
                return None;
            }
            if folded.is_none() && !hash.is_empty() && entry.as_ref().is_some_and(begins_anew) {
                folded = Some(Session::after(id, &core.sessions.engine, header.seq - 1, &hash));
            }
            if let Some(folded) = &mut folded {
                if !row.follows(&hash) {
                    return None;
                }
                folded.accept(&header, entry.as_ref(), &row).ok()?;
            }
            hash = row.hash().into();
        }
        let (_, head) = self.head.first()?;
        let head = json::parse(head.lines().next()?)?;
        folded.filter(|folded| folded.agrees_with(&head))
    }

    /// The page, if these rows hold all of it.
    fn page_for(&self, core: &Core, calls: &Calls, waiting: &Waiting) -> Option<Value> {
        let limit = waiting.request.args().whole("limit")?;
        let mut folded = self.folded(core, &waiting.session)?;
        let working = folded.current().filter(|run| run.working() && waiting.held != Some(true));
        if let Some(run) = working.map(|run| run.id.clone()) {
            folded.append(core.now, Some(&run), &drafts::lost(&run, &self.drafts)).ok()?;
        }
        let page = calls.read_of(core, &folded, &waiting.request).ok()?;
        (json::items(&page).len() as u64 >= limit).then_some(page)
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
            tail.seq = head.as_ref().map(Head::seq).unwrap_or_default();
            tail.from = tail.seq + 1;
            tail.first = head.as_ref().map_or(1, Head::first);
        } else {
            let later = std::mem::replace(&mut tail.rows, part(0));
            tail.rows.extend(later);
        }
        let archived = tail.head.first().is_some_and(|(_, row)| Head::parse(row).archived_at().is_some());
        if tail.from > tail.first || tail.seq == 0 {
            if let Some(answer) = tail.page_for(core, calls, &waiting) {
                core.reply_now(waiting.command, Ok(Some(json::json(&answer))));
                return Ok(None);
            }
            if tail.seq > 0 {
                let had = tail.seq + 1 - tail.from;
                let until = tail.from;
                tail.from = until.saturating_sub(FIRST.max(had.saturating_mul(3))).max(tail.first);
                let of = |table| Read::all(table, vec![waiting.session.as_str().into()]);
                // One more than the head names: an earlier head is seen by that.
                let until = if had == 0 { until + 1 } else { until };
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

/// Whether an entry begins a run that builds on none before it, as far as a person sees.
fn begins_anew(entry: &Entry) -> bool {
    matches!(entry, Entry::Prompt { continues: None, replaces: None, .. } | Entry::Adopted { .. })
}
