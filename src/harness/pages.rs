//! Operations on pages: from the page's own code, from `tools.execute` and from a run.
//!
//! Every one is worked out against the pages as they are in the database, whoever wrote them last: what other
//! tabs changed is read first, and a commit that comes too late is worked out again. A page tool of a run
//! commits its changes and its outcome together, so that it happens exactly once.

use super::calls::RunCall;
use super::outcome::{failed_call, returned_entry, tool_value};
use super::sessions::{Head, signed_head};
use super::{Action, After, Harness, start};
use crate::error::ErrorInfo;
use crate::journal::{Entry, Header, Row};
use crate::json::json;
use crate::list::Listed;
use crate::ports::{Commit, Durability, Key, Part, Read, Rows, StoreError, Table, Write};
use crate::protocol::Request;
use crate::tools::{ToolText, pages};
use crate::workspace::{Missed, Op, Outcome, Pending, Plan, Workspace};
use serde_json::Value;

/// For whom it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A command of the page.
    Command(u32),
    /// A tool call of a run.
    Run(RunCall),
}

/// What is to be done.
#[derive(Clone, Debug)]
enum What {
    Op(Op),
    Tool { name: String, args: Value },
}

/// One operation on its way.
#[derive(Clone, Debug)]
pub(super) struct Job {
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
}

/// Jobs that wait until the pages are as they are in the database.
#[derive(Debug)]
pub(super) struct Refresh {
    pub jobs: Vec<Job>,
    /// The number of the last change that the second read brings; `None`: this is the first read.
    rev: Option<u64>,
}

/// A job that is worked out.
#[derive(Debug)]
pub(super) struct Done {
    /// What the caller gets: the value of an operation, or the text of a tool.
    value: Value,
    plan: Plan,
}

/// What goes with a commit and becomes true with it.
#[derive(Debug)]
pub(super) struct Step {
    done: Done,
    row: Option<(Header, Entry, Row)>,
}

impl Harness {
    /// `pages.<name>` of the page's own code.
    pub(super) fn page_command(&mut self, command: u32, request: &Request) {
        let what = What::Op(Op::of(request));
        self.page_job(Job { owner: Owner::Command(command), what, pending: None });
    }

    /// A page tool whose arguments have passed the gate.
    pub(super) fn page_tool(&mut self, owner: Owner, name: String, args: Value) {
        self.page_job(Job { owner, what: What::Tool { name, args }, pending: None });
    }

    fn page_job(&mut self, job: Job) {
        self.refresh_queue.push(job);
        self.refresh();
    }

    pub(super) fn refresh(&mut self) {
        if self.refreshing {
            return;
        }
        let jobs = std::mem::take(&mut self.refresh_queue);
        if jobs.is_empty() {
            return;
        }
        self.refreshing = true;
        let reads = match &self.workspace {
            None => Workspace::reads().to_vec(),
            Some(workspace) => vec![workspace.missed()],
        };
        self.read(reads, After::Pages(Refresh { jobs, rev: None }));
    }

    pub(super) fn pages_read(&mut self, refresh: Refresh, rows: Vec<Rows>) {
        let empty = Rows::new();
        let part = |n: usize| rows.get(n).unwrap_or(&empty);
        let result = match (&mut self.workspace, refresh.rev) {
            (None, _) => Workspace::load(part(0), part(1)).map(|workspace| {
                self.workspace = Some(workspace);
                None
            }),
            (Some(workspace), Some(rev)) => {
                let all: Rows = rows.iter().flatten().cloned().list();
                workspace.apply_rows(rev, &all).map(|()| None)
            }
            (Some(_), None) => Missed::from_rows(part(0)),
        };
        match result {
            Ok(Some(missed)) => {
                self.read(missed.reads, After::Pages(Refresh { rev: Some(missed.rev), ..refresh }));
            }
            Ok(None) => {
                self.refreshing = false;
                for job in refresh.jobs {
                    self.work_out(job);
                }
                self.refresh();
            }
            Err(error) => self.read_failed(After::Pages(refresh), &error),
        }
    }

    pub(super) fn page_rows(&mut self, mut job: Job, rows: Vec<Rows>) {
        let rows = rows.into_iter().next().unwrap_or_default();
        let result = match job.pending.take() {
            Some(Wait::Op(pending)) => pending.finish(&rows).map(done),
            Some(Wait::Tool(pending)) => pending.finish(&rows).map(done_tool),
            None => return,
        };
        self.worked_out(job, result);
    }

    /// What a job leads to with the pages as they are known now. Changes nothing.
    fn plan_of(&self, what: &What) -> Option<Result<Planned, ErrorInfo>> {
        let workspace = self.workspace.as_ref()?;
        Some(match what {
            What::Op(op) => workspace.plan(op, self.now).map(|outcome| match outcome {
                Outcome::Done(plan) => Planned::Done(done(plan)),
                Outcome::Read(pending) => Planned::Wait(Wait::Op(pending)),
            }),
            What::Tool { name, args } => pages::run(name, args, workspace, self.now).map(|run| match run {
                pages::Run::Done(tool) => Planned::Done(done_tool(tool)),
                pages::Run::Read(pending) => Planned::Wait(Wait::Tool(pending)),
            }),
        })
    }

    fn work_out(&mut self, mut job: Job) {
        if !self.is_wanted(&job) {
            return;
        }
        match self.plan_of(&job.what) {
            Some(Ok(Planned::Done(done))) => self.worked_out(job, Ok(done)),
            Some(Ok(Planned::Wait(wait))) => {
                let read: Read = match &wait {
                    Wait::Op(pending) => pending.read().clone(),
                    Wait::Tool(pending) => pending.read().clone(),
                };
                job.pending = Some(wait);
                self.read(vec![read], After::PageRows(Box::new(job)));
            }
            Some(Err(error)) => self.worked_out(job, Err(error)),
            None => {}
        }
    }

    fn worked_out(&mut self, job: Job, result: Result<Done, ErrorInfo>) {
        match result {
            // What changes pages is worked out once more at the moment it is sent.
            Ok(done) if !done.plan.writes.is_empty() => {
                self.page_jobs.push_back(job);
                self.outbox.hurry();
            }
            result => self.page_job_done(job, result),
        }
    }

    /// Sends the next change of pages, in a commit of its own. `false`: nothing changed.
    pub(super) fn send_page_commit(&mut self) -> bool {
        let Some(job) = self.page_jobs.pop_front() else { return false };
        if !self.is_wanted(&job) {
            return true;
        }
        let done = match self.plan_of(&job.what) {
            Some(Ok(Planned::Done(done))) if !done.plan.writes.is_empty() => done,
            Some(Ok(Planned::Done(done))) => {
                self.page_job_done(job, Ok(done));
                return true;
            }
            Some(Err(error)) => {
                self.page_job_done(job, Err(error));
                return true;
            }
            // What changes pages never waits for rows.
            Some(Ok(Planned::Wait(_))) | None => return true,
        };
        let mut expect = done.plan.expect.clone();
        let mut writes = done.plan.writes.clone();
        let mut row = None;
        match &job.owner {
            Owner::Command(_) => writes.push(start::format_write()),
            Owner::Run(RunCall { session, run, tool_call }) => {
                let entry = outcome_entry(tool_call, &done.value);
                let Some(slot) = self.sessions.get(session) else { return true };
                let (header, stored) = slot.session.row(self.now, Some(run), &entry);
                let head = Head::parse(&json(&slot.session.head_after(self.now, &header, &stored)));
                let key: Key = vec![session.as_str().into(), Part::Number(header.seq)];
                writes.push(Write::Put { table: Table::Entries, key, value: stored.to_text() });
                writes.push(signed_head(session, &head));
                expect.push(self.guard());
                row = Some((header, entry, stored));
            }
        }
        let commit = Commit { expect, writes, durability: Durability::Strict };
        let id = self.outbox.send_alone(self.now, commit);
        self.page_commit = Some((id, job, Step { done, row }));
        true
    }

    pub(super) fn page_committed(&mut self, result: Result<(), StoreError>) {
        let Some((_, job, step)) = self.page_commit.take() else { return };
        match result {
            Ok(()) => {
                if let Some(workspace) = &mut self.workspace {
                    workspace.accept(step.done.plan);
                }
                match step.row {
                    None => self.page_job_answer(&job, Ok(step.done.value)),
                    Some((header, entry, row)) => self.stored_outcome(&job, &header, &entry, &row),
                }
            }
            // Another tab was quicker: its changes are read, and this is worked out again.
            Err(StoreError::Conflict(Table::Meta, key)) if key == vec![Part::from("pages_rev")] => {
                self.page_job(job)
            }
            Err(error) => match &job.owner {
                Owner::Command(_) => self.page_job_answer(&job, Err(error.info())),
                Owner::Run(_) => self.fail(error.info()),
            },
        }
    }

    fn stored_outcome(&mut self, job: &Job, header: &Header, entry: &Entry, row: &Row) {
        let Owner::Run(RunCall { session, .. }) = &job.owner else { return };
        let accepted =
            self.sessions.get_mut(session).map(|slot| slot.session.accept(header, Some(entry), row));
        match accepted {
            Some(Ok(())) => {
                if let Some(slot) = self.sessions.get_mut(session) {
                    slot.head = header.seq;
                }
                self.after(session, header.run.as_deref(), entry);
                self.advance(session);
            }
            Some(Err(error)) => self.fail(error),
            None => {}
        }
    }

    /// Nothing is to be written: the answer is all there is.
    pub(super) fn page_job_done(&mut self, job: Job, result: Result<Done, ErrorInfo>) {
        match &job.owner {
            Owner::Command(_) => self.page_job_answer(&job, result.map(|done| done.value)),
            // It may have ended otherwise while rows were read.
            Owner::Run(_) if !self.is_wanted(&job) => {}
            Owner::Run(RunCall { session, run, tool_call }) => {
                let entry = match result {
                    Ok(done) => outcome_entry(tool_call, &done.value),
                    Err(error) => failed_call(tool_call, error),
                };
                self.settle(session, run, &entry);
            }
        }
    }

    fn page_job_answer(&mut self, job: &Job, result: Result<Value, ErrorInfo>) {
        let Owner::Command(command) = job.owner else { return };
        let result = result.map(|value| match (&job.what, value) {
            (What::Tool { .. }, Value::String(text)) => tool_value(&ToolText::new(text), false),
            (_, value) => value,
        });
        let json = result.map(|value| (!value.is_null()).then(|| json(&value)));
        self.outbox.tell(Action::Reply { id: command, result: json });
    }

    fn is_wanted(&self, job: &Job) -> bool {
        match &job.owner {
            Owner::Command(_) => true,
            Owner::Run(RunCall { session, run, tool_call }) => self.is_open(session, run, tool_call),
        }
    }
}

fn done(plan: Plan) -> Done {
    Done { value: plan.value.clone(), plan }
}

fn done_tool(tool: pages::Done) -> Done {
    Done { value: tool.text.into(), plan: tool.plan }
}

fn outcome_entry(tool_call: &str, value: &Value) -> Entry {
    let text = ToolText::new(value.as_str().unwrap_or_default().into());
    returned_entry(tool_call, text, false)
}
