//! The skills of the account: what this workspace gives to all workspaces of the origin, and what it gets from them.
//!
//! Promises: what a workspace gives is what its configuration says now; what it gives no longer is gone for all. Leaves
//! to others: where they are kept (`browser/`), what a skill is (`prompt/`).

use super::start::Purpose;
use super::{Action, After, Harness};
use crate::list::Listed;
use crate::ports::StoreError;
use crate::prompt::{self, Scope, Skill};

impl Harness {
    /// Gives the skills of this configuration to the account, and asks for those of the others.
    pub(super) fn give_to_account(&mut self, skills: &[Skill], starting: bool) {
        let given = skills.iter().filter(|skill| skill.scope == Scope::Account);
        let skills = given.map(|skill| (skill.name.clone(), prompt::to_row(skill))).list();
        let (id, workspace) = (self.core.read_key(), self.core.options.name.clone());
        self.reads.under_way.insert(id, After::Account { starting });
        self.core.outbox.act(Action::Account { id, workspace, skills });
    }

    /// The same for a start that has the workspace.
    pub(super) fn start_with_account(&mut self) {
        let skills = match self.start.as_ref().map(|start| &start.purpose) {
            Some(Purpose::Run { config, .. }) => config.skills.clone(),
            _ => return self.look_around(),
        };
        self.give_to_account(&skills, true);
    }

    /// The account's skills have come.
    pub(super) fn account_read(&mut self, read: u64, result: Result<Vec<String>, StoreError>) {
        let Some(After::Account { starting }) = self.reads.under_way.remove(read) else { return };
        match result {
            Ok(rows) => self.runner.setup.account = prompt::from_rows(rows.iter().map(String::as_str)),
            Err(error) if starting => return self.fail(error.info()),
            // It was another configuration of a running agent: what it gave is there at the next start.
            Err(_) => return,
        }
        if starting {
            self.look_around();
        } else {
            self.runner.take_config(&mut self.core, self.runner.setup.config.clone());
        }
    }
}
