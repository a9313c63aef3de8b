//! What `import "lodger"` makes a browser load: the wasm, `index.js` and every module that it imports at once. Raw,
//! gzip -9, brotli -q 11, file by file as servers send them.

use super::modules;
use super::package::WASM_FILE;
use crate::project::Project;
use anyhow::{Context, Result};
use std::fmt;
use std::fs;
use std::io::Write;

pub struct Weight {
    files: Vec<File>,
}

struct File {
    name: String,
    raw: usize,
    gzip: usize,
    brotli: usize,
}

impl Weight {
    pub fn brotli(&self) -> usize {
        self.files.iter().map(|file| file.brotli).sum()
    }
}

pub fn measure(project: &Project) -> Result<Weight> {
    let names = [WASM_FILE.to_owned()].into_iter().chain(modules::loaded_by(project, "index.js")?);
    let files = names.map(|name| {
        let bytes =
            fs::read(project.pkg().join(&name)).with_context(|| format!("the package has no {name}"))?;
        Ok(File { raw: bytes.len(), gzip: gzip(&bytes)?, brotli: brotli(&bytes)?, name })
    });
    Ok(Weight { files: files.collect::<Result<_>>()? })
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
        for File { name, raw, gzip, brotli } in &self.files {
            writeln!(f, "  {name:<26}{raw:>10}{gzip:>10}{brotli:>10}")?;
        }
        let sum = |size: fn(&File) -> usize| self.files.iter().map(size).sum::<usize>();
        let (raw, gzip, brotli) = (sum(|f| f.raw), sum(|f| f.gzip), sum(|f| f.brotli));
        writeln!(f, "  {:<26}{raw:>10}{gzip:>10}{brotli:>10}", "together")
    }
}
