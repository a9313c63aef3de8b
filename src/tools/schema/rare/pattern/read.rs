//! From the text of a pattern to its steps.
//!
//! Decides what each construct means, with the flag `u` and, by Annex B of ECMA-262, without it. Promises: repeats are
//! written out, which has a bound, and only counting them takes time that is linear in the pattern. Leaves to others:
//! refusing what is no pattern, which has not come here.

use super::sets::{DIGIT, Item, NEWLINE, SPACE, Sets, WORD};
use super::{Program, Step};
use crate::ports::Patterns;
use std::rc::Rc;

/// How many steps a pattern may have.
const MOST: usize = 25_000;

/// Why a pattern cannot be used.
pub(in crate::tools::schema::rare) struct Refused {
    pub(in crate::tools::schema::rare) what: String,
    pub(in crate::tools::schema::rare) hint: &'static str,
}

/// A place among the steps.
#[derive(Clone, Copy, Default)]
struct Place {
    at: usize,
    /// How many steps there are before it, those counted that are not written out.
    count: usize,
}

/// A group that is open, or the whole.
#[derive(Default)]
struct Group {
    start: Place,
    /// Where this alternative begins.
    branch: Place,
    /// The steps from which alternatives go to its end.
    ends: Vec<usize>,
}

/// What an escape stands for.
enum Escaped {
    One(u32),
    Many(Item),
}

pub(super) struct Reader<'a> {
    source: Vec<u32>,
    at: usize,
    unicode: bool,
    engine: &'a Rc<dyn Patterns>,
    /// How many steps are written out.
    most: usize,
    count: usize,
    steps: Vec<Step>,
    sets: Sets,
    open: Vec<Group>,
    /// How many groups are numbered, and whether any has a name. Without the flag it decides what an escape is.
    numbered: u32,
    named: bool,
}

impl Reader<'_> {
    pub(super) fn new(source: Vec<u32>, unicode: bool, engine: &Rc<dyn Patterns>, most: usize) -> Reader<'_> {
        Reader {
            source,
            at: 0,
            unicode,
            engine,
            most,
            count: 0,
            steps: Vec::new(),
            sets: Sets::default(),
            open: vec![Group::default()],
            numbered: 0,
            named: false,
        }
    }

    pub(super) fn read(mut self) -> Result<(Program, usize), Refused> {
        self.count_groups();
        while let Some(c) = self.next() {
            let mut start = self.here();
            match byte(c) {
                b'(' => {
                    self.group()?;
                    continue;
                }
                b'|' => {
                    self.branch()?;
                    continue;
                }
                b')' => start = self.close().start,
                // What matches no character cannot be repeated.
                b'^' => {
                    self.push(Step::Begin)?;
                    continue;
                }
                b'$' => {
                    self.push(Step::End)?;
                    continue;
                }
                b'\\' if self.takes(b'b') => {
                    self.push(Step::Edge(true))?;
                    continue;
                }
                b'\\' if self.takes(b'B') => {
                    self.push(Step::Edge(false))?;
                    continue;
                }
                b'\\' => {
                    self.refuse_backreference()?;
                    match self.escape(false)? {
                        Escaped::One(c) => self.push(Step::Is(c))?,
                        Escaped::Many(item) => self.set(false, vec![item])?,
                    }
                }
                b'.' => self.set(true, vec![Item::Named(NEWLINE, false)])?,
                b'[' => self.class()?,
                _ => self.push(Step::Is(c))?,
            }
            self.quantifier(start)?;
        }
        self.close();
        Ok((Program { steps: self.steps, sets: self.sets }, self.count))
    }

    // ------------------------------------------------------------------ the text

    fn next(&mut self) -> Option<u32> {
        let c = self.source.get(self.at).copied();
        self.at += usize::from(c.is_some());
        c
    }

    /// The ASCII character so far ahead; 0: there is none, or another.
    fn ahead(&self, by: usize) -> u8 {
        self.source.get(self.at + by).map_or(0, |c| byte(*c))
    }

    /// Goes over this character, if it comes next.
    fn takes(&mut self, c: u8) -> bool {
        let comes = self.ahead(0) == c;
        self.at += usize::from(comes);
        comes
    }

    /// The next digits, as one number: no more than `most` of them. `None`: there is none.
    fn digits(&mut self, base: u32, most: usize) -> Option<u32> {
        let mut number = None;
        for _ in 0..most {
            let Some(digit) = char::from(self.ahead(0)).to_digit(base) else { break };
            number = Some(number.unwrap_or(0_u32).saturating_mul(base).saturating_add(digit));
            self.at += 1;
        }
        number
    }

    /// Counts groups, over the whole of it.
    fn count_groups(&mut self) {
        let mut in_class = false;
        while let Some(c) = self.next() {
            match byte(c) {
                b'\\' => self.at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'(' if !in_class => {
                    let named = self.is_named();
                    self.named |= named;
                    self.numbered += u32::from(named || self.ahead(0) != b'?');
                }
                _ => {}
            }
        }
        self.at = 0;
    }

    /// Whether a group has a name, by what follows its bracket.
    fn is_named(&self) -> bool {
        self.ahead(0) == b'?' && self.ahead(1) == b'<' && !matches!(self.ahead(2), b'=' | b'!')
    }

    /// Why it cannot be followed, with the place of what begins so many characters before.
    fn not_supported(&self, what: &str, before: usize) -> Refused {
        let place = (self.at - before + 1).to_string();
        Refused {
            what: ["has ", what, " at character ", &place, ", which is not supported"].concat(),
            hint: "a pattern is decided in time that is linear in the text, so there are no backreferences and no lookaround: write it without, or let the tool look",
        }
    }

    // ------------------------------------------------------------------ steps

    fn here(&self) -> Place {
        Place { at: self.steps.len(), count: self.count }
    }

    /// There are so many steps more.
    fn pay(&mut self, steps: usize) -> Result<(), Refused> {
        self.count = self.count.saturating_add(steps);
        if self.count <= MOST {
            return Ok(());
        }
        let most = MOST.to_string();
        Err(Refused {
            what: ["is too large: with what is repeated written out, it has more than ", &most, " steps"]
                .concat(),
            hint: "say how long a text may be by minLength and maxLength",
        })
    }

    fn push(&mut self, step: Step) -> Result<(), Refused> {
        self.pay(1)?;
        self.steps.push(step);
        Ok(())
    }

    fn set(&mut self, not: bool, items: Vec<Item>) -> Result<(), Refused> {
        let set = self.sets.add(not, items);
        self.push(Step::In(set))
    }

    /// Puts a choice before what was read from there on. What is moved for it counts a little.
    fn put_choice(&mut self, before: Place, by: usize) -> Result<(), Refused> {
        self.pay(1 + (self.count - before.count) / 64)?;
        self.steps.insert(before.at, Step::Either(by as i32));
        Ok(())
    }

    fn group(&mut self) -> Result<(), Refused> {
        let start = self.here();
        if self.is_named() {
            while self.next().is_some_and(|c| byte(c) != b'>') {}
        } else if self.takes(b'?') && !self.takes(b':') {
            let what = match (self.ahead(0), self.ahead(1)) {
                (b'=' | b'!', _) => "a lookahead",
                (b'<', _) => "a lookbehind",
                _ => "a group with flags",
            };
            return Err(self.not_supported(what, 2));
        }
        self.open.push(Group { start, branch: start, ends: Vec::new() });
        Ok(())
    }

    /// An alternative is over, and another begins.
    fn branch(&mut self) -> Result<(), Refused> {
        let Some(mut group) = self.open.pop() else { return Ok(()) };
        // The way to the next one, over this one and what ends it.
        self.put_choice(group.branch, self.steps.len() - group.branch.at + 2)?;
        group.ends.push(self.steps.len());
        self.push(Step::Go(0))?;
        group.branch = self.here();
        self.open.push(group);
        Ok(())
    }

    /// A group is over.
    fn close(&mut self) -> Group {
        let group = self.open.pop().unwrap_or_default();
        let end = self.steps.len();
        for from in &group.ends {
            if let Some(step) = self.steps.get_mut(*from) {
                *step = Step::Go((end - from) as i32);
            }
        }
        group
    }

    /// How often what was read from `start` on has to be there, if that is said.
    fn quantifier(&mut self, start: Place) -> Result<(), Refused> {
        let (least, most) = match self.ahead(0) {
            b'*' => (0, None),
            b'+' => (1, None),
            b'?' => (0, Some(1)),
            b'{' => {
                let before = self.at;
                self.at += 1;
                let least = self.digits(10, usize::MAX);
                let most = if self.takes(b',') { self.digits(10, usize::MAX) } else { least };
                let (Some(least), b'}') = (least, self.ahead(0)) else {
                    self.at = before;
                    return Ok(());
                };
                (least as usize, most.map(|most| most as usize))
            }
            _ => return Ok(()),
        };
        self.at += 1;
        // Which of several ways is tried first makes no difference here.
        self.takes(b'?');
        let length = self.count - start.count;
        if length == 0 {
            return Ok(());
        }
        let more = most.map_or(usize::from(least == 0), |most| most.saturating_sub(least));
        let copies = least.saturating_add(more);
        self.pay(copies.saturating_sub(1).saturating_mul(length))?;
        self.pay(more.saturating_add(2 + length / 64))?;
        if self.count > self.most {
            return Ok(());
        }
        let part = self.steps.split_off(start.at);
        let length = part.len() as i32;
        for _ in 0..least {
            self.steps.extend_from_slice(&part);
        }
        if most.is_none() && least > 0 {
            self.steps.push(Step::Either(-length));
            return Ok(());
        }
        for left in (1..=more as i32).rev() {
            let back = i32::from(most.is_none());
            self.steps.push(Step::Either(left * (length + 1) + back));
            self.steps.extend_from_slice(&part);
            if most.is_none() {
                self.steps.push(Step::Go(-length - 1));
            }
        }
        Ok(())
    }

    // ------------------------------------------------------------------ characters

    /// What is in square brackets.
    fn class(&mut self) -> Result<(), Refused> {
        let not = self.takes(b'^');
        let mut items = Vec::new();
        while let Some(c) = self.next().filter(|c| byte(*c) != b']') {
            let first = self.member(c)?;
            if self.ahead(0) != b'-' || matches!(self.ahead(1), b']') {
                items.push(first.item());
                continue;
            }
            self.at += 1;
            let Some(c) = self.next() else { break };
            match (first, self.member(c)?) {
                (Escaped::One(from), Escaped::One(until)) => items.push(Item::Range(from, until)),
                // Without the flag, a minus beside a set is itself.
                (first, last) => items.extend([first.item(), Escaped::One(b'-'.into()).item(), last.item()]),
            }
        }
        self.set(not, items)
    }

    fn member(&mut self, c: u32) -> Result<Escaped, Refused> {
        if byte(c) == b'\\' { self.escape(true) } else { Ok(Escaped::One(c)) }
    }

    /// Refuses what names a group, behind a backslash.
    fn refuse_backreference(&mut self) -> Result<(), Refused> {
        let before = self.at;
        let named = self.ahead(0) == b'k' && (self.unicode || self.named);
        let numbered = self.ahead(0) != b'0'
            && self.digits(10, usize::MAX).is_some_and(|number| self.unicode || number <= self.numbered);
        self.at = before;
        if named || numbered { Err(self.not_supported("a backreference", 1)) } else { Ok(()) }
    }

    /// What stands behind a backslash.
    fn escape(&mut self, in_class: bool) -> Result<Escaped, Refused> {
        let before = self.at;
        let Some(c) = self.next() else { return Ok(Escaped::One(b'\\'.into())) };
        Ok(Escaped::One(match byte(c) {
            b'd' => return Ok(Escaped::Many(Item::Named(DIGIT, false))),
            b'D' => return Ok(Escaped::Many(Item::Named(DIGIT, true))),
            b'w' => return Ok(Escaped::Many(Item::Named(WORD, false))),
            b'W' => return Ok(Escaped::Many(Item::Named(WORD, true))),
            b's' => return Ok(Escaped::Many(Item::Named(SPACE, false))),
            b'S' => return Ok(Escaped::Many(Item::Named(SPACE, true))),
            b'p' | b'P' if self.unicode => {
                while self.next().is_some_and(|c| byte(c) != b'}') {}
                let name = self.source.get(before..self.at).unwrap_or_default();
                let name = name.iter().filter_map(|c| char::from_u32(*c));
                let source = ['\\'].into_iter().chain(name).collect::<String>();
                return Ok(Escaped::Many(self.sets.class(source, self.engine)));
            }
            b't' => 0x9,
            b'n' => 0xa,
            b'v' => 0xb,
            b'f' => 0xc,
            b'r' => 0xd,
            b'b' if in_class => 0x8,
            b'c' => {
                let letter = self.ahead(0);
                let also = in_class && !self.unicode && (letter.is_ascii_digit() || letter == b'_');
                if !letter.is_ascii_alphabetic() && !also {
                    // Without the flag, the backslash is one.
                    self.at = before;
                    return Ok(Escaped::One(b'\\'.into()));
                }
                self.at += 1;
                u32::from(letter % 32)
            }
            // Without the flag, up to the largest number of a byte.
            digit @ b'0'..=b'7' => {
                self.at = before;
                self.digits(8, if digit < b'4' { 3 } else { 2 }).unwrap_or_default()
            }
            b'x' => self.hex(2).unwrap_or(c),
            b'u' => self.unit().unwrap_or(c),
            _ => c,
        }))
    }

    /// So many digits; else it stays where it is.
    fn hex(&mut self, count: usize) -> Option<u32> {
        let before = self.at;
        let number = self.digits(16, count).filter(|_| self.at == before + count);
        if number.is_none() {
            self.at = before;
        }
        number
    }

    /// What stands behind `\u`.
    fn unit(&mut self) -> Option<u32> {
        if self.unicode && self.takes(b'{') {
            let number = self.digits(16, usize::MAX);
            self.takes(b'}');
            return number;
        }
        let first = self.hex(4)?;
        let before = self.at;
        if self.unicode
            && (0xd800..0xdc00).contains(&first)
            && self.takes(b'\\')
            && self.takes(b'u')
            && let Some(second) = self.hex(4).filter(|second| (0xdc00..0xe000).contains(second))
        {
            return Some(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        }
        self.at = before;
        Some(first)
    }
}

impl Escaped {
    fn item(self) -> Item {
        match self {
            Escaped::One(c) => Item::Range(c, c),
            Escaped::Many(item) => item,
        }
    }
}

/// The ASCII character that a unit is; 0: none.
fn byte(c: u32) -> u8 {
    u8::try_from(c).unwrap_or_default()
}
