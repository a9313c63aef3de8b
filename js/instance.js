// The wasm module: one instance at a time, and the hosts in it.
//
// Decides how the module is loaded and how long an instance of it counts as alive. Promises: it is loaded when it is first
// needed; a failed load can be tried again; when an instance panics, all of its hosts end, what they held is freed, and
// the next call loads a fresh one. Leaves to others: which workspaces are open (`package.js`), what tabs say to each
// other (`tabs/tabs.js`).

import { amongTabs, direct } from "./tabs/channel.js";
import { createScope, dispose } from "./host/env.js";
import { failure, LodgerError, onlyKnown } from "./protocol/error.js";
import { hasNeighbours } from "./tabs/neighbours.js";

/**
 * Loads and renews the instance. Long because all in it shares that instance.
 *
 * @param {object} glue what wasm-bindgen made, see `lodger_glue.js`
 * @param {() => Promise<unknown> | unknown} locate where the module is, unless the page says
 */
export function createInstances(glue, locate) {
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

  /** A channel to a new host in the current instance, which works with those of other tabs. */
  function connect(name, { storage, pageTools, now, title }) {
    return async (deliver) => {
      const home = await ensure();
      const host = { scope: createScope({ now, title }), deliver };
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
        const openHost = (guarded) => glue.open_host(name, options, guarded);
        // What is in memory only, no other tab can know.
        const alone = storage === "memory" || !hasNeighbours();
        const channel = await (alone ? direct(openHost, told) : amongTabs(host.scope, name, openHost, told));
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

  return { init, connect };
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
