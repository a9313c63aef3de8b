//! What refers to what in the module as the linker leaves it.
//!
//! Decides nothing. A number in the code may be an address, a place in the table or just a number. Only the relocations
//! tell, and only the linker's own output has them (`--emit-relocs`). Every later step drops them.

use super::sections;
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;
use std::ops::Range;
use wasmparser::{
    ExternalKind, KnownCustom, Linking, Parser, Payload, RelocationEntry, RelocationType, SymbolInfo, TypeRef,
};

/// A function, or a piece of data.
#[derive(Default)]
pub struct Node {
    /// A function's name; data has none.
    pub name: String,
    /// A function's place in the table, if its address is taken.
    pub slot: Option<u32>,
    /// Where a piece of data lies.
    pub data: Range<u32>,
    /// What it refers to.
    pub uses: Vec<usize>,
    /// The functions among these whose address it has.
    pub addresses: Vec<usize>,
}

#[derive(Default)]
pub struct Linked {
    /// The functions in the order of the module, then the data.
    pub nodes: Vec<Node>,
    /// The functions that the world calls.
    pub roots: Vec<usize>,
    /// Each place that has the address of data.
    pub references: Vec<Reference>,
    /// The segments of data: their addresses, and their bytes as offsets in the file.
    pub segments: Vec<(u32, Range<usize>)>,
}

/// The address of a piece of data stands somewhere.
pub struct Reference {
    /// Where in the file.
    pub at: usize,
    /// How it is written there.
    pub ty: RelocationType,
    /// The node that is meant, and how far behind its beginning.
    pub to: usize,
    pub addend: i64,
}

impl Linked {
    /// Where in the file these addresses are, if they are of one segment.
    pub fn bytes(&self, addresses: &Range<u32>) -> Option<Range<usize>> {
        self.segments.iter().find_map(|(begin, bytes)| {
            let from = bytes.start + addresses.start.checked_sub(*begin)? as usize;
            let to = from + addresses.len();
            (to <= bytes.end).then_some(from..to)
        })
    }

    /// The address of what is at this place of the file, if that is data.
    pub fn address(&self, at: usize) -> Option<u32> {
        let (begin, bytes) = self.segments.iter().find(|(_, bytes)| bytes.contains(&at))?;
        Some(begin + (at - bytes.start) as u32)
    }
}

/// Of which function, or of which piece of data, a relocation is.
struct Places {
    /// The bodies of functions, as offsets in the file.
    bodies: Vec<Range<usize>>,
    /// The segments of data: their addresses, and their bytes as offsets in the file.
    segments: Vec<(u32, Range<usize>)>,
    code: usize,
    data: usize,
}

pub fn read(wasm: &[u8]) -> Result<Linked> {
    let mut places = Places { bodies: Vec::new(), segments: Vec::new(), code: 0, data: 0 };
    let (mut nodes, mut roots, mut imported) = (Vec::new(), Vec::new(), 0);
    let (mut names, mut slots) = (HashMap::new(), HashMap::new());
    let (mut symbols, mut relocations) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    imported += usize::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    if export.kind == ExternalKind::Func {
                        roots.push(export.index as usize);
                    }
                }
            }
            Payload::StartSection { func, .. } => roots.push(func as usize),
            Payload::ElementSection(elements) => {
                let filled = sections::in_table(elements)?;
                slots.extend(filled.slots.into_iter().map(|(slot, function)| (function, slot)));
            }
            Payload::CodeSectionStart { range, .. } => places.code = range.start,
            Payload::CodeSectionEntry(body) => places.bodies.push(body.range()),
            Payload::DataSection(segments) => {
                places.data = segments.range().start;
                let segments = sections::segments(segments)?;
                places.segments = segments.into_iter().map(|segment| (segment.address, segment.at)).collect();
            }
            Payload::CustomSection(section) => match section.as_known() {
                KnownCustom::Linking(linking) => {
                    for subsection in linking.subsections() {
                        let Linking::SymbolTable(table) = subsection? else { continue };
                        symbols.extend(table.into_iter().collect::<Result<Vec<_>, _>>()?);
                    }
                }
                KnownCustom::Reloc(section) => {
                    relocations.extend(section.entries().into_iter().collect::<Result<Vec<_>, _>>()?);
                }
                _ => names.extend(sections::names(&section)?),
            },
            _ => {}
        }
    }
    ensure!(!relocations.is_empty(), "the module has no relocations: was it linked with --emit-relocs?");

    let functions = imported + places.bodies.len();
    for function in 0..functions {
        let (name, slot) = (names.remove(&function).unwrap_or_default(), slots.get(&function).copied());
        nodes.push(Node { name, slot, ..Node::default() });
    }
    let of_symbol = places.defined(&symbols, &mut nodes)?;
    let mut data: Vec<usize> = (functions..nodes.len()).collect();
    data.sort_by_key(|&node| (nodes[node].data.start, nodes[node].data.end));
    let mut references = Vec::new();
    for relocation in &relocations {
        let Some(target) = target(relocation, &of_symbol)? else { continue };
        if !nodes[target].data.is_empty() {
            references.push(places.reference(relocation, target));
        }
        for from in places.holders(relocation, imported, &data, &nodes)? {
            nodes[from].uses.push(target);
            if takes_address(relocation.ty) {
                nodes[from].addresses.push(target);
            }
        }
    }
    Ok(Linked { nodes, roots, references, segments: places.segments })
}

fn takes_address(ty: RelocationType) -> bool {
    matches!(ty, RelocationType::TableIndexSleb | RelocationType::TableIndexI32)
}

fn is_in_data(relocation: &RelocationEntry) -> bool {
    matches!(relocation.ty, RelocationType::TableIndexI32 | RelocationType::MemoryAddrI32)
}

/// What a relocation refers to; `None`: a type, a global, a table, or something of a debugger.
fn target(relocation: &RelocationEntry, of_symbol: &HashMap<usize, usize>) -> Result<Option<usize>> {
    use RelocationType as R;
    match relocation.ty {
        R::TypeIndexLeb | R::GlobalIndexLeb | R::TableNumberLeb => Ok(None),
        R::FunctionOffsetI32 | R::SectionOffsetI32 => Ok(None),
        R::FunctionIndexLeb
        | R::TableIndexSleb
        | R::TableIndexI32
        | R::MemoryAddrLeb
        | R::MemoryAddrSleb
        | R::MemoryAddrI32 => {
            let node = of_symbol.get(&(relocation.index as usize));
            node.copied().map(Some).context("a relocation refers to a symbol that is not defined")
        }
        other => bail!("a relocation of an unknown kind: {other:?}"),
    }
}

impl Places {
    fn reference(&self, relocation: &RelocationEntry, to: usize) -> Reference {
        let section = if is_in_data(relocation) { self.data } else { self.code };
        let (ty, addend) = (relocation.ty, relocation.addend);
        Reference { at: section + relocation.offset as usize, ty, to, addend }
    }

    /// The node of each symbol that is defined. Data gets one.
    fn defined(&self, symbols: &[SymbolInfo<'_>], nodes: &mut Vec<Node>) -> Result<HashMap<usize, usize>> {
        let mut of_symbol = HashMap::new();
        for (n, symbol) in symbols.iter().enumerate() {
            match symbol {
                SymbolInfo::Func { index, .. } => {
                    of_symbol.insert(n, *index as usize);
                }
                SymbolInfo::Data { symbol: Some(data), .. } => {
                    let (address, _) =
                        self.segments.get(data.index as usize).context("a symbol is in no segment")?;
                    let begin = address + data.offset;
                    of_symbol.insert(n, nodes.len());
                    nodes.push(Node { data: begin..begin + data.size, ..Node::default() });
                }
                _ => {}
            }
        }
        Ok(of_symbol)
    }

    /// The function that a relocation is in, or all pieces of data: one may lie within another.
    fn holders(
        &self,
        relocation: &RelocationEntry,
        imported: usize,
        data: &[usize],
        nodes: &[Node],
    ) -> Result<Vec<usize>> {
        if !is_in_data(relocation) {
            let at = self.code + relocation.offset as usize;
            let function = self.bodies.partition_point(|body| body.end <= at);
            ensure!(
                self.bodies.get(function).is_some_and(|body| body.contains(&at)),
                "a relocation in no function"
            );
            return Ok(vec![imported + function]);
        }
        let at = self.data + relocation.offset as usize;
        let segment = self.segments.iter().find(|(_, bytes)| bytes.contains(&at));
        let (address, bytes) = segment.context("a relocation in no segment")?;
        let address = address + (at - bytes.start) as u32;
        let before = &data[..data.partition_point(|&node| nodes[node].data.start <= address)];
        let holders: Vec<usize> =
            before.iter().copied().filter(|&node| nodes[node].data.contains(&address)).collect();
        ensure!(!holders.is_empty(), "a relocation in no symbol, at {address}");
        Ok(holders)
    }
}
