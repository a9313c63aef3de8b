//! Answers on their way, as a pump hears them: piece by piece, beside the inputs.
//!
//! Decides whose an answer is, and whether it streams. Promises: what nobody waits for is dropped. Leaves to others: what a
//! model says (`streaming`), errors (`whole`), and keys that are tried (`keys`).

use crate::error::ErrorInfo;
use crate::harness::Harness;
use crate::harness::action::{CallKey, Input};
use crate::journal::{Entry, Outside};
use crate::list::Listed;
use crate::model::{Delta, Usage};
use crate::ports::Millis;
use crate::run::Run;
use crate::session::Session;

impl Harness {
    /// A piece of an answer. `false`: nobody wants it any more.
    pub fn delta(&mut self, call: CallKey, delta: Delta<'_>) -> bool {
        self.runner.calls.delta(&mut self.core, call, delta)
    }

    /// The tools whose arguments are told while an answer comes, and the one that stands for the answer.
    pub fn tells_arguments(&self, call: CallKey) -> Vec<String> {
        let tools = self.runner.setup.registry.definitions().filter(|tool| tool.stream_arguments);
        let model = self.runner.calls.models.get(call);
        let answers_by = model.and_then(|model| model.asked.answers_by.clone());
        tools.map(|tool| tool.name.clone()).chain(answers_by).list()
    }

    /// Everything of one network read has come: the page is told, in one event a part. `usage`:
    /// [`Decoder::usage`](crate::model::Decoder::usage), which counts if the answer comes to no end of its own.
    pub fn flush(&mut self, now: Millis, call: CallKey, usage: Usage) {
        self.runner.calls.flush(&mut self.core, &self.runner.setup, now, call, usage);
    }

    /// The provider has looked things up for an answer that still comes. `kinds`:
    /// [`Decoder::looked_up`](crate::model::Decoder::looked_up). Before what comes with them is told, so that no text which
    /// quotes them is kept without its mark.
    pub fn looked_up(&mut self, now: Millis, call: CallKey, kinds: &[String]) {
        let models = &mut self.runner.calls.models;
        let Some(model) = models.get_mut(call).filter(|model| model.looked_up < kinds.len()) else { return };
        model.looked_up = kinds.len();
        self.core.set_now(now);
        let (session, run) = (model.session.clone(), model.run.clone());
        let mut outside = Outside::default();
        kinds.iter().for_each(|kind| outside.add(Outside::provider(kind)));
        let known = |slot: &Session| {
            let has = |run: &Run| run.outside && (run.acted || !outside.has_acted());
            outside.is_within(&slot.outside) && slot.run(&run).is_some_and(has)
        };
        if !self.core.session(&session).is_some_and(known) {
            self.runner.settle(&mut self.core, &session, &run, &Entry::Marked { outside });
        }
    }

    /// The head of an answer over HTTP has come. `true`: a model streams what follows, which goes to a decoder. `false`: it
    /// goes to [`Harness::body`] as it is.
    pub fn head(&mut self, now: Millis, call: CallKey, status: u16, headers: Vec<(String, String)>) -> bool {
        self.core.set_now(now);
        if self.keys.tries(call) {
            self.keys.head(self.core.now, call, status, headers);
            return false;
        }
        self.runner.calls.head(&mut self.core, call, status, headers)
    }

    /// More of an answer that does not stream. `false`: no more of it is wanted, so it is over.
    pub fn body(&mut self, now: Millis, call: CallKey, bytes: &[u8]) -> bool {
        self.core.set_now(now);
        match self.keys.tries(call) {
            true => self.keys.body(self.core.now, call, bytes),
            false => self.runner.calls.body(&mut self.core, call, bytes),
        }
    }

    /// Such an answer is over, or its request has failed.
    pub fn over(&mut self, now: Millis, call: CallKey, result: Result<(), ErrorInfo>) {
        self.core.set_now(now);
        if self.keys.tries(call) {
            return self.keys.over(&mut self.core, call, result);
        }
        if let Some(error) = self.runner.calls.error(&self.core, call).or(result.err()) {
            self.handle(now, Input::Answered { call, result: Err((error, None)) });
        }
    }
}
