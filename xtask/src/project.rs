//! Where things are, and what the lock file says. Read once; every command gets it.

use crate::command::{Cmd, cargo};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// The target that the package is built for.
pub const WASM: &str = "wasm32-unknown-unknown";

pub struct Project {
    /// The folder of the workspace's `Cargo.toml`.
    pub root: PathBuf,
    /// Cargo's target folder, wherever the user's settings put it.
    pub target: PathBuf,
    /// The version of the crate, which is the npm package's too.
    pub version: String,
    pub description: String,
    pub license: String,
}

impl Project {
    pub fn open() -> Result<Project> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().context("xtask lies in no workspace")?.to_path_buf();
        ensure!(root.join("Cargo.toml").is_file(), "{} has moved: build xtask again", root.display());
        let metadata = Cmd::new(cargo())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .in_dir(&root)
            .captured()
            .context("cannot read the workspace")?;
        let metadata: serde_json::Value =
            serde_json::from_str(&metadata).context("cargo metadata is no JSON")?;
        let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
        let lodger =
            packages.iter().find(|p| p["name"] == "lodger").context("the workspace has no lodger")?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let project = Project {
            target: PathBuf::from(text(&metadata["target_directory"])),
            version: text(&lodger["version"]),
            description: text(&lodger["description"]),
            license: text(&lodger["license"]),
            root,
        };
        project.check_wasm_bindgen()?;
        Ok(project)
    }

    /// A folder for what xtask makes and keeps between runs; `cargo clean` removes it.
    pub fn cache(&self, name: &str) -> PathBuf {
        self.target.join("xtask").join(name)
    }

    /// The npm package.
    pub fn pkg(&self) -> PathBuf {
        self.root.join("pkg")
    }

    /// The crate writes what the bindings generator reads; another version of either fails far from the cause.
    fn check_wasm_bindgen(&self) -> Result<()> {
        let lock = fs::read_to_string(self.root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
        let Some(crate_version) = locked_version(&lock, "wasm-bindgen") else { return Ok(()) };
        for half in ["wasm-bindgen-cli-support", "wasm-bindgen-cli"] {
            let version = locked_version(&lock, half).unwrap_or("absent");
            ensure!(
                version == crate_version,
                "Cargo.lock has wasm-bindgen {crate_version} and {half} {version}: \
                 set the same version in Cargo.toml, xtask/Cargo.toml and xtask/test-runner/Cargo.toml"
            );
        }
        Ok(())
    }
}

fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let (_, rest) = lock.split_once(&format!("[[package]]\nname = \"{package}\"\nversion = \""))?;
    rest.split('"').next()
}

/// All files below `path` (or `path` itself), sorted; folders that tools fill are left out.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![path.to_path_buf()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name == "node_modules") {
                continue;
            }
            for entry in fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))? {
                open.push(entry?.path());
            }
        } else if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_version_is_that_of_the_whole_name() {
        let lock = "[[package]]\nname = \"a-b\"\nversion = \"2.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";
        assert_eq!(locked_version(lock, "a"), Some("1.0.0"));
        assert_eq!(locked_version(lock, "a-b"), Some("2.0.0"));
        assert_eq!(locked_version(lock, "b"), None);
    }
}
