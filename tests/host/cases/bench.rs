//! Activity, output, bench and play, case by case, on a harness whose store never fails.

use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::harness::{Input, Notice};
use lodger::model::{Block, Delta, DeltaKind, StopReason, Usage};
use lodger::ports::Table;
use serde_json::{Value, json};

fn tool(page: &mut Desk, name: &str, more: Value) {
    let mut tool = json!({
        "name": name, "description": "It is one.", "inputSchema": { "type": "object" },
        "execute": { "$fn": 71 }, "replace": true, "concurrency": "parallel",
    });
    tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    page.must("tools.register", tool);
}

/// A page at work in the session `a`; its run.
fn at_work() -> (Desk, Value) {
    let mut page = Desk::started("ann");
    page.launch("a");
    let run = page.prompt("a", "hello")["runId"].clone();
    (page, run)
}

/// A piece of the answer comes.
fn streams(page: &mut Desk, part: u32, text: &str) {
    let call = page.models[0];
    assert!(page.harness.delta(call, Delta { part, kind: DeltaKind::Text, text }));
    page.now += 1;
    page.harness.flush(page.now, call, Usage::default());
    page.handle(Input::Tick { online: true });
}

fn activity(page: &mut Desk, id: &Value) -> Value {
    page.must("sessions.activity", json!({ "id": id }))
}

fn bench(page: &mut Desk, id: &str) -> Value {
    page.must("sessions.bench", json!({ "id": id }))["suspended"].clone()
}

fn lifecycle(page: &Desk) -> String {
    let last = page.events.iter().rfind(|(name, _)| *name == "agent:status-changed").unwrap();
    last.1["lifecycle"].as_str().unwrap().into()
}

fn begun(page: &Desk, name: &str) -> usize {
    page.events.iter().filter(|(event, _)| *event == name).count()
}

/// What the model was asked last, as text.
fn asked(page: &Desk) -> String {
    page.asked["messages"].to_string()
}

#[test]
fn a_session_without_a_run_waits_and_one_that_is_stopped_is_broken() {
    let (mut page, run) = at_work();
    assert_eq!(activity(&mut page, &json!("a")), "streaming");
    assert_eq!(activity(&mut page, &run), "streaming");
    page.says("done");
    assert_eq!(activity(&mut page, &json!("a")), "waiting");
    assert_eq!(activity(&mut page, &run), "broken", "however it has ended");
    page.must("sessions.stop", json!({ "id": "a" }));
    assert_eq!(activity(&mut page, &json!("a")), "broken");
    page.launch("b");
    page.prompt("b", "hello");
    page.breaks(Code::Auth);
    assert_eq!(activity(&mut page, &json!("b")), "broken", "what can be recovered has failed");
    for unknown in ["nobody", "run_nobody"] {
        let refused = (Code::SessionNotFound, format!("no active session for agent {unknown}"));
        assert_eq!(page.fails("sessions.activity", json!({ "id": unknown })), refused);
        assert_eq!(page.fails("sessions.output", json!({ "id": unknown })), refused);
    }
    assert_eq!(page.fails("sessions.activity", json!({ "id": "a", "of": 1 })).0, Code::InvalidArguments);
}

// Ours: no test of PurePoint covers the limit.
#[test]
fn a_run_whose_message_is_in_the_queue_waits_and_has_said_nothing() {
    let (mut page, _) = at_work();
    let queued = json!({ "sessionId": "a", "text": "and then", "whenBusy": "queue" });
    let run = page.must("sendMessage", queued)["runId"].clone();
    assert_eq!(activity(&mut page, &run), "waiting");
    assert_eq!(page.must("sessions.output", json!({ "id": run }))["offset"], 0);
    let mut page = page.crash("ann");
    assert_eq!(activity(&mut page, &run), "waiting", "also without an agent");
    page.start();
    page.must("interrupt", json!({ "runId": run }));
    assert_eq!(activity(&mut page, &run), "broken", "it was removed");
}

#[test]
fn silence_of_thirty_seconds_streams_and_of_thirty_one_waits() {
    let (mut page, run) = at_work();
    streams(&mut page, 0, "hello");
    // Whatever is done takes this page a millisecond.
    let said = page.now - 1;
    page.now = said + 30_998;
    assert_eq!(activity(&mut page, &run), "streaming");
    assert_eq!(page.now, said + 30_999);
    assert_eq!(activity(&mut page, &run), "waiting");
    assert_eq!(activity(&mut page, &json!("a")), "waiting");
    streams(&mut page, 0, " again");
    assert_eq!(activity(&mut page, &run), "streaming", "a piece has come");
}

#[test]
fn a_run_that_never_said_anything_waits_after_the_same_time() {
    let (mut page, run) = at_work();
    page.now += 31_000;
    assert_eq!(activity(&mut page, &run), "waiting");
}

#[test]
fn progress_of_a_tool_is_a_sign_of_life_and_no_output() {
    let (mut page, run) = at_work();
    tool(&mut page, "dig", json!({}));
    page.wants("dig");
    page.now += 31_000;
    assert_eq!(activity(&mut page, &run), "waiting");
    page.handle(Input::Progress { call: page.tools[0], json: "\"half $ \"".into() });
    assert_eq!(activity(&mut page, &run), "streaming");
    assert_eq!(page.must("sessions.output", json!({ "id": run }))["text"], "");
}

#[test]
fn a_run_that_asks_a_person_or_ends_like_a_prompt_waits() {
    let (mut page, run) = at_work();
    streams(&mut page, 0, "which one?\n> ");
    assert_eq!(activity(&mut page, &run), "waiting");
    streams(&mut page, 0, "\r\n");
    assert_eq!(activity(&mut page, &run), "waiting", "newlines do not count");
    streams(&mut page, 0, "the first");
    assert_eq!(activity(&mut page, &run), "streaming");
    tool(&mut page, "wipe", json!({ "destructive": true }));
    page.wants("wipe");
    assert_eq!(activity(&mut page, &run), "waiting");
    assert_eq!(activity(&mut page, &json!("a")), "waiting");
}

#[test]
fn a_run_that_was_lost_is_broken_and_the_same_is_read_without_an_agent() {
    let (page, run) = at_work();
    let mut page = page.crash("ann");
    assert_eq!(activity(&mut page, &run), "broken");
    assert_eq!(activity(&mut page, &json!("a")), "broken");
    page.held = true;
    assert_eq!(activity(&mut page, &run), "streaming", "another tab works on it");
    page.held = false;
    page.start();
    assert_eq!(activity(&mut page, &run), "broken");
    // It is taken up where it was.
    let state = page.must("sessions.play", json!({ "id": "a" }));
    assert_eq!(state["status"], "running");
    assert_eq!(activity(&mut page, &run), "streaming");
    page.says("done");
    page.holds("a");
}

#[test]
fn what_was_said_is_read_from_any_place_also_after_a_reload() {
    let (mut page, run) = at_work();
    let output = |page: &mut Desk, args: Value| page.must("sessions.output", args);
    streams(&mut page, 0, "one ");
    streams(&mut page, 0, "twö");
    let whole = output(&mut page, json!({ "id": run }));
    assert_eq!(whole, json!({ "text": "one twö", "before": 0, "offset": 8 }));
    // In the middle of a letter.
    assert_eq!(
        output(&mut page, json!({ "id": run, "from": 7 })),
        json!({ "text": "ö", "before": 1, "offset": 8 })
    );
    assert_eq!(
        output(&mut page, json!({ "id": run, "tail": 3 })),
        json!({ "text": "wö", "before": 0, "offset": 8 })
    );
    assert_eq!(
        output(&mut page, json!({ "id": run, "from": 100 })),
        json!({ "text": "", "before": 0, "offset": 8 })
    );
    page.says("one twö");
    assert_eq!(output(&mut page, json!({ "id": run })), whole);
    page.prompt("a", "and?");
    page.says("three");
    let of_session = output(&mut page, json!({ "id": "a", "from": 8 }));
    assert_eq!(of_session, json!({ "text": "three", "before": 0, "offset": 13 }));
    page.rows("a");
    let mut page = page.crash("ann");
    assert_eq!(output(&mut page, json!({ "id": run })), whole);
    assert_eq!(output(&mut page, json!({ "id": "a", "from": 8 })), of_session);
    assert_eq!(page.fails("sessions.output", json!({ "id": "a", "from": -1 })).0, Code::InvalidArguments);
}

#[test]
fn an_offset_stays_right_where_an_answer_is_made_again() {
    let (mut page, run) = at_work();
    streams(&mut page, 0, "twelve bytes");
    assert_eq!(bench(&mut page, "a"), json!(["a"]));
    let at = |page: &mut Desk, from: u64| {
        let read = page.must("sessions.output", json!({ "id": run, "from": from }));
        (read["text"].as_str().unwrap().to_owned(), read["offset"].as_u64().unwrap())
    };
    assert_eq!(at(&mut page, 0), ("twelve bytes".into(), 12));
    page.must("sessions.play", json!({ "id": "a" }));
    assert_eq!(at(&mut page, 0), ("twelve bytes".into(), 12), "it is shown until something else is said");
    streams(&mut page, 0, "other");
    assert_eq!((at(&mut page, 0), at(&mut page, 12)), (("other".into(), 17), ("other".into(), 17)));
    page.says("other");
    assert_eq!(at(&mut page, 12), ("other".into(), 17));
    page.rows("a");
    let mut page = page.crash("ann");
    assert_eq!(at(&mut page, 12), ("other".into(), 17));
}

// Ours: the round trip.
#[test]
fn a_run_is_put_aside_in_mid_answer_and_goes_on() {
    let (mut page, run) = at_work();
    streams(&mut page, 0, "I beg");
    assert_eq!(bench(&mut page, "a"), json!(["a"]));
    assert!(page.models.is_empty(), "the model is not asked any more");
    assert_eq!(lifecycle(&page), "Suspended");
    let state = page.status("a");
    assert_eq!(
        (&state["suspended"], &state["pid"], &state["status"]),
        (&json!(true), &Value::Null, &json!("running"))
    );
    assert!(state["suspendedAt"].as_u64().is_some_and(|at| at <= page.now));
    assert_eq!(activity(&mut page, &run), "waiting");
    let history = page.must("history", json!({ "sessionId": "a" }));
    assert_eq!(
        (&history[1]["status"], &history[1]["parts"][0]["text"]),
        (&json!("partial"), &json!("I beg"))
    );
    assert_eq!(bench(&mut page, "a"), json!([]), "it is benched already");
    for (name, args) in [
        ("sessions.prompt", json!({ "id": "a", "text": "hm" })),
        ("sendMessage", json!({ "sessionId": "a", "text": "hm" })),
        ("regenerate", json!({ "sessionId": "a" })),
        ("resume", json!({ "runId": run })),
    ] {
        assert_eq!(page.fails(name, args).0, Code::Benched, "{name}");
    }
    // It costs nothing, however long.
    assert_eq!(page.harness.deadline(), None);
    let state = page.must("sessions.play", json!({ "id": "a" }));
    assert_eq!((state.get("suspended"), state.get("suspendedAt")), (None, None));
    assert_eq!((page.models.len(), lifecycle(&page).as_str()), (1, "Running"));
    let status = page.events.iter().rfind(|(name, _)| *name == "agent:status-changed").unwrap();
    assert_eq!(status.1["is_streaming"], true);
    assert!(!asked(&page).contains("I beg"), "the call is made again");
    page.says("I began anew");
    let history = page.must("history", json!({ "sessionId": "a" }));
    assert_eq!(
        (history.as_array().unwrap().len(), &history[1]["parts"][0]["text"]),
        (2, &json!("I began anew"))
    );
    assert_eq!(page.must("wait", json!({ "runId": run }))["outcome"], "completed");
    assert_eq!(begun(&page, "agent:session-started"), 1, "a run begins once");
    assert_eq!(
        page.event_types("a"),
        ["launched", "prompt_received", "benched", "played", "run_resumed", "run_completed"]
    );
    assert_eq!(
        page.fails("sessions.play", json!({ "id": "a" })),
        (Code::InvalidTransition, "agent is not suspended".into())
    );
    page.holds("a");
}

#[test]
fn a_tool_with_an_effect_is_waited_for_and_one_that_reads_is_run_again() {
    let (mut page, _) = at_work();
    tool(&mut page, "post", json!({}));
    tool(&mut page, "look", json!({ "readOnly": true }));
    let call = |name: &str| Block::ToolCall { id: name.into(), name: name.into(), arguments: "{}".into() };
    page.answers_with(vec![call("post"), call("look")], StopReason::ToolUse);
    assert_eq!(page.tools.len(), 2);
    bench(&mut page, "a");
    assert_eq!(page.tools.len(), 1, "what only reads is aborted");
    page.returns(0);
    assert!(page.models.is_empty() && page.tools.is_empty(), "its result leads to nothing yet");
    assert_eq!(page.deeds("a").len(), 1);
    page.must("sessions.play", json!({ "id": "a" }));
    assert_eq!((page.tools.len(), page.models.len()), (1, 0));
    page.returns(0);
    page.says("done");
    let told = |status: &str| {
        let of = |(name, detail): &&(&str, Value)| *name == "agent:tool-call" && detail["status"] == status;
        page.events.iter().filter(of).count()
    };
    assert_eq!((told("started"), told("completed")), (2, 2), "each call begins and ends once");
    assert_eq!(page.deeds("a").len(), 1);
    page.holds("a");
}

#[test]
fn a_tool_that_was_lost_while_it_was_waited_for_is_asked_about() {
    let (mut page, run) = at_work();
    tool(&mut page, "post", json!({}));
    page.wants("post");
    bench(&mut page, "a");
    page.rows("a");
    let mut page = page.crash("ann");
    page.start();
    tool(&mut page, "post", json!({}));
    assert_eq!(lifecycle(&page), "Suspended");
    let state = page.status("a");
    assert_eq!((&state["suspended"], &state["status"]), (&json!(true), &json!("running")), "it is not lost");
    assert_eq!(activity(&mut page, &run), "waiting");
    page.must("sessions.play", json!({ "id": "a" }));
    let asked = page.events.iter().rfind(|(name, _)| *name == "agent:permission-required").unwrap();
    assert_eq!(asked.1["reason"], "unknown_outcome");
    page.must("resolvePermission", json!({ "requestId": asked.1["requestId"], "answer": "deny" }));
    page.says("so be it");
    page.holds("a");
}

#[test]
fn a_question_stays_and_is_asked_again() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "permissions": { "timeoutMs": 60_000 } }));
    page.launch("a");
    page.prompt("a", "wipe it");
    tool(&mut page, "wipe", json!({ "destructive": true }));
    page.wants("wipe");
    let question = |page: &Desk| {
        page.events.iter().rfind(|(name, _)| *name == "agent:permission-required").unwrap().1.clone()
    };
    let first = question(&page);
    bench(&mut page, "a");
    let answer = json!({ "requestId": first["requestId"], "answer": "allow_once" });
    assert_eq!(page.fails("resolvePermission", answer.clone()).0, Code::RequestNotFound);
    // Nobody's silence counts meanwhile.
    page.now += 3_600_000;
    page.handle(Input::Tick { online: true });
    assert_eq!(page.harness.deadline(), None);
    page.must("sessions.play", json!({ "id": "a" }));
    assert_eq!(
        (begun(&page, "agent:permission-required"), question(&page)["requestId"].clone()),
        (2, first["requestId"].clone())
    );
    page.must("resolvePermission", answer);
    page.returns(0);
    page.says("done");
    page.holds("a");
}

#[test]
fn a_session_without_a_run_is_benched_over_a_reload_a_stop_and_a_start() {
    let mut page = Desk::started("ann");
    page.launch("a");
    bench(&mut page, "a");
    assert_eq!(lifecycle(&page), "Suspended");
    page.rows("a");
    let mut page = page.crash("ann");
    page.start();
    assert_eq!(lifecycle(&page), "Suspended", "also before anybody has looked at it");
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "a", "text": "hm" })).0, Code::Benched);
    page.must("stopAgent", json!({}));
    assert_eq!(page.status("a")["suspended"], true);
    // Nobody has to work for that.
    assert!(page.must("sessions.play", json!({ "id": "a" })).get("suspended").is_none());
    assert_eq!(bench(&mut page, "a"), json!(["a"]));
    page.start();
    page.must("sessions.play", json!({ "id": "a" }));
    assert_eq!(lifecycle(&page), "Running");
    page.prompt("a", "hm");
    page.says("yes");
    page.holds("a");
}

#[test]
fn a_benched_run_stays_where_it_is_when_the_agent_is_stopped() {
    let (mut page, run) = at_work();
    bench(&mut page, "a");
    page.must("stopAgent", json!({}));
    assert_eq!(page.fails("sessions.play", json!({ "id": "a" })).0, Code::NotRunning);
    assert_eq!(page.status("a")["suspended"], true, "what is refused changes nothing");
    page.start();
    assert!(page.models.is_empty());
    page.must("sessions.play", json!({ "id": "a" }));
    page.says("done");
    assert_eq!(page.must("wait", json!({ "runId": run }))["outcome"], "completed");
    page.holds("a");
}

#[test]
fn a_stop_takes_a_benched_session_up_again() {
    let (mut page, run) = at_work();
    bench(&mut page, "a");
    let state = page.must("sessions.stop", json!({ "id": "a" }));
    assert_eq!((state.get("suspended"), &state["status"]), (None, &json!("stopped")));
    assert_eq!(page.must("wait", json!({ "runId": run }))["outcome"], "interrupted");
    assert_eq!(lifecycle(&page), "Running");
    assert_eq!(bench(&mut page, "a"), json!([]), "it is not alive");
    assert_eq!(page.fails("sessions.play", json!({ "id": "a" })).1, "agent is not suspended");
    let refused = (Code::SessionNotFound, "no active session for agent nobody".into());
    assert_eq!(page.fails("sessions.bench", json!({ "id": "nobody" })), refused);
    assert_eq!(page.fails("sessions.play", json!({ "id": "nobody" })), refused);
    page.must("sessions.restart", json!({ "id": "a" }));
    page.prompt("a", "again");
    page.says("yes");
    page.holds("a");
}

#[test]
fn only_the_owner_benches_and_plays() {
    let (mut page, _) = at_work();
    page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
    assert_eq!(page.fails("sessions.bench", json!({ "id": "a" })).0, Code::PermissionDenied);
    page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
    bench(&mut page, "a");
    page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
    assert_eq!(page.fails("sessions.play", json!({ "id": "a" })).0, Code::PermissionDenied);
    assert_eq!(activity(&mut page, &json!("a")), "waiting", "anybody may look");
}

#[test]
fn what_was_benched_is_not_gone_on_with_by_a_start() {
    let mut page = Desk::started("ann");
    page.must("sendMessage", json!({ "text": "hello" }));
    bench(&mut page, "default");
    page.rows("default");
    let mut page = page.crash("ann");
    let stream = json!({ "kind": "custom", "model": "model-1", "stream": { "$fn": 50 } });
    page.must("startAgent", json!({ "provider": stream, "resume": "auto" }));
    assert!(page.models.is_empty());
    assert_eq!(page.fails("sendMessage", json!({ "text": "hm" })).0, Code::Benched);
    page.must("sessions.play", json!({ "id": "default" }));
    page.says("hello");
    page.holds("default");
}

#[test]
fn time_on_the_bench_is_not_spent() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "budgets": { "run": { "wallMs": 10_000 } } }));
    page.launch("a");
    page.prompt("a", "hello");
    tool(&mut page, "look", json!({ "readOnly": true }));
    bench(&mut page, "a");
    page.now += 86_400_000;
    page.must("sessions.play", json!({ "id": "a" }));
    page.wants("look");
    page.returns(0);
    page.says("in time");
    assert_eq!(page.event_types("a").last().unwrap(), "run_completed");
    page.holds("a");
}

#[test]
fn a_reader_of_a_journal_hears_how_long_it_is_once_that_is_stored() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.launch("b");
    page.must("sessions.attach", json!({ "id": "a", "on": true }));
    page.prompt("a", "hello");
    page.prompt("b", "hello");
    page.says("one");
    page.says("two");
    let rows = page.rows("a").len() as u64;
    let grown: Vec<u64> = page
        .notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Grown(id, seq) => Some((id, *seq)),
            _ => None,
        })
        .map(|(id, seq)| {
            assert_eq!(id, "a", "nobody follows the other");
            seq
        })
        .collect();
    assert!(grown.is_sorted() && grown.len() > 1, "{grown:?}");
    assert_eq!(grown.last(), Some(&rows));
    page.must("sessions.attach", json!({ "id": "a", "on": false }));
    page.notices.clear();
    page.must("sessions.rename", json!({ "id": "a", "displayName": "Another" }));
    page.rows("a");
    assert!(!page.notices.iter().any(|notice| matches!(notice, Notice::Grown(..))));
    assert_eq!(page.stored(Table::Entries, "a").len() as u64, rows + 2);
}
