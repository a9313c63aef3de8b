//! Lists from iterators, in the plainest way: item by item.
//!
//! `collect` first asks how many items may come, and reserves room for them. That is made for speed, and each use of it
//! is two hundred bytes of WebAssembly more than what is here. The lists of this crate are short. So a list is made
//! here. `collect` makes texts, arrays of JavaScript and heaps, and names which. `tests/host/house.rs` refuses it
//! elsewhere.

use serde_json::Value;

/// What `collect` does, smaller.
pub trait Listed: Iterator + Sized {
    /// The items.
    fn list(self) -> Vec<Self::Item> {
        let mut list = Vec::new();
        for item in self {
            list.push(item);
        }
        list
    }

    /// The items, if none is missing.
    fn whole<T>(self) -> Option<Vec<T>>
    where
        Self: Iterator<Item = Option<T>>,
    {
        let mut list = Vec::new();
        for item in self {
            list.push(item?);
        }
        Some(list)
    }

    /// The items, or the first error among them.
    ///
    /// # Errors
    /// That error.
    fn tried<T, E>(self) -> Result<Vec<T>, E>
    where
        Self: Iterator<Item = Result<T, E>>,
    {
        let mut list = Vec::new();
        for item in self {
            list.push(item?);
        }
        Ok(list)
    }

    /// The items as a JSON array.
    fn array(self) -> Value
    where
        Self::Item: Into<Value>,
    {
        let mut list = Vec::new();
        for item in self {
            list.push(item.into());
        }
        Value::Array(list)
    }
}

impl<I: Iterator> Listed for I {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_hold_what_collect_would_give() {
        assert_eq!((0..5).filter(|n| n % 2 == 0).list(), [0, 2, 4]);
        assert_eq!([Some(1), Some(2)].into_iter().whole(), Some(vec![1, 2]));
        assert_eq!([Some(1), None].into_iter().whole(), None);
        assert_eq!([Ok(1), Err("a"), Err("b")].into_iter().tried(), Err("a"));
        assert_eq!([Ok::<_, ()>(1)].into_iter().tried(), Ok(vec![1]));
        assert_eq!(["a", "b"].into_iter().array(), json!(["a", "b"]));
    }
}
