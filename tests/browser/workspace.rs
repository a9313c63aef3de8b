//! The Rust API: what an app without the npm package has in its hands.

use crate::faults::{self, lock_is_free};
use crate::host::until;
use lodger::browser::{self, Answer, Event, Operator, Workspace, WorkspaceOptions};
use lodger::error::Code;
use lodger::harness::Lifecycle;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{CustomEvent, EventTarget};

async fn fresh(name: &str) -> Workspace {
    browser::delete(name).await.unwrap();
    Workspace::open(name, WorkspaceOptions::default()).await.unwrap()
}

async fn started<F>(name: &str, model: F) -> Workspace
where
    F: AsyncFn(Value, Answer) -> Result<(), String> + 'static,
{
    let workspace = fresh(name).await;
    start(&workspace, model).await;
    workspace
}

async fn start<F>(workspace: &Workspace, model: F)
where
    F: AsyncFn(Value, Answer) -> Result<(), String> + 'static,
{
    let stream = workspace.model(model);
    let config = json!({ "provider": { "kind": "custom", "stream": stream } });
    workspace.start_agent(config).await.unwrap();
}

/// Answers with one text.
async fn hello(_: Value, answer: Answer) -> Result<(), String> {
    answer.text("Hello.");
    Ok(())
}

/// Calls the tool `work` once, then says what it gave.
async fn worker(request: Value, answer: Answer) -> Result<(), String> {
    let last = request["messages"].as_array().unwrap().last().unwrap().clone();
    if last["role"] == "tool" {
        answer.text(last["content"].as_str().unwrap());
    } else {
        let call =
            json!({ "index": 0, "id": "call_1", "function": { "name": "work", "arguments": r#"{"n":2}"# } });
        let delta = json!({ "role": "assistant", "tool_calls": [call] });
        answer.chunk(&json!({ "choices": [{ "delta": delta, "finish_reason": "tool_calls" }] }));
    }
    Ok(())
}

fn work() -> Value {
    json!({ "name": "work", "description": "Works.", "inputSchema": {
        "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] } })
}

/// Waits for an event of this name.
async fn heard(log: &RefCell<Vec<(String, Value)>>, name: &str) -> Value {
    until(|| log.borrow().iter().find(|(of, _)| of == name).map(|(_, detail)| detail.clone())).await
}

fn listened(workspace: &Workspace) -> Rc<RefCell<Vec<(String, Value)>>> {
    let log = Rc::new(RefCell::new(Vec::new()));
    let told = Rc::clone(&log);
    let listener = move |event: &Event<'_>| told.borrow_mut().push((event.name.to_owned(), event.detail()));
    workspace.on_event(listener).forget();
    log
}

#[wasm_bindgen_test]
async fn a_tool_is_an_async_closure() {
    let workspace = started("rust tool", worker).await;
    let log = listened(&workspace);
    let tool = async |args: Value, context: browser::ToolContext| {
        context.progress(&json!("half"));
        faults::task().await;
        assert!(context.run_id.is_some() && context.tool_call_id == "call_1");
        Ok(json!(args["n"].as_u64().unwrap() * 21))
    };
    workspace.register_tool(work(), tool).await.unwrap();
    let run = workspace.send_message("Work").await.unwrap();
    assert_eq!(workspace.status().lifecycle, Lifecycle::Running);
    let result = workspace.result(&run).await.unwrap();
    assert_eq!((&result["outcome"], &result["turns"]), (&json!("completed"), &json!(2)));
    assert!(result["text"].as_str().unwrap().contains("42"), "{result}");
    assert!(!workspace.status().is_streaming);
    let progress = log.borrow().iter().any(|(_, detail)| detail.get("progress") == Some(&json!("half")));
    assert!(progress);
    assert_eq!(workspace.history().await.unwrap().len(), 2);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn the_model_learns_what_a_tool_has_to_complain_of() {
    let workspace = started("rust complaint", worker).await;
    workspace.register_tool(work(), async |_, _| Err("the shop is closed".into())).await.unwrap();
    let run = workspace.send_message("Work").await.unwrap();
    let text = workspace.result(&run).await.unwrap()["text"].to_string();
    assert!(text.contains("the shop is closed"), "{text}");
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn events_come_to_closures_and_then_to_the_dom() {
    browser::delete("rust events").await.unwrap();
    let target = EventTarget::new().unwrap();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&seen);
    let listener = Closure::<dyn FnMut(CustomEvent)>::new(move |event: CustomEvent| {
        let detail: Value = serde_wasm_bindgen::from_value(event.detail()).unwrap();
        log.borrow_mut().push(format!("dom {}", detail["text"]));
    });
    let callback = listener.as_ref().unchecked_ref();
    target.add_event_listener_with_callback("agent:message-chunk", callback).unwrap();
    let options = WorkspaceOptions { target: Some(target), ..WorkspaceOptions::default() };
    let workspace = Workspace::open("rust events", options).await.unwrap();
    let log = Rc::clone(&seen);
    let heard = workspace.on_event(move |event| {
        if event.name == "agent:message-chunk" {
            log.borrow_mut().push(format!("closure {}", event.detail()["text"]));
        }
    });
    start(&workspace, hello).await;
    let run = workspace.send_message("Hi").await.unwrap();
    workspace.result(&run).await.unwrap();
    assert_eq!(*seen.borrow(), ["closure \"Hello.\"", "dom \"Hello.\""]);
    drop(heard);
    seen.borrow_mut().clear();
    let run = workspace.send_message("Hi").await.unwrap();
    workspace.result(&run).await.unwrap();
    assert_eq!(*seen.borrow(), ["dom \"Hello.\""]);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_session_is_its_operators() {
    browser::delete("rust operator").await.unwrap();
    let of = |subject: &str| {
        let operator = Operator { subject: subject.into(), issuer: None, expires_at: None };
        Workspace::open(
            "rust operator",
            WorkspaceOptions { operator: Some(operator), ..WorkspaceOptions::default() },
        )
    };
    let workspace = of("ann").await.unwrap();
    start(&workspace, hello).await;
    let session = workspace.command("sessions.launch", json!({ "id": "docs" })).await.unwrap();
    assert_eq!(session["operator_subject"], "ann");
    workspace.close().await;
    let workspace = of("bob").await.unwrap();
    let status = workspace.command("sessions.status", json!({ "id": "docs" })).await.unwrap();
    assert_eq!(
        (&status["session"]["status"], &status["hmac_status"]),
        (&json!("running"), &json!("verified"))
    );
    let renamed = workspace.command("sessions.rename", json!({ "id": "docs", "displayName": "Mine" })).await;
    assert_eq!(renamed.unwrap_err().code, Code::PermissionDenied);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_listener_may_call_any_method() {
    let workspace = started("rust listener", hello).await;
    let (handle, count) = (workspace.clone(), Rc::new(Cell::new(0)));
    let counted = Rc::clone(&count);
    workspace
        .on_event(move |event| {
            if event.name == "agent:session-completed" && counted.replace(counted.get() + 1) == 0 {
                assert!(!handle.status().is_streaming);
                let handle = handle.clone();
                spawn_local(async move { drop(handle.send_message("Again").await.unwrap()) });
            }
        })
        .forget();
    workspace.send_message("Hi").await.unwrap();
    until(|| (count.get() == 2).then_some(())).await;
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn an_interrupt_drops_a_tool_where_it_waits() {
    struct Guard(Rc<Cell<bool>>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let workspace = started("rust interrupt", worker).await;
    let log = listened(&workspace);
    let (begun, dropped) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let (begin, guard) = (Rc::clone(&begun), Rc::clone(&dropped));
    let tool = async move |_, _| {
        let _guard = Guard(Rc::clone(&guard));
        begin.set(true);
        std::future::pending::<()>().await;
        Ok(Value::Null)
    };
    workspace.register_tool(work(), tool).await.unwrap();
    let run = workspace.send_message("Work").await.unwrap();
    until(|| begun.get().then_some(())).await;
    assert!(!dropped.get());
    workspace.interrupt();
    assert_eq!(workspace.result(&run).await.unwrap()["outcome"], "interrupted");
    heard(&log, "agent:session-interrupted").await;
    until(|| dropped.get().then_some(())).await;
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn errors_have_their_codes() {
    let workspace = fresh("rust errors").await;
    let code = |result: Result<Value, lodger::error::ErrorInfo>| result.unwrap_err().code;
    assert_eq!(workspace.send_message("Hi").await.unwrap_err().code, Code::NotRunning);
    assert_eq!(code(workspace.command("dance", json!({})).await), Code::UnknownCommand);
    let tool = || work();
    workspace.register_tool(tool(), async |_, _| Ok(json!(1))).await.unwrap();
    let again = workspace.register_tool(tool(), async |_, _| Ok(json!(2))).await;
    assert_eq!(again.unwrap_err().code, Code::DuplicateTool);
    let args = json!({ "name": "work", "args": { "n": 1 } });
    let result = workspace.command("tools.execute", args).await.unwrap();
    assert_eq!(result["result"], 1, "the first one is still there");
    let key = workspace.ask(async || Err("no key today".into()));
    let provider = json!({ "kind": "anthropic", "apiKey": key });
    workspace.start_agent(json!({ "provider": provider })).await.unwrap();
    let run = workspace.send_message("Hi").await.unwrap();
    let error = workspace.result(&run).await.unwrap()["error"].clone();
    assert_eq!(error["code"], "network");
    assert_eq!(error["message"], "the function for apiKey failed: no key today");
    workspace.close().await;
    assert_eq!(workspace.send_message("Hi").await.unwrap_err().code, Code::WorkspaceClosed);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn pages_are_commands() {
    let workspace = fresh("rust pages").await;
    let page = json!({ "title": "Dragon Lore", "content": "Dragons sleep." });
    assert_eq!(workspace.command("pages.create", page).await.unwrap()["slug"], "dragon-lore");
    let found = workspace.command("pages.search", json!({ "query": "dragons" })).await.unwrap();
    assert_eq!(found[0]["slug"], "dragon-lore");
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_run_that_a_closed_workspace_left_goes_on() {
    let silent = async |_: Value, answer: Answer| {
        answer.text("Once upon");
        std::future::pending().await
    };
    let workspace = started("rust resume", silent).await;
    let log = listened(&workspace);
    let run = workspace.send_message("Tell me").await.unwrap();
    heard(&log, "agent:message-chunk").await;
    let waiting = {
        let (workspace, run) = (workspace.clone(), run.clone());
        async move { workspace.result(&run).await }
    };
    let answered = Rc::new(RefCell::new(None));
    let answer = Rc::clone(&answered);
    spawn_local(async move { *answer.borrow_mut() = Some(waiting.await) });
    faults::task().await;
    workspace.close().await;
    let error = until(|| answered.borrow_mut().take()).await.unwrap_err();
    assert_eq!(error.code, Code::WorkspaceClosed, "who waits is answered");

    let workspace = Workspace::open("rust resume", WorkspaceOptions::default()).await.unwrap();
    start(&workspace, hello).await;
    assert_eq!(workspace.history().await.unwrap()[1]["parts"][0]["text"], "Once upon");
    assert_eq!(workspace.resume().await.unwrap(), run);
    assert_eq!(workspace.result(&run).await.unwrap()["text"], "Hello.");
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_workspace_deleted_elsewhere_says_so() {
    let workspace = started("rust deleted", hello).await;
    let log = listened(&workspace);
    browser::delete("rust deleted").await.unwrap();
    assert_eq!(heard(&log, "agent:error").await["code"], "workspace_deleted");
    assert_eq!(workspace.status().lifecycle, Lifecycle::Stopped);
    assert_eq!(workspace.send_message("Hi").await.unwrap_err().code, Code::WorkspaceDeleted);
    lock_is_free("lodger:rust deleted").await;
}

#[wasm_bindgen_test]
async fn a_page_that_is_hidden_writes_down_what_has_streamed() {
    let silent = async |_: Value, answer: Answer| {
        answer.text("Once upon");
        std::future::pending().await
    };
    let workspace = started("rust hidden", silent).await;
    let log = listened(&workspace);
    // Without timers nothing is written down in its own time.
    let frozen = faults::frozen();
    workspace.send_message("Tell me").await.unwrap();
    heard(&log, "agent:message-chunk").await;
    let watch = faults::watch_writes(0);
    faults::hide();
    until(|| (!watch.seen().is_empty()).then_some(())).await;
    drop(frozen);
    workspace.close().await;
}
