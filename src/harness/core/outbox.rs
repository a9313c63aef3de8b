//! Commit before effect: what must wait, waits here.
//!
//! Decides when the next commit goes and which actions its completion releases. Promises: one commit in
//! flight. An action behind a barrier is released only when everything that was written before it is stored.
//! What the page is told comes in the order in which it happened. A number is given once. Leaves to others: what is
//! written, and what follows from a commit that failed (`harness/`).

use crate::harness::action::{Action, CallKey};
use crate::list::Listed;
use crate::ports::{Commit, Durability, Expect, Key, Millis, Table, Write};
use std::collections::VecDeque;

/// How long entries that nothing waits for may lie: one commit in this time.
const LAZY_MS: Millis = 100;

/// A commit that is on its way.
#[derive(Debug)]
struct InFlight {
    id: u64,
    /// The mark that its completion reaches.
    mark: u64,
    /// Whether what comes of it concerns nobody any more.
    given_up: bool,
}

/// The queue between the machine and the world.
#[derive(Debug, Default)]
pub(in crate::harness) struct Outbox {
    writes: Vec<Write>,
    /// How much has been written, in marks; every write raises it.
    mark: u64,
    /// Up to which mark everything is stored.
    stored: u64,
    in_flight: Option<InFlight>,
    last: Millis,
    urgent: bool,
    durability: Durability,
    ready: VecDeque<Action>,
    /// What the page is told or given, in order, each with the mark it waits for.
    ordered: VecDeque<(u64, Action)>,
    /// Effects that wait for their commit; their order does not matter.
    effects: Vec<(u64, Action)>,
    commits: u64,
    reads: u64,
    calls: CallKey,
}

impl Outbox {
    /// The number of the next call to a model or to the page.
    pub fn call_key(&mut self) -> CallKey {
        self.calls = self.calls.wrapping_add(1);
        self.calls
    }

    /// The number of the next read.
    pub fn read_key(&mut self) -> u64 {
        self.reads += 1;
        self.reads
    }

    /// Writes with the next commit.
    pub fn write(&mut self, write: Write) {
        self.mark += 1;
        self.writes.push(write);
    }

    /// Deletes all drafts below this key with the next commit. In a run of many short turns it does so already: a deletion
    /// costs as much as a row.
    pub fn drop_drafts(&mut self, prefix: Key) {
        let drop = Write::DeletePrefix { table: Table::Drafts, prefix };
        if self.writes.iter().rev().find(|write| write.table() == Table::Drafts) != Some(&drop) {
            self.write(drop);
        }
    }

    /// Acts at once.
    pub fn act(&mut self, action: Action) {
        self.ready.push_back(action);
    }

    /// Acts when everything written so far is stored, if nothing has made it needless before.
    pub fn act_after_commit(&mut self, action: Action) {
        if self.mark <= self.stored {
            self.ready.push_back(action);
        } else {
            self.urgent = true;
            self.effects.push((self.mark, action));
        }
    }

    /// Tells the page, after all that it was told before.
    pub fn tell(&mut self, action: Action) {
        if self.ordered.is_empty() {
            self.ready.push_back(action);
        } else {
            self.ordered.push_back((0, action));
        }
    }

    /// Tells the page when everything written so far is stored.
    pub fn tell_after_commit(&mut self, action: Action) {
        if self.mark <= self.stored {
            self.tell(action);
        } else {
            self.urgent = true;
            self.ordered.push_back((self.mark, action));
        }
    }

    /// Asks for the next commit to be flushed to the disk.
    pub fn strictly(&mut self) {
        self.durability = Durability::Strict;
    }

    /// Commits as soon as no other commit is in flight.
    pub fn hurry(&mut self) {
        self.urgent |= !self.writes.is_empty();
    }

    /// Whether nothing is written and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.writes.is_empty() && self.in_flight.is_none() && self.ordered.is_empty() && self.ready.is_empty()
    }

    /// Aborts a call. A call that still waits here was never made, and is not made any more.
    pub fn abort(&mut self, key: CallKey) {
        let is_it = |action: &Action| matches!(action, Action::CallModel { call, .. } | Action::CallPage { call, .. } | Action::Send { call, .. } if *call == key);
        let before = self.ready.len() + self.effects.len();
        self.ready.retain(|action| !is_it(action));
        self.effects.retain(|(_, action)| !is_it(action));
        if self.ready.len() + self.effects.len() == before {
            self.act(Action::Abort(key));
        }
    }

    /// The next thing that can be done.
    pub fn pop(&mut self) -> Option<Action> {
        self.ready.pop_front()
    }

    /// When the next commit is due, if one is.
    pub fn due(&self) -> Option<Millis> {
        if self.in_flight.is_some() || self.writes.is_empty() {
            return None;
        }
        Some(if self.urgent { 0 } else { self.last + LAZY_MS })
    }

    /// Whether a commit may go now.
    pub fn free(&self) -> bool {
        self.in_flight.is_none()
    }

    /// Sends what is written. `guard`: the row that says whose journal this is. Drafts are told apart by their
    /// keys: without a question the store can finish them at once, even when the page goes away meanwhile.
    pub fn send(&mut self, now: Millis, guard: Expect) -> u64 {
        let writes = std::mem::take(&mut self.writes);
        let durability = std::mem::take(&mut self.durability);
        self.urgent = false;
        let is_draft = |write: &Write| matches!(write, Write::Put { table: Table::Drafts, .. });
        let expect = if writes.iter().all(is_draft) { Vec::new() } else { vec![guard] };
        self.send_alone(now, Commit { expect, writes, durability })
    }

    /// Sends a commit of its own; what is written waits for the next one.
    pub fn send_alone(&mut self, now: Millis, commit: Commit) -> u64 {
        self.commits += 1;
        let mark = if self.writes.is_empty() { self.mark } else { self.stored };
        self.in_flight = Some(InFlight { id: self.commits, mark, given_up: false });
        self.last = now;
        self.ready.push_back(Action::Commit { id: self.commits, commit });
        self.commits
    }

    /// A commit went through: releases what waited for it. `false`: it is not the one in flight.
    pub fn stored(&mut self, id: u64) -> bool {
        let Some(done) = self.in_flight.take_if(|commit| commit.id == id) else { return false };
        self.stored = done.mark;
        while let Some((_, action)) = self.ordered.pop_front_if(|(mark, _)| *mark <= done.mark) {
            self.ready.push_back(action);
        }
        for (_, action) in self.effects.extract_if(.., |(mark, _)| *mark <= done.mark) {
            self.ready.push_back(action);
        }
        self.urgent |= !self.ordered.is_empty() || !self.effects.is_empty();
        true
    }

    /// Whether this is a commit of before everything was given up. It is over now.
    pub fn forgotten(&mut self, id: u64) -> bool {
        let forgotten = self.in_flight.as_ref().is_some_and(|commit| commit.id == id && commit.given_up);
        forgotten && self.stored(id)
    }

    /// The commit did not go through.
    pub fn failed(&mut self, id: u64) {
        self.in_flight.take_if(|commit| commit.id == id);
    }

    /// Gives everything up: what was to be told, so that those who wait can be answered. A commit on its way
    /// stays the one in flight, and what needs a barrier from here on waits for its end.
    pub fn abandon(&mut self) -> Vec<Action> {
        self.writes.clear();
        self.urgent = false;
        self.durability = Durability::Relaxed;
        self.stored = self.mark;
        if let Some(commit) = &mut self.in_flight {
            self.mark += 1;
            commit.mark = self.mark;
            commit.given_up = true;
        }
        // A read is answered with what is stored now.
        for (_, action) in self.effects.drain(..) {
            if matches!(action, Action::Read { .. }) {
                self.ready.push_back(action);
            }
        }
        std::mem::take(&mut self.ordered).into_iter().map(|(_, action)| action).list()
    }
}

/// The row under one key.
pub(in crate::harness) fn expect(table: Table, key: Key, value: Option<String>) -> Expect {
    Expect { table, key, value }
}
