//! The browser's side of the house, in a browser: storage, locks, `fetch`, events.
//!
//! Run by `wasm-bindgen-test-runner` through `webdriver.json`, in Chromium and in Firefox. Each test has a
//! workspace of its own, named after it, so that none meets what another one left.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test file throughout, helpers included

mod app;
mod events;
mod faults;
mod fetch;
mod host;
mod lock;
mod patterns;
mod store;
mod vault;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
