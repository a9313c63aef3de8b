//! Sessions that leave and arrive: export, import, replay, fork.
//!
//! Decides how a file comes in (it is read whole before anything is written, then its rows are written batch by batch,
//! and the head at last: a session without a head is there for nobody), what the copy is called, and who holds the
//! workspace that long. Promises: memory for a page of rows, or for the conversation that arrives; what did not arrive
//! whole is taken away again, by the next start if need be; a copy never takes the place of another session. Leaves to
//! others: what a file is and how a copy becomes a session of its own (`session/carry`).
//!
//! What a page sees as one `import` is a conversation of commands: `begin` and `lines` of `sessions.import`, `check` at
//! their end, `sessions.admit`, `rows` and `file` as often as it takes, `done`; or `cancel`.

use crate::error::{Code, ErrorInfo};
use crate::harness::Harness;
use crate::harness::core::arrival::{ARRIVING, Arrival};
use crate::harness::core::integrity::{Head, changed_event, row_write, signed_head};
use crate::harness::core::{Core, Lifecycle};
use crate::harness::holding::Holding;
use crate::harness::holding::start::Purpose;
use crate::harness::reads::{After, Reads, Waiting};
use crate::harness::runner::{Runner, begun_task};
use crate::harness::sessions::removal::delete;
use crate::journal::canonical::Integrity;
use crate::journal::{Ask, Entry, Row};
use crate::json::items;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Key, Rows, Table, Write};
use crate::protocol::{Command, Members, Request};
use crate::rooms::{Room, enter};
use crate::session::carry::{self, Reader, adopt};
use crate::session::{Session, operator};
use serde_json::Value;

/// How many rows an export gives at once.
pub(in crate::harness) const PAGE: u64 = 32;

/// A page of a session's file. `rows`: those of its journal, and its head.
#[inline(never)]
pub(in crate::harness) fn page(
    args: Members<'_>,
    rows: &[(Key, String)],
    head: &str,
) -> Result<Value, ErrorInfo> {
    enter(Room::Carry);
    let from = args.whole("from").unwrap_or_default();
    let mut sum = args.needed("hash").to_owned();
    let mut page = Object::new();
    let (mut lines, mut last) = (String::new(), args.whole("last").unwrap_or_default());
    if args.get("from").is_none() {
        let stored = Head::parse(head).value;
        last = stored.get("seq").and_then(Value::as_u64).unwrap_or_default();
        page.maybe("files", stored.get("files").cloned());
        lines = carry::begin(args.needed("id"), head, &mut sum);
    }
    // What was written since is not of this file.
    let most = usize::try_from((last + 1).saturating_sub(from.max(1))).unwrap_or(usize::MAX);
    lines.push_str(&carry::page(rows.iter().take(most).map(|(_, text)| text.as_str()), &mut sum)?);
    let next = from.saturating_add(PAGE);
    page.text("lines", &lines).text("hash", &sum).number("last", last);
    Ok(page.maybe("next", (next <= last).then(|| next.into())).done())
}

impl Core {
    /// What a page left that went away while a session arrived.
    pub(in crate::harness) fn sweep_arrival(&mut self, rows: &Rows) {
        let Some((_, id)) = rows.first() else { return };
        if self.sessions.head(id).is_none() {
            self.outbox.write(delete(Table::Entries, id));
        }
        self.outbox.write(delete(Table::Meta, ARRIVING));
    }
}

impl Runner {
    /// One session arrives at a time.
    fn must_be_alone(&self, core: &Core) -> Result<(), ErrorInfo> {
        match &core.sessions.arrival {
            Some(arrival) if arrival.id.is_some() || arrival.waiting.is_some() => {
                let error = ErrorInfo::new(Code::Busy, "another session arrives");
                Err(error.hint("wait until that import or fork is over"))
            }
            _ => Ok(()),
        }
    }

    /// Writes the next row of the session that arrives.
    fn write_line(&mut self, core: &mut Core, line: &str) -> Result<(), ErrorInfo> {
        let arrival = core.sessions.arrival.as_mut().ok_or_else(nothing_arrives)?;
        let id = arrival.id.as_deref().ok_or_else(nothing_arrives)?;
        // What was read before need not be what comes now.
        let row = Row::from_line(line).filter(|row| row.follows(&arrival.hash)).ok_or_else(changed)?;
        arrival.written += 1;
        arrival.hash = row.hash().into();
        let key = vec![id.into(), arrival.written.into()];
        // Its runs and tasks are found by their ids; those of a second copy are the first one's.
        let own = id == arrival.session.id && arrival.written > arrival.session.copied_at();
        let owner = own.then(|| id.to_owned());
        core.outbox.write(Write::Put { table: Table::Entries, key, value: row.stored() });
        if let Some(id) = owner {
            let (header, entry) = row.read()?;
            if let ("prompt" | "taken" | "adopted" | "delegated", Some(run)) =
                (header.kind.as_str(), &header.run)
            {
                core.can_be_found(&id, run);
            }
            if let Some(Entry::Recorded { record, .. }) = &entry
                && let Some(task) = begun_task(record)
            {
                core.can_be_found(&id, task);
            }
        }
        Ok(())
    }
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
            arrival.integrity = match Head::parse(head).judge(signatures) {
                Integrity::Unverified => Integrity::Unverifiable,
                judged => judged,
            };
            signed = arrival.integrity == Integrity::Verified;
            accepted = arrival.integrity.accept("agent session state", &arrival.session.id);
        }
        if let Some(event) = rows.first().and_then(|events| changed_event(events, signatures, signed)) {
            accepted = Integrity::Tampered.accept("agent session event", &event);
        }
        if accepted.is_err() {
            self.reader = None;
            core.sessions.arrival.take_if(|arrival| arrival.id.is_none());
        }
        core.reply_now(command, accepted.map(|()| None));
    }
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
        if core.lifecycle == Lifecycle::Running {
            self.let_in(core, runner);
        } else {
            self.begin(core, Purpose::Arrival);
        }
        Ok(())
    }

    /// The workspace is ours: the session that arrives gets its place.
    #[inline(never)]
    pub(in crate::harness) fn let_in(&mut self, core: &mut Core, runner: &mut Runner) {
        enter(Room::Carry);
        let Some(arrival) = &mut core.sessions.arrival else { return };
        let Some(command) = arrival.waiting.take() else { return };
        let (rows, own) = (std::mem::take(&mut arrival.rows), arrival.session.id.clone());
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
    fn settle_in(&mut self, core: &mut Core, runner: &mut Runner, command: u32) -> Result<(), ErrorInfo> {
        let mut args = core.as_operator()?;
        let Some(arrival) = &core.sessions.arrival else { return Err(nothing_arrives()) };
        let recorded = arrival.session.record().is_some();
        if !recorded {
            args.text("projectId", &core.options.name);
        }
        match &arrival.provider {
            Some(provider) => {
                args.text("provider", provider).text("providerId", provider);
                args.maybe_text("modelId", runner.setup.config.model_id(Some(provider)));
            }
            None if !recorded => _ = args.text("providerId", &runner.setup.provider_name()),
            // Names of providers are those of a workspace: what comes from a file is answered by the one that is asked first.
            None if arrival.what == Ask::Import && core.lifecycle == Lifecycle::Running => {
                args.text("providerId", &runner.setup.provider_name());
                args.maybe_text("modelId", runner.setup.config.model_id(None));
            }
            None => {}
        }
        let Some(arrival) = &mut core.sessions.arrival else { return Err(nothing_arrives()) };
        let id = arrival.id.clone().unwrap_or_default();
        args.text("id", &id).value("from", arrival.from.clone());
        if arrival.imported {
            args.flag("imported", true);
        }
        args.maybe_text(
            "integrity",
            Some(arrival.integrity.as_str()).filter(|_| arrival.integrity != Integrity::Verified),
        );
        let made = adopt(&mut arrival.session, core.now, arrival.what, &id, args.done())?;
        let Some(arrival) = core.sessions.arrival.take() else { return Err(nothing_arrives()) };
        for (seq, row, entry) in made {
            core.outbox.write(row_write(&id, seq, &row, &entry));
        }
        let head = Head::of(&arrival.session, core.now);
        core.outbox.write(signed_head(&id, &head));
        core.sessions.set_head(&id, head);
        core.outbox.write(delete(Table::Meta, ARRIVING));
        core.outbox.strictly();
        core.reply_value(command, &arrival.session.state().unwrap_or_default());
        self.leave_workspace(core, runner);
        Ok(())
    }

    /// Takes away what was written of a session that does not arrive.
    pub(in crate::harness) fn turn_away(&mut self, core: &mut Core, runner: &mut Runner) {
        let admitted = core.sessions.arrival.take_if(|arrival| arrival.id.is_some());
        let Some(id) = admitted.and_then(|arrival| arrival.id) else { return };
        core.outbox.write(delete(Table::Entries, &id));
        core.outbox.write(delete(Table::Meta, ARRIVING));
        self.leave_workspace(core, runner);
    }

    /// Lets the workspace go if it was borrowed for an arrival.
    fn leave_workspace(&mut self, core: &mut Core, runner: &mut Runner) {
        if self.start.take_if(|start| matches!(start.purpose, Purpose::Arrival)).is_some() {
            self.give_back(core, runner);
        }
    }
}

impl Harness {
    /// A step of an import, or of a replay.
    #[inline(never)]
    pub(in crate::harness) fn carry(&mut self, command: u32, request: &Request) -> Result<(), ErrorInfo> {
        enter(Room::Carry);
        let (args, replays) = (request.args(), request.command == Command::SessionsReplay);
        let lines = || args.needed("lines").split('\n');
        match args.needed("step") {
            "begin" => {
                self.reads.reader = Some(Reader::new(&self.core.engine, replays));
                self.core.reply_now(command, Ok(None));
            }
            "lines" => {
                let reader = self.reads.reader.as_mut().ok_or_else(nothing_arrives)?;
                for line in lines() {
                    reader.line(line)?;
                }
                let (differs, events) = (reader.difference().is_some(), reader.events());
                if events.is_empty() {
                    self.core.reply_now(command, Ok(differs.then(|| "true".into())));
                } else {
                    self.judge_arrived(command, vec![events]);
                }
            }
            "check" => {
                let reader = self.reads.reader.take().ok_or_else(nothing_arrives)?;
                if replays {
                    self.core.reply_now(command, Ok(Some(replayed(reader)?)));
                } else {
                    self.check(command, reader)?;
                }
            }
            "rows" => {
                for line in lines() {
                    self.runner.write_line(&mut self.core, line)?;
                }
                self.core.reply(command, Ok(None));
            }
            "file" => {
                let arrival = self.core.sessions.arrival.as_mut().ok_or_else(nothing_arrives)?;
                for file in items(args.get("files").unwrap_or(&Value::Null)) {
                    let id = file.get("id").and_then(Value::as_str).unwrap_or_default();
                    let Some(at) = arrival.files.iter().position(|file| file == id) else {
                        return Err(changed());
                    };
                    let key = vec![arrival.files.swap_remove(at).as_str().into()];
                    self.core.outbox.write(Write::Put { table: Table::Files, key, value: String::new() });
                }
                self.core.reply(command, Ok(None));
            }
            "done" => {
                let arrival = self.core.sessions.arrival.as_ref().ok_or_else(nothing_arrives)?;
                if arrival.hash != arrival.session.hash() || !arrival.files.is_empty() {
                    return Err(changed());
                }
                self.holding.settle_in(&mut self.core, &mut self.runner, command)?;
            }
            "cancel" => {
                self.reads.reader = None;
                self.holding.turn_away(&mut self.core, &mut self.runner);
                self.core.sessions.arrival = None;
                self.core.reply(command, Ok(None));
            }
            _ => return Err(request.invalid("has no such step")),
        }
        Ok(())
    }

    /// The file is whole: what is its signature worth?
    fn check(&mut self, command: u32, reader: Reader) -> Result<(), ErrorInfo> {
        let carried = reader.finish()?;
        self.runner.must_be_alone(&self.core)?;
        let mut arrival = Arrival::new(carried.session, Ask::Import);
        for file in arrival.session.files() {
            if !arrival.files.contains(&file.id) {
                arrival.files.push(file.id.clone());
            }
        }
        self.core.sessions.arrival = Some(arrival);
        let head = vec![(Vec::new(), carried.head)];
        self.judge_arrived(command, vec![carried.unsigned, head]);
        Ok(())
    }

    /// Events that have come, and perhaps the head behind them.
    fn judge_arrived(&mut self, command: u32, rows: Vec<Rows>) {
        let id = self.core.read_key();
        self.judge_rows(id, After::Arrived { command }, rows);
    }

    /// A session was read to be forked.
    #[inline(never)]
    pub(in crate::harness) fn fork(
        &mut self,
        waiting: Waiting,
        entries: &Rows,
        whole: Session,
    ) -> Result<(), ErrorInfo> {
        enter(Room::Carry);
        let (request, args) = (&waiting.request, waiting.request.args());
        operator::may(self.core.operator(), operator::Action::Fork, whole.record(), self.core.now)?;
        let at = args.whole("at").unwrap_or(whole.seq());
        if at == 0 || at > whole.seq() {
            let last = whole.seq().to_string();
            return Err(
                request.invalid(&["needs \"at\" to be an entry of the journal: 1 to ", &last].concat())
            );
        }
        let provider = match args.text("provider") {
            Some(name) => {
                self.core.must_run()?;
                self.runner.setup.must_have_provider(name)?;
                Some(name.to_owned())
            }
            None => None,
        };
        if self.holding.start.is_some() {
            // The agent was started meanwhile: it is done then.
            self.deferred.push((self.core.now, waiting.input()));
            return Ok(());
        }
        self.runner.must_be_alone(&self.core)?;
        let imported = whole.imported_at() > at;
        let rows = entries.iter().take(usize::try_from(at).unwrap_or(usize::MAX));
        let rows: Vec<String> = rows.map(|(_, text)| text.clone()).list();
        let texts = rows.iter().map(String::as_str);
        let copy = if at == whole.seq() {
            whole
        } else {
            Session::load(&waiting.session, &self.core.engine, texts)?
        };
        if copy.is_blank() {
            return Err(
                request.invalid("needs \"at\" to be behind the clearing that erased what was said here")
            );
        }
        // A copy that ends before it came from a file, or was doubted, is no better for it.
        let integrity = self.core.integrity(&waiting.session);
        self.core.sessions.arrival =
            Some(Arrival { provider, imported, integrity, rows, ..Arrival::new(copy, Ask::Fork) });
        self.holding.admit(&mut self.core, &mut self.runner, waiting.command)
    }
}

/// What a replay has come to, as JSON text.
fn replayed(reader: Reader) -> Result<String, ErrorInfo> {
    let mut package = String::from(",\"package\":");
    crate::json::push_text(&mut package, reader.package());
    let difference = reader.difference().map(|difference| difference.json());
    if difference.is_none() {
        reader.finish()?;
    }
    let same = if difference.is_none() { "{\"same\":true" } else { "{\"same\":false,\"firstDifference\":" };
    Ok([same, &difference.unwrap_or_default(), &package, "}"].concat())
}

fn nothing_arrives() -> ErrorInfo {
    ErrorInfo::new(Code::Aborted, "the session does not arrive any more")
        .hint("the agent was stopped or has failed meanwhile: import it again")
}

fn changed() -> ErrorInfo {
    ErrorInfo::new(Code::Corrupt, "the file has changed while it was read").hint("import it again")
}
