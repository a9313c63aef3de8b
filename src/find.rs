//! Texts in the plainest way: finding one in another, joining them, and which of their characters nobody sees.
//!
//! What is looked for here is a few letters long. `str::find`, `join` and their kin are made for more, which is 6 KB of
//! WebAssembly as soon as one of them is used.

/// Where the part begins.
pub fn position(text: &str, part: &str) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.as_bytes().windows(part.len()).position(|window| window == part.as_bytes())
}

/// Whether the part is in the text.
pub fn has(text: &str, part: &str) -> bool {
    position(text, part).is_some()
}

/// What is before the part and what comes after it.
pub fn split<'a>(text: &'a str, part: &str) -> Option<(&'a str, &'a str)> {
    let (before, rest) = text.split_at_checked(position(text, part)?)?;
    Some((before, rest.get(part.len()..)?))
}

/// The text with something else in place of every part. An empty part is in no text.
pub fn replace(text: &str, part: &str, by: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = split(rest, part).filter(|_| !part.is_empty()) {
        replaced.push_str(before);
        replaced.push_str(by);
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

/// The first so many characters.
pub fn beginning(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// The whole number that a text is. One reader for all: the standard library has one for each kind of number.
pub fn whole(text: &str) -> Option<i64> {
    let (digits, sign) = text.strip_prefix('-').map_or((text, 1), |digits| (digits, -1));
    Some(i64::try_from(digits.parse::<u64>().ok()?).ok()? * sign)
}

/// The texts, with something between them.
pub fn join<T: AsRef<str>>(texts: &[T], between: &str) -> String {
    let mut joined = String::new();
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            joined.push_str(between);
        }
        joined.push_str(text.as_ref());
    }
    joined
}

/// Whether nobody sees a character, or it turns the order of a line around. Line ends and tabs are seen.
pub fn hidden(c: char) -> bool {
    match c {
        '\n' | '\t' | '\r' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        // Not the last two, which say how an emoji looks.
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

/// The same where a character has no use of its own either: in a name, or as all that a page says.
pub fn unseen(c: char) -> bool {
    match c {
        '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe0e}'
        | '\u{fe0f}'
        | '\u{ffa0}' => true,
        _ => hidden(c),
    }
}

/// Whether a character turns the direction of the text around it.
pub fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unicode's list of what is drawn as nothing (`Default_Ignorable_Code_Point` of version 17), and what turns lines around.
    #[test]
    fn what_is_drawn_as_nothing_is_unseen() {
        let lone = ['\u{ad}', '\u{34f}', '\u{61c}', '\u{3164}', '\u{feff}', '\u{ffa0}', '\u{2800}'];
        let ranges = [
            '\u{115f}'..='\u{1160}',
            '\u{17b4}'..='\u{17b5}',
            '\u{180b}'..='\u{180f}',
            '\u{200b}'..='\u{200f}',
            '\u{202a}'..='\u{202e}',
            '\u{2060}'..='\u{206f}',
            '\u{fe00}'..='\u{fe0f}',
            '\u{fff0}'..='\u{fffb}',
            '\u{1bca0}'..='\u{1bca3}',
            '\u{1d173}'..='\u{1d17a}',
            '\u{e0000}'..='\u{e0fff}',
        ];
        for c in lone.into_iter().chain(ranges.into_iter().flatten()) {
            assert!(unseen(c), "{}", c.escape_unicode());
        }
        for c in "a é東📦👩\u{300}\u{fffc}\u{fffd}\n\t".chars() {
            assert!(!unseen(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn it_finds_what_the_standard_library_finds() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut text = |most: usize| -> String {
            let length = random.usize(..=most);
            (0..length).map(|_| random.choice(['a', 'b', 'é', '東']).unwrap_or('a')).collect()
        };
        for _ in 0..20_000 {
            let (text, part, by) = (text(12), text(3), text(3));
            assert_eq!(position(&text, &part), text.find(&part), "{text} {part}");
            assert_eq!(has(&text, &part), text.contains(&part));
            assert_eq!(split(&text, &part), text.split_once(&part));
            if !part.is_empty() {
                assert_eq!(replace(&text, &part, &by), text.replace(&part, &by));
            }
        }
        assert_eq!(replace("ab", "", "x"), "ab");
        for (characters, begins) in ["", "é", "é東", "é東x", "é東x"].into_iter().enumerate() {
            assert_eq!(beginning("é東x", characters), begins);
        }
        for text in
            ["0", "-0", "12", "-12", "+1", "", "-", "1.0", "x", "9223372036854775807", "9223372036854775808"]
        {
            assert_eq!(whole(text), text.parse().ok(), "{text}");
        }
        for texts in [vec![], vec!["a"], vec!["", "b", "c"]] {
            assert_eq!(join(&texts, ", "), texts.join(", "));
        }
    }
}
