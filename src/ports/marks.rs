//! Places in a request's text where the bytes of a file go.
//!
//! Requests are written as text, at once, by codecs that know no bytes. Where a file belongs there is a mark, and the
//! sender of the request puts the file in its place. Promises: no text that comes from outside is ever taken for a
//! mark. A mark begins and ends with a control character, which JSON has inside its strings as an escape only.
//! And nothing goes into a request that is not JSON. Leaves to others: where the bytes are kept, and reading them.

use crate::find;

/// How the bytes stand in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In base64, with padding.
    Base64,
    /// As the inside of a JSON string: they are text.
    Text,
}

/// A piece of a request's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text that is sent as it is.
    Text(&'a str),
    /// The file with this id.
    File(&'a str, Form),
}

const MARK: &str = "\u{1}";

/// How a file's mark says that it is text.
const AS_TEXT: char = 't';

/// Appends the mark of a file.
pub fn push_mark(out: &mut String, id: &str, form: Form) {
    out.push_str(MARK);
    if form == Form::Text {
        out.push(AS_TEXT);
    }
    out.push('#');
    out.push_str(id);
    out.push_str(MARK);
}

/// Whether a text has marks.
pub fn has_marks(text: &str) -> bool {
    text.as_bytes().contains(&1)
}

/// The pieces of a text, in order: text first, then a file and text by turns.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = find::split(rest, MARK) {
        let (mark, after) = find::split(after, MARK).unwrap_or((after, ""));
        let form = if mark.starts_with(AS_TEXT) { Form::Text } else { Form::Base64 };
        pieces.push(Piece::Text(before));
        pieces.push(Piece::File(find::split(mark, "#").map_or(mark, |(_, id)| id), form));
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// The whole text, for hosts that send it from memory. `bytes` gives those of a file. `None`: it lacks one.
pub fn fill(text: &str, bytes: impl Fn(&str) -> Option<Vec<u8>>) -> Option<String> {
    let mut filled = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::File(id, Form::Base64) => push_base64(&mut filled, &bytes(id)?),
            Piece::File(id, Form::Text) => {
                crate::json::push_inside(&mut filled, &String::from_utf8_lossy(&bytes(id)?));
            }
        }
    }
    Some(filled)
}

/// Writes bytes in base64, with padding.
pub(crate) fn push_base64(out: &mut String, bytes: &[u8]) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let byte = |n: usize| u32::from(chunk.get(n).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for n in 0..4_u32 {
            let letter = LETTERS.get((bits >> (18 - 6 * n) & 63) as usize).copied().unwrap_or_default();
            out.push(if n as usize > chunk.len() { '=' } else { char::from(letter) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn bytes(id: &str) -> Option<Vec<u8>> {
        match id {
            "f1" => Some(b"any carnal pleas".to_vec()),
            "f2" => Some("say \"hi\"\n\u{1}t#f1\u{1}".into()),
            "f3" => Some(vec![0xff, 0, 0x10]),
            _ => None,
        }
    }

    #[test]
    fn each_file_comes_to_its_place() {
        let mut text = String::from(r#"{"a":""#);
        push_mark(&mut text, "f1", Form::Base64);
        text.push_str(r#"","b":"x "#);
        push_mark(&mut text, "f2", Form::Text);
        text.push_str(r#"","c":""#);
        push_mark(&mut text, "f3", Form::Base64);
        text.push_str("\"}");
        assert!(has_marks(&text));
        assert_eq!(pieces(&text).len(), 7);
        let whole: Value = serde_json::from_str(&fill(&text, bytes).unwrap()).unwrap();
        assert_eq!(whole["a"], "YW55IGNhcm5hbCBwbGVhcw==");
        // What a file says is never a mark itself.
        assert_eq!(whole["b"], "x say \"hi\"\n\u{1}t#f1\u{1}");
        assert_eq!(whole["c"], "/wAQ");
        assert_eq!(fill(&text, |id| bytes(id).filter(|_| id != "f3")), None);
    }

    #[test]
    fn what_comes_from_outside_is_no_mark() {
        let mut mark = String::new();
        push_mark(&mut mark, "f1", Form::Base64);
        let mut text = String::new();
        crate::json::push_text(&mut text, &mark);
        assert!(!has_marks(&text));
        assert_eq!(pieces(&text), [Piece::Text(text.as_str())]);
        assert!(crate::json::Reader::new(&["\"", &mark, "\""].concat()).value().is_none());
    }

    #[test]
    fn every_length_is_padded() {
        for (bytes, whole) in [(&b""[..], ""), (b"a", "YQ=="), (b"ab", "YWI="), (b"abc", "YWJj")] {
            let mut out = String::new();
            push_base64(&mut out, bytes);
            assert_eq!(out, whole);
        }
    }
}
