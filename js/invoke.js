// Commands by name: the seam that an app shell, a test bridge or a log of prose scenarios calls.
//
// Promises: a command never runs with arguments that it does not know or that are of the wrong type. Leaves to others:
// which workspace is meant (`package.js`) and what a command does (`client.js`).

import { failure } from "./error.js";

/** What `invoke` says without a workspace; the words are fixed. */
export const noWorkspace = () => failure("no_workspace", "Agent manager not initialized for current workspace", "Open one first: initialize_workspace {name}, or openWorkspace(name).");

export const STOPPED = { lifecycle: "Stopped", is_streaming: false };

// name -> [arguments and their types ("?": may be absent; null: checked by the method), what to do]
const COMMANDS = {
  initialize_workspace: [{ name: "string" }, (workspace, { name }) => {
    if (name !== workspace.name) {
      throw failure("invalid_arguments", `initialize_workspace: this is the workspace "${workspace.name}".`, "Another one is opened by the package's invoke, or by openWorkspace.");
    }
  }],
  start_agent: [null, (workspace, config) => workspace.startAgent(config)],
  stop_agent: [{}, (workspace) => workspace.stopAgent()],
  send_agent_message: [{ message: "string" }, async (workspace, { message }) => {
    const { runId, status, acceptedAt } = await workspace.sendMessage(message);
    return { runId, status, acceptedAt };
  }],
  interrupt_agent: [{}, (workspace) => workspace.interrupt()],
  get_agent_status: [{}, (workspace) => workspace.status()],
  clear_conversation: [{}, (workspace) => workspace.clearConversation()],
  get_conversation_history: [{}, (workspace) => workspace.history()],
  get_agent_settings: [{}, (workspace, args, command) => command("settings")],
  execute_tool: [{ tool: "string", arguments: "object?" }, (workspace, args) => workspace.tools.execute(args.tool, args.arguments)],
  respond_permission_request: [{ requestId: "string", answer: "string", reason: "string?" }, (workspace, { requestId, answer, reason }) => workspace.resolvePermission(requestId, answer, { reason })],
  list_tools: [{}, (workspace) => workspace.tools.definitions()],
  "agent.wait": [{ runId: "string", timeoutMs: "number?" }, (workspace, { runId, timeoutMs }) => workspace.wait(runId, { timeoutMs })],
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
