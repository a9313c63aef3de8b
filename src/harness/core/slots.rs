//! What is known of each session of the workspace: one slot for each, with all facts of it.
//!
//! Decides what is remembered together and what is forgotten together. A session is *at hand* while this harness writes
//! its journal; of every other one there is at most its head. Promises: what is asked after each input (which sessions
//! are at hand, which are looked at, whether one is put aside) costs nothing for the sessions that nobody works with.
//! Leaves to others: what the facts mean (the parts), and what a session's entries add up to (`session/`).

use crate::harness::core::arrival::Arrival;
use crate::harness::core::head::Head;
use crate::journal::canonical::Integrity;
use crate::list::Listed;
use crate::maps::Named;
use crate::ports::{Part, PatternEngine, Rows};
use crate::session::damage::Damage;
use crate::session::{Session, Transcript};

/// All that is known of a session.
#[derive(Debug, Default)]
pub(in crate::harness) struct Slot {
    at_hand: Option<AtHand>,
    /// Its head as it was read or written last, while the workspace is in our hands.
    pub head: Option<Head>,
    benched: bool,
    /// What is known of its head's signature, as it was read last.
    pub verdict: Option<Integrity>,
    /// Its head has no signature of ours, and does not say why: then no event of it has one.
    pub unsigned: bool,
    /// Up to which row its events came from elsewhere, where our key has signed its head and every other here.
    pub foreign: Option<u64>,
    /// Something else gave away that somebody has changed it.
    pub tampered: bool,
    /// Where it is not as it was written, if that was found: nobody works in it.
    pub damage: Option<Damage>,
    watched: Option<String>,
    attached: Option<u64>,
}

impl Slot {
    fn is_followed(&self) -> bool {
        self.watched.is_some() || self.attached.is_some()
    }
}

/// A session whose journal this harness writes.
#[derive(Debug)]
pub(in crate::harness) struct AtHand {
    pub session: Session,
    /// What the models of the present run, and of those that work for it, were sent.
    pub transcripts: Named<Transcript>,
    /// Whether the run's instructions were asked for, and given.
    pub instructed: Instructed,
    /// The tool calls that had begun when it was benched in this epoch: that is told once.
    pub begun: Vec<String>,
    /// Up to which entry its head is written.
    pub written: u64,
    /// Which conversation it is, and up to which of the times that files went or came back it was told of.
    pub files_told: (u64, u64),
    /// Which tools of its provider were left out of the requests of which run, as that was told last.
    pub left_out: String,
}

/// Whether a function that gives the instructions was asked, this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::harness) enum Instructed {
    No,
    Asked,
    Yes,
}

/// The sessions of the workspace.
#[derive(Debug, Default)]
pub(in crate::harness) struct Sessions {
    slots: Named<Slot>,
    /// The ids of those at hand, in order.
    at_hand: Vec<String>,
    /// The ids of those that are watched or followed, in order.
    followed: Vec<String>,
    /// How many are put aside.
    benched: usize,
    /// The session that arrives.
    pub arrival: Option<Arrival>,
    /// What their schemas are compiled with.
    pub engine: PatternEngine,
}

impl Sessions {
    /// None yet.
    pub fn new(engine: PatternEngine) -> Sessions {
        Sessions { engine, ..Sessions::default() }
    }

    /// A session at hand.
    pub fn get(&self, id: &str) -> Option<&AtHand> {
        self.slots.get(id)?.at_hand.as_ref()
    }

    /// A session at hand.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut AtHand> {
        self.slots.get_mut(id)?.at_hand.as_mut()
    }

    /// Whether a session is at hand.
    pub fn has(&self, id: &str) -> bool {
        self.get(id).is_some()
    }

    /// Those at hand, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AtHand)> {
        self.at_hand.iter().filter_map(|id| Some((id.as_str(), self.get(id)?)))
    }

    /// The ids of those at hand, in order.
    pub fn ids(&self) -> Vec<String> {
        self.at_hand.clone()
    }

    /// How many are at hand.
    pub fn at_hand(&self) -> usize {
        self.at_hand.len()
    }

    /// A session is at hand from here on.
    pub fn take(&mut self, session: Session) {
        let id = session.id.clone();
        let taken = AtHand {
            files_told: (session.generation, session.files_told),
            session,
            transcripts: Named::default(),
            instructed: Instructed::No,
            left_out: String::new(),
            begun: Vec::new(),
            written: 0,
        };
        self.change(&id, |slot| slot.at_hand = Some(taken));
        list(&mut self.at_hand, &id, true);
    }

    /// A session is at hand no more; what else is known of it stays.
    pub fn let_go(&mut self, id: &str) {
        self.change(id, |slot| slot.at_hand = None);
        list(&mut self.at_hand, id, false);
    }

    /// None is at hand any more.
    pub fn let_all_go(&mut self) {
        for id in std::mem::take(&mut self.at_hand) {
            self.change(&id, |slot| slot.at_hand = None);
        }
    }

    /// A session is gone for good: who looks at it is told of what comes under its id next.
    pub fn remove(&mut self, id: &str) {
        self.let_go(id);
        self.set_benched(id, false);
        self.change(id, |slot| {
            *slot = Slot { watched: slot.watched.take(), attached: slot.attached, ..Slot::default() };
        });
    }

    /// What is known of a session.
    pub fn slot(&self, id: &str) -> Option<&Slot> {
        self.slots.get(id)
    }

    /// Changes what is known of a session, at hand or not.
    pub fn change(&mut self, id: &str, change: impl FnOnce(&mut Slot)) {
        self.slots.change(id, change);
    }

    /// The head of a session.
    pub fn head(&self, id: &str) -> Option<&Head> {
        self.slot(id)?.head.as_ref()
    }

    /// What is known to be damaged in a session.
    pub fn damage(&self, id: &str) -> Option<&Damage> {
        self.slot(id)?.damage.as_ref()
    }

    /// The ids of the sessions that are known to be damaged, in order.
    pub fn damaged(&self) -> Vec<String> {
        let damaged = self.slots.iter().filter(|(_, slot)| slot.damage.is_some());
        damaged.map(|(id, _)| id.to_owned()).list()
    }

    /// A session is not what was written, and where.
    pub fn set_aside(&mut self, id: &str, damage: Damage) {
        self.change(id, |slot| (slot.tampered, slot.damage) = (true, Some(damage)));
    }

    /// The head of a session was read or written.
    pub fn set_head(&mut self, id: &str, head: Head) {
        self.change(id, |slot| slot.head = Some(head));
    }

    /// The heads of all sessions, in the order of their ids.
    pub fn heads(&self) -> impl Iterator<Item = (&str, &Head)> {
        self.slots.iter().filter_map(|(id, slot)| Some((id, slot.head.as_ref()?)))
    }

    /// Another page may have written since: no head counts any more, nor what was read in it.
    pub fn forget_heads(&mut self) {
        for slot in self.slots.values_mut() {
            (slot.head, slot.benched) = (None, false);
        }
        self.benched = 0;
    }

    /// Whether a session is put aside.
    pub fn is_benched(&self, id: &str) -> bool {
        self.slot(id).is_some_and(|slot| slot.benched)
    }

    /// Whether any session is put aside.
    pub fn any_benched(&self) -> bool {
        self.benched > 0
    }

    /// A session is put aside from here on, or not.
    pub fn set_benched(&mut self, id: &str, benched: bool) {
        if self.is_benched(id) != benched {
            self.change(id, |slot| slot.benched = benched);
            self.benched = if benched { self.benched + 1 } else { self.benched.saturating_sub(1) };
        }
    }

    /// Whether a view watches a session.
    pub fn is_watched(&self, id: &str) -> bool {
        self.told_state(id).is_some()
    }

    /// The state that the view of a session was told last.
    pub fn told_state(&self, id: &str) -> Option<&str> {
        self.slot(id)?.watched.as_deref()
    }

    /// A view watches a session, and was told this state of it.
    pub fn watch(&mut self, id: &str, told: String) {
        self.follow(id, |slot| slot.watched = Some(told));
    }

    /// The sessions that views watch, in the order of their ids.
    pub fn watched(&self) -> Vec<String> {
        let mut watched = self.followed.clone();
        watched.retain(|id| self.is_watched(id));
        watched
    }

    /// The journal of a session is followed, and this length of it was told; `None`: nobody follows it.
    pub fn attach(&mut self, id: &str, told: Option<u64>) {
        self.follow(id, |slot| slot.attached = told);
    }

    /// The sessions whose journals have grown since that was told, with their lengths. A head is written with each commit,
    /// and one commit is on its way at most.
    pub fn grown(&self) -> Vec<(String, u64)> {
        let mut grown = Vec::new();
        for id in &self.followed {
            let Some(slot) = self.slot(id) else { continue };
            let seq = match &slot.at_hand {
                Some(taken) => taken.written,
                None => slot.head.as_ref().map_or(0, Head::seq),
            };
            if slot.attached.is_some_and(|told| seq > told) {
                grown.push((id.clone(), seq));
            }
        }
        grown
    }

    /// What there is of sessions.
    pub fn take_heads(&mut self, rows: &Rows) {
        self.forget_heads();
        for (key, head) in rows {
            if let Some(Part::Text(id)) = key.first() {
                let head = Head::parse(head);
                let benched = head.recorded("suspended").is_some() && head.value.get("removed").is_none();
                self.set_benched(id, benched);
                self.set_head(id, head);
            }
        }
    }

    fn follow(&mut self, id: &str, change: impl FnOnce(&mut Slot)) {
        self.change(id, change);
        let followed = self.slot(id).is_some_and(Slot::is_followed);
        list(&mut self.followed, id, followed);
    }
}

/// An id stands in a list, which is in order, or it does not.
fn list(ids: &mut Vec<String>, id: &str, stands: bool) {
    match (ids.binary_search_by(|other| other.as_str().cmp(id)), stands) {
        (Ok(at), false) => drop(ids.remove(at)),
        (Err(at), true) => ids.insert(at, id.into()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(sessions: &mut Sessions, id: &str) {
        sessions.take(Session::with(id, &PatternEngine::default()));
    }

    #[test]
    fn those_at_hand_are_told_in_the_order_of_their_ids() {
        let mut sessions = Sessions::default();
        for id in ["c", "a", "b", "a"] {
            taken(&mut sessions, id);
        }
        sessions.set_head("d", Head::parse(r#"{"seq":4}"#));
        assert_eq!(sessions.ids(), ["a", "b", "c"]);
        assert_eq!(sessions.iter().map(|(id, _)| id).collect::<Vec<_>>(), ["a", "b", "c"]);
        sessions.let_go("b");
        assert!(sessions.has("a") && !sessions.has("b") && !sessions.has("d"));
        sessions.let_all_go();
        assert!(sessions.ids().is_empty() && sessions.head("d").is_some());
    }

    #[test]
    fn what_is_put_aside_is_counted_once() {
        let mut sessions = Sessions::default();
        sessions.set_benched("a", true);
        sessions.set_benched("a", true);
        assert!(sessions.any_benched() && sessions.is_benched("a"));
        sessions.set_benched("a", false);
        sessions.set_benched("b", false);
        assert!(!sessions.any_benched());
        sessions.set_benched("b", true);
        sessions.remove("b");
        assert!(!sessions.any_benched());
        sessions.set_benched("c", true);
        sessions.forget_heads();
        assert!(!sessions.any_benched() && !sessions.is_benched("c"));
    }

    #[test]
    fn who_looks_at_a_session_stays_when_it_goes() {
        let mut sessions = Sessions::default();
        taken(&mut sessions, "a");
        sessions.watch("a", "{}".into());
        sessions.attach("a", Some(0));
        sessions.set_head("b", Head::parse(r#"{"seq":7}"#));
        sessions.attach("b", Some(3));
        assert_eq!(sessions.grown(), [("b".to_owned(), 7)]);
        sessions.remove("a");
        assert_eq!((sessions.watched(), sessions.told_state("a")), (vec!["a".into()], Some("{}")));
        taken(&mut sessions, "a");
        sessions.get_mut("a").unwrap().written = 2;
        assert_eq!(sessions.grown(), [("a".to_owned(), 2), ("b".to_owned(), 7)]);
        sessions.attach("b", None);
        assert_eq!(sessions.grown(), [("a".to_owned(), 2)]);
    }
}
