//! What a provider's failure means.
use crate::error::{Code, ErrorInfo};
pub(super) fn http(_status: u16, _headers: &[(String, String)], _body: &str) -> ErrorInfo {
    ErrorInfo::new(Code::Server, "skeleton")
}
/// Whether a browser's `Headers` takes this name and value; the error never quotes the value.
///
/// # Errors
/// `invalid_config`.
pub fn check_header(_name: &str, _value: &str) -> Result<(), ErrorInfo> {
    Ok(())
}
/// The address of `path` below a base URL.
///
/// # Errors
/// `invalid_config` where the base is no http(s) URL.
pub fn join_url(base: &str, path: &str) -> Result<String, ErrorInfo> {
    Ok(format!("{base}{path}"))
}
