//! Making JSON objects, member by member.
//!
//! `json!` would do; but with it every member is a hundred bytes of WebAssembly, and here a fifth of that.

use crate::json::json;
use serde_json::{Map, Value};

/// Takes a member out of an object. It is made anew of the others, because what a tree does to lose one is four kilobytes of
/// WebAssembly.
pub fn take(object: &mut Map<String, Value>, name: &str) -> Option<Value> {
    let mut taken = None;
    if object.contains_key(name) {
        for (other, value) in std::mem::take(object) {
            if other == name {
                taken = Some(value);
            } else {
                object.insert(other, value);
            }
        }
    }
    taken
}

/// An object in the making: `Object::new().text("name", name).number("age", age).done()`.
#[derive(Debug, Default)]
pub struct Object(Map<String, Value>);

impl Object {
    /// One without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a member.
    #[inline(never)]
    pub fn value(&mut self, name: &str, value: Value) -> &mut Self {
        self.0.insert(name.into(), value);
        self
    }

    /// Sets a member to a text.
    #[inline(never)]
    pub fn text(&mut self, name: &str, text: &str) -> &mut Self {
        self.value(name, text.into())
    }

    /// Sets a member to a number.
    #[inline(never)]
    pub fn number(&mut self, name: &str, number: u64) -> &mut Self {
        self.value(name, number.into())
    }

    /// Sets a member to true or false.
    #[inline(never)]
    pub fn flag(&mut self, name: &str, flag: bool) -> &mut Self {
        self.value(name, flag.into())
    }

    /// Sets a member, or leaves it out.
    #[inline(never)]
    pub fn maybe(&mut self, name: &str, value: Option<Value>) -> &mut Self {
        match value {
            Some(value) => self.value(name, value),
            None => self,
        }
    }

    /// Sets a member to a text, or leaves it out.
    #[inline(never)]
    pub fn maybe_text(&mut self, name: &str, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    /// Sets all members of another object; what is no object has none.
    #[inline(never)]
    pub fn all(&mut self, object: Value) -> &mut Self {
        match object {
            Value::Object(members) if self.0.is_empty() => self.0 = members,
            Value::Object(members) => self.0.extend(members),
            _ => {}
        }
        self
    }

    /// The object as JSON text.
    pub fn json(&mut self) -> String {
        json(&self.done())
    }

    /// The object. What is set after this goes into a new one.
    #[inline(never)]
    pub fn done(&mut self) -> Value {
        Value::Object(std::mem::take(&mut self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_says_what_it_was_told() {
        let mut object = Object::new();
        object.text("a", "x").number("b", 1).flag("c", true).value("d", Value::Null);
        object.maybe("e", None).maybe("f", Some(json!([1]))).maybe_text("g", None).maybe_text("h", Some("y"));
        object.all(json!({ "i": 2, "a": "z" })).all(json!(5));
        assert_eq!(
            object.done(),
            json!({ "a": "z", "b": 1, "c": true, "d": null, "f": [1], "h": "y", "i": 2 })
        );
        assert_eq!(object.done(), json!({}));
        assert_eq!(object.text("a", "\"é\n").number("b", 2).json(), r#"{"a":"\"é\n","b":2}"#);
    }
}
