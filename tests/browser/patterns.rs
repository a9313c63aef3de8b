//! Regular expressions by the browser's engine, alone and in a schema.

use lodger::browser::Engine;
use lodger::ports::Patterns;
use lodger::tools::schema::{Options, Schema};
use serde_json::json;
use std::rc::Rc;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn a_pattern_matches_anywhere_and_every_time() {
    let pattern = Engine.compile("b.$", true).unwrap();
    for (text, fits) in [("abc", true), ("ab", false), ("b\u{1f409}", true), ("bé", true), ("", false)] {
        assert_eq!((pattern(text), pattern(text)), (fits, fits), "{text}");
    }
    let without = Engine.compile("b.$", false).unwrap();
    assert!(!without("b\u{1f409}"), "two units without the flag");
}

#[wasm_bindgen_test]
fn a_pattern_that_is_none_is_an_error() {
    let error = Engine.compile("(", true).err().unwrap();
    assert!(!error.is_empty());
    assert!(Engine.compile(r"\_", true).is_err() && Engine.compile(r"\_", false).is_ok());
}

#[wasm_bindgen_test]
fn a_schema_uses_them() {
    let options = Options { patterns: Rc::new(Engine), formats: true, documents: &[] };
    let schema = json!({ "properties": { "x": { "pattern": r"^\_\d$" } }, "patternProperties": { "^r": { "format": "regex" } } });
    let schema = Schema::compile(&schema, &options).unwrap();
    assert!(schema.validate(&json!({ "x": "_1", "r1": "a+" })).is_valid());
    assert_eq!(
        schema.validate(&json!({ "x": "_a", "r1": "a(" })).told(),
        "'x' must match the pattern ^\\_\\d$; you sent \"_a\"; 'r1' must be a regular expression; you sent \"a(\""
    );
}
