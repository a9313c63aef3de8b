//! Reads the members of an argument object by name: the one reader of arguments.
//!
//! Decides what counts as a wrong argument and how that is said. Promises: an unknown member and a wrong type
//! are refused by name, never ignored. `null` is the same as an absent member. Leaves to others: what the
//! members mean, and which there are (`table.rs`, and each reader of an object of its own).
//!
//! Members that are known beforehand are written as a *spec*, a text: `"id text? limit?#"`. A name alone stands for a
//! text that must be there. Behind the name, `?` says that it may be absent. One more sign says what it is instead of a
//! text:
//!
//! - `#` is a whole number, and `0` to `9` is one of at least so many.
//! - `~` is a short text, `{` an object, and `=` a text or `null` that must be named.
//! - `*` is what its own reader decides.
//!
//! A spec is a text, because tables of structures are three times as many bytes in the module.
//!
//! What is wrong is said in one of two ways: commands say what they need, pages and tools which field is wrong.

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json::json;
use serde_json::{Map, Value};

/// How many characters a text may have that is put on record.
pub const SHORT: usize = 1_000;

/// How an error says what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `sendMessage needs "text"`.
    Needs,
    /// `pages.create: missing 'title' field`.
    Field,
}

/// An object whose members are asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    value: &'a Value,
    code: Code,
    what: &'a str,
    style: Style,
}

impl<'a> Args<'a> {
    /// Opens an object that may have these members and no others. `what` names it in errors of this `code`.
    pub fn open(value: &'a Value, code: Code, what: &'a str, known: &[&str]) -> Result<Self, ErrorInfo> {
        Args { value, code, what, style: Style::Field }.knows(known)
    }

    /// Reads an object by its spec. `what` names it in errors.
    ///
    /// # Errors
    /// `invalid_arguments`: it is none, has another member, lacks one, or has one of another kind.
    pub fn read(value: &'a Value, what: &'a str, spec: &'static str) -> Result<Members<'a>, ErrorInfo> {
        let args = Args { value, code: Code::InvalidArguments, what, style: Style::Needs };
        args.knows(&names(spec))?;
        args.check(spec, &[])?;
        Ok(Members { value, spec })
    }

    /// The arguments of a command.
    pub(super) fn of(value: &'a Value, code: Code, what: &'a str, style: Style) -> Self {
        Args { value, code, what, style }
    }

    /// Refuses what is no object, and members that are none of these.
    pub(super) fn knows(self, known: &[&str]) -> Result<Self, ErrorInfo> {
        let fields = self.style == Style::Field;
        let map = match self.value {
            Value::Object(map) => map,
            Value::Null if !fields => return Ok(self),
            _ if fields => return Err(self.error(&[" takes an object, not ", kind(self.value)])),
            _ => return Err(self.error(&[" takes an object"])),
        };
        // The client adds these to a tool. No page can give them, so none is told of them.
        let added = |name: &str| matches!(name, "validate" | "replace") && known.contains(&"execute");
        let strange = |name: &&String| !known.contains(&name.as_str()) && !added(name);
        let Some(name) = map.keys().find(strange) else { return Ok(self) };
        let takes = if known.is_empty() { "nothing".to_string() } else { find::join(known, ", ") };
        Err(if fields {
            self.error(&[" does not know '", name, "'; it takes ", &takes])
        } else {
            self.error(&[" does not know \"", shortened(name), "\"; it takes ", &takes])
        })
    }

    /// Refuses members that are absent and must not be, and those of another kind; not those in `but`.
    pub(super) fn check(&self, spec: &str, but: &[&str]) -> Result<(), ErrorInfo> {
        for word in spec.split(' ') {
            let name = name_of(word);
            if name.is_empty() || but.contains(&name) {
                continue;
            }
            let marks = word.get(name.len()..).unwrap_or_default().as_bytes();
            let last = marks.last().copied().unwrap_or_default();
            match last {
                b'=' if !self.has(name) => return Err(self.missing(name)),
                b'*' => {}
                b'#' => self.count(name)?,
                b'0'..=b'9' => _ = self.whole(name, (last - b'0').into())?,
                b'{' => self.object(name)?,
                _ => {
                    let text = self.text(name)?;
                    if last == b'~' && text.is_some_and(|text| text.chars().count() > SHORT) {
                        let most = ["to have at most ", &SHORT.to_string(), " characters"].concat();
                        return Err(self.wrong(name, &most));
                    }
                }
            }
            let may_be_absent = matches!(marks.first(), Some(b'?' | b'='));
            if !may_be_absent && self.get(name).is_none() {
                return Err(self.missing(name));
            }
        }
        Ok(())
    }

    /// A member; `None` when it is absent or `null`.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// Whether the member is there, be it `null`.
    fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    fn error(&self, parts: &[&str]) -> ErrorInfo {
        ErrorInfo::new(self.code, [self.what, &parts.concat()].concat())
    }

    /// The error that this member is missing.
    pub fn missing(&self, name: &str) -> ErrorInfo {
        match self.style {
            Style::Needs => self.error(&[" needs \"", name, "\""]),
            Style::Field => self.error(&[": missing '", name, "' field"]),
        }
    }

    /// The error that this member is not what it must be.
    pub fn wrong(&self, name: &str, must_be: &str) -> ErrorInfo {
        self.wrong_as(name, must_be, kind(self.value.get(name).unwrap_or(&Value::Null)))
    }

    fn wrong_as(&self, name: &str, must_be: &str, found: &str) -> ErrorInfo {
        match self.style {
            Style::Needs => self.error(&[" needs \"", name, "\" ", must_be]),
            Style::Field => self.error(&[": '", name, "' must be ", must_be, ", not ", found]),
        }
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, ErrorInfo> {
        let must_be = if self.style == Style::Field { "a string" } else { "to be a text" };
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| self.wrong(name, must_be)),
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

    /// A whole number that is not negative, where commands take one.
    fn count(&self, name: &str) -> Result<(), ErrorInfo> {
        match self.get(name) {
            Some(value) if count(value).is_none() => {
                Err(self.wrong(name, "to be a whole number, not negative"))
            }
            _ => Ok(()),
        }
    }

    /// A whole number of at least `least`.
    pub fn whole(&self, name: &str, least: u64) -> Result<Option<u64>, ErrorInfo> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match whole(value) {
            Some(number) if number >= least => Ok(Some(number)),
            _ => {
                let must_be = ["a whole number of at least ", &least.to_string()].concat();
                let found = if value.is_number() { json(value) } else { kind(value).into() };
                Err(self.wrong_as(name, &must_be, &found))
            }
        }
    }

    /// An object.
    fn object(&self, name: &str) -> Result<(), ErrorInfo> {
        match self.get(name) {
            Some(value) if !value.is_object() => Err(self.wrong(name, "an object")),
            _ => Ok(()),
        }
    }
}

/// The members of an object that was read by its spec: each is what that says.
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    pub(super) value: &'a Value,
    /// What they were read by; without names: not by this alone.
    pub(super) spec: &'static str,
}

impl<'a> Members<'a> {
    /// Any value, if there is one.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        debug_assert!(names(self.spec).is_empty() || names(self.spec).contains(&name), "{name} is not read");
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// A text, if there is one.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    /// A text that must be there.
    pub fn needed(&self, name: &str) -> &'a str {
        self.text(name).unwrap_or_default()
    }

    /// A whole number, if there is one.
    pub fn whole(&self, name: &str) -> Option<u64> {
        whole(self.get(name)?)
    }

    /// Whether it is `true`.
    pub fn says(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    /// An object, if there is one.
    pub fn object(&self, name: &str) -> Option<&'a Map<String, Value>> {
        self.get(name)?.as_object()
    }

    /// All of them.
    pub fn all(&self) -> &'a Value {
        self.value
    }
}

/// The names in a spec.
pub fn names(spec: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for word in spec.split(' ') {
        let name = name_of(word);
        if !name.is_empty() {
            names.push(name);
        }
    }
    names
}

fn name_of(word: &str) -> &str {
    word.trim_end_matches(|c: char| !c.is_ascii_alphabetic())
}

/// What an error quotes of a name.
pub fn shortened(text: &str) -> &str {
    find::beginning(text, 60)
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

/// The same where it is a time or a place: nothing comes near this.
fn count(value: &Value) -> Option<u64> {
    whole(value).filter(|number| *number < 9_000_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn open(value: &Value) -> Result<Args<'_>, ErrorInfo> {
        Args::open(value, Code::InvalidArguments, "pages.x", &["a", "b"])
    }

    #[test]
    fn what_does_not_fit_is_named() {
        assert_eq!(open(&json!({"c": 1})).unwrap_err().message, "pages.x does not know 'c'; it takes a, b");
        assert_eq!(open(&json!([])).unwrap_err().message, "pages.x takes an object, not an array");
        let value = json!({"a": 5, "b": null});
        let args = open(&value).unwrap();
        assert_eq!(args.text("a").unwrap_err().message, "pages.x: 'a' must be a string, not a number");
        assert_eq!(args.required_text("b").unwrap_err().message, "pages.x: missing 'b' field");
        assert_eq!(args.whole("a", 5), Ok(Some(5)));
        assert_eq!(
            args.whole("a", 6).unwrap_err().message,
            "pages.x: 'a' must be a whole number of at least 6, not 5"
        );
    }

    #[test]
    fn a_spec_says_what_each_member_is() {
        const SPEC: &str = "id name? limit?# note?~ any?*";
        assert_eq!(names(SPEC), ["id", "name", "limit", "note", "any"]);
        assert_eq!(names(""), [""; 0]);
        let long = "x".repeat(SHORT + 1);
        for (value, fault) in [
            (json!({ "id": "1" }), ""),
            (json!({ "id": "1", "name": null, "limit": 2.0, "note": "n", "any": [1] }), ""),
            (json!(7), "it takes an object"),
            (json!(null), "it needs \"id\""),
            (json!({ "id": null }), "it needs \"id\""),
            (json!({ "id": 1 }), "it needs \"id\" to be a text"),
            (json!({ "id": "1", "name": [] }), "it needs \"name\" to be a text"),
            (json!({ "id": "1", "limit": -1 }), "it needs \"limit\" to be a whole number, not negative"),
            (json!({ "id": "1", "limit": 1e16 }), "it needs \"limit\" to be a whole number, not negative"),
            (json!({ "id": "1", "note": long }), "it needs \"note\" to have at most 1000 characters"),
            (
                json!({ "id": "1", "other": null }),
                "it does not know \"other\"; it takes id, name, limit, note, any",
            ),
        ] {
            let read = Args::read(&value, "it", SPEC).map_err(|error| error.message.clone());
            assert_eq!(read.err().unwrap_or_default(), fault, "{value}");
        }
        let value = json!({ "id": "1", "limit": 2.0, "any": true });
        let read = Args::read(&value, "it", SPEC).unwrap();
        assert_eq!((read.needed("id"), read.text("name"), read.whole("limit")), ("1", None, Some(2)));
        assert!(read.says("any"));
    }

    #[test]
    fn whole_numbers_may_be_written_with_a_point() {
        assert_eq!(whole(&json!(2.0)), Some(2));
        for bad in [json!(2.5), json!(-1), json!(1e300), json!("2"), json!(-0.5)] {
            assert_eq!(whole(&bad), None, "{bad}");
        }
    }
}
