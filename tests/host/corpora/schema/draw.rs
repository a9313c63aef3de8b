//! Schemas and values drawn at random, small enough to meet: few names, few numbers, few texts.

use fastrand::Rng;
use serde_json::{Map, Value, json};

const NAMES: [&str; 6] = ["a", "b", "c", "x/y", "__proto__", "é"];
const TEXTS: [&str; 8] = ["", "a", "b", "ab", "abc", "é", "\u{1f409}", "2026-01-31"];
const PATTERNS: [&str; 5] = ["^a", "b$", "^.$", "[^a]", "é|x"];
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];
const NUMBERS: [&str; 12] =
    ["0", "1", "2", "3", "-1", "0.5", "1.0", "2.5", "0.1", "1e2", "9007199254740993", "1e308"];

fn one<T: Copy>(random: &mut Rng, of: &[T]) -> T {
    of[random.usize(..of.len())]
}

fn number(random: &mut Rng) -> Value {
    serde_json::from_str(one(random, &NUMBERS)).unwrap()
}

/// A value.
pub fn value(random: &mut Rng, depth: u32) -> Value {
    match random.u32(..if depth == 0 { 6 } else { 10 }) {
        0 => Value::Null,
        1 => random.bool().into(),
        2 | 3 => number(random),
        4 | 5 => one(random, &TEXTS).into(),
        6 | 7 => (0..random.u32(..4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let members =
                (0..random.u32(..4)).map(|_| (one(random, &NAMES).into(), value(random, depth - 1)));
            Value::Object(members.collect())
        }
    }
}

/// A schema below the root, which has the definitions `d0` to `d2` and the anchor `root`.
fn schema(random: &mut Rng, depth: u32) -> Value {
    if depth == 0 || random.u32(..12) == 0 {
        return match random.u32(..6) {
            0 => false.into(),
            1 => true.into(),
            2 => json!({ "$ref": format!("#/$defs/d{}", random.u32(..3)) }),
            3 => json!({ "const": value(random, 1) }),
            _ => json!({ "type": one(random, &TYPES) }),
        };
    }
    let mut schema = Map::new();
    for _ in 0..random.u32(1..5) {
        let (keyword, value) = keyword(random, depth - 1);
        schema.insert(keyword.into(), value);
    }
    Value::Object(schema)
}

fn schemas(random: &mut Rng, depth: u32) -> Value {
    (0..random.u32(1..4)).map(|_| schema(random, depth)).collect()
}

fn by_name(random: &mut Rng, depth: u32, names: &[&str]) -> Value {
    let members = (0..random.u32(1..4)).map(|_| (one(random, names).into(), schema(random, depth)));
    Value::Object(members.collect())
}

fn names(random: &mut Rng) -> Value {
    let mut names: Vec<&str> = (0..random.u32(..3)).map(|_| one(random, &NAMES)).collect();
    names.sort_unstable();
    names.dedup();
    names.into()
}

fn keyword(random: &mut Rng, depth: u32) -> (&'static str, Value) {
    match random.u32(..38) {
        0 | 1 => ("type", one(random, &TYPES).into()),
        2 => {
            let first = random.usize(..7);
            ("type", json!([TYPES[first], TYPES[(first + random.usize(1..7)) % 7]]))
        }
        3 => ("const", value(random, 2)),
        4 => ("enum", (0..random.u32(1..4)).map(|_| value(random, 1)).collect()),
        5 => ("minimum", number(random)),
        6 => ("maximum", number(random)),
        7 => ("exclusiveMinimum", number(random)),
        8 => ("exclusiveMaximum", number(random)),
        9 => ("multipleOf", one(random, &[1.0, 2.0, 0.5, 0.1, 3.0]).into()),
        10 => ("minLength", random.u32(..4).into()),
        11 => ("maxLength", random.u32(..4).into()),
        12 => ("pattern", one(random, &PATTERNS).into()),
        13 => ("minItems", random.u32(..3).into()),
        14 => ("maxItems", random.u32(..3).into()),
        15 => ("uniqueItems", random.bool().into()),
        16 => ("minProperties", random.u32(..3).into()),
        17 => ("maxProperties", random.u32(..3).into()),
        18 => ("required", names(random)),
        19 => {
            let (name, names) = (one(random, &NAMES), names(random));
            ("dependentRequired", Value::Object(Map::from_iter([(name.into(), names)])))
        }
        20 | 21 => ("properties", by_name(random, depth, &NAMES)),
        22 => ("patternProperties", by_name(random, depth, &PATTERNS)),
        23 => ("additionalProperties", schema(random, depth)),
        24 => ("propertyNames", schema(random, depth)),
        25 => ("prefixItems", schemas(random, depth)),
        26 => ("items", schema(random, depth)),
        27 => ("contains", schema(random, depth)),
        28 => ("allOf", schemas(random, depth)),
        29 => ("anyOf", schemas(random, depth)),
        30 => ("oneOf", schemas(random, depth)),
        31 => ("not", schema(random, depth)),
        32 => ("if", schema(random, depth)),
        33 => (one(random, &["then", "else"]), schema(random, depth)),
        34 => ("dependentSchemas", by_name(random, depth, &NAMES)),
        35 => ("unevaluatedItems", schema(random, depth)),
        36 => ("unevaluatedProperties", schema(random, depth)),
        _ => ("$ref", format!("#/$defs/d{}", random.u32(..3)).into()),
    }
}

/// A whole schema. Its references may lead in circles.
pub fn root(random: &mut Rng) -> Value {
    let mut root = match schema(random, 3) {
        Value::Object(map) => map,
        other => Map::from_iter([("allOf".into(), json!([other]))]),
    };
    for branch in ["minContains", "maxContains"] {
        if root.contains_key("contains") && random.bool() {
            root.insert(branch.into(), random.u32(..3).into());
        }
    }
    let defs = (0..3).map(|n| (format!("d{n}"), schema(random, 2))).collect();
    root.insert("$defs".into(), Value::Object(defs));
    Value::Object(root)
}
