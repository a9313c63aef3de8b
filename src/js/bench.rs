//! The gate by itself, for the benchmark: from the bytes of a model's arguments to a verdict, with no run around it.
//!
//! Leaves to others: everything else. It is in no package.

use crate::browser::Engine;
use crate::tools::{Definition, Policy, Registry, gate};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// A registry and the way into it.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Gate {
    registry: Registry,
    policy: Policy,
}

#[wasm_bindgen]
impl Gate {
    /// The tools of this JSON list, as `tools.register` takes them.
    #[wasm_bindgen(constructor)]
    pub fn new(tools: &str) -> Result<Gate, JsError> {
        let mut registry = Registry::with(crate::ports::PatternEngine::new(Rc::new(Engine)));
        let tools = crate::json::parse(tools).unwrap_or_default();
        for tool in tools.as_array().into_iter().flatten() {
            let added = Definition::parse(tool).and_then(|tool| registry.register(tool, false));
            added.map_err(|error| JsError::new(&error.message))?;
        }
        Ok(Gate { registry, policy: Policy::default() })
    }

    /// Whether a call with these arguments, UTF-8 of JSON, would run.
    pub fn verdict(&self, tool: &str, args: &[u8]) -> bool {
        let args = std::str::from_utf8(args).unwrap_or_default();
        gate(&self.registry, &self.policy, tool, args).is_ok()
    }
}
