//! What the tests share. The judges and the engine of patterns are the fuzz targets' too (`fuzz/src/lib.rs`).

pub mod anthropic_rules;
pub mod calm;
pub mod desk;
pub mod engine;
pub mod form_rules;
pub mod gemini_rules;
pub mod laws;
pub mod media;
pub mod ollama_rules;
pub mod openai_responses_rules;
pub mod openai_rules;
pub mod parts;
pub mod rows;
pub mod script;
pub mod servers;
pub mod shapes;
pub mod sim;
pub mod streams;
pub mod strict;
