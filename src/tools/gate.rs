//! What must be true of a call before anyone is asked about it, in one order.
//!
//! Decides, in this order, whether the name is known, the process type has the tool, its capability is held, and the
//! arguments are a JSON object that fits the schema. Promises: each call passes here, be it a model's or the page's,
//! and a call that does not pass has changed nothing. Leaves to others: what comes after it (`permit`), running the
//! tool, then cutting what it says (`result`).

use super::definition::{Definition, Origin};
use super::policy::Policy;
use super::registry::Registry;
use super::schema::{Repair, Repaired, Report};
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json;
use crate::list::Listed;
use serde_json::Value;

/// A call that may run.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// The tool.
    pub definition: &'a Definition,
    /// Its arguments: an object that fits the schema.
    pub args: Value,
    /// What was repaired to make them fit.
    pub repairs: Vec<Repair>,
}

/// How much of arguments that are no JSON is quoted, in characters.
const QUOTED: usize = 200;

/// Checks a call: the tool's name and the arguments as JSON text.
pub fn gate<'a>(
    registry: &'a Registry,
    policy: &Policy,
    name: &str,
    args: &str,
) -> Result<Checked<'a>, ErrorInfo> {
    let Some(tool) = registry.get(name) else {
        let shown = find::beginning(name, 80);
        let offered = registry.definitions().filter(|tool| policy.offers(tool));
        let names: Vec<&str> = offered.map(|tool| tool.name.as_str()).list();
        let error = ErrorInfo::new(Code::ToolNotFound, format!("no tool is called '{shown}'"));
        return Err(if names.is_empty() {
            error
        } else {
            error.hint(format!("the tools are {}", find::join(&names, ", ")))
        });
    };
    let denied = |text: String| ErrorInfo::new(Code::PermissionDenied, text);
    if !policy.offers(&tool.definition) {
        return Err(denied(match tool.definition.origin {
            _ if policy.leaves_out(&tool.definition) => format!("{name} is not one of the tools of this run"),
            origin if policy.reads_only() && origin != Origin::Delegate => {
                format!("a {} only reads, and {name} changes something", policy.process())
            }
            _ => "only an Orchestrator delegates".into(),
        }));
    }
    if let Some(capability) = policy.missing(&tool.definition) {
        return Err(denied(format!("{name} is unavailable: it requires the {capability} capability"))
            .hint("nobody is asked for it: go on without this tool, and say so"));
    }
    let invalid = |text: String| {
        ErrorInfo::new(Code::InvalidArguments, format!("invalid arguments for {name}: {text}"))
    };
    let quoted = |wrong: &str| {
        let quote = find::beginning(args, QUOTED);
        let more = if quote.len() < args.len() { "…" } else { "" };
        invalid(format!("{wrong}: {quote}{more}"))
    };
    let value = json::parse(args).ok_or_else(|| quoted("no valid JSON"))?;
    let mut checked = if tool.definition.coerce {
        tool.schema.coerce(value)
    } else {
        Repaired { report: tool.schema.validate(&value), value, repairs: Vec::new() }
    };
    if tool.definition.validate.is_some() {
        // The page's own schema decides: its function is asked next.
        checked.report = Report::default();
    }
    if !checked.value.is_object() {
        return Err(quoted("no JSON object"));
    }
    if !checked.report.is_valid() {
        return Err(invalid(checked.report.told()));
    }
    Ok(Checked { definition: &tool.definition, args: checked.value, repairs: checked.repairs })
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
        let checked = gate(&registry, &Policy::default(), "find", r#" {"query": "x"} "#).unwrap();
        assert_eq!((checked.definition.name.as_str(), checked.args), ("find", json!({"query": "x"})));
    }

    #[test]
    fn an_unknown_tool_is_told_before_its_arguments() {
        let error = gate(&registry(), &Policy::default(), "destroy_all_data", "no json").unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::ToolNotFound, "no tool is called 'destroy_all_data'")
        );
        assert_eq!(error.hint.as_deref(), Some("the tools are find"));
        let error = gate(&Registry::new(), &Policy::default(), &"x".repeat(10_000), "{}").unwrap_err();
        assert!(error.message.len() < 120 && error.hint.is_none());
    }

    /// Each check before those after it: an unavailable tool with bad arguments says that it is unavailable.
    #[test]
    fn the_order_of_the_checks() {
        let mut registry = registry();
        let tool = json!({"name": "send", "description": "d", "capability": "Mail", "execute": {"$fn": 1},
            "inputSchema": {"required": ["to"]}});
        registry.register(Definition::parse(&tool).unwrap(), false).unwrap();
        let told = |config: Value, name: &str, args: &str| {
            let error = gate(&registry, &Policy::from_record(&config), name, args).unwrap_err();
            (error.code, error.message.clone())
        };
        let nothing = json!({"capabilities": [], "processType": "Researcher"});
        assert_eq!(told(nothing.clone(), "sned", "no json").0, Code::ToolNotFound);
        let (code, message) = told(nothing, "send", "no json");
        assert_eq!(
            (code, message.as_str()),
            (Code::PermissionDenied, "a Researcher only reads, and send changes something")
        );
        let (code, message) = told(json!({"capabilities": []}), "send", "no json");
        assert_eq!(
            (code, message.as_str()),
            (Code::PermissionDenied, "send is unavailable: it requires the Mail capability")
        );
        let (code, message) = told(json!({}), "send", "{}");
        assert_eq!(
            (code, message.as_str()),
            (Code::InvalidArguments, "invalid arguments for send: missing 'to' field")
        );
    }

    #[test]
    fn arguments_that_are_no_object_are_quoted_in_part() {
        for (args, message) in [
            ("{\"query\": ", "invalid arguments for find: no valid JSON: {\"query\": "),
            ("", "invalid arguments for find: no valid JSON: "),
            ("[1]", "invalid arguments for find: no JSON object: [1]"),
            ("null", "invalid arguments for find: no JSON object: null"),
        ] {
            let error = gate(&registry(), &Policy::default(), "find", args).unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (Code::InvalidArguments, message));
        }
        let error = gate(&registry(), &Policy::default(), "find", &"é".repeat(1000)).unwrap_err();
        assert!(error.message.ends_with(&format!("JSON: {}…", "é".repeat(200))), "{}", error.message);
        // Nested deeper than a reader goes: an error like any other.
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(
            gate(&registry(), &Policy::default(), "find", &deep).unwrap_err().code,
            Code::InvalidArguments
        );
    }

    #[test]
    fn arguments_that_do_not_fit_are_told_together() {
        let registry = registry();
        let error = gate(&registry, &Policy::default(), "find", "{}").unwrap_err();
        assert_eq!(error.message, "invalid arguments for find: missing 'query' field");
        let names: Vec<String> = (0..32).map(|n| format!("a{n}")).collect();
        let schema = json!({"type": "object", "required": names}).to_string();
        let mut registry = registry;
        let tool = Definition { input_schema: schema, ..registry.get("find").unwrap().definition.clone() };
        registry.register(tool, true).unwrap();
        let error = gate(&registry, &Policy::default(), "find", "{}").unwrap_err();
        assert!(error.message.ends_with("missing 'a19' field; and 12 more"), "{}", error.message);
    }
}
