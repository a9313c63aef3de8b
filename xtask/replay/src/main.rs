//! `cargo xtask replay FILE`: an exported session is run again, here.
//!
//! Promises: the same machine as in the browser reads the same file. The first entry that comes out otherwise is shown. That is a
//! failure where the same version has recorded it: of another version's file it is enough that it reads. A line is held at a time.

use anyhow::{Context, Result, anyhow, bail};
use lodger::error::ErrorInfo;
use lodger::ports::{PatternEngine, Patterns};
use lodger::session::carry::{LINE, Reader};
use regress::Regex;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

fn main() -> ExitCode {
    match replay() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn replay() -> Result<()> {
    let path = std::env::args_os().nth(1).map(PathBuf::from).context("which file?")?;
    let mut reader = read(&path, true)?;
    let package = reader.package().to_owned();
    let mut came = "the same again";
    if let Some(difference) = reader.difference() {
        println!("{}", difference.json());
        let (seq, this) = (difference.seq, env!("CARGO_PKG_VERSION"));
        let other =
            format!("entry {seq} comes out otherwise; lodger {package} has recorded it, this is {this}");
        if package == this {
            bail!(other);
        }
        println!("{other}, which may decide otherwise");
        (reader, came) = (read(&path, false)?, "it reads");
    }
    let session = reader.finish().map_err(told)?.session;
    println!("{}: {} entries, recorded by lodger {package}: {came}", session.id, session.seq());
    Ok(())
}

/// Reads a file, up to the first entry that comes out otherwise. `again`: what is recorded is run again.
fn read(path: &Path, again: bool) -> Result<Reader> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut file = BufReader::new(file);
    let mut reader = Reader::new(&PatternEngine::new(Rc::new(Engine)), again);
    let mut line = Vec::new();
    while reader.difference().is_none() && next(&mut file, &mut line)? {
        let text = str::from_utf8(&line).context("a line is no text")?;
        reader.line(text).map_err(told)?;
    }
    Ok(reader)
}

/// Reads a line, without its end; of one that is too long, as much as shows that. `false`: there is none.
fn next(file: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    let most = LINE as u64 + 2;
    file.take(most).read_until(b'\n', line).context("the file cannot be read")?;
    let any = !line.is_empty();
    line.pop_if(|last| *last == b'\n');
    Ok(any)
}

fn told(error: ErrorInfo) -> anyhow::Error {
    anyhow!("{}", error.for_model())
}

/// What a browser's `RegExp` is to the schemas of tools.
struct Engine;

impl Patterns for Engine {
    fn test(&self, source: &str, unicode: bool, c: Option<char>) -> Result<bool, String> {
        let flags = if unicode { "u" } else { "" };
        let regex = Regex::with_flags(source, flags).map_err(|error| error.to_string())?;
        Ok(c.is_some_and(|c| regex.find(c.encode_utf8(&mut [0; 4])).is_some()))
    }
}
