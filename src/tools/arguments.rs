//! Checks a call's arguments against the tool's JSON Schema.
//!
//! Decides which keywords count: `type`, `enum`, `properties`, `required`, `additionalProperties`, `items`,
//! `minimum`, `maximum`, `minLength`, `maxLength`, and `true` or `false` for a whole schema. Promises: what is
//! wrong is told all at once, each with its place and a sentence that a model can act on; a schema in which
//! these keywords are malformed is refused when it is compiled. Leaves to others: the rest of the standard,
//! which is not looked at.

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json::{self, json};
use crate::workspace::args::{kind, whole};
use serde_json::{Map, Value};

/// One thing that is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The keyword of the schema that says so.
    pub keyword: &'static str,
    /// Where in the arguments, as a JSON Pointer.
    pub instance_path: String,
    /// Where in the schema, as a JSON Pointer.
    pub schema_path: String,
    /// One sentence for the model.
    pub message: String,
}

/// A schema that arguments can be checked against.
#[derive(Clone, Debug)]
pub struct Checker {
    schema: Value,
}

impl Checker {
    /// From the JSON text of a schema.
    pub fn compile(schema: &str) -> Result<Checker, ErrorInfo> {
        let invalid = |text: String| ErrorInfo::new(Code::InvalidSchema, text);
        let schema = json::parse(schema).ok_or_else(|| invalid("the schema is no valid JSON".into()))?;
        if !schema.is_object() {
            return Err(invalid(format!("the schema must be an object, not {}", kind(&schema))));
        }
        well_formed(&schema, "").map_err(invalid)?;
        Ok(Checker { schema })
    }

    /// Whether the arguments fit; else all that is wrong with them, in the order of the schema.
    pub fn check(&self, args: &Value) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        check(&self.schema, args, "", "", &mut problems);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

/// Whether the keywords that count are what the standard says, here and below; else the sentence.
fn well_formed(schema: &Value, path: &str) -> Result<(), String> {
    let Some(map) = schema.as_object() else {
        if schema.is_boolean() {
            return Ok(());
        }
        return Err(format!("'{path}' must be a schema, not {}", kind(schema)));
    };
    for (keyword, value) in map {
        let here = below(path, keyword);
        let must_be = |fits: bool, what: &str| {
            if fits { Ok(()) } else { Err(format!("'{here}' must be {what}")) }
        };
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        match keyword.as_str() {
            "type" => {
                let fits = match value {
                    Value::Array(names) => !names.is_empty() && names.iter().all(is_type),
                    one => is_type(one),
                };
                must_be(fits, "the name of a type, or a list of such")?;
            }
            "enum" => must_be(value.is_array(), "a list of values")?,
            "required" => {
                let fits = value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
                must_be(fits, "a list of names")?;
            }
            "minimum" | "maximum" => must_be(value.is_number(), "a number")?,
            "minLength" | "maxLength" => must_be(whole(value).is_some(), "a whole number")?,
            "additionalProperties" | "items" => well_formed(value, &here)?,
            "properties" => {
                let Some(properties) = value.as_object() else {
                    return must_be(false, "an object of schemas");
                };
                for (name, schema) in properties {
                    well_formed(schema, &below(&here, name))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A JSON Pointer one step further down.
fn below(path: &str, name: &str) -> String {
    let mut pointer = String::with_capacity(path.len() + name.len() + 1);
    pointer.push_str(path);
    pointer.push('/');
    pointer.push_str(&find::replace(&find::replace(name, "~", "~0"), "/", "~1"));
    pointer
}

/// A place in the arguments as a sentence says it.
fn shown(path: &str) -> String {
    match path.strip_prefix('/') {
        None => "the arguments".into(),
        // One step down is a plain name; deeper, the pointer is the shortest exact way to say it.
        Some(name) if !find::has(name, "/") => {
            format!("'{}'", find::replace(&find::replace(name, "~1", "/"), "~0", "~"))
        }
        Some(_) => format!("'{path}'"),
    }
}

fn check(schema: &Value, value: &Value, at: &str, path: &str, problems: &mut Vec<Problem>) {
    let mut say = |keyword: &'static str, message: String| {
        problems.push(Problem {
            keyword,
            instance_path: at.into(),
            schema_path: if keyword.is_empty() { path.into() } else { below(path, keyword) },
            message,
        });
    };
    let Some(map) = schema.as_object() else {
        if *schema == Value::Bool(false) {
            say("", format!("{} is not allowed", shown(at)));
        }
        return;
    };
    if let Some(wanted) = map.get("type")
        && !has_type(wanted, value)
    {
        say("type", format!("{} must be {}, not {}", shown(at), type_names(wanted), kind(value)));
        // What the other keywords say of a value of another type is noise.
        return;
    }
    if let Some(Value::Array(values)) = map.get("enum")
        && !values.iter().any(|one| same(one, value))
    {
        let list: Vec<String> = values.iter().map(json).collect();
        say("enum", format!("{} must be one of {}", shown(at), find::join(&list, ", ")));
    }
    match value {
        Value::Number(_) => {
            let limit = |keyword: &str| map.get(keyword).and_then(|limit| Some((limit, limit.as_f64()?)));
            let number = value.as_f64().unwrap_or_default();
            if let Some((least, _)) = limit("minimum").filter(|(_, least)| number < *least) {
                say("minimum", format!("{} must be at least {}", shown(at), json(least)));
            }
            if let Some((most, _)) = limit("maximum").filter(|(_, most)| number > *most) {
                say("maximum", format!("{} must be at most {}", shown(at), json(most)));
            }
        }
        Value::String(text) => {
            let limit = |keyword: &str| map.get(keyword).and_then(whole);
            let length = text.chars().count() as u64;
            if let Some(least) = limit("minLength").filter(|least| length < *least) {
                let message = match length {
                    0 => format!("{} is empty", shown(at)),
                    _ => format!("{} must have at least {least} characters", shown(at)),
                };
                say("minLength", message);
            }
            if let Some(most) = limit("maxLength").filter(|most| length > *most) {
                say("maxLength", format!("{} must have at most {most} characters", shown(at)));
            }
        }
        Value::Array(list) => {
            if let Some(items) = map.get("items") {
                let path = below(path, "items");
                for (index, item) in list.iter().enumerate() {
                    check(items, item, &below(at, &index.to_string()), &path, problems);
                }
            }
        }
        Value::Object(object) => check_object(map, object, at, path, problems),
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_object(
    schema: &Map<String, Value>,
    object: &Map<String, Value>,
    at: &str,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let place = if at.is_empty() { String::new() } else { format!(" in {}", shown(at)) };
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = name.as_str().filter(|name| !object.contains_key(*name)) else { continue };
        problems.push(Problem {
            keyword: "required",
            instance_path: at.into(),
            schema_path: below(path, "required"),
            message: format!("missing '{name}' field{place}"),
        });
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    for (name, value) in object {
        if let Some(property) = properties.and_then(|properties| properties.get(name)) {
            let path = below(&below(path, "properties"), name);
            check(property, value, &below(at, name), &path, problems);
        } else if others == Some(&Value::Bool(false)) {
            let mut message = format!("unknown field '{name}'{place}");
            if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
                let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                message.push_str(&format!("; the fields are {}", find::join(&names, ", ")));
            }
            problems.push(Problem {
                keyword: "additionalProperties",
                instance_path: below(at, name),
                schema_path: below(path, "additionalProperties"),
                message,
            });
        } else if let Some(others) = others {
            check(others, value, &below(at, name), &below(path, "additionalProperties"), problems);
        }
    }
}

/// Whether a value has the type, or one of the types.
fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(names) => names.iter().any(|name| has_type(name, value)),
        Value::String(name) => match name.as_str() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "object" => value.is_object(),
            "array" => value.is_array(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            // The standard counts 2.0 as an integer.
            _ => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        },
        _ => false,
    }
}

/// The type or types in words: "a string or null".
fn type_names(wanted: &Value) -> String {
    match wanted {
        Value::Array(names) => find::join(&names.iter().map(type_names).collect::<Vec<_>>(), " or "),
        Value::String(name) => match name.as_str() {
            "null" => name.clone(),
            "object" | "array" | "integer" => format!("an {name}"),
            _ => format!("a {name}"),
        },
        _ => String::new(),
    }
}

/// Whether two values are equal as the standard says it: 2 and 2.0 are.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(schema: &Value, value: &Value) -> Vec<Problem> {
        Checker::compile(&schema.to_string()).unwrap().check(value).err().unwrap_or_default()
    }

    fn messages(schema: &Value, value: &Value) -> Vec<String> {
        problems(schema, value).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_missing_member_is_named_as_the_seed_says() {
        let schema =
            json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
        assert_eq!(
            problems(&schema, &json!({})),
            [Problem {
                keyword: "required",
                instance_path: String::new(),
                schema_path: "/required".into(),
                message: "missing 'query' field".into()
            }]
        );
        assert!(problems(&schema, &json!({"query": "x", "more": 1})).is_empty());
    }

    #[test]
    fn each_keyword_says_what_is_wrong() {
        for (schema, value, message) in [
            (json!({"type": "string"}), json!(1), "'x' must be a string, not a number"),
            (json!({"type": ["string", "null"]}), json!([]), "'x' must be a string or null, not an array"),
            (json!({"type": "integer"}), json!(1.5), "'x' must be an integer, not a number"),
            (json!({"type": "boolean"}), json!("true"), "'x' must be a boolean, not a string"),
            (json!({"enum": ["a", 1, null]}), json!("b"), "'x' must be one of \"a\", 1, null"),
            (json!({"minimum": 1}), json!(0), "'x' must be at least 1"),
            (json!({"maximum": 1.5}), json!(2), "'x' must be at most 1.5"),
            (json!({"minLength": 1}), json!(""), "'x' is empty"),
            (json!({"minLength": 3}), json!("éé"), "'x' must have at least 3 characters"),
            (json!({"maxLength": 2}), json!("ééé"), "'x' must have at most 2 characters"),
            (json!(false), json!(1), "'x' is not allowed"),
            (json!({"items": {"type": "string"}}), json!(["a", 2]), "'/x/1' must be a string, not a number"),
            (json!({"required": ["y"]}), json!({}), "missing 'y' field in 'x'"),
            (json!({"additionalProperties": false}), json!({"y": 1}), "unknown field 'y' in 'x'"),
            (
                json!({"properties": {"a": {}, "b": {}}, "additionalProperties": false}),
                json!({"a": 1, "y": 1}),
                "unknown field 'y' in 'x'; the fields are a, b",
            ),
            (
                json!({"additionalProperties": {"type": "null"}}),
                json!({"y": 1}),
                "'/x/y' must be null, not a number",
            ),
        ] {
            let schema = json!({"type": "object", "properties": {"x": schema}});
            assert_eq!(messages(&schema, &json!({"x": value})), [message], "{schema}");
        }
    }

    #[test]
    fn what_fits_passes() {
        for (schema, value) in [
            (json!({"type": "integer"}), json!(2.0)),
            (json!({"type": "number", "minimum": 1, "maximum": 1}), json!(1)),
            (json!({"type": ["integer", "null"], "minimum": 5}), json!(null)),
            (json!({"enum": [2, {"a": [1]}]}), json!(2.0)),
            (json!({"enum": [2, {"a": [1]}]}), json!({"a": [1.0]})),
            (json!({"minLength": 2, "maxLength": 2}), json!("\u{1f409}é")),
            (json!({"minimum": 5, "minLength": 5, "required": ["a"]}), json!(true)),
            (json!(true), json!(1)),
            (json!({"items": false}), json!([])),
            (json!({"pattern": "^a", "oneOf": 7}), json!("b")),
        ] {
            let schema = json!({"properties": {"x": schema}});
            assert_eq!(messages(&schema, &json!({"x": value})), [""; 0], "{schema} {value}");
        }
    }

    #[test]
    fn all_problems_are_told_with_their_places() {
        let schema = json!({"required": ["a", "b"], "properties": {"c/d": {"items": {"type": "string"}}}});
        let found = problems(&schema, &json!({"c/d": [1, "x", null]}));
        let places: Vec<_> =
            found.iter().map(|p| (p.keyword, p.instance_path.as_str(), p.schema_path.as_str())).collect();
        assert_eq!(
            places,
            [
                ("required", "", "/required"),
                ("required", "", "/required"),
                ("type", "/c~1d/0", "/properties/c~1d/items/type"),
                ("type", "/c~1d/2", "/properties/c~1d/items/type"),
            ]
        );
        assert_eq!(
            messages(&json!({"properties": {"a/b": false}}), &json!({"a/b": 1})),
            ["'a/b' is not allowed"]
        );
        assert_eq!(
            messages(&json!({"type": "object"}), &json!(1)),
            ["the arguments must be an object, not a number"]
        );
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        for (schema, message) in [
            ("{", "the schema is no valid JSON"),
            ("true", "the schema must be an object, not a boolean"),
            (r#"{"type":"text"}"#, "'/type' must be the name of a type, or a list of such"),
            (r#"{"type":[]}"#, "'/type' must be the name of a type, or a list of such"),
            (r#"{"required":"a"}"#, "'/required' must be a list of names"),
            (r#"{"enum":1}"#, "'/enum' must be a list of values"),
            (r#"{"properties":[]}"#, "'/properties' must be an object of schemas"),
            (r#"{"properties":{"a":1}}"#, "'/properties/a' must be a schema, not a number"),
            (r#"{"items":{"minimum":"1"}}"#, "'/items/minimum' must be a number"),
            (
                r#"{"additionalProperties":{"maxLength":-1}}"#,
                "'/additionalProperties/maxLength' must be a whole number",
            ),
        ] {
            let error = Checker::compile(schema).unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (Code::InvalidSchema, message));
        }
    }
}
