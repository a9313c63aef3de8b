//! Whether something goes on: `streaming`, `waiting` or `broken`.
//!
//! Decides the order of the questions and when a run counts as waiting. Promises: the same facts give the same word. No
//! word is stored, each is worked out when somebody asks. Leaves to others: the facts (`harness/`), and what a run has
//! said (`output`).

use super::transitions::Status;
use crate::ports::Millis;

/// For how many seconds a run may be silent and still count as streaming.
const IDLE_SECONDS: u64 = 30;

/// How much of the end of an output is looked at for a prompt, in bytes.
pub const PROMPT_TAIL: u64 = 256;

/// How a prompt ends, of a shell or of anything else that waits for a line.
const PROMPTS: [&str; 4] = ["$ ", "% ", "# ", "> "];

/// What goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It works and says something.
    Streaming,
    /// It is there and waits: for a person, for work, or nobody knows what for.
    Waiting,
    /// It is over, or lost.
    Broken,
}

impl Activity {
    /// The public word.
    pub fn as_str(self) -> &'static str {
        match self {
            Activity::Streaming => "streaming",
            Activity::Waiting => "waiting",
            Activity::Broken => "broken",
        }
    }

    /// What a word says, also one of the words that were used before these three.
    pub fn parse(word: &str) -> Option<Activity> {
        Some(match word {
            "streaming" | "spawning" | "running" => Activity::Streaming,
            "waiting" | "idle" | "suspended" => Activity::Waiting,
            "broken" | "completed" | "failed" | "killed" | "lost" => Activity::Broken,
            _ => return None,
        })
    }

    /// Whether it can still come to something.
    pub fn is_alive(self) -> bool {
        self != Activity::Broken
    }
}

/// What is known of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// It has ended, however, or has lost its holder.
    pub over: bool,
    /// A person is asked, or it is benched.
    pub waits: bool,
    /// The end of what it has said.
    pub tail: &'a [u8],
    /// How long it has said nothing.
    pub silent: Millis,
}

/// What a run does.
pub fn of_run(facts: &Facts<'_>) -> Activity {
    if facts.over {
        return Activity::Broken;
    }
    // Whole seconds, so one that has been silent for 30.9 of them still streams.
    let idle = facts.silent / 1000 > IDLE_SECONDS;
    if facts.waits || looks_like_prompt(facts.tail) || idle { Activity::Waiting } else { Activity::Streaming }
}

/// What a session does. `run`: its run that has not ended, if there is one.
pub fn of_session(status: Option<Status>, run: Option<Activity>) -> Activity {
    match status {
        Some(status) if !status.is_active() => Activity::Broken,
        _ => run.unwrap_or(Activity::Waiting),
    }
}

/// Whether an output ends as if somebody was to type now. Newlines behind it do not count; spaces do, because
/// every prompt ends in one.
pub fn looks_like_prompt(output: &[u8]) -> bool {
    let from = output.len().saturating_sub(PROMPT_TAIL as usize);
    let text = String::from_utf8_lossy(output.get(from..).unwrap_or_default());
    let text = text.trim_end_matches(['\n', '\r']);
    PROMPTS.iter().any(|prompt| text.ends_with(prompt))
}
