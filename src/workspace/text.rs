//! Letters and words, for slugs, titles and the search.
//!
//! Decides what belongs to a word and when two titles are the same. Promises: one pass over the text. Leaves
//! to others: what words are good for.

use super::lower::lower;

/// Whether a character belongs to a word: letters and digits of any script, and the marks that scripts put
/// on letters (a word of Hindi or a decomposed "é" would fall apart without them).
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c,
            '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{65f}' | '\u{93c}' | '\u{94d}'
            | '\u{9bc}' | '\u{9cd}' | '\u{a3c}' | '\u{a4d}' | '\u{abc}' | '\u{acd}' | '\u{b3c}' | '\u{b4d}'
            | '\u{bcd}' | '\u{c4d}' | '\u{cbc}' | '\u{ccd}' | '\u{d4d}' | '\u{dca}' | '\u{e47}'..='\u{e4e}'
            | '\u{ec8}'..='\u{ecd}' | '\u{1039}' | '\u{103a}' | '\u{17d2}' | '\u{200c}' | '\u{200d}')
}

/// Whether a character is a word of its own: scripts that are written without spaces. Hangul has spaces.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

/// A title as it is kept: white space at the ends gone, elsewhere one space.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// What is equal for titles that count as the same.
pub(super) fn fold(title: &str) -> String {
    let line = one_line(title);
    let mut folded = String::with_capacity(line.len());
    let mut inside = false;
    for (at, c) in line.char_indices() {
        // The one letter whose small form is another at the end of a word.
        let rest = line.get(at + c.len_utf8()..).unwrap_or_default();
        if c == 'Σ' && inside && !rest.starts_with(is_word) {
            folded.push('ς');
        } else {
            lower(c, &mut folded);
        }
        inside = is_word(c);
    }
    folded
}

/// The most characters of a word that count; what follows them is not looked at.
const LONGEST: usize = 64;

/// Calls `each` with the place (in bytes) and the lower-case text of every word, until it returns `false`.
pub(super) fn words(text: &str, each: &mut dyn FnMut(usize, &str) -> bool) {
    let mut word = String::new();
    let mut start = 0;
    let mut length = 0;
    for (at, c) in text.char_indices() {
        let alone = is_ideograph(c);
        if !alone && is_word(c) {
            if length == 0 {
                start = at;
            }
            if length < LONGEST {
                lower(c, &mut word);
            }
            length += 1;
            continue;
        }
        if length > 0 {
            if !each(start, &word) {
                return;
            }
            word.clear();
            length = 0;
        }
        if alone {
            lower(c, &mut word);
            if !each(at, &word) {
                return;
            }
            word.clear();
        }
    }
    if length > 0 {
        each(start, &word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        words(text, &mut |at, word| {
            found.push((at, word.to_string()));
            true
        });
        found
    }

    #[test]
    fn words_are_lower_case_with_their_places() {
        let found = all("Über-Drachen: 3x, ok");
        let expected = [(0, "über"), (6, "drachen"), (15, "3x"), (19, "ok")];
        assert_eq!(found, expected.map(|(at, word)| (at, word.to_string())));
        assert!(all(" -- \u{1f409} ").is_empty());
    }

    #[test]
    fn scripts_without_spaces_are_split_into_characters() {
        let found: Vec<_> = all("東京tower、カナ").into_iter().map(|word| word.1).collect();
        assert_eq!(found, ["東", "京", "tower", "カ", "ナ"]);
        let found: Vec<_> = all("हिन्दी 한국어 e\u{301}té").into_iter().map(|word| word.1).collect();
        assert_eq!(found, ["हिन्दी", "한국어", "e\u{301}té"]);
    }

    #[test]
    fn a_word_counts_to_its_64th_character_and_reading_can_stop() {
        let found = all(&format!("{} end", "ab".repeat(1000)));
        assert_eq!(found[0].1, "ab".repeat(32));
        assert_eq!(found[1], (2001, "end".to_string()));
        let mut count = 0;
        words("a b c", &mut |_, _| {
            count += 1;
            count < 2
        });
        assert_eq!(count, 2);
    }

    #[test]
    fn titles_are_the_same_whatever_their_case_and_spaces() {
        assert_eq!(one_line(" a \n\t b "), "a b");
        assert_eq!(fold(" Dragon\n LORE "), fold("dragon lore"));
        assert_ne!(fold("dragonlore"), fold("dragon lore"));
        for title in ["ΟΔΟΣ", "ΣΑΣ ΣΟΦΟΣ", "ὈΔΥΣΣΕΎΣ 2", "Σ", "ÜBER Straße", "İI"] {
            assert_eq!(fold(title), title.to_lowercase());
        }
    }
}
