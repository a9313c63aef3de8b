//! The house's rules, kept by reading the sources: who may import whom, that the core knows no browser, and how lists
//! are made.

use lodger::model::Wire;
use lodger::rooms::Room;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rooms from the ground up. Each may import those before it and none after it.
const ROOMS: [&str; 23] = [
    "rooms",
    "find",
    "list",
    "maps",
    "work",
    "json",
    "object",
    "error",
    "protocol",
    "ports",
    "model",
    "journal",
    "workspace",
    "tools",
    "memory",
    "prompt",
    "run",
    "session",
    "shapes",
    "harness",
    "browser",
    "js",
    "app",
];

/// The folders and files of the harness from the ground up. A file imports from its own place and from those before it.
/// So nothing that is decided below is decided by what stands above.
///
/// The compiler holds what is private: a field or a function without `pub` stays in its file, and what a folder does not
/// declare `pub` is not reached by a path from outside. It cannot hold the direction, because one crate lets every module
/// name every other: that is what these tests are for.
const PLACES: [&str; 24] = [
    "config", "action", "core", "setup", "keys", "calls", "pages", "memories", "reads", "runner", "holding",
    "doors", "gate", "carry", "looks", "takes", "rows", "lacking", "opening", "order", "commits", "heard",
    "commands", "mod",
];

/// The last place of the parts. Those behind it have the methods of `Harness`, which binds the parts: they may name it,
/// and its methods call each other.
const PARTS_END: &str = "holding";

/// The rooms that live in a browser, and the crates that only they may name.
const BROWSER_ROOMS: [&str; 3] = ["browser", "js", "app"];
const BROWSER_CRATES: [&str; 7] = [
    "wasm_bindgen",
    "wasm_bindgen_futures",
    "js_sys",
    "web_sys",
    "serde_wasm_bindgen",
    "gloo_net",
    "console_error_panic_hook",
];

#[test]
fn imports_point_one_way() {
    let faults: Vec<String> = sources().iter().flat_map(Source::faults).collect();
    assert!(faults.is_empty(), "against the direction of the house:\n{}", faults.join("\n"));
}

#[test]
fn no_place_of_the_harness_imports_from_above() {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for source in product().iter().filter(|source| source.room == "harness") {
        let Some(at) = place(source) else {
            faults.push(format!("src/{} has no place", source.path.display()));
            continue;
        };
        seen.insert(at);
        faults
            .extend(source.reaches_up(at).iter().map(|to| format!("src/{} -> {to}", source.path.display())));
    }
    assert!(faults.is_empty(), "against the direction of the harness:\n{}", faults.join("\n"));
    assert_eq!(seen.len(), PLACES.len(), "a place has gone: {seen:?}");
}

/// A method uses what its type's folder may import, and is found there: it lies nowhere else. Methods of `Harness` lie in
/// the files at the top.
#[test]
fn each_method_of_the_harness_lies_with_its_type() {
    let all = product();
    let all: Vec<&Source> = all.iter().filter(|source| source.room == "harness").collect();
    let mut faults = Vec::new();
    let mut known = 0;
    for source in &all {
        for name in impls(&source.code) {
            let homes: Vec<usize> =
                all.iter().filter(|home| declares(&home.code, name)).filter_map(|home| place(home)).collect();
            let top = |at: usize| name == "Harness" && Some(at) > last_part();
            known += homes.len();
            if !homes.is_empty() && place(source).is_none_or(|at| !homes.contains(&at) && !top(at)) {
                faults.push(format!("a method of {name} in src/{}", source.path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "move them to their type, or make them functions:\n{}", faults.join("\n"));
    assert!(known > 60, "the reader finds {known} blocks of methods");
}

/// The place of a file of the harness.
fn place(source: &Source) -> Option<usize> {
    let at = source.path.iter().nth(1)?.to_str()?;
    PLACES.iter().position(|known| *known == at.strip_suffix(".rs").unwrap_or(at))
}

fn last_part() -> Option<usize> {
    PLACES.iter().position(|known| *known == PARTS_END)
}

#[test]
fn the_reader_sees_what_reaches_up_in_the_harness() {
    let up = |path: &str, text: &str| {
        let source = Source::new(Path::new(path), text);
        source.reaches_up(place(&source).unwrap()).join(" ")
    };
    for (path, text, to) in [
        ("harness/core/mod.rs", "use crate::harness::runner::Runner;", "runner"),
        ("harness/core/slots.rs", "use crate::harness::{core::Core, reads::After};", "reads"),
        ("harness/core/slots.rs", "use super::super::reads::After;", "reads"),
        ("harness/core/mod.rs", "use super::calls::Calls;", "calls"),
        ("harness/doors.rs", "use super::Harness;", ""),
        ("harness/doors.rs", "use super::gate::about;", "gate"),
        ("harness/runner/mod.rs", "fn f(harness: &crate::harness::Harness) {}", "Harness"),
        ("harness/runner/mod.rs", "use crate::{harness::holding::Holding, json};", "harness in a group"),
        ("harness/reads/look.rs", "use super::After; use crate::harness::calls::Calls;", ""),
        ("harness/mod.rs", "use core::Core; use crate::harness::commands::x;", ""),
    ] {
        assert_eq!(up(path, text), to, "{path}: {text}");
    }
    let code = "impl Core {\n    fn a() {}\n}\nimpl Default for Core {\n}\nimpl<'a> Stored<'a> {\n}\n";
    assert_eq!(impls(code), ["Core", "Stored"]);
    assert!(
        declares("pub(in crate::harness) struct Stored<'a> {", "Stored")
            && !declares("struct Storeds;", "Stored")
    );
}

#[test]
fn every_room_is_known() {
    let found: BTreeSet<String> = sources().into_iter().map(|source| source.room).collect();
    let unknown: Vec<_> = found.iter().filter(|room| !ROOMS.contains(&room.as_str())).collect();
    assert!(unknown.is_empty(), "src/ has rooms that this test has no place for: {unknown:?}");
}

/// A wire's peculiarities are data of its row: nothing else asks which wire it is, or calls what only one wire does.
#[test]
fn a_wire_is_reached_through_its_row_alone() {
    let mut faults = Vec::new();
    for Source { path, code, .. } in product() {
        for wire in Wire::ALL {
            let module = wire.as_str().replace('-', "_");
            if path == Path::new("model/wire.rs") || path == Path::new(&format!("model/{module}.rs")) {
                continue;
            }
            let named = path != Path::new("model/presets.rs") && has_word(&code, &format!("Wire::{wire:?}"));
            if named || code.contains(&format!("{module}::")) {
                faults.push(format!("src/{} knows {wire:?}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "make it a member of Codec, Dialect or Preset:\n{}", faults.join("\n"));
}

/// What `collect` may make: nothing that `list()` makes smaller.
const COLLECTED: [&str; 4] = ["Array", "BinaryHeap<", "String", "js_sys::Array"];

#[test]
fn lists_are_made_in_one_way() {
    let mut faults = Vec::new();
    for Source { path, code, .. } in product() {
        for (start, _) in code.match_indices(".collect") {
            let made = code[start + ".collect".len()..].trim_start_matches("::<");
            if !COLLECTED.iter().any(|name| made.starts_with(name)) {
                faults.push(format!("src/{}:{}", path.display(), code[..start].lines().count()));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "make lists by `list()`, or name what `collect` makes:\n{}",
        faults.join("\n")
    );
}

#[test]
fn the_reader_sees_what_is_for_tests() {
    let text = "mod a;\n#[cfg(test)]\nmod b;\n#[cfg(not(target_arch = \"wasm32\"))]\npub mod c;\nmod d;\n";
    assert_eq!(tested(Path::new("x/mod.rs"), text), [PathBuf::from("x/b.rs"), PathBuf::from("x/c.rs")]);
    let text = "a\n#[cfg(test)]\nmod tests {\n    b\n}\n\nc\n#[cfg(test)]\nfn more() {\n}\nd\n";
    assert_eq!(without_tests(text), "a\n\n\n\n\n\nc\n\n\n\nd\n");
}

/// A room that arrives when it is needed is cut by the build and brought by the loader, each under its name.
#[test]
fn the_build_and_the_loader_know_the_rooms_that_arrive() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let names = |text: &str, begin: &str, end: &str| -> Vec<String> {
        let parts = text.split(begin).skip(1).filter_map(|rest| rest.split_once(end));
        parts.map(|(name, _)| name.to_owned()).collect()
    };
    let rooms: Vec<_> = Room::ALL.iter().map(|room| room.as_str()).collect();
    assert_eq!(names(&read("js/rooms.js"), "\"./rooms/", ".wasm\""), rooms);
    let build = read("xtask/src/build/parts/mod.rs");
    let build = build.split("#[cfg(test)]").next().unwrap();
    assert_eq!(names(build, "        name: \"", "\""), rooms);
}

/// Where the build cuts a room off, the code says that the room is entered: the simulator sees there what came too soon.
#[test]
fn a_door_of_the_build_is_where_a_room_is_entered() {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("xtask/src/build/parts/mod.rs");
    let build = fs::read_to_string(build).unwrap();
    let mut doors = BTreeSet::new();
    for room in build.split("#[cfg(test)]").next().unwrap().split("        name: \"").skip(1) {
        let name = room.split('"').next().unwrap();
        let named = room.split_once("doors: &[").unwrap().1.split_once(']').unwrap().0;
        doors.extend(named.split('"').skip(1).step_by(2).map(|door| format!("{name}: {}", short(door))));
    }
    let mut entered = BTreeSet::new();
    for source in product() {
        for (at, _) in source.code.match_indices("enter(Room::") {
            let room = heads(&source.code[at + "enter(Room::".len()..]).remove(0);
            let room = Room::ALL.iter().find(|known| format!("{known:?}") == room).unwrap().as_str();
            entered.insert(format!("{room}: {}", item_around(&source, at)));
        }
    }
    let missing: Vec<_> = doors.difference(&entered).collect();
    let unknown: Vec<_> = entered.difference(&doors).collect();
    assert!(missing.is_empty(), "doors of the build that do not say `enter`: {missing:?}");
    assert!(unknown.is_empty(), "the build does not know these doors: {unknown:?}");
    assert!(doors.len() > 30, "these are no doors: {doors:?}");
}

/// A door as `item_around` names it: a method by its type alone, because it may be written in another file.
fn short(door: &str) -> String {
    let door = door.trim_end_matches('*');
    match door.split_once(">::") {
        Some((of, method)) => format!("{}::{method}", of.rsplit("::").next().unwrap()),
        None => door.to_owned(),
    }
}

/// The method, or the function or constant with the path of its module, around a place of the code.
fn item_around(source: &Source, at: usize) -> String {
    let (mut of, mut item) = (None, String::new());
    for line in source.code[..at].lines() {
        let begins = |keyword: &str| {
            let (before, name) = line.trim_start().split_once(keyword)?;
            (before.is_empty() || before.starts_with("pub") || before.starts_with("async"))
                .then(|| heads(name).remove(0))
        };
        if let Some(name) = line.starts_with("impl").then(|| line.split('<').next().unwrap()) {
            of = name.trim_end_matches([' ', '{']).rsplit(' ').next();
        } else if line == "}" {
            of = None;
        } else if line.len() - line.trim_start().len() <= 4
            && let Some(name) = begins("fn ").or_else(|| begins("const "))
        {
            item = name;
        }
    }
    match of {
        Some(of) => format!("{of}::{item}"),
        None => {
            let module = source.path.with_extension("");
            let module: Vec<_> =
                module.iter().filter_map(|part| part.to_str()).filter(|part| *part != "mod").collect();
            format!("{}::{item}", module.join("::"))
        }
    }
}

#[test]
fn the_reader_finds_the_item_around_a_place() {
    let code = "pub const ROW: Row = Row {\n    a: || here(),\n};\n\nimpl Core<'_> {\n    pub(in crate::x) fn b(\n    ) {\n        there();\n    }\n}\n\nasync fn c() {\n    last();\n}\n";
    let source = Source::new(Path::new("x/mod.rs"), code);
    let around = |what: &str| item_around(&source, source.code.find(what).unwrap());
    assert_eq!([around("here"), around("there"), around("last")], ["x::ROW", "Core::b", "x::c"]);
    assert_eq!([short("x::Core>::b"), short("x::ROW*")], ["Core::b", "x::ROW"]);
}

#[test]
fn the_host_build_has_no_browser_crate() {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let tree = Command::new(cargo)
        .args([
            "tree",
            "--package",
            "lodger",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("serde_json "), "this is no dependency tree:\n{tree}");
    let browser: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| {
            ["wasm-bindgen", "js-sys", "web-sys", "gloo"].iter().any(|start| name.starts_with(start))
        })
        .collect();
    assert!(
        browser.is_empty(),
        "the core depends on {browser:?}: move them under the wasm32 target in Cargo.toml"
    );
}

#[test]
fn the_reader_sees_every_way_to_import() {
    let fault = |path: &str, text: &str| Source::new(Path::new(path), text).faults().join("\n");
    for (path, text, ends) in [
        ("run/mod.rs", "use crate::harness::Command;", "run -> harness"),
        ("run/mod.rs", "use crate::{model::Message, session::{Record, Head}};", "run -> session"),
        ("run/mod.rs", "use crate::{\n    model::Message,\n    session,\n};", "run -> session"),
        ("run/mod.rs", "fn f() -> crate::js::Client { todo() }", "run -> js"),
        ("run/mod.rs", "use super::session::Record;", "run -> session"),
        ("run/step.rs", "use super::super::session::Record;", "run -> session"),
        ("error.rs", "use crate::ports::Store;", "error -> ports"),
        ("ports/memory.rs", "use crate::model::Message;", "ports -> model"),
        ("run/mod.rs", "pub(crate) use crate::Harness;", "run -> lib.rs"),
        ("run/mod.rs", "use web_sys::Window;", "run -> web_sys"),
    ] {
        let fault = fault(path, text);
        assert!(fault.contains(ends) && fault.contains(path), "{path}: {text}\ngave: {fault:?}");
    }
    for (path, text) in [
        ("run/mod.rs", "use crate::model::Message; use crate::run::step; use crate::{error, ports};"),
        ("run/mod.rs", "// use crate::harness::X;\n//! [`crate::js`]\nlet url = \"https://a\"; // crate::js"),
        ("run/step.rs", "use super::harness_like; use super::other::session;"),
        ("browser/fetch.rs", "use web_sys::Window; use crate::harness::Harness; use js_sys::Array;"),
        ("run/mod.rs", "pub(in crate::run) fn f() {} pub(crate) fn g() {}"),
    ] {
        assert_eq!(fault(path, text), "", "{path}: {text}");
    }
}

struct Source {
    /// Below `src/`.
    path: PathBuf,
    room: String,
    /// How many modules deep: 1 for the room itself.
    depth: usize,
    /// Without comments.
    code: String,
}

fn sources() -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut open, mut sources) = (vec![src.clone()], Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") && path != src.join("lib.rs") {
            sources.push(Source::new(path.strip_prefix(&src).unwrap(), &fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(!sources.is_empty(), "src/ has no rooms");
    sources
}

/// The sources without what is compiled for tests only, or not for a browser.
fn product() -> Vec<Source> {
    let mut all = sources();
    let tests: Vec<PathBuf> = all.iter().flat_map(|source| tested(&source.path, &source.code)).collect();
    all.retain(|source| !tests.contains(&source.path));
    for source in &mut all {
        source.code = without_tests(&source.code);
    }
    all
}

/// The files of modules that are for tests only, or not for a browser.
fn tested(path: &Path, code: &str) -> Vec<PathBuf> {
    let folder =
        if path.ends_with("mod.rs") { path.parent().unwrap().into() } else { path.with_extension("") };
    let lines: Vec<&str> = code.lines().collect();
    let declared = lines.windows(2).filter_map(|pair| {
        let elsewhere = ["#[cfg(test)]", "#[cfg(not(target_arch = \"wasm32\"))]"].contains(&pair[0].trim());
        let name = pair[1].split_once("mod ")?.1.strip_suffix(';')?;
        elsewhere.then(|| folder.join(name).with_extension("rs"))
    });
    declared.collect()
}

/// The code without what is for tests only, whose lines are left empty.
fn without_tests(code: &str) -> String {
    let mut out = String::new();
    let (mut lines, mut inside) = (code.lines().peekable(), false);
    while let Some(line) = lines.next() {
        inside |= line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.ends_with('{'));
        out.push_str(if inside { "" } else { line });
        out.push('\n');
        inside &= line != "}";
    }
    out
}

impl Source {
    fn new(path: &Path, text: &str) -> Source {
        let modules: Vec<String> = path
            .with_extension("")
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        let room = modules.first().cloned().unwrap_or_default();
        Source { path: path.to_path_buf(), room, depth: modules.len(), code: without_comments(text) }
    }

    /// Each import that is not allowed, with its two ends and its file.
    fn faults(&self) -> Vec<String> {
        let place = |room: &str| ROOMS.iter().position(|known| *known == room);
        let mut faults = BTreeSet::new();
        let mut fault = |to: &str, why: &str| {
            faults.insert(format!("{} -> {to} in src/{}: {why}", self.room, self.path.display()));
        };
        for name in self.imported() {
            match (place(&self.room), place(&name)) {
                (_, None) => {
                    fault("lib.rs", &format!("crate::{name} is no room, name the room it comes from"))
                }
                (Some(from), Some(to)) if to > from => fault(&name, "this room lies above"),
                _ => {}
            }
        }
        if !BROWSER_ROOMS.contains(&self.room.as_str()) {
            for name in BROWSER_CRATES.iter().filter(|name| has_word(&self.code, name)) {
                fault(name, "only browser/, js/ and app/ know the browser");
            }
        }
        faults.into_iter().collect()
    }

    /// The first names of all paths that start at the root of the crate, however they are written.
    fn imported(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (start, _) in self.code.match_indices("crate::") {
            names.extend(heads(&self.code[start + "crate::".len()..]));
        }
        let out = "super::".repeat(self.depth);
        for (start, _) in self.code.match_indices(out.as_str()) {
            let heads = heads(&self.code[start + out.len()..]);
            // Inside an inline module, one `super` less leaves the file: only other rooms' names are imports then.
            names.extend(
                heads.into_iter().filter(|head| ROOMS.contains(&head.as_str()) && !self.has_module(head)),
            );
        }
        names
    }

    /// The names that a file of the harness takes from places above its own.
    fn reaches_up(&self, at: usize) -> Vec<String> {
        let mut names = Vec::new();
        for (start, begin) in self.code.match_indices("crate::harness::") {
            names.extend(heads(&self.code[start + begin.len()..]));
        }
        let out = "super::".repeat(self.depth - 1);
        for (start, _) in self.code.match_indices(&out).filter(|_| !out.is_empty()) {
            if !self.code[..start].ends_with("super::") {
                let taken = heads(&self.code[start + out.len()..]);
                names.extend(taken.into_iter().filter(|name| name != "super"));
            }
        }
        let allowed = |name: &String| match PLACES.iter().position(|known| known == name) {
            Some(to) => to <= at,
            // What `mod.rs` passes on lies in a place of its own: a file names that.
            None => Some(at) > last_part() && name == "Harness",
        };
        names.retain(|name| !allowed(name));
        for (start, begin) in self.code.match_indices("crate::{") {
            if heads(&self.code[start + begin.len() - 1..]).iter().any(|head| head == "harness") {
                names.push("harness in a group".into());
            }
        }
        names
    }

    /// Whether the room itself has a module of this name.
    fn has_module(&self, name: &str) -> bool {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(&self.room);
        dir.join(name).is_dir() || dir.join(name).with_extension("rs").is_file()
    }
}

/// The types of the inherent `impl` blocks.
fn impls(code: &str) -> Vec<&str> {
    let heads = code.lines().filter_map(|line| line.strip_prefix("impl")?.strip_suffix(" {"));
    let inherent = heads.filter(|head| !head.contains(" for "));
    // Behind the parameters of the block stands its type, perhaps with some of its own.
    let types = inherent.filter_map(|head| head.rsplit(' ').next()?.split('<').next());
    types.filter(|name| !name.is_empty()).collect()
}

fn declares(code: &str, name: &str) -> bool {
    ["struct ", "enum "].iter().any(|kind| code.split(kind).skip(1).any(|rest| word(rest) == name))
}

/// The first name of a path, or of each path in a `{…}` group.
fn heads(text: &str) -> Vec<String> {
    let Some(group) = text.strip_prefix('{') else { return vec![word(text)] };
    let (mut heads, mut depth, mut at_head) = (Vec::new(), 1, true);
    for (index, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => at_head = true,
            c if at_head && !c.is_whitespace() => {
                heads.push(word(&group[index..]));
                at_head = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn has_word(code: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name)
        .any(|(start, _)| !code[..start].ends_with(part) && !code[start + name.len()..].starts_with(part))
}

/// Line comments only, which is what rustfmt leaves us with; the `//` of an address is none.
fn without_comments(text: &str) -> String {
    let code = text.lines().map(|line| {
        let comment = line.match_indices("//").find(|(start, _)| !line[..*start].ends_with(':'));
        comment.map_or(line, |(start, _)| &line[..start])
    });
    code.collect::<Vec<_>>().join("\n")
}
