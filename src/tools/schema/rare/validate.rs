//! Whether a value fits what few schemas ask for.
//!
//! Decides what each rare keyword means. Promises: of alternatives that all fail, only what is wrong with the closest is
//! found. Leaves to others: what most schemas have, and how much work a value may be (`validate` above).

use super::number::{hash, is_multiple};
use crate::list::Listed;
use crate::maps::sorted;
use crate::rooms::{Room, enter};
use crate::tools::schema::compile::{Arg, Id, Pattern, Rule};
use crate::tools::schema::keywords::Key;
use crate::tools::schema::number::Work;
use crate::tools::schema::validate::{At, Detail, Finding, Here, KEPT, Scope, Seen, Step, Walk};
use serde_json::{Map, Value};

/// Whether a value fits a rare keyword.
#[inline(never)]
pub(in crate::tools::schema) fn rule<'v>(
    walk: &mut Walk<'v>,
    here: &Here<'v, '_>,
    rule: &'v Rule,
    value: &'v Value,
    seen: Option<&mut Seen>,
) -> bool {
    enter(Room::Schema);
    let wrong = match (&rule.arg, value) {
        (Arg::Node(_) | Arg::Nodes(_) | Arg::NodeByName(_) | Arg::NodeByPattern(_) | Arg::Dynamic(..), _) => {
            return match value {
                Value::Object(object) if is_about_members(rule.key) => {
                    members(walk, here, rule, object, value, seen)
                }
                Value::Array(list) if is_about_items(rule.key) => items(walk, here, rule, list, value, seen),
                _ => in_place(walk, here, rule, value, seen),
            };
        }
        (Arg::NamesByName(lists), Value::Object(members)) => {
            let mut fits = true;
            walk.work.pay(lists.len());
            for (because, names) in lists.iter().filter(|(because, _)| members.contains_key(because)) {
                fits &= walk.required(here, rule.key, (names.as_slice(), Some(because)), members, value);
            }
            return fits;
        }
        (Arg::Number(limit), Value::Number(number)) => (!is_multiple(number, limit)).then_some(Detail::None),
        (Arg::Count(_), Value::Array(items)) if rule.key == Key::UniqueItems => {
            repeated(&mut walk.work, items)
        }
        (Arg::Pattern(_, pattern), Value::String(text)) => {
            (!matches(walk, pattern, text)).then_some(Detail::None)
        }
        (Arg::Format(format), Value::String(text)) => {
            let fits = walk.work.pay_text(text) && format.fits(text, &*walk.schema.patterns);
            (!fits).then_some(Detail::None)
        }
        _ => None,
    };
    wrong.is_none_or(|detail| walk.fault(here, rule.key, value, detail))
}

/// Whether `patternProperties` is about a member of this name.
#[inline(never)]
pub(in crate::tools::schema) fn is_named(
    walk: &mut Walk<'_>,
    by_pattern: &[(Pattern, Id)],
    name: &str,
) -> bool {
    enter(Room::Schema);
    by_pattern.iter().any(|(pattern, _)| matches(walk, pattern, name))
}

fn matches(walk: &mut Walk<'_>, pattern: &Pattern, text: &str) -> bool {
    walk.work.pay_text(text) && pattern(text, &mut walk.work)
}

/// Two items that are the same, the first such pair.
fn repeated(work: &mut Work, items: &[Value]) -> Option<Detail<'static>> {
    let hashes: Vec<(u64, usize)> = items.iter().map(|item| hash(work, item)).zip(0..).list();
    // Those with the same hash lie side by side.
    let hashes: Vec<(u64, usize)> = sorted(hashes, |(hash, _)| *hash);
    let mut first: Option<(usize, usize)> = None;
    let mut rest = hashes.as_slice();
    while let Some(((hash, at), others)) = rest.split_first() {
        rest = others;
        let equal = others.iter().take_while(|(other, _)| other == hash).find(
            |(_, other)| matches!((items.get(*at), items.get(*other)), (Some(a), Some(b)) if work.same(a, b)),
        );
        if let Some((_, other)) = equal
            && first.is_none_or(|(_, second)| *other < second)
        {
            first = Some((*at, *other));
        }
    }
    first.map(|(a, b)| Detail::Items(a, b))
}

/// Schemas on the same value.
fn in_place<'v>(
    walk: &mut Walk<'v>,
    here: &Here<'v, '_>,
    rule: &'v Rule,
    value: &'v Value,
    mut seen: Option<&mut Seen>,
) -> bool {
    let (at, scope) = (here.at, here.scope);
    match (rule.key, &rule.arg) {
        (Key::Ref | Key::DynamicRef, Arg::Node(id)) => walk.node(*id, value, at, scope, seen),
        (_, Arg::Dynamic(id, anchor)) => {
            let mut target = *id;
            let mut next = Some(scope);
            while let Some(entered) = next {
                walk.work.pay(1);
                target = walk.schema.dynamic(entered.resource, anchor).unwrap_or(target);
                next = entered.outer;
            }
            walk.node(target, value, at, scope, seen)
        }
        (Key::AllOf, Arg::Nodes(ids)) => {
            let mut fits = true;
            for id in ids {
                fits &= walk.node(*id, value, at, scope, seen.as_deref_mut());
            }
            fits
        }
        (_, Arg::Nodes(ids)) if matches!(rule.key, Key::AnyOf | Key::OneOf) => {
            alternatives(walk, here, rule.key, ids, value, seen)
        }
        (Key::Not, Arg::Node(id)) => {
            !quietly(walk, *id, value, at, scope, None) || walk.fault(here, Key::Not, value, Detail::None)
        }
        (Key::If, Arg::Node(id)) => {
            let mut own = Seen::default();
            let tracked = seen.is_some().then_some(&mut own);
            let branch = if quietly(walk, *id, value, at, scope, tracked) {
                if let Some(seen) = seen.as_deref_mut() {
                    seen.add(&own);
                }
                Key::Then
            } else {
                Key::Else
            };
            match here.node.arg(branch) {
                Some(Arg::Node(id)) => walk.node(*id, value, at, scope, seen),
                _ => true,
            }
        }
        _ => true,
    }
}

/// One of several schemas, or exactly one. When none fits, the findings of the closest are kept.
fn alternatives<'v>(
    walk: &mut Walk<'v>,
    here: &Here<'v, '_>,
    key: Key,
    ids: &[Id],
    value: &'v Value,
    mut seen: Option<&mut Seen>,
) -> bool {
    let (before, most, total) = (walk.found.len(), walk.most, walk.total);
    let mut fitting = 0_usize;
    let mut closest: Option<(usize, usize, Vec<Finding<'v>>)> = None;
    for id in ids {
        let mut own = Seen::default();
        walk.most = before + KEPT;
        let tracked = seen.is_some().then_some(&mut own);
        let fits = walk.node(*id, value, here.at, here.scope, tracked);
        let found = walk.found.split_off(before);
        let wrong = std::mem::replace(&mut walk.total, total) - total;
        if fits {
            fitting += 1;
            if let Some(seen) = seen.as_deref_mut() {
                seen.add(&own);
            } else if key == Key::AnyOf || fitting > 1 {
                break;
            }
        } else if !walk.quiet {
            walk.work.pay(found.len());
            let distance = distance(&found, here.at);
            if closest.as_ref().is_none_or(|(least, ..)| distance < *least) {
                closest = Some((distance, wrong, found));
            }
        }
    }
    walk.most = most;
    if fitting == 1 || (fitting > 0 && key == Key::AnyOf) {
        return true;
    }
    walk.fault(here, key, value, Detail::Count(fitting));
    if let (0, Some((distance, wrong, found))) = (fitting, closest)
        && distance < OTHER
    {
        walk.total += wrong;
        walk.found.extend(found);
        walk.found.truncate(most.max(before));
    }
    false
}

/// Whether a value fits a schema, and nothing else.
fn quietly<'v>(
    walk: &mut Walk<'v>,
    id: Id,
    value: &'v Value,
    at: &At<'_>,
    scope: &Scope<'_>,
    seen: Option<&mut Seen>,
) -> bool {
    let quiet = std::mem::replace(&mut walk.quiet, true);
    let fits = walk.node(id, value, at, scope, seen);
    walk.quiet = quiet;
    fits
}

/// Schemas on an object's members and their names, or on the object for the sake of a member.
fn members<'v>(
    walk: &mut Walk<'v>,
    here: &Here<'v, '_>,
    rule: &'v Rule,
    members: &'v Map<String, Value>,
    value: &'v Value,
    mut seen: Option<&mut Seen>,
) -> bool {
    let mut fits = true;
    match (rule.key, &rule.arg) {
        (_, Arg::NodeByPattern(by_pattern)) => {
            for (name, member) in members {
                for (pattern, id) in by_pattern {
                    if matches(walk, pattern, name) {
                        fits &= walk.member(here, *id, name, member);
                        if let Some(seen) = seen.as_deref_mut() {
                            seen.members.insert(name, ());
                        }
                    }
                }
            }
        }
        (Key::PropertyNames, Arg::Node(id)) => {
            for name in members.keys() {
                if !name_fits(walk, here, *id, name) {
                    fits = walk.fault(here, rule.key, value, Detail::Name(name));
                }
            }
        }
        (Key::DependentSchemas, Arg::NodeByName(by_name)) => {
            walk.work.pay(by_name.len());
            for (_, id) in by_name.iter().filter(|(name, _)| members.contains_key(*name)) {
                fits &= walk.node(*id, value, here.at, here.scope, seen.as_deref_mut());
            }
        }
        _ => fits = walk.members(here, rule, members, value, seen),
    }
    fits
}

/// Whether a member's name fits a schema.
fn name_fits(walk: &mut Walk<'_>, here: &Here<'_, '_>, id: Id, name: &str) -> bool {
    let name = Value::String(name.into());
    // A walk of its own, because the name lives only here.
    let mut own = Walk {
        schema: walk.schema,
        work: std::mem::replace(&mut walk.work, Work::new(0)),
        depth: walk.depth,
        stopped: walk.stopped,
        quiet: true,
        found: Vec::new(),
        most: 0,
        total: 0,
    };
    let fits = own.node(id, &name, here.at, here.scope, None);
    (walk.work, walk.stopped) = (own.work, own.stopped);
    fits
}

/// Schemas on an array's items.
fn items<'v>(
    walk: &mut Walk<'v>,
    here: &Here<'v, '_>,
    rule: &'v Rule,
    items: &'v [Value],
    value: &'v Value,
    seen: Option<&mut Seen>,
) -> bool {
    let mut fits = true;
    let mut looked_at = Seen::default();
    match (rule.key, &rule.arg) {
        (Key::PrefixItems, Arg::Nodes(ids)) => {
            for (index, (item, id)) in items.iter().zip(ids).enumerate() {
                fits &= walk.item(here, *id, index, item);
            }
            looked_at.items = ids.len();
        }
        (Key::UnevaluatedItems, Arg::Node(id)) => {
            let nothing = Seen::default();
            let seen = seen.as_deref().unwrap_or(&nothing);
            let mut contained = vec![false; items.len()];
            for index in &seen.contained {
                if let Some(place) = contained.get_mut(*index) {
                    *place = true;
                }
            }
            for (index, item) in items.iter().enumerate() {
                if !seen.all_items && index >= seen.items && contained.get(index) != Some(&true) {
                    fits &= walk.item(here, *id, index, item);
                }
            }
            looked_at.all_items = true;
        }
        (_, Arg::Node(id)) => {
            for (index, item) in items.iter().enumerate() {
                let at = At { step: Step::Index(index), above: Some(here.at) };
                if quietly(walk, *id, item, &at, here.scope, None) {
                    looked_at.contained.push(index);
                }
            }
            let fitting = looked_at.contained.len();
            let least = here.node.count(Key::MinContains);
            if least.unwrap_or(1) > fitting as u64 {
                let key = if least.is_some() { Key::MinContains } else { Key::Contains };
                fits = walk.fault(here, key, value, Detail::Count(fitting));
            }
            if here.node.count(Key::MaxContains).is_some_and(|most| most < fitting as u64) {
                fits = walk.fault(here, Key::MaxContains, value, Detail::Count(fitting));
            }
        }
        _ => {}
    }
    if let Some(seen) = seen {
        seen.add(&looked_at);
    }
    fits
}

fn is_about_members(key: Key) -> bool {
    matches!(
        key,
        Key::PatternProperties | Key::PropertyNames | Key::DependentSchemas | Key::UnevaluatedProperties
    )
}

fn is_about_items(key: Key) -> bool {
    matches!(key, Key::PrefixItems | Key::Contains | Key::UnevaluatedItems)
}

/// From here on an alternative is about something else.
const OTHER: usize = 1 << 20;

/// How far a value is from an alternative: one that wants another type or another value is about something else, one
/// that wants another value of a member probably is.
fn distance(found: &[Finding<'_>], at: &At<'_>) -> usize {
    let level = at.level();
    let chooses = |key: Key| matches!(key, Key::Const | Key::Enum);
    found.iter().fold(found.len(), |sum, finding| {
        let depth = finding.at.bytes().filter(|byte| *byte == b'/').count().saturating_sub(level);
        sum + match depth {
            0 if chooses(finding.key) || matches!(finding.key, Key::Type | Key::False) => OTHER,
            1 if chooses(finding.key) => 1 << 10,
            _ => 0,
        }
    })
}
