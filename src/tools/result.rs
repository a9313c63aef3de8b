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
        ToolText::cut(text)
    }

    /// A text that is short enough.
    pub fn cut(text: String) -> ToolText {
        if text.len() <= MAX_RESULT_BYTES {
            return ToolText { text, truncated: None };
        }
        let whole = text.len();
        // The marker with the largest number that can stand in it: the real one is never longer.
        let mut room = MAX_RESULT_BYTES.saturating_sub(marker(whole, whole).len());
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        let mut text = text;
        text.truncate(room);
        let cut = whole - text.len();
        text.push_str(&marker(cut, whole));
        ToolText { text, truncated: Some(cut) }
    }
}

fn marker(cut: usize, whole: usize) -> String {
    format!(
        "\n\n[The result is cut here: {cut} of {whole} bytes are left out. To read on, call the tool again for the next \
         part, with its offset and limit if it has them, or for less.]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_kept_as_it_is() {
        for text in ["x".to_string(), "é".repeat(MAX_RESULT_BYTES / 2), " x ".into()] {
            assert_eq!(ToolText::new(text.clone()), ToolText { text, truncated: None });
        }
    }

    #[test]
    fn nothing_becomes_a_short_text() {
        for text in ["", " \n"] {
            assert_eq!(ToolText::new(text.into()), ToolText { text: EMPTY_RESULT.into(), truncated: None });
        }
    }

    /// Ours.
    #[test]
    fn a_long_result_is_cut_on_a_character_and_says_how_much_is_gone() {
        for (character, width) in [("a", 1), ("é", 2), ("東", 3), ("\u{1f409}", 4)] {
            for shift in 0..width {
                let whole = format!("{}{}", "x".repeat(shift), character.repeat(600_000 / width));
                let cut = ToolText::new(whole.clone());
                assert!(cut.text.len() <= MAX_RESULT_BYTES && cut.text.len() > MAX_RESULT_BYTES - 8);
                let kept = whole.len() - cut.truncated.unwrap();
                let (head, tail) = cut.text.split_at(kept);
                assert!(whole.starts_with(head));
                assert_eq!(
                    tail,
                    format!(
                        "\n\n[The result is cut here: {} of {} bytes are left out. To read on, call the tool again for the next part, with its offset and limit if it has them, or for less.]",
                        whole.len() - kept,
                        whole.len()
                    )
                );
            }
        }
        let barely = ToolText::new("x".repeat(MAX_RESULT_BYTES + 1));
        assert!(barely.text.len() <= MAX_RESULT_BYTES);
        // Cut once, it is not cut again.
        assert_eq!(ToolText::new(barely.text.clone()).truncated, None);
    }
}
