//! Craik's own cases, on the pure parts: the same inputs and the same expected values, written anew.
//!
//! Craik (eidetic-labs/craik, MIT), `tests/`. *Ported*: as it is. *Adapted*: the same on what stands in its place here.
//! Its store is a journal, its command line the methods of the API, its runs the run machine. Not applicable: why.
//!
//! | Craik's case | here |
//! |---|---|
//! | test_agent_sessions.py @735bd712 | `sessions` |
//! | start_agent_session_persists_redacted_provider_state | ported |
//! | update_agent_session_status_clears_pid_when_stopped | ported, by `stop`: there is no change of status without a cause |
//! | stop_and_restart_agent_session_enforce_lifecycle | ported |
//! | status_marks_stale_pid_session_failed | ported; whether the holder lives is an argument |
//! | status_marks_stale_background_endpoint_failed | ported |
//! | agent_recovery_marks_explicit_failure_states ×3 | ported |
//! | agent_recovery_records_reconnect_and_resume_actions | ported |
//! | agent_prompt_persists_events_receipts_handoff_and_links | adapted: the run is given, its records are made |
//! | agent_prompt_records_interruption_recovery_metadata | adapted, likewise |
//! | agent_prompt_exit_stops_session_without_run | ported |
//! | agent_prompt_rejects_operator_mismatch | ported |
//! | test_cli_agents.py @0fb40da5 | `sessions`; without exit codes and terminals |
//! | agent_lifecycle_cli_launch_status_stop_restart | adapted: `boundary` is text for a terminal |
//! | agent_cli_rejects_invalid_lifecycle_transitions | ported |
//! | agent_cli_requires_active_operator_session | adapted: the texts end before the command of its command line |
//! | agent_status_surfaces_tampered_session_hmac | `integrity`; that `status` shows it is the harness's case |
//! | agent_cli_prompt_runs_provider_backed_session | adapted, as the prompt above |
//! | agent_cli_recover_marks_failure_and_resume | ported |
//! | test_agent_session_integrity.py @0435dc2b | `integrity`; the store is one value |
//! | state_hmac_verified_on_write | ported |
//! | state_tamper_rejected_by_default_read | ported |
//! | state_legacy_unsigned_rows_remain_readable | ported |
//! | state_legacy_none_hmac_reports_unverified | ported |
//! | event_hmac_verified_and_tamper_detected | ported |
//! | test_redaction.py @919ce4e7 (23 by now: the 19, and 4 for tokens of GitHub and others) | `redaction` |
//! | configurable_secret_patterns | adapted: no pattern can be given here, known keys can |
//! | the 22 others | ported |
//! | test_receipts.py @9caf4a2d | `receipts` |
//! | record_and_require_receipt | adapted: recorded is read back from its JSON |
//! | list_receipts_filters_by_task_policy_and_handoff | ported, on a list |
//! | receipt_links_include_policy_profile_and_fail_open | ported |
//! | receipt_links_include_redacted_runner_metadata | ported |
//! | missing_receipt_raises_clear_error | ported: the text |
//! | unredacted_secret_receipt_is_rejected | ported |
//! | receipt_hash_changes_with_payload | ported |
//! | receipt_store_links_receipts_with_previous_hash | ported |
//! | receipt_store_rejects_tampered_receipt_payload | ported; the text is that of the hash, no store wraps it |
//! | receipt_store_rejects_broken_receipt_chain | ported |
//! | receipt_store_preserves_hash_history_across_upserts | not applicable: receipts are entries, nothing replaces one |
//! | test_environment_receipts.py @66865b68: 3 | `receipts`, ported |
//! | test_handoffs.py @04a395ec | `handoffs` |
//! | handoff_writer_creates_structured_handoff | adapted: no case file, so no lock and no debt are found; those given stay |
//! | handoff_preserves_runner_metadata_from_receipts | ported but for Markdown, which handoffs do not have here |
//! | incomplete_handoff_records_missing_validation_and_policy_exception | ported |
//! | markdown_handoff_is_deterministic | not applicable: handoffs are read as JSON |
//! | handoff_writer_creates_run_outcome_handoffs ×4 | ported but for Markdown |
//! | handoff_records_run_credential_and_operator_identity (@12a496f8) | ported but for Markdown |
//! | follow_up_handoff_keeps_distinct_credential_and_operator_identity (@12a496f8) | ported |
//! | handoff_requires_existing_task, handoff_from_run_requires_existing_run | ported: the texts |
//! | consume_handoff ×6 (@12a496f8) | not applicable: nobody takes a handoff over under another identity |
//! | test_loop.py | not applicable here: the loop is the run machine (`cases::agent_loop`); its limits' texts in `sessions` |
//! | test_provider_runner.py | adapted: what its runs leave is in `handoffs` and `receipts`; the providers are Craik's fixtures |
//! | test_operator_session_store.py | not applicable: nothing of a login is kept; the operator comes with the page |
//!
//! What is ours besides: the table of transitions against the documentation, the scanners against the regular
//! expressions, Craik's golden vectors, and random sequences of everything.

mod handoffs;
mod integrity;
mod properties;
mod receipts;
mod redaction;
mod sessions;

use lodger::ports::Millis;
use lodger::session::dates;
use lodger::session::lifecycle::{Asked, Launch, Outcome, launch};
use lodger::session::operator::Operator;
use lodger::session::record::Record;

/// The millisecond of a text.
fn at(text: &str) -> Millis {
    dates::parse(text).unwrap()
}

/// Craik's operator.
fn operator() -> Operator {
    Operator {
        subject: "operator-123".into(),
        issuer: Some("https://issuer.example.test".into()),
        expires_at: None,
    }
}

/// An operator without an issuer, as most of Craik's cases have it.
fn bare() -> Operator {
    Operator { issuer: None, ..operator() }
}

fn asked<'a>(record: Option<&'a Record>, operator: &'a Operator, now: Millis) -> Asked<'a> {
    let id = record.map_or("agent_session_docs", Record::id);
    Asked { id, record, operator: Some(operator), at: now, alive: true, known: &[] }
}

/// The record that came of a command that must not be refused.
fn done(outcome: Outcome) -> Record {
    assert_eq!(outcome.refused, None);
    let record = outcome.record.unwrap();
    assert_eq!(Record::read(&record.json()).unwrap(), record, "what is kept reads back");
    record
}

/// What a refusal says.
fn refused(outcome: Outcome) -> String {
    outcome.refused.unwrap().message.clone()
}

/// A session of the bare operator.
fn started(now: Millis) -> Record {
    let how = Launch { provider_id: "provider_openai", ..Launch::default() };
    done(launch(&asked(None, &bare(), now), &how))
}

/// One of the operator with an issuer, in a project.
fn started_in_project(now: Millis) -> Record {
    let how = Launch {
        provider_id: "provider_openai",
        model_id: Some("gpt-5.2"),
        project_id: Some("project_docs"),
        policy_envelope_id: Some("policy_docs"),
        ..Launch::default()
    };
    done(launch(&asked(None, &operator(), now), &how))
}
