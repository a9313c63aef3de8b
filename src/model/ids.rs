//! Ids and names as a provider takes them.
//!
//! Decides what stands for an id or a name that a provider would refuse, because another one gave it. Promises: the
//! same for the same, always, so that a call and its result meet and a cached prefix stays as it is. Two that differ
//! stay different, but for a chance of one in 10^12, because a hash stands for what does not fit. Leaves to others: which
//! alphabet a provider has (`presets`).

use super::Ids;
use std::borrow::Cow;

impl Ids {
    /// The id as it is sent.
    pub(super) fn map(self, id: &str) -> Cow<'_, str> {
        match self {
            Ids::Plain(most) => plain(id, most),
            Ids::Nine if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Cow::Borrowed(id)
            }
            Ids::Nine => Cow::Owned(digits(id, 9)),
        }
    }
}

/// A text of up to this many letters, digits, `_` and `-`.
pub(super) fn plain(text: &str, most: usize) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !text.is_empty() && text.len() <= most && text.chars().all(allowed) {
        return Cow::Borrowed(text);
    }
    let mark = digits(text, 8);
    let kept =
        text.chars().map(|c| if allowed(c) { c } else { '_' }).take(most.saturating_sub(mark.len() + 1));
    Cow::Owned(kept.chain(['_']).chain(mark.chars()).collect::<String>())
}

/// So many letters and digits that follow from a text (FNV-1a): nobody's secret, and nothing to protect.
fn digits(text: &str, count: usize) -> String {
    let mut hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let digit = |_| {
        let digit = char::from_digit((hash % 36) as u32, 36).unwrap_or('0');
        hash /= 36;
        digit
    };
    (0..count).map(digit).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_stays_and_the_rest_stays_apart() {
        assert_eq!(Ids::Plain(40).map("call_1-x"), "call_1-x");
        let (a, b) = (Ids::Plain(40).map("a.b"), Ids::Plain(40).map("a:b"));
        assert!(a.starts_with("a_b_") && b.starts_with("a_b_") && a != b, "{a} {b}");
        let long = "x".repeat(65);
        assert_eq!(plain(&long, 64).len(), 64);
        assert_ne!(plain(&long, 64), plain(&"x".repeat(66), 64));
        assert_eq!(plain("é", 64).len(), 10);
        assert!(!plain("", 64).is_empty());
    }

    #[test]
    fn nine_letters_and_digits() {
        assert_eq!(Ids::Nine.map("abcDEF123"), "abcDEF123");
        let mapped = Ids::Nine.map("toolu_01D7");
        assert!(mapped.len() == 9 && mapped.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{mapped}");
        assert_eq!(mapped, Ids::Nine.map("toolu_01D7"));
        assert_ne!(mapped, Ids::Nine.map("toolu_01D8"));
    }
}
