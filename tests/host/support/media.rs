//! Files for tests, and how a strict API looks at the bytes that it is sent.
//!
//! Promises: what is accepted is base64 with its padding and nothing else, of bytes that begin as their type does.

use lodger::model::{File, FileKind};
use serde_json::{Value, json};

/// A file that tests send: its id, media type, name and bytes.
pub struct Sample {
    pub id: &'static str,
    pub media_type: &'static str,
    pub name: &'static str,
    pub bytes: &'static [u8],
}

pub const SAMPLES: [Sample; 6] = [
    Sample { id: "file_1", media_type: "image/png", name: "dot.png", bytes: b"\x89PNG\r\n\x1a\n\x00\xff" },
    Sample { id: "file_2", media_type: "image/jpeg", name: "", bytes: b"\xff\xd8\xff\xe0\x00" },
    Sample { id: "file_3", media_type: "application/pdf", name: "r\u{fc}ck \"1\".pdf", bytes: b"%PDF-1.7\n" },
    Sample { id: "file_4", media_type: "text/csv", name: "data.csv", bytes: b"a,\"b\"\n\\1,\xc3\xa9\n" },
    Sample { id: "file_5", media_type: "application/json", name: "", bytes: b"{\"a\":[1]}" },
    Sample { id: "file_6", media_type: "image/webp", name: "x.webp", bytes: b"RIFF\x04\x00\x00\x00WEBPx" },
];

/// What the arguments of `sendMessage` say of one.
pub fn given(sample: &Sample) -> Value {
    json!({ "id": sample.id, "mediaType": sample.media_type, "size": sample.bytes.len(), "name": sample.name })
}

/// What the page says of one that a tool has given.
pub fn file(sample: &Sample) -> File {
    File {
        id: sample.id.into(),
        media_type: sample.media_type.into(),
        size: sample.bytes.len() as u64,
        name: sample.name.into(),
        gone: false,
    }
}

/// What stands in those that are text, each with its number.
pub fn texts(files: &[File]) -> Vec<(usize, String)> {
    let is_text = |(_, file): &(usize, &File)| file.kind() == FileKind::Text;
    let text = |(at, file): (usize, &File)| (at, String::from_utf8(bytes(&file.id).unwrap()).unwrap());
    files.iter().enumerate().filter(is_text).map(text).collect()
}

pub fn bytes(id: &str) -> Option<Vec<u8>> {
    SAMPLES.iter().find(|sample| sample.id == id).map(|sample| sample.bytes.to_vec())
}

/// Whether an API takes this as a file of such a type.
pub fn check(media_type: &str, base64: &str) -> Result<(), String> {
    let begins: &[u8] = match media_type {
        "image/png" => b"\x89PNG",
        "image/jpeg" => b"\xff\xd8\xff",
        "image/gif" => b"GIF8",
        "image/webp" => b"RIFF",
        "application/pdf" => b"%PDF-",
        other => return Err(format!("a file of type {other}")),
    };
    let bytes = decoded(base64).ok_or("a file that is no base64")?;
    if bytes.starts_with(begins) { Ok(()) } else { Err(format!("bytes that are no {media_type}")) }
}

/// The same for a `data:` URL. Gives its media type.
pub fn check_url(url: &str) -> Result<&str, String> {
    let (media_type, data) =
        url.strip_prefix("data:").and_then(|url| url.split_once(";base64,")).ok_or("no data: URL")?;
    check(media_type, data)?;
    Ok(media_type)
}

pub fn decoded(base64: &str) -> Option<Vec<u8>> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if !base64.len().is_multiple_of(4) {
        return None;
    }
    let plain = base64.strip_suffix("==").or(base64.strip_suffix('=')).unwrap_or(base64);
    let (mut bits, mut held) = (0_u32, 0);
    let mut bytes = Vec::new();
    for letter in plain.chars() {
        bits = bits << 6 | u32::try_from(LETTERS.find(letter)?).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    (bits == 0).then_some(bytes)
}
