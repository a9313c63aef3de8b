//! test_agent_session_integrity.py, and Craik's golden vectors.

use super::{asked, at, bare, done};
use lodger::error::Code;
use lodger::journal::canonical::{Integrity, hmac_sha256, payload};
use lodger::session::lifecycle::{Launch, launch};
use lodger::session::record::{Event, Record};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The text that Craik's key is made of: it is hashed as it stands.
fn key() -> Vec<u8> {
    Sha256::digest("ab".repeat(32)).to_vec()
}

fn signature(record: &Value) -> String {
    hmac_sha256(&key(), &payload(record))
}

/// What a read with verification says of a stored record.
fn integrity(stored: &Value) -> Integrity {
    Integrity::of(stored["receipt_hmac"].as_str(), Some(&signature(stored)))
}

fn state() -> Record {
    let how = Launch { provider_id: "provider_openai", ..Launch::default() };
    let who = bare();
    let now = at("2026-05-22T07:00:00Z");
    done(launch(&super::Asked { id: "agent_docs", ..asked(None, &who, now) }, &how))
}

fn stored() -> Value {
    let state = state();
    state.signed(&signature(&state.json())).unwrap().json()
}

#[test]
fn agent_session_state_hmac_verified_on_write() {
    let stored = stored();
    assert_eq!(integrity(&stored), Integrity::Verified);
    let mut unsigned = stored.clone();
    unsigned["receipt_hmac"] = Value::Null;
    assert_eq!(unsigned, state().json());
    assert_eq!(payload(&unsigned), payload(&stored), "the signature is no part of what is signed");
}

/// And test_cli_agents.py: agent_status_surfaces_tampered_session_hmac.
#[test]
fn agent_session_state_tamper_rejected_by_default_read() {
    let mut stored = stored();
    stored["provider_id"] = json!("provider_tampered");
    let integrity = integrity(&stored);
    assert_eq!(integrity.as_str(), "tampered");
    let error = integrity.accept("agent session state", "agent_docs").unwrap_err();
    assert_eq!(error.message, "stored agent session state has invalid HMAC: agent_docs");
    assert_eq!(error.code, Code::Corrupt);
    assert_eq!(
        Record::read(&stored).unwrap().text("provider_id"),
        Some("provider_tampered"),
        "it can be shown"
    );
}

#[test]
fn agent_session_state_legacy_unsigned_rows_remain_readable() {
    let mut stored = stored();
    stored["receipt_hmac"] = Value::Null;
    assert_eq!(Record::read(&stored).unwrap().text("receipt_hmac"), None);
    assert_eq!(integrity(&stored).as_str(), "unverified");
    assert!(integrity(&stored).accept("agent session state", "agent_docs").is_ok());
}

#[test]
fn agent_session_state_legacy_none_hmac_reports_unverified() {
    let mut stored = stored();
    stored.as_object_mut().unwrap().remove("receipt_hmac");
    assert_eq!(integrity(&stored).as_str(), "unverified");
}

#[test]
fn agent_session_event_hmac_verified_and_tamper_detected() {
    let event = Event::read(&json!({
        "id": "agent_event_docs",
        "session_id": "agent_docs",
        "event_type": "prompt_received",
        "operator_subject": "operator-123",
        "provider_id": "provider_openai",
        "created_at": "2026-05-22T07:05:00Z",
    }));
    let mut stored = event.unwrap().json();
    stored["receipt_hmac"] = signature(&stored).into();
    assert_eq!(integrity(&stored).as_str(), "verified");
    assert_eq!(Event::read(&stored).unwrap().json(), stored);
    stored["event_type"] = json!("tampered");
    assert_eq!(integrity(&stored).as_str(), "tampered");
    let error = integrity(&stored).accept("agent session event", "agent_event_docs").unwrap_err();
    assert_eq!(error.message, "stored agent session event has invalid HMAC: agent_event_docs");
}

// Ours.

/// A session of the version before `display_name`, as it was stored.
const V1: &str = r#"{"active_run_id":null,"active_task_id":null,"auth_identity_hash":null,"auth_profile_id":null,"endpoint_url":null,"handoff_ids":[],"id":"agent_docs","last_activity_at":"2026-05-22T07:00:00Z","mode":"foreground","model_id":null,"operator_issuer":null,"operator_subject":"operator-123","pid":null,"policy_envelope_id":null,"project_id":null,"provider_id":"provider_openai","receipt_ids":[],"recovery_metadata":{},"recovery_session_id":null,"redacted":true,"schema":"craik.agent_session_state","started_at":"2026-05-22T07:00:00Z","status":"running","stopped_at":null,"supervision_notes":["Persistent agent session started."],"updated_at":"2026-05-22T07:00:00Z","version":"0.1.0"}"#;

#[test]
fn golden_vectors() {
    let v1: Value = serde_json::from_str(V1).unwrap();
    assert_eq!(payload(&v1), V1);
    assert_eq!(signature(&v1), "4460d8cfaa55082c375017a8a08b075ac4a294a16256578b11074025b336f115");
    let mut v2 = v1.clone();
    v2["supervision_notes"] = json!(["déjà ☃ 😀"]);
    assert!(payload(&v2).contains(r#"["d\u00e9j\u00e0 \u2603 \ud83d\ude00"]"#));
    assert_eq!(signature(&v2), "55b59d58d1bcc96433e2476c5747140809561fc6d7846cadc8db11a7d4fc0877");
    // The same session made here, by the newer version.
    assert_eq!(
        signature(&state().json()),
        "678ac5cd3a3700f96f3de8229c476397455b5678131172747b3c10275ebaf565"
    );
    assert_eq!(Record::read(&v1).unwrap(), state());
}

#[test]
fn a_record_that_contradicts_itself_is_none() {
    let whole = state().json();
    for (change, message) in [
        (json!({ "started_at": null }), "active agent session state requires started_at"),
        (json!({ "status": "idle", "started_at": null }), "active agent session state requires started_at"),
        (json!({ "status": "stopped" }), "stopped agent session state requires stopped_at"),
        (
            json!({ "status": "failed", "supervision_notes": [] }),
            "failed agent session state requires supervision_notes",
        ),
        (
            json!({ "status": "sandbox_failed", "supervision_notes": [] }),
            "failed agent session state requires supervision_notes",
        ),
        (
            json!({ "status": "auth_expired", "pid": 1 }),
            "agent session pid is only valid while process may be active",
        ),
        (
            json!({ "last_activity_at": "2026-05-22T06:59:59.999Z" }),
            "last_activity_at cannot precede started_at",
        ),
        (
            json!({ "status": "stopped", "stopped_at": "2026-05-22T08:00:00+02:00" }),
            "stopped_at cannot precede started_at",
        ),
        (json!({ "status": "asleep" }), "craik.agent_session_state.status must be one of its words"),
        (json!({ "pid": 0 }), "craik.agent_session_state.pid must be a whole number above zero"),
        (json!({ "pid": "1" }), "craik.agent_session_state.pid must be a whole number above zero"),
        (
            json!({ "operator_subject": "" }),
            "craik.agent_session_state.operator_subject must be a text that is not empty",
        ),
        (json!({ "redacted": null }), "craik.agent_session_state.redacted must be true or false"),
        (json!({ "receipt_ids": [1] }), "craik.agent_session_state.receipt_ids must be a list of texts"),
        (json!({ "recovery_metadata": [] }), "craik.agent_session_state.recovery_metadata must be an object"),
        (
            json!({ "updated_at": "yesterday" }),
            "craik.agent_session_state.updated_at must be a time like 2026-05-22T07:00:00Z",
        ),
        (json!({ "__proto__": {} }), "craik.agent_session_state has no member called __proto__"),
        (json!({ "version": "0.2.0" }), "craik.agent_session_state has another version than \"0.1.0\""),
        (
            json!({ "schema": "craik.handoff" }),
            "craik.agent_session_state has another schema than \"craik.agent_session_state\"",
        ),
    ] {
        let mut record = whole.clone();
        record.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let error = Record::read(&record).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (Code::Corrupt, message));
    }
    for gone in ["id", "operator_subject", "provider_id", "status", "updated_at"] {
        let mut record = whole.clone();
        record.as_object_mut().unwrap().remove(gone);
        let error = Record::read(&record).unwrap_err();
        assert_eq!(error.message, ["craik.agent_session_state has no ", gone].concat());
    }
    for no_object in [json!(null), json!([]), json!("x")] {
        assert!(Record::read(&no_object).is_err());
    }
    let mut starting = whole.clone();
    starting["status"] = json!("starting");
    starting["started_at"] = Value::Null;
    assert!(Record::read(&starting).is_ok(), "only this one needs no start");
}
