//! Rows of pages that are not what was written last.
//!
//! Decides which pages are damaged, and what of each is whole. Each row has a hash, and the number of the change that wrote
//! it. A row of `meta` says how many pages there are, and what these numbers add up to. Where that does not agree with
//! the rows, the changes say which row is gone or is an older one. Promises: what was put in the place of a row is
//! never told as the page's. A row that lies in another place is whole. What an earlier version wrote, without a hash, is
//! believed as long as nothing contradicts it. That rows agree is seen with each read; what is wrong where they do not
//! arrives with the room `upkeep`. Leaves to others: reading the rows, and telling of it (`harness/pages`).

use super::lists;
use super::page::{FORMAT, Page, check, outside_of};
use super::plan::{Draft, Plan, as_version};
use super::{MAX_DEPTH, PageTree};
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::journal::sealed::{CHANGED, NEWER, seal};
use crate::journal::{Outside, sha256};
use crate::json;
use crate::list::Listed;
use crate::maps::Named;
use crate::object::Object;
use crate::ports::{Key, Millis, Part, Read, Rows, Table, Write};
use crate::protocol::args::whole;
use crate::rooms::{Room, enter};
use serde_json::Value;

/// The row of `Table::Meta` with what the rows of pages add up to.
pub(super) const HEAD: &str = "pages_head";

/// Why a page is damaged that has no row.
const MISSING: &str = "it is missing";

/// Rows do not agree with each other: all have to be read ([`PageTree::survey`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt;

/// What the rows of pages add up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    /// The last change by a version whose rows have no numbers.
    pub(super) from: u64,
    /// After which change.
    pub(super) rev: u64,
    /// How many pages there are.
    pub(super) count: u64,
    /// The sum of the numbers of the changes that wrote them.
    pub(super) sum: u64,
}

impl Totals {
    /// The write of the row.
    pub(super) fn write(&self) -> Write {
        let text = Object::new()
            .number("count", self.count)
            .number("from", self.from)
            .number("rev", self.rev)
            .number("sum", self.sum)
            .number("v", FORMAT)
            .json();
        Write::Put { table: Table::Meta, key: vec![HEAD.into()], value: seal(HEAD, &text) }
    }

    fn parse(text: &str) -> Result<Totals, Code> {
        let row = json::parse(text).ok_or(Code::Corrupt)?;
        check(&row, HEAD, text).map_err(|error| error.code)?;
        let number = |name: &str| row.get(name).and_then(whole).ok_or(Code::Corrupt);
        Ok(Totals {
            from: number("from")?,
            rev: number("rev")?,
            count: number("count")?,
            sum: number("sum")?,
        })
    }
}

/// A page whose row is not what was written last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Damaged {
    pub(super) why: &'static str,
    /// The number of the change that wrote it last.
    pub(super) due: u64,
    /// What is whole of it.
    pub(super) kept: Option<Page>,
    /// Whether that is all of it.
    is_whole: bool,
    /// What lies in its place, where nobody can read that.
    stored: Option<String>,
}

impl Damaged {
    fn new(why: &'static str, due: u64, kept: Option<Page>) -> Box<Damaged> {
        Box::new(Damaged { why, due, kept, is_whole: false, stored: None })
    }

    /// What is stored in its place, as the text of a page.
    fn as_content(&self) -> String {
        let Some(stored) = &self.stored else {
            return "This page was damaged. Nothing of it is stored any more.".into();
        };
        // Each line is code, whatever stands in it.
        [
            "This page was damaged. This is stored in its place:\n\n    ",
            &find::replace(stored, "\n", "\n    "),
        ]
        .concat()
    }

    /// Nothing is wrong with it: its format is not known here.
    fn is_newer(&self) -> bool {
        self.why == NEWER
    }

    /// `{ code, why }`.
    pub(super) fn json(&self) -> Value {
        let code = if self.is_newer() { Code::NewerVersion } else { Code::Corrupt };
        Object::new().text("code", code.as_str()).text("why", self.why).done()
    }

    /// The error that it cannot be read.
    pub(super) fn error(&self, slug: &str) -> ErrorInfo {
        if self.is_newer() {
            return ErrorInfo::newer(format!("the page '{slug}' was written by a newer version of lodger"));
        }
        let hint = match self.kept {
            Some(_) => {
                "a person can restore what is whole (pages.restore), or move it to the trash (pages.delete)"
            }
            None => "nothing of it is whole; what is stored can be moved to the trash (pages.delete)",
        };
        ErrorInfo::new(Code::Corrupt, format!("the page '{slug}' is damaged: {}", self.why)).hint(hint)
    }
}

/// A row of a page as it is looked at.
struct Found<'a> {
    /// The slug under which it lies, if that is one.
    place: Option<String>,
    key: Key,
    text: &'a str,
    page: Result<Page, &'static str>,
}

impl PageTree {
    /// The reads whose rows [`PageTree::survey`] takes, in this order.
    pub fn all_reads() -> Vec<Read> {
        let mut reads = PageTree::reads().to_vec();
        reads.push(Read::all(Table::Changes, Vec::new()));
        reads
    }

    /// Whether the rows add up to what the head says.
    pub fn agree(&mut self, head: &Rows) -> Result<(), Doubt> {
        let Some((_, head)) = head.first() else {
            self.from = self.rev;
            // A version that writes rows with numbers writes a head too.
            return if self.sum == 0 { Ok(()) } else { Err(Doubt) };
        };
        let head = Totals::parse(head).map_err(|_| Doubt)?;
        self.from = head.from;
        // What they are worth beside it may be known.
        let known = self.surveyed && head.rev <= self.rev;
        if known || head == self.totals() { Ok(()) } else { Err(Doubt) }
    }

    /// What the pages add up to, those that are damaged included.
    pub(super) fn totals(&self) -> Totals {
        let count = (self.pages.len() + self.damaged.len()) as u64;
        Totals { from: self.from, rev: self.rev, count, sum: self.sum }
    }

    /// What can be believed of rows that may be damaged. `pages`: all of them; `changes`: all of them. A door of the room
    /// `upkeep`.
    #[inline(never)]
    pub fn survey(rev: &Rows, head: &Rows, pages: &Rows, changes: &Rows) -> PageTree {
        enter(Room::Upkeep);
        let stored_rev = rev.first().map(|(_, text)| text.clone());
        let said = stored_rev.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default();
        let head = head.first().map(|(_, text)| Totals::parse(text));
        let newer = head == Some(Err(Code::NewerVersion));
        let head = head.and_then(Result::ok);
        let counted = head.as_ref().map_or((u64::MAX, 0), |head| (head.from, head.rev));
        let mut due: Named<u64> = Named::default();
        let (mut end, mut last) = (0, 0);
        for (key, text) in changes {
            let Some(Part::Number(number)) = key.first() else { continue };
            last = last.max(*number);
            let Some(change) = Change::read(*number, text) else { continue };
            // Who writes what is counted gives its changes a hash.
            let is_earlier = *number <= counted.0 || (*number > counted.1 && *number <= said);
            if change.is_sealed || is_earlier {
                end = end.max(*number);
                for slug in &change.slugs {
                    due.insert(slug, *number);
                }
            }
        }
        let rev = last.max(said).max(head.as_ref().map_or(0, |head| head.rev));
        let from = match &head {
            Some(head) if head.rev >= end => head.from,
            // An earlier version has written since.
            Some(_) => end,
            None => rev,
        };
        let mut tree = PageTree { rev, stored_rev, from, newer, surveyed: true, ..PageTree::default() };
        let found = pages.iter().map(|(key, text)| Found::of(key, text)).list();
        let mut slugs: Named<()> = Named::default();
        for slug in due.keys() {
            slugs.insert(slug, ());
        }
        for Found { place, page, key, .. } in &found {
            match (page, place) {
                (Ok(page), _) => {
                    slugs.insert(&page.slug, ());
                    if place.as_ref() != Some(&page.slug) {
                        tree.strays.push(key.clone());
                    }
                }
                (Err(_), Some(place)) => _ = slugs.insert(place, ()),
                (Err(_), None) => tree.strays.push(key.clone()),
            }
        }
        let mut whole = Vec::new();
        for slug in slugs.keys() {
            match judge(slug, &found, due.get(slug).copied().unwrap_or_default(), from) {
                Ok(page) => whole.push(page),
                Err(damaged) => {
                    tree.sum = tree.sum.saturating_add(damaged.due);
                    tree.damaged.insert(slug, *damaged);
                }
            }
        }
        // A page that nothing else names any more is named by those that stand below it.
        for page in whole.iter().filter(|page| page.is_live()) {
            if let Some(parent) = page.parent.as_ref().filter(|parent| !slugs.contains_key(parent)) {
                tree.damaged.insert(parent, *Damaged::new(MISSING, 0, None));
            }
        }
        tree.put(crate::maps::sorted(whole, |page| page.rank));
        // An earlier version may have made pages since, which it does not count.
        let counted = head.filter(|head| head.rev == rev).map_or(0, |head| head.count);
        tree.nameless = counted.saturating_sub(tree.totals().count);
        tree
    }

    /// The reads whose rows [`PageTree::take_former`] takes: the earlier contents of the pages that are damaged.
    pub fn former_reads(&self) -> Vec<Read> {
        let wanted = self.damaged.iter().filter(|(_, damaged)| !damaged.is_newer() && !damaged.is_whole);
        wanted.map(|(slug, _)| Read::all(Table::Versions, vec![slug.into()])).list()
    }

    /// Looks for what is whole of the damaged pages among their earlier contents. A door of the room `upkeep`.
    #[inline(never)]
    pub fn take_former(&mut self, former: &[Rows]) {
        enter(Room::Upkeep);
        for rows in former {
            let Some(Part::Text(slug)) = rows.first().and_then(|(key, _)| key.first()) else { continue };
            let Some(damaged) = self.damaged.get_mut(slug) else { continue };
            let number = |key: &Key| match key.get(1) {
                Some(Part::Number(number)) => *number,
                _ => 0,
            };
            let last = rows.iter().map(|(key, _)| number(key)).max().unwrap_or_default();
            // Its content was the present one.
            if damaged.kept.as_ref().is_some_and(|page| page.version > last) {
                continue;
            }
            let read = |(key, text): &(Key, String)| {
                Some((number(key), Former::read(slug, number(key), text).ok()?))
            };
            let Some((_, former)) = rows.iter().rev().find_map(read) else { continue };
            let fresh = || Page {
                slug: slug.clone(),
                title: former.title.clone().unwrap_or_else(|| slug.clone()),
                created_at: former.at,
                ..Page::default()
            };
            let mut page = damaged.kept.take().unwrap_or_else(fresh);
            page.outside.join(&former.outside);
            // The number of the content that is lost is not given again.
            let version = last.saturating_add(2);
            damaged.kept = Some(Page { content: former.content, version, written_at: former.at, ..page });
        }
    }

    /// The pages that are damaged: `{ slug, code, why }` each, and how many are missing besides. A door of the room `upkeep`.
    #[inline(never)]
    pub fn damages(&self) -> Value {
        enter(Room::Upkeep);
        let show =
            |(slug, damaged): (&str, &Damaged)| Object::new().text("slug", slug).all(damaged.json()).done();
        let missing = Some(self.nameless).filter(|missing| *missing > 0);
        Object::new()
            .value("pages", self.damaged.iter().map(show).array())
            .maybe("missing", missing.map(Value::from))
            .done()
    }

    /// How many pages more are missing: nothing that is stored says which.
    pub fn nameless(&self) -> u64 {
        self.nameless
    }

    /// The slugs of the pages that are damaged.
    pub fn damaged(&self) -> impl Iterator<Item = &str> {
        self.damaged.keys()
    }

    /// The node of a damaged page in the public tree. A door of the room `upkeep`, which has come where one is damaged.
    #[inline(never)]
    pub(super) fn damaged_node(&self, slug: &str, depth: usize) -> Option<Value> {
        enter(Room::Upkeep);
        let damaged = self.damaged.get(slug)?;
        let title = damaged.kept.as_ref().map_or(slug, |page| &page.title);
        let node = Object::new()
            .text("slug", slug)
            .text("title", title)
            .value("children", self.tree(self.siblings(Some(slug)), depth + 1))
            .value("damaged", damaged.json())
            .done();
        Some(node)
    }

    /// Makes a page of what is whole of a damaged one, in the trash or where it stood. A door of the room `upkeep`.
    #[inline(never)]
    pub(super) fn mend(
        &self,
        slug: &str,
        damaged: &Damaged,
        now: Millis,
        trash: bool,
    ) -> Result<Plan, ErrorInfo> {
        enter(Room::Upkeep);
        let kept = match &damaged.kept {
            _ if damaged.is_newer() => None,
            None if trash => Some(Page {
                slug: slug.into(),
                title: slug.into(),
                version: 1,
                content: damaged.as_content(),
                outside: Outside::of(Outside::UNKNOWN),
                ..Page::default()
            }),
            kept => kept.clone(),
        };
        let mut page = kept.ok_or_else(|| damaged.error(slug))?;
        let children = self.siblings(Some(slug)).iter().map(|(_, slug)| slug.clone()).list();
        page.updated_at = now;
        page.trashed_at = trash.then_some(now);
        page.lifted = if trash { children.clone() } else { Vec::new() };
        let ends_here = |page: &Page| page.is_live() && page.parent.as_deref() != Some(slug);
        let fits = |parent: &&str| {
            self.page(parent).is_some()
                && self.above(Some(parent)).all(ends_here)
                && self.depth(Some(parent)) + self.height(slug) <= MAX_DEPTH
        };
        let parent = page.parent.clone().filter(|parent| fits(&parent.as_str()));
        let mut draft = Draft::new(self, now);
        // Rows that lie in each other's places: to put one right would take another away.
        for (slug, other) in self.damaged.iter().filter(|(_, other)| other.is_whole) {
            if let Some(page) = &other.kept {
                draft.put(Page { slug: slug.into(), ..page.clone() });
            }
        }
        let siblings = self.siblings(parent.as_deref());
        let stays = page.rank > 0 && page.parent == parent;
        let place = match stays {
            true => lists::place(siblings, page.rank, slug).unwrap_or_else(|at| at),
            false => siblings.len(),
        };
        page.parent.clone_from(&parent);
        if damaged.stored.is_some() && page.version > 1 {
            // Its number is free, because an earlier content is the present one from here on.
            let version = page.version - 1;
            let lost = Page { version, content: damaged.as_content(), written_at: now, ..page.clone() };
            draft.former.push(as_version(&lost));
        }
        draft.put(page);
        if !stays {
            draft.place(parent.as_deref(), place, &[slug.into()], None);
        }
        if trash {
            draft.place(parent.as_deref(), place, &children, None);
        }
        let value = if trash { Value::Null } else { draft.show(slug, place) };
        let mut plan = draft.plan(value);
        plan.mends = true;
        // What was put right since lies there by right.
        let stray = |key: &&Key| !matches!(key.first(), Some(Part::Text(slug)) if key.len() == 1 && self.pages.contains_key(slug));
        let drop = |key: &Key| Write::DeletePrefix { table: Table::Pages, prefix: key.clone() };
        plan.writes.splice(0..0, self.strays.iter().filter(stray).map(drop));
        Ok(plan)
    }
}

/// Which pages a change has changed.
pub(super) struct Change {
    pub(super) slugs: Vec<String>,
    is_sealed: bool,
}

impl Change {
    /// The row of the change with this number. The hash stands among the slugs: an earlier version finds no page of that name.
    pub(super) fn row(number: u64, slugs: &[&str]) -> String {
        let seal = Change::seal(number, slugs);
        let mut row = slugs.to_vec();
        row.push(&seal);
        json::json(&Value::from(row))
    }

    fn seal<T: AsRef<str>>(number: u64, slugs: &[T]) -> String {
        ["#", &sha256(&[&number.to_string(), "\n", &find::join(slugs, "\n")])].concat()
    }

    /// Reads such a row; `None`: it is damaged.
    pub(super) fn read(number: u64, text: &str) -> Option<Change> {
        let row = json::parse(text)?;
        let mut slugs = json::texts(&row)?;
        // What is no text is left out there.
        if slugs.len() != row.as_array()?.len() {
            return None;
        }
        let seal = slugs.pop_if(|last| last.starts_with('#'));
        let is_right = seal.as_ref().is_none_or(|seal| *seal == Change::seal(number, &slugs));
        is_right.then_some(Change { slugs, is_sealed: seal.is_some() })
    }
}

impl<'a> Found<'a> {
    fn of(key: &Key, text: &'a str) -> Found<'a> {
        let place = match key.as_slice() {
            [Part::Text(slug)] => Some(slug.clone()),
            _ => None,
        };
        let page = Page::from_stored(text).map_err(|error| match error.code {
            Code::NewerVersion => NEWER,
            _ if error.message == CHANGED => CHANGED,
            _ => "it cannot be read",
        });
        Found { place, key: key.clone(), text, page }
    }
}

/// The page of this slug, if it is what was written last.
fn judge(slug: &str, found: &[Found<'_>], due: u64, from: u64) -> Result<Page, Box<Damaged>> {
    let lies_here = |found: &&Found<'_>| found.place.as_deref() == Some(slug);
    let mut best: Option<(bool, &Page)> = None;
    for found in found {
        let Ok(page) = &found.page else { continue };
        let here = (page.rev, lies_here(&found));
        if page.slug == slug && best.is_none_or(|(is_here, other)| here > (other.rev, is_here)) {
            best = Some((here.1, page));
        }
    }
    let is_last = |page: &Page| if page.rev > 0 { page.rev >= due } else { due <= from };
    let lies = found.iter().find(lies_here);
    let here = lies.map(|found| &found.page);
    match (best, here) {
        (_, Some(Err(NEWER))) => Err(Damaged::new(NEWER, due, None)),
        (Some((true, page)), _) if is_last(page) => Ok(page.clone()),
        (Some((false, page)), _) if is_last(page) => {
            let why = "its row does not lie in its place";
            let mut damaged = Damaged::new(why, due.max(page.rev), Some(page.clone()));
            damaged.is_whole = true;
            Err(damaged)
        }
        (Some((_, page)), _) => {
            Err(Damaged::new("it is older than its last change", due, Some(page.clone())))
        }
        (None, Some(Err(why))) => {
            let mut damaged = Damaged::new(why, due, None);
            damaged.stored = lies.map(|found| found.text.into());
            Err(damaged)
        }
        (None, Some(Ok(_))) => Err(Damaged::new("another page lies in its place", due, None)),
        (None, None) => Err(Damaged::new(MISSING, due, None)),
    }
}

/// An earlier content of a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Former {
    /// When it was written.
    pub(super) at: Millis,
    pub(super) content: String,
    /// Where the text from outside comes from that it holds.
    pub(super) outside: Outside,
    /// What the page was called; it is not in rows of an earlier version.
    title: Option<String>,
}

impl Former {
    /// The present content of a page.
    pub(super) fn of(page: &Page) -> Former {
        Former {
            at: page.written_at,
            content: page.content.clone(),
            outside: page.outside.clone(),
            title: None,
        }
    }

    /// The row of a content that is not the present one any more.
    pub(super) fn row(page: &Page) -> String {
        let text = Object::new()
            .number("at", page.written_at)
            .text("content", &page.content)
            .text("title", &page.title)
            .value("outside", page.outside.to_json())
            .number("v", FORMAT)
            .json();
        seal(&place(&page.slug, page.version), &text)
    }

    /// Reads such a row.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(slug: &str, version: u64, text: &str) -> Result<Former, &'static str> {
        let row = json::parse(text).ok_or("it cannot be read")?;
        check(&row, &place(slug, version), text).map_err(|error| match error.code {
            Code::NewerVersion => NEWER,
            _ => CHANGED,
        })?;
        let text = |name: &str| row.get(name).and_then(Value::as_str).map(String::from);
        let at = row.get("at").and_then(whole).ok_or("it cannot be read")?;
        let content = text("content").ok_or("it cannot be read")?;
        let outside = outside_of(&row).ok_or("it cannot be read")?;
        Ok(Former { at, content, outside, title: text("title") })
    }

    /// A version in the list of a page's versions.
    pub(super) fn shown(version: u64, former: Result<Former, &str>) -> Value {
        let mut shown = Object::new();
        shown.number("version", version);
        match former {
            Ok(former) => shown.number("at", former.at).text("content", &former.content),
            Err(why) => {
                let code = if why == NEWER { Code::NewerVersion } else { Code::Corrupt };
                let damaged = Object::new().text("code", code.as_str()).text("why", why).done();
                shown.number("at", 0).text("content", "").value("damaged", damaged)
            }
        };
        shown.done()
    }
}

/// What the row of a version does not say itself.
fn place(slug: &str, version: u64) -> String {
    [slug, "\n", &version.to_string()].concat()
}
