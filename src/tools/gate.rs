//! The one way to a tool: what must be true before a call runs, in one order.
//!
//! Decides, in this order: the name is known; the arguments are a JSON object and fit the schema. Promises:
//! whoever asks for a call (a model, the page) passes here, and a call that does not pass has changed nothing.
//! Leaves to others: running the tool, then cutting what it says (`result`).

use super::definition::Definition;
use super::registry::Registry;
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json;
use serde_json::Value;

/// A call that may run.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// The tool.
    pub definition: &'a Definition,
    /// Its arguments: an object that fits the schema.
    pub args: Value,
}

/// How much of arguments that are no JSON is quoted, in characters.
const QUOTED: usize = 200;
/// How many problems of one call are told.
const TOLD: usize = 8;

/// Checks a call: the tool's name and the arguments as JSON text.
pub fn gate<'a>(registry: &'a Registry, name: &str, args: &str) -> Result<Checked<'a>, ErrorInfo> {
    let Some(tool) = registry.get(name) else {
        let shown: String = name.chars().take(80).collect();
        let names: Vec<&str> = registry.definitions().map(|tool| tool.name.as_str()).collect();
        let error = ErrorInfo::new(Code::ToolNotFound, format!("no tool is called '{shown}'"));
        return Err(if names.is_empty() {
            error
        } else {
            error.hint(format!("the tools are {}", find::join(&names, ", ")))
        });
    };
    let invalid = |text: String| {
        ErrorInfo::new(Code::InvalidArguments, format!("invalid arguments for {name}: {text}"))
    };
    let value = match json::parse(args) {
        Some(value) if value.is_object() => value,
        parsed => {
            let wrong = if parsed.is_some() { "no JSON object" } else { "no valid JSON" };
            let mut quote: String = args.chars().take(QUOTED).collect();
            if quote.len() < args.len() {
                quote.push('…');
            }
            return Err(invalid(format!("{wrong}: {quote}")));
        }
    };
    tool.checker.check(&value).map_err(|problems| {
        let mut told: Vec<&str> =
            problems.iter().take(TOLD).map(|problem| problem.message.as_str()).collect();
        let more = format!("and {} more", problems.len().saturating_sub(TOLD));
        if problems.len() > TOLD {
            told.push(&more);
        }
        invalid(find::join(&told, "; "))
    })?;
    Ok(Checked { definition: &tool.definition, args: value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn registry() -> Registry {
        let mut registry = Registry::new();
        let schema = json!({"properties": {"query": {"type": "string"}}, "required": ["query"]});
        let tool = json!({"name": "find", "description": "d", "inputSchema": schema, "execute": {"$fn": 7}});
        registry.register(Definition::parse(&tool).unwrap(), false).unwrap();
        registry
    }

    #[test]
    fn what_fits_passes_with_its_arguments() {
        let registry = registry();
        let checked = gate(&registry, "find", r#" {"query": "x"} "#).unwrap();
        assert_eq!((checked.definition.name.as_str(), checked.args), ("find", json!({"query": "x"})));
    }

    #[test]
    fn an_unknown_tool_is_told_before_its_arguments() {
        let error = gate(&registry(), "destroy_all_data", "no json").unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::ToolNotFound, "no tool is called 'destroy_all_data'")
        );
        assert_eq!(error.hint.as_deref(), Some("the tools are find"));
        let error = gate(&Registry::new(), &"x".repeat(10_000), "{}").unwrap_err();
        assert!(error.message.len() < 120 && error.hint.is_none());
    }

    #[test]
    fn arguments_that_are_no_object_are_quoted_in_part() {
        for (args, message) in [
            ("{\"query\": ", "invalid arguments for find: no valid JSON: {\"query\": "),
            ("", "invalid arguments for find: no valid JSON: "),
            ("[1]", "invalid arguments for find: no JSON object: [1]"),
            ("null", "invalid arguments for find: no JSON object: null"),
        ] {
            let error = gate(&registry(), "find", args).unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (Code::InvalidArguments, message));
        }
        let error = gate(&registry(), "find", &"é".repeat(1000)).unwrap_err();
        assert!(error.message.ends_with(&format!("JSON: {}…", "é".repeat(200))), "{}", error.message);
        // Nested deeper than a reader goes: an error like any other.
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(gate(&registry(), "find", &deep).unwrap_err().code, Code::InvalidArguments);
    }

    #[test]
    fn arguments_that_do_not_fit_are_told_together() {
        let registry = registry();
        let error = gate(&registry, "find", "{}").unwrap_err();
        assert_eq!(error.message, "invalid arguments for find: missing 'query' field");
        let names: Vec<String> = (0..20).map(|n| format!("a{n}")).collect();
        let schema = json!({"type": "object", "required": names}).to_string();
        let mut registry = registry;
        let tool = Definition { input_schema: schema, ..registry.get("find").unwrap().definition.clone() };
        registry.register(tool, true).unwrap();
        let error = gate(&registry, "find", "{}").unwrap_err();
        assert!(error.message.ends_with("missing 'a7' field; and 12 more"), "{}", error.message);
    }
}
