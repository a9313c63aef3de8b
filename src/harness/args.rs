//! Reading the arguments of a command: what is not known is refused by name.

use super::config::shortened;
use crate::error::{Code, ErrorInfo};
use crate::session::lifecycle::DETAIL;
use serde_json::Value;

/// The arguments of one command.
#[derive(Debug)]
pub(super) struct Args<'a> {
    command: &'a str,
    value: &'a Value,
}

impl<'a> Args<'a> {
    /// Takes an object that has none but these members.
    pub fn new(command: &'a str, value: &'a Value, members: &[&str]) -> Result<Args<'a>, ErrorInfo> {
        let args = Args { command, value };
        match value {
            Value::Null => Ok(args),
            Value::Object(object) => match object.keys().find(|key| !members.contains(&key.as_str())) {
                None => Ok(args),
                Some(key) => Err(args.invalid(&format!("does not know \"{}\"", shortened(key)))),
            },
            _ => Err(args.invalid("takes an object")),
        }
    }

    /// The same whatever else it has.
    pub fn of(command: &'a str, value: &'a Value) -> Args<'a> {
        Args { command, value }
    }

    /// A text, if there is one.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, ErrorInfo> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.invalid(&format!("needs \"{name}\" to be a text"))),
        }
    }

    /// A text that is put on record, if there is one.
    pub fn short(&self, name: &str) -> Result<Option<&'a str>, ErrorInfo> {
        let text = self.text(name)?;
        if text.is_some_and(|text| text.chars().nth(DETAIL).is_some()) {
            return Err(self.invalid(&format!("needs \"{name}\" to have at most {DETAIL} characters")));
        }
        Ok(text)
    }

    /// A text that must be there.
    pub fn needed(&self, name: &str) -> Result<&'a str, ErrorInfo> {
        self.text(name)?.ok_or_else(|| self.invalid(&format!("needs \"{name}\"")))
    }

    /// A whole number that is not negative, if there is one.
    pub fn whole(&self, name: &str) -> Result<Option<u64>, ErrorInfo> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..9e15).contains(number));
        match number {
            Some(number) => Ok(Some(number as u64)),
            None => Err(self.invalid(&format!("needs \"{name}\" to be a whole number, not negative"))),
        }
    }

    /// Any value, if there is one.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// The error that these arguments do not fit.
    pub fn invalid(&self, what: &str) -> ErrorInfo {
        ErrorInfo::new(Code::InvalidArguments, format!("{} {what}", self.command))
    }
}
