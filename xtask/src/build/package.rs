//! What is in the npm package, and its `package.json`.

use super::modules::sub_exports;
use super::notices;
use super::parts::Parts;
use crate::project::{Project, files};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

pub const WASM_FILE: &str = "lodger.wasm";

/// The folder of the module's parts.
pub const ROOMS: &str = "rooms";

/// Where a part is. A page that has loaded another build finds none, and not one that does not fit.
pub fn room_file(room: &str, build: &str) -> String {
    format!("{ROOMS}/{room}.{build}.wasm")
}

/// What is known of models: compiled into the module, and here to be added to.
pub const MODELS: &str = "src/model/models.json";

/// Files at the root that the package has as well.
const TEXTS: [&str; 4] = ["README.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// The pages of the documents by group, in their order; the site has the same menu.
const MENU: &str = "docs/menu.json";

/// What a coding agent reads first, and the list of all pages.
const SKILL: &str = "SKILL.md";
const INDEX: &str = "llms.txt";

/// What stands between these in the README is about the repository: it links to files that the package has not.
const ONLY_HERE: [&str; 2] = ["<!-- only here, not in the npm package -->\n", "<!-- end -->\n"];

pub fn assemble(project: &Project, modules: &Path, parts: &Parts) -> Result<()> {
    let pkg = project.pkg();
    if pkg.exists() {
        fs::remove_dir_all(&pkg).with_context(|| format!("cannot empty {}", pkg.display()))?;
    }
    fs::create_dir_all(&pkg)?;
    let is_type = |path: &PathBuf| path.to_string_lossy().ends_with(".d.ts");
    let types = fs::read_dir(project.root.join("js"))?.map(|entry| Ok(entry?.path()));
    let types = types.collect::<Result<Vec<_>>>()?.into_iter().filter(is_type);
    for path in files(modules)?.into_iter().chain(types) {
        fs::copy(&path, pkg.join(path.file_name().unwrap_or_default()))?;
    }
    for name in std::iter::once("index").chain(sub_exports()) {
        ensure!(
            pkg.join(name).with_extension("d.ts").is_file(),
            "js/{name}.d.ts is missing: the package's `exports` name it"
        );
    }
    fs::copy(project.root.join(MODELS), pkg.join("models.json")).context("models.json is missing")?;
    fs::write(pkg.join(WASM_FILE), &parts.main)?;
    fs::create_dir_all(pkg.join(ROOMS))?;
    for (room, part) in &parts.parts {
        fs::write(pkg.join(room_file(room, &parts.build)), part)?;
    }
    fs::write(pkg.join(notices::FILE), notices::notices(project)?)?;
    fs::write(pkg.join("package.json"), manifest(project))?;
    Ok(())
}

/// Whether a file of the package is one that `texts` writes.
pub fn is_text(project: &Project, file: &Path) -> bool {
    file.strip_prefix(project.pkg()).is_ok_and(|name| {
        let root = TEXTS.iter().chain(&[SKILL, INDEX]).any(|text| name == Path::new(text));
        root || name.starts_with("docs")
    })
}

/// Writes what the package has to read. That needs no build, so it is done anew each time.
pub fn texts(project: &Project) -> Result<()> {
    let pkg = project.pkg();
    let read = |name: &str| {
        fs::read_to_string(project.root.join(name)).with_context(|| format!("{name} is missing"))
    };
    for text in TEXTS {
        fs::write(pkg.join(text), for_npm(&read(text)?))?;
    }
    fs::write(pkg.join(SKILL), read(&format!("docs/{SKILL}"))?)?;
    let docs = pkg.join("docs");
    if docs.exists() {
        fs::remove_dir_all(&docs).with_context(|| format!("cannot empty {}", docs.display()))?;
    }
    let menu: Vec<Group> = groups(&read(MENU)?)?;
    let mut index = format!("# Lodger\n\n> {}\n", project.description);
    let first = Group { text: "Overview".into(), pages: vec!["index".into()] };
    for Group { text, pages } in std::iter::once(first).chain(menu) {
        index.push_str(&format!("\n## {text}\n\n"));
        for page in pages {
            let name = format!("docs/{page}.md");
            let text = read(&name)?;
            let (title, description) =
                said(&text).with_context(|| format!("{name} has no title or no description"))?;
            index.push_str(&format!("- [{title}]({name}): {description}\n"));
            let file = pkg.join(&name);
            fs::create_dir_all(file.parent().unwrap_or(&pkg))?;
            fs::write(file, for_npm(&text))?;
        }
    }
    index.push_str(
        "\n## Types\n\n- [index.d.ts](index.d.ts): the public surface with every shape, unit and error.\n",
    );
    fs::write(pkg.join(INDEX), index).map_err(Into::into)
}

/// Pages that the menu has under one word.
struct Group {
    text: String,
    pages: Vec<String>,
}

fn groups(menu: &str) -> Result<Vec<Group>> {
    let menu: serde_json::Value = serde_json::from_str(menu).with_context(|| format!("{MENU} is no JSON"))?;
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let group = |group: &serde_json::Value| {
        let pages = group["pages"].as_array()?.iter().map(text).collect::<Option<_>>()?;
        Some(Group { text: text(&group["text"])?, pages })
    };
    menu.as_array()
        .and_then(|menu| menu.iter().map(group).collect())
        .with_context(|| format!("{MENU} lists no pages"))
}

/// The title of a page and its description in one sentence.
fn said(page: &str) -> Option<(&str, &str)> {
    let line = |mark: &str| page.lines().find_map(|line| line.strip_prefix(mark));
    Some((line("# ")?, line("description: ")?))
}

/// The text without what is about the repository only.
fn for_npm(text: &str) -> String {
    let [begin, end] = ONLY_HERE;
    let mut parts = text.split(begin);
    let first = parts.next().unwrap_or_default();
    let kept = parts.map(|part| part.split_once(end).map_or(part, |(_, rest)| rest));
    std::iter::once(first).chain(kept).collect()
}

/// A text and not a JSON value: the order of conditions in `exports` has a meaning (the first that fits is taken).
fn manifest(project: &Project) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (version, description, license) =
        (quoted(&project.version), quoted(&project.description), quoted(&project.license));
    let sub_export =
        |name: &str| format!(r#""./{name}": {{ "types": "./{name}.d.ts", "default": "./{name}.js" }}"#);
    let sub_exports = sub_exports().map(sub_export).collect::<Vec<_>>().join(",\n    ");
    format!(
        r#"{{
  "name": "lodger",
  "version": {version},
  "description": {description},
  "license": {license},
  "keywords": ["agent", "llm", "wasm", "indexeddb", "browser"],
  "type": "module",
  "sideEffects": false,
  "engines": {{ "node": ">=20" }},
  "exports": {{
    ".": {{
      "types": "./index.d.ts",
      "node": "./node.js",
      "browser": "./index.js",
      "default": "./index.js"
    }},
    {sub_exports},
    "./models.json": "./models.json",
    "./lodger.wasm": "./lodger.wasm",
    "./rooms/*": "./rooms/*",
    "./package.json": "./package.json"
  }},
  "types": "./index.d.ts",
  "peerDependencies": {{ "@wllama/wllama": "^3.8.0" }},
  "peerDependenciesMeta": {{ "@wllama/wllama": {{ "optional": true }} }},
  "files": ["*.js", "*.js.map", "*.d.ts", "models.json", "lodger.wasm", "rooms/*.wasm", "docs", "llms.txt", "SKILL.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE", "{}"]
}}
"#,
        notices::FILE
    )
}
