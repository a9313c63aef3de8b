//! Trials of keys, case by case, on a calm world.

use crate::support::desk::Desk;
use crate::support::sim::World;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::CallKey;
use serde_json::{Value, json};

const KEY: &str = "sk-marked-0123456789";

const REFUSAL: &str =
    r#"{"type":"error","error":{"type":"authentication_error","message":"bad key sk-marked-0123456789"}}"#;

/// A workspace where no agent runs.
fn world() -> World {
    let mut world = World::calm();
    world.settle(0);
    world
}

fn anthropic(key: Value) -> Value {
    json!({ "provider": { "kind": "anthropic", "apiKey": key, "baseUrl": "https://p.example" } })
}

/// Gives a command that tries a key: its number, and that of the only request in the air.
fn tries(world: &mut World, name: &str, args: Value) -> (u32, CallKey) {
    let id = world.command(0, name, args);
    // Its wire arrives first.
    world.settle(0);
    assert_eq!(answer(world, id), None);
    (id, sent(world).0)
}

/// The only request in the air, and whether it asks for another key.
fn sent(world: &World) -> (CallKey, bool) {
    let sent = &world.pages[0].sent;
    assert_eq!(sent.len(), 1, "requests in the air");
    let (call, sent) = sent.iter().next().unwrap();
    (*call, sent.refused)
}

fn answer(world: &World, id: u32) -> Option<Result<Value, ErrorInfo>> {
    world.pages[0].asked[&id].answer.clone()
}

/// What a command is answered that cannot fail.
fn value(world: &World, id: u32) -> Value {
    answer(world, id).expect("an answer").unwrap()
}

#[test]
fn a_key_is_tried_without_a_running_agent() {
    let mut world = world();
    let (id, call) = tries(&mut world, "keys.validate", anthropic(json!(KEY)));
    let request = &world.pages[0].sent[&call].request;
    assert_eq!((request.method(), request.url.as_str()), ("GET", "https://p.example/v1/models?limit=1000"));
    assert_eq!(world.pages[0].harness.secrets().scrubbed(KEY.into()), "[REDACTED]");
    world.responds(0, call, 200, r#"{"data":[]}"#);
    assert_eq!(value(&world, id), json!({ "ok": true }));
    let (id, call) = tries(&mut world, "keys.models", anthropic(json!(KEY)));
    world.responds(0, call, 200, r#"{"data":[{"id":"m-1","display_name":"M sk-marked-0123456789"}]}"#);
    let models = value(&world, id);
    assert_eq!(models[0]["id"], "m-1");
    assert!(!models.to_string().contains("marked"), "{models}");
    assert!(world.journal.rows.is_empty(), "nothing of it is stored");
}

#[test]
fn a_provider_without_a_key_is_tried_with_the_vaults() {
    let mut world = world();
    let (_, call) = tries(&mut world, "keys.models", json!({ "provider": { "kind": "openai" } }));
    assert_eq!(world.pages[0].sent[&call].http.vault.as_deref(), Some("openai"), "what sends it looks");
}

#[test]
fn a_custom_model_needs_no_key() {
    let mut world = world();
    let custom = json!({ "provider": { "kind": "custom", "stream": { "$fn": 1 }, "model": "mine" } });
    assert_eq!(world.must(0, "keys.validate", custom.clone()), json!({ "ok": true }));
    assert_eq!(world.must(0, "keys.models", custom), json!([{ "id": "mine" }]));
    assert!(world.pages[0].sent.is_empty());
}

#[test]
fn a_bad_key_is_an_answer_of_one_command_and_an_error_of_the_other() {
    let mut world = world();
    let (id, call) = tries(&mut world, "keys.validate", anthropic(json!(KEY)));
    world.responds(0, call, 401, REFUSAL);
    let said = value(&world, id);
    assert_eq!((&said["ok"], &said["error"]["code"]), (&json!(false), &json!("auth")));
    assert_eq!(said["error"]["message"], "bad key [REDACTED] (HTTP 401)");
    let (id, call) = tries(&mut world, "keys.models", anthropic(json!(KEY)));
    world.responds(0, call, 401, REFUSAL);
    assert_eq!(answer(&world, id).unwrap().unwrap_err().code, Code::Auth);
    assert!(world.pages[0].sent.is_empty(), "a text is the same the next time");
}

#[test]
fn a_function_is_asked_for_another_key_once() {
    let mut world = world();
    for good in [true, false] {
        let (id, call) = tries(&mut world, "keys.validate", anthropic(json!({ "$fn": 7 })));
        assert!(!sent(&world).1);
        world.responds(0, call, 401, REFUSAL);
        let (second, refused) = sent(&world);
        assert!(refused && second != call);
        assert_eq!(answer(&world, id), None);
        if good {
            world.responds(0, second, 200, r#"{"data":[]}"#);
        } else {
            world.responds(0, second, 401, REFUSAL);
        }
        assert_eq!(value(&world, id)["ok"], good);
        assert!(world.pages[0].sent.is_empty());
    }
    // What is not about the key is no reason to ask for another.
    let (id, call) = tries(&mut world, "keys.validate", anthropic(json!({ "$fn": 7 })));
    world.responds(0, call, 500, "{}");
    assert_eq!(value(&world, id)["error"]["code"], "server");
}

#[test]
fn a_trial_has_its_time_for_both_keys() {
    let mut world = world();
    let (id, call) = tries(&mut world, "keys.validate", anthropic(json!({ "$fn": 7 })));
    world.pass(0, 20_000);
    world.responds(0, call, 401, REFUSAL);
    let (second, _) = sent(&world);
    assert_eq!(world.pages[0].harness.deadline(), Some(world.now + 10_000));
    world.pass(0, 9_999);
    assert_eq!(answer(&world, id), None);
    world.pass(0, 1);
    let said = value(&world, id);
    assert_eq!((&said["ok"], &said["error"]["code"]), (&json!(false), &json!("timeout")));
    assert!(world.pages[0].sent.is_empty(), "it is aborted");
    world.is_over(0, second, Ok(()));
    assert_eq!(world.pages[0].harness.deadline(), None);

    let mut config = anthropic(json!(KEY));
    config["provider"]["timeouts"] = json!({ "connectMs": 500 });
    let (id, _) = tries(&mut world, "keys.models", config);
    world.pass(0, 500);
    assert_eq!(answer(&world, id).unwrap().unwrap_err().code, Code::Timeout);
}

#[test]
fn what_breaks_off_or_makes_no_sense_is_told() {
    let mut world = world();
    let broken = || ErrorInfo::new(Code::StreamBroken, "the connection broke off");
    let (id, call) = tries(&mut world, "keys.validate", anthropic(json!(KEY)));
    world.is_over(0, call, Err(broken()));
    assert_eq!(value(&world, id)["error"]["code"], "stream_broken");
    let (id, call) = tries(&mut world, "keys.models", anthropic(json!(KEY)));
    world.responds(0, call, 200, "<html>");
    assert_eq!(answer(&world, id).unwrap().unwrap_err().code, Code::Protocol);
    // The page's own fetch may end without a head.
    let (id, call) = tries(&mut world, "keys.models", anthropic(json!(KEY)));
    world.is_over(0, call, Ok(()));
    assert_eq!(answer(&world, id).unwrap().unwrap_err().code, Code::Protocol);
    // Elsewhere nobody goes with a key.
    let (id, call) = tries(&mut world, "keys.validate", anthropic(json!(KEY)));
    world.responds(0, call, 302, "");
    assert_eq!(value(&world, id)["error"]["code"], "protocol");
}

#[test]
fn an_endless_answer_is_not_read_to_its_end() {
    let mut world = world();
    let (id, call) = tries(&mut world, "keys.models", anthropic(json!(KEY)));
    let now = world.now;
    let harness = &mut world.pages[0].harness;
    assert!(!harness.head(now, call, 200, Vec::new()));
    let megabyte = vec![b' '; 1024 * 1024];
    let read = (1..=20).find(|_| !harness.body(now, call, &megabyte));
    assert_eq!(read, Some(8));
    world.is_over(0, call, Ok(()));
    assert!(answer(&world, id).unwrap().is_err());
}

/// A provider's own server is its own also where a page says it: a key is needed there, and behind a proxy it is not.
#[test]
fn a_provider_without_a_key_at_its_own_address_is_not_configured() {
    let own = "https://api.anthropic.com";
    for (base, configured) in [
        (json!(null), false),
        (json!(own), false),
        (json!(format!("{own}/")), false),
        (json!("https://api.anthropic.com.example"), true),
        (json!(format!("{own}/v1")), false),
        (json!("HTTPS://API.Anthropic.com:443/"), false),
        (json!("https://p.example"), true),
    ] {
        let provider = json!({ "kind": "anthropic", "baseUrl": base });
        let mut page = Desk::of("ann");
        page.start_with(json!({ "own": provider }));
        page.must("sessions.launch", json!({ "id": "a", "provider": "own" }));
        let status = page.status("a")["status"].clone();
        assert_eq!(status, if configured { "running" } else { "starting" }, "{base}");
        page.must("configureAgent", json!({ "provider": provider }));
        assert_eq!(page.must("settings", json!({}))["api_key_configured"], configured, "{base}");
    }
}
