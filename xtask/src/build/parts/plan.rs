//! Which functions and which data go into which part of the module.
//!
//! Decides by what can be reached: a room's part has what is reached through the doors of rooms alone. A function that a
//! few rooms need is in the part of each: all copies are the same function, so it does not matter which is in the table. Data
//! that two rooms need stays in the main module, because it may have changed since. So does what is reached by any other way.
//! A room that stands on another one shares that one's part. Promises: as long as no door of a room is passed before its part has arrived, nothing of the
//! part is asked for.

use super::linked::Linked;
use super::optimised::Optimised;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;

/// What may become a part of the module of its own.
pub struct Room {
    pub name: &'static str,
    /// The rooms that are there whenever this one is entered. What only they and this one need is in theirs.
    pub on: &'static [&'static str],
    /// The functions by which it is entered, as paths in the crate; `model::ollama::*` stands for all that begin so.
    pub doors: &'static [&'static str],
    /// How the paths begin of what may be in its part only.
    pub code: &'static [&'static str],
}

/// What goes into a part.
#[derive(Clone, Default)]
pub struct Part {
    /// By number in the optimised module.
    pub functions: Vec<usize>,
    /// Addresses.
    pub data: Vec<Range<u32>>,
    /// The functions of the part that are called from outside, or are reached by the table.
    pub entered: BTreeSet<usize>,
}

/// The parts that need something, as bits. The lowest is the main module.
pub type Needs = u64;

const MAIN: Needs = 1;

/// How many parts may each have a copy of a function. What more of them need is in the main module.
const COPIES: usize = 4;

impl Room {
    fn has_door(&self, name: &str) -> bool {
        let Some((_, path)) = name.split_once("lodger::") else { return false };
        self.doors.iter().any(|door| opens(door, path))
    }

    /// Whether a function is this room's: a path of it, or a method of one of its types.
    fn owns(&self, name: &str) -> bool {
        let name = name.strip_prefix('<').unwrap_or(name);
        let Some(path) = name.strip_prefix("lodger::") else { return false };
        self.code.iter().any(|begin| path.starts_with(begin))
    }
}

fn opens(door: &str, path: &str) -> bool {
    match door.strip_suffix('*') {
        Some(begin) => path.starts_with(begin),
        None => path == door,
    }
}

/// How the main module comes to a function without a door, backwards: the last functions on the way.
fn way_to(linked: &Linked, rooms: &[Room], name: &str) -> Vec<String> {
    let mut from: HashMap<usize, usize> = HashMap::new();
    let mut next: VecDeque<usize> = linked.roots.iter().copied().collect();
    let mut way = vec![name.to_owned()];
    while let Some(node) = next.pop_front() {
        if linked.nodes[node].name == name {
            let before = std::iter::successors(from.get(&node), |node| from.get(node));
            way.extend(before.map(|&node| linked.nodes[node].name.clone()).filter(|name| !name.is_empty()));
            break;
        }
        for &to in &linked.nodes[node].uses {
            if room_of(&linked.nodes[to].name, rooms).is_none()
                && !linked.roots.contains(&to)
                && !from.contains_key(&to)
            {
                from.insert(to, node);
                next.push_back(to);
            }
        }
    }
    way.truncate(4);
    way
}

/// Each door is there, and nothing of a room is left outside of its part.
fn check(linked: &Linked, module: &Optimised<'_>, rooms: &[Room], needs: &[Needs]) -> Result<()> {
    let mut faults = Vec::new();
    for room in rooms {
        let paths = || linked.nodes.iter().filter_map(|node| node.name.split_once("lodger::"));
        for door in room.doors {
            if !paths().any(|(_, path)| opens(door, path)) {
                faults.push(format!("{}: there is no door {door}", room.name));
            }
        }
        // What two rooms need is a function of both that was equal.
        for (function, needs) in module.functions.iter().zip(needs) {
            if room.owns(&function.name) && needs & MAIN != 0 {
                let way = way_to(linked, rooms, &function.name).join(" <- ");
                faults.push(format!("{}: outside of its part is {way}", room.name));
            }
        }
    }
    // The optimiser may merge equal functions, and a place in the table would be another room's.
    for (slot, &function) in &module.slots {
        let door = linked.nodes.iter().find(|node| node.slot == Some(*slot));
        let of = |name: &str| room_of(name, rooms);
        if let Some(door) = door
            && of(&door.name).is_some_and(|room| needs[function] & (MAIN | 1 << (room + 1)) == 0)
        {
            faults.push(format!("{} has become {}", door.name, module.functions[function].name));
        }
    }
    ensure!(faults.is_empty(), "rooms are entered by other ways than their doors:\n{}", faults.join("\n"));
    Ok(())
}

fn room_of(name: &str, rooms: &[Room]) -> Option<usize> {
    rooms.iter().position(|room| room.has_door(name))
}

/// Who needs each node. `starts`: where the main module begins, then each room's own beginnings; a room is entered by its
/// doors only.
fn needs(uses: &[Vec<usize>], starts: Vec<Vec<usize>>, doors: &[Option<usize>]) -> Vec<Needs> {
    let mut needs = vec![0; uses.len()];
    for (part, mut next) in starts.into_iter().enumerate() {
        while let Some(node) = next.pop() {
            let may_enter = doors[node].is_none_or(|room| room + 1 == part);
            if may_enter && needs[node] & (MAIN | 1 << part) == 0 {
                needs[node] |= 1 << part;
                next.extend(&uses[node]);
            }
        }
    }
    needs
}

/// The parts that a function goes into; none: it stays in the main module. Where a room stands on another one that needs it
/// too, it is in that one's part.
pub fn parts_of(needs: Needs, rooms: &[Room]) -> Vec<usize> {
    let needing: Vec<usize> = (0..rooms.len()).filter(|room| needs >> 1 & 1 << room != 0).collect();
    let stands = |room: usize| needing.iter().any(|&other| rooms[room].on.contains(&rooms[other].name));
    let lowest: Vec<usize> = needing.iter().copied().filter(|&room| !stands(room)).collect();
    if needs & MAIN == 0 && lowest.len() <= COPIES { lowest } else { Vec::new() }
}

/// These parts have a function that is called from outside.
fn enter(parts: &mut [Part], having: &[usize], function: usize) {
    for &part in having {
        parts[part].entered.insert(function);
    }
}

/// The nodes through which a room is entered.
fn of(room: usize, doors: &[Option<usize>]) -> Vec<usize> {
    (0..doors.len()).filter(|&node| doors[node] == Some(room)).collect()
}

/// By what the linker knows: who needs which address, and which data.
pub fn by_linker(linked: &Linked, rooms: &[Room]) -> Vec<Needs> {
    let doors: Vec<_> = linked.nodes.iter().map(|node| room_of(&node.name, rooms)).collect();
    let uses: Vec<_> = linked.nodes.iter().map(|node| node.uses.clone()).collect();
    let starts = std::iter::once(linked.roots.clone()).chain((0..rooms.len()).map(|room| of(room, &doors)));
    needs(&uses, starts.collect(), &doors)
}

pub fn plan(linked: &Linked, module: &Optimised<'_>, rooms: &[Room]) -> Result<Vec<Part>> {
    let by_linker = by_linker(linked, rooms);
    let (mut by_slot, mut from_main): (HashMap<u32, Needs>, BTreeSet<u32>) = Default::default();
    for (node, needs) in linked.nodes.iter().zip(&by_linker) {
        by_slot.extend(node.slot.map(|slot| (slot, *needs)));
        if needs & MAIN != 0 {
            from_main.extend(node.addresses.iter().filter_map(|&to| linked.nodes[to].slot));
        }
    }

    // By what the optimiser has left: who calls whom.
    let doors: Vec<_> = module.functions.iter().map(|function| room_of(&function.name, rooms)).collect();
    let uses: Vec<_> =
        module.functions.iter().map(|function| function.calls.iter().copied().collect()).collect();
    let exported = module.exports.iter().filter(|(_, kind, _)| *kind == wasmparser::ExternalKind::Func);
    let mut starts = vec![exported.map(|(_, _, function)| *function as usize).collect::<Vec<_>>()];
    starts.extend((0..rooms.len()).map(|room| of(room, &doors)));
    for (slot, &function) in &module.slots {
        let needs = by_slot
            .get(slot)
            .with_context(|| format!("the linker has put nothing at {slot} of the table"))?;
        if doors[function].is_none() && (needs & MAIN != 0 || from_main.contains(slot)) {
            starts[0].push(function);
        }
        for (room, starts) in starts.iter_mut().skip(1).enumerate() {
            if needs >> 1 & 1 << room != 0 {
                starts.push(function);
            }
        }
    }
    let needs = needs(&uses, starts, &doors);
    check(linked, module, rooms, &needs)?;

    let mut parts: Vec<Part> = rooms.iter().map(|_| Part::default()).collect();
    for (n, function) in module.functions.iter().enumerate() {
        if function.import.is_some() {
            continue;
        }
        let here = parts_of(needs[n], rooms);
        for &part in &here {
            parts[part].functions.push(n);
        }
        for &called in &function.calls {
            let there = parts_of(needs[called], rooms);
            if here.is_empty() || here.iter().any(|part| !there.contains(part)) {
                enter(&mut parts, &there, called);
            }
        }
    }
    for slot in &from_main {
        if let Some(&function) = module.slots.get(slot) {
            enter(&mut parts, &parts_of(needs[function], rooms), function);
        }
    }
    // Pieces of data may overlap: where they do, all that need one of them need the bytes.
    let mut bytes: BTreeMap<u32, Needs> = BTreeMap::new();
    for (node, needs) in linked.nodes.iter().zip(&by_linker) {
        for address in node.data.clone() {
            *bytes.entry(address).or_default() |= if *needs == 0 { MAIN } else { *needs };
        }
    }
    // What nothing has between two pieces of a part only aligns them.
    let mut last = None;
    for (address, needs) in bytes {
        let part = match parts_of(needs, rooms)[..] {
            [part] => Some(part),
            _ => None,
        };
        if let Some(part) = part {
            match parts[part].data.last_mut().filter(|_| last == Some(part)) {
                Some(range) => range.end = address + 1,
                None => parts[part].data.push(address..address + 1),
            }
        }
        last = part;
    }
    Ok(parts)
}
