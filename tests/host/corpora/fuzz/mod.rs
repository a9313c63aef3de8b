//! What the fuzz targets have to start from and what they have found, replayed; and a little drawn from it at random.
//!
//! `fuzz/` searches, guided by coverage; the properties are the same, in one copy (`properties`). A finding becomes a
//! file in `fuzz/corpus/<target>` and stays here.

mod properties;

use crate::support::parts::drawn;
use properties::{TARGETS, Target};
use std::fs;
use std::path::Path;

/// Replays a target's corpus; then each file damaged a few times (`LODGER_CAMPAIGN`: a hundred times as often).
#[track_caller]
fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let corpus = corpus(target);
    if corpus.is_empty() {
        println!("skipped: 1 corpus ({name}: fuzz/ is not here)");
        return;
    }
    corpus.iter().for_each(|bytes| (target.holds)(bytes));
    let rounds = drawn(2_000, 200_000) as usize;
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..rounds {
        let mut bytes = corpus[round % corpus.len()].clone();
        for _ in 0..random.usize(1..4) {
            damage(&mut bytes, &corpus, &mut random);
        }
        (target.holds)(&bytes);
    }
    println!("{name}: {} files, {rounds} damaged ones", corpus.len());
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["fuzz/corpus", "tests/fixtures"].map(|folder| root.join(folder).join(target.name));
    let folders = folders.iter().filter_map(|folder| fs::read_dir(folder).ok());
    let mut files: Vec<_> = folders.flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn damage(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut fastrand::Rng) {
    let at = random.usize(..=bytes.len());
    let to = random.usize(at..=bytes.len().min(at + 40));
    match random.u8(0..5) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..to)),
        2 => bytes.insert(at, *random.choice(b"{}[]\",:\\\n\r \x00\xFF0-e".iter()).unwrap()),
        3 => {
            let piece = bytes[at..to].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => {
            let other = &corpus[random.usize(..corpus.len())];
            let from = random.usize(..=other.len());
            let piece = &other[from..other.len().min(from + 200)];
            bytes.splice(at..to, piece.iter().copied());
        }
    }
}

macro_rules! replays {
    ($($test:ident = $name:literal)*) => {
        $( #[test] fn $test() { replay($name); } )*

        #[test]
        fn every_target_is_replayed_and_has_a_binary() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$($name),*]);
            let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
            for name in names.iter().filter(|_| fuzz.is_dir()) {
                let body = fs::read_to_string(fuzz.join(name.replace('-', "_")).with_extension("rs")).unwrap();
                assert!(body.contains(&format!("fuzz!({name:?})")), "{name}");
            }
        }
    };
}

replays! {
    sse = "sse"
    lines = "lines"
    arguments = "arguments"
    anthropic = "anthropic"
    openai_chat = "openai-chat"
    openai_responses = "openai-responses"
    ollama = "ollama"
    gemini = "gemini"
    custom = "custom"
    schema = "schema"
}
