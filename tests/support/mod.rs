//! What the integration tests share. Each of them is a crate of its own and uses a part of it.
#![allow(dead_code, unreachable_pub, missing_debug_implementations)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    reason = "code of tests: whatever is not as it should be ends them"
)]

pub mod anthropic_rules;
pub mod calm;
pub mod desk;
pub mod form_rules;
pub mod laws;
pub mod media;
pub mod ollama_rules;
pub mod openai_responses_rules;
pub mod openai_rules;
pub mod script;
pub mod sim;
