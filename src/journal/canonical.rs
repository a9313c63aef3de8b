//! The text of a record that is hashed and signed, and what a signature says.
//!
//! Decides the canonical JSON of records, byte for byte as Python writes it: members sorted, no white space,
//! ASCII only. Promises: two records with the same members have the same text. Leaves to others: the key (WebCrypto
//! keeps it in a browser, where no page can read it), and what is done about a record that was changed.

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::journal::row::hex;
pub use crate::journal::words::Integrity;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// The member that holds a record's signature, and is not part of what is signed.
pub const SIGNATURE: &str = "receipt_hmac";

/// The canonical text of a value, at the outermost level without this member.
pub fn without(value: &Value, member: &str) -> String {
    let mut out = String::new();
    write(&mut out, value, Some(member));
    out
}

/// What is signed of a record. It must be the record as it is stored: one of an older version lacks members, and has
/// another text once they are filled in.
pub fn payload(record: &Value) -> String {
    without(record, SIGNATURE)
}

fn write(out: &mut String, value: &Value, skip: Option<&str>) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(out, item, None);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            let mut first = true;
            for (name, value) in members {
                if Some(name.as_str()) == skip {
                    continue;
                }
                if !first {
                    out.push(',');
                }
                first = false;
                write_text(out, name);
                out.push(':');
                write(out, value, None);
            }
            out.push('}');
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        let short = match letter {
            ' '..='~' => {
                if matches!(letter, '"' | '\\') {
                    out.push('\\');
                }
                out.push(letter);
                continue;
            }
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\u{8}' => 'b',
            '\u{c}' => 'f',
            _ => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    out.push_str("\\u");
                    out.push_str(&hex(&unit.to_be_bytes()));
                }
                continue;
            }
        };
        out.push('\\');
        out.push(short);
    }
    out.push('"');
}

/// A number as Python writes it: a float keeps its point, and has an exponent only where it is very large or small.
fn write_number(out: &mut String, number: &Number) {
    let text = number.to_string();
    if !number.is_f64() {
        out.push_str(&text);
        return;
    }
    let (float, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (sign, float) = float.strip_prefix('-').map_or(("", float), |float| ("-", float));
    let (whole, part) = float.split_once('.').unwrap_or((float, ""));
    let all = [whole, part].concat();
    let digits = all.trim_start_matches('0');
    // Where the point stands, counted from the first digit that is not zero.
    let point =
        find::whole(exponent).unwrap_or(0) as i32 + whole.len() as i32 - (all.len() - digits.len()) as i32;
    let digits = digits.trim_end_matches('0');
    out.push_str(sign);
    let zeros = |out: &mut String, count: i32| (0..count).for_each(|_| out.push('0'));
    match digits.split_at_checked(usize::try_from(point).unwrap_or(0)) {
        _ if digits.is_empty() => out.push_str("0.0"),
        _ if point <= -4 || point > 16 => {
            let (first, others) = digits.split_at_checked(1).unwrap_or_default();
            out.push_str(first);
            if !others.is_empty() {
                out.push('.');
                out.push_str(others);
            }
            out.push_str(if point > 0 { "e+" } else { "e-" });
            let exponent = (point - 1).unsigned_abs();
            if exponent < 10 {
                out.push('0');
            }
            out.push_str(&exponent.to_string());
        }
        Some((whole, part)) if !part.is_empty() => {
            out.push_str(if whole.is_empty() { "0" } else { whole });
            out.push('.');
            zeros(out, -point);
            out.push_str(part);
        }
        _ => {
            out.push_str(digits);
            zeros(out, point - digits.len() as i32);
            out.push_str(".0");
        }
    }
}

/// HMAC-SHA-256 in hexadecimal digits, where there is no WebCrypto: the `mac` of a row, which a browser makes itself.
pub fn hmac_sha256(key: &[u8], text: &str) -> String {
    let mut block = [0; 64];
    let short = (key.len() > block.len()).then(|| Sha256::digest(key));
    for (to, from) in block.iter_mut().zip(short.as_deref().unwrap_or(key)) {
        *to = *from;
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(text).finalize();
    hex(&Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize())
}

impl Integrity {
    /// By the signature that is stored and the one that it should be; `None` for that: there is no key.
    pub fn of(stored: Option<&str>, expected: Option<&str>) -> Integrity {
        match (stored, expected) {
            (None, _) => Integrity::Unverified,
            (_, None) => Integrity::Unverifiable,
            (Some(stored), Some(expected)) if equal(stored, expected) => Integrity::Verified,
            _ => Integrity::Tampered,
        }
    }

    /// Whether a plain read may give the record. `what`: `agent session state`, `agent session event`.
    ///
    /// # Errors
    /// `corrupt` where it was changed.
    pub fn accept(self, what: &str, id: &str) -> Result<(), ErrorInfo> {
        if self != Integrity::Tampered {
            return Ok(());
        }
        Err(ErrorInfo::new(Code::Corrupt, ["stored ", what, " has invalid HMAC: ", id].concat())
            .hint("status() and list({ withVerification: true }) show it as it is stored"))
    }
}

/// Whether two texts are the same, in a time that tells nothing of where they differ.
fn equal(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_ascii() {
        let text = "\"\\/ \n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}~é☃😀";
        let expected = r#""\"\\/ \n\r\t\b\f\u0000\u001f\u007f~\u00e9\u2603\ud83d\ude00""#;
        assert_eq!(without(&json!(text), ""), expected);
    }

    #[test]
    fn members_are_sorted_and_only_the_outermost_is_left_out() {
        let value = json!({ "b": [1, { "x": null, "a": true }], "a": {}, "x": 1, "B": [] });
        assert_eq!(without(&value, "x"), r#"{"B":[],"a":{},"b":[1,{"a":true,"x":null}]}"#);
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (number, text) in [
            (json!(0), "0"),
            (json!(-7), "-7"),
            (json!(18_446_744_073_709_551_615_u64), "18446744073709551615"),
            (json!(0.0), "0.0"),
            (json!(-0.0), "-0.0"),
            (json!(1.0), "1.0"),
            (json!(-2.5), "-2.5"),
            (json!(0.1), "0.1"),
            (json!(100.0), "100.0"),
            (json!(123_456.789), "123456.789"),
            (json!(0.0001), "0.0001"),
            (json!(0.000_123_4), "0.0001234"),
            (json!(0.00001), "1e-05"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(1e15), "1000000000000000.0"),
            (json!(1234567890123456.0), "1234567890123456.0"),
            (json!(1e16), "1e+16"),
            (json!(1.25e22), "1.25e+22"),
            (json!(1e100), "1e+100"),
            (json!(5e-324), "5e-324"),
            (json!(1.7976931348623157e308), "1.7976931348623157e+308"),
        ] {
            assert_eq!(without(&number, ""), text);
        }
    }

    #[test]
    fn a_signature_is_what_rfc_4231_says() {
        for (key, text, mac) in [
            (vec![0x0b; 20], "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe".to_vec(),
                "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                vec![0xaa; 131],
                "This is a test using a larger than block-size key and a larger than block-size data. \
                 The key needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ] {
            assert_eq!(hmac_sha256(&key, text), mac);
        }
    }

    #[test]
    fn a_signature_says_one_of_four_things() {
        for (stored, expected, says) in [
            (None, None, "unverified"),
            (None, Some("ab"), "unverified"),
            (Some("ab"), None, "unverifiable"),
            (Some("ab"), Some("ab"), "verified"),
            (Some("ab"), Some("ac"), "tampered"),
            (Some("ab"), Some("abc"), "tampered"),
            (Some(""), Some("ab"), "tampered"),
        ] {
            let integrity = Integrity::of(stored, expected);
            assert_eq!(integrity.as_str(), says);
            assert_eq!(integrity.accept("agent session state", "x").is_err(), says == "tampered");
        }
    }
}
