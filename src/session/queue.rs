//! The queue: messages that were sent while a run works, and wait for their turn.
//!
//! Decides whose turn it is, and when the queue is held. Promises: a message is taken once, in the order in which it
//! came, and not before it can be edited and removed. What is held never begins by itself. Clearing empties the queue.
//! A copy of a session has no queue, because otherwise two sessions would do the same. Leaves to others: who may queue
//! what (`harness/`), and where a message that steers enters its run (`run/`).
//!
//! Each message is held by itself. An interrupt, a failure and a new holder hold the messages that wait at that moment.
//! They are let go by name, or by a run that completes: a person who begins a run, or goes on with one, wants the
//! session to work again. A message that comes later is not held by what was before it.

use super::{Past, Session, files_among};
use crate::journal::{Entry, Header, Mode, OfQueue};
use crate::list::Listed;
use crate::model::{Block, File};
use crate::object::{self, Object};
use crate::ports::Millis;
use crate::rooms::{Room, enter};
use crate::run::{Prompt, Steered};
use serde_json::Value;

/// A message that waits for its turn.
#[derive(Clone, Debug)]
pub struct Queued {
    /// When it was queued.
    pub at: Millis,
    /// The run that it begins, unless it enters the one at work.
    pub run: String,
    /// Whether it is to enter that one.
    pub steers: bool,
    /// Whether it waits for more than its turn.
    pub held: bool,
    /// What its `prompt` would say.
    prompt: Entry,
}

impl Queued {
    /// The message's id.
    pub fn message(&self) -> &str {
        match &self.prompt {
            Entry::Prompt { message, .. } => message,
            _ => "",
        }
    }

    /// The page's idempotency key.
    pub fn idempotency(&self) -> Option<&str> {
        match &self.prompt {
            Entry::Prompt { idempotency, .. } => idempotency.as_deref(),
            _ => None,
        }
    }

    /// What it says, as its run will keep it.
    pub(super) fn said(&self, session: &Session) -> Option<Prompt> {
        session.said(&self.prompt)
    }

    /// Its files.
    pub fn files(&self) -> &[Block] {
        match &self.prompt {
            Entry::Prompt { files, .. } => files,
            _ => &[],
        }
    }

    /// The same, to change what is known of them.
    pub(super) fn files_mut(&mut self) -> &mut [Block] {
        match &mut self.prompt {
            Entry::Prompt { files, .. } => files,
            _ => &mut [],
        }
    }

    /// `QueuedMessage` of the contract.
    pub fn json(&self) -> Value {
        let Entry::Prompt { message, text, .. } = &self.prompt else { return Value::Null };
        let mode = if self.steers { Mode::Steer } else { Mode::Queue };
        Object::new().text("id", message).text("text", text).text("mode", mode.as_str()).done()
    }
}

impl Session {
    /// The messages that wait, the first one first.
    pub fn queue(&self) -> &[Queued] {
        &self.queue
    }

    /// The message that waits under this id, or will begin the run with it.
    pub fn queued(&self, id: &str) -> Option<&Queued> {
        self.queue.iter().find(|queued| queued.message() == id || queued.run == id)
    }

    /// The files of the messages that wait.
    pub(crate) fn queued_files(&self) -> impl Iterator<Item = &File> {
        self.queue.iter().flat_map(|queued| files_among(queued.files()))
    }

    /// The message whose turn it is to enter the run at work.
    pub(super) fn steering(&self) -> Option<&str> {
        self.queue.iter().find(|queued| queued.steers && !queued.held).map(Queued::message)
    }

    /// No run works: the first message begins one.
    pub(super) fn next_of_queue(&self) -> Option<(Option<String>, Entry)> {
        let first = self.queue.first().filter(|queued| !queued.held)?;
        Some((Some(first.run.clone()), Entry::Taken { message: first.message().into() }))
    }

    /// What happens to the queue. `None`: it does not fit. A door of the room `past`.
    #[inline(never)]
    pub(super) fn fold_queue(&mut self, header: &Header, entry: OfQueue<'_>) -> Option<()> {
        enter(Room::Past);
        match entry {
            OfQueue::Queued { mode, prompt } => {
                let (at, run) = (header.at, header.run.clone()?);
                let steers = *mode == Mode::Steer;
                let kept = Entry::from_json("prompt", prompt).filter(|entry| entry.to_json() == *prompt)?;
                self.queue.push(Queued { at, run, steers, held: false, prompt: kept });
            }
            OfQueue::Edited { message, text } => {
                let queued = self.queue.iter_mut().find(|queued| queued.message() == message)?;
                let Entry::Prompt { text: said, .. } = &mut queued.prompt else { return None };
                said.clone_from(text);
            }
            OfQueue::Unqueued { message } => {
                let at = self.queue.iter().position(|queued| queued.message() == message);
                let gone = at.map(|at| self.queue.remove(at));
                let run = header.run.as_ref()?;
                // An erased one keeps only the time at which it was queued.
                let before = self.past.get(run).map(|past| past.started_at);
                let started_at = gone.map(|gone| gone.at).or(before)?;
                self.past.insert(run, Past::never(started_at, header.at));
            }
            OfQueue::Released {} => self.hold_queue(false),
            OfQueue::Taken { message } => self.take_queued(header, message)?,
        }
        Some(())
    }

    /// The turn of a message has come.
    fn take_queued(&mut self, header: &Header, message: &str) -> Option<()> {
        let at = self.queue.iter().position(|queued| queued.message() == message)?;
        let Queued { at, run, mut prompt, .. } = self.queue.remove(at);
        if let Entry::Prompt { replaces, .. } = &mut prompt
            && replaces.as_deref().is_some_and(|message| self.place_of(message).is_none())
        {
            // What it edits has left the conversation meanwhile: it is a message like any other.
            *replaces = None;
        }
        if self.current().is_none() {
            return self.fold_prompt(header, &prompt);
        }
        let prompt = self.said(&prompt)?;
        self.take_in(&prompt);
        let current = self.runs.last_mut().filter(|run| header.run.as_deref() == Some(&run.id))?;
        current.steer(Steered { after: 0, at: header.at, queued: (run, at), prompt });
        Some(())
    }

    /// Those that wait now are held, or are not any more.
    pub(super) fn hold_queue(&mut self, held: bool) {
        for queued in &mut self.queue {
            queued.held = held;
        }
    }

    /// A run is over: what was to enter it waits like the others.
    pub(super) fn queue_after(&mut self, completed: bool) {
        self.hold_queue(!completed);
        for queued in &mut self.queue {
            queued.steers = false;
        }
    }

    /// Nothing waits any more. The runs that now never begin are over. The runs of messages that have entered another run
    /// are over too, because the rows that say so are erased. A door of the room `past`.
    #[inline(never)]
    pub(super) fn empty_queue(&mut self, at: Millis) {
        enter(Room::Past);
        let waiting = std::mem::take(&mut self.queue).into_iter().map(|queued| (queued.run, queued.at));
        let entered = self.all_runs().flat_map(|run| &run.steered).map(|steered| steered.queued.clone());
        for (run, started_at) in entered.list().into_iter().chain(waiting) {
            if !self.past.contains_key(&run) {
                self.past.insert(&run, Past { started_at, begun: false, ended: None });
            }
        }
        for past in self.past.values_mut() {
            past.ended = past.ended.take().or_else(|| Past::never(past.started_at, at).ended);
        }
    }

    /// The page that has queued them is gone, and with it its own schemas.
    pub(super) fn forget_page_of_queue(&mut self) {
        for queued in &mut self.queue {
            if let Entry::Prompt { schema: Some(Value::Object(schema)), .. } = &mut queued.prompt {
                object::take(schema, "validate");
            }
        }
    }

    /// What a view shows of it; `None`: nothing waits.
    pub fn told_queue(&self) -> Option<Value> {
        (!self.queue.is_empty()).then(|| self.queue.iter().map(Queued::json).list().into())
    }
}
