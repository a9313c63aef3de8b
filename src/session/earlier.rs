//! What a session keeps of runs that it goes on without.
//!
//! A conversation that was summed up is sent from a place in it on. What is before that place, a start need not read: what
//! is still needed of it stands in a checkpoint, the *window's*.
//!
//! Decides what that is, and at which places there can be such a checkpoint: between runs, before one that builds on none
//! before it. Promises: requests, heads and decisions are the same as with all runs, and that was tried before it is stored.
//! Each text in it may be part of the next request. Leaves to others: the other members of a checkpoint (`checkpoint`), when
//! it is written and believed (`harness/`), and commands that are about the runs before it (`harness/core/earlier`).

use super::checkpoint::{ENDS, end_from, ends_json};
use super::compaction::summing::{WORDS, brings_outside, said_before, skills};
use super::compaction::{Conversation, Place, Window};
use super::{Checkpoint, Past, Session, checkpoint, files_of, view};
use crate::journal::{Entry, Outside, Row};
use crate::json::{self, texts};
use crate::list::Listed;
use crate::maps::{Named, sorted};
use crate::object::{self, Object};
use crate::rooms::{Room, enter};
use crate::run::{Run, Summary};
use crate::tools::Grant;
use serde_json::Value;
use std::rc::Rc;

/// How much of a text is kept that goes beyond what is kept of all, in bytes: it shows that something is left out.
const BEYOND: usize = 8;

/// Among how many rows before the run that it has to be before a place is looked for.
const NEAR: usize = 256;

/// What is known of the runs that a session goes on without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// What the person has said in them, the newest first.
    pub words: Vec<String>,
    /// The skills that they have read: how each was asked for, and what it says.
    pub skills: Vec<(String, String)>,
    /// Whether text from outside has come in them.
    pub outside: bool,
    /// What the session is called by.
    title: Option<String>,
    /// The ids of their files.
    files: Vec<String>,
    /// The idempotency keys of their messages.
    keys: Vec<String>,
    /// How many of them were summed up for.
    compactions: u64,
    /// The newest of their ends.
    pub(super) ends: Vec<(String, Past)>,
}

/// The window's checkpoint that is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// Up to which row it speaks.
    seq: u64,
    /// The SHA-256 of its text.
    sum: String,
    /// The run that begins behind it.
    run: String,
    /// Of which conversation it speaks.
    generation: u64,
}

/// Whether an entry begins a run that builds on none before it, as far as a person sees.
pub(crate) fn begins_anew(entry: &Entry) -> bool {
    matches!(entry, Entry::Prompt { continues: None, replaces: None, .. } | Entry::Adopted { .. })
}

impl Earlier {
    /// What is kept of all runs of a session.
    fn of(session: &Session) -> Earlier {
        let before = session.earlier.as_deref().cloned().unwrap_or_default();
        let of = session.asked();
        let end = Place { run: session.runs.len(), turns: 0 };
        let mut room = WORDS;
        let kept = |text: &str| {
            let kept = text.get(..text.floor_char_boundary(room + BEYOND)).unwrap_or_default();
            room = room.saturating_sub(text.len());
            kept.to_owned()
        };
        let words = said_before(of, end, WORDS).into_iter().map(kept).list();
        let skills = skills(of, end).into_iter().map(|(one, other)| (one.into(), other.into())).list();
        let mut ends = before.ends;
        let (mut files, mut keys) = (Named::default(), Named::default());
        for (all, known) in [(&mut files, &before.files), (&mut keys, &before.keys)] {
            for one in known {
                all.insert(one, ());
            }
        }
        for run in session.all_runs() {
            for file in files_of(run) {
                files.insert(&file.id, ());
            }
            let entered = run.steered.iter().map(|steered| &steered.prompt);
            for key in entered.chain([&run.prompt]).filter_map(|prompt| prompt.idempotency.as_ref()) {
                keys.insert(key, ());
            }
            for run in run.all() {
                ends.push((run.id.clone(), Past::of(run)));
            }
        }
        let mut ends = sorted(ends, |(_, past)| past.ended.as_ref().map_or(0, |ended| ended.at));
        ends.drain(..ends.len().saturating_sub(ENDS));
        Earlier {
            words,
            skills,
            outside: before.outside || session.runs.iter().any(brings_outside),
            title: view::title(session),
            files: files.keys().map(Into::into).list(),
            keys: keys.keys().map(Into::into).list(),
            compactions: session.compactions(),
            ends,
        }
    }

    fn to_json(&self) -> Value {
        let pair = |(one, other): &(String, String)| Value::from(vec![&**one, &**other]);
        let ends = self.ends.iter().map(|(id, past)| (&**id, past)).list();
        let mut kept = Object::new();
        kept.value("words", self.words.as_slice().into()).flag("outside", self.outside);
        kept.value("skills", self.skills.iter().map(pair).list().into());
        kept.maybe_text("title", self.title.as_deref()).value("files", self.files.as_slice().into());
        kept.value("keys", self.keys.as_slice().into()).number("compactions", self.compactions);
        kept.value("ends", ends_json(ends)).done()
    }

    fn from_json(kept: &Value) -> Option<Earlier> {
        let list = |name: &str| kept.get(name).and_then(texts);
        let pair = |pair: &Value| {
            let [one, other] = <[String; 2]>::try_from(texts(pair)?).ok()?;
            Some((one, other))
        };
        Some(Earlier {
            words: list("words")?,
            skills: json::items(kept.get("skills")?).iter().map(pair).whole()?,
            outside: kept.get("outside")?.as_bool()?,
            title: kept.get("title").and_then(Value::as_str).map(Into::into),
            files: list("files")?,
            keys: list("keys")?,
            compactions: kept.get("compactions")?.as_u64()?,
            ends: json::items(kept.get("ends")?).iter().map(end_from).whole()?,
        })
    }
}

impl Session {
    /// What a model is asked about: the runs that are here, and what is known of those before them.
    pub fn asked(&self) -> Conversation<'_> {
        Conversation { runs: &self.runs, earlier: self.earlier.as_deref() }
    }

    /// Whether it goes on without the runs before its window.
    pub fn goes_on(&self) -> bool {
        self.earlier.is_some()
    }

    /// Whether a message with this idempotency key is among those that it goes on without.
    pub(crate) fn had_key(&self, key: &str) -> bool {
        self.earlier.as_ref().is_some_and(|earlier| earlier.keys.iter().any(|known| known == key))
    }

    /// Whether what is sent still begins with the same summary where this message, and all that followed it, is replaced.
    pub(crate) fn remembers_without(&self, message: &str) -> bool {
        let before = self.place_of(message).and_then(|at| self.runs.get(..at));
        before.is_some_and(|before| Window::of(before).summary.is_some())
    }

    /// How often the conversation was summed up.
    pub(crate) fn compactions(&self) -> u64 {
        let whole = self.runs.iter().flat_map(|run| &run.summaries).filter(|of| Summary::is_whole(of));
        self.earlier.as_ref().map_or(0, |earlier| earlier.compactions) + whole.count() as u64
    }

    /// What the session is called by for runs that it goes on without.
    pub(super) fn earlier_title(&self) -> Option<&str> {
        self.earlier.as_ref()?.title.as_deref()
    }

    /// The ids of its files, those of runs that it goes on without first.
    pub(super) fn file_ids(&self) -> Vec<Value> {
        let earlier = self.earlier.iter().flat_map(|earlier| &earlier.files).map(String::as_str);
        earlier.chain(self.files().map(|file| &*file.id)).map(Value::from).list()
    }

    /// Whether it refers to this file, or the runs do that it goes on without.
    pub fn keeps_file(&self, id: &str) -> bool {
        let earlier = self.earlier.iter().flat_map(|earlier| &earlier.files);
        earlier.chain(self.files().map(|file| &file.id)).any(|file| file == id)
    }

    /// The window's checkpoint at this place; `None`: something is under way here. A door of the room `past`.
    #[inline(never)]
    fn window(&self) -> Option<Checkpoint> {
        enter(Room::Past);
        let rests = self.current().is_none()
            && self.queue.is_empty()
            && !self.is_blank()
            && self.past.values().all(|past| past.ended.is_some());
        let keeping = self.keeping.at_rest().filter(|_| rests)?;
        let grant = |grant: &Grant| {
            let mut of = Object::new();
            of.text("tool", &grant.tool).text("definition", &grant.definition);
            of.maybe_text("destination", grant.destination.as_deref());
            of.value("outside", grant.outside.to_json()).done()
        };
        let calls = self.call_ids.keys().map(Value::from).list();
        let text = self
            .members(keeping)
            .value("earlier", Earlier::of(self).to_json())
            .value("calls", calls.into())
            .value("grants", self.grants.iter().map(grant).list().into())
            .value("outside", self.outside.to_json())
            .number("unsealed", self.unsealed)
            .flag("uncounted", self.uncounted)
            .maybe("cleared", self.checkpoint.as_ref().map(|(seq, sum)| checkpoint::named(*seq, sum)))
            .json();
        Some(Checkpoint { seq: self.seq, hash: self.hash.clone(), text })
    }

    /// Takes up what such a checkpoint says besides what every one does. `None`: it is none.
    pub(super) fn go_on_without(&mut self, value: &Value) -> Option<()> {
        let grant = |of: &Value| {
            let text = |name: &str| of.get(name).and_then(Value::as_str).map(String::from);
            Some(Grant {
                tool: text("tool")?,
                definition: text("definition")?,
                destination: text("destination"),
                outside: Outside::from_json(of.get("outside")?)?,
            })
        };
        self.earlier = Some(Rc::new(Earlier::from_json(value.get("earlier")?)?));
        for id in texts(value.get("calls")?)? {
            self.call_ids.insert(&id, ());
        }
        self.grants = json::items(value.get("grants")?).iter().map(grant).whole()?;
        self.outside = Outside::from_json(value.get("outside")?)?;
        self.unsealed = value.get("unsealed")?.as_u64()?;
        self.uncounted = value.get("uncounted")?.as_bool()?;
        self.checkpoint = match value.get("cleared") {
            Some(named) => Some((named.get("seq")?.as_u64()?, named.get("sum")?.as_str()?.into())),
            None => None,
        };
        Some(())
    }

    /// The checkpoint before the window of `whole`, the session that all of these rows give when they follow this one. `None`:
    /// there is no place for one behind at least so many rows, or what goes on from it would be another session. A door of the
    /// room `past`.
    #[inline(never)]
    pub fn window_of(self, whole: &Session, rows: &[&str], least: u64) -> Option<(Checkpoint, String)> {
        enter(Room::Past);
        let kept = Window::of(&whole.runs);
        kept.summary.as_ref()?;
        let first = &whole.runs.get(kept.start.run)?.id;
        let begins = |row: &Row| row.header().is_some_and(|header| header.run.as_ref() == Some(first));
        let last = rows.iter().position(|text| Row::from_text(text).is_ok_and(|row| begins(&row)))?;
        if (last as u64) < least {
            return None;
        }
        let read = rows.iter().map(|text| Row::from_text(text).ok()).whole()?;
        let engine = self.engine.clone();
        let (mut session, mut place) = (self, None);
        for (at, row) in read.iter().enumerate().take(last + 1) {
            let (header, entry) = row.read().ok()?;
            if at + NEAR > last && entry.as_ref().is_some_and(begins_anew) {
                session.settle();
                place = session.window().map(|window| (at, window, header.run.clone())).or(place);
            }
            session.read(&header, entry.as_ref(), row).ok()?;
        }
        let (at, window, run) = place?;
        let tried = Session::at_checkpoint(&whole.id, &engine, &window.text)?;
        let (tried, _) = tried.go_on(rows.get(at..)?.iter().copied()).ok()?;
        (tried.is_like(whole) && tried.remembers()).then_some((window, run?))
    }

    /// What the window's checkpoint says that speaks up to this row, when these rows follow this session. `None`: there can be
    /// none. A door of the room `past`.
    #[inline(never)]
    pub fn window_at(mut self, seq: u64, rows: &[&str]) -> Option<String> {
        enter(Room::Past);
        for text in rows {
            if self.seq == seq {
                break;
            }
            let row = Row::from_text(text).ok()?;
            let (header, entry) = row.read().ok()?;
            self.read(&header, entry.as_ref(), &row).ok()?;
        }
        self.settle();
        self.window().map(|window| window.text)
    }

    /// Whether it has the summary that it goes on from.
    pub(crate) fn remembers(&self) -> bool {
        Window::of(&self.runs).summary.is_some()
    }

    /// Whether it is another session in nothing that is told, asked or decided.
    fn is_like(&self, other: &Session) -> bool {
        let head = |session: &Session| {
            let mut head = session.head(0);
            // The same files may have another order.
            for member in ["window", "files"] {
                object::take(head.as_object_mut()?, member);
            }
            Some(head)
        };
        head(self) == head(other)
            && Earlier::of(self) == Earlier::of(other)
            && self.next() == other.next()
            && Window::of(&self.runs).summary == Window::of(&other.runs).summary
    }

    /// This checkpoint is stored from here on, before this run.
    pub(crate) fn is_behind(&mut self, seq: u64, sum: String, run: String) {
        self.window = Some(Stored { seq, sum, run, generation: self.generation });
    }

    /// Up to which row the window's checkpoint speaks that is stored.
    pub(crate) fn window_seq(&self) -> Option<u64> {
        self.window.as_ref().map(|window| window.seq)
    }

    /// What a head says of the window's checkpoint, as long as what is sent begins behind it. A door of the room `past`.
    #[inline(never)]
    pub(super) fn named_window(&self) -> Option<Value> {
        enter(Room::Past);
        let of = self.window.as_ref().filter(|of| of.generation == self.generation)?;
        let kept = Window::of(&self.runs);
        kept.summary.as_ref()?;
        let mut before = self.runs.get(..=kept.start.run)?.iter().rev();
        before.any(|run: &Run| run.id == of.run).then(|| checkpoint::named(of.seq, &of.sum))
    }
}
