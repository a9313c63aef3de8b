//! Random sequences of everything that may happen to a session, with clocks that jump. Only the table's transitions
//! happen, every record is one, and nothing that looks like a secret gets through.

use super::{bare, operator, started_in_project};
use lodger::error::{Code, ErrorInfo};
use lodger::journal::redact::has_secret;
use lodger::session::lifecycle::*;
use lodger::session::operator::Operator;
use lodger::session::record::{Event, Record};
use lodger::session::transitions::{Cause, Status, next};

/// What the table allows, each row written out: (from, to).
fn allowed(causes: &[Cause], from: Status) -> Vec<Status> {
    let mut reachable = vec![from];
    for cause in causes {
        for status in reachable.clone() {
            reachable.extend(next(Some(status), *cause));
        }
    }
    reachable
}

#[test]
fn only_transitions_of_the_table_happen() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut seen = vec![];
    let (mut refusals, mut changes, mut benched) = (0, 0, 0);
    for _ in 0..400 {
        let waiting = random.bool();
        let how = Launch {
            provider_id: "provider_openai",
            project_id: Some("project_docs"),
            background: random.u8(..4) == 0,
            endpoint_url: random.bool().then_some("http://127.0.0.1:8766"),
            pid: random.bool().then_some(1),
            waiting,
            ..Launch::default()
        };
        let mut now = random.u64(1_000_000_000_000..2_000_000_000_000);
        let owner = operator();
        let mut record = super::done(launch(&super::asked(None, &owner, now), &how));
        let mut events: Vec<Event> = vec![];
        for _ in 0..40 {
            // Forwards, not at all, and sometimes far back.
            now = match random.u8(..10) {
                0 => now.saturating_sub(random.u64(..100_000_000_000)),
                1 => now,
                _ => now + random.u64(..100_000),
            };
            let stranger = Operator { subject: "stranger".into(), ..operator() };
            let late = Operator { expires_at: Some(now), ..operator() };
            let who = match random.u8(..12) {
                0 => Some(&stranger),
                1 => Some(&late),
                2 => None,
                _ => Some(&owner),
            };
            let known = ["known-key-1".to_owned()];
            let asked = Asked {
                id: record.id(),
                record: Some(&record),
                operator: who,
                at: now,
                alive: random.u8(..5) > 0,
                known: &known,
            };
            let text = random
                .choice([
                    "hello",
                    "",
                    "exit",
                    "token=abc",
                    "known-key-1",
                    "a much longer question\nof two lines",
                ])
                .unwrap();
            let code = *random.choice(Code::ALL).unwrap();
            let error = ErrorInfo::new(code, "it said Bearer abcdefgh known-key-1");
            let reasons = ["auth_expired", "provider_unavailable", "sandbox_failed", "stale_endpoint", "x"];
            let finished = Finish {
                task_id: None,
                run_id: "run_1",
                handoff_id: random.bool().then_some("handoff_1"),
                receipt_ids: &["receipt_1".to_owned()],
                run_status: "failed",
                interrupted_error: random.bool().then_some(text),
                code: random.bool().then_some(error.code.as_str()),
                detail: Some(&error.message),
                at: now,
            };
            use Cause::*;
            const MARKS: [Cause; 4] = [MarkStale, MarkAuth, MarkProvider, MarkSandbox];
            let from = record.status();
            let (outcome, causes): (_, &[Cause]) = match random.u8(..15) {
                0 => (status(&asked), &[Stale]),
                1 => (stop(&asked, Some(text), random.bool()), &[Stale, Stop, StopWaiting]),
                2 => (restart(&asked, None, Some(2), None), &[Stale, Restart]),
                3 => (rename(&asked, text), &[Stale]),
                4 => {
                    let how = Recovery {
                        reason: random.choice(reasons),
                        detail: Some(text),
                        ..Recovery::default()
                    };
                    (recover(&asked, &how), &MARKS)
                }
                5 | 6 => {
                    let action = random.choice(["reconnect", "resume", "rest"]);
                    let how = Recovery { action, pid: Some(3), ..Recovery::default() };
                    (recover(&asked, &how), &[Reconnect, Resume])
                }
                7..=9 => (prompt(&asked, text, random.u8(..9) == 0, Some(4)), &[Stale, Prompt, Exit]),
                10 | 11 => (finish(&record, &finished, &known), &[RunEnded, MarkAuth, MarkProvider]),
                12 | 13 => (bench(&asked, random.u8(..3) > 0), &[Stale, Bench]),
                _ if random.bool() => (go_on(&record, "run_1", Some(5), now, &known), &[GoesOn]),
                _ => (ready(&record, now, &known), &[Ready]),
            };
            if let Some(after) = &outcome.record {
                assert!(
                    allowed(causes, from).contains(&after.status()),
                    "{from:?} became {:?} by {causes:?}",
                    after.status()
                );
                assert_eq!(Record::read(&after.json()).as_ref(), Ok(after));
                assert!(!after.is_suspended() || after.status().is_active(), "what is over is put aside");
                benched += usize::from(after.is_suspended() && !record.is_suspended());
                assert!(!has_secret(&after.json(), &known));
                assert!(!outcome.events.is_empty(), "each change is told");
                changes += 1;
            }
            for event in &outcome.events {
                assert!(!has_secret(&event.json(), &known));
                assert_eq!(Event::read(&event.json()).as_ref(), Ok(event));
            }
            match &outcome.refused {
                Some(_) => {
                    refusals += 1;
                    let found: Vec<_> = outcome.events.iter().map(|event| event.text("event_type")).collect();
                    match &outcome.record {
                        Some(lost) => {
                            assert_eq!((lost.status(), found), (Status::Failed, vec![Some("failed")]))
                        }
                        None => assert!(found.is_empty(), "what was refused is told as done: {found:?}"),
                    }
                }
                None if who.is_none_or(|who| *who != owner) => {
                    let outside = causes.iter().any(|cause| {
                        matches!(cause, RunEnded | GoesOn | Ready) || (*cause == Stale && causes.len() == 1)
                    });
                    assert!(outside, "somebody else did what only the owner may: {causes:?}");
                }
                None => {}
            }
            if let Some(Then::Run { .. }) = Some(&outcome.then).filter(|_| outcome.refused.is_none()) {
                assert_eq!(outcome.record.as_ref().map(Record::status), Some(Status::Running));
            }
            events.extend(outcome.events);
            if let Some(after) = outcome.record {
                record = after;
            }
            if !seen.contains(&record.status()) {
                seen.push(record.status());
            }
        }
        assert!(events.iter().all(|event| event.text("session_id") == Some(record.id())));
    }
    assert_eq!(seen.len(), Status::ALL.len(), "every status was met");
    assert!(refusals > 1_000 && changes > 3_000 && benched > 100, "{refusals} {changes} {benched}");
}

#[test]
fn a_refusal_changes_nothing_but_what_was_found() {
    let state = started_in_project(1);
    for outcome in [
        stop(&super::asked(Some(&state), &bare(), 2), None, false),
        prompt(&super::asked(Some(&state), &operator(), 2), "", false, None),
    ] {
        assert!(outcome.refused.is_some() && outcome.record.is_none() && outcome.events.is_empty());
    }
}
