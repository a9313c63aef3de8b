//! The lines of a file.
//!
//! Decides their order and the sum over them. Promises: rows stand in it as they are stored. Leaves to others: reading rows
//! and the bytes of files, which `js/client/session-files.js` puts between the rows and the end.

use super::{FORMAT, VERSION, tied};
use crate::error::ErrorInfo;
use crate::journal::Row;
use crate::json::{json, push_text};
use crate::object::Object;
use serde_json::Value;

fn add(lines: &mut String, sum: &mut String, line: &str) {
    *sum = tied(sum, line);
    lines.push_str(line);
    lines.push('\n');
}

/// The first line. `head`: the stored text of the session's head, with its signatures behind it. Takes up what the line
/// comes to.
pub fn begin(session: &str, head: &str, sum: &mut String) -> String {
    let mut parts = head.split('\n');
    let text = parts.next().unwrap_or_default();
    let mut line = ["{\"lodger\":\"", FORMAT, "\",\"v\":", &VERSION.to_string(), ",\"package\":\""].concat();
    line.push_str(env!("CARGO_PKG_VERSION"));
    line.push_str("\",\"session\":");
    push_text(&mut line, session);
    // As it is: what is signed is this text.
    for part in [",\"head\":", text, ",\"signatures\":"] {
        line.push_str(part);
    }
    let mut signatures: Vec<Value> = Vec::new();
    for signature in parts {
        signatures.push(signature.into());
    }
    line.push_str(&json(&signatures.into()));
    line.push('}');
    let mut lines = String::new();
    add(&mut lines, sum, &line);
    lines
}

/// The lines of stored rows that come next.
///
/// # Errors
/// `corrupt`: what is stored is no row.
pub fn page<'a>(rows: impl Iterator<Item = &'a str>, sum: &mut String) -> Result<String, ErrorInfo> {
    let mut lines = String::new();
    for text in rows {
        add(&mut lines, sum, &Row::from_text(text)?.to_line());
    }
    Ok(lines)
}

/// The last line.
pub fn end(rows: u64, files: u64, sum: &str) -> String {
    let end = Object::new().number("rows", rows).number("files", files).text("hash", sum).done();
    let mut line = Object::new().value("end", end).json();
    line.push('\n');
    line
}
