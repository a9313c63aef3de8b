//! JSON text to a tree of values, and back.
//!
//! Decides how deep a tree may be. Promises: takes what `serde_json` takes and gives the same tree (a test holds them
//! against each other).

use super::float::nearest;
use super::reader::{ESCAPES, Reader, plain};
use crate::list::Listed;
use serde_json::{Map, Number, Value};
use std::fmt::Write;

/// How many lists and objects may be open at once.
const DEEPEST: u8 = 127;

/// The tree of a JSON text; none where it is no JSON.
pub fn parse(text: &str) -> Option<Value> {
    parse_within(text, DEEPEST)
}

/// The same with no more than so many lists and objects open at once.
pub fn parse_within(text: &str, depth: u8) -> Option<Value> {
    let mut reader = Reader::new(text);
    let value = value(&mut reader, depth)?;
    reader.space().is_none().then_some(value)
}

/// The items of a list; what is no list has none.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list, without what is no text; none where it is no list.
pub fn texts(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(Value::as_str).map(Into::into).list())
}

fn value(reader: &mut Reader<'_>, depth: u8) -> Option<Value> {
    Some(match reader.space()? {
        b'"' => Value::String(reader.string()?.into_owned()),
        b'[' => {
            let depth = depth.checked_sub(1)?;
            let mut items = Vec::new();
            while reader.item(b'[', b']', items.is_empty())? {
                items.push(value(reader, depth)?);
            }
            Value::Array(items)
        }
        b'{' => {
            let depth = depth.checked_sub(1)?;
            let mut members = Map::new();
            while reader.item(b'{', b'}', members.is_empty())? {
                let name = reader.name()?.into_owned();
                members.insert(name, value(reader, depth)?);
            }
            Value::Object(members)
        }
        _ => match reader.value()? {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => Value::Number(number(text)?),
        },
    })
}

fn number(text: &str) -> Option<Number> {
    let whole = match text.strip_prefix('-') {
        // There is no whole -0.
        Some("0") => None,
        Some(digits) => {
            digits.parse().ok().and_then(|digits| 0_i64.checked_sub_unsigned(digits)).map(Number::from)
        }
        None => text.parse::<u64>().ok().map(Number::from),
    };
    whole.or_else(|| Number::from_f64(nearest(text)))
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
        Value::String(text) => push_text(out, text),
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
                push_text(out, name);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
    }
}

/// Appends a string, quoted and escaped.
pub fn push_text(out: &mut String, text: &str) {
    out.push('"');
    push_inside(out, text);
    out.push('"');
}

/// Appends what stands between the quotes of a string.
pub fn push_inside(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some((plain, tail)) = escaped(rest).and_then(|at| rest.split_at_checked(at)) {
        out.push_str(plain);
        let mut chars = tail.chars();
        let letter = chars.next().unwrap_or_default();
        out.push('\\');
        match ESCAPES.iter().find(|(_, text)| *text == letter) {
            Some((escape, _)) => out.push(*escape),
            None if letter < ' ' => {
                out.push_str("u00");
                let code = u32::from(letter);
                out.extend(
                    [code >> 4, code & 15].into_iter().filter_map(|digit| char::from_digit(digit, 16)),
                );
            }
            None => out.push(letter),
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// The place of the first byte that needs an escape.
fn escaped(text: &str) -> Option<usize> {
    let at = plain(text.as_bytes());
    let needs = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    text.bytes().skip(at).position(needs).map(|behind| at + behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_reads_what_serde_json_reads() {
        let mut random = fastrand::Rng::with_seed(5);
        let (mut taken, mut refused) = (0, 0);
        for _ in 0..50_000 {
            let text = crate::json::damaged(&mut random);
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
