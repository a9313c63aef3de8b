//! Who works here, and what is theirs.
//!
//! Decides which operator a command counts for. Promises: without an operator no session is reached, and what changes a
//! session needs its own. Leaves to others: what an operator may do (`session/operator`), and which commands ask it
//! (`gate`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::By;
use crate::harness::core::Core;
use crate::harness::core::refused::no_session;
use crate::journal::redact;
use crate::object::Object;
use crate::protocol::{Args, Command, Need, Request};
use crate::session::operator::{Action, Operator};
use crate::session::record::Record;
use crate::session::{Session, operator};
use serde_json::Value;

impl Core {
    /// Who works here now.
    ///
    /// # Errors
    /// `operator_required`
    pub(in crate::harness) fn present_operator(&self) -> Result<&Operator, ErrorInfo> {
        operator::may(self.operator(), Action::Read, None, self.now)?;
        self.operator().ok_or_else(|| no_session(""))
    }

    /// Who has given the command that is carried out now; else who works on this page.
    pub(in crate::harness) fn operator(&self) -> Option<&Operator> {
        match &self.by {
            By::Here => self.options.operator.as_ref(),
            By::There(operator) => operator.as_ref(),
        }
    }

    /// Whether a session is the operator's own, and what was written, which all but reading needs. A command on the record
    /// itself asks the former in the order of its own checks.
    pub(in crate::harness) fn must_own(&self, request: &Request, session: &str) -> Result<(), ErrorInfo> {
        if request.need() == Need::Read {
            return Ok(());
        }
        if !request.command.row().asks {
            self.must_own_session(session)?;
        }
        self.must_be_sound(request.command, session)
    }

    /// The same of a question or a call of a session, which is found by what answers it.
    pub(in crate::harness) fn must_answer(&self, session: &str) -> Result<(), ErrorInfo> {
        self.must_own_session(session)?;
        self.must_be_sound(Command::ToolsResolve, session)
    }

    /// Whether a session is the operator's own.
    pub(in crate::harness) fn must_own_session(&self, session: &str) -> Result<(), ErrorInfo> {
        let owner = self.session(session).and_then(Session::record).map(Record::owner);
        operator::may(self.operator(), Action::Steer, owner, self.now)
    }

    /// The arguments of [`Session::ask`], with who asks.
    pub(in crate::harness) fn as_operator(&self) -> Result<Object, ErrorInfo> {
        let Operator { subject, issuer, .. } = self.present_operator()?;
        let operator = Object::new().text("subject", subject).maybe_text("issuer", issuer.as_deref()).done();
        let mut args = Object::new();
        args.value("operator", operator);
        Ok(args)
    }
}

/// `{ subject, issuer?, expiresAt? }`
pub(in crate::harness) fn parse_operator(value: &Value) -> Result<Operator, ErrorInfo> {
    let args = Args::read(value, "an operator", "subject?~ issuer?~ expiresAt?#")?;
    let invalid = |what: &str| ErrorInfo::new(Code::InvalidArguments, ["an operator ", what].concat());
    let (subject, issuer) = (args.needed("subject"), args.text("issuer"));
    if subject.trim().is_empty() || [subject, issuer.unwrap_or_default()].concat().contains(char::is_control)
    {
        return Err(invalid("needs a \"subject\" that is not empty, and no control characters"));
    }
    // It is put on record, and no record has what looks like a secret.
    if redact::has_secret(value, &[]) {
        return Err(invalid(
            "looks like a secret, or an address with a login: use an id of the person without one",
        ));
    }
    Ok(Operator {
        subject: subject.into(),
        issuer: issuer.map(Into::into),
        expires_at: args.whole("expiresAt"),
    })
}
