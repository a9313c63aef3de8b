//! `AgentConfig`: what the page configures.
//!
//! Decides which members exist and what they may be; an unknown one, or one of a later version, is refused by
//! name. Promises: secrets stay in [`Config`] and never enter its [`record`](Config::record).

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json::json;
use crate::model::errors::{check_header, is_loopback, join_url};
use crate::model::{Dialect, Endpoint, PRESETS, Peer, Preset, Reasoning, Settings, Wire};
use crate::object::Object;
use crate::prompt::{self, Skill};
use crate::tools::Verdict;
use crate::tools::policy::PROCESS_TYPES;
use serde_json::{Map, Value};

/// The model where nobody names one.
pub const DEFAULT_MODEL: &str = "claude-sonnet-4-6";

/// The shortest text that is taken for a secret: a shorter one would be found everywhere.
pub(super) const SECRET_BYTES: usize = 8;

/// A function of the page, by the number its client gave it.
pub type Function = u32;

/// A value that the page gives at once, or by a function when it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// At once.
    Text(String),
    /// When it is needed.
    Ask(Function),
}

/// Where a model comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum Provider {
    /// A model API.
    Http(Box<Http>),
    /// A function of the page that streams chat chunks.
    Custom {
        /// The function.
        stream: Function,
        /// Its model's name.
        model: Option<String>,
    },
}

/// A model API, with its secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Http {
    /// What is known of it.
    pub preset: &'static Preset,
    /// The key.
    pub key: Option<Given>,
    /// Whether the key goes as `authorization: Bearer`.
    pub bearer: bool,
    /// Under which name the vault has its key, or may have it, where the page gives none.
    pub vault: Option<String>,
    /// The page's own headers; `None` takes one of ours away.
    pub headers: Vec<(String, Option<String>)>,
    /// `fetch`'s `credentials`.
    pub credentials: Option<String>,
    /// The page's own `fetch`.
    pub fetch: Option<Function>,
    /// Where it is.
    pub endpoint: Endpoint,
    /// The page has named another address than the preset's.
    pub elsewhere: bool,
    /// The model this provider is asked for, before the configuration's.
    pub model: Option<String>,
}

impl Provider {
    fn name(&self) -> String {
        match self {
            Provider::Http(http) => http.preset.name(),
            Provider::Custom { .. } => "custom".into(),
        }
    }
}

impl Http {
    /// Takes the vault's key, where the page gives none and the vault may have it; `held`: whether it has this name.
    pub(super) fn look_in_vault(&mut self, held: impl Fn(&str) -> bool) {
        let name = self.preset.kind;
        self.vault = (self.key.is_none() && held(name)).then(|| name.into());
    }

    /// The keys that must not appear anywhere, as far as they are known: what a function gives comes later.
    pub(super) fn secrets(&self) -> Vec<&str> {
        let mut secrets = Vec::new();
        if let Some(Given::Text(key)) = &self.key {
            secrets.push(key.as_str());
        }
        for (name, value) in &self.headers {
            if ["auth", "key", "token", "secret", "cookie"].iter().any(|word| find::has(name, word)) {
                // `Bearer` and the like are no secret, and may be left out by who quotes the rest.
                secrets.extend(value.iter().flat_map(|value| value.split(' ')));
            }
        }
        secrets.retain(|secret| secret.len() >= SECRET_BYTES);
        secrets
    }

    /// Whether it answers nobody without a key. What is somewhere else may have its key from someone else.
    pub fn needs_key(&self) -> bool {
        self.preset.needs_key && !self.elsewhere
    }

    /// A header with this key, as it goes out: its name and its value.
    pub fn key_header(&self, key: &str) -> (&'static str, String) {
        let (name, prefix) =
            if self.bearer { ("authorization", "Bearer ") } else { self.preset.wire.key_header() };
        (name, [prefix, key].concat())
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.preset.name())
    }
}

/// What to do when a harness runs already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfRunning {
    /// Refuse.
    #[default]
    Reject,
    /// Here already is fine.
    Join,
}

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where the model comes from; `None`: the stub.
    pub provider: Option<Provider>,
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
    /// How many model calls a run may make.
    pub max_turns: u64,
    /// How long a tool may take, in milliseconds.
    pub tool_timeout_ms: u64,
    /// What is held; `None`: everything.
    pub capabilities: Option<Vec<String>>,
    /// The process type.
    pub process_type: Option<String>,
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
    /// Whether runs that a lost page left go on of themselves.
    pub resume_auto: bool,
    /// What to do when a harness runs already.
    pub if_running: IfRunning,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            provider: None,
            model: None,
            instructions: None,
            max_output_tokens: None,
            temperature: None,
            reasoning: None,
            provider_options: None,
            max_turns: crate::session::DEFAULT_MAX_TURNS,
            tool_timeout_ms: 60_000,
            capabilities: None,
            process_type: None,
            permissions: None,
            decide: None,
            question_ms: None,
            max_parallel: None,
            skills: Vec::new(),
            resume_auto: false,
            if_running: IfRunning::Reject,
        }
    }
}

impl Config {
    /// Takes over the members of a patch. A member that is `null` goes back to its default.
    pub fn patched(&self, patch: &Value) -> Result<Config, ErrorInfo> {
        let members = object(patch, "the configuration")?;
        let mut config = self.clone();
        let plain = Config::default();
        for (name, value) in members {
            let null = value.is_null();
            match name.as_str() {
                "provider" => config.provider = optional(value, name, |value, _| provider(value))?,
                "model" => config.model = optional(value, name, text)?,
                "instructions" => config.instructions = optional(value, name, given)?,
                "maxOutputTokens" => {
                    let tokens = optional(value, name, |v, n| whole(v, n, 1, u32::MAX.into()))?;
                    config.max_output_tokens = tokens.and_then(|tokens| u32::try_from(tokens).ok());
                }
                "temperature" => config.temperature = optional(value, name, number)?,
                "reasoning" => config.reasoning = optional(value, name, reasoning)?,
                "providerOptions" => {
                    config.provider_options = optional(value, name, |v, n| object(v, n).map(|_| json(v)))?;
                }
                "maxTurns" => {
                    config.max_turns =
                        optional(value, name, |v, n| whole(v, n, 1, 10_000))?.unwrap_or(plain.max_turns);
                }
                "toolTimeoutMs" => {
                    config.tool_timeout_ms = optional(value, name, |v, n| whole(v, n, 1, 86_400_000))?
                        .unwrap_or(plain.tool_timeout_ms);
                }
                "resume" => config.resume_auto = word(value, name, &["hold", "auto"])? == 1,
                "ifRunning" => {
                    config.if_running = match word(value, name, &["reject", "join"])? {
                        1 => IfRunning::Join,
                        _ => IfRunning::Reject,
                    };
                }
                "capabilities" => config.capabilities = optional(value, name, texts)?,
                "processType" => {
                    let process = optional(value, name, |v, n| word(v, n, &PROCESS_TYPES))?;
                    let process = process.and_then(|at| PROCESS_TYPES.get(at));
                    config.process_type = process.map(|process| (*process).into());
                }
                "permissions" => config.take_permissions(value)?,
                "maxParallelTools" => {
                    config.max_parallel = optional(value, name, |v, n| whole(v, n, 1, 1_000))?;
                }
                "skills" => config.skills = if null { Vec::new() } else { Skill::all(value)? },
                "providers" | "fallback" | "budgets" | "models" => return Err(later(name)),
                _ => return Err(unknown(name)),
            }
        }
        Ok(config)
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
        self.process_type.as_deref() == Some("Orchestrator")
    }

    /// Whether there is a provider that can be asked.
    pub fn configured(&self) -> bool {
        match &self.provider {
            None => false,
            Some(Provider::Custom { .. }) => true,
            Some(Provider::Http(http)) => http.key.is_some() || http.vault.is_some() || !http.needs_key(),
        }
    }

    /// Whom a conversation is written for.
    pub fn peer(&self) -> Peer {
        match &self.provider {
            Some(Provider::Http(http)) => Peer {
                wire: http.preset.wire,
                dialect: http.preset.dialect,
                // What is somewhere else is someone else: it may not know what this one has signed.
                name: match http.elsewhere {
                    true => [&http.preset.name(), " ", &http.endpoint.base_url].concat(),
                    false => http.preset.name(),
                },
            },
            _ => Peer { wire: Wire::OpenAiChat, dialect: Dialect::CHAT, name: "custom".into() },
        }
    }

    /// The model's id.
    pub fn model(&self) -> &str {
        let own = match &self.provider {
            Some(Provider::Http(http)) => http.model.as_deref(),
            Some(Provider::Custom { model, .. }) => model.as_deref(),
            None => None,
        };
        own.or(self.model.as_deref()).unwrap_or(DEFAULT_MODEL)
    }

    /// What a request says besides the conversation.
    pub fn settings(&self, system: String) -> Settings {
        Settings {
            model: self.model().into(),
            system,
            max_output_tokens: self.max_output_tokens,
            temperature: self.temperature.clone(),
            reasoning: self.reasoning,
            provider_options: self.provider_options.clone(),
        }
    }

    /// The keys that must not appear anywhere.
    pub fn secrets(&self) -> Vec<&str> {
        match &self.provider {
            Some(Provider::Http(http)) => http.secrets(),
            _ => Vec::new(),
        }
    }

    /// Lets the provider take the vault's key if it has none of its own.
    pub(super) fn look_in_vault(&mut self, names: &[String]) {
        if let Some(Provider::Http(http)) = &mut self.provider {
            http.look_in_vault(|name| names.iter().any(|held| held == name));
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
            .text("model", self.model())
            .maybe_text("instructions", instructions)
            .maybe("maxOutputTokens", self.max_output_tokens.map(Value::from))
            .maybe_text("temperature", self.temperature.as_deref())
            .maybe_text("reasoning", self.reasoning.and_then(|level| REASONING.get(level as usize)).copied())
            .maybe_text("providerOptions", self.provider_options.as_deref())
            .number("maxTurns", self.max_turns)
            .maybe("capabilities", self.capabilities.as_deref().map(Value::from))
            .maybe_text("processType", self.process_type.as_deref())
            .maybe("permissions", self.permissions.clone())
            .maybe("maxParallelTools", self.max_parallel.map(Value::from))
            .maybe("skills", prompt::record(&self.skills))
            .done()
    }

    /// `get_agent_settings`; `api_key_configured` is false where the stub would answer.
    pub fn public(&self) -> Value {
        Object::new()
            .flag("api_key_configured", self.configured())
            .value("provider", self.provider.as_ref().map(Provider::name).into())
            .text("model", self.model())
            .done()
    }
}

pub(super) fn provider(value: &Value) -> Result<Provider, ErrorInfo> {
    let members = object(value, "provider")?;
    let named = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, preset) = (named("kind"), named("preset"));
    if kind == "custom" {
        return custom(members);
    }
    let Some(preset) = Preset::find(kind, preset) else { return Err(no_preset(kind, preset)) };
    let mut http = Http {
        preset,
        key: None,
        vault: None,
        bearer: false,
        headers: Vec::new(),
        credentials: None,
        fetch: None,
        endpoint: Endpoint {
            base_url: preset.base_url.unwrap_or_default().into(),
            api_version: None,
            dialect: preset.dialect,
        },
        elsewhere: false,
        model: None,
    };
    let mut allow_http = false;
    for (name, value) in members {
        let path = ["provider.", name].concat();
        if value.is_null() {
            continue;
        }
        match name.as_str() {
            "kind" | "preset" => {}
            "apiKey" => http.key = Some(key(value)?),
            "auth" => http.bearer = word(value, &path, &["bearer"])? == 0,
            "headers" => {
                for (name, value) in object(value, &path)? {
                    let name = name.to_ascii_lowercase();
                    let value = optional(value, &["provider.headers.", &name].concat(), text)?;
                    check_header(&name, value.as_deref().unwrap_or_default())?;
                    http.headers.push((name, value));
                }
            }
            "credentials" => {
                word(value, &path, &["omit", "same-origin", "include"])?;
                http.credentials = value.as_str().map(Into::into);
            }
            "fetch" => http.fetch = Some(function(value, &path)?),
            "baseUrl" => (http.endpoint.base_url, http.elsewhere) = (text(value, &path)?, true),
            "allowHttp" => {
                allow_http =
                    value.as_bool().ok_or_else(|| invalid("provider.allowHttp must be true or false"))?
            }
            "apiVersion" => {
                let version = text(value, &path)?;
                check_header("anthropic-version", &version)?;
                http.endpoint.api_version = Some(version);
            }
            "model" => http.model = Some(text(value, &path)?),
            "timeouts" => return Err(later(&path)),
            _ => return Err(unknown(&path)),
        }
    }
    if preset.base_url.is_none() && !http.elsewhere {
        return Err(invalid("provider.baseUrl is missing: the address of the server's API")
            .hint("set baseUrl, or a preset that knows the address"));
    }
    let base = &http.endpoint.base_url;
    if http.elsewhere {
        join_url(base, "")?;
        if !allow_http && !base.to_ascii_lowercase().starts_with("https:") && !is_loopback(base) {
            return Err(invalid("provider.baseUrl uses plain http, which would show the key to the network")
                .hint("use https, or set allowHttp: true"));
        }
    }
    if let Some(Given::Text(key)) = &http.key {
        let (name, value) = http.key_header(key);
        check_header(name, &value)?;
    }
    Ok(Provider::Http(Box::new(http)))
}

/// What to say of a kind or preset that does not exist.
fn no_preset(kind: &str, preset: &str) -> ErrorInfo {
    let mut words: Vec<&str> = PRESETS.iter().filter(|row| row.kind == kind).map(|row| row.preset).collect();
    let (name, value) = if words.is_empty() {
        words = PRESETS.iter().map(|row| row.kind).chain(["custom"]).collect();
        words.dedup();
        ("provider.kind", kind)
    } else {
        words.retain(|word| !word.is_empty());
        ("provider.preset", preset)
    };
    let hint = if words.is_empty() {
        "leave preset out".into()
    } else {
        ["use one of \"", &find::join(&words, "\", \""), "\""].concat()
    };
    invalid(&format!("{name} \"{}\" does not exist", shortened(value))).hint(hint)
}

fn custom(members: &Map<String, Value>) -> Result<Provider, ErrorInfo> {
    let mut stream = None;
    let mut model = None;
    for (name, value) in members {
        let path = ["provider.", name].concat();
        match name.as_str() {
            "kind" => {}
            "stream" => stream = Some(function(value, &path)?),
            "model" => model = optional(value, &path, text)?,
            // `lodger/testing` keeps what it was asked; it is no option.
            "requests" => {}
            _ => return Err(unknown(&path)),
        }
    }
    match stream {
        Some(stream) => Ok(Provider::Custom { stream, model }),
        None => Err(invalid("provider.stream must be a function that returns an async iterable")),
    }
}

fn key(value: &Value) -> Result<Given, ErrorInfo> {
    match given(value, "provider.apiKey")? {
        Given::Text(key) if key.trim().is_empty() => {
            Err(invalid("provider.apiKey is empty").hint("leave apiKey out to use the agent without a model"))
        }
        given => Ok(given),
    }
}

/// The number of a function that crossed from the page.
pub(crate) fn function(value: &Value, name: &str) -> Result<Function, ErrorInfo> {
    let number = value.get("$fn").and_then(Value::as_u64).and_then(|number| Function::try_from(number).ok());
    number.ok_or_else(|| invalid(&format!("{name} must be a function")))
}

fn given(value: &Value, name: &str) -> Result<Given, ErrorInfo> {
    match value {
        Value::String(text) => Ok(Given::Text(text.clone())),
        _ => function(value, name)
            .map(Given::Ask)
            .map_err(|_| invalid(&format!("{name} must be a text or a function that gives one"))),
    }
}

fn object<'a>(value: &'a Value, name: &str) -> Result<&'a Map<String, Value>, ErrorInfo> {
    value.as_object().ok_or_else(|| invalid(&format!("{name} must be an object")))
}

fn text(value: &Value, name: &str) -> Result<String, ErrorInfo> {
    value.as_str().map(Into::into).ok_or_else(|| invalid(&format!("{name} must be a text")))
}

fn texts(value: &Value, name: &str) -> Result<Vec<String>, ErrorInfo> {
    let items = value.as_array().ok_or_else(|| invalid(&format!("{name} must be a list of texts")))?;
    items.iter().map(|item| text(item, name)).collect()
}

fn number(value: &Value, name: &str) -> Result<String, ErrorInfo> {
    if value.is_number() { Ok(json(value)) } else { Err(invalid(&format!("{name} must be a number"))) }
}

fn whole(value: &Value, name: &str, least: u64, most: u64) -> Result<u64, ErrorInfo> {
    // A JS number may arrive as 20 or as 20.0.
    let number = value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
    });
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| invalid(&format!("{name} must be a whole number from {least} to {most}")))
}

fn word(value: &Value, name: &str, words: &[&str]) -> Result<usize, ErrorInfo> {
    let found = value.as_str().and_then(|text| words.iter().position(|word| *word == text));
    found.ok_or_else(|| invalid(&format!("{name} must be one of \"{}\"", find::join(words, "\", \""))))
}

/// The longest delay that a browser's timer takes, in milliseconds.
const MAX_DELAY_MS: u64 = i32::MAX as u64;

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

fn optional<T>(
    value: &Value,
    name: &str,
    read: impl FnOnce(&Value, &str) -> Result<T, ErrorInfo>,
) -> Result<Option<T>, ErrorInfo> {
    if value.is_null() { Ok(None) } else { read(value, name).map(Some) }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

fn invalid(message: &str) -> ErrorInfo {
    ErrorInfo::new(Code::InvalidConfig, message)
}

fn later(name: &str) -> ErrorInfo {
    invalid(&format!("option \"{name}\" comes with a later version of lodger")).hint("leave it out")
}

fn unknown(name: &str) -> ErrorInfo {
    invalid(&format!("option \"{}\" does not exist", shortened(name))).hint("see AgentConfig in index.d.ts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(patch: Value) -> ErrorInfo {
        Config::default().patched(&patch).unwrap_err()
    }

    #[test]
    fn what_is_not_named_keeps_its_default() {
        let config = Config::default().patched(&json!({})).unwrap();
        assert_eq!(config, Config::default());
        assert_eq!((config.model(), config.max_turns), ("claude-sonnet-4-6", 20));
        assert!(!config.configured());
    }

    #[test]
    fn an_unknown_or_later_option_is_refused_by_name() {
        for (patch, name) in [
            (json!({ "maxTurn": 3 }), "maxTurn"),
            (json!({ "budgets": {} }), "budgets"),
            (json!({ "provider": { "kind": "anthropic", "timeouts": {} } }), "provider.timeouts"),
            (json!({ "provider": { "kind": "anthropic", "key": "x" } }), "provider.key"),
            (json!({ "provider": { "kind": "anthropic", "preset": "groq" } }), "groq"),
            (json!({ "provider": { "kind": "openai-compatible" } }), "baseUrl"),
            (json!({ "provider": { "kind": "llama" } }), "llama"),
            (json!({ "maxTurns": "3" }), "maxTurns"),
            (json!({ "ifRunning": "takeover" }), "ifRunning"),
        ] {
            let error = error(patch);
            assert_eq!(error.code, Code::InvalidConfig);
            assert!(error.message.contains(name), "{error}");
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
    fn the_vault_is_for_who_has_no_key() {
        let held = ["anthropic".to_string(), "openai-compatible".into()];
        for (provider, vault) in [
            (json!({ "kind": "anthropic" }), Some("anthropic")),
            (json!({ "kind": "anthropic", "apiKey": "sk-own-key" }), None),
            (json!({ "kind": "anthropic", "apiKey": { "$fn": 1 } }), None),
            (json!({ "kind": "openai" }), None),
            (json!({ "kind": "openai-compatible", "preset": "groq" }), Some("openai-compatible")),
        ] {
            let mut config = Config::default().patched(&json!({ "provider": provider })).unwrap();
            let before = config.configured();
            config.look_in_vault(&held);
            let Some(Provider::Http(http)) = &config.provider else { panic!("no model API") };
            assert_eq!(http.vault.as_deref(), vault, "{provider}");
            assert_eq!(config.configured(), before || vault.is_some(), "{provider}");
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
        assert_eq!((second.max_turns, second.temperature.as_deref(), second.model()), (3, None, "m"));
    }
}
