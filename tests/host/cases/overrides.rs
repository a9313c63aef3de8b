//! What a session and a message have otherwise than the agent's configuration, on a calm world.

use crate::support::desk::{Answered, Desk};
use lodger::error::Code;
use serde_json::{Value, json};

/// A page with an agent: a provider that is asked first, and two with names, of which one takes over.
fn page() -> Desk {
    let mut page = Desk::of("somebody");
    equip(&mut page);
    page
}

fn equip(page: &mut Desk) {
    for name in ALL {
        let tool =
            json!({ "name": name, "description": "Does it.", "inputSchema": "{}", "execute": { "$fn": 7 } });
        page.must("tools.register", tool);
    }
    page.must("startAgent", config());
}

fn config() -> Value {
    let at = |model: &str| json!({ "kind": "custom", "model": model, "stream": { "$fn": 50 } });
    json!({
        "provider": at("model-a"), "providers": { "spare": at("model-s"), "third": at("model-t") }, "fallback": ["third"],
        "instructions": "General.", "temperature": 0.25, "maxOutputTokens": 300,
    })
}

/// The page goes away without a word, and another goes on.
fn lost(page: Desk) -> Desk {
    let mut page = page.crash("somebody");
    equip(&mut page);
    page
}

fn with(mut args: Value, more: &Value) -> Value {
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    args
}

fn launch(page: &mut Desk, config: Value) {
    page.must("sessions.launch", with(json!({ "id": "a" }), &config));
}

fn say(page: &mut Desk, config: &Value) -> Answered {
    page.ask("sendMessage", with(json!({ "text": "hello", "sessionId": "a" }), config))
}

fn configure(page: &mut Desk, config: &Value) -> Answered {
    page.ask("sessions.configure", json!({ "id": "a", "config": config }))
}

/// The model, the system prompt's first words, the temperature, the most tokens, the names of the tools.
fn asked(page: &Desk) -> Value {
    assert_eq!(page.models.len(), 1, "model calls in the air");
    let body = &page.asked;
    let system = body["messages"][0]["content"].as_str().unwrap_or_default();
    let first: String = system.chars().take_while(|c| *c != '.').collect();
    let names = body["tools"].as_array().into_iter().flatten().map(|tool| tool["function"]["name"].clone());
    json!([body["model"], first, body["temperature"], body["max_tokens"], names.collect::<Vec<_>>()])
}

const ALL: [&str; 3] = ["get_fact", "put_log", "send_mail"];

#[test]
fn a_message_counts_before_its_session_and_that_before_the_configuration() {
    let mut page = page();
    launch(&mut page, json!({ "model": "model-b", "temperature": 0.5, "tools": ["get_fact"] }));
    let all = json!(ALL);
    for (config, expected) in [
        (json!({}), json!(["model-b", "General", 0.5, 300, ["get_fact"]])),
        (
            json!({ "model": "model-c", "instructions": "Short.", "maxOutputTokens": 9 }),
            json!(["model-c", "Short", 0.5, 9, ["get_fact"]]),
        ),
        (json!({ "tools": [], "temperature": null }), json!(["model-b", "General", 0.25, 300, []])),
        (json!({ "tools": null, "model": null }), json!(["model-a", "General", 0.5, 300, all])),
        // A model belongs to its provider.
        (json!({ "provider": "spare" }), json!(["model-s", "General", 0.5, 300, ["get_fact"]])),
        (
            json!({ "provider": "spare", "model": "model-x" }),
            json!(["model-x", "General", 0.5, 300, ["get_fact"]]),
        ),
    ] {
        say(&mut page, &config).unwrap();
        assert_eq!(asked(&page), expected, "{config}");
        page.says("done");
    }
    // Another session has none of it.
    page.must("sendMessage", json!({ "text": "hello" }));
    assert_eq!(asked(&page), json!(["model-a", "General", 0.25, 300, all]));
    page.says("done");
    page.holds("a");
}

#[test]
fn a_session_is_configured_anew_and_outlives_its_page() {
    let mut page = page();
    launch(&mut page, json!({ "model": "model-b", "reasoning": "low" }));
    let state = configure(&mut page, &json!({ "provider": "spare", "instructions": "Terse." })).unwrap();
    assert_eq!(state["config"], json!({ "provider": "spare", "reasoning": "low", "instructions": "Terse." }));
    assert_eq!((&state["provider_id"], &state["model_id"]), (&json!("spare"), &json!("model-s")));
    assert_eq!(page.events.last().unwrap().1["change"], "configured");
    let mut page = lost(page);
    let of = |page: &mut Desk| {
        let listed = page.must("sessions.list", json!({}));
        listed.as_array().unwrap().iter().find(|one| one["id"] == "a").unwrap().clone()
    };
    let listed = of(&mut page);
    assert_eq!(listed["config"], state["config"]);
    assert_eq!(listed["answered_by"], json!({ "provider": "spare", "model": "model-s" }));
    say(&mut page, &json!({})).unwrap();
    assert_eq!(asked(&page), json!(["model-s", "Terse", 0.25, 300, ALL]));
    page.says("done");
    // What is `null` is as the configuration has it.
    let general = json!({ "provider": null, "reasoning": null, "instructions": null, "model": "model-d" });
    configure(&mut page, &general).unwrap();
    assert_eq!(of(&mut page)["config"], json!({ "model": "model-d" }));
    assert_eq!(of(&mut page)["answered_by"], json!({ "provider": "custom", "model": "model-d" }));
    say(&mut page, &json!({})).unwrap();
    assert_eq!(asked(&page), json!(["model-d", "General", 0.25, 300, ALL]));
}

#[test]
fn a_run_keeps_what_its_message_said_over_a_loss_a_failure_and_an_answer_made_anew() {
    let mut page = page();
    launch(&mut page, json!({}));
    say(&mut page, &json!({ "provider": "spare", "model": "model-x", "tools": ["send_mail"] })).unwrap();
    let expected = json!(["model-x", "General", 0.25, 300, ["send_mail"]]);
    assert_eq!(asked(&page), expected);
    let mut page = lost(page);
    page.must("resume", json!({ "sessionId": "a" }));
    assert_eq!(asked(&page), expected, "after a loss");
    page.must("interrupt", json!({ "sessionId": "a" }));
    page.must("resume", json!({ "sessionId": "a" }));
    assert_eq!(asked(&page), expected, "gone on with after an interrupt");
    page.says("done");
    page.must("regenerate", json!({ "sessionId": "a" }));
    assert_eq!(asked(&page), expected, "made anew");
    page.says("done");
    page.must("regenerate", json!({ "sessionId": "a", "model": "model-y" }));
    assert_eq!(asked(&page)[0], "model-y");
    page.says("done");
    page.must("regenerate", json!({ "sessionId": "a", "provider": null, "tools": null }));
    assert_eq!(asked(&page), json!(["model-a", "General", 0.25, 300, ALL]));
}

#[test]
fn who_takes_over_is_asked_for_its_own_model() {
    let mut page = page();
    launch(&mut page, json!({ "model": "model-b", "temperature": 0.75 }));
    say(&mut page, &json!({ "provider": "spare", "model": "model-x" })).unwrap();
    page.breaks(Code::Auth);
    assert_eq!(asked(&page)[0], "model-t");
    assert_eq!(asked(&page)[2], 0.75);
}

#[test]
fn a_run_at_work_goes_by_the_change_from_its_next_call_on() {
    let mut page = page();
    launch(&mut page, json!({}));
    say(&mut page, &json!({})).unwrap();
    page.must(
        "sessions.configure",
        json!({ "id": "a", "config": { "provider": "spare", "tools": ["get_fact"] } }),
    );
    // It is not its tool any more.
    page.wants("send_mail");
    assert_eq!(asked(&page), json!(["model-s", "General", 0.25, 300, ["get_fact"]]));
    let refused = page.asked["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(refused.contains("send_mail is not one of the tools of this run"), "{refused}");
    assert!(page.tools.is_empty());
    page.says("done");
    page.holds("a");
}

#[test]
fn what_cannot_be_gone_by_is_refused_before_anything_is_written() {
    let mut page = page();
    launch(&mut page, json!({}));
    let rows = page.rows("a").len();
    for (config, says) in [
        (json!({ "provider": "nobody" }), "no provider is called \"nobody\""),
        (json!({ "tools": ["get_facts"] }), "tools names \"get_facts\", which is not registered"),
        (json!({ "tools": "get_fact" }), "tools must be a list of texts"),
        (json!({ "temperature": "warm" }), "temperature must be a number"),
        (json!({ "maxOutputTokens": 0 }), "maxOutputTokens must be a whole number from 1 to 4294967295"),
        (json!({ "reasoning": "very" }), "reasoning must be one of"),
        (json!({ "instructions": { "$fn": 3 } }), "needs \"instructions\" to be a text"),
    ] {
        let launched = page.ask("sessions.launch", with(json!({ "id": "b" }), &config));
        for refused in [say(&mut page, &config), configure(&mut page, &config), launched] {
            let error = refused.unwrap_err();
            assert!(error.message.contains(says), "{config}: {}", error.message);
        }
    }
    assert_eq!((page.rows("a").len(), page.rows("b").len()), (rows, 0));
    let nobody = configure(&mut page, &json!({ "provider": "nobody" })).unwrap_err();
    assert!(
        nobody.hint.as_deref().is_some_and(|hint| hint.starts_with("startAgent's providers are: ")),
        "{nobody}"
    );
    let unknown = json!({ "id": "a", "config": { "maxTurns": 3 } });
    let why = page.fails("sessions.configure", unknown).1;
    assert!(
        why.starts_with("sessions.configure does not know \"maxTurns\"; it takes provider, model, "),
        "{why}"
    );
    say(&mut page, &json!({})).unwrap();
    let steer = say(&mut page, &json!({ "whenBusy": "steer", "model": "model-b" })).unwrap_err();
    assert_eq!(steer.code, Code::InvalidConfig);
    say(&mut page, &json!({ "whenBusy": "queue", "model": "model-q" })).unwrap();
    page.says("done");
    assert_eq!(asked(&page)[0], "model-q", "what waits keeps what it says");
}

#[test]
fn a_budget_of_money_needs_the_price_of_the_model_that_is_named() {
    let mut page = page();
    let priced = json!({ "custom": { "model-a": { "price": [1, 2] } } });
    page.must(
        "configureAgent",
        json!({ "fallback": [], "models": priced, "budgets": { "run": { "cost": 1 } } }),
    );
    launch(&mut page, json!({}));
    let error = say(&mut page, &json!({ "model": "unheard-of" })).unwrap_err();
    assert!(
        error.message.contains("the price of the model \"unheard-of\" is not known"),
        "{}",
        error.message
    );
    let error = say(&mut page, &json!({ "provider": "spare", "model": "unheard-of" })).unwrap_err();
    assert!(error.message.contains("\"unheard-of\""), "{}", error.message);
}
