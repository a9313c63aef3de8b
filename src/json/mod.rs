//! JSON: read byte by byte, as a tree, and written.
//!
//! Promises: takes and writes what serde_json does, whose `Value` is the tree. Its own reader and writer are made for
//! every type of Rust and ten kilobytes more of WebAssembly.

mod float;
mod reader;
mod tree;

#[cfg(test)]
pub(crate) use reader::LOOKED_AT;
pub use reader::Reader;
pub use tree::{items, json, parse, parse_within, push_inside, push_text, texts};

/// Texts for tests: a JSON text with up to two faults, of which a good part is none.
#[cfg(test)]
pub(crate) fn damaged(random: &mut fastrand::Rng) -> String {
    let whole =
        r#" {"a":[1,-0.5e+3,{"b":"x\u00e9\ud83d\udce6\\\"","c":[]},{}],"d":null,"e":true , "f":"東\n" }"#;
    let mut text: Vec<char> = whole.chars().collect();
    for _ in 0..random.usize(0..3) {
        let at = random.usize(..text.len());
        match random.u8(..3) {
            0 => drop(text.remove(at)),
            1 => text.truncate(at + 1),
            _ => text.insert(at, char::from(random.choice(*b"{}[],:\"\\01e-+. dntu/\n").unwrap())),
        }
    }
    String::from_iter(text)
}
