//! Messages: what a person says becomes a run, waits for its turn, or is refused.
//!
//! Decides what is accepted, and what becomes of the run that is there: a held one ends, a failed one is gone on with, one
//! at work is not disturbed. Promises: the same idempotency key gives the same run. Leaves to others: messages that wait
//! (`queue`), files (`files`), and what a session's record says (`session/lifecycle`).

use crate::error::{Code, ErrorInfo};
use crate::harness::core::refused::no_session;
use crate::harness::core::{Core, DEFAULT_SESSION, tasks};
use crate::harness::runner::Runner;
use crate::harness::runner::files::has_files;
use crate::harness::runner::not_configured;
use crate::harness::runner::question::nothing_to_sum_up;
use crate::harness::runner::queue::{accepted, begun, when_busy};
use crate::journal::{Ask, Entry, Mode, Outcome, StoppedBy};
use crate::model::Block;
use crate::object::Object;
use crate::protocol::args::shortened;
use crate::protocol::{Command, Members, Request};
use crate::rooms::{Room, enter};
use crate::run::{Output, Run};
use crate::session;
use crate::session::compaction::Window;
use crate::session::lifecycle::{Then, policy_of};
use crate::session::{Queued, Session, overrides};
use serde_json::Value;

/// The key by which a message that is sent twice is known.
fn idempotency(core: &Core, args: Members<'_>) -> Option<String> {
    args.text("idempotencyKey").map(|key| core.secrets.scrubbed(key.into()))
}

/// The form in which an answer is wanted.
fn form(core: &Core, args: Members<'_>) -> Result<Option<Value>, ErrorInfo> {
    args.get("schema").map(|schema| Output::parse(schema, &core.sessions.engine)).transpose()
}

/// Whether a run was begun with this key already: then that is the answer.
fn answers_again(core: &mut Core, id: u32, session: &str, key: Option<&str>) -> Result<bool, ErrorInfo> {
    let folded = core.session(session).ok_or_else(|| no_session(session))?;
    let same = |run: &&Run| run.prompt.idempotency.as_deref() == key;
    let run = key.and_then(|_| folded.all_runs().find(same));
    let Some(accepted) = run.map(begun) else { return Ok(false) };
    core.reply_value(id, &accepted);
    Ok(true)
}

/// What a message with this idempotency key was answered, where it waits or has entered a run.
fn same_queued(core: &Core, session: &str, key: Option<&str>) -> Option<Value> {
    let folded = core.session(session)?;
    let waits = folded.queue().iter().find(|queued| key.is_some() && queued.idempotency() == key);
    if let Some(Queued { run, at, steers, .. }) = waits {
        let run = if *steers { core.current_id(session) } else { run.clone() };
        return Some(accepted(&run, *at));
    }
    let entered = |run: &Run| {
        let same = run.steered.iter().find(|steered| steered.prompt.idempotency.as_deref() == key)?;
        Some(accepted(&run.id, same.at))
    };
    key.and_then(|_| folded.all_runs().find_map(entered))
}

/// Whether the page vouches for what it adds to a message, and for its files.
///
/// # Errors
/// `invalid_arguments`
fn trusted(args: Members<'_>) -> Result<Option<bool>, ErrorInfo> {
    match args.get("trusted") {
        None => Ok(None),
        Some(Value::Bool(trusted)) => Ok(Some(*trusted)),
        Some(_) => {
            Err(ErrorInfo::new(Code::InvalidArguments, "sendMessage needs \"trusted\" to be true or false"))
        }
    }
}

/// What a run has that goes on with another: as that one had it.
#[derive(Default)]
pub(in crate::harness) struct Like {
    schema: Option<Value>,
    config: Option<Value>,
}

impl Like {
    /// As this run has it.
    pub fn of(run: &Run) -> Like {
        Like { schema: run.prompt.output.as_ref().map(Output::record), config: run.prompt.config.clone() }
    }
}

/// The entry of a run that goes on with another: nobody has said anything. `compacts`: as in the entry.
fn goes_on(fresh: &str, with: String, compacts: Option<Value>, Like { schema, config }: Like) -> Entry {
    Entry::Prompt {
        message: ["msg_", fresh].concat(),
        text: String::new(),
        context: None,
        trusted: None,
        metadata: None,
        idempotency: None,
        continues: Some(with),
        compacts,
        files: Vec::new(),
        schema,
        config,
        replaces: None,
    }
}

impl Runner {
    /// Accepts what a person says, with the arguments of `sendMessage`.
    pub(in crate::harness) fn send_message(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        args: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let waits = when_busy(args)?;
        let (text, replaces) = (args.needed("text"), args.text("replaces"));
        let idempotency = idempotency(core, args);
        let context = args.text("context");
        let keeps_files = replaces.is_some() && args.get("files").is_none();
        let has_files = has_files(args) || keeps_files;
        if text.trim().is_empty() && !has_files {
            return Err(empty());
        }
        let schema = form(core, args)?;
        if answers_again(core, id, session, idempotency.as_deref())? {
            return Ok(());
        }
        if let Some(accepted) = same_queued(core, session, idempotency.as_deref()) {
            core.reply_value(id, &accepted);
            return Ok(());
        }
        self.may_prompt(core, session, text, has_files)?;
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let (kept, old) = match replaces {
            Some(message) => edited(folded, message, keeps_files.then_some(text))?,
            None => (folded.runs.len(), None),
        };
        let waits = waits.filter(|_| core.is_busy(session));
        let config = match overrides::given(args.all()) {
            Some(config) => Some(self.own_config(core, folded, None, &config, waits)?),
            None => None,
        };
        let (files, trusts) = match old {
            Some(kept) => kept,
            None => (self.accepted_files(core, session, kept, (args.all(), config.as_ref()))?, false),
        };
        if waits.is_none() {
            self.make_room(core, session)?;
        }
        let entry = Entry::Prompt {
            message: ["msg_", fresh].concat(),
            text: core.secrets.scrubbed(text.into()),
            context: context.map(|context| core.secrets.scrubbed(context.into())),
            trusted: trusted(args)?.or((trusts && context.is_none()).then_some(true)),
            metadata: args.get("metadata").cloned().map(|metadata| core.secrets.scrubbed_value(metadata)),
            idempotency,
            continues: None,
            compacts: None,
            files,
            schema: schema.map(|schema| core.secrets.scrubbed_value(schema)),
            config,
            replaces: replaces.map(Into::into),
        };
        if let Entry::Prompt { files, .. } = &entry
            && !keeps_files
        {
            self.write_files(core, files);
        }
        match waits {
            Some(mode) => self.enqueue(core, id, session, fresh, mode, &entry),
            None => self.begin_run(core, id, session, &["run_", fresh].concat(), &entry),
        }
        Ok(())
    }

    /// What a message has otherwise, as it is recorded. `first`: what it had before. A door of the room `past`.
    ///
    /// # Errors
    /// `invalid_config`
    #[inline(never)]
    fn own_config(
        &self,
        core: &Core,
        session: &Session,
        first: Option<&Value>,
        config: &Value,
        waits: Option<Mode>,
    ) -> Result<Value, ErrorInfo> {
        enter(Room::Past);
        let config = overrides::over(first, config);
        self.setup.accepts(session.overrides_with(&config).as_ref())?;
        if waits == Some(Mode::Steer) {
            let message = "a message that enters a run goes by the model and the rest that the run has";
            let error = ErrorInfo::new(Code::InvalidConfig, message);
            return Err(error.hint("leave them out, or send it with whenBusy: \"queue\""));
        }
        Ok(core.secrets.scrubbed_value(config))
    }

    /// The message before an answer is answered anew: with what it was sent with, but for what is said otherwise now.
    pub(in crate::harness) fn regenerate(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        args: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let (answer, context) = (args.text("messageId"), args.text("context"));
        let idempotency = idempotency(core, args);
        let schema = form(core, args)?;
        if answers_again(core, id, session, idempotency.as_deref())? {
            return Ok(());
        }
        self.may_prompt(core, session, "-", false)?;
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let asked = folded.answered_by(answer).ok_or_else(|| no_answer(folded, answer))?;
        let (replaces, prompt) = (asked.answer_id(), asked.prompt.clone());
        let config = match overrides::given(args.all()) {
            Some(config) => Some(self.own_config(core, folded, prompt.config.as_ref(), &config, None)?),
            None => prompt.config,
        };
        self.make_room(core, session)?;
        let entry = Entry::Prompt {
            message: ["msg_", fresh].concat(),
            text: prompt.text,
            trusted: trusted(args)?.or(context.is_none().then_some(prompt.trusted)),
            context: context.map(|context| core.secrets.scrubbed(context.into())).or(prompt.context),
            metadata: match args.get("metadata") {
                Some(metadata) => Some(core.secrets.scrubbed_value(metadata.clone())),
                None => prompt.metadata,
            },
            idempotency,
            continues: None,
            compacts: None,
            files: prompt.files,
            schema: match schema {
                Some(schema) => Some(core.secrets.scrubbed_value(schema)),
                None => prompt.output.as_ref().map(Output::record),
            },
            config,
            replaces: Some(replaces),
        };
        self.begin_run(core, id, session, &["run_", fresh].concat(), &entry);
        Ok(())
    }

    /// A run begins that only has the conversation summed up.
    ///
    /// # Errors
    /// `busy`; `message_not_found`: nothing was said yet. A held run goes on being held then.
    pub(in crate::harness) fn compact_by_hand(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        args: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        self.may_prompt(core, session, "-", false)?;
        is_idle(core, session)?;
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let has_answers = Window::of(&folded.runs).has_answers(&folded.runs);
        let Some(last) = folded.runs.last().filter(|_| has_answers).map(|last| last.id.clone()) else {
            return Err(nothing_to_sum_up());
        };
        self.make_room(core, session)?;
        let instructions = args.text("instructions").map(|text| core.secrets.scrubbed(text.into()));
        let compacts = Object::new().maybe_text("instructions", instructions.as_deref()).done();
        let entry = goes_on(fresh, last, Some(compacts), Like::default());
        self.begin_run(core, id, session, &["run_", fresh].concat(), &entry);
        Ok(())
    }

    /// A held run ends where another message comes.
    pub(in crate::harness) fn make_room(&mut self, core: &mut Core, session: &str) -> Result<(), ErrorInfo> {
        is_idle(core, session)?;
        if core.current(session).is_some() {
            self.interrupt_session(core, session, StoppedBy::Replaced, true);
        }
        Ok(())
    }

    /// An older version of a message is the conversation again.
    ///
    /// # Errors
    /// `busy`, `message_not_found`
    pub(in crate::harness) fn switch_to(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        message: &str,
    ) -> Result<(), ErrorInfo> {
        self.may_prompt(core, session, "-", false)?;
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        if session::history_of_version(folded, message, Some(0), None).is_none() {
            let error = ErrorInfo::new(Code::MessageNotFound, "the session has no such message");
            return Err(error.hint("name one of the versions that history() shows of a message"));
        }
        if !folded.shows(message) {
            self.make_room(core, session)?;
            self.append(core, session, None, &Entry::Switched { message: message.into() });
            self.advance(core, session);
            self.tell_other_conversation(core, session);
        }
        core.reply(id, Ok(None));
        Ok(())
    }

    /// Other messages are the conversation: they are what is sent, and shown.
    pub(in crate::harness) fn tell_other_conversation(&mut self, core: &mut Core, session: &str) {
        if let Some(slot) = core.sessions.get_mut(session) {
            slot.transcripts.clear();
        }
        if core.sessions.is_watched(session) {
            core.outbox.tell_after_commit(self.calls.history_notice(core, session));
        }
    }

    fn begin_run(&mut self, core: &mut Core, id: u32, session: &str, run: &str, prompt: &Entry) {
        self.append(core, session, Some(run), prompt);
        self.accept(core, id, session, run);
    }

    /// Answers a command whose value is a run, and lets the run go on.
    fn accept(&mut self, core: &mut Core, id: u32, session: &str, run: &str) {
        let accepted = core.run(session, run).map(begun);
        core.reply_value(id, &accepted.unwrap_or_default());
        self.advance(core, session);
    }

    /// A held run goes on; after one that has failed or was interrupted, a new run does.
    pub(in crate::harness) fn resume(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        run: Option<&str>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let answers = |run: &&Run| run.ended.is_none() || run.prompt.compacts.is_none();
        let last = core.session(session).and_then(|session| session.runs.iter().rfind(answers));
        let can_go_on = |last: &&Run| last.ended.as_ref().is_none_or(|end| end.outcome != Outcome::Completed);
        let Some(last) = last.filter(can_go_on).filter(|last| run.is_none_or(|run| run == last.id)) else {
            let error = ErrorInfo::new(Code::NothingToResume, "there is no held, failed or interrupted run");
            return Err(error.hint("send a message instead"));
        };
        let provider = core.session(session).and_then(|session| session.provider_of(&last.prompt));
        if !self.setup.config.answers(provider) {
            return Err(not_configured());
        }
        let (mut run, held, has_ended) = (last.id.clone(), last.held, last.ended.is_some());
        let like = Like::of(last);
        self.may_prompt(core, session, "-", false)?;
        if has_ended {
            let ended = std::mem::replace(&mut run, ["run_", fresh].concat());
            self.continue_after(core, session, ended, fresh, like);
        } else if held {
            self.append(core, session, Some(&run), &Entry::Resumed {});
        }
        self.accept(core, id, session, &run);
        Ok(())
    }

    /// A run begins that goes on with one that has ended early.
    pub(in crate::harness) fn continue_after(
        &mut self,
        core: &mut Core,
        session: &str,
        ended: String,
        fresh: &str,
        like: Like,
    ) {
        let entry = goes_on(fresh, ended, None, like);
        self.append(core, session, Some(&["run_", fresh].concat()), &entry);
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
        self.tend(core, session, false);
        self.asked_to_prompt(core, Command::SendMessage, session, text, files).map(drop)
    }

    /// What would come of a prompt.
    fn asked_to_prompt(
        &self,
        core: &Core,
        command: Command,
        session: &str,
        text: &str,
        files: bool,
    ) -> Result<Then, ErrorInfo> {
        // An exit word is one in `sessions.prompt` only: anything stands for it elsewhere.
        let text = if command == Command::SessionsPrompt || text.trim().is_empty() { text } else { "-" };
        let mut args = core.as_operator()?;
        args.text("text", text).flag("files", files);
        let folded = core.session(session).ok_or_else(|| no_session(session))?;
        let outcome = folded.ask(Ask::Prompt, &args.done(), core.now);
        if let (Then::Wait, Some(provider)) = (&outcome.then, folded.provider()) {
            self.setup.config.must_have(provider)?;
        }
        outcome.refused.map_or(Ok(outcome.then), Err)
    }

    /// One task without a session: it has one that no list shows, and that is let go when it is over.
    pub(in crate::harness) fn run_once(
        &mut self,
        core: &mut Core,
        command: u32,
        given: Members<'_>,
        fresh: &str,
    ) -> Result<(), ErrorInfo> {
        let session = tasks::session_of(fresh);
        let mut args = core.as_operator()?;
        args.text("policy", &policy_of(&session));
        args.text("providerId", &self.setup.provider_name()).text("projectId", &core.options.name);
        let config = self.setup.config_with(overrides::said(overrides::given(given.all())).as_ref())?;
        args.maybe_text("modelId", config.model_id(given.text("provider")));
        core.sessions.take(Session::with(&session, &core.sessions.engine));
        args.flag("once", true);
        if given.get("keep") == Some(&Value::Bool(false)) {
            args.flag("passes", true);
        }
        self.ask_session(core, &session, Ask::Launch, &args.done())?;
        self.record_start(core, &session);
        let sent = self.send_message(core, command, &session, given, fresh);
        if sent.is_err() {
            self.ask_session(core, &session, Ask::Remove, &core.as_operator()?.done())?;
        }
        sent
    }

    /// Whether this command is a prompt for a session that still waits for its provider's key: then it waits with it.
    pub(in crate::harness) fn waits_for_a_key(&self, core: &Core, request: &Request) -> bool {
        // Nothing was said yet that could be answered anew.
        let prompts = request.command != Command::Regenerate;
        let Some(session) = prompted(request).filter(|_| prompts) else { return false };
        // What would be refused is refused at once: this operator's rights count, not those of an operator that works
        // here when the key comes.
        let asked = |args: Members<'_>| {
            let text = args.text("text").unwrap_or_default();
            self.asked_to_prompt(core, request.command, session, text, has_files(args))
        };
        core.is_starting(session)
            && core.removed_at(session).is_none()
            && asked(request.args()).is_ok_and(|then| then == Then::Wait)
    }
}

/// No run of the session is at work. A held one is not: a new one takes its place.
///
/// # Errors
/// `busy`
fn is_idle(core: &Core, session: &str) -> Result<(), ErrorInfo> {
    let Some(run) = core.current(session).filter(|run| !run.held) else {
        return Ok(());
    };
    let (does, way) = match run.waiting() {
        true => ("waits for an answer to a tool call", "answer it"),
        false => ("works on a run", "wait for its end"),
    };
    Err(ErrorInfo::new(Code::Busy, format!("the session \"{session}\" {does}"))
        .hint([way, ", interrupt it, or send with whenBusy"].concat()))
}

/// There is nothing to send.
fn empty() -> ErrorInfo {
    ErrorInfo::new(Code::EmptyMessage, "the message is empty").hint("send a text")
}

/// The files that a message keeps which takes the place of another, and whether the page vouches for them.
type Kept = (Vec<Block>, bool);

/// How many runs stand before the person's message with this id, which another takes the place of. With its files, which the
/// other keeps that says `text`: `None`: it has its own. A door of the room `past`.
#[inline(never)]
fn edited(session: &Session, message: &str, text: Option<&str>) -> Result<(usize, Option<Kept>), ErrorInfo> {
    enter(Room::Past);
    let begun = session.place_of(message).and_then(|at| Some((at, session.runs.get(at)?)));
    let is_answer = session.answered_by(Some(message)).is_some();
    let Some((at, old)) = begun.filter(|_| !is_answer) else {
        let error = wrong_message(session, "replaces: ", message, is_answer.then_some("an answer"));
        return Err(error.hint(if is_answer {
            "regenerate makes an answer anew; to edit, name the message before it"
        } else {
            "name a message of the person that history() shows"
        }));
    };
    if text.is_some_and(|text| text.trim().is_empty()) && old.prompt.files.is_empty() {
        return Err(empty());
    }
    Ok((at, text.map(|_| (old.prompt.files.clone(), old.prompt.trusted))))
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

/// Which session a command is a prompt for.
pub(in crate::harness) fn prompted(request: &Request) -> Option<&str> {
    let member = match request.command {
        Command::SendMessage | Command::Regenerate => "sessionId",
        Command::SessionsPrompt => "id",
        _ => return None,
    };
    Some(request.args().text(member).unwrap_or(DEFAULT_SESSION))
}
