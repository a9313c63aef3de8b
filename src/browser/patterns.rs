//! Regular expressions by the browser's own engine, whose language is the one that JSON Schema asks for.

use crate::ports::{Pattern, Patterns};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

// js-sys has this class too, but its constructor lets a bad pattern's exception through.
#[wasm_bindgen]
extern "C" {
    type RegExp;
    #[wasm_bindgen(catch, constructor)]
    fn new(pattern: &str, flags: &str) -> Result<RegExp, js_sys::Error>;
    #[wasm_bindgen(method)]
    fn test(this: &RegExp, text: &str) -> bool;
}

/// The engine of this browser.
#[derive(Clone, Copy, Debug, Default)]
pub struct Engine;

impl Patterns for Engine {
    fn compile(&self, pattern: &str, unicode: bool) -> Result<Pattern, String> {
        let flags = if unicode { "u" } else { "" };
        let regex = RegExp::new(pattern, flags).map_err(|error| String::from(error.message()))?;
        Ok(Rc::new(move |text| regex.test(text)))
    }
}
