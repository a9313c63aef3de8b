//! Files that are written from tables of this crate, and kept in the repository beside what is written by hand.
//!
//! Decides how sentences of a table read in TypeScript. Promises: a file that does not say what its table says fails the
//! test that names it. Leaves to others: what is in a file (`journal::types`, `session::record`). It is compiled for tests
//! only.

use std::path::Path;
use std::{env, fs};

/// The file at this path is this text. With `LODGER_WRITE=1` it is written instead.
pub(crate) fn same(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if env::var_os("LODGER_WRITE").is_some() {
        fs::write(&file, text).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    let command = "LODGER_WRITE=1 cargo test --package lodger --lib written";
    assert!(stored == text, "{path} does not say what its table says; write it anew by `{command}`");
}

/// Sentences as a comment of TypeScript; none where there are none.
pub(crate) fn comment(indent: &str, sentences: &[&str]) -> String {
    let words = sentences.iter().map(|line| without_links(line.trim())).collect::<Vec<_>>().join(" ");
    if words.is_empty() { words } else { format!("{indent}/** {words} */\n") }
}

/// A list of words as a type.
pub(crate) fn union(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | ")
}

/// Links between items of Rust lead nowhere in another language: their text stays.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[`") {
        let (name, after) = link.split_once("`]").unwrap();
        text.push_str(&format!("{before}`{name}`"));
        rest = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').unwrap().1,
            None => after,
        };
    }
    text + rest
}

#[test]
fn links_of_rust_become_their_text() {
    let line = "Who: [`Peer::name`](crate::model::Peer), each a [`Block::File`].";
    assert_eq!(without_links(line), "Who: `Peer::name`, each a `Block::File`.");
}
