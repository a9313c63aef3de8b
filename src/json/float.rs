//! From decimal to float.
//!
//! Promises: a number of up to 19 digits becomes the nearest float, as in browsers. What follows those counts, but does
//! not change them. Rust's own way is 10 KB of tables, serde_json's is a table of 2 KB and often not the nearest.

/// The float that is nearest to a JSON number; infinite where it is beyond all.
pub fn nearest(number: &str) -> f64 {
    let (mut digits, mut tens) = (0_u64, 0_i64);
    let (mut full, mut point) = (false, false);
    let mut bytes = number.bytes();
    for byte in bytes.by_ref() {
        let Some(digit) = char::from(byte).to_digit(10) else {
            match byte {
                b'-' => {}
                b'.' => point = true,
                _ => break,
            }
            continue;
        };
        match digits.checked_mul(10).and_then(|digits| digits.checked_add(digit.into())) {
            Some(longer) if !full => {
                digits = longer;
                tens -= i64::from(point);
            }
            _ => {
                full = true;
                tens += i64::from(!point);
            }
        }
    }
    // What is left stands behind the `e`.
    let (mut exponent, mut small) = (0, false);
    for byte in bytes {
        match char::from(byte).to_digit(10) {
            Some(digit) => exponent = BEYOND.min(exponent * 10 + i64::from(digit)),
            None => small = byte == b'-',
        }
    }
    let float = scaled(digits, tens + if small { -exponent } else { exponent });
    if number.starts_with('-') { -float } else { float }
}

/// An exponent that no text is long enough to make up for.
const BEYOND: i64 = 1 << 40;

/// The smallest float is this power of two.
const SMALLEST: i32 = -1074;

/// Worked out with twice the digits that a float has, so that what is lost on the way does not show.
fn scaled(digits: u64, tens: i64) -> f64 {
    let mut wide = u128::from(digits);
    let mut twos = 0;
    // 20 digits times ten to the 400th is 0 or infinite, like all beyond.
    for _ in 0..tens.unsigned_abs().min(400) {
        // As far up as it goes; ten takes four bits.
        let up = wide.leading_zeros() as i32;
        wide = wide.unbounded_shl(up as u32);
        twos -= up;
        if tens < 0 {
            wide = tenth(wide);
        } else {
            wide = (wide >> 4) * 10;
            twos += 4;
        }
    }
    // The smallest floats have fewer digits: what is too much goes here, because no number may be rounded twice.
    let (bits, drop) = (128 - wide.leading_zeros() as i32, SMALLEST - twos);
    if drop > bits - 53 && drop > 0 {
        let kept = wide.unbounded_shr(drop as u32);
        let rest = wide - kept.unbounded_shl(drop as u32);
        let half = 1_u128.unbounded_shl(drop as u32 - 1);
        // A half goes to the even side.
        let up = half > 0 && (rest > half || rest == half && kept % 2 == 1);
        wide = kept + u128::from(up);
        twos = SMALLEST;
    }
    // In two steps: the smallest floats are smaller than the smallest power of two that is one.
    let half = twos / 2;
    wide as f64 * power_of_two(half) * power_of_two(twos - half)
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent.clamp(-1022, 1023)) as u64) << 52)
}

/// Division by ten, as on paper: no processor has it so wide, and the general way is a kilobyte.
fn tenth(wide: u128) -> u128 {
    let (high, low) = ((wide >> 64) as u64, wide as u64);
    let middle = ((high % 10) << 32) | (low >> 32);
    let end = ((middle % 10) << 32) | (low & 0xffff_ffff);
    (u128::from(high / 10) << 64) | (u128::from(middle / 10) << 32) | u128::from(end / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_the_nearest() {
        let mut random = fastrand::Rng::with_seed(7);
        for n in 0..200_000 {
            let text = match n % 3 {
                0 => format!("{:e}", f64::from_bits(random.u64(..) & !(3 << 62)) * 1e300),
                1 => format!("-{}.{}", random.u32(..), random.u32(..1_000_000_000)),
                _ => format!("0.{}E+{}", random.u64(1..10_u64.pow(19)), random.i32(-330..310)),
            }
            .replace("+-", "-");
            assert_eq!(nearest(&text), text.parse::<f64>().unwrap(), "{text}");
        }
    }

    #[test]
    fn ends_of_the_scale() {
        for text in [
            "0",
            "-0",
            "0e999",
            "1e400",
            "-1e99999999999999999999",
            "1e-99999999999999999999",
            "5e-324",
            "2e-324",
            "1.7976931348623157e308",
            "2.2250738585072014e-308",
            "2.225073858507201e-308",
            "1.5e-308",
            "7.4e-324",
            "2.4703282292062328e-324",
            "1.8e308",
            "18446744073709551616",
        ] {
            assert_eq!(nearest(text).to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        let long = ["0.", &"0".repeat(400), "1e401"].concat();
        assert_eq!(nearest(&long), 1.0);
    }
}
