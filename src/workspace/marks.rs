//! The marks of text from outside that pages carry.
//!
//! Decides which pages a change of an agent marks, and which marks come with an answer. Promises: a page that an agent wrote
//! has all marks of its conversation, those that it had before too. A page that the page's own code wrote, a person's, gets
//! none. An answer has the marks of each page that it names. Leaves to others: what is asked about because of them
//! (`tools/permit`).

use super::plan::{Outcome, Plan};
use super::{Op, PageTree};
use crate::error::ErrorInfo;
use crate::journal::Outside;
use crate::ports::{Millis, Table, Write};
use serde_json::Value;

impl PageTree {
    /// What an operation of an agent leads to whose conversation holds this text from outside. Changes nothing.
    pub fn plan_for(&self, op: &Op, now: Millis, outside: &Outside) -> Result<Outcome, ErrorInfo> {
        Ok(match self.plan(op, now)? {
            Outcome::Done(plan) => Outcome::Done(self.marked(plan, op, outside)),
            read @ Outcome::Read(_) => read,
        })
    }

    #[inline(never)]
    fn marked(&self, mut plan: Plan, op: &Op, outside: &Outside) -> Plan {
        let outside = &outside.carried();
        op.each_slug(&mut |slug| self.add_marks(slug, &mut plan.outside));
        self.add_marks_of(&plan.value, &mut plan.outside);
        for page in &mut plan.changed {
            let says_the_same = self.pages.get(&page.slug).is_some_and(|was| was.says_the_same(page));
            if says_the_same || outside.is_within(&page.outside) {
                continue;
            }
            page.outside.join(outside);
            let stored = page.to_stored();
            for write in &mut plan.writes {
                if let Write::Put { table: Table::Pages, key, value } = write
                    && *key == [page.slug.as_str().into()]
                {
                    value.clone_from(&stored);
                }
            }
        }
        plan
    }

    /// Those of each page that an answer names.
    fn add_marks_of(&self, value: &Value, outside: &mut Outside) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add_marks_of(item, outside)),
            Value::Object(members) => {
                if let Some(slug) = members.get("slug").and_then(Value::as_str) {
                    self.add_marks(slug, outside);
                }
                if let Some(children) = members.get("children") {
                    self.add_marks_of(children, outside);
                }
            }
            _ => {}
        }
    }

    /// Those of one page. A damaged page is `unknown`.
    fn add_marks(&self, slug: &str, outside: &mut Outside) {
        if let Some(page) = self.pages.get(slug) {
            outside.join(&page.outside);
        } else if self.damaged.contains_key(slug) {
            outside.join(&Outside::of(Outside::UNKNOWN));
        }
    }
}
