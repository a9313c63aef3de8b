//! What a browser's `RegExp` is: an ECMA-262 engine; and shorthands.

use lodger::ports::{Pattern, Patterns};
use lodger::tools::schema::{Options, Schema, SchemaError};
use regress::Regex;
use serde_json::Value;
use std::rc::Rc;

struct Engine;

impl Patterns for Engine {
    fn compile(&self, pattern: &str, unicode: bool) -> Result<Pattern, String> {
        let flags = if unicode { "u" } else { "" };
        let regex = Regex::with_flags(pattern, flags).map_err(|error| error.to_string())?;
        Ok(Rc::new(move |text| regex.find(text).is_some()))
    }
}

pub fn options(documents: &[(String, Value)]) -> Options<'_> {
    Options { patterns: Rc::new(Engine), formats: false, documents }
}

pub fn compile(schema: &Value) -> Result<Schema, SchemaError> {
    Schema::compile(schema, &Options { formats: true, ..options(&[]) })
}
