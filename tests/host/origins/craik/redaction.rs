//! test_redaction.py, and the scanners against the regular expressions that they stand for.

use lodger::journal::redact::{has_secret, text, value};
use regex::Regex;
use serde_json::{Value, json};

fn redact(input: Value) -> (Value, Vec<String>) {
    let (clean, paths) = value(&input, &[]);
    assert_eq!(value(&clean, &[]), (clean.clone(), vec![]), "what is redacted stays as it is");
    assert_eq!(has_secret(&input, &[]), !paths.is_empty());
    (clean, paths)
}

/// A text that is redacted to this.
fn becomes(input: &str, expected: &str) {
    assert_eq!(redact(json!(input)), (json!(expected), vec!["$".into()]));
}

#[test]
fn redacts_bearer_header() {
    becomes("Authorization: Bearer redactionfixture123", "Authorization: Bearer [REDACTED]");
}

#[test]
fn redacts_api_key_query_shape() {
    becomes("call service api_key=redactionfixture123", "call service api_key=[REDACTED]");
}

#[test]
fn redacts_secret_flag_command_shape() {
    becomes("tool run --token redactionfixture123 --name demo", "tool run --token [REDACTED] --name demo");
}

#[test]
fn redacts_github_classic_pat() {
    becomes("GITHUB_TOKEN=ghp_AbCdEf0123456789AbCdEf0123456789AbCdEf", "GITHUB_TOKEN=[REDACTED]");
}

#[test]
fn redacts_github_oauth_server_and_refresh_tokens() {
    for prefix in ["gho_", "ghs_", "ghr_"] {
        becomes(&[prefix, "test1234567890abcdef"].concat(), "[REDACTED]");
    }
}

#[test]
fn redacts_github_fine_grained_pat() {
    becomes("github_pat_11ABCDEFG_82chars1234567890abcdef", "[REDACTED]");
}

#[test]
fn redacts_hyphenated_provider_tokens_still_work() {
    for prefix in ["sk-", "xoxb-"] {
        becomes(&[prefix, "test1234567890abcdef"].concat(), "[REDACTED]");
    }
}

#[test]
fn redacts_auth_url_without_destroying_shape() {
    becomes(
        "https://user:redactionfixture123@example.com/path",
        "https://[REDACTED]:[REDACTED]@example.com/path",
    );
}

#[test]
fn redacts_token_only_git_remote_without_destroying_shape() {
    becomes(
        "https://redactionfixture123@github.com/eidetic-labs/craik.git",
        "https://[REDACTED]@github.com/eidetic-labs/craik.git",
    );
}

#[test]
fn redacts_secret_key_in_structured_payload() {
    let (clean, paths) = redact(
        json!({ "result": { "metadata": { "api_token": "redaction-fixture-value", "status": "failed" } } }),
    );
    assert_eq!(clean, json!({ "result": { "metadata": { "api_token": "[REDACTED]", "status": "failed" } } }));
    assert_eq!(paths, ["$.result.metadata.api_token"]);
}

#[test]
fn preserves_already_redacted_values() {
    for done in [json!("[REDACTED]"), json!("<Redacted>"), json!("redacted"), Value::Null] {
        let payload = json!({ "api_token": done });
        assert_eq!(redact(payload.clone()), (payload, vec![]));
    }
}

#[test]
fn configurable_secret_patterns() {
    let known = ["custom-secret-1234".to_owned()];
    assert_eq!(text("value custom-secret-1234", &known).unwrap(), "value [REDACTED]");
}

#[test]
fn detects_unredacted_secret_material() {
    assert!(has_secret(&json!({ "password": "redaction-fixture-value" }), &[]));
    assert!(!has_secret(&json!({ "password": "[REDACTED]" }), &[]));
}

#[test]
fn context_budget_token_counts_are_not_secret_keys() {
    assert!(!has_secret(&json!({ "max_tokens": 24000, "estimated_tokens": 12 }), &[]));
}

#[test]
fn provider_token_budget_counts_are_not_secret_keys() {
    let counts = json!({
        "provider_token_budget": 24000,
        "provider_tokens_used": 1500,
        "provider_token_budget_remaining": 22500,
    });
    assert!(!has_secret(&counts, &[]));
    assert!(has_secret(&json!({ "tokens": 1500 }), &[]), "any other is one");
}

#[test]
fn policy_credential_constraints_are_not_secret_keys() {
    let constraints = json!({
        "allowed_credential_kinds": ["secret-ref"],
        "allowed_credential_profiles": ["openai:prod-*"],
    });
    assert!(!has_secret(&constraints, &[]));
}

#[test]
fn receipt_shape_redaction_regression() {
    let (clean, paths) = redact(json!({
        "schema": "craik.capability_receipt",
        "result": {
            "summary": "Authorization: Bearer redactionfixture123",
            "metadata": { "request_id": "req_123" },
        },
    }));
    assert_eq!(clean["result"]["summary"], "Authorization: Bearer [REDACTED]");
    assert_eq!(clean["result"]["metadata"]["request_id"], "req_123");
    assert_eq!(paths, ["$.result.summary"]);
}

#[test]
fn handoff_shape_redaction_regression() {
    let (clean, paths) = redact(json!({
        "schema": "craik.handoff",
        "commands_run": ["curl https://user:redactionfixture123@example.com/path"],
        "summary": "completed",
    }));
    assert_eq!(clean["commands_run"], json!(["curl https://[REDACTED]:[REDACTED]@example.com/path"]));
    assert_eq!(clean["summary"], "completed");
    assert_eq!(paths, ["$.commands_run[0]"]);
}

#[test]
fn case_file_shape_redaction_regression() {
    let (clean, _) = redact(json!({
        "schema": "craik.case_file",
        "repo_state": { "remote": "https://user:redactionfixture123@example.com/repo.git" },
        "docs": ["README.md"],
    }));
    assert_eq!(clean["repo_state"]["remote"], "https://[REDACTED]:[REDACTED]@example.com/repo.git");
    assert_eq!(clean["docs"], json!(["README.md"]));
}

#[test]
fn memory_proposal_shape_redaction_regression() {
    let (clean, _) = redact(json!({
        "schema": "craik.memory_proposal",
        "fact": { "entity": "repo:demo", "relation": "craik:note", "value": "token=redactionfixture123" },
    }));
    assert_eq!(clean["fact"]["value"], "token=[REDACTED]");
}

#[test]
fn multimodal_transcript_shape_redaction_regression() {
    let (clean, _) = redact(json!({
        "schema": "craik.speech_to_text_result",
        "transcript": {
            "text": "Authorization: Bearer redactionfixture123",
            "metadata": {
                "private_transcript_metadata": "private speaker detail",
                "confidence_model": "fixture",
            },
        },
        "policy_envelope_id": "policy_voice",
        "evidence_ids": ["evidence_voice"],
        "receipt_ids": ["receipt_voice"],
    }));
    assert_eq!(clean["transcript"]["text"], "Authorization: Bearer [REDACTED]");
    assert_eq!(clean["policy_envelope_id"], "policy_voice");
    assert_eq!(clean["evidence_ids"], json!(["evidence_voice"]));
    assert_eq!(clean["receipt_ids"], json!(["receipt_voice"]));
}

#[test]
fn multimodal_media_metadata_shape_redaction_regression() {
    let (clean, paths) = redact(json!({
        "schema": "craik.multimodal_artifact_reference",
        "locator": "artifact?token=redactionfixture123",
        "media_metadata": { "api_token": "redaction-fixture-value", "duration_ms": 2400, "codec": "wav" },
        "policy_envelope_id": "policy_voice",
        "evidence_ids": ["evidence_media"],
        "receipt_ids": ["receipt_media"],
    }));
    assert_eq!(clean["locator"], "artifact?token=[REDACTED]");
    assert_eq!(
        clean["media_metadata"],
        json!({ "api_token": "[REDACTED]", "duration_ms": 2400, "codec": "wav" })
    );
    assert_eq!(paths, ["$.locator", "$.media_metadata.api_token"]);
}

#[test]
fn companion_state_shape_redaction_regression() {
    let (clean, _) = redact(json!({
        "schema": "craik.companion_state",
        "last_viewed_task_id": "task_review",
        "notification": { "summary": "token=redactionfixture123", "receipt_id": "receipt_review" },
        "credentials": "private",
        "local_path": "/Users/example/private-state.json",
    }));
    assert_eq!(clean["notification"]["summary"], "token=[REDACTED]");
    assert_eq!(clean["credentials"], "[REDACTED]");
    assert_eq!(clean["notification"]["receipt_id"], "receipt_review");
}

// Ours.

/// Craik's patterns, and what it puts in their place.
const PATTERNS: [(&str, &str); 6] = [
    (r"(?i)\bBearer\s+[A-Za-z0-9._~+/=-]{8,}", "Bearer [REDACTED]"),
    (r"(?i)\b(api[_-]?key|token|password|secret)=([^\s&]+)", "${1}=[REDACTED]"),
    (r"(?i)(--(?:api[_-]?key|token|password|secret)(?:=|\s+))([^\s]+)", "${1}[REDACTED]"),
    (r"(?i)\b(ghp|gho|ghs|ghr|github_pat|sk|xox[baprs])[-_][A-Za-z0-9_-]{8,}", "[REDACTED]"),
    (r"(?i)(https?://)([^/\s:@]+):([^@\s/]+)@", "${1}[REDACTED]:[REDACTED]@"),
    (r"(?i)(https?://)([A-Za-z0-9._~+/=-]{8,})@", "${1}[REDACTED]@"),
];

/// What texts with secrets are made of, in parts that mean most where they meet.
const PIECES: [&str; 58] = [
    "Bearer",
    "bearer ",
    "BEARER\t",
    "Bearer\u{a0}",
    "Bear\u{2003}er",
    "abcdefgh",
    "Abcdefg",
    "12345678",
    "a.b_c~d+e/f=g-h",
    "api_key",
    "api-key",
    "apikey",
    "API_KEY",
    "token",
    "toKen",
    "to\u{212a}en",
    "password",
    "pas\u{17f}word",
    "secret",
    "\u{17f}ecret",
    "=",
    "==",
    "--",
    "-",
    "---",
    " ",
    "  ",
    "\n",
    "\u{2028}",
    "&",
    "_",
    ".",
    "ghp",
    "gho_",
    "ghs-",
    "GHR_",
    "github_pat_",
    "sk-",
    "\u{17f}\u{212a}-",
    "sk",
    "xoxb-",
    "xoxz-",
    "xoxs_",
    "http",
    "https",
    "://",
    "http://",
    "https://",
    "HTTP\u{17f}://",
    "user:pass@",
    ":",
    "@",
    "/",
    "é",
    "東",
    "[REDACTED]",
    "\u{1f600}",
    "x",
];

#[test]
fn the_scanners_find_what_the_patterns_find() {
    let patterns = PATTERNS.map(|(pattern, by)| (Regex::new(pattern).unwrap(), by));
    let mut random = fastrand::Rng::with_seed(11);
    let (mut found, mut untouched) = (0, 0);
    for _ in 0..60_000 {
        let mut input = String::new();
        for _ in 0..random.usize(1..12) {
            input.push_str(random.choice(PIECES).unwrap());
            if random.u8(..6) == 0 {
                input.push(random.char('!'..='z'));
            }
        }
        let mut expected = input.clone();
        for (pattern, by) in &patterns {
            expected = pattern.replace_all(&expected, *by).into_owned();
        }
        let clean = text(&input, &[]);
        assert_eq!(clean.as_deref().unwrap_or(&input), expected, "{input:?}");
        assert_eq!(clean.is_some(), expected != input);
        match clean {
            Some(clean) => {
                found += 1;
                assert_eq!(text(&clean, &[]), None, "{input:?} became {clean:?}");
            }
            None => untouched += 1,
        }
    }
    assert!(found > 10_000 && untouched > 10_000, "{found} {untouched}");
}

#[test]
fn a_combining_mark_begins_no_word_as_in_python() {
    // Python's `\w` has letters and digits; Rust's also marks, which would hide this one.
    becomes("e\u{301}token=abc", "e\u{301}token=[REDACTED]");
}

#[test]
fn paths_name_members_and_items() {
    let (_, paths) =
        redact(json!({ "a": { "b": ["x", { "c": "token=1" }], "my_password": 5 }, "z": [["sk-12345678"]] }));
    assert_eq!(paths, ["$.a.b[1].c", "$.a.my_password", "$.z[0][0]"]);
}
