//! What comes back in pieces or from the page: answers of models, and answers to the pump's own questions.
//!
//! Decides how a piece is fed to the core, as bytes or as a chunk. Promises: what comes after a call's end or after an abort
//! is dropped, and counted where a function of the page has given it. Leaves to others: making the request (`fetch`), and what
//! an answer means (`model/`, the core).

use super::env;
use super::fetch::Attempt;
use super::pump::{Deliver, Pump, broken_down};
use crate::error::{Code, ErrorInfo};
use crate::harness::{CallKey, Http, Input};
use crate::model::Decoder;
use crate::model::errors::{broken_off, no_answer, own_model_failed, thrown, without_network};
use std::rc::Rc;

/// An answer on its way.
pub(super) struct Incoming {
    /// What reads it where it streams; else the harness gets it as it is.
    decoder: Option<Decoder>,
    /// Whether the head of an HTTP answer has come.
    begun: bool,
    /// What was sent; `None`: a custom model answers.
    attempt: Option<Rc<Attempt>>,
}

impl Incoming {
    /// Over HTTP. `streams`: a model is asked.
    pub fn http(pump: &Pump, call: CallKey, attempt: Rc<Attempt>, streams: bool) -> Incoming {
        let decoder = streams.then(|| asked(pump, call, Decoder::new(attempt.http.preset.wire)));
        Incoming { decoder, begun: false, attempt: Some(attempt) }
    }

    pub fn custom(pump: &Pump, call: CallKey) -> Incoming {
        Incoming { decoder: Some(asked(pump, call, Decoder::custom())), begun: false, attempt: None }
    }
}

/// What reads an answer as the page wants it.
fn asked(pump: &Pump, call: CallKey, decoder: Decoder) -> Decoder {
    decoder.within(pump.inner().limits).telling(pump.inner().harness.borrow().tells_arguments(call))
}

/// The head of an HTTP answer has come.
pub(super) fn head(pump: &Pump, call: CallKey, status: u16, headers: Vec<(String, String)>) {
    if broken_down() {
        return;
    }
    let now = pump.now();
    let streams = pump.inner().harness.borrow_mut().head(now, call, status, headers);
    if let Some(incoming) = pump.inner().incoming.borrow_mut().get_mut(call) {
        incoming.begun = true;
        incoming.decoder.take_if(|_| !streams);
    }
    // The time of the next stage may be shorter.
    pump.run(now);
}

/// One piece of an answer.
pub(super) enum Piece<'a> {
    Bytes(&'a [u8]),
    Chunk(&'a str),
    Text(&'a str),
}

/// A piece of an answer has come. `false`: nobody wants more of it.
pub(super) fn piece(pump: &Pump, call: CallKey, piece: &Piece<'_>) -> bool {
    if broken_down() {
        return false;
    }
    let Some(mut incoming) = pump.inner().incoming.borrow_mut().remove(call) else {
        // What a function of the page gives is counted. Bytes are not, because they end when their request is aborted.
        if !matches!(piece, Piece::Bytes(_)) {
            pump.late(call);
        }
        return false;
    };
    let Some(decoder) = &mut incoming.decoder else {
        pump.inner().incoming.borrow_mut().insert(call, incoming);
        let Piece::Bytes(bytes) = piece else { return true };
        let now = pump.now();
        let wanted = pump.inner().harness.borrow_mut().body(now, call, bytes);
        if !wanted {
            stop(pump, call);
            over(pump, call, Ok(()));
        }
        return wanted;
    };
    let result = {
        let mut harness = pump.inner().harness.borrow_mut();
        let sink = &mut |delta: crate::model::Delta<'_>| {
            harness.delta(call, delta);
        };
        match piece {
            Piece::Bytes(bytes) => decoder.push(bytes, sink),
            Piece::Chunk(json) => decoder.push_chunk(json, sink),
            Piece::Text(text) => decoder.push_text(text, sink),
        }
    };
    mark(pump, call, decoder);
    match result {
        Ok(()) => {
            let usage = decoder.usage();
            pump.inner().incoming.borrow_mut().insert(call, incoming);
            let now = pump.now();
            pump.inner().harness.borrow_mut().flush(now, call, usage);
            pump.run(now);
            true
        }
        Err(error) => {
            let answer = decoder.break_off();
            stop(pump, call);
            pump.input(Input::Answered { call, result: Err((error, Some(answer))) });
            false
        }
    }
}

/// Marks a conversation whose provider has looked something up.
fn mark(pump: &Pump, call: CallKey, decoder: &Decoder) {
    let kinds = decoder.looked_up();
    if !kinds.is_empty() {
        pump.inner().harness.borrow_mut().looked_up(pump.now(), call, kinds);
    }
}

/// An answer is over: its body has ended, or the request has failed.
pub(super) fn over(pump: &Pump, call: CallKey, result: Result<(), ErrorInfo>) {
    let Some(incoming) = pump.inner().incoming.borrow_mut().remove(call) else { return };
    forget(pump, call);
    if broken_down() {
        return;
    }
    let Some(mut decoder) = incoming.decoder else {
        let now = pump.now();
        pump.inner().harness.borrow_mut().over(now, call, result);
        return pump.run(now);
    };
    let result = match result {
        Ok(()) => {
            // An error stays in the decoder, which tells it when it finishes.
            let _ = decoder.end(&mut |delta| {
                pump.inner().harness.borrow_mut().delta(call, delta);
            });
            mark(pump, call, &decoder);
            decoder.finish().map_err(|(error, answer)| (error, Some(answer)))
        }
        Err(error) => Err((error, Some(decoder.break_off()))),
    };
    pump.input(Input::Answered { call, result });
}

/// A call is over before its request was made. Whether it was awaited.
pub(super) fn withdraw(pump: &Pump, call: CallKey) -> bool {
    let awaited = pump.inner().incoming.borrow_mut().remove(call).is_some();
    forget(pump, call);
    awaited
}

/// Aborts this call, of any kind, and forgets it.
pub(super) fn abort(pump: &Pump, call: CallKey) {
    pump.inner().incoming.borrow_mut().remove(call);
    stop(pump, call);
}

fn stop(pump: &Pump, call: CallKey) {
    match forget(pump, call) {
        Some(controller) => controller.abort(),
        None => pump.deliver(Deliver::Abort(call)),
    }
}

/// Lets go of what could abort this call.
pub(super) fn forget(pump: &Pump, call: CallKey) -> Option<web_sys::AbortController> {
    let controller = pump.inner().aborters.borrow_mut().remove(call)?;
    env::done(&pump.inner().scope, &controller);
    Some(controller)
}

impl Pump {
    /// The head of an answer that the page's own `fetch` gets.
    pub fn feed_head(&self, call: CallKey, status: u16, headers: Vec<(String, String)>) {
        head(self, call, status, headers);
    }

    /// Bytes that the page's own `fetch` gets.
    pub fn feed_bytes(&self, call: CallKey, bytes: &[u8]) {
        piece(self, call, &Piece::Bytes(bytes));
    }

    /// A chat chunk of a custom model, JSON.
    pub fn feed_chunk(&self, call: CallKey, json: &str) {
        piece(self, call, &Piece::Chunk(json));
    }

    /// A text of a custom model.
    pub fn feed_text(&self, call: CallKey, text: &str) {
        piece(self, call, &Piece::Text(text));
    }

    /// A function of the page has ended: the JSON of its value, or what it threw.
    pub fn answer(&self, call: CallKey, result: Result<Option<String>, ErrorInfo>) {
        let asked = self.inner().asked.borrow_mut().remove(call);
        let incoming = self
            .inner()
            .incoming
            .borrow()
            .get(call)
            .map(|incoming| (incoming.attempt.clone(), incoming.begun));
        if let Some(resolve) = asked {
            let value = match result {
                Ok(json) => json.map_or(wasm_bindgen::JsValue::UNDEFINED, Into::into),
                Err(error) => crate::json::json(&error.to_json()).into(),
            };
            let _ = resolve.call1(&wasm_bindgen::JsValue::UNDEFINED, &value);
        } else if let Some(incoming) = incoming {
            let failed = |error: ErrorInfo| match &incoming {
                // Only a model that says that it has met no network needs any.
                (None, _) if error.code == Code::Network => unless_online(own_model_failed(error), ""),
                (None, _) => own_model_failed(error),
                (Some(attempt), begun) => thrown(error, failure(attempt, *begun)),
            };
            over(self, call, result.map(|_| ()).map_err(failed));
        } else {
            self.input(Input::Returned { call, result });
        }
    }
}

/// Why the request of this call has failed.
pub(super) fn lost(pump: &Pump, call: CallKey) -> ErrorInfo {
    match pump.inner().incoming.borrow().get(call) {
        Some(Incoming { attempt: Some(attempt), begun, .. }) => failure(attempt, *begun),
        _ => broken_off(),
    }
}

/// Why a request has failed: no answer has come, or only its beginning.
fn failure(attempt: &Attempt, begun: bool) -> ErrorInfo {
    let Http { preset, endpoint, .. } = &*attempt.http;
    let error = if begun { broken_off() } else { no_answer(preset, &endpoint.base_url) };
    unless_online(error, &endpoint.base_url)
}

/// This failure of what was on its way to this base URL, as one that waits for a network where the browser has none.
pub(super) fn unless_online(error: ErrorInfo, base_url: &str) -> ErrorInfo {
    if env::is_online() || !error.retryable() { error } else { without_network(error, base_url) }
}
