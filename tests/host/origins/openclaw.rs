//! OpenClaw's cases of a run's lifecycle: the same situations and values, written anew.
//!
//! OpenClaw (MIT); its times are counted from [`ZERO`]. *Ported*: as it is. *Adapted*: the same on what
//! stands in its place here. A run is one, begins with a message and ends by what its model says, so no test can say
//! "end".
//!
//! | OpenClaw's case | here |
//! |---|---|
//! | server.agent.test.ts @a7d33c06f | |
//! | agent.wait resolves after lifecycle end (200, 210) | ported |
//! | agent.wait resolves when lifecycle ended before wait call (50, 55) | ported |
//! | agent.wait times out when no lifecycle ends (20 ms) | ported |
//! | agent.wait returns error on lifecycle error ("boom") | ported; also `errorGraceMs: 0` |
//! | agent.wait uses lifecycle start timestamp when end omits it (123, 456) | adapted: no end omits it |
//! | agent events include sessionKey in agent payloads | adapted: `sessionId`, in each detail |
//! | agent events stream to webchat clients when run context is registered | not applicable: events need no registration |
//! | agent dedupes by idempotencyKey after completion; agent dedupe survives reconnect | ported: `cases::agent_loop`, the_same_key_is_the_same_run_also_after_a_reload |
//! | agent-events.test.ts | |
//! | stores and clears run context | ported: `run/registry`, what_is_known_of_a_run_is_there_until_its_end |
//! | maintains monotonic seq per runId (1 2 3, 1) | ported: `run/registry`; a law of the simulator for every event |
//! | preserves compaction ordering on the event bus | adapted: `cases::compaction`, a notice before and one after, in the order of the journal |
//! | server-chat-registry.test.ts: queues and removes runs per session | adapted: one run a session; the rest is the queue (`pi`) |
//! | server-chat.agent-events.test.ts | |
//! | emits chat delta for assistant text-only events | ported: `cases::agent_loop`, a_message_is_answered_with_events_in_order |
//! | cleans up agent run sequence tracking when lifecycle completes | ported: what_comes_after_the_end_… |
//! | uses agent event sessionKey when run-context lookup cannot resolve | adapted: an event that comes late is dropped, whatever it names |
//! | final without text | ported: an_end_without_text |
//! | remaps chat-linked lifecycle runId to client runId | not applicable: a run has one id |
//! | remaps chat-linked tool runId for non-full verbose payloads | not applicable: the same |
//! | strips inline directives from assistant chat events | not applicable: text is as the model gave it |
//! | does not emit chat delta for NO_REPLY streaming text; does not include NO_REPLY text in chat final message | not applicable: no word is special |
//! | routes tool events only to registered recipients when verbose is enabled | not applicable: all listeners hear all |
//! | broadcasts tool events to WS recipients even when verbose is off, but skips node send | not applicable: the same |
//! | strips tool output when verbose is on; keeps tool output when verbose is full | not applicable: events have the result's first bytes, `history` all of it |
//! | broadcasts fallback events to agent subscribers and node session | adapted: `agent:notice`, in `cases::model` |
//! | two heartbeat cases | not applicable: that product's |
//! | server.chat.gateway-server-chat.e2e.test.ts | |
//! | handles chat send and history flows | adapted: `cases::agent_loop`, a_message_is_answered_with_events_in_order |
//! | routes chat.send slash commands without agent runs | not applicable: a page's own commands never reach the agent |
//! | agent events include sessionKey and agent.wait covers lifecycle flows (30 ms) | ported, with the waits above |
//! | subagent-registry.lifecycle-retry-grace.test.ts | |
//! | ignores transient lifecycle errors when run retries and then ends successfully (14,999; 20,000 ms) | adapted: another run goes on with it |
//! | announces error when lifecycle error remains terminal after grace window (15,000 ms) | ported |
//! | agent-job.test.ts | |
//! | maps lifecycle end events with aborted=true to timeout | not applicable: interrupted is `ok`, with its outcome |
//! | keeps non-aborted lifecycle end events as ok | ported, with the waits above |
//! | captures latest assistant text… | adapted: a run's result has it: `cases::agent_loop`, the_result_of_a_run_is_known_before_and_after_a_reload_and_a_clearing |
//! | returns cached assistant text… | adapted: the same test, after a reload |
//! | agent.wait.test.ts | ported, with the waits above |
//! | openclaw-tools.subagents.sessions-spawn.lifecycle.test.ts | |
//! | …reports timed out when agent.wait returns timeout | not applicable: nobody waits for a delegate by the clock; its end is the result of its call |
//!
//! Ours, because OpenClaw has none: a late delta after the end is dropped (here, and a law of the
//! simulator). The final never before the last delta, when that fell into the throttle (here). max_turns
//! (`cases::agent_loop`). Truncation at 102,400 bytes on a boundary of UTF-8 (`src/tools/result.rs`). Interrupt between
//! turns (here).

use crate::support::calm::*;
use crate::support::script;
use crate::support::sim::World;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::Input;
use lodger::model::{Delta, DeltaKind};
use serde_json::{Value, json};

/// The clock begins here; OpenClaw's numbers are counted from it.
const ZERO: u64 = 1_000_000;

fn at(world: &mut World, ms: u64) {
    world.now = ZERO + ms;
    world.handle(0, Input::Tick { online: true });
    world.settle(0);
}

/// A run that begins at this time.
fn begins(world: &mut World, ms: u64) -> String {
    at(world, ms);
    send(world, "go")
}

fn fails(world: &mut World, ms: u64, message: &str) {
    at(world, ms);
    world.breaks(0, ErrorInfo::new(Code::Auth, message));
}

fn wait(world: &mut World, args: Value) -> u32 {
    let command = world.command(0, "wait", args);
    world.settle(0);
    command
}

/// What a wait was answered, if it was.
fn answer(world: &World, command: u32) -> Option<Value> {
    world.pages[0].asked[&command].answer.clone().map(Result::unwrap)
}

fn times(answer: &Value) -> (u64, u64) {
    let time = |name: &str| answer[name].as_u64().unwrap() - ZERO;
    (time("startedAt"), time("endedAt"))
}

// agent.wait

/// server.agent.test.ts: "agent.wait resolves after lifecycle end".
#[test]
fn a_wait_is_answered_at_the_end() {
    let mut world = started();
    let run = begins(&mut world, 200);
    let waits = wait(&mut world, json!({ "runId": run, "timeoutMs": 1000 }));
    at(&mut world, 210);
    assert_eq!(answer(&world, waits), None);
    world.answers(0, says("done"));
    let told = answer(&world, waits).unwrap();
    assert_eq!((&told["runId"], &told["status"], times(&told)), (&json!(run), &json!("ok"), (200, 210)));
}

/// server.agent.test.ts: "agent.wait resolves when lifecycle ended before wait call".
#[test]
fn a_wait_after_the_end_is_answered_at_once() {
    let mut world = started();
    let run = begins(&mut world, 50);
    at(&mut world, 55);
    world.answers(0, says("done"));
    let told = world.must(0, "wait", json!({ "runId": run, "timeoutMs": 1000 }));
    assert_eq!((&told["status"], times(&told)), (&json!("ok"), (50, 55)));
    // From the journal, after a reload.
    let mut world = lost(world, json!({}));
    assert_eq!(world.must(0, "wait", json!({ "runId": run })), told);
}

/// server.agent.test.ts: "agent.wait times out when no lifecycle ends"; and nothing happens to the run.
#[test]
fn a_wait_that_times_out_does_not_touch_the_run() {
    let mut world = started();
    let run = begins(&mut world, 100);
    let before = (world.journal.fold.seq(), world.events(0).len());
    let waits = wait(&mut world, json!({ "runId": run, "timeoutMs": 20 }));
    at(&mut world, 119);
    assert_eq!(answer(&world, waits), None);
    at(&mut world, 120);
    assert_eq!(answer(&world, waits), Some(json!({ "runId": run, "status": "timeout" })));
    assert_eq!((world.journal.fold.seq(), world.events(0).len()), before);
    let long = wait(&mut world, json!({ "runId": run, "timeoutMs": 9_000_000_000_000_000_u64 - 1 }));
    world.answers(0, says("done"));
    assert_eq!(answer(&world, long).unwrap()["status"], "ok");
}

/// server.agent.test.ts: "agent.wait returns error on lifecycle error": at once, because nobody has asked for a grace.
#[test]
fn a_wait_tells_an_error_at_once() {
    let mut world = started();
    let run = begins(&mut world, 0);
    let waits = wait(&mut world, json!({ "runId": run, "timeoutMs": 1000 }));
    fails(&mut world, 5, "boom");
    let told = answer(&world, waits).unwrap();
    assert_eq!((&told["status"], &told["error"]["message"]), (&json!("error"), &json!("boom")));
    assert_eq!(told, world.must(0, "wait", json!({ "runId": run, "errorGraceMs": 0 })));
}

/// server.agent.test.ts: "agent.wait uses lifecycle start timestamp when end omits it": here the start's is the run's.
#[test]
fn the_start_is_the_runs_own() {
    let mut world = started();
    let run = begins(&mut world, 123);
    let waits = wait(&mut world, json!({ "runId": run }));
    at(&mut world, 456);
    world.answers(0, says("done"));
    assert_eq!(times(&answer(&world, waits).unwrap()), (123, 456));
    assert_eq!(last(&world, "agent:lifecycle")["startedAt"], ZERO + 123);
}

/// No other keys, whole numbers from 0 on.
#[test]
fn a_wait_takes_what_it_knows_and_nothing_else() {
    let mut world = started();
    let run = begins(&mut world, 0);
    for (name, value) in [
        ("afterMs", json!(1)),
        ("timeoutMs", json!(-1)),
        ("timeoutMs", json!(1.5)),
        ("errorGraceMs", json!(-1)),
        ("errorGraceMs", json!(0.5)),
        ("errorGraceMs", json!("15000")),
    ] {
        let mut args = json!({ "runId": run });
        args[name] = value;
        let error = world.fails(0, "wait", args.clone());
        assert_eq!(error.code, Code::InvalidArguments, "{args}");
        assert!(error.message.contains(name), "{args}: {error}");
    }
    assert_eq!(world.fails(0, "wait", json!({ "runId": "" })).code, Code::RunNotFound);
    assert_eq!(world.fails(0, "wait", json!({ "runId": "run_none" })).code, Code::RunNotFound);
    assert_eq!(world.fails(0, "wait", json!({})).code, Code::InvalidArguments);
}

// The grace of an error

/// subagent-registry.lifecycle-retry-grace.test.ts: "ignores transient lifecycle errors when run retries and then ends
/// successfully". There the run begins again under its id, here another goes on with it.
#[test]
fn a_run_that_goes_on_within_the_grace_answers_in_place_of_the_error() {
    let mut world = started();
    let run = begins(&mut world, 1_000);
    let args = json!({ "runId": run, "timeoutMs": 600_000, "errorGraceMs": 15_000 });
    let waits = wait(&mut world, args.clone());
    fails(&mut world, 1_010, "transient");
    at(&mut world, 1_010 + 14_999);
    assert_eq!(answer(&world, waits), None);
    world.must(0, "resume", json!({}));
    let began = world.now - ZERO;
    at(&mut world, began + 20_000);
    assert_eq!(answer(&world, waits), None);
    let late = wait(&mut world, args.clone());
    world.answers(0, says("done"));
    let told = answer(&world, waits).unwrap();
    assert_eq!((&told["runId"], &told["status"]), (&json!(run), &json!("ok")));
    assert_eq!((&told["outcome"], times(&told)), (&json!("completed"), (began, began + 20_000)));
    assert_eq!((answer(&world, late), &told.get("error")), (Some(told.clone()), &None));
    // A wait without it hears of the error, and after a reload all is the same.
    assert_eq!(world.must(0, "wait", json!({ "runId": run }))["status"], "error");
    let mut world = lost(world, json!({}));
    assert_eq!(world.must(0, "wait", args), told);
}

/// The same file: "announces error when lifecycle error remains terminal after grace window".
#[test]
fn an_error_is_told_when_the_grace_is_over() {
    let mut world = started();
    let run = begins(&mut world, 1_000);
    let args = json!({ "runId": run, "timeoutMs": 600_000, "errorGraceMs": 15_000 });
    let waits = wait(&mut world, args.clone());
    fails(&mut world, 1_010, "fatal failure");
    // Who joins late waits for the rest only, and who waits for less hears that it took too long.
    at(&mut world, 1_010 + 10_000);
    let late = wait(&mut world, args.clone());
    let short = wait(&mut world, json!({ "runId": run, "timeoutMs": 4_999, "errorGraceMs": 15_000 }));
    let just = wait(&mut world, json!({ "runId": run, "timeoutMs": 5_000, "errorGraceMs": 15_000 }));
    at(&mut world, 1_010 + 14_999);
    assert_eq!((answer(&world, waits), answer(&world, late), answer(&world, just)), (None, None, None));
    assert_eq!(answer(&world, short).unwrap()["status"], "timeout");
    at(&mut world, 1_010 + 15_000);
    for waits in [waits, late, just] {
        let told = answer(&world, waits).unwrap();
        assert_eq!((&told["status"], &told["error"]["message"]), (&json!("error"), &json!("fatal failure")));
        assert_eq!(times(&told), (1_000, 1_010));
    }
    // What goes on later is another story.
    world.must(0, "resume", json!({}));
    world.answers(0, says("done"));
    assert_eq!(world.must(0, "wait", args)["status"], "error");
}

/// Ours: a second try that fails has a grace of its own, and what comes of an interrupt is no error.
#[test]
fn each_try_has_its_own_grace() {
    let mut world = started();
    let run = begins(&mut world, 0);
    let waits = wait(&mut world, json!({ "runId": run, "timeoutMs": 600_000, "errorGraceMs": 1_000 }));
    fails(&mut world, 10, "one");
    at(&mut world, 500);
    world.must(0, "resume", json!({}));
    fails(&mut world, 600, "two");
    at(&mut world, 1_599);
    assert_eq!(answer(&world, waits), None);
    let mut world = lost(world, json!({}));
    let waits = wait(&mut world, json!({ "runId": run, "timeoutMs": 600_000, "errorGraceMs": 1_000 }));
    at(&mut world, 1_600);
    let told = answer(&world, waits).unwrap();
    assert_eq!((&told["error"]["code"], times(&told)), (&json!("auth"), (500, 600)));
    let run = send(&mut world, "two");
    let waits = wait(&mut world, json!({ "runId": run, "errorGraceMs": 1_000 }));
    world.must(0, "interrupt", json!({}));
    assert_eq!(answer(&world, waits).unwrap()["outcome"], "interrupted");
}

/// Ours: an error is told when its grace is over, but not before it is stored.
#[test]
fn an_error_is_not_told_before_it_is_stored() {
    let mut world = started();
    let run = begins(&mut world, 0);
    let waits = wait(&mut world, json!({ "runId": run, "errorGraceMs": 10 }));
    let (call, _) = world.model(0);
    world.pages[0].models.clear();
    let result = Err((ErrorInfo::new(Code::Auth, "boom"), None));
    world.handle(0, Input::Answered { call, result });
    world.now += 10;
    world.handle(0, Input::Tick { online: true });
    assert_eq!(answer(&world, waits), None, "its commit is on its way");
    world.settle(0);
    assert_eq!(answer(&world, waits).unwrap()["status"], "error");
}

// Events

/// server.agent.test.ts: "agent events include sessionKey in agent payloads".
#[test]
fn every_event_of_a_run_has_its_session_and_its_number() {
    let mut world = started();
    let run = send(&mut world, "go");
    world.answers(0, says("done"));
    let of_run = world.events(0).iter().filter(|(_, detail)| detail["runId"] == run);
    let seqs: Vec<_> = of_run.clone().map(|(_, detail)| detail["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert!(of_run.clone().all(|(_, detail)| detail["sessionId"] == "default"));
}

/// server-chat.agent-events.test.ts: a final without text has none, and is told all the same.
#[test]
fn an_end_without_text() {
    let mut world = started();
    send(&mut world, "go");
    world.answers(0, script::answer(Vec::new(), lodger::model::StopReason::EndTurn));
    assert_eq!(story(&world), ["lifecycle start", "session-started", "session-completed", "lifecycle end"]);
    assert_eq!(last(&world, "agent:session-completed")["text"], "");
}

/// Ours: what is held back of a text (here for it may be the beginning of a key) is told before the end.
#[test]
fn the_last_piece_is_told_before_the_end() {
    let mut world = World::calm();
    world.equip(0);
    start(&mut world, json!({ "provider": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" } }));
    for interrupted in [false, true] {
        let before = world.events(0).len();
        send(&mut world, "go");
        world.streams(0, 0, "it is sk-a");
        let told = |world: &World| {
            let chunks = world.events(0)[before..].iter().filter(|(kind, _)| *kind == "agent:message-chunk");
            chunks.map(|(_, detail)| detail["text"].as_str().unwrap().to_owned()).collect::<String>()
        };
        assert_eq!(told(&world), "it is ");
        if interrupted {
            world.must(0, "interrupt", json!({}));
        } else {
            let (call, _) = world.model(0);
            world.pages[0].models.clear();
            world.handle(0, Input::Answered { call, result: Ok(says("it is sk-a")) });
            world.settle(0);
        }
        assert_eq!(told(&world), "it is sk-a");
        let kinds: Vec<_> = world.events(0).iter().map(|(kind, _)| *kind).collect();
        let at = |kind: &str| kinds.iter().rposition(|other| *other == kind).unwrap();
        let end = if interrupted { "agent:session-interrupted" } else { "agent:session-completed" };
        assert!(at("agent:message-chunk") < at(end) && at(end) < at("agent:lifecycle"), "{kinds:?}");
    }
}

/// Ours: an interrupt between two turns ends the run there; the next call is not made.
#[test]
fn an_interrupt_between_turns_makes_no_other_call() {
    let mut world = started();
    send(&mut world, "go");
    world.answers(0, asks(&[("a", "get_fact")]));
    let tool = world.running(0, "a");
    world.pages[0].called.clear();
    // Both come before anything of the next turn is stored.
    world.handle(0, Input::Returned { call: tool, result: Ok(Some("1".into())) });
    world.must(0, "interrupt", json!({}));
    assert!(world.pages[0].models.is_empty());
    let turns = &world.journal.fold.runs.last().unwrap().turns;
    assert_eq!(turns[0].calls.len(), 1);
    assert_eq!(story(&world).last().unwrap(), "lifecycle end");
    assert_eq!(last(&world, "agent:session-interrupted")["reason"], "user");
}

/// Ours: what comes after the end of a run gives no event and no entry, and is counted in
/// its record.
#[test]
fn what_comes_after_the_end_is_dropped_and_counted() {
    let mut world = started();
    let run = send(&mut world, "go");
    let dropped = |world: &mut World, run: &str| {
        world.must(0, "sessions.task", json!({ "id": run }))["dropped"].clone()
    };
    world.answers(0, asks(&[("a", "get_fact"), ("b", "put_log")]));
    let (tool, other) = (world.running(0, "a"), world.running(0, "b"));
    returns(&mut world, "b", "1");
    assert_eq!(dropped(&mut world, &run), Value::Null);
    world.must(0, "interrupt", json!({}));
    let second = send(&mut world, "again");
    world.streams(0, 0, "half of");
    let (model, _) = world.model(0);
    world.must(0, "interrupt", json!({}));
    let before = (world.journal.fold.seq(), world.events(0).len());
    // Late results and progress of tools.
    world.handle(0, Input::Progress { call: tool, json: "1".into() });
    world.returns(0, tool, Ok(Some("\"late\"".into())));
    world.handle(0, Input::Late(tool));
    assert_eq!(dropped(&mut world, &run), 3);
    // Late deltas, and the end of the answer.
    let wanted = world.pages[0].harness.delta(model, Delta { part: 0, kind: DeltaKind::Text, text: "late" });
    assert!(!wanted);
    world.pages[0].harness.flush(world.now, model, lodger::model::Usage::default());
    world.handle(0, Input::Answered { call: model, result: Ok(says("late")) });
    assert_eq!(dropped(&mut world, &second), 2);
    // What a run had an answer of may say more, too: nobody knows whose it was any more.
    world.returns(0, other, Ok(Some("\"twice\"".into())));
    assert_eq!(world.pages[0].harness.dropped(), 6);
    // Late timers: of the tool, of the silence, of the run.
    at(&mut world, 10_000_000);
    assert_eq!((world.journal.fold.seq(), world.events(0).len()), before);
    assert_eq!((dropped(&mut world, &run), dropped(&mut world, &second)), (json!(3), json!(2)));
    // In memory: the journal does not know of it.
    let mut world = lost(world, json!({}));
    assert_eq!(dropped(&mut world, &run), Value::Null);
}

/// Ours: the wait for another try is a timer too. It is over with its run.
#[test]
fn a_try_that_waited_is_not_made_after_the_end() {
    let mut world = started();
    let run = send(&mut world, "go");
    world.breaks(0, ErrorInfo::new(Code::Overloaded, "busy"));
    assert_eq!(last(&world, "agent:notice")["kind"], "retry");
    world.must(0, "interrupt", json!({}));
    let before = (world.journal.fold.seq(), world.events(0).len());
    at(&mut world, 10_000_000);
    assert_eq!((world.journal.fold.seq(), world.events(0).len()), before);
    assert!(world.pages[0].models.is_empty());
    assert_eq!(world.must(0, "sessions.task", json!({ "id": run }))["status"], "interrupted");
}
