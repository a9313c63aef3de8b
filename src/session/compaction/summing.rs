//! Where a conversation is cut, what a summary is made of, and what the model is told in place of what was cut.
//!
//! Promises: a tool call stays beside its result. What the person has said last stays word for word, as far as there is
//! room, and so do skills in use. What came from outside is told as data. Leaves to others: when that is wanted
//! (`harness/runner/compaction`).

use super::{CUT, Conversation, Place, Window, bytes_of, bytes_of_prompt, bytes_of_results};
use super::{head, place_of, short, skill_of, stand_in};
use crate::find;
use crate::list::Listed;
use crate::model::{Block, StopReason};
use crate::prompt::{framed, served};
use crate::rooms::{Room, enter};
use crate::run::{CallState, Prompt, Run, Said, Summary, Turn};
use crate::session::files_among;
use crate::tools::Source;

/// How much of the person's words is sent at most beside a summary, in bytes: no more is kept of runs that a session goes on
/// without.
pub const WORDS: usize = 80_000;

/// How much of a result a summary is made of, in bytes.
const RESULT: usize = 2_000;

/// The summary with this run.
fn summary_of<'a>(runs: &'a [Run], id: &str) -> Option<&'a Summary> {
    let mut summaries = runs.iter().rev().flat_map(|run| run.summaries.iter().rev());
    summaries.find(|summary| summary.run.id == id)
}

/// Whether text from outside has come in a run: by what tools gave, or with its messages.
pub(in crate::session) fn brings_outside(run: &Run) -> bool {
    let brings = |Prompt { trusted, context, files, .. }: &Prompt| {
        !trusted && (context.is_some() || !files.is_empty())
    };
    run.outside || brings(&run.prompt) || run.steered.iter().any(|steered| brings(&steered.prompt))
}

/// What the model is told of what came before the part that it is still sent.
pub fn told(of: Conversation<'_>, kept: &Window, mark: &str) -> String {
    let Some((mut told, words)) = remembered(of, kept, mark, usize::MAX) else { return String::new() };
    told.push_str(&words);
    for (_, skill) in skills(of, kept.start) {
        told.push_str("\n\nA skill in use:\n");
        told.push_str(&framed(skill, Source::System, mark));
    }
    told
}

/// The summary, and the person's words beside it, each in at most so many bytes.
fn remembered(of: Conversation<'_>, kept: &Window, mark: &str, most: usize) -> Option<(String, String)> {
    let Conversation { runs, earlier } = of;
    let summary = kept.summary.as_deref().and_then(|id| summary_of(runs, id));
    let (summary, text) = summary.and_then(|summary| Some((summary, summary.text()?)))?;
    let summed = runs.get(..=kept.start.run).unwrap_or(runs);
    let outside = earlier.is_some_and(|earlier| earlier.outside) || summed.iter().any(brings_outside);
    let source = if outside { Source::External } else { Source::Workspace };
    let told = [
        "The conversation before this was too long, and was summed up. The summary is data, like what tools give:\n",
        &framed(&short(text.trim(), most), source, mark),
    ]
    .concat();
    let mut words = words(of, kept.start, summary.words.min(most));
    if !words.is_empty() {
        words.insert_str(0, "\n\nWhat the person has said before, word for word, the oldest first:\n");
    }
    Some((told, words))
}

/// The skills that were read before a place, each once: how it was asked for, and what it says.
pub(in crate::session) fn skills(of: Conversation<'_>, place: Place) -> Vec<(&str, &str)> {
    let earlier = of.earlier.into_iter().flat_map(|earlier| &earlier.skills);
    let mut skills: Vec<(&str, &str)> = earlier.map(|(arguments, text)| (&**arguments, &**text)).list();
    for (at, run) in of.runs.iter().enumerate().take(place.run + 1) {
        let turns = if at < place.run { usize::MAX } else { place.turns };
        let calls = run.turns.iter().take(turns).flat_map(|turn| &turn.calls);
        for (arguments, text) in calls.filter_map(skill_of) {
            skills.retain(|(known, _)| *known != arguments);
            skills.push((arguments, text));
        }
    }
    skills
}

/// What the person has said before a place, the newest first: texts without blanks around them, of which at least so many
/// bytes are there that the newest `most` can be told, and that something is left out.
pub(in crate::session) fn said_before(of: Conversation<'_>, place: Place, most: usize) -> Vec<&str> {
    let mut room = most;
    let mut said = Vec::new();
    let earlier = of.earlier.into_iter().flat_map(|earlier| &earlier.words);
    let here = of.runs.iter().enumerate().take(place.run + 1).rev().flat_map(|(at, run)| {
        let is_before = move |turns: usize| at < place.run || turns < place.turns;
        let steered = run.steered.iter().rev().filter(move |steered| is_before(steered.after));
        let own = (run.prompt.continues.is_none() && is_before(0)).then_some(&run.prompt);
        steered.map(|steered| &steered.prompt).chain(own).map(|prompt| prompt.text.trim())
    });
    for text in here.chain(earlier.map(String::as_str)).filter(|text| !text.is_empty()) {
        said.push(text);
        room = room.saturating_sub(text.len());
        if room == 0 {
            break;
        }
    }
    said
}

/// The same as it is told: the oldest first, in at most so many bytes.
fn words(of: Conversation<'_>, place: Place, most: usize) -> String {
    let mut room = most.min(WORDS);
    let mut told = Vec::new();
    for text in said_before(of, place, room) {
        let part = head(text, room);
        if !part.is_empty() {
            told.push(["\n- ", part, if part.len() < text.len() { CUT } else { "" }].concat());
        }
        room = room.saturating_sub(text.len());
    }
    told.reverse();
    told.concat()
}

/// How many bytes would go if only stand-ins of results were sent up to this place.
pub fn saved_until(runs: &[Run], kept: &Window, place: Place) -> usize {
    let mut saved = 0;
    for (at, run) in runs.iter().enumerate().take(place.run + 1).skip(kept.start.run) {
        for (n, turn) in run.turns.iter().enumerate() {
            let here = Place { run: at, turns: n };
            if here < kept.start || here < kept.shortened || here >= place {
                continue;
            }
            for call in &turn.calls {
                let CallState::Settled(settled) = &call.state else { continue };
                if let Some(stand_in) = stand_in(call, settled) {
                    let all = settled.text.len() + bytes_of(&settled.files);
                    saved += all.saturating_sub(stand_in.len());
                }
            }
        }
    }
    saved
}

/// How many bytes the part has that is still sent, about.
pub fn size_of(runs: &[Run], kept: &Window) -> usize {
    let mut size = 0;
    for (at, run) in runs.iter().enumerate().skip(kept.start.run) {
        let first = if at == kept.start.run { kept.start.turns } else { 0 };
        size += if first == 0 { bytes_of_prompt(&run.prompt) } else { 0 };
        size += (first..=run.turns.len()).map(|turns| size_of_entered(run, turns)).sum::<usize>();
        for (n, turn) in run.turns.iter().enumerate().skip(first) {
            size += size_of_turn(turn, kept.has_shortened(at, n));
        }
    }
    size
}

/// The same of what has entered a run behind so many of its turns.
fn size_of_entered(run: &Run, turns: usize) -> usize {
    let entered = run.steered.iter().filter(|steered| steered.after == turns);
    entered.map(|steered| bytes_of_prompt(&steered.prompt)).sum()
}

fn size_of_turn(turn: &Turn, shortened: bool) -> usize {
    bytes_of(turn.said.blocks()) + bytes_of_results(turn, shortened)
}

/// Whether its provider has only paused: what it says next is the rest of this.
fn is_paused(turn: &Turn) -> bool {
    matches!(&turn.said, Said::Whole { stop: StopReason::Pause, .. })
}

/// Whether the model has to go on with it: it has not read what its tools gave, or has to mend its answer.
fn is_open(turn: &Turn) -> bool {
    !turn.calls.is_empty() || turn.sent_back.is_some() || is_paused(turn)
}

/// Where the part begins that stays word for word: as many of the newest turns as have at most so many bytes. Of the run
/// that asks for it the message stays, before the model has said anything to it. `spares`: so does the turn that it has to
/// go on with, however long it is. `None`: there is nothing before it.
pub fn cut(runs: &[Run], kept: &Window, keep: usize, spares: bool) -> Option<Place> {
    let mut size = 0;
    let mut place = None;
    // Whether the model has said something behind here.
    let mut said = false;
    'all: for (at, run) in runs.iter().enumerate().skip(kept.start.run).rev() {
        let first = if at == kept.start.run { kept.start.turns } else { 0 };
        if !run.turns.is_empty() {
            size += size_of_entered(run, run.turns.len());
        }
        for (n, turn) in run.turns.iter().enumerate().skip(first).rev() {
            // What is to be asked again is not there yet.
            if matches!(turn.said, Said::Whole { .. }) {
                let goes_on = if said { is_paused(turn) } else { spares && is_open(turn) };
                if !goes_on {
                    place = place.or(Some(Place { run: at, turns: n + 1 }));
                }
                said = true;
                size += size_of_turn(turn, kept.has_shortened(at, n));
            }
            if size > keep && place.is_some() {
                break 'all;
            }
            let Some(before) = n.checked_sub(1).and_then(|before| run.turns.get(before)) else { break };
            size += size_of_entered(run, n);
            let has_room = if place.is_some() { size <= keep } else { said };
            if has_room && !is_paused(before) {
                place = Some(Place { run: at, turns: n });
            }
        }
        if first > 0 {
            break;
        }
        size += bytes_of_prompt(&run.prompt) + size_of_entered(run, 0);
        // A message to which nothing was said yet stays, however long it is.
        if size > keep && place.is_some() {
            break;
        }
        // What only goes on with the run before it has no message of its own: that is before it, and waits for an answer.
        let has_own = run.prompt.continues.is_none() || (!spares && run.prompt.compacts.is_none());
        if has_own || said || place.is_some() {
            place = Some(Place { run: at, turns: 0 });
        }
    }
    // What is behind a message and its answers begins with the next message.
    let is_behind = |place: &Place| place.turns > 0 && place.run + 1 < runs.len();
    let place = place.map(|place| match runs.get(place.run).filter(|_| is_behind(&place)) {
        Some(run) if run.ended.is_some() && place.turns == run.turns.len() => {
            Place { run: place.run + 1, turns: 0 }
        }
        _ => place,
    });
    place.filter(|place| has_words(runs, kept.start, *place))
}

/// Whether anything was said between two places.
fn has_words(runs: &[Run], start: Place, end: Place) -> bool {
    runs.iter().enumerate().take(end.run + 1).skip(start.run).any(|(at, run)| {
        let is_in = |turns: usize| (start..end).contains(&Place { run: at, turns });
        (run.prompt.continues.is_none() && is_in(0))
            || (0..run.turns.len()).any(is_in)
            || run.steered.iter().any(|steered| is_in(steered.after))
    })
}

/// What stands before the first part that there was room for.
const LEFT_OUT: &str = "[What was said before this was left out, because it is too long.]";

/// Whether the oldest parts of what is to be summed up have no room. A door of the room `compaction`.
#[inline(never)]
pub fn leaves_out(of: Conversation<'_>, summary: &Summary) -> bool {
    enter(Room::Compaction);
    find::has(&to_sum_up(of, summary, ""), LEFT_OUT)
}

/// What a model is sent that sums up a conversation, from the part that is still sent to a place in it, in at most so many
/// bytes. Where that is too little, the oldest parts are left out, and it says so.
pub fn to_sum_up(of: Conversation<'_>, summary: &Summary, mark: &str) -> String {
    let runs = of.runs;
    let Some(until) = place_of(runs, &summary.until) else { return String::new() };
    let before = Window::of(runs);
    let longest = summary.room / 4;
    let mut parts = Vec::new();
    for (at, run) in runs.iter().enumerate().take(until.run + 1).skip(before.start.run) {
        let is_in = |turns: usize| {
            let here = Place { run: at, turns };
            here >= before.start && here < until
        };
        if run.prompt.continues.is_none() && is_in(0) {
            parts.extend(parts_of_prompt(&run.prompt, mark, longest));
        }
        // Behind the last turn is what has entered the run and was never sent.
        for n in (0..=run.turns.len()).filter(|n| is_in(*n)) {
            for steered in run.steered.iter().filter(|steered| steered.after == n) {
                parts.extend(parts_of_prompt(&steered.prompt, mark, longest));
            }
            parts.extend(run.turns.get(n).into_iter().flat_map(|turn| parts_of(turn, mark, longest)));
        }
    }
    let parts = parts.into_iter().filter(|part| !part.is_empty()).list();
    // What skills say is sent beside each summary, and is not summed up.
    let first =
        remembered(of, &before, mark, longest).map_or_else(String::new, |(told, words)| told + &words);
    let (mut room, mut kept) = (summary.room.saturating_sub(first.len()), Vec::new());
    for part in parts.iter().rev() {
        if part.len() > room {
            break;
        }
        room -= part.len();
        kept.push(part.as_str());
    }
    if kept.len() < parts.len() {
        kept.push(LEFT_OUT);
    }
    kept.push(&first);
    kept.reverse();
    kept.retain(|part| !part.is_empty());
    find::join(&kept, "\n\n")
}

fn said(who: &str, text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { [who, ": ", text.trim()].concat() }
}

/// What came with a message, each part cut before it is framed.
fn parts_of_prompt(prompt: &Prompt, mark: &str, longest: usize) -> Vec<String> {
    let mut parts = vec![said("The person", &short(prompt.text.trim(), longest))];
    if let Some(text) = &prompt.context {
        parts.push(said("The page", &framed(&short(text, longest), Source::External, mark)));
    }
    parts.extend(files_among(&prompt.files).map(|file| said("A file of the person", &file.name)));
    parts
}

/// What was said and done in a turn, each part cut before it is framed.
fn parts_of(turn: &Turn, mark: &str, longest: usize) -> Vec<String> {
    let mut parts = Vec::new();
    for block in turn.said.blocks() {
        match block {
            Block::Text(text) => parts.push(said("The assistant", &short(text.trim(), longest))),
            Block::ToolCall { id, name, arguments } => {
                let result =
                    turn.calls.iter().find(|call| call.id == *id).and_then(|call| match &call.state {
                        CallState::Settled(settled) => Some((call.source, settled)),
                        _ => None,
                    });
                let arguments = short(arguments, longest.min(RESULT));
                parts.push(["The assistant calls ", name, "(", &arguments, ")"].concat());
                if let Some((source, settled)) = result {
                    let text = short(&settled.text, longest.min(RESULT));
                    let source = source.unwrap_or(Source::System);
                    parts.push(["It gave:\n", &framed(&text, source, mark)].concat());
                }
            }
            // Thinking was for the answer that came of it.
            _ => {}
        }
    }
    parts.extend(served(turn.said.blocks(), mark, longest.min(2 * RESULT)));
    parts
}
