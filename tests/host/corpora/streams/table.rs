//! Every recorded answer, and the table of what they are: `cargo test --test host table -- --nocapture`.
//!
//! The recordings lie beside the repository (`LODGER_FIXTURES` says where else), with an `INDEX.json` of where
//! each came from. What one should be follows from its bytes, its status and its request.

use super::*;
use std::sync::Mutex;

/// How many the index lists.
const RECORDED: usize = 452;

/// How many of them, the smallest, are also decoded byte by byte.
const SMALL: usize = 40;

/// An entry of the index.
struct Recording {
    file: String,
    status: u16,
    path: String,
    bytes: Vec<u8>,
    request: Value,
}

impl Recording {
    fn read(root: &Path, entry: &Value) -> Self {
        let file = entry["file"].as_str().unwrap().to_string();
        let url = entry["url_path"].as_str().unwrap_or_default();
        let request = entry["request"].as_str().map(|file| std::fs::read(root.join(file)).unwrap());
        Recording {
            bytes: std::fs::read(root.join(&file)).unwrap(),
            status: entry["status"].as_u64().unwrap() as u16,
            path: url.split(['?', '#']).next().unwrap().into(),
            // An upload's request is no JSON.
            request: request.and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default(),
            file,
        }
    }

    fn provider(&self) -> &str {
        self.file.split('/').next().unwrap()
    }

    /// How the wire it came over is read; none: it is the answer of an API that we do not speak.
    fn reading(&self) -> Option<&'static Reading> {
        let beginning = String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(600)]);
        READINGS.iter().find(|reading| match self.path.as_str() {
            "" => beginning.lines().any(|line| line.starts_with("data:") && line.contains(reading.mark)),
            path => path.contains(reading.path),
        })
    }

    /// Asserts that it is decoded to what it is; gives its wire and what it is.
    fn check(&self, small: bool) -> (&'static str, &'static str) {
        let reading = self.reading();
        let wire = reading.map_or("another API", |reading| reading.wire.as_str());
        if self.status != 200 {
            return (wire, self.check_refusal().as_str());
        }
        if let Some(reading) = reading
            && !(reading.events)(&self.bytes).is_empty()
        {
            // Ollama's answer in one piece is a stream of one line.
            let whole = self.request["stream"] == Value::Bool(false);
            assert!(!whole || reading.wire == Wire::Ollama, "{}", self.file);
            return (wire, check_stream(&self.file, reading, &self.bytes, 200, small));
        }
        (wire, self.check_stranger().as_str())
    }

    /// An answer that is not 200: by the provider's own name for it, else by its status.
    fn check_refusal(&self) -> Code {
        let body: Value = serde_json::from_slice(&self.bytes).unwrap();
        let error = &body["error"];
        let message = error["message"].as_str().or(error.as_str()).unwrap();
        let names = [&error["code"], &error["type"]].map(|name| name.as_str().unwrap_or_default());
        let expected = match (self.status, names) {
            (_, ["model_not_found", _] | [_, "not_found_error"]) => Code::NotFound,
            (_, [_, "exceed_context_size_error"]) => Code::ContextLength,
            // xAI answers a wrong key with 400.
            (401, _) | (400, ["", ""])
                if message.contains("API key") || names[1] == "authentication_error" =>
            {
                Code::Auth
            }
            (401, ["invalid_api_key", _]) => Code::Auth,
            (400, _) => Code::InvalidRequest,
            (429, _) => Code::RateLimit,
            (500 | 501, _) => Code::Server,
            other => panic!("{}: a refusal that this test does not know: {other:?}", self.file),
        };
        let text = std::str::from_utf8(&self.bytes).unwrap();
        for wire in Wire::ALL {
            let found = wire.error(self.status, &[], text, 0);
            assert_eq!(found.code, expected, "{}", self.file);
            assert!(found.message.contains(message), "{}: {found:?}", self.file);
        }
        expected
    }

    /// A good answer that is no stream of a wire of ours: an error for each that frames with SSE. JSON, or choices
    /// that are no chat, cannot be what was asked for; anything else just says nothing.
    fn check_stranger(&self) -> Code {
        let json = self.bytes.starts_with(b"{");
        let completion = String::from_utf8_lossy(&self.bytes).contains("\"text_completion\"");
        for reading in READINGS.iter().filter(|reading| (reading.events)(b"{}\n").is_empty()) {
            let expected = match json || completion && reading.wire == Wire::OpenAiChat {
                true => Code::Protocol,
                false => Code::StreamBroken,
            };
            for pieces in [1, 7, self.bytes.len()] {
                let (shown, result) = decode(reading.wire, self.bytes.chunks(pieces));
                assert_eq!(result.unwrap_err().0.code, expected, "{}", self.file);
                assert!(shown.is_empty(), "{}", self.file);
            }
        }
        if json || completion { Code::Protocol } else { Code::StreamBroken }
    }
}

/// The recordings; none, and a word about it, where there are none.
fn recordings() -> Vec<Recording> {
    let root = std::env::var_os("LODGER_FIXTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures/streams"),
        PathBuf::from,
    );
    let Ok(index) = std::fs::read(root.join("INDEX.json")) else {
        println!("skipped: {RECORDED} recordings");
        return Vec::new();
    };
    let index: Vec<Value> = serde_json::from_slice(&index).unwrap();
    assert_eq!(index.len(), RECORDED);
    index.iter().map(|entry| Recording::read(&root, entry)).collect()
}

#[test]
fn table_of_the_recordings() {
    let recordings = recordings();
    if recordings.is_empty() {
        return;
    }
    // Gemini's own stream, a completion and a realtime session; everything else came over a wire of ours.
    let strange =
        |recording: &&Recording| recording.reading().is_none() && !recording.bytes.starts_with(b"{");
    assert_eq!(recordings.iter().filter(strange).count(), 3);
    let mut sizes: Vec<usize> = recordings.iter().map(|recording| recording.bytes.len()).collect();
    sizes.sort_unstable();
    let small = sizes[SMALL - 1];
    let queue = Mutex::new(recordings.iter());
    let counted = Mutex::new(BTreeMap::<(&str, &str), BTreeMap<&str, usize>>::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(recording) = next else { break };
                    let (wire, kind) = recording.check(recording.bytes.len() <= small);
                    let mut counted = counted.lock().unwrap();
                    *counted.entry((recording.provider(), wire)).or_default().entry(kind).or_default() += 1;
                }
            });
        }
    });
    print(&counted.into_inner().unwrap());
}

fn print(counted: &BTreeMap<(&str, &str), BTreeMap<&str, usize>>) {
    let mut sums = BTreeMap::<&str, usize>::new();
    for (kind, count) in counted.values().flatten() {
        *sums.entry(kind).or_default() += count;
    }
    let line = |folder: &str, wire: &str, counts: &BTreeMap<&str, usize>| {
        let cell = |kind: &&str| {
            let count = counts.get(kind).map_or(String::new(), usize::to_string);
            format!(" {count:>width$} |", width = kind.len())
        };
        let all: usize = counts.values().sum();
        println!("| {folder:16} | {wire:16} |{} {all:>4} |", sums.keys().map(cell).collect::<String>());
    };
    let names: Vec<&str> = sums.keys().copied().collect();
    println!("\n| {:16} | {:16} | {} |  all |", "recorded from", "wire", names.join(" | "));
    println!("|{}", "---|".repeat(names.len() + 3));
    for ((folder, wire), counts) in counted {
        line(folder, wire, counts);
    }
    line("all", "", &sums);
    assert_eq!(sums.values().sum::<usize>(), RECORDED);
}
