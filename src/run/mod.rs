//! One prompt, processed to its end.
//!
//! A [`Run`] is the fold of its entries, and [`Run::next`] is the machine: it looks at what is there and says
//! which entry comes next without anything from outside. So a run that was folded from a stored journal
//! stands exactly where it stood, and no decision is made anywhere else.
//!
//! Promises: every tool call of a whole answer is settled before the model is called again, exactly once.
//! One `ended` a run, and nothing after it. Leaves to others: doing what an entry orders (`harness/`), what
//! the model is sent and what the page is shown (`session/`).

mod budget;
mod machine;
mod output;
mod registry;
mod retry;
mod waiters;

pub use crate::journal::Outcome;
pub use budget::Budget;
pub(crate) use machine::answer_id;
pub use machine::{
    Budgets, Call, CallState, Delegate, Ended, NO_ANSWER, Offer, OfferQuestion, Prompt, Question, Rules, Run,
    Said, Settled, Shortened, Steered, Summary, Turn, Until,
};
pub use output::Output;
pub use registry::{Live, Removed, Runs};
pub use retry::Again;
pub use waiters::{Waiter, Waiters};
