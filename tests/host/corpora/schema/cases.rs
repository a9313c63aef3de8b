//! What is said about a value that does not fit, and about a schema that is none.

use crate::support::engine::{compile, options};
use lodger::error::Code;
use lodger::tools::schema::{Report, Schema, Violation};
use serde_json::{Value, json};

fn report(schema: &Value, value: &Value) -> Report {
    compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}")).validate(value)
}

fn messages(schema: &Value, value: &Value) -> Vec<String> {
    report(schema, value).violations.into_iter().map(|violation| violation.message).collect()
}

#[test]
fn a_missing_member_is_named_as_the_seed_says() {
    let schema =
        json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    assert_eq!(
        report(&schema, &json!({})).violations,
        [Violation {
            keyword: "required",
            instance_path: String::new(),
            schema_path: "/required".into(),
            params: json!({"missing": "query"}),
            message: "missing 'query' field".into()
        }]
    );
    assert!(report(&schema, &json!({"query": "x", "more": 1})).is_valid());
}

#[test]
fn each_keyword_says_what_to_send() {
    for (schema, value, message) in [
        (
            json!({"type": "integer", "minimum": 1}),
            json!("ten"),
            "'x' must be a whole number of at least 1; you sent \"ten\"",
        ),
        (json!({"type": "string"}), json!(1), "'x' must be a string; you sent 1"),
        (json!({"type": ["string", "null"]}), json!([]), "'x' must be null or a string; you sent []"),
        (json!({"type": "integer"}), json!(1.5), "'x' must be a whole number; you sent 1.5"),
        (json!({"type": ["integer", "number"]}), json!(null), "'x' must be a number; you sent null"),
        (json!({"type": "boolean"}), json!("true"), "'x' must be true or false; you sent \"true\""),
        (
            json!({"type": "object"}),
            json!("é".repeat(99)),
            &*format!("'x' must be an object; you sent \"{}\"…", "é".repeat(60)),
        ),
        (json!({"enum": ["a", 1, null]}), json!("b"), "'x' must be one of \"a\", 1, null; you sent \"b\""),
        (json!({"enum": ["a"]}), json!("b"), "'x' must be \"a\"; you sent \"b\""),
        (json!({"const": 5}), json!("b"), "'x' must be 5; you sent \"b\""),
        (json!({"minimum": 1}), json!(0), "'x' must be a number of at least 1; you sent 0"),
        (
            json!({"type": "integer", "exclusiveMinimum": 1, "maximum": 9}),
            json!(10),
            "'x' must be a whole number above 1 and of at most 9; you sent 10",
        ),
        (
            json!({"type": "number", "exclusiveMaximum": 1.5}),
            json!(2),
            "'x' must be a number below 1.5; you sent 2",
        ),
        (json!({"multipleOf": 0.01}), json!(0.005), "'x' must be a multiple of 0.01; you sent 0.005"),
        (json!({"minLength": 1}), json!(""), "'x' is empty"),
        (json!({"minLength": 3}), json!("éé"), "'x' must have at least 3 characters; it has 2"),
        (json!({"maxLength": 1}), json!("\u{1f409}é"), "'x' must have at most 1 character; it has 2"),
        (json!({"pattern": "^a"}), json!("b"), "'x' must match the pattern ^a; you sent \"b\""),
        (
            json!({"format": "date"}),
            json!("today"),
            "'x' must be a date such as 2026-01-31; you sent \"today\"",
        ),
        (json!({"minItems": 1}), json!([]), "'x' must have at least 1 item; it has 0"),
        (json!({"maxItems": 2}), json!([1, 2, 3]), "'x' must have at most 2 items; it has 3"),
        (
            json!({"uniqueItems": true}),
            json!([1, 2, {"a": 1}, 2.0]),
            "'x' must have no item twice; items 1 and 3 are the same",
        ),
        (json!({"minProperties": 1}), json!({}), "'x' must have at least 1 field; it has 0"),
        (json!({"maxProperties": 0}), json!({"a": 1}), "'x' must have at most 0 fields; it has 1"),
        (
            json!({"contains": {"type": "string"}}),
            json!([1]),
            "'x' must have at least 1 items that are a string; it has 0",
        ),
        (
            json!({"contains": {"const": 1}, "maxContains": 1}),
            json!([1, 1]),
            "'x' must have at most 1 items that are 1; it has 2",
        ),
        (json!({"not": {"type": "string"}}), json!("a"), "'x' must not be a string; you sent \"a\""),
        (
            json!({"propertyNames": {"enum": ["a", "b"]}}),
            json!({"c": 1}),
            "'c' is no name for a field in 'x'; a name must be one of \"a\", \"b\"",
        ),
        (json!(false), json!(1), "'x' is not allowed"),
        (json!({"items": {"type": "string"}}), json!(["a", 2]), "'/x/1' must be a string; you sent 2"),
        (json!({"required": ["y"]}), json!({}), "missing 'y' field in 'x'"),
        (
            json!({"dependentRequired": {"a": ["y"]}}),
            json!({"a": 1}),
            "missing 'y' field in 'x', which must come with 'a'",
        ),
        (json!({"additionalProperties": false}), json!({"y": 1}), "unknown field 'y' in 'x'"),
        (
            json!({"properties": {"a": {}, "b": {}}, "additionalProperties": false}),
            json!({"a": 1, "y": 1}),
            "unknown field 'y' in 'x'; the fields are a, b",
        ),
        (
            json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}),
            json!({"a": 1, "y": 1}),
            "unknown field 'y' in 'x'; the fields are a",
        ),
        (
            json!({"additionalProperties": {"type": "null"}}),
            json!({"y": 1}),
            "'/x/y' must be null; you sent 1",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!(1),
            "'x' must be a string or null; you sent 1",
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
            json!(1),
            "'x' must fit exactly one of its forms, not several; you sent 1",
        ),
    ] {
        let schema = json!({"type": "object", "properties": {"x": schema}});
        let found = messages(&schema, &json!({"x": value}));
        assert_eq!(found, [message], "{schema}");
    }
}

#[test]
fn of_alternatives_the_closest_is_told() {
    let schema = json!({"properties": {"filter": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "tag"}, "value": {"type": "string"}}, "required": ["kind", "value"]},
        {"type": "object", "properties": {"kind": {"const": "age"}, "days": {"type": "integer"}}, "required": ["kind", "days"]},
        {"type": "null"},
    ]}}});
    assert_eq!(
        messages(&schema, &json!({"filter": {"kind": "age", "days": "x"}})),
        [
            "'filter' must fit one of 3 forms and fits none",
            "'/filter/days' must be a whole number; you sent \"x\""
        ]
    );
    assert_eq!(report(&schema, &json!({"filter": {"kind": "age", "days": "x"}})).total, 2);
}

#[test]
fn all_violations_are_told_with_their_places() {
    let schema = json!({
        "required": ["a", "b"],
        "properties": {"c/d": {"$ref": "#/$defs/texts"}, "e": {"$ref": "https://example.com/other"}},
        "$defs": {"texts": {"items": {"type": "string"}}},
    });
    let documents = [("https://example.com/other".to_owned(), json!({"allOf": [{"minLength": 3}]}))];
    let schema = Schema::compile(&schema, &options(&documents)).unwrap();
    let report = schema.validate(&json!({"c/d": [1, "x", null], "e": "x"}));
    let places: Vec<_> = report
        .violations
        .iter()
        .map(|found| (found.keyword, found.instance_path.as_str(), found.schema_path.as_str(), &found.params))
        .collect();
    assert_eq!(
        places,
        [
            ("required", "", "/required", &json!({"missing": "a"})),
            ("required", "", "/required", &json!({"missing": "b"})),
            ("type", "/c~1d/0", "/$defs/texts/items/type", &json!({"types": ["string"]})),
            ("type", "/c~1d/2", "/$defs/texts/items/type", &json!({"types": ["string"]})),
            (
                "minLength",
                "/e",
                "https://example.com/other#/allOf/0/minLength",
                &json!({"limit": 3, "count": 1})
            ),
        ]
    );
    assert_eq!(
        messages(&json!({"properties": {"a/b": false}}), &json!({"a/b": 1})),
        ["'a/b' is not allowed"]
    );
    assert_eq!(
        messages(&json!({"type": "object"}), &json!(1)),
        ["the arguments must be an object; you sent 1"]
    );
}

#[test]
fn twenty_are_kept_and_all_are_counted() {
    let names: Vec<String> = (0..50).map(|n| format!("a{n:02}")).collect();
    let report = report(&json!({"required": names}), &json!({}));
    assert_eq!((report.violations.len(), report.total), (Report::KEPT, 50));
    assert!(report.told().ends_with("missing 'a19' field; and 30 more"), "{}", report.told());
    assert_eq!(Report::default().told(), "");
}

#[test]
fn a_schema_that_is_none_is_refused_with_its_place() {
    for (schema, message) in [
        (json!(5), "the schema must be a schema, not a number"),
        (json!({"type": "text"}), "'/type' must be the name of a type, or a list of such, not a string"),
        (json!({"type": []}), "'/type' must be the name of a type, or a list of such, not an array"),
        (json!({"required": "a"}), "'/required' must be a list of names, not a string"),
        (json!({"required": [1]}), "'/required' must be a list of names, not an array"),
        (json!({"enum": 1}), "'/enum' must be a list of values, not a number"),
        (json!({"properties": []}), "'/properties' must be an object of schemas, not an array"),
        (json!({"properties": {"a/b": 1}}), "'/properties/a~1b' must be a schema, not a number"),
        (json!({"items": {"minimum": "1"}}), "'/items/minimum' must be a number, not a string"),
        (json!({"items": [{}]}), "'/items' must be a schema; a list of schemas is given as 'prefixItems'"),
        (json!({"allOf": []}), "'/allOf' must be a list of schemas, not an empty one, not an array"),
        (json!({"anyOf": [1]}), "'/anyOf/0' must be a schema, not a number"),
        (json!({"multipleOf": 0}), "'/multipleOf' must be a number above 0, not a number"),
        (json!({"not": {"maxLength": -1}}), "'/not/maxLength' must be a whole number, not a number"),
        (json!({"uniqueItems": 1}), "'/uniqueItems' must be true or false, not a number"),
        (json!({"pattern": "("}), "'/pattern' is no regular expression: "),
        (json!({"patternProperties": {"[": {}}}), "'/patternProperties/[' is no regular expression: "),
        (json!({"$id": 1}), "'/$id' must be a string"),
        (json!({"$id": "a#b"}), "'/$id' must have no fragment; a name for a part is an '$anchor'"),
        (
            json!({"$schema": "https://example.com/own"}),
            "'/$schema' names a meta-schema that is not among the documents handed in",
        ),
        (json!({"$ref": "#"}), "the schema refers to itself without looking at a part of the value first"),
        (
            json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
            "'/$defs/a' refers to itself without looking at a part of the value first",
        ),
        (json!({"$ref": "#/$defs/none"}), "'/$ref' names '#/$defs/none', but nothing is there"),
        (json!({"$ref": "#none"}), "'/$ref' names '#none', but no schema there has this anchor"),
        (
            json!({"items": {"$ref": "https://example.com/x"}}),
            "'/items/$ref' names 'https://example.com/x', which is not among the documents handed in; nothing is fetched",
        ),
        (json!({"$ref": "#/title", "title": "x"}), "'/title' must be a schema, not a string"),
        (
            json!({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}),
            "'/$defs/b/$anchor' is the name of another schema as well",
        ),
    ] {
        let error = compile(&schema).expect_err(message);
        assert!(error.message.starts_with(message), "{schema}: {}", error.message);
        assert_eq!(error.code, Code::InvalidSchema);
    }
}

#[test]
fn earlier_drafts_are_read_as_this_one() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"x": {"$ref": "#/definitions/x"}},
        "definitions": {"x": {"type": "string"}},
    });
    assert_eq!(messages(&schema, &json!({"x": 1})), ["'x' must be a string; you sent 1"]);
}

#[test]
fn names_of_prototypes_are_names() {
    let schema = json!({
        "properties": {"__proto__": {"type": "string"}, "constructor": {"type": "integer"}},
        "required": ["toString"],
        "additionalProperties": false,
    });
    let value = json!({"__proto__": 1, "constructor": 2, "toString": 3});
    assert_eq!(
        messages(&schema, &value),
        [
            "'__proto__' must be a string; you sent 1",
            "unknown field 'toString'; the fields are __proto__, constructor"
        ]
    );
}

#[test]
fn a_pattern_may_need_to_be_read_without_the_flag() {
    let schema = json!({"pattern": r"^\_[\w\-]+\@$"});
    assert!(report(&schema, &json!("_a-b@")).is_valid() && !report(&schema, &json!("a")).is_valid());
}
