//! Sets of characters.

use crate::ports::Patterns;
use std::cell::Cell;
use std::rc::Rc;

/// From, until and with.
type Range = (u32, u32);

pub(super) const DIGIT: &[Range] = &[(0x30, 0x39)];
pub(super) const WORD: &[Range] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
pub(super) const NEWLINE: &[Range] = &[(0xa, 0xa), (0xd, 0xd), (0x2028, 0x2029)];
pub(super) const SPACE: &[Range] = &[
    (0x9, 0xd),
    (0x20, 0x20),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x2028, 0x2029),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    (0xfeff, 0xfeff),
];

pub(super) fn is_in(ranges: &[Range], c: u32) -> bool {
    ranges.iter().any(|(from, until)| *from <= c && c <= *until)
}

/// A part of a set.
#[derive(Clone, Copy)]
pub(super) enum Item {
    Range(u32, u32),
    /// One of the sets above, or all that is not in it.
    Named(&'static [Range], bool),
    /// The class with this number.
    Class(u32),
}

/// How many answers of the browser's engine are kept, by the last bits of the character.
const KEPT: usize = 256;
/// As how many steps a question to it counts.
const QUESTION: usize = 128;

/// A class that the browser's engine knows.
struct Asked {
    source: String,
    engine: Rc<dyn Patterns>,
    /// The character, one more than it is, with the answer in the lowest bit.
    answers: Vec<Cell<u32>>,
}

/// The sets of a pattern.
#[derive(Default)]
pub(super) struct Sets {
    sets: Vec<(bool, Vec<Item>)>,
    asked: Vec<Asked>,
}

impl Sets {
    /// Adds a set, or with `not` all that is not in it. Gives its number.
    pub(super) fn add(&mut self, not: bool, items: Vec<Item>) -> u32 {
        self.sets.push((not, items));
        self.sets.len() as u32 - 1
    }

    /// The class that the browser's engine has under this text.
    pub(super) fn class(&mut self, source: String, engine: &Rc<dyn Patterns>) -> Item {
        let known = self.asked.iter().position(|asked| asked.source == source);
        Item::Class(known.unwrap_or_else(|| {
            self.asked.push(Asked { source, engine: Rc::clone(engine), answers: vec![Cell::new(0); KEPT] });
            self.asked.len() - 1
        }) as u32)
    }

    /// Whether a set has a character. `paid` grows by what it takes to know.
    pub(super) fn has(&self, set: usize, c: u32, paid: &mut usize) -> bool {
        self.sets.get(set).is_some_and(|(not, items)| {
            *paid += items.len();
            *not != items.iter().any(|item| match *item {
                Item::Range(from, until) => from <= c && c <= until,
                Item::Named(ranges, not) => is_in(ranges, c) != not,
                Item::Class(number) => {
                    self.asked.get(number as usize).is_some_and(|asked| asked.has(c, paid))
                }
            })
        })
    }
}

impl Asked {
    fn has(&self, c: u32, paid: &mut usize) -> bool {
        let kept = self.answers.get(c as usize % KEPT);
        let known = kept.map_or(0, Cell::get);
        if known >> 1 == c + 1 {
            return known & 1 == 1;
        }
        *paid += QUESTION;
        let has = self.engine.test(&self.source, true, char::from_u32(c)) == Ok(true);
        if let Some(kept) = kept {
            kept.set((c + 1) << 1 | u32::from(has));
        }
        has
    }
}
