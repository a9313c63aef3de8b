//! A second opinion: ajv, over schemas and values drawn at random. `cargo xtask test host` installs it; `npm ci` in
//! `tests/host/corpora/schema/ajv` does too.

use super::draw;
use crate::support::engine::compile;
use crate::support::parts::drawn;
use fastrand::Rng;
use lodger::tools::schema::Schema;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn ajv_judges_the_same() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host/corpora/schema/ajv");
    if !dir.join("node_modules/ajv").is_dir() {
        println!("skipped: 1 comparison with ajv, which is not installed in {}", dir.display());
        return;
    }
    let rounds = drawn(1_000, 8_000) as usize;
    let cases: Vec<(Value, Schema, Vec<Value>)> = (0..rounds as u64)
        .filter_map(|seed| {
            let mut random = Rng::with_seed(seed);
            let schema = without_proto(&draw::root(&mut random));
            let values = (0..25).map(|_| without_proto(&draw::value(&mut random, 3))).collect();
            Some((schema.clone(), compile(&schema).ok()?, values))
        })
        .collect();
    let mut judge = Command::new("node")
        .arg("judge.mjs")
        .current_dir(&dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut questions = judge.stdin.take().unwrap();
    let lines: String = cases
        .iter()
        .map(|(schema, _, values)| format!("{}\n", json!({ "schema": schema, "values": values })))
        .collect();
    let asker = std::thread::spawn(move || questions.write_all(lines.as_bytes()).unwrap());
    let answers = BufReader::new(judge.stdout.take().unwrap()).lines();
    let (mut same, mut different) = (0, Vec::new());
    let mut known = KNOWN.map(|(_, why)| (why, 0));
    for (line, (schema, compiled, values)) in answers.zip(&cases) {
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let nothing = Value::Null;
        let verdicts = answer.as_array();
        for (at, value) in values.iter().enumerate() {
            let report = compiled.validate(value);
            let verdict = verdicts.map_or(&nothing, |verdicts| &verdicts[at]);
            if json!(report.is_valid()) == *verdict {
                same += 1;
            } else if let Some(why) = KNOWN.iter().position(|(is, _)| is(&schema.to_string(), value, &answer))
            {
                known[why].1 += 1;
            } else {
                different.push(format!("{schema}\n  {value}\n  ajv: {answer}, ours: {}", report.told()));
            }
        }
    }
    asker.join().unwrap();
    assert!(judge.wait().unwrap().success());
    println!("counts: {same} verdicts as ajv's, {} not, and known to differ {known:?}", different.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
    let known: usize = known.iter().map(|(_, count)| count).sum();
    assert!(same > rounds * 15 && known * 50 < same);
}

/// Where ajv is known to differ from the standard, by the schema's text, the value, and what ajv said.
type Known = (fn(&str, &Value, &Value) -> bool, &'static str);
const KNOWN: [Known; 3] = [
    (|schema, _, _| schema.contains("multipleOf"), "divides floats"),
    (
        |schema, _, _| schema.contains("\"contains\"") && schema.contains("unevaluatedItems"),
        "takes all items for looked at where there is 'contains'",
    ),
    (
        |_, _, answer| answer.as_str().is_some_and(|error| error.ends_with("is not defined")),
        "writes wrong code",
    ),
];

/// ajv does not see members of this name.
fn without_proto(value: &Value) -> Value {
    serde_json::from_str(&value.to_string().replace("__proto__", "proto")).unwrap()
}
