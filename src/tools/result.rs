//! What a tool says, made fit for the journal and the model.
//!
//! Decides how much of a result is kept and what stands for an empty one. Promises: the text is never empty
//! and never longer than [`MAX_RESULT_BYTES`], its marker included, and no character is cut in two. Leaves to
//! others: framing it by its source.

/// The most that is kept of one result, in bytes of UTF-8.
pub const MAX_RESULT_BYTES: usize = 102_400;

/// What the model reads when a tool returned nothing.
pub const EMPTY_RESULT: &str = "Done. The tool returned no text.";

/// A result as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolText {
    /// The text; never empty.
    pub text: String,
    /// How many bytes were left out; `None`: it is whole.
    pub truncated: Option<usize>,
}

impl ToolText {
    /// From what the tool said, however long.
    pub fn new(text: String) -> ToolText {
        if text.trim().is_empty() {
            return ToolText { text: EMPTY_RESULT.into(), truncated: None };
        }
        if text.len() <= MAX_RESULT_BYTES {
            return ToolText { text, truncated: None };
        }
        let whole = text.len();
        // The marker with the largest number that can stand in it: the real one is never longer.
        let room = MAX_RESULT_BYTES.saturating_sub(marker(whole, whole).len());
        let mut text = text;
        text.truncate(text.floor_char_boundary(room));
        let cut = whole - text.len();
        text.push_str(&marker(cut, whole));
        ToolText { text, truncated: Some(cut) }
    }
}

fn marker(cut: usize, whole: usize) -> String {
    format!("\n\n[The result is cut here: {cut} of {whole} bytes are left out. Ask for a smaller part.]")
}
