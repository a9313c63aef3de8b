//! What comes back in pieces or from the page: answers of models, and answers to the pump's own questions.

use super::env;
use super::fetch::{self, Attempt, Trial};
use super::pump::{Deliver, Pump, broken_down};
use crate::error::{Code, ErrorInfo};
use crate::harness::{CallKey, Http, Input};
use crate::model::Decoder;
use crate::model::errors::{no_answer, redirected};
use crate::ports::Millis;
use std::rc::Rc;

/// How much of an answer is read that is an error, and of one that answers a command, in bytes.
const ERROR_BODY: usize = 64 * 1024;
const COMMAND_BODY: usize = 8 * 1024 * 1024;

/// An answer of a model on its way.
pub(super) struct Incoming {
    decoder: Decoder,
    /// Whether the head of an HTTP answer has come.
    begun: bool,
    /// The head of an answer that does not stream (an error, or what a command asked for), and its body so far.
    whole: Option<Whole>,
    /// What was sent; `None`: a custom model answers.
    attempt: Option<Rc<Attempt>>,
    /// Whether it is tried once more if the key is refused, with another one.
    again: bool,
}

struct Whole {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// When its head came.
    since: Millis,
}

impl Whole {
    fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Why it is none of what was asked for. Keys are taken out first: the error has its beginning only, and half of one
    /// would not be found again.
    fn error(self, pump: &Pump, attempt: &Attempt) -> ErrorInfo {
        let harness = pump.inner().harness.borrow();
        let Whole { status, mut headers, body, .. } = self;
        for (_, value) in &mut headers {
            *value = harness.secrets().scrubbed(std::mem::take(value));
        }
        // A browser that must not follow tells neither the status nor where to.
        if status == 0 || (300..400).contains(&status) {
            let location =
                headers.iter().find(|(name, _)| name == "location").map(|(_, value)| value.as_str());
            return redirected(&attempt.request.url, location);
        }
        let body = harness.secrets().scrubbed(String::from_utf8_lossy(&body).into_owned());
        attempt.http.preset.wire.error(status, &headers, &body, pump.now())
    }
}

impl Incoming {
    pub fn http(attempt: Rc<Attempt>, again: bool) -> Incoming {
        let decoder = Decoder::new(attempt.http.preset.wire);
        Incoming { decoder, begun: false, whole: None, attempt: Some(attempt), again }
    }

    pub fn custom() -> Incoming {
        Incoming { decoder: Decoder::custom(), begun: false, whole: None, attempt: None, again: false }
    }

    fn command(&self) -> Option<(&Attempt, &Trial)> {
        let attempt = self.attempt.as_deref()?;
        Some((attempt, attempt.command.as_ref()?))
    }
}

/// The head of an HTTP answer has come.
pub(super) fn head(pump: &Pump, call: CallKey, status: u16, headers: Vec<(String, String)>) {
    let now = pump.now();
    if let Some(incoming) = pump.inner().incoming.borrow_mut().get_mut(call) {
        incoming.begun = true;
        let whole = Whole { status, headers, body: Vec::new(), since: now };
        if !whole.is_good() || incoming.command().is_some() {
            incoming.whole = Some(whole);
        }
    }
    pump.inner().harness.borrow_mut().heard(now, call, false);
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
    let Some(mut incoming) = pump.inner().incoming.borrow_mut().remove(call) else { return false };
    let most = if incoming.command().is_some() { COMMAND_BODY } else { ERROR_BODY };
    if let (Some(Whole { body, since, .. }), Piece::Bytes(bytes)) = (&mut incoming.whole, piece) {
        let patience = incoming.attempt.as_ref().map_or(Millis::MAX, |attempt| attempt.http.timeouts.silence);
        let room = most.saturating_sub(body.len()).min(bytes.len());
        body.extend_from_slice(bytes.get(..room).unwrap_or_default());
        let now = pump.now();
        // An error need not be read to its end, and may have none.
        let enough = body.len() >= most || now.saturating_sub(*since) > patience;
        pump.inner().incoming.borrow_mut().insert(call, incoming);
        if enough {
            stop(pump, call);
            over(pump, call, Ok(()));
        } else {
            pump.inner().harness.borrow_mut().heard(now, call, true);
        }
        return !enough;
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
            let usage = incoming.decoder.usage();
            pump.inner().incoming.borrow_mut().insert(call, incoming);
            let now = pump.now();
            pump.inner().harness.borrow_mut().flush(now, call, usage);
            pump.run(now);
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
    if result.is_ok() && incoming.whole.is_none() {
        // An error stays in the decoder, which tells it when it finishes.
        let _ = incoming.decoder.end(&mut |delta| {
            pump.inner().harness.borrow_mut().delta(call, delta);
        });
    }
    let attempt = incoming.attempt.clone();
    let bad = match (incoming.whole.take_if(|whole| !whole.is_good()), &attempt) {
        (Some(whole), Some(attempt)) => Some(whole.error(pump, attempt)),
        _ => None,
    };
    // A function may have given a key that has expired.
    if let (true, Some(attempt), Some(error)) = (incoming.again, &attempt, &bad)
        && error.code == Code::Auth
        && error.provider.status == Some(401)
    {
        return fetch::begin(pump, call, Rc::clone(attempt), true);
    }
    if let Some((attempt, trial)) = incoming.command() {
        let body = incoming.whole.as_ref().map(|whole| String::from_utf8_lossy(&whole.body).into_owned());
        let result = bad.map_or(result, Err).map(|()| body.unwrap_or_default());
        return fetch::tried(pump, attempt, trial, result);
    }
    let result = match (bad, result) {
        (Some(error), _) => Err((error, None)),
        (None, Err(error)) => Err((error, Some(incoming.decoder.snapshot()))),
        (None, Ok(())) => incoming.decoder.finish().map_err(|(error, answer)| (error, Some(answer))),
    };
    pump.input(Input::Answered { call, result });
}

/// A command's request takes too long.
pub(super) fn too_late(pump: &Pump, call: CallKey) {
    let Some(incoming) = pump.inner().incoming.borrow_mut().remove(call) else { return };
    stop(pump, call);
    if let Some((attempt, trial)) = incoming.command() {
        let error = ErrorInfo::new(Code::Timeout, "the provider did not answer in time");
        fetch::tried(
            pump,
            attempt,
            trial,
            Err(error.hint("check the provider's baseUrl, or try again in a moment")),
        );
    }
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
                (None, _) => {
                    let own = error.code != Code::ToolFailed;
                    let mut error =
                        thrown(error, ErrorInfo::new(Code::Server, "the model's function failed"));
                    // Only the page knows whether its function would do better the next time: it says so by a code.
                    error.provider.retry = error.provider.retry.or((!own).then_some(false));
                    error
                }
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
        _ => fetch::broken(),
    }
}

/// Why a request has failed: no answer has come, or only its beginning.
fn failure(attempt: &Attempt, begun: bool) -> ErrorInfo {
    let Http { preset, endpoint, .. } = &*attempt.http;
    if begun { fetch::broken() } else { no_answer(preset, &endpoint.base_url) }
}

/// What a function of the page threw: with the code it gave itself, or else as this.
pub(super) fn thrown(error: ErrorInfo, mut told: ErrorInfo) -> ErrorInfo {
    if error.code != Code::ToolFailed {
        return error;
    }
    told.message = [&told.message, ": ", &error.message].concat();
    told
}
