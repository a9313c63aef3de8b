//! Maps and sorting that are small in the module.
//!
//! Every `BTreeMap` of another type is 3 to 5 KB of WebAssembly more, every sorted type 3. So there is one map, from
//! names to numbers, and what is kept by name lies in a list under its number ([`Named`]). What never has
//! many entries is a list that is looked through ([`Few`]). What must be sorted is sorted by numbers
//! ([`sorted`]). Leaves to others: what is kept.

use crate::list::Listed;
use std::collections::BinaryHeap;
use std::fmt;
use std::slice::Iter;

/// How many names stand in one list: so many are moved when a name comes in between.
const LONGEST: usize = 256;

/// Names, each with a number of its own. The number of a name that is gone is given to another.
#[derive(Clone, Debug, Default)]
struct Numbers {
    /// In order, within the lists and from one to the next; none is empty.
    lists: Vec<Vec<(String, usize)>>,
    free: Vec<usize>,
    given: usize,
}

impl Numbers {
    /// In which list a name belongs, and where it is there or would be.
    fn place(&self, name: &str) -> (usize, Result<usize, usize>) {
        let begins =
            |list: &Vec<(String, usize)>| list.first().is_some_and(|(first, _)| first.as_str() <= name);
        let at = self.lists.partition_point(begins).saturating_sub(1);
        let list = self.lists.get(at).map(Vec::as_slice).unwrap_or_default();
        (at, list.binary_search_by(|(other, _)| other.as_str().cmp(name)))
    }

    fn get(&self, name: &str) -> Option<usize> {
        let (list, at) = self.place(name);
        Some(self.lists.get(list)?.get(at.ok()?)?.1)
    }

    /// The number of a name, which it gets if it has none.
    fn give(&mut self, name: &str) -> usize {
        if let Some(number) = self.get(name) {
            return number;
        }
        let number = self.free.pop().unwrap_or(self.given);
        self.given = self.given.max(number + 1);
        let (at, place) = self.place(name);
        if self.lists.is_empty() {
            self.lists.push(Vec::new());
        }
        if let (Some(list), Err(place)) = (self.lists.get_mut(at), place) {
            list.insert(place, (name.into(), number));
            if list.len() > LONGEST {
                let half = list.split_off(LONGEST / 2);
                self.lists.insert(at + 1, half);
            }
        }
        number
    }

    fn remove(&mut self, name: &str) -> Option<usize> {
        let (at, place) = self.place(name);
        let place = place.ok()?;
        let list = self.lists.get_mut(at)?;
        let (_, number) = list.remove(place);
        if list.is_empty() {
            self.lists.remove(at);
        }
        self.free.push(number);
        Some(number)
    }

    /// The names from this one on, in order.
    fn from(&self, name: &str) -> Names<'_> {
        let (list, at) = self.place(name);
        let mut lists = self.lists.get(list..).unwrap_or_default().iter();
        let first = lists.next().map(Vec::as_slice).unwrap_or_default();
        Names { list: first.get(at.unwrap_or_else(|at| at)..).unwrap_or_default().iter(), lists }
    }

    fn len(&self) -> usize {
        self.lists.iter().map(Vec::len).sum()
    }
}

/// Names in order, with their numbers. The library's adapters would do, but every map's every use would have a copy.
struct Names<'a> {
    list: Iter<'a, (String, usize)>,
    lists: Iter<'a, Vec<(String, usize)>>,
}

impl<'a> Iterator for Names<'a> {
    type Item = (&'a str, usize);

    #[inline(never)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.list.next() {
                Some((name, number)) => return Some((name, *number)),
                None => self.list = self.lists.next()?.iter(),
            }
        }
    }
}

/// A map from names to values; as a set of names with `()`.
#[derive(Clone)]
pub struct Named<T> {
    numbers: Numbers,
    values: Vec<Option<T>>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named { numbers: Numbers::default(), values: Vec::new() }
    }
}

/// As it is compared: in the order of the names.
impl<T: fmt::Debug> fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T: PartialEq> PartialEq for Named<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for Named<T> {}

impl<T> Named<T> {
    /// The value under a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.at(self.numbers.get(name)?)
    }

    /// The value under a name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.values.get_mut(self.numbers.get(name)?)?.as_mut()
    }

    /// Whether there is a value under a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.numbers.get(name).is_some()
    }

    /// Puts a value under a name and gives the one that was there.
    pub fn insert(&mut self, name: &str, value: T) -> Option<T> {
        self.place(name)?.replace(value)
    }

    /// Takes a name and its value out.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        self.values.get_mut(self.numbers.remove(name)?)?.take()
    }

    /// Changes the value under a name. Where there is none, it begins with the default.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut T))
    where
        T: Default,
    {
        if let Some(place) = self.place(name) {
            change(place.get_or_insert_default());
        }
    }

    fn place(&mut self, name: &str) -> Option<&mut Option<T>> {
        let number = self.numbers.give(name);
        if number == self.values.len() {
            self.values.push(None);
        }
        self.values.get_mut(number)
    }

    /// The number under which a name's value lies, until it is taken out.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name)
    }

    /// The value under a number.
    pub fn at(&self, number: usize) -> Option<&T> {
        self.values.get(number)?.as_ref()
    }

    /// All numbers are lower.
    pub fn numbers(&self) -> usize {
        self.values.len()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.from("")
    }

    /// The names from this one on, and their values.
    pub fn from(&self, name: &str) -> impl Iterator<Item = (&str, &T)> {
        self.numbers.from(name).filter_map(|(name, number)| Some((name, self.at(number)?)))
    }

    /// The numbers and the values, in the order of the names.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &T)> {
        self.numbers.from("").filter_map(|(_, number)| Some((number, self.at(number)?)))
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.numbers.from("").map(|(name, _)| name)
    }

    /// The values, in the order of their names.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, value)| value)
    }

    /// The values, in any order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().flatten()
    }

    /// The values, in the order of their names.
    pub fn into_values(mut self) -> impl Iterator<Item = T> {
        let numbers: Vec<usize> = self.numbers.from("").map(|(_, number)| number).list();
        numbers.into_iter().filter_map(move |number| self.values.get_mut(number)?.take())
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        *self = Named::default();
    }
}

/// A map of a few entries, in no order: every search begins at the first.
#[derive(Clone, Debug)]
pub struct Few<K, T>(Vec<(K, T)>);

impl<K, T> Default for Few<K, T> {
    fn default() -> Self {
        Few(Vec::new())
    }
}

impl<K: Copy + PartialEq, T> Few<K, T> {
    /// The value under a key.
    pub fn get(&self, key: K) -> Option<&T> {
        self.0.iter().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// The value under a key.
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.0.iter_mut().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// Puts a value under a key that has none.
    pub fn insert(&mut self, key: K, value: T) {
        self.0.push((key, value));
    }

    /// Takes a key and its value out.
    pub fn remove(&mut self, key: K) -> Option<T> {
        let at = self.0.iter().position(|(other, _)| *other == key)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Leaves only what is wanted.
    pub fn retain(&mut self, mut wanted: impl FnMut(&T) -> bool) {
        self.0.retain(|(_, value)| wanted(value));
    }

    /// The keys whose values are wanted. No generic function: each use would be a copy of it.
    pub fn keys(&self, wanted: &dyn Fn(&T) -> bool) -> Vec<K> {
        self.0.iter().filter(|(_, value)| wanted(value)).map(|(key, _)| *key).list()
    }

    /// The values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

/// The items, those with the smallest key first; those with the same key stay in their order.
pub fn sorted<T>(items: Vec<T>, key: impl Fn(&T) -> u64) -> Vec<T> {
    let places = order(items.iter().map(key).list());
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).list();
    places.into_iter().filter_map(|place| items.get_mut(place)?.take()).list()
}

/// The places of keys, those of the highest first, and of equal ones the first first. What nobody asks for is not sorted.
#[derive(Debug)]
pub struct Best(BinaryHeap<(u64, usize)>);

impl Best {
    /// Of these keys.
    pub fn of(keys: Vec<u64>) -> Best {
        Best(keys.into_iter().zip((0..=usize::MAX).rev()).collect::<BinaryHeap<(u64, usize)>>())
    }
}

impl Iterator for Best {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.0.pop().map(|(_, place)| usize::MAX - place)
    }
}

/// The places of the keys, the smallest first. A heap: the standard library's sorts are four times its size.
fn order(keys: Vec<u64>) -> Vec<usize> {
    let heap = keys.into_iter().zip(0..).collect::<BinaryHeap<(u64, usize)>>();
    heap.into_sorted_vec().into_iter().map(|(_, place)| place).list()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_the_map_that_a_tree_would_be() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut named, mut tree) = (Named::default(), BTreeMap::new());
        for step in 0..30_000_u32 {
            // First it grows, then it shrinks.
            let name = format!("n{}", random.u16(..1500));
            match random.u8(..4) {
                0 => assert_eq!(named.remove(&name), tree.remove(&name)),
                1 if step > 20_000 => assert_eq!(named.remove(&name), tree.remove(&name)),
                1 | 2 => assert_eq!(named.insert(&name, step), tree.insert(name, step)),
                _ => {
                    named.change(&name, |value| *value += 1);
                    *tree.entry(name).or_default() += 1;
                }
            }
            assert_eq!((named.len(), named.is_empty()), (tree.len(), tree.is_empty()));
            if step % 100 == 0 {
                assert!(named.iter().eq(tree.iter().map(|(name, value)| (name.as_str(), value))));
            }
        }
        assert!(named.numbers() <= 1500, "numbers are used again");
        let late: Vec<_> = named.from("n3").map(|(name, _)| name.to_owned()).collect();
        assert!(late.iter().eq(tree.range("n3".to_owned()..).map(|(name, _)| name)) && !late.is_empty());
        assert!(named.into_values().eq(tree.into_values()));
    }

    #[test]
    fn maps_are_equal_by_what_they_hold() {
        let (mut one, mut other) = (Named::default(), Named::default());
        for name in ["a", "b", "c"] {
            one.insert(name, ());
        }
        for name in ["c", "x", "b", "a"] {
            other.insert(name, ());
        }
        assert_ne!(one, other);
        other.remove("x");
        assert_eq!(one, other);
    }

    #[test]
    fn sorting_keeps_the_order_of_equals() {
        let mut random = fastrand::Rng::with_seed(3);
        for length in 0..60 {
            let items: Vec<(u64, usize)> = (0..length).map(|at| (random.u64(..9), at)).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|(key, _)| *key);
            assert_eq!(sorted(items, |(key, _)| *key), expected);
        }
    }
}
