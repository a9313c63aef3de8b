//! What is in the npm package, and its `package.json`.

use super::wasm::{Bindings, GLUE};
use crate::project::Project;
use anyhow::{Context, Result, bail, ensure};
use std::fs;

pub const WASM_FILE: &str = "lodger.wasm";

/// Files at the root that the package has as well.
pub const TEXTS: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// What `exports` names and `js/` must have. `node.js` is `index.js` for Node, which reads the wasm from the disk.
const ENTRIES: [&str; 7] =
    ["index.js", "index.d.ts", "node.js", "offline.js", "offline.d.ts", "testing.js", "testing.d.ts"];

pub fn assemble(project: &Project, bindings: &Bindings, wasm: &[u8]) -> Result<()> {
    let (pkg, js) = (project.pkg(), project.root.join("js"));
    if pkg.exists() {
        fs::remove_dir_all(&pkg).with_context(|| format!("cannot empty {}", pkg.display()))?;
    }
    fs::create_dir_all(&pkg)?;
    // Modules and types directly in js/; its tests and notes are not for users.
    for entry in fs::read_dir(&js).context("the project has no js/")? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_file() && (name.ends_with(".js") || name.ends_with(".d.ts")) {
            fs::copy(&path, pkg.join(name))?;
        }
    }
    for name in ENTRIES {
        ensure!(pkg.join(name).is_file(), "js/{name} is missing: the package's `exports` name it");
    }
    for text in TEXTS {
        fs::copy(project.root.join(text), pkg.join(text)).with_context(|| format!("{text} is missing"))?;
    }
    let glue = format!("{GLUE}.js");
    if pkg.join(&glue).exists() || pkg.join(WASM_FILE).exists() {
        bail!("js/ has a {glue} or {WASM_FILE} of its own: the build makes these");
    }
    fs::write(pkg.join(glue), &bindings.glue)?;
    fs::write(pkg.join(WASM_FILE), wasm)?;
    fs::write(pkg.join("package.json"), manifest(project))?;
    Ok(())
}

/// A text and not a JSON value: the order of conditions in `exports` has a meaning (the first that fits is taken).
fn manifest(project: &Project) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (version, description, license) =
        (quoted(&project.version), quoted(&project.description), quoted(&project.license));
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
    "./offline": {{ "types": "./offline.d.ts", "default": "./offline.js" }},
    "./testing": {{ "types": "./testing.d.ts", "default": "./testing.js" }},
    "./lodger.wasm": "./lodger.wasm",
    "./package.json": "./package.json"
  }},
  "types": "./index.d.ts",
  "files": ["*.js", "*.d.ts", "lodger.wasm", "LICENSE-MIT", "LICENSE-APACHE"]
}}
"#
    )
}
