//! Answers that are larger than a workspace's limits allow: what is taken of them, on each wire, and what a run does then.

use crate::support::calm::*;
use crate::support::streams::{begins, framed, one_call};
use lodger::error::{Code, ErrorInfo};
use lodger::model::{Decoder, DeltaKind, Limits, Wire};
use serde_json::{Value, json};

const LIMITS: Limits = Limits { answer: 1_000, arguments: 100, calls: 3 };

/// An answer of these texts.
fn says_in(wire: Wire, texts: &[String]) -> Vec<Value> {
    let piece = |text: &String| match wire {
        Wire::Anthropic => {
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } })
        }
        Wire::OpenAiChat => json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }),
        Wire::OpenAiResponses => {
            json!({ "type": "response.output_text.delta", "output_index": 0, "delta": text })
        }
        Wire::Gemini => {
            json!({ "event_type": "step.delta", "index": 0, "delta": { "type": "text", "text": text } })
        }
        Wire::Ollama => json!({ "message": { "content": text }, "done": false }),
    };
    let end = match wire {
        Wire::Anthropic => vec![
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
            json!({ "type": "message_stop" }),
        ],
        Wire::OpenAiChat => {
            vec![json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })]
        }
        Wire::OpenAiResponses => {
            vec![json!({ "type": "response.completed", "response": { "status": "completed" } })]
        }
        Wire::Gemini => {
            vec![json!({ "event_type": "interaction.completed", "interaction": { "status": "completed" } })]
        }
        Wire::Ollama => vec![json!({ "message": { "content": "" }, "done": true, "done_reason": "stop" })],
    };
    begins(wire).into_iter().chain(texts.iter().map(piece)).chain(end).collect()
}

/// So many calls of a tool, in one answer.
fn calls_in(wire: Wire, count: usize) -> Vec<Value> {
    let mut events = Vec::new();
    for number in 0..count {
        let id = format!("c{number}");
        match wire {
            Wire::Anthropic => {
                if number == 0 {
                    events.push(json!({ "type": "message_start", "message": { "id": "m", "content": [] } }));
                }
                let block = json!({ "type": "tool_use", "id": id, "name": "t", "input": {} });
                events
                    .push(json!({ "type": "content_block_start", "index": number, "content_block": block }));
                events.push(json!({ "type": "content_block_stop", "index": number }));
            }
            Wire::OpenAiChat => {
                let call =
                    json!({ "index": number, "id": id, "function": { "name": "t", "arguments": "{}" } });
                events.push(json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] }));
            }
            Wire::OpenAiResponses => {
                let item = json!({ "type": "function_call", "call_id": id, "name": "t", "arguments": "{}" });
                for kind in ["added", "done"] {
                    let kind = format!("response.output_item.{kind}");
                    events.push(json!({ "type": kind, "output_index": number, "item": item }));
                }
            }
            Wire::Gemini => {
                let step = json!({ "type": "function_call", "id": id, "name": "t", "arguments": {} });
                events.push(json!({ "event_type": "step.start", "index": number, "step": step }));
                events.push(json!({ "event_type": "step.stop", "index": number }));
            }
            Wire::Ollama => {
                let call = json!({ "id": id, "function": { "name": "t", "arguments": {} } });
                events.push(json!({ "message": { "content": "", "tool_calls": [call] }, "done": false }));
            }
        }
    }
    let mut end = one_call(wire, "t", &["{}"], json!({})).events;
    end.drain(..end.len() - if wire == Wire::Anthropic { 2 } else { 1 });
    events.extend(end);
    events
}

/// What is told of a stream that is cut so, and how it ends.
fn read(wire: Wire, limits: Limits, stream: &[u8], cut: usize) -> (String, Result<usize, ErrorInfo>) {
    let mut decoder = Decoder::new(wire).within(limits);
    let mut told = String::new();
    for piece in stream.chunks(cut) {
        let read = decoder.push(piece, &mut |delta| {
            if delta.kind != DeltaKind::ToolCall {
                told.push_str(delta.text);
            }
        });
        if let Err(error) = read {
            let (again, _) = decoder.finish().unwrap_err();
            assert_eq!(again, error);
            return (told, Err(error));
        }
    }
    let ended = decoder.finish().map(|answer| answer.blocks.len()).map_err(|(error, _)| error);
    (told, ended)
}

/// The same, however the stream is cut.
fn read_all(wire: Wire, limits: Limits, events: &[Value]) -> (String, Result<usize, ErrorInfo>) {
    let stream: String = events.iter().map(|event| framed(wire, event)).collect();
    let whole = read(wire, limits, stream.as_bytes(), stream.len());
    for cut in [1, 7, 64, 1_000] {
        assert_eq!(read(wire, limits, stream.as_bytes(), cut), whole, "{}, cut at {cut}", wire.as_str());
    }
    whole
}

#[test]
fn an_answer_that_says_too_much_ends_where_it_does() {
    for &wire in Wire::ALL {
        let piece = || "x".repeat(100);
        let fits: Vec<String> = (0..10).map(|_| piece()).collect();
        // What comes around the pieces does not count here.
        let limits = Limits { answer: 1_000, ..Limits::default() };
        assert_eq!(
            read_all(wire, limits, &says_in(wire, &fits)),
            (fits.concat(), Ok(1)),
            "{}",
            wire.as_str()
        );
        let over: Vec<String> = (0..200).map(|_| piece()).chain(["y".into()]).collect();
        let (told, ended) = read_all(wire, limits, &says_in(wire, &over));
        let error = ended.unwrap_err();
        assert_eq!((error.code, error.retryable()), (Code::TooLarge, false), "{}", wire.as_str());
        assert_eq!(error.message, "the model's answer has more than 1000 bytes");
        assert!(error.hint.as_deref().unwrap().contains("limits.answerBytes"));
        assert_eq!(told, fits.concat(), "{}: what is too much is not told", wire.as_str());
    }
}

#[test]
fn what_says_nothing_and_comes_for_ever_ends_too() {
    for &wire in Wire::ALL {
        let events = says_in(wire, &vec![String::new(); 1_000]);
        let error = read_all(wire, LIMITS, &events).1.unwrap_err();
        assert_eq!(error.code, Code::TooLarge, "{}", wire.as_str());
        assert_eq!(error.message, "what the model's provider sends has more than 4000 bytes");
        // A line that never ends is not kept either.
        let line = [&b"data: {\"type\":\""[..], &[b'x'; 10_000]].concat();
        let error = read(wire, LIMITS, &line, 100).1.unwrap_err();
        assert!(matches!(error.code, Code::TooLarge | Code::Protocol), "{}: {error:?}", wire.as_str());
    }
}

#[test]
fn a_call_whose_arguments_are_too_large_ends_the_answer() {
    for &wire in Wire::ALL {
        let args = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        for (bytes, fits) in [(100, true), (101, false), (900, false)] {
            let args = args(bytes);
            let pieces: Vec<&str> =
                args.as_bytes().chunks(10).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
            let call = one_call(wire, "t", &pieces, serde_json::from_str(&args).unwrap());
            let ended = read_all(wire, Limits { answer: 100_000, ..LIMITS }, &call.events).1;
            let Err(error) = ended else {
                assert!(fits, "{} takes {bytes} bytes", wire.as_str());
                continue;
            };
            assert!(!fits, "{} refuses {bytes} bytes: {error:?}", wire.as_str());
            assert_eq!((error.code, error.retryable()), (Code::TooLarge, false));
            assert_eq!(error.message, "a tool call of the model has more than 100 bytes");
            assert!(error.hint.as_deref().unwrap().contains("limits.argumentBytes"));
        }
    }
}

#[test]
fn arguments_that_come_whole_at_the_end_are_measured_too() {
    let item = |arguments: &str| json!({ "type": "function_call", "call_id": "c", "name": "t", "arguments": arguments });
    let args = format!("{{\"a\":\"{}\"}}", "x".repeat(200));
    let events = [
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("") }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item(&args) }),
        json!({ "type": "response.completed", "response": { "status": "completed" } }),
    ];
    let error = read_all(Wire::OpenAiResponses, LIMITS, &events).1.unwrap_err();
    assert_eq!(error.message, "a tool call of the model has more than 100 bytes");
}

#[test]
fn an_answer_of_too_many_calls_ends_at_the_first_that_is_one_too_many() {
    for &wire in Wire::ALL {
        let limits = Limits { answer: 100_000, ..LIMITS };
        assert_eq!(read_all(wire, limits, &calls_in(wire, 3)).1, Ok(3), "{}", wire.as_str());
        for count in [4, 50] {
            let error = read_all(wire, limits, &calls_in(wire, count)).1.unwrap_err();
            assert_eq!((error.code, error.retryable()), (Code::TooLarge, false), "{}", wire.as_str());
            assert_eq!(error.message, "the model's answer has more than 3 tool calls");
            assert!(error.hint.as_deref().unwrap().contains("limits.callsPerAnswer"));
        }
        let usual = Limits::default();
        assert_eq!(read_all(wire, usual, &calls_in(wire, 128)).1, Ok(128), "{}", wire.as_str());
        assert!(read_all(wire, usual, &calls_in(wire, 129)).1.is_err(), "{}", wire.as_str());
    }
}

#[test]
fn a_model_of_the_pages_own_has_the_same_limits() {
    let mut texts = Decoder::custom().within(LIMITS);
    for _ in 0..10 {
        texts.push_text(&"x".repeat(100), &mut |_| ()).unwrap();
    }
    assert_eq!(texts.push_text("x", &mut |_| ()).unwrap_err().code, Code::TooLarge);
    assert_eq!(texts.finish().unwrap_err().0.code, Code::TooLarge, "it is not whole afterwards");
    let chunk = |delta: Value| json!({ "choices": [{ "delta": delta }] }).to_string();
    let calls: Vec<Value> = (0..4).map(|index| json!({ "index": index, "id": format!("c{index}"), "function": { "name": "t", "arguments": "{}" } })).collect();
    let mut chunks = Decoder::custom().within(LIMITS);
    assert_eq!(
        chunks.push_chunk(&chunk(json!({ "tool_calls": calls })), &mut |_| ()).unwrap_err().code,
        Code::TooLarge
    );
    let mut large = Decoder::custom().within(LIMITS);
    let error = large.push_chunk(&chunk(json!({ "content": "x".repeat(5_000) })), &mut |_| ()).unwrap_err();
    assert_eq!(error.message, "what the model's provider sends has more than 4000 bytes");
}

#[test]
fn a_run_ends_with_it_and_not_all_of_it_is_sent_back() {
    let mut world = started();
    send(&mut world, "hello");
    let said = "é".repeat(100_001);
    for part in 0..3 {
        world.thinks(0, 2 * part, "hm");
        world.streams(0, 2 * part + 1, &said);
    }
    let error = ErrorInfo::new(Code::TooLarge, "the model's answer has more than 16777216 bytes");
    world.breaks(0, error);
    assert!(world.pages[0].models.is_empty(), "nobody is asked again");
    let told = last(&world, "agent:error");
    assert_eq!((&told["code"], &told["retryable"]), (&json!("too_large"), &json!(false)));
    let parts = history(&mut world)[1]["parts"].as_array().unwrap().clone();
    assert!(parts.iter().skip(1).step_by(2).all(|part| part["text"] == said), "what was shown stays");
    // The conversation goes on from there.
    send(&mut world, "shorter, please");
    let asked = sent(&world);
    let text = |message: &Value| message["content"].as_str().map_or(0, str::len);
    let long = asked.iter().map(text).filter(|bytes| *bytes > 1_000).collect::<Vec<_>>();
    assert!(matches!(long[..], [524_200..524_300]), "{long:?}");
    world.answers(0, says("yes"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "yes");
    world.journal.audit(&world.disk).unwrap();
}

#[test]
fn another_provider_takes_over_where_nothing_was_shown() {
    let config = json!({
        "provider": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" },
        "providers": { "spare": { "kind": "custom", "model": "spare-1", "stream": { "$fn": 50 } } },
        "fallback": ["spare"],
    });
    let mut world = started_with(config);
    send(&mut world, "hello");
    world.breaks(0, ErrorInfo::new(Code::TooLarge, "a tool call of the model has more than 100 bytes"));
    world.answers(0, says("here"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "here");
}
