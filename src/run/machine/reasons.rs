//! What the model reads in place of a result: why a tool call did not run, or that its outcome is unknown.

use super::Settled;
use crate::error::{Code, ErrorInfo};
use crate::model::StopReason;

/// Why the tool calls of an answer that stopped like this are not run.
pub(super) fn not_wanted(stop: &StopReason) -> Option<ErrorInfo> {
    match stop {
        StopReason::MaxTokens => {
            let why = "the answer was cut at the output limit, so this call was not run";
            Some(ErrorInfo::new(Code::InvalidArguments, why).hint("send the call again, shorter"))
        }
        StopReason::Refusal(_) => {
            let why = "the model refused to go on, so this call was not run";
            Some(ErrorInfo::new(Code::Refused, why))
        }
        _ => None,
    }
}

pub(super) fn refusal(error: ErrorInfo) -> Settled {
    Settled { text: error.for_model(), json: false, error: Some(error), cut: None, files: Vec::new() }
}

/// What has stopped a call. `late`: the time of its run was over.
fn stopped(late: bool, when: &str) -> ErrorInfo {
    let who = if late { "the run's time was over" } else { "the person interrupted the run" };
    ErrorInfo::new(Code::ToolInterrupted, [who, " before this call ", when].concat())
}

pub(super) fn not_run(late: bool) -> ErrorInfo {
    stopped(late, "began; it was not run")
}

pub(super) fn interrupted(late: bool) -> ErrorInfo {
    stopped(late, "had ended").hint("it may or may not have taken effect")
}

/// Why a call is not run where a message enters its run.
pub(super) fn skipped() -> ErrorInfo {
    ErrorInfo::new(Code::ToolInterrupted, "Skipped due to queued user message")
}

pub(super) fn out_of_time() -> ErrorInfo {
    let mut error = ErrorInfo::new(Code::Timeout, "the run did not end within its time");
    error.provider.retry = Some(false);
    error.hint("resume it, or raise timeouts.runMs")
}

pub(super) fn unknown_outcome() -> ErrorInfo {
    ErrorInfo::new(Code::UnknownOutcome, "the page closed while this call ran, so its outcome is unknown")
        .hint("check whether it took effect before you call it again")
}
