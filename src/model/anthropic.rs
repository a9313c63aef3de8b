//! Anthropic Messages.
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
