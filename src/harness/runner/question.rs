//! What a model is asked: a run's next request.
//!
//! Decides what goes with it: the system prompt, the tools, the form of the answer, the conversation. Promises: nothing is
//! built anew that was sent before. Leaves to others: how a wire writes it (`model/`), and when it is asked (`runner`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::ModelRequest;
use crate::harness::config::{self, Config};
use crate::harness::core::Core;
use crate::harness::core::slots::AtHand;
use crate::harness::runner::{Runner, not_configured};
use crate::model::{Form, Peer, Settings, ToolSpec, Wire};
use crate::prompt;
use crate::session::Transcript;
use crate::tools::Registry;
use std::rc::Rc;

/// What a model is asked, of each kind.
struct Question<'a> {
    settings: Settings,
    specs: Vec<ToolSpec>,
    /// The conversation, as its provider reads it.
    messages: &'a str,
    /// Whether the key was refused that the page's function gave for it first.
    refused: bool,
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
        let on = core.run(session, run).and_then(|run| run.on.clone());
        let on = on.as_deref();
        let Some(provider) = config.serving(on).filter(|provider| provider.configured()) else {
            return Err(not_configured());
        };
        let peer = config.peer(on).ok_or_else(not_configured)?;
        let Question { settings, specs, messages, refused } =
            self.question(core, config, session, run, peer)?;
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

    /// The question that goes on with a session's conversation, as `peer` reads it.
    fn question<'a>(
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
        let on = asking.on.as_deref();
        let policy = session.policy_of(asking, &session.policy);
        let none = Registry::new();
        let tools = if config.calls_tools(on) { &session.tools } else { &none };
        let mut system = prompt::system(&system, &self.setup.skills, tools, &policy, &session.mark);
        if let Some(delegate) = &asking.delegate {
            system = prompt::delegate(&system, &delegate.process);
        }
        let mut specs = tools.specs(&policy);
        let form = asking.prompt.output.as_ref().map(|output| {
            let (known, reasoning) = (config.known(on), config.reasoning);
            let form = Form::of(&peer, known, reasoning, &output.schema, &mut specs);
            if form.told {
                system = prompt::answer(&system, &output.schema, form.tool());
            }
            form
        });
        let settings = Settings { form, ..config.settings(on, system) };
        // All runs share one conversation; a run that works for another has a conversation of its own.
        let (key, runs) = match asking.delegate {
            Some(_) => (run, std::slice::from_ref(asking)),
            None => ("", session.runs.as_slice()),
        };
        if !transcripts.get(key).is_some_and(|transcript| transcript.serves(&peer, session)) {
            transcripts.insert(key, Transcript::new(peer, session));
        }
        let messages = transcripts.get_mut(key).ok_or_else(gone)?.extend(runs);
        Ok(Question { settings, specs, messages, refused: asking.needs_another_key() })
    }
}
