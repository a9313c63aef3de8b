#![no_main]

lodger_fuzz::fuzz!("gemini");
