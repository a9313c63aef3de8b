//! What is told has the members of its struct for apps in Rust, and no others: what was read is written as it was.

use lodger::shapes::{
    Event, Grant, Message, Page, PageLink, PageNode, PageVersion, RunResult, SearchHit, SessionState, Shape,
    Snapshot, ToolResult, Verified, VerifiedSession, WaitResult,
};
use serde_json::{Value, json};

/// The same but for how numbers are written.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn written(told: &Value, what: &str, read: Result<Value, String>) -> Result<(), String> {
    match read {
        Ok(again) if same(&again, told) => Ok(()),
        Ok(again) => Err(format!("{what} is read and written otherwise:\n{told}\n{again}")),
        Err(error) => Err(format!("{what} is not read, {error}:\n{told}")),
    }
}

fn one<T: Shape>(told: &Value, what: &str) -> Result<(), String> {
    let read = T::from_json(&told.to_string());
    written(told, what, read.map(|read| read.write()).map_err(|error| error.message.clone()))
}

/// An event.
pub fn event(name: &str, detail: &Value) -> Result<(), String> {
    let read = Event::read(name, detail.clone());
    written(detail, name, read.map(|event| event.write()).map_err(|misfit| format!("{misfit:?}")))
}

/// A message.
pub fn message(told: &Value) -> Result<(), String> {
    one::<Message>(told, "a message")
}

/// What a view is told besides its messages.
pub fn view(told: &Value) -> Result<(), String> {
    let mut whole = told.clone();
    let members = whole.as_object_mut().ok_or("a view that is no object")?;
    for name in ["messages", "permissions", "queue"] {
        members.entry(name).or_insert_with(|| json!([]));
    }
    members.insert("holder".into(), true.into());
    one::<Snapshot>(&whole, "a view")
}

/// The answer to a command, where it is one of these.
pub fn reply(command: &str, told: &Value) -> Result<(), String> {
    match command {
        "history" => one::<Vec<Message>>(told, command),
        "result" => one::<RunResult>(told, command),
        "wait" => one::<WaitResult>(told, command),
        "tools.execute" => one::<ToolResult>(told, command),
        "tools.grants" => one::<Vec<Grant>>(told, command),
        "pages.create" | "pages.read" | "pages.update" | "pages.rename" | "pages.move" | "pages.restore" => {
            one::<Page>(told, command)
        }
        "pages.tree" => one::<Vec<PageNode>>(told, command),
        "pages.search" => one::<Vec<SearchHit>>(told, command),
        "pages.trash" | "pages.backlinks" => one::<Vec<Page>>(told, command),
        "pages.outgoingLinks" => one::<Vec<PageLink>>(told, command),
        "pages.versions" => one::<Vec<PageVersion>>(told, command),
        "sessions.launch"
        | "sessions.stop"
        | "sessions.restart"
        | "sessions.recover"
        | "sessions.rename"
        | "sessions.configure"
        | "sessions.undoRemove"
        | "sessions.archive"
        | "sessions.fork"
        | "sessions.salvage"
        | "sessions.play" => one::<SessionState>(told, command),
        "sessions.status" => one::<VerifiedSession>(told, command),
        "sessions.list" if told.to_string().contains("hmac_status") => {
            one::<Vec<VerifiedSession>>(told, command)
        }
        "sessions.list" => one::<Vec<SessionState>>(told, command),
        "sessions.verify" => one::<Verified>(told, command),
        _ => Ok(()),
    }
}
