//! Patterns: each construct, what is refused, and any pattern before any text beside an engine that goes back.

use crate::support::engine::{compile, options, patterns};
use crate::support::parts::drawn;
use fastrand::Rng;
use lodger::error::Code;
use lodger::tools::schema::{Options, Schema};
use lodger::tools::{Definition, Registry};
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

fn schema(pattern: &str) -> Schema {
    compile(&json!({ "pattern": pattern })).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// Whether a pattern matches anywhere in a text.
fn fits(pattern: &str, text: &str) -> bool {
    schema(pattern).validate(&json!(text)).is_valid()
}

#[track_caller]
fn check(pattern: &str, fitting: &[&str], others: &[&str]) {
    let schema = schema(pattern);
    for (texts, expected) in [(fitting, true), (others, false)] {
        for text in texts {
            assert_eq!(schema.validate(&json!(text)).is_valid(), expected, "/{pattern}/ and {text:?}");
        }
    }
}

#[test]
fn each_construct_means_what_it_means_in_a_browser() {
    check("", &["", "a"], &[]);
    check("b", &["b", "abc"], &["", "a"]);
    check("^b", &["b", "bc"], &["ab", "a\nb", ""]);
    check("b$", &["b", "ab"], &["ba", "b\n", ""]);
    check("^$", &[""], &["a", "\n"]);
    check(r"\bfoo\b", &["foo", "a foo.", "foo-bar"], &["food", "_foo", "éfoo1"]);
    check(r"é\bfoo", &["éfoo"], &["foo"]);
    check(r"^\B", &["", "-a"], &["a"]);
    check(r"o\Bo", &["foo"], &["o o"]);
    check("^.$", &["a", "\u{1f409}", "\u{85}"], &["\n", "\r", "\u{2028}", "\u{2029}", "", "ab"]);
    check("^[abc-e]$", &["a", "b", "d"], &["f", "-", "", "ab"]);
    check("^[^abc-e]$", &["f", "-", "\n", "\u{1f409}"], &["a", "d", ""]);
    check("^[]$", &[], &["", "a"]);
    check("^[^]$", &["a", "\n"], &["", "ab"]);
    check("^[-a]$", &["-", "a"], &["b"]);
    check("^[a-]$", &["-", "a"], &["b"]);
    check(r"^[\]\\^]$", &["]", "\\", "^"], &["a"]);
    check(r"^[a\-c]$", &["a", "-", "c"], &["b"]);
    check(r"^[\b]$", &["\u{8}"], &["b", ""]);
    check("^[🐉-🐊]$", &["🐉", "🐊"], &["🐈", "\u{fffd}"]);
    check(
        r"^\d\D\w\W\s\S$",
        &["1aa- x", "0_Z\u{e9}\u{feff}."],
        &["aaa- x", "11a- x", "1aé- x", "1aaa x", "1aa-xx", "1aa-  "],
    );
    check(r"^[\d\s]+$", &["1 2\u{a0}\u{1680}\u{2003}\u{2029}\u{202f}\u{205f}\u{3000}"], &["a", "1\u{200b}"]);
    check(r"^[^\W\d]$", &["a", "_"], &["1", "-", "é"]);
    check(r"^[\D]$", &["a"], &["1"]);
    check(
        r"^\p{L}\P{L}[\p{Lu}\P{Script=Greek}][^\p{N}]$",
        &["é1Ax", "a Ωx"],
        &["11Ax", "aaAx", "a ωx", "a A1"],
    );
    check(r"^\x41\u0042\u{43}\u{1f409}\ud83d\udc09$", &["ABC🐉🐉"], &["ABC🐉"]);
    check(r"^[\ud83d\udc09]$", &["🐉"], &["🐊"]);
    check(r"\ud83d", &[], &["🐉"]);
    check(r"^\t\n\v\f\r\0\cJ\cj$", &["\t\n\u{b}\u{c}\r\0\n\n"], &["tnvfr0JJ"]);
    check(r"^\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/$", &[r"^$\.*+?()[]{}|/"], &["a"]);
    check("^(ab)(?:c)(?<name>d)$", &["abcd"], &["abd", "abc"]);
    check("^a|b|cd$", &["a", "ax", "xbx", "cd", "xcd"], &["xa", "cdx", ""]);
    check("^(a|b|)$", &["a", "b", ""], &["c", "ab"]);
    check("^(?:|a)+$", &["", "a", "aaa"], &["b"]);
    check("^a*b+c?$", &["b", "aab", "bbc"], &["a", "aac", "abcc"]);
    check("^a*?b+?c??$", &["b", "aab", "bbc"], &["a", "aac", "abcc"]);
    check(
        "^a{2}b{2,}c{1,2}d{0}e{0,1}$",
        &["aabbc", "aabbbccе".trim_end_matches('е'), "aabbce"],
        &["abbc", "aabc", "aabbccc", "aabbcd"],
    );
    check("^(?:ab){2,3}?$", &["abab", "ababab"], &["ab", "abababab", "aba"]);
    check("^((a|b){2}c){2}$", &["abcbac"], &["abc", "abcab"]);
    check("^(?:){3}(?:)*a$", &["a"], &["b"]);
    check("^(?:^)*(?:$)*(a*)*$", &["", "aa"], &["b"]);
    check("^(a*)+$", &["", "aaa"], &["ab"]);
    check("^(?:a?){3}a{3}$", &["aaa", "aaaaaa"], &["aa", "aaaaaaa"]);
    check("^[a-z0-9]+(?:-[a-z0-9]+)*$", &["a-b-c", "a"], &["-a", "a-", "a--b"]);
}

#[test]
fn without_the_flag_it_is_the_language_of_annex_b() {
    // Each begins with what is no pattern with the flag.
    check(r"\_^a{,5}$", &[], &["_a"]);
    check(r"^\_a{$", &["_a{"], &["_a"]);
    check(r"^\_a{,5}{1$", &["_a{,5}{1"], &["_aa"]);
    check(r"^\_]}$", &["_]}"], &["_"]);
    check(r"^\_\u{3}\x\u00$", &["_uuuxu00"], &["_\u{3}"]);
    check(r"^\_\c$", &["_\\c"], &["_c"]);
    check(r"^\_\ca[\c1\c_][\c]$", &["_\u{1}\u{11}\\", "_\u{1}\u{1f}c"], &["_\u{1}1c"]);
    check(r"^\_\101\7\08\400\8\9$", &["_A\u{7}\0\u{38} 089"], &["_1017"]);
    check(r"^\_[\1\12\8]+$", &["_\u{1}\n8"], &["_2"]);
    check(r"^\_(a)\2$", &["_a\u{2}"], &["_aa"]);
    check(r"^\_\k<a>\p{L}$", &["_k<a>p{L}"], &["_a"]);
    check(r"^\_[\w-a]+[\d-z]$", &["_-a-", "_bz"], &["_b.", "_.z"]);
    check(r"^\_..$", &["_ab", "_🐉"], &["_🐉🐉"]);
    check(r"^\_[🐉]{2}$", &["_🐉"], &["_🐉🐉"]);
    check(r"^\_🐉{2}$", &[], &["_🐉🐉"]);
    check(r"\_\ud83d", &["_🐉"], &["_a"]);
}

#[test]
fn what_only_an_engine_that_goes_back_can_do_is_refused_with_its_place() {
    for (pattern, what) in [
        (r"(a)\1", "a backreference at character 4"),
        (r"\_(a)\1", "a backreference at character 6"),
        (r"(?<n>a)\k<n>", "a backreference at character 8"),
        (r"\_(?<n>a)\k<n>", "a backreference at character 10"),
        ("a(?=b)", "a lookahead at character 2"),
        ("(?!b)", "a lookahead at character 1"),
        ("(?<=b)a", "a lookbehind at character 1"),
        ("🐉(?<!b)a", "a lookbehind at character 2"),
    ] {
        for schema in [json!({ "pattern": pattern }), json!({ "patternProperties": { pattern: {} } })] {
            let error = compile(&schema).expect_err(pattern);
            let expected = format!(" has {what}, which is not supported");
            assert!(error.message.ends_with(&expected), "{pattern}: {}", error.message);
            assert_eq!(error.code, Code::InvalidSchema);
            assert!(error.hint.as_ref().unwrap().contains("linear in the text"), "{error:?}");
        }
    }
    // A regular expression it is.
    let format = compile(&json!({ "format": "regex" })).unwrap();
    assert!(format.validate(&json!(r"(a)(?=b)\1")).is_valid());
}

#[test]
fn a_pattern_that_is_too_large_is_refused_and_so_are_many() {
    let refused = [
        "a{1000000}",
        "a{1,1000000}",
        "(?:a{1000}){1000}",
        "(?:^){99999999999}",
        "(?:(?:a{9}){9}){999999999999,}",
        "((a{40000}){0}){2}",
    ];
    for pattern in refused {
        let error = compile(&json!({ "pattern": pattern })).expect_err(pattern);
        assert!(error.message.contains("'/pattern' is too large"), "{}", error.message);
        assert!(error.hint.is_some());
    }
    check("^a{1,9000}$", &["a", &"a".repeat(9_000)], &["", &"a".repeat(9_001)]);
    // What is not kept is read again, within what a value may be.
    let schema = compile(&json!({ "items": { "pattern": "^[a-z]{1,9000}$" } })).unwrap();
    assert!(schema.validate(&json!(vec!["abc"; 500])).is_valid());
    assert!(schema.validate(&json!(vec!["abc"; 50_000])).told().contains("too much work"));
}

#[test]
fn a_pattern_of_a_record_that_cannot_be_followed_fits_nothing_and_says_so() {
    let recorded = |schema| Schema::compile(&schema, &Options { recorded: true, ..options(&[]) });
    for pattern in ["a(?=b)", r"(a)\1", "a{1000000}"] {
        for schema in [json!({ "pattern": pattern }), json!({ "not": { "pattern": pattern } })] {
            let report = recorded(schema).unwrap().validate(&json!("ab"));
            assert!(!report.is_valid(), "{pattern}");
        }
    }
    assert!(recorded(json!({ "pattern": "(" })).is_err());
}

#[test]
fn a_journal_with_such_a_pattern_opens_and_its_calls_do_not_pass() {
    let tool = json!({
        "name": "a", "description": "d", "execute": { "$fn": 1 },
        "inputSchema": { "type": "object", "properties": { "a": { "pattern": "^(?=a)" } } },
    });
    let tool = Definition::parse(&tool).unwrap();
    let mut fresh = Registry::with(patterns());
    let error = fresh.register(tool.clone(), false).unwrap_err();
    assert!(error.message.starts_with("the tool 'a': '/properties/a/pattern' has a lookahead"), "{error:?}");
    assert!(error.hint.is_some());
    let recorded = Registry::from_record(&json!([tool.to_record()]), &patterns()).unwrap();
    let schema = &recorded.get("a").unwrap().schema;
    assert!(!schema.validate(&json!({ "a": "a" })).is_valid() && schema.validate(&json!({})).is_valid());
}

/// Each keeps an engine that goes back busy for ever.
const HOSTILE: [&str; 10] = [
    r"^(\p{L}+)*$",
    "^(([a-z])+.)+[A-Z]$",
    "^(?:a+a)+$",
    "^(a{1,30}){1,30}$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "^(?:.|a)*x$",
    "^(?:a?){40}a{40}$",
    "^a*a*a*a*a*a*a*a*b$",
    "^(a+)+$",
];

#[test]
fn no_text_makes_it_go_back() {
    let text = "a".repeat(100_000);
    for pattern in HOSTILE {
        let fitting = fits(pattern, &text);
        let all = [r"^(\p{L}+)*$", "^(?:a+a)+$", "^(a|a)*$", "^(a|aa)+$", "^(a+)+$"].contains(&pattern);
        assert_eq!(fitting, all, "{pattern}");
        assert!(!fits(pattern, &format!("{text}!")), "{pattern}");
    }
    // What is too much even so is told.
    let report = schema("(?:a{1,90}){1,90}b").validate(&json!(text.repeat(10)));
    assert!(report.told().contains("too much work"), "{}", report.told());
}

/// V8's own `RegExp`, asked in the way in which patterns are read here: with the flag `u`, else without.
const JUDGE: &str = r#"
const lines = require("fs").readFileSync(0, "utf8").trimEnd().split("\n").map(JSON.parse);
const made = (pattern, flags) => { try { return new RegExp(pattern, flags); } catch { return undefined; } };
console.log(JSON.stringify(lines.map(([pattern, texts]) => {
  const regex = made(pattern, "u") ?? made(pattern, "");
  return regex ? texts.map((text) => regex.test(text)) : null;
})));
"#;

#[test]
fn an_engine_that_goes_back_says_the_same() {
    let asked: Vec<(String, Vec<String>)> = (0..drawn(6_000, 100_000))
        .map(|seed| {
            let random = &mut Rng::with_seed(seed);
            let letters: Vec<char> = "aaabbc1_- .\n\u{e9}\u{1f409}A]{\\".chars().collect();
            let mut text = || (0..random.usize(0..9)).map(|_| random.choice(&letters).unwrap()).collect();
            let texts = (0..8).map(|_| text()).collect();
            (draw(random, 3), texts)
        })
        .collect();
    let child = Command::new("node").args(["-e", JUDGE]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        println!("skipped: 1 comparison with V8, because there is no node");
        return;
    };
    let lines: String = asked.iter().map(|asked| format!("{}\n", json!(asked))).collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let told = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let verdicts: Vec<Option<Vec<bool>>> = serde_json::from_slice(&told.stdout).unwrap();
    let (mut refused, mut compared, mut fitting) = (0, 0, 0);
    for ((pattern, texts), verdicts) in asked.iter().zip(&verdicts) {
        let compiled = compile(&json!({ "pattern": pattern }));
        let Some(verdicts) = verdicts else {
            assert!(compiled.is_err(), "/{pattern}/ is no pattern");
            refused += 1;
            continue;
        };
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error) => {
                assert!(error.message.contains("a backreference"), "{error}");
                continue;
            }
        };
        for (text, theirs) in texts.iter().zip(verdicts) {
            // V8 lets a match of `\B` begin between the two halves of a character, which the standard does not.
            if pattern.contains("\\B") && text.contains('\u{1f409}') {
                continue;
            }
            assert_eq!(compiled.validate(&json!(text)).is_valid(), *theirs, "/{pattern}/ and {text:?}");
            compared += 1;
            fitting += u64::from(*theirs);
        }
    }
    println!("counts: patterns beside V8: {compared} compared, {fitting} match, {refused} are none");
    assert_eq!(verdicts.len(), asked.len());
    assert!(compared > asked.len() * 4 && fitting > compared as u64 / 5, "too little was compared");
}

/// A pattern, mostly one that is.
fn draw(random: &mut Rng, depth: usize) -> String {
    let mut pattern = String::new();
    for _ in 0..random.usize(1..4) {
        let atom = match random.usize(0..if depth == 0 { 5 } else { 8 }) {
            0 | 1 => random.choice(["a", "b", "c", "1", "é", "🐉", "-", "_"]).unwrap().to_owned(),
            2 => random
                .choice([
                    ".",
                    r"\d",
                    r"\w",
                    r"\W",
                    r"\s",
                    r"\S",
                    r"\D",
                    r"\p{L}",
                    r"\P{Lu}",
                    r"\x61",
                    r"\u0062",
                    r"\.",
                    r"\-",
                    r"\_",
                    r"\ud83d\udc09",
                    "{",
                    "]",
                    r"\1",
                    r"\c",
                    r"\60",
                ])
                .unwrap()
                .to_owned(),
            3 => random
                .choice([
                    "[ab]",
                    "[^a]",
                    "[a-c]",
                    r"[\w-]",
                    r"[^\d\s]",
                    "[]",
                    "[^]",
                    r"[\p{L}1]",
                    "[🐉é]",
                    r"[a-c\-1]",
                    r"[\w-a]",
                    "[.-1]",
                ])
                .unwrap()
                .to_owned(),
            4 => {
                return pattern
                    + random.choice(["^", "$", r"\b", r"\B", "", "|"]).unwrap()
                    + &if depth == 0 { String::new() } else { draw(random, depth - 1) };
            }
            5 => format!("({})", draw(random, depth - 1)),
            6 => format!("(?:{})", draw(random, depth - 1)),
            _ => format!("(?:{}|{})", draw(random, depth - 1), draw(random, depth - 1)),
        };
        pattern.push_str(&atom);
        pattern.push_str(
            random.choice(["", "", "", "*", "+", "?", "*?", "{2}", "{1,2}", "{0,1}?", "{2,}"]).unwrap(),
        );
    }
    pattern
}
