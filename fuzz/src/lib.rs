//! What the fuzz targets share: the properties (in one copy with the tests that replay the corpora), and how a stream
//! of events is changed without breaking it.
//!
//! Decides how inputs are drawn. Leaves to others: what must hold (`properties`), seeds (`corpus/`), words that the
//! formats have (`dictionaries/`), and how it is all started (`cargo xtask fuzz`).

#[path = "../../tests/host/corpora/fuzz/properties/mod.rs"]
pub mod properties;

// What the properties judge with; the tests use more of it.
#[allow(dead_code)]
#[path = "../../tests/host/support"]
mod support {
    pub mod anthropic_rules;
    pub mod engine;
    pub mod form_rules;
    pub mod gemini_rules;
    pub mod media;
    pub mod ollama_rules;
    pub mod openai_responses_rules;
    pub mod openai_rules;
    pub mod streams;
    pub mod strict;
}

mod mutate;

pub use libfuzzer_sys;
pub use mutate::events;

/// The target of this name.
pub fn target(name: &str) -> fn(&[u8]) {
    let found = properties::TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("there is no target {name}")).holds
}

/// The body of a target's binary.
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        use std::sync::LazyLock;
        use $crate::libfuzzer_sys;

        static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| $crate::target($name));

        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));
        libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
            $crate::events(bytes, size, most, seed)
        });
    };
}
