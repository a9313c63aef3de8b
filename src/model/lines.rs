//! Objects of JSON, one on a line, from bytes.
//!
//! Decides where lines begin and end: at LF or CR, wherever the network cuts them. Empty lines say nothing, one BOM
//! at the start is dropped, invalid UTF-8 becomes U+FFFD. Promises: the same lines at any split, in linear time. A
//! line that lies inside one piece is handed out as it lies there, without a copy. The last one counts without its
//! line end if it is whole JSON. Leaves to others: what a line means, and what a body is whose first line is no object
//! (`decoder`). Nothing of that body is handed out.

use super::json::Members;
use super::sse::{MAX_EVENT, OnEvent, line_end, text, too_large};
use crate::error::ErrorInfo;

/// The state between two pieces.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// What the first line that says something has shown.
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Unknown,
    Objects,
    /// Something else; nobody reads it.
    Other,
}

impl Lines {
    /// Whether a line was handed out.
    pub(super) fn dispatched(&self) -> bool {
        self.kind == Kind::Objects
    }

    /// Whether an object has at least begun.
    pub(super) fn begun(&self) -> bool {
        self.dispatched() || plain(&self.line).starts_with(b"{")
    }

    /// Reads a piece. Stops at the first error of `on`.
    pub(super) fn push(&mut self, bytes: &[u8], on: &mut OnEvent<'_>) -> Result<(), ErrorInfo> {
        let mut rest = bytes;
        while let Some((line, tail)) = line_end(rest).and_then(|at| rest.split_at_checked(at)) {
            rest = tail.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.take(line, on)?;
            } else {
                let mut joined = std::mem::take(&mut self.line);
                joined.extend_from_slice(line);
                let result = self.take(&joined, on);
                joined.clear();
                self.line = joined;
                result?;
            }
        }
        if self.kind != Kind::Other {
            if self.line.len() + rest.len() > MAX_EVENT {
                return Err(too_large());
            }
            self.line.extend_from_slice(rest);
        }
        Ok(())
    }

    /// The body has ended: what has no line end is a line if it is an object, else it was cut.
    pub(super) fn end(&mut self, on: &mut OnEvent<'_>) -> Result<(), ErrorInfo> {
        let last = std::mem::take(&mut self.line);
        if Members::of(&text(plain(&last))).is_some() { self.take(&last, on) } else { Ok(()) }
    }

    /// One whole line.
    fn take(&mut self, line: &[u8], on: &mut OnEvent<'_>) -> Result<(), ErrorInfo> {
        if self.kind != Kind::Other && line.len() > MAX_EVENT {
            return Err(too_large());
        }
        let line = if self.kind == Kind::Unknown { plain(line) } else { line.trim_ascii() };
        if line.is_empty() || self.kind == Kind::Other {
            return Ok(());
        }
        if self.kind == Kind::Unknown {
            self.kind = if line.starts_with(b"{") { Kind::Objects } else { Kind::Other };
        }
        if self.kind == Kind::Objects { on("", &text(line)) } else { Ok(()) }
    }
}

/// A line without what may stand before and after its object.
fn plain(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    /// The lines of these pieces, the last one too, and whether an object had begun before the end.
    fn lines<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, bool) {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        let mut on = |name: &str, line: &str| {
            assert_eq!(name, "");
            found.push(line.to_string());
            Ok(())
        };
        for piece in pieces {
            lines.push(piece, &mut on).unwrap();
        }
        let begun = lines.begun();
        lines.end(&mut on).unwrap();
        assert_eq!(lines.dispatched(), !found.is_empty());
        (found, begun)
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &[&str], begun: bool) {
        let expected = (expected.iter().map(|line| line.to_string()).collect(), begun);
        assert_eq!(lines([bytes]), expected, "whole");
        for at in 0..=bytes.len() {
            let (a, b) = bytes.split_at(at);
            assert_eq!(lines([a, b]), expected, "cut at {at}");
        }
        assert_eq!(lines(bytes.chunks(1)), expected, "byte by byte");
    }

    #[test]
    fn lines_and_their_ends() {
        check(b"{\"a\":1}\n{}\n", &["{\"a\":1}", "{}"], true);
        check(b"{\"a\":1}\r\n\r\n \n{}\r{\"b\":2}\n\n", &["{\"a\":1}", "{}", "{\"b\":2}"], true);
        check(b"\xEF\xBB\xBF{}\n\n", &["{}"], true);
        check("{\"a\":\"h\u{e9} \u{1f4e6}\"} \n".as_bytes(), &["{\"a\":\"h\u{e9} \u{1f4e6}\"}"], true);
        check(b"{\"a\":\"\xF0\x9F\"}\n", &["{\"a\":\"\u{fffd}\"}"], true);
        // After the first object, the codec judges each line.
        check(b"{}\nno json\n", &["{}", "no json"], true);
    }

    #[test]
    fn a_last_line_without_its_end_counts_when_it_is_whole() {
        check(b"{}\n{\"a\":1}", &["{}", "{\"a\":1}"], true);
        check(b"{\"a\":1} ", &["{\"a\":1}"], true);
        check(b"\xEF\xBB\xBF{\"a\":1}", &["{\"a\":1}"], true);
        check(b"{}\n{\"a\":1", &["{}"], true);
        check(b"{\"a\"", &[], true);
        check(b"\xEF\xBB\xBF {\"a\"", &[], true);
    }

    #[test]
    fn what_does_not_begin_with_an_object_is_not_handed_out() {
        for other in ["", " \n", "\u{feff}", "<html>\n{}\n", "data: {}\n\n{}\n{}", "[{}]\n{}", "[1]", "1"] {
            check(other.as_bytes(), &[], false);
        }
    }

    #[test]
    fn a_line_of_ten_megabytes_passes_and_one_beyond_the_bound_does_not() {
        let line = |length: usize| [b"{\"a\":\"", &*vec![b'x'; length], b"\"}\n"].concat();
        let ten = line(10 * 1024 * 1024);
        for size in [ten.len(), 65_536, 1000] {
            let (found, _) = lines(ten.chunks(size));
            assert_eq!(found.iter().map(String::len).collect::<Vec<_>>(), [ten.len() - 1]);
        }
        let large = line(MAX_EVENT);
        for size in [large.len(), 65_536] {
            let mut lines = Lines::default();
            let failed = large.chunks(size).find_map(|piece| lines.push(piece, &mut |_, _| Ok(())).err());
            assert_eq!(failed.unwrap().code, Code::Protocol);
            assert!(lines.line.len() <= MAX_EVENT);
        }
        // What nobody reads is not kept.
        let mut lines = Lines::default();
        for _ in 0..40 {
            lines.push(b"<html>\n", &mut |_, _| Ok(())).unwrap();
            lines.push(&vec![b'x'; 1024 * 1024], &mut |_, _| Ok(())).unwrap();
        }
        assert!(lines.line.is_empty());
    }

    #[test]
    fn random_bytes_give_the_same_lines_at_any_split() {
        let mut random = fastrand::Rng::with_seed(7);
        let words: [&[u8]; 9] =
            [b"{}", b"{\"a\":1}", b"\n", b"\r\n", b" ", b"\xEF\xBB\xBF", b"\xC3", b"{", b"x"];
        for _ in 0..3000 {
            let mut bytes = Vec::new();
            for _ in 0..random.usize(0..30) {
                bytes.extend_from_slice(words[random.usize(..words.len())]);
            }
            let whole = lines([&bytes[..]]);
            let mut pieces = Vec::new();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at(random.usize(1..=rest.len()));
                pieces.push(piece);
                rest = tail;
            }
            assert_eq!(lines(pieces), whole, "{bytes:?}");
        }
    }

    #[test]
    fn a_line_inside_one_piece_is_not_copied() {
        let bytes = b"{\"a\":1}\n".to_vec();
        let range = bytes.as_ptr_range();
        let mut inside = false;
        Lines::default()
            .push(&bytes, &mut |_, line| {
                inside = range.contains(&line.as_ptr());
                Ok(())
            })
            .unwrap();
        assert!(inside);
    }
}
