//! Makes the module small, with wasm-opt from npm's `binaryen` (its version and hash are locked in `xtask/npm/`).
//!
//! Decided by measuring, on the harness with its sessions, as brotli: rustc's `opt-level` z 126 KB, s 134, 2 169,
//! 3 173. Then wasm-opt's `-Oz`, `-Os`, `-O3`, `--converge`, `--gufa` were all within 0.3 % of each other, and
//! [`PASSES`] 1.6 % below.

use super::tool;
use crate::project::Project;
use anyhow::Result;
use std::fs;
use std::path::Path;

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
/// into it only where they are small, because a large function compresses worse. Below the stack lies nothing: pointers
/// may be folded into offsets.
const PASSES: [&str; 12] = [
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
];

/// The module, small, with function names.
pub fn shrink(project: &Project, wasm: &Path) -> Result<Vec<u8>> {
    let out = wasm.with_extension("small.wasm");
    tool(project, "wasm-opt")?
        .args(PASSES)
        .arg("--debuginfo")
        .args(FEATURES)
        .arg(wasm)
        .arg("--output")
        .arg(&out)
        .captured()?;
    Ok(fs::read(out)?)
}
