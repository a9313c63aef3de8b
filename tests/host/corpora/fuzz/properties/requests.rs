//! Whatever a model has answered, the next request is one that every provider accepts.
//!
//! The judges are the strict rules of the providers, not our encoders.

use crate::support::anthropic_rules::Signed;
use crate::support::strict::check_request;
use lodger::error::ErrorInfo;
use lodger::model::{
    Answer, Block, Dialect, Endpoint, Message, PRESETS, Replay, Role, Settings, StopReason, Wire,
};
use serde::de::IgnoredAny;
use serde_json::Value;

/// The conversation goes on after this answer of that wire: with its own provider, and with some of the others.
pub fn accepted(from: Wire, result: &Result<Answer, (ErrorInfo, Answer)>, random: &mut fastrand::Rng) {
    let blocks: Vec<Block> = match result {
        // What was refused is not sent back.
        Ok(Answer { stop: Some(StopReason::Refusal(_)), .. }) => return,
        Ok(answer) => answer.blocks.clone(),
        // Of what broke off only the text is.
        Err((_, answer)) => {
            answer.blocks.iter().filter(|block| matches!(block, Block::Text(_))).cloned().collect()
        }
    };
    for preset in PRESETS {
        for own in [false, true] {
            if own && (preset.wire != from || result.is_err()) || !own && random.u8(..4) > 0 {
                continue;
            }
            let body = request(preset.wire, preset.dialect, own, &blocks);
            // What goes back as it came may have halves of surrogate pairs in it, as it had when it came.
            let read = serde_json::from_str::<IgnoredAny>(&body);
            read.unwrap_or_else(|why| panic!("{why}: {body}"));
            if own && !judged(preset.dialect, &blocks) {
                continue;
            }
            let body: Value = serde_json::from_str(&body).unwrap_or_else(|why| panic!("{why}: {body}"));
            let signed = signed(&blocks);
            let name = preset.name();
            check_request(preset.wire, &body, &signed, false)
                .unwrap_or_else(|why| panic!("{name}, own: {own}: {why}\n{body:#}"));
        }
    }
}

/// The body of the request after this answer, its calls answered.
fn request(wire: Wire, dialect: Dialect, own: bool, said: &[Block]) -> String {
    let text = |text: &str| vec![Block::Text(text.into())];
    let results = said.iter().filter_map(|block| match block {
        Block::ToolCall { id, name, .. } => Some(Block::ToolResult {
            id: id.clone(),
            name: name.clone(),
            text: "done".into(),
            is_error: false,
            files: Vec::new(),
        }),
        _ => None,
    });
    let mut messages = String::new();
    for (role, blocks, own) in [
        (Role::User, text("Hi"), false),
        (Role::Assistant, said.to_vec(), own),
        (Role::User, results.collect(), false),
        (Role::User, text("Go on."), false),
    ] {
        let mut out = String::new();
        wire.encode_message(&dialect, &Message { role, blocks, own }, &mut out);
        if !messages.is_empty() && !out.is_empty() {
            messages.push(',');
        }
        messages.push_str(&out);
    }
    let endpoint = Endpoint { base_url: "https://example.com/v1".into(), api_version: None, dialect };
    let settings = Settings { model: "m".into(), ..Settings::default() };
    wire.request(&endpoint, &settings, &[], &messages).unwrap().body
}

/// Whether the rules can tell: what only the provider understands goes back to it as it came, and the rules know one
/// form of content.
fn judged(dialect: Dialect, blocks: &[Block]) -> bool {
    let mut proofs: Vec<&str> = Vec::new();
    dialect.thinking != Replay::Parts
        && blocks.iter().all(|block| match block {
            Block::Raw(_) | Block::Extra(_) => false,
            Block::Thinking { signature: Some(proof), .. } => {
                let fresh = !proofs.contains(&proof.as_str());
                proofs.push(proof);
                fresh
            }
            _ => true,
        })
}

/// What this answer has signed.
fn signed(blocks: &[Block]) -> Signed {
    let thoughts = blocks.iter().enumerate().filter_map(|(at, block)| match block {
        Block::Thinking { text, signature: Some(proof) } => Some((proof.clone(), (at, text.clone()))),
        _ => None,
    });
    thoughts.collect()
}
