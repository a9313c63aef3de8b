//! How much work was done on what others have made, in steps.
//!
//! Decides what a step is: to look at one value, at one name, or at 32 bytes. Promises: work is counted where it is done, and
//! never timed, so the same file comes to the same sum everywhere. Leaves to others: how much is too much (`session/carry`).

use std::cell::Cell;

thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
}

/// So many steps more.
pub fn did(steps: u64) {
    DONE.set(DONE.get().wrapping_add(steps));
}

/// All that this thread has done. What was done in between two calls can be held to a bound.
pub fn done() -> u64 {
    DONE.get()
}
