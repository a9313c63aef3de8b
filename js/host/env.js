// What a dead module cannot let go: locks, fetches, timers, connections.
//
// A panic runs no destructor, so these are kept here, one scope for each host, and `dispose` frees them all. The scope
// is an object that its owner passes on, and all that these functions know is in it: it does not matter how often
// this file is loaded. Decides nothing; a module that works well releases what it took by itself.

/**
 * What one host holds.
 * @param {{ now?: () => number, title?: string, room?: (name: string) => Promise<unknown> }} [options]
 */
export const createScope = ({ now = () => Date.now(), title = pageTitle(), room = async () => {} } = {}) => ({
  now, // function: the wall clock
  title, // what the page is called
  room, // function: brings a part of the module; without one all are there
  wall: 0, // what it said last
  ticks: 0, // what performance.now() said then
  ahead: 0, // how far our time is ahead of it
  setTimeout, // whose timers run: the browser's, or a test's fake ones
  closing: new AbortController(), // of requests that still wait for a lock
  locks: new Map(), // name -> function that releases
  aborters: new Set(), // AbortController
  timers: new Map(), // number -> { due, fire(), stop() }
  lastTimer: 0,
  closables: new Set(), // anything with close()
});

// How far the wall clock may leap in one go before that is a correction, and how coarse clocks are, in milliseconds.
const LEAP_MS = 60_000;
const COARSE_MS = 500;

/**
 * Milliseconds since the epoch, for deadlines too: it never goes back. When the wall clock is set back (by a person,
 * NTP, fake timers) this clock goes on from where it was. It gives back its lead when the wall clock is set right again.
 */
export function now(scope) {
  // Looked up each time: fake timers come and go.
  const ticks = performance.now();
  const passed = Math.max(0, ticks - scope.ticks);
  const wall = told(scope.now, scope.wall + passed);
  const step = wall - scope.wall;
  scope.wall = wall;
  scope.ticks = ticks;
  if (step < 0) scope.ahead += passed - step;
  else if (step > passed + LEAP_MS) scope.ahead = Math.max(0, scope.ahead + passed - step);
  const time = Math.floor(wall + scope.ahead);
  if (scope.setTimeout !== setTimeout) {
    scope.setTimeout = setTimeout;
    for (const timer of scope.timers.values()) arm(timer, timer.due - time);
  }
  return time;
}

/** What this clock says; `otherwise` where it throws, or gives no number. */
export function told(now, otherwise) {
  try {
    const wall = now();
    return Number.isFinite(wall) ? wall : otherwise;
  } catch {
    return otherwise;
  }
}

/** Whether this is WebKit, which no browser of Chromium's is though it says so. */
export const inWebKit = () => /AppleWebKit(?!.*Chrom)/.test(globalThis.navigator?.userAgent);

/** Whether there are Web Locks (they need a secure context). */
export const hasLocks = () => !!globalThis.navigator?.locks;

/**
 * Takes a lock and holds it until `release`. Resolves to false if `ifAvailable` finds it taken, or if it waits until
 * the signal fires (by default: until the scope is disposed). `onLost` is called when another holder steals it.
 *
 * @param {"exclusive" | "shared"} mode
 * @param {{ ifAvailable?: boolean, steal?: boolean, signal?: AbortSignal, onLost?: () => void }} [options]
 * @returns {Promise<boolean>}
 */
export function lock(scope, name, mode, { ifAvailable = false, steal = false, signal = scope.closing.signal, onLost } = {}) {
  return new Promise((resolve, reject) => {
    let free;
    const held = new Promise((release) => (free = release));
    const options = { mode, ifAvailable, steal };
    if (!ifAvailable && !steal) options.signal = signal; // the other two never wait
    let granted = false;
    navigator.locks
      .request(name, options, (lock) => {
        if (!lock || scope.closing.signal.aborted) return resolve(false);
        granted = true;
        scope.locks.set(name, free);
        resolve(true);
        return held;
      })
      .catch((error) => {
        if (granted) {
          if (scope.locks.get(name) === free) scope.locks.delete(name);
          onLost?.();
        } else if (signal.aborted || scope.closing.signal.aborted) resolve(false);
        else reject(error);
      });
  });
}

/** Releases a lock; nothing happens if it is not held. */
export function release(scope, name) {
  scope.locks.get(name)?.();
  scope.locks.delete(name);
}

/** Whether a tab, this or another, holds the lock. */
export const held = async (name) => (await globalThis.navigator?.locks?.query())?.held.some((lock) => lock.name === name) ?? false;

/** Waits until nobody holds the lock exclusively, and does not keep it. False: the scope was disposed meanwhile. */
export async function waitShared(scope, name) {
  const granted = await lock(scope, name, "shared");
  if (granted) release(scope, name);
  return granted;
}

/** An AbortController that `dispose` aborts; `done` when its work has ended. */
export function aborter(scope) {
  const controller = new AbortController();
  scope.aborters.add(controller);
  return controller;
}
export const done = (scope, controller) => void scope.aborters.delete(controller);

/** Calls back once, after `ms`. Gives a number for `cancel`. */
export function after(scope, ms, callback) {
  const id = ++scope.lastTimer;
  const due = now(scope) + ms;
  const fire = () => {
    scope.timers.delete(id);
    // This much time has passed, even if the clock says otherwise.
    const late = due - now(scope);
    if (late > COARSE_MS) scope.ahead += late;
    callback();
  };
  const timer = { due, fire };
  scope.timers.set(id, timer);
  arm(timer, ms);
  return id;
}
export function cancel(scope, id) {
  scope.timers.get(id)?.stop();
  scope.timers.delete(id);
}

function arm(timer, ms) {
  timer.stop?.();
  const clear = clearTimeout; // the one that knows this timer
  const handle = setTimeout(timer.fire, ms);
  timer.stop = () => clear(handle);
}

/** Something with `close()`, an IndexedDB connection say; `disown` when it was closed otherwise. */
export const adopt = (scope, closable) => void scope.closables.add(closable);
export const disown = (scope, closable) => void scope.closables.delete(closable);

/** Calls back in a task of its own. Not by a timer: a background tab slows timers, and a test may fake them. */
export function inOneTask(callback) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    callback();
  };
  port2.postMessage(null);
}

/** Frees everything. Nothing calls back afterwards. */
export function dispose(scope) {
  for (const id of [...scope.timers.keys()]) cancel(scope, id);
  for (const controller of scope.aborters) controller.abort();
  scope.aborters.clear();
  for (const closable of scope.closables) {
    try {
      closable.close();
    } catch {
      // It is closed already.
    }
  }
  scope.closables.clear();
  scope.closing.abort();
  for (const name of [...scope.locks.keys()]) release(scope, name);
}

// How long a lock may take to become free after its holder let it go, in milliseconds: the browser hears of it later
// than the page, and a page that reloads may begin before its former life is over.
const RELEASE_MS = 250;

/**
 * Takes the exclusive lock if it is free, or from its holder: resolves to whether it was got. `lost` is called when
 * another holder steals it.
 * @param {boolean} steal
 * @param {() => void} lost
 */
export async function hold(scope, name, steal, lost) {
  if (await lock(scope, name, "exclusive", { ifAvailable: !steal, steal, onLost: lost })) return true;
  const controller = aborter(scope);
  const timer = after(scope, RELEASE_MS, () => controller.abort());
  try {
    return await lock(scope, name, "exclusive", { signal: controller.signal, onLost: lost });
  } finally {
    cancel(scope, timer);
    done(scope, controller);
  }
}

/** `{ usage, quota, persisted }` of the origin, as far as the browser tells. */
export async function estimate() {
  const { storage } = globalThis.navigator ?? {};
  const { usage = 0, quota = 0 } = (await storage?.estimate?.()) ?? {};
  return { usage, quota, persisted: (await storage?.persisted?.()) ?? false };
}

/** Whether there is a database of this name; where the browser does not tell, there may be. */
export const hasDatabase = async (name) => (await globalThis.indexedDB?.databases?.())?.some((database) => database.name === name) ?? true;

/** Asks the browser to keep the origin's data when space is short: whether it will. */
export const persist = async () => (await globalThis.navigator?.storage?.persist?.()) ?? false;

/** Whether the browser has a network, as far as it tells. */
export const isOnline = () => globalThis.navigator?.onLine !== false;

/** How often a run that waits for the network looks, in milliseconds. */
const LOOK_MS = 1_000;

/** Resolves as soon as it has one, or to false when the scope is disposed. */
export const online = ({ closing: { signal } }) =>
  new Promise((resolve) => {
    if (isOnline()) return resolve(true);
    // Chromium tells a worker nothing when the network is back.
    const looks = setInterval(() => isOnline() && over(true), LOOK_MS);
    const over = (there) => {
      clearInterval(looks);
      resolve(there);
    };
    addEventListener("online", () => over(true), { once: true, signal });
    signal.addEventListener("abort", () => over(false));
  });

/** The name of this page, which a page shows that finds the agent running here. */
export const pageTitle = () => (globalThis.document?.title || globalThis.location?.pathname || "").slice(0, 60);
export const title = (scope) => scope.title;

/** Brings a part of the module that is needed now. */
export const room = (scope, name) => scope.room(name);

/** A random text for ids: the time, then chance, so that ids sort by age. */
export function fresh(scope) {
  const chance = crypto.getRandomValues(new Uint8Array(10));
  const hex = (number, digits) => number.toString(16).padStart(digits, "0");
  return hex(now(scope), 11) + [...chance].map((byte) => hex(byte, 2)).join("");
}
