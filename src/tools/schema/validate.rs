//! Whether a value fits a schema.
//!
//! Decides what each keyword means that most schemas have. Promises: all that is wrong is found, except what only
//! repeats it. That is, after a wrong type, the other keywords of the same schema, and of alternatives that all fail,
//! all but the closest. It ends, with a clear error, after a bounded number of steps and at a bounded depth. Leaves to
//! others: the keywords that few schemas have (`rare`), and saying it (`violation`).

use super::compile::{Arg, Compiled, Id, Node, Rule, is_deeper};
use super::keywords::{Key, types_of};
use super::number::{Work, compare};
use super::pointer;
use super::rare;
use crate::maps::Named;
use crate::work;
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
    let worked = STEPS - walk.work.left();
    work::did(worked.into());
    let share = worked / (STEPS / 100);
    Outcome { found: walk.found, total, stopped: walk.stopped, share }
}

/// Where in the value.
pub(super) struct At<'p> {
    pub(super) step: Step<'p>,
    pub(super) above: Option<&'p At<'p>>,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'p> {
    Root,
    Name(&'p str),
    Index(usize),
}

impl At<'_> {
    /// How many steps down it is.
    pub(super) fn level(&self) -> usize {
        self.above.map_or(0, |above| above.level() + 1)
    }

    fn pointer(&self) -> String {
        let mut pointer = self.above.map(At::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Name(name) => pointer::push_step(&mut pointer, name),
            Step::Index(index) => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
        }
        pointer
    }
}

/// Which resources were gone through to come here.
pub(super) struct Scope<'p> {
    pub(super) resource: usize,
    pub(super) outer: Option<&'p Scope<'p>>,
}

/// What of one value schemas have looked at: `unevaluated…` asks for the rest.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) all_members: bool,
    pub(super) members: Named<()>,
    pub(super) all_items: bool,
    /// So many from the first on.
    pub(super) items: usize,
    /// Besides these, those that `contains` was about.
    pub(super) contained: Vec<usize>,
}

impl Seen {
    pub(super) fn add(&mut self, other: &Seen) {
        self.all_members |= other.all_members;
        self.all_items |= other.all_items;
        self.items = self.items.max(other.items);
        self.contained.extend(&other.contained);
        for name in other.members.keys() {
            self.members.insert(name, ());
        }
    }
}

pub(super) struct Walk<'v> {
    pub(super) schema: &'v Compiled,
    pub(super) work: Work,
    pub(super) depth: usize,
    pub(super) stopped: Option<Stopped>,
    /// Only whether it fits is of interest.
    pub(super) quiet: bool,
    pub(super) found: Vec<Finding<'v>>,
    /// How long `found` may become.
    pub(super) most: usize,
    pub(super) total: usize,
}

/// A schema at work on a value: what all keywords need.
pub(super) struct Here<'v, 'p> {
    pub(super) id: Id,
    pub(super) node: &'v Node,
    pub(super) at: &'p At<'p>,
    pub(super) scope: &'p Scope<'p>,
}

impl<'v> Walk<'v> {
    /// Whether a value fits a schema.
    pub(super) fn node(
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
            let rule_fits = match (&rule.arg, value) {
                _ if rule.key.is_rare() => rare::rule(self, here, rule, value, seen.as_deref_mut()),
                (Arg::Node(_) | Arg::NodeByName(_), Value::Object(members)) if rule.key != Key::Items => {
                    self.members(here, rule, members, value, seen.as_deref_mut())
                }
                (Arg::Node(id), Value::Array(items)) if rule.key == Key::Items => {
                    self.items(here, *id, items, seen.as_deref_mut())
                }
                (Arg::Names(names), Value::Object(members)) => {
                    self.required(here, rule.key, (names.as_slice(), None), members, value)
                }
                (arg, value) => match self.plain(rule.key, arg, value) {
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
    pub(super) fn fault(
        &mut self,
        here: &Here<'v, '_>,
        key: Key,
        value: &'v Value,
        detail: Detail<'v>,
    ) -> bool {
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
                _ => compare(number, limit) != Ordering::Less,
            }),
            (Arg::Count(_), _) if key == Key::False => Some(Detail::None),
            (Arg::Count(limit), Value::String(text)) if matches!(key, Key::MinLength | Key::MaxLength) => {
                self.work.pay_text(text);
                count(key == Key::MinLength, *limit, text.chars().count())
            }
            (Arg::Count(limit), Value::Array(items)) if matches!(key, Key::MinItems | Key::MaxItems) => {
                count(key == Key::MinItems, *limit, items.len())
            }
            (Arg::Count(limit), Value::Object(members))
                if matches!(key, Key::MinProperties | Key::MaxProperties) =>
            {
                count(key == Key::MinProperties, *limit, members.len())
            }
            _ => None,
        }
    }

    /// The members that must be there; `because`: for the sake of this one.
    pub(super) fn required(
        &mut self,
        here: &Here<'v, '_>,
        key: Key,
        (names, because): (&'v [String], Option<&'v str>),
        members: &Map<String, Value>,
        value: &'v Value,
    ) -> bool {
        let mut fits = true;
        self.work.pay(names.len());
        for name in names.iter().filter(|name| !members.contains_key(*name)) {
            let detail = because.map_or(Detail::Name(name), |because| Detail::Asked(name, because));
            fits = self.fault(here, key, value, detail);
        }
        fits
    }

    /// Schemas on an object's members.
    #[inline(never)]
    pub(super) fn members(
        &mut self,
        here: &Here<'v, '_>,
        rule: &'v Rule,
        members: &'v Map<String, Value>,
        value: &'v Value,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut fits = true;
        match &rule.arg {
            Arg::NodeByName(by_name) => {
                self.work.pay(by_name.len());
                for (name, id) in by_name.iter() {
                    let Some(member) = members.get(name) else { continue };
                    fits &= self.member(here, *id, name, member);
                    if let Some(seen) = seen.as_deref_mut() {
                        seen.members.insert(name, ());
                    }
                }
            }
            Arg::Node(id) => {
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
                        fits &= self.member(here, *id, name, member);
                    }
                }
                if let Some(seen) = seen {
                    seen.all_members = true;
                }
            }
            _ => {}
        }
        fits
    }

    /// Whether a member of this object fits a schema.
    pub(super) fn member(&mut self, here: &Here<'v, '_>, id: Id, name: &str, member: &'v Value) -> bool {
        let at = At { step: Step::Name(name), above: Some(here.at) };
        self.node(id, member, &at, here.scope, None)
    }

    /// Whether `properties` or `patternProperties` beside it is about a member of this name.
    fn is_named(&mut self, node: &Node, name: &str) -> bool {
        if let Some(Arg::NodeByName(by_name)) = node.arg(Key::Properties)
            && by_name.contains_key(name)
        {
            return true;
        }
        match node.arg(Key::PatternProperties) {
            Some(Arg::NodeByPattern(by_pattern)) => rare::is_named(self, by_pattern, name),
            _ => false,
        }
    }

    /// Schemas on an array's items.
    fn items(&mut self, here: &Here<'v, '_>, id: Id, items: &'v [Value], seen: Option<&mut Seen>) -> bool {
        let before = match here.node.arg(Key::PrefixItems) {
            Some(Arg::Nodes(ids)) => ids.len(),
            _ => 0,
        };
        let mut fits = true;
        for (index, item) in items.iter().enumerate().skip(before) {
            fits &= self.item(here, id, index, item);
        }
        if let Some(seen) = seen {
            seen.all_items = true;
        }
        fits
    }

    /// Whether an item of this array fits a schema.
    pub(super) fn item(&mut self, here: &Here<'v, '_>, id: Id, index: usize, item: &'v Value) -> bool {
        let at = At { step: Step::Index(index), above: Some(here.at) };
        self.node(id, item, &at, here.scope, None)
    }
}

fn count(is_least: bool, limit: u64, found: usize) -> Option<Detail<'static>> {
    let wrong = if is_least { (found as u64) < limit } else { found as u64 > limit };
    wrong.then_some(Detail::Count(found))
}
