//! What every codec must make of what a model says, whatever the wire: the cases once, the wires from a table.
//!
//! Each case is written by the provider's side of a wire (`support::servers`), then read whole, split at each
//! byte and cut at each byte. A cut answer is the whole one or a broken one, never another. A wire whose form
//! has no way to say a case leaves it out, and the test says so.

use crate::support::servers::{Case, End, SERVERS, Say, Server};
use lodger::error::{Code, ErrorInfo};
use lodger::model::{Answer, Block, Decoder, Delta, DeltaKind, StopReason, Usage, Wire};
use std::collections::BTreeMap;

/// What an answer without a cache and without thinking cost.
const PLAIN: Usage = Usage {
    input_tokens: 11,
    output_tokens: 7,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    searches: 0,
};

const CASES: &[Case] = &[
    case("text", &[Say::Text("Hello, dear \u{1f600} world: \"quoted\", \\ and\nlines.")], End::Turn),
    case("thinking", &[Say::Thinking("Let me see. Two\nlines."), Say::Text("It is so.")], End::Turn),
    case("thinking alone", &[Say::Thinking("Nothing to say.")], End::Turn),
    case(
        "one tool",
        &[Say::Call("call_1", "search_pages", r#"{"query":"a \"b\" \u00e9","limit":3}"#)],
        End::Turn,
    ),
    case(
        "parallel tools",
        &[
            Say::Text("Both."),
            Say::Call("call_1", "read_page", r#"{"page":"a"}"#),
            Say::Call("call_2", "read_page", r#"{"page":"b"}"#),
            Say::Call("call_3", "search_pages", r#"{"query":"c"}"#),
        ],
        End::Turn,
    ),
    case("a tool without arguments", &[Say::Call("call_1", "list_pages", "")], End::Turn),
    case("a tool with no members", &[Say::Call("call_1", "list_pages", "{}")], End::Turn),
    case(
        "a tool after thinking",
        &[Say::Thinking("I need it."), Say::Call("call_1", "read_page", r#"{"page":"a"}"#)],
        End::Turn,
    ),
    case(
        "interleaved text and tools",
        &[
            Say::Text("First."),
            Say::Call("call_1", "read_page", r#"{"page":"a"}"#),
            Say::Text("Second."),
            Say::Call("call_2", "read_page", r#"{"page":"b"}"#),
            Say::Text("Third."),
        ],
        End::Turn,
    ),
    case("a refusal", &[Say::Text("I ")], End::Refusal(None)),
    case("a refusal with words", &[], End::Refusal(Some("I cannot help with that."))),
    case("the limit", &[Say::Text("Once upon a")], End::Length),
    case(
        "the limit after a whole call",
        &[Say::Text("So."), Say::Call("call_1", "read_page", r#"{"page":"a"}"#)],
        End::Length,
    ),
    case("nothing at all", &[], End::Turn),
    Case {
        usage: Usage {
            input_tokens: 5,
            output_tokens: 40,
            cache_read_tokens: 100,
            cache_write_tokens: 20,
            reasoning_tokens: 30,
            searches: 0,
        },
        ..case("what a cache and thinking cost", &[Say::Thinking("Hm."), Say::Text("So.")], End::Turn)
    },
    case("an error at once", &[], End::Error),
    case("an error after text", &[Say::Text("Half of")], End::Error),
    case(
        "an error after a call",
        &[Say::Text("So."), Say::Call("call_1", "read_page", r#"{"page":"a"}"#)],
        End::Error,
    ),
];

const fn case(name: &'static str, says: &'static [Say], end: End) -> Case {
    Case { name, says, end, usage: PLAIN }
}

/// Failures before anything came that every provider knows, and those that only some know.
const FAILURES: [Code; 9] = [
    Code::InvalidRequest,
    Code::ContextLength,
    Code::Auth,
    Code::Quota,
    Code::Permission,
    Code::NotFound,
    Code::RateLimit,
    Code::Overloaded,
    Code::Server,
];

// ---------------------------------------------------------------- what must come of it

#[derive(Debug, PartialEq)]
struct Read {
    /// What is shown: its kind and its text, or a call with its id.
    says: Vec<(&'static str, String)>,
    /// How it ended: a stop reason, or the code of its failure.
    end: Result<StopReason, Code>,
    usage: Usage,
    /// The arguments that were told while they came, of each call of which some were.
    told: Vec<String>,
}

fn expected(server: &Server, case: &Case) -> Read {
    let calls = case.says.iter().any(|say| matches!(say, Say::Call(..)));
    let end = match case.end {
        End::Turn if calls => Ok(StopReason::ToolUse),
        End::Turn => Ok(StopReason::EndTurn),
        End::Length => Ok(StopReason::MaxTokens),
        End::Refusal(words) => Ok(StopReason::Refusal(words.map(Into::into))),
        End::Error => Err(server.breaks),
    };
    let said = case.says.iter().map(|say| match say {
        Say::Text(text) => ("text", text.to_string()),
        Say::Thinking(text) => ("thinking", text.to_string()),
        Say::Call(id, name, arguments) => {
            let id = if server.call_ids { id } else { "" };
            let arguments = if arguments.is_empty() { "{}" } else { arguments };
            ("call", [id, name, &compact(arguments)].join(" "))
        }
    });
    let mut says: Vec<(&str, String)> = said.collect();
    if end.is_err() && !server.ends_calls && matches!(case.says.last(), Some(Say::Call(..))) {
        says.pop();
    }
    Read { says, end, usage: (server.usage)(case.usage), told: Vec::new() }
}

/// JSON without what its form leaves open: some wires send arguments as objects.
fn compact(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json).map_or(json.into(), |value| value.to_string())
}

/// What the decoder makes of these pieces, and what it has shown on the way.
fn read(server: &Server, pieces: &[&[u8]]) -> Read {
    let says = CASES.iter().flat_map(|case| case.says);
    let names = says.filter_map(|say| match say {
        Say::Call(_, name, _) => Some((*name).to_owned()),
        _ => None,
    });
    let mut decoder = Decoder::new(server.wire).telling(names.collect());
    let mut shown: Vec<(DeltaKind, String)> = Vec::new();
    let mut told: BTreeMap<usize, String> = BTreeMap::new();
    let mut sink = |delta: Delta<'_>| {
        let at = delta.part as usize;
        if delta.kind == DeltaKind::Arguments {
            assert_eq!(shown[at].0, DeltaKind::ToolCall);
            return told.entry(at).or_default().push_str(delta.text);
        }
        assert!(at <= shown.len());
        if at == shown.len() {
            shown.push((delta.kind, String::new()));
        }
        shown[at].1.push_str(delta.text);
    };
    // An error comes again from `finish`.
    let pushed = pieces.iter().try_for_each(|piece| decoder.push(piece, &mut sink));
    let _ = pushed.and_then(|()| decoder.end(&mut sink));
    let (end, answer): (Result<(), ErrorInfo>, Answer) = match decoder.finish() {
        Ok(answer) => (Ok(()), answer),
        Err((error, answer)) => (Err(error), answer),
    };
    let mut says = Vec::new();
    let mut names = Vec::new();
    for (at, block) in answer.blocks.iter().filter(|block| block.is_shown()).enumerate() {
        if let (Block::ToolCall { arguments, .. }, Some(told)) = (block, told.get(&at)) {
            assert_eq!(told, arguments, "what is told is what comes");
        }
        match block {
            Block::Text(text) => says.push(("text", text.clone())),
            Block::Thinking { text, .. } => says.push(("thinking", text.clone())),
            Block::ToolCall { id, name, arguments } => {
                assert!(!id.is_empty());
                let id = if server.call_ids { id } else { "" };
                says.push(("call", [id, name, &compact(arguments)].join(" ")));
            }
            // What a provider has run is in its own words, and those are the wire's.
            Block::ServerCall(_) | Block::Cited(_) => {}
            other => panic!("{other:?} is not shown"),
        }
        names.push(match block {
            Block::ToolCall { name, .. } => (DeltaKind::ToolCall, name.clone()),
            Block::Text(text) => (DeltaKind::Text, text.clone()),
            Block::Thinking { text, .. } => (DeltaKind::Thinking, text.clone()),
            Block::ServerCall(call) => (DeltaKind::ServerCall, call.name.clone()),
            _ => continue,
        });
    }
    // What was shown is what is there; the call that is left out of a broken answer was told, too.
    if end.is_err() && shown.len() == names.len() + 1 {
        assert_eq!(shown.pop().unwrap().0, DeltaKind::ToolCall);
    }
    assert_eq!(shown, names);
    let end = match end {
        Ok(()) => Ok(answer.stop.clone().unwrap()),
        Err(error) => Err(error.code),
    };
    Read { says, end, usage: answer.usage, told: told.into_values().collect() }
}

/// Whether this is where the whole answer may have been cut: its calls whole, its last text or thinking begun.
fn begins(part: &Read, whole: &Read) -> bool {
    let Some(((kind, text), before)) = part.says.split_last() else { return true };
    let Some((whole_kind, whole_text)) = whole.says.get(before.len()) else { return false };
    let last = match *kind {
        "call" => text == whole_text,
        _ => whole_text.starts_with(text.as_str()),
    };
    before == &whole.says[..before.len()] && kind == whole_kind && last
}

#[test]
fn every_wire_reads_every_answer() {
    let wires: Vec<Wire> = SERVERS.iter().map(|server| server.wire).collect();
    assert_eq!(wires, Wire::ALL, "a server for each wire, in its place");
    for server in SERVERS {
        let wire = server.wire.as_str();
        let (mut left_out, mut told) = (Vec::new(), 0);
        for case in CASES {
            let name = format!("{wire}: {}", case.name);
            let Some(body) = (server.answer)(case) else {
                left_out.push(case.name);
                continue;
            };
            let bytes = body.as_bytes();
            let whole = read(server, &[bytes]);
            told += whole.told.len();
            let expected = expected(server, case);
            assert_eq!((&whole.says, &whole.end), (&expected.says, &expected.end), "{name}");
            if whole.end.is_ok() {
                assert_eq!(whole.usage, expected.usage, "{name}");
            }
            let (mut finished, mut broken) = (0, 0);
            for at in 0..bytes.len() {
                let (a, b) = bytes.split_at(at);
                assert_eq!(read(server, &[a, b]), whole, "{name}, split at {at}");
                let part = read(server, &[a]);
                if part.end == whole.end {
                    let early = server.late_usage && part.usage == Usage::default();
                    assert!(
                        part.says == whole.says && (part.usage == whole.usage || early),
                        "{name}, cut at {at}"
                    );
                    finished += 1;
                } else {
                    assert_eq!(part.end, Err(Code::StreamBroken), "{name}, cut at {at}");
                    assert!(begins(&part, &whole), "{name}, cut at {at}: {part:?}");
                    // Once it is whole it stays so.
                    assert_eq!(finished, 0, "{name}, cut at {at}");
                    broken += 1;
                }
            }
            assert!(broken > 0, "{name}");
            let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(server, &one_by_one), whole, "{name}, byte by byte");
        }
        // Some send them whole, with the beginning of a call.
        let streams = matches!(server.wire, Wire::Anthropic | Wire::OpenAiChat | Wire::OpenAiResponses);
        assert!(told > 0 || !streams, "{wire} tells no arguments while they come");
        println!("{wire}: {} cases, no form for {left_out:?}", CASES.len() - left_out.len());
        assert!(left_out.len() < 4, "{wire} leaves out {left_out:?}");
    }
}

#[test]
fn every_wire_knows_why_nothing_came() {
    for server in SERVERS {
        let wire = server.wire.as_str();
        let mut left_out = Vec::new();
        for code in FAILURES {
            let Some((status, body)) = (server.failure)(code) else {
                left_out.push(code.as_str());
                continue;
            };
            let error = server.wire.error(status, &[], body, 0);
            assert_eq!(error.code, code, "{wire}: {body}");
            // The provider's own words are kept; half of a body still has its status.
            let json: serde_json::Value = serde_json::from_str(body).unwrap();
            let words = json["error"]["message"].as_str().or(json["error"].as_str()).unwrap();
            assert!(error.message.contains(words), "{wire}: {error:?}");
            for at in 0..body.len() {
                let error = server.wire.error(status, &[], body.get(..at).unwrap(), 0);
                assert!(!error.message.is_empty() && error.message.contains(&status.to_string()), "{wire}");
            }
        }
        println!("{wire}: {} failures, never {left_out:?}", FAILURES.len() - left_out.len());
        assert!(left_out.len() < 5, "{wire} never says {left_out:?}");
    }
}
