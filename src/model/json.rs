//! JSON as text: what codecs need of it without building a tree.
//!
//! Decides how a body is written and how far a value may be from what was expected before it counts as absent.
//! Promises: a value that is passed on is passed on byte for byte (key order, number format); reading never
//! fails on a surprising type, it sees nothing there. Leaves to others: what the members mean.

use crate::error::{Code, ErrorInfo};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A value that should be a string, borrowed where it has no escapes.
#[derive(Debug, Default)]
pub(super) enum Loose<'a> {
    /// It is one.
    Text(Cow<'a, str>),
    /// It is an array.
    Parts(Vec<&'a RawValue>),
    /// It is absent or something else.
    #[default]
    Nothing,
}

impl Loose<'_> {
    /// The string; empty where there is none.
    pub(super) fn text(&self) -> &str {
        match self {
            Loose::Text(text) => text,
            _ => "",
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Loose<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Loose::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Loose::Text(Cow::Owned(text.into())))
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Loose::Nothing)
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Loose::Nothing)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Loose::Nothing)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Loose::Nothing)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Loose::Nothing)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(Loose::Parts(parts))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Loose::Nothing)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// The members of an object, in order, their values as text.
#[derive(Debug, Default)]
pub(super) struct Members<'a>(pub(super) Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    /// The members of this text's object; none when it is no object.
    pub(super) fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The value of a member as text; a `null` counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(n, value)| n == name && *value != "null").map(|(_, value)| *value)
    }

    /// The members of a member's object; none when it is no object.
    pub(super) fn object(&self, name: &str) -> Members<'a> {
        self.get(name).and_then(Members::of).unwrap_or_default()
    }

    /// A member's string; empty when it is none.
    pub(super) fn text(&self, name: &str) -> Cow<'a, str> {
        self.get(name).map(text).unwrap_or_default()
    }

    /// A member's number, whole and not negative.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<Loose<'de>, &'de RawValue>()? {
                    if let Loose::Text(name) = name {
                        members.push((name, value.get()));
                    }
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// The string that this JSON text is; empty when it is none.
pub(super) fn text(json: &str) -> Cow<'_, str> {
    match serde_json::from_str(json) {
        Ok(Loose::Text(text)) => text,
        _ => Cow::Borrowed(""),
    }
}

/// Whether this is the JSON text of an object that every parser takes.
pub(super) fn is_object(json: &str) -> bool {
    if !json.trim_start().starts_with('{') {
        return false;
    }
    // Half of a surrogate pair passes the quick check, though strict servers refuse it.
    if json.contains("\\ud") || json.contains("\\uD") {
        return serde_json::from_str::<serde_json::Value>(json).is_ok();
    }
    serde_json::from_str::<IgnoredAny>(json).is_ok()
}

/// Appends a string, quoted and escaped.
pub(super) fn push_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| b < 0x20 || b == b'"' || b == b'\\') {
        let Some((plain, tail)) = rest.split_at_checked(at) else { break };
        out.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => {
                let code = u32::from(control);
                out.push_str("\\u00");
                for digit in [code >> 4, code & 15] {
                    out.extend(char::from_digit(digit, 16));
                }
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// A request body under construction: our members, with the page's `providerOptions` over them.
#[derive(Debug)]
pub(super) struct Body<'a> {
    out: String,
    theirs: Members<'a>,
}

impl<'a> Body<'a> {
    /// An empty body with room for `capacity` bytes. `options` is the page's object.
    ///
    /// # Errors
    /// `invalid_config` where the options are no object or would break the call itself.
    pub(super) fn new(capacity: usize, options: Option<&'a str>) -> Result<Self, ErrorInfo> {
        let theirs = match options {
            None => Members::default(),
            Some(options) => Members::of(options).ok_or_else(|| {
                ErrorInfo::new(Code::InvalidConfig, "providerOptions is not an object")
                    .hint("give an object whose members go into the request's body")
            })?,
        };
        for ours in ["messages", "stream"] {
            if theirs.0.iter().any(|(name, _)| name == ours) {
                let mut message = String::from("providerOptions must not set ");
                message.push_str(ours);
                return Err(ErrorInfo::new(Code::InvalidConfig, message).hint("lodger sets it itself"));
            }
        }
        let mut out = String::with_capacity(capacity);
        out.push('{');
        Ok(Body { out, theirs })
    }

    /// Begins a member and gives where to write its value; none where the page has set it.
    pub(super) fn member(&mut self, name: &str) -> Option<&mut String> {
        if self.theirs.0.iter().any(|(n, _)| n == name) {
            return None;
        }
        self.key(name);
        Some(&mut self.out)
    }

    /// A member whose value is JSON text already.
    pub(super) fn raw(&mut self, name: &str, value: &str) {
        if let Some(out) = self.member(name) {
            out.push_str(value);
        }
    }

    /// A member that is a string.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        if let Some(out) = self.member(name) {
            push_text(out, value);
        }
    }

    /// The whole body.
    pub(super) fn finish(mut self) -> String {
        for (name, value) in std::mem::take(&mut self.theirs.0) {
            self.key(&name);
            self.out.push_str(value);
        }
        self.out.push('}');
        self.out
    }

    fn key(&mut self, name: &str) {
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
        push_text(&mut self.out, name);
        self.out.push(':');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_string_reads_back() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let text: String = (0..random.usize(0..20))
                .map(|_| if random.bool() { random.char('\0'..='\u{80}') } else { random.char(..) })
                .collect();
            let mut json = String::new();
            push_text(&mut json, &text);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            assert_eq!(super::text(&json), text);
        }
    }

    #[test]
    fn members_keep_their_text() {
        let members = Members::of(r#" {"a": 1.50 ,"b":{"z":1,"a":[ ]},"c":null,"\u0064":"x\n"}"#).unwrap();
        assert_eq!(members.get("a"), Some("1.50"));
        assert_eq!(members.get("b"), Some(r#"{"z":1,"a":[ ]}"#));
        assert_eq!(members.get("c"), None);
        assert_eq!(members.text("d"), "x\n");
        assert_eq!(members.text("a"), "");
        assert_eq!(members.object("b").number("z"), Some(1));
        for none in ["", "[]", "1", "{", "null", "{\"a\":}"] {
            assert!(Members::of(none).is_none(), "{none}");
        }
    }

    #[test]
    fn what_counts_as_an_object() {
        for yes in ["{}", " {\"a\":[1,{}]}", r#"{"a":"\ud83d\udce6"}"#] {
            assert!(is_object(yes), "{yes}");
        }
        for no in ["", "[]", "{", "{}x", "{'a':1}", r#"{"a":"\ud83d"}"#, "{\"a\":\"\n\"}", "{\"a\":01}"] {
            assert!(!is_object(no), "{no}");
        }
    }

    #[test]
    fn a_surprising_type_is_nothing() {
        for value in ["null", "true", "1", "-1", "1.5", "{\"a\":{\"b\":1}}"] {
            assert!(matches!(serde_json::from_str(value).unwrap(), Loose::Nothing), "{value}");
        }
        assert!(matches!(serde_json::from_str("\"plain\"").unwrap(), Loose::Text(Cow::Borrowed("plain"))));
        assert!(matches!(serde_json::from_str("[1]").unwrap(), Loose::Parts(p) if p.len() == 1));
    }

    #[test]
    fn the_pages_options_win_and_may_not_break_the_call() {
        let mut body = Body::new(0, Some(r#"{"a": 2.50,"c":null}"#)).unwrap();
        body.raw("a", "1");
        body.text("b", "x");
        assert_eq!(body.finish(), r#"{"b":"x","a":2.50,"c":null}"#);
        assert!(serde_json::from_str::<Value>(&Body::new(0, None).unwrap().finish()).is_ok());
        for bad in ["", "[]", "1", r#"{"stream":false}"#, r#"{"messages":[]}"#] {
            assert_eq!(Body::new(0, Some(bad)).unwrap_err().code, Code::InvalidConfig, "{bad}");
        }
    }
}
