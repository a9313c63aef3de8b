//! The types of records for pages, written from their shapes.

use super::shape::{ABSENT, Kind, Member, NULL, Shape};
use super::tables;
use crate::journal::written::{same, union};

const HEAD: &str = "\
// Written from the shapes in `src/session/record/tables.rs`: `LODGER_WRITE=1 cargo test --package lodger --lib written`.
";

/// The records that a page gets, the names of their types, and what they are.
const RECORDS: [(&str, &Shape, &str); 5] = [
    ("EventRecord", &tables::EVENT, "something that has happened to a session."),
    ("ReceiptRecord", &tables::RECEIPT, "something that was done, tied to the one before it."),
    ("HandoffRecord", &tables::HANDOFF, "what a run has left for the next run."),
    ("TaskRunRecord", &tables::RUN, "one run of a task; `iteration` counts its model calls."),
    ("RunOutput", &tables::OUTPUT, "what a run has brought about, without the words of the conversation."),
];

/// What stands for several of them in a journal.
const SHORT: [(&str, &Shape, &str); 2] = [
    ("ShortPrompt", &tables::PROMPT, "the event that a prompt has come"),
    (
        "ShortEnd",
        &tables::END,
        "what the end of a run leaves: its receipts, its run, its handoff and an event",
    ),
];

fn type_of(kind: &Kind, indent: &str) -> String {
    match kind {
        Kind::Text | Kind::Name | Kind::Time => "string".into(),
        Kind::Word(words) => union(words),
        Kind::Flag => "boolean".into(),
        Kind::Count(_) | Kind::Amount => "number".into(),
        Kind::Texts => "string[]".into(),
        Kind::Object => "Record<string, unknown>".into(),
        Kind::Objects => "Record<string, unknown>[]".into(),
        Kind::Parts(parts) => format!("{{\n{}{indent}}}", members(parts, &format!("{indent}  "))),
    }
}

fn members(shape: &[Member], indent: &str) -> String {
    let line = |Member(name, kind, absent): &Member| {
        let mark = if *absent == ABSENT { "?" } else { "" };
        let null = if *absent == NULL { " | null" } else { "" };
        format!("{indent}{name}{mark}: {}{null};\n", type_of(kind, indent))
    };
    shape.iter().map(line).collect()
}

#[test]
fn the_records_are_written_as_types() {
    let mut text = HEAD.to_owned();
    for (name, shape, what) in RECORDS {
        let schema = shape.schema;
        let members = members(shape.members, "  ");
        text.push_str(&format!("\n/** `{schema}`: {what} */\nexport interface {name} {{\n"));
        text.push_str(&format!(
            "  schema: \"{schema}\";\n  version: \"{}\";\n{members}}}\n",
            super::shape::VERSION
        ));
    }
    for (name, shape, what) in SHORT {
        let members = members(shape.members, "  ");
        text.push_str(&format!(
            "\n/** In short, as a journal has it: {what}. */\nexport interface {name} {{\n{members}}}\n"
        ));
    }
    same("js/record.d.ts", &text);
}
