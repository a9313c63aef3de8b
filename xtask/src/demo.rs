//! `demo`: the workbench, served from this machine. `screenshots`: its pictures, taken from the same server.

use crate::build;
use crate::command::{Cmd, node, npm, npm_ci, say, which};
use crate::docs;
use crate::local_model;
use crate::project::Project;
use crate::serve::Server;
use crate::stamp::{Stamp, digest};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::thread;

pub const PORT: u16 = 4173;

pub struct Options {
    pub port: u16,
    pub open: bool,
    /// Offers the small model that `local_model` fetches.
    pub local_model: bool,
}

pub fn demo(project: &Project, options: &Options) -> Result<()> {
    // The port first: nobody wants to hear of it after two minutes of building.
    let mut server = server(project, options.port)?;
    if options.local_model {
        server = server.with_local_model(local_model::fetched(project)?);
    }
    make(project)?;
    docs::make(project)?;
    let address = server.address()?;
    println!("The workbench is at {address}, the documents at {address}docs/ (Ctrl-C ends it)");
    if options.open {
        // Beside the server: some openers stay until the browser is closed.
        thread::spawn(move || open(&address));
    }
    server.run();
    Ok(())
}

pub fn screenshots(project: &Project) -> Result<()> {
    make(project)?;
    let tests = project.root.join("www");
    npm_ci(&tests)?;
    Cmd::new("node")
        .arg("tests/screenshots.mjs")
        .env("LODGER_DEMO_URL", started(project, None)?)
        .in_dir(&tests)
        .run()
}

/// Builds the package and the workbench if they are missing or stale.
pub fn make(project: &Project) -> Result<()> {
    build::ensure(project)?;
    let www = project.root.join("www");
    ensure!(www.is_dir(), "there is no www/ to show");
    if !www.join("package.json").is_file() {
        return Ok(());
    }
    node()?;
    npm_ci(&www)?;
    let stamp = Stamp::at(project.cache("www.stamp"));
    let digests = || -> Result<String> {
        let (dist, mut sources) = (www.join("dist"), Vec::new());
        for entry in std::fs::read_dir(&www)? {
            let path = entry?.path();
            // Neither what is made of the sources nor what is made of the page.
            if path != dist && path != www.join("screenshots") && path != www.join("tests") {
                sources.push(path);
            }
        }
        sources.sort();
        Ok(format!("{} {}", digest(&sources)?, digest(&[dist])?))
    };
    if !stamp.holds(&digests()?) {
        say("building the workbench");
        npm(&www).args(["run", "--silent", "build"]).run()?;
        ensure!(www.join("dist/index.html").is_file(), "the build of www/ made no dist/index.html");
        stamp.set(&digests()?)?;
    }
    Ok(())
}

/// A server on a free port, for as long as this process lives; gives its address.
pub fn started(project: &Project, local_model: Option<PathBuf>) -> Result<String> {
    let mut server = server(project, 0)?;
    if let Some(dir) = local_model {
        server = server.with_local_model(dir);
    }
    let address = server.address()?;
    thread::spawn(move || server.run());
    Ok(address)
}

fn server(project: &Project, port: u16) -> Result<Server> {
    let www = project.root.join("www");
    let built = www.join("package.json").is_file();
    Server::bind(port, if built { www.join("dist") } else { www }, project.pkg(), docs::site(project))
}

/// Best effort: the address is on the screen in any case.
fn open(address: &str) {
    let opener = match std::env::consts::OS {
        "macos" => Some(PathBuf::from("open")),
        "windows" => Some(PathBuf::from("explorer")),
        _ => which("xdg-open"),
    };
    let opened = opener.context("no opener").and_then(|opener| Cmd::new(opener).arg(address).captured());
    if opened.is_err() {
        println!("(no browser could be opened from here)");
    }
}
