//! Older versions that become the conversation again, and messages that are taken out of it.

use crate::support::desk::Desk;
use fastrand::Rng;
use lodger::error::Code;
use lodger::model::{Block, StopReason};
use lodger::ports::Table;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn page() -> Desk {
    let mut page = Desk::started("somebody");
    let tool = json!({ "name": "send", "description": "d", "inputSchema": "{}", "destructive": true, "execute": { "$fn": 7 } });
    page.must("tools.register", tool);
    page
}

/// The page goes away without a word, and another goes on.
fn lost(page: Desk) -> Desk {
    let mut page = page.crash("somebody");
    page.start();
    page
}

fn ask(page: &mut Desk, command: &str, args: Value, answer: &str) {
    page.must(command, args);
    page.says(answer);
}

fn say(page: &mut Desk, text: &str) {
    ask(page, "sendMessage", json!({ "text": text }), &text.to_uppercase());
}

fn edit(page: &mut Desk, message: &str, text: &str) {
    ask(page, "sendMessage", json!({ "text": text, "replaces": message }), &text.to_uppercase());
}

fn shown(page: &mut Desk, args: Value) -> Vec<Value> {
    page.must("history", args).as_array().unwrap().clone()
}

fn texts_of(messages: &[Value]) -> Vec<String> {
    let text = |message: &Value| {
        message["parts"]
            .as_array()
            .unwrap()
            .iter()
            .rev()
            .find_map(|part| part["text"].as_str())
            .unwrap_or_default()
            .to_owned()
    };
    messages.iter().map(text).collect()
}

fn texts(page: &mut Desk) -> Vec<String> {
    texts_of(&shown(page, json!({})))
}

fn ids(page: &mut Desk) -> Vec<String> {
    shown(page, json!({})).iter().map(|message| message["id"].as_str().unwrap().into()).collect()
}

/// What the model is sent next.
fn sent(page: &mut Desk) -> Vec<String> {
    page.must("sendMessage", json!({ "text": "now" }));
    let messages = page.asked["messages"].as_array().unwrap().clone();
    page.says("NOW");
    let others = messages.iter().filter(|message| message["role"] != "system");
    others.map(|message| message["content"].as_str().unwrap_or_default().into()).collect()
}

/// Everything that is stored.
fn stored(page: &mut Desk) -> String {
    page.rows("default");
    let tables = [Table::Entries, Table::Heads, Table::Drafts, Table::Files];
    tables.map(|table| page.stored(table, "default").concat()).concat()
}

#[test]
fn an_older_version_is_the_conversation_again_with_what_followed_it() {
    let mut page = page();
    for text in ["one", "two", "three"] {
        say(&mut page, text);
    }
    let old = ids(&mut page);
    edit(&mut page, &old[2], "zwei");
    let new = ids(&mut page);
    page.must("switchTo", json!({ "messageId": old[4] }));
    assert_eq!(ids(&mut page), old);
    let mut page = lost(page);
    assert_eq!(ids(&mut page), old);
    let edited = new[2].clone();
    page.must("switchTo", json!({ "messageId": new[3] }));
    assert_eq!(
        (ids(&mut page), texts(&mut page)),
        (new, ["one", "ONE", "zwei", "ZWEI"].map(String::from).into())
    );
    // It is gone on with, and so is the other.
    assert_eq!(sent(&mut page), ["one", "ONE", "zwei", "ZWEI", "now"]);
    page.must("switchTo", json!({ "messageId": old[5] }));
    assert_eq!(sent(&mut page), ["one", "ONE", "two", "TWO", "three", "THREE", "now"]);
    page.must("switchTo", json!({ "messageId": old[1] }));
    assert_eq!(texts(&mut page).len(), 8, "what is shown already stays");
    assert_eq!(page.event_types("default").iter().filter(|kind| *kind == "switched").count(), 3);
    assert_eq!(page.fails("switchTo", json!({ "messageId": "msg_none" })).0, Code::MessageNotFound);
    page.must("sendMessage", json!({ "text": "at work" }));
    assert_eq!(page.fails("switchTo", json!({ "messageId": edited })).0, Code::Busy);
    page.says("AT WORK");
    page.holds("default");
}

#[test]
fn a_removed_message_is_gone_from_what_is_sent_shown_and_stored() {
    let mut page = page();
    for text in ["alpha", "secret-word", "omega"] {
        say(&mut page, text);
    }
    let [_, _, second, answer, third, _] = &ids(&mut page)[..] else { panic!() };
    let (second, answer, third) = (second.clone(), answer.clone(), third.clone());
    edit(&mut page, &second, "secret-edit");
    page.must("switchTo", json!({ "messageId": second }));
    assert!(stored(&mut page).contains("secret-edit"));
    let usage = page.status("default")["usage"].clone();
    page.must("removeMessage", json!({ "messageId": answer }));
    assert_eq!(texts(&mut page), ["alpha", "ALPHA", "omega", "OMEGA"]);
    for word in ["secret", "SECRET"] {
        assert!(!stored(&mut page).contains(word), "{word}");
    }
    let mut page = lost(page);
    assert_eq!(texts(&mut page), ["alpha", "ALPHA", "omega", "OMEGA"]);
    assert_eq!(page.status("default")["usage"], usage, "what was used up counts");
    for gone in [&second, &answer] {
        assert_eq!(page.fails("history", json!({ "version": gone })).0, Code::MessageNotFound);
        assert_eq!(page.fails("removeMessage", json!({ "messageId": gone })).0, Code::MessageNotFound);
    }
    assert_eq!(sent(&mut page), ["alpha", "ALPHA", "omega", "OMEGA", "now"]);
    edit(&mut page, &third, "Omega");
    assert_eq!(texts(&mut page), ["alpha", "ALPHA", "Omega", "OMEGA"]);
    page.holds("default");
    assert_eq!(page.must("sessions.verify", json!({ "id": "default" }))["hmac_status"], "verified");
}

#[test]
fn what_was_always_allowed_is_asked_again_after_a_removal_and_marks_stay() {
    let mut page = page();
    page.must("sendMessage", json!({ "text": "go", "context": "from outside" }));
    page.wants("send");
    let request = page.events.iter().rev().find(|(kind, _)| *kind == "agent:permission-required").unwrap().1
        ["requestId"]
        .clone();
    page.must("resolvePermission", json!({ "requestId": request, "answer": "always_allow" }));
    page.returns(0);
    page.says("done");
    let first = ids(&mut page)[0].clone();
    page.must("removeMessage", json!({ "messageId": first }));
    let mut page = lost(page);
    let tool = json!({ "name": "send", "description": "d", "inputSchema": "{}", "execute": { "$fn": 7 } });
    page.must("tools.register", tool);
    page.must("sendMessage", json!({ "text": "again" }));
    page.wants("send");
    let asked = &page.events.iter().rev().find(|(kind, _)| *kind == "agent:permission-required").unwrap().1;
    assert_eq!(asked["reason"], "external_text", "the mark of what was removed stays: {asked}");
    assert!(page.tools.is_empty());
}

#[test]
fn what_cannot_be_removed_says_what_can() {
    let mut page = page();
    say(&mut page, "one");
    page.must("sendMessage", json!({ "text": "two" }));
    page.must("sendMessage", json!({ "text": "steers", "whenBusy": "steer" }));
    page.must("sendMessage", json!({ "text": "waits", "whenBusy": "queue" }));
    let first = ids(&mut page)[0].clone();
    assert_eq!(page.fails("removeMessage", json!({ "messageId": first })).0, Code::Busy);
    page.answers_with(vec![Block::Text("TWO".into())], StopReason::EndTurn);
    page.says("STEERED");
    page.says("WAITED");
    let shown = shown(&mut page, json!({}));
    let steered = shown.iter().find(|message| message["parts"][0]["text"] == "steers").unwrap()["id"].clone();
    let error = page.ask("removeMessage", json!({ "messageId": steered })).unwrap_err();
    let two =
        shown.iter().find(|message| message["parts"][0]["text"] == "two").unwrap()["id"].as_str().unwrap();
    assert!(error.hint.as_deref().unwrap().contains(two), "{error:?}");
    page.must("removeMessage", json!({ "messageId": two }));
    assert!(!stored(&mut page).contains("steers"), "what had entered its run goes too");
    assert_eq!(texts(&mut page), ["one", "ONE", "waits", "WAITED"]);
    page.holds("default");
}

#[test]
fn an_edit_keeps_its_files_unless_it_says_otherwise() {
    let mut page = page();
    let files = json!([{ "id": "file_1", "mediaType": "text/plain", "size": 3, "name": "a.txt" }]);
    let request = lodger::protocol::read("sendMessage", json!({ "text": "see", "trusted": true })).unwrap();
    let with = request.with_files(Some(files));
    page.gives(with);
    page.says("SEEN");
    let message = ids(&mut page)[0].clone();
    edit(&mut page, &message, "look");
    let shown = shown(&mut page, json!({}));
    assert_eq!(shown[0]["parts"][0]["filename"], "a.txt", "{}", shown[0]);
    let message = ids(&mut page)[0].clone();
    // A text is not needed where there are files.
    edit(&mut page, &message, " ");
    let message = ids(&mut page)[0].clone();
    let request =
        lodger::protocol::read("sendMessage", json!({ "text": "none", "replaces": message })).unwrap();
    let with = request.with_files(Some(json!([])));
    page.gives(with);
    page.says("NONE");
    let now = texts_and_files(&mut page);
    assert_eq!(now, [["none".to_owned()]], "{now:?}");
    page.holds("default");
}

fn texts_and_files(page: &mut Desk) -> Vec<Vec<String>> {
    let part =
        |part: &Value| part["text"].as_str().or(part["filename"].as_str()).unwrap_or_default().to_owned();
    let all = shown(page, json!({}));
    let said = all.iter().filter(|message| message["role"] == "user");
    said.map(|message| message["parts"].as_array().unwrap().iter().map(part).collect()).collect()
}

/// The conversation, and that of each version that it names, and of each that these name.
fn everything(page: &mut Desk) -> Value {
    let mut known: Vec<String> = Vec::new();
    let mut all = vec![shown(page, json!({}))];
    let mut at = 0;
    while at < all.len() {
        let named =
            all[at].iter().flat_map(|message| message["versions"].as_array().into_iter().flatten().cloned());
        for id in named.map(|id| id.as_str().unwrap().to_owned()).collect::<Vec<_>>() {
            if !known.contains(&id) {
                all.push(shown(page, json!({ "version": id })));
                known.push(id);
            }
        }
        at += 1;
    }
    json!(all)
}

/// What is said in it, and answered.
fn words(all: &Value) -> BTreeSet<String> {
    let conversations = all.as_array().unwrap();
    conversations.iter().flat_map(|one| texts_of(one.as_array().unwrap())).collect()
}

#[test]
fn whatever_is_edited_made_anew_switched_and_removed_a_reload_finds_the_same() {
    let rounds = if std::env::var_os("LODGER_QUICK").is_some() { 12 } else { 120 };
    for seed in 0..rounds {
        let mut rng = Rng::with_seed(seed);
        let mut page = page();
        let mut removed: BTreeSet<String> = BTreeSet::new();
        for step in 0..24 {
            let word = format!("word-{step}.");
            let before = shown(&mut page, json!({}));
            let pick = |rng: &mut Rng, role: &str| {
                let of: Vec<_> = before.iter().filter(|message| message["role"] == role).collect();
                (!of.is_empty()).then(|| of[rng.usize(..of.len())]["id"].as_str().unwrap().to_owned())
            };
            match rng.u8(..10) {
                0..3 => say(&mut page, &word),
                3..5 => match pick(&mut rng, "user") {
                    Some(message) => edit(&mut page, &message, &word),
                    None => say(&mut page, &word),
                },
                5 => {
                    if let Some(answer) = pick(&mut rng, "assistant") {
                        ask(&mut page, "regenerate", json!({ "messageId": answer }), &word);
                    }
                }
                6..8 => {
                    let versions: Vec<_> = before
                        .iter()
                        .flat_map(|message| message["versions"].as_array().into_iter().flatten())
                        .collect();
                    if !versions.is_empty() {
                        let version = versions[rng.usize(..versions.len())].clone();
                        page.must("switchTo", json!({ "messageId": version }));
                        let now = ids(&mut page);
                        assert!(
                            now.contains(&version.as_str().unwrap().to_owned()),
                            "seed {seed}, step {step}"
                        );
                    }
                }
                8 => {
                    let role = if rng.bool() { "user" } else { "assistant" };
                    if let Some(message) = pick(&mut rng, role) {
                        let at = before.iter().position(|one| one["id"] == json!(message)).unwrap();
                        let said = &before[if role == "user" { at } else { at - 1 }];
                        let was = words(&everything(&mut page));
                        page.must("removeMessage", json!({ "messageId": message }));
                        let left = words(&everything(&mut page));
                        removed.extend(was.difference(&left).cloned());
                        let word = texts_of(std::slice::from_ref(said)).remove(0);
                        assert!(!left.contains(&word), "seed {seed}, step {step}: {word} is shown");
                        let now = texts(&mut page);
                        let stay: Vec<_> =
                            before.iter().filter(|one| one["runId"] != said["runId"]).cloned().collect();
                        assert_eq!(now, texts_of(&stay), "seed {seed}, step {step}");
                    }
                }
                _ => page = lost(page),
            }
            let rows = stored(&mut page);
            for word in &removed {
                assert!(!rows.contains(&format!("\"{word}\"")), "seed {seed}, step {step}: {word} is stored");
            }
            let all = everything(&mut page);
            page = lost(page);
            assert_eq!(everything(&mut page), all, "seed {seed}, step {step}");
        }
        page.holds("default");
        // What its erased rows add up to is what they did before.
        page.must("clearConversation", json!({}));
        page.rows("default");
        for _ in 0..2 {
            let verified = page.must("sessions.verify", json!({ "id": "default" }));
            assert_eq!(verified["hmac_status"], "verified", "seed {seed}: {verified}");
            page = lost(page);
        }
    }
}
