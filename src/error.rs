//! What can go wrong, as one closed list.
//!
//! Decides: the stable codes, whether the same call can be tried again, and the sentence that says what to do.
//! Promises: every code that reaches a page is listed here, and `index.d.ts` names the same codes (a test
//! compares the two). Leaves to others: turning an [`ErrorInfo`] into a JS `LodgerError` (`js/`).

use crate::object::Object;
use serde_json::Value;

macro_rules! codes {
    ($( $(#[$doc:meta])* $name:ident = $text:literal, retry $retry:literal ;)*) => {
        /// A stable error code. The text form is public and never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $( $(#[$doc])* $name, )* }

        impl Code {
            /// All codes, in the order of this list.
            pub const ALL: &'static [Code] = &[ $( Code::$name, )* ];

            /// The public text of the code.
            pub fn as_str(self) -> &'static str {
                match self { $( Code::$name => $text, )* }
            }

            /// Whether the same call may succeed if it is simply made again.
            pub fn retryable(self) -> bool {
                match self { $( Code::$name => $retry, )* }
            }

            /// The code of this public text.
            pub fn parse(text: &str) -> Option<Code> {
                Code::ALL.iter().copied().find(|code| code.as_str() == text)
            }
        }
    };
}

codes! {
    // The workspace and the harness.
    /// No workspace is open.
    NoWorkspace = "no_workspace", retry false;
    /// The workspace was closed.
    WorkspaceClosed = "workspace_closed", retry false;
    /// The workspace was deleted, here or in another tab.
    WorkspaceDeleted = "workspace_deleted", retry false;
    /// A harness runs for this workspace already, here or in another tab.
    AlreadyRunning = "already_running", retry false;
    /// The command needs a running harness.
    NotRunning = "not_running", retry false;
    /// The session works on a run.
    Busy = "busy", retry true;
    /// Another holder has taken the workspace over.
    OwnershipLost = "ownership_lost", retry false;
    /// The tab that runs the agent does not answer.
    HolderUnreachable = "holder_unreachable", retry true;
    /// The wasm module panicked; a fresh instance can go on.
    Panicked = "panicked", retry true;
    /// The wasm, or another part of the package, could not be loaded.
    WasmUnavailable = "wasm_unavailable", retry true;
    /// The page is no secure context, so locks and key storage do not exist.
    InsecureContext = "insecure_context", retry false;

    // What the page sent.
    /// No command has this name.
    UnknownCommand = "unknown_command", retry false;
    /// The arguments of a command or tool do not fit.
    InvalidArguments = "invalid_arguments", retry false;
    /// A configuration member is unknown, of the wrong type, or not available yet.
    InvalidConfig = "invalid_config", retry false;
    /// The message is empty.
    EmptyMessage = "empty_message", retry false;
    /// No run has this id.
    RunNotFound = "run_not_found", retry false;
    /// No message has this id.
    MessageNotFound = "message_not_found", retry false;
    /// No session has this id.
    SessionNotFound = "session_not_found", retry false;
    /// A session of this id exists.
    SessionExists = "session_exists", retry false;
    /// The session's status does not allow it.
    InvalidTransition = "invalid_transition", retry false;
    /// The session is benched: it takes nothing until it is played.
    Benched = "benched", retry false;
    /// Nobody is there who may work with sessions, or not any more.
    OperatorRequired = "operator_required", retry false;
    /// No task, run, receipt or handoff has this id.
    RecordNotFound = "record_not_found", retry false;
    /// There is no run that could go on.
    NothingToResume = "nothing_to_resume", retry false;
    /// A file that the model, or any model, does not take.
    UnsupportedFile = "unsupported_file", retry false;
    /// A file is too large, or there are too many.
    FileTooLarge = "file_too_large", retry false;
    /// No file of this id is in the workspace, or its bytes are lost.
    FileNotFound = "file_not_found", retry false;
    /// A message, an answer or a result is larger than the workspace's limits allow.
    TooLarge = "too_large", retry false;

    // Tools.
    /// No tool has this name.
    ToolNotFound = "tool_not_found", retry false;
    /// A tool of this name is registered already.
    DuplicateTool = "duplicate_tool", retry false;
    /// The tool's definition is not usable.
    InvalidTool = "invalid_tool", retry false;
    /// The tool's schema is not usable.
    InvalidSchema = "invalid_schema", retry false;
    /// The tool failed or threw.
    ToolFailed = "tool_failed", retry false;
    /// The tool took too long.
    ToolTimeout = "tool_timeout", retry true;
    /// The call was interrupted before it ended.
    ToolInterrupted = "tool_interrupted", retry false;
    /// The page went away while the tool ran: nobody knows whether it took effect.
    UnknownOutcome = "unknown_outcome", retry false;
    /// Nothing with this id waits for an answer.
    RequestNotFound = "request_not_found", retry false;
    /// A person or a policy does not allow it.
    PermissionDenied = "permission_denied", retry false;

    // Pages.
    /// No page has this slug.
    PageNotFound = "page_not_found", retry false;
    /// No memory has this id.
    MemoryNotFound = "memory_not_found", retry false;
    /// Another page has this slug.
    SlugTaken = "slug_taken", retry false;
    /// The page would become its own ancestor.
    PageCycle = "page_cycle", retry false;
    /// The page has changed since the version that was expected.
    VersionConflict = "version_conflict", retry true;

    // The model.
    /// No provider is configured.
    NotConfigured = "not_configured", retry false;
    /// The provider does not accept the key.
    Auth = "auth", retry false;
    /// The key may not do this.
    Permission = "permission", retry false;
    /// The provider does not know the model or the path.
    NotFound = "not_found", retry false;
    /// The provider refuses the request as malformed.
    InvalidRequest = "invalid_request", retry false;
    /// The conversation is longer than the model's window.
    ContextLength = "context_length", retry false;
    /// Too many requests.
    RateLimit = "rate_limit", retry true;
    /// The account has no credit or has met its limit.
    Quota = "quota", retry false;
    /// The provider is overloaded.
    Overloaded = "overloaded", retry true;
    /// The provider failed.
    Server = "server", retry true;
    /// No answer came: network or CORS, a browser does not tell them apart.
    Network = "network", retry true;
    /// It took too long.
    Timeout = "timeout", retry true;
    /// The answer broke off in the middle.
    StreamBroken = "stream_broken", retry true;
    /// The answer is not what the protocol says.
    Protocol = "protocol", retry false;
    /// The model refused.
    Refused = "refused", retry false;
    /// The page aborted.
    Aborted = "aborted", retry false;
    /// The answer does not fit its schema, also after it was asked for again.
    InvalidOutput = "invalid_output", retry false;
    /// The output limit left nothing of an answer, or no whole one where it has a schema.
    OutputLimit = "output_limit", retry false;
    /// The run used up its turns.
    MaxTurnsExceeded = "max_turns_exceeded", retry false;
    /// The run or the session has used up its budget.
    BudgetExceeded = "budget_exceeded", retry false;

    // Storage.
    /// The database cannot be opened. Where the disk is full to its last block, Chromium says no more than this.
    StorageUnavailable = "storage_unavailable", retry false;
    /// Another tab keeps the database from being opened.
    StorageBlocked = "storage_blocked", retry true;
    /// The disk quota is used up.
    QuotaExceeded = "quota_exceeded", retry false;
    /// A write did not go through, or the browser did not end it for a minute, as happens where the disk is full.
    StorageFailed = "storage_failed", retry true;
    /// What the workspace had stored is gone, and lodger has not deleted it.
    StorageLost = "storage_lost", retry false;
    /// A newer version of this package has written the stored data, or runs the agent in another tab: reload.
    NewerVersion = "newer_version", retry false;
    /// The stored data contradicts itself.
    Corrupt = "corrupt", retry false;
}

/// An error as everyone sees it: in replies, events and the journal. It is one pointer wide, because every result
/// carries it, and reads like its [`Told`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorInfo(Box<Told>);

/// What an error says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The stable code.
    pub code: Code,
    /// What happened, for a person.
    pub message: String,
    /// What to do about it, where there is something to do.
    pub hint: Option<String>,
    /// What a model's provider said besides.
    pub provider: Provided,
}

/// What a provider says of a failure besides words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provided {
    /// The HTTP status.
    pub status: Option<u16>,
    /// Its own code or type of the error.
    pub code: Option<String>,
    /// Its id of the request, for its support.
    pub request: Option<String>,
    /// After how many milliseconds it wants to be asked again.
    pub retry_after: Option<u64>,
    /// Whether it wants to be asked again, where that differs from what the code says.
    pub retry: Option<bool>,
    /// The browser has no network, which it would need: no provider has failed.
    pub offline: bool,
}

impl ErrorInfo {
    /// An error without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let (hint, provider) = Default::default();
        ErrorInfo(Box::new(Told { code, message: message.into(), hint, provider }))
    }

    /// What is stored here contradicts itself.
    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        ErrorInfo::new(Code::Corrupt, message).hint("delete the workspace to start anew, or report this")
    }

    /// A part of the package does not come.
    pub(crate) fn absent(why: &str) -> Self {
        ErrorInfo::new(Code::WasmUnavailable, why)
            .hint("try again; after a deployment of a new version, reload the page")
    }

    /// A newer version of this package has written it.
    pub(crate) fn newer(message: impl Into<String>) -> Self {
        ErrorInfo::new(Code::NewerVersion, message).hint("reload the page to get the newer version")
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the same call may succeed if it is simply made again.
    pub fn retryable(&self) -> bool {
        self.provider.retry.unwrap_or_else(|| self.code.retryable())
    }

    /// The public form: `{code, message, retryable, hint?, status?, providerCode?, requestId?, retryAfterMs?, offline?}`.
    pub fn to_json(&self) -> Value {
        let Provided { status, code, request, retry_after, retry: _, offline } = &self.provider;
        Object::new()
            .text("code", self.code.as_str())
            .text("message", &self.message)
            .flag("retryable", self.retryable())
            .maybe_text("hint", self.hint.as_deref())
            .maybe("status", status.map(Value::from))
            .maybe_text("providerCode", code.as_deref())
            .maybe_text("requestId", request.as_deref())
            .maybe("retryAfterMs", retry_after.map(Value::from))
            .maybe("offline", offline.then_some(Value::Bool(true)))
            .done()
    }

    /// What a model reads: the message, and in brackets what to do.
    pub fn for_model(&self) -> String {
        match &self.hint {
            Some(hint) => [&self.message, " (", hint, ")"].concat(),
            None => self.message.clone(),
        }
    }

    /// Reads the public form back; an unknown code reads as `protocol`.
    pub fn from_json(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let code = text("code").and_then(Code::parse).unwrap_or(Code::Protocol);
        let mut error = ErrorInfo::new(code, text("message").unwrap_or_default());
        error.hint = text("hint").map(Into::into);
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        error.provider = Provided {
            status: number("status").and_then(|status| u16::try_from(status).ok()),
            code: text("providerCode").map(Into::into),
            request: text("requestId").map(Into::into),
            retry_after: number("retryAfterMs"),
            retry: value.get("retryable").and_then(Value::as_bool).filter(|retry| *retry != code.retryable()),
            offline: value.get("offline").and_then(Value::as_bool) == Some(true),
        };
        error
    }
}

impl std::ops::Deref for ErrorInfo {
    type Target = Told;
    fn deref(&self) -> &Told {
        &self.0
    }
}

impl std::ops::DerefMut for ErrorInfo {
    fn deref_mut(&mut self) -> &mut Told {
        &mut self.0
    }
}

impl std::fmt::Display for ErrorInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ErrorInfo {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_from_its_text() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
        }
        assert_eq!(Code::parse("no such code"), None);
    }

    #[test]
    fn an_error_reads_back_from_its_public_form() {
        let error = ErrorInfo::new(Code::Busy, "the session works").hint("wait");
        assert_eq!(ErrorInfo::from_json(&error.to_json()), error);
        let mut error = ErrorInfo::new(Code::RateLimit, "slower");
        error.provider = Provided {
            status: Some(429),
            code: Some("rate_limit_error".into()),
            request: Some("req_1".into()),
            retry_after: Some(1500),
            retry: Some(false),
            offline: true,
        };
        assert!(!error.retryable());
        assert_eq!(ErrorInfo::from_json(&error.to_json()), error);
    }
}
