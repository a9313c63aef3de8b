//! What a command is told whose session is not there, or whose workspace is closed.

use crate::error::{Code, ErrorInfo};
use crate::protocol::Command;
use crate::protocol::args::shortened;

pub(in crate::harness) fn closed() -> ErrorInfo {
    ErrorInfo::new(Code::WorkspaceClosed, "the workspace is closed").hint("open it again with openWorkspace")
}

pub(in crate::harness) fn no_session(id: &str) -> ErrorInfo {
    not_there("unknown agent session: ", id)
}

/// The same as this command says it.
pub(in crate::harness) fn no_session_for(command: Command, id: &str) -> ErrorInfo {
    if command.row().agents { no_agent(id) } else { no_session(id) }
}

pub(in crate::harness) fn no_agent(id: &str) -> ErrorInfo {
    not_there("no active session for agent ", id)
}

fn not_there(what: &str, id: &str) -> ErrorInfo {
    ErrorInfo::new(Code::SessionNotFound, [what, shortened(id)].concat())
        .hint("sessions.launch begins one; leave sessionId out to mean the first")
}
