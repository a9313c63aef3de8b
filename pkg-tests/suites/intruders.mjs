// What tabs should never be told: forged messages, tabs of other versions, arguments that mean nothing. A
// workspace that is closed or deleted under the tabs that wait.
import assert from "node:assert/strict";
import { epochs, follows, holds, onBothHosts, open, openIn, RUNNING } from "../lib/tabs.mjs";

export default function (test) {
  onBothHosts(test, badArguments, forged, versions, ends);
}

/** Starts the agent in a page, with a model that waits when it is told to. */
async function begin(page) {
  await page.evaluate(async () => {
    async function* stream({ messages }, { signal }) {
      const { content } = messages.at(-1);
      if (!JSON.stringify(content).includes("hold")) return void (yield "Here.");
      yield "Wait";
      await new Promise((done) => { globalThis.goOn = done; signal.addEventListener("abort", done); });
      yield " no more.";
    }
    globalThis.provider = { kind: "custom", stream };
    await ws.startAgent({ provider });
  });
  return page;
}

async function pair(t, host) {
  const a = await begin(await open(t, host));
  const b = await open(t, host);
  await follows(b);
  return [a, b];
}

function badArguments(on) {
  on("runs, sessions and times that do not exist are refused alike in a viewer and in the tab with the agent", async (t, host) => {
    const pages = await pair(t, host);
    const told = [];
    for (const page of pages) {
      told.push(await page.evaluate(async (gone) => {
        const { runId } = await ws.sendMessage("hold");
        const code = async (work) => { try { return (await work()).status ?? "given"; } catch (error) { return error.code ?? String(error); } };
        // Refused soon, or not: all at once, so that there is time for it. What is still open when the last is answered waits.
        let tellLate;
        const late = new Promise((tell) => (tellLate = tell));
        const waits = {};
        const each = (values, name, ask) => Promise.all(values.map(async (value) => { waits[`${name} ${String(value)}`] = await Promise.race([code(() => ask(value)), late]); }));
        const asked = Promise.all([
          each([-1, NaN, Infinity, -Infinity, 1e300, 2 ** 53, 0.5, 0, "5", null, {}, 2n], "timeout", (timeoutMs) => ws.wait(runId, { timeoutMs })),
          each([-1, NaN, "1", 1e300], "attach from", (from) => ws.sessions.attach("default", { from }).next()),
        ]);
        await ws.wait(runId, { timeoutMs: 3_000 });
        tellLate("waits");
        await asked;
        for (const errorGraceMs of [-1, NaN, Infinity, "5"]) waits[`grace ${errorGraceMs}`] = await code(() => ws.wait(runId, { errorGraceMs, timeoutMs: 1 }));
        waits.unknownOption = await code(() => ws.wait(runId, { afterMs: 1 }));
        for (const run of ["none", "", null, 7, {}, "__proto__"]) waits[`run ${JSON.stringify(run)}`] = await code(() => ws.wait(run));
        for (const id of ["none", "", "__proto__"]) waits[`attach ${id}`] = await code(() => ws.sessions.attach(id).next());
        ws.interrupt();
        waits.end = (await ws.wait(runId)).outcome;
        // Removed in the middle, and before.
        await ws.sessions.launch({ id: gone });
        const entries = ws.sessions.attach(gone, { from: 1000 });
        const next = code(() => entries.next());
        await T.turn();
        await ws.sessions.remove(gone);
        waits.removedMeanwhile = await next;
        waits.removed = await code(() => ws.sessions.attach(gone).next());
        return waits;
      }, `gone-${told.length}`));
    }
    const [alone, viewed] = told;
    assert.deepEqual(viewed, alone);
    for (const [what, code] of Object.entries(alone)) assert.match(code, /^(invalid_arguments|run_not_found|session_not_found|timeout|waits|interrupted)$/, what);
    assert.deepEqual([alone["timeout -1"], alone["timeout NaN"], alone['run "none"'], alone["attach none"], alone.removedMeanwhile, alone.removed, alone.unknownOption],
      ["invalid_arguments", "invalid_arguments", "run_not_found", "session_not_found", "session_not_found", "session_not_found", "invalid_arguments"]);
  });
}

function forged(on) {
  on("forged messages of every kind leave the holder and its viewers right", async (t, host) => {
    const [a, b] = await pair(t, host);
    const c = await t.tab();
    await c.evaluate(() => {
      globalThis.channel = new BroadcastChannel("lodger:shared");
      globalThis.heard = [];
      channel.onmessage = ({ data }) => heard.push(data);
      channel.postMessage({ v: 1, t: "who", from: "listener" });
    });
    await b.evaluate(() => ws.run("Before."));
    const [epoch] = await epochs(a);
    await c.waitForFunction(() => heard.some(({ t }) => t === "holds") && heard.some(({ t, from }) => t === "command" && from !== heard.find(({ t }) => t === "holds").from));
    const posted = await c.evaluate(async (epoch) => {
      const ofHolder = heard.find(({ t }) => t === "holds").from;
      const ofViewer = heard.find(({ t, from }) => t === "command" && from !== ofHolder).from;
      const wrong = [undefined, null, { t: "late", id: 1 }, { t: "answer", id: 1 }, { t: "command", id: 1, name: "close", args: {} }, 0, -1, NaN, Infinity, "", "x", {}, [], [[]], [null], [[null]], [[null, null]], [["x", 7]], [[null, { t: "holder" }]], true];
      const members = {
        who: [], holds: [], freed: ["stopped"], yield: [], says: ["n", "list"], join: ["low", "tools"],
        command: ["id", "low", "name", "args", "files", "operator", "until"], answers: ["message"], nothing: ["n"], constructor: ["n"], __proto__: ["n"],
      };
      const claims = ["holds", "says"]; // of later epochs: below
      const versionOf = (t) => (["who", "holds", "freed", "yield"].includes(t) ? 1 : 5);
      const right = { stopped: true, n: 1, list: [], low: 1, tools: [], id: 1, name: "history", args: {}, message: { t: "answer", id: 1 }, until: Date.now() + 60_000 };
      const post = (message) => { try { channel.postMessage(message); n++; } catch { /* it cannot be posted by anybody */ } };
      let n = 0;
      for (const whole of [null, 7, "text", [], {}, { v: 1 }, { t: "yield" }, new Date(), new Map([["t", "yield"]])]) post(whole);
      for (const [t, names] of Object.entries(members)) {
        const body = Object.fromEntries(names.map((name) => [name, right[name]]));
        // Another version, or none.
        for (const v of [0, 2, 4, String(versionOf(t)), null, undefined, NaN]) post({ v, t, from: ofHolder, epoch, ...body });
        // Nobody, or somebody else, with an epoch that never was.
        for (const from of ["foreign", ofViewer, "", 7, null, undefined, {}]) {
          const later = claims.includes(t) ? [] : [epoch + 1, 1e9];
          for (const of of [0, -1, NaN, "1", null, undefined, epoch - 1, ...later]) post({ v: versionOf(t), t, from, epoch: of, ...body });
        }
        // The right epoch, and members that mean nothing.
        if (t === "yield") continue; // is a person's, from any tab
        for (const name of names) for (const value of wrong) post({ v: versionOf(t), t, from: "foreign", epoch, ...body, [name]: value });
      }
      // A tab that does not exist has tools, and asks for what is nothing.
      post({ v: 5, t: "join", from: "foreign", epoch, low: 1, tools: [{}, { name: 7 }, { name: "x", execute: 7 }, { name: "look", description: "", inputSchema: "{", execute: { $fn: -1 } }] });
      for (const [id, name] of ["none", "__proto__", "standIn", "letGo", "close", "setOperator", "tools.register", "tools.unregister", "interrupt", "sessions.attach", "startAgent"].entries()) {
        post({ v: 5, t: "command", from: "foreign", epoch, id: 100 + id, low: 1, name, args: { on: 7, command: {}, name: {}, epoch: {}, config: 7 }, operator: 7, until: Date.now() + 60_000 });
      }
      return n;
    }, epoch);
    t.note(`${posted} messages`);
    for (const page of [b, a]) {
      assert.deepEqual(await page.evaluate(async () => { await until(() => ws.status().lifecycle === "Running"); return (await ws.run("After.")).text; }), "Here.");
      assert.deepEqual(await page.evaluate(() => ws.status()), RUNNING);
    }
    assert.deepEqual([await holds(a), await holds(b)], [true, false]);
    assert.deepEqual(await b.evaluate(() => texts()), await a.evaluate(() => texts()));
    assert.deepEqual([...new Set(await epochs(a))], [epoch], "the agent was let go");
    assert.deepEqual(await a.evaluate(() => holderNotices()), []);
    await a.evaluate(() => until(() => !ws.tools.definitions().some(({ name }) => ["x", "look"].includes(name))));

    // That somebody else holds the agent now: the holder looks for that one's lock. So does a viewer that
    // hears no more of the one that it believed.
    await c.evaluate((epoch) => {
      for (const of of [epoch + 1, 1e9, 2 ** 53, Infinity]) for (const t of ["holds", "says"]) channel.postMessage({ v: t === "says" ? 5 : 1, t, from: "foreign", epoch: of, n: 1, list: [] });
    }, epoch);
    await c.evaluate(() => T.turn());
    await follows(b);
    assert.equal(await b.evaluate(async () => (await ws.run("Who?")).text), "Here.");
    assert.equal(await holds(a), true);
    assert.deepEqual([...new Set(await epochs(a))], [epoch], "the agent was let go");
    // Somebody has it indeed: the last holder hears of it.
    await b.evaluate(async () => { globalThis.provider = { kind: "custom", async *stream() { yield "There."; } }; await ws.startAgent({ provider, ifRunning: "takeover" }); });
    await follows(a);
    assert.equal(await a.evaluate(async () => (await ws.run("Where?")).text), "There.");
  });
}

function versions(on) {
  // `newer`: whether the tab beside this one is; a tab reads what older versions have written, and is told of newer ones.
  for (const [version, newer] of [[1, false], [4, false], [6, true]]) {
    on(`a tab of version ${version} beside this one: neither obeys the other, and each agent works as alone`, async (t, host) => {
      const a = await begin(await open(t, host));
      const context = await t.context();
      let replaced = 0;
      await context.route("**/modules/tabs/tabs.js", async (route) => {
        const response = await route.fetch();
        const around = (await response.text()).split("const VERSION = 5;");
        replaced += around.length - 1;
        await route.fulfill({ response, body: around.join(`const VERSION = ${version};`) });
      });
      const b = await t.tab();
      await b.evaluate(async () => {
        const [{ createPackage }, glue, { ROOMS }] = await Promise.all(["package.js", "lodger_glue.js", "rooms.js"].map((file) => import(`/modules/${file}`)));
        const wasm = new URL("/lodger/lodger.wasm", location.href);
        globalThis.lodger = createPackage(glue, (room) => (room ? ROOMS[room]() : wasm), () => new Worker("/modules/worker.js", { type: "module" }));
        if (!globalThis.Worker) throw new Error("no workers");
        await lodger.init({ module_or_path: wasm });
      });
      assert.equal(replaced, 1, "the version in its text");
      await openIn(b, host);
      await a.evaluate(() => ws.run("One."));
      const codeIn = (page, work) => page.evaluate(async (work) => (await T.refused(() => (0, eval)(`(${work})`)())).code, String(work));
      const code = (work) => codeIn(b, work);
      const reads = (page, texts) => (texts ? page.evaluate(() => globalThis.texts()).then((seen) => assert.deepEqual(seen, texts)) : codeIn(page, () => ws.history()).then((code) => assert.equal(code, "newer_version")));
      await b.evaluate((newer) => until(() => newer || rec.events.some(({ type, detail }) => type === "agent:error" && detail.code === "newer_version")), newer);
      assert.equal(await code(() => ws.sendMessage("Two.")), newer ? "not_running" : "newer_version");
      assert.equal(await code(() => ws.startAgent({ ifRunning: "reject" })), "already_running");
      await b.evaluate(async () => { ws.interrupt(); await ws.stopAgent().catch(() => {}); });
      assert.deepEqual(await a.evaluate(() => [ws.status(), view.getSnapshot().holder]), [RUNNING, true]);
      assert.equal(await a.evaluate(async () => (await ws.run("Three.")).text), "Here.");
      await reads(b, newer && ["One.", "Here.", "Three.", "Here."]);
      assert.equal(await holds(b), false);
      await a.evaluate(() => ws.stopAgent());
      await begin(b);
      assert.equal(await b.evaluate(async () => (await ws.run("Four.")).text), "Here.");
      await reads(a, !newer && (await b.evaluate(() => texts())));
      assert.equal(await a.evaluate(async () => (await T.refused(() => ws.startAgent({ ifRunning: "reject" }))).code), "already_running");
    });
  }
}

/** In this page: a run of a session of its own, and all that can wait for it. `settled` says how each ends. */
async function waiting(session) {
  if (session !== "default") await ws.sessions.launch({ id: session });
  const run = await ws.sendMessage("hold", { sessionId: session });
  const last = (await ws.sessions.journal(session)).at(-1)?.seq ?? 0;
  const entries = ws.sessions.attach(session, { from: last + 1_000 });
  const read = async () => { for await (const piece of run.textStream) void piece; };
  const pending = { wait: ws.wait(run.runId, { timeoutMs: 60_000 }), result: run.result, attach: entries.next(), text: read() };
  globalThis.settled = {};
  for (const [name, promise] of Object.entries(pending)) promise.then((value) => (settled[name] = T.plain(value?.outcome ?? value?.done ?? "ok")), ({ code, message }) => (settled[name] = code ?? message));
  await until(async () => (await ws.history({ sessionId: session })).at(-1).parts.length);
  await T.turn();
}
const settledIn = (page) => page.evaluate(async () => { await until(() => Object.keys(settled).length === 4); return settled; });
// A result never rejects: nobody tells this page how the run ends.
const all = (code) => ({ wait: code, result: "unknown", attach: code, text: code });

function ends(on) {
  on("a workspace that is deleted: whatever waits in the holder and in a viewer hears of it", async (t, host) => {
    const [a, b] = await pair(t, host);
    const c = await t.tab();
    await a.evaluate(waiting, "default");
    await b.evaluate(waiting, "docs");
    await c.evaluate(() => lodger.deleteWorkspace("shared"));
    for (const page of [a, b]) {
      assert.deepEqual(await settledIn(page), all("workspace_deleted"));
      assert.equal(await page.evaluate(async () => (await T.refused(() => ws.sendMessage("?"))).code), "workspace_deleted");
    }
  });

  on("a viewer that closes: what waits there hears of it, what waits in the holder does not", async (t, host) => {
    const [a, b] = await pair(t, host);
    await a.evaluate(waiting, "default");
    await b.evaluate(waiting, "docs");
    await b.evaluate(() => ws.close());
    assert.deepEqual(await settledIn(b), all("workspace_closed"));
    assert.deepEqual(await a.evaluate(() => settled), {});
    await a.evaluate(() => ws.interrupt());
    await a.evaluate(() => until(() => Object.keys(settled).length === 3));
    assert.deepEqual(await a.evaluate(() => settled), { wait: "interrupted", result: "interrupted", text: "ok" });
  });

  on("a holder that closes: what waits there hears of it; a viewer's goes on with the next holder", async (t, host) => {
    const [a, b] = await pair(t, host);
    await a.evaluate(waiting, "default");
    await b.evaluate(waiting, "docs");
    await a.evaluate(() => ws.close());
    assert.deepEqual(await settledIn(a), all("workspace_closed"));
    await b.evaluate(() => until(() => ws.status().lifecycle === "Stopped"));
    assert.deepEqual(await b.evaluate(() => settled), {});
    await begin(b);
    await b.evaluate(() => ws.sessions.play("docs"));
    await b.evaluate(async () => { await until(() => globalThis.goOn); goOn(); });
    await b.evaluate(() => until(() => Object.keys(settled).length === 3));
    assert.deepEqual(await b.evaluate(() => settled), { wait: "completed", result: "completed", text: "ok" });
  });
}
