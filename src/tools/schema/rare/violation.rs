//! What is wrong by a keyword that few schemas have, as a sentence; and what is wanted where other schemas say it.

use crate::find;
use crate::json::json;
use crate::list::Listed;
use crate::rooms::{Room, enter};
use crate::tools::schema::compile::{Arg, Compiled, Node};
use crate::tools::schema::keywords::{ARRAY, Key, OBJECT, types_of};
use crate::tools::schema::validate::{Detail, Finding, KEPT};
use crate::tools::schema::violation::{self, quote, shown};
use serde_json::Value;

/// The sentence of a rare keyword.
#[inline(never)]
pub(in crate::tools::schema) fn sentence(finding: &Finding<'_>, schema: &Compiled, node: &Node) -> String {
    enter(Room::Schema);
    let here = shown(&finding.at);
    let sent = || ["; you sent ", &quote(finding.value)].concat();
    let place = if finding.at.is_empty() { String::new() } else { [" in ", &here].concat() };
    let number = || node.count(finding.key).unwrap_or_default().to_string();
    let count = match finding.detail {
        Detail::Count(count) => count,
        _ => 0,
    };
    // What the schema of a keyword wants.
    let wants = |key: Key| match node.arg(key) {
        Some(Arg::Node(id)) => violation::expects(schema, *id, 8),
        _ => None,
    };
    match (finding.key, finding.detail) {
        (_, Detail::Asked(name, because)) => {
            ["missing '", name, "' field", &place, ", which must come with '", because, "'"].concat()
        }
        (Key::PropertyNames, Detail::Name(name)) => {
            let must = wants(Key::PropertyNames);
            let must = must.map(|must| ["; a name must be ", &must].concat()).unwrap_or_default();
            ["'", name, "' is no name for a field", &place, &must].concat()
        }
        (Key::MultipleOf, _) => {
            let of = match node.arg(Key::MultipleOf) {
                Some(Arg::Number(of)) => json(&Value::Number(of.clone())),
                _ => String::new(),
            };
            [&here, " must be a multiple of ", &of, &sent()].concat()
        }
        (Key::Pattern, _) => {
            let pattern = match node.arg(Key::Pattern) {
                Some(Arg::Pattern(pattern, _)) => pattern,
                _ => "",
            };
            [&here, " must match the pattern ", pattern, &sent()].concat()
        }
        (Key::Format, _) => {
            let says = match node.arg(Key::Format) {
                Some(Arg::Format(format)) => format.says,
                _ => "",
            };
            [&here, " must be ", says, &sent()].concat()
        }
        (Key::UniqueItems, Detail::Items(a, b)) => {
            let (a, b) = (a.to_string(), b.to_string());
            [&here, " must have no item twice; items ", &a, " and ", &b, " are the same"].concat()
        }
        (Key::Contains | Key::MinContains | Key::MaxContains, _) => {
            let such = wants(Key::Contains).map(|such| [" that are ", &such].concat());
            let such = such.unwrap_or_else(|| " that fit 'contains'".into());
            let (least, limit) = match finding.key {
                Key::Contains => ("at least ", "1".into()),
                Key::MinContains => ("at least ", number()),
                _ => ("at most ", number()),
            };
            let has = ["; it has ", &count.to_string()].concat();
            [&here, " must have ", least, &limit, " items", &such, &has].concat()
        }
        (Key::Not, _) => {
            let what = wants(Key::Not).unwrap_or_else(|| "what the schema excludes by 'not'".into());
            [&here, " must not be ", &what, &sent()].concat()
        }
        (Key::OneOf, _) if count > 0 => {
            [&here, " must fit exactly one of its forms, not several", &sent()].concat()
        }
        _ => {
            let wanted = violation::expects(schema, finding.node, 8);
            match wanted.filter(|_| !is_of_a_form(finding, schema)) {
                Some(what) => [&here, " must be ", &what, &sent()].concat(),
                None => {
                    let forms = match node.arg(finding.key) {
                        Some(Arg::Nodes(forms)) => forms.len(),
                        _ => 1,
                    };
                    [&here, " must fit one of ", &forms.to_string(), " forms and fits none"].concat()
                }
            }
        }
    }
}

/// Whether alternatives failed of which some want an object or array, as this is one.
fn is_of_a_form(finding: &Finding<'_>, schema: &Compiled) -> bool {
    let types = types_of(finding.value);
    matches!(finding.key, Key::AnyOf | Key::OneOf)
        && types & (OBJECT | ARRAY) != 0
        && violation::fitting(schema, finding.node, 8).is_none_or(|wanted| wanted & types != 0)
}

/// The types that may stand there, where a reference or alternatives say it.
#[inline(never)]
pub(in crate::tools::schema) fn fitting(schema: &Compiled, node: &Node, depth: u8) -> Option<u8> {
    enter(Room::Schema);
    node.rules.iter().find_map(|rule| match (&rule.arg, rule.key) {
        (Arg::Node(id), Key::Ref) => violation::fitting(schema, *id, depth),
        (Arg::Nodes(ids), Key::AnyOf | Key::OneOf) => {
            ids.iter().try_fold(0, |set, id| Some(set | violation::fitting(schema, *id, depth)?))
        }
        _ => None,
    })
}

/// What a schema wants, where a reference or alternatives say it.
#[inline(never)]
pub(in crate::tools::schema) fn expects(schema: &Compiled, node: &Node, depth: u8) -> Option<String> {
    enter(Room::Schema);
    let first = node.rules.iter().find(|rule| matches!(rule.key, Key::Ref | Key::AnyOf | Key::OneOf))?;
    match &first.arg {
        Arg::Node(id) => violation::expects(schema, *id, depth),
        Arg::Nodes(ids) => {
            let words: Option<Vec<String>> =
                ids.iter().take(KEPT).map(|id| violation::expects(schema, *id, depth)).whole();
            words.map(|mut words| {
                words.dedup();
                find::join(&words, " or ")
            })
        }
        _ => None,
    }
}
