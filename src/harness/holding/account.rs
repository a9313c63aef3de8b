//! The skills of the account: what this workspace gives to all workspaces of the origin, and what it gets from them.
//!
//! Promises: what a workspace gives is what its configuration says now; what it gives no longer is gone for all. Leaves
//! to others: where they are kept (`browser/`), what a skill is (`prompt/`).

use crate::harness::action::Action;
use crate::harness::core::Core;
use crate::harness::holding::Holding;
use crate::harness::holding::start::Purpose;
use crate::harness::reads::{After, Reads};
use crate::harness::runner::Runner;
use crate::list::Listed;
use crate::ports::StoreError;
use crate::prompt::{self, Scope, Skill};

impl Reads {
    /// Gives the skills of this configuration to the account, and asks for those of the others.
    pub(in crate::harness) fn give_to_account(&mut self, core: &mut Core, skills: &[Skill], starting: bool) {
        let given = skills.iter().filter(|skill| skill.scope == Scope::Account);
        let skills = given.map(|skill| (skill.name.clone(), prompt::to_row(skill))).list();
        let (id, workspace) = (core.read_key(), core.options.name.clone());
        self.under_way.insert(id, After::Account { starting });
        core.outbox.act(Action::Account { id, workspace, skills });
    }
}

impl Holding {
    /// The same for a start that has the workspace.
    pub(in crate::harness) fn start_with_account(&mut self, core: &mut Core, reads: &mut Reads) {
        let skills = match self.start.as_ref().map(|start| &start.purpose) {
            Some(Purpose::Run { config, .. }) => config.skills.clone(),
            _ => return self.look_around(core, reads),
        };
        reads.give_to_account(core, &skills, true);
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
            Ok(rows) => runner.setup.account = prompt::from_rows(rows.iter().map(String::as_str)),
            Err(error) if starting => return self.fail(core, runner, reads, error.info()),
            // It was another configuration of a running agent: what it gave is there at the next start.
            Err(_) => return,
        }
        if starting {
            self.look_around(core, reads);
        } else {
            runner.take_config(core, runner.setup.config.clone());
        }
    }
}
