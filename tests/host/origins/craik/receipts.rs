//! test_receipts.py and test_environment_receipts.py; then the receipts of a run.

use super::{at, operator, started_in_project};
use lodger::error::{Code, ErrorInfo};
use lodger::maps::Named;
use lodger::session::record::{Boundary, Deed, Receipt, ToolDeed, check_chain, storable, unknown};
use serde_json::{Value, json};

fn receipt(id: &str, task: &str, more: Value) -> Receipt {
    let mut receipt = json!({
        "id": id,
        "task_id": task,
        "actor": "agent:codex",
        "capability": "shell.test",
        "target": "uv run pytest",
        "policy_profile": "strict",
        "fail_open": false,
        "reason": "Validate receipt behavior.",
        "result": { "status": "passed", "summary": "Command completed.", "metadata": {} },
        "redacted": true,
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

#[test]
fn record_and_require_receipt() {
    let recorded = receipt("receipt_build", "task_docs", json!({}));
    assert_eq!(recorded.id(), "receipt_build");
    assert_eq!(recorded.text("self_hash").unwrap().len(), 64);
    assert_eq!(Receipt::read(&recorded.json()), Ok(recorded));
}

#[test]
fn list_receipts_filters_by_task_policy_and_handoff() {
    let made = |name: &str| {
        let metadata = json!({
            "policy_envelope_id": format!("policy_{name}"),
            "handoff_ids": [format!("handoff_{name}")],
        });
        receipt(&["receipt_", name].concat(), &["task_", name].concat(), json!({ "metadata": metadata }))
    };
    let all = [made("docs"), made("other")];
    // What somebody reads who looks for one.
    let task = |receipt: &Value, name: &str| receipt["task_id"] == name;
    let policy = |receipt: &Value, name: &str| receipt["result"]["metadata"]["policy_envelope_id"] == name;
    let handoff = |receipt: &Value| receipt["result"]["metadata"]["handoff_ids"] == json!(["handoff_docs"]);
    let linked = |by: &dyn Fn(&Value) -> bool| -> Vec<&Receipt> {
        all.iter().filter(|receipt| by(&receipt.json())).collect()
    };
    assert_eq!(linked(&|receipt| task(receipt, "task_docs")), [&all[0]]);
    assert_eq!(linked(&|receipt| policy(receipt, "policy_docs")), [&all[0]]);
    assert_eq!(linked(&handoff), [&all[0]]);
    assert!(linked(&|receipt| task(receipt, "task_docs") && policy(receipt, "policy_other")).is_empty());
}

#[test]
fn receipt_links_include_policy_profile_and_fail_open() {
    let more = json!({
        "policy_profile": "trusted-local",
        "fail_open": true,
        "metadata": { "policy_envelope_id": "policy_docs", "handoff_ids": ["handoff_docs"] },
    });
    let told = receipt("receipt_fail_open", "task_docs", more).json();
    assert_eq!(told["task_id"], "task_docs");
    assert_eq!((&told["policy_profile"], &told["fail_open"]), (&json!("trusted-local"), &json!(true)));
    let links = json!({ "policy_envelope_id": "policy_docs", "handoff_ids": ["handoff_docs"] });
    assert_eq!(told["result"]["metadata"], links, "and no runner_metadata");
}

#[test]
fn receipt_links_include_redacted_runner_metadata() {
    let runner = |api_token: &str| {
        json!({
            "runner_id": "codex",
            "adapter": "codex",
            "adapter_version": "0.2.0-preview",
            "execution_mode": "fixture",
            "runner_specific": { "api_token": api_token },
        })
    };
    let metadata = json!({ "runner_metadata": runner("redaction-fixture-value") });
    let receipt = Receipt::of(&Deed { metadata, ..deed() }).unwrap().json();
    assert_eq!(receipt["result"]["metadata"]["runner_metadata"], runner("[REDACTED]"));
}

#[test]
fn missing_receipt_raises_clear_error() {
    let error = unknown("receipt", "receipt_missing");
    assert_eq!(
        (error.code, error.message.as_str()),
        (Code::RecordNotFound, "unknown receipt: receipt_missing")
    );
}

#[test]
fn unredacted_secret_receipt_is_rejected() {
    let more = json!({ "metadata": { "api_token": "redaction-fixture-value" } });
    let error = storable(&receipt("receipt_secret", "task_docs", more).json(), &[]).unwrap_err();
    assert_eq!(error.message, "refusing to persist unredacted secret material");
}

#[test]
fn receipt_hash_changes_with_payload() {
    let first = receipt("receipt_hash", "task_docs", json!({}));
    let second = receipt("receipt_hash", "task_docs", json!({ "metadata": { "detail": "changed" } }));
    assert_ne!(first.text("self_hash"), second.text("self_hash"));
}

fn chain_of(receipts: &[&Receipt]) -> Result<(), ErrorInfo> {
    let mut known = Named::default();
    receipts.iter().try_for_each(|receipt| check_chain(&mut known, receipt))
}

fn chain() -> [Receipt; 2] {
    let first = receipt("receipt_first", "task_docs", json!({}));
    let second = receipt("receipt_second", "task_docs", json!({})).after(first.text("self_hash")).unwrap();
    [first, second]
}

#[test]
fn receipt_store_links_receipts_with_previous_hash() {
    let [first, second] = chain();
    assert_eq!(second.text("previous_receipt_hash"), first.text("self_hash"));
    assert_eq!(chain_of(&[&first, &second]), Ok(()));
}

#[test]
fn receipt_store_rejects_tampered_receipt_payload() {
    let mut stored = receipt("receipt_tamper", "task_docs", json!({})).json();
    stored["reason"] = json!("Tampered reason.");
    let error = Receipt::read(&stored).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (Code::Corrupt, "capability receipt hash did not match payload")
    );
}

#[test]
fn receipt_store_rejects_broken_receipt_chain() {
    let [first, second] = chain();
    let broken = second.after(Some("broken")).unwrap();
    let begun_anew = second.after(None).unwrap();
    for receipts in [vec![&first, &broken], vec![&first, &begun_anew], vec![&second]] {
        let error = chain_of(&receipts).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::Corrupt, "stored capability receipt chain is broken")
        );
    }
}

// test_environment_receipts.py

fn deed() -> Deed<'static> {
    Deed {
        id: "receipt_environment",
        task_id: "task_environment",
        actor: "agent:codex",
        action: "sandbox_action",
        capability: "shell.execute",
        status: "passed",
        reason: "Local process request allowed.",
        summary: "Sandbox action approved.",
        context: json!({
            "policy_envelope_id": "policy_environment",
            "agent_session_id": "agent_session_environment",
            "provider_id": "provider_fixture_local",
            "backend_id": "sandbox_backend_local_fixture",
            "route_id": "mcp_route_provider_fixture",
            "target_id": "remote_target_fixture",
            "command_ref": "check_ruff",
            "receipt_ids": ["receipt_prior"],
        }),
        metadata: json!({}),
        operator: None,
        at: at("2026-05-16T20:30:00Z"),
        previous: None,
        known: &[],
    }
}

#[test]
fn environment_receipt_records_success_context() {
    let deed = Deed { metadata: json!({ "backend_kind": "local_process" }), ..deed() };
    let receipt = Receipt::of(&deed).unwrap().json();
    assert_eq!(receipt["result"]["status"], "passed");
    assert_eq!(receipt["target"], "sandbox_action:check_ruff");
    let metadata = &receipt["result"]["metadata"];
    for (name, value) in deed.context.as_object().unwrap() {
        assert_eq!(metadata[name], *value);
    }
    assert_eq!(metadata["backend_kind"], "local_process");
    assert_eq!(receipt["created_at"], "2026-05-16T20:30:00Z");
}

#[test]
fn environment_receipt_records_denial_context() {
    let deed = Deed {
        action: "denial",
        capability: "shell.remote.execute",
        status: "denied",
        reason: "Remote shell execution requires a receipt.",
        summary: "Remote shell action denied.",
        ..deed()
    };
    let receipt = Receipt::of(&deed).unwrap().json();
    assert_eq!(receipt["result"]["status"], "denied");
    assert_eq!(receipt["capability"], "shell.remote.execute");
    assert_eq!(receipt["reason"], "Remote shell execution requires a receipt.");
    assert_eq!(receipt["result"]["metadata"]["environment_action"], "denial");
    assert_eq!(receipt["result"]["metadata"]["receipt_ids"], json!(["receipt_prior"]));
}

#[test]
fn environment_receipt_redacts_environment_and_command_payloads() {
    let metadata = json!({
        "env": { "TOKEN": "secret" },
        "environment_variables": { "API_KEY": "secret" },
        "credentials": { "password": "secret" },
        "command_payload": "uv run pytest",
        "raw_command": "ssh host uname -a",
        "stdout": "raw output",
        "stderr": "raw error",
        "api_token": "raw-token",
        "safe": "kept",
    });
    let receipt = Receipt::of(&Deed { metadata: metadata.clone(), ..deed() }).unwrap();
    storable(&receipt.json(), &[]).unwrap();
    let receipt = receipt.json();
    assert_eq!(receipt["redacted"], true);
    for name in metadata.as_object().unwrap().keys() {
        assert_eq!(receipt["result"]["metadata"].get(name).is_some(), name == "safe", "{name}");
    }
    let left_out = receipt["result"]["metadata"]["redacted_fields"].as_array().unwrap();
    assert!(left_out.contains(&json!("command_payload")));
}

// Ours.

#[test]
fn a_run_leaves_its_receipts_in_a_chain() {
    let session = started_in_project(1);
    let who = operator();
    let mut boundary = Boundary {
        session: &session,
        operator: Some(&who),
        task_id: "task_1",
        run_id: "run_1",
        handoff_id: Some("handoff_1"),
        receipt_ids: &["receipt_before".to_owned()],
        at: at("2026-05-22T06:15:00Z"),
        previous: None,
        known: &[],
    };
    let provider = Receipt::of_provider(&boundary, 2).unwrap();
    boundary.previous = provider.text("self_hash");
    let sandbox = Receipt::of_sandbox(&boundary, true).unwrap();
    boundary.previous = sandbox.text("self_hash");
    let call = ToolDeed {
        call_id: "call_1",
        tool: "create_page",
        capability: Some("pages_write"),
        status: "passed",
        arguments: "0123",
    };
    let tool = Receipt::of_tool(&boundary, &call).unwrap();
    chain_of(&[&provider, &sandbox, &tool]).unwrap();
    for (receipt, id, capability, status, reason, summary) in [
        (
            &provider,
            "receipt_run_1_agent_provider_environment",
            "model.chat",
            "passed",
            "Persistent agent provider route executed.",
            "Persistent agent provider action recorded.",
        ),
        (
            &sandbox,
            "receipt_run_1_agent_sandbox_environment",
            "shell.execute",
            "passed",
            "Persistent agent fixture action grant was present.",
            "Persistent agent sandbox boundary recorded.",
        ),
        (
            &tool,
            "receipt_run_1_tool_call_1",
            "pages_write",
            "passed",
            "The model has called a tool that has effects.",
            "Tool call passed: create_page.",
        ),
    ] {
        storable(&receipt.json(), &[]).unwrap();
        let receipt = receipt.json();
        assert_eq!(
            (&receipt["id"], &receipt["capability"], &receipt["reason"]),
            (&json!(id), &json!(capability), &json!(reason))
        );
        assert_eq!(
            (&receipt["result"]["status"], &receipt["result"]["summary"]),
            (&json!(status), &json!(summary))
        );
        assert_eq!(receipt["actor"], "agent:agent_session_docs");
        assert_eq!(receipt["operator_subject"], "operator-123");
        assert_eq!(receipt["operator_issuer"], "https://issuer.example.test");
        assert_eq!(receipt["policy_profile"], "strict");
        assert_eq!(receipt["result"]["metadata"]["run_id"], "run_1");
        assert_eq!(receipt["result"]["metadata"]["policy_envelope_id"], "policy_docs");
    }
    let none = Receipt::of_provider(&boundary, 0).unwrap().json();
    assert_eq!(none["result"]["status"], "denied");
    let not_granted = Receipt::of_sandbox(&boundary, false).unwrap().json();
    assert_eq!(not_granted["result"]["status"], "denied");
    assert_eq!(not_granted["reason"], "Persistent agent fixture action grant was not present.");
    assert_eq!(not_granted["result"]["metadata"]["environment_action"], "denial");
    assert!(Receipt::of_tool(&boundary, &ToolDeed { status: "lost", ..call }).is_err());
}

/// By the rule of `origins`: sha256 of the canonical text without `self_hash`, worked out with Python.
#[test]
fn the_hash_is_craiks() {
    let receipt = receipt("receipt_build", "task_docs", json!({}));
    assert_eq!(
        receipt.text("self_hash"),
        Some("6a1aa9794beb633daa87c8211ff59c76a2ba4ed941c8f87f994821a541343f90")
    );
}
