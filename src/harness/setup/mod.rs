//! What the agent works with: its configuration, its tools and its skills.
//!
//! Decides which tools there are beside the page's own, and whether everything is recorded that a decision may depend on.
//! Promises: nothing of it is decided without the journal. What changes is recorded before the next decision. Leaves to
//! others: reading a configuration (`config/`), keys (`keys/`), and when to record (`runner/`).

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::harness::action::{Action, Notice};
use crate::harness::config;
use crate::harness::config::{Config, Timeouts};
use crate::harness::core::Core;
use crate::json::json;
use crate::list::Listed;
use crate::memory;
use crate::ports::{Millis, PatternEngine};
use crate::prompt;
use crate::prompt::Skill;
use crate::protocol::args::shortened;
use crate::rooms::{Room, enter};
use crate::tools::{Definition, Policy, Registry, Verdict, own, pages};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;

/// How many configurations of sessions and messages are kept: as many as work at once, about.
const OWN: usize = 8;

/// What the agent works with.
#[derive(Debug)]
pub(in crate::harness) struct Setup {
    pub config: Rc<Config>,
    /// The same with what sessions and messages have otherwise, by that: the newest last.
    own: RefCell<Vec<(Value, Rc<Config>)>>,
    pub registry: Registry,
    /// What may be done and what is asked about, by the present configuration.
    pub policy: Policy,
    /// The skills that count: the page's, and the account's.
    pub skills: Vec<Skill>,
    /// The skills that the account of this origin has.
    pub account: Vec<Skill>,
    /// The names under which the vault has keys.
    pub vault: Vec<String>,
    /// What the function for the instructions gave.
    pub instructions: Option<String>,
    /// Configuration or tools are not yet as the journals have them.
    pub changed: bool,
    /// The page does not know yet which tools there are.
    pub untold: bool,
}

impl Setup {
    /// No configuration yet, and the page tools if they are wanted.
    pub fn new(page_tools: bool, engine: &PatternEngine) -> Setup {
        let mut registry = Registry::with(engine.clone());
        let definitions = if page_tools { pages::definitions() } else { Vec::new() };
        for definition in definitions {
            // Their schemas compile and their names differ: a test of `tools/` says so.
            let registered = registry.register(definition, false);
            debug_assert!(registered.is_ok());
        }
        Setup {
            config: Rc::default(),
            own: RefCell::default(),
            registry,
            policy: Policy::default(),
            skills: Vec::new(),
            account: Vec::new(),
            vault: Vec::new(),
            instructions: None,
            changed: false,
            untold: true,
        }
    }

    /// Another configuration counts from here on. Gives the policy of before.
    pub fn take(&mut self, core: &mut Core, config: Config) -> Policy {
        for secret in config.secrets() {
            core.secrets.keep(secret);
        }
        self.config = Rc::new(config);
        self.look_in_vault();
        core.state.answers = self.config.answerers();
        let policy = Policy::from_record(&self.config.record());
        let before = std::mem::replace(&mut self.policy, policy);
        self.skills = prompt::merged(&self.config.skills, &self.account);
        self.equip();
        self.tools_change();
        self.tell_tools(core);
        before
    }

    /// Puts the harness's own tools there, as far as the configuration wants them.
    pub fn equip(&mut self) {
        let names: Vec<&str> = prompt::offered(&self.skills).map(|skill| skill.name.as_str()).list();
        let skills = (!names.is_empty()).then(|| own::use_skill(names.into_iter()));
        let wanted = [(own::DELEGATE, self.config.delegates().then(own::delegate)), (own::USE_SKILL, skills)];
        let memory =
            if self.config.memory.is_some() { memory::tools().map(Some) } else { [const { None }; 3] };
        for (name, definition) in wanted.into_iter().chain(own::OF_MEMORY.into_iter().zip(memory)) {
            // A tool of the page with the name of ours stays: then the skills of other workspaces are not to be had here.
            let _ = self.registry.set_own(name, definition);
        }
    }

    /// Whether the names are free that a configuration needs for the harness's own tools.
    pub fn own_tools_fit(&self, config: &Config) -> Result<(), ErrorInfo> {
        let needed = [
            (own::DELEGATE, config.delegates(), "an Orchestrator"),
            (own::USE_SKILL, !config.skills.is_empty(), "skills"),
        ];
        let memory = own::OF_MEMORY.map(|name| (name, config.memory.is_some(), "a memory"));
        match needed.iter().chain(&memory).find(|(name, needed, _)| *needed && self.registry.is_taken(name)) {
            Some((name, _, what)) => {
                let message = format!("the page has a tool called '{name}', which {what} would need");
                Err(ErrorInfo::new(Code::DuplicateTool, message).hint("give the page's tool another name"))
            }
            None => Ok(()),
        }
    }

    /// The tool of such a call, as it is now.
    pub fn tool_of(&self, core: &Core, session: &str, run: &str, tool_call: &str) -> Option<&Definition> {
        Some(&self.registry.get(&core.call_of(session, run, tool_call)?.name)?.definition)
    }

    /// Whether the agent may look up what it remembers. Where it may not, nothing of that is told by itself either.
    pub fn may_recall(&self) -> bool {
        let recall = self.registry.get(own::RECALL).map(|tool| &tool.definition);
        let denied = |tool: &Definition| self.policy.verdict(tool, false).0 == Verdict::Deny;
        recall.is_some_and(|tool| self.policy.missing(tool).is_none() && !denied(tool))
    }

    /// There are other tools, or other ones of them may be used.
    pub fn tools_change(&mut self) {
        (self.changed, self.untold) = (true, true);
    }

    /// Tells which tools there are, if the page does not know yet. The list is long, so many changes are told as one.
    pub fn tell_tools(&mut self, core: &mut Core) {
        if !std::mem::take(&mut self.untold) {
            return;
        }
        let definition =
            |tool: &Definition| tool.to_json(self.policy.offers(tool) && self.policy.missing(tool).is_none());
        let definitions: Value = self.registry.definitions().map(definition).array();
        core.outbox.tell(Action::Tell(Notice::Tools(json(&definitions))));
    }

    /// What the journal keeps of the configuration, with the instructions as they are now.
    pub fn config_record(&self, core: &Core) -> Value {
        let mut record = self.config.record();
        if let (Some(config::Given::Ask(_)), Some(object), Some(text)) =
            (&self.config.instructions, record.as_object_mut(), &self.instructions)
        {
            object.insert("instructions".into(), text.as_str().into());
        }
        core.secrets.scrubbed_value(record)
    }

    /// Lets providers without a key take the vault's.
    pub fn look_in_vault(&mut self) {
        Rc::make_mut(&mut self.config).look_in_vault(&self.vault);
        self.own.get_mut().clear();
    }

    /// The configuration with what a session or a message has otherwise.
    ///
    /// # Errors
    /// As [`Config::with`].
    pub fn config_with(&self, overrides: Option<&Value>) -> Result<Rc<Config>, ErrorInfo> {
        overrides.map_or_else(|| Ok(Rc::clone(&self.config)), |overrides| self.other_config(overrides))
    }

    /// A door of the room `past`.
    #[inline(never)]
    fn other_config(&self, overrides: &Value) -> Result<Rc<Config>, ErrorInfo> {
        enter(Room::Past);
        let mut own = self.own.borrow_mut();
        if let Some((_, config)) = own.iter().find(|(of, _)| of == overrides) {
            return Ok(Rc::clone(config));
        }
        let config = Rc::new(self.config.with(overrides)?);
        if own.len() == OWN {
            own.remove(0);
        }
        own.push((overrides.clone(), Rc::clone(&config)));
        Ok(config)
    }

    /// The same, if a session or a message may have this otherwise. A door of the room `past`.
    ///
    /// # Errors
    /// As [`Config::with`]; a tool does not exist.
    #[inline(never)]
    pub fn accepts(&self, overrides: Option<&Value>) -> Result<Rc<Config>, ErrorInfo> {
        enter(Room::Past);
        let tools = overrides.and_then(|of| of.get("tools"));
        let names = tools.map_or(Ok(Vec::new()), |tools| config::texts(tools, "tools"))?;
        if let Some(name) = names.iter().find(|name| self.registry.get(name).is_none()) {
            let known: Vec<&str> = self.registry.definitions().map(|tool| tool.name.as_str()).list();
            let message = ["tools names \"", shortened(name), "\", which is not registered"].concat();
            let error = ErrorInfo::new(Code::InvalidConfig, message);
            return Err(match known[..] {
                [] => error.hint("register it first"),
                _ => error.hint(["the tools are ", &find::join(&known, ", ")].concat()),
            });
        }
        self.config_with(overrides)
    }

    /// The name of the provider that is asked first, for a record.
    pub fn provider_name(&self) -> String {
        self.config.provider.as_ref().map_or_else(|| "none".into(), config::Provider::name)
    }

    /// Whether the provider of this name can be asked, as far as its key goes.
    pub fn has_key(&self, on: Option<&str>) -> bool {
        self.config.serving(on).is_some_and(config::Provider::configured)
    }

    pub fn timeouts(&self, on: Option<&str>) -> Option<Timeouts> {
        self.config.serving(on)?.timeouts()
    }

    /// When the run of a session has to be over, by the limit of the provider that it asks now. A provider without a limit
    /// has that of the provider that is asked first.
    pub fn over_at(&self, core: &Core, session: &str) -> Option<Millis> {
        let run = core.current(session).filter(|run| !run.held)?;
        let limit = |on| self.timeouts(on)?.run;
        Some(run.after(limit(run.on.as_deref()).or_else(|| limit(None))?))
    }

    pub fn question_deadline(&self, core: &Core) -> Option<Millis> {
        self.config.question_ms.map(|limit| core.now.saturating_add(limit))
    }
}
