//! test_agent_sessions.py and test_cli_agents.py; then what is stricter or more here.

use super::{asked, at, bare, done, operator, refused, started, started_in_project};
use lodger::error::Code;
use lodger::ports::Millis;
use lodger::session::lifecycle::*;
use lodger::session::operator::{Action, Operator, may};
use lodger::session::record::{Record, prompt_hash};
use lodger::session::transitions::{Status, markdown};
use serde_json::{Value, json};

fn last_note(record: &Record) -> String {
    record.texts("supervision_notes").pop().unwrap()
}

fn recovery(record: &Record, member: &str) -> Value {
    record.json()["recovery_metadata"][member].clone()
}

fn kinds(outcome: &Outcome) -> Vec<String> {
    outcome.events.iter().map(|event| event.text("event_type").unwrap().to_owned()).collect()
}

#[test]
fn start_agent_session_persists_redacted_provider_state() {
    let now = at("2026-05-22T06:15:00Z");
    let how = Launch {
        provider_id: "provider_openai",
        model_id: Some("gpt-5.2"),
        project_id: Some("project_docs"),
        auth_profile_id: Some("openai:work"),
        auth_identity_hash: Some("auth-hash"),
        policy_envelope_id: Some("policy_docs"),
        active_task_id: Some("task_docs"),
        active_run_id: Some("run_docs"),
        pid: Some(4321),
        endpoint_url: Some("http://127.0.0.1:8766"),
        ..Launch::default()
    };
    let state = done(launch(&asked(None, &operator(), now), &how));
    assert_eq!(
        state.json(),
        json!({
            "schema": "craik.agent_session_state", "version": "0.1.0", "id": "agent_session_docs", "display_name": null,
            "project_id": "project_docs", "operator_subject": "operator-123",
            "operator_issuer": "https://issuer.example.test", "provider_id": "provider_openai", "model_id": "gpt-5.2",
            "auth_profile_id": "openai:work", "auth_identity_hash": "auth-hash", "policy_envelope_id": "policy_docs",
            "mode": "foreground", "status": "running", "pid": 4321, "endpoint_url": "http://127.0.0.1:8766",
            "active_task_id": "task_docs", "active_run_id": "run_docs", "started_at": "2026-05-22T06:15:00Z",
            "last_activity_at": "2026-05-22T06:15:00Z", "stopped_at": null, "updated_at": "2026-05-22T06:15:00Z",
            "receipt_ids": [], "handoff_ids": [], "recovery_session_id": null, "recovery_metadata": {},
            "supervision_notes": ["Persistent agent session started."], "redacted": true, "receipt_hmac": null,
        })
    );
}

#[test]
fn update_agent_session_status_clears_pid_when_stopped() {
    let how = Launch { provider_id: "provider_openai", pid: Some(4321), ..Launch::default() };
    let state = done(launch(&asked(None, &bare(), at("2026-05-22T06:15:00Z")), &how));
    let stop_at = at("2026-05-22T06:20:00Z");
    let stopped =
        done(stop(&asked(Some(&state), &bare(), stop_at), Some("Operator stopped the session."), false));
    assert_eq!((stopped.pid(), stopped.time("stopped_at")), (None, Some(stop_at)));
    assert_eq!(last_note(&stopped), "Operator stopped the session.");
}

#[test]
fn stop_and_restart_agent_session_enforce_lifecycle() {
    let (stop_at, restart_at) = (at("2026-05-22T06:20:00Z"), at("2026-05-22T06:25:00Z"));
    let state = started(at("2026-05-22T06:15:00Z"));
    let stopped =
        done(stop(&asked(Some(&state), &bare(), stop_at), Some("Operator stopped the session."), false));
    let note = Some("Operator restarted the session.");
    let restarted = done(restart(&asked(Some(&stopped), &bare(), restart_at), note, None, None));
    assert_eq!((stopped.status(), restarted.status()), (Status::Stopped, Status::Running));
    assert_eq!((restarted.time("stopped_at"), restarted.time("started_at")), (None, Some(restart_at)));
    assert_eq!(last_note(&restarted), "Operator restarted the session.");
    let again = restart(&asked(Some(&restarted), &bare(), restart_at), Some("Invalid restart."), None, None);
    assert_eq!(
        refused(again),
        "agent session agent_session_docs is running; active sessions cannot be restarted"
    );
}

#[test]
fn status_marks_stale_pid_session_failed() {
    let how = Launch { provider_id: "provider_openai", pid: Some(4321), ..Launch::default() };
    let state = done(launch(&asked(None, &bare(), at("2026-05-22T06:15:00Z")), &how));
    let now = at("2026-05-22T06:16:00Z");
    let failed = done(status(&Asked { alive: false, ..asked(Some(&state), &bare(), now) }));
    assert_eq!((failed.status(), failed.pid()), (Status::Failed, None));
    assert_eq!(recovery(&failed, "recovery_reason"), "stale_pid");
    assert_eq!(recovery(&failed, "recovery_source"), "status");
    assert_eq!(recovery(&failed, "recovery_detected_at"), "2026-05-22T06:16:00+00:00");
    assert_eq!(recovery(&failed, "recommended_action"), "reconnect session process, then resume");
    assert_eq!(last_note(&failed), "Persistent agent recovery required: stale pid.");
    let looked = status(&asked(Some(&state), &bare(), now));
    assert_eq!((looked.record, looked.refused), (None, None), "a session that lives is left alone");
}

#[test]
fn status_marks_stale_background_endpoint_failed() {
    let how = Launch {
        provider_id: "provider_openai",
        background: true,
        endpoint_url: Some("http://127.0.0.1:8766"),
        ..Launch::default()
    };
    let state = done(launch(&asked(None, &bare(), 1), &how));
    let failed = done(status(&asked(Some(&state), &bare(), 2)));
    assert_eq!(failed.status(), Status::Failed);
    assert_eq!(recovery(&failed, "recovery_reason"), "stale_endpoint");
    assert_eq!(recovery(&failed, "recovery_status"), "failed");
}

/// The bare operator says that a session has failed.
fn marked(record: &Record, reason: Reason, detail: Option<&str>, now: Millis) -> Outcome {
    let how = Recovery { reason: Some(reason.as_str()), detail, ..Recovery::default() };
    recover(&asked(Some(record), &bare(), now), &how)
}

#[test]
fn agent_recovery_marks_explicit_failure_states() {
    for (code, word, recommended) in [
        (Code::Auth, "auth_expired", "reauthenticate provider credentials, then resume"),
        (Code::Network, "provider_unavailable", "retry provider route or switch provider, then resume"),
        (Code::ToolFailed, "sandbox_failed", "inspect sandbox policy/backend, then resume"),
    ] {
        let reason = Reason::of(code).unwrap_or(Reason::SandboxFailed);
        let outcome = marked(&started(1), reason, Some("provider returned token=secret-token"), 2);
        assert!(!format!("{outcome:?}").contains("secret-token"));
        let failed = done(outcome);
        assert_eq!(failed.status().as_str(), word);
        assert_eq!(recovery(&failed, "recovery_reason"), word);
        assert_eq!(recovery(&failed, "recommended_action"), recommended);
        assert_eq!(recovery(&failed, "recovery_detail"), "provider returned token=[REDACTED]");
        assert_eq!(recovery(&failed, "recoverable"), true);
    }
}

#[test]
fn agent_recovery_records_reconnect_and_resume_actions() {
    let failed = done(marked(&started(1), Reason::ProviderUnavailable, None, 2));
    let how = Recovery {
        action: Some("reconnect"),
        endpoint_url: Some("http://127.0.0.1:8766"),
        ..Recovery::default()
    };
    let reconnected = done(recover(&asked(Some(&failed), &bare(), 3), &how));
    let again = done(marked(&reconnected, Reason::SandboxFailed, None, 4));
    let resumed = done(recover(
        &asked(Some(&again), &bare(), 5),
        &Recovery { action: Some("resume"), ..Recovery::default() },
    ));
    assert_eq!(reconnected.status(), Status::Running);
    assert_eq!(reconnected.text("endpoint_url"), Some("http://127.0.0.1:8766"));
    assert_eq!(recovery(&reconnected, "recovery_action"), "reconnect");
    assert_eq!(recovery(&reconnected, "recovered_from_status"), "provider_unavailable");
    assert_eq!(resumed.status(), Status::Idle);
    assert_eq!(resumed.text("endpoint_url"), Some("http://127.0.0.1:8766"), "it is kept");
    assert_eq!(resumed.time("started_at"), Some(1));
    assert_eq!(recovery(&resumed, "recovery_action"), "resume");
    assert_eq!(recovery(&resumed, "recovered_from_status"), "sandbox_failed");
    assert_eq!(last_note(&resumed), "Persistent agent recovery action: resume.");
}

/// A prompt that is accepted: the record, and its task.
fn prompted(record: &Record, text: &str) -> (Record, String) {
    let now = at("2026-05-22T06:15:00Z");
    let outcome = prompt(&asked(Some(record), &operator(), now), text, false, Some(7));
    let Then::Run { task_id, text: plain } = outcome.then.clone() else { panic!("{outcome:?}") };
    assert_eq!(plain, text.trim());
    assert_eq!(kinds(&outcome), ["prompt_received"]);
    let event = outcome.events[0].json();
    assert_eq!(event["metadata"], json!({ "prompt_hash": prompt_hash(text) }));
    assert_eq!(event["task_id"], task_id);
    let running = done(outcome);
    assert_eq!((running.status(), running.pid()), (Status::Running, Some(7)));
    assert_eq!(running.text("active_task_id"), Some(task_id.as_str()));
    assert_eq!(last_note(&running), "Persistent agent prompt received.");
    (running, task_id)
}

fn over<'a>(task_id: &'a str, run_status: &'a str) -> Finish<'a> {
    Finish {
        task_id: Some(task_id),
        run_id: "run_1",
        handoff_id: Some("handoff_1"),
        receipt_ids: &[],
        run_status,
        interrupted_error: None,
        code: None,
        detail: None,
        at: at("2026-05-22T06:16:00Z"),
    }
}

/// And test_cli_agents.py: agent_cli_prompt_runs_provider_backed_session.
#[test]
fn agent_prompt_persists_events_receipts_handoff_and_links() {
    let state = started_in_project(at("2026-05-22T06:15:00Z"));
    let (running, task) = prompted(&state, "Implement the next bounded provider task.");
    let receipts = ["receipt_b".to_owned(), "receipt_a".to_owned()];
    let outcome = finish(&running, &Finish { receipt_ids: &receipts, ..over(&task, "completed") }, &[]);
    assert_eq!(kinds(&outcome), ["run_completed"]);
    let event = outcome.events[0].json();
    assert_eq!((&event["run_id"], &event["handoff_id"]), (&json!("run_1"), &json!("handoff_1")));
    assert_eq!(event["receipt_ids"], json!(["receipt_a", "receipt_b"]));
    assert_eq!(event["metadata"], json!({ "run_status": "completed" }));
    assert_eq!(
        event["recovery_metadata"],
        json!({ "exit_behavior": "completed", "handoff_id": "handoff_1" })
    );
    assert_eq!(event["operator_issuer"], "https://issuer.example.test");
    let idle = done(outcome);
    assert_eq!((idle.status(), idle.pid()), (Status::Idle, None));
    assert_eq!(idle.text("active_task_id"), Some(task.as_str()));
    assert_eq!(idle.text("active_run_id"), Some("run_1"));
    assert_eq!(idle.texts("handoff_ids"), ["handoff_1"]);
    assert_eq!(idle.texts("receipt_ids"), ["receipt_a", "receipt_b"]);
    assert_eq!(last_note(&idle), "Persistent agent prompt finished with completed.");
}

#[test]
fn agent_prompt_records_interruption_recovery_metadata() {
    let (running, task) = prompted(&started_in_project(1), "Start work but interrupt quickly.");
    let error = interruption("turns", 1);
    let outcome =
        finish(&running, &Finish { interrupted_error: Some(&error), ..over(&task, "interrupted") }, &[]);
    assert_eq!(kinds(&outcome), ["run_interrupted"]);
    let idle = done(outcome);
    assert_eq!(idle.status(), Status::Idle);
    assert_eq!(recovery(&idle, "exit_behavior"), "interrupted");
    assert_eq!(recovery(&idle, "interrupted_error"), "max iterations 1 reached");
    assert_eq!(idle.texts("handoff_ids"), ["handoff_1"], "the incomplete one");
}

#[test]
fn agent_prompt_exit_stops_session_without_run() {
    for word in ["/exit", "exit", "quit", "/quit", "  EXIT\n"] {
        let how = Launch { provider_id: "provider_openai", pid: Some(9), ..Launch::default() };
        let state = done(launch(&asked(None, &operator(), 1), &how));
        let outcome = prompt(&asked(Some(&state), &operator(), 2), word, false, Some(7));
        assert_eq!(outcome.then, Then::Nothing);
        assert_eq!(kinds(&outcome), ["exited"]);
        assert_eq!(outcome.events[0].json()["metadata"], json!({ "exit_command": word.trim() }));
        let stopped = done(outcome);
        assert_eq!(
            (stopped.status(), stopped.pid(), stopped.time("stopped_at")),
            (Status::Stopped, None, Some(2))
        );
        assert_eq!(recovery(&stopped, "exit_behavior"), "operator_exit");
        assert_eq!(last_note(&stopped), "Persistent agent prompt loop exited by operator.");
    }
}

#[test]
fn agent_prompt_rejects_operator_mismatch() {
    let state = started_in_project(1);
    for other in [
        Operator { subject: "operator-456".into(), ..operator() },
        Operator { issuer: Some("https://other.example.test".into()), ..operator() },
        bare(),
    ] {
        let outcome =
            prompt(&asked(Some(&state), &other, 2), "Try to drive another operator session.", false, None);
        assert_eq!((outcome.record.as_ref(), outcome.events.len()), (None, 0));
        assert_eq!(refused(outcome), "agent session operator does not match the active operator session");
    }
}

// test_cli_agents.py

#[test]
fn agent_lifecycle_cli_launch_status_stop_restart() {
    let how = Launch {
        provider_id: "provider_openai",
        model_id: Some("gpt-5.2"),
        project_id: Some("project_docs"),
        auth_profile_id: Some("openai:work"),
        ..Launch::default()
    };
    let who = operator();
    let launched = done(launch(&Asked { id: "agent_docs", ..asked(None, &who, 1) }, &how));
    let renamed = done(rename(&asked(Some(&launched), &who, 2), "Docs Agent"));
    let stopped = done(stop(&asked(Some(&renamed), &who, 3), Some("operator stop"), false));
    let restarted = done(restart(&asked(Some(&stopped), &who, 4), Some("operator restart"), None, None));
    assert_eq!((launched.id(), launched.text("display_name")), ("agent_docs", None));
    assert_eq!(renamed.text("display_name"), Some("Docs Agent"));
    assert_eq!(renamed.time("updated_at"), Some(1), "a name is no activity");
    assert_eq!(renamed.text("operator_subject"), Some("operator-123"));
    assert_eq!((stopped.status(), stopped.pid()), (Status::Stopped, None));
    assert_eq!((restarted.status(), restarted.time("stopped_at")), (Status::Running, None));
    assert_eq!(restarted.text("provider_id"), Some("provider_openai"));
    assert_eq!(restarted.text("display_name"), Some("Docs Agent"));
}

#[test]
fn agent_cli_rejects_invalid_lifecycle_transitions() {
    let state = started(1);
    let again = launch(&asked(Some(&state), &bare(), 2), &Launch { provider_id: "p", ..Launch::default() });
    assert_eq!(again.refused.as_ref().unwrap().code, Code::SessionExists);
    assert_eq!(refused(again), "agent session already exists: agent_session_docs");
    let stopped = done(stop(&asked(Some(&state), &bare(), 2), None, false));
    assert_eq!(last_note(&stopped), "stopped by operator");
    let again = launch(&asked(Some(&stopped), &bare(), 3), &Launch { provider_id: "p", ..Launch::default() });
    assert_eq!(refused(again), "agent session already exists: agent_session_docs");
    let restarted = restart(&asked(Some(&state), &bare(), 2), None, None, None);
    assert_eq!(restarted.refused.as_ref().unwrap().code, Code::InvalidTransition);
    assert!(refused(restarted).ends_with("active sessions cannot be restarted"));
    let twice = stop(&asked(Some(&stopped), &bare(), 3), None, false);
    assert_eq!(
        refused(twice),
        "agent session agent_session_docs is stopped; only active sessions can be stopped"
    );
    let asked_late = prompt(&asked(Some(&stopped), &bare(), 3), "hello", false, None);
    assert_eq!(
        refused(asked_late),
        "agent session agent_session_docs is stopped; only active sessions accept prompts"
    );
    let resumed = recover(
        &asked(Some(&state), &bare(), 3),
        &Recovery { action: Some("resume"), ..Recovery::default() },
    );
    assert_eq!(
        refused(resumed),
        "agent session agent_session_docs is running; recovery action is not supported"
    );
}

#[test]
fn agent_cli_requires_active_operator_session() {
    let state = started(1);
    let who = bare();
    let nobody = Asked { operator: None, ..asked(Some(&state), &who, 2) };
    let late = Operator { expires_at: Some(2), ..bare() };
    let expired = Asked { operator: Some(&late), ..nobody };
    for (asked, message) in
        [(nobody, "active operator session required"), (expired, "the operator session has expired")]
    {
        for outcome in [
            launch(&Asked { record: None, ..asked }, &Launch { provider_id: "p", ..Launch::default() }),
            status(&asked),
            stop(&asked, None, false),
            restart(&asked, None, None, None),
            rename(&asked, "Docs"),
            recover(&asked, &Recovery::default()),
            prompt(&asked, "", false, None),
            // Nobody is told which sessions there are.
            prompt(&Asked { record: None, ..asked }, "", false, None),
        ] {
            assert_eq!((outcome.record.as_ref(), outcome.events.len()), (None, 0));
            assert_eq!(outcome.refused.as_ref().unwrap().code, Code::OperatorRequired);
            assert_eq!(refused(outcome), message);
        }
    }
}

#[test]
fn agent_cli_recover_marks_failure_and_resume() {
    let how = Recovery {
        reason: Some("auth_expired"),
        detail: Some("provider token=secret-token expired"),
        ..Recovery::default()
    };
    let failed = done(recover(&asked(Some(&started(1)), &bare(), 2), &how));
    assert_eq!(failed.status(), Status::AuthExpired);
    assert_eq!(recovery(&failed, "recovery_reason"), "auth_expired");
    assert_eq!(recovery(&failed, "recovery_source"), "operator");
    assert_eq!(recovery(&failed, "recovery_detail"), "provider token=[REDACTED] expired");
    let resumed = done(recover(
        &asked(Some(&failed), &bare(), 3),
        &Recovery { action: Some("resume"), ..Recovery::default() },
    ));
    assert_eq!(resumed.status(), Status::Idle);
    assert_eq!(recovery(&resumed, "recovery_action"), "resume");
}

// Ours.

#[test]
fn recover_says_what_it_takes() {
    let state = started(1);
    let say = |how: Recovery<'_>| refused(recover(&asked(Some(&state), &bare(), 2), &how));
    assert_eq!(say(Recovery::default()), "reason is required when action is omitted");
    for reason in ["stale_pid", "tired"] {
        assert_eq!(
            say(Recovery { reason: Some(reason), ..Recovery::default() }),
            "reason must be auth_expired, provider_unavailable, sandbox_failed, or stale_endpoint"
        );
    }
    assert_eq!(
        say(Recovery { action: Some("rest"), ..Recovery::default() }),
        "action must be reconnect or resume"
    );
    let who = bare();
    let nothing = Asked { id: "gone", ..asked(None, &who, 2) };
    let how = Recovery { action: Some("resume"), ..Recovery::default() };
    assert_eq!(refused(recover(&nothing, &how)), "unknown agent session: gone");
}

#[test]
fn a_command_that_finds_a_lost_session_writes_it_down_even_when_refused() {
    let how = Launch { provider_id: "p", project_id: Some("x"), pid: Some(1), ..Launch::default() };
    let state = done(launch(&asked(None, &bare(), 1), &how));
    let who = bare();
    let lost = Asked { alive: false, ..asked(Some(&state), &who, 2) };
    for (outcome, why) in [
        (stop(&lost, None, true), Some("only active sessions can be stopped")),
        (prompt(&lost, "go on", false, Some(2)), Some("only active sessions accept prompts")),
        (restart(&lost, None, Some(2), None), None),
        (rename(&lost, "Lost"), None),
    ] {
        assert_eq!(kinds(&outcome)[0], "failed");
        let record = outcome.record.unwrap();
        match why {
            Some(why) => {
                assert_eq!(record.status(), Status::Failed);
                let expected = ["agent session agent_session_docs is failed; ", why].concat();
                assert_eq!(outcome.refused.unwrap().message, expected);
            }
            None => assert_eq!(outcome.refused, None),
        }
        assert_eq!(recovery(&record, "recovery_reason"), "stale_pid");
    }
}

#[test]
fn the_checks_of_a_prompt_have_an_order() {
    let state = started_in_project(1);
    let stopped = done(stop(&asked(Some(&state), &operator(), 2), None, false));
    let stranger = Operator { subject: "x".into(), ..operator() };
    let none = Asked { id: "gone", record: None, ..asked(None, &stranger, 3) };
    assert_eq!(refused(prompt(&none, "", false, None)), "unknown agent session: gone");
    let say = |record: &Record, who: &Operator, text: &str| {
        refused(prompt(&asked(Some(record), who, 3), text, false, None))
    };
    assert!(say(&stopped, &stranger, "").ends_with("only active sessions accept prompts"));
    assert!(say(&state, &stranger, "").starts_with("agent session operator does not match"));
    assert_eq!(say(&state, &operator(), " \n"), "agent prompt cannot be empty");
    let bare_state = started(1);
    assert_eq!(
        say(&bare_state, &bare(), "x"),
        "agent session agent_session_docs has no project_id; prompt execution requires a project"
    );
    let with_file = prompt(&asked(Some(&state), &operator(), 3), "", true, None);
    assert!(matches!(with_file.then, Then::Run { .. }));
}

#[test]
fn a_launch_that_waits_for_its_key_is_starting() {
    let how = Launch { provider_id: "p", project_id: Some("x"), waiting: true, ..Launch::default() };
    let starting = done(launch(&asked(None, &bare(), 5), &how));
    assert_eq!(starting.status(), Status::Starting);
    let waits = prompt(&asked(Some(&starting), &bare(), 6), "hello", false, Some(1));
    assert_eq!((waits.then, waits.record, waits.refused), (Then::Wait, None, None));
    let outcome = ready(&starting, 7, &[]);
    assert_eq!(kinds(&outcome), ["started"]);
    let running = done(outcome);
    assert_eq!(running.status(), Status::Running);
    assert!(ready(&running, 8, &[]).record.is_none());
    assert_eq!(done(stop(&asked(Some(&starting), &bare(), 6), None, false)).status(), Status::Stopped);
    assert_eq!(
        done(prompt(&asked(Some(&starting), &bare(), 6), "exit", false, None)).status(),
        Status::Stopped
    );
}

#[test]
fn a_stop_that_waits_for_a_run_is_stopping() {
    let (running, task) = prompted(&started_in_project(1), "work");
    let now = at("2026-05-22T06:15:30Z");
    let outcome = stop(&asked(Some(&running), &operator(), now), Some("enough"), true);
    assert_eq!(kinds(&outcome), ["stopping"]);
    let stopping = done(outcome);
    assert_eq!(
        (stopping.status(), stopping.pid(), stopping.time("stopped_at")),
        (Status::Stopping, Some(7), None)
    );
    assert_eq!(
        refused(prompt(&asked(Some(&stopping), &operator(), now), "more", false, None)),
        "agent session agent_session_docs is stopping; sessions that are stopping accept no prompts"
    );
    let how = Finish { code: Some("auth"), detail: Some("no"), ..over(&task, "failed") };
    let outcome = finish(&stopping, &how, &[]);
    assert_eq!(kinds(&outcome), ["run_completed", "stopped"]);
    let stopped = done(outcome);
    assert_eq!((stopped.status(), stopped.pid()), (Status::Stopped, None));
    assert_eq!(stopped.time("stopped_at"), Some(at("2026-05-22T06:16:00Z")));
    assert_eq!(stopped.texts("handoff_ids"), ["handoff_1"]);
}

#[test]
fn a_failed_run_fails_the_session_only_where_the_provider_cannot_be_used() {
    for code in Code::ALL {
        let (running, task) = prompted(&started_in_project(1), "work");
        let detail = Some("refused: token=abc");
        let how = Finish { code: Some(code.as_str()), detail, ..over(&task, "failed") };
        let outcome = finish(&running, &how, &[]);
        let expected = match code.as_str() {
            "auth" | "permission" => "auth_expired",
            "network" | "timeout" | "server" | "overloaded" | "rate_limit" | "quota" => {
                "provider_unavailable"
            }
            _ => "idle",
        };
        let told = kinds(&outcome);
        let record = done(outcome);
        assert_eq!(record.status().as_str(), expected, "{code:?}");
        assert_eq!(recovery(&record, "exit_behavior"), "failed");
        assert_eq!(record.texts("handoff_ids"), ["handoff_1"]);
        if expected == "idle" {
            assert_eq!(told, ["run_completed"]);
        } else {
            assert_eq!(told, ["run_completed", "failed"]);
            assert_eq!(recovery(&record, "recovery_detail"), "refused: token=[REDACTED]");
            assert_eq!(
                recovery(&record, "recovery_context"),
                json!({ "code": code.as_str(), "run_id": "run_1" })
            );
        }
    }
}

#[test]
fn what_ends_late_is_linked_and_changes_no_status() {
    let (running, task) = prompted(&started_in_project(1), "work");
    let failed = done(recover(
        &asked(Some(&running), &operator(), 3),
        &Recovery { reason: Some("sandbox_failed"), ..Recovery::default() },
    ));
    let late = done(finish(&failed, &over(&task, "completed"), &[]));
    assert_eq!(late.status(), Status::SandboxFailed);
    assert_eq!(late.texts("handoff_ids"), ["handoff_1"]);
    let stopped = done(stop(&asked(Some(&running), &operator(), at("2026-05-22T06:15:30Z")), None, false));
    let late = done(finish(&stopped, &over(&task, "completed"), &[]));
    assert_eq!(late.status(), Status::Stopped);
    assert_eq!(late.time("stopped_at"), Some(at("2026-05-22T06:15:30Z")), "it stopped when it stopped");
}

#[test]
fn a_held_run_goes_on() {
    let idle = done(finish(&started_in_project(1), &over("task_1", "interrupted"), &[]));
    let outcome = go_on(&idle, "run_1", Some(8), 9, &[]);
    assert_eq!(kinds(&outcome), ["run_resumed"]);
    let running = done(outcome);
    assert_eq!((running.status(), running.pid()), (Status::Running, Some(8)));
    let stopped = done(stop(&asked(Some(&running), &operator(), 10), None, false));
    assert_eq!(go_on(&stopped, "run_1", Some(8), 11, &[]).refused.unwrap().code, Code::InvalidTransition);
}

#[test]
fn a_clock_that_goes_backwards_breaks_no_record() {
    let (late, early) = (at("2026-05-22T06:15:00Z"), at("2026-05-22T05:00:00Z"));
    let state = started_in_project(late);
    let who = operator();
    let stopped = done(stop(&asked(Some(&state), &who, early), None, false));
    assert_eq!((stopped.time("stopped_at"), stopped.time("last_activity_at")), (Some(late), Some(late)));
    let restarted = done(restart(&asked(Some(&stopped), &who, early), None, None, None));
    assert_eq!(restarted.time("started_at"), Some(early), "a restart begins anew");
    let prompted = done(prompt(&asked(Some(&restarted), &who, 0), "x", false, None));
    let idle = done(finish(&prompted, &Finish { at: 0, ..over("task_1", "completed") }, &[]));
    let failed = done(recover(
        &asked(Some(&idle), &who, 0),
        &Recovery { reason: Some("auth_expired"), ..Recovery::default() },
    ));
    assert_eq!(failed.time("last_activity_at"), Some(early));
    done(recover(
        &asked(Some(&failed), &who, 0),
        &Recovery { action: Some("resume"), ..Recovery::default() },
    ));
}

#[test]
fn secrets_are_not_stored() {
    let state = started(1);
    let known = ["the-key-of-the-page".to_owned()];
    let who = bare();
    let asked = Asked { known: &known, ..asked(Some(&state), &who, 2) };
    for outcome in [
        stop(&asked, Some("password=hunter2"), false),
        stop(&asked, Some("it was the-key-of-the-page"), false),
        rename(&asked, "sk-12345678"),
        launch(
            &Asked { record: None, ..asked },
            &Launch { provider_id: "p", endpoint_url: Some("https://a:b@c"), ..Launch::default() },
        ),
    ] {
        assert_eq!((outcome.record.as_ref(), outcome.events.len()), (None, 0));
        assert_eq!(refused(outcome), "refusing to persist unredacted secret material");
    }
}

#[test]
fn secrets_in_what_only_the_record_or_only_the_event_says_are_not_stored() {
    let state = started_in_project(1);
    let who = operator();
    let stopped = done(stop(&asked(Some(&state), &who, 2), None, false));
    let by_url = restart(&asked(Some(&stopped), &who, 3), None, None, Some("https://user:pass@example.test"));
    let how = Finish { interrupted_error: Some("stop"), ..over("task_1", "token=abc") };
    for outcome in [by_url, finish(&state, &how, &[])] {
        assert_eq!((outcome.record.as_ref(), outcome.events.len()), (None, 0));
        assert_eq!(refused(outcome), "refusing to persist unredacted secret material");
    }
}

#[test]
fn names_and_ids_have_limits() {
    let (long, longest) = ("é".repeat(201), "é".repeat(200));
    for (name, why) in [
        (" Docs", "must not have leading or trailing whitespace"),
        ("", "must not be empty"),
        (long.as_str(), "must be 200 characters or fewer"),
        ("a\u{1}b", "must not contain control characters"),
        ("a\u{9b}b", "must not contain control characters"),
        ("a\u{202e}b", "must not contain characters that turn the direction of text"),
        ("\u{200b}\u{2060}", "must have a character that is seen"),
    ] {
        let outcome = rename(&asked(Some(&started(1)), &bare(), 2), name);
        assert_eq!(refused(outcome), ["session name ", why].concat());
    }
    // Where the original has letters and numbers of ASCII only, a name is any text.
    for name in ["Docs!", "Döcs", "請求書", "שלום", "👩‍👩‍👧 at home", longest.as_str()] {
        let renamed = done(rename(&asked(Some(&started(1)), &bare(), 2), name));
        assert_eq!(renamed.text("display_name"), Some(name));
    }
    let who = bare();
    let id = "x".repeat(10_000);
    for id in [id.as_str(), "a\nb"] {
        let how = Launch { provider_id: "p", ..Launch::default() };
        let outcome = launch(&Asked { id, ..asked(None, &who, 1) }, &how);
        assert_eq!(outcome.refused.unwrap().code, Code::InvalidArguments);
    }
    let how = Launch { provider_id: "offline", project_id: Some("my shop"), ..Launch::default() };
    let derived = done(launch(&Asked { id: "", ..asked(None, &who, at("2026-05-22T06:15:00Z")) }, &how));
    assert_eq!(derived.id(), "agent_my_shop_offline_20260522061500");
    let nobody = Operator { subject: String::new(), ..bare() };
    let outcome = launch(&asked(None, &nobody, 1), &how);
    assert_eq!(outcome.refused.unwrap().code, Code::InvalidArguments);
}

#[test]
fn only_the_owner_changes_a_session() {
    let state = started(1);
    let stranger = Operator { subject: "somebody".into(), ..bare() };
    let all = [
        (Action::Launch, true),
        (Action::Status, true),
        (Action::Read, true),
        (Action::Prompt, false),
        (Action::Steer, false),
        (Action::Stop, false),
        (Action::Restart, false),
        (Action::Recover, false),
        (Action::Rename, false),
        (Action::Clear, false),
        (Action::Remove, false),
        (Action::Bench, false),
        (Action::Play, false),
        (Action::Fork, false),
    ];
    for (action, allowed) in all {
        assert_eq!(may(Some(&bare()), action, Some(state.owner()), 2), Ok(()));
        let answer = may(Some(&stranger), action, Some(state.owner()), 2);
        assert_eq!(answer.is_ok(), allowed, "{action:?}");
        if let Err(error) = answer {
            assert_eq!(error.code, Code::PermissionDenied);
        }
        assert_eq!(may(None, action, Some(state.owner()), 2).unwrap_err().code, Code::OperatorRequired);
    }
    let asked = asked(Some(&state), &stranger, 2);
    for outcome in [
        stop(&asked, None, false),
        restart(&asked, None, None, None),
        rename(&asked, "Mine"),
        recover(&asked, &Recovery { action: Some("resume"), ..Recovery::default() }),
    ] {
        assert_eq!(outcome.refused.unwrap().code, Code::PermissionDenied);
    }
}

#[test]
fn limits_have_craiks_words() {
    for (what, limit, text) in [
        ("turns", 20, "max iterations 20 reached"),
        ("inputTokens", 100, "provider token budget exhausted"),
        ("cost", 5, "provider token budget exhausted"),
        ("wallMs", 30_000, "wall-clock budget 30s exceeded"),
        ("wallMs", 1_050, "wall-clock budget 1.05s exceeded"),
        ("wallMs", 1_500, "wall-clock budget 1.5s exceeded"),
    ] {
        assert_eq!(interruption(what, limit), text);
    }
}

#[test]
fn the_documentation_has_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/statuses.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) =
        text.split_once("<!-- transitions -->\n").expect("docs/statuses.md has no mark for the table");
    let (table, _) =
        rest.split_once("<!-- /transitions -->").expect("the table in docs/statuses.md has no end");
    assert_eq!(
        table.trim(),
        markdown().trim(),
        "put this between the marks in docs/statuses.md:\n{}",
        markdown()
    );
}
