// Commands by name: the seam that an app shell, a test bridge or a log of prose scenarios calls.
//
// Promises: a command never runs with arguments that it does not know or that are of the wrong type. Leaves to others:
// which workspace is meant (`package.js`) and what a command does (`client.js`).

import { failure } from "./error.js";

/** What `invoke` says without a workspace; the words are fixed. */
export const noWorkspace = () => failure("no_workspace", "Agent manager not initialized for current workspace", "Open one first: initialize_workspace {name}, or openWorkspace(name).");

export const STOPPED = { lifecycle: "Stopped", is_streaming: false };

const accepted = ({ runId, status, acceptedAt }) => ({ runId, status, acceptedAt });

// name -> [arguments and their types ("?": may be absent; null: checked by the method), what to do]
const COMMANDS = {
  initialize_workspace: [{ name: "string" }, (workspace, { name }) => {
    if (name !== workspace.name) {
      throw failure("invalid_arguments", `initialize_workspace: this is the workspace "${workspace.name}".`, "Another one is opened by the package's invoke, or by openWorkspace.");
    }
  }],
  start_agent: [null, (workspace, config) => workspace.startAgent(config)],
  stop_agent: [{}, (workspace) => workspace.stopAgent()],
  send_agent_message: [{ message: "string", replaces: "string?" }, async (workspace, { message, ...options }) => accepted(await workspace.sendMessage(message, options))],
  regenerate_agent_message: [{ messageId: "string?" }, async (workspace, { messageId }) => accepted(await workspace.regenerate(messageId))],
  interrupt_agent: [{}, (workspace) => workspace.interrupt()],
  get_agent_status: [{}, (workspace) => workspace.status()],
  clear_conversation: [{}, (workspace) => workspace.clearConversation()],
  get_conversation_history: [{ version: "string?" }, (workspace, options) => workspace.history(options)],
  get_agent_settings: [{}, (workspace, args, command) => command("settings")],
  execute_tool: [{ tool: "string", arguments: "object?" }, (workspace, args) => workspace.tools.execute(args.tool, args.arguments)],
  respond_permission_request: [{ requestId: "string", answer: "string", reason: "string?" }, (workspace, { requestId, answer, reason }) => workspace.resolvePermission(requestId, answer, { reason })],
  list_tools: [{}, (workspace) => workspace.tools.definitions()],
  session_launch: [null, (workspace, options) => workspace.sessions.launch(options)],
  session_prompt: [{ id: "string", prompt: "string" }, (workspace, { id, prompt }) => workspace.sessions.prompt(id, prompt)],
  session_status: [{ id: "string" }, (workspace, { id }) => workspace.sessions.status(id)],
  session_stop: [{ id: "string", reason: "string?" }, (workspace, { id, reason }) => workspace.sessions.stop(id, reason)],
  session_restart: [{ id: "string", reason: "string?" }, (workspace, { id, reason }) => workspace.sessions.restart(id, reason)],
  session_recover: [{ id: "string", action: "string?", reason: "string?", detail: "string?" }, (workspace, { id, ...options }) => workspace.sessions.recover(id, options)],
  session_bench: [{ target: "string" }, (workspace, { target }) => workspace.sessions.bench(target)],
  session_play: [{ target: "string" }, (workspace, { target }) => workspace.sessions.play(target)],
  session_list: [{}, (workspace) => workspace.sessions.list()],
  session_rename: [{ id: "string", displayName: "string" }, (workspace, { id, displayName }) => workspace.sessions.rename(id, displayName)],
  session_remove: [{ id: "string" }, (workspace, { id }) => workspace.sessions.remove(id)],
  session_undo_remove: [{ id: "string" }, (workspace, { id }) => workspace.sessions.undoRemove(id)],
  session_task: [{ id: "string" }, (workspace, { id }) => workspace.sessions.task(id)],
  run_once: [{ objective: "string" }, (workspace, { objective }) => workspace.sessions.runOnce(objective)],
  session_export: [{ id: "string", format: "string?" }, (workspace, { id, ...options }) => workspace.sessions.export(id, options)],
  session_import: [{ file: "object" }, (workspace, { file }) => workspace.sessions.import(file)],
  session_replay: [{ file: "object" }, (workspace, { file }) => workspace.sessions.replay(file)],
  session_fork: [{ id: "string", at: "number?", provider: "string?" }, (workspace, { id, ...options }) => workspace.sessions.fork(id, options)],
  "agent.wait": [{ runId: "string", timeoutMs: "number?", errorGraceMs: "number?" }, (workspace, { runId, ...options }) => workspace.wait(runId, options)],
};

/** The arguments of a command, checked. */
export function commandArguments(command, args = {}) {
  if (!Object.hasOwn(COMMANDS, command)) {
    throw failure("unknown_command", `There is no command "${command}".`, `There are: ${Object.keys(COMMANDS).join(", ")}.`);
  }
  if (args === null || typeof args !== "object" || Array.isArray(args)) {
    throw failure("invalid_arguments", `${command}: the arguments must be an object.`);
  }
  const [types] = COMMANDS[command];
  if (!types) return args;
  for (const name of Object.keys(args)) {
    if (!Object.hasOwn(types, name)) throw failure("invalid_arguments", `${command}: unknown '${name}' argument.`);
  }
  for (const [name, type] of Object.entries(types)) {
    const value = args[name];
    if (value === undefined && type.endsWith("?")) continue;
    if (value === undefined) throw failure("invalid_arguments", `${command}: missing '${name}' argument.`);
    const wanted = type.replace("?", "");
    if (typeof value !== wanted || value === null || Array.isArray(value)) {
      throw failure("invalid_arguments", `${command}: '${name}' must be ${wanted === "object" ? "an object" : `a ${wanted}`}.`);
    }
  }
  return args;
}

/**
 * Runs a command on a workspace.
 * @param {(name: string) => Promise<unknown>} request sends a command of the protocol that no method stands for
 */
export async function invokeOn(workspace, command, args, request) {
  const checked = commandArguments(command, args);
  return COMMANDS[command][1](workspace, checked, request);
}
