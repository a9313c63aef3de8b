//! Runs that were withdrawn: whose content may be gone, and before which place.
//!
//! Decides which rows an entry `withdrawn` speaks of: those of the runs that it names, before it. Leaves to others: which rows have
//! content at all (`entry`), erasing it, and what a row is worth that has lost it without a word.

use super::{Entry, Header};
use crate::json::texts;

/// What entries of this kind say, each with its place.
#[derive(Debug, Default)]
pub struct Withdrawn(Vec<(usize, Vec<String>)>);

impl Withdrawn {
    /// Takes up the entry at this place, if it is one.
    pub fn take(&mut self, at: usize, entry: &Entry) {
        if let Entry::Withdrawn { runs, .. } = entry
            && let Some(runs) = texts(runs)
        {
            self.0.push((at, runs));
        }
    }

    /// Whether the content of the row at this place is to go.
    pub fn covers(&self, at: usize, header: &Header) -> bool {
        let names = |runs: &Vec<String>| header.run.as_ref().is_some_and(|run| runs.contains(run));
        self.0.iter().any(|(until, runs)| at < *until && names(runs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Outside, Sums};
    use serde_json::json;

    #[test]
    fn rows_of_the_runs_that_it_names_go_which_lie_before_it() {
        let runs = json!(["a", "b"]);
        let entry = Entry::Withdrawn {
            runs,
            stay: json!([]),
            older: None,
            sums: Sums::default(),
            outside: Outside::default(),
            unsealed: 0,
        };
        let mut withdrawn = Withdrawn::default();
        withdrawn.take(1, &Entry::Stopped {});
        withdrawn.take(5, &entry);
        let of =
            |run: Option<&str>| Header { seq: 1, at: 1, kind: "prompt".into(), run: run.map(Into::into) };
        for (at, run, goes) in [
            (4, Some("a"), true),
            (0, Some("b"), true),
            (5, Some("a"), false),
            (4, Some("c"), false),
            (4, None, false),
        ] {
            assert_eq!(withdrawn.covers(at, &of(run)), goes, "{at} {run:?}");
        }
    }
}
