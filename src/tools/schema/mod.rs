//! JSON Schema 2020-12: whether a value fits, and what to send instead.
//!
//! Decides all of the standard that is about validity, and what of a model's arguments is repaired (`coerce`).
//! Promises: a schema is made ready once and then never looked up again. What is malformed, loops, or would be too much
//! work is refused when it is compiled. No value makes validation run away: what it takes is counted, patterns too, which
//! take time that is linear in the text. Nothing is fetched. Leaves to others: what is a regular expression (the port
//! [`Patterns`]), and documents that a schema refers to, which are handed in.
//!
//! | file | what it decides |
//! |---|---|
//! | `keywords` | what each keyword takes, in which order they count, vocabularies, types |
//! | `compile` | from documents to a list of nodes in which every reference is a place |
//! | `validate` | whether a value fits |
//! | `number` | comparing exactly, within bounds of work |
//! | `pointer` | a step of a JSON Pointer |
//! | `violation` | what is wrong, as a value and as a sentence |
//! | `coerce` | what is repaired |
//! | `rare` | all of this for what few schemas have: a room that arrives when it is needed |

mod coerce;
mod compile;
mod keywords;
mod number;
mod pointer;
mod rare;
mod validate;
mod violation;

pub use coerce::{Repair, Repaired};
pub use violation::{Report, Violation};

use crate::error::ErrorInfo;
use crate::json;
use crate::ports::Patterns;
use compile::Compiled;
use serde_json::Value;
use std::fmt;
use std::rc::Rc;

/// How a schema is compiled.
#[derive(Clone)]
pub struct Options<'a> {
    /// What knows regular expressions, for `pattern`, `patternProperties` and the format `regex`.
    pub patterns: Rc<dyn Patterns>,
    /// Whether `format` decides; else it is a remark.
    pub formats: bool,
    /// Whether it was taken once. A pattern that an earlier version has taken, and this one cannot follow, is no error then:
    /// what it is asked about does not fit.
    pub recorded: bool,
    /// Documents that the schema may refer to, each with its absolute URI; they may refer to each other. Meta-schemas
    /// are not known unless they are here.
    pub documents: &'a [(String, Value)],
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("formats", &self.formats).finish_non_exhaustive()
    }
}

/// A schema that values can be checked against. Cheap to clone.
#[derive(Clone)]
pub struct Schema(Rc<Compiled>);

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("nodes", &self.0.len()).finish()
    }
}

/// Whether a schema has what few schemas have, and so needs the room for that. It is given as JSON or as its text; what is
/// neither needs nothing, because it is refused.
pub fn needs_room(schema: &Value, formats: bool) -> bool {
    let parsed = schema.as_str().and_then(json::parse);
    keywords::is_rare(parsed.as_ref().unwrap_or(schema), formats, compile::DEEPEST)
}

impl Schema {
    /// Makes a schema ready. The error names the place in it.
    pub fn compile(schema: &Value, options: &Options<'_>) -> Result<Schema, ErrorInfo> {
        Ok(Schema(Rc::new(compile::compile(schema, options)?)))
    }

    /// All that is wrong with a value; the first [`Report::KEPT`] in full.
    pub fn validate(&self, value: &Value) -> Report {
        validate::validate(&self.0, value).report(&self.0)
    }

    /// Repairs what cannot change the meaning of a value, where that makes it fit: a text that is the JSON of the only
    /// thing that fits, one value where only an array of it fits, `null` for a member that may be absent. What fits is
    /// left as it is.
    pub fn coerce(&self, value: Value) -> Repaired {
        coerce::coerce(&self.0, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::PatternEngine;
    use crate::tools::{own, pages};
    use serde_json::json;

    /// A schema that needs no room has nothing in it that comes through a door of it.
    #[test]
    fn what_a_schema_needs_is_known_before_it_is_compiled() {
        let leaf = || json!({"minimum": 1, "type": "integer", "$comment": "anyOf", "format": "date"});
        let nested = |below: Value| json!({"type": "object", "properties": {"not": {"items": below}}, "additionalProperties": false});
        assert!(!needs_room(&nested(leaf()), false) && needs_room(&nested(leaf()), true));
        for keyword in keywords::KEYWORDS {
            let given = match keyword.takes {
                keywords::Takes::Schema => leaf(),
                keywords::Takes::Schemas => json!([leaf()]),
                keywords::Takes::SchemaByName => json!({"a": leaf()}),
                keywords::Takes::Text => json!("#"),
                keywords::Takes::Names => json!(["a"]),
                keywords::Takes::NamesByName => json!({"a": ["b"]}),
                keywords::Takes::Types => json!("string"),
                keywords::Takes::Values => json!([1]),
                keywords::Takes::Flag => json!(true),
                _ => json!(1),
            };
            let schema = nested(json!({ keyword.name: given }));
            let options = Options {
                patterns: PatternEngine::default().patterns(),
                formats: false,
                recorded: false,
                documents: &[],
            };
            let needs = needs_room(&schema, false);
            let (rare, remark) = (keyword.key.is_rare(), keyword.key == keywords::Key::Format);
            assert_eq!(needs, rare && !remark, "{schema}");
            if let Ok(schema) = Schema::compile(&schema, &options) {
                let nodes = (0..schema.0.len()).filter_map(|id| schema.0.node(id));
                let mut rules = nodes.flat_map(|node| &node.rules);
                assert!(
                    needs || !rules.any(|rule| rule.key.is_rare()),
                    "{keyword:?}",
                    keyword = keyword.name
                );
            }
        }
        for names in [
            json!({"$id": "a"}),
            json!({"$anchor": "a"}),
            json!({"$schema": "https://a.example/"}),
            json!({"$schema": 1}),
        ] {
            assert!(needs_room(&names, false), "{names}");
        }
        for plain in [
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            json!(true),
            json!([]),
            json!("{"),
        ] {
            assert!(!needs_room(&plain, false), "{plain}");
        }
        assert!(needs_room(&json!(r#"{"$defs":{}}"#), false));
        // They are registered without being asked for.
        let own = [own::delegate(), own::use_skill(["a"].into_iter())];
        for tool in pages::definitions().into_iter().chain(own) {
            assert!(!needs_room(&tool.input_schema.as_str().into(), tool.formats), "{}", tool.name);
        }
        let deep = (0..300).fold(json!({"not": {}}), |below, _| json!({"items": below}));
        assert!(!needs_room(&deep, false), "it is refused for its depth");
    }
}
