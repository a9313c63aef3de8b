//! Judges what is sent on a wire as its strict server would: the one place that knows which rules are whose.

use super::anthropic_rules::{self, Signed};
use super::{gemini_rules, ollama_rules, openai_responses_rules, openai_rules};
use lodger::model::Wire;
use serde_json::{Value, json};

/// Checks a request. `paused`: it goes on from an answer that was paused.
pub fn check_request(wire: Wire, body: &Value, signed: &Signed, paused: bool) -> Result<(), String> {
    match wire {
        Wire::Anthropic => anthropic_rules::check(body, signed, paused),
        Wire::Ollama => ollama_rules::check(body, paused),
        Wire::OpenAiResponses => openai_responses_rules::check(body, signed, paused),
        Wire::OpenAiChat => openai_rules::check(body, paused),
        Wire::Gemini => gemini_rules::check(body, signed, paused),
    }
}

/// Checks the messages of a request alone.
pub fn check_messages(wire: Wire, messages: &[Value], signed: &Signed, paused: bool) -> Result<(), String> {
    match wire {
        Wire::Anthropic => {
            let body = json!({ "model": "m", "max_tokens": 1, "messages": messages });
            anthropic_rules::check(&body, signed, paused)
        }
        Wire::Ollama => ollama_rules::check_messages(messages, paused),
        Wire::OpenAiResponses => openai_responses_rules::check_input(messages, signed, paused),
        Wire::OpenAiChat => openai_rules::check_messages(messages, paused),
        Wire::Gemini => gemini_rules::check_steps(messages, signed, paused),
    }
}
