//! Messages that are edited, answers that are made anew, and conversations that a session begins with, case by case.

use crate::support::anthropic_rules::Signed;
use crate::support::calm::{history as shown, *};
use crate::support::laws;
use crate::support::media::{SAMPLES, given};
use crate::support::sim::World;
use crate::support::strict::check_messages;
use fastrand::Rng;
use lodger::error::{Code, ErrorInfo};
use lodger::journal::{Entry, Row};
use lodger::model::{Dialect, Peer, Wire};
use lodger::ports::PatternEngine;
use lodger::session::{Session, Transcript, adopted, history, replay};
use serde_json::{Value, json};

/// Messages as `id: text`.
fn short(messages: &[Value]) -> Vec<String> {
    let short = |message: &Value| {
        let text = message["parts"].as_array().unwrap().iter().rev().find_map(|part| part["text"].as_str());
        format!("{}: {}", message["role"].as_str().unwrap(), text.unwrap_or_default())
    };
    messages.iter().map(short).collect()
}

fn texts(world: &mut World) -> Vec<String> {
    short(&shown(world))
}

fn id(message: &Value) -> String {
    message["id"].as_str().unwrap().into()
}

/// The conversation as it was with this version.
fn with(world: &mut World, version: &str) -> Vec<Value> {
    world.must(0, "history", json!({ "version": version })).as_array().unwrap().clone()
}

/// Says something and has it answered. Gives the ids of both.
fn exchange(world: &mut World, args: Value, answer: &str) -> (String, String) {
    let command = if args.get("text").is_some() { "sendMessage" } else { "regenerate" };
    world.must(0, command, args);
    world.answers(0, says(answer));
    let shown = shown(world);
    let [.., said, answered] = shown.as_slice() else { panic!("no exchange") };
    (id(said), id(answered))
}

fn talked() -> (World, Vec<(String, String)>) {
    let mut world = started();
    let said = ["one", "two", "three"];
    let ids = said.map(|text| exchange(&mut world, json!({ "text": text }), &text.to_uppercase()));
    (world, ids.into())
}

/// What the model is sent, as texts.
fn conversation(world: &World) -> Vec<String> {
    sent(world).iter().map(|message| message["content"].as_str().unwrap_or_default().into()).collect()
}

/// The page is lost and another one starts.
fn reloaded(world: World) -> World {
    lost(world, json!({}))
}

#[test]
fn an_edit_takes_the_place_of_the_message_and_of_what_followed() {
    let (mut world, ids) = talked();
    let (two, _) = &ids[1];
    world.must(0, "sendMessage", json!({ "text": "two again", "replaces": two }));
    assert_eq!(conversation(&world), ["one", "ONE", "two again"]);
    world.answers(0, says("Well."));
    assert_eq!(texts(&mut world), ["user: one", "assistant: ONE", "user: two again", "assistant: Well."]);
    let now = shown(&mut world);
    assert_eq!(now[2]["versions"], json!([two, now[2]["id"]]));
    assert!(now[3].get("versions").is_none(), "the answer to another message is no version of the old one");
    assert!(now[0].get("versions").is_none() && now[1].get("versions").is_none());
    let was = with(&mut world, two);
    let all =
        ["user: one", "assistant: ONE", "user: two", "assistant: TWO", "user: three", "assistant: THREE"];
    assert_eq!(short(&was), all);
    assert_eq!(was[2]["versions"], now[2]["versions"]);
    assert_eq!(with(&mut world, &ids[2].1), was, "any message of it stands for the older conversation");
    assert_eq!(with(&mut world, &id(&now[3])), now);
    let mut world = reloaded(world);
    assert_eq!((shown(&mut world), with(&mut world, two)), (now, was), "the same after a reload");
    world.must(0, "sendMessage", json!({ "text": "on" }));
    assert_eq!(conversation(&world), ["one", "ONE", "two again", "Well.", "on"]);
}

#[test]
fn an_answer_is_made_anew_to_the_same_message() {
    let (mut world, ids) = talked();
    let args = json!({ "text": "four", "context": "for you", "metadata": { "k": 1 } });
    let (four, first) = exchange(&mut world, args, "FOUR");
    let before = shown(&mut world);
    world.must(0, "regenerate", json!({}));
    let body = world.model(0).1.body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(body.contains("four") && body.contains("for you"), "{body}");
    world.answers(0, says("Four!"));
    let now = shown(&mut world);
    assert_eq!(now.len(), before.len());
    let same = |message: &Value, member: &str| message[member].clone();
    for member in ["id", "parts", "createdAt", "metadata", "status"] {
        assert_eq!(same(&now[6], member), same(&before[6], member), "what the person said stays: {member}");
    }
    assert!(now[6].get("versions").is_none());
    assert_ne!(id(&now[7]), first);
    assert_eq!(now[7]["versions"], json!([first, now[7]["id"]]));
    let again = json!({ "messageId": now[7]["id"] });
    let (said, third) = exchange(&mut world, again, "4");
    assert_eq!(said, four);
    let now = shown(&mut world);
    assert_eq!(now[7]["versions"].as_array().unwrap().len(), 3);
    assert_eq!(short(&with(&mut world, &first)), short(&before));
    assert_eq!(with(&mut world, &third), now);
    // An earlier one takes what followed with it.
    let (said, _) = exchange(&mut world, json!({ "messageId": ids[0].1 }), "One!");
    assert_eq!(said, ids[0].0);
    assert_eq!(texts(&mut world), ["user: one", "assistant: One!"]);
    assert_eq!(with(&mut world, &third)[2..], now[2..]);
    let was = with(&mut world, &first);
    assert_eq!(short(&was), short(&before), "an older one in what was put aside later");
}

#[test]
fn versions_of_a_message_and_of_its_answers_are_kept_apart() {
    let mut world = started();
    let (a, a1) = exchange(&mut world, json!({ "text": "a" }), "1");
    let (_, a2) = exchange(&mut world, json!({}), "2");
    let (b, b1) = exchange(&mut world, json!({ "text": "b", "replaces": a }), "3");
    let (_, b2) = exchange(&mut world, json!({}), "4");
    let (c, _) = exchange(&mut world, json!({ "text": "c", "replaces": b }), "5");
    let edits = json!([a, b, c]);
    assert_eq!(shown(&mut world)[0]["versions"], edits);
    assert!(shown(&mut world)[1].get("versions").is_none());
    for (version, text, answers) in [(&a1, "1", [&a1, &a2]), (&a2, "2", [&a1, &a2]), (&b1, "3", [&b1, &b2])] {
        let was = with(&mut world, version);
        assert_eq!((was[0]["versions"].clone(), was[1]["versions"].clone()), (edits.clone(), json!(answers)));
        assert_eq!(was[1]["parts"][0]["text"], text);
    }
    assert_eq!(with(&mut world, &a)[1]["parts"][0]["text"], "2", "with its last answer");
    let page = world.must(0, "history", json!({ "version": a1, "limit": 1, "before": a1 }));
    assert_eq!(short(page.as_array().unwrap()), ["user: a"]);
}

#[test]
fn what_cannot_be_replaced_is_told_apart() {
    let (mut world, ids) = talked();
    let (two, answer) = ids[1].clone();
    let edit =
        |world: &mut World, of: &str| world.fails(0, "sendMessage", json!({ "text": "x", "replaces": of }));
    let again = |world: &mut World, of: &str| world.fails(0, "regenerate", json!({ "messageId": of }));
    let says = |error: &ErrorInfo, words: &str| {
        assert_eq!(error.code, Code::InvalidArguments);
        assert!(error.message.contains(words), "{}", error.message);
        assert!(error.hint.is_some());
    };
    says(&edit(&mut world, "msg_nobody"), "no message of the conversation");
    says(&edit(&mut world, &answer), "is an answer");
    says(&again(&mut world, &two), "is a person's message");
    says(&again(&mut world, ""), "no message of the conversation");
    exchange(&mut world, json!({ "text": "two!", "replaces": two }), "2");
    says(&edit(&mut world, &two), "a newer version took its place");
    says(&again(&mut world, &ids[2].1), "a newer version took its place");
    assert_eq!(world.fails(0, "history", json!({ "version": "msg_nobody" })).code, Code::MessageNotFound);
    assert_eq!(
        world.fails(0, "sendMessage", json!({ "text": "x", "replaces": 7 })).code,
        Code::InvalidArguments
    );
    assert_eq!(world.fails(0, "regenerate", json!({ "text": "x" })).code, Code::InvalidConfig);
    world.must(0, "clearConversation", json!({}));
    says(&edit(&mut world, &two), "no message of the conversation");
    assert_eq!(world.fails(0, "regenerate", json!({})).code, Code::MessageNotFound);
    assert_eq!(world.fails(0, "history", json!({ "version": two })).code, Code::MessageNotFound);
}

#[test]
fn a_run_at_work_is_busy_and_a_held_one_ends() {
    let (mut world, ids) = talked();
    let run = send(&mut world, "four");
    for (command, args) in
        [("sendMessage", json!({ "text": "x", "replaces": ids[0].0 })), ("regenerate", json!({}))]
    {
        assert_eq!(world.fails(0, command, args).code, Code::Busy);
    }
    world.streams(0, 0, "half of");
    world.pass(0, 300);
    let mut world = reloaded(world);
    assert_eq!(shown(&mut world)[7]["status"], "partial");
    let four = id(&shown(&mut world)[6]);
    exchange(&mut world, json!({ "text": "4", "replaces": four }), "FOUR");
    assert_eq!(world.must(0, "wait", json!({ "runId": run }))["outcome"], "interrupted");
    let was = with(&mut world, &four);
    assert_eq!((&was[7]["status"], &was[7]["parts"][0]["text"]), (&json!("interrupted"), &json!("half of")));
    assert_eq!(world.fails(0, "resume", json!({ "runId": run })).code, Code::NothingToResume);
}

#[test]
fn a_failed_run_and_the_one_that_went_on_with_it_are_one_answer() {
    let mut world = started();
    send(&mut world, "go");
    world.breaks(0, ErrorInfo::new(Code::Auth, "no"));
    world.must(0, "resume", json!({}));
    world.answers(0, says("gone"));
    let before = shown(&mut world);
    assert_eq!(before.len(), 3);
    assert_eq!(
        (before[1]["status"].clone(), before[2]["status"].clone()),
        (json!("failed"), json!("complete"))
    );
    exchange(&mut world, json!({ "messageId": before[2]["id"] }), "better");
    let now = shown(&mut world);
    assert_eq!(texts(&mut world), ["user: go", "assistant: better"]);
    assert_eq!(now[1]["versions"], json!([before[1]["id"], now[1]["id"]]));
    assert_eq!(short(&with(&mut world, &id(&before[2]))), short(&before));
    // And it fails again, and is gone on with.
    world.must(0, "regenerate", json!({}));
    world.breaks(0, ErrorInfo::new(Code::Auth, "no"));
    world.must(0, "resume", json!({}));
    assert_eq!(conversation(&world), ["go"]);
    world.answers(0, says("at last"));
    let now = shown(&mut world);
    assert_eq!(now[1]["versions"].as_array().unwrap().len(), 3);
    assert!(now[2].get("versions").is_none());
    let (said, _) = exchange(&mut world, json!({ "messageId": now[2]["id"] }), "over");
    assert_eq!(said, id(&before[0]));
}

#[test]
fn the_same_key_is_the_same_run_wherever_it_is_by_now() {
    let mut world = started();
    let say = json!({ "text": "a", "idempotencyKey": "k" });
    let first = world.must(0, "sendMessage", say.clone());
    world.answers(0, says("1"));
    let key = json!({ "idempotencyKey": "k2" });
    let again = world.must(0, "regenerate", key.clone());
    world.answers(0, says("2"));
    assert_eq!(world.must(0, "sendMessage", say), first, "its answer was made anew since");
    assert_eq!(world.must(0, "regenerate", key), again);
    assert_eq!(texts(&mut world).len(), 2);
    assert_ne!(first, again);
}

#[test]
fn sums_receipts_and_events_count_everything() {
    let (mut world, ids) = talked();
    exchange(&mut world, json!({ "text": "1", "replaces": ids[0].0 }), "one");
    exchange(&mut world, json!({}), "one");
    let session = world.pages[0].harness.session("default").unwrap();
    assert_eq!(session.sums.turns, 5);
    let rows = world.must(0, "sessions.events", json!({ "id": "default" }));
    let kinds: Vec<_> = rows.as_array().unwrap().iter().map(|event| event["event_type"].clone()).collect();
    let prompts = kinds.iter().filter(|kind| *kind == "prompt_received").count();
    assert_eq!(prompts, 5, "{kinds:?}");
    let handoffs = world.must(0, "sessions.handoffs", json!({ "id": "default" }));
    assert_eq!(handoffs.as_array().unwrap().len(), 5);
}

#[test]
fn files_of_what_was_replaced_stay_until_it_is_cleared() {
    let mut world = started();
    let file = given(&SAMPLES[0]);
    let (said, _) = exchange(&mut world, json!({ "text": "look", "files": [file] }), "I see.");
    world.must(0, "regenerate", json!({}));
    let asked = world.model(0).1.body["messages"].to_string();
    assert!(asked.contains("data:image") || asked.contains("image_url"), "the file goes again: {asked}");
    world.answers(0, says("Still."));
    exchange(&mut world, json!({ "text": "never mind", "replaces": said, "files": [] }), "Fine.");
    let has_file = |message: &Value| message["parts"][0]["type"] == "file";
    assert!(!has_file(&shown(&mut world)[0]) && has_file(&with(&mut world, &said)[0]));
    // The next start looks for bytes that nobody refers to.
    let mut world = reloaded(world);
    assert!(has_file(&with(&mut world, &said)[0]));
    world.journal.no_file_is_left(&world.disk).unwrap();
    world.must(0, "clearConversation", json!({}));
    world.journal.no_file_is_left(&world.disk).unwrap();
    world.journal.nothing_is_left_until(world.journal.cleared, &world.disk).unwrap();
}

#[test]
fn files_that_spoiled_a_request_are_sent_again_once_that_is_edited_away() {
    let mut world = started();
    let (said, _) = exchange(&mut world, json!({ "text": "look", "files": [given(&SAMPLES[0])] }), "I see.");
    send(&mut world, "spoiled");
    world.breaks(0, ErrorInfo::new(Code::InvalidRequest, "no"));
    let spoiled = id(&shown(&mut world)[2]);
    exchange(&mut world, json!({ "text": "and now" }), "Now.");
    world.must(0, "sendMessage", json!({ "text": "instead", "replaces": spoiled }));
    let here = world.model(0).1.body["messages"].clone();
    assert!(here.to_string().contains("image_url"), "{here}");
    world.answers(0, says("Yes."));
    assert_eq!(id(&shown(&mut world)[0]), said);
}

#[test]
fn views_follow_without_being_told_everything_again() {
    let (mut world, ids) = talked();
    world.must(0, "watch", json!({}));
    let told = world.pages[0].told.view.clone().unwrap();
    exchange(&mut world, json!({ "messageId": ids[1].1 }), "2");
    let view = world.pages[0].told.view.clone().unwrap();
    assert_eq!(view, shown(&mut world));
    assert_eq!((view.len(), &view[..2]), (4, &told[..2]));
    exchange(&mut world, json!({ "text": "first", "replaces": ids[0].0 }), "1");
    assert_eq!(world.pages[0].told.view.clone().unwrap(), shown(&mut world));
}

/// Random messages as a page may have them, its own or another library's.
fn random_messages(rng: &mut Rng) -> Vec<Value> {
    let text = |rng: &mut Rng| ["", " ", "hello", "line\nline", "ünï 😀", "<result>"][rng.usize(..6)];
    let part = |rng: &mut Rng, n: usize| match rng.u8(..6) {
        0 => json!({ "type": "thinking", "text": text(rng) }),
        1..4 => {
            let status = ["completed", "failed", "denied", "unknown", "started", "waiting", "receiving"]
                [rng.usize(..7)];
            let tool = ["get", "ünd", "a.b c"][rng.usize(..3)];
            let mut call = json!({ "type": "tool-call", "toolCallId": format!("call:{}", n % 7), "tool": tool, "status": status });
            call["arguments"] =
                [json!({ "q": 1 }), json!("no json"), json!([1]), Value::Null][rng.usize(..4)].clone();
            if status == "completed" {
                call["result"] =
                    [json!("done"), json!({ "n": 1.5 }), Value::Null, json!("")][rng.usize(..4)].clone();
            } else if rng.bool() {
                call["error"] = json!({ "code": "tool_failed", "message": text(rng), "retryable": false });
            }
            call
        }
        _ => json!({ "type": "text", "text": text(rng) }),
    };
    let mut messages = Vec::new();
    for n in 0..rng.usize(..9) {
        if n == 0 || rng.bool() {
            messages
                .push(json!({ "role": "user", "parts": [{ "type": "text", "text": format!("say {n}") }] }));
            continue;
        }
        let parts: Vec<Value> = (0..rng.usize(..6)).map(|at| part(rng, at + n)).collect();
        let status = ["complete", "interrupted", "failed", "partial"][rng.usize(..4)];
        messages.push(json!({ "role": "assistant", "status": status, "parts": parts, "model": "other" }));
    }
    messages
}

/// The request that comes after this conversation is one that every provider accepts.
fn accepted_by_all(session: &Session) {
    for &wire in Wire::ALL {
        let peer = Peer { wire, dialect: Dialect::CHAT, name: "anybody".into() };
        let messages = Transcript::new(peer, session, session.asked()).extend(&session.runs).to_owned();
        let messages: Value = serde_json::from_str(&format!("[{messages}]")).unwrap();
        let list = messages.as_array().unwrap();
        let judged = check_messages(wire, list, &Signed::new(), false);
        assert_eq!(judged, Ok(()), "{wire:?}: {messages}");
    }
}

fn prompt(text: &str) -> Entry {
    let value = json!({ "message": text, "text": text });
    Entry::from_json("prompt", &value).unwrap()
}

#[test]
fn every_beginning_of_a_conversation_from_elsewhere_can_be_sent_to_everybody() {
    let mut rng = Rng::with_seed(6);
    let mut calls = 0;
    for _ in 0..400 {
        let messages = random_messages(&mut rng);
        let entries =
            adopted(&messages.clone().into(), "f").unwrap_or_else(|e| panic!("{e:?}: {messages:?}"));
        let mut session = Session::new("s");
        let mut rows: Vec<Row> = Vec::new();
        for (n, mut entry) in entries.into_iter().enumerate() {
            if let Entry::Adopted { blocks, .. } = &mut entry {
                *blocks = session.with_own_ids(std::mem::take(blocks), &|_| false);
            }
            rows.push(session.append(5, Some(&format!("run_{n}")), &entry).unwrap());
            let mut next = session.clone();
            next.append(6, Some("run_next"), &prompt("and now?")).unwrap();
            accepted_by_all(&next);
        }
        calls += session.runs.iter().flat_map(|run| &run.turns).map(|turn| turn.calls.len()).sum::<usize>();
        assert!(session.next().is_none(), "it owes nothing");
        assert_eq!(session.sums.turns, 0);
        // What history() tells of it can be given again, and is the same then.
        let told = history(&session, None, None).unwrap();
        let again = adopted(&told.clone().into(), "f").unwrap();
        let mut other = Session::new("s");
        for (n, entry) in again.into_iter().enumerate() {
            other.append(5, Some(&format!("run_{n}")), &entry).unwrap();
        }
        assert_eq!(history(&other, None, None).unwrap(), told);
        // The same from its rows; and once it is cleared, with its content or without.
        rows.push(session.append(9, None, &Entry::Cleared { sums: session.sums }).unwrap());
        let erased = |row: &Row| match row.read().unwrap().0.kind.as_str() {
            "cleared" => row.to_text(),
            _ => row.clone().erased().to_text(),
        };
        let texts: [Vec<String>; 2] =
            [rows.iter().map(Row::to_text).collect(), rows.iter().map(erased).collect()];
        for rows in texts {
            let loaded =
                Session::load("s", &PatternEngine::default(), rows.iter().map(String::as_str)).unwrap();
            laws::same(&loaded, &session, "the fold").unwrap();
            assert_eq!(replay("s", rows.iter().map(String::as_str)).unwrap(), Ok(()));
        }
    }
    assert!(calls > 500, "{calls} calls");
}

#[test]
fn what_is_no_conversation_is_refused_with_its_place() {
    let user = json!({ "role": "user", "parts": [{ "type": "text", "text": "hi" }] });
    let answer = |part: Value| json!([user, { "role": "assistant", "parts": [part] }]);
    let call = |more: Value| {
        let mut call = json!({ "type": "tool-call", "toolCallId": "c", "tool": "t", "arguments": {} });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer(call)
    };
    let file = json!({ "type": "file", "fileId": "f", "mediaType": "image/png" });
    let cases = [
        (json!({}), "messages must be a list"),
        (json!([7]), "messages[0] needs \"parts\""),
        (json!([{ "role": "user" }]), "messages[0] needs \"parts\""),
        (json!([user, { "role": "system", "parts": [] }]), "messages[1] needs \"role\""),
        (json!([{ "role": "assistant", "parts": [] }]), "messages[0] is an answer"),
        (json!([{ "role": "user", "parts": [] }]), "messages[0] has no text"),
        (json!([{ "role": "user", "parts": [{ "type": "text", "text": " " }] }]), "messages[0] has no text"),
        (json!([{ "role": "user", "parts": [file] }]), "files cannot be given"),
        (answer(file.clone()), "messages[1].parts[0] is neither"),
        (answer(json!({ "type": "text" })), "messages[1].parts[0] needs \"text\""),
        (
            json!([user, { "role": "assistant", "parts": [], "status": "dreamt" }]),
            "messages[1] has a \"status\"",
        ),
        (call(json!({ "toolCallId": "" })), "messages[1].parts[0] needs \"toolCallId\""),
        (call(json!({ "tool": "x".repeat(257) })), "messages[1].parts[0] needs \"toolCallId\""),
        (call(json!({ "status": "dreamt" })), "messages[1].parts[0] has a \"status\""),
        (vec![user.clone(); 10_001].into(), "more than 10000 messages"),
        (
            json!([{ "role": "user", "parts": [{ "type": "text", "text": "x".repeat(9 << 20) }] }]),
            "more than 8 MB",
        ),
    ];
    for (messages, words) in cases {
        let error = adopted(&messages, "f").expect_err(words);
        assert_eq!(error.code, Code::InvalidArguments);
        assert!(error.message.contains(words), "{} and not {words}", error.message);
    }
    assert_eq!(adopted(&json!([]), "f").unwrap(), []);
}
