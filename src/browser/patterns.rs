//! What the browser's own engine knows of regular expressions: which are some, and which characters a class has.

use crate::ports::Patterns;
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
    fn test(&self, source: &str, unicode: bool, c: Option<char>) -> Result<bool, String> {
        let flags = if unicode { "u" } else { "" };
        let regex = RegExp::new(source, flags).map_err(|error| String::from(error.message()))?;
        Ok(c.is_some_and(|c| regex.test(c.encode_utf8(&mut [0; 4]))))
    }
}
