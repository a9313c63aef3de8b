//! `fuzz`: each target for some minutes, guided by coverage.
//!
//! The targets lie in `fuzz/` and are started by libFuzzer, which its crate builds with the machine's C++ compiler. The
//! instrumentation is LLVM's and works with a stable toolchain; the address sanitizer would not, and there is no
//! unsafe code to be watched. Promises: what was found in earlier runs is where the next one starts. A finding is left
//! as a file, and the command fails.

use crate::command::{Cmd, cargo};
use crate::project::Project;
use crate::test::tools;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// Counters for each branch, a table of what they count, and the operands of comparisons.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// What a target has to do with: an input of 4 KB within ten seconds (it takes about a millisecond), in this memory.
const LIMITS: [&str; 4] = ["-max_len=4096", "-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=64"];

pub struct Options<'a> {
    /// None: all.
    pub target: Option<&'a str>,
    /// Each.
    pub minutes: u32,
}

pub fn fuzz(project: &Project, options: &Options<'_>) -> Result<()> {
    let targets = targets(project)?;
    if let Some(name) = options.target {
        ensure!(targets.iter().any(|t| t == name), "there is no target '{name}': {}", targets.join(", "));
    }
    let wanted: Vec<&String> =
        targets.iter().filter(|name| options.target.is_none_or(|only| only == *name)).collect();
    tools::cpp()?;
    let host = host()?;
    let built = project.target.join("fuzz");
    Cmd::new(cargo())
        .args(["build", "--package", "lodger-fuzz", "--profile", "fuzz", "--bins", "--target", &host])
        // Not among the other builds: the instrumentation would have them all made anew.
        .arg("--target-dir")
        .arg(&built)
        .env("RUSTFLAGS", INSTRUMENTED)
        .in_dir(&project.root)
        .run()?;
    let mut failed = Vec::new();
    for name in wanted {
        println!("\n== {name}, {} minutes", options.minutes);
        if let Err(error) = run(project, &built.join(&host).join("fuzz").join(name), name, options.minutes) {
            println!("{error:#}");
            failed.push(name.as_str());
        }
    }
    ensure!(
        failed.is_empty(),
        "found by {}: mend it, and put the file that the lines above name into fuzz/corpus/",
        failed.join(", ")
    );
    Ok(())
}

fn run(project: &Project, binary: &Path, name: &str, minutes: u32) -> Result<()> {
    let cache = project.cache("fuzz");
    let (corpus, findings) = (cache.join("corpus").join(name), cache.join("findings").join(name));
    for dir in [&corpus, &findings] {
        fs::create_dir_all(dir)?;
    }
    let fuzz = project.root.join("fuzz");
    // One file is what libFuzzer takes.
    let mut words = fs::read_to_string(fuzz.join("dictionaries/json.txt"))?;
    words.push_str(&fs::read_to_string(fuzz.join(format!("dictionaries/{name}.txt"))).unwrap_or_default());
    let dictionary = cache.join(format!("{name}.txt"));
    fs::write(&dictionary, words)?;
    // What is found goes into the first folder; the others are read.
    let seeds = [fuzz.join("corpus").join(name), project.root.join("tests/fixtures").join(name)];
    let option = |name: &str, value: &Path| [name, &value.to_string_lossy()].concat();
    Cmd::new(binary)
        .args(LIMITS)
        .arg(format!("-max_total_time={}", minutes * 60))
        .arg("-print_final_stats=1")
        .arg(option("-dict=", &dictionary))
        .arg(option("-artifact_prefix=", &findings.join("")))
        .arg(&corpus)
        .args(seeds.iter().filter(|dir| dir.is_dir()))
        .run()
}

/// The names of all targets.
fn targets(project: &Project) -> Result<Vec<String>> {
    let dir = project.root.join("fuzz/fuzz_targets");
    let files = fs::read_dir(&dir).with_context(|| format!("{} is not here", dir.display()))?;
    let paths: Vec<PathBuf> = files.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
    let stems = paths.iter().filter_map(|path| path.file_stem()?.to_str());
    let mut names: Vec<String> = stems.map(|name| name.replace('_', "-")).collect();
    names.sort();
    Ok(names)
}

/// The machine's own target: named, so that programs that only run while building are not instrumented.
fn host() -> Result<String> {
    let said = Cmd::new("rustc").arg("-vV").captured()?;
    match said.lines().find_map(|line| line.strip_prefix("host: ")) {
        Some(host) => Ok(host.into()),
        None => bail!("rustc does not say what machine this is"),
    }
}
