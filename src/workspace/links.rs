//! Links between pages: `[[Title]]`, `[[Title|shown]]`, `[[slug]]`.
//!
//! Decides what is a link, and which pages mention which target. Promises: one pass over a text. The index is
//! kept up page by page. Leaves to others: which page a target means (`PageTree::resolve`, which tries titles
//! before slugs, in upper or lower case).

use super::lists::Lists;
use super::text::{fold, one_line};
use crate::maps::Named;
use std::ops::Range;

/// A link as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link<'a> {
    /// The bytes from `[[` to `]]`.
    pub(super) span: Range<usize>,
    /// What it points to, as written.
    pub(super) target: &'a str,
    /// What is shown instead, where something is.
    pub(super) shown: Option<&'a str>,
}

/// All links of a text, in order. A link has no bracket and no line break inside.
pub(super) fn parse(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    // Where the inner text of a link would begin, once `[[` has been seen.
    let mut open: Option<usize> = None;
    let mut before = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => open = (before == Some(b'[')).then_some(at + 1),
            b']' if before == Some(b']') => {
                let inner = open.take().and_then(|from| Some((from, text.get(from..at - 1)?)));
                if let Some((from, inner)) = inner {
                    let (target, shown) = match inner.split_once('|') {
                        Some((target, shown)) => (target, Some(shown)),
                        None => (inner, None),
                    };
                    if !target.trim().is_empty() {
                        links.push(Link { span: from - 2..at + 1, target, shown });
                    }
                }
            }
            b'\n' | b'\r' => open = None,
            // A single bracket inside ends what could have been a link.
            _ if before == Some(b']') => open = None,
            _ => {}
        }
        before = Some(byte);
    }
    links
}

/// Whether a title can stand in a link.
pub(super) fn can_hold(title: &str) -> bool {
    !title.contains(['[', ']', '|'])
}

/// The text with every link whose folded target is `old` pointing to `target`; `None`: there is none.
pub(super) fn retarget(text: &str, old: &str, target: &str, shown: Option<&str>) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for link in parse(text) {
        if fold(link.target) != old {
            continue;
        }
        result.push_str(text.get(done..link.span.start)?);
        result.push_str("[[");
        result.push_str(target);
        if let Some(shown) = link.shown.or(shown) {
            result.push('|');
            result.push_str(shown);
        }
        result.push_str("]]");
        done = link.span.end;
    }
    if done == 0 {
        return None;
    }
    result.push_str(text.get(done..)?);
    Some(result)
}

/// What a text links to, in order, each target once, as written.
pub(super) fn targets(text: &str) -> Vec<String> {
    let mut seen = Named::default();
    let mut found = Vec::new();
    for link in parse(text) {
        if seen.insert(&fold(link.target), ()).is_none() {
            found.push(one_line(link.target));
        }
    }
    found
}

/// Which pages mention which folded target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    mentions: Lists,
}

impl Links {
    /// Takes the links of a page's text in.
    pub(super) fn add(&mut self, slug: &str, text: &str) {
        for target in targets(text) {
            self.mentions.add(&fold(&target), 0, slug);
        }
    }

    /// Takes them out again.
    pub(super) fn remove(&mut self, slug: &str, text: &str) {
        for target in targets(text) {
            self.mentions.remove(&fold(&target), 0, slug);
        }
    }

    /// The pages that mention a folded target.
    pub(super) fn to(&self, target: &str) -> impl Iterator<Item = &str> {
        self.mentions.get(target).iter().map(|(_, slug)| slug.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(&str, Option<&str>)> {
        parse(text).into_iter().map(|link| (link.target, link.shown)).collect()
    }

    #[test]
    fn links_are_found() {
        assert_eq!(
            parts("[[A]] and [[B c|the b]], [[d-e]]."),
            [("A", None), ("B c", Some("the b")), ("d-e", None)]
        );
        assert_eq!(parts("[[[A]]] [[[[B]]]]"), [("A", None), ("B", None)]);
        assert_eq!(parts("[[Ä|ö|ü]]"), [("Ä", Some("ö|ü"))]);
        assert_eq!(parts("[[A|]]"), [("A", Some(""))]);
        assert_eq!(parse("x[[A]]")[0].span, 1..6);
    }

    #[test]
    fn what_is_no_link_is_left() {
        for text in [
            "", "[[]]", "[[ ]]", "[[|x]]", "[[a\nb]]", "[[a", "a]]", "[a]", "[ [a]]", "[[a] ]", "[[a]b]]",
            "[[[", "]]]]",
        ] {
            assert!(parse(text).is_empty(), "{text}");
        }
        assert_eq!(parts("[[a [[b]]"), [("b", None)]);
        assert_eq!(parts("[[a[b]]"), []);
    }

    #[test]
    fn links_follow_to_another_target() {
        let text = "See [[ old  Name ]], [[OLD NAME|it]], [[other]] é [[x|old name]]";
        assert_eq!(
            retarget(text, "old name", "New", None).unwrap(),
            "See [[New]], [[New|it]], [[other]] é [[x|old name]]"
        );
        assert_eq!(
            retarget("[[old name]] [[old name|it]]", "old name", "slug", Some("New")).unwrap(),
            "[[slug|New]] [[slug|it]]"
        );
        assert_eq!(retarget(text, "nothing", "New", None), None);
    }

    #[test]
    fn targets_are_given_once() {
        assert_eq!(targets("[[B]] [[a|x]] [[b]] [[A]]"), ["B", "a"]);
    }

    #[test]
    fn the_index_forgets_what_is_taken_out() {
        let mut links = Links::default();
        links.add("one", "[[Two]] [[three]]");
        links.add("four", "[[two]]");
        assert_eq!(links.to("two").collect::<Vec<_>>(), ["four", "one"]);
        links.remove("one", "[[Two]] [[three]]");
        assert_eq!(links.to("two").collect::<Vec<_>>(), ["four"]);
        links.remove("four", "[[two]]");
        assert_eq!(links, Links::default());
    }
}
