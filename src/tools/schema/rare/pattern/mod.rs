//! Regular expressions, decided in time that is linear in the text.
//!
//! Decides whether a pattern matches anywhere in a text, by the language of ECMA-262 with and without the flag `u`. All
//! ways through the pattern are followed at once, a character at a time, so no text makes it go back. What only an engine
//! that goes back can do is refused when a pattern is read (`read`): backreferences and lookaround. Leaves to others: whether a
//! pattern is one at all, and what `\p{…}` has, which the browser's own engine says ([`Patterns`](crate::ports::Patterns)).

mod read;
mod sets;

pub(super) use read::Refused;

use crate::list::Listed;
use crate::ports::Patterns;
use crate::tools::schema::compile::Pattern;
use crate::tools::schema::number::Work;
use read::Reader;
use sets::Sets;
use std::rc::Rc;

/// How many steps are one of [`Work`].
const PER_WORK: usize = 16;
/// How many steps a pattern may have that stays ready. One that is larger is read again for each text: a short schema would
/// hold much otherwise, and a conversation holds many.
const KEPT: usize = 256;

/// A step. Places are told from the step itself, so that a part can be copied.
#[derive(Clone, Copy)]
enum Step {
    /// This character, and on.
    Is(u32),
    /// A character of the set with this number, and on.
    In(u32),
    /// On, and there as well.
    Either(i32),
    /// There.
    Go(i32),
    /// On, where the text begins.
    Begin,
    /// On, where it ends.
    End,
    /// On, where a word begins or ends, or where none does.
    Edge(bool),
}

/// The steps of a pattern, behind the last of which it has matched.
struct Program {
    steps: Vec<Step>,
    sets: Sets,
}

/// Reads a pattern that the browser's engine takes. `unicode`: a text is its characters, by the flag `u`; else it is the
/// units of UTF-16.
pub(super) fn ready(text: &str, unicode: bool, engine: &Rc<dyn Patterns>) -> Result<Pattern, Refused> {
    let (program, count) = read(text, unicode, engine, KEPT)?;
    if count <= KEPT {
        return Ok(Rc::new(move |text, work| program.matches(text, unicode, work)));
    }
    let (pattern, engine) = (text.to_owned(), Rc::clone(engine));
    Ok(Rc::new(move |text, work| {
        // To read it is work too.
        work.pay(count / 8)
            && read(&pattern, unicode, &engine, usize::MAX)
                .is_ok_and(|(program, _)| program.matches(text, unicode, work))
    }))
}

/// The steps of a pattern, and how many they are. Beyond `most` they are only counted.
fn read(
    text: &str,
    unicode: bool,
    engine: &Rc<dyn Patterns>,
    most: usize,
) -> Result<(Program, usize), Refused> {
    let source = match unicode {
        true => text.chars().map(u32::from).list(),
        false => text.encode_utf16().map(u32::from).list(),
    };
    Reader::new(source, unicode, engine, most).read()
}

impl Program {
    /// Whether it matches anywhere in a text.
    fn matches(&self, text: &str, unicode: bool, work: &mut Work) -> bool {
        match unicode {
            true => self.follow(&mut text.chars().map(u32::from), work),
            false => self.follow(&mut text.encode_utf16().map(u32::from), work),
        }
    }

    fn follow(&self, text: &mut dyn Iterator<Item = u32>, work: &mut Work) -> bool {
        // At which place of the text a step was come to last.
        let mut come = vec![0; self.steps.len()];
        let (mut place, mut before) = (0_u32, None);
        // The steps to go on with, at this character and at the next.
        let (mut open, mut later) = (Vec::new(), Vec::new());
        let mut paid = self.steps.len() / PER_WORK;
        loop {
            let next = text.next();
            place = place.wrapping_add(1);
            // A match may begin here too.
            open.push(0);
            while let Some(at) = open.pop() {
                let (Some(step), Some(come)) = (self.steps.get(at), come.get_mut(at)) else { return true };
                paid += 1;
                if std::mem::replace(come, place) == place {
                    continue;
                }
                let on = match *step {
                    Step::Is(c) => {
                        if next == Some(c) {
                            later.push(at + 1);
                        }
                        false
                    }
                    Step::In(set) => {
                        if next.is_some_and(|c| self.sets.has(set as usize, c, &mut paid)) {
                            later.push(at + 1);
                        }
                        false
                    }
                    Step::Either(by) => {
                        open.push(at.wrapping_add_signed(by as isize));
                        true
                    }
                    Step::Go(by) => {
                        open.push(at.wrapping_add_signed(by as isize));
                        false
                    }
                    Step::Begin => before.is_none(),
                    Step::End => next.is_none(),
                    Step::Edge(there) => (is_word(before) != is_word(next)) == there,
                };
                if on {
                    open.push(at + 1);
                }
            }
            if !work.pay(paid / PER_WORK) || next.is_none() {
                return false;
            }
            paid %= PER_WORK;
            before = next;
            std::mem::swap(&mut open, &mut later);
        }
    }
}

fn is_word(c: Option<u32>) -> bool {
    c.is_some_and(|c| sets::is_in(sets::WORD, c))
}
