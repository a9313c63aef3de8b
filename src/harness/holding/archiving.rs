//! Sessions that are archived: their rows are packed, and they are let go.
//!
//! Promises: the journal says it first. Only an idle session is archived, and nothing of it is erased. Nothing comes between
//! until it is done. What only changes something about an archived session leaves it archived. A page that is lost
//! between the word and the packing leaves rows that are packed the next time. Leaves to others: how rows lie in packs
//! (`journal/pack`), what opens it again (`take`).

use crate::error::{Code, ErrorInfo};
use crate::harness::core::refused::no_session;
use crate::harness::core::stored::STOPPED_KEY;
use crate::harness::core::{Core, Lifecycle};
use crate::harness::holding::Holding;
use crate::harness::reads::look::{Stored, check_chain, whole_of};
use crate::harness::reads::{After, Archiving, Reads};
use crate::harness::runner::Runner;
use crate::journal::canonical::Integrity;
use crate::journal::{Ask, pack};
use crate::list::Listed;
use crate::maps::sorted;
use crate::ports::{Millis, Read, Rows, Table};
use crate::rooms::{Room, enter};
use crate::session::Session;
use crate::session::dates;
use serde_json::Value;

const DAY_MS: Millis = 86_400_000;

/// How many sessions the policy archives in one go.
const AT_ONCE: usize = 32;

impl Holding {
    /// Archives a session. A door of the room `past`.
    #[inline(never)]
    pub(in crate::harness) fn archive(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        command: Option<u32>,
        session: &str,
    ) -> Result<(), ErrorInfo> {
        enter(Room::Past);
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        if folded.current().is_some() || !folded.queue().is_empty() || core.is_starting(session) {
            let error =
                ErrorInfo::new(Code::Busy, "only a session in which nothing is under way is archived");
            return Err(error.hint("wait for its run, or interrupt it, and remove what waits"));
        }
        if folded.archived_at().is_none() {
            let args = core.as_operator()?.done();
            runner.ask_session(core, session, Ask::Archive, &args)?;
        }
        read_to_pack(core, reads, command, session);
        Ok(())
    }

    /// Packs an archived session again that a command was for and no run has begun in. Whether something is under way by
    /// which the workspace is given back.
    pub(in crate::harness) fn put_back(&mut self, core: &mut Core, reads: &mut Reads, session: &str) -> bool {
        let ends = |after: &After| {
            matches!(after, After::Erase { .. } | After::Sweep { .. } | After::Archive { .. })
        };
        if reads.all().any(ends) {
            return true;
        }
        pack_again(core, reads, session)
    }

    /// When it is to be looked for sessions that the policy archives, if it does.
    pub(in crate::harness) fn archive_due(&self, core: &Core, runner: &Runner) -> Option<Millis> {
        let runs = core.state.lifecycle == Lifecycle::Running && self.closing.is_none();
        let due = if self.to_archive.is_empty() { self.look_at } else { core.now };
        runner.setup.config.archive.filter(|_| runs).map(|_| due)
    }

    /// Looks for the next session to be archived by the policy, if it is time: it is worked out in the room `past`.
    pub(in crate::harness) fn look_for_old(&mut self, core: &mut Core, runner: &Runner, reads: &mut Reads) {
        if self.archive_due(core, runner).is_some_and(|due| due <= core.now) {
            let row = Read::all(Table::Meta, vec![STOPPED_KEY.into()]);
            let after = After::Archive { command: None, session: String::new(), step: Archiving::Next };
            reads.read_after_commit(core, vec![row], after);
        }
    }

    /// Archives the next session that nothing was done in for so long.
    fn archive_next(&mut self, core: &mut Core, runner: &mut Runner, reads: &mut Reads) {
        if self.to_archive.is_empty() {
            let days = runner.setup.config.archive.unwrap_or(u64::MAX);
            let until = core.now.saturating_sub(days.saturating_mul(DAY_MS));
            self.to_archive = older_than(core, until, &self.tried);
            // The rest of very many comes later: each costs a commit.
            let is_all = self.to_archive.len() < AT_ONCE;
            self.look_at = core.now + if is_all { DAY_MS } else { DAY_MS / 24 };
            if is_all {
                self.tried.clear();
            }
            self.tried.extend(self.to_archive.iter().cloned());
        }
        let Some(session) = self.to_archive.pop() else { return };
        if core.sessions.has(&session) {
            // It may not be idle any more, or not be this operator's.
            let _ = self.archive(core, runner, reads, None, &session);
            return;
        }
        read_to_take(core, reads, &session, false);
    }

    /// What was read of a session that is archived.
    pub(in crate::harness) fn archived(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        (command, session): (Option<u32>, &str),
        (step, rows): (Archiving, &[Rows]),
    ) {
        let is_archived = core.session(session).is_some_and(|folded| folded.archived_at().is_some());
        match step {
            // Somebody has asked for it just before.
            Archiving::Pack if reads.await_session(session) => {
                return read_to_pack(core, reads, command, session);
            }
            Archiving::Pack if is_archived => {
                let loose = rows.first().filter(|rows| !rows.is_empty());
                if let Some(Err(error)) = loose.map(|rows| pack_rows(core, session, rows)) {
                    return self.not_archived(core, runner, command, error);
                }
                let head = Read::all(Table::Heads, vec![session.into()]);
                let after = After::Archive { command, session: session.into(), step: Archiving::LetGo };
                return reads.read_after_commit(core, vec![head], after);
            }
            Archiving::Next => return self.archive_next(core, runner, reads),
            Archiving::Take { whole } => {
                return self.archive_read(core, runner, reads, session, (rows, whole));
            }
            Archiving::Pack | Archiving::LetGo => {}
        }
        let state = core.session(session).and_then(Session::state).unwrap_or_default();
        if is_archived {
            core.sessions.let_go(session);
        }
        if let Some(command) = command {
            core.reply_value(command, &state);
        }
        if core.state.lifecycle != Lifecycle::Running {
            self.give_back(core, runner);
        }
    }

    /// Archives a session that was read for that, unless it is not what was written.
    fn archive_read(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        session: &str,
        (rows, is_whole): (&[Rows], bool),
    ) {
        // Somebody may have taken it meanwhile.
        let is_taken = core.sessions.has(session);
        if !is_taken {
            let stored = Stored::of(rows);
            if stored.lacks_the_past() && !is_whole {
                return read_to_take(core, reads, session, true);
            }
            if let Err(error) = self.take_session(core, runner, session, (&stored, is_whole)) {
                if error.code == Code::Corrupt {
                    stored.set_aside(core, session, &error);
                    core.tell_damaged(session, &error);
                }
                return;
            }
        }
        if self.archive(core, runner, reads, None, session).is_err() && !is_taken {
            runner.start_session(core, session);
        }
    }

    /// A session is not archived, and stays as it was.
    pub(in crate::harness) fn not_archived(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        command: Option<u32>,
        error: ErrorInfo,
    ) {
        if let Some(command) = command {
            core.reply(command, Err(error));
        }
        if core.state.lifecycle != Lifecycle::Running {
            self.give_back(core, runner);
        }
    }
}

/// The sessions of the present operator that nobody has changed since then, as their heads say it, without those that were tried:
/// the oldest last.
fn older_than(core: &Core, until: Millis, tried: &[String]) -> Vec<String> {
    let Ok(operator) = core.present_operator() else { return Vec::new() };
    let mut old = Vec::new();
    for (id, head) in core.sessions.heads() {
        let Some(record) = head.record() else { continue };
        let is = |name: &str, text: &str| record.get(name).and_then(Value::as_str) == Some(text);
        let at = record.get("updated_at").and_then(Value::as_str).and_then(dates::parse);
        let stays = ["removed", "once", "archived"].iter().any(|name| head.value.get(name).is_some());
        if let Some(at) = at.filter(|at| *at <= until && !stays && !head.is_open())
            && is("operator_subject", &operator.subject)
            && !tried.iter().any(|tried| tried == id)
            && core.integrity(id) != Integrity::Tampered
        {
            old.push((at, id.to_owned()));
        }
    }
    let old = sorted(old, |(at, _)| *at);
    let mut oldest = old.into_iter().take(AT_ONCE).map(|(_, id)| id).list();
    oldest.reverse();
    oldest
}

/// Packs a session again, if it is archived and at hand: gives whether it is.
#[inline(never)]
pub(in crate::harness) fn pack_again(core: &mut Core, reads: &mut Reads, session: &str) -> bool {
    let archived = core.session(session).and_then(Session::archived_at).is_some();
    if archived {
        read_to_pack(core, reads, None, session);
    }
    archived
}

fn read_to_take(core: &mut Core, reads: &mut Reads, session: &str, whole: bool) {
    let after = After::Archive { command: None, session: session.into(), step: Archiving::Take { whole } };
    reads.read_after_commit(core, whole_of(session, whole).into(), after);
}

fn read_to_pack(core: &mut Core, reads: &mut Reads, command: Option<u32>, session: &str) {
    let after = After::Archive { command, session: session.into(), step: Archiving::Pack };
    reads.read_after_commit(core, vec![pack::loose(session)], after);
}

/// Packs these rows, the last of a session at hand, if they are what was written.
fn pack_rows(core: &mut Core, session: &str, rows: &Rows) -> Result<(), ErrorInfo> {
    let head = core.sessions.head(session).ok_or_else(|| no_session(session))?;
    let last = head.seq();
    let first = (last + 1).saturating_sub(rows.len() as u64);
    check_chain(rows, head, first, None)?;
    let texts = rows.iter().map(|(_, text)| text.clone()).list();
    for write in pack::pack(session, &texts, last) {
        core.outbox.write(write);
    }
    Ok(())
}
