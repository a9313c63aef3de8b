//! Puts data into another order in the module as the linker leaves it: what a part has lies together, and so do texts.
//!
//! The linker puts data in the order of the code. So the main module was left with 500 pieces, each with an address and a
//! length of its own: 2.4 KB of brotli. Texts that are like each other lie side by side (`arrange`), which is 0.5 KB less. The
//! relocations tell each place that an address stands in, and the linker has left five bytes for each. Promises: no piece of
//! data is larger, aligned worse or in another segment than before. An address that is not what its relocation says is refused.

use super::super::arrange::{self, Shape};
use super::linked::{Linked, Reference};
use super::plan::{self, Room};
use anyhow::{Context, Result, ensure};
use std::ops::Range;
use wasmparser::RelocationType;

/// A piece of data that is moved as a whole: what symbols have that overlap.
struct Piece {
    from: Range<u32>,
    /// The part that has it; 0: the main module.
    part: usize,
    /// Text may lie at any address.
    is_text: bool,
    to: u32,
}

impl Piece {
    /// Nothing says how it has to be aligned: not more than it was, and its length is a multiple of that.
    fn align(&self) -> u32 {
        let both = self.from.start | self.from.len() as u32;
        if self.is_text { 1 } else { 1 << both.trailing_zeros().min(4) }
    }
}

/// The module with its data in order. `linked` is what was read from it, and says afterwards where the data lies.
pub fn laid_out(wasm: &[u8], linked: &mut Linked, rooms: &[Room]) -> Result<Vec<u8>> {
    let mut pieces = pieces(wasm, linked, rooms);
    let mut written = wasm.to_vec();
    for (address, bytes) in &linked.segments {
        let end = *address + bytes.len() as u32;
        let within: Vec<usize> =
            (0..pieces.len()).filter(|&n| (*address..end).contains(&pieces[n].from.start)).collect();
        let order = order(&pieces, within, |piece| linked.bytes(&piece.from).map_or(&[], |at| &wasm[at]));
        place(&mut pieces, order, *address..end)?;
        written[bytes.clone()].fill(0);
    }
    for piece in &pieces {
        let bytes = linked.bytes(&piece.from).context("a piece of data in no segment")?;
        let to =
            linked.bytes(&(piece.to..piece.to + piece.from.len() as u32)).context("no place for data")?;
        written[to].copy_from_slice(&wasm[bytes]);
    }
    let moved = |address: u32| {
        let before = pieces.partition_point(|piece| piece.from.start <= address);
        let piece = before.checked_sub(1).map(|at| &pieces[at]).filter(|piece| piece.from.contains(&address));
        piece.map_or(address, |piece| address - piece.from.start + piece.to)
    };
    for reference in &linked.references {
        let begin = linked.nodes[reference.to].data.start;
        let at = match linked.address(reference.at) {
            Some(address) => linked.bytes(&(moved(address)..moved(address) + 4)).map(|bytes| bytes.start),
            None => Some(reference.at),
        };
        let at = at.context("an address in no segment")?;
        change(&mut written, at, reference, begin, moved(begin))?;
    }
    for node in linked.nodes.iter_mut().filter(|node| !node.data.is_empty()) {
        let begin = moved(node.data.start);
        node.data = begin..begin + node.data.len() as u32;
    }
    Ok(written)
}

/// All data, by its addresses.
fn pieces(wasm: &[u8], linked: &Linked, rooms: &[Room]) -> Vec<Piece> {
    let needs = plan::by_linker(linked, rooms);
    let mut data: Vec<_> = linked.nodes.iter().zip(needs).filter(|(node, _)| !node.data.is_empty()).collect();
    data.sort_by_key(|(node, _)| (node.data.start, node.data.end));
    let mut joined: Vec<(Range<u32>, plan::Needs, bool)> = Vec::new();
    for (node, needs) in data {
        match joined.last_mut().filter(|(range, ..)| node.data.start < range.end) {
            Some((range, all, bare)) => {
                range.end = range.end.max(node.data.end);
                *all |= needs;
                *bare &= node.uses.is_empty();
            }
            None => joined.push((node.data.clone(), needs, node.uses.is_empty())),
        }
    }
    let piece = |(from, needs, bare): (Range<u32>, plan::Needs, bool)| {
        let part = match plan::parts_of(needs, rooms)[..] {
            [part] => part + 1,
            _ => 0,
        };
        let bytes = linked.bytes(&from).map_or(&[][..], |bytes| &wasm[bytes]);
        let is_text = bare && bytes.iter().all(|byte| *byte >= b'\t') && std::str::from_utf8(bytes).is_ok();
        Piece { to: from.start, from, part, is_text }
    };
    joined.into_iter().map(piece).collect()
}

/// By parts, tables before texts. Tables stay as they were, because their order fits how they are aligned.
fn order<'a>(pieces: &[Piece], mut within: Vec<usize>, bytes: impl Fn(&Piece) -> &'a [u8]) -> Vec<usize> {
    let kind = |n: &usize| (pieces[*n].part, pieces[*n].is_text);
    within.sort_by_key(kind);
    let mut order = Vec::new();
    for alike in within.chunk_by(|one, other| kind(one) == kind(other)) {
        if !kind(&alike[0]).1 {
            order.extend(alike);
            continue;
        }
        let shapes: Vec<_> = alike.iter().map(|&n| Shape { ty: 0, body: bytes(&pieces[n]) }).collect();
        order.extend(arrange::order(&shapes).into_iter().map(|at| alike[at]));
    }
    order
}

/// One after the other.
fn place(pieces: &mut [Piece], order: Vec<usize>, within: Range<u32>) -> Result<()> {
    let mut end = within.start;
    for piece in order {
        let piece = &mut pieces[piece];
        piece.to = end.next_multiple_of(piece.align());
        end = piece.to + piece.from.len() as u32;
    }
    ensure!(end <= within.end, "a segment would be {} bytes larger", end - within.end);
    Ok(())
}

/// At this place of the file, an address is now another one.
fn change(wasm: &mut [u8], at: usize, reference: &Reference, begin: u32, moved: u32) -> Result<()> {
    let by = |begin: u32| begin.wrapping_add(reference.addend as u32);
    let written = |address: u32| match reference.ty {
        RelocationType::MemoryAddrI32 => address.to_le_bytes().to_vec(),
        RelocationType::MemoryAddrSleb => padded(i64::from(address as i32)),
        _ => padded(i64::from(address)),
    };
    let (before, after) = (written(by(begin)), written(by(moved)));
    let place = &mut wasm[at..at + before.len()];
    ensure!(*place == before[..], "at {at} of the module is {place:?}, and no address {}", by(begin));
    place.copy_from_slice(&after);
    Ok(())
}

/// A number in five bytes, as the linker writes it.
fn padded(number: i64) -> Vec<u8> {
    (0..5).map(|n| (number >> (7 * n) & 0x7f) as u8 | if n < 4 { 0x80 } else { 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::linked::Node;
    use super::*;

    const HOUSE: [Room; 1] = [Room { name: "room", on: &[], doors: &["room::door"], code: &[] }];

    /// Two addresses in code, then a segment at 64: the room's text, a table that has its address, a text, eight bytes that
    /// are used in their middle.
    fn module() -> (Vec<u8>, Linked) {
        let code = [padded(64), padded(84)].concat();
        let data = [&b"room"[..], &[64, 0, 0, 0], b"text", &[0; 4], &[7, 0, 0, 0, 8, 0, 0, 0]].concat();
        let node = |name: &str, data: Range<u32>, uses: &[usize]| Node {
            name: name.to_owned(),
            data,
            uses: uses.to_vec(),
            ..Node::default()
        };
        let nodes = vec![
            node("lodger::start", 0..0, &[1, 4, 5]),
            node("lodger::room::door", 0..0, &[2]),
            node("", 64..68, &[]),
            node("", 68..72, &[]),
            node("", 72..76, &[]),
            node("", 80..88, &[]),
        ];
        let reference = |at, ty, to, addend| Reference { at, ty, to, addend };
        let references = vec![
            reference(0, RelocationType::MemoryAddrLeb, 2, 0),
            reference(5, RelocationType::MemoryAddrSleb, 5, 4),
            reference(14, RelocationType::MemoryAddrI32, 2, 0),
        ];
        let segments = vec![(64, 10..34)];
        ([code, data].concat(), Linked { nodes, roots: vec![0], references, segments })
    }

    #[test]
    fn what_a_part_has_comes_last_and_each_address_follows() {
        let (wasm, mut linked) = module();
        linked.nodes[0].uses.push(3);
        let laid = laid_out(&wasm, &mut linked, &HOUSE).unwrap();
        let data: Vec<_> = linked.nodes.iter().skip(2).map(|node| node.data.clone()).collect();
        assert_eq!(data, [84..88, 64..68, 80..84, 72..80]);
        assert_eq!(laid[..10], [padded(84), padded(76)].concat());
        let tables: [u8; 16] = [84, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0];
        assert_eq!(laid[10..], [&tables[..], b"textroom"].concat());
    }

    #[test]
    fn an_address_that_is_not_what_its_relocation_says_is_refused() {
        let (mut wasm, mut linked) = module();
        wasm[0] += 1;
        let refused = laid_out(&wasm, &mut linked, &HOUSE).unwrap_err().to_string();
        assert!(refused.contains("no address 64"), "{refused}");
    }

    #[test]
    fn what_overlaps_is_moved_as_one() {
        let (wasm, mut linked) = module();
        linked.nodes.push(Node { data: 70..74, ..Node::default() });
        laid_out(&wasm, &mut linked, &HOUSE).unwrap();
        let begin = |node: usize| linked.nodes[node].data.start;
        assert_eq!((begin(4) - begin(3), begin(6) - begin(3)), (4, 2));
    }
}
