//! What a run was, and what it leaves: task, run, outputs, handoff.

use super::{Handoff, Receipt, Record, RunOutput, TaskRun, merged, task_part_id};
use crate::error::{Code, ErrorInfo};
use crate::journal::redact;
use crate::list::Listed;
use crate::object::Object;
use crate::ports::Millis;
use crate::session::dates;
use serde_json::Value;

/// Who has asked, and with which credentials.
pub(super) const IDENTITY: [&str; 4] =
    ["auth_profile_id", "auth_identity_hash", "operator_subject", "operator_issuer"];

/// How a run has ended.
#[derive(Debug)]
pub struct End<'a> {
    /// `completed`, `blocked`, `failed` or `interrupted`.
    pub status: &'a str,
    /// How often the model was called.
    pub iteration: u64,
    /// Why it stopped where it did not complete.
    pub stop_reason: Option<&'a str>,
    /// The tokens that it took.
    pub tokens: u64,
    /// Its receipts.
    pub receipt_ids: &'a [String],
    /// When.
    pub at: Millis,
    /// Keys that the page has.
    pub known: &'a [String],
}

impl TaskRun {
    /// A run of a session's task that begins.
    ///
    /// # Errors
    /// None for a limit above zero.
    pub fn begun(
        session: &Record,
        id: &str,
        task_id: &str,
        max_iterations: u64,
        at: Millis,
    ) -> Result<TaskRun, ErrorInfo> {
        let mut run = Object::new();
        run.text("id", id).text("task_id", task_id).text("runner_mode", "live").text("status", "running");
        run.text("case_file_id", &task_part_id("case", task_id)).number("max_iterations", max_iterations);
        let policy = session.text("policy_envelope_id");
        run.value(
            "policy_envelope_id",
            policy.map_or_else(|| task_part_id("policy", task_id), Into::into).into(),
        );
        run.value("runner_id", session.text("provider_id").into());
        for name in IDENTITY {
            run.value(name, session.text(name).into());
        }
        for name in ["started_at", "phase_started_at", "updated_at"] {
            run.text(name, &dates::utc(at));
        }
        TaskRun::read(&run.done())
    }

    /// The same once it is over.
    ///
    /// # Errors
    /// `invalid_transition`: it is already. `corrupt`: the status is none.
    pub fn ended(&self, end: &End<'_>) -> Result<TaskRun, ErrorInfo> {
        if !matches!(self.text("status"), Some("pending" | "running")) {
            let message = ["task run is already terminal: ", self.id()].concat();
            return Err(ErrorInfo::new(Code::InvalidTransition, message));
        }
        let begun = self.text("started_at").and_then(dates::parse).unwrap_or_default();
        let at = dates::utc(end.at.max(begun));
        let mut run = Object::new();
        run.all(self.json())
            .text("status", end.status)
            .text("phase", "stop")
            .number("iteration", end.iteration);
        let reason = end.stop_reason.map(|reason| redact::cleaned(reason, end.known));
        run.number("provider_tokens_used", end.tokens).value("stop_reason", reason.into());
        run.value("receipt_ids", end.receipt_ids.into());
        for name in ["phase_started_at", "updated_at", "ended_at"] {
            run.text(name, &at);
        }
        TaskRun::read(&run.done())
    }

    /// The same with its handoff.
    ///
    /// # Errors
    /// None for a run that is one.
    pub fn handed_off(&self, handoff: &Handoff) -> Result<TaskRun, ErrorInfo> {
        let mut run = Object::new();
        run.all(self.json()).text("handoff_id", handoff.id());
        for name in IDENTITY {
            run.value(name, handoff.text(name).into());
        }
        TaskRun::read(&run.done())
    }
}

impl RunOutput {
    /// What a run has brought about: `observed` says it as an object, without what was said in the conversation.
    ///
    /// # Errors
    /// `corrupt`, where `observed` is no object.
    pub fn of(run: &TaskRun, summary: &str, observed: Value, at: Millis) -> Result<RunOutput, ErrorInfo> {
        let part = run.id().strip_prefix("run_").unwrap_or(run.id());
        let mut output = Object::new();
        output.text("id", &["runout_", part].concat()).text("run_id", run.id()).text("phase", "evaluate");
        output.text("step_result_id", &["runner_step_result_", part].concat());
        output.value("task_id", run.text("task_id").into()).text("summary", summary);
        output.value("observed_output", observed).value("receipt_ids", run.texts("receipt_ids").into());
        RunOutput::read(&output.text("created_at", &dates::utc(at)).done())
    }
}

/// What a handoff is made of.
#[derive(Debug)]
pub struct Draft<'a> {
    /// Members of the handoff as they are to be: `task_id`, `project_id`, `agent`, `summary`, and any but `id`,
    /// `self_audit`, `receipt_ids` and `created_at`.
    pub members: Value,
    /// The receipts of the task.
    pub receipts: &'a [Receipt],
    /// For the self-audit.
    pub notes: &'a [String],
    /// Whether assumptions were written down, be there none.
    pub assumptions_reviewed: bool,
    /// When.
    pub at: Millis,
    /// Keys that the page has.
    pub known: &'a [String],
}

/// Members that hold what people and models said: they are redacted.
const SAID: [&str; 5] = ["summary", "completed_actions", "commands_run", "risks", "next_steps"];

impl Handoff {
    /// A handoff. What people and models said in it is redacted; who was there and what has run it is taken from the
    /// receipts where the draft does not say.
    ///
    /// # Errors
    /// `corrupt` for a draft that does not have the shape.
    pub fn write(draft: &Draft<'_>) -> Result<Handoff, ErrorInfo> {
        let mut members = draft.members.as_object().cloned().unwrap_or_default();
        for name in SAID {
            if let Some(said) = members.get_mut(name) {
                *said = redact::value(said, draft.known).0;
            }
        }
        for name in IDENTITY {
            if members.get(name).is_none_or(Value::is_null) {
                members.insert(name.into(), single(draft.receipts, name).into());
            }
        }
        if !members.contains_key("runner_metadata") {
            members.insert("runner_metadata".into(), runners(draft));
        }
        let tested =
            members.get("tests_run").and_then(Value::as_array).is_some_and(|tests| !tests.is_empty());
        let notes = draft.notes.iter().map(|note| redact::cleaned(note, draft.known)).list();
        let audit = Object::new()
            .flag("schema_validated", true)
            .flag("redaction_reviewed", true)
            .flag("receipts_reviewed", !draft.receipts.is_empty())
            .flag("assumptions_reviewed", draft.assumptions_reviewed)
            .flag("validation_recorded", tested)
            .flag("policy_exceptions_disclosed", true)
            .value("notes", notes.into())
            .done();
        let task = members.get("task_id").and_then(Value::as_str).unwrap_or_default();
        let id = task_part_id("handoff", task);
        let mut handoff = Object::new();
        handoff.all(members.into()).text("id", &id).value("self_audit", audit);
        handoff.value("receipt_ids", draft.receipts.iter().map(Receipt::id).array());
        Handoff::read(&handoff.text("created_at", &dates::utc(draft.at)).done())
    }

    /// The handoff of a run that is over, complete or not. `members`: what there is to say besides (`commands_run`,
    /// `tests_run`, `files_changed`, …).
    ///
    /// # Errors
    /// `corrupt`, for members that do not have the shape.
    pub fn of_run(
        run: &TaskRun,
        outputs: &[RunOutput],
        project: &str,
        draft: &Draft<'_>,
    ) -> Result<Handoff, ErrorInfo> {
        let status = run.text("status").unwrap_or_default();
        let (status_of, next_step) = match status {
            "completed" => ("completed", "Review receipts, memory proposals, and merged handoff state."),
            "blocked" => ("blocked", "Resolve the blocking approval, context, or intent-lock condition."),
            "failed" => ("failed", "Inspect diagnostics and decide whether recovery is appropriate."),
            "interrupted" => ("incomplete", "Inspect run state and recover from the last safe boundary."),
            _ => ("incomplete", "Inspect run state before continuing."),
        };
        let phase = run.text("phase").unwrap_or_default();
        let iteration = run.0.get("iteration").and_then(Value::as_u64).unwrap_or_default().to_string();
        let stopped = run.text("stop_reason").map(|reason| [" Stop reason: ", reason].concat());
        let summary = [
            "Run ",
            run.id(),
            " ended with status ",
            status,
            " at phase ",
            phase,
            " after ",
            &iteration,
            " iteration(s). Captured ",
            &outputs.len().to_string(),
            " output(s).",
            stopped.as_deref().unwrap_or_default(),
        ];
        let mut actions = vec![
            ["Recorded run ", run.id(), " with status ", status, "."].concat(),
            ["Last phase: ", phase, "."].concat(),
        ];
        let (mut ids, mut proposals, mut diagnostics) = (Vec::new(), Vec::new(), Vec::new());
        for output in outputs {
            let summary = output.text("summary").unwrap_or_default();
            actions.push(["Captured output ", output.id(), ": ", summary].concat());
            ids.push(output.id().into());
            proposals.append(&mut output.texts("memory_proposal_ids"));
            diagnostics.append(&mut output.texts("diagnostics"));
        }
        let mut risks = Vec::new();
        if !matches!(status, "completed" | "pending" | "running") {
            let as_status = || ["Run ended as ", status, "."].concat();
            risks.push(run.text("stop_reason").map_or_else(as_status, Into::into));
        }
        risks.extend(diagnostics.iter().cloned());
        let mut members = Object::new();
        members.value("task_id", run.text("task_id").into()).text("project_id", project);
        let runner = run.text("runner_id").unwrap_or_default();
        members.text("agent", &["runner:", runner].concat()).text("status", status_of);
        members.text("summary", &summary.concat()).value("completed_actions", actions.into());
        members.value("artifacts", merged(&ids, &[])).value("memory_proposal_ids", merged(&proposals, &[]));
        members.value("risks", risks.into()).value("next_steps", [next_step].as_slice().into());
        let own = Object::new()
            .text("runner_id", runner)
            .value("execution_mode", run.text("runner_mode").into())
            .done();
        let given = run.0.get("runner_metadata").filter(|list| !crate::json::items(list).is_empty());
        members.value("runner_metadata", given.cloned().unwrap_or_else(|| vec![own].into()));
        for name in IDENTITY {
            members.value(name, run.text(name).into());
        }
        let notes = [draft.notes, &diagnostics].concat();
        members.all(draft.members.clone());
        Handoff::write(&Draft { members: members.done(), notes: &notes, ..*draft })
    }
}

/// What all receipts say that say anything; none where they differ.
pub(super) fn single<'a>(receipts: &'a [Receipt], name: &str) -> Option<&'a str> {
    let mut said = receipts.iter().filter_map(|receipt| receipt.text(name)).filter(|text| !text.is_empty());
    let first = said.next()?;
    said.all(|other| other == first).then_some(first)
}

/// What has run the deeds, each once.
fn runners(draft: &Draft<'_>) -> Value {
    let mut runners: Vec<Value> = Vec::new();
    for receipt in draft.receipts {
        let metadata = receipt.metadata().and_then(|metadata| metadata.get("runner_metadata"));
        if let Some(runner) = metadata.filter(|runner| runner.is_object()) {
            let runner = redact::value(runner, draft.known).0;
            let same = |other: &Value| {
                ["runner_id", "adapter", "adapter_version", "execution_mode"]
                    .iter()
                    .all(|name| other.get(name) == runner.get(name))
            };
            if !runners.iter().any(same) {
                runners.push(runner);
            }
        }
    }
    runners.into()
}
