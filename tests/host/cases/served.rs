//! Tools that a model's provider runs: what is offered, when a person is asked first, and what comes of them.

use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::harness::{Input, Notice};
use lodger::model::{Answer, Block, Decoder, Delta, DeltaKind, ServerCall, StopReason, Usage, Wire, served};
use lodger::ports::{MemoryStore, Table};
use lodger::session::replay;
use serde_json::{Value, json};

fn provider(kind: &str, preset: Option<&str>) -> Value {
    let mut provider = json!({ "kind": kind, "apiKey": "sk-test-key-1", "model": "test-model" });
    if let Some(preset) = preset {
        provider["preset"] = json!(preset);
    }
    provider
}

fn config(more: Value) -> Value {
    let mut config = json!({ "provider": provider("anthropic", None), "serverTools": ["web_search"] });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

fn opened(store: MemoryStore, now: u64, more: Value) -> Desk {
    let mut desk = Desk::on(store, now, "ann");
    desk.must("startAgent", config(more));
    desk
}

fn desk(more: Value) -> Desk {
    opened(MemoryStore::new(), 1_779_430_500_000, more)
}

/// The page goes away, and another opens.
fn again(desk: &Desk, more: Value) -> Desk {
    opened(desk.store.clone(), desk.now + 1_000, more)
}

/// The types of the tools that the model was offered last.
fn offered(desk: &Desk) -> Vec<String> {
    let tools = desk.asked["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| tool["type"].as_str().map(String::from)).collect()
}

fn told<'a>(desk: &'a Desk, event: &str) -> Vec<&'a Value> {
    desk.events.iter().filter(|(name, _)| *name == event).map(|(_, detail)| detail).collect()
}

fn notices(desk: &Desk) -> Vec<Value> {
    let all = told(desk, "agent:notice").into_iter();
    all.filter(|of| of["kind"] == "server_tools").map(|of| json!([of["tools"], of["because"]])).collect()
}

/// What is asked about now.
fn asked(desk: &Desk) -> Option<Value> {
    let last = |name: &str| desk.events.iter().rposition(|(event, _)| *event == name);
    let at = last("agent:permission-required")?;
    (last("agent:permission-resolved") < Some(at)).then(|| desk.events[at].1.clone())
}

fn answer(desk: &mut Desk, answer: &str) {
    let asked = asked(desk).expect("a question");
    desk.must("resolvePermission", json!({ "requestId": asked["requestId"], "answer": answer }));
}

fn replays(desk: &mut Desk) {
    let rows = desk.rows("default");
    replay("default", rows.iter().map(String::as_str)).unwrap().unwrap();
}

/// A search of Anthropic's, and what was found.
fn searched() -> Vec<Block> {
    vec![
        Block::Raw(json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": { "query": "hours" } }).to_string()),
        Block::ServerCall(ServerCall::named("web_search")),
        Block::Raw(json!({ "type": "web_search_tool_result", "tool_use_id": "s", "content": [{ "type": "web_search_result", "url": "https://shop.example/", "title": "Shop" }] }).to_string()),
        Block::Text("Open till six.".into()),
        Block::Extra(
            json!({ "citations": [{ "url": "https://shop.example/", "title": "Shop", "cited_text": "till six" }] })
                .to_string(),
        ),
    ]
}

#[test]
fn each_wire_offers_what_its_provider_has() {
    let all = json!(["web_search", "url_context", "code_interpreter"]);
    for (kind, preset, tools, left) in [
        (
            "anthropic",
            None,
            json!(["web_search_20250305", "web_fetch_20250910", "code_execution_20250825"]),
            json!([]),
        ),
        ("openai-responses", None, json!(["web_search", "code_interpreter"]), json!(["web_fetch"])),
        ("xai", None, json!(["web_search", "code_interpreter"]), json!(["web_fetch"])),
        ("gemini", None, json!(["google_search", "url_context", "code_execution"]), json!([])),
        ("openai", None, json!([]), json!(["web_search", "web_fetch", "code_execution"])),
        ("openai-compatible", Some("openrouter"), json!([]), json!(["web_fetch", "code_execution"])),
        ("openai-compatible", Some("groq"), json!([]), json!(["web_search", "web_fetch", "code_execution"])),
        ("ollama", None, json!([]), json!(["web_search", "web_fetch", "code_execution"])),
    ] {
        let mut desk = desk(json!({ "provider": provider(kind, preset), "serverTools": all }));
        for _ in 0..2 {
            desk.must("sendMessage", json!({ "text": "look" }));
            assert_eq!(json!(offered(&desk)), tools, "{kind}");
            let plugins = if preset == Some("openrouter") { json!([{ "id": "web" }]) } else { Value::Null };
            assert_eq!(desk.asked["plugins"], plugins, "{kind}");
            desk.says("well");
        }
        let once = if left == json!([]) { vec![] } else { vec![json!([left, "unsupported"]); 2] };
        assert_eq!(notices(&desk), once, "{kind}: each run tells it once");
        assert!(asked(&desk).is_none());
        replays(&mut desk);
    }
}

#[test]
fn the_pages_own_items_stand_beside_ours() {
    let own = json!({ "type": "web_search_20260209", "name": "web_search", "max_uses": 2 });
    let mut desk = desk(json!({
        "serverTools": [own, "web_fetch"],
        "providerOptions": { "tools": [{ "type": "memory_20250818", "name": "memory" }] },
    }));
    let tool = json!({ "name": "look", "description": "d", "inputSchema": {}, "execute": { "$fn": 60 } });
    desk.must("tools.register", tool);
    desk.must("sendMessage", json!({ "text": "look" }));
    let names: Vec<&str> =
        desk.asked["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["look", "web_search", "web_fetch", "memory"]);
    assert_eq!(desk.asked["tools"][1], own);
    desk.says("well");
    // A tool of the page keeps its name.
    let tool =
        json!({ "name": "web_fetch", "description": "d", "inputSchema": {}, "execute": { "$fn": 61 } });
    desk.must("tools.register", tool);
    desk.must("sendMessage", json!({ "text": "look" }));
    assert_eq!(notices(&desk), [json!([["web_fetch"], "name_taken"])]);
    assert_eq!(offered(&desk), ["web_search_20260209", "memory_20250818"]);
}

#[test]
fn an_object_goes_where_its_type_is_known() {
    let anthropic = [
        "web_search_20250305",
        "web_search_20260209",
        "web_fetch_20250910",
        "code_execution_20250825",
        "tool_search_tool_bm25_20251119",
        "mcp_toolset",
    ];
    let openai = [
        "web_search",
        "web_search_2025_08_26",
        "web_search_preview",
        "web_search_preview_2025_03_11",
        "code_interpreter",
        "file_search",
        "image_generation",
        "mcp",
    ];
    let xai = ["web_search", "code_interpreter", "file_search", "mcp", "x_search"];
    let gemini = ["file_search", "google_search", "google_maps", "url_context", "code_execution"];
    let groq = ["code_interpreter", "browser_search"];
    let router = ["openrouter:web_search", "openrouter:datetime"];
    let all = [&anthropic[..], &openai, &["x_search"], &gemini[1..], &["browser_search"], &router].concat();
    let objects: Vec<Value> = all.iter().map(|kind| json!({ "type": kind })).collect();
    for (provider, takes) in [
        (provider("anthropic", None), &anthropic[..]),
        (provider("openai-responses", None), &openai),
        (provider("xai", None), &xai),
        (provider("gemini", None), &gemini),
        (provider("openai", None), &[]),
        (provider("openai-compatible", Some("groq")), &groq),
        (provider("openai-compatible", Some("openrouter")), &router),
        (json!({ "kind": "openai-compatible", "baseUrl": "https://models.example/v1", "model": "m" }), &[]),
        (provider("xai", Some("chat")), &[]),
        (provider("ollama", None), &[]),
        (json!({ "kind": "custom", "stream": { "$fn": 50 } }), &[]),
    ] {
        let mut desk = desk(json!({ "provider": provider, "serverTools": objects }));
        desk.must("sendMessage", json!({ "text": "look" }));
        let (goes, left): (Vec<&str>, Vec<&str>) = all.iter().copied().partition(|kind| takes.contains(kind));
        assert_eq!(offered(&desk), goes, "{provider}");
        assert_eq!(notices(&desk), [json!([left, "unsupported"])], "{provider}");
        desk.says("well");
        replays(&mut desk);
    }
}

#[test]
fn a_type_that_no_provider_has_is_refused_by_its_member() {
    let mut desk = desk(json!({}));
    for kind in [
        "web_serch_20250305",
        "web_search_2025030",
        "web_search_",
        "memory_20250818",
        "function",
        "openrouter",
    ] {
        let tools = json!(["web_search", { "type": kind, "name": "web_search" }]);
        let (code, message) = desk.fails("configureAgent", json!({ "serverTools": tools }));
        let said = format!("serverTools[1].type is \"{kind}\", which no provider has");
        assert!(code == Code::InvalidConfig && message.starts_with(&said), "{message}");
    }
    // What is new goes to the provider in use.
    desk.must(
        "configureAgent",
        json!({ "serverTools": null, "providerOptions": { "tools": [{ "type": "new_20300101" }] } }),
    );
    desk.must("sendMessage", json!({ "text": "look" }));
    assert_eq!(offered(&desk), ["new_20300101"]);
}

#[test]
fn text_from_outside_asks_once_a_run_before_the_request() {
    for (said, offers) in [("allow_once", true), ("always_allow", true), ("deny", false)] {
        let mut desk = desk(json!({ "permissions": { "tools": { "web_search": "allow" } } }));
        let tool = json!({ "name": "read", "description": "d", "inputSchema": {}, "execute": { "$fn": 60 }, "readOnly": true });
        desk.must("tools.register", tool);
        desk.must("watch", json!({}));
        desk.must("sendMessage", json!({ "text": "look", "context": "the page" }));
        assert!(desk.models.is_empty(), "the request waits");
        let question = asked(&desk).unwrap();
        assert_eq!((&question["tool"], &question["reason"]), (&json!("web_search"), &json!("external_text")));
        assert_eq!(question["outside"], json!(["context"]));
        assert_eq!(question["arguments"], json!({ "serverTools": ["web_search"] }));
        assert_eq!(told(&desk, "agent:status-changed").last().unwrap()["lifecycle"], "Suspended");
        let view = desk.notices.iter().rev().find_map(|notice| match notice {
            Notice::View(_, view) => serde_json::from_str::<Value>(view).ok(),
            _ => None,
        });
        assert_eq!(view.unwrap()["permissions"][0]["requestId"], question["requestId"]);
        answer(&mut desk, said);
        assert_eq!(!offered(&desk).is_empty(), offers, "{said}");
        // Not again in the same run.
        desk.wants("read");
        desk.returns(0);
        assert!(asked(&desk).is_none());
        assert_eq!(!offered(&desk).is_empty(), offers, "{said}");
        desk.says("well");
        assert_eq!(
            notices(&desk),
            if offers { vec![] } else { vec![json!([["web_search"], "not_allowed"])] }
        );
        desk.must("sendMessage", json!({ "text": "and now" }));
        let lasts = said == "always_allow";
        assert_eq!(asked(&desk).is_none(), lasts, "{said}");
        if !lasts {
            answer(&mut desk, "deny");
        }
        desk.says("well");
        replays(&mut desk);
    }
}

#[test]
fn what_is_always_allowed_lasts_until_another_origin_comes() {
    let mut desk = desk(json!({}));
    let tool = json!({ "name": "fetch", "description": "d", "inputSchema": {}, "execute": { "$fn": 60 }, "source": "External", "readOnly": true });
    desk.must("tools.register", tool);
    desk.must("sendMessage", json!({ "text": "look", "context": "the page" }));
    answer(&mut desk, "always_allow");
    desk.wants("fetch");
    desk.returns(0);
    // Also in the run that began with that leave.
    assert_eq!(asked(&desk).unwrap()["outside"], json!(["context", "tool:fetch"]));
    answer(&mut desk, "allow_once");
    desk.says("well");
    desk.must("sendMessage", json!({ "text": "and now" }));
    assert_eq!(asked(&desk).unwrap()["outside"], json!(["context", "tool:fetch"]));
    answer(&mut desk, "always_allow");
    desk.says("well");
    desk.must("sendMessage", json!({ "text": "and now" }));
    assert!(asked(&desk).is_none());
    desk.says("well");
    desk.must("tools.revoke", json!({ "tool": "web_search" }));
    desk.must("sendMessage", json!({ "text": "and now" }));
    assert!(asked(&desk).is_some());
    replays(&mut desk);
}

#[test]
fn text_from_outside_that_comes_in_the_middle_asks_before_the_next_request() {
    let mut desk = desk(json!({}));
    let tool = json!({ "name": "fetch", "description": "d", "inputSchema": {}, "execute": { "$fn": 60 }, "source": "External", "readOnly": true });
    desk.must("tools.register", tool);
    desk.must("sendMessage", json!({ "text": "look" }));
    assert_eq!(offered(&desk), ["web_search_20250305"]);
    desk.wants("fetch");
    desk.returns(0);
    assert_eq!(asked(&desk).unwrap()["outside"], json!(["tool:fetch"]));
    answer(&mut desk, "deny");
    assert_eq!(offered(&desk), Vec::<String>::new());
    desk.says("well");
    replays(&mut desk);
}

#[test]
fn a_yes_is_for_the_origins_that_were_named_and_a_no_for_the_run() {
    let tool = json!({ "name": "fetch", "description": "d", "inputSchema": {}, "execute": { "$fn": 60 }, "source": "External", "readOnly": true });
    let message = json!({ "text": "look", "context": "the page" });
    for (first, offers) in [("allow_once", true), ("always_allow", true), ("deny", false)] {
        let mut desk = desk(json!({}));
        desk.must("tools.register", tool.clone());
        desk.must("sendMessage", message.clone());
        assert_eq!(asked(&desk).unwrap()["outside"], json!(["context"]), "{first}");
        answer(&mut desk, first);
        assert_eq!(!offered(&desk).is_empty(), offers, "{first}");
        for _ in 0..2 {
            desk.wants("fetch");
            desk.returns(0);
            if let Some(question) = asked(&desk) {
                assert!(offers, "a no is not asked about again");
                assert_eq!(question["outside"], json!(["context", "tool:fetch"]), "{first}");
                answer(&mut desk, "allow_once");
            }
            assert_eq!(!offered(&desk).is_empty(), offers, "{first}");
        }
        desk.says("well");
        let questions = told(&desk, "agent:permission-required").len();
        assert_eq!(questions, 1 + usize::from(offers), "{first}: once for each origin");
        replays(&mut desk);
    }
}

/// Another provider, and another conversation, has not brought what a page has.
#[test]
fn what_they_have_brought_is_text_from_outside_in_a_page_and_in_a_memory() {
    for keeps in ["page", "memory"] {
        let mut desk = Desk::with(MemoryStore::new(), 1_779_430_500_000, "ann", true);
        desk.must("startAgent", config(json!({ "memory": true })));
        desk.must("sendMessage", json!({ "text": "when do they open" }));
        let (name, args) = match keeps {
            "page" => ("create_page", json!({ "title": "Note", "content": "Open till six." })),
            _ => ("remember", json!({ "text": "They are open till six." })),
        };
        let call = Block::ToolCall { id: "m".into(), name: name.into(), arguments: args.to_string() };
        let mut blocks = searched();
        blocks.push(call);
        desk.answers_with(blocks, StopReason::ToolUse);
        while let Some(question) = asked(&desk) {
            assert_eq!(question["tool"], name);
            answer(&mut desk, "allow_once");
        }
        desk.says("kept");
        desk.must("clearConversation", json!({}));
        desk.must("sendMessage", json!({ "text": "what did we keep?" }));
        assert!(asked(&desk).is_none() && !offered(&desk).is_empty(), "nothing of it is here yet");
        let (name, args) = match keeps {
            "page" => ("read_page", json!({ "slug": "note" })),
            _ => ("recall", json!({ "query": "open" })),
        };
        let call = Block::ToolCall { id: "r".into(), name: name.into(), arguments: args.to_string() };
        desk.answers_with(vec![call], StopReason::ToolUse);
        let history = desk.must("history", json!({}));
        let question = asked(&desk).unwrap_or_else(|| panic!("{keeps}: nobody is asked: {history}"));
        assert!(question["outside"].to_string().contains("served:web_search_tool_result"), "{question}");
        answer(&mut desk, "deny");
        desk.says("well");
        replays(&mut desk);
    }
}

/// What they bring is text from outside: an effect asks, and they themselves do not.
#[test]
fn what_they_bring_asks_before_an_effect_and_not_before_them() {
    let mut desk = desk(json!({}));
    desk.must(
        "tools.register",
        json!({ "name": "send_mail", "description": "d", "inputSchema": {}, "execute": { "$fn": 60 } }),
    );
    desk.must("sendMessage", json!({ "text": "when do they open" }));
    let mut blocks = searched();
    blocks.push(Block::ToolCall { id: "m".into(), name: "send_mail".into(), arguments: "{}".into() });
    desk.answers_with(blocks, StopReason::ToolUse);
    let question = asked(&desk).unwrap();
    assert_eq!(question["tool"], "send_mail");
    assert!(question["outside"].to_string().contains("provider:web_search_tool_result"));
    answer(&mut desk, "deny");
    desk.says("not sent");
    desk.must("sendMessage", json!({ "text": "again" }));
    assert!(asked(&desk).is_none());
    assert_eq!(offered(&desk), ["web_search_20250305"]);
    desk.says("well");
    replays(&mut desk);
}

#[test]
fn rules_by_name_count() {
    for (permissions, left, asks) in [
        (json!({ "tools": { "web_search": "deny" } }), true, false),
        (json!({ "default": "deny" }), true, false),
        (json!({ "default": "deny", "tools": { "web_search": "allow" } }), false, false),
        (json!({ "tools": { "web_search": "ask" } }), false, true),
        (json!({ "default": "ask" }), false, true),
    ] {
        let mut desk = desk(json!({ "permissions": permissions }));
        desk.must("sendMessage", json!({ "text": "look" }));
        assert_eq!(notices(&desk).len(), usize::from(left), "{permissions}");
        let question = asked(&desk);
        assert_eq!(question.is_some(), asks, "{permissions}");
        if let Some(question) = question {
            assert_eq!((&question["reason"], &question["outside"]), (&json!("policy"), &Value::Null));
            answer(&mut desk, "always_allow");
        }
        assert_eq!(offered(&desk).is_empty(), left, "{permissions}");
        desk.says("well");
        desk.must("sendMessage", json!({ "text": "look" }));
        assert!(asked(&desk).is_none(), "{permissions}");
        desk.says("well");
        replays(&mut desk);
    }
}

#[test]
fn a_question_waits_like_others() {
    let outside = json!({ "text": "look", "context": "the page" });
    // It outlives its page.
    let mut first = desk(json!({}));
    first.must("sendMessage", outside.clone());
    let mut desk = again(&first, json!({}));
    assert_eq!(told(&desk, "agent:status-changed").last().unwrap()["lifecycle"], "Suspended");
    answer(&mut desk, "allow_once");
    assert_eq!(offered(&desk), ["web_search_20250305"]);
    desk.says("well");
    replays(&mut desk);
    // A stop takes it back.
    desk.must("sendMessage", outside.clone());
    let request = asked(&desk).unwrap()["requestId"].clone();
    desk.must("interrupt", json!({}));
    assert_eq!(told(&desk, "agent:permission-resolved").last().unwrap()["answer"], "withdrawn");
    let late = desk.fails("resolvePermission", json!({ "requestId": request, "answer": "allow_once" }));
    assert_eq!(late.0, Code::RequestNotFound);
    replays(&mut desk);
    // A session that is put aside asks again when it is taken up.
    desk.must("sendMessage", outside.clone());
    desk.must("sessions.bench", json!({ "id": "default" }));
    let questions = told(&desk, "agent:permission-required").len();
    desk.must("sessions.play", json!({ "id": "default" }));
    assert_eq!(told(&desk, "agent:permission-required").len(), questions + 1);
    answer(&mut desk, "deny");
    desk.says("well");
    replays(&mut desk);
    // Nobody's silence is a yes.
    let mut desk = self::desk(json!({ "permissions": { "timeoutMs": 5_000 } }));
    desk.must("sendMessage", outside);
    desk.now += 10_000;
    desk.handle(Input::Tick { online: true });
    assert_eq!(offered(&desk), Vec::<String>::new());
    assert_eq!(notices(&desk), [json!([["web_search"], "not_allowed"])]);
    desk.says("well");
    replays(&mut desk);
}

#[test]
fn calls_and_sources_are_shown_and_told_to_others() {
    let spare = json!({ "kind": "custom", "model": "model-1", "stream": { "$fn": 51 } });
    let mut desk = desk(json!({ "providers": { "spare": spare } }));
    desk.must("sendMessage", json!({ "text": "when do they open" }));
    // While it streams, the call is there.
    let call = desk.models[0];
    desk.must("watch", json!({}));
    assert!(desk.harness.delta(call, Delta { part: 0, kind: DeltaKind::ServerCall, text: "web_search" }));
    desk.harness.flush(desk.now, call, Usage::default());
    let parts = |desk: &mut Desk| {
        desk.must("history", json!({})).as_array().unwrap().last().unwrap()["parts"].clone()
    };
    assert_eq!(
        parts(&mut desk),
        json!([{ "type": "tool-call", "toolCallId": "receiving-0", "tool": "web_search", "arguments": {}, "status": "started", "by": "provider" }])
    );
    assert!(desk.harness.delta(call, Delta { part: 1, kind: DeltaKind::Text, text: "Open till six." }));
    desk.harness.flush(desk.now, call, Usage::default());
    desk.answers_with(searched(), StopReason::EndTurn);
    let whole = json!([
        { "type": "tool-call", "toolCallId": "s", "tool": "web_search", "arguments": { "query": "hours" }, "status": "completed",
            "by": "provider", "result": "Shop https://shop.example/" },
        { "type": "text", "text": "Open till six." },
        { "type": "source", "url": "https://shop.example/", "title": "Shop", "citedText": "till six", "at": { "part": 1 } },
    ]);
    assert_eq!(parts(&mut desk), whole);
    let chunk = told(&desk, "agent:message-chunk").last().unwrap()["part"].clone();
    assert_eq!(chunk, 1);
    assert!(told(&desk, "agent:tool-call").is_empty());
    // Its own provider has its own words again.
    desk.must("sendMessage", json!({ "text": "and on sunday" }));
    let said = desk.asked["messages"].to_string();
    assert!(
        said.contains("server_tool_use") && said.contains("citations") && !said.contains("Source: "),
        "{said}"
    );
    desk.says("Closed.");
    // Another one reads of it, as data.
    desk.must("sendMessage", json!({ "text": "and on monday", "provider": "spare", "serverTools": [] }));
    let said = desk.asked["messages"].to_string();
    for word in [
        "web_search({\\\"query\\\":\\\"hours\\\"}) gave:",
        "Source: Shop https://shop.example/: till six",
        "source=\\\"External\\\"",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("server_tool_use"));
    desk.says("Open.");
    let again = again(
        &desk,
        json!({ "providers": { "spare": { "kind": "custom", "model": "model-1", "stream": { "$fn": 51 } } } }),
    );
    let mut desk = again;
    assert_eq!(desk.must("history", json!({}))[1]["parts"], whole);
    replays(&mut desk);
}

#[test]
fn a_place_in_a_later_turn_is_of_the_whole_message() {
    let mut desk = desk(json!({}));
    desk.must("tools.register", json!({ "name": "look", "description": "d", "inputSchema": {}, "execute": { "$fn": 60 }, "openWorld": false }));
    desk.must("sendMessage", json!({ "text": "when do they open" }));
    let mut blocks = searched();
    blocks.insert(5, Block::ToolCall { id: "l".into(), name: "look".into(), arguments: "{}".into() });
    desk.answers_with(blocks, StopReason::ToolUse);
    desk.returns(0);
    desk.answers_with(searched(), StopReason::EndTurn);
    let history = desk.must("history", json!({}));
    let parts = history[1]["parts"].as_array().unwrap();
    let kinds: Vec<&str> = parts.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool-call", "text", "tool-call", "source", "tool-call", "text", "source"]);
    for source in parts.iter().filter(|part| part["type"] == "source") {
        assert_eq!(parts[source["at"]["part"].as_u64().unwrap() as usize]["text"], "Open till six.");
    }
}

#[test]
fn a_paused_answer_goes_on_as_often_as_turns_are_left() {
    let mut desk = desk(json!({ "maxTurns": 3 }));
    desk.must("sendMessage", json!({ "text": "look" }));
    for turn in 0..3 {
        assert_eq!(desk.models.len(), 1, "{turn}");
        if turn > 0 {
            let said = desk.asked["messages"].as_array().unwrap().last().unwrap().clone();
            assert_eq!(said["role"], "assistant", "it goes on with what it had said");
        }
        desk.answers_with(searched(), StopReason::Pause);
    }
    assert!(desk.models.is_empty());
    assert_eq!(told(&desk, "agent:error").last().unwrap()["code"], "max_turns_exceeded");
    replays(&mut desk);
}

#[test]
fn searches_have_their_price() {
    let mut desk = desk(json!({ "provider": { "kind": "anthropic", "apiKey": "sk-test-key-1" } }));
    desk.must("sendMessage", json!({ "text": "look" }));
    let call = desk.models.remove(0);
    let usage = Usage { input_tokens: 1_000, output_tokens: 100, searches: 2, ..Usage::default() };
    let answer = Answer { blocks: searched(), stop: Some(StopReason::EndTurn), usage, model: None, id: None };
    desk.handle(Input::Answered { call, result: Ok(answer) });
    let usage = desk.must("history", json!({}))[1]["usage"].clone();
    // $3 and $15 a million tokens, and $10 a thousand searches.
    assert_eq!((&usage["searches"], &usage["cost"]), (&json!(2), &json!(0.0245)));
    replays(&mut desk);
}

#[test]
fn a_session_and_a_message_may_have_others() {
    let mut first = desk(json!({ "serverTools": null }));
    first.must("sessions.launch", json!({ "id": "side", "serverTools": ["web_fetch"] }));
    first.must("sendMessage", json!({ "text": "look", "sessionId": "side" }));
    assert_eq!(offered(&first), ["web_fetch_20250910"]);
    first.says("well");
    first.must("sendMessage", json!({ "text": "look", "sessionId": "side", "serverTools": [] }));
    assert_eq!(offered(&first), Vec::<String>::new());
    first.says("well");
    first.must("sendMessage", json!({ "text": "look" }));
    assert_eq!(offered(&first), Vec::<String>::new());
    first.says("well");
    let mut desk = again(&first, json!({ "serverTools": null }));
    desk.must("sendMessage", json!({ "text": "look", "sessionId": "side" }));
    assert_eq!(offered(&desk), ["web_fetch_20250910"]);
    desk.says("well");
    let error = desk.fails("sendMessage", json!({ "text": "look", "serverTools": ["websearch"] }));
    assert_eq!(error.0, Code::InvalidConfig);
    assert!(error.1.starts_with("serverTools[0] is \"websearch\""), "{}", error.1);
    let key = json!([{ "type": "mcp", "authorization": "tok-very-secret" }]);
    let error = desk.fails("sendMessage", json!({ "text": "look", "serverTools": key }));
    assert!(error.1.starts_with("serverTools of a session or a message"), "{}", error.1);
}

/// One question for the run and those that work for it.
#[test]
fn what_a_person_said_counts_for_those_that_work_for_the_run() {
    let mut desk = desk(json!({ "processType": "Orchestrator" }));
    desk.must("sendMessage", json!({ "text": "look", "context": "the page" }));
    answer(&mut desk, "allow_once");
    let task = json!({ "task": "look", "process": "Researcher" }).to_string();
    desk.answers_with(
        vec![Block::ToolCall { id: "d".into(), name: "delegate".into(), arguments: task }],
        StopReason::ToolUse,
    );
    assert!(asked(&desk).is_none());
    assert_eq!(offered(&desk).last().map(String::as_str), Some("web_search_20250305"));
    desk.says("done");
    desk.says("well");
    replays(&mut desk);
    assert!(!desk.stored(Table::Entries, "default").is_empty());
}

/// Recorded streams, which lie beside the repository: each call has its arguments and its end, each source its address.
#[test]
fn what_recordings_tell_of_a_providers_own_tools() {
    let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures/streams");
    let root = std::env::var_os("LODGER_FIXTURES").map_or_else(beside, Into::into);
    for (file, wire, names, sources) in [
        (
            "anthropic/pyd-test_anthropic_code_execution_tool_stream.sse",
            Wire::Anthropic,
            &["bash_code_execution"][..],
            0,
        ),
        ("anthropic/vercel-anthropic-web-fetch-tool.1.sse", Wire::Anthropic, &["web_fetch"], 1),
        (
            "openai-responses/vercel-azure-code-interpreter-tool.1.sse",
            Wire::OpenAiResponses,
            &["code_interpreter"],
            0,
        ),
        (
            "openai-responses/pyd-test_openai_include_raw_annotations_streaming.0.sse",
            Wire::OpenAiResponses,
            &["web_search", "web_search"],
            1,
        ),
    ] {
        let Ok(bytes) = std::fs::read(root.join(file)) else {
            println!("skipped: {file} is not there");
            continue;
        };
        let mut decoder = Decoder::new(wire);
        let mut begun = Vec::new();
        let mut sink = |delta: Delta<'_>| {
            if delta.kind == DeltaKind::ServerCall {
                begun.push(delta.text.to_owned());
            }
        };
        decoder.push(&bytes, &mut sink).unwrap();
        let mut answer = decoder.finish().unwrap();
        assert_eq!(begun, names, "{file}");
        served::tell(&mut answer, wire.served().unwrap());
        let calls = answer.blocks.iter().filter_map(|block| match block {
            Block::ServerCall(call) => Some(call),
            _ => None,
        });
        for call in calls {
            assert!(
                !call.id.is_empty() && call.arguments != "{}" && call.done == Some(true),
                "{file}: {call:?}"
            );
        }
        let cited = answer.blocks.iter().filter(|block| matches!(block, Block::Cited(_))).count();
        assert_eq!(cited, sources, "{file}");
    }
}
