//! test_handoffs.py, and what a run leaves.

use super::{asked, at, operator, started_in_project};
use lodger::error::Code;
use lodger::session::lifecycle::{Then, prompt};
use lodger::session::record::{Draft, End, Handoff, Receipt, RunOutput, TaskRun, storable, unknown};
use serde_json::{Value, json};

fn receipt(id: &str, more: Value) -> Receipt {
    let mut receipt = json!({
        "id": id,
        "task_id": "task_review_docs",
        "actor": "agent:codex",
        "capability": "shell.test",
        "target": "uv run pytest",
        "policy_profile": "strict",
        "reason": "Validate handoff.",
        "result": { "status": "passed", "summary": "Tests passed.", "metadata": {} },
        "created_at": "2026-05-15T12:00:00Z",
    });
    for (name, value) in more.as_object().unwrap() {
        match name.as_str() {
            "metadata" => receipt["result"]["metadata"] = value.clone(),
            _ => receipt[name] = value.clone(),
        }
    }
    Receipt::read(&receipt).unwrap()
}

fn draft(members: Value, receipts: &[Receipt]) -> Draft<'_> {
    Draft {
        members,
        receipts,
        notes: &[],
        assumptions_reviewed: true,
        at: at("2026-05-16T12:03:00Z"),
        known: &[],
    }
}

fn run(task: &str, status: &str) -> TaskRun {
    let part = task.strip_prefix("task_").unwrap();
    TaskRun::read(&json!({
        "id": format!("run_{part}"),
        "task_id": task,
        "case_file_id": format!("case_{part}"),
        "policy_envelope_id": format!("policy_{part}"),
        "intent_lock_id": format!("intent_{part}"),
        "runner_id": "runner_fixture",
        "runner_mode": "fixture",
        "status": status,
        "phase": "stop",
        "iteration": 2,
        "max_iterations": 5,
        "started_at": "2026-05-16T12:00:00Z",
        "phase_started_at": "2026-05-16T12:01:00Z",
        "updated_at": "2026-05-16T12:02:00Z",
        "ended_at": "2026-05-16T12:02:00Z",
        "stop_reason": format!("run {status}"),
        "receipt_ids": ["receipt_pytest"],
    }))
    .unwrap()
}

fn output(run: &TaskRun) -> RunOutput {
    RunOutput::read(&json!({
        "id": "runout_review_docs",
        "run_id": run.id(),
        "step_result_id": "runner_step_result_docs_reconcile_plan",
        "task_id": run.text("task_id"),
        "phase": "evaluate",
        "summary": "Runner evaluated the task.",
        "observed_output": { "status": "done" },
        "diagnostics": ["runner [REDACTED]"],
        "receipt_ids": ["receipt_pytest"],
        "memory_proposal_ids": ["memprop_docs_reconcile"],
        "artifacts": ["case_docs_reconcile"],
        "redacted": true,
        "created_at": "2026-05-16T12:02:00Z",
    }))
    .unwrap()
}

#[test]
fn handoff_writer_creates_structured_handoff() {
    let receipts = [receipt("receipt_pytest", json!({}))];
    let handoff = Handoff::write(&draft(
        json!({
            "task_id": "task_review_docs",
            "project_id": "project_docs",
            "intent_lock_id": "intent_review_docs",
            "agent": "agent:codex",
            "summary": "Completed docs review.",
            "completed_actions": ["Reviewed docs."],
            "commands_run": ["uv run pytest"],
            "tests_run": ["pytest"],
            "next_steps": ["Implement handoff reader."],
            "context_debt": ["GitHub state was not loaded"],
        }),
        &receipts,
    ))
    .unwrap();
    assert_eq!(handoff.id(), "handoff_review_docs");
    assert_eq!(handoff.text("intent_lock_id"), Some("intent_review_docs"));
    assert_eq!(handoff.text("status"), Some("completed"));
    assert_eq!(handoff.texts("receipt_ids"), ["receipt_pytest"]);
    assert_eq!(handoff.texts("context_debt"), ["GitHub state was not loaded"]);
    assert_eq!(
        handoff.json()["self_audit"],
        json!({
            "schema_validated": true,
            "redaction_reviewed": true,
            "receipts_reviewed": true,
            "assumptions_reviewed": true,
            "validation_recorded": true,
            "policy_exceptions_disclosed": true,
            "notes": [],
        })
    );
    assert_eq!(Handoff::read(&handoff.json()), Ok(handoff));
}

#[test]
fn handoff_preserves_runner_metadata_from_receipts() {
    let runner = json!({
        "runner_id": "codex",
        "adapter": "codex",
        "adapter_version": "0.2.0-preview",
        "execution_mode": "fixture",
        "trust_profile": { "level": "medium" },
        "runner_specific": { "api_token": "[REDACTED]" },
    });
    let one = receipt("receipt_pytest", json!({ "metadata": { "runner_metadata": runner } }));
    let members = json!({
        "task_id": "task_review_docs",
        "project_id": "project_docs",
        "agent": "runner:codex",
        "summary": "Adapter completed.",
        "tests_run": ["pytest"],
    });
    let handoff = Handoff::write(&draft(members, &[one.clone(), one])).unwrap();
    assert_eq!(handoff.json()["runner_metadata"], json!([runner]), "each once");
}

#[test]
fn incomplete_handoff_records_missing_validation_and_policy_exception() {
    let members = json!({
        "task_id": "task_review_docs",
        "project_id": "project_docs",
        "agent": "agent:codex",
        "summary": "Blocked before validation.",
        "status": "incomplete",
        "policy_exceptions": ["No policy exception used."],
    });
    let handoff = Handoff::write(&draft(members, &[])).unwrap();
    assert_eq!(handoff.text("status"), Some("incomplete"));
    assert_eq!(handoff.json()["self_audit"]["validation_recorded"], false);
    assert_eq!(handoff.json()["self_audit"]["receipts_reviewed"], false);
    assert_eq!(handoff.texts("policy_exceptions"), ["No policy exception used."]);
}

#[test]
fn handoff_writer_creates_run_outcome_handoffs() {
    for (status, handoff_status, next_step) in [
        ("completed", "completed", "Review receipts, memory proposals, and merged handoff state."),
        ("blocked", "blocked", "Resolve the blocking approval, context, or intent-lock condition."),
        ("failed", "failed", "Inspect diagnostics and decide whether recovery is appropriate."),
        ("interrupted", "incomplete", "Inspect run state and recover from the last safe boundary."),
    ] {
        let run = run("task_review_docs", status);
        let outputs = [output(&run)];
        let receipts = [receipt("receipt_pytest", json!({}))];
        let given = draft(json!({ "tests_run": ["pytest"] }), &receipts);
        let handoff = Handoff::of_run(&run, &outputs, "project_docs", &given).unwrap();
        storable(&handoff.json(), &[]).unwrap();
        assert_eq!(handoff.text("status"), Some(handoff_status));
        assert_eq!(handoff.texts("artifacts"), ["runout_review_docs"]);
        assert_eq!(handoff.texts("receipt_ids"), ["receipt_pytest"]);
        assert_eq!(handoff.texts("memory_proposal_ids"), ["memprop_docs_reconcile"]);
        assert_eq!(
            handoff.json()["runner_metadata"],
            json!([{ "runner_id": "runner_fixture", "execution_mode": "fixture" }])
        );
        assert_eq!(handoff.json()["self_audit"]["receipts_reviewed"], true);
        assert_eq!(handoff.json()["self_audit"]["notes"], json!(["runner [REDACTED]"]));
        assert_eq!(handoff.texts("next_steps"), [next_step]);
        assert_eq!(handoff.text("agent"), Some("runner:runner_fixture"));
        let summary = format!(
            "Run run_review_docs ended with status {status} at phase stop after 2 iteration(s). \
             Captured 1 output(s). Stop reason: run {status}"
        );
        assert_eq!(handoff.text("summary"), Some(summary.as_str()));
        let stop = ["run ", status].concat();
        let risks = if status == "completed" { vec![] } else { vec![stop.as_str()] };
        assert_eq!(handoff.texts("risks"), [risks, vec!["runner [REDACTED]"]].concat());
        assert_eq!(
            handoff.texts("completed_actions"),
            [
                format!("Recorded run run_review_docs with status {status}."),
                "Last phase: stop.".into(),
                "Captured output runout_review_docs: Runner evaluated the task.".into(),
            ]
        );
        let updated = run.handed_off(&handoff).unwrap();
        assert_eq!(updated.text("handoff_id"), Some(handoff.id()));
    }
}

#[test]
fn handoff_records_run_credential_and_operator_identity() {
    let run = run("task_review_docs", "completed");
    let receipts = [receipt("receipt_reader", identity("reader", "a"))];
    let given = draft(json!({ "tests_run": ["pytest"] }), &receipts);
    let handoff = Handoff::of_run(&run, &[], "project_docs", &given).unwrap();
    let updated = run.handed_off(&handoff).unwrap();
    for (name, value) in identity("reader", "a").as_object().unwrap() {
        assert_eq!(handoff.text(name), value.as_str());
        assert_eq!(updated.text(name), value.as_str());
    }
}

fn identity(profile: &str, who: &str) -> Value {
    json!({
        "auth_profile_id": format!("openai:{profile}"),
        "auth_identity_hash": format!("{profile}-hash"),
        "operator_subject": format!("operator-{who}"),
        "operator_issuer": "https://issuer.example.test",
    })
}

#[test]
fn follow_up_handoff_keeps_distinct_credential_and_operator_identity() {
    let made = |task: &str, profile: &str, who: &str| {
        let receipts = [receipt(&["receipt_", profile].concat(), identity(profile, who))];
        let given = draft(json!({ "tests_run": ["pytest"] }), &receipts);
        Handoff::of_run(&run(task, "completed"), &[], "project_docs", &given).unwrap()
    };
    let first = made("task_read_docs", "reader", "a");
    let second = made("task_write_docs", "writer", "b");
    assert_eq!((first.id(), second.id()), ("handoff_read_docs", "handoff_write_docs"));
    for (handoff, expected) in [(&first, identity("reader", "a")), (&second, identity("writer", "b"))] {
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(handoff.text(name), value.as_str());
        }
    }
    let both = [receipt("a", identity("reader", "a")), receipt("b", identity("writer", "b"))];
    let given = draft(json!({}), &both);
    let mixed = Handoff::of_run(&run("task_read_docs", "completed"), &[], "project_docs", &given).unwrap();
    assert_eq!(mixed.text("operator_subject"), None, "where receipts differ, nobody is named");
    assert_eq!(mixed.text("operator_issuer"), Some("https://issuer.example.test"));
}

#[test]
fn handoff_requires_existing_task_and_run() {
    for (what, id, text) in [
        ("task", "task_missing", "unknown task: task_missing"),
        ("task run", "run_missing", "unknown task run: run_missing"),
        ("handoff or task", "handoff_missing", "unknown handoff or task: handoff_missing"),
    ] {
        let error = unknown(what, id);
        assert_eq!((error.code, error.message.as_str()), (Code::RecordNotFound, text));
    }
}

// Ours.

#[test]
fn a_run_of_a_session_leaves_task_run_output_and_handoff() {
    let session = started_in_project(1);
    let now = at("2026-05-22T06:15:00Z");
    let who = operator();
    let prompted = prompt(&asked(Some(&session), &who, now), " Tidy up. ", false, None);
    let Then::Run { task_id, text } = prompted.then else { panic!("{prompted:?}") };
    assert_eq!(text, "Tidy up.");
    assert_eq!(prompted.record.unwrap().text("operator_subject"), Some("operator-123"));
    assert!(task_id.starts_with("task_agent_agent_session_docs_prompt_20260522061500_"));

    let run = TaskRun::begun(&session, "run_9", &task_id, 20, now).unwrap();
    assert_eq!((run.text("status"), run.text("phase")), (Some("running"), Some("plan")));
    assert_eq!(run.text("runner_id"), Some("provider_openai"));
    assert_eq!(run.text("policy_envelope_id"), Some("policy_docs"));
    assert_eq!(run.text("operator_subject"), Some(operator().subject.as_str()));
    let end = End {
        status: "interrupted",
        iteration: 20,
        stop_reason: Some("max iterations 20 reached, token=abc"),
        tokens: 30,
        receipt_ids: &["receipt_a".to_owned()],
        at: now + 1500,
        known: &[],
    };
    let ended = run.ended(&end).unwrap();
    assert_eq!(ended.text("phase"), Some("stop"));
    assert_eq!(ended.text("ended_at"), Some("2026-05-22T06:15:01.500000Z"));
    assert_eq!(ended.text("stop_reason"), Some("max iterations 20 reached, token=[REDACTED]"));
    assert_eq!(ended.ended(&end).unwrap_err().message, "task run is already terminal: run_9");
    let back = run.ended(&End { at: 5, ..end }).unwrap();
    assert_eq!(back.text("ended_at"), Some("2026-05-22T06:15:00Z"), "not before it began");

    let output = RunOutput::of(&ended, "Three pages were changed.", json!({ "pages": 3 }), now).unwrap();
    assert_eq!((output.id(), output.text("run_id")), ("runout_9", Some("run_9")));
    let handoff = Handoff::of_run(&ended, &[output], "project_docs", &draft(json!({}), &[])).unwrap();
    assert_eq!(handoff.text("status"), Some("incomplete"));
    assert_eq!(handoff.texts("next_steps"), ["Inspect run state and recover from the last safe boundary."]);
    for record in [run.json(), ended.json(), handoff.json()] {
        storable(&record, &[]).unwrap();
    }
}

#[test]
fn what_was_said_is_redacted() {
    let members = json!({
        "task_id": "task_x",
        "project_id": "p",
        "agent": "a",
        "summary": "used Bearer abcdefgh12",
        "commands_run": ["x --token abc"],
        "risks": ["password=abc"],
    });
    let notes = ["api_key=abc".to_owned()];
    let handoff = Handoff::write(&Draft { notes: &notes, ..draft(members, &[]) }).unwrap();
    storable(&handoff.json(), &[]).unwrap();
    assert_eq!(handoff.text("summary"), Some("used Bearer [REDACTED]"));
    let unknown =
        json!({ "task_id": "task_x", "project_id": "p", "agent": "a", "summary": "", "mood": "good" });
    let error = Handoff::write(&draft(unknown, &[])).unwrap_err();
    assert_eq!(error.message, "craik.handoff has no member called mood");
}
