//! What the browser's engine is asked, and patterns beside it.

use fastrand::Rng;
use js_sys::Function;
use lodger::browser::Engine;
use lodger::ports::Patterns;
use lodger::tools::schema::{Options, Schema};
use serde_json::json;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

fn options() -> Options<'static> {
    Options { patterns: Rc::new(Engine), formats: true, recorded: false, documents: &[] }
}

#[wasm_bindgen_test]
fn a_class_knows_its_characters() {
    for (c, fits) in [('a', true), ('1', false), ('é', true), ('\u{1f409}', false), ('\u{20000}', true)] {
        assert_eq!(Engine.test(r"\p{L}", true, Some(c)), Ok(fits), "{c}");
    }
}

#[wasm_bindgen_test]
fn a_pattern_that_is_none_is_an_error() {
    let error = Engine.test("(", true, None).err().unwrap();
    assert!(!error.is_empty());
    assert!(Engine.test(r"\_", true, None).is_err() && Engine.test(r"\_", false, None) == Ok(false));
}

#[wasm_bindgen_test]
fn a_schema_uses_them() {
    let schema = json!({ "properties": { "x": { "pattern": r"^\_\d$" } }, "patternProperties": { "^r": { "format": "regex" } } });
    let schema = Schema::compile(&schema, &options()).unwrap();
    assert!(schema.validate(&json!({ "x": "_1", "r1": "a+" })).is_valid());
    assert_eq!(
        schema.validate(&json!({ "x": "_a", "r1": "a(" })).told(),
        "'x' must match the pattern ^\\_\\d$; you sent \"_a\"; 'r1' must be a regular expression; you sent \"a(\""
    );
}

/// The browser's own engine, all of it.
fn test_by_browser(pattern: &str, text: &str) -> Option<bool> {
    let source = "for (const flags of ['u', '']) { try { return new RegExp(p, flags).test(t); } catch {} }";
    let test = Function::new_with_args("p, t", source);
    test.call2(&JsValue::NULL, &pattern.into(), &text.into()).unwrap().as_bool()
}

#[wasm_bindgen_test]
fn the_browser_says_the_same_of_patterns_and_texts() {
    let random = &mut Rng::with_seed(1);
    let atoms = [
        "a",
        "b",
        "é",
        "🐉",
        ".",
        r"\d",
        r"\W",
        r"\s",
        r"\p{L}",
        r"\P{Lu}",
        r"\p{Script=Greek}",
        "[^a]",
        "[a-c]",
        r"[\w-]",
        "(a|b)",
        "(?:é|)",
        "(?<n>b+)",
        "^",
        "$",
        r"\b",
        r"\x61",
        r"\u{1f409}",
        r"\-",
        "{",
        r"\_",
    ];
    let repeats = ["", "", "*", "+?", "{2}", "{1,2}", "{0,}"];
    let letters = ['a', 'b', 'B', '1', ' ', 'é', 'Ω', '🐉', '\u{2028}', '-'];
    let (mut compared, mut fitting) = (0, 0);
    for _ in 0..4_000 {
        let piece =
            |random: &mut Rng| [*random.choice(&atoms).unwrap(), *random.choice(&repeats).unwrap()].concat();
        let pattern: String = (0..random.usize(1..5)).map(|_| piece(random)).collect();
        let schema = Schema::compile(&json!({ "pattern": pattern }), &options());
        for _ in 0..3 {
            let text: String = (0..random.usize(0..7)).map(|_| *random.choice(&letters).unwrap()).collect();
            let theirs = test_by_browser(&pattern, &text);
            let ours = schema.as_ref().ok().map(|schema| schema.validate(&json!(text)).is_valid());
            assert_eq!(ours, theirs, "/{pattern}/ and {text:?}");
            compared += 1;
            fitting += u32::from(theirs == Some(true));
        }
    }
    assert!(fitting > compared / 5 && fitting < compared, "{fitting} of {compared}");
}
