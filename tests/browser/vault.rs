//! The vault: what it keeps can be used after a reload, read by nobody, and passes for nothing else.
//!
//! A server of the test's own stands in for `fetch`: the header of a call is the only place where a key comes out.

use crate::faults::{self, Server, Vault};
use crate::host::{Host, until};
use lodger::browser;
use lodger::error::Code;
use serde_json::{Value, json};
use wasm_bindgen_test::wasm_bindgen_test;

const KEY: &str = "sk-ant-marked-0123456789-ABCDEFGHIJ";

async fn set(host: &Host, provider: &str, key: &str) {
    host.ask("keys.set", json!({ "provider": provider, "key": key })).await.unwrap();
}

async fn list(host: &Host) -> Value {
    host.ask("keys.list", json!({})).await.unwrap()
}

/// The key that the provider is sent when nobody gives one.
async fn key_sent(host: &Host) -> Option<String> {
    let server = Server::start();
    let asked = host.send("keys.models", json!({ "provider": { "kind": "anthropic" } }));
    let request = until(|| match server.requests().into_iter().next() {
        Some(request) => Some(Some(request)),
        None => host.reply(asked).is_some().then_some(None),
    })
    .await?;
    faults::answer(&request, 200);
    faults::write(&request, r#"{"data":[{"id":"m"}]}"#);
    faults::end(&request);
    assert_eq!(until(|| host.reply(asked)).await, Ok(json!([{ "id": "m" }])));
    let headers: Vec<(String, String)> = serde_wasm_bindgen::from_value(request.headers()).unwrap();
    headers.into_iter().find(|(name, _)| name == "x-api-key").map(|(_, value)| value)
}

#[wasm_bindgen_test]
async fn a_key_is_there_after_the_workspace_was_opened_again() {
    let host = Host::fresh("vault").await;
    assert_eq!(list(&host).await, json!([]));
    set(&host, "openai", "sk-another-key").await;
    set(&host, "anthropic", KEY).await;
    host.close().await;

    let host = Host::open("vault").await.unwrap();
    assert_eq!(list(&host).await, json!(["anthropic", "openai"]));
    assert_eq!(key_sent(&host).await.as_deref(), Some(KEY));
    host.ask("startAgent", json!({ "provider": { "kind": "anthropic" } })).await.unwrap();
    assert_eq!(host.ask("settings", json!({})).await.unwrap()["api_key_configured"], true);
    host.ask("keys.remove", json!({ "provider": "anthropic" })).await.unwrap();
    assert_eq!(list(&host).await, json!(["openai"]));
    assert_eq!(host.ask("settings", json!({})).await.unwrap()["api_key_configured"], false);
    assert_eq!(key_sent(&host).await, None);
    assert_eq!(Vault::of("vault").await.row("anthropic"), None);
    host.close().await;
    browser::delete("vault").await.unwrap();
    assert!(!faults::database_exists("vault").await);
}

#[wasm_bindgen_test]
async fn what_is_stored_does_not_show_the_key() {
    let host = Host::fresh("vault cipher").await;
    set(&host, "anthropic", KEY).await;
    let first = Vault::of("vault cipher").await;
    let row = first.row("anthropic").unwrap();
    // 12 bytes of IV, the text, 16 bytes of tag.
    assert_eq!(faults::decoded(&row).chars().count(), 12 + KEY.len() + 16);
    let hex = |text: &str| text.chars().map(|c| format!("{:02x}", c as u32)).collect::<String>();
    for piece in KEY.as_bytes().windows(6).map(|piece| std::str::from_utf8(piece).unwrap()) {
        for (text, what) in [(&row, "the row"), (&faults::decoded(&row), "its bytes")] {
            assert!(!text.contains(piece), "{what} has {piece}");
            assert!(!hex(text).contains(&hex(piece)), "{what} has {piece} in hex");
        }
    }
    assert_eq!((first.keys(), first.exportable().await), (1, 0.0));

    // The same key again, and the same key for somebody else.
    set(&host, "anthropic", KEY).await;
    set(&host, "openai", KEY).await;
    let second = Vault::of("vault cipher").await;
    let rows = [Some(row), second.row("anthropic"), second.row("openai")];
    let iv =
        |row: &Option<String>| faults::decoded(row.as_ref().unwrap()).chars().take(12).collect::<String>();
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        assert_ne!(rows[one], rows[other]);
        assert_ne!(iv(&rows[one]), iv(&rows[other]), "an IV is used once");
    }
    assert_eq!(second.keys(), 1, "one key serves the whole vault");
    host.close().await;
}

#[wasm_bindgen_test]
async fn a_row_passes_for_no_other_name_and_no_other_text() {
    let host = Host::fresh("vault names").await;
    set(&host, "openai", KEY).await;
    let vault = Vault::of("vault names").await;
    let row = vault.row("openai").unwrap();
    assert_eq!(vault.text("openai", "openai").await.as_deref(), Some(KEY));
    assert_eq!(vault.text("openai", "anthropic").await, None);
    // Somebody who can write the database gives it to another provider, or spoils it.
    let spoiled = match row.strip_prefix('A') {
        Some(rest) => format!("B{rest}"),
        None => row.chars().rev().collect(),
    };
    for value in [row.as_str(), &spoiled, "", "no base64!"] {
        faults::put_vault_row("lodger:vault names", "anthropic", value).await;
        let error =
            host.ask("keys.models", json!({ "provider": { "kind": "anthropic" } })).await.unwrap_err();
        assert_eq!(error.code, Code::Corrupt, "{value}");
        let told = host.ask("keys.validate", json!({ "provider": { "kind": "anthropic" } })).await.unwrap();
        assert_eq!((&told["ok"], &told["error"]["code"]), (&json!(false), &json!("corrupt")), "{told}");
    }
    set(&host, "anthropic", KEY).await;
    assert_eq!(key_sent(&host).await.as_deref(), Some(KEY));
    host.close().await;
}

#[wasm_bindgen_test]
async fn of_two_that_make_the_first_key_one_wins() {
    let [one, other] = [Host::fresh("vault race").await, Host::open("vault race").await.unwrap()];
    let ask = |host: &Host, name: &str| host.send("keys.set", json!({ "provider": name, "key": KEY }));
    let sent = [ask(&one, "anthropic"), ask(&other, "openai"), ask(&one, "xai")];
    until(|| one.reply(sent[0]).and(other.reply(sent[1])).and(one.reply(sent[2]))).await.unwrap();
    let vault = Vault::of("vault race").await;
    assert_eq!(vault.keys(), 1);
    for name in ["anthropic", "openai", "xai"] {
        assert_eq!(vault.text(name, name).await.as_deref(), Some(KEY), "{name}");
    }
    one.close().await;
    other.close().await;
}

#[wasm_bindgen_test]
async fn without_a_cipher_the_error_says_what_to_do() {
    let host = Host::fresh("vault insecure").await;
    set(&host, "anthropic", KEY).await;
    let missing = faults::no_cipher();
    let args = json!({ "provider": "openai", "key": KEY });
    let error = host.ask("keys.set", args).await.unwrap_err();
    assert_eq!(error.code, Code::InsecureContext);
    assert!(error.hint.as_deref().unwrap().contains("https"), "{error:?}");
    let told = host.ask("keys.validate", json!({ "provider": { "kind": "anthropic" } })).await.unwrap();
    assert_eq!(told["error"]["code"], "insecure_context");
    assert_eq!(list(&host).await, json!(["anthropic"]));
    drop(missing);
    assert_eq!(key_sent(&host).await.as_deref(), Some(KEY));
    host.close().await;
}

#[wasm_bindgen_test]
async fn a_database_without_a_vault_gets_one_and_keeps_its_rows() {
    browser::delete("vault early").await.unwrap();
    faults::early("lodger:vault early").await;
    let host = Host::open("vault early").await.unwrap();
    set(&host, "anthropic", KEY).await;
    assert_eq!(key_sent(&host).await.as_deref(), Some(KEY));
    host.close().await;
    let other = faults::connect("lodger:vault early", None, false).await.unwrap();
    let stores = js_sys::Reflect::get(&other, &"objectStoreNames".into()).unwrap();
    assert_eq!(js_sys::Array::from(&stores).length(), 10);
    faults::close(&other);
}
