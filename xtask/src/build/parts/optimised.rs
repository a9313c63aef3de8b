//! The optimised module, as far as it is taken apart.

use super::sections;
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wasmparser::{
    BlockType, ExternalKind, FuncType, FunctionBody, GlobalType, MemoryType, Operator, Parser, Payload,
    TableType, TypeRef,
};

#[derive(Default)]
pub struct Optimised<'a> {
    pub types: Vec<FuncType>,
    /// Those that are imported, then the module's own.
    pub functions: Vec<Function<'a>>,
    /// The table that functions are called by.
    pub table: u32,
    pub tables: Vec<TableType>,
    pub memory: Option<MemoryType>,
    pub globals: Vec<GlobalType>,
    pub exports: Vec<(&'a str, ExternalKind, u32)>,
    /// What is in the table, in order.
    pub slots: BTreeMap<u32, usize>,
    /// Addresses and what lies there.
    pub data: Vec<(u32, &'a [u8])>,
}

#[derive(Default)]
pub struct Function<'a> {
    pub name: String,
    pub ty: u32,
    /// Where it is imported from.
    pub import: Option<(&'a str, &'a str)>,
    pub body: Option<FunctionBody<'a>>,
    pub calls: BTreeSet<usize>,
    /// Types that its body names, tables and globals that it uses.
    pub types: BTreeSet<u32>,
    pub tables: BTreeSet<u32>,
    pub globals: BTreeSet<u32>,
}

pub fn read(wasm: &[u8]) -> Result<Optimised<'_>> {
    let mut module = Optimised::default();
    let (mut own, mut names) = (0, HashMap::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::TypeSection(groups) => {
                for group in groups {
                    module.types.extend(group?.into_types().map(|ty| ty.unwrap_func().clone()));
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    let TypeRef::Func(ty) = import.ty else { bail!("an import that is no function") };
                    let import = Some((import.module, import.name));
                    module.functions.push(Function { ty, import, ..Function::default() });
                }
                own = module.functions.len();
            }
            Payload::FunctionSection(types) => {
                for ty in types {
                    module.functions.push(Function { ty: ty?, ..Function::default() });
                }
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    module.tables.push(table?.ty);
                }
            }
            Payload::MemorySection(memories) => module.memory = memories.into_iter().next().transpose()?,
            Payload::GlobalSection(globals) => {
                for global in globals {
                    module.globals.push(global?.ty);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    module.exports.push((export.name, export.kind, export.index));
                }
            }
            Payload::ElementSection(elements) => {
                let filled = sections::in_table(elements)?;
                module.table = filled.table;
                module.slots.extend(filled.slots);
            }
            Payload::CodeSectionEntry(body) => {
                let function = module.functions.get_mut(own).context("a body of no function")?;
                function.read(body)?;
                own += 1;
            }
            Payload::DataSection(data) => {
                let segments = sections::segments(data)?;
                module.data.extend(segments.into_iter().map(|segment| (segment.address, segment.bytes)));
            }
            Payload::CustomSection(section) => names.extend(sections::names(&section)?),
            Payload::StartSection { .. } => bail!("a module that starts by itself"),
            _ => {}
        }
    }
    let table = module.table;
    for (n, function) in module.functions.iter_mut().enumerate() {
        function.name = names.remove(&n).unwrap_or_default();
        // A call by the table needs it everywhere, and is no reason to import another.
        function.tables.remove(&table);
    }
    ensure!(module.memory.is_some(), "a module without memory");
    Ok(module)
}

impl<'a> Function<'a> {
    fn read(&mut self, body: FunctionBody<'a>) -> Result<()> {
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Call { function_index }
                | Operator::ReturnCall { function_index }
                | Operator::RefFunc { function_index } => {
                    self.calls.insert(function_index as usize);
                }
                Operator::CallIndirect { type_index, table_index }
                | Operator::ReturnCallIndirect { type_index, table_index } => {
                    self.types.insert(type_index);
                    self.tables.insert(table_index);
                }
                Operator::Block { blockty: BlockType::FuncType(ty) }
                | Operator::Loop { blockty: BlockType::FuncType(ty) }
                | Operator::If { blockty: BlockType::FuncType(ty) } => {
                    self.types.insert(ty);
                }
                Operator::TableGet { table }
                | Operator::TableSet { table }
                | Operator::TableGrow { table }
                | Operator::TableSize { table }
                | Operator::TableFill { table } => {
                    self.tables.insert(table);
                }
                Operator::GlobalGet { global_index } | Operator::GlobalSet { global_index } => {
                    self.globals.insert(global_index);
                }
                _ => {}
            }
        }
        self.body = Some(body);
        Ok(())
    }
}
