// Which workspaces are open in this page.
//
// Decides how long a workspace is kept, which options it may be opened with, and on which one `invoke` acts. Promises: a
// workspace is open once, however often it is opened. Leaves to others: how a host is reached (`package.js`, `app.js`), what a
// workspace does (`workspace.js`).

import { commandArguments, noWorkspace } from "./invoke.js";
import { seenKey } from "./view.js";
import { operatorOf, revive, shut, Workspace, worksHere } from "./workspace.js";
import { inOneTask, told } from "../host/env.js";
import { explained, failure, onlyKnown } from "../protocol/error.js";
import { LIMITS } from "../protocol/json.js";
import { STOPPED } from "../protocol/status.js";

// Those that stay as they are while a workspace is open; the last one is of the moment in which it is opened.
const LASTING = ["storage", "durability", "pageTools", "target", "operator", "limits", "host", "now", "warnOnLeave", "keepAlive"];
const OPTIONS = [...LASTING, "onStorageLost"];
// Of those that are objects, what makes two of them the same.
const MEMBERS = { operator: ["subject", "issuer", "expiresAt"], limits: Object.keys(LIMITS) };

/**
 * The functions that open, delete and ask workspaces. Long because they share those that are open.
 *
 * @param {{ page: Function, worker?: Function }} hosts for each place of a host, what gives the way to one: `(name, options) => connect`
 * @param {(name: string, storage: string) => Promise<void>} remove deletes what is stored
 */
export function createWorkspaces(hosts, remove) {
  // name -> { options, workspace, opening, leases, ending }, the one opened last at the end
  const records = new Map();

  async function openWorkspace(name, given = {}) {
    checkName(name, "openWorkspace");
    const options = checkOptions(given);
    if (!hosts[options.host]) throw failure("invalid_config", "openWorkspace: here is no worker for a host.", 'Leave host out, or set it to "page".');
    while (records.get(name)?.ending) await records.get(name).ending;
    const record = records.get(name) ?? newRecord(name, options);
    for (const key of LASTING) {
      const known = key === "operator" ? operatorOf(record.workspace) : record.options[key];
      const same = key in MEMBERS ? alike(options[key], known, MEMBERS[key]) : options[key] === known;
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
      connect: hosts[options.host](name, options),
      target: options.target,
      operator: options.operator,
      limits: options.limits,
      sure: options.host === "worker" && options.onStorageLost === "reject",
      warnOnLeave: options.warnOnLeave,
      lasts: options.storage === "indexeddb",
      release: () => giveBack(record),
      onRest: () => record.leases || giveBack(record),
      onEnd: () => {
        if (records.get(name) === record) records.delete(name);
      },
    });
    record.opening = revive(record.workspace);
    records.set(name, record);
    return record;
  }

  function giveBack(record) {
    const { options, workspace } = record;
    if (record.leases > 0) record.leases--;
    if (record.leases > 0) return Promise.resolve();
    record.letting ??= new Promise((resolve) => {
      inOneTask(() => {
        record.letting = null;
        // What works goes on as long as this page lives, where the page wants that: it is let go when nothing does.
        const stays = record.leases > 0 || (options.keepAlive && worksHere(workspace));
        if (!stays) record.ending ??= shut(workspace);
        resolve(record.ending);
      });
    });
    return record.letting;
  }

  async function deleteWorkspace(name) {
    checkName(name, "deleteWorkspace");
    const record = records.get(name);
    await record?.ending;
    await remove(name, record?.options.storage ?? "indexeddb");
    forget(name);
    // A host that stores nothing hears of it only here.
    if (record) await shut(record.workspace, { code: "workspace_deleted", message: "The workspace was deleted.", hint: "Open it again to begin anew." });
  }

  // ---------------------------------------------------------------- invoke

  let initialized = null; // the workspace that invoke itself opened

  const current = () => [...records.values()].findLast((record) => record.ready && record.leases && !record.ending)?.workspace;

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
    if (command === "get_agent_status") return JSON.parse(STOPPED);
    throw noWorkspace();
  }

  return { openWorkspace: (...asked) => openWorkspace(...asked).catch(explained), deleteWorkspace, invoke: (...asked) => invoke(...asked).catch(explained) };
}

/** What a page keeps of a workspace beside its database. */
function forget(name) {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(seenKey(name))) localStorage.removeItem(key);
  } catch {
    // There is no such storage.
  }
}

function checkName(name, what) {
  if (typeof name !== "string" || !name) throw failure("invalid_arguments", `${what}: the name must be a string that is not empty.`);
}

function checkOptions(given) {
  onlyKnown(given, OPTIONS, "openWorkspace's options", "invalid_config");
  const { storage = "indexeddb", durability = "relaxed", pageTools = true, target = globalThis.document ?? null, operator, limits = {}, host = "page", now, onStorageLost = "open", warnOnLeave = false, keepAlive = false } = given;
  const refuse = (name, wanted) => failure("invalid_config", `openWorkspace: ${name} must be ${wanted}.`);
  if (storage !== "indexeddb" && storage !== "memory") throw refuse("storage", '"indexeddb" or "memory"');
  if (durability !== "relaxed" && durability !== "strict") throw refuse("durability", '"relaxed" or "strict"');
  for (const [name, flag] of Object.entries({ pageTools, warnOnLeave, keepAlive })) if (typeof flag !== "boolean") throw refuse(name, "true or false");
  if (target !== null && typeof target?.dispatchEvent !== "function") throw refuse("target", "an EventTarget or null");
  onlyKnown(limits, MEMBERS.limits, "openWorkspace's limits", "invalid_config");
  for (const [name, limit = 1] of Object.entries(limits)) {
    if (!Number.isInteger(limit) || limit < 1 || limit >= 2 ** 31) throw refuse(`limits.${name}`, "a whole number from 1 to 2147483647");
  }
  if (host !== "page" && host !== "worker") throw refuse("host", '"page" or "worker"');
  if (now !== undefined && told(now) === undefined) throw refuse("now", "a function that gives milliseconds");
  if (onStorageLost !== "open" && onStorageLost !== "reject") throw refuse("onStorageLost", '"open" or "reject"');
  if (host === "worker" && now) throw refuse("now", 'absent with host: "worker"');
  const all = Object.fromEntries(MEMBERS.limits.map((name) => [name, limits[name] ?? LIMITS[name]]));
  return { storage, durability, pageTools, target, operator, limits: all, host, now, onStorageLost, warnOnLeave, keepAlive };
}

const alike = (a, b, members) => a === b || (a && b && members.every((member) => a[member] === b[member]));
