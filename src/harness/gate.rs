//! Which session a command is about, and who may give it.
//!
//! Decides, before any command on a session is carried out, whether there is an operator, and whether the session is
//! theirs and is what was written. Decides whether the journal is at hand, has to be read first, or the workspace has to be
//! borrowed for one write. Promises: every command passes here, by any method and from any tab. Leaves to others: reading a
//! session for a command (`reads/look`), taking it (`takes`), what the command does (`commands`), what a session's record says
//! (`session/`).

use crate::error::ErrorInfo;
use crate::harness::Harness;
use crate::harness::action::By;
use crate::harness::core::about::{About, about};
use crate::harness::core::operators::parse_operator;
use crate::harness::core::refused::no_session;
use crate::harness::core::{DEFAULT_SESSION, Lifecycle};
use crate::harness::reads::Waiting;
use crate::protocol::{Command, Need, Request, Source};
use crate::rooms::{Room, enter};
use serde_json::Value;

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
        if let Some(answer) = self.core.ended_by_removal(request) {
            self.core.reply(id, Ok(Some(answer)));
            return Ok(None);
        }
        let running = self.core.state.lifecycle == Lifecycle::Running;
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
            from: None,
            until: None,
            window: None,
            whole: false,
            in_part: false,
            sought: false,
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
            let once = self.session(&session).map(|session| (session.is_once(), session.passes()));
            let once = once.unwrap_or_default();
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
            if self.core.goes_on(&session) && self.looks_back(&waiting()) {
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
    pub(in crate::harness) fn dispatch_waiting(&mut self, waiting: Waiting) -> Result<(), ErrorInfo> {
        self.core.by = waiting.by.clone();
        let removed = self.core.removed_at(&waiting.session);
        self.core.must_be_there(waiting.request.command, &waiting.session, removed)?;
        self.core.must_own(&waiting.request, &waiting.session)?;
        if self.runner.waits_for_a_key(&self.core, &waiting.request) {
            self.deferred.push((self.core.now, waiting.input()));
            return Ok(());
        }
        if self.core.goes_on(&waiting.session) && self.looks_back(&waiting) {
            return Ok(());
        }
        let Waiting { command, session, request, fresh, .. } = waiting;
        self.dispatch(command, &request, fresh, &session)
    }

    /// Whether a command is about runs that its session at hand goes on without: then these are read first. A door of the room
    /// `past`.
    #[inline(never)]
    fn looks_back(&mut self, waiting: &Waiting) -> bool {
        enter(Room::Past);
        let Waiting { request, session, .. } = waiting;
        let (shows, changes) =
            (self.core.is_earlier(request, session), self.core.reaches_back(request, session));
        if shows {
            self.reads.look_at(&mut self.core, waiting.clone());
        } else if changes {
            self.reads.look_at_all(&mut self.core, waiting.clone());
        }
        shows || changes
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

/// The session of one task is reached by its run alone. One of which nothing stays (`passes`) is removed by its id.
pub(in crate::harness) fn must_be_shown(
    request: &Request,
    session: &str,
    (once, passes): (bool, bool),
) -> Result<(), ErrorInfo> {
    let removes = passes && request.command == Command::SessionsRemove;
    let by_id = !removes && matches!(about(request), Some(About::Session(_)));
    if once && by_id { Err(no_session(session)) } else { Ok(()) }
}
