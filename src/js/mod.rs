//! The border to clients in JavaScript: conversion and nothing else.
//!
//! | file | |
//! |---|---|
//! | `convert` | between JS objects and ours |
//! | `host` | a host by messages |
//! | `exports` | what the npm package calls; with the feature `npm` only |

#[cfg(feature = "bench")]
mod bench;
mod convert;
#[cfg(feature = "npm")]
mod exports;
mod host;

pub use convert::plain;
pub use host::{Host, Received, remove};
