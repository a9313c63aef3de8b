//! What a browser's `RegExp` is, an ECMA-262 engine, and shorthands.

use lodger::ports::{Pattern, PatternEngine, Patterns};
use lodger::tools::schema::{Options, Schema, SchemaError};
use regress::Regex;
use serde_json::Value;
use std::cell::Cell;
use std::rc::Rc;

struct Engine;

impl Patterns for Engine {
    fn compile(&self, pattern: &str, unicode: bool) -> Result<Pattern, String> {
        let flags = if unicode { "u" } else { "" };
        let regex = Regex::with_flags(pattern, flags).map_err(|error| error.to_string())?;
        Ok(Rc::new(move |text| regex.find(text).is_some()))
    }
}

/// A page's own engine. Only a schema that few have asks it, and that may not come before its room.
struct Guarded(Rc<Cell<bool>>);

impl Patterns for Guarded {
    fn compile(&self, pattern: &str, unicode: bool) -> Result<Pattern, String> {
        let here = Rc::clone(&self.0);
        assert!(here.get(), "broken law: a schema is compiled before its room is there");
        let pattern = Engine.compile(pattern, unicode)?;
        Ok(Rc::new(move |text| {
            assert!(here.get(), "broken law: a value is held against a schema before its room is there");
            pattern(text)
        }))
    }
}

/// The engine of a page that has the room of schemas from when this is set.
pub fn guarded(here: &Rc<Cell<bool>>) -> PatternEngine {
    PatternEngine::new(Rc::new(Guarded(Rc::clone(here))))
}

/// An engine for those who only look.
pub fn patterns() -> PatternEngine {
    PatternEngine::new(Rc::new(Engine))
}

pub fn options(documents: &[(String, Value)]) -> Options<'_> {
    Options { patterns: Rc::new(Engine), formats: false, documents }
}

pub fn compile(schema: &Value) -> Result<Schema, SchemaError> {
    Schema::compile(schema, &Options { formats: true, ..options(&[]) })
}
