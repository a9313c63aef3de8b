//! The example runs, and its conversation is what it should be.

#[expect(dead_code, reason = "its `main` is for the command line")]
#[path = "../../examples/host.rs"]
mod host;

use serde_json::{Value, json};

#[test]
fn the_host_example_answers_with_the_help_of_its_tool() {
    let history: Value = serde_json::from_str(&host::converse().unwrap().unwrap()).unwrap();
    let parts = &history[1]["parts"];
    assert_eq!(parts[0]["arguments"], json!({ "city": "Paris" }));
    assert_eq!((&parts[0]["status"], &parts[0]["result"]), (&json!("completed"), &json!("12:00")));
    assert_eq!(parts[1]["text"], "It is noon in Paris.");
    assert_eq!(history[1]["status"], "complete");
}
