//! What an operator asks of sessions themselves: launch, stop, restart, recover, rename, remove.
//!
//! Decides which entries a command becomes, and what is told of it. Promises: what is found on the way (a session that
//! was lost) is written down even where the command is refused. Leaves to others: which status follows which and what
//! may be asked (`session/lifecycle`), and whose session it is (`core/operators`).

use crate::error::{Code, ErrorInfo};
use crate::find::beginning;
use crate::harness::core::operators::parse_operator;
use crate::harness::core::refused::no_session;
use crate::harness::core::removed::delete;
use crate::harness::core::waits::no_run;
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle, tasks};
use crate::harness::runner::Runner;
use crate::harness::runner::messages::Like;
use crate::journal::{Ask, Entry, StoppedBy, redact};
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Table;
use crate::protocol::table::OVERRIDES;
use crate::protocol::{Args, Command, Members, Need, Request};
use crate::rooms::{Room, enter};
use crate::run::Run;
use crate::session;
use crate::session::lifecycle::Outcome;
use crate::session::transitions::Status;
use crate::session::{Session, lifecycle, overrides, record};
use serde_json::Value;

/// How many letters of a project's or a provider's name go into a session's id.
const ID_PART: usize = 64;

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
                let of = given.text("of");
                // A name that was made of what is erased meanwhile.
                let is_there = |run: &str| {
                    core.session(session).is_some_and(|folded| folded.runs.iter().any(|one| one.id == run))
                };
                if let Some(run) = of.filter(|run| !is_there(run)) {
                    return Err(no_run(run));
                }
                args.text("name", given.needed("displayName")).maybe_text("of", of);
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
                core.runs.come_back(session);
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
            let like = Like::of(run);
            self.continue_after(core, session, id, fresh, like);
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

    /// A name that a model has made of what is erased goes too.
    pub(in crate::harness) fn take_title_back(&mut self, core: &mut Core, session: &str) {
        let Ok(mut args) = core.as_operator() else { return };
        // Who may erase the conversation may rename it.
        let _ = self.ask_session(core, session, Ask::Rename, &args.done());
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
        let config = overrides::said(overrides::given(given.all()));
        let asked = self.setup.accepts(config.as_ref())?;
        let provider = provider.map_or_else(|| self.setup.provider_name(), Into::into);
        let session = match given.text("id").filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => {
                let begin = |text: &str| beginning(text, ID_PART).to_owned();
                self.free_id(core, &record::session_id(Some(&begin(&project)), &begin(&provider), core.now))
            }
        };
        if tasks::is_task(&session) {
            let error =
                ErrorInfo::new(Code::InvalidArguments, "ids that begin with \"once_\" are those of tasks");
            return Err(error.hint("choose another, or call runOnce"));
        }
        if redact::text(&session, &[]).is_some() {
            let error = ErrorInfo::new(Code::InvalidArguments, "the session's id looks like a secret");
            return Err(error.hint("it is put on record: choose another"));
        }
        args.text("id", &session).text("providerId", &provider).text("projectId", &project);
        args.text("policy", &lifecycle::policy_of(&session));
        args.maybe_text("displayName", given.text("displayName"));
        if let Some(name) = given.text("provider") {
            args.text("provider", name);
            if !self.setup.has_key(Some(name)) {
                args.flag("waiting", true);
            }
        }
        args.maybe_text("modelId", asked.model_id(given.text("provider")));
        let known = self.knows(core, &session);
        if known && (session != DEFAULT_SESSION || !adopted.is_empty()) {
            let message = ["agent session already exists: ", &session].concat();
            return Err(ErrorInfo::new(Code::SessionExists, message)
                .hint("send to it by its sessionId, or choose another id"));
        }
        let begins = !known;
        if begins {
            // Rows may be there whose head somebody has deleted.
            core.outbox.write(delete(Table::Entries, &session));
            core.sessions.take(Session::with(&session, &core.sessions.engine));
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
        let more =
            |config: &Value| config.as_object().is_some_and(|own| own.keys().any(|name| name != "provider"));
        if let Some(config) = config.filter(more) {
            let config = core.secrets.scrubbed_value(config);
            self.append(core, &session, None, &Entry::Overridden { config });
        }
        self.adopt(core, &session, fresh, adopted);
        let state = core.session(&session).and_then(Session::state).unwrap_or_default();
        core.reply_value(command, &state);
        core.let_go_of_idle(&session);
        Ok(())
    }

    /// A session goes by these from here on, instead of the agent's configuration.
    pub(in crate::harness) fn configure(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        given: Members<'_>,
    ) -> Result<(), ErrorInfo> {
        let patch = given.get("config").unwrap_or(&Value::Null);
        let patch = Args::read(patch, "sessions.configure", OVERRIDES)?.all();
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let config = folded.overrides_with(patch);
        let asked = self.setup.accepts(config.as_ref())?;
        let provider = config.as_ref().and_then(|config| config.get("provider")?.as_str());
        let mut args = core.as_operator()?;
        args.text("providerId", &provider.map_or_else(|| self.setup.provider_name(), Into::into));
        args.maybe_text("modelId", asked.model_id(provider));
        if config != folded.overrides() {
            self.ask_session(core, session, Ask::Configure, &args.done())?;
            let config = core.secrets.scrubbed_value(config.unwrap_or_else(|| Object::new().done()));
            self.append(core, session, None, &Entry::Overridden { config });
            self.start_those_with_keys(core);
            self.advance(core, session);
        } else {
            core.must_own_session(session)?;
        }
        let state = core.session(session).and_then(Session::state).unwrap_or_default();
        core.reply_value(id, &state);
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
        // Of a damaged one the head may be gone.
        let damaged = core.sessions.damage(session).is_some();
        core.sessions.has(session) || core.sessions.head(session).is_some() || damaged || arrives
    }

    /// This id, or the next one like it that no session has, and that no task can have. That of the first session has one, also
    /// before it begins. A door of the room `past`, which a launch and a copy have.
    #[inline(never)]
    pub(in crate::harness) fn free_id(&self, core: &Core, id: &str) -> String {
        enter(Room::Past);
        let id = tasks::without_task(id);
        let (mut free, mut number) = (id.to_owned(), 1);
        while free == DEFAULT_SESSION || self.knows(core, &free) {
            number += 1;
            let end = ["-", &u64::to_string(&number)].concat();
            let room = id.floor_char_boundary(lifecycle::ID.saturating_sub(end.len()));
            free = [id.get(..room).unwrap_or_default(), &end].concat();
        }
        free
    }

    /// The sessions that waited for a key that is there now have started.
    pub(in crate::harness) fn start_those_with_keys(&mut self, core: &mut Core) {
        for session in core.sessions.ids().into_iter().filter(|session| core.is_starting(session)).list() {
            if self.setup.has_key(core.session(&session).and_then(Session::provider)) {
                let _ = self.ask_session(core, &session, Ask::Ready, &Object::new().done());
            }
        }
    }

    /// A session that was lost with its page, or whose run has failed, takes messages again. The harness's own conversation
    /// has a record like any other: it begins here, and a start begins it again after a stop.
    pub(in crate::harness) fn tend(&mut self, core: &mut Core, session: &str, starting: bool) {
        let Some(folded) = core.session(session) else { return };
        let Ok(mut args) = core.as_operator() else { return };
        let what = match folded.record() {
            None if session != DEFAULT_SESSION => return,
            None => {
                args.text("id", session).text("providerId", &self.setup.provider_name());
                args.text("projectId", &core.options.name).text("policy", &lifecycle::policy_of(session));
                args.maybe_text("modelId", self.setup.config.model_id(None));
                Ask::Launch
            }
            Some(record) if record.status().is_active() => return,
            Some(record) if record.status() == Status::Stopped => {
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
        // It may be another operator's: then the prompt says so.
        let _ = self.ask_session(core, session, what, &args.done());
    }

    /// Removes a session that may be removed.
    pub(in crate::harness) fn remove_session(
        &mut self,
        core: &mut Core,
        session: &str,
        args: &Value,
    ) -> Result<(), ErrorInfo> {
        // An operator who may not remove it must not stop its run.
        core.must_own_session(session)?;
        let gone = core.ends_with(session);
        self.interrupt_session(core, session, StoppedBy::Removed, true);
        self.unqueue_all(core, session);
        self.ask_session(core, session, Ask::Remove, args)?;
        core.runs.go_with_session(gone);
        core.outbox.strictly();
        Ok(())
    }

    /// From here on this operator works here, or nobody.
    pub(in crate::harness) fn set_operator(
        &mut self,
        core: &mut Core,
        given: Option<&Value>,
    ) -> Result<(), ErrorInfo> {
        core.options.operator = given.map(parse_operator).transpose()?;
        if core.state.lifecycle == Lifecycle::Running {
            self.tend(core, DEFAULT_SESSION, false);
        }
        Ok(())
    }

    /// A session that was taken goes by the present configuration, and what waits in it waits again.
    pub(in crate::harness) fn start_session(&mut self, core: &mut Core, session: &str) {
        self.record_start(core, session);
        self.start_those_with_keys(core);
        core.answer_waiters(session);
        self.calls.tell_questions_again(core, &self.setup, session);
    }

    /// From here on this holder writes the journal, and decisions go by its configuration.
    pub(in crate::harness) fn record_start(&mut self, core: &mut Core, session: &str) {
        let Some(folded) = core.session(session) else { return };
        let (config, tools) = (self.setup.config_record(core), self.setup.registry.record());
        // A page that is loaded each day has the same tools: to name them all again would be most of what it stores.
        let config = Some(config).filter(|config| *config != folded.config);
        let tools = (tools != folded.tools_record).then(|| Value::clone(&tools));
        self.append(core, session, None, &Entry::Started { epoch: core.epoch, config, tools });
    }
}
