//! `AgentConfig`: what the page configures.
//!
//! Decides which members exist and what they may be; an unknown one, or one of a later version, is refused by
//! name. Promises: secrets stay in [`Config`] and never enter its [`record`](Config::record). Leaves to
//! others: what a configuration is used for, and where providers are (`provider`).

mod provider;
mod read;

pub(in crate::harness) use provider::provider;
pub use provider::{Http, Provider, Timeouts};
pub(crate) use read::function;
pub(in crate::harness) use read::texts;
pub use read::{Function, Given};

use crate::error::ErrorInfo;
use crate::find;
use crate::journal::{Limit, Process, redact};
use crate::json::json;
use crate::list::Listed;
use crate::model::{Ability, Catalog, Known, PRESETS, Peer, Preset, Reasoning, SERVED, Settings};
use crate::object::Object;
use crate::ports::{MAX_DELAY_MS, Shelf};
use crate::prompt::{self, Skill};
use crate::protocol::args::shortened;
use crate::rooms::{Room, enter};
use crate::run::Budget;
use crate::session::DEFAULT_MAX_TURNS;
use crate::tools::Verdict;
use read::{given, invalid, number, object, optional, text, unknown, whole, word};
use serde_json::Value;
use std::rc::Rc;

/// The shortest text that is taken for a secret: a shorter one would be found everywhere.
pub(in crate::harness) const SECRET_BYTES: usize = 8;

/// The model where nobody names one.
pub const DEFAULT_MODEL: &str = "claude-sonnet-4-6";

/// How long a tool may take where nobody says, in milliseconds.
const TOOL_TIMEOUT_MS: u64 = 60_000;

/// What to do when a harness runs already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfRunning {
    /// Refuse.
    Reject,
    /// Here already is fine.
    #[default]
    Join,
    /// A person wants it here: its holder loses it.
    TakeOver,
}

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where the model comes from; `None`: the stub.
    pub provider: Option<Provider>,
    /// Others, by the names that the page gave them.
    pub providers: Vec<(String, Provider)>,
    /// The names of those that take over, in their order.
    pub fallback: Vec<String>,
    /// The model's id.
    pub model: Option<String>,
    /// The page's instructions.
    pub instructions: Option<Given>,
    /// How much an answer may say.
    pub max_output_tokens: Option<u32>,
    /// As the page wrote it.
    pub temperature: Option<String>,
    /// How hard the model thinks.
    pub reasoning: Option<Reasoning>,
    /// A JSON object, merged over the request.
    pub provider_options: Option<String>,
    /// The keys among those.
    option_keys: Vec<String>,
    /// The tools that the provider is to run itself.
    pub server_tools: Rc<ServerTools>,
    /// How many model calls a run may make.
    pub max_turns: u64,
    /// What a run and a session may use up, as the page wrote it.
    pub budgets: Option<Value>,
    /// How long a tool may take, in milliseconds.
    pub tool_timeout_ms: u64,
    /// What is held; `None`: everything.
    pub capabilities: Option<Vec<String>>,
    /// The process type.
    pub process_type: Option<Process>,
    /// The rules: verdicts for all, by tool and by capability, as the page wrote them.
    pub permissions: Option<Value>,
    /// The page's function that is asked about every call.
    pub decide: Option<Function>,
    /// How long a person may think, in milliseconds.
    pub question_ms: Option<u64>,
    /// How many tools may run at once.
    pub max_parallel: Option<u64>,
    /// What the agent knows how to do.
    pub skills: Vec<Skill>,
    /// What the page knows of models; `None`: what the package knows.
    pub models: Option<Catalog>,
    /// What is known of the model.
    known: Vec<(Option<String>, Known)>,
    /// Whether an answer that was cut in the middle is asked for again.
    pub retry_cut: bool,
    /// Whether runs that a lost page left go on of themselves.
    pub resume_auto: bool,
    /// After how many days without a change a session is archived; `None`: none is.
    pub archive: Option<u64>,
    /// How a conversation is made shorter that fills its model's window; `None`: it is not.
    pub compaction: Option<Compaction>,
    /// What is remembered from one conversation to the next; `None`: nothing.
    pub memory: Option<Remembering>,
    /// What to do when a harness runs already.
    pub if_running: IfRunning,
}

/// What is remembered from one conversation to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembering {
    /// Where.
    pub shelf: Shelf,
    /// How many memories are told at the start of a run, at most.
    pub limit: usize,
}

/// Tools that the provider is to run itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerTools {
    /// Each by its name and as the page wrote it.
    pub tools: Vec<(String, Value)>,
    /// All of them as the page wrote them. `None`: there is none.
    given: Option<Value>,
    /// The keys among them.
    keys: Vec<String>,
}

/// How a conversation is made shorter for its model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// How full the window is then, in hundredths of what it has for the conversation.
    pub at: u64,
    /// How much of the newest part stays word for word, in tokens.
    pub keep: Option<u64>,
    /// What matters.
    pub instructions: Option<String>,
    /// The name of the provider that sums up; `None`: the one that answers.
    pub provider: Option<String>,
}

impl Default for Compaction {
    fn default() -> Self {
        Compaction { at: 80, keep: None, instructions: None, provider: None }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            provider: None,
            providers: Vec::new(),
            fallback: Vec::new(),
            model: None,
            instructions: None,
            max_output_tokens: None,
            temperature: None,
            reasoning: None,
            provider_options: None,
            option_keys: Vec::new(),
            server_tools: Rc::default(),
            max_turns: DEFAULT_MAX_TURNS,
            budgets: None,
            tool_timeout_ms: TOOL_TIMEOUT_MS,
            capabilities: None,
            process_type: None,
            permissions: None,
            decide: None,
            question_ms: None,
            max_parallel: None,
            skills: Vec::new(),
            models: None,
            known: Vec::new(),
            retry_cut: true,
            resume_auto: false,
            archive: None,
            compaction: Some(Compaction::default()),
            memory: None,
            if_running: IfRunning::default(),
        }
    }
}

impl Config {
    /// Takes over the members of a patch. A member that is `null` goes back to its default.
    pub fn patched(&self, patch: &Value) -> Result<Config, ErrorInfo> {
        let mut config = self.clone();
        for (name, value) in object(patch, "the configuration")? {
            config.take(name, value)?;
        }
        config.fits(None)
    }

    /// The same with what a session or a message has otherwise (`session::overrides`). A model that is named is that of the
    /// provider that is named beside it.
    ///
    /// # Errors
    /// `invalid_config`, naming the member; there is no such provider.
    pub fn with(&self, overrides: &Value) -> Result<Config, ErrorInfo> {
        let (mut config, mut on) = (self.clone(), None);
        for (name, value) in object(overrides, "the configuration")? {
            match name.as_str() {
                "provider" => on = value.as_str(),
                "model" | "tools" => {}
                _ => config.take(name, value)?,
            }
        }
        for name in ["providerOptions", "serverTools"] {
            if overrides.get(name).is_some_and(|given| !keys_in(given).is_empty()) {
                let why = " of a session or a message must hold no key, because they are stored";
                let hint = ["give the key in the ", name, " of startAgent"].concat();
                return Err(invalid(&[name, why].concat()).hint(hint));
            }
        }
        on.map_or(Ok(()), |name| config.must_have(name))?;
        let model = overrides.get("model").map(|model| text(model, "model")).transpose()?;
        let named = config.providers.iter_mut().find(|(name, _)| Some(name.as_str()) == on);
        let asked = named.map(|(_, provider)| provider).or(config.provider.as_mut().filter(|_| on.is_none()));
        if let (Some(model), Some(provider)) = (&model, asked) {
            provider.ask_for(model);
        }
        if on.is_none() {
            config.model = model.or(config.model);
        }
        config.fits(on)
    }

    /// It, if its parts fit together. `own`: the provider that a session keeps to.
    fn fits(mut self, own: Option<&str>) -> Result<Config, ErrorInfo> {
        self.look_up();
        self.check(own)?;
        Ok(self)
    }

    /// There is a provider of this name.
    ///
    /// # Errors
    /// `invalid_config`
    pub fn must_have(&self, name: &str) -> Result<(), ErrorInfo> {
        if self.named(name).is_some() {
            return Ok(());
        }
        Err(self.has_none(&["no provider is called \"", shortened(name), "\""]))
    }

    /// A name that no provider has, and which there are.
    fn has_none(&self, message: &[&str]) -> ErrorInfo {
        let known: Vec<&str> = self.providers.iter().map(|(name, _)| name.as_str()).list();
        let known = find::join(&known, ", ");
        let hint = if known.is_empty() {
            "startAgent was given no providers by names".into()
        } else {
            ["startAgent's providers are: ", &known].concat()
        };
        invalid(&message.concat()).hint(hint)
    }

    /// Takes over one member.
    fn take(&mut self, name: &str, value: &Value) -> Result<(), ErrorInfo> {
        let null = value.is_null();
        match name {
            "provider" => self.provider = optional(value, name, |value, _| provider(value))?,
            "model" => self.model = optional(value, name, text)?,
            "instructions" => self.instructions = optional(value, name, given)?,
            "maxOutputTokens" => {
                let tokens = optional(value, name, |v, n| whole(v, n, 1, u32::MAX.into()))?;
                self.max_output_tokens = tokens.and_then(|tokens| u32::try_from(tokens).ok());
            }
            "temperature" => self.temperature = optional(value, name, number)?,
            "reasoning" => self.reasoning = optional(value, name, reasoning)?,
            "providerOptions" => {
                self.provider_options = optional(value, name, |v, n| object(v, n).map(|_| json(v)))?;
                self.option_keys = keys_in(value);
            }
            "serverTools" => {
                self.server_tools = if null { Rc::default() } else { server_tools(value, name)? };
            }
            "maxTurns" => {
                self.max_turns =
                    optional(value, name, |v, n| whole(v, n, 1, 10_000))?.unwrap_or(DEFAULT_MAX_TURNS);
            }
            "toolTimeoutMs" => {
                self.tool_timeout_ms =
                    optional(value, name, |v, n| whole(v, n, 1, 86_400_000))?.unwrap_or(TOOL_TIMEOUT_MS);
            }
            "retry" => self.retry_cut = optional(value, name, retry)?.unwrap_or(true),
            "resume" => self.resume_auto = word(value, name, &["hold", "auto"])? == 1,
            "ifRunning" => {
                self.if_running = match word(value, name, &["join", "reject", "takeover"])? {
                    1 => IfRunning::Reject,
                    2 => IfRunning::TakeOver,
                    _ => IfRunning::Join,
                };
            }
            "capabilities" => self.capabilities = optional(value, name, texts)?,
            "processType" => {
                let process = optional(value, name, |v, n| word(v, n, &Process::WORDS))?;
                self.process_type = process.and_then(|at| Process::ALL.get(at)).copied();
            }
            "permissions" => self.take_permissions(value)?,
            "maxParallelTools" => {
                self.max_parallel = optional(value, name, |v, n| whole(v, n, 1, 1_000))?;
            }
            "skills" => self.skills = if null { Vec::new() } else { Skill::all(value)? },
            "providers" => self.providers = if null { Vec::new() } else { providers(value)? },
            "fallback" => self.fallback = if null { Vec::new() } else { texts(value, name)? },
            "models" => self.models = optional(value, name, Catalog::read)?,
            "archive" => self.archive = archive(value, name)?,
            "compaction" => self.compaction = compaction(value, name)?,
            "memory" => self.memory = memory(value, name)?,
            "budgets" => self.budgets = optional(value, name, budgets)?,
            _ => return Err(unknown(name)),
        }
        Ok(())
    }

    /// Whether its parts fit together. `own`: as in [`fits`](Config::fits).
    fn check(&self, own: Option<&str>) -> Result<(), ErrorInfo> {
        for (at, name) in self.fallback.iter().enumerate() {
            let Some(provider) = self.named(name) else {
                return Err(self.has_none(&[
                    "fallback names \"",
                    shortened(name),
                    "\", which is not in providers",
                ]));
            };
            if self.fallback.iter().take(at).any(|before| before == name) {
                return Err(invalid(&format!("fallback names \"{}\" twice", shortened(name))));
            }
            provider
                .knows_its_model(None)
                .map_err(|error| error.hint("a provider that takes over needs a model of its own"))?;
        }
        for provider in [self.serving(None), self.serving(own)].into_iter().flatten() {
            provider.knows_its_model(self.model.as_deref())?;
        }
        if let Some(Compaction { provider: Some(name), .. }) = &self.compaction {
            let provider = self.named(name).ok_or_else(|| {
                self.has_none(&[
                    "compaction.provider is \"",
                    shortened(name),
                    "\", which is not in providers",
                ])
            })?;
            provider.knows_its_model(None)?;
        }
        let limits =
            |of| Budget::from_record(self.budgets.as_ref().and_then(|budgets| budgets.get(of))).limits_cost();
        if limits("run") || limits("session") {
            let asked = [None, own].into_iter().chain(self.fallback.iter().map(|name| Some(name.as_str())));
            let mut asked = asked.filter(|on| self.serving(*on).is_some());
            let priced = |on| self.known(on).is_some_and(Known::has_price);
            if let Some(on) = asked.find(|on| !priced(*on)) {
                let model = shortened(self.model(on));
                return Err(invalid(&format!(
                    "a budget limits the cost, and the price of the model \"{model}\" is not known"
                ))
                .hint("give its price in models; 0 for one that costs nothing"));
            }
        }
        Ok(())
    }

    /// Takes from the catalog what is known of the models. It reads the whole of it, so it is done once for each change.
    fn look_up(&mut self) {
        let catalog = self.models.clone().unwrap_or_else(Catalog::own);
        let find = |on: Option<&str>| {
            let model = self.model(on);
            match self.serving(on)? {
                Provider::Http(http) if http.is_ones_own() => {
                    catalog.find_local(http.preset.kind, http.preset.preset, model)
                }
                Provider::Http(http) => catalog.find(http.preset.kind, http.preset.preset, model),
                Provider::Custom { .. } => catalog.find("custom", "", model),
            }
        };
        let names = self.providers.iter().map(|(name, _)| Some(name.as_str()));
        let known = std::iter::once(None).chain(names).map(|on| (on.map(String::from), find(on)));
        self.known = known.filter_map(|(on, known)| Some((on, known?))).list();
    }

    /// What is known of the model that the provider of this name is asked for, if anything is.
    pub fn known(&self, on: Option<&str>) -> Option<&Known> {
        self.known.iter().find(|(of, _)| of.as_deref() == on).map(|(_, known)| known)
    }

    fn named(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|(known, _)| known == name).map(|(_, provider)| provider)
    }

    /// The provider of this name; `None`: the one that is asked first.
    pub fn serving(&self, on: Option<&str>) -> Option<&Provider> {
        match on {
            Some(name) => self.named(name),
            None => self.provider.as_ref(),
        }
    }

    fn take_permissions(&mut self, value: &Value) -> Result<(), ErrorInfo> {
        (self.permissions, self.decide, self.question_ms) = (None, None, None);
        if value.is_null() {
            return Ok(());
        }
        let mut rules = Object::new();
        for (name, value) in object(value, "permissions")? {
            let path = ["permissions.", name].concat();
            match name.as_str() {
                _ if value.is_null() => {}
                "timeoutMs" => self.question_ms = Some(whole(value, &path, 1, MAX_DELAY_MS)?),
                "decide" => {
                    self.decide = Some(function(value, &path)?);
                    rules.flag("decide", true);
                }
                "default" => {
                    word(value, &path, &Verdict::WORDS)?;
                    rules.value("default", value.clone());
                }
                "tools" | "capabilities" => {
                    for (rule, verdict) in object(value, &path)? {
                        word(verdict, &[&path, ".", rule].concat(), &Verdict::WORDS)?;
                    }
                    rules.value(name, value.clone());
                }
                _ => return Err(unknown(&path)),
            }
        }
        self.permissions = Some(rules.done());
        Ok(())
    }

    /// Whether its agent may delegate.
    pub fn delegates(&self) -> bool {
        self.process_type == Some(Process::Orchestrator)
    }

    /// Whether there is a provider that can be asked.
    pub fn configured(&self) -> bool {
        self.provider.as_ref().is_some_and(Provider::configured)
    }

    /// Whether anybody can be asked: the provider of this name, or one that takes over.
    pub fn answers(&self, on: Option<&str>) -> bool {
        let usable = |on: Option<&str>| self.serving(on).is_some_and(Provider::configured);
        usable(on) || self.fallback.iter().any(|name| usable(Some(name)))
    }

    /// Whom a conversation is written for that goes to the provider of this name, with what its model takes.
    pub fn peer(&self, on: Option<&str>) -> Option<Peer> {
        let mut peer = self.serving(on)?.peer();
        let can = |ability| self.known(on).and_then(|known| known.can(ability));
        peer.dialect.images = can(Ability::Images).unwrap_or(peer.dialect.images);
        peer.dialect.documents = can(Ability::Documents).unwrap_or(peer.dialect.documents);
        Some(peer)
    }

    /// Whether the model that the provider of this name is asked for may be told of tools: it is not known to call none.
    pub fn calls_tools(&self, on: Option<&str>) -> bool {
        self.known(on).and_then(|known| known.can(Ability::Tools)) != Some(false)
    }

    /// How the provider of this name is offered a tool that it runs itself: the list of a body, and its item there. `given`: as
    /// the page wrote it. `None`: it has no such tool.
    pub fn served_by(&self, on: Option<&str>, name: &str, given: &Value) -> Option<(&'static str, String)> {
        let Provider::Http(http) = self.serving(on).filter(|_| self.calls_tools(on))? else { return None };
        let Preset { dialect, .. } = http.preset;
        if let Some(kind) = given.get("type").and_then(Value::as_str) {
            return dialect.hosts(kind).then(|| ("tools", json(given)));
        }
        let served = dialect.served.iter().find(|(common, ..)| *common == name);
        served.map(|(_, list, item)| (*list, (*item).to_owned()))
    }

    /// The id of the model that the provider of this name is asked for.
    pub fn model(&self, on: Option<&str>) -> &str {
        let own = self.serving(on).and_then(Provider::model);
        own.or(self.model.as_deref()).unwrap_or(DEFAULT_MODEL)
    }

    /// The same for a record, if it is called anything.
    pub fn model_id(&self, on: Option<&str>) -> Option<&str> {
        Some(self.model(on)).filter(|model| !model.is_empty())
    }

    /// Who answers: the provider that is asked first, and each that has a name.
    pub fn answerers(&self) -> Vec<(Option<String>, Value)> {
        let of = |name: Option<&str>, called: Option<String>| {
            let model = self.model_id(name);
            Object::new().value("provider", called.into()).value("model", model.into()).done()
        };
        let first = (None, of(None, self.provider.as_ref().map(Provider::name)));
        let named =
            self.providers.iter().map(|(name, _)| (Some(name.clone()), of(Some(name), Some(name.clone()))));
        std::iter::once(first).chain(named).list()
    }

    /// What a request to the provider of this name says besides the conversation.
    pub fn settings(&self, on: Option<&str>, system: String) -> Settings {
        Settings {
            model: self.model(on).into(),
            system,
            max_output_tokens: self.max_output_tokens,
            known: self.known(on).copied().unwrap_or_default(),
            temperature: self.temperature.clone(),
            reasoning: self.reasoning,
            provider_options: self.provider_options.clone(),
            served: Vec::new(),
            form: None,
        }
    }

    /// The keys that must not appear anywhere.
    pub fn secrets(&self) -> Vec<&str> {
        let named = self.providers.iter().map(|(_, provider)| provider);
        let secrets = self.provider.iter().chain(named).flat_map(Provider::secrets);
        let secrets =
            secrets.chain(self.option_keys.iter().chain(&self.server_tools.keys).map(String::as_str));
        secrets.filter(|secret| secret.len() >= SECRET_BYTES).list()
    }

    /// Lets providers without a key take the vault's, which has keys of these names.
    pub(in crate::harness) fn look_in_vault(&mut self, names: &[String]) {
        let held = |name: &str| names.iter().any(|held| held == name);
        if let Some(provider) = &mut self.provider {
            provider.look_in_vault(None, held);
        }
        for (name, provider) in &mut self.providers {
            provider.look_in_vault(Some(name), held);
        }
    }

    /// What the journal keeps: no secret, and no function.
    pub fn record(&self) -> Value {
        let instructions = match &self.instructions {
            Some(Given::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        Object::new()
            .maybe_text("provider", self.provider.as_ref().map(Provider::name).as_deref())
            .flag("configured", self.configured())
            .text("model", self.model(None))
            .maybe("providers", self.record_of_providers())
            .maybe("fallback", (!self.fallback.is_empty()).then(|| self.fallback.as_slice().into()))
            .maybe_text("instructions", instructions)
            .maybe("maxOutputTokens", self.max_output_tokens.map(Value::from))
            .maybe_text("temperature", self.temperature.as_deref())
            .maybe_text("reasoning", self.reasoning.and_then(|level| REASONING.get(level as usize)).copied())
            .maybe_text("providerOptions", self.provider_options.as_deref())
            .maybe("serverTools", self.record_of_server_tools())
            .number("maxTurns", self.max_turns)
            .maybe("retry", self.retry_cut.then(|| Object::new().flag("cut", true).done()))
            .maybe("budgets", self.budgets.clone())
            .maybe("capabilities", self.capabilities.as_deref().map(Value::from))
            .maybe_text("processType", self.process_type.map(Process::as_str))
            .maybe("permissions", self.permissions.clone())
            .maybe("maxParallelTools", self.max_parallel.map(Value::from))
            .maybe("skills", prompt::record(&self.skills))
            .maybe("archive", self.archive.map(|days| Object::new().number("afterDays", days).done()))
            .maybe("compaction", self.record_of_compaction())
            .maybe("memory", self.memory.map(record_of_memory))
            .done()
    }

    /// Where memories are.
    pub fn shelf(&self) -> Shelf {
        self.memory.map(|memory| memory.shelf).unwrap_or_default()
    }

    /// The tools that the provider runs, as the page wrote them.
    fn record_of_server_tools(&self) -> Option<Value> {
        self.server_tools.given.clone()
    }

    /// How a conversation is made shorter, where that is not as it is by itself.
    fn record_of_compaction(&self) -> Option<Value> {
        let Some(compaction) = &self.compaction else { return Some(Value::Bool(false)) };
        let Compaction { at, keep, instructions, provider } = compaction;
        let mut record = Object::new();
        record.number("at", *at).maybe("keep", keep.map(Value::from));
        record
            .maybe_text("instructions", instructions.as_deref())
            .maybe_text("provider", provider.as_deref());
        (*compaction != Compaction::default()).then(|| record.done())
    }

    /// Who the named providers are, and what each is asked for.
    fn record_of_providers(&self) -> Option<Value> {
        let mut record = Object::new();
        for (name, provider) in &self.providers {
            let mut of = Object::new();
            of.text("provider", &provider.name()).flag("configured", provider.configured());
            record.value(name, of.text("model", self.model(Some(name))).done());
        }
        (!self.providers.is_empty()).then(|| record.done())
    }

    /// `get_agent_settings`; `api_key_configured` is false where the stub would answer.
    pub fn public(&self) -> Value {
        Object::new()
            .flag("api_key_configured", self.configured())
            .value("provider", self.provider.as_ref().map(Provider::name).into())
            .text("model", self.model(None))
            .done()
    }
}

/// The texts below members that are named like keys, as `js/tabs/tabs.js` knows them.
fn keys_in(options: &Value) -> Vec<String> {
    fn walk(value: &Value, named: bool, found: &mut Vec<String>) {
        match value {
            Value::String(text) if named && !text.is_empty() => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| walk(item, named, found)),
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| walk(value, named || is_named(name), found));
            }
            _ => {}
        }
    }
    fn is_named(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let is_one = ["headers", "authorization", "cookie", "password"].contains(&name.as_str());
        is_one || ["secret", "token", "api_key", "apikey"].into_iter().any(|end| name.ends_with(end))
    }
    let mut found = Vec::new();
    walk(options, false, &mut found);
    found
}

/// After how many days a session is archived, if it ever is.
fn archive(value: &Value, name: &str) -> Result<Option<u64>, ErrorInfo> {
    if value.is_null() || *value == Value::Bool(false) {
        return Ok(None);
    }
    let mut after = None;
    for (member, days) in object(value, name)? {
        let path = [name, ".", member].concat();
        match member.as_str() {
            "afterDays" => after = Some(whole(days, &path, 1, 36_500)?),
            _ => return Err(unknown(&path)),
        }
    }
    after.map(Some).ok_or_else(|| invalid("archive needs afterDays: how many days without a change"))
}

/// What is remembered, if it is wanted.
fn memory(value: &Value, name: &str) -> Result<Option<Remembering>, ErrorInfo> {
    let mut memory = Remembering { shelf: Shelf::Workspace, limit: 10 };
    if value.is_null() || *value == Value::Bool(false) {
        return Ok(None);
    }
    if *value == Value::Bool(true) {
        return Ok(Some(memory));
    }
    for (member, value) in object(value, name)? {
        let path = [name, ".", member].concat();
        match member.as_str() {
            _ if value.is_null() => {}
            "scope" if word(value, &path, &["workspace", "account"])? == 1 => memory.shelf = Shelf::Account,
            "scope" => {}
            "limit" => memory.limit = usize::try_from(whole(value, &path, 0, 50)?).unwrap_or_default(),
            _ => return Err(unknown(&path)),
        }
    }
    Ok(Some(memory))
}

fn record_of_memory(memory: Remembering) -> Value {
    let scope = (memory.shelf == Shelf::Account).then_some("account");
    Object::new().maybe_text("scope", scope).number("limit", memory.limit as u64).done()
}

/// How a conversation is made shorter, if it is.
fn compaction(value: &Value, name: &str) -> Result<Option<Compaction>, ErrorInfo> {
    let mut compaction = Compaction::default();
    if *value == Value::Bool(false) {
        return Ok(None);
    }
    if value.is_null() {
        return Ok(Some(compaction));
    }
    for (member, value) in object(value, name)? {
        let path = [name, ".", member].concat();
        match member.as_str() {
            _ if value.is_null() => {}
            "at" => {
                let part = value.as_f64().filter(|part| (0.1..=1.0).contains(part));
                let part =
                    part.ok_or_else(|| invalid(&[&path, " must be a number from 0.1 to 1"].concat()))?;
                compaction.at = (part * 100.0).round() as u64;
            }
            "keep" => compaction.keep = Some(whole(value, &path, 0, 10_000_000)?),
            "instructions" => compaction.instructions = Some(text(value, &path)?),
            "provider" => compaction.provider = Some(text(value, &path)?),
            _ => return Err(unknown(&path)),
        }
    }
    Ok(Some(compaction))
}

/// The tools that the provider is to run, each by its name: a common one, or what a provider takes. A door of the room `past`.
#[inline(never)]
fn server_tools(value: &Value, name: &str) -> Result<Rc<ServerTools>, ErrorInfo> {
    enter(Room::Past);
    let must = |path: &str, what: &str| invalid(&[path, " must be ", what].concat());
    let tools = value.as_array().ok_or_else(|| must(name, "a list"))?;
    let read = |(at, tool): (usize, &Value)| -> Result<(String, Value), ErrorInfo> {
        let path = [name, "[", &at.to_string(), "]"].concat();
        let text = |member: &str| tool.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        let named = match tool.as_str() {
            Some(word) => {
                let known = SERVED.iter().find(|(common, other)| word == *common || word == *other);
                let (common, _) = known.ok_or_else(|| {
                    let message = [&path, " is \"", shortened(word), "\", which no provider has"].concat();
                    invalid(&message).hint("use \"web_search\", \"web_fetch\" or \"code_execution\", or an object as the provider's API takes it, with its type")
                })?;
                *common
            }
            None => {
                let kind = text("type").ok_or_else(|| must(&path, "a name, or an object with a type"))?;
                if !PRESETS.iter().any(|preset| preset.dialect.hosts(kind)) {
                    let message =
                        [&path, ".type is \"", shortened(kind), "\", which no provider has"].concat();
                    return Err(invalid(&message).hint(
                        "check the type; one that is newer than this version goes into providerOptions.tools",
                    ));
                }
                text("name").unwrap_or(kind)
            }
        };
        Ok((named.to_owned(), tool.clone()))
    };
    let named = tools.iter().enumerate().map(read).tried()?;
    let given = (!named.is_empty()).then(|| value.clone());
    Ok(Rc::new(ServerTools { tools: named, given, keys: keys_in(value) }))
}

/// Whether a cut answer is asked for again, where somebody says so.
fn retry(value: &Value, name: &str) -> Result<bool, ErrorInfo> {
    let mut cut = true;
    for (member, value) in object(value, name)? {
        let path = [name, ".", member].concat();
        cut = match (member.as_str(), value) {
            ("cut", Value::Bool(cut)) => *cut,
            ("cut", _) => return Err(invalid(&[&path, " must be true or false"].concat())),
            _ => return Err(unknown(&path)),
        };
    }
    Ok(cut)
}

/// Budgets as they are recorded.
fn budgets(value: &Value, name: &str) -> Result<Value, ErrorInfo> {
    for (of, budget) in object(value, name)? {
        let path = [name, ".", of].concat();
        if !matches!(of.as_str(), "run" | "session") {
            return Err(unknown(&path));
        }
        for (limit, number) in object(budget, &path)? {
            let path = [&path, ".", limit].concat();
            if !Limit::WORDS.contains(&limit.as_str()) {
                return Err(unknown(&path));
            }
            let fits = number.as_f64().is_some_and(|number| (0.0..9e15).contains(&number));
            if !fits {
                return Err(invalid(&format!("{path} must be a number from 0 on")));
            }
        }
    }
    Ok(value.clone())
}

/// The providers by their names.
fn providers(value: &Value) -> Result<Vec<(String, Provider)>, ErrorInfo> {
    let read = |(name, value): (&String, &Value)| {
        if redact::text(name, &[]).is_some() {
            let error = invalid("the name of a provider looks like a secret");
            return Err(error.hint("it is put on record: choose another; keys go into apiKey"));
        }
        // Which of them is at fault: all that is said of a provider calls it so.
        let of_it = |mut error: ErrorInfo| {
            if let Some((before, after)) = find::split(&error.message, "provider") {
                error.message = [before, "providers.", shortened(name), after].concat();
            }
            error
        };
        Ok((name.clone(), provider(value).map_err(of_it)?))
    };
    object(value, "providers")?.iter().map(read).tried()
}

/// The levels of [`Reasoning`], in its order.
const REASONING: [&str; 4] = ["off", "low", "medium", "high"];

fn reasoning(value: &Value, name: &str) -> Result<Reasoning, ErrorInfo> {
    Ok(match word(value, name, &REASONING)? {
        0 => Reasoning::Off,
        1 => Reasoning::Low,
        2 => Reasoning::Medium,
        _ => Reasoning::High,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use serde_json::json;

    fn error(patch: Value) -> ErrorInfo {
        Config::default().patched(&patch).unwrap_err()
    }

    #[test]
    fn what_is_not_named_keeps_its_default() {
        let config = Config::default().patched(&json!({})).unwrap();
        assert_eq!(config, Config::default());
        assert_eq!((config.model(None), config.max_turns), ("claude-sonnet-4-6", 20));
        assert!(!config.configured());
    }

    #[test]
    fn an_unknown_or_later_option_is_refused_by_name() {
        for (patch, name) in [
            (json!({ "maxTurn": 3 }), "maxTurn"),
            (json!({ "budgets": { "day": {} } }), "budgets.day"),
            (json!({ "budgets": { "run": { "tokens": 1 } } }), "budgets.run.tokens"),
            (json!({ "budgets": { "run": { "turns": -1 } } }), "budgets.run.turns"),
            (
                json!({ "provider": { "kind": "anthropic", "timeouts": { "silence": 1 } } }),
                "provider.timeouts.silence",
            ),
            (json!({ "provider": { "kind": "openai", "apiKey": "sk" } }), "no model"),
            (json!({ "fallback": ["spare"] }), "spare"),
            (json!({ "provider": { "kind": "anthropic", "key": "x" } }), "provider.key"),
            (json!({ "provider": { "kind": "anthropic", "preset": "groq" } }), "groq"),
            (json!({ "provider": { "kind": "openai-compatible" } }), "baseUrl"),
            (json!({ "provider": { "kind": "llama" } }), "llama"),
            (json!({ "maxTurns": "3" }), "maxTurns"),
            (json!({ "retry": { "tries": 3 } }), "retry.tries"),
            (json!({ "retry": { "cut": 1 } }), "retry.cut must be true or false"),
            (json!({ "retry": false }), "retry must be an object"),
            (json!({ "ifRunning": "steal" }), "ifRunning"),
            (json!({ "serverTools": "web_search" }), "serverTools must be a list"),
            (
                json!({ "serverTools": ["web_search", "websearch"] }),
                "serverTools[1] is \"websearch\", which no provider has",
            ),
            (
                json!({ "serverTools": [{ "name": "x" }] }),
                "serverTools[0] must be a name, or an object with a type",
            ),
            (json!({ "serverTools": [7] }), "serverTools[0] must be"),
        ] {
            let error = error(patch);
            assert_eq!(error.code, Code::InvalidConfig);
            assert!(error.message.contains(name), "{error}");
        }
    }

    #[test]
    fn a_name_that_no_provider_has_is_answered_with_those_that_there_are() {
        let spare = json!({ "spare": { "kind": "anthropic" }, "ours": { "kind": "anthropic" } });
        for (patch, hint) in [
            (json!({ "fallback": ["nope"] }), "startAgent was given no providers by names"),
            (json!({ "fallback": ["nope"], "providers": spare }), "startAgent's providers are: ours, spare"),
            (
                json!({ "compaction": { "provider": "nope" }, "providers": spare }),
                "startAgent's providers are: ours, spare",
            ),
        ] {
            assert_eq!(error(patch.clone()).hint.as_deref(), Some(hint), "{patch}");
        }
        let none = Config::default().must_have("none").unwrap_err();
        assert_eq!(none.hint.as_deref(), Some("startAgent was given no providers by names"));
    }

    #[test]
    fn what_is_known_follows_the_provider_the_model_and_the_pages_own_catalog() {
        let first = Config::default().patched(&json!({ "provider": { "kind": "anthropic" } })).unwrap();
        assert_eq!(first.known(None).unwrap().output, Some(128_000));
        assert_eq!(first.settings(None, String::new()).known.output, Some(128_000));
        let other = first.patched(&json!({ "model": "claude-haiku-4-5" })).unwrap();
        assert_eq!(other.known(None).unwrap().output, Some(64_000));
        assert_eq!(other.settings(None, String::new()).known.adaptive, Some(false));
        assert_eq!(first.patched(&json!({ "model": "mine" })).unwrap().known(None), None);
        assert_eq!(first.patched(&json!({ "provider": null })).unwrap().known(None), None);
        let models = json!({ "anthropic": { "mine": { "output": 100 } } });
        let own = first.patched(&json!({ "models": models, "model": "mine" })).unwrap();
        assert_eq!(own.known(None).unwrap().output, Some(100));
        assert!(own.patched(&json!({ "models": null })).unwrap().known(None).is_none());
        let named = error(json!({ "models": { "anthropic": { "mine": { "price": "3" } } } }));
        assert!(named.message.starts_with("models.anthropic.mine.price must"), "{named}");
    }

    #[test]
    fn a_fault_of_a_named_provider_is_told_by_its_name() {
        let of = |spare: Value| error(json!({ "providers": { "spare": spare } })).message.clone();
        for (spare, message) in [
            (json!("anthropic"), "providers.spare must be an object"),
            (json!({ "kind": "anthropics" }), "providers.spare.kind \"anthropics\" does not exist"),
            (
                json!({ "kind": "anthropic", "apikey": "x" }),
                "option \"providers.spare.apikey\" does not exist",
            ),
            (json!({ "kind": "anthropic", "apiKey": "" }), "providers.spare.apiKey is empty"),
            (json!({ "kind": "openai-compatible" }), "providers.spare.baseUrl is missing"),
        ] {
            assert!(of(spare).starts_with(message), "{message}");
        }
    }

    #[test]
    fn a_provider_is_not_called_like_a_key() {
        let named = |name: &str| json!({ "providers": { name: { "kind": "anthropic" } } });
        for name in ["sk-ant-0123456789", "sk-proj-abcdefghijklmnop", "https://me:word@example.com"] {
            let error = error(named(name));
            assert_eq!(error.code, Code::InvalidConfig);
            assert_eq!(error.message, "the name of a provider looks like a secret");
        }
        for name in ["spare", "anthropic", "key", "sk-ant"] {
            Config::default().patched(&named(name)).unwrap();
        }
    }

    #[test]
    fn a_bad_key_or_address_is_refused_without_being_quoted() {
        let error = error(json!({ "provider": { "kind": "anthropic", "apiKey": "sk-secret\nvalue" } }));
        assert_eq!(error.code, Code::InvalidConfig);
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        for base in [
            "nonsense",
            "ftp://x",
            "http://example.com",
            "HTTP://example.com",
            "http://127.example.com",
            "http://localhost.example.com",
            "",
        ] {
            let patch = json!({ "provider": { "kind": "anthropic", "baseUrl": base } });
            assert_eq!(Config::default().patched(&patch).unwrap_err().code, Code::InvalidConfig, "{base}");
        }
        for base in
            ["http://127.0.0.1:1", "http://localhost:4010/x", "http://[::1]:8080", "https://example.com"]
        {
            let patch = json!({ "provider": { "kind": "anthropic", "baseUrl": base } });
            assert!(Config::default().patched(&patch).unwrap().configured(), "{base}");
        }
    }

    #[test]
    fn a_providers_own_server_needs_a_key_however_it_is_written() {
        for (base, own) in [
            ("https://api.anthropic.com", true),
            ("HTTPS://API.Anthropic.com:443/", true),
            ("https://api.anthropic.com./v1", true),
            ("https://api.anthropic.com:8443", false),
            ("https://api.anthropic.com.example.com", false),
            ("https://example.com/api.anthropic.com", false),
        ] {
            let patch = json!({ "provider": { "kind": "anthropic", "baseUrl": base } });
            assert_eq!(Config::default().patched(&patch).unwrap().configured(), !own, "{base}");
            // Another kind that is sent there changes nothing.
            let other = json!({ "kind": "openai-compatible", "baseUrl": base, "model": "m" });
            let patch = json!({ "provider": other });
            assert_eq!(Config::default().patched(&patch).unwrap().configured(), !own, "{base}");
        }
        for (preset, needs) in [("groq", true), ("ollama", false)] {
            let provider = json!({ "kind": "openai-compatible", "preset": preset, "model": "m" });
            let patch = json!({ "provider": provider });
            assert_eq!(Config::default().patched(&patch).unwrap().configured(), !needs, "{preset}");
        }
    }

    #[test]
    fn the_vault_is_for_who_has_no_key() {
        let held = ["anthropic".to_string(), "openai-compatible".into(), "mine".into()];
        let vault = |provider: &Provider| match provider {
            Provider::Http(http) => http.vault.clone(),
            Provider::Custom { .. } => panic!("no model API"),
        };
        for (provider, found, named) in [
            (json!({ "kind": "anthropic" }), Some("anthropic"), Some("mine")),
            (json!({ "kind": "anthropic", "apiKey": "sk-own-key" }), None, None),
            (json!({ "kind": "anthropic", "apiKey": { "$fn": 1 } }), None, None),
            (json!({ "kind": "openai", "model": "m" }), None, Some("mine")),
            (
                json!({ "kind": "openai-compatible", "preset": "groq", "model": "m" }),
                Some("openai-compatible"),
                Some("mine"),
            ),
        ] {
            let patch = json!({ "provider": provider, "providers": { "mine": provider, "other": provider } });
            let mut config = Config::default().patched(&patch).unwrap();
            let before = config.configured();
            config.look_in_vault(&held);
            let of = |on: Option<&str>| vault(config.serving(on).unwrap());
            assert_eq!([of(None), of(Some("other"))].map(|name| name.as_deref() == found), [true, true]);
            assert_eq!(of(Some("mine")).as_deref(), named, "{provider}");
            assert_eq!(config.configured(), before || found.is_some(), "{provider}");
            config.look_in_vault(&[]);
            assert_eq!(config.configured(), before, "{provider}: a key that is gone is not taken");
        }
    }

    #[test]
    fn the_words_of_a_secret_header_are_secrets() {
        let headers = json!({ "Authorization": "Bearer tok-very-secret", "Helicone-Auth": "hel-secret-1",
            "anthropic-beta": "some-beta-2026-01-01", "x-api-key": null });
        let patch = json!({ "provider": { "kind": "anthropic", "headers": headers } });
        assert_eq!(Config::default().patched(&patch).unwrap().secrets(), ["tok-very-secret", "hel-secret-1"]);
    }

    #[test]
    fn keys_in_options_are_secrets_and_no_session_or_message_has_them() {
        let options = |name: &str, value: Value| {
            let mut server = Object::new();
            let server = server.text("url", "https://mcp.example").value(name, value).done();
            json!({ "providerOptions": { "mcp_servers": [server], "max_completion_tokens": 100, "user": "ann" } })
        };
        let text = json!("tok-very-secret");
        for name in ["authorization_token", "headers", "apiKey", "client_secret"] {
            let value = if name == "headers" { json!({ "X": text }) } else { text.clone() };
            let config = Config::default().patched(&options(name, value.clone())).unwrap();
            assert_eq!(config.secrets(), ["tok-very-secret"], "{name}");
            let error = Config::default().with(&options(name, value)).unwrap_err();
            assert!(error.message.starts_with("providerOptions of a session or a message"), "{error:?}");
        }
        let plain = options("max_tokens", text);
        assert!(Config::default().patched(&plain).unwrap().secrets().is_empty());
        Config::default().with(&plain).unwrap();
    }

    #[test]
    fn the_record_and_the_debug_text_hold_no_secret() {
        let patch = json!({ "provider": { "kind": "anthropic", "apiKey": "sk-very-secret", "headers": { "X-Token": "tok-secret" } } });
        let config = Config::default().patched(&patch).unwrap();
        assert_eq!(config.secrets(), ["sk-very-secret", "tok-secret"]);
        assert!(!config.record().to_string().contains("secret"));
        let debug = format!("{:?}", config.provider);
        assert!(!debug.contains("secret"), "{debug}");
    }

    #[test]
    fn a_patch_changes_only_what_it_names() {
        let first = Config::default().patched(&json!({ "maxTurns": 3.0, "temperature": 0.5 })).unwrap();
        let second = first.patched(&json!({ "temperature": null, "model": "m" })).unwrap();
        assert_eq!((second.max_turns, second.temperature.as_deref(), second.model(None)), (3, None, "m"));
    }
}
