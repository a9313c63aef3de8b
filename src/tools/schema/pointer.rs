//! JSON Pointers: a step and the name that it stands for.

use crate::find;

/// A step of a JSON Pointer as the name that it stands for.
pub(super) fn unescape(step: &str) -> String {
    find::replace(&find::replace(step, "~1", "/"), "~0", "~")
}

/// A JSON Pointer one step further down.
pub(super) fn push_step(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&find::replace(&find::replace(name, "~", "~0"), "/", "~1"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_escaped_and_read_back() {
        let mut pointer = String::new();
        push_step(&mut pointer, "a/~b");
        assert_eq!((pointer.as_str(), unescape("a~1~0b~01")), ("/a~1~0b", "a/~b~1".into()));
    }
}
