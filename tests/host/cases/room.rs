//! Rooms that arrive when they are needed, case by case: what waits for one, and what becomes of it when none comes.

use crate::support::calm;
use crate::support::script::{RARE, RARE_TOOL, SCHEMA};
use crate::support::sim::World;
use lodger::error::Code;
use lodger::harness::{Action, Found, Harness, Input, Options};
use lodger::ports::{Commit, Read, StoreError, Table, Write};
use lodger::protocol::Command;
use lodger::rooms::Room;
use serde_json::{Value, json};

fn provider(kind: &str) -> Value {
    json!({ "kind": kind, "apiKey": "sk-0123456789abcdef", "model": "m" })
}

fn config(kind: &str) -> Value {
    json!({ "provider": provider(kind) })
}

/// A page that waits for the rooms of its first command.
fn opened() -> World {
    let mut world = World::calm();
    world.equip(0);
    world.settle(0);
    world
}

fn code(world: &World, id: u32) -> Option<Code> {
    world.pages[0].asked[&id].answer.as_ref()?.as_ref().err().map(|error| error.code)
}

fn answered(world: &World, id: u32) -> bool {
    world.pages[0].asked[&id].answer.is_some()
}

#[test]
fn a_provider_brings_the_room_of_its_wire_and_each_is_asked_for_once() {
    let rooms = [
        ("anthropic", Room::Anthropic),
        ("openai", Room::Chat),
        ("ollama", Room::Ollama),
        ("openai-responses", Room::Responses),
        ("gemini", Room::Gemini),
    ];
    for (kind, room) in rooms {
        let mut world = opened();
        let start = world.command(0, "startAgent", config(kind));
        assert_eq!(world.pages[0].awaited, [room], "{kind}");
        assert!(!answered(&world, start));
        world.settle(0);
        assert!(answered(&world, start));
        world.command(0, "configureAgent", config(kind));
        assert!(world.pages[0].awaited.is_empty(), "it is there");
    }
    let mut world = opened();
    let spare =
        json!({ "a": provider("anthropic"), "b": provider("openai-responses"), "c": provider("anthropic") });
    world.command(0, "startAgent", json!({ "provider": provider("ollama"), "providers": spare }));
    assert_eq!(world.pages[0].awaited, [Room::Anthropic, Room::Ollama, Room::Responses]);
    // A key is tried on its wire, without an agent.
    let mut world = opened();
    world.command(0, "keys.validate", json!({ "provider": provider("openai-responses") }));
    assert_eq!(world.pages[0].awaited, [Room::Responses, Room::More]);
    // What is no provider brings nothing, and is refused as ever.
    let mut world = opened();
    let refused = world.fails(0, "startAgent", json!({ "provider": { "kind": "nobody" } }));
    assert_eq!(refused.code, Code::InvalidConfig);
}

#[test]
fn what_builds_on_a_start_comes_after_it_and_what_only_reads_does_not_wait() {
    let mut world = opened();
    let start = world.command(0, "startAgent", config("anthropic"));
    let says = world.command(0, "sendMessage", json!({ "text": "hello" }));
    let reads = world.command(0, "history", json!({}));
    let stops = world.command(0, "interrupt", json!({ "sessionId": "other" }));
    world.settle_without_rooms(0);
    assert!(!answered(&world, start) && !answered(&world, says), "nothing is begun");
    assert!(answered(&world, reads) && answered(&world, stops));
    world.finish_room(0, 0, Ok(()));
    world.settle(0);
    assert!(answered(&world, start));
    // The agent was about to start when it was said.
    assert_eq!(code(&world, says), Some(Code::NotRunning));
}

#[test]
fn a_stop_comes_after_the_start_that_waits_and_a_message_is_interrupted_that_waits() {
    let mut world = opened();
    let start = world.command(0, "startAgent", config("anthropic"));
    let stop = world.command(0, "stopAgent", json!({}));
    assert!(!answered(&world, stop));
    world.settle(0);
    assert!(answered(&world, start) && answered(&world, stop));
    assert_eq!(calm::status(&world)["lifecycle"], "Stopped");

    world.must(0, "startAgent", config("anthropic"));
    let change = world.command(0, "configureAgent", config("ollama"));
    let says = world.command(0, "sendMessage", json!({ "text": "hello" }));
    let again = world.command(0, "regenerate", json!({}));
    world.command(0, "interrupt", json!({}));
    assert_eq!((code(&world, says), code(&world, again)), (Some(Code::Aborted), Some(Code::Aborted)));
    world.settle(0);
    assert!(answered(&world, change));
    assert!(world.pages[0].models.is_empty());
}

#[test]
fn a_room_that_does_not_come_rejects_what_needs_it_ends_no_run_and_is_asked_for_again() {
    let mut world = opened();
    world.must(0, "startAgent", config("anthropic"));
    let run = calm::send(&mut world, "hello");
    let change = world.command(0, "configureAgent", config("ollama"));
    world.finish_room(0, 0, Err("offline".into()));
    world.settle(0);
    let error = world.pages[0].asked[&change].answer.clone().unwrap().unwrap_err();
    assert_eq!((error.code, error.retryable()), (Code::WasmUnavailable, true));
    assert!(error.message.contains("offline"), "{error}");
    // The run is at work, and with whom it was.
    world.answers(0, calm::says("done"));
    let result = world.must(0, "result", json!({ "runId": run }));
    assert_eq!((&result["outcome"], &result["text"]), (&json!("completed"), &json!("done")));

    let change = world.command(0, "configureAgent", config("ollama"));
    assert_eq!(world.pages[0].awaited, [Room::Ollama]);
    world.settle(0);
    assert!(answered(&world, change) && code(&world, change).is_none());
}

/// Of each room a command that needs it. That of `past` comes before that of `carry`, which builds on it.
fn needs_each() -> [(Room, &'static str, Value); 13] {
    [
        (Room::Anthropic, "startAgent", config("anthropic")),
        (Room::Chat, "configureAgent", config("openai")),
        (Room::Ollama, "configureAgent", config("ollama")),
        (Room::Responses, "configureAgent", config("openai-responses")),
        (Room::Gemini, "configureAgent", config("gemini")),
        (Room::Pages, "pages.tree", json!({})),
        (Room::Upkeep, "pages.trash", json!({})),
        (Room::Schema, "tools.register", tool(RARE_TOOL.into())),
        (Room::More, "tools.execute", json!({ "name": "look" })),
        (Room::Past, "sessions.journal", json!({ "id": "default" })),
        (Room::Compaction, "compact", json!({})),
        (Room::Memory, "memory.list", json!({})),
        (Room::Carry, "sessions.export", json!({ "id": "default" })),
    ]
}

#[test]
fn none_of_the_rooms_is_missed_in_silence_and_each_comes_the_next_time() {
    let each = needs_each();
    // That of a workspace in memory is needed by no command.
    assert_eq!(each.len() + 1, Room::ALL.len());
    let mut world = World::calm();
    world.settle(0);
    let mut run = None;
    for (room, name, args) in each {
        let refused = world.command(0, name, args.clone());
        assert_eq!(world.pages[0].awaited, [room], "{name}");
        world.finish_room(0, 0, Err("offline".into()));
        world.settle_without_rooms(0);
        let error = world.pages[0].asked[&refused].answer.clone().unwrap().unwrap_err();
        assert_eq!((error.code, error.retryable()), (Code::WasmUnavailable, true), "{name}");
        let again = world.command(0, name, args);
        assert_eq!(world.pages[0].awaited, [room], "{name} again");
        world.finish_room(0, 0, Ok(()));
        world.settle(0);
        assert_ne!(code(&world, again), Some(Code::WasmUnavailable), "{name} again");
        // From here on a run is at work.
        run.get_or_insert_with(|| calm::send(&mut world, "hello"));
    }
    world.answers(0, calm::says("done"));
    let result = world.must(0, "result", json!({ "runId": run }));
    assert_eq!((&result["outcome"], &result["text"]), (&json!("completed"), &json!("done")));
}

#[test]
fn a_standby_has_its_rooms_before_it_takes_over_and_a_fresh_instance_asks_for_them_again() {
    let mut world = opened();
    world.must(0, "startAgent", config("anthropic"));
    calm::send(&mut world, "hello");
    let standby = world.open();
    let mut joins = config("anthropic");
    joins["ifRunning"] = "join".into();
    let joined = world.command(standby, "startAgent", joins);
    assert_eq!(world.pages[standby].awaited, [Room::Anthropic]);
    world.settle(standby);
    let refused = world.pages[standby].asked[&joined].answer.clone().unwrap().unwrap_err();
    assert_eq!(refused.code, Code::AlreadyRunning);

    // The holder dies: nothing has to come first, because what a past needs came when it joined.
    world.crash(0, true);
    world.command(standby, "standIn", json!({ "config": config("anthropic"), "after": 1 }));
    assert!(world.pages[standby].awaited.is_empty());
    world.settle(standby);
    assert_eq!(world.pages[standby].models.len(), 1, "the call that was cut is made again");

    // The page that died has come back with a module in which no room is.
    world.command(0, "startAgent", config("anthropic"));
    assert_eq!(world.pages[0].awaited, [Room::Anthropic]);
}

fn tool(schema: Value) -> Value {
    json!({ "name": "send", "description": "Sends.", "inputSchema": schema, "execute": { "$fn": 3 }, "replace": true })
}

#[test]
fn a_schema_that_few_have_brings_its_room_and_any_other_does_not() {
    let mut world = opened();
    let plain = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "t", "type": "object",
        "properties": { "a": { "type": ["string", "null"], "minLength": 1, "format": "date", "default": "x" },
            "pattern": { "type": "array", "items": { "enum": [1, { "anyOf": [] }] } } },
        "required": ["a"], "additionalProperties": { "const": { "$ref": "#" } } });
    world.must(0, "tools.register", tool(plain.clone()));
    world.must(0, "startAgent", config("anthropic"));
    for schema in [json!(RARE_TOOL), json!({ "properties": { "a": { "items": { "uniqueItems": true } } } })] {
        let mut world = opened();
        let register = world.command(0, "tools.register", tool(schema));
        assert_eq!(world.pages[0].awaited, [Room::Schema]);
        let starts = world.command(0, "startAgent", config("anthropic"));
        world.finish_room(0, 0, Err("offline".into()));
        assert_eq!(code(&world, register), Some(Code::WasmUnavailable));
        world.settle(0);
        assert!(answered(&world, starts) && code(&world, starts).is_none());
    }
    // A format counts where the tool says so.
    let mut strict = tool(plain);
    strict["formats"] = true.into();
    let strict = world.command(0, "tools.register", strict);
    assert!(!answered(&world, strict));
    assert_eq!(world.pages[0].awaited, [Room::Schema]);
    // So does what an answer has to be; what a person says next comes after it.
    let ask = |schema: &str| json!({ "text": "ask", "schema": { "json": schema } });
    let says = world.command(0, "sendMessage", ask(RARE));
    assert_eq!(world.pages[0].awaited, [Room::Schema, Room::Past], "once, and that of answers in a form");
    world.finish_room(0, 0, Ok(()));
    world.finish_room(0, 0, Ok(()));
    world.settle(0);
    assert!(answered(&world, strict) && code(&world, says).is_none() && world.pages[0].models.len() == 1);
    // What is no schema is refused as ever.
    let mut world = opened();
    let refused = world.fails(0, "tools.register", tool(json!({ "properties": [{ "anyOf": [] }] })));
    assert_eq!(refused.code, Code::InvalidSchema);
    world.must(0, "startAgent", config("anthropic"));
    world.must(0, "sendMessage", ask(SCHEMA));
}

#[test]
fn a_journal_with_such_a_schema_is_as_good_as_not_read_until_its_room_is_there() {
    let mut world = opened();
    world.must(0, "tools.register", tool(RARE_TOOL.into()));
    world.must(0, "startAgent", config("anthropic"));
    let asked = world.must(0, "sendMessage", json!({ "text": "ask", "schema": { "json": RARE } }));
    world.crash(0, true);

    let start = world.command(0, "startAgent", config("anthropic"));
    world.settle_without_rooms(0);
    assert_eq!(world.pages[0].awaited, [Room::Anthropic]);
    world.finish_room(0, 0, Ok(()));
    world.settle_without_rooms(0);
    assert_eq!(world.pages[0].awaited, [Room::Past], "there is a journal");
    world.finish_room(0, 0, Ok(()));
    world.settle_without_rooms(0);
    assert_eq!(world.pages[0].awaited, [Room::Schema], "it has such a schema");
    assert!(!answered(&world, start));
    world.finish_room(0, 0, Err("offline".into()));
    world.settle_without_rooms(0);
    assert_eq!(code(&world, start), Some(Code::WasmUnavailable));

    // The rows themselves need none; what they add up to does.
    let rows = world.command(0, "history", json!({}));
    world.settle_without_rooms(0);
    assert!(!answered(&world, rows));
    assert_eq!(world.pages[0].awaited, [Room::Schema]);
    world.finish_room(0, 0, Err("offline".into()));
    assert_eq!(code(&world, rows), Some(Code::WasmUnavailable));

    // A tab that goes on with it asks too; the run is as it was.
    let standby = world.open();
    let goes_on = json!({ "config": config("anthropic"), "after": 1 });
    let stands_in = world.command(standby, "standIn", goes_on);
    world.settle(standby);
    assert!(world.pages[standby].asked[&stands_in].answer.as_ref().is_some_and(Result::is_ok));
    world.answers(standby, calm::says("{\"n\":\"11\"}"));
    let result = world.must(standby, "result", json!({ "runId": asked["runId"] }));
    assert_eq!((&result["outcome"], &result["value"]), (&json!("completed"), &json!({ "n": "11" })));
}

#[test]
fn a_workspace_that_was_used_asks_for_what_its_past_needs_as_it_opens() {
    let opened = |format: Option<&str>| {
        let operator = Options::local_operator();
        let options = Options { name: "w".into(), page_tools: false, holder: "h".into(), operator };
        let mut harness = Harness::new(options);
        let found = Found { format: format.map(str::to_owned), ..Found::default() };
        harness.opened(1, &found, false).map(|()| harness)
    };
    let asks = |harness: &mut Harness| {
        let room = |action| if let Action::Room(room) = action { Some(room) } else { None };
        std::iter::from_fn(|| harness.poll(1)).filter_map(room).collect::<Vec<_>>()
    };
    assert_eq!(asks(&mut opened(None).unwrap()), []);
    let mut used = opened(Some("1")).unwrap();
    assert_eq!(asks(&mut used), [Room::Past]);
    // It does not come, and nothing waits for it; what needs it asks again.
    used.handle(1, Input::Room { room: Room::Past, result: Err("offline".into()) });
    assert_eq!(asks(&mut used), []);
    assert!(matches!(opened(Some("999=999")), Err(StoreError::Newer)));
    // What is no number is damaged, and keeps nobody out of what is whole.
    for stored in ["x", "", "r"] {
        assert_eq!(asks(&mut opened(Some(stored)).unwrap()), [Room::Past], "{stored}");
    }
}

#[test]
fn a_first_conversation_needs_no_more_than_its_wire() {
    let mut world = opened();
    assert_eq!(world.must(0, "history", json!({})), json!([]));
    let start = world.command(0, "startAgent", config("anthropic"));
    world.finish_room(0, 0, Ok(()));
    world.settle_without_rooms(0);
    assert!(answered(&world, start));
    let run = calm::send(&mut world, "hello");
    world.answers(0, calm::says("done"));
    let result = world.command(0, "result", json!({ "runId": run }));
    let history = world.command(0, "history", json!({}));
    world.settle_without_rooms(0);
    assert!(answered(&world, result) && answered(&world, history));
    world.command(0, "stopAgent", json!({}));
    world.settle_without_rooms(0);
    assert!(world.pages[0].awaited.is_empty());
    // The second one has a past.
    world.command(0, "startAgent", config("anthropic"));
    world.settle_without_rooms(0);
    assert_eq!(world.pages[0].awaited, [Room::Past]);
    world.settle(0);
    assert_eq!(calm::status(&world)["lifecycle"], "Running");
}

#[test]
fn what_is_given_says_which_rooms_are_needed() {
    let skilled = |mut config: Value| {
        config["skills"] = json!([{ "name": "greet", "description": "Greets.", "template": "Hello." }]);
        config
    };
    let needs = [
        ("sendMessage", json!({ "text": "hello", "whenBusy": "queue" }), vec![Room::Past]),
        ("sendMessage", json!({ "text": "hello", "schema": { "json": "{}" } }), vec![Room::Past]),
        ("sendMessage", json!({ "text": "hello", "metadata": { "schema": 1 } }), vec![]),
        ("startAgent", skilled(config("anthropic")), vec![Room::Anthropic, Room::More]),
        ("tools.execute", json!({ "name": "look" }), vec![Room::More]),
        ("sessions.launch", json!({ "id": "a" }), vec![Room::More, Room::Past]),
        ("sessions.list", json!({}), vec![Room::More, Room::Past]),
        ("activeRuns", json!({}), vec![Room::More, Room::Past]),
        ("sessions.journal", json!({ "id": "default" }), vec![Room::Past]),
        ("sessions.fork", json!({ "id": "default" }), vec![Room::Carry, Room::Past]),
    ];
    for (command, args, rooms) in needs {
        let mut world = opened();
        world.command(0, command, args);
        assert_eq!(world.pages[0].awaited, rooms, "{command}");
    }
}

#[test]
fn skills_of_the_account_bring_their_room_and_a_start_that_does_not_get_it_is_given_up() {
    let mut world = opened();
    let skill =
        json!({ "name": "greet", "description": "Greets.", "template": "Hello.", "scope": "account" });
    world.account.insert(("another workspace".into(), "greet".into()), skill.to_string());
    let start = world.command(0, "startAgent", config("anthropic"));
    world.finish_room(0, 0, Ok(()));
    world.settle_without_rooms(0);
    assert_eq!(world.pages[0].awaited, [Room::More]);
    world.finish_room(0, 0, Err("offline".into()));
    world.settle_without_rooms(0);
    assert_eq!(code(&world, start), Some(Code::WasmUnavailable));
    assert_eq!(calm::status(&world)["lifecycle"], "Stopped");
    world.must(0, "startAgent", config("anthropic"));
}

#[test]
fn a_past_that_nobody_can_read_gives_the_workspace_back_and_is_asked_for_again() {
    let mut world = opened();
    world.must(0, "startAgent", config("anthropic"));
    calm::send(&mut world, "hello");
    world.crash(0, true);
    world.equip(0);
    let start = world.command(0, "startAgent", config("anthropic"));
    let reads = world.command(0, "history", json!({ "sessionId": "default" }));
    world.finish_room(0, 0, Ok(()));
    world.settle_without_rooms(0);
    assert_eq!(world.pages[0].awaited, [Room::Past]);
    world.finish_room(0, 0, Err("offline".into()));
    world.settle_without_rooms(0);
    assert_eq!(code(&world, start), Some(Code::WasmUnavailable));
    assert_eq!(calm::status(&world)["lifecycle"], "Stopped");
    assert!(answered(&world, reads));
    // What a page may have of it is looked at when it is asked for again; the run is there.
    let other = world.open();
    world.command(other, "startAgent", config("anthropic"));
    world.settle(other);
    assert!(world.must(other, "history", json!({})).to_string().contains("hello"));
    assert_eq!(world.must(other, "resume", json!({}))["status"], "accepted");
}

#[test]
fn rows_of_pages_that_do_not_agree_wait_for_what_understands_them() {
    let mut world = opened();
    world.must(0, "pages.create", json!({ "title": "Soup", "content": "Hot." }));
    world.must(0, "pages.create", json!({ "title": "Bread", "content": "Warm." }));
    let pages = world.disk.read(&Read::all(Table::Pages, vec!["soup".into()]));
    let (key, text) = pages[0].clone();
    let write = Write::Put { table: Table::Pages, key, value: text.replace("Hot", "Hat") };
    world.disk.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
    world.crash(0, true);
    world.equip(0);
    world.settle(0);
    let tree = |world: &mut World| world.command(0, "pages.tree", json!({}));
    let refused = tree(&mut world);
    assert_eq!(world.pages[0].awaited, [Room::Pages]);
    world.finish_room(0, 0, Ok(()));
    world.settle_without_rooms(0);
    let other = tree(&mut world);
    world.settle_without_rooms(0);
    assert_eq!(world.pages[0].awaited, [Room::Upkeep]);
    assert!(!answered(&world, refused) && !answered(&world, other));
    world.finish_room(0, 0, Err("offline".into()));
    world.settle_without_rooms(0);
    assert_eq!(code(&world, refused), Some(Code::WasmUnavailable));
    // What was asked for meanwhile asks for the room again.
    assert_eq!(world.pages[0].awaited, [Room::Upkeep]);
    world.finish_room(0, 0, Ok(()));
    world.settle_without_rooms(0);
    let told = world.pages[0].asked[&other].answer.clone().unwrap().unwrap();
    let damaged = told.as_array().unwrap().iter().filter(|page| page["damaged"].is_object());
    assert_eq!(damaged.map(|page| &page["slug"]).collect::<Vec<_>>(), ["soup"], "{told}");
    // What is whole is read by itself.
    assert_eq!(world.must(0, "pages.read", json!({ "slug": "bread" }))["content"], "Warm.");
}

#[test]
fn earlier_contents_of_a_page_wait_for_their_room() {
    let mut world = opened();
    world.must(0, "pages.create", json!({ "title": "Soup", "content": "Cold." }));
    world.crash(0, true);
    world.equip(0);
    world.settle(0);
    for (name, args) in [
        ("pages.versions", json!({ "slug": "soup" })),
        ("pages.trash", json!({})),
        ("pages.restore", json!({ "slug": "soup" })),
    ] {
        world.command(0, name, args);
    }
    assert_eq!(world.pages[0].awaited, [Room::Pages, Room::Upkeep]);
    world.settle(0);
    assert_eq!(world.must(0, "pages.versions", json!({ "slug": "soup" }))[0]["content"], "Cold.");
}

/// A tool of the room `upkeep` waits for it; one that does without has its answer, whatever becomes of the room.
#[test]
fn a_page_tool_brings_its_room_when_it_is_called() {
    for comes in [true, false] {
        let mut world = World::calm();
        world.page_tools = true;
        world.pages.clear();
        let page = world.open();
        world.equip(page);
        world.settle(page);
        world.must(page, "tools.execute", json!({ "name": "create_page", "args": { "title": "Soup" } }));
        let upkeep = |world: &World| world.pages[page].awaited.contains(&Room::Upkeep);
        let call = |world: &mut World, name: &str, args: Value| {
            world.command(page, "tools.execute", json!({ "name": name, "args": args }))
        };
        let rename = json!({ "slug": "soup", "title": "Stew" });
        let before = call(&mut world, "read_page", json!({ "slug": "soup" }));
        let renames = call(&mut world, "rename_page", rename);
        let after = call(&mut world, "get_page_tree", json!({}));
        world.settle_without_rooms(page);
        assert!(upkeep(&world) && answered(&world, before) && !answered(&world, renames), "{comes}");
        world.finish_room(page, 0, if comes { Ok(()) } else { Err("offline".into()) });
        world.settle(page);
        assert_eq!(code(&world, renames), (!comes).then_some(Code::WasmUnavailable));
        assert_eq!(code(&world, after), None, "{comes}");
        let told = world.must(
            page,
            "tools.execute",
            json!({ "name": "read_page_history", "args": { "slug": "soup" } }),
        );
        assert!(told.to_string().contains(if comes { "Stew" } else { "Soup" }), "{told}");
    }
}

#[test]
fn what_carries_sessions_reads_them_too() {
    for command in Command::ALL {
        let rooms = command.row().rooms;
        assert!(!rooms.has(Room::Carry) || rooms.has(Room::Past), "{command:?}");
        assert!(!rooms.has(Room::Upkeep) || rooms.has(Room::Pages), "{command:?}");
    }
}

#[test]
fn who_closes_waits_for_no_room() {
    let mut world = opened();
    let start = world.command(0, "startAgent", config("anthropic"));
    world.command(0, "close", json!({}));
    assert!(world.pages[0].closed);
    assert_eq!(code(&world, start), Some(Code::WorkspaceClosed));
}
