//! The lines of a file.
//!
//! Decides their order and the sum over them. Promises: rows stand in it as they are stored, damaged ones too. Leaves to others: reading rows
//! and the bytes of files, which `js/client/session-files.js` puts between the rows and the end.

use super::{FORMAT, VERSION, tied};
use crate::error::ErrorInfo;
use crate::journal::Row;
use crate::json::{json, push_text};
use crate::list::Listed;
use crate::object::Object;
use crate::session::damage::Place;
use serde_json::Value;
use std::ops::Range;

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

/// The lines of these places of a damaged journal: what is stored where a row should be stands in a line that says so. A gap
/// stands where the last of its rows was. `last`: the last row of the file.
pub fn page_in_part(places: &[Place], here: Range<u64>, last: u64, sum: &mut String) -> String {
    let mut lines = String::new();
    for place in places {
        match place {
            Place::Whole(header, _, row) if here.contains(&header.seq) => {
                add(&mut lines, sum, &row.to_line())
            }
            Place::Lost(gap) | Place::Open(gap) if here.contains(&gap.to.min(last)) => {
                let stored = gap.stored.iter().map(|text| text.as_str().into()).list();
                let mut line = Object::new();
                line.value("damaged", gap.json()).value("stored", Value::Array(stored));
                add(&mut lines, sum, &line.json());
            }
            _ => {}
        }
    }
    lines
}

/// The last line.
pub fn end(rows: u64, files: u64, sum: &str) -> String {
    let end = Object::new().number("rows", rows).number("files", files).text("hash", sum).done();
    let mut line = Object::new().value("end", end).json();
    line.push('\n');
    line
}
