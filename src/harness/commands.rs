//! What the page can ask for.

use super::args::Args;
use super::config::shortened;
use super::events::{run_result, wait_result};
use super::page_calls::{PageCall, Stage};
use super::{After, DEFAULT_SESSION, Harness, Lifecycle, Waiter, permission, start};
use crate::error::{Code, ErrorInfo};
use crate::journal::Entry;
use crate::json::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Read, Rows, Table};
use crate::run::{Outcome, Output, Run};
use crate::session::{self, Session};
use crate::tools::Definition;
use serde_json::Value;

/// How long `wait` waits where nobody says, in milliseconds.
const WAIT_MS: u64 = 30_000;

/// A look at a journal that this harness does not hold.
#[derive(Debug)]
pub(super) struct Look {
    pub command: u32,
    what: LookFor,
}

#[derive(Debug)]
enum LookFor {
    History { limit: Option<usize>, before: Option<String> },
    Grants,
    Watch(String),
    Run { id: String, until: Option<u64> },
    Clear(String),
}

impl Harness {
    pub(super) fn command(&mut self, id: u32, name: &str, args: &Value, fresh: String) {
        if self.closing.is_some() {
            return self.reply_now(id, Err(closed()));
        }
        if let Err(error) = self.dispatch(id, name, args, fresh) {
            self.reply_now(id, Err(error));
        }
    }

    fn dispatch(&mut self, id: u32, name: &str, value: &Value, fresh: String) -> Result<(), ErrorInfo> {
        let none = |members: &[&str]| Args::new(name, value, members);
        match name {
            "startAgent" => self.start_agent(id, value)?,
            "configureAgent" => {
                self.must_run()?;
                if let Some(name) = ["ifRunning", "resume"].iter().find(|name| value.get(name).is_some()) {
                    let error =
                        ErrorInfo::new(Code::InvalidConfig, format!("{name} counts at the start only"));
                    return Err(error.hint("give it to startAgent"));
                }
                let config = self.config.patched(value)?;
                self.own_tools_fit(&config)?;
                if config.skills != self.config.skills {
                    self.give_to_account(&config.skills, false);
                }
                self.take_config(config);
                self.reply(id, Ok(None));
            }
            "stopAgent" => {
                none(&[])?;
                self.stop_agent(id)?;
            }
            "sendMessage" => self.send_message(id, value, &fresh)?,
            "interrupt" => {
                let args = none(&["sessionId", "runId"])?;
                let session = session_id(&args)?;
                let run = args.text("runId")?;
                // A run that is named is meant, even if it is held.
                if self.current(session).is_some_and(|current| run.is_none_or(|run| run == current.id)) {
                    self.interrupt_session(session, "user", run.is_some());
                }
                self.reply(id, Ok(None));
            }
            "resume" => {
                let args = none(&["runId"])?;
                self.resume(id, args.text("runId")?, &fresh)?;
            }
            "history" => {
                let args = none(&["sessionId", "limit", "before"])?;
                session_id(&args)?;
                let limit = args.whole("limit")?.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
                let before = args.text("before")?;
                if self.session(DEFAULT_SESSION).is_some() {
                    let history =
                        self.history(DEFAULT_SESSION, limit, before).ok_or_else(|| no_message(before))?;
                    self.reply_value(id, &Value::from(history));
                } else {
                    let what = LookFor::History { limit, before: before.map(Into::into) };
                    self.look_at(Look { command: id, what });
                }
            }
            "watch" => {
                let args = none(&["sessionId"])?;
                let session = session_id(&args)?;
                self.watched.insert(session, String::new());
                if self.session(session).is_some() {
                    self.tell_history(session);
                    self.reply(id, Ok(None));
                } else {
                    self.look_at(Look { command: id, what: LookFor::Watch(session.into()) });
                }
            }
            "clearConversation" => {
                let args = none(&["sessionId"])?;
                let session = session_id(&args)?.to_owned();
                match self.lifecycle {
                    Lifecycle::Running => self.clear(id, &session),
                    _ => self.look_at(Look { command: id, what: LookFor::Clear(session) }),
                }
            }
            "wait" => {
                let args = none(&["runId", "timeoutMs"])?;
                let until = self.now.saturating_add(args.whole("timeoutMs")?.unwrap_or(WAIT_MS));
                self.wait(id, args.needed("runId")?, Some(until))?;
            }
            "result" => {
                let args = none(&["runId"])?;
                self.wait(id, args.needed("runId")?, None)?;
            }
            "tools.register" => {
                let replace = value.get("replace") == Some(&Value::Bool(true));
                self.registry.register(Definition::parse(value)?, replace)?;
                self.changed = true;
                self.tell_tools();
                self.reply_now(id, Ok(None));
            }
            "tools.unregister" => {
                let args = none(&["name"])?;
                let gone = self.registry.unregister(args.needed("name")?);
                self.changed = true;
                self.tell_tools();
                self.reply_now(id, Ok(Some(gone.to_string())));
            }
            "tools.execute" => {
                let args = none(&["name", "args"])?;
                let given = args.get("args").filter(|args| !args.is_null()).cloned();
                let given = given.unwrap_or_else(|| Object::new().done());
                let call = PageCall { command: id, tool: args.needed("name")?.into(), args: given };
                self.page_call(call, Stage::Asked);
            }
            "tools.resolve" => {
                let args = none(&["toolCallId", "answer"])?;
                let answer = args.get("answer").unwrap_or(&Value::Null);
                self.resolve_call(id, args.needed("toolCallId")?, answer)?;
            }
            "tools.grants" => {
                none(&[])?;
                if self.session(DEFAULT_SESSION).is_some() {
                    let grants = self.grants();
                    self.reply_value(id, &grants);
                } else {
                    self.look_at(Look { command: id, what: LookFor::Grants });
                }
            }
            "tools.revoke" => {
                let args = none(&["tool", "sessionId"])?;
                session_id(&args)?;
                self.revoke(id, args.needed("tool")?)?;
            }
            "resolvePermission" => {
                let args = none(&["requestId", "answer", "reason"])?;
                let (request, answer) = (args.needed("requestId")?, args.needed("answer")?);
                self.resolve_permission(id, request, answer, args.text("reason")?)?;
            }
            "settings" => {
                none(&[])?;
                let settings = self.config.public();
                self.reply_value(id, &settings);
            }
            "file" => {
                let file = none(&["fileId"])?.needed("fileId")?.into();
                self.outbox.act(super::Action::File { id, file });
            }
            "storage" => self.outbox.act(super::Action::Storage(id)),
            "persist" => self.outbox.act(super::Action::Persist(id)),
            "draft" => {
                self.draft_at_once();
                self.reply(id, Ok(None));
            }
            "close" => self.close(Some(id)),
            "keys.set" | "keys.remove" | "keys.list" | "keys.validate" | "keys.models" => {
                self.key_command(id, name, value)?;
            }
            _ => match name.strip_prefix("pages.") {
                Some(page_command) => self.page_command(id, page_command, value)?,
                None => {
                    let name = shortened(name);
                    return Err(ErrorInfo::new(
                        Code::UnknownCommand,
                        format!("no command is called \"{name}\""),
                    ));
                }
            },
        }
        Ok(())
    }

    pub(super) fn must_run(&self) -> Result<(), ErrorInfo> {
        match self.lifecycle {
            Lifecycle::Running => Ok(()),
            _ => Err(ErrorInfo::new(Code::NotRunning, "Agent harness is not running")
                .hint("call startAgent first")),
        }
    }

    fn send_message(&mut self, id: u32, value: &Value, fresh: &str) -> Result<(), ErrorInfo> {
        let members = ["text", "files", "metadata", "context", "sessionId", "idempotencyKey", "schema"];
        // What is not known here is an option of the page, or of a later version.
        let args = Args::new("sendMessage", value, &members).map_err(|mut error| {
            error.code = Code::InvalidConfig;
            error
        })?;
        let session = session_id(&args)?;
        let text = args.needed("text")?;
        self.must_run()?;
        let key = args.text("idempotencyKey")?.map(|key| self.scrubbed(key.into()));
        let (idempotency, context) = (key.as_deref(), args.text("context")?);
        let has_files = value.get("files").and_then(Value::as_array).is_some_and(|files| !files.is_empty());
        if text.trim().is_empty() && !has_files {
            return Err(ErrorInfo::new(Code::EmptyMessage, "the message is empty").hint("send a text"));
        }
        let schema = args.get("schema").map(|schema| Output::parse(schema, &self.engine)).transpose()?;
        let Some(slot) = self.sessions.get(session) else { return Err(no_session(session)) };
        let same = |run: &&Run| idempotency.is_some() && run.prompt.idempotency.as_deref() == idempotency;
        if let Some(run) = slot.session.runs.iter().rev().find(same) {
            let accepted = accepted(run);
            self.reply_value(id, &accepted);
            return Ok(());
        }
        let files = self.accepted_files(session, value)?;
        match slot.session.current() {
            Some(run) if run.held => self.interrupt_session(session, "replaced", true),
            Some(_) => {
                return Err(ErrorInfo::new(Code::Busy, format!("the session \"{session}\" works on a run"))
                    .hint("wait for its end, or interrupt it"));
            }
            None => {}
        }
        let run = ["run_", fresh].concat();
        let entry = Entry::Prompt {
            message: ["msg_", fresh].concat(),
            text: self.scrubbed(text.into()),
            context: context.map(|context| self.scrubbed(context.into())),
            metadata: args.get("metadata").cloned().map(|metadata| self.scrubbed_value(metadata)),
            idempotency: idempotency.map(Into::into),
            continues: None,
            files,
            schema: schema.map(|schema| self.scrubbed_value(schema)),
        };
        if let Entry::Prompt { files, .. } = &entry {
            self.write_files(files);
        }
        self.append(session, Some(&run), &entry);
        self.accept(id, session, &run);
        Ok(())
    }

    /// Answers a command whose value is a run, and lets the run go on.
    fn accept(&mut self, id: u32, session: &str, run: &str) {
        let accepted = self.run(session, run).map(accepted);
        self.reply_value(id, &accepted.unwrap_or_default());
        self.advance(session);
    }

    /// A held run goes on; after a failed one, a new run does.
    fn resume(&mut self, id: u32, run: Option<&str>, fresh: &str) -> Result<(), ErrorInfo> {
        self.must_run()?;
        let last = self.session(DEFAULT_SESSION).and_then(|session| session.runs.last());
        let failed = |run: &Run| run.ended.as_ref().is_some_and(|ended| ended.outcome == Outcome::Failed);
        let can_go_on = |last: &&Run| last.ended.is_none() || failed(last);
        let Some(last) = last.filter(can_go_on).filter(|last| run.is_none_or(|run| run == last.id)) else {
            let error = ErrorInfo::new(Code::NothingToResume, "there is no held or failed run to go on with");
            return Err(error.hint("send a message instead"));
        };
        if !self.config.answers() {
            return Err(super::runs::not_configured());
        }
        let (mut run, held, has_ended) = (last.id.clone(), last.held, last.ended.is_some());
        let schema = last.prompt.output.as_ref().map(Output::record);
        if has_ended {
            let entry = Entry::Prompt {
                message: ["msg_", fresh].concat(),
                text: String::new(),
                context: None,
                metadata: None,
                idempotency: None,
                continues: Some(std::mem::replace(&mut run, ["run_", fresh].concat())),
                files: Vec::new(),
                schema,
            };
            self.append(DEFAULT_SESSION, Some(&run), &entry);
        } else if held {
            self.append(DEFAULT_SESSION, Some(&run), &Entry::Resumed {});
        }
        self.accept(id, DEFAULT_SESSION, &run);
        Ok(())
    }

    fn wait(&mut self, id: u32, run: &str, until: Option<u64>) -> Result<(), ErrorInfo> {
        if self.session(DEFAULT_SESSION).is_none() {
            self.look_at(Look { command: id, what: LookFor::Run { id: run.into(), until } });
            return Ok(());
        }
        let answer =
            self.session(DEFAULT_SESSION).and_then(|session| answer_of(session, run, until.is_none()));
        match answer {
            Some(Some(value)) => self.reply_value(id, &value),
            Some(None) => self.waiters.push(Waiter { command: id, run: run.into(), until }),
            None => return Err(no_run(run)),
        }
        Ok(())
    }

    /// Answers those who waited since before this start for runs that have ended meanwhile.
    pub(super) fn answer_waiters(&mut self) {
        let Some(session) = self.sessions.get(DEFAULT_SESSION).map(|slot| &slot.session) else { return };
        let ended =
            |waiter: &mut Waiter| session.run_times(&waiter.run).is_some_and(|(_, ended)| ended.is_some());
        let waiters: Vec<Waiter> = self.waiters.extract_if(.., ended).list();
        for Waiter { command, run, until } in waiters {
            if let Err(error) = self.wait(command, &run, until) {
                self.reply_now(command, Err(error));
            }
        }
    }

    fn look_at(&mut self, look: Look) {
        let of = |table: Table| Read::all(table, vec![DEFAULT_SESSION.into()]);
        self.read(vec![of(Table::Entries), of(Table::Drafts)], After::Look(look));
    }

    pub(super) fn look(&mut self, look: Look, rows: &[Rows]) {
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        let mut session =
            match Session::load(DEFAULT_SESSION, &self.engine, part(0).iter().map(|(_, text)| text.as_str()))
            {
                Ok(session) => session,
                Err(error) => return self.reply_now(look.command, Err(error)),
            };
        // What a lost page left reads as it will once the agent is started; here it is only looked at.
        if let Some(run) = session.current().filter(|run| run.working()).map(|run| run.id.clone()) {
            let blocks = start::from_drafts(&run, part(1));
            if let Err(error) = session.append(self.now, Some(&run), &Entry::Lost { blocks }) {
                return self.reply_now(look.command, Err(error));
            }
        }
        match look.what {
            LookFor::History { limit, before } => {
                let history = session::history(&session, limit, before.as_deref());
                let result = history.ok_or_else(|| no_message(before.as_deref()));
                self.reply_now(look.command, result.map(|history| Some(json(&Value::from(history)))));
            }
            LookFor::Grants => {
                let grants = permission::grants_of(&session);
                self.reply_now(look.command, Ok(Some(json(&grants.into()))));
            }
            LookFor::Watch(id) => {
                // A start may have come first, and told more than this.
                if self.session(&id).is_none() {
                    let history = session::history(&session, None, None).unwrap_or_default();
                    let notice = super::Notice::History(id.clone(), json(&Value::from(history)));
                    self.outbox.tell(super::Action::Tell(notice));
                    self.watched.insert(&id, String::new());
                }
                self.reply_now(look.command, Ok(None));
            }
            // A start may have come first, and know more than this.
            LookFor::Run { id, until } if self.session(DEFAULT_SESSION).is_some() => {
                if let Err(error) = self.wait(look.command, &id, until) {
                    self.reply_now(look.command, Err(error));
                }
            }
            LookFor::Run { id, until } => match answer_of(&session, &id, until.is_none()) {
                Some(Some(value)) => self.reply_now(look.command, Ok(Some(json(&value)))),
                Some(None) => self.waiters.push(Waiter { command: look.command, run: id, until }),
                None => self.reply_now(look.command, Err(no_run(&id))),
            },
            LookFor::Clear(_)
                if session.runs.is_empty()
                    && rows.iter().all(|rows| start::erasures(DEFAULT_SESSION, rows).is_empty()) =>
            {
                self.reply_now(look.command, Ok(None));
            }
            LookFor::Clear(id) => {
                if self.lifecycle == Lifecycle::Running {
                    return self.clear(look.command, &id);
                }
                if self.start.is_some() {
                    // The agent was started meanwhile: it is cleared then.
                    let args = Object::new().text("sessionId", &id).done();
                    let (id, name) = (look.command, "clearConversation".into());
                    let again = super::Input::Command { id, name, args, fresh: String::new() };
                    return self.deferred.push((self.now, again));
                }
                self.begin(start::Purpose::Clear { command: look.command, session: id });
            }
        }
    }

    /// Erases a conversation: first in the journal's word, then its content in the database.
    pub(super) fn clear(&mut self, command: u32, session: &str) {
        self.interrupt_session(session, "cleared", true);
        let Some(sums) = self.session(session).map(|session| session.sums) else { return };
        self.append(session, None, &Entry::Cleared { sums });
        self.outbox.strictly();
        if let Some(slot) = self.sessions.get_mut(session) {
            slot.transcripts.clear();
        }
        if self.watched.contains_key(session) {
            self.tell_history(session);
        }
        self.read_after_commit(
            vec![Read::all(Table::Entries, vec![session.into()]), Read::all(Table::Files, Vec::new())],
            After::Erase { command, session: session.into() },
        );
    }

    /// A clearing is over. What it could not erase, the next start erases.
    pub(super) fn erased(&mut self, command: u32, result: Result<Option<String>, ErrorInfo>) {
        self.reply(command, result);
        // The conversation of a harness that does not run was only borrowed.
        if self.lifecycle != Lifecycle::Running {
            self.release();
            self.outbox.tell_after_commit(super::Action::Unlock { epoch: self.epoch });
        }
    }

    fn read_after_commit(&mut self, reads: Vec<Read>, after: After) {
        self.read_ids += 1;
        self.reads.insert(self.read_ids, after);
        self.outbox.act_after_commit(super::Action::Read { id: self.read_ids, reads });
    }
}

/// Whether a command stops what was given before it, whichever that is. Whoever still reads the files of a message gives
/// that one up: it would begin after the interrupt that was meant for it.
pub fn interrupts(name: &str, args: &Value) -> bool {
    let members: &[&str] = match name {
        "interrupt" => &["sessionId", "runId"],
        "clearConversation" => &["sessionId"],
        "stopAgent" | "close" => &[],
        _ => return false,
    };
    // One that is refused stops nothing, and a run that is named is another.
    Args::new(name, args, members).is_ok_and(|args| session_id(&args).is_ok() && args.get("runId").is_none())
}

pub(super) fn closed() -> ErrorInfo {
    ErrorInfo::new(Code::WorkspaceClosed, "the workspace is closed").hint("open it again with openWorkspace")
}

/// What `wait` or `result` answers for a run. `None`: there is no such run; `Some(None)`: it has not ended.
fn answer_of(session: &Session, run: &str, whole: bool) -> Option<Option<Value>> {
    let (started_at, ended) = session.run_times(run)?;
    Some(ended.map(|ended| {
        match session.run(run) {
            Some(run) if whole => run_result(run),
            _ if whole => Object::new()
                .text("runId", run)
                .text("outcome", ended.outcome.as_str())
                .text("text", "")
                .number("turns", 0)
                .done(),
            folded => wait_result(run, started_at, ended, folded.and_then(Run::value)),
        }
    }))
}

fn accepted(run: &Run) -> Value {
    Object::new()
        .text("runId", &run.id)
        .text("status", "accepted")
        .number("acceptedAt", run.started_at)
        .done()
}

/// The session that is meant: until there are more, `default`.
fn session_id<'a>(args: &Args<'a>) -> Result<&'a str, ErrorInfo> {
    match args.text("sessionId")? {
        None | Some(DEFAULT_SESSION) => Ok(DEFAULT_SESSION),
        Some(other) => Err(no_session(other)),
    }
}

fn no_session(id: &str) -> ErrorInfo {
    let id = shortened(id);
    ErrorInfo::new(Code::SessionNotFound, format!("no session is called \"{id}\""))
        .hint("leave sessionId out")
}

fn no_run(id: &str) -> ErrorInfo {
    let id = shortened(id);
    ErrorInfo::new(Code::RunNotFound, format!("no run has the id \"{id}\""))
}

fn no_message(id: Option<&str>) -> ErrorInfo {
    let id = shortened(id.unwrap_or_default());
    ErrorInfo::new(Code::MessageNotFound, format!("no message has the id \"{id}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_interrupts_is_what_names_no_run_and_is_not_refused() {
        for name in ["interrupt", "stopAgent", "clearConversation", "close"] {
            assert!(interrupts(name, &json!({})) && interrupts(name, &Value::Null), "{name}");
            assert!(!interrupts(name, &json!({ "sesionId": "default" })), "{name}");
        }
        assert!(interrupts("interrupt", &json!({ "sessionId": "default", "runId": null })));
        assert!(!interrupts("interrupt", &json!({ "runId": "run_1" })));
        assert!(!interrupts("interrupt", &json!({ "sessionId": "other" })));
        assert!(!interrupts("sendMessage", &json!({})));
    }
}
