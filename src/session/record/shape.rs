//! What a record looks like, as data, and the one reader for all of them.
//!
//! Decides which members a record has, of what kind, and what stands for one that is absent. Promises: what is read has
//! every member of its shape and no other. Leaves to others: what the members mean together.

use crate::find::beginning;
use crate::json;
use crate::object;
use crate::session::dates;
use serde_json::{Map, Value};

/// What a member may be.
#[derive(Debug)]
pub(super) enum Kind {
    Text,
    /// A text that is not empty.
    Name,
    /// One of these words.
    Word(&'static [&'static str]),
    Flag,
    /// A whole number of at least this.
    Count(u64),
    /// A number above zero.
    Amount,
    Time,
    Texts,
    Object,
    Objects,
    /// An object of a shape of its own.
    Parts(&'static [Member]),
}

/// A member: its name, its kind, and the JSON that stands for it where it is absent. Empty: it must be there. One that
/// may be absent as `null` may be `null`.
#[derive(Debug)]
pub(super) struct Member(pub &'static str, pub Kind, pub &'static str);

/// What stands for a member that is absent.
pub(super) const NEEDED: &str = "";
pub(super) const NULL: &str = "null";
pub(super) const LIST: &str = "[]";
pub(super) const EMPTY: &str = "{}";
/// It stays away, as it was before there was such a member: records of then must stay what they are.
pub(super) const ABSENT: &str = "absent";

/// A record: its schema and what it has besides that and its version.
#[derive(Debug)]
pub(super) struct Shape {
    pub schema: &'static str,
    pub members: &'static [Member],
}

/// How much of a name that nobody knows is shown.
const SHOWN: usize = 64;

/// The version of all of them.
pub(super) const VERSION: &str = "0.1.0";

impl Shape {
    /// Whether it has these members as they are, without a schema and a version.
    pub fn is_of(&self, given: &Value) -> bool {
        let Value::Object(given) = given else { return false };
        let mut whole = given.clone();
        complete(self.schema, self.members, &mut whole).is_ok() && whole == *given
    }

    /// The members that do not say what is said without them.
    pub fn lean(&self, whole: &Map<String, Value>) -> Map<String, Value> {
        let mut lean = Map::new();
        for Member(name, _, absent) in self.members {
            if let Some(value) = whole.get(*name).filter(|value| json::json(value) != *absent) {
                lean.insert((*name).into(), value.clone());
            }
        }
        lean
    }

    /// The JSON of the record with all its members, without braces, by that of the members that [`Shape::lean`] has left.
    /// None of them is looked at. `None`: it is no such record.
    pub fn whole_text<'a>(&self, lean: &dyn Fn(&str) -> Option<&'a str>) -> Option<String> {
        let mut whole = ["\"schema\":\"", self.schema, "\",\"version\":\"", VERSION, "\""].concat();
        for Member(name, _, absent) in self.members {
            match lean(name).unwrap_or(absent) {
                NEEDED => return None,
                ABSENT => {}
                value => [",\"", name, "\":", value].iter().for_each(|piece| whole.push_str(piece)),
            }
        }
        Some(whole)
    }

    /// The record with all its members; or what is wrong with it.
    pub fn whole(&self, mut given: Map<String, Value>) -> Result<Map<String, Value>, String> {
        for (name, fixed) in [("schema", self.schema), ("version", VERSION)] {
            if object::take(&mut given, name).is_some_and(|other| other != fixed) {
                return Err([self.schema, " has another ", name, " than \"", fixed, "\""].concat());
            }
        }
        complete(self.schema, self.members, &mut given)?;
        given.insert("schema".into(), self.schema.into());
        given.insert("version".into(), VERSION.into());
        Ok(given)
    }
}

/// Adds the members that are not there and may be left out.
fn complete(path: &str, shape: &[Member], given: &mut Map<String, Value>) -> Result<(), String> {
    let mut known = 0;
    for Member(name, kind, absent) in shape {
        if given.get(*name).is_none_or(|value| *absent == ABSENT && value.is_null()) {
            if *absent == ABSENT {
                object::take(given, name);
                continue;
            }
            let value = json::parse(absent).ok_or_else(|| [path, " has no ", name].concat())?;
            given.insert((*name).into(), value);
        }
        known += 1;
        let fits = match (kind, given.get_mut(*name)) {
            (Kind::Parts(shape), Some(Value::Object(parts))) => {
                complete(&[path, ".", name].concat(), shape, parts)?;
                true
            }
            (kind, Some(value)) => (*absent == NULL && value.is_null()) || kind.fits(value),
            _ => false,
        };
        if !fits {
            return Err([path, ".", name, " must be ", kind.words()].concat());
        }
    }
    let is_known = |name: &&String| shape.iter().any(|Member(member, ..)| member == name);
    match given.keys().find(|name| given.len() > known && !is_known(name)) {
        Some(name) => Err([path, " has no member called ", beginning(name, SHOWN)].concat()),
        None => Ok(()),
    }
}

impl Kind {
    fn fits(&self, value: &Value) -> bool {
        match self {
            Kind::Text => value.is_string(),
            Kind::Name => value.as_str().is_some_and(|text| !text.is_empty()),
            Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Flag => value.is_boolean(),
            Kind::Count(least) => value.as_u64().is_some_and(|count| count >= *least),
            Kind::Amount => value.as_f64().is_some_and(|amount| amount > 0.0),
            Kind::Time => value.as_str().and_then(dates::parse).is_some(),
            Kind::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            Kind::Object => value.is_object(),
            Kind::Objects => value.as_array().is_some_and(|list| list.iter().all(Value::is_object)),
            Kind::Parts(_) => false,
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Kind::Text => "a text",
            Kind::Name => "a text that is not empty",
            Kind::Word(_) => "one of its words",
            Kind::Flag => "true or false",
            Kind::Count(0) => "a whole number",
            Kind::Count(_) => "a whole number above zero",
            Kind::Amount => "a number above zero",
            Kind::Time => "a time like 2026-05-22T07:00:00Z",
            Kind::Texts => "a list of texts",
            Kind::Object | Kind::Parts(_) => "an object",
            Kind::Objects => "a list of objects",
        }
    }
}
