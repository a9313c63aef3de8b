//! The pages of a workspace: a tree with order, links, earlier contents, a trash, a search.
//!
//! Decides what every operation on pages means, and what it writes. Everything is a pure value: [`PageTree`]
//! holds all present pages (those in the trash too) and four indexes over them. Earlier contents are only in
//! the store.
//!
//! Promises:
//! - [`PageTree::plan`] changes nothing. The caller commits the plan's writes under its expectations, then
//!   calls [`PageTree::accept`]. An operation that fails has changed nothing.
//! - Every change of the pages takes the next number (`rev`) and expects that no one else has taken it. So two
//!   tabs never overwrite each other: on a conflict the caller reads [`PageTree::missed`], then the pages that
//!   [`Missed`] names, calls [`PageTree::apply_rows`] and plans again.
//! - An index is kept up page by page; a change costs what the changed pages cost.
//! - A row that is not what was written last hides no other page (`damage`).
//!
//! Leaves to others: committing (`browser/`), the tools that a model sees (`tools/pages.rs`).

mod damage;
mod links;
mod lists;
mod lower;
mod marks;
mod op;
mod page;
mod plan;
mod search;
mod slug;
#[cfg(test)]
mod tests;
mod text;

pub use damage::Doubt;
pub use op::{Op, SEARCH_LIMIT, VERSIONS_LIMIT};
pub use page::{Page, Seen};
pub use plan::{Missed, Outcome, Pending, Plan};
pub use search::{Hit, Index};

use crate::error::{Code, ErrorInfo};
use crate::list::Listed;
use crate::maps::{self, Named};
use crate::object::Object;
use crate::ports::{Key, Read, Rows, Table};
use damage::{Damaged, HEAD};
use links::Links;
use lists::Lists;
use serde_json::Value;

/// How deep pages can be nested. The public tree has two JSON levels a page, and JSON readers stop at 128.
pub const MAX_DEPTH: usize = 50;

/// The row of `Table::Meta` with the number of the last change.
const REV: &str = "pages_rev";

/// All pages, and what is known about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageTree {
    rev: u64,
    /// What the store says about `rev`: it may be wrong.
    stored_rev: Option<String>,
    /// The last change by a version whose rows have no numbers.
    from: u64,
    /// The sum of the numbers of the changes that wrote the pages.
    sum: u64,
    /// Whether a newer version has written pages, in a way that is not known here.
    newer: bool,
    /// Pages whose rows are not what was written last.
    damaged: Named<Damaged>,
    /// How many pages are missing besides, as far as it is counted.
    nameless: u64,
    /// Whether all rows were looked at since the last change: then they need not agree with the sum.
    surveyed: bool,
    /// Where rows lie that belong elsewhere.
    strays: Vec<Key>,
    pages: Named<Page>,
    /// Of each page, and of the top under the empty name, the live pages below with their ranks.
    children: Lists,
    /// The live pages of each folded title with the times of their making, the oldest first.
    titles: Lists,
    /// The links of all pages: those in the trash follow a renamed page too.
    links: Links,
    /// The live pages.
    search: Index,
}

impl PageTree {
    /// The reads whose rows [`PageTree::load`] takes, in this order.
    pub fn reads() -> [Read; 3] {
        let meta = |key: &str| Read::all(Table::Meta, vec![key.into()]);
        [meta(REV), meta(HEAD), Read::all(Table::Pages, Vec::new())]
    }

    /// From the rows of [`PageTree::reads`], if all of them are what was written last.
    pub fn load(rev: &Rows, head: &Rows, pages: &Rows) -> Result<PageTree, Doubt> {
        let mut tree = PageTree::default();
        let stored_rev = rev.first().map(|(_, text)| text.clone());
        let rev = stored_rev.as_deref().map_or(Ok(0), str::parse).map_err(|_| Doubt)?;
        tree.apply_rows(rev, pages)?;
        tree.stored_rev = stored_rev;
        tree.agree(head)?;
        Ok(tree)
    }

    /// The number of the last change that is known here; 0: nothing was ever written.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// What to read after a conflict, or when another tab tells of a change: the changes not known here, and what the rows
    /// add up to. [`Missed::from_rows`] understands the rows.
    pub fn missed(&self) -> [Read; 2] {
        let changes = Read::all(Table::Changes, Vec::new()).within(Some(self.rev + 1), None);
        [changes, Read::all(Table::Meta, vec![HEAD.into()])]
    }

    /// Takes over what another tab changed: rows of pages as they are at change `rev` or later. If one is in doubt,
    /// nothing is taken over.
    pub fn apply_rows(&mut self, rev: u64, pages: &Rows) -> Result<(), Doubt> {
        let read = |(key, text): &(Key, String)| {
            let page = Page::from_stored(text).ok()?;
            (*key == [page.slug.as_str().into()]).then_some(page)
        };
        let pages = pages.iter().map(read).whole().ok_or(Doubt)?;
        if rev >= self.rev {
            if rev > self.rev {
                self.stored_rev = Some(rev.to_string());
                self.surveyed = false;
            }
            self.rev = rev;
            // In their order each page is put after its siblings, which is the cheap end.
            self.put(maps::sorted(pages, |page| page.rank));
        }
        Ok(())
    }

    /// Takes over a plan whose commit went through. A plan that has come in by [`PageTree::apply_rows`]
    /// already is left.
    pub fn accept(&mut self, plan: Plan) {
        if plan.rev > self.rev {
            self.rev = plan.rev;
            self.surveyed = false;
            self.stored_rev = Some(plan.rev.to_string());
            if plan.mends {
                self.strays.clear();
            }
            self.put(plan.changed);
        }
    }

    /// A page that is not in the trash.
    pub fn page(&self, slug: &str) -> Option<&Page> {
        self.pages.get(slug).filter(|page| page.is_live())
    }

    /// A page that must not be in the trash.
    fn live(&self, slug: &str) -> Result<&Page, ErrorInfo> {
        self.page(slug).ok_or_else(|| self.not_found(slug))
    }

    /// The error that there is no such page, and the way to the one that may be meant.
    fn not_found(&self, slug: &str) -> ErrorInfo {
        if let Some(damaged) = self.damaged.get(slug) {
            return damaged.error(slug);
        }
        let error = |text: String| ErrorInfo::new(Code::PageNotFound, text);
        if self.pages.contains_key(slug) {
            return error(format!("the page '{slug}' is in the trash")).hint("restore it first");
        }
        let error = error(format!("no page has the slug '{slug}'"));
        match self.resolve(&text::fold(slug)) {
            Some(page) => {
                error.hint(format!("the page titled '{}' has the slug '{}'", page.title, page.slug))
            }
            None => error,
        }
    }

    /// The live page that a folded link target means: the oldest of this title, else the one of this slug.
    fn resolve(&self, target: &str) -> Option<&Page> {
        let titled = self.titles.get(target).first();
        self.page(titled.map_or(target, |(_, slug)| slug))
    }

    /// The live pages below a page (or the top), in order.
    fn siblings(&self, parent: Option<&str>) -> &[(u64, String)] {
        self.children.get(parent.unwrap_or_default())
    }

    /// Where a page stands among its siblings; of a page in the trash, where it would.
    fn position(&self, page: &Page) -> usize {
        let siblings = self.siblings(page.parent.as_deref());
        lists::place(siblings, page.rank, &page.slug).unwrap_or_else(|at| at)
    }

    /// The public form of a page.
    fn show(&self, page: &Page) -> Value {
        page.to_json(self.position(page))
    }

    /// How many pages stand above a page, itself counted. The walk is bounded: rows that another tab is in
    /// the middle of changing may for a moment make a circle.
    fn depth(&self, slug: Option<&str>) -> usize {
        self.above(slug).count()
    }

    /// A page and those above it, upwards, as far as they are known.
    fn above<'a>(&'a self, slug: Option<&str>) -> impl Iterator<Item = &'a Page> {
        let first = slug.and_then(|slug| self.pages.get(slug));
        std::iter::successors(first, |page| self.pages.get(page.parent.as_deref()?)).take(self.pages.len())
    }

    /// How many levels a page and those below it have.
    fn height(&self, slug: &str) -> usize {
        let mut level = vec![slug];
        let mut height = 0;
        while !level.is_empty() && height <= MAX_DEPTH {
            height += 1;
            let mut below = Vec::new();
            for slug in level {
                for (_, slug) in self.siblings(Some(slug)) {
                    below.push(slug.as_str());
                }
            }
            level = below;
        }
        height
    }

    /// The public tree of these pages.
    fn tree(&self, pages: &[(u64, String)], depth: usize) -> Value {
        let node = |(_, slug): &(u64, String)| {
            let page = self.pages.get(slug)?;
            let below = if depth < MAX_DEPTH { self.siblings(Some(slug)) } else { &[] };
            let children = self.tree(below, depth + 1);
            Some(
                Object::new()
                    .text("slug", slug)
                    .text("title", &page.title)
                    .value("children", children)
                    .done(),
            )
        };
        Value::Array(pages.iter().filter_map(node).list())
    }

    /// The live pages, other than itself, with a link to this one.
    fn backlinks<'a>(&'a self, page: &'a Page) -> impl Iterator<Item = &'a Page> {
        let title = text::fold(&page.title);
        let mut from = Named::default();
        for target in [title.as_str(), page.slug.as_str()] {
            if self.resolve(target).is_some_and(|found| found.slug == page.slug) {
                for slug in self.links.to(target) {
                    from.insert(slug, ());
                }
            }
        }
        let from: Vec<&Page> = from.keys().filter_map(|slug| self.page(slug)).list();
        from.into_iter().filter(|other| other.slug != page.slug)
    }

    /// Puts pages in place of what is known of them, and brings the indexes up to date.
    fn put(&mut self, pages: Vec<Page>) {
        for page in pages {
            let old = self.pages.remove(&page.slug);
            let due = self.damaged.remove(&page.slug).map(|damaged| damaged.due);
            let was = due.or(old.as_ref().map(|old| old.rev)).unwrap_or_default();
            self.sum = self.sum.saturating_sub(was).saturating_add(page.rev);
            let (was, is) =
                (old.as_ref().filter(|old| old.is_live()), Some(&page).filter(|page| page.is_live()));

            let place = |page: &Page| (page.parent.clone().unwrap_or_default(), page.rank);
            let (old_place, new_place) = (was.map(place), is.map(place));
            if old_place != new_place {
                if let Some((parent, rank)) = old_place {
                    self.children.remove(&parent, rank, &page.slug);
                }
                if let Some((parent, rank)) = new_place {
                    self.children.add(&parent, rank, &page.slug);
                }
            }

            let name = |page: &Page| (text::fold(&page.title), page.created_at);
            let (old_name, new_name) = (was.map(name), is.map(name));
            if old_name != new_name {
                if let Some((title, created)) = old_name {
                    self.titles.remove(&title, created, &page.slug);
                }
                if let Some((title, created)) = new_name {
                    self.titles.add(&title, created, &page.slug);
                }
            }

            if old.as_ref().map(|old| &old.content) != Some(&page.content) {
                if let Some(old) = &old {
                    self.links.remove(&old.slug, &old.content);
                }
                self.links.add(&page.slug, &page.content);
            }

            let same = match (was, is) {
                (Some(old), Some(page)) => old.title == page.title && old.content == page.content,
                (None, None) => true,
                _ => false,
            };
            if !same {
                if let Some(old) = was {
                    self.search.remove(&old.slug, &old.title, &old.content);
                }
                if let Some(page) = is {
                    self.search.add(&page.slug, &page.title, &page.content);
                }
            }
            self.pages.insert(&page.slug.clone(), page);
        }
    }
}
