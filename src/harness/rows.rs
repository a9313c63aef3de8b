//! What is done with the rows that were read for sessions.
//!
//! Decides which rows are signed again before anything is made of them, and which say nothing at all: the others are for
//! the room `past` (`crate::rooms`), which comes first. Promises: rows go on to what they were read for,
//! judged. A read that failed is answered to the command that wanted it. Leaves to others: what is read (`reads/`), and
//! the pages, whose reads are their own (`pages/`).

use crate::error::ErrorInfo;
use crate::harness::Harness;
use crate::harness::action::Action;
use crate::harness::core::about::run_of;
use crate::harness::core::{DEFAULT_SESSION, Lifecycle};
use crate::harness::reads::sweep::{self, Then};
use crate::harness::reads::{After, Waiting};
use crate::journal::canonical::Integrity;
use crate::ports::{Key, Rows, StoreError, keys};
use crate::protocol::{Need, Source};
use crate::rooms::{Room, enter};

impl Harness {
    pub(in crate::harness) fn read_done(&mut self, read: u64, result: Result<Vec<Rows>, StoreError>) {
        if self.runner.pages.awaits(read) {
            return self.runner.pages.rows_came(&mut self.core, read, result.map_err(|error| error.info()));
        }
        let Some(after) = self.reads.under_way.remove(read) else { return };
        match result {
            Err(error) => self.read_failed(after, &error.info()),
            Ok(rows) if self.tells_of_the_past(&after, &rows) => self.judge_rows(read, after, rows),
            Ok(rows) => self.read_plainly(after, &rows),
        }
    }

    /// Whether these rows say something of sessions: then they are for the room `past`. A workspace in which nothing has
    /// happened yet does without.
    pub(in crate::harness) fn tells_of_the_past(&self, after: &After, rows: &[Rows]) -> bool {
        let is_new = |session: &str| {
            rows.iter().all(Vec::is_empty) && self.core.integrity(session) != Integrity::Tampered
        };
        match after {
            After::Epoch | After::Account { .. } | After::Head(_) => false,
            After::Find(_) => rows.iter().all(Vec::is_empty),
            After::Load { sessions, .. } if !sessions.iter().any(|id| id == DEFAULT_SESSION) => true,
            After::Around | After::Load { .. } => !(self.holding.runs_next() && is_new(DEFAULT_SESSION)),
            After::Look(waiting) => {
                let Waiting { session, request, .. } = &**waiting;
                let reads = request.need() == Need::Read && request.command.row().source == Source::Fold;
                // Whose a run is may be told wrongly.
                !(reads && is_new(session) && run_of(request).is_none())
            }
            _ => true,
        }
    }

    /// What was read says nothing of them.
    fn read_plainly(&mut self, after: After, rows: &[Rows]) {
        match after {
            After::Epoch => self.holding.epoch_read(&mut self.core, rows),
            After::Around => {
                self.runner.vault_read(&Rows::new());
                self.reads.load_first(&mut self.core);
            }
            After::Load { sessions, .. } => self.begin_first(&sessions),
            After::Find(waiting) => self.found(*waiting, rows),
            After::Head(waiting) => self.reads.head_came(&mut self.core, *waiting, rows),
            After::Look(waiting) => {
                let command = waiting.command;
                if let Err(error) = self.look_at_nothing(*waiting) {
                    self.core.reply_now(command, Err(error));
                }
            }
            _ => {}
        }
    }

    /// Has signed again what is signed among these rows, and goes on with them: a door of the room `past`.
    #[inline(never)]
    pub(in crate::harness) fn judge_rows(&mut self, read: u64, after: After, rows: Vec<Rows>) {
        enter(Room::Past);
        let rows = after.gathered(rows);
        let texts = after.texts_to_judge(&rows);
        if texts.is_empty() {
            return self.rows_read(after, rows, None);
        }
        self.reads.judged.insert(read, (after, rows));
        self.core.outbox.act(Action::Sign { id: read, texts });
    }

    /// Rows are there, and what the signed ones among them sign to now; `None`: nothing can be signed. The other door.
    #[inline(never)]
    pub(in crate::harness) fn rows_read(
        &mut self,
        after: After,
        rows: Vec<Rows>,
        signatures: Option<Vec<String>>,
    ) {
        enter(Room::Past);
        let (empty, signatures) = (Rows::new(), signatures.as_deref());
        after.judge(&mut self.core, &rows, signatures);
        match after {
            // They are for no room.
            After::Epoch | After::Account { .. } | After::Head(_) => {}
            After::Find(waiting) => self.seek(*waiting),
            After::Seek { waiting, rest } => {
                self.seek_on(*waiting, rest, rows.into_iter().next().unwrap_or_default())
            }
            After::Around => self.looked_around(&rows),
            After::Load { sessions, files, whole } => self.load(sessions, files, &whole, &rows),
            After::Look(waiting) => {
                self.core.by = waiting.by.clone();
                let of_events = signatures.filter(|_| waiting.judges_events());
                self.look(*waiting, &rows, of_events);
            }
            After::List { command, of, asked, held, lacking } => {
                let core = &mut self.core;
                self.reads.heads_came(core, (command, of), (asked, held), &lacking, &rows, signatures)
            }
            After::Active { command, epoch } => {
                self.reads.active_came(&mut self.core, command, epoch, &rows);
            }
            After::Arrived { command } => self.reads.arrived(&mut self.core, command, &rows, signatures),
            After::Remains(step) => {
                if let Some(files) = self.reads.remains_came(&mut self.core, step, &rows) {
                    self.sweep(files, Then::Removed);
                }
            }
            After::Erase { command, session, place } => {
                let part = rows.first().unwrap_or(&empty);
                self.core.pack(&session, part, place, (false, false));
                self.core.outbox.strictly();
                self.sweep(keys(rows.get(1).unwrap_or(&empty)), Then::Erased { command, session });
            }
            After::Sweep { files, then } => {
                sweep::delete_unused(&mut self.core, files, &rows, signatures);
                self.swept(then);
            }
            After::Archive { command, session, step } => {
                let (core, runner, reads) = (&mut self.core, &mut self.runner, &mut self.reads);
                self.holding.archived(core, runner, reads, (command, &session), (step, &rows));
            }
        }
    }

    /// Content is erased. `files`: those that there are, some of which may go with it.
    fn sweep(&mut self, files: Vec<Key>, then: Then) {
        if let Some(then) = self.reads.sweep(&mut self.core, files, then) {
            self.swept(then);
        }
    }

    /// No file is left that no conversation refers to.
    fn swept(&mut self, then: Then) {
        let (core, runner, reads) = (&mut self.core, &mut self.runner, &mut self.reads);
        match then {
            Then::Erased { command, session } => {
                self.holding.erased(core, runner, reads, (command, &session), Ok(None));
            }
            Then::Removed if core.state.lifecycle != Lifecycle::Running => {
                self.holding.give_back(core, runner)
            }
            Then::Started | Then::Unqueued | Then::Removed => {}
        }
    }

    /// The room does not come that rows are for which were read. No run ends by that, and nothing is taken.
    pub(in crate::harness) fn not_understood(&mut self, after: After, error: &ErrorInfo) {
        match after {
            After::Around | After::Load { .. } | After::Account { starting: true } => {
                self.holding.begin_not(&mut self.core, &mut self.runner, error);
            }
            after => self.read_failed(after, error),
        }
    }

    pub(in crate::harness) fn read_failed(&mut self, after: After, error: &ErrorInfo) {
        match after {
            After::Epoch
            | After::Around
            | After::Load { .. }
            | After::Remains(_)
            | After::Sweep { then: Then::Removed, .. } => {
                self.holding.fail(&mut self.core, &mut self.runner, &mut self.reads, error.clone())
            }
            // The next start looks for them again.
            After::Account { .. } | After::Sweep { then: Then::Started | Then::Unqueued, .. } => {}
            After::Look(waiting)
            | After::Head(waiting)
            | After::Find(waiting)
            | After::Seek { waiting, .. } => self.core.reply_now(waiting.command, Err(error.clone())),
            After::List { command, .. } | After::Active { command, .. } | After::Arrived { command } => {
                self.core.reply_now(command, Err(error.clone()));
            }
            After::Erase { command, session, .. }
            | After::Sweep { then: Then::Erased { command, session }, .. } => {
                let (reads, of, error) = (&mut self.reads, (command, session.as_str()), error.clone());
                self.holding.erased(&mut self.core, &mut self.runner, reads, of, Err(error))
            }
            After::Archive { command, .. } => {
                self.holding.not_archived(&mut self.core, &mut self.runner, command, error.clone())
            }
        }
    }
}
