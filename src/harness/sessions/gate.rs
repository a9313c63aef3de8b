//! Which session a command is about, who may give it, and how that session comes into our hands.
//!
//! Decides, before any command on a session is carried out: whether there is an operator and whether the session is
//! theirs, whether the journal is at hand, has to be read first, or the workspace has to be borrowed for one write.
//! Promises: there is no other way to a session than through this gate, whichever method was called. Leaves to
//! others: what the command does (`commands.rs`, `lifecycle.rs`), what a session's record says (`session/`).

use super::carry::{self, ARRIVING, PAGE};
use super::commands::{is_once, left_by, told_rows};
use super::integrity::{Head, changed_event};
use super::removal::{delete, removed_by};
use super::tail::is_a_page;
use super::waiting::{Waiting, by_rows};
use crate::error::{Code, ErrorInfo};
use crate::harness::args::Args;
use crate::harness::commands::no_session;
use crate::harness::{After, DEFAULT_SESSION, Harness, Lifecycle, Slot, start};
use crate::journal::canonical::Integrity;
use crate::journal::{Entry, GENESIS, Row, redact};
use crate::json;
use crate::object::Object;
use crate::ports::{Key, Part, Read, Rows, Table};
use crate::session::operator::{self, Action, Operator};
use crate::session::record::Record;
use crate::session::{Session, record};
use serde_json::Value;

/// What a command needs of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// To be read; any operator may.
    Read,
    /// To be changed by its owner, if need be while no agent runs.
    Write,
    /// To be changed by its owner, by a running agent.
    Work,
}

/// What a command is about.
#[derive(Debug)]
enum Subject<'a> {
    Session(&'a str),
    Run(&'a str),
}

/// How many rows are read at first to find events among them.
const EVENT_ROWS: u64 = 512;

/// From which row on a command reads.
fn rows_from(args: &Value) -> u64 {
    args.get("from").and_then(Value::as_u64).unwrap_or_default()
}

/// Which session or run a command is about, and what it needs of it. `None`: it is about none.
fn subject<'a>(name: &str, args: &'a Value) -> Result<Option<(Subject<'a>, Need)>, ErrorInfo> {
    let member = |member: &str| -> Result<Option<&'a str>, ErrorInfo> {
        match args.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Args::of(name, args).invalid(&["needs \"", member, "\" to be a text"].concat())),
        }
    };
    let session = |need| Ok(Some((Subject::Session(member("sessionId")?.unwrap_or(DEFAULT_SESSION)), need)));
    let run =
        |need| Ok(Some((member("runId")?.map_or(Subject::Session(DEFAULT_SESSION), Subject::Run), need)));
    match name {
        "history" | "watch" => session(Need::Read),
        "sendMessage" | "regenerate" | "tools.revoke" | "interrupt" => session(Need::Work),
        "clearConversation" => session(Need::Write),
        "resume" => run(Need::Work),
        "wait" | "result" => run(Need::Read),
        "sessions.task" | "sessions.left" => {
            let id = member("id")?.ok_or_else(|| Args::of(name, args).invalid("needs \"id\""))?;
            Ok(Some((Subject::Run(id), Need::Read)))
        }
        _ => {
            let need = match name.strip_prefix("sessions.") {
                Some("status" | "journal" | "events" | "receipts" | "handoffs" | "export") => Need::Read,
                // What goes on needs somebody who goes on with it.
                Some("recover") if args.get("action").and_then(Value::as_str) == Some("reconnect") => {
                    Need::Work
                }
                Some("stop" | "rename" | "fork" | "remove" | "undoRemove" | "restart" | "recover") => {
                    Need::Write
                }
                Some("prompt") => Need::Work,
                _ => return Ok(None),
            };
            let id = member("id")?.ok_or_else(|| Args::of(name, args).invalid("needs \"id\""))?;
            Ok(Some((Subject::Session(id), need)))
        }
    }
}

/// Whether a command writes to a session even where no agent runs: then it waits for a start that is on its way.
pub(in crate::harness) fn writes(name: &str) -> bool {
    if name == "sessions.admit" {
        return true;
    }
    // Which session it is does not matter here.
    let args = Object::new().text("id", DEFAULT_SESSION).done();
    matches!(subject(name, &args), Ok(Some((_, Need::Write))))
}

impl Harness {
    /// Takes a command: here and now, or when its session has been read.
    pub(in crate::harness) fn command(&mut self, id: u32, name: &str, args: Value, fresh: String) {
        if self.closing.is_some() {
            return self.reply_now(id, Err(crate::harness::commands::closed()));
        }
        let result = match self.route(id, name, &args, &fresh) {
            Ok(true) => self.dispatch(id, name, &args, fresh),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.reply_now(id, Err(error));
        }
    }

    /// Whether a command can be carried out now. `false`: what it needs was asked for.
    fn route(&mut self, id: u32, name: &str, args: &Value, fresh: &str) -> Result<bool, ErrorInfo> {
        let Some((subject, need)) = subject(name, args)? else { return Ok(true) };
        self.present_operator()?;
        let running = self.lifecycle == Lifecycle::Running;
        let session = match subject {
            // What nobody here works on need not be found.
            Subject::Session(_) if name == "interrupt" => self.interrupted(args),
            // No session has it, and below it would stand for one that is not known yet.
            Subject::Session("") => return Err(no_session("")),
            Subject::Session(session) => session.to_owned(),
            // A run of a session that nobody has looked at is found by its row.
            Subject::Run(run) => self.session_of_run(run).unwrap_or_default(),
        };
        let waiting = || Waiting {
            command: id,
            session: session.clone(),
            name: name.into(),
            args: args.clone(),
            fresh: fresh.into(),
            asked: self.now,
            held: None,
            tail: None,
            until: None,
        };
        if session.is_empty() {
            if let Subject::Run(run) = subject {
                let row = Read::all(Table::Meta, vec!["run".into(), run.into()]);
                self.read(vec![row], After::Find(Box::new(waiting())));
            }
            return Ok(false);
        }
        // What is not in our hands shows it when it is read.
        if self.sessions.contains_key(&session) {
            self.must_be_there(name, &session, self.removed_at(&session))?;
            let once = self.session(&session).is_some_and(Session::is_once);
            must_be_shown(name, args, &session, once)?;
        }
        if by_rows(name) {
            let mut waiting = waiting();
            let limit = args.get("limit").and_then(Value::as_u64);
            // There are other rows between events.
            let rows = match name {
                "sessions.export" => Some(PAGE),
                "sessions.journal" => limit,
                _ => limit.map(|_| EVENT_ROWS),
            };
            waiting.until = rows.map(|rows| rows_from(args).saturating_add(rows));
            self.look_at_rows(waiting);
            return Ok(false);
        }
        if name == "sessions.fork" {
            let of = |table| Read::all(table, vec![session.as_str().into()]);
            self.read_after_commit(
                vec![of(Table::Entries), of(Table::Heads)],
                After::Look(Box::new(waiting())),
            );
            return Ok(false);
        }
        if self.sessions.contains_key(&session) {
            self.must_own(name, &session, need)?;
            if name == "sessions.status" {
                // How it stands is known; whether somebody has changed what is stored, is not.
                let of = |table| Read::all(table, vec![session.as_str().into()]);
                let seq = self.session(&session).map(Session::seq);
                let reads = vec![Read { from: seq, ..of(Table::Entries) }, of(Table::Heads)];
                self.read_after_commit(reads, After::Look(Box::new(waiting())));
                return Ok(false);
            }
            return Ok(true);
        }
        match need {
            Need::Work if !running => Ok(true),
            _ => {
                self.look_at(waiting());
                Ok(false)
            }
        }
    }

    /// Which session an `interrupt` is for, by its id or by a run's.
    pub(in crate::harness) fn interrupted(&self, args: &Value) -> String {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let of_run = || text("runId").and_then(|run| self.session_of_run(run));
        let of_prompt = || Some(self.waited_for(args.get("command")?.as_u64()?)?.to_owned());
        let found = text("sessionId").map(Into::into).or_else(of_run).or_else(of_prompt);
        found.unwrap_or_else(|| DEFAULT_SESSION.into())
    }

    /// Who works here now.
    ///
    /// # Errors
    /// `operator_required`
    pub(in crate::harness) fn present_operator(&self) -> Result<&Operator, ErrorInfo> {
        operator::may(self.options.operator.as_ref(), Action::Read, None, self.now)?;
        self.options.operator.as_ref().ok_or_else(|| no_session(""))
    }

    /// From here on this operator works here, or nobody.
    pub(in crate::harness) fn set_operator(&mut self, given: Option<&Value>) -> Result<(), ErrorInfo> {
        self.options.operator = given.map(parse_operator).transpose()?;
        if self.lifecycle == Lifecycle::Running {
            self.tend_default(false);
        }
        Ok(())
    }

    /// Whether a session is the operator's own, where that is asked. What is a command on the record itself asks in the
    /// order of its own checks.
    fn must_own(&self, name: &str, session: &str, need: Need) -> Result<(), ErrorInfo> {
        if need == Need::Read || matches!(name, "sendMessage" | "regenerate") || name.starts_with("sessions.")
        {
            return Ok(());
        }
        self.must_own_session(session)
    }

    /// Whether a session is the operator's own.
    pub(in crate::harness) fn must_own_session(&self, session: &str) -> Result<(), ErrorInfo> {
        let record = self.session(session).and_then(Session::record);
        operator::may(self.options.operator.as_ref(), Action::Steer, record, self.now)
    }

    /// The session in our hands that a run belongs to.
    pub(in crate::harness) fn session_of_run(&self, run: &str) -> Option<String> {
        let of = |slot: &Slot| slot.session.run_times(run).is_some();
        self.sessions.iter().find(|(_, slot)| of(slot)).map(|(id, _)| id.to_owned())
    }

    /// The row that says which session a run belongs to was read.
    pub(in crate::harness) fn found(&mut self, mut waiting: Waiting, rows: &[Rows]) {
        let row = rows.first().and_then(|rows| rows.first());
        waiting.session = row.map_or_else(|| DEFAULT_SESSION.into(), |(_, session)| session.clone());
        self.look_at(waiting);
    }

    /// Reads rows of a journal. What was done before is told with the rest.
    fn look_at_rows(&mut self, waiting: Waiting) {
        let of = |table| Read::all(table, vec![waiting.session.as_str().into()]);
        // The row before is what the first one follows.
        let from = rows_from(&waiting.args).saturating_sub(1);
        let rows = Read { from: Some(from), until: waiting.until, ..of(Table::Entries) };
        let reads = vec![rows, of(Table::Heads)];
        self.read_after_commit(reads, After::Look(Box::new(waiting)));
    }

    /// What another tab works on is not lost: where no agent runs here, that is asked first.
    pub(super) fn peek(&mut self, after: After) {
        if self.peeking.is_empty() {
            self.outbox.act(crate::harness::Action::Peek);
        }
        self.peeking.push(after);
    }

    /// Whether anybody holds the workspace is known.
    pub(in crate::harness) fn peeked(&mut self, held: bool) {
        let elsewhere = held && self.start.is_none() && self.lifecycle != Lifecycle::Running;
        for after in std::mem::take(&mut self.peeking) {
            match after {
                After::Look(mut waiting) => {
                    waiting.held = Some(elsewhere);
                    self.look_at(*waiting);
                }
                After::List { command, of, .. } => self.read_heads(command, of, elsewhere),
                _ => {}
            }
        }
    }

    fn look_at(&mut self, waiting: Waiting) {
        if waiting.held.is_none() && self.lifecycle != Lifecycle::Running {
            return self.peek(After::Look(Box::new(waiting)));
        }
        if is_a_page(&waiting) {
            return self.look_at_end(waiting);
        }
        let of = |table: Table| Read::all(table, vec![waiting.session.as_str().into()]);
        let arriving = Read::all(Table::Meta, vec![ARRIVING.into()]);
        let reads = vec![of(Table::Entries), of(Table::Heads), of(Table::Drafts), arriving];
        self.read(reads, After::Look(Box::new(waiting)));
    }

    /// The session of a command was read.
    pub(in crate::harness) fn look(
        &mut self,
        waiting: Waiting,
        rows: &[Rows],
        signatures: Option<&[String]>,
    ) {
        let command = waiting.command;
        if let Err(error) = self.looked(waiting, rows, signatures) {
            self.reply_now(command, Err(error));
        }
    }

    fn looked(
        &mut self,
        mut waiting: Waiting,
        rows: &[Rows],
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        let Waiting { command, ref session, .. } = waiting;
        let stored = part(1).first().map(|(_, row)| (row, Head::parse(row)));
        let once = stored.as_ref().is_some_and(|(_, head)| is_once(&head.value));
        must_be_shown(&waiting.name, &waiting.args, session, once)?;
        if by_rows(&waiting.name) {
            let Some((row, head)) = stored else { return Err(no_session(session)) };
            self.must_be_there(&waiting.name, session, removed_by(&head.value))?;
            self.integrity(session).accept("agent session state", session)?;
            let signed = self.integrity(session) == Integrity::Verified;
            if let Some(event) = changed_event(part(0), signatures, signed) {
                Integrity::Tampered.accept("agent session event", &event)?;
            }
            let from = rows_from(&waiting.args);
            let to_its_end = waiting.until.is_none_or(|until| until > head.seq()) && from <= head.seq();
            check_chain(part(0), &head, to_its_end)?;
            let before = |(key, _): &&(Key, String)| key.get(1) < Some(&Part::Number(from));
            let shown = part(0).get(part(0).iter().take_while(before).count()..).unwrap_or_default();
            let told = match waiting.name.as_str() {
                "sessions.export" => carry::page(&waiting.args, shown, row)?,
                "sessions.task" | "sessions.left" => self.task(&waiting, shown)?,
                _ => told_rows(&waiting.name, &waiting.args, shown)?,
            };
            if let (Some(until), Some(limit)) =
                (waiting.until, waiting.args.get("limit").and_then(Value::as_u64))
                && until <= head.seq()
                && (json::items(&told).len() as u64) < limit
            {
                waiting.until = Some(from.saturating_add((until - from).saturating_mul(4)));
                self.look_at_rows(waiting);
                return Ok(());
            }
            self.reply_now(command, Ok(Some(json::json(&told))));
            return Ok(());
        }
        if waiting.name == "sessions.fork" {
            let Some((_, head)) = stored else { return Err(no_session(session)) };
            self.must_be_there(&waiting.name, session, removed_by(&head.value))?;
            let whole = load(session, self, part(0), part(1))?;
            return self.fork(waiting, part(0), whole);
        }
        // A start may have come first, and know more than this.
        if let Some(slot) = self.sessions.get(session) {
            if waiting.name != "sessions.status" {
                return self.dispatch_waiting(waiting);
            }
            let state = slot.session.state().ok_or_else(|| no_session(session))?;
            let Some((_, head)) = stored else { return Err(no_session(session)) };
            let as_written = self.is_as_written(session, &head, waiting.asked);
            if !as_written || check_chain(part(0), &head, true).is_err() {
                self.verdicts.insert(session, Integrity::Tampered);
            }
            let status = match self.status_by(session, &head) {
                Some(stored) if !as_written => stored,
                _ => self.with_integrity(session, state),
            };
            self.reply_value(command, &status);
            return Ok(());
        }
        if let Some(tail) = waiting.tail.take() {
            self.integrity(&waiting.session).accept("agent session state", &waiting.session)?;
            let removed = stored.and_then(|(_, head)| removed_by(&head.value));
            self.must_be_there(&waiting.name, &waiting.session, removed)?;
            return match self.look_further(waiting, tail, rows)? {
                Some((waiting, rows)) => self.looked(waiting, &rows, signatures),
                None => Ok(()),
            };
        }
        let arrives = part(3).iter().any(|(_, id)| id == session);
        let rows = if arrives { &[] } else { rows };
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        if part(0).is_empty() && part(1).is_empty() && session != DEFAULT_SESSION {
            return Err(no_session(session));
        }
        let need = subject(&waiting.name, &waiting.args)?.map_or(Need::Read, |(_, need)| need);
        if self.lifecycle == Lifecycle::Running && need != Need::Read {
            if let Err(error) = self.take_session(session, rows) {
                return self.not_taken(&waiting, error);
            }
            self.start_session(session);
            return self.dispatch_waiting(waiting);
        }
        if need == Need::Work {
            return self.dispatch_waiting(waiting);
        }
        let removes = waiting.name == "sessions.remove" && self.start.is_none();
        let mut folded = match load(session, self, part(0), part(1)) {
            Ok(folded) => folded,
            Err(error) if removes && error.code == Code::Corrupt => {
                self.begin(start::Purpose::Once(Box::new(waiting)));
                return Ok(());
            }
            Err(error) => {
                // As it is stored, and nothing of it is believed.
                self.verdicts.insert(session, Integrity::Tampered);
                let status = stored.as_ref().and_then(|(_, head)| self.status_by(session, head));
                let shown =
                    status.filter(|_| waiting.name == "sessions.status" && error.code == Code::Corrupt);
                self.reply_value(command, &shown.ok_or(error)?);
                return Ok(());
            }
        };
        self.must_be_there(&waiting.name, session, folded.removed_at())?;
        if need == Need::Read {
            // What a lost page left reads as it will once the agent is started; here it is only looked at.
            let working = folded.current().filter(|run| run.working() && waiting.held != Some(true));
            if let Some(run) = working.map(|run| run.id.clone()) {
                let blocks = start::from_drafts(&run, part(2));
                folded.append(self.now, Some(&run), &Entry::Lost { blocks })?;
            }
            return self.answer_look(command, &folded, &waiting.name, &waiting.args);
        }
        if waiting.name == "clearConversation"
            && folded.runs.is_empty()
            && start::erasures(session, part(0)).is_empty()
        {
            self.reply_now(command, Ok(None));
        } else if self.start.is_some() {
            // The agent was started meanwhile: it is done then.
            self.deferred.push((self.now, waiting.input()));
        } else {
            self.begin(start::Purpose::Once(Box::new(waiting)));
        }
        Ok(())
    }

    /// A run by its id or its task's: as it was kept, or as it stands.
    fn task(&self, waiting: &Waiting, rows: &[(Key, String)]) -> Result<Value, ErrorInfo> {
        let Waiting { session, name, args, .. } = waiting;
        let id = Args::new(name, args, &["id"])?.needed("id")?;
        if let Some(mut left) = left_by(id, rows)? {
            let run = left.get_mut("run").filter(|_| name == "sessions.task").map(Value::take);
            return Ok(run.unwrap_or(left));
        }
        let open = match self.session(session) {
            Some(session) => session.open_task(id),
            None => {
                let texts = rows.iter().map(|(_, text)| text.as_str());
                Session::load(session, &self.engine, texts)?.open_task(id)
            }
        };
        open.ok_or_else(|| record::unknown("task run", id))
    }

    fn dispatch_waiting(&mut self, waiting: Waiting) -> Result<(), ErrorInfo> {
        let need = subject(&waiting.name, &waiting.args)?.map_or(Need::Read, |(_, need)| need);
        let removed = self.removed_at(&waiting.session);
        self.must_be_there(&waiting.name, &waiting.session, removed)?;
        self.must_own(&waiting.name, &waiting.session, need)?;
        if self.waits_for_a_key(&waiting.name, &waiting.args) {
            self.deferred.push((self.now, waiting.input()));
            return Ok(());
        }
        let Waiting { command, name, args, fresh, .. } = waiting;
        self.dispatch(command, &name, &args, fresh)
    }

    /// A session that was taken goes by the present configuration, and what waits in it waits again.
    pub(in crate::harness) fn start_session(&mut self, session: &str) {
        self.record_start(session);
        self.start_those_with_keys();
        self.answer_waiters(session);
        self.tell_questions_again(session);
    }

    /// From here on this holder writes the journal, and decisions go by its configuration.
    pub(in crate::harness) fn record_start(&mut self, session: &str) {
        let (config, tools) = (self.config_record(), self.registry.record());
        self.append(session, None, &Entry::Started { epoch: self.epoch, config, tools });
    }

    /// A session that a command is for is not what was written. All that can be done with it is to remove it.
    pub(in crate::harness) fn not_taken(
        &mut self,
        waiting: &Waiting,
        error: ErrorInfo,
    ) -> Result<(), ErrorInfo> {
        if waiting.name != "sessions.remove"
            || error.code != Code::Corrupt
            || waiting.session == DEFAULT_SESSION
        {
            return Err(error);
        }
        self.remove_broken(&waiting.session);
        self.reply(waiting.command, Ok(None));
        self.look_for_remains();
        Ok(())
    }

    /// Does the one thing that a workspace was borrowed for, and lets it go.
    pub(in crate::harness) fn do_once(&mut self, waiting: Waiting) {
        let command = waiting.command;
        let clears = waiting.name == "clearConversation";
        match self.dispatch_waiting(waiting) {
            // It goes on until everything is erased.
            Ok(()) if clears => return,
            Ok(()) => {}
            Err(error) => self.reply_now(command, Err(error)),
        }
        self.give_back();
    }

    /// Lets a borrowed workspace go.
    pub(in crate::harness) fn give_back(&mut self) {
        self.release();
        self.outbox.tell_after_commit(crate::harness::Action::Unlock { epoch: self.epoch });
    }

    /// Takes a session's journal into our hands: its entries, head and drafts as they were read.
    pub(in crate::harness) fn take_session(&mut self, id: &str, rows: &[Rows]) -> Result<(), ErrorInfo> {
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        let session = load(id, self, part(0), part(1))?;
        let stopped = session.epoch() <= self.stopped && !session.grants.is_empty();
        let doubted = session.origin.is_none() && !part(1).is_empty();
        self.sessions.insert(id, Slot::new(session));
        let integrity = self.integrity(id);
        if doubted && integrity != Integrity::Verified {
            // What is signed from here on says nothing of what was before.
            self.append(id, None, &Entry::Found { integrity: integrity.as_str().into() });
        }
        if stopped {
            self.append(id, None, &Entry::Stopped {});
        }
        for write in start::erasures(id, part(0)) {
            self.outbox.write(write);
        }
        // What a lost page wrote past its commits may belong to no run any more.
        if !part(2).is_empty() {
            self.outbox.write(delete(Table::Drafts, id));
        }
        self.lose(id, part(2));
        if self.watched.contains_key(id) {
            self.tell_history(id);
        }
        Ok(())
    }
}

/// The session of one task is reached by its run alone.
fn must_be_shown(name: &str, args: &Value, session: &str, once: bool) -> Result<(), ErrorInfo> {
    let by_id = name != "interrupt" && matches!(subject(name, args)?, Some((Subject::Session(_), _)));
    if once && by_id { Err(no_session(session)) } else { Ok(()) }
}

/// `{ subject, issuer?, expiresAt? }`
fn parse_operator(value: &Value) -> Result<Operator, ErrorInfo> {
    let args = Args::new("an operator", value, &["subject", "issuer", "expiresAt"])?;
    let subject = args.short("subject")?.unwrap_or_default();
    let issuer = args.short("issuer")?;
    if subject.trim().is_empty() || [subject, issuer.unwrap_or_default()].concat().contains(char::is_control)
    {
        return Err(args.invalid("needs a \"subject\" that is not empty, and no control characters"));
    }
    // It is put on record, and no record has what looks like a secret.
    if redact::has_secret(value, &[]) {
        return Err(args.invalid(
            "looks like a secret, or an address with a login: use an id of the person without one",
        ));
    }
    Ok(Operator {
        subject: subject.into(),
        issuer: issuer.map(Into::into),
        expires_at: args.whole("expiresAt")?,
    })
}

/// Whether rows that were read follow each other, and lead to where the head says, if they go `to_its_end`.
fn check_chain(rows: &Rows, head: &Head, to_its_end: bool) -> Result<(), ErrorInfo> {
    let mut before: Option<(u64, String)> = None;
    for (key, text) in rows {
        let Some(Part::Number(seq)) = key.get(1) else { continue };
        let row = Row::from_text(text)?;
        let follows = match &before {
            Some((last, hash)) => *last + 1 == *seq && row.follows(hash),
            None if *seq == 1 => row.follows(GENESIS),
            // It is there for the one behind it; what is before it is not read.
            None => row.has_its_content(),
        };
        if !follows {
            let message = ["journal row ", &seq.to_string(), " does not follow the one before it"].concat();
            return Err(ErrorInfo::new(Code::Corrupt, message).hint("the database was changed from outside"));
        }
        before = Some((*seq, row.hash().into()));
    }
    let end = before.as_ref().map(|(seq, hash)| (*seq, hash.as_str()));
    let said = head.value.get("hash").and_then(Value::as_str).map(|hash| (head.seq(), hash));
    if to_its_end && end != said {
        let error = ErrorInfo::new(Code::Corrupt, "the journal's end does not agree with its head");
        return Err(error.hint("the database was changed from outside"));
    }
    Ok(())
}

/// Folds a session's rows and holds them against its head.
fn load(id: &str, harness: &Harness, entries: &Rows, heads: &Rows) -> Result<Session, ErrorInfo> {
    harness.integrity(id).accept("agent session state", id)?;
    let head = heads.first().map(|(_, row)| Head::parse(row));
    let session = Session::load(id, &harness.engine, entries.iter().map(|(_, text)| text.as_str()))?;
    let record = session.record().map(Record::json);
    if record.as_ref().is_some_and(|record| record.get("id").and_then(Value::as_str) != Some(id)) {
        let error = ErrorInfo::new(Code::Corrupt, "these rows are another session's");
        return Err(error.hint("they were copied in the database: export and import copy a session"));
    }
    let agrees = |head: &Head| session.agrees_with(&head.value) && head.record() == record.as_ref();
    if head.as_ref().map_or(!entries.is_empty(), |head| !agrees(head)) {
        let error = ErrorInfo::new(Code::Corrupt, "the journal's end does not agree with its head");
        return Err(error.hint("rows are missing: delete the workspace to start anew, or report this"));
    }
    Ok(session)
}
