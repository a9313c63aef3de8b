//! Where text from outside comes from.
//!
//! Decides how a mark is written: names of origins, each once, in order. Promises: marks are joined and never taken away,
//! so what was made of marked text has all of its marks. Leaves to others: what is marked (`session/`, `workspace/`), and
//! what is asked about because of it (`tools/permit`).
//!
//! | name | what |
//! |---|---|
//! | `tool:NAME` | the result of a tool with `source: "External"` |
//! | `provider:TYPE` | the result of a tool that the model's provider has run |
//! | `served:TYPE` | the same, in a page or a memory that was made of it |
//! | `context` | what the page added to a message, and did not call trusted |
//! | `file:NAME#DIGITS` | a file that came with a message, and was not called trusted; the digits stand for its content; without a name: the message was removed |
//! | `import` | a session from a file |
//! | `adopted` | a tool's result in a conversation that a session has begun with |
//! | `unknown` | a page that was written before there were marks, or what is left of something damaged |

use crate::json;
use crate::list::Listed;
use crate::model::File;
use crate::work;
use serde_json::Value;

/// How many digits of a file's id are in its name: 128 bits. A stranger who makes both files finds no two that share them.
const DIGITS: usize = 32;

/// The origins of the text from outside that something holds. Empty: it holds none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside(Vec<String>);

impl Outside {
    /// What the page added to a message.
    pub const CONTEXT: &str = "context";
    /// A session from a file.
    pub const IMPORT: &str = "import";
    /// A conversation from elsewhere.
    pub const ADOPTED: &str = "adopted";
    /// A page from before there were marks, or what is left of something damaged.
    pub const UNKNOWN: &str = "unknown";

    /// The mark of this name.
    pub fn of(name: &str) -> Outside {
        Outside(vec![name.into()])
    }

    /// The mark of a tool's results.
    pub fn tool(name: &str) -> Outside {
        Outside(vec![["tool:", name].concat()])
    }

    /// The name of what a provider has looked up.
    pub fn provider(kind: &str) -> String {
        ["provider:", kind].concat()
    }

    /// The name of a file: a stranger can give one of its own the same name, and not the same content.
    pub fn file(file: &File) -> String {
        let digits = file.id.get("file_".len()..).unwrap_or_default();
        ["file:", &file.name, "#", digits.get(..DIGITS).unwrap_or(digits)].concat()
    }

    /// Whether nothing is from outside.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a tool of a provider is among them that may have done something which a second answer would do again.
    pub fn has_acted(&self) -> bool {
        // They look something up, or work in a room that the provider throws away.
        const LOOKS: &str = "annotations bash_code citations code_ file_search google_search mcp_list_tools \
             search_results server_tool_use text_editor_code tool_search url_context web_fetch web_search";
        let kinds = self.0.iter().filter_map(|name| name.strip_prefix("provider:"));
        kinds.into_iter().any(|kind| !LOOKS.split(' ').any(|looks| kind.starts_with(looks)))
    }

    /// Those that no tool of a provider has brought.
    pub fn brought_otherwise(&self) -> Outside {
        let others = self.0.iter().filter(|name| !name.starts_with("provider:"));
        Outside(others.cloned().list())
    }

    /// The same for what outlives the conversation: another one, with another provider, may read it.
    pub fn carried(&self) -> Outside {
        let mut carried = Outside::default();
        for name in &self.0 {
            let served = name.strip_prefix("provider:").map(|kind| ["served:", kind].concat());
            carried.add(served.unwrap_or_else(|| name.clone()));
        }
        carried
    }

    /// Takes up one more.
    pub fn add(&mut self, name: String) {
        if let Err(at) = self.0.binary_search(&name) {
            // Those behind it are moved.
            work::did(1 + (self.0.len() - at) as u64 / 16);
            self.0.insert(at, name);
        }
    }

    /// Takes up those of another.
    pub fn join(&mut self, other: &Outside) {
        work::did(other.0.len() as u64);
        other.0.iter().for_each(|name| self.add(name.clone()));
    }

    /// The same, where these files are not called by their names any more.
    pub fn without_names(&self, files: &[String]) -> Outside {
        let mut outside = Outside::default();
        for name in &self.0 {
            let nameless = name.rsplit_once('#').filter(|_| files.contains(name));
            outside.add(nameless.map_or_else(|| name.clone(), |(_, digits)| ["file:#", digits].concat()));
        }
        outside
    }

    /// Whether all of these are among those of another.
    pub fn is_within(&self, other: &Outside) -> bool {
        work::did(self.0.iter().map(|name| 1 + name.len() as u64 / 32).sum());
        self.0.iter().all(|name| other.0.binary_search(name).is_ok())
    }

    /// A list of texts.
    pub fn to_json(&self) -> Value {
        self.0.as_slice().into()
    }

    /// Reads such a list. In another order, or with a name twice, it is not what was written.
    pub fn from_json(value: &Value) -> Option<Outside> {
        let names = json::texts(value)
            .filter(|names| value.as_array().is_some_and(|all| all.len() == names.len()))?;
        names.is_sorted_by(|name, next| name < next).then_some(Outside(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn marks(names: &[&str]) -> Outside {
        Outside::from_json(&json!(names)).unwrap()
    }

    #[test]
    fn marks_are_joined_each_once_and_in_order() {
        let mut outside = Outside::tool("fetch");
        outside.join(&Outside::of(Outside::CONTEXT));
        outside.join(&Outside::tool("fetch"));
        outside.join(&Outside::tool("a"));
        assert_eq!(outside.to_json(), json!(["context", "tool:a", "tool:fetch"]));
        assert!(Outside::tool("a").is_within(&outside) && !outside.is_within(&Outside::tool("a")));
        assert!(Outside::default().is_within(&Outside::default()));
        assert_eq!(Outside::from_json(&outside.to_json()), Some(outside.clone()));
        let searched = marks(&["context", "provider:web_search"]);
        assert_eq!(searched.carried(), marks(&["context", "served:web_search"]));
        assert!(!searched.carried().brought_otherwise().is_within(&searched.brought_otherwise()));
        let named = marks(&["context", "file:a#b.txt#12", "file:c#34"]);
        let nameless = marks(&["context", "file:#12", "file:c#34"]);
        assert_eq!(named.without_names(&["file:a#b.txt#12".into()]), nameless);
        let mut both = marks(&["a", "context", "tool:b", "tool:z"]);
        both.join(&outside);
        assert_eq!(both, marks(&["a", "context", "tool:a", "tool:b", "tool:fetch", "tool:z"]));
        for other in [json!(["b", "a"]), json!(["a", "a"])] {
            assert_eq!(Outside::from_json(&other), None, "{other}");
        }
        assert_eq!((Outside::from_json(&json!("a")), Outside::from_json(&json!(["a", 1]))), (None, None));
    }
}
