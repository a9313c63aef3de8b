//! A conversation from elsewhere that a session begins with.
//!
//! Decides what of it is taken: what was said, and every tool call with an end. Promises: it is judged whole before any of
//! it is taken. What comes of it can be sent to every provider, like any conversation. It has used up nothing here, and
//! leaves no receipts. Leaves to others: when it may be given and under which ids (`harness/`).
//!
//! Answers that follow each other are one. Thinking is shown, and sent to nobody: it has no signature. Where the results
//! of tools come from nobody knows, so they are text from outside.

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::journal::{Entry, Header, Outside, blocks_from_json, blocks_to_json};
use crate::json;
use crate::list::Listed;
use crate::model::{Block, Cited, File, ServerCall};
use crate::object::Object;
use crate::rooms::{Room, enter};
use crate::run::{Ended, Outcome, Prompt, Run, Settled};
use crate::tools::ToolText;
use serde_json::Value;

/// How many messages may be given, and how many tool calls.
const MOST: usize = 10_000;
/// How many bytes of JSON they may have together: a model of the largest window reads half of it.
const BYTES: usize = 8 * 1024 * 1024;
/// How long the id or the name of a call may be, in bytes.
const NAME: usize = 256;

/// What was said before an answer, and the answer.
struct Exchange {
    text: String,
    files: Vec<Block>,
    metadata: Option<Value>,
    said_at: Option<u64>,
    blocks: Vec<Block>,
    ends: Vec<Value>,
    outcome: Outcome,
    model: Option<String>,
}

/// The entries of a conversation, `Message[]` of the contract; the ids of its messages are made of `fresh`. A door of the
/// room `past`.
///
/// # Errors
/// `invalid_arguments`, naming the message.
#[inline(never)]
pub fn adopted(messages: &Value, fresh: &str) -> Result<Vec<Entry>, ErrorInfo> {
    enter(Room::Past);
    let given = messages.as_array().ok_or_else(|| refused("must be a list of messages"))?;
    let few = |count: usize, what: &str| match count > MOST {
        true => Err(refused(&["has more than 10000 ", what].concat()).hint("leave out the oldest")),
        false => Ok(()),
    };
    few(given.len(), "messages")?;
    if json::json(messages).len() > BYTES {
        return Err(refused("has more than 8 MB").hint("leave out the oldest: no model reads that much"));
    }
    let mut exchanges = Vec::new();
    for (at, message) in given.iter().enumerate() {
        take(message, &mut exchanges, false)
            .map_err(|why| refused(&["[", &at.to_string(), "]", &why].concat()))?;
    }
    few(exchanges.iter().map(|exchange| exchange.ends.len()).sum(), "tool calls")?;
    Ok(entries(exchanges, fresh, &Outside::default()))
}

/// The same of what was said in a session of this workspace, as far as it can be taken, with its files. `outside`: where the text
/// from outside comes from that it held.
pub(super) fn taken_along(messages: &[Value], fresh: &str, outside: &Outside) -> Vec<Entry> {
    let mut exchanges = Vec::new();
    for message in messages {
        // An answer to what is lost, or a message without a word.
        let _ = take(message, &mut exchanges, true);
    }
    entries(exchanges, fresh, outside)
}

fn entries(exchanges: Vec<Exchange>, fresh: &str, outside: &Outside) -> Vec<Entry> {
    let entry = |(at, exchange): (usize, Exchange)| Entry::Adopted {
        message: ["msg_", fresh, "_", &at.to_string()].concat(),
        text: exchange.text,
        files: exchange.files,
        metadata: exchange.metadata,
        said_at: exchange.said_at,
        blocks: exchange.blocks,
        ends: (!exchange.ends.is_empty()).then(|| exchange.ends.into()),
        outcome: exchange.outcome.into(),
        model: exchange.model,
        outside: outside.clone(),
    };
    exchanges.into_iter().enumerate().map(entry).list()
}

fn refused(why: &str) -> ErrorInfo {
    ErrorInfo::new(
        Code::InvalidArguments,
        ["messages", if why.starts_with('[') { "" } else { " " }, why].concat(),
    )
}

/// Takes up one message. What is wrong with it begins behind its place, as `.parts[0] needs "text"`. `own`: it was said in this
/// workspace, which has its files.
fn take(message: &Value, exchanges: &mut Vec<Exchange>, own: bool) -> Result<(), String> {
    let text = |name: &str| message.get(name).and_then(Value::as_str);
    let parts = message.get("parts").and_then(Value::as_array).ok_or(" needs \"parts\", a list")?;
    match text("role") {
        Some("user") => exchanges.push(Exchange {
            files: if own { files_of(parts) } else { Vec::new() },
            text: said(parts, own)?,
            metadata: message.get("metadata").filter(|metadata| !metadata.is_null()).cloned(),
            said_at: message.get("createdAt").and_then(Value::as_u64),
            blocks: Vec::new(),
            ends: Vec::new(),
            // Until there is an answer.
            outcome: Outcome::Interrupted,
            model: None,
        }),
        Some("assistant") => {
            let exchange =
                exchanges.last_mut().ok_or(" is an answer; a conversation begins with a person's message")?;
            exchange.outcome = match text("status") {
                None | Some("complete") => Outcome::Completed,
                Some("partial" | "interrupted") => Outcome::Interrupted,
                Some("failed") => Outcome::Failed,
                Some(_) => return Err(" has a \"status\" that there is not".into()),
            };
            exchange.model = text("model").map(Into::into);
            for (at, part) in parts.iter().enumerate() {
                answered(part, exchange, own).map_err(|why| of_part(at, why))?;
            }
        }
        _ => {
            return Err(
                " needs \"role\" to be \"user\" or \"assistant\"; instructions go to startAgent".into()
            );
        }
    }
    Ok(())
}

/// What is wrong with a part.
fn of_part(at: usize, why: &str) -> String {
    [".parts[", &at.to_string(), "] ", why].concat()
}

/// What a person has said; `own`: with files, and perhaps with nothing else.
fn said(parts: &[Value], own: bool) -> Result<String, String> {
    let mut texts = Vec::new();
    let mut with_files = false;
    for (at, part) in parts.iter().enumerate() {
        match text_of(part) {
            Some(text) => texts.push(text),
            None if own && kind_of(part) == "file" => with_files = true,
            None => return Err(of_part(at, "is no text; files cannot be given here")),
        }
    }
    let text = find::join(&texts, "\n");
    if text.trim().is_empty() && !with_files { Err(" has no text".into()) } else { Ok(text) }
}

/// The files among the parts of a message, or of a tool's result.
fn files_of(parts: &[Value]) -> Vec<Block> {
    let file = |part: &Value| {
        let text = |name: &str| part.get(name).and_then(Value::as_str);
        Some(Block::File(File {
            id: text("fileId")?.into(),
            media_type: text("mediaType")?.into(),
            size: part.get("size").and_then(Value::as_u64)?,
            name: text("filename").unwrap_or_default().into(),
            gone: part.get("gone").is_some(),
        }))
    };
    parts.iter().filter(|part| kind_of(part) == "file").filter_map(file).list()
}

fn text_of(part: &Value) -> Option<&str> {
    part.get("text").and_then(Value::as_str).filter(|_| kind_of(part) == "text")
}

fn kind_of(part: &Value) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Takes up a part of an answer.
fn answered(part: &Value, exchange: &mut Exchange, own: bool) -> Result<(), &'static str> {
    let text = || part.get("text").and_then(Value::as_str).ok_or("needs \"text\"");
    let block = match kind_of(part) {
        "text" => Block::Text(text()?.into()),
        "thinking" => Block::Thinking { text: text()?.into(), signature: None },
        "source" => Block::Cited(source_of(part)?.into()),
        "tool-call" if part.get("by").and_then(Value::as_str) == Some("provider") => {
            Block::ServerCall(served_call(part)?.into())
        }
        "tool-call" => {
            let name = |member: &str| {
                let name = part.get(member).and_then(Value::as_str)?;
                (!name.is_empty() && name.len() <= NAME).then(|| name.to_owned())
            };
            let (Some(id), Some(tool)) = (name("toolCallId"), name("tool")) else {
                return Err("needs \"toolCallId\" and \"tool\", texts of up to 256 bytes");
            };
            exchange.ends.push(end_of(part, own)?);
            let arguments = match part.get("arguments") {
                None | Some(Value::Null) => "{}".into(),
                // What a model wrote that is no JSON.
                Some(Value::String(text)) => text.clone(),
                Some(arguments) => json::json(arguments),
            };
            Block::ToolCall { id, name: tool, arguments }
        }
        _ => return Err("is neither text, thinking, a tool call nor a source"),
    };
    if block.is_shown() {
        exchange.blocks.push(block);
    }
    Ok(())
}

/// Where an answer has something from. Its place is not told: what stands there may be other parts here.
fn source_of(part: &Value) -> Result<Cited, &'static str> {
    let text = |name: &str| String::from(part.get(name).and_then(Value::as_str).unwrap_or_default());
    let url = text("url");
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err("needs \"url\", an address of the web");
    }
    Ok(Cited { url, title: text("title"), text: text("citedText"), at: Vec::new() })
}

/// A call that a provider has carried out.
fn served_call(part: &Value) -> Result<ServerCall, &'static str> {
    let text = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text("tool");
    if name.is_empty() || name.len() > NAME {
        return Err("needs \"tool\", a text of up to 256 bytes");
    }
    let arguments = part.get("arguments").map_or_else(|| "{}".into(), json::json);
    let done = match text("status") {
        "completed" => Some(true),
        "failed" => Some(false),
        _ => None,
    };
    let result = ToolText::new(text("result").into()).text;
    Ok(ServerCall { id: text("toolCallId").into(), name: name.into(), arguments, result, done })
}

/// How a tool call ended, as the journal has it.
fn end_of(part: &Value, own: bool) -> Result<Value, &'static str> {
    let result = part.get("result");
    let standard = match part.get("status").and_then(Value::as_str) {
        Some("completed") => None,
        None if result.is_some() => None,
        Some("failed") => Some((Code::ToolFailed, "the call failed")),
        Some("denied") => Some((Code::PermissionDenied, "nobody allowed the call")),
        Some("unknown") => Some((Code::UnknownOutcome, "nobody knows whether the call took effect")),
        None | Some("receiving" | "waiting" | "started") => {
            Some((Code::ToolInterrupted, "the call had not ended when this conversation was taken along"))
        }
        Some(_) => return Err("has a \"status\" that there is not"),
    };
    let error = standard.map(|(code, message)| match part.get("error").filter(|error| error.is_object()) {
        Some(given) => ErrorInfo::from_json(given),
        None => ErrorInfo::new(code, message),
    });
    let (text, is_json) = match (&error, result) {
        (Some(error), _) => (error.for_model(), false),
        (None, None) => (String::new(), false),
        (None, Some(Value::String(text))) => (text.clone(), false),
        (None, Some(result)) => (json::json(result), true),
    };
    let mut end = Object::new();
    end.text("text", &ToolText::new(text).text).flag("json", is_json);
    let files = part.get("files").filter(|_| own).map(|files| files_of(json::items(files)));
    end.maybe("files", files.map(|files| blocks_to_json(&files)));
    Ok(end.maybe("error", error.map(|error| error.to_json())).done())
}

/// The run that an entry tells of. `None`: it does not fit together.
pub(super) fn run_of(header: &Header, entry: &Entry) -> Option<Run> {
    let Entry::Adopted { message, text, files, metadata, said_at, blocks, ends, outcome, model, .. } = entry
    else {
        return None;
    };
    let prompt = Prompt {
        message: message.clone(),
        text: text.clone(),
        files: files.clone(),
        metadata: metadata.clone(),
        ..Prompt::default()
    };
    let settled = |end: &Value| {
        Some(Settled {
            text: end.get("text")?.as_str()?.into(),
            json: end.get("json")?.as_bool()?,
            error: end.get("error").map(ErrorInfo::from_json),
            cut: None,
            files: end.get("files").map_or_else(|| Some(Vec::new()), blocks_from_json)?,
        })
    };
    let ends = match ends {
        Some(ends) => json::items(ends).iter().map(settled).whole()?,
        None => Vec::new(),
    };
    let ended = Ended { at: header.at, outcome: outcome.known()?, error: None };
    let run = Run::new(header.run.clone()?, said_at.unwrap_or(header.at), prompt);
    run.over(blocks, ends, ended, model.as_deref())
}
