//! Files that a person sends with a message, or that a tool gives.
//!
//! Decides what kind of file a media type is, which model takes it, and what is said in place of one that is not taken.
//! Promises: a file is never lost in silence. A model that cannot have it is told what it was. Leaves to others: how a
//! wire writes it (the codecs), the bytes (`ports::marks`, `browser/`), what is refused at once (`harness/`).

use super::{Block, Peer};
use crate::json::{push_inside, push_text};
use crate::ports::marks::{Form, push_mark};

/// A file, without its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Its id: the same bytes of the same type have the same.
    pub id: String,
    /// Its media type, in lower case and without parameters.
    pub media_type: String,
    /// How many bytes it has.
    pub size: u64,
    /// What the person calls it; empty: nothing.
    pub name: String,
    /// Whether its bytes are lost.
    pub gone: bool,
}

/// What a file is for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Text: every model reads it.
    Text,
    /// An image of a kind that all providers know.
    Image,
    /// A PDF.
    Document,
    /// Nothing that any model takes.
    Other,
}

/// Types that are text though their names do not begin so.
const TEXTS: [&str; 12] = [
    "json",
    "xml",
    "javascript",
    "x-javascript",
    "ecmascript",
    "typescript",
    "x-sh",
    "sql",
    "yaml",
    "x-yaml",
    "toml",
    "x-ndjson",
];

impl File {
    /// What it is for a model.
    pub fn kind(&self) -> FileKind {
        let (family, name) = crate::find::split(&self.media_type, "/").unwrap_or_default();
        match family {
            "text" => FileKind::Text,
            _ if name.ends_with("+json") || name.ends_with("+xml") => FileKind::Text,
            "image" if matches!(name, "png" | "jpeg" | "gif" | "webp") => FileKind::Image,
            "application" if name == "pdf" => FileKind::Document,
            "application" if TEXTS.contains(&name) => FileKind::Text,
            _ => FileKind::Other,
        }
    }

    /// What it is called where a name must stand.
    pub(super) fn title(&self) -> &str {
        if self.name.is_empty() { "document.pdf" } else { &self.name }
    }

    /// `file "notes.md" (text/markdown)`.
    fn told(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { [" \"", &self.name, "\""].concat() };
        ["file", &name, " (", &self.media_type, ")"].concat()
    }

    /// What is said in its place to a model that cannot have it.
    fn note(&self) -> String {
        let why = if self.gone { "it was lost since, and nobody can read it" } else { "you cannot read it" };
        ["[The ", &self.told(), " was attached here; ", why, ".]"].concat()
    }

    /// Appends its bytes as a string: a `data:` URL.
    pub(super) fn push_url(&self, out: &mut String) {
        out.push_str("\"data:");
        out.push_str(&self.media_type);
        out.push_str(";base64,");
        push_mark(out, &self.id, Form::Base64);
        out.push('"');
    }

    /// Appends its bytes as a string.
    pub(super) fn push_bytes(&self, out: &mut String, form: Form) {
        out.push('"');
        push_mark(out, &self.id, form);
        out.push('"');
    }

    /// What stands before its text.
    pub(crate) fn lead(&self) -> String {
        ["The ", &self.told(), ":\n"].concat()
    }

    /// Appends its text with what it is, as the inside of a string.
    fn push_told(&self, out: &mut String) {
        push_inside(out, &self.lead());
        push_mark(out, &self.id, Form::Text);
    }
}

impl Peer {
    /// Whether a file can be sent to it.
    pub fn takes(&self, file: &File) -> bool {
        match file.kind() {
            FileKind::Text => true,
            FileKind::Image => self.dialect.images,
            FileKind::Document => self.dialect.documents && self.wire.codec().documents,
            FileKind::Other => false,
        }
    }

    /// The block as it goes to this one: a file that is gone, that it does not take, or that it has refused before is told
    /// of.
    pub fn block(&self, block: &Block, refused: bool) -> Block {
        match block {
            Block::File(file) if refused || file.gone || !self.takes(file) => Block::Text(file.note()),
            block => block.clone(),
        }
    }
}

/// Whether a block is text, or a file that is.
pub(super) fn is_text(block: &Block) -> bool {
    match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::File(file) => file.kind() == FileKind::Text,
        _ => false,
    }
}

/// Appends such blocks as one string.
pub(super) fn push_texts<'a>(out: &mut String, blocks: impl Iterator<Item = &'a Block>) {
    out.push('"');
    let begin = out.len();
    for block in blocks.filter(|block| is_text(block)) {
        if out.len() > begin {
            out.push_str("\\n\\n");
        }
        match block {
            Block::Text(text) => push_inside(out, text),
            Block::File(file) => file.push_told(out),
            _ => {}
        }
    }
    out.push('"');
}

/// Appends blocks as a list of parts. `begin` is how a part of text begins; `part` writes what is neither.
pub(super) fn push_parts(out: &mut String, blocks: &[Block], begin: &str, part: fn(&File, &mut String)) {
    out.push('[');
    for block in blocks {
        if !matches!(block, Block::File(_)) && !is_text(block) {
            continue;
        }
        if !out.ends_with('[') {
            out.push(',');
        }
        match block {
            Block::File(file) if file.kind() != FileKind::Text => part(file, out),
            text => {
                out.push_str(begin);
                push_texts(out, std::iter::once(text));
            }
        }
        out.push('}');
    }
    out.push(']');
}

/// Appends a name and a value, both strings, to an object.
pub(super) fn push_member(out: &mut String, name: &str, value: &str) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    push_text(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dialect, Wire};

    fn file(media_type: &str) -> File {
        File { id: "f".into(), media_type: media_type.into(), size: 5, name: "a \"b\".x".into(), gone: false }
    }

    #[test]
    fn kinds_go_by_the_media_type() {
        for (kind, types) in [
            (FileKind::Text, &["text/plain", "text/x-anything", "application/json", "image/svg+xml"][..]),
            (FileKind::Text, &["application/vnd.api+json", "application/x-sh", "application/xml"]),
            (FileKind::Image, &["image/png", "image/jpeg", "image/gif", "image/webp"]),
            (FileKind::Document, &["application/pdf"]),
            (FileKind::Other, &["image/tiff", "image/bmp", "video/mp4", "application/zip", "", "pdf", "/"]),
        ] {
            for media_type in types {
                assert_eq!(file(media_type).kind(), kind, "{media_type}");
            }
        }
    }

    #[test]
    fn who_does_not_take_a_file_is_told_of_it() {
        let peer = |wire, images, documents| Peer {
            wire,
            dialect: Dialect { images, documents, ..Dialect::CHAT },
            name: "x".into(),
        };
        let all = peer(Wire::Anthropic, true, true);
        let none = peer(Wire::OpenAiChat, false, false);
        for media_type in ["text/csv", "image/png", "application/pdf"] {
            assert!(all.takes(&file(media_type)));
            assert_eq!(none.takes(&file(media_type)), media_type == "text/csv");
        }
        assert!(!peer(Wire::Ollama, true, true).takes(&file("application/pdf")));
        let block = Block::File(file("image/png"));
        assert_eq!(all.block(&block, false), block);
        assert_eq!(all.block(&block, true), none.block(&block, false));
        let Block::Text(told) = none.block(&block, false) else { panic!("it must be told") };
        assert_eq!(told, "[The file \"a \"b\".x\" (image/png) was attached here; you cannot read it.]");
        let gone = Block::File(File { gone: true, ..file("image/png") });
        let Block::Text(told) = all.block(&gone, false) else { panic!("it must be told") };
        assert!(told.ends_with("was attached here; it was lost since, and nobody can read it.]"), "{told}");
    }
}
