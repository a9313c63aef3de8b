//! Sessions, and the queue of what waits in them.
//!
//! What the records of events, receipts, handoffs and tasks hold says `index.d.ts`; here they are JSON.

use super::client::{read, some};
use super::workspace::value_at;
use super::{Entries, Said, SessionsView, Workspace};
use crate::error::ErrorInfo;
use crate::object::Object;
use crate::shapes::{
    Activity, Launch, Overrides, Recover, Replay, SendOptions, SessionHit, SessionState, Shape, Verified,
    VerifiedSession,
};
use js_sys::{Array, Reflect, Uint8Array};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use web_sys::{AbortController, Blob};

/// Conversations that last, with an owner and a record. Every method needs an operator; what changes a session needs its owner.
#[derive(Clone, Debug)]
pub struct Sessions(Workspace);

impl Sessions {
    pub(super) fn of(workspace: Workspace) -> Sessions {
        Sessions(workspace)
    }

    /// Begins a session.
    ///
    /// # Errors
    /// `session_exists`, or an option is wrong.
    pub async fn launch(&self, launch: Launch) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.launch", json!([launch.write()])).await
    }

    /// Sends it a message; exit words stop it, and then there is no run. Gives the run's id.
    ///
    /// # Errors
    /// As of a message; `invalid_transition`: it has failed, and was not recovered.
    pub async fn prompt(
        &self,
        id: &str,
        said: impl Into<Said>,
        options: SendOptions,
    ) -> Result<Option<String>, ErrorInfo> {
        let said = said.into();
        let args = json!([id, said.input.write(), options.write()]);
        let given = self.0.told("sessions.prompt", args, &said.values("1.files")).await?;
        Ok(Reflect::get(&given, &"runId".into()).unwrap_or_default().as_string())
    }

    /// How it stands.
    ///
    /// # Errors
    /// `session_not_found`.
    pub async fn status(&self, id: &str) -> Result<VerifiedSession, ErrorInfo> {
        self.0.give("sessions.status", json!([id])).await
    }

    /// Stops it; its run is interrupted.
    ///
    /// # Errors
    /// `session_not_found`, `permission_denied`.
    pub async fn stop(&self, id: &str, reason: Option<&str>) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.stop", some([Some(id), reason])).await
    }

    /// Starts it again.
    ///
    /// # Errors
    /// `session_not_found`, `invalid_transition`.
    pub async fn restart(&self, id: &str, reason: Option<&str>) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.restart", some([Some(id), reason])).await
    }

    /// Goes on after a failure, or says that it has failed.
    ///
    /// # Errors
    /// `session_not_found`, `invalid_transition`.
    pub async fn recover(&self, id: &str, recover: Recover) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.recover", json!([id, recover.write()])).await
    }

    /// All sessions, the last changed first.
    ///
    /// # Errors
    /// Nobody works here.
    pub async fn list(&self) -> Result<Vec<SessionState>, ErrorInfo> {
        self.0.give("sessions.list", json!([])).await
    }

    /// All sessions, each with what its signature says.
    ///
    /// # Errors
    /// Nobody works here.
    pub async fn list_verified(&self) -> Result<Vec<VerifiedSession>, ErrorInfo> {
        self.0.give("sessions.list", json!([{ "withVerification": true }])).await
    }

    /// All sessions as a list draws them, live in every tab.
    ///
    /// # Errors
    /// The workspace is closed.
    pub fn view(&self) -> Result<SessionsView, ErrorInfo> {
        self.0.at_once("sessions.view", json!([])).map(|store| SessionsView::of(&store))
    }

    /// A person has seen what was said in it.
    ///
    /// # Errors
    /// The workspace is closed.
    pub fn mark_read(&self, id: &str) -> Result<(), ErrorInfo> {
        self.0.at_once("sessions.markRead", json!([id])).map(drop)
    }

    /// Those in which each of these words was said.
    ///
    /// # Errors
    /// Nobody works here.
    pub async fn search(&self, query: &str) -> Result<Vec<SessionHit>, ErrorInfo> {
        self.0.give("sessions.search", json!([query])).await
    }

    /// Gives it another name.
    ///
    /// # Errors
    /// `session_not_found`, `permission_denied`.
    pub async fn rename(&self, id: &str, name: &str) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.rename", json!([id, name])).await
    }

    /// From here on it goes by these instead of the agent's configuration.
    ///
    /// # Errors
    /// `invalid_config`, or the agent does not run.
    pub async fn configure(&self, id: &str, overrides: Overrides) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.configure", json!([id, overrides.write()])).await
    }

    /// Removes it. For ten seconds it can be brought back.
    ///
    /// # Errors
    /// `session_not_found`, `permission_denied`.
    pub async fn remove(&self, id: &str) -> Result<(), ErrorInfo> {
        self.0.done("sessions.remove", json!([id])).await
    }

    /// Brings it back.
    ///
    /// # Errors
    /// `session_not_found`.
    pub async fn undo_remove(&self, id: &str) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.undoRemove", json!([id])).await
    }

    /// Packs all its rows; its next message opens it again.
    ///
    /// # Errors
    /// `busy`.
    pub async fn archive(&self, id: &str) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.archive", json!([id])).await
    }

    /// Its journal from the entry `from` on, at most so many entries.
    ///
    /// # Errors
    /// `session_not_found`.
    pub async fn journal(
        &self,
        id: &str,
        from: Option<u64>,
        limit: Option<u64>,
    ) -> Result<Vec<Value>, ErrorInfo> {
        self.0.give("sessions.journal", json!([id, page(from, limit)])).await
    }

    /// Its events in the same way.
    ///
    /// # Errors
    /// `session_not_found`.
    pub async fn events(
        &self,
        id: &str,
        from: Option<u64>,
        limit: Option<u64>,
    ) -> Result<Vec<Value>, ErrorInfo> {
        self.0.give("sessions.events", json!([id, page(from, limit)])).await
    }

    /// What was done in it.
    ///
    /// # Errors
    /// `session_not_found`.
    pub async fn receipts(&self, id: &str) -> Result<Vec<Value>, ErrorInfo> {
        self.0.give("sessions.receipts", json!([id])).await
    }

    /// What its runs have left.
    ///
    /// # Errors
    /// `session_not_found`.
    pub async fn handoffs(&self, id: &str) -> Result<Vec<Value>, ErrorInfo> {
        self.0.give("sessions.handoffs", json!([id])).await
    }

    /// A run by its id, or by its task's.
    ///
    /// # Errors
    /// `record_not_found`.
    pub async fn task(&self, id: &str) -> Result<Value, ErrorInfo> {
        self.0.give("sessions.task", json!([id])).await
    }

    /// One task without a session, to its end.
    ///
    /// # Errors
    /// As of a message.
    pub async fn run_once(
        &self,
        objective: impl Into<Said>,
        options: SendOptions,
    ) -> Result<Value, ErrorInfo> {
        let said = objective.into();
        let args = json!([said.input.write(), options.write()]);
        read(&self.0.told("sessions.runOnce", args, &said.values("0.files")).await?)
    }

    /// The session in a file: `journal`, `markdown`, `json` or `html`.
    ///
    /// # Errors
    /// `session_not_found`, `corrupt`.
    pub async fn export(&self, id: &str, format: &str) -> Result<Blob, ErrorInfo> {
        let file = self.0.told("sessions.export", json!([id, { "format": format }]), &Array::new()).await?;
        Ok(file.unchecked_into())
    }

    /// Takes in a session from such a file.
    ///
    /// # Errors
    /// `invalid_arguments`, `corrupt`, `newer_version`.
    pub async fn import(&self, file: &Blob) -> Result<SessionState, ErrorInfo> {
        read(&self.0.told("sessions.import", json!([]), &value_at("0", file)).await?)
    }

    /// Runs such a file again: what is decided must be what is recorded.
    ///
    /// # Errors
    /// `invalid_arguments`, `corrupt`, `newer_version`.
    pub async fn replay(&self, file: &Blob) -> Result<Replay, ErrorInfo> {
        read(&self.0.told("sessions.replay", json!([]), &value_at("0", file)).await?)
    }

    /// Makes another session of its first `at` entries; `None`: of all. With a `provider`, a name in `providers`, that one answers it.
    ///
    /// # Errors
    /// `session_not_found`, `permission_denied`, `invalid_config`: there is no such provider.
    pub async fn fork(
        &self,
        id: &str,
        at: Option<u64>,
        provider: Option<&str>,
    ) -> Result<SessionState, ErrorInfo> {
        let mut options = Object::new();
        options.maybe("at", at.map(Value::from)).maybe_text("provider", provider);
        self.0.give("sessions.fork", json!([id, options.done()])).await
    }

    /// Makes a whole session of one that is damaged; with `replace` in its place.
    ///
    /// # Errors
    /// `invalid_arguments`: nothing is damaged.
    pub async fn salvage(&self, id: &str, replace: bool) -> Result<SessionState, ErrorInfo> {
        self.0.give("sessions.salvage", json!([id, { "replace": replace }])).await
    }

    /// Reads all its entries, and says whether they are what was written.
    ///
    /// # Errors
    /// `session_not_found`.
    pub async fn verify(&self, id: &str) -> Result<Verified, ErrorInfo> {
        self.0.give("sessions.verify", json!([id])).await
    }

    /// Puts it aside; `all`: all that are alive. Gives those that were put aside.
    ///
    /// # Errors
    /// `session_not_found`, `invalid_transition`.
    pub async fn bench(&self, id: &str) -> Result<Vec<String>, ErrorInfo> {
        let given = self.0.told("sessions.bench", json!([id]), &Array::new()).await?;
        read(&Reflect::get(&given, &"suspended".into()).unwrap_or_default())
    }

    /// Takes up what was put aside, or lost in mid-run; `all`: each of these.
    ///
    /// # Errors
    /// `invalid_transition`: it was neither.
    pub async fn play(&self, id: &str) -> Result<Vec<SessionState>, ErrorInfo> {
        self.0.give("sessions.play", json!([id])).await
    }

    /// What goes on in a session or a run, at this moment.
    ///
    /// # Errors
    /// There is no such session or run.
    pub async fn activity(&self, id: &str) -> Result<Activity, ErrorInfo> {
        self.0.give("sessions.activity", json!([id])).await
    }

    /// What the model has said, as one row of bytes from the byte `from` on; and where the next ones come.
    ///
    /// # Errors
    /// There is no such session or run.
    pub async fn output(&self, id: &str, from: Option<u64>) -> Result<(Vec<u8>, u64), ErrorInfo> {
        self.output_of(id, page(from, None)).await
    }

    /// Its last so many bytes.
    ///
    /// # Errors
    /// As of [`output`](Sessions::output).
    pub async fn output_tail(&self, id: &str, bytes: u64) -> Result<(Vec<u8>, u64), ErrorInfo> {
        self.output_of(id, json!({ "tail": bytes })).await
    }

    async fn output_of(&self, id: &str, options: Value) -> Result<(Vec<u8>, u64), ErrorInfo> {
        let given = self.0.told("sessions.output", json!([id, options]), &Array::new()).await?;
        let member = |name: &str| Reflect::get(&given, &name.into()).unwrap_or_default();
        let bytes = member("data").dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec());
        Ok((bytes.unwrap_or_default(), member("offset").as_f64().unwrap_or_default() as u64))
    }

    /// Its journal from the entry `from` on, and then each entry once it is stored.
    ///
    /// # Errors
    /// The workspace is closed, or this is no page.
    pub fn attach(&self, id: &str, from: Option<u64>) -> Result<Entries, ErrorInfo> {
        let ends = AbortController::new().map_err(|thrown| super::client::error_of(&thrown))?;
        let entries = self.0.at_once_with(
            "sessions.attach",
            json!([id, page(from, None)]),
            &value_at("1.signal", &ends.signal()),
        )?;
        Ok(Entries::of(&entries, ends))
    }
}

fn page(from: Option<u64>, limit: Option<u64>) -> Value {
    let members = [("from", from), ("limit", limit)];
    let mut options = Object::new();
    for (name, value) in members {
        options.maybe(name, value.map(Value::from));
    }
    options.done()
}

/// What waits for its turn. Each needs the owner of the session, and an agent that runs.
#[derive(Clone, Debug)]
pub struct Queue(Workspace);

impl Queue {
    pub(super) fn of(workspace: Workspace) -> Queue {
        Queue(workspace)
    }

    /// Changes what a message says that waits.
    ///
    /// # Errors
    /// `message_not_found`: its turn has come, or it was removed.
    pub async fn edit(&self, id: &str, text: &str) -> Result<(), ErrorInfo> {
        self.0.done("queue.edit", json!([id, text])).await
    }

    /// Takes a message out.
    ///
    /// # Errors
    /// `message_not_found`.
    pub async fn remove(&self, id: &str) -> Result<(), ErrorInfo> {
        self.0.done("queue.remove", json!([id])).await
    }

    /// What is held in a session is not any more.
    ///
    /// # Errors
    /// The agent does not run.
    pub async fn release(&self, session: Option<&str>) -> Result<(), ErrorInfo> {
        self.0.done("queue.release", some([session])).await
    }
}
