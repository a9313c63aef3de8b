//! Writes the main module and its parts.
//!
//! A part shares memory, table and stack with the main module: it imports them, and the functions of the main module that
//! it calls. When it is instantiated it puts its functions into the table and its data into the memory. The main module
//! calls it by the table only: where a function of a part was called, a function of two instructions is left. A place
//! in the table that a part will fill holds a function that traps.

use super::optimised::Optimised;
use super::plan::Part;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::ops::Range;
use wasm_encoder::reencode::{Error, Reencode, RoundtripReencoder};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, GlobalSection, ImportSection, MemorySection, Module, TableSection, TableType,
    TypeSection,
};
use wasmparser::{ExternalKind, Parser, Payload, Validator};

/// Data of this many bytes or more is left out of the main module; less is overwritten by zeros, which costs less than
/// one more segment.
const HOLE: u32 = 12;

pub struct Cut {
    pub main: Vec<u8>,
    pub parts: Vec<Vec<u8>>,
}

/// Which number something has in the module that is written.
#[derive(Default)]
struct Numbers {
    functions: HashMap<usize, u32>,
    types: HashMap<u32, u32>,
    tables: HashMap<u32, u32>,
    globals: HashMap<u32, u32>,
}

impl Reencode for Numbers {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error> {
        Ok(self.functions[&(function as usize)])
    }

    fn type_index(&mut self, ty: u32) -> Result<u32, Error> {
        Ok(self.types[&ty])
    }

    fn table_index(&mut self, table: u32) -> Result<u32, Error> {
        Ok(self.tables[&table])
    }

    fn global_index(&mut self, global: u32) -> Result<u32, Error> {
        Ok(self.globals[&global])
    }
}

impl Numbers {
    /// The types that these functions need: of all of them their own, of those with bodies those that they name.
    fn types(
        &mut self,
        module: &Optimised<'_>,
        known: &[usize],
        bodies: &[usize],
    ) -> Result<TypeSection, Error> {
        let mut used: BTreeSet<u32> = known.iter().map(|&n| module.functions[n].ty).collect();
        used.extend(bodies.iter().flat_map(|&n| &module.functions[n].types));
        let mut types = TypeSection::new();
        for ty in used {
            self.types.insert(ty, types.len());
            types.ty().func_type(&self.func_type(module.types[ty as usize].clone())?);
        }
        Ok(types)
    }
}

/// What the main module exports for its parts, each under a short name that the glue has no use for.
struct Shared {
    names: Vec<(ExternalKind, u32, String)>,
    exports: ExportSection,
    added: usize,
}

impl Shared {
    fn export(&mut self, kind: ExternalKind, index: u32, now: u32) -> Result<(), Error> {
        if self.name(kind, index).is_err() {
            let name = self.added.to_string();
            self.added += 1;
            self.exports.export(&name, RoundtripReencoder.export_kind(kind)?, now);
            self.names.push((kind, index, name));
        }
        Ok(())
    }

    fn name(&self, kind: ExternalKind, index: u32) -> Result<&str> {
        let found = self.names.iter().find(|(of, at, _)| (*of, *at) == (kind, index));
        Ok(&found.context("a part needs what is not exported")?.2)
    }
}

/// `wasm` is what `module` was read from.
/// The memory is exported for the parts under the name `build`, which is another for each build.
pub fn cut(wasm: &[u8], module: &Optimised<'_>, parts: &[Part], build: &str) -> Result<Cut> {
    // What is called from outside of a part gets a place in the table, if it has none.
    let mut slots: HashMap<usize, u32> =
        module.slots.iter().map(|(&slot, &function)| (function, slot)).collect();
    let mut end = module.tables[module.table as usize].initial as u32;
    for &function in parts.iter().flat_map(|part| &part.entered) {
        slots.entry(function).or_insert_with(|| {
            end += 1;
            end - 1
        });
    }
    let table = |numbers: &mut Numbers, table: u32| -> Result<TableType, Error> {
        let mut ty = numbers.table_type(module.tables[table as usize])?;
        if table == module.table {
            ty.minimum = end.into();
            ty.maximum = ty.maximum.map(|maximum| maximum.max(end.into()));
        }
        Ok(ty)
    };

    let mut main = Main::of(module, parts, &slots);
    let (main, shared) = main.written(wasm, &table, build)?;
    let mut written = Vec::new();
    for part in parts {
        written.push(one_part(module, part, &slots, &shared, &table)?);
    }
    for wasm in std::iter::once(&main).chain(&written) {
        Validator::new().validate_all(wasm).context("a part is no valid module")?;
    }
    Ok(Cut { main, parts: written })
}

type TableOf<'a> = &'a dyn Fn(&mut Numbers, u32) -> Result<TableType, Error>;

/// The main module: the whole without what is of a part.
struct Main<'a> {
    module: &'a Optimised<'a>,
    parts: &'a [Part],
    slots: &'a HashMap<usize, u32>,
    /// The functions of parts.
    gone: BTreeSet<usize>,
    imports: Vec<usize>,
    /// Its functions, with those in whose place a call by the table stands.
    own: Vec<usize>,
    numbers: Numbers,
}

impl<'a> Main<'a> {
    fn of(module: &'a Optimised<'a>, parts: &'a [Part], slots: &'a HashMap<usize, u32>) -> Main<'a> {
        let gone: BTreeSet<usize> = parts.iter().flat_map(|part| part.functions.iter().copied()).collect();
        let entered: BTreeSet<usize> = parts.iter().flat_map(|part| part.entered.iter().copied()).collect();
        let (imports, own): (Vec<usize>, Vec<usize>) = (0..module.functions.len())
            .filter(|n| !gone.contains(n) || entered.contains(n))
            .partition(|&n| module.functions[n].import.is_some());
        let mut numbers = Numbers::default();
        numbers.functions.extend(imports.iter().chain(&own).copied().zip(0..));
        numbers.tables.extend((0..).zip(0..module.tables.len() as u32));
        numbers.globals.extend((0..).zip(0..module.globals.len() as u32));
        Main { module, parts, slots, gone, imports, own, numbers }
    }

    fn written(&mut self, wasm: &[u8], table: TableOf<'_>, build: &str) -> Result<(Vec<u8>, Shared)> {
        let known: Vec<usize> = self.imports.iter().chain(&self.own).copied().collect();
        let whole: Vec<usize> = self.own.iter().copied().filter(|n| !self.gone.contains(n)).collect();
        let mut types = self.numbers.types(self.module, &known, &whole)?;
        // The function that traps is the last.
        let (nothing, trap) = (types.len(), known.len() as u32);
        types.ty().function([], []);
        let mut written = Module::new();
        written.section(&types).section(&self.imported()).section(&self.declared(nothing));
        let mut tables = TableSection::new();
        for n in 0..self.module.tables.len() as u32 {
            tables.table(table(&mut self.numbers, n)?);
        }
        written.section(&tables);
        self.unchanged(wasm, &mut written)?;
        let shared = self.shared(build)?;
        written.section(&shared.exports);
        let place = |n: &usize| if self.gone.contains(n) { trap } else { self.numbers.functions[n] };
        let in_table = self.module.slots.iter().map(|(&slot, n)| (slot, place(n)));
        let mut elements = ElementSection::new();
        fill(&mut elements, Some(self.module.table).filter(|table| *table != 0), in_table);
        written.section(&elements).section(&self.code()?).section(&data_left(self.module, self.parts));
        Ok((written.finish(), shared))
    }

    fn imported(&self) -> ImportSection {
        let mut section = ImportSection::new();
        for &n in &self.imports {
            let function = &self.module.functions[n];
            let (from, name) = function.import.unwrap_or_default();
            section.import(from, name, EntityType::Function(self.numbers.types[&function.ty]));
        }
        section
    }

    fn declared(&self, nothing: u32) -> FunctionSection {
        let mut section = FunctionSection::new();
        for &n in &self.own {
            section.function(self.numbers.types[&self.module.functions[n].ty]);
        }
        section.function(nothing);
        section
    }

    /// Memory and globals are as they were.
    fn unchanged(&mut self, wasm: &[u8], written: &mut Module) -> Result<()> {
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::MemorySection(memories) => {
                    let mut section = MemorySection::new();
                    self.numbers.parse_memory_section(&mut section, memories)?;
                    written.section(&section);
                }
                Payload::GlobalSection(globals) => {
                    let mut section = GlobalSection::new();
                    self.numbers.parse_global_section(&mut section, globals)?;
                    written.section(&section);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The exports of the whole, and what its parts need.
    fn shared(&self, build: &str) -> Result<Shared> {
        let (module, functions) = (self.module, &self.numbers.functions);
        let mut shared = Shared { names: Vec::new(), exports: ExportSection::new(), added: 0 };
        for &(name, kind, index) in &module.exports {
            let now = match kind {
                ExternalKind::Func => functions[&(index as usize)],
                _ => index,
            };
            shared.exports.export(name, RoundtripReencoder.export_kind(kind)?, now);
            if kind != ExternalKind::Memory {
                shared.names.push((kind, index, name.to_owned()));
            }
        }
        shared.exports.export(build, ExportKind::Memory, 0);
        shared.names.push((ExternalKind::Memory, 0, build.to_owned()));
        for part in self.parts {
            shared.export(ExternalKind::Table, module.table, module.table)?;
            for function in part.functions.iter().map(|&n| &module.functions[n]) {
                for &table in &function.tables {
                    shared.export(ExternalKind::Table, table, table)?;
                }
                for &global in &function.globals {
                    shared.export(ExternalKind::Global, global, global)?;
                }
            }
            for called in outside(module, part) {
                if module.functions[called].import.is_none() {
                    shared.export(ExternalKind::Func, called as u32, functions[&called])?;
                }
            }
        }
        Ok(shared)
    }

    /// The bodies, and in the place of those that are gone a call by the table.
    fn code(&mut self) -> Result<CodeSection> {
        let mut section = CodeSection::new();
        for &n in &self.own {
            let function = &self.module.functions[n];
            match function.body.clone().filter(|_| !self.gone.contains(&n)) {
                Some(body) => self.numbers.parse_function_body(&mut section, body)?,
                None => {
                    let mut door = Function::new([]);
                    let mut code = door.instructions();
                    for param in 0..self.module.types[function.ty as usize].params().len() as u32 {
                        code.local_get(param);
                    }
                    code.i32_const(self.slots[&n] as i32);
                    code.call_indirect(self.module.table, self.numbers.types[&function.ty]).end();
                    section.function(&door);
                }
            }
        }
        let mut trapping = Function::new([]);
        trapping.instructions().unreachable().end();
        section.function(&trapping);
        Ok(section)
    }
}

fn one_part(
    module: &Optimised<'_>,
    part: &Part,
    slots: &HashMap<usize, u32>,
    shared: &Shared,
    table: TableOf<'_>,
) -> Result<Vec<u8>> {
    let outside = outside(module, part);
    let known: Vec<usize> = outside.iter().chain(&part.functions).copied().collect();
    let mut numbers = Numbers::default();
    numbers.functions.extend(known.iter().copied().zip(0..));
    let mut written = Module::new();
    written.section(&numbers.types(module, &known, &part.functions)?);

    let mut section = ImportSection::new();
    for &n in &outside {
        let function = &module.functions[n];
        let ty = EntityType::Function(numbers.types[&function.ty]);
        match function.import {
            Some((from, name)) => section.import(from, name, ty),
            None => section.import("", shared.name(ExternalKind::Func, n as u32)?, ty),
        };
    }
    let functions = || part.functions.iter().map(|&n| &module.functions[n]);
    let others: BTreeSet<u32> = functions().flat_map(|function| &function.tables).copied().collect();
    for n in std::iter::once(module.table).chain(others) {
        numbers.tables.insert(n, numbers.tables.len() as u32);
        let ty = EntityType::Table(table(&mut numbers, n)?);
        section.import("", shared.name(ExternalKind::Table, n)?, ty);
    }
    let memory = module.memory.context("no memory")?;
    let memory = EntityType::Memory(numbers.memory_type(memory)?);
    section.import("", shared.name(ExternalKind::Memory, 0)?, memory);
    let globals: BTreeSet<u32> = functions().flat_map(|function| &function.globals).copied().collect();
    for n in globals {
        numbers.globals.insert(n, numbers.globals.len() as u32);
        let ty = EntityType::Global(numbers.global_type(module.globals[n as usize])?);
        section.import("", shared.name(ExternalKind::Global, n)?, ty);
    }
    written.section(&section);

    let mut section = FunctionSection::new();
    functions().for_each(|function| {
        section.function(numbers.types[&function.ty]);
    });
    written.section(&section);
    // A function may have several places.
    let here: BTreeSet<usize> = part.functions.iter().copied().collect();
    let mut places: BTreeMap<u32, u32> = BTreeMap::new();
    places.extend(
        module.slots.iter().filter(|(_, n)| here.contains(n)).map(|(&slot, n)| (slot, numbers.functions[n])),
    );
    places.extend(part.entered.iter().map(|n| (slots[n], numbers.functions[n])));
    let mut section = ElementSection::new();
    fill(&mut section, None, places.into_iter());
    written.section(&section);
    let mut section = CodeSection::new();
    for function in functions() {
        numbers.parse_function_body(&mut section, function.body.clone().context("no body")?)?;
    }
    written.section(&section);
    written.section(&data_of(module, part));
    Ok(written.finish())
}

/// The data that is of a part.
fn data_of(module: &Optimised<'_>, part: &Part) -> DataSection {
    let mut section = DataSection::new();
    for range in &part.data {
        for (at, bytes) in &module.data {
            let (begin, end) = (range.start.max(*at), range.end.min(at + bytes.len() as u32));
            if begin < end {
                let bytes = bytes[(begin - at) as usize..(end - at) as usize].iter().copied();
                section.active(0, &ConstExpr::i32_const(begin as i32), bytes);
            }
        }
    }
    section
}

/// What a part calls that is not of it.
fn outside(module: &Optimised<'_>, part: &Part) -> BTreeSet<usize> {
    let here: BTreeSet<usize> = part.functions.iter().copied().collect();
    let called = part.functions.iter().flat_map(|&n| &module.functions[n].calls);
    called.copied().filter(|n| !here.contains(n)).collect()
}

/// One segment for each row of neighbours.
fn fill(section: &mut ElementSection, table: Option<u32>, slots: impl Iterator<Item = (u32, u32)>) {
    let mut rows: Vec<(u32, Vec<u32>)> = Vec::new();
    for (slot, function) in slots {
        match rows.last_mut() {
            Some((begin, row)) if *begin + row.len() as u32 == slot => row.push(function),
            _ => rows.push((slot, vec![function])),
        }
    }
    for (begin, row) in rows {
        section.active(table, &ConstExpr::i32_const(begin as i32), Elements::Functions(row.into()));
    }
}

/// The data without what has gone into parts.
fn data_left(module: &Optimised<'_>, parts: &[Part]) -> DataSection {
    let mut gone: Vec<&Range<u32>> = parts.iter().flat_map(|part| &part.data).collect();
    gone.sort_by_key(|range| range.start);
    let mut section = DataSection::new();
    for (at, bytes) in &module.data {
        let (mut bytes, mut from, end) = (bytes.to_vec(), *at, at + bytes.len() as u32);
        for range in &gone {
            let (hole, after) = (range.start.max(*at), range.end.min(end));
            if hole >= after {
                continue;
            }
            if after - hole < HOLE {
                bytes[(hole - at) as usize..(after - at) as usize].fill(0);
                continue;
            }
            if from < hole {
                let left = bytes[(from - at) as usize..(hole - at) as usize].iter().copied();
                section.active(0, &ConstExpr::i32_const(from as i32), left);
            }
            from = after;
        }
        if from < end {
            let left = bytes[(from - at) as usize..].iter().copied();
            section.active(0, &ConstExpr::i32_const(from as i32), left);
        }
    }
    section
}
