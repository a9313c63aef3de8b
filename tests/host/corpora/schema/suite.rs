//! The official JSON-Schema-Test-Suite for draft 2020-12. `cargo xtask test host` fetches it. `LODGER_SCHEMA_SUITE`
//! names another copy: a folder with `tests/draft2020-12`, `remotes`, and the meta-schemas of the draft in `meta`.

use crate::support::engine::options;
use lodger::tools::schema::{Options, Schema};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of the optional part that are about what we do not promise, with the reason.
const NOT_OURS: &[(&str, &str)] = &[
    ("bignum", "numbers beyond 64 bits are floats"),
    ("cross-draft", "there is one draft"),
    ("dependencies-compatibility", "a keyword of an earlier draft"),
    ("duration", "no format of ours"),
    ("idn-email", "no format of ours"),
    ("idn-hostname", "no format of ours"),
    ("iri", "no format of ours"),
    ("iri-reference", "no format of ours"),
    ("json-pointer", "no format of ours"),
    ("relative-json-pointer", "no format of ours"),
    ("uri-reference", "no format of ours"),
    ("uri-template", "no format of ours"),
];

/// Why a file is about what we do not promise, if it is.
fn not_ours(path: &Path) -> Option<&'static str> {
    NOT_OURS.iter().find(|(name, _)| path.file_stem().is_some_and(|stem| stem == *name)).map(|(_, why)| *why)
}

fn folder() -> PathBuf {
    std::env::var_os("LODGER_SCHEMA_SUITE").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("xtask").join("suite"),
        PathBuf::from,
    )
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// All documents that the suite's schemas refer to.
fn documents(folder: &Path) -> Vec<(String, Value)> {
    let remotes = folder.join("remotes");
    let remote = files(&remotes).into_iter().map(|path| {
        let name = path.strip_prefix(&remotes).unwrap().to_str().unwrap().replace('\\', "/");
        (format!("http://localhost:1234/{name}"), read(&path))
    });
    let meta = files(&folder.join("meta")).into_iter().map(|path| {
        let document = read(&path);
        (document["$id"].as_str().unwrap().to_owned(), document)
    });
    remote.chain(meta).collect()
}

/// Runs the tests of these files. Gives how many passed, and those that did not.
fn run(paths: &[PathBuf], documents: &[(String, Value)], formats: bool) -> (usize, Vec<String>) {
    let (mut passed, mut failed) = (0, Vec::new());
    for path in paths {
        let file = path.file_stem().unwrap().to_str().unwrap();
        for group in read(path).as_array().unwrap() {
            let schema = Schema::compile(&group["schema"], &Options { formats, ..options(documents) });
            for test in group["tests"].as_array().unwrap() {
                let verdict = match &schema {
                    Ok(schema) => Ok(schema.validate(&test["data"]).is_valid()),
                    Err(error) => Err(error.to_string()),
                };
                if verdict == Ok(test["valid"].as_bool().unwrap()) {
                    passed += 1;
                } else {
                    let (group, test) = (&group["description"], &test["description"]);
                    failed.push(format!("{file}: {group}: {test}: {verdict:?}"));
                }
            }
        }
    }
    (passed, failed)
}

#[test]
fn the_official_suite() {
    let folder = folder();
    let tests = folder.join("tests/draft2020-12");
    if !tests.is_dir() {
        println!("skipped: 1 suite, which is not at {}", tests.display());
        return;
    }
    let documents = documents(&folder);
    let (optional, required): (Vec<_>, Vec<_>) =
        files(&tests).into_iter().partition(|path| path.starts_with(tests.join("optional")));
    let (passed, failed) = run(&required, &documents, false);
    println!("counts: required part of the suite: {passed} passed, {} failed, 0 skipped", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 1200, "this is not the whole suite");

    let ours: Vec<PathBuf> = optional.iter().filter(|path| not_ours(path).is_none()).cloned().collect();
    let (formats, others): (Vec<PathBuf>, Vec<PathBuf>) =
        ours.into_iter().partition(|path| path.parent().is_some_and(|parent| parent.ends_with("format")));
    let (with_formats, failed_formats) = run(&formats, &documents, true);
    let (without, failed_others) = run(&others, &documents, false);
    let failed = [failed_formats, failed_others].concat();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, why) in optional.iter().filter_map(|path| Some((path, not_ours(path)?))) {
        let groups = read(path);
        let tests = groups.as_array().unwrap().iter().map(|group| group["tests"].as_array().unwrap().len());
        *reasons.entry(why).or_default() += tests.sum::<usize>();
    }
    println!(
        "counts: optional part of the suite: {} passed, {} failed, {} skipped: {reasons:?}",
        with_formats + without,
        failed.len(),
        reasons.values().sum::<usize>()
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
