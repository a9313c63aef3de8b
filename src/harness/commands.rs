//! What the page can ask for.

use crate::error::{Code, ErrorInfo};
use crate::harness::calls::Calls;
use crate::harness::calls::page_call::PageCall;
use crate::harness::core::refused::no_session;
use crate::harness::core::{Core, Lifecycle};
use crate::harness::holding::Holding;
use crate::harness::holding::start::Over;
use crate::harness::reads::{After, Listing, Reads};
use crate::harness::runner::Runner;
use crate::harness::runner::files::has_files;
use crate::harness::runner::queue::{accepted, when_busy};
use crate::harness::{Harness, config};
use crate::journal::{Entry, StoppedBy};
use crate::json::json;
use crate::object::Object;
use crate::ports::{Read, Table};
use crate::protocol::args::shortened;
use crate::protocol::{Command, Members, Request};
use crate::rooms::{Room, enter};
use crate::run::{Output, Run};
use crate::session::{self, Session};
use crate::tools::Definition;
use serde_json::Value;

impl Core {
    /// The run that was begun with this key already.
    fn same(&self, session: &str, key: Option<&str>) -> Result<Option<&Run>, ErrorInfo> {
        let folded = self.session(session).ok_or_else(|| no_session(session))?;
        let same = |run: &&Run| run.prompt.idempotency.as_deref() == key;
        Ok(key.and_then(|_| folded.all_runs().find(same)))
    }
}

impl Calls {
    /// What a command that only reads says of a session, in our hands or only looked at.
    pub(super) fn read_of(
        &self,
        core: &Core,
        session: &Session,
        request: &Request,
    ) -> Result<Value, ErrorInfo> {
        let args = request.args();
        match request.command {
            Command::History => {
                let limit = args.whole("limit").map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
                let (before, version) = (args.text("before"), args.text("version"));
                let history = match version {
                    Some(version) if !session.shows(version) => {
                        session::history_of_version(session, version, limit, before)
                    }
                    _ => self.history_of(session, limit, before),
                };
                let missing = || no_message(before.filter(|_| version.is_none()).or(version));
                Ok(history.ok_or_else(missing)?.into())
            }
            Command::SessionsActivity => Ok(self.activity(core, session, args.needed("id"))?.as_str().into()),
            Command::SessionsOutput => self.output_of(session, args),
            _ => core.status_of(session),
        }
    }

    /// Answers a command by a session that is only looked at.
    pub(super) fn answer_look(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &Session,
        request: &Request,
    ) -> Result<(), ErrorInfo> {
        match request.command {
            Command::Watch => {
                let history = session::history(session, None, None).unwrap_or_default();
                let notice = super::Notice::History(session.id.clone(), json(&Value::from(history)));
                core.outbox.tell(super::Action::Tell(notice));
                core.sessions.watch(&session.id, String::new());
                core.reply_now(id, Ok(None));
            }
            Command::Wait | Command::Result => {
                let asked = core.awaited(request);
                if let Some(answer) = core.answer_or_wait(id, session, &asked)? {
                    core.reply_now(id, Ok(Some(answer)));
                }
            }
            _ => {
                let answer = self.read_of(core, session, request)?;
                core.reply_now(id, Ok(Some(json(&answer))));
            }
        }
        Ok(())
    }
}

impl Runner {
    /// Accepts what a person says, with the arguments of `sendMessage`.
    pub(super) fn send_message(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        args: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let waits = when_busy(args)?;
        let (text, replaces) = (args.needed("text"), args.text("replaces"));
        let idempotency = args.text("idempotencyKey").map(|key| core.secrets.scrubbed(key.into()));
        let context = args.text("context");
        let has_files = has_files(args);
        if text.trim().is_empty() && !has_files {
            return Err(ErrorInfo::new(Code::EmptyMessage, "the message is empty").hint("send a text"));
        }
        let schema = args.get("schema").map(|schema| Output::parse(schema, &core.engine)).transpose()?;
        if let Some(run) = core.same(session, idempotency.as_deref())? {
            let accepted = accepted(&run.id, run.started_at);
            core.reply_value(id, &accepted);
            return Ok(());
        }
        if let Some(accepted) = core.same_queued(session, idempotency.as_deref()) {
            core.reply_value(id, &accepted);
            return Ok(());
        }
        self.may_prompt(core, session, text, has_files)?;
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let kept = replaces.map_or(Ok(folded.runs.len()), |message| edited(folded, message))?;
        let files = self.accepted_files(core, session, kept, args.all())?;
        let waits = waits.filter(|_| core.is_busy(session));
        if waits.is_none() {
            self.make_room(core, session)?;
        }
        let entry = Entry::Prompt {
            message: ["msg_", fresh].concat(),
            text: core.secrets.scrubbed(text.into()),
            context: context.map(|context| core.secrets.scrubbed(context.into())),
            metadata: args.get("metadata").cloned().map(|metadata| core.secrets.scrubbed_value(metadata)),
            idempotency,
            continues: None,
            files,
            schema: schema.map(|schema| core.secrets.scrubbed_value(schema)),
            replaces: replaces.map(Into::into),
        };
        if let Entry::Prompt { files, .. } = &entry {
            self.write_files(core, files);
        }
        match waits {
            Some(mode) => self.enqueue(core, id, session, fresh, mode, &entry),
            None => self.begin_run(core, id, session, &["run_", fresh].concat(), &entry),
        }
        Ok(())
    }

    /// The message before an answer is answered anew: with what it was sent with, but for what is said otherwise now.
    fn regenerate(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        args: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let (answer, context) = (args.text("messageId"), args.text("context"));
        let idempotency = args.text("idempotencyKey").map(|key| core.secrets.scrubbed(key.into()));
        let schema = args.get("schema").map(|schema| Output::parse(schema, &core.engine)).transpose()?;
        if let Some(run) = core.same(session, idempotency.as_deref())? {
            let accepted = accepted(&run.id, run.started_at);
            core.reply_value(id, &accepted);
            return Ok(());
        }
        self.may_prompt(core, session, "-", false)?;
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let asked = folded.answered_by(answer).ok_or_else(|| no_answer(folded, answer))?;
        let (replaces, prompt) = (asked.answer_id(), asked.prompt.clone());
        self.make_room(core, session)?;
        let entry = Entry::Prompt {
            message: ["msg_", fresh].concat(),
            text: prompt.text,
            context: context.map(|context| core.secrets.scrubbed(context.into())).or(prompt.context),
            metadata: match args.get("metadata") {
                Some(metadata) => Some(core.secrets.scrubbed_value(metadata.clone())),
                None => prompt.metadata,
            },
            idempotency,
            continues: None,
            files: prompt.files,
            schema: match schema {
                Some(schema) => Some(core.secrets.scrubbed_value(schema)),
                None => prompt.output.as_ref().map(Output::record),
            },
            replaces: Some(replaces),
        };
        self.begin_run(core, id, session, &["run_", fresh].concat(), &entry);
        Ok(())
    }

    /// A held run ends where another message comes.
    fn make_room(&mut self, core: &mut Core, session: &str) -> Result<(), ErrorInfo> {
        match core.current(session) {
            Some(run) if run.held => self.interrupt_session(core, session, StoppedBy::Replaced, true),
            Some(_) => {
                return Err(ErrorInfo::new(Code::Busy, format!("the session \"{session}\" works on a run"))
                    .hint("wait for its end, interrupt it, or send with whenBusy"));
            }
            None => {}
        }
        Ok(())
    }

    fn begin_run(&mut self, core: &mut Core, id: u32, session: &str, run: &str, prompt: &Entry) {
        self.append(core, session, Some(run), prompt);
        self.accept(core, id, session, run);
    }

    /// Answers a command whose value is a run, and lets the run go on.
    fn accept(&mut self, core: &mut Core, id: u32, session: &str, run: &str) {
        let accepted = core.run(session, run).map(|run| accepted(&run.id, run.started_at));
        core.reply_value(id, &accepted.unwrap_or_default());
        self.advance(core, session);
    }

    /// A held run goes on; after a failed one, a new run does.
    fn resume(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        run: Option<&str>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let last = core.session(session).and_then(|session| session.runs.last());
        let can_go_on = |last: &&Run| last.ended.is_none() || last.has_failed();
        let Some(last) = last.filter(can_go_on).filter(|last| run.is_none_or(|run| run == last.id)) else {
            let error = ErrorInfo::new(Code::NothingToResume, "there is no held or failed run to go on with");
            return Err(error.hint("send a message instead"));
        };
        if !self.setup.config.answers(core.session(session).and_then(Session::provider)) {
            return Err(super::runner::not_configured());
        }
        let (mut run, held, has_ended) = (last.id.clone(), last.held, last.ended.is_some());
        let schema = last.prompt.output.as_ref().map(Output::record);
        self.may_prompt(core, session, "-", false)?;
        if has_ended {
            let failed = std::mem::replace(&mut run, ["run_", fresh].concat());
            self.continue_after(core, session, failed, fresh, schema);
        } else if held {
            self.append(core, session, Some(&run), &Entry::Resumed {});
        }
        self.accept(core, id, session, &run);
        Ok(())
    }

    /// A run begins that goes on with a failed one.
    pub(super) fn continue_after(
        &mut self,
        core: &mut Core,
        session: &str,
        failed: String,
        fresh: &str,
        schema: Option<Value>,
    ) {
        let entry = Entry::Prompt {
            message: ["msg_", fresh].concat(),
            text: String::new(),
            context: None,
            metadata: None,
            idempotency: None,
            continues: Some(failed),
            files: Vec::new(),
            schema,
            replaces: None,
        };
        self.append(core, session, Some(&["run_", fresh].concat()), &entry);
    }
}

impl Holding {
    /// Erases a conversation: first in the journal's word, then its content in the database. A door of the room `past`.
    #[inline(never)]
    pub(super) fn clear(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        command: u32,
        session: &str,
    ) {
        enter(Room::Past);
        runner.interrupt_session(core, session, StoppedBy::Cleared, true);
        let Some(sums) = core.session(session).map(|session| session.sums) else { return };
        runner.append(core, session, None, &Entry::Cleared { sums });
        core.answer_waiters(session);
        runner.advance(core, session);
        core.outbox.strictly();
        if let Some(slot) = core.sessions.get_mut(session) {
            slot.transcripts.clear();
        }
        if core.sessions.is_watched(session) {
            runner.calls.tell_history(core, session);
        }
        reads.read_after_commit(
            core,
            vec![Read::all(Table::Entries, vec![session.into()]), Read::all(Table::Files, Vec::new())],
            After::Erase { command, session: session.into() },
        );
    }

    /// A clearing is over. What it could not erase, the next start erases.
    pub(super) fn erased(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        command: u32,
        result: Result<Option<String>, ErrorInfo>,
    ) {
        core.reply(command, result);
        // The conversation of a harness that does not run was only borrowed.
        if core.lifecycle != Lifecycle::Running {
            self.give_back(core, runner);
        }
    }
}

impl Harness {
    /// Does what a command says in the session that it is about (empty: in none). An arm that is missing is found by
    /// `tests/host/protocol.rs`.
    #[expect(clippy::too_many_lines, reason = "the place of each command: an arm says who does it")]
    pub(super) fn dispatch(
        &mut self,
        id: u32,
        request: &Request,
        fresh: String,
        session: &str,
    ) -> Result<(), ErrorInfo> {
        let (command, args) = (request.command, request.args());
        if command.row().runs {
            self.core.must_run()?;
        }
        let rooms = command.row().rooms;
        if rooms.has(Room::More) {
            return self.dispatch_more(id, request, fresh, session);
        }
        if rooms.has(Room::Pages) {
            self.runner.pages.page_command(&mut self.core, id, request);
            return Ok(());
        }
        match command {
            Command::StartAgent => {
                self.holding.start_agent(&mut self.core, &mut self.runner, id, args.all(), None)?
            }
            Command::ConfigureAgent => self.configure_agent(id, args.all())?,
            Command::StandIn => {
                let config = args.get("config").cloned().unwrap_or_default();
                self.holding.start_agent(
                    &mut self.core,
                    &mut self.runner,
                    id,
                    &config,
                    Some(Over { epoch: args.whole("after") }),
                )?;
            }
            Command::LetGo => self.holding.step_back(
                &mut self.core,
                &mut self.runner,
                &mut self.reads,
                id,
                args.whole("epoch").unwrap_or_default(),
            ),
            Command::ClearConversation => {
                self.holding.clear(&mut self.core, &mut self.runner, &mut self.reads, id, session)
            }
            Command::StopAgent => self.holding.stop_agent(&mut self.core, &mut self.runner, id)?,
            Command::SendMessage => self.runner.send_message(&mut self.core, id, session, args, &fresh)?,
            Command::Interrupt => self.interrupt(id, session, args.text("runId"), args.whole("command")),
            Command::Resume => self.runner.resume(&mut self.core, id, session, args.text("runId"), &fresh)?,
            Command::History | Command::SessionsStatus => {
                if let Some(session) = self.session(session) {
                    let answer = self.runner.calls.read_of(&self.core, session, request)?;
                    self.core.reply_value(id, &answer);
                }
            }
            Command::Watch => {
                self.core.sessions.watch(session, String::new());
                self.runner.calls.tell_history(&mut self.core, session);
                self.core.reply(id, Ok(None));
            }
            Command::Wait | Command::Result => {
                let asked = self.core.awaited(request);
                self.core.wait(id, session, &asked)?;
            }
            Command::ToolsRegister => {
                let definition = Definition::parse(args.all())?;
                self.runner.setup.registry.register(definition, args.says("replace"))?;
                self.runner.setup.changed = true;
                self.runner.setup.tell_tools(&mut self.core);
                self.core.reply_now(id, Ok(None));
            }
            Command::ToolsUnregister => {
                let gone = self.runner.setup.registry.unregister(args.needed("name"));
                self.runner.setup.changed = true;
                self.runner.setup.tell_tools(&mut self.core);
                self.core.reply_now(id, Ok(Some(gone.to_string())));
            }
            Command::ToolsResolve => {
                let answer = args.get("answer").unwrap_or(&Value::Null);
                self.runner.resolve_call(&mut self.core, id, args.needed("toolCallId"), answer)?;
            }
            Command::ResolvePermission => {
                let (asked, answer) = (args.needed("requestId"), args.needed("answer"));
                self.runner.resolve_permission(&mut self.core, id, asked, answer, args.text("reason"))?;
            }
            Command::Settings => {
                let settings = self.runner.setup.config.public();
                self.core.reply_value(id, &settings);
            }
            Command::File => {
                self.core.outbox.act(super::Action::File { id, file: args.needed("fileId").into() });
            }
            Command::Persist => self.core.outbox.act(super::Action::Persist(id)),
            Command::Draft => {
                self.runner.calls.draft_at_once(&mut self.core);
                self.core.reply(id, Ok(None));
            }
            Command::Close => self.holding.close(&mut self.core, &mut self.runner, Some(id)),
            Command::SetOperator => {
                self.runner.set_operator(&mut self.core, args.get("operator"))?;
                self.core.reply(id, Ok(None));
            }
            Command::SessionsImport | Command::SessionsReplay => self.carry(id, request)?,
            Command::SessionsAdmit => self.holding.admit(&mut self.core, &mut self.runner, id)?,
            // The gate has these answered from rows.
            _ => return Err(no_session(session)),
        }
        Ok(())
    }

    /// The same for what a plain conversation does without: the door of the room `more`.
    #[inline(never)]
    fn dispatch_more(
        &mut self,
        id: u32,
        request: &Request,
        fresh: String,
        session: &str,
    ) -> Result<(), ErrorInfo> {
        enter(Room::More);
        let (command, args) = (request.command, request.args());
        match command {
            Command::Regenerate => self.runner.regenerate(&mut self.core, id, session, args, &fresh)?,
            Command::SessionsActivity | Command::SessionsOutput => {
                let folded = self.session(session).ok_or_else(|| no_session(session))?;
                let answer = json(&self.runner.calls.read_of(&self.core, folded, request)?);
                // It is as it is now, whether that is stored or not.
                self.core.reply_now(id, Ok(Some(answer)));
            }
            Command::QueueEdit => {
                self.runner.edit_queued(&mut self.core, id, args.needed("id"), args.needed("text"))?
            }
            Command::QueueRemove => self.runner.remove_queued(&mut self.core, id, args.needed("id"))?,
            Command::QueueRelease => self.runner.release_queue(&mut self.core, id, session)?,
            Command::ToolsExecute => {
                let given = args.get("args").cloned().unwrap_or_else(|| Object::new().done());
                let call = PageCall::new(id, args.needed("name"), given);
                self.runner.page_call(&mut self.core, call);
            }
            Command::Storage => self.core.outbox.act(super::Action::Storage(id)),
            Command::ToolsGrants => self.reads.list_sessions(&mut self.core, id, Listing::Grants),
            Command::ToolsRevoke => self.runner.revoke(&mut self.core, id, session, args.needed("tool")),
            Command::KeysSet => self.keys.set(&mut self.core, id, request)?,
            Command::KeysRemove => self.keys.remove(&mut self.core, id, request)?,
            Command::KeysList => self.keys.list(&mut self.core, id),
            Command::KeysValidate | Command::KeysModels => {
                let provider = config::provider(args.get("provider").unwrap_or(&Value::Null))?;
                self.keys.begin_trial(&mut self.core, id, command == Command::KeysModels, provider);
            }
            Command::SessionsLaunch => self.runner.launch(&mut self.core, id, args, &fresh)?,
            Command::SessionsPrompt => self.runner.prompt(&mut self.core, id, session, args, &fresh)?,
            Command::SessionsRunOnce => self.runner.run_once(&mut self.core, id, args, &fresh)?,
            Command::SessionsList => {
                let verified = args.says("withVerification");
                self.reads.list_sessions(
                    &mut self.core,
                    id,
                    if verified { Listing::Verified } else { Listing::Sessions },
                );
            }
            Command::SessionsStop
            | Command::SessionsRestart
            | Command::SessionsRename
            | Command::SessionsRecover
            | Command::SessionsRemove
            | Command::SessionsUndoRemove => {
                self.runner.change(&mut self.core, id, session, request, &fresh)?
            }
            Command::SessionsBench => {
                let benched = self.runner.bench(&mut self.core, session)?;
                self.core.reply_value(id, &benched);
            }
            Command::SessionsPlay => {
                self.runner.play(&mut self.core, session)?;
                let state = self.session(session).and_then(Session::state).unwrap_or_default();
                self.core.reply_value(id, &state);
            }
            Command::SessionsAttach => {
                self.core.attach(args.needed("id"), args.says("on"));
                self.core.reply_now(id, Ok(None));
            }
            _ => return Err(no_session(session)),
        }
        Ok(())
    }

    /// Changes the configuration of the agent that runs.
    fn configure_agent(&mut self, id: u32, patch: &Value) -> Result<(), ErrorInfo> {
        if let Some(name) = ["ifRunning", "resume"].iter().find(|name| patch.get(name).is_some()) {
            let error = ErrorInfo::new(Code::InvalidConfig, format!("{name} counts at the start only"));
            return Err(error.hint("give it to startAgent"));
        }
        let config = self.runner.setup.config.patched(patch)?;
        self.runner.setup.own_tools_fit(&config)?;
        if config.skills != self.runner.setup.config.skills {
            self.reads.give_to_account(&mut self.core, &config.skills, false);
        }
        self.runner.take_config(&mut self.core, config);
        self.core.reply(id, Ok(None));
        Ok(())
    }

    /// Interrupts the run that works in a session, or the one that is named, or drops a prompt that waits.
    fn interrupt(&mut self, id: u32, session: &str, run: Option<&str>, prompt: Option<u64>) {
        match run {
            Some(run) => self.runner.unqueue(&mut self.core, session, run),
            None => self.drop_prompts(session, prompt),
        }
        let is_meant = |current: &Run| run.is_none_or(|run| run == current.id);
        // A run that is named is meant, even if it is held.
        if prompt.is_none() && self.core.current(session).is_some_and(is_meant) {
            self.runner.interrupt_session(&mut self.core, session, StoppedBy::User, run.is_some());
        }
        self.core.reply(id, Ok(None));
    }
}

/// How many runs stand before the person's message with this id, which another takes the place of.
fn edited(session: &Session, message: &str) -> Result<usize, ErrorInfo> {
    let begun = session.place_of(message);
    let is_answer = session.answered_by(Some(message)).is_some();
    begun.filter(|_| !is_answer).ok_or_else(|| {
        let error = wrong_message(session, "replaces: ", message, is_answer.then_some("an answer"));
        error.hint(if is_answer {
            "regenerate makes an answer anew; to edit, name the message before it"
        } else {
            "name a message of the person that history() shows"
        })
    })
}

/// There is nothing to make anew.
fn no_answer(session: &Session, answer: Option<&str>) -> ErrorInfo {
    let Some(answer) = answer else {
        let error = ErrorInfo::new(Code::MessageNotFound, "there is no answer yet to make anew");
        return error.hint("send a message");
    };
    let is_prompt = session.place_of(answer).is_some();
    let error = wrong_message(session, "messageId: ", answer, is_prompt.then_some("a person's message"));
    error.hint("name an answer that history() shows; sendMessage with \"replaces\" edits a message")
}

/// A message that cannot be meant.
fn wrong_message(session: &Session, member: &str, message: &str, is: Option<&str>) -> ErrorInfo {
    let is = is.unwrap_or_else(|| match session::history_of_version(session, message, Some(0), None) {
        Some(_) => "no longer in the conversation: a newer version took its place",
        None => "no message of the conversation",
    });
    let id = shortened(message);
    ErrorInfo::new(Code::InvalidArguments, [member, "\"", id, "\" is ", is].concat())
}

fn no_message(id: Option<&str>) -> ErrorInfo {
    let id = shortened(id.unwrap_or_default());
    ErrorInfo::new(Code::MessageNotFound, format!("no message has the id \"{id}\""))
}
