//! Rooms of the house as parts of the module of their own, which arrive when they are needed.
//!
//! linked (what refers to what, by the linker) -> layout (data into another order) -> optimised (the module as it would be
//! published) -> plan (what goes where) -> cut (the modules). The module is compiled, bound and optimised whole, and cut last: nothing that an optimiser does ends
//! at the border of a part.

mod cut;
mod layout;
mod linked;
mod optimised;
mod plan;
mod sections;

use crate::stamp::shown;
use anyhow::Result;
pub use linked::Linked;
pub use plan::Room;
use std::hash::{DefaultHasher, Hash};

/// The rooms of `src/rooms.rs`, and where each is entered.
const ROOMS: [Room; 14] = [
    Room {
        name: "anthropic",
        on: &[],
        doors: &["model::anthropic::encode_message", "model::anthropic::write", "model::anthropic::CODEC*"],
        code: &["model::anthropic::"],
    },
    Room {
        name: "chat",
        on: &[],
        doors: &[
            "model::openai_chat::encode_message",
            "model::openai_chat::write",
            "model::openai_chat::CODEC*",
            "model::openai_chat::CUSTOM*",
        ],
        code: &["model::openai_chat::"],
    },
    Room {
        name: "ollama",
        on: &[],
        doors: &["model::ollama::encode_message", "model::ollama::write", "model::ollama::CODEC*"],
        code: &["model::ollama::"],
    },
    Room {
        name: "responses",
        on: &[],
        doors: &[
            "model::openai_responses::encode_message",
            "model::openai_responses::write",
            "model::openai_responses::CODEC*",
        ],
        code: &["model::openai_responses::"],
    },
    Room {
        name: "gemini",
        on: &[],
        doors: &["model::gemini::encode_message", "model::gemini::write", "model::gemini::CODEC*"],
        code: &["model::gemini::"],
    },
    Room {
        name: "pages",
        on: &[],
        doors: &[
            "harness::pages::Pages>::page_command",
            "harness::pages::Pages>::page_tool",
            "harness::pages::Pages>::rows_came",
            "harness::pages::Pages>::send_page_commit",
            "harness::pages::Pages>::page_committed",
            "tools::pages::definitions",
        ],
        code: &["workspace::", "tools::pages::"],
    },
    Room {
        name: "upkeep",
        on: &["pages"],
        doors: &[
            "workspace::PageTree>::survey",
            "workspace::PageTree>::take_former",
            "workspace::PageTree>::damaged_node",
            "workspace::PageTree>::damages",
            "workspace::PageTree>::mend",
            "workspace::PageTree>::incoming",
            "workspace::PageTree>::outgoing",
            "workspace::PageTree>::relocate",
            "workspace::PageTree>::rename",
            "workspace::PageTree>::restore",
            "workspace::PageTree>::trash",
            "workspace::plan::Pending>::finish",
            "tools::pages::backlinks",
            "tools::pages::history",
            "tools::pages::moved",
            "tools::pages::outgoing",
            "tools::pages::renamed",
        ],
        code: &[
            "workspace::damage::judge",
            "workspace::damage::Found>::",
            "workspace::damage::Former>::read",
            "workspace::links::retarget",
        ],
    },
    Room {
        name: "carry",
        on: &["past"],
        doors: &[
            "harness::Harness>::carry",
            "harness::holding::Holding>::admit",
            "harness::reads::Reads>::arrived",
            "harness::holding::Holding>::let_in",
            "harness::Harness>::fork",
            "harness::Harness>::salvage",
            "harness::reads::carried::page",
        ],
        code: &[
            "harness::carry::",
            "harness::holding::arrivals::",
            "harness::reads::carried::",
            "session::carry::",
            "session::replay::",
        ],
    },
    Room {
        name: "schema",
        on: &[],
        doors: &[
            "tools::schema::rare::compile::identify",
            "tools::schema::rare::compile::arg",
            "tools::schema::rare::compile::finish",
            "tools::schema::rare::validate::rule",
            "tools::schema::rare::validate::is_named",
            "tools::schema::rare::violation::sentence",
            "tools::schema::rare::violation::fitting",
            "tools::schema::rare::violation::expects",
        ],
        code: &["tools::schema::rare::"],
    },
    Room {
        name: "more",
        on: &[],
        doors: &[
            "harness::Harness>::dispatch_more",
            "harness::runner::Runner>::page_call",
            "harness::runner::Runner>::go_on_with_page_call",
            "harness::calls::Calls>::output_of",
            "harness::calls::Calls>::activity",
            "harness::keys::trials::Trial>::answer",
            "prompt::skills::Skill>::parse",
            "prompt::skills::from_row",
            "prompt::skills::to_row",
            "browser::account::kept",
            "browser::vault::ask",
            "browser::fetch::made",
            "browser::pump::Pump>::storage",
            "js::host::remove",
        ],
        code: &["harness::runner::bench::", "session::output::"],
    },
    Room {
        name: "compaction",
        on: &[],
        doors: &[
            "harness::runner::Runner>::compact",
            "harness::runner::question::summary_question",
            "session::compaction::summing::leaves_out",
            "session::transcript::Transcript>::remember",
        ],
        code: &["session::compaction::summing::"],
    },
    Room {
        name: "memory",
        on: &["pages"],
        doors: &[
            "harness::memories::Memories>::memory_command",
            "harness::memories::Memories>::memory_tool",
            "harness::memories::Memories>::remind",
            "harness::memories::Memories>::exchanged",
            "browser::pump::Pump>::exchange",
            "memory::tools",
        ],
        code: &["memory::book::Book>::", "memory::op::"],
    },
    Room {
        name: "past",
        on: &[],
        doors: &[
            "harness::Harness>::judge_rows",
            "harness::Harness>::rows_read",
            "harness::Harness>::keeps",
            "harness::holding::Holding>::clear",
            "harness::holding::Holding>::remove_first",
            "harness::holding::Holding>::archive",
            "harness::runner::Runner>::looked_at_files",
            "harness::runner::Runner>::gave",
            "harness::core::Core>::let_go_of_idlest",
            "harness::core::Core>::let_go_of_task",
            "harness::core::Core>::write_task",
            "harness::runner::Runner>::free_id",
            "harness::reads::sweep::unused",
            "harness::runner::Runner>::files_gone",
            "harness::runner::Runner>::tell_gone",
            "harness::runner::Runner>::tell_files",
            "harness::core::integrity::may_be_damaged",
            "harness::runner::messages::edited",
            "harness::runner::Runner>::offered",
            "harness::runner::Runner>::ask_to_offer",
            "harness::runner::Runner>::answer_offer",
            "harness::calls::questions::offer_request",
            "harness::calls::Calls>::tell_offer",
            "harness::config::server_tools",
            "model::served::tell",
            "prompt::frame::told_to_others",
            "run::machine::Run>::fold_offer",
            "run::output::Output>::value",
            "journal::entry::told_from_json",
            "session::offer_granted",
            "session::view::source_part",
            "session::Session>::switch_to",
            "session::Session>::withdraw",
            "session::Session>::changes_to",
            "session::Session>::replace",
            "session::transcript::Transcript>::files_beside",
            "session::transcript::Transcript>::files_behind",
            "harness::holding::Holding>::remove_message",
            "session::overrides::said",
            "session::overrides::taken",
            "session::Session>::all_overrides",
            "session::Session>::overrides_with",
            "session::Session>::narrow",
            "session::Session>::override_by",
            "session::Session>::forget_overrides",
            "harness::setup::Setup>::other_config",
            "harness::setup::Setup>::accepts",
            "harness::runner::Runner>::own_config",
            "session::Session>::at_checkpoint",
            "session::Session>::checkpoint",
            "session::Session>::window",
            "session::Session>::window_of",
            "session::Session>::window_at",
            "session::Session>::named_window",
            "harness::Harness>::looks_back",
            "harness::calls::Calls>::with_those_at_hand",
            "session::Session>::fold_adopted",
            "session::adopted::adopted",
            "session::Session>::fold_cleared",
            "session::Session>::fold_queue",
            "session::Session>::files_come",
            "session::Session>::has_file",
            "session::Session>::files_go",
            "session::Session>::owe_rest",
            "session::record::Receipt>::of_sandbox",
            "session::Session>::ask_rarely",
            "session::Session>::empty_queue",
            "model::form::Form>::of",
            "browser::bytes::send",
            "browser::bytes::receive",
            "browser::bytes::give",
            "browser::bytes::fill*",
        ],
        code: &["harness::reads::look::load", "journal::entry::Entry>::from_json", "session::Session>::load"],
    },
    Room {
        name: "volatile",
        on: &[],
        doors: &[
            "browser::volatile::Volatile>::bytes",
            "browser::volatile::Volatile>::commit",
            "browser::volatile::Volatile>::file",
            "browser::volatile::Volatile>::read",
            "browser::volatile::Volatile>::sign",
            "browser::volatile::Volatile>::sizes",
        ],
        code: &["browser::volatile::sizes_of"],
    },
];

/// What they are called.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROOMS.iter().map(|room| room.name)
}

/// The module and its parts, as they are published.
pub struct Parts {
    pub main: Vec<u8>,
    /// By the names of their rooms.
    pub parts: Vec<(&'static str, Vec<u8>)>,
    /// What only parts of this build know.
    pub build: String,
}

/// The linker's module with its data in another order, and what refers to what in it.
pub fn laid_out(wasm: &[u8]) -> Result<(Vec<u8>, Linked)> {
    let mut linked = linked::read(wasm)?;
    let laid = layout::laid_out(wasm, &mut linked, &ROOMS)?;
    Ok((laid, linked))
}

/// Cuts the module, if no room has come out of its doors.
pub fn divide(linked: &Linked, optimised: &[u8]) -> Result<Parts> {
    let build = build_of(optimised);
    let module = optimised::read(optimised)?;
    let parts = plan::plan(linked, &module, &ROOMS)?;
    let cut = cut::cut(optimised, &module, &parts, &build)?;
    let parts = ROOMS.iter().map(|room| room.name).zip(cut.parts).collect();
    Ok(Parts { main: cut.main, parts, build })
}

/// The module as one, as it would be published.
pub fn whole(optimised: &[u8]) -> Result<Vec<u8>> {
    Ok(cut::cut(optimised, &optimised::read(optimised)?, &[], &build_of(optimised))?.main)
}

/// A module that is not cut: each part is one that does nothing.
pub fn undivided(whole: Vec<u8>) -> Parts {
    let empty = || wasm_encoder::Module::new().finish();
    let parts = ROOMS.iter().map(|room| (room.name, empty())).collect();
    Parts { build: build_of(&whole), parts, main: whole }
}

fn build_of(wasm: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    wasm.hash(&mut hasher);
    shown(&hasher).split_off(8)
}

#[cfg(test)]
mod tests {
    use super::linked::Node;
    use super::*;
    use wasm_encoder::{
        CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
        Function, FunctionSection, ImportSection, MemorySection, MemoryType, Module, NameMap, NameSection,
        RefType, TableSection, TableType, TypeSection, ValType,
    };
    use wasmparser::{ElementItems, Parser, Payload};

    const NAMES: [&str; 6] =
        ["log", "lodger::start", "lodger::room::door", "lodger::inner", "both", "lodger::room::by_table"];
    const HOUSE: [Room; 1] = [Room { name: "room", on: &[], doors: &["room::door"], code: &[] }];

    pub(super) fn table(minimum: u64, maximum: Option<u64>) -> TableSection {
        let mut tables = TableSection::new();
        let element_type = RefType::FUNCREF;
        tables.table(TableType { element_type, table64: false, minimum, maximum, shared: false });
        tables
    }

    /// One page.
    pub(super) fn memory() -> MemorySection {
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: 1,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        memories
    }

    /// One import and five functions. The world calls the first, which passes the door; what is behind it takes the
    /// address of the last by a piece of data.
    fn module() -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([], []);
        types.ty().function([ValType::I32], [ValType::I32]);
        let mut imports = ImportSection::new();
        imports.import("env", "log", EntityType::Function(0));
        let mut own = FunctionSection::new();
        [0, 1, 0, 0, 0].iter().for_each(|&ty| {
            own.function(ty);
        });
        let (tables, memories) = (table(3, Some(3)), memory());
        let mut exports = ExportSection::new();
        exports.export("start", ExportKind::Func, 1);
        exports.export("memory", ExportKind::Memory, 0);
        let mut elements = ElementSection::new();
        elements.active(None, &ConstExpr::i32_const(1), Elements::Functions(vec![4, 5].into()));
        let mut code = CodeSection::new();
        let mut add = |write: &dyn Fn(&mut wasm_encoder::InstructionSink<'_>)| {
            let mut function = Function::new([]);
            write(&mut function.instructions());
            function.instructions().end();
            code.function(&function);
        };
        add(&|code| {
            code.i32_const(7).call(2).drop().call(4);
        });
        add(&|code| {
            code.call(3).call(4).local_get(0);
        });
        add(&|code| {
            code.call(0).i32_const(2).call_indirect(0, 0);
        });
        add(&|_| {});
        add(&|code| {
            code.call(3);
        });
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(100), *b"what the main module needs: what the room needs");
        let mut names = NameMap::new();
        (0..).zip(NAMES).for_each(|(n, name)| names.append(n, name));
        let mut section = NameSection::new();
        section.functions(&names);
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&own).section(&tables).section(&memories);
        module.section(&exports).section(&elements).section(&code).section(&data).section(&section);
        module.finish()
    }

    /// The same by the linker: two pieces of data at the end.
    fn linked() -> Linked {
        let uses: [&[usize]; 8] = [&[], &[2, 4, 6], &[3, 4], &[0, 7], &[], &[3], &[], &[5]];
        let slots = [None, None, None, None, Some(1), Some(2), None, None];
        let nodes = (0..8).map(|n| Node {
            name: NAMES.get(n).map(|name| name.to_string()).unwrap_or_default(),
            slot: slots[n],
            data: [100..127, 127..147].get(n.wrapping_sub(6)).cloned().unwrap_or_default(),
            uses: uses[n].to_vec(),
            addresses: if n == 7 { vec![5] } else { Vec::new() },
        });
        Linked { nodes: nodes.collect(), roots: vec![1], ..Linked::default() }
    }

    fn parts(change: impl Fn(&mut Linked), rooms: &[Room]) -> Vec<(Vec<usize>, usize)> {
        let (wasm, mut linked) = (module(), linked());
        change(&mut linked);
        let parts = plan::plan(&linked, &optimised::read(&wasm).unwrap(), rooms).unwrap();
        let bytes = |part: &plan::Part| part.data.iter().map(ExactSizeIterator::len).sum();
        parts.into_iter().map(|part| (part.functions.clone(), bytes(&part))).collect()
    }

    #[test]
    fn a_part_has_what_is_reached_by_its_doors_alone() {
        assert_eq!(parts(|_| {}, &HOUSE), [(vec![2, 3, 5], 20)]);
        let by_data = |linked: &mut Linked| linked.nodes[1].uses.push(7);
        assert_eq!(parts(by_data, &HOUSE), [(vec![2], 0)]);
        let by_address = |linked: &mut Linked| {
            linked.nodes[1].uses.push(5);
            linked.nodes[1].addresses.push(5);
        };
        assert_eq!(parts(by_address, &HOUSE), [(vec![2], 0)]);
    }

    #[test]
    fn a_room_that_is_entered_by_another_way_is_refused_and_so_is_a_door_that_is_gone() {
        let (wasm, mut linked) = (module(), linked());
        linked.nodes[1].uses.push(5);
        linked.nodes[1].addresses.push(5);
        let planned = |room: Room| {
            let module = optimised::read(&wasm).unwrap();
            plan::plan(&linked, &module, &[room]).map(drop).map_err(|error| error.to_string())
        };
        let room = Room { name: "room", on: &[], doors: &["room::door"], code: &["room::"] };
        let refused = planned(room).unwrap_err();
        assert!(refused.contains("is lodger::room::by_table <- lodger::start"), "{refused}");
        let room =
            Room { name: "room", on: &[], doors: &["room::door", "room::by_table", "room::gone"], code: &[] };
        assert!(planned(room).unwrap_err().contains("there is no door room::gone"));
        let room =
            Room { name: "room", on: &[], doors: &["room::door", "room::by_table"], code: &["room::"] };
        assert_eq!(planned(room), Ok(()));
    }

    #[test]
    fn what_a_few_rooms_need_is_in_each_but_for_data() {
        let room = |name, door| Room { name, on: &[], doors: door, code: &[] };
        let by_table = room("other", &["room::by_*"]);
        // The inner one, and the data that both need.
        let two = [room("room", &["room::door"]), by_table];
        assert_eq!(parts(|_| {}, &two), [(vec![2, 3], 0), (vec![3, 5], 0)]);
    }

    #[test]
    fn what_a_room_needs_that_stands_on_another_is_in_that_one() {
        let by_table = Room { name: "other", on: &["room"], doors: &["room::by_*"], code: &[] };
        let rooms = [Room { name: "room", on: &[], doors: &["room::door"], code: &[] }, by_table];
        assert_eq!(parts(|_| {}, &rooms), [(vec![2, 3], 20), (vec![5], 0)]);
    }

    /// Functions in the table, as segments, and how many bodies there are.
    fn written(wasm: &[u8]) -> (Vec<(u32, usize)>, usize, Vec<String>) {
        let (mut segments, mut bodies, mut imports) = (Vec::new(), 0, Vec::new());
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.unwrap() {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import.unwrap();
                        imports.push(format!("{}.{}", import.module, import.name));
                    }
                }
                Payload::ElementSection(section) => {
                    for element in section {
                        let element = element.unwrap();
                        let ElementItems::Functions(items) = element.items else { panic!() };
                        let wasmparser::ElementKind::Active { offset_expr, .. } = element.kind else {
                            panic!()
                        };
                        segments.push((sections::begin(&offset_expr).unwrap(), items.count() as usize));
                    }
                }
                Payload::CodeSectionEntry(_) => bodies += 1,
                _ => {}
            }
        }
        (segments, bodies, imports)
    }

    #[test]
    fn the_parts_are_modules_that_fit_together() {
        let wasm = module();
        let module = optimised::read(&wasm).unwrap();
        let parts = plan::plan(&linked(), &module, &HOUSE).unwrap();
        let cut = cut::cut(&wasm, &module, &parts, "1234").unwrap();
        // The first, the door, what both need, and what traps.
        assert_eq!(written(&cut.main), (vec![(1, 2)], 4, vec!["env.log".to_owned()]));
        let main = optimised::read(&cut.main).unwrap();
        assert_eq!(main.tables[0].initial, 4);
        assert_eq!(main.slots.values().copied().collect::<Vec<_>>(), [2, 4]);
        assert_eq!(main.data, [(100, &b"what the main module needs:"[..])]);
        let (segments, bodies, imports) = written(&cut.parts[0]);
        assert_eq!((segments, bodies), (vec![(2, 2)], 3));
        assert_eq!(imports, ["env.log", ".1", ".table", ".1234"]);
    }

    #[test]
    fn what_a_part_calls_of_another_part_is_called_by_way_of_the_main_module() {
        let wasm = module();
        let module = optimised::read(&wasm).unwrap();
        let inner = Room { name: "other", on: &[], doors: &["inner"], code: &[] };
        let [room] = HOUSE;
        let parts = plan::plan(&linked(), &module, &[room, inner]).unwrap();
        let cut = cut::cut(&wasm, &module, &parts, "1234").unwrap();
        let main = optimised::read(&cut.main).unwrap();
        let (_, _, imports) = written(&cut.parts[0]);
        let places = imports.iter().filter_map(|import| import.strip_prefix('.')?.parse().ok());
        let called: Vec<usize> =
            places.filter(|place| *place != 1234).map(|place| main.slots[&place]).collect();
        let trap = main.functions.len() - 1;
        assert!(!called.is_empty() && called.iter().all(|function| *function != trap), "{called:?}");
    }
}
