//! The example in a browser: asked and answered, opened again, and in two tabs.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Document, Element, Event, HtmlIFrameElement, HtmlInputElement};

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

/// The body of the example's page.
fn body() -> &'static str {
    let page = include_str!("../index.html");
    page.split_once("<body>").unwrap().1.split_once("</body>").unwrap().0
}

fn document() -> Document {
    web_sys::window().unwrap().document().unwrap()
}

/// The example's page, as it is when it was just loaded.
fn load(document: &Document) {
    let place = document.get_element_by_id("page").unwrap_or_else(|| {
        let place = document.create_element("div").unwrap();
        place.set_id("page");
        document.document_element().unwrap().append_child(&place).unwrap();
        place
    });
    place.set_inner_html(body());
}

/// What begins the app in another tab: the module of a test does not begin by itself.
#[wasm_bindgen]
pub async fn begin() {
    wasm_app::chat().await.unwrap();
}

/// Another tab of this origin, in a frame: it has a module and a client of its own.
async fn another() -> HtmlIFrameElement {
    let frame = document().create_element("iframe").unwrap().unchecked_into::<HtmlIFrameElement>();
    let module = "import init, { begin } from '/wasm-bindgen-test';
        await init('/wasm-bindgen-test_bg.wasm');
        await begin();
        document.body.id = 'begun';";
    frame.set_srcdoc(&format!("<!doctype html><body>{}<script type=module>{module}</script></body>", body()));
    document().document_element().unwrap().append_child(&frame).unwrap();
    frame
}

fn lines(document: &Document) -> Vec<String> {
    let first = document.get_element_by_id("log").and_then(|log| log.first_element_child());
    let lines = std::iter::successors(first, Element::next_element_sibling);
    lines.map(|line| format!("{}: {}", line.class_name(), line.text_content().unwrap())).collect()
}

fn say(document: &Document, text: &str) {
    document.get_element_by_id("box").unwrap().unchecked_into::<HtmlInputElement>().set_value(text);
    let submit = Event::new("submit").unwrap();
    document.get_element_by_id("form").unwrap().dispatch_event(&submit).unwrap();
}

async fn task() {
    let window = web_sys::window().unwrap();
    let task = js_sys::Promise::new(&mut |resolve, _| {
        window.set_timeout_with_callback(&resolve).unwrap();
    });
    JsFuture::from(task).await.unwrap();
}

async fn shows(document: &Document, said: &[&str]) {
    while lines(document) != said {
        task().await;
    }
}

#[wasm_bindgen_test]
async fn it_answers_and_remembers() {
    lodger::app::delete_workspace("chat").await.unwrap();
    let document = document();
    load(&document);
    let workspace = wasm_app::chat().await.unwrap();
    say(&document, "one two three");
    let said = ["user: one two three", "assistant: Words: 3."];
    shows(&document, &said).await;
    while workspace.status().unwrap().is_streaming {
        task().await;
    }
    workspace.close().await;

    load(&document);
    let workspace = wasm_app::chat().await.unwrap();
    shows(&document, &said).await;
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn two_tabs_are_one_conversation() {
    lodger::app::delete_workspace("chat").await.unwrap();
    let document = document();
    load(&document);
    let workspace = wasm_app::chat().await.unwrap();
    let frame = another().await;
    say(&document, "one");
    shows(&document, &["user: one", "assistant: Words: 1."]).await;
    let other = loop {
        match frame.content_document() {
            Some(other) if other.get_element_by_id("begun").is_some() => break other,
            _ => task().await,
        }
    };
    shows(&other, &["user: one", "assistant: Words: 1."]).await;

    // The tab that follows asks the one that has the agent.
    say(&other, "one two");
    let said = ["user: one", "assistant: Words: 1.", "user: one two", "assistant: Words: 2."];
    shows(&document, &said).await;
    shows(&other, &said).await;
    while workspace.status().unwrap().is_streaming {
        task().await;
    }

    // It has joined, so it goes on when that one is gone. Firefox runs no timers of this frame, and a take-over needs them; in tabs of
    // Firefox the tests of the package show it.
    workspace.close().await;
    let firefox = web_sys::window().unwrap().navigator().user_agent().unwrap().contains("Firefox");
    if !firefox {
        say(&other, "one two three");
        let last = [&said[..], &["user: one two three", "assistant: Words: 3."]].concat();
        shows(&other, &last).await;
    }
    frame.remove();
}
