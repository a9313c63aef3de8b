//! Rows that no chain ties together: each has a hash of its own.
//!
//! Promises: a row that was changed, or that lies in another place than it was written for, is `corrupt`. One of a format
//! that is not known here is `newer_version`. Leaves to others: what a row says, and what its place is called.

use super::sha256;
use crate::error::{Code, ErrorInfo};
use crate::protocol::args::whole;
use serde_json::Value;

/// What is said of a row that is not what was written.
pub const CHANGED: &str = "it is not what was written";

/// What is said of a row of a format that is not known here.
pub const NEWER: &str = "a newer version of lodger has written it";

const SEAL: &str = ",\"hash\":\"";

/// The text of a row, an object, with a last member: a hash over the text and over where it lies, as far as the text does
/// not say that itself.
pub fn seal(place: &str, text: &str) -> String {
    let body = text.strip_suffix('}').unwrap_or(text);
    [body, SEAL, &sha256(&[place, "\n", text]), "\"}"].concat()
}

/// Whether a row is what was written, by its hash, and of a format that is known here. `format`: the newest of them.
///
/// # Errors
/// `corrupt`, `newer_version`
pub fn check(row: &Value, place: &str, text: &str, format: u64) -> Result<(), ErrorInfo> {
    let sealed = || {
        let rest = text.strip_suffix("\"}")?;
        let (body, hash) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
        Some((body.strip_suffix(SEAL)?, hash))
    };
    let version = row.get("v").and_then(whole);
    let right = sealed().map(|(body, hash)| sha256(&[place, "\n", body, "}"]) == hash);
    match (version, right) {
        // It may have its hash elsewhere.
        (Some(version), Some(true) | None) if version > format => Err(ErrorInfo::newer(NEWER)),
        (Some(_), Some(true)) => Ok(()),
        _ => Err(ErrorInfo::new(Code::Corrupt, CHANGED)),
    }
}
