//! Memories: what the page's own code, a model and the start of a run want of them.
//!
//! Decides which operation is worked out next, and on which memories. Promises: each is worked out on the memories as they
//! are in the database, also where another tab writes them. What gives something reads first. What changes something goes
//! by what is known: its commit fails where another tab has written since, and then it is read and worked out again. A run starts without them where they cannot be read. Leaves to
//! others: what an operation does (`memory`), and reading and committing (the pump).
//!
//! What cannot be inlined here is a door of the room `memory` (`crate::rooms`). Who configures a memory has that room.

use crate::error::{Code, ErrorInfo};
use crate::harness::action::Action;
use crate::harness::calls::RunCall;
use crate::harness::calls::outcome::{failed_call, returned_entry};
use crate::harness::core::stored::first_format_write;
use crate::harness::core::{Core, Next};
use crate::journal::{Entry, Outside};
use crate::json::json;
use crate::list::Listed;
use crate::maps::Named;
use crate::memory::{Book, Done, Memory, Op, id_of};
use crate::ports::{Commit, Read, Rows, Shelf, StoreError};
use crate::protocol::{Command, Request};
use crate::rooms::{Room, enter};
use crate::session::Session;
use crate::session::compaction::Window;
use crate::session::operator::Owner;
use crate::tools::ToolText;
use serde_json::Value;
use std::collections::VecDeque;

/// How many bytes of memories are told at the start of a run: 2,000 tokens, about.
const TOLD: usize = 8_000;

/// Who waits for an operation.
#[derive(Clone, Debug)]
enum Whose {
    Command(u32),
    Call(RunCall),
    /// A run that begins, of a session.
    Run {
        session: String,
        run: String,
        limit: usize,
    },
    Nobody,
}

/// An operation on its way.
#[derive(Debug)]
struct Job {
    whose: Whose,
    shelf: Shelf,
    owner: String,
    /// `None`: what is relevant to a run that begins.
    op: Option<Op>,
    /// What it has come to, once that is committed, and the news that are committed with it.
    done: Option<(Done, [Rows; 2])>,
}

/// What is known of memories, and the operations on them that are under way.
#[derive(Debug, Default)]
pub(in crate::harness) struct Memories {
    /// By where they are and whose.
    books: Named<Book>,
    jobs: VecDeque<Job>,
    under_way: Option<(u64, Job)>,
    /// The runs that have asked what they are told, and whether they know.
    asked: Named<bool>,
    /// Damage was told of.
    told: bool,
}

impl Memories {
    /// Whether a run has to wait until it knows what it is told. `None`: it has not asked.
    pub fn waits(&self, run: &str) -> Option<bool> {
        self.asked.get(run).map(|knows| !knows)
    }

    /// Whether an exchange under way stores something.
    pub fn stores(&self, id: u64) -> bool {
        self.under_way.as_ref().is_some_and(|(under_way, job)| *under_way == id && job.done.is_some())
    }

    /// A run has begun to work, or what it was told with was summed up.
    pub fn forget_run(&mut self, run: &str) {
        self.asked.remove(run);
    }

    /// What runs wanted is not wanted any more.
    pub fn drop_of_runs(&mut self) {
        self.jobs.retain(|job| matches!(job.whose, Whose::Command(_)));
        self.asked.clear();
    }

    /// `memory.<name>` of the page's own code.
    #[inline(never)]
    pub(in crate::harness) fn memory_command(
        &mut self,
        core: &mut Core,
        id: u32,
        request: &Request,
        fresh: String,
        shelf: Shelf,
    ) -> Result<(), ErrorInfo> {
        enter(Room::Memory);
        let operator = core.present_operator()?;
        let owner = owner_of(&Owner { subject: Some(&operator.subject), issuer: operator.issuer.as_deref() });
        let args = request.args().all();
        let shelf = match args.get("scope").and_then(Value::as_str) {
            None => shelf,
            Some("workspace") => Shelf::Workspace,
            Some("account") => Shelf::Account,
            Some(_) => {
                let message = [request.command.row().name, " needs \"scope\" to be workspace or account"];
                return Err(ErrorInfo::new(Code::InvalidArguments, message.concat()));
            }
        };
        let name = match request.command {
            Command::MemorySearch => "search",
            Command::MemoryAdd => "add",
            Command::MemoryUpdate => "update",
            Command::MemoryRemove => "remove",
            _ => "list",
        };
        let args = core.secrets.scrubbed_value(args.clone());
        let op = Some(Op::Page { name, args, fresh });
        let owner = owner.unwrap_or_default();
        self.add(core, Job { whose: Whose::Command(id), shelf, owner, op, done: None });
        Ok(())
    }

    /// A tool for memories whose arguments have passed the gate.
    #[inline(never)]
    pub(in crate::harness) fn memory_tool(
        &mut self,
        core: &mut Core,
        call: RunCall,
        name: String,
        args: Value,
        shelf: Shelf,
    ) {
        enter(Room::Memory);
        let Some(session) = core.session(&call.session) else { return };
        let outside = session.outside.clone();
        let Some(owner) = owner_of_session(session) else {
            let error =
                ErrorInfo::new(Code::OperatorRequired, "nobody works here, so nobody's memories are read");
            return core.settle(call.session, call.run, failed_call(&call.tool_call, error));
        };
        let id = id_of(&call.session, &call.run, &call.tool_call);
        let args = core.secrets.scrubbed_value(args);
        let op = Some(Op::Tool { name, args, id, outside });
        self.add(core, Job { whose: Whose::Call(call), shelf, owner, op, done: None });
    }

    /// A run begins, and is told what is relevant.
    #[inline(never)]
    pub(in crate::harness) fn remind(
        &mut self,
        core: &mut Core,
        session: &str,
        run: &str,
        limit: usize,
        shelf: Shelf,
    ) {
        enter(Room::Memory);
        let owner = core.session(session).and_then(owner_of_session);
        self.asked.insert(run, owner.is_none());
        let Some(owner) = owner else {
            return core.follows.next.push_back(Next::Ready { session: session.into() });
        };
        let whose = Whose::Run { session: session.into(), run: run.into(), limit };
        self.add(core, Job { whose, shelf, owner, op: None, done: None });
    }

    fn add(&mut self, core: &mut Core, job: Job) {
        self.jobs.push_back(job);
        self.begin(core);
    }

    /// Begins the next operation: by what is known, else by reading what was written since.
    fn begin(&mut self, core: &mut Core) {
        while self.under_way.is_none()
            && let Some(job) = self.jobs.pop_front()
        {
            if job.whose.is_wanted(core) {
                self.begin_with(core, job);
            }
        }
    }

    fn begin_with(&mut self, core: &mut Core, job: Job) {
        let Some(book) = self.book(&job) else { return };
        if book.is_known()
            && let Some(op) = job.op.as_ref().filter(|op| op.changes())
            && let Ok(Done { commit: Some(commit), value, outside, read }) = op.plan(book, core.now)
        {
            let done = Done { value, outside, read, commit: None };
            return self.store(core, job, done, commit);
        }
        self.read(core, job);
    }

    /// Reads what was written since.
    fn read(&mut self, core: &mut Core, job: Job) {
        let Some(book) = self.book(&job) else { return };
        let reads = book.news();
        self.exchange(core, job, None, reads);
    }

    /// What is stored needs not be read: nobody has written between it and what was known.
    fn store(&mut self, core: &mut Core, mut job: Job, done: Done, mut commit: Commit) {
        job.done = Some((done, Book::news_of(&commit)));
        // A workspace with memories alone is in use: their loss is told as well.
        if job.shelf == Shelf::Workspace {
            commit.writes.push(first_format_write());
        }
        self.exchange(core, job, Some(commit), Vec::new());
    }

    fn exchange(&mut self, core: &mut Core, job: Job, commit: Option<Commit>, reads: Vec<Read>) {
        let id = core.outbox.read_key();
        core.outbox.act(Action::Exchange { id, shelf: job.shelf, commit, reads });
        self.under_way = Some((id, job));
    }

    fn book(&mut self, job: &Job) -> Option<&mut Book> {
        let name =
            [if job.shelf == Shelf::Account { "account\n" } else { "workspace\n" }, &job.owner].concat();
        if !self.books.contains_key(&name) {
            self.books.insert(&name, Book::new(&job.owner));
        }
        self.books.get_mut(&name)
    }

    /// What was written since has come, or what was to be committed is, or that has failed.
    #[inline(never)]
    pub(in crate::harness) fn exchanged(
        &mut self,
        core: &mut Core,
        id: u64,
        result: Result<Vec<Rows>, StoreError>,
    ) {
        enter(Room::Memory);
        let Some((_, mut job)) = self.under_way.take_if(|(under_way, _)| *under_way == id) else { return };
        match result {
            Ok(rows) => {
                let done = job.done.take();
                let Some(book) = self.book(&job) else { return };
                if let Some((done, news)) = done {
                    book.take(&news);
                    self.over(core, job, Ok(done));
                    return self.begin(core);
                }
                book.take(&rows);
                let faults = book.faults();
                if !faults.is_empty() && !std::mem::replace(&mut self.told, true) {
                    faults.iter().for_each(|fault| core.tell_error(fault));
                }
                self.work_out(core, job);
            }
            // Another tab was quicker: its changes are read, and this is worked out again.
            Err(StoreError::Conflict(..)) => {
                job.done = None;
                self.read(core, job);
            }
            Err(error) => self.over(core, job, Err(error.info())),
        }
        self.begin(core);
    }

    fn work_out(&mut self, core: &mut Core, job: Job) {
        let now = core.now;
        let Some(op) = &job.op else { return self.tell(core, job) };
        let Some(book) = self.book(&job) else { return };
        match op.plan(book, now) {
            Ok(Done { value, outside, read, commit: Some(commit) }) => {
                self.store(core, job, Done { value, outside, read, commit: None }, commit);
            }
            result => self.over(core, job, result),
        }
    }

    /// What a run that begins is told.
    fn tell(&mut self, core: &mut Core, job: Job) {
        let Whose::Run { session, run, limit } = &job.whose else { return };
        self.asked.insert(run, true);
        let Some(folded) = core.session(session) else { return };
        let Some(begun) = folded.run(run) else { return };
        let text = begun.prompt.text.clone();
        // What was told before a summary is not sent any more.
        let start = Window::of(&folded.runs).start;
        let start = start.run + usize::from(start.turns > 0);
        let told = folded.runs.iter().skip(start).flat_map(|run| &run.reminded).cloned().list();
        let known = |memory: &Memory| told.iter().any(|(id, text)| *id == memory.id && *text == memory.text);
        let now = core.now;
        let Some(book) = self.book(&job) else { return };
        let found = book.to_tell(&text, now, (*limit, TOLD), &known);
        let pair =
            |memory: &&Memory| Value::Array(vec![memory.id.as_str().into(), memory.text.as_str().into()]);
        let memories = Value::Array(found.iter().map(pair).list());
        if found.is_empty() {
            core.follows.next.push_back(Next::Ready { session: session.clone() });
        } else {
            let memories = core.secrets.scrubbed_value(memories);
            core.settle(session.clone(), run.clone(), Entry::Reminded { memories });
        }
    }

    fn over(&mut self, core: &mut Core, job: Job, result: Result<Done, ErrorInfo>) {
        let Job { whose, shelf, owner, .. } = job;
        match (whose, result) {
            (Whose::Command(id), result) => {
                let result = result.map(|done| (!done.value.is_null()).then(|| json(&done.value)));
                core.outbox.tell(Action::Reply { id, result });
            }
            (Whose::Call(call), _) if !core.is_open(&call.session, &call.run, &call.tool_call) => {}
            (Whose::Call(RunCall { session, run, tool_call }), result) => {
                let entry = match result {
                    Ok(Done { value, outside, read, .. }) => {
                        if !read.is_empty() {
                            let op = Some(Op::Read(read));
                            self.jobs.push_back(Job { whose: Whose::Nobody, shelf, owner, op, done: None });
                        }
                        returned(core, &tool_call, &value, outside)
                    }
                    Err(error) => failed_call(&tool_call, error),
                };
                core.settle(session, run, entry);
            }
            (Whose::Run { session, run, .. }, Err(error)) => {
                self.asked.insert(&run, true);
                core.tell_error(&error);
                core.follows.next.push_back(Next::Ready { session });
            }
            (Whose::Run { .. } | Whose::Nobody, _) => {}
        }
    }
}

impl Whose {
    /// Whether anybody still waits for it.
    fn is_wanted(&self, core: &Core) -> bool {
        match self {
            Whose::Command(_) | Whose::Nobody => true,
            Whose::Call(RunCall { session, run, tool_call }) => core.is_open(session, run, tool_call),
            Whose::Run { session, run, .. } => core.run(session, run).is_some_and(|run| run.ended.is_none()),
        }
    }
}

fn returned(core: &Core, tool_call: &str, value: &Value, of: Outside) -> Entry {
    let text = core.secrets.scrubbed(value.as_str().unwrap_or_default().into());
    let mut entry = returned_entry(tool_call, ToolText::new(text), false);
    if let Entry::Returned { outside, .. } = &mut entry {
        *outside = of;
    }
    entry
}

/// Whose the memories of a session are. `None`: nobody's.
fn owner_of_session(session: &Session) -> Option<String> {
    owner_of(&session.record()?.owner())
}

/// No name of an operator has a line break.
fn owner_of(owner: &Owner<'_>) -> Option<String> {
    Some([owner.issuer.unwrap_or_default(), "\n", owner.subject?].concat())
}
