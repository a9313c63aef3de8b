//! Slugs in lists, a list for each name: what the workspace's indexes are made of.
//!
//! Promises: a list is sorted by its numbers, then by slug, and is there only while something is in it.

use crate::maps::Named;

/// Sorted lists of slugs, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lists(Named<Vec<(u64, String)>>);

impl Lists {
    /// The list of this name.
    pub(super) fn get(&self, name: &str) -> &[(u64, String)] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Puts a slug into a list. A slug that is there already stays as it is.
    pub(super) fn add(&mut self, name: &str, number: u64, slug: &str) {
        self.0.change(name, |list| {
            if let Err(at) = place(list, number, slug) {
                list.insert(at, (number, slug.into()));
            }
        });
    }

    /// Takes a slug out of a list.
    pub(super) fn remove(&mut self, name: &str, number: u64, slug: &str) {
        let Some(list) = self.0.get_mut(name) else { return };
        if let Ok(at) = place(list, number, slug) {
            list.remove(at);
        }
        if list.is_empty() {
            self.0.remove(name);
        }
    }

    /// All lists.
    #[cfg(test)]
    pub(super) fn values(&self) -> impl Iterator<Item = &Vec<(u64, String)>> {
        self.0.values()
    }
}

/// Where it is in a sorted list, or where it belongs.
pub(super) fn place(list: &[(u64, String)], number: u64, slug: &str) -> Result<usize, usize> {
    list.binary_search_by(|(other, name)| (*other, name.as_str()).cmp(&(number, slug)))
}
