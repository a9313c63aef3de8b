//! Nothing that is settled is done again: the work of a turn does not grow with what came before it.
//!
//! Work is counted, not timed: the allocations (and what is written) of each turn of a long run of tool calls.
//! Encoding the history anew would allocate for each of its blocks; copying the text that is kept is one
//! allocation, however long it is. A request holds the whole conversation by nature, so the bytes of a turn do
//! grow: by one copy of the growth, the body. (Now and then the kept text is moved to where it has room.)
//!
//! The work of a piece of an answer does not grow with what came of it before either. What is read again without being
//! copied is counted where JSON is read (`src/model/decoder.rs`).

use crate::support::streams::{framed, one_call};
use lodger::error::ErrorInfo;
use lodger::harness::{Action, By, CallKey, Harness, Input, ModelRequest, Notice, Options};
use lodger::journal::{Entry, Row};
use lodger::model::{Answer, Block, Decoder, Delta, StopReason, Usage, Wire};
use lodger::ports::{MemoryStore, PatternEngine, Read, Table, Write};
use lodger::protocol::read;
use lodger::session::Session;
use lodger::work;
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what this thread allocates.
struct Counting;

thread_local! {
    static TIMES: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that ends has no counters any more.
    let _ = TIMES.try_with(|times| times.set(times.get() + 1));
    let _ = BYTES.try_with(|all| all.set(all.get() + bytes as u64));
}

// SAFETY: everything is left to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a turn took.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    allocations: u64,
    /// Bytes allocated.
    bytes: u64,
    /// Bytes of rows written.
    written: u64,
    /// Bytes of what the page was told.
    told: u64,
    request: u64,
}

/// A page that answers everything at once.
struct Page {
    harness: Harness,
    disk: MemoryStore,
    now: u64,
    model: Option<CallKey>,
    tools: Vec<CallKey>,
    /// How often memories were read or stored.
    exchanges: u64,
    work: Work,
}

impl Page {
    fn new(watched: bool) -> Page {
        let options = Options {
            name: "w".into(),
            page_tools: false,
            holder: "h".into(),
            operator: Options::local_operator(),
        };
        let mut page = Page {
            harness: Harness::new(options),
            disk: MemoryStore::new(),
            now: 1_000_000,
            model: None,
            tools: Vec::new(),
            exchanges: 0,
            work: Work::default(),
        };
        if watched {
            page.command("watch", json!({}));
        }
        let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
        page.command(
            "tools.register",
            json!({ "name": "get_fact", "description": "A fact.", "inputSchema": schema, "execute": { "$fn": 1 } }),
        );
        let provider = json!({ "kind": "anthropic", "apiKey": "sk-ant-0123456789" });
        page.command("startAgent", json!({ "provider": provider, "maxTurns": 10_000 }));
        page
    }

    fn command(&mut self, name: &str, args: Value) {
        let fresh = format!("{}", self.now);
        self.handle(Input::Command { id: 1, request: read(name, args), fresh, by: By::Here });
    }

    fn handle(&mut self, input: Input) {
        self.now += 150;
        self.harness.handle(self.now, input);
        while let Some(action) = self.harness.poll(self.now) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Peek => self.handle(Input::Held(false)),
            Action::Lock { .. } => self.handle(Input::Locked(true)),
            Action::Room(room) => self.handle(Input::Room { room, result: Ok(()) }),
            Action::Account { id, .. } => self.handle(Input::Account { read: id, result: Ok(Vec::new()) }),
            Action::Commit { id, commit } => {
                let value = |write: &Write| {
                    if let Write::Put { value, .. } | Write::Sign { value, .. } = write {
                        value.len()
                    } else {
                        0
                    }
                };
                self.work.written += commit.writes.iter().map(value).sum::<usize>() as u64;
                let result = self.disk.commit(&commit);
                self.handle(Input::Committed { commit: id, result });
            }
            Action::Read { id, reads } => {
                let rows = reads.iter().map(|read| self.disk.read(read)).collect();
                self.handle(Input::Read { read: id, result: Ok(rows) });
            }
            Action::Exchange { id, commit, reads, .. } => {
                let stored = commit.map_or(Ok(()), |commit| self.disk.commit(&commit));
                let result = stored.map(|()| reads.iter().map(|read| self.disk.read(read)).collect());
                self.exchanges += 1;
                self.handle(Input::Exchanged { id, result });
            }
            Action::CallModel { call, request } => {
                let ModelRequest::Http { request, .. } = request else { unreachable!("no custom provider") };
                self.work.request = request.body.len() as u64;
                self.model = Some(call);
            }
            Action::CallPage { call, .. } => self.tools.push(call),
            Action::Tell(
                Notice::Event(_, json)
                | Notice::Message(_, _, json)
                | Notice::History(_, json, _)
                | Notice::Status(json)
                | Notice::Tools(json)
                | Notice::View(_, json),
            ) => self.work.told += json.len() as u64,
            Action::Reply { result, .. } => assert!(result.is_ok(), "{result:?}"),
            _ => {}
        }
    }

    /// The model answers, and that is all.
    fn says(&mut self) {
        let call = self.model.take().unwrap();
        let blocks = vec![Block::Text("So many words that it matters.".into())];
        let usage = Usage { input_tokens: 10, output_tokens: 10, ..Usage::default() };
        let answer = Answer { blocks, stop: Some(StopReason::EndTurn), usage, model: None, id: None };
        self.handle(Input::Answered { call, result: Ok::<_, (ErrorInfo, Option<Answer>)>(answer) });
    }

    fn counted(&mut self, what: impl FnOnce(&mut Page)) -> Work {
        self.work = Work::default();
        let (times, bytes) = (TIMES.get(), BYTES.get());
        what(self);
        self.work.allocations = TIMES.get() - times;
        self.work.bytes = BYTES.get() - bytes;
        self.work
    }

    /// One turn: the model asks for a tool, the tool returns, the model is asked again.
    fn turn(&mut self, n: usize) -> Work {
        let call = self.model.take().unwrap();
        let arguments = json!({ "q": format!("question {n:06}") }).to_string();
        let blocks = vec![
            Block::Text(format!("Turn {n:06}, so many words that it matters.")),
            Block::ToolCall { id: format!("call_{n:06}"), name: "get_fact".into(), arguments },
        ];
        let usage = Usage { input_tokens: 10, output_tokens: 10, ..Usage::default() };
        let answer = Answer { blocks, stop: Some(StopReason::ToolUse), usage, model: None, id: None };
        let json = Some(json!(format!("the fact {n:06}")).to_string());
        self.work = Work::default();
        let (times, bytes) = (TIMES.get(), BYTES.get());
        self.handle(Input::Answered { call, result: Ok::<_, (ErrorInfo, Option<Answer>)>(answer) });
        let tool = self.tools.pop().unwrap();
        self.handle(Input::Returned { call: tool, result: Ok(json) });
        self.work.allocations = TIMES.get() - times;
        self.work.bytes = BYTES.get() - bytes;
        self.work
    }
}

/// The medians of some turns around `at`.
fn around(turns: &[Work], at: usize) -> Work {
    let middle = |of: fn(&Work) -> u64| {
        let mut values: Vec<u64> = turns[at - 15..at + 15].iter().map(of).collect();
        values.sort_unstable();
        values[15]
    };
    Work {
        allocations: middle(|work| work.allocations),
        bytes: middle(|work| work.bytes),
        written: middle(|work| work.written),
        told: middle(|work| work.told),
        request: middle(|work| work.request),
    }
}

#[test]
fn a_turn_costs_the_same_after_many_turns_as_after_few() {
    for watched in [false, true] {
        let mut page = Page::new(watched);
        page.command("sendMessage", json!({ "text": "go" }));
        let turns: Vec<Work> = (0..1_000).map(|n| page.turn(n)).collect();
        let (few, many) = (around(&turns, 100), around(&turns, 980));
        println!("watched: {watched}\nafter 100 turns: {few:?}\nafter 980 turns: {many:?}");
        assert!(many.request > few.request * 8, "the conversation did not grow");
        // What is not settled is the same each time; numbers that grow by a digit are all that may differ.
        assert!(many.allocations <= few.allocations + few.allocations / 20, "{few:?} {many:?}");
        assert!(many.written <= few.written + 30, "{few:?} {many:?}");
        assert!(many.told <= few.told + 60, "{few:?} {many:?}");
        let copies = (many.bytes - few.bytes) as f64 / (many.request - few.request) as f64;
        println!("copies of the conversation a turn: {copies:.2}");
        assert!(copies < 1.1, "{copies} copies of the conversation in a turn: {few:?} {many:?}");
    }
}

/// What it takes to edit the last message, and what to make its answer anew, in a conversation of so many exchanges.
fn editing(exchanges: usize) -> (Work, Work) {
    let mut page = Page::new(true);
    for n in 0..exchanges {
        page.command("sendMessage", json!({ "text": format!("message {n:06}") }));
        page.says();
    }
    let mut edits = Vec::new();
    let mut anew = Vec::new();
    for n in 0..200 {
        let last = page.harness.session("default").unwrap().runs.last().unwrap().message().0.to_owned();
        let args = json!({ "text": format!("instead {n:06}"), "replaces": last });
        edits.push(page.counted(|page| page.command("sendMessage", args)));
        page.says();
        anew.push(page.counted(|page| page.command("regenerate", json!({}))));
        page.says();
        // Its versions are told with it: those of another message are none of it.
        page.command("sendMessage", json!({ "text": "on" }));
        page.says();
    }
    (around(&edits, 100), around(&anew, 100))
}

#[test]
fn an_edit_costs_the_same_in_a_long_conversation_as_in_a_short_one() {
    let ((edit, anew), (late_edit, late_anew)) = (editing(100), editing(1_000));
    println!("{edit:?}\n{late_edit:?}\n{anew:?}\n{late_anew:?}");
    for (few, many) in [(edit, late_edit), (anew, late_anew)] {
        assert!(many.request > few.request * 3, "the conversation did not grow");
        assert!(many.allocations <= few.allocations + few.allocations / 10, "{few:?} {many:?}");
        assert!(many.written <= few.written + 60 && many.told <= few.told + 60, "{few:?} {many:?}");
    }
}

#[test]
fn loading_twice_the_journal_takes_twice_the_work() {
    let rows = |turns: usize| {
        let mut page = Page::new(false);
        page.command("sendMessage", json!({ "text": "go" }));
        for n in 0..turns {
            page.turn(n);
        }
        let read = Read::all(Table::Entries, Vec::new());
        page.disk.read(&read)
    };
    let work = |turns: usize| {
        let rows = rows(turns);
        let before = (TIMES.get(), BYTES.get());
        let session =
            Session::load("default", &PatternEngine::default(), rows.iter().map(|(_, text)| text.as_str()))
                .unwrap();
        assert_eq!(session.seq() as usize, rows.len());
        (TIMES.get() - before.0, BYTES.get() - before.1)
    };
    let (one, two) = (work(400), work(800));
    println!("400 turns: {one:?}, 800 turns: {two:?}");
    assert!(two.0 * 10 <= one.0 * 22, "allocations: {one:?} {two:?}");
    assert!(two.1 * 10 <= one.1 * 24, "bytes: {one:?} {two:?}");
}

/// A launched session that has worked off this many prompts: its rows.
fn worked(runs: u64) -> Vec<String> {
    let (mut session, mut rows) = (Session::new("s"), Vec::new());
    let launch = json!({ "operator": { "subject": "ann" }, "providerId": "anthropic", "projectId": "w" });
    let mut append = |at: u64, run: Option<&str>, entry: Entry| {
        rows.push(session.append(at, run, &entry).unwrap().to_text());
        while let Some((run, entry)) = session.next() {
            rows.push(session.append(at, run.as_deref(), &entry).unwrap().to_text());
            if matches!(entry, Entry::Called { .. }) {
                break;
            }
        }
    };
    append(1_000, None, Entry::Commanded { what: "launch".into(), args: launch });
    for n in 0..runs {
        let (at, run) = (10_000 * (n + 1), format!("run_{n}"));
        let prompt = json!({ "message": format!("m{n}"), "text": format!("question {n}"), "files": [] });
        append(at, Some(&run), Entry::from_json("prompt", &prompt).unwrap());
        let answered = Entry::Answered {
            call: 1,
            blocks: vec![Block::Text("an answer".into())],
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            cost: None,
            provider: "anthropic".into(),
            model: None,
            id: None,
        };
        append(at + 10, Some(&run), answered);
    }
    rows
}

/// How often a load of these rows allocates, and how many bytes.
fn loading(rows: &[String]) -> (u64, u64) {
    let before = (TIMES.get(), BYTES.get());
    Session::load("s", &PatternEngine::default(), rows.iter().map(String::as_str)).unwrap();
    (TIMES.get() - before.0, BYTES.get() - before.1)
}

#[test]
fn records_that_are_there_are_not_worked_out_again() {
    let rows = worked(100);
    let (loaded, _) = loading(&rows);
    // Row by row, what each owes is worked out before the next comes that may have it.
    let mut session = Session::new("s");
    let before = TIMES.get();
    for row in &rows {
        let row = Row::from_text(row).unwrap();
        let (header, entry) = row.read().unwrap();
        session.accept(&header, entry.as_ref(), &row).unwrap();
    }
    let followed = TIMES.get() - before;
    println!("{} rows, loaded {loaded}, followed {followed}", rows.len());
    // An end makes one receipt, so there is less to save than when it made two. What loading itself takes is bounded too.
    assert!(loaded * 5 < followed * 2, "loaded {loaded}, followed {followed}");
    assert!(loaded < rows.len() as u64 * 125, "{} rows, loaded {loaded}", rows.len());
}

#[test]
fn loading_twice_as_many_runs_takes_twice_the_work() {
    let (one, two) = (loading(&worked(200)), loading(&worked(400)));
    println!("200 runs: {one:?}, 400 runs: {two:?}");
    assert!(two.0 * 10 <= one.0 * 22, "allocations: {one:?} {two:?}");
    assert!(two.1 * 10 <= one.1 * 24, "bytes: {one:?} {two:?}");
}

#[test]
fn records_that_are_missing_are_made_as_they_were() {
    let rows = worked(3);
    for cut in 1..rows.len() {
        let texts = rows.iter().take(cut).map(String::as_str);
        let mut session = Session::load("s", &PatternEngine::default(), texts).unwrap();
        for row in &rows[cut..] {
            let Some((run, entry @ Entry::Recorded { .. })) = session.next() else { break };
            let (header, _) = Row::from_text(row).unwrap().read().unwrap();
            assert_eq!(session.append(header.at, run.as_deref(), &entry).unwrap().to_text(), *row);
        }
        assert!(!matches!(session.next(), Some((_, Entry::Recorded { .. }))), "cut at {cut}");
    }
}

/// The body of an answer that is one call with these arguments, in pieces of eight bytes.
fn body(wire: Wire, arguments: &str) -> String {
    let pieces = arguments.as_bytes().chunks(8).map(|piece| std::str::from_utf8(piece).unwrap());
    let pieces: Vec<&str> = pieces.collect();
    let answer = one_call(wire, "get_fact", &pieces, serde_json::from_str(arguments).unwrap());
    answer.events.iter().map(|event| framed(wire, event)).collect()
}

/// The allocations, and the bytes of them, while a watched page gets such an answer in network reads of this size.
fn arriving(wire: Wire, kilobytes: usize, read: Option<usize>) -> (u64, u64, u64) {
    let mut page = Page::new(true);
    page.command("sendMessage", json!({ "text": "go" }));
    let arguments = json!({ "q": "Words, \"quoted\"\n".repeat(kilobytes * 1024 / 18) }).to_string();
    let body = body(wire, &arguments);
    let call = page.model.take().unwrap();
    let (times, bytes) = (TIMES.get(), BYTES.get());
    let mut decoder = Decoder::new(wire);
    // One event a read, where no size is given: what a slow model does.
    let reads: Vec<&[u8]> = match read {
        Some(size) => body.as_bytes().chunks(size).collect(),
        None => body.split_inclusive('\n').map(str::as_bytes).collect(),
    };
    let count = reads.len() as u64;
    for read in reads {
        page.now += 1;
        let harness = &mut page.harness;
        decoder.push(read, &mut |delta| assert!(harness.delta(call, delta))).unwrap();
        harness.flush(page.now, call, decoder.usage());
        while let Some(action) = page.harness.poll(page.now) {
            page.act(action);
        }
    }
    let result = decoder.finish().map_err(|(error, answer)| (error, Some(answer)));
    page.handle(Input::Answered { call, result });
    let (times, bytes) = (TIMES.get() - times, BYTES.get() - bytes);
    assert_eq!(page.tools.len(), 1, "the call runs");
    println!(
        "{}, {kilobytes} KB, {count} reads: {times} allocations, {} bytes for each of the body",
        wire.as_str(),
        bytes / body.len() as u64
    );
    (times, bytes, count)
}

#[test]
fn arguments_in_pieces_of_eight_bytes_take_work_in_proportion() {
    for &wire in Wire::ALL {
        for read in [None, Some(8), Some(1 << 16)] {
            let (half, whole) = (arriving(wire, 64, read), arriving(wire, 128, read));
            assert!(whole.0 * 10 <= half.0 * 22, "{wire:?}: allocations {half:?} {whole:?}");
            assert!(whole.1 * 10 <= half.1 * 23, "{wire:?}: bytes {half:?} {whole:?}");
        }
    }
}

/// The events of an answer of so many parts, thoughts and texts in turn. Each part says this much.
fn alternating(wire: Wire, parts: usize, says: &str) -> Vec<Value> {
    let part = |n: usize| match (wire, n.is_multiple_of(2)) {
        (Wire::Anthropic, thinks) => {
            let kind = if thinks { "thinking" } else { "text" };
            let delta = json!({ "type": format!("{kind}_delta"), kind: says });
            vec![
                json!({ "type": "content_block_start", "index": n, "content_block": { "type": kind, kind: "" } }),
                json!({ "type": "content_block_delta", "index": n, "delta": delta }),
            ]
        }
        (Wire::OpenAiChat, true) => vec![json!({ "choices": [{ "delta": { "reasoning_content": says } }] })],
        (Wire::OpenAiChat, false) => vec![json!({ "choices": [{ "delta": { "content": says } }] })],
        (Wire::OpenAiResponses, true) => {
            let name = "response.reasoning_summary_text.delta";
            vec![json!({ "type": name, "output_index": n, "summary_index": 0, "delta": says })]
        }
        (Wire::OpenAiResponses, false) => {
            let name = "response.output_text.delta";
            vec![json!({ "type": name, "output_index": n, "content_index": 0, "delta": says })]
        }
        (Wire::Gemini, thinks) => {
            let text = json!({ "type": "text", "text": says });
            let delta = if thinks { json!({ "type": "thought_summary", "content": text }) } else { text };
            vec![json!({ "event_type": "step.delta", "index": n, "delta": delta })]
        }
        (Wire::Ollama, true) => vec![json!({ "message": { "thinking": says }, "done": false })],
        (Wire::Ollama, false) => vec![json!({ "message": { "content": says }, "done": false })],
    };
    let mut events: Vec<Value> = (0..parts).flat_map(part).collect();
    events.extend(ends(wire));
    events
}

/// How an answer ends that calls nothing.
fn ends(wire: Wire) -> Vec<Value> {
    match wire {
        Wire::Anthropic => vec![
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
            json!({ "type": "message_stop" }),
        ],
        Wire::OpenAiChat => vec![json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })],
        Wire::OpenAiResponses => {
            vec![json!({ "type": "response.completed", "response": { "status": "completed" } })]
        }
        Wire::Gemini => {
            vec![json!({ "event_type": "interaction.completed", "interaction": { "status": "completed" } })]
        }
        Wire::Ollama => vec![json!({ "message": {}, "done": true, "done_reason": "stop" })],
    }
}

/// The same where no part comes after the one before it.
fn backwards(wire: Wire, parts: usize) -> Vec<Value> {
    let mut events = alternating(wire, parts, "x");
    let end = events.len() - ends(wire).len();
    events[..end].reverse();
    if wire == Wire::Anthropic {
        // All of them begin before the first one says anything.
        events[..end].sort_by_key(|event| event["delta"].is_object());
    }
    events
}

/// The steps, the allocations and their bytes.
type Taken = (u64, u64, u64);

/// What it takes until a watched page has such an answer, one event a read. Then what its end takes, and reading it back.
fn answering(wire: Wire, parts: usize, events: &[Value]) -> [Taken; 3] {
    let mut page = Page::new(true);
    page.command("sendMessage", json!({ "text": "go" }));
    let call = page.model.take().unwrap();
    let mut decoder = Decoder::new(wire);
    let taken = |what: &mut dyn FnMut()| {
        let before = (work::done(), TIMES.get(), BYTES.get());
        what();
        (work::done() - before.0, TIMES.get() - before.1, BYTES.get() - before.2)
    };
    let streams = taken(&mut || {
        for event in events {
            page.now += 1;
            let harness = &mut page.harness;
            let sink = &mut |delta: Delta<'_>| assert!(harness.delta(call, delta));
            decoder.push(framed(wire, event).as_bytes(), sink).unwrap();
            harness.flush(page.now, call, decoder.usage());
            while let Some(action) = page.harness.poll(page.now) {
                page.act(action);
            }
        }
    });
    let mut decoder = Some(decoder);
    let end = taken(&mut || {
        let answer = decoder.take().unwrap().finish().unwrap();
        assert_eq!(answer.blocks.iter().filter(|block| block.is_shown()).count(), parts);
        page.handle(Input::Answered { call, result: Ok(answer) });
    });
    let is_read = taken(&mut || page.command("history", json!({})));
    println!("{}, {parts} parts: {streams:?}, its end {end:?}, read {is_read:?}", wire.as_str());
    [streams, end, is_read]
}

#[test]
fn an_answer_of_many_parts_takes_work_in_proportion() {
    for &wire in Wire::ALL {
        let of = |events: &dyn Fn(usize) -> Vec<Value>| {
            let [half, whole] = [1_000, 2_000].map(|parts| answering(wire, parts, &events(parts)));
            for (half, whole) in half.into_iter().zip(whole) {
                assert!(whole.0 * 10 <= half.0 * 22, "{wire:?}: steps {half:?} {whole:?}");
                assert!(whole.1 * 10 <= half.1 * 22, "{wire:?}: allocations {half:?} {whole:?}");
                assert!(whole.2 * 10 <= half.2 * 23, "{wire:?}: bytes {half:?} {whole:?}");
            }
        };
        of(&|parts| alternating(wire, parts, "x"));
        // The beginning of a key, which waits for more of it.
        of(&|parts| alternating(wire, parts, "s"));
        of(&|parts| backwards(wire, parts));
    }
}

#[test]
fn a_call_that_goes_on_between_many_parts_is_found_at_once() {
    for index in [json!(0), Value::Null] {
        let fragment = |function: Value| json!({ "choices": [{ "delta": { "tool_calls": [{ "index": index, "function": function }] } }] });
        let steps = [1_000, 2_000].map(|parts| {
            let mut decoder = Decoder::new(Wire::OpenAiChat);
            let mut events = vec![fragment(json!({ "name": "get_fact", "arguments": "[" }))];
            for event in alternating(Wire::OpenAiChat, parts, "x") {
                events.extend([event, fragment(json!({ "arguments": " " }))]);
            }
            let before = work::done();
            for event in &events {
                decoder.push(framed(Wire::OpenAiChat, event).as_bytes(), &mut |_| ()).unwrap();
            }
            work::done() - before
        });
        println!("{index}: {steps:?}");
        assert!(steps[0] > 1_000 && steps[1] * 10 <= steps[0] * 22, "{index}: {steps:?}");
    }
}

/// What an operation on memories takes: steps, allocations, and ways to the store.
type Remembers = (u64, u64, u64);

/// Of an addition, a search of a word that one has, one of a word that all have, a list, and a run's start: in a book of so
/// many memories.
fn remembering(count: usize) -> [Remembers; 5] {
    let mut page = Page::new(false);
    page.command("configureAgent", json!({ "memory": true }));
    let add = |page: &mut Page, n: usize| {
        let text = format!("Prefers tea number{n:05} over coffee.");
        page.command("memory.add", json!({ "text": text, "tags": ["fact"] }));
    };
    (0..count).for_each(|n| add(&mut page, n));
    let mut taken = |what: &mut dyn FnMut(&mut Page)| {
        let before = (work::done(), TIMES.get(), page.exchanges);
        what(&mut page);
        (work::done() - before.0, TIMES.get() - before.1, page.exchanges - before.2)
    };
    // One of them may be the one for which a list is moved.
    let mut adds: Vec<Remembers> = (0..31).map(|n| taken(&mut |page| add(page, count + n))).collect();
    adds.sort_unstable();
    let search = |query: &'static str| {
        move |page: &mut Page| page.command("memory.search", json!({ "query": query, "limit": 10 }))
    };
    let rare = taken(&mut search("number00321"));
    let common = taken(&mut search("coffee"));
    let list = taken(&mut |page| page.command("memory.list", json!({ "limit": 10 })));
    let start = taken(&mut |page| page.command("sendMessage", json!({ "text": "Which coffee?" })));
    println!("{count} memories: {:?}, {rare:?}, {common:?}, {list:?}, {start:?}", adds[15]);
    [adds[15], rare, common, list, start]
}

#[test]
fn ten_thousand_memories_are_added_and_found_as_a_thousand_are() {
    const MANY: u64 = 9_900;
    let (few, many) = (remembering(1_000), remembering(MANY as usize));
    // Nothing is looked through, and nothing read that is known.
    assert!(many[0].0 <= few[0].0 + 5 && many[0].2 == 1, "{few:?} {many:?}");
    for (few, many) in few.iter().zip(&many) {
        assert!(many.1 <= few.1 + few.1 / 10 + 10, "allocations: {few:?} {many:?}");
    }
    for many in &many[1..] {
        // Each is looked at once. Only what is given is sorted.
        assert!(many.0 <= MANY + 31 + 100 && many.2 == 1, "{many:?}");
    }
}
