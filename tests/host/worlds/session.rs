//! Sessions under random commands, failures, crashes and steps of the clock: what must hold of every record, always.

use crate::support::desk::{Desk, whole};
use crate::support::parts::{drawn, quick};
use fastrand::Rng;
use lodger::error::Code;
use lodger::harness::Input;
use lodger::journal::{Answer, Entry, RecordKind, Row};
use lodger::model::{Block, StopReason};
use lodger::ports::{PatternEngine, Table};
use lodger::run::CallState;
use lodger::session::Session;
use lodger::session::carry::{self, Reader};
use lodger::session::transitions::{Status, markdown};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const IDS: [&str; 3] = ["one", "two", "three"];
const SEEDS: u64 = 500;

/// Codes that a command may be refused with: whatever else comes is a fault.
const REFUSALS: [Code; 11] = [
    Code::Benched,
    Code::NotConfigured,
    Code::InvalidTransition,
    Code::SessionNotFound,
    Code::SessionExists,
    Code::PermissionDenied,
    Code::OperatorRequired,
    Code::NotRunning,
    Code::Busy,
    Code::MessageNotFound,
    Code::NothingToResume,
];

/// What happened: a campaign in which something never happens proves nothing of it.
type Seen = BTreeMap<String, usize>;

fn try_to(desk: &mut Desk, seen: &mut Seen, name: &str, args: Value) -> Option<Value> {
    let id = desk.command(name, args.clone());
    match desk.answers.get(&id).cloned() {
        Some(Ok(value)) => {
            *seen.entry(name.into()).or_default() += 1;
            Some(value)
        }
        Some(Err(error)) => {
            assert!(REFUSALS.contains(&error.code), "{name} {args}: {error:?}");
            *seen.entry(format!("refused: {}", error.code.as_str())).or_default() += 1;
            None
        }
        // Only a prompt waits, and only for the key of a provider.
        None => {
            assert!(name == "sessions.prompt", "no answer to {name} {args}");
            *seen.entry("waits".into()).or_default() += 1;
            None
        }
    }
}

fn key(there: bool) -> Value {
    let mut late = json!({ "kind": "anthropic" });
    if there {
        late["apiKey"] = json!("sk-ant-0123456789");
    }
    let spare = json!({ "kind": "custom", "model": "model-1", "stream": { "$fn": 51 } });
    json!({ "late": late, "spare": spare })
}

/// Tools with an effect, one of which a person is asked about, and one without.
fn offer(desk: &mut Desk, rng: &mut Rng) {
    let on_resume = ["ask", "rerun", "fail"][rng.usize(..3)];
    for (name, mut tool) in [
        ("post", json!({ "onResume": on_resume })),
        ("mail", json!({ "destructive": true })),
        ("look", json!({ "readOnly": true })),
    ] {
        let always = json!({
            "name": name, "description": "It is one.", "inputSchema": { "type": "object" },
            "execute": { "$fn": 71 }, "concurrency": "parallel", "replace": true,
        });
        tool.as_object_mut().unwrap().extend(always.as_object().unwrap().clone());
        desk.must("tools.register", tool);
    }
}

/// One thing that a person, a provider, a page or a clock does.
fn step(mut desk: Desk, rng: &mut Rng, seen: &mut Seen) -> Desk {
    let id = IDS[rng.usize(..IDS.len())];
    let of = |more: Value| {
        let mut args = json!({ "id": id });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    match rng.u8(..48) {
        0..2 => {
            let provider = [json!({}), json!({ "provider": "spare" }), json!({ "provider": "late" })];
            try_to(&mut desk, seen, "sessions.launch", of(provider[rng.usize(..3)].clone()));
        }
        2..7 => {
            try_to(&mut desk, seen, "sessions.prompt", of(json!({ "text": "hello" })));
        }
        7 => {
            try_to(&mut desk, seen, "sessions.prompt", of(json!({ "text": "/exit" })));
        }
        8..13 if !desk.models.is_empty() => desk.says("hi"),
        13 | 33..37 if !desk.models.is_empty() => {
            let names = ["none", "post", "mail", "look"];
            let calls = (0..rng.usize(1..4)).map(|n| Block::ToolCall {
                id: format!("c{n}"),
                name: names[rng.usize(..names.len())].into(),
                arguments: "{}".into(),
            });
            desk.answers_with(calls.collect(), StopReason::ToolUse);
        }
        14..16 if !desk.models.is_empty() => {
            let codes = [
                Code::Auth,
                Code::Permission,
                Code::Quota,
                Code::Network,
                Code::InvalidRequest,
                Code::Server,
            ];
            desk.breaks(codes[rng.usize(..codes.len())]);
        }
        16 => {
            try_to(&mut desk, seen, "sessions.stop", of(json!({})));
        }
        17 => {
            try_to(&mut desk, seen, "sessions.restart", of(json!({})));
        }
        18 => {
            let how = [
                json!({ "action": "resume" }),
                json!({ "action": "reconnect" }),
                json!({ "reason": "sandbox_failed" }),
                json!({ "reason": "stale_endpoint" }),
            ];
            try_to(&mut desk, seen, "sessions.recover", of(how[rng.usize(..4)].clone()));
        }
        19 => {
            if rng.bool() {
                try_to(&mut desk, seen, "sessions.archive", of(json!({})));
            }
            try_to(&mut desk, seen, "sessions.rename", of(json!({ "displayName": "A name" })));
        }
        20 => {
            try_to(&mut desk, seen, "interrupt", json!({ "sessionId": id }));
        }
        21 if rng.u8(..3) == 0 => {
            try_to(&mut desk, seen, "clearConversation", json!({ "sessionId": id }));
        }
        22 if rng.u8(..3) == 0 => {
            if try_to(&mut desk, seen, "sessions.remove", of(json!({}))).is_some() && rng.bool() {
                try_to(&mut desk, seen, "sessions.undoRemove", of(json!({})));
            }
        }
        23 => {
            let last = try_to(&mut desk, seen, "history", json!({ "sessionId": id, "limit": 1 }));
            if let Some(message) = last.as_ref().and_then(|last| last.get(0)) {
                let args = json!({ "sessionId": id, "messageId": message["id"] });
                let command = desk.command("regenerate", args);
                if desk.answers.get(&command).is_some_and(Result::is_ok) {
                    *seen.entry("regenerate".into()).or_default() += 1;
                }
            }
        }
        24 => {
            try_to(&mut desk, seen, "configureAgent", json!({ "providers": key(rng.bool()) }));
        }
        25 => {
            let who = ["ann", "ann", "ann", "bob"][rng.usize(..4)];
            desk.must("setOperator", json!({ "operator": { "subject": who } }));
        }
        26 => {
            // A clock may be set back, too.
            desk.now = match rng.u8(..4) {
                0 => desk.now.saturating_sub(60_000),
                1 => desk.now + 86_400_000,
                _ => desk.now + 5_000,
            };
            desk.handle(Input::Tick { online: true });
        }
        27 => {
            *seen.entry("crash".into()).or_default() += 1;
            desk = desk.crash("ann");
            if rng.u8(..4) > 0 {
                desk.start_with(key(rng.bool()));
                if rng.u8(..3) > 0 {
                    offer(&mut desk, rng);
                }
            }
        }
        28 if rng.u8(..3) == 0 => {
            try_to(&mut desk, seen, "stopAgent", json!({}));
            if rng.bool() {
                desk.start_with(key(rng.bool()));
            }
        }
        30..32 | 37..40 if !desk.tools.is_empty() => desk.returns(rng.usize(..desk.tools.len())),
        32 | 40 | 41 => {
            let asked = |(name, _): &&(&str, Value)| *name == "agent:permission-required";
            if let Some((_, question)) = desk.events.iter().rfind(asked) {
                let answer = ["allow_once", "always_allow", "deny"][rng.usize(..3)];
                let args = json!({ "requestId": question["requestId"], "answer": answer });
                // It may be answered, or its run over.
                desk.command("resolvePermission", args);
            }
        }
        42..45 => {
            try_to(&mut desk, seen, "sessions.bench", of(json!({})));
        }
        45..48 => {
            try_to(&mut desk, seen, "sessions.play", of(json!({})));
        }
        29 => {
            try_to(&mut desk, seen, "sessions.status", of(json!({})));
            try_to(&mut desk, seen, "sessions.activity", of(json!({})));
        }
        _ => {
            desk.now += 300;
            desk.handle(Input::Tick { online: true });
        }
    }
    desk
}

/// Whether the table, as it is printed for people, has a way from the one to the other.
fn follows(from: Option<Status>, to: Status) -> bool {
    let is_from = |word: &str| match word {
        "(none)" => from.is_none(),
        "any" => from.is_some(),
        "any active" => from.is_some_and(Status::is_active),
        "any recoverable" => from.is_some_and(Status::is_recoverable),
        words => from.is_some_and(|from| words.split(", ").any(|word| word == from.as_str())),
    };
    markdown().lines().skip(2).any(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        is_from(cells[1]) && cells[3] == to.as_str()
    })
}

/// The tool calls with an effect that have begun or that a person has denied, and those that have a receipt, by run and
/// call.
#[derive(Default)]
struct Deeds {
    done: BTreeSet<(String, String)>,
    told: BTreeSet<(String, String)>,
}

impl Deeds {
    /// What an entry that comes next tells of them.
    fn take(&mut self, fold: &Session, run: &str, entry: &Entry, seen: &mut Seen) {
        match entry {
            Entry::Ordered { tool_call, .. } => self.does(fold, run, tool_call),
            Entry::PermissionAnswered { tool_call, answer, .. } if *answer == Answer::Deny => {
                self.does(fold, run, tool_call);
            }
            Entry::Recorded { what, record } if *what == RecordKind::Receipt => {
                let result = &record["result"];
                let Some(call) = result["metadata"]["tool_call_id"].as_str() else { return };
                assert!(self.told.insert((run.into(), call.into())), "a second receipt of {call} in {run}");
                let summary = result["summary"].as_str().unwrap().split(':').next().unwrap();
                *seen.entry(summary.into()).or_default() += 1;
            }
            _ => {}
        }
    }

    fn does(&mut self, fold: &Session, run: &str, tool_call: &str) {
        // Of a run that was cleared nobody can tell which tools it had.
        let Some(call) = fold.run(run).and_then(|run| run.call(tool_call)) else { return };
        if fold.tools.get(&call.name).is_some_and(|tool| !tool.definition.read_only) {
            self.done.insert((run.into(), tool_call.into()));
        }
    }

    /// Each that is not open any more has its receipt.
    fn are_told(&self, fold: &Session) {
        for (run, call) in self.done.difference(&self.told) {
            let state = &fold.run(run).unwrap().call(call).unwrap().state;
            assert!(
                !matches!(state, CallState::Settled(_)),
                "{call} of {run} is {state:?}, without a receipt"
            );
        }
    }
}

/// Each record of it is accepted where it comes from a file, its receipts as a chain.
fn can_be_taken_along(desk: &mut Desk, id: &str) {
    let rows = desk.stored(Table::Entries, id);
    let Some(head) = desk.stored(Table::Heads, id).pop() else { return };
    let mut sum = String::new();
    let mut file = carry::begin(id, &head, &mut sum);
    file += &carry::page(rows.iter().map(String::as_str), &mut sum).unwrap();
    file += &carry::end(rows.len() as u64, 0, &sum);
    let mut reader = Reader::new(&PatternEngine::default(), false);
    file.lines().for_each(|line| reader.line(line).unwrap());
    assert_eq!(reader.finish().unwrap().session.seq(), rows.len() as u64);
}

/// What must hold of a session whose rows are these.
fn check(desk: &mut Desk, id: &str, seen: &mut Seen) {
    desk.holds(id);
    let mut fold = Session::new(id);
    let mut before: Option<Status> = None;
    can_be_taken_along(desk, id);
    let (mut ended, mut handoffs, mut told, mut deeds) = (0, 0, 0, Deeds::default());
    for text in desk.stored(Table::Entries, id) {
        let row = Row::from_text(&text).unwrap();
        let (header, entry) = row.read().unwrap();
        if let Some(entry) = &entry {
            deeds.take(&fold, header.run.as_deref().unwrap_or_default(), entry, seen);
        }
        fold.accept(&header, entry.as_ref(), &row).unwrap();
        ended += usize::from(header.kind == "ended");
        let records = match &entry {
            Some(Entry::Recorded { what, record }) => whole(what, record.clone(), header.run.as_deref()),
            _ => Vec::new(),
        };
        for (what, record) in records {
            match what.as_str() {
                "handoff" => handoffs += 1,
                "event" => {
                    let kind = record["event_type"].as_str().unwrap();
                    told += usize::from(matches!(kind, "run_completed" | "run_interrupted"));
                }
                _ => {}
            }
        }
        // Its validator has read it each time that it changed; here it is read again as it is stored.
        let Some(record) = fold.record() else { continue };
        lodger::session::record::Record::read(&record.json()).unwrap();
        let now = record.status();
        // What is put aside is alive, does nothing, and is held by nobody.
        if record.is_suspended() {
            assert!(now.is_active() && record.pid().is_none(), "{id}: {now:?}, by {text}");
            *seen.entry("benched".into()).or_default() += 1;
        }
        if before != Some(now) {
            assert!(follows(before, now), "{id}: {before:?} became {now:?} by {text}");
            *seen.entry(format!("status {}", now.as_str())).or_default() += 1;
            before = Some(now);
        }
    }
    // The run of a session that was never launched, as the first one's may be, leaves nothing on record.
    assert_eq!((handoffs, told), (ended, ended), "{id}");
    deeds.are_told(&fold);
}

#[test]
fn whatever_happens_every_record_holds() {
    let mut seen = Seen::new();
    for seed in 0..drawn(SEEDS, SEEDS * 10) {
        let mut rng = Rng::with_seed(seed);
        let mut desk = Desk::started("ann");
        desk.must("configureAgent", json!({ "providers": key(false) }));
        offer(&mut desk, &mut rng);
        for _ in 0..rng.usize(20..160) {
            desk = step(desk, &mut rng, &mut seen);
        }
        // What was removed is gone before it is looked at, not while it is.
        desk.now += 86_400_000;
        desk.handle(Input::Tick { online: true });
        for id in IDS {
            if !desk.rows(id).is_empty() && !desk.stored(Table::Heads, id).is_empty() {
                check(&mut desk, id, &mut seen);
            }
        }
        let engine = PatternEngine::default();
        let rows = desk.rows("default");
        Session::load("default", &engine, rows.iter().map(String::as_str))
            .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    }
    let wanted = [
        "sessions.launch",
        "sessions.prompt",
        "sessions.stop",
        "sessions.restart",
        "sessions.recover",
        "sessions.remove",
        "sessions.undoRemove",
        "sessions.archive",
        "sessions.bench",
        "sessions.play",
        "sessions.activity",
        "benched",
        "refused: benched",
        "clearConversation",
        "regenerate",
        "crash",
        "waits",
        "Tool call passed",
        "Tool call denied",
        "Tool call of unknown outcome",
    ];
    let statuses = Status::ALL.map(|status| format!("status {}", status.as_str()));
    for what in wanted.into_iter().chain(statuses.iter().map(String::as_str)).filter(|_| !quick()) {
        assert!(seen.get(what).is_some_and(|times| *times > 5), "{what}: {seen:?}");
    }
}
