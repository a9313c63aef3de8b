//! A campaign in parts: one long test becomes several short ones, so that the threads of the test runner share it.
//!
//! Promises: the parts together take each seed once, in any order. What must hold of the whole is asked of what
//! all parts have seen, by the part that ends last. A part that runs alone, or beside one that failed, asks nothing.

use std::mem;
use std::sync::Mutex;

/// How many parts a campaign has.
pub const PARTS: u64 = 8;

/// How many are drawn at random: in full by `LODGER_CAMPAIGN=1`, a tenth of the usual by `LODGER_QUICK=1`.
pub fn drawn(usual: u64, in_full: u64) -> u64 {
    if says("LODGER_CAMPAIGN") {
        in_full
    } else if quick() {
        usual.div_ceil(10)
    } else {
        usual
    }
}

/// Whether so few are drawn that what is rare may not be among them: then nobody asks whether everything happened.
pub fn quick() -> bool {
    says("LODGER_QUICK")
}

fn says(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

/// The seeds of a part, from 0 on: one of each eight, at another place each time. What follows from a seed's remainder
/// falls to all parts alike.
pub fn seeds(part: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |round| round * PARTS + (part + round) % PARTS)
}

/// What the parts have seen.
pub struct Whole<T>(Mutex<Vec<T>>);

impl<T> Whole<T> {
    pub const fn new() -> Self {
        Whole(Mutex::new(Vec::new()))
    }

    /// Takes what a part has seen. Gives what all have seen when it was the last, and they have seen enough.
    pub fn add(&self, seen: T) -> Option<Vec<T>> {
        let mut parts = self.0.lock().unwrap();
        parts.push(seen);
        (parts.len() as u64 == PARTS && !quick()).then(|| mem::take(&mut *parts))
    }
}

/// Makes tests of a function that takes the number of a part.
macro_rules! in_parts {
    ($campaign:ident) => {
        mod $campaign {
            crate::support::parts::in_parts!($campaign: part_1 0, part_2 1, part_3 2, part_4 3);
            crate::support::parts::in_parts!($campaign: part_5 4, part_6 5, part_7 6, part_8 7);
        }
    };
    ($campaign:ident: $($test:ident $part:literal),*) => {
        $( #[test] fn $test() { super::$campaign($part); } )*
    };
}
pub(crate) use in_parts;

#[test]
fn the_parts_take_every_seed_once() {
    let mut all: Vec<u64> =
        (0..PARTS).flat_map(|part| seeds(part).take_while(|seed| *seed < 1_000)).collect();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..1_000));
}
