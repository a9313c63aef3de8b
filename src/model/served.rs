//! What tools that a provider runs were asked and gave, and where an answer has something from.
//!
//! Decides what of that people and other providers read: arguments whole, results in short, addresses of the web. Promises:
//! a source stands behind all that the answer shows, so no part of it moves. Leaves to others: the provider's own words of
//! it, which go back as they came (the codecs).

use super::{Answer, Block, Cited, ServerCall};
use crate::find;
use crate::json::{self, items};
use crate::list::Listed;
use crate::maps::Named;
use crate::rooms::{Room, enter};
use serde_json::Value;
use std::rc::Rc;

/// How much of what a call gave is kept in short, in characters.
const RESULT: usize = 4_000;

/// How many sources of an answer are kept.
const SOURCES: usize = 200;

/// How deep what a call gave is looked through.
const DEEPEST: u8 = 6;

/// What a provider counts the places of a text in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of UTF-8.
    Bytes,
    /// Characters.
    Chars,
    /// It counts none: a source is of a whole block.
    All,
}

/// Completes the calls of an answer, and adds its sources. A door of the room `past`.
#[inline(never)]
pub fn tell(answer: &mut Answer, unit: Unit) {
    enter(Room::Past);
    let raw = |block: &Block| match block {
        Block::Raw(text) => json::parse(text),
        _ => None,
    };
    let steps = answer.blocks.iter().filter_map(raw).list();
    let mut results: Named<Value> = Named::default();
    for step in &steps {
        for of in ["tool_use_id", "call_id"] {
            let id = text(step, of);
            if !id.is_empty() && !text(step, "type").ends_with("_call") {
                results.insert(id, step.clone());
            }
        }
    }
    let mut steps = steps.into_iter();
    let mut last = None;
    for block in &mut answer.blocks {
        match block {
            Block::Raw(_) => last = steps.next(),
            Block::ServerCall(call) => {
                let Some(step) = last.take() else { continue };
                let Some(call) = Rc::get_mut(call) else { continue };
                describe(call, &step, results.get(text(&step, "id")));
                answer.usage.searches += searches(&step, unit);
            }
            _ => {}
        }
    }
    let mut sources = Vec::new();
    let (mut part, mut said) = (0, None);
    for block in &answer.blocks {
        match block {
            Block::Text(text) => said = Some((part, text.as_str())),
            Block::Extra(extra) => {
                let extra = json::parse(extra).unwrap_or_default();
                for item in ["citations", "annotations"].iter().flat_map(|of| extra.get(of)).flat_map(items) {
                    add(cited(item, said, unit), &mut sources);
                }
            }
            Block::Raw(text) if find::has(text, "fetch") || find::has(text, "url_context") => {
                pages(&json::parse(text).unwrap_or_default(), DEEPEST, &mut sources);
            }
            _ => {}
        }
        part += u64::from(block.is_shown());
    }
    answer.blocks.extend(sources.into_iter().map(|cited| Block::Cited(Rc::new(cited))));
}

/// Takes up a source that is not there yet.
fn add(source: Option<Cited>, sources: &mut Vec<Cited>) {
    if let Some(source) = source
        && sources.len() < SOURCES
        && !sources.contains(&source)
    {
        sources.push(source);
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What was asked and what was given, by the provider's own words of the call, and of its result where that is apart.
fn describe(call: &mut ServerCall, step: &Value, result: Option<&Value>) {
    call.id = text(step, "id").into();
    let asked = ["input", "arguments", "action", "code", "queries"].iter().find_map(|name| {
        let value = step.get(*name)?;
        Some(match value {
            Value::String(code) if *name == "code" => {
                ["{\"code\":", &json::json(&code.as_str().into()), "}"].concat()
            }
            Value::String(text) => text.clone(),
            value => json::json(value),
        })
    });
    call.arguments = asked.unwrap_or_else(|| "{}".into());
    // Items of Responses have what came of them, and are told when they are over.
    let status = text(step, "status");
    let of = result.unwrap_or(step);
    if result.is_none() && status.is_empty() {
        return;
    }
    let mut said = String::new();
    let picture = text(step, "type").starts_with("image");
    let mut failed = matches!(status, "failed" | "incomplete");
    for name in ["content", "result", "outputs", "results", "output", "error"].iter().filter(|_| !picture) {
        failed |= gather(of.get(*name).unwrap_or(&Value::Null), DEEPEST, &mut said);
    }
    failed |= of.get("is_error") == Some(&Value::Bool(true));
    call.result = find::beginning(said.trim(), RESULT).into();
    call.done = Some(!failed);
}

/// Adds what can be read of what a call gave. Whether it says that it has failed.
fn gather(value: &Value, depth: u8, said: &mut String) -> bool {
    let Some(depth) = depth.checked_sub(1).filter(|_| said.len() < RESULT * 4) else { return false };
    match value {
        Value::String(text) => line(text, said),
        Value::Array(all) => {
            let mut failed = false;
            for value in all {
                failed |= gather(value, depth, said);
            }
            return failed;
        }
        Value::Object(_) => {
            let url = text(value, "url");
            if !url.is_empty() {
                line([text(value, "title"), " ", url].concat().trim(), said);
            }
            let code = text(value, "error_code");
            line(code, said);
            let mut failed =
                !code.is_empty() || value.get("return_code").and_then(Value::as_i64).unwrap_or(0) != 0;
            // The bytes of a document are nothing to read.
            if text(value, "type") == "base64" {
                return failed;
            }
            for name in ["stdout", "stderr", "logs", "text", "data", "message", "content", "source", "result"]
            {
                failed |= value.get(name).is_some_and(|value| gather(value, depth, said));
            }
            return failed;
        }
        _ => {}
    }
    false
}

fn line(text: &str, said: &mut String) {
    let text = text.trim();
    if !text.is_empty() {
        said.push_str(if said.is_empty() { "" } else { "\n" });
        said.push_str(text);
    }
}

/// How many searches a call has made that its provider bills by what it says of the call.
fn searches(step: &Value, unit: Unit) -> u64 {
    match text(step, "type") {
        // OpenAI bills what searches, and not what opens a page or looks in one.
        "web_search_call" => {
            u64::from(step.get("action").is_some_and(|action| text(action, "type") == "search"))
        }
        // Google bills each query.
        "google_search_call" if unit == Unit::Bytes => {
            let queries = step.get("arguments").and_then(|arguments| arguments.get("queries"));
            queries.map_or(0, |queries| items(queries).len() as u64)
        }
        // Anthropic counts them itself.
        _ => 0,
    }
}

/// A source, as a provider cites it: of this text, which is this part.
fn cited(item: &Value, said: Option<(u64, &str)>, unit: Unit) -> Option<Cited> {
    let inner = item.get("url_citation").unwrap_or(item);
    // Some say no more than the address.
    let url = [item.as_str().unwrap_or_default(), text(inner, "url"), text(inner, "uri")];
    let url = url.into_iter().find(|url| is_web(url))?;
    let either = |one: &str, other: &str| {
        let one = text(inner, one);
        String::from(if one.is_empty() { text(inner, other) } else { one })
    };
    let place = |name: &str| inner.get(name).and_then(Value::as_u64).filter(|_| unit != Unit::All);
    let mut at = Vec::new();
    if let Some((part, said)) = said {
        at.push(part);
        if let Some((from, to)) = place("start_index").zip(place("end_index")).filter(|(from, to)| from < to)
        {
            at.extend([from, to].map(|to| units(said, usize::try_from(to).unwrap_or(usize::MAX), unit)));
        }
    }
    let (title, text) = (either("title", "document_title"), either("cited_text", "content"));
    Some(Cited { url: url.into(), title, text, at })
}

/// Whether an address is one of the web: no other is told.
fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

/// How many UTF-16 units of a text are before this place.
fn units(text: &str, to: usize, unit: Unit) -> u64 {
    let before = match unit {
        Unit::Bytes => text.get(..text.floor_char_boundary(to)).unwrap_or_default(),
        _ => text.char_indices().nth(to).map_or(text, |(at, _)| text.get(..at).unwrap_or_default()),
    };
    before.encode_utf16().count() as u64
}

/// The pages that a call has fetched.
fn pages(value: &Value, depth: u8, sources: &mut Vec<Cited>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Array(all) => all.iter().for_each(|value| pages(value, depth, sources)),
        Value::Object(_) => {
            let url = text(value, "url");
            let known = sources.iter().any(|source| source.url == url);
            if is_web(url) && !known && !matches!(text(value, "status"), "error" | "paywall" | "unsafe") {
                let title = value.get("content").map(|content| text(content, "title")).unwrap_or_default();
                add(Some(Cited { url: url.into(), title: title.into(), ..Cited::default() }), sources);
            }
            for name in ["content", "result"] {
                value.get(name).into_iter().for_each(|value| pages(value, depth, sources));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{StopReason, Usage};
    use serde_json::json;

    fn told(blocks: Vec<Block>, unit: Unit) -> Answer {
        let mut answer = Answer {
            blocks,
            stop: Some(StopReason::EndTurn),
            usage: Usage::default(),
            model: None,
            id: None,
        };
        tell(&mut answer, unit);
        answer
    }

    fn raw(value: Value) -> Block {
        Block::Raw(value.to_string())
    }

    fn call(name: &str) -> Block {
        Block::ServerCall(ServerCall::named(name))
    }

    fn calls(answer: &Answer) -> Vec<&ServerCall> {
        let call = |block: &'_ Block| matches!(block, Block::ServerCall(_));
        let calls = answer.blocks.iter().filter(|block| call(block));
        calls
            .map(|block| if let Block::ServerCall(call) = block { &**call } else { panic!("{block:?}") })
            .collect()
    }

    fn sources(answer: &Answer) -> Vec<&Cited> {
        let blocks = answer.blocks.iter();
        blocks
            .filter_map(|block| if let Block::Cited(cited) = block { Some(&**cited) } else { None })
            .collect()
    }

    #[test]
    fn a_search_a_fetched_page_and_a_program_of_anthropics() {
        let found = json!([
            {"type": "web_search_result", "title": "The shop", "url": "https://shop.example/", "encrypted_content": "c2Vh"},
            {"type": "web_search_result", "title": "", "url": "https://other.example/"},
        ]);
        let page = json!({"type": "web_fetch_result", "url": "https://shop.example/a", "content":
            {"type": "document", "title": "A", "source": {"type": "text", "media_type": "text/plain", "data": "Open till six."}}});
        let pdf = json!({"type": "web_fetch_result", "url": "https://shop.example/b.pdf", "content":
            {"type": "document", "title": "B", "source": {"type": "base64", "data": "AAAA"}}});
        let answer = told(
            vec![
                raw(json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "shop"}})),
                call("web_search"),
                raw(json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": found})),
                raw(json!({"type": "server_tool_use", "id": "s2", "name": "web_fetch", "input": {"url": "u"}})),
                call("web_fetch"),
                raw(json!({"type": "web_fetch_tool_result", "tool_use_id": "s2", "content": page})),
                raw(json!({"type": "web_fetch_tool_result", "tool_use_id": "s9", "content": pdf})),
                raw(json!({"type": "server_tool_use", "id": "s3", "name": "bash_code_execution", "input": {"command": "no"}})),
                call("bash_code_execution"),
                raw(json!({"type": "bash_code_execution_tool_result", "tool_use_id": "s3",
                    "content": {"type": "bash_code_execution_result", "stdout": "half\n", "stderr": "no", "return_code": 127}})),
                raw(json!({"type": "server_tool_use", "id": "s4", "name": "web_search", "input": {}})),
                call("web_search"),
                raw(json!({"type": "web_search_tool_result", "tool_use_id": "s4",
                    "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}})),
                raw(json!({"type": "server_tool_use", "id": "s5", "name": "web_search", "input": {}})),
                call("web_search"),
                Block::Text("Till six.".into()),
                Block::Extra(
                    json!({"citations": [
                        {"type": "web_search_result_location", "url": "https://shop.example/", "title": "The shop", "cited_text": "till six"},
                        {"type": "web_search_result_location", "url": "javascript:alert(1)", "title": "no"},
                        {"type": "char_location", "document_title": "no address", "cited_text": "x"},
                    ]})
                    .to_string(),
                ),
            ],
            Unit::All,
        );
        let calls = calls(&answer);
        let of = |at: usize| {
            (calls[at].id.as_str(), calls[at].arguments.as_str(), calls[at].result.as_str(), calls[at].done)
        };
        assert_eq!(
            of(0),
            (
                "s1",
                r#"{"query":"shop"}"#,
                "The shop https://shop.example/\nhttps://other.example/",
                Some(true)
            )
        );
        assert_eq!(of(1), ("s2", r#"{"url":"u"}"#, "https://shop.example/a\nOpen till six.", Some(true)));
        assert_eq!(of(2), ("s3", r#"{"command":"no"}"#, "half\nno", Some(false)));
        assert_eq!(of(3), ("s4", "{}", "max_uses_exceeded", Some(false)));
        assert_eq!(of(4), ("s5", "{}", "", None));
        let sources = sources(&answer);
        let titles: Vec<(&str, &str)> = sources.iter().map(|s| (s.url.as_str(), s.title.as_str())).collect();
        assert_eq!(
            titles,
            [
                ("https://shop.example/a", "A"),
                ("https://shop.example/b.pdf", "B"),
                ("https://shop.example/", "The shop")
            ]
        );
        assert_eq!((sources[2].text.as_str(), sources[2].at.clone()), ("till six", vec![5]));
        assert!(matches!(answer.blocks.last(), Some(Block::Cited(_))));
    }

    #[test]
    fn items_of_responses() {
        let text = "🍎 is red";
        let annotation = json!({"type": "url_citation", "url": "https://a.example/", "title": "A", "start_index": 2, "end_index": 4});
        let answer = told(
            vec![
                raw(
                    json!({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}}),
                ),
                call("web_search"),
                raw(
                    json!({"type": "web_search_call", "id": "op", "status": "completed", "action": {"type": "open_page", "url": "u"}}),
                ),
                call("web_search"),
                raw(
                    json!({"type": "code_interpreter_call", "id": "ci", "status": "completed", "code": "1+1",
                    "outputs": [{"type": "logs", "logs": "2"}]}),
                ),
                call("code_interpreter"),
                raw(
                    json!({"type": "image_generation_call", "id": "ig", "status": "failed", "result": "AAAA"}),
                ),
                call("image_generation"),
                Block::Text(text.into()),
                Block::Extra(json!({"annotations": [annotation, annotation]}).to_string()),
            ],
            Unit::Chars,
        );
        let calls = calls(&answer);
        let of = |at: usize| (calls[at].arguments.as_str(), calls[at].result.as_str(), calls[at].done);
        assert_eq!(of(0), (r#"{"query":"q","type":"search"}"#, "", Some(true)));
        assert_eq!(of(2), (r#"{"code":"1+1"}"#, "2", Some(true)));
        assert_eq!(of(3), ("{}", "", Some(false)));
        assert_eq!(answer.usage.searches, 1);
        let sources = sources(&answer);
        assert_eq!(sources.len(), 1);
        assert_eq!(sources[0].at, [4, 3, 5]);
        assert_eq!(
            text.encode_utf16().skip(3).take(2).collect::<Vec<_>>(),
            "is".encode_utf16().collect::<Vec<_>>()
        );
    }

    #[test]
    fn steps_of_googles() {
        let answer = told(
            vec![
                raw(json!({"type": "google_search_call", "id": "g", "arguments": {"queries": ["a", "b"]}})),
                call("google_search"),
                raw(json!({"type": "google_search_result", "call_id": "g", "result": [{"search_suggestions": "<html>"}]})),
                raw(json!({"type": "code_execution_call", "id": "c", "arguments": {"code": "x"}})),
                call("code_execution"),
                raw(json!({"type": "code_execution_result", "call_id": "c", "result": "7", "is_error": true})),
                raw(json!({"type": "url_context_call", "id": "u", "arguments": {"urls": ["https://u.example/"]}})),
                call("url_context"),
                raw(json!({"type": "url_context_result", "call_id": "u", "result": [
                    {"url": "https://u.example/", "status": "success"}, {"url": "https://v.example/", "status": "error"}]})),
                Block::Text("é red".into()),
                Block::Extra(
                    json!({"annotations": [{"type": "url_citation", "url": "https://g.example/", "title": "G", "start_index": 3, "end_index": 6}]})
                        .to_string(),
                ),
            ],
            Unit::Bytes,
        );
        let calls = calls(&answer);
        assert_eq!(
            (calls[0].result.as_str(), calls[1].result.as_str(), calls[1].done),
            ("", "7", Some(false))
        );
        assert_eq!(answer.usage.searches, 2);
        let sources = sources(&answer);
        assert_eq!(
            sources.iter().map(|s| s.url.as_str()).collect::<Vec<_>>(),
            ["https://u.example/", "https://g.example/"]
        );
        assert_eq!(sources[1].at, [3, 2, 5]);
    }
}
