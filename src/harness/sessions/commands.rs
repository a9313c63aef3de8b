//! What an operator asks of sessions themselves: launch, prompt, status, stop, restart, recover, rename, list.
//!
//! Decides which entries a command becomes, and what is told of it. Promises: what is found on the way (a session that
//! was lost) is written down even where the command is refused. Leaves to others: which status follows which and what
//! may be asked (`session/lifecycle`), whose session it is (`gate.rs`) and how it comes here (`take.rs`).

use crate::error::{Code, ErrorInfo};
use crate::find::beginning;
use crate::harness::Harness;
use crate::harness::action::Input;
use crate::harness::core::integrity::{Head, bare};
use crate::harness::core::refused::no_session;
use crate::harness::core::stored::{STOPPED_KEY, stopped_until};
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle};
use crate::harness::reads::{After, Listing, Reads};
use crate::harness::runner::Runner;
use crate::harness::runner::files::has_files;
use crate::harness::sessions::removal::{delete, removed_by};
use crate::journal::canonical::Integrity;
use crate::journal::{Ask, Entry, RecordKind, Row, StoppedBy, redact};
use crate::json;
use crate::list::Listed;
use crate::maps::sorted;
use crate::object::Object;
use crate::ports::{Key, Millis, Part, Read, Rows, Table};
use crate::protocol::{Command, Members, Need, Request};
use crate::run::{Output, Run};
use crate::session::lifecycle::{self, Outcome, Then};
use crate::session::operator::Operator;
use crate::session::transitions::Status;
use crate::session::{self, Session, dates, record};
use serde_json::Value;

/// How many letters of a project's or a provider's name go into a session's id.
const ID_PART: usize = 64;

impl Core {
    /// The arguments of [`Session::ask`], with who asks.
    pub(in crate::harness) fn as_operator(&self) -> Result<Object, ErrorInfo> {
        let Operator { subject, issuer, .. } = self.present_operator()?;
        let operator = Object::new().text("subject", subject).maybe_text("issuer", issuer.as_deref()).done();
        let mut args = Object::new();
        args.value("operator", operator);
        Ok(args)
    }

    fn is_starting(&self, session: &str) -> bool {
        let record = self.session(session).and_then(Session::record);
        record.is_some_and(|record| record.status() == Status::Starting)
    }

    /// Lets the session of a task go that is over.
    pub(in crate::harness) fn let_go_of_once(&mut self, session: &str) {
        let is_over =
            |session: &Session| session.is_once() && !session.runs.is_empty() && session.current().is_none();
        if self.session(session).is_some_and(is_over) {
            self.write_heads();
            self.sessions.let_go(session);
        }
    }

    /// The heads were read for a list. When it was asked for, and whether another tab works here.
    pub(in crate::harness) fn heads_read(
        &mut self,
        command: u32,
        of: Listing,
        (asked, held): (Millis, bool),
        rows: &[Rows],
    ) {
        let mut heads = Vec::new();
        for (key, row) in rows.iter().take(1).flatten() {
            let Some(Part::Text(id)) = key.first() else { continue };
            let head = Head::parse(row);
            if self.sessions.has(id) && !self.is_as_written(id, &head, asked) {
                self.found_out(id);
            }
            if let (false, Err(error)) =
                (of == Listing::Verified, self.integrity(id).accept("agent session state", id))
            {
                return self.reply_now(command, Err(error));
            }
            let believed = self.believed(id, &head);
            let removed = believed.and_then(removed_by).is_some();
            if !removed && !believed.is_some_and(is_once) {
                heads.push((id.clone(), head));
            } else if removed && self.lifecycle != Lifecycle::Running {
                // The page that removed it may be gone: an instance that sees it erases it in time.
                self.sessions.set_head(id, head);
            }
        }
        let listed = match of {
            Listing::Grants => {
                let stopped = rows.get(1).and_then(|rows| rows.first());
                self.granted(heads, stopped_until(stopped.map(|(_, text)| text.as_str())))
            }
            _ => self.listed(heads, of == Listing::Verified, held),
        };
        self.reply_now(command, Ok(Some(json::json(&listed))));
    }

    /// The sessions that have a record, the one that was last changed first.
    fn listed(&self, heads: Vec<(String, Head)>, verified: bool, held: bool) -> Value {
        let mut states: Vec<(Integrity, Value)> = Vec::new();
        for (id, head) in heads {
            let state = match self.session(&id) {
                Some(session) => session.state(),
                // As its status would say.
                None if !held && head.is_at_work() && self.integrity(&id) != Integrity::Tampered => {
                    let record = head.record().and_then(|record| session::lost_by(record, self.now));
                    record.map(|record| session::state_of(&record, head.value.get("usage")))
                }
                None => self.state_by(&id, &head),
            };
            states.extend(state.map(|state| (self.integrity(&id), state)));
        }
        let newest = |(_, state): &(Integrity, Value)| {
            let at = state.get("updated_at").and_then(Value::as_str).and_then(dates::parse);
            u64::MAX - at.unwrap_or_default()
        };
        let states = sorted(states, newest);
        let told = |(verdict, state)| if verified { with_verdict(verdict, state) } else { state };
        states.into_iter().map(told).list().into()
    }

    pub(in crate::harness) fn with_integrity(&self, session: &str, state: Value) -> Value {
        with_verdict(self.integrity(session), state)
    }

    /// The same of a session that is not believed.
    pub(in crate::harness) fn status_by(&self, session: &str, head: &Head) -> Option<Value> {
        Some(self.with_integrity(session, self.state_by(session, head)?))
    }

    /// `SessionState` of the contract, of a session that is not in our hands.
    fn state_by(&self, session: &str, head: &Head) -> Option<Value> {
        let record = match self.integrity(session) {
            Integrity::Tampered => session::as_stored(session, head.record(), self.now),
            _ => head.record()?.clone(),
        };
        Some(session::state_of(&record, head.value.get("usage")))
    }

    /// `{ session, hmac_status }`.
    pub(in crate::harness) fn status_of(&self, session: &Session) -> Result<Value, ErrorInfo> {
        let state = session.state().ok_or_else(|| no_session(&session.id))?;
        Ok(self.with_integrity(&session.id, state))
    }
}

impl Runner {
    /// Changes how a session stands: stop, restart, rename, recover, remove, undoRemove.
    pub(in crate::harness) fn change(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        request: &Request,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let (command, given) = (request.command, request.args());
        let mut args = core.as_operator()?;
        let what = match command {
            Command::SessionsStop | Command::SessionsRestart => {
                args.maybe_text("reason", given.text("reason"));
                if command == Command::SessionsStop { Ask::Stop } else { Ask::Restart }
            }
            Command::SessionsRename => {
                args.text("name", given.needed("displayName"));
                Ask::Rename
            }
            Command::SessionsRecover => {
                if request.need() == Need::Work {
                    core.must_run()?;
                }
                if given.text("action").is_none() && core.current(session).is_some_and(Run::working) {
                    let error = ErrorInfo::new(Code::Busy, "a run works in this session");
                    return Err(error.hint("interrupt it first: what works has not failed"));
                }
                for member in ["action", "reason", "detail"] {
                    args.maybe_text(member, given.text(member));
                }
                Ask::Recover
            }
            Command::SessionsRemove => {
                self.remove_session(core, session, &args.done())?;
                core.reply(id, Ok(None));
                return Ok(());
            }
            _ => Ask::UndoRemove,
        };
        let args = args.done();
        if command == Command::SessionsUndoRemove {
            core.must_own_session(session)?;
            if core.removed_at(session).is_some() {
                self.ask_session(core, session, what, &args)?;
            }
        } else {
            self.ask_session(core, session, what, &args)?;
        }
        if command == Command::SessionsStop {
            self.interrupt_session(core, session, StoppedBy::Stop, true);
        }
        if request.need() == Need::Work {
            self.reconnect(core, session, fresh);
        }
        let state = core.session(session).and_then(Session::state).unwrap_or_default();
        core.reply_value(id, &state);
        Ok(())
    }

    /// The run that a session was lost in goes on; after one that has failed, another does.
    fn reconnect(&mut self, core: &mut Core, session: &str, fresh: &str) {
        let Some(run) = core.session(session).and_then(|session| session.runs.last()) else { return };
        let id = run.id.clone();
        if run.held {
            self.go_on(core, session, &id);
        } else if run.has_failed() {
            let schema = run.prompt.output.as_ref().map(Output::record);
            self.continue_after(core, session, id, fresh, schema);
            self.advance(core, session);
        }
    }

    /// Asks something of a session and writes down what comes of it.
    pub(in crate::harness) fn ask_session(
        &mut self,
        core: &mut Core,
        session: &str,
        what: Ask,
        args: &Value,
    ) -> Result<(), ErrorInfo> {
        // It is put on record, word by word.
        let (args, _) = redact::value(&core.secrets.scrubbed_value(args.clone()), &[]);
        let Some(folded) = core.session(session) else { return Err(no_session(session)) };
        let Outcome { record, events, refused, .. } = folded.ask(what, &args, core.now);
        if record.is_some() || !events.is_empty() {
            // What was found on the way is another thing than what is refused.
            let what = if refused.is_some() { Ask::Status } else { what };
            self.append(core, session, None, &Entry::Commanded { what: what.into(), args });
            self.advance(core, session);
        }
        refused.map_or(Ok(()), Err)
    }

    pub(in crate::harness) fn launch(
        &mut self,
        core: &mut Core,
        command: u32,
        given: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let mut args = core.as_operator()?;
        let messages = given.get("messages").map(|messages| core.secrets.scrubbed_value(messages.clone()));
        let adopted = messages.map_or(Ok(Vec::new()), |messages| session::adopted(&messages, fresh))?;
        let project = given.text("projectId").unwrap_or(&core.options.name).to_owned();
        let provider = given.text("provider");
        if let Some(name) = provider {
            self.setup.must_have_provider(name)?;
        }
        let provider = provider.map_or_else(|| self.setup.provider_name(), Into::into);
        let session = match given.text("id").filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => {
                let begin = |text: &str| beginning(text, ID_PART).to_owned();
                self.free_id(core, &record::session_id(Some(&begin(&project)), &begin(&provider), core.now))
            }
        };
        if redact::text(&session, &[]).is_some() {
            let error = ErrorInfo::new(Code::InvalidArguments, "the session's id looks like a secret");
            return Err(error.hint("it is put on record: choose another"));
        }
        args.text("id", &session).text("providerId", &provider).text("projectId", &project);
        args.maybe_text("displayName", given.text("displayName"));
        if let Some(name) = given.text("provider") {
            args.text("provider", name);
            if !self.setup.has_key(Some(name)) {
                args.flag("waiting", true);
            }
        }
        args.maybe_text("modelId", self.setup.config.model_id(given.text("provider")));
        let known = self.knows(core, &session);
        if known && (session != DEFAULT_SESSION || !adopted.is_empty()) {
            let message = ["agent session already exists: ", &session].concat();
            return Err(ErrorInfo::new(Code::SessionExists, message).hint("restart it, or choose another id"));
        }
        let begins = !known;
        if begins {
            // Rows may be there whose head somebody has deleted.
            core.outbox.write(delete(Table::Entries, &session));
            core.sessions.take(Session::with(&session, &core.engine));
        }
        if let Err(error) = self.ask_session(core, &session, Ask::Launch, &args.done()) {
            if begins {
                core.sessions.let_go(&session);
            }
            return Err(error);
        }
        if begins {
            self.record_start(core, &session);
        }
        self.adopt(core, &session, fresh, adopted);
        let state = core.session(&session).and_then(Session::state).unwrap_or_default();
        core.reply_value(command, &state);
        Ok(())
    }

    /// A session begins with a conversation from elsewhere.
    fn adopt(&mut self, core: &mut Core, session: &str, fresh: &str, entries: Vec<Entry>) {
        for (at, mut entry) in entries.into_iter().enumerate() {
            if let (Entry::Adopted { blocks, .. }, Some(folded)) = (&mut entry, core.session(session)) {
                *blocks = folded.with_own_ids(std::mem::take(blocks), &|_| false);
            }
            let run = ["run_", fresh, "_", &at.to_string()].concat();
            self.append(core, session, Some(&run), &entry);
        }
    }

    fn knows(&self, core: &Core, session: &str) -> bool {
        let arrives = core.sessions.arrival.as_ref().is_some_and(|arrival| arrival.is_called(session));
        core.sessions.has(session) || core.sessions.head(session).is_some() || arrives
    }

    /// This id, or the next one like it that no session has.
    pub(in crate::harness) fn free_id(&self, core: &Core, id: &str) -> String {
        let (mut free, mut number) = (id.to_owned(), 1);
        while self.knows(core, &free) {
            number += 1;
            let end = ["-", &u64::to_string(&number)].concat();
            let room = id.floor_char_boundary(lifecycle::ID.saturating_sub(end.len()));
            free = [id.get(..room).unwrap_or_default(), &end].concat();
        }
        free
    }

    /// Whether this command is a prompt for a session that still waits for its provider's key: then it waits with it.
    pub(in crate::harness) fn waits_for_a_key(&self, core: &Core, request: &Request) -> bool {
        let Some(session) = prompted(request) else { return false };
        // What would be refused is refused at once: this operator's rights count, not those of an operator that works
        // here when the key comes.
        core.is_starting(session)
            && core.removed_at(session).is_none()
            && self
                .asked_to_prompt(core, request.command, session, request.args().all())
                .is_ok_and(|then| then == Then::Wait)
    }

    /// What would come of a prompt.
    fn asked_to_prompt(
        &self,
        core: &Core,
        command: Command,
        session: &str,
        said: &Value,
    ) -> Result<Then, ErrorInfo> {
        let text = said.get("text").and_then(Value::as_str).unwrap_or_default();
        // An exit word is one in `sessions.prompt` only: anything stands for it elsewhere.
        let text = if command == Command::SessionsPrompt || text.trim().is_empty() { text } else { "-" };
        let files = said.get("files").and_then(Value::as_array).is_some_and(|files| !files.is_empty());
        let mut args = core.as_operator()?;
        args.text("text", text).flag("files", files);
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let outcome = folded.ask(Ask::Prompt, &args.done(), core.now);
        if let (Then::Wait, Some(provider)) = (&outcome.then, folded.provider()) {
            self.setup.must_have_provider(provider)?;
        }
        outcome.refused.map_or(Ok(outcome.then), Err)
    }

    /// The sessions that waited for a key that is there now have started.
    pub(in crate::harness) fn start_those_with_keys(&mut self, core: &mut Core) {
        for session in core.sessions.ids().into_iter().filter(|session| core.is_starting(session)).list() {
            if self.setup.has_key(core.session(&session).and_then(Session::provider)) {
                let _ = self.ask_session(core, &session, Ask::Ready, &Object::new().done());
            }
        }
    }

    /// The harness's own conversation has a record like any other. A start or a message recovers it.
    pub(in crate::harness) fn tend_default(&mut self, core: &mut Core, starting: bool) {
        let Some(folded) = core.session(DEFAULT_SESSION) else { return };
        let Ok(mut args) = core.as_operator() else { return };
        let what = match folded.record() {
            None => {
                args.text("id", DEFAULT_SESSION).text("providerId", &self.setup.provider_name());
                args.text("projectId", &core.options.name);
                args.maybe_text("modelId", self.setup.config.model_id(None));
                Ask::Launch
            }
            Some(record) if record.status().is_active() => return,
            Some(record) if record.text("status") == Some("stopped") => {
                if !starting {
                    return;
                }
                Ask::Restart
            }
            Some(_) => {
                args.text("action", "resume");
                Ask::Recover
            }
        };
        // It may be another operator's: then the first prompt says so.
        let _ = self.ask_session(core, DEFAULT_SESSION, what, &args.done());
    }

    /// `sendMessage`, plus the exit words.
    pub(in crate::harness) fn prompt(
        &mut self,
        core: &mut Core,
        command: u32,
        session: &str,
        given: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let mut args = core.as_operator()?;
        args.text("text", given.needed("text")).flag("files", has_files(given));
        let args = core.secrets.scrubbed_value(args.done());
        let Some(folded) = core.session(session) else { return Err(no_session(session)) };
        let outcome = folded.ask(Ask::Prompt, &args, core.now);
        match (outcome.refused, outcome.then) {
            (None, Then::Nothing) => {
                self.interrupt_session(core, session, StoppedBy::Stop, true);
                self.ask_session(core, session, Ask::Prompt, &args)?;
                core.reply_value(command, &Object::new().value("runId", Value::Null).done());
                Ok(())
            }
            (Some(refused), _) => {
                self.ask_session(core, session, Ask::Prompt, &args)?;
                Err(refused)
            }
            // A text must be there, be it empty.
            (None, _) if given.text("text").is_none() => {
                Err(ErrorInfo::new(Code::InvalidArguments, "sendMessage needs \"text\""))
            }
            (None, _) => self.send_message(core, command, session, given, fresh),
        }
    }

    /// Whether a session takes this message now: its record says so.
    pub(in crate::harness) fn may_prompt(
        &mut self,
        core: &mut Core,
        session: &str,
        text: &str,
        files: bool,
    ) -> Result<(), ErrorInfo> {
        if session == DEFAULT_SESSION {
            self.tend_default(core, false);
        }
        let files: Vec<Value> = files.then_some(Value::Null).into_iter().list();
        let said = Object::new().text("text", text).value("files", files.into()).done();
        self.asked_to_prompt(core, Command::SendMessage, session, &said).map(drop)
    }

    /// One task without a session: it has one that no list shows, and that is let go when it is over.
    pub(in crate::harness) fn run_once(
        &mut self,
        core: &mut Core,
        command: u32,
        given: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let session = ["once_", fresh].concat();
        let mut args = core.as_operator()?;
        args.text("providerId", &self.setup.provider_name()).text("projectId", &core.options.name);
        args.maybe_text("modelId", self.setup.config.model_id(None));
        core.sessions.take(Session::with(&session, &core.engine));
        self.ask_session(core, &session, Ask::Launch, &args.flag("once", true).done())?;
        self.record_start(core, &session);
        let sent = self.send_message(core, command, &session, given, fresh);
        if sent.is_err() {
            self.ask_session(core, &session, Ask::Remove, &core.as_operator()?.done())?;
        }
        sent
    }
}

impl Reads {
    /// What there is of all sessions, by their heads.
    pub(in crate::harness) fn list_sessions(&mut self, core: &mut Core, command: u32, of: Listing) {
        if core.lifecycle == Lifecycle::Running || of == Listing::Grants {
            self.read_heads(core, command, of, false);
        } else {
            self.peek(core, After::List { command, of, asked: core.now, held: false });
        }
    }

    /// Reads them. `held`: another tab works here.
    pub(super) fn read_heads(&mut self, core: &mut Core, command: u32, of: Listing, held: bool) {
        let stopped = Read::all(Table::Meta, vec![STOPPED_KEY.into()]);
        let reads = vec![Read::all(Table::Heads, Vec::new()), stopped];
        self.read_after_commit(core, reads, After::List { command, of, asked: core.now, held });
    }
}

impl Harness {
    /// The session that the prompt of this command still waits for.
    pub(in crate::harness) fn waited_for(&self, command: u64) -> Option<&str> {
        self.deferred.iter().find_map(|(_, input)| match input {
            Input::Command { id, request: Ok(request), .. } if u64::from(*id) == command => prompted(request),
            _ => None,
        })
    }

    /// Gives up the prompts to a session that wait for its start or for a room, or the one of this command.
    pub(in crate::harness) fn drop_prompts(&mut self, session: &str, command: Option<u64>) {
        let mut at = 0;
        while let Some((_, input)) = self.deferred.get(at) {
            at += 1;
            if let Input::Command { id, request: Ok(request), .. } = input
                && command.is_none_or(|command| command == u64::from(*id))
                && prompted(request) == Some(session)
            {
                let id = *id;
                at -= 1;
                self.deferred.remove(at);
                let message = "the message was interrupted before it was sent";
                self.core.reply_now(id, Err(ErrorInfo::new(Code::Aborted, message)));
            }
        }
    }
}

/// Which session a command is a prompt for.
fn prompted(request: &Request) -> Option<&str> {
    let member = match request.command {
        Command::SendMessage => "sessionId",
        Command::SessionsPrompt => "id",
        _ => return None,
    };
    Some(request.args().text(member).unwrap_or(DEFAULT_SESSION))
}

/// `{ session, hmac_status }`.
fn with_verdict(verdict: Integrity, state: Value) -> Value {
    Object::new().value("session", state).text("hmac_status", verdict.as_str()).done()
}

/// Whether a session is there for one task only, by its head.
pub(in crate::harness) fn is_once(head: &Value) -> bool {
    head.get("once") == Some(&Value::Bool(true))
}

/// What a run that is over has left in these rows, by its id or its task's: `{ run, receipts, handoff }`.
pub(in crate::harness) fn left_by(id: &str, rows: &[(Key, String)]) -> Result<Option<Value>, ErrorInfo> {
    let mut receipts: Vec<(String, Value)> = Vec::new();
    let mut task = None;
    for (_, text) in rows {
        let (header, entry) = Row::from_text(text)?.read()?;
        let (Some(run), Some(Entry::Recorded { what, record })) = (header.run, entry) else { continue };
        match what.known() {
            Some(RecordKind::Receipt) => receipts.push((run, record)),
            Some(RecordKind::Run)
                if run == id || record.get("task_id").and_then(Value::as_str) == Some(id) =>
            {
                task = Some((run, record));
            }
            Some(RecordKind::Handoff) => {
                if let Some((run, task)) = task.take() {
                    let of_run = receipts.into_iter().filter(|(of, _)| *of == run);
                    let receipts = of_run.map(|(_, receipt)| receipt).list();
                    let mut left = Object::new();
                    left.value("run", task).value("receipts", receipts.into());
                    return Ok(Some(left.value("handoff", record).done()));
                }
            }
            _ => {}
        }
    }
    Ok(None)
}

/// What the rows of a session say: `SessionEvent`s of the contract, or what was put on record.
pub(in crate::harness) fn told_rows(
    command: Command,
    limit: Option<u64>,
    rows: &[(Key, String)],
) -> Result<Value, ErrorInfo> {
    let limit = limit.unwrap_or(u64::MAX);
    let wanted = match command {
        Command::SessionsEvents => Some(RecordKind::Event),
        Command::SessionsReceipts => Some(RecordKind::Receipt),
        Command::SessionsHandoffs => Some(RecordKind::Handoff),
        _ => None,
    };
    let mut told: Vec<Value> = Vec::new();
    for (_, text) in rows {
        if told.len() as u64 >= limit {
            break;
        }
        let row = Row::from_text(text)?;
        let (header, entry) = row.read()?;
        if wanted.is_none() {
            let mut event = Object::new();
            event.all(entry.map(|entry| entry.to_json()).into());
            event.number("v", 1).number("seq", header.seq).number("at", header.at);
            event.text("type", &header.kind).maybe_text("runId", header.run.as_deref());
            told.push(event.text("hash", row.hash()).done());
        } else if let Some(Entry::Recorded { what, record }) = entry
            && what.known() == wanted
        {
            let mut whole = Object::new();
            whole.all(record);
            // An event has the signature that it is stored with, and where it stands.
            whole.maybe_text("receipt_hmac", row.signature().map(bare));
            if wanted == Some(RecordKind::Event) {
                whole.number("seq", header.seq);
            }
            told.push(whole.done());
        }
    }
    Ok(told.into())
}
