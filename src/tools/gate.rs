//! The one way to a tool: what must be true before a call runs, in one order.
//!
//! Decides, in this order: the name is known; the arguments are a JSON object and fit the schema. Promises:
//! whoever asks for a call (a model, the page) passes here, and a call that does not pass has changed nothing.
//! Leaves to others: running the tool, then cutting what it says (`result`).

use super::definition::Definition;
use super::registry::Registry;
use crate::error::{Code, ErrorInfo};
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
            error.hint(format!("the tools are {}", names.join(", ")))
        });
    };
    let invalid = |text: String| {
        ErrorInfo::new(Code::InvalidArguments, format!("invalid arguments for {name}: {text}"))
    };
    let value = match serde_json::from_str::<Value>(args) {
        Ok(value) if value.is_object() => value,
        parsed => {
            let wrong = if parsed.is_ok() { "no JSON object" } else { "no valid JSON" };
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
        invalid(told.join("; "))
    })?;
    Ok(Checked { definition: &tool.definition, args: value })
}
