//! What can be kept of a damaged session.
//!
//! Its rows are tied to each other, so the rows before the first damage stay as they are. What was said behind it is
//! taken along like a conversation from elsewhere: a run that was damaged in its middle too, so far as it can be read. What
//! was put on record there, and used up, is lost. Where only the head is damaged, all rows stay: it is made anew of them.
//!
//! Rows whose content was cleared are kept too. Where their clearing is not among those, another one follows them. So it is
//! with messages that were removed, and with the version that was chosen last. An edit behind the damage is a message like
//! any other: what it took the place of stands before it.
//!
//! Decides where the rows end that are kept. Promises: what was cleared or removed does not come back. Leaves to others: what can be
//! believed (`session/damage`).

use super::adopt::Made;
use crate::error::ErrorInfo;
use crate::journal::{Entry, Outside};
use crate::list::Listed;
use crate::object::Object;
use crate::ports::{Millis, PatternEngine};
use crate::session::adopted::taken_along;
use crate::session::damage::{Place, Survey};
use crate::session::transcript::GO_ON;
use crate::session::{Session, history, text_part, waiting};
use serde_json::Value;

/// What stands for a message that is lost, before its answer.
const LOST: &str = "[What was said here is lost.]";
/// What stands for an answer of which no word is left.
const LOST_ANSWER: &str = "[What was answered here is lost.]";
/// What stands behind an answer of which a draft is damaged.
const LOST_REST: &str = "[What was answered behind this is lost.]";

/// What is kept.
#[derive(Debug)]
pub struct Salvaged {
    /// What the rows add up to that are kept.
    pub session: Session,
    /// Those rows, as they are stored.
    pub rows: Vec<String>,
    /// What follows, with its run.
    pub rest: Vec<(Option<String>, Entry)>,
}

/// What can be kept of the session `id`; the ids of what is taken along are made of `fresh`.
pub fn salvage(id: &str, engine: &PatternEngine, survey: &Survey, fresh: &str) -> Salvaged {
    let (session, kept) = beginning(id, engine, survey);
    let cleared = survey.sums_behind(kept);
    let (folded, gaps) = survey.fold();
    let mut rest = Vec::new();
    match cleared {
        None => {
            let changes = session.changes_to(&folded, survey.withdrawn_behind(kept));
            rest.extend(changes.into_iter().map(|entry| (None, entry)));
        }
        Some(sums) => {
            // What was used up in answers that were erased, the clearing alone has.
            let sums = if session.is_blank() { sums } else { session.sums };
            rest.push((None, Entry::Cleared { sums }));
        }
    }
    let run_of = |message: &Value| message.get("runId").and_then(Value::as_str).map(String::from);
    let is_new = |message: &Value| run_of(message).is_none_or(|run| session.run(&run).is_none());
    let mut messages = Vec::new();
    for mut message in history(&folded, None, None).unwrap_or_default().into_iter().filter(is_new) {
        let continued = run_of(&message).and_then(|run| folded.run(&run)?.prompt.goes_on_with());
        // What it goes on with does not come along with it.
        match continued {
            Some(run) if session.run(run).is_some() => messages.push(before(&message, GO_ON)),
            Some(run) if folded.run(run).is_none() => messages.push(before(&message, LOST)),
            _ => {}
        }
        let run = run_of(&message);
        // One that was not finished may have had no word yet.
        let ended = run.as_deref().and_then(|run| folded.run(run)?.ended.as_ref());
        let is_cut = ended.is_some() && gaps.iter().any(|(behind, _)| *behind == run);
        let ends_early = message.get("damaged").is_some();
        if let Some(Value::Array(parts)) = message.get_mut("parts") {
            if ends_early {
                parts.push(text_part("text", LOST_REST));
            } else if is_cut && parts.is_empty() {
                parts.push(text_part("text", LOST_ANSWER));
            }
        }
        messages.push(message);
    }
    // A copy has no queue: what waits in it waits for nobody.
    messages.extend(waiting(&folded));
    // What has brought more of it may be lost.
    let mut outside = folded.outside.clone();
    outside.add(Outside::UNKNOWN.into());
    for (at, entry) in taken_along(&messages, fresh, &outside).into_iter().enumerate() {
        rest.push((Some(["run_", fresh, "_", &at.to_string()].concat()), entry));
    }
    let rows = survey.places.iter().take(kept).filter_map(|place| match place {
        Place::Whole(_, _, row) => Some(row.stored()),
        Place::Lost(_) | Place::Open(_) => None,
    });
    Salvaged { rows: rows.list(), session, rest }
}

/// What a person has said before an answer, because a conversation begins with a person's message.
fn before(answer: &Value, text: &str) -> Value {
    let parts = Value::Array(vec![text_part("text", text)]);
    let at = answer.get("createdAt").cloned().unwrap_or_default();
    Object::new().text("role", "user").value("parts", parts).value("createdAt", at).done()
}

/// The rows before the first damage, and what they add up to; without a run that was damaged in its middle, unless that was
/// erased: then a clearing follows.
fn beginning(id: &str, engine: &PatternEngine, survey: &Survey) -> (Session, usize) {
    let damaged = |place: &Place| matches!(place, Place::Lost(_));
    let (mut kept, is_cut) = match survey.places.iter().position(damaged) {
        Some(first) => (first, true),
        None => (survey.places.len(), false),
    };
    loop {
        let mut session = Session::with(id, engine);
        let places = || survey.places.iter().take(kept);
        let fits = |place: &Place| match place {
            Place::Whole(header, entry, row) => session.read(header, entry.as_ref(), row).is_ok(),
            Place::Lost(_) | Place::Open(_) => false,
        };
        let unfit = places().map(fits).position(|fits| !fits);
        session.settle();
        let open =
            session.current().filter(|_| is_cut || !survey.drafts.is_empty()).map(|run| run.id.clone());
        let begins = |place: &Place| {
            let Place::Whole(header, ..) = place else { return false };
            header.run == open && matches!(header.kind.as_str(), "prompt" | "taken")
        };
        let end = match unfit {
            Some(unfit) => Some(unfit),
            None => open.as_ref().and_then(|_| places().position(begins)),
        };
        match end {
            Some(end) if end < kept => kept = end,
            _ => return (session, kept),
        }
    }
}

/// Appends what is taken along.
///
/// # Errors
/// `corrupt`: the machine cannot go on with it.
pub fn take_along(
    session: &mut Session,
    at: Millis,
    rest: Vec<(Option<String>, Entry)>,
) -> Result<Vec<Made>, ErrorInfo> {
    let mut made = Vec::new();
    for (run, mut entry) in rest {
        if let Entry::Adopted { blocks, .. } = &mut entry {
            *blocks = session.with_own_ids(std::mem::take(blocks), &|_| false);
        }
        let row = session.append(at, run.as_deref(), &entry)?;
        made.push((session.seq(), row, entry));
        while let Some((run, entry @ Entry::Recorded { .. })) = session.next() {
            let row = session.append(at, run.as_deref(), &entry)?;
            made.push((session.seq(), row, entry));
        }
    }
    Ok(made)
}
