//! What a model is asked: a run's next request.
//!
//! Decides what goes with it: the system prompt, the tools, the form of the answer, the conversation. Promises: nothing is
//! built anew that was sent before. Leaves to others: how a wire writes it (`model/`), and when it is asked (`runner`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::ModelRequest;
use crate::harness::config::{self, Config};
use crate::harness::core::Core;
use crate::harness::core::slots::AtHand;
use crate::harness::runner::compaction::{Beside, Help, check_window, room_of_summary};
use crate::harness::runner::{Runner, not_configured};
use crate::json;
use crate::maps::Named;
use crate::model::{Form, Peer, Settings, ToolSpec, Wire};
use crate::object;
use crate::prompt;
use crate::rooms::{Room, enter};
use crate::run::{Run, Turn};
use crate::session::compaction::{Window, conversation_of, summing};
use crate::session::{Session, Transcript};
use crate::tools::Registry;
use serde_json::Value;
use std::rc::Rc;

/// What a model is asked, of each kind.
pub(super) struct Question<'a> {
    settings: Settings,
    specs: Vec<ToolSpec>,
    /// The conversation, as its provider reads it.
    messages: &'a str,
    /// What is sent besides that the conversation needs room for; `None`: it was made to fit.
    beside: Option<Beside>,
    /// Whether the key was refused that the page's function gave for it first.
    refused: bool,
}

/// Under which name the conversation is kept that a run asks about: all share one, but a run that works for another has its own.
pub(super) fn key_of(asking: &Run) -> &str {
    if asking.delegate.is_some() { &asking.id } else { "" }
}

impl Runner {
    /// The request of a run's next model call, and the tool that stands for the answer, if one does.
    pub(super) fn request(
        &self,
        core: &mut Core,
        config: &Config,
        session: &str,
        run: &str,
    ) -> Result<(ModelRequest, Option<String>), ErrorInfo> {
        let asking = core.run(session, run);
        // It asks for a summary, which is a run of its own: the conversation itself is not sent on.
        if asking.is_some_and(|run| run.prompt.compacts.is_some()) {
            self.helped()?;
            return Err(nothing_to_sum_up());
        }
        let on = asking.and_then(|run| run.on.clone());
        let on = on.as_deref();
        let Some(provider) = config.serving(on).filter(|provider| provider.configured()) else {
            return Err(not_configured());
        };
        let peer = config.peer(on).ok_or_else(not_configured)?;
        let Question { settings, specs, messages, beside, refused } =
            self.question(core, config, session, run, peer)?;
        if let Some(beside) = &beside {
            check_window(config, on, beside)?;
        }
        let request = match provider {
            config::Provider::Http(http) => {
                let request = http.preset.wire.request(&http.endpoint, &settings, &specs, messages)?;
                ModelRequest::Http { http: Rc::clone(http), request, refused }
            }
            config::Provider::Custom { stream, .. } => {
                let json = Wire::custom_request(&settings, &specs, messages)?;
                ModelRequest::Custom { stream: *stream, json }
            }
        };
        Ok((request, settings.form.as_ref().and_then(Form::tool).map(String::from)))
    }

    /// Fails where the room is away that makes conversations shorter.
    fn helped(&self) -> Result<(), ErrorInfo> {
        match self.help {
            Help::Here => Ok(()),
            _ => Err(ErrorInfo::absent("what makes a conversation shorter did not load")),
        }
    }

    /// The question that goes on with a session's conversation, as `peer` reads it.
    pub(super) fn question<'a>(
        &self,
        core: &'a mut Core,
        config: &Config,
        session: &str,
        run: &str,
        mut peer: Peer,
    ) -> Result<Question<'a>, ErrorInfo> {
        let system = match &config.instructions {
            Some(config::Given::Text(text)) => text.clone(),
            Some(config::Given::Ask(_)) => self.setup.instructions.clone().unwrap_or_default(),
            None => String::new(),
        };
        let gone = || ErrorInfo::new(Code::SessionNotFound, "the session is gone");
        let AtHand { session, transcripts, .. } = core.sessions.get_mut(session).ok_or_else(gone)?;
        peer.name = session.name_of(peer.name);
        let asking = session.run(run).ok_or_else(gone)?;
        if asking.summarizes {
            self.helped()?;
            let asked = summary_question(config, session, transcripts, run, peer);
            return asked.ok_or_else(gone);
        }
        let on = asking.on.as_deref();
        let policy = session.policy_of(asking, &session.policy);
        let none = Registry::new();
        let tools = if config.calls_tools(on) { &session.tools } else { &none };
        let mut system = prompt::system(&system, &self.setup.skills, tools, &policy, &session.mark);
        if let Some(delegate) = &asking.delegate {
            system = prompt::delegate(&system, &delegate.process);
        }
        let mut specs = tools.specs(&policy);
        let served = match config.server_tools.tools.is_empty() {
            true => Vec::new(),
            false => self.offered(config, session, asking),
        };
        let form = asking.prompt.output.as_ref().map(|output| {
            let (known, reasoning) = (config.known(on), config.reasoning);
            let form = Form::of(&peer, known, reasoning, &output.schema, &mut specs, !served.is_empty());
            if form.told {
                system = prompt::answer(&system, &output.schema, form.tool());
            }
            form
        });
        let settings = Settings { form, served, ..config.settings(on, system) };
        let (key, of) = (key_of(asking), conversation_of(session, run));
        if !transcripts.get(key).is_some_and(|transcript| transcript.serves(&peer, session, of.runs)) {
            if Window::of(of.runs).summary.is_some() {
                self.helped()?;
            }
            let mut transcript = Transcript::new(peer, session, of);
            if let Some(before) = transcripts.remove(key) {
                transcript.counts_like(&before);
            }
            transcripts.insert(key, transcript);
        }
        let transcript = transcripts.get_mut(key).ok_or_else(gone)?;
        transcript.goes_with(Beside::of(&settings, &specs, 0).bytes);
        transcript.extend(of.runs);
        let mut beside = Beside::of(&settings, &specs, transcript.skills());
        beside.tokens = transcript.beside();
        let (messages, beside) = (transcript.text(), Some(beside));
        Ok(Question { settings, specs, messages, beside, refused: asking.needs_another_key() })
    }
}

/// What a model is asked that sums up. `None`: the run is not there. A door of the room `compaction`.
#[inline(never)]
fn summary_question<'a>(
    config: &Config,
    session: &Session,
    transcripts: &'a mut Named<Transcript>,
    run: &str,
    peer: Peer,
) -> Option<Question<'a>> {
    enter(Room::Compaction);
    let asking = session.run(run)?;
    let of = conversation_of(session, run);
    let mut summaries = of.runs.iter().flat_map(|run| &run.summaries);
    let summary = summaries.find(|summary| summary.run.id == run)?;
    let text = summing::to_sum_up(of, summary, &session.mark);
    let system = prompt::summary(summary.instructions.as_deref(), &session.mark);
    let mut settings = config.settings(asking.on.as_deref(), system);
    // What the page says of answers is not said of a summary.
    let again = asking.turns.iter().any(Turn::answered);
    settings.max_output_tokens = Some(room_of_summary(config, &settings.known, again));
    settings.provider_options = settings.provider_options.map(|options| without_form(&options));
    transcripts.insert(run, Transcript::asking(peer, session, text));
    let messages = transcripts.get(run)?.text();
    let refused = asking.needs_another_key();
    Some(Question { settings, specs: Vec::new(), messages, beside: None, refused })
}

/// What a page gives its provider besides, without what it says of tools, and of the form and the length of an answer.
fn without_form(options: &str) -> String {
    let Some(Value::Object(mut all)) = json::parse(options) else { return options.into() };
    for inner in ["generation_config", "options"] {
        if let Some(Value::Object(inner)) = all.get_mut(inner) {
            FORM.iter().for_each(|name| drop(object::take(inner, name)));
        }
    }
    FORM.iter().for_each(|name| drop(object::take(&mut all, name)));
    json::json(&Value::Object(all))
}

/// What those are called, of every wire.
const FORM: [&str; 25] = [
    "audio",
    "format",
    "function_call",
    "functions",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "mcp_servers",
    "modalities",
    "n",
    "num_predict",
    "output_config",
    "output_format",
    "parallel_tool_calls",
    "plugins",
    "prediction",
    "response_format",
    "response_mime_type",
    "stop",
    "stop_sequences",
    "text",
    "thinking",
    "tool_choice",
    "tools",
    "web_search_options",
];

/// A summary is asked for, and the model has said nothing since the last one.
pub(super) fn nothing_to_sum_up() -> ErrorInfo {
    ErrorInfo::new(Code::MessageNotFound, "there is nothing to sum up yet").hint("send a message first")
}
