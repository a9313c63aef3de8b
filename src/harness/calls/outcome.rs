//! What the end of a tool call becomes: an entry for the journal, or a result for the page.

use crate::error::ErrorInfo;
use crate::journal::{Entry, Outside};
use crate::json;
use crate::object::Object;
use crate::session;
use crate::tools::ToolText;
use serde_json::Value;

/// The JSON of a tool's value as text for the model, and whether that is JSON.
pub(in crate::harness) fn result_text(json: Option<String>) -> (String, bool) {
    let json = json.unwrap_or_default();
    match json::parse(&json) {
        Some(Value::String(text)) => (text, false),
        Some(Value::Null) | None => (String::new(), false),
        Some(_) => (json, true),
    }
}

/// The entry of a tool that has ended.
pub(in crate::harness) fn returned_entry(tool_call: &str, text: ToolText, json: bool) -> Entry {
    Entry::Returned {
        tool_call: tool_call.into(),
        cut: text.truncated.map(|bytes| bytes as u64),
        text: text.text,
        json,
        error: None,
        outside: Outside::default(),
        files: Vec::new(),
    }
}

/// The entry of a tool that has failed.
pub(in crate::harness) fn failed_call(tool_call: &str, error: ErrorInfo) -> Entry {
    let text = ToolText::new(error.for_model());
    Entry::Returned {
        tool_call: tool_call.into(),
        text: text.text,
        json: false,
        error: Some(error),
        cut: None,
        outside: Outside::default(),
        files: Vec::new(),
    }
}

/// `ToolResult` of the contract.
pub(in crate::harness) fn tool_value(text: &ToolText, json: bool) -> Value {
    let truncated = text.truncated.map(|bytes| Object::new().number("bytes", bytes as u64).done());
    let result = session::tool_result(&text.text, json);
    Object::new().value("result", result).maybe("truncated", truncated).done()
}
