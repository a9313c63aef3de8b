//! From schema documents to a list of nodes in which every reference is a place.
//!
//! Decides what `$id`, `$schema`, `$anchor`, `$dynamicAnchor` and references name. Promises: what cannot be used is
//! refused with its place: a keyword with a wrong value, a name that leads nowhere, a pattern that is none; a loop of
//! references that goes on without looking at more of the value; a schema beyond the bounds. Leaves to others: what the
//! keywords mean.

use super::Options;
use super::backtrack;
use super::format::Format;
use super::keywords::{KEYWORDS, Key, Takes, Vocabularies, types};
use super::uri;
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json::{items, texts};
use crate::list::Listed;
use crate::maps::Named;
use crate::ports::{Pattern, Patterns};
use crate::protocol::args::{kind, whole};
use serde_json::{Map, Number, Value};
use std::fmt;
use std::rc::Rc;

/// How deep documents may be nested.
const DEEPEST: usize = 200;
/// How many schemas there may be in all documents together.
const MOST_NODES: usize = 50_000;
/// How many schemas may follow each other on the same value.
const LONGEST_CHAIN: usize = 200;
/// How many schemas may apply to the same value, counted as often as they are referred to.
const MOST_AT_ONCE: usize = 10_000;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Where in the schema, as a JSON Pointer; in another document, with its URI and `#` before it.
    pub path: String,
    /// What is wrong there, with the place.
    pub message: String,
}

impl SchemaError {
    fn new(path: String, what: &str) -> SchemaError {
        let message = match path.as_str() {
            "" => ["the schema ", what].concat(),
            path => ["'", path, "' ", what].concat(),
        };
        SchemaError { path, message }
    }

    /// The error as the page sees it.
    pub fn info(&self) -> ErrorInfo {
        ErrorInfo::new(Code::InvalidSchema, self.message.clone())
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SchemaError {}

/// The place of a schema in the list.
pub(super) type Id = usize;

/// What a keyword was given, made ready.
pub(super) enum Arg {
    Types(u8),
    Value(Value),
    Values(Vec<Value>),
    Number(Number),
    Count(u64),
    Names(Vec<String>),
    NamesByName(Vec<(String, Vec<String>)>),
    Pattern(String, Pattern),
    Format(Format),
    Node(Id),
    Nodes(Vec<Id>),
    NodeByName(Named<Id>),
    NodeByPattern(Vec<(Pattern, Id)>),
    /// What it names in the document that it stands in, and the anchor by which another may take its place.
    Dynamic(Id, String),
}

/// A keyword with what it was given.
pub(super) struct Rule {
    pub(super) key: Key,
    pub(super) arg: Arg,
}

/// A schema.
pub(super) struct Node {
    /// In the order in which they are looked at.
    pub(super) rules: Vec<Rule>,
    pub(super) resource: usize,
    /// Where it stands: below another, by a piece of a JSON Pointer; or by itself, by the whole.
    parent: Option<Id>,
    step: String,
}

impl Node {
    pub(super) fn arg(&self, key: Key) -> Option<&Arg> {
        self.rules.iter().find(|rule| rule.key == key).map(|rule| &rule.arg)
    }

    pub(super) fn count(&self, key: Key) -> Option<u64> {
        match self.arg(key)? {
            Arg::Count(count) => Some(*count),
            _ => None,
        }
    }

    pub(super) fn types(&self) -> Option<u8> {
        match self.arg(Key::Type)? {
            Arg::Types(types) => Some(*types),
            _ => None,
        }
    }

    /// Whether it is just `false`.
    pub(super) fn is_false(&self) -> bool {
        self.rules.first().is_some_and(|rule| rule.key == Key::False)
    }

    /// The schemas that apply to the same value.
    fn in_place(&self) -> Vec<Id> {
        let mut ids = Vec::new();
        for rule in &self.rules {
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
}

/// A schema that is ready, with all that it refers to. Its first node is its root.
pub(super) struct Compiled {
    nodes: Vec<Node>,
    /// For each resource, its dynamic anchors.
    dynamic: Vec<Named<Id>>,
    /// Whether any of it asks what other schemas have looked at.
    pub(super) tracks: bool,
    pub(super) patterns: Rc<dyn Patterns>,
}

impl Compiled {
    pub(super) fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn dynamic(&self, resource: usize, anchor: &str) -> Option<Id> {
        self.dynamic.get(resource)?.get(anchor).copied()
    }

    /// The place of a schema, as [`SchemaError::path`] says it.
    pub(super) fn path(&self, id: Id) -> String {
        path(&self.nodes, id)
    }
}

fn path(nodes: &[Node], id: Id) -> String {
    let mut steps = Vec::new();
    let mut next = nodes.get(id);
    while let Some(node) = next {
        steps.push(node.step.as_str());
        next = node.parent.and_then(|parent| nodes.get(parent));
    }
    steps.reverse();
    steps.concat()
}

/// Makes a schema ready.
pub(super) fn compile(schema: &Value, options: &Options<'_>) -> Result<Compiled, SchemaError> {
    let mut compiler = Compiler {
        options,
        nodes: Vec::new(),
        places: Named::default(),
        resources: Vec::new(),
        by_uri: Named::default(),
        open: Vec::new(),
    };
    compiler.document("", schema, "")?;
    while let Some(open) = compiler.open.pop() {
        compiler.settle(&open)?;
    }
    check_loops(&compiler.nodes)?;
    let uses = |key: Key| compiler.nodes.iter().any(|node| node.arg(key).is_some());
    Ok(Compiled {
        tracks: uses(Key::UnevaluatedItems) || uses(Key::UnevaluatedProperties),
        nodes: compiler.nodes,
        dynamic: compiler.resources.into_iter().map(|resource| resource.dynamic).list(),
        patterns: options.patterns.clone(),
    })
}

/// Whether a value is nested deeper than this.
pub(super) fn is_deeper(value: &Value, than: usize) -> bool {
    let Some(than) = than.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, than)),
        Value::Object(members) => members.values().any(|member| is_deeper(member, than)),
        _ => false,
    }
}

/// What has an identity of its own: a document, or a part with an `$id`.
struct Resource<'a> {
    uri: String,
    root: &'a Value,
    id: Id,
    /// What stands before the pointers into it.
    prefix: String,
    vocabularies: Vocabularies,
    anchors: Named<Id>,
    dynamic: Named<Id>,
}

/// A reference that has not been looked up.
struct Open {
    id: Id,
    rule: usize,
    reference: String,
}

struct Compiler<'a> {
    options: &'a Options<'a>,
    nodes: Vec<Node>,
    /// Which schema was made of which part of a document. The names are the parts' addresses.
    places: Named<Id>,
    resources: Vec<Resource<'a>>,
    by_uri: Named<usize>,
    open: Vec<Open>,
}

impl<'a> Compiler<'a> {
    /// Takes a document in.
    fn document(&mut self, uri: &str, root: &'a Value, prefix: &str) -> Result<usize, SchemaError> {
        if is_deeper(root, DEEPEST) {
            return Err(SchemaError::new(prefix.into(), "is nested too deeply"));
        }
        let resource = self.resource(uri, root, prefix.into(), Vocabularies::STANDARD);
        self.place(root, resource, None, prefix.into())?;
        Ok(resource)
    }

    fn resource(&mut self, uri: &str, root: &'a Value, prefix: String, vocabularies: Vocabularies) -> usize {
        let number = self.resources.len();
        self.by_uri.insert(uri, number);
        self.resources.push(Resource {
            uri: uri.into(),
            root,
            id: self.nodes.len(),
            prefix,
            vocabularies,
            anchors: Named::default(),
            dynamic: Named::default(),
        });
        number
    }

    /// Takes a schema in, with all schemas in it.
    fn place(
        &mut self,
        value: &'a Value,
        resource: usize,
        parent: Option<Id>,
        step: String,
    ) -> Result<Id, SchemaError> {
        let id = self.nodes.len();
        self.nodes.push(Node { rules: Vec::new(), resource, parent, step });
        self.places.insert(&address(value), id);
        if id >= MOST_NODES {
            return Err(SchemaError::new(String::new(), "has more than 50000 schemas in it"));
        }
        match value {
            Value::Object(map) => self.object(value, map, id)?,
            Value::Bool(false) => {
                self.add(id, Key::False, Arg::Count(0));
            }
            Value::Bool(true) => {}
            other => {
                return Err(SchemaError::new(
                    path(&self.nodes, id),
                    &["must be a schema, not ", kind(other)].concat(),
                ));
            }
        }
        Ok(id)
    }

    fn object(&mut self, value: &'a Value, map: &'a Map<String, Value>, id: Id) -> Result<(), SchemaError> {
        let resource = self.identify(value, map, id)?;
        let vocabularies =
            self.resources.get(resource).map_or(Vocabularies::STANDARD, |resource| resource.vocabularies);
        for (key, name, takes, vocabulary) in KEYWORDS {
            if !vocabularies.has(*vocabulary) {
                continue;
            }
            let Some(value) = map.get(*name) else { continue };
            takes.check(value).map_err(|what| {
                let what = if *key == Key::Items && value.is_array() {
                    "must be a schema; a list of schemas is given as 'prefixItems'".into()
                } else {
                    ["must be ", what, ", not ", kind(value)].concat()
                };
                self.fault(id, name, &what)
            })?;
            if let Some(arg) = self.arg(id, resource, (*key, name, *takes), value)? {
                self.add(id, *key, arg);
            }
        }
        Ok(())
    }

    fn add(&mut self, id: Id, key: Key, arg: Arg) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.rules.push(Rule { key, arg });
        }
    }

    fn fault(&self, id: Id, name: &str, what: &str) -> SchemaError {
        let mut place = path(&self.nodes, id);
        uri::push_step(&mut place, name);
        SchemaError::new(place, what)
    }

    /// Reads what gives a schema its names. Gives its resource.
    fn identify(
        &mut self,
        value: &'a Value,
        map: &'a Map<String, Value>,
        id: Id,
    ) -> Result<usize, SchemaError> {
        let text = |compiler: &Self, name: &str| match map.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(compiler.fault(id, name, "must be a string")),
        };
        let mut number = self.nodes.get(id).map_or(0, |node| node.resource);
        if let Some(own) = text(self, "$id")? {
            let (own, fragment) = uri::split_fragment(own);
            if fragment.is_some_and(|fragment| !fragment.is_empty()) {
                return Err(self.fault(
                    id,
                    "$id",
                    "must have no fragment; a name for a part is an '$anchor'",
                ));
            }
            let Some(outer) = self.resources.get_mut(number) else { return Ok(number) };
            let whole = uri::resolve(&outer.uri, own);
            if std::ptr::eq(outer.root, value) {
                outer.uri.clone_from(&whole);
                self.by_uri.insert(&whole, number);
            } else if self.by_uri.contains_key(&whole) {
                return Err(self.fault(id, "$id", "is the name of another schema as well"));
            } else {
                let vocabularies = outer.vocabularies;
                number = self.resource(&whole, value, path(&self.nodes, id), vocabularies);
                if let (Some(node), Some(resource)) = (self.nodes.get_mut(id), self.resources.get_mut(number))
                {
                    node.resource = number;
                    resource.id = id;
                }
            }
        }
        if let Some(meta) = text(self, "$schema")? {
            let vocabularies = self.vocabularies(meta).map_err(|what| self.fault(id, "$schema", &what))?;
            if let Some(resource) = self.resources.get_mut(number) {
                resource.vocabularies = vocabularies;
            }
        }
        for (name, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
            let Some(anchor) = text(self, name)? else { continue };
            let Some(resource) = self.resources.get_mut(number) else { continue };
            if resource.anchors.insert(anchor, id).is_some_and(|other| other != id) {
                return Err(self.fault(id, name, "is the name of another schema as well"));
            }
            if dynamic {
                resource.dynamic.insert(anchor, id);
            }
        }
        Ok(number)
    }

    /// The vocabularies that a meta-schema names.
    fn vocabularies(&self, meta: &str) -> Result<Vocabularies, String> {
        let meta = uri::split_fragment(meta).0;
        match self.handed_in(meta).map(|(_, document)| document.get("$vocabulary")) {
            Some(None) => Ok(Vocabularies::STANDARD),
            Some(Some(named)) => Vocabularies::read(named)
                .map_err(|unknown| ["needs the vocabulary ", unknown, ", which is not known"].concat()),
            // Earlier drafts are read as this one: most schemas mean the same in all of them.
            None if ["https://json-schema.org/draft", "http://json-schema.org/"]
                .iter()
                .any(|begin| meta.starts_with(begin)) =>
            {
                Ok(Vocabularies::STANDARD)
            }
            None => Err("names a meta-schema that is not among the documents handed in".into()),
        }
    }

    fn handed_in(&self, uri: &str) -> Option<(&'a str, &'a Value)> {
        self.options
            .documents
            .iter()
            .map(|(known, document)| (uri::split_fragment(known).0, document))
            .find(|(known, _)| *known == uri)
    }

    /// What a keyword was given; `None` where it decides nothing.
    fn arg(
        &mut self,
        id: Id,
        resource: usize,
        (key, name, takes): (Key, &'static str, Takes),
        value: &'a Value,
    ) -> Result<Option<Arg>, SchemaError> {
        let below = |name: &str, rest: &str| {
            let mut step = ["/", name].concat();
            uri::push_step(&mut step, rest);
            step
        };
        let text = || value.as_str().unwrap_or_default();
        Ok(Some(match takes {
            Takes::Types => Arg::Types(types(value).unwrap_or_default()),
            Takes::Any => Arg::Value(value.clone()),
            Takes::Values => Arg::Values(value.as_array().cloned().unwrap_or_default()),
            Takes::Number | Takes::Positive => match value {
                Value::Number(number) => Arg::Number(number.clone()),
                _ => return Ok(None),
            },
            Takes::Count => Arg::Count(whole(value).unwrap_or_default()),
            Takes::Flag if *value == Value::Bool(true) => Arg::Count(1),
            Takes::Flag => return Ok(None),
            Takes::Names => Arg::Names(names(value)),
            Takes::NamesByName => {
                let lists = value.as_object().into_iter().flatten();
                Arg::NamesByName(lists.map(|(name, list)| (name.clone(), names(list))).list())
            }
            Takes::Text if key == Key::Pattern => {
                let pattern = self.pattern(text()).map_err(|what| self.fault(id, name, &what))?;
                Arg::Pattern(text().into(), pattern)
            }
            Takes::Text if key == Key::Format => {
                let asserts = |resource: &Resource<'_>| resource.vocabularies.asserts_format;
                let decides = self.options.formats || self.resources.get(resource).is_some_and(asserts);
                match Format::parse(text()).filter(|_| decides) {
                    Some(format) => Arg::Format(format),
                    None => return Ok(None),
                }
            }
            Takes::Text => {
                let rule = self.nodes.get(id).map_or(0, |node| node.rules.len());
                self.open.push(Open { id, rule, reference: text().into() });
                Arg::Node(id)
            }
            Takes::Schema => Arg::Node(self.place(value, self.of(id), Some(id), ["/", name].concat())?),
            Takes::Schemas => {
                let mut ids = Vec::new();
                for (at, schema) in items(value).iter().enumerate() {
                    ids.push(self.place(schema, self.of(id), Some(id), below(name, &at.to_string()))?);
                }
                Arg::Nodes(ids)
            }
            Takes::SchemaByName => {
                let (mut by_name, mut by_pattern) = (Named::default(), Vec::new());
                for (member, schema) in value.as_object().into_iter().flatten() {
                    let place = self.place(schema, self.of(id), Some(id), below(name, member))?;
                    if key == Key::PatternProperties {
                        let pattern = self
                            .pattern(member)
                            .map_err(|what| SchemaError::new(path(&self.nodes, place), &what))?;
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
        }))
    }

    fn of(&self, id: Id) -> usize {
        self.nodes.get(id).map_or(0, |node| node.resource)
    }

    /// Makes a pattern ready. The standard wants the flag `u`; many patterns that are in use are only valid without it.
    fn pattern(&self, pattern: &str) -> Result<Pattern, String> {
        if backtrack::is_endless(pattern) {
            return Err(
                "can keep the browser busy without end: a group that is repeated holds only what is repeated"
                    .into(),
            );
        }
        let engine = &self.options.patterns;
        engine
            .compile(pattern, true)
            .or_else(|why| engine.compile(pattern, false).map_err(|_| why))
            .map_err(|why| ["is no regular expression: ", &why].concat())
    }

    /// Looks a reference up.
    fn settle(&mut self, open: &Open) -> Result<(), SchemaError> {
        let (target, anchor) = self.find(self.of(open.id), &open.reference)?.map_err(|why| {
            let dynamic = self.nodes.get(open.id).and_then(|node| node.rules.get(open.rule));
            let dynamic = dynamic.is_some_and(|rule| rule.key == Key::DynamicRef);
            let name = if dynamic { "$dynamicRef" } else { "$ref" };
            self.fault(open.id, name, &["names '", &open.reference, "', ", why].concat())
        })?;
        if let Some(rule) = self.nodes.get_mut(open.id).and_then(|node| node.rules.get_mut(open.rule)) {
            rule.arg = match anchor.filter(|_| rule.key == Key::DynamicRef) {
                Some(anchor) => Arg::Dynamic(target, anchor),
                None => Arg::Node(target),
            };
        }
        Ok(())
    }

    /// What a reference names, and the dynamic anchor by which it does; else why it names nothing.
    #[allow(clippy::type_complexity)]
    fn find(
        &mut self,
        from: usize,
        reference: &str,
    ) -> Result<Result<(Id, Option<String>), &'static str>, SchemaError> {
        let (uri, fragment) = uri::split_fragment(reference);
        let base = self.resources.get(from).map(|resource| resource.uri.as_str()).unwrap_or_default();
        let uri = if uri.is_empty() { String::new() } else { uri::resolve(base, uri) };
        let number = if uri.is_empty() {
            from
        } else if let Some(number) = self.by_uri.get(&uri) {
            *number
        } else if let Some((uri, document)) = self.handed_in(&uri) {
            self.document(uri, document, &[uri, "#"].concat())?
        } else {
            return Ok(Err("which is not among the documents handed in; nothing is fetched"));
        };
        let Some(resource) = self.resources.get(number) else { return Ok(Err("which is not here")) };
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
                Value::Object(map) => map.get(&uri::unescape(step)),
                Value::Array(list) => find::whole(step).and_then(|at| list.get(usize::try_from(at).ok()?)),
                _ => None,
            };
            let Some(next) = next else { return Ok(Err("but nothing is there")) };
            value = next;
        }
        // What stands where no keyword has schemas becomes one by being named.
        let id = match self.places.get(&address(value)) {
            Some(id) => *id,
            None => self.place(value, number, None, [&resource.prefix, fragment.as_str()].concat())?,
        };
        Ok(Ok((id, None)))
    }
}

fn address(value: &Value) -> String {
    (std::ptr::from_ref(value) as usize).to_string()
}

fn names(value: &Value) -> Vec<String> {
    texts(value).unwrap_or_default()
}

/// Refuses schemas that lead back to themselves on the same value, and those that fan out.
fn check_loops(nodes: &[Node]) -> Result<(), SchemaError> {
    let mut costs = vec![0; nodes.len()];
    for id in 0..nodes.len() {
        cost(nodes, &mut costs, id, LONGEST_CHAIN)?;
    }
    Ok(())
}

/// Marks a schema whose cost is being counted.
const COUNTING: usize = usize::MAX;

/// How many schemas apply to the same value as this one, itself included.
fn cost(nodes: &[Node], costs: &mut [usize], id: Id, chain: usize) -> Result<usize, SchemaError> {
    let fault = |what: &str| Err(SchemaError::new(path(nodes, id), what));
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
    for below in nodes.get(id).map(Node::in_place).unwrap_or_default() {
        sum = sum.saturating_add(cost(nodes, costs, below, chain)?);
        if sum > MOST_AT_ONCE {
            return fault("refers to too many schemas, directly or through others");
        }
    }
    set(sum, costs);
    Ok(sum)
}
