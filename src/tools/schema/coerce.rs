//! What of a model's arguments is repaired.
//!
//! Decides four repairs. A text may stand for the object, array or number that it is the JSON of. One value may
//! stand for an array of it, and `null` for a member that may be absent. Each is made only where nothing but what it
//! makes fits. Promises: what fits is not touched. A repair that does not help is taken back. Each that stays is named.
//! Leaves to others: whether the tool wants it.

use super::Report;
use super::compile::{Compiled, Id};
use super::keywords::{ARRAY, INTEGER, Key, NULL, NUMBER, OBJECT, types_of};
use super::number::decimal;
use super::pointer;
use super::validate::{Outcome, validate};
use super::violation::fitting;
use crate::find;
use crate::json::parse;
use crate::list::Listed;
use crate::object;
use serde_json::Value;

/// One thing that was repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Where, as a JSON Pointer; after the repairs before it.
    pub path: String,
    /// What: `json_text`, `number_text`, `single_value` or `null_member`.
    pub what: &'static str,
}

/// A value after all repairs.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The value.
    pub value: Value,
    /// What was done, in this order.
    pub repairs: Vec<Repair>,
    /// What is still wrong.
    pub report: Report,
}

/// How many places of one value are tried.
const MOST: usize = 20;
/// Nothing more is tried after so much work, in hundredths of what one value may be.
const ENOUGH: u32 = 100;

pub(super) fn coerce(schema: &Compiled, mut value: Value) -> Repaired {
    let mut repairs: Vec<Repair> = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    let mut work = 0;
    loop {
        let outcome = validate(schema, &value);
        let total = outcome.total;
        work += outcome.share;
        let tries = repairs.len() + failed.len();
        let next = (tries < MOST && work < ENOUGH && outcome.stopped.is_none())
            .then(|| next(schema, &outcome, &failed))
            .flatten();
        let Some((path, candidates)) = next else {
            let report = outcome.report(schema);
            return Repaired { value, repairs, report };
        };
        let mut helped = None;
        for (what, candidate) in candidates {
            let Some(undo) = put(&mut value, &path, candidate) else { continue };
            let after = validate(schema, &value);
            work += after.share;
            if after.stopped.is_none() && after.total < total {
                helped = Some(what);
                break;
            }
            put(&mut value, &path, Some(undo));
        }
        match helped {
            Some(what) => repairs.push(Repair { path, what }),
            None => failed.push(path),
        }
    }
}

/// What may stand there instead; `None`: nothing, the member goes.
type Candidate = (&'static str, Option<Value>);

/// The first place that has not been tried and where something may help.
fn next(schema: &Compiled, outcome: &Outcome<'_>, failed: &[String]) -> Option<(String, Vec<Candidate>)> {
    outcome.found.iter().filter(|finding| !failed.contains(&finding.at)).find_map(|finding| {
        let candidates = candidates(schema, finding.node, finding.key, &finding.at, finding.value);
        (!candidates.is_empty()).then(|| (finding.at.clone(), candidates))
    })
}

fn candidates(schema: &Compiled, node: Id, key: Key, at: &str, value: &Value) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    if !matches!(key, Key::Type | Key::Enum | Key::Const | Key::AnyOf | Key::OneOf) {
        return candidates;
    }
    if value.is_null() && !at.is_empty() {
        candidates.push(("null_member", None));
    }
    let Some(types) = fitting(schema, node, 8).filter(|types| types & types_of(value) == 0) else {
        return candidates;
    };
    // `null` beside it does not matter: nobody means null by a text.
    let only = |set: u8| types & !(set | NULL) == 0 && types & set != 0;
    if let Value::String(text) = value {
        if only(NUMBER | INTEGER)
            && let Some(number) = number(text)
        {
            candidates.push(("number_text", Some(number)));
        }
        if only(OBJECT | ARRAY)
            && let Some(parsed @ (Value::Object(_) | Value::Array(_))) = parse(text)
        {
            candidates.push(("json_text", Some(parsed)));
        }
    }
    if only(ARRAY) && !value.is_null() {
        candidates.push(("single_value", Some(vec![value.clone()].into())));
        if let Value::String(text) = value
            && let Some(number) = number(text)
        {
            candidates.push(("single_value", Some(vec![number].into())));
        }
    }
    candidates
}

/// The number that a text is, if it is exactly that.
fn number(text: &str) -> Option<Value> {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let value = parse(text)?;
    let Value::Number(number) = &value else { return None };
    // White space around it, or more digits than a float keeps.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let exact = !number.is_f64() || digits <= 15;
    (plain && exact && decimal(number).is_some()).then_some(value)
}

/// Puts a value in a place, or takes it out. Gives what was there; `None`: that cannot be done.
fn put(value: &mut Value, path: &str, new: Option<Value>) -> Option<Value> {
    if path.is_empty() {
        return Some(std::mem::replace(value, new?));
    }
    let mut steps: Vec<String> = path.split('/').skip(1).map(pointer::unescape).list();
    let last = steps.pop()?;
    let above = steps.iter().try_fold(value, |value, step| match value {
        Value::Object(members) => members.get_mut(step),
        Value::Array(items) => items.get_mut(place(step)?),
        _ => None,
    })?;
    match (above, new) {
        (Value::Object(members), None) => object::take(members, &last),
        (Value::Object(members), Some(new)) => Some(members.insert(last, new).unwrap_or(Value::Null)),
        (Value::Array(items), Some(new)) => Some(std::mem::replace(items.get_mut(place(&last)?)?, new)),
        _ => None,
    }
}

/// The place in a list that a step of a pointer names.
fn place(step: &str) -> Option<usize> {
    usize::try_from(find::whole(step)?).ok()
}
