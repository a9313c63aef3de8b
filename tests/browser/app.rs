//! The API for apps in Rust: what an app without the npm package has in its hands.

use crate::faults::{self, lock_is_free};
use crate::host::until;
use lodger::app::{
    Activity, AgentConfig, Answer, CallStep, Event, Launch, Lifecycle, ListStatus, Message, NewPage,
    Operator, Overrides, PageChange, Part, PermissionAnswer, PermissionReply, Provider, Role, Run,
    RunOutcome, Said, SendOptions, Shape, Tool, ToolContext, ViewStatus, What, WhenBusy, Workspace,
    WorkspaceOptions, delete_workspace,
};
use lodger::error::Code;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Blob, CustomEvent, EventTarget};

async fn fresh(name: &str) -> Workspace {
    delete_workspace(name).await.unwrap();
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

fn config<F>(workspace: &Workspace, model: F) -> AgentConfig
where
    F: AsyncFn(Value, Answer) -> Result<(), String> + 'static,
{
    let stream = Some(workspace.model(model));
    let provider = Provider { kind: "custom".into(), stream, ..Provider::default() };
    AgentConfig { provider: Some(provider), ..AgentConfig::default() }
}

async fn start<F>(workspace: &Workspace, model: F)
where
    F: AsyncFn(Value, Answer) -> Result<(), String> + 'static,
{
    workspace.start_agent(config(workspace, model)).await.unwrap();
}

async fn say(workspace: &Workspace, text: &str) -> Run {
    workspace.send_message(text, SendOptions::default()).await.unwrap()
}

/// Answers with one text.
async fn hello(_: Value, answer: Answer) -> Result<(), String> {
    answer.text("Hello.");
    Ok(())
}

/// Begins an answer, and says no more.
async fn silent(_: Value, answer: Answer) -> Result<(), String> {
    answer.text("Once upon");
    std::future::pending().await
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

fn work() -> Tool {
    Tool {
        name: "work".into(),
        description: "Works.".into(),
        input_schema: json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] }),
        ..Tool::default()
    }
}

type Log = Rc<RefCell<Vec<Event>>>;

/// Waits for an event.
async fn heard(log: &Log, wanted: impl Fn(&What) -> bool) -> Event {
    until(|| log.borrow().iter().find(|event| wanted(&event.what)).cloned()).await
}

fn listened(workspace: &Workspace) -> Log {
    let log = Log::default();
    let told = Rc::clone(&log);
    workspace.on_event(move |event| told.borrow_mut().push(event.clone())).forget();
    log
}

fn is_chunk(what: &What) -> bool {
    matches!(what, What::MessageChunk(_))
}

#[wasm_bindgen_test]
async fn a_tool_is_an_async_closure() {
    let workspace = started("rust tool", worker).await;
    let log = listened(&workspace);
    let tool = async |args: Value, context: ToolContext| {
        context.progress(&json!("half"));
        faults::task().await;
        assert!(context.run_id.is_some() && context.tool_call_id == "call_1");
        Ok(json!(args["n"].as_u64().unwrap() * 21))
    };
    workspace.tools().register(work(), tool).unwrap();
    let run = say(&workspace, "Work").await;
    assert_eq!(workspace.status().unwrap().lifecycle, Lifecycle::Running);
    let result = run.result().await.unwrap();
    assert_eq!((result.outcome, result.turns), (RunOutcome::Completed, 2));
    assert!(result.text.contains("42"), "{result:?}");
    assert!(!workspace.status().unwrap().is_streaming);
    let steps: Vec<_> = log
        .borrow()
        .iter()
        .filter_map(|event| match &event.what {
            What::ToolCall(call) => Some((call.status, call.progress.clone())),
            _ => None,
        })
        .collect();
    let half = Some(json!("half"));
    assert_eq!(steps, [(CallStep::Started, None), (CallStep::Started, half), (CallStep::Completed, None)]);
    let history = workspace.history(None).await.unwrap();
    assert!(matches!(&history[1].parts[..], [Part::ToolCall(call), Part::Text(_)] if call.tool == "work"));
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_tool_gives_files() {
    let workspace = started("rust files", worker).await;
    let tool = async |_, context: ToolContext| {
        context.give_file(&Blob::new_with_str_sequence(&js_sys::Array::of1(&"A note.".into())).unwrap());
        Ok(json!("look"))
    };
    workspace.tools().register(work(), tool).unwrap();
    say(&workspace, "Work").await.result().await.unwrap();
    let history = workspace.history(None).await.unwrap();
    let Part::ToolCall(call) = &history[1].parts[0] else { panic!("{history:?}") };
    let file = &call.files.as_ref().unwrap()[0];
    assert_eq!(file.size, 7);
    assert_eq!(workspace.file(&file.file_id).await.unwrap().size(), 7.0);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn the_model_learns_what_a_tool_has_to_complain_of() {
    let workspace = started("rust complaint", worker).await;
    workspace.tools().register(work(), async |_, _| Err("the shop is closed".into())).unwrap();
    let result = say(&workspace, "Work").await.result().await.unwrap();
    assert!(result.text.contains("the shop is closed"), "{result:?}");
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn events_come_to_closures_and_then_to_the_dom() {
    delete_workspace("rust events").await.unwrap();
    let target = EventTarget::new().unwrap();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&seen);
    let listener = Closure::<dyn FnMut(CustomEvent)>::new(move |event: CustomEvent| {
        let detail: Value = serde_wasm_bindgen::from_value(event.detail()).unwrap();
        log.borrow_mut().push(format!("dom {}", detail["text"].as_str().unwrap()));
    });
    let callback = listener.as_ref().unchecked_ref();
    target.add_event_listener_with_callback("agent:message-chunk", callback).unwrap();
    let options = WorkspaceOptions { target: Some(Some(target)), ..WorkspaceOptions::default() };
    let workspace = Workspace::open("rust events", options).await.unwrap();
    let log = Rc::clone(&seen);
    let heard = workspace.on_event(move |event| {
        if let What::MessageChunk(chunk) = &event.what {
            log.borrow_mut().push(format!("closure {}", chunk.text));
        }
    });
    start(&workspace, hello).await;
    say(&workspace, "Hi").await.result().await.unwrap();
    assert_eq!(*seen.borrow(), ["closure Hello.", "dom Hello."]);
    drop(heard);
    seen.borrow_mut().clear();
    say(&workspace, "Hi").await.result().await.unwrap();
    assert_eq!(*seen.borrow(), ["dom Hello."]);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_view_is_a_stream_of_snapshots_in_which_the_rest_stays() {
    let workspace = started("rust view", hello).await;
    let mut view = workspace.view(None).unwrap();
    say(&workspace, "One").await.result().await.unwrap();
    let ready = async |view: &mut lodger::app::View, count: usize| loop {
        let snapshot = view.next().await.unwrap();
        if snapshot.status == ViewStatus::Ready && snapshot.messages.len() == count {
            return snapshot;
        }
    };
    let first = ready(&mut view, 2).await;
    assert_eq!(
        first.messages.iter().map(|message| message.role).collect::<Vec<_>>(),
        [Role::User, Role::Assistant]
    );
    assert_eq!(first.messages[1].text(), "Hello.");
    assert!(first.holder);
    say(&workspace, "Two").await.result().await.unwrap();
    let second = ready(&mut view, 4).await;
    assert!(Rc::ptr_eq(&first.messages[0], &second.messages[0]), "what did not change is read once");
    assert_eq!(second.messages[2].text(), "Two");
    workspace.clear_conversation(None).await.unwrap();
    assert!(ready(&mut view, 0).await.messages.is_empty());
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn text_streams_as_it_comes() {
    let words = async |_: Value, answer: Answer| {
        for word in ["One ", "two ", "three."] {
            answer.text(word);
            faults::task().await;
        }
        Ok(())
    };
    let workspace = started("rust text", words).await;
    let run = say(&workspace, "Count").await;
    let (mut text, mut pieces) = (run.text(), Vec::new());
    while let Some(piece) = text.next().await {
        pieces.push(piece.unwrap());
    }
    assert_eq!(pieces.concat(), "One two three.");
    assert!(pieces.len() > 1, "{pieces:?}");
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn messages_have_options_and_wait_in_a_queue() {
    let open = Rc::new(Cell::new(false));
    let gate = Rc::clone(&open);
    let echo = async move |request: Value, answer: Answer| {
        until(|| gate.get().then_some(())).await;
        let messages = request["messages"].as_array().unwrap().clone();
        answer.text(&format!(
            "{} {}",
            request["model"].as_str().unwrap(),
            messages[0]["content"].as_str().unwrap()
        ));
        Ok(())
    };
    let workspace = started("rust options", echo).await;
    let overrides = Overrides {
        model: Some(Some("small".into())),
        instructions: Some(Some("Be brief.".into())),
        tools: Some(Some(vec![])),
        ..Overrides::default()
    };
    let options = SendOptions { idempotency_key: Some("once".into()), overrides, ..SendOptions::default() };
    let first = workspace.send_message("One", options.clone()).await.unwrap();
    let waits = SendOptions { when_busy: Some(WhenBusy::Queue), ..SendOptions::default() };
    let second = workspace.send_message("Two", waits.clone()).await.unwrap();
    let third = workspace.send_message("Three", waits).await.unwrap();
    let mut view = workspace.view(None).unwrap();
    let queue = loop {
        let snapshot = view.next().await.unwrap();
        if snapshot.queue.len() == 2 {
            break snapshot.queue;
        }
    };
    workspace.queue().edit(&queue[0].id, "Two and a half").await.unwrap();
    workspace.queue().remove(&queue[1].id).await.unwrap();
    open.set(true);
    assert!(first.result().await.unwrap().text.starts_with("small Be brief."));
    assert_eq!(second.result().await.unwrap().outcome, RunOutcome::Completed);
    assert_eq!(third.result().await.unwrap().outcome, RunOutcome::Interrupted);
    let again = workspace.send_message("One", options).await.unwrap();
    assert_eq!(again.run_id, first.run_id);
    let texts: Vec<_> = workspace.history(None).await.unwrap().iter().map(Message::text).collect();
    assert_eq!([&texts[0], &texts[2]], ["One", "Two and a half"]);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn files_go_with_a_message() {
    let workspace = started("rust attach", hello).await;
    let file = Blob::new_with_str_sequence(&js_sys::Array::of1(&"Notes.".into())).unwrap();
    let said = Said::from("Read this").with([file]);
    let options = SendOptions { trusted: Some(true), ..SendOptions::default() };
    workspace.send_message(said, options).await.unwrap().result().await.unwrap();
    let history = workspace.history(None).await.unwrap();
    let file = history[0].parts.iter().find_map(|part| match part {
        Part::File(file) => Some(file.clone()),
        _ => None,
    });
    assert_eq!(workspace.file(&file.unwrap().file_id).await.unwrap().size(), 6.0);
    assert_eq!(workspace.file("nothing").await.unwrap_err().code, Code::FileNotFound);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_session_is_its_operators() {
    delete_workspace("rust operator").await.unwrap();
    let of = |subject: &str| {
        let operator = Operator { subject: subject.into(), issuer: None, expires_at: None };
        let options = WorkspaceOptions { operator: Some(operator), ..WorkspaceOptions::default() };
        Workspace::open("rust operator", options)
    };
    let workspace = of("ann").await.unwrap();
    start(&workspace, hello).await;
    let launch = Launch { id: Some("docs".into()), ..Launch::default() };
    let session = workspace.sessions().launch(launch).await.unwrap();
    assert_eq!(session.operator_subject, "ann");
    workspace.close().await;
    let workspace = of("bob").await.unwrap();
    let status = workspace.sessions().status("docs").await.unwrap();
    assert_eq!((status.session.status.as_str(), status.hmac_status.as_str()), ("running", "verified"));
    let renamed = workspace.sessions().rename("docs", "Mine").await;
    assert_eq!(renamed.unwrap_err().code, Code::PermissionDenied);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn sessions_are_a_list_that_lives() {
    let workspace = started("rust sessions", hello).await;
    let sessions = workspace.sessions();
    let mut list = sessions.view().unwrap();
    let launch = Launch { id: Some("notes".into()), display_name: Some("Notes".into()), ..Launch::default() };
    sessions.launch(launch).await.unwrap();
    let run = sessions.prompt("notes", "Hi", SendOptions::default()).await.unwrap().unwrap();
    assert_eq!(workspace.wait(&run, None, None).await.unwrap().run_id, run);
    let item = loop {
        let snapshot = list.next().await.unwrap();
        let found = snapshot.sessions.iter().find(|item| item.id == "notes").cloned();
        if let (ListStatus::Ready, Some(item)) = (snapshot.status, found) {
            break item;
        }
    };
    assert_eq!((item.title.as_str(), item.needs_you, item.session.id.as_str()), ("Notes", false, "notes"));
    assert_eq!(sessions.activity("notes").await.unwrap(), Activity::Waiting);
    assert_eq!(sessions.search("hello").await.unwrap()[0].session.id, "notes");
    let file = sessions.export("notes", "journal").await.unwrap();
    assert!(sessions.replay(&file).await.unwrap().same);
    assert_eq!(sessions.import(&file).await.unwrap().id, "notes-2");
    let (bytes, end) = sessions.output("notes", None).await.unwrap();
    assert_eq!((bytes.as_slice(), end), (&b"Hello."[..], 6));
    assert_eq!(sessions.output_tail("notes", 2).await.unwrap().0, b"o.");
    let last = workspace.history_page(Some("notes"), 1, None).await.unwrap();
    let before = workspace.history_page(Some("notes"), 9, Some(&last[0].id)).await.unwrap();
    assert_eq!((last.len(), before.len()), (1, 1));
    assert_eq!(sessions.fork("notes", None, Some("nobody")).await.unwrap_err().code, Code::InvalidConfig);
    assert_eq!(workspace.resume_run(&run).await.unwrap_err().code, Code::NothingToResume);
    let entries = sessions.journal("notes", None, None).await.unwrap();
    let mut followed = sessions.attach("notes", None).unwrap();
    for entry in &entries {
        assert_eq!(followed.next().await.unwrap().unwrap()["hash"], entry["hash"]);
    }
    sessions.rename("notes", "Other notes").await.unwrap();
    assert_eq!(followed.next().await.unwrap().unwrap()["seq"], entries.len() as u64 + 1);
    sessions.remove("notes").await.unwrap();
    assert_eq!(sessions.undo_remove("notes").await.unwrap().id, "notes");
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_person_is_asked_and_answers() {
    let workspace = started("rust permission", worker).await;
    let explain = workspace.ask_about(async |args: Value| Ok(format!("Work {} times?", args["n"]).into()));
    let tool = Tool { destructive: Some(true), explanation: Some(explain), ..work() };
    workspace.tools().register(tool, async |_, _| Ok(json!("done"))).unwrap();
    let log = listened(&workspace);
    let run = say(&workspace, "Work").await;
    let asked = heard(&log, |what| matches!(what, What::PermissionRequired(_))).await;
    let What::PermissionRequired(request) = asked.what else { panic!() };
    assert_eq!(request.explanation, "Work 2 times?");
    let reply = PermissionReply { reason: Some("not today".into()), ..PermissionReply::default() };
    workspace.resolve_permission(&request.request_id, PermissionAnswer::Deny, reply).await.unwrap();
    let text = run.result().await.unwrap().text;
    assert!(text.contains("not today"), "{text}");
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_listener_may_call_any_method() {
    let workspace = started("rust listener", hello).await;
    let (handle, count) = (workspace.clone(), Rc::new(Cell::new(0)));
    let counted = Rc::clone(&count);
    workspace
        .on_event(move |event| {
            if matches!(event.what, What::SessionCompleted(_)) && counted.replace(counted.get() + 1) == 0 {
                assert!(!handle.status().unwrap().is_streaming);
                let handle = handle.clone();
                spawn_local(async move { drop(say(&handle, "Again").await) });
            }
        })
        .forget();
    say(&workspace, "Hi").await;
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
    let (begun, dropped) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let (begin, guard) = (Rc::clone(&begun), Rc::clone(&dropped));
    let tool = async move |_, _| {
        let _guard = Guard(Rc::clone(&guard));
        begin.set(true);
        std::future::pending::<()>().await;
        Ok(Value::Null)
    };
    workspace.tools().register(work(), tool).unwrap();
    let run = say(&workspace, "Work").await;
    until(|| begun.get().then_some(())).await;
    assert!(!dropped.get());
    workspace.interrupt(None).unwrap();
    assert_eq!(run.result().await.unwrap().outcome, RunOutcome::Interrupted);
    until(|| dropped.get().then_some(())).await;
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn errors_have_their_codes() {
    let workspace = fresh("rust errors").await;
    let sent = workspace.send_message("Hi", SendOptions::default()).await;
    assert_eq!(sent.unwrap_err().code, Code::NotRunning);
    assert_eq!(workspace.invoke("dance", json!({})).await.unwrap_err().code, Code::UnknownCommand);
    workspace.tools().register(work(), async |_, _| Ok(json!(1))).unwrap();
    let again = workspace.tools().register(work(), async |_, _| Ok(json!(2)));
    assert_eq!(again.unwrap_err().code, Code::DuplicateTool);
    let result = workspace.tools().execute("work", json!({ "n": 1 })).await.unwrap();
    assert_eq!(result.result, 1, "the first one is still there");
    let wrong = Tool { input_schema: json!({ "type": 5 }), name: "wrong".into(), ..work() };
    let wrong = workspace.tools().register(wrong, async |_, _| Ok(json!(1)));
    assert_eq!(wrong.unwrap_err().code, Code::InvalidSchema);
    let key = workspace.ask(async || Err("no key today".into()));
    let provider = Provider { kind: "anthropic".into(), api_key: Some(key.into()), ..Provider::default() };
    let config = AgentConfig { provider: Some(provider), ..AgentConfig::default() };
    workspace.start_agent(config).await.unwrap();
    let error = say(&workspace, "Hi").await.result().await.unwrap().error.unwrap();
    assert_eq!(
        (error.code, error.message.as_str()),
        (Code::Network, "the function for apiKey failed: no key today")
    );
    let none = AgentConfig { max_turns: Some(0), ..AgentConfig::default() };
    assert_eq!(workspace.configure_agent(none).await.unwrap_err().code, Code::InvalidConfig);
    workspace.reset_agent(&["provider", "maxTurns"]).await.unwrap();
    let error = say(&workspace, "Hi").await.result().await.unwrap().error.unwrap();
    assert_eq!(error.code, Code::NotConfigured);
    assert_eq!(workspace.reset_agent(&["max_turns"]).await.unwrap_err().code, Code::InvalidConfig);
    workspace.close().await;
    assert_eq!(
        workspace.send_message("Hi", SendOptions::default()).await.unwrap_err().code,
        Code::WorkspaceClosed
    );
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn pages_and_keys_are_methods() {
    let workspace = fresh("rust pages").await;
    let pages = workspace.pages();
    let page = NewPage {
        title: "Dragon Lore".into(),
        content: Some("Dragons sleep. [[Caves]]".into()),
        ..NewPage::default()
    };
    assert_eq!(pages.create(page).await.unwrap().slug, "dragon-lore");
    assert_eq!(pages.search("dragons", None).await.unwrap()[0].slug, "dragon-lore");
    let change = PageChange { content: Some("Dragons wake.".into()), metadata: None };
    assert_eq!(pages.update("dragon-lore", change.clone(), Some(1)).await.unwrap().version, 2);
    assert_eq!(pages.update("dragon-lore", change, Some(1)).await.unwrap_err().code, Code::VersionConflict);
    assert_eq!(pages.versions("dragon-lore", None).await.unwrap().len(), 2);
    assert_eq!(pages.tree(None).await.unwrap()[0].title, "Dragon Lore");
    workspace.keys().set("anthropic", "sk-ant-of-nobody").await.unwrap();
    assert_eq!(workspace.keys().list().await.unwrap(), ["anthropic"]);
    workspace.keys().remove("anthropic").await.unwrap();
    assert!(workspace.keys().list().await.unwrap().is_empty());
    let stored = workspace.storage(true).await.unwrap();
    assert!(stored.lost.is_none() && stored.sessions.is_some());
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_run_that_a_closed_workspace_left_goes_on() {
    let workspace = started("rust resume", silent).await;
    let log = listened(&workspace);
    let run = say(&workspace, "Tell me").await;
    heard(&log, is_chunk).await;
    let answered = Rc::new(RefCell::new(None));
    let (answer, waits) = (Rc::clone(&answered), run.clone());
    spawn_local(async move { *answer.borrow_mut() = Some(waits.result().await.unwrap()) });
    faults::task().await;
    workspace.close().await;
    let result = until(|| answered.borrow_mut().take()).await;
    assert_eq!(
        (result.outcome, result.error.unwrap().code),
        (RunOutcome::Unknown, Code::WorkspaceClosed),
        "who waits is answered"
    );

    let workspace = Workspace::open("rust resume", WorkspaceOptions::default()).await.unwrap();
    start(&workspace, hello).await;
    assert_eq!(workspace.history(None).await.unwrap()[1].text(), "Once upon");
    let resumed = workspace.resume(None).await.unwrap();
    assert_eq!(resumed.run_id, run.run_id);
    assert_eq!(resumed.result().await.unwrap().text, "Hello.");
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn a_workspace_deleted_elsewhere_says_so() {
    let workspace = started("rust deleted", hello).await;
    let log = listened(&workspace);
    lodger::browser::delete("rust deleted").await.unwrap();
    let told = heard(&log, |what| matches!(what, What::Error(_))).await;
    assert!(matches!(told.what, What::Error(error) if error.code == Code::WorkspaceDeleted));
    assert_eq!(workspace.status().unwrap().lifecycle, Lifecycle::Stopped);
    let sent = workspace.send_message("Hi", SendOptions::default()).await;
    assert_eq!(sent.unwrap_err().code, Code::WorkspaceDeleted);
    lock_is_free("lodger:rust deleted").await;
}

#[wasm_bindgen_test]
async fn a_page_that_is_hidden_writes_down_what_has_streamed() {
    let workspace = started("rust hidden", silent).await;
    let log = listened(&workspace);
    // Without timers nothing is written down in its own time.
    let frozen = faults::frozen();
    say(&workspace, "Tell me").await;
    heard(&log, is_chunk).await;
    let watch = faults::watch_writes(0);
    faults::hide();
    until(|| (!watch.seen().is_empty()).then_some(())).await;
    drop(frozen);
    workspace.close().await;
}

#[wasm_bindgen_test]
async fn what_is_told_has_all_members_of_its_struct() {
    let workspace = started("rust members", worker).await;
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (log, target) = (Rc::clone(&seen), EventTarget::from(web_sys::window().unwrap().document().unwrap()));
    let listener = Closure::<dyn FnMut(CustomEvent)>::new(move |event: CustomEvent| {
        let json = String::from(js_sys::JSON::stringify(&event.detail()).unwrap());
        log.borrow_mut().push((event.type_(), serde_json::from_str::<Value>(&json).unwrap()));
    });
    for name in What::NAMES {
        target.add_event_listener_with_callback(name, listener.as_ref().unchecked_ref()).unwrap();
    }
    workspace.tools().register(work(), async |_, _| Ok(json!("done"))).unwrap();
    say(&workspace, "Work").await.result().await.unwrap();
    workspace.tools().execute("work", json!({ "n": 1 })).await.unwrap();
    for name in What::NAMES {
        target.remove_event_listener_with_callback(name, listener.as_ref().unchecked_ref()).unwrap();
    }
    assert!(seen.borrow().len() > 6);
    for (name, detail) in seen.take().into_iter().filter(|(_, detail)| detail["workspace"] == "rust members")
    {
        assert_eq!(Event::read(&name, detail.clone()).unwrap().write(), detail, "{name}");
    }
    for definition in workspace.tools().definitions().unwrap() {
        assert!(!definition.description.is_empty() && definition.write()["inputSchema"].is_object());
    }
    workspace.close().await;
}
