//! Between JS objects and ours.
//!
//! Decides how a message is put together for the client, in one crossing. Promises: what is no plain value of JSON is none,
//! and what was thrown becomes a typed error. Leaves to others: what messages mean (`js/PROTOCOL.md`).

use crate::error::{Code, ErrorInfo};
use crate::json;
use js_sys::{Function, Object, Reflect};
use serde::Serialize;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/js/host/messages.js")]
extern "C" {
    #[wasm_bindgen(js_name = tellText)]
    pub(super) fn tell_text(client: &Function, kind: &str, json: &str);
    #[wasm_bindgen(js_name = tellEvent)]
    pub(super) fn tell_event(client: &Function, name: &str, json: &str);
    #[wasm_bindgen(js_name = tellSession)]
    pub(super) fn tell_session(client: &Function, kind: &str, session: &str, json: &str);
    #[wasm_bindgen(js_name = tellMessage)]
    pub(super) fn tell_message(client: &Function, session: &str, from: u32, json: &str);
    #[wasm_bindgen(js_name = tellReply)]
    pub(super) fn tell_reply(client: &Function, id: u32, json: Option<&str>);
    #[wasm_bindgen(js_name = tellCall)]
    pub(super) fn tell_call(
        client: &Function,
        id: u32,
        function: u32,
        kind: &str,
        json: &JsValue,
        body: &JsValue,
    );
}

/// A rare message for the client, while it is put together.
pub(super) struct Message(Object);

/// A message of this type.
pub(super) fn message(kind: &str) -> Message {
    Message(Object::new()).text("t", kind)
}

impl Message {
    pub fn value(self, name: &str, value: &JsValue) -> Message {
        // Setting a member of a plain object of our own cannot fail.
        let _ = Reflect::set(&self.0, &name.into(), value);
        self
    }

    pub fn text(self, name: &str, text: &str) -> Message {
        self.value(name, &text.into())
    }

    pub fn number(self, name: &str, number: u32) -> Message {
        self.value(name, &number.into())
    }
}

impl From<Message> for JsValue {
    fn from(message: Message) -> JsValue {
        message.0.into()
    }
}

/// A member; `undefined` where there is none.
#[inline(never)]
pub(super) fn member(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap_or_default()
}

/// A member that is a text.
pub(super) fn text(object: &JsValue, name: &str) -> Option<String> {
    member(object, name).as_string()
}

/// A member that is a number of a call or command.
pub(super) fn number(object: &JsValue, name: &str) -> Option<u32> {
    member(object, name).as_f64().map(|number| number as u32)
}

/// Plain data as a tree; `undefined` is null. By way of JSON, which the browser writes: a reader of JavaScript's
/// own values would be 15 KB more.
pub fn plain(value: &JsValue) -> Option<serde_json::Value> {
    if value.is_undefined() {
        return Some(serde_json::Value::Null);
    }
    let json = js_sys::JSON::stringify(value).ok()?.as_string()?;
    json::parse(&json)
}

/// `{ code, message, retryable, hint? }`.
pub(super) fn error_object(error: &ErrorInfo) -> JsValue {
    let serializer = serde_wasm_bindgen::Serializer::json_compatible();
    error.to_json().serialize(&serializer).unwrap_or(JsValue::UNDEFINED)
}

/// What a function of the page threw.
pub(super) fn thrown(error: &JsValue) -> ErrorInfo {
    let code = text(error, "code").and_then(|code| Code::parse(&code)).unwrap_or(Code::ToolFailed);
    let message = text(error, "message").filter(|message| !message.is_empty());
    let mut thrown = ErrorInfo::new(code, message.unwrap_or_else(|| "it failed without saying why".into()));
    thrown.hint = text(error, "hint");
    thrown
}
