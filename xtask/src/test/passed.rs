//! What did not change since it passed.
//!
//! A suite stands on the files of its row in `suites`, on the versions of its programs, and on the variables
//! that they read. Promises: a stamp is set only where nothing failed and the files were the same before and
//! after. Where a file belongs to no row, or there is no git to list the files, nothing stands.

use super::Effort;
use super::suites::{Program, SUITES, Suite};
use crate::command::Cmd;
use crate::project::Project;
use crate::stamp::{Stamp, digest, shown};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash};
use std::path::{Path, PathBuf};

/// The beginnings of the names of variables that change what a suite does.
const VARIABLES: [&str; 13] = [
    "LODGER_",
    "RUST",
    "CARGO_BUILD_",
    "CARGO_ENCODED_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CARGO_INCREMENTAL",
    "WASM_BINDGEN_",
    "NODE_",
    "CHROMIUM",
    "FIREFOX",
    "WEBKIT",
    "TZ",
];

/// What a suite had done when it passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub passed: u32,
    pub skipped: u32,
    pub seconds: u32,
}

/// The suite's files as they are now, if all that matter are known.
pub fn sources(project: &Project, suite: &Suite) -> Option<String> {
    let names = names(&project.root).ok()?;
    if names.iter().any(|name| !SUITES.iter().any(|suite| suite.reads(name))) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    for name in names.iter().filter(|name| suite.reads(name)) {
        // A file that is deleted and not yet committed has no content.
        (name, fs::read(project.root.join(name)).ok()).hash(&mut hasher);
    }
    Some(shown(&hasher))
}

/// Everything that the suite stands on: its files, and what is beside them on this machine.
pub fn inputs(project: &Project, suite: &Suite, sources: &str) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    digest(&(suite.outside)(project)).ok()?.hash(&mut hasher);
    suite.by.iter().for_each(|program| version(*program).hash(&mut hasher));
    let matter = |name: &OsString| VARIABLES.iter().any(|start| name.to_string_lossy().starts_with(start));
    let variables: BTreeMap<_, _> = env::vars_os().filter(|(name, _)| matter(name)).collect();
    variables.hash(&mut hasher);
    Some(format!("{sources} {}", shown(&hasher)))
}

/// What it did when it passed with these inputs, at this effort or a greater one.
pub fn stands(project: &Project, suite: &Suite, effort: Effort, inputs: &str) -> Option<Kept> {
    let kept = |effort| Kept::read(&stamp(project, suite, effort).note(inputs)?);
    kept(Effort::Normal).or_else(|| kept(effort))
}

/// Before it runs: what it did with these inputs no longer counts.
pub fn forget(project: &Project, suite: &Suite, inputs: &str) {
    for stamp in [Effort::Quick, Effort::Normal].map(|effort| stamp(project, suite, effort)) {
        if stamp.holds(inputs) {
            stamp.clear();
        }
    }
}

pub fn keep(project: &Project, suite: &Suite, effort: Effort, inputs: &str, kept: &Kept) -> Result<()> {
    stamp(project, suite, effort).set_with_note(inputs, &kept.written())
}

fn stamp(project: &Project, suite: &Suite, effort: Effort) -> Stamp {
    Stamp::at(project.cache("passed").join(stamp_name(suite, effort)))
}

fn stamp_name(suite: &Suite, effort: Effort) -> String {
    let name = suite.name.replace(' ', "-");
    // A campaign does all that a normal run does.
    if suite.draws && effort == Effort::Quick { name + ".quick" } else { name }
}

impl Kept {
    /// What is said in place of running it.
    pub fn line(&self, name: &str) -> String {
        let Kept { passed, skipped, seconds } = self;
        let skipped = if *skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
        format!("\n== {name}: unchanged since it passed ({passed} passed{skipped}, {seconds} s)")
    }

    fn written(&self) -> String {
        format!("{} {} {}", self.passed, self.skipped, self.seconds)
    }

    fn read(note: &str) -> Option<Kept> {
        let mut numbers = note.split(' ').map(|number| number.parse().ok());
        Some(Kept { passed: numbers.next()??, skipped: numbers.next()??, seconds: numbers.next()?? })
    }
}

/// All files of the project, committed or not, but for those that are made from others.
fn names(root: &Path) -> Result<Vec<String>> {
    let list = Cmd::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .in_dir(root)
        .captured()
        .context("git lists the files")?;
    let names: Vec<String> = list.split_terminator('\0').map(str::to_owned).collect();
    ensure!(!names.is_empty(), "git knows no file in {}", root.display());
    Ok(names)
}

/// What it says of itself; nothing where it is not there yet.
fn version(program: Program) -> Option<String> {
    let browser = |variable: &str, path: &str| env::var_os(variable).map_or(path.into(), PathBuf::from);
    let says = |program: PathBuf, argument: &str| Cmd::new(program).arg(argument).captured().ok();
    match program {
        Program::Rust => says("rustc".into(), "-vV"),
        Program::Node => says("node".into(), "--version"),
        Program::Chromium => says(browser("CHROMIUM", "/usr/bin/chromium"), "--version"),
        Program::Firefox => says(browser("FIREFOX", "/usr/bin/firefox-esr"), "--version"),
        // Its driver does not say, and the browser says nothing without a display.
        Program::WebKit => {
            let packages = ["webkit2gtk-driver", "libwebkit2gtk-4.1-0"];
            Cmd::new("dpkg-query").arg("--show").args(packages).captured().ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(name: &str) -> &'static Suite {
        SUITES.iter().find(|suite| suite.name == name).unwrap()
    }

    fn read_by(file: &str) -> Vec<&'static str> {
        SUITES.iter().filter(|suite| suite.reads(file)).map(|suite| suite.name).collect()
    }

    #[test]
    fn no_file_belongs_to_nobody() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let names = names(root).unwrap();
        assert!(names.iter().any(|name| name == "src/lib.rs"));
        let nobodys: Vec<_> = names.iter().filter(|name| read_by(name).is_empty()).collect();
        assert!(nobodys.is_empty(), "no row of suites.rs reads {nobodys:?}");
    }

    #[test]
    fn a_file_belongs_to_whom_it_concerns() {
        let all = SUITES.len();
        assert_eq!(read_by("xtask/src/main.rs").len(), all);
        assert_eq!(read_by("www/src/app.ts"), ["workbench types", "workbench"]);
        assert_eq!(read_by("pkg-tests/suites/wire.mjs"), ["package", "workbench"]);
        assert_eq!(read_by("pkg-tests/suites/bundlers.mjs"), ["package", "bundlers", "workbench"]);
        assert_eq!(read_by("pkg-tests/consumers/next/next.config.mjs"), ["package", "bundlers", "workbench"]);
        assert_eq!(read_by("pkg-tests/README.md"), ["core"]);
        assert_eq!(read_by("docs/guides/tools.md"), ["core", "size", "package", "documents"]);
        assert_eq!(read_by("docs/decisions/README.md"), ["core"]);
        assert_eq!(read_by("docs/start/rust.md").len(), 7);
        assert_eq!(read_by("webdriver.json"), ["Chromium", "Firefox"]);
        assert_eq!(read_by("fuzz/corpus/sse/a"), ["host lints", "core"]);
        assert_eq!(read_by("LICENSE-MIT"), ["size", "package", "workbench"]);
        assert_eq!(read_by("src.rs"), ["format"]);
        assert!(read_by("new-place/file").is_empty());
        // All but the judges, who know nothing of the crate, and what only reads another language.
        let others = ["judges of JSON Schema", "xtask", "types", "documents", "workbench types"];
        assert_eq!(read_by("src/run/machine/next.rs").len(), all - others.len());
        assert!(others.iter().all(|other| !read_by("src/run/machine/next.rs").contains(other)));
    }

    #[test]
    fn names_are_unlike_also_as_files() {
        let paths: std::collections::BTreeSet<_> =
            SUITES.iter().map(|suite| stamp_name(suite, Effort::Normal)).collect();
        assert_eq!(paths.len(), SUITES.len());
    }

    /// A project of its own, with a git and nothing else.
    fn project(name: &str) -> Project {
        let root = env::temp_dir().join(format!("lodger-xtask-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("js")).unwrap();
        Cmd::new("git").args(["init", "--quiet"]).in_dir(&root).captured().unwrap();
        let text = String::new;
        Project { target: root.join("target"), version: text(), description: text(), license: text(), root }
    }

    #[test]
    fn what_changed_does_not_stand() {
        let project = project("stands");
        let write = |file: &str, text: &str| fs::write(project.root.join(file), text).unwrap();
        let of = |suite: &Suite| inputs(&project, suite, &sources(&project, suite)?);
        write(".gitignore", "target");
        write("js/a.js", "1");
        write("LICENSE-MIT", "1");
        let (types, size) = (suite("types"), suite("size"));
        let before = of(types).unwrap();
        let kept = Kept { passed: 3, skipped: 1, seconds: 20 };
        assert_eq!(stands(&project, types, Effort::Normal, &before), None);
        keep(&project, types, Effort::Normal, &before, &kept).unwrap();
        assert_eq!(of(types).as_ref(), Some(&before), "a stamp is no input");
        assert_eq!(stands(&project, types, Effort::Normal, &before), Some(kept.clone()));
        assert_eq!(stands(&project, size, Effort::Normal, &before), None);

        // Of another suite.
        write("LICENSE-MIT", "2");
        assert_eq!(of(types).as_ref(), Some(&before));
        write("js/a.js", "2");
        assert_ne!(of(types).as_ref(), Some(&before));
        write("js/a.js", "1");
        write("js/b.js", "new, and not committed");
        assert_ne!(of(types).as_ref(), Some(&before));
        fs::remove_file(project.root.join("js/b.js")).unwrap();
        assert_eq!(of(types).as_ref(), Some(&before));
        write("nobodys", "1");
        assert_eq!(of(types), None);

        forget(&project, types, &before);
        assert_eq!(stands(&project, types, Effort::Normal, &before), None);
        fs::remove_dir_all(&project.root).unwrap();
    }

    #[test]
    fn a_greater_effort_stands_for_a_smaller_one() {
        let project = project("efforts");
        let (drawn, checked) = (suite("core"), suite("types"));
        let kept = Kept { passed: 3, skipped: 0, seconds: 20 };
        let stands = |suite, effort| stands(&project, suite, effort, "a") == Some(kept.clone());
        for suite in [drawn, checked] {
            keep(&project, suite, Effort::Quick, "a", &kept).unwrap();
            assert!(stands(suite, Effort::Quick));
        }
        assert!(!stands(drawn, Effort::Normal));
        assert!(stands(checked, Effort::Normal));
        forget(&project, drawn, "a");
        keep(&project, drawn, Effort::Normal, "a", &kept).unwrap();
        assert!(stands(drawn, Effort::Quick));
        fs::remove_dir_all(&project.root).unwrap();
    }
}
