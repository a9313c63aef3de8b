//! A provider: where a model comes from, with its secrets.
//!
//! Decides what a page may say of a provider. Promises: a key is never quoted and never printed. Leaves to others: how
//! a provider speaks (`model/`), and sending (`browser/`).

use super::read::{Function, Given, function, given, invalid, object, optional, text, unknown, whole, word};
use crate::error::ErrorInfo;
use crate::find;
use crate::list::Listed;
use crate::model::errors::{check_header, host_of, is_loopback, join_url};
use crate::model::{Dialect, Endpoint, PRESETS, Peer, Preset, Wire};
use crate::ports::{MAX_DELAY_MS, Millis};
use crate::protocol::args::shortened;
use serde_json::{Map, Value};
use std::rc::Rc;

/// Where a model comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum Provider {
    /// A model API.
    Http(Rc<Http>),
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
    /// Under which name the vault has its key, or may have it, where the page gives none.
    pub vault: Option<String>,
    /// Whether the key goes as `authorization: Bearer`.
    pub bearer: bool,
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
    /// How long it may keep silent.
    pub timeouts: Timeouts,
}

/// How long a model may keep silent, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the head of its answer.
    pub connect: Millis,
    /// From there to the first byte.
    pub first_byte: Millis,
    /// Between two pieces.
    pub silence: Millis,
    /// For the whole run; `None`: no limit.
    pub run: Option<Millis>,
}

impl Timeouts {
    /// What holds where the page says nothing. A server on one's own machine may load a model first.
    fn of(preset: &Preset) -> Timeouts {
        let connect = if preset.needs_key { 120_000 } else { 600_000 };
        Timeouts { connect, first_byte: 120_000, silence: 120_000, run: None }
    }
}

impl Provider {
    /// What it is called in the journal and by `get_agent_settings`.
    pub fn name(&self) -> String {
        match self {
            Provider::Http(http) => http.preset.name(),
            Provider::Custom { .. } => "custom".into(),
        }
    }

    /// Whether it can be asked.
    pub fn configured(&self) -> bool {
        match self {
            Provider::Custom { .. } => true,
            Provider::Http(http) => http.key.is_some() || http.vault.is_some() || !http.needs_key(),
        }
    }

    /// Whom a conversation is written for that goes to it.
    pub fn peer(&self) -> Peer {
        match self {
            Provider::Http(http) => Peer {
                wire: http.preset.wire,
                dialect: http.preset.dialect,
                // What is somewhere else is someone else: it may not know what this one has signed.
                name: match http.elsewhere {
                    true => [&http.preset.name(), " ", &http.endpoint.base_url].concat(),
                    false => http.preset.name(),
                },
            },
            Provider::Custom { model, .. } => {
                let name = match model {
                    Some(model) => [&self.name(), " ", model].concat(),
                    None => self.name(),
                };
                Peer { wire: Wire::CUSTOM, dialect: Dialect::CUSTOM, name }
            }
        }
    }

    /// How long it may keep silent; `None`: as long as it likes.
    pub fn timeouts(&self) -> Option<Timeouts> {
        match self {
            Provider::Http(http) => Some(http.timeouts),
            Provider::Custom { .. } => None,
        }
    }

    /// The model it names itself.
    pub fn model(&self) -> Option<&str> {
        match self {
            Provider::Http(http) => http.model.as_deref(),
            Provider::Custom { model, .. } => model.as_deref(),
        }
    }

    /// This model is asked for.
    pub(super) fn ask_for(&mut self, other: &str) {
        match self {
            Provider::Http(http) => Rc::make_mut(http).model = Some(other.into()),
            Provider::Custom { model, .. } => *model = Some(other.into()),
        }
    }

    /// Some need a model that somebody names, in place of the default.
    pub(super) fn knows_its_model(&self, other: Option<&str>) -> Result<(), ErrorInfo> {
        match self {
            Provider::Http(http) if http.preset.needs_model && http.model.as_deref().or(other).is_none() => {
                Err(invalid(&format!("provider \"{}\" has no model", http.preset.name()))
                    .hint("set the provider's model to one that it offers"))
            }
            _ => Ok(()),
        }
    }

    /// Takes the vault's key where the page gives none: that of the name it has in `providers`, else of its kind. `held`:
    /// whether the vault has a key of this name, or may have it.
    pub(in crate::harness) fn look_in_vault(&mut self, name: Option<&str>, held: impl Fn(&str) -> bool) {
        let Provider::Http(http) = self else { return };
        let mut names = name.into_iter().chain([http.preset.kind]);
        let found = names.find(|name| http.key.is_none() && held(name)).map(Into::into);
        if http.vault != found {
            Rc::make_mut(http).vault = found;
        }
    }

    /// The keys that must not appear anywhere, as far as they are known: what a function gives comes later.
    pub(in crate::harness) fn secrets(&self) -> Vec<&str> {
        let mut secrets = Vec::new();
        let Provider::Http(http) = self else { return secrets };
        if let Some(Given::Text(key)) = &http.key {
            secrets.push(key.as_str());
        }
        for (name, value) in &http.headers {
            if ["auth", "key", "token", "secret", "cookie"].iter().any(|word| find::has(name, word)) {
                // `Bearer` and the like are no secret, and may be left out by who quotes the rest.
                secrets.extend(value.iter().flat_map(|value| value.split([' ', '\t'])));
            }
        }
        secrets
    }
}

impl Http {
    /// Whether it answers nobody without a key: it is at the own address of a provider that wants one, whatever its kind. What is
    /// somewhere else may have its key from someone else.
    pub fn needs_key(&self) -> bool {
        let host = host_of(&self.endpoint.base_url);
        let is_it = |row: &Preset| row.needs_key && row.base_url.is_some_and(|own| host_of(own) == host);
        PRESETS.iter().any(is_it)
    }

    /// Whether it is a server of one's own, which nobody charges for: one that needs no key, on this machine or, as nobody
    /// sells anything over plain http, near it.
    pub fn is_ones_own(&self) -> bool {
        !self.preset.needs_key && !is_https(&self.endpoint.base_url)
    }

    /// The header with this key, as it goes out: its name and its value.
    pub fn key_header(&self, key: &str) -> (&'static str, String) {
        let (name, prefix) = match self.bearer {
            true => ("authorization", "Bearer "),
            false => self.preset.wire.key_header(&self.preset.dialect),
        };
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

/// Reads a provider.
///
/// # Errors
/// `invalid_config`, naming the member.
pub(in crate::harness) fn provider(value: &Value) -> Result<Provider, ErrorInfo> {
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
        timeouts: Timeouts::of(preset),
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
            "headers" => http.headers = headers(value, &path)?,
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
                Wire::check_version(&version)?;
                http.endpoint.api_version = Some(version);
            }
            "model" => http.model = Some(text(value, &path)?),
            "timeouts" => http.timeouts = timeouts(value, &path, http.timeouts)?,
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
        if !allow_http && !is_https(base) && !is_loopback(base) {
            return Err(invalid("provider.baseUrl uses plain http, which would show the key to the network")
                .hint("use https, or set allowHttp: true"));
        }
        // The provider's own server, said once more.
        http.elsewhere = preset.base_url.is_none_or(|own| host_of(own) != host_of(base));
    }
    if let Some(Given::Text(key)) = &http.key {
        let (name, value) = http.key_header(key);
        check_header(name, &value)?;
    }
    Ok(Provider::Http(Rc::new(http)))
}

/// Reads the headers of a provider; `None` takes one of ours away.
fn headers(value: &Value, path: &str) -> Result<Vec<(String, Option<String>)>, ErrorInfo> {
    let mut headers = Vec::new();
    for (name, value) in object(value, path)? {
        let name = name.to_ascii_lowercase();
        let value = optional(value, &["provider.headers.", &name].concat(), text)?;
        let value = value.map(|value| String::from(value.trim_ascii()));
        check_header(&name, value.as_deref().unwrap_or_default())?;
        headers.push((name, value));
    }
    Ok(headers)
}

fn is_https(base: &str) -> bool {
    base.to_ascii_lowercase().starts_with("https:")
}

fn timeouts(value: &Value, path: &str, mut timeouts: Timeouts) -> Result<Timeouts, ErrorInfo> {
    for (name, value) in object(value, path)? {
        let path = [path, ".", name].concat();
        let ms = whole(value, &path, 1, MAX_DELAY_MS)?;
        match name.as_str() {
            "connectMs" => timeouts.connect = ms,
            "firstByteMs" => timeouts.first_byte = ms,
            "silenceMs" => timeouts.silence = ms,
            "runMs" => timeouts.run = Some(ms),
            _ => return Err(unknown(&path)),
        }
    }
    Ok(timeouts)
}

/// What to say of a kind or preset that does not exist.
fn no_preset(kind: &str, preset: &str) -> ErrorInfo {
    let mut words: Vec<&str> = PRESETS.iter().filter(|row| row.kind == kind).map(|row| row.preset).list();
    let (name, value) = if words.is_empty() {
        words = PRESETS.iter().map(|row| row.kind).chain(["custom"]).list();
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
        // As `fetch` would: a key that goes out otherwise than it is known would not be found again.
        Given::Text(key) => Ok(Given::Text(key.trim_ascii().into())),
        given => Ok(given),
    }
}
