//! One page, as it is kept and as it is shown.
//!
//! Decides the stored form (a JSON text) and the public form. Promises: a page reads back from its stored text
//! exactly. A text that is no page is `corrupt`, and names the member. Leaves to others: where a page stands
//! among its siblings, which is known only to the whole workspace.

use crate::error::{Code, ErrorInfo};
use crate::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Millis;
use crate::protocol::args::whole;
use serde_json::{Map, Value};

/// A page of a workspace.
#[derive(Clone, Debug, PartialEq)]
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
}

impl Page {
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
        Object::new()
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
            .json()
    }

    /// Reads a stored text.
    pub fn from_stored(text: &str) -> Result<Page, ErrorInfo> {
        let value = json::parse(text).ok_or_else(|| corrupt("a page row", "JSON"))?;
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
        })
    }

    /// Whether it is not in the trash.
    pub fn is_live(&self) -> bool {
        self.trashed_at.is_none()
    }
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
        }
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
        let whole: Value = serde_json::from_str(&page().to_stored()).unwrap();
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
