//! What is done with the rows that were read for sessions.
//!
//! Decides which rows are signed again before anything is made of them. Promises: rows go on to what they were read for,
//! judged; a read that failed is answered to the command that wanted it. Leaves to others: what is read (`reads/`), and
//! the pages, whose reads are their own (`pages/`).

use crate::error::ErrorInfo;
use crate::harness::Harness;
use crate::harness::action::Action;
use crate::harness::core::stored;
use crate::harness::reads::After;
use crate::list::Listed;
use crate::ports::{Rows, StoreError};

impl Harness {
    pub(in crate::harness) fn read_done(&mut self, read: u64, result: Result<Vec<Rows>, StoreError>) {
        if self.runner.pages.awaits(read) {
            return self.runner.pages.rows_came(&mut self.core, read, result);
        }
        let Some(after) = self.reads.under_way.remove(read) else { return };
        let rows = match result {
            Ok(rows) => rows,
            Err(error) => return self.read_failed(after, &error.info()),
        };
        self.judge_rows(read, after, rows);
    }

    /// Has signed again what is signed among these rows, and goes on with them.
    pub(in crate::harness) fn judge_rows(&mut self, read: u64, after: After, rows: Vec<Rows>) {
        let texts = after.texts_to_judge(&rows);
        if texts.is_empty() {
            return self.rows_read(after, rows, None);
        }
        self.reads.judged.insert(read, (after, rows));
        self.core.outbox.act(Action::Sign { id: read, texts });
    }

    /// Rows are there, and what the signed ones among them sign to now; `None`: nothing can be signed.
    pub(in crate::harness) fn rows_read(
        &mut self,
        after: After,
        rows: Vec<Rows>,
        signatures: Option<Vec<String>>,
    ) {
        let signatures = signatures.as_deref();
        self.core.judge(&after, &rows, signatures);
        match after {
            After::Epoch => self.holding.epoch_read(&mut self.core, &rows),
            After::Around => self.looked_around(&rows),
            After::Load { sessions, files } => self.load(&sessions, &files, &rows),
            After::Account { .. } => {}
            After::Look(waiting) => {
                self.core.by = waiting.by.clone();
                self.look(*waiting, &rows, signatures);
            }
            After::Find(waiting) => self.found(*waiting, &rows),
            After::List { command, of, asked, held } => {
                self.core.heads_read(command, of, (asked, held), &rows)
            }
            After::Arrived { command } => self.reads.arrived(&mut self.core, command, &rows, signatures),
            After::Remains => self.holding.erase_removed(&mut self.core, &mut self.runner, &rows),
            After::Erase { command, session } => {
                for write in rows.iter().take(1).flat_map(|rows| stored::erasures(&session, rows)) {
                    self.core.outbox.write(write);
                }
                let files = rows.get(1).into_iter().flatten().map(|(key, _)| key.clone()).list();
                self.runner.sweep_files(&mut self.core, &files);
                self.holding.erased(&mut self.core, &mut self.runner, command, Ok(None));
            }
        }
    }

    pub(in crate::harness) fn read_failed(&mut self, after: After, error: &ErrorInfo) {
        match after {
            After::Epoch | After::Around | After::Load { .. } | After::Remains => {
                self.holding.fail(&mut self.core, &mut self.runner, &mut self.reads, error.clone())
            }
            After::Account { .. } => {}
            After::Look(waiting) | After::Find(waiting) => {
                self.core.reply_now(waiting.command, Err(error.clone()))
            }
            After::List { command, .. } | After::Arrived { command } => {
                self.core.reply_now(command, Err(error.clone()));
            }
            After::Erase { command, .. } => {
                self.holding.erased(&mut self.core, &mut self.runner, command, Err(error.clone()))
            }
        }
    }
}
