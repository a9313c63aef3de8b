//! The list of a provider's models, which is also the cheapest way to try a key.
//!
//! Decides what is asked and how the answer is read. Leaves to others: where a wire has its list (the codecs), sending
//! it (`browser/`).

use super::Endpoint;
use super::errors::{in_stream, no_list};
use super::wire::Codec;
use crate::error::ErrorInfo;
use crate::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::HttpRequest;
use serde_json::Value;

/// Where a wire has its list of models.
pub(super) struct List {
    /// Below the base URL.
    pub path: &'static str,
    /// The member that is the list.
    pub list: &'static str,
    /// The member of a model that a request names it by.
    pub id: &'static str,
    /// What stands before the name there, and not in a request.
    pub before: &'static str,
    /// The member that names it for a person.
    pub name: &'static str,
}

impl List {
    /// As OpenAI has it.
    pub const DATA: List = List { path: "/models", list: "data", id: "id", before: "", name: "name" };
}

/// The path where a key is tried, if that is not the list.
fn key_path(endpoint: &Endpoint, list: bool) -> Option<&'static str> {
    endpoint.dialect.key_path.filter(|_| !list)
}

/// The request for the list; without `list`, a request that shows whether a key is good.
pub(super) fn request(of: &Codec, endpoint: &Endpoint, list: bool) -> Result<HttpRequest, ErrorInfo> {
    let url = endpoint.url(key_path(endpoint, list).unwrap_or(of.list.path), None)?;
    Ok(HttpRequest { url, headers: of.headers(endpoint), body: String::new() })
}

/// The models that the answer names, `{ id, name? }` each.
pub(super) fn read(of: &List, endpoint: &Endpoint, list: bool, body: &str) -> Result<Vec<Value>, ErrorInfo> {
    let whole = json::parse(body).unwrap_or_default();
    match whole.get(of.list) {
        Some(_) if key_path(endpoint, list).is_some() => Ok(Vec::new()),
        // Of these none can be asked for.
        Some(Value::Array(_)) if endpoint.dialect.azure.is_some() => Ok(Vec::new()),
        Some(Value::Array(models)) => Ok(models.iter().filter_map(|model| one(of, model)).list()),
        _ if whole.get("error").is_some() => Err(in_stream(body)),
        _ => Err(no_list(body)),
    }
}

fn one(of: &List, model: &Value) -> Option<Value> {
    let text = |name: &str| model.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text(of.id)?;
    let id = id.strip_prefix(of.before).unwrap_or(id);
    Some(Object::new().text("id", id).maybe_text("name", text(of.name).filter(|name| *name != id)).done())
}

#[cfg(test)]
mod tests {
    use super::super::{PRESETS, Wire};
    use super::*;
    use crate::error::Code;
    use serde_json::json;

    fn endpoint(kind: &str, preset: &str) -> (Wire, Endpoint) {
        let row = PRESETS.iter().find(|row| row.kind == kind && row.preset == preset).unwrap();
        let base_url = row.base_url.unwrap().into();
        (row.wire, Endpoint { base_url, api_version: None, dialect: row.dialect })
    }

    #[test]
    fn every_provider_is_asked_without_a_body() {
        for row in PRESETS {
            let base_url = row.base_url.unwrap_or("https://model.example/v1").to_owned();
            let endpoint = Endpoint { base_url: base_url.clone(), api_version: None, dialect: row.dialect };
            for list in [false, true] {
                let request = row.wire.ask(&endpoint, list).unwrap();
                assert_eq!((request.method(), request.body.as_str()), ("GET", ""));
                assert!(request.url.starts_with(&base_url), "{}", request.url);
                let typed = request.headers.iter().any(|(name, _)| name == "content-type");
                assert!(!typed, "a type of a body that is not there");
            }
        }
    }

    #[test]
    fn anthropic_wants_its_headers_and_is_asked_for_all() {
        let (wire, mut endpoint) = endpoint("anthropic", "");
        endpoint.api_version = Some("2024-01-01".into());
        let request = wire.ask(&endpoint, false).unwrap();
        assert_eq!(request.url, "https://api.anthropic.com/v1/models?limit=1000");
        let header = |name: &str| request.headers.iter().find(|(of, _)| of == name).map(|(_, v)| v.as_str());
        assert_eq!(header("anthropic-version"), Some("2024-01-01"));
        assert_eq!(header("anthropic-dangerous-direct-browser-access"), Some("true"));
        let body = r#"{"data":[{"type":"model","id":"claude-x","display_name":"Claude X"},{"id":""},{"id":"y"}],"has_more":false}"#;
        let models = wire.models(&endpoint, true, body).unwrap();
        assert_eq!(models, [json!({ "id": "claude-x", "name": "Claude X" }), json!({ "id": "y" })]);
    }

    #[test]
    fn googles_models_have_their_plain_names() {
        let (wire, endpoint) = endpoint("gemini", "");
        let url = "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000";
        assert_eq!(wire.ask(&endpoint, false).unwrap().url, url);
        let body = r#"{"models":[{"name":"models/gemini-x","version":"x","displayName":"Gemini X"},{"name":"tunedModels/y"}]}"#;
        let models = wire.models(&endpoint, true, body).unwrap();
        assert_eq!(
            models,
            [json!({ "id": "gemini-x", "name": "Gemini X" }), json!({ "id": "tunedModels/y" })]
        );
    }

    #[test]
    fn a_public_list_shows_nothing_of_a_key() {
        let (wire, endpoint) = endpoint("openai-compatible", "openrouter");
        assert_eq!(wire.ask(&endpoint, false).unwrap().url, "https://openrouter.ai/api/v1/key");
        assert_eq!(wire.ask(&endpoint, true).unwrap().url, "https://openrouter.ai/api/v1/models");
        assert_eq!(wire.models(&endpoint, false, r#"{"data":{"label":"mine"}}"#), Ok(Vec::new()));
        assert_eq!(wire.models(&endpoint, true, r#"{"data":{}}"#).unwrap_err().code, Code::Protocol);
    }

    #[test]
    fn azure_shows_a_good_key_and_lists_nothing_that_can_be_asked_for() {
        for (kind, path) in [
            ("openai-compatible", "/openai/models?api-version=2024-10-21"),
            ("openai-responses", "/openai/v1/models?api-version=v1"),
        ] {
            let row = PRESETS.iter().find(|row| row.kind == kind && row.preset == "azure").unwrap();
            let base_url = "https://mine.openai.azure.com/".into();
            let endpoint = Endpoint { base_url, api_version: None, dialect: row.dialect };
            for list in [false, true] {
                let url = row.wire.ask(&endpoint, list).unwrap().url;
                assert_eq!(url, ["https://mine.openai.azure.com", path].concat());
                let body = r#"{"data":[{"id":"gpt-5.4-mini-2026-03-17","capabilities":{"inference":true}}],"object":"list"}"#;
                assert_eq!(row.wire.models(&endpoint, list, body), Ok(Vec::new()));
                assert_eq!(row.wire.models(&endpoint, list, "{}").unwrap_err().code, Code::Protocol);
            }
        }
    }

    #[test]
    fn what_is_no_list_is_told() {
        let (wire, endpoint) = endpoint("openai", "");
        for (body, code, says) in [
            ("", Code::Protocol, "list of models"),
            ("[]", Code::Protocol, "list of models"),
            (r#"{"data":{}}"#, Code::Protocol, "list of models"),
            ("<!doctype html><title>Log in</title>", Code::Protocol, "Log in"),
            (r#"{"error":{"message":"no","code":"invalid_api_key"}}"#, Code::Auth, "no"),
        ] {
            let error = wire.models(&endpoint, true, body).unwrap_err();
            assert_eq!(error.code, code, "{body}");
            assert!(error.message.contains(says), "{error:?}");
        }
        assert_eq!(wire.models(&endpoint, true, r#"{"data":[]}"#), Ok(Vec::new()));
    }
}
