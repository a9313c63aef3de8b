#![no_main]

lodger_fuzz::fuzz!("openai-chat");
