//! Points in time as texts.
//!
//! Decides the three forms that records have. Promises: every text that is written reads back, in all years from
//! 1970 to 9999. Leaves to others: what time it is.

use crate::ports::Millis;

/// The last millisecond that has a text.
pub const LAST: Millis = 253_402_300_799_999;

const DAY: u64 = 86_400_000;

/// Days from 1 March of the year 0 to 1 January 1970.
const BEFORE: u64 = 719_468;

/// How many days 400 years have.
const CYCLE: u64 = 146_097;

/// As records have it: `2026-05-22T07:00:00Z`, `2026-05-22T07:00:00.500000Z`.
pub fn utc(at: Millis) -> String {
    dated(at, "Z")
}

/// As Python's `isoformat` has it: `2026-05-22T07:00:00+00:00`.
pub fn isoformat(at: Millis) -> String {
    dated(at, "+00:00")
}

/// As ids have it: `20260522070000`.
pub fn compact(at: Millis) -> String {
    let mut text = String::new();
    for (part, digits) in parts(at).into_iter().zip(DIGITS) {
        push(&mut text, part, digits);
    }
    text
}

/// How many digits year, month, day, hours, minutes and seconds have, and what stands behind them.
const DIGITS: [u32; 6] = [4, 2, 2, 2, 2, 2];
const BEHIND: [&str; 6] = ["-", "-", "T", ":", ":", ""];

fn dated(at: Millis, zone: &str) -> String {
    let mut text = String::new();
    for ((part, digits), behind) in parts(at).into_iter().zip(DIGITS).zip(BEHIND) {
        push(&mut text, part, digits);
        text.push_str(behind);
    }
    let millis = at.min(LAST) % 1000;
    if millis > 0 {
        text.push('.');
        push(&mut text, millis * 1000, 6);
    }
    text.push_str(zone);
    text
}

fn push(text: &mut String, number: u64, digits: u32) {
    for digit in (0..digits).rev() {
        text.push(char::from_digit((number / 10_u64.pow(digit) % 10) as u32, 10).unwrap_or('0'));
    }
}

/// Year, month, day, hours, minutes, seconds. The year begins with March, so that a leap day is its last.
fn parts(at: Millis) -> [u64; 6] {
    let at = at.min(LAST);
    let days = at / DAY + BEFORE;
    let day = days % CYCLE;
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let second = at / 1000;
    [days / CYCLE * 400 + year + next, month, date, second / 3600 % 24, second / 60 % 60, second % 60]
}

/// Days since 1970; none for a date that there is not.
fn days(year: u64, month: u64, date: u64) -> Option<u64> {
    let (from_march, year_of) = match month {
        1 | 2 => (month + 9, year.checked_sub(1)?),
        3..=12 => (month - 3, year),
        _ => return None,
    };
    let of_cycle = year_of % 400;
    let day = (153 * from_march + 2) / 5 + date.checked_sub(1)?;
    let days = year_of / 400 * CYCLE + 365 * of_cycle + of_cycle / 4 - of_cycle / 100 + day;
    let days = days.checked_sub(BEFORE)?;
    // A month that is too short for the date: then it is one of the next.
    let [year_again, month_again, date_again, ..] = parts(days * DAY);
    ([year_again, month_again, date_again] == [year, month, date]).then_some(days)
}

/// Reads one of the first two forms, with any offset. What is finer than a millisecond is dropped. None: it is no such
/// text, or before 1970.
pub fn parse(text: &str) -> Option<Millis> {
    let mut rest = text.as_bytes();
    let mut parts = [0; 6];
    for ((part, digits), behind) in parts.iter_mut().zip(DIGITS).zip(BEHIND) {
        *part = number(&mut rest, digits)?;
        rest = match (behind, rest) {
            ("T", [b'T' | b't' | b' ', after @ ..]) => after,
            _ => rest.strip_prefix(behind.as_bytes())?,
        };
    }
    let [year, month, date, hours, minutes, seconds] = parts;
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let mut millis = 0;
    if let [b'.' | b',', fraction @ ..] = rest {
        let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        for at in 0..3 {
            let digit = fraction.get(at).filter(|_| at < length).map_or(0, |byte| byte - b'0');
            millis = millis * 10 + u64::from(digit);
        }
        rest = fraction.get(length..).filter(|_| length > 0)?;
    }
    let offset = match rest {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let mut offset = offset;
            let hours = number(&mut offset, 2)?;
            offset = offset.strip_prefix(b":").unwrap_or(offset);
            let minutes = if offset.is_empty() { 0 } else { number(&mut offset, 2)? };
            if !offset.is_empty() || hours > 23 || minutes > 59 {
                return None;
            }
            let ahead = ((hours * 60 + minutes) * 60_000) as i64;
            if *sign == b'+' { ahead } else { -ahead }
        }
        _ => return None,
    };
    let local = days(year, month, date)? * DAY + ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis;
    local.checked_add_signed(-offset).filter(|at| *at <= LAST)
}

/// Cuts a number of so many digits off the front.
fn number(rest: &mut &[u8], digits: u32) -> Option<u64> {
    let (number, after) = rest.split_at_checked(digits as usize)?;
    *rest = after;
    number.iter().try_fold(0, |sum, byte| Some(sum * 10 + u64::from(char::from(*byte).to_digit(10)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates_have_known_texts() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399_000, "2000-02-28T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00Z"),
            (1_779_433_200_000, "2026-05-22T07:00:00Z"),
            (1_779_433_200_500, "2026-05-22T07:00:00.500000Z"),
            (1_779_433_200_007, "2026-05-22T07:00:00.007000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (13_574_563_200_000, "2400-02-29T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59.999000Z"),
        ] {
            assert_eq!(utc(at), text);
            assert_eq!(parse(text), Some(at));
        }
        assert_eq!(utc(Millis::MAX), utc(LAST));
        assert_eq!(isoformat(1_779_430_500_000), "2026-05-22T06:15:00+00:00");
        assert_eq!(isoformat(1_779_430_500_250), "2026-05-22T06:15:00.250000+00:00");
        assert_eq!(compact(1_779_430_509_999), "20260522061509");
    }

    #[test]
    fn every_day_follows_the_one_before_it() {
        let of = |number: u64, year: u64| year.is_multiple_of(number);
        let leap = |year: u64| of(4, year) && (!of(100, year) || of(400, year));
        let (mut year, mut month, mut date) = (1970, 1, 1);
        for day in 0..=LAST / DAY {
            let [at_year, at_month, at_date, ..] = parts(day * DAY);
            assert_eq!((at_year, at_month, at_date), (year, month, date));
            assert_eq!(days(year, month, date), Some(day));
            let length = match month {
                2 => 28 + u64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            assert_eq!(days(year, month, length + 1), None, "{year}-{month}");
            date += 1;
            if date > length {
                (month, date) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!(year, 10_000);
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..20_000 {
            let at = random.u64(..=LAST);
            assert_eq!((parse(&utc(at)), parse(&isoformat(at))), (Some(at), Some(at)));
        }
    }

    #[test]
    fn offsets_and_fractions_count() {
        let at = parse("2026-05-22T07:00:00Z").unwrap();
        for text in [
            "2026-05-22T09:00:00+02:00",
            "2026-05-22T09:00:00+0200",
            "2026-05-22 09:00:00+02",
            "2026-05-22T01:30:00-05:30",
            "2026-05-22T07:00:00.0Z",
            "2026-05-22t07:00:00z",
            "2026-05-22T07:00:00.000999Z",
        ] {
            assert_eq!(parse(text), Some(at), "{text}");
        }
        assert_eq!(parse("2026-05-22T07:00:00.5Z"), Some(at + 500));
        assert_eq!(parse("2026-05-22T07:00:00.123456789Z"), Some(at + 123));
        assert_eq!(parse("1970-01-01T00:00:00+00:01"), None);
        assert_eq!(parse("1969-12-31T23:59:00-00:01"), None, "the date itself is before 1970");
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "2026",
            "2026-05-22",
            "2026-05-22T07:00:00",
            "2026-05-22T07:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-05-22T24:00:00Z",
            "2026-05-22T07:60:00Z",
            "2026-05-22T07:00:60Z",
            "2026-05-22T07:00:00.Z",
            "2026-05-22T07:00:00ZZ",
            "2026-05-22T07:00:00+2:00",
            "2026-05-22T07:00:00+02:0",
            "2026-05-22T07:00:00+24:00",
            "2026-05-22T07:00:00+02:00:00",
            "+026-05-22T07:00:00Z",
            "٢٠٢٦-05-22T07:00:00Z",
            "0000-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
