//! Azure, and the gateways that are reached by `baseUrl`: the address, the headers, a failure and a stream of each, in the
//! shapes that each documents.

use crate::support::calm::*;
use crate::support::sim::World;
use lodger::error::Code;
use lodger::model::{Block, Decoder, StopReason};
use serde_json::{Value, json};

/// What a server is to be asked, and how it answers.
struct Case {
    provider: Value,
    url: &'static str,
    /// The headers as they go out, but for the content type.
    headers: &'static [(&'static str, &'static str)],
    /// A failure: its status, its body, and what it means.
    failure: (u16, &'static str, Code),
    /// A streamed answer.
    stream: String,
    /// What it says: thinking first, if there is any.
    says: &'static [&'static str],
    stop: StopReason,
    /// The tokens of the input and of the output.
    tokens: (u64, u64),
}

fn events(events: &[Value]) -> String {
    let written = |event: &Value| match event["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(written).collect()
}

/// Chunks of a chat with these choices, each with what the server adds to it.
fn chat(model: &str, chunks: &[Value]) -> String {
    let chunks = chunks.iter().map(|more| {
        let mut chunk =
            json!({ "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [] });
        chunk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        chunk
    });
    events(&chunks.collect::<Vec<_>>()) + "data: [DONE]\n\n"
}

fn choice(delta: Value, finish: Value) -> Value {
    json!([{ "index": 0, "delta": delta, "finish_reason": finish }])
}

fn check(case: Case) {
    let mut world = World::calm();
    start(&mut world, json!({ "provider": case.provider }));
    send(&mut world, "hello");
    let (_, asked) = world.model(0);
    assert_eq!(asked.url, case.url);
    assert_eq!(asked.body["model"], case.provider["model"]);
    let headers: Vec<(&str, &str)> =
        asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(headers, [&[("content-type", "application/json")], case.headers].concat());
    let (wire, (status, body, code)) = (asked.wire, case.failure);
    assert_eq!(wire.error(status, &[], body, 0).code, code, "{body}");

    let mut decoder = Decoder::new(wire);
    decoder.push(case.stream.as_bytes(), &mut |_| ()).unwrap();
    let answer = decoder.finish().unwrap();
    let said = answer.blocks.iter().filter(|block| block.is_shown()).filter_map(Block::words);
    assert_eq!(said.collect::<Vec<_>>(), case.says);
    assert_eq!(answer.stop, Some(case.stop));
    assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens), case.tokens);
    world.answers(0, says("done"));
    assert_eq!(last(&world, "agent:session-completed")["text"], "done");
}

fn safe() -> Value {
    json!({ "violence": { "filtered": false, "severity": "safe" } })
}

/// Its filter speaks before the first word, between the words and after the end.
fn filtered(end: &str) -> String {
    let note = json!([{ "index": 0, "finish_reason": null, "content_filter_results": safe(),
        "content_filter_offsets": { "check_offset": 44, "start_offset": 44, "end_offset": 198 } }]);
    let prompt = json!([{ "prompt_index": 0, "content_filter_results": safe() }]);
    let nobody = |choices: &Value| json!({ "id": "", "object": "", "created": 0, "model": "", "choices": choices, "usage": null });
    let mut first = nobody(&json!([]));
    first["prompt_filter_results"] = prompt;
    let last = match end {
        "stop" => json!({ "choices": choice(json!({}), json!("stop")) }),
        // The end that the filter makes has no delta.
        end => nobody(&json!([{ "index": 0, "finish_reason": end, "content_filter_results": safe() }])),
    };
    let usage = json!({ "prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6 });
    chat(
        "gpt-5.4-mini-2026-03-17",
        &[
            first,
            json!({ "choices": choice(json!({ "role": "assistant" }), Value::Null) }),
            json!({ "choices": choice(json!({ "content": "Color" }), Value::Null) }),
            nobody(&note),
            json!({ "choices": choice(json!({ "content": " is" }), Value::Null) }),
            last,
            nobody(&note),
            json!({ "usage": usage }),
        ],
    )
}

const KEY: &str = "0123456789abcdef";

fn azure(kind: &str, more: &Value) -> Value {
    let mut provider = json!({ "kind": kind, "preset": "azure", "model": "mini", "apiKey": KEY,
        "baseUrl": "https://mine.openai.azure.com" });
    provider.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    provider
}

const NO_DEPLOYMENT: &str = r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#;
const FILTERED: &str = r#"{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"}}}}}"#;

#[test]
fn azure_chats_below_the_path_of_a_deployment() {
    let case = |more: Value, url, headers, stop: &str| Case {
        provider: azure("openai-compatible", &more),
        url,
        headers,
        failure: (404, NO_DEPLOYMENT, Code::NotFound),
        stream: filtered(stop),
        says: &["Color is"],
        stop: match stop {
            "stop" => StopReason::EndTurn,
            _ => StopReason::Refusal(None),
        },
        tokens: (4, 2),
    };
    let path =
        "https://mine.openai.azure.com/openai/deployments/mini/chat/completions?api-version=2024-10-21";
    check(case(json!({}), path, &[("api-key", KEY)], "stop"));
    check(case(json!({}), path, &[("api-key", KEY)], "content_filter"));
    // A token of Entra in place of a key, another version, and a name that is no plain word.
    check(case(
        json!({ "auth": "bearer", "apiVersion": "2025-04-01-preview", "model": "a/b é?" }),
        "https://mine.openai.azure.com/openai/deployments/a%2fb%20%c3%a9%3f/chat/completions?api-version=2025-04-01-preview",
        &[("authorization", "Bearer 0123456789abcdef")],
        "stop",
    ));
}

#[test]
fn azure_responds_below_the_path_of_its_version() {
    let item = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hi." }] });
    let usage = json!({ "input_tokens": 4, "output_tokens": 2, "total_tokens": 6 });
    let stream = events(&[
        json!({ "type": "response.created", "response": { "id": "r", "model": "mini" } }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi." }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "status": "completed", "usage": usage, "content_filters": [safe()] } }),
    ]);
    for (more, url) in [
        (json!({}), "https://mine.openai.azure.com/openai/v1/responses?api-version=v1"),
        (
            json!({ "apiVersion": "preview" }),
            "https://mine.openai.azure.com/openai/v1/responses?api-version=preview",
        ),
    ] {
        check(Case {
            provider: azure("openai-responses", &more),
            url,
            headers: &[("api-key", KEY)],
            failure: (400, FILTERED, Code::Refused),
            stream: stream.clone(),
            says: &["Hi."],
            stop: StopReason::EndTurn,
            tokens: (4, 2),
        });
    }
}

#[test]
fn azure_has_no_address_that_all_share() {
    let mut world = World::calm();
    world.settle(0);
    for kind in ["openai-compatible", "openai-responses"] {
        let mut provider = azure(kind, &json!({}));
        provider.as_object_mut().unwrap().remove("baseUrl");
        let error = world.fails(0, "startAgent", json!({ "provider": provider }));
        assert_eq!(error.code, Code::InvalidConfig);
        assert!(error.message.contains("provider.baseUrl is missing"), "{error}");
    }
    let error = world.fails(0, "startAgent", json!({ "provider": azure("openai", &json!({})) }));
    assert!(error.message.contains("provider.preset \"azure\" does not exist"), "{error}");
}

fn compatible(base: &str, model: &str, more: &Value) -> Value {
    let mut provider =
        json!({ "kind": "openai-compatible", "baseUrl": base, "model": model, "apiKey": "sk-0123456789" });
    provider.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    provider
}

#[test]
fn cloudflares_gateway() {
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 });
    let stream = chat(
        "gpt-5.4-mini",
        &[
            json!({ "choices": choice(json!({ "role": "assistant", "content": "" }), Value::Null) }),
            json!({ "choices": choice(json!({ "content": "A network." }), Value::Null) }),
            json!({ "choices": choice(json!({}), json!("stop")) }),
            json!({ "usage": usage }),
        ],
    );
    let blocked = r#"{"success":false,"result":[],"messages":[],"error":[{"code":2016,"message":"Prompt blocked due to security configurations"}]}"#;
    let nobody =
        r#"{"success":false,"result":[],"messages":[],"error":[{"code":2009,"message":"Unauthorized"}]}"#;
    let no_token = r#"{"result":null,"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[]}"#;
    let case = |provider, url, headers, failure| Case {
        provider,
        url,
        headers,
        failure,
        stream: stream.clone(),
        says: &["A network."],
        stop: StopReason::EndTurn,
        tokens: (9, 3),
    };
    // Its API, with the account's token; one provider behind a gateway of one's own, and all of them behind it.
    check(case(
        compatible(
            "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1",
            "openai/gpt-5.4-mini",
            &json!({ "headers": { "cf-aig-gateway-id": "mine" } }),
        ),
        "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1/chat/completions",
        &[("authorization", "Bearer sk-0123456789"), ("cf-aig-gateway-id", "mine")],
        (401, no_token, Code::Auth),
    ));
    let own = json!({ "kind": "openai", "headers": { "cf-aig-authorization": "Bearer cf-0123456789" } });
    check(case(
        compatible("https://gateway.ai.cloudflare.com/v1/acc/mine/openai", "gpt-5.4-mini", &own),
        "https://gateway.ai.cloudflare.com/v1/acc/mine/openai/chat/completions",
        &[("authorization", "Bearer sk-0123456789"), ("cf-aig-authorization", "Bearer cf-0123456789")],
        (401, nobody, Code::Auth),
    ));
    check(case(
        compatible("https://gateway.ai.cloudflare.com/v1/acc/mine/compat", "openai/gpt-5.4-mini", &json!({})),
        "https://gateway.ai.cloudflare.com/v1/acc/mine/compat/chat/completions",
        &[("authorization", "Bearer sk-0123456789")],
        (424, blocked, Code::Refused),
    ));
}

#[test]
fn litellm() {
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
        "completion_tokens_details": { "reasoning_tokens": 2 }, "prompt_tokens_details": { "cached_tokens": 0 } });
    let thought = json!({ "role": "assistant", "content": "", "reasoning_content": "Hm.", "provider_specific_fields": null,
        "thinking_blocks": [{ "type": "thinking", "thinking": "Hm.", "signature": null }] });
    check(Case {
        provider: compatible("http://localhost:4000", "house-model", &json!({})),
        url: "http://localhost:4000/chat/completions",
        headers: &[("authorization", "Bearer sk-0123456789")],
        failure: (
            429,
            r#"{"error":{"message":"Budget has been exceeded! Current cost: 0.06, Max budget: 0.05","type":"budget_exceeded","param":null,"code":"429"}}"#,
            Code::Quota,
        ),
        stream: chat(
            "house-model",
            &[
                json!({ "choices": choice(thought, Value::Null) }),
                json!({ "choices": choice(json!({ "content": "So." }), Value::Null) }),
                json!({ "choices": choice(json!({}), json!("stop")) }),
                json!({ "choices": choice(json!({}), Value::Null), "usage": usage }),
            ],
        ),
        says: &["Hm.", "So."],
        stop: StopReason::EndTurn,
        tokens: (9, 5),
    });
}

#[test]
fn vercels_gateway() {
    let detail =
        json!([{ "type": "reasoning.text", "text": "Hm.", "format": "anthropic-claude-v1", "index": 0 }]);
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14, "cost": 0.0001, "is_byok": false });
    check(Case {
        provider: compatible("https://ai-gateway.vercel.sh/v1", "anthropic/claude-sonnet-4.6", &json!({})),
        url: "https://ai-gateway.vercel.sh/v1/chat/completions",
        headers: &[("authorization", "Bearer sk-0123456789")],
        failure: (
            404,
            r#"{"error":{"message":"Model 'x' not found","type":"model_not_found","param":{"modelId":"x"},"code":null},"generationId":"gen_1"}"#,
            Code::NotFound,
        ),
        stream: chat(
            "anthropic/claude-sonnet-4.6",
            &[
                json!({ "choices": choice(json!({ "role": "assistant", "reasoning": "Hm.", "reasoning_details": detail }), Value::Null) }),
                json!({ "choices": choice(json!({ "content": "So." }), Value::Null) }),
                json!({ "choices": choice(json!({}), json!("stop")), "usage": usage }),
            ],
        ),
        says: &["Hm.", "So."],
        stop: StopReason::EndTurn,
        tokens: (9, 5),
    });
}
