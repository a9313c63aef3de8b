//! The package's JavaScript: the modules of `js/` and the glue, joined and minified by esbuild.
//!
//! A dozen small modules would cost a page without a bundler a dozen requests, one after the other, and ten kilobytes
//! more of brotli. What two entries share is in a file of its own. So there is one `LodgerError` class and one
//! instance for all entries that a page imports. Source maps hold the modules as written.

use super::package::{ROOMS, room_file};
use super::wasm::GLUE;
use super::{Profile, parts, tool};
use crate::project::Project;
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// A module of the package that pages or the package itself import by its name.
pub struct Entry {
    pub name: &'static str,
    /// Its file in `js/`.
    file: &'static str,
    /// Whether it is a sub-export: `lodger/NAME`, with its types in `js/NAME.d.ts`.
    pub is_sub_export: bool,
}

const fn own(name: &'static str, file: &'static str) -> Entry {
    Entry { name, file, is_sub_export: false }
}

const fn sub_export(name: &'static str, file: &'static str) -> Entry {
    Entry { name, file, is_sub_export: true }
}

/// `node.js` is `index.js` for Node, which reads the wasm from the disk.
pub const ENTRIES: [Entry; 9] = [
    own("index", "index.js"),
    own("node", "node.js"),
    own("worker", "worker.js"),
    sub_export("esbuild", "bundlers/esbuild.js"),
    sub_export("offline", "providers/offline.js"),
    sub_export("prompt-api", "providers/prompt-api.js"),
    sub_export("rollup", "bundlers/rollup.js"),
    sub_export("testing", "providers/testing.js"),
    sub_export("wllama", "providers/wllama.js"),
];

/// What stands in `js/` for its own tests.
const TESTS: [&str; 2] = ["test", "node_modules"];

/// Gives the folder with what goes into the package.
/// `build`: what is in the names of the module's parts.
pub fn bundle(project: &Project, profile: Profile, glue: &str, build: &str) -> Result<PathBuf> {
    let dir = project.cache("modules");
    let _ = fs::remove_dir_all(&dir);
    let (sources, out) = (dir.join("js"), dir.join("out"));
    copy(project, glue, &sources)?;
    name_parts(&sources, build)?;
    for Entry { file, .. } in ENTRIES {
        ensure!(sources.join(file).is_file(), "js/{file} is missing: the package's `exports` name it");
    }
    let mut cmd = tool(project, "esbuild")?
        .args(ENTRIES.map(|Entry { name, file, .. }| format!("{name}={file}")))
        .args(["--bundle", "--splitting", "--format=esm", "--platform=neutral", "--external:node:*"])
        .args(["--target=es2022", "--chunk-names=lodger-[hash]", "--sourcemap", "--legal-comments=none"])
        .args(["--log-level=warning", "--outdir=../out", "--metafile=../meta.json"])
        .in_dir(&sources);
    if profile == Profile::Release {
        cmd = cmd.arg("--minify");
    }
    cmd.captured().context("the modules in js/ cannot be joined")?;
    Ok(out)
}

/// The modules as they were written, with the glue beside them.
pub fn copy(project: &Project, glue: &str, to: &Path) -> Result<()> {
    copy_folder(&project.root.join("js"), to)?;
    let glue_path = to.join(GLUE).with_extension("js");
    ensure!(!glue_path.exists(), "js/ has a {GLUE}.js of its own: the build makes it");
    fs::write(glue_path, glue)?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() && !TESTS.contains(&name) {
            copy_folder(&path, &to.join(name))?;
        } else if path.is_file() && name.ends_with(".js") {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// The modules name the parts as the package has them.
fn name_parts(modules: &Path, build: &str) -> Result<()> {
    let at = modules.join("rooms.js");
    let mut text = fs::read_to_string(&at).context("js/rooms.js is missing")?;
    for room in parts::names() {
        let (name, file) = (format!("./{ROOMS}/{room}.wasm"), format!("./{}", room_file(room, build)));
        ensure!(text.contains(&name), "js/rooms.js does not name {name}");
        text = text.replace(&name, &file);
    }
    fs::write(at, text)?;
    Ok(())
}

/// The names of the sub-exports, without `lodger/`.
pub fn sub_exports() -> impl Iterator<Item = &'static str> {
    ENTRIES.into_iter().filter(|entry| entry.is_sub_export).map(|entry| entry.name)
}

/// A module of the package and all that it imports at once; what it imports later, by `import()`, is not among them.
pub fn loaded_by(project: &Project, entry: &str) -> Result<Vec<String>> {
    static_closure(&meta(project)?, entry)
}

/// What a page imports besides `lodger`: each module that comes by `import()`, and each sub-export. With the files that it
/// loads beyond those of `index.js`.
pub fn loaded_later(project: &Project) -> Result<Vec<(String, Vec<String>)>> {
    closures_beyond(&meta(project)?, "index.js", sub_exports())
}

/// What esbuild says of the files that it has made.
fn meta(project: &Project) -> Result<Value> {
    let meta = project.cache("modules").join("meta.json");
    let meta = fs::read_to_string(&meta).with_context(|| format!("cannot read {}", meta.display()))?;
    Ok(serde_json::from_str(&meta)?)
}

fn closures_beyond(
    meta: &Value,
    first: &str,
    sub_exports: impl Iterator<Item = &'static str>,
) -> Result<Vec<(String, Vec<String>)>> {
    let first = static_closure(meta, first)?;
    let mut entries: Vec<(String, String)> = Vec::new();
    for output in outputs(meta)?.values() {
        for import in output["imports"].as_array().into_iter().flatten() {
            if import["kind"] == "dynamic-import" && import["external"] != true {
                let path = import["path"].as_str().unwrap_or_default();
                let source = outputs(meta)?.get(path).and_then(|made| made["entryPoint"].as_str());
                entries.push((source.unwrap_or(path).to_owned(), file_name(path).to_owned()));
            }
        }
    }
    entries.sort();
    entries.dedup();
    entries.extend(sub_exports.map(|name| (format!("lodger/{name}"), format!("{name}.js"))));
    let beyond = |entry: &str| -> Result<Vec<String>> {
        Ok(static_closure(meta, entry)?.into_iter().filter(|file| !first.contains(file)).collect())
    };
    entries.into_iter().map(|(name, file)| Ok((name, beyond(&file)?))).collect()
}

fn outputs(meta: &Value) -> Result<&Map<String, Value>> {
    meta["outputs"].as_object().context("esbuild's record has no outputs")
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn static_closure(meta: &Value, entry: &str) -> Result<Vec<String>> {
    let outputs = outputs(meta)?;
    let mut found = vec![entry.to_owned()];
    let mut next = 0;
    while let Some(current) = found.get(next).cloned() {
        next += 1;
        let output = outputs.iter().find(|(path, _)| file_name(path) == current);
        let (_, output) = output.with_context(|| format!("esbuild made no {current}"))?;
        for import in output["imports"].as_array().into_iter().flatten() {
            let path = file_name(import["path"].as_str().unwrap_or_default()).to_owned();
            if import["kind"] == "import-statement" && import["external"] != true && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_imports_are_followed_and_others_are_not() {
        let import = |path: &str, kind: &str| serde_json::json!({ "path": path, "kind": kind });
        let meta = serde_json::json!({ "outputs": {
            "../out/index.js": { "imports": [import("../out/a.js", "import-statement"), import("../out/late.js", "dynamic-import")] },
            "../out/a.js": { "imports": [import("../out/b.js", "import-statement"),
                { "path": "node:fs", "kind": "import-statement", "external": true }] },
            "../out/b.js": { "imports": [import("../out/a.js", "import-statement")] },
            "../out/late.js": { "imports": [] },
            "../out/index.js.map": { "imports": [] },
        } });
        assert_eq!(static_closure(&meta, "index.js").unwrap(), ["index.js", "a.js", "b.js"]);
        assert!(static_closure(&meta, "other.js").is_err());
    }
    #[test]
    fn what_comes_later_is_counted_beyond_the_first_load() {
        let import = |path: &str, kind: &str| serde_json::json!({ "path": path, "kind": kind });
        let meta = serde_json::json!({ "outputs": {
            "../out/index.js": { "imports": [import("../out/a.js", "import-statement"), import("../out/b.js", "import-statement")] },
            "../out/a.js": { "imports": [import("../out/late.js", "dynamic-import")] },
            "../out/b.js": { "imports": [import("../out/late.js", "dynamic-import")] },
            "../out/late.js": { "imports": [import("../out/a.js", "import-statement")], "entryPoint": "client/late.js" },
            "../out/sub.js": { "imports": [import("../out/b.js", "import-statement"), import("../out/shared.js", "import-statement")] },
            "../out/shared.js": { "imports": [] },
        } });
        let later = closures_beyond(&meta, "index.js", ["sub"].into_iter()).unwrap();
        let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let expected = [
            ("client/late.js".to_owned(), files(&["late.js"])),
            ("lodger/sub".to_owned(), files(&["sub.js", "shared.js"])),
        ];
        assert_eq!(later, expected);
    }
}
