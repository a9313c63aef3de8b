//! A name of the vault has come or gone: providers and runs that waited for its key.
//!
//! Leaves to others: what the page asks of the vault (`keys`).

use crate::harness::core::{Core, Lifecycle};
use crate::harness::runner::Runner;
use crate::ports::{Part, Rows};

impl Runner {
    /// The vault as a start finds it.
    pub(in crate::harness) fn vault_read(&mut self, rows: &Rows) {
        self.setup.vault.clear();
        for (key, _) in rows {
            if let Some(Part::Text(name)) = key.first() {
                self.setup.vault.push(name.clone());
            }
        }
    }

    /// The vault has, or has no longer, a key of this name.
    pub(in crate::harness) fn vault_changed(&mut self, core: &mut Core, name: String, held: bool) {
        self.setup.vault.retain(|other| *other != name);
        if held {
            self.setup.vault.push(name);
        }
        if core.state.lifecycle == Lifecycle::Running {
            self.setup.look_in_vault();
            // Recorded before the next decision, if it makes a difference.
            self.setup.changed = true;
            self.start_those_with_keys(core);
        }
    }
}
