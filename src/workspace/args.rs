//! Reads the members of an argument object by name.
//!
//! Decides what counts as a wrong argument and how that is said. Promises: an unknown member and a wrong type
//! are refused by name, never ignored; `null` is the same as an absent member. Leaves to others: what the
//! members mean.

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json::json;
use serde_json::{Map, Value};

/// An object whose members are asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    map: &'a Map<String, Value>,
    code: Code,
    what: &'a str,
}

impl<'a> Args<'a> {
    /// Opens an object that may have these members and no others. `what` names it in errors of this `code`.
    pub fn open(value: &'a Value, code: Code, what: &'a str, known: &[&str]) -> Result<Self, ErrorInfo> {
        let Some(map) = value.as_object() else {
            return Err(ErrorInfo::new(code, format!("{what} takes an object, not {}", kind(value))));
        };
        if let Some(name) = map.keys().find(|name| !known.contains(&name.as_str())) {
            let takes = if known.is_empty() { "nothing".to_string() } else { find::join(known, ", ") };
            return Err(ErrorInfo::new(code, format!("{what} does not know '{name}'; it takes {takes}")));
        }
        Ok(Args { map, code, what })
    }

    /// A member; `None` when it is absent or `null`.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// Whether the member is there, be it `null`.
    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// The error that this member is missing.
    pub fn missing(&self, name: &str) -> ErrorInfo {
        ErrorInfo::new(self.code, format!("{}: missing '{name}' field", self.what))
    }

    /// The error that this member is not what it must be.
    pub fn wrong(&self, name: &str, must_be: &str) -> ErrorInfo {
        let found = self.map.get(name).map_or("absent", kind);
        ErrorInfo::new(self.code, format!("{}: '{name}' must be {must_be}, not {found}", self.what))
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, ErrorInfo> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| self.wrong(name, "a string")),
        }
    }

    /// A text that must be there.
    pub fn required_text(&self, name: &str) -> Result<&'a str, ErrorInfo> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, ErrorInfo> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_bool().map(Some).ok_or_else(|| self.wrong(name, "true or false")),
        }
    }

    /// A whole number of at least `least`.
    pub fn whole(&self, name: &str, least: u64) -> Result<Option<u64>, ErrorInfo> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match whole(value) {
                Some(number) if number >= least => Ok(Some(number)),
                _ => {
                    let must_be = format!("a whole number of at least {least}");
                    let found = if value.is_number() { json(value) } else { kind(value).into() };
                    Err(ErrorInfo::new(
                        self.code,
                        format!("{}: '{name}' must be {must_be}, not {found}", self.what),
                    ))
                }
            },
        }
    }

    /// An object.
    pub fn object(&self, name: &str) -> Result<Option<&'a Map<String, Value>>, ErrorInfo> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_object().map(Some).ok_or_else(|| self.wrong(name, "an object")),
        }
    }
}

/// What a JSON value is, for a sentence.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The whole number of 0 to 2^53 that a JSON number is, be it written `2` or `2.0`.
pub fn whole(value: &Value) -> Option<u64> {
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        // In range and whole, so the cast is exact.
        (number.fract() == 0.0 && (0.0..=LIMIT).contains(&number)).then_some(number as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn open(value: &Value) -> Result<Args<'_>, ErrorInfo> {
        Args::open(value, Code::InvalidArguments, "pages.x", &["a", "b"])
    }

    #[test]
    fn what_is_unknown_or_no_object_is_refused_by_name() {
        assert_eq!(open(&json!({"c": 1})).unwrap_err().message, "pages.x does not know 'c'; it takes a, b");
        assert_eq!(open(&json!([])).unwrap_err().message, "pages.x takes an object, not an array");
        let none = Args::open(&Value::Null, Code::InvalidTool, "t", &[]).unwrap_err();
        assert_eq!(none.code, Code::InvalidTool);
    }

    #[test]
    fn types_are_checked_and_null_is_absent() {
        let value = json!({"a": 5, "b": null});
        let args = open(&value).unwrap();
        assert_eq!(args.text("a").unwrap_err().message, "pages.x: 'a' must be a string, not a number");
        assert_eq!(args.text("b"), Ok(None));
        assert!(args.has("b") && !args.has("c"));
        assert_eq!(args.required_text("b").unwrap_err().message, "pages.x: missing 'b' field");
        assert!(args.flag("a").is_err() && args.object("a").is_err());
        assert_eq!(args.whole("a", 5), Ok(Some(5)));
        assert_eq!(
            args.whole("a", 6).unwrap_err().message,
            "pages.x: 'a' must be a whole number of at least 6, not 5"
        );
    }

    #[test]
    fn whole_numbers_may_be_written_with_a_point() {
        assert_eq!(whole(&json!(2.0)), Some(2));
        for bad in [json!(2.5), json!(-1), json!(1e300), json!("2"), json!(-0.5)] {
            assert_eq!(whole(&bad), None, "{bad}");
        }
    }
}
