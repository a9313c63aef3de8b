//! Any schema before any value: a verdict that holds together, or a refusal that says why.
//!
//! The first line is the schema, each other one a value; lines that are no JSON say nothing.

use crate::support::engine::compile;
use lodger::tools::schema::Report;
use serde_json::Value;

pub fn hold(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n').filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(schema) = lines.next() else { return };
    let compiled = match compile(&schema) {
        Ok(compiled) => compiled,
        Err(error) => return assert!(!error.message.is_empty()),
    };
    for value in lines {
        let report = compiled.validate(&value);
        assert_eq!(report.is_valid(), report.violations.is_empty());
        assert!(report.violations.len() <= Report::KEPT && report.violations.len() <= report.total);
        for violation in &report.violations {
            assert!(value.pointer(&violation.instance_path).is_some(), "{violation:?}");
            assert!(schema.pointer(&violation.schema_path).is_some(), "{violation:?}");
            assert!(!violation.message.is_empty());
        }
        let told = report.told();
        assert_eq!(told.is_empty(), report.is_valid(), "{told}");
        assert_eq!(compiled.validate(&value), report, "the same again");
        let repaired = compiled.coerce(value.clone());
        assert_eq!(repaired.report, compiled.validate(&repaired.value));
        assert!(repaired.report.total <= report.total, "a repair that breaks something");
        assert_eq!(repaired.repairs.is_empty(), repaired.value == value);
    }
}
