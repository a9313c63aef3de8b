//! What comes back in pieces or from the page: answers of models, and answers to the pump's own questions.

use super::env;
use super::fetch::{self, Attempt};
use super::pump::{Deliver, Pump, broken_down};
use crate::error::{Code, ErrorInfo};
use crate::harness::{CallKey, Input};
use crate::model::{Answer, Decoder, Wire};
use crate::ports::Millis;
use std::rc::Rc;

/// How much of an answer that is an error is read, in bytes.
const ERROR_BODY: usize = 64 * 1024;

/// An answer of a model on its way.
pub(super) struct Incoming {
    wire: Wire,
    custom: bool,
    decoder: Decoder,
    /// Whether the head of an HTTP answer has come.
    begun: bool,
    /// The head of an answer that is an error, and its body so far.
    refused: Option<Refused>,
    /// What is tried once more if the key is refused, with another one.
    again: Option<Rc<Attempt>>,
}

struct Refused {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Incoming {
    pub fn http(wire: Wire, again: Option<Rc<Attempt>>) -> Incoming {
        let decoder = Decoder::new(wire);
        Incoming { wire, custom: false, decoder, begun: false, refused: None, again }
    }

    pub fn custom() -> Incoming {
        let decoder = Decoder::custom();
        Incoming { wire: Wire::OpenAiChat, custom: true, decoder, begun: false, refused: None, again: None }
    }

    fn finish(self, now: Millis) -> Result<Answer, (ErrorInfo, Option<Answer>)> {
        match self.refused {
            Some(Refused { status, headers, body }) => {
                Err((self.wire.error(status, &headers, &String::from_utf8_lossy(&body), now), None))
            }
            None => self.decoder.finish().map_err(|(error, answer)| (error, Some(answer))),
        }
    }
}

/// The head of an HTTP answer has come.
pub(super) fn head(pump: &Pump, call: CallKey, status: u16, headers: Vec<(String, String)>) {
    if let Some(incoming) = pump.inner().incoming.borrow_mut().get_mut(call) {
        incoming.begun = true;
        if !(200..300).contains(&status) {
            incoming.refused = Some(Refused { status, headers, body: Vec::new() });
        }
    }
    let now = pump.now();
    pump.inner().harness.borrow_mut().heard(now, call, false);
    // The time of the next stage may be shorter.
    pump.run();
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
    let Some(mut incoming) = pump.inner().incoming.borrow_mut().remove(call) else { return false };
    if let (Some(Refused { body, .. }), Piece::Bytes(bytes)) = (&mut incoming.refused, piece) {
        let room = ERROR_BODY.saturating_sub(body.len()).min(bytes.len());
        body.extend_from_slice(bytes.get(..room).unwrap_or_default());
        pump.inner().incoming.borrow_mut().insert(call, incoming);
        let now = pump.now();
        pump.inner().harness.borrow_mut().heard(now, call, true);
        return true;
    }
    let result = {
        let mut harness = pump.inner().harness.borrow_mut();
        let sink = &mut |delta: crate::model::Delta<'_>| {
            harness.delta(call, delta);
        };
        match piece {
            Piece::Bytes(bytes) => incoming.decoder.push(bytes, sink),
            Piece::Chunk(json) => incoming.decoder.push_chunk(json, sink),
            Piece::Text(text) => incoming.decoder.push_text(text, sink),
        }
    };
    match result {
        Ok(()) => {
            pump.inner().incoming.borrow_mut().insert(call, incoming);
            let now = pump.now();
            pump.inner().harness.borrow_mut().flush(now, call);
            pump.run();
            true
        }
        Err(error) => {
            let answer = incoming.decoder.snapshot();
            stop(pump, call);
            pump.input(Input::Answered { call, result: Err((error, Some(answer))) });
            false
        }
    }
}

/// An answer is over: its body has ended, or the request has failed.
pub(super) fn over(pump: &Pump, call: CallKey, result: Result<(), ErrorInfo>) {
    let Some(mut incoming) = pump.inner().incoming.borrow_mut().remove(call) else { return };
    forget(pump, call);
    if result.is_ok() && incoming.refused.is_none() {
        // An error stays in the decoder, which tells it when it finishes.
        let _ = incoming.decoder.end(&mut |delta| {
            pump.inner().harness.borrow_mut().delta(call, delta);
        });
    }
    // A function may have given a key that has expired.
    if let (Some(Refused { status: 401, .. }), Some(attempt)) = (&incoming.refused, incoming.again.take()) {
        return fetch::begin(pump, call, attempt, true);
    }
    let result = match result {
        Err(error) if incoming.refused.is_none() => Err((error, Some(incoming.decoder.snapshot()))),
        _ => incoming.finish(pump.now()),
    };
    pump.input(Input::Answered { call, result });
}

/// Aborts whatever this call is, and forgets it.
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
        let incoming =
            self.inner().incoming.borrow().get(call).map(|incoming| (incoming.custom, incoming.begun));
        if let Some(resolve) = asked {
            let value = match result {
                Ok(json) => json.map_or(wasm_bindgen::JsValue::UNDEFINED, Into::into),
                Err(error) => crate::json::json(&error.to_json()).into(),
            };
            let _ = resolve.call1(&wasm_bindgen::JsValue::UNDEFINED, &value);
        } else if let Some(incoming) = incoming {
            let failed = |error| match incoming {
                (true, _) => thrown(error, Code::Server, "the model's function failed"),
                (_, false) => thrown(error, Code::Network, "no answer came"),
                (_, true) => thrown(error, Code::StreamBroken, "the answer broke off"),
            };
            over(self, call, result.map(|_| ()).map_err(failed));
        } else {
            self.input(Input::Returned { call, result });
        }
    }
}

/// What a function of the page threw: with the code it gave itself, or else with this one.
pub(super) fn thrown(error: ErrorInfo, code: Code, what: &str) -> ErrorInfo {
    match error.code {
        Code::ToolFailed => ErrorInfo::new(code, [what, ": ", &error.message].concat()),
        _ => error,
    }
}
