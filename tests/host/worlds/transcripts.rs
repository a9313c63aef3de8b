//! A transcript that cannot be invalid: the property, on journals that the simulator makes.
//!
//! For every prefix of every journal a page comes that finds just this prefix stored, starts, and sends a
//! message. The request must be one that the provider accepts, on each wire. Where the prefix leaves a run that
//! is held, another page goes on with it instead, and that request is judged too. So is each request for a summary: one
//! that the prefix leaves open, and one that comes first because the page's model has a small window. The judges are
//! written from the providers' rules (`support/*_rules.rs`), not from the encoders. Every journal also replays byte for byte.
//!
//! Normal: at least [`PREFIXES`] prefixes, and with `LODGER_CAMPAIGN=1` ten times as many.

use crate::support::engine::patterns;
use crate::support::laws::{Journal, SESSION, replays};
use crate::support::media::{self, SAMPLES};
use crate::support::parts::{PARTS, Whole, drawn, in_parts, seeds};
use crate::support::script::answer;
use crate::support::sim::{Faults, World, paused, windows};
use crate::support::strict::check_messages;
use fastrand::Rng;
use lodger::journal::{Ask, Entry, Row};
use lodger::model::{Block, Dialect, Peer, Preset, StopReason, Wire};
use lodger::ports::marks::fill;
use lodger::ports::{Commit, MemoryStore, Table, Write};
use lodger::run::{Outcome, Run};
use lodger::session::carry::adopt;
use lodger::session::compaction::summing::to_sum_up;
use lodger::session::compaction::{Place, Window, conversation_of};
use lodger::session::{Session, Transcript, again};
use serde_json::{Value, json};

const PREFIXES: u64 = 10_000;
/// The seed of the first world.
const FIRST: u64 = 1_000_001;
const STEPS: usize = 400;
/// A small window, in tokens: most of it is taken up by what goes with a conversation.
const WINDOW: u32 = 6_000;

#[derive(Debug, Default)]
struct Counts {
    worlds: usize,
    prefixes: usize,
    resumed: usize,
    continued: usize,
    /// In how many a conversation was just being summed up.
    compacting: usize,
    /// In how many a summary stood for its beginning, or what stands for results of tools.
    shortened: usize,
    /// The same where that is what stands for results.
    left_out: usize,
    /// How many summaries the pages asked for that found them.
    summaries: usize,
    longest: usize,
    /// How many pages had a large window, and how many messages they sent.
    large: usize,
    messages: usize,
}

in_parts!(every_prefix_of_every_journal_gives_a_request_that_is_accepted);

fn every_prefix_of_every_journal_gives_a_request_that_is_accepted(part: u64) {
    static WHOLE: Whole<Counts> = Whole::new();
    let wanted = drawn(PREFIXES, PREFIXES * 10).div_ceil(PARTS);
    let mut counts = Counts::default();
    let mut seeds = seeds(part);
    while (counts.prefixes as u64) < wanted {
        let seed = FIRST + seeds.next().unwrap();
        let faults =
            Faults { page_tools: seed.is_multiple_of(20), second: seed.is_multiple_of(2), ..Faults::ALL };
        let mut world = World::wild(seed, faults, false);
        for _ in 0..STEPS {
            world.step();
        }
        counts.worlds += 1;
        judge(seed, &world, &mut counts);
    }
    println!("{counts:?}");
    if let Some(parts) = WHOLE.add(counts) {
        everything_happened(&parts);
    }
}

/// Held runs, failed ones and long conversations: without them the campaign proves nothing of them.
fn everything_happened(parts: &[Counts]) {
    let sum = |of: fn(&Counts) -> usize| parts.iter().map(of).sum::<usize>();
    let prefixes = sum(|counts| counts.prefixes);
    assert!(
        sum(|counts| counts.resumed) * 20 > prefixes,
        "too few prefixes with a run that is held: {parts:?}"
    );
    assert!(sum(|counts| counts.continued) * 50 > prefixes, "too few prefixes after a failed run: {parts:?}");
    let (messages, pages) = (sum(|counts| counts.messages), sum(|counts| counts.large));
    assert!(messages > pages * 4, "the conversations are too short: {parts:?}");
    assert!(sum(|counts| counts.compacting) * 30 > prefixes, "too few prefixes that sum up: {parts:?}");
    assert!(
        sum(|counts| counts.shortened) * 12 > prefixes,
        "too few prefixes that were shortened: {parts:?}"
    );
    assert!(sum(|counts| counts.left_out) * 200 > prefixes, "too few prefixes without results: {parts:?}");
    assert!(sum(|counts| counts.summaries) * 15 > prefixes, "too few summaries are asked for: {parts:?}");
}

/// Judges every prefix of a world's journal, as its rows were written.
fn judge(seed: u64, world: &World, counts: &mut Counts) {
    let rows = &world.journal.rows;
    // A replay goes row by row and stops at the first difference: every prefix is replayed with the whole.
    assert_eq!(replays(rows.iter().map(String::as_str)), Ok(()), "seed {seed}");
    counts.longest = counts.longest.max(rows.len());
    let mut rng = Rng::with_seed(seed);
    let mut journal = Journal::new();
    let mut disk = MemoryStore::new();
    for prefix in 0..=rows.len() {
        if let Some(row) = prefix.checked_sub(1).map(|at| &rows[at]) {
            journal.follow(row).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
            store(&mut disk, row, &journal);
        }
        let place = || format!("seed {seed}, prefix {prefix} of {}", rows.len());
        counts.prefixes += 1;
        counts.compacting += usize::from(!asked_to_sum_up(&journal.fold).is_empty());
        let kept = Window::of(&journal.fold.runs);
        counts.shortened += usize::from(kept != Window::default());
        counts.left_out += usize::from(kept.shortened != Place::default());
        let draft = draft(&mut rng, &journal);
        let wire = match prefix % 7 {
            0 => Wire::OpenAiChat,
            1 => Wire::Ollama,
            2 => Wire::OpenAiResponses,
            3 => Wire::Gemini,
            _ => Wire::Anthropic,
        };
        let small = rng.u8(..5) == 0;
        let page = Page { disk: &disk, journal: &journal, draft, world, wire, small };
        page.sends_a_message(&place, counts);
        if prefix % 3 == 0 {
            page.forks(&place);
        }
        if journal.fold.current().is_some_and(|run| run.ended.is_none()) {
            counts.resumed += usize::from(page.goes_on(&place, counts));
        } else if last_failed(&journal) {
            assert!(page.goes_on(&place, counts), "{}: no request", place());
            counts.continued += 1;
        }
    }
}

/// Whether the last run that answers somebody has failed. One that only sums up answers nobody.
fn last_failed(journal: &Journal) -> bool {
    let last = journal.fold.runs.iter().rfind(|run| run.prompt.compacts.is_none());
    let ended = last.and_then(|run| run.ended.as_ref());
    ended.is_some_and(|ended| ended.outcome == Outcome::Failed)
}

/// What a provider is asked: to go on with the conversation, or to sum it up.
fn asked_of(peer: &Peer, session: &Session) -> Vec<String> {
    let to_sum_up = asked_to_sum_up(session);
    if to_sum_up.is_empty() {
        let mut transcript = Transcript::new(peer.clone(), session, session.asked());
        return vec![transcript.extend(&session.runs).to_owned()];
    }
    let asking = |text| Transcript::asking(peer.clone(), session, text).text().to_owned();
    to_sum_up.into_iter().map(asking).collect()
}

/// What is asked of the models that are to sum up: for the run at work, or for one that works for it.
fn asked_to_sum_up(session: &Session) -> Vec<String> {
    let parts = session.current().into_iter().flat_map(Run::parts);
    let asked = parts.filter_map(|run| {
        let summary = run.summaries.last().filter(|summary| summary.run.ended.is_none())?;
        Some(to_sum_up(conversation_of(session, &run.id), summary, &session.mark))
    });
    asked.collect()
}

fn store(disk: &mut MemoryStore, row: &str, journal: &Journal) {
    let put = |table, key, value: &str| Write::Put { table, key, value: value.into() };
    let key = vec![SESSION.into(), journal.fold.seq().into()];
    let head = journal.fold.head(0).to_string();
    let writes = vec![put(Table::Entries, key, row), put(Table::Heads, vec![SESSION.into()], &head)];
    disk.commit(&Commit { writes, ..Commit::default() }).unwrap();
    for sample in &SAMPLES {
        let writes = vec![put(Table::Files, vec![sample.id.into()], "")];
        disk.commit(&Commit { writes, ..Commit::default() }).unwrap();
    }
}

/// What the page that was lost may have written down of the answer that streamed.
fn draft(rng: &mut Rng, journal: &Journal) -> Option<Write> {
    let run = journal.fold.current().filter(|run| run.awaited().is_some() && rng.bool())?;
    let text = [" ", "half a", "ünïcode 😀"][rng.usize(..3)];
    let kind = ["text", "thinking"][rng.usize(..2)];
    let block = if kind == "text" { json!([kind, text]) } else { json!([kind, text, null]) };
    let key = vec![SESSION.into(), run.id.as_str().into(), 1.into(), 1.into()];
    Some(Write::Put { table: Table::Drafts, key, value: json!([[0, 0, block]]).to_string() })
}

/// A page that finds a prefix.
struct Page<'a> {
    disk: &'a MemoryStore,
    journal: &'a Journal,
    draft: Option<Write>,
    world: &'a World,
    /// What its provider speaks.
    wire: Wire,
    /// Whether its model has a small window: what was said is summed up first then.
    small: bool,
}

impl Page<'_> {
    fn start(&self) -> World {
        let mut disk = self.disk.clone();
        let writes = self.draft.clone().into_iter().collect();
        disk.commit(&Commit { writes, ..Commit::default() }).unwrap();
        let mut page = World::on(disk, self.journal.clone(), self.world.signed.clone());
        let mut config = json!({ "provider": self.provider() });
        if self.small {
            config["models"] = windows(WINDOW, false);
            config["compaction"] = json!({ "at": 0.1, "keep": 0 });
        }
        page.must(0, "startAgent", config);
        page
    }

    fn provider(&self) -> Value {
        match self.wire {
            Wire::Anthropic => json!({ "kind": "anthropic", "apiKey": "sk-ant-0123456789" }),
            Wire::Ollama => json!({ "kind": "ollama", "model": "m" }),
            Wire::OpenAiResponses => {
                json!({ "kind": "openai-responses", "apiKey": "sk-0123456789", "model": "m" })
            }
            Wire::Gemini => json!({ "kind": "gemini", "apiKey": "AIza0123456789", "model": "m" }),
            Wire::OpenAiChat => json!({ "kind": "custom", "stream": { "$fn": 1 } }),
        }
    }

    /// Sends a message. The request is judged as it is made (a law of the simulator); those of the other wires here.
    fn sends_a_message(&self, place: &dyn Fn() -> String, counts: &mut Counts) {
        let mut page = self.start();
        page.take_up();
        // A run that waited for a person waits again: here it is interrupted, because nobody answers.
        if page.pages[0]
            .harness
            .session(SESSION)
            .and_then(|session| session.current())
            .is_some_and(Run::waiting)
        {
            page.must(0, "interrupt", json!({}));
        }
        let accepted = page.ask(0, "sendMessage", json!({ "text": "and now?" }));
        assert!(matches!(accepted, Some(Ok(_))), "{}: {accepted:?}", place());
        self.sums_up(&mut page, place, counts);
        assert_eq!(page.pages[0].models.len(), 1, "{}: no request", place());
        let (_, model) = page.model(0);
        let messages =
            model.body["messages"].as_array().or(model.body["input"].as_array()).expect("messages");
        let last = messages.last().expect("a message").to_string();
        assert!(last.contains("and now?"), "{}: the message is not the last: {last}", place());
        let session = page.pages[0].harness.session(SESSION).expect("a session");
        self.judge_others(session, place);
        if !self.small {
            counts.large += 1;
            counts.messages += messages.len();
        }
    }

    /// Answers what is asked for first where the conversation is to become shorter. Each request is judged.
    fn sums_up(&self, page: &mut World, place: &dyn Fn() -> String, counts: &mut Counts) {
        let asks =
            |page: &World| page.pages[0].models.iter().find(|(_, model)| model.sums_up).map(|(key, _)| *key);
        let mut more = 0..9;
        while let Some(call) = asks(page) {
            assert!(more.next().is_some(), "{}: another summary, and another", place());
            self.judge_others(page.pages[0].harness.session(SESSION).expect("a session"), place);
            page.answers_call(0, call, answer(vec![Block::Text("in short".into())], StopReason::EndTurn));
            counts.summaries += 1;
        }
    }

    /// A copy of the prefix goes on as a session of its own: what makes it one replays, its run is over, and the next
    /// message is one that every provider takes.
    fn forks(&self, place: &dyn Fn() -> String) {
        let mut copy = self.journal.fold.clone();
        let mut machine = copy.clone();
        let args = json!({ "operator": { "subject": "local" }, "id": "copy", "from": {} });
        let made = adopt(&mut copy, self.journal.at, Ask::Fork, "copy", args);
        for (_, row, _) in made.unwrap_or_else(|error| panic!("{}: {error:?}", place())) {
            assert_eq!(again(&mut machine, &row), Ok(None), "{}", place());
        }
        assert!(copy.current().is_none(), "{}", place());
        assert_eq!(copy.record().map(|record| record.id()), Some("copy"), "{}", place());
        let entry = Entry::Prompt {
            message: "msg_copy".into(),
            text: "and now?".into(),
            context: None,
            trusted: None,
            metadata: None,
            idempotency: None,
            continues: None,
            compacts: None,
            replaces: None,
            files: vec![],
            schema: None,
            config: None,
        };
        copy.append(self.journal.at, Some("run_copy"), &entry).expect("a message");
        self.judge_others(&copy, place);
    }

    /// Judges the conversation as it is written for every wire but this page's own: for the provider that has a part in
    /// it, and for somebody who has said nothing of it. Where it is being summed up, that is what is asked of them.
    fn judge_others(&self, session: &Session, place: &dyn Fn() -> String) {
        let sums_up = !asked_to_sum_up(session).is_empty();
        for wire in Wire::ALL.iter().copied().filter(|wire| *wire != self.wire) {
            for name in [wire.as_str(), "stranger"] {
                // The stranger takes no files.
                let takes = name != "stranger";
                let dialect = Dialect { images: takes, documents: takes, ..Dialect::CHAT };
                let peer = Peer { wire, dialect, name: name.into() };
                let paused = !sums_up && paused(&session.runs, name);
                for messages in asked_of(&peer, session) {
                    self.judge(wire, &messages, paused, place);
                }
            }
        }
        let mistral = Preset::find("openai-compatible", "mistral").expect("a preset");
        let peer = Peer { wire: mistral.wire, dialect: mistral.dialect, name: "stranger".into() };
        let paused = !sums_up && paused(&session.runs, "stranger");
        for messages in asked_of(&peer, session) {
            self.judge(mistral.wire, &messages, paused, place);
            let messages = fill(&messages, media::bytes).expect("files that are known");
            let messages: Vec<Value> = serde_json::from_str(&format!("[{messages}]")).expect("JSON");
            for pair in messages.windows(2) {
                let bare = pair[0]["role"] == "tool" && pair[1]["role"] == "user";
                assert!(!bare, "{}: Unexpected role 'user' after role 'tool': {pair:?}", place());
            }
        }
    }

    fn judge(&self, wire: Wire, messages: &str, paused: bool, place: &dyn Fn() -> String) {
        let messages = fill(messages, media::bytes).expect("files that are known");
        let messages: Value = serde_json::from_str(&format!("[{messages}]")).expect("JSON");
        let judged = check_messages(wire, messages.as_array().unwrap(), &self.world.signed, paused);
        assert_eq!(judged, Ok(()), "{} on {wire:?}: {messages}", place());
    }

    /// Goes on with the run that is held, or after one that failed. Whether a request came of it: a run that was held may
    /// also just end, or wait.
    fn goes_on(&self, place: &dyn Fn() -> String, counts: &mut Counts) -> bool {
        let mut page = self.start();
        let session = page.pages[0].harness.session(SESSION).expect("a session");
        let accepted = if session.is_benched() && session.current().is_some() {
            page.ask(0, "sessions.play", json!({ "id": SESSION }))
        } else {
            page.take_up();
            page.ask(0, "resume", json!({}))
        };
        assert!(matches!(accepted, Some(Ok(_))), "{}: {accepted:?}", place());
        // Tools may have to end first; some of them were lost, and only the model is told.
        for _ in 0..100 {
            let Some(key) = page.pages[0].called.keys().next().copied() else { break };
            page.returns(0, key, Ok(Some("\"found\"".into())));
        }
        let called = !page.pages[0].models.is_empty();
        self.sums_up(&mut page, place, counts);
        if !page.pages[0].models.is_empty() {
            self.judge_others(page.pages[0].harness.session(SESSION).expect("a session"), place);
        }
        called
    }
}

#[test]
fn a_row_that_was_changed_is_found() {
    let mut world = World::wild(7, Faults::ALL, false);
    for _ in 0..STEPS {
        world.step();
    }
    let mut rows = world.journal.rows.clone();
    assert!(rows.len() > 3, "a journal too short to be changed");
    let text = rows[1].clone();
    rows[1] = text.replacen("\"at\":1", "\"at\":2", 1);
    assert_ne!(rows[1], text);
    assert!(!Row::from_text(&rows[1]).unwrap().follows(Row::from_text(&rows[0]).unwrap().hash()));
    assert!(Session::load(SESSION, &patterns(), rows.iter().map(String::as_str)).is_err());
}
