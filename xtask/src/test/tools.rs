//! What the tests need beyond Rust and Node: installed where that can be done, else named.

use crate::command::{Cmd, cargo, say, which};
use crate::project::{Project, files};
use crate::stamp::{Stamp, digest};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

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

/// Firefox where `webdriver.json` and `pkg-tests/` look for it.
pub fn firefox_alone() -> Result<()> {
    debian(&[("/usr/bin/firefox-esr", "firefox-esr")])
}

/// Firefox and its driver, which comes from crates.io. Not optimised, which halves the wait for it: it hands on messages.
pub fn firefox(project: &Project) -> Result<Driver> {
    firefox_alone()?;
    let own = project.cache("geckodriver");
    let path = which("geckodriver").unwrap_or_else(|| own.join("bin/geckodriver"));
    if !path.is_file() {
        say("installing geckodriver");
        Cmd::new(cargo())
            .args(["install", "geckodriver", "--locked", "--debug", "--quiet", "--root"])
            .arg(own)
            .captured()
            .context("geckodriver is needed")?;
    }
    Ok(Driver { variable: "GECKODRIVER", path })
}

/// WebKitGTK, its driver, and a display for it, where `pkg-tests/` looks for them.
pub fn webkit() -> Result<()> {
    debian(&[("/usr/bin/WebKitWebDriver", "webkit2gtk-driver"), ("/usr/bin/Xvfb", "xvfb")])
}

/// The C++ compiler that builds libFuzzer.
pub fn cpp() -> Result<()> {
    if which("c++").is_some() { Ok(()) } else { debian(&[("/usr/bin/c++", "g++")]) }
}

/// Debian's installer refuses to run twice at a time, and two suites may want the same.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Sees to these programs, each with the Debian package that brings it.
fn debian(programs: &[(&str, &str)]) -> Result<()> {
    let _alone = INSTALLING.lock();
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
    say(format!("installing {named}"));
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

/// The official suite for JSON Schema 2020-12 with its remote documents and the draft's meta-schemas, laid out as
/// `tests/host/corpora/schema/suite.rs` reads them. They come in two packages for Python, which `xtask/suite/` locks.
pub fn schema_suite(project: &Project) -> Result<PathBuf> {
    let locked = project.root.join("xtask/suite/requirements.txt");
    let dir = project.cache("suite");
    let stamp = Stamp::at(dir.join(".fetched"));
    let inputs = digest(std::slice::from_ref(&locked))?;
    if stamp.holds(&inputs) {
        return Ok(dir);
    }
    say("fetching the JSON Schema test suite");
    let formats = ["--no-binary", "jsonschema", "--only-binary", "jsonschema-specifications"];
    pip(&locked, &dir, &formats)?;
    let unpacked = fs::read_dir(dir.join("unpacked"))?.map(|entry| Ok(entry?.path()));
    for package in unpacked.collect::<Result<Vec<PathBuf>>>()? {
        for (from, to) in
            [("json/tests", "tests"), ("json/remotes", "remotes"), ("schemas/draft202012", "meta")]
        {
            if package.join(from).is_dir() {
                fs::rename(package.join(from), dir.join(to))?;
            }
        }
    }
    for part in ["tests/draft2020-12", "remotes", "meta"] {
        ensure!(dir.join(part).is_dir(), "the packages brought no {part}");
    }
    stamp.set(&inputs)?;
    Ok(dir)
}

/// Empties `dir` and unpacks there, in `unpacked/`, the Python packages that a file of requirements locks. They are
/// read, never run.
pub fn pip(locked: &Path, dir: &Path, formats: &[&str]) -> Result<()> {
    let python = |args: &[&str]| Cmd::new("python3").args(args).in_dir(dir);
    let fetched = dir.join("fetched");
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(&fetched)?;
    if python(&["-m", "pip", "--version"]).captured().is_err() {
        debian(&[("/usr/bin/pip3", "python3-pip")]).context("it is fetched by pip")?;
    }
    python(&["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--dest", "fetched"])
        .args(formats)
        .arg("--requirement")
        .arg(locked)
        .captured()?;
    for file in files(&fetched)? {
        let kind =
            if file.extension().is_some_and(|extension| extension == "whl") { "zipfile" } else { "tarfile" };
        python(&["-m", kind, "-e"]).arg(&file).arg("unpacked").captured()?;
    }
    fs::remove_dir_all(&fetched)?;
    Ok(())
}
