//! The skills of the account: what this workspace gives to all workspaces of the origin, and what it gets from them.
//!
//! Promises: what a workspace gives is what its configuration says now. What it gives no longer is gone for all. Leaves
//! to others: where they are kept (`browser/`), what a skill is (`prompt/`).

use crate::harness::config::Config;
use crate::harness::core::Core;
use crate::harness::holding::Holding;
use crate::harness::holding::start::Aim;
use crate::harness::reads::{After, Reads};
use crate::harness::runner::Runner;
use crate::list::Listed;
use crate::ports::StoreError;
use crate::prompt::{self, Scope, Skill};

impl Holding {
    /// The same for a start that has the workspace.
    pub(in crate::harness) fn start_with_account(&mut self, core: &mut Core, reads: &mut Reads) {
        match self.skills() {
            Some(skills) => reads.give_to_account(core, skills, true),
            None => self.look_around(core, reads),
        }
    }

    /// Those of the start that is under way. `None`: it runs no agent.
    fn skills(&self) -> Option<&[Skill]> {
        match &self.start.as_ref()?.aim {
            Aim::Run { config, .. } => Some(&config.skills),
            _ => None,
        }
    }

    /// Whether the start that is under way gives skills to all workspaces.
    fn gives_to_account(&self) -> bool {
        self.skills().is_some_and(|skills| skills.iter().any(|skill| skill.scope == Scope::Account))
    }

    /// The account's skills have come.
    pub(in crate::harness) fn account_read(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        reads: &mut Reads,
        read: u64,
        result: Result<Vec<String>, StoreError>,
    ) {
        let Some(After::Account { starting }) = reads.under_way.remove(read) else { return };
        match result {
            Ok(rows) => {
                let read =
                    |row: &String| prompt::from_row(row).inspect_err(|error| core.tell_error(error)).ok();
                runner.setup.account = rows.iter().filter_map(read).list();
            }
            Err(error) if starting && self.gives_to_account() => {
                return self.fail(core, runner, reads, error.info());
            }
            // The agent works without what others give. What another configuration of a running agent gives is tried again at
            // the next start.
            Err(error) => {
                core.tell_error(&error.info());
                if !starting {
                    return;
                }
            }
        }
        if starting {
            self.look_around(core, reads);
        } else {
            runner.take_config(core, Config::clone(&runner.setup.config));
        }
    }
}
