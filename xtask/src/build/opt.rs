//! Makes the module small, with wasm-opt from npm's `binaryen` (its version and hash are locked in `xtask/npm/`).

use crate::command::{Cmd, npm_ci};
use crate::project::Project;
use anyhow::{Context, Result};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::thread;
use wasmparser::{Parser, Payload};

/// What every browser with wasm-bindgen's glue has; it is what rustc assumes too. Never `--all-features`: wasm-opt
/// then writes types that engines do not know.
const FEATURES: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// None of these is always the smallest after brotli, so all are tried.
const LEVELS: [&str; 3] = ["-Oz", "-Os", "-O3"];

pub struct Optimised {
    /// With function names, for the sizes of the rooms.
    pub named: Vec<u8>,
    /// The same without: what is published.
    pub stripped: Vec<u8>,
}

impl Optimised {
    /// For a debug build: as it is, names and all.
    pub fn untouched(wasm: &Path) -> Result<Optimised> {
        let named = fs::read(wasm)?;
        Ok(Optimised { stripped: named.clone(), named })
    }
}

pub fn shrink(project: &Project, wasm: &Path) -> Result<Optimised> {
    let tools = project.cache("npm");
    fs::create_dir_all(&tools)?;
    for file in ["package.json", "package-lock.json"] {
        let from = project.root.join("xtask/npm").join(file);
        fs::copy(&from, tools.join(file)).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    npm_ci(&tools)?;

    let tries = thread::scope(|scope| {
        let running = LEVELS.map(|level| scope.spawn(|| optimise(&tools, wasm, level)));
        running.map(|one| one.join().unwrap_or_else(|_| Err(anyhow::anyhow!("wasm-opt's thread died"))))
    });
    let mut best: Option<(usize, &str, Optimised)> = None;
    for (level, tried) in LEVELS.into_iter().zip(tries) {
        let tried = tried?;
        let brotli = super::sizes::brotli(&tried.stripped)?;
        println!("wasm-opt {level}: {} bytes, {brotli} as brotli", tried.stripped.len());
        if best.as_ref().is_none_or(|(least, ..)| brotli < *least) {
            best = Some((brotli, level, tried));
        }
    }
    let (_, level, optimised) = best.context("nothing was tried")?;
    println!("wasm-opt {level} is taken");
    Ok(optimised)
}

fn optimise(tools: &Path, wasm: &Path, level: &str) -> Result<Optimised> {
    let out = wasm.with_extension(format!("{}.wasm", level.trim_start_matches('-')));
    Cmd::new("node")
        .arg(tools.join("node_modules/binaryen/bin/wasm-opt"))
        .args([level, "--debuginfo"])
        .args(FEATURES)
        .arg(wasm)
        .arg("--output")
        .arg(&out)
        .captured()?;
    let named = fs::read(out)?;
    Ok(Optimised { stripped: without_custom_sections(&named)?, named })
}

/// Names, producers and the like: nothing that an engine needs. Here and not in rustc, because wasm-bindgen and
/// wasm-opt read some of them.
fn without_custom_sections(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut kept = Vec::with_capacity(wasm.len());
    let mut end = 0;
    let mut keep = |range: Range<usize>| kept.extend_from_slice(&wasm[range]);
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        if let Payload::Version { range, .. } = &payload {
            keep(range.clone());
            end = range.end;
        } else if let Some((_, range)) = payload.as_section() {
            // A section's range is its content: its header lies between it and the section before.
            if !matches!(payload, Payload::CustomSection(_)) {
                keep(end..range.end);
            }
            end = range.end;
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_custom_sections_go() {
        let header = b"\0asm\x01\0\0\0";
        let custom = b"\0\x05\x04nameX"; // id 0, five bytes: the name's length, the name, no content
        let types = b"\x01\x04\x01\x60\0\0";
        let mut wasm = header.to_vec();
        wasm.extend(&custom[..7]);
        wasm.extend(types);
        wasm.extend(&custom[..7]);
        let stripped = without_custom_sections(&wasm).unwrap();
        assert_eq!(stripped, [&header[..], &types[..]].concat());
    }
}
