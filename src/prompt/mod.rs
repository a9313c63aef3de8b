//! What the model is told besides the conversation.
//!
//! Decides the system prompt, and how what tools say is told from words that count (`frame`). Promises: no clock and no
//! random value in it, so that a provider's prompt cache holds. Leaves to others: the tools' definitions, which go by the
//! provider's own slot (`model/`).

mod frame;

pub use frame::framed;

/// The system prompt: the page's instructions, then what the frame with this mark means.
pub fn system(instructions: &str, mark: &str) -> String {
    let instructions = instructions.trim();
    let explained = frame::explained(mark);
    if instructions.is_empty() { explained } else { [instructions, "\n\n", &explained].concat() }
}
