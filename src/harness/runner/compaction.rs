//! Conversations that become too long for their model.
//!
//! Decides when a conversation is made shorter for the model, in which of two ways, and how much of it stays. Promises: what
//! was counted last, with an estimate of what came since, stays in a window that is known. A request that was refused as too long is asked again with less, a few times. Where
//! nothing helps, the run fails with the error that there was. Leaves to others: where a conversation is cut and what is told
//! of it (`session/compaction`), and the run that sums up (`run`).

use crate::error::{Code, ErrorInfo};
use crate::harness::config::{Compaction, Config};
use crate::harness::core::Core;
use crate::harness::core::slots::AtHand;
use crate::harness::runner::Runner;
use crate::harness::runner::question::key_of;
use crate::journal::{CompactReason, Entry};
use crate::model::{Ability, Known, Settings, ToolSpec};
use crate::rooms::{Room, enter};
use crate::run::{Run, Summary};
use crate::session::compaction::{self, Window, conversation_of, summing};
use std::rc::Rc;

/// How much of the window has to be free for a conversation, in tokens.
const LEAST: u64 = 1_000;

/// How many tokens a conversation has at the least that a summary would make shorter.
const WORTH: u64 = 100;

/// The part of the window that is left for an answer whose limit the page does not set, where its model may say more.
const OF_ANSWER: u64 = 4;

/// How full the window is when the room is asked for that makes a conversation shorter, in hundredths.
const NEAR: u64 = 60;

/// How full it may be once results are left out: else a model sums up, because it would be full again soon.
const ENOUGH: u64 = 75;

/// How often a request that is too long is made shorter before the run fails.
const TRIES: u32 = 3;

/// What a model takes at the least, in tokens: so much of a conversation is summed up as a whole where its window is unknown.
const SMALL: u64 = 4_000;

/// The most that stays word for word where the page says nothing, in tokens: of the newest part, and of the person's words.
const KEPT: u64 = 20_000;

/// How many tokens a summary has at the most where its model does not think.
const SUMMARY: u32 = 4_096;

/// How many bytes the summary's own instructions have, with room to spare.
const PROMPT: usize = 1_500;

/// Whether the room is there that makes conversations shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::harness) enum Help {
    /// Nobody has asked for it.
    #[default]
    Away,
    /// It is asked for.
    Wanted,
    /// It is there.
    Here,
    /// It did not come: calls are made without it.
    Lost,
}

/// What comes before a model is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// Nothing.
    Call,
    /// A room that is on its way.
    Wait,
    /// Something was put on record: what is decided next may be something else.
    Again,
}

/// What a model is sent besides the conversation, and how much.
#[derive(Debug)]
pub(super) struct Beside {
    /// The part with the most bytes, with its verb, and what makes it smaller.
    largest: (&'static str, &'static str),
    /// All of it but for skills, in bytes.
    pub bytes: usize,
    /// All of it in tokens, about.
    pub tokens: u64,
}

impl Beside {
    /// Of this request, whose conversation has skills of so many bytes in use.
    pub fn of(settings: &Settings, specs: &[ToolSpec], skills: usize) -> Beside {
        let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.input_schema.len();
        let tools: usize = specs.iter().map(tool).sum();
        let system = settings.system.len();
        let fewer = "shorten the instructions, or offer fewer tools";
        let largest = if skills > tools.max(system) {
            ("the skills in use leave", "shorten the skills, or clear the conversation")
        } else if tools > system {
            ("the tools leave", fewer)
        } else {
            ("the system prompt leaves", fewer)
        };
        Beside { largest, bytes: tools + system, tokens: 0 }
    }
}

/// How a conversation stands to its model's window, in tokens.
#[derive(Clone, Copy, Debug)]
struct Fill {
    /// What the conversation has.
    used: u64,
    /// What all of the request has.
    all: u64,
    /// What the model takes, with its answer.
    window: Option<u64>,
    /// What is left of that for the conversation.
    usable: Option<u64>,
    /// How often the conversation was made shorter since its model has said something.
    tries: u32,
}

impl Runner {
    /// What has to come before a run's model is called, so that its conversation has room.
    pub(super) fn before_call(&mut self, core: &mut Core, session: &str, run: &str) -> First {
        let Some((config, asking)) = self.config_of(core, session, run) else { return First::Call };
        let Some(folded) = core.session(session) else { return First::Call };
        let asked = asking.compacts && !asking.summed_up;
        let remembers = Window::of(conversation_of(folded, run).runs).summary.is_some();
        if (asked || remembers || asking.summarizes) && self.help != Help::Here {
            return self.call_for_help();
        }
        if asking.summarizes {
            return First::Call;
        }
        if !asked && config.compaction.is_none() {
            return First::Call;
        }
        let Some(fill) = self.fill(core, &config, session, run) else { return First::Call };
        if asked {
            // What leaves the conversation no room is not sent with what sums up.
            let usable = fill.usable.filter(|usable| *usable >= LEAST);
            let fill = Fill { usable, ..fill };
            return self.compact(core, &config, session, run, CompactReason::Asked, fill);
        }
        let (Some(usable), Some(Compaction { at, .. })) = (fill.usable, &config.compaction) else {
            return First::Call;
        };
        let percent = compaction::share(fill.used, 100, usable);
        if usable < LEAST || percent < NEAR.min(*at) {
            return First::Call;
        }
        if self.help != Help::Here {
            let wait = self.call_for_help();
            return if percent < *at { First::Call } else { wait };
        }
        // What could not be summed up is tried again once there is no room, or by the next run.
        if percent < *at || asking.does_without && fill.used <= usable {
            return First::Call;
        }
        self.compact(core, &config, session, run, CompactReason::Window, fill)
    }

    /// Makes a conversation shorter whose request was refused as too long. [`First::Call`]: that is the end of its run.
    pub(super) fn after_refusal(&mut self, core: &mut Core, session: &str, run: &str) -> First {
        let Some((config, asking)) = self.config_of(core, session, run) else { return First::Call };
        if asking.summarizes || config.compaction.is_none() && !asking.compacts || asking.tries >= TRIES {
            return First::Call;
        }
        if self.help != Help::Here {
            return self.call_for_help();
        }
        let Some(mut fill) = self.fill(core, &config, session, run) else { return First::Call };
        if fill.usable.is_some_and(|usable| usable < LEAST) || fill.used < WORTH {
            return First::Call;
        }
        // What was refused is too long, whatever is known of the window.
        let refused = fill.used - fill.used / 4;
        fill.tries = asking.tries;
        fill.usable = Some(fill.usable.map_or(refused, |usable| usable.min(refused)));
        let reason = if asking.compacts { CompactReason::Asked } else { CompactReason::Refused };
        self.compact(core, &config, session, run, reason, fill)
    }

    /// The room is asked for, unless it did not come just now.
    fn call_for_help(&mut self) -> First {
        match self.help {
            Help::Lost => {
                self.help = Help::Away;
                First::Call
            }
            Help::Away | Help::Wanted => {
                self.help = Help::Wanted;
                First::Wait
            }
            Help::Here => First::Call,
        }
    }

    /// The room is there, or it did not come: what waits for it goes on.
    pub(in crate::harness) fn help_came(&mut self, core: &mut Core, here: bool) {
        self.help = if here { Help::Here } else { Help::Lost };
        for session in core.sessions.ids() {
            self.advance(core, &session);
        }
    }

    /// The configuration that a run's model is asked by, and what is to be known of the run.
    fn config_of(&self, core: &Core, session: &str, run: &str) -> Option<(Rc<Config>, Asking)> {
        let folded = core.session(session)?;
        let run = folded.run(run)?;
        let config = self.setup.config_with(folded.overrides_of(run).as_ref()).ok()?;
        Some((config, Asking::of(run)))
    }

    /// How a run's next request stands to its model's window.
    fn fill(&self, core: &mut Core, config: &Config, session: &str, run: &str) -> Option<Fill> {
        let on = core.run(session, run)?.on.clone();
        let on = on.as_deref();
        let peer = config.peer(on)?;
        self.question(core, config, session, run, peer).ok()?;
        let AtHand { session, transcripts, .. } = core.sessions.get(session)?;
        let transcript = transcripts.get(key_of(session.run(run)?))?;
        let runs = conversation_of(session, run).runs;
        let all = transcript.tokens(runs);
        let window = config.known(on).and_then(|known| known.context);
        let usable = window.map(|window| {
            let output = left_for_answer(config, on, window);
            window.saturating_sub(output).saturating_sub(transcript.beside())
        });
        Some(Fill { used: all.saturating_sub(transcript.beside()), all, window, usable, tries: 0 })
    }

    /// Puts on record how the conversation becomes shorter. [`First::Call`]: it cannot. A door of the room `compaction`.
    #[inline(never)]
    fn compact(
        &mut self,
        core: &mut Core,
        config: &Config,
        session: &str,
        run: &str,
        reason: CompactReason,
        fill: Fill,
    ) -> First {
        enter(Room::Compaction);
        let options = config.compaction.clone().unwrap_or_default();
        let usable = fill.usable.unwrap_or(fill.used) >> fill.tries;
        // How many tokens are summed up. Without a known window, as many as the last request had, because its model took them.
        let taken = fill.usable.unwrap_or(fill.all.max(SMALL));
        // Who sums up may take less than who answers.
        let sums_up = options.provider.as_deref().or_else(|| core.run(session, run)?.on.as_deref());
        let known = config.known(sums_up).copied().unwrap_or_default();
        let its =
            known.context.map(|window| window.saturating_sub(room_of_summary(config, &known, true).into()));
        let taken = taken.min(its.unwrap_or(taken)) >> fill.tries;
        // By default what stays is well below what has it summed up again.
        let full = usable * options.at / 100;
        let keep = options.keep.unwrap_or_else(|| KEPT.min(usable / 4).min(full / 2)).min(usable / 2);
        let Some(AtHand { session: folded, transcripts, .. }) = core.sessions.get(session) else {
            return First::Call;
        };
        let Some(asking) = folded.run(run) else { return First::Call };
        let Some(transcript) = transcripts.get(key_of(asking)) else { return First::Call };
        let bytes = |tokens: u64| transcript.bytes_of(tokens);
        let runs = conversation_of(folded, run).runs;
        let kept = Window::of(runs);
        // What costs more than its bytes say costs as much in the part that stays.
        let part = compaction::share(keep, summing::size_of(runs, &kept) as u64, fill.used);
        let part = usize::try_from(part).unwrap_or(usize::MAX);
        let part = bytes(keep).min(part);
        // What the model has not read yet would only be asked for again.
        let mut place = summing::cut(runs, &kept, part, true);
        if reason != CompactReason::Window || fill.used > usable {
            place = place.or_else(|| summing::cut(runs, &kept, part, false));
        }
        if reason == CompactReason::Asked {
            // However short it is.
            place = place.or_else(|| summing::cut(runs, &kept, 0, false));
        }
        let measure = transcript.measure();
        // Skills are sent anew with each summary.
        let summed = measure.told.saturating_sub(transcript.skills());
        if reason == CompactReason::Refused && measure.tokens_of(summed) > usable / 2 {
            // Nothing was said since the last summary, which may be of a larger window.
            place = place.or(Some(kept.start));
        }
        let Some(place) = place else { return First::Call };
        let Some(until) = compaction::until(runs, place) else { return First::Call };
        let turns = until.turns as u64;
        let (used, window) = (fill.all, fill.window);
        if reason == CompactReason::Window {
            let saved = measure.tokens_of(summing::saved_until(runs, &kept, place));
            if (fill.used - saved.min(fill.used)) * 100 <= usable * options.at * ENOUGH / 100 && saved > 0 {
                let entry = Entry::Shortened { until: until.run, turns, used, window };
                self.append(core, session, Some(run), &entry);
                return First::Again;
            }
        }
        let instructions = match &asking.prompt.compacts {
            Some(Some(given)) => Some(given.clone()),
            _ => options.instructions.clone(),
        };
        let id = [run, "_sum", &(asking.summaries.len() + 1).to_string()].concat();
        let entry = Entry::Compacting {
            of: run.into(),
            reason: reason.into(),
            until: until.run,
            turns,
            words: bytes(KEPT.min(usable / 8).min(full / 4)) as u64,
            room: bytes(taken).saturating_sub(PROMPT).max(bytes(taken) / 2) as u64 / 10 * 9,
            used,
            window,
            instructions,
            on: options.provider.clone(),
            fits: (reason == CompactReason::Window && fill.used <= usable).then_some(true),
        };
        self.append(core, session, Some(&id), &entry);
        First::Again
    }
}

/// What a run is that asks its model, as far as it matters here.
struct Asking {
    summarizes: bool,
    compacts: bool,
    summed_up: bool,
    /// Its conversation could not be summed up, and had room as it was.
    does_without: bool,
    /// How often its conversation was made shorter since its model has said something.
    tries: u32,
}

impl Asking {
    fn of(run: &Run) -> Asking {
        let now = run.summaries.iter().filter(|summary| summary.after == run.turns.len());
        Asking {
            summarizes: run.summarizes,
            compacts: run.prompt.compacts.is_some(),
            summed_up: run.summaries.last().is_some_and(Summary::is_whole),
            does_without: run.summaries.last().is_some_and(Summary::is_done_without),
            tries: u32::try_from(now.count()).unwrap_or(u32::MAX),
        }
    }
}

/// How many tokens are left for the answer.
fn left_for_answer(config: &Config, on: Option<&str>, window: u64) -> u64 {
    match config.max_output_tokens {
        Some(tokens) => tokens.into(),
        None => config.known(on).and_then(|known| known.output).unwrap_or(u64::MAX).min(window / OF_ANSWER),
    }
}

/// How many tokens a summary may have, and where it was longer than that.
pub(super) fn room_of_summary(config: &Config, known: &Known, again: bool) -> u32 {
    // Who thinks does so in its answer.
    let thinks = config.reasoning.is_some() || known.can(Ability::Reasoning) == Some(true);
    let most = if thinks { SUMMARY * 4 } else { SUMMARY };
    let most = u64::from(most) << u32::from(again);
    let part = |window: u64| (window / OF_ANSWER) >> u32::from(!again);
    let most = most.min(known.output.unwrap_or(most)).min(known.context.map_or(most, part));
    u32::try_from(most.max(1)).unwrap_or(u32::MAX)
}

/// Why a request cannot be made, however short its conversation is.
pub(super) fn check_window(config: &Config, on: Option<&str>, beside: &Beside) -> Result<(), ErrorInfo> {
    let Some(window) = config.known(on).and_then(|known| known.context) else { return Ok(()) };
    let output = left_for_answer(config, on, window);
    let tokens = beside.tokens;
    if config.compaction.is_none() || window.saturating_sub(output).saturating_sub(tokens) >= LEAST {
        return Ok(());
    }
    let (largest, hint) = match output > tokens {
        true => ("the answer leaves", "lower maxOutputTokens"),
        false => beside.largest,
    };
    let message = format!(
        "{largest} less than {LEAST} of the {window} tokens of the model's window to the conversation"
    );
    Err(ErrorInfo::new(Code::ContextLength, message)
        .hint([hint, ", or use a model with a larger window"].concat()))
}
