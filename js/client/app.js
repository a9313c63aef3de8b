// The client as an app in Rust has it, whose module is there already.
//
// Decides how what Rust gives becomes what the client takes, and back: plain data crosses as JSON, functions as functions.
// Promises: a closure of Rust is a function like any other, and is told when its call is given up. Leaves to others: all that
// the client decides.

import { createScope, dispose, pageTitle } from "../host/env.js";
import { LodgerError } from "../protocol/error.js";
import { inThread } from "../tabs/channel.js";
import { createWorkspaces } from "./workspaces.js";

/**
 * The functions that open and delete workspaces, with hosts in the app's own module.
 *
 * @param {(name: string, options: object, deliver: (message: object) => void) => Promise<{ receive(message: object): void, free(): void }>} open
 * @param {(name: string, storage: string) => Promise<void>} remove
 */
export function createApp(open, remove) {
  const connect = (name, { storage, durability, pageTools, limits, onStorageLost, title = pageTitle() }) => async (deliver) => {
    const scope = createScope({ title });
    let here = true;
    const end = () => {
      here = false;
      dispose(scope);
    };
    const openHost = (guarded) => open(name, { storage, durability, onStorageLost, pageTools, ...limits, scope }, guarded);
    try {
      const channel = await inThread(scope, name, storage, openHost, (message) => here && deliver(message));
      const close = () => {
        channel.close();
        end();
      };
      return { send: channel.send, close };
    } catch (error) {
      end();
      throw error instanceof LodgerError || !error?.code ? error : new LodgerError(error);
    }
  };
  return createWorkspaces({ page: connect }, remove);
}

/**
 * Calls a method by its path. In the arguments, as JSON, `{ "$fn": n }` stands for these functions, where there are any. `values`: what
 * JSON cannot hold, each with its place: `["0.files", files]` is a member of the first argument.
 */
export function call(target, path, json, functions, values) {
  const args = JSON.parse(json, functions.length ? (_, value) => (value?.$fn === undefined ? value : functions[value.$fn]) : undefined);
  for (const [place, value] of values) {
    const [argument, member] = place.split(".");
    if (member) (args[argument] ??= {})[member] = value;
    else args[argument] = value;
  }
  const names = path.split(".");
  const method = names.pop();
  return names.reduce((object, name) => object[name], target)[method](...args);
}

/** What a closure of Rust gives: JSON, or nothing; files of a tool beside it. */
async function read(answer) {
  const [json, files] = await answer;
  const value = json === undefined ? undefined : JSON.parse(json);
  if (!files?.length) return value;
  return value === undefined && files.length === 1 ? files[0] : { result: value, files };
}

/** A function of each kind, of a closure `begin(json, signal, tell)` that gives a promise of what `read` takes. */
const KINDS = {
  tool: (begin) => (args, { signal, toolCallId, runId, onProgress }) =>
    read(begin(JSON.stringify({ args, toolCallId, runId }), signal, (json) => onProgress(JSON.parse(json)))),
  ask: (begin) => (input) => read(begin(JSON.stringify(input ?? null))),
  model: (begin) =>
    async function* (request, { signal }) {
      const pieces = [];
      let wake;
      let end;
      const tell = (text, chunk) => {
        pieces.push(chunk === undefined ? text : JSON.parse(chunk));
        wake?.();
      };
      const over = (how) => {
        end = how;
        wake?.();
      };
      begin(JSON.stringify(request), signal, tell).then(() => over({}), (error) => over({ error }));
      for (;;) {
        while (pieces.length) yield pieces.shift();
        if (end && "error" in end) throw end.error;
        if (end) return;
        await new Promise((resolve) => (wake = resolve));
      }
    },
};

export const made = (kind, begin) => KINDS[kind](begin);

/** Tells each event of these names as JSON. Gives the function that ends it. */
export function listen(workspace, names, tell) {
  const heard = ({ type, detail }) => tell(type, JSON.stringify(detail));
  for (const name of names) workspace.addEventListener(name, heard);
  return () => names.forEach((name) => workspace.removeEventListener(name, heard));
}

/** A snapshot as JSON; of its list only what is another object than in the last one, each as `[place, item]`. */
export function changes(last, next, list) {
  const known = last?.[list] ?? [];
  const changed = next[list].flatMap((item, place) => (item === known[place] ? [] : [[place, item]]));
  return JSON.stringify({ ...next, [list]: [], changed, length: next[list].length });
}

export const iterator = (iterable) => iterable[Symbol.asyncIterator]();
