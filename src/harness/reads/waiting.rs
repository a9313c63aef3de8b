//! Commands that wait for their session to be read.
//!
//! Leaves to others: what is read for them, and what they do.

use crate::harness::action::{By, Input};
use crate::harness::core::DEFAULT_SESSION;
use crate::ports::{Millis, Rows};
use crate::protocol::{Command, Need, Request, Source};

/// A command that waits for its session to be read.
#[derive(Clone, Debug)]
pub(in crate::harness) struct Waiting {
    pub command: u32,
    pub session: String,
    pub request: Request,
    pub fresh: String,
    pub by: By,
    /// When it was given.
    pub asked: Millis,
    /// Whether another tab works here; `None`: that is not known yet.
    pub held: Option<bool>,
    /// The end of the journal, where no more of it is needed.
    pub tail: Option<Tail>,
    /// From which row on a part of the journal was read; `None`: all of it was.
    pub from: Option<u64>,
    /// Before which row a page of the journal ends; `None`: all is read.
    pub until: Option<u64>,
    /// Behind which row its window begins, 0: it has none; `None`: that is not known yet.
    pub window: Option<u64>,
    /// Its checkpoint is of no use: all rows are read to fold it.
    pub whole: bool,
    /// It is damaged: all of it is read, to see what of it is whole.
    pub in_part: bool,
    /// Its run was looked for in all sessions.
    pub sought: bool,
}

impl Waiting {
    /// Whether it is answered from rows, also where another tab holds the session.
    pub fn by_rows(&self) -> bool {
        self.request.command.row().source == Source::Rows
    }

    /// Whether the events among its rows are signed again: what is only looked at has been judged by its head.
    pub fn judges_events(&self) -> bool {
        self.request.command.row().source != Source::Fold || self.request.need() != Need::Read
    }

    /// Whether it can do without the runs before the window of its session.
    pub fn goes_on(&self) -> bool {
        let row = self.request.command.row();
        let works = row.source == Source::Fold && self.request.need() == Need::Work;
        !self.whole && (works || self.request.command == Command::Watch)
    }

    /// Whether it shows no more than a page of the conversation.
    pub fn is_a_page(&self) -> bool {
        let has = |name: &str| self.request.args().get(name).is_some();
        self.request.command == Command::History && has("limit") && !has("version")
    }

    /// Whether it may end a session that is damaged: nothing in that has to be read for it.
    pub fn gives_up(&self) -> bool {
        match self.request.command {
            Command::SessionsRemove => true,
            Command::ClearConversation => self.session == DEFAULT_SESSION,
            _ => false,
        }
    }

    pub fn input(self) -> Input {
        Input::Command { id: self.command, request: Ok(self.request), fresh: self.fresh, by: self.by }
    }
}

/// The end of a journal, as far as it was read.
#[derive(Clone, Debug, Default)]
pub(in crate::harness) struct Tail {
    /// Up to which row; 0: that is not known yet.
    pub seq: u64,
    /// The hash of that row.
    pub hash: String,
    /// Which journal it is, as `tail` tells them apart.
    pub of: u64,
    /// Whether it ends where the page that was shown last begins.
    pub behind: bool,
    /// From which row on.
    pub from: u64,
    /// The row that no page goes beyond: what is before it is erased.
    pub first: u64,
    pub rows: Rows,
    pub head: Rows,
    pub drafts: Rows,
    pub checkpoint: Rows,
}
