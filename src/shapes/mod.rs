//! What an app in Rust gives and is told: the JSON of the package's types as plain structs.
//!
//! Decides which members each has, how they are called in JSON, and what may be absent. A struct, what reads it and what writes
//! it come from one table; so do the types in `js/shapes.d.ts`. What an app gives has its types in `js/index.d.ts`, because
//! functions and schemas make them there, and a test compares the members. Promises: what was read is written with the same members.
//! JSON that does not fit is told with the place in it. Leaves to others: what the members mean to the machine (`harness`,
//! `session`), and how they come over the border (`app`).

mod config;
mod events;
mod messages;
mod pages;
mod sessions;
#[cfg(test)]
mod types;

pub use config::*;
pub use events::*;
pub use messages::*;
pub use pages::*;
pub use sessions::*;

use crate::error::{Code, ErrorInfo};
use crate::journal::words::{CompactReason, Integrity, Mode, Outcome, Word, Words};
use crate::json;
use crate::list::Listed;
use crate::object::Object;
use crate::session::operator::Operator;
use serde_json::{Map, Value};
use std::rc::Rc;

/// JSON that has another shape: where in it, and what should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    place: String,
    wanted: &'static str,
}

impl Misfit {
    fn new(wanted: &'static str) -> Misfit {
        Misfit { place: String::new(), wanted }
    }

    fn within(mut self, place: &str) -> Misfit {
        let gap = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place = [place, gap, &self.place].concat();
        self
    }
}

impl From<Misfit> for ErrorInfo {
    fn from(Misfit { place, wanted }: Misfit) -> ErrorInfo {
        let place = if place.is_empty() { "this" } else { &place };
        ErrorInfo::new(Code::InvalidArguments, [place, " must be ", wanted].concat())
    }
}

/// What has a shape in JSON.
pub trait Shape: Sized {
    /// Whether `null` is a value of it, and does not mean that there is none.
    #[doc(hidden)]
    const NULL: bool = false;

    /// Reads it.
    ///
    /// # Errors
    /// The value has another shape.
    fn read(value: Value) -> Result<Self, Misfit>;

    /// Its JSON.
    fn write(&self) -> Value;

    /// Reads it from a text.
    ///
    /// # Errors
    /// `invalid_arguments`: it is no JSON, or has another shape; the message names the member.
    fn from_json(text: &str) -> Result<Self, ErrorInfo> {
        let value =
            json::parse(text).ok_or_else(|| ErrorInfo::new(Code::InvalidArguments, "this is no JSON"))?;
        Self::read(value).map_err(ErrorInfo::from)
    }

    /// Its JSON as a text.
    fn to_json(&self) -> String {
        json::json(&self.write())
    }
}

/// What a member of an object holds: a shape, which has to be there, or an option of it.
trait Member: Sized {
    fn of(value: Option<Value>) -> Result<Self, Misfit>;
    fn held(&self) -> Option<Value>;
}

impl<T: Shape> Member for T {
    fn of(value: Option<Value>) -> Result<Self, Misfit> {
        T::read(value.ok_or_else(|| Misfit::new("there"))?)
    }
    fn held(&self) -> Option<Value> {
        Some(self.write())
    }
}

impl<T: Shape> Member for Option<T> {
    fn of(value: Option<Value>) -> Result<Self, Misfit> {
        value.filter(|value| T::NULL || !value.is_null()).map(T::read).transpose()
    }
    fn held(&self) -> Option<Value> {
        self.as_ref().map(T::write)
    }
}

/// Absent; there, and `null`; there.
impl<T: Shape> Member for Option<Option<T>> {
    fn of(value: Option<Value>) -> Result<Self, Misfit> {
        value.map(|value| <Option<T> as Member>::of(Some(value))).transpose()
    }
    fn held(&self) -> Option<Value> {
        self.as_ref().map(|inner| inner.held().unwrap_or_default())
    }
}

/// The members of an object that are still to be read.
struct Members(Map<String, Value>);

impl Members {
    fn of(value: Value) -> Result<Members, Misfit> {
        match value {
            Value::Object(members) => Ok(Members(members)),
            _ => Err(Misfit::new("an object")),
        }
    }

    /// The member of this name; `..`: all that are left.
    fn take<T: Member>(&mut self, name: &str) -> Result<T, Misfit> {
        match name {
            ".." => T::of(Some(Value::Object(std::mem::take(&mut self.0)))),
            name => T::of(self.0.remove(name)).map_err(|misfit| misfit.within(name)),
        }
    }

    /// Its `type` is this.
    fn is(&mut self, tag: &'static str) -> Result<(), Misfit> {
        let kind: String = self.take("type")?;
        if kind == tag { Ok(()) } else { Err(Misfit::new(tag).within("type")) }
    }
}

/// Writes a member; `null`: also where it holds nothing.
fn put<T: Member>(object: &mut Object, name: &str, null: bool, member: &T) {
    match (name, member.held()) {
        ("..", members) => object.all(members.unwrap_or_default()),
        (name, Some(value)) => object.value(name, value),
        (name, None) if null => object.value(name, Value::Null),
        _ => object,
    };
}

impl Shape for Value {
    const NULL: bool = true;

    fn read(value: Value) -> Result<Value, Misfit> {
        Ok(value)
    }
    fn write(&self) -> Value {
        self.clone()
    }
}

impl Shape for String {
    fn read(value: Value) -> Result<String, Misfit> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(Misfit::new("a string")),
        }
    }
    fn write(&self) -> Value {
        self.as_str().into()
    }
}

impl Shape for bool {
    fn read(value: Value) -> Result<bool, Misfit> {
        value.as_bool().ok_or_else(|| Misfit::new("true or false"))
    }
    fn write(&self) -> Value {
        (*self).into()
    }
}

impl Shape for u64 {
    fn read(value: Value) -> Result<u64, Misfit> {
        value.as_u64().ok_or_else(|| Misfit::new("a whole number"))
    }
    fn write(&self) -> Value {
        (*self).into()
    }
}

impl Shape for f64 {
    fn read(value: Value) -> Result<f64, Misfit> {
        value.as_f64().ok_or_else(|| Misfit::new("a number"))
    }
    fn write(&self) -> Value {
        // A whole number is written as JavaScript writes it.
        let whole = *self as u64;
        if whole as f64 == *self { whole.into() } else { (*self).into() }
    }
}

impl Shape for Map<String, Value> {
    fn read(value: Value) -> Result<Self, Misfit> {
        Members::of(value).map(|members| members.0)
    }
    fn write(&self) -> Value {
        Value::Object(self.clone())
    }
}

impl<T: Shape> Shape for Vec<T> {
    fn read(value: Value) -> Result<Vec<T>, Misfit> {
        let Value::Array(items) = value else { return Err(Misfit::new("an array")) };
        let mut read = Vec::with_capacity(items.len());
        for (place, item) in items.into_iter().enumerate() {
            read.push(T::read(item).map_err(|misfit| misfit.within(&format!("[{place}]")))?);
        }
        Ok(read)
    }
    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).list())
    }
}

/// What holds one shape is read and written as that.
macro_rules! held_in {
    ($($holder:ident)+) => { $(
        impl<T: Shape> Shape for $holder<T> {
            fn read(value: Value) -> Result<$holder<T>, Misfit> {
                T::read(value).map($holder::new)
            }
            fn write(&self) -> Value {
                T::write(self)
            }
        }
    )+ };
}

held_in! { Box Rc }

/// Shapes by their names, in the order of an app.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T: Shape> Shape for Named<T> {
    fn read(value: Value) -> Result<Named<T>, Misfit> {
        let mut named = Vec::new();
        for (name, value) in Members::of(value)?.0 {
            let value = T::read(value).map_err(|misfit| misfit.within(&name))?;
            named.push((name, value));
        }
        Ok(Named(named))
    }
    fn write(&self) -> Value {
        let mut object = Object::new();
        for (name, value) in &self.0 {
            object.value(name, value.write());
        }
        object.done()
    }
}

impl<N: Into<String>, T, const COUNT: usize> From<[(N, T); COUNT]> for Named<T> {
    fn from(named: [(N, T); COUNT]) -> Named<T> {
        Named(named.into_iter().map(|(name, value)| (name.into(), value)).list())
    }
}

impl<T: Words> Shape for Word<T> {
    fn read(value: Value) -> Result<Word<T>, Misfit> {
        value.as_str().map(Word::from).ok_or_else(|| Misfit::new("a word"))
    }
    fn write(&self) -> Value {
        self.as_str().into()
    }
}

/// Each word is a text.
macro_rules! are_texts {
    ($($words:ident)+) => { $(
        impl Shape for $words {
            fn read(value: Value) -> Result<$words, Misfit> {
                value.as_str().and_then($words::parse).ok_or_else(|| Misfit::new("one of its words"))
            }
            fn write(&self) -> Value {
                self.as_str().into()
            }
        }
    )+ };
}

are_texts! {
    Activity CallStatus CallStep CalledBy ChunkKind CompactReason CompactionPhase CompactionWay Concurrency IfRunning Integrity ItemActivity LeftOut ListStatus MemoryScope MessageStatus Mode NoticeKind
    OnResume Outcome PageFault Phase ProcessType Reasoning RecoverAction Resume Role Rule RunOutcome Settlement
    SkillScope StorageKind Titles ToolSource ViewStatus WaitStatus WhenBusy
}

impl Shape for ErrorInfo {
    fn read(value: Value) -> Result<ErrorInfo, Misfit> {
        if value.is_object() { Ok(ErrorInfo::from_json(&value)) } else { Err(Misfit::new("an error")) }
    }
    fn write(&self) -> Value {
        ErrorInfo::to_json(self)
    }
}

impl Shape for Operator {
    fn read(value: Value) -> Result<Operator, Misfit> {
        let mut members = Members::of(value)?;
        let (subject, issuer) = (members.take("subject")?, members.take("issuer")?);
        Ok(Operator { subject, issuer, expires_at: members.take("expiresAt")? })
    }
    fn write(&self) -> Value {
        let mut object = Object::new();
        object.text("subject", &self.subject).maybe_text("issuer", self.issuer.as_deref());
        put(&mut object, "expiresAt", false, &self.expires_at);
        object.done()
    }
}

/// Structs from a table: `told` are read by an app, and may get members with a later version; `given` are made by one.
///
/// `Name("word")`: its JSON has the member `type`, which is this word. A member is `name: Type`, or `name = "itsName": Type` where
/// JSON has another name. With `or null` JSON has it also where it holds nothing. The name `..` stands for all members that are
/// not named.
macro_rules! shapes {
    ($( $(#[doc = $doc:literal])+ $kind:ident $name:ident $(($tag:literal))? {
        $( $(#[doc = $about:literal])+ $member:ident $(= $json:literal)? $(or $null:ident)? : $type:ty; )*
    } )+) => {
        $(
            $crate::shapes::shape! {
                $kind,
                $(#[doc = $doc])+
                pub struct $name { $( $(#[doc = $about])+ pub $member: $type, )* }
            }

            impl $crate::shapes::Shape for $name {
                fn read(value: serde_json::Value) -> Result<$name, $crate::shapes::Misfit> {
                    let mut members = $crate::shapes::Members::of(value)?;
                    $( members.is($tag)?; )?
                    Ok($name { $( $member: members.take($crate::shapes::name!($member $($json)?))?, )* })
                }
                fn write(&self) -> serde_json::Value {
                    let mut object = $crate::object::Object::new();
                    $( object.text("type", $tag); )?
                    $( $crate::shapes::put(&mut object, $crate::shapes::name!($member $($json)?), $crate::shapes::null!($($null)?), &self.$member); )*
                    object.done()
                }
            }
        )+

        /// The table, of which the types are written.
        #[cfg(test)]
        pub(super) const TABLE: &[$crate::shapes::types::Struct] = &[$( $crate::shapes::types::Struct {
            name: stringify!($name),
            tag: &[$($tag)?],
            given: matches!(stringify!($kind).as_bytes(), b"given"),
            docs: &[$($doc),+],
            members: &[$( $crate::shapes::types::Row {
                name: $crate::shapes::name!($member $($json)?),
                null: $crate::shapes::null!($($null)?),
                rust: stringify!($type),
                docs: &[$($about),+],
            } ),*],
        } ),+];
    };
}

macro_rules! shape {
    (told, $($item:tt)+) => {
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        $($item)+
    };
    (given, $($item:tt)+) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        $($item)+
    };
}

macro_rules! name {
    ($member:ident) => {
        stringify!($member)
    };
    ($member:ident $json:literal) => {
        $json
    };
}

macro_rules! null {
    () => {
        false
    };
    (null) => {
        true
    };
}

use {name, null, shape, shapes};

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let wrong = |text: &str| Message::from_json(text).unwrap_err().message.clone();
        assert_eq!(wrong("{"), "this is no JSON");
        assert_eq!(wrong("[]"), "this must be an object");
        assert_eq!(wrong("{}"), "id must be there");
        let message = |parts: Value| json!({ "id": "m", "role": "user", "parts": parts, "createdAt": 1, "status": "complete" });
        let message = |parts: Value| message(parts).to_string();
        assert_eq!(wrong(&message(json!([{ "type": "text" }]))), "parts[0].text must be there");
        assert_eq!(
            wrong(&message(json!([{ "type": "odour" }]))),
            "parts[0].type must be a known kind of part"
        );
        assert_eq!(wrong(&message(json!({}))), "parts must be an array");
    }

    #[test]
    fn what_is_absent_null_and_there_are_three() {
        let read = |text: &str| Overrides::from_json(text).unwrap();
        assert_eq!(read("{}").model, None);
        assert_eq!(read(r#"{"model":null}"#).model, Some(None));
        let named = read(r#"{"model":"m"}"#);
        assert_eq!(named.model, Some(Some("m".into())));
        for text in ["{}", r#"{"model":null}"#, r#"{"model":"m"}"#] {
            assert_eq!(read(text).to_json(), text);
        }
    }
}
