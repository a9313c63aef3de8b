//! JSON as text: what codecs need of it without building a tree.
//!
//! Decides how a body is written and how far a value may be from what was expected before it counts as absent.
//! Promises: a value that is passed on is passed on byte for byte (key order, number format). Reading never
//! fails on a surprising type: it sees nothing there. Leaves to others: what the members mean.

use crate::error::{Code, ErrorInfo};
use crate::json::{self, Reader, push_text};
use serde_json::Value;
use std::borrow::Cow;

/// A value that was read once, from the outside in.
#[derive(Debug)]
pub(super) enum Node<'a> {
    /// A string, borrowed where it has no escapes.
    Text(Cow<'a, str>),
    /// An object.
    Object(Members<'a>),
    /// An array.
    List(Vec<Node<'a>>),
    /// The text of a member that was not taken apart.
    Raw(&'a str),
    /// Something else.
    Nothing,
}

impl<'a> Node<'a> {
    /// Reads a text. Of the members of objects only those with these names are taken apart.
    pub(super) fn read(json: &'a str, inside: &[&str]) -> Option<Node<'a>> {
        let mut reader = Reader::new(json);
        let node = Node::next(&mut reader, inside, DEEPEST)?;
        reader.space().is_none().then_some(node)
    }

    /// The value that comes next, taken apart to this depth.
    fn next(reader: &mut Reader<'a>, inside: &[&str], depth: u8) -> Option<Node<'a>> {
        let Some(depth) = depth.checked_sub(1) else { return reader.value().map(Node::Raw) };
        match reader.space()? {
            b'"' => reader.string().map(Node::Text),
            b'[' => {
                let mut items = Vec::new();
                while reader.item(b'[', b']', items.is_empty())? {
                    items.push(Node::next(reader, inside, depth)?);
                }
                Some(Node::List(items))
            }
            b'{' => {
                let mut members = Vec::new();
                while reader.item(b'{', b'}', members.is_empty())? {
                    let name = reader.name()?;
                    let value = match inside.contains(&name.as_ref()) {
                        true => Node::next(reader, inside, depth)?,
                        false => Node::Raw(reader.value()?),
                    };
                    members.push((name, value));
                }
                Some(Node::Object(Members(members)))
            }
            _ => reader.value().map(|_| Node::Nothing),
        }
    }

    /// The members; none when it is no object.
    pub(super) fn members(&self) -> Option<&Members<'a>> {
        match self {
            Node::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items; none when it is no array.
    pub(super) fn items(&self) -> &[Node<'a>] {
        match self {
            Node::List(items) => items,
            _ => &[],
        }
    }
}

/// No wire nests what is read deeper; what a server nests deeper is not taken apart.
const DEEPEST: u8 = 16;

/// The members of an object, in order.
#[derive(Debug, Default)]
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> Members<'a> {
    /// The members of this text's object, their values as text; none when it is no object.
    pub(super) fn of(json: &'a str) -> Option<Self> {
        Members::with(json, &[])
    }

    /// The same with the members of these names taken apart.
    pub(super) fn with(json: &'a str, inside: &[&str]) -> Option<Self> {
        match Node::read(json, inside)? {
            Node::Object(members) => Some(members),
            _ => None,
        }
    }

    /// All members that are text, with their names.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().filter_map(|(name, value)| match value {
            Node::Raw(json) => Some((name.as_ref(), *json)),
            _ => None,
        })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is one of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other == name)
    }

    /// A member that was taken apart.
    pub(super) fn node(&self, name: &str) -> &Node<'a> {
        self.0.iter().find(|(other, _)| other == name).map_or(&Node::Nothing, |(_, value)| value)
    }

    /// The value of a member as text; a `null` counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        match self.node(name) {
            Node::Raw(json) if *json != "null" => Some(json),
            _ => None,
        }
    }

    /// The members of a member's object; none when it is no object.
    pub(super) fn object(&self, name: &str) -> Members<'a> {
        self.get(name).and_then(Members::of).unwrap_or_default()
    }

    /// A member's string; empty when it is none.
    pub(super) fn text(&self, name: &str) -> Cow<'a, str> {
        match self.node(name) {
            Node::Text(text) => text.clone(),
            Node::Raw(json) => text(json),
            _ => Cow::Borrowed(""),
        }
    }

    /// A member's number, whole and not negative.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

/// The string that this JSON text is; empty when it is none.
pub(super) fn text(json: &str) -> Cow<'_, str> {
    match Node::read(json, &[]) {
        Some(Node::Text(text)) => text,
        _ => Cow::Borrowed(""),
    }
}

/// Appends a string to another, both as JSON text: they become one where the first one's quote closes and the second
/// one's opens.
pub(super) fn push_string(string: &mut String, more: &str) {
    string.pop();
    string.push_str(more.strip_prefix('"').unwrap_or("\""));
}

/// How deep an object may be that goes into a request. Many parsers take 128 levels, and a few lie around it.
const SENT: u8 = 100;

/// Whether this is the JSON text of an object that every parser takes: no half of a surrogate pair, no number that is
/// none, and not too deep.
pub(super) fn is_object(json: &str) -> bool {
    json.trim_start().starts_with('{') && json::parse_within(json, SENT).is_some()
}

/// Whether this is the JSON text of a number.
pub(super) fn is_number(json: &str) -> bool {
    matches!(json::parse(json), Some(Value::Number(_)))
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
        for ours in ["messages", "input", "stream"] {
            if theirs.has(ours) {
                let mut message = String::from("providerOptions must not set ");
                message.push_str(ours);
                return Err(ErrorInfo::new(Code::InvalidConfig, message).hint("lodger sets it itself"));
            }
        }
        if theirs.get("tools").map(str::trim).is_some_and(|tools| !tools.starts_with('[') && tools != "null")
        {
            return Err(ErrorInfo::new(Code::InvalidConfig, "providerOptions.tools must be a list")
                .hint("its items are sent beside the agent's own tools"));
        }
        let mut out = String::with_capacity(capacity);
        out.push('{');
        Ok(Body { out, theirs })
    }

    /// What the page has set under this name, as JSON.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.theirs.get(name)
    }

    /// Begins a member and gives where to write its value; none where the page has set it.
    pub(super) fn member(&mut self, name: &str) -> Option<&mut String> {
        if self.theirs.has(name) {
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

    /// A member that is an object of these, with the members of the page's object of this name over them: who sets one
    /// of them keeps the others.
    pub(super) fn object(&mut self, name: &str, ours: &[(&str, &str)]) {
        let given = self.theirs.get(name).map(Members::of);
        if matches!(given, Some(None)) {
            return; // No object: it takes the place of ours.
        }
        let theirs = given.flatten().unwrap_or_default();
        self.theirs.0.retain(|(other, _)| other != name);
        self.key(name);
        let mut inner = Body { out: String::from("{"), theirs };
        for (name, value) in ours {
            inner.raw(name, value);
        }
        let inner = inner.finish();
        self.out.push_str(&inner);
    }

    /// A list of these items, with commas between them, and of those that the page has in its own list of this name. A
    /// `null` of the page's takes the place of ours.
    pub(super) fn list(&mut self, name: &str, items: &str) {
        let given = self.theirs.has(name);
        let theirs = self.theirs.get(name).map(str::trim).unwrap_or_default();
        let more = theirs.strip_prefix('[').and_then(|list| list.strip_suffix(']')).map(str::trim);
        if items.is_empty() || given && more.is_none() {
            return;
        }
        self.theirs.0.retain(|(other, _)| other != name);
        self.key(name);
        self.out.push('[');
        self.out.push_str(items);
        if let Some(more) = more.filter(|more| !more.is_empty()) {
            self.out.push(',');
            self.out.push_str(more);
        }
        self.out.push(']');
    }

    /// The whole body.
    pub(super) fn finish(mut self) -> String {
        for (name, value) in std::mem::take(&mut self.theirs).all() {
            self.key(name);
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
    use crate::json::damaged;

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
    fn it_takes_what_another_parser_takes() {
        let mut random = fastrand::Rng::with_seed(3);
        let (mut taken, mut refused) = (0, 0);
        for _ in 0..50_000 {
            let text = damaged(&mut random);
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            let ours = Reader::new(&text).value().is_some_and(|value| text.trim() == value);
            assert_eq!(ours, theirs, "{text}");
            let (shallow, deep) = (Node::read(&text, &[]), Node::read(&text, &["a", "b", "c", "f"]));
            assert_eq!(shallow.is_some(), theirs, "{text}");
            // Half of a surrogate pair is no text: it is refused where it is taken apart.
            let whole = serde_json::from_str::<Value>(&text).is_ok();
            assert!((whole..=theirs).contains(&deep.is_some()), "{text}");
            if theirs { taken += 1 } else { refused += 1 }
        }
        assert!(taken > 10_000 && refused > 10_000, "{taken} {refused}");
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
        for no in [
            "",
            "[]",
            "{",
            "{}x",
            "{'a':1}",
            r#"{"a":"\ud83d"}"#,
            "{\"a\":\"\n\"}",
            "{\"a\":01}",
            "{\"a\":1e400}",
        ] {
            assert!(!is_object(no), "{no}");
        }
        let deep = |depth: usize| ["{\"a\":", &"[".repeat(depth), &"]".repeat(depth), "}"].concat();
        assert!(is_object(&deep(99)) && !is_object(&deep(100)));
    }

    #[test]
    fn a_surprising_type_is_nothing() {
        for value in ["null", "true", "1", "-1", "1.5", "{\"a\":{\"b\":1}}"] {
            let members = ["{\"a\":", value, "}"].concat();
            let members = Members::with(&members, &["a"]).unwrap();
            assert!(members.text("a").is_empty() && members.node("a").items().is_empty(), "{value}");
        }
        assert!(matches!(Node::read("\"plain\"", &[]).unwrap(), Node::Text(Cow::Borrowed("plain"))));
        assert_eq!(Node::read("[1]", &[]).unwrap().items().len(), 1);
        for bad in ["[1", "[1]]", "[1,]", "[,1]", "[1 2]", "{\"a\" 1}", "{\"a\":1,}", "{a:1}", "\"a", ""] {
            assert!(Node::read(bad, &[]).is_none(), "{bad}");
        }
        let deep = ["{\"a\":".repeat(5000), "1".into(), "}".repeat(5000)].concat();
        assert!(Node::read(&deep, &["a"]).is_some());
    }

    #[test]
    fn the_pages_options_win_and_may_not_break_the_call() {
        let mut body = Body::new(0, Some(r#"{"a": 2.50,"c":null}"#)).unwrap();
        body.raw("a", "1");
        body.text("b", "x");
        assert_eq!(body.finish(), r#"{"b":"x","a":2.50,"c":null}"#);
        for (theirs, whole) in [
            ("{}", r#"{"o":{"n":1,"t":0}}"#),
            (r#"{"o":{}}"#, r#"{"o":{"n":1,"t":0}}"#),
            (r#"{"o":{"n": 2.0,"x":[]},"p":1}"#, r#"{"o":{"t":0,"n":2.0,"x":[]},"p":1}"#),
            (r#"{"o":null}"#, r#"{"o":{"n":1,"t":0}}"#),
            (r#"{"o":7}"#, r#"{"o":7}"#),
        ] {
            let mut body = Body::new(0, Some(theirs)).unwrap();
            body.object("o", &[("n", "1"), ("t", "0")]);
            assert_eq!(body.finish(), whole);
        }
        assert!(serde_json::from_str::<Value>(&Body::new(0, None).unwrap().finish()).is_ok());
        for bad in ["", "[]", "1", r#"{"stream":false}"#, r#"{"messages":[]}"#, r#"{"input":[]}"#] {
            assert_eq!(Body::new(0, Some(bad)).unwrap_err().code, Code::InvalidConfig, "{bad}");
        }
    }
}
