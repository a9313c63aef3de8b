//! The house's rules, kept by reading the sources: who may import whom, that the core knows no browser, and how lists
//! are made.

use lodger::model::Wire;
use lodger::rooms::Room;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rooms from the ground up. Each may import those before it and none after it.
const ROOMS: [&str; 19] = [
    "rooms",
    "find",
    "list",
    "maps",
    "json",
    "object",
    "error",
    "protocol",
    "ports",
    "model",
    "journal",
    "workspace",
    "tools",
    "prompt",
    "run",
    "session",
    "harness",
    "browser",
    "js",
];

/// The parts of the harness from the ground up: a method of one may name those before it and none after it. So nothing
/// that is decided below is decided by what stands above.
const PARTS: [&str; 9] = ["Core", "Setup", "Keys", "Calls", "Pages", "Runner", "Reads", "Holding", "Harness"];

/// The rooms that live in a browser, and the crates that only they may name.
const BROWSER_ROOMS: [&str; 2] = ["browser", "js"];
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
fn no_part_of_the_harness_reaches_up() {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for source in sources().iter().filter(|source| source.room == "harness") {
        for (part, methods) in methods_of(&source.code) {
            let Some(place) = PARTS.iter().position(|known| *known == part) else { continue };
            seen.insert(PARTS[place]);
            let above = PARTS[place + 1..].iter().filter(|above| has_word(methods, above));
            faults.extend(above.map(|above| format!("{part} -> {above} in src/{}", source.path.display())));
        }
    }
    assert!(faults.is_empty(), "against the direction of the harness:\n{}", faults.join("\n"));
    assert_eq!(seen.len(), PARTS.len(), "a part has gone: {seen:?}");
}

/// The folders of the harness from the ground up; a file there imports from its own folder and those before it. The rest
/// is above them: `sessions`, which is about what is done with a session, and the files at the top.
const FOLDERS: [&str; 10] =
    ["config", "action", "core", "setup", "keys", "calls", "pages", "runner", "reads", "holding"];

#[test]
fn no_folder_of_the_harness_imports_from_above() {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for source in product().iter().filter(|source| source.room == "harness") {
        let at = source.path.iter().nth(1).and_then(|at| at.to_str()).unwrap_or_default();
        let folder = at.strip_suffix(".rs").unwrap_or(at);
        let Some(place) = FOLDERS.iter().position(|known| *known == folder) else { continue };
        seen.insert(FOLDERS[place]);
        for (at, _) in source.code.match_indices("crate::harness::") {
            for name in heads(&source.code[at + "crate::harness::".len()..]) {
                // Of the other names the lower ones have folders of their own: a file says which.
                if !FOLDERS[..=place].contains(&name.as_str()) {
                    faults.push(format!("{} -> {name} in src/{}", FOLDERS[place], source.path.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "against the direction of the harness:\n{}", faults.join("\n"));
    assert_eq!(seen.len(), FOLDERS.len(), "a folder has gone: {seen:?}");
}

#[test]
fn the_reader_finds_the_methods_of_a_part() {
    let code = "impl Core {\n    fn a() {}\n}\n\nimpl Default for Core {\n}\n\nimpl Calls {\n    fn b(&Runner) {}\n}\n";
    let found = methods_of(code);
    assert_eq!(found.iter().map(|(part, _)| *part).collect::<Vec<_>>(), ["Core", "Calls"]);
    assert!(has_word(found[1].1, "Runner") && !has_word(found[0].1, "Runner"));
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
                fault(name, "only browser/ and js/ know the browser");
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

    /// Whether the room itself has a module of this name.
    fn has_module(&self, name: &str) -> bool {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(&self.room);
        dir.join(name).is_dir() || dir.join(name).with_extension("rs").is_file()
    }
}

/// The inherent `impl` blocks: the type of each, and its text.
fn methods_of(code: &str) -> Vec<(&str, &str)> {
    let blocks = code.split("\nimpl ").skip(usize::from(!code.starts_with("impl ")));
    blocks
        .filter_map(|block| {
            let (head, rest) = block.trim_start_matches("impl ").split_once(" {\n")?;
            let whole = head.chars().all(char::is_alphanumeric);
            whole.then_some((head, rest.split_once("\n}").map_or(rest, |(methods, _)| methods)))
        })
        .collect()
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
