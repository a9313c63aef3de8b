//! Calling a model API.
//!
//! The request goes by gloo-net, or by the page's own `fetch`; either way its bytes come to `calls`. Headers
//! are checked before anything sees them, and a request is aborted when its call is not wanted any more, up
//! to the last byte of its body.

use super::calls::{self, Incoming, Piece};
use super::env;
use super::files;
use super::pump::{Deliver, Pump};
use super::task;
use crate::error::{Code, ErrorInfo};
use crate::harness::{CallKey, Given, Http, ModelRequest};
use crate::json;
use crate::list::Listed;
use crate::model::errors::{check_header, no_answer};
use crate::object::Object;
use crate::ports::HttpRequest;
use crate::ports::files::has_marks;
use js_sys::{Promise, Reflect, Uint8Array};
use serde_json::Value;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader, RequestCredentials, RequestRedirect};

#[wasm_bindgen]
extern "C" {
    /// In place of gloo's `send`, which panics where a page has put something else there that gives no `Response` or
    /// fails with no `Error`.
    #[wasm_bindgen(js_name = fetch, catch)]
    fn global_fetch(request: &web_sys::Request) -> Result<Promise, JsValue>;
}

/// A request as it is made, with what its headers need.
pub(super) struct Attempt {
    pub http: Rc<Http>,
    pub request: HttpRequest,
}

/// Begins a model call.
pub(super) fn start(pump: &Pump, call: CallKey, request: ModelRequest) {
    match request {
        ModelRequest::Custom { stream, json } => {
            pump.inner().incoming.borrow_mut().insert(call, Incoming::custom());
            if !has_marks(&json) {
                return pump.deliver(Deliver::Call(call, stream, "stream", Some(json.into()), None));
            }
            let pump = pump.clone();
            task::start(async move {
                match files::fill(&pump, &json, true).await {
                    Err(error) => calls::over(&pump, call, Err(error)),
                    Ok(json) if is_wanted(&pump, call) => {
                        pump.deliver(Deliver::Call(call, stream, "stream", Some(json), None));
                    }
                    Ok(_) => {}
                }
            });
        }
        ModelRequest::Http { http, request, refused } => {
            begin(pump, call, Attempt { http, request }, refused, true);
        }
    }
}

/// Makes a request. `refused`: the key of the same one was; `streams`: a model is asked, whose answer is read as it comes.
pub(super) fn begin(pump: &Pump, call: CallKey, attempt: Attempt, refused: bool, streams: bool) {
    let attempt = Rc::new(attempt);
    pump.inner().incoming.borrow_mut().insert(call, Incoming::http(Rc::clone(&attempt), streams));
    let pump = pump.clone();
    task::start(async move {
        if let Err(error) = send(&pump, call, &attempt, refused).await {
            calls::over(&pump, call, Err(error));
        }
    });
}

async fn send(pump: &Pump, call: CallKey, attempt: &Attempt, refused: bool) -> Result<(), ErrorInfo> {
    let Some(response) = respond(pump, call, attempt, refused).await? else { return Ok(()) };
    let head = response.headers().entries().list();
    calls::head(pump, call, response.status(), head);
    let Some(body) = response.body() else {
        calls::over(pump, call, Ok(()));
        return Ok(());
    };
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    loop {
        let read = JsFuture::from(reader.read()).await.map_err(|_| broken())?;
        if Reflect::get(&read, &"done".into()).is_ok_and(|done| done.is_truthy()) {
            calls::over(pump, call, Ok(()));
            return Ok(());
        }
        let Ok(value) = Reflect::get(&read, &"value".into()) else { return Err(broken()) };
        let bytes: Uint8Array = value.unchecked_into();
        if !calls::piece(pump, call, &Piece::Bytes(&bytes.to_vec())) {
            let _ = JsFuture::from(reader.cancel()).await;
            return Ok(());
        }
    }
}

/// The answer's head. `None`: the page's own `fetch` does it, or nobody wants it any more.
async fn respond(
    pump: &Pump,
    call: CallKey,
    Attempt { http, request }: &Attempt,
    refused: bool,
) -> Result<Option<gloo_net::http::Response>, ErrorInfo> {
    let controller = env::aborter(&pump.inner().scope);
    pump.inner().aborters.borrow_mut().insert(call, controller.clone());
    let key = match &http.key {
        None => stored_key(pump, http).await?,
        Some(Given::Text(key)) => Some(key.clone()),
        Some(Given::Ask(function)) => Some(ask_key(pump, *function, refused).await?),
    };
    let headers = headers(http, &request.headers, key.as_deref())?;
    let body = match request.body() {
        Some(body) => Some(files::fill(pump, body, http.fetch.is_some()).await?),
        None => None,
    };
    // The person may have interrupted while the key and the files were fetched.
    if !is_wanted(pump, call) {
        return Ok(None);
    }
    if let Some(function) = http.fetch {
        let pair = |(name, value): &(String, String)| Value::from([name.as_str(), value].as_slice());
        let json = Object::new()
            .text("url", &request.url)
            .text("method", request.method())
            .value("headers", headers.iter().map(pair).array())
            .maybe_text("credentials", http.credentials.as_deref())
            .json();
        calls::forget(pump, call);
        pump.deliver(Deliver::Call(call, function, "fetch", Some(json.into()), body));
        return Ok(None);
    }
    fetch(http, request, body, &headers, &controller).await.map(Some)
}

fn is_wanted(pump: &Pump, call: CallKey) -> bool {
    pump.inner().incoming.borrow().get(call).is_some()
}

async fn fetch(
    http: &Http,
    request: &HttpRequest,
    body: Option<JsValue>,
    headers: &[(String, String)],
    controller: &AbortController,
) -> Result<gloo_net::http::Response, ErrorInfo> {
    let signal = controller.signal();
    // Whoever followed would take the key along: browsers take `authorization` away on the way, and no other header.
    let mut builder = match request.body() {
        Some(_) => gloo_net::http::Request::post(&request.url),
        None => gloo_net::http::Request::get(&request.url),
    };
    builder = builder.abort_signal(Some(&signal)).redirect(RequestRedirect::Manual);
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    builder = match http.credentials.as_deref() {
        Some("omit") => builder.credentials(RequestCredentials::Omit),
        Some("same-origin") => builder.credentials(RequestCredentials::SameOrigin),
        Some("include") => builder.credentials(RequestCredentials::Include),
        _ => builder,
    };
    let made = match body {
        Some(body) => builder.body(body),
        None => builder.build(),
    };
    let request = made.map_err(|error| {
        ErrorInfo::new(Code::InvalidConfig, format!("the request cannot be made: {error}"))
            .hint("check the provider's baseUrl and headers")
    })?;
    let answer = async {
        let response = JsFuture::from(global_fetch(&request.into())?).await?;
        Ok(response.unchecked_into::<web_sys::Response>().into())
    };
    answer.await.map_err(|_: JsValue| no_answer(http.preset, &http.endpoint.base_url))
}

/// The headers as they go out: ours, the key, then the page's own over them.
fn headers(
    http: &Http,
    ours: &[(String, String)],
    key: Option<&str>,
) -> Result<Vec<(String, String)>, ErrorInfo> {
    let mut headers = ours.to_vec();
    if let Some(key) = key {
        let (name, value) = http.key_header(key);
        headers.push((name.into(), value));
    }
    for (name, value) in &http.headers {
        headers.retain(|(ours, _)| ours != name);
        headers.extend(value.clone().map(|value| (name.clone(), value)));
    }
    for (name, value) in &headers {
        check_header(name, value)?;
    }
    Ok(headers)
}

/// A number for a call of the pump itself. Counted down from the top, so that the harness's own never meet them.
fn next_call(pump: &Pump) -> CallKey {
    let last = &pump.inner().last_ask;
    last.set(last.get().wrapping_sub(1));
    last.get()
}

/// The vault's key for a provider that was given none.
async fn stored_key(pump: &Pump, http: &Http) -> Result<Option<String>, ErrorInfo> {
    let key = match &http.vault {
        Some(name) => pump.inner().vault.get(name).await?,
        None => None,
    };
    match &key {
        Some(key) => pump.inner().harness.borrow_mut().secrets_mut().keep(key),
        None if http.needs_key() => {
            return Err(ErrorInfo::new(Code::NotConfigured, "there is no key for this provider")
                .hint("give it an apiKey, or keep one in the vault by keys.set"));
        }
        None => {}
    }
    Ok(key)
}

async fn ask_key(pump: &Pump, function: u32, refused: bool) -> Result<String, ErrorInfo> {
    let inner = pump.inner();
    let call = next_call(pump);
    let promise = Promise::new(&mut |resolve, _| {
        inner.asked.borrow_mut().insert(call, resolve);
    });
    let json = if refused { "{\"refused\":true}" } else { "{\"refused\":false}" };
    pump.deliver(Deliver::Call(call, function, "apiKey", Some(json.into()), None));
    let json = JsFuture::from(promise).await.ok().and_then(|json| json.as_string());
    match json.and_then(|json| json::parse(&json)) {
        Some(Value::String(key)) if !key.trim_ascii().is_empty() => {
            inner.harness.borrow_mut().secrets_mut().keep(&key);
            Ok(key.trim_ascii().into())
        }
        // An object is what it threw.
        Some(error @ Value::Object(_)) => {
            let error = ErrorInfo::from_json(&error);
            Err(calls::thrown(error, ErrorInfo::new(Code::Network, "the function for apiKey failed")))
        }
        _ => Err(ErrorInfo::new(Code::Auth, "the function for apiKey gave no key")
            .hint("let it return the key as a text")),
    }
}

pub(super) fn broken() -> ErrorInfo {
    ErrorInfo::new(Code::StreamBroken, "the connection broke off in the middle of the answer")
        .hint("check the network and send the message again")
}
