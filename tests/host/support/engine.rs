//! What a browser's `RegExp` is, an ECMA-262 engine, and shorthands.

use lodger::error::ErrorInfo;
use lodger::ports::{PatternEngine, Patterns};
use lodger::tools::schema::{Options, Schema};
use regress::Regex;
use serde_json::Value;
use std::cell::Cell;
use std::rc::Rc;

struct Engine;

impl Patterns for Engine {
    fn test(&self, source: &str, unicode: bool, c: Option<char>) -> Result<bool, String> {
        let flags = if unicode { "u" } else { "" };
        let regex = Regex::with_flags(source, flags).map_err(|error| error.to_string())?;
        Ok(c.is_some_and(|c| regex.find(c.encode_utf8(&mut [0; 4])).is_some()))
    }
}

/// A page's own engine. Only a schema that few have asks it, and that may not come before its room.
struct Guarded(Rc<Cell<bool>>);

impl Patterns for Guarded {
    fn test(&self, source: &str, unicode: bool, c: Option<char>) -> Result<bool, String> {
        assert!(self.0.get(), "broken law: a schema is compiled or asked before its room is there");
        Engine.test(source, unicode, c)
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
    Options { patterns: Rc::new(Engine), formats: false, recorded: false, documents }
}

pub fn compile(schema: &Value) -> Result<Schema, ErrorInfo> {
    Schema::compile(schema, &Options { formats: true, ..options(&[]) })
}
