//! A calm world with one page: what tests of single cases begin with, say and look at.

use super::script::{answer, call};
use super::sim::World;
use lodger::model::{Block, StopReason};
use serde_json::{Value, json};

/// A page with the tools of the simulator (`get_fact` only reads, `send_mail` has effects, `put_log` too but runs
/// beside others), started with a model of the page's.
pub fn started() -> World {
    started_with(json!({}))
}

pub fn started_with(config: Value) -> World {
    let mut world = World::calm();
    world.equip(0);
    world.settle(0);
    start(&mut world, config);
    world
}

pub fn start(world: &mut World, mut config: Value) {
    if config.get("provider").is_none() {
        config["provider"] = json!({ "kind": "custom", "stream": { "$fn": 50 } });
    }
    world.must(0, "startAgent", config);
}

pub fn send(world: &mut World, text: &str) -> String {
    let accepted = world.must(0, "sendMessage", json!({ "text": text }));
    accepted["runId"].as_str().unwrap().into()
}

pub fn says(text: &str) -> lodger::model::Answer {
    answer(vec![Block::Text(text.into())], StopReason::EndTurn)
}

pub fn asks(calls: &[(&str, &str)]) -> lodger::model::Answer {
    let blocks = calls.iter().map(|(id, tool)| call(id, tool, "{\"to\":\"x\"}")).collect();
    answer(blocks, StopReason::ToolUse)
}

pub fn returns(world: &mut World, id: &str, text: &str) {
    let key = world.running(0, id);
    world.returns(0, key, Ok(Some(json!(text).to_string())));
}

/// The names of the events of runs so far, chunks and calls with what they say.
pub fn story(world: &World) -> Vec<String> {
    let word = |detail: &Value, key: &str| detail[key].as_str().unwrap_or_default().to_owned();
    let name = |(kind, detail): &(&str, Value)| match *kind {
        "agent:lifecycle" => Some(format!("lifecycle {}", word(detail, "phase"))),
        "agent:message-chunk" => Some(format!("chunk {}", word(detail, "text"))),
        "agent:tool-call" => Some(format!("{} {}", word(detail, "toolCallId"), word(detail, "status"))),
        "agent:status-changed" | "agent:session-changed" => None,
        other => Some(other.trim_start_matches("agent:").into()),
    };
    world.events(0).iter().filter_map(name).collect()
}

pub fn last(world: &World, kind: &str) -> Value {
    let found = world.events(0).iter().rev().find(|(name, _)| *name == kind);
    found.unwrap_or_else(|| panic!("no {kind}")).1.clone()
}

pub fn history(world: &mut World) -> Vec<Value> {
    world.must(0, "history", json!({})).as_array().unwrap().clone()
}

pub fn status(world: &World) -> &Value {
    &world.pages[0].told.status
}

/// The messages of the request that is in the air, without the system prompt and the frames around results.
pub fn sent(world: &World) -> Vec<Value> {
    let messages = world.model(0).1.body["messages"].as_array().unwrap().clone();
    let others = messages.into_iter().filter(|message| message["role"] != "system");
    let unframed = |mut message: Value| {
        if let Some(text) = message["content"].as_str().and_then(inside) {
            message["content"] = text.into();
        }
        message
    };
    others.map(unframed).collect()
}

/// What stands in a frame.
pub fn inside(text: &str) -> Option<String> {
    let (first, rest) = text.strip_prefix("<result source=\"")?.split_once(">\n")?;
    let mark = first.split_once("\" ").unwrap().1;
    let inside = rest.strip_suffix(&format!("\n</result {mark}>"));
    Some(inside.expect("a frame that is not closed").into())
}

pub fn running() -> Value {
    json!({ "lifecycle": "Running", "is_streaming": false })
}

/// A page that was lost in this moment; the next one has started.
pub fn lost(mut world: World, config: Value) -> World {
    world.crash(0, true);
    world.equip(0);
    world.settle(0);
    start(&mut world, config);
    world
}

pub fn waiting() -> Value {
    json!({ "lifecycle": "Suspended", "is_streaming": false })
}

/// The question that was told last.
pub fn question(world: &World) -> Value {
    last(world, "agent:permission-required")
}

pub fn resolve(world: &mut World, answer: &str) {
    let request = question(world)["requestId"].clone();
    world.must(0, "resolvePermission", json!({ "requestId": request, "answer": answer }));
}
