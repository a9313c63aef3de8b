//! The JSON Schema validator, judged by others (the official suite, ajv), by properties, and by cases.

mod ajv;
mod bounds;
mod cases;
mod coerce;
mod draw;
mod patterns;
mod properties;
mod suite;
