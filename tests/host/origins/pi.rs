//! pi's loop and queue, on a calm world: the same situations and outcomes, written anew.
//!
//! pi-agent-core (badlogic/pi-mono, MIT), `packages/agent/test`. *Ported*: as it is.
//! *Adapted*: the same on what stands in its place here.
//!
//! | pi's case | here |
//! |---|---|
//! | agent-loop.test.ts | |
//! | should emit events with AgentMessage types | ported: `cases::agent_loop`, a_message_is_answered_with_events_in_order |
//! | should handle custom message types via convertToLlm | not applicable: there are no other messages than the contract's |
//! | should apply transformContext before convertToLlm | not applicable: what the model is sent is a view of the journal |
//! | should handle tool calls and results | ported: `cases::agent_loop`, a_tool_call_is_run_and_its_result_sent |
//! | should execute tool calls in parallel and emit tool results in source order | ported: `cases::agent_loop`, parallel_calls_run_together_… |
//! | should inject queued messages after tool completion and skip remaining tool calls | ported |
//! | should throw when context has no messages | adapted: `cases::agent_loop`, going_on_with_nothing_is_nothing_to_resume |
//! | should continue from existing context without emitting user message events | ported: `cases::agent_loop`, a_run_that_goes_on_adds_no_message_of_the_person |
//! | should allow custom message types as last message | not applicable, as above |
//! | agent.test.ts | |
//! | should create an agent instance with default / custom initial state | not applicable: the state is the journal's |
//! | should subscribe to events | not applicable: events are the DOM's (`js/test/client.test.js`) |
//! | should update state with mutators | not applicable: nothing changes the state but commands |
//! | should support steering message queue | adapted: where nothing runs, a message is not queued but sent |
//! | should support follow-up message queue | adapted, likewise |
//! | should support abort controller | ported: `cases::agent_loop`, an_interrupt_of_nothing_is_nothing |
//! | should throw when prompt() called while streaming | ported: `cases::agent_loop`, a_message_while_a_run_works_is_busy_… |
//! | should throw when continue() called while streaming | adapted: `cases::agent_loop`, going_on_with_a_run_that_works_changes_nothing |
//! | continue() should process queued follow-up messages after an assistant turn | adapted: what is held goes on by release |
//! | continue() should keep one-at-a-time steering semantics from assistant tail | ported |
//! | forwards sessionId to streamFn options | not applicable: a provider is not told of sessions |
//!
//! The rest is what the queue promises beyond pi's: it is stored, can be edited, is held, and belongs to somebody.

use crate::support::calm::*;
use crate::support::media::{self, SAMPLES};
use crate::support::script::answer;
use crate::support::sim::World;
use lodger::error::{Code, ErrorInfo};
use lodger::model::{Block, StopReason};
use serde_json::{Value, json};

const SKIPPED: &str = "Skipped due to queued user message";

fn sends(world: &mut World, text: &str, mode: &str) -> String {
    let accepted = world.must(0, "sendMessage", json!({ "text": text, "whenBusy": mode }));
    assert_eq!(accepted["status"], "accepted");
    accepted["runId"].as_str().unwrap().into()
}

/// What waits, as a view shows it.
fn queue(world: &World) -> Vec<(String, String)> {
    let queue = world.pages[0].told.state["queue"].as_array().cloned().unwrap_or_default();
    let word = |queued: &Value, name: &str| queued[name].as_str().unwrap().to_owned();
    queue.iter().map(|queued| (word(queued, "mode"), word(queued, "text"))).collect()
}

fn id(world: &World, text: &str) -> String {
    let queue = world.pages[0].told.state["queue"].as_array().cloned().unwrap_or_default();
    queue.iter().find(|queued| queued["text"] == text).expect(text)["id"].as_str().unwrap().into()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect()
}

/// Who has said what in the request that is in the air.
fn said(world: &World) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    sent(world).iter().map(|message| (word(&message["role"]), word(&message["content"]))).collect()
}

/// Who has said what in the history, and in which run.
fn shown(world: &mut World) -> Vec<(String, String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let text = |message: &Value| {
        message["parts"].as_array().unwrap().iter().map(|part| word(&part["text"])).collect()
    };
    history(world)
        .iter()
        .map(|message| (word(&message["role"]), text(message), word(&message["runId"])))
        .collect()
}

// pi

/// agent-loop.test.ts: "should inject queued messages after tool completion and skip remaining tool calls".
#[test]
fn a_message_enters_after_the_tool_that_runs_and_the_other_calls_are_skipped() {
    let mut world = started();
    let run = send(&mut world, "start");
    world.answers(0, asks(&[("tool-1", "get_fact"), ("tool-2", "send_mail")]));
    assert_eq!(sends(&mut world, "interrupt", "steer"), run);
    assert_eq!(queue(&world), pairs(&[("steer", "interrupt")]));
    assert!(world.pages[0].models.is_empty(), "what runs is waited for");
    returns(&mut world, "tool-1", "ok:first");
    assert!(world.pages[0].called.is_empty(), "the second tool has run");
    assert_eq!(
        said(&world),
        pairs(&[
            ("user", "start"),
            ("assistant", ""),
            ("tool", "ok:first"),
            ("tool", SKIPPED),
            ("user", "interrupt")
        ])
    );
    assert_eq!(story(&world)[2..], ["tool-1 started", "tool-1 completed", "tool-2 started", "tool-2 failed"]);
    let told = last(&world, "agent:tool-call");
    assert_eq!(
        (&told["error"]["message"], &told["error"]["code"]),
        (&json!(SKIPPED), &json!("tool_interrupted"))
    );
    assert_eq!(queue(&world), []);
    world.answers(0, says("done"));
    // It stands before its run's answer, which is one message.
    let run = run.as_str();
    let expected = [("user", "start", run), ("user", "interrupt", run), ("assistant", "done", run)];
    assert_eq!(shown(&mut world), expected.map(|(a, b, c)| (a.into(), b.into(), c.into())));
    let receipts = world.must(0, "sessions.receipts", json!({ "id": "default" }));
    let skipped =
        receipts.as_array().unwrap().iter().find(|r| r["result"]["metadata"]["tool_call_id"] == "tool-2");
    assert_eq!(skipped.unwrap()["result"]["status"], "skipped");
}

/// agent.test.ts: "should support steering message queue" and "… follow-up message queue".
#[test]
fn where_nothing_runs_a_message_is_sent_at_once() {
    for mode in ["steer", "queue", "reject"] {
        let mut world = started();
        sends(&mut world, "Steering message", mode);
        assert_eq!(said(&world), pairs(&[("user", "Steering message")]));
        assert_eq!(queue(&world), []);
    }
}

/// agent.test.ts: "continue() should process queued follow-up messages after an assistant turn".
#[test]
fn what_is_held_begins_when_it_is_released() {
    let mut world = started();
    send(&mut world, "Initial");
    let run = sends(&mut world, "Queued follow-up", "queue");
    world.streams(0, 0, "Initial resp");
    world.must(0, "interrupt", json!({}));
    assert_eq!(queue(&world), pairs(&[("queue", "Queued follow-up")]));
    assert!(world.pages[0].models.is_empty());
    world.pass(0, 3_600_000);
    assert!(world.pages[0].models.is_empty(), "it has begun by itself");
    world.must(0, "queue.release", json!({}));
    assert_eq!(said(&world).last().unwrap().1, "Queued follow-up");
    world.answers(0, says("Processed"));
    assert_eq!(world.must(0, "wait", json!({ "runId": run }))["outcome"], "completed");
}

/// agent.test.ts: "continue() should keep one-at-a-time steering semantics from assistant tail".
#[test]
fn messages_enter_one_at_a_time() {
    let mut world = started();
    let run = send(&mut world, "Initial");
    sends(&mut world, "Steering 1", "steer");
    sends(&mut world, "Steering 2", "steer");
    world.answers(0, says("Initial response"));
    assert_eq!(
        said(&world),
        pairs(&[("user", "Initial"), ("assistant", "Initial response"), ("user", "Steering 1")])
    );
    assert_eq!(queue(&world), pairs(&[("steer", "Steering 2")]));
    world.answers(0, says("Processed 1"));
    assert_eq!(said(&world)[3..], pairs(&[("assistant", "Processed 1"), ("user", "Steering 2")]));
    world.answers(0, says("Processed 2"));
    let told = last(&world, "agent:session-completed");
    assert_eq!((&told["runId"], &told["turns"]), (&json!(run), &json!(3)));
    assert_eq!(world.events(0).iter().filter(|(kind, _)| *kind == "agent:session-started").count(), 1);
}

// Ours

#[test]
fn follow_ups_begin_one_after_the_other_each_as_a_run_with_the_id_that_it_was_given() {
    let mut world = started();
    let first = send(&mut world, "one");
    let second = sends(&mut world, "two", "queue");
    let third = sends(&mut world, "three", "queue");
    assert!(first != second && second != third);
    let waits = world.command(0, "wait", json!({ "runId": third, "timeoutMs": 60_000 }));
    let result = world.command(0, "result", json!({ "runId": second }));
    world.answers(0, says("1"));
    assert_eq!(said(&world), pairs(&[("user", "one"), ("assistant", "1"), ("user", "two")]));
    assert_eq!(queue(&world), pairs(&[("queue", "three")]));
    world.answers(0, says("2"));
    assert_eq!(world.pages[0].asked[&result].answer.clone().unwrap().unwrap()["text"], "2");
    world.answers(0, says("3"));
    assert_eq!(world.pages[0].asked[&waits].answer.clone().unwrap().unwrap()["outcome"], "completed");
    let runs: Vec<_> = shown(&mut world).into_iter().map(|(_, _, run)| run).collect();
    assert_eq!(runs, [&first, &first, &second, &second, &third, &third].map(String::as_str));
    // Each of them is a run of the record.
    for run in [first, second, third] {
        assert_eq!(world.must(0, "sessions.task", json!({ "id": run }))["status"], "completed");
    }
}

#[test]
fn what_waits_can_be_edited_and_removed_until_its_turn_comes() {
    let mut world = started();
    send(&mut world, "one");
    sends(&mut world, "two", "queue");
    let gone = sends(&mut world, "three", "queue");
    let (two, three) = (id(&world, "two"), id(&world, "three"));
    let waits = world.command(0, "result", json!({ "runId": gone }));
    world.must(0, "queue.edit", json!({ "id": two, "text": "two, but better" }));
    assert_eq!(world.fails(0, "queue.edit", json!({ "id": two, "text": " " })).code, Code::EmptyMessage);
    world.must(0, "queue.remove", json!({ "id": three }));
    assert_eq!(queue(&world), pairs(&[("queue", "two, but better")]));
    // Its run will never begin, and the command that waits for it is told so; after a reload too.
    let told = world.pages[0].asked[&waits].answer.clone().unwrap().unwrap();
    assert_eq!(told, json!({ "runId": gone, "outcome": "interrupted", "text": "", "turns": 0 }));
    let told = world.must(0, "wait", json!({ "runId": gone }));
    assert_eq!(
        (&told["status"], &told["outcome"], told.get("startedAt")),
        (&json!("ok"), &json!("interrupted"), None)
    );
    world.answers(0, says("1"));
    assert_eq!(said(&world).last().unwrap().1, "two, but better");
    for (name, id) in [("queue.edit", &two), ("queue.remove", &two), ("queue.remove", &three)] {
        let error = world.fails(0, name, json!({ "id": id, "text": "x" }).clone_without(name));
        assert_eq!(error.code, Code::MessageNotFound, "{name}");
    }
    let mut world = lost(world, json!({}));
    assert_eq!(world.must(0, "wait", json!({ "runId": gone })), told);
}

trait Without {
    fn clone_without(&self, name: &str) -> Value;
}

impl Without for Value {
    /// `queue.remove` takes no text.
    fn clone_without(&self, name: &str) -> Value {
        let mut args = self.clone();
        if name == "queue.remove" {
            args.as_object_mut().unwrap().remove("text");
        }
        args
    }
}

/// An interrupt that names the run of a message that waits takes the message out, and leaves the others alone.
#[test]
fn an_interrupt_of_a_run_that_waits_removes_its_message() {
    let mut world = started();
    send(&mut world, "one");
    let gone = sends(&mut world, "two", "queue");
    sends(&mut world, "three", "queue");
    world.must(0, "interrupt", json!({ "runId": gone }));
    assert_eq!(queue(&world), pairs(&[("queue", "three")]));
    world.answers(0, says("1"));
    assert_eq!(said(&world).last().unwrap().1, "three");
}

#[test]
fn what_waits_is_held_after_an_interrupt_a_failure_and_a_lost_page() {
    let broken = |mut world: World| {
        world.breaks(0, ErrorInfo::new(Code::Auth, "no"));
        world
    };
    let interrupted = |mut world: World| {
        world.must(0, "interrupt", json!({}));
        world
    };
    let stopped = |mut world: World| {
        world.must(0, "stopAgent", json!({}));
        start(&mut world, json!({}));
        world
    };
    let ways: [&dyn Fn(World) -> World; 4] =
        [&broken, &interrupted, &stopped, &|world| lost(world, json!({}))];
    for end in ways {
        let mut world = started();
        send(&mut world, "one");
        sends(&mut world, "follow-up", "queue");
        sends(&mut world, "steering", "steer");
        let mut world = end(world);
        world.pass(0, 60_000);
        assert!(world.pages[0].models.is_empty(), "something has begun by itself");
        assert_eq!(queue(&world).len(), 2);
        // A new message is sent at once, before those that are held. When it completes, they follow: what was to enter
        // another run waits like the others.
        sends(&mut world, "new", "queue");
        assert_eq!(said(&world).last().unwrap().1, "new");
        world.answers(0, says("new one"));
        assert_eq!(said(&world).last().unwrap().1, "follow-up");
        world.answers(0, says("1"));
        assert_eq!(said(&world).last().unwrap().1, "steering");
        world.answers(0, says("2"));
        assert_eq!(queue(&world), []);
    }
}

/// When a run goes on that was lost or has failed, the rest goes on behind it.
#[test]
fn going_on_lets_go_what_is_held() {
    let mut world = started();
    send(&mut world, "one");
    sends(&mut world, "two", "queue");
    let mut world = lost(world, json!({}));
    world.must(0, "resume", json!({}));
    world.breaks(0, ErrorInfo::new(Code::Auth, "no"));
    assert!(world.pages[0].models.is_empty());
    world.must(0, "resume", json!({}));
    // What comes now is not held by what was before it.
    sends(&mut world, "steer", "steer");
    world.answers(0, says("1"));
    assert_eq!(said(&world).last().unwrap().1, "steer");
    world.answers(0, says("2"));
    assert_eq!(said(&world).last().unwrap().1, "two");
}

#[test]
fn a_message_enters_in_place_of_a_question_and_waits_for_what_has_begun() {
    let mut world = started_with(json!({ "permissions": { "tools": { "put_log": "ask" } } }));
    send(&mut world, "one");
    world.answers(0, asks(&[("a", "put_log"), ("b", "put_log")]));
    let asked = question(&world)["requestId"].clone();
    assert_eq!(status(&world), &waiting());
    sends(&mut world, "never mind", "steer");
    assert_eq!(said(&world)[2..], pairs(&[("tool", SKIPPED), ("tool", SKIPPED), ("user", "never mind")]));
    let late = world.fails(0, "resolvePermission", json!({ "requestId": asked, "answer": "allow_once" }));
    assert_eq!(late.code, Code::RequestNotFound);
    // Nobody but a person answers it: it has begun.
    world.answers(0, asks(&[("c", "ask_boss")]));
    sends(&mut world, "and now?", "steer");
    assert!(world.pages[0].models.is_empty());
    world.must(0, "tools.resolve", json!({ "toolCallId": "c", "answer": { "result": "yes" } }));
    assert_eq!(
        said(&world).iter().rev().take(2).map(|(_, text)| text.as_str()).collect::<Vec<_>>(),
        ["and now?", "yes"]
    );
}

/// A message does not enter where the run cannot call its model again, nor in the middle of what a provider has only paused.
#[test]
fn a_message_that_cannot_enter_waits_for_the_end() {
    let mut world = started_with(json!({ "maxTurns": 1 }));
    let run = send(&mut world, "one");
    sends(&mut world, "two", "steer");
    world.answers(0, says("1"));
    assert_eq!(last(&world, "agent:session-completed")["runId"], run);
    assert_eq!(said(&world).last().unwrap().1, "two");
    world.answers(0, asks(&[("a", "get_fact")]));
    sends(&mut world, "three", "steer");
    returns(&mut world, "a", "1");
    assert_eq!(last(&world, "agent:error")["code"], "max_turns_exceeded");
    assert!(world.pages[0].models.is_empty(), "a run that failed holds it");
    let mut world = started();
    send(&mut world, "one");
    sends(&mut world, "two", "steer");
    world.answers(0, answer(vec![Block::Text("half".into())], StopReason::Pause));
    assert_eq!(said(&world), pairs(&[("user", "one"), ("assistant", "half")]));
    world.answers(0, says("whole"));
    assert_eq!(said(&world).last().unwrap().1, "two");
}

#[test]
fn a_queued_message_is_sent_with_all_it_has() {
    let mut world = started();
    send(&mut world, "one");
    let schema =
        json!({ "json": r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"# });
    let files = json!([media::given(&SAMPLES[0])]);
    let message = json!({ "text": "two", "whenBusy": "queue", "schema": schema, "files": files, "context": "and this",
        "metadata": { "k": 1 }, "idempotencyKey": "key", "replaces": history(&mut world)[0]["id"] });
    let accepted = world.must(0, "sendMessage", message.clone());
    assert_eq!(world.must(0, "sendMessage", message.clone()), accepted, "the same key, the same run");
    let mut world = lost(world, json!({}));
    assert_eq!(world.must(0, "sendMessage", message)["runId"], accepted["runId"]);
    world.must(0, "resume", json!({}));
    world.answers(0, says("1"));
    let body = world.model(0).1.body.to_string();
    assert!(body.contains("and this") && !body.contains("\"one\""), "{body}");
    world.answers(0, says("{\"n\":7}"));
    let told = world.must(0, "wait", json!({ "runId": accepted["runId"] }));
    assert_eq!(told["value"], json!({ "n": 7 }));
    let shown = history(&mut world);
    assert_eq!(
        (shown.len(), &shown[0]["metadata"], &shown[0]["parts"][0]["type"]),
        (2, &json!({ "k": 1 }), &json!("file"))
    );
    assert_eq!(shown[0]["versions"].as_array().unwrap().len(), 2);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let mut world = started();
    send(&mut world, "one");
    let message = history(&mut world)[0]["id"].clone();
    let schema = json!({ "json": "{}" });
    for (more, word) in [
        (json!({ "whenBusy": "wait" }), "whenBusy"),
        (json!({ "whenBusy": "steer", "schema": schema }), "schema"),
        (json!({ "whenBusy": "steer", "replaces": message }), "replaces"),
    ] {
        let mut args = json!({ "text": "two" });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let error = world.fails(0, "sendMessage", args);
        assert_eq!(error.code, Code::InvalidConfig);
        assert!(error.message.contains(word), "{error}");
    }
    for (name, args) in [
        ("regenerate", json!({ "whenBusy": "queue" })),
        ("sessions.runOnce", json!({ "text": "x", "whenBusy": "queue" })),
    ] {
        assert!(world.fails(0, name, args).message.contains("whenBusy"), "{name}");
    }
    assert_eq!(
        world.fails(0, "sendMessage", json!({ "text": " ", "whenBusy": "queue" })).code,
        Code::EmptyMessage
    );
    assert_eq!(world.fails(0, "queue.release", json!({ "id": "x" })).code, Code::InvalidArguments);
    assert_eq!(world.fails(0, "queue.edit", json!({ "id": "x" })).code, Code::InvalidArguments);
    let edit = json!({ "id": "x", "text": "two" });
    assert_eq!(world.fails(0, "queue.edit", edit).code, Code::MessageNotFound);
    world.must(0, "stopAgent", json!({}));
    for (name, args) in [("queue.release", json!({})), ("queue.remove", json!({ "id": "x" }))] {
        assert_eq!(world.fails(0, name, args).code, Code::NotRunning, "{name}");
    }
}

#[test]
fn keys_are_taken_out_of_what_waits_and_clearing_erases_it() {
    let secret = "sk-ant-0123456789";
    let mut world = World::calm();
    world.equip(0);
    start(&mut world, json!({ "provider": { "kind": "anthropic", "apiKey": secret } }));
    send(&mut world, "one");
    let run = sends(&mut world, &format!("quokka {secret}"), "queue");
    let message = world.pages[0].told.state["queue"][0]["id"].clone();
    world.must(0, "queue.edit", json!({ "id": message, "text": format!("wombat {secret}") }));
    let steer = sends(&mut world, "numbat", "steer");
    assert!(!format!("{:?} {:?}", world.journal.rows, world.pages[0].told.state).contains(secret));
    world.must(0, "clearConversation", json!({}));
    assert_eq!(queue(&world), []);
    let rows = world.disk.read(&lodger::ports::Read::all(lodger::ports::Table::Entries, vec![]));
    let left = format!("{rows:?}");
    assert!(!left.contains("quokka") && !left.contains("wombat") && !left.contains("numbat"), "{left}");
    for run in [run, steer] {
        assert_eq!(world.must(0, "wait", json!({ "runId": run }))["outcome"], "interrupted");
    }
    let mut world = lost(world, json!({}));
    assert_eq!(queue(&world), []);
    send(&mut world, "two");
}

/// An answer that is made anew answers all that was said before it.
#[test]
fn an_answer_made_anew_keeps_what_had_entered_its_run() {
    let mut world = started();
    send(&mut world, "one");
    sends(&mut world, "two", "steer");
    world.answers(0, says("1"));
    world.answers(0, says("2"));
    let before = history(&mut world);
    world.must(0, "regenerate", json!({}));
    assert_eq!(said(&world), pairs(&[("user", "one"), ("user", "two")]));
    world.answers(0, says("3"));
    let ids = |history: &[Value]| history.iter().map(|message| message["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&history(&mut world))[..2], ids(&before)[..2]);
    let page = world.must(0, "history", json!({ "before": before[1]["id"] }));
    assert_eq!(ids(page.as_array().unwrap()), ids(&before[..1]));
    let page = world.must(0, "history", json!({ "limit": 2 }));
    assert_eq!(page[0]["id"], before[1]["id"]);
}
