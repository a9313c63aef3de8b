//! What a person sees: messages, one from the person and one from the assistant a run.
//!
//! Decides the shape of a message, its parts and its ids, as `js/index.d.ts` has them. Promises: a message that streams and
//! the same message read back later have the same ids and parts. Leaves to others: which runs are shown (the session), what
//! a model is sent (`prompt/`), and drawing.

use super::{Queued, Session, files_among};
use crate::error::{Code, ErrorInfo};
use crate::find::hidden;
use crate::journal::{CompactReason, Sums};
use crate::json;
use crate::list::Listed;
use crate::maps::sorted;
use crate::model::{Block, Cited, File, ServerCall, Usage};
use crate::object::Object;
use crate::ports::Millis;
use crate::rooms::{Room, enter};
use crate::run::{Call, CallState, Outcome, Prompt, Run, Said, Settled};
use crate::run::{Shortened, Steered, Summary, Turn, Until};
use serde_json::Value;

/// The conversation, the oldest first: the last `limit` messages before the message `before`.
/// `None`: there is no such message.
pub fn history(session: &Session, limit: Option<usize>, before: Option<&str>) -> Option<Vec<Value>> {
    messages(session, &session.conversation(), limit, before)
}

/// The same of the conversation as it was with this version of a message.
pub fn history_of_version(
    session: &Session,
    version: &str,
    limit: Option<usize>,
    before: Option<&str>,
) -> Option<Vec<Value>> {
    messages(session, &session.conversation_with(version)?, limit, before)
}

fn messages(
    session: &Session,
    runs: &[&Run],
    limit: Option<usize>,
    before: Option<&str>,
) -> Option<Vec<Value>> {
    let mut until = runs.len();
    // How many of the messages that have entered the last run come before: then its answer does not.
    let mut part = None;
    if let Some(id) = before {
        let entered = |run: &Run| run.steered.iter().position(|steered| steered.prompt.message == id);
        let is_prompt = |run: &Run| run.prompt.continues.is_none() && run.message().0 == id;
        let is_it = |run: &&Run| is_prompt(run) || run.is_answer(id) || entered(run).is_some();
        let at = runs.iter().position(is_it)?;
        let run = runs.get(at)?;
        part = if run.is_answer(id) { Some(run.steered.len()) } else { entered(run) };
        until = at + usize::from(part.is_some());
    }
    let limit = limit.unwrap_or(usize::MAX);
    let mut messages = Vec::new();
    for run in runs.iter().take(until).rev() {
        let before = part.take();
        if before.is_none() {
            messages.push(answer_of(session, run));
        }
        messages.append(&mut entered(run, before.unwrap_or(run.steered.len())));
        messages.extend(prompt_of(session, run));
        if messages.len() >= limit {
            break;
        }
    }
    messages.truncate(limit);
    messages.reverse();
    Some(messages)
}

/// How many characters of what was said first a session is called by.
const TITLE: usize = 80;

/// What a session is called that has no name: its first words, in one line. `None`: nothing was said.
pub(crate) fn title(session: &Session) -> Option<String> {
    if let Some(title) = session.earlier_title() {
        return Some(title.into());
    }
    let mut titles = session.runs.iter().map(|run| first_words(&run.prompt.text));
    titles.find(|title| !title.is_empty())
}

fn first_words(text: &str) -> String {
    let (mut title, mut length, mut gap) = (String::new(), 0, false);
    for c in text.chars().filter(|c| c.is_whitespace() || !hidden(*c)) {
        if c.is_whitespace() {
            gap = length > 0;
            continue;
        }
        if length + usize::from(gap) >= TITLE {
            title.push('…');
            break;
        }
        if std::mem::take(&mut gap) {
            title.push(' ');
            length += 1;
        }
        title.push(c);
        length += 1;
    }
    title
}

/// What the person has said to a run: `Message`s of the contract, the first one first.
pub(crate) fn said_in(session: &Session, run: &Run) -> Vec<Value> {
    let prompt = prompt_of(session, run);
    prompt.into_iter().chain(entered(run, run.steered.len()).into_iter().rev()).list()
}

/// The messages that wait, as they would stand in the conversation.
pub(crate) fn waiting(session: &Session) -> Vec<Value> {
    let message = |queued: &Queued| {
        let prompt = queued.said(session)?;
        Some(said(&queued.run, &prompt, &prompt.message, queued.at).done())
    };
    session.queue().iter().filter_map(message).list()
}

/// The first so many of the messages that have entered a run, the last one first.
fn entered(run: &Run, count: usize) -> Vec<Value> {
    let entered = run.steered.iter().take(count).list();
    let message = |steered: &&Steered| {
        let Steered { at, prompt, .. } = steered;
        said(&run.id, prompt, &prompt.message, *at).done()
    };
    entered.iter().rev().map(message).list()
}

/// The person's message. None where the run goes on with another.
fn prompt_of(session: &Session, run: &Run) -> Option<Value> {
    if run.prompt.continues.is_some() {
        return None;
    }
    let (id, at) = run.message();
    let mut message = said(&run.id, &run.prompt, id, at);
    message.maybe("memories", reminded(run));
    Some(message.maybe("versions", session.versions_of_message(run).map(Into::into)).done())
}

/// What its model was told from memory beside it; `None`: nothing.
fn reminded(run: &Run) -> Option<Value> {
    let memory = |(id, text): &(String, String)| Object::new().text("id", id).text("text", text).done();
    (!run.reminded.is_empty()).then(|| run.reminded.iter().map(memory).array())
}

/// What a person has said in a run.
fn said(run: &str, prompt: &Prompt, id: &str, at: Millis) -> Object {
    let mut message = Object::new();
    message
        .text("id", id)
        .text("role", "user")
        .value("parts", prompt_parts(prompt).into())
        .number("createdAt", at)
        .text("runId", run)
        .text("status", "complete")
        .maybe("metadata", prompt.metadata.clone());
    message
}

/// Files first, as the model gets them; a message may be nothing else.
fn prompt_parts(prompt: &Prompt) -> Vec<Value> {
    let files = prompt.files.iter().filter_map(|block| match block {
        Block::File(file) => Some(file_part(file)),
        _ => None,
    });
    let text = text_part("text", &prompt.text);
    files.chain((!prompt.text.is_empty()).then_some(text)).list()
}

fn file_part(File { id, media_type, size, name, gone }: &File) -> Value {
    let mut part = Object::new();
    part.text("type", "file").text("fileId", id).text("mediaType", media_type).number("size", *size);
    part.maybe_text("filename", Some(name.as_str()).filter(|name| !name.is_empty()));
    part.maybe("gone", gone.then_some(Value::Bool(true))).done()
}

/// Why an answer ends early of which a draft is damaged.
const ENDS_EARLY: &str = "what was written down of it is damaged: it ends where that is whole";

/// The assistant's message.
pub fn answer_of(session: &Session, run: &Run) -> Value {
    answer(session, run, 0, false)
}

/// The same with the parts of its turns from this one on. `streams`: the last turn's answer does, and what it had said
/// before it was made again is not shown any more.
pub(crate) fn answer(session: &Session, run: &Run, turn: usize, streams: bool) -> Value {
    let status = match run.ended.as_ref().map(|ended| ended.outcome) {
        None => "partial",
        Some(Outcome::Completed) => "complete",
        Some(Outcome::Interrupted) => "interrupted",
        Some(Outcome::Failed) => "failed",
    };
    let model = run.turns.iter().rev().find_map(|turn| match &turn.said {
        Said::Whole { model, .. } => model.as_deref(),
        _ => None,
    });
    let error = run.ended.as_ref().and_then(|ended| ended.error.as_ref());
    let ends_early = !streams && run.turns.iter().any(Turn::ends_early);
    Object::new()
        .text("id", &run.answer_id())
        .text("role", "assistant")
        .value("parts", parts(run, turn, streams).into())
        .number("createdAt", run.started_at)
        .text("runId", &run.id)
        .text("status", status)
        .maybe_text("model", model)
        .maybe("usage", usage(&run.spent()))
        .maybe("compactions", compactions(run))
        .maybe("error", error.map(ErrorInfo::to_json))
        .maybe("damaged", ends_early.then(|| Object::new().text("why", ENDS_EARLY).done()))
        .maybe("versions", session.versions_of_answer(run).map(Into::into))
        .done()
}

/// `Usage` of the contract; `None` where nobody has counted.
pub(crate) fn usage(sums: &Sums) -> Option<Value> {
    if sums.usage == Usage::default() {
        return None;
    }
    let Usage {
        input_tokens,
        output_tokens,
        cache_read_tokens,
        cache_write_tokens,
        reasoning_tokens,
        searches,
    } = sums.usage;
    let mut usage = Object::new();
    usage.number("inputTokens", input_tokens).number("outputTokens", output_tokens);
    for (name, count) in [
        ("cacheReadTokens", cache_read_tokens),
        ("cacheWriteTokens", cache_write_tokens),
        ("reasoningTokens", reasoning_tokens),
        ("searches", searches),
    ] {
        usage.maybe(name, (count > 0).then(|| count.into()));
    }
    // Nano-dollars are whole; the division gives the number nearest to the sum in dollars.
    usage.maybe("cost", sums.cost.map(|nano| (nano as f64 / 1e9).into()));
    Some(usage.done())
}

/// Where the conversation was made shorter for the model in this run; `None`: nowhere.
fn compactions(run: &Run) -> Option<Value> {
    let mark = |at: Millis, kind: &str, reason: &str, until: &Until| {
        let mut mark = Object::new();
        mark.number("at", at).text("kind", kind).text("reason", reason).text("until", &until.run);
        mark
    };
    let window = CompactReason::Window.as_str();
    let left_out = |of: &Shortened| (of.at, mark(of.at, "results", window, &of.until).done());
    let summed_up = |of: &Summary| {
        let at = of.run.ended.as_ref()?.at;
        let text = of.text()?;
        Some((at, mark(at, "summary", of.reason.as_str(), &of.until).text("summary", &text).done()))
    };
    let all = run.shortened.iter().map(left_out).chain(run.summaries.iter().filter_map(summed_up)).list();
    let all = sorted(all, |(at, _)| *at).into_iter().map(|(_, mark)| mark).list();
    (!all.is_empty()).then(|| all.into())
}

/// The parts of an answer from this turn on.
fn parts(run: &Run, from: usize, streams: bool) -> Vec<Value> {
    let mut parts = Vec::new();
    // Of the parts of the whole answer, how many are before those of a turn.
    let mut before = 0;
    for (at, turn) in run.turns.iter().enumerate() {
        let mut calls = turn.calls.iter();
        let blocks = if streams { turn.said.blocks() } else { turn.blocks() };
        let shown = blocks.iter().filter(|block| block.is_shown());
        let base = before;
        if at < from {
            before += shown.count() as u64;
            continue;
        }
        let open = if run.ended.is_some() { "unknown" } else { "started" };
        // What a provider has paused, it has gone on with.
        let open = if at + 1 < run.turns.len() { "completed" } else { open };
        for block in shown {
            before += 1;
            parts.push(match block {
                Block::Text(text) => text_part("text", text),
                Block::Thinking { text, .. } => text_part("thinking", text),
                Block::ToolCall { .. } => match calls.next() {
                    Some(call) => part_of(call),
                    None => continue,
                },
                // Of one that was cut no more is known than its name.
                Block::ServerCall(call) if call.id.is_empty() => served_part(call, &call.name, open),
                Block::ServerCall(call) => served_part(call, &call.id, open),
                Block::Cited(cited) => source_part(cited, base),
                Block::File(_) | Block::ToolResult { .. } | Block::Extra(_) | Block::Raw(_) => continue,
            });
        }
    }
    parts
}

/// A call that the provider carries out itself. `open`: what has become of one that nothing is known of.
pub(crate) fn served_part(call: &ServerCall, id: &str, open: &str) -> Value {
    let ServerCall { name, arguments: given, result, done, .. } = call;
    let status = done.map_or(open, |done| if done { "completed" } else { "failed" });
    let mut part = Object::new();
    part.text("type", "tool-call").text("toolCallId", id).text("tool", name);
    part.value("arguments", arguments(given)).text("status", status).text("by", "provider");
    part.maybe_text("result", Some(result.as_str()).filter(|text| !text.is_empty())).done()
}

/// Where an answer has something from. `base`: how many parts of it are before those of this turn. A door of the room `past`.
#[inline(never)]
fn source_part(Cited { url, title, text, at }: &Cited, base: u64) -> Value {
    enter(Room::Past);
    let mut part = Object::new();
    part.text("type", "source").text("url", url).text("title", if title.is_empty() { url } else { title });
    part.maybe_text("citedText", Some(text.as_str()).filter(|text| !text.is_empty()));
    let mut place = Object::new();
    for (name, number) in ["part", "start", "end"].iter().zip(at) {
        place.number(name, if *name == "part" { base + number } else { *number });
    }
    part.maybe("at", (!at.is_empty()).then(|| place.done())).done()
}

/// A part that is text or thinking.
pub(crate) fn text_part(kind: &str, text: &str) -> Value {
    Object::new().text("type", kind).text("text", text).done()
}

fn part_of(call: &Call) -> Value {
    let status = match &call.state {
        CallState::Asked
        | CallState::Inspected
        | CallState::Consulted
        | CallState::Explaining
        | CallState::Waiting(_)
        | CallState::Allowed
        | CallState::Handed => "waiting",
        CallState::Ordered | CallState::Delegated => "started",
        CallState::Lost | CallState::LookedUp => "unknown",
        CallState::Settled(Settled { error: None, .. }) => "completed",
        CallState::Settled(Settled { error: Some(error), .. }) => match error.code {
            Code::UnknownOutcome => "unknown",
            Code::PermissionDenied => "denied",
            _ => "failed",
        },
    };
    let request = match &call.state {
        CallState::Waiting(question) => Some(question.id.as_str()),
        _ => None,
    };
    let (result, error) = match &call.state {
        CallState::Settled(Settled { error: Some(error), .. }) => (None, Some(error.to_json())),
        CallState::Settled(settled) => (Some(tool_result(&settled.text, settled.json)), None),
        _ => (None, None),
    };
    Object::new()
        .text("type", "tool-call")
        .text("toolCallId", &call.id)
        .text("tool", &call.name)
        .value("arguments", arguments(&call.arguments))
        .text("status", status)
        .maybe_text("requestId", request)
        .maybe("progress", call.delegate.as_deref().map(progress))
        .maybe("result", result)
        .maybe("error", error)
        .maybe("files", files_given(call))
        .done()
}

/// The files that a tool gave, each a part; `None`: there are none.
pub(crate) fn files_given(call: &Call) -> Option<Value> {
    let files = call.files();
    (!files.is_empty()).then(|| files_among(files).map(file_part).array())
}

/// How far a run has come that works for another.
fn progress(run: &Run) -> Value {
    Object::new().text("runId", &run.id).number("turns", run.turns.len() as u64).done()
}

/// Arguments as the page gets them: the JSON they are, else the text that the model wrote.
pub(crate) fn arguments(text: &str) -> Value {
    json::parse(text).unwrap_or_else(|| text.into())
}

/// A result as the page gets it.
pub fn tool_result(text: &str, json: bool) -> Value {
    if json { arguments(text) } else { text.into() }
}
