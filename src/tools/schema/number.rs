//! Numbers, compared and divided as they are written and not as a float rounds them.

use crate::find;
use crate::json::json;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Floats from here on are not turned into whole numbers; no JSON number that is whole and exact is larger.
const LARGE: f64 = 1e30;

/// The whole number that a number is, be it written `2` or `2.0`.
pub(super) fn whole(number: &Number) -> Option<i128> {
    number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from)).or_else(|| {
        let float = number.as_f64()?;
        // Whole and in range, so the cast is exact.
        (float.fract() == 0.0 && float.abs() < LARGE).then_some(float as i128)
    })
}

/// Which is larger.
pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        // One of them has a fraction, so it is below 2^53, or is larger than every whole number here: the other's
        // rounding does not change the order.
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

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

/// The digits of a decimal without the zeros at the end, and the power of ten that they stand for; the sign is dropped.
pub(super) fn decimal(number: &Number) -> Option<(u64, i32)> {
    let text = json(&Value::Number(number.clone()));
    let (number, exponent) = find::split(&text, "e").unwrap_or((&text, "0"));
    let mut power = i32::try_from(find::whole(exponent)?).ok()?;
    let (mut digits, mut zeros, mut fraction) = (0_u64, 0_i32, false);
    for byte in number.bytes() {
        match byte {
            b'.' => fraction = true,
            b'0'..=b'9' => {
                power -= i32::from(fraction);
                zeros += 1;
                if byte != b'0' {
                    // Zeros count only when another digit follows; so those at the end never overflow.
                    for _ in 0..zeros {
                        digits = digits.checked_mul(10)?;
                    }
                    digits = digits.checked_add(u64::from(byte - b'0'))?;
                    zeros = 0;
                }
            }
            _ => {}
        }
    }
    Some(if digits == 0 { (0, 0) } else { (digits, power + zeros) })
}

/// How much may still be done. One step is about as much as looking at one keyword.
#[derive(Debug)]
pub(super) struct Work(u32);

impl Work {
    pub(super) fn new(steps: u32) -> Work {
        Work(steps)
    }

    /// Pays for as many steps; `false`: nothing is left, now or from before.
    pub(super) fn pay(&mut self, steps: usize) -> bool {
        self.0 = self.0.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
        !self.is_over()
    }

    /// Pays for going through a text.
    pub(super) fn pay_text(&mut self, text: &str) -> bool {
        self.pay(1 + text.len() / 64)
    }

    /// How many steps are left.
    pub(super) fn left(&self) -> u32 {
        self.0
    }

    pub(super) fn is_over(&self) -> bool {
        self.0 == 0
    }

    /// Whether two values are equal as the standard says it: 2 and 2.0 are. Without work left, nothing is.
    pub(super) fn same(&mut self, a: &Value, b: &Value) -> bool {
        if !self.pay(1) {
            return false;
        }
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
            (Value::String(a), Value::String(b)) => a.len() == b.len() && self.pay_text(a) && a == b,
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| self.same(a, b)))
            }
            (Value::Bool(a), Value::Bool(b)) => a == b,
            _ => a.is_null() && b.is_null(),
        }
    }

    /// A number for a value, the same for values that are the same.
    pub(super) fn hash(&mut self, value: &Value) -> u64 {
        if !self.pay(1) {
            return 0;
        }
        match value {
            Value::Null => 1,
            Value::Bool(flag) => 2 + u64::from(*flag),
            Value::Number(number) => match whole(number) {
                Some(whole) => mix(5, whole as u64),
                None => mix(6, number.as_f64().unwrap_or_default().to_bits()),
            },
            Value::String(text) => self.hash_text(text),
            Value::Array(items) => items.iter().fold(7, |sum, item| mix(sum, self.hash(item))),
            // A sum, because members have no order.
            Value::Object(members) => members.iter().fold(8, |sum, (name, member)| {
                sum.wrapping_add(mix(self.hash_text(name), self.hash(member)))
            }),
        }
    }

    fn hash_text(&mut self, text: &str) -> u64 {
        self.pay_text(text);
        text.bytes().fold(9, |sum, byte| mix(sum, u64::from(byte)))
    }
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
    fn numbers_are_compared_exactly() {
        for (a, order, b) in [
            ("1", Ordering::Equal, "1.0"),
            ("-0.0", Ordering::Equal, "0"),
            ("9007199254740993", Ordering::Greater, "9007199254740992.0"),
            ("18446744073709551615", Ordering::Less, "18446744073709551616"),
            ("-9223372036854775808", Ordering::Less, "-9223372036854775807"),
            ("18446744073709551615", Ordering::Less, "1e308"),
            ("9007199254740993", Ordering::Greater, "0.5"),
            ("1e308", Ordering::Equal, "1e308"),
            ("-1e308", Ordering::Less, "-18446744073709551615"),
            ("0.1", Ordering::Less, "0.2"),
        ] {
            assert_eq!(compare(&number(a), &number(b)), order, "{a} {b}");
            assert_eq!(compare(&number(b), &number(a)), order.reverse(), "{b} {a}");
        }
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
            assert!(work.same(&a, &b) && work.hash(&a) == work.hash(&b), "{a} {b}");
        }
        let all = json!([null, false, true, 0, 1, 0.5, "", "0", "a", [], [0], [[]], {}, {"a": 0}, {"a": 1}, {"b": 0}]);
        let all = all.as_array().unwrap();
        for (at, a) in all.iter().enumerate() {
            for b in &all[at + 1..] {
                let mut work = Work::new(1000);
                assert!(!work.same(a, b) && work.hash(a) != work.hash(b), "{a} {b}");
            }
        }
    }
}
