//! The types of journal entries for pages, written from the table of entries.

use super::entry::TABLE;
use super::words::SETS;
use super::written::{comment, same, union};

const HEAD: &str = "\
// Written from the table in `src/journal/entry.rs`: `LODGER_WRITE=1 cargo test --package lodger --lib written`.
import type { ErrorInfo, SessionEvent } from \"./index.js\";

/** What a model or a tool has said, as a journal has it: an array that begins with the kind. */
export type JournalBlock =
  | [kind: \"text\" | \"extra\" | \"raw\", text: string]
  | [kind: \"thinking\", text: string, signature: string | null]
  | [kind: \"tool_call\", id: string, name: string, json: string]
  | [kind: \"server_call\", id: string, name: string, json: string, result: string, done?: boolean]
  | [kind: \"cited\", url: string, title: string, text: string, at: number[]]
  | [kind: \"tool_result\", id: string, name: string, text: string, isError: boolean]
  | [kind: \"file\", id: string, mediaType: string, name: string, size: number];

/** Tokens: of the input, of the output, read from a cache, written to one, of reasoning. Then searches, where there were any. */
export type JournalUsage = [number, number, number, number, number, number?];

/** What had been used up; costs are nano-dollars, and `cost` is absent where not all of it is known. */
export interface JournalSums {
  turns: number;
  usage: JournalUsage;
  cost?: number;
  knownCost: number;
  wallMs: number;
}

/** Why a model has stopped. */
export type JournalStop =
  | \"end_turn\"
  | \"tool_use\"
  | \"max_tokens\"
  | \"context_window\"
  | \"pause\"
  | \"stop_sequence\"
  | \"refusal\"
  | { refusal: string };

/**
 * What each kind of entry says besides its head. A kind with optional members throughout is one whose content is erased when
 * the conversation is cleared.
 */
export interface JournalEntries {
";

const TAIL: &str = "}

/** An entry of a kind that this version knows: `entry as JournalEntry` narrows by `type`. */
export type JournalEntry = { [K in keyof JournalEntries]: SessionEvent & { type: K } & JournalEntries[K] }[keyof JournalEntries];
";

/// A type of a member, and whether the member may be absent in an entry that is whole.
fn type_of(rust: &str) -> (String, bool) {
    let rust: String = rust.split_whitespace().collect();
    if let Some(inner) = rust.strip_prefix("Option<").and_then(|rest| rest.strip_suffix('>')) {
        return (type_of(inner).0, true);
    }
    if let Some(set) = rust.strip_prefix("Word<").and_then(|rest| rest.strip_suffix('>')) {
        let (_, words) = SETS.iter().find(|(name, _)| *name == set).unwrap();
        return (union(words), false);
    }
    let name = match rust.as_str() {
        "u64" => "number",
        "bool" => "boolean",
        "String" => "string",
        "Value" => "unknown",
        "Vec<Block>" => return ("JournalBlock[]".into(), true),
        "ErrorInfo" => "ErrorInfo",
        "StopReason" => "JournalStop",
        "Usage" => "JournalUsage",
        "Sums" => "JournalSums",
        "Outside" => return ("string[]".into(), true),
        other => panic!("a page has no type for {other}"),
    };
    (name.into(), false)
}

#[test]
fn the_entries_are_written_as_types() {
    let mut text = HEAD.to_owned();
    for kind in TABLE {
        text.push_str(&comment("  ", kind.docs));
        let mut members = String::new();
        for (name, rust, docs) in kind.members {
            let (type_, absent) = type_of(rust);
            let mark = if absent || kind.erasable { "?" } else { "" };
            members.push_str(&format!("{}    {name}{mark}: {type_};\n", comment("    ", docs)));
        }
        let body = if members.is_empty() { "{}".into() } else { format!("{{\n{members}  }}") };
        text.push_str(&format!("  {}: {body};\n", kind.name));
    }
    same("js/journal.d.ts", &(text + TAIL));
}
