//! `docs`: the site of the documents, from the pages in `docs/` and the package's types.

use crate::command::{npm, npm_ci, say};
use crate::project::Project;
use crate::stamp::{Stamp, digest};
use anyhow::{Result, ensure};
use std::fs;
use std::path::PathBuf;

/// Where the site is, once it is built.
pub fn site(project: &Project) -> PathBuf {
    project.root.join("docs/.vitepress/dist")
}

pub fn docs(project: &Project) -> Result<()> {
    make(project)?;
    println!("The documents are in {}; `cargo xtask demo` serves them under /docs/", site(project).display());
    Ok(())
}

/// Builds the site if it is missing or stale. A link that leads nowhere is a failure.
pub fn make(project: &Project) -> Result<()> {
    let docs = project.root.join("docs");
    npm_ci(&docs)?;
    let stamp = Stamp::at(project.cache("docs.stamp"));
    if stamp.holds(&digests(project)?) {
        return Ok(());
    }
    say("building the documents");
    stamp.clear();
    npm(&docs).args(["run", "--silent", "build"]).captured()?;
    ensure!(site(project).join("index.html").is_file(), "the build of docs/ made no index.html");
    stamp.set(&digests(project)?)
}

/// What the site is made from, and the site itself.
fn digests(project: &Project) -> Result<String> {
    let docs = project.root.join("docs");
    let mut sources = vec![docs.join(".vitepress/config.mjs")];
    for entry in fs::read_dir(&docs)? {
        let path = entry?.path();
        if !path.ends_with(".vitepress") && !path.ends_with("reference") {
            sources.push(path);
        }
    }
    let types = fs::read_dir(project.root.join("js"))?.map(|entry| Ok(entry?.path()));
    let types: Vec<_> = types.collect::<Result<_>>()?;
    sources.extend(types.into_iter().filter(|path| path.to_string_lossy().ends_with(".d.ts")));
    sources.sort();
    Ok(format!("{} {}", digest(&sources)?, digest(&[site(project)])?))
}
