// Written from the shapes in `src/session/record/tables.rs`: `LODGER_WRITE=1 cargo test --package lodger --lib written`.

/** `craik.agent_session_event`: something that has happened to a session. */
export interface EventRecord {
  schema: "craik.agent_session_event";
  version: "0.1.0";
  id: string;
  session_id: string;
  event_type: string;
  operator_subject: string;
  operator_issuer: string | null;
  project_id: string | null;
  provider_id: string | null;
  model_id: string | null;
  policy_envelope_id: string | null;
  task_id: string | null;
  run_id: string | null;
  handoff_id: string | null;
  receipt_ids: string[];
  recovery_metadata: Record<string, unknown>;
  metadata: Record<string, unknown>;
  created_at: string;
  redacted: boolean;
  receipt_hmac: string | null;
}

/** `craik.capability_receipt`: something that was done, tied to the one before it. */
export interface ReceiptRecord {
  schema: "craik.capability_receipt";
  version: "0.1.0";
  id: string;
  task_id: string;
  actor: string;
  capability: string;
  target: string;
  policy_profile: "strict" | "trusted-local" | "automation" | "custom";
  fail_open: boolean;
  reason: string;
  result: {
    status: "passed" | "failed" | "blocked" | "denied" | "skipped";
    summary: string;
    metadata: Record<string, unknown>;
  };
  redacted: boolean;
  auth_profile_id: string | null;
  auth_kind: string | null;
  auth_identity_hash: string | null;
  operator_subject: string | null;
  operator_issuer: string | null;
  operator_email: string | null;
  operator_groups: string[];
  previous_receipt_hash: string | null;
  self_hash: string;
  created_at: string;
}

/** `craik.handoff`: what a run has left for the next run. */
export interface HandoffRecord {
  schema: "craik.handoff";
  version: "0.1.0";
  id: string;
  task_id: string;
  project_id: string;
  intent_lock_id: string | null;
  agent: string;
  status: "completed" | "incomplete" | "blocked" | "failed";
  summary: string;
  self_audit: {
    schema_validated: boolean;
    redaction_reviewed: boolean;
    receipts_reviewed: boolean;
    assumptions_reviewed: boolean;
    validation_recorded: boolean;
    policy_exceptions_disclosed: boolean;
    notes: string[];
  };
  completed_actions: string[];
  files_changed: string[];
  artifacts: string[];
  commands_run: string[];
  tests_run: string[];
  assumptions: string[];
  context_debt: string[];
  policy_exceptions: string[];
  facts_learned: string[];
  facts_invalidated: string[];
  contradictions_opened: string[];
  adjudication_ids: string[];
  unresolved_disagreements: string[];
  open_human_delegation_ids: string[];
  scope_change_request_ids: string[];
  scope_change_result_ids: string[];
  risks: string[];
  next_steps: string[];
  receipt_ids: string[];
  memory_proposal_ids: string[];
  runner_metadata: Record<string, unknown>[];
  auth_profile_id: string | null;
  auth_identity_hash: string | null;
  operator_subject: string | null;
  operator_issuer: string | null;
  created_at: string;
}

/** `craik.task_run`: one run of a task; `iteration` counts its model calls. */
export interface TaskRunRecord {
  schema: "craik.task_run";
  version: "0.1.0";
  id: string;
  task_id: string;
  case_file_id: string;
  policy_envelope_id: string;
  intent_lock_id: string | null;
  runner_id: string;
  runner_mode: "fixture" | "prompt-handoff" | "live";
  status: "pending" | "running" | "completed" | "blocked" | "failed" | "interrupted";
  phase: "plan" | "act" | "observe" | "evaluate" | "continue" | "stop";
  iteration: number;
  max_iterations: number;
  wall_clock_budget_seconds: number | null;
  provider_token_budget: number | null;
  provider_tokens_used: number;
  provider_token_budget_remaining: number | null;
  started_at: string;
  phase_started_at: string;
  updated_at: string;
  ended_at: string | null;
  stop_reason: string | null;
  receipt_ids: string[];
  handoff_id: string | null;
  runner_metadata: Record<string, unknown>[];
  completed_step_keys: string[];
  last_step_key: string | null;
  auth_profile_id: string | null;
  auth_identity_hash: string | null;
  operator_subject: string | null;
  operator_issuer: string | null;
  source_handoff_id: string | null;
  source_task_id: string | null;
  source_run_id: string | null;
  role_id: string | null;
  role_kind: string | null;
}

/** `craik.run_output`: what a run has brought about, without the words of the conversation. */
export interface RunOutput {
  schema: "craik.run_output";
  version: "0.1.0";
  id: string;
  run_id: string;
  step_result_id: string;
  task_id: string;
  phase: "plan" | "act" | "observe" | "evaluate" | "continue" | "stop";
  summary: string;
  observed_output: Record<string, unknown>;
  diagnostics: string[];
  receipt_ids: string[];
  memory_proposal_ids: string[];
  artifacts: string[];
  redacted: boolean;
  created_at: string;
}

/** In short, as a journal has it: the event that a prompt has come. */
export interface ShortPrompt {
  session: string;
  operator: string;
  issuer?: string;
  project?: string;
  provider: string;
  model?: string;
  policy?: string;
  profile?: string;
  identity?: string;
  at: number;
  task?: string;
  tail?: string;
  hash?: string;
  v?: number;
}

/** In short, as a journal has it: what the end of a run leaves: its receipts, its run, its handoff and an event. */
export interface ShortEnd {
  session: string;
  operator: string;
  issuer?: string;
  project?: string;
  provider: string;
  model?: string;
  policy?: string;
  profile?: string;
  identity?: string;
  at: number;
  task?: string;
  tail?: string;
  started: number;
  told?: number;
  status?: "failed" | "interrupted";
  interrupted?: string;
  code?: string;
  detail?: string;
  turns: number;
  limit: number;
  answers: number;
  tokens: number;
  granted?: boolean;
  v?: number;
  on?: string;
  receipts?: string[];
  left?: {
    auth_profile_id?: string;
    auth_identity_hash?: string;
    operator_subject?: string;
    operator_issuer?: string;
  };
  previous?: string;
  self: string;
}
