//! Whether a value fits a schema.
//!
//! Decides what each keyword means. Promises: all that is wrong is found, except what only repeats it (after a wrong
//! type, the other keywords of the same schema; of alternatives that all fail, all but the closest); it ends, with a
//! clear error, after a bounded number of steps and at a bounded depth. Leaves to others: saying it (`violation`).

use super::compile::{Arg, Compiled, Id, Node, Rule, is_deeper};
use super::keywords::{Key, types_of};
use super::number::{Work, compare, is_multiple};
use super::uri;
use crate::list::Listed;
use crate::maps::{Named, sorted};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// How many findings are kept; the others are counted.
pub(super) const KEPT: usize = 20;
/// How deep a value may be nested.
pub(super) const DEEPEST: usize = 200;
/// How many schemas may be inside each other while they are looked at: several for each level of the value.
const LONGEST: usize = 1000;
/// How much work one value may be. Many times what an honest one of some megabytes is.
const STEPS: u32 = 5_000_000;

/// One thing that is wrong.
pub(super) struct Finding<'v> {
    pub(super) node: Id,
    pub(super) key: Key,
    /// Where, as a JSON Pointer.
    pub(super) at: String,
    pub(super) value: &'v Value,
    pub(super) detail: Detail<'v>,
}

/// What there is to know about it besides the keyword.
#[derive(Clone, Copy)]
pub(super) enum Detail<'v> {
    None,
    /// A member's name.
    Name(&'v str),
    /// A member that is missing, and the one that asks for it.
    Asked(&'v str, &'v str),
    /// Two items that are the same.
    Items(usize, usize),
    /// How many are there, or fit.
    Count(usize),
}

/// Why nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    Depth,
    Work,
}

/// What was found.
pub(super) struct Outcome<'v> {
    pub(super) found: Vec<Finding<'v>>,
    pub(super) total: usize,
    pub(super) stopped: Option<Stopped>,
    /// How much of the work there may be was done, in hundredths.
    pub(super) share: u32,
}

/// Looks a value through.
pub(super) fn validate<'v>(schema: &'v Compiled, value: &'v Value) -> Outcome<'v> {
    if is_deeper(value, DEEPEST) {
        return Outcome { found: Vec::new(), total: 1, stopped: Some(Stopped::Depth), share: 0 };
    }
    let mut walk = Walk {
        schema,
        work: Work::new(STEPS),
        depth: 0,
        stopped: None,
        quiet: false,
        found: Vec::new(),
        most: KEPT,
        total: 0,
    };
    let scope = Scope { resource: 0, outer: None };
    walk.node(0, value, &At { step: Step::Root, above: None }, &scope, None);
    if walk.work.is_over() {
        walk.stopped = Some(Stopped::Work);
    }
    walk.found.truncate(KEPT);
    let total = if walk.stopped.is_some() { 1 } else { walk.total };
    let share = (STEPS - walk.work.left()) / (STEPS / 100);
    Outcome { found: walk.found, total, stopped: walk.stopped, share }
}

/// Where in the value.
struct At<'p> {
    step: Step<'p>,
    above: Option<&'p At<'p>>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Name(&'p str),
    Index(usize),
}

impl At<'_> {
    /// How many steps down it is.
    fn level(&self) -> usize {
        self.above.map_or(0, |above| above.level() + 1)
    }

    fn pointer(&self) -> String {
        let mut pointer = self.above.map(At::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Name(name) => uri::push_step(&mut pointer, name),
            Step::Index(index) => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
        }
        pointer
    }
}

/// Which resources were gone through to come here.
struct Scope<'p> {
    resource: usize,
    outer: Option<&'p Scope<'p>>,
}

/// What of one value schemas have looked at: `unevaluated…` asks for the rest.
#[derive(Default)]
struct Seen {
    all_members: bool,
    members: Named<()>,
    all_items: bool,
    /// So many from the first on.
    items: usize,
    /// Besides these, those that `contains` was about.
    contained: Vec<usize>,
}

impl Seen {
    fn add(&mut self, other: &Seen) {
        self.all_members |= other.all_members;
        self.all_items |= other.all_items;
        self.items = self.items.max(other.items);
        self.contained.extend(&other.contained);
        for name in other.members.keys() {
            self.members.insert(name, ());
        }
    }
}

struct Walk<'v> {
    schema: &'v Compiled,
    work: Work,
    depth: usize,
    stopped: Option<Stopped>,
    /// Only whether it fits is of interest.
    quiet: bool,
    found: Vec<Finding<'v>>,
    /// How long `found` may become.
    most: usize,
    total: usize,
}

/// A schema at work on a value: what all keywords need.
struct Here<'v, 'p> {
    id: Id,
    node: &'v Node,
    at: &'p At<'p>,
    scope: &'p Scope<'p>,
}

impl<'v> Walk<'v> {
    /// Whether a value fits a schema.
    fn node(
        &mut self,
        id: Id,
        value: &'v Value,
        at: &At<'_>,
        scope: &Scope<'_>,
        seen: Option<&mut Seen>,
    ) -> bool {
        let Some(node) = self.schema.node(id) else { return false };
        if !self.work.pay(1) || self.stopped.is_some() {
            return false;
        }
        if self.depth == LONGEST {
            self.stopped = Some(Stopped::Depth);
            return false;
        }
        self.depth += 1;
        let entered = Scope { resource: node.resource, outer: Some(scope) };
        let scope = if node.resource == scope.resource { scope } else { &entered };
        let here = Here { id, node, at, scope };
        let mut own = Seen::default();
        // It sees what its own keywords have looked at, and nothing of its neighbours.
        let asks = self.schema.tracks
            && node
                .rules
                .last()
                .is_some_and(|rule| matches!(rule.key, Key::UnevaluatedItems | Key::UnevaluatedProperties));
        let fits = match (asks, seen) {
            (false, seen) => self.rules(&here, value, seen),
            (true, seen) => {
                let fits = self.rules(&here, value, Some(&mut own));
                if let (true, Some(seen)) = (fits, seen) {
                    seen.add(&own);
                }
                fits
            }
        };
        self.depth -= 1;
        fits
    }

    fn rules(&mut self, here: &Here<'v, '_>, value: &'v Value, mut seen: Option<&mut Seen>) -> bool {
        let mut fits = true;
        for rule in &here.node.rules {
            self.work.pay(1);
            let rule_fits = match &rule.arg {
                Arg::Node(_)
                | Arg::Nodes(_)
                | Arg::NodeByName(_)
                | Arg::NodeByPattern(_)
                | Arg::Dynamic(..) => match value {
                    Value::Object(members) if rule.key.is_about_members() => {
                        self.members(here, rule, members, value, seen.as_deref_mut())
                    }
                    Value::Array(items) if rule.key.is_about_items() => {
                        self.items(here, rule, items, value, seen.as_deref_mut())
                    }
                    _ => self.in_place(here, rule, value, seen.as_deref_mut()),
                },
                Arg::Names(_) | Arg::NamesByName(_) => match value {
                    Value::Object(members) => self.required(here, rule, members, value),
                    _ => true,
                },
                arg => match self.plain(rule.key, arg, value) {
                    None => true,
                    Some(detail) => self.fault(here, rule.key, value, detail),
                },
            };
            fits &= rule_fits;
            // What the other keywords say of a value of another type is noise.
            if !fits && (self.quiet || rule.key == Key::Type) {
                return false;
            }
        }
        fits
    }

    /// Notes that something is wrong with this value. Always `false`.
    fn fault(&mut self, here: &Here<'v, '_>, key: Key, value: &'v Value, detail: Detail<'v>) -> bool {
        if !self.quiet {
            self.total += 1;
            if self.found.len() < self.most {
                let at = here.at.pointer();
                self.work.pay(20);
                self.work.pay_text(&at);
                self.found.push(Finding { node: here.id, key, at, value, detail });
            }
        }
        false
    }

    /// Whether a value fits a schema, and nothing else.
    fn quietly(
        &mut self,
        id: Id,
        value: &'v Value,
        at: &At<'_>,
        scope: &Scope<'_>,
        seen: Option<&mut Seen>,
    ) -> bool {
        let quiet = std::mem::replace(&mut self.quiet, true);
        let fits = self.node(id, value, at, scope, seen);
        self.quiet = quiet;
        fits
    }

    /// The keywords without schemas in them. What is wrong, if something is.
    #[inline(never)]
    fn plain(&mut self, key: Key, arg: &'v Arg, value: &'v Value) -> Option<Detail<'v>> {
        let wrong = |wrong: bool| wrong.then_some(Detail::None);
        match (arg, value) {
            (Arg::Types(types), value) => wrong(types & types_of(value) == 0),
            (Arg::Value(other), value) => wrong(!self.work.same(other, value)),
            (Arg::Values(others), value) => wrong(!others.iter().any(|other| self.work.same(other, value))),
            (Arg::Number(limit), Value::Number(number)) => wrong(match key {
                Key::Minimum => compare(number, limit) == Ordering::Less,
                Key::Maximum => compare(number, limit) == Ordering::Greater,
                Key::ExclusiveMinimum => compare(number, limit) != Ordering::Greater,
                Key::ExclusiveMaximum => compare(number, limit) != Ordering::Less,
                _ => !is_multiple(number, limit),
            }),
            (Arg::Count(_), _) if key == Key::False => Some(Detail::None),
            (Arg::Count(limit), Value::String(text)) if matches!(key, Key::MinLength | Key::MaxLength) => {
                self.work.pay_text(text);
                count(key == Key::MinLength, *limit, text.chars().count())
            }
            (Arg::Count(limit), Value::Array(items)) if matches!(key, Key::MinItems | Key::MaxItems) => {
                count(key == Key::MinItems, *limit, items.len())
            }
            (Arg::Count(_), Value::Array(items)) if key == Key::UniqueItems => self.repeated(items),
            (Arg::Count(limit), Value::Object(members))
                if matches!(key, Key::MinProperties | Key::MaxProperties) =>
            {
                count(key == Key::MinProperties, *limit, members.len())
            }
            (Arg::Pattern(_, pattern), Value::String(text)) => {
                wrong(!self.work.pay_text(text) || !pattern(text))
            }
            (Arg::Format(format), Value::String(text)) => {
                wrong(!self.work.pay_text(text) || !format.fits(text, &*self.schema.patterns))
            }
            _ => None,
        }
    }

    /// The members that must be there.
    #[inline(never)]
    fn required(
        &mut self,
        here: &Here<'v, '_>,
        rule: &'v Rule,
        members: &Map<String, Value>,
        value: &'v Value,
    ) -> bool {
        let mut fits = true;
        match &rule.arg {
            Arg::Names(names) => {
                self.work.pay(names.len());
                for name in names.iter().filter(|name| !members.contains_key(*name)) {
                    fits = self.fault(here, rule.key, value, Detail::Name(name));
                }
            }
            Arg::NamesByName(lists) => {
                self.work.pay(lists.len());
                for (because, names) in lists.iter().filter(|(because, _)| members.contains_key(because)) {
                    self.work.pay(names.len());
                    for name in names.iter().filter(|name| !members.contains_key(*name)) {
                        fits = self.fault(here, rule.key, value, Detail::Asked(name, because));
                    }
                }
            }
            _ => {}
        }
        fits
    }

    /// Two items that are the same, the first such pair.
    fn repeated(&mut self, items: &[Value]) -> Option<Detail<'v>> {
        let hashes: Vec<(u64, usize)> = items.iter().map(|item| self.work.hash(item)).zip(0..).list();
        // Those with the same hash lie side by side.
        let hashes: Vec<(u64, usize)> = sorted(hashes, |(hash, _)| *hash);
        let mut first: Option<(usize, usize)> = None;
        let mut rest = hashes.as_slice();
        while let Some(((hash, at), others)) = rest.split_first() {
            rest = others;
            let equal = others.iter().take_while(|(other, _)| other == hash).find(|(_, other)| {
                matches!((items.get(*at), items.get(*other)), (Some(a), Some(b)) if self.work.same(a, b))
            });
            if let Some((_, other)) = equal
                && first.is_none_or(|(_, second)| *other < second)
            {
                first = Some((*at, *other));
            }
        }
        first.map(|(a, b)| Detail::Items(a, b))
    }

    /// Schemas on the same value.
    #[inline(never)]
    fn in_place(
        &mut self,
        here: &Here<'v, '_>,
        rule: &'v Rule,
        value: &'v Value,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let (at, scope) = (here.at, here.scope);
        match (rule.key, &rule.arg) {
            (Key::Ref | Key::DynamicRef, Arg::Node(id)) => self.node(*id, value, at, scope, seen),
            (_, Arg::Dynamic(id, anchor)) => {
                let mut target = *id;
                let mut next = Some(scope);
                while let Some(entered) = next {
                    self.work.pay(1);
                    target = self.schema.dynamic(entered.resource, anchor).unwrap_or(target);
                    next = entered.outer;
                }
                self.node(target, value, at, scope, seen)
            }
            (Key::AllOf, Arg::Nodes(ids)) => {
                let mut fits = true;
                for id in ids {
                    fits &= self.node(*id, value, at, scope, seen.as_deref_mut());
                }
                fits
            }
            (_, Arg::Nodes(ids)) if matches!(rule.key, Key::AnyOf | Key::OneOf) => {
                self.alternatives(here, rule.key, ids, value, seen)
            }
            (Key::Not, Arg::Node(id)) => {
                !self.quietly(*id, value, at, scope, None) || self.fault(here, Key::Not, value, Detail::None)
            }
            (Key::If, Arg::Node(id)) => {
                let mut own = Seen::default();
                let tracked = seen.is_some().then_some(&mut own);
                let branch = if self.quietly(*id, value, at, scope, tracked) {
                    if let Some(seen) = seen.as_deref_mut() {
                        seen.add(&own);
                    }
                    Key::Then
                } else {
                    Key::Else
                };
                match here.node.arg(branch) {
                    Some(Arg::Node(id)) => self.node(*id, value, at, scope, seen),
                    _ => true,
                }
            }
            _ => true,
        }
    }

    /// One of several schemas, or exactly one. When none fits, the findings of the closest are kept.
    fn alternatives(
        &mut self,
        here: &Here<'v, '_>,
        key: Key,
        ids: &[Id],
        value: &'v Value,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let (before, most, total) = (self.found.len(), self.most, self.total);
        let mut fitting = 0_usize;
        let mut closest: Option<(usize, usize, Vec<Finding<'v>>)> = None;
        for id in ids {
            let mut own = Seen::default();
            self.most = before + KEPT;
            let tracked = seen.is_some().then_some(&mut own);
            let fits = self.node(*id, value, here.at, here.scope, tracked);
            let found = self.found.split_off(before);
            let wrong = std::mem::replace(&mut self.total, total) - total;
            if fits {
                fitting += 1;
                if let Some(seen) = seen.as_deref_mut() {
                    seen.add(&own);
                } else if key == Key::AnyOf || fitting > 1 {
                    break;
                }
            } else if !self.quiet {
                self.work.pay(found.len());
                let distance = distance(&found, here.at);
                if closest.as_ref().is_none_or(|(least, ..)| distance < *least) {
                    closest = Some((distance, wrong, found));
                }
            }
        }
        self.most = most;
        if fitting == 1 || (fitting > 0 && key == Key::AnyOf) {
            return true;
        }
        self.fault(here, key, value, Detail::Count(fitting));
        if let (0, Some((distance, wrong, found))) = (fitting, closest)
            && distance < OTHER
        {
            self.total += wrong;
            self.found.extend(found);
            self.found.truncate(most.max(before));
        }
        false
    }

    /// Schemas on an object's members and their names, or on the object for the sake of a member.
    #[inline(never)]
    fn members(
        &mut self,
        here: &Here<'v, '_>,
        rule: &'v Rule,
        members: &'v Map<String, Value>,
        value: &'v Value,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut fits = true;
        let child = |walk: &mut Self, id: Id, name: &str, member: &'v Value| {
            let at = At { step: Step::Name(name), above: Some(here.at) };
            walk.node(id, member, &at, here.scope, None)
        };
        match (rule.key, &rule.arg) {
            (Key::Properties, Arg::NodeByName(by_name)) => {
                self.work.pay(by_name.len());
                for (name, id) in by_name.iter() {
                    let Some(member) = members.get(name) else { continue };
                    fits &= child(self, *id, name, member);
                    if let Some(seen) = seen.as_deref_mut() {
                        seen.members.insert(name, ());
                    }
                }
            }
            (_, Arg::NodeByPattern(by_pattern)) => {
                for (name, member) in members {
                    for (pattern, id) in by_pattern {
                        if self.work.pay_text(name) && pattern(name) {
                            fits &= child(self, *id, name, member);
                            if let Some(seen) = seen.as_deref_mut() {
                                seen.members.insert(name, ());
                            }
                        }
                    }
                }
            }
            (Key::AdditionalProperties | Key::UnevaluatedProperties, Arg::Node(id)) => {
                let none = self.schema.node(*id).is_some_and(Node::is_false);
                for (name, member) in members {
                    self.work.pay(1);
                    let known = match seen.as_deref() {
                        Some(seen) if rule.key == Key::UnevaluatedProperties => {
                            seen.all_members || seen.members.contains_key(name)
                        }
                        _ => self.is_named(here.node, name),
                    };
                    if known {
                        continue;
                    }
                    if none {
                        let at = At { step: Step::Name(name), above: Some(here.at) };
                        let there = Here { at: &at, ..*here };
                        fits = self.fault(&there, rule.key, value, Detail::Name(name));
                    } else {
                        fits &= child(self, *id, name, member);
                    }
                }
                if let Some(seen) = seen {
                    seen.all_members = true;
                }
            }
            (Key::PropertyNames, Arg::Node(id)) => {
                for name in members.keys() {
                    if !self.name_fits(here, *id, name) {
                        fits = self.fault(here, rule.key, value, Detail::Name(name));
                    }
                }
            }
            (Key::DependentSchemas, Arg::NodeByName(by_name)) => {
                self.work.pay(by_name.len());
                for (_, id) in by_name.iter().filter(|(name, _)| members.contains_key(*name)) {
                    fits &= self.node(*id, value, here.at, here.scope, seen.as_deref_mut());
                }
            }
            _ => {}
        }
        fits
    }

    /// Whether `properties` or `patternProperties` beside it is about a member of this name.
    fn is_named(&mut self, node: &Node, name: &str) -> bool {
        if let Some(Arg::NodeByName(by_name)) = node.arg(Key::Properties)
            && by_name.contains_key(name)
        {
            return true;
        }
        match node.arg(Key::PatternProperties) {
            Some(Arg::NodeByPattern(by_pattern)) => {
                by_pattern.iter().any(|(pattern, _)| self.work.pay_text(name) && pattern(name))
            }
            _ => false,
        }
    }

    /// Whether a member's name fits a schema.
    fn name_fits(&mut self, here: &Here<'v, '_>, id: Id, name: &str) -> bool {
        let name = Value::String(name.into());
        // A walk of its own, because the name lives only here.
        let mut walk = Walk {
            schema: self.schema,
            work: std::mem::replace(&mut self.work, Work::new(0)),
            depth: self.depth,
            stopped: self.stopped,
            quiet: true,
            found: Vec::new(),
            most: 0,
            total: 0,
        };
        let fits = walk.node(id, &name, here.at, here.scope, None);
        (self.work, self.stopped) = (walk.work, walk.stopped);
        fits
    }

    /// Schemas on an array's items.
    #[inline(never)]
    fn items(
        &mut self,
        here: &Here<'v, '_>,
        rule: &'v Rule,
        items: &'v [Value],
        value: &'v Value,
        seen: Option<&mut Seen>,
    ) -> bool {
        let mut fits = true;
        let mut looked_at = Seen::default();
        let before = match here.node.arg(Key::PrefixItems) {
            Some(Arg::Nodes(ids)) => ids.len(),
            _ => 0,
        };
        match (rule.key, &rule.arg) {
            (Key::PrefixItems, Arg::Nodes(ids)) => {
                for (index, (item, id)) in items.iter().zip(ids).enumerate() {
                    let at = At { step: Step::Index(index), above: Some(here.at) };
                    fits &= self.node(*id, item, &at, here.scope, None);
                }
                looked_at.items = ids.len();
            }
            (Key::Items | Key::UnevaluatedItems, Arg::Node(id)) => {
                let seen = seen.as_deref().filter(|_| rule.key == Key::UnevaluatedItems);
                let mut contained = vec![false; if seen.is_some() { items.len() } else { 0 }];
                for index in seen.map(|seen| seen.contained.as_slice()).unwrap_or_default() {
                    if let Some(place) = contained.get_mut(*index) {
                        *place = true;
                    }
                }
                for (index, item) in items.iter().enumerate() {
                    let known = match seen {
                        Some(seen) => {
                            seen.all_items || index < seen.items || contained.get(index) == Some(&true)
                        }
                        None => index < before,
                    };
                    if !known {
                        let at = At { step: Step::Index(index), above: Some(here.at) };
                        fits &= self.node(*id, item, &at, here.scope, None);
                    }
                }
                looked_at.all_items = true;
            }
            (_, Arg::Node(id)) => {
                for (index, item) in items.iter().enumerate() {
                    let at = At { step: Step::Index(index), above: Some(here.at) };
                    if self.quietly(*id, item, &at, here.scope, None) {
                        looked_at.contained.push(index);
                    }
                }
                let fitting = looked_at.contained.len();
                let least = here.node.count(Key::MinContains);
                if least.unwrap_or(1) > fitting as u64 {
                    let key = if least.is_some() { Key::MinContains } else { Key::Contains };
                    fits = self.fault(here, key, value, Detail::Count(fitting));
                }
                if here.node.count(Key::MaxContains).is_some_and(|most| most < fitting as u64) {
                    fits = self.fault(here, Key::MaxContains, value, Detail::Count(fitting));
                }
            }
            _ => {}
        }
        if let Some(seen) = seen {
            seen.add(&looked_at);
        }
        fits
    }
}

impl Key {
    fn is_about_members(self) -> bool {
        matches!(
            self,
            Key::Properties
                | Key::PatternProperties
                | Key::AdditionalProperties
                | Key::PropertyNames
                | Key::DependentSchemas
                | Key::UnevaluatedProperties
        )
    }

    fn is_about_items(self) -> bool {
        matches!(self, Key::PrefixItems | Key::Items | Key::Contains | Key::UnevaluatedItems)
    }
}

fn count(is_least: bool, limit: u64, found: usize) -> Option<Detail<'static>> {
    let wrong = if is_least { (found as u64) < limit } else { found as u64 > limit };
    wrong.then_some(Detail::Count(found))
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
