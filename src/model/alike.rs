//! Events that differ from the one before by their text alone.
//!
//! Decides when an event need not be parsed. Its bytes are then those of the event before, but for a text that was
//! appended to a block, and for members that no codec reads. Nearly all events of a stream are so, whatever their
//! server writes around the text. Promises: such an event does what its codec would do, because all else that the codec
//! would do was done by the event before. Leaves to others: which events do nothing but append (the codecs), what the
//! text is appended to (`assembler`), and that all other events are parsed (`decoder`).

use crate::json::Reader;
use std::borrow::Cow;
use std::ops::Range;

/// The members that servers change with each event, and no codec reads.
const UNREAD: [&str; 3] = [r#""sequence_number":"#, r#""created_at":"#, r#""obfuscation":"#];

/// The event before, where it has only appended a text.
#[derive(Debug, Default)]
pub(super) struct Alike {
    /// Its data.
    data: String,
    /// The values in it that may differ, and whether each is the text. Empty: it has done something else.
    gaps: Vec<(Range<usize>, bool)>,
}

impl Alike {
    /// Nothing is like the event before.
    pub(super) fn forget(&mut self) {
        self.gaps.clear();
    }

    /// Keeps an event that has only appended this text. Where that is no string of its data, but a copy without its
    /// escapes, no event is like it.
    pub(super) fn keep(&mut self, data: &str, text: &Range<usize>) {
        let begin = data.as_ptr() as usize;
        for (at, _) in data.bytes().enumerate().filter(|(_, byte)| *byte == b'"') {
            let rest = data.get(at..).unwrap_or_default();
            // A quote inside a string has a backslash before it: what is found here is the end of a name.
            let unread = UNREAD.iter().find_map(|name| Reader::new(rest.strip_prefix(name)?).value());
            let gap = match unread {
                Some(value) => addresses(value),
                None if begin + at + 1 == text.start => begin + at..text.end + 1,
                None => continue,
            };
            self.gaps.push((gap.start - begin..gap.end - begin, unread.is_none()));
        }
        self.data.clear();
        self.data.push_str(data);
    }

    /// The text of an event that is like the one before.
    pub(super) fn text<'a>(&self, data: &'a str) -> Option<Cow<'a, str>> {
        let mut reader = Reader::new(data);
        let (mut from, mut text) = (0, None);
        for (gap, is_text) in &self.gaps {
            reader.exactly(self.data.get(from..gap.start)?)?;
            from = gap.end;
            if *is_text {
                text = Some(reader.string()?);
            } else {
                reader.value()?;
            }
        }
        // Where there is no text, a codec may look for it elsewhere.
        let text = text.filter(|text| !text.is_empty())?;
        reader.exactly(self.data.get(from..)?)?;
        reader.space().is_none().then_some(text)
    }
}

/// Where a text lies in memory.
pub(super) fn addresses(text: &str) -> Range<usize> {
    let begin = text.as_ptr() as usize;
    begin..begin + text.len()
}
