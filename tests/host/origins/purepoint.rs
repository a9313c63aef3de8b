//! PurePoint's own cases, on the pure parts: the same inputs and the same expected values, written anew.
//!
//! PurePoint (seed 003), inline tests of its crates at the clone's HEAD. *Ported*: as it is. *Adapted*: the same on what
//! stands in its place here. Its terminal is what a model says, its manifest a session's record, its socket the methods
//! of the API. Not applicable: why.
//!
//! | PurePoint's case | here |
//! |---|---|
//! | pu-engine/agent_monitor.rs | |
//! | exit_code_zero, nonzero, signal (137) → broken | adapted: a run has no exit code; it is over, however it has ended |
//! | running_with_shell_prompt_should_return_waiting | ported |
//! | running_with_recent_output_should_return_streaming | ported |
//! | running_with_empty_buffer_should_return_streaming | ported |
//! | pu-engine/output_buffer.rs | |
//! | new_buffer_should_be_empty, write_should_store_bytes, multiple_writes_should_concatenate | ported |
//! | read_tail_should_return_last_n_bytes, read_tail_larger_than_buffer_should_return_all | ported |
//! | buffer_exceeds_capacity_should_wrap_and_discard_oldest | ported |
//! | write_should_update_last_write_time, no_writes_should_report_high_idle_seconds | adapted: the time comes in as a number; that each piece counts is in `cases::bench` |
//! | buffer_ending_with_dollar, percent, hash, gt_prompt_should_detect_shell | ported |
//! | buffer_with_no_prompt, empty_buffer_should_not_detect_shell | ported |
//! | concurrent_reads_and_writes_should_not_panic | not applicable: there are no threads |
//! | write_should_notify_waiters | not applicable: a reader is told of the journal (`cases::bench`), not of bytes |
//! | write_should_increment_total_written, current_offset_should_match_total_written | ported |
//! | read_from_zero_should_return_all_bytes, read_from_offset_should_return_only_new_bytes | ported |
//! | read_from_beyond_total_should_return_empty | ported |
//! | buffer_wraps_capacity_should_return_available_from_offset | ported |
//! | pu-core/types.rs | |
//! | agent_status_streaming, waiting, broken_should_serialize; all_agent_statuses_should_round_trip_json | ported, as words |
//! | old_status_values_should_deserialize_to_new | ported |
//! | broken_status_should_not_be_alive, active_statuses_should_be_alive | ported |
//! | agent_entry_should_serialize_camel_case_keys | adapted: the record has Craik's names; `suspendedAt` is PurePoint's |
//! | agent_entry_with_suspended_at_but_no_suspended_field_should_infer_suspended | ported |
//! | agent_entry_json_should_deserialize_camel_case (`idle` → waiting) | adapted: the word |
//! | worktree ×2, manifest ×4, config ×4 | not applicable: there are no worktrees, no manifest and no file of settings; `list` and `status` find sessions |
//! | pu-core/manifest.rs (6) | not applicable: what is stored are rows of a database |
//! | pu-core/protocol.rs | |
//! | suspend_request_with_all_target, agent_target, suspend_target_all, suspend_result | adapted: `bench(id)`, `bench("all")` → `{ suspended }`; js/test/attach.test.js |
//! | resume_request, resume_result | adapted: `play(id)` → how it stands; `cases::bench` |
//! | attach, logs round trips; logs default tail 500 | adapted: `attach` gives entries, `output` with `tail` the bytes, all of them where it is not said |
//! | health, init, spawn, kill, rename, shutdown, hex, protocol_version | not applicable: no daemon; `launch`, `stop`, `rename` are Craik's (`origins::craik`) |
//! | error.rs (9), id.rs (18) | not applicable: codes are ours, ids Craik's; `agent is not suspended` is said by `play`, `no active session for agent …` by all that bench, play and look on |
//! | pu-engine/ipc_server.rs | |
//! | attach_request_should_stream_output_continuously | adapted: js/test/attach.test.js, pkg-tests/suites/activity.mjs |
//! | killed_agent_attach_should_return_error, attach_disconnect_should_not_crash_server | adapted, there too |
//! | accept, health, init, shutdown, input, resize | not applicable: there is no socket and no terminal |
//! | engine.rs, pty_manager.rs, daemon_lifecycle.rs, attach_handler.rs; tests/integration.rs | not applicable: processes, terminals and a daemon |
//!
//! Ours, because PurePoint has none: 30 and 31 seconds, newlines behind a prompt, the round trip of bench and play
//! (`cases::bench`), two readers with different offsets (here, and js/test/attach.test.js).

use lodger::session::activity::{Activity, Facts, looks_like_prompt, of_run, of_session};
use lodger::session::output::{CAPACITY, Output};
use lodger::session::record::Record;
use lodger::session::transitions::Status;
use serde_json::{Value, json};

/// A run that has just said this.
fn said(tail: &str) -> Activity {
    of_run(&Facts { tail: tail.as_bytes(), ..Facts::default() })
}

fn written<'a>(capacity: u64, pieces: &[&'a str]) -> Output<'a> {
    let mut output = Output::with_capacity(capacity);
    pieces.iter().for_each(|piece| output.push(piece));
    output
}

// agent_monitor.rs

#[test]
fn exit_code_should_return_broken() {
    for tail in ["", "agent done\nuser@host $ ", "working..."] {
        for silent in [0, 31_000] {
            for waits in [false, true] {
                let facts = Facts { over: true, waits, tail: tail.as_bytes(), silent };
                assert_eq!(of_run(&facts), Activity::Broken);
            }
        }
    }
}

#[test]
fn running_with_shell_prompt_should_return_waiting() {
    assert_eq!(said("agent done\nuser@host $ "), Activity::Waiting);
}

#[test]
fn running_with_recent_output_should_return_streaming() {
    assert_eq!(said("Working on task..."), Activity::Streaming);
}

#[test]
fn running_with_empty_buffer_should_return_streaming() {
    assert_eq!(said(""), Activity::Streaming);
}

// Ours: no case of theirs covers the limit.
#[test]
fn thirty_seconds_are_streaming_and_thirty_one_are_waiting() {
    let silent = |silent| of_run(&Facts { silent, tail: b"Working", ..Facts::default() });
    assert_eq!([silent(30_000), silent(30_999)], [Activity::Streaming; 2]);
    assert_eq!([silent(31_000), silent(u64::MAX)], [Activity::Waiting; 2]);
}

// Ours.
#[test]
fn a_run_that_waits_for_a_person_waits() {
    assert_eq!(of_run(&Facts { waits: true, ..Facts::default() }), Activity::Waiting);
}

// Ours: the order for a session.
#[test]
fn a_session_is_as_its_status_then_as_its_run() {
    for status in Status::ALL {
        for run in [None, Some(Activity::Streaming), Some(Activity::Waiting), Some(Activity::Broken)] {
            let wanted = match status.is_active() {
                false => Activity::Broken,
                true => run.unwrap_or(Activity::Waiting),
            };
            assert_eq!(of_session(Some(status), run), wanted, "{status:?} {run:?}");
        }
    }
    assert_eq!(of_session(None, None), Activity::Waiting);
}

// output_buffer.rs

#[test]
fn new_buffer_should_be_empty() {
    let output = Output::default();
    assert_eq!((output.read_from(0), output.total()), ((vec![], 0), 0));
}

#[test]
fn write_should_store_bytes() {
    assert_eq!(written(1024, &["hello"]).read_from(0).0, b"hello");
}

#[test]
fn multiple_writes_should_concatenate() {
    assert_eq!(written(1024, &["hello ", "world"]).read_from(0).0, b"hello world");
}

#[test]
fn read_tail_should_return_last_n_bytes() {
    assert_eq!(written(1024, &["hello world"]).read_tail(5), b"world");
}

#[test]
fn read_tail_larger_than_buffer_should_return_all() {
    assert_eq!(written(1024, &["hi"]).read_tail(100), b"hi");
}

#[test]
fn buffer_exceeds_capacity_should_wrap_and_discard_oldest() {
    assert_eq!(written(10, &["12345", "67890", "abc"]).read_from(0).0, b"4567890abc");
    // In one piece it is the same.
    assert_eq!(written(10, &["1234567890abc"]).read_from(0).0, b"4567890abc");
    assert_eq!(CAPACITY, 4 * 1024 * 1024);
}

#[test]
fn prompts_should_detect_shell() {
    for output in ["some output\n$ ", "output\nuser@host % ", "output\nroot# ", "output\n> "] {
        assert!(looks_like_prompt(output.as_bytes()), "{output:?}");
    }
}

#[test]
fn no_prompt_should_not_detect_shell() {
    for output in ["just some text", "", "\n\r\n", "costs 5$", "a > b", "$"] {
        assert!(!looks_like_prompt(output.as_bytes()), "{output:?}");
    }
}

// Ours: only newlines are cut, in any order, and only the last 256 bytes count.
#[test]
fn newlines_behind_a_prompt_do_not_count_and_spaces_do() {
    for (output, is) in [("$ \n", true), ("$ \r\n\r", true), ("$ \n ", false), ("$\n", false), ("$  ", false)]
    {
        assert_eq!(looks_like_prompt(output.as_bytes()), is, "{output:?}");
    }
    let behind = |n| format!("$ {}", "\n".repeat(n));
    assert!(looks_like_prompt(behind(254).as_bytes()));
    assert!(!looks_like_prompt(behind(256).as_bytes()));
    assert!(looks_like_prompt(b"\xff\xfe> "), "what is no UTF-8 does not matter");
}

#[test]
fn total_written_only_grows() {
    let mut output = written(10, &["12345"]);
    assert_eq!(output.total(), 5);
    output.push("67890");
    output.push("abc");
    assert_eq!((output.total(), output.read_from(0).1), (13, 13));
    output.skip(4);
    assert_eq!((output.total(), output.read_from(0).0), (17, b"890abc".to_vec()), "what is lost counts");
}

#[test]
fn read_from_zero_should_return_all_bytes() {
    assert_eq!(written(1024, &["hello"]).read_from(0), (b"hello".to_vec(), 5));
}

#[test]
fn read_from_offset_should_return_only_new_bytes() {
    let mut output = written(1024, &["hello"]);
    let (_, offset) = output.read_from(0);
    output.push(" world");
    assert_eq!(output.read_from(offset), (b" world".to_vec(), 11));
}

#[test]
fn read_from_beyond_total_should_return_empty() {
    assert_eq!(written(1024, &["abc"]).read_from(100), (vec![], 3));
}

#[test]
fn buffer_wraps_capacity_should_return_available_from_offset() {
    let output = written(10, &["12345", "67890", "abc"]);
    assert_eq!(output.read_from(5), (b"67890abc".to_vec(), 13));
    assert_eq!(output.read_from(0), (b"4567890abc".to_vec(), 13));
}

// Ours: two readers, each in its own place.
#[test]
fn two_readers_with_different_offsets_read_the_same_words() {
    let pieces = ["one ", "twö ", "three ", "👋 four"];
    let whole = pieces.concat().into_bytes();
    let mut output = Output::default();
    let (mut early, mut late) = ((Vec::new(), 0), (Vec::new(), 5));
    for piece in pieces {
        output.push(piece);
        for (read, offset) in [&mut early, &mut late] {
            let (more, next) = output.read_from(*offset);
            // One that begins further on waits until it is said.
            if next > *offset {
                (*offset, _) = (next, read.extend(more));
            }
        }
    }
    assert_eq!((early.0, late.0), (whole.clone(), whole[5..].to_vec()));
    for from in 0..=whole.len() {
        assert_eq!(output.read_from(from as u64).0, whole[from..], "from the middle of a letter, too");
    }
}

// types.rs

#[test]
fn agent_statuses_should_round_trip() {
    let words = ["streaming", "waiting", "broken"];
    for (activity, word) in [Activity::Streaming, Activity::Waiting, Activity::Broken].into_iter().zip(words)
    {
        assert_eq!((activity.as_str(), Activity::parse(word)), (word, Some(activity)));
    }
}

#[test]
fn old_status_values_should_deserialize_to_new() {
    for (old, new) in [
        ("spawning", Activity::Streaming),
        ("running", Activity::Streaming),
        ("idle", Activity::Waiting),
        ("suspended", Activity::Waiting),
        ("completed", Activity::Broken),
        ("failed", Activity::Broken),
        ("killed", Activity::Broken),
        ("lost", Activity::Broken),
    ] {
        assert_eq!(Activity::parse(old), Some(new), "{old}");
    }
    for other in ["", "Streaming", "stopped"] {
        assert_eq!(Activity::parse(other), None, "an unknown variant: {other:?}");
    }
}

#[test]
fn broken_is_not_alive_and_the_others_are() {
    assert!(!Activity::Broken.is_alive());
    assert!(Activity::Streaming.is_alive() && Activity::Waiting.is_alive());
}

fn record(more: Value) -> Value {
    let mut record = json!({
        "id": "ag-12345678", "status": "idle", "operator_subject": "ann", "provider_id": "p",
        "started_at": "2026-03-04T00:00:00Z", "updated_at": "2026-03-04T00:00:00Z",
    });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

#[test]
fn agent_entry_with_suspended_at_but_no_suspended_field_should_infer_suspended() {
    let suspended = |more| Record::read(&record(more)).unwrap().is_suspended();
    assert!(suspended(json!({ "suspendedAt": 1_772_582_400_000_u64 })));
    assert!(suspended(json!({ "suspended": false, "suspendedAt": 1_772_582_400_000_u64 })));
    assert!(suspended(json!({ "suspended": true })));
    for not in [json!({}), json!({ "suspended": false }), json!({ "suspendedAt": null })] {
        assert!(!suspended(not));
    }
}

// Ours: a record of before there was a bench reads and is written as it was.
#[test]
fn a_record_without_the_members_keeps_without_them() {
    let read = Record::read(&record(json!({}))).unwrap().json();
    assert_eq!((read.get("suspended"), read.get("suspendedAt")), (None, None));
    assert!(Record::read(&record(json!({ "suspendedAt": "now" }))).is_err());
}
