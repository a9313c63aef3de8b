//! What holds for any schema and any value.

use super::draw;
use crate::support::engine::compile;
use crate::support::parts::drawn;
use fastrand::Rng;
use lodger::tools::schema::Report;
use serde_json::{Value, json};

#[test]
fn any_schema_judges_any_value() {
    let rounds = drawn(10_000, 100_000);
    let (mut valid, mut invalid, mut refused) = (0, 0, 0);
    for seed in 0..rounds {
        let mut random = Rng::with_seed(seed);
        let schema = draw::root(&mut random);
        let Ok(compiled) = compile(&schema) else {
            refused += 1;
            continue;
        };
        // The same, its verdict turned round, which looks at it without finding words.
        let not = compile(&json!({ "not": without_defs(&schema), "$defs": schema["$defs"] })).unwrap();
        for _ in 0..8 {
            let value = draw::value(&mut random, 3);
            let report = compiled.validate(&value);
            assert_eq!(report.is_valid(), report.violations.is_empty(), "{schema} {value}");
            assert!(report.violations.len() <= Report::KEPT && report.violations.len() <= report.total);
            assert_eq!(not.validate(&value).is_valid(), !report.is_valid(), "seed {seed}: {schema} {value}");
            for violation in &report.violations {
                assert!(value.pointer(&violation.instance_path).is_some(), "{violation:?} in {value}");
                assert!(schema.pointer(&violation.schema_path).is_some(), "{violation:?} in {schema}");
                assert!(!violation.message.is_empty());
            }
            assert_eq!(compiled.validate(&value), report);
            let repaired = compiled.coerce(value.clone());
            assert_eq!(repaired.report, compiled.validate(&repaired.value));
            assert!(repaired.report.total <= report.total);
            assert_eq!(repaired.repairs.is_empty(), repaired.value == value);
            *(if report.is_valid() { &mut valid } else { &mut invalid }) += 1;
        }
    }
    println!("{valid} valid, {invalid} invalid, {refused} schemas refused");
    assert!(valid > rounds && invalid > rounds && refused < rounds / 2);
}

fn without_defs(schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema.as_object_mut().unwrap().remove("$defs");
    schema
}

#[test]
fn no_damage_to_a_schema_makes_it_panic() {
    for seed in 0..20_000 {
        let mut random = Rng::with_seed(seed);
        let mut schema = draw::root(&mut random);
        let junk = draw::value(&mut random, 2);
        damage(&mut random, &mut schema, &junk);
        if let Ok(compiled) = compile(&schema) {
            _ = compiled.validate(&draw::value(&mut random, 3)).told();
        }
    }
}

/// Puts something anywhere.
fn damage(random: &mut Rng, value: &mut Value, junk: &Value) {
    let below = match value {
        Value::Object(members) => {
            let at = random.usize(..members.len() + 1);
            members.values_mut().nth(at)
        }
        Value::Array(items) => {
            let at = random.usize(..items.len() + 1);
            items.get_mut(at)
        }
        _ => None,
    };
    match below {
        Some(below) if random.u32(..4) > 0 => damage(random, below, junk),
        _ => *value = junk.clone(),
    }
}
