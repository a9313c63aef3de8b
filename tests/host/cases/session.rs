//! Named sessions, case by case: the commands of seed 001 on a harness whose store never fails.

use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::harness::{Input, Notice};
use lodger::model::{Block, StopReason};
use lodger::ports::{Key, Part, Read, Table};
use serde_json::{Value, json};

#[test]
fn a_session_is_launched_works_and_is_idle() {
    let mut page = Desk::started("ann");
    let state = page.must("sessions.launch", json!({ "id": "agent_docs", "displayName": "Docs bot" }));
    assert_eq!(state["status"], "running");
    assert_eq!((&state["operator_subject"], &state["project_id"]), (&json!("ann"), &json!("docs")));
    assert_eq!((&state["pid"], &state["display_name"]), (&Value::Null, &json!("Docs bot")));
    let run = page.prompt("agent_docs", "Implement the next bounded provider task.");
    let state = page.status("agent_docs");
    assert_eq!((&state["status"], &state["pid"]), (&json!("running"), &json!("1")));
    assert_eq!(state["active_run_id"], run["runId"]);
    page.says("done");
    let state = page.status("agent_docs");
    assert_eq!((&state["status"], &state["pid"]), (&json!("idle"), &Value::Null));
    assert_eq!(state["receipt_ids"].as_array().unwrap().len(), 1);
    assert_eq!(state["handoff_ids"].as_array().unwrap().len(), 1);
    assert_eq!(page.event_types("agent_docs"), ["launched", "prompt_received", "run_completed"]);
    let hash = page.recorded("agent_docs", "event")[1]["metadata"]["prompt_hash"].clone();
    assert_eq!(hash, "4d5f633f2142c214");
    let handoff = &page.recorded("agent_docs", "handoff")[0];
    assert_eq!((&handoff["status"], &handoff["id"]), (&json!("completed"), &state["handoff_ids"][0]));
    page.holds("agent_docs");
}

#[test]
fn sessions_run_side_by_side() {
    let mut page = Desk::started("ann");
    for id in ["one", "two"] {
        page.launch(id);
        page.prompt(id, "hello");
    }
    page.must("sendMessage", json!({ "text": "and you" }));
    assert_eq!(page.models.len(), 3);
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "one", "text": "more" })).0, Code::Busy);
    for text in ["first", "second", "third"] {
        page.says(text);
    }
    for (id, text) in [("one", "first"), ("two", "second"), ("default", "third")] {
        let history = page.must("history", json!({ "sessionId": id }));
        assert_eq!(history[1]["parts"][0]["text"], text);
        page.holds(id);
    }
    let listed = page.must("sessions.list", json!({}));
    let ids: Vec<_> = listed.as_array().unwrap().iter().map(|state| state["id"].clone()).collect();
    assert_eq!(ids, ["default", "two", "one"], "the one that was last changed first");
}

#[test]
fn a_session_begins_with_a_conversation() {
    let mut page = Desk::started("ann");
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let call = json!({ "type": "tool-call", "toolCallId": "c", "tool": "t", "arguments": {}, "status": "completed", "result": 7 });
    let messages = json!([
        { "role": "user", "parts": text("one") },
        { "role": "assistant", "parts": [call] },
        { "role": "assistant", "parts": text("ONE") },
        { "role": "user", "parts": text("two") },
    ]);
    let error = page.fails("sessions.launch", json!({ "id": "a", "messages": [7] }));
    assert_eq!(error.0, Code::InvalidArguments);
    page.must("sessions.launch", json!({ "id": "a", "messages": messages }));
    let begun = page.must("history", json!({ "sessionId": "a" }));
    assert_eq!(begun.as_array().unwrap().len(), 4);
    assert_eq!(begun[1]["parts"][1]["text"], "ONE");
    assert_eq!(page.status("a").get("usage"), None);
    assert_eq!(page.recorded("a", "receipt").len() + page.recorded("a", "handoff").len(), 0);
    page.holds("a");
    let again = page.must("regenerate", json!({ "sessionId": "a" }));
    page.says("TWO");
    let roles = |asked: &Value| -> Vec<String> {
        asked["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap().into()).collect()
    };
    assert_eq!(roles(&page.asked)[1..], ["user", "assistant", "tool", "assistant", "user"]);
    let mut page = page.crash("ann");
    assert_eq!(page.must("wait", json!({ "runId": again["runId"] }))["outcome"], "completed");
    assert_eq!(page.must("wait", json!({ "runId": begun[0]["runId"] }))["outcome"], "completed");
    page.start();
    page.prompt("a", "three");
    assert_eq!(
        roles(&page.asked)[1..],
        ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    );
    page.says("THREE");
    page.holds("a");
    page.must("clearConversation", json!({ "sessionId": "a" }));
    page.holds("a");
    assert_eq!(page.must("wait", json!({ "runId": begun[0]["runId"] }))["outcome"], "completed");
}

#[test]
fn an_id_is_never_used_again() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.must("sessions.stop", json!({ "id": "a" }));
    let exists = (Code::SessionExists, "agent session already exists: a".to_owned());
    assert_eq!(page.fails("sessions.launch", json!({ "id": "a" })), exists);
    let mut page = page.crash("ann");
    page.start();
    assert_eq!(page.fails("sessions.launch", json!({ "id": "a" })), exists);
    assert_eq!(page.status("a")["status"], "stopped");
}

#[test]
fn lifecycle_launch_status_stop_restart() {
    let mut page = Desk::started("ann");
    page.launch("a");
    let stopped = page.must("sessions.stop", json!({ "id": "a", "reason": "done for today" }));
    assert_eq!(stopped["status"], "stopped");
    assert!(stopped["stopped_at"].is_string());
    assert_eq!(stopped["supervision_notes"][1], "done for today");
    let again =
        (Code::InvalidTransition, "agent session a is stopped; only active sessions can be stopped".into());
    assert_eq!(page.fails("sessions.stop", json!({ "id": "a" })), again);
    let refused = "agent session a is stopped; only active sessions accept prompts".into();
    let prompt = json!({ "id": "a", "text": "hello" });
    assert_eq!(page.fails("sessions.prompt", prompt), (Code::InvalidTransition, refused));
    let restarted = page.must("sessions.restart", json!({ "id": "a" }));
    assert_eq!((&restarted["status"], &restarted["stopped_at"]), (&json!("running"), &Value::Null));
    assert_eq!(restarted["supervision_notes"][2], "restarted by operator");
    let active = "agent session a is running; active sessions cannot be restarted".into();
    assert_eq!(page.fails("sessions.restart", json!({ "id": "a" })), (Code::InvalidTransition, active));
    let unknown = (Code::SessionNotFound, "unknown agent session: b".into());
    assert_eq!(page.fails("sessions.status", json!({ "id": "b" })), unknown);
    assert_eq!(page.event_types("a"), ["launched", "stopped", "restarted"]);
    page.holds("a");
}

#[test]
fn a_stop_interrupts_and_waits_for_the_run() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.prompt("a", "hello");
    assert_eq!(page.must("sessions.stop", json!({ "id": "a" }))["status"], "stopped");
    assert!(page.models.is_empty());
    let types = page.event_types("a");
    assert_eq!(types, ["launched", "prompt_received", "stopping", "run_interrupted", "stopped"]);
    let handoff = &page.recorded("a", "handoff")[0];
    assert_eq!(handoff["status"], "incomplete");
    page.holds("a");
}

#[test]
fn exit_words_stop_without_a_run() {
    for word in ["/exit", "exit", " Quit ", "/QUIT"] {
        let mut page = Desk::started("ann");
        page.launch("a");
        assert_eq!(page.prompt("a", word), json!({ "runId": null }));
        assert!(page.models.is_empty());
        let state = page.status("a");
        assert_eq!(state["status"], "stopped");
        assert_eq!(state["recovery_metadata"]["exit_behavior"], "operator_exit");
        assert_eq!(page.event_types("a"), ["launched", "exited"]);
        let exited = page.recorded("a", "event")[1]["metadata"]["exit_command"].clone();
        assert_eq!(exited, word.trim());
        page.holds("a");
    }
    let mut page = Desk::started("ann");
    page.launch("a");
    let run = page.must("sendMessage", json!({ "sessionId": "a", "text": "exit" }));
    assert!(run["runId"].is_string(), "an exit word is one in a prompt only");
}

#[test]
fn who_is_not_the_owner_may_look_and_nothing_else() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.prompt("a", "hello");
    page.must("sessions.prompt", json!({ "id": "a", "text": "and then?", "whenBusy": "queue" }));
    let waits = page.harness.session("a").unwrap().queue()[0].message().to_owned();
    page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
    let other = "agent session operator does not match the active operator session".to_owned();
    for (name, args) in [
        ("sessions.prompt", json!({ "id": "a", "text": "hi" })),
        ("sendMessage", json!({ "sessionId": "a", "text": "hi" })),
        ("sessions.stop", json!({ "id": "a" })),
        ("sessions.rename", json!({ "id": "a", "displayName": "b" })),
        ("sessions.recover", json!({ "id": "a", "action": "resume" })),
        ("interrupt", json!({ "sessionId": "a" })),
        ("clearConversation", json!({ "sessionId": "a" })),
        ("sendMessage", json!({ "sessionId": "a", "text": "hi", "whenBusy": "queue" })),
        ("queue.edit", json!({ "id": waits, "text": "hi" })),
        ("queue.remove", json!({ "id": waits })),
        ("queue.release", json!({ "sessionId": "a" })),
    ] {
        assert_eq!(page.fails(name, args), (Code::PermissionDenied, other.clone()), "{name}");
    }
    assert_eq!(page.status("a")["status"], "running");
    assert_eq!(page.must("history", json!({ "sessionId": "a" })).as_array().unwrap().len(), 2);
    assert_eq!(page.models.len(), 1, "the run goes on");

    page.must("setOperator", json!({ "operator": null }));
    let nobody = "active operator session required".to_owned();
    for (name, args) in [
        ("sessions.launch", json!({ "id": "z" })),
        ("sessions.list", json!({})),
        ("sessions.status", json!({ "id": "a" })),
        ("history", json!({ "sessionId": "a" })),
        ("sendMessage", json!({ "text": "hi" })),
        ("wait", json!({ "runId": "run_1" })),
        ("queue.remove", json!({ "id": waits })),
    ] {
        assert_eq!(page.fails(name, args), (Code::OperatorRequired, nobody.clone()), "{name}");
    }
    let expired = json!({ "operator": { "subject": "ann", "expiresAt": page.now } });
    page.must("setOperator", expired);
    assert_eq!(page.fails("sessions.list", json!({})).0, Code::OperatorRequired);
}

#[test]
fn a_run_lost_with_its_holder_waits_for_recovery() {
    for action in ["resume", "reconnect"] {
        let mut page = Desk::started("ann");
        page.launch("a");
        let run = page.prompt("a", "hello")["runId"].clone();
        page.rows("a");
        let mut page = page.crash("ann");
        // It is only looked at, and reads as it will when the agent is started.
        assert_eq!(page.status("a")["status"], "failed");
        page.start();
        let state = page.status("a");
        assert_eq!((&state["status"], &state["pid"]), (&json!("failed"), &Value::Null));
        assert_eq!(state["recovery_metadata"]["recovery_reason"], "stale_pid");
        let recommended = &state["recovery_metadata"]["recommended_action"];
        assert_eq!(recommended, "reconnect session process, then resume");
        let notes = state["supervision_notes"].as_array().unwrap();
        assert_eq!(notes.last().unwrap(), "Persistent agent recovery required: stale pid.");
        let prompt = json!({ "id": "a", "text": "hello?" });
        assert_eq!(page.fails("sessions.prompt", prompt).0, Code::InvalidTransition);
        let state = page.must("sessions.recover", json!({ "id": "a", "action": action }));
        if action == "resume" {
            assert_eq!((&state["status"], page.models.len()), (&json!("idle"), 0));
            assert_eq!(page.must("resume", json!({ "runId": run }))["runId"], run);
        }
        assert_eq!(page.status("a")["status"], "running");
        page.says("here again");
        assert_eq!(page.status("a")["status"], "idle");
        let waited = page.must("wait", json!({ "runId": run }));
        assert_eq!(waited["outcome"], "completed");
        page.holds("a");
    }
}

#[test]
fn the_first_session_recovers_by_itself() {
    let mut page = Desk::started("ann");
    let run = page.must("sendMessage", json!({ "text": "hello" }))["runId"].clone();
    page.rows("default");
    let mut page = page.crash("ann");
    page.start();
    let state = page.status("default");
    assert_eq!(state["status"], "idle");
    assert_eq!(state["recovery_metadata"]["recovered_from_status"], "failed");
    assert_eq!(page.must("resume", json!({}))["runId"], run);
    page.says("here");
    page.holds("default");
}

/// `sendMessage` and `resume` take up any session, as they do the first: what a lost page left, and what a provider has failed.
#[test]
fn a_named_session_is_taken_up_by_a_message_or_by_going_on() {
    for resumes in [true, false] {
        let mut page = Desk::started("ann");
        page.launch("a");
        let run = page.prompt("a", "hello")["runId"].clone();
        page.rows("a");
        let mut page = page.crash("ann");
        page.start();
        if resumes {
            assert_eq!(page.must("resume", json!({ "sessionId": "a" }))["runId"], run);
        } else {
            let next = page.must("sendMessage", json!({ "sessionId": "a", "text": "and?" }))["runId"].clone();
            assert_ne!(next, run);
            let waited = page.must("wait", json!({ "runId": run }));
            assert_eq!(waited["outcome"], "interrupted");
        }
        page.says("here");
        assert_eq!(page.status("a")["status"], "idle");
        let events = page.event_types("a");
        assert!(events.contains(&"recovered".into()), "{events:?}");
        page.must("sendMessage", json!({ "sessionId": "a", "text": "more" }));
        page.breaks(Code::Quota);
        assert_eq!(page.status("a")["status"], "provider_unavailable");
        page.must("sendMessage", json!({ "sessionId": "a", "text": "again" }));
        page.says("well");
        page.must("sessions.stop", json!({ "id": "a" }));
        // Who has stopped it starts it again.
        let message = json!({ "sessionId": "a", "text": "hello?" });
        assert_eq!(page.fails("sendMessage", message).0, Code::InvalidTransition);
        page.holds("a");
    }
}

#[test]
fn what_the_provider_does_wrong_is_what_the_session_is() {
    for (code, status, action) in [
        (Code::Auth, "auth_expired", "reauthenticate provider credentials, then resume"),
        (Code::Permission, "auth_expired", "reauthenticate provider credentials, then resume"),
        (Code::Quota, "provider_unavailable", "retry provider route or switch provider, then resume"),
        (Code::Refused, "idle", ""),
        (Code::InvalidRequest, "idle", ""),
    ] {
        let mut page = Desk::started("ann");
        page.launch("a");
        page.prompt("a", "hello");
        page.breaks(code);
        let state = page.status("a");
        assert_eq!(state["status"], status, "{code:?}");
        if status == "idle" {
            continue;
        }
        assert_eq!(state["recovery_metadata"]["recommended_action"], action);
        assert!(!state.to_string().contains("secret-token"));
        let prompt = json!({ "id": "a", "text": "again" });
        assert_eq!(page.fails("sessions.prompt", prompt).0, Code::InvalidTransition);
        let state = page.must("sessions.recover", json!({ "id": "a", "action": "resume" }));
        assert_eq!(state["status"], "idle");
        page.prompt("a", "again");
        page.says("well");
        page.holds("a");
    }
}

#[test]
fn reconnecting_goes_on_with_what_the_provider_has_broken_off() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.prompt("a", "hello");
    page.breaks(Code::Auth);
    let state = page.must("sessions.recover", json!({ "id": "a", "action": "reconnect" }));
    assert_eq!((&state["status"], page.models.len()), (&json!("running"), 1));
    page.says("there");
    assert_eq!(page.status("a")["status"], "idle");
    let history = page.must("history", json!({ "sessionId": "a" }));
    let last = history.as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["parts"][0]["text"], &last["status"]), (&json!("there"), &json!("complete")));
    page.holds("a");
}

#[test]
fn a_view_keeps_what_it_shows_of_a_session_that_a_start_does_not_take() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.prompt("a", "hello");
    page.says("there");
    page.must("stopAgent", json!({}));
    page.must("watch", json!({ "sessionId": "a" }));
    page.notices.clear();
    page.start();
    let told = |notice: &Notice| matches!(notice, Notice::History(session, ..) if session == "a");
    assert!(!page.notices.iter().any(told), "{:?}", page.notices);
}

#[test]
fn an_operator_marks_a_failure() {
    let mut page = Desk::started("ann");
    page.launch("a");
    let detail = "provider token=secret-token expired";
    let mark = json!({ "id": "a", "reason": "auth_expired", "detail": detail });
    let state = page.must("sessions.recover", mark);
    assert_eq!(state["status"], "auth_expired");
    assert_eq!(state["recovery_metadata"]["recovery_detail"], "provider token=[REDACTED] expired");
    for (args, words) in [
        (json!({ "id": "a" }), "reason is required when action is omitted"),
        (json!({ "id": "a", "action": "again" }), "action must be reconnect or resume"),
        (
            json!({ "id": "a", "reason": "stale_pid" }),
            "reason must be auth_expired, provider_unavailable, sandbox_failed, or stale_endpoint",
        ),
    ] {
        assert_eq!(page.fails("sessions.recover", args), (Code::InvalidArguments, words.into()));
    }
    assert!(!page.rows("a").concat().contains("secret-token"));
    page.holds("a");
}

#[test]
fn what_is_read_needs_no_agent_and_what_is_written_borrows_the_workspace() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.prompt("a", "hello");
    page.says("there");
    page.rows("a");
    let mut page = page.crash("ann");
    assert_eq!(page.must("sessions.list", json!({})).as_array().unwrap().len(), 2);
    assert_eq!(page.status("a")["status"], "idle");
    assert_eq!(page.must("history", json!({ "sessionId": "a" })).as_array().unwrap().len(), 2);
    let renamed = page.must("sessions.rename", json!({ "id": "a", "displayName": "Another name" }));
    assert_eq!(renamed["display_name"], "Another name");
    let prompt = json!({ "id": "a", "text": "more" });
    assert_eq!(page.fails("sessions.prompt", prompt).0, Code::NotRunning);
    page.must("clearConversation", json!({ "sessionId": "a" }));
    assert_eq!(page.must("history", json!({ "sessionId": "a" })), json!([]));
    let kept = ["launched", "prompt_received", "run_completed", "renamed", "cleared"];
    assert_eq!(page.event_types("a"), kept, "clearing leaves the record whole");
    assert_eq!(page.recorded("a", "receipt").len(), 1);
    page.start();
    page.prompt("a", "anew");
    page.says("yes");
    page.holds("a");
}

#[test]
fn a_run_is_found_by_its_id_alone() {
    let mut page = Desk::started("ann");
    page.launch("a");
    let run = page.prompt("a", "hello")["runId"].clone();
    page.says("there");
    page.rows("a");
    let mut page = page.crash("ann");
    assert_eq!(page.must("wait", json!({ "runId": run }))["outcome"], "completed");
    page.start();
    assert_eq!(page.must("result", json!({ "runId": run }))["text"], "there");
    assert_eq!(page.fails("wait", json!({ "runId": "run_none" })).0, Code::RunNotFound);
}

#[test]
fn what_is_no_session_is_refused() {
    let mut page = Desk::started("ann");
    let long = "x".repeat(10_000);
    for (name, args, code) in [
        ("sessions.launch", json!({ "id": long }), Code::InvalidArguments),
        ("sessions.launch", json!({ "id": "a\u{7}" }), Code::InvalidArguments),
        ("sessions.launch", json!({ "id": "all" }), Code::InvalidArguments),
        // Two ids that look alike.
        ("sessions.launch", json!({ "id": "a\u{200b}" }), Code::InvalidArguments),
        ("sessions.launch", json!({ "id": "\u{202e}a" }), Code::InvalidArguments),
        ("sessions.launch", json!({ "id": "a\u{e0041}" }), Code::InvalidArguments),
        ("sessions.launch", json!({ "displayName": "a\nb" }), Code::InvalidArguments),
        ("sessions.launch", json!({ "displayName": " a" }), Code::InvalidArguments),
        ("sessions.launch", json!({ "provider": "none" }), Code::InvalidConfig),
        ("sessions.launch", json!({ "nmae": "a" }), Code::InvalidArguments),
        ("sessions.prompt", json!({ "id": long, "text": "a" }), Code::SessionNotFound),
        ("sessions.prompt", json!({ "text": "a" }), Code::InvalidArguments),
        ("sessions.prompt", json!({ "id": 7, "text": "a" }), Code::InvalidArguments),
        ("sessions.fly", json!({ "id": "a" }), Code::UnknownCommand),
        ("sendMessage", json!({ "sessionId": "b", "text": "a" }), Code::SessionNotFound),
        ("history", json!({ "sessionId": "b" }), Code::SessionNotFound),
        ("setOperator", json!({ "operator": { "subject": " " } }), Code::InvalidArguments),
        ("setOperator", json!({ "operator": { "name": "ann" } }), Code::InvalidArguments),
    ] {
        let (found, message) = page.fails(name, args);
        assert_eq!(found, code, "{name}: {message}");
        assert!(message.len() < 400, "{message}");
    }
    page.launch("a");
    let empty = (Code::EmptyMessage, "agent prompt cannot be empty".into());
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "a", "text": " \n" })), empty);
}

#[test]
fn the_record_is_read_by_all_who_ask() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.prompt("a", "hello");
    page.says("there");
    // What is not yet stored is told too.
    let mut events = page.must("sessions.events", json!({ "id": "a" }));
    for event in events.as_array_mut().unwrap() {
        assert!(event["receipt_hmac"].take().is_string(), "each is signed");
        // Where the next page begins is seen from the last event of this one.
        let seq = event.as_object_mut().unwrap().remove("seq").unwrap();
        let on = page.must("sessions.events", json!({ "id": "a", "from": seq }));
        assert_eq!(on[0]["id"], event["id"]);
    }
    assert_eq!(events, json!(page.recorded("a", "event")));
    assert_eq!(page.must("sessions.receipts", json!({ "id": "a" })), json!(page.recorded("a", "receipt")));
    let journal = page.must("sessions.journal", json!({ "id": "a", "from": 2, "limit": 3 }));
    let seqs: Vec<_> = journal.as_array().unwrap().iter().map(|event| event["seq"].clone()).collect();
    assert_eq!(seqs, [2, 3, 4]);
    assert_eq!(journal[0]["v"], 1);
    let mut page = page.crash("ann");
    assert_eq!(page.must("sessions.handoffs", json!({ "id": "a" })), json!(page.recorded("a", "handoff")));
    assert_eq!(page.fails("sessions.events", json!({ "id": "b" })).0, Code::SessionNotFound);
    assert_eq!(page.fails("sessions.events", json!({ "id": "a", "limit": -1 })).0, Code::InvalidArguments);
}

#[test]
fn a_session_keeps_to_the_provider_that_it_was_launched_with() {
    let mut page = Desk::started("ann");
    let session = page.must("sessions.launch", json!({ "id": "own", "provider": "spare" }));
    assert_eq!(session["provider_id"], "spare");
    page.launch("other");
    page.prompt("own", "one");
    page.says("1");
    page.prompt("other", "two");
    page.says("2");
    assert_eq!(page.streams, [51, 50]);

    let mut page = page.crash("ann");
    page.start();
    page.prompt("own", "three");
    page.says("3");
    assert_eq!(page.streams, [51], "after a reload too");
    page.holds("own");
    let (code, message) = page.fails("sessions.launch", json!({ "provider": "nobody" }));
    assert_eq!((code, message.as_str()), (Code::InvalidConfig, "no provider is called \"nobody\""));
}

/// A provider that has no key yet: a session that was launched with it has not started.
fn keyless() -> Value {
    json!({ "late": { "kind": "anthropic" } })
}

#[test]
fn a_launch_waits_for_the_key_of_its_provider_and_a_prompt_with_it() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "providers": keyless() }));
    let session = page.must("sessions.launch", json!({ "id": "docs", "provider": "late" }));
    assert_eq!(session["status"], "starting");
    let waits = page.command("sessions.prompt", json!({ "id": "docs", "text": "hello" }));
    assert!(!page.answers.contains_key(&waits) && page.models.is_empty());

    let with_key = json!({ "late": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" } });
    page.must("configureAgent", json!({ "providers": with_key }));
    assert!(page.answers[&waits].as_ref().unwrap()["runId"].is_string());
    assert_eq!(page.models.len(), 1);
    page.says("there");
    assert_eq!(page.status("docs")["status"], "idle");
    let events = ["launched", "started", "prompt_received", "run_completed"];
    assert_eq!(page.event_types("docs"), events);
    page.holds("docs");
}

#[test]
fn what_waits_for_a_key_can_be_stopped() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "providers": keyless() }));
    page.must("sessions.launch", json!({ "id": "docs", "provider": "late" }));
    let waits = page.command("sendMessage", json!({ "sessionId": "docs", "text": "hello" }));
    assert!(!page.answers.contains_key(&waits));
    assert_eq!(page.must("sessions.stop", json!({ "id": "docs" }))["status"], "stopped");
    let refused = page.answers[&waits].clone().unwrap_err();
    assert_eq!(refused.code, Code::InvalidTransition);

    // It is not stopped with the agent: at the next start it waits again, or has its key.
    page.must("sessions.launch", json!({ "id": "later", "provider": "late" }));
    page.must("stopAgent", json!({}));
    page.start_with(json!({ "late": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" } }));
    assert_eq!(page.status("later")["status"], "running");
    page.prompt("later", "now");
    page.says("yes");
    assert_eq!(page.status("later")["status"], "idle");
    page.holds("later");
}

#[test]
fn a_prompt_that_waits_for_a_key_is_refused_at_once_when_its_session_is_removed() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "providers": keyless() }));
    for id in ["docs", "kept"] {
        page.must("sessions.launch", json!({ "id": id, "provider": "late" }));
    }
    let prompt = |id: &str| ("sessions.prompt", json!({ "id": id, "text": "hello" }));
    let send = |id: &str| ("sendMessage", json!({ "sessionId": id, "text": "hello" }));
    let waits = [prompt("docs"), send("docs"), prompt("kept")].map(|(name, args)| page.command(name, args));
    page.must("sessions.remove", json!({ "id": "docs" }));
    for (name, args) in [prompt("docs"), send("docs")] {
        let refused = page.fails(name, args);
        assert_eq!(refused, (Code::SessionNotFound, "unknown agent session: docs".into()));
    }
    for command in &waits[..2] {
        let refused = page.answers[command].as_ref().unwrap_err();
        assert_eq!((refused.code, &*refused.message), (Code::SessionNotFound, "unknown agent session: docs"));
    }
    assert!(!page.answers.contains_key(&waits[2]));
    // Nothing of it is sent later.
    page.must("sessions.undoRemove", json!({ "id": "docs" }));
    page.must(
        "configureAgent",
        json!({ "providers": { "late": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" } } }),
    );
    assert!(page.answers[&waits[2]].is_ok());
    assert_eq!(page.models.len(), 1);
    assert_eq!(page.event_types("docs"), ["launched", "removed", "restored", "started"]);
    page.holds("docs");
}

#[test]
fn what_waits_for_a_key_starts_at_the_start_that_has_it() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "providers": keyless() }));
    page.launch("other");
    page.prompt("other", "hello");
    page.says("hi");
    for id in ["docs", "more"] {
        page.must("sessions.launch", json!({ "id": id, "provider": "late" }));
        page.rows(id);
    }
    let mut page = page.crash("ann");
    page.start_with(keyless());
    let rows = ["default", "docs", "more"].map(|id| page.stored(Table::Entries, id).len());
    assert!(page.read < rows.iter().sum(), "no journal of other sessions is read");
    for id in ["docs", "more"] {
        assert_eq!(page.status(id)["status"], "starting");
    }
    // The key comes while nobody has asked for them, or it is there from the beginning.
    page.handle(Input::Vault { name: "late".into(), held: true });
    assert_eq!(page.status("docs")["status"], "running");
    page.must("stopAgent", json!({}));
    page.must("sessions.list", json!({}));
    page.holds("more");

    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "providers": keyless() }));
    page.must("sessions.launch", json!({ "id": "docs", "provider": "late" }));
    page.rows("docs");
    let mut page = page.crash("ann");
    page.start_with(json!({ "late": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" } }));
    let list = page.must("sessions.list", json!({}));
    let docs = list.as_array().unwrap().iter().find(|session| session["id"] == "docs");
    assert_eq!(docs.unwrap()["status"], "running");
    assert_eq!(page.status("docs")["status"], "running");
    assert_eq!(page.event_types("docs"), ["launched", "started"]);
    page.holds("docs");
}

impl Desk {
    /// A tool that posts, and one that only looks; `more`: what else is said of the one that posts.
    fn offer_post(&mut self, more: &Value) {
        for (name, read_only) in [("post", false), ("look", true)] {
            let mut tool = json!({
                "name": name, "description": "It is one.", "inputSchema": { "type": "object" },
                "execute": { "$fn": 71 }, "readOnly": read_only, "concurrency": "parallel", "capability": "mail",
            });
            if !read_only {
                tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            }
            self.must("tools.register", tool);
        }
    }

    /// A session whose run has a call of each of the two open.
    fn posts(more: &Value) -> Desk {
        let mut page = Desk::started("ann");
        page.offer_post(more);
        page.launch("docs");
        page.prompt("docs", "post it");
        let call = |id: &str, name: &str| Block::ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: "{}".into(),
        };
        page.answers_with(vec![call("a", "post"), call("b", "look"), call("c", "post")], StopReason::ToolUse);
        assert_eq!(page.tools.len(), 3);
        page
    }
}

#[test]
fn a_tool_call_that_was_interrupted_leaves_a_receipt() {
    let unknown = json!(["post", "mail", "failed", "Tool call of unknown outcome: post."]);
    let ways = [
        ("interrupt", json!({ "sessionId": "docs" })),
        ("sessions.stop", json!({ "id": "docs" })),
        ("clearConversation", json!({ "sessionId": "docs" })),
        ("sessions.remove", json!({ "id": "docs" })),
        ("stopAgent", json!({})),
    ];
    for (name, args) in ways {
        let mut page = Desk::posts(&json!({}));
        // The one that only looks was called first; one of the others has come back.
        page.returns(1);
        page.must(name, args);
        let passed = json!(["post", "mail", "passed", "Tool call passed: post."]);
        assert_eq!(page.deeds("docs"), [passed, unknown.clone()], "{name}");
        page.holds("docs");
    }
}

#[test]
fn a_tool_call_that_was_lost_leaves_a_receipt_when_its_fate_is_decided() {
    let unknown = json!(["post", "mail", "failed", "Tool call of unknown outcome: post."]);
    let passed = json!(["post", "mail", "passed", "Tool call passed: post."]);
    let lost = |more: &Value| {
        let mut page = Desk::posts(more);
        page.rows("docs");
        let mut page = page.crash("ann");
        page.start();
        assert_eq!(page.deeds("docs").len(), 0);
        page
    };
    // The next prompt ends the run, and the tools are not there.
    let mut page = lost(&json!({}));
    page.must("sessions.recover", json!({ "id": "docs", "action": "resume" }));
    page.prompt("docs", "go on");
    assert_eq!(page.deeds("docs"), [unknown.clone(), unknown.clone()]);
    page.says("yes");
    page.holds("docs");
    // It goes on, and nobody knows the tools.
    let mut page = lost(&json!({}));
    page.must("sessions.recover", json!({ "id": "docs", "action": "reconnect" }));
    assert_eq!(page.deeds("docs"), [unknown.clone(), unknown.clone()]);
    page.holds("docs");
    for (more, then) in [
        // Run again.
        (json!({ "onResume": "rerun" }), [passed.clone(), unknown.clone()]),
        // Given up.
        (json!({ "onResume": "fail" }), [unknown.clone(), unknown.clone()]),
        // A person has it run again, and leaves it.
        (json!({}), [passed, unknown.clone()]),
    ] {
        let mut page = lost(&more);
        page.offer_post(&more);
        page.must("sessions.recover", json!({ "id": "docs", "action": "reconnect" }));
        let asked = |(name, _): &&(&str, Value)| *name == "agent:permission-required";
        let asked: Vec<Value> = page.events.iter().filter(asked).map(|(_, asked)| asked.clone()).collect();
        for (question, answer) in
            asked.iter().filter(|asked| asked["tool"] == "post").zip(["allow_once", "deny"])
        {
            let answer = json!({ "requestId": question["requestId"], "answer": answer });
            page.must("resolvePermission", answer);
        }
        while !page.tools.is_empty() && !page.deeds("docs").contains(&then[0]) {
            page.returns(0);
        }
        page.must("interrupt", json!({ "sessionId": "docs" }));
        let mut deeds = page.deeds("docs");
        deeds.sort_by_key(|deed| deed[2] != "passed");
        assert_eq!(deeds, then, "{more}");
        page.holds("docs");
    }
}

#[test]
fn what_a_person_or_a_policy_denies_leaves_a_receipt() {
    let mut page = Desk::started("ann");
    page.offer_mail();
    page.launch("docs");
    let denied = json!(["send_mail", "tool.execute", "denied", "Tool call denied: send_mail."]);
    page.prompt("docs", "mail them");
    page.wants("send_mail");
    let (_, asked) =
        page.events.iter().rfind(|(name, _)| *name == "agent:permission-required").unwrap().clone();
    page.must("resolvePermission", json!({ "requestId": asked["requestId"], "answer": "deny" }));
    assert_eq!(page.deeds("docs").len(), 1);
    page.must("configureAgent", json!({ "permissions": { "tools": { "send_mail": "deny" } } }));
    page.wants("send_mail");
    assert_eq!(page.deeds("docs"), [denied.clone(), denied]);
    page.says("then not");
    assert_eq!(page.status("docs")["receipt_ids"].as_array().unwrap().len(), 3);
    page.holds("docs");
}

#[test]
fn a_removed_session_is_gone_and_can_be_brought_back_for_a_while() {
    let mut page = Desk::started("ann");
    for id in ["docs", "kept"] {
        page.launch(id);
        page.prompt(id, "hello");
        page.says("hi");
    }
    page.prompt("docs", "more");
    assert_eq!(page.must("sessions.remove", json!({ "id": "docs" })), Value::Null);
    assert!(page.models.is_empty(), "its run is over");
    let ids = |page: &mut Desk| -> Vec<String> {
        let list = page.must("sessions.list", json!({}));
        let mut ids: Vec<String> =
            list.as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap().into()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&mut page), ["default", "kept"]);
    for (name, args) in [
        ("sessions.status", json!({ "id": "docs" })),
        ("sessions.events", json!({ "id": "docs" })),
        ("sessions.prompt", json!({ "id": "docs", "text": "x" })),
        ("sessions.restart", json!({ "id": "docs" })),
        ("history", json!({ "sessionId": "docs" })),
        ("sendMessage", json!({ "sessionId": "docs", "text": "x" })),
    ] {
        assert_eq!(page.fails(name, args).0, Code::SessionNotFound, "{name}");
    }
    let back = page.must("sessions.undoRemove", json!({ "id": "docs" }));
    assert_eq!((&back["id"], &back["status"]), (&json!("docs"), &json!("idle")));
    assert_eq!(ids(&mut page), ["default", "docs", "kept"]);
    page.holds("docs");

    page.must("sessions.remove", json!({ "id": "docs" }));
    page.now += 10_000;
    assert_eq!(page.fails("sessions.undoRemove", json!({ "id": "docs" })).0, Code::SessionNotFound);
    page.handle(Input::Tick { online: true });
    page.handle(Input::Tick { online: true });
    for table in [Table::Entries, Table::Heads, Table::Drafts] {
        assert!(page.store.read(&Read::all(table, vec!["docs".into()])).is_empty(), "{table:?}");
    }
    let of = |session: &str| {
        page.store
            .read(&Read::all(Table::Meta, vec!["run".into()]))
            .iter()
            .filter(|(_, of)| of == session)
            .count()
    };
    assert_eq!((of("docs"), of("kept") > 0), (0, true));
    page.holds("kept");
    page.launch("docs");
    page.holds("docs");
}

#[test]
fn a_run_that_its_sessions_removal_has_ended_was_interrupted_whenever_that_is_asked() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    for (id, can_come_back) in [("docs", true), ("default", false)] {
        let say = |page: &mut Desk, text: &str| {
            page.must("sendMessage", json!({ "sessionId": id, "text": text, "whenBusy": "queue" }))["runId"]
                .clone()
        };
        let over = say(&mut page, "hello");
        page.says("hi");
        let run = say(&mut page, "and?");
        let begun = page.now;
        let queued = say(&mut page, "then?");
        let before = page.command("result", json!({ "runId": run }));
        assert!(!page.answers.contains_key(&before));
        page.now += 5;
        page.must("sessions.remove", json!({ "id": id }));
        let gone = page.now;
        let asked = |page: &mut Desk, run: &Value| page.must("result", json!({ "runId": run }));
        let interrupted =
            |run: &Value| json!({ "runId": run, "outcome": "interrupted", "text": "", "turns": 0 });
        for run in [&run, &queued] {
            assert_eq!(asked(&mut page, run), interrupted(run));
        }
        let waited = page.must("wait", json!({ "runId": run }));
        assert_eq!(
            waited,
            json!({ "runId": run, "status": "ok", "outcome": "interrupted", "startedAt": begun, "endedAt": gone })
        );
        assert_eq!(page.must("wait", json!({ "runId": queued })).get("startedAt"), None);
        let told = page.answers.get(&before).cloned().unwrap().unwrap();
        assert_eq!((&told["outcome"], &told["turns"]), (&json!("interrupted"), &json!(1)));
        page.fails("result", json!({ "runId": over }));
        // Nobody is told of it without an operator.
        page.must("setOperator", json!({ "operator": null }));
        assert_eq!(page.fails("result", json!({ "runId": run })).0, Code::OperatorRequired);
        page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
        if can_come_back {
            page.must("sessions.undoRemove", json!({ "id": id }));
            assert_eq!(asked(&mut page, &over)["text"], "hi");
            assert_eq!(asked(&mut page, &run)["outcome"], "interrupted");
        }
    }
    page.holds("default");
    page.holds("docs");
}

#[test]
fn what_leads_to_a_removed_session_goes_and_no_other_row_is_read_for_it() {
    let found = |page: &Desk| {
        let rows = page.store.read(&Read::all(Table::Meta, vec!["run".into()]));
        let mut of: Vec<String> = rows.into_iter().map(|(_, session)| session).collect();
        of.sort();
        of
    };
    // A waiting message's id is erased with what was said: then the rows of all runs are read.
    for cleared in [false, true] {
        let mut page = Desk::started("ann");
        for n in 0..40 {
            page.prompt("default", &format!("{n}"));
            page.says("yes");
        }
        page.launch("docs");
        page.prompt("docs", "hello");
        page.must("sessions.prompt", json!({ "id": "docs", "text": "and then?", "whenBusy": "queue" }));
        page.says("hi");
        page.says("that");
        if cleared {
            page.must("clearConversation", json!({ "sessionId": "docs" }));
        }
        page.must("sessions.fork", json!({ "id": "docs" }));
        page.prompt("docs-2", "more");
        page.says("well");
        let all = found(&page);
        let of = |session: &str| all.iter().filter(|of| *of == session).cloned().collect::<Vec<_>>();
        assert!(of("docs").len() >= 5 && of("docs-2").len() >= 2, "{all:?}");
        for (id, others) in [("docs-2", vec!["default", "docs"]), ("docs", vec!["default"])] {
            page.must("sessions.remove", json!({ "id": id }));
            page.now += 10_000;
            page.metas = 0;
            page.handle(Input::Tick { online: true });
            assert_eq!(found(&page), others.iter().flat_map(|other| of(other)).collect::<Vec<_>>());
            assert_eq!(page.metas < 20, !cleared, "{id}: {} rows", page.metas);
        }
        page.holds("default");
    }
}

#[test]
fn what_was_removed_goes_without_an_agent_and_at_a_later_start() {
    let mut page = Desk::started("ann");
    for id in ["one", "two"] {
        page.launch(id);
    }
    page.must("stopAgent", json!({}));
    page.must("sessions.remove", json!({ "id": "one" }));
    assert!(page.harness.deadline().is_some_and(|due| due > page.now && due <= page.now + 10_000));
    page.now += 10_000;
    page.handle(Input::Tick { online: true });
    assert!(page.store.read(&Read::all(Table::Heads, vec!["one".into()])).is_empty());

    page.must("sessions.remove", json!({ "id": "two" }));
    let mut page = page.crash("ann");
    page.now += 20_000;
    assert_eq!(page.fails("sessions.undoRemove", json!({ "id": "two" })).0, Code::SessionNotFound);
    page.start();
    page.handle(Input::Tick { online: true });
    page.rows("default");
    assert!(page.store.read(&Read::all(Table::Heads, vec!["two".into()])).is_empty());
    page.holds("default");
}

#[test]
fn only_the_owner_removes() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    page.prompt("docs", "hello");
    page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
    assert_eq!(page.fails("sessions.remove", json!({ "id": "docs" })).0, Code::PermissionDenied);
    assert_eq!(page.models.len(), 1, "its run goes on");
    page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
    page.must("sessions.remove", json!({ "id": "docs" }));
    page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
    assert_eq!(page.fails("sessions.undoRemove", json!({ "id": "docs" })).0, Code::PermissionDenied);
}

/// It is the harness's own: there is one as long as an agent runs.
#[test]
fn the_first_session_goes_at_once_and_begins_anew() {
    for runs in [true, false] {
        let mut page = Desk::started("ann");
        page.offer_mail();
        page.must("sendMessage", json!({ "text": "hello quokka" }));
        page.says("here");
        page.mails("default");
        assert_eq!(page.grants(), ["default"]);
        let run = page.must("sendMessage", json!({ "text": "and" }))["runId"].clone();
        page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
        assert_eq!(page.fails("sessions.remove", json!({ "id": "default" })).0, Code::PermissionDenied);
        assert_eq!(page.models.len(), 1, "its run goes on");
        page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
        if !runs {
            page.must("stopAgent", json!({}));
        }
        page.must("sessions.remove", json!({ "id": "default" }));
        assert_eq!(page.models.len(), 0);
        assert_eq!(page.must("history", json!({})), json!([]));
        // What a stop has ended before went with its conversation.
        if !runs {
            assert_eq!(page.fails("wait", json!({ "runId": run })).0, Code::RunNotFound);
        }
        let all = [Table::Entries, Table::Heads, Table::Drafts, Table::Meta];
        let rows = all.into_iter().flat_map(|table| page.store.read(&Read::all(table, Vec::new())));
        let left = rows.map(|(key, row)| format!("{key:?} {row}"));
        let left = left
            .filter(|row| row.contains("quokka") || row.starts_with("[Text(\"run\")"))
            .collect::<Vec<_>>();
        assert!(left.is_empty(), "{left:?}");
        if !runs {
            page.start();
        }
        let state = page.status("default");
        assert_eq!(
            (&state["usage"], &state["title"], &state["status"]),
            (&Value::Null, &Value::Null, &json!("running"))
        );
        assert!(page.grants().is_empty());
        page.must("sendMessage", json!({ "text": "anew" }));
        page.says("well");
        page.holds("default");
        let mut page = page.crash("ann");
        page.start();
        assert_eq!(page.must("history", json!({})).as_array().unwrap().len(), 2);
    }
}

#[test]
fn a_session_is_called_by_its_first_words_and_says_who_answers_it() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.must("sessions.launch", json!({ "id": "b", "provider": "spare" }));
    assert_eq!(page.status("a")["title"], Value::Null);
    let long = format!("  What\n is\u{200b} {}", "ö".repeat(100));
    page.prompt("a", &long);
    let title = format!("What is {}…", "ö".repeat(72));
    assert_eq!(page.status("a")["title"], title.as_str());
    page.says("This.");
    page.prompt("a", "And that?");
    page.says("That.");
    let own = json!({ "provider": "spare", "model": "model-1" });
    let main = json!({ "provider": "custom", "model": "model-1" });
    let told = |page: &mut Desk| {
        let listed = page.must("sessions.list", json!({}));
        let of = |id: &str| {
            let state = listed.as_array().unwrap().iter().find(|state| state["id"] == id).unwrap();
            (state["title"].clone(), state["answered_by"].clone())
        };
        [of("a"), of("b")]
    };
    assert_eq!(told(&mut page), [(json!(title), main.clone()), (Value::Null, own.clone())]);
    // By their heads, as they are written.
    let mut page = page.crash("ann");
    assert_eq!(told(&mut page), [(json!(title), Value::Null), (Value::Null, Value::Null)]);
    page.start();
    assert_eq!(told(&mut page), [(json!(title), main), (Value::Null, own.clone())]);
    let provider = json!({ "kind": "custom", "model": "other", "stream": { "$fn": 50 } });
    page.must("configureAgent", json!({ "provider": provider }));
    let other = json!({ "provider": "custom", "model": "other" });
    assert_eq!(told(&mut page), [(json!(title), other.clone()), (Value::Null, own.clone())]);
    page.must("clearConversation", json!({ "sessionId": "a" }));
    assert_eq!(told(&mut page), [(Value::Null, other), (Value::Null, own)]);
}

#[test]
fn all_pages_hear_what_happens_to_a_session() {
    let mut page = Desk::started("ann");
    let changes = |page: &mut Desk| -> Vec<String> {
        let told = std::mem::take(&mut page.events).into_iter();
        let told = told.filter(|(name, _)| *name == "agent:session-changed");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        told.map(|(_, detail)| format!("{} {}", text(&detail["sessionId"]), text(&detail["change"])))
            .collect()
    };
    changes(&mut page);
    page.launch("a");
    page.must("sessions.rename", json!({ "id": "a", "displayName": "Ä" }));
    page.prompt("a", "hello");
    page.says("here");
    // What a run does is told by the run, and a task is nobody's session.
    page.must("sessions.runOnce", json!({ "text": "once" }));
    page.says("done");
    assert_eq!(changes(&mut page), ["a launched", "a renamed"]);
    page.must("sessions.bench", json!({ "id": "a" }));
    page.must("sessions.play", json!({ "id": "a" }));
    page.must("sessions.archive", json!({ "id": "a" }));
    page.must("sessions.fork", json!({ "id": "a" }));
    assert_eq!(changes(&mut page), ["a benched", "a played", "a archived", "a-2 forked"]);
    page.must("sessions.remove", json!({ "id": "a" }));
    page.must("sessions.undoRemove", json!({ "id": "a" }));
    assert_eq!(changes(&mut page), ["a removed", "a restored"]);
    page.must("sessions.prompt", json!({ "id": "a-2", "text": "and" }));
    page.rows("a-2");
    let mut page = page.crash("ann");
    page.start();
    assert!(changes(&mut page).contains(&"a-2 failed".into()));
    page.must("resume", json!({ "sessionId": "a-2" }));
    assert_eq!(changes(&mut page), ["a-2 recovered", "a-2 run_resumed"]);
    page.must("stopAgent", json!({}));
    changes(&mut page);
    // What is done without an agent too, but nobody hears it where nobody is.
    page.must("sessions.rename", json!({ "id": "a", "displayName": "B" }));
    assert_eq!(changes(&mut page), ["a renamed"]);
}

#[test]
fn a_run_is_read_by_its_id_and_by_its_tasks() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    let run = page.prompt("docs", "hello")["runId"].clone();
    let task = page.status("docs")["active_task_id"].clone();
    page.rows("docs");
    for id in [&run, &task] {
        let open = page.must("sessions.task", json!({ "id": id }));
        assert_eq!((&open["id"], &open["status"], &open["iteration"]), (&run, &json!("running"), &json!(1)));
        assert_eq!(open["outputs"], json!([]));
    }
    page.says("hi");
    let mut page = page.crash("ann");
    for id in [&run, &task] {
        let over = page.must("sessions.task", json!({ "id": id }));
        assert_eq!((&over["status"], &over["phase"]), (&json!("completed"), &json!("stop")));
        assert_eq!((&over["task_id"], &over["provider_tokens_used"]), (&task, &json!(30)));
        assert_eq!(over["outputs"][0]["run_id"], run);
        assert_eq!(over["outputs"][0]["observed_output"], json!({ "turns": 1, "answers": 1 }));
        let handoffs = page.must("sessions.handoffs", json!({ "id": "docs" }));
        assert_eq!(over["handoff_id"], handoffs[0]["id"]);
    }
    let (code, message) = page.fails("sessions.task", json!({ "id": "nothing" }));
    assert_eq!((code, message.as_str()), (Code::RecordNotFound, "unknown task run: nothing"));
    page.start();
    page.must("clearConversation", json!({ "sessionId": "docs" }));
    assert_eq!(page.must("sessions.task", json!({ "id": run }))["status"], "completed", "clearing leaves it");
}

#[test]
fn one_task_without_a_session() {
    let mut page = Desk::started("ann");
    let run = page.must("sessions.runOnce", json!({ "text": "sort the shelves" }))["runId"].clone();
    page.says("sorted");
    let left = page.must("sessions.left", json!({ "id": run }));
    assert_eq!((&left["run"]["status"], &left["run"]["id"]), (&json!("completed"), &run));
    assert_eq!(left["handoff"]["status"], "completed");
    let ids: Vec<&Value> =
        left["receipts"].as_array().unwrap().iter().map(|receipt| &receipt["id"]).collect();
    assert_eq!(left["run"]["receipt_ids"], json!(ids));
    assert_eq!(page.must("result", json!({ "runId": run }))["text"], "sorted");
    let list = page.must("sessions.list", json!({}));
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");

    // The command that waited for it is gone with its page: it is not left to be resumed.
    let run = page.must("sessions.runOnce", json!({ "text": "again" }))["runId"].clone();
    page.rows("default");
    let mut page = page.crash("ann");
    page.start();
    let left = page.must("sessions.left", json!({ "id": run }));
    assert_eq!(
        (&left["run"]["status"], &left["handoff"]["status"]),
        (&json!("interrupted"), &json!("incomplete"))
    );
    let session = left["receipts"][0]["metadata"]["session_id"].clone();
    assert!(page.harness.session(session.as_str().unwrap_or("once")).is_none(), "nobody holds it");
    assert_eq!(page.fails("sessions.runOnce", json!({ "text": " " })).0, Code::EmptyMessage);
    assert_eq!(
        page.fails("sessions.runOnce", json!({ "text": "x", "sessionId": "y" })).0,
        Code::InvalidArguments
    );
}

impl Desk {
    /// A tool that everybody is asked about.
    fn offer_mail(&mut self) {
        let tool = json!({
            "name": "send_mail", "description": "Sends mail.", "inputSchema": "{\"type\":\"object\"}",
            "execute": { "$fn": 70 }, "destructive": true,
        });
        self.must("tools.register", tool);
    }

    /// The model wants to send mail, and a person always allows it.
    fn mails(&mut self, id: &str) {
        self.prompt(id, "mail them");
        let call = Block::ToolCall { id: "c".into(), name: "send_mail".into(), arguments: "{}".into() };
        self.answers_with(vec![call], StopReason::ToolUse);
        let (_, asked) =
            self.events.iter().rfind(|(name, _)| *name == "agent:permission-required").unwrap().clone();
        let answer = json!({ "requestId": asked["requestId"], "answer": "always_allow" });
        self.must("setOperator", json!({ "operator": { "subject": "bob" } }));
        assert_eq!(self.fails("resolvePermission", answer.clone()).0, Code::PermissionDenied);
        self.must("setOperator", json!({ "operator": { "subject": "ann" } }));
        self.must("resolvePermission", answer);
        self.must("interrupt", json!({ "sessionId": id }));
    }

    fn grants(&mut self) -> Vec<String> {
        let grants = self.must("tools.grants", json!({}));
        grants.as_array().unwrap().iter().map(|grant| grant["sessionId"].as_str().unwrap().into()).collect()
    }
}

#[test]
fn what_is_always_allowed_is_so_in_its_session_until_the_agent_is_stopped() {
    let mut page = Desk::started("ann");
    page.offer_mail();
    for id in ["one", "two"] {
        page.launch(id);
        page.mails(id);
    }
    assert_eq!(page.grants(), ["one", "two"]);
    page.rows("one");
    let mut page = page.crash("ann");
    assert_eq!(page.grants(), ["one", "two"], "a reload is no stop, and nobody need hold them");
    page.start();
    page.offer_mail();
    page.must("tools.revoke", json!({ "tool": "send_mail", "sessionId": "two" }));
    assert_eq!(page.grants(), ["one"]);

    // It is in nobody's hands when the agent stops.
    page.must("stopAgent", json!({}));
    assert_eq!(page.grants(), Vec::<String>::new());
    page.start();
    page.prompt("one", "hello");
    page.says("hi");
    assert_eq!(page.grants(), Vec::<String>::new());
    page.holds("one");
    page.holds("two");
}

impl Desk {
    /// How many rows were read of a session's journal.
    fn rows_read_by(&mut self, name: &str, args: Value) -> (Value, usize) {
        self.read = 0;
        (self.must(name, args), self.read)
    }
}

#[test]
fn a_page_of_a_long_session_is_read_from_its_end() {
    let mut page = Desk::started("ann");
    page.launch("long");
    for n in 0..200 {
        page.prompt("long", &format!("question {n}"));
        page.says(&format!("answer {n}"));
    }
    let whole = page.must("history", json!({ "sessionId": "long" }));
    let whole = whole.as_array().unwrap().clone();
    assert_eq!(whole.len(), 400);
    let rows = page.rows("long").len();

    let mut page = page.crash("ann");
    for limit in [1, 2, 5, 40, 399, 400, 1000] {
        let args = json!({ "sessionId": "long", "limit": limit });
        let (shown, read) = page.rows_read_by("history", args);
        let most = limit.min(400);
        assert_eq!(shown.as_array().unwrap()[..], whole[400 - most..], "{limit}");
        assert!(limit > 5 || read < 150, "{read} of {rows} rows for {limit} messages");
    }
    let before = whole[300]["id"].clone();
    let args = json!({ "sessionId": "long", "limit": 10, "before": before });
    let (shown, read) = page.rows_read_by("history", args);
    assert_eq!(shown.as_array().unwrap()[..], whole[290..300]);
    assert!(read < rows, "{read}");
    let gone = json!({ "sessionId": "long", "limit": 10, "before": "msg_none" });
    assert_eq!(page.fails("history", gone).0, Code::MessageNotFound);

    let (journal, read) =
        page.rows_read_by("sessions.journal", json!({ "id": "long", "from": 100, "limit": 7 }));
    let seqs: Vec<u64> =
        journal.as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    // The one before is what the first one follows.
    assert_eq!((seqs, read), ((100..107).collect(), 8));
    let all = page.must("sessions.events", json!({ "id": "long" }));
    for (from, limit) in [(1, 3), (1, 300), (900, 2), (1, 1000)] {
        let args = json!({ "id": "long", "from": from, "limit": limit });
        let (events, read) = page.rows_read_by("sessions.events", args);
        let events = events.as_array().unwrap();
        assert!(read < 600 || limit > 3, "{read}");
        if from == 1 {
            let all = all.as_array().unwrap();
            assert_eq!(events[..], all[..limit.min(all.len())]);
        } else {
            assert_eq!(events.len(), limit);
        }
    }
}

#[test]
fn a_page_shows_what_a_lost_page_has_left_and_what_was_cleared() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    for n in 0..40 {
        page.prompt("docs", &format!("question {n}"));
        page.says("answer");
    }
    page.prompt("docs", "and then it was lost");
    page.rows("docs");
    let mut page = page.crash("ann");
    let whole = page.must("history", json!({ "sessionId": "docs" }));
    let last = page.must("history", json!({ "sessionId": "docs", "limit": 3 }));
    assert_eq!(last.as_array().unwrap()[..], whole.as_array().unwrap()[79..]);
    assert_eq!(last[2]["status"], "partial");

    page.start();
    page.must("clearConversation", json!({ "sessionId": "docs" }));
    let mut page = page.crash("ann");
    assert_eq!(page.must("history", json!({ "sessionId": "docs", "limit": 3 })), json!([]));
    assert_eq!(page.fails("history", json!({ "sessionId": "no", "limit": 3 })).0, Code::SessionNotFound);
    assert_eq!(page.must("history", json!({ "limit": 3 })), json!([]));
}

#[test]
fn an_answer_reaches_the_session_that_asked_though_models_number_their_calls_alike() {
    let mut page = Desk::started("ann");
    page.offer_mail();
    let mut asked = Vec::new();
    for id in ["one", "two"] {
        page.launch(id);
        page.prompt(id, "mail them");
        let call = Block::ToolCall { id: "call_1".into(), name: "send_mail".into(), arguments: "{}".into() };
        page.answers_with(vec![call], StopReason::ToolUse);
        let (_, question) =
            page.events.iter().rfind(|(name, _)| *name == "agent:permission-required").unwrap().clone();
        assert_eq!(question["sessionId"], id);
        asked.push(question);
    }
    assert_ne!(asked[0]["requestId"], asked[1]["requestId"]);
    page.must("resolvePermission", json!({ "requestId": asked[1]["requestId"], "answer": "deny" }));
    let resolved = page.events.iter().rfind(|(name, _)| *name == "agent:permission-resolved").unwrap();
    assert_eq!(resolved.1["sessionId"], "two");
    let (_, at) = page.events.iter().rfind(|(name, _)| *name == "agent:tool-call").unwrap();
    assert_eq!((&at["sessionId"], &at["status"]), (&json!("two"), &json!("failed")));
    page.holds("one");
    page.holds("two");
}

#[test]
fn a_run_is_interrupted_by_its_id_alone_in_any_session() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    let run = page.prompt("docs", "hello")["runId"].clone();
    page.must("interrupt", json!({ "runId": "run_none" }));
    page.must("interrupt", json!({ "sessionId": "default", "runId": run }));
    assert_eq!(page.models.len(), 1, "it is none of that session's");
    page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
    assert_eq!(page.fails("interrupt", json!({ "runId": run })).0, Code::PermissionDenied);
    page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
    page.must("interrupt", json!({ "runId": run }));
    assert!(page.models.is_empty());
    assert_eq!(page.status("docs")["status"], "idle");
    page.holds("docs");
}

#[test]
fn sessions_without_an_id_of_their_own_do_not_meet() {
    let mut page = Desk::started("ann");
    let ids: Vec<Value> = (0..3).map(|_| page.must("sessions.launch", json!({}))["id"].clone()).collect();
    assert_eq!(ids[0], "agent_docs_custom_20260522061500");
    assert_eq!(ids[1], "agent_docs_custom_20260522061500-2");
    assert_eq!(ids[2], "agent_docs_custom_20260522061500-3");
}

#[test]
fn an_empty_id_is_no_session() {
    let mut page = Desk::started("ann");
    for (name, args) in [
        ("sessions.status", json!({ "id": "" })),
        ("sessions.prompt", json!({ "id": "", "text": "x" })),
        ("sessions.export", json!({ "id": "" })),
        ("sendMessage", json!({ "sessionId": "", "text": "x" })),
        ("history", json!({ "sessionId": "" })),
    ] {
        assert_eq!(page.fails(name, args).0, Code::SessionNotFound, "{name}");
    }
}

#[test]
fn what_looks_like_a_secret_is_nobodys_name_and_no_id() {
    let mut page = Desk::started("ann");
    for subject in ["https://login.example/ann@example.com", "token=abcdefgh", "ghp_abcdefgh1234"] {
        let args = json!({ "operator": { "subject": subject } });
        assert_eq!(page.fails("setOperator", args).0, Code::InvalidArguments, "{subject}");
    }
    for id in ["token=abc", "ghp_abcdefgh1234"] {
        assert_eq!(page.fails("sessions.launch", json!({ "id": id })).0, Code::InvalidArguments, "{id}");
    }
    page.launch("docs");
    page.holds("docs");
}

#[test]
fn a_prompt_that_would_be_refused_does_not_wait_for_a_key() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "providers": keyless() }));
    page.must("sessions.launch", json!({ "id": "docs", "provider": "late" }));
    assert_eq!(page.fails("sessions.prompt", json!({ "id": "docs", "text": " " })).0, Code::EmptyMessage);
    page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
    assert_eq!(
        page.fails("sessions.prompt", json!({ "id": "docs", "text": "mine" })).0,
        Code::PermissionDenied
    );
    page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
    let waits = page.command("sessions.prompt", json!({ "id": "docs", "text": "hello" }));
    page.must("setOperator", json!({ "operator": { "subject": "bob" } }));
    assert_eq!(page.answers[&waits].as_ref().unwrap_err().code, Code::PermissionDenied, "nobody else's");
    page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
    assert_eq!(page.must("sessions.prompt", json!({ "id": "docs", "text": "exit" }))["runId"], Value::Null);
    assert_eq!(page.status("docs")["status"], "stopped");
    page.holds("docs");
}

#[test]
fn a_held_run_goes_on_by_itself_for_its_owner_alone() {
    let provider = json!({ "kind": "custom", "model": "model-1", "stream": { "$fn": 50 } });
    let start = json!({ "provider": provider, "resume": "auto" });
    let mut page = Desk::started("ann");
    page.must("sendMessage", json!({ "text": "mine" }));
    let mut page = page.crash("bea");
    page.must("startAgent", start.clone());
    assert_eq!(page.models.len(), 0);
    assert_eq!(page.event_types("default"), ["launched", "prompt_received", "failed"]);
    let mut page = page.crash("ann");
    page.harness = lodger::harness::Harness::new(lodger::harness::Options {
        name: "docs".into(),
        page_tools: false,
        holder: "h".into(),
        operator: None,
    });
    page.must("startAgent", start.clone());
    assert_eq!(page.models.len(), 0);
    let mut page = page.crash("ann");
    page.must("startAgent", start);
    assert_eq!(page.models.len(), 1);
    page.says("yours");
    assert_eq!(page.status("default")["status"], "idle");
    page.holds("default");
}

#[test]
fn each_held_run_goes_on_by_itself_where_the_page_wants_that() {
    let mut page = Desk::started("ann");
    for id in ["a", "b"] {
        page.launch(id);
        page.prompt(id, "hello");
    }
    page.must("sendMessage", json!({ "text": "hello" }));
    page.must("sessions.bench", json!({ "id": "b" }));
    let mut page = page.crash("ann");
    let provider = json!({ "kind": "custom", "model": "model-1", "stream": { "$fn": 50 } });
    page.must("startAgent", json!({ "provider": provider, "resume": "auto" }));
    assert_eq!(page.models.len(), 2, "but what was put aside");
    page.says("one");
    page.says("two");
    for id in ["default", "a"] {
        assert_eq!(page.status(id)["status"], "idle");
        page.holds(id);
    }
    assert_eq!(page.status("b")["suspended"], true);
}

#[test]
fn a_session_whose_run_works_is_not_marked_as_failed() {
    let mut page = Desk::started("ann");
    page.launch("a");
    page.prompt("a", "hello");
    let mark = json!({ "id": "a", "reason": "sandbox_failed" });
    assert_eq!(page.fails("sessions.recover", mark.clone()).0, Code::Busy);
    assert_eq!(page.status("a")["status"], "running");
    page.must("interrupt", json!({ "sessionId": "a" }));
    page.must("sessions.recover", mark);
    assert_eq!(page.status("a")["status"], "sandbox_failed");
    page.holds("a");
}

#[test]
fn a_session_does_not_wait_for_a_provider_that_is_no_more() {
    let mut page = Desk::of("ann");
    page.start_with(json!({ "later": { "kind": "anthropic" } }));
    page.must("sessions.launch", json!({ "id": "a", "provider": "later" }));
    let waits = page.command("sessions.prompt", json!({ "id": "a", "text": "hello" }));
    assert!(!page.answers.contains_key(&waits));
    page.must("configureAgent", json!({ "providers": {} }));
    assert_eq!(page.answers[&waits].as_ref().unwrap_err().code, Code::InvalidConfig);
    let more = json!({ "id": "a", "text": "hello" });
    assert_eq!(page.fails("sessions.prompt", more).0, Code::InvalidConfig);
}

#[test]
fn a_fork_of_what_was_before_the_record_can_be_prompted() {
    let mut page = Desk::started("ann");
    let fork = page.must("sessions.fork", json!({ "id": "default", "at": 1 }));
    assert_eq!((&fork["project_id"], &fork["provider_id"]), (&json!("docs"), &json!("custom")));
    page.prompt(fork["id"].as_str().unwrap(), "hello");
    page.says("there");
}

#[test]
fn what_a_record_is_told_is_bounded() {
    let mut page = Desk::started("ann");
    let long = "x".repeat(300);
    let state = page.must("sessions.launch", json!({ "projectId": long }));
    assert!(state["id"].as_str().unwrap().len() < 256);
    let longer = json!({ "projectId": "x".repeat(1_001) });
    assert_eq!(page.fails("sessions.launch", longer).0, Code::InvalidArguments);
    for subject in ["", "a\nb", &"x".repeat(1_001)] {
        let operator = json!({ "operator": { "subject": subject } });
        assert_eq!(page.fails("setOperator", operator).0, Code::InvalidArguments);
    }
    page.launch("a");
    page.must("setOperator", json!({ "operator": { "subject": "bea" } }));
    assert_eq!(page.fails("sessions.undoRemove", json!({ "id": "a" })).0, Code::PermissionDenied);
}

#[test]
fn a_list_shows_what_was_lost_as_its_status_would() {
    for held in [false, true] {
        let mut page = Desk::started("ann");
        page.launch("a");
        page.prompt("a", "hello");
        let mut page = page.crash("ann");
        page.held = held;
        let listed = page.must("sessions.list", json!({}));
        let of =
            |listed: &Value| listed.as_array().unwrap().iter().find(|one| one["id"] == "a").cloned().unwrap();
        let (listed, status) = (of(&listed), page.status("a"));
        assert_eq!(listed["status"], if held { "running" } else { "failed" });
        for member in ["status", "pid", "supervision_notes", "active_run_id"] {
            assert_eq!(listed[member], status[member], "{member}, held: {held}");
        }
        let reason = |state: &Value| state["recovery_metadata"]["recovery_reason"].clone();
        assert_eq!(reason(&listed), reason(&status));
    }
}

#[test]
fn the_longest_id_has_room_for_a_number() {
    let mut page = Desk::started("ann");
    let id = "x".repeat(256);
    page.launch(&id);
    let fork = page.must("sessions.fork", json!({ "id": id }));
    assert_eq!(fork["id"], format!("{}-2", "x".repeat(254)));
}

#[test]
fn a_run_goes_on_while_nobody_is_there_and_tells_nothing() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    for expires in [false, true] {
        let end = page.now + 100;
        let operator = if expires { json!({ "subject": "ann", "expiresAt": end }) } else { Value::Null };
        page.must("watch", json!({ "sessionId": "docs" }));
        page.prompt("docs", "hello");
        page.must("setOperator", json!({ "operator": operator }));
        page.now = page.now.max(end);
        page.events.clear();
        page.notices.clear();
        page.says("there");
        page.rows("docs");
        assert!(page.events.iter().all(|(name, _)| *name == "agent:status-changed"), "{:?}", page.events);
        assert!(!page.events.is_empty(), "the agent itself is told of");
        assert!(page.notices.iter().all(|notice| matches!(notice, Notice::Status(_))), "{:?}", page.notices);

        page.must("setOperator", json!({ "operator": { "subject": "ann" } }));
        page.must("watch", json!({ "sessionId": "docs" }));
        let there = |notice: &Notice| matches!(notice, Notice::History(_, text, _) if text.contains("there"));
        assert!(page.notices.iter().any(there));
        assert!(page.notices.iter().any(|notice| matches!(notice, Notice::View(..))));
        page.prompt("docs", "and now");
        page.says("yes");
        assert!(page.events.iter().any(|(name, _)| *name == "agent:session-completed"));
    }
}

#[test]
fn a_prompt_that_waits_for_a_key_can_be_interrupted() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "providers": keyless() }));
    page.must("sessions.launch", json!({ "id": "docs", "provider": "late" }));
    let first = page.command("sessions.prompt", json!({ "id": "docs", "text": "one" }));
    let second = page.command("sendMessage", json!({ "sessionId": "docs", "text": "two" }));
    page.must("interrupt", json!({ "command": first }));
    assert_eq!(page.answers[&first].as_ref().unwrap_err().code, Code::Aborted);
    page.must("interrupt", json!({}));
    assert!(!page.answers.contains_key(&second), "that was for another session");
    page.must("interrupt", json!({ "sessionId": "docs" }));
    assert_eq!(page.answers[&second].as_ref().unwrap_err().code, Code::Aborted);

    let with_key = json!({ "late": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" } });
    page.must("configureAgent", json!({ "providers": with_key }));
    assert!(page.models.is_empty());
    // One that was sent by now is not meant.
    let sent = page.command("sessions.prompt", json!({ "id": "docs", "text": "three" }));
    page.must("interrupt", json!({ "command": sent }));
    page.says("four");
    assert_eq!(page.event_types("docs"), ["launched", "started", "prompt_received", "run_completed"]);
    page.holds("docs");
}

#[test]
fn the_same_words_in_the_same_second_are_tasks_of_their_own() {
    let mut page = Desk::started("ann");
    let ids = ["a b", "a_b"];
    for id in ids {
        page.launch(id);
    }
    let begun = page.now / 1000;
    let mut runs = Vec::new();
    for text in ["again", "other", "again", "again"] {
        for id in ids {
            runs.push(page.prompt(id, text)["runId"].clone());
            page.says("yes");
        }
    }
    assert_eq!(page.now / 1000, begun, "all in one second");
    let mut seen = std::collections::BTreeSet::new();
    for id in ids {
        for handoff in page.recorded(id, "handoff") {
            assert!(seen.insert(handoff["id"].to_string()), "{handoff}");
            let task = page.must("sessions.task", json!({ "id": handoff["task_id"] }));
            assert_eq!(task["handoff_id"], handoff["id"]);
        }
        page.holds(id);
    }
    assert_eq!(seen.len(), runs.len());
}

#[test]
fn the_session_of_one_task_is_reached_by_its_run_alone() {
    let mut page = Desk::started("ann");
    let run = page.must("sessions.runOnce", json!({ "text": "sort the shelves" }))["runId"].clone();
    page.rows("default");
    let heads = page.store.read(&Read::all(Table::Heads, Vec::new()));
    let id = heads.iter().find_map(|(key, _)| match key.first() {
        Some(Part::Text(id)) if id.starts_with("once_") => Some(id.clone()),
        _ => None,
    });
    let id = id.unwrap();
    for over in [false, true] {
        for name in [
            "status", "journal", "events", "receipts", "handoffs", "export", "stop", "restart", "fork",
            "remove",
        ] {
            let (code, _) = page.fails(&format!("sessions.{name}"), json!({ "id": id }));
            assert_eq!(code, Code::SessionNotFound, "{name}, {over}");
        }
        for (name, args) in [
            ("sessions.prompt", json!({ "id": id, "text": "more" })),
            ("sessions.rename", json!({ "id": id, "displayName": "mine" })),
            ("sessions.recover", json!({ "id": id, "action": "resume" })),
            ("history", json!({ "sessionId": id })),
            ("history", json!({ "sessionId": id, "limit": 5 })),
            ("watch", json!({ "sessionId": id })),
            ("sendMessage", json!({ "sessionId": id, "text": "more" })),
            ("clearConversation", json!({ "sessionId": id })),
        ] {
            assert_eq!(page.fails(name, args).0, Code::SessionNotFound, "{name}, {over}");
        }
        page.must("sessions.task", json!({ "id": run }));
        if !over {
            page.says("sorted");
        }
    }
    assert_eq!(page.must("result", json!({ "runId": run }))["text"], "sorted");
    page.must("stopAgent", json!({}));
    assert_eq!(
        page.fails("sessions.rename", json!({ "id": id, "displayName": "x" })).0,
        Code::SessionNotFound
    );
}

#[test]
fn reasons_have_an_end() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    let long = "é".repeat(1_001);
    for (name, args) in [
        ("sessions.stop", json!({ "id": "docs", "reason": long })),
        ("sessions.restart", json!({ "id": "docs", "reason": long })),
        ("sessions.recover", json!({ "id": "docs", "reason": "auth_expired", "detail": long })),
    ] {
        assert_eq!(page.fails(name, args).0, Code::InvalidArguments, "{name}");
    }
    let stopped = page.must("sessions.stop", json!({ "id": "docs", "reason": "é".repeat(1_000) }));
    assert_eq!(stopped["status"], "stopped");
}

#[test]
fn what_a_session_fails_for_is_said_in_the_providers_words() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    page.prompt("docs", "hello");
    page.breaks(Code::Auth);
    let detail = page.status("docs")["recovery_metadata"]["recovery_detail"].clone();
    assert_eq!(detail, "provider returned token=[REDACTED]");
    page.holds("docs");
    assert_eq!(page.crash("ann").status("docs")["recovery_metadata"]["recovery_detail"], detail);
}

#[test]
fn receipts_name_the_provider_that_has_answered() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    page.prompt("docs", "hello");
    page.says("there");
    page.rows("docs");
    let mut page = page.crash("ann");
    page.must("startAgent", json!({ "provider": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" } }));
    page.prompt("docs", "and now");
    page.says("yes");
    let of = |receipt: &Value| receipt["result"]["metadata"]["provider_id"].clone();
    let receipts: Vec<Value> = page.recorded("docs", "receipt").iter().map(of).collect();
    assert_eq!(receipts, ["custom", "anthropic"]);
    let handoffs: Vec<Value> =
        page.recorded("docs", "handoff").iter().map(|one| one["agent"].clone()).collect();
    assert_eq!(handoffs, ["runner:custom", "runner:anthropic"]);
    page.holds("docs");
}

#[test]
fn a_list_begins_with_what_was_changed_last() {
    let mut page = Desk::started("ann");
    for id in ["a", "b", "c"] {
        page.launch(id);
        page.now += 1_000;
    }
    page.prompt("b", "hello");
    page.says("there");
    for _ in 0..2 {
        let list = page.must("sessions.list", json!({}));
        let ids: Vec<&str> = list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        let of = |id: &str| ids.iter().position(|one| *one == id).unwrap();
        assert!(of("b") < of("c") && of("c") < of("a"), "{ids:?}");
        page = page.crash("ann");
    }
}

/// The bytes of all rows of journals and of what finds their runs, keys and values.
fn stored(page: &Desk) -> usize {
    let rows = [Table::Entries, Table::Meta].map(|table| page.store.read(&Read::all(table, Vec::new())));
    let of_key = |key: &Key| -> usize {
        key.iter()
            .map(|part| match part {
                Part::Text(text) => text.len(),
                Part::Number(number) => number.to_string().len(),
            })
            .sum()
    };
    rows.iter().flatten().map(|(key, value)| of_key(key) + value.len()).sum()
}

#[test]
fn a_plain_run_stores_few_bytes() {
    let mut page = Desk::started("ann");
    page.launch("reviewer");
    for id in ["default", "reviewer"] {
        for n in 0..3 {
            let before = stored(&page);
            page.prompt(id, "What is in this document?");
            page.says("It says how records are kept.");
            page.rows(id);
            let run = stored(&page) - before;
            println!("{id} {n}: {run} bytes");
            // The first prompt of the default session brings more.
            assert!(run <= 3_000 || n == 0 && id == "default", "{id}: {run} bytes");
        }
    }
}
