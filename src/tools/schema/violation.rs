//! What is wrong, as a value and as a sentence for the model.
//!
//! Decides the words. Promises: each sentence names the place, and says what to send instead. What the model sent is
//! quoted in part. The places of nested alternatives: the sentence of `anyOf` or `oneOf` comes first, then what is
//! wrong with the closest of them.

use super::compile::{Arg, Compiled, Id, Node};
use super::keywords::{INTEGER, Key, NUMBER, TYPES};
use super::pointer;
use super::rare;
use super::validate::{DEEPEST, Detail, Finding, KEPT, Outcome, Stopped};
use crate::find;
use crate::json::json;
use crate::list::Listed;
use crate::object::Object;
use serde_json::Value;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The keyword of the schema that says so; empty for a schema that is just `false`, and where validation stopped.
    pub keyword: &'static str,
    /// Where in the value, as a JSON Pointer.
    pub instance_path: String,
    /// Where in the schema, as a JSON Pointer; in another document, with its URI and `#` before it. References are
    /// followed: it is where the keyword stands.
    pub schema_path: String,
    /// An object: what the keyword was given (`limit`, `allowed`, `types`, `pattern`, `format`), and what was found
    /// (`missing`, `field`, `because`, `count`, `items`).
    pub params: Value,
    /// One sentence for the model, without a full stop.
    pub message: String,
}

/// All that is wrong with a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The first [`Report::KEPT`], in the order of the schema.
    pub violations: Vec<Violation>,
    /// How many there are in all.
    pub total: usize,
}

impl Report {
    /// How many violations are kept.
    pub const KEPT: usize = KEPT;

    /// Whether the value fits.
    pub fn is_valid(&self) -> bool {
        self.total == 0
    }

    /// All sentences in one text, and how many more there are.
    pub fn told(&self) -> String {
        let mut told: Vec<&str> = self.violations.iter().map(|violation| violation.message.as_str()).list();
        let hidden = self.total.saturating_sub(told.len());
        let more = ["and ", &hidden.to_string(), " more"].concat();
        if hidden > 0 {
            told.push(&more);
        }
        find::join(&told, "; ")
    }
}

impl Outcome<'_> {
    /// What was found, in words.
    pub(super) fn report(&self, schema: &Compiled) -> Report {
        let violations = match self.stopped {
            Some(stopped) => vec![stopped.violation()],
            None => self.found.iter().filter_map(|finding| finding.violation(schema)).list(),
        };
        Report { violations, total: self.total }
    }
}

impl Stopped {
    fn violation(self) -> Violation {
        let message = match self {
            Stopped::Depth => {
                ["the arguments are nested too deeply; send at most ", &DEEPEST.to_string(), " levels"]
                    .concat()
            }
            Stopped::Work => "the arguments are too much work to check; send less".into(),
        };
        Violation {
            keyword: "",
            instance_path: String::new(),
            schema_path: String::new(),
            params: Object::new().done(),
            message,
        }
    }
}

impl Finding<'_> {
    fn violation(&self, schema: &Compiled) -> Option<Violation> {
        let node = schema.node(self.node)?;
        let mut schema_path = schema.path(self.node);
        if self.key != Key::False {
            pointer::push_step(&mut schema_path, self.key.text());
        }
        let arg = node.arg(self.key);
        let mut params = Object::new();
        match arg {
            Some(Arg::Types(types)) => _ = params.value("types", names(*types).array()),
            Some(Arg::Value(value)) => _ = params.value("allowed", vec![value.clone()].into()),
            Some(Arg::Values(values)) => _ = params.value("allowed", values.clone().into()),
            Some(Arg::Number(limit)) => _ = params.value("limit", Value::Number(limit.clone())),
            Some(Arg::Count(limit)) if !matches!(self.key, Key::False | Key::UniqueItems) => {
                params.number("limit", *limit);
            }
            Some(Arg::Pattern(pattern, _)) => _ = params.text("pattern", pattern),
            Some(Arg::Format(format)) => _ = params.text("format", format.name),
            _ => {}
        }
        match self.detail {
            Detail::None => {}
            Detail::Name(name) if self.key == Key::Required => _ = params.text("missing", name),
            Detail::Name(name) => _ = params.text("field", name),
            Detail::Asked(missing, because) => {
                params.text("missing", missing).text("because", because);
            }
            Detail::Items(a, b) => _ = params.value("items", vec![Value::from(a), b.into()].into()),
            Detail::Count(count) => _ = params.number("count", count as u64),
        }
        Some(Violation {
            keyword: self.key.text(),
            schema_path,
            params: params.done(),
            message: self.sentence(schema, node),
            instance_path: self.at.clone(),
        })
    }

    fn sentence(&self, schema: &Compiled, node: &Node) -> String {
        let here = shown(&self.at);
        let sent = || ["; you sent ", &quote(self.value)].concat();
        let place = if self.at.is_empty() { String::new() } else { [" in ", &here].concat() };
        let limit = node.count(self.key).unwrap_or_default();
        let number = || limit.to_string();
        let count = match self.detail {
            Detail::Count(count) => count,
            _ => 0,
        };
        let things = |least: &str, one: &str, many: &str| {
            let word = if limit == 1 { one } else { many };
            let has = ["; it has ", &count.to_string()].concat();
            [&here, " must have ", least, &number(), word, &has].concat()
        };
        match (self.key, self.detail) {
            (Key::Required, Detail::Name(name)) => ["missing '", name, "' field", &place].concat(),
            (Key::AdditionalProperties | Key::UnevaluatedProperties, Detail::Name(name)) => {
                let place = shown_in(&self.at);
                let mut known: Vec<&str> = Vec::new();
                fields(schema, self.node, &mut known, 8);
                let known = match known.as_slice() {
                    [] => String::new(),
                    known => ["; the fields are ", &find::join(known, ", ")].concat(),
                };
                ["unknown field '", name, "'", &place, &known].concat()
            }
            (Key::False, _) => [&here, " is not allowed"].concat(),
            (Key::MinLength, _) if count == 0 => [&here, " is empty"].concat(),
            (Key::MinLength, _) => things("at least ", " character", " characters"),
            (Key::MaxLength, _) => things("at most ", " character", " characters"),
            (Key::MinItems, _) => things("at least ", " item", " items"),
            (Key::MaxItems, _) => things("at most ", " item", " items"),
            (Key::MinProperties, _) => things("at least ", " field", " fields"),
            (Key::MaxProperties, _) => things("at most ", " field", " fields"),
            (Key::Minimum | Key::Maximum | Key::ExclusiveMinimum | Key::ExclusiveMaximum, _) => {
                let whole = node.types().is_some_and(|types| types & (NUMBER | INTEGER) == INTEGER);
                let what = if whole { "a whole number" } else { "a number" };
                [&here, " must be ", what, &limits(node), &sent()].concat()
            }
            (key, _) if key.is_rare() => rare::sentence(self, schema, node),
            _ => {
                let what = expects(schema, self.node, 8).unwrap_or_default();
                [&here, " must be ", &what, &sent()].concat()
            }
        }
    }
}

/// The types that may stand there, as far as `type`, references and alternatives tell.
pub(super) fn fitting(schema: &Compiled, id: Id, depth: u8) -> Option<u8> {
    let depth = depth.checked_sub(1)?;
    let node = schema.node(id)?;
    if let Some(types) = node.types() {
        return Some(types);
    }
    if is_elsewhere(node) { rare::fitting(schema, node, depth) } else { None }
}

/// Whether what may stand there is said by other schemas.
fn is_elsewhere(node: &Node) -> bool {
    node.rules.iter().any(|rule| matches!(rule.key, Key::Ref | Key::AnyOf | Key::OneOf))
}

/// The names in a set of types.
fn names(types: u8) -> impl Iterator<Item = &'static str> {
    TYPES.into_iter().enumerate().filter(move |(bit, _)| types & (1 << bit) != 0).map(|(_, name)| name)
}

/// What a schema wants, where that can be said in a few words: its values, or its types with the limits of a number.
pub(super) fn expects(schema: &Compiled, id: Id, depth: u8) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let node = schema.node(id)?;
    if let Some(Arg::Value(value)) = node.arg(Key::Const) {
        return Some(quote(value));
    }
    if let Some(Arg::Values(values)) = node.arg(Key::Enum) {
        let list: Vec<String> = values.iter().take(KEPT).map(quote).list();
        let more = if values.len() > KEPT { ", …" } else { "" };
        return Some(match list.as_slice() {
            [one] => one.clone(),
            _ => ["one of ", &find::join(&list, ", "), more].concat(),
        });
    }
    if let Some(types) = node.types() {
        // An integer is a number already.
        let types = if types & NUMBER != 0 { types & !INTEGER } else { types };
        let words: Vec<String> = names(types)
            .map(|name| match name {
                "null" => name.into(),
                "integer" => ["a whole number", &limits(node)].concat(),
                "number" => ["a number", &limits(node)].concat(),
                "boolean" => "true or false".into(),
                "object" | "array" => ["an ", name].concat(),
                _ => ["a ", name].concat(),
            })
            .list();
        return Some(find::join(&words, " or "));
    }
    if is_elsewhere(node) {
        return rare::expects(schema, node, depth);
    }
    let limits = limits(node);
    (!limits.is_empty()).then(|| ["a number", &limits].concat())
}

/// The limits of a number: " of at least 1 and below 10".
pub(super) fn limits(node: &Node) -> String {
    let mut limits = String::new();
    for (key, word) in [
        (Key::Minimum, "of at least "),
        (Key::ExclusiveMinimum, "above "),
        (Key::Maximum, "of at most "),
        (Key::ExclusiveMaximum, "below "),
    ] {
        if let Some(Arg::Number(limit)) = node.arg(key) {
            let and = if limits.is_empty() { " " } else { " and " };
            limits = [&limits, and, word, &json(&Value::Number(limit.clone()))].concat();
        }
    }
    limits
}

/// The names of the members that a schema knows.
fn fields<'s>(schema: &'s Compiled, id: Id, known: &mut Vec<&'s str>, depth: u8) {
    let (Some(depth), Some(node)) = (depth.checked_sub(1), schema.node(id)) else { return };
    for rule in &node.rules {
        match (rule.key, &rule.arg) {
            (Key::Properties, Arg::NodeByName(by_name)) => {
                let room = KEPT.saturating_sub(known.len());
                known.extend(by_name.keys().take(room));
            }
            (Key::Ref, Arg::Node(id)) => fields(schema, *id, known, depth),
            (Key::AllOf, Arg::Nodes(ids)) => ids.iter().for_each(|id| fields(schema, *id, known, depth)),
            _ => {}
        }
    }
}

/// A place in the value as a sentence says it.
pub(super) fn shown(at: &str) -> String {
    match at.strip_prefix('/') {
        None => "the arguments".into(),
        // One step down is a plain name; deeper, the pointer is the shortest exact way to say it.
        Some(name) if !find::has(name, "/") => ["'", &pointer::unescape(name), "'"].concat(),
        Some(_) => ["'", at, "'"].concat(),
    }
}

/// The place that a member is in.
fn shown_in(at: &str) -> String {
    let above = at.bytes().rposition(|byte| byte == b'/').and_then(|end| at.get(..end)).unwrap_or_default();
    if above.is_empty() { String::new() } else { [" in ", &shown(above)].concat() }
}

/// How much of a value is quoted, in characters.
const QUOTED: usize = 60;

/// A value as JSON text, in part.
pub(super) fn quote(value: &Value) -> String {
    // Only the beginning of a long text or list is written.
    let text = match value {
        Value::String(text) => {
            let begin = find::beginning(text, QUOTED);
            let more = begin.len() < text.len();
            let quoted = json(&begin.into());
            return if more { [&quoted, "…"].concat() } else { quoted };
        }
        Value::Array(items) if items.len() > QUOTED => return "a long list".into(),
        Value::Object(members) if members.len() > QUOTED => return "a large object".into(),
        other => json(other),
    };
    let begin = find::beginning(&text, QUOTED);
    if begin.len() < text.len() { [begin, "…"].concat() } else { find::replace(begin, "\n", " ") }
}
