// What the package exports. The wasm is loaded by `index.js` in a browser, by `node.js` in Node.
//
// Decides where a host lives: here, or in a worker. Leaves to others: the wasm module (`instance.js`), how long a workspace is
// kept (`client/workspaces.js`), what it does (`client/workspace.js`).

import { overPort } from "./tabs/channel.js";
import { createWorkspaces } from "./client/workspaces.js";
import { inOneTask, pageTitle } from "./host/env.js";
import { late } from "./protocol/error.js";
import { createInstances } from "./instance.js";

/**
 * The exported functions.
 *
 * @param {object} glue what wasm-bindgen made, see `lodger_glue.js`
 * @param {(room?: string) => Promise<unknown> | unknown} locate where the module is, unless the page says; or this part of it
 * @param {() => Worker} [makeWorker] a worker with a host in it (`worker.js`), where there are workers
 */
export function createPackage(glue, locate, makeWorker) {
  const { init, room, connect, foresee, sendable } = createInstances(glue, locate);
  // On a server nobody needs it; and the page may say first where it is.
  if (makeWorker && globalThis.document) inOneTask(foresee);

  /** A channel to a host in a worker of its own. */
  function connectWorker(name, { storage, durability, pageTools, limits, onStorageLost }) {
    return async (deliver) => {
      const module = await sendable();
      let worker;
      try {
        if (locate().origin === globalThis.origin) worker = makeWorker();
      } catch {
        // Why is told below, if there is no other way.
      }
      worker ??= await (await late(import("./host/elsewhere.js"))).workerOf(makeWorker);
      const lost = ({ message }) => deliver({ t: "closed", error: { code: "wasm_unavailable", message: `The worker of lodger cannot work: ${message ?? "it does not load"}.`, retryable: true } });
      worker.onerror = lost;
      worker.postMessage({ name, storage, durability, pageTools, limits, onStorageLost, title: pageTitle(), source: module });
      return overPort(worker, deliver);
    };
  }

  const remove = async (name, storage) => {
    await room("more");
    await glue.delete_workspace(name, storage);
  };
  return { init, ...createWorkspaces({ page: connect, ...(makeWorker && { worker: connectWorker }) }, remove) };
}
