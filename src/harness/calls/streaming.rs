//! Answers that stream: what has come, what was told of it, and what is written down.
//!
//! Decides how much of a text can be told while it may still become a key, and when it is written down. Promises: no delta
//! passes a run's machine. A part has one event for each network read. What was shown survives its page. Leaves to
//! others: the whole answer (`runner`).

use crate::error::ErrorInfo;
use crate::harness::action::{Action, CallKey};
use crate::harness::calls::Calls;
use crate::harness::calls::watch::Watch;
use crate::harness::config::{Given, Http};
use crate::harness::core::whole::{ERROR_BYTES, Whole, is_good};
use crate::harness::core::{Core, drafts};
use crate::harness::setup::Setup;
use crate::journal::blocks_to_json;
use crate::list::Listed;
use crate::model::{Block, Delta, DeltaKind, Known, ServerCall, Usage};
use crate::object::Object;
use crate::ports::{Millis, Write};
use crate::run::Run;
use crate::session;
use crate::work;
use serde_json::Value;
use std::rc::Rc;

/// How often the text of an answer is written down while it streams, in milliseconds.
const DRAFT_MS: Millis = 250;

/// One part of an answer that streams.
#[derive(Debug)]
struct Streamed {
    kind: DeltaKind,
    /// Of a call: the name of its tool.
    name: String,
    /// Of a call: its arguments, if its tool wants them told.
    text: String,
    /// How much of it was told, in bytes, and in UTF-16 units as pages count.
    told: usize,
    told_units: usize,
    /// How much of it is in a draft, in bytes.
    drafted: usize,
}

/// A model call in the air.
#[derive(Debug)]
pub(in crate::harness) struct LiveModel {
    pub session: String,
    pub run: String,
    pub call: u64,
    /// Who was asked.
    pub asked: AskedModel,
    /// What it has used up, as far as its provider has told.
    pub usage: Usage,
    /// When the last piece of it came; 0: none has.
    pub said_at: Millis,
    /// The answer where it does not stream, because it is an error.
    whole: Option<Whole>,
    parts: Vec<Streamed>,
    /// The places of the parts that have grown since the page was told last.
    grown: Vec<usize>,
    /// The places of those that are told further than drafts have them.
    undrafted: Vec<usize>,
    drafts: u64,
    /// How many shown parts the run had before this answer.
    base: usize,
    /// Whether a tool call began since the page was told last.
    fresh_call: bool,
    /// Whether the page still shows what this call had said before it was made again.
    replaces: bool,
    /// How many kinds of things its provider has looked up: they are put down before its text is.
    pub looked_up: usize,
}

/// What a model call is for. What it costs counts, whatever it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::harness) enum Purpose {
    /// The answer to a person: the page hears it as it comes.
    Answer,
    /// The answer to a run that delegates: the page hears it with its tool call.
    Report,
    /// What was said before, in short: the page hears that it was made.
    Summary,
}

/// Who was asked; the configuration may change while it answers.
#[derive(Debug)]
pub(in crate::harness) struct AskedModel {
    /// What it was asked for.
    pub purpose: Purpose,
    /// What the answer is recorded under.
    pub provider: String,
    /// What is known of the model.
    pub known: Option<Known>,
    /// How long its silence is borne.
    pub watch: Watch,
    /// The tool that stands for the answer, if one does.
    pub answers_by: Option<String>,
    /// Over HTTP: the provider, and the address that was asked.
    pub http: Option<(Rc<Http>, String)>,
}

impl AskedModel {
    /// The price of this, in nano-dollars, if it is known.
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        self.known.as_ref().and_then(|known| known.cost(usage))
    }

    /// Whether a function of the page has given the key.
    pub fn asks_for_a_key(&self) -> bool {
        self.http.as_ref().is_some_and(|(http, _)| matches!(http.key, Some(Given::Ask(_))))
    }
}

impl LiveModel {
    /// A call that was just made. `base`: how many shown parts the run had before; `replaces`: whether the page still
    /// shows what this call had said before it was made again.
    pub fn new(
        session: &str,
        run: &str,
        call: u64,
        asked: AskedModel,
        base: usize,
        replaces: bool,
    ) -> LiveModel {
        let (session, run) = (session.into(), run.into());
        LiveModel {
            session,
            run,
            call,
            asked,
            usage: Usage::default(),
            said_at: 0,
            whole: None,
            parts: Vec::new(),
            grown: Vec::new(),
            undrafted: Vec::new(),
            drafts: 0,
            base,
            fresh_call: false,
            replaces,
            looked_up: 0,
        }
    }

    /// Whether there is text that no draft holds.
    pub fn has_news(&self) -> bool {
        !self.undrafted.is_empty()
    }

    /// What was told of its text and thinking.
    pub fn told(&self) -> impl Iterator<Item = &str> {
        let said = self.parts.iter().filter(|part| part.kind.is_text());
        said.map(|part| part.text.get(..part.told).unwrap_or_default())
    }

    /// Whether it has said anything.
    pub fn has_said(&self) -> bool {
        self.told().any(|text| !text.is_empty())
    }

    /// Whether a tool call has begun to come: it is shown, and in no block before it is whole.
    pub fn has_begun_a_call(&self) -> bool {
        self.parts.iter().any(|part| part.kind == DeltaKind::ToolCall)
    }

    /// What has come, as far as it can stand alone.
    pub fn blocks(&self) -> Vec<Block> {
        let block = |part: &Streamed| match part.kind {
            DeltaKind::ServerCall => Some(Block::ServerCall(ServerCall::named(&part.name))),
            kind => block(kind, &part.text).filter(|_| !part.text.is_empty()),
        };
        self.parts.iter().filter_map(block).list()
    }

    /// The answer that came by a tool's call: it is what the model says. Its text is told with the last news.
    pub fn take_answer(&mut self, blocks: &mut Vec<Block>) {
        let Some(tool) = &self.asked.answers_by else { return };
        let mut part = 0;
        let mut taken = false;
        blocks.retain_mut(|block| {
            // What its provider has added belongs to a call, not to a text.
            let added = taken && matches!(block, Block::Extra(_));
            taken = false;
            if let Block::ToolCall { name, arguments, .. } = block
                && name == tool
            {
                taken = true;
                if let Some(part) = self.parts.get_mut(part) {
                    part.text.clone_from(arguments);
                }
                *block = Block::Text(std::mem::take(arguments));
            }
            part += usize::from(block.is_shown());
            !added
        });
    }
}

fn block(kind: DeltaKind, text: &str) -> Option<Block> {
    match kind {
        DeltaKind::Text => Some(Block::Text(text.into())),
        DeltaKind::Thinking => Some(Block::Thinking { text: text.into(), signature: None }),
        DeltaKind::ToolCall | DeltaKind::ServerCall | DeltaKind::Arguments => None,
    }
}

impl Calls {
    /// The head of an answer has come. `true`: what follows streams.
    pub fn head(
        &mut self,
        core: &mut Core,
        call: CallKey,
        status: u16,
        headers: Vec<(String, String)>,
    ) -> bool {
        self.heard(core, core.now, call, false);
        let Some(model) = self.models.get_mut(call).filter(|_| !is_good(status)) else { return true };
        model.whole = Some(Whole::new(core.now, status, headers, ERROR_BYTES));
        false
    }

    /// More of an answer that does not stream. `false`: no more of it is wanted.
    pub fn body(&mut self, core: &mut Core, call: CallKey, bytes: &[u8]) -> bool {
        let now = core.now;
        let Some(model) = self.models.get_mut(call) else { return false };
        let (Some(whole), Some((http, _))) = (&mut model.whole, &model.asked.http) else { return false };
        let wanted = whole.take(now, bytes, http.timeouts.silence);
        if wanted {
            model.asked.watch.heard(now, true);
        }
        wanted
    }

    /// Why an answer that does not stream is none. `None`: nobody waits for it.
    pub fn error(&mut self, core: &Core, call: CallKey) -> Option<ErrorInfo> {
        let model = self.models.get_mut(call)?;
        let (http, url) = model.asked.http.as_ref()?;
        model.whole.take()?.said(core, http, url).err()
    }

    /// A piece of an answer. `false`: nobody wants it any more.
    pub fn delta(&mut self, core: &mut Core, call: CallKey, delta: Delta<'_>) -> bool {
        let Some(model) = self.models.get_mut(call) else {
            core.runs.late(call);
            return false;
        };
        let index = delta.part as usize;
        while model.parts.len() <= index {
            model.fresh_call |= !delta.kind.is_text();
            let answer = || model.asked.answers_by.as_deref() == Some(delta.text);
            let kind = match delta.kind {
                DeltaKind::ToolCall if answer() => DeltaKind::Text,
                kind => kind,
            };
            let name = core.secrets.scrubbed(if kind.is_text() { "" } else { delta.text }.into());
            let text = String::new();
            model.parts.push(Streamed { kind, name, text, told: 0, told_units: 0, drafted: 0 });
        }
        if let Some(part) = model.parts.get_mut(index)
            && (delta.kind.is_text() || delta.kind == DeltaKind::Arguments)
        {
            part.text.push_str(delta.text);
            if model.grown.last() != Some(&index) {
                model.grown.push(index);
            }
        }
        true
    }

    /// Everything of one network read has come: the page is told, in one event a part. `usage`:
    /// [`Decoder::usage`](crate::model::Decoder::usage), which counts if the answer comes to no end of its own.
    pub fn flush(&mut self, core: &mut Core, setup: &Setup, now: Millis, call: CallKey, usage: Usage) {
        self.heard(core, now, call, true);
        if let Some(model) = self.models.get_mut(call) {
            model.usage = usage;
        }
        self.tell_news(core, setup, call, false);
        // Not by a timer: the page may be gone before it fires.
        self.draft_if_due(core);
    }

    /// When the text that streams is to be written down, if some is not.
    pub(in crate::harness) fn draft_due(&self) -> Option<Millis> {
        self.models.values().any(LiveModel::has_news).then_some(self.last_draft + DRAFT_MS)
    }

    /// Writes it down if that time has come.
    pub(in crate::harness) fn draft_if_due(&mut self, core: &mut Core) {
        if self.draft_due().is_some_and(|due| due <= core.now) {
            self.write_drafts(core);
        }
    }

    /// Tells what of an answer was not told. `last`: nothing more comes of it.
    pub(in crate::harness) fn tell_news(
        &mut self,
        core: &mut Core,
        setup: &Setup,
        call: CallKey,
        last: bool,
    ) {
        let now = core.now;
        let Some(model) = self.models.get_mut(call) else { return };
        let (session, run) = (model.session.clone(), model.run.clone());
        if model.fresh_call {
            model.said_at = now;
        }
        let mut news = Vec::new();
        // What waits in the others goes on waiting: a long answer is not gone through for each of its pieces.
        let mut grown = std::mem::take(&mut model.grown);
        if last {
            grown = (0..model.parts.len()).list();
        }
        for index in grown {
            work::did(1);
            let Some(part) = model.parts.get_mut(index) else { continue };
            let until = core.secrets.tellable(&mut part.text, part.told, last);
            let Some(text) = part.text.get(part.told..until).filter(|text| !text.is_empty()) else {
                continue;
            };
            news.push((model.base + index, part.kind, part.told_units, text.to_owned()));
            if part.kind.is_text() && part.drafted == part.told {
                model.undrafted.push(index);
            }
            part.told_units += if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
            part.told = until;
            model.said_at = now;
        }
        if model.asked.purpose != Purpose::Answer {
            return;
        }
        let replaced = !news.is_empty() && std::mem::take(&mut model.replaces);
        let fresh_call = std::mem::take(&mut model.fresh_call) || replaced;
        if news.is_empty() && !fresh_call {
            return;
        }
        // The part of a call that begins must be there before text that comes after it; what is replaced must be gone.
        if fresh_call {
            self.tell_message(core, &session, &run, false);
        }
        if let Some(message) = core.run(&session, &run).map(Run::answer_id) {
            for (part, kind, offset, text) in news {
                let kind = match kind {
                    DeltaKind::Text => "text",
                    DeltaKind::Thinking => "thinking",
                    _ => "arguments",
                };
                let Some(mut detail) = core.detail_of(&session, &run) else { return };
                detail.text("kind", kind).text("messageId", &message).text("text", &text);
                detail.number("offset", offset as u64).number("part", part as u64);
                core.send("agent:message-chunk", detail, false);
            }
        }
        self.tell_views(core, setup);
    }

    /// The parts of a run's answer that stream and are in no entry yet.
    pub(in crate::harness) fn streaming_parts(&self, session: &str, run: &str) -> Vec<Value> {
        let model = self.models.values().find(|model| model.session == session && model.run == run);
        let parts = model.map(|model| model.parts.as_slice()).unwrap_or_default();
        let told = |part: &Streamed| part.text.get(..part.told).unwrap_or_default().to_owned();
        let part = |(index, part): (usize, &Streamed)| match part.kind {
            DeltaKind::Text => session::text_part("text", &told(part)),
            DeltaKind::Thinking => session::text_part("thinking", &told(part)),
            DeltaKind::ServerCall => {
                let id = format!("receiving-{index}");
                session::served_part(&ServerCall::named(&part.name), &id, "started")
            }
            DeltaKind::ToolCall => Object::new()
                .text("type", "tool-call")
                .text("toolCallId", &format!("receiving-{index}"))
                .text("tool", &part.name)
                .value("arguments", Object::new().done())
                .maybe_text("argumentsText", (part.told > 0).then(|| told(part)).as_deref())
                .text("status", "receiving")
                .done(),
            DeltaKind::Arguments => Value::Null,
        };
        parts.iter().enumerate().map(part).list()
    }

    /// Whether a run has shown anything of the answer that it awaits.
    pub(in crate::harness) fn has_shown(&self, session: &str, run: &str) -> bool {
        self.models.values().any(|m| m.session == session && m.run == run && !m.parts.is_empty())
    }

    /// Writes down the text that streams and is in no draft yet.
    pub(in crate::harness) fn write_drafts(&mut self, core: &mut Core) {
        self.last_draft = core.now;
        for write in self.drafts(core, false) {
            core.outbox.write(write);
        }
        core.outbox.hurry();
    }

    /// Writes down all that streams, at once: the page may be gone before a commit that waits for its turn.
    pub(in crate::harness) fn draft_at_once(&mut self, core: &mut Core) {
        self.last_draft = core.now;
        let writes = self.drafts(core, true);
        if !writes.is_empty() {
            core.outbox.act(Action::Draft { writes });
        }
    }

    /// The drafts of what streams: under the epoch, so that a former holder's are told apart.
    fn drafts(&mut self, core: &mut Core, whole: bool) -> Vec<Write> {
        let epoch = core.epoch;
        let mut written = Vec::new();
        // What is written at once would come before the mark that waits for its commit.
        let ahead = whole && !core.outbox.is_idle();
        let wanted = |model: &&mut LiveModel| (whole || model.has_news()) && !(ahead && model.looked_up > 0);
        for model in self.models.values_mut().filter(wanted) {
            let mut pieces = Vec::new();
            let undrafted = match whole {
                true => (0..model.parts.len()).list(),
                false => std::mem::take(&mut model.undrafted),
            };
            for index in undrafted {
                work::did(1);
                let Some(part) = model.parts.get_mut(index) else { continue };
                let start = if whole { 0 } else { part.drafted };
                let news = part.text.get(start..part.told).filter(|text| !text.is_empty());
                let Some(block) = news.and_then(|text| block(part.kind, text)) else { continue };
                let blocks = blocks_to_json(&[block]);
                let block = blocks.get(0).cloned().unwrap_or_default();
                pieces.push(Value::Array(vec![index.into(), start.into(), block]));
                if !whole {
                    // What is written at once may be lost with the page: the next draft says it again.
                    part.drafted = part.told;
                }
            }
            if pieces.is_empty() {
                continue;
            }
            model.drafts += 1;
            let key = vec![
                model.session.as_str().into(),
                model.run.as_str().into(),
                epoch.into(),
                model.drafts.into(),
            ];
            written.push(drafts::write(key, pieces));
        }
        written
    }

    /// Aborts the model call of a run, if there is one: what had come of it, what that has used up, and its price.
    pub(in crate::harness) fn cut_model(
        &mut self,
        core: &mut Core,
        setup: &Setup,
        session: &str,
        run: &str,
    ) -> (Vec<Block>, Option<Usage>, Option<u64>) {
        let mut cut = (Vec::new(), None, None);
        for key in self.models.keys(&|model| model.session == session && model.run == run) {
            self.tell_news(core, setup, key, true);
            self.let_go(core, key);
            if let Some(model) = self.models.remove(key) {
                let usage = Some(model.usage).filter(|usage| *usage != Usage::default());
                let cost = usage.as_ref().and_then(|usage| model.asked.cost(usage));
                cut = (core.secrets.scrubbed_blocks(model.blocks()), usage, cost);
            }
        }
        cut
    }
}
