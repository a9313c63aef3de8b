//! Calling a model API.
//!
//! The request goes by `/js/host/fetch.js`, or by the page's own `fetch`; either way its bytes come to `answers`. That of a
//! command is made by gloo-net. That of a run is text and bytes, because making the objects here costs more than sending
//! them.
//!
//! Decides by which of the ways a request goes. Promises: headers are checked before anything sees them, and a request is
//! aborted when its call is not wanted any more, up to the last byte of its body. Leaves to others: what comes back
//! (`answers`), which request is made, and trying again (the core).

use super::answers::{self, Incoming, Piece};
use super::bytes;
use super::env;
use super::pump::{Deliver, Inner, Pump};
use super::task;
use crate::error::ErrorInfo;
use crate::harness::{CallKey, Given, Http, ModelRequest};
use crate::json;
use crate::list::Listed;
use crate::model::errors::{check_header, key_function_failed, no_key, unmade};
use crate::object::Object;
use crate::ports::HttpRequest;
use crate::ports::marks::has_marks;
use crate::rooms::{Room, enter};
use js_sys::{Function, Promise};
use serde_json::Value;
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortSignal, RequestCredentials};

#[wasm_bindgen(module = "/js/host/fetch.js")]
extern "C" {
    #[wasm_bindgen(js_name = send)]
    fn send_by_script(heard: &Function, call: CallKey, signal: &AbortSignal, asked: &JsValue, body: &JsValue);
    #[wasm_bindgen(js_name = send)]
    fn send_bytes(heard: &Function, call: CallKey, signal: &AbortSignal, asked: &str, body: &[u8]);
}

/// What `/js/host/fetch.js` tells where it is not the status of a head.
const PIECE: i32 = -1;
const END: i32 = -2;
const UNMADE: i32 = -4;

/// A request as it is made, with what its headers need.
pub(super) struct Attempt {
    pub http: Rc<Http>,
    pub request: HttpRequest,
}

/// Begins a model call.
pub(super) fn start(pump: &Pump, call: CallKey, request: ModelRequest) {
    match request {
        ModelRequest::Custom { stream, json } => {
            pump.inner().incoming.borrow_mut().insert(call, Incoming::custom(pump, call));
            if !has_marks(&json) {
                return pump.deliver(Deliver::Call(call, stream, "stream", Some(json.into()), None));
            }
            let pump = pump.clone();
            task::start(async move {
                match bytes::fill(&pump, call, &json, true).await {
                    Err(error) => answers::over(&pump, call, Err(error)),
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
    let incoming = Incoming::http(pump, call, Rc::clone(&attempt), streams);
    pump.inner().incoming.borrow_mut().insert(call, incoming);
    let pump = pump.clone();
    task::start(async move {
        if let Err(error) = send(&pump, call, &attempt, refused, streams).await {
            answers::over(&pump, call, Err(error));
        }
    });
}

/// What `/js/host/fetch.js` calls with all that it hears, as long as there is anybody who uses it.
pub(super) fn listener(pump: Weak<Inner>) -> Function {
    let heard = move |call: CallKey, what: i32, bytes: Vec<u8>| {
        let Some(pump) = Pump::of(&pump) else { return false };
        match what {
            PIECE => return answers::piece(&pump, call, &Piece::Bytes(&bytes)),
            END => answers::over(&pump, call, Ok(())),
            UNMADE => answers::over(&pump, call, Err(unmade(&String::from_utf8_lossy(&bytes)))),
            0.. => answers::head(&pump, call, u16::try_from(what).unwrap_or(500), head(&bytes)),
            _ => answers::over(&pump, call, Err(answers::lost(&pump, call))),
        }
        true
    };
    Closure::<dyn Fn(CallKey, i32, Vec<u8>) -> bool>::new(heard).into_js_value().unchecked_into()
}

/// Headers from their JSON.
fn head(bytes: &[u8]) -> Vec<(String, String)> {
    let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.into(), pair.get(1)?.as_str()?.into()));
    let pairs = std::str::from_utf8(bytes).ok().and_then(json::parse);
    pairs.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(pair).list()
}

async fn send(
    pump: &Pump,
    call: CallKey,
    Attempt { http, request }: &Attempt,
    refused: bool,
    streams: bool,
) -> Result<(), ErrorInfo> {
    let controller = env::aborter(&pump.inner().scope);
    pump.inner().aborters.borrow_mut().insert(call, controller.clone());
    let key = match &http.key {
        None => stored_key(pump, http).await?,
        Some(Given::Text(key)) => Some(key.clone()),
        Some(Given::Ask(function)) => {
            let of = &http.endpoint.base_url;
            let key = ask_key(pump, *function, refused).await;
            Some(key.map_err(|error| answers::unless_online(error, of))?)
        }
    };
    let headers = headers(http, &request.headers, key.as_deref())?;
    let body = match request.body() {
        Some(body) if has_marks(body) => Some(bytes::fill(pump, call, body, http.fetch.is_some()).await?),
        // The browser copies it where it lies.
        Some(_) if streams && http.fetch.is_none() => None,
        body => body.map(JsValue::from),
    };
    // The person may have interrupted while the key and the files were fetched.
    if !is_wanted(pump, call) {
        return Ok(());
    }
    if let Some(function) = http.fetch {
        answers::forget(pump, call);
        let json = request_json(http, request, &headers);
        pump.deliver(Deliver::Call(call, function, "fetch", Some(json.into()), body));
        return Ok(());
    }
    let (heard, signal) = (&pump.inner().heard, controller.signal());
    if !streams {
        send_by_script(heard, call, &signal, &made(http, request, body, &headers)?, &JsValue::UNDEFINED);
        return Ok(());
    }
    let asked = request_json(http, request, &headers);
    match body {
        Some(body) => send_by_script(heard, call, &signal, &asked.into(), &body),
        None => send_bytes(heard, call, &signal, &asked, request.body.as_bytes()),
    }
    Ok(())
}

/// `{ url, method, headers, credentials? }`.
fn request_json(http: &Http, request: &HttpRequest, headers: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| Value::from([name.as_str(), value].as_slice());
    Object::new()
        .text("url", &request.url)
        .text("method", request.method())
        .value("headers", headers.iter().map(pair).array())
        .maybe_text("credentials", http.credentials.as_deref())
        .json()
}

fn is_wanted(pump: &Pump, call: CallKey) -> bool {
    pump.inner().incoming.borrow().get(call).is_some()
}

/// The same request as an object: what a key is tried with. A door of the room `more`.
#[inline(never)]
fn made(
    http: &Http,
    request: &HttpRequest,
    body: Option<JsValue>,
    headers: &[(String, String)],
) -> Result<JsValue, ErrorInfo> {
    enter(Room::More);
    let mut builder = match request.body() {
        Some(_) => gloo_net::http::Request::post(&request.url),
        None => gloo_net::http::Request::get(&request.url),
    };
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
    made.map(|made| web_sys::Request::from(made).into()).map_err(|error| unmade(&error.to_string()))
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
            return Err(no_key());
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
        Some(error @ Value::Object(_)) => Err(key_function_failed(Some(ErrorInfo::from_json(&error)))),
        _ => Err(key_function_failed(None)),
    }
}
