//! Multiples as the decimals say, and numbers for values by which the same ones are found.

use crate::tools::schema::number::{Work, decimal, whole};
use serde_json::{Number, Value};

/// Whether one is a whole number of times the other: 0.3 is a multiple of 0.1, although no float is.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    // No number of a JSON tree has more digits than a `u64`.
    let (Some((digits, power)), Some((divisor, divisor_power))) = (decimal(number), decimal(of)) else {
        return false;
    };
    let mut divisor = divisor;
    for _ in power..divisor_power {
        let Some(more) = divisor.checked_mul(10) else { return digits == 0 };
        divisor = more;
    }
    let Some(mut rest) = digits.checked_rem(divisor) else { return false };
    for _ in divisor_power..power {
        if rest == 0 {
            break;
        }
        let two = add(rest, rest, divisor);
        let four = add(two, two, divisor);
        rest = add(add(four, four, divisor), two, divisor);
    }
    rest == 0
}

/// The sum of two numbers below the divisor, less the divisor if need be.
fn add(a: u64, b: u64, divisor: u64) -> u64 {
    let room = divisor - b;
    if a >= room { a - room } else { a + b }
}

/// A number for a value, the same for values that are the same.
pub(super) fn hash(work: &mut Work, value: &Value) -> u64 {
    if !work.pay(1) {
        return 0;
    }
    match value {
        Value::Null => 1,
        Value::Bool(flag) => 2 + u64::from(*flag),
        Value::Number(number) => match whole(number) {
            Some(whole) => mix(5, whole as u64),
            None => mix(6, number.as_f64().unwrap_or_default().to_bits()),
        },
        Value::String(text) => hash_text(work, text),
        Value::Array(items) => items.iter().fold(7, |sum, item| mix(sum, hash(work, item))),
        // A sum, because members have no order.
        Value::Object(members) => members
            .iter()
            .fold(8, |sum, (name, member)| sum.wrapping_add(mix(hash_text(work, name), hash(work, member)))),
    }
}

fn hash_text(work: &mut Work, text: &str) -> u64 {
    work.pay_text(text);
    text.bytes().fold(9, |sum, byte| mix(sum, u64::from(byte)))
}

fn mix(sum: u64, next: u64) -> u64 {
    let mixed = (sum ^ next).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn multiples_are_those_of_the_decimals() {
        for (a, b, multiple) in [
            ("0.3", "0.1", true),
            ("19.99", "0.01", true),
            ("19.995", "0.01", false),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("1e308", "0.123456789", false),
            ("1e308", "0.5", true),
            ("12391239123", "1e-8", true),
            ("10", "4", false),
            ("5", "10", false),
            ("0", "1e300", true),
            ("1e-300", "1e300", false),
            ("1e300", "1e-300", true),
            ("-4.5", "1.5", true),
            ("18446744073709551615", "5", true),
            ("18446744073709551615", "7", false),
            ("18446744073709551614", "18446744073709551615", false),
            ("7e19", "18446744073709551615", false),
            ("1e3", "100", true),
        ] {
            assert_eq!(is_multiple(&number(a), &number(b)), multiple, "{a} {b}");
        }
    }

    #[test]
    fn multiples_of_whole_numbers_are_those_of_the_remainder() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..20_000 {
            let (a, b) = (random.u64(..) >> random.u32(..64), 1 + (random.u64(..) >> random.u32(1..64)));
            assert_eq!(is_multiple(&a.into(), &b.into()), a % b == 0, "{a} {b}");
            let (cents, of) = (random.u32(..100_000), random.u32(1..500));
            let parse = |cents: u32| number(&format!("{}.{:02}", cents / 100, cents % 100));
            assert_eq!(is_multiple(&parse(cents), &parse(of)), cents % of == 0, "{cents} {of}");
        }
    }

    #[test]
    fn what_is_the_same_has_the_same_hash() {
        for (a, b) in [
            (json!(2), json!(2.0)),
            (json!(-0.0), json!(0)),
            (json!({"a": [1, "x"], "b": null}), json!({"b": null, "a": [1.0, "x"]})),
        ] {
            let mut work = Work::new(1000);
            assert!(work.same(&a, &b) && hash(&mut work, &a) == hash(&mut work, &b), "{a} {b}");
        }
        let all = json!([null, false, true, 0, 1, 0.5, "", "0", "a", [], [0], [[]], {}, {"a": 0}, {"a": 1}, {"b": 0}]);
        let all = all.as_array().unwrap();
        for (at, a) in all.iter().enumerate() {
            for b in &all[at + 1..] {
                let mut work = Work::new(1000);
                assert!(!work.same(a, b) && hash(&mut work, a) != hash(&mut work, b), "{a} {b}");
            }
        }
    }
}
