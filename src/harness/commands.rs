//! What the page can ask for: from a command of the protocol's table to the part that does it.
//!
//! Decides which part a command goes to, with which of its arguments. Promises: each command that reaches it has one
//! arm. What needs an agent is refused where none runs. What few pages use stands behind the door of the room `more`.
//! Leaves to others: whose command it is (`gate`), and what comes of it (the part).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::{Action, VaultAsk};
use crate::harness::calls::questions::PageCall;
use crate::harness::core::DEFAULT_SESSION;
use crate::harness::core::refused::no_session;
use crate::harness::holding::start::Over;
use crate::harness::reads::Listing;
use crate::harness::{Harness, config};
use crate::journal::StoppedBy;
use crate::json::json;
use crate::object::Object;
use crate::protocol::{Command, Request};
use crate::rooms::{Room, enter};
use crate::run::Run;
use crate::session::Session;
use crate::tools::Definition;
use serde_json::Value;

impl Harness {
    /// Does what a command says in the session that it is about (empty: in none). An arm that is missing is found by
    /// `tests/host/protocol.rs`.
    #[expect(clippy::too_many_lines, reason = "the place of each command: an arm says who does it")]
    pub(super) fn dispatch(
        &mut self,
        id: u32,
        request: &Request,
        fresh: String,
        session: &str,
    ) -> Result<(), ErrorInfo> {
        let (command, args) = (request.command, request.args());
        if command.row().runs {
            self.core.must_run()?;
        }
        let rooms = command.row().rooms;
        if rooms.has(Room::Memory) {
            let shelf = self.runner.setup.config.shelf();
            return self.runner.memories.memory_command(&mut self.core, id, request, fresh, shelf);
        }
        if rooms.has(Room::More) {
            return self.dispatch_more(id, request, fresh, session);
        }
        if rooms.has(Room::Pages) {
            self.runner.pages.page_command(&mut self.core, id, request);
            return Ok(());
        }
        match command {
            Command::StartAgent => {
                self.holding.start_agent(&mut self.core, &mut self.runner, id, args.all(), None)?
            }
            Command::ConfigureAgent => self.configure_agent(id, args.all())?,
            Command::StandIn => {
                let config = args.get("config").cloned().unwrap_or_default();
                self.holding.start_agent(
                    &mut self.core,
                    &mut self.runner,
                    id,
                    &config,
                    Some(Over { epoch: args.whole("after") }),
                )?;
            }
            Command::LetGo => self.holding.step_back(
                &mut self.core,
                &mut self.runner,
                &mut self.reads,
                id,
                args.whole("epoch").unwrap_or_default(),
            ),
            Command::ClearConversation => {
                self.holding.clear(&mut self.core, &mut self.runner, &mut self.reads, id, session)
            }
            Command::RemoveMessage => self.remove_message(id, session, args.needed("messageId"))?,
            Command::StopAgent => self.holding.stop_agent(&mut self.core, &mut self.runner, id)?,
            Command::SendMessage => self.runner.send_message(&mut self.core, id, session, args, &fresh)?,
            Command::Interrupt => self.interrupt(id, session, args.text("runId"), args.whole("command")),
            Command::Resume => self.runner.resume(&mut self.core, id, session, args.text("runId"), &fresh)?,
            Command::History | Command::SessionsStatus => {
                if let Some(session) = self.session(session) {
                    let answer = self.runner.calls.read_of(&self.core, session, request)?;
                    self.core.reply_value(id, &answer);
                }
            }
            Command::Watch => {
                self.core.sessions.watch(session, String::new());
                self.runner.calls.tell_history(&mut self.core, session);
                self.core.reply(id, Ok(None));
            }
            Command::Wait | Command::Result => {
                let asked = self.core.awaited(request);
                self.core.wait(id, session, &asked)?;
            }
            Command::ToolsRegister => {
                let definition = Definition::parse(args.all())?;
                self.runner.setup.registry.register(definition, args.says("replace"))?;
                self.runner.setup.tools_change();
                self.core.reply_now(id, Ok(None));
            }
            Command::ToolsUnregister => {
                let gone = self.runner.setup.registry.unregister(args.needed("name"));
                self.runner.setup.tools_change();
                self.core.reply_now(id, Ok(Some(gone.to_string())));
            }
            Command::ResolvePermission => {
                self.runner.resolve_permission(&mut self.core, id, args)?;
            }
            Command::Settings => {
                let settings = self.runner.setup.config.public();
                self.core.reply_value(id, &settings);
            }
            Command::File => {
                self.core.outbox.act(Action::File { id, file: args.needed("fileId").into() });
            }
            Command::Persist => self.core.outbox.act(Action::Persist(id)),
            Command::Draft => {
                self.runner.calls.draft_at_once(&mut self.core);
                self.core.reply(id, Ok(None));
            }
            Command::Close => self.holding.close(&mut self.core, &mut self.runner, Some(id)),
            Command::SetOperator => {
                self.runner.set_operator(&mut self.core, args.get("operator"))?;
                self.core.reply(id, Ok(None));
            }
            Command::SessionsImport | Command::SessionsReplay => self.carry(id, request)?,
            Command::SessionsAdmit => self.holding.admit(&mut self.core, &mut self.runner, id)?,
            // The gate has these answered from rows.
            _ => return Err(no_session(session)),
        }
        Ok(())
    }

    /// The same for what a plain conversation does without: the door of the room `more`.
    #[inline(never)]
    fn dispatch_more(
        &mut self,
        id: u32,
        request: &Request,
        fresh: String,
        session: &str,
    ) -> Result<(), ErrorInfo> {
        enter(Room::More);
        let (command, args) = (request.command, request.args());
        match command {
            Command::Regenerate => self.runner.regenerate(&mut self.core, id, session, args, &fresh)?,
            Command::Compact => self.runner.compact_by_hand(&mut self.core, id, session, args, &fresh)?,
            Command::SwitchTo => self.switch_to(id, session, args.needed("messageId"))?,
            Command::SessionsActivity | Command::SessionsOutput => {
                let folded = self.session(session).ok_or_else(|| no_session(session))?;
                let answer = json(&self.runner.calls.read_of(&self.core, folded, request)?);
                // It is as it is now, whether that is stored or not.
                self.core.reply_now(id, Ok(Some(answer)));
            }
            Command::QueueEdit => self.edit_queued(id, args.needed("id"), args.needed("text"))?,
            Command::QueueRemove => self.runner.remove_queued(&mut self.core, id, args.needed("id"))?,
            Command::QueueRelease => self.runner.release_queue(&mut self.core, id, session)?,
            Command::ToolsResolve => {
                let answer = args.get("answer").unwrap_or(&Value::Null);
                self.runner.resolve_call(&mut self.core, id, args.needed("toolCallId"), answer)?;
            }
            Command::ToolsExecute => {
                let given = args.get("args").cloned().unwrap_or_else(|| Object::new().done());
                let call = PageCall::new(id, args.needed("name"), given);
                self.runner.page_call(&mut self.core, call);
            }
            Command::Storage | Command::AcknowledgeLoss => {
                let known = command == Command::AcknowledgeLoss && self.lost;
                let sessions = command == Command::Storage && args.says("sessions");
                if sessions {
                    self.core.present_operator()?;
                }
                self.core.outbox.act(Action::Storage { id, sessions, known });
            }
            Command::ToolsGrants => self.reads.list_sessions(&mut self.core, id, Listing::Grants),
            Command::ToolsRevoke => self.runner.revoke(&mut self.core, id, session, args.needed("tool")),
            Command::KeysSet => self.keys.set(&mut self.core, id, request)?,
            Command::KeysRemove => self.keys.ask(&mut self.core, id, request, VaultAsk::Remove)?,
            Command::KeysLook => self.keys.ask(&mut self.core, id, request, VaultAsk::Look)?,
            Command::KeysList => self.keys.list(&mut self.core, id),
            Command::KeysValidate | Command::KeysModels => {
                let provider = config::provider(args.get("provider").unwrap_or(&Value::Null))?;
                self.keys.begin_trial(&mut self.core, id, command == Command::KeysModels, provider);
            }
            Command::SessionsLaunch => self.runner.launch(&mut self.core, id, args, &fresh)?,
            Command::SessionsPrompt => self.runner.prompt(&mut self.core, id, session, args, &fresh)?,
            Command::SessionsRunOnce => self.runner.run_once(&mut self.core, id, args, &fresh)?,
            Command::SessionsList => {
                let verified = args.says("withVerification");
                self.reads.list_sessions(
                    &mut self.core,
                    id,
                    if verified { Listing::Verified } else { Listing::Sessions },
                );
            }
            Command::ActiveRuns => self.reads.count_active(&mut self.core, id),
            Command::SessionsRemove if session == DEFAULT_SESSION => self.remove_first(id)?,
            Command::SessionsStop
            | Command::SessionsRestart
            | Command::SessionsRename
            | Command::SessionsRecover
            | Command::SessionsRemove
            | Command::SessionsUndoRemove => {
                self.runner.change(&mut self.core, id, session, request, &fresh)?
            }
            Command::SessionsConfigure => self.runner.configure(&mut self.core, id, session, args)?,
            Command::SessionsArchive => self.archive(id, session)?,
            Command::SessionsBench => {
                let benched = self.runner.bench(&mut self.core, session)?;
                self.core.reply_value(id, &benched);
            }
            Command::SessionsPlay => {
                self.runner.play(&mut self.core, session)?;
                let state = self.session(session).and_then(Session::state).unwrap_or_default();
                self.core.reply_value(id, &state);
            }
            Command::SessionsAttach => {
                self.core.attach(args.needed("id"), args.says("on"));
                self.core.reply_now(id, Ok(None));
            }
            _ => return Err(no_session(session)),
        }
        Ok(())
    }

    fn remove_first(&mut self, id: u32) -> Result<(), ErrorInfo> {
        self.holding.remove_first(&mut self.core, &mut self.runner, &mut self.reads, id)
    }

    fn switch_to(&mut self, id: u32, session: &str, message: &str) -> Result<(), ErrorInfo> {
        self.runner.switch_to(&mut self.core, id, session, message)
    }

    fn edit_queued(&mut self, id: u32, message: &str, text: &str) -> Result<(), ErrorInfo> {
        self.runner.edit_queued(&mut self.core, id, message, text)
    }

    fn remove_message(&mut self, id: u32, session: &str, message: &str) -> Result<(), ErrorInfo> {
        self.holding.remove_message(&mut self.core, &mut self.runner, &mut self.reads, (id, session), message)
    }

    fn archive(&mut self, id: u32, session: &str) -> Result<(), ErrorInfo> {
        self.holding.archive(&mut self.core, &mut self.runner, &mut self.reads, Some(id), session)
    }

    /// Changes the configuration of the agent that runs.
    fn configure_agent(&mut self, id: u32, patch: &Value) -> Result<(), ErrorInfo> {
        if let Some(name) = ["ifRunning", "resume"].iter().find(|name| patch.get(name).is_some()) {
            let error = ErrorInfo::new(Code::InvalidConfig, format!("{name} counts at the start only"));
            return Err(error.hint("give it to startAgent"));
        }
        let config = self.runner.setup.config.patched(patch)?;
        self.runner.setup.own_tools_fit(&config)?;
        if config.skills != self.runner.setup.config.skills {
            self.reads.give_to_account(&mut self.core, &config.skills, false);
        }
        self.runner.take_config(&mut self.core, config);
        self.core.reply(id, Ok(None));
        Ok(())
    }

    /// Interrupts the run that works in a session, or the one that is named, or drops a prompt that waits.
    fn interrupt(&mut self, id: u32, session: &str, run: Option<&str>, prompt: Option<u64>) {
        match run {
            Some(run) => self.runner.unqueue(&mut self.core, session, run),
            None => self.drop_prompts(session, prompt),
        }
        let is_meant = |current: &Run| run.is_none_or(|run| run == current.id);
        // A run that is named is meant, even if it is held.
        if prompt.is_none() && self.core.current(session).is_some_and(is_meant) {
            self.runner.interrupt_session(&mut self.core, session, StoppedBy::User, run.is_some());
        }
        self.core.reply(id, Ok(None));
    }
}
