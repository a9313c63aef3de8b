//! A copy of a session becomes one of its own.
//!
//! The rows stay as they are, under the id that they were written for: they are hashed and signed so. One entry says
//! what the copy is called from here on, whose it is, and where it comes from; so it is on record, and replays. A run
//! that was open is interrupted: of two sessions that go on with one run, the second would do again what the first has
//! done.

use crate::error::{Code, ErrorInfo};
use crate::journal::{Ask, Entry, Row, StoppedBy};
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Millis;
use crate::session::Session;
use serde_json::Value;

/// A row that is new, with what it says.
pub type Made = (u64, Row, Entry);

/// Appends what makes a copy a session of its own, and gives the rows. `what`: [`Ask::Import`], [`Ask::Fork`] or
/// [`Ask::Salvage`]; `args` as [`Session::ask`] takes them.
///
/// # Errors
/// What the command is refused for; `corrupt`: the machine cannot go on with what the copy says.
pub fn adopt(
    session: &mut Session,
    at: Millis,
    what: Ask,
    id: &str,
    args: Value,
) -> Result<Vec<Made>, ErrorInfo> {
    let mut copy = Appending { session, at, made: Vec::new() };
    // What the record owes to earlier entries comes first, in the name of the operator of that time.
    copy.settle()?;
    if what == Ask::Salvage && copy.session.record().is_none() {
        // The rows that told of its launch are lost.
        let mut launch = Object::new();
        for name in ["operator", "projectId", "providerId", "modelId", "displayName", "provider"] {
            launch.maybe(name, args.get(name).cloned());
        }
        let own = copy.session.id.clone();
        copy.ask(Ask::Launch, launch.text("id", &own).done(), &own)?;
    }
    copy.ask(what, args, id)?;
    let open = copy.session.current().map(|run| run.parts().iter().map(|part| part.id.clone()).list());
    // A run that works for another ends before that other.
    for part in open.unwrap_or_default().iter().rev() {
        if copy.session.open_run(part).is_some() {
            let (reason, blocks) = (StoppedBy::Copied.into(), Vec::new());
            copy.append(Some(part), Entry::Interrupted { reason, blocks, usage: None, cost: None })?;
            copy.settle()?;
        }
    }
    if copy.session.current().is_some() {
        return Err(ErrorInfo::new(Code::Corrupt, "the run of the copy does not end"));
    }
    Ok(copy.made)
}

struct Appending<'a> {
    session: &'a mut Session,
    at: Millis,
    made: Vec<Made>,
}

impl Appending<'_> {
    fn append(&mut self, run: Option<&str>, entry: Entry) -> Result<(), ErrorInfo> {
        let row = self.session.append(self.at, run, &entry)?;
        self.made.push((self.session.seq(), row, entry));
        Ok(())
    }

    /// Something is asked of the session, which has this id from there on.
    fn ask(&mut self, what: Ask, args: Value, id: &str) -> Result<(), ErrorInfo> {
        if let Some(refused) = self.session.ask(what, &args, self.at).refused {
            return Err(refused);
        }
        self.session.id = id.into();
        self.append(None, Entry::Commanded { what: what.into(), args })?;
        self.settle()
    }

    /// Makes the decisions that only finish what has happened.
    fn settle(&mut self) -> Result<(), ErrorInfo> {
        while let Some((run, entry @ (Entry::Recorded { .. } | Entry::Ended { .. }))) = self.session.next() {
            self.append(run.as_deref(), entry)?;
        }
        Ok(())
    }
}
