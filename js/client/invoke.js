// Commands by name: the seam that an app shell, a test bridge or a log of prose scenarios calls.
//
// Promises: a command never runs with arguments that it does not know or that are of the wrong type. Leaves to others:
// which workspace is meant (`package.js`), what a command does (`workspace.js`), and which there are (`protocol/commands.js`).

import { INVOKED } from "../protocol/commands.js";
import { failure, nearest } from "../protocol/error.js";
import { Run } from "./run.js";

/** What `invoke` says without a workspace; the words are fixed. */
export const noWorkspace = () => failure("no_workspace", "Agent manager not initialized for current workspace", "Open one first: initialize_workspace {name}, or openWorkspace(name).");

/** The method behind a command, its arguments with their types, and which of them are options. */
function call(command) {
  const [, group, method, list] = INVOKED[command].match(/^(?:(\w+)\.)?(\w*)\((.*)\)$/);
  const options = list.indexOf("{");
  const members = [...list.matchAll(/(\w+)(\?)?(?::(\w+))?/g)].map(({ index, 1: name, 2: optional, 3: type = "string" }) => ({ name, optional, type, option: options >= 0 && index > options }));
  return { group, method, members, all: list === "*", options };
}

/** The arguments of a command, checked. */
export function commandArguments(command, args = {}) {
  if (!Object.hasOwn(INVOKED, command)) {
    throw failure("unknown_command", `There is no command "${command}".`, `There are: ${Object.keys(INVOKED).join(", ")}.`);
  }
  if (args === null || typeof args !== "object" || Array.isArray(args)) {
    throw failure("invalid_arguments", `${command}: the arguments must be an object.`);
  }
  const { members, all } = call(command);
  if (all) return args;
  const known = members.map(({ name }) => name);
  for (const name of Object.keys(args)) {
    if (!known.includes(name)) throw failure("invalid_arguments", `${command}: unknown '${name}' argument.`, `${nearest(name, known)}It takes: ${known.join(", ") || "nothing"}.`);
  }
  for (const { name, optional, type } of members) {
    const value = args[name];
    if (value === undefined && optional) continue;
    if (value === undefined) throw failure("invalid_arguments", `${command}: missing '${name}' argument.`);
    if (typeof value !== type || value === null || Array.isArray(value)) {
      throw failure("invalid_arguments", `${command}: '${name}' must be ${type === "object" ? "an object" : `a ${type}`}.`);
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
  const { group, method, members, all, options } = call(command);
  if (!method) {
    if (checked.name === workspace.name) return;
    throw failure("invalid_arguments", `${command}: this is the workspace "${workspace.name}".`, "Another one is opened by the package's invoke, or by openWorkspace.");
  }
  const on = group ? workspace[group] : workspace;
  if (!on[method]) return request(method);
  // The words of the shell that has these commands: a start of what runs already is refused.
  const whole = command === "start_agent" ? { ifRunning: "reject", ...checked } : checked;
  const given = (option) => members.filter((member) => member.option === option).map(({ name }) => [name, checked[name]]);
  const values = all ? [whole] : given(false).map(([, value]) => value);
  const value = await on[method](...values, ...(options < 0 ? [] : [Object.fromEntries(given(true))]));
  if (!(value instanceof Run)) return value;
  const { runId, status, acceptedAt } = value;
  return { runId, status, acceptedAt };
}
