//! Makes the module small, with wasm-opt from npm's `binaryen` (its version and hash are locked in `xtask/npm/`).
//!
//! Decided by measuring, on the harness with its sessions, as brotli: rustc's `opt-level` z 126 KB, s 134, 2 169,
//! 3 173; then wasm-opt `-Oz`, `-Os`, `-O3`, `--converge`, `--gufa` all within 0.3 % of each other, and [`PASSES`] 1.6 %
//! below.

use super::tool;
use crate::project::Project;
use anyhow::Result;
use std::fs;
use std::ops::Range;
use std::path::Path;
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

/// Once as small as it gets, then twice with its control flow made anew and small again; functions of one caller put
/// into it only where they are small, because a large function compresses worse; functions of one sort beside each
/// other. Below the stack lies nothing: pointers may be folded into offsets.
const PASSES: [&str; 13] = [
    "--low-memory-unused",
    "--dae-optimizing",
    "--one-caller-inline-max-function-size",
    "25",
    "-Oz",
    "--flatten",
    "--rereloop",
    "-Oz",
    "--flatten",
    "--rereloop",
    "-Oz",
    "-Oz",
    "--reorder-functions-by-name",
];

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
    let out = wasm.with_extension("small.wasm");
    tool(project, "wasm-opt")?
        .args(PASSES)
        .arg("--debuginfo")
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
