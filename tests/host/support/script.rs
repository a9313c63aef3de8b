//! What models and people say in a simulation, drawn from a seed.
//!
//! Promises: an answer keeps the codecs' word (no empty block, ids not empty, parts numbered by what is shown).
//! Otherwise it is as awkward as a provider may be. Ids come again or have odd characters, arguments
//! are no JSON, thinking has no words, whitespace comes, every reason to stop.

use super::anthropic_rules::Signed;
use fastrand::Rng;
use lodger::error::{Code, ErrorInfo};
use lodger::model::{Answer, Block, DeltaKind, StopReason, Usage, Wire};
use std::collections::VecDeque;

/// One piece of a stream: the part it belongs to, its kind, its text.
pub type Piece = (u32, DeltaKind, String);

/// How a model call will go: what streams, then how it ends.
#[derive(Debug)]
pub struct Plan {
    pub pieces: VecDeque<Piece>,
    pub end: Result<Answer, (ErrorInfo, Option<Answer>)>,
}

/// What a model is asked, as far as it matters for what it says.
#[derive(Debug)]
pub struct Asking {
    pub wire: Wire,
    /// The tools that it may call.
    pub tools: Vec<String>,
    /// Whether its answer has a form.
    pub formed: bool,
    /// Whether it is to sum up a conversation.
    pub sums_up: bool,
    /// How long the request is, where its length matters: it may be too long, and is counted.
    pub bytes: Option<usize>,
}

/// An answer with these blocks.
pub fn answer(blocks: Vec<Block>, stop: StopReason) -> Answer {
    let usage = Usage { input_tokens: 3, output_tokens: 5, ..Usage::default() };
    Answer { blocks, stop: Some(stop), usage, model: Some("model-1".into()), id: Some("msg_1".into()) }
}

/// What an answer has to be: something that every provider's own means can say, and something that some cannot.
pub const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1},"of":{"type":"string"}},"required":["n"]}"#;
pub const FREE: &str = r#"{"properties":{"n":{"type":"integer"},"more":{}},"required":["n"]}"#;
/// The same with what few schemas have, and the arguments of a tool with such.
pub const RARE: &str = r#"{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^1+$"}]}},"required":["n"]}"#;
pub const RARE_TOOL: &str =
    r#"{"type":"object","properties":{"to":{"anyOf":[{"type":"string","pattern":"^p"},{"type":"null"}]}}}"#;

/// A tool call with this id.
pub fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

/// The pieces that a decoder would give for these blocks.
pub fn pieces(blocks: &[Block], mut split: impl FnMut(&str) -> usize) -> VecDeque<Piece> {
    let mut pieces = VecDeque::new();
    for (part, block) in (0..).zip(blocks.iter().filter(|block| block.is_shown())) {
        let (kind, mut rest) = match block {
            Block::Text(text) => (DeltaKind::Text, text.as_str()),
            Block::Thinking { text, .. } => (DeltaKind::Thinking, text.as_str()),
            Block::ToolCall { name, .. } => {
                pieces.push_back((part, DeltaKind::ToolCall, name.clone()));
                continue;
            }
            Block::ServerCall(call) => {
                pieces.push_back((part, DeltaKind::ServerCall, call.name.clone()));
                continue;
            }
            Block::Cited(_) => continue,
            Block::File(_) | Block::ToolResult { .. } | Block::Extra(_) | Block::Raw(_) => {
                unreachable!("not shown")
            }
        };
        while !rest.is_empty() {
            let at = rest.ceil_char_boundary(split(rest).max(1));
            let (piece, tail) = rest.split_at(at);
            pieces.push_back((part, kind, piece.into()));
            rest = tail;
        }
    }
    pieces
}

impl Plan {
    /// The whole of an answer, in one piece a part.
    pub fn whole(answer: Answer) -> Plan {
        Plan { pieces: pieces(&answer.blocks, str::len), end: Ok(answer) }
    }

    /// What the model does next, as the seed has it.
    pub fn random(rng: &mut Rng, asked: &Asking, signed: &mut Signed) -> Plan {
        let mut answer = if asked.sums_up {
            random_summary(rng, asked.wire, signed)
        } else {
            random_answer(rng, asked.wire, &asked.tools, signed)
        };
        // One that is asked for JSON gives some, which fits or does not.
        let calls = answer.blocks.iter().any(|block| matches!(block, Block::ToolCall { .. }));
        if asked.formed && !calls && rng.u8(..4) > 0 {
            let json = ["{\"n\":1}", "```json\n{\"n\": 2}\n```", "{\"n\":\"x\"}"][rng.usize(..3)];
            answer.blocks.retain(|block| !matches!(block, Block::Text(_)));
            answer.blocks.push(Block::Text(json.into()));
        }
        if let Some(bytes) = asked.bytes {
            if rng.u8(..20) == 0 {
                let error = ErrorInfo::new(Code::ContextLength, "the prompt is too long");
                return Plan { pieces: VecDeque::new(), end: Err((error, None)) };
            }
            // Some count what they read, some count nothing, and some count wrong.
            match rng.u8(..4) {
                0 => {}
                1 => answer.usage = Usage::default(),
                _ => answer.usage.input_tokens = bytes as u64 / 4,
            }
        }
        let mut pieces = pieces(&answer.blocks, |text| rng.usize(1..=text.len()));
        if rng.u8(..100) >= 8 {
            return Plan { pieces, end: Ok(answer) };
        }
        let code =
            [Code::Overloaded, Code::Network, Code::StreamBroken, Code::Auth, Code::Auth][rng.usize(..5)];
        pieces.truncate(rng.usize(..=pieces.len()));
        let mut error = ErrorInfo::new(code, "the model went away");
        error.provider.offline = matches!(code, Code::Network | Code::StreamBroken) && rng.u8(..3) == 0;
        if code == Code::Auth && rng.u8(..3) > 0 {
            error.provider.status = Some(401);
            return Plan { pieces: VecDeque::new(), end: Err((error, None)) };
        }
        let partial = rng.bool().then_some(Answer { stop: None, blocks: Vec::new(), ..answer });
        Plan { pieces, end: Err((error, partial)) }
    }
}

/// A summary, which its model may refuse to make, or cut, or leave empty.
fn random_summary(rng: &mut Rng, wire: Wire, signed: &mut Signed) -> Answer {
    let mut blocks = Vec::new();
    if rng.u8(..6) == 0 {
        blocks.push(thinking(rng, wire, signed));
    }
    let words = text(rng);
    blocks.push(Block::Text(match rng.u8(..10) {
        0 => " \n".into(),
        1 => [&*words, "\n"].concat().repeat(30),
        _ => ["What was said: ", &words].concat(),
    }));
    let stop = match rng.u8(..24) {
        0 | 1 => StopReason::MaxTokens,
        2 => StopReason::Refusal(None),
        3 => StopReason::ContextWindow,
        4 => StopReason::Pause,
        _ => StopReason::EndTurn,
    };
    answer(blocks, stop)
}

fn random_answer(rng: &mut Rng, wire: Wire, tools: &[String], signed: &mut Signed) -> Answer {
    let mut blocks = Vec::new();
    let calls = [0, 0, 0, 1, 1, 1, 2, 3][rng.usize(..8)];
    let mut left = calls;
    for _ in 0..rng.usize(..3) {
        match rng.u8(..10) {
            0..5 => blocks.push(Block::Text(text(rng))),
            5 => blocks.push(Block::Text(" \n".into())),
            6 => blocks.push(thinking(rng, wire, signed)),
            7 if wire != Wire::OpenAiResponses => blocks.push(thinking(rng, wire, signed)),
            8 if wire == Wire::Anthropic => blocks.push(Block::Raw(redacted(signed))),
            7..9 if wire == Wire::OpenAiResponses => blocks.push(item(rng, signed)),
            _ if left > 0 => {
                left -= 1;
                blocks.push(random_call(rng, tools));
            }
            _ => {}
        }
    }
    blocks.extend((0..left).map(|_| random_call(rng, tools)));
    if rng.u8(..20) == 0 {
        blocks.push(thinking(rng, wire, signed));
    }
    let stop = match rng.u8(..24) {
        0 => StopReason::MaxTokens,
        1 => StopReason::Refusal(rng.bool().then(|| "that is not for me".into())),
        2 => StopReason::Pause,
        3 => StopReason::ContextWindow,
        4 => StopReason::StopSequence,
        _ if calls > 0 => StopReason::ToolUse,
        _ => StopReason::EndTurn,
    };
    answer(blocks, stop)
}

fn thinking(rng: &mut Rng, wire: Wire, signed: &mut Signed) -> Block {
    let text = if rng.u8(..4) == 0 { String::new() } else { text(rng) };
    let signature = matches!(wire, Wire::Anthropic | Wire::Gemini).then(|| {
        let order = signed.len();
        let proof = format!("sig/{order}+=");
        signed.insert(proof.clone(), (order, text.clone()));
        proof
    });
    match signature {
        None if text.is_empty() => Block::Thinking { text: "…".into(), signature },
        signature => Block::Thinking { text, signature },
    }
}

fn redacted(signed: &mut Signed) -> String {
    let order = signed.len();
    signed.insert(format!("data{order}"), (order, String::new()));
    format!("{{\"type\":\"redacted_thinking\",\"data\":\"data{order}\"}}")
}

/// An item of OpenAI Responses that only the provider understands.
fn item(rng: &mut Rng, signed: &mut Signed) -> Block {
    let order = signed.len();
    Block::Raw(match rng.u8(..6) {
        0 => r#"{"type":"web_search_call","id":"ws_1","status":"completed","action":{}}"#.into(),
        1 => r#"{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"n","input":""}"#.into(),
        2 => r#"{"type":"reasoning","id":"rs_0","summary":[],"encrypted_content":null}"#.into(),
        _ => {
            signed.insert(format!("sealed{order}"), (order, String::new()));
            format!(
                r#"{{"type":"reasoning","id":"rs_{order}","status":"completed","summary":[],"encrypted_content":"sealed{order}"}}"#
            )
        }
    })
}

fn random_call(rng: &mut Rng, tools: &[String]) -> Block {
    let id = ["a", "b", "a.b", "a_b", "call:1", "call-1", "toolu_01"][rng.usize(..7)];
    let name = match rng.u8(..12) {
        0 => "no_such_tool".into(),
        1 => "odd name!".into(),
        _ if tools.is_empty() => "no_such_tool".into(),
        _ => tools[rng.usize(..tools.len())].clone(),
    };
    let n = rng.u32(..40);
    let arguments = match rng.u8(..12) {
        0 => "{\"x\":".into(),
        1 => "[1]".into(),
        2 => "{}".into(),
        // Members for each tool there is; none of the schemas refuses more than it needs.
        _ => arguments_for(&name, n),
    };
    call(id, &name, &arguments)
}

/// Arguments that a tool would take.
pub fn arguments_for(tool: &str, n: u32) -> String {
    let slug = format!("page-{}", n % 6);
    match tool {
        "create_page" => format!("{{\"title\":\"Page {}\",\"content\":\"c{n} [[Page 1]]\"}}", n % 6),
        "update_page_content" => format!("{{\"slug\":\"{slug}\",\"content\":\"u{n}\"}}"),
        "update_page_metadata" => format!("{{\"slug\":\"{slug}\",\"tags\":[\"t{n}\"]}}"),
        "move_page" => format!("{{\"slug\":\"{slug}\",\"parent_slug\":null}}"),
        "rename_page" => format!("{{\"slug\":\"{slug}\",\"title\":\"Renamed {n}\"}}"),
        "search_pages" => "{\"query\":\"page\"}".into(),
        "get_page_tree" => "{}".into(),
        "read_page" | "get_backlinks" | "get_outgoing_links" | "read_page_history" | "delete_page" => {
            format!("{{\"slug\":\"{slug}\"}}")
        }
        "delegate" => {
            let process = ["Researcher", "Worker"][n as usize % 2];
            format!("{{\"process\":\"{process}\",\"task\":\"task {n}\",\"maxTurns\":{}}}", n % 3 + 1)
        }
        "use_skill" => "{\"name\":\"greet\"}".into(),
        "final_answer" => ["{\"n\":1}", "{\"n\":\"x\"}"][n as usize % 2].into(),
        _ => format!("{{\"to\":\"p{n}\"}}"),
    }
}

/// Some words, not always of ASCII.
pub fn text(rng: &mut Rng) -> String {
    let words = ["dragons", "and", "ünïcode", "😀", "pages", "\"quoted\"", "line\nend", "龍"];
    (0..rng.usize(1..5)).map(|_| words[rng.usize(..words.len())]).collect::<Vec<_>>().join(" ")
}
