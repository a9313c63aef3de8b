//! Sessions at hand that go on without the runs before their window.
//!
//! Decides which commands are about such runs, and writes the checkpoint that stands for them. Promises: what the person has
//! said is in no such checkpoint any more once it is cleared or removed. Leaves to others: what the checkpoint says
//! (`session/earlier`), and reading all of a session (`reads/look`).

use crate::harness::core::Core;
use crate::journal::pack;
use crate::ports::{Table, Write};
use crate::protocol::{Command, Request};
use crate::session::{Checkpoint, Session, Transcript, history};
use serde_json::Value;

impl Core {
    /// The session at hand, if it goes on without its first runs.
    fn going_on(&self, session: &str) -> Option<&Session> {
        self.session(session).filter(|session| session.goes_on())
    }

    /// Whether a session at hand goes on without its first runs.
    pub(in crate::harness) fn goes_on(&self, session: &str) -> bool {
        self.going_on(session).is_some()
    }

    /// Whether a command shows messages before the runs that are at hand.
    pub(in crate::harness) fn is_earlier(&self, request: &Request, session: &str) -> bool {
        let is_history = request.command == Command::History;
        self.going_on(session).filter(|_| is_history).is_some_and(|session| !has_page(session, request))
    }

    /// Whether a command changes or counts what is before the runs that are at hand.
    pub(in crate::harness) fn reaches_back(&self, request: &Request, session: &str) -> bool {
        let Some(folded) = self.going_on(session) else { return false };
        let args = request.args();
        let text = |name: &str| args.all().get(name).and_then(Value::as_str);
        let had = |key: &str| folded.had_key(&self.secrets.scrubbed(key.into()));
        let replaces = |message: &str| !folded.remembers_without(message);
        text("idempotencyKey").is_some_and(had)
            || text("replaces").is_some_and(replaces)
            || match request.command {
                Command::SwitchTo | Command::RemoveMessage => true,
                Command::SessionsOutput => text("id") == Some(&folded.id),
                Command::Regenerate => {
                    let run = folded.answered_by(text("messageId"));
                    run.is_none_or(|run| replaces(run.message().0))
                }
                _ => false,
            }
    }

    /// A session at hand is this one from here on, which has all of its runs. `false`: it has more than these.
    pub(in crate::harness) fn has_all(&mut self, whole: Session) -> bool {
        let Some(taken) = self.sessions.get_mut(&whole.id) else { return false };
        let is_it = taken.session.hash() == whole.hash();
        if is_it {
            taken.session = whole;
            taken.transcripts.values_mut().for_each(Transcript::is_stale);
        }
        is_it
    }

    /// Stores the checkpoint of a session's window, before this run. Its head names it.
    pub(in crate::harness) fn keep_window(&mut self, session: &str, window: Checkpoint, run: String) {
        let Some(taken) = self.sessions.get_mut(session) else { return };
        taken.session.is_behind(window.seq, window.sum(), run);
        taken.written = 0;
        let (table, key) = (Table::Entries, pack::window_key(session));
        self.outbox.write(Write::Pack { table, key, value: window.text });
    }

    /// What is cleared or removed is in the checkpoint of the window too.
    pub(in crate::harness) fn drop_window(&mut self, session: &str) {
        let (table, prefix) = (Table::Entries, pack::window_key(session));
        self.outbox.write(Write::DeletePrefix { table, prefix });
    }
}

/// Whether what is at hand has all messages that a command shows.
fn has_page(folded: &Session, request: &Request) -> bool {
    let args = request.args();
    let limit = args.whole("limit").and_then(|limit| usize::try_from(limit).ok());
    let (Some(limit), None) = (limit, args.text("version")) else { return false };
    history(folded, Some(limit), args.text("before")).is_some_and(|page| page.len() >= limit)
}
