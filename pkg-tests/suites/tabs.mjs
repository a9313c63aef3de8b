// One workspace in several tabs: who works, who looks on, and what happens when that one goes away.
import assert from "node:assert/strict";
import { crasher } from "../lib/crash.mjs";
import { atOnce, dice, epochs, holderNotices, holds, onBothHosts, open, RUNNING, start, STOPPED } from "../lib/tabs.mjs";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

// `LODGER_CAMPAIGN=1` does all of them; else as many as take each way a few times.
const TAKE_OVERS = process.env.LODGER_CAMPAIGN === "1" ? 200 : 10;

export default function (test) {
  onBothHosts(test, viewers, takeOvers, sleepers, asking, together, changing, leaving, moments);
}

export function viewers(on) {
  on("a second tab sees status, history, view and events, and its message is answered by the first", async (t, host) => {
    const route = await t.raw(message("First."), message("Second."));
    const a = await open(t, host);
    await start(a, route.base);
    const b = await open(t, host);
    await b.evaluate(() => until(() => ws.status().lifecycle === "Running"));
    assert.deepEqual(await b.evaluate(() => [ws.status(), view.getSnapshot().holder]), [RUNNING, false]);
    assert.equal(await a.evaluate(() => view.getSnapshot().holder), true);
    await a.evaluate(() => ws.run("One"));
    await b.evaluate(() => until(answered));
    assert.deepEqual(await b.evaluate(() => view.getSnapshot().messages.map(T.textOf)), ["One", "First."]);
    const said = await b.evaluate(async () => {
      rec.clear();
      const run = await ws.sendMessage("Two");
      let streamed = "";
      for await (const piece of run.textStream) streamed += piece;
      const result = await run.result;
      await rec.ended(run.runId);
      return { streamed, text: result.text, types: rec.events.map((e) => e.type), texts: await texts(), waited: (await ws.wait(run.runId)).status };
    });
    assert.deepEqual([said.streamed, said.text, said.waited], ["Second.", "Second.", "ok"]);
    assert.deepEqual(said.texts, ["One", "First.", "Two", "Second."]);
    assert.deepEqual(await a.evaluate(() => texts()), said.texts);
    const ofA = await a.evaluate(() => rec.events.map((e) => e.type));
    assert.deepEqual(ofA.slice(-said.types.length), said.types, "both hear the same, in the same order");
    assert.deepEqual(route.violations, []);
  });

  on("a run that a tab joins in its middle is streamed to it from its first word", async (t, host) => {
    const hold = gate();
    const whole = message("One two three.");
    const route = await t.raw(stream(whole.slice(0, 4), hold, whole.slice(4)));
    const a = await open(t, host);
    await start(a, route.base);
    await a.evaluate(async () => { globalThis.run = await ws.sendMessage("Count.", { idempotencyKey: "k" }); await until(() => shown().startsWith("One")); });
    const b = await open(t, host);
    await b.evaluate(async () => {
      const run = await ws.sendMessage("Count.", { idempotencyKey: "k" });
      globalThis.streamed = (async () => { let text = ""; for await (const piece of run.textStream) text += piece; return text; })();
    });
    hold.open();
    assert.equal(await b.evaluate(() => streamed), "One two three.");
    assert.equal(await a.evaluate(async () => (await run.result).text), "One two three.");
  });

  on("a viewer interrupts, and stops the agent", async (t, host) => {
    const hold = gate();
    const route = await t.raw(stream(message("One two three.").slice(0, 4), hold, []), message("Again."));
    const a = await open(t, host);
    await start(a, route.base);
    const b = await open(t, host);
    const run = await a.evaluate(async () => { const run = await ws.sendMessage("Count."); await rec.chunk(); return run.runId; });
    await b.evaluate(() => until(() => shown().startsWith("One")));
    await b.evaluate(() => ws.interrupt());
    assert.equal((await a.evaluate((run) => ws.wait(run), run)).outcome, "interrupted");
    await b.evaluate(() => ws.stopAgent());
    for (const page of [a, b]) await page.evaluate(() => until(() => ws.status().lifecycle === "Stopped"));
    assert.deepEqual(await a.evaluate(() => ws.status()), STOPPED);
    assert.equal(await a.evaluate(async () => (await T.refused(() => ws.sendMessage("?"))).code), "not_running");
    assert.equal(await b.evaluate(async () => (await T.refused(() => ws.sendMessage("?"))).code), "not_running");
    await start(b, route.base);
    assert.equal(await b.evaluate(async () => (await ws.run("Again?")).text), "Again.");
    hold.open();
  });

  on("a tool of a viewer runs in the viewer; when its tab is gone the model is told", async (t, host) => {
    const route = await t.raw(message({ tool: "where", args: {} }), message("There."), message({ tool: "where", args: {} }), message("Gone."));
    const a = await open(t, host);
    await start(a, route.base);
    const b = await open(t, host);
    await b.evaluate(async () => {
      ws.tools.register({ name: "where", description: "Says where it runs.", readOnly: true, inputSchema: { type: "object" }, execute: () => new Promise((done) => { globalThis.called = true; globalThis.finish = done; }) });
    });
    await a.evaluate(() => until(() => ws.tools.definitions().some(({ name }) => name === "where")));
    await a.evaluate(async () => { globalThis.run = await ws.sendMessage("Where?"); });
    await b.evaluate(() => until(() => globalThis.called));
    await b.evaluate(() => { called = false; finish("in the viewer"); });
    assert.equal(await a.evaluate(async () => (await run.result).text), "There.");
    assert.equal(T_call(await a.evaluate(async () => T.plain(await ws.history()))).result, "in the viewer");
    await a.evaluate(async () => { globalThis.run = await ws.sendMessage("Where now?"); });
    await b.evaluate(() => until(() => globalThis.called));
    await b.close();
    assert.equal(await a.evaluate(async () => (await run.result).text), "Gone.");
    const call = T_call(await a.evaluate(async () => T.plain(await ws.history())));
    assert.equal(call.error.code, "unknown_outcome");
    await a.evaluate(() => until(() => !ws.tools.definitions().some(({ name }) => name === "where")));
  });
}

const T_call = (history) => history.at(-1).parts.find((part) => part.type === "tool-call");

export function takeOvers(on) {
  for (const end of ["crash", "close", "navigation"]) {
    on(`a standby goes on when the holder is gone by ${end}`, async (t, host) => {
      const hold = gate();
      const whole = message("One two three.");
      const route = await t.raw(stream(whole.slice(0, 4), hold, []), whole, message("Later."));
      const a = await open(t, host);
      await start(a, route.base, { ifRunning: "join" });
      const b = await open(t, host);
      await start(b, route.base, { ifRunning: "join" });
      const run = await b.evaluate(async () => { globalThis.run = await ws.sendMessage("Count."); return run.runId; });
      await b.evaluate(() => until(() => shown().startsWith("One")));
      if (end === "crash") await (await crasher(t, a))();
      else if (end === "close") await a.close();
      else await a.goto("about:blank");
      const result = await b.evaluate(async () => T.plain(await run.result));
      assert.deepEqual([result.runId, result.outcome, result.text], [run, "completed", "One two three."]);
      const phases = await b.evaluate(() => rec.events.filter(({ type }) => type === "agent:lifecycle" || type === "agent:session-started").map(({ type, detail }) => [type, detail.phase, detail.runId]));
      assert.deepEqual(phases, [["agent:lifecycle", "start", run], ["agent:session-started", undefined, run], ["agent:lifecycle", "end", run]], "one start and one end, though two tabs have worked");
      const seen = await b.evaluate(async () => ({ status: ws.status(), holder: view.getSnapshot().holder, texts: await texts(), told: holderNotices() }));
      assert.deepEqual(seen, { status: RUNNING, holder: true, texts: ["Count.", "One two three."], told: [true] });
      assert.equal(await b.evaluate(async () => (await ws.run("And?")).text), "Later.");
      assert.deepEqual(route.violations, []);
      hold.open();
    });
  }

  on("a tab that follows a holder that is gone, with nobody to go on, sees that nothing runs; its run is held", async (t, host) => {
    const whole = message("One two three.");
    const route = await t.raw(stream(whole.slice(0, 4), gate(), []), whole);
    const a = await open(t, host);
    await start(a, route.base);
    const b = await open(t, host);
    const told = (page) => page.evaluate(() => rec.events.filter(({ type }) => type === "agent:status-changed").map(({ detail }) => [detail.lifecycle, detail.is_streaming]));
    await b.evaluate(() => until(() => ws.status().lifecycle === "Running"));
    assert.deepEqual(await told(b), [["Running", false]]);
    const run = await b.evaluate(async () => (await ws.sendMessage("Count.")).runId);
    await b.evaluate(() => until(() => shown().startsWith("One")));
    await a.close();
    await b.evaluate(() => until(() => ws.status().lifecycle === "Stopped"));
    assert.deepEqual([await b.evaluate(() => ws.status()), (await told(b)).slice(1)], [STOPPED, [["Running", true], ["Stopped", false]]]);
    assert.deepEqual(await b.evaluate(async (run) => [await ws.sessions.activity(run), (await ws.wait(run, { timeoutMs: 50 })).status, (await T.refused(() => ws.wait("run_none"))).code], run), ["broken", "timeout", "run_not_found"]);
    await start(b, route.base);
    await b.evaluate(() => ws.resume());
    assert.equal(await b.evaluate(async (run) => (await ws.wait(run)).outcome, run), "completed");
  });

  on("of two standbys one goes on, and the other when that one is gone", async (t, host) => {
    const whole = message("One two three.");
    const route = await t.raw(stream(whole.slice(0, 4), gate(), []), stream(whole.slice(0, 4), gate(), []), whole);
    const pages = [];
    for (let n = 0; n < 3; n++) {
      pages.push(await open(t, host));
      await start(pages[n], route.base, { ifRunning: "join" });
    }
    const holds = async (left) => {
      for (;;) for (const page of left) if (await page.evaluate(() => view.getSnapshot().holder)) return page;
    };
    const run = await pages[2].evaluate(async () => (await ws.sendMessage("Count.")).runId);
    for (const [n, left] of [pages, pages].entries()) {
      await route.request(n + 1);
      for (const page of left) await page.evaluate(() => until(() => shown().startsWith("One")));
      const holder = await holds(left);
      left.splice(left.indexOf(holder), 1);
      await (await crasher(t, holder))();
      await holds(left);
    }
    const [last] = pages;
    assert.equal((await last.evaluate((run) => ws.wait(run), run)).outcome, "completed");
    assert.deepEqual(await last.evaluate(() => texts()), ["Count.", "One two three."]);
    assert.deepEqual(route.violations, []);
  });

  on("a deliberate stop starts no standby; a person takes the agent over", async (t, host) => {
    const route = await t.raw(message("Here."), message("There."));
    const a = await open(t, host);
    await start(a, route.base, { ifRunning: "join" });
    const b = await open(t, host);
    await start(b, route.base, { ifRunning: "join" });
    await a.evaluate(() => ws.stopAgent());
    await a.evaluate(() => until(() => !view.getSnapshot().holder));
    // The list comes once this tab knows who answers now: its own host without an agent, or with one that it has begun.
    await b.evaluate(() => ws.sessions.list());
    assert.deepEqual(await b.evaluate(() => [ws.status(), view.getSnapshot().holder]), [STOPPED, false]);
    await start(a, route.base, { ifRunning: "join" });
    await b.evaluate(() => until(() => ws.status().lifecycle === "Running"));
    await start(b, route.base, { ifRunning: "takeover" });
    assert.deepEqual(await b.evaluate(() => [ws.status(), view.getSnapshot().holder]), [RUNNING, true]);
    await a.evaluate(() => until(() => !view.getSnapshot().holder && ws.status().lifecycle === "Running"));
    assert.equal(await a.evaluate(async () => (await ws.run("Where?")).text), "Here.");
    assert.deepEqual(await holderNotices(a), [false]);
    assert.equal(new Set(await epochs(a)).size, 3, "somebody else began it");
  });
}

function asking(on) {
  on("of several that stand by the one where a person takes the agent over gets it", async (t, host) => {
    const route = await t.raw();
    const pages = [];
    for (let n = 0; n < 4; n++) {
      pages.push(await open(t, host));
      await start(pages[n], route.base, { ifRunning: "join" });
    }
    for (let n = 1; n <= 8; n++) {
      const asker = pages[n % 4];
      await start(asker, route.base, { ifRunning: "takeover" });
      for (const page of pages) await page.evaluate((holds) => until(() => ws.status().lifecycle === "Running" && view.getSnapshot().holder === holds), page === asker);
    }
    // Who has taken it over stands by like those that joined.
    await pages[0].close();
    await pages[3].close();
    await pages[2].close();
    await pages[1].evaluate(() => until(() => view.getSnapshot().holder));
  });
}

export function together(on) {
  on("three tabs take over at once: one holds the agent, the others follow it, and none is refused", async (t, host) => {
    const route = await t.raw(() => message("Here."));
    const pages = [];
    for (let n = 0; n < 4; n++) pages.push(await open(t, host));
    await start(pages[0], route.base);
    const takes = async (base) => { try { await ws.startAgent({ provider: T.anthropic(base), ifRunning: "takeover" }); return null; } catch ({ code }) { return code; } };
    for (let n = 0; n < 4; n++) {
      const holders = await Promise.all(pages.map(holds));
      const asking = pages.filter((_, at) => !holders[at]);
      assert.deepEqual(await atOnce(t, asking, takes, route.base), [null, null, null], `${n}`);
      // One that had it for a moment may not have heard yet that it was robbed.
      await pages[0].evaluate(() => until(() => ws.status().lifecycle === "Running"));
      while ((await Promise.all(pages.map(holds))).filter(Boolean).length !== 1) await pages[0].evaluate(() => T.turn());
      for (const page of pages) await page.evaluate(() => until(() => ws.status().lifecycle === "Running"));
      assert.equal((await Promise.all(pages.map(holds))).filter(Boolean).length, 1);
      assert.equal(await pages[n].evaluate(async () => (await ws.run("Where?")).text), "Here.");
    }
    // Who lost stands by like those that joined.
    const holders = await Promise.all(pages.map(holds));
    await pages[holders.indexOf(true)].close();
    const rest = pages.filter((_, at) => !holders[at]);
    while ((await Promise.all(rest.map(holds))).filter(Boolean).length !== 1) await rest[0].evaluate(() => T.turn());
    assert.deepEqual(route.violations, []);
  });
}

function changing(on) {
  on("what configureAgent has changed, in any tab, goes on with the agent; a function and a provider stay in their tab", async (t, host) => {
    const route = await t.raw(message("Done."));
    const pages = [];
    for (let n = 0; n < 3; n++) {
      pages.push(await open(t, host));
      await start(pages[n], route.base, { ifRunning: "join", instructions: `Begun in ${n}.` });
      await pages[n].evaluate(() => void ws.tools.register({ name: "act", description: "Acts.", inputSchema: { type: "object" }, execute: () => "acted" }));
    }
    const [a, b, c] = pages;
    const ask = async (page) => {
      await page.evaluate(() => ws.run("Go on."));
      const { system, max_tokens, model } = route.requests.at(-1).json;
      return { system: JSON.stringify(system).match(/Begun in .|Changed( in b)?/)[0], max_tokens, model };
    };
    await a.evaluate(() => ws.configureAgent({ instructions: "Changed.", permissions: { tools: { act: "deny" } }, maxOutputTokens: 4_321 }));
    // Its key goes by the vault.
    await b.evaluate(async (base) => {
      await ws.keys.set("anthropic", "sk-test");
      await ws.configureAgent({ instructions: () => "Changed in b.", provider: { kind: "anthropic", baseUrl: base }, model: "claude-b" });
    }, route.base);
    assert.deepEqual(await ask(c), { system: "Changed in b", max_tokens: 4_321, model: "claude-b" });
    await c.evaluate(() => ws.configureAgent({ maxOutputTokens: null }));
    await a.close();
    const next = await Promise.race([b, c].map((page) => page.evaluate(() => until(() => view.getSnapshot().holder)).then(() => page)));
    const { max_tokens, ...seen } = await ask(next);
    assert.notEqual(max_tokens, 4_321);
    // In a tab that did not hear of the function nothing is known of what it replaced.
    assert.deepEqual(seen, next === b ? { system: "Changed in b", model: "claude-b" } : { system: "Begun in 2", model: "claude-sonnet-4-6" });
    assert.equal((await next.evaluate(() => T.refused(() => ws.tools.execute("act", {})))).code, "permission_denied");
    // The tab that starts it says all that it is.
    await next.evaluate(() => ws.stopAgent());
    await c.evaluate(() => until(() => ws.status().lifecycle === "Stopped"));
    await start(c, route.base);
    assert.deepEqual(await c.evaluate(() => ws.tools.execute("act", {})), { result: "acted" });
  });

  on("functions that a closed tab has given fail in words that say so", async (t, host) => {
    const route = await t.raw(message("Here."));
    const a = await open(t, host);
    await start(a, route.base);
    const b = await open(t, host);
    await b.evaluate(() => until(() => ws.status().lifecycle === "Running"));
    await b.evaluate(() => ws.configureAgent({ provider: { kind: "custom", model: "own", stream: () => ["From b."] } }));
    assert.equal(await a.evaluate(async () => (await ws.run("Who?")).text), "From b.");
    await b.close();
    const failed = () => a.evaluate(async () => { const { code, message } = await T.refused(() => ws.run("And now?")); return [code, message]; });
    // Until then it was still being told of the other tab's end.
    await a.evaluate(() => until(async () => (await ws.run("Gone?").then(() => "", (error) => error.code)) === "not_configured"));
    assert.deepEqual(await failed(), ["not_configured", "The tab that gave this function is closed: give it again in one that is open."]);
    await a.evaluate((base) => ws.configureAgent({ provider: T.anthropic(base) }), route.base);
    assert.equal(await a.evaluate(async () => (await ws.run("Who?")).text), "Here.");
  });
}

function leaving(on) {
  on("who leaves is asked first where the page wants that, but only in the tab that works, and only while it works", async (t, host) => {
    const hold = gate();
    const whole = message("One two three.");
    const route = await t.raw(stream(whole.slice(0, 4), hold, whole.slice(4)), stream(whole.slice(0, 4), gate(), []));
    const a = await open(t, host, { warnOnLeave: true });
    await start(a, route.base, { ifRunning: "reject" });
    const b = await open(t, host, { warnOnLeave: true });
    await b.evaluate(() => until(() => ws.status().lifecycle === "Running"));
    // Browsers ask for nobody who never touched the page.
    for (const page of [a, b]) await page.mouse.click(5, 5);
    /** Whether somebody who leaves this page is asked; then it stays. */
    const asks = async (page) => {
      const asked = page.waitForEvent("dialog").then(async (dialog) => (await dialog.dismiss(), dialog.type()));
      asked.catch(() => {});
      const gone = page.waitForEvent("framenavigated").then(() => "gone");
      gone.catch(() => {});
      page.evaluate(() => location.reload()).catch(() => {});
      return Promise.race([asked, gone]);
    };
    await a.evaluate(async () => { globalThis.run = await ws.sendMessage("Count."); });
    await b.evaluate(() => until(() => shown().startsWith("One")));
    assert.equal(await asks(a), "beforeunload");
    assert.equal(await asks(b), "gone");
    hold.open();
    assert.equal(await a.evaluate(async () => (await run.result).outcome), "completed");
    await a.evaluate(() => until(() => !ws.status().is_streaming));
    assert.equal(await asks(a), "gone");
    const c = await open(t, host, { name: "quiet" });
    await start(c, route.base);
    await c.mouse.click(5, 5);
    await c.evaluate(async () => { await ws.sendMessage("Count."); await until(() => shown().startsWith("One")); });
    assert.equal(await asks(c), "gone", "no page asks by itself");
  });
}

function sleepers(on) {
  // A headless page is never hidden, so nothing freezes it: it is told, and stands still.
  on("a holder that is put to sleep lets go, and follows when it wakes", async (t, host) => {
    const hold = gate();
    const whole = message("One two three.");
    const route = await t.raw(stream(whole.slice(0, 4), hold, []), whole);
    const a = await open(t, host);
    await start(a, route.base, { ifRunning: "join" });
    const b = await open(t, host);
    await start(b, route.base, { ifRunning: "join" });
    await b.evaluate(async () => { globalThis.run = await ws.sendMessage("Count."); globalThis.result = run.result; });
    await b.evaluate(() => until(() => shown().startsWith("One")));
    let wake = false;
    t.signal("sleep", async () => { while (!wake) await new Promise((r) => setTimeout(r, 20)); return {}; });
    const asleep = a.evaluate(async () => { document.dispatchEvent(new Event("freeze")); await T.turn(); T.signal("sleep"); document.dispatchEvent(new Event("resume")); });
    asleep.catch(() => {});
    assert.equal(await b.evaluate(async () => (await result).text), "One two three.", "who waited for the last holder is answered by the next");
    assert.deepEqual(await b.evaluate(() => [view.getSnapshot().holder, ws.status()]), [true, RUNNING]);
    wake = true;
    await asleep;
    hold.open();
    await a.evaluate(() => until(() => ws.status().lifecycle === "Running" && shown() === "One two three."));
    assert.deepEqual(await a.evaluate(() => view.getSnapshot().holder), false);
    assert.deepEqual([await holderNotices(a), await holderNotices(b)], [[false], [true]]);
    assert.deepEqual(await a.evaluate(() => texts()), ["Count.", "One two three."]);
  });

  on("a holder that hangs is robbed by a person; it can write nothing, is told, and follows", async (t, host) => {
    const route = await t.raw(message("First."), message("Second."), message("Third."));
    const a = await open(t, host);
    await start(a, route.base);
    await a.evaluate(() => ws.run("One"));
    const b = await open(t, host);
    await b.evaluate(() => until(() => ws.status().lifecycle === "Running"));
    const { holder, stands, wake } = await hanging(t, a, host);
    if (host === "worker") {
      await holder.evaluate(() => void setTimeout(hang));
      await stands;
    }
    const hung = a.evaluate((host) => { ws.sendMessage("lost").catch((error) => (globalThis.refused = error.code)); if (host === "page") hang(); }, host);
    await stands;
    const mute = await b.evaluate(() => T.refused(() => ws.sendMessage("Are you there?")));
    assert.equal(mute.code, "holder_unreachable");
    await start(b, route.base, { ifRunning: "takeover" });
    const warned = await b.evaluate(() => rec.events.filter(({ type, detail }) => type === "agent:notice" && detail.kind === "holder").map(({ detail }) => [detail.holder, detail.error?.code, detail.error?.message]));
    assert.deepEqual(warned, [[true, "holder_unreachable", "The tab that ran the agent did not answer: the agent was taken from it. What a tool was doing there may go on."]]);
    assert.equal(await b.evaluate(async () => (await ws.run("Two")).text).catch(String), "Second.");
    wake();
    await hung;
    await a.evaluate(() => until(() => ws.status().lifecycle === "Running" && !view.getSnapshot().holder));
    assert.equal(await a.evaluate(() => refused), "ownership_lost");
    assert.deepEqual(await holderNotices(a), [false]);
    assert.deepEqual(await a.evaluate(() => texts()), await b.evaluate(() => texts()));
    assert.equal(await a.evaluate(async () => (await ws.run("Three")).text), "Third.");
    assert.deepEqual(route.violations, []);
  });

  on("a holder that stands still between writing a run's end and saying so: the end is told all the same, once; a wait ends in its time", async (t, host) => {
    const route = await t.raw(message("First."));
    const a = await open(t, host);
    await start(a, route.base);
    const [b, c] = [await open(t, host), await open(t, host)];
    for (const page of [b, c]) await page.evaluate(() => until(() => ws.status().lifecycle === "Running"));
    const { holder, stands, wake } = await hanging(t, a, host);
    await holder.evaluate(() => {
      const { postMessage } = BroadcastChannel.prototype;
      BroadcastChannel.prototype.postMessage = function (message) {
        if (JSON.stringify(message).includes("agent:session-completed")) hang();
        else postMessage.call(this, message);
      };
    });
    const run = await b.evaluate(async () => { globalThis.run = await ws.sendMessage("One"); return run.runId; });
    await stands;
    assert.deepEqual(await b.evaluate((run) => ws.wait(run, { timeoutMs: 50 }), run), { runId: run, status: "timeout" });
    await start(b, route.base, { ifRunning: "takeover" });
    for (const page of [b, c]) {
      const ended = await page.evaluate(async (run) => { const events = await rec.ended(run); await until(answered); return T.plain(events.filter(({ type }) => /session-completed|lifecycle/.test(type)).map(({ detail }) => detail)); }, run);
      const { startedAt, endedAt } = await page.evaluate((run) => ws.wait(run), run);
      const [begin, completed, end, ...more] = ended;
      assert.deepEqual([begin.phase, more], ["start", []]);
      const of = { workspace: "shared", sessionId: "default", runId: run, endedAt };
      assert.deepEqual([completed, end], [{ ...of, text: "First.", turns: 1, usage: completed.usage }, { ...of, phase: "end", startedAt }]);
    }
    wake();
  });
}

/** Gives the agent's page or worker a function that hangs it until `wake()`; `stands` when it does. */
async function hanging(t, page, host) {
  const holder = host === "worker" ? page.workers()[0] : page;
  let wake;
  const awake = new Promise((done) => (wake = done));
  const stands = new Promise((still) => t.signal("hang", async () => { still(); await awake; return {}; }));
  await holder.evaluate((url) => {
    globalThis.hang = () => {
      const request = new XMLHttpRequest();
      request.open("POST", url, false);
      request.send();
    };
  }, `${t.env.site.url}/signal/hang`);
  return { holder, stands, wake };
}

// ------------------------------------------------------------------ random moments

/** A page whose agent runs tools with effects, on a model in the page, and notes each real execution where all tabs see it. */
async function works({ host }) {
  globalThis.ws = await lodger.openWorkspace("shared", { host });
  async function* stream({ messages }) {
    // What is asked has to hold: each call is followed by its result, and no result stands alone.
    let open = [];
    for (const { role, tool_calls = [], tool_call_id } of messages) {
      if (role === "tool" ? !open.includes(tool_call_id) : open.length) throw Object.assign(new Error(`the transcript is not valid: ${JSON.stringify(messages)}`), { code: "invalid_request" });
      open = role === "tool" ? open.filter((id) => id !== tool_call_id) : tool_calls.map(({ id }) => id);
    }
    const done = messages.length - messages.findLastIndex(({ role }) => role === "user") - 1;
    yield "Let me see. ";
    await new Promise((r) => setTimeout(r, 5));
    if (done >= 10) return void (yield "All done.");
    yield { choices: [{ delta: { tool_calls: [{ index: 0, id: `call${done}`, function: { name: (done / 2) % 3 ? "post" : "look", arguments: "{}" } }] }, finish_reason: "tool_calls" }] };
  }
  const tool = (name, readOnly) => ws.tools.register({
    name, readOnly, onResume: readOnly ? "rerun" : "fail", description: "A tool.", inputSchema: { type: "object" },
    async execute(args, { toolCallId }) {
      // A row of its own: what another tab has written a moment ago may not be here yet.
      if (!readOnly) localStorage[`deed:${toolCallId}:${Math.random()}`] = "";
      await new Promise((r) => setTimeout(r, 4));
      return "done";
    },
  });
  tool("look", true);
  tool("post", false);
  await ws.startAgent({ provider: { kind: "custom", stream }, ifRunning: "join", permissions: { default: "allow" } });
}

function moments(on) {
  on(`${TAKE_OVERS} take-overs at random moments of runs with tools: nothing lost, nothing done twice, one holder at a time`, async (t, host) => {
    const draw = dice(t);
    const open = async () => { const page = await t.tab(); await page.evaluate(works, { host }); return page; };
    let holder = await open();
    const runs = [];
    const ways = {};
    let cut = 0;
    for (let n = 0; n < TAKE_OVERS; n++) {
      const next = await open();
      const sent = await (draw(2) ? next : holder).evaluate(async () => (await ws.sendMessage("Work.")).runId);
      runs.push(sent);
      await new Promise((r) => setTimeout(r, draw(160)));
      if (await holder.evaluate(() => ws.status().is_streaming)) cut++;
      const way = ["crash", "close", "navigation"][draw(3)];
      ways[way] = (ways[way] ?? 0) + 1;
      t.at = `${n}: ${way}`;
      if (way === "crash") await (await crasher(t, holder))();
      else if (way === "close") await holder.close();
      else { await holder.goto("about:blank"); await holder.close(); }
      const end = await next.evaluate((run) => ws.wait(run, { timeoutMs: 600_000 }), sent);
      assert.equal(end.outcome, "completed", `${n}: ${JSON.stringify(end)} after ${way}`);
      holder = next;
    }
    t.note(Object.entries(ways).map(([way, n]) => `${way} ${n}`).join(", "));
    const seen = await holder.evaluate(async () => {
      const history = await ws.history();
      const { same } = await ws.sessions.replay(await ws.sessions.export("default"));
      const { hmac_status } = await ws.sessions.status("default");
      const calls = history.flatMap(T.callsOf).map(({ toolCallId, tool, status, error }) => [toolCallId, tool, status, error && `${error.code} ${error.message}`]);
      return { calls, said: history.filter(({ role }) => role === "user").length, runs: history.filter(({ role }) => role === "assistant").map(({ runId, status }) => [runId, status]), same, hmac_status, deeds: Object.keys(localStorage).filter((key) => key.startsWith("deed:")).map((key) => key.split(":")[1]) };
    });
    assert.deepEqual([seen.same, seen.hmac_status, seen.said], [true, "verified", TAKE_OVERS]);
    assert.deepEqual(seen.runs, runs.map((run) => [run, "complete"]));
    assert.equal(new Set(seen.deeds).size, seen.deeds.length, "an effect came twice");
    const posts = seen.calls.filter(([, tool]) => tool === "post");
    const unknown = ([, , , error]) => /outcome is unknown/.test(error ?? "");
    for (const post of posts) assert.ok(unknown(post) || (post[2] === "completed" && seen.deeds.includes(post[0])), post.join());
    for (const deed of seen.deeds) assert.ok(posts.some(([id]) => id === deed), `${deed} left no trace`);
    const held = await epochs(holder);
    assert.deepEqual(held, [...held].sort((a, b) => a - b));
    assert.equal(new Set(held).size, held.length, "two holders had one epoch");
    assert.ok(held.length > TAKE_OVERS, `${held.length} holders, and one more than take-overs is the least`);
    assert.equal(Object.keys(ways).length, 3, `all ways were to be taken: ${Object.keys(ways)}`);
    assert.ok(cut > 0, "no run was cut in its middle");
    t.note(`${cut} runs cut, ${posts.length} calls with effects, ${posts.filter(unknown).length} of unknown outcome, epoch ${held.at(-1)}`);
  }, { hangMs: TAKE_OVERS * 30_000 });
}
