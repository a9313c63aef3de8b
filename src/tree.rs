//! JSON between text and tree.
//!
//! Decides what is JSON (the standard, to the letter) and how deep it may go. Promises: takes what `serde_json` takes
//! and gives the same tree, but a number of up to 19 digits is the nearest float, as in browsers. It stands in for
//! serde_json's own reader and writer, which are made for every type of Rust: 10 KB more of WebAssembly, and a table
//! of powers of ten that no compression makes smaller.

use serde_json::{Map, Number, Value};
use std::fmt::Write;

/// How many lists and objects may be open at once.
const DEEPEST: u8 = 127;

/// The tree of a JSON text; none where it is no JSON.
pub fn parse(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(DEEPEST)?;
    reader.space().is_none().then_some(value)
}

/// The JSON text of a tree.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        // Writing to a string cannot fail.
        Value::Number(number) => drop(write!(out, "{number}")),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(out, name);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
    }
}

/// A string, quoted and escaped.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some((plain, tail)) =
        rest.bytes().position(needs_escape).and_then(|at| rest.split_at_checked(at))
    {
        out.push_str(plain);
        let mut chars = tail.chars();
        let byte = chars.next().unwrap_or_default();
        out.push('\\');
        match ESCAPES.iter().find(|(_, stands_for)| *stands_for == byte) {
            Some((letter, _)) => out.push(*letter),
            None => {
                out.push_str("u00");
                let code = u32::from(byte);
                out.extend([code >> 4, code & 15].iter().filter_map(|digit| char::from_digit(*digit, 16)));
            }
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// What stands behind a backslash, and for what.
const ESCAPES: [(char, char); 7] =
    [('"', '"'), ('\\', '\\'), ('n', '\n'), ('r', '\r'), ('t', '\t'), ('b', '\u{8}'), ('f', '\u{c}')];

/// Reads from the front. None: this is no JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes over this byte, if it comes next.
    fn eat(&mut self, byte: u8) -> bool {
        let comes = self.peek() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    /// Goes over white space. Gives what comes then.
    fn space(&mut self) -> Option<u8> {
        while matches!(self.peek()?, b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
        self.peek()
    }

    fn value(&mut self, depth: u8) -> Option<Value> {
        match self.space()? {
            b'"' => self.string().map(Value::String),
            b'[' => {
                let depth = depth.checked_sub(1)?;
                let mut items = Vec::new();
                while self.item(b']', items.is_empty())? {
                    items.push(self.value(depth)?);
                }
                Some(Value::Array(items))
            }
            b'{' => {
                let depth = depth.checked_sub(1)?;
                let mut members = Map::new();
                while self.item(b'}', members.is_empty())? {
                    self.space()?;
                    let name = self.string()?;
                    self.space()?;
                    if !self.eat(b':') {
                        return None;
                    }
                    members.insert(name, self.value(depth)?);
                }
                Some(Value::Object(members))
            }
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    /// Goes over what stands before the next item of a list or an object. `false`: it was the end.
    fn item(&mut self, close: u8, first: bool) -> Option<bool> {
        // The opening bracket was seen.
        self.at += usize::from(first);
        self.space()?;
        if self.eat(close) {
            return Some(false);
        }
        (first || self.eat(b',')).then_some(true)
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        let comes = self.text.as_bytes().get(self.at..)?.starts_with(word.as_bytes());
        self.at += word.len();
        comes.then_some(value)
    }

    fn string(&mut self) -> Option<String> {
        if !self.eat(b'"') {
            return None;
        }
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.at..)?;
            let plain = rest.bytes().position(needs_escape)?;
            text.push_str(rest.get(..plain)?);
            self.at += plain;
            if self.eat(b'"') {
                return Some(text);
            }
            text.push(self.escape()?);
        }
    }

    /// The character of an escape.
    fn escape(&mut self) -> Option<char> {
        if !self.eat(b'\\') {
            return None;
        }
        let letter = char::from(self.peek()?);
        self.at += 1;
        match letter {
            'u' => {
                let code = self.hex()?;
                if code & 0xfc00 != 0xd800 {
                    // The second half of a pair, alone, is no character.
                    return char::from_u32(code);
                }
                let pair = self.eat(b'\\') && self.eat(b'u');
                let second = self.hex().filter(|second| pair && second & 0xfc00 == 0xdc00)?;
                char::from_u32(0x10000 + ((code & 0x3ff) << 10) + (second & 0x3ff))
            }
            '/' => Some('/'),
            _ => ESCAPES.iter().find(|(known, _)| *known == letter).map(|(_, stands_for)| *stands_for),
        }
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
    }

    fn number(&mut self) -> Option<Value> {
        let negative = self.eat(b'-');
        let mut number = Decimal::default();
        if !self.eat(b'0') {
            self.digits(&mut |digit| number.push(digit, false))?;
        }
        let mut whole = number.tens == 0;
        if self.eat(b'.') {
            whole = false;
            self.digits(&mut |digit| number.push(digit, true))?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            whole = false;
            let small = self.eat(b'-');
            let _ = small || self.eat(b'+');
            let mut tens = 0_i32;
            self.digits(&mut |digit| tens = tens.saturating_mul(10).saturating_add(digit as i32))?;
            number.tens = number.tens.saturating_add(if small { -tens } else { tens });
        }
        let number = match (whole, negative) {
            (true, false) => number.digits.into(),
            // There is no whole number -0.
            (true, true) if number.digits > 0 && number.digits <= 1 << 63 => {
                0_i64.wrapping_sub_unsigned(number.digits).into()
            }
            _ => Number::from_f64(if negative { -number.nearest() } else { number.nearest() })?,
        };
        Some(Value::Number(number))
    }

    /// One digit or more.
    fn digits(&mut self, take: &mut dyn FnMut(u64)) -> Option<()> {
        let begin = self.at;
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(10)) {
            take(digit.into());
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }
}

/// A number as it is written: digits, and how often they are to be multiplied by ten.
#[derive(Default)]
struct Decimal {
    digits: u64,
    tens: i32,
    full: bool,
}

impl Decimal {
    /// One more digit; those that find no room only count.
    fn push(&mut self, digit: u64, behind_the_point: bool) {
        let longer = self.digits.checked_mul(10).and_then(|digits| digits.checked_add(digit));
        match longer.filter(|_| !self.full) {
            Some(digits) => {
                self.digits = digits;
                self.tens -= i32::from(behind_the_point);
            }
            None => {
                self.full = true;
                self.tens += i32::from(!behind_the_point);
            }
        }
    }

    /// The float that is nearest. Worked out with twice its digits and more, so that what is lost on the way does not
    /// show. Infinite where there is none.
    fn nearest(&self) -> f64 {
        let mut wide = u128::from(self.digits);
        let mut twos = 0;
        if wide == 0 {
            return 0.0;
        }
        for _ in 0..self.tens.unsigned_abs().min(400) {
            // As far up as it goes, but for the room that ten takes.
            let up = wide.leading_zeros();
            wide <<= up;
            twos -= up as i32;
            if self.tens < 0 {
                wide = tenth(wide);
            } else {
                wide = (wide >> 4) * 10;
                twos += 4;
            }
        }
        // In two steps: the smallest floats are less than the smallest power of two that can be multiplied by.
        let half = twos / 2;
        wide as f64 * 2_f64.powi(half) * 2_f64.powi(twos - half)
    }
}

/// Division by ten, as on paper: what a processor without such wide numbers would need a function for.
fn tenth(wide: u128) -> u128 {
    let (high, low) = ((wide >> 64) as u64, wide as u64);
    let middle = (high % 10) << 32 | low >> 32;
    let end = (middle % 10) << 32 | low & 0xffff_ffff;
    u128::from(high / 10) << 64 | u128::from(middle / 10) << 32 | u128::from(end / 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_reads_what_serde_json_reads() {
        let whole =
            r#" {"a":[1,-0.5e+3,{"b":"x\u00e9\ud83d\udce6\\\"","c":[]},{}],"d":null,"e":true , "f":"東\n" }"#;
        let mut random = fastrand::Rng::with_seed(5);
        let (mut taken, mut refused) = (0, 0);
        for _ in 0..50_000 {
            let mut text: Vec<char> = whole.chars().collect();
            for _ in 0..random.usize(0..3) {
                let at = random.usize(..text.len());
                match random.u8(..3) {
                    0 => drop(text.remove(at)),
                    1 => text.truncate(at + 1),
                    _ => text.insert(at, char::from(random.choice(*b"{}[],:\"\\01e-+. dntu/\n").unwrap())),
                }
            }
            let text = String::from_iter(text);
            let theirs = serde_json::from_str::<Value>(&text).ok();
            assert_eq!(parse(&text), theirs, "{text}");
            if theirs.is_some() { taken += 1 } else { refused += 1 }
        }
        assert!(taken > 10_000 && refused > 10_000, "{taken} {refused}");
        for text in [
            "",
            " ",
            "nul",
            "tru",
            "-",
            "+1",
            "01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "[1",
            "[,]",
            "{}x",
            "\"\t\"",
            "\"\\u+123\"",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn it_goes_as_deep_as_serde_json() {
        for depth in [1, 126, 127, 128, 129, 5000] {
            for (open, close) in [("[", "]"), ("{\"a\":[", "]}")] {
                let text = [open.repeat(depth), close.repeat(depth)].concat();
                assert_eq!(parse(&text), serde_json::from_str(&text).ok(), "{depth}");
            }
        }
    }

    #[test]
    fn whole_numbers_stay_whole() {
        for text in ["0", "-1", "9007199254740993", "18446744073709551615", "-9223372036854775808"] {
            assert_eq!(json(&parse(text).unwrap()), text);
        }
        for (text, float) in
            [("-0", "-0.0"), ("18446744073709551616", "1.8446744073709552e+19"), ("1.0", "1.0")]
        {
            assert_eq!(json(&parse(text).unwrap()), float);
        }
        assert_eq!((parse("1e999"), parse("-1e99999999999")), (None, None));
        assert_eq!(parse("1e-99999999999"), Some(json!(0.0)));
        assert_eq!(parse("0e99999999999"), Some(json!(0.0)));
    }

    #[test]
    fn a_float_is_the_nearest() {
        let mut random = fastrand::Rng::with_seed(7);
        for n in 0..200_000 {
            let text = match n % 3 {
                0 => format!("{:e}", f64::from_bits(random.u64(..)).abs()),
                1 => format!("{}.{}", random.u32(..), random.u32(..1_000_000_000)),
                _ => format!("0.{}e{}", random.u64(1..10_u64.pow(19)), random.i32(-330..310)),
            };
            let nearest = text.parse::<f64>().ok().filter(|nearest| nearest.is_finite());
            let ours = parse(&text).and_then(|value| value.as_f64());
            // Below the least float of full length two roundings may follow each other.
            match nearest {
                Some(tiny) if tiny < f64::MIN_POSITIVE => {
                    assert!((ours.unwrap() - tiny) / 5e-324 <= 1.0, "{text}")
                }
                nearest => assert_eq!(ours, nearest, "{text}"),
            }
        }
    }

    #[test]
    fn what_is_written_reads_back_and_is_what_serde_json_writes() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let text: String = (0..random.usize(0..20))
                .map(|_| if random.bool() { random.char('\0'..='\u{80}') } else { random.char(..) })
                .collect();
            let value = json!({ text.as_str(): [text, random.f64(), random.i64(..), random.bool()], "": {}, "n": null });
            assert_eq!(json(&value), serde_json::to_string(&value).unwrap());
            assert_eq!(parse(&json(&value)), Some(value));
        }
    }
}
