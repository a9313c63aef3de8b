//! Which status follows which.
//!
//! Decides the nine statuses of a session and every way from one to another, as one table. It answers what may happen
//! ([`next`]), and it is what the documentation prints ([`markdown`]). Promises: nothing changes a status by any other
//! way. Leaves to others: what else changes with it (`lifecycle`).

use crate::error::{Code, ErrorInfo};
use crate::find::join;
use crate::journal::words::Words;
use crate::list::Listed;

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was launched, and something is still missing: the key of its provider.
    Starting,
    /// It can be used, or works.
    Running,
    /// It waits for work.
    Idle,
    /// It was told to stop, and its run is still ending.
    Stopping,
    /// It was stopped on purpose.
    Stopped,
    /// It failed, or was lost in the middle of a run.
    Failed,
    /// Its provider does not accept the key any more.
    AuthExpired,
    /// Its provider cannot be reached at present.
    ProviderUnavailable,
    /// What its tools run in has failed.
    SandboxFailed,
}

use Status::*;

impl Status {
    /// All of them.
    pub const ALL: [Status; 9] =
        [Starting, Running, Idle, Stopping, Stopped, Failed, AuthExpired, ProviderUnavailable, SandboxFailed];

    /// The public word.
    pub fn as_str(self) -> &'static str {
        WORDS.get(self as usize).copied().unwrap_or_default()
    }

    /// The status of this word.
    pub fn parse(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether the session is alive.
    pub fn is_active(self) -> bool {
        ACTIVE & bit(self) != 0
    }

    /// Whether it can be restarted or recovered.
    pub fn is_recoverable(self) -> bool {
        RECOVERABLE & bit(self) != 0
    }
}

impl Words for Status {
    fn word(self) -> &'static str {
        self.as_str()
    }
    fn find(word: &str) -> Option<Status> {
        Status::parse(word)
    }
}

/// The words of [`Status::ALL`].
pub(super) const WORDS: [&str; 9] = [
    "starting",
    "running",
    "idle",
    "stopping",
    "stopped",
    "failed",
    "auth_expired",
    "provider_unavailable",
    "sandbox_failed",
];

/// What may change a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It is launched.
    Launch,
    /// It is launched, and its provider's key is asked for.
    LaunchWaiting,
    /// The key has come.
    Ready,
    /// A prompt. Where the status stays `starting`, it waits.
    Prompt,
    /// An exit word in place of a prompt.
    Exit,
    /// A run that was held goes on.
    GoesOn,
    /// A run is over.
    RunEnded,
    /// It is told to stop, and nothing works.
    Stop,
    /// It is told to stop while a run works.
    StopWaiting,
    /// A look at it found that its holder is gone in the middle of a run, or its endpoint.
    Stale,
    /// It is restarted.
    Restart,
    /// It is recovered, and goes on where it was.
    Reconnect,
    /// It is recovered, and waits.
    Resume,
    /// It is put aside, or taken up again: its status stays.
    Bench,
    /// Somebody says that its endpoint is gone.
    MarkStale,
    /// The provider does not accept the key.
    MarkAuth,
    /// The provider does not answer.
    MarkProvider,
    /// Somebody says that what its tools run in has failed.
    MarkSandbox,
}

/// A set of statuses, a bit for each; that of the session that is not there yet comes after them.
type Set = u16;

const fn bit(status: Status) -> Set {
    1 << status as Set
}

const NONE: Set = 1 << 9;
const ACTIVE: Set = bit(Starting) | bit(Running) | bit(Idle) | bit(Stopping);
const RECOVERABLE: Set =
    bit(Stopped) | bit(Failed) | bit(AuthExpired) | bit(ProviderUnavailable) | bit(SandboxFailed);
const ANY: Set = ACTIVE | RECOVERABLE;

/// The table: from any of these, by this, to that.
const TABLE: [(Set, Cause, Status); 22] = [
    (NONE, Cause::Launch, Running),
    (NONE, Cause::LaunchWaiting, Starting),
    (bit(Starting), Cause::Ready, Running),
    (bit(Starting), Cause::Prompt, Starting),
    (bit(Running) | bit(Idle), Cause::Prompt, Running),
    (bit(Starting) | bit(Running) | bit(Idle), Cause::Exit, Stopped),
    (bit(Running) | bit(Idle), Cause::GoesOn, Running),
    (bit(Running), Cause::RunEnded, Idle),
    (bit(Stopping), Cause::RunEnded, Stopped),
    (bit(Starting), Cause::Bench, Starting),
    (bit(Running), Cause::Bench, Running),
    (bit(Idle), Cause::Bench, Idle),
    (ACTIVE, Cause::Stop, Stopped),
    (ACTIVE, Cause::StopWaiting, Stopping),
    (ACTIVE, Cause::Stale, Failed),
    (RECOVERABLE, Cause::Restart, Running),
    (RECOVERABLE, Cause::Reconnect, Running),
    (RECOVERABLE, Cause::Resume, Idle),
    (ANY, Cause::MarkStale, Failed),
    (ANY, Cause::MarkAuth, AuthExpired),
    (ANY, Cause::MarkProvider, ProviderUnavailable),
    (ANY, Cause::MarkSandbox, SandboxFailed),
];

/// What comes of it; `from` is `None` where there is no session yet. None: it is not allowed.
pub fn next(from: Option<Status>, cause: Cause) -> Option<Status> {
    let from = from.map_or(NONE, bit);
    TABLE.iter().find(|(set, by, _)| set & from != 0 && *by == cause).map(|(.., to)| *to)
}

/// The same, or why it is not allowed.
///
/// # Errors
/// `invalid_transition`
pub(super) fn go(id: &str, from: Status, cause: Cause) -> Result<Status, ErrorInfo> {
    next(Some(from), cause).ok_or_else(|| {
        let (why, hint) = match cause {
            Cause::Stop | Cause::StopWaiting => ("only active sessions can be stopped", ""),
            Cause::Restart => ("active sessions cannot be restarted", "stop it first"),
            Cause::Prompt | Cause::Exit if from == Stopping => {
                ("sessions that are stopping accept no prompts", "restart it once it has stopped")
            }
            Cause::Prompt | Cause::Exit => ("only active sessions accept prompts", "restart or recover it"),
            _ => {
                ("recovery action is not supported", "only a session that has stopped or failed is recovered")
            }
        };
        let message = ["agent session ", id, " is ", from.as_str(), "; ", why].concat();
        let error = ErrorInfo::new(Code::InvalidTransition, message);
        if hint.is_empty() { error } else { error.hint(hint) }
    })
}

/// The table as Markdown.
pub fn markdown() -> String {
    let mut out = String::from("| from | what happens | to |\n|---|---|---|\n");
    for (set, cause, to) in TABLE {
        let from = match set {
            NONE => "(none)".into(),
            ACTIVE => "any active".into(),
            RECOVERABLE => "any recoverable".into(),
            ANY => "any".into(),
            _ => {
                let named = Status::ALL.into_iter().filter(|status| set & bit(*status) != 0);
                join(&named.map(Status::as_str).list(), ", ")
            }
        };
        let what = match cause {
            Cause::Launch => "launch",
            Cause::LaunchWaiting => "launch, while the provider's key is asked for",
            Cause::Ready => "the key has come",
            Cause::Prompt if to == Starting => "prompt: it waits",
            Cause::Prompt => "prompt",
            Cause::Exit => "exit word",
            Cause::GoesOn => "a held run goes on",
            Cause::RunEnded => "its run is over",
            Cause::Bench => "bench, play",
            Cause::Stop => "stop",
            Cause::StopWaiting => "stop, while a run works",
            Cause::Stale => "status, prompt, stop, restart or rename finds it stale",
            Cause::Restart => "restart",
            Cause::Reconnect => "recover: `reconnect`",
            Cause::Resume => "recover: `resume`",
            Cause::MarkStale => "recover: `stale_endpoint`",
            Cause::MarkAuth => "a run fails by `auth` or `permission`; recover: `auth_expired`",
            Cause::MarkProvider => {
                "a run fails by `network`, `timeout`, `server`, `overloaded`, `rate_limit` or `quota`; \
                 recover: `provider_unavailable`"
            }
            Cause::MarkSandbox => "recover: `sandbox_failed`",
        };
        for part in ["| ", &from, " | ", what, " | ", to.as_str(), " |\n"] {
            out.push_str(part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for (at, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!(status as usize, at);
            assert_eq!(Status::parse(status.as_str()), Some(status));
            assert_ne!(status.is_active(), status.is_recoverable());
        }
        assert_eq!(Status::parse("asleep"), None);
    }

    #[test]
    fn no_row_stands_in_the_way_of_another() {
        for (at, (set, cause, _)) in TABLE.iter().enumerate() {
            for (other, by, _) in TABLE.iter().skip(at + 1) {
                assert!(by != cause || set & other == 0, "{cause:?}");
            }
        }
    }
}
