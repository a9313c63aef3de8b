//! What few schemas have, behind a few doors: the room `schema`.
//!
//! Decides references and names, patterns and formats, several schemas for one value, and all other keywords that
//! `keywords` calls rare. It does so when they are compiled, when a value is looked at, and in what is said of it.
//! Promises: a schema that is not [`is_rare`](super::keywords::is_rare) comes through none of the doors, so the rest of
//! the engine does without this one. Leaves to others: walking through a value, and what most schemas have.

mod compile;
mod format;
mod number;
mod pattern;
mod uri;
mod validate;
mod violation;

pub(super) use compile::{arg, finish, identify};
pub(super) use format::Format;
pub(super) use validate::{is_named, rule};
pub(super) use violation::{expects, fitting, sentence};
