//! What is repaired, and what is not.

use crate::support::engine::compile;
use serde_json::{Value, json};

fn repaired(schema: &Value, value: &Value) -> (Value, Vec<(String, &'static str)>, bool) {
    let repaired = compile(schema).unwrap().coerce(value.clone());
    let repairs = repaired.repairs.into_iter().map(|repair| (repair.path, repair.what)).collect();
    (repaired.value, repairs, repaired.report.is_valid())
}

#[test]
fn what_cannot_mean_anything_else_is_repaired() {
    let object = |x: Value| json!({"type": "object", "properties": {"x": x}});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    for (schema, value, fixed, what) in [
        (object(json!({})), json!("{\"x\": 1}"), json!({"x": 1}), vec![("", "json_text")]),
        (object(texts()), json!({"x": "a"}), json!({"x": ["a"]}), vec![("/x", "single_value")]),
        (object(texts()), json!({"x": "[\"a\"]"}), json!({"x": ["a"]}), vec![("/x", "json_text")]),
        (
            object(json!({"type": "integer"})),
            json!({"x": "42"}),
            json!({"x": 42}),
            vec![("/x", "number_text")],
        ),
        (
            object(json!({"type": "number"})),
            json!({"x": "-0.5"}),
            json!({"x": -0.5}),
            vec![("/x", "number_text")],
        ),
        (
            object(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})),
            json!({"x": "42"}),
            json!({"x": 42}),
            vec![("/x", "number_text")],
        ),
        (
            object(json!({"type": "array", "items": {"type": "integer"}})),
            json!({"x": "42"}),
            json!({"x": [42]}),
            vec![("/x", "single_value")],
        ),
        (
            object(json!({"type": "array", "items": {"type": "integer"}})),
            json!({"x": ["1", 2, "3"]}),
            json!({"x": [1, 2, 3]}),
            vec![("/x/0", "number_text"), ("/x/2", "number_text")],
        ),
        (object(json!({"type": "string"})), json!({"x": null}), json!({}), vec![("/x", "null_member")]),
        (object(json!({"enum": ["a", "b"]})), json!({"x": null}), json!({}), vec![("/x", "null_member")]),
        (
            json!({"properties": {"a": {"properties": {"x": {"$ref": "#/$defs/n"}}}}, "$defs": {"n": {"type": "integer"}}}),
            json!({"a": {"x": "7"}}),
            json!({"a": {"x": 7}}),
            vec![("/a/x", "number_text")],
        ),
    ] {
        let what: Vec<(String, &str)> = what.into_iter().map(|(path, what)| (path.into(), what)).collect();
        assert_eq!(repaired(&schema, &value), (fixed, what, true), "{schema} {value}");
    }
}

#[test]
fn what_could_mean_something_else_is_left() {
    let object = |x: Value| json!({"type": "object", "properties": {"x": x}});
    for (schema, value) in [
        (object(json!({"type": ["integer", "string"]})), json!("42")),
        (object(json!({"type": "integer"})), json!(" 42")),
        (object(json!({"type": "integer"})), json!("42.5")),
        (object(json!({"type": "integer"})), json!("0x10")),
        (object(json!({"type": "integer"})), json!("")),
        (object(json!({"type": "number"})), json!("12345678901234567890123")),
        (object(json!({"type": "number"})), json!("0.12345678901234567890")),
        (object(json!({"type": "number"})), json!("1e999")),
        (object(json!({"type": "boolean"})), json!("true")),
        (object(json!({"type": "string"})), json!(42)),
        (object(json!({"type": ["array", "object"]})), json!("a")),
        (object(json!({"type": "array", "items": {"type": "string"}})), json!({"a": 1})),
        (object(json!({"type": "array", "minItems": 2})), json!("a")),
        (object(json!({"type": "string", "minLength": 1})), json!("")),
    ] {
        let value = json!({"x": value});
        let fits = compile(&schema).unwrap().validate(&value).is_valid();
        assert_eq!(repaired(&schema, &value), (value, vec![], fits), "{schema}");
    }
    let required = json!({"properties": {"x": {"type": "string"}}, "required": ["x"]});
    assert_eq!(repaired(&required, &json!({"x": null})), (json!({"x": null}), vec![], false));
}

#[test]
fn what_is_repaired_stays_when_something_else_is_wrong() {
    let schema = json!({"properties": {"x": {"type": "integer"}}, "required": ["y"]});
    let repaired = compile(&schema).unwrap().coerce(json!({"x": "1"}));
    assert_eq!(repaired.value, json!({"x": 1}));
    assert_eq!(repaired.report.told(), "missing 'y' field");
}
