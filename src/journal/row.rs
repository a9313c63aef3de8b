//! Rows: how an entry is stored, and the chain.

use super::{Entry, FORMAT};
use crate::error::{Code, ErrorInfo};
use crate::json::{self, json};
use crate::object::Object;
use crate::ports::Millis;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The hash before the first row.
pub const GENESIS: &str = "";

/// What a row says of itself besides its content. It stays when the content is erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The place in the journal, from 1.
    pub seq: u64,
    /// When.
    pub at: Millis,
    /// Which kind of entry.
    pub kind: String,
    /// Which run it belongs to, if any.
    pub run: Option<String>,
}

impl Header {
    fn text(&self) -> String {
        Object::new()
            .number("at", self.at)
            .text("kind", &self.kind)
            .maybe_text("run", self.run.as_deref())
            .number("seq", self.seq)
            .number("v", FORMAT)
            .json()
    }

    fn parse(text: &str) -> Option<(u64, Header)> {
        let value = json::parse(text)?;
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let word = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let header = Header { seq: number("seq")?, at: number("at")?, kind: word("kind")?, run: word("run") };
        Some((number("v")?, header))
    }
}

/// An entry as it is stored: four lines of text, the content empty when it was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    header: String,
    content: Option<String>,
    content_hash: String,
    hash: String,
}

impl Row {
    /// The row of an entry that comes after the row with the hash `previous`.
    pub fn new(header: &Header, entry: &Entry, previous: &str) -> Row {
        let header = header.text();
        let content = json(&entry.to_json());
        let content_hash = sha256(&[&content]);
        let hash = sha256(&[previous, "\n", &header, "\n", &content_hash]);
        Row { header, content: Some(content), content_hash, hash }
    }

    /// The hash that the next row builds on.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The stored text. No canonical JSON holds a raw line end, so lines can be told apart.
    pub fn to_text(&self) -> String {
        let content = self.content.as_deref().unwrap_or_default();
        [&self.header, "\n", content, "\n", &self.content_hash, "\n", &self.hash].concat()
    }

    /// Reads a stored text. The hashes are not checked here; see [`Row::follows`].
    pub fn from_text(text: &str) -> Result<Row, ErrorInfo> {
        let mut lines = text.split('\n');
        match (lines.next(), lines.next(), lines.next(), lines.next(), lines.next()) {
            (Some(header), Some(content), Some(content_hash), Some(hash), None) => Ok(Row {
                header: header.into(),
                content: (!content.is_empty()).then(|| content.into()),
                content_hash: content_hash.into(),
                hash: hash.into(),
            }),
            _ => Err(corrupt("a journal row is not readable")),
        }
    }

    /// Whether this row's hashes are right and it comes after the row with the hash `previous`.
    pub fn follows(&self, previous: &str) -> bool {
        self.content.as_ref().is_none_or(|content| sha256(&[content]) == self.content_hash)
            && sha256(&[previous, "\n", &self.header, "\n", &self.content_hash]) == self.hash
    }

    /// What the row says of itself, and its entry unless that was erased.
    pub fn read(&self) -> Result<(Header, Option<Entry>), ErrorInfo> {
        let Some((version, header)) = Header::parse(&self.header) else {
            return Err(corrupt("a journal row has no readable header"));
        };
        if version > FORMAT {
            return Err(ErrorInfo::new(
                Code::NewerVersion,
                format!("entry {} was written by a newer version of lodger", header.seq),
            )
            .hint("reload the page to get the newer version"));
        }
        let Some(content) = &self.content else { return Ok((header, None)) };
        let value =
            json::parse(content).ok_or_else(|| corrupt(format!("entry {} holds no JSON", header.seq)))?;
        match Entry::from_json(&header.kind, &value) {
            Some(entry) => Ok((header, Some(entry))),
            None => Err(corrupt(format!("entry {} ({}) is not readable", header.seq, header.kind))),
        }
    }

    /// The same row without its content; its hashes stay.
    #[must_use]
    pub fn erased(mut self) -> Row {
        self.content = None;
        self
    }
}

fn corrupt(message: impl Into<String>) -> ErrorInfo {
    ErrorInfo::new(Code::Corrupt, message).hint("delete the workspace to start anew, or report this")
}

fn sha256(parts: &[&str]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
    }
    let mut text = String::with_capacity(64);
    for byte in hasher.finalize() {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from(HEX.get(usize::from(nibble)).copied().unwrap_or(b'0')));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(seq: u64) -> Header {
        Header { seq, at: 1_700_000_000_000, kind: "ended".into(), run: Some("run_1".into()) }
    }

    fn entry(word: &str) -> Entry {
        Entry::Ended { outcome: word.into(), code: None }
    }

    #[test]
    fn the_hash_is_that_of_the_standard() {
        assert_eq!(sha256(&["ab", "c"]), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_row_reads_back_and_follows_only_its_own_predecessor() {
        let first = Row::new(&header(1), &entry("completed"), GENESIS);
        let second = Row::new(&header(2), &entry("failed"), first.hash());
        assert!(first.follows(GENESIS) && second.follows(first.hash()));
        assert!(!second.follows(GENESIS));
        let back = Row::from_text(&second.to_text()).unwrap();
        assert_eq!(back, second);
        assert_eq!(back.read().unwrap(), (header(2), Some(entry("failed"))));
    }

    #[test]
    fn an_erased_row_keeps_the_chain_and_loses_the_content() {
        let first = Row::new(&header(1), &entry("completed"), GENESIS);
        let erased = Row::from_text(&first.clone().erased().to_text()).unwrap();
        assert!(erased.follows(GENESIS));
        assert_eq!(erased.hash(), first.hash());
        assert_eq!(erased.read().unwrap(), (header(1), None));
    }

    #[test]
    fn a_changed_row_does_not_follow() {
        let row = Row::new(&header(1), &entry("completed"), GENESIS).to_text();
        for (from, to) in [("completed", "interrupted"), ("run_1", "run_2")] {
            assert!(!Row::from_text(&row.replace(from, to)).unwrap().follows(GENESIS));
        }
    }

    #[test]
    fn a_row_of_a_newer_version_is_told_apart_from_a_broken_one() {
        let row = Row::new(&header(7), &entry("completed"), GENESIS).to_text();
        let newer = Row::from_text(&row.replace("\"v\":1", "\"v\":2")).unwrap().read().unwrap_err();
        assert_eq!(newer.code, Code::NewerVersion);
        let unknown = Row::from_text(&row.replace("ended", "dreamt")).unwrap().read().unwrap_err();
        assert_eq!(unknown.code, Code::Corrupt);
        assert_eq!(Row::from_text("a\nb").unwrap_err().code, Code::Corrupt);
    }
}
