//! Receipts: what was done under a policy, hashed and tied to the receipt before.
//!
//! Decides what a receipt says of a provider, of a sandbox and of a tool call. Promises: texts are redacted. A receipt
//! names the hash of the receipt before it, so a gap or a change in their chain shows. Leaves to others: when one is owed
//! (`keeping`), and where it is written.

use super::{Members, Receipt, Record};
use crate::error::{Code, ErrorInfo};
use crate::find::replace;
use crate::journal::canonical::without;
use crate::journal::redact;
use crate::journal::sha256;
use crate::maps::Named;
use crate::object::Object;
use crate::ports::Millis;
use crate::rooms::{Room, enter};
use crate::session::dates;
use crate::session::operator::Operator;
use serde_json::{Map, Value};

/// Members of a deed's metadata that say what went in or came out: they are left out unread.
const LEFT_OUT: [&str; 14] = [
    "command",
    "command_payload",
    "credentials",
    "env",
    "environment",
    "environment_variables",
    "payload",
    "raw_command",
    "secret",
    "stderr",
    "stdin",
    "stdout",
    "target",
    "target_payload",
];

/// What a receipt's metadata tells of where something was done.
const CONTEXT: [&str; 7] = [
    "policy_envelope_id",
    "agent_session_id",
    "provider_id",
    "backend_id",
    "route_id",
    "target_id",
    "command_ref",
];

/// Of a tool call: it had begun, and nobody knows what came of it.
pub const UNKNOWN: &str = "of unknown outcome";

/// Something that was done, or refused.
#[derive(Debug)]
pub struct Deed<'a> {
    /// The id of its receipt.
    pub id: &'a str,
    /// For which task.
    pub task_id: &'a str,
    /// By whom: `agent:…`.
    pub actor: &'a str,
    /// Of which kind: `environment_decision`, `provider_action`, `sandbox_action`, `denial`.
    pub action: &'a str,
    /// What one must be allowed for it.
    pub capability: &'a str,
    /// `passed`, `failed`, `blocked`, `denied` or `skipped`.
    pub status: &'a str,
    /// Why it was done.
    pub reason: &'a str,
    /// What came of it.
    pub summary: &'a str,
    /// Where: an object of `policy_envelope_id`, `agent_session_id`, `provider_id`, `backend_id`, `route_id`,
    /// `target_id`, `command_ref`, `receipt_ids`; what is absent is `null`.
    pub context: Value,
    /// What else is told of it: an object.
    pub metadata: Value,
    /// Who was there.
    pub operator: Option<&'a Operator>,
    /// When.
    pub at: Millis,
    /// The hash of the receipt before.
    pub previous: Option<&'a str>,
    /// Keys that the page has.
    pub known: &'a [String],
}

/// Where a run's receipts belong.
#[derive(Debug)]
pub struct Boundary<'a> {
    /// The session that has run.
    pub session: &'a Record,
    /// Who was there.
    pub operator: Option<&'a Operator>,
    /// For which task.
    pub task_id: &'a str,
    /// In which run.
    pub run_id: &'a str,
    /// What it has left, if it has yet.
    pub handoff_id: Option<&'a str>,
    /// The receipts that it has already.
    pub receipt_ids: &'a [String],
    /// When.
    pub at: Millis,
    /// The hash of the receipt before.
    pub previous: Option<&'a str>,
    /// Keys that the page has.
    pub known: &'a [String],
}

/// A tool call that had an effect, or was refused one.
#[derive(Debug)]
pub struct ToolDeed<'a> {
    /// The call's id.
    pub call_id: &'a str,
    /// The tool's name.
    pub tool: &'a str,
    /// The capability that it needs, if it needs one.
    pub capability: Option<&'a str>,
    /// `passed`, `failed`, `blocked`, `denied` or `skipped`; [`UNKNOWN`] is told as `failed`.
    pub status: &'a str,
    /// The SHA-256 of its canonical arguments: the arguments stay in the conversation.
    pub arguments: &'a str,
}

impl Receipt {
    /// The receipt of a deed. Texts and metadata are redacted.
    ///
    /// # Errors
    /// `corrupt` for a status that is none.
    pub fn of(deed: &Deed<'_>) -> Result<Receipt, ErrorInfo> {
        let clean = |text: &str| redact::cleaned(text, deed.known);
        let mut metadata = Object::new();
        let mut target = deed.action.to_owned();
        for name in CONTEXT {
            let value = deed.context.get(name).and_then(Value::as_str).map(&clean);
            if let (Some(value), "provider_id" | "backend_id" | "command_ref") = (&value, name) {
                // The last of them that there is.
                target = [deed.action, ":", value].concat();
            }
            metadata.value(name, value.into());
        }
        let receipts = deed.context.get("receipt_ids").cloned().unwrap_or_else(|| Vec::<Value>::new().into());
        metadata.value("receipt_ids", receipts).text("environment_action", deed.action);
        for (name, value) in deed.metadata.as_object().into_iter().flatten() {
            let plain = replace(&name.to_ascii_lowercase(), "-", "_");
            if !LEFT_OUT.contains(&plain.as_str()) && !redact::holds_secret(&plain) {
                metadata.value(name, redact::value(value, deed.known).0);
            }
        }
        metadata.value("redacted_fields", LEFT_OUT.as_slice().into());
        let result = Object::new()
            .text("status", deed.status)
            .text("summary", &clean(deed.summary))
            .value("metadata", metadata.done())
            .done();
        let mut receipt = Object::new();
        receipt.text("id", deed.id).text("task_id", deed.task_id).text("actor", deed.actor);
        receipt.text("capability", deed.capability).text("target", &target).text("policy_profile", "strict");
        receipt.text("reason", &clean(deed.reason)).value("result", result);
        if let Some(operator) = deed.operator {
            receipt.text("operator_subject", &operator.subject);
            receipt.value("operator_issuer", operator.issuer.as_deref().into());
        }
        receipt.value("previous_receipt_hash", deed.previous.into()).text("created_at", &dates::utc(deed.at));
        Receipt::read(&receipt.done())
    }

    /// That a run has asked its provider, and how many answers it had.
    ///
    /// # Errors
    /// None for ids that are texts.
    pub fn of_provider(boundary: &Boundary<'_>, answers: u64) -> Result<Receipt, ErrorInfo> {
        let mut metadata = boundary.metadata();
        metadata.number("provider_result_count", answers);
        boundary.receipt(Deed {
            id: &provider_receipt(boundary.run_id),
            action: "provider_action",
            capability: "model.chat",
            status: if answers > 0 { "passed" } else { "denied" },
            reason: "Persistent agent provider route executed.",
            summary: "Persistent agent provider action recorded.",
            metadata: metadata.done(),
            ..boundary.deed()
        })
    }

    /// Whether a run had tools that it might use: before format 3, when that was told as a shell. A door of the room `past`.
    ///
    /// # Errors
    /// None for ids that are texts.
    #[inline(never)]
    pub fn of_sandbox(boundary: &Boundary<'_>, granted: bool) -> Result<Receipt, ErrorInfo> {
        enter(Room::Past);
        let (action, status, reason) = match granted {
            true => ("sandbox_action", "passed", "Persistent agent fixture action grant was present."),
            false => ("denial", "denied", "Persistent agent fixture action grant was not present."),
        };
        boundary.receipt(Deed {
            id: &sandbox_receipt(boundary.run_id),
            action,
            capability: "shell.execute",
            status,
            reason,
            summary: "Persistent agent sandbox boundary recorded.",
            metadata: boundary.metadata().done(),
            ..boundary.deed()
        })
    }

    /// One tool call.
    ///
    /// # Errors
    /// `corrupt` for a status that is none.
    pub fn of_tool(boundary: &Boundary<'_>, tool: &ToolDeed<'_>) -> Result<Receipt, ErrorInfo> {
        let mut metadata = boundary.metadata();
        metadata.text("tool_call_id", tool.call_id).text("arguments_sha256", tool.arguments);
        let deed = boundary.deed();
        let mut context = Object::new();
        context.all(deed.context).text("backend_id", "page_tools").text("command_ref", tool.tool);
        let status = if tool.status == UNKNOWN { "failed" } else { tool.status };
        boundary.receipt(Deed {
            id: &["receipt_", boundary.run_id, "_tool_", tool.call_id].concat(),
            // The kind's name is a part of what is hashed. There is no sandbox.
            action: if tool.status == "denied" { "denial" } else { "sandbox_action" },
            capability: tool.capability.unwrap_or("tool.execute"),
            status,
            reason: "The model has called a tool that has effects.",
            summary: &["Tool call ", tool.status, ": ", tool.tool, "."].concat(),
            metadata: metadata.done(),
            context: context.done(),
            ..boundary.deed()
        })
    }

    /// What it tells besides.
    pub(super) fn metadata(&self) -> Option<&Map<String, Value>> {
        self.0.get("result")?.get("metadata")?.as_object()
    }

    /// The same behind another receipt.
    ///
    /// # Errors
    /// None for a receipt that is one.
    pub fn after(&self, previous: Option<&str>) -> Result<Receipt, ErrorInfo> {
        let mut receipt = Object::new();
        receipt.all(self.json()).value("previous_receipt_hash", previous.into()).text("self_hash", "");
        Receipt::read(&receipt.done())
    }
}

impl<'a> Boundary<'a> {
    fn metadata(&self) -> Object {
        let mut metadata = Object::new();
        metadata.text("run_id", self.run_id).value("handoff_id", self.handoff_id.into());
        metadata
    }

    /// What the deeds of a run have in common.
    fn deed(&self) -> Deed<'a> {
        let mut context = Object::new();
        context.value("policy_envelope_id", self.session.text("policy_envelope_id").into());
        context.text("agent_session_id", self.session.id());
        context.value("provider_id", self.session.text("provider_id").into());
        context.value("receipt_ids", self.receipt_ids.into());
        Deed {
            id: "",
            task_id: self.task_id,
            actor: "",
            action: "",
            capability: "",
            status: "",
            reason: "",
            summary: "",
            context: context.done(),
            metadata: Value::Null,
            operator: self.operator,
            at: self.at,
            previous: self.previous,
            known: self.known,
        }
    }

    fn receipt(&self, deed: Deed<'_>) -> Result<Receipt, ErrorInfo> {
        Receipt::of(&Deed { actor: &["agent:", self.session.id()].concat(), ..deed })
    }
}

/// The id of the receipt for a run's provider.
pub(super) fn provider_receipt(run: &str) -> String {
    ["receipt_", run, "_agent_provider_environment"].concat()
}

/// The id of the receipt for what a run might use.
pub(super) fn sandbox_receipt(run: &str) -> String {
    ["receipt_", run, "_agent_sandbox_environment"].concat()
}

/// Works out a receipt's hash, or checks the one that it has.
pub(super) fn hashed(receipt: &mut Members) -> Result<(), String> {
    let expected = sha256(&[&without(&Value::Object(receipt.clone()), "self_hash")]);
    match receipt.get("self_hash").and_then(Value::as_str) {
        Some(given) if !given.is_empty() && given != expected => {
            Err("capability receipt hash did not match payload".into())
        }
        _ => {
            receipt.insert("self_hash".into(), expected.into());
            Ok(())
        }
    }
}

/// Whether a receipt is the first, or stands behind one of those that have come. `known`: the hashes of these; its own is
/// added.
///
/// # Errors
/// `corrupt`
pub fn check_chain(known: &mut Named<()>, receipt: &Receipt) -> Result<(), ErrorInfo> {
    let behind = receipt.text("previous_receipt_hash");
    if !behind.map_or(known.is_empty(), |previous| known.contains_key(previous)) {
        return Err(ErrorInfo::new(Code::Corrupt, "stored capability receipt chain is broken")
            .hint("receipts were changed or taken away since they were written"));
    }
    known.insert(receipt.text("self_hash").unwrap_or_default(), ());
    Ok(())
}
