//! Operations on pages: from the page's own code, from `tools.execute` and from a run.
//!
//! Decides which operation is worked out next, and on which pages. Promises: each is worked out against the pages as they are
//! in the database. What other tabs changed is read first, and a commit that comes too late is worked out again. A page
//! tool of a run commits its changes and its outcome together, so that it happens exactly once. Where rows do not agree,
//! all are read, and each page that is damaged is told of once. Leaves to others: what an operation does, what is
//! damaged (`workspace/`), and whether a call may run (`tools/permit.rs`).
//!
//! What cannot be inlined here is a door of the room `pages` (`crate::rooms`). It is passed only where an operation was
//! asked for, and then the room has come. What is done now and then is in the room `upkeep`: rows that were read for it
//! wait for that.

use crate::error::ErrorInfo;
use crate::harness::action::Action;
use crate::harness::calls::outcome::{failed_call, returned_entry, tool_value};
use crate::harness::calls::{Owner, RunCall};
use crate::harness::core::head::Head;
use crate::harness::core::integrity::signed_head;
use crate::harness::core::stored::{FORMAT_KEY, check_format, first_format_write};
use crate::harness::core::{Core, Next};
use crate::journal::{Entry, Header, Outside, Row};
use crate::json::json;
use crate::list::Listed;
use crate::maps::{Few, Named};
use crate::object::Object;
use crate::ports::{Commit, Durability, Key, Part, Read, Rows, StoreError, Table, Write};
use crate::protocol::Request;
use crate::rooms::{Room, enter};
use crate::tools::{ToolText, pages};
use crate::workspace::{Doubt, Missed, Op, Outcome, PageTree, Pending, Plan, Seen};
use serde_json::Value;
use std::collections::VecDeque;

/// What is to be done.
#[derive(Clone, Debug)]
enum What {
    Op(Op),
    /// `upkeep`: what it does is in that room.
    Tool {
        name: String,
        args: Value,
        upkeep: bool,
        /// What the person saw of the page that has allowed it.
        seen: Option<Seen>,
    },
}

/// One operation on its way.
#[derive(Clone, Debug)]
struct Job {
    owner: Owner,
    what: What,
    /// What it waits for besides the pages.
    pending: Option<Wait>,
}

/// Rows that only the store has.
#[derive(Clone, Debug)]
enum Wait {
    Op(Pending),
    Tool(pages::Pending),
}

/// What a job leads to: its end, or rows that it needs first.
enum Planned {
    Done(Done),
    Wait(Wait),
}

impl Job {
    /// Whether it was asked for by the page's own code, not by a run.
    pub fn is_of_page(&self) -> bool {
        matches!(self.owner, Owner::Command(_))
    }

    /// Whether it is a tool of the room `upkeep`. A command says by its row what it needs.
    fn needs_upkeep(&self) -> bool {
        matches!(&self.what, What::Tool { upkeep: true, .. })
    }

    /// Answers its command, if it is for one.
    fn answer(&self, core: &mut Core, result: Result<Value, ErrorInfo>) {
        let Owner::Command(command) = self.owner else { return };
        let result = result.map(|value| match (&self.what, value) {
            (What::Tool { .. }, Value::String(text)) => tool_value(&ToolText::new(text), false),
            (_, value) => value,
        });
        let json = result.map(|value| (!value.is_null()).then(|| json(&value)));
        core.outbox.tell(Action::Reply { id: command, result: json });
    }

    /// Whether anybody still waits for it.
    fn is_wanted(&self, core: &Core) -> bool {
        match &self.owner {
            Owner::Command(_) => true,
            Owner::Run(RunCall { session, run, tool_call }) => core.is_open(session, run, tool_call),
        }
    }
}

/// What a read is for.
#[derive(Debug)]
enum After {
    /// Pages, all or the changed ones.
    Pages(Refresh),
    /// What an operation needs besides the pages.
    Rows(Box<Job>),
}

/// Jobs that wait until the pages are as they are in the database.
#[derive(Debug)]
struct Refresh {
    pub jobs: Vec<Job>,
    stage: Stage,
}

/// What is read.
#[derive(Debug)]
enum Stage {
    /// All pages, or what has changed since they were read.
    Look,
    /// The pages that have changed until the change of this number, with what the rows add up to then.
    Changed(u64, Rows),
    /// All rows, because some do not agree with each other.
    Survey,
    /// The earlier contents of the pages that are damaged.
    Former,
}

/// A job that is worked out.
#[derive(Debug)]
struct Done {
    /// What the caller gets: the value of an operation, or the text of a tool.
    value: Value,
    plan: Plan,
}

/// What goes with a commit and becomes true with it.
#[derive(Debug)]
struct Step {
    done: Done,
    row: Option<(Header, Entry, Row)>,
}

/// The pages, and the operations on them that are under way.
#[derive(Debug, Default)]
pub(in crate::harness) struct Pages {
    /// As they were read last.
    tree: Option<PageTree>,
    /// What is to be committed.
    jobs: VecDeque<Job>,
    commit: Option<(u64, Job, Step)>,
    reads: Few<u64, After>,
    refreshing: bool,
    /// The damaged pages that were told of.
    told: Named<()>,
    /// How many pages without a name were told of.
    told_nameless: u64,
    refresh_queue: Vec<Job>,
}

impl Pages {
    /// Whether a change is on its way to the store.
    pub fn is_committing(&self) -> bool {
        self.commit.is_some()
    }

    /// Whether it is this commit.
    pub fn commits(&self, commit: u64) -> bool {
        self.commit.as_ref().is_some_and(|(id, ..)| *id == commit)
    }

    /// Whether changes wait to be committed.
    pub fn has_changes(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// What runs wanted to change is not wanted any more.
    pub fn drop_of_runs(&mut self) {
        self.jobs.retain(Job::is_of_page);
    }

    /// What comes of a run's change that is on its way concerns nobody any more.
    pub fn drop_commit_of_run(&mut self) {
        self.commit.take_if(|(_, job, _)| !job.is_of_page());
    }

    /// `pages.<name>` of the page's own code.
    #[inline(never)]
    pub(in crate::harness) fn page_command(&mut self, core: &mut Core, command: u32, request: &Request) {
        enter(Room::Pages);
        let what = What::Op(Op::of(request));
        self.page_job(core, Job { owner: Owner::Command(command), what, pending: None });
    }

    /// A page tool whose arguments have passed the gate.
    #[inline(never)]
    pub(in crate::harness) fn page_tool(
        &mut self,
        core: &mut Core,
        owner: Owner,
        name: String,
        args: Value,
        seen: Option<Seen>,
    ) {
        enter(Room::Pages);
        let upkeep = pages::needs_upkeep(&name);
        self.page_job(core, Job { owner, what: What::Tool { name, args, upkeep, seen }, pending: None });
    }

    fn page_job(&mut self, core: &mut Core, job: Job) {
        self.refresh_queue.push(job);
        self.refresh(core);
    }

    fn refresh(&mut self, core: &mut Core) {
        if self.refreshing {
            return;
        }
        let Some(first) = self.refresh_queue.first() else { return };
        // Where a room does not come, those that do without it have their answers.
        let needs = first.needs_upkeep();
        let alike = self.refresh_queue.iter().take_while(|job| job.needs_upkeep() == needs).count();
        let jobs = self.refresh_queue.drain(..alike).list();
        self.refreshing = true;
        let mut reads = match &self.tree {
            None => PageTree::reads().to_vec(),
            Some(tree) => tree.missed().to_vec(),
        };
        reads.push(Read::all(Table::Meta, vec![FORMAT_KEY.into()]));
        self.read_on(core, jobs, Stage::Look, reads);
    }

    fn read_on(&mut self, core: &mut Core, jobs: Vec<Job>, stage: Stage, reads: Vec<Read>) {
        let read = core.read(reads);
        self.reads.insert(read, After::Pages(Refresh { jobs, stage }));
    }

    fn pages_read(&mut self, core: &mut Core, refresh: Refresh, rows: Vec<Rows>) {
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        // What a newer version has written since this tab opened the workspace, it does not understand.
        let is_look = matches!(refresh.stage, Stage::Look);
        let format = rows.last().filter(|_| is_look).and_then(|rows| rows.first());
        if let Err(error) = check_format(format.map(|(_, text)| &**text)) {
            return self.refresh_failed(core, refresh, &error.info());
        }
        let result = match (&mut self.tree, refresh.stage) {
            (tree, Stage::Survey) => {
                let surveyed = PageTree::survey(part(0), part(1), part(2), part(3));
                let reads = surveyed.former_reads();
                *tree = Some(surveyed);
                Ok((!reads.is_empty()).then_some((Stage::Former, reads)))
            }
            (Some(tree), Stage::Former) => {
                tree.take_former(&rows);
                Ok(None)
            }
            (Some(tree), Stage::Changed(rev, head)) => {
                let all: Rows = rows.iter().flatten().cloned().list();
                tree.apply_rows(rev, &all).and_then(|()| tree.agree(&head)).map(|()| None)
            }
            (Some(tree), Stage::Look) => match Missed::from_rows(part(0), tree.rev()) {
                Ok(Some(missed)) => Ok(Some((Stage::Changed(missed.rev, part(1).clone()), missed.reads))),
                // The change that somebody else has counted may be gone.
                Ok(None) => tree.agree(part(1)).map(|()| None),
                Err(doubt) => Err(doubt),
            },
            (tree, _) => PageTree::load(part(0), part(1), part(2)).map(|loaded| {
                *tree = Some(loaded);
                None
            }),
        };
        match result {
            Ok(Some((stage, reads))) => self.read_on(core, refresh.jobs, stage, reads),
            Ok(None) => {
                self.refreshing = false;
                self.tell_damage(core);
                for job in refresh.jobs {
                    self.work_out(core, job);
                }
                self.refresh(core);
            }
            Err(Doubt) => self.read_on(core, refresh.jobs, Stage::Survey, PageTree::all_reads()),
        }
    }

    /// Tells of the damaged pages that nobody was told of yet.
    fn tell_damage(&mut self, core: &mut Core) {
        let Some(tree) = &self.tree else { return };
        let missing = tree.nameless();
        let mut is_new = missing > self.told_nameless;
        self.told_nameless = missing;
        for slug in tree.damaged() {
            is_new |= self.told.insert(slug, ()).is_none();
        }
        if is_new {
            let mut detail = Object::new();
            detail.text("workspace", &core.options.name).text("kind", "damaged");
            detail.all(tree.damages());
            core.send("agent:notice", detail, false);
        }
    }

    /// Whether these rows are for the room `upkeep`: they do not agree, or a tool of it goes on with them.
    pub(in crate::harness) fn needs_upkeep(&self, read: u64) -> bool {
        let Some(After::Pages(refresh)) = self.reads.get(read) else { return false };
        matches!(refresh.stage, Stage::Survey | Stage::Former) || refresh.jobs.iter().any(Job::needs_upkeep)
    }

    /// Whether these rows are for pages.
    pub(in crate::harness) fn awaits(&self, read: u64) -> bool {
        self.reads.get(read).is_some()
    }

    /// Rows were read, or cannot be understood.
    #[inline(never)]
    pub(in crate::harness) fn rows_came(
        &mut self,
        core: &mut Core,
        read: u64,
        result: Result<Vec<Rows>, ErrorInfo>,
    ) {
        enter(Room::Pages);
        match (self.reads.remove(read), result) {
            (Some(After::Pages(refresh)), Ok(rows)) => self.pages_read(core, refresh, rows),
            (Some(After::Pages(refresh)), Err(error)) => self.refresh_failed(core, refresh, &error),
            (Some(After::Rows(job)), Ok(rows)) => self.page_rows(core, *job, rows),
            (Some(After::Rows(job)), Err(error)) => self.page_job_done(core, *job, Err(error)),
            (None, _) => {}
        }
    }

    fn refresh_failed(&mut self, core: &mut Core, refresh: Refresh, error: &ErrorInfo) {
        self.refreshing = false;
        for job in refresh.jobs {
            self.page_job_done(core, job, Err(error.clone()));
        }
        self.refresh(core);
    }

    fn page_rows(&mut self, core: &mut Core, mut job: Job, rows: Vec<Rows>) {
        let rows = rows.into_iter().next().unwrap_or_default();
        let result = match job.pending.take() {
            Some(Wait::Op(pending)) => pending.finish(&rows).map(done),
            Some(Wait::Tool(pending)) => pending.finish(&rows).map(done_tool),
            None => return,
        };
        self.worked_out(core, job, result);
    }

    /// What a job leads to with the pages as they are known now. Changes nothing.
    fn plan_of(&self, core: &Core, job: &Job) -> Option<Result<Planned, ErrorInfo>> {
        let tree = self.tree.as_ref()?;
        let nothing = Outside::default();
        // What the page's own code writes is a person's.
        let outside = match &job.owner {
            Owner::Command(_) => &nothing,
            Owner::Run(of) => core.session(&of.session).map_or(&nothing, |session| &session.outside),
        };
        Some(match &job.what {
            What::Op(op) => tree.plan(op, core.now).map(|outcome| match outcome {
                Outcome::Done(plan) => Planned::Done(done(plan)),
                Outcome::Read(pending) => Planned::Wait(Wait::Op(pending)),
            }),
            What::Tool { name, args, seen, .. } => pages::run(name, args, tree, core.now, outside, *seen)
                .map(|called| match called {
                    pages::Called::Done(tool) => Planned::Done(done_tool(tool)),
                    pages::Called::Read(pending) => Planned::Wait(Wait::Tool(pending)),
                }),
        })
    }

    fn work_out(&mut self, core: &mut Core, mut job: Job) {
        if !job.is_wanted(core) {
            return;
        }
        match self.plan_of(core, &job) {
            Some(Ok(Planned::Done(done))) => self.worked_out(core, job, Ok(done)),
            Some(Ok(Planned::Wait(wait))) => {
                let read: Read = match &wait {
                    Wait::Op(pending) => pending.read().clone(),
                    Wait::Tool(pending) => pending.read().clone(),
                };
                job.pending = Some(wait);
                let read = core.read(vec![read]);
                self.reads.insert(read, After::Rows(Box::new(job)));
            }
            Some(Err(error)) => self.worked_out(core, job, Err(error)),
            None => {}
        }
    }

    fn worked_out(&mut self, core: &mut Core, job: Job, result: Result<Done, ErrorInfo>) {
        match result {
            // What changes pages is worked out once more at the moment it is sent.
            Ok(done) if !done.plan.writes.is_empty() => {
                self.jobs.push_back(job);
                core.outbox.hurry();
            }
            result => self.page_job_done(core, job, result),
        }
    }

    /// Sends the next change of pages, in a commit of its own. `false`: nothing changed.
    #[inline(never)]
    pub(in crate::harness) fn send_page_commit(&mut self, core: &mut Core) -> bool {
        enter(Room::Pages);
        let Some(job) = self.jobs.pop_front() else { return false };
        if !job.is_wanted(core) {
            return true;
        }
        let done = match self.plan_of(core, &job) {
            Some(Ok(Planned::Done(done))) if !done.plan.writes.is_empty() => done,
            Some(Ok(Planned::Done(done))) => {
                self.page_job_done(core, job, Ok(done));
                return true;
            }
            Some(Err(error)) => {
                self.page_job_done(core, job, Err(error));
                return true;
            }
            // What changes pages never waits for rows.
            Some(Ok(Planned::Wait(_))) | None => return true,
        };
        let mut expect = done.plan.expect.clone();
        let mut writes = done.plan.writes.clone();
        let mut row = None;
        match &job.owner {
            Owner::Command(_) => writes.push(first_format_write()),
            Owner::Run(RunCall { session, run, tool_call }) => {
                let entry = outcome_entry(tool_call, &done);
                let Some(slot) = core.sessions.get(session) else { return true };
                let (header, stored) = slot.session.row(core.now, Some(run), &entry);
                let head = Head::parse(&json(&slot.session.head_after(core.now, &header, &stored)));
                let key: Key = vec![session.as_str().into(), Part::Number(header.seq)];
                writes.push(Write::Put { table: Table::Entries, key, value: stored.to_text() });
                writes.push(signed_head(session, &head));
                expect.push(core.guard());
                row = Some((header, entry, stored));
            }
        }
        let commit = Commit { expect, writes, durability: Durability::Strict };
        let id = core.outbox.send_alone(core.now, commit);
        self.commit = Some((id, job, Step { done, row }));
        true
    }

    #[inline(never)]
    pub(in crate::harness) fn page_committed(&mut self, core: &mut Core, result: Result<(), StoreError>) {
        enter(Room::Pages);
        let Some((_, job, step)) = self.commit.take() else { return };
        match result {
            Ok(()) => {
                if let Some(tree) = &mut self.tree {
                    tree.accept(step.done.plan);
                }
                match step.row {
                    None => job.answer(core, Ok(step.done.value)),
                    Some((header, entry, row)) => self.stored_outcome(core, &job, &header, entry, &row),
                }
            }
            // Another tab was quicker: its changes are read, and this is worked out again.
            Err(StoreError::Conflict(Table::Meta, key)) if key == vec![Part::from("pages_rev")] => {
                self.page_job(core, job)
            }
            Err(error) => match &job.owner {
                Owner::Command(_) => job.answer(core, Err(error.info())),
                Owner::Run(_) => core.fail(error.info()),
            },
        }
    }

    fn stored_outcome(&mut self, core: &mut Core, job: &Job, header: &Header, entry: Entry, row: &Row) {
        let Owner::Run(RunCall { session, .. }) = &job.owner else { return };
        let accepted =
            core.sessions.get_mut(session).map(|slot| slot.session.accept(header, Some(&entry), row));
        match accepted {
            Some(Ok(())) => {
                if let Some(slot) = core.sessions.get_mut(session) {
                    slot.written = header.seq;
                }
                let (session, run) = (session.clone(), header.run.clone());
                core.follows.next.push_back(Next::Stored { session, run, entry: Box::new(entry) });
            }
            Some(Err(error)) => core.fail(error),
            None => {}
        }
    }

    /// Nothing is to be written: the answer is all there is.
    fn page_job_done(&mut self, core: &mut Core, job: Job, result: Result<Done, ErrorInfo>) {
        match &job.owner {
            Owner::Command(_) => job.answer(core, result.map(|done| done.value)),
            // It may have ended otherwise while rows were read.
            Owner::Run(_) if !job.is_wanted(core) => {}
            Owner::Run(RunCall { session, run, tool_call }) => {
                let entry = match result {
                    Ok(done) => outcome_entry(tool_call, &done),
                    Err(error) => failed_call(tool_call, error),
                };
                core.settle(session.clone(), run.clone(), entry);
            }
        }
    }
}

fn done(plan: Plan) -> Done {
    Done { value: plan.value.clone(), plan }
}

fn done_tool(tool: pages::Done) -> Done {
    Done { value: tool.text.into(), plan: tool.plan }
}

fn outcome_entry(tool_call: &str, done: &Done) -> Entry {
    let text = ToolText::new(done.value.as_str().unwrap_or_default().into());
    let mut entry = returned_entry(tool_call, text, false);
    if let Entry::Returned { outside, .. } = &mut entry {
        outside.clone_from(&done.plan.outside);
    }
    entry
}
