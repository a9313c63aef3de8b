//! Answers that have to fit a schema, case by case, on a calm world: what is sent, what is judged, what is told.

use crate::support::calm::*;
use crate::support::desk::Desk;
use crate::support::script::{FREE, SCHEMA, answer, call};
use crate::support::sim::World;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::Input;
use lodger::journal::{Entry, Row};
use lodger::model::{Answer, Block, Delta, DeltaKind, StopReason, Usage};
use lodger::session::Session;
use serde_json::{Value, json};

/// The page's own schema.
const VALIDATE: u32 = 90;

fn ask(world: &mut World, schema: Value) -> String {
    let accepted = world.must(0, "sendMessage", json!({ "text": "how many?", "schema": schema }));
    accepted["runId"].as_str().unwrap().into()
}

fn asked() -> (World, String) {
    let mut world = started();
    let run = ask(&mut world, json!({ "json": SCHEMA }));
    (world, run)
}

fn standard() -> Value {
    json!({ "json": SCHEMA, "validate": { "$fn": VALIDATE } })
}

fn result(world: &mut World, run: &str) -> Value {
    world.must(0, "result", json!({ "runId": run }))
}

/// The kinds of the rows from the prompt on.
fn rows(world: &World) -> Vec<String> {
    let kind = |row: &String| Row::from_text(row).unwrap().read().unwrap().0.kind;
    let kinds = world.journal.rows.iter().map(kind).skip_while(|kind| kind != "prompt").skip(1);
    kinds.filter(|kind| kind != "recorded").collect()
}

fn stopped(text: &str, stop: StopReason) -> Answer {
    answer(vec![Block::Text(text.into())], stop)
}

/// The page's own schema says this of the answer that it is asked about.
fn validates(world: &mut World, wrong: Option<&str>) -> Value {
    let (key, called) = world.pages[0].called.iter().next().expect("nobody is asked").clone_pair();
    assert_eq!((called.function, called.kind), (VALIDATE, "validate"));
    world.returns(0, key, Ok(wrong.map(|wrong| json!(wrong).to_string())));
    called.args["args"].clone()
}

trait ClonePair<K, V> {
    fn clone_pair(self) -> (K, V);
}

impl<K: Copy, V: Clone> ClonePair<K, V> for (&K, &V) {
    fn clone_pair(self) -> (K, V) {
        (*self.0, self.1.clone())
    }
}

const SENT_BACK: &str = "the answer does not fit: 'n' must be a whole number of at least 1; you sent \"x\". Give the whole answer again, mended.";

#[test]
fn an_answer_that_fits_is_the_value() {
    let (mut world, run) = asked();
    let body = world.model(0).1.body.clone();
    let form = json!({ "name": "answer", "schema": serde_json::from_str::<Value>(SCHEMA).unwrap(), "strict": false });
    assert_eq!(body["response_format"], json!({ "type": "json_schema", "json_schema": form }));
    assert!(
        body["messages"][0]["content"]
            .as_str()
            .unwrap()
            .ends_with(&format!("and nothing besides:\n{SCHEMA}"))
    );
    world.answers(0, says("```json\n{\"n\": \"3\"}\n```"));
    let value = json!({ "n": 3 });
    assert_eq!(last(&world, "agent:session-completed")["value"], value);
    let result = result(&mut world, &run);
    assert_eq!((&result["value"], &result["text"]), (&value, &json!("```json\n{\"n\": \"3\"}\n```")));
    let waited = world.must(0, "wait", json!({ "runId": run }));
    assert_eq!((&waited["status"], &waited["value"]), (&json!("ok"), &value));
    assert_eq!(rows(&world), ["called", "answered", "ended"]);
    // The next message asks for nothing of the kind.
    send(&mut world, "thanks");
    assert!(world.model(0).1.body.get("response_format").is_none());
    world.answers(0, says("welcome"));
    assert!(last(&world, "agent:session-completed").get("value").is_none());
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_once_more() {
    let (mut world, run) = asked();
    world.answers(0, says("{\"n\":\"x\"}"));
    let messages = sent(&world);
    assert_eq!(messages.last().unwrap(), &json!({ "role": "user", "content": SENT_BACK }));
    world.answers(0, says("{\"n\":2}"));
    let result = result(&mut world, &run);
    assert_eq!((&result["value"], &result["turns"]), (&json!({ "n": 2 }), &json!(2)));
    assert_eq!(rows(&world), ["called", "answered", "sent_back", "called", "answered", "ended"]);
    // What was said stays, and is what the next run goes on from.
    let parts = history(&mut world)[1]["parts"].clone();
    assert_eq!((&parts[0]["text"], &parts[1]["text"]), (&json!("{\"n\":\"x\"}"), &json!("{\"n\":2}")));
    send(&mut world, "thanks");
    assert_eq!(sent(&world)[2]["content"], SENT_BACK);
}

#[test]
fn what_does_not_fit_either_fails_the_run_and_stays() {
    let (mut world, run) = asked();
    world.answers(0, says("about three"));
    world.answers(0, says("{}"));
    let ended = result(&mut world, &run);
    assert_eq!((&ended["outcome"], &ended["error"]["code"]), (&json!("failed"), &json!("invalid_output")));
    assert_eq!(ended["error"]["message"], "the answer does not fit: missing 'n' field");
    assert!(ended.get("value").is_none() && last(&world, "agent:error")["hint"].is_string());
    assert_eq!(history(&mut world)[1]["parts"][1]["text"], "{}");
    assert_eq!(world.must(0, "wait", json!({ "runId": run }))["error"]["code"], "invalid_output");
    // A new run goes on with the same schema, and has its own round.
    let again = world.must(0, "resume", json!({}))["runId"].as_str().unwrap().to_owned();
    assert!(world.model(0).1.body["response_format"].is_object());
    let told = "the answer does not fit: missing 'n' field. Give the whole answer again, mended.";
    assert_eq!(sent(&world).last().unwrap()["content"], told);
    world.answers(0, says("{\"n\":0}"));
    world.answers(0, says("{\"n\":4}"));
    assert_eq!(result(&mut world, &again)["value"], json!({ "n": 4 }));
}

#[test]
fn tools_come_first_and_the_text_beside_them_is_not_judged() {
    let (mut world, run) = asked();
    let blocks = vec![Block::Text("{\"n\":9}".into()), call("a", "get_fact", "{\"to\":\"x\"}")];
    world.answers(0, answer(blocks, StopReason::ToolUse));
    returns(&mut world, "a", "5");
    world.answers(0, says("{\"n\":5}"));
    assert_eq!(result(&mut world, &run)["value"], json!({ "n": 5 }));
}

#[test]
fn the_repair_counts_as_a_turn_and_costs_what_it_costs() {
    for (config, code) in [
        (json!({ "maxTurns": 1 }), "max_turns_exceeded"),
        (json!({ "budgets": { "run": { "turns": 1 } } }), "budget_exceeded"),
    ] {
        let mut world = started_with(config);
        let run = ask(&mut world, json!({ "json": SCHEMA }));
        world.answers(0, says("no"));
        assert_eq!(result(&mut world, &run)["error"]["code"], code);
    }
}

#[test]
fn refusals_and_limits_end_as_they_do() {
    for (said, code) in [
        (stopped("I will not.", StopReason::Refusal(None)), "refused"),
        (stopped("{\"n\":1", StopReason::MaxTokens), "output_limit"),
        (answer(vec![], StopReason::MaxTokens), "output_limit"),
        (stopped("{\"n\":1", StopReason::ContextWindow), "context_length"),
    ] {
        let (mut world, run) = asked();
        world.answers(0, said);
        let result = result(&mut world, &run);
        assert_eq!((&result["error"]["code"], &result["turns"]), (&json!(code), &json!(1)), "{result}");
    }
    let (mut world, run) = asked();
    world.answers(0, stopped("{\"n\":1}", StopReason::MaxTokens));
    assert_eq!(result(&mut world, &run)["value"], json!({ "n": 1 }));
}

#[test]
fn the_pages_own_schema_has_the_last_word() {
    let mut world = started();
    let run = ask(&mut world, standard());
    // Not even JSON: the page is not asked.
    world.answers(0, says("three"));
    assert!(world.pages[0].called.is_empty());
    // The page's schema decides, also about what the JSON Schema would refuse.
    world.answers(0, says("{\"n\":0}"));
    assert_eq!(status(&world)["is_streaming"], true);
    assert_eq!(validates(&mut world, None), json!({ "n": 0 }));
    assert_eq!(result(&mut world, &run)["value"], json!({ "n": 0 }));
    assert_eq!(rows(&world)[3..], ["called", "answered", "inspected", "validated", "ended"]);

    let run = ask(&mut world, standard());
    world.answers(0, says("{\"n\":1}"));
    validates(&mut world, Some("the answer does not fit: n: odd"));
    let told = sent(&world).last().unwrap()["content"].clone();
    assert_eq!(told, "the answer does not fit: n: odd. Give the whole answer again, mended.");
    world.answers(0, says("{\"n\":3}"));
    validates(&mut world, Some("the answer does not fit: n: odd too"));
    let ended = result(&mut world, &run);
    assert_eq!(
        (&ended["error"]["code"], &ended["error"]["message"]),
        (&json!("invalid_output"), &json!("the answer does not fit: n: odd too"))
    );
}

#[test]
fn a_schema_that_throws_is_told_like_any_other_fault() {
    let mut world = started();
    let run = ask(&mut world, standard());
    for _ in 0..2 {
        world.answers(0, says("{\"n\":1}"));
        let (key, _) = world.pages[0].called.iter().next().unwrap().clone_pair();
        world.returns(0, key, Err(ErrorInfo::new(Code::ToolFailed, "TypeError: no")));
    }
    let error = result(&mut world, &run)["error"].clone();
    assert_eq!((&error["code"], &error["message"]), (&json!("invalid_output"), &json!("TypeError: no")));
}

/// At each moment the page is lost; the next one goes on with what the journal has, without the page's own schema.
#[test]
fn a_run_goes_on_after_a_reload_at_any_moment() {
    for moment in 0..4 {
        let mut world = started();
        let run = ask(&mut world, standard());
        if moment > 0 {
            world.answers(0, says("{\"n\":\"x\"}"));
            validates(&mut world, Some("no"));
        }
        if moment == 2 {
            world.streams(0, 0, "{\"n\":");
        }
        if moment == 3 {
            world.answers(0, says("{\"n\":7}"));
            assert_eq!(world.pages[0].called.len(), 1, "the page's schema is not asked");
        }
        // What comes of itself is stored with the next commit.
        world.pass(0, 300);
        let mut world = lost(world, json!({}));
        assert_eq!(world.must(0, "resume", json!({}))["runId"], run.as_str());
        if moment < 3 {
            assert!(world.model(0).1.body["response_format"].is_object(), "moment {moment}");
            let told = sent(&world).last().unwrap()["content"].clone();
            assert_eq!(
                told == "no. Give the whole answer again, mended.",
                moment > 0,
                "moment {moment}: {told}"
            );
            world.answers(0, says("{\"n\":7}"));
        }
        assert!(world.pages[0].called.is_empty());
        let ended = result(&mut world, &run);
        assert_eq!(ended["value"], json!({ "n": 7 }), "moment {moment}: {ended}");
        // And a page that only looks.
        world.crash(0, true);
        assert_eq!(result(&mut world, &run)["value"], json!({ "n": 7 }));
        assert_eq!(world.must(0, "wait", json!({ "runId": run }))["value"], json!({ "n": 7 }));
    }
}

#[test]
fn a_run_that_waits_for_a_person_forgets_its_page_too() {
    let mut world = started();
    let run = ask(&mut world, standard());
    world.answers(0, asks(&[("a", "wipe")]));
    assert_eq!(status(&world), &waiting());
    let mut world = lost(world, json!({}));
    resolve(&mut world, "deny");
    world.answers(0, says("{\"n\":7}"));
    assert_eq!(result(&mut world, &run)["value"], json!({ "n": 7 }));
}

/// What the page's schema has said holds, also when the page is gone before the run has ended.
#[test]
fn what_the_page_has_said_outlives_it() {
    for (error, outcome) in
        [(None, "completed"), (Some(ErrorInfo::new(Code::InvalidOutput, "odd")), "sent_back")]
    {
        let mut session = Session::new("default");
        let mut fold = |entry: Entry| {
            let run = (entry.kind() != "started").then_some("run_1");
            session.append(1, run, &entry).unwrap();
            session.next()
        };
        let started = || Entry::Started { epoch: 1, config: Some(json!({})), tools: Some(json!([])) };
        let schema = Some(json!({ "json": SCHEMA, "validate": 7 }));
        fold(started());
        let prompt = Entry::Prompt {
            message: "m".into(),
            text: "t".into(),
            context: None,
            trusted: None,
            metadata: None,
            idempotency: None,
            continues: None,
            compacts: None,
            files: Vec::new(),
            schema,
            config: None,
            replaces: None,
        };
        assert_eq!(fold(prompt).unwrap().1, Entry::Called { call: 1 });
        fold(Entry::Called { call: 1 });
        let said = Entry::Answered {
            call: 1,
            blocks: vec![Block::Text("{\"n\":0}".into())],
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            cost: None,
            provider: "p".into(),
            model: None,
            id: None,
        };
        let inspected = Entry::Inspected { tool_call: String::new() };
        assert_eq!(fold(said).unwrap().1, inspected);
        assert_eq!(fold(inspected), None);
        fold(Entry::Validated { tool_call: String::new(), error });
        let (run, next) = fold(started()).unwrap();
        match &next {
            Entry::Ended { outcome: ended, .. } => assert_eq!(ended.as_str(), outcome),
            Entry::SentBack { error } => assert_eq!((error.message.as_str(), outcome), ("odd", "sent_back")),
            other => panic!("{other:?}"),
        }
        session.append(1, run.as_deref(), &next).unwrap();
        let value = session.run("run_1").unwrap().value();
        assert_eq!(value, (outcome == "completed").then(|| json!({ "n": 0 })));
    }
}

#[test]
fn an_interrupt_while_the_page_is_asked_ends_it() {
    let mut world = started();
    let run = ask(&mut world, standard());
    world.answers(0, says("{\"n\":7}"));
    world.must(0, "interrupt", json!({}));
    let ended = result(&mut world, &run);
    assert!(ended["outcome"] == "interrupted" && ended.get("value").is_none());
    assert!(world.pages[0].called.is_empty());
}

// By a tool

fn groq() -> Value {
    json!({ "kind": "openai-compatible", "preset": "groq", "apiKey": "gsk_0123456789", "model": "m" })
}

#[test]
fn a_tool_stands_for_the_answer_where_the_provider_has_no_means() {
    let mut world = World::calm();
    start(&mut world, json!({ "provider": groq() }));
    let run = ask(&mut world, json!({ "json": SCHEMA }));
    let body = world.model(0).1.body.clone();
    assert_eq!(body["tool_choice"], json!({ "type": "function", "function": { "name": "final_answer" } }));
    assert_eq!(body["tools"][0]["function"]["parameters"], serde_json::from_str::<Value>(SCHEMA).unwrap());
    assert!(body.get("response_format").is_none());
    let blocks = vec![
        Block::Text("Here.".into()),
        call("c1", "final_answer", "{\"n\":3}"),
        Block::Extra("{\"x\":1}".into()),
    ];
    world.answers(0, answer(blocks, StopReason::ToolUse));
    let ended = result(&mut world, &run);
    assert_eq!((&ended["value"], &ended["text"]), (&json!({ "n": 3 }), &json!("Here.{\"n\":3}")));
    // It is what the model says, not something that is done.
    let parts = history(&mut world)[1]["parts"].clone();
    assert_eq!(parts, json!([{ "type": "text", "text": "Here." }, { "type": "text", "text": "{\"n\":3}" }]));
    assert_eq!(
        story(&world),
        [
            "lifecycle start",
            "session-started",
            "chunk Here.",
            "chunk {\"n\":3}",
            "session-completed",
            "lifecycle end"
        ]
    );
    send(&mut world, "thanks");
    assert_eq!(sent(&world)[1], json!({ "role": "assistant", "content": "Here.\n\n{\"n\":3}" }));
    assert!(world.model(0).1.body.get("tool_choice").is_none());
}

#[test]
fn the_tool_is_offered_beside_others_and_what_comes_with_them_is_not_the_end() {
    let mut world = started_with(json!({ "provider": groq() }));
    let run = ask(&mut world, json!({ "json": SCHEMA }));
    assert!(world.model(0).1.body.get("tool_choice").is_none());
    let system = world.model(0).1.body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.ends_with("by calling the tool final_answer, and by nothing else."), "{system}");
    let blocks = vec![call("c1", "final_answer", "{\"n\":3}"), call("c2", "get_fact", "{\"to\":\"x\"}")];
    world.answers(0, answer(blocks, StopReason::ToolUse));
    returns(&mut world, "c2", "4");
    world.answers(0, answer(vec![call("c3", "final_answer", "{\"n\":\"x\"}")], StopReason::ToolUse));
    assert_eq!(sent(&world).last().unwrap()["content"], SENT_BACK);
    world.answers(0, answer(vec![call("c4", "final_answer", "{\"n\":4}")], StopReason::ToolUse));
    assert_eq!(result(&mut world, &run)["value"], json!({ "n": 4 }));
}

#[test]
fn a_tool_of_the_pages_with_that_name_keeps_it() {
    let mut world = started_with(json!({ "provider": groq() }));
    let tool = json!({ "name": "final_answer", "description": "d", "inputSchema": {}, "readOnly": true, "execute": { "$fn": 1 } });
    world.must(0, "tools.register", tool);
    let run = ask(&mut world, json!({ "json": SCHEMA }));
    world.answers(0, answer(vec![call("c1", "final_answer", "{}")], StopReason::ToolUse));
    returns(&mut world, "c1", "yes");
    world.answers(0, answer(vec![call("c2", "final_answer_", "{\"n\":4}")], StopReason::ToolUse));
    assert_eq!(result(&mut world, &run)["value"], json!({ "n": 4 }));
}

#[test]
fn an_answer_by_a_tool_that_breaks_off_leaves_nothing_empty_behind() {
    let mut world = started_with(json!({ "provider": groq() }));
    ask(&mut world, json!({ "json": SCHEMA }));
    let (key, _) = world.model(0);
    let delta = Delta { part: 0, kind: DeltaKind::ToolCall, text: "final_answer" };
    assert!(world.pages[0].harness.delta(key, delta));
    world.breaks(0, ErrorInfo::new(Code::Auth, "no"));
    assert_eq!(last(&world, "agent:error")["code"], "auth");
    assert_eq!(history(&mut world)[1]["parts"], json!([]));
}

#[test]
fn an_answer_by_a_tool_is_told_while_it_comes() {
    let mut page = Desk::started("ann");
    page.must("configureAgent", json!({ "provider": groq() }));
    page.must("sendMessage", json!({ "text": "go", "schema": { "json": SCHEMA } }));
    page.events.clear();
    let model = page.models[0];
    assert_eq!(page.harness.tells_arguments(model), ["final_answer"]);
    let pieces = ["{\"n\"", ":", "3}"];
    let told = pieces.map(|text| (DeltaKind::Arguments, text));
    for (kind, text) in [(DeltaKind::ToolCall, "final_answer")].into_iter().chain(told) {
        assert!(page.harness.delta(model, Delta { part: 0, kind, text }));
        page.harness.flush(page.now, model, Usage::default());
        page.handle(Input::Tick { online: true });
    }
    page.answers_with(vec![call("c1", "final_answer", "{\"n\":3}")], StopReason::ToolUse);
    let chunks = page.events.iter().filter(|(event, _)| *event == "agent:message-chunk");
    let chunks: Vec<_> = chunks.map(|(_, told)| (told["kind"].clone(), told["text"].clone())).collect();
    assert_eq!(chunks, pieces.map(|text| (json!("text"), json!(text))));
    let history = page.must("history", json!({}));
    assert_eq!(history[1]["parts"], json!([{ "type": "text", "text": "{\"n\":3}" }]));
}

#[test]
fn another_provider_takes_over_with_its_own_means() {
    let mut world = started_with(json!({
        "provider": { "kind": "anthropic", "apiKey": "sk-ant-0123456789" },
        "providers": { "spare": groq() },
        "fallback": ["spare"],
    }));
    let run = ask(&mut world, json!({ "json": SCHEMA }));
    let format = world.model(0).1.body["output_config"]["format"].clone();
    assert_eq!(
        (&format["type"], &format["schema"]["additionalProperties"]),
        (&json!("json_schema"), &json!(false))
    );
    world.breaks(0, ErrorInfo::new(Code::Auth, "no"));
    let tools = world.model(0).1.body["tools"].as_array().unwrap().clone();
    assert_eq!(tools.last().unwrap()["function"]["name"], "final_answer");
    world.answers(0, answer(vec![call("c", "final_answer", "{\"n\":4}")], StopReason::ToolUse));
    assert_eq!(result(&mut world, &run)["value"], json!({ "n": 4 }));
}

/// What each wire is sent for a schema that fits its subset, and for one that does not; the rules judge both.
#[test]
fn every_wire_says_it_in_its_own_way() {
    for (provider, own, free) in [
        (
            json!({ "kind": "anthropic", "apiKey": "k0123456789" }),
            "/output_config/format/schema",
            "/tool_choice",
        ),
        (
            json!({ "kind": "openai", "apiKey": "k0123456789" }),
            "/response_format/json_schema/schema",
            "/response_format",
        ),
        (
            json!({ "kind": "openai-responses", "apiKey": "k0123456789" }),
            "/text/format/schema",
            "/text/format",
        ),
        (json!({ "kind": "xai", "apiKey": "k0123456789" }), "/text/format/schema", "/text/format"),
        (
            json!({ "kind": "gemini", "apiKey": "k0123456789" }),
            "/response_format/0/schema",
            "/response_format/0",
        ),
        (json!({ "kind": "ollama" }), "/format", "/format"),
        (groq(), "/tools/0/function/parameters", "/tool_choice"),
    ] {
        for (schema, at) in [(SCHEMA, own), (FREE, free)] {
            let mut world = World::calm();
            let mut provider = provider.clone();
            provider["model"] = "m".into();
            start(&mut world, json!({ "provider": provider }));
            let run = ask(&mut world, json!({ "json": schema }));
            let body = world.model(0).1.body.clone();
            assert!(body.pointer(at).is_some_and(Value::is_object), "{at} in {body}");
            world.answers(0, says("{\"n\":1,\"of\":null}"));
            let value = if schema == SCHEMA { json!({ "n": 1 }) } else { json!({ "n": 1, "of": null }) };
            assert_eq!(result(&mut world, &run)["value"], value);
        }
    }
}

/// A catalog that knows of the only model that it can do this.
fn knows(can: Value) -> Value {
    json!({ "groq": { "m": { "can": can } } })
}

#[test]
fn a_model_that_calls_no_tools_hears_of_none() {
    let skill = json!({ "name": "facts", "description": "Finds facts.", "template": "Look." });
    for (models, told) in
        [(knows(json!(["tools"])), true), (json!({}), true), (knows(json!(["images"])), false)]
    {
        let config =
            json!({ "provider": groq(), "models": models, "instructions": "Be brief.", "skills": [skill] });
        let mut world = started_with(config);
        send(&mut world, "hello");
        let body = world.model(0).1.body.clone();
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert!(system.starts_with("Be brief."), "{system}");
        for word in ["get_fact", "use_skill"] {
            assert_eq!(system.contains(word), told, "{models}: {system}");
            assert_eq!(
                body.get("tools").is_some_and(|tools| tools.to_string().contains(word)),
                told,
                "{body}"
            );
        }
        assert_eq!(body.get("tools").is_some(), told);
        world.answers(0, says("hi"));
        assert_eq!(last(&world, "agent:session-completed")["text"], "hi");
    }
}

#[test]
fn it_is_held_to_a_schema_by_words_alone() {
    let mut world = started_with(json!({ "provider": groq(), "models": knows(json!([])) }));
    let run = ask(&mut world, json!({ "json": SCHEMA }));
    let body = world.model(0).1.body.clone();
    for member in ["tools", "tool_choice", "response_format"] {
        assert!(body.get(member).is_none(), "{member} in {body}");
    }
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("must be JSON that fits") && system.ends_with(SCHEMA), "{system}");
    world.answers(0, says("{\"n\":\"x\"}"));
    assert_eq!(sent(&world).last().unwrap()["content"], SENT_BACK);
    world.answers(0, says("{\"n\":3}"));
    assert_eq!(result(&mut world, &run)["value"], json!({ "n": 3 }));
}

#[test]
fn a_bad_schema_is_refused_before_anything_is_stored() {
    let mut world = started();
    let before = world.journal.fold.seq();
    for schema in [
        json!({ "json": "7" }),
        json!({ "json": "{\"type\":\"array\"}" }),
        json!({ "json": "{\"properties\":{\"a\":{\"minimum\":\"x\"}}}" }),
        json!({ "json": "{\"$ref\":\"https://example.org\"}" }),
        json!(7),
        json!({}),
    ] {
        let error = world.fails(0, "sendMessage", json!({ "text": "x", "schema": schema }));
        assert_eq!(error.code, Code::InvalidSchema, "{schema}: {error}");
    }
    assert_eq!(world.journal.fold.seq(), before);
}
