//! A chat in a page, in Rust alone. Close the tab in mid-answer, open it again: the conversation is there. Open it twice: both
//! tabs show it.
//!
//! The model is a closure of the app, so that the example needs no key and no network. For a real one, give `start_agent` a
//! `Provider` with the kind `anthropic` and an `api_key`.
#![cfg(target_arch = "wasm32")]

use lodger::app::{
    AgentConfig, Answer, Part, Provider, SendOptions, Snapshot, Tool, View, Workspace, WorkspaceOptions,
};
use lodger::error::ErrorInfo;
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

/// Opens the workspace, draws what is said, and starts the agent.
pub async fn chat() -> Result<Workspace, JsValue> {
    let document = web_sys::window().and_then(|window| window.document()).ok_or("this is no page")?;
    let find = |id: &str| document.get_element_by_id(id).ok_or_else(|| JsValue::from(format!("no #{id}")));
    let (log, form, input) = (find("log")?, find("form")?, find("box")?.unchecked_into::<HtmlInputElement>());

    let workspace = Workspace::open("chat", WorkspaceOptions::default()).await.map_err(said)?;
    let view = workspace.view(None).map_err(said)?;
    spawn_local(drawn(view, document.clone(), log));

    let count = Tool {
        name: "count_words".into(),
        description: "Counts the words of a text.".into(),
        input_schema: json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] }),
        read_only: Some(true),
        ..Tool::default()
    };
    let words = |args: &Value| args["text"].as_str().unwrap_or_default().split_whitespace().count();
    workspace.tools().register(count, async move |args, _| Ok(json!(words(&args)))).map_err(said)?;

    let provider =
        Provider { kind: "custom".into(), stream: Some(workspace.model(counter)), ..Provider::default() };
    let config = AgentConfig { provider: Some(provider), ..AgentConfig::default() };
    workspace.start_agent(config).await.map_err(said)?;

    let agent = workspace.clone();
    let submit = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
        event.prevent_default();
        let (agent, text) = (agent.clone(), input.value());
        input.set_value("");
        spawn_local(async move {
            if let Err(error) = agent.send_message(text, SendOptions::default()).await {
                web_sys::console::error_1(&said(error));
            }
        });
    });
    form.add_event_listener_with_callback("submit", submit.as_ref().unchecked_ref())?;
    submit.forget();
    Ok(workspace)
}

/// Draws each snapshot, also of what another tab does.
async fn drawn(mut view: View, document: Document, log: Element) {
    while let Some(snapshot) = view.next().await {
        if let Err(error) = draw(&document, &log, &snapshot) {
            web_sys::console::error_1(&error);
        }
    }
}

fn draw(document: &Document, log: &Element, snapshot: &Snapshot) -> Result<(), JsValue> {
    let mut lines = log.children();
    for (place, message) in snapshot.messages.iter().enumerate() {
        let line = match lines.item(u32::try_from(place).unwrap_or_default()) {
            Some(line) => line,
            None => {
                let line = document.create_element("li")?;
                log.append_child(&line)?;
                lines = log.children();
                line
            }
        };
        line.set_class_name(message.role.as_str());
        let text: String = message.parts.iter().filter_map(Part::text).collect();
        let failed = message.error.as_ref().map_or("", |error| &error.message);
        line.set_text_content(Some(&(text + failed)));
    }
    Ok(())
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

fn said(error: ErrorInfo) -> JsValue {
    error.message.as_str().into()
}
