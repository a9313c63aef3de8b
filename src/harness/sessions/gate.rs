//! Which session a command is about, and who may give it.
//!
//! Decides, before any command on a session is carried out: whether there is an operator, and whether the session is
//! theirs; whether the journal is at hand, has to be read first, or the workspace has to be borrowed for one write.
//! Promises: every command passes here, by whichever method or tab it came. Leaves to others: reading a session for a
//! command (`look.rs`), taking it (`take.rs`), what the command does (`commands.rs` here and in `harness/`), what a
//! session's record says (`session/`).

use super::waiting::{Waiting, by_rows};
use crate::error::ErrorInfo;
use crate::harness::args::Args;
use crate::harness::commands::no_session;
use crate::harness::core::Core;
use crate::harness::runs::Runner;
use crate::harness::slots::AtHand;
use crate::harness::{By, DEFAULT_SESSION, Harness, Lifecycle};
use crate::journal::redact;
use crate::object::Object;
use crate::session::Session;
use crate::session::operator::{self, Action, Operator};
use serde_json::Value;

/// How the id of a run begins.
const RUN: &str = "run_";

/// What a command needs of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
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

/// Which session or run a command is about, and what it needs of it. `None`: it is about none.
fn subject<'a>(name: &'a str, args: &'a Value) -> Result<Option<(Subject<'a>, Need)>, ErrorInfo> {
    let args = Args::of(name, args);
    let session =
        |need| Ok(Some((Subject::Session(args.text("sessionId")?.unwrap_or(DEFAULT_SESSION)), need)));
    let run = |need| {
        let subject = match (args.text("sessionId")?, args.text("runId")?) {
            (None, Some(run)) => Subject::Run(run),
            (session, _) => Subject::Session(session.unwrap_or(DEFAULT_SESSION)),
        };
        Ok(Some((subject, need)))
    };
    match name {
        "history" | "watch" => session(Need::Read),
        "sendMessage" | "regenerate" | "tools.revoke" | "interrupt" | "queue.release" => session(Need::Work),
        "queue.edit" | "queue.remove" => Ok(Some((Subject::Run(args.needed("id")?), Need::Work))),
        "clearConversation" => session(Need::Write),
        "resume" => run(Need::Work),
        "wait" | "result" => run(Need::Read),
        "sessions.activity" | "sessions.output" => {
            let id = args.needed("id")?;
            // What begins so is a run, unless a session at hand is called so.
            let run = id.starts_with(RUN);
            Ok(Some((if run { Subject::Run(id) } else { Subject::Session(id) }, Need::Read)))
        }
        "sessions.task" | "sessions.left" => Ok(Some((Subject::Run(args.needed("id")?), Need::Read))),
        _ => {
            let need = match name.strip_prefix("sessions.") {
                Some("status" | "journal" | "events" | "receipts" | "handoffs" | "export") => Need::Read,
                // What goes on needs somebody who goes on with it.
                Some("recover") if args.get("action").and_then(Value::as_str) == Some("reconnect") => {
                    Need::Work
                }
                Some(
                    "stop" | "bench" | "play" | "rename" | "fork" | "remove" | "undoRemove" | "restart"
                    | "recover",
                ) => Need::Write,
                Some("prompt") => Need::Work,
                _ => return Ok(None),
            };
            Ok(Some((Subject::Session(args.needed("id")?), need)))
        }
    }
}

/// What a command that waits needs of its session.
pub(super) fn need_of(waiting: &Waiting) -> Result<Need, ErrorInfo> {
    Ok(subject(&waiting.name, &waiting.args)?.map_or(Need::Read, |(_, need)| need))
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

impl Core {
    /// Who works here now.
    ///
    /// # Errors
    /// `operator_required`
    pub(in crate::harness) fn present_operator(&self) -> Result<&Operator, ErrorInfo> {
        operator::may(self.operator(), Action::Read, None, self.now)?;
        self.operator().ok_or_else(|| no_session(""))
    }

    /// Who has given the command that is carried out now; else who works on this page.
    pub(in crate::harness) fn operator(&self) -> Option<&Operator> {
        match &self.by {
            By::Here => self.options.operator.as_ref(),
            By::There(operator) => operator.as_ref(),
        }
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
        operator::may(self.operator(), Action::Steer, record, self.now)
    }

    /// The session in our hands that this run has not ended in, or whose message waits: it is nobody else's.
    pub(in crate::harness) fn session_of_run(&self, run: &str) -> Option<String> {
        let of = |slot: &AtHand| slot.session.open_run(run).is_some() || slot.session.queued(run).is_some();
        self.sessions.iter().find(|(_, slot)| of(slot)).map(|(id, _)| id.to_owned())
    }
}

impl Runner {
    /// From here on this operator works here, or nobody.
    pub(in crate::harness) fn set_operator(
        &mut self,
        core: &mut Core,
        given: Option<&Value>,
    ) -> Result<(), ErrorInfo> {
        core.options.operator = given.map(parse_operator).transpose()?;
        if core.lifecycle == Lifecycle::Running {
            self.tend_default(core, false);
        }
        Ok(())
    }
}

impl Harness {
    /// Takes a command: here and now, or when its session has been read.
    pub(in crate::harness) fn command(&mut self, id: u32, name: &str, args: Value, fresh: String) {
        if self.closing.is_some() {
            return self.core.reply_now(id, Err(crate::harness::commands::closed()));
        }
        let result = match self.route(id, name, &args, &fresh) {
            Ok(Some(session)) => self.dispatch(id, name, &args, fresh, &session),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.core.reply_now(id, Err(error));
        }
    }

    /// The session that a command is for (empty: for none), if it can be carried out now. `None`: what it needs was asked
    /// for.
    fn route(&mut self, id: u32, name: &str, args: &Value, fresh: &str) -> Result<Option<String>, ErrorInfo> {
        let Some((subject, need)) = subject(name, args)? else { return Ok(Some(String::new())) };
        self.core.present_operator()?;
        let running = self.core.lifecycle == Lifecycle::Running;
        let session = match subject {
            // What nobody here works on need not be found.
            Subject::Session(_) if name == "interrupt" => self.interrupted(args),
            // No session has it, and below it would stand for one that is not known yet.
            Subject::Session("") => return Err(no_session("")),
            Subject::Session(session) => session.to_owned(),
            Subject::Run(run) if self.core.sessions.has(run) => run.to_owned(),
            // Which session an earlier run is of, its row says: copies have it too.
            Subject::Run(run) => self.core.session_of_run(run).unwrap_or_default(),
        };
        let waiting = || Waiting {
            command: id,
            session: session.clone(),
            name: name.into(),
            args: args.clone(),
            fresh: fresh.into(),
            by: self.core.by.clone(),
            asked: self.core.now,
            held: None,
            tail: None,
            until: None,
        };
        if session.is_empty() {
            if let Subject::Run(run) = subject {
                self.look_for_run(run, waiting());
            }
            return Ok(None);
        }
        // What is not in our hands shows it when it is read.
        if self.core.sessions.has(&session) {
            self.core.must_be_there(name, &session, self.core.removed_at(&session))?;
            let once = self.core.session(&session).is_some_and(Session::is_once);
            must_be_shown(name, args, &session, once)?;
        }
        if by_rows(name) {
            self.look_at_page(waiting());
            return Ok(None);
        }
        if name == "sessions.fork" {
            self.look_at_journal(waiting());
            return Ok(None);
        }
        if self.core.sessions.has(&session) {
            self.core.must_own(name, &session, need)?;
            if name == "sessions.status" {
                self.look_at_stored_end(waiting());
                return Ok(None);
            }
            return Ok(Some(session));
        }
        match need {
            Need::Work if !running => Ok(Some(session)),
            _ => {
                self.look_at(waiting());
                Ok(None)
            }
        }
    }

    /// Which session an `interrupt` is for, by its id or by a run's.
    fn interrupted(&self, args: &Value) -> String {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let of_run = || text("runId").and_then(|run| self.core.session_of_run(run));
        let of_prompt = || Some(self.waited_for(args.get("command")?.as_u64()?)?.to_owned());
        let found = text("sessionId").map(Into::into).or_else(of_run).or_else(of_prompt);
        found.unwrap_or_else(|| DEFAULT_SESSION.into())
    }

    /// Another page of the workspace gives a command, where this operator works.
    ///
    /// # Errors
    /// It is no operator.
    pub fn by_another(operator: &Value) -> Result<By, ErrorInfo> {
        let given = Some(operator).filter(|operator| !operator.is_null());
        given.map(parse_operator).transpose().map(By::There)
    }

    /// Carries out a command whose session was read for it.
    pub(super) fn dispatch_waiting(&mut self, waiting: Waiting) -> Result<(), ErrorInfo> {
        let need = need_of(&waiting)?;
        self.core.by = waiting.by.clone();
        let removed = self.core.removed_at(&waiting.session);
        self.core.must_be_there(&waiting.name, &waiting.session, removed)?;
        self.core.must_own(&waiting.name, &waiting.session, need)?;
        if self.runner.waits_for_a_key(&self.core, &waiting.name, &waiting.args) {
            self.deferred.push((self.core.now, waiting.input()));
            return Ok(());
        }
        let Waiting { command, session, name, args, fresh, .. } = waiting;
        self.dispatch(command, &name, &args, fresh, &session)
    }
}

/// The session of one task is reached by its run alone.
pub(super) fn must_be_shown(name: &str, args: &Value, session: &str, once: bool) -> Result<(), ErrorInfo> {
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
