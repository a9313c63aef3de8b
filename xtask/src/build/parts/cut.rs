//! Writes the main module and its parts.
//!
//! A part shares memory, table and stack with the main module: it imports them, and the functions of the main module that
//! it calls. When it is instantiated it puts its functions into the table and its data into the memory. The main module
//! calls it by the table only: where a function of a part was called, a function of two instructions is left. A place
//! in the table that a part will fill holds a function that traps.
//!
//! A function of the main module that a part calls has a place in the table, too. The part imports it by the number of that
//! place, and `js/instance.js` looks it up. An export for each would cost 1.8 KB of brotli more: a name is three bytes, and
//! says nothing that the place does not. The places are in the order of the functions, and what a part imports in that of the
//! places: numbers that rise compress better. All functions stand beside those that they are like (`arrange`).

use super::super::arrange::{self, Shape};
use super::optimised::Optimised;
use super::plan::Part;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::ops::Range;
use wasm_encoder::reencode::{Error, Reencode, RoundtripReencoder};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, GlobalSection, ImportSection, MemArg, MemorySection, Module, TableSection,
    TableType, TypeSection,
};
use wasmparser::{ExternalKind, Parser, Payload, Validator};

/// So many zeros are not written, because memory is zero; fewer cost less than one more segment.
const ZEROS: usize = 256;

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

    /// Alignment is a hint that engines do not use: each load and store of a kind has the same, which compresses better.
    fn mem_arg(&mut self, arg: wasmparser::MemArg) -> Result<MemArg, Error> {
        Ok(MemArg { offset: arg.offset, align: arg.max_align.into(), memory_index: arg.memory })
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

/// What the main module exports for its parts, besides its functions. Each has a name that is no number: numbers are places
/// in the table.
struct Shared {
    names: Vec<(ExternalKind, u32, String)>,
    exports: ExportSection,
}

impl Shared {
    fn export(&mut self, kind: ExternalKind, index: u32) -> Result<(), Error> {
        if self.name(kind, index).is_err() {
            let name = format!("_{}", self.names.len());
            self.exports.export(&name, RoundtripReencoder.export_kind(kind)?, index);
            self.names.push((kind, index, name));
        }
        Ok(())
    }

    fn name(&self, kind: ExternalKind, index: u32) -> Result<&str> {
        let found = self.names.iter().find(|(of, at, _)| (*of, *at) == (kind, index));
        Ok(&found.context("a part needs what is not exported")?.2)
    }
}

/// Under this name the main module exports the table: `js/instance.js` knows it.
const TABLE: &str = "table";

/// `wasm` is what `module` was read from.
/// The memory is exported for the parts under the name `build`, which is another for each build.
pub fn cut(wasm: &[u8], module: &Optimised<'_>, parts: &[Part], build: &str) -> Result<Cut> {
    let mut main = Main::of(module, parts);
    let (written, shared) = main.written(wasm, build)?;
    let mut cut = Cut { main: written, parts: Vec::new() };
    for part in parts {
        cut.parts.push(one_part(module, part, &main.table, &shared)?);
    }
    for wasm in std::iter::once(&cut.main).chain(&cut.parts) {
        Validator::new().validate_all(wasm).context("a part is no valid module")?;
    }
    Ok(cut)
}

/// Where functions are in the table. It is larger than it was: what the main module calls in a part has a place, and what a
/// part calls in the main module.
struct Table {
    /// The functions themselves. Those of a part have none before it is there.
    slots: HashMap<usize, u32>,
    /// What the main module has of them, which parts call: a function itself, or what stands in the place of one of a part.
    called: HashMap<usize, u32>,
    end: u32,
}

impl Table {
    fn of(module: &Optimised<'_>) -> Table {
        let slots = module.slots.iter().map(|(&slot, &function)| (function, slot)).collect();
        let end = module.tables.get(module.table as usize).map_or(0, |table| table.initial as u32);
        Table { slots, called: HashMap::new(), end }
    }

    fn next(&mut self) -> u32 {
        self.end += 1;
        self.end - 1
    }

    /// A function of a part is called from outside.
    fn enter(&mut self, function: usize) {
        if !self.slots.contains_key(&function) {
            let slot = self.next();
            self.slots.insert(function, slot);
        }
    }

    /// A part calls it. Gives its place, if that is new.
    fn call(&mut self, function: usize, is_gone: bool) -> Option<u32> {
        let has = self.slots.get(&function).copied().filter(|_| !is_gone);
        let slot = has.unwrap_or_else(|| self.next());
        self.called.insert(function, slot);
        has.is_none().then_some(slot)
    }

    fn ty(&self, module: &Optimised<'_>, numbers: &mut Numbers, table: u32) -> Result<TableType, Error> {
        let mut ty = numbers.table_type(module.tables[table as usize])?;
        if table == module.table {
            ty.minimum = self.end.into();
            ty.maximum = ty.maximum.map(|maximum| maximum.max(self.end.into()));
        }
        Ok(ty)
    }
}

/// So ordered that each stands beside those that it is like.
fn arranged(module: &Optimised<'_>, functions: &[usize]) -> Vec<usize> {
    let shape = |n: &usize| {
        let function = &module.functions[*n];
        Shape { ty: function.ty, body: function.body.as_ref().map_or(&[], |body| body.as_bytes()) }
    };
    let shapes: Vec<Shape<'_>> = functions.iter().map(shape).collect();
    arrange::order(&shapes).into_iter().map(|at| functions[at]).collect()
}

/// The main module: the whole without what is of a part.
struct Main<'a> {
    module: &'a Optimised<'a>,
    parts: &'a [Part],
    table: Table,
    /// What is in the table only because a part calls it, by its place.
    called: BTreeMap<u32, usize>,
    /// The functions of parts.
    gone: BTreeSet<usize>,
    imports: Vec<usize>,
    /// Its functions, with those in whose place a call by the table stands.
    own: Vec<usize>,
    numbers: Numbers,
}

impl<'a> Main<'a> {
    fn of(module: &'a Optimised<'a>, parts: &'a [Part]) -> Main<'a> {
        let gone: BTreeSet<usize> = parts.iter().flat_map(|part| part.functions.iter().copied()).collect();
        let entered: Vec<usize> = parts.iter().flat_map(|part| part.entered.iter().copied()).collect();
        let (imports, whole): (Vec<usize>, Vec<usize>) = (0..module.functions.len())
            .filter(|n| !gone.contains(n))
            .partition(|&n| module.functions[n].import.is_some());
        let mut table = Table::of(module);
        entered.iter().for_each(|&n| table.enter(n));
        let mut own = arranged(module, &whole);
        own.extend(entered.into_iter().collect::<BTreeSet<_>>());
        let outside: BTreeSet<usize> = parts.iter().flat_map(|part| outside(module, part)).collect();
        let called = own.iter().copied().filter(|n| outside.contains(n));
        let called = called.filter_map(|n| Some((table.call(n, gone.contains(&n))?, n))).collect();
        let mut numbers = Numbers::default();
        numbers.functions.extend(imports.iter().chain(&own).copied().zip(0..));
        numbers.tables.extend((0..).zip(0..module.tables.len() as u32));
        numbers.globals.extend((0..).zip(0..module.globals.len() as u32));
        Main { module, parts, table, called, gone, imports, own, numbers }
    }

    fn written(&mut self, wasm: &[u8], build: &str) -> Result<(Vec<u8>, Shared)> {
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
            tables.table(self.table.ty(self.module, &mut self.numbers, n)?);
        }
        written.section(&tables);
        self.unchanged(wasm, &mut written)?;
        let shared = self.shared(build)?;
        written.section(&shared.exports);
        let here = |n: &usize| self.numbers.functions[n];
        let place = |n: &usize| if self.gone.contains(n) { trap } else { here(n) };
        let in_table = self.module.slots.iter().map(|(&slot, n)| (slot, place(n)));
        let in_table = in_table.chain(self.called.iter().map(|(&slot, n)| (slot, here(n))));
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
        let module = self.module;
        let mut shared = Shared { names: Vec::new(), exports: ExportSection::new() };
        for &(name, kind, index) in &module.exports {
            let now = match kind {
                ExternalKind::Func => self.numbers.functions[&(index as usize)],
                _ => index,
            };
            shared.exports.export(name, RoundtripReencoder.export_kind(kind)?, now);
            if !matches!(kind, ExternalKind::Memory | ExternalKind::Func) {
                shared.names.push((kind, index, name.to_owned()));
            }
        }
        shared.exports.export(build, ExportKind::Memory, 0).export(TABLE, ExportKind::Table, module.table);
        shared.names.push((ExternalKind::Memory, 0, build.to_owned()));
        shared.names.push((ExternalKind::Table, module.table, TABLE.to_owned()));
        for function in self.parts.iter().flat_map(|part| &part.functions).map(|&n| &module.functions[n]) {
            for &table in &function.tables {
                shared.export(ExternalKind::Table, table)?;
            }
            for &global in &function.globals {
                shared.export(ExternalKind::Global, global)?;
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
                    code.i32_const(self.table.slots[&n] as i32);
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

fn one_part(module: &Optimised<'_>, part: &Part, table: &Table, shared: &Shared) -> Result<Vec<u8>> {
    let mut outside: Vec<usize> = outside(module, part).into_iter().collect();
    outside.sort_by_key(|n| module.functions[*n].import.map_or(table.called.get(n), |_| None));
    let part = &Part { functions: arranged(module, &part.functions), ..part.clone() };
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
            None => section.import("", &table.called[&n].to_string(), ty),
        };
    }
    let functions = || part.functions.iter().map(|&n| &module.functions[n]);
    let others: BTreeSet<u32> = functions().flat_map(|function| &function.tables).copied().collect();
    for n in std::iter::once(module.table).chain(others) {
        numbers.tables.insert(n, numbers.tables.len() as u32);
        let ty = EntityType::Table(table.ty(module, &mut numbers, n)?);
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
    places.extend(part.entered.iter().map(|n| (table.slots[n], numbers.functions[n])));
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
        let here = module.data.iter().flat_map(|(at, bytes)| (*at..).zip(bytes.iter().copied()));
        write(&mut section, here.filter(|(address, _)| range.contains(address)));
    }
    section
}

/// As few segments as hold these bytes, each with its address.
fn write(section: &mut DataSection, bytes: impl Iterator<Item = (u32, u8)>) {
    let mut segments: Vec<(u32, Vec<u8>)> = Vec::new();
    for (address, byte) in bytes.filter(|(_, byte)| *byte != 0) {
        match segments.last_mut() {
            Some((begin, written)) if ((address - *begin) as usize) < written.len() + ZEROS => {
                written.resize((address - *begin) as usize, 0);
                written.push(byte);
            }
            _ => segments.push((address, vec![byte])),
        }
    }
    for (begin, written) in segments {
        section.active(0, &ConstExpr::i32_const(begin as i32), written);
    }
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
    let is_left = |address: u32| {
        let before = gone.partition_point(|range| range.start <= address);
        before.checked_sub(1).is_none_or(|at| !gone[at].contains(&address))
    };
    let mut section = DataSection::new();
    let all = module.data.iter().flat_map(|(at, bytes)| (*at..).zip(bytes.iter().copied()));
    write(&mut section, all.filter(|(address, _)| is_left(*address)));
    section
}

#[cfg(test)]
mod tests {
    use super::super::optimised;
    use super::super::tests::{memory, table};
    use super::*;
    use wasm_encoder::{CustomSection, ValType};
    use wasmparser::{ElementItems, Operator};

    /// Says for each of its own functions what it is: the number that it begins with, and whom it calls.
    fn functions(wasm: &[u8]) -> Vec<(i32, Vec<u32>)> {
        let mut all = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
            let (mut number, mut calls) = (0, Vec::new());
            for operator in body.get_operators_reader().unwrap() {
                match operator.unwrap() {
                    Operator::I32Const { value } if number == 0 => number = value,
                    Operator::Call { function_index } => calls.push(function_index),
                    _ => {}
                }
            }
            all.push((number, calls));
        }
        all
    }

    /// One import and five functions, each with its number, a call and a tail: the first and the fourth end alike, and
    /// the second and the third.
    fn module() -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([], []);
        types.ty().function([ValType::I32], []);
        let mut imports = ImportSection::new();
        imports.import("env", "first", EntityType::Function(0));
        let (mut own, mut code) = (FunctionSection::new(), CodeSection::new());
        for (number, call, tail, ty) in
            [(11, 4, 7, 0), (12, 0, 9, 1), (13, 2, 9, 1), (14, 1, 7, 0), (15, 5, 8, 0)]
        {
            own.function(ty);
            let mut function = Function::new([]);
            let mut code_of = function.instructions();
            code_of.i32_const(number).drop().call(call).i32_const(number).drop();
            for offset in 0..4 {
                let arg = MemArg { offset: tail * 1000 + offset, align: 0, memory_index: 0 };
                code_of.i32_const(tail as i32).i64_load(arg).drop();
            }
            code_of.end();
            code.function(&function);
        }
        let (tables, memories) = (table(9, None), memory());
        let mut exports = ExportSection::new();
        exports.export("fourth", ExportKind::Func, 4);
        let mut elements = ElementSection::new();
        elements.active(None, &ConstExpr::i32_const(1), Elements::Functions(vec![0, 2, 4].into()));
        let mut module = Module::new();
        module.section(&CustomSection { name: "X".into(), data: (&[][..]).into() });
        module.section(&types).section(&imports).section(&own).section(&tables).section(&memories);
        module.section(&exports).section(&elements).section(&code);
        module.section(&CustomSection { name: "Y".into(), data: (&[][..]).into() });
        module.finish()
    }

    /// That module, as one.
    fn written() -> Vec<u8> {
        let wasm = module();
        Main::of(&optimised::read(&wasm).unwrap(), &[]).written(&wasm, "1234").unwrap().0
    }

    #[test]
    fn what_is_alike_comes_together_and_is_still_called_by_the_same() {
        let (before, after) = (module(), written());
        let numbers: Vec<i32> = functions(&after).iter().map(|(number, _)| *number).collect();
        // The last one traps.
        assert_eq!(numbers, [11, 14, 15, 12, 13, 0]);
        let called = |wasm: &[u8]| {
            let functions = functions(wasm);
            let number = |index: u32| index.checked_sub(1).map_or(0, |own| functions[own as usize].0);
            let mut called: Vec<_> =
                functions.iter().filter_map(|(of, calls)| Some((*of, number(*calls.first()?)))).collect();
            called.sort();
            called
        };
        assert_eq!(called(&after), [(11, 14), (12, 0), (13, 12), (14, 11), (15, 15)]);
        assert_eq!(called(&after), called(&before));
    }

    #[test]
    fn what_names_a_function_names_the_same_and_custom_sections_go() {
        let wasm = written();
        let (mut types, mut found) = (Vec::new(), 0);
        for payload in Parser::new(0).parse_all(&wasm) {
            match payload.unwrap() {
                Payload::FunctionSection(own) => types = own.into_iter().map(Result::unwrap).collect(),
                Payload::ExportSection(exports) => {
                    found += 1;
                    let exports = exports.into_iter().map(Result::unwrap);
                    let mut functions = exports.filter(|export| export.kind == ExternalKind::Func);
                    assert!(functions.all(|export| export.index == 2));
                }
                Payload::ElementSection(elements) => {
                    found += 1;
                    for element in elements {
                        let ElementItems::Functions(items) = element.unwrap().items else { panic!() };
                        assert_eq!(items.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [0, 4, 2]);
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    for operator in body.get_operators_reader().unwrap() {
                        if let Operator::I64Load { memarg } = operator.unwrap() {
                            found += 1;
                            assert_eq!(memarg.align, memarg.max_align);
                        }
                    }
                }
                Payload::CustomSection(section) => panic!("{}", section.name()),
                _ => {}
            }
        }
        assert_eq!((types, found), (vec![0, 0, 0, 1, 1, 2], 22));
    }
}
