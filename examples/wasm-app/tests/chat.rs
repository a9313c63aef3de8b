//! The example in a browser: asked, answered, closed, opened again.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Document, Element, Event, HtmlInputElement};

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

/// The body of the example's page, as it is when it was just loaded.
fn load(document: &Document) {
    let page = include_str!("../index.html");
    let body = page.split_once("<body>").unwrap().1.split_once("</body>").unwrap().0;
    let place = document.get_element_by_id("page").unwrap_or_else(|| {
        let place = document.create_element("div").unwrap();
        place.set_id("page");
        document.document_element().unwrap().append_child(&place).unwrap();
        place
    });
    place.set_inner_html(body);
}

fn lines(document: &Document) -> Vec<String> {
    let first = document.get_element_by_id("log").unwrap().first_element_child();
    let lines = std::iter::successors(first, Element::next_element_sibling);
    lines.map(|line| format!("{}: {}", line.class_name(), line.text_content().unwrap())).collect()
}

async fn task() {
    let window = web_sys::window().unwrap();
    let task = js_sys::Promise::new(&mut |resolve, _| {
        window.set_timeout_with_callback(&resolve).unwrap();
    });
    JsFuture::from(task).await.unwrap();
}

#[wasm_bindgen_test]
async fn it_answers_and_remembers() {
    lodger::browser::delete("chat").await.unwrap();
    let document = web_sys::window().unwrap().document().unwrap();
    load(&document);
    let workspace = wasm_app::chat().await.unwrap();
    let input = document.get_element_by_id("box").unwrap().unchecked_into::<HtmlInputElement>();
    input.set_value("one two three");
    let submit = Event::new("submit").unwrap();
    document.get_element_by_id("form").unwrap().dispatch_event(&submit).unwrap();
    let said = ["user: one two three", "assistant: Words: 3."];
    while lines(&document) != said {
        task().await;
    }
    while workspace.status().is_streaming {
        task().await;
    }
    workspace.close().await;

    load(&document);
    let workspace = wasm_app::chat().await.unwrap();
    assert_eq!(lines(&document), said);
    workspace.close().await;
}
