import assert from "node:assert/strict";
import { test } from "node:test";
import * as env from "../host/env.js";

/** Web Locks as the standard has them, as far as `host/env.js` uses them. */
function fakeLocks(t) {
  const held = new Map(); // name -> [{ mode, steal() }]
  const waiting = [];
  const free = (name, mode) => (held.get(name) ?? []).every((lock) => mode === "shared" && lock.mode === "shared");
  const locks = {
    request: (name, { mode, ifAvailable, steal, signal }, callback) => new Promise((resolve, reject) => {
      const entry = { mode, steal: () => reject(new DOMException("stolen", "AbortError")) };
      const grant = async () => {
        held.set(name, [...(held.get(name) ?? []), entry]);
        try { resolve(await callback({ name, mode })); } finally {
          held.set(name, held.get(name).filter((other) => other !== entry));
          for (const next of waiting.splice(0)) next();
        }
      };
      const attempt = () => (free(name, mode) ? void grant() : void waiting.push(attempt));
      if (steal) { for (const lock of held.get(name) ?? []) lock.steal(); held.set(name, []); return void grant(); }
      if (ifAvailable && !free(name, mode)) return resolve(callback(null));
      signal?.addEventListener("abort", () => {
        if (waiting.includes(attempt)) reject(signal.reason);
        waiting.splice(0, waiting.length, ...waiting.filter((other) => other !== attempt));
      });
      attempt();
    }),
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
  t.after(() => (before ? Object.defineProperty(globalThis, "navigator", before) : delete globalThis.navigator));
  return held;
}

test("a lock is held until it is released, and told when it is taken", async (t) => {
  const held = fakeLocks(t);
  const [a, b] = [env.createScope(), env.createScope()];
  assert.equal(env.hasLocks(), true);
  assert.equal(await env.lock(a, "w", "exclusive", { ifAvailable: true }), true);
  assert.equal(await env.lock(b, "w", "exclusive", { ifAvailable: true }), false);
  env.release(a, "w");
  await null; await null; await null;
  let lost = 0;
  assert.equal(await env.lock(b, "w", "exclusive", { ifAvailable: true, onLost: () => lost++ }), true);
  assert.equal(await env.lock(a, "w", "exclusive", { steal: true }), true);
  await null;
  assert.deepEqual([lost, held.get("w").length, b.locks.size], [1, 1, 0]);
});

test("hold waits for a lock that is about to be free, not for one that stays taken", async (t) => {
  fakeLocks(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [former, next] = [env.createScope(), env.createScope()];
  assert.equal(await env.hold(former, "w", false, () => {}), true);
  const refused = env.hold(next, "w", false, () => {});
  await new Promise(setImmediate);
  t.mock.timers.tick(1_000);
  assert.equal(await refused, false);
  const granted = env.hold(next, "w", false, () => {});
  await new Promise(setImmediate);
  env.release(former, "w");
  assert.equal(await granted, true);
  assert.deepEqual([next.locks.size, next.timers.size, next.aborters.size], [1, 0, 0]);
});

test("waitShared waits for the death of a holder, or of its own scope", async (t) => {
  const held = fakeLocks(t);
  const [holder, waiter, disposed] = [env.createScope(), env.createScope(), env.createScope()];
  await env.lock(holder, "alive", "exclusive");
  const order = [];
  const waits = env.waitShared(waiter, "alive").then((granted) => order.push(["waiter", granted]));
  const gone = env.waitShared(disposed, "alive").then((granted) => order.push(["disposed", granted]));
  env.dispose(disposed);
  await gone;
  env.dispose(holder);
  await waits;
  assert.deepEqual(order, [["disposed", false], ["waiter", true]]);
  await new Promise(setImmediate);
  assert.deepEqual(held.get("alive"), [], "it does not keep the lock");
});

/** Runs what is due under the fake timers of `vi.useFakeTimers` and its like: they take the clock and the timers away. */
function fakeTimers(t) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });
  return { tick: (ms) => t.mock.timers.tick(ms), reset: () => t.mock.timers.reset() };
}

test("a scope that was made before fake timers goes by them, and one that was made under them by the real ones", async (t) => {
  const early = env.createScope();
  let called = 0;
  env.after(early, 60_000, () => called++);
  const fake = fakeTimers(t);
  const before = env.now(early);
  fake.tick(20_000);
  assert.equal(env.now(early), before + 20_000);
  fake.tick(40_000);
  assert.equal(called, 1, "what was waited for before comes by the fake timers");
  const late = env.createScope();
  env.after(late, 5, () => called++);
  fake.reset();
  env.now(late);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(called, 2, "what was waited for under them comes by the real ones");
  env.cancel(late, env.after(late, 60_000, () => {}));
  env.dispose(early);
});

test("a clock that is set back goes on from where it was, and gives back what it is ahead", (t) => {
  let wall = 5_000_000;
  let ticks = 100;
  t.mock.method(performance, "now", () => ticks);
  const scope = env.createScope({ now: () => wall });
  const pass = (ms) => ((wall += ms), (ticks += ms));
  const seen = () => env.now(scope) - 5_000_000;
  assert.equal(seen(), 0);
  pass(40);
  assert.equal(seen(), 40);
  wall -= 3_600_000;
  assert.equal(seen(), 40);
  pass(2_000);
  assert.equal(seen(), 2_040);
  pass(1_000);
  wall -= 60_000;
  assert.equal(seen(), 3_040, "the time between the last look and the jump counts");
  wall += 3_660_000;
  assert.equal(seen(), 3_040, "set right again");
  pass(7);
  assert.deepEqual([seen(), env.now(scope)], [3_047, wall]);
  wall += 3_600_000;
  assert.equal(seen(), 3_603_047, "a clock that is only set forward is believed");
});

test("a clock of the page that throws, or gives no number, is not believed, and time goes on", (t) => {
  let tick = 100;
  let tells = () => 5_000;
  t.mock.method(performance, "now", () => tick);
  const scope = env.createScope({ now: () => tells() });
  assert.equal(env.now(scope), 5_000);
  for (const wrong of [() => { throw new Error("no clock"); }, () => NaN, () => "6000"]) {
    tells = wrong;
    const before = env.now(scope);
    tick += 40;
    assert.equal(env.now(scope), before + 40);
  }
  tells = () => 9_000;
  assert.equal(env.now(scope), 9_000);
});

test("a timer that has fired is believed more than the clock", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let wall = 1_000;
  const scope = env.createScope({ now: () => wall });
  const at = [];
  env.after(scope, 60_000, () => at.push(env.now(scope)));
  wall += 30_000; // it was set back by half a minute, unseen
  t.mock.timers.tick(60_000);
  assert.deepEqual(at, [61_000]);
  env.after(scope, 100, () => at.push(env.now(scope)));
  t.mock.timers.tick(100);
  assert.deepEqual(at, [61_000, 61_000], "clocks are coarse");
});

test("dispose frees everything, and nothing calls back", async (t) => {
  fakeLocks(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const scope = env.createScope({ now: () => 5 });
  assert.equal(env.now(scope), 5);
  const called = [];
  env.after(scope, 10, () => called.push("ten"));
  const cancelled = env.after(scope, 10, () => called.push("cancelled"));
  env.after(scope, 20, () => called.push("twenty"));
  env.cancel(scope, cancelled);
  t.mock.timers.tick(10);
  const [working, finished] = [env.aborter(scope), env.aborter(scope)];
  env.done(scope, finished);
  let closed = 0;
  env.adopt(scope, { close: () => { throw new Error("closed already"); } });
  env.adopt(scope, { close: () => closed++ });
  const own = { close: () => assert.fail("it was disowned") };
  env.adopt(scope, own);
  env.disown(scope, own);
  await env.lock(scope, "w", "exclusive");
  env.dispose(scope);
  env.dispose(scope);
  t.mock.timers.tick(100);
  await new Promise(setImmediate);
  assert.deepEqual([called, working.signal.aborted, finished.signal.aborted, closed], [["ten"], true, false, 1]);
  assert.equal(await env.lock(env.createScope(), "w", "exclusive", { ifAvailable: true }), true);
});

test("the network is waited for where the browser says that there is none, until the scope is gone", async () => {
  const listeners = new Map();
  const had = { navigator: Object.getOwnPropertyDescriptor(globalThis, "navigator"), addEventListener: Object.getOwnPropertyDescriptor(globalThis, "addEventListener") };
  const browser = { onLine: true };
  Object.defineProperty(globalThis, "navigator", { value: browser, configurable: true });
  globalThis.addEventListener = (type, then, { signal }) => {
    listeners.set(type, then);
    signal.addEventListener("abort", () => listeners.delete(type));
  };
  try {
    const scope = env.createScope();
    assert.equal(await env.online(scope), true, "there is one");
    assert.equal(listeners.size, 0);
    browser.onLine = false;
    assert.equal(env.isOnline(), false);
    const back = env.online(scope);
    listeners.get("online")();
    assert.equal(await back, true);
    const never = env.online(scope);
    env.dispose(scope);
    assert.equal(await never, false);
    assert.equal(listeners.size, 0);
  } finally {
    for (const [name, was] of Object.entries(had)) {
      if (was) Object.defineProperty(globalThis, name, was);
      else delete globalThis[name];
    }
  }
  assert.equal(env.isOnline(), true, "a host that says nothing may have one");
});
