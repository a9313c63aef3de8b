// The wasm module: one instance at a time, and the hosts in it.
//
// Decides how the module and its parts are loaded and how long an instance of it counts as alive. Promises: it is loaded
// when it is first needed, and so is each part. A failed load can be tried again. When an instance panics, all of its
// hosts end, and what they held is freed. The next call loads a fresh one, from where the page has said that it is.
// Leaves to others: which workspaces are open (`client/workspaces.js`), what tabs say to each other (`tabs/tabs.js`).

import { inThread } from "./tabs/channel.js";
import { createScope, dispose } from "./host/env.js";
import { failure, LodgerError, onlyKnown } from "./protocol/error.js";

/** How long a part may take to come, in milliseconds: commands wait for it, and a start holds the workspace meanwhile. */
const ROOM_MS = 60_000;

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
  let source; // where the module is, if the page has said so: what it gave, or a promise of that

  async function init(options = {}) {
    onlyKnown(options, ["module_or_path"], "init's options", "invalid_arguments");
    const place = options.module_or_path;
    const first = place !== undefined && source === undefined && !instance;
    if (first) source = place;
    // Nobody else waits for what counts for nothing.
    else Promise.resolve(place).catch(() => {});
    try {
      await ensure();
    } catch (error) {
      if (first) source = undefined;
      throw error;
    }
  }

  /** What the page has given. The body of a response can be read once, and this is read for each instance and worker. */
  async function given() {
    const it = await Promise.resolve(source).catch((error) => {
      throw notFetched(error);
    });
    return isResponse(it) ? it.clone() : it;
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

  /** Where the module is, as a worker can be told; nothing: where it is found anyway. */
  async function sendable() {
    const it = source === undefined ? await foreseen() : await given();
    if (typeof it === "string" || it instanceof URL) return new URL(it, document.baseURI).href;
    if (!isResponse(it)) return it;
    return it.arrayBuffer().catch((error) => {
      if (source !== undefined) throw notFetched(error);
    });
  }

  async function ensure() {
    const made = (instance ??= newInstance());
    await made.ready;
    return made;
  }

  function newInstance() {
    const made = { hosts: new Set(), rooms: new Map(), ready: null };
    asked = true;
    made.ready = (async () => {
      await null; // never on the stack of a module that just panicked
      if (stale) glue.reset();
      stale = false;
      await loadWasm(made);
    })();
    made.ready.catch(() => {
      if (instance === made) instance = null;
    });
    return made;
  }

  async function loadWasm(made) {
    const coming = foreseen();
    const mine = await given();
    // Where a page has put the module, its parts may be beside it.
    if (mine !== undefined) {
      const module = await arrived(mine);
      made.address = module.url;
      return compile(made, module);
    }
    const begun = await coming;
    if (!begun) return compile(made, await arrived(locate()));
    // It may have begun long before this call, and its connection may be gone since.
    await compile(made, begun).catch(async (error) => {
      if (!error.retryable) throw error;
      await compile(made, await arrived(locate()));
    });
  }

  async function compile(made, module) {
    try {
      made.exports = await glue.default({ module_or_path: module });
    } catch (error) {
      const message = String(error?.message ?? error);
      // "<!do" where a module begins with "\0asm".
      if (/magic (word|number|header)/i.test(message)) throw arrivedAsHtml(module?.url);
      if (/content security policy|unsafe-eval|disallowed by embedder/i.test(message)) {
        throw unavailable("the page's Content Security Policy does not allow it", false, "Add 'wasm-unsafe-eval' to script-src.");
      }
      // What has come whole is refused by errors of WebAssembly.
      throw unavailable(message, error instanceof TypeError);
    }
  }

  /** Brings a part into an instance, once. */
  function bring(made, name) {
    let brought = made.rooms.get(name);
    if (brought) return brought;
    made.rooms.set(name, (brought = loadRoom(made, name)));
    brought.catch(() => made.rooms.delete(name));
    return brought;
  }

  async function loadRoom(made, name) {
    const place = locate(name);
    const signal = AbortSignal.timeout(ROOM_MS);
    const part = await arrived(place, signal).catch((error) => {
      if (!made.address || !place.pathname) throw error;
      return arrived(new URL(`rooms/${place.pathname.split("/").pop()}`, made.address), signal);
    });
    await made.ready;
    try {
      await WebAssembly.instantiate(isResponse(part) ? await part.arrayBuffer() : part, { "": shared(made.exports), ...glue.imports() });
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
  function connect(name, { storage, durability, pageTools, limits, onStorageLost, now, title }) {
    return async (deliver) => {
      const made = ensure();
      // Which it needs at once, for as long as the module takes.
      if (pageTools) bring(instance, "pages").catch(() => {});
      if (storage === "memory") bring(instance, "volatile").catch(() => {});
      const home = await made;
      const host = { scope: createScope({ now, title, room: (name) => bring(home, name) }), deliver };
      home.hosts.add(host);
      const told = (message) => {
        if (!home.hosts.has(host)) return;
        if (message.t === "closed" && message.error?.code === "panicked") return condemn(home, message.error);
        deliver(message);
      };
      const options = { storage, durability, onStorageLost, pageTools, ...limits, scope: host.scope };
      const end = () => {
        home.hosts.delete(host);
        dispose(host.scope);
      };
      try {
        const openHost = (guarded) => glue.open_host(name, options, guarded);
        const channel = await inThread(host.scope, name, storage, openHost, told);
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

  const room = async (name) => bring(await ensure(), name);
  return { init, room, connect, foresee, sendable };
}

/** What a part imports of the module: what that exports, and functions by their places in its table. */
const shared = (exports) => new Proxy(exports, { get: (own, name) => own[name] ?? own.table.get(Number(name)) });

const isResponse = (it) => typeof Response === "function" && it instanceof Response;

/** What comes from an address, or what was given instead of one; with what can be wrong with it. */
async function arrived(source, signal) {
  let came;
  try {
    came = await (typeof source === "string" || source instanceof URL ? fetch(source, { signal }) : source);
  } catch (error) {
    throw (await import("./host/elsewhere.js").then(({ unreachable }) => unreachable(source), () => {})) ?? notFetched(error);
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

const notFetched = (error) => unavailable(`it could not be fetched (${error.message})`, true);

function arrivedAsHtml(url) {
  return unavailable(
    `${url || "its address"} answered with an HTML page`,
    false,
    'With Vite, set optimizeDeps: { exclude: ["lodger"] } in its config. Elsewhere, serve lodger.wasm beside the scripts, or give init({ module_or_path }) its address.',
  );
}
