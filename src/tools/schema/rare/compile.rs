//! Names, references, and what else few schemas have, from documents to nodes.
//!
//! Decides what `$id`, `$schema`, `$anchor`, `$dynamicAnchor` and references name. Promises: what cannot be used is
//! refused with its place. That is a name that leads nowhere, a pattern that is none, or a loop of references that goes
//! on without looking at more of the value. Leaves to others: what the keywords mean.

use super::format::Format;
use super::pattern::{self, Refused};
use super::uri;
use crate::error::ErrorInfo;
use crate::find;
use crate::json::items;
use crate::list::Listed;
use crate::maps::Named;
use crate::rooms::{Room, enter};
use crate::tools::schema::Options;
use crate::tools::schema::compile::{Arg, Compiler, Id, Node, Open, Pattern, address, names, path, unusable};
use crate::tools::schema::keywords::{Key, Keyword, METAS, Takes, Vocabularies};
use crate::tools::schema::pointer;
use serde_json::{Map, Value};
use std::rc::Rc;

/// How many schemas may follow each other on the same value.
const LONGEST_CHAIN: usize = 200;
/// How many schemas may apply to the same value, counted as often as they are referred to.
const MOST_AT_ONCE: usize = 10_000;

/// Reads what gives a schema its names. Gives its resource.
#[inline(never)]
pub(in crate::tools::schema) fn identify<'a>(
    compiler: &mut Compiler<'a>,
    value: &'a Value,
    map: &'a Map<String, Value>,
    id: Id,
) -> Result<usize, ErrorInfo> {
    enter(Room::Schema);
    let text = |compiler: &Compiler<'a>, name: &str| match map.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(compiler.fault(id, name, "must be a string")),
    };
    let mut number = compiler.nodes.get(id).map_or(0, |node| node.resource);
    if let Some(own) = text(compiler, "$id")? {
        let (own, fragment) = uri::split_fragment(own);
        if fragment.is_some_and(|fragment| !fragment.is_empty()) {
            return Err(compiler.fault(
                id,
                "$id",
                "must have no fragment; a name for a part is an '$anchor'",
            ));
        }
        let Some(outer) = compiler.resources.get_mut(number) else { return Ok(number) };
        let whole = uri::resolve(&outer.uri, own);
        if std::ptr::eq(outer.root, value) {
            outer.uri.clone_from(&whole);
            compiler.by_uri.insert(&whole, number);
        } else if compiler.by_uri.contains_key(&whole) {
            return Err(compiler.fault(id, "$id", "is the name of another schema as well"));
        } else {
            let vocabularies = outer.vocabularies;
            number = compiler.resource(&whole, value, path(&compiler.nodes, id), vocabularies);
            if let (Some(node), Some(resource)) =
                (compiler.nodes.get_mut(id), compiler.resources.get_mut(number))
            {
                node.resource = number;
                resource.id = id;
            }
        }
    }
    if let Some(meta) = text(compiler, "$schema")? {
        let vocabularies =
            vocabularies_of(compiler, meta).map_err(|what| compiler.fault(id, "$schema", &what))?;
        if let Some(resource) = compiler.resources.get_mut(number) {
            resource.vocabularies = vocabularies;
        }
    }
    for (name, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
        let Some(anchor) = text(compiler, name)? else { continue };
        let Some(resource) = compiler.resources.get_mut(number) else { continue };
        if resource.anchors.insert(anchor, id).is_some_and(|other| other != id) {
            return Err(compiler.fault(id, name, "is the name of another schema as well"));
        }
        if dynamic {
            resource.dynamic.insert(anchor, id);
        }
    }
    Ok(number)
}

/// The vocabularies that a meta-schema names.
fn vocabularies_of(compiler: &Compiler<'_>, meta: &str) -> Result<Vocabularies, String> {
    let meta = uri::split_fragment(meta).0;
    match handed_in(compiler, meta).map(|(_, document)| document.get("$vocabulary")) {
        Some(None) => Ok(Vocabularies::STANDARD),
        Some(Some(named)) => Vocabularies::read(named)
            .map_err(|unknown| ["needs the vocabulary ", unknown, ", which is not known"].concat()),
        None if METAS.iter().any(|begin| meta.starts_with(begin)) => Ok(Vocabularies::STANDARD),
        None => Err("names a meta-schema that is not among the documents handed in".into()),
    }
}

fn handed_in<'a>(compiler: &Compiler<'a>, uri: &str) -> Option<(&'a str, &'a Value)> {
    compiler
        .options
        .documents
        .iter()
        .map(|(known, document)| (uri::split_fragment(known).0, document))
        .find(|(known, _)| *known == uri)
}

/// What a rare keyword was given; `None` where it decides nothing.
#[inline(never)]
pub(in crate::tools::schema) fn arg<'a>(
    compiler: &mut Compiler<'a>,
    id: Id,
    keyword: &Keyword,
    value: &'a Value,
) -> Result<Option<Arg>, ErrorInfo> {
    enter(Room::Schema);
    let Keyword { key, name, takes, .. } = *keyword;
    let text = || value.as_str().unwrap_or_default();
    Ok(Some(match takes {
        Takes::Flag if *value == Value::Bool(true) => Arg::Count(1),
        Takes::NamesByName => {
            let lists = value.as_object().into_iter().flatten();
            Arg::NamesByName(lists.map(|(name, list)| (name.clone(), names(list))).list())
        }
        Takes::Text if key == Key::Pattern => {
            let mut place = path(&compiler.nodes, id);
            pointer::push_step(&mut place, name);
            Arg::Pattern(text().into(), pattern_of(compiler, &place, text())?)
        }
        Takes::Text if key == Key::Format => match Format::parse(text()) {
            Some(format) => Arg::Format(format),
            None => return Ok(None),
        },
        Takes::Text => {
            let rule = compiler.nodes.get(id).map_or(0, |node| node.rules.len());
            compiler.open.push(Open { id, rule, reference: text().into() });
            Arg::Node(id)
        }
        Takes::Schemas => {
            let mut ids = Vec::new();
            for (at, schema) in items(value).iter().enumerate() {
                ids.push(compiler.below(id, name, &at.to_string(), schema)?);
            }
            Arg::Nodes(ids)
        }
        Takes::SchemaByName => {
            let (mut by_name, mut by_pattern) = (Named::default(), Vec::new());
            for (member, schema) in value.as_object().into_iter().flatten() {
                let place = compiler.below(id, name, member, schema)?;
                if key == Key::PatternProperties {
                    let pattern = pattern_of(compiler, &path(&compiler.nodes, place), member)?;
                    by_pattern.push((pattern, place));
                } else {
                    by_name.insert(member, place);
                }
            }
            match key {
                Key::Defs => return Ok(None),
                Key::PatternProperties => Arg::NodeByPattern(by_pattern),
                _ => Arg::NodeByName(by_name),
            }
        }
        _ => return Ok(None),
    }))
}

/// Makes a pattern ready. The standard wants the flag `u`; many patterns that are in use are only valid without it.
fn pattern_of(compiler: &Compiler<'_>, place: &str, text: &str) -> Result<Pattern, ErrorInfo> {
    let Options { patterns: engine, recorded, .. } = compiler.options;
    let unicode = match engine.test(text, true, None) {
        Ok(_) => true,
        Err(why) => {
            let none = |_| unusable(place, &["is no regular expression: ", &why].concat());
            engine.test(text, false, None).map(|_| false).map_err(none)?
        }
    };
    match pattern::ready(text, unicode, engine) {
        Ok(pattern) => Ok(pattern),
        // An earlier version may have taken it: what it is asked about is too much work.
        Err(_) if *recorded => Ok(Rc::new(|_, work| work.pay(usize::MAX))),
        Err(Refused { what, hint }) => Err(unusable(place, &what).hint(hint)),
    }
}

/// Looks all references up, and refuses what goes round in them. Whether any of it asks what other schemas have looked at.
#[inline(never)]
pub(in crate::tools::schema) fn finish(compiler: &mut Compiler<'_>) -> Result<bool, ErrorInfo> {
    enter(Room::Schema);
    while let Some(open) = compiler.open.pop() {
        settle(compiler, &open)?;
    }
    check_loops(&compiler.nodes)?;
    let uses = |key: Key| compiler.nodes.iter().any(|node| node.arg(key).is_some());
    Ok(uses(Key::UnevaluatedItems) || uses(Key::UnevaluatedProperties))
}

/// Looks a reference up.
fn settle(compiler: &mut Compiler<'_>, open: &Open) -> Result<(), ErrorInfo> {
    let (target, anchor) = find_named(compiler, compiler.of(open.id), &open.reference)?.map_err(|why| {
        let dynamic = compiler.nodes.get(open.id).and_then(|node| node.rules.get(open.rule));
        let dynamic = dynamic.is_some_and(|rule| rule.key == Key::DynamicRef);
        let name = if dynamic { "$dynamicRef" } else { "$ref" };
        compiler.fault(open.id, name, &["names '", &open.reference, "', ", why].concat())
    })?;
    if let Some(rule) = compiler.nodes.get_mut(open.id).and_then(|node| node.rules.get_mut(open.rule)) {
        rule.arg = match anchor.filter(|_| rule.key == Key::DynamicRef) {
            Some(anchor) => Arg::Dynamic(target, anchor),
            None => Arg::Node(target),
        };
    }
    Ok(())
}

/// What a reference names, and the dynamic anchor by which it does; else why it names nothing.
fn find_named(
    compiler: &mut Compiler<'_>,
    from: usize,
    reference: &str,
) -> Result<Result<(Id, Option<String>), &'static str>, ErrorInfo> {
    let (uri, fragment) = uri::split_fragment(reference);
    let base = compiler.resources.get(from).map(|resource| resource.uri.as_str()).unwrap_or_default();
    let uri = if uri.is_empty() { String::new() } else { uri::resolve(base, uri) };
    let number = if uri.is_empty() {
        from
    } else if let Some(number) = compiler.by_uri.get(&uri) {
        *number
    } else if let Some((uri, document)) = handed_in(compiler, &uri) {
        compiler.document(uri, document, &[uri, "#"].concat())?
    } else {
        return Ok(Err("which is not among the documents handed in; nothing is fetched"));
    };
    let Some(resource) = compiler.resources.get(number) else { return Ok(Err("which is not here")) };
    let fragment = uri::decode(fragment.unwrap_or_default());
    if fragment.is_empty() {
        return Ok(Ok((resource.id, None)));
    }
    let Some(pointer) = fragment.strip_prefix('/') else {
        let Some(id) = resource.anchors.get(&fragment) else {
            return Ok(Err("but no schema there has this anchor"));
        };
        let dynamic = resource.dynamic.get(&fragment) == Some(id);
        return Ok(Ok((*id, dynamic.then_some(fragment))));
    };
    let mut value = resource.root;
    for step in pointer.split('/') {
        let next = match value {
            Value::Object(map) => map.get(&pointer::unescape(step)),
            Value::Array(list) => find::whole(step).and_then(|at| list.get(usize::try_from(at).ok()?)),
            _ => None,
        };
        let Some(next) = next else { return Ok(Err("but nothing is there")) };
        value = next;
    }
    // What stands where no keyword has schemas becomes one by being named.
    let id = match compiler.places.get(&address(value)) {
        Some(id) => *id,
        None => compiler.place(value, number, None, [&resource.prefix, fragment.as_str()].concat())?,
    };
    Ok(Ok((id, None)))
}
/// Refuses schemas that lead back to themselves on the same value, and those that fan out.
fn check_loops(nodes: &[Node]) -> Result<(), ErrorInfo> {
    let mut costs = vec![0; nodes.len()];
    for id in 0..nodes.len() {
        cost(nodes, &mut costs, id, LONGEST_CHAIN)?;
    }
    Ok(())
}

/// Marks a schema whose cost is being counted.
const COUNTING: usize = usize::MAX;

/// How many schemas apply to the same value as this one, itself included.
fn cost(nodes: &[Node], costs: &mut [usize], id: Id, chain: usize) -> Result<usize, ErrorInfo> {
    let fault = |what: &str| Err(unusable(&path(nodes, id), what));
    match costs.get(id) {
        Some(&COUNTING) => return fault("refers to itself without looking at a part of the value first"),
        Some(0) => {}
        known => return Ok(known.copied().unwrap_or_default()),
    }
    let Some(chain) = chain.checked_sub(1) else {
        return fault("is at the end of too long a chain of schemas");
    };
    let set = |cost: usize, costs: &mut [usize]| {
        if let Some(place) = costs.get_mut(id) {
            *place = cost;
        }
    };
    set(COUNTING, costs);
    let mut sum = 1_usize;
    for below in nodes.get(id).map(in_place).unwrap_or_default() {
        sum = sum.saturating_add(cost(nodes, costs, below, chain)?);
        if sum > MOST_AT_ONCE {
            return fault("refers to too many schemas, directly or through others");
        }
    }
    set(sum, costs);
    Ok(sum)
}

/// The schemas of a node that apply to the same value.
fn in_place(node: &Node) -> Vec<Id> {
    let mut ids = Vec::new();
    for rule in &node.rules {
        let applies = matches!(
            rule.key,
            Key::Ref
                | Key::DynamicRef
                | Key::AllOf
                | Key::AnyOf
                | Key::OneOf
                | Key::Not
                | Key::If
                | Key::Then
                | Key::Else
                | Key::DependentSchemas
        );
        match &rule.arg {
            Arg::Node(id) | Arg::Dynamic(id, _) if applies => ids.push(*id),
            Arg::Nodes(nodes) if applies => ids.extend(nodes),
            Arg::NodeByName(nodes) if applies => ids.extend(nodes.values()),
            _ => {}
        }
    }
    ids
}
