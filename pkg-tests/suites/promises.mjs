// What a page may rely on. A command that resolves is stored; storage that is taken away is told as that. A run's result always
// comes.
import assert from "node:assert/strict";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

const HOSTS = ["page", "worker"];

export default function (test) {
  for (const host of HOSTS) {
    acknowledgements(test, host);
    cleared(test, host);
  }
  results(test);
  signing(test);
}

// ------------------------------------------------------------------ acknowledgements

/** Tells the test of each transaction that writes as it completes: its tables, and how sure it was. The thread goes on when that is heard. */
function writes() {
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (...args) {
    const begun = transaction.apply(this, args);
    const note = JSON.stringify({ tables: [...begun.objectStoreNames], sure: begun.durability });
    if (begun.mode === "readwrite") begun.addEventListener("complete", () => {
      const request = new XMLHttpRequest();
      request.open("POST", `${origin}/signal/written`, false);
      request.send(note);
    });
    return begun;
  };
}

/** The same in the worker of the package. */
function writesOfWorkers(writes) {
  const { Worker } = globalThis;
  globalThis.Worker = function (url, options) {
    const code = `import "${new URL(url, location.href)}"; (${writes})();`;
    return new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })), options);
  };
}

/** How often a message is sent, and a tool with an effect called. */
const TIMES = 4;

function acknowledgements(test, host) {
  for (const durability of ["relaxed", "strict"]) {
    test(`an acknowledgement is ${durability === "strict" ? "flushed" : "not flushed"}, an effect always is: durability "${durability}" [${host}]`, async (t) => {
      const written = [];
      const [acks, effects] = [[], []];
      const last = (table) => written.findLast(({ tables }) => tables.includes(table)).sure;
      // The model answers when the acknowledgement was heard, so nothing else is written before.
      const holds = Array.from({ length: TIMES }, () => gate());
      t.signal("written", (note) => { written.push(note); });
      t.signal("acknowledged", () => { holds[acks.push(last("entries")) - 1].open(); });
      t.signal("effect", () => { effects.push(last("entries")); });
      const route = await t.raw(...holds.flatMap((hold) => [stream(hold, message({ tool: "charge", id: "toolu_a" })), message("Done.")]));
      const page = await t.tab();
      if (host === "worker") await page.evaluate(`(${writesOfWorkers})(${JSON.stringify(String(writes))})`);
      else await page.evaluate(writes);
      await page.evaluate(async ([base, options, times]) => {
        const ws = await lodger.openWorkspace("w", options);
        ws.tools.register({ name: "charge", description: "Charges.", inputSchema: { type: "object", properties: {} }, execute: async () => { T.signal("effect"); return "ok"; } });
        await ws.startAgent({ provider: T.anthropic(base) });
        for (let n = 0; n < times; n++) {
          const run = await ws.sendMessage(`Charge ${n}`);
          T.signal("acknowledged");
          await run.result;
        }
        await ws.pages.create({ title: "A page" });
      }, [route.base, { host, ...(durability === "strict" && { durability }) }, TIMES]);
      assert.deepEqual(acks, Array(TIMES).fill(durability), "before an acknowledgement");
      assert.deepEqual(effects, Array(TIMES).fill("strict"), "before an effect");
      assert.equal(last("pages"), "strict", "a change of a page is an effect");
      const others = written.filter(({ tables }) => tables.some((table) => table !== "drafts"));
      if (durability === "strict") assert.deepEqual(others.filter(({ sure }) => sure !== "strict"), [], "every commit but drafts");
      else assert.ok(others.some(({ sure }) => sure === "relaxed"));
      assert.deepEqual(route.violations, []);
    });
  }

  test(`durability is one of two words, and the same while it is open [${host}]`, async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async (host) => {
      await lodger.openWorkspace("w", { host, durability: "strict" });
      const refused = (options) => T.refused(lodger.openWorkspace("w", { host, ...options }));
      return [await refused({ durability: "relaxed" }), await T.refused(lodger.openWorkspace("v", { host, durability: "sure" }))].map(({ code, message }) => [code, message]);
    }, host);
    assert.deepEqual(seen.map(([code]) => code), ["invalid_config", "invalid_config"]);
    assert.match(seen[1][1], /durability must be "relaxed" or "strict"/);
  });
}

// ------------------------------------------------------------------ storage that is taken away

/** What a person does in the browser's settings. */
async function clear(t, page, storageTypes) {
  const cdp = await (await t.context()).newCDPSession(page);
  await cdp.send("Storage.clearDataForOrigin", { origin: t.env.site.url, storageTypes });
}

function cleared(test, host) {
  for (const types of ["all", "indexeddb"]) {
    test(`site data (${types}) that is cleared while a run works is told as storage_lost, everywhere [${host}]`, async (t) => {
      const whole = message("One two three.");
      const hold = gate();
      const route = await t.raw(stream(whole.slice(0, 4), hold, whole.slice(4)), message("Anew."));
      const pages = [await t.tab(), await t.tab()];
      for (const page of pages) {
        await page.evaluate(async (host) => {
          globalThis.rec = T.record();
          globalThis.ws = await lodger.openWorkspace("w", { host });
          globalThis.view = ws.view();
          view.subscribe(() => {});
        }, host);
      }
      const [page, viewer] = pages;
      await page.evaluate(async (base) => {
        await ws.startAgent({ provider: T.anthropic(base) });
        globalThis.run = await ws.sendMessage("Count.");
        await rec.chunk();
      }, route.base);
      await viewer.evaluate(async () => { globalThis.run = (await ws.history()).at(-1).runId; await rec.chunk(); globalThis.ended = T.settle(ws.wait(run)); });
      await clear(t, page, types);
      const seen = await page.evaluate(async () => {
        const { outcome, text, error } = await run.result;
        await T.turn();
        const commands = [() => ws.history(), () => ws.sendMessage("More."), () => ws.pages.tree(), () => ws.sessions.list(), () => ws.startAgent(), () => ws.keys.list(), () => ws.wait(run.runId)];
        const codes = [];
        for (const command of commands) codes.push((await T.refused(command)).code);
        const { status, error: shown } = view.getSnapshot();
        return T.plain({ outcome, text, error, codes, status, shown, lifecycle: ws.status().lifecycle, told: rec.events.filter(({ type }) => type === "agent:error").map(({ detail }) => detail.code) });
      });
      hold.open();
      assert.deepEqual([seen.outcome, seen.error.code, seen.text.startsWith("One")], ["unknown", "storage_lost", true]);
      assert.match(seen.error.message, /is gone/);
      assert.match(seen.error.hint, /open it again/);
      assert.deepEqual([...new Set(seen.codes)], ["storage_lost"]);
      assert.deepEqual([seen.status, seen.shown.code, seen.lifecycle], ["error", "storage_lost", "Stopped"]);
      assert.deepEqual(seen.told, ["storage_lost"]);
      const other = await viewer.evaluate(async () => [(await ended).error?.code, (await T.refused(ws.history())).code]);
      assert.deepEqual(other, ["storage_lost", "storage_lost"]);
      const anew = await page.evaluate(async ([base, host]) => {
        const ws = await lodger.openWorkspace("w", { host });
        const before = (await ws.history()).length;
        await ws.startAgent({ provider: T.anthropic(base) });
        return { before, text: (await ws.run("Again?")).text };
      }, [route.base, host]);
      assert.deepEqual(anew, { before: 0, text: "Anew." });
    });
  }

  // A worker cannot be held up from outside.
  if (host === "page") test("site data that is cleared while its page hangs, and another tab begins anew, is told as storage_lost", async (t) => {
    const whole = message("One two three.");
    const hold = gate();
    const route = await t.raw(stream(whole.slice(0, 4), hold, whole.slice(4)));
    const [page, other] = [await t.tab(), await t.tab()];
    await page.evaluate(async (base) => {
      const rec = T.record();
      globalThis.ws = await lodger.openWorkspace("w");
      await ws.pages.create({ title: "Of before" });
      await ws.startAgent({ provider: T.anthropic(base) });
      globalThis.run = await ws.sendMessage("Count.");
      await rec.chunk();
      setTimeout(() => { for (const until = Date.now() + 4_000; Date.now() < until; ); });
    }, route.base);
    await clear(t, other, "indexeddb");
    const anew = await other.evaluate(async () => {
      globalThis.ws = await lodger.openWorkspace("w");
      await ws.pages.create({ title: "Anew" });
      return (await ws.pages.tree()).map(({ title }) => title);
    });
    hold.open();
    const seen = await page.evaluate(async () => [(await run.result).error?.code, (await T.refused(ws.pages.create({ title: "More" }))).code]);
    assert.deepEqual([anew, seen], [["Anew"], ["storage_lost", "storage_lost"]]);
    assert.deepEqual(await other.evaluate(async () => (await ws.pages.tree()).map(({ title }) => title)), ["Anew"]);
  });

  test(`site data that is cleared while nothing happens is told at once [${host}]`, async (t) => {
    const page = await t.tab();
    await page.evaluate(async (host) => {
      globalThis.rec = T.record();
      globalThis.ws = await lodger.openWorkspace("w", { host });
      await ws.pages.create({ title: "A page" });
    }, host);
    await clear(t, page, "all");
    const seen = await page.evaluate(async () => {
      await rec.seen(({ type, detail }) => type === "agent:error" && detail.code === "storage_lost");
      return [(await T.refused(ws.pages.tree())).code, (await (await lodger.openWorkspace("w")).pages.tree()).length];
    });
    assert.deepEqual(seen, ["storage_lost", 0]);
  });
}

// ------------------------------------------------------------------ results

/** The package from its modules: only there can a test reach into the wasm and break it. */
const fromModules = (page) => page.evaluate(async () => {
  const [{ createPackage }, glue, { ROOMS }] = await Promise.all(["package.js", "lodger_glue.js", "rooms.js"].map((file) => import(`/modules/${file}`)));
  globalThis.lodger = createPackage(glue, (room) => (room ? ROOMS[room]() : new URL("/lodger/lodger.wasm", location.href)));
  globalThis.breakDown = glue.break_down;
});

function results(test) {
  /** Each way in which a page may lose a run: what its result is then. */
  const WAYS = {
    "close()": [() => ws.close(), "unknown", "workspace_closed"],
    "deleteWorkspace()": [() => lodger.deleteWorkspace("w"), "unknown", "workspace_deleted"],
    "a panic": [() => { try { breakDown(); } catch { /* the trap itself */ } }, "unknown", "panicked"],
    "a newer version of the database": [() => { const open = indexedDB.open("lodger:w", 99); open.onsuccess = () => open.result.close(); }, "unknown", "workspace_closed"],
    "a write that fails": [() => {
      const { transaction } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (...args) {
        const begun = transaction.apply(this, args);
        if (begun.mode === "readwrite") {
          Object.defineProperty(begun, "error", { value: new DOMException("", "QuotaExceededError") });
          queueMicrotask(() => { try { begun.abort(); } catch { /* it is over */ } });
        }
        return begun;
      };
      ws.sendMessage("More.", { whenBusy: "queue" }).catch(() => {});
    }, "unknown", "quota_exceeded"],
    "a write that the browser does not end": [() => {
      // What it waits for that is here sooner.
      const wait = globalThis.setTimeout;
      globalThis.setTimeout = (work, ms, ...more) => wait(work, [60_000, 5_000].includes(ms) ? ms / 100 : ms, ...more);
      const { transaction } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (...args) {
        const begun = transaction.apply(this, args);
        if (begun.mode === "readwrite") {
          const store = begun.objectStore([].concat(args[0])[0]);
          const keepOpen = () => { try { store.count("").onsuccess = keepOpen; } catch { /* it was given up */ } };
          keepOpen();
          Object.defineProperty(begun, "commit", { value() {} });
        }
        return begun;
      };
      ws.sendMessage("More.", { whenBusy: "queue" }).catch(() => {});
    }, "unknown", "storage_failed"],
    "stopAgent()": [() => ws.stopAgent(), "interrupted", undefined],
    "interrupt()": [() => ws.interrupt(), "interrupted", undefined],
    "clearConversation()": [() => ws.clearConversation(), "interrupted", undefined],
    "setOperator(null)": [async () => { await ws.setOperator(null); globalThis.release(); }, "completed", undefined],
  };
  for (const [way, [act, outcome, code]] of Object.entries(WAYS)) {
    test(`run.result resolves, and textStream ends: ${way}`, async (t) => {
      t.allowError(/panicked|unreachable|break_down/);
      const whole = message("One two three.");
      const hold = gate();
      const route = await t.raw(stream(whole.slice(0, 4), hold, whole.slice(4)), message("More."));
      t.signal("release", () => hold.open());
      const page = await t.tab();
      await fromModules(page);
      const seen = await page.evaluate(async ([base, act]) => {
        const unhandled = [];
        addEventListener("unhandledrejection", ({ reason }) => unhandled.push(String(reason)));
        globalThis.release = () => T.tell("release");
        globalThis.ws = await lodger.openWorkspace("w");
        const rec = T.record();
        await ws.startAgent({ provider: T.anthropic(base) });
        const run = await ws.sendMessage("Count.");
        const early = run.result;
        await rec.chunk();
        const stream = (async () => { let text = ""; try { for await (const piece of run.textStream) text += piece; } catch (error) { return [text, error.code]; } return [text]; })();
        await (0, eval)(`(${act})`)();
        const result = await early;
        const again = await run.result;
        await T.turn();
        return T.plain({ result, same: again === result, stream: await stream, unhandled });
      }, [route.base, String(act)]);
      hold.open();
      assert.deepEqual([seen.result.outcome, seen.result.error?.code], [outcome, code]);
      assert.ok(seen.same && typeof seen.result.runId === "string" && typeof seen.result.turns === "number", JSON.stringify(seen));
      // What was erased is not said again.
      if (way !== "clearConversation()") assert.match(seen.result.text, /^One/);
      assert.match(seen.stream[0], /^One/);
      assert.equal(seen.stream[1], code);
      assert.deepEqual(seen.unhandled, []);
    });
  }

  test("run.result of a run that another tab has taken over is what that tab's run comes to", async (t) => {
    const whole = message("One two three.");
    const hold = gate();
    const route = await t.raw(stream(whole.slice(0, 4), hold), message("One two four."));
    const [a, b] = [await t.tab(), await t.tab()];
    for (const page of [a, b]) await page.evaluate(async () => { globalThis.ws = await lodger.openWorkspace("w"); globalThis.rec = T.record(); });
    await a.evaluate(async (base) => {
      await ws.startAgent({ provider: T.anthropic(base), ifRunning: "join" });
      globalThis.run = await ws.sendMessage("Count.");
      globalThis.result = run.result;
      await rec.chunk();
    }, route.base);
    await b.evaluate((base) => ws.startAgent({ provider: T.anthropic(base), ifRunning: "takeover" }), route.base);
    const result = await a.evaluate(async () => T.plain(await result));
    hold.open();
    assert.deepEqual([result.outcome, result.text], ["completed", "One two four."]);
  });
}

// ------------------------------------------------------------------ signing

function signing(test) {
  test("a signing key that cannot be read is no reason to go on without one", async (t) => {
    const route = await t.raw(message("One."), message("Two."));
    const page = await t.tab();
    await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("Count.");
    }, route.base);
    await page.reload();
    await t.ready(page);
    const seen = await page.evaluate(async (base) => {
      const { get } = IDBObjectStore.prototype;
      let fails = true;
      IDBObjectStore.prototype.get = function (key) {
        if (fails && this.name === "vault" && key === 1) throw new DOMException("The key cannot be read.", "UnknownError");
        return get.call(this, key);
      };
      const ws = await lodger.openWorkspace("w");
      const how = async () => (await ws.sessions.status("default")).hmac_status;
      const starts = () => ws.startAgent({ provider: T.anthropic(base) });
      const refused = [(await T.refused(how)).code, (await T.refused(starts)).code];
      fails = false;
      await starts();
      return T.plain([refused, await how(), (await ws.run("And on.")).text, await how(), (await ws.sessions.verify("default")).hmac_status]);
    }, route.base);
    assert.deepEqual(seen, [["storage_failed", "storage_failed"], "verified", "Two.", "verified", "verified"]);
  });
}
