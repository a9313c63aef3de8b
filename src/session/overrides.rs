//! What a session or a message has otherwise than the agent's configuration.
//!
//! Decides which members there are, and which of several counts: a message's before its session's, and that before the
//! configuration. A model belongs to the provider that is named beside it. Promises: what counts was recorded, so it
//! replays and outlives a reload. Leaves to others: what a member may be (`harness/config`), and who records it.

use super::Session;
use crate::json::texts;
use crate::object::{self, Object};
use crate::protocol::args::names;
use crate::protocol::table::OVERRIDES;
use crate::rooms::{Room, enter};
use crate::run::{Prompt, Run};
use crate::tools::Policy;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Whether there are any among the arguments of a command, and rooms are needed for them.
pub fn are_given(args: &Value) -> bool {
    names(OVERRIDES).into_iter().any(|name| args.get(name).is_some())
}

/// Those among the arguments of a command: an object. `None`: there are none.
pub fn given(args: &Value) -> Option<Value> {
    are_given(args).then(|| taken(args))
}

/// A door of the room `past`.
#[inline(never)]
fn taken(args: &Value) -> Value {
    enter(Room::Past);
    let mut taken = Object::new();
    for name in names(OVERRIDES) {
        taken.maybe(name, args.get(name).cloned());
    }
    taken.done()
}

/// The first with what the other says instead. `null` is said too: then the configuration counts.
pub fn over(first: Option<&Value>, other: &Value) -> Value {
    let Some(first) = first else { return other.clone() };
    let mut over = Object::new();
    for name in names(OVERRIDES) {
        let stays = name != "model" || other.get("provider").is_none();
        over.maybe(name, other.get(name).or_else(|| first.get(name).filter(|_| stays)).cloned());
    }
    over.done()
}

/// The same without what is `null`. `None`: nothing is left. A door of the room `past`.
#[inline(never)]
pub fn said(of: Option<Value>) -> Option<Value> {
    enter(Room::Past);
    let Some(Value::Object(members)) = of else { return None };
    let mut said = Map::new();
    said.extend(members.into_iter().filter(|(_, value)| !value.is_null()));
    (!said.is_empty()).then_some(Value::Object(said))
}

impl Session {
    /// What it has otherwise than the configuration, with the provider that it keeps to. `None`: nothing.
    pub fn overrides(&self) -> Option<Value> {
        (self.own.is_some() || self.provider().is_some()).then(|| self.all_overrides())
    }

    /// A door of the room `past`.
    #[inline(never)]
    fn all_overrides(&self) -> Value {
        enter(Room::Past);
        let own = self.own.clone().unwrap_or_else(|| Object::new().done());
        Object::new().all(own).maybe("provider", self.provider().map(Value::from)).done()
    }

    /// The same with what a message says. A door of the room `past`.
    #[inline(never)]
    pub fn overrides_with(&self, message: &Value) -> Option<Value> {
        enter(Room::Past);
        said(Some(over(self.overrides().as_ref(), message)))
    }

    /// The same of a run. A provider that its message names and that is gone does not count.
    #[inline(never)]
    pub fn overrides_of(&self, run: &Run) -> Option<Value> {
        let Some(message) = &run.prompt.config else { return self.overrides() };
        let mut of = self.overrides_with(message);
        if let Some(Value::Object(members)) = &mut of
            && members.get("provider").and_then(Value::as_str) != self.provider_of(&run.prompt)
        {
            object::take(members, "provider");
            object::take(members, "model");
        }
        of
    }

    /// The name of the provider that a message is answered by first; `None`: the one that is asked first.
    pub fn provider_of<'a>(&'a self, prompt: &'a Prompt) -> Option<&'a str> {
        match prompt.config.as_ref().and_then(|config| config.get("provider")) {
            Some(Value::Null) => None,
            Some(Value::String(name)) if self.has_provider(name) => Some(name),
            _ => self.provider(),
        }
    }

    fn has_provider(&self, name: &str) -> bool {
        self.config.get("providers").is_some_and(|providers| providers.get(name).is_some())
    }

    /// What a run may do, by this policy: with tools that are named, no others.
    #[inline(never)]
    pub fn policy_of<'a>(&self, run: &Run, of: &'a Policy) -> Cow<'a, Policy> {
        self.narrowed(run, run.policy(of))
    }

    /// A policy with the tools that a run has.
    #[inline(never)]
    pub(super) fn narrowed<'a>(&self, run: &Run, policy: Cow<'a, Policy>) -> Cow<'a, Policy> {
        match self.own.is_some() || run.prompt.config.is_some() {
            true => Cow::Owned(self.narrow(run, policy.into_owned())),
            false => policy,
        }
    }

    /// A door of the room `past`.
    #[inline(never)]
    fn narrow(&self, run: &Run, policy: Policy) -> Policy {
        enter(Room::Past);
        match self.overrides_of(run).and_then(|of| texts(of.get("tools")?)) {
            Some(tools) => policy.only(tools),
            None => policy,
        }
    }

    /// It goes by these from here on. A run at work asks its new provider next, unless its message has named another. A
    /// door of the room `past`.
    #[inline(never)]
    pub(super) fn override_by(&mut self, config: &Value) {
        enter(Room::Past);
        let mut own = config.as_object().cloned().unwrap_or_default();
        let provider = object::take(&mut own, "provider").and_then(|name| name.as_str().map(String::from));
        self.own = (!own.is_empty()).then_some(Value::Object(own));
        let before = self.keep_to(provider);
        let own = self.current().map(|run| self.provider_of(&run.prompt).map(String::from));
        let moves = before.as_deref() != self.provider();
        if let (Some(own), Some(run)) = (own.filter(|_| moves), self.runs.last_mut()) {
            run.turn_to(own.as_deref());
        }
    }

    /// What it has from a file is of another workspace, and instructions may be of anybody: none of it counts here. A door
    /// of the room `past`.
    #[inline(never)]
    pub(super) fn forget_overrides(&mut self) {
        enter(Room::Past);
        self.own = None;
        for run in self.runs.iter_mut().chain(self.versions.runs_mut()) {
            run.prompt.config = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_later_says_what_it_names_and_a_model_stays_with_its_provider() {
        let of = |first: Value, other: Value| said(Some(over(Some(&first), &other))).unwrap_or_default();
        let session = || json!({ "provider": "a", "model": "m", "temperature": 0.5, "tools": ["x"] });
        for (other, counts) in [
            (json!({}), session()),
            (
                json!({ "model": "n" }),
                json!({ "provider": "a", "model": "n", "temperature": 0.5, "tools": ["x"] }),
            ),
            (json!({ "provider": "b" }), json!({ "provider": "b", "temperature": 0.5, "tools": ["x"] })),
            (
                json!({ "provider": "b", "model": "n", "tools": [] }),
                json!({ "provider": "b", "model": "n", "temperature": 0.5, "tools": [] }),
            ),
            (json!({ "provider": null, "temperature": null }), json!({ "tools": ["x"] })),
        ] {
            assert_eq!(of(session(), other.clone()), counts, "{other}");
        }
        assert_eq!(of(json!({ "model": "m" }), json!({ "model": null })), Value::Null);
    }

    #[test]
    fn only_its_members_are_taken_of_arguments() {
        assert_eq!(given(&json!({ "text": "t", "sessionId": "s" })), None);
        assert_eq!(
            given(&json!({ "text": "t", "model": null, "tools": [] })),
            Some(json!({ "model": null, "tools": [] }))
        );
    }
}
