//! What a command is about: a session, a run, or neither.
//!
//! Decides that by the command's row and its arguments alone. Leaves to others: in which session a run is (`looks`), and
//! who may give the command (`gate`).

use crate::harness::core::DEFAULT_SESSION;
use crate::protocol::{Request, Subject};
use serde_json::Value;

/// How the id of a run begins.
const RUN: &str = "run_";

/// What a command is about.
#[derive(Debug)]
pub(in crate::harness) enum About<'a> {
    Session(&'a str),
    /// The one that works on what is meant.
    Worker,
    Run(&'a str),
}

/// Which session or run a command is about, as its row says. `None`: it is about none.
pub(in crate::harness) fn about(request: &Request) -> Option<About<'_>> {
    let text = |name: &str| request.args().all().get(name).and_then(Value::as_str);
    let session = || About::Session(text("sessionId").unwrap_or(DEFAULT_SESSION));
    let id = || text("id").unwrap_or_default();
    Some(match request.command.row().subject {
        Subject::None => return None,
        Subject::Session => session(),
        Subject::SessionOrRun => match (text("sessionId"), text("runId")) {
            (None, Some(run)) => About::Run(run),
            _ => session(),
        },
        Subject::Worker => About::Worker,
        Subject::Id => About::Session(id()),
        // What begins so is a run, unless a session at hand is called so.
        Subject::IdOrRun if !id().starts_with(RUN) => About::Session(id()),
        Subject::Run | Subject::IdOrRun => About::Run(id()),
    })
}

/// The run that a command is about, if it is about none of a session's name.
pub(in crate::harness) fn run_of(request: &Request) -> Option<&str> {
    match about(request)? {
        About::Run(run) => Some(run),
        About::Session(_) | About::Worker => None,
    }
}
