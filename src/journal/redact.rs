//! Secrets, taken out of what is written down for good.
//!
//! Decides what looks like a secret: six patterns in texts, the names of members that hold one, and the keys that the
//! page is known to have. Promises: what was redacted once stays as it is. The work grows with the length of the text,
//! however it is made. The patterns are read by hand, because an engine for regular expressions would be a hundred
//! kilobytes (`tests/host/origins/craik` holds the two against each other). Leaves to others: what is redacted, and
//! what is refused (`session::record`).

use crate::find;
use serde_json::{Map, Value};

/// What stands where a secret stood.
pub const REDACTED: &str = "[REDACTED]";

/// A member whose name has one of these in it holds a secret, even if its value does not look like one.
const SECRET_NAMES: [&str; 6] = ["secret", "token", "password", "api_key", "apikey", "credential"];

/// Names that only look so.
const PLAIN_NAMES: [&str; 8] = [
    "allowed_credential_kinds",
    "allowed_credential_profiles",
    "estimated_tokens",
    "max_tokens",
    "provider_token_budget",
    "provider_token_budget_remaining",
    "provider_tokens_used",
    "secrets_in_config_allowed",
];

/// Values that were redacted by others, in lower case.
const REDACTED_VALUES: [&str; 3] = ["[redacted]", "<redacted>", "redacted"];

/// What is said before a secret in an assignment or as a flag of a command.
const NAMES: [&str; 6] = ["api_key", "api-key", "apikey", "token", "password", "secret"];

/// How keys begin by which their issuer can be told.
const PREFIXES: [&str; 11] =
    ["ghp", "gho", "ghs", "ghr", "github_pat", "sk", "xoxb", "xoxa", "xoxp", "xoxr", "xoxs"];

/// The text without its secrets; `None`: it has none. `known`: keys that the page has, by value.
pub fn text(text: &str, known: &[String]) -> Option<String> {
    let mut now = keys(text, known);
    for (pattern, begins, needs) in PATTERNS {
        // What a pattern leaves in the place of a secret has nothing that another one needs.
        if needs.iter().all(|needed| text.as_bytes().contains(needed)) {
            let begins = |byte: u8| byte >= 0x80 || begins.contains(&byte.to_ascii_lowercase());
            now = replaced(now.as_deref().unwrap_or(text), &begins, &pattern).or(now);
        }
    }
    now.filter(|now| now != text)
}

/// The same, as a text of its own.
pub fn cleaned(whole: &str, known: &[String]) -> String {
    text(whole, known).unwrap_or_else(|| whole.into())
}

/// The same for known keys alone: what a person says may look like a secret and be none.
pub fn keys(text: &str, known: &[String]) -> Option<String> {
    let begins = |byte: u8| known.iter().any(|key| key.as_bytes().first() == Some(&byte));
    replaced(text, &begins, &|here, _| {
        let here = here.as_bytes();
        let begins = |key: &&String| here.starts_with(key.as_bytes());
        // A key that is part of the mark would be found in every mark.
        let usable = |key: &&String| !find::has(REDACTED, key);
        let longest = known.iter().filter(begins).filter(usable).map(String::len).max()?;
        Some(Found { stays: 0, by: REDACTED, ends: longest })
    })
}

/// A value without its secrets, and the places where there were some: `$.a.b[0]`.
pub fn value(value: &Value, known: &[String]) -> (Value, Vec<String>) {
    let mut walk = Walk { known, path: "$".into(), found: Vec::new() };
    let value = walk.value(value);
    (value, walk.found)
}

/// Whether there is a secret in a value.
pub fn has_secret(secret: &Value, known: &[String]) -> bool {
    match secret {
        Value::String(whole) => text(whole, known).is_some(),
        Value::Array(items) => items.iter().any(|item| has_secret(item, known)),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| is_secret_name(name) && !is_redacted(member) || has_secret(member, known)),
        _ => false,
    }
}

/// Whether a member of this name, which is in lower case, would hold a secret if there were no exceptions.
pub fn holds_secret(name: &str) -> bool {
    SECRET_NAMES.iter().any(|part| find::has(name, part))
}

/// Whether a member of this name holds a secret.
fn is_secret_name(name: &str) -> bool {
    // Names of members are in lower case, mostly.
    let plain = name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    let small = if plain { String::new() } else { name.chars().map(folded).collect::<String>() };
    let name = if plain { name } else { &small };
    holds_secret(name) && !PLAIN_NAMES.contains(&name)
}

struct Walk<'a> {
    known: &'a [String],
    /// Where it is.
    path: String,
    found: Vec<String>,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(whole) => match text(whole, self.known) {
                Some(text) => self.found(text.into()),
                None => value.clone(),
            },
            Value::Array(items) => {
                let mut list = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    let length = self.path.len();
                    self.path.push('[');
                    self.path.push_str(&at.to_string());
                    self.path.push(']');
                    list.push(self.value(item));
                    self.path.truncate(length);
                }
                list.into()
            }
            Value::Object(members) => {
                let mut object = Map::new();
                for (name, member) in members {
                    let length = self.path.len();
                    self.path.push('.');
                    self.path.push_str(name);
                    let member = if is_secret_name(name) && !is_redacted(member) {
                        self.found(REDACTED.into())
                    } else {
                        self.value(member)
                    };
                    object.insert(name.clone(), member);
                    self.path.truncate(length);
                }
                object.into()
            }
            _ => value.clone(),
        }
    }

    fn found(&mut self, by: Value) -> Value {
        self.found.push(self.path.clone());
        by
    }
}

fn is_redacted(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => REDACTED_VALUES.iter().any(|redacted| redacted.eq_ignore_ascii_case(text)),
        _ => false,
    }
}

/// What a pattern has found.
struct Found {
    /// How many bytes of it stay.
    stays: usize,
    /// What comes in place of the others.
    by: &'static str,
    /// How many bytes it has.
    ends: usize,
}

/// Whether what is looked for begins right here. `inside`: a word goes on from before, so none begins here.
type Pattern = fn(here: &str, inside: bool) -> Option<Found>;

/// In this order, each on what the one before it has left: the pattern, which bytes it begins with (letters in either
/// case; one that is not ASCII may stand for a letter), and which it cannot do without. Most texts are no secret, and are
/// soon through.
const PATTERNS: [(Pattern, &[u8], &[u8]); 6] = [
    (bearer, b"b", b""),
    (assignment, b"atps", b"="),
    (flag, b"-", b"-"),
    (issued, b"gsx", b""),
    (login, b"h", b"@"),
    (address, b"h", b"@"),
];

/// The text with everything replaced that a pattern finds, from left to right; `None`: it finds nothing. `begins`:
/// whether it may begin with a byte.
fn replaced(
    text: &str,
    begins: &dyn Fn(u8) -> bool,
    pattern: &dyn Fn(&str, bool) -> Option<Found>,
) -> Option<String> {
    let mut out = String::new();
    let (mut rest, mut at, mut inside) = (text, 0, false);
    let wanted = |byte: &u8| {
        look();
        begins(*byte)
    };
    while let Some(skipped) = rest.as_bytes().get(at..)?.iter().position(wanted) {
        at += skipped;
        // In the middle of a letter none begins.
        let Some((before, here)) = rest.split_at_checked(at) else {
            at += 1;
            continue;
        };
        let goes_on = before.chars().next_back().map_or(inside, is_word);
        let Some(found) = pattern(here, goes_on) else {
            at += 1;
            continue;
        };
        out.push_str(before);
        out.push_str(here.get(..found.stays)?);
        out.push_str(found.by);
        let (found, after) = here.split_at_checked(found.ends)?;
        inside = found.chars().next_back().is_some_and(is_word);
        (rest, at) = (after, 0);
    }
    if rest.len() == text.len() {
        return None;
    }
    out.push_str(rest);
    Some(out)
}

/// `\bBearer\s+[A-Za-z0-9._~+/=-]{8,}`
fn bearer(here: &str, inside: bool) -> Option<Found> {
    let mut scan = Scan::new(here, inside)?;
    scan.word("bearer")?;
    scan.many(1, char::is_whitespace)?;
    scan.many(8, is_token)?;
    Some(scan.found(0, "Bearer [REDACTED]"))
}

/// `\b(api[_-]?key|token|password|secret)=([^\s&]+)`
fn assignment(here: &str, inside: bool) -> Option<Found> {
    let mut scan = Scan::new(here, inside)?;
    scan.one_of(&NAMES)?;
    scan.word("=")?;
    let stays = scan.at;
    scan.many(1, |letter| letter != '&' && !letter.is_whitespace())?;
    Some(scan.found(stays, REDACTED))
}

/// `(--(?:api[_-]?key|token|password|secret)(?:=|\s+))([^\s]+)`
fn flag(here: &str, _: bool) -> Option<Found> {
    let mut scan = Scan::new(here, false)?;
    scan.word("--")?;
    scan.one_of(&NAMES)?;
    if scan.word("=").is_none() {
        scan.many(1, char::is_whitespace)?;
    }
    let stays = scan.at;
    scan.many(1, |letter| !letter.is_whitespace())?;
    Some(scan.found(stays, REDACTED))
}

/// `\b(ghp|gho|ghs|ghr|github_pat|sk|xox[baprs])[-_][A-Za-z0-9_-]{8,}`
fn issued(here: &str, inside: bool) -> Option<Found> {
    let mut scan = Scan::new(here, inside)?;
    scan.one_of(&PREFIXES)?;
    scan.one_of(&["-", "_"])?;
    scan.many(8, |letter| is_letter(letter) || matches!(letter, '_' | '-'))?;
    Some(scan.found(0, REDACTED))
}

/// `(https?://)([^/\s:@]+):([^@\s/]+)@`
fn login(here: &str, _: bool) -> Option<Found> {
    let mut scan = Scan::scheme(here)?;
    let stays = scan.at;
    scan.many(1, |letter| !matches!(letter, '/' | ':' | '@') && !letter.is_whitespace())?;
    scan.word(":")?;
    scan.many(1, |letter| !matches!(letter, '/' | '@') && !letter.is_whitespace())?;
    scan.word("@")?;
    Some(scan.found(stays, "[REDACTED]:[REDACTED]@"))
}

/// `(https?://)([A-Za-z0-9._~+/=-]{8,})@`
fn address(here: &str, _: bool) -> Option<Found> {
    let mut scan = Scan::scheme(here)?;
    let stays = scan.at;
    scan.many(8, is_token)?;
    scan.word("@")?;
    Some(scan.found(stays, "[REDACTED]@"))
}

/// A text that is looked at from the front. No pattern has to go back: after each part, what may follow is no part of it.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, inside: bool) -> Option<Self> {
        (!inside).then_some(Scan { text, at: 0 })
    }

    fn scheme(text: &'a str) -> Option<Self> {
        let mut scan = Scan { text, at: 0 };
        scan.word("http")?;
        scan.word("s");
        scan.word("://")?;
        Some(scan)
    }

    /// Goes over this word, whose letters are small, if it comes next in large or small ones.
    #[inline(never)]
    fn word(&mut self, word: &str) -> Option<()> {
        let mut letters = self.text.get(self.at..)?.chars();
        for wanted in word.chars() {
            look();
            if folded(letters.next()?) != wanted {
                return None;
            }
        }
        self.at = self.text.len() - letters.as_str().len();
        Some(())
    }

    fn one_of(&mut self, words: &[&str]) -> Option<()> {
        words.iter().find_map(|word| self.word(word))
    }

    /// Goes over all letters of a kind that come next, if there are at least so many.
    #[inline(never)]
    fn many(&mut self, least: usize, wanted: fn(char) -> bool) -> Option<()> {
        let mut count = 0;
        for letter in self.text.get(self.at..)?.chars() {
            look();
            if !wanted(letter) {
                break;
            }
            count += 1;
            self.at += letter.len_utf8();
        }
        (count >= least).then_some(())
    }

    fn found(&self, stays: usize, by: &'static str) -> Found {
        Found { stays, by, ends: self.at }
    }
}

/// A letter in lower case, with the two signs that stand for an ASCII letter when cases are not told apart.
fn folded(letter: char) -> char {
    match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        _ => letter.to_ascii_lowercase(),
    }
}

/// `[A-Za-z0-9]`, cases not told apart.
fn is_letter(letter: char) -> bool {
    folded(letter).is_ascii_alphanumeric()
}

/// `[A-Za-z0-9._~+/=-]`, cases not told apart.
fn is_token(letter: char) -> bool {
    is_letter(letter) || matches!(letter, '.' | '_' | '~' | '+' | '/' | '=' | '-')
}

/// Whether a word goes on with it: letters and digits of all scripts, as Python sees them.
fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
thread_local! {
    /// How many letters were looked at: what tests count in place of time.
    static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts a letter that is looked at.
#[inline(always)]
fn look() {
    #[cfg(test)]
    LOOKED_AT.set(LOOKED_AT.get() + 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_work_grows_with_the_text_whatever_it_is_made_of() {
        let bad = [
            "a",
            " ",
            "-",
            "--",
            "Bearer ",
            "Bearer",
            "Bearer abcdefg ",
            "token=",
            "token= ",
            "--token ",
            "--token",
            "sk-abcdefg ",
            "github_pat_",
            "xoxb-",
            "http://",
            "https://a",
            "http",
            "http://a:",
            "http://a:b",
            "http://aaaaaaaaa",
            "http:/",
            "https://user:password@",
            "é",
        ];
        for piece in bad {
            let work = |times: usize| {
                LOOKED_AT.set(0);
                text(&piece.repeat(times), &["known-key-of-the-page".into()]);
                LOOKED_AT.get()
            };
            let (once, twice) = (work(2_000), work(4_000));
            assert!(once >= 2_000 && twice <= 2 * once + 2_000, "{piece:?}: {once}, then {twice}");
            // Seven passes; the longest names are tried in full at each place at the worst.
            assert!(once <= 60 * 2_000 * piece.chars().count(), "{piece:?}: {once}");
        }
        // A run of white space, or of letters, that leads to nothing in the end.
        for (begin, run, end) in
            [("Bearer", " ", "é"), ("--token", " ", ""), ("http://a:", "b", "/"), ("http://", "c", ":")]
        {
            let work = |times: usize| {
                LOOKED_AT.set(0);
                text(&[begin, &run.repeat(times), end].concat(), &[]);
                LOOKED_AT.get()
            };
            assert!(work(20_000) <= 2 * work(10_000) + 1_000, "{begin}");
        }
    }

    #[test]
    fn known_keys_are_found_by_value_the_longest_first() {
        let known =
            ["abc".to_owned(), "abcdef".to_owned(), "é-key".to_owned(), String::new(), "RED".to_owned()];
        assert_eq!(keys("abcdef abc é-key!", &known).unwrap(), "[REDACTED] [REDACTED] [REDACTED]!");
        assert_eq!(keys("a RED token=x", &known), None);
        assert_eq!(text("say abcde", &known).unwrap(), "say [REDACTED]de");
        let (clean, paths) = value(&json!({ "a": ["x", "my abc"], "token": "abc" }), &known);
        assert_eq!(clean, json!({ "a": ["x", "my [REDACTED]"], "token": "[REDACTED]" }));
        assert_eq!(paths, ["$.a[1]", "$.token"]);
    }
}
