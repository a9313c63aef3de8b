// Pages that go away: reloads, crashes, a second tab, a module that panics, a storage that is lost. After each, the
// history is whole, no tool with effects ran twice, and the next message is answered with a valid request.
import assert from "node:assert/strict";
import { crasher, crashHooks, crashPoints, kindOf } from "../lib/crash.mjs";
import { checkRun } from "../lib/events.mjs";
import { drop, gate, pause, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

const RUNNING = { lifecycle: "Running", is_streaming: false };
const MOMENTS = 30;
const KINDS = ["accepted", "commit asked", "commit stored", "event status-changed", "event lifecycle start", "event session-started", "event message-chunk", "event tool-call started", "tool before its effect",
  "tool after its effect", "event tool-call completed", "event session-completed", "event lifecycle end"];
const RACES = process.env.LODGER_CAMPAIGN === "1" ? 50 : 10;

export default function (test) {
  reloads(test);
  networks(test);
  crashes(test);
  tabs(test);
  lostHarness(test);
}

// ------------------------------------------------------------------ networks

function networks(test) {
  // The protocol of the browser tells a worker that the network is gone, but takes it from pages only.
  test("in a worker too, a run that waits for the network goes on when it is back", async (t) => {
    const route = await t.raw(message("First."), message("Second."));
    const page = await t.tab();
    await page.evaluate(async (base) => {
      globalThis.ws = await lodger.openWorkspace("life", { host: "worker" });
      globalThis.rec = T.record(document, ws);
      globalThis.waits = () => rec.events.filter(({ type, detail }) => type === "agent:notice" && detail.kind === "offline").length;
      await ws.startAgent({ provider: { ...T.anthropic(base), allowHttp: true } });
    }, route.base.replace("127.0.0.1", "model.test"));
    assert.equal(await page.evaluate(async () => (await ws.run("One.")).text), "First.");
    await page.context().setOffline(true);
    await page.evaluate(async () => { globalThis.run = await ws.sendMessage("Two."); });
    await page.waitForFunction(() => waits() === 1);
    await page.context().setOffline(false);
    assert.equal(await page.evaluate(async () => (await run.result).text), "Second.");
  });

  test("without a network a run waits for it, before an answer and in the middle of one", async (t) => {
    const whole = message("One two three.");
    // The connection breaks some time after the network is gone.
    const gone = gate();
    const route = await t.raw(stream(whole.slice(0, 4), gone, drop), whole, message("Second."));
    const page = await t.tab();
    // Not this machine, as far as the browser knows: a local server needs no network.
    await page.evaluate(async (base) => {
      globalThis.ws = await lodger.openWorkspace("life");
      globalThis.rec = T.record(document, ws);
      globalThis.waits = () => rec.events.filter(({ type, detail }) => type === "agent:notice" && detail.kind === "offline").length;
      globalThis.view = ws.view();
      view.subscribe(() => {});
      await ws.startAgent({ provider: { ...T.anthropic(base), allowHttp: true } });
      globalThis.run = await ws.sendMessage("Count.");
    }, route.base.replace("127.0.0.1", "model.test"));
    await page.evaluate(() => rec.chunk());
    const offline = (off) => page.context().setOffline(off);
    await offline(true);
    gone.open();
    await page.waitForFunction(() => waits() === 1);
    const told = await page.evaluate(() => rec.events.find(({ detail }) => detail.kind === "offline").detail.error);
    assert.match(told.hint, /goes on by itself/);
    assert.deepEqual(await page.evaluate(() => ws.status()), { lifecycle: "Running", is_streaming: true });
    assert.equal(await page.evaluate(() => view.getSnapshot().offline), true);
    await offline(false);
    assert.equal(await page.evaluate(async () => (await run.result).text), "One two three.");
    assert.equal(await page.evaluate(() => view.getSnapshot().offline), undefined);
    assert.deepEqual(await page.evaluate(async () => (await ws.history()).map(T.textOf)), ["Count.", "One two three."]);
    await offline(true);
    await page.evaluate(async () => { globalThis.run = await ws.sendMessage("Again."); });
    await page.waitForFunction(() => waits() === 2);
    await offline(false);
    assert.equal(await page.evaluate(async () => (await run.result).text), "Second.");
    assert.deepEqual([await page.evaluate(() => rec.events.filter(({ type }) => type === "agent:error").length), route.violations], [0, []]);
  });

  test("without a network a key that is fetched, a silent server and a model of the page are waited for", async (t) => {
    const route = await t.raw(message("First."), stream([], gate(), []), message("Second."));
    const page = await t.tab();
    await page.evaluate(async (base) => {
      globalThis.ws = await lodger.openWorkspace("life");
      globalThis.rec = T.record(document, ws);
      globalThis.waits = () => rec.events.filter(({ type, detail }) => type === "agent:notice" && detail.kind === "offline").length;
      const apiKey = async () => { await fetch("/signal/own-key", { method: "POST" }); return "sk-ant-test"; };
      const page = async function* () {
        try { await fetch("/signal/own-model", { method: "POST" }); } catch { throw Object.assign(new Error("my backend is away"), { code: "network" }); }
        yield "Of the page.";
      };
      const bare = async function* () {
        await fetch("/signal/own-model", { method: "POST" });
        yield "By a fetch alone.";
      };
      const anthropic = { ...T.anthropic(base), apiKey, allowHttp: true, timeouts: { firstByteMs: 6_000 } };
      await ws.startAgent({ provider: anthropic, providers: { page: { kind: "custom", model: "own", stream: page }, bare: { kind: "custom", stream: bare } } });
      for (const [id, provider] of [["own", "page"], ["bare", "bare"]]) await ws.sessions.launch({ id, provider });
    }, route.base.replace("127.0.0.1", "model.test"));
    for (const name of ["own-key", "own-model"]) t.signal(name, () => true);
    const offline = (off) => page.context().setOffline(off);
    const send = (text, sessionId) => page.evaluate(async ([text, sessionId]) => { globalThis.run = await ws.sendMessage(text, { sessionId }); }, [text, sessionId]);
    const said = () => page.evaluate(async () => (await run.result).text);
    let waits = 0;
    for (const [text, sessionId, answer] of [["By a key.", "default", "First."], ["By a model.", "own", "Of the page."], ["By its fetch.", "bare", "By a fetch alone."]]) {
      await offline(true);
      await send(text, sessionId);
      await page.waitForFunction((n) => waits() === n, ++waits);
      await offline(false);
      assert.equal(await said(), answer);
    }
    // A request that is on its way when the network goes, and of which nobody hears any more.
    await send("By a server.", "default");
    await route.request(2);
    await offline(true);
    await page.waitForFunction((n) => waits() === n, ++waits);
    await offline(false);
    assert.equal(await said(), "Second.");
    assert.deepEqual([await page.evaluate(() => rec.events.filter(({ type }) => type === "agent:error").length), route.violations], [0, []]);
  });

  test("without a network a part that has not come is told as that, and comes with the next call", async (t) => {
    const page = await t.tab();
    t.allowError(/./);
    await page.evaluate(async () => {
      globalThis.ws = await lodger.openWorkspace("life");
      await ws.startAgent({ provider: scriptedModel(["Here."]) });
      await ws.run("Hello?");
      // What the core needs for this is there, what counts the rows is not.
      await ws.storage();
    });
    await page.context().setOffline(true);
    const refused = await page.evaluate(async () => {
      const file = new Blob(["{}"]);
      const calls = { export: () => ws.sessions.export("default"), import: () => ws.sessions.import(file), replay: () => ws.sessions.replay(file), sizes: () => ws.storage({ sessions: true }) };
      const told = {};
      for (const [name, call] of Object.entries(calls)) told[name] = await T.refused(call);
      return told;
    });
    for (const [name, { code, retryable, message, hint }] of Object.entries(refused)) {
      assert.deepEqual([code, retryable], ["wasm_unavailable", true], `${name}: ${message}`);
      assert.match(message, /^A part of lodger could not be loaded: .+\.js/, name);
      assert.match(hint, /try again.*load the page again|try again.*reload the page/i, name);
    }
    await page.context().setOffline(false);
    const { same, id, sizes } = await page.evaluate(async () => {
      const file = await ws.sessions.export("default");
      const { same } = await ws.sessions.replay(file);
      return { same, id: (await ws.sessions.import(file)).id, sizes: (await ws.storage({ sessions: true })).sessions.length };
    });
    assert.deepEqual([same, id, sizes], [true, "default-2", 2]);
  });
}

// ------------------------------------------------------------------ reloads

/** The package from its modules: only there can a test reach into the wasm and break it. */
const fromModules = (page) => page.evaluate(async () => {
  const [{ createPackage }, glue, { ROOMS }] = await Promise.all(["package.js", "lodger_glue.js", "rooms.js"].map((file) => import(`/modules/${file}`)));
  globalThis.lodger = createPackage(glue, (room) => (room ? ROOMS[room]() : new URL("/lodger/lodger.wasm", location.href)));
  globalThis.breakDown = glue.break_down;
});

/** A tab in mid-answer: two words have come and are shown, the rest waits. */
async function midAnswer(t, { rest = "three four.", resume, breakable = false } = {}) {
  const whole = message(`One two ${rest}`);
  const hold = gate();
  const route = await t.raw(stream(whole.slice(0, 4), hold, whole.slice(4)), message(`One two ${rest}`), message("Here."));
  const page = await t.tab();
  if (breakable) await fromModules(page);
  const runId = await page.evaluate(async ([base, resume]) => {
    globalThis.ws = await lodger.openWorkspace("life");
    await ws.startAgent({ provider: T.anthropic(base), ...(resume && { resume }) });
    const rec = T.record();
    const run = await ws.sendMessage("Count.");
    await rec.seen((e) => e.type === "agent:message-chunk" && e.detail.offset + e.detail.text.length >= 8);
    return run.runId;
  }, [route.base, resume]);
  return { page, route, runId, hold };
}

/** Opens and starts again after the page was lost; gives what is there before anything else happens. */
const comeBack = (page, base, more = {}) => page.evaluate(async ([base, more]) => {
  globalThis.ws = await lodger.openWorkspace("life");
  globalThis.rec = T.record(document, ws);
  const stopped = T.plain(await ws.history());
  await ws.startAgent({ provider: T.anthropic(base), ...more });
  const view = ws.view();
  view.subscribe(() => {});
  while (view.getSnapshot().status === "loading") await T.turn();
  return { stopped, status: ws.status(), view: view.getSnapshot().status, history: T.plain(await ws.history()) };
}, [base, more]);

function reloads(test) {
  test("reload in mid-answer: the partial text is kept, the run held, resume() goes on with it", async (t) => {
    const { page, route, runId, hold } = await midAnswer(t);
    await page.reload();
    await t.ready(page);
    hold.open();
    const back = await comeBack(page, route.base);
    assert.deepEqual(back.status, RUNNING, "a held run does not suspend the harness");
    assert.equal(back.view, "held");
    for (const [when, history] of [["started", back.history], ["before the start", back.stopped]]) {
      assert.deepEqual(history.map((m) => [m.role, m.status]), [["user", "complete"], ["assistant", "partial"]], when);
      assert.equal(history[1].parts[0]?.text, "One two ", when);
      assert.equal(history[1].runId, runId, when);
    }
    assert.equal(route.requests.length, 1, "nothing is sent by itself");
    const seen = await page.evaluate(async () => {
      const run = await ws.resume();
      const result = T.plain(await run.result);
      await rec.ended(run.runId);
      return { runId: run.runId, result, waited: T.plain(await ws.wait(run.runId)), history: T.plain(await ws.history()), view: ws.view().getSnapshot().status, ends: rec.events.filter((e) => e.type === "agent:session-completed").length };
    });
    assert.equal(seen.runId, runId, "the same run");
    assert.equal(seen.result.text, "One two three four.", "the new answer takes the place of the partial text");
    assert.equal(seen.waited.status, "ok");
    assert.equal(seen.ends, 1);
    assert.equal(seen.view, "ready");
    assert.deepEqual(seen.history.map((m) => [m.role, m.status, m.parts.map((p) => p.text).join("")]), [["user", "complete", "Count."], ["assistant", "complete", "One two three four."]]);
    assert.equal(seen.history[1].id, back.history[1].id, "the message keeps its id");
    assert.deepEqual(route.violations, []);
  });

  for (const reloads of [false, true]) {
    test(`Continue after Stop${reloads ? ", after a reload" : ""}: resume() goes on with what was interrupted, and what was shown stays`, async (t) => {
      const { page, route, runId, hold } = await midAnswer(t);
      const stopped = await page.evaluate(async (runId) => {
        ws.interrupt();
        const waited = T.plain(await ws.wait(runId));
        return { waited, history: T.plain(await ws.history()) };
      }, runId);
      hold.open();
      assert.equal(stopped.waited.outcome, "interrupted");
      assert.deepEqual(stopped.history.map((m) => [m.role, m.status, m.parts[0].text]), [["user", "complete", "Count."], ["assistant", "interrupted", "One two "]]);
      if (reloads) {
        await page.reload();
        await t.ready(page);
        await comeBack(page, route.base);
      }
      const seen = await page.evaluate(async () => {
        const run = await ws.resume();
        const result = T.plain(await run.result);
        const refused = await T.refused(() => ws.resume());
        return { runId: run.runId, result, refused: refused.code, history: T.plain(await ws.history()) };
      });
      assert.deepEqual([seen.result.outcome, seen.result.text, seen.refused], ["completed", "One two three four.", "nothing_to_resume"]);
      assert.notEqual(seen.runId, runId, "another run goes on");
      assert.deepEqual(seen.history.map((m) => [m.role, m.status, m.parts[0].text]), [["user", "complete", "Count."], ["assistant", "interrupted", "One two "], ["assistant", "complete", "One two three four."]]);
      assert.deepEqual(route.requests.map(({ json }) => JSON.stringify(json.messages[0]).includes("Count.")), [true, true]);
      assert.deepEqual(route.violations, []);
    });
  }

  test('reload in mid-answer with resume: "auto": it goes on by itself', async (t) => {
    const { page, route, runId, hold } = await midAnswer(t, { resume: "auto" });
    await page.reload();
    await t.ready(page);
    hold.open();
    const seen = await page.evaluate(async ([base, runId]) => {
      globalThis.ws = await lodger.openWorkspace("life");
      await ws.startAgent({ provider: T.anthropic(base), resume: "auto" });
      const waited = T.plain(await ws.wait(runId));
      return { waited, history: T.plain(await ws.history()) };
    }, [route.base, runId]);
    assert.equal(seen.waited.status, "ok");
    assert.equal(seen.history[1].parts[0].text, "One two three four.");
    assert.deepEqual(route.violations, []);
  });

  const WAYS = { 'resume: "auto"': { resume: "auto" }, "resume({ sessionId })": {}, "sendMessage": {} };
  for (const [way, more] of Object.entries(WAYS)) {
    test(`reload in mid-answer of a named session: it goes on by ${way}`, async (t) => {
      const hold = gate();
      const words = message("One two three four.");
      const route = await t.raw(stream(words.slice(0, 4), hold, words.slice(4)), words);
      const page = await t.tab();
      const open = async (config) => {
        globalThis.ws = await lodger.openWorkspace("named life");
        await ws.startAgent({ provider: T.anthropic(config.base), ...config.more });
      };
      await page.evaluate(open, { base: route.base, more: {} });
      const runId = await page.evaluate(async () => {
        await ws.sessions.launch({ id: "side" });
        const chunk = T.record(document).chunk(1);
        const { runId } = await ws.sendMessage("Count.", { sessionId: "side" });
        await chunk;
        return runId;
      });
      await page.reload();
      await t.ready(page);
      hold.open();
      await page.evaluate(open, { base: route.base, more });
      const seen = await page.evaluate(async ([runId, way]) => {
        const went = way.startsWith("resume(") ? await ws.resume({ sessionId: "side" }) : way === "sendMessage" ? await ws.sendMessage("And on.", { sessionId: "side" }) : { runId };
        const { status } = await ws.wait(went.runId);
        return { same: went.runId === runId, status, said: (await ws.history({ sessionId: "side" })).map(T.textOf), session: (await ws.sessions.status("side")).session.status };
      }, [runId, way]);
      // A message ends the run that the page has left, and is answered. How much of that one is kept, its drafts say.
      const ends = way === "sendMessage";
      const [cut] = ends ? seen.said.splice(1, 1) : [""];
      assert.match(cut, ends ? /^One/ : /^$/);
      assert.deepEqual([seen.same, seen.status, seen.said, seen.session], [!ends, "ok", ["Count.", ...(ends ? ["And on."] : []), "One two three four."], "idle"]);
      assert.deepEqual(route.violations, []);
    });
  }

  test("a new message instead ends the held run as interrupted and keeps its text", async (t) => {
    const { page, route, runId, hold } = await midAnswer(t);
    await page.reload();
    await t.ready(page);
    hold.open();
    await comeBack(page, route.base);
    const seen = await page.evaluate(async (runId) => {
      const result = await ws.run("Are you there?");
      return { text: result.text, old: T.plain(await ws.wait(runId)), history: T.plain(await ws.history()), interrupted: rec.events.filter((e) => e.type === "agent:session-interrupted").map((e) => e.detail.runId) };
    }, runId);
    assert.equal(seen.text, "One two three four.");
    assert.deepEqual([seen.old.status, seen.old.outcome], ["ok", "interrupted"]);
    assert.deepEqual(seen.interrupted, [runId]);
    assert.deepEqual(seen.history.map((m) => [m.role, m.status]), [["user", "complete"], ["assistant", "interrupted"], ["user", "complete"], ["assistant", "complete"]]);
    const sent = JSON.stringify(route.requests[1].json.messages);
    assert.match(sent, /One two/, "the partial text stays in the conversation");
    assert.match(sent, /Are you there\?/);
    assert.deepEqual(route.violations, []);
  });

  test("close() in mid-answer leaves the run held, as if the page had closed", async (t) => {
    const { page, route, runId, hold } = await midAnswer(t);
    await page.evaluate(() => ws.close());
    await route.requests[0].closed;
    hold.open();
    const back = await comeBack(page, route.base);
    assert.equal(back.view, "held");
    assert.equal(back.history[1].parts[0].text, "One two ");
    const again = await page.evaluate(async () => { const run = await ws.resume(); await run.result; return run.runId; });
    assert.equal(again, runId);
  });

  test("resume() after a failed run goes on in a new run, without running a tool again; with nothing to go on with it is refused", async (t) => {
    const broken = message("One two three.");
    const route = await t.raw(message({ tool: "charge", id: "toolu_c" }), stream(broken.slice(0, 4)), message("All done."));
    const page = await t.tab();
    const seen = await page.evaluate(async (base) => {
      globalThis.ws = await lodger.openWorkspace("life");
      let charges = 0;
      ws.tools.register({ name: "charge", description: "Charges.", inputSchema: { type: "object", properties: {} }, execute: () => { charges++; return "ok"; } });
      await ws.startAgent({ provider: T.anthropic(base), retry: { cut: false } });
      const none = await T.refused(() => ws.resume());
      const failed = await T.refused(() => ws.run("Go."));
      const run = await ws.resume();
      const result = T.plain(await run.result);
      return { none, failed, result, over: await T.refused(() => ws.resume()), charges, roles: ws.view().getSnapshot().messages.map((m) => `${m.role} ${m.status}`) };
    }, route.base);
    assert.equal(seen.none.code, "nothing_to_resume");
    assert.equal(seen.over.code, "nothing_to_resume");
    assert.equal(seen.failed.code, "stream_broken");
    assert.equal(seen.result.text, "All done.");
    assert.deepEqual(seen.roles, ["user complete", "assistant failed", "assistant complete"]);
    assert.equal(seen.charges, 1, "the finished call is not repeated");
    assert.deepEqual(route.violations, []);
  });

  for (const [title, tool, expected, says] of [
    ["a person is asked about a tool with effects that was running; no: its outcome stays unknown", { name: "charge" }, { runs: 1, status: "unknown", error: true }, "deny"],
    ["a person is asked about a tool with effects that was running; yes: it runs again", { name: "charge" }, { runs: 2, status: "completed", error: false }, "allow_once"],
    ["a read-only tool that was running is run again", { name: "get_rate", readOnly: true }, { runs: 2, status: "completed", error: false }],
    ['onResume: "rerun" runs again, whatever it is', { name: "charge", onResume: "rerun" }, { runs: 2, status: "completed", error: false }],
    ['onResume: "ask" asks, whatever it is', { name: "get_rate", onResume: "ask" }, { runs: 2, status: "completed", error: false }, "allow_once"],
    ['onResume: "fail" is told as failed', { name: "get_rate", onResume: "fail" }, { runs: 1, status: "failed", error: true }],
  ]) {
    test(`reload inside a tool: ${title}`, async (t) => {
      const route = await t.raw((body) => (JSON.stringify(body.messages.at(-1).content).includes("tool_result") ? message("Understood.") : message({ tool: tool.name, id: "toolu_r" })));
      const page = await t.tab();
      const begin = async (slow) => page.evaluate(async ([base, tool, slow]) => {
        globalThis.ws = await lodger.openWorkspace("life");
        globalThis.rec = T.record(document, ws);
        const called = new Promise((resolve) => ws.tools.register({ ...tool, description: "A tool.", inputSchema: { type: "object", properties: {} },
          execute: async () => { await fetch(`${base}/effect`, { method: "POST" }); resolve(); return slow ? new Promise(() => {}) : "ran"; } }));
        await ws.startAgent({ provider: T.anthropic(base) });
        if (!slow) return;
        await ws.sendMessage("Use it.");
        await called;
      }, [route.base, tool, slow]);
      await begin(true);
      await page.reload();
      await t.ready(page);
      await begin(false);
      const seen = await page.evaluate(async (says) => {
        const asked = [];
        ws.addEventListener("agent:permission-required", ({ detail }) => { asked.push([detail.tool, detail.reason]); detail.respond(says); });
        const run = await ws.resume();
        const { text } = await run.result;
        return { text, asked, history: T.plain(await ws.history()) };
      }, says);
      assert.equal(seen.text.includes("Understood."), true);
      assert.deepEqual(seen.asked, says ? [[tool.name, "unknown_outcome"]] : []);
      assert.equal(route.effects.length, expected.runs, "how often it ran");
      const call = seen.history[1].parts.find((p) => p.type === "tool-call");
      assert.equal(call.status, expected.status);
      const answer = route.requests.at(-1).json.messages.at(-1).content.find((b) => b.type === "tool_result");
      assert.equal(answer.is_error === true, expected.error);
      assert.deepEqual(route.violations, []);
    });
  }

  test("stopAgent in mid-answer interrupts first", async (t) => {
    const { page, route, runId, hold } = await midAnswer(t);
    const seen = await page.evaluate(async (runId) => {
      const rec = T.record();
      await ws.stopAgent();
      await rec.ended(runId);
      return { status: ws.status(), waited: T.plain(await ws.wait(runId)), history: T.plain(await ws.history()), events: rec.events.map((e) => e.type) };
    }, runId);
    hold.open();
    assert.equal(seen.status.lifecycle, "Stopped");
    assert.equal(seen.waited.outcome, "interrupted");
    assert.equal(seen.history[1].status, "interrupted");
    assert.ok(seen.events.includes("agent:session-interrupted"));
    await route.requests[0].closed;
  });
}

// ------------------------------------------------------------------ crashes

const FINAL = "The card is charged, the receipt is a page, and here is the rest of the story.";

/** A model that answers by what it reads, so that it does not matter how often it is asked. */
const shopModel = (body) => {
  if (JSON.stringify(body.messages.at(-1).content).includes("Are you there?")) return message("Here.");
  const called = new Set(body.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : [])).filter((b) => b.type === "tool_use").map((b) => b.name));
  const slowly = (events) => stream(events.flatMap((e) => [e, pause(12)]));
  if (!called.has("charge")) return slowly(message(["I charge the card now.", { tool: "charge", args: { amount: 5 } }]));
  if (!called.has("create_page")) return message({ tool: "create_page", args: { title: "Receipt", content: "Paid 5." } });
  if (!called.has("get_page_tree")) return message([{ thinking: "One look more.", signature: "c2lnbmVk" }, { tool: "get_page_tree" }]);
  return slowly(message(FINAL));
};

/** In the page: starts the shop's run, armed to crash at `crashAt`; gives the moments when it went through. */
const shopRun = (page, base, crashAt, crashSignal, name = "life") => page.evaluate(async ([base, crashAt, crashSignal, name]) => {
  globalThis.ws = await lodger.openWorkspace(name);
  registerCharge(ws, base);
  await ws.startAgent({ provider: T.anthropic(base) });
  return countedRun(ws, "Charge me 5.", crashAt, crashSignal);
}, [base, crashAt, crashSignal, name]);

const REGISTER_CHARGE = `globalThis.registerCharge = (ws, base) => ws.tools.register({ name: "charge", description: "Charges the card.",
  inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  execute: async () => { globalThis.hit?.("tool before its effect"); await fetch(base + "/effect", { method: "POST" }); globalThis.hit?.("tool after its effect"); return "charged"; } });`;

function crashes(test) {
  let rehearsal; // the moments of a run that is let through, asked once
  const rehearse = (t) => (rehearsal ??= (async () => {
    const route = await t.raw(shopModel);
    const page = await t.tab({ init: `(${crashHooks})(); ${REGISTER_CHARGE}` });
    const moments = await shopRun(page, route.base, "never", "none", "rehearsal");
    await page.close();
    assert.equal(route.effects.length, 1);
    assert.deepEqual(route.violations, []);
    return moments;
  })());

  test("the moments of a run: every kind of boundary is among them", async (t) => {
    const moments = await rehearse(t);
    t.note(`${moments.length} moments`);
    assert.deepEqual([...new Set(moments.map(kindOf))].sort(), KINDS.toSorted());
    assert.ok(moments.length >= MOMENTS, `${moments.length} moments`);
  });

  for (const [i, [title, choose]] of crashPoints(KINDS, MOMENTS).entries()) {
    test(title, async (t) => {
      const at = choose(await rehearse(t));
      const route = await t.raw(shopModel);
      const name = `crash-${i}`;
      const page = await t.tab({ init: `(${crashHooks})(); ${REGISTER_CHARGE}` });
      const crash = await crasher(t, page);
      let told;
      const reached = new Promise((done) => t.env.site.signal(name, (body) => { told = body; done("reached"); return new Promise(() => {}); }));
      const through = shopRun(page, route.base, at, name).then(() => "the run was through", (error) => error.message.split("\n")[0]);
      // How often commits are made is a matter of time; a moment that did not come this time is the end of the run.
      const how = await Promise.race([reached, through]);
      const accepted = told ? told.accepted : await page.evaluate(() => globalThis.accepted);
      await crash();
      t.note(how === "reached" ? at : `${at} did not come, ${how}`);
      const before = { requests: route.requests.length, effects: route.effects.length };

      const tab = await t.tab({ init: REGISTER_CHARGE });
      const back = await tab.evaluate(async (base) => {
        globalThis.ws = await lodger.openWorkspace("life");
        registerCharge(ws, base);
        await ws.startAgent({ provider: T.anthropic(base) });
        const view = ws.view();
        view.subscribe(() => {});
        while (view.getSnapshot().status === "loading") await T.turn();
        return { status: ws.status(), view: view.getSnapshot().status, history: T.plain(await ws.history()), tree: T.plain(await ws.pages.tree()) };
      }, route.base);
      assert.deepEqual(back.status, RUNNING);
      assert.equal(route.requests.length, before.requests, "a start sends nothing");
      checkHistory(back, { accepted, effects: route.effects.length });

      const goOn = i % 2 === 0 && back.view === "held";
      const seen = await tab.evaluate(async (goOn) => {
        let resumed;
        // Who is asked what became of the charge does not know, and lets it not run again.
        ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("deny"));
        if (goOn) { const run = await ws.resume(); resumed = { runId: run.runId, ...T.plain(await run.result) }; }
        const { text } = await ws.run("Are you there?");
        return { resumed, text, history: T.plain(await ws.history()), tree: T.plain(await ws.pages.tree()) };
      }, goOn);
      assert.equal(seen.text, "Here.", "the next message is answered");
      assert.deepEqual(route.violations, [], "every request was valid");
      assert.ok(route.effects.length <= 1, `the tool with effects ran ${route.effects.length} times`);
      checkHistory(seen, { accepted, effects: route.effects.length });
      if (goOn) {
        assert.equal(seen.resumed.outcome, "completed");
        if (accepted) assert.equal(seen.resumed.runId, accepted, "the same run");
        assert.ok(seen.resumed.text.endsWith(FINAL));
        assert.deepEqual(seen.tree.map((p) => p.title), ["Receipt"], "the page is there exactly once");
      }
    });
  }
}

/** What is stored agrees with itself and with what happened outside. */
function checkHistory({ history, tree }, { accepted, effects }) {
  const ids = history.map((m) => m.id);
  assert.equal(new Set(ids).size, ids.length, "no message twice");
  if (accepted) assert.equal(history[0]?.parts[0].text, "Charge me 5.", "an accepted message is in the history");
  assert.ok(history.filter((m) => m.role === "user" && m.parts[0].text === "Charge me 5.").length <= 1);
  const calls = history.flatMap((m) => m.parts.filter((p) => p.type === "tool-call"));
  assert.equal(new Set(calls.map((c) => c.toolCallId)).size, calls.length, "no call twice");
  const charge = calls.find((c) => c.tool === "charge");
  if (charge?.status === "completed") assert.equal(effects, 1, "a charge that is told as completed has happened");
  if (effects) assert.ok(charge, "a charge that has happened was ordered in the journal");
  const page = calls.find((c) => c.tool === "create_page");
  assert.equal(tree.length, page?.status === "completed" ? 1 : 0, `the page and its outcome are one: ${page?.status}, ${tree.length} pages`);
}

// ------------------------------------------------------------------ two tabs

function tabs(test) {
  test(`two tabs start at once, ${RACES} times: one winner`, async (t) => {
    const [a, b] = [await t.tab(), await t.tab()];
    const wins = { a: 0, b: 0 };
    for (let i = 0; i < RACES; i++) {
      const name = `race-${i}`;
      for (const page of [a, b]) await page.evaluate(async (name) => { globalThis.ws = await lodger.openWorkspace(name); }, name);
      let arrived = 0;
      let go;
      const both = new Promise((r) => (go = r));
      t.env.site.signal("race", () => { if (++arrived === 2) go(); return both; });
      const race = (page) => page.evaluate(async () => {
        await fetch("/signal/race", { method: "POST" });
        return T.settle(() => ws.startAgent({ ifRunning: "reject", provider: scriptedModel(["Won."]) }));
      });
      const [one, two] = await Promise.all([race(a), race(b)]);
      const winners = [one, two].filter((r) => !r.error).length;
      assert.equal(winners, 1, `race ${i}: ${JSON.stringify([one, two])}`);
      const [winner, loser, lost] = one.error ? [b, a, one] : [a, b, two];
      wins[one.error ? "b" : "a"]++;
      assert.equal(lost.error.code, "already_running");
      assert.match(lost.error.message, /already running/);
      assert.equal(await winner.evaluate(async () => (await ws.run("Who won?")).text), "Won.");
      assert.equal(await loser.evaluate(async () => { for (;;) if (ws.status().lifecycle === "Running") return ws.view().getSnapshot().holder; else await T.turn(); }), false);
      if (i % 5 === 0) {
        // The winner lets go, and the loser may start and sees what was said.
        await winner.evaluate(() => ws.stopAgent());
        const history = await loser.evaluate(async () => { await ws.startAgent(); return (await ws.history()).map((m) => T.textOf(m)); });
        assert.deepEqual(history, ["Who won?", "Won."]);
      }
      for (const page of [a, b]) await page.evaluate(() => ws.close());
    }
    t.note(`${wins.a} to ${wins.b}`);
  }, { hangMs: 300_000 });

  test("a tab that crashes lets the other one start", async (t) => {
    const [a, b] = [await t.tab(), await t.tab()];
    const route = await t.raw(message("First."), message("Second."));
    const start = (page) => page.evaluate(async (base) => { globalThis.ws ??= await lodger.openWorkspace("life"); return T.settle(() => ws.startAgent({ ifRunning: "reject", provider: T.anthropic(base) })); }, route.base);
    assert.equal((await start(a)).error, undefined);
    await a.evaluate(() => ws.run("One"));
    assert.equal((await start(b)).error.code, "already_running");
    await (await crasher(t, a))();
    assert.equal((await start(b)).error, undefined);
    const seen = await b.evaluate(async () => { await ws.run("Two"); return (await ws.history()).map((m) => T.textOf(m)); });
    assert.deepEqual(seen, ["One", "First.", "Two", "Second."]);
    assert.deepEqual(route.violations, []);
  });

  test("deleteWorkspace closes the handles of every tab and leaves nothing", async (t) => {
    const [a, b] = [await t.tab(), await t.tab()];
    await a.evaluate(async () => { globalThis.ws = await lodger.openWorkspace("life"); await ws.startAgent({ provider: scriptedModel(["Hi"]) }); await ws.run("Hello"); });
    await b.evaluate(() => lodger.deleteWorkspace("life"));
    const seen = await a.evaluate(async () => ({ error: await T.refused(() => ws.history()), names: (await indexedDB.databases()).map((d) => d.name) }));
    assert.equal(seen.error.code, "workspace_deleted");
    assert.ok(!seen.names.includes("lodger:life"), seen.names.join());
    const again = await b.evaluate(async () => (await lodger.openWorkspace("life")).history());
    assert.deepEqual(again, []);
  });

  test("a newer version in another tab: what runs is held, the page is told to reload", async (t) => {
    const { page, hold } = await midAnswer(t);
    const other = await t.tab();
    await page.evaluate(() => { globalThis.rec = T.record(document, ws); ws.view(); });
    await other.evaluate(() => new Promise((resolve, reject) => {
      const request = indexedDB.open("lodger:life", 77);
      request.onsuccess = () => { request.result.close(); resolve(); };
      request.onerror = () => reject(request.error);
    }));
    hold.open();
    const seen = await page.evaluate(async () => {
      const { detail } = await rec.seen((e) => e.type === "agent:error");
      await rec.seen((e) => e.type === "agent:status-changed");
      const view = ws.view().getSnapshot();
      const opened = await T.refused(() => lodger.openWorkspace("life"));
      await new Promise((resolve) => { indexedDB.deleteDatabase("lodger:life").onsuccess = resolve; });
      const again = await lodger.openWorkspace("life");
      return { told: detail, types: rec.events.map((e) => e.type), status: ws.status(), later: await T.refused(() => ws.history()), view: [view.status, view.error.code, view.holder], opened: [opened.code, opened.hint], again: (await again.history()).length };
    });
    assert.deepEqual([seen.told.code, seen.told.workspace], ["workspace_closed", "life"]);
    assert.match(seen.told.message, /newer version/);
    assert.match(seen.told.hint, /[Rr]eload the page/);
    assert.deepEqual([seen.later.code, seen.later.message, seen.later.hint], ["workspace_closed", seen.told.message, seen.told.hint]);
    assert.deepEqual(seen.types, ["agent:error", "agent:status-changed"], "no run has ended by it");
    assert.deepEqual(seen.status, { lifecycle: "Stopped", is_streaming: false });
    assert.deepEqual(seen.view, ["error", "workspace_closed", false]);
    assert.equal(seen.opened[0], "newer_version");
    assert.match(seen.opened[1], /reload/);
    assert.equal(seen.again, 0);
  });

  test("a workspace that another tab deletes: the page is told, and opening it again begins anew", async (t) => {
    const [a, b] = [await t.tab(), await t.tab()];
    await a.evaluate(async () => { globalThis.ws = await lodger.openWorkspace("life"); await ws.startAgent({ provider: scriptedModel(["Hi"]) }); await ws.run("Hello"); globalThis.rec = T.record(document, ws); });
    await b.evaluate(() => lodger.deleteWorkspace("life"));
    const seen = await a.evaluate(async () => {
      const { detail } = await rec.seen((e) => e.type === "agent:error");
      await rec.seen((e) => e.type === "agent:status-changed");
      const later = await T.refused(() => ws.run("x"));
      const again = await lodger.openWorkspace("life");
      await again.startAgent({ provider: scriptedModel(["Anew"]) });
      return { told: [detail.code, detail.hint], later: [later.code, later.hint], status: ws.status().lifecycle, text: (await again.run("Hello")).text };
    });
    assert.equal(seen.told[0], "workspace_deleted");
    assert.match(seen.told[1], /open it again/);
    assert.deepEqual(seen.later, seen.told);
    assert.deepEqual([seen.status, seen.text], ["Stopped", "Anew"]);
  });

  test("the agent runs in another tab: a start follows it; one that must not is told who has it and what can be done", async (t) => {
    const [a, b] = [await t.tab(), await t.tab()];
    await a.evaluate(async () => { document.title = "The Shop"; globalThis.ws = await lodger.openWorkspace("life"); await ws.startAgent({ provider: scriptedModel(["Hi"]) }); });
    const [plain, join, here] = await b.evaluate(async () => {
      globalThis.ws = await lodger.openWorkspace("life");
      return [await T.refused(() => ws.startAgent({ ifRunning: "reject" })), await ws.startAgent()];
    }).then(async (errors) => [...errors, await a.evaluate(() => T.refused(() => ws.startAgent({ ifRunning: "reject" })))]);
    assert.deepEqual([plain.code, plain.message], ["already_running", 'the agent is already running in another tab ("The Shop")']);
    assert.match(plain.hint, /leave ifRunning out to follow it here/);
    assert.equal(join, undefined);
    assert.match(here.hint, /leave ifRunning out/);
  });
}

// ------------------------------------------------------------------ a harness that is lost

function lostHarness(test) {
  test("a panic: everything outstanding is settled, and a fresh start in the same page goes on", async (t) => {
    const { page, route, runId, hold } = await midAnswer(t, { breakable: true });
    t.allowError(/panicked|unreachable|break_down/);
    const seen = await page.evaluate(async () => {
      const rec = T.record();
      const outstanding = [T.settle(ws.wait((await ws.history())[0].runId)), T.settle(ws.history())];
      try { breakDown(); } catch { /* the trap itself */ }
      const settled = await Promise.all(outstanding);
      await T.turn();
      return { settled, status: ws.status(), told: rec.events.filter((e) => e.type === "agent:status-changed").at(-1)?.detail.lifecycle };
    });
    hold.open();
    assert.equal(seen.settled[0].error?.code, "panicked");
    assert.equal(typeof seen.status.lifecycle.Error, "string", JSON.stringify(seen.status));
    assert.deepEqual(seen.told, seen.status.lifecycle);
    const back = await comeBack(page, route.base);
    assert.deepEqual(back.status, RUNNING);
    assert.equal(back.history[0].parts[0].text, "Count.");
    const again = await page.evaluate(async () => { const run = await ws.resume(); return { runId: run.runId, text: (await run.result).text }; });
    assert.deepEqual(again, { runId, text: "One two three four." });
    assert.deepEqual(route.violations, []);
  });

  for (const [title, when] of [["between two messages", "idle"], ["in mid-answer", "streaming"]]) {
    test(`storage that is lost for a while, ${title}: {"Error"}, then a new start goes on`, async (t) => {
      const { page, route, hold } = await midAnswer(t);
      if (when === "idle") { hold.open(); await page.evaluate(async () => { while (ws.status().is_streaming) await T.turn(); }); }
      const seen = await page.evaluate(async (when) => {
        const gone = () => { throw new DOMException("Connection to Indexed Database server lost. Refresh the page to try again", "UnknownError"); };
        globalThis.real = [IDBDatabase.prototype.transaction, IDBFactory.prototype.open];
        IDBDatabase.prototype.transaction = gone;
        IDBFactory.prototype.open = gone;
        const sent = when === "idle" ? await T.settle(() => ws.run("Lost?")) : undefined;
        return { sent };
      }, when);
      hold.open();
      const lost = await page.evaluate(async () => {
        while (typeof ws.status().lifecycle !== "object") await T.turn();
        const status = ws.status();
        [IDBDatabase.prototype.transaction, IDBFactory.prototype.open] = real;
        return status;
      });
      if (seen.sent) assert.equal(seen.sent.error?.code, "storage_unavailable");
      assert.equal(typeof lost.lifecycle.Error, "string");
      assert.equal(lost.is_streaming, false);
      const back = await comeBack(page, route.base);
      assert.deepEqual(back.status, RUNNING);
      assert.equal(back.history[0].parts[0].text, "Count.");
      const next = await page.evaluate(async () => (await ws.run("Are you there?")).outcome);
      assert.equal(next, "completed");
      assert.deepEqual(route.violations, []);
    });
  }

  for (const what of ["a panic", "storage that is lost for a while"]) {
    test(`${what}, through invoke: get_agent_status gives {"Error"}, start_agent goes on`, async (t) => {
      t.allowError(/panicked|unreachable|break_down/);
      const route = await t.raw(message("One."), message("Two."));
      const page = await t.tab();
      await fromModules(page);
      const seen = await page.evaluate(async ([base, what]) => {
        const { invoke } = lodger;
        const start = () => invoke("start_agent", { provider: T.anthropic(base) });
        await invoke("initialize_workspace", { name: "life" });
        await start();
        const ask = async (message) => invoke("agent.wait", { runId: (await invoke("send_agent_message", { message })).runId });
        const before = (await ask("First")).status;
        const real = IDBDatabase.prototype.transaction;
        let sent;
        if (what === "a panic") {
          try { breakDown(); } catch { /* the trap itself */ }
        } else {
          const open = IDBFactory.prototype.open;
          IDBDatabase.prototype.transaction = IDBFactory.prototype.open = () => { throw new DOMException("Connection to Indexed Database server lost.", "UnknownError"); };
          sent = (await T.refused(ask("Lost?"))).code;
          IDBDatabase.prototype.transaction = real;
          IDBFactory.prototype.open = open;
        }
        await T.turn();
        const lost = await invoke("get_agent_status");
        await start();
        return { before, sent, lost, status: await invoke("get_agent_status"), after: (await ask("Second")).status, history: (await invoke("get_conversation_history")).map((m) => T.textOf(m)) };
      }, [route.base, what]);
      assert.equal(seen.before, "ok");
      assert.equal(seen.sent, what === "a panic" ? undefined : "storage_unavailable");
      assert.deepEqual([Object.keys(seen.lost.lifecycle), seen.lost.is_streaming], [["Error"], false]);
      assert.deepEqual(seen.status, RUNNING);
      assert.equal(seen.after, "ok");
      assert.deepEqual(seen.history, ["First", "One.", "Second", "Two."]);
      assert.deepEqual(route.violations, []);
    });
  }

  test("storage that is wiped under the page is told as lost, then a new start begins anew", async (t) => {
    const { page, route, hold } = await midAnswer(t);
    const cdp = await (await t.context()).newCDPSession(page);
    await cdp.send("Storage.clearDataForOrigin", { origin: t.env.site.url, storageTypes: "indexeddb" });
    hold.open();
    // A disk that is busy takes its time for that, and the first run may not have ended.
    const refused = await page.evaluate(async () => {
      for (;;) {
        const { error } = await T.settle(() => ws.run("Lost?"));
        if (error && error.code !== "busy") return error.code;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    assert.equal(refused, "storage_lost");
    const back = await comeBack(page, route.base);
    assert.deepEqual(back.status, RUNNING);
    assert.deepEqual(back.history, [], "a history that is gone is a normal start");
    assert.equal(await page.evaluate(async () => (await ws.run("Are you there?")).outcome), "completed");
    assert.deepEqual(route.violations, []);
  });

  test("a run's events are in order after each reload", async (t) => {
    const route = await t.raw(message("One."), message("Two."));
    const page = await t.tab();
    for (const [i, text] of ["One.", "Two."].entries()) {
      const seen = await page.evaluate(async (base) => {
        const ws = await lodger.openWorkspace("life");
        await ws.startAgent({ provider: T.anthropic(base) });
        const rec = T.record(document, ws);
        const run = await ws.sendMessage("Go");
        await rec.ended(run.runId);
        return { runId: run.runId, events: rec.events, n: (await ws.history()).length };
      }, route.base);
      assert.equal(checkRun(seen.events, seen.runId).text, text);
      assert.equal(seen.n, 2 * (i + 1));
      await page.reload();
      await t.ready(page);
    }
  });
}
