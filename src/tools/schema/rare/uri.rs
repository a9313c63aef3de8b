//! URIs as far as schemas name each other by them: RFC 3986's way from a base and a reference to the whole.
//!
//! Promises: nothing is fetched, and what is no URI becomes some text that nothing is found under.

use crate::find;

/// The part before the fragment, and the fragment if there is one.
pub(super) fn split_fragment(uri: &str) -> (&str, Option<&str>) {
    find::split(uri, "#").map_or((uri, None), |(before, fragment)| (before, Some(fragment)))
}

/// What a reference without a fragment means under a base.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.into();
    }
    if scheme(reference) > 0 {
        return clean(reference);
    }
    let base_scheme = base.get(..scheme(base)).unwrap_or_default();
    if reference.starts_with("//") {
        return clean(&[base_scheme, reference].concat());
    }
    let base_origin = base.get(..origin(base)).unwrap_or_default();
    let path = path(base.get(base_origin.len()..).unwrap_or_default());
    if reference.starts_with('?') {
        return clean(&[base_origin, path, reference].concat());
    }
    if reference.starts_with('/') {
        return clean(&[base_origin, reference].concat());
    }
    // Relative to the folder of the base.
    let folder = match path.bytes().rposition(|byte| byte == b'/') {
        Some(slash) => path.get(..=slash).unwrap_or_default(),
        None if base_origin.len() > base_scheme.len() => "/",
        None => "",
    };
    clean(&[base_origin, folder, reference].concat())
}

/// How long the scheme is, with its colon; 0: there is none.
fn scheme(uri: &str) -> usize {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    match uri.bytes().position(|byte| !part(byte)) {
        Some(end) if end > 0 && uri.as_bytes().get(end) == Some(&b':') => end + 1,
        _ => 0,
    }
}

/// How much of it the scheme and the authority are.
fn origin(uri: &str) -> usize {
    let scheme = scheme(uri);
    let rest = uri.get(scheme..).unwrap_or_default();
    match rest.strip_prefix("//") {
        Some(after) => {
            let end = after.bytes().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(after.len());
            scheme + 2 + end
        }
        None => scheme,
    }
}

/// The path, up to the query.
fn path(rest: &str) -> &str {
    find::split(rest, "?").map_or(rest, |(path, _)| path)
}

/// Without `.` and `..` in the path.
fn clean(uri: &str) -> String {
    let (origin, rest) = uri.split_at_checked(origin(uri)).unwrap_or((uri, ""));
    let path = path(rest);
    let query = rest.get(path.len()..).unwrap_or_default();
    let mut kept: Vec<&str> = Vec::new();
    let mut open = false;
    for (at, segment) in path.split('/').enumerate() {
        open = segment == "." || segment == "..";
        if segment == ".." && kept.len() > 1 {
            kept.pop();
        } else if !open || at == 0 {
            kept.push(segment);
        }
    }
    if open {
        kept.push("");
    }
    [origin, &find::join(&kept, "/"), query].concat()
}

/// The text that a fragment's percent signs stand for; what they do not rightly stand for stays.
pub(super) fn decode(fragment: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = fragment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| fragment.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_the_rfc_says() {
        // RFC 3986, section 5.4.
        let base = "http://a/b/c/d;p?q";
        for (reference, whole) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
        ] {
            assert_eq!(resolve(base, reference), whole, "{reference}");
        }
        for (base, reference, whole) in [
            ("", "item.json", "item.json"),
            ("", "/base", "/base"),
            ("/base", "other", "/other"),
            ("http://a", "g", "http://a/g"),
            ("urn:uuid:1", "", "urn:uuid:1"),
            ("urn:uuid:1", "urn:x?y", "urn:x?y"),
            ("file:///c:/f.json", "g.json", "file:///c:/g.json"),
        ] {
            assert_eq!(resolve(base, reference), whole, "{base} {reference}");
        }
    }

    #[test]
    fn fragments_are_taken_off_and_decoded() {
        assert_eq!(split_fragment("a#/b#c"), ("a", Some("/b#c")));
        assert_eq!(split_fragment("a"), ("a", None));
        assert_eq!(decode("%25a%2fé%zz%"), "%a/é%zz%");
        assert_eq!(decode("%ff"), "%ff");
    }
}
