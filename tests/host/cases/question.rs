//! What a person is asked: the tool's own words, and that nobody is asked any more.

use crate::support::calm::{
    asks, last, question, resolve, returns, says, send, start, started, status, waiting,
};
use crate::support::desk::Desk;
use crate::support::sim::World;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::CallKey;
use lodger::model::{Block, StopReason};
use lodger::ports::MemoryStore;
use serde_json::{Value, json};

/// A tool that is asked about, with these members besides.
fn with(more: Value) -> World {
    let mut world = started();
    register(&mut world, more);
    world
}

fn register(world: &mut World, more: Value) {
    let schema = json!({ "type": "object", "properties": { "to": { "type": "string" } } });
    let mut tool = json!({
        "name": "place_order", "description": "d", "inputSchema": schema, "destructive": true,
        "execute": { "$fn": 90 }, "replace": true,
    });
    tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.must(0, "tools.register", tool);
}

/// The page is lost; another has the same tool, and the run goes on there.
fn again(mut world: World, more: Value) -> World {
    // What was decided so far is stored.
    world.pass(0, 1_000);
    world.settle(0);
    world.crash(0, true);
    world.equip(0);
    register(&mut world, more);
    start(&mut world, json!({}));
    world.must(0, "resume", json!({}));
    world
}

/// The model wants the tool.
fn wants(world: &mut World) {
    send(world, "buy it");
    world.answers(0, asks(&[("a", "place_order")]));
}

/// The function that is called now: of which kind, and with what.
fn called(world: &World, kind: &str) -> (CallKey, Value) {
    let mut of_kind = world.pages[0].called.iter().filter(|(_, called)| called.kind == kind);
    let (key, called) = of_kind.next().unwrap_or_else(|| panic!("no {kind}"));
    (*key, called.args.clone())
}

/// What the tool says of the call.
fn explains(world: &mut World, result: Result<Option<&str>, &str>) {
    let (key, args) = called(world, "explain");
    assert_eq!(args, json!({ "args": { "to": "x" } }));
    let said = result.map(|said| said.map(String::from));
    world.returns(0, key, said.map_err(|why| ErrorInfo::new(Code::ToolFailed, why)));
}

#[test]
fn a_question_has_the_tools_title_or_its_name() {
    for (more, title, words) in [
        (json!({}), Value::Null, "Place order?"),
        (json!({ "title": "Place the order" }), json!("Place the order"), "Place the order?"),
        (json!({ "title": "really order?" }), json!("really order?"), "Really order?"),
        (json!({ "title": "Élan" }), json!("Élan"), "Élan?"),
    ] {
        let mut world = with(more);
        wants(&mut world);
        let asked = question(&world);
        assert_eq!((&asked["title"], asked["explanation"].as_str()), (&title, Some(words)));
        let known = world.must(0, "history", json!({}));
        assert!(!known.to_string().contains(words), "it is no part of the conversation");
    }
}

#[test]
fn a_tool_explains_its_call_before_a_person_is_asked() {
    let long = "é".repeat(600);
    for (result, words) in [
        (Ok(Some("\"Place the order of 3 chairs?\"")), "Place the order of 3 chairs?"),
        (Ok(Some("\"  Place it?\\n\"")), "Place it?"),
        // What says nothing that can be shown.
        (Ok(Some("17")), "Place order?"),
        (Ok(Some("\" \"")), "Place order?"),
        (Ok(None), "Place order?"),
        (Err("it threw"), "Place order?"),
        (Ok(Some(&*format!("\"{long}\""))), &*"é".repeat(500)),
    ] {
        let mut world = with(json!({ "explanation": { "$fn": 91 } }));
        wants(&mut world);
        assert!(world.events(0).iter().all(|(name, _)| *name != "agent:permission-required"));
        explains(&mut world, result);
        assert_eq!(question(&world)["explanation"], words);
        resolve(&mut world, "allow_once");
        returns(&mut world, "a", "bought");
    }
}

#[test]
fn an_explanation_is_asked_for_only_where_a_person_is() {
    let mut world = with(json!({ "destructive": false, "explanation": { "$fn": 91 } }));
    wants(&mut world);
    returns(&mut world, "a", "bought");
    world.answers(0, says("done"));
}

#[test]
fn a_key_in_an_explanation_is_cut_out() {
    let mut world = started();
    let key = "sk-ant-0123456789abcdef";
    world.must(0, "keys.set", json!({ "provider": "anthropic", "key": key }));
    register(&mut world, json!({ "explanation": { "$fn": 91 } }));
    wants(&mut world);
    explains(&mut world, Ok(Some(&format!("\"With {key}?\""))));
    assert!(!question(&world).to_string().contains(key));
}

/// It was stored with the question: nobody is asked for it again.
#[test]
fn an_explanation_outlives_the_page() {
    let mut world = with(json!({ "explanation": { "$fn": 91 } }));
    wants(&mut world);
    explains(&mut world, Ok(Some("\"Place it?\"")));
    let world = again(world, json!({ "explanation": { "$fn": 91 } }));
    assert_eq!(question(&world)["explanation"], "Place it?");
    // A page that is lost while the tool thinks asks it anew.
    let mut world = with(json!({ "explanation": { "$fn": 91 } }));
    wants(&mut world);
    called(&world, "explain");
    let mut world = again(world, json!({ "explanation": { "$fn": 91 } }));
    explains(&mut world, Ok(Some("\"Place it?\"")));
    assert_eq!(question(&world)["explanation"], "Place it?");
}

/// The question says besides that its outcome is unknown.
#[test]
fn a_lost_call_is_explained_too() {
    let mut world = with(json!({ "explanation": { "$fn": 91 }, "destructive": false }));
    wants(&mut world);
    called(&world, "tool");
    let mut world = again(world, json!({ "explanation": { "$fn": 91 }, "destructive": false }));
    explains(&mut world, Ok(Some("\"Place it?\"")));
    let asked = question(&world);
    assert_eq!(asked["reason"], "unknown_outcome");
    assert_eq!(asked["explanation"], "Place it?");
    assert!(asked["warning"].as_str().unwrap().starts_with("The page went away"));
    // The same where the page is lost once more while the tool thinks.
    let mut world = again(world, json!({ "explanation": { "$fn": 91 }, "destructive": false }));
    assert_eq!(question(&world)["explanation"], "Place it?");
    resolve(&mut world, "allow_once");
    returns(&mut world, "a", "bought");
}

#[test]
fn the_pages_own_code_gets_the_same_question() {
    let mut world = with(json!({ "explanation": { "$fn": 91 } }));
    world.command(0, "tools.execute", json!({ "name": "place_order", "args": { "to": "x" } }));
    world.settle(0);
    explains(&mut world, Ok(Some("\"Place it?\"")));
    assert_eq!(question(&world)["explanation"], "Place it?");
    resolve(&mut world, "allow_once");
    called(&world, "tool");
}

/// How the harness stands is told before the question.
#[test]
fn a_run_that_asks_is_suspended_when_the_question_is_told() {
    let mut world = with(json!({}));
    wants(&mut world);
    assert_eq!(status(&world), &waiting());
    assert_eq!(world.pages[0].told.asked, [waiting()]);
}

#[test]
fn a_question_that_nobody_has_to_answer_any_more_is_withdrawn() {
    for (way, args) in [
        ("interrupt", json!({})),
        ("stopAgent", json!({})),
        ("sessions.bench", json!({ "id": "default" })),
        ("clearConversation", json!({})),
    ] {
        let mut world = with(json!({}));
        wants(&mut world);
        let request = question(&world)["requestId"].clone();
        world.must(0, way, args);
        let resolved = last(&world, "agent:permission-resolved");
        assert_eq!((&resolved["requestId"], &resolved["answer"]), (&request, &json!("withdrawn")), "{way}");
        let answer = json!({ "requestId": request, "answer": "allow_once" });
        if way == "stopAgent" {
            start(&mut world, json!({}));
        }
        assert_eq!(world.fails(0, "resolvePermission", answer).code, Code::RequestNotFound, "{way}");
        if way == "sessions.bench" {
            world.must(0, "sessions.play", json!({ "id": "default" }));
            assert_eq!(question(&world)["requestId"], request);
            resolve(&mut world, "allow_once");
            returns(&mut world, "a", "bought");
        }
    }
}

#[test]
fn an_answer_is_told_once_and_not_as_withdrawn() {
    for answer in ["allow_once", "always_allow", "deny"] {
        let mut world = with(json!({}));
        wants(&mut world);
        resolve(&mut world, answer);
        let told = world.events(0).iter().filter(|(name, _)| *name == "agent:permission-resolved");
        assert_eq!(told.map(|(_, detail)| detail["answer"].clone()).collect::<Vec<_>>(), [answer]);
    }
}

/// The trash keeps it, but the model cannot bring it back; the same holds for a text that is gone.
#[test]
fn emptying_a_page_is_asked_about_like_deleting_it() {
    for (tool, args, asks) in [
        ("delete_page", json!({ "slug": "stock" }), true),
        ("update_page_content", json!({ "slug": "stock", "content": "" }), true),
        ("update_page_content", json!({ "slug": "stock", "content": " \n\t" }), true),
        ("update_page_content", json!({ "slug": "stock", "content": "\u{200b}\u{2800} \u{3164}" }), true),
        ("update_page_content", json!({ "slug": "stock", "content": "Three chairs." }), false),
        ("create_page", json!({ "title": "Shelves", "content": "" }), false),
    ] {
        let mut desk = Desk::with(MemoryStore::new(), 1_779_430_500_000, "ann", true);
        desk.start();
        desk.must("pages.create", json!({ "title": "Stock", "content": "Two chairs." }));
        desk.must("sendMessage", json!({ "text": "tidy up" }));
        let call = Block::ToolCall { id: "a".into(), name: tool.into(), arguments: args.to_string() };
        desk.answers_with(vec![call], StopReason::ToolUse);
        let asked = desk.events.iter().rfind(|(name, _)| *name == "agent:permission-required");
        assert_eq!(
            asked.map(|(_, detail)| detail["reason"].clone()),
            asks.then(|| json!("destructive")),
            "{tool} {args}"
        );
    }
}

/// Neither a rule for other texts nor a leave for them covers that; those for deleting a page do. And `decide` hears why.
#[test]
fn leave_to_write_a_page_is_none_to_empty_it() {
    for (rules, allowed, asked) in [
        (json!({ "update_page_content": "allow" }), false, Some("destructive")),
        (json!({ "update_page_content": "ask" }), true, Some("destructive")),
        (json!({ "delete_page": "allow" }), false, None),
        (json!({ "delete_page": "allow", "update_page_content": "ask" }), false, Some("policy")),
        (json!({ "delete_page": "deny" }), false, None),
        (json!({}), false, Some("destructive")),
    ] {
        for decides in [false, true] {
            let mut desk = Desk::with(MemoryStore::new(), 1_779_430_500_000, "ann", true);
            desk.start();
            desk.must("configureAgent", json!({ "permissions": { "tools": rules } }));
            desk.must("pages.create", json!({ "title": "Stock", "content": "Two chairs." }));
            desk.must("sendMessage", json!({ "text": "tidy up" }));
            let writes = |desk: &mut Desk, id: &str, content: &str| {
                let args = json!({ "slug": "stock", "content": content }).to_string();
                let call =
                    Block::ToolCall { id: id.into(), name: "update_page_content".into(), arguments: args };
                desk.answers_with(vec![call], StopReason::ToolUse);
                let asked = desk.events.iter().rfind(|(name, _)| *name == "agent:permission-required");
                asked.map(|(_, asked)| asked.clone())
            };
            if allowed {
                let request = writes(&mut desk, "a", "Three chairs.").unwrap()["requestId"].clone();
                desk.must("resolvePermission", json!({ "requestId": request, "answer": "always_allow" }));
                desk.events.clear();
                assert!(writes(&mut desk, "b", "Four chairs.").is_none(), "{rules}: that is allowed");
            }
            if decides {
                let mut permissions = json!({ "tools": rules });
                permissions["decide"] = json!({ "$fn": 70 });
                desk.must("configureAgent", json!({ "permissions": permissions }));
            }
            desk.events.clear();
            let told = writes(&mut desk, "c", "");
            let told = if decides { desk.consulted.pop() } else { told };
            let reason = told.map(|told| told["reason"].clone());
            // What is allowed is asked of `decide` as well, and what is denied is not.
            let heard = if rules == json!({ "delete_page": "allow" }) { Some("policy") } else { asked };
            assert_eq!(reason, (if decides { heard } else { asked }).map(Value::from), "{rules}, {decides}");
        }
    }
}

/// "Always" to a question about emptying allows other texts, and no page's end. The question says so; that of a lost call, too.
#[test]
fn a_question_that_no_always_answers_for_good_says_so() {
    let mut desk = Desk::with(MemoryStore::new(), 1_779_430_500_000, "ann", true);
    desk.start();
    desk.must("configureAgent", json!({ "permissions": { "tools": { "update_page_content": "ask" } } }));
    desk.must("pages.create", json!({ "title": "Stock", "content": "Two chairs." }));
    desk.must("sendMessage", json!({ "text": "tidy up" }));
    // What is called, whether that asks, whether only for once, and whether it is always allowed then.
    for (id, tool, content, once, always) in [
        ("a", "update_page_content", Some("Three chairs."), Some(false), false),
        ("b", "update_page_content", Some(" "), Some(true), true),
        ("c", "update_page_content", Some("Four chairs."), None, false),
        ("d", "update_page_content", Some(""), Some(true), true),
        ("e", "delete_page", None, Some(false), true),
        ("f", "update_page_content", Some(""), None, false),
    ] {
        let mut args = json!({ "slug": "stock" });
        if let Some(content) = content {
            args["content"] = content.into();
        }
        desk.events.clear();
        let call = Block::ToolCall { id: id.into(), name: tool.into(), arguments: args.to_string() };
        desk.answers_with(vec![call], StopReason::ToolUse);
        let asked = desk.events.iter().rfind(|(name, _)| *name == "agent:permission-required");
        let asked = asked.map(|(_, asked)| asked.clone());
        assert_eq!(asked.as_ref().map(|asked| asked["once"] == true), once, "{id}");
        if let Some(asked) = asked {
            let answer = if always { "always_allow" } else { "allow_once" };
            desk.must("resolvePermission", json!({ "requestId": asked["requestId"], "answer": answer }));
        }
        if id == "e" {
            desk.must("pages.restore", json!({ "slug": "stock" }));
        }
    }
    let mut world = with(json!({ "onResume": "ask" }));
    wants(&mut world);
    assert_eq!(question(&world).get("once"), None);
    resolve(&mut world, "allow_once");
    assert_eq!(question(&again(world, json!({ "onResume": "ask" })))["once"], true);
}

/// A tool that takes away what a page says, called by a run or by the page's own code: there is a question about it.
fn about_a_page(tool: &str, by_run: bool) -> (Desk, Value, u32) {
    let mut desk = Desk::with(MemoryStore::new(), 1_779_430_500_000, "ann", true);
    desk.start();
    desk.must("configureAgent", json!({ "permissions": { "tools": { "update_page_content": "ask" } } }));
    desk.must("pages.create", json!({ "title": "Stock", "content": "Two chairs." }));
    let args = match tool {
        "update_page_content" => json!({ "slug": "stock", "content": "Three chairs." }),
        _ => json!({ "slug": "stock" }),
    };
    let command = if by_run {
        desk.must("sendMessage", json!({ "text": "tidy up" }));
        let call = Block::ToolCall { id: "a".into(), name: tool.into(), arguments: args.to_string() };
        desk.answers_with(vec![call], StopReason::ToolUse);
        0
    } else {
        desk.command("tools.execute", json!({ "name": tool, "args": args }))
    };
    let asked = desk.events.iter().rfind(|(name, _)| *name == "agent:permission-required");
    let request = asked.unwrap().1["requestId"].clone();
    (desk, request, command)
}

/// Leave counts for the text that the person saw: that of the version in the answer, else the one from when it was asked.
#[test]
fn leave_does_not_overwrite_what_was_written_since() {
    for tool in ["update_page_content", "delete_page"] {
        for by_run in [true, false] {
            for (written, seen, done) in [
                (false, None, true),
                (false, Some(1), true),
                (false, Some(2), false),
                (true, None, false),
                (true, Some(1), false),
                (true, Some(2), true),
            ] {
                let place = format!("{tool}, by a run: {by_run}, written: {written}, seen: {seen:?}");
                let (mut desk, request, command) = about_a_page(tool, by_run);
                if written {
                    desk.must(
                        "pages.update",
                        json!({ "slug": "stock", "content": "Two chairs, one broken." }),
                    );
                }
                let mut answer = json!({ "requestId": request, "answer": "allow_once" });
                if let Some(version) = seen {
                    answer["pageVersion"] = json!(version);
                }
                desk.must("resolvePermission", answer);
                let refused = match desk.answers.get(&command) {
                    Some(answer) => answer.as_ref().err().map(|error| json!(error.code.as_str())),
                    None => Some(desk.events.iter().rfind(|(name, _)| *name == "agent:tool-call").unwrap())
                        .map(|(_, call)| call["error"]["code"].clone())
                        .filter(|code| !code.is_null()),
                };
                assert_eq!(refused, (!done).then(|| json!("version_conflict")), "{place}");
                let says = if written { "Two chairs, one broken." } else { "Two chairs." };
                let page = desk.ask("pages.read", json!({ "slug": "stock" }));
                match (done, tool) {
                    (true, "delete_page") => assert!(page.is_err(), "{place}"),
                    (true, _) => assert_eq!(page.unwrap()["content"], "Three chairs.", "{place}"),
                    (false, _) => assert_eq!(page.unwrap()["content"], says, "{place}"),
                }
            }
        }
    }
}
