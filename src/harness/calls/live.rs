//! What goes on in a session or a run, and what it has said so far.
//!
//! Decides what counts as output. The bytes of an output are what the model says,
//! text and thinking. Those stand in the journal, so an offset is right after a reload too. A tool's result that ends
//! in `> ` asks nobody for a line. Its time is that of the last piece which came, of an answer or of a tool's progress,
//! or of the last entry. A run that is not in our hands is judged by its journal alone. Promises: nothing is kept or
//! counted for those who do not ask. Leaves to others: the words (`session/activity`) and the bytes (`session/output`).

use crate::error::ErrorInfo;
use crate::harness::calls::Calls;
use crate::harness::calls::streaming::LiveModel;
use crate::harness::core::Core;
use crate::harness::core::refused::no_agent;
use crate::list::Listed;
use crate::maps::sorted;
use crate::model::Block;
use crate::object::Object;
use crate::ports::Millis;
use crate::protocol::Members;
use crate::rooms::{Room, enter};
use crate::run::Run;
use crate::session::Session;
use crate::session::activity::{Activity, Facts, PROMPT_TAIL, of_run, of_session};
use crate::session::output::Output;
use crate::session::record::Record;
use serde_json::Value;

impl Calls {
    /// What `sessions.output` says of a session, in our hands or only looked at, or of a run in it. A door of the room
    /// `more`.
    #[inline(never)]
    pub(in crate::harness) fn output_of(
        &self,
        session: &Session,
        args: Members<'_>,
    ) -> Result<Value, ErrorInfo> {
        enter(Room::More);
        let output = self.output(session, args.needed("id"))?;
        let tail = args.whole("tail").map(|bytes| output.total().saturating_sub(bytes));
        let from = args.whole("from").unwrap_or_default().max(tail.unwrap_or_default());
        let (text, before, offset) = output.text_from(from);
        // JSON has no bytes: the client cuts off what is before the offset.
        Ok(Object::new().text("text", &text).number("before", before as u64).number("offset", offset).done())
    }

    /// What goes on in a session, or in a run of it. The other door.
    #[inline(never)]
    pub(in crate::harness) fn activity(
        &self,
        core: &Core,
        session: &Session,
        id: &str,
    ) -> Result<Activity, ErrorInfo> {
        enter(Room::More);
        if waits_for_its_turn(session, id) {
            return Ok(Activity::Waiting);
        }
        if id != session.id {
            let (_, ended) = session.run_times(id).ok_or_else(|| no_agent(id))?;
            return Ok(match session.run(id) {
                Some(run) if ended.is_none() => self.activity_of_run(core, session, run),
                _ => Activity::Broken,
            });
        }
        let run = session.current().map(|run| self.activity_of_run(core, session, run));
        Ok(of_session(session.record().map(Record::status), run))
    }

    fn activity_of_run(&self, core: &Core, session: &Session, run: &Run) -> Activity {
        let benched = session.is_benched();
        let mut heard = run.heard_at();
        for part in run.parts() {
            let of_part = |model: &&LiveModel| model.run == part.id;
            heard = self.models.values().filter(of_part).map(|model| model.said_at).fold(heard, Millis::max);
            let of_part = self.functions.values().filter(|call| call.owner.run() == Some(&part.id));
            heard = of_part.filter_map(|call| call.heard).fold(heard, Millis::max);
        }
        let mut output = Output::default();
        self.say(run, &mut output);
        of_run(&Facts {
            over: !benched && session.current().is_some_and(|top| top.held),
            waits: benched || run.waiting(),
            tail: &output.read_tail(PROMPT_TAIL),
            silent: core.now.saturating_sub(heard),
        })
    }

    /// What was said in a session since it was last cleared, also what has left the conversation; or in one run of it.
    fn output<'a>(&'a self, session: &'a Session, id: &str) -> Result<Output<'a>, ErrorInfo> {
        let mut output = Output::default();
        if id == session.id {
            for run in sorted(session.all_runs().list(), |run| run.started_at) {
                self.say(run, &mut output);
            }
        } else if let Some(run) = session.run(id) {
            self.say(run, &mut output);
        } else if session.run_times(id).is_none() && !waits_for_its_turn(session, id) {
            return Err(no_agent(id));
        }
        Ok(output)
    }

    /// What a run has said, and says now.
    fn say<'a>(&'a self, run: &'a Run, output: &mut Output<'a>) {
        let live = self.models.values().find(|model| model.run == run.id);
        for turn in &run.turns {
            output.skip(turn.lost);
            let live = live.filter(|live| live.call == turn.call && live.has_said());
            for words in turn.blocks().iter().filter_map(Block::words) {
                match live {
                    // What comes now takes its place.
                    Some(_) => output.skip(words.len() as u64),
                    None => output.push(words),
                }
            }
            for words in live.into_iter().flat_map(LiveModel::told) {
                output.push(words);
            }
        }
    }
}

/// A run that a message in the queue will begin: nothing of it was said yet.
fn waits_for_its_turn(session: &Session, run: &str) -> bool {
    session.queued(run).is_some_and(|queued| queued.run == run)
}
