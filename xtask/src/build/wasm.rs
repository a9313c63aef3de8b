//! From the crate to wasm and its JavaScript bindings.
//!
//! Decides compiler flags and the shape of the bindings; what of it goes into the package is for `package`.

use super::Profile;
use crate::command::{Cmd, cargo, say, which};
use crate::project::{Project, WASM};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use wasm_bindgen_cli_support::Bindgen;

/// The name of the glue in the package; `index.js` imports it.
pub const GLUE: &str = "lodger_glue";

/// What LLVM does for speed also where it is told to look at size, which is little at that: it keeps in locals what is
/// read or worked out anew at no cost. And what it does not, though it saves: what all branches begin or end with is
/// written once. As brotli: loops as they are 2.5 KB less, nothing kept for later 1.7, branches 0.5.
const LLVM: [&str; 5] = [
    "-disable-lsr",
    "-enable-pre=false",
    "-enable-load-pre=false",
    "-sink-common-insts=true",
    "-hoist-common-insts=true",
];

/// Bytes of stack: Rust's megabyte but for an eighth, so that no address of a constant has more than three bytes in the
/// code. 4.5 KB less, 0.2 as brotli.
const STACK: usize = 896 << 10;

pub struct Bindings {
    /// The module as wasm-bindgen leaves it, names included.
    pub wasm: PathBuf,
    /// The glue, which imports our own modules from beside itself.
    pub glue: String,
}

pub fn compile(project: &Project, profile: Profile, features: &str) -> Result<PathBuf> {
    ensure_target()?;
    let dir = project.cache("wasm");
    // `--crate-type cdylib`: Cargo leaves out link-time optimisation where an rlib is made by the same call.
    let mut cmd = Cmd::new(cargo())
        .args(["rustc", "--package", "lodger", "--lib", "--crate-type", "cdylib", "--target", WASM])
        .args(["--features", features])
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
    // The loop instead of the unrolled rounds: 7 KB less.
    flags.push("--cfg=sha2_backend_soft=\"compact\"".to_owned());
    flags.push(format!("-Cllvm-args={}", LLVM.join(" ")));
    flags.push(format!("-Clink-arg=-zstack-size={STACK}"));
    // What the linker knows of which function and which data refers to which: `parts` cuts by it.
    flags.push("-Clink-arg=--emit-relocs".to_owned());
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
    static ADDING: Mutex<()> = Mutex::new(());
    let _alone = ADDING.lock();
    let sysroot = Cmd::new("rustc").args(["--print", "sysroot"]).captured()?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(WASM).is_dir() {
        return Ok(());
    }
    ensure!(which("rustup").is_some(), "this Rust has no target {WASM}, and there is no rustup to add it");
    say(format!("adding the Rust target {WASM}"));
    Cmd::new("rustup").args(["target", "add", WASM]).run()
}

pub fn bind(project: &Project, profile: Profile, wasm: &Path) -> Result<Bindings> {
    let out = project.cache("bindgen");
    let _ = fs::remove_dir_all(&out);
    let mut output = Bindgen::new()
        .input_path(wasm)
        .out_name(GLUE)
        .web(true)?
        .typescript(false)
        // `rooms` demangles by itself: it wants the types.
        .demangle(false)
        // A panicked instance is replaced by a fresh one in the same page.
        .reset_state_function(true)
        .debug(profile == Profile::Debug)
        .generate_output()
        .context("wasm-bindgen cannot make the bindings")?;

    ensure!(
        output.snippets().values().all(Vec::is_empty),
        "a crate brings JavaScript of its own, which the package has no place for: {:?}",
        output.snippets().keys()
    );
    let mut renames = Vec::new();
    for (path, code) in output.local_modules() {
        renames.push((format!("./snippets/{path}"), format!("./{}", our_module(project, path, code)?)));
    }
    // Names that only the module and its glue know: hashes that no compression makes smaller, mangled paths of 150
    // letters. A search for a fault uses a debug build.
    if profile == Profile::Release {
        let module = output.wasm();
        let imports = module.imports.iter().map(|import| &import.name);
        let exports = || module.exports.iter().map(|export| &export.name);
        let internal = imports.chain(exports()).filter(|name| name.starts_with("__"));
        renames.extend(internal.enumerate().map(|(n, name)| (name.clone(), short_name(n))));
        // The glue has functions of these names, which must not be words of JavaScript.
        let closures = exports().filter(|name| name.starts_with("_R"));
        renames.extend(closures.enumerate().map(|(n, name)| (name.clone(), format!("closure{n}"))));
    }
    // The loader calls it by a name that is ours.
    renames.push(("__wbg_reset_state".to_owned(), "reset".to_owned()));
    // The longest first: one may be the start of another.
    renames.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));

    let to = |name: &String| renames.iter().find(|(from, _)| from == name).map(|(_, to)| to.clone());
    for import in output.wasm_mut().imports.iter_mut() {
        import.module = to(&import.module).unwrap_or_else(|| import.module.clone());
        import.name = to(&import.name).unwrap_or_else(|| import.name.clone());
    }
    for export in output.wasm_mut().exports.iter_mut() {
        export.name = to(&export.name).unwrap_or_else(|| export.name.clone());
    }
    // They speak of the module as it was linked.
    for name in ["linking", "reloc.CODE", "reloc.DATA"] {
        output.wasm_mut().customs.remove_raw(name);
    }
    output.emit(&out)?;
    let glue = fs::read_to_string(out.join(GLUE).with_extension("js"))?;
    ensure!(
        glue.contains("export function __wbg_reset_state"),
        "this wasm-bindgen has no function to reset an instance"
    );
    ensure!(
        glue.contains("function __wbg_get_imports()"),
        "this wasm-bindgen has no function that gives what a module imports"
    );
    // A part imports from the same places.
    let glue = format!("{glue}\nexport {{ __wbg_get_imports as imports }};\n");
    let glue = renames.iter().fold(glue, |glue, (from, to)| glue.replace(from.as_str(), to));
    Ok(Bindings { wasm: out.join(format!("{GLUE}_bg.wasm")), glue })
}

/// `a`, `b` and so on to `z`, then `ab`, `bb`.
fn short_name(n: usize) -> String {
    let letter = char::from(b'a' + (n % 26) as u8);
    let more = if n < 26 { String::new() } else { short_name(n / 26) };
    format!("{letter}{more}")
}

/// wasm-bindgen copies each module that the crate imports to `snippets/<hash>/js/<folder>/<name>.js`. The package has that
/// module already, and a second copy would be a second `LodgerError` class: everything is pointed at the one.
fn our_module(project: &Project, path: &str, code: &str) -> Result<String> {
    let name = path.split_once("/js/").map(|(_, name)| name).unwrap_or_default();
    let ours = project.root.join("js").join(name);
    ensure!(
        fs::read_to_string(ours).is_ok_and(|ours| ours == code),
        "the crate imports the module {path}, which is no file in js/"
    );
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn short_names_differ() {
        let names: HashSet<String> = (0..2000).map(short_name).collect();
        assert_eq!(names.len(), 2000);
        assert!(names.iter().all(|name| (1..=3).contains(&name.len())));
    }
}
