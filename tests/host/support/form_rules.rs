//! Judges what a request says its answer has to be, as the providers would.
//!
//! Written from their documents on structured output, not from this crate's encoder. Promises: what it accepts would not
//! be answered by a 400 for its schema. Leaves to others: the rest of a request.

use serde_json::{Map, Value};

/// What a provider takes of JSON Schema.
struct Subset {
    keywords: &'static [&'static str],
    /// Every member has to be required, and the root no union.
    all: bool,
    /// A schema may refer to itself.
    recursive: bool,
    deepest: usize,
}

const ANTHROPIC: Subset = Subset {
    keywords: &[
        "type",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
    ],
    all: false,
    recursive: false,
    deepest: usize::MAX,
};
const OPENAI: Subset = Subset { all: true, recursive: true, deepest: 10, ..ANTHROPIC };

/// Anthropic's `output_config.format`.
pub fn anthropic(format: &Value) -> Result<(), String> {
    need(format["type"] == "json_schema", "a format that is no json_schema")?;
    need(format.as_object().is_some_and(|format| format.len() == 2), "a format with more than its schema")?;
    let mut seen = Seen::default();
    check(&format["schema"], &format["schema"], &ANTHROPIC, 0, &mut seen)?;
    need(seen.optional <= 24, "more than 24 optional parameters")?;
    need(seen.unions <= 16, "more than 16 parameters with union types")
}

/// OpenAI's `json_schema`, where it stands alone (Responses) or in `response_format` (chat).
pub fn openai(form: &Value) -> Result<(), String> {
    let name = form["name"].as_str().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    need((1..=64).contains(&name.len()) && name.chars().all(fits), "a bad name for a schema")?;
    need(form["schema"]["type"] == "object", "a schema that is not of an object")?;
    match form["strict"].as_bool() {
        Some(true) => {
            need(form["schema"].get("anyOf").is_none(), "a union at the root")?;
            check(&form["schema"], &form["schema"], &OPENAI, 0, &mut Seen::default())
        }
        Some(false) => Ok(()),
        None => Err("strict is not said".into()),
    }
}

#[derive(Default)]
struct Seen {
    optional: usize,
    unions: usize,
}

fn need(condition: bool, why: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(why.into()) }
}

fn check(schema: &Value, root: &Value, subset: &Subset, depth: usize, seen: &mut Seen) -> Result<(), String> {
    let fault = |why: &str| format!("{why}: {schema}");
    let Some(members) = schema.as_object() else { return Err(fault("a schema that is no object")) };
    need(depth <= subset.deepest, &fault("nested too deeply"))?;
    if let Some(keyword) = members.keys().find(|key| !subset.keywords.contains(&key.as_str())) {
        return Err(fault(&format!("the keyword {keyword} is not supported")));
    }
    if let Some(to) = members.get("$ref").and_then(Value::as_str) {
        need(members.len() == 1, &fault("a $ref with other keywords"))?;
        let found = to.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        need(found.is_some(), &fault("a $ref to nothing"))?;
        return need(
            subset.recursive || !found.is_some_and(holds_ref),
            &fault("a schema that refers to itself"),
        );
    }
    let none = Map::new();
    let types: Vec<&str> = match members.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    need(!types.is_empty() || members.contains_key("anyOf"), &fault("no type"))?;
    seen.unions += usize::from(types.len() > 1 || members.contains_key("anyOf"));
    let values = members.get("enum").and_then(Value::as_array).into_iter().flatten();
    for value in values.chain(members.get("const")) {
        need(!value.is_array() && !value.is_object(), &fault("a complex enum"))?;
    }
    let mut inner: Vec<&Value> = Vec::new();
    if types.contains(&"object") || members.contains_key("properties") {
        need(members.get("additionalProperties") == Some(&Value::Bool(false)), &fault("an open object"))?;
        let properties = members.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required =
            members.get("required").and_then(Value::as_array).ok_or_else(|| fault("no required"))?;
        let is_required = |name: &str| required.iter().any(|required| required == name);
        need(
            required.iter().all(|name| properties.contains_key(name.as_str().unwrap_or_default())),
            &fault("required, but no property"),
        )?;
        let optional = properties.keys().filter(|name| !is_required(name)).count();
        need(optional == 0 || !subset.all, &fault("a member that is not required"))?;
        seen.optional += optional;
        inner.extend(properties.values());
    }
    need(!types.contains(&"array") || members.contains_key("items"), &fault("a list without items"))?;
    inner.extend(members.get("items"));
    inner.extend(members.get("anyOf").and_then(Value::as_array).into_iter().flatten());
    for inner in inner {
        check(inner, root, subset, depth + 1, seen)?;
    }
    for defs in ["$defs", "definitions"] {
        for inner in members.get(defs).and_then(Value::as_object).into_iter().flat_map(Map::values) {
            check(inner, root, subset, depth + 1, seen)?;
        }
    }
    Ok(())
}

fn holds_ref(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.contains_key("$ref") || members.values().any(holds_ref),
        Value::Array(items) => items.iter().any(holds_ref),
        _ => false,
    }
}
