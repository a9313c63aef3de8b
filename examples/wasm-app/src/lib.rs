//! A chat in a page, in Rust alone. Close the tab in mid-answer, open it again: the conversation is there.
//!
//! The model is a closure of the app, so that the example needs no key and no network. For a real one, give
//! `start_agent` this: `{ "provider": { "kind": "anthropic", "apiKey": "…" } }`.
#![cfg(target_arch = "wasm32")]

use lodger::browser::{Answer, Workspace, WorkspaceOptions};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Document, Element, Event, HtmlInputElement};

#[wasm_bindgen(start)]
fn start() {
    spawn_local(async {
        if let Err(error) = chat().await {
            web_sys::console::error_1(&error);
        }
    });
}

/// Opens the workspace, shows what was said, and starts the agent.
pub async fn chat() -> Result<Workspace, JsValue> {
    let document = web_sys::window().and_then(|window| window.document()).ok_or("this is no page")?;
    let find = |id: &str| document.get_element_by_id(id).ok_or_else(|| JsValue::from(format!("no #{id}")));
    let (log, form, input) = (find("log")?, find("form")?, find("box")?.unchecked_into::<HtmlInputElement>());

    let workspace = Workspace::open("chat", WorkspaceOptions::default()).await.map_err(said)?;
    for message in workspace.history().await.map_err(said)? {
        let parts = message["parts"].as_array().into_iter().flatten();
        let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
        line(&document, &log, message["role"].as_str().unwrap_or_default())?.set_text_content(Some(&text));
    }

    let count = json!({
        "name": "count_words", "description": "Counts the words of a text.", "readOnly": true,
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
    });
    let words = |args: &Value| args["text"].as_str().unwrap_or_default().split_whitespace().count();
    let counted = async move |args, _| Ok(json!(words(&args)));
    workspace.register_tool(count, counted).await.map_err(said)?;

    let shown = log.clone();
    let show = move |event: &lodger::browser::Event<'_>| match (event.name, shown.last_element_child()) {
        ("agent:message-chunk", Some(line)) => {
            let text = event.detail()["text"].as_str().unwrap_or_default().to_owned();
            line.set_text_content(Some(&(line.text_content().unwrap_or_default() + &text)));
        }
        ("agent:error", Some(line)) => line.set_text_content(event.detail()["message"].as_str()),
        _ => {}
    };
    workspace.on_event(show).forget();

    let provider = json!({ "kind": "custom", "stream": workspace.model(counter) });
    workspace.start_agent(json!({ "provider": provider })).await.map_err(said)?;

    let agent = workspace.clone();
    let submit = Closure::<dyn FnMut(Event) -> Result<(), JsValue>>::new(move |event: Event| {
        event.prevent_default();
        let text = input.value();
        input.set_value("");
        line(&document, &log, "user")?.set_text_content(Some(&text));
        let (agent, answer) = (agent.clone(), line(&document, &log, "assistant")?);
        spawn_local(async move {
            if let Err(error) = agent.send_message(&text).await {
                answer.set_text_content(Some(&error.message));
            }
        });
        Ok(())
    });
    form.add_event_listener_with_callback("submit", submit.as_ref().unchecked_ref())?;
    submit.forget();
    Ok(workspace)
}

/// A model that has all words counted, by the tool.
async fn counter(request: Value, answer: Answer) -> Result<(), String> {
    let messages = request["messages"].as_array().ok_or("no messages")?;
    let last = messages.last().ok_or("no message")?;
    if last["role"] == "tool" {
        // A result stands between two lines that say where it comes from.
        let counted = last["content"].as_str().and_then(|framed| framed.lines().nth(1));
        answer.text(&format!("Words: {}.", counted.unwrap_or_default()));
    } else {
        let arguments = json!({ "text": last["content"] }).to_string();
        let function = json!({ "name": "count_words", "arguments": arguments });
        let call = json!({ "index": 0, "id": format!("call_{}", messages.len()), "function": function });
        answer.chunk(&json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }));
    }
    Ok(())
}

fn line(document: &Document, log: &Element, role: &str) -> Result<Element, JsValue> {
    let line = document.create_element("li")?;
    line.set_class_name(role);
    log.append_child(&line).map(|_| line)
}

fn said(error: lodger::error::ErrorInfo) -> JsValue {
    error.message.as_str().into()
}
