//! JSON from the front, byte by byte.
//!
//! Decides what is JSON: the standard, to the letter. Promises: nothing is copied that need not be, nothing is looked at
//! twice, and only [`Reader::string`] ever makes a copy. Every event of every stream goes through here.

use std::borrow::Cow;

#[cfg(test)]
thread_local! {
    /// How many bytes all readers of this thread were given: what tests count in place of time.
    pub(crate) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A text, and how far it was read. What gives `None` found no JSON; it is no use to read on.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads this text.
    pub fn new(text: &'a str) -> Self {
        #[cfg(test)]
        LOOKED_AT.set(LOOKED_AT.get() + text.len());
        Reader { text, at: 0 }
    }

    /// How far it was read, in bytes.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Goes over this text, if just this comes next.
    pub fn exactly(&mut self, text: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += text.len();
        rest.starts_with(text.as_bytes()).then_some(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes over white space. Gives what comes then.
    pub fn space(&mut self) -> Option<u8> {
        loop {
            let byte = self.peek()?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Goes over this byte, if it comes next.
    fn eat(&mut self, byte: u8) -> bool {
        let comes = self.space() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    /// Goes over what stands before the next item of a list or an object. `false`: it was the end.
    pub fn item(&mut self, open: u8, close: u8, first: bool) -> Option<bool> {
        if first && !self.eat(open) {
            return None;
        }
        if self.eat(close) {
            return Some(false);
        }
        (first || self.eat(b',')).then_some(true)
    }

    /// The name of a member, up to its value.
    pub fn name(&mut self) -> Option<Cow<'a, str>> {
        self.space()?;
        let name = self.string()?;
        self.eat(b':').then_some(name)
    }

    /// The text of a value, however deep. Without recursion: a server may send brackets by the thousand.
    pub fn value(&mut self) -> Option<&'a str> {
        self.space()?;
        let begin = self.at;
        // How each object and list that is open ends.
        let mut open = Vec::new();
        loop {
            let close = match self.space()? {
                b'"' => {
                    self.quoted()?;
                    None
                }
                b'{' => Some(b'}'),
                b'[' => Some(b']'),
                b'-' | b'0'..=b'9' => {
                    self.number()?;
                    None
                }
                _ => {
                    self.word()?;
                    None
                }
            };
            let mut first = close.is_some();
            open.extend(close);
            // The value is over, or has begun: on to the next one.
            loop {
                let Some(close) = open.last().copied() else { return self.text.get(begin..self.at) };
                let bracket = if close == b'}' { b'{' } else { b'[' };
                if self.item(bracket, close, first)? {
                    if close == b'}' {
                        self.name()?;
                    }
                    break;
                }
                first = false;
                open.pop();
            }
        }
    }

    fn word(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let word = [&b"true"[..], b"false", b"null"].into_iter().find(|word| rest.starts_with(word))?;
        self.at += word.len();
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }

    /// A string that comes next, borrowed where it has no escapes.
    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        let begin = self.at;
        let escaped = self.quoted()?;
        let plain = self.text.get(begin + 1..self.at - 1)?;
        if escaped {
            return unescaped(plain).map(Cow::Owned);
        }
        Some(Cow::Borrowed(plain))
    }

    /// Goes over a string. Whether it has escapes.
    fn quoted(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        if *bytes.get(self.at)? != b'"' {
            return None;
        }
        let mut at = self.at + 1;
        let mut escaped = false;
        loop {
            at += plain(bytes.get(at..)?);
            match *bytes.get(at)? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    at += match bytes.get(at + 1)? {
                        b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                        _ => return None,
                    };
                }
                0..0x20 => return None,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(escaped)
    }
}

/// How many bytes at the front end no string and need no escape; all of them stand in whole words of eight. A word at a time,
/// because a browser runs a module's code slowly at first.
pub(super) fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let (words, _) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let slash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        // The lowest that is found is one; what is found above it may be none.
        let found = (quote | slash | control) & HIGH;
        if found != 0 {
            return at * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    words.len() * 8
}

/// What stands behind a backslash, and for what. Any other sign behind one stands for itself.
pub(super) const ESCAPES: [(char, char); 5] =
    [('n', '\n'), ('r', '\r'), ('t', '\t'), ('b', '\u{8}'), ('f', '\u{c}')];

/// A string's text, its escapes read. None: it has half of a surrogate pair, which is no character.
fn unescaped(quoted: &str) -> Option<String> {
    let mut text = String::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some(at) = rest.bytes().position(|byte| byte == b'\\') {
        text.push_str(rest.get(..at)?);
        let mut letters = rest.get(at + 1..)?.chars();
        let letter = letters.next()?;
        rest = letters.as_str();
        text.push(match letter {
            'u' => match hex(&mut rest)? {
                code @ 0xd800..0xdc00 => {
                    rest = rest.strip_prefix("\\u")?;
                    let second = hex(&mut rest)?.checked_sub(0xdc00).filter(|second| *second < 0x400)?;
                    char::from_u32(0x10000 + ((code - 0xd800) << 10) + second)?
                }
                code => char::from_u32(code)?,
            },
            _ => ESCAPES.iter().find(|(known, _)| *known == letter).map_or(letter, |(_, text)| *text),
        });
    }
    text.push_str(rest);
    Some(text)
}

/// Cuts four hexadecimal digits off the front.
fn hex(rest: &mut &str) -> Option<u32> {
    let (digits, after) = rest.split_at_checked(4)?;
    *rest = after;
    digits.chars().try_fold(0, |number, digit| Some(number << 4 | digit.to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_ends_where_a_string_ends_or_has_an_escape() {
        let ends = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
        let mut random = fastrand::Rng::with_seed(3);
        for byte in 0..=u8::MAX {
            for at in 0..24 {
                let mut text = [b'a'; 24];
                text.iter_mut().for_each(|letter| *letter = random.u8(0x20..));
                text[at] = byte;
                for whole in [8, 16, 24] {
                    let found = text[..whole].iter().position(|letter| ends(*letter));
                    assert_eq!(plain(&text[..whole]), found.unwrap_or(whole), "{text:?}");
                    assert_eq!(plain(&text[..whole - 1]), found.unwrap_or(whole).min(whole - 8), "{text:?}");
                }
            }
        }
    }
}
