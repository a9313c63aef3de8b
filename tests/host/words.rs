//! The words of documents, comments, messages and tests: plain English, which a reader of any country takes in at once.
//! And the files that the documents name: they exist.
//!
//! Looked at are the documents (`DOCUMENTS`, all of `docs/`), each comment of the sources, and each text of the
//! package and the workbench (errors, hints, descriptions of tools). In tests the refused words alone are looked for, names
//! and all. A sentence ends at `.`, `!` or `?`, and with its paragraph or list item. A clause ends at `:` and `;` too. A
//! clause has a limit everywhere. In documents and in the headers of modules a sentence has one as well, and at most one
//! `:` or `;`. Code, table rows and addresses are left out.

use std::fs;
use std::path::{Path, PathBuf};

/// The most words that a clause may have: in a comment or a message, and in a document.
const WORDS: usize = 30;
const WORDS_OF_DOCUMENTS: usize = 25;

/// The most words of a sentence to its full stop, and the most `:` and `;` in it, in documents and headers.
const WORDS_TO_FULL_STOP: usize = 30;
const COLONS: usize = 1;

/// The same of a page that readers get: pages are read by more people than know the house.
const WORDS_OF_PAGES: usize = 25;
const PAGES: [&str; 5] = ["docs/start", "docs/guides", "docs/concepts", "docs/index.md", "docs/errors.md"];

/// Where a clause ends, and where a sentence.
const CLAUSE: [char; 5] = ['.', ':', ';', '!', '?'];
const SENTENCE: [char; 3] = ['.', '!', '?'];

/// Words that make a reader look for the noun.
const REFUSED: [&str; 3] = ["whichever", "whoever", "whyever"];

/// What follows `, for` where it means *because*. `, for example` and `, for instance` pass.
const SUBJECTS: [&str; 15] = [
    "everything",
    "he",
    "it",
    "nobody",
    "none",
    "nothing",
    "she",
    "such",
    "that",
    "there",
    "these",
    "they",
    "this",
    "those",
    "what",
];

/// The same, where a noun and its verb come after it: `, for the page.` passes.
const ARTICLES: [&str; 9] = ["a", "all", "an", "each", "every", "its", "most", "no", "the"];

const DOCUMENTS: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "js/PROTOCOL.md",
    "pkg-tests/README.md",
];

/// Where the names of tests are, and the folders whose texts people and models read.
const TESTS: [&str; 4] = ["js/test", "pkg-tests/suites", "tests/host", "www/tests"];
const SPOKEN: [&str; 3] = ["js", "src", "www/src"];

/// What of those is not for a person: tests, the names of all commands, and a model's instructions, which journals have as they
/// are.
const UNSPOKEN: [&str; 3] = ["js/test", "js/protocol/commands.js", "src/prompt"];

/// How the path of a file of ours begins, as documents write it.
const FOLDERS: [&str; 8] = ["docs/", "fuzz/", "js/", "pkg-tests/", "src/", "tests/", "www/", "xtask/"];

/// The folders with sources, how the names of sources end, and folders in them that are not ours.
const SOURCES: [&str; 8] = ["examples", "fuzz", "js", "pkg-tests", "src", "tests", "www", "xtask"];
const ENDINGS: [&str; 5] = ["css", "js", "mjs", "rs", "ts"];
const FOREIGN: [&str; 5] = [".work", "dist", "node_modules", "pkg", "target"];

/// What the site of the documents makes of the package's types.
const MADE: &str = "docs/reference";

#[test]
fn documents_and_comments_are_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut faults = Vec::new();
    let mut judge = |path: &Path, text: &str, most: usize| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        faults.extend(
            clauses(text)
                .into_iter()
                .filter_map(|(line, clause)| Some(format!("{name}:{line}: {}", fault(&clause, most)?))),
        );
    };
    for path in documents() {
        judge(&path, &fs::read_to_string(&path).unwrap(), WORDS_OF_DOCUMENTS);
    }
    for path in SOURCES.iter().flat_map(|folder| files(&root.join(folder), &ENDINGS)) {
        judge(&path, &comments(&fs::read_to_string(&path).unwrap()), WORDS);
    }
    assert!(faults.is_empty(), "say it plainly:\n{}", faults.join("\n"));
}

#[test]
fn sentences_of_documents_and_headers_end_soon() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documents = documents().into_iter().map(|path| (fs::read_to_string(&path).unwrap(), path));
    let sources = SOURCES.iter().flat_map(|folder| files(&root.join(folder), &ENDINGS));
    let headers = sources.map(|path| (comments(&header(&fs::read_to_string(&path).unwrap())), path));
    let mut faults = Vec::new();
    for (text, path) in documents.chain(headers) {
        let name = path.strip_prefix(root).unwrap().display();
        let is_page = PAGES.iter().any(|page| path.starts_with(root.join(page)));
        let most = if is_page { WORDS_OF_PAGES } else { WORDS_TO_FULL_STOP };
        let wrong = sentences(&text)
            .into_iter()
            .filter_map(|(line, sentence)| Some((line, too_much(&sentence, most)?)));
        faults.extend(wrong.map(|(line, fault)| format!("{name}:{line}: {fault}")));
    }
    assert!(faults.is_empty(), "make two sentences of it:\n{}", faults.join("\n"));
}

#[test]
fn messages_are_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut faults = Vec::new();
    for path in SPOKEN.iter().flat_map(|folder| files(&root.join(folder), &["js", "rs", "ts", "tsx"])) {
        if UNSPOKEN.iter().any(|folder| path.starts_with(root.join(folder))) {
            continue;
        }
        for (line, text) in texts(&fs::read_to_string(&path).unwrap()) {
            let wrong = clauses(&text).into_iter().filter_map(|(_, clause)| fault(&clause, WORDS));
            faults.extend(wrong.map(|fault| format!("{}:{line}: {fault}", path.display())));
        }
    }
    assert!(faults.is_empty(), "say it plainly:\n{}", faults.join("\n"));
}

#[test]
fn names_of_tests_are_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut faults = Vec::new();
    for path in TESTS.iter().flat_map(|folder| files(&root.join(folder), &["js", "mjs", "rs", "ts"])) {
        if path.ends_with("tests/host/words.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        for (index, line) in text.lines().enumerate() {
            let mut words = line.split(|c: char| !c.is_alphabetic());
            if let Some(word) = words.find(|word| REFUSED.contains(word)) {
                faults.push(format!("{}:{}: {word}", path.display(), index + 1));
            }
        }
    }
    assert!(faults.is_empty(), "name who or what it is:\n{}", faults.join("\n"));
}

#[test]
fn every_suite_of_the_package_is_in_the_list_of_suites() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("pkg-tests");
    let list = fs::read_to_string(root.join("README.md")).unwrap();
    let suites = files(&root.join("suites"), &["mjs"]);
    let named = suites.iter().map(|path| path.file_name().unwrap().to_string_lossy());
    let missing: Vec<_> = named
        .filter(|name| !list.contains(&format!("`{name}`")) && !list.contains(&format!("`suites/{name}`")))
        .collect();
    assert!(missing.is_empty(), "not in pkg-tests/README.md: {missing:?}");
}

#[test]
fn each_decision_is_in_the_list_by_its_first_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/decisions");
    let list = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut said: Vec<String> = Vec::new();
    for path in files(&folder, &["md"]).into_iter().filter(|path| !path.ends_with("README.md")) {
        let text = fs::read_to_string(&path).unwrap();
        let title = text.lines().next().and_then(|line| line.strip_prefix("# ")?.split_once(". "));
        let (number, title) = title.unwrap_or_default();
        let file = path.file_name().unwrap().to_string_lossy();
        said.push(format!("- [{number}]({file}) {title}"));
    }
    let mut listed: Vec<&str> = list.lines().filter(|line| line.starts_with("- [")).collect();
    said.sort();
    listed.sort_unstable();
    assert_eq!(listed, said);
}

#[test]
fn files_that_documents_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut gone = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let named = text.split('`').skip(1).step_by(2).filter(|code| {
            // `NAME` stands for a name that is still to be given.
            FOLDERS.iter().any(|folder| code.starts_with(folder)) && !code.contains("NAME")
        });
        let linked = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link));
        // Whether a heading is there is looked at by `pkg-tests/suites/consumers.mjs`, in the package.
        let linked = linked.filter(|link| !link.starts_with("https:"));
        let linked = linked.filter_map(|link| link.split('#').next()).filter(|file| !file.is_empty());
        let here = path.parent().unwrap();
        let all = named.map(|name| root.join(name)).chain(linked.map(|link| here.join(link)));
        gone.extend(
            all.filter(|file| !file.exists()).map(|file| format!("{}: {}", path.display(), file.display())),
        );
    }
    assert!(gone.is_empty(), "named, but not there:\n{}", gone.join("\n"));
}

#[test]
fn each_fault_is_seen() {
    let faults = |text: &str| -> Vec<String> {
        clauses(text)
            .iter()
            .filter_map(|(line, clause)| Some(format!("{line}: {}", fault(clause, WORDS)?)))
            .collect()
    };
    let long = "so ".repeat(WORDS) + "long";
    let refused = [
        ("a\n\nIt is told, whyever.", "3: whyever"),
        ("Whoever waits", "1: whoever"),
        ("It waits, for\nnobody is there", "1: `, for nobody`"),
        ("- short\n- It waits, for\n  the page sleeps", "2: `, for the`"),
        (long.as_str(), "1: 31 words"),
        ("`code`, for it is short", "1: `, for it`"),
        ("It waits. Nor does\nit look", "1: `Nor`"),
    ];
    for (text, start) in refused {
        let faults = faults(text);
        assert!(
            faults.len() == 1 && faults.iter().all(|fault| fault.starts_with(start)),
            "{text:?} gave {faults:?}"
        );
    }
    let half = "so ".repeat(WORDS - 1) + "long";
    for text in [
        format!("{half}. {half}; {half}: {half}"),
        format!("{half}\n- {half}\n- {half}\n\n{half}\n# {half}\n{half}"),
        format!("```js\nwhoever {long}\n```\n| whoever | {long} |\n<!-- {long} -->\n{half}"),
        format!("[{half}](https://whoever.example/{})", "so/".repeat(9)),
        "It waits, for example, for a page, for instance this one; for the page, `whoever`.".into(),
    ] {
        assert_eq!(faults(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_sentence_goes_to_its_full_stop() {
    let faults = |text: &str| -> Vec<String> {
        sentences(text)
            .iter()
            .filter_map(|(line, sentence)| {
                Some(format!("{line}: {}", too_much(sentence, WORDS_TO_FULL_STOP)?))
            })
            .collect()
    };
    let half = "so ".repeat(WORDS_TO_FULL_STOP / 2);
    for (text, start) in [
        ("One. Two: three;\nfour.".to_owned(), "1: 2 colons"),
        ("- one\n- (two: three); \"four\"".into(), "2: 2 colons"),
        (format!("{half}; {half} `so so`."), "1: 31 words"),
    ] {
        let faults = faults(&text);
        assert!(
            faults.len() == 1 && faults.iter().all(|fault| fault.starts_with(start)),
            "{text:?} gave {faults:?}"
        );
    }
    for text in [
        format!("{half}: {half}. {half}; {half}!\n- {half}: {half}\n\n{half}; {half}"),
        "`a; b; c`: `d: e` a::b 10:30 https://a\n\n| a; b; c |\n\n```\na; b; c\n```".into(),
        format!("---\nname: {half}\ndescription: {half}: {half}\n---\n{half}"),
    ] {
        assert_eq!(faults(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_header_is_the_first_comment_of_a_module() {
    let cases = [
        ("//! One\n//! two\n\n// three\n//! four\nuse a;", "//! One\n//! two"),
        ("#!/usr/bin/env node\n\n// One\n// two\nimport a;\n// three", "\n\n// One\n// two"),
        ("/** One\n * two */\n/* three */", "/** One\n * two */"),
        ("#![no_main]\n//! One\n/// two", "\n//! One"),
        ("import a;\n// one", ""),
    ];
    for (source, expected) in cases {
        assert_eq!(header(source), expected);
    }
}

#[test]
fn every_kind_of_comment_is_read() {
    let source = [
        "//! Head",
        "//! of it.",
        "",
        "/// Doc. `a`",
        "let url = \"http://a // b\"; // beside",
        "let more = 1; // beside it",
        "/* One */",
        "/** Two",
        " * three",
        " * @param {x} four */",
        "const link = `//${a}`; // - five",
        "//   name   a column",
        "let far = 6; //7",
    ];
    let text = comments(&source.join("\n"));
    let lines = ["Head", "of it.", "", "Doc. `a`", "- beside", "- beside it", "One", "Two", "three"];
    let more = ["- @param {x} four", "- - five", "", "- 7"];
    assert_eq!(text.lines().collect::<Vec<_>>(), [&lines[..], &more[..]].concat());
}

#[test]
fn every_text_of_a_source_is_read() {
    let source = [
        "fn a() { new(Code::Busy, \"it \\\"works\\\"\").hint('wait \"a\" little'); }",
        "// a \"comment\"",
        "let x = `one ${b} two`; // and \"another one\"",
        "let c = 'a'; let url = \"http://a b\";",
        "mod tests {",
        "let d = \"not this\";",
    ];
    let found = texts(&source.join("\n"));
    let expected =
        [(1, "it \\\"works\\\""), (1, "wait \"a\" little"), (3, "one ${b} two"), (4, "http://a b")];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = files(&root.join("docs"), &["md"]).into_iter();
    let written = pages.filter(|path| !path.starts_with(root.join(MADE)));
    DOCUMENTS.iter().map(|name| root.join(name)).chain(written).collect()
}

/// What is wrong with a clause, and its beginning. `most`: the words that it may have.
fn fault(clause: &str, most: usize) -> Option<String> {
    let words = words(clause);
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let because = (1..words.len()).find_map(|at| {
        let [before, word, clause @ ..] = words.get(at - 1..)? else { return None };
        let subject = bare(clause.first()?);
        let ends = clause.iter().position(|word| word.ends_with([',', '.', ':', ';', '!', '?']));
        let clause = ends.map_or(clause.len(), |last| last + 1);
        let begins =
            SUBJECTS.contains(&subject.as_str()) || (ARTICLES.contains(&subject.as_str()) && clause > 2);
        (before.ends_with(',') && *word == "for" && begins).then_some(subject)
    });
    let what = if let Some(word) =
        words.iter().map(|word| bare(word)).find(|word| REFUSED.contains(&word.as_str()))
    {
        format!("{word}: name who or what it is")
    } else if let Some(after) = because {
        format!("`, for {after}`: say because")
    } else if words.first() == Some(&"Nor") {
        "`Nor`: begin with the subject".into()
    } else if words.len() > most {
        format!("{} words between colons", words.len())
    } else {
        return None;
    };
    Some(format!("{what}: {}", beginning(&words)))
}

/// What a sentence has too much of, and its beginning. `most`: the words that it may have.
fn too_much(sentence: &str, most: usize) -> Option<String> {
    let words = words(sentence);
    let colons = sentence.split_whitespace().filter(|word| ends(word, &[':', ';'])).count();
    let what = if colons > COLONS {
        format!("{colons} colons or semicolons")
    } else if words.len() > most {
        format!("{} words to the full stop", words.len())
    } else {
        return None;
    };
    Some(format!("{what}: {}", beginning(&words)))
}

fn words(sentence: &str) -> Vec<&str> {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).collect()
}

fn beginning(words: &[&str]) -> String {
    words.iter().take(12).copied().collect::<Vec<_>>().join(" ")
}

/// Whether a word ends in one of these marks, closing quotes and brackets aside.
fn ends(word: &str, marks: &[char]) -> bool {
    word.trim_end_matches(['"', '\'', ')', '*', '_']).ends_with(marks)
}

fn clauses(text: &str) -> Vec<(usize, String)> {
    split(text, &CLAUSE)
}

fn sentences(text: &str) -> Vec<(usize, String)> {
    split(text, &SENTENCE)
}

/// The parts of a Markdown text that end at these marks, each with the number of its first line.
fn split(text: &str, marks: &[char]) -> Vec<(usize, String)> {
    let (mut sentences, mut sentence) = (Vec::new(), String::new());
    let (mut began, mut in_code, mut in_head) = (0, false, false);
    let mut end = |sentence: &mut String, began: usize| {
        if !sentence.trim().is_empty() {
            sentences.push((began, std::mem::take(sentence)));
        }
        sentence.clear();
    };
    for (index, line) in text.lines().enumerate() {
        let mut line = line.trim();
        // What a page says of itself before its title: a name and a text in each line.
        if line == "---" && (index == 0 || in_head) {
            in_head = index == 0;
            end(&mut sentence, began);
            continue;
        }
        if in_head {
            end(&mut sentence, began);
            line = line.split_once(": ").map_or(line, |(_, text)| text);
        }
        let fence = line.starts_with("```");
        let item = ["- ", "* ", "#"].iter().any(|mark| line.starts_with(mark))
            || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if fence || in_code || item || line.is_empty() || line.starts_with(['|', '<']) {
            end(&mut sentence, began);
        }
        in_code ^= fence;
        if fence || in_code || line.starts_with(['|', '<']) {
            continue;
        }
        for word in prose(line).split_whitespace() {
            if sentence.is_empty() {
                began = index + 1;
            }
            sentence.push_str(word);
            sentence.push(' ');
            if ends(word, marks) {
                end(&mut sentence, began);
            }
        }
        if line.starts_with('#') {
            end(&mut sentence, began);
        }
    }
    end(&mut sentence, began);
    sentences
}

/// A line without the text of its code and the addresses of its links.
fn prose(line: &str) -> String {
    let mut out = String::new();
    for (index, part) in line.split('`').enumerate() {
        out.push_str(if index % 2 == 0 { part } else { "code" });
    }
    while let Some((before, rest)) = out.split_once("](") {
        let after = rest.split_once(')').map_or("", |(_, after)| after);
        out = format!("{before}]{after}");
    }
    out
}

/// The comment that a module begins with, behind its attributes and `#!`; each line where it stands.
fn header(source: &str) -> String {
    let (mut header, mut in_block, mut last) = (String::new(), false, "");
    for line in source.lines() {
        let before = header.trim().is_empty() && (line.is_empty() || line.starts_with('#'));
        let mark = ["//!", "//", "/*"].into_iter().find(|mark| line.starts_with(mark)).unwrap_or_default();
        let goes_on = in_block || (!mark.is_empty() && (last.is_empty() || (mark == last && mark != "/*")));
        if !before && !goes_on {
            break;
        }
        if !before {
            header.push_str(line);
            (in_block, last) =
                ((in_block || mark == "/*") && !line.contains("*/"), if in_block { last } else { mark });
        }
        header.push('\n');
    }
    header.trim_end().into()
}

/// The comments of a source as a Markdown text, each line where it stands. A comment behind code is an item of its own.
fn comments(source: &str) -> String {
    let mut in_block = false;
    let lines = source.lines().map(|line| {
        let line = line.trim();
        let (text, beside_code) = if in_block {
            // The end of a block alone in its line is no star of it.
            (if line.starts_with("*/") { line } else { line.trim_start_matches('*') }, false)
        } else if let Some(rest) = line.strip_prefix("/*") {
            in_block = true;
            (rest.trim_start_matches('*'), false)
        } else {
            let marks = line.match_indices("//").map(|(at, _)| line.split_at(at));
            let Some((code, comment)) = marks.into_iter().find(|(code, _)| ends_code(code)) else {
                return String::new();
            };
            (comment.trim_start_matches(['/', '!']), !code.is_empty())
        };
        let (text, ends) = text.split_once("*/").map_or((text, false), |(text, _)| (text, true));
        in_block &= !ends;
        match text.trim() {
            // Columns: a table.
            text if text.contains("   ") => String::new(),
            text if beside_code || text.starts_with('@') => format!("- {text}"),
            text => text.into(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The texts in quotes that have more than one word, each with its line; those of a module's own tests are not.
fn texts(source: &str) -> Vec<(usize, String)> {
    let mut texts = Vec::new();
    let of_package = source.lines().take_while(|line| line.trim() != "mod tests {");
    for (index, line) in of_package.enumerate().filter(|(_, line)| !line.trim().starts_with("//")) {
        let mut rest = line;
        while let Some(at) = rest.find(['"', '\'', '`']) {
            let (before, from) = rest.split_at(at);
            if before.contains(" //") {
                break;
            }
            let quote = from.chars().next().unwrap();
            let text = &from[1..];
            let escaped = |end: usize| text[..end].ends_with('\\');
            let end = text.match_indices(quote).map(|(end, _)| end).find(|end| !escaped(*end));
            // A lifetime, or a text that goes on in the next line.
            let Some(end) = end else {
                rest = text;
                continue;
            };
            if text[..end].contains(' ') {
                texts.push((index + 1, text[..end].to_owned()));
            }
            rest = &text[end + 1..];
        }
    }
    texts
}

/// Whether a comment can begin behind this code: not inside a text or an address.
fn ends_code(code: &str) -> bool {
    let closed = |quote: char| code.matches(quote).count().is_multiple_of(2);
    (code.is_empty() || code.ends_with(' ')) && closed('"') && closed('`')
}

/// All files below a directory whose names end so.
fn files(dir: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut open = vec![dir.to_path_buf()];
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !FOREIGN.contains(&name.as_str()) {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        } else if name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending)) {
            files.push(path);
        }
    }
    files.sort();
    assert!(!files.is_empty(), "nothing to read in {}", dir.display());
    files
}
