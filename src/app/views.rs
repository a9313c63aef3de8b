//! Conversations, lists and journals as streams.
//!
//! Promises: a view gives the newest snapshot, and what is the same in it as before is the same `Rc`. A slow reader misses snapshots
//! of a view, and no entry of a journal. A snapshot of another shape is skipped, and the console says why. A stream that is dropped
//! ends what it follows.

use super::client::{changes, error_of, function, iterator, unread};
use crate::error::{Code, ErrorInfo};
use crate::js::plain;
use crate::json;
use crate::shapes::{Message, SessionItem, SessionsSnapshot, Shape, Snapshot};
use futures_core::Stream;
use js_sys::{Function, Reflect};
use serde_json::Value;
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::stream::JsStream;
use web_sys::AbortController;

/// A snapshot that has a list of which most stays.
trait Listed: Shape + Clone {
    type Item: Shape;
    const LIST: &'static str;
    fn list(&mut self) -> &mut Vec<Rc<Self::Item>>;
}

impl Listed for Snapshot {
    type Item = Message;
    const LIST: &'static str = "messages";
    fn list(&mut self) -> &mut Vec<Rc<Message>> {
        &mut self.messages
    }
}

impl Listed for SessionsSnapshot {
    type Item = SessionItem;
    const LIST: &'static str = "sessions";
    fn list(&mut self) -> &mut Vec<Rc<SessionItem>> {
        &mut self.sessions
    }
}

/// What a store of the client tells, until this is dropped.
#[derive(Debug)]
struct Following<T> {
    told: Rc<Told>,
    end: Function,
    /// The last snapshot, as JavaScript has it and as it was read.
    last: JsValue,
    read: Option<T>,
}

#[derive(Debug, Default)]
struct Told {
    /// A snapshot that nobody has taken.
    newest: RefCell<Option<JsValue>>,
    waker: RefCell<Option<Waker>>,
}

impl<T: Listed> Following<T> {
    fn new(store: &JsValue) -> Following<T> {
        let told = Rc::<Told>::default();
        let hears = Rc::clone(&told);
        let listener = function(Closure::<dyn Fn(JsValue)>::new(move |snapshot| {
            *hears.newest.borrow_mut() = Some(snapshot);
            let waker = hears.waker.take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }));
        // Both functions of a store are bound, and neither throws.
        let subscribe: Function =
            Reflect::get(store, &"subscribe".into()).unwrap_or_default().unchecked_into();
        let end = subscribe.call1(&JsValue::UNDEFINED, &listener).unwrap_or_default().unchecked_into();
        Following { told, end, last: JsValue::UNDEFINED, read: None }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            let Some(next) = self.told.newest.take() else {
                *self.told.waker.borrow_mut() = Some(context.waker().clone());
                return Poll::Pending;
            };
            let snapshot = self.take(&next).map_err(|error| unread(T::LIST, &error)).ok();
            self.read.clone_from(&snapshot);
            // After one of another shape, the next one is read whole.
            self.last = if snapshot.is_some() { next } else { JsValue::UNDEFINED };
            if snapshot.is_some() {
                return Poll::Ready(snapshot);
            }
        }
    }

    fn take(&mut self, next: &JsValue) -> Result<T, ErrorInfo> {
        let told = json::parse(&changes(&self.last, next, T::LIST));
        let (value, length, changed) = told.and_then(parts).ok_or_else(no_snapshot)?;
        let mut list = self.read.as_mut().map(|read| std::mem::take(read.list())).unwrap_or_default();
        list.truncate(length);
        for mut pair in changed {
            let place = pair.get(0).and_then(Value::as_u64).and_then(|place| usize::try_from(place).ok());
            let item = Rc::new(T::Item::read(pair.get_mut(1).map(Value::take).unwrap_or_default())?);
            match list.get_mut(place.ok_or_else(no_snapshot)?) {
                Some(old) => *old = item,
                None => list.push(item),
            }
        }
        let mut snapshot = T::read(value)?;
        *snapshot.list() = list;
        Ok(snapshot)
    }
}

/// A snapshot without its list, how long that is, and what in it has changed.
fn parts(mut value: Value) -> Option<(Value, usize, Vec<Value>)> {
    let length = usize::try_from(value.get("length")?.as_u64()?).ok()?;
    let Value::Array(changed) = value.get_mut("changed")?.take() else { return None };
    Some((value, length, changed))
}

fn no_snapshot() -> ErrorInfo {
    ErrorInfo::new(Code::Protocol, "this is no snapshot")
}

impl<T> Drop for Following<T> {
    fn drop(&mut self) {
        let _ = self.end.call0(&JsValue::UNDEFINED);
    }
}

macro_rules! views {
    ($($(#[$doc:meta])+ $name:ident of $snapshot:ty;)+) => { $(
        $(#[$doc])+
        #[derive(Debug)]
        pub struct $name(Following<$snapshot>);

        impl $name {
            pub(super) fn of(store: &JsValue) -> $name {
                $name(Following::new(store))
            }

            /// The next snapshot, which is the newest one; the first comes at once.
            pub async fn next(&mut self) -> Option<$snapshot> {
                poll_fn(|context| self.0.poll(context)).await
            }
        }

        impl Stream for $name {
            type Item = $snapshot;
            fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<$snapshot>> {
                self.0.poll(context)
            }
        }
    )+ };
}

views! {
    /// A conversation as it is drawn: a [`Stream`] of snapshots, which does not end by itself.
    View of Snapshot;
    /// All sessions as a list draws them: a [`Stream`] of snapshots, which does not end by itself.
    SessionsView of SessionsSnapshot;
}

/// The entries of a journal as they are stored: a [`Stream`]. Each is a `SessionEvent` of `index.d.ts`.
pub struct Entries {
    entries: JsStream,
    ends: AbortController,
}

impl Entries {
    pub(super) fn of(iterable: &JsValue, ends: AbortController) -> Entries {
        Entries { entries: JsStream::from(iterator(iterable)), ends }
    }

    /// The next entry, once there is one.
    pub async fn next(&mut self) -> Option<Result<Value, ErrorInfo>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for Entries {
    type Item = Result<Value, ErrorInfo>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let entry = |entry: JsValue| {
            plain(&entry).ok_or_else(|| ErrorInfo::new(Code::Protocol, "an entry that is no JSON"))
        };
        let next = Pin::new(&mut self.entries).poll_next(context);
        next.map(|next| next.map(|next| next.map_err(|thrown| error_of(&thrown)).and_then(entry)))
    }
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entries")
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        self.ends.abort();
    }
}
