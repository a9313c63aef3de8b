//! The queue as the page has it: what is sent while a run works, and what can still be done with it.
//!
//! Decides what may wait, and what a message that waits can still become. Promises: what was taken is neither edited
//! nor removed. A command that waits for a run that will never begin is told so. Leaves to others: whose turn it is,
//! and what is held (`session/queue`), where a message enters its run (`run/`), and who may do it (`gate`).

use crate::error::{Code, ErrorInfo};
use crate::harness::core::Core;
use crate::harness::runner::Runner;
use crate::journal::{Entry, Mode};
use crate::list::Listed;
use crate::object::Object;
use crate::protocol::Members;
use crate::protocol::args::shortened;
use crate::run::{Output, Run};
use crate::session::{Queued, files_among};
use serde_json::Value;

/// The message with this id that waits, and its session.
fn queued_message<'a>(core: &'a Core, message: &str) -> Result<(String, &'a Queued), ErrorInfo> {
    let session = core.session_of_run(message).unwrap_or_default();
    let queued = core.session(&session).and_then(|folded| folded.queued(message));
    let queued = queued.filter(|queued| queued.message() == message).ok_or_else(|| taken(message))?;
    Ok((session, queued))
}

impl Runner {
    /// What is held in a session's queue goes on.
    pub(in crate::harness) fn release_queue(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
    ) -> Result<(), ErrorInfo> {
        self.may_prompt(core, session, "-", false)?;
        if core.session(session).is_some_and(|folded| folded.queue().iter().any(|queued| queued.held)) {
            self.append(core, session, None, &Entry::Released {});
            self.advance(core, session);
        }
        core.reply(id, Ok(None));
        Ok(())
    }

    /// A message that waits does not wait any more.
    pub(in crate::harness) fn remove_queued(
        &mut self,
        core: &mut Core,
        id: u32,
        message: &str,
    ) -> Result<(), ErrorInfo> {
        let (session, _) = queued_message(core, message)?;
        self.unqueue(core, &session, message);
        core.reply(id, Ok(None));
        Ok(())
    }

    /// A message that waits gets another text.
    pub(in crate::harness) fn edit_queued(
        &mut self,
        core: &mut Core,
        id: u32,
        message: &str,
        text: &str,
    ) -> Result<(), ErrorInfo> {
        let (session, queued) = queued_message(core, message)?;
        if text.trim().is_empty() && queued.files().is_empty() {
            let error = ErrorInfo::new(Code::EmptyMessage, "the message is empty");
            return Err(error.hint("give it a text, or remove it"));
        }
        let text = core.secrets.scrubbed(text.into());
        self.append(core, &session, None, &Entry::Edited { message: message.into(), text });
        core.reply(id, Ok(None));
        Ok(())
    }

    /// A message waits. The reply has its run: the one that it will begin, or the one that it is to enter.
    pub(in crate::harness) fn enqueue(
        &mut self,
        core: &mut Core,
        id: u32,
        session: &str,
        fresh: &str,
        mode: Mode,
        prompt: &Entry,
    ) {
        let own = ["run_", fresh].concat();
        self.append(
            core,
            session,
            Some(&own),
            &Entry::Queued { mode: mode.into(), prompt: prompt.to_json() },
        );
        let run = if mode == Mode::Steer { core.current_id(session) } else { own };
        core.reply_value(id, &accepted(&run, core.now));
        self.advance(core, session);
    }

    /// A message, by its id or its run's, does not wait any more; it was never sent.
    pub(in crate::harness) fn unqueue(&mut self, core: &mut Core, session: &str, id: &str) {
        let Some(queued) = core.session(session).and_then(|folded| folded.queued(id)) else { return };
        let (run, message) = (queued.run.clone(), queued.message().into());
        let files = files_among(queued.files()).map(|file| vec![file.id.as_str().into()]).list();
        self.append(core, session, Some(&run), &Entry::Unqueued { message });
        core.follows.files.extend(files);
        core.answer_waiters(session);
    }

    /// The same of all that wait in a session.
    pub(in crate::harness) fn unqueue_all(&mut self, core: &mut Core, session: &str) {
        let queue = core.session(session).map(|folded| folded.queue()).unwrap_or_default();
        for message in queue.iter().map(|queued| queued.message().to_owned()).list() {
            self.unqueue(core, session, &message);
        }
    }
}

/// How a message waits where its session is busy: `whenBusy`. `None`: it does not.
///
/// # Errors
/// `invalid_config`
pub(in crate::harness) fn when_busy(args: Members<'_>) -> Result<Option<Mode>, ErrorInfo> {
    let invalid = |what: &str| Err(ErrorInfo::new(Code::InvalidConfig, ["sendMessage ", what].concat()));
    match args.text("whenBusy") {
        None | Some("reject") => Ok(None),
        Some("steer") if args.get("schema").is_some() => {
            invalid("takes no \"schema\" with whenBusy \"steer\": the run has an answer of its own")
        }
        Some("steer") if args.get("replaces").is_some() => invalid(
            "takes no \"replaces\" with whenBusy \"steer\": the run has begun with what it would replace",
        ),
        Some(word) => match Mode::parse(word) {
            Some(mode) => Ok(Some(mode)),
            None => invalid("needs \"whenBusy\" to be \"reject\", \"queue\" or \"steer\""),
        },
    }
}

/// What a command is answered that has begun a run, or goes on with it. `wraps`: the value of its answer lies in an object that
/// was put around it, which a command without the schema does not know.
pub(in crate::harness) fn begun(run: &Run) -> Value {
    let wraps = run.prompt.output.as_ref().is_some_and(Output::wraps);
    Object::new()
        .all(accepted(&run.id, run.started_at))
        .maybe("wraps", wraps.then_some(Value::Bool(true)))
        .done()
}

/// What a message is answered that was accepted.
pub(in crate::harness) fn accepted(run: &str, at: u64) -> Value {
    Object::new().text("runId", run).text("status", "accepted").number("acceptedAt", at).done()
}

fn taken(message: &str) -> ErrorInfo {
    let id = shortened(message);
    ErrorInfo::new(Code::MessageNotFound, format!("no message with the id \"{id}\" waits"))
        .hint("its turn has come, or it was removed: history() shows what was sent")
}
