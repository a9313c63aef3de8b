//! Sessions that are read for a command.
//!
//! Decides what is read of a session for it (rows, the journal's end, all of it), and what is made of it. Rows that do
//! not follow each other, or do not lead to where the head says, are a broken session. Promises: what is broken is told
//! as that and never believed. A read changes nothing. Leaves to others: who may give the command (`gate`), what
//! follows (`looks`), how far back a page of a conversation reaches (`tail`), and taking a session (`holding/take`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::Action;
use crate::harness::calls::Calls;
use crate::harness::core::about::run_of;
use crate::harness::core::arrival::ARRIVING;
use crate::harness::core::at_hand::run_key;
use crate::harness::core::head::Head;
use crate::harness::core::integrity::{CHANGED, NO_HEAD, changed_events, ways_out};
use crate::harness::core::refused::no_session;
use crate::harness::core::removed::removed_by;
use crate::harness::core::{Core, Lifecycle, drafts};
use crate::harness::reads::carried::PAGE;
use crate::harness::reads::told::{left_by, told_in_part, told_rows};
use crate::harness::reads::{After, Reads, Waiting, carried};
use crate::journal::canonical::Integrity;
use crate::journal::{Entry, GENESIS, Row, pack};
use crate::json;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Key, Part, PatternEngine, Read, Rows, Table};
use crate::protocol::args::whole;
use crate::protocol::{Command, Request, Source};
use crate::session;
use crate::session::damage::{Damage, End, Place, Survey};
use crate::session::record::{Record, begun_task};
use crate::session::{Checkpoint, Session, damage, record};
use serde_json::Value;
use std::cell::Cell;

/// How many rows are read at first to find events among them.
const EVENT_ROWS: u64 = 512;

/// How many rows more a start has to read without a new checkpoint of the window, that one is made.
const WORTH: u64 = 512;

/// What is stored of a session, as it was read for a command: its entries, its head, the drafts of its run, and the
/// checkpoint that the entries go on from.
pub(in crate::harness) struct Stored<'a> {
    rows: &'a [Rows],
    pub head: Option<Head>,
    /// The checkpoint that the head names, if it is stored and of today's format.
    named: Option<&'a str>,
    /// The same of the window's.
    named_window: Option<&'a str>,
    /// Whether the rows of packs were read too: then the entries go on from nothing.
    whole: bool,
    /// What they add up to, where that was asked for before the session is taken: a fold is the most of a start.
    folded: Cell<Option<Folded>>,
}

/// A session, and the place of a checkpoint that is not stored yet.
type Folded = (Session, Option<Checkpoint>);

impl<'a> Stored<'a> {
    pub(in crate::harness) fn of(rows: &'a [Rows]) -> Stored<'a> {
        let mut stored = Stored {
            rows,
            head: None,
            named: None,
            named_window: None,
            whole: false,
            folded: Cell::new(None),
        };
        stored.head = stored.head_row().map(Head::parse);
        stored.named = stored.named_as("checkpoint");
        stored.named_window = stored.named_as("window");
        stored
    }

    /// The same, as it was read for this: `whole` where the rows of packs were asked for.
    pub(in crate::harness) fn read(rows: &'a [Rows], whole: bool) -> Stored<'a> {
        Stored { whole, ..Stored::of(rows) }
    }

    fn part(&self, n: usize) -> &'a Rows {
        static NONE: Rows = Rows::new();
        self.rows.get(n).unwrap_or(&NONE)
    }

    pub(in crate::harness) fn entries(&self) -> &'a Rows {
        self.part(0)
    }

    /// Where the journal ends, as far as anybody can be believed who says so.
    fn end(&self, core: &Core, session: &str) -> End<'_> {
        let Some(head) = &self.head else { return End::Unknown(NO_HEAD) };
        let end = head.end().filter(|_| core.head_integrity(session) != Integrity::Tampered);
        end.map_or(End::Unknown(CHANGED), |(seq, hash)| End::At(seq, hash))
    }

    /// Whether nobody says where the journal ends, nor that a checkpoint is of this session.
    pub(in crate::harness) fn is_open(&self, core: &Core, session: &str) -> bool {
        matches!(self.end(core, session), End::Unknown(_))
    }

    pub(in crate::harness) fn head_row(&self) -> Option<&'a str> {
        self.part(1).first().map(|(_, row)| row.as_str())
    }

    pub(in crate::harness) fn drafts(&self) -> &'a Rows {
        self.part(2)
    }

    /// What the drafts have of each run.
    pub(in crate::harness) fn drafted(&self) -> Vec<(String, Entry)> {
        let mut runs: Vec<&str> = Vec::new();
        for (key, _) in self.drafts() {
            if let Some(Part::Text(run)) = key.get(1)
                && !runs.contains(&run.as_str())
            {
                runs.push(run);
            }
        }
        runs.into_iter().map(|run| (run.into(), drafts::lost(run, self.drafts()))).list()
    }

    /// The checkpoint that the head names under this member, if it is stored and of today's format.
    fn named_as(&self, member: &str) -> Option<&'a str> {
        let is_it = |text: &str| {
            self.head.as_ref().is_some_and(|head| Checkpoint::is_named_by(text, &head.value, member))
        };
        self.part(3).iter().map(|(_, text)| text.as_str()).find(|text| is_it(text))
    }

    /// The checkpoint of the window, where the entries begin behind it.
    fn window(&self) -> Option<&'a str> {
        let seq = self.head.as_ref().map_or(0, Head::window);
        let first = self.entries().first().and_then(|(key, _)| number(key));
        self.named_window.filter(|_| seq > 0 && first == Some(seq + 1) && !self.whole)
    }

    /// Whether more of its rows have to be read before anything is said of it.
    pub(in crate::harness) fn lacks_rows(&self, core: &Core, session: &str) -> bool {
        self.lacks_the_past() || self.is_open(core, session) || self.misses_the_rest(core, session)
    }

    /// Whether the entries go on from the window's checkpoint, and do not lead to where the head says. Then all are read.
    fn misses_the_rest(&self, core: &Core, session: &str) -> bool {
        if self.window().is_none() {
            return false;
        }
        let folded = load_with_place(session, core, self).ok();
        let misses = folded.is_none();
        self.folded.set(folded);
        misses
    }

    /// The checkpoint that the entries go on from; `None`: they begin with the first, or nothing that can be believed says
    /// what they go on from.
    fn checkpoint(&self) -> Option<&'a str> {
        let follows = self.entries().first().is_none_or(|(key, _)| number(key) > Some(1));
        self.named.filter(|_| follows && !self.whole && self.window().is_none())
    }

    /// Whether rows are missing that only packs have.
    pub(in crate::harness) fn lacks_the_past(&self) -> bool {
        if self.window().is_some() {
            return false;
        }
        let head = self.head.as_ref();
        let begins = self.entries().first().map_or(head.map(|head| head.seq() + 1), |(key, _)| number(key));
        let first = head.filter(|_| self.checkpoint().is_some()).map_or(1, Head::first);
        begins > Some(first)
    }

    /// Whether the rows of packs are among them.
    pub(in crate::harness) fn is_whole(&self) -> bool {
        self.checkpoint().or(self.window()).is_none()
    }

    /// The checkpoint of the window that the head names: up to which row it speaks, its sum, and the run that begins behind it.
    fn begins_behind(&self) -> Option<(u64, String, String)> {
        let head = self.head.as_ref().filter(|_| self.named_window.is_some())?;
        let seq = head.window();
        let next = self.entries().iter().find(|(key, _)| number(key) == Some(seq + 1))?;
        let run = Row::from_text(&next.1).ok()?.header()?.run?;
        Some((seq, head.value.get("window")?.get("sum")?.as_str()?.into(), run))
    }

    /// The session that the entries go on from.
    fn begun(&self, id: &str, engine: &PatternEngine) -> Session {
        let at =
            self.window().or(self.checkpoint()).and_then(|text| Session::at_checkpoint(id, engine, text));
        at.unwrap_or_else(|| Session::with(id, engine))
    }

    /// What the head says that was read for a command, unless somebody has changed it.
    pub(in crate::harness) fn believed_head(&self, core: &Core, waiting: &Waiting) -> Option<&Value> {
        core.believed(&waiting.session, self.head.as_ref()?)
    }

    /// Whether what was signed among these rows is what was written.
    pub(in crate::harness) fn must_be_as_signed(
        &self,
        core: &Core,
        waiting: &Waiting,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let changed = changed_events(self.entries(), signatures, core.signs_behind(&waiting.session));
        let first = changed.first();
        first.map_or(Ok(()), |event| Integrity::Tampered.accept("agent session event", &event.id))
    }

    /// Whether there is a session of that name to be read, and it was not removed.
    pub(in crate::harness) fn must_be_stored(&self, core: &Core, waiting: &Waiting) -> Result<(), ErrorInfo> {
        let Waiting { session, request, .. } = waiting;
        if self.head.is_none() && self.entries().is_empty() {
            return Err(core.not_stored(request.command, session));
        }
        let removed = self.believed_head(core, waiting).and_then(removed_by);
        core.must_be_there(request.command, session, removed)
    }

    /// How a session in our hands stands, held against what is stored of it.
    pub(in crate::harness) fn answer_status(
        &self,
        core: &mut Core,
        waiting: &Waiting,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let session = &waiting.session;
        let state = core.session(session).and_then(Session::state).ok_or_else(|| no_session(session))?;
        let changed = self.head.as_ref().filter(|head| !core.is_as_written(session, head, waiting.asked));
        let signed = self.must_be_as_signed(core, waiting, signatures);
        // Where the journal ended when it was asked for, it may not end any more.
        let first = self.entries().first().and_then(|(key, _)| number(key)).unwrap_or(u64::MAX);
        let damage = match &self.head {
            None if core.is_written_before(session, waiting.asked) => Some(Damage::of_head(NO_HEAD)),
            None => None,
            Some(_) if changed.is_some() => Some(Damage::of_head(CHANGED)),
            Some(head) => {
                let seq = first.min(head.seq());
                let chain = signed.and_then(|()| check_chain(self.entries(), head, seq, None));
                chain.err().map(|error| Damage { seq, why: error.message.clone() })
            }
        };
        damage.into_iter().for_each(|damage| core.found_damage(session, damage));
        let stored = changed.and_then(|head| core.status_by(session, head));
        let status = stored.unwrap_or_else(|| {
            core.with_integrity(session, core.session(session).and_then(Session::provider), state)
        });
        core.reply_value(waiting.command, &status);
        Ok(())
    }

    /// Whether the checkpoint of the window, if the head names one, is what these rows add up to, which are all.
    fn is_of_its_window(&self, core: &Core, session: &str) -> bool {
        let seq = self.head.as_ref().map_or(0, Head::window);
        let Some(text) = self.named_window.filter(|_| seq > 0) else { return true };
        let rows = self.entries().iter().map(|(_, text)| text.as_str()).list();
        let made = self.begun(session, &core.sessions.engine).window_at(seq, &rows);
        made.as_deref() == Some(text)
    }

    /// What all rows of a session say of it.
    pub(in crate::harness) fn answer_verified(
        &self,
        core: &mut Core,
        waiting: &Waiting,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let session = &waiting.session;
        self.must_be_stored(core, waiting)?;
        let mut entries = self.head.as_ref().map_or(0, Head::seq);
        let window = self.is_of_its_window(core, session);
        // Nobody reads a session from one that is damaged or of another format: it is made anew.
        let agrees = |(_, place): Folded| {
            let first = self.head.as_ref().map(Head::first);
            let place = place.filter(|place| Some(place.seq + 1) == first);
            match (place, self.named) {
                _ if !window => Err(ErrorInfo::new(
                    Code::Corrupt,
                    "its window's checkpoint is not what these entries add up to",
                )),
                (Some(place), Some(text)) if place.text != text => {
                    Err(ErrorInfo::new(Code::Corrupt, "its checkpoint is not what these entries add up to"))
                }
                _ => Ok(()),
            }
        };
        // Of one that is at hand more is known than these rows say: they may be those of an earlier day.
        if let Some(head) = self.head.as_ref().filter(|_| core.sessions.has(session))
            && !core.is_as_written(session, head, waiting.asked)
        {
            core.set_aside(session, Damage::of_head(CHANGED));
        }
        let signed = self.must_be_as_signed(core, waiting, signatures);
        let found = signed.and_then(|()| load_with_place(session, core, self)).and_then(agrees);
        let mut told = Object::new();
        match found {
            Err(error) if error.code == Code::Corrupt => {
                let doubted = self.doubted(core, session, signatures);
                let survey = self.survey(core, session, &doubted).ok();
                if let Some(survey) = survey.as_ref().filter(|survey| survey.is_open()) {
                    entries = survey.last();
                }
                self.find_damage(core, session, &error, survey.and_then(|survey| survey.damage));
                told.maybe("damaged", core.sessions.damage(session).map(Damage::json));
            }
            found => {
                found?;
                core.keep_verdict(session);
            }
        }
        told.text("hmac_status", core.integrity(session).as_str()).number("entries", entries);
        core.reply_now(waiting.command, Ok(Some(told.json())));
        Ok(())
    }

    /// What lies there is not what was written: its status is shown as it is stored, and nothing of it is believed.
    pub(in crate::harness) fn answer_broken(
        &self,
        core: &mut Core,
        waiting: &Waiting,
        signatures: Option<&[String]>,
        error: ErrorInfo,
    ) -> Result<(), ErrorInfo> {
        let found = self.damage(core, &waiting.session, signatures);
        self.find_damage(core, &waiting.session, &error, found);
        if waiting.request.command.row().source != Source::End || error.code != Code::Corrupt {
            return Err(error);
        }
        let none = Head::parse("");
        let head = self.head.as_ref().unwrap_or(&none);
        let status = core.status_by(&waiting.session, head).ok_or(error)?;
        core.reply_value(waiting.command, &status);
        Ok(())
    }

    /// What these rows are worth, held against the head. `doubted`: the numbers among them of events that were changed.
    pub(in crate::harness) fn survey(
        &self,
        core: &Core,
        session: &str,
        doubted: &[usize],
    ) -> Result<Survey, ErrorInfo> {
        let begun = self.begun(session, &core.sessions.engine);
        let end = self.end(core, session);
        // What the head vouches for, it does not where it was changed.
        let place = self.named.filter(|_| begun.seq() == 0 && !self.is_open(core, session));
        let place = place.and_then(|text| Session::at_checkpoint(session, &core.sessions.engine, text));
        let survey = damage::survey(begun, self.entries(), end, self.head_row(), doubted, place)?;
        if survey.is_of_another(session) { Err(not_its_own()) } else { Ok(survey) }
    }

    /// Which rows are events that somebody has changed.
    pub(in crate::harness) fn doubted(
        &self,
        core: &Core,
        session: &str,
        signatures: Option<&[String]>,
    ) -> Vec<usize> {
        let changed = changed_events(self.entries(), signatures, core.signs_behind(session));
        changed.into_iter().map(|event| event.at).list()
    }

    /// Answers from the rows of a damaged journal that are whole: its journal and its file have gaps then; what is on record
    /// is told whole or not at all.
    fn answer_rows_in_part(
        &self,
        core: &mut Core,
        waiting: &Waiting,
        signatures: Option<&[String]>,
        error: ErrorInfo,
    ) -> Result<(), ErrorInfo> {
        let Waiting { command, session, request, .. } = waiting;
        let survey = self.survey(core, session, &self.doubted(core, session, signatures))?;
        self.find_damage(core, session, &error, survey.damage.clone());
        must_be_there_in_part(core, waiting, &survey)?;
        let told = match request.command {
            Command::SessionsExport => {
                carried::page(request.args(), Err(&survey), self.head_row().unwrap_or_default())?
            }
            Command::SessionsJournal => {
                told_in_part(rows_from(request), number_in(request, "limit"), &survey)
            }
            Command::SessionsTask | Command::SessionsLeft => {
                let id = request.args().needed("id");
                let run = survey.places.iter().find_map(|place| begun_in(place, id)).unwrap_or(id);
                let rows = survey
                    .run(run)
                    .filter(|_| core.head_integrity(session) != Integrity::Tampered)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|row| (Key::new(), row))
                    .list();
                left(core, request, &rows)?.ok_or_else(|| error.hint(ways_out(session)))?
            }
            _ => return Err(error.hint(ways_out(session))),
        };
        core.reply_now(*command, Ok(Some(json::json(&told))));
        Ok(())
    }

    /// Shows what was said in a damaged session, so far as it is whole, or what became of a run that is.
    fn answer_in_part(
        &self,
        core: &mut Core,
        calls: &mut Calls,
        waiting: &Waiting,
        signatures: Option<&[String]>,
        error: ErrorInfo,
    ) -> Result<(), ErrorInfo> {
        let Waiting { command, session, request, .. } = waiting;
        let watches = request.command == Command::Watch;
        let run = run_of(request);
        let shown = watches || run.is_some() || request.command == Command::History;
        if error.code != Code::Corrupt || !shown {
            return self.answer_broken(core, waiting, signatures, error);
        }
        let Ok(mut survey) = self.survey(core, session, &[]) else {
            return self.answer_broken(core, waiting, signatures, error);
        };
        survey.drafts = self.drafted();
        self.find_damage(core, session, &error, survey.damage.clone());
        let removed = self.believed_head(core, waiting).and_then(removed_by);
        core.must_be_there(request.command, session, removed)?;
        must_be_there_in_part(core, waiting, &survey)?;
        let (folded, gaps) = survey.fold();
        if let Some(run) = run {
            // Who has changed the head may have made the chain anew.
            let proven = core.head_integrity(session) != Integrity::Tampered;
            survey.run(run).filter(|_| proven).ok_or(error)?;
            calls.answer_look(core, *command, &folded, request)?;
        } else if watches {
            let mut history = session::history(&folded, None, None).unwrap_or_default();
            damage::mark(&mut history, &gaps, true);
            history.extend(session::waiting(&folded));
            calls.tell_watched(core, *command, session, (history, false));
        } else if let Value::Array(mut page) = calls.read_of(core, &folded, request)? {
            let all = number_in(request, "limit").is_none_or(|limit| (page.len() as u64) < limit);
            damage::mark(&mut page, &gaps, all);
            // Nobody else says what waits in a session that is in no hands.
            if request.args().text("before").or(request.args().text("version")).is_none() {
                page.extend(session::waiting(&folded));
            }
            core.reply_now(*command, Ok(Some(json::json(&page.into()))));
        }
        Ok(())
    }

    /// The first place at which these rows are not what was written, if they say so.
    pub(in crate::harness) fn damage(
        &self,
        core: &Core,
        session: &str,
        signatures: Option<&[String]>,
    ) -> Option<Damage> {
        self.survey(core, session, &self.doubted(core, session, signatures)).ok()?.damage
    }

    /// A session is set aside that could not be taken for this: where it is damaged, these rows say as far as they can.
    pub(in crate::harness) fn set_aside(&self, core: &mut Core, session: &str, error: &ErrorInfo) {
        let found = self.damage(core, session, None);
        self.find_damage(core, session, error, found);
    }

    /// A session is set aside, because its rows are not what was written: where it is damaged (`found`) is known from here on.
    pub(in crate::harness) fn find_damage(
        &self,
        core: &mut Core,
        session: &str,
        error: &ErrorInfo,
        found: Option<Damage>,
    ) {
        match found {
            Some(found) => core.set_aside(session, found),
            // These rows do not say; what was found in others counts.
            None => core.found_damage(session, Damage::of_head(&error.message)),
        }
    }

    /// Answers from a session that was folded for this and is let go again.
    pub(in crate::harness) fn answer_folded(
        &self,
        core: &mut Core,
        calls: &mut Calls,
        waiting: &Waiting,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let Waiting { command, session, request, .. } = waiting;
        let signed = match request.command.row().source {
            Source::End => self.must_be_as_signed(core, waiting, signatures),
            _ => Ok(()),
        };
        let mut folded = match load(session, core, self).and_then(|folded| signed.map(|()| folded)) {
            Ok(folded) => folded,
            Err(error) => return self.answer_in_part(core, calls, waiting, signatures, error),
        };
        core.must_be_there(request.command, session, folded.removed_at())?;
        // What a lost page left reads as it will once the agent is started; here it is only looked at.
        let working = folded.current().filter(|run| run.working() && waiting.held != Some(true));
        if let Some(run) = working.map(|run| run.id.clone()) {
            folded.append(core.now, Some(&run), &drafts::lost(&run, self.drafts()))?;
        }
        calls.answer_look(core, *command, &folded, request)
    }
}

impl Reads {
    /// Reads which session a run belongs to.
    pub(in crate::harness) fn look_for_run(&mut self, core: &mut Core, run: &str, waiting: Waiting) {
        let row = Read::all(Table::Meta, run_key(run));
        self.read_after_commit(core, vec![row], After::Find(Box::new(waiting)));
    }

    /// Reads as many rows of a journal as a command asks for.
    pub(in crate::harness) fn look_at_page(&mut self, core: &mut Core, mut waiting: Waiting) {
        let limit = number_in(&waiting.request, "limit");
        // There are other rows between events.
        let rows = match waiting.request.command {
            Command::SessionsExport => Some(PAGE),
            Command::SessionsJournal => limit,
            _ => limit.map(|_| EVENT_ROWS),
        };
        waiting.until = rows.map(|rows| rows_from(&waiting.request).saturating_add(rows));
        self.look_at_rows(core, waiting);
    }

    /// Reads rows of a journal, and its head.
    fn look_at_rows(&mut self, core: &mut Core, waiting: Waiting) {
        // The row before is what the first one follows.
        let from = rows_from(&waiting.request).saturating_sub(1);
        let until = waiting.until;
        self.look_at_entries(core, waiting, Some(from), until);
    }

    /// Reads the whole journal, its head, its drafts and its checkpoint.
    pub(in crate::harness) fn look_at_journal(&mut self, core: &mut Core, waiting: Waiting) {
        self.look_at_entries(core, waiting, None, None);
    }

    /// Reads what is stored of a session that is in our hands, where its journal ends: how it stands is known; whether
    /// somebody has changed what is stored, is not.
    pub(in crate::harness) fn look_at_stored_end(&mut self, core: &mut Core, waiting: Waiting) {
        let seq = core.session(&waiting.session).map(Session::seq);
        self.look_at_entries(core, waiting, seq, None);
    }

    /// What was done before is told with the rest: it is read behind the commits that are on their way.
    fn look_at_entries(&mut self, core: &mut Core, waiting: Waiting, from: Option<u64>, until: Option<u64>) {
        let of = |table| Read::all(table, vec![waiting.session.as_str().into()]);
        let mut reads = vec![of(Table::Entries).within(from, until), of(Table::Heads)];
        reads.push(match from {
            Some(from) => pack::packs(&waiting.session, from, until),
            None => of(Table::Drafts),
        });
        if from.is_none() {
            reads.push(Read::all(Table::Entries, pack::checkpoint_key(&waiting.session)));
        }
        self.read_after_commit(core, reads, After::Look(Box::new(Waiting { from, ..waiting })));
    }

    /// What another tab works on is not lost: where no agent runs here, that is asked first.
    pub(in crate::harness) fn peek(&mut self, core: &mut Core, after: After) {
        if self.peeking.is_empty() {
            core.outbox.act(Action::Peek);
        }
        self.peeking.push(after);
    }

    /// Reads a session that is not in our hands.
    pub(in crate::harness) fn look_at(&mut self, core: &mut Core, waiting: Waiting) {
        if waiting.held.is_none() && core.state.lifecycle != Lifecycle::Running {
            return self.peek(core, After::Look(Box::new(waiting)));
        }
        if waiting.is_a_page() && !waiting.whole {
            return self.look_at_end(core, waiting);
        }
        let arriving = Read::all(Table::Meta, vec![ARRIVING.into()]);
        let [entries, heads, drafts, checkpoint] = match waiting.goes_on() {
            false => whole_of(&waiting.session, waiting.whole),
            true => match window_in(core, &waiting) {
                Some(window) => behind(&waiting.session, window),
                None => return self.look_at_head(core, waiting),
            },
        };
        self.read(core, vec![entries, heads, drafts, checkpoint, arriving], After::Look(Box::new(waiting)));
    }

    /// Reads where the window of a session begins: its head is in nobody's hands here.
    fn look_at_head(&mut self, core: &mut Core, waiting: Waiting) {
        let heads = Read::all(Table::Heads, vec![waiting.session.as_str().into()]);
        self.read(core, vec![heads], After::Head(Box::new(waiting)));
    }

    /// That was read.
    pub(in crate::harness) fn head_came(&mut self, core: &mut Core, mut waiting: Waiting, rows: &[Rows]) {
        let head = rows.first().and_then(|rows| rows.first());
        waiting.window = Some(head.map_or(0, |(_, row)| Head::parse(row).window()));
        self.look_at(core, waiting);
    }

    /// Reads all of a session at hand that goes on without its first runs, because a command is about these.
    pub(in crate::harness) fn look_at_all(&mut self, core: &mut Core, waiting: Waiting) {
        let reads = whole_of(&waiting.session, false);
        self.read_after_commit(core, reads.into(), After::Look(Box::new(waiting)));
    }

    /// Answers from the rows of a journal, also where another tab holds the session.
    pub(in crate::harness) fn answer_by_rows(
        &mut self,
        core: &mut Core,
        mut waiting: Waiting,
        stored: &Stored,
        signatures: Option<&[String]>,
    ) -> Result<(), ErrorInfo> {
        let Waiting { command, session, request, until, in_part, .. } = &waiting;
        let (rows, from, until) = (stored.entries(), rows_from(request), *until);
        let named = stored.head.as_ref().filter(|_| !stored.is_open(core, session));
        // What comes before the change can still be read.
        let signed = stored.must_be_as_signed(core, &waiting, signatures);
        let first = if *in_part { 0 } else { from.saturating_sub(1) };
        let whole = match named {
            // A page may lie behind the last row.
            None if !in_part => Err(no_end()),
            None => {
                stored.must_be_stored(core, &waiting)?;
                core.head_integrity(session).accept("agent session state", session).and(Err(no_end()))
            }
            Some(head) => {
                stored.must_be_stored(core, &waiting)?;
                signed.and_then(|()| check_chain(rows, head, first, until))
            }
        };
        if let Err(error) = whole {
            if error.code != Code::Corrupt {
                return Err(error);
            }
            if waiting.in_part {
                return stored.answer_rows_in_part(core, &waiting, signatures, error);
            }
            // Where it is damaged, and what is whole, only all of it says.
            (waiting.in_part, waiting.until) = (true, None);
            self.look_at_journal(core, waiting);
            return Ok(());
        }
        let before = |(key, _): &&(Key, String)| key.get(1) < Some(&Part::Number(from));
        let shown = rows.get(rows.iter().take_while(before).count()..).unwrap_or_default();
        let limit = number_in(request, "limit");
        let told = match request.command {
            Command::SessionsExport => {
                carried::page(request.args(), Ok(shown), stored.head_row().unwrap_or_default())?
            }
            Command::SessionsTask | Command::SessionsLeft => task(core, &waiting, shown)?,
            command => told_rows(command, limit, shown)?,
        };
        // Too few of these rows were events, and there are more.
        if let (Some(until), Some(limit)) = (until, limit)
            && named.is_some_and(|head| until <= head.seq())
            && (json::items(&told).len() as u64) < limit
        {
            waiting.until = Some(from.saturating_add((until - from).saturating_mul(4)));
            self.look_at_rows(core, waiting);
            return Ok(());
        }
        core.reply_now(*command, Ok(Some(json::json(&told))));
        Ok(())
    }
}

/// Behind which row the window of a session begins, if that is known.
fn window_in(core: &Core, waiting: &Waiting) -> Option<u64> {
    let known = || core.sessions.head(&waiting.session).map_or(0, Head::window);
    waiting.window.or_else(|| (core.state.lifecycle == Lifecycle::Running).then(known))
}

/// A run by its id or its task's: as it was kept, or as it stands.
fn task(core: &Core, waiting: &Waiting, rows: &[(Key, String)]) -> Result<Value, ErrorInfo> {
    let Waiting { session, request, .. } = waiting;
    let id = request.args().needed("id");
    if let Some(left) = left(core, request, rows)? {
        return Ok(left);
    }
    let open = match core.session(session) {
        Some(session) => session.open_task(id),
        None => folded(session, core, rows)?.open_task(id),
    };
    open.map(|run| with_dropped(core, run)).ok_or_else(|| record::unknown("task run", id))
}

/// The run with which a task begins, if this is the place.
fn begun_in<'a>(place: &'a Place, task: &str) -> Option<&'a str> {
    let Place::Whole(header, Some(Entry::Recorded { what, record }), _) = place else { return None };
    let run = header.run.as_deref();
    run.filter(|_| begun_task(what.known(), record, run).as_deref() == Some(task))
}

/// A run that is over, as it was kept.
fn left(core: &Core, request: &Request, rows: &[(Key, String)]) -> Result<Option<Value>, ErrorInfo> {
    let Some(mut left) = left_by(request.args().needed("id"), rows)? else { return Ok(None) };
    let run = left.get_mut("run").filter(|_| request.command == Command::SessionsTask).map(Value::take);
    Ok(Some(run.map_or(left, |run| with_dropped(core, run))))
}

/// What these rows, which are all of a session, add up to.
pub(in crate::harness) fn folded(
    id: &str,
    core: &Core,
    rows: &[(Key, String)],
) -> Result<Session, ErrorInfo> {
    Session::load(id, &core.sessions.engine, rows.iter().map(|(_, text)| text.as_str()))
}

/// The record of a run, with how much came too late for it while this page has worked on it.
fn with_dropped(core: &Core, run: Value) -> Value {
    let id = run.get("id").and_then(Value::as_str).unwrap_or_default();
    let dropped = Some(core.runs.dropped(id)).filter(|dropped| *dropped > 0);
    Object::new().maybe("dropped", dropped.map(Value::from)).all(run).done()
}

/// From which row on a command reads.
fn rows_from(request: &Request) -> u64 {
    number_in(request, "from").unwrap_or_default()
}

/// A whole number among the arguments; not all commands that read rows have it.
fn number_in(request: &Request, name: &str) -> Option<u64> {
    request.args().all().get(name).and_then(whole)
}

/// The number of a journal's row, by its key.
pub(in crate::harness) fn number(key: &Key) -> Option<u64> {
    match key.get(1) {
        Some(Part::Number(seq)) => Some(*seq),
        _ => None,
    }
}

/// Whether the rows that were read from `from` on and before `until` are all there, follow each other, and lead to where the
/// head says.
pub(in crate::harness) fn check_chain(
    rows: &Rows,
    head: &Head,
    from: u64,
    until: Option<u64>,
) -> Result<(), ErrorInfo> {
    let first = from.max(1);
    let mut before: Option<(u64, String)> = None;
    for (key, text) in rows {
        let Some(seq) = number(key) else { continue };
        let row = Row::from_text(text)?;
        let follows = match &before {
            Some((last, hash)) => *last + 1 == seq && row.follows(hash),
            None if seq != first => false,
            None if seq == 1 => row.follows(GENESIS),
            // It is there for the one behind it; what is before it is not read.
            None => row.has_its_content(),
        };
        if !follows {
            let message = ["journal row ", &seq.to_string(), " does not follow the one before it"].concat();
            return Err(ErrorInfo::new(Code::Corrupt, message).hint("the database was changed from outside"));
        }
        before = Some((seq, row.hash().into()));
    }
    let last = until.map_or(head.seq(), |until| head.seq().min(until.saturating_sub(1)));
    // None is expected behind the end.
    let beyond = first > last && before.is_none();
    let end = before.map_or((0, String::new()), |end| end);
    let hash = head.value.get("hash").and_then(Value::as_str);
    let ends = end.0 == last && (last < head.seq() || Some(end.1.as_str()) == hash);
    if ends || beyond { Ok(()) } else { Err(no_end()) }
}

/// What is damaged can only be read in part, also where its rows say that it was removed.
fn must_be_there_in_part(core: &Core, waiting: &Waiting, survey: &Survey) -> Result<(), ErrorInfo> {
    let removed = survey.is_open().then(|| survey.fold().0.removed_at()).flatten();
    core.must_be_there(waiting.request.command, &waiting.session, removed)
}

fn not_its_own() -> ErrorInfo {
    ErrorInfo::new(Code::Corrupt, "these rows are another session's")
}

/// Rows are missing, or their head is.
fn no_end() -> ErrorInfo {
    ErrorInfo::new(Code::Corrupt, "the journal's end does not agree with its head")
        .hint("the database was changed from outside")
}

/// What is read of a session: its entries from the checkpoint on, or all (`whole`), its head, its drafts, its checkpoint.
pub(in crate::harness) fn whole_of(session: &str, whole: bool) -> [Read; 4] {
    let of = |table| Read::all(table, vec![session.into()]);
    let entries = if whole { of(Table::Entries) } else { pack::loose(session) };
    let checkpoint = Read::all(Table::Entries, pack::checkpoint_key(session));
    [entries, of(Table::Heads), of(Table::Drafts), checkpoint]
}

/// What the rows of a session begin from: its checkpoint, if its head names that, or nothing.
pub(in crate::harness) fn begun(id: &str, engine: &PatternEngine, head: &Rows, checkpoint: &Rows) -> Session {
    let rows = [Rows::new(), head.clone(), Rows::new(), checkpoint.clone()];
    let at = Stored::of(&rows).named.and_then(|text| Session::at_checkpoint(id, engine, text));
    at.unwrap_or_else(|| Session::with(id, engine))
}

/// The same from the window's checkpoint on, which speaks up to this row; 0: there is none.
pub(in crate::harness) fn behind(session: &str, window: u64) -> [Read; 4] {
    let [entries, heads, drafts, checkpoint] = whole_of(session, false);
    [if window > 0 { entries.within(Some(window + 1), None) } else { entries }, heads, drafts, checkpoint]
}

/// Folds a session's rows and holds them against its head.
#[inline(never)]
pub(in crate::harness) fn load(id: &str, core: &Core, stored: &Stored) -> Result<Session, ErrorInfo> {
    load_with_place(id, core, stored).map(|(session, _)| session)
}

/// The same, with the place of a checkpoint that is not stored yet.
#[inline(never)]
pub(in crate::harness) fn load_with_place(
    id: &str,
    core: &Core,
    stored: &Stored,
) -> Result<Folded, ErrorInfo> {
    let folded = stored.folded.take();
    folded.map_or_else(|| loaded(id, core, stored), Ok).map_err(|error| match error.code {
        Code::Corrupt => error.hint(ways_out(id)),
        _ => error,
    })
}

fn loaded(id: &str, core: &Core, stored: &Stored) -> Result<Folded, ErrorInfo> {
    core.integrity(id).accept("agent session state", id)?;
    let texts = stored.entries().iter().map(|(_, text)| text.as_str());
    let begun = stored.begun(id, &core.sessions.engine);
    let first = begun.seq() + 1;
    let (mut session, place) = begun.go_on(texts)?;
    // A row in the place of the next one would be written over.
    if stored.entries().iter().zip(first..).any(|((key, _), seq)| number(key) != Some(seq)) {
        return Err(no_end());
    }
    if session.goes_on() && !session.remembers() {
        return Err(no_end());
    }
    let record = session.record();
    if record.is_some_and(|record| record.id() != id) {
        return Err(not_its_own());
    }
    let named = |head: &Head| head.record().map(Record::of_head).transpose();
    let says = |head: &Head| named(head).is_ok_and(|named| named.as_ref() == record);
    let agrees = |head: &Head| session.agrees_with(&head.value) && says(head);
    if stored.head.as_ref().map_or(!stored.entries().is_empty(), |head| !agrees(head)) {
        return Err(no_end());
    }
    if let Some((seq, sum, run)) = stored.begins_behind() {
        session.is_behind(seq, sum, run);
    }
    Ok((session, place))
}

/// The checkpoint before the window of a session that was folded from these rows, where one is worth its making, and the run
/// behind it.
pub(in crate::harness) fn window_of(
    id: &str,
    core: &Core,
    stored: &Stored,
    session: &Session,
) -> Option<(Checkpoint, String)> {
    let first = stored.entries().first().and_then(|(key, _)| number(key))?;
    let since = session.window_seq().unwrap_or_default().max(first.saturating_sub(1));
    if session.seq().saturating_sub(since) < WORTH || !session.remembers() {
        return None;
    }
    let rows = stored.entries().iter().map(|(_, text)| text.as_str()).list();
    let window = stored.begun(id, &core.sessions.engine).window_of(session, &rows, WORTH);
    window.filter(|(place, _)| place.seq.saturating_sub(since) >= WORTH)
}
