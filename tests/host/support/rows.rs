//! Rows that nobody has written: what a program beside this one can make of a journal, hashes included.

use lodger::journal::Row;
use lodger::ports::marks::{Form, fill, push_mark};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A hash as the rows of today have it.
pub fn hash(text: &str) -> String {
    let mut mark = String::new();
    push_mark(&mut mark, "hash", Form::Base64);
    let text = fill(&mark, |_| Some(Sha256::digest(text).to_vec())).unwrap();
    text.trim_end_matches('=').into()
}

/// A row that says this, with the hashes that its format has behind the row with the hash `before`.
pub fn row(header: &str, content: &str, before: &str) -> Row {
    let said: Value = serde_json::from_str(header).unwrap();
    let in_hex = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let hash = |text: &str| if said["v"].as_u64() < Some(5) { in_hex(text) } else { hash(text) };
    let content_hash = hash(content);
    let own = hash(&[before, header, &content_hash].join("\n"));
    Row::from_text(&[header, content, &content_hash, &own].join("\n")).unwrap()
}
