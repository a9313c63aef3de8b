//! Who may do what with a session.
//!
//! Decides whether an operator is there, still is, and is the owner where that is asked. Promises: every action goes
//! through [`may`] or its two halves. An operator whose time is over may nothing. Leaves to others: who the operator
//! really is. Nothing here proves it, and nothing of a login is kept.

use crate::error::{Code, ErrorInfo};
use crate::ports::Millis;

/// The person that a session belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The person, by the name that the issuer uses.
    pub subject: String,
    /// By whom it was issued.
    pub issuer: Option<String>,
    /// From when on it does not count.
    pub expires_at: Option<Millis>,
}

impl Operator {
    /// Whether a session is this one's.
    pub fn owns(&self, owner: Owner<'_>) -> bool {
        owner.subject == Some(self.subject.as_str()) && owner.issuer == self.issuer.as_deref()
    }
}

/// Whose a session is, as its record says.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// The operator's `subject`.
    pub subject: Option<&'a str>,
    /// The operator's `issuer`.
    pub issuer: Option<&'a str>,
}

/// What somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To make a session: by launch or import.
    Launch,
    /// To see that it is there, and how it stands.
    Status,
    /// To read what is in it: history, journal, events, receipts, handoffs, live output, an export.
    Read,
    /// To send something to its model, or to edit or regenerate what was sent.
    Prompt,
    /// To interrupt, resume or answer a question of its run.
    Steer,
    /// To stop it.
    Stop,
    /// To restart it.
    Restart,
    /// To mark a failure, or recover from it.
    Recover,
    /// To give it another name, or have it answered otherwise.
    Rename,
    /// To erase its conversation.
    Clear,
    /// To remove it.
    Remove,
    /// To put it aside.
    Bench,
    /// To take it up again.
    Play,
    /// To make another one of it.
    Fork,
}

impl Action {
    /// Whether only the owner may.
    pub fn needs_owner(self) -> bool {
        !matches!(self, Action::Launch | Action::Status | Action::Read)
    }
}

/// Whether an operator may do this, with the session of this owner where there is one.
///
/// # Errors
/// `operator_required`: nobody is there, or not any more. `permission_denied`: it is somebody else's.
pub fn may(
    operator: Option<&Operator>,
    action: Action,
    of: Option<Owner<'_>>,
    at: Millis,
) -> Result<(), ErrorInfo> {
    let operator = present(operator, at)?;
    match of {
        Some(of) if action.needs_owner() => owner(operator, of),
        _ => Ok(()),
    }
}

/// Whether there is an operator.
pub(super) fn present(operator: Option<&Operator>, at: Millis) -> Result<&Operator, ErrorInfo> {
    let required = |message: &str| {
        ErrorInfo::new(Code::OperatorRequired, message).hint("say who works here with setOperator()")
    };
    let operator = operator.ok_or_else(|| required("active operator session required"))?;
    if operator.expires_at.is_some_and(|end| end <= at) {
        return Err(required("the operator session has expired"));
    }
    Ok(operator)
}

/// Whether a session is an operator's own.
pub(super) fn owner(operator: &Operator, of: Owner<'_>) -> Result<(), ErrorInfo> {
    if operator.owns(of) {
        return Ok(());
    }
    let message = "agent session operator does not match the active operator session";
    Err(ErrorInfo::new(Code::PermissionDenied, message).hint("only the operator who launched it may do this"))
}
