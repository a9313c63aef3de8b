//! JSON: read byte by byte, as a tree, and written.
//!
//! Promises: takes and writes what serde_json does, whose `Value` is the tree. Its own reader and writer are made for
//! every type of Rust and ten kilobytes more of WebAssembly.

mod float;
mod reader;
mod tree;

pub use reader::Reader;
pub use tree::{json, parse, push_text};
