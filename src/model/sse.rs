//! Server-sent events, from bytes.
//!
//! Decides where events begin and end, as the HTML standard says. Lines end in LF, CR or CRLF, wherever the
//! network cuts them. One BOM at the start is dropped. Invalid UTF-8 becomes U+FFFD. Promises: the same events
//! at any split, in linear time. An event that lies inside one piece is handed out as it lies there, without a
//! copy. What is not closed by an empty line is never handed out. Leaves to others: what an event means, and
//! that an unfinished one at the end is a broken answer (`decoder`). `id` and `retry` mean nothing to a model
//! stream and are skipped.

use crate::error::{Code, ErrorInfo};
use std::borrow::Cow;

/// The largest event, in bytes. Ten times what a provider is known to send in one; far below what a tab holds.
pub(super) const MAX_EVENT: usize = 16 * 1024 * 1024;

/// Takes an event: its name (empty: none given) and its data.
pub(super) type OnEvent<'a> = dyn FnMut(&str, &str) -> Result<(), ErrorInfo> + 'a;

/// The state between two pieces.
#[derive(Debug, Default)]
pub(super) struct Sse {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// The data lines of the open event that no longer lie in the current piece.
    data: Vec<u8>,
    /// Whether `data` counts: an empty data line is data too.
    has_data: bool,
    /// The open event's name.
    name: Vec<u8>,
    /// The last line ended in CR: a LF that follows belongs to it.
    after_cr: bool,
    /// The first line, which may begin with a BOM, is over.
    begun: bool,
    /// At least one event was handed out.
    dispatched: bool,
}

impl Sse {
    /// Whether there was an event at all.
    pub(super) fn dispatched(&self) -> bool {
        self.dispatched
    }

    /// Reads a piece. Stops at the first error of `on`.
    pub(super) fn push(&mut self, bytes: &[u8], on: &mut OnEvent<'_>) -> Result<(), ErrorInfo> {
        let mut rest = bytes;
        // The open event's only data line, while it lies in this piece.
        let mut here: Option<&[u8]> = None;
        loop {
            if self.after_cr {
                match rest.split_first() {
                    Some((b'\n', tail)) => rest = tail,
                    Some(_) => {}
                    None => break,
                }
                self.after_cr = false;
            }
            let Some(at) = line_end(rest) else { break };
            let (Some((line, tail)), Some(end)) = (rest.split_at_checked(at), rest.get(at)) else { break };
            self.after_cr = *end == b'\r';
            rest = tail.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.take_line(line, &mut here, on)?;
            } else {
                let mut joined = std::mem::take(&mut self.line);
                joined.extend_from_slice(line);
                let mut copied = None;
                self.settle(&mut here);
                let result = self.take_line(&joined, &mut copied, on);
                self.settle(&mut copied);
                joined.clear();
                self.line = joined;
                result?;
            }
            if self.data.len() + here.map_or(0, <[u8]>::len) > MAX_EVENT {
                return Err(too_large());
            }
        }
        self.settle(&mut here);
        if self.line.len() + self.data.len() + rest.len() > MAX_EVENT {
            return Err(too_large());
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Copies a borrowed data line, because its bytes will not stay or another line follows it.
    fn settle(&mut self, here: &mut Option<&[u8]>) {
        if let Some(value) = here.take() {
            self.add_data(value);
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    /// One whole line. `here` gets the data line if it is the event's first.
    fn take_line<'a>(
        &mut self,
        mut line: &'a [u8],
        here: &mut Option<&'a [u8]>,
        on: &mut OnEvent<'_>,
    ) -> Result<(), ErrorInfo> {
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(here, on);
        }
        if let Some(value) = field(line, b"data") {
            if self.has_data || here.is_some() {
                self.settle(here);
                self.add_data(value);
            } else {
                *here = Some(value);
            }
        } else if let Some(value) = field(line, b"event") {
            self.name.clear();
            self.name.extend_from_slice(value);
        }
        Ok(())
    }

    fn dispatch(&mut self, here: &mut Option<&[u8]>, on: &mut OnEvent<'_>) -> Result<(), ErrorInfo> {
        let result = match here.take() {
            Some(data) => {
                self.dispatched = true;
                on(&text(&self.name), &text(data))
            }
            None if self.has_data => {
                self.dispatched = true;
                on(&text(&self.name), &text(&self.data))
            }
            None => Ok(()),
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }
}

/// The value of this field, if the line is of this field. One space after the colon is not part of it.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

/// Where the first LF or CR is. Eight bytes at a time, as long as each of them is a space or above: text nearly always is.
pub(super) fn line_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let eight = u64::from_ne_bytes(*eight);
        // The top bit of a byte that is below 32 is borrowed from; what is above 127 anyway is masked out.
        if eight.wrapping_sub(EACH * 0x20) & !eight & (EACH * 0x80) != 0 {
            break;
        }
        at += 8;
    }
    let tail = bytes.get(at..)?.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    Some(at + tail)
}

/// A one in each of eight bytes.
const EACH: u64 = 0x0101_0101_0101_0101;

/// The text of these bytes.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// An event, or a line, that nobody keeps.
pub(super) fn too_large() -> ErrorInfo {
    ErrorInfo::new(Code::Protocol, "an event of the answer's stream is larger than 16 MiB")
        .hint("check the base URL: a model API does not send events of this size")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Events = Vec<(String, String)>;

    /// The events of these pieces.
    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Events {
        let mut sse = Sse::default();
        let mut events = Events::new();
        for piece in pieces {
            sse.push(piece, &mut |name, data| {
                events.push((name.into(), data.into()));
                Ok(())
            })
            .unwrap();
        }
        events
    }

    /// The same events whole, cut in two at every byte, and byte by byte.
    fn check(name: &str, bytes: &[u8], expected: &[(&str, &str)]) {
        let expected: Events = expected.iter().map(|(n, d)| (n.to_string(), d.to_string())).collect();
        assert_eq!(events([bytes]), expected, "{name}, whole");
        for at in 0..=bytes.len() {
            let (a, b) = bytes.split_at(at);
            assert_eq!(events([a, b]), expected, "{name}, cut at {at}");
            assert_eq!(events([a, &[], b]), expected, "{name}, cut at {at} with nothing between");
        }
        assert_eq!(events(bytes.chunks(1)), expected, "{name}, byte by byte");
        assert_eq!(events(bytes.chunks(3)), expected, "{name}, in threes");
    }

    #[test]
    fn the_web_platform_vectors() {
        let x = "x".repeat(2048);
        let comments = format!("data:1\r:\0\n:\r\ndata:2\n:{x}\rdata:3\n:data:fail\r:{x}\ndata:4\n\n");
        for (name, bytes, expected) in [
            (
                "field-data",
                &b"data:\n\ndata\ndata\n\ndata:test\n\n"[..],
                &[("", ""), ("", "\n"), ("", "test")][..],
            ),
            ("bom", b"\xEF\xBB\xBFdata:1\n\n\xEF\xBB\xBFdata:2\n\ndata:3\n\n", &[("", "1"), ("", "3")]),
            ("bom-2", b"\xEF\xBB\xBF\xEF\xBB\xBFdata:1\n\ndata:2\n\ndata:3\n\n", &[("", "2"), ("", "3")]),
            ("comments", comments.as_bytes(), &[("", "1\n2\n3\n4")]),
            (
                "data-before-final-empty-line",
                b"retry:1000\ndata:test1\n\nid:test\ndata:test2",
                &[("", "test1")],
            ),
            ("field-event-empty", b"event: \ndata:data\n\n", &[("", "data")]),
            ("null-character", b"data:\0\n\n", &[("", "\0")]),
        ] {
            check(name, bytes, expected);
        }
    }

    #[test]
    fn the_vectors_that_browsers_agree_on() {
        for (name, bytes, expected) in [
            ("cr", &b"data:a\r\rdata:b\r\r"[..], &[("", "a"), ("", "b")][..]),
            ("crlf", b"data:a\r\n\r\ndata:b\r\n\r\n", &[("", "a"), ("", "b")]),
            ("mixed", b"data:a\rdata:b\r\ndata:c\ndata:d\n\n", &[("", "a\nb\nc\nd")]),
            ("space", b"data:  two\ndata:\ttab\ndata:x\n\n", &[("", " two\n\ttab\nx")]),
            ("unknown", b"foo\nfoo:bar\n data:no\ndata :no\ndata:ok\n\n", &[("", "ok")]),
            ("upper", b"DATA:no\nData:no\ndata:yes\n\n", &[("", "yes")]),
            ("eventOnly", b"event:zap\n\ndata:1\n\n", &[("", "1")]),
            ("evReset", b"event:zap\ndata:1\n\ndata:2\n\n", &[("zap", "1"), ("", "2")]),
            ("idNul", b"id:a\ndata:1\n\nid:b\0c\ndata:2\n\n", &[("", "1"), ("", "2")]),
        ] {
            check(name, bytes, expected);
        }
    }

    #[test]
    fn what_else_a_stream_may_contain() {
        for (name, bytes, expected) in [
            ("nothing", &b""[..], &[][..]),
            ("only a BOM", b"\xEF\xBB\xBF", &[]),
            ("half a BOM", b"\xEF\xBBdata:1\n\ndata:2\n\n", &[("", "2")]),
            ("comment", b": keep-alive\n\n:\n\ndata:1\n\n", &[("", "1")]),
            ("field prefix", b"dat:1\ndataset:2\neventual:x\ndata:3\n\n", &[("", "3")]),
            ("the last name counts", b"event:a\nevent:b\ndata:1\n\n", &[("b", "1")]),
            ("name after data", b"data:1\nevent: late\n\n", &[("late", "1")]),
            ("multi-byte", "data: h\u{e9}llo \u{1f4e6}\n\n".as_bytes(), &[("", "h\u{e9}llo \u{1f4e6}")]),
            ("cut multi-byte", b"data: \xF0\x9F\x93\n\ndata:\xFF\n\n", &[("", "\u{fffd}"), ("", "\u{fffd}")]),
            ("unfinished line", b"data:1\n\ndata:2", &[("", "1")]),
            ("unfinished event", b"data:1\n\ndata:2\n", &[("", "1")]),
            ("cr at the end", b"data:1\r\r", &[("", "1")]),
        ] {
            check(name, bytes, expected);
        }
    }

    #[test]
    fn a_line_of_ten_megabytes_passes_and_one_beyond_the_bound_does_not() {
        let ten = 10 * 1024 * 1024;
        let mut stream = b"data: ".to_vec();
        stream.resize(ten, b'x');
        stream.extend_from_slice(b"\n\n");
        for size in [stream.len(), 65_536, 1000] {
            let events = events(stream.chunks(size));
            assert_eq!(events.len(), 1);
            assert_eq!(events[0].1.len(), ten - 6);
        }
        for line in [&b"data: x\n"[..], b"x"] {
            let mut sse = Sse::default();
            let piece = line.repeat(128 * 1024);
            let mut pushed = 0;
            let error = loop {
                match sse.push(&piece, &mut |_, _| Ok(())) {
                    Ok(()) => pushed += piece.len(),
                    Err(error) => break error,
                }
                assert!(pushed < 8 * MAX_EVENT, "the bound does not hold");
            };
            assert_eq!(error.code, Code::Protocol);
        }
    }

    #[test]
    fn random_bytes_give_the_same_events_at_any_split() {
        let mut random = fastrand::Rng::with_seed(7);
        let words: [&[u8]; 12] = [
            b"data",
            b":",
            b" ",
            b"\n",
            b"\r",
            b"\r\n",
            b"event",
            b"x",
            b"\n\n",
            b"\xEF\xBB\xBF",
            b"\xC3",
            b"\0",
        ];
        for _ in 0..3000 {
            let mut bytes = Vec::new();
            for _ in 0..random.usize(0..40) {
                match random.u8(0..10) {
                    0 => bytes.push(random.u8(..)),
                    _ => bytes.extend_from_slice(words[random.usize(..words.len())]),
                }
            }
            let whole = events([&bytes[..]]);
            let mut pieces = Vec::new();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at(random.usize(1..=rest.len()));
                pieces.push(piece);
                rest = tail;
            }
            assert_eq!(events(pieces), whole, "{bytes:?}");
        }
    }

    #[test]
    fn an_event_inside_one_piece_is_not_copied() {
        let bytes = b"event: ping\ndata: {\"a\":1}\n\n".to_vec();
        let range = bytes.as_ptr_range();
        let mut inside = false;
        Sse::default()
            .push(&bytes, &mut |_, data| {
                inside = range.contains(&data.as_ptr());
                Ok(())
            })
            .unwrap();
        assert!(inside);
    }
}
