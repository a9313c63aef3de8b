//! What the browser tests need beyond Rust and Node: installed where that can be done, else named.

use crate::command::{Cmd, cargo, which};
use crate::project::Project;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

/// A WebDriver and the variable by which the test runner is told of it.
pub struct Driver {
    pub variable: &'static str,
    pub path: PathBuf,
}

/// Chromium where `webdriver.json` and `pkg-tests/` look for it, and its driver.
pub fn chromium() -> Result<Driver> {
    debian(&[("/usr/bin/chromium", "chromium"), ("/usr/bin/chromedriver", "chromium-driver")])?;
    Ok(Driver { variable: "CHROMEDRIVER", path: "/usr/bin/chromedriver".into() })
}

/// Firefox where `webdriver.json` looks for it; its driver comes from crates.io.
pub fn firefox() -> Result<Driver> {
    debian(&[("/usr/bin/firefox-esr", "firefox-esr")])?;
    if which("geckodriver").is_none() {
        println!("installing geckodriver");
        Cmd::new(cargo())
            .args(["install", "geckodriver", "--locked"])
            .run()
            .context("geckodriver is needed")?;
    }
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let installed = cargo_home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let path = which("geckodriver").or_else(|| installed.map(|home| home.join("bin/geckodriver")));
    Ok(Driver { variable: "GECKODRIVER", path: path.context("geckodriver was installed to no known place")? })
}

/// Sees to these programs, each with the Debian package that brings it.
fn debian(programs: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<&str> =
        programs.iter().filter(|(path, _)| !Path::new(path).exists()).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let named = missing.join(" ");
    let root = Cmd::new("id").arg("-u").captured().is_ok_and(|id| id.trim() == "0");
    if !root || which("apt-get").is_none() {
        bail!("missing, and only root on Debian can install it from here: apt-get install {named}");
    }
    println!("installing {named}");
    let apt =
        |args: &[&str]| Cmd::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive").captured();
    apt(&["update"])?;
    apt(&[&["install", "--yes", "--no-install-recommends"], missing.as_slice()].concat())?;
    for (path, package) in programs {
        ensure!(Path::new(path).exists(), "the package {package} brought no {path}");
    }
    Ok(())
}

/// wasm-bindgen's test runner: a member of this workspace, so that Cargo.lock decides its version.
pub fn test_runner(project: &Project) -> Result<PathBuf> {
    let args = ["build", "--quiet", "--package", "test-runner"];
    Cmd::new(cargo()).args(args).in_dir(&project.root).run()?;
    Ok(project.target.join("debug").join("wasm-bindgen-test-runner"))
}
