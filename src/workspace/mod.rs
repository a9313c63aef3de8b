//! The pages of a workspace.
pub mod args;
pub mod op;
pub mod page;
pub mod plan;

pub use op::Op;
pub use page::Page;
pub use plan::{Missed, Outcome, Pending, Plan};

use crate::error::{Code, ErrorInfo};
use crate::ports::{Millis, Read, Rows};

/// All pages, and what is known about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workspace {
    rev: u64,
}

impl Workspace {
    /// The reads whose rows `load` takes, to be made in this order (or in one transaction).
    pub fn reads() -> [Read; 2] {
        plan::load_reads()
    }

    /// From the rows of the two [`Workspace::reads`].
    pub fn load(rev: &Rows, pages: &Rows) -> Result<Workspace, ErrorInfo> {
        let _ = (rev, pages);
        Ok(Workspace::default())
    }

    /// The number of the last change that is known here.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// What to read after a conflict, or when another tab tells of a change: the changes not known here.
    pub fn missed(&self) -> Read {
        plan::missed(self.rev)
    }

    /// Takes over what another tab changed: the pages' rows as they are after change `rev`.
    pub fn apply_rows(&mut self, rev: u64, pages: &Rows) -> Result<(), ErrorInfo> {
        let _ = pages;
        self.rev = rev;
        Ok(())
    }

    /// What an operation leads to. Changes nothing.
    pub fn plan(&self, op: &Op, now: Millis) -> Result<Outcome, ErrorInfo> {
        let _ = (op, now);
        Err(ErrorInfo::new(Code::UnknownCommand, "not there yet"))
    }

    /// Takes over a plan whose commit went through.
    pub fn accept(&mut self, plan: Plan) {
        self.rev = self.rev.max(plan.rev());
    }

    /// A page that is not in the trash.
    pub fn page(&self, slug: &str) -> Option<&Page> {
        let _ = slug;
        None
    }
}
