//! What holds for any bytes: the one copy that the fuzz targets and the replay of their corpora share.
//!
//! Each property takes the bytes that a fuzzer drew, and panics where something does not hold. How the bytes are cut
//! follows from the bytes themselves, so a corpus is a folder of plain streams, and a finding is one file.

mod arguments;
mod codec;
mod frames;
mod requests;
mod schema;

use lodger::model::Wire;

/// A property by its name. Its corpus is `fuzz/corpus/<name>`, and `tests/fixtures/<name>` where that exists.
pub struct Target {
    pub name: &'static str,
    pub holds: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "sse", holds: |bytes| frames::hold(Wire::Anthropic, frames::sse, bytes) },
    Target { name: "lines", holds: |bytes| frames::hold(Wire::Ollama, frames::lines, bytes) },
    Target { name: "arguments", holds: arguments::hold },
    Target { name: "anthropic", holds: |bytes| codec::wire(Wire::Anthropic, bytes) },
    Target { name: "openai-chat", holds: |bytes| codec::wire(Wire::OpenAiChat, bytes) },
    Target { name: "openai-responses", holds: |bytes| codec::wire(Wire::OpenAiResponses, bytes) },
    Target { name: "ollama", holds: |bytes| codec::wire(Wire::Ollama, bytes) },
    Target { name: "gemini", holds: |bytes| codec::wire(Wire::Gemini, bytes) },
    Target { name: "custom", holds: codec::custom },
    Target { name: "schema", holds: schema::hold },
];

/// Draws that follow from the bytes.
fn draws(bytes: &[u8]) -> fastrand::Rng {
    let seed = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    fastrand::Rng::with_seed(seed)
}

/// The ways in which the network may cut these bytes: in two, byte by byte, and in many pieces, some of them empty.
fn cuts<'a>(bytes: &'a [u8], random: &mut fastrand::Rng) -> Vec<Vec<&'a [u8]>> {
    let (first, second) = bytes.split_at(random.usize(..=bytes.len()));
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(random.usize(..=rest.len().min(24)));
        pieces.push(piece);
        rest = tail;
    }
    vec![vec![first, second], bytes.chunks(1).collect(), pieces]
}
