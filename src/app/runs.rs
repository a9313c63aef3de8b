//! A run, and the text that streams to it.

use super::client::{come, error_of, iterator, read};
use crate::error::ErrorInfo;
use crate::shapes::RunResult;
use futures_core::Stream;
use js_sys::Reflect;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::stream::JsStream;

/// A run that was accepted.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its id.
    pub run_id: String,
    /// When it was accepted, in milliseconds since the epoch.
    pub accepted_at: u64,
    run: JsValue,
}

impl Run {
    pub(super) fn of(run: JsValue) -> Run {
        let member = |name: &str| Reflect::get(&run, &name.into()).unwrap_or_default();
        let (run_id, at) = (member("runId").as_string(), member("acceptedAt").as_f64());
        Run { run_id: run_id.unwrap_or_default(), accepted_at: at.unwrap_or_default() as u64, run }
    }

    /// Waits for its end, whatever its outcome: it never fails. Where this page hears no end of it, the outcome is `Unknown`, and
    /// `error` says why.
    ///
    /// # Errors
    /// `protocol`: what was told has another shape.
    pub async fn result(&self) -> Result<RunResult, ErrorInfo> {
        read(&come(Reflect::get(&self.run, &"result".into()).unwrap_or_default()).await?)
    }

    /// The answer's text as it comes, complete from its first word however late it is read. It ends when the run ends, with any outcome.
    pub fn text(&self) -> TextStream {
        let stream = Reflect::get(&self.run, &"textStream".into()).unwrap_or_default();
        TextStream(JsStream::from(iterator(&stream)))
    }
}

/// The text of a run as it comes: a [`Stream`] of pieces. An error says that nobody here hears how it goes on.
pub struct TextStream(JsStream);

impl TextStream {
    /// The next piece; `None`: the run has ended.
    pub async fn next(&mut self) -> Option<Result<String, ErrorInfo>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for TextStream {
    type Item = Result<String, ErrorInfo>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = |piece: JsValue| piece.as_string().unwrap_or_default();
        let next = Pin::new(&mut self.0).poll_next(context);
        next.map(|next| next.map(|next| next.map(piece).map_err(|thrown| error_of(&thrown))))
    }
}

impl std::fmt::Debug for TextStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TextStream")
    }
}
