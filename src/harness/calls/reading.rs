//! Commands that only read a session: what they are answered.
//!
//! Promises: a session at hand and one that is only looked at answer alike, with what streams. Leaves to others: reading a
//! session that is not at hand (`reads/`), and what a journal adds up to (`session/`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::{Action, Notice};
use crate::harness::calls::Calls;
use crate::harness::core::Core;
use crate::json::json;
use crate::protocol::args::shortened;
use crate::protocol::{Command, Request};
use crate::rooms::{Room, enter};
use crate::session;
use crate::session::Session;
use serde_json::Value;

impl Calls {
    /// What a command that only reads says of a session, in our hands or only looked at.
    pub(in crate::harness) fn read_of(
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
                    _ => self.history_of(session, limit, before).map(|page| {
                        match core.session(&session.id).is_some_and(Session::goes_on) {
                            true => self.with_those_at_hand(core, session, page, limit, before),
                            false => page,
                        }
                    }),
                };
                let missing = || no_message(before.filter(|_| version.is_none()).or(version));
                Ok(history.ok_or_else(missing)?.into())
            }
            Command::SessionsActivity => Ok(self.activity(core, session, args.needed("id"))?.as_str().into()),
            Command::SessionsOutput => self.output_of(session, args),
            _ => core.status_of(session),
        }
    }

    /// A page of a session that was looked at because the one at hand goes on without its first runs, with what is at hand:
    /// that streams. A door of the room `past`.
    #[inline(never)]
    fn with_those_at_hand(
        &self,
        core: &Core,
        looked_at: &Session,
        mut page: Vec<Value>,
        limit: Option<usize>,
        before: Option<&str>,
    ) -> Vec<Value> {
        enter(Room::Past);
        let at_hand = core.session(&looked_at.id).filter(|at_hand| at_hand.goes_on());
        let here = at_hand.filter(|at_hand| !std::ptr::eq(*at_hand, looked_at));
        let Some(here) = here.and_then(|here| self.history_of(here, limit, before)) else { return page };
        let id = |message: &Value| message.get("id").cloned();
        if let Some(at) = here.first().and_then(|first| page.iter().position(|one| id(one) == id(first))) {
            page.truncate(at);
            page.extend(here);
        }
        page
    }

    /// A session that is only looked at is watched from here on, and this was said in it.
    pub(in crate::harness) fn tell_watched(
        &self,
        core: &mut Core,
        id: u32,
        session: &str,
        (history, goes_on): (Vec<Value>, bool),
    ) {
        let notice = Notice::History(session.into(), json(&Value::from(history)), goes_on);
        core.outbox.tell(Action::Tell(notice));
        core.sessions.watch(session, String::new());
        core.reply_now(id, Ok(None));
    }

    /// Answers a command by a session that is only looked at.
    pub(in crate::harness) fn answer_look(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &Session,
        request: &Request,
    ) -> Result<(), ErrorInfo> {
        match request.command {
            Command::Watch => {
                let history = session::history(session, None, None).unwrap_or_default();
                self.tell_watched(core, id, &session.id, (history, session.goes_on()));
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

fn no_message(id: Option<&str>) -> ErrorInfo {
    let id = shortened(id.unwrap_or_default());
    ErrorInfo::new(Code::MessageNotFound, format!("no message has the id \"{id}\""))
}
