//! From the crate to wasm and its JavaScript bindings.
//!
//! Decides compiler flags and the shape of the bindings; what of it goes into the package is for `package`.

use super::Profile;
use crate::command::{Cmd, cargo, which};
use crate::project::{Project, WASM};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use wasm_bindgen_cli_support::Bindgen;

/// The name of the glue in the package; `index.js` imports it.
pub const GLUE: &str = "lodger_glue";

pub struct Bindings {
    /// The module as wasm-bindgen leaves it, names included.
    pub wasm: PathBuf,
    /// The glue, which imports our own modules from beside itself.
    pub glue: String,
}

pub fn compile(project: &Project, profile: Profile) -> Result<PathBuf> {
    ensure_target()?;
    let dir = project.cache("wasm");
    // `--crate-type cdylib`: Cargo leaves out link-time optimisation where an rlib is made by the same call.
    let mut cmd = Cmd::new(cargo())
        .args(["rustc", "--package", "lodger", "--lib", "--crate-type", "cdylib", "--target", WASM])
        .args(["--config", &rustflags(project)])
        .arg("--target-dir")
        .arg(&dir)
        .in_dir(&project.root);
    let folder = match profile {
        Profile::Release => {
            cmd = cmd.arg("--release");
            "release"
        }
        Profile::Debug => "debug",
    };
    cmd.run()?;
    Ok(dir.join(WASM).join(folder).join("lodger.wasm"))
}

/// `v0` names keep the types a generic function was made for, so that `rooms` can say who asked for it. Paths of the
/// building machine end up in panic messages: they are cut to what all machines have in common.
fn rustflags(project: &Project) -> String {
    let mut flags = vec!["-Csymbol-mangling-version=v0".to_owned()];
    flags.push(format!("--remap-path-prefix={}=", project.root.display()));
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    for registry in
        home.and_then(|home| fs::read_dir(home.join("registry/src")).ok()).into_iter().flatten().flatten()
    {
        flags.push(format!("--remap-path-prefix={}=", registry.path().display()));
    }
    format!("target.{WASM}.rustflags={}", serde_json::json!(flags))
}

/// Rust's standard library for wasm, by rustup where it is missing.
pub fn ensure_target() -> Result<()> {
    let sysroot = Cmd::new("rustc").args(["--print", "sysroot"]).captured()?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(WASM).is_dir() {
        return Ok(());
    }
    ensure!(which("rustup").is_some(), "this Rust has no target {WASM}, and there is no rustup to add it");
    println!("adding the Rust target {WASM}");
    Cmd::new("rustup").args(["target", "add", WASM]).run()
}

pub fn bind(project: &Project, profile: Profile, wasm: &Path) -> Result<Bindings> {
    let out = project.cache("bindgen");
    let _ = fs::remove_dir_all(&out);
    Bindgen::new()
        .input_path(wasm)
        .out_name(GLUE)
        .web(true)?
        .typescript(false)
        // `rooms` demangles by itself: it wants the types.
        .demangle(false)
        // A panicked instance is replaced by a fresh one in the same page.
        .reset_state_function(true)
        .debug(profile == Profile::Debug)
        .generate(&out)
        .context("wasm-bindgen cannot make the bindings")?;
    let glue = fs::read_to_string(out.join(GLUE).with_extension("js"))?;
    Ok(Bindings {
        wasm: out.join(format!("{GLUE}_bg.wasm")),
        glue: flatten_snippets(&glue, &out.join("snippets"), &project.root.join("js"))?,
    })
}

/// wasm-bindgen copies each module that the crate imports to `snippets/<hash>/js/<name>.js`. The package has that
/// module already, and a second copy would be a second `LodgerError` class: the glue is pointed at the one.
fn flatten_snippets(glue: &str, snippets: &Path, js: &Path) -> Result<String> {
    let mut flat = String::with_capacity(glue.len());
    let mut rest = glue;
    while let Some((before, after)) = rest.split_once("./snippets/") {
        let path = after.split(['\'', '"']).next().unwrap_or_default();
        let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ours = js.join(name);
        ensure!(
            path.split('/').nth(1) == Some("js")
                && fs::read(&ours).ok() == fs::read(snippets.join(path)).ok(),
            "the glue imports {path}, which is not js/{name}: a crate brings JavaScript of its own, \
             or a module lies in a folder below js/"
        );
        flat.push_str(before);
        flat.push_str("./");
        flat.push_str(name);
        rest = &after[path.len()..];
    }
    flat.push_str(rest);
    Ok(flat)
}
