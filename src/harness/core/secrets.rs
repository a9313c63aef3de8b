//! Keys, kept out of everything but the requests that they are for.
//!
//! Decides in which forms a key is looked for, and what stands in its place. Promises: a key of eight bytes or more is taken
//! out of every text that passes here. That is done as it is, with any escapes of JSON, and as a URL writes it. Of what a
//! provider says went wrong, parts of a key go too. The longer of two is taken out first, because what is left of it would be
//! half a key. Leaves to others: to hand over every text that comes from outside before it is stored, told or cut.

use crate::error::{ErrorInfo, Provided, Told};
use crate::harness::config::SECRET_BYTES;
use crate::list::Listed;
use crate::model::errors::shorten;
use crate::model::{Block, Cited, ServerCall};
use crate::object::Object;
use crate::tools::ToolText;
use crate::{find, json};
use serde_json::Value;
use std::rc::Rc;

/// What stands in place of a key.
const REDACTED: &str = "[REDACTED]";
/// From which length on a part of a key goes, in bytes.
const PART: usize = 12;
/// A JSON text may be a text of another one: so deep it may lie, and a key with escapes is still found in it.
const DEPTH: u32 = 4;

/// Every key that was ever given: what is on its way may still name an earlier one.
#[derive(Debug, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Takes note of a key: it must not appear anywhere, nor as a JSON text or a URL writes it. What `fetch` trims goes
    /// out without its ends, and may come back so.
    pub fn keep(&mut self, key: &str) {
        let key = key.trim_ascii();
        if key.len() < SECRET_BYTES {
            return;
        }
        for form in [key.into(), in_json(key), in_url(key)] {
            if !self.0.contains(&form) {
                let at = self.0.iter().position(|other| other.len() < form.len());
                self.0.insert(at.unwrap_or(self.0.len()), form);
            }
        }
    }

    /// Takes the keys out of a text. Whether there were any.
    pub fn scrub(&self, text: &mut String) -> bool {
        let mut found = false;
        for secret in &self.0 {
            if find::has(text, secret) {
                *text = find::replace(text, secret, REDACTED);
                found = true;
            }
        }
        if has_escapes(text) && !self.0.is_empty() { self.scrub_escaped(text) || found } else { found }
    }

    /// The same of keys that are written with escapes: `\u0073k-…`, `a\/b`. Also in a JSON text that is a text of another.
    fn scrub_escaped(&self, text: &mut String) -> bool {
        let mut found = false;
        let mut depth = 1;
        let mut level = unescaped(text, depth);
        // As long as there is something to take an escape from.
        let mut longer = text.len();
        while level.plain.len() < longer {
            while self.cut_out(text, &level) {
                found = true;
                level = unescaped(text, depth);
            }
            depth += 1;
            longer = level.plain.len();
            if depth <= DEPTH {
                level = level.deeper();
            }
        }
        found
    }

    /// Takes the first key out that is in a text without its escapes, as often as it is there. Whether there was any.
    fn cut_out(&self, text: &mut String, Unescaped { plain, places }: &Unescaped) -> bool {
        let place = |at: usize| places.get(at).copied().unwrap_or(text.len());
        for secret in &self.0 {
            let (mut clean, mut rest, mut kept) = (String::new(), 0, 0);
            while let Some(at) = plain.get(rest..).and_then(|plain| find::position(plain, secret)) {
                clean.push_str(text.get(kept..place(rest + at)).unwrap_or_default());
                clean.push_str(REDACTED);
                rest += at + secret.len();
                kept = place(rest);
            }
            if kept > 0 {
                clean.push_str(text.get(kept..).unwrap_or_default());
                *text = clean;
                return true;
            }
        }
        false
    }

    /// Takes parts of keys out of a text: providers quote the key that they refuse, with its middle left out.
    fn scrub_parts(&self, text: &mut String) {
        let mut clean = String::new();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let longest = self.0.iter().map(|secret| shared(rest, secret)).max().unwrap_or_default();
            let (part, by) = if longest >= PART { (longest, REDACTED) } else { (c.len_utf8(), "") };
            clean.push_str(if by.is_empty() { rest.get(..part).unwrap_or_default() } else { by });
            rest = rest.get(part..).unwrap_or_default();
        }
        *text = clean;
    }

    /// The same text without keys. A text is cut after this: half a key is not found any more.
    pub fn scrubbed(&self, text: String) -> String {
        let mut text = text;
        self.scrub(&mut text);
        text
    }

    /// The same value with its texts scrubbed.
    pub fn scrubbed_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.scrubbed(text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.scrubbed_value(item)).array(),
            Value::Object(members) => {
                let mut scrubbed = Object::new();
                for (name, value) in members {
                    scrubbed.value(&self.scrubbed(name), self.scrubbed_value(value));
                }
                scrubbed.done()
            }
            other => other,
        }
    }

    /// The same blocks with their texts scrubbed.
    pub fn scrubbed_blocks(&self, mut blocks: Vec<Block>) -> Vec<Block> {
        for block in &mut blocks {
            match block {
                Block::Text(text) | Block::Extra(text) | Block::Raw(text) => {
                    self.scrub(text);
                }
                Block::ToolCall { id, name, arguments } => {
                    for text in [id, name, arguments] {
                        self.scrub(text);
                    }
                }
                Block::Thinking { text, signature } => {
                    // Its provider would refuse what it has signed otherwise.
                    if self.scrub(text) {
                        *signature = None;
                    }
                }
                // Nobody else has them yet.
                Block::ServerCall(call) => {
                    if let Some(ServerCall { id, name, arguments, result, .. }) = Rc::get_mut(call) {
                        [id, name, arguments, result].into_iter().for_each(|text| {
                            self.scrub(text);
                        });
                    }
                }
                Block::Cited(cited) => {
                    if let Some(Cited { url, title, text, .. }) = Rc::get_mut(cited) {
                        [url, title, text].into_iter().for_each(|text| {
                            self.scrub(text);
                        });
                    }
                }
                Block::File(_) | Block::ToolResult { .. } => {}
            }
        }
        blocks
    }

    /// An error of the page's own code as the journal keeps it: without keys, and no longer than a result.
    pub fn scrubbed_error(&self, mut error: ErrorInfo) -> ErrorInfo {
        self.scrub_error(&mut error);
        error.message = ToolText::cut(std::mem::take(&mut error.message)).text;
        error
    }

    /// What went wrong with a model, as the journal keeps it and the page may see it: no key in it, and cut after that.
    pub fn clean(&self, mut error: ErrorInfo) -> ErrorInfo {
        self.scrub_error(&mut error);
        shorten(&mut error);
        in_texts(&mut error, &mut |text| self.scrub_parts(text));
        error
    }

    fn scrub_error(&self, error: &mut ErrorInfo) {
        in_texts(error, &mut |text| {
            self.scrub(text);
        });
    }

    /// Takes the keys out of a text that grows, from a place on, and gives up to where it can be told: what may be the
    /// beginning of a key waits for more, as does half an escape, unless this is the `last` of it. An escape may be one of an
    /// escape.
    pub fn tellable(&self, text: &mut String, from: usize, last: bool) -> usize {
        let Some(news) = text.get(from..) else { return text.len() };
        let mut news = news.to_owned();
        if self.scrub(&mut news) {
            text.truncate(from);
            text.push_str(&news);
        }
        if last {
            return text.len();
        }
        let held = |plain: &str| {
            let of = |secret: &String| {
                let begins = |n: &usize| secret.get(..*n).is_some_and(|beginning| plain.ends_with(beginning));
                (1..secret.len().min(plain.len() + 1)).rev().find(begins).unwrap_or(0)
            };
            self.0.iter().map(of).max().unwrap_or(0)
        };
        if !has_escapes(&news) {
            return text.len() - held(&news);
        }
        let mut told = news.len();
        let mut level = Unescaped { places: (0..=told).list(), plain: news };
        for _ in 0..=DEPTH {
            let half = level.plain.bytes().rposition(|byte| byte == b'\\');
            let half = half.filter(|at| is_half(level.plain.get(*at..).unwrap_or_default()));
            level.plain.truncate(half.unwrap_or(level.plain.len()));
            let at = level.plain.len() - held(&level.plain);
            told = told.min(level.places.get(at).copied().unwrap_or_default());
            if !has_escapes(&level.plain) {
                break;
            }
            level = level.deeper();
        }
        from + told
    }
}

/// Each text of an error that comes from elsewhere.
fn in_texts(error: &mut ErrorInfo, each: &mut dyn FnMut(&mut String)) {
    let Told { message, hint, provider: Provided { code, request, .. }, .. } = &mut **error;
    each(message);
    [hint, code, request].into_iter().flatten().for_each(each);
}

/// How much of a text's beginning is a part of a key, in bytes.
fn shared(text: &str, secret: &str) -> usize {
    let is_part = |length: &usize| text.get(..*length).is_some_and(|part| find::has(secret, part));
    if is_part(&PART) {
        (PART..=text.len().min(secret.len())).take_while(is_part).last().unwrap_or(PART)
    } else {
        0
    }
}

/// Whether there may be escapes in a text.
fn has_escapes(text: &str) -> bool {
    text.as_bytes().contains(&b'\\')
}

/// A text without the escapes of JSON.
struct Unescaped {
    plain: String,
    /// For each byte of it, and for its end, the place where that stands in the text.
    places: Vec<usize>,
}

impl Unescaped {
    /// The same without the escapes that are in it.
    fn deeper(&self) -> Unescaped {
        let mut inner = unescaped(&self.plain, 1);
        inner.places.iter_mut().for_each(|at| *at = self.places.get(*at).copied().unwrap_or_default());
        inner
    }
}

/// Takes the escapes out of a text, so often.
fn unescaped(text: &str, depth: u32) -> Unescaped {
    let (mut plain, mut places) = (String::new(), Vec::new());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        let (c, length) = escape(rest).unwrap_or((first, first.len_utf8()));
        plain.push(c);
        places.resize(plain.len(), at);
        at += length;
    }
    places.push(at);
    let level = Unescaped { plain, places };
    (1..depth).fold(level, |level, _| level.deeper())
}

/// Whether an escape begins here and is not whole.
fn is_half(rest: &str) -> bool {
    match rest.as_bytes() {
        [b'\\'] => true,
        [b'\\', b'u', digits @ ..] => digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    }
}

/// The character that an escape at the beginning stands for, and how long it is.
fn escape(rest: &str) -> Option<(char, usize)> {
    match rest.as_bytes() {
        [b'\\', c @ (b'"' | b'\\' | b'/'), ..] => Some(((*c).into(), 2)),
        [b'\\', b'u', ..] => Some((char::from_u32(u32::from_str_radix(rest.get(2..6)?, 16).ok()?)?, 6)),
        _ => None,
    }
}

/// A key as it stands inside a JSON text.
fn in_json(key: &str) -> String {
    let mut text = String::new();
    json::push_text(&mut text, key);
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.unwrap_or(key).into()
}

/// A key as it stands in the query of a URL.
fn in_url(key: &str) -> String {
    let mut text = String::new();
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            text.push(byte.into());
        } else {
            text.push('%');
            for half in [byte >> 4, byte & 15] {
                text.extend(char::from_digit(half.into(), 16).map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_is_taken_out_in_the_forms_that_others_write_it_in() {
        let mut secrets = Secrets::default();
        let key = "sk/\"marked\"+Ab=";
        secrets.keep(key);
        let url = "https://x.example/?k=sk%2F%22marked%22%2BAb%3D";
        for text in [key.to_string(), json!([key]).to_string(), url.into()] {
            let clean = secrets.scrubbed(text.clone());
            assert!(clean.contains("[REDACTED]") && !clean.contains("marked"), "{text}: {clean}");
        }
        // A key that looks the same everywhere is looked for once.
        let mut secrets = Secrets::default();
        secrets.keep("sk-plain_0123");
        assert_eq!(secrets.0, ["sk-plain_0123"]);
    }

    #[test]
    fn a_key_is_taken_out_however_it_is_escaped() {
        let mut secrets = Secrets::default();
        secrets.keep("sk-a/marked\"0123");
        for text in [
            r#"{"k":"\u0073k-a/marked\"0123"}"#,
            r#"{"k":"sk-a\/marked\u00220123","#,
            r#"\u0073\u006b\u002d\u0061\u002f\u006d\u0061\u0072\u006b\u0065\u0064\u0022\u0030\u0031\u0032\u0033 é"#,
        ] {
            let clean = secrets.scrubbed(text.into());
            assert!(
                clean.contains("[REDACTED]") && !clean.contains("23") && !clean.contains("33"),
                "{clean}"
            );
        }
        assert_eq!(
            secrets.scrubbed(r#"é\u0073k-a/marked\"0123\u0073k-a/marked\"0123\né\u12"#.into()),
            r"é[REDACTED][REDACTED]\né\u12"
        );
        for text in [r"C:\u0073\path \", "\\", "\\u", "plain é"] {
            assert_eq!(secrets.scrubbed(text.into()), text);
        }
    }

    /// A JSON text that is a text of another: its escapes are escaped.
    #[test]
    fn a_key_is_taken_out_of_json_in_json() {
        let mut secrets = Secrets::default();
        secrets.keep("sk-a/marked\"0123");
        for depth in 1..=DEPTH {
            let mut text = r#"{"k":"\u0073k-a\/marked\"0123"}"#.to_owned();
            for _ in 1..depth {
                text = json!({ "text": text }).to_string();
            }
            let clean = secrets.scrubbed(text);
            assert!(clean.contains("[REDACTED]") && !clean.contains("marked"), "{clean}");
        }
    }

    /// Whole and by letters: what was told before is never the beginning of a key, however that is escaped.
    #[test]
    fn no_part_of_a_key_is_told_while_a_text_grows() {
        let mut secrets = Secrets::default();
        secrets.keep("sk-a/marked\"0123");
        let mut texts = [
            ("a sk-a/marked\"0123 b", "a [REDACTED] b"),
            (r#"a \u0073k-a\/marked\"0123 b"#, "a [REDACTED] b"),
            (r#"a \u0073\u006B-a/marked\u00220123"#, "a [REDACTED]"),
            (r"a \u0073k-a\u00", r"a \u0073k-a\u00"),
            (r"C:\usr \é\", r"C:\usr \é\"),
            ("sk-a/marke", "sk-a/marke"),
        ]
        .map(|(text, told)| (text.to_owned(), told.to_owned()))
        .to_vec();
        let mut nested = r#"{"k":"\u0073\u006b-a\/marked\"0123"}"#.to_owned();
        for _ in 1..DEPTH {
            nested = json!({ "text": nested }).to_string();
            texts.push((nested.clone(), secrets.scrubbed(nested.clone())));
        }
        for (text, told) in texts {
            let (mut grows, mut until) = (String::new(), 0);
            for c in text.chars() {
                grows.push(c);
                let next = secrets.tellable(&mut grows, until, false);
                assert!(next >= until && grows.is_char_boundary(next), "{grows}: {until}, {next}");
                until = next;
                assert!(told.starts_with(grows.get(..until).unwrap()), "{grows}: {until}");
            }
            until = secrets.tellable(&mut grows, until, true);
            assert_eq!(grows.get(..until).unwrap(), told);
        }
    }

    #[test]
    fn parts_of_a_key_go_from_what_a_provider_says() {
        let mut secrets = Secrets::default();
        secrets.keep("sk-proj-abcdefghijklmnop");
        let code = crate::error::Code::Auth;
        for (said, told) in [
            ("bad key sk-proj-abcd***mnop", "bad key [REDACTED]***mnop"),
            ("bad key …fghijklmnop!", "bad key …fghijklmnop!"),
            ("bad key …efghijklmnop!", "bad key …[REDACTED]!"),
            ("keys begin with sk-proj-", "keys begin with sk-proj-"),
        ] {
            assert_eq!(secrets.clean(ErrorInfo::new(code, said)).message, told);
        }
    }

    #[test]
    fn the_longer_of_two_is_taken_out_first() {
        let mut secrets = Secrets::default();
        secrets.keep(" \tsk-marked-0123456789 \r\n");
        assert_eq!(secrets.scrubbed("[sk-marked-0123456789]".into()), "[[REDACTED]]");
        secrets.keep("sk-marked-0123456789-longer");
        assert_eq!(secrets.scrubbed("sk-marked-0123456789-longer".into()), "[REDACTED]");
    }
}
