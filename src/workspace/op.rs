//! What can be asked of a workspace's pages: one operation for each member of `ws.pages`.
//!
//! Decides what each argument means, and what stands for one that is absent. Leaves to others: which arguments there are, and
//! refusing what does not fit (`protocol/`), and doing it (`plan.rs`).

use crate::protocol::{Command, Request};
use serde_json::{Map, Value};

/// How many pages a search gives unless it is told.
pub const SEARCH_LIMIT: usize = 10;
/// How many versions of a page are given unless told.
pub const VERSIONS_LIMIT: usize = 20;

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A new page, last among its siblings.
    Create {
        /// Its title; white space is joined.
        title: String,
        /// Its text.
        content: String,
        /// The page above; `None`: the top.
        parent: Option<String>,
        /// Its slug; `None`: made from the title.
        slug: Option<String>,
    },
    /// One page.
    Read {
        /// Which.
        slug: String,
    },
    /// The tree of all pages, or of one page and those below it.
    Tree {
        /// Where to start; `None`: the top.
        root: Option<String>,
    },
    /// The pages that match best.
    Search {
        /// Words, or beginnings of words.
        query: String,
        /// How many at most.
        limit: usize,
    },
    /// Another content, other metadata, or both.
    Update {
        /// Which page.
        slug: String,
        /// The whole new content.
        content: Option<String>,
        /// Members to set; `null` removes one, those not named stay.
        metadata: Option<Map<String, Value>>,
        /// Refuse with `version_conflict` if the page has another version.
        expected_version: Option<u64>,
    },
    /// Another title; links to the old one follow. The slug stays.
    Rename {
        /// Which page.
        slug: String,
        /// The new title.
        title: String,
    },
    /// Another place in the tree.
    Move {
        /// Which page.
        slug: String,
        /// The page above; `None`: the top.
        parent: Option<String>,
        /// The index among its new siblings; `None` or too high: last.
        position: Option<usize>,
    },
    /// Into the trash; its children move up to its place.
    Delete {
        /// Which page.
        slug: String,
    },
    /// The pages in the trash, the last deleted first.
    Trash,
    /// Out of the trash, to where it was, with the children that moved up and still are there.
    Restore {
        /// Which page.
        slug: String,
    },
    /// The pages that link to this one.
    Backlinks {
        /// Which page.
        slug: String,
    },
    /// What this page links to.
    OutgoingLinks {
        /// Which page.
        slug: String,
    },
    /// The contents a page has had, the present one first.
    Versions {
        /// Which page.
        slug: String,
        /// How many at most.
        limit: usize,
    },
}

impl Op {
    /// Each page that it names.
    pub(super) fn each_slug(&self, each: &mut dyn FnMut(&str)) {
        match self {
            Op::Create { parent, .. } => {
                parent.iter().for_each(|parent| each(parent));
            }
            Op::Move { slug, parent, .. } => {
                each(slug);
                parent.iter().for_each(|parent| each(parent));
            }
            Op::Read { slug }
            | Op::Update { slug, .. }
            | Op::Rename { slug, .. }
            | Op::Delete { slug }
            | Op::Restore { slug }
            | Op::Backlinks { slug }
            | Op::OutgoingLinks { slug }
            | Op::Versions { slug, .. } => each(slug),
            Op::Tree { .. } | Op::Search { .. } | Op::Trash => {}
        }
    }

    /// The operation of a command `pages.…`.
    pub fn of(request: &Request) -> Op {
        let args = request.args();
        let text = |name: &str| args.text(name).map(String::from);
        let needed = |name: &str| String::from(args.needed(name));
        let slug = || needed("slug");
        let limit = |default: usize| args.whole("limit").map_or(default, clamp);
        match request.command {
            Command::PagesCreate => Op::Create {
                title: needed("title"),
                content: needed("content"),
                parent: text("parentSlug"),
                slug: text("slug"),
            },
            Command::PagesRead => Op::Read { slug: slug() },
            Command::PagesTree => Op::Tree { root: text("rootSlug") },
            Command::PagesSearch => Op::Search { query: needed("query"), limit: limit(SEARCH_LIMIT) },
            Command::PagesUpdate => Op::Update {
                slug: slug(),
                content: text("content"),
                metadata: args.object("metadata").cloned(),
                expected_version: args.whole("expectedVersion"),
            },
            Command::PagesRename => Op::Rename { slug: slug(), title: needed("title") },
            Command::PagesMove => Op::Move {
                slug: slug(),
                // `null` is the top; to leave it out is more likely a slip than a wish, and is refused.
                parent: text("parentSlug"),
                position: args.whole("position").map(clamp),
            },
            Command::PagesDelete => Op::Delete { slug: slug() },
            Command::PagesTrash => Op::Trash,
            Command::PagesRestore => Op::Restore { slug: slug() },
            Command::PagesBacklinks => Op::Backlinks { slug: slug() },
            Command::PagesOutgoingLinks => Op::OutgoingLinks { slug: slug() },
            _ => Op::Versions { slug: slug(), limit: limit(VERSIONS_LIMIT) },
        }
    }
}

/// A count; what does not fit into this machine's words is as good as the highest.
pub(crate) fn clamp(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Code, ErrorInfo};
    use serde_json::json;

    fn read(name: &str, args: Value) -> Result<Op, ErrorInfo> {
        Ok(Op::of(&crate::protocol::read(&["pages.", name].concat(), args)?))
    }

    #[test]
    fn every_member_of_the_contract_is_read() {
        let slug = || String::from("s");
        let (one, some) = (json!({"slug": "s"}), |text: &str| Some(String::from(text)));
        let table = [
            (
                "create",
                json!({"title": "T", "parentSlug": null}),
                Op::Create { title: "T".into(), content: String::new(), parent: None, slug: None },
            ),
            (
                "create",
                json!({"title": "T", "content": "c", "parentSlug": "p", "slug": "s"}),
                Op::Create { title: "T".into(), content: "c".into(), parent: some("p"), slug: some("s") },
            ),
            ("read", one.clone(), Op::Read { slug: slug() }),
            ("tree", json!({}), Op::Tree { root: None }),
            ("tree", json!({"rootSlug": "s"}), Op::Tree { root: some("s") }),
            ("search", json!({"query": "q"}), Op::Search { query: "q".into(), limit: SEARCH_LIMIT }),
            (
                "update",
                json!({"slug": "s", "content": "c", "expectedVersion": 2}),
                Op::Update { slug: slug(), content: some("c"), metadata: None, expected_version: Some(2) },
            ),
            ("rename", json!({"slug": "s", "title": "t"}), Op::Rename { slug: slug(), title: "t".into() }),
            (
                "move",
                json!({"slug": "s", "parentSlug": null, "position": 0}),
                Op::Move { slug: slug(), parent: None, position: Some(0) },
            ),
            ("delete", one.clone(), Op::Delete { slug: slug() }),
            ("trash", json!({}), Op::Trash),
            ("restore", one.clone(), Op::Restore { slug: slug() }),
            ("backlinks", one.clone(), Op::Backlinks { slug: slug() }),
            ("outgoingLinks", one, Op::OutgoingLinks { slug: slug() }),
            ("versions", json!({"slug": "s", "limit": 3}), Op::Versions { slug: slug(), limit: 3 }),
        ];
        let mut tried: Vec<&str> = table.iter().map(|(name, ..)| *name).collect();
        for (name, args, op) in table {
            assert_eq!(read(name, args), Ok(op));
        }
        tried.dedup();
        // The last arm of `Op::of` takes what no other takes: a command that is new is missed here.
        let all = Command::ALL.iter().filter_map(|command| command.row().name.strip_prefix("pages."));
        assert_eq!(tried, all.collect::<Vec<_>>());
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        for (name, args, message) in [
            ("create", json!({}), "pages.create: missing 'title' field"),
            ("create", json!({"title": 1}), "pages.create: 'title' must be a string, not a number"),
            ("read", json!({"slug": "s", "x": 1}), "pages.read does not know 'x'; it takes slug"),
            ("trash", json!({"x": 1}), "pages.trash does not know 'x'; it takes nothing"),
            ("move", json!({"slug": "s"}), "pages.move: missing 'parentSlug' field"),
            (
                "move",
                json!({"slug": "s", "parentSlug": "p", "position": -1}),
                "pages.move: 'position' must be a whole number of at least 0, not -1",
            ),
            (
                "search",
                json!({"query": "q", "limit": 0}),
                "pages.search: 'limit' must be a whole number of at least 1, not 0",
            ),
            (
                "update",
                json!({"slug": "s", "metadata": []}),
                "pages.update: 'metadata' must be an object, not an array",
            ),
            ("read", json!("s"), "pages.read takes an object, not a string"),
        ] {
            let error = read(name, args).unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (Code::InvalidArguments, message));
        }
        let error = read("destroy", json!({})).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::UnknownCommand, "no command is called 'pages.destroy'")
        );
    }
}
