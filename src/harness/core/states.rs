//! How a session stands, as `sessions.status` and a list say it.
//!
//! Promises: what was changed from outside is shown as it is stored, with its verdict, and where it is damaged. Leaves to
//! others: the record itself (`session/`), and what is known of signatures (`integrity`).

use crate::error::ErrorInfo;
use crate::harness::core::head::Head;
use crate::harness::core::refused::no_session;
use crate::harness::core::{Core, Lifecycle};
use crate::journal::canonical::Integrity;
use crate::object::Object;
use crate::session;
use crate::session::damage::Damage;
use crate::session::record::Record;
use crate::session::{Beside, Session};
use serde_json::Value;

impl Core {
    /// `{ session, hmac_status }`.
    pub(in crate::harness) fn status_of(&self, session: &Session) -> Result<Value, ErrorInfo> {
        let state = session.state().ok_or_else(|| no_session(&session.id))?;
        Ok(self.with_integrity(&session.id, session.provider(), state))
    }

    /// The same of a session that is not believed.
    pub(in crate::harness) fn status_by(&self, session: &str, head: &Head) -> Option<Value> {
        Some(self.with_integrity(session, head.provider(), self.state_by(session, head)?))
    }

    pub(in crate::harness) fn with_integrity(&self, session: &str, own: Option<&str>, state: Value) -> Value {
        with_verdict(self.integrity(session), self.with_the_present(session, own, state))
    }

    /// `SessionState` of the contract, with where the session is damaged, and who answers it now. `own`: the provider that it
    /// keeps to.
    pub(in crate::harness) fn with_the_present(
        &self,
        session: &str,
        own: Option<&str>,
        state: Value,
    ) -> Value {
        let damage = self.sessions.damage(session).map(Damage::json);
        let answers = self.answered_by(own, state.get("config"));
        Object::new().all(state).maybe("damaged", damage).maybe("answered_by", answers).done()
    }

    /// Who answers a session now, as long as an agent runs here.
    /// `config`: what it has otherwise.
    pub(in crate::harness) fn answered_by(&self, own: Option<&str>, config: Option<&Value>) -> Option<Value> {
        let runs = self.state.lifecycle == Lifecycle::Running;
        let found = self.state.answers.iter().find(|(name, _)| name.as_deref() == own).filter(|_| runs);
        let (_, answers) = found?;
        let model = config.and_then(|config| config.get("model")).cloned();
        Some(Object::new().all(answers.clone()).maybe("model", model).done())
    }

    /// `SessionState` of the contract, of a session that is not in our hands: by its head.
    pub(in crate::harness) fn state_by(&self, session: &str, head: &Head) -> Option<Value> {
        let record = match self.integrity(session) {
            Integrity::Tampered => session::as_stored(session, head.record().as_ref(), self.now),
            _ => Record::of_head(head.record()?).ok()?.into_json(),
        };
        Some(session::state_of(record, &Beside::of_head(&head.value)))
    }
}

/// `{ session, hmac_status }`.
pub(in crate::harness) fn with_verdict(verdict: Integrity, state: Value) -> Value {
    Object::new().value("session", state).text("hmac_status", verdict.as_str()).done()
}

/// Whether a session is there for one task only, by its head.
pub(in crate::harness) fn is_once(head: &Value) -> bool {
    head.get("once") == Some(&Value::Bool(true))
}
