//! From schema documents to a list of nodes in which every reference is a place.
//!
//! Promises: what cannot be used is refused with its place, as a keyword with a wrong value or a schema beyond the
//! bounds. Leaves to others: what the keywords mean, and what few schemas have (`rare`), which are names and
//! references, patterns, schemas that follow each other on the same value.

use super::Options;
use super::keywords::{KEYWORDS, Key, Keyword, Takes, Vocabularies, has_names, types};
use super::number::Work;
use super::pointer;
use super::rare::{self, Format};
use crate::error::{Code, ErrorInfo};
use crate::json::texts;
use crate::list::Listed;
use crate::maps::Named;
use crate::ports::Patterns;
use crate::protocol::args::{kind, whole};
use serde_json::{Map, Number, Value};
use std::rc::Rc;

/// How deep documents may be nested.
pub(super) const DEEPEST: usize = 200;
/// How many schemas there may be in all documents together.
const MOST_NODES: usize = 50_000;

/// Why a schema cannot be used: what is wrong, and where, as a JSON Pointer; in another document, with its URI and `#`
/// before it.
pub(super) fn unusable(path: &str, what: &str) -> ErrorInfo {
    let message = match path {
        "" => ["the schema ", what].concat(),
        path => ["'", path, "' ", what].concat(),
    };
    ErrorInfo::new(Code::InvalidSchema, message)
}

/// Whether a pattern matches anywhere in a text. `false` too where no work is left.
pub(super) type Pattern = Rc<dyn Fn(&str, &mut Work) -> bool>;

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
    Format(&'static Format),
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

    /// The place of a schema, as a JSON Pointer.
    pub(super) fn path(&self, id: Id) -> String {
        path(&self.nodes, id)
    }
}

pub(super) fn path(nodes: &[Node], id: Id) -> String {
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
pub(super) fn compile(schema: &Value, options: &Options<'_>) -> Result<Compiled, ErrorInfo> {
    let mut compiler = Compiler {
        options,
        nodes: Vec::new(),
        places: Named::default(),
        resources: Vec::new(),
        by_uri: Named::default(),
        open: Vec::new(),
        is_rare: false,
    };
    compiler.document("", schema, "")?;
    Ok(Compiled {
        tracks: compiler.is_rare && rare::finish(&mut compiler)?,
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
pub(super) struct Resource<'a> {
    pub(super) uri: String,
    pub(super) root: &'a Value,
    pub(super) id: Id,
    /// What stands before the pointers into it.
    pub(super) prefix: String,
    pub(super) vocabularies: Vocabularies,
    pub(super) anchors: Named<Id>,
    pub(super) dynamic: Named<Id>,
}

/// A reference that has not been looked up.
pub(super) struct Open {
    pub(super) id: Id,
    pub(super) rule: usize,
    pub(super) reference: String,
}

pub(super) struct Compiler<'a> {
    pub(super) options: &'a Options<'a>,
    pub(super) nodes: Vec<Node>,
    /// Which schema was made of which part of a document. The names are the parts' addresses.
    pub(super) places: Named<Id>,
    pub(super) resources: Vec<Resource<'a>>,
    pub(super) by_uri: Named<usize>,
    pub(super) open: Vec<Open>,
    /// Whether it has what few schemas have.
    is_rare: bool,
}

impl<'a> Compiler<'a> {
    /// Takes a document in.
    pub(super) fn document(&mut self, uri: &str, root: &'a Value, prefix: &str) -> Result<usize, ErrorInfo> {
        if is_deeper(root, DEEPEST) {
            return Err(unusable(prefix, "is nested too deeply"));
        }
        let resource = self.resource(uri, root, prefix.into(), Vocabularies::STANDARD);
        self.place(root, resource, None, prefix.into())?;
        Ok(resource)
    }

    pub(super) fn resource(
        &mut self,
        uri: &str,
        root: &'a Value,
        prefix: String,
        vocabularies: Vocabularies,
    ) -> usize {
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
    pub(super) fn place(
        &mut self,
        value: &'a Value,
        resource: usize,
        parent: Option<Id>,
        step: String,
    ) -> Result<Id, ErrorInfo> {
        let id = self.nodes.len();
        self.nodes.push(Node { rules: Vec::new(), resource, parent, step });
        self.places.insert(&address(value), id);
        if id >= MOST_NODES {
            return Err(unusable("", "has more than 50000 schemas in it"));
        }
        match value {
            Value::Object(map) => self.object(value, map, id)?,
            Value::Bool(false) => {
                self.add(id, Key::False, Arg::Count(0));
            }
            Value::Bool(true) => {}
            other => {
                return Err(unusable(
                    &path(&self.nodes, id),
                    &["must be a schema, not ", kind(other)].concat(),
                ));
            }
        }
        Ok(id)
    }

    fn object(&mut self, value: &'a Value, map: &'a Map<String, Value>, id: Id) -> Result<(), ErrorInfo> {
        let mut number = self.of(id);
        if has_names(map) || !self.options.documents.is_empty() {
            self.is_rare = true;
            number = rare::identify(self, value, map, id)?;
        }
        let vocabularies =
            self.resources.get(number).map_or(Vocabularies::STANDARD, |resource| resource.vocabularies);
        for keyword in KEYWORDS {
            let Some(value) = map.get(keyword.name).filter(|_| vocabularies.has(keyword.vocabulary)) else {
                continue;
            };
            keyword.takes.check(value).map_err(|what| {
                let what = if keyword.key == Key::Items && value.is_array() {
                    "must be a schema; a list of schemas is given as 'prefixItems'".into()
                } else {
                    ["must be ", what, ", not ", kind(value)].concat()
                };
                self.fault(id, keyword.name, &what)
            })?;
            // Else it is a remark.
            if keyword.key == Key::Format && !self.options.formats && !vocabularies.asserts_format {
                continue;
            }
            self.is_rare |= keyword.key.is_rare();
            if let Some(arg) = self.arg(id, keyword, value)? {
                self.add(id, keyword.key, arg);
            }
        }
        Ok(())
    }

    fn add(&mut self, id: Id, key: Key, arg: Arg) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.rules.push(Rule { key, arg });
        }
    }

    pub(super) fn fault(&self, id: Id, name: &str, what: &str) -> ErrorInfo {
        let mut place = path(&self.nodes, id);
        pointer::push_step(&mut place, name);
        unusable(&place, what)
    }

    /// What a keyword was given; `None` where it decides nothing.
    fn arg(&mut self, id: Id, keyword: &'static Keyword, value: &'a Value) -> Result<Option<Arg>, ErrorInfo> {
        let Keyword { key, name, takes, .. } = *keyword;
        Ok(Some(match (takes, value) {
            (Takes::Types, _) => Arg::Types(types(value).unwrap_or_default()),
            (Takes::Any, _) => Arg::Value(value.clone()),
            (Takes::Values, _) => Arg::Values(value.as_array().cloned().unwrap_or_default()),
            (Takes::Number | Takes::Positive, Value::Number(number)) => Arg::Number(number.clone()),
            (Takes::Count, _) => Arg::Count(whole(value).unwrap_or_default()),
            (Takes::Names, _) => Arg::Names(names(value)),
            (Takes::Schema, _) => {
                Arg::Node(self.place(value, self.of(id), Some(id), ["/", name].concat())?)
            }
            (Takes::SchemaByName, Value::Object(schemas)) if key == Key::Properties => {
                let mut by_name = Named::default();
                for (member, schema) in schemas {
                    by_name.insert(member, self.below(id, name, member, schema)?);
                }
                Arg::NodeByName(by_name)
            }
            _ => return rare::arg(self, id, keyword, value),
        }))
    }

    /// Takes in one of several schemas that a keyword has.
    pub(super) fn below(
        &mut self,
        id: Id,
        keyword: &str,
        step: &str,
        schema: &'a Value,
    ) -> Result<Id, ErrorInfo> {
        let mut place = ["/", keyword].concat();
        pointer::push_step(&mut place, step);
        self.place(schema, self.of(id), Some(id), place)
    }

    /// The resource of a schema.
    pub(super) fn of(&self, id: Id) -> usize {
        self.nodes.get(id).map_or(0, |node| node.resource)
    }
}

/// What tells one part of a document from all others.
pub(super) fn address(value: &Value) -> String {
    (std::ptr::from_ref(value) as usize).to_string()
}

pub(super) fn names(value: &Value) -> Vec<String> {
    texts(value).unwrap_or_default()
}
