//! What `import "lodger"` makes a browser load: the wasm, `index.js` and every module that it imports at once. And what
//! comes when it is needed: rooms, sub-exports, modules by `import()`. Raw, gzip -9, brotli -q 11, file by file as servers
//! send them.
//!
//! Promises: all of it has a gate. What has none is a failure, as is a gate for what the package has not.

use super::modules;
use super::package::{ROOMS, WASM_FILE};
use crate::project::Project;
use anyhow::{Context, Result};
use std::fmt;
use std::fs;
use std::io::Write;

/// What a page loads until its first answer, in bytes of brotli, and no more than that. A higher gate needs figures in
/// docs/measured.md; what comes new is a room or a sub-export.
const FIRST: [(&str, &[&str], usize); 2] = [
    ("with a tool, on Anthropic", &["anthropic"], 267_500),
    ("with page tools, on any wire", &["pages", "anthropic|chat|ollama|responses|gemini"], 295_000),
];

/// What else a page loads once it needs it, each beyond the first load: rooms, sub-exports, and modules that come by
/// `import()`. In bytes of brotli, two hundredths above what it was when the gate was set.
const LATER: [(&str, usize); 34] = [
    ("anthropic", 5_050),
    ("carry", 18_820),
    ("chat", 6_020),
    ("gemini", 6_100),
    ("compaction", 7_880),
    ("memory", 12_550),
    ("more", 21_670),
    ("ollama", 3_650),
    ("pages", 26_680),
    ("past", 106_770),
    ("responses", 6_510),
    ("schema", 15_800),
    ("upkeep", 9_350),
    ("volatile", 3_400),
    ("client/content.js", 800),
    ("client/foreign.js", 2_300),
    ("client/html.js", 1_710),
    ("client/lost.js", 240),
    ("client/partial.js", 1_450),
    ("client/root.js", 420),
    ("client/search.js", 790),
    ("client/session-files.js", 2_620),
    ("client/sessions-view.js", 1_640),
    ("client/title.js", 1_090),
    ("host/apart.js", 390),
    ("host/elsewhere.js", 1_130),
    ("host/sizes.js", 550),
    ("protocol/hints.js", 2_700),
    ("lodger/esbuild", 1_200),
    ("lodger/offline", 7_420),
    ("lodger/prompt-api", 3_840),
    ("lodger/rollup", 740),
    ("lodger/testing", 1_020),
    ("lodger/wllama", 4_120),
];

pub struct Weight {
    /// What is loaded at once.
    files: Vec<File>,
    /// What arrives when it is needed.
    later: Vec<File>,
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

    /// Each file as it is sent: what they weigh together is a sum.
    fn together(name: &str, files: &[File]) -> File {
        let sum = |size: fn(&File) -> usize| files.iter().map(size).sum::<usize>();
        let (raw, gzip, brotli) = (sum(|f| f.raw), sum(|f| f.gzip), sum(|f| f.brotli));
        File { name: name.to_owned(), raw, gzip, brotli }
    }
}

impl Weight {
    /// What a first answer loads that needs these rooms; of several that one room stands for, the largest.
    fn first(&self, rooms: &[&str]) -> usize {
        let of = |name: &str| self.later.iter().find(|room| room.name == name).map_or(0, |room| room.brotli);
        let rooms = rooms.iter().map(|rooms| rooms.split('|').map(of).max().unwrap_or_default());
        self.files.iter().map(|file| file.brotli).chain(rooms).sum()
    }

    /// What is above its gate, or has none.
    pub fn faults(&self) -> Vec<String> {
        let over = FIRST.iter().filter(|(_, rooms, gate)| self.first(rooms) > *gate);
        let first = over.map(|(what, rooms, gate)| {
            format!("a first answer {what} loads {} bytes of brotli, the gate is {gate}", self.first(rooms))
        });
        first.chain(self.faults_later(&LATER)).collect()
    }

    fn faults_later(&self, gates: &[(&str, usize)]) -> Vec<String> {
        let has = self.later.iter().filter_map(|File { name, brotli, .. }| match gate(gates, name) {
            Some(gate) if *brotli > gate => {
                Some(format!("{name} loads {brotli} bytes of brotli, its gate is {gate}"))
            }
            Some(_) => None,
            None => Some(format!(
                "{name} has no gate: it loads {brotli} bytes of brotli, so add (\"{name}\", {}) to LATER in {}",
                rounded(brotli + brotli / 50),
                file!()
            )),
        });
        let gone = gates.iter().filter(|(name, _)| self.later.iter().all(|file| file.name != *name));
        let gone = gone.map(|(name, _)| {
            format!("{name} has a gate and is not in the package: take its row out of LATER in {}", file!())
        });
        has.chain(gone).collect()
    }
}

fn gate(gates: &[(&str, usize)], name: &str) -> Option<usize> {
    gates.iter().find(|(gated, _)| *gated == name).map(|(_, gate)| *gate)
}

/// To the next ten bytes.
fn rounded(bytes: usize) -> usize {
    bytes.div_ceil(10) * 10
}

pub fn measure(project: &Project) -> Result<Weight> {
    let all = |names: &[String]| -> Result<Vec<File>> {
        names.iter().map(|name| File::read(project, name, name)).collect()
    };
    let mut names = vec![WASM_FILE.to_owned()];
    names.extend(modules::loaded_by(project, "index.js")?);
    let files = all(&names)?;
    let mut later = Vec::new();
    for entry in fs::read_dir(project.pkg().join(ROOMS)).context("the package has no parts")? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        let name = file.split('.').next().unwrap_or_default();
        later.push(File::read(project, name, &format!("{ROOMS}/{file}"))?);
    }
    later.sort_by(|a, b| a.name.cmp(&b.name));
    for (name, names) in modules::loaded_later(project)? {
        later.push(File::together(&name, &all(&names)?));
    }
    Ok(Weight { files, later })
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
        let together = File::together("together", &self.files);
        for File { name, raw, gzip, brotli } in self.files.iter().chain([&together]) {
            writeln!(f, "  {name:<26}{raw:>10}{gzip:>10}{brotli:>10}")?;
        }
        writeln!(
            f,
            "\n{:<28}{:>10}{:>10}{:>10}{:>10}",
            "later, beyond that", "raw", "gzip", "brotli", "gate"
        )?;
        for File { name, raw, gzip, brotli } in &self.later {
            let gate = gate(&LATER, name).map_or_else(|| "none".to_owned(), |gate| gate.to_string());
            writeln!(f, "  {name:<26}{raw:>10}{gzip:>10}{brotli:>10}{gate:>10}")?;
        }
        writeln!(f, "\n{:<38}{:>10}{:>10}", "a first answer loads", "brotli", "gate")?;
        FIRST.iter().try_for_each(|(what, rooms, gate)| {
            writeln!(f, "  {what:<36}{:>10}{gate:>10}", self.first(rooms))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, brotli: usize) -> File {
        File { name: name.to_owned(), raw: 4 * brotli, gzip: 2 * brotli, brotli }
    }

    fn weight(later: &[(&str, usize)]) -> Weight {
        let later = later.iter().map(|(name, brotli)| file(name, *brotli)).collect();
        Weight { files: vec![file("a.wasm", 1000), file("index.js", 10)], later }
    }

    #[test]
    fn a_first_answer_loads_the_largest_of_the_rooms_that_may_come() {
        let weight = weight(&[("one", 3), ("two", 7), ("three", 100)]);
        assert_eq!(weight.first(&[]), 1010);
        assert_eq!(weight.first(&["one|two"]), 1017);
        assert_eq!(weight.first(&["three", "one"]), 1113);
    }

    #[test]
    fn what_is_above_its_gate_is_a_fault() {
        let gates = [("room", 70), ("lodger/sub", 20)];
        assert_eq!(weight(&[("room", 70), ("lodger/sub", 20)]).faults_later(&gates), Vec::<String>::new());
        let faults = weight(&[("room", 71), ("lodger/sub", 25)]).faults_later(&gates);
        let over = [
            "room loads 71 bytes of brotli, its gate is 70",
            "lodger/sub loads 25 bytes of brotli, its gate is 20",
        ];
        assert_eq!(faults, over);
    }

    #[test]
    fn what_has_no_gate_is_a_fault_that_says_which_row_to_add() {
        let faults = weight(&[("room", 5001)]).faults_later(&[]);
        let says = "room has no gate: it loads 5001 bytes of brotli, so add (\"room\", 5110) to LATER in ";
        assert!(
            faults.len() == 1 && faults[0].starts_with(says) && faults[0].ends_with("sizes.rs"),
            "{faults:?}"
        );
    }

    #[test]
    fn a_gate_for_what_is_gone_is_a_fault() {
        let faults = weight(&[("room", 1)]).faults_later(&[("room", 1), ("other", 1)]);
        assert!(
            faults.len() == 1 && faults[0].starts_with("other has a gate and is not in the package"),
            "{faults:?}"
        );
    }

    #[test]
    fn every_room_and_sub_export_has_one_row() {
        let named = |name: &str| LATER.iter().filter(|(gated, _)| *gated == name).count();
        let rooms = super::super::parts::names().map(str::to_owned);
        let subs = modules::sub_exports().map(|name| format!("lodger/{name}"));
        for name in rooms.chain(subs) {
            assert_eq!(named(&name), 1, "{name}");
        }
    }

    #[test]
    fn each_size_is_printed_beside_its_gate() {
        let lines = weight(&[("schema", 100), ("new", 7)]).to_string();
        let row =
            |name: &str| lines.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
        let columns =
            |name: &str| row(name).split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>();
        let gate = gate(&LATER, "schema").unwrap().to_string();
        assert_eq!(columns("schema"), ["400", "200", "100", &gate]);
        assert_eq!(columns("new"), ["28", "14", "7", "none"]);
        assert_eq!(columns("together"), ["4040", "2020", "1010"]);
    }
}
