//! The types of what pages are told, written from the tables; what they give is compared with its types.

use super::{config, events, messages, pages, sessions};
use crate::journal::{
    words,
    written::{same, union},
};
use std::collections::BTreeSet;

/// A struct of the tables.
pub(super) struct Struct {
    pub name: &'static str,
    /// Its `type`, where it has one.
    pub tag: &'static [&'static str],
    pub given: bool,
    pub docs: &'static [&'static str],
    pub members: &'static [Row],
}

/// A member.
pub(super) struct Row {
    pub name: &'static str,
    pub null: bool,
    pub rust: &'static str,
    pub docs: &'static [&'static str],
}

const HEAD: &str = "\
// Written from the tables in `src/shapes`: `LODGER_WRITE=1 cargo test --package lodger --lib written`.
import type { ErrorInfo, HmacStatus, Lifecycle, Overrides, Part, SessionStatus } from \"./index.js\";
";
/// Its type depends on a schema, and is written by hand.
const BY_HAND: [&str; 1] = ["RunResult"];
/// Members that only JavaScript has: functions, and what stands in for them.
const OF_SCRIPTS: [(&str, &[&str]); 3] =
    [("SendOptions", &["signal"]), ("Tool", &["execute"]), ("UserInput", &["files"])];

fn tables() -> impl Iterator<Item = &'static Struct> {
    [config::TABLE, events::TABLE, messages::TABLE, pages::TABLE, sessions::TABLE].into_iter().flatten()
}

/// The words of a set, by the name of its type.
fn set(name: &str) -> Option<&'static [&'static str]> {
    let sets = [words::SETS, config::SETS, events::SETS, messages::SETS, pages::SETS, sessions::SETS];
    sets.into_iter().flatten().find(|(set, _)| *set == name).map(|(_, words)| *words)
}

fn inside<'a>(rust: &'a str, outer: &str) -> Option<&'a str> {
    rust.strip_prefix(outer)?.strip_prefix('<')?.strip_suffix('>')
}

fn type_of(rust: &str, list: &str) -> String {
    if let Some(item) = inside(rust, "Vec") {
        let item = type_of(item, list);
        return if item.contains(' ') { format!("{list}({item})[]") } else { format!("{list}{item}[]") };
    }
    if let Some(held) = ["Rc", "Box", "Word"].iter().find_map(|holder| inside(rust, holder)) {
        return type_of(held, list);
    }
    match rust {
        "u64" | "f64" => "number".into(),
        "bool" => "boolean".into(),
        "String" => "string".into(),
        "Value" => "unknown".into(),
        "Map<String, Value>" => "Record<string, unknown>".into(),
        "Integrity" => "HmacStatus".into(),
        name => match set(name) {
            Some(words) => union(words),
            None => name.into(),
        },
    }
}

/// Sentences as a comment of lines that are not too long.
fn comment(indent: &str, docs: &[&str]) -> String {
    let sentences = docs.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    if indent.len() + sentences.chars().count() < 120 {
        return format!("{indent}/** {sentences} */\n");
    }
    let mut text = format!("{indent}/**\n");
    let mut line = format!("{indent} *");
    for word in sentences.split(' ') {
        if line.chars().count() + word.chars().count() > 130 {
            text.push_str(&line);
            text.push('\n');
            line = format!("{indent} *");
        }
        line.push(' ');
        line.push_str(word);
    }
    format!("{text}{line}\n{indent} */\n")
}

fn interface(Struct { name, tag, docs, members, .. }: &Struct) -> String {
    let list = if name.ends_with("Snapshot") { "readonly " } else { "" };
    let mut extends = String::new();
    let mut body: String = tag.iter().map(|tag| format!("  type: \"{tag}\";\n")).collect();
    for Row { name, null, rust, docs } in *members {
        match (*name, type_of(inside(rust, "Option").unwrap_or(rust), list)) {
            ("..", all) if all.starts_with("Record") => {
                body.push_str(&format!("{}  [member: string]: unknown;\n", comment("  ", docs)));
            }
            ("..", base) => extends = format!(" extends {base}"),
            (name, kind) => {
                let mark = if inside(rust, "Option").is_some() && !null { "?" } else { "" };
                let or = if *null { " | null" } else { "" };
                body.push_str(&format!("{}  {name}{mark}: {kind}{or};\n", comment("  ", docs)));
            }
        }
    }
    format!("\n{}export interface {name}{extends} {{\n{body}}}\n", comment("", docs))
}

#[test]
fn the_shapes_are_written_as_types() {
    let told = tables().filter(|shape| !shape.given && !BY_HAND.contains(&shape.name));
    same("js/shapes.d.ts", &(HEAD.to_owned() + &told.map(interface).collect::<String>()));
}

/// The members of an interface, or of an object type, that stand in this text.
fn members_of(text: &str) -> BTreeSet<String> {
    let mut members = BTreeSet::new();
    let (mut depth, mut comment) = (0, false);
    for line in text.lines() {
        comment |= line.trim_start().starts_with("/*");
        if !comment && depth == 0 {
            let name: String =
                line.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let rest = line.trim_start().trim_start_matches(name.as_str());
            if !name.is_empty() && (rest.starts_with(['?', ':', '('])) {
                members.insert(name);
            }
        }
        if !comment {
            depth += line.matches(['{', '(']).count() as i32 - line.matches(['}', ')']).count() as i32;
        }
        comment &= !line.contains("*/");
    }
    members
}

fn declared(types: &str, name: &str) -> Option<BTreeSet<String>> {
    let heads = ["export interface NAME ", "export interface NAME<", "export type NAME = "];
    let (_, declared) = heads.iter().find_map(|head| types.split_once(&head.replace("NAME", name)))?;
    let (_, rest) = declared.split_once('{')?;
    let mut depth = 1;
    let inside = |c: &char| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        depth > 0
    };
    let body: String = rest.chars().take_while(inside).collect();
    // One line may have them all.
    Some(members_of(&if body.contains('\n') { body } else { body.replace(';', "\n").replace(", ", "\n") }))
}

#[test]
fn what_is_given_has_the_members_of_its_type() {
    let types = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/js/index.d.ts")).unwrap();
    let mut compared = Vec::new();
    for shape in tables().filter(|shape| shape.given || BY_HAND.contains(&shape.name)) {
        // A provider is of several types there; see below.
        let Some(mut wanted) = declared(&types, shape.name).filter(|_| shape.name != "Provider") else {
            continue;
        };
        for (_, script) in OF_SCRIPTS.iter().filter(|(name, _)| *name == shape.name) {
            wanted.retain(|member| !script.contains(&member.as_str()));
        }
        let ours = shape.members.iter().map(|row| row.name.to_owned()).filter(|name| name != "..").collect();
        assert_eq!(wanted, ours, "{}", shape.name);
        compared.push(shape.name);
    }
    for name in [
        "AgentConfig",
        "Budget",
        "Limits",
        "Overrides",
        "PermissionReply",
        "Permissions",
        "RunResult",
        "SendOptions",
        "Skill",
        "Tool",
        "UserInput",
    ] {
        assert!(compared.contains(&name), "{name} is not compared: {compared:?}");
    }
    let provider = tables().find(|shape| shape.name == "Provider").unwrap();
    let mut wanted = declared(&types, "ApiOptions").unwrap();
    wanted.extend(["kind", "preset", "model", "stream"].map(ToOwned::to_owned));
    assert_eq!(wanted, provider.members.iter().map(|row| row.name.to_owned()).collect());
}

#[test]
fn the_events_are_those_of_the_types() {
    let types = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/js/index.d.ts")).unwrap();
    let (_, list) = types.split_once("export interface WorkspaceEvents {").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    for (name, shape) in events::EVENTS {
        let shape = inside(shape, "Box").unwrap_or(shape);
        assert!(list.contains(&format!("  \"{name}\": Detail & {shape}")), "{name}: Detail & {shape}");
    }
    assert_eq!(list.matches("  \"agent:").count(), events::EVENTS.len());
}
