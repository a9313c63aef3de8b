//! Which session a command is about, and who may give it.
//!
//! Decides, before any command on a session is carried out: whether there is an operator, and whether the session is
//! theirs; whether the journal is at hand, has to be read first, or the workspace has to be borrowed for one write.
//! Promises: every command passes here, by any method and from any tab. Leaves to others: reading a session for a command
//! (`look.rs`), taking it (`take.rs`), what the command does (`commands.rs` here and in `harness/`), what a
//! session's record says (`session/`).

use crate::error::{Code, ErrorInfo};
use crate::harness::Harness;
use crate::harness::action::By;
use crate::harness::core::refused::no_session;
use crate::harness::core::slots::AtHand;
use crate::harness::core::{Core, DEFAULT_SESSION, Lifecycle};
use crate::harness::reads::Waiting;
use crate::harness::runner::Runner;
use crate::journal::redact;
use crate::protocol::{Args, Need, Request, Source, Subject};
use crate::session::Session;
use crate::session::operator::{self, Action, Operator};
use serde_json::Value;

/// How the id of a run begins.
const RUN: &str = "run_";

/// What a command is about.
#[derive(Debug)]
enum About<'a> {
    Session(&'a str),
    /// The one that works on what is meant.
    Worker,
    Run(&'a str),
}

/// Which session or run a command is about, as its row says. `None`: it is about none.
fn about(request: &Request) -> Option<About<'_>> {
    let text = |name: &str| request.args().all().get(name).and_then(Value::as_str);
    let session = || About::Session(text("sessionId").unwrap_or(DEFAULT_SESSION));
    let id = || text("id").unwrap_or_default();
    Some(match request.command.row().subject {
        Subject::None => return None,
        Subject::Session => session(),
        Subject::SessionOrRun => match (text("sessionId"), text("runId")) {
            (None, Some(run)) => About::Run(run),
            _ => session(),
        },
        Subject::Worker => About::Worker,
        Subject::Id => About::Session(id()),
        // What begins so is a run, unless a session at hand is called so.
        Subject::IdOrRun if !id().starts_with(RUN) => About::Session(id()),
        Subject::Run | Subject::IdOrRun => About::Run(id()),
    })
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

    /// Whether a session is the operator's own, which all but reading needs. A command on the record itself asks this in
    /// the order of its own checks.
    fn must_own(&self, request: &Request, session: &str) -> Result<(), ErrorInfo> {
        if request.need() == Need::Read || request.command.row().asks {
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
    pub(in crate::harness) fn command(
        &mut self,
        id: u32,
        request: Result<Request, ErrorInfo>,
        fresh: String,
    ) {
        if self.holding.closing.is_some() {
            return self.core.reply_now(id, Err(crate::harness::core::refused::closed()));
        }
        let result = request.and_then(|request| match self.route(id, &request, &fresh)? {
            Some(session) => self.dispatch(id, &request, fresh, &session),
            None => Ok(()),
        });
        if let Err(error) = result {
            self.core.reply_now(id, Err(error));
        }
    }

    /// The session that a command is for (empty: for none), if it can be carried out now. `None`: what it needs was asked
    /// for.
    fn route(&mut self, id: u32, request: &Request, fresh: &str) -> Result<Option<String>, ErrorInfo> {
        let (command, about) = (request.command, about(request));
        let (row, need) = (command.row(), request.need());
        if about.is_some() || need != Need::Nothing {
            self.core.present_operator()?;
        }
        let Some(about) = about else { return Ok(Some(String::new())) };
        let running = self.core.lifecycle == Lifecycle::Running;
        let session = match about {
            // What nobody here works on need not be found.
            About::Worker => self.worker(request),
            // No session has it, and below it would stand for one that is not known yet.
            About::Session("") => return Err(no_session("")),
            About::Session(session) => session.to_owned(),
            About::Run(run) if self.core.sessions.has(run) => run.to_owned(),
            // Which session an earlier run is of, its row says: copies have it too.
            About::Run(run) => self.core.session_of_run(run).unwrap_or_default(),
        };
        let (by, asked) = (self.core.by.clone(), self.core.now);
        let waiting = || Waiting {
            command: id,
            session: session.clone(),
            request: request.clone(),
            fresh: fresh.into(),
            by: by.clone(),
            asked,
            held: None,
            tail: None,
            until: None,
        };
        if session.is_empty() {
            if let About::Run(run) = about {
                self.reads.look_for_run(&mut self.core, run, waiting());
            }
            return Ok(None);
        }
        // What is not in our hands shows it when it is read.
        if self.core.sessions.has(&session) {
            self.core.must_be_there(command, &session, self.core.removed_at(&session))?;
            let once = self.session(&session).is_some_and(Session::is_once);
            must_be_shown(request, &session, once)?;
        }
        match row.source {
            Source::Rows => {
                self.reads.look_at_page(&mut self.core, waiting());
                return Ok(None);
            }
            Source::Journal => {
                self.reads.look_at_journal(&mut self.core, waiting());
                return Ok(None);
            }
            Source::Fold | Source::End => {}
        }
        if self.core.sessions.has(&session) {
            self.core.must_own(request, &session)?;
            if row.source == Source::End {
                self.reads.look_at_stored_end(&mut self.core, waiting());
                return Ok(None);
            }
            return Ok(Some(session));
        }
        match need {
            Need::Work if !running => Ok(Some(session)),
            _ => {
                self.reads.look_at(&mut self.core, waiting());
                Ok(None)
            }
        }
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
        self.core.by = waiting.by.clone();
        let removed = self.core.removed_at(&waiting.session);
        self.core.must_be_there(waiting.request.command, &waiting.session, removed)?;
        self.core.must_own(&waiting.request, &waiting.session)?;
        if self.runner.waits_for_a_key(&self.core, &waiting.request) {
            self.deferred.push((self.core.now, waiting.input()));
            return Ok(());
        }
        let Waiting { command, session, request, fresh, .. } = waiting;
        self.dispatch(command, &request, fresh, &session)
    }

    /// Which session an `interrupt` is for, by its id, by a run's, or by the prompt that waits.
    fn worker(&self, request: &Request) -> String {
        let args = request.args();
        let of_run = || args.text("runId").and_then(|run| self.core.session_of_run(run));
        let of_prompt = || Some(self.waited_for(args.whole("command")?)?.to_owned());
        let found = args.text("sessionId").map(Into::into).or_else(of_run).or_else(of_prompt);
        found.unwrap_or_else(|| DEFAULT_SESSION.into())
    }
}

/// The session of one task is reached by its run alone.
pub(super) fn must_be_shown(request: &Request, session: &str, once: bool) -> Result<(), ErrorInfo> {
    let by_id = matches!(about(request), Some(About::Session(_)));
    if once && by_id { Err(no_session(session)) } else { Ok(()) }
}

/// `{ subject, issuer?, expiresAt? }`
fn parse_operator(value: &Value) -> Result<Operator, ErrorInfo> {
    let args = Args::read(value, "an operator", "subject?~ issuer?~ expiresAt?#")?;
    let invalid = |what: &str| ErrorInfo::new(Code::InvalidArguments, ["an operator ", what].concat());
    let (subject, issuer) = (args.needed("subject"), args.text("issuer"));
    if subject.trim().is_empty() || [subject, issuer.unwrap_or_default()].concat().contains(char::is_control)
    {
        return Err(invalid("needs a \"subject\" that is not empty, and no control characters"));
    }
    // It is put on record, and no record has what looks like a secret.
    if redact::has_secret(value, &[]) {
        return Err(invalid(
            "looks like a secret, or an address with a login: use an id of the person without one",
        ));
    }
    Ok(Operator {
        subject: subject.into(),
        issuer: issuer.map(Into::into),
        expires_at: args.whole("expiresAt"),
    })
}
