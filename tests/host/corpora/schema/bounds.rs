//! No schema and no value makes it run away.

use crate::support::engine::compile;
use lodger::tools::schema::Schema;
use serde_json::{Map, Value, json};

/// In each level, twice the level below.
fn doubling(levels: usize, below: impl Fn(Value) -> Value) -> Value {
    let mut defs = Map::new();
    for level in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        defs.insert(format!("l{level}"), below(next));
    }
    defs.insert(format!("l{levels}"), json!({ "type": "string" }));
    json!({ "$ref": "#/$defs/l0", "$defs": defs })
}

fn nested(depth: usize, mut inner: Value) -> Value {
    for _ in 0..depth {
        inner = Value::Array(vec![inner]);
    }
    inner
}

/// Values drop themselves level by level, which a test's stack has no room for at ten thousand.
fn with_a_deep_value(depth: usize, test: impl FnOnce(&Value)) {
    let mut deep = nested(depth, json!(1));
    test(&deep);
    while let Value::Array(mut items) = deep {
        deep = items.pop().unwrap_or_default();
    }
}

fn stopped(schema: &Schema, value: &Value) -> String {
    let report = schema.validate(value);
    assert_eq!((report.total, report.violations.len()), (1, 1));
    report.violations[0].message.clone()
}

#[test]
fn a_schema_that_explodes_is_refused() {
    let error = compile(&doubling(40, |next| json!({ "anyOf": [next, next] }))).unwrap_err();
    assert!(error.message.ends_with("refers to too many schemas, directly or through others"), "{error}");
    assert!(compile(&doubling(6, |next| json!({ "anyOf": [next, next] }))).is_ok());
    let error = compile(&doubling(5_000, |next| json!({ "allOf": [next] }))).unwrap_err();
    assert!(error.message.ends_with("too long a chain of schemas"), "{error}");
    let error = compile(&json!({ "enum": [nested(1_000, json!(1))] })).unwrap_err();
    assert_eq!(error.message, "the schema is nested too deeply");
}

#[test]
fn a_schema_of_a_megabyte_is_compiled_or_refused() {
    let properties = |count: usize| -> Value {
        let names =
            (0..count).map(|n| (format!("property_{n:06}"), json!({ "type": "string", "maxLength": 9 })));
        json!({ "properties": Value::Object(names.collect()) })
    };
    let schema = properties(25_000);
    assert!(schema.to_string().len() > 1_000_000);
    let compiled = compile(&schema).unwrap();
    assert_eq!(
        compiled.validate(&json!({ "property_012345": 1 })).told(),
        "'property_012345' must be a string; you sent 1"
    );
    let error = compile(&properties(60_000)).unwrap_err();
    assert_eq!(error.message, "the schema has more than 50000 schemas in it");
    // One long name, many schemas below it.
    let long = json!({ "properties": { "x".repeat(500_000): properties(15_000) } });
    assert!(compile(&long).is_ok());
    let refs: Vec<Value> = (0..9_000).map(|n| json!({ "$ref": format!("#/$defs/{n}") })).collect();
    let defs: Map<String, Value> = (0..9_000).map(|n| (n.to_string(), json!({}))).collect();
    assert!(compile(&json!({ "allOf": refs, "$defs": defs })).is_err(), "18,001 for each value");
    assert!(compile(&json!({ "prefixItems": refs, "$defs": defs })).is_ok());
}

#[test]
fn a_deep_value_is_told_so() {
    let schema = compile(&json!({ "items": { "$ref": "#" }, "uniqueItems": true })).unwrap();
    with_a_deep_value(150, |deep| assert!(schema.validate(deep).is_valid()));
    for depth in [201, 10_000] {
        with_a_deep_value(depth, |deep| {
            assert_eq!(
                stopped(&schema, deep),
                "the arguments are nested too deeply; send at most 200 levels"
            );
            assert!(!schema.coerce(Value::Null).report.is_valid() || deep.is_array());
        });
    }
    // Many schemas for each level.
    let mut chain = json!({ "items": { "$ref": "#" } });
    for _ in 0..20 {
        chain = json!({ "allOf": [chain] });
    }
    let schema = compile(&chain).unwrap();
    with_a_deep_value(40, |deep| assert!(schema.validate(deep).is_valid()));
    with_a_deep_value(150, |deep| assert!(stopped(&schema, deep).contains("nested too deeply")));
}

#[test]
fn a_loop_that_only_shows_in_use_ends() {
    let schema = json!({
        "$id": "https://example.com/outer",
        "$dynamicAnchor": "node",
        "$ref": "inner",
        "$defs": { "inner": {
            "$id": "inner",
            "anyOf": [{ "$dynamicRef": "#node" }],
            "$defs": { "node": { "$dynamicAnchor": "node" } },
        } },
    });
    assert!(stopped(&compile(&schema).unwrap(), &json!({})).contains("nested too deeply"));
}

#[test]
fn work_that_doubles_with_each_level_of_the_value_ends() {
    let both = json!({ "items": { "$ref": "#" } });
    let schema = compile(&json!({ "anyOf": [both, both], "type": "array" })).unwrap();
    with_a_deep_value(60, |deep| {
        assert_eq!(stopped(&schema, deep), "the arguments are too much work to check; send less");
    });
}

#[test]
fn large_honest_values_pass() {
    let people: Vec<Value> = (0..20_000)
        .map(
            |n| json!({ "id": n, "name": format!("Person {n}"), "tags": ["a", "b"], "note": "x".repeat(50) }),
        )
        .collect();
    let schema = json!({
        "type": "array",
        "uniqueItems": true,
        "items": {
            "type": "object",
            "properties": {
                "id": { "type": "integer", "minimum": 0 },
                "name": { "type": "string", "pattern": "^Person \\d+$" },
                "tags": { "type": "array", "items": { "enum": ["a", "b"] }, "uniqueItems": true },
                "note": { "type": "string", "maxLength": 50 },
            },
            "required": ["id", "name"],
            "unevaluatedProperties": false,
        },
    });
    let schema = compile(&schema).unwrap();
    assert!(schema.validate(&people.clone().into()).is_valid());
    let mut twice = people.clone();
    twice[19_999] = people[7].clone();
    assert_eq!(
        schema.validate(&twice.into()).told(),
        "the arguments must have no item twice; items 7 and 19999 are the same"
    );
    let wide: Map<String, Value> = (0..50_000).map(|n| (format!("x{n}"), json!(n))).collect();
    let schema = json!({ "patternProperties": { "^x": {} }, "unevaluatedProperties": false });
    assert!(compile(&schema).unwrap().validate(&wide.into()).is_valid());
}
