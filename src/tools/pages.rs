//! The twelve tools on the workspace's pages.

use super::definition::Definition;
use crate::error::{Code, ErrorInfo};
use crate::ports::{Millis, Read, Rows};
use crate::workspace::{Plan, Workspace};
use serde_json::Value;

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    /// It is worked out.
    Done(Done),
    /// It needs rows that are only in the store.
    Read(Pending),
}

/// A call that is worked out: what it says, and the writes that make it true.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// What the tool says, not cut yet.
    pub text: String,
    /// What to commit with the call's outcome, then give to `Workspace::accept`.
    pub plan: Plan,
}

/// A call that waits for rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    pending: crate::workspace::Pending,
}

impl Pending {
    /// The rows it waits for.
    pub fn read(&self) -> &Read {
        self.pending.read()
    }

    /// Goes on with the rows of [`Pending::read`].
    pub fn finish(self, rows: &Rows) -> Result<Done, ErrorInfo> {
        let plan = self.pending.finish(rows)?;
        Ok(Done { text: String::new(), plan })
    }
}

/// The twelve, in their order.
pub fn definitions() -> Vec<Definition> {
    Vec::new()
}

/// Works out a call whose arguments have passed the gate. Changes nothing.
pub fn run(name: &str, args: &Value, workspace: &Workspace, now: Millis) -> Result<Run, ErrorInfo> {
    let _ = (args, workspace, now);
    Err(ErrorInfo::new(Code::ToolNotFound, format!("no page tool is called '{name}'")))
}
