//! The twelve tools on the workspace's pages.
//!
//! Decides in one row for each what a model is told of it, which operation a call is, and how its result reads. It is
//! prose and lists, alike to model and person. Promises: a call changes the workspace only through the plan that it
//! returns, so its effect and its outcome can be one commit. A call without a recorded outcome never took effect.
//! Leaves to others: what the operations mean (`workspace`), checking arguments (`gate`), cutting the text (`result`).

use super::definition::{Definition, Origin, Source};
use super::result::MAX_RESULT_BYTES;
use crate::error::{Code, ErrorInfo};
use crate::find::{self, unseen};
use crate::journal::Outside;
use crate::json::json;
use crate::list::Listed;
use crate::ports::{Millis, Read, Rows};
use crate::protocol::args::whole;
use crate::rooms::{Room, enter};
use crate::workspace::{self, MAX_DEPTH, Op, Outcome, PageTree, Plan, SEARCH_LIMIT, Seen};
use serde_json::{Map, Value};

/// How many versions `read_page_history` gives unless told: each comes with its whole text.
const HISTORY_LIMIT: usize = 5;

/// One of the twelve.
#[derive(Debug)]
struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The schema of its arguments.
    schema: &'static str,
    /// What must be held for it. Those that only read change nothing.
    capability: &'static str,
    /// The operation that a call is, on the page of this slug if it names one.
    op: fn(String, Given<'_>) -> Op,
    /// How its result reads.
    tell: fn(&Told<'_>) -> String,
    /// Whether that and the operation are in the room `upkeep`.
    upkeep: bool,
}

/// The arguments of a call, which have passed the gate.
#[derive(Clone, Copy)]
struct Given<'a>(&'a Value);

impl Given<'_> {
    fn text(self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).map(String::from)
    }

    /// A text; empty where there is none.
    fn said(self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    fn number(self, name: &str) -> Option<usize> {
        self.0.get(name).and_then(whole).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    fn members(self, name: &str) -> Option<Map<String, Value>> {
        self.0.get(name).and_then(Value::as_object).cloned()
    }

    /// How many at most.
    fn most(self, unless_told: usize) -> usize {
        self.number("limit").unwrap_or(unless_told)
    }
}

/// What a result is told from.
struct Told<'a> {
    args: Given<'a>,
    plan: &'a Plan,
    value: &'a Value,
    /// What the page and its new parent were called before.
    page: String,
    parent: String,
    /// What a list of pages lacks.
    lacks: String,
}

/// The tools, in the order in which a model is told of them.
static TOOLS: [Tool; 12] = [
    Tool {
        name: "search_pages",
        title: "Search pages",
        description: "Finds the pages of this workspace that contain words, in the title or the text. Gives title, slug and a \
         snippet of each, the best first. Beginnings of words match too.",
        schema: r#"{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"Words to look for."},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many pages at most; 10 if absent."}},"required":["query"],"additionalProperties":false}"#,
        capability: "PagesRead",
        op: |_, args| Op::Search { query: args.said("query"), limit: args.most(SEARCH_LIMIT) },
        tell: found,
        upkeep: false,
    },
    Tool {
        name: "read_page",
        title: "Read a page",
        description: "Gives a page's title, version and text. Read a long page in parts with offset and limit.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."},"offset":{"type":"integer","minimum":0,"description":"The character to start at; 0 if absent."},"limit":{"type":"integer","minimum":1,"description":"How many characters at most; all if absent."}},"required":["slug"],"additionalProperties":false}"#,
        capability: "PagesRead",
        op: |slug, _| Op::Read { slug },
        tell: page,
        upkeep: false,
    },
    Tool {
        name: "get_page_tree",
        title: "List all pages",
        description: "Lists all pages of the workspace with their slugs, as a tree; or one page and those below it.",
        schema: r#"{"type":"object","properties":{"root_slug":{"type":"string","minLength":1,"description":"The page to start at; the whole workspace if absent."}},"additionalProperties":false}"#,
        capability: "PagesRead",
        op: |_, args| Op::Tree { root: args.text("root_slug") },
        tell: |told| tree(told.value),
        upkeep: false,
    },
    Tool {
        name: "get_backlinks",
        title: "Pages that link here",
        description: "Lists the pages that link to a page.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."}},"required":["slug"],"additionalProperties":false}"#,
        capability: "PagesRead",
        op: |slug, _| Op::Backlinks { slug },
        tell: backlinks,
        upkeep: true,
    },
    Tool {
        name: "get_outgoing_links",
        title: "Links of a page",
        description: "Lists what a page links to, and which of these pages do not exist.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."}},"required":["slug"],"additionalProperties":false}"#,
        capability: "PagesRead",
        op: |slug, _| Op::OutgoingLinks { slug },
        tell: outgoing,
        upkeep: true,
    },
    Tool {
        name: "read_page_history",
        title: "Earlier versions of a page",
        description: "Gives the texts that a page has had, the present one first.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many versions at most; 5 if absent."}},"required":["slug"],"additionalProperties":false}"#,
        capability: "PagesRead",
        op: |slug, args| Op::Versions { slug, limit: args.most(HISTORY_LIMIT) },
        tell: history,
        upkeep: true,
    },
    Tool {
        name: "create_page",
        title: "Create a page",
        description: "Creates a page, last below its parent, and gives its slug. In the text, [[Title]] links to a page.",
        schema: r#"{"type":"object","properties":{"title":{"type":"string","minLength":1,"description":"The title."},"content":{"type":"string","description":"The text, in Markdown; empty if absent."},"parent_slug":{"type":["string","null"],"description":"The page above; the top level if absent."}},"required":["title"],"additionalProperties":false}"#,
        capability: "PagesWrite",
        op: |_, args| Op::Create {
            title: args.said("title"),
            content: args.said("content"),
            parent: args.text("parent_slug"),
            slug: None,
        },
        tell: |told| format!("Created {}.", shown(told.value)),
        upkeep: false,
    },
    Tool {
        name: UPDATE_CONTENT,
        title: "Change a page's text",
        description: "Puts a new text in place of a page's whole text. The former one stays in the history.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."},"content":{"type":"string","description":"The whole new text, in Markdown."}},"required":["slug","content"],"additionalProperties":false}"#,
        capability: "PagesWrite",
        op: |slug, args| update(slug, args.text("content"), None),
        tell: updated,
        upkeep: false,
    },
    Tool {
        name: "update_page_metadata",
        title: "Change a page's metadata",
        description: "Sets members of a page's metadata. Members that are not named stay; null removes one.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."},"metadata":{"type":"object","description":"The members to set."}},"required":["slug","metadata"],"additionalProperties":false}"#,
        capability: "PagesWrite",
        op: |slug, args| update(slug, None, args.members("metadata")),
        tell: updated,
        upkeep: false,
    },
    Tool {
        name: "move_page",
        title: "Move a page",
        description: "Moves a page, with those below it, to another place in the tree.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."},"parent_slug":{"type":["string","null"],"description":"The page to put it below; null for the top level."},"position":{"type":"integer","minimum":0,"description":"Its index among its new siblings; last if absent."}},"required":["slug","parent_slug"],"additionalProperties":false}"#,
        capability: "PagesOrganize",
        op: |slug, args| Op::Move {
            slug,
            parent: args.text("parent_slug"),
            position: args.number("position"),
        },
        tell: moved,
        upkeep: true,
    },
    Tool {
        name: "rename_page",
        title: "Rename a page",
        description: "Gives a page another title. Its slug stays, and links to the old title in other pages are changed.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."},"title":{"type":"string","minLength":1,"description":"The new title."}},"required":["slug","title"],"additionalProperties":false}"#,
        capability: "PagesWrite",
        op: |slug, args| Op::Rename { slug, title: args.said("title") },
        tell: renamed,
        upkeep: true,
    },
    Tool {
        name: "delete_page",
        title: "Delete a page",
        description: "Moves a page to the trash, from which a person can restore it. Pages below it move up to its place.",
        schema: r#"{"type":"object","properties":{"slug":{"type":"string","minLength":1,"description":"The page's slug."}},"required":["slug"],"additionalProperties":false}"#,
        capability: "PagesDelete",
        op: |slug, _| Op::Delete { slug },
        tell: deleted,
        upkeep: false,
    },
];

/// The tool that puts a new text in place of a page's.
const UPDATE_CONTENT: &str = "update_page_content";

/// The tool that deletes a page.
pub(super) const DELETE: &str = "delete_page";

/// Whether a call leaves nothing of a page's text, or nothing that a person can see.
pub(super) fn empties(name: &str, args: &Value) -> bool {
    let content = args.get("content").and_then(Value::as_str);
    name == UPDATE_CONTENT && content.is_some_and(|text| text.chars().all(|c| c.is_whitespace() || unseen(c)))
}

/// Whether a tool takes away what a page says.
fn takes_text(tool: &Tool) -> bool {
    tool.name == UPDATE_CONTENT || tool.capability == "PagesDelete"
}

fn update(slug: String, content: Option<String>, metadata: Option<Map<String, Value>>) -> Op {
    Op::Update { slug, content, metadata, expected_version: None }
}

/// The twelve, in their order.
#[inline(never)]
pub fn definitions() -> Vec<Definition> {
    enter(Room::Pages);
    let define = |tool: &Tool| {
        let Tool { name, title, description, schema, capability, .. } = *tool;
        let reads = capability == "PagesRead";
        Definition {
            title: Some(title.into()),
            capability: Some(capability.into()),
            read_only: reads,
            // The trash keeps it, but the model cannot bring it back.
            destructive: capability == "PagesDelete",
            parallel: reads,
            ..Definition::built_in(name, description, schema.into(), Source::Workspace, Origin::Page)
        }
    };
    TOOLS.iter().map(define).list()
}

/// Whether what a tool does is in the room `upkeep`.
#[inline(never)]
pub fn needs_upkeep(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.upkeep && tool.name == name)
}

/// What came of a call.
#[derive(Clone, Debug)]
pub enum Called {
    /// It is worked out.
    Done(Done),
    /// It needs rows that are only in the store.
    Read(Pending),
}

/// A call that is worked out: what it says, and the writes that make it true.
#[derive(Clone, Debug)]
pub struct Done {
    /// What the tool says, not cut yet.
    pub text: String,
    /// What to commit with the call's outcome, then give to `PageTree::accept`.
    pub plan: Plan,
}

/// A call that waits for rows.
#[derive(Clone, Debug)]
pub struct Pending {
    pending: workspace::Pending,
    tool: &'static Tool,
    page: String,
}

impl Pending {
    /// The rows it waits for.
    pub fn read(&self) -> &Read {
        self.pending.read()
    }

    /// Goes on with the rows of [`Pending::read`].
    pub fn finish(self, rows: &Rows) -> Result<Done, ErrorInfo> {
        let plan = self.pending.finish(rows)?;
        let args = Given(&Value::Null);
        let told = Told {
            args,
            plan: &plan,
            value: &plan.value,
            page: self.page,
            parent: String::new(),
            lacks: String::new(),
        };
        Ok(Done { text: (self.tool.tell)(&told), plan })
    }
}

/// Works out a call whose arguments have passed the gate, by a conversation that holds this text from outside. `seen`: what
/// the person saw of the page that has allowed it. Changes nothing.
pub fn run(
    name: &str,
    args: &Value,
    tree: &PageTree,
    now: Millis,
    outside: &Outside,
    seen: Option<Seen>,
) -> Result<Called, ErrorInfo> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        return Err(ErrorInfo::new(Code::ToolNotFound, format!("no page tool is called '{name}'")));
    };
    let args = Given(args);
    if let Some(seen) = seen.filter(|_| takes_text(tool)) {
        tree.must_show(&args.said("slug"), seen)?;
    }
    let named = |name: &str| args.text(name).map(|slug| named(tree, &slug)).unwrap_or_default();
    let page = named("slug");
    let mut plan = match tree.plan_for(&(tool.op)(args.said("slug"), args), now, outside)? {
        Outcome::Done(plan) => plan,
        Outcome::Read(pending) => return Ok(Called::Read(Pending { pending, tool, page })),
    };
    let parent = named("parent_slug");
    let told = Told { args, plan: &plan, value: &plan.value, page, parent, lacks: lacks(tree) };
    let text = (tool.tell)(&told);
    // A page's address is made of its title. Who has written the title of a damaged page is not known.
    if !told.lacks.is_empty() && text.ends_with(&told.lacks) {
        plan.outside.join(&Outside::of(Outside::UNKNOWN));
    }
    Ok(Called::Done(Done { text, plan }))
}

/// A text member of a public form.
fn member<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// `"Title" (slug: x)` of a public form.
fn shown(value: &Value) -> String {
    format!("\"{}\" (slug: {})", member(value, "title"), member(value, "slug"))
}

/// The same of a page by its slug.
fn named(tree: &PageTree, slug: &str) -> String {
    let title = tree.page(slug).map_or(slug, |page| page.title.as_str());
    format!("\"{title}\" (slug: {slug})")
}

/// What is said behind a list in which pages may be missing that nobody can read.
fn lacks(tree: &PageTree) -> String {
    let slugs = tree.damaged().list();
    if slugs.is_empty() {
        return String::new();
    }
    let one = slugs.len() == 1;
    let (what, they, them) = if one { ("A page is", "it", "it") } else { ("Some pages are", "they", "them") };
    let slugs = find::join(&slugs, ", ");
    format!(
        "\n\n{what} damaged, so {they} could not be looked at: {slugs}. A person can mend or remove {them}."
    )
}

/// "1 page", "2 pages".
fn counted(count: usize) -> String {
    if count == 1 { "1 page".into() } else { format!("{count} pages") }
}

fn found(told: &Told<'_>) -> String {
    let (query, hits) = (told.args.said("query"), list(told.value));
    if hits.is_empty() {
        return format!("No page matches \"{query}\".{}", told.lacks);
    }
    let verb = if hits.len() == 1 { "matches" } else { "match" };
    let mut text = format!("{} {verb} \"{query}\":\n", counted(hits.len()));
    for (index, hit) in hits.iter().enumerate() {
        text.push_str(&format!("\n{}. {}\n", index + 1, shown(hit)));
        let snippet = member(hit, "snippet");
        if !snippet.is_empty() {
            text.push_str(&format!("   {snippet}\n"));
        }
    }
    text.truncate(text.trim_end().len());
    text + &told.lacks
}

fn page(told: &Told<'_>) -> String {
    let (page, offset, limit) =
        (told.value, told.args.number("offset").unwrap_or(0), told.args.number("limit"));
    let content = member(page, "content");
    let total = content.chars().count();
    let version = page.get("version").and_then(Value::as_u64).unwrap_or_default();
    let mut text = format!("# {}\n", member(page, "title"));
    text.push_str(&format!("slug: {}, version: {version}, {total} characters\n", member(page, "slug")));
    let metadata = page.get("metadata").and_then(Value::as_object).filter(|map| !map.is_empty());
    if let Some(metadata) = metadata {
        text.push_str(&format!("metadata: {}\n", pairs(metadata)));
    }
    let from = offset.min(total);
    let end = limit.map_or(total, |limit| from.saturating_add(limit).min(total));
    let at = |index: usize| content.char_indices().nth(index).map_or(content.len(), |(at, _)| at);
    let part = content.get(at(from)..at(end)).unwrap_or_default();
    if total == 0 {
        text.push_str("\n(The page is empty.)");
        return text;
    }
    if from > 0 || end < total {
        // At the top: the end of a long result is what gets cut.
        text.push_str(&format!("These are characters {from} to {end}."));
        if end < total {
            text.push_str(&format!(" Read on with offset {end}."));
        }
        text.push('\n');
    }
    if part.len() > MAX_RESULT_BYTES {
        text.push_str("This is more than one result can hold: read it in parts with offset and limit.\n");
    }
    text.push('\n');
    text.push_str(part);
    text
}

/// The members of an object in one line.
fn pairs(map: &Map<String, Value>) -> String {
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name} = {text}"),
        value => format!("{name} = {}", json(value)),
    };
    find::join(&map.iter().map(pair).list(), ", ")
}

fn tree(nodes: &Value) -> String {
    let mut text = String::new();
    let count = branch(list(nodes), 0, &mut text);
    if count == 0 {
        return "The workspace has no pages.".into();
    }
    text.truncate(text.trim_end().len());
    format!("{}:\n\n{text}", counted(count))
}

/// Appends these pages and those below, and counts them.
fn branch(nodes: &[Value], depth: usize, text: &mut String) -> usize {
    if depth > MAX_DEPTH {
        return 0;
    }
    let mut count = 0;
    for node in nodes {
        text.push_str(&"  ".repeat(depth));
        let damaged = if node.get("damaged").is_some() { ", damaged: it cannot be read" } else { "" };
        text.push_str(&format!("- {}{damaged}\n", shown(node)));
        let below = node.get("children").map_or(&[][..], list);
        count += 1 + branch(below, depth + 1, text);
    }
    count
}

/// A door of the room `upkeep`, by the table of the tools.
#[inline(never)]
fn backlinks(told: &Told<'_>) -> String {
    enter(Room::Upkeep);
    let (to, pages) = (&told.page, list(told.value));
    if pages.is_empty() {
        return format!("No page links to {to}.{}", told.lacks);
    }
    let verb = if pages.len() == 1 { "links" } else { "link" };
    let mut text = format!("{} {verb} to {to}:\n", counted(pages.len()));
    for page in pages {
        text.push_str(&format!("\n- {}", shown(page)));
    }
    text + &told.lacks
}

/// A door of the room `upkeep`, by the table of the tools.
#[inline(never)]
fn outgoing(told: &Told<'_>) -> String {
    enter(Room::Upkeep);
    let (from, links) = (&told.page, list(told.value));
    if links.is_empty() {
        return format!("{from} links to no page.");
    }
    let mut text = format!("{from} links to:\n");
    for link in links {
        if link.get("slug").is_some_and(Value::is_string) {
            text.push_str(&format!("\n- {}", shown(link)));
        } else {
            text.push_str(&format!("\n- \"{}\", which does not exist", member(link, "title")));
        }
    }
    text
}

/// A door of the room `upkeep`, by the table of the tools.
#[inline(never)]
fn history(told: &Told<'_>) -> String {
    enter(Room::Upkeep);
    let mut text = format!("The history of {}, the present version first:\n", told.page);
    for version in list(told.value) {
        let number = version.get("version").and_then(Value::as_u64).unwrap_or_default();
        let at = version.get("at").and_then(Value::as_u64).unwrap_or_default();
        let content = member(version, "content");
        if version.get("damaged").is_some() {
            text.push_str(&format!("\n## Version {number}\n\n(It is damaged and cannot be read.)\n"));
            continue;
        }
        let content = if content.is_empty() { "(empty)" } else { content };
        text.push_str(&format!("\n## Version {number}, written {}\n\n{content}\n", moment(at)));
    }
    text.truncate(text.trim_end().len());
    text
}

fn updated(told: &Told<'_>) -> String {
    let (page, name) = (told.value, shown(told.value));
    if told.plan.writes.is_empty() {
        return format!("{name} is as you want it already; nothing was changed.");
    }
    if told.args.text("content").is_some() {
        let version = page.get("version").and_then(Value::as_u64).unwrap_or_default();
        return format!("Changed the text of {name}; it now has version {version}.");
    }
    match page.get("metadata").and_then(Value::as_object).filter(|map| !map.is_empty()) {
        None => format!("Changed the metadata of {name}; there is none now."),
        Some(metadata) => format!("Changed the metadata of {name} to: {}.", pairs(metadata)),
    }
}

/// A door of the room `upkeep`, by the table of the tools.
#[inline(never)]
fn moved(told: &Told<'_>) -> String {
    enter(Room::Upkeep);
    let name = shown(told.value);
    let top = told.args.text("parent_slug").is_none();
    let place = if top { "the top level".into() } else { ["below ", &told.parent].concat() };
    let index = told.value.get("position").and_then(Value::as_u64).unwrap_or_default();
    if told.plan.writes.is_empty() {
        return format!("{name} stands there already: {place}, position {index}.");
    }
    let to = if top { "to " } else { "" };
    format!("Moved {name} {to}{place}, position {index}.")
}

/// A door of the room `upkeep`, by the table of the tools.
#[inline(never)]
fn renamed(told: &Told<'_>) -> String {
    enter(Room::Upkeep);
    let was = &told.page;
    if told.plan.writes.is_empty() {
        return format!("{was} has this title already; nothing was changed.");
    }
    let slug = member(told.value, "slug");
    let links = told.plan.changed().filter(|changed| *changed != slug).count();
    let links = match links {
        0 => String::new(),
        count => format!(" Links to it were changed in {}.", counted(count)),
    };
    format!("Renamed {was} to \"{}\"; the slug stays.{links}", member(told.value, "title"))
}

fn deleted(told: &Told<'_>) -> String {
    let below = match told.plan.changed().count().saturating_sub(1) {
        0 => String::new(),
        1 => " The page below it moved up to its place.".into(),
        count => format!(" The {count} pages below it moved up to its place."),
    };
    format!("Moved {} to the trash.{below}", told.page)
}

/// A moment in UTC, to the minute: `2026-11-21 20:15 UTC`.
fn moment(at: Millis) -> String {
    let minutes = at / 60_000;
    let days = minutes / 1440;
    // Days are counted from 1 March of the year 0, so that the leap day is the last of a year.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{date:02} {:02}:{:02} UTC", minutes % 1440 / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Commit, MemoryStore};
    use crate::tools::{Registry, ToolText, gate};
    use serde_json::json;

    /// A workspace with the tools in front of it, as a run uses them.
    struct Desk {
        registry: Registry,
        tree: PageTree,
        store: MemoryStore,
    }

    impl Desk {
        fn new() -> Desk {
            let mut registry = Registry::new();
            for definition in definitions() {
                registry.register(definition, false).unwrap();
            }
            Desk { registry, tree: PageTree::default(), store: MemoryStore::new() }
        }

        fn call(&mut self, name: &str, args: Value) -> Result<String, ErrorInfo> {
            let checked = gate(&self.registry, &crate::tools::Policy::default(), name, &args.to_string())?;
            let done =
                match run(name, &checked.args, &self.tree, 1_795_292_100_000, &Outside::default(), None)? {
                    Called::Done(done) => done,
                    Called::Read(pending) => {
                        let rows = self.store.read(pending.read());
                        pending.finish(&rows)?
                    }
                };
            assert_eq!(checked.definition.read_only, checked.definition.parallel);
            assert!(done.plan.writes.is_empty() || !checked.definition.read_only, "{name}");
            let commit = Commit {
                expect: done.plan.expect.clone(),
                writes: done.plan.writes.clone(),
                ..Commit::default()
            };
            self.store.commit(&commit).unwrap();
            self.tree.accept(done.plan);
            Ok(done.text)
        }

        fn ok(&mut self, name: &str, args: Value) -> String {
            self.call(name, args).unwrap()
        }

        /// The error, after making sure that nothing has changed.
        fn err(&mut self, name: &str, args: Value) -> ErrorInfo {
            let before = self.store.clone();
            let error = self.call(name, args).unwrap_err();
            assert_eq!(self.store, before);
            error
        }
    }

    #[test]
    fn the_twelve_come_in_the_order_of_the_seed() {
        let tools = definitions();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "search_pages",
                "read_page",
                "get_page_tree",
                "get_backlinks",
                "get_outgoing_links",
                "read_page_history",
                "create_page",
                "update_page_content",
                "update_page_metadata",
                "move_page",
                "rename_page",
                "delete_page"
            ]
        );
        for tool in &tools {
            let prefixed = ["get_", "search_", "read_"].iter().any(|prefix| tool.name.starts_with(prefix));
            assert_eq!(tool.read_only, prefixed, "{}", tool.name);
            let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
            assert_eq!(schema["type"], "object");
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string() && property["type"] != Value::Null, "{name}");
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(schema["properties"][name.as_str().unwrap()].is_object());
            }
        }
    }

    #[test]
    fn a_search_reads_as_a_list() {
        let mut desk = Desk::new();
        desk.ok(
            "create_page",
            json!({"title": "Dragon Lore", "content": "Dragons breathe fire and hoard treasure."}),
        );
        desk.ok("create_page", json!({"title": "Dragonfly"}));
        assert_eq!(
            desk.ok("search_pages", json!({"query": "dragons"})),
            "1 page matches \"dragons\":\n\n1. \"Dragon Lore\" (slug: dragon-lore)\n   Dragons breathe fire and hoard \
             treasure."
        );
        let two = desk.ok("search_pages", json!({"query": "dragon"}));
        assert!(
            two.starts_with("2 pages match") && two.ends_with("2. \"Dragonfly\" (slug: dragonfly)"),
            "{two}"
        );
        assert!(!desk.ok("search_pages", json!({"query": "dragon", "limit": 1})).contains("2."));
        assert_eq!(desk.ok("search_pages", json!({"query": "sea"})), "No page matches \"sea\".");
    }

    #[test]
    fn a_page_is_read_whole_or_in_parts() {
        let mut desk = Desk::new();
        desk.ok("create_page", json!({"title": "A", "content": "aé\u{1f409}d"}));
        let head = "# A\nslug: a, version: 1, 4 characters\n";
        assert_eq!(desk.ok("read_page", json!({"slug": "a"})), format!("{head}\naé\u{1f409}d"));
        assert_eq!(
            desk.ok("read_page", json!({"slug": "a", "offset": 1, "limit": 2})),
            format!("{head}These are characters 1 to 3. Read on with offset 3.\n\né\u{1f409}")
        );
        assert_eq!(
            desk.ok("read_page", json!({"slug": "a", "offset": 3})),
            format!("{head}These are characters 3 to 4.\n\nd")
        );
        assert_eq!(
            desk.ok("read_page", json!({"slug": "a", "offset": 9})),
            format!("{head}These are characters 4 to 4.\n\n")
        );
        desk.ok("update_page_metadata", json!({"slug": "a", "metadata": {"tag": "x", "n": [1]}}));
        assert!(desk.ok("read_page", json!({"slug": "a"})).contains("\nmetadata: n = [1], tag = x\n"));
        desk.ok("create_page", json!({"title": "B"}));
        assert!(desk.ok("read_page", json!({"slug": "b"})).ends_with("0 characters\n\n(The page is empty.)"));
    }

    #[test]
    fn a_large_page_says_how_to_read_on_and_is_cut() {
        let mut desk = Desk::new();
        desk.ok("create_page", json!({"title": "Large Page", "content": "dragon ".repeat(80_000)}));
        let text = desk.ok("read_page", json!({"slug": "large-page"}));
        let cut = ToolText::new(text.clone());
        assert!(cut.text.contains("560000 characters\nThis is more than one result can hold"));
        assert!(cut.text.len() <= MAX_RESULT_BYTES && cut.truncated.is_some());
        let part = desk.ok("read_page", json!({"slug": "large-page", "offset": 100_000, "limit": 7}));
        assert!(part.ends_with("Read on with offset 100007.\n\nn drago"), "{part}");
    }

    #[test]
    fn the_tree_and_the_links_read_as_lists() {
        let mut desk = Desk::new();
        assert_eq!(desk.ok("get_page_tree", json!({})), "The workspace has no pages.");
        desk.ok("create_page", json!({"title": "Top"}));
        assert_eq!(
            desk.ok(
                "create_page",
                json!({"title": "Low", "parent_slug": "top", "content": "[[Top]] [[Gone]]"})
            ),
            "Created \"Low\" (slug: low)."
        );
        assert_eq!(
            desk.ok("get_page_tree", json!({})),
            "2 pages:\n\n- \"Top\" (slug: top)\n  - \"Low\" (slug: low)"
        );
        assert_eq!(desk.ok("get_page_tree", json!({"root_slug": "low"})), "1 page:\n\n- \"Low\" (slug: low)");
        assert_eq!(
            desk.ok("get_backlinks", json!({"slug": "top"})),
            "1 page links to \"Top\" (slug: top):\n\n- \"Low\" (slug: low)"
        );
        assert_eq!(desk.ok("get_backlinks", json!({"slug": "low"})), "No page links to \"Low\" (slug: low).");
        assert_eq!(
            desk.ok("get_outgoing_links", json!({"slug": "low"})),
            "\"Low\" (slug: low) links to:\n\n- \"Top\" (slug: top)\n- \"Gone\", which does not exist"
        );
        assert_eq!(
            desk.ok("get_outgoing_links", json!({"slug": "top"})),
            "\"Top\" (slug: top) links to no page."
        );
    }

    #[test]
    fn changes_are_acknowledged() {
        let mut desk = Desk::new();
        for title in ["A", "B", "C"] {
            desk.ok("create_page", json!({"title": title}));
        }
        assert_eq!(
            desk.ok("move_page", json!({"slug": "a", "parent_slug": "b"})),
            "Moved \"A\" (slug: a) below \"B\" (slug: b), position 0."
        );
        assert_eq!(desk.tree.page("a").unwrap().parent.as_deref(), Some("b"));
        assert_eq!(
            desk.ok("move_page", json!({"slug": "a", "parent_slug": "b"})),
            "\"A\" (slug: a) stands there already: below \"B\" (slug: b), position 0."
        );
        assert_eq!(
            desk.ok("move_page", json!({"slug": "c", "parent_slug": null, "position": 0})),
            "Moved \"C\" (slug: c) to the top level, position 0."
        );
        assert_eq!(
            desk.ok("update_page_content", json!({"slug": "c", "content": "[[B]]"})),
            "Changed the text of \"C\" (slug: c); it now has version 2."
        );
        assert_eq!(
            desk.ok("update_page_content", json!({"slug": "c", "content": "[[B]]"})),
            "\"C\" (slug: c) is as you want it already; nothing was changed."
        );
        assert_eq!(
            desk.ok("rename_page", json!({"slug": "b", "title": "Bee"})),
            "Renamed \"B\" (slug: b) to \"Bee\"; the slug stays. Links to it were changed in 1 page."
        );
        assert_eq!(desk.tree.page("c").unwrap().content, "[[Bee]]");
        assert_eq!(
            desk.ok("rename_page", json!({"slug": "b", "title": "Bee"})),
            "\"Bee\" (slug: b) has this title already; nothing was changed."
        );
        assert_eq!(
            desk.ok("update_page_metadata", json!({"slug": "b", "metadata": {"k": "v"}})),
            "Changed the metadata of \"Bee\" (slug: b) to: k = v."
        );
        assert_eq!(
            desk.ok("update_page_metadata", json!({"slug": "b", "metadata": {"k": null}})),
            "Changed the metadata of \"Bee\" (slug: b); there is none now."
        );
        assert_eq!(
            desk.ok("delete_page", json!({"slug": "b"})),
            "Moved \"Bee\" (slug: b) to the trash. The page below it moved up to its place."
        );
        assert_eq!(desk.tree.page("a").unwrap().parent, None);
        assert_eq!(desk.ok("delete_page", json!({"slug": "c"})), "Moved \"C\" (slug: c) to the trash.");
    }

    #[test]
    fn the_history_gives_the_texts() {
        let mut desk = Desk::new();
        desk.ok("create_page", json!({"title": "A"}));
        desk.ok("update_page_content", json!({"slug": "a", "content": "one"}));
        desk.ok("update_page_content", json!({"slug": "a", "content": "two"}));
        let head = "The history of \"A\" (slug: a), the present version first:\n";
        let at = "written 2026-11-21 20:15 UTC";
        assert_eq!(
            desk.ok("read_page_history", json!({"slug": "a", "limit": 2})),
            format!("{head}\n## Version 3, {at}\n\ntwo\n\n## Version 2, {at}\n\none")
        );
        assert!(desk.ok("read_page_history", json!({"slug": "a"})).ends_with("\n\n(empty)"));
    }

    #[test]
    fn a_call_that_cannot_be_done_changes_nothing() {
        let mut desk = Desk::new();
        desk.ok("create_page", json!({"title": "A"}));
        desk.ok("create_page", json!({"title": "B", "parent_slug": "a"}));
        for (name, args, code, message) in [
            ("search_pages", json!({}), Code::InvalidArguments, "missing 'query' field"),
            (
                "search_pages",
                json!({"query": "x", "limit": 0}),
                Code::InvalidArguments,
                "'limit' must be a whole number of at least 1 and of at most 50; you sent 0",
            ),
            ("read_page", json!({"slug": "a", "page": 1}), Code::InvalidArguments, "unknown field 'page'"),
            (
                "read_page",
                json!({"slug": "no-such-404"}),
                Code::PageNotFound,
                "no page has the slug 'no-such-404'",
            ),
            ("read_page_history", json!({"slug": "no"}), Code::PageNotFound, "'no'"),
            ("create_page", json!({"title": "  "}), Code::InvalidArguments, "the title is empty"),
            ("create_page", json!({"title": "x", "parent_slug": "no"}), Code::PageNotFound, "'no'"),
            ("move_page", json!({"slug": "a"}), Code::InvalidArguments, "missing 'parent_slug' field"),
            (
                "move_page",
                json!({"slug": "a", "parent_slug": "b"}),
                Code::PageCycle,
                "'a' cannot be moved below 'b'",
            ),
            ("destroy_all_data", json!({}), Code::ToolNotFound, "no tool is called 'destroy_all_data'"),
        ] {
            let error = desk.err(name, args);
            assert_eq!(error.code, code, "{name}");
            assert!(error.message.contains(message), "{}", error.message);
        }
        let error = run("restore", &json!({}), &desk.tree, 0, &Outside::default(), None).unwrap_err();
        assert_eq!(error.code, Code::ToolNotFound);
    }

    #[test]
    fn moments_are_dates() {
        for (at, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (951_868_799_999, "2000-02-29 23:59 UTC"),
            (1_709_164_800_000, "2024-02-29 00:00 UTC"),
            (1_735_689_599_000, "2024-12-31 23:59 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(moment(at), text);
        }
    }
}
