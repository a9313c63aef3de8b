// The wasm module: one instance at a time, and the hosts in it.
//
// Decides how the module and its parts are loaded and how long an instance of it counts as alive. Promises: it is loaded
// when it is first needed, and so is each part; a failed load can be tried again; when an instance panics, all of its
// hosts end, what they held is freed, and the next call loads a fresh one. Leaves to others: which workspaces are open
// (`package.js`), what tabs say to each other (`tabs/tabs.js`).

import { amongTabs, direct } from "./tabs/channel.js";
import { createScope, dispose } from "./host/env.js";
import { failure, LodgerError, onlyKnown } from "./protocol/error.js";
import { hasNeighbours } from "./tabs/neighbours.js";

/**
 * Loads and renews the instance. Long because all in it shares that instance.
 *
 * @param {object} glue what wasm-bindgen made, see `lodger_glue.js`
 * @param {(room?: string) => Promise<unknown> | unknown} locate where the module is, unless the page says; or this part of it
 */
export function createInstances(glue, locate) {
  let instance = null; // { ready: Promise<void>, hosts: Set, rooms: Map<string, Promise>, exports, address? }
  let stale = false; // the glue still holds an instance that panicked
  let early; // a load that nobody has asked for yet: Promise<Response>
  let asked = false; // the module has been asked for

  async function init(options) {
    await ensure(options);
  }

  /** Begins to load the module, unless something else has begun. */
  function foresee() {
    if (asked) return;
    early = arrived(locate());
    early.catch(() => {});
  }

  /** What has come of that, once; nothing where it has not been begun, or nothing has come. */
  function foreseen() {
    const coming = early;
    asked = true;
    early = undefined;
    return coming?.catch(() => {});
  }

  async function ensure(options = {}) {
    const made = (instance ??= newInstance(options));
    await made.ready;
    return made;
  }

  function newInstance(options) {
    const made = { hosts: new Set(), rooms: new Map(), ready: null };
    asked = true;
    made.ready = (async () => {
      onlyKnown(options, ["module_or_path"], "init's options", "invalid_arguments");
      await null; // never on the stack of a module that just panicked
      if (stale) glue.reset();
      stale = false;
      await loadWasm(made, options.module_or_path);
    })();
    made.ready.catch(() => {
      if (instance === made) instance = null;
    });
    return made;
  }

  async function loadWasm(made, given) {
    const coming = foreseen();
    const module = given === undefined ? ((await coming) ?? (await arrived(locate()))) : await arrived(given);
    // Where a page has put the module, its parts may be beside it.
    if (given !== undefined) made.address = module.url;
    try {
      made.exports = await glue.default({ module_or_path: module });
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

  /** Brings a part into an instance, once. */
  function bring(made, name) {
    const brought = made.rooms.get(name) ?? loadRoom(made, name);
    made.rooms.set(name, brought);
    brought.catch(() => made.rooms.delete(name));
    return brought;
  }

  async function loadRoom(made, name) {
    const place = locate(name);
    const part = await arrived(place).catch((error) => {
      if (!made.address) throw error;
      return arrived(new URL(`rooms/${place.pathname.split("/").pop()}`, made.address));
    });
    await made.ready;
    try {
      await WebAssembly.instantiate(isResponse(part) ? await part.arrayBuffer() : part, { "": made.exports, ...glue.imports() });
    } catch (error) {
      throw unavailable(`its part "${name}" does not fit (${error.message})`, true);
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
      const made = ensure();
      // Which it needs at once, for as long as the module takes.
      if (pageTools) bring(instance, "pages").catch(() => {});
      const home = await made;
      const host = { scope: createScope({ now, title, room: (name) => bring(home, name) }), deliver };
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

  return { init, connect, foresee, foreseen };
}

const isResponse = (it) => typeof Response === "function" && it instanceof Response;

/** What comes from an address, or what was given instead of one; with what can be wrong with it. */
async function arrived(source) {
  let came;
  try {
    came = await (typeof source === "string" || source instanceof URL ? fetch(source) : source);
  } catch (error) {
    throw unavailable(`it could not be fetched (${error.message})`, true);
  }
  if (isResponse(came)) {
    if (!came.ok) throw unavailable(`${came.url || "its address"} answered ${came.status}`, true);
    if (/^text\/html/i.test(came.headers.get("content-type") ?? "")) throw arrivedAsHtml(came.url);
  }
  return came;
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
