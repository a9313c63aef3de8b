//! JSON Schema 2020-12: whether a value fits, and what to send instead.
//!
//! Decides all of the standard that is about validity, and what of a model's arguments is repaired (`coerce`).
//! Promises: a schema is made ready once and then never looked up again; what is malformed, loops, or would be too much
//! work is refused when it is compiled, patterns that would keep their engine busy without end among them; no value
//! makes validation run away otherwise; nothing is fetched. Leaves to others: regular expressions (the port
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
pub use compile::SchemaError;
pub use violation::{Report, Violation};

use crate::json;
use crate::ports::Patterns;
use compile::Compiled;
use serde_json::Value;
use std::fmt;
use std::rc::Rc;

/// How a schema is compiled.
#[derive(Clone)]
pub struct Options<'a> {
    /// The engine for `pattern`, `patternProperties` and the format `regex`.
    pub patterns: Rc<dyn Patterns>,
    /// Whether `format` decides; else it is a remark.
    pub formats: bool,
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
    pub fn compile(schema: &Value, options: &Options<'_>) -> Result<Schema, SchemaError> {
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
