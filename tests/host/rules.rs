//! The judges of requests are judged: bad transcripts, made by hand, are refused, and good ones are accepted.

use crate::support::anthropic_rules::{self, Signed};
use crate::support::{gemini_rules, ollama_rules, openai_responses_rules, openai_rules};
use serde_json::{Value, json};

fn signed() -> Signed {
    [("s1", (1, "hm")), ("s2", (2, "so")), ("r3", (3, ""))]
        .map(|(proof, (order, text))| (proof.into(), (order, text.into())))
        .into()
}

fn anthropic(messages: &Value, paused: bool) -> Result<(), String> {
    let body = json!({ "model": "m", "max_tokens": 1, "messages": messages });
    anthropic_rules::check(&body, &signed(), paused)
}

fn user(blocks: Value) -> Value {
    json!({ "role": "user", "content": blocks })
}

fn assistant(blocks: Value) -> Value {
    json!({ "role": "assistant", "content": blocks })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "look", "input": {} })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "x" })
}

fn thinking(text: &str, signature: &str) -> Value {
    json!({ "type": "thinking", "thinking": text, "signature": signature })
}

#[test]
fn good_anthropic_transcripts_are_accepted() {
    let hi = user(json!([text("hi")]));
    let good = [
        json!([{ "role": "user", "content": "hi" }]),
        json!([hi, hi]),
        json!([hi, assistant(json!([text("hello")])), hi]),
        json!([hi, assistant(json!([call("a"), call("b")])), user(json!([result("b"), result("a")]))]),
        json!([hi, assistant(json!([text("x"), call("a")])), user(json!([result("a"), text("and")])), hi]),
        json!([hi, assistant(json!([call("a")])), user(json!([result("a")])), hi]),
        json!([
            hi,
            assistant(json!([thinking("hm", "s1"), call("a")])),
            user(json!([result("a")])),
            assistant(json!([
                thinking("so", "s2"),
                { "type": "redacted_thinking", "data": "r3" },
                text("done")
            ])),
            hi
        ]),
        json!([
            hi,
            assistant(json!([{ "type": "server_tool_use", "id": "s", "name": "n", "input": {} },
            { "type": "web_search_tool_result", "tool_use_id": "s", "content": [] }, text("x")])),
            hi
        ]),
    ];
    for messages in good {
        assert_eq!(anthropic(&messages, false), Ok(()), "{messages}");
    }
    assert_eq!(anthropic(&json!([hi, assistant(json!([text("…")]))]), true), Ok(()));
}

#[test]
fn bad_anthropic_transcripts_are_refused() {
    let hi = user(json!([text("hi")]));
    let bad = [
        ("no messages", json!([])),
        ("first message", json!([assistant(json!([text("hello")])), hi])),
        ("prefill", json!([hi, assistant(json!([text("hello")]))])),
        ("role", json!([{ "role": "tool", "content": "x" }])),
        ("empty text", json!([{ "role": "user", "content": "" }])),
        ("no blocks", json!([user(json!([]))])),
        ("without text", json!([user(json!([text(" \n")]))])),
        ("neither text nor blocks", json!([{ "role": "user", "content": null }])),
        ("without a type", json!([user(json!([{ "text": "hi" }]))])),
        ("no result", json!([hi, assistant(json!([call("a")])), hi])),
        ("no result", json!([hi, assistant(json!([call("a"), call("b")])), user(json!([result("a")])), hi])),
        ("prefill", json!([hi, assistant(json!([call("a")]))])),
        ("not called or has one", json!([user(json!([result("a")]))])),
        (
            "not called or has one",
            json!([hi, assistant(json!([call("a")])), user(json!([result("a"), result("a")]))]),
        ),
        ("not called or has one", json!([hi, assistant(json!([call("a")])), user(json!([result("b")]))])),
        (
            "not called or has one",
            json!([
                hi,
                assistant(json!([call("a")])),
                user(json!([result("a")])),
                assistant(json!([text("x")])),
                user(json!([result("a")]))
            ]),
        ),
        ("come first", json!([hi, assistant(json!([call("a")])), user(json!([text("so"), result("a")]))])),
        (
            "come first",
            json!([
                hi,
                assistant(json!([call("a"), call("b")])),
                user(json!([result("a"), text("so"), result("b")]))
            ]),
        ),
        ("two calls", json!([hi, assistant(json!([call("a"), call("a")])), user(json!([result("a")]))])),
        (
            "two calls",
            json!([
                hi,
                assistant(json!([call("a")])),
                user(json!([result("a")])),
                assistant(json!([call("a")])),
                user(json!([result("a")]))
            ]),
        ),
        ("tool_use of the user", json!([user(json!([call("a")]))])),
        ("tool_result of the assistant", json!([hi, assistant(json!([result("a")])), hi])),
        ("bad id", json!([hi, assistant(json!([call("a.b")])), user(json!([result("a.b")]))])),
        (
            "no object",
            json!([
                hi,
                assistant(json!([{ "type": "tool_use", "id": "a", "name": "n", "input": "{}" }])),
                user(json!([result("a")]))
            ]),
        ),
        (
            "empty content",
            json!([
                hi,
                assistant(json!([call("a")])),
                user(json!([{ "type": "tool_result", "tool_use_id": "a", "content": "" }]))
            ]),
        ),
        ("without a signature", json!([hi, assistant(json!([thinking("hm", ""), text("x")])), hi])),
        ("nobody gave", json!([hi, assistant(json!([thinking("hm", "s9"), text("x")])), hi])),
        ("changed", json!([hi, assistant(json!([thinking("hm!", "s1"), text("x")])), hi])),
        (
            "out of order",
            json!([hi, assistant(json!([thinking("so", "s2"), thinking("hm", "s1"), text("x")])), hi]),
        ),
        (
            "comes twice",
            json!([hi, assistant(json!([thinking("hm", "s1"), thinking("hm", "s1"), text("x")])), hi]),
        ),
        ("thinking alone", json!([hi, assistant(json!([thinking("hm", "s1")])), hi])),
        ("ends with thinking", json!([hi, assistant(json!([text("x"), thinking("hm", "s1")])), hi])),
        ("thinking of the user", json!([user(json!([thinking("hm", "s1"), text("x")]))])),
        ("of the user of type", json!([user(json!([{ "type": "server_tool_use" }]))])),
    ];
    assert!(bad.len() >= 15);
    for (why, messages) in bad {
        let refused = anthropic(&messages, false).expect_err(&messages.to_string());
        assert!(refused.contains(why), "{messages}: {refused}");
    }
    let hi = json!([hi]);
    let bodies = [
        ("no model", json!({ "max_tokens": 1, "messages": hi })),
        ("no max_tokens", json!({ "model": "m", "messages": hi })),
        ("system", json!({ "model": "m", "max_tokens": 1, "messages": hi, "system": "" })),
        (
            "input_schema",
            json!({ "model": "m", "max_tokens": 1, "messages": hi, "tools": [{ "name": "t", "input_schema": {} }] }),
        ),
        (
            "four cache",
            json!({ "model": "m", "max_tokens": 1, "cache_control": {}, "messages": [user(json!([
                { "type": "text", "text": "a", "cache_control": {} }, { "type": "text", "text": "a", "cache_control": {} },
                { "type": "text", "text": "a", "cache_control": {} }, { "type": "text", "text": "a", "cache_control": {} }]))] }),
        ),
    ];
    for (why, body) in bodies {
        let refused = anthropic_rules::check(&body, &signed(), false).expect_err(&body.to_string());
        assert!(refused.contains(why), "{body}: {refused}");
    }
}

#[test]
fn how_much_a_model_may_think_is_judged() {
    let judged = |model: &str, thinking: Value, effort: Option<&str>| {
        let mut body = json!({ "model": model, "max_tokens": 4096, "thinking": thinking,
            "messages": [{ "role": "user", "content": "hi" }] });
        if let Some(effort) = effort {
            body["output_config"] = json!({ "effort": effort });
        }
        anthropic_rules::check(&body, &signed(), false)
    };
    let adaptive = || json!({ "type": "adaptive", "display": "summarized" });
    let budget = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
    for model in ["claude-haiku-4-5-20251001", "claude-sonnet-4-5", "claude-opus-4-5"] {
        assert_eq!(judged(model, budget(1024), None), Ok(()), "{model}");
        assert_eq!(judged(model, budget(4095), None), Ok(()), "{model}");
        for (why, thinking, effort) in [
            ("adaptive thinking", adaptive(), None),
            ("effort", budget(1024), Some("low")),
            ("1024", budget(1023), None),
            ("1024", budget(4096), None),
            ("1024", json!({ "type": "enabled" }), None),
            ("no thinking", json!({ "type": "disabled", "budget_tokens": 1024 }), None),
        ] {
            let refused = judged(model, thinking, effort).unwrap_err();
            assert!(refused.contains(why), "{model}: {refused}");
        }
    }
    for model in ["claude-sonnet-5", "claude-haiku-5-5", "claude-opus-4-8"] {
        assert_eq!(judged(model, adaptive(), Some("high")), Ok(()), "{model}");
        assert!(judged(model, budget(1024), None).unwrap_err().contains("a budget for a model"), "{model}");
        assert!(judged(model, adaptive(), Some("none")).unwrap_err().contains("effort"), "{model}");
    }
    assert_eq!(judged("claude-sonnet-4-6", budget(1024), None), Ok(()));
    assert!(judged("m", json!({ "type": "auto" }), None).unwrap_err().contains("auto"));
}

fn chat_call(id: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": arguments } })
}

#[test]
fn chat_transcripts_are_judged() {
    let hi = json!({ "role": "user", "content": "hi" });
    let asks = |calls: Value| json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let told = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "x" });
    let good = [
        json!([hi]),
        json!([{ "role": "system", "content": "s" }, hi, { "role": "assistant", "content": "x" }, hi]),
        json!([hi, asks(json!([chat_call("a", "{}"), chat_call("b", "{\"x\":1}")])), told("b"), told("a")]),
    ];
    for messages in good {
        assert_eq!(openai_rules::check_messages(messages.as_array().unwrap(), false), Ok(()), "{messages}");
    }
    let bad = [
        ("no messages", json!([])),
        ("nothing but", json!([{ "role": "system", "content": "s" }])),
        ("not the first", json!([hi, { "role": "system", "content": "s" }])),
        ("first message", json!([{ "role": "assistant", "content": "x" }, hi])),
        ("ends with", json!([hi, { "role": "assistant", "content": "x" }])),
        ("empty message of the user", json!([{ "role": "user", "content": " " }])),
        ("empty message of the assistant", json!([hi, { "role": "assistant", "content": null }, hi])),
        ("without a call", json!([hi, asks(json!([])), hi])),
        (
            "empty content",
            json!([hi, { "role": "assistant", "content": "", "tool_calls": [chat_call("a", "{}")] }, told("a")]),
        ),
        ("no result", json!([hi, asks(json!([chat_call("a", "{}")])), hi])),
        ("no result", json!([hi, asks(json!([chat_call("a", "{}")]))])),
        ("not called", json!([hi, told("a")])),
        ("has one", json!([hi, asks(json!([chat_call("a", "{}")])), told("a"), told("a")])),
        ("two calls", json!([hi, asks(json!([chat_call("a", "{}"), chat_call("a", "{}")])), told("a")])),
        ("no JSON", json!([hi, asks(json!([chat_call("a", "")])), told("a")])),
        ("no object", json!([hi, asks(json!([chat_call("a", "[]")])), told("a")])),
        ("without an id", json!([hi, asks(json!([chat_call("", "{}")])), told("")])),
        (
            "empty result",
            json!([hi, asks(json!([chat_call("a", "{}")])), { "role": "tool", "tool_call_id": "a", "content": "" }]),
        ),
        ("role", json!([{ "role": "robot", "content": "x" }])),
    ];
    for (why, messages) in bad {
        let refused = openai_rules::check_messages(messages.as_array().unwrap(), false)
            .expect_err(&messages.to_string());
        assert!(refused.contains(why), "{messages}: {refused}");
    }
}

fn ollama_call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "id": id, "function": { "name": name, "arguments": arguments } })
}

#[test]
fn ollama_transcripts_are_judged() {
    let hi = json!({ "role": "user", "content": "hi" });
    let asks = |calls: Value| json!({ "role": "assistant", "content": "", "tool_calls": calls });
    let look = |id: &str| ollama_call(id, "look", json!({}));
    let told = |id: &str, name: &str| json!({ "role": "tool", "tool_call_id": id, "tool_name": name, "content": "x" });
    let good = [
        json!([hi]),
        json!([{ "role": "system", "content": "s" }, hi, { "role": "assistant", "content": "x" }, hi]),
        json!([hi, { "role": "assistant", "content": "x", "thinking": "hm" }, hi]),
        json!([
            hi,
            asks(json!([look("a"), ollama_call("b", "see", json!({ "x": 1 }))])),
            told("b", "see"),
            told("a", "look")
        ]),
    ];
    for messages in good {
        assert_eq!(ollama_rules::check_messages(messages.as_array().unwrap(), false), Ok(()), "{messages}");
    }
    let bad = [
        ("no messages", json!([])),
        ("nothing but", json!([{ "role": "system", "content": "s" }])),
        ("not the first", json!([hi, { "role": "system", "content": "s" }])),
        ("first message", json!([{ "role": "assistant", "content": "x" }, hi])),
        ("ends with", json!([hi, { "role": "assistant", "content": "x" }])),
        ("no text", json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }])),
        (
            "no text",
            json!([hi, { "role": "assistant", "content": null, "tool_calls": [look("a")] }, told("a", "look")]),
        ),
        ("empty message of the user", json!([{ "role": "user", "content": " " }])),
        (
            "empty message of the assistant",
            json!([hi, { "role": "assistant", "content": "", "thinking": "hm" }, hi]),
        ),
        (
            "thinking that is no text",
            json!([hi, { "role": "assistant", "content": "x", "thinking": "" }, hi]),
        ),
        (
            "white space",
            json!([hi, { "role": "assistant", "content": " ", "tool_calls": [look("a")] }, told("a", "look")]),
        ),
        ("without a call", json!([hi, asks(json!([])), hi])),
        ("no result", json!([hi, asks(json!([look("a")])), hi])),
        ("no result", json!([hi, asks(json!([look("a")]))])),
        ("not called", json!([hi, told("a", "look")])),
        ("has one", json!([hi, asks(json!([look("a")])), told("a", "look"), told("a", "look")])),
        ("two calls", json!([hi, asks(json!([look("a"), look("a")])), told("a", "look")])),
        ("that names", json!([hi, asks(json!([look("a")])), told("a", "see")])),
        ("no object", json!([hi, asks(json!([ollama_call("a", "look", json!("{}"))])), told("a", "look")])),
        (
            "a call of",
            json!([hi, asks(json!([ollama_call("a", "no name!", json!({}))])), told("a", "no name!")]),
        ),
        ("without an id", json!([hi, asks(json!([look("")])), told("", "look")])),
        (
            "empty result",
            json!([hi, asks(json!([look("a")])), { "role": "tool", "tool_call_id": "a", "tool_name": "look", "content": "" }]),
        ),
        ("a member", json!([{ "role": "user", "content": "hi", "name": "me" }])),
        ("role", json!([{ "role": "robot", "content": "x" }])),
    ];
    for (why, messages) in bad {
        let refused = ollama_rules::check_messages(messages.as_array().unwrap(), false)
            .expect_err(&messages.to_string());
        assert!(refused.contains(why), "{messages}: {refused}");
    }
}

#[test]
fn ollama_bodies_are_judged() {
    let good = json!({
        "model": "m", "messages": [{ "role": "user", "content": "hi" }], "stream": true, "truncate": false,
        "shift": false, "think": "low", "options": { "num_ctx": 4096 },
        "tools": [{ "type": "function", "function":
            { "name": "t", "description": "d", "parameters": { "type": "object" } } }],
    });
    assert_eq!(ollama_rules::check(&good, false), Ok(()));
    for (why, member, value) in [
        ("no model", "model", json!("")),
        ("does not stream", "stream", json!(false)),
        ("truncate", "truncate", json!(true)),
        ("shift", "shift", Value::Null),
        ("think is", "think", json!("hard")),
        ("no num_ctx", "options", json!({})),
        ("no options", "options", Value::Null),
        ("no array", "tools", json!({})),
        (
            "not of an object",
            "tools",
            json!([{ "type": "function", "function": { "name": "t", "parameters": {} } }]),
        ),
        ("not allowed", "tools", json!([{ "type": "function", "function": { "name": "t t" } }])),
        ("has a member", "max_tokens", json!(1)),
        ("no messages", "messages", json!([])),
    ] {
        let mut body = good.clone();
        body[member] = value;
        let refused = ollama_rules::check(&body, false).expect_err(&body.to_string());
        assert!(refused.contains(why), "{body}: {refused}");
    }
}

#[test]
fn responses_transcripts_are_judged() {
    let message = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let hi = message("user", "input_text", "hi");
    let said = message("assistant", "output_text", "hello");
    let asks =
        |id: &str| json!({ "type": "function_call", "call_id": id, "name": "look", "arguments": "{}" });
    let told = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "x" });
    let thought = |seal: &str| json!({ "type": "reasoning", "summary": [], "encrypted_content": seal });
    let shell = |kind: &str| json!({ "type": kind, "call_id": "s" });
    let with = |mut item: Value, name: &str, value: Value| {
        item[name] = value;
        item
    };
    let check = |items: &Value, paused: bool| {
        openai_responses_rules::check_input(items.as_array().unwrap(), &signed(), paused)
    };
    let good = [
        json!([hi]),
        json!([hi, said, hi, hi]),
        json!([hi, thought("s1"), asks("a"), asks("b"), told("b"), told("a"), thought("s2"), said, hi]),
        json!([hi, { "type": "web_search_call", "id": "ws_1" }, said, asks("a"), told("a")]),
        json!([hi, shell("shell_call"), shell("shell_call_output"), said, hi]),
    ];
    for items in good {
        assert_eq!(check(&items, false), Ok(()), "{items}");
    }
    assert_eq!(check(&json!([hi, said]), true), Ok(()));
    let bad = [
        ("no items", json!([])),
        ("the assistant's", json!([said, hi])),
        ("ends with", json!([hi, said])),
        ("an empty text", json!([message("user", "input_text", " ")])),
        ("an empty message", json!([with(hi.clone(), "content", json!([]))])),
        ("in a message of", json!([message("user", "output_text", "x")])),
        ("in a message of", json!([hi, message("assistant", "input_text", "x"), hi])),
        ("role", json!([message("robot", "input_text", "x")])),
        ("type", json!([hi, { "role": "user", "content": "x" }])),
        ("an id of something", json!([hi, with(said.clone(), "id", json!("msg_1")), hi])),
        ("an id of something", json!([hi, with(thought("s1"), "id", json!("rs_1")), said, hi])),
        ("no result", json!([hi, asks("a"), hi])),
        ("no result", json!([hi, asks("a")])),
        ("no result", json!([hi, asks("a"), asks("b"), told("a"), said, told("b")])),
        ("not called", json!([hi, told("a")])),
        ("has one", json!([hi, asks("a"), told("a"), told("a")])),
        ("two calls", json!([hi, asks("a"), told("a"), asks("a"), told("a")])),
        ("a call's id", json!([hi, asks("a.b"), told("a.b")])),
        ("a call's id", json!([hi, asks(&"a".repeat(65)), hi])),
        ("whose name", json!([hi, with(asks("a"), "name", json!("odd name")), told("a")])),
        ("no text", json!([hi, with(asks("a"), "arguments", json!({})), told("a")])),
        ("no JSON", json!([hi, with(asks("a"), "arguments", json!("{")), told("a")])),
        ("no object", json!([hi, with(asks("a"), "arguments", json!("[]")), told("a")])),
        ("empty result", json!([hi, asks("a"), with(told("a"), "output", json!(""))])),
        ("led to nothing", json!([hi, thought("s1"), hi])),
        ("led to nothing", json!([hi, thought("s1")])),
        ("led to nothing", json!([hi, asks("a"), thought("s1"), told("a")])),
        ("somebody else", json!([hi, thought("s9"), said, hi])),
        ("somebody else", json!([hi, with(thought("s1"), "encrypted_content", Value::Null), said, hi])),
        ("a summary", json!([hi, with(thought("s1"), "summary", Value::Null), said, hi])),
        ("a status", json!([hi, with(thought("s1"), "status", json!("completed")), said, hi])),
        ("a content", json!([hi, with(thought("s1"), "content", json!([])), said, hi])),
        ("nothing answers", json!([hi, shell("custom_tool_call"), said, hi])),
    ];
    for (why, items) in bad {
        let refused = check(&items, false).expect_err(&items.to_string());
        assert!(refused.contains(why), "{items}: {refused}");
    }
    let body = |more: Value| {
        let mut body = json!({ "model": "m", "store": false, "input": [hi] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        openai_responses_rules::check(&body, &signed(), false)
    };
    let tool =
        json!({ "type": "function", "name": "a", "parameters": { "type": "object" }, "strict": false });
    assert_eq!(body(json!({ "tools": [tool], "instructions": "s" })), Ok(()));
    for (why, more) in [
        ("no model", json!({ "model": "" })),
        ("stored", json!({ "store": true })),
        ("called input", json!({ "messages": [] })),
        ("say nothing", json!({ "instructions": "" })),
        ("wrapped", json!({ "tools": [with(tool.clone(), "function", json!({}))] })),
        ("strict", json!({ "tools": [with(tool.clone(), "strict", Value::Null)] })),
        ("two tools", json!({ "tools": [tool, tool] })),
        ("not allowed", json!({ "tools": [with(tool.clone(), "name", json!("a.b"))] })),
        ("of an object", json!({ "tools": [with(tool.clone(), "parameters", json!({}))] })),
    ] {
        let refused = body(more.clone()).expect_err(&more.to_string());
        assert!(refused.contains(why), "{more}: {refused}");
    }
}

#[test]
fn gemini_transcripts_are_judged() {
    let text =
        |kind: &str, text: &str| json!({ "type": kind, "content": [{ "type": "text", "text": text }] });
    let (hi, said) = (text("user_input", "hi"), text("model_output", "hello"));
    let thought = |proof: &str| json!({ "type": "thought", "signature": proof, "summary": [{ "type": "text", "text": "hm" }] });
    let unsigned = json!({ "type": "thought", "signature": "skip_thought_signature_validator" });
    let asks = |id: &str| json!({ "type": "function_call", "id": id, "name": "look", "arguments": {} });
    let told = |id: &str| json!({ "type": "function_result", "call_id": id, "name": "look", "result": "x" });
    let search = json!({ "type": "google_search_call", "id": "g1" });
    let found = json!({ "type": "google_search_result", "call_id": "g1" });
    let with = |mut step: Value, name: &str, value: Value| {
        step[name] = value;
        step
    };
    let check =
        |steps: &Value, paused: bool| gemini_rules::check_steps(steps.as_array().unwrap(), &signed(), paused);
    let good = [
        json!([hi]),
        json!([hi, said, hi, hi]),
        json!([hi, thought("s1"), asks("a"), asks("b"), told("b"), told("a"), said, hi]),
        json!([hi, unsigned, asks("a"), with(told("a"), "is_error", json!(true))]),
        json!([hi, with(asks("a"), "signature", json!("own")), told("a")]),
        json!([hi, search, found, said, hi]),
    ];
    for steps in good {
        assert_eq!(check(&steps, false), Ok(()), "{steps}");
    }
    assert_eq!(check(&json!([hi, said]), true), Ok(()));
    let bad = [
        ("no steps", json!([])),
        ("the model's", json!([said, hi])),
        ("ends with", json!([hi, said])),
        ("an empty text", json!([text("user_input", " ")])),
        ("without a part", json!([with(hi.clone(), "content", json!([]))])),
        ("no part of this", json!([hi, with(said.clone(), "content", json!([{ "type": "image" }])), hi])),
        ("type", json!([hi, { "role": "user", "content": "x" }])),
        ("no result", json!([hi, thought("s1"), asks("a"), hi])),
        ("no result", json!([hi, thought("s1"), asks("a")])),
        ("no result", json!([hi, thought("s1"), asks("a"), asks("b"), told("a"), said, told("b")])),
        ("not called", json!([hi, told("a")])),
        ("has one", json!([hi, thought("s1"), asks("a"), told("a"), told("a")])),
        ("that names", json!([hi, thought("s1"), asks("a"), with(told("a"), "name", json!("see"))])),
        ("empty result", json!([hi, thought("s1"), asks("a"), with(told("a"), "result", json!(""))])),
        (
            "an error that is none",
            json!([hi, thought("s1"), asks("a"), with(told("a"), "is_error", json!(false))]),
        ),
        ("two calls", json!([hi, thought("s1"), asks("a"), asks("a"), told("a")])),
        ("a call's id", json!([hi, thought("s1"), asks("a.b"), told("a.b")])),
        ("a call's name", json!([hi, thought("s1"), with(asks("a"), "name", json!("odd name")), told("a")])),
        ("no object", json!([hi, thought("s1"), with(asks("a"), "arguments", json!("{}")), told("a")])),
        ("without a signature", json!([hi, asks("a"), told("a")])),
        ("without a signature", json!([hi, thought("s1"), said, hi, asks("a"), told("a")])),
        ("led to nothing", json!([hi, thought("s1"), hi])),
        ("led to nothing", json!([hi, thought("s1")])),
        ("somebody else", json!([hi, thought("s9"), said, hi])),
        ("somebody else", json!([hi, thought("s2"), said, hi])),
        (
            "somebody else",
            json!([hi, with(unsigned.clone(), "summary", thought("s1")["summary"].clone()), said, hi]),
        ),
        ("nothing answers", json!([hi, search, said, hi])),
        ("has a member", json!([hi, with(said.clone(), "role", json!("model")), hi])),
    ];
    for (why, steps) in bad {
        let refused = check(&steps, false).expect_err(&steps.to_string());
        assert!(refused.contains(why), "{steps}: {refused}");
    }
    let body = |more: Value| {
        let mut body = json!({ "model": "m", "store": false, "stream": true, "input": [hi] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        gemini_rules::check(&body, &signed(), false)
    };
    let tool = json!({ "type": "function", "name": "a", "parameters": { "type": "object" } });
    let forced =
        |name: &str| json!({ "tool_choice": { "allowed_tools": { "mode": "any", "tools": [name] } } });
    let format = json!([{ "type": "text", "mime_type": "application/json", "schema": {} }]);
    assert_eq!(
        body(json!({ "tools": [tool], "generation_config": forced("a"), "system_instruction": "s" })),
        Ok(())
    );
    assert_eq!(
        body(json!({ "response_format": format, "generation_config": { "thinking_level": "low" } })),
        Ok(())
    );
    for (why, more) in [
        ("no model", json!({ "model": "" })),
        ("stored", json!({ "store": true })),
        ("does not stream", json!({ "stream": false })),
        ("instructs nothing", json!({ "system_instruction": " " })),
        ("has a member", json!({ "messages": [] })),
        ("without one", json!({ "tools": [] })),
        ("no function", json!({ "tools": [with(tool.clone(), "type", json!("google_search"))] })),
        ("two tools", json!({ "tools": [tool, tool] })),
        ("not allowed", json!({ "tools": [with(tool.clone(), "name", json!("a.b"))] })),
        ("of an object", json!({ "tools": [with(tool.clone(), "parameters", json!({}))] })),
        ("names no tool", json!({ "tools": [tool], "generation_config": forced("b") })),
        ("thinking_level", json!({ "generation_config": { "thinking_level": "none" } })),
        ("beside functions", json!({ "tools": [tool], "response_format": format })),
        ("no list of one", json!({ "response_format": format[0] })),
        ("without a schema", json!({ "response_format": [with(format[0].clone(), "schema", Value::Null)] })),
    ] {
        let refused = body(more.clone()).expect_err(&more.to_string());
        assert!(refused.contains(why), "{more}: {refused}");
    }
}
