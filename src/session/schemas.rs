//! Which rows of a journal bring a schema that few have.
//!
//! Decides by what a row says, before anything is made of it: to fold it is to compile the schema. Promises: of most rows only
//! the header is looked at. Leaves to others: what such a schema is (`tools/schema`), and what follows.

use crate::find;
use crate::journal::pack;
use crate::json::{items, parse, parse_within};
use crate::tools::schema::needs_room;
use serde_json::Value;

/// The kinds of entries that bring schemas, and what else these names may be written with.
const MAY: [&str; 5] = ["\"started\"", "\"configured\"", "\"prompt\"", "\"queued\"", "\\u"];

/// Whether a row does, as it is stored, one of a pack, or a checkpoint.
pub fn in_row(text: &str) -> bool {
    if let Some(rows) = pack::rows_of(text) {
        return rows.into_iter().any(in_row);
    }
    let Some((header, rest)) = find::split(text, "\n") else {
        return parse(text).is_some_and(|checkpoint| brings(&checkpoint));
    };
    let content = find::split(rest, "\n").map_or(rest, |(content, _)| content);
    may(header) && parse(content).is_some_and(|entry| brings(&entry))
}

/// Whether a line of a file does.
pub fn in_line(line: &str) -> bool {
    // The entry may be as deep as JSON may be, and is one deeper here.
    may(line) && parse_within(line, 128).is_some_and(|line| line.get("entry").is_some_and(brings))
}

fn may(text: &str) -> bool {
    MAY.iter().any(|part| find::has(text, part))
}

/// By the members that an entry has for them, whatever else it is.
fn brings(entry: &Value) -> bool {
    let of_tool =
        |tool: &Value| tool.get("inputSchema").is_some_and(|schema| needs_room(schema, formats(tool)));
    let of_answer = |said: &Value| {
        let schema = said.get("schema").and_then(|form| form.get("json"));
        schema.is_some_and(|schema| needs_room(schema, false))
    };
    entry.get("tools").is_some_and(|tools| items(tools).iter().any(of_tool))
        || of_answer(entry)
        || entry.get("prompt").is_some_and(of_answer)
}

/// Whether a tool, as it is registered or recorded, wants that `format` counts.
pub fn formats(tool: &Value) -> bool {
    tool.get("formats") == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Entry, GENESIS, Header, Row};
    use serde_json::json;

    fn row(entry: &Entry) -> Row {
        let header = Header { seq: 1, at: 1, kind: entry.kind().into(), run: None };
        Row::new(&header, entry, GENESIS)
    }

    fn check(entry: &Entry, expected: bool) {
        let row = row(entry);
        assert_eq!((in_row(&row.to_text()), in_line(&row.to_line())), (expected, expected), "{entry:?}");
        // The letters of a kind may be escaped.
        let escaped: String = entry.kind().bytes().map(|byte| format!("\\u00{byte:x}")).collect();
        let escaped = row.to_text().replacen(entry.kind(), &escaped, 1);
        assert_eq!(in_row(&escaped), expected, "{escaped}");
        assert!(!in_row(&row.clone().erased().to_text()));
        let packed = ["\u{1e}", &row.clone().erased().to_text(), "\u{1e}", &row.to_text()].concat();
        assert_eq!(in_row(&packed), expected);
    }

    #[test]
    fn what_brings_a_schema_that_few_have_is_found_by_its_row() {
        for (schema, formats, expected) in [
            (r#"{"type":"object","properties":{"a":{"format":"date"}}}"#, false, false),
            (r#"{"type":"object","properties":{"a":{"format":"date"}}}"#, true, true),
            (r#"{"type":"object","properties":{"a":{"$ref":"a"}}}"#, false, true),
            (r#"{"type":"object","properties":{"a":{"\u0024ref":"a"}}}"#, false, true),
            (r#"{"type":"object","properties":{"$ref":{"enum":["$ref"]}}}"#, false, false),
            ("no schema with $ref", false, false),
        ] {
            let tools = json!([{"name": "a", "inputSchema": schema, "formats": formats}]);
            check(
                &Entry::Started { epoch: 1, config: Some(json!({})), tools: Some(tools.clone()) },
                expected,
            );
            check(&Entry::Configured { config: None, tools: Some(tools) }, expected);
            let of_answer = expected && !formats;
            let said = json!({"message": "m", "text": "t", "schema": {"json": schema}});
            check(&Entry::from_json("prompt", &said).unwrap(), of_answer);
            check(&Entry::Queued { mode: "queue".into(), prompt: said }, of_answer);
        }
        check(&Entry::Edited { message: "m".into(), text: "{\"$ref\":\"prompt\"}".into() }, false);
    }
}
