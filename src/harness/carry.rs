//! Sessions that leave and arrive, as commands: import, replay, fork, salvage.
//!
//! What a page sees as one `import` is a conversation of commands. They are `begin` and `lines` of `sessions.import`,
//! `check` at their end, `sessions.admit`, `rows` and `file` as often as it takes, and `done`. `cancel` ends it early.
//!
//! Decides which step may follow. Promises: a file is read whole before anything of it is written. It takes memory for
//! a page of rows, or for the conversation that arrives. Leaves to others: how it is brought in (`holding/arrivals`),
//! and what a file is (`session/carry`).

use crate::error::{Code, ErrorInfo};
use crate::harness::Harness;
use crate::harness::core::arrival::{Arrival, nothing_arrives};
use crate::harness::core::head::Head;
use crate::harness::core::removed::removed_by;
use crate::harness::holding::arrivals::{changed, must_be_alone, write_line};
use crate::harness::reads::look::{Stored, load};
use crate::harness::reads::{After, Waiting};
use crate::journal::Ask;
use crate::journal::canonical::Integrity;
use crate::json::items;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Rows, Table, Write};
use crate::protocol::{Command, Request};
use crate::rooms::{Room, enter};
use crate::session::carry::{Reader, Salvaged, salvage};
use crate::session::damage::Damage;
use crate::session::record::Record;
use crate::session::{Session, operator};
use serde_json::Value;

impl Harness {
    /// A step of an import, or of a replay.
    #[inline(never)]
    pub(in crate::harness) fn carry(&mut self, command: u32, request: &Request) -> Result<(), ErrorInfo> {
        enter(Room::Carry);
        let (args, replays) = (request.args(), request.command == Command::SessionsReplay);
        let lines = || args.needed("lines").split('\n');
        match args.needed("step") {
            "begin" => {
                self.reads.reader = Some(Reader::new(&self.core.sessions.engine, replays));
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
                    write_line(&mut self.core, line)?;
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
        must_be_alone(&self.core)?;
        let mut arrival = Arrival::new(carried.session, Ask::Import);
        for file in arrival.session.files() {
            if !arrival.files.contains(&file.id) && !carried.gone.contains(&file.id) {
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
        let id = self.core.outbox.read_key();
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
        let owner = whole.record().map(Record::owner);
        operator::may(self.core.operator(), operator::Action::Fork, owner, self.core.now)?;
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
                self.runner.setup.config.must_have(name)?;
                Some(name.to_owned())
            }
            None => None,
        };
        if self.holding.start.is_some() {
            // The agent was started meanwhile: it is done then.
            self.deferred.push((self.core.now, waiting.input()));
            return Ok(());
        }
        must_be_alone(&self.core)?;
        let imported = whole.imported_at() > 0 && whole.foreign() > at;
        let rows = entries.iter().take(usize::try_from(at).unwrap_or(usize::MAX));
        let rows: Vec<String> = rows.map(|(_, text)| text.clone()).list();
        let texts = rows.iter().map(String::as_str);
        let copy = if at == whole.seq() {
            whole
        } else {
            Session::load(&waiting.session, &self.core.sessions.engine, texts)?
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

impl Harness {
    /// A damaged session was read to be made whole.
    #[inline(never)]
    pub(in crate::harness) fn salvage(
        &mut self,
        waiting: Waiting,
        stored: &Stored,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        enter(Room::Carry);
        let Waiting { command, session, request, fresh, .. } = &waiting;
        if stored.entries().is_empty() && stored.head.is_none() {
            return Err(self.core.not_stored(request.command, session));
        }
        let doubted = stored.doubted(&self.core, session, signatures);
        let mut survey = stored.survey(&self.core, session, &doubted)?;
        survey.drafts = stored.drafted();
        let Salvaged { session: copy, rows, rest } =
            salvage(session, &self.core.sessions.engine, &survey, fresh);
        let head = stored.believed_head(&self.core, &waiting);
        let removed = head.map_or(copy.removed_at(), removed_by);
        self.core.must_be_there(request.command, session, removed)?;
        let by_head = head.and(stored.head.as_ref()).and_then(Head::record);
        let by_head = by_head.and_then(|record| Record::read(&record).ok());
        let record = by_head.as_ref().or(copy.record());
        operator::may(
            self.core.operator(),
            operator::Action::Remove,
            record.map(Record::owner),
            self.core.now,
        )?;
        let damage = match (survey.damage.clone(), load(session, &self.core, stored)) {
            (Some(damage), _) => damage,
            (None, Ok(_)) => {
                return Err(request
                    .invalid("finds no damage in this session")
                    .hint("sessions.fork() copies it"));
            }
            // These rows do not say; what was found in others counts.
            (None, Err(error)) => {
                let known = self.core.sessions.damage(session).cloned();
                known.unwrap_or_else(|| Damage::of_head(&error.message))
            }
        };
        self.core.set_aside(session, damage.clone());
        // One that is held is interrupted in the copy, as every open run is.
        if self.core.current(session).is_some_and(|run| !run.held) {
            let error = ErrorInfo::new(Code::Busy, "a run works in this session");
            return Err(error.hint("interrupt it first"));
        }
        if self.holding.start.is_some() {
            // The agent was started meanwhile: it is done then.
            self.deferred.push((self.core.now, waiting.input()));
            return Ok(());
        }
        must_be_alone(&self.core)?;
        let integrity = match self.core.head_integrity(session) {
            Integrity::Verified | Integrity::Tampered if !survey.proven => Integrity::Unverified,
            integrity => integrity,
        };
        let replaces = request.args().says("replace").then(|| stored.head.clone());
        let mut arrival =
            Arrival { rows, integrity, record: by_head, replaces, ..Arrival::new(copy, Ask::Salvage) };
        let mut from = Object::new();
        from.all(arrival.from).value("damaged", damage.json()).number("taken_along", rest.len() as u64);
        (arrival.from, arrival.rest) = (from.done(), rest);
        self.core.sessions.arrival = Some(arrival);
        self.holding.admit(&mut self.core, &mut self.runner, *command)
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
