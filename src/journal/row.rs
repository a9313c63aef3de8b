//! Rows: how an entry is stored, and the chain.
//!
//! Decides the text of a row, in the database and in a file, and its hash over the row before. Promises: what was written
//! is read back byte for byte. An erased row keeps its place in the chain. A row of a newer version is told from a
//! broken one. Leaves to others: what an entry says (`entry`), signatures (`harness/core/integrity.rs`), and where rows
//! are kept.

use super::{Entry, FORMAT};

use crate::error::ErrorInfo;
use crate::json::{self, Reader, json};
use crate::object::Object;
use crate::ports::marks::push_base64;
use crate::ports::{Millis, signed_row};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The first format whose rows have marks of text from outside.
const MARKED: u64 = 2;

/// The first format whose rows write their hashes in base64. In hexadecimal digits they take half as much again.
const IN_BASE64: u64 = 5;

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

/// An entry as it is stored: four lines of text, the content empty when it was erased; a fifth where it is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    header: String,
    content: Option<String>,
    content_hash: String,
    hash: String,
    signature: Option<String>,
}

impl Row {
    /// The row of an entry that comes after the row with the hash `previous`.
    pub fn new(header: &Header, entry: &Entry, previous: &str) -> Row {
        let header = header.text();
        let content = json(&entry.to_json());
        let content_hash = hashed(&[&content]);
        let hash = hashed(&[previous, "\n", &header, "\n", &content_hash]);
        Row { header, content: Some(content), content_hash, hash, signature: None }
    }

    /// The hash that the next row builds on.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// What was signed of it, if anything was. It is no part of the chain, and not of [`Row::to_text`].
    pub fn signature(&self) -> Option<&str> {
        self.signature.as_deref()
    }

    /// Its header and what it says, without hashes: it can be signed where nothing else is known of its journal.
    pub fn said(&self) -> String {
        [&self.header, "\n", self.content.as_deref().unwrap_or_default()].concat()
    }

    /// The stored text without a signature. No canonical JSON holds a raw line end, so lines can be told apart.
    pub fn to_text(&self) -> String {
        let content = self.content.as_deref().unwrap_or_default();
        [&self.header, "\n", content, "\n", &self.content_hash, "\n", &self.hash].concat()
    }

    /// Reads a stored text. The hashes are not checked here; see [`Row::follows`].
    pub fn from_text(text: &str) -> Result<Row, ErrorInfo> {
        let mut lines = text.split('\n');
        let mut line = || lines.next();
        match (line(), line(), line(), line(), line(), line()) {
            (Some(header), Some(content), Some(content_hash), Some(hash), signature, None) => Ok(Row {
                header: header.into(),
                content: (!content.is_empty()).then(|| content.into()),
                content_hash: content_hash.into(),
                hash: hash.into(),
                signature: signature.map(Into::into),
            }),
            _ => Err(ErrorInfo::corrupt("a journal row is not readable")),
        }
    }

    /// The row as it is stored, its signature included.
    pub fn stored(&self) -> String {
        signed_row(&self.to_text(), self.signature.as_slice())
    }

    /// The row as it is stored, without the hashes that its own text and the row before it give. Read by [`Row::from_lean`].
    pub fn lean(&self) -> String {
        let erased = if self.content.is_none() { self.content_hash.as_str() } else { "" };
        let content = self.content.as_deref().unwrap_or_default();
        signed_row(&[&self.header, "\n", content, "\n", erased].concat(), self.signature.as_slice())
    }

    /// Reads it back, as the row after the one with the hash `previous`.
    pub fn from_lean(text: &str, previous: &str) -> Option<Row> {
        let mut lines = text.split('\n');
        let mut line = || lines.next();
        let (Some(header), Some(content), Some(erased), signature, None) =
            (line(), line(), line(), line(), line())
        else {
            return None;
        };
        let mut row = Row {
            header: header.into(),
            content: (!content.is_empty()).then(|| content.into()),
            content_hash: erased.into(),
            hash: String::new(),
            signature: signature.map(Into::into),
        };
        if !content.is_empty() {
            row.content_hash = row.hash_of(&[content]);
        }
        row.hash = row.hash_after(previous);
        Some(row)
    }

    /// The row as a line of JSON, for a file: what it says is in it as it is, byte for byte.
    pub fn to_line(&self) -> String {
        let mut line = ["{\"row\":", &self.header].concat();
        for (name, json) in [
            (",\"entry\":", self.content.as_deref()),
            (",\"contentHash\":\"", Some(&*self.content_hash)),
            ("\",\"hash\":\"", Some(&*self.hash)),
            ("\",\"mac\":\"", self.signature()),
        ] {
            if let Some(json) = json {
                line.push_str(name);
                line.push_str(json);
            }
        }
        line.push_str("\"}");
        line
    }

    /// Reads such a line. The hashes are not checked here.
    pub fn from_line(line: &str) -> Option<Row> {
        let mut row = Row {
            header: String::new(),
            content: None,
            content_hash: String::new(),
            hash: String::new(),
            signature: None,
        };
        let mut reader = Reader::new(line);
        let mut first = true;
        while reader.item(b'{', b'}', first)? {
            first = false;
            let name = reader.name()?;
            let value = reader.value()?;
            // What is no JSON itself has no escapes either.
            let word = || value.strip_prefix('"')?.strip_suffix('"').filter(|word| !word.contains('\\'));
            match &*name {
                "row" => row.header = value.into(),
                "entry" => row.content = Some(value.into()),
                "contentHash" => row.content_hash = word()?.into(),
                "hash" => row.hash = word()?.into(),
                "mac" => row.signature = Some(word()?.into()),
                _ => return None,
            }
        }
        (reader.space().is_none() && !row.header.is_empty()).then_some(row)
    }

    /// Whether its content is what its hash says, unless that was erased.
    pub fn has_its_content(&self) -> bool {
        self.content.as_ref().is_none_or(|content| self.hash_of(&[content]) == self.content_hash)
    }

    /// The hash that it should have after the row with the hash `previous`.
    pub fn hash_after(&self, previous: &str) -> String {
        self.hash_of(&[previous, "\n", &self.header, "\n", &self.content_hash])
    }

    /// A hash as this row's format writes it.
    fn hash_of(&self, parts: &[&str]) -> String {
        // Of a header the format is the last member. It is read without the others, because each row of a start comes by here.
        let header = self.header.as_bytes().strip_suffix(b"}").unwrap_or_default();
        let digits = header.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (name, version) = self.header.split_at_checked(header.len() - digits).unwrap_or_default();
        let version = version.strip_suffix('}').filter(|_| name.ends_with("\"v\":"));
        let version = version.and_then(|version| version.parse::<u64>().ok());
        if version >= Some(IN_BASE64) { hashed(parts) } else { sha256(parts) }
    }

    /// Whether this row's hashes are right and it comes after the row with the hash `previous`.
    pub fn follows(&self, previous: &str) -> bool {
        self.has_its_content() && self.hash_after(previous) == self.hash
    }

    /// What the row says of itself, if that can be read. Nothing is checked.
    pub fn header(&self) -> Option<Header> {
        Header::parse(&self.header).map(|(_, header)| header)
    }

    /// What the row says of itself, and its entry unless that was erased.
    pub fn read(&self) -> Result<(Header, Option<Entry>), ErrorInfo> {
        let Some((version, header)) = Header::parse(&self.header) else {
            return Err(ErrorInfo::corrupt("a journal row has no readable header"));
        };
        if version > FORMAT {
            let message = format!("entry {} was written by a newer version of lodger", header.seq);
            return Err(ErrorInfo::newer(message));
        }
        let Some(content) = &self.content else { return Ok((header, None)) };
        let value = json::parse(content)
            .ok_or_else(|| ErrorInfo::corrupt(format!("entry {} holds no JSON", header.seq)))?;
        match Entry::from_json(&header.kind, &value) {
            Some(entry) => Ok((header, Some(entry))),
            None => {
                Err(ErrorInfo::corrupt(format!("entry {} ({}) is not readable", header.seq, header.kind)))
            }
        }
    }

    /// Whether it is in an older format than what is written today.
    pub fn is_older(&self) -> bool {
        Header::parse(&self.header).is_some_and(|(version, _)| version < FORMAT)
    }

    /// Whether it was written before there were marks of text from outside.
    pub fn has_no_marks(&self) -> bool {
        Header::parse(&self.header).is_some_and(|(version, _)| version < MARKED)
    }

    /// Whether it puts something on record, by its header alone.
    pub fn is_recorded(&self) -> bool {
        self.header().is_some_and(|header| header.kind == "recorded")
    }

    /// The same row without its content; its hashes stay.
    #[must_use]
    pub fn erased(mut self) -> Row {
        self.content = None;
        self
    }
}

/// A hash as the rows of today have it: in base64, without the last sign, which says nothing.
fn hashed(parts: &[&str]) -> String {
    let mut text = String::with_capacity(44);
    push_base64(&mut text, &digest(parts));
    text.truncate(43);
    text
}

pub(crate) fn sha256(parts: &[&str]) -> String {
    hex(&digest(parts))
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from(HEX.get(usize::from(nibble)).copied().unwrap_or(b'0')));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

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
    fn a_row_reads_back_from_its_line_with_what_is_signed_of_it() {
        let row = Row::new(&header(1), &entry("a \"word\"\nand\\"), GENESIS);
        let signed = Row::from_text(&[&row.to_text(), "\nabc def"].concat()).unwrap();
        for row in [row.clone(), row.erased(), signed] {
            let line = row.to_line();
            assert!(!line.contains('\n') && serde_json::from_str::<Value>(&line).is_ok(), "{line}");
            assert_eq!(Row::from_line(&line), Some(row.clone()), "{line}");
            assert_eq!(Row::from_text(&row.stored()).unwrap(), row);
        }
    }

    #[test]
    fn a_line_that_is_no_row_is_told_from_one() {
        let line = Row::new(&header(1), &entry("completed"), GENESIS).to_line();
        for (from, to) in [
            ("{\"row\"", "{\"raw\""),
            ("\"hash\":\"", "\"hash\":\"\\n"),
            ("\"}", "\",\"mac\":\"a\\u000ab\"}"),
            ("\"}", "\",\"mac\":7}"),
            ("\"}", "\"}}"),
            ("\"}", "\"} x"),
            ("{\"row\":", "["),
        ] {
            // The row's own members, not those in it.
            let at = if from == "\"}" { line.rfind(from) } else { line.find(from) };
            let (before, after) = line.split_at(at.unwrap());
            let changed = [before, to, after.strip_prefix(from).unwrap()].concat();
            assert_eq!(Row::from_line(&changed), None, "{from} -> {to}");
        }
        assert_eq!(Row::from_line("{}"), None);
        assert_eq!(Row::from_line(""), None);
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
        let is = |version| format!("\"v\":{version}");
        let newer = row.replace(&is(FORMAT), &is(FORMAT + 1));
        let newer = Row::from_text(&newer).unwrap().read().unwrap_err();
        assert_eq!(newer.code, Code::NewerVersion);
        let unknown = Row::from_text(&row.replace("ended", "dreamt")).unwrap().read().unwrap_err();
        assert_eq!(unknown.code, Code::Corrupt);
        assert_eq!(Row::from_text("a\nb").unwrap_err().code, Code::Corrupt);
    }
}
