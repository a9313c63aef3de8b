//! The members of a configuration, read one by one.
//!
//! Decides what a number, a text or a function of the page looks like. Promises: what is wrong is named by its path,
//! and a value is never quoted, because it may be a key.

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json::json;
use crate::list::Listed;
use crate::protocol::args::{self, shortened};
use serde_json::{Map, Value};

/// A function of the page, by the number its client gave it.
pub type Function = u32;

/// A value that the page gives at once, or by a function when it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// At once.
    Text(String),
    /// When it is needed.
    Ask(Function),
}

/// The number of a function that crossed from the page.
pub(crate) fn function(value: &Value, name: &str) -> Result<Function, ErrorInfo> {
    let number = value.get("$fn").and_then(Value::as_u64).and_then(|number| Function::try_from(number).ok());
    number.ok_or_else(|| invalid(&format!("{name} must be a function")))
}

pub(super) fn given(value: &Value, name: &str) -> Result<Given, ErrorInfo> {
    match value {
        Value::String(text) => Ok(Given::Text(text.clone())),
        _ => function(value, name)
            .map(Given::Ask)
            .map_err(|_| invalid(&format!("{name} must be a text or a function that gives one"))),
    }
}

pub(super) fn object<'a>(value: &'a Value, name: &str) -> Result<&'a Map<String, Value>, ErrorInfo> {
    value.as_object().ok_or_else(|| invalid(&format!("{name} must be an object")))
}

pub(super) fn text(value: &Value, name: &str) -> Result<String, ErrorInfo> {
    value.as_str().map(Into::into).ok_or_else(|| invalid(&format!("{name} must be a text")))
}

pub(in crate::harness) fn texts(value: &Value, name: &str) -> Result<Vec<String>, ErrorInfo> {
    let items = value.as_array().ok_or_else(|| invalid(&format!("{name} must be a list of texts")))?;
    items.iter().map(|item| text(item, name)).tried()
}

pub(super) fn number(value: &Value, name: &str) -> Result<String, ErrorInfo> {
    if value.is_number() { Ok(json(value)) } else { Err(invalid(&format!("{name} must be a number"))) }
}

pub(super) fn whole(value: &Value, name: &str, least: u64, most: u64) -> Result<u64, ErrorInfo> {
    args::whole(value)
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| invalid(&format!("{name} must be a whole number from {least} to {most}")))
}

pub(super) fn word(value: &Value, name: &str, words: &[&str]) -> Result<usize, ErrorInfo> {
    let found = value.as_str().and_then(|text| words.iter().position(|word| *word == text));
    found.ok_or_else(|| invalid(&format!("{name} must be one of \"{}\"", find::join(words, "\", \""))))
}

pub(super) fn optional<T>(
    value: &Value,
    name: &str,
    read: impl FnOnce(&Value, &str) -> Result<T, ErrorInfo>,
) -> Result<Option<T>, ErrorInfo> {
    if value.is_null() { Ok(None) } else { read(value, name).map(Some) }
}

pub(super) fn invalid(message: &str) -> ErrorInfo {
    ErrorInfo::new(Code::InvalidConfig, message)
}

pub(super) fn unknown(name: &str) -> ErrorInfo {
    invalid(&format!("option \"{}\" does not exist", shortened(name))).hint("see AgentConfig in index.d.ts")
}
