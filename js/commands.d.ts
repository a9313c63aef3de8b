// The commands of `invoke`.
//
// Written from `src/protocol/table.rs`: change that, then `LODGER_WRITE=1 cargo test --test host protocol`.

import type { AgentConfig, AgentSettings, HmacStatus, Message, Overrides, PermissionAnswer, Replay, SessionState, Sessions, Status, TaskDone, TaskRun, ToolDefinition, ToolResult, Verified, WaitResult } from "./index.js";

/** The commands of `invoke`, their arguments and what they resolve to. */
export interface Commands {
  /** Opens the workspace and makes it the one that `invoke` acts on; lets go of the one it opened before. */
  initialize_workspace: { args: { name: string }; value: void };
  get_agent_status: { args: {}; value: Status };
  list_tools: { args: {}; value: ToolDefinition[] };
  start_agent: { args: AgentConfig; value: void };
  stop_agent: { args: {}; value: void };
  /** Resolves once the message is accepted; the answer comes by events. */
  send_agent_message: { args: { message: string; replaces?: string }; value: { runId: string; status: "accepted"; acceptedAt: number } };
  regenerate_agent_message: { args: { messageId?: string }; value: { runId: string; status: "accepted"; acceptedAt: number } };
  compact_conversation: { args: { instructions?: string }; value: { runId: string; status: "accepted"; acceptedAt: number } };
  switch_to: { args: { messageId: string }; value: void };
  remove_message: { args: { messageId: string }; value: void };
  interrupt_agent: { args: {}; value: void };
  get_conversation_history: { args: { version?: string }; value: Message[] };
  clear_conversation: { args: {}; value: void };
  "agent.wait": { args: { runId: string; timeoutMs?: number; errorGraceMs?: number }; value: WaitResult };
  /** Answers a question, like `resolvePermission`. */
  respond_permission_request: { args: { requestId: string; answer: PermissionAnswer; reason?: string; pageVersion?: number }; value: void };
  execute_tool: { args: { tool: string; arguments?: object }; value: ToolResult };
  session_launch: { args: NonNullable<Parameters<Sessions["launch"]>[0]>; value: SessionState };
  session_prompt: { args: { id: string; prompt: string }; value: { runId: string | null } };
  session_status: { args: { id: string }; value: { session: SessionState; hmac_status: HmacStatus } };
  session_stop: { args: { id: string; reason?: string }; value: SessionState };
  session_restart: { args: { id: string; reason?: string }; value: SessionState };
  session_recover: { args: { id: string; action?: string; reason?: string; detail?: string }; value: SessionState };
  session_bench: { args: { target: string }; value: { suspended: string[] } };
  session_play: { args: { target: string }; value: SessionState[] };
  session_list: { args: {}; value: SessionState[] };
  session_rename: { args: { id: string; displayName: string }; value: SessionState };
  session_configure: { args: { id: string; config: Overrides }; value: SessionState };
  session_remove: { args: { id: string }; value: void };
  session_undo_remove: { args: { id: string }; value: SessionState };
  session_archive: { args: { id: string }; value: SessionState };
  session_task: { args: { id: string }; value: TaskRun };
  run_once: { args: { objective: string }; value: TaskDone };
  session_export: { args: { id: string; format?: "journal" | "markdown" | "json" | "html" }; value: Blob };
  session_import: { args: { file: Blob }; value: SessionState };
  session_replay: { args: { file: Blob }; value: Replay };
  session_fork: { args: { id: string; at?: number; provider?: string }; value: SessionState };
  session_salvage: { args: { id: string; replace?: boolean }; value: SessionState };
  session_verify: { args: { id: string }; value: Verified };
  get_agent_settings: { args: {}; value: AgentSettings };
}
