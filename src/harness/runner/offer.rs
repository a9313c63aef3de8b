//! Tools that a model's provider runs itself: which of them a request offers, and when a person is asked first.
//!
//! Decides it by the configuration, the rules, what a person has allowed, and what the conversation holds. Promises: nobody
//! can be asked when such a tool runs, and it can carry words out. So where the conversation holds text from outside that
//! none of them has brought, a person is asked before the request, and again where text of another origin comes. What is not offered is told, once a run.
//! Leaves to others: how each wire writes them (`model/`), and asking (`permission`).

use crate::find;
use crate::harness::config::Config;
use crate::harness::core::Core;
use crate::harness::runner::Runner;
use crate::harness::runner::compaction::First;
use crate::journal::{Answer, AskReason, Entry, Outside, Verdict, sha256};
use crate::json::json;
use crate::list::Listed;
use crate::object::Object;
use crate::rooms::{Room, enter};
use crate::run::Run;
use crate::session::Session;
use serde_json::Value;

/// What becomes of the tools that a request would offer.
#[derive(Debug, Default)]
struct Offers {
    /// Those that it offers: the list of the body that each stands in, and its item there.
    offered: Vec<(&'static str, String)>,
    /// Those that a person has to be asked about first, each with the SHA-256 of how it is offered.
    asks: Vec<(String, String)>,
    /// Why.
    reason: Option<AskReason>,
    /// Where the text from outside comes from that none of them has brought.
    outside: Outside,
    /// Those that are left out, and why.
    left: Vec<(String, &'static str)>,
}

impl Runner {
    /// The tools that a run's next request offers: in which list of the body each stands, and its item there. A door of the
    /// room `past`.
    #[inline(never)]
    pub(super) fn offered(
        &self,
        config: &Config,
        session: &Session,
        asking: &Run,
    ) -> Vec<(&'static str, String)> {
        enter(Room::Past);
        self.offers(config, session, asking).offered
    }

    /// What becomes of the tools that it would offer.
    fn offers(&self, config: &Config, session: &Session, asking: &Run) -> Offers {
        let policy = session.policy_of(asking, &self.setup.policy);
        let mut offers = Offers { outside: session.outside.brought_otherwise(), ..Offers::default() };
        for (name, given) in &config.server_tools.tools {
            let mut leave_out = |why| offers.left.push((name.clone(), why));
            let Some((list, item)) = config.served_by(asking.on.as_deref(), name, given) else {
                leave_out("unsupported");
                continue;
            };
            if session.tools.get(name).is_some() {
                leave_out("name_taken");
                continue;
            }
            let definition = sha256(&[&json(given)]);
            let granted =
                || session.grants.iter().any(|grant| grant.covers(name, &definition, &offers.outside));
            // No rule lifts what text from outside may want.
            let reason = match policy.verdict_by_name(name) {
                Verdict::Deny => {
                    leave_out("not_allowed");
                    continue;
                }
                _ if !offers.outside.is_empty() => Some(AskReason::ExternalText),
                Verdict::Ask => Some(AskReason::Policy),
                Verdict::Allow => None,
            };
            match reason
                .filter(|_| !granted())
                .map(|reason| (reason, said_of(session, name, &offers.outside)))
            {
                None | Some((_, Some(true))) => offers.offered.push((list, item)),
                Some((_, Some(false))) => leave_out("not_allowed"),
                Some((reason, None)) => {
                    offers.reason = Some(reason);
                    offers.asks.push((name.clone(), definition));
                }
            }
        }
        offers
    }

    /// What has to come before a run's model is called, where that would offer tools of its provider.
    pub(super) fn before_offer(&mut self, core: &mut Core, session: &str, run: &str) -> First {
        let Some(folded) = core.session(session) else { return First::Call };
        let calls = |run: &&Run| !run.summarizes && run.prompt.compacts.is_none();
        let Some(asking) = folded.run(run).filter(calls) else { return First::Call };
        let Ok(config) = self.setup.config_with(folded.overrides_of(asking).as_ref()) else {
            return First::Call;
        };
        match config.server_tools.tools.is_empty() {
            true => First::Call,
            false => self.ask_to_offer(core, &config, session, run),
        }
    }

    /// A door of the room `past`.
    #[inline(never)]
    fn ask_to_offer(&mut self, core: &mut Core, config: &Config, session: &str, run: &str) -> First {
        enter(Room::Past);
        let Some(folded) = core.session(session) else { return First::Call };
        let Some(asking) = folded.run(run) else { return First::Call };
        let Offers { asks, reason, outside, left, .. } = self.offers(config, folded, asking);
        let Some(reason) = reason else {
            tell_left_out(core, session, run, left);
            return First::Call;
        };
        let asked = |part: &&Run| part.offer_asked().is_some();
        if folded.current().is_some_and(|top| top.parts().iter().any(asked)) {
            // What is said to the other counts for this one.
            return First::Wait;
        }
        let request = ["ask_", run, "_", &(asking.offer_questions() + 1).to_string()].concat();
        let mut tools = Object::new();
        for (name, definition) in &asks {
            tools.text(name, definition);
        }
        let entry = Entry::OfferAsked { request, tools: tools.done(), reason: reason.into(), outside };
        self.append(core, session, Some(run), &entry);
        First::Again
    }

    /// A person has said whether they may be offered, or nobody has in time. A door of the room `past`.
    #[inline(never)]
    pub(super) fn answer_offer(
        &mut self,
        core: &mut Core,
        session: &str,
        run: &str,
        request: &str,
        answer: Answer,
    ) {
        enter(Room::Past);
        self.calls.question_deadlines.retain(|(_, _, other)| other != request);
        let entry = Entry::OfferAnswered { request: request.into(), answer: answer.into() };
        self.settle(core, session, run, &entry);
    }
}

/// The part of a session's run that has asked this.
pub(super) fn asked_by(core: &Core, session: &str, request: &str) -> Option<String> {
    let run = core.current(session).filter(|run| !run.held)?;
    let is_it = |part: &&Run| part.offer_asked().is_some_and(|asked| asked.id == request);
    run.parts().into_iter().find(is_it).map(|part| part.id.clone())
}

/// What a person has said of a tool in the run at work, or in one that works for it.
fn said_of(session: &Session, tool: &str, outside: &Outside) -> Option<bool> {
    session.current()?.offers(tool, outside)
}

/// Tells what is left out of a run's requests, unless the same was told of it.
fn tell_left_out(core: &mut Core, session: &str, run: &str, left: Vec<(String, &'static str)>) {
    let texts = left.iter().flat_map(|(name, why)| [name.as_str(), why]);
    let told = find::join(&std::iter::once(run).chain(texts).list(), " ");
    let Some(slot) = core.sessions.get_mut(session).filter(|slot| !left.is_empty() && slot.left_out != told)
    else {
        return;
    };
    slot.left_out = told;
    for why in ["unsupported", "not_allowed", "name_taken"] {
        let tools: Vec<Value> =
            left.iter().filter(|(_, of)| *of == why).map(|(name, _)| name.as_str().into()).list();
        if tools.is_empty() {
            continue;
        }
        let Some(mut detail) = core.detail_of(session, run) else { return };
        detail.text("kind", "server_tools").value("tools", tools.into()).text("because", why);
        core.send("agent:notice", detail, false);
    }
}
