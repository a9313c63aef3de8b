//! OpenAI Chat Completions.
use super::{Endpoint, Message, Settings, ToolSpec};
use crate::error::{Code, ErrorInfo};
use crate::ports::HttpRequest;
pub(super) fn encode_message(_message: &Message, _out: &mut String) {}
pub(super) fn request(
    _e: &Endpoint,
    _s: &Settings,
    _t: &[ToolSpec],
    _m: &str,
) -> Result<HttpRequest, ErrorInfo> {
    Err(ErrorInfo::new(Code::NotConfigured, "skeleton"))
}
/// The request that a custom provider gets: a `ChatRequest` as JSON text.
///
/// # Errors
/// `invalid_config` or `invalid_schema`, naming what cannot be sent.
pub fn chat_request(_settings: &Settings, _tools: &[ToolSpec], _messages: &str) -> Result<String, ErrorInfo> {
    Err(ErrorInfo::new(Code::NotConfigured, "skeleton"))
}
