//! What a provider's failure means, and what can be sent at all.
//!
//! Decides the code of an answer that is not 2xx and of an error inside a stream, and says what to do about it.
//! Promises: the provider's own words are kept, whole until [`shorten`] leaves 4 KB of them. A header value is never
//! quoted, because it may be a key. Leaves to others: taking keys out, which comes before anything is cut, and whether
//! and when to try again.

use super::Preset;
use super::json::{Members, text};
use crate::error::{Code, ErrorInfo, Provided};
use crate::find;
use crate::json;
use crate::list::Listed;
use crate::ports::Millis;
use serde_json::Value;

/// How much of a provider's words is kept, and of its names and ids, in bytes.
const MAX_MESSAGE: usize = 4096;
const MAX_NAME: usize = 100;

/// What to do where a connection or the network is gone. It is true of a run that waits and of one that has failed.
const GOES_ON: &str = "check the network; a run that waits goes on by itself, a failed one by resume()";

/// What a provider says about a failure; empty where it does not say.
#[derive(Default)]
struct Told {
    message: String,
    kind: String,
    code: String,
    request: String,
    /// A status that stands in place of a code.
    status: Option<u16>,
    /// After how long it may be asked again, in seconds: `34.5s`.
    delay: String,
}

impl Told {
    /// Reads the known shapes: `{error: {type, code, message, details}}`, `{error: "text"}`, `{message}`,
    /// `{detail}`, `{errors}`, where words may be lists of objects with words, and any of them in an array.
    fn read(body: &str) -> Option<Self> {
        let body = body.trim();
        let body = match body.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']')?,
            None => body,
        };
        let whole = Members::of(body)?;
        let error = whole.object("error");
        let mut told = Told { request: whole.text("request_id").into(), ..Told::default() };
        let inner = if error.is_empty() { &whole } else { &error };
        let names = if error.is_empty() {
            &["error", "errors", "message", "detail"][..]
        } else {
            &["message", "detail"]
        };
        for name in names {
            if told.message.is_empty() {
                told.message = words(inner.get(name).unwrap_or_default());
            }
        }
        told.kind = inner.text("type").into();
        if told.kind.is_empty() {
            // Azure says of its filter there what it is, also where its code is a number.
            told.kind = error.object("innererror").text("code").into();
        }
        if told.kind.is_empty() {
            told.kind = inner.text("status").into();
        }
        // The stable key, where there is one, says more than the type.
        told.code = error.object("details").text("error_code").into();
        if told.code.is_empty() {
            let code = inner.get("code").unwrap_or_default();
            told.code = Some(text(code)).filter(|text| !text.is_empty()).unwrap_or(code.into()).into();
        }
        told.status = told.code.parse().ok();
        let details = error.get("details").and_then(json::parse).unwrap_or_default();
        let delay = |detail: &Value| detail.get("retryDelay").and_then(Value::as_str).map(Into::into);
        told.delay = details.as_array().and_then(|all| all.iter().find_map(delay)).unwrap_or_default();
        if let Some(raw) = error.object("metadata").get("raw") {
            told.routed(raw);
        }
        Some(told)
    }

    /// Takes up what the provider has said that a router has asked, as JSON: the router's own words say nothing.
    fn routed(&mut self, raw: &str) {
        let json = text(raw);
        let json = if json.is_empty() { raw } else { &json };
        let Told { message, kind, code, .. } =
            Told::read(json).unwrap_or_else(|| Told { message: json.into(), ..Told::default() });
        if !message.is_empty() {
            self.message.push_str(": ");
            self.message.push_str(&message);
        }
        if !code.is_empty() || !kind.is_empty() {
            (self.code, self.kind) = (code, kind);
        }
    }

    /// The provider's own name of the failure.
    fn name(&self) -> Option<String> {
        // A code that is a status says less than a word.
        let worded = self.status.is_some() && !self.kind.is_empty();
        let name = if worded || self.code.is_empty() { &self.kind } else { &self.code };
        Some(name.clone()).filter(|name| !name.is_empty())
    }

    /// The code that what it says stands for.
    fn stands_for(&self) -> Option<Code> {
        let words = self.message.to_ascii_lowercase();
        let has = |any: &[&str]| any.iter().any(|text| find::has(&words, text));
        // What is spent or barred is so, also where the server calls it something else as well.
        if has(&[
            "credit balance",
            "out of credits",
            "insufficient credits",
            "insufficient balance",
            "available credits",
            "credits are depleted",
            "have any credits",
            "spending limit",
            "spend limit",
            "api usage limits",
        ]) {
            return Some(Code::Quota);
        }
        if has(&["cors requests"]) {
            return Some(Code::Permission);
        }
        // Cloudflare's words for its guardrails; its code is a number in a list.
        if has(&["blocked due to security configurations"]) {
            return Some(Code::Refused);
        }
        self.by_name().or_else(|| {
            if has(&["incorrect api key", "invalid api key", "api key not valid", "api key expired"]) {
                Some(Code::Auth)
            } else if has(&[
                "prompt is too long",
                "input is too long",
                "input token count",
                "maximum prompt length",
                "context length",
                "context limit",
                "context size",
                "context window",
            ]) {
                Some(Code::ContextLength)
            } else {
                None
            }
        })
    }

    /// The code that the provider's own names stand for.
    fn by_name(&self) -> Option<Code> {
        [&self.code, &self.kind].into_iter().find_map(|name| {
            Some(match name.as_str() {
                "insufficient_quota"
                | "billing_error"
                | "billing_not_active"
                | "billing_hard_limit_reached"
                | "blocked_api_access"
                | "enforced_spend_limit_reached"
                | "contract_spend_limit_reached"
                | "budget_exceeded" => Code::Quota,
                "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => {
                    Code::ContextLength
                }
                "authentication_error" | "invalid_api_key" | "UNAUTHENTICATED" => Code::Auth,
                "permission_error" | "PERMISSION_DENIED" => Code::Permission,
                "not_found_error" | "model_not_found" | "NOT_FOUND" => Code::NotFound,
                "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => Code::RateLimit,
                "overloaded_error" | "unavailable_error" | "UNAVAILABLE" => Code::Overloaded,
                "timeout_error" | "DEADLINE_EXCEEDED" => Code::Timeout,
                "content_filter" | "ResponsibleAIPolicyViolation" => Code::Refused,
                "api_error" | "server_error" | "internal_server_error" => Code::Server,
                _ => return None,
            })
        })
    }
}

/// The words of a member, JSON: a text, or texts in objects and lists.
fn words(member: &str) -> String {
    match text(member) {
        text if text.is_empty() => json::parse(member).map(|value| said(&value)).unwrap_or_default(),
        text => text.into(),
    }
}

/// What a value says. A server that checks by a schema gives a list of `{loc: ["body", "model"], msg}`.
fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items = items.iter().map(said).filter(|words| !words.is_empty()).list();
            find::join(&items, "; ")
        }
        Value::Object(members) => {
            let words = ["msg", "message", "detail", "error"].iter().filter_map(|name| members.get(*name));
            let words = words.map(said).find(|words| !words.is_empty()).unwrap_or_default();
            let Some(Value::Array(place)) = members.get("loc") else { return words };
            let step = |step: &Value| step.as_str().map_or_else(|| json::json(step), Into::into);
            let place = place.iter().map(step).list();
            [&find::join(&place, "."), ": ", &words].concat()
        }
        _ => String::new(),
    }
}

/// The status of an answer that is only a part of one.
pub const PARTIAL: u16 = 206;

/// The code of an HTTP status that nothing else explains.
fn by_status(status: u16) -> Code {
    match status {
        401 => Code::Auth,
        402 => Code::Quota,
        403 => Code::Permission,
        404 | 405 | 410 => Code::NotFound,
        408 | 504 => Code::Timeout,
        413 => Code::ContextLength,
        429 => Code::RateLimit,
        503 | 529 => Code::Overloaded,
        409 | 425 | 500.. => Code::Server,
        400..=499 => Code::InvalidRequest,
        _ => Code::Protocol,
    }
}

/// What to do about it.
fn hint(code: Code, message: &str) -> Option<&'static str> {
    Some(match code {
        Code::Auth => "check the API key",
        Code::Permission if find::has(message, "CORS requests must set") => {
            "do not take this header away by headers, or let your proxy add it"
        }
        Code::Permission if find::has(message, "CORS") => {
            "the provider does not let this organization call it from a browser: allow it in the provider's \
             console, or set baseUrl to a proxy of your own"
        }
        Code::Permission => "check what the API key may do, and the model",
        // Ollama's words.
        Code::NotFound if message.starts_with("model '") || find::has(message, "pulling") => {
            "pull the model on the server (`ollama pull` and its name), or check the name"
        }
        Code::NotFound => "check the model's name and the base URL",
        Code::InvalidRequest if find::has(message, "does not support tools") => {
            "choose a model that can call tools"
        }
        Code::InvalidRequest if find::has(message, "does not support thinking") => {
            "choose a model that thinks, or leave reasoning unset"
        }
        Code::InvalidRequest if find::has(message, "reasoning summar") => {
            "verify the organization in the provider's console, or set providerOptions.reasoning to {\"effort\": \"medium\"}"
        }
        Code::InvalidRequest => "check the model, its settings and providerOptions",
        Code::ContextLength if find::has(message, "currently available to the model") => {
            "set a larger num_ctx in providerOptions.options, or clear the conversation"
        }
        Code::ContextLength => "choose a model with a larger context window, or clear the conversation",
        Code::Refused => "rephrase the message, or change what the provider's content filter lets through",
        Code::RateLimit => "wait a little, then try again",
        Code::Quota => "add credit or raise the limit in the provider's console",
        Code::Server if find::has(message, "system memory") => {
            "choose a smaller model, or set a smaller num_ctx in providerOptions.options"
        }
        Code::Overloaded | Code::Server | Code::Timeout => "try again in a moment",
        Code::Protocol => "check that the base URL is a model API's",
        _ => return None,
    })
}

/// What an HTTP answer means that is not 2xx, or no whole one.
pub(super) fn http(status: u16, headers: &[(String, String)], body: &str, now: Millis) -> ErrorInfo {
    let told = Told::read(body);
    let by_status = by_status(status);
    let code = match told.as_ref().and_then(Told::stands_for) {
        // Of a server's troubles the status says more than `server_error`.
        Some(Code::Server) if matches!(by_status, Code::Overloaded | Code::Timeout) => by_status,
        Some(code) => code,
        None => by_status,
    };
    let mut told = told.unwrap_or_else(|| Told { message: excerpt(body), ..Told::default() });
    if status == PARTIAL {
        told.message = "only a part of the answer came".into();
    }
    let header =
        |name: &str| headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
    let request = if told.request.is_empty() {
        header("request-id").or_else(|| header("x-request-id")).unwrap_or_default()
    } else {
        &told.request
    };
    let provider = Provided {
        status: Some(status),
        code: told.name(),
        request: Some(request.into()).filter(|request: &String| !request.is_empty()),
        retry_after: header("retry-after-ms")
            .and_then(|ms| ms.trim().parse().ok())
            .or_else(|| retry_after(header("retry-after")?.trim(), now))
            .or_else(|| retry_after(told.delay.strip_suffix('s')?, now)),
        // What is spent is spent and what is locked is locked, also where a proxy in between asks for another try.
        retry: header("x-should-retry")
            .filter(|_| !matches!(code, Code::Quota | Code::Auth | Code::Permission))
            .and_then(|word| word.trim().parse().ok()),
        offline: false,
    };
    let words = match told.message.as_str() {
        "" => "the provider refused without a reason",
        words => words,
    };
    let mut error = info(code, [words, &end(&provider)].concat());
    error.provider = provider;
    error
}

/// How the message of an answer's failure ends: by its status and its id.
fn end(provider: &Provided) -> String {
    let mut end = String::new();
    if let Some(status) = provider.status {
        end.push_str(" (HTTP ");
        end.push_str(&status.to_string());
        if let Some(request) = &provider.request {
            end.push_str(", request ");
            end.push_str(request);
        }
        end.push(')');
    }
    end
}

/// Cuts an error to what is kept of it. Keys must be out of it: half a key would not be found again.
pub fn shorten(error: &mut ErrorInfo) {
    let whole = end(&error.provider).len();
    let Provided { code, request, .. } = &mut error.provider;
    for name in [code, request].into_iter().flatten() {
        name.truncate(cut(name, MAX_NAME).len());
    }
    let end = end(&error.provider);
    let words = error.message.len().saturating_sub(whole);
    if words > MAX_MESSAGE || whole > end.len() {
        let kept = cut(error.message.get(..words).unwrap_or_default(), MAX_MESSAGE);
        error.message = [kept, &end].concat();
    }
    if let Some(hint) = &mut error.hint {
        hint.truncate(cut(hint, MAX_MESSAGE).len());
    }
}

/// After how many milliseconds: seconds, with a fraction or not, or an HTTP date such as
/// `Wed, 21 Oct 2026 07:28:00 GMT`.
fn retry_after(text: &str, now: Millis) -> Option<u64> {
    if let Some(seconds) = json::parse(text).and_then(|number| number.as_f64()) {
        return (0.0..2_147_483.0).contains(&seconds).then_some((seconds * 1000.0) as u64);
    }
    let mut words = text.split([' ', ',', ':']).filter(|word| !word.is_empty()).skip(1);
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
    let day = number(words.next())?;
    let month = words.next()?;
    let month = find::split("JanFebMarAprMayJunJulAugSepOctNovDec", month)?.0.len() as u64 / 3 + 1;
    let (year, hour) = (number(words.next())?, number(words.next())?);
    let (minute, second) = (number(words.next())?, number(words.next())?);
    // Days since 1970 by the civil calendar, with the year beginning in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = (365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day)
        .checked_sub(719_469)?;
    let at = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
    Some(at.saturating_sub(now))
}

/// What an error inside a stream means: the whole event or chunk.
pub(super) fn in_stream(json: &str) -> ErrorInfo {
    let told = Told::read(json).unwrap_or_default();
    let code = told.stands_for().unwrap_or_else(|| match told.status {
        Some(status @ 400..=599) => by_status(status),
        _ if matches!(told.kind.as_str(), "invalid_request_error" | "INVALID_ARGUMENT")
            || matches!(told.code.as_str(), "invalid_prompt" | "invalid_request") =>
        {
            Code::InvalidRequest
        }
        _ => Code::Server,
    });
    let message = match told.message.as_str() {
        "" => "the provider broke off with an error that says nothing",
        message => message,
    };
    let mut error = info(code, message.into());
    error.provider.code = told.name();
    error
}

/// What a 2xx body means that held no event at all, by its first bytes.
pub(super) fn no_stream(head: &[u8]) -> ErrorInfo {
    let head = String::from_utf8_lossy(head);
    let body = head.trim_start_matches('\u{feff}').trim();
    if body.starts_with(['{', '[']) {
        if Members::of(body).is_some_and(|members| members.get("error").is_some()) {
            return in_stream(body);
        }
        return info(Code::Protocol, "the provider answered with JSON in place of a stream".into());
    }
    if body.starts_with('<') {
        return info(Code::Protocol, excerpt(body));
    }
    broken("the answer ended before anything came")
}

/// What a 2xx body means that was to be a list of models and is none.
pub(super) fn no_list(body: &str) -> ErrorInfo {
    match body.trim().starts_with('<') {
        true => info(Code::Protocol, excerpt(body)),
        false => protocol("the answer is no list of models"),
    }
}

/// Whether a provider has refused the key. A function may have given one that has expired.
pub fn refuses_key(error: &ErrorInfo) -> bool {
    error.code == Code::Auth && error.provider.status == Some(401)
}

/// Whether a provider cannot open what it had sealed for itself: thinking of another account, or of long ago.
pub fn is_sealed(error: &ErrorInfo) -> bool {
    error.code == Code::InvalidRequest
        && match error.provider.code.as_deref() {
            Some("invalid_encrypted_content") => true,
            Some("INVALID_ARGUMENT") => find::has(&error.message, "thought signature"),
            _ => find::has(&error.message, "`signature` in `thinking`"),
        }
}

/// An answer that sends elsewhere, to `location` where a browser tells: nobody follows with a key.
pub fn redirected(url: &str, location: Option<&str>) -> ErrorInfo {
    let mut message = String::from(url);
    message.push_str(" sends elsewhere");
    if let Some(location) = location {
        message.push_str(": ");
        message.push_str(cut(location, 500));
    }
    ErrorInfo::new(Code::Protocol, message)
        .hint("the key is not sent after it: set baseUrl to the address where the API itself answers")
}

/// What a function of the page threw: with the code it gave itself, or else as this.
pub fn thrown(error: ErrorInfo, mut told: ErrorInfo) -> ErrorInfo {
    if error.code != Code::ToolFailed {
        return error;
    }
    told.message = [&told.message, ": ", &error.message].concat();
    told
}

/// Why a model that is a function of the page gave no answer. It is asked again only where it says so, by a code: nobody
/// else knows whether it would do better the next time.
pub fn own_model_failed(error: ErrorInfo) -> ErrorInfo {
    let coded = error.code != Code::ToolFailed;
    let mut error = thrown(error, ErrorInfo::new(Code::Server, "the model's function failed"));
    error.provider.retry = error.provider.retry.or((!coded).then_some(false));
    error
}

/// A provider needs a key, and neither the configuration nor the vault has it.
pub fn no_key() -> ErrorInfo {
    ErrorInfo::new(Code::NotConfigured, "there is no key for this provider")
        .hint("give it an apiKey, or keep one in the vault by keys.set")
}

/// The page's function for `apiKey` gave no key; `threw`: what it threw instead.
pub fn key_function_failed(threw: Option<ErrorInfo>) -> ErrorInfo {
    match threw {
        Some(error) => thrown(error, ErrorInfo::new(Code::Network, "the function for apiKey failed")),
        None => ErrorInfo::new(Code::Auth, "the function for apiKey gave no key")
            .hint("let it return the key as a text"),
    }
}

/// The browser makes no request of this.
pub fn unmade(why: &str) -> ErrorInfo {
    ErrorInfo::new(Code::InvalidConfig, ["the request cannot be made: ", why].concat())
        .hint("check the provider's baseUrl and headers")
}

/// An answer has begun, and its connection is gone.
pub fn broken_off() -> ErrorInfo {
    ErrorInfo::new(Code::StreamBroken, "the connection broke off in the middle of the answer").hint(GOES_ON)
}

/// A request to this base URL has failed while the browser has no network; it is `error` where that needs none.
pub fn without_network(error: ErrorInfo, base_url: &str) -> ErrorInfo {
    if is_loopback(base_url) {
        return error;
    }
    let mut error = error.hint(GOES_ON);
    error.provider.offline = true;
    error
}

/// No answer came from this base URL; a browser does not say why.
pub fn no_answer(preset: &Preset, base_url: &str) -> ErrorInfo {
    let hint = if is_loopback(base_url) {
        "start the server there, and let it answer this page's origin (Ollama: by OLLAMA_ORIGINS); the browser may \
         have to be allowed to reach local servers"
    } else if !preset.needs_key
        || base_url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"))
    {
        "start the server there, and let it answer other machines and this page's origin (Ollama: by OLLAMA_HOST and \
         OLLAMA_ORIGINS); the browser may have to be allowed to reach the local network, and a page on https reaches \
         no other machine by plain http"
    } else if preset.bars_browsers {
        "check the connection and the provider's baseUrl; an organization may be barred from calls by browsers: allow \
         them in the provider's console, or set baseUrl to a proxy of your own"
    } else {
        "check the connection, the provider's baseUrl, and whether it answers requests from this page's origin"
    };
    ErrorInfo::new(Code::Network, "no answer came: network or CORS").hint(hint)
}

/// The host of an `https` address, in one form.
pub fn host_of(url: &str) -> String {
    let host = find::split(url, "//").map(|(_, rest)| host(rest)).unwrap_or_default();
    let name = host.strip_suffix(":443").unwrap_or(host);
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Whether an address stays on this machine.
pub fn is_loopback(url: &str) -> bool {
    let host = find::split(url, "//").map(|(_, rest)| host(rest)).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost"
        || name.ends_with(".localhost")
        || name == "::1"
        || (name.starts_with("127.") && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// An answer that ended too soon.
pub(super) fn broken(message: &str) -> ErrorInfo {
    ErrorInfo::new(Code::StreamBroken, message).hint("try again; what had come is kept")
}

/// An answer that is not what the wire's protocol says.
/// More has come than the workspace's limits allow.
pub(super) fn too_large(what: &str, limit: usize, unit: &str, option: &str) -> ErrorInfo {
    let limit = limit.to_string();
    ErrorInfo::new(Code::TooLarge, [what, " has more than ", &limit, " ", unit].concat())
        .hint(["limits.", option, " of openWorkspace allows more"].concat())
}

pub(super) fn protocol(message: &str) -> ErrorInfo {
    info(Code::Protocol, message.into())
}

fn info(code: Code, message: String) -> ErrorInfo {
    let hint = hint(code, &message);
    let mut error = ErrorInfo::new(code, message);
    error.hint = hint.map(Into::into);
    error
}

/// The words of a body that is no JSON: of a page its title.
fn excerpt(body: &str) -> String {
    let body = body.trim();
    if !body.starts_with('<') {
        return body.into();
    }
    let lower = body.to_ascii_lowercase();
    let title = find::split(&lower, "<title").and_then(|(before, rest)| {
        let (attributes, rest) = rest.split_once('>')?;
        let (title, _) = find::split(rest, "</title")?;
        let from = before.len() + "<title".len() + attributes.len() + 1;
        body.get(from..from + title.len())
    });
    let mut message = String::from("a web page came in place of an answer");
    if let Some(title) = title.map(str::trim).filter(|title| !title.is_empty()) {
        message.push_str(": ");
        message.push_str(title);
    }
    message
}

/// The beginning of a text, at most this many bytes, whole characters.
fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    (0..4).find_map(|back| text.get(..bytes.saturating_sub(back))).unwrap_or_default()
}

/// Whether a browser's `Headers` takes this name and value. The error never quotes the value.
///
/// # Errors
/// `invalid_config`, saying which header and what is wrong with it.
pub fn check_header(name: &str, value: &str) -> Result<(), ErrorInfo> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        // Not quoted: somebody may have put a key in its place.
        return Err(ErrorInfo::new(
            Code::InvalidConfig,
            "a header's name has a character that is not allowed",
        )
        .hint("use letters, digits and - in header names"));
    }
    let wrong = value.chars().find_map(|c| match c {
        '\t' | ' '..='~' | '\u{80}'..='\u{ff}' => None,
        '\n' | '\r' => Some("a line break"),
        '\0'..='\u{ff}' => Some("a control character"),
        _ => Some("a character that cannot stand in a header"),
    });
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(ErrorInfo::new(
            Code::InvalidConfig,
            ["the value of header ", name, " contains ", wrong].concat(),
        )
        .hint("copy the key or value again, without line breaks and special characters")),
    }
}

/// The address of `path` below a base URL.
///
/// # Errors
/// `invalid_config` where the base is no http(s) URL that a path can be added to. It is not quoted, because
/// it may hold a password.
pub fn join_url(base: &str, path: &str) -> Result<String, ErrorInfo> {
    let wrong = |message: &str| {
        ErrorInfo::new(Code::InvalidConfig, message)
            .hint("give a base URL such as https://api.example.com, without a query")
    };
    let scheme = base.get(..8).unwrap_or(base).to_ascii_lowercase();
    let rest = if scheme.starts_with("https://") {
        base.get(8..)
    } else if scheme.starts_with("http://") {
        base.get(7..)
    } else {
        None
    };
    let rest = rest.ok_or_else(|| wrong("the base URL does not begin with https:// or http://"))?;
    let host = host(rest);
    if host.is_empty() || host.starts_with(':') {
        return Err(wrong("the base URL names no host"));
    }
    if find::has(host, "@") {
        return Err(wrong("the base URL contains a user name or a password, which browsers refuse"));
    }
    if find::has(base, "?") || find::has(base, "#") {
        return Err(wrong("the base URL contains a query or a fragment"));
    }
    let refused = |c: char| {
        let sign = matches!(c, '\\' | '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`');
        sign || c.is_whitespace() || c.is_control()
    };
    if base.chars().any(refused) {
        return Err(wrong("the base URL contains a character that is not allowed"));
    }
    Ok([base.trim_end_matches('/'), path].concat())
}

/// The host and port at the beginning of what follows a URL's `//`.
fn host(rest: &str) -> &str {
    let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    end.and_then(|end| rest.get(..end)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn is(status: u16, body: &str, code: Code, message: &str) {
        let error = http(status, &[], body, 0);
        assert_eq!(error.code, code, "{body}");
        assert!(error.message.contains(message), "{}", error.message);
        assert!(error.message.contains(&status.to_string()), "{}", error.message);
        assert!(error.hint.is_some(), "{error:?}");
    }

    #[test]
    fn a_key_is_refused_by_a_401_that_says_so() {
        let said = |code, status| {
            let mut error = ErrorInfo::new(code, "m");
            error.provider.status = status;
            refuses_key(&error)
        };
        assert!(said(Code::Auth, Some(401)));
        assert!(!said(Code::Auth, None), "what a function threw has no status");
        assert!(!said(Code::Auth, Some(403)));
        assert!(!said(Code::Permission, Some(401)), "it was refused for something else");
    }

    #[test]
    fn anthropics_bodies() {
        for (status, kind, code) in [
            (400, "invalid_request_error", Code::InvalidRequest),
            (401, "authentication_error", Code::Auth),
            (402, "billing_error", Code::Quota),
            (403, "permission_error", Code::Permission),
            (404, "not_found_error", Code::NotFound),
            (409, "conflict_error", Code::Server),
            (413, "request_too_large", Code::ContextLength),
            (429, "rate_limit_error", Code::RateLimit),
            (500, "api_error", Code::Server),
            (504, "timeout_error", Code::Timeout),
            (529, "overloaded_error", Code::Overloaded),
            (418, "something_new", Code::InvalidRequest),
            (520, "something_new", Code::Server),
        ] {
            let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"words"}}}}"#);
            is(status, &body, code, "words");
        }
        let spend = r#"{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"req_1"}"#;
        is(429, spend, Code::Quota, "request req_1");
        let credit = "Your credit balance is too low to access the Anthropic API.";
        for (message, code) in [
            (credit, Code::Quota),
            ("prompt is too long: 208310 tokens > 200000 maximum", Code::ContextLength),
            ("input length and `max_tokens` exceed context limit: 1 + 2 > 2", Code::ContextLength),
            ("messages.1: all messages must have non-empty content", Code::InvalidRequest),
        ] {
            let body = format!(
                r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}"#
            );
            is(400, &body, code, message);
        }
    }

    #[test]
    fn a_browser_that_may_not_call_has_no_wrong_key() {
        for (status, kind) in [(401, "authentication_error"), (403, "permission_error")] {
            for (message, hint) in [
                ("CORS requests are not allowed for this Organization because of its settings.", "proxy"),
                ("CORS requests must set 'anthropic-dangerous-direct-browser-access' header", "headers"),
            ] {
                let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#);
                is(status, &body, Code::Permission, message);
                let headers = [("x-should-retry".to_string(), "true".to_string())];
                let error = http(status, &headers, &body, 0);
                assert!(error.hint.as_deref().unwrap().contains(hint) && !error.retryable(), "{error:?}");
            }
        }
    }

    #[test]
    fn what_is_spent_is_spent_whatever_it_is_called() {
        for (status, body) in [
            (
                429,
                r#"{"code":"Some resource has been exhausted","error":"Your team 1-2 has either used all available credits or reached its monthly spending limit. To continue, purchase more credits."}"#,
            ),
            (
                403,
                r#"{"code":"The caller does not have permission","error":"Your newly created team doesn't have any credits or licenses yet."}"#,
            ),
            (
                429,
                r#"{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","param":null,"code":"billing_not_active"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#,
            ),
            (
                429,
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"Your organization has reached its spend limit."}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"API access is blocked","type":"invalid_request_error","code":"blocked_api_access"}}"#,
            ),
        ] {
            is(status, body, Code::Quota, "");
            assert!(!http(status, &[], body, 0).retryable());
            assert_eq!(in_stream(body).code, Code::Quota, "{body}");
        }
        let rate = r#"{"error":{"message":"Rate limit reached for gpt-x. You can increase your rate limit by adding a payment method at https://platform.openai.com/account/billing.","code":"rate_limit_exceeded"}}"#;
        is(429, rate, Code::RateLimit, "Rate limit");
    }

    #[test]
    fn words_in_lists_and_words_of_whom_a_router_asked() {
        let extra = r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]},"type":"invalid_request_error","param":null,"code":null}"#;
        is(422, extra, Code::InvalidRequest, "body.stream_options: Extra inputs are not permitted (HTTP");
        let missing = r#"{"detail":[{"type":"missing","loc":["body","messages",0],"msg":"Field required"},{"msg":"and more"},7]}"#;
        is(422, missing, Code::InvalidRequest, "body.messages.0: Field required; and more (HTTP");
        let long = "This model's maximum prompt length is 131072 but the request contains 1041366 tokens.";
        let body = format!(r#"{{"code":"Client specified an invalid argument","error":"{long}"}}"#);
        is(400, &body, Code::ContextLength, long);

        let routed = |raw: Value| {
            let metadata = json!({ "raw": raw, "provider_name": "X" });
            json!({ "error": { "message": "Provider returned error", "code": 400, "metadata": metadata } })
                .to_string()
        };
        let theirs = json!({ "error": { "message": "too much of it", "code": "context_length_exceeded" } });
        for body in [routed(theirs.to_string().into()), routed(theirs)] {
            is(400, &body, Code::ContextLength, "Provider returned error: too much of it (HTTP");
            assert_eq!(in_stream(&body).provider.code.as_deref(), Some("context_length_exceeded"));
        }
        let plain = routed("upstream said no".into());
        is(400, &plain, Code::InvalidRequest, "Provider returned error: upstream said no (HTTP");
        assert_eq!(in_stream(&plain).code, Code::InvalidRequest);
    }

    #[test]
    fn no_answer_has_the_hint_that_fits_where_it_was_to_come_from() {
        let hint = |kind: &str, preset: &str, base_url: &str| {
            no_answer(Preset::find(kind, preset).unwrap(), base_url).hint.clone().unwrap()
        };
        for (kind, preset, base_url) in [
            ("ollama", "", "http://lan.example:11434"),
            ("openai-compatible", "lmstudio", "http://192.168.1.50:1234/v1"),
            ("openai-compatible", "", "http://192.168.1.50:8000/v1"),
            ("ollama", "", "https://ollama.example"),
        ] {
            let hint = hint(kind, preset, base_url);
            for part in ["OLLAMA_HOST", "OLLAMA_ORIGINS", "local network"] {
                assert!(hint.contains(part), "{base_url}: {hint}");
            }
        }
        let here = hint("ollama", "", "http://localhost:11434");
        assert!(here.contains("OLLAMA_ORIGINS") && here.contains("local") && !here.contains("OLLAMA_HOST"));
        assert!(hint("anthropic", "", "https://api.anthropic.com").contains("console"));
        assert!(hint("openai", "", "https://api.openai.com/v1").contains("origin"));
    }

    #[test]
    fn a_run_that_waits_for_a_network_is_told_of_nothing_to_be_done() {
        let preset = Preset::find("ollama", "").unwrap();
        let failed = |base_url| without_network(no_answer(preset, base_url), base_url);
        for error in [failed("https://ollama.example"), without_network(broken_off(), "")] {
            let hint = error.hint.clone().unwrap();
            assert!(error.provider.offline && hint.contains("goes on by itself"), "{hint}");
            assert!(!hint.contains("OLLAMA") && !hint.contains("again"), "{hint}");
        }
        let here = failed("http://localhost:11434");
        assert!(!here.provider.offline && here.hint.as_deref().unwrap().contains("start the server"));
    }

    #[test]
    fn long_words_are_cut_and_the_end_stays() {
        let long = "\u{e9}".repeat(5000);
        let headers = [("request-id".to_string(), "r".repeat(200))];
        let mut error =
            http(400, &headers, &format!(r#"{{"error":{{"message":"{long}","type":"{long}"}}}}"#), 0);
        assert!(error.message.len() > 10_000, "whole until the keys are out of it");
        shorten(&mut error);
        assert!(error.message.starts_with('\u{e9}') && error.message.len() < 4300);
        let end = ["(HTTP 400, request ", &"r".repeat(100), ")"].concat();
        assert!(error.message.ends_with(&end), "{}", error.message);
        assert_eq!(error.provider.code.as_ref().map(String::len), Some(100));
        let mut short = http(500, &[], "oops", 0);
        let before = short.clone();
        shorten(&mut short);
        assert_eq!(short, before);
    }

    #[test]
    fn ollamas_bodies() {
        for (status, words, code, hint) in [
            (404, "model 'qwen3:4b' not found", Code::NotFound, "ollama pull"),
            (404, "model \"qwen3:4b\" not found, try pulling it first", Code::NotFound, "ollama pull"),
            (
                400,
                "registry.ollama.ai/library/x:latest does not support tools",
                Code::InvalidRequest,
                "can call tools",
            ),
            (400, "\"x\" does not support thinking", Code::InvalidRequest, "reasoning"),
            (
                400,
                "the prompt is longer than the context length currently available to the model; shorten the prompt",
                Code::ContextLength,
                "num_ctx",
            ),
            (
                400,
                "input length (9 tokens) exceeds the model's maximum context length (8 tokens)",
                Code::ContextLength,
                "clear",
            ),
            (
                500,
                "model requires more system memory (5.6 GiB) than is available (3.9 GiB)",
                Code::Server,
                "num_ctx",
            ),
            (
                503,
                "server busy, please try again.  maximum pending requests exceeded",
                Code::Overloaded,
                "moment",
            ),
            (401, "unauthorized", Code::Auth, "key"),
        ] {
            let body = serde_json::json!({ "error": words }).to_string();
            is(status, &body, code, words);
            let error = http(status, &[], &body, 0);
            assert!(error.hint.as_deref().unwrap().contains(hint), "{error:?}");
        }
    }

    #[test]
    fn other_providers_bodies() {
        is(
            401,
            r#"{"error":{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            Code::Auth,
            "m",
        );
        is(
            429,
            r#"{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            Code::Quota,
            "m",
        );
        is(400, r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#, Code::ContextLength, "m");
        is(429, r#"{"error":{"message":"m","code":429}}"#, Code::RateLimit, "m");
        is(500, r#"{"error":"model runner has stopped"}"#, Code::Server, "model runner");
        is(400, r#"{"code":"Some","error":"a string"}"#, Code::InvalidRequest, "a string");
        is(
            400,
            r#"[{"error":{"code":400,"message":"in an array","status":"INVALID_ARGUMENT"}}]"#,
            Code::InvalidRequest,
            "in an array",
        );
        is(400, r#"{"code":"c","error":"Incorrect API key provided."}"#, Code::Auth, "Incorrect API key");
        is(422, r#"{"detail":"unprocessable"}"#, Code::InvalidRequest, "unprocessable");
        is(
            404,
            r#"{"object":"error","message":"no model","type":"NotFoundError","code":404}"#,
            Code::NotFound,
            "no model",
        );
    }

    #[test]
    fn azures_bodies() {
        let filtered = "The response was filtered due to the prompt triggering a content management policy.";
        let results = r#""content_filter_result":{"violence":{"filtered":true,"severity":"high"}}"#;
        let inner = format!(r#""innererror":{{"code":"ResponsibleAIPolicyViolation",{results}}}"#);
        for code in [r#""content_filter""#, r#""400""#, "null"] {
            let body = format!(
                r#"{{"error":{{"message":"{filtered}","type":null,"param":"prompt","code":{code},"status":400,{inner}}}}}"#
            );
            is(400, &body, Code::Refused, filtered);
            assert!(!http(400, &[], &body, 0).retryable());
            assert_eq!(in_stream(&body).code, Code::Refused, "{body}");
        }
        let body = format!(r#"{{"error":{{"message":"{filtered}","code":"content_filter",{inner}}}}}"#);
        assert_eq!(http(400, &[], &body, 0).provider.code.as_deref(), Some("content_filter"));
        for (status, body, code, words) in [
            (
                404,
                r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
                Code::NotFound,
                "The API deployment",
            ),
            (404, r#"{"error":{"code":"404","message":"Resource not found"}}"#, Code::NotFound, "Resource"),
            (
                401,
                r#"{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}"#,
                Code::Auth,
                "Access denied",
            ),
            (401, r#"{"statusCode":401,"message":"Unauthorized."}"#, Code::Auth, "Unauthorized."),
            (
                403,
                r#"{"error":{"code":"AuthenticationTypeDisabled","message":"Key based authentication is disabled."}}"#,
                Code::Permission,
                "Key based",
            ),
            (
                429,
                r#"{"error":{"code":"429","message":"Requests have exceeded the token rate limit. Retry after 6 seconds."}}"#,
                Code::RateLimit,
                "token rate limit",
            ),
            (
                400,
                r#"{"error":{"code":"BadRequest","message":"API version not supported"}}"#,
                Code::InvalidRequest,
                "API version",
            ),
        ] {
            is(status, body, code, words);
        }
    }

    #[test]
    fn gateways_bodies() {
        for (status, body, code, words) in [
            // Cloudflare's, where a key is missing and where a guardrail holds.
            (
                401,
                r#"{"success":false,"result":[],"messages":[],"error":[{"code":2009,"message":"Unauthorized"}]}"#,
                Code::Auth,
                "Unauthorized",
            ),
            (
                401,
                r#"{"result":null,"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[]}"#,
                Code::Auth,
                "Authentication error",
            ),
            (
                424,
                r#"{"success":false,"error":[{"code":2016,"message":"Prompt blocked due to security configurations"}]}"#,
                Code::Refused,
                "Prompt blocked",
            ),
            // LiteLLM's, whose code is the status as a text.
            (
                429,
                r#"{"error":{"message":"Budget has been exceeded!","type":"budget_exceeded","param":null,"code":"429"}}"#,
                Code::Quota,
                "Budget",
            ),
            (
                429,
                r#"{"error":{"message":"litellm.RateLimitError: slow","type":"throttling_error","param":null,"code":"429"}}"#,
                Code::RateLimit,
                "slow",
            ),
            (
                401,
                r#"{"error":{"message":"no such key","type":"token_not_found_in_db","param":"key","code":"401"}}"#,
                Code::Auth,
                "no such key",
            ),
            (
                403,
                r#"{"error":{"message":"not this model","type":"key_model_access_denied","param":"model","code":"403"}}"#,
                Code::Permission,
                "not this model",
            ),
            // Vercel's.
            (
                404,
                r#"{"error":{"message":"no such model","type":"model_not_found","param":{"modelId":"x"}},"generationId":"g"}"#,
                Code::NotFound,
                "no such model",
            ),
            (
                429,
                r#"{"error":{"message":"the free tier","type":"rate_limit_exceeded","param":null}}"#,
                Code::RateLimit,
                "free tier",
            ),
            (
                401,
                r#"{"error":{"message":"Invalid API key","type":"authentication_error"}}"#,
                Code::Auth,
                "Invalid API key",
            ),
        ] {
            is(status, body, code, words);
        }
    }

    #[test]
    fn googles_bodies() {
        let body = |code: u16, message: &str, status: &str, more: &str| {
            format!(r#"{{"error":{{"code":{code},"message":"{message}","status":"{status}"{more}}}}}"#)
        };
        let wait =
            r#","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"retryDelay":"34.5s"}]"#;
        for (status, message, name, code) in [
            (400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", Code::Auth),
            (400, "API key expired. Please renew the API key.", "INVALID_ARGUMENT", Code::Auth),
            (400, "The input token count (9) exceeds the maximum", "INVALID_ARGUMENT", Code::ContextLength),
            (400, "Request contains an invalid argument.", "INVALID_ARGUMENT", Code::InvalidRequest),
            (429, "Your prepayment credits are depleted.", "RESOURCE_EXHAUSTED", Code::Quota),
            (429, "You exceeded your current quota.", "RESOURCE_EXHAUSTED", Code::RateLimit),
            (504, "Deadline expired", "DEADLINE_EXCEEDED", Code::Timeout),
        ] {
            is(status, &body(status, message, name, ""), code, message);
            let told = &http(status, &[], &body(status, message, name, wait), 0).provider;
            assert_eq!((told.code.as_deref(), told.retry_after), (Some(name), Some(34_500)));
            let inside = in_stream(&body(status, message, name, ""));
            assert_eq!((inside.code, inside.provider.code.as_deref()), (code, Some(name)));
        }
        for nonsense in [r#","details":7"#, r#","details":[7,{"retryDelay":5},{"retryDelay":"soon"}]"#] {
            assert_eq!(http(429, &[], &body(429, "m", "x", nonsense), 0).provider.retry_after, None);
        }
        let sealed =
            |message: &str| is_sealed(&http(400, &[], &body(400, message, "INVALID_ARGUMENT", ""), 0));
        assert!(sealed("Corrupted thought signature."));
        assert!(!sealed("Function call is missing a thought_signature in functionCall parts."));
    }

    #[test]
    fn bodies_that_are_no_json() {
        is(
            502,
            "<html><head><TITLE>502 Bad\n Gateway</TITLE></head>",
            Code::Server,
            "web page came in place of an answer: 502 Bad",
        );
        is(404, "<!DOCTYPE html><p>x", Code::NotFound, "web page");
        is(302, "", Code::Protocol, "without a reason");
        is(503, "upstream connect error", Code::Overloaded, "upstream connect error");
        is(503, r#"{"error":{"message":"busy","type":"server_error"}}"#, Code::Overloaded, "busy");
        is(500, r#"{"error":{"message":"busy","type":"server_error"}}"#, Code::Server, "busy");
        is(400, r#"{"error":{"message":"cut in the mi"#, Code::InvalidRequest, "cut in the mi");
        is(500, "null", Code::Server, "null");
        let headers = [("Request-Id".to_string(), "req_7".to_string())];
        assert!(http(500, &headers, "x", 0).message.ends_with("(HTTP 500, request req_7)"));
    }

    #[test]
    fn what_a_provider_says_besides() {
        let provided = |headers: &[(&str, &str)], body: &str| {
            let headers: Vec<_> =
                headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            // Sat, 21 Nov 2026 10:00:00 GMT
            http(429, &headers, body, 1_795_255_200_000)
        };
        let wait = |headers: &[(&str, &str)]| provided(headers, "x").provider.retry_after;
        assert_eq!(wait(&[]), None);
        assert_eq!(wait(&[("retry-after", "2")]), Some(2000));
        assert_eq!(wait(&[("Retry-After", "0.25")]), Some(250));
        assert_eq!(wait(&[("retry-after", "2"), ("retry-after-ms", "70")]), Some(70));
        assert_eq!(wait(&[("retry-after", "Sat, 21 Nov 2026 10:00:30 GMT")]), Some(30_000));
        assert_eq!(wait(&[("retry-after", "Mon, 01 Mar 2027 00:00:00 GMT")]), Some(8_604_000_000));
        assert_eq!(wait(&[("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT")]), Some(0));
        for nonsense in ["-1", "soon", "1e300", "", "Sat, 21 Nov"] {
            assert_eq!(wait(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        let body = r#"{"error":{"type":"rate_limit_error","message":"m"},"request_id":"req_1"}"#;
        let error = provided(&[("x-should-retry", "false")], body);
        assert_eq!(error.code, Code::RateLimit);
        assert!(!error.retryable());
        let Provided { status, code, request, .. } = &error.provider;
        assert_eq!(
            (*status, code.as_deref(), request.as_deref()),
            (Some(429), Some("rate_limit_error"), Some("req_1"))
        );
        let quota = r#"{"error":{"code":"insufficient_quota","message":"m"}}"#;
        assert!(!provided(&[("x-should-retry", "true")], quota).retryable());
    }

    #[test]
    fn errors_inside_a_stream() {
        for (json, code, message) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Code::Overloaded,
                "Overloaded",
            ),
            (r#"{"error":{"message":"m","code":502}}"#, Code::Server, "m"),
            (r#"{"error":{"message":"m","code":"429"}}"#, Code::RateLimit, "m"),
            (r#"{"error":"plain"}"#, Code::Server, "plain"),
            (r#"{"error":{"type":"invalid_request_error","message":"m"}}"#, Code::InvalidRequest, "m"),
            (r#"{"error":{}}"#, Code::Server, "says nothing"),
        ] {
            let error = in_stream(json);
            assert_eq!(error.code, code, "{json}");
            assert!(error.message.contains(message), "{error:?}");
        }
    }

    #[test]
    fn a_model_of_the_page_is_asked_again_only_where_it_says_so() {
        let failed = |error: &ErrorInfo| {
            let told = own_model_failed(error.clone());
            (told.code, told.message.clone(), told.retryable())
        };
        let uncoded = ErrorInfo::new(Code::ToolFailed, "out of memory");
        assert_eq!(
            failed(&uncoded),
            (Code::Server, "the model's function failed: out of memory".into(), false)
        );
        let coded = ErrorInfo::new(Code::RateLimit, "slower");
        assert_eq!(failed(&coded), (Code::RateLimit, "slower".into(), true));
        let mut hopeless = coded;
        hopeless.provider.retry = Some(false);
        assert!(!failed(&hopeless).2, "its own word counts");
    }

    #[test]
    fn bodies_that_are_no_stream() {
        for (head, code) in [
            (&b""[..], Code::StreamBroken),
            (b"event: message_start\ndata: {", Code::StreamBroken),
            (b"\xEF\xBB\xBF<!doctype html><title>App</title>", Code::Protocol),
            (b"{\"id\":\"msg_1\",\"content\":[]}", Code::Protocol),
            (b"{\"error\":{\"type\":\"overloaded_error\"}}", Code::Overloaded),
            (b"{\"cut", Code::Protocol),
        ] {
            assert_eq!(no_stream(head).code, code, "{head:?}");
        }
    }

    #[test]
    fn headers_that_a_browser_would_refuse() {
        assert!(check_header("x-api-key", "sk-ant \t\u{e9}").is_ok());
        assert!(check_header("x-empty", "").is_ok());
        for value in
            ["sk-secret\n", "sk-secret\r\nx: y", "sk-secret\0", "sk-secret\u{7f}", "sk-secret\u{2028}"]
        {
            let error = check_header("x-api-key", value).unwrap_err();
            assert_eq!(error.code, Code::InvalidConfig);
            assert!(
                error.message.contains("x-api-key") && !format!("{error:?}").contains("secret"),
                "{error:?}"
            );
        }
        for name in ["", "a b", "a:", "\u{e9}", "sk-secret\n"] {
            let error = check_header(name, "v").unwrap_err();
            assert!(error.code == Code::InvalidConfig && !format!("{error:?}").contains("secret"));
        }
    }

    #[test]
    fn base_urls() {
        for (base, url) in [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            ("HTTP://localhost:8080/", "HTTP://localhost:8080/v1/messages"),
            ("https://x.example/proxy//", "https://x.example/proxy/v1/messages"),
        ] {
            assert_eq!(join_url(base, "/v1/messages").unwrap(), url);
        }
        for base in [
            "",
            "api.anthropic.com",
            "/proxy",
            "ftp://x",
            "https://",
            "https:///x",
            "https://:80",
            "http://a b",
            "https://user:secret@x",
            "https://x?secret",
            "https://x/#secret",
            "https://x/\n",
            "javascript:secret",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            let error = join_url(base, "/v1").unwrap_err();
            assert!(error.code == Code::InvalidConfig && !format!("{error:?}").contains("secret"), "{base}");
        }
    }
}
