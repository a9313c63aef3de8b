//! Whose work is compiled into the module, and under which terms.
//!
//! Decides which crates those are: what the module depends on for its target, but for what only the compiler runs. Promises:
//! each has its name, its license and the text that comes with it. Texts that are the same stand there once. A crate without
//! a text has its authors. Leaves to others: what is in the package besides (`package`).

use crate::command::{Cmd, cargo};
use crate::project::Project;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Where it stands in the package.
pub const FILE: &str = "NOTICES.txt";

const TARGET: &str = "wasm32-unknown-unknown";

const HEAD: &str = "The module lodger.wasm and its parts contain the work of others. This is whose, and under which terms.\n";

/// What comes with the compiler, and is no crate that Cargo knows of. Its terms are our own [`MIT`].
const STD: &str = "The Rust standard library (MIT OR Apache-2.0)\n\
                   Copyright (c) The Rust Project Developers (https://thanks.rust-lang.org)\n\
                   with compiler_builtins and libm (MIT), dlmalloc, hashbrown and cfg-if (MIT OR Apache-2.0)\n\
                   Copyright (c) their authors (https://github.com/rust-lang, https://github.com/alexcrichton)";
const TABLES: &str = "Tables of characters in it (Unicode-3.0)";

const MIT: &str = include_str!("../../../LICENSE-MIT");
const UNICODE: &str = include_str!("licenses/unicode-3.0.txt");

/// The words of MIT without whose they are.
fn permission() -> Result<&'static str> {
    let at = MIT.find("Permission is hereby").context("LICENSE-MIT gives no permission")?;
    Ok(&MIT[at..])
}

/// All notices, as one text.
pub fn notices(project: &Project) -> Result<String> {
    let metadata = Cmd::new(cargo())
        .args(["metadata", "--format-version", "1", "--features", "npm", "--filter-platform", TARGET])
        .in_dir(&project.root)
        .captured()?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata gives no JSON")?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in compiled(&metadata)? {
        let text = |name: &str| package[name].as_str().unwrap_or_default();
        let title = format!("{} {} ({})", text("name"), text("version"), text("license"));
        let dir = Path::new(text("manifest_path")).parent().context("a crate without a folder")?;
        texts.entry(terms(dir, package)?).or_default().push(title);
    }
    ensure!(!texts.is_empty(), "cargo metadata names no crate that the module is made of");
    let mut parts = texts.iter().map(|(text, titles)| (titles.join("\n"), text)).collect::<Vec<_>>();
    parts.sort();
    let with_compiler = [(STD, permission()?), (TABLES, UNICODE)];
    let rule = "-".repeat(80);
    let all = parts.iter().map(|(titles, text)| (titles.as_str(), text.as_str())).chain(with_compiler);
    let all = all.map(|(titles, text)| format!("\n{rule}\n{titles}\n\n{}\n", text.trim_end()));
    Ok(format!("{HEAD}{}", all.collect::<String>()))
}

/// The crates that the module is made of, but for its own.
fn compiled(metadata: &Value) -> Result<Vec<&Value>> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let packages = metadata["packages"].as_array().context("no packages")?;
    let named = |id: &str| packages.iter().find(|package| package["id"] == id);
    let is_run_by_the_compiler = |package: &Value| {
        list(&package["targets"]).iter().any(|target| list(&target["kind"]).contains(&"proc-macro".into()))
    };
    let nodes = list(&metadata["resolve"]["nodes"]);
    let own = packages.iter().find(|package| package["name"] == "lodger").context("no crate lodger")?;
    let mut ahead = vec![own["id"].as_str().unwrap_or_default().to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(id) = ahead.pop() {
        let package = named(&id).with_context(|| format!("no crate {id}"))?;
        if is_run_by_the_compiler(package) || !seen.insert(id.clone()) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id.as_str());
        for dependency in node.map(|node| list(&node["deps"])).unwrap_or_default() {
            // A kind that is null: neither for tests nor for build scripts.
            if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                ahead.push(dependency["pkg"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    seen.remove(own["id"].as_str().unwrap_or_default());
    Ok(seen.iter().filter_map(|id| named(id)).collect())
}

/// The text of a crate's license (of several, the shortest way to keep it: MIT), and its notice.
fn terms(dir: &Path, package: &Value) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let has = |name: &str, begin: &str| name.to_ascii_uppercase().starts_with(begin);
    let licenses = names.iter().filter(|name| has(name, "LICEN"));
    let license =
        licenses.clone().find(|name| name.to_ascii_uppercase().contains("MIT")).or(licenses.clone().next());
    let notices = names.iter().filter(|name| has(name, "NOTICE"));
    let mut texts = Vec::new();
    for name in license.into_iter().chain(notices) {
        let text = fs::read_to_string(dir.join(name)).with_context(|| format!("cannot read {name}"))?;
        texts.push(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned());
    }
    if texts.is_empty() {
        let authors = package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let authors = authors.collect::<Vec<_>>().join(", ");
        let from = package["repository"].as_str().unwrap_or_default();
        texts.push(format!("Copyright (c) {authors}\n{from}"));
        // MIT wants its words in every copy.
        texts.push(permission()?.to_owned());
    }
    Ok(texts.join("\n\n"))
}
