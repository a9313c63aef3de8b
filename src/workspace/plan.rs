//! What an operation leads to: a value, and the writes that make it true.
//!
//! Decides each operation's meaning. Promises: everything is refused before anything is worked out. A plan with
//! writes expects the number of the last change that it was made on. So it goes through only if nothing has
//! changed since. A change number `rev + 1` writes that number, a row for each changed page, and a row that
//! names these pages. It also writes a row for each content that is no longer the present one.
//! Leaves to others: the indexes it reads (`mod.rs`).

use super::damage::{Change, Doubt, Former, Totals};
use super::page::{Page, Seen};
use super::{MAX_DEPTH, Op, PageTree, REV, links, search, slug, text};
use crate::error::{Code, ErrorInfo};
use crate::journal::Outside;
use crate::list::Listed;
use crate::maps::{self, Named};
use crate::object::Object;
use crate::ports::{Expect, Key, Millis, Part, Read, Rows, Table, Write};
use crate::rooms::{Room, enter};
use serde_json::{Map, Value};

/// What came of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is worked out.
    Done(Plan),
    /// It needs rows that are only in the store.
    Read(Pending),
}

/// An operation that is worked out but not done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What the operation answers, once it is committed.
    pub value: Value,
    /// What to write; empty: nothing changes, and no commit is needed.
    pub writes: Vec<Write>,
    /// What must still be true in the store when that is written.
    pub expect: Vec<Expect>,
    /// Where the text from outside comes from that an agent is told with the answer.
    pub outside: Outside,
    pub(super) rev: u64,
    pub(super) changed: Vec<Page>,
    /// Whether rows that lie in wrong places go.
    pub(super) mends: bool,
}

impl Plan {
    /// An answer that changes nothing.
    fn answer(value: Value) -> Plan {
        Plan { value, ..Plan::default() }
    }

    /// The number of the change; 0: it changes nothing.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// The slugs of the pages that it changes.
    pub fn changed(&self) -> impl Iterator<Item = &str> {
        self.changed.iter().map(|page| page.slug.as_str())
    }
}

/// A reading operation that waits for rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    read: Read,
    slug: String,
    limit: usize,
    /// The present content and its number; `None`: it is damaged, and what it was called is unknown.
    present: Result<(u64, Former), &'static str>,
}

impl Pending {
    /// The last contents of a page: versions have no gaps, so it is known which rows to ask for.
    fn versions(page: &Page, limit: usize) -> Pending {
        let older = u64::try_from(limit.saturating_sub(1)).unwrap_or(u64::MAX);
        Pending {
            read: Read::all(Table::Versions, vec![page.slug.as_str().into()])
                .within(Some(page.version.saturating_sub(older)), None),
            slug: page.slug.clone(),
            limit,
            present: Ok((page.version, Former::of(page))),
        }
    }

    /// The same of a page that is damaged.
    fn versions_of_damaged(slug: &str, why: &'static str, limit: usize) -> Pending {
        let read = Read::all(Table::Versions, vec![slug.into()]);
        Pending { read, slug: slug.into(), limit, present: Err(why) }
    }

    /// The rows it waits for.
    pub fn read(&self) -> &Read {
        &self.read
    }

    /// Goes on with the rows of [`Pending::read`]. A door of the room `upkeep`.
    #[inline(never)]
    pub fn finish(self, rows: &Rows) -> Result<Plan, ErrorInfo> {
        enter(Room::Upkeep);
        let mut former: Vec<(u64, &str)> = Vec::new();
        for (key, text) in rows {
            if let Some(Part::Number(version)) = key.get(1) {
                former.push((*version, text));
            }
        }
        let last = former.last().map_or(0, |(version, _)| *version);
        let (version, present) = match self.present {
            Ok((version, present)) => (version, Ok(present)),
            Err(why) => (last.saturating_add(1), Err(why)),
        };
        let mut outside = Outside::default();
        let mut shown = |version: u64, former: Result<Former, &str>| {
            if let Ok(former) = &former {
                outside.join(&former.outside);
            }
            Former::shown(version, former)
        };
        let mut versions = vec![shown(version, present)];
        let mut next = version.saturating_sub(1);
        let first = self.read.from.unwrap_or(1).max(1);
        while next >= first && versions.len() < self.limit {
            // Another tab may have written on since: this answer is of the moment it was asked.
            let text = former.iter().find(|(version, _)| *version == next).map(|(_, text)| *text);
            let read = text.map_or(Err("it is missing"), |text| Former::read(&self.slug, next, text));
            versions.push(shown(next, read));
            next -= 1;
        }
        Ok(Plan { outside, ..Plan::answer(versions.into()) })
    }
}

/// Changes of other tabs that are not known here yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The number of the last of them.
    pub rev: u64,
    /// The pages to read, each once; their rows go to `PageTree::apply_rows`.
    pub reads: Vec<Read>,
}

impl Missed {
    /// From the changes of [`PageTree::missed`], the last known one being `known`; `None`: nothing was missed. A change that
    /// is damaged leaves in doubt which pages have changed.
    pub fn from_rows(rows: &Rows, known: u64) -> Result<Option<Missed>, Doubt> {
        let mut slugs = Named::default();
        let mut last = known;
        for (key, text) in rows {
            if key.first() != Some(&Part::Number(last + 1)) {
                return Err(Doubt);
            }
            for slug in &Change::read(last + 1, text).ok_or(Doubt)?.slugs {
                slugs.insert(slug, ());
            }
            last += 1;
        }
        let read = |slug: &str| Read::all(Table::Pages, vec![slug.into()]);
        Ok((last > known).then(|| Missed { rev: last, reads: slugs.keys().map(read).list() }))
    }
}

/// The distance between the ranks of two pages that were put one after the other: room for twenty halvings.
const GAP: u64 = 1 << 20;

/// A change in the making: copies of the pages that it touches.
pub(super) struct Draft<'a> {
    tree: &'a PageTree,
    now: Millis,
    changed: Named<Page>,
    /// The contents that are kept and are not the present ones of their pages.
    pub(super) former: Vec<Write>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(tree: &'a PageTree, now: Millis) -> Self {
        Draft { tree, now, changed: Named::default(), former: Vec::new() }
    }

    pub(super) fn put(&mut self, page: Page) {
        self.changed.insert(&page.slug.clone(), page);
    }

    /// The page of this slug, to be changed; `None`: there is none.
    fn edit(&mut self, slug: &str) -> Option<&mut Page> {
        if !self.changed.contains_key(slug) {
            self.put(self.tree.pages.get(slug)?.clone());
        }
        self.changed.get_mut(slug)
    }

    /// Gives a page another content and keeps the former one.
    fn write(&mut self, slug: &str, content: String) {
        let now = self.now;
        let Some(page) = self.edit(slug) else { return };
        let former = as_version(page);
        page.content = content;
        page.version += 1;
        page.written_at = now;
        page.updated_at = now;
        self.former.push(former);
    }

    /// Puts pages below a parent, in this order, so that the first comes to stand at `index`. `leaving` is the
    /// index of a sibling that does not count: it is on its way elsewhere.
    pub(super) fn place(
        &mut self,
        parent: Option<&str>,
        index: usize,
        slugs: &[String],
        leaving: Option<usize>,
    ) {
        if slugs.is_empty() {
            return;
        }
        let siblings = self.tree.siblings(parent);
        let sibling =
            |at: usize| siblings.get(at + usize::from(leaving.is_some_and(|leaving| at >= leaving)));
        let low = index.checked_sub(1).and_then(sibling).map_or(0, |(rank, _)| *rank);
        let parts = u64::try_from(slugs.len()).unwrap_or(u64::MAX).saturating_add(1);
        let step = sibling(index).map_or(GAP, |(rank, _)| rank.saturating_sub(low) / parts);
        let mut placed: Vec<(&str, u64)> = Vec::new();
        if step > 0 {
            let mut rank = low;
            for slug in slugs {
                rank = rank.saturating_add(step);
                placed.push((slug, rank));
            }
        } else {
            // No room is left between the two: all siblings are spread out anew.
            let name = |at: usize| sibling(at).map(|(_, slug)| slug.as_str());
            let mut all: Vec<&str> = (0..index).map_while(name).list();
            for slug in slugs {
                all.push(slug);
            }
            let mut after = index;
            while let Some(slug) = name(after) {
                all.push(slug);
                after += 1;
            }
            let mut rank = 0_u64;
            for slug in all {
                rank = rank.saturating_add(GAP);
                placed.push((slug, rank));
            }
        }
        for (slug, rank) in placed {
            if let Some(page) = self.edit(slug) {
                page.rank = rank;
                page.parent = parent.map(String::from);
            }
        }
    }

    /// The public form of a page as it will be, at this index.
    pub(super) fn show(&self, slug: &str, position: usize) -> Value {
        self.changed
            .get(slug)
            .or_else(|| self.tree.pages.get(slug))
            .map_or(Value::Null, |page| page.to_json(position))
    }

    pub(super) fn plan(mut self, value: Value) -> Plan {
        if self.changed.is_empty() {
            return Plan::answer(value);
        }
        let tree = self.tree;
        let rev = tree.rev + 1;
        let slugs: Vec<&str> = self.changed.keys().list();
        let mut writes = vec![
            put(Table::Meta, vec![REV.into()], rev.to_string()),
            put(Table::Changes, vec![rev.into()], Change::row(rev, &slugs)),
        ];
        writes.extend(self.former);
        let mut totals = Totals { rev, ..tree.totals() };
        for page in self.changed.values_mut() {
            let was = tree.pages.get(&page.slug).map(|page| page.rev);
            let was = was.or_else(|| tree.damaged.get(&page.slug).map(|damaged| damaged.due));
            totals.count += u64::from(was.is_none());
            totals.sum = totals.sum.saturating_sub(was.unwrap_or_default()).saturating_add(rev);
            page.rev = rev;
            writes.push(put(Table::Pages, vec![page.slug.as_str().into()], page.to_stored()));
        }
        writes.push(totals.write());
        let expect =
            vec![Expect { table: Table::Meta, key: vec![REV.into()], value: tree.stored_rev.clone() }];
        let changed = self.changed.into_values().list();
        Plan { value, writes, expect, outside: Outside::default(), rev, changed, mends: false }
    }
}

/// Keeps the content of a page as a version of it.
pub(super) fn as_version(page: &Page) -> Write {
    put(Table::Versions, vec![page.slug.as_str().into(), page.version.into()], Former::row(page))
}

fn put(table: Table, key: Key, value: String) -> Write {
    Write::Put { table, key, value }
}

fn invalid(text: impl Into<String>) -> ErrorInfo {
    ErrorInfo::new(Code::InvalidArguments, text)
}

fn too_deep() -> ErrorInfo {
    invalid(format!("pages can be nested {MAX_DEPTH} deep at most"))
}

/// A title as it is kept.
fn checked_title(title: &str) -> Result<String, ErrorInfo> {
    let title = text::one_line(title);
    if title.is_empty() { Err(invalid("the title is empty")) } else { Ok(title) }
}

impl PageTree {
    /// What an operation leads to. Changes nothing.
    pub fn plan(&self, op: &Op, now: Millis) -> Result<Outcome, ErrorInfo> {
        let outcome = self.work_out(op, now)?;
        // What the newer version counts, this one does not know.
        let changes = matches!(&outcome, Outcome::Done(plan) if !plan.writes.is_empty());
        if changes && self.newer {
            return Err(ErrorInfo::newer("the pages were written by a newer version of lodger"));
        }
        Ok(outcome)
    }

    fn work_out(&self, op: &Op, now: Millis) -> Result<Outcome, ErrorInfo> {
        let value = match op {
            Op::Create { title, content, parent, slug } => {
                return self
                    .create(title, content, parent.as_deref(), slug.as_deref(), now)
                    .map(Outcome::Done);
            }
            Op::Update { slug, content, metadata, expected_version } => {
                let version = *expected_version;
                let plan = self.update(slug, content.as_deref(), metadata.as_ref(), version, now);
                return plan.map(Outcome::Done);
            }
            Op::Rename { slug, title } => return self.rename(slug, title, now).map(Outcome::Done),
            Op::Move { slug, parent, position } => {
                return self.relocate(slug, parent.as_deref(), *position, now).map(Outcome::Done);
            }
            Op::Delete { slug } => return self.delete(slug, now).map(Outcome::Done),
            Op::Restore { slug } => return self.restore(slug, now).map(Outcome::Done),
            Op::Versions { slug, limit } => {
                if let Some(damaged) = self.damaged.get(slug) {
                    let pending = Pending::versions_of_damaged(slug, damaged.why, *limit);
                    return Ok(Outcome::Read(pending));
                }
                return Ok(Outcome::Read(Pending::versions(self.live(slug)?, *limit)));
            }
            Op::Read { slug } => self.show(self.live(slug)?),
            Op::Tree { root: None } => {
                let mut nodes = self.tree(self.siblings(None), 1);
                if let Value::Array(nodes) = &mut nodes {
                    nodes.extend(self.damaged.keys().filter_map(|slug| self.damaged_node(slug, 1)));
                }
                nodes
            }
            Op::Tree { root: Some(slug) } if self.damaged.contains_key(slug) => {
                self.damaged_node(slug, 1).into_iter().array()
            }
            Op::Tree { root: Some(slug) } => {
                let page = self.live(slug)?;
                self.tree(&[(page.rank, page.slug.clone())], 1)
            }
            Op::Search { query, limit } => self.find(query, *limit),
            Op::Trash => self.trash(),
            Op::Backlinks { slug } => self.incoming(self.live(slug)?),
            Op::OutgoingLinks { slug } => self.outgoing(self.live(slug)?),
        };
        Ok(Outcome::Done(Plan::answer(value)))
    }

    /// The pages in the trash, the last deleted first. A door of the room `upkeep`.
    #[inline(never)]
    fn trash(&self) -> Value {
        enter(Room::Upkeep);
        let pages: Vec<&Page> = self.pages.values().filter(|page| !page.is_live()).list();
        let pages = maps::sorted(pages, |page| !page.trashed_at.unwrap_or_default());
        pages.into_iter().map(|page| self.show(page)).array()
    }

    fn find(&self, query: &str, limit: usize) -> Value {
        let show = |hit: search::Hit| {
            let page = self.page(&hit.slug)?;
            let snippet = search::snippet(&page.content, query);
            let mut shown = Object::new();
            shown.text("slug", &page.slug).text("title", &page.title).text("snippet", &snippet);
            Some(shown.value("score", hit.score.into()).done())
        };
        Value::Array(self.search.search(query, limit).into_iter().filter_map(show).list())
    }

    /// The pages that link to this one. A door of the room `upkeep`.
    #[inline(never)]
    fn incoming(&self, page: &Page) -> Value {
        enter(Room::Upkeep);
        self.backlinks(page).map(|page| self.show(page)).array()
    }

    /// What a page links to: each page once, by its title; each target that is no page once, as written. A door of the room
    /// `upkeep`.
    #[inline(never)]
    fn outgoing(&self, page: &Page) -> Value {
        enter(Room::Upkeep);
        let mut seen = Named::default();
        let mut found = Vec::new();
        for target in links::targets(&page.content) {
            match self.resolve(&text::fold(&target)) {
                Some(page) if seen.insert(&page.slug, ()).is_none() => {
                    found.push(Object::new().text("title", &page.title).text("slug", &page.slug).done());
                }
                Some(_) => {}
                None => {
                    let slug = self.damaged.keys().find(|slug| *slug == text::fold(&target));
                    found.push(Object::new().text("title", &target).value("slug", slug.into()).done());
                }
            }
        }
        Value::Array(found)
    }

    fn create(
        &self,
        title: &str,
        content: &str,
        parent: Option<&str>,
        slug: Option<&str>,
        now: Millis,
    ) -> Result<Plan, ErrorInfo> {
        let title = checked_title(title)?;
        if let Some(parent) = parent {
            self.live(parent)?;
        }
        if self.depth(parent) >= MAX_DEPTH {
            return Err(too_deep());
        }
        let slug = match slug {
            Some(slug) => self.given_slug(slug)?,
            None => self.free_slug(&title),
        };
        let mut draft = Draft::new(self, now);
        draft.put(Page {
            slug: slug.clone(),
            title,
            content: content.into(),
            parent: None,
            rank: 0,
            version: 1,
            written_at: now,
            metadata: Map::new(),
            created_at: now,
            updated_at: now,
            trashed_at: None,
            lifted: Vec::new(),
            rev: 0,
            outside: Outside::default(),
        });
        let last = self.siblings(parent).len();
        draft.place(parent, last, std::slice::from_ref(&slug), None);
        let value = draft.show(&slug, last);
        Ok(draft.plan(value))
    }

    fn given_slug(&self, slug: &str) -> Result<String, ErrorInfo> {
        if !slug::is_valid(slug) {
            return Err(invalid(format!("'{slug}' is no slug")).hint(format!(
                "a slug has lower-case letters, digits and single hyphens, as in '{}'",
                slug::of(slug)
            )));
        }
        match self.pages.get(slug) {
            None if !self.is_taken(slug) => Ok(slug.into()),
            page => {
                let is_trash = page.is_some_and(|page| !page.is_live());
                let place = if is_trash { " in the trash" } else { "" };
                Err(ErrorInfo::new(Code::SlugTaken, format!("a page{place} has the slug '{slug}' already"))
                    .hint("leave the slug out to get a free one"))
            }
        }
    }

    fn is_taken(&self, slug: &str) -> bool {
        self.pages.contains_key(slug) || self.damaged.contains_key(slug)
    }

    /// A slug for a title that no page has, the trash included: its rows go on under the old one.
    fn free_slug(&self, title: &str) -> String {
        let base = slug::of(title);
        if !self.is_taken(&base) {
            return base;
        }
        // Numbers are given one by one and pages never go for good, so the taken ones are a block from 2: a
        // search by halves finds its end. A number that a page gave itself does no harm; it is only skipped.
        let numbered = |number: u64| format!("{base}-{number}");
        let (mut taken, mut free) = (1, 2);
        while self.is_taken(&numbered(free)) {
            (taken, free) = (free, free * 2);
        }
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2;
            if self.is_taken(&numbered(middle)) { taken = middle } else { free = middle }
        }
        numbered(free)
    }

    /// Refuses a change of a page whose text is another one than the person saw that has allowed it.
    ///
    /// # Errors
    /// `version_conflict`
    pub fn must_show(&self, slug: &str, seen: Seen) -> Result<(), ErrorInfo> {
        match self.page(slug) {
            Some(page) if !seen.is_of(page) => {
                let message = format!("the page '{slug}' has changed since a person saw it and allowed this");
                Err(ErrorInfo::new(Code::VersionConflict, message)
                    .hint("read the page again and repeat the change on what it says now"))
            }
            _ => Ok(()),
        }
    }

    fn update(
        &self,
        slug: &str,
        content: Option<&str>,
        metadata: Option<&Map<String, Value>>,
        expected_version: Option<u64>,
        now: Millis,
    ) -> Result<Plan, ErrorInfo> {
        let page = self.live(slug)?;
        if content.is_none() && metadata.is_none() {
            return Err(invalid(format!("there is nothing to change in '{slug}'"))
                .hint("give a content, metadata, or both"));
        }
        if let Some(expected) = expected_version.filter(|expected| *expected != page.version) {
            return Err(ErrorInfo::new(
                Code::VersionConflict,
                format!("the page '{slug}' has version {}, not {expected}", page.version),
            )
            .hint("read the page again and repeat the change on what it says now"));
        }
        let mut draft = Draft::new(self, now);
        if let Some(content) = content.filter(|content| *content != page.content) {
            draft.write(slug, content.into());
        }
        if let Some(changes) = metadata {
            let kept = page.metadata.iter().filter(|(name, _)| !changes.contains_key(*name));
            let mut merged = Map::new();
            for (name, value) in kept.chain(changes.iter().filter(|(_, value)| !value.is_null())) {
                merged.insert(name.clone(), value.clone());
            }
            if merged != page.metadata
                && let Some(page) = draft.edit(slug)
            {
                page.metadata = merged;
                page.updated_at = now;
            }
        }
        let value = draft.show(slug, self.position(page));
        Ok(draft.plan(value))
    }

    /// A door of the room `upkeep`.
    #[inline(never)]
    fn rename(&self, slug: &str, title: &str, now: Millis) -> Result<Plan, ErrorInfo> {
        enter(Room::Upkeep);
        let page = self.live(slug)?;
        let title = checked_title(title)?;
        let mut draft = Draft::new(self, now);
        if title != page.title {
            if let Some(page) = draft.edit(slug) {
                page.title.clone_from(&title);
                page.updated_at = now;
            }
            let (old, new) = (text::fold(&page.title), text::fold(&title));
            let is_meant = self.resolve(&old).is_some_and(|found| found.slug == slug);
            if old != new && is_meant {
                // The new title, if it will mean this page; else the slug, which shows the new title.
                let shadowed = self
                    .titles
                    .get(&new)
                    .first()
                    .is_some_and(|(created, other)| (*created, other.as_str()) < (page.created_at, slug));
                let fits = links::can_hold(&title);
                let target = if fits && !shadowed { title.as_str() } else { slug };
                let shown = (fits && shadowed).then_some(title.as_str());
                for from in self.links.to(&old) {
                    let Some(page) = self.pages.get(from) else { continue };
                    if let Some(content) = links::retarget(&page.content, &old, target, shown) {
                        draft.write(from, content);
                    }
                }
            }
        }
        let value = draft.show(slug, self.position(page));
        Ok(draft.plan(value))
    }

    /// A door of the room `upkeep`.
    #[inline(never)]
    fn relocate(
        &self,
        slug: &str,
        parent: Option<&str>,
        position: Option<usize>,
        now: Millis,
    ) -> Result<Plan, ErrorInfo> {
        enter(Room::Upkeep);
        let page = self.live(slug)?;
        if let Some(parent) = parent {
            self.live(parent)?;
            if self.above(Some(parent)).any(|above| above.slug == slug) {
                return Err(ErrorInfo::new(
                    Code::PageCycle,
                    format!(
                        "the page '{slug}' cannot be moved below '{parent}', which is itself or below it"
                    ),
                ));
            }
        }
        if self.depth(parent) + self.height(slug) > MAX_DEPTH {
            return Err(too_deep());
        }
        let stays = page.parent.as_deref() == parent;
        let last = self.siblings(parent).len() - usize::from(stays);
        let position = position.unwrap_or(last).min(last);
        let mut draft = Draft::new(self, now);
        if !stays || self.position(page) != position {
            draft.place(parent, position, &[slug.to_string()], stays.then(|| self.position(page)));
        }
        let value = draft.show(slug, position);
        Ok(draft.plan(value))
    }

    fn delete(&self, slug: &str, now: Millis) -> Result<Plan, ErrorInfo> {
        if let Some(damaged) = self.damaged.get(slug) {
            return self.mend(slug, damaged, now, true);
        }
        let page = self.live(slug)?;
        let children: Vec<String> = self.siblings(Some(slug)).iter().map(|(_, slug)| slug.clone()).list();
        let mut draft = Draft::new(self, now);
        let place = self.position(page);
        draft.place(page.parent.as_deref(), place, &children, Some(place));
        if let Some(page) = draft.edit(slug) {
            page.trashed_at = Some(now);
            page.lifted = children;
        }
        Ok(draft.plan(Value::Null))
    }

    /// A door of the room `upkeep`.
    #[inline(never)]
    fn restore(&self, slug: &str, now: Millis) -> Result<Plan, ErrorInfo> {
        enter(Room::Upkeep);
        if let Some(damaged) = self.damaged.get(slug) {
            return self.mend(slug, damaged, now, false);
        }
        let Some(page) = self.pages.get(slug) else { return Err(self.not_found(slug)) };
        if page.is_live() {
            return Err(ErrorInfo::new(Code::PageNotFound, format!("the page '{slug}' is not in the trash")));
        }
        // Back to where it was; where that is gone too, to the first page above that is not.
        let parent =
            self.above(page.parent.as_deref()).find(|above| above.is_live()).map(|above| above.slug.as_str());
        let parent = parent.filter(|parent| self.depth(Some(parent)) < MAX_DEPTH);
        let position =
            if parent == page.parent.as_deref() { self.position(page) } else { self.siblings(parent).len() };
        let depth = self.depth(parent) + 1;
        let returns = |child: &&String| {
            self.page(child).is_some_and(|page| page.parent.as_deref() == parent)
                && depth + self.height(child) <= MAX_DEPTH
        };
        let children: Vec<String> = page.lifted.iter().filter(returns).cloned().list();
        let mut draft = Draft::new(self, now);
        draft.place(parent, position, &[slug.to_string()], None);
        if let Some(page) = draft.edit(slug) {
            page.trashed_at = None;
            page.lifted = Vec::new();
        }
        draft.place(Some(slug), 0, &children, None);
        let gone = self
            .siblings(parent)
            .iter()
            .take(position)
            .filter(|(_, sibling)| children.contains(sibling))
            .count();
        let value = draft.show(slug, position - gone);
        Ok(draft.plan(value))
    }
}
