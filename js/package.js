// What the package exports, for whatever loads the wasm: `index.js` in a browser, `node.js` in Node.
//
// Decides how the module is loaded, how long an instance of it counts as alive, and how long a workspace is kept.
// Promises: one instance at a time, loaded when first needed; a failed load can be tried again; when an instance
// panics, all of its hosts end, what they held is freed, and the next call loads a fresh one. Leaves to others: what a
// workspace does (`client.js`).

import { direct } from "./channel.js";
import { operatorOf, revive, shut, Workspace } from "./client.js";
import { createScope, dispose } from "./env.js";
import { failure, LodgerError, onlyKnown } from "./error.js";
import { commandArguments, noWorkspace, STOPPED } from "./invoke.js";

const OPTIONS = ["storage", "pageTools", "target", "operator", "now"];

/** Calls back in a task of its own. Not by a timer: a background tab slows timers, and a test may fake them. */
function inOneTask(callback) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    callback();
  };
  port2.postMessage(null);
}

/**
 * @param {object} glue what wasm-bindgen made, see `lodger_glue.js`
 * @param {() => Promise<unknown> | unknown} locate where the module is, unless the page says
 */
export function createPackage(glue, locate) {
  // ---------------------------------------------------------------- the module

  let instance = null; // { ready: Promise<void>, hosts: Set }
  let stale = false; // the glue still holds an instance that panicked

  async function init(options) {
    await ensure(options);
  }

  async function ensure(options = {}) {
    const made = (instance ??= newInstance(options));
    await made.ready;
    return made;
  }

  function newInstance(options) {
    const made = { hosts: new Set(), ready: null };
    made.ready = (async () => {
      onlyKnown(options, ["module_or_path"], "init's options", "invalid_arguments");
      await null; // never on the stack of a module that just panicked
      if (stale) glue.reset();
      stale = false;
      await loadWasm(options.module_or_path ?? locate());
    })();
    made.ready.catch(() => {
      if (instance === made) instance = null;
    });
    return made;
  }

  async function loadWasm(source) {
    let module;
    try {
      module = await (typeof source === "string" || source instanceof URL ? fetch(source) : source);
    } catch (error) {
      throw unavailable(`it could not be fetched (${error.message})`, true);
    }
    if (typeof Response === "function" && module instanceof Response) {
      if (!module.ok) throw unavailable(`${module.url || "its address"} answered ${module.status}`, true);
      if (/^text\/html/i.test(module.headers.get("content-type") ?? "")) throw arrivedAsHtml(module.url);
    }
    try {
      await glue.default({ module_or_path: module });
    } catch (error) {
      if (error instanceof LodgerError) throw error;
      const message = String(error?.message ?? error);
      // "<!do" where a module begins with "\0asm".
      if (/magic (word|number|header)/i.test(message)) throw arrivedAsHtml(module?.url);
      if (/content security policy|unsafe-eval|disallowed by embedder/i.test(message)) {
        throw unavailable("the page's Content Security Policy does not allow it", false, "Add 'wasm-unsafe-eval' to script-src.");
      }
      throw unavailable(message, false);
    }
  }

  /** The instance panicked: nothing in it is called again. */
  function condemn(dead, error) {
    if (instance === dead) {
      instance = null;
      stale = true;
    }
    const hosts = [...dead.hosts];
    dead.hosts.clear();
    for (const host of hosts) host.deliver({ t: "closed", error });
    // What this sets free may still call back into the module, which is better done when its stack is gone.
    Promise.resolve().then(() => hosts.forEach((host) => dispose(host.scope)));
  }

  /** A channel to a new host in the current instance. */
  function connect(name, { storage, pageTools, now }) {
    return async (deliver) => {
      const home = await ensure();
      const host = { scope: createScope({ now }), deliver };
      home.hosts.add(host);
      const told = (message) => {
        if (!home.hosts.has(host)) return;
        if (message.t === "closed" && message.error?.code === "panicked") return condemn(home, message.error);
        deliver(message);
      };
      const options = { storage, pageTools, scope: host.scope };
      const end = () => {
        home.hosts.delete(host);
        dispose(host.scope);
      };
      try {
        const channel = await direct((guarded) => glue.open_host(name, options, guarded), told);
        return {
          send: channel.send,
          close() {
            // A host that another one's panic took along must not be freed either.
            if (home.hosts.has(host)) channel.close();
            end();
          },
        };
      } catch (error) {
        end();
        throw error instanceof LodgerError || !error?.code ? error : new LodgerError(error);
      }
    };
  }

  // ---------------------------------------------------------------- open workspaces

  // name -> { options, workspace, opening, leases, ending }, the one opened last at the end
  const records = new Map();

  async function openWorkspace(name, given = {}) {
    checkName(name, "openWorkspace");
    const options = checkOptions(given);
    while (records.get(name)?.ending) await records.get(name).ending;
    const record = records.get(name) ?? newRecord(name, options);
    for (const key of OPTIONS) {
      const same = (key !== "operator" && options[key] === record.options[key]) || (key === "operator" && sameOperator(options.operator, operatorOf(record.workspace)));
      if (given[key] !== undefined && !same) {
        throw failure("invalid_config", `The workspace "${name}" is open with another ${key}.`, "Close it everywhere in this page first, or open it with the same options.");
      }
    }
    record.leases++;
    try {
      await record.opening;
      await revive(record.workspace); // after a panic
    } catch (error) {
      record.leases--;
      if (!record.leases && records.get(name) === record) records.delete(name);
      throw error;
    }
    if (records.get(name) === record) {
      records.delete(name);
      records.set(name, record);
      record.ready = true;
    }
    return record.workspace;
  }

  function newRecord(name, options) {
    const record = { options, leases: 0, ready: false, ending: null, letting: null };
    record.workspace = new Workspace(name, {
      connect: connect(name, options),
      target: options.target,
      operator: options.operator,
      release: () => giveBack(name, record),
      onEnd: () => {
        if (records.get(name) === record) records.delete(name);
      },
    });
    record.opening = revive(record.workspace);
    records.set(name, record);
    return record;
  }

  function giveBack(name, record) {
    if (record.leases > 0) record.leases--;
    if (record.leases > 0) return Promise.resolve();
    record.letting ??= new Promise((resolve) => {
      inOneTask(() => {
        record.letting = null;
        if (record.leases === 0) record.ending ??= shut(record.workspace);
        resolve(record.ending);
      });
    });
    return record.letting;
  }

  async function deleteWorkspace(name) {
    checkName(name, "deleteWorkspace");
    const record = records.get(name);
    await record?.ending;
    await init();
    await glue.delete_workspace(name, record?.options.storage ?? "indexeddb");
    // A host that stores nothing hears of it only here.
    if (record) await shut(record.workspace, { code: "workspace_deleted", message: "The workspace was deleted.", hint: "Open it again to begin anew." });
  }

  // ---------------------------------------------------------------- invoke

  let initialized = null; // the workspace that invoke itself opened

  const current = () => [...records.values()].findLast((record) => record.ready && !record.ending)?.workspace;

  async function invoke(command, args) {
    const checked = commandArguments(command, args);
    if (command === "initialize_workspace") {
      const workspace = await openWorkspace(checked.name);
      const before = initialized;
      initialized = workspace;
      await before?.close(); // its lease; the same workspace keeps this new one
      return;
    }
    const workspace = current();
    if (workspace) return workspace.invoke(command, checked);
    if (command === "get_agent_status") return { ...STOPPED };
    throw noWorkspace();
  }

  return { init, openWorkspace, deleteWorkspace, invoke };
}

function unavailable(why, retryable, hint) {
  return new LodgerError({ code: "wasm_unavailable", message: `The wasm module of lodger is not available: ${why}.`, retryable, hint });
}

function arrivedAsHtml(url) {
  return unavailable(
    `${url || "its address"} answered with an HTML page`,
    false,
    'With Vite, set optimizeDeps: { exclude: ["lodger"] } in its config. Elsewhere, serve lodger.wasm beside the scripts, or give init({ module_or_path }) its address.',
  );
}

function checkName(name, what) {
  if (typeof name !== "string" || !name) throw failure("invalid_arguments", `${what}: the name must be a string that is not empty.`);
}

function checkOptions(given) {
  onlyKnown(given, OPTIONS, "openWorkspace's options", "invalid_config");
  const { storage = "indexeddb", pageTools = true, target = globalThis.document ?? null, operator, now } = given;
  const refuse = (name, wanted) => failure("invalid_config", `openWorkspace: ${name} must be ${wanted}.`);
  if (storage !== "indexeddb" && storage !== "memory") throw refuse("storage", '"indexeddb" or "memory"');
  if (typeof pageTools !== "boolean") throw refuse("pageTools", "true or false");
  if (target !== null && typeof target?.dispatchEvent !== "function") throw refuse("target", "an EventTarget or null");
  if (now !== undefined && typeof now !== "function") throw refuse("now", "a function");
  return { storage, pageTools, target, operator, now };
}

const sameOperator = (a, b) => a === b || (a && b && ["subject", "issuer", "expiresAt"].every((member) => a[member] === b[member]));
