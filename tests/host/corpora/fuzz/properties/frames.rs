//! Where events begin and end: as the standard says, wherever the bytes are cut.

use super::{cuts, draws};
use lodger::error::{Code, ErrorInfo};
use lodger::model::{Frames, Wire};

/// The name and the data of each.
type Events = Vec<(String, String)>;

/// The frames of this wire are what `expected` reads in the simplest way.
pub fn hold(wire: Wire, expected: fn(&[u8]) -> Events, bytes: &[u8]) {
    if bytes.windows(3).any(|three| three.eq_ignore_ascii_case(b"\\ud")) {
        return; // Where half of a surrogate pair is in a name, parsers are not of one mind.
    }
    let whole = expected(bytes);
    assert_eq!(read(wire, [bytes], usize::MAX), (whole.clone(), None), "whole");
    let random = &mut draws(bytes);
    for pieces in cuts(bytes, random) {
        assert_eq!(read(wire, pieces, usize::MAX).0, whole, "cut");
    }
    // A reader that has had enough is not asked again, wherever the bytes are cut.
    let enough = random.usize(..=whole.len());
    for pieces in cuts(bytes, random) {
        let (got, error) = read(wire, pieces, enough);
        assert_eq!(got, whole[..enough], "stopped");
        assert_eq!(error.is_some(), enough < whole.len());
    }
}

/// The events of these pieces, up to so many; then it says no.
fn read<'a>(wire: Wire, pieces: impl IntoIterator<Item = &'a [u8]>, most: usize) -> (Events, Option<Code>) {
    let mut frames = Frames::new(wire);
    let mut events = Events::new();
    let mut on = |name: &str, data: &str| {
        if events.len() == most {
            return Err(ErrorInfo::new(Code::Aborted, "enough"));
        }
        events.push((name.into(), data.into()));
        Ok(())
    };
    let pushed = pieces.into_iter().try_for_each(|piece| frames.push(piece, &mut on));
    let ended = pushed.and_then(|()| frames.end(&mut on));
    (events, ended.err().map(|error| error.code))
}

/// The bytes as text: the lines that have an end, and what has none.
fn split(bytes: &[u8]) -> (Vec<String>, String) {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<String> = text.split('\n').map(Into::into).collect();
    let rest = lines.pop().unwrap_or_default();
    (lines, rest)
}

/// Server-sent events, by the steps of the HTML standard.
pub fn sse(bytes: &[u8]) -> Events {
    let (mut events, mut name, mut data) = (Events::new(), String::new(), None::<String>);
    for line in split(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)).0 {
        if line.is_empty() {
            let name = std::mem::take(&mut name);
            events.extend(data.take().map(|data| (name, data)));
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.into(),
            "data" => data = Some(data.map_or(value.into(), |data| data + "\n" + value)),
            _ => {}
        }
    }
    events
}

/// Lines of JSON: all that say something, if the first of them is an object, behind a mark perhaps; one without its end
/// if it is whole.
pub fn lines(bytes: &[u8]) -> Events {
    let (mut lines, rest) = split(bytes);
    let said = |line: &str, first: bool| {
        let line = if first { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        line.trim_matches(|c: char| c.is_ascii_whitespace()).to_string()
    };
    // What is only passed over may have half of a surrogate pair and numbers that are none.
    let last = said(&rest, true);
    if last.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(&last).is_ok() {
        lines.push(rest);
    }
    let mut events = Events::new();
    for line in lines {
        let line = said(&line, events.is_empty());
        if events.is_empty() && !line.is_empty() && !line.starts_with('{') {
            break;
        }
        if !line.is_empty() {
            events.push((String::new(), line));
        }
    }
    events
}
