//! What `import "lodger"` makes a browser load: `index.js`, every module that it imports without asking, the glue and
//! the wasm. Raw, gzip -9, brotli -q 11, file by file as servers send them.

use super::package::WASM_FILE;
use super::wasm::GLUE;
use anyhow::{Context, Result, ensure};
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;

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

pub fn measure(pkg: &Path) -> Result<Weight> {
    // The glue may be imported late, but no page does without it.
    let mut names = vec![WASM_FILE.to_owned(), format!("{GLUE}.js"), "index.js".to_owned()];
    let mut files = Vec::new();
    let mut next = 0;
    while let Some(name) = names.get(next).cloned() {
        next += 1;
        let bytes = fs::read(pkg.join(&name)).with_context(|| format!("the package has no {name}"))?;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            for import in static_imports(text) {
                let import = import.strip_prefix("./");
                let import =
                    import.with_context(|| format!("{name} imports something outside the package"))?;
                ensure!(!import.contains('/'), "{name} imports {import}, which lies in a folder");
                if !names.iter().any(|name| name == import) {
                    names.push(import.to_owned());
                }
            }
        }
        files.push(File { raw: bytes.len(), gzip: gzip(&bytes)?, brotli: brotli(&bytes)?, name });
    }
    Ok(Weight { files })
}

/// The specifiers of `import … from "…"`, `import "…"` and `export … from "…"` at the start of a line. That is how
/// our modules and the glue are written; a call `import("…")` is not static and does not count.
fn static_imports(js: &str) -> impl Iterator<Item = &str> {
    let mut open = false;
    js.lines().filter_map(move |line| {
        if line.starts_with("import ") || line.starts_with("export {") || line.starts_with("export *") {
            open = true;
        }
        if !open {
            return None;
        }
        let quoted = line.split(['"', '\'']).nth(1);
        let names_one =
            line.contains(" from ") || line.starts_with("import \"") || line.starts_with("import '");
        if line.trim_end().ends_with(';') || names_one {
            open = false;
        }
        quoted.filter(|_| names_one)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_imports_are_found_and_late_ones_are_not() {
        let js = "import { a } from \"./a.js\";\nimport './b.js';\nexport * from \"./c.js\";\nimport {\n  d,\n} from \"./d.js\";\n\
                  export { e };\nconst f = () => import(\"./f.js\");\nexport const from = \"x from './g.js'\";\n";
        assert_eq!(static_imports(js).collect::<Vec<_>>(), ["./a.js", "./b.js", "./c.js", "./d.js"]);
    }
}
