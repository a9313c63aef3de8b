//! One page, as it is kept and as it is shown.
//!
//! Decides the stored form (a JSON text with a hash over it) and the public form. Promises: a page reads back from its
//! stored text exactly. A text that is no page, or is not what was written, is `corrupt`. One of a newer format is
//! `newer_version`. What was written before there were hashes is believed. Leaves to others: where a page stands
//! among its siblings, which is known only to the whole workspace, and whether it is the last one (`damage.rs`).

use crate::error::{Code, ErrorInfo};
use crate::journal::Outside;
use crate::journal::sealed::{self, seal};
use crate::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Millis;
use crate::protocol::args::whole;
use serde_json::{Map, Value};

/// The format of the rows of pages. Those of the first have neither a number nor a hash.
pub(super) const FORMAT: u64 = 2;

/// A page of a workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Its key: unique in the workspace, the trash included, and never changed.
    pub slug: String,
    /// Its title, not empty, without line breaks.
    pub title: String,
    /// Its text.
    pub content: String,
    /// The slug of the page above; `None`: it stands at the top. In the trash: where it stood.
    pub parent: Option<String>,
    /// Where it stands among its siblings: they are sorted by rank, then slug. Ranks have gaps, so that a page
    /// can be put between two others without a write to either; what a person sees is the index.
    pub rank: u64,
    /// Which content this is: 1 at first, one more with every change of the content.
    pub version: u64,
    /// When this content was written.
    pub written_at: Millis,
    /// What else is known of it.
    pub metadata: Map<String, Value>,
    /// When it was created.
    pub created_at: Millis,
    /// When its title, content or metadata last changed.
    pub updated_at: Millis,
    /// When it went into the trash; `None`: it is not there.
    pub trashed_at: Option<Millis>,
    /// Of a page in the trash: the children that moved up when it went, in their order.
    pub lifted: Vec<String>,
    /// The number of the change that wrote it; 0: it was written before rows had that.
    pub rev: u64,
    /// Where the text from outside comes from that it holds: an agent that had read it has written.
    pub outside: Outside,
}

/// Which text of a page a person had in sight when a change of it was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// That of this version.
    Version(u64),
    /// The one that it had then, because nobody said which.
    At(Millis),
}

impl Seen {
    /// The version that an answer names, else what stood there when the question was asked.
    pub fn new(version: Option<u64>, asked: Millis) -> Seen {
        version.map_or(Seen::At(asked), Seen::Version)
    }

    /// Whether a page still has that text.
    pub(super) fn is_of(self, page: &Page) -> bool {
        match self {
            Seen::Version(version) => page.version == version,
            Seen::At(at) => page.written_at <= at,
        }
    }
}

impl Page {
    /// Whether it says what another one says.
    pub(super) fn says_the_same(&self, other: &Page) -> bool {
        self.content == other.content && self.title == other.title && self.metadata == other.metadata
    }

    /// The public form (`Page` of `index.d.ts`), with its index among its siblings.
    pub fn to_json(&self, position: usize) -> Value {
        Object::new()
            .text("slug", &self.slug)
            .text("title", &self.title)
            .text("content", &self.content)
            .value("parentSlug", self.parent.as_deref().into())
            .number("position", position as u64)
            .number("version", self.version)
            .value("metadata", Value::Object(self.metadata.clone()))
            .number("createdAt", self.created_at)
            .number("updatedAt", self.updated_at)
            .done()
    }

    /// The stored text.
    pub fn to_stored(&self) -> String {
        let text = Object::new()
            .text("slug", &self.slug)
            .text("title", &self.title)
            .text("content", &self.content)
            .value("parent", self.parent.as_deref().into())
            .number("rank", self.rank)
            .number("version", self.version)
            .number("writtenAt", self.written_at)
            .value("metadata", Value::Object(self.metadata.clone()))
            .number("createdAt", self.created_at)
            .number("updatedAt", self.updated_at)
            .value("trashedAt", self.trashed_at.into())
            .value("lifted", self.lifted.as_slice().into())
            .value("outside", self.outside.to_json())
            .number("rev", self.rev)
            .number("v", FORMAT)
            .json();
        seal("", &text)
    }

    /// Reads a stored text.
    pub fn from_stored(text: &str) -> Result<Page, ErrorInfo> {
        let value = json::parse(text).ok_or_else(|| corrupt("a page row", "JSON"))?;
        check(&value, "", text)?;
        let slug = value.get("slug").and_then(Value::as_str).ok_or_else(|| corrupt("a page row", "slug"))?;
        let bad = |name: &str| corrupt(&format!("the page '{slug}'"), name);
        let text =
            |name: &str| value.get(name).and_then(Value::as_str).map(String::from).ok_or_else(|| bad(name));
        let number = |name: &str| value.get(name).and_then(whole).ok_or_else(|| bad(name));
        Ok(Page {
            slug: slug.into(),
            title: text("title")?,
            content: text("content")?,
            parent: match value.get("parent") {
                Some(Value::Null) => None,
                _ => Some(text("parent")?),
            },
            rank: number("rank")?,
            version: number("version")?,
            written_at: number("writtenAt")?,
            metadata: value
                .get("metadata")
                .and_then(Value::as_object)
                .cloned()
                .ok_or_else(|| bad("metadata"))?,
            created_at: number("createdAt")?,
            updated_at: number("updatedAt")?,
            trashed_at: match value.get("trashedAt") {
                Some(Value::Null) => None,
                _ => Some(number("trashedAt")?),
            },
            lifted: value
                .get("lifted")
                .and_then(Value::as_array)
                .and_then(|slugs| slugs.iter().map(|slug| slug.as_str().map(String::from)).whole())
                .ok_or_else(|| bad("lifted"))?,
            rev: value.get("rev").map_or(Some(0), whole).ok_or_else(|| bad("rev"))?,
            outside: outside_of(&value).ok_or_else(|| bad("outside"))?,
        })
    }

    /// Whether it is not in the trash.
    pub fn is_live(&self) -> bool {
        self.trashed_at.is_none()
    }
}

/// The marks of a row. A row from before there were marks is `unknown`.
pub(super) fn outside_of(row: &Value) -> Option<Outside> {
    row.get("outside").map_or_else(|| Some(Outside::of(Outside::UNKNOWN)), Outside::from_json)
}

/// Whether a row is what was written, and of a format that is known here. One from before there were hashes is believed.
pub(super) fn check(row: &Value, place: &str, text: &str) -> Result<(), ErrorInfo> {
    if row.get("v").is_none() && row.get("hash").is_none() && row.get("rev").is_none() {
        return Ok(());
    }
    sealed::check(row, place, text, FORMAT)
}

/// A row that cannot be understood.
pub(super) fn corrupt(what: &str, member: &str) -> ErrorInfo {
    ErrorInfo::new(Code::Corrupt, format!("{what} cannot be read: {member} is missing or wrong"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page() -> Page {
        Page {
            slug: "drachen".into(),
            title: "Drachen \"groß\"".into(),
            content: "line\nline \u{1f409}".into(),
            parent: Some("top".into()),
            rank: 1 << 40,
            version: 3,
            written_at: 5,
            metadata: json!({"tags": ["a", 1, null]}).as_object().unwrap().clone(),
            created_at: 1,
            updated_at: 9,
            trashed_at: Some(10),
            lifted: vec!["child".into()],
            rev: 7,
            outside: Outside::tool("fetch"),
        }
    }

    /// As a row was written before there were hashes.
    fn unsealed() -> Value {
        let mut row: Value = serde_json::from_str(&page().to_stored()).unwrap();
        for name in ["hash", "rev", "v", "outside"] {
            row.as_object_mut().unwrap().remove(name);
        }
        row
    }

    #[test]
    fn a_page_reads_back_from_its_stored_text() {
        let trashed = page();
        let live = Page { parent: None, trashed_at: None, lifted: vec![], ..page() };
        for page in [trashed, live] {
            assert_eq!(Page::from_stored(&page.to_stored()), Ok(page));
        }
    }

    #[test]
    fn each_member_that_is_missing_or_wrong_is_named() {
        let whole = unsealed();
        for name in whole.as_object().unwrap().keys() {
            for damage in [None, Some(json!({"no": 1.5})), Some(json!([7]))] {
                if name == "metadata" && damage.as_ref().is_some_and(Value::is_object) {
                    continue;
                }
                let mut value = whole.clone();
                match damage {
                    None => value.as_object_mut().unwrap().remove(name),
                    Some(wrong) => value.as_object_mut().unwrap().insert(name.clone(), wrong),
                };
                let error = Page::from_stored(&value.to_string()).unwrap_err();
                assert_eq!(error.code, Code::Corrupt);
                assert!(error.message.contains(&format!(": {name} is")), "{name}: {}", error.message);
            }
        }
        assert_eq!(Page::from_stored("{").unwrap_err().code, Code::Corrupt);
    }

    #[test]
    fn what_was_written_before_there_were_hashes_is_believed() {
        let page = Page { rev: 0, outside: Outside::of(Outside::UNKNOWN), ..page() };
        assert_eq!(Page::from_stored(&unsealed().to_string()), Ok(page));
    }

    #[test]
    fn a_letter_that_was_changed_anywhere_is_noticed() {
        let stored = page().to_stored();
        for (at, letter) in stored.char_indices() {
            for other in ['x', '0', '"', ' '] {
                if other != letter {
                    let (before, after) = stored.split_at(at);
                    let (_, after) = after.split_at(letter.len_utf8());
                    let changed = [before, &other.to_string(), after].concat();
                    assert!(Page::from_stored(&changed).is_err(), "{changed}");
                }
            }
            assert!(Page::from_stored(stored.split_at(at).0).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_newer_format_is_told_as_such() {
        let newer = unsealed().to_string().replacen('{', "{\"v\":3,", 1);
        assert_eq!(Page::from_stored(&newer).unwrap_err().code, Code::NewerVersion);
        assert_eq!(Page::from_stored(&seal("", &newer)).unwrap_err().code, Code::NewerVersion);
        let changed = page().to_stored().replace("\"v\":2", "\"v\":3");
        assert_eq!(Page::from_stored(&changed).unwrap_err().code, Code::Corrupt);
    }

    #[test]
    fn the_public_form_has_the_names_of_the_contract() {
        let shown = page().to_json(2);
        let names: Vec<_> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "content",
                "createdAt",
                "metadata",
                "parentSlug",
                "position",
                "slug",
                "title",
                "updatedAt",
                "version"
            ]
        );
        assert_eq!(shown["position"], 2);
        assert_eq!(shown["parentSlug"], "top");
    }
}
