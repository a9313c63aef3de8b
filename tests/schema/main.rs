//! The JSON Schema validator, judged by others (the official suite, ajv), by properties, and by cases.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test throughout, helpers included

mod ajv;
mod bounds;
mod cases;
mod coerce;
mod draw;
mod engine;
mod properties;
mod suite;
