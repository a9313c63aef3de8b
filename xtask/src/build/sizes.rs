//! What `import "lodger"` makes a browser load: the wasm, `index.js` and every module that it imports at once; and the
//! rooms, which come when they are needed. Raw, gzip -9, brotli -q 11, file by file as servers send them.

use super::modules;
use super::package::{ROOMS, WASM_FILE};
use crate::project::Project;
use anyhow::{Context, Result};
use std::fmt;
use std::fs;
use std::io::Write;

/// What a page loads until its first answer, in bytes of brotli, and no more than that. A higher gate needs figures in
/// docs/measured.md; what comes new is a room or a sub-export.
const GATES: [(&str, &[&str], usize); 2] = [
    ("with a tool, on Anthropic", &["anthropic"], 238_300),
    ("with page tools, on any wire", &["pages", "anthropic|chat|responses"], 264_000),
];

pub struct Weight {
    /// What is loaded at once.
    files: Vec<File>,
    /// What arrives when it is needed.
    rooms: Vec<File>,
}

struct File {
    name: String,
    raw: usize,
    gzip: usize,
    brotli: usize,
}

impl File {
    fn read(project: &Project, name: &str, path: &str) -> Result<File> {
        let bytes =
            fs::read(project.pkg().join(path)).with_context(|| format!("the package has no {path}"))?;
        Ok(File { name: name.to_owned(), raw: bytes.len(), gzip: gzip(&bytes)?, brotli: brotli(&bytes)? })
    }
}

impl Weight {
    /// What a first answer loads that needs these rooms; of several that one room stands for, the largest.
    fn first(&self, rooms: &[&str]) -> usize {
        let of = |name: &str| self.rooms.iter().find(|room| room.name == name).map_or(0, |room| room.brotli);
        let rooms = rooms.iter().map(|rooms| rooms.split('|').map(of).max().unwrap_or_default());
        self.files.iter().map(|file| file.brotli).chain(rooms).sum()
    }

    /// What is above its gate.
    pub fn too_much(&self) -> Vec<String> {
        let over = GATES.iter().filter(|(_, rooms, gate)| self.first(rooms) > *gate);
        let fault = |(what, rooms, gate): &(&str, &[&str], usize)| {
            format!("a first answer {what} loads {} bytes of brotli, the gate is {gate}", self.first(rooms))
        };
        over.map(fault).collect()
    }
}

pub fn measure(project: &Project) -> Result<Weight> {
    let names = [WASM_FILE.to_owned()].into_iter().chain(modules::loaded_by(project, "index.js")?);
    let files = names.map(|name| File::read(project, &name, &name)).collect::<Result<_>>()?;
    let mut rooms = Vec::new();
    for entry in fs::read_dir(project.pkg().join(ROOMS)).context("the package has no parts")? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        let name = file.split('.').next().unwrap_or_default();
        rooms.push(File::read(project, name, &format!("{ROOMS}/{file}"))?);
    }
    rooms.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Weight { files, rooms })
}

fn gzip(bytes: &[u8]) -> Result<usize> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

pub fn brotli(bytes: &[u8]) -> Result<usize> {
    let mut out = Vec::new();
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: bytes.len(),
        ..Default::default()
    };
    brotli::BrotliCompress(&mut &bytes[..], &mut out, &params)?;
    Ok(out.len())
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<28}{:>10}{:>10}{:>10}", "import \"lodger\" loads", "raw", "gzip", "brotli")?;
        let line = |f: &mut fmt::Formatter<'_>, File { name, raw, gzip, brotli }: &File| {
            writeln!(f, "  {name:<26}{raw:>10}{gzip:>10}{brotli:>10}")
        };
        self.files.iter().try_for_each(|file| line(f, file))?;
        let sum = |size: fn(&File) -> usize| self.files.iter().map(size).sum::<usize>();
        let (raw, gzip, brotli) = (sum(|f| f.raw), sum(|f| f.gzip), sum(|f| f.brotli));
        line(f, &File { name: "together".to_owned(), raw, gzip, brotli })?;
        writeln!(f, "\n{:<28}{:>10}{:>10}{:>10}", "rooms, when they are needed", "raw", "gzip", "brotli")?;
        self.rooms.iter().try_for_each(|room| line(f, room))?;
        writeln!(f, "\n{:<38}{:>10}{:>10}", "a first answer loads", "brotli", "gate")?;
        GATES.iter().try_for_each(|(what, rooms, gate)| {
            writeln!(f, "  {what:<36}{:>10}{gate:>10}", self.first(rooms))
        })
    }
}
