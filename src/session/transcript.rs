//! What the model is sent: the conversation as a view of the runs.
//!
//! Promises: only whole things. An answer that broke off gives its text and nothing else. Thinking goes back
//! unchanged or not at all, and every tool call that is sent has exactly one result. The text grows at its end, so
//! that a provider's prompt cache holds. Only an edit, a summary, a refused file or a lost one takes it back.

use super::compaction::{self, Conversation, GUESS, Measure, Window, summing};
use super::{Session, files_among};
use crate::error::{Code, ErrorInfo};
use crate::journal::Outcome;
use crate::list::Listed;
use crate::model::{Block, FileKind, Message, Peer, Role, StopReason, drop_open_server_calls};
use crate::prompt::{framed, served};
use crate::rooms::{Room, enter};
use crate::run::{Call, CallState, Prompt, Run, Said, Turn};
use crate::tools::Source;

/// The serialized conversation of one session for one provider, extended as the session goes on.
#[derive(Clone, Debug)]
pub struct Transcript {
    peer: Peer,
    generation: u64,
    files_told: u64,
    mark: String,
    kept: Window,
    text: String,
    /// How many bytes of text have how many tokens, as they were counted.
    read: Option<(usize, u64)>,
    /// Where the text begins that this goes by: behind so many bytes, and so many tokens.
    since: (usize, u64),
    /// Something was sent since then whose tokens do not come of its bytes.
    has_files: bool,
    /// How many bytes a request has besides these messages.
    beside: usize,
    /// How many bytes stand for what was summed up.
    told: usize,
    /// The skills that are in use: how each was asked for, and how many bytes it says.
    skills: Vec<(String, usize)>,
    /// How it began with each run that was taken up: a newer version of what follows starts there.
    starts: Vec<Start>,
    runs: usize,
    turns: usize,
    prompted: bool,
    /// How many of the run's messages were taken up that have entered it.
    steered: usize,
    /// The last message is the model's.
    said_last: bool,
    /// The last message is of results.
    results_last: bool,
    /// Its provider has only paused, and goes on with what it has said.
    paused: bool,
    /// Files were left out, because of a request that was refused later.
    leaves_out: bool,
    /// It cannot go on, and is written anew.
    stale: bool,
}

/// What a transcript was before a run.
#[derive(Clone, Copy, Debug)]
struct Start {
    len: usize,
    skills: usize,
    said_last: bool,
    results_last: bool,
    paused: bool,
}

/// What is said for the person where a call follows an answer that was at its end: not every model goes on by itself.
pub(super) const GO_ON: &str = "Go on.";

/// The same where a person had stopped the answer in the middle, and wants the rest of it.
const GO_ON_THERE: &str = "Go on where you were stopped.";

/// What is said where an answer does not fit its schema.
fn sent_back(error: &ErrorInfo) -> String {
    [&error.message, ". Give the whole answer again, mended."].concat()
}

/// How many bytes a token has at most, on the average of a conversation.
const MOST_BYTES: usize = 16;

/// How many bytes of text are counted at the least before the measure goes by them.
const ENOUGH: usize = 1_000;

/// How much is sent back of an answer that broke off, in bytes: as much as the longest that a model gives. One that was
/// ended because it had no end would go into each request from here on, and none would be taken.
const CUT_BYTES: usize = 512 * 1024;

/// What stands before what is told from memory.
const REMINDED: &str = "What is remembered from earlier conversations, as data:\n";

/// What stands for the answer to results that never came, where a provider needs one before the person's next message.
const NO_ANSWER: &str = "I gave no answer.";

impl Transcript {
    /// One of what of these runs is still sent.
    pub fn new(peer: Peer, session: &Session, of: Conversation<'_>) -> Transcript {
        let kept = Window::of(of.runs);
        let mut transcript = Transcript {
            peer,
            generation: session.generation,
            files_told: session.files_told,
            mark: session.mark.clone(),
            runs: kept.start.run,
            turns: kept.start.turns,
            prompted: kept.start.turns > 0,
            steered: 0,
            kept,
            text: String::new(),
            read: None,
            since: (0, 0),
            has_files: false,
            beside: 0,
            told: 0,
            skills: Vec::new(),
            starts: Vec::new(),
            said_last: false,
            results_last: false,
            paused: false,
            leaves_out: false,
            stale: false,
        };
        if transcript.kept.summary.is_some() {
            transcript.remember(of);
        }
        transcript
    }

    /// One that only asks this.
    pub fn asking(peer: Peer, session: &Session, text: String) -> Transcript {
        let mut transcript = Transcript::new(peer, session, Conversation { runs: &[], earlier: None });
        transcript.push(Role::User, vec![Block::Text(text)], false);
        transcript
    }

    /// Begins with what stands for all that was said before. A door of the room `compaction`.
    #[inline(never)]
    fn remember(&mut self, of: Conversation<'_>) {
        enter(Room::Compaction);
        let Window { start, .. } = self.kept;
        let entered = of.runs.get(start.run).map_or(&[][..], |run| &run.steered);
        self.steered = entered.iter().take_while(|steered| steered.after < start.turns).count();
        let told = summing::told(of, &self.kept, &self.mark);
        self.told = told.len();
        for (arguments, text) in summing::skills(of, start) {
            self.skills.push((arguments.into(), text.len()));
        }
        self.push(Role::User, vec![Block::Text(told)], false);
    }

    /// Whether it can go on for this provider and session.
    pub fn serves(&self, peer: &Peer, session: &Session, runs: &[Run]) -> bool {
        let same = self.generation == session.generation && self.files_told == session.files_told;
        !self.stale && same && self.peer == *peer && self.kept == Window::of(runs)
    }

    /// The runs that it counts have other places from here on: another one goes on, and counts like it.
    pub fn is_stale(&mut self) {
        self.stale = true;
    }

    /// The messages.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How the conversation is measured here.
    pub fn measure(&self) -> Measure<'_> {
        let Transcript { beside, told, .. } = *self;
        Measure { ratio: self.read.unwrap_or(GUESS), beside, told, by: Some(&self.peer.name) }
    }

    /// How many tokens the next request of these runs has, about.
    pub fn tokens(&self, runs: &[Run]) -> u64 {
        // Some servers count what they like.
        let kept = Window::of(runs);
        let least = if kept == self.kept { (self.text.len() + self.beside) / MOST_BYTES } else { 0 };
        self.measure().used(runs, &kept).max(least as u64)
    }

    /// How many tokens the next request has besides what was said, about.
    pub fn beside(&self) -> u64 {
        // Instructions, tools and skills are plain words, whatever the conversation is.
        let bytes = self.beside + self.skills();
        self.measure().tokens_of(bytes).min(bytes as u64 / 2)
    }

    /// How many bytes the skills have that are in use. They are among the messages, and no summary makes them shorter.
    pub fn skills(&self) -> usize {
        self.skills.iter().map(|(_, bytes)| bytes).sum()
    }

    /// How many bytes so many tokens have here, about.
    pub fn bytes_of(&self, tokens: u64) -> usize {
        let (bytes, read) = self.read.unwrap_or(GUESS);
        usize::try_from(compaction::share(tokens, bytes as u64, read)).unwrap_or(usize::MAX)
    }

    /// A request has so many bytes besides these messages.
    pub fn goes_with(&mut self, beside: usize) {
        self.beside = beside;
    }

    /// Takes over how many tokens another one of this conversation had for its length.
    pub fn counts_like(&mut self, other: &Transcript) {
        self.read = self.read.or(other.read);
    }

    /// Forgets all runs but the first `kept`: others take their place.
    pub fn rewind(&mut self, kept: usize) {
        // The refusal may be among them, or what is summed up where it begins.
        let Some(at) = kept.checked_sub(self.kept.start.run).filter(|_| !self.leaves_out) else {
            self.stale = true;
            return;
        };
        let Some(Start { len, skills, said_last, results_last, paused }) = self.starts.get(at).copied()
        else {
            return;
        };
        self.text.truncate(len);
        self.skills.truncate(skills);
        self.starts.truncate(at);
        (self.runs, self.turns, self.prompted, self.steered) = (kept, 0, false, 0);
        (self.said_last, self.results_last, self.paused) = (said_last, results_last, paused);
    }

    /// Takes up what was settled since the last time, of a conversation's runs, and gives the whole.
    pub fn extend(&mut self, runs: &[Run]) -> &str {
        while let Some(run) = runs.get(self.runs) {
            if self.starts.len() + self.kept.start.run == self.runs {
                let Transcript { said_last, results_last, paused, .. } = *self;
                let (len, skills) = (self.text.len(), self.skills.len());
                self.starts.push(Start { len, skills, said_last, results_last, paused });
            }
            let refused = refused(runs, self.runs);
            if !self.prompted && run.prompt.continues.is_none() {
                self.push_prompt(&run.prompt, refused, &run.reminded);
            }
            self.prompted = true;
            // The next run makes the call again that broke off here, unless a person stopped it.
            let next = runs.get(self.runs + 1).filter(|_| run.has_failed());
            let made_again = next.is_some_and(|run| run.prompt.goes_on_with().is_some());
            while let Some(turn) = run.turns.get(self.turns) {
                let at_end = self.turns + 1 == run.turns.len();
                // It is asked for again, and what is said by then comes before it.
                if run.ended.is_none() && at_end && matches!(turn.said, Said::Cut(_) | Said::Partial(_)) {
                    return &self.text;
                }
                let last = run.ended.is_some() && at_end;
                let replaced = last && made_again && matches!(turn.said, Said::Cut(_));
                self.push_steered(run, self.turns, refused);
                if self.said_last && !self.paused && !replaced {
                    let before = self.runs.checked_sub(1).filter(|_| self.turns == 0);
                    let ended = before.and_then(|before| runs.get(before)?.ended.as_ref());
                    let wrong = ended.and_then(|ended| ended.error.as_ref());
                    let text = match wrong.filter(|error| error.code == Code::InvalidOutput) {
                        Some(error) => sent_back(error),
                        None if ended.is_some_and(|ended| ended.outcome == Outcome::Interrupted) => {
                            GO_ON_THERE.into()
                        }
                        None => GO_ON.into(),
                    };
                    self.push(Role::User, vec![Block::Text(text)], false);
                }
                if !replaced && !self.take(turn, last, refused) {
                    return &self.text;
                }
                self.turns += 1;
            }
            if run.ended.is_none() {
                return &self.text;
            }
            // A message that has entered the run, and was never sent.
            self.push_steered(run, usize::MAX, refused);
            (self.runs, self.turns, self.prompted, self.steered) = (self.runs + 1, 0, false, 0);
        }
        &self.text
    }

    /// Takes up the messages that have entered a run behind so many of its turns.
    fn push_steered(&mut self, run: &Run, turns: usize, refused: bool) {
        while let Some(steered) = run.steered.get(self.steered).filter(|steered| steered.after <= turns) {
            self.push_prompt(&steered.prompt, refused, &[]);
            self.steered += 1;
        }
    }

    /// What a person has said. `refused`: without its files. `reminded`: what is told from memory beside it.
    fn push_prompt(&mut self, prompt: &Prompt, refused: bool, reminded: &[(String, String)]) {
        self.leaves_out |= refused;
        self.has_files |= !prompt.files.is_empty();
        let file = |file| self.peer.block(file, refused);
        let mut blocks = prompt.files.iter().map(file).list();
        blocks.push(Block::Text(prompt.text.clone()));
        blocks.extend(prompt.context.clone().map(Block::Text));
        if !reminded.is_empty() {
            let mut told = String::new();
            for (id, text) in reminded {
                told.push_str(&["[", id, "] ", text, "\n"].concat());
            }
            let told = framed(told.trim_end(), Source::Workspace, &self.mark);
            blocks.push(Block::Text([REMINDED, &told].concat()));
        }
        self.push(Role::User, blocks, false);
    }

    /// Whether the turn is settled, and was taken up. `last`: the run ended with it. `refused`: without its files.
    fn take(&mut self, turn: &Turn, last: bool, refused: bool) -> bool {
        match &turn.said {
            Said::Nothing | Said::Partial(_) => false,
            // What a refusal said is not sent back: it would be refused again.
            Said::Whole { stop: StopReason::Refusal(_), .. } => true,
            Said::Cut(blocks) => {
                let mut room = CUT_BYTES;
                let beginning = |block: &Block| {
                    let Block::Text(text) = block else { return None };
                    let text = text.get(..text.floor_char_boundary(room))?;
                    room -= text.len();
                    Some(Block::Text(text.into())).filter(|_| !text.is_empty())
                };
                self.push(Role::Assistant, blocks.iter().filter_map(beginning).list(), false);
                self.paused = false;
                true
            }
            Said::Whole { blocks, stop, provider, .. } => {
                let looked_up = compaction::has_looked_up(turn);
                let counted = turn.read > 0 && *provider == self.peer.name && !looked_up;
                if counted && self.kept.is_since(self.runs, turn) {
                    self.learn(turn);
                }
                self.has_files |= looked_up;
                let shortened = self.kept.has_shortened(self.runs, self.turns);
                let result = |call| self.result(call, refused, shortened);
                let results = turn.calls.iter().map(result).whole();
                let Some(mut results) = results else { return false };
                for (arguments, text) in turn.calls.iter().filter_map(compaction::skill_of) {
                    if self.skills.iter().all(|(known, _)| known != arguments) {
                        self.skills.push((arguments.into(), text.len()));
                    }
                }
                let gave = turn.calls.iter().any(|call| !call.files().is_empty());
                let files = if gave { self.files_behind(&mut results) } else { Vec::new() };
                self.leaves_out |= gave && refused;
                self.has_files |= gave;
                let mut blocks = blocks.clone();
                if last && *stop == StopReason::Pause {
                    // The provider's own tools will not come back to what they left open.
                    drop_open_server_calls(&mut blocks);
                }
                let own = *provider == self.peer.name;
                // Its own provider has its own words of what it has looked up.
                let told = if own { None } else { served(&blocks, &self.mark, usize::MAX) };
                blocks.retain(|block| !matches!(block, Block::ServerCall(_) | Block::Cited(_)));
                self.push(Role::Assistant, blocks, own);
                self.push(Role::User, results, false);
                self.push(Role::User, files, false);
                self.push(Role::User, told.map(Block::Text).into_iter().list(), false);
                if let Some(error) = &turn.sent_back {
                    self.push(Role::User, vec![Block::Text(sent_back(error))], false);
                }
                self.paused = own && !last && *stop == StopReason::Pause;
                true
            }
        }
    }

    /// Takes up how many tokens were counted for the text so far. What files have, and what a provider has looked up, says
    /// nothing of the text.
    fn learn(&mut self, turn: &Turn) {
        let all = self.text.len() + self.beside;
        if std::mem::take(&mut self.has_files) {
            self.since = (all, turn.read);
            return;
        }
        let (before, read) = self.since;
        let bytes = all.saturating_sub(before);
        let tokens = turn.read.saturating_sub(read);
        if tokens > bytes as u64 {
            // Something else was counted, too.
            self.since = (all, turn.read);
        } else if bytes >= ENOUGH {
            // Some servers count what they like.
            self.read = Some((bytes, tokens.max((bytes / MOST_BYTES) as u64)));
        }
    }

    /// What a call has come to. `None`: it has not yet.
    /// `shortened`: only what stands for it.
    fn result(&self, call: &Call, refused: bool, shortened: bool) -> Option<Block> {
        let CallState::Settled(settled) = &call.state else { return None };
        let stand_in = shortened.then(|| compaction::stand_in(call, settled)).flatten();
        let framed = |text: &str| match call.source {
            Some(source) => framed(text, source, &self.mark),
            None => text.into(),
        };
        let (mut text, mut files) = (settled.text.clone(), Vec::new());
        if let Some(stand_in) = &stand_in {
            text.clone_from(stand_in);
        } else if !settled.files.is_empty() {
            files = self.files_beside(&settled.files, refused, &mut text);
        }
        Some(Block::ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: framed(&text),
            is_error: settled.error.is_some(),
            files,
        })
    }

    /// The files of a result as they are sent. The text of a file is in the result, and so is what is said in the place of
    /// one that cannot be sent. A door of the room `past`.
    #[inline(never)]
    fn files_beside(&self, given: &[Block], refused: bool, text: &mut String) -> Vec<Block> {
        enter(Room::Past);
        let mut files = Vec::new();
        for file in files_among(given).filter(|file| file.kind() != FileKind::Text) {
            match self.peer.block(&Block::File(file.clone()), refused) {
                Block::Text(note) => *text = [&*text, "\n\n", &note].concat(),
                file => files.push(file),
            }
        }
        files
    }

    /// The files of results that have no place for them there, with what says where they are from, taken out of these. A
    /// door of the room `past`.
    #[inline(never)]
    fn files_behind(&self, results: &mut [Block]) -> Vec<Block> {
        enter(Room::Past);
        let mut behind = Vec::new();
        for result in results {
            if let Block::ToolResult { name, files, .. } = result
                && !files.is_empty()
                && !self.peer.wire.has_files_in_results()
            {
                behind.push(Block::Text(["The tool \"", name, "\" gave this:"].concat()));
                behind.append(files);
            }
        }
        behind
    }

    fn push(&mut self, role: Role, blocks: Vec<Block>, own: bool) {
        if blocks.is_empty() {
            return;
        }
        let results = matches!(blocks.first(), Some(Block::ToolResult { .. }));
        if self.peer.dialect.bridge && self.results_last && role == Role::User && !results {
            self.push(Role::Assistant, vec![Block::Text(NO_ANSWER.into())], false);
        }
        let mut text = String::new();
        let Peer { wire, dialect, .. } = &self.peer;
        wire.encode_message(dialect, &Message { role, blocks, own }, &mut text);
        if !text.is_empty() {
            if !self.text.is_empty() {
                self.text.push(',');
            }
            self.text.push_str(&text);
            self.said_last = role == Role::Assistant;
            self.results_last = results;
        }
    }
}

/// Whether a provider has refused a request with this run's message as one that it cannot read, and the person has gone
/// on with another message: with the same files, every other request might be refused too.
fn refused(runs: &[Run], at: usize) -> bool {
    let is_refused = |run: &Run| {
        let error = run.ended.as_ref().and_then(|ended| ended.error.as_ref());
        error.is_some_and(|error| error.code == Code::InvalidRequest)
    };
    let pairs = runs.get(at..).unwrap_or_default().windows(2);
    pairs
        .into_iter()
        .any(|pair| matches!(pair, [run, next] if next.prompt.continues.is_none() && is_refused(run)))
}
