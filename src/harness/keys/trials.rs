//! Trials of keys: whether a provider takes one, and which models it offers for it.
//!
//! Decides how long a key is tried, whether it is asked for once more, and what the command is answered. Promises: each
//! trial is answered once. Nothing of it is stored, and no key is in its answer. Leaves to others: what a provider is
//! asked and how its answer reads (`model/`), and sending.

use crate::error::{Code, ErrorInfo};
use crate::harness::action::{Action, CallKey};
use crate::harness::config::{Given, Http, Provider};
use crate::harness::core::Core;
use crate::harness::core::whole::Whole;
use crate::harness::keys::Keys;
use crate::json;
use crate::list::Listed;
use crate::model::errors::refuses_key;
use crate::object::Object;
use crate::ports::{HttpRequest, Millis};
use crate::rooms::{Room, enter};
use serde_json::Value;
use std::rc::Rc;

/// How long a key is tried at most, in milliseconds.
const TRIAL_MS: Millis = 30_000;

/// How much of an answer is read, in bytes.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// A command that tries a key.
#[derive(Debug)]
pub(super) struct Trial {
    command: u32,
    /// Whether it asks for the models; else only whether the key is good.
    list: bool,
    http: Rc<Http>,
    request: HttpRequest,
    /// Whether the key was refused that the page's function gave first.
    refused: bool,
    /// When it is given up.
    until: Millis,
    whole: Option<Whole>,
}

impl Keys {
    /// Asks a provider for its models (`list`), or only whether its key is good.
    pub fn begin_trial(&mut self, core: &mut Core, command: u32, list: bool, mut provider: Provider) {
        for secret in provider.secrets() {
            core.secrets.keep(secret);
        }
        // What sends the request looks whether there is one.
        provider.look_in_vault(None, |_| true);
        let value = match provider {
            Provider::Http(http) => {
                let until = core.now + TRIAL_MS.min(http.timeouts.connect);
                match http.preset.wire.ask(&http.endpoint, list) {
                    Ok(request) => {
                        let whole = None;
                        self.send(core, Trial { command, list, http, request, refused: false, until, whole });
                    }
                    Err(error) => core.reply_now(command, Err(error)),
                }
                return;
            }
            Provider::Custom { model, .. } if list => {
                model.iter().map(|model| Object::new().text("id", model).done()).array()
            }
            Provider::Custom { .. } => Object::new().flag("ok", true).done(),
        };
        core.reply_now(command, Ok(Some(json::json(&value))));
    }

    fn send(&mut self, core: &mut Core, trial: Trial) {
        let call = core.outbox.call_key();
        let (http, request) = (Rc::clone(&trial.http), trial.request.clone());
        core.outbox.act(Action::Send { call, http, request, refused: trial.refused });
        self.tried.insert(call, trial);
    }

    /// Whether a call is a trial's.
    pub fn tries(&self, call: CallKey) -> bool {
        self.tried.get(call).is_some()
    }

    /// The head of its answer has come.
    pub fn head(&mut self, now: Millis, call: CallKey, status: u16, headers: Vec<(String, String)>) {
        if let Some(trial) = self.tried.get_mut(call) {
            trial.whole = Some(Whole::new(now, status, headers, ANSWER_BYTES));
        }
    }

    /// More of the body has come. `false`: no more of it is wanted.
    pub fn body(&mut self, now: Millis, call: CallKey, bytes: &[u8]) -> bool {
        let Some(trial) = self.tried.get_mut(call) else { return false };
        let patience = trial.http.timeouts.silence;
        trial.whole.as_mut().is_some_and(|whole| whole.take(now, bytes, patience))
    }

    /// The answer is over, or its request has failed.
    pub fn over(&mut self, core: &mut Core, call: CallKey, result: Result<(), ErrorInfo>) {
        let Some(mut trial) = self.tried.remove(call) else { return };
        let said = match trial.whole.take().map(|whole| whole.said(core, &trial.http, &trial.request.url)) {
            Some(Err(error)) => Err(error),
            said => result.map(|()| said.and_then(Result::ok).unwrap_or_default()),
        };
        // A function may have given a key that has expired.
        let asks = matches!(trial.http.key, Some(Given::Ask(_))) && !trial.refused;
        if asks && said.as_ref().is_err_and(refuses_key) {
            trial.refused = true;
            self.send(core, trial);
        } else {
            trial.answer(core, said);
        }
    }

    /// When the first of them is given up.
    pub fn due(&self) -> Option<Millis> {
        self.tried.values().map(|trial| trial.until).min()
    }

    /// Gives up those whose time is over.
    pub fn tick(&mut self, core: &mut Core) {
        let now = core.now;
        for call in self.tried.keys(&|trial| trial.until <= now) {
            let Some(trial) = self.tried.remove(call) else { continue };
            core.outbox.abort(call);
            let error = ErrorInfo::new(Code::Timeout, "the provider did not answer in time");
            trial.answer(core, Err(error.hint("check the provider's baseUrl, or try again in a moment")));
        }
    }
}

impl Trial {
    /// Answers its command by what came of it: the body of the answer, or what went wrong. A door of the room `more`.
    #[inline(never)]
    fn answer(self, core: &mut Core, said: Result<String, ErrorInfo>) {
        enter(Room::More);
        let Trial { command, list, http, .. } = self;
        let models = said.and_then(|body| http.preset.wire.models(&http.endpoint, list, &body));
        let models = models
            .map(|models| core.secrets.scrubbed_value(models.into()))
            .map_err(|error| core.secrets.clean(error));
        let result: Result<Value, ErrorInfo> = match models {
            models if list => models,
            Ok(_) => Ok(Object::new().flag("ok", true).done()),
            Err(error) => Ok(Object::new().flag("ok", false).value("error", error.to_json()).done()),
        };
        core.reply_now(command, result.map(|value| Some(json::json(&value))));
    }
}
