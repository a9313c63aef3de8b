//! Patterns that keep an engine busy without end.
//!
//! Decides which ones are refused: a repeated group that can be left and entered again at any place of what it has
//! repeated, as in `(a+)+` or `(\w+\s?)*`. An engine that goes back tries all ways to divide a text among its rounds, twice
//! as many for each character. Leaves to others: what such a group hides from this view, two alternatives that mean the
//! same (`(a|a)*`) for one.

use crate::find;

/// What is known of the group that is read.
#[derive(Clone, Copy, Default)]
struct Group {
    /// In this alternative: something is repeated without end.
    endless: bool,
    /// In this alternative: something else has to be there, which tells one round from the next.
    marked: bool,
    /// An alternative before was repeated and had no mark.
    free: bool,
}

impl Group {
    /// The alternative is over.
    fn close(&mut self) {
        self.free |= self.endless && !self.marked;
        (self.endless, self.marked) = (false, false);
    }
}

/// Whether a pattern would keep an engine busy without end.
pub(super) fn is_endless(pattern: &str) -> bool {
    let mut groups = vec![Group::default()];
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        // Whether what was just read is a group that repeats freely.
        let mut free = false;
        match c {
            '(' => {
                groups.push(Group::default());
                // What a group begins with says how it is kept, not what it matches.
                if chars.next_if_eq(&'?').is_some() {
                    let named = chars.next_if_eq(&'<').is_some();
                    if chars.next_if(|c| matches!(c, '=' | '!' | ':')).is_none() && named {
                        chars.by_ref().find(|c| *c == '>');
                    }
                }
                continue;
            }
            '|' => {
                if let Some(group) = groups.last_mut() {
                    group.close();
                }
                continue;
            }
            ')' => {
                let mut group = groups.pop().unwrap_or_default();
                group.close();
                free = group.free;
            }
            '[' => {
                let mut escaped = false;
                for c in chars.by_ref() {
                    match c {
                        ']' if !escaped => break,
                        _ => escaped = c == '\\' && !escaped,
                    }
                }
            }
            '\\' => drop(chars.next()),
            // They match no character.
            '^' | '$' => continue,
            _ => {}
        }
        let (least, endless) = match chars.peek() {
            Some('*') => (0, true),
            Some('+') => (1, true),
            Some('?') => (0, false),
            Some('{') => {
                let bounds = chars.clone().skip(1).take_while(|c| *c != '}').collect::<String>();
                let (least, most) =
                    bounds.split_once(',').map_or((&*bounds, Some("1")), |(a, b)| (a, Some(b)));
                (find::whole(least).unwrap_or(1), most == Some(""))
            }
            _ => (1, false),
        };
        if free && endless {
            return true;
        }
        if let Some(group) = groups.last_mut() {
            group.endless |= endless || free;
            group.marked |= least > 0 && !endless && !free;
        }
        if matches!(chars.peek(), Some('{')) {
            chars.by_ref().find(|c| *c == '}');
        } else {
            chars.next_if(|c| matches!(c, '*' | '+' | '?'));
        }
        chars.next_if_eq(&'?');
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_endless;

    #[test]
    fn what_can_be_divided_in_many_ways_is_refused() {
        for endless in [
            r"^(a+)+$",
            r"(a*)*",
            r"(?:\w+\s?)*$",
            r"([a-z]+)*!",
            r"(x|a+)+",
            r"((a+))+",
            r"(a{2,})+",
            r"(a*b*)*",
            r"(?<name>\d+)+",
            r"([\]a]+){1,}",
        ] {
            assert!(is_endless(endless), "{endless}");
        }
        for bounded in [
            r"^[a-z]+$",
            r"^(a+b)+$",
            r"^([a-z0-9]+-)*[a-z0-9]+$",
            r"(a+)?",
            r"(a+){1,3}",
            r"^\d{3}-\d{4}$",
            r"\(a+\)+",
            r"[(a+)]+",
            r"^(?:https?://)?[^/]+(/.*)?$",
            r"(a|b)+",
            r"^[^@]+@[^@]+(\.[^@]+)+$",
        ] {
            assert!(!is_endless(bounded), "{bounded}");
        }
    }
}
