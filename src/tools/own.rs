//! The tools of the harness itself: to give a task to another run, to read a skill, and to remember.
//!
//! Decides what the model is told of them. Promises: they are there only where the configuration wants them, and no
//! tool of the page takes their place. Leaves to others: carrying them out (`run/`, `harness/`).

use super::definition::{Definition, Origin, Source};
use crate::list::Listed;
use crate::object::Object;
use serde_json::Value;

/// The name of the tool that delegates.
pub const DELEGATE: &str = "delegate";
/// The name of the tool that reads a skill.
pub const USE_SKILL: &str = "use_skill";

/// The name of the tool that remembers something.
pub const REMEMBER: &str = "remember";
/// The name of the tool that looks up what is remembered.
pub const RECALL: &str = "recall";
/// The name of the tool that forgets it.
pub const FORGET: &str = "forget";
/// The names of the tools for what is remembered, in the order of `memory::tools`.
pub const OF_MEMORY: [&str; 3] = [REMEMBER, RECALL, FORGET];

const TASK: &str = r#"{"type":"object","properties":{"process":{"type":"string","enum":["Researcher","Worker"],"description":"A Researcher only reads; a Worker may also change things."},"task":{"type":"string","minLength":1,"description":"All that it needs to know: it does not see this conversation."},"capabilities":{"type":"array","items":{"type":"string"},"description":"What it may hold at most; left out: what you hold."},"maxTurns":{"type":"integer","minimum":1,"description":"How many model calls it may make."}},"required":["process","task"],"additionalProperties":false}"#;

/// The tool of an Orchestrator.
pub fn delegate() -> Definition {
    let told = "Gives a task to another agent, which works on it alone with the tools here, and returns its last answer. It cannot delegate.";
    own(DELEGATE, told, TASK.into(), Origin::Delegate)
}

/// The tool that reads one of these skills.
pub fn use_skill<'a>(names: impl Iterator<Item = &'a str>) -> Definition {
    let names: Value = names.array();
    let name = Object::new().text("type", "string").value("enum", names).done();
    let schema = Object::new()
        .text("type", "object")
        .value("properties", Object::new().value("name", name).done())
        .value("required", vec!["name"].into())
        .flag("additionalProperties", false)
        .json();
    own(
        USE_SKILL,
        "Gives the instructions of a skill. Read them before you do what it is for.",
        schema,
        Origin::Skill,
    )
}

/// A tool for what is remembered (`memory::tools` has them all).
pub fn memory(name: &str, description: &str, input_schema: &str) -> Definition {
    Definition {
        title: (name == FORGET).then(|| "Forget what is remembered".into()),
        read_only: name == RECALL,
        destructive: name == FORGET,
        capability: Some("Memory".into()),
        ..Definition::built_in(name, description, input_schema.into(), Source::Workspace, Origin::Memory)
    }
}

fn own(name: &str, description: &str, input_schema: String, origin: Origin) -> Definition {
    Definition {
        // What a delegate does passes the gate on its own.
        read_only: origin == Origin::Skill,
        parallel: true,
        ..Definition::built_in(name, description, input_schema, Source::System, origin)
    }
}
