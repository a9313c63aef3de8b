//! What can be asked of the harness: one table of commands.
//!
//! Decides which commands there are, and of each its arguments, the session it is about and what it needs of that
//! session. Decides whether an agent must run. The enum, the reader of arguments and the gate's route come from the table.
//! Files that a test compares with it are made from it: `js/protocol/commands.js` (what tabs do with each command, and
//! what `invoke` calls), `js/commands.d.ts`, and the table in `js/PROTOCOL.md`. So a new command is written in two
//! places: its row, and what it does. Promises: a command that was read fits its row. Leaves to others: every decision
//! about state, and what a command does.

pub mod args;
pub mod table;

#[cfg(not(target_arch = "wasm32"))]
pub mod written;

pub use args::{Args, Members};
pub use table::{Command, Row};

use crate::error::{Code, ErrorInfo};
use crate::object;
use args::{Style, names, shortened};
use serde_json::Value;

/// What a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// No session.
    None,
    /// The session `sessionId`, or the first one.
    Session,
    /// The session `sessionId`, else that of the run `runId`, else the first one.
    SessionOrRun,
    /// The session that works on something: `sessionId`, else that of `runId` or of the prompt `command`, else the first one.
    Worker,
    /// The session `id`.
    Id,
    /// The session that the run, the task or the message `id` is of.
    Run,
    /// Either of these: what `id` is decides.
    IdOrRun,
}

/// What a command needs of what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it reaches no session by itself.
    Nothing,
    /// Somebody who works here.
    Operator,
    /// To read; any operator may.
    Read,
    /// To change it as its owner, if need be while no agent runs.
    Write,
    /// To change it as its owner, by a running agent.
    Work,
    /// `Work` where `action` is `reconnect`, because a run that goes on needs an agent; else `Write`.
    Recover,
}

/// From what a command about a session is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The session as it is in our hands, or as it folds.
    Fold,
    /// Rows of its journal, also where another tab holds it.
    Rows,
    /// All rows of its journal, also where another tab holds it.
    Journal,
    /// What is in our hands, held against the end of what is stored.
    End,
}

/// A command with its arguments, which fit it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Which command.
    pub command: Command,
    args: Value,
}

/// Reads a command: the only way to a [`Request`].
///
/// # Errors
/// `unknown_command`, `invalid_arguments`; `invalid_config` where the arguments are options of a person's message.
pub fn read(name: &str, args: Value) -> Result<Request, ErrorInfo> {
    let command = Command::named(name).ok_or_else(|| {
        let quote = if name.starts_with("pages.") { "'" } else { "\"" };
        let message = ["no command is called ", quote, shortened(name), quote].concat();
        ErrorInfo::new(Code::UnknownCommand, message)
    })?;
    let request = Request { command, args };
    request.check()?;
    Ok(request)
}

impl Request {
    fn check(&self) -> Result<(), ErrorInfo> {
        let (row, args) = (self.command.row(), &self.args);
        let (own, message) = (names(row.spec), Command::SendMessage.row());
        if row.spec == "*" {
            return Ok(());
        }
        // An `id` that is missing is told before all else.
        let by_id = matches!(row.subject, Subject::Id | Subject::Run | Subject::IdOrRun);
        if by_id {
            row.check(args, &[])?;
        }
        let open = row.spec.ends_with("...");
        if open {
            message.knows(args, &[&own[..], &names(message.spec)].concat())?;
        } else {
            row.knows(args, &own)?;
        }
        if !by_id {
            row.check(args, &[])?;
        }
        match row.says {
            true => message.check(args, if open { &own } else { &[] }),
            false => Ok(()),
        }
    }

    /// Its arguments.
    pub fn args(&self) -> Members<'_> {
        let row = self.command.row();
        Members { value: &self.args, spec: if row.says { "" } else { row.spec } }
    }

    /// The error that something is wrong with its arguments that no spec can say.
    pub fn invalid(&self, what: &str) -> ErrorInfo {
        ErrorInfo::new(Code::InvalidArguments, [self.command.row().name, " ", what].concat())
    }

    /// The same with what is known of its files. Their bytes stay with the caller, and a message may have none.
    ///
    /// # Errors
    /// It takes no files.
    pub fn with_files(mut self, files: Option<Value>) -> Result<Request, ErrorInfo> {
        if self.command.row().files {
            if let Some(members) = self.args.as_object_mut() {
                object::take(members, "files");
                members.extend(files.map(|files| ("files".to_owned(), files)));
            }
        } else if files.is_some() {
            return Err(self.invalid("does not know \"files\""));
        }
        Ok(self)
    }

    /// What it needs of what it is about.
    pub fn need(&self) -> Need {
        match self.command.row().need {
            Need::Recover if self.args().text("action") == Some("reconnect") => Need::Work,
            Need::Recover => Need::Write,
            need => need,
        }
    }

    /// Whether it stops what was given before it, without naming it. A message whose files are still read is given up: its
    /// run would begin after the interrupt that was meant for it.
    pub fn interrupts(&self) -> bool {
        let names = |name: &str| self.args.get(name).is_some_and(|value| !value.is_null());
        // A run or a prompt that is named is another.
        self.command.row().stops && !names("runId") && !names("command")
    }
}

impl Row {
    /// Refuses arguments that are none of these.
    fn knows(&self, args: &Value, known: &[&str]) -> Result<(), ErrorInfo> {
        let code = if self.options { Code::InvalidConfig } else { Code::InvalidArguments };
        self.args(args, code).knows(known).map(drop)
    }

    /// Refuses arguments that are missing or of another kind; those in `but` were looked at before.
    fn check(&self, args: &Value, but: &[&str]) -> Result<(), ErrorInfo> {
        self.args(args, Code::InvalidArguments).check(self.spec, but)
    }

    fn args<'a>(&self, value: &'a Value, code: Code) -> Args<'a> {
        let style = if self.name.starts_with("pages.") { Style::Field } else { Style::Needs };
        Args::of(value, code, self.name, style)
    }
}

impl Command {
    /// The command of this name.
    pub fn named(name: &str) -> Option<Command> {
        Command::ALL.iter().copied().find(|command| command.row().name == name)
    }

    /// Whether it writes to the workspace even where no agent runs: then it waits for a start that is on its way.
    pub fn borrows(self) -> bool {
        matches!(self.row().need, Need::Write | Need::Recover)
    }
}
