//! Sections of a module that are read alike, from the linker and from the optimiser.

use anyhow::{Context, Result, bail};
use rustc_demangle::demangle;
use std::collections::HashMap;
use std::ops::Range;
use wasmparser::{
    ConstExpr, CustomSectionReader, DataKind, DataSectionReader, ElementItems, ElementKind,
    ElementSectionReader, KnownCustom, Name, Operator,
};

/// What is in one table.
#[derive(Default)]
pub struct InTable {
    pub table: u32,
    /// Places and their functions.
    pub slots: Vec<(u32, usize)>,
}

/// A piece of data.
pub struct Segment<'a> {
    pub address: u32,
    pub bytes: &'a [u8],
    /// Where the bytes are in the file.
    pub at: Range<usize>,
}

/// The address that an active segment begins at.
pub fn begin(offset: &ConstExpr<'_>) -> Result<u32> {
    match offset.get_operators_reader().read()? {
        Operator::I32Const { value } => Ok(value as u32),
        other => bail!("a segment begins at {other:?}, which is no constant"),
    }
}

pub fn in_table(elements: ElementSectionReader<'_>) -> Result<InTable> {
    let mut filled = InTable::default();
    for element in elements {
        let element = element?;
        let (ElementKind::Active { offset_expr, table_index }, ElementItems::Functions(items)) =
            (element.kind, element.items)
        else {
            bail!("the table is filled in a way that is not known here");
        };
        filled.table = table_index.unwrap_or(0);
        for (slot, function) in (begin(&offset_expr)?..).zip(items) {
            filled.slots.push((slot, function? as usize));
        }
    }
    Ok(filled)
}

pub fn segments<'a>(data: DataSectionReader<'a>) -> Result<Vec<Segment<'a>>> {
    let segment = |segment: wasmparser::Result<wasmparser::Data<'a>>| {
        let segment = segment?;
        let DataKind::Active { offset_expr, .. } = segment.kind else { bail!("data that is put nowhere") };
        let end = segment.range.end;
        let at = end - segment.data.len()..end;
        Ok(Segment { address: begin(&offset_expr)?, bytes: segment.data, at })
    };
    data.into_iter().map(segment).collect()
}

/// The names of functions, if it is their section.
pub fn names(section: &CustomSectionReader<'_>) -> Result<HashMap<usize, String>> {
    let mut names = HashMap::new();
    let KnownCustom::Name(subsections) = section.as_known() else { return Ok(names) };
    for subsection in subsections {
        let Name::Function(functions) = subsection? else { continue };
        for function in functions {
            let function = function.context("a function's name cannot be read")?;
            names.insert(function.index as usize, format!("{:#}", demangle(function.name)));
        }
    }
    Ok(names)
}
