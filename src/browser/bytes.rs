//! The bytes of files: in with a message, out to a model or to the page.
//!
//! Promises: a file is read before anything is said of it. Its bytes wait here for the commit that puts them, no
//! longer than the command or the call that they came with; they never come into the module's memory. What is interrupted while it is read is not
//! sent. Leaves to others: what is refused (`harness/`), what the bytes are (`/js/host/bytes.js`), where they are kept
//! (`store`).

use super::pump::{Deliver, Pump};
use super::task;
use super::{answers, env};
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::harness::{self, By, CallKey, Input};
use crate::json;
use crate::list::Listed;
use crate::model::{File, FileKind};
use crate::object::Object;
use crate::ports::marks::{Form, Piece, pieces};
use crate::protocol::Request;
use crate::rooms::{Room, enter};
use js_sys::Array;
use serde_json::Value;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/js/host/bytes.js")]
extern "C" {
    fn described(blobs: &Array) -> String;
    #[wasm_bindgen(catch)]
    async fn taken(blobs: &Array) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = textOf)]
    async fn text_of(blob: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn filled(pieces: &Array, whole: bool) -> Result<JsValue, JsValue>;
}

/// Reads the files of a message, then gives the command to the harness, if nobody has interrupted it meanwhile. A door of
/// the room `past`.
#[inline(never)]
pub(super) fn send(pump: &Pump, id: u32, request: Result<Request, ErrorInfo>, blobs: Array, by: By) {
    enter(Room::Past);
    let pump = pump.clone();
    task::start(async move {
        let taken = take(&pump, id, request, &blobs).await;
        if !is_awaited(&pump, id) {
            return pump.inner().store.withdraw(id);
        }
        match taken {
            Ok(request) => {
                let fresh = env::fresh(&pump.inner().scope);
                pump.input(Input::Command { id, request: Ok(request), fresh, by });
            }
            Err(error) => pump.deliver(Deliver::Reply(id, Err(error))),
        }
    });
}

/// Reads the files that a tool gave, then gives its result to the harness. A door of the room `past`.
#[inline(never)]
pub(super) fn receive(pump: &Pump, call: CallKey, json: Option<String>, blobs: Array) {
    enter(Room::Past);
    let pump = pump.clone();
    task::start(async move {
        let read = async {
            let (_, read) = read(&blobs).await?;
            let mut texts = Vec::new();
            for (at, (_, blob)) in
                read.iter().enumerate().filter(|(_, (file, _))| file.kind() == FileKind::Text)
            {
                let text = text_of(blob).await.map_err(unreadable)?;
                texts.push((at, text.as_string().unwrap_or_default()));
            }
            Ok((read, texts))
        };
        let input = match read.await {
            Ok((read, texts)) => {
                let (files, blobs): (Vec<File>, Vec<JsValue>) = read.into_iter().unzip();
                if pump.inner().harness.borrow().keeps(call, &files) {
                    for (file, blob) in files.iter().zip(blobs) {
                        pump.inner().store.offer(None, file.id.clone(), blob);
                    }
                }
                Input::Gave { call, json, files, texts }
            }
            Err(error) => Input::Returned { call, result: Err(error) },
        };
        pump.input(input);
    });
}

/// Whether a command still waits for its files, which are read: from here on it waits no more.
pub(super) fn is_awaited(pump: &Pump, id: u32) -> bool {
    let mut reading = pump.inner().reading.borrow_mut();
    let before = reading.len();
    reading.retain(|other| *other != id);
    reading.len() < before
}

/// Refuses the messages whose files are still read. An interrupt means them too, and the harness does not know of them
/// yet.
pub(super) fn give_up(pump: &Pump) {
    for id in pump.inner().reading.take() {
        let error = ErrorInfo::new(Code::Aborted, "the message was interrupted before it was sent");
        pump.deliver(Deliver::Reply(id, Err(error)));
    }
}

/// The command with what is known of its files, whose bytes are kept for the commit.
async fn take(
    pump: &Pump,
    id: u32,
    request: Result<Request, ErrorInfo>,
    blobs: &Array,
) -> Result<Request, ErrorInfo> {
    let request = request?;
    let (known, read) = read(blobs).await?;
    let request = request.with_files(known)?;
    for (file, blob) in read {
        pump.inner().store.offer(Some(id), file.id, blob);
    }
    Ok(request)
}

/// What is known of these, as a command has it, and each with its bytes.
async fn read(blobs: &Array) -> Result<(Option<Value>, Vec<(File, JsValue)>), ErrorInfo> {
    let files = |known| harness::files(&Object::new().maybe("files", known).done());
    // Nobody reads what is too large.
    files(json::parse(&described(blobs)))?;
    let read: Array = taken(blobs).await.map_err(unreadable)?.unchecked_into();
    let known = json::parse(&read.shift().as_string().unwrap_or_default());
    let files = files(known.clone())?;
    Ok((known, files.into_iter().zip(read.iter()).list()))
}

fn unreadable(why: JsValue) -> ErrorInfo {
    let why = why.as_string().unwrap_or_else(|| "a file cannot be read".into());
    ErrorInfo::new(Code::InvalidArguments, why)
        .hint("it may have been moved or changed since it was chosen: choose it again")
}

/// A text with the files in their places: a string, or a `Blob` where it need not be one. Where files are gone the harness is
/// told so, and the call is over: nobody waits for the error. A door of the room `past`, in which all files of a
/// conversation come.
pub(super) async fn fill(pump: &Pump, call: CallKey, text: &str, whole: bool) -> Result<JsValue, ErrorInfo> {
    enter(Room::Past);
    let list = Array::new();
    let mut gone = Vec::new();
    for piece in pieces(text) {
        list.push(&match piece {
            Piece::Text(text) => text.into(),
            Piece::File(id, _) if gone.iter().any(|gone| gone == id) => continue,
            Piece::File(id, form) => match look(pump, id).await? {
                Some(blob) => Array::of2(&blob, &(form == Form::Text).into()).into(),
                None => {
                    gone.push(id.to_owned());
                    continue;
                }
            },
        });
    }
    let unreadable = || {
        ErrorInfo::new(Code::StorageFailed, "a file of the conversation cannot be read")
            .hint("try again, or clear the conversation")
    };
    if gone.is_empty() {
        return filled(&list, whole).await.map_err(|_| unreadable());
    }
    if answers::withdraw(pump, call) {
        pump.input(Input::FilesGone { call, files: gone });
    }
    Err(unreadable())
}

/// Gives the page the bytes of a file. A door of the room `past`.
#[inline(never)]
pub(super) fn give(pump: &Pump, id: u32, name: String) {
    enter(Room::Past);
    let pump = pump.clone();
    task::start(async move {
        pump.deliver(match file(&pump, &name).await {
            Ok(blob) => Deliver::File(id, blob),
            Err(error) => Deliver::Reply(id, Err(error)),
        });
    });
}

/// The bytes of a file, as a `Blob`.
pub(super) async fn file(pump: &Pump, id: &str) -> Result<JsValue, ErrorInfo> {
    look(pump, id).await?.ok_or_else(|| {
        let id = find::beginning(id, 60);
        ErrorInfo::new(Code::FileNotFound, format!("no file has the id \"{id}\", or its bytes are lost"))
            .hint("send it with a new message, unless its conversation was cleared: then it is there again")
    })
}

/// The same, if it is there.
async fn look(pump: &Pump, id: &str) -> Result<Option<JsValue>, ErrorInfo> {
    pump.inner().store.file(id).await.map_err(|error| error.info())
}
