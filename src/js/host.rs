//! A host as a client in JavaScript knows it: messages in, messages out.
//!
//! `js/PROTOCOL.md` has the messages. Promises: a message that is none is answered, not a panic. Leaves to others: what is
//! done (`browser`), and how a host gets to its client (`exports`, `app`).

use super::convert::{self, Message, error_object, member, message};
use crate::browser::{self, Deliver, Opening, Pump, Scope};
use crate::error::{Code, ErrorInfo};
use crate::harness::{Action, By, Harness, Notice, Options};
use crate::list::Listed;
use crate::model::Limits;
use crate::ports::Durability;
use crate::protocol::read;
use crate::rooms::{Room, enter};
use js_sys::{Array, Function, Promise, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A message of the client. Its members may be anything.
    pub type Received;
    #[wasm_bindgen(method, getter)]
    fn t(this: &Received) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn id(this: &Received) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn json(this: &Received) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn error(this: &Received) -> JsValue;
}

/// A host: one workspace in this instance of the module. A cheap handle.
#[derive(Clone, Debug)]
pub struct Host {
    pump: Pump,
}

impl Host {
    /// Opens a workspace. `options`: `{ storage, durability, onStorageLost, pageTools, scope }` and the limits of an answer.
    /// `deliver` gets the messages for the client; `ended` is called when it is closed.
    ///
    /// # Errors
    /// It cannot be opened: an error object.
    pub async fn open(
        name: String,
        options: JsValue,
        deliver: Function,
        ended: impl Fn() + 'static,
    ) -> Result<Host, JsValue> {
        let is = |option: &str, word: &str| convert::text(&options, option).as_deref() == Some(word);
        let strict = is("durability", "strict");
        let page_tools = member(&options, "pageTools").is_truthy();
        // The client has looked at them.
        let limit = |name: &str| convert::number(&options, name).map_or(usize::MAX, |limit| limit as usize);
        let scope: Scope = member(&options, "scope").unchecked_into();
        let opening = Opening {
            in_memory: is("storage", "memory"),
            durability: if strict { Durability::Strict } else { Durability::Relaxed },
            rejects: is("onStorageLost", "reject"),
            page_tools,
            operator: Options::local_operator(),
            limits: Limits {
                answer: limit("answerBytes"),
                arguments: limit("argumentBytes"),
                calls: limit("callsPerAnswer"),
            },
        };
        let sink = move |message: Deliver<'_>| {
            if matches!(message, Deliver::Closed(_)) {
                ended();
            }
            tell(&deliver, &message);
        };
        match Pump::open(name, opening, scope, Box::new(sink)).await {
            Ok(pump) => Ok(Host { pump }),
            Err(error) => Err(error_object(&error)),
        }
    }

    /// Takes a message of the client.
    pub fn receive(&self, message: &Received) {
        let id = message.id().as_f64().map(|id| id as u32).unwrap_or_default();
        match message.t().as_string().as_deref() {
            Some("command") => {
                let value: &JsValue = message.as_ref();
                let by = match self.by(value) {
                    Ok(by) => by,
                    Err(error) => return self.pump.refuse(id, error),
                };
                let request = match convert::plain(&member(value, "args")) {
                    Some(args) => read(&convert::text(value, "name").unwrap_or_default(), args),
                    None => Err(ErrorInfo::new(Code::InvalidArguments, "the arguments are no plain data")
                        .hint("give what JSON can hold")),
                };
                match member(value, "files").dyn_into::<Array>() {
                    Ok(files) => self.pump.command_with(id, request, files, by),
                    Err(_) => self.pump.command(id, request, by),
                }
            }
            Some("feed") => self.feed(id, message.as_ref()),
            Some("progress") => self.pump.progress(id, message.json().as_string().unwrap_or_default()),
            Some("late") => self.pump.late(id),
            Some("tools") => self.pump.look(),
            Some("answer") => {
                let thrown = message.error();
                if let Ok(files) = member(message.as_ref(), "files").dyn_into::<Array>() {
                    return self.pump.receive(id, message.json().as_string(), files);
                }
                let result = if thrown.is_object() {
                    Err(convert::thrown(&thrown))
                } else {
                    Ok(message.json().as_string())
                };
                self.pump.answer(id, result);
            }
            _ => {}
        }
    }

    /// Who gives a command: this tab, or another that says who works there.
    fn by(&self, command: &JsValue) -> Result<By, ErrorInfo> {
        let operator = member(command, "operator");
        if operator.is_undefined() {
            return Ok(By::Here);
        }
        Harness::by_another(&convert::plain(&operator).unwrap_or_default())
    }

    fn feed(&self, id: u32, value: &JsValue) {
        if let Some(bytes) = member(value, "bytes").dyn_ref::<Uint8Array>() {
            self.pump.feed_bytes(id, &bytes.to_vec());
        } else if let Some(json) = member(value, "json").as_string() {
            self.pump.feed_chunk(id, &json);
        } else if let Some(text) = member(value, "text").as_string() {
            self.pump.feed_text(id, &text);
        } else {
            let head = member(value, "head");
            let pair = |pair: JsValue| {
                let pair: Array = pair.dyn_into().ok()?;
                Some((pair.get(0).as_string()?.to_ascii_lowercase(), pair.get(1).as_string()?))
            };
            let headers = member(&head, "headers").dyn_into::<Array>().ok();
            let headers = headers.map(|headers| headers.iter().filter_map(pair).list()).unwrap_or_default();
            let status = convert::number(&head, "status").unwrap_or_default();
            self.pump.feed_head(id, u16::try_from(status).unwrap_or(500), headers);
        }
    }
}

/// Deletes a workspace's data; what is in memory only is gone with its last handle. Rejects with an error object where the
/// database fails. A door of the room `more`.
#[inline(never)]
pub fn remove(name: String, storage: Option<String>) -> Promise {
    enter(Room::More);
    browser::promise(async move {
        if storage.as_deref() != Some("memory") {
            browser::delete(&name).await.map_err(|error| error_object(&error.info()))?;
        }
        Ok(JsValue::UNDEFINED)
    })
}

/// Gives a client one message. A client that throws has only itself to blame: it must not stop the pump.
pub(super) fn tell(client: &Function, deliver: &Deliver<'_>) {
    let message: Message = match deliver {
        Deliver::Reply(id, Ok(json)) => return convert::tell_reply(client, *id, json.as_deref()),
        Deliver::Reply(id, Err(error)) => {
            message("reply").number("id", *id).value("error", &error_object(error))
        }
        Deliver::File(id, file) => message("reply").number("id", *id).value("file", file),
        Deliver::Call(id, function, kind, json, body) => {
            let [json, body] = [json, body].map(|text| text.clone().unwrap_or_default());
            return convert::tell_call(client, *id, *function, kind, &json, &body);
        }
        Deliver::Abort(id) => message("abort").number("id", *id),
        Deliver::Closed(error) => {
            let error = error.as_ref().map_or(JsValue::UNDEFINED, error_object);
            message("closed").value("error", &error)
        }
        Deliver::Action(Action::Tell(notice)) => match notice {
            Notice::Status(json) => return convert::tell_text(client, "status", json),
            Notice::Tools(json) => return convert::tell_text(client, "tools", json),
            Notice::Lost(json) => return convert::tell_text(client, "lost", json),
            Notice::Event(name, json) => return convert::tell_event(client, name, json),
            Notice::History(session, json, goes_on) => {
                let kind = if *goes_on { "later" } else { "history" };
                return convert::tell_session(client, kind, session, json);
            }
            Notice::View(session, json) => return convert::tell_session(client, "view", session, json),
            Notice::Message(session, from, json) => {
                let from = u32::try_from(*from).unwrap_or_default();
                return convert::tell_message(client, session, from, json);
            }
            Notice::Gone(session, id) => message("gone").text("sessionId", session).text("messageId", id),
            Notice::Grown(session, seq) => message("grown")
                .text("sessionId", session)
                .number("seq", u32::try_from(*seq).unwrap_or(u32::MAX)),
        },
        // A number in JavaScript holds every epoch there will be.
        Deliver::Action(Action::Announce { epoch }) => {
            message("holder").value("epoch", &JsValue::from(*epoch as f64))
        }
        Deliver::Action(Action::Unlock { stopped, .. }) => {
            message("holder").value("stopped", &(*stopped).into())
        }
        Deliver::Action(_) => return,
    };
    let _ = client.call1(&JsValue::UNDEFINED, &message.into());
}
