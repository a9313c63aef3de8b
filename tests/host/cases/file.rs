//! Files that a person sends, case by case, on a calm world.

use crate::support::calm::*;
use crate::support::laws::replays;
use crate::support::media::{self, SAMPLES, Sample, decoded, given};
use crate::support::sim::World;
use lodger::error::{Code, ErrorInfo};
use lodger::harness::Input;
use lodger::journal::{Entry, Row};
use lodger::model::File;
use lodger::ports::{Read, Table};
use serde_json::{Value, json};

fn provider(kind: &str) -> Value {
    match kind {
        "custom" => json!({ "kind": "custom", "stream": { "$fn": 50 } }),
        "anthropic" => json!({ "kind": kind, "apiKey": "sk-ant-0123456789" }),
        kind => json!({ "kind": kind, "apiKey": "sk-0123456789", "model": "m" }),
    }
}

fn files(which: &[usize]) -> Value {
    which.iter().map(|at| given(&SAMPLES[*at - 1])).collect()
}

/// A message with these samples, by their number.
fn send_files(world: &mut World, text: &str, which: &[usize]) -> String {
    let accepted = world.must(0, "sendMessage", json!({ "text": text, "files": files(which) }));
    accepted["runId"].as_str().unwrap().into()
}

fn with(kind: &str) -> World {
    started_with(json!({ "provider": provider(kind) }))
}

/// The first message of the person in the request that is in the air.
fn asked(world: &World) -> Value {
    let body = &world.model(0).1.body;
    let list = body["messages"].as_array().or(body["input"].as_array()).unwrap();
    let from_person = |message: &&Value| message["role"] == "user" || message["type"] == "user_input";
    list.iter().find(from_person).unwrap().clone()
}

fn entries(world: &World) -> Vec<Entry> {
    let entry = |row: &String| Row::from_text(row).unwrap().read().unwrap().1;
    world.journal.rows.iter().filter_map(entry).collect()
}

fn stored(world: &World) -> Vec<String> {
    let rows = world.disk.read(&Read::all(Table::Files, Vec::new()));
    rows.into_iter().map(|(key, _)| format!("{key:?}")).collect()
}

fn is(data: &Value, sample: &Sample) {
    assert_eq!(decoded(data.as_str().unwrap()).as_deref(), Some(sample.bytes));
}

fn url(value: &Value, sample: &Sample) {
    let head = format!("data:{};base64,", sample.media_type);
    is(&value.as_str().unwrap().strip_prefix(&head).unwrap().into(), sample);
}

#[test]
fn anthropic_gets_images_and_documents() {
    let mut world = with("anthropic");
    send_files(&mut world, "look", &[1, 3, 4]);
    let content = &asked(&world)["content"];
    assert_eq!(content[0]["type"], "image");
    is(&content[0]["source"]["data"], &SAMPLES[0]);
    assert_eq!((&content[1]["type"], &content[1]["title"]), (&json!("document"), &json!(SAMPLES[2].name)));
    is(&content[1]["source"]["data"], &SAMPLES[2]);
    let text = json!({ "type": "text", "media_type": "text/plain", "data": "a,\"b\"\n\\1,é\n" });
    assert_eq!((&content[2]["title"], &content[2]["source"]), (&json!("data.csv"), &text));
    assert_eq!(content[3], json!({ "type": "text", "text": "look" }));
}

#[test]
fn openais_chat_gets_parts_where_text_is_not_enough() {
    let mut world = with("openai");
    send_files(&mut world, "look", &[1, 3, 5]);
    let content = &asked(&world)["content"];
    url(&content[0]["image_url"]["url"], &SAMPLES[0]);
    assert_eq!(content[1]["file"]["filename"], SAMPLES[2].name);
    url(&content[1]["file"]["file_data"], &SAMPLES[2]);
    assert_eq!(content[2]["text"], "The file (application/json):\n{\"a\":[1]}");
    assert_eq!(content[3], json!({ "type": "text", "text": "look" }));
    let mut world = with("openai");
    send_files(&mut world, "look", &[4]);
    assert_eq!(asked(&world)["content"], "The file \"data.csv\" (text/csv):\na,\"b\"\n\\1,é\n\n\nlook");
}

#[test]
fn openais_responses_get_parts() {
    let mut world = with("openai-responses");
    send_files(&mut world, "", &[2, 3]);
    let content = &asked(&world)["content"];
    url(&content[0]["image_url"], &SAMPLES[1]);
    assert_eq!(
        (&content[1]["type"], &content[1]["filename"]),
        (&json!("input_file"), &json!(SAMPLES[2].name))
    );
    url(&content[1]["file_data"], &SAMPLES[2]);
    assert_eq!(content.as_array().unwrap().len(), 2);
}

#[test]
fn gemini_gets_parts() {
    let mut world = with("gemini");
    send_files(&mut world, "look", &[2, 3, 5]);
    let content = &asked(&world)["content"];
    for (part, (kind, sample)) in [("image", &SAMPLES[1]), ("document", &SAMPLES[2])].into_iter().enumerate()
    {
        assert_eq!(
            (&content[part]["type"], &content[part]["mime_type"]),
            (&json!(kind), &json!(sample.media_type))
        );
        is(&content[part]["data"], sample);
    }
    assert_eq!(content[2]["text"], "The file (application/json):\n{\"a\":[1]}");
    assert_eq!(content[3], json!({ "type": "text", "text": "look" }));
}

#[test]
fn ollama_gets_images_beside_the_text() {
    let mut world = with("ollama");
    send_files(&mut world, "look", &[1, 4, 6]);
    let message = asked(&world);
    assert_eq!(message["content"], "The file \"data.csv\" (text/csv):\na,\"b\"\n\\1,é\n\n\nlook");
    is(&message["images"][0], &SAMPLES[0]);
    is(&message["images"][1], &SAMPLES[5]);
    let mut world = with("ollama");
    send_files(&mut world, "", &[2]);
    assert_eq!(asked(&world)["content"], "");
}

#[test]
fn a_message_shows_its_files_and_the_journal_has_no_bytes() {
    let mut world = with("custom");
    send_files(&mut world, "look", &[3, 2]);
    let parts = history(&mut world)[0]["parts"].clone();
    let file = json!({ "type": "file", "fileId": "file_3", "mediaType": "application/pdf", "size": 9, "filename": SAMPLES[2].name });
    assert_eq!(parts[0], file);
    assert_eq!(parts[1], json!({ "type": "file", "fileId": "file_2", "mediaType": "image/jpeg", "size": 5 }));
    assert_eq!(parts[2], json!({ "type": "text", "text": "look" }));
    assert_eq!(
        world.journal.rows.iter().filter(|row| row.contains("PDF-1.7") || row.contains("base64")).count(),
        0
    );
}

#[test]
fn the_same_file_is_stored_once_and_goes_when_nobody_refers_to_it() {
    let mut world = with("custom");
    for _ in 0..2 {
        send_files(&mut world, "look", &[1, 2, 1]);
        world.answers(0, says("seen"));
    }
    assert_eq!(stored(&world).len(), 2);
    world.must(0, "clearConversation", json!({}));
    assert_eq!(stored(&world), [""; 0]);
    send_files(&mut world, "again", &[1]);
    assert_eq!(stored(&world).len(), 1);
}

#[test]
fn a_page_that_is_lost_leaves_both_or_nothing() {
    for lands in [false, true] {
        let mut world = with("custom");
        world.command(0, "sendMessage", json!({ "text": "look", "files": files(&[1]) }));
        world.finish_room(0, 0, Ok(()));
        world.crash(0, lands);
        assert_eq!(stored(&world).len(), usize::from(lands));
        world.equip(0);
        world.settle(0);
        start(&mut world, json!({}));
        assert_eq!(history(&mut world).len(), if lands { 2 } else { 0 });
    }
}

fn refused(world: &mut World, files: Value) -> ErrorInfo {
    let before = world.journal.fold.seq();
    let error = world.fails(0, "sendMessage", json!({ "text": "look", "files": files }));
    assert_eq!(world.journal.fold.seq(), before, "{error}");
    assert!(stored(world).is_empty() && world.pages[0].models.is_empty(), "{error}");
    error
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is_stored() {
    let mut world = with("anthropic");
    let file = |kind: &str, size: u64| json!([{ "id": "f", "mediaType": kind, "size": size, "name": "x" }]);
    for (files, code, says) in [
        (file("application/zip", 5), Code::UnsupportedFile, "no model reads \"x\" (application/zip)"),
        (file("image/png", 0), Code::InvalidArguments, "\"x\" is empty"),
        (file("image/png", 3_932_161), Code::FileTooLarge, "an image may have 3932160"),
        (file("text/plain", 1_048_577), Code::FileTooLarge, "a file of text may have"),
        (file("application/pdf", 30_000_000), Code::FileTooLarge, "a file may have"),
        (vec![file("text/plain", 5)[0].clone(); 21].into(), Code::FileTooLarge, "20 files"),
        (vec![file("image/png", 3_900_000)[0].clone(); 7].into(), Code::FileTooLarge, "together"),
        (json!("x"), Code::InvalidArguments, "to be a list"),
        (json!([5]), Code::InvalidArguments, "a file takes an object"),
        (json!([{ "size": 5 }]), Code::InvalidArguments, "mediaType"),
    ] {
        let error = refused(&mut world, files);
        assert!(error.code == code && error.message.contains(says), "{error}");
        assert!(error.hint.is_some() || code == Code::InvalidArguments, "{error}");
    }
}

#[test]
fn the_files_of_a_conversation_fit_into_a_request() {
    let mut world = with("custom");
    for at in 0..6 {
        let file = json!([{ "id": "file_1", "mediaType": "image/png", "size": 3_900_000 }]);
        let answer = world.ask(0, "sendMessage", json!({ "text": "look", "files": file })).unwrap();
        assert!(answer.is_ok(), "{at}: {answer:?}");
        world.answers(0, says("seen"));
    }
    let file = json!([{ "id": "file_1", "mediaType": "image/png", "size": 3_900_000 }]);
    let error = world.fails(0, "sendMessage", json!({ "text": "look", "files": file }));
    assert_eq!(error.code, Code::FileTooLarge);
    assert!(error.message.contains("of a conversation"), "{error}");
    send(&mut world, "without");
}

fn blind() -> Value {
    json!({ "openai": { "m": { "can": ["tools"] } } })
}

#[test]
fn a_model_that_takes_no_images_is_not_sent_any() {
    let mut world = started_with(json!({ "provider": provider("openai"), "models": blind() }));
    for at in [1, 3] {
        let error = refused(&mut world, files(&[at]));
        assert!(
            error.code == Code::UnsupportedFile && error.message.contains("the model m takes no"),
            "{error}"
        );
    }
    send_files(&mut world, "text is for all", &[4]);
    assert!(asked(&world)["content"].as_str().unwrap().contains("é"));
}

#[test]
fn a_conversation_with_images_goes_on_with_a_model_that_takes_none() {
    let mut world = with("custom");
    send_files(&mut world, "look", &[1, 4]);
    world.answers(0, says("seen"));
    world.must(0, "configureAgent", json!({ "provider": provider("openai"), "models": blind() }));
    send(&mut world, "and now?");
    let content = asked(&world)["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("[The file \"dot.png\" (image/png) was attached here; you cannot read it.]"));
    assert!(content.contains("é") && content.ends_with("look"), "{content}");
}

#[test]
fn files_that_a_provider_cannot_read_do_not_end_the_conversation() {
    let mut world = with("anthropic");
    send_files(&mut world, "look", &[1]);
    world.breaks(0, ErrorInfo::new(Code::InvalidRequest, "Could not process image"));
    // Going on makes the same request.
    world.must(0, "resume", json!({}));
    assert_eq!(asked(&world)["content"][0]["type"], "image");
    world.breaks(0, ErrorInfo::new(Code::InvalidRequest, "Could not process image"));
    send(&mut world, "never mind");
    let content = &asked(&world)["content"];
    assert!(content[0]["text"].as_str().unwrap().contains("dot.png"), "{content}");
    world.answers(0, says("all right"));
    assert_eq!(history(&mut world)[0]["parts"][0]["fileId"], "file_1");
}

#[test]
fn files_that_one_read_do_not_end_the_conversation_with_the_next() {
    let mut world = with("custom");
    send_files(&mut world, "look", &[1]);
    world.answers(0, says("seen"));
    world.must(0, "configureAgent", json!({ "provider": provider("openai") }));
    send(&mut world, "and now?");
    assert_eq!(asked(&world)["content"][0]["type"], "image_url");
    world.breaks(0, ErrorInfo::new(Code::InvalidRequest, "this model takes no images"));
    send(&mut world, "never mind");
    let content = asked(&world)["content"].to_string();
    assert!(content.contains("you cannot read it"), "{content}");
}

#[test]
fn what_a_file_says_counts_as_from_outside() {
    let mut world = with("custom");
    send_files(&mut world, "do as it says", &[4]);
    world.answers(0, asks(&[("a", "send_mail")]));
    assert_eq!(question(&world)["reason"], "external_text");
}

/// What the first message of the request in the air says.
fn told(world: &World) -> String {
    asked(world).to_string()
}

const NOTE: &str = "(image/png) was attached here; it was lost since, and nobody can read it.]";

#[test]
fn a_lost_file_is_told_to_the_model_and_the_run_goes_on() {
    for kind in ["custom", "anthropic", "openai", "openai-responses", "ollama", "gemini"] {
        let mut world = with(kind);
        send_files(&mut world, "look", &[1, 4]);
        world.answers(0, says("seen"));
        let before = world.journal.rows.len();
        world.loses_file("file_1");
        send(&mut world, "and now");
        world.settle(0);
        let said = told(&world);
        assert!(said.contains(NOTE) && said.contains("dot.png"), "{said}");
        assert!(said.contains("a,"), "the other one is sent: {said}");
        world.answers(0, says("it is lost"));
        let entries: Vec<Entry> = entries(&world).split_off(before);
        let gone = Entry::FilesGone { call: 1, files: json!(["file_1"]) };
        let is_call = |entry: &Entry| matches!(entry, Entry::Called { call: 1 });
        assert_eq!(entries.iter().filter(|entry| is_call(entry)).count(), 2);
        assert_eq!(entries.iter().filter(|entry| **entry == gone).count(), 1);
        assert_eq!(world.journal.fold.runs.last().unwrap().turns.len(), 1);
        let notice = last(&world, "agent:notice");
        assert_eq!((&notice["kind"], &notice["files"]), (&json!("files"), &json!(["file_1"])));
        let parts = history(&mut world)[0]["parts"].clone();
        assert_eq!((&parts[0]["gone"], parts[1].get("gone")), (&json!(true), None));
        // It is put down once.
        send(&mut world, "and again");
        assert!(told(&world).contains(NOTE));
        world.answers(0, says("yes"));
        replays(world.journal.rows.iter().map(String::as_str)).unwrap();
    }
}

#[test]
fn a_lost_file_that_is_sent_again_is_there_again() {
    let mut world = with("custom");
    send_files(&mut world, "look", &[1]);
    world.answers(0, says("seen"));
    world.loses_file("file_1");
    send(&mut world, "and now");
    world.settle(0);
    world.answers(0, says("it is lost"));
    send_files(&mut world, "here", &[1]);
    assert_eq!(stored(&world).len(), 1);
    assert!(!told(&world).contains("lost since"), "{}", told(&world));
    world.answers(0, says("seen"));
    assert_eq!(history(&mut world)[0]["parts"][0].get("gone"), None);
    // It was lost before anybody has missed it, and is sent again.
    world.loses_file("file_1");
    send_files(&mut world, "here", &[1]);
    assert_eq!(world.pages[0].models.len(), 1, "nothing is missing");
}

#[test]
fn a_copy_of_a_message_has_the_lost_file_as_it_was() {
    let mut world = with("custom");
    send_files(&mut world, "look", &[1]);
    world.loses_file("file_1");
    world.answers(0, says("seen"));
    world.must(0, "regenerate", json!({}));
    world.settle(0);
    let gone = |world: &World| {
        entries(world).iter().filter(|entry| matches!(entry, Entry::FilesGone { .. })).count()
    };
    assert!(told(&world).contains(NOTE));
    world.answers(0, says("it is lost"));
    assert_eq!(gone(&world), 1);
    world.must(0, "regenerate", json!({}));
    assert!(told(&world).contains(NOTE));
    world.answers(0, says("it is still lost"));
    assert_eq!(gone(&world), 1, "nothing has to be found out again");
    assert_eq!(history(&mut world)[0]["parts"][0]["gone"], true);
    // A page that takes the session over, and one that was lost between the entry and the call.
    world = lost(world, json!({ "provider": provider("custom") }));
    send(&mut world, "and now");
    assert!(told(&world).contains(NOTE));
}

#[test]
fn a_run_that_is_interrupted_or_lost_meanwhile_stays_whole() {
    for ends in ["interrupt", "lost"] {
        let mut world = with("custom");
        send_files(&mut world, "look", &[1]);
        world.answers(0, says("seen"));
        world.loses_file("file_1");
        world.command(0, "sendMessage", json!({ "text": "and now" }));
        world.finish_commit(0, Ok(()));
        if ends == "lost" {
            world = lost(world, json!({ "provider": provider("custom"), "resume": "auto" }));
            world.settle(0);
            assert!(told(&world).contains(NOTE));
            world.answers(0, says("it is lost"));
        } else {
            world.command(0, "interrupt", json!({}));
            world.settle(0);
            assert!(entries(&world).iter().all(|entry| !matches!(entry, Entry::FilesGone { .. })));
        }
        replays(world.journal.rows.iter().map(String::as_str)).unwrap();
    }
}

#[test]
fn files_that_no_request_has_are_no_reason_to_ask_again() {
    let mut world = with("custom");
    send_files(&mut world, "look", &[1]);
    let call = world.model(0).0;
    world.handle(0, Input::FilesGone { call, files: vec!["file_9".into()] });
    world.settle(0);
    let failed = entries(&world).into_iter().find_map(|entry| match entry {
        Entry::Failed { error, .. } => Some(error),
        _ => None,
    });
    assert_eq!(failed.map(|error| error.code), Some(Code::StorageFailed));
}

/// A run in which the tool `get_fact` gives these samples, by their number; the model has been asked what it makes of them.
fn given_by_tool(kind: &str, json: Option<&str>, which: &[usize]) -> World {
    let mut world = with(kind);
    draws(&mut world, json, which);
    world
}

fn draws(world: &mut World, json: Option<&str>, which: &[usize]) {
    send(world, "draw");
    world.answers(0, asks(&[("c", "get_fact")]));
    let call = world.running(0, "c");
    world.gives(0, call, json, which);
}

/// The messages of the request that is in the air, from the result on.
fn behind_the_call(world: &World) -> Vec<Value> {
    let body = &world.model(0).1.body;
    let list = body["messages"].as_array().or(body["input"].as_array()).unwrap();
    let is_result = |message: &Value| {
        message["role"] == "tool"
            || message["type"] == "function_call_output"
            || message["content"][0]["type"] == "tool_result"
    };
    list[list.iter().position(is_result).unwrap()..].to_vec()
}

#[test]
fn what_a_tool_gives_is_in_its_result_where_that_has_a_place() {
    let world = given_by_tool("anthropic", Some("{\"pages\":2}"), &[1, 3, 4]);
    let [message] = &behind_the_call(&world)[..] else { panic!() };
    let content = &message["content"][0]["content"];
    let text = content[0]["text"].as_str().unwrap();
    assert_eq!(
        inside(text).as_deref(),
        Some("{\"pages\":2}\n\nThe file \"data.csv\" (text/csv):\na,\"b\"\n\\1,é\n")
    );
    is(&content[1]["source"]["data"], &SAMPLES[0]);
    assert_eq!((&content[1]["type"], &content[2]["type"]), (&json!("image"), &json!("document")));
    is(&content[2]["source"]["data"], &SAMPLES[2]);
    assert_eq!(content.as_array().unwrap().len(), 3, "text is in the result: {content}");
}

#[test]
fn elsewhere_what_a_tool_gives_follows_the_results() {
    const LEAD: &str = "The tool \"get_fact\" gave this:";
    let world = given_by_tool("openai", None, &[1, 3]);
    let [result, files] = &behind_the_call(&world)[..] else { panic!() };
    assert!(result["content"].as_str().unwrap().contains("The tool returned no text"));
    assert_eq!(files["content"][0]["text"], LEAD);
    url(&files["content"][1]["image_url"]["url"], &SAMPLES[0]);
    url(&files["content"][2]["file"]["file_data"], &SAMPLES[2]);
    let world = given_by_tool("openai-responses", None, &[2]);
    let [_, files] = &behind_the_call(&world)[..] else { panic!() };
    assert_eq!(files["content"][0]["text"], LEAD);
    url(&files["content"][1]["image_url"], &SAMPLES[1]);
    // It has no place for a document.
    let world = given_by_tool("ollama", None, &[1, 3]);
    let [result, files] = &behind_the_call(&world)[..] else { panic!() };
    assert!(
        result["content"]
            .as_str()
            .unwrap()
            .contains("(application/pdf) was attached here; you cannot read it.")
    );
    assert_eq!(files["content"], LEAD);
    is(&files["images"][0], &SAMPLES[0]);
}

#[test]
fn a_model_that_takes_no_images_is_told_of_what_a_tool_gives() {
    let mut world = started_with(json!({ "provider": provider("openai"), "models": blind() }));
    draws(&mut world, Some("\"drawn\""), &[1]);
    let [result] = &behind_the_call(&world)[..] else { panic!() };
    let text = inside(result["content"].as_str().unwrap()).unwrap();
    assert_eq!(text, "drawn\n\n[The file \"dot.png\" (image/png) was attached here; you cannot read it.]");
}

#[test]
fn a_call_shows_what_its_tool_gave_and_a_reload_and_a_clearing_know_it() {
    let mut world = given_by_tool("custom", Some("{\"pages\":2}"), &[1, 5]);
    world.answers(0, says("seen"));
    let [png, json] = [&SAMPLES[0], &SAMPLES[4]].map(|sample| {
        let mut part = json!({ "type": "file", "fileId": sample.id, "mediaType": sample.media_type, "size": sample.bytes.len() });
        if !sample.name.is_empty() {
            part["filename"] = sample.name.into();
        }
        part
    });
    assert_eq!(last(&world, "agent:tool-call")["files"], json!([png, json]));
    let shown = |world: &mut World| history(world)[1]["parts"][0]["files"].clone();
    assert_eq!(shown(&mut world), json!([png, json]));
    assert_eq!(stored(&world).len(), 2);
    let mut world = lost(world, json!({ "provider": provider("custom") }));
    assert_eq!(shown(&mut world), json!([png, json]));
    world.loses_file("file_1");
    send(&mut world, "and now");
    world.settle(0);
    world.answers(0, says("it is lost"));
    assert_eq!(shown(&mut world)[0]["gone"], true);
    replays(world.journal.rows.iter().map(String::as_str)).unwrap();
    world.must(0, "clearConversation", json!({}));
    assert!(stored(&world).is_empty());
}

#[test]
fn files_of_a_tool_that_do_not_fit_fail_the_call_and_say_why() {
    let mut world = with("custom");
    for _ in 0..6 {
        let file = json!([{ "id": "file_1", "mediaType": "image/png", "size": 3_900_000 }]);
        world.must(0, "sendMessage", json!({ "text": "look", "files": file }));
        world.answers(0, says("seen"));
    }
    let large = File { size: 3_900_000, ..media::file(&SAMPLES[1]) };
    send(&mut world, "draw");
    world.answers(0, asks(&[("c", "get_fact")]));
    let call = world.running(0, "c");
    world.handle(0, Input::Gave { call, json: None, files: vec![large], texts: Vec::new() });
    world.settle(0);
    let told = last(&world, "agent:tool-call");
    assert_eq!((&told["status"], &told["error"]["code"]), (&json!("failed"), &json!("file_too_large")));
    assert_eq!(stored(&world).len(), 1);
    world.answers(0, says("too large"));
}

#[test]
fn a_call_of_the_pages_own_code_takes_no_files() {
    let mut world = with("custom");
    let command = world.command(0, "tools.execute", json!({ "name": "get_fact", "args": {} }));
    world.settle(0);
    let call = *world.pages[0].called.keys().next().unwrap();
    world.gives(0, call, None, &[1]);
    let error = world.pages[0].asked[&command].answer.clone().unwrap().unwrap_err();
    assert!(error.code == Code::ToolFailed && error.message.contains("which only a run keeps"), "{error}");
    assert!(stored(&world).is_empty());
}
