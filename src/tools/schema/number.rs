//! Numbers, compared as they are written and not as a float rounds them; and how much work a value may be.

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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
