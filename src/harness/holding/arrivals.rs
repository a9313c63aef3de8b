//! Sessions that arrive: import, fork, and what is salvaged.
//!
//! Decides what the copy is called, and who holds the workspace that long. Its rows are written batch by batch, and the
//! head at last: a session without a head is there for nobody. Promises: what did not arrive
//! whole is taken away again, by the next start if need be. A copy never takes the place of another session. Leaves to
//! others: the commands that it takes (`carry`), and how a copy becomes a session of its own (`session/carry`).

use crate::error::{Code, ErrorInfo};
use crate::harness::core::arrival::{ARRIVING, nothing_arrives};
use crate::harness::core::head::Head;
use crate::harness::core::integrity::{row_write, signed_head};
use crate::harness::core::removed::delete;
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle};
use crate::harness::holding::Holding;
use crate::harness::holding::start::Aim;
use crate::harness::runner::Runner;
use crate::journal::canonical::Integrity;
use crate::journal::{Ask, Entry, RecordKind, Row};
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Table, Write};
use crate::rooms::{Room, enter};
use crate::session::Session;
use crate::session::carry::{adopt, take_along};
use crate::session::record::begun_task;

/// One session arrives at a time.
pub(in crate::harness) fn must_be_alone(core: &Core) -> Result<(), ErrorInfo> {
    match &core.sessions.arrival {
        Some(arrival) if arrival.id.is_some() || arrival.waiting.is_some() => {
            let error = ErrorInfo::new(Code::Busy, "another session arrives");
            Err(error.hint("wait until that import or fork is over"))
        }
        _ => Ok(()),
    }
}

/// Writes the next row of the session that arrives.
pub(in crate::harness) fn write_line(core: &mut Core, line: &str) -> Result<(), ErrorInfo> {
    let arrival = core.sessions.arrival.as_mut().ok_or_else(nothing_arrives)?;
    let id = arrival.id.as_deref().ok_or_else(nothing_arrives)?;
    // What was read before need not be what comes now.
    let row = Row::from_line(line).filter(|row| row.follows(&arrival.hash)).ok_or_else(changed)?;
    arrival.written += 1;
    arrival.hash = row.hash().into();
    let key = vec![id.into(), arrival.written.into()];
    // Its runs and tasks are found by their ids; those of a second copy are the first one's. What was the first
    // session elsewhere has another id here.
    let is_own = [id, DEFAULT_SESSION].contains(&&*arrival.session.id);
    let own = is_own && arrival.written > arrival.session.copied_at();
    let owner = own.then(|| id.to_owned());
    core.outbox.write(Write::Put { table: Table::Entries, key, value: row.stored() });
    if let Some(id) = owner {
        let (header, entry) = row.read()?;
        if let ("prompt" | "taken" | "adopted" | "delegated", Some(run)) = (header.kind.as_str(), &header.run)
        {
            core.can_be_found(&id, run);
        }
        if let Some(Entry::Recorded { what, record }) = &entry
            && let Some(task) = begun_task(what.known(), record, header.run.as_deref())
        {
            core.can_be_found(&id, &task);
        }
    }
    Ok(())
}

impl Holding {
    /// Admits the session that was read: gives it an id, and takes the workspace if no agent has it.
    #[inline(never)]
    pub(in crate::harness) fn admit(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        command: u32,
    ) -> Result<(), ErrorInfo> {
        enter(Room::Carry);
        let arrival = core.sessions.arrival.as_mut().filter(|arrival| arrival.id.is_none());
        arrival.ok_or_else(nothing_arrives)?.waiting = Some(command);
        if core.state.lifecycle == Lifecycle::Running {
            self.let_in(core, runner);
        } else {
            self.begin(core, Aim::Arrival);
        }
        Ok(())
    }

    /// The workspace is ours: the session that arrives gets its place.
    #[inline(never)]
    pub(in crate::harness) fn let_in(&mut self, core: &mut Core, runner: &mut Runner) {
        enter(Room::Carry);
        let Some(arrival) = &mut core.sessions.arrival else { return };
        let Some(command) = arrival.waiting.take() else { return };
        let own = arrival.session.id.clone();
        if let Some(was) = arrival.replaces.clone() {
            arrival.id = Some(own.clone());
            let now = core.sessions.head(&own);
            let same = match (&was, now) {
                (Some(was), Some(now)) => was.is(now),
                (was, now) => was.is_none() && now.is_none(),
            };
            let settled = match same || core.state.lifecycle == Lifecycle::Running {
                true => self.settle_in(core, runner, command),
                // Another tab came first.
                false => Err(ErrorInfo::new(Code::Busy, "the session has just changed").hint("look again")),
            };
            if let Err(error) = settled {
                self.turn_away(core, runner);
                core.reply_now(command, Err(error));
            }
            return;
        }
        let rows = std::mem::take(&mut arrival.rows);
        let id = runner.free_id(core, &own);
        if let Some(arrival) = &mut core.sessions.arrival {
            arrival.id = Some(id.clone());
        }
        let put = Write::Put { table: Table::Meta, key: vec![ARRIVING.into()], value: id.clone() };
        core.outbox.write(put);
        core.outbox.write(delete(Table::Entries, &id));
        if core.sessions.arrival.as_ref().is_some_and(|arrival| arrival.what == Ask::Import) {
            return core.reply_value(command, &Object::new().text("id", &id).done());
        }
        // Its rows are here already, and are those that are stored.
        for (value, seq) in rows.into_iter().zip(1..) {
            let key = vec![id.as_str().into(), u64::into(seq)];
            core.outbox.write(Write::Put { table: Table::Entries, key, value });
        }
        if let Err(error) = self.settle_in(core, runner, command) {
            self.turn_away(core, runner);
            core.reply_now(command, Err(error));
        }
    }

    /// All is written but what makes the copy a session of its own.
    pub(in crate::harness) fn settle_in(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        command: u32,
    ) -> Result<(), ErrorInfo> {
        let mut args = core.as_operator()?;
        let Some(arrival) = &core.sessions.arrival else { return Err(nothing_arrives()) };
        let recorded = arrival.session.record().is_some();
        if !recorded {
            args.text("projectId", &core.options.name);
        }
        let was = |name: &str| arrival.record.as_ref().and_then(|record| record.text(name)).map(String::from);
        let name = was("display_name");
        // What it was launched with may be lost.
        let lost = was("provider_id").filter(|_| !recorded);
        let own = lost.as_ref().filter(|name| runner.setup.config.must_have(name).is_ok());
        match arrival.provider.as_ref().or(own) {
            Some(provider) => {
                args.text("provider", provider).text("providerId", provider);
                args.maybe_text("modelId", runner.setup.config.model_id(Some(provider)));
            }
            None if !recorded => {
                args.text("providerId", &lost.unwrap_or_else(|| runner.setup.provider_name()));
                args.maybe_text("modelId", was("model_id").as_deref());
            }
            // Names of providers are those of a workspace: what comes from a file is answered by the one that is asked first.
            None if arrival.what == Ask::Import && core.state.lifecycle == Lifecycle::Running => {
                args.text("providerId", &runner.setup.provider_name());
                args.maybe_text("modelId", runner.setup.config.model_id(None));
            }
            None => {}
        }
        let Some(arrival) = &mut core.sessions.arrival else { return Err(nothing_arrives()) };
        let id = arrival.id.clone().unwrap_or_default();
        args.text("id", &id).value("from", arrival.from.clone());
        args.maybe_text("displayName", name.as_deref());
        if arrival.imported {
            args.flag("imported", true);
        }
        args.maybe_text(
            "integrity",
            Some(arrival.integrity.as_str()).filter(|_| arrival.integrity != Integrity::Verified),
        );
        let mut made = adopt(&mut arrival.session, core.now, arrival.what, &id, args.done())?;
        let rest = std::mem::take(&mut arrival.rest);
        let runs = rest.iter().filter_map(|(run, _)| run.clone()).list();
        made.extend(take_along(&mut arrival.session, core.now, rest)?);
        let Some(arrival) = core.sessions.arrival.take() else { return Err(nothing_arrives()) };
        if arrival.replaces.is_some() {
            core.sessions.remove(&id);
            for table in [Table::Entries, Table::Drafts] {
                core.outbox.write(delete(table, &id));
            }
            for (value, seq) in arrival.rows.iter().zip(1_u64..) {
                let (key, value) = (vec![id.as_str().into(), seq.into()], value.clone());
                core.outbox.write(Write::Put { table: Table::Entries, key, value });
            }
        }
        let mut events = Vec::new();
        for (seq, row, entry) in made {
            core.outbox.write(row_write(&id, seq, &row, &entry));
            if let Entry::Recorded { what, record } = entry
                && what == RecordKind::Event
            {
                events.push(record);
            }
        }
        for run in runs {
            core.can_be_found(&id, &run);
        }
        let head = Head::of(&arrival.session, core.now);
        core.outbox.write(signed_head(&id, &head));
        core.named(&id).into_iter().for_each(|row| core.outbox.write(row));
        core.sessions.set_head(&id, head);
        core.outbox.write(delete(Table::Meta, ARRIVING));
        core.outbox.strictly();
        for event in &events {
            core.tell_session_changed(&id, event);
        }
        core.reply_value(command, &arrival.session.state().unwrap_or_default());
        if arrival.replaces.is_some() {
            go_on_with(core, runner, arrival.session);
        }
        self.leave_workspace(core, runner);
        Ok(())
    }

    /// Takes away what was written of a session that does not arrive.
    pub(in crate::harness) fn turn_away(&mut self, core: &mut Core, runner: &mut Runner) {
        let admitted = core.sessions.arrival.take_if(|arrival| arrival.id.is_some());
        let Some(arrival) = admitted else { return };
        if let (Some(id), None) = (arrival.id, arrival.replaces) {
            core.outbox.write(delete(Table::Entries, &id));
            core.outbox.write(delete(Table::Meta, ARRIVING));
        }
        self.leave_workspace(core, runner);
    }

    /// Lets the workspace go if it was borrowed for an arrival.
    fn leave_workspace(&mut self, core: &mut Core, runner: &mut Runner) {
        if self.start.take_if(|start| matches!(start.aim, Aim::Arrival)).is_some() {
            self.give_back(core, runner);
        }
    }
}

/// A session that has taken the place of a damaged one is worked in, where an agent runs.
pub(in crate::harness) fn go_on_with(core: &mut Core, runner: &mut Runner, session: Session) {
    let (id, seq) = (session.id.clone(), session.seq());
    core.sessions.take(session);
    if let Some(slot) = core.sessions.get_mut(&id) {
        slot.written = seq;
    }
    core.note_benched(&id);
    core.tell_status();
    if core.state.lifecycle == Lifecycle::Running {
        runner.start_session(core, &id);
        if id == DEFAULT_SESSION {
            runner.tend(core, DEFAULT_SESSION, true);
        }
    }
    if core.sessions.is_watched(&id) {
        runner.calls.tell_history(core, &id);
    }
}

/// The first session was given up: it begins anew.
pub(in crate::harness) fn begin_anew(core: &mut Core, runner: &mut Runner) {
    core.sessions.remove(DEFAULT_SESSION);
    let anew = Session::with(DEFAULT_SESSION, &core.sessions.engine);
    go_on_with(core, runner, anew);
}

pub(in crate::harness) fn changed() -> ErrorInfo {
    ErrorInfo::new(Code::Corrupt, "the file has changed while it was read").hint("import it again")
}
