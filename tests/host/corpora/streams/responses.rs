//! OpenAI Responses, and what is shaped like it.

use super::*;
use lodger::model::{StopReason, Usage};
use serde_json::json;
use std::collections::BTreeSet;

pub const READING: Reading = Reading {
    wire: Wire::OpenAiResponses,
    path: "/responses",
    mark: "\"object\":\"response\"",
    own: ("openai-responses", 16),
    events: sse_events,
    check,
};

/// What is shown, in order; each with the index of its item.
#[derive(Debug)]
enum Part {
    /// The pieces, by what text of the item they are of; or the whole, where none came.
    Said { item: u64, thinking: bool, texts: Vec<(String, String)>, whole: Option<String> },
    /// Its place among the arguments.
    Call { item: u64, name: String },
}

/// What a stream says, read from its JSON.
#[derive(Default)]
struct Read {
    parts: Vec<Part>,
    /// What has come of the arguments of a call.
    arguments: BTreeMap<u64, String>,
    /// The items that are neither text nor call and have begun.
    kept: BTreeSet<u64>,
    /// The items that are whole, by their index.
    items: BTreeMap<u64, Value>,
    /// The call that came last, as long as it is not whole and nothing has come after it.
    open: Option<u64>,
    refused: bool,
    stop: Option<Value>,
    failure: Option<Code>,
    usage: Value,
}

impl Read {
    fn piece(&mut self, thinking: bool, event: &Value, text: &str) {
        if text.is_empty() {
            return;
        }
        let index = event["output_index"].as_u64().unwrap();
        let place = format!("{} {} {}", event["type"], event["content_index"], event["summary_index"]);
        let at = self.said(thinking, index);
        let Part::Said { texts, .. } = &mut self.parts[at] else { unreachable!() };
        match texts.iter_mut().find(|(other, _)| *other == place) {
            Some((_, known)) => known.push_str(text),
            None => texts.push((place, text.into())),
        }
    }

    fn said(&mut self, wanted: bool, index: u64) -> usize {
        let same = |part: &Part| matches!(part, Part::Said { item, thinking, .. } if (*item, *thinking) == (index, wanted));
        self.parts.iter().position(same).unwrap_or_else(|| {
            self.open = None;
            self.parts.push(Part::Said { item: index, thinking: wanted, texts: vec![], whole: None });
            self.parts.len() - 1
        })
    }

    /// The text of an item that is whole. It goes on from its pieces; where they say something else, they have been
    /// shown.
    fn whole(&mut self, thinking: bool, index: u64, text: String) {
        if text.is_empty() {
            return;
        }
        let at = self.said(thinking, index);
        let Part::Said { texts, whole, .. } = &mut self.parts[at] else { unreachable!() };
        let pieces: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        *whole = text.starts_with(&pieces.join("\n\n")).then_some(text);
    }

    /// The text of an item as it was shown.
    fn text(&self, thinking: bool, index: u64) -> String {
        let same = |part: &&Part| matches!(part, Part::Said { item, thinking: is, .. } if (*item, *is) == (index, thinking));
        match self.parts.iter().find(same) {
            Some(Part::Said { whole: Some(whole), .. }) => whole.clone(),
            Some(Part::Said { texts, .. }) => {
                texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n\n")
            }
            _ => String::new(),
        }
    }

    fn begins(&mut self, index: u64, item: &Value) {
        match item["type"].as_str().unwrap() {
            "message" => {}
            "function_call" => {
                self.open = Some(index);
                self.arguments.insert(index, item["arguments"].as_str().unwrap_or("").into());
                if let Some(name) = item["name"].as_str() {
                    self.parts.push(Part::Call { item: index, name: name.into() });
                }
            }
            _ => {
                self.open = None;
                self.kept.insert(index);
            }
        }
    }

    fn ends(&mut self, index: u64, item: &Value) {
        let texts = |list: &str, kind: &str| {
            let parts = item[list].as_array().into_iter().flatten();
            let texts = parts.filter(|part| part["type"] == kind).map(|part| part["text"].as_str().unwrap());
            texts.collect::<Vec<_>>().join("\n\n")
        };
        match item["type"].as_str().unwrap() {
            "message" => {
                self.refused |= texts_of_refusal(item);
                self.whole(false, index, texts("content", "output_text"));
            }
            "function_call" => {
                if !self.arguments.contains_key(&index) {
                    self.begins(index, item);
                }
                let named = |part: &Part| matches!(part, Part::Call { item, .. } if *item == index);
                if !self.parts.iter().any(named) {
                    self.parts.push(Part::Call { item: index, name: item["name"].as_str().unwrap().into() });
                }
                if item["arguments"] != "" {
                    self.arguments.insert(index, item["arguments"].as_str().unwrap().into());
                }
                self.open = self.open.filter(|open| *open != index);
            }
            kind => {
                if kind == "reasoning" {
                    let summary = texts("summary", "summary_text");
                    let plain = texts("content", "reasoning_text");
                    self.whole(true, index, if summary.is_empty() { plain } else { summary });
                }
                if self.kept.insert(index) {
                    self.open = None;
                }
            }
        }
        self.items.insert(index, item.clone());
    }
}

fn texts_of_refusal(item: &Value) -> bool {
    item["content"].as_array().unwrap().iter().any(|part| part["type"] == "refusal")
}

fn read(events: &[(usize, String)]) -> Read {
    let mut said = Read { failure: Some(Code::StreamBroken), ..Read::default() };
    for (_, data) in events {
        if data == "[DONE]" {
            continue;
        }
        let event: Value = serde_json::from_str(data).unwrap();
        let index = event["output_index"].as_u64().unwrap_or_default();
        let delta = event["delta"].as_str().unwrap_or_default();
        let error = |error: &Value| match error["code"].as_str().unwrap() {
            "insufficient_quota" => Code::Quota,
            "rate_limit_exceeded" => Code::RateLimit,
            "server_error" => Code::Server,
            other => panic!("an error that this test does not know: {other}"),
        };
        match event["type"].as_str().unwrap() {
            "response.output_text.delta" => said.piece(false, &event, delta),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                said.piece(true, &event, delta);
            }
            "response.refusal.delta" => said.refused = true,
            "response.function_call_arguments.delta" => {
                said.arguments.get_mut(&index).unwrap().push_str(delta);
            }
            "response.function_call_arguments.done" => {
                said.arguments.insert(index, event["arguments"].as_str().unwrap().into());
                said.open = said.open.filter(|open| *open != index);
            }
            "response.output_item.added" => said.begins(index, &event["item"]),
            "response.output_item.done" => said.ends(index, &event["item"]),
            "response.completed" | "response.incomplete" | "response.done" => {
                let response = &event["response"];
                if said.items.is_empty() {
                    for (index, item) in (0..).zip(response["output"].as_array().unwrap()) {
                        said.ends(index, item);
                    }
                }
                said.stop = Some(response["incomplete_details"]["reason"].clone());
                said.usage = response["usage"].clone();
                said.failure = None;
                break;
            }
            "response.failed" => {
                said.usage = event["response"]["usage"].clone();
                said.failure = Some(error(&event["response"]["error"]));
                break;
            }
            "error" => {
                let nested = &event["error"];
                said.failure = Some(error(if nested.is_object() { nested } else { &event }));
                break;
            }
            _ => {}
        }
    }
    said
}

fn check(name: &str, bytes: &[u8], events: &[(usize, String)]) -> &'static str {
    let said = read(events);
    let outcome = decode(Wire::OpenAiResponses, [bytes]);
    let answer = answer_of(&outcome);
    assert_eq!(outcome.1.as_ref().err().map(|(error, _)| error.code), said.failure, "{name}");
    let reason = said.stop.as_ref().and_then(Value::as_str);
    let calls: Vec<&Block> =
        answer.blocks.iter().filter(|block| matches!(block, Block::ToolCall { .. })).collect();
    let kind = match (said.failure, reason) {
        (Some(code), _) => code.as_str(),
        (None, _) if said.refused => "refusal",
        (None, Some("content_filter")) => "refusal",
        (None, Some("max_output_tokens")) => "max_tokens",
        (None, None) if said.arguments.is_empty() => "end_turn",
        (None, None) => "tool_use",
        (None, other) => panic!("{name}: a reason that this test does not know: {other:?}"),
    };
    let stop = match &answer.stop {
        None => said.failure.unwrap().as_str(),
        Some(StopReason::EndTurn) => "end_turn",
        Some(StopReason::ToolUse) => "tool_use",
        Some(StopReason::MaxTokens) => "max_tokens",
        Some(StopReason::Refusal(words)) => {
            assert_eq!(words.is_some(), said.refused, "{name}");
            "refusal"
        }
        Some(other) => panic!("{name}: no such stream says {other:?}"),
    };
    assert_eq!(stop, kind, "{name}");

    // The last call of what broke off or was cut is kept only if it is surely whole.
    let last = said.parts.iter().rev().find_map(|part| match part {
        Part::Call { item, .. } => Some(*item),
        Part::Said { .. } => None,
    });
    let left_out = match said.failure {
        Some(_) => said.open,
        None if kind == "max_tokens" => {
            last.filter(|item| serde_json::from_str::<Value>(&said.arguments[item]).is_err())
        }
        None => None,
    };
    let mut expected = Vec::new();
    for part in &said.parts {
        match part {
            Part::Said { item, thinking, .. } => expected.push((*thinking, said.text(*thinking, *item))),
            Part::Call { item, .. } if left_out == Some(*item) => {}
            Part::Call { item, name } => {
                let arguments = said.arguments[item].clone();
                let arguments = if arguments.is_empty() { "{}".into() } else { arguments };
                expected.push((false, format!("{name}({arguments})")));
            }
        }
    }
    let shown: Vec<(bool, String)> = answer
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some((false, text.clone())),
            Block::Thinking { text, signature: None } => Some((true, text.clone())),
            Block::ToolCall { name, arguments, .. } => Some((false, format!("{name}({arguments})"))),
            Block::Raw(_) | Block::Extra(_) | Block::ServerCall(_) | Block::Cited(_) => None,
            other => panic!("{name}: {other:?}"),
        })
        .collect();
    assert_eq!(shown, expected, "{name}");
    if said.failure.is_none() {
        let wanted: Vec<&Value> =
            said.items.values().filter(|item| item["type"] == "function_call").collect();
        let ids: Vec<&Value> = wanted.iter().map(|item| &item["call_id"]).collect();
        let ids_found: Vec<Value> = calls
            .iter()
            .map(|block| match block {
                Block::ToolCall { id, .. } => json!(id),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(ids_found.iter().all(|id| ids.contains(&id)), "{name}: {ids_found:?} {ids:?}");
    }
    assert_eq!(answer.usage, usage(&said.usage), "{name}");
    check_shown(name, &outcome);
    check_sent_back(name, answer, &said, left_out);
    kind
}

/// The answer as the next request carries it to the same provider: the items that are whole, but for what it refuses;
/// and what is shown, to others.
fn check_sent_back(name: &str, answer: &Answer, said: &Read, left_out: Option<u64>) {
    let sent = |own: bool| {
        let message = Message { role: Role::Assistant, blocks: answer.blocks.clone(), own };
        let mut sent = String::new();
        Wire::OpenAiResponses.encode_message(&Dialect::RESPONSES, &message, &mut sent);
        serde_json::from_str::<Vec<Value>>(&format!("[{sent}]")).unwrap()
    };
    for item in sent(false) {
        assert!(["message", "function_call"].contains(&item["type"].as_str().unwrap()), "{name}: {item}");
        assert!(item.get("phase").is_none() && item.get("id").is_none(), "{name}: {item}");
    }
    if said.failure.is_some() {
        return;
    }
    let mut expected: Vec<Value> = Vec::new();
    for (index, item) in &said.items {
        let mut item = item.clone();
        let members = item.as_object_mut().unwrap();
        match members["type"].as_str().unwrap() {
            "message" => {
                members.retain(|name, value| !["id", "status"].contains(&name.as_str()) && !value.is_null());
                let parts = members["content"].as_array().unwrap();
                let mut part = json!({"type": "output_text", "text": said.text(false, *index)});
                match parts[0]["annotations"].as_array() {
                    Some(list) if !list.is_empty() && parts.len() == 1 => part["annotations"] = json!(list),
                    _ => {}
                }
                if part["text"].as_str().unwrap().trim().is_empty() {
                    continue;
                }
                members.insert("content".into(), json!([part]));
            }
            "function_call" if left_out == Some(*index) => continue,
            "function_call" => {
                members.retain(|name, value| !["id", "status"].contains(&name.as_str()) && !value.is_null());
                if members["arguments"] == "" {
                    members.insert("arguments".into(), json!("{}"));
                }
            }
            "reasoning" if members.get("encrypted_content").is_none_or(Value::is_null) => continue,
            "reasoning" => members.retain(|name, value| {
                !["id", "status", "content"].contains(&name.as_str()) && !value.is_null()
            }),
            "mcp_approval_request" => continue,
            kind => {
                let call = &members.get("call_id");
                let answers = |other: &Value| Some(&other["call_id"]) == *call && other["type"] != kind;
                if call.is_some() && !said.items.values().any(answers) {
                    continue;
                }
            }
        }
        expected.push(item);
    }
    while expected.last().is_some_and(|item| item["type"] == "reasoning") {
        expected.pop();
    }
    // Items go in the order in which they were shown.
    let mut found = sent(true);
    for items in [&mut found, &mut expected] {
        items.sort_by_key(Value::to_string);
    }
    assert_eq!(found, expected, "{name}");
}

fn usage(told: &Value) -> Usage {
    let number = |pointer: &str| told.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let read = number("/input_tokens_details/cached_tokens");
    let written = number("/input_tokens_details/cache_write_tokens");
    Usage {
        input_tokens: number("/input_tokens") - read - written,
        output_tokens: number("/output_tokens"),
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: number("/output_tokens_details/reasoning_tokens"),
        searches: 0,
    }
}
