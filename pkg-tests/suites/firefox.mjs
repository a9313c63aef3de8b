// In Firefox: two tabs, as `tabs.mjs` and `crowd.mjs` show them in Chromium, in short. The attacks, and a part of the hostile texts. How
// the marks of text from outside last, and the questions: about a page that is emptied, for which text leave counts, how often for a
// destination. In which words it is asked, and what is granted for how long. What is too large, with the usual limits and with small ones.
// A part of an answer, a clock that gives no time, ids with signs that nobody sees, what the record speaks of. Files that come in or are run
// again, honest and hostile; a head that is gone. A package on another origin. Every wire's tools and preflights, values and arguments while
// they come.
import assert from "node:assert/strict";
import { checkRun } from "../lib/events.mjs";
import { opened, used } from "../lib/lost.mjs";
import { inFirefox } from "../lib/puppets.mjs";
import { follows, holderNotices, holds, onBothHosts, open, RUNNING, some, start, STOPPED } from "../lib/tabs.mjs";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";
import { attacks } from "./attacks.mjs";
import { foreign } from "./bundlers.mjs";
import { busy, first, made } from "./carry.mjs";
import { byHand, goesFar, onAnthropic } from "./compaction.mjs";
import { remembers } from "./memory.mjs";
import { clock, partial } from "./contract.mjs";
import { headGone } from "./damage.mjs";
import { sample } from "./injection.mjs";
import { betweenTabs } from "./keys.mjs";
import { small, tabs, usual } from "./limits.mjs";
import { bound, cut, destinations, emptied, explained, grants, origins, readers } from "./permission.mjs";
import * as served from "./served.mjs";
import { hidden, records } from "./sessions.mjs";
import { argumentsCome, valueComes } from "./structured.mjs";
import { preflights, roundTrips } from "./wires.mjs";

// They share a Firefox.
export const together = true;

export default function (test) {
  const on = (title, body, options) => test(title, inFirefox(body), { hangMs: 180_000, ...options });
  onBothHosts(on, viewer, takeOver, loss, sample, attacks, betweenTabs, usual, origins, cut, emptied, bound, destinations, readers, first, made, busy, headGone, foreign);
  onBothHosts(on, explained, grants, small, tabs, partial, hidden, records);
  onBothHosts(on, onAnthropic, byHand, goesFar, remembers);
  onBothHosts(on, served.onAnthropic, served.asksOnce);
  onBothHosts(on, argumentsCome);
  valueComes(on);
  some(on, roundTrips, "thinking, text, parallel tools");
  some(on, preflights, "a preflight asks for");
  clock(on);
}

export function viewer(on) {
  on("a viewer follows a run live, sends, answers a question, interrupts and stops", async (t, host) => {
    const hold = gate();
    const late = gate();
    t.after(() => [hold, late].forEach((gate) => gate.open()));
    const one = message("One two three.");
    const three = message("Four five six.");
    const route = await t.raw(
      stream(one.slice(0, 4), hold, one.slice(4)),
      message({ tool: "post", args: {} }), message("Posted."),
      stream(three.slice(0, 4), late, three.slice(4)),
    );
    const a = await open(t, host);
    await a.evaluate(() => ws.tools.register({ name: "post", description: "Posts.", destructive: true, inputSchema: { type: "object" }, execute: () => "done" }));
    await start(a, route.base);
    const b = await open(t, host);
    await follows(b);
    for (const page of [a, b]) await page.evaluate(() => rec.clear());

    await a.evaluate(async () => { globalThis.run = await ws.sendMessage("Count."); });
    await b.evaluate(() => until(() => shown().startsWith("One")));
    hold.open();
    assert.equal(await a.evaluate(async () => (await run.result).text), "One two three.");

    const sent = await b.evaluate(async () => {
      const run = await ws.sendMessage("Post.");
      await until(() => view.getSnapshot().permissions.length === 1);
      await ws.resolvePermission(view.getSnapshot().permissions[0].requestId, "allow_once");
      let streamed = "";
      for await (const piece of run.textStream) streamed += piece;
      return { runId: run.runId, streamed, text: (await run.result).text };
    });
    assert.deepEqual([sent.streamed, sent.text], ["Posted.", "Posted."]);

    const third = await a.evaluate(async () => (await ws.sendMessage("Go on.")).runId);
    await b.evaluate(() => until(() => shown().startsWith("Four")));
    await b.evaluate(() => ws.interrupt());
    assert.equal((await b.evaluate((run) => ws.wait(run), third)).outcome, "interrupted");
    const [ofA, ofB] = await Promise.all([a, b].map((page) => page.evaluate(async (run) => {
      await rec.ended(run);
      await until(() => rec.events.at(-1).type === "agent:status-changed");
      return T.plain(rec.events);
    }, third)));
    assert.deepEqual(ofB, ofA, "both hear the same, in the same order");
    checkRun(ofB, sent.runId);
    checkRun(ofB, third, "agent:session-interrupted");

    await b.evaluate(() => ws.stopAgent());
    assert.deepEqual(await a.evaluate(() => ws.status()), STOPPED);
    await b.evaluate(() => until(() => ws.status().lifecycle === "Stopped"));
    assert.deepEqual(await b.evaluate(() => texts()), await a.evaluate(() => texts()));
    assert.deepEqual(route.violations, []);
  });
}

export function takeOver(on) {
  on("a standby goes on when the holder is closed, and a person takes the agent over", async (t, host) => {
    const hold = gate();
    t.after(() => hold.open());
    const whole = message("One two three.");
    const route = await t.raw(stream(whole.slice(0, 4), hold, []), whole, message("Later."));
    const a = await open(t, host);
    await start(a, route.base, { ifRunning: "join" });
    const b = await open(t, host);
    await start(b, route.base, { ifRunning: "join" });
    const run = await b.evaluate(async () => { globalThis.run = await ws.sendMessage("Count."); return run.runId; });
    await b.evaluate(() => until(() => shown().startsWith("One")));
    await a.close();
    const result = await b.evaluate(async () => T.plain(await run.result));
    assert.deepEqual([result.runId, result.outcome, result.text], [run, "completed", "One two three."]);
    assert.deepEqual(await b.evaluate(() => [ws.status(), view.getSnapshot().holder]), [RUNNING, true]);
    const c = await open(t, host);
    await follows(c);
    await start(c, route.base, { ifRunning: "takeover" });
    await follows(b);
    assert.deepEqual([await holds(c), await holderNotices(b)], [true, [true, false]]);
    assert.equal(await b.evaluate(async () => (await ws.run("And?")).text), "Later.");
    assert.deepEqual(await c.evaluate(() => texts()), ["Count.", "One two three.", "And?", "Later."]);
    assert.deepEqual(route.violations, []);
  });
}

export function loss(on) {
  on("a database that something else than lodger deletes is told as lost, until that is acknowledged", async (t, host) => {
    const page = await t.tab();
    await used(page, { host });
    assert.equal((await opened(page, { host })).pages, 1);
    // Also while it is open.
    await page.evaluate(() => T.dropDatabase("shop"));
    const seen = await opened(page, { host });
    assert.deepEqual([seen.pages, seen.notices.map(({ kind }) => kind)], [0, ["storage_lost"]]);
    assert.deepEqual([seen.lost, seen.onTarget], [seen.notices[0].lost, seen.notices]);
    assert.ok(seen.lost.since <= seen.lost.at);
    await page.evaluate(async () => { await ws.pages.create({ title: "New" }); await (await ws.storage()).lost.acknowledge(); });
    const after = await opened(page, { host });
    assert.deepEqual([after.pages, after.lost, after.notices], [1, null, []]);
    await page.evaluate(async () => { await lodger.deleteWorkspace("shop"); });
    const fresh = await opened(page, { host });
    assert.deepEqual([fresh.pages, fresh.lost, fresh.notices], [0, null, []]);
  });
}
