//! What the model is told before the conversation.
//!
//! Decides the system prompt. Promises: no clock and no random value in it, so that a provider's prompt cache
//! holds. Leaves to others: the tools' definitions, which go by the provider's own slot (`model/`).

/// The system prompt: the page's instructions; empty when it gave none.
pub fn system(instructions: &str) -> String {
    instructions.trim().into()
}
