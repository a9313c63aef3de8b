//! Which room of the house takes how much of the module.
//!
//! A function belongs to the first of our rooms that its name mentions. `lodger::run::…` belongs to `run`, and a copy
//! of `serde`'s or `std`'s code that was made for a type of `run` to `run` as well. What was inlined counts where it
//! went.

use crate::project::Project;
use anyhow::Result;
use rustc_demangle::demangle;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::fs;
use wasmparser::{ExternalKind, KnownCustom, Name, Parser, Payload, TypeRef};

/// The report that `build` prints. All functions, largest first, go to `functions.txt` beside it.
pub fn report(project: &Project, wasm: &[u8], raw: usize) -> Result<String> {
    let module = Module::parse(wasm)?;
    let rooms = rooms(project)?;
    let mut shares: BTreeMap<String, usize> = rooms.iter().map(|room| (room.clone(), 0)).collect();
    let mut functions = Vec::new();
    for function in module.functions {
        let room = room_of(&function, &rooms);
        *shares.entry(room.clone()).or_default() += function.size;
        functions.push((function.size, room, function.name));
    }
    shares.insert("(data: texts, tables)".to_owned(), module.data);
    let named: usize = shares.values().sum();
    shares.insert("(imports, types, headers)".to_owned(), raw.saturating_sub(named));

    functions.sort_by(|a, b| b.cmp(a));
    let list: String =
        functions.iter().map(|(size, room, name)| format!("{size:>8}  {room:<14}  {name}\n")).collect();
    fs::write(project.cache("functions.txt"), list)?;

    let mut shares: Vec<_> = shares.into_iter().collect();
    shares.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let mut text = String::new();
    writeln!(text, "{:<28}{:>10}{:>8}", "the module, by room", "raw", "share")?;
    for (room, size) in shares.iter().filter(|(_, size)| *size > 0) {
        writeln!(text, "  {room:<26}{size:>10}{:>7.1}%", *size as f64 * 100.0 / raw.max(1) as f64)?;
    }
    Ok(text)
}

/// The folders and files directly in `src/`: the house's own list, so that a new room needs no word here.
fn rooms(project: &Project) -> Result<Vec<String>> {
    let mut rooms = Vec::new();
    for entry in fs::read_dir(project.root.join("src"))? {
        let path = entry?.path();
        rooms.extend(
            path.file_stem().and_then(|name| name.to_str()).filter(|name| *name != "lib").map(str::to_owned),
        );
    }
    rooms.sort();
    rooms.dedup();
    Ok(rooms)
}

/// The room for a demangled name; for other crates' code the crate, with all of Rust's own under `std`.
fn room_of(function: &Function, rooms: &[String]) -> String {
    let name = function.name.as_str();
    for (start, _) in name.match_indices("lodger::") {
        let room = first_word(&name[start + "lodger::".len()..]);
        if rooms.iter().any(|known| known == room) {
            return room.to_owned();
        }
    }
    if name.starts_with("__wbindgen") || name.starts_with("__wbg") || name.starts_with("__externref") {
        return "(wasm_bindgen)".to_owned();
    }
    if !name.contains("::") {
        // wasm-bindgen's exports bear the plain names of our functions; other plain names are C's, like `memcpy`.
        return if function.exported { "js" } else { "(std)" }.to_owned();
    }
    // A type of the language has no crate: `<u32 as some_crate::Trait>::f` counts for the trait's.
    match crate_of(name) {
        Some("lodger") => "(lib.rs)".to_owned(),
        None
        | Some("core" | "alloc" | "std" | "dlmalloc" | "compiler_builtins" | "hashbrown" | "__rustc") => {
            "(std)".to_owned()
        }
        Some(other) => format!("({other})"),
    }
}

/// The first name in this name that a path starts with.
fn crate_of(name: &str) -> Option<&str> {
    name.match_indices("::").find_map(|(end, _)| {
        let start =
            name[..end].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |before| before + 1);
        (start < end && !name[..start].ends_with(':')).then(|| &name[start..end])
    })
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

struct Module {
    functions: Vec<Function>,
    /// Bytes of the data section.
    data: usize,
}

struct Function {
    name: String,
    exported: bool,
    size: usize,
}

impl Module {
    fn parse(wasm: &[u8]) -> Result<Module> {
        let mut imported: u32 = 0;
        let mut sizes = Vec::new();
        let mut exported = HashSet::new();
        let mut names = HashMap::new();
        let mut data = 0;
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                    }
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export?;
                        if export.kind == ExternalKind::Func {
                            exported.insert(export.index);
                        }
                    }
                }
                Payload::CodeSectionEntry(body) => sizes.push(body.range().len()),
                Payload::DataSection(section) => data = section.range().len(),
                Payload::CustomSection(section) => {
                    if let KnownCustom::Name(subsections) = section.as_known() {
                        for subsection in subsections {
                            let Name::Function(functions) = subsection? else { continue };
                            for function in functions {
                                let function = function?;
                                names.insert(function.index, format!("{:#}", demangle(function.name)));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        let functions = (imported..).zip(sizes).map(|(index, size)| Function {
            name: names.remove(&index).unwrap_or_else(|| format!("function {index}")),
            exported: exported.contains(&index),
            size,
        });
        Ok(Module { functions: functions.collect(), data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_room_that_its_name_mentions_first() {
        let rooms = ["js", "model", "run"].map(str::to_owned);
        let room =
            |name: &str, exported| room_of(&Function { name: name.to_owned(), exported, size: 0 }, &rooms);
        for (name, expected) in [
            ("lodger::run::step", "run"),
            (
                "<lodger::model::Message as serde_core::ser::Serialize>::serialize::<lodger::run::Sink>",
                "model",
            ),
            ("core::ptr::drop_in_place::<lodger::model::Message>", "model"),
            ("lodger::start", "(lib.rs)"),
            ("<u32 as core::fmt::Display>::fmt", "(std)"),
            ("<&mut serde_json::Value as core::fmt::Debug>::fmt", "(serde_json)"),
            (
                "<&mut <serde_json::Value as core::fmt::Display>::fmt::Writer as std::io::Write>::flush",
                "(serde_json)",
            ),
            ("<char>::escape_debug_ext", "(std)"),
            ("<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>", "(std)"),
            ("memcpy", "(std)"),
            ("__wbindgen_malloc", "(wasm_bindgen)"),
        ] {
            assert_eq!(room(name, false), expected, "{name}");
        }
        assert_eq!(room("receive", true), "js");
    }
}
