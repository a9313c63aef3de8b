//! Slugs: the keys of pages, made from titles.
//!
//! Decides what a slug may look like: lower-case letters and digits of any script, with single hyphens between
//! words. Promises: `of` gives such a slug for any title. Leaves to others: that it is free.

use super::lower::lower;
use super::text::is_word;

/// The longest slug that is made from a title, in characters.
const MAX: usize = 80;
/// What a title without letters and digits gives.
const FALLBACK: &str = "page";

/// The slug of a title.
pub(super) fn of(title: &str) -> String {
    let mut slug = String::new();
    let mut gap = false;
    let mut length = 0;
    for c in title.chars() {
        if is_word(c) {
            let room = if gap { 2 } else { 1 };
            if length + room > MAX {
                break;
            }
            if gap {
                slug.push('-');
            }
            lower(c, &mut slug);
            length += room;
            gap = false;
        } else if !matches!(c, '\'' | '\u{2019}') {
            // An apostrophe joins: "dragon's" is one word.
            gap = length > 0;
        }
    }
    if slug.is_empty() { FALLBACK.into() } else { slug }
}

/// Whether a slug is as one made from a title could be.
pub(super) fn is_valid(slug: &str) -> bool {
    of(slug) == slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_give_readable_slugs() {
        for (title, slug) in [
            ("Dragon Lore", "dragon-lore"),
            ("  --Dragon's  Lore!! ", "dragons-lore"),
            ("Über Größe", "über-größe"),
            ("История Рима", "история-рима"),
            ("東京 タワー", "東京-タワー"),
            ("हिन्दी पाठ", "हिन्दी-पाठ"),
            ("a/b\\c.d_e", "a-b-c-d-e"),
            ("C++ & Rust, 2026", "c-rust-2026"),
            ("!!!", "page"),
            ("", "page"),
            ("\u{1f409}", "page"),
            ("../../etc", "etc"),
        ] {
            assert_eq!(of(title), slug, "{title}");
            assert!(is_valid(slug), "{slug}");
        }
    }

    #[test]
    fn long_titles_are_cut_between_characters() {
        let slug = of(&"aé ".repeat(100));
        assert_eq!(slug.chars().count(), 80);
        assert!(is_valid(&slug) && !slug.ends_with('-'));
    }

    #[test]
    fn what_no_title_gives_is_no_slug() {
        for bad in ["", "A", "a b", "-a", "a-", "a--b", "a/b", "a.b"] {
            assert!(!is_valid(bad), "{bad}");
        }
    }
}
