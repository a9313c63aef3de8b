// Pages that really stand still: frozen by the browser, or kept in its back/forward cache while another page is shown.
// What the agent was at goes on in the tab that stands by, or in this one once it is back.
import assert from "node:assert/strict";
import { puppets } from "../lib/puppets.mjs";
import { epochs, follows, holderNotices, holds, openIn, RUNNING, start } from "../lib/tabs.mjs";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

// They share a browser that is driven by Puppeteer.
export const together = true;

export default function (test) {
  for (const host of ["page", "worker"]) {
    for (const [way, asleep] of Object.entries(WAYS)) {
      test(`a holder that is ${way} lets go: a standby goes on; on return it follows, is told, and has written nothing [${host}]`, (t) => besideAStandby(t, host, asleep));
      test(`a holder that is ${way} with nobody beside it goes on by itself on return [${host}]`, (t) => alone(t, host, asleep));
    }
  }
}

/** Asked again and again from here: the timers of a page that stands still do so too. */
async function polled(page, what) {
  for (let n = 0; !(await page.evaluate(what)); n++) {
    assert.ok(n < 1_000, `never: ${what}`);
    await new Promise((r) => setTimeout(r, 50));
  }
}

const WAYS = {
  /** By the browser's own freezing, as devtools and tab managers ask for it; only hidden pages take it. */
  async frozen(page, other) {
    await other.bringToFront();
    await polled(page, () => document.visibilityState === "hidden");
    await page.evaluate(() => { globalThis.ticks = 0; setInterval(() => ticks++, 20); document.addEventListener("freeze", () => (globalThis.froze = true)); });
    const devtools = await page.createCDPSession();
    await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
    await polled(page, () => globalThis.froze);
    const before = await page.evaluate(() => ticks);
    return async () => {
      assert.deepEqual(await page.evaluate(() => [froze, ticks]), [true, before], "it did not stand still");
      await devtools.send("Page.setWebLifecycleState", { state: "active" });
      await page.bringToFront();
      return true;
    };
  },
  async "in the back/forward cache"(page) {
    await page.evaluate(() => {
      addEventListener("pagehide", ({ persisted }) => (localStorage.kept = persisted));
      addEventListener("pageshow", ({ persisted }) => (globalThis.back = persisted));
    });
    await page.goto(`${new URL(page.url()).origin}/helpers.js`);
    await polled(page, () => localStorage.kept !== undefined);
    assert.equal(await page.evaluate(() => localStorage.kept), "true", "it is not even tried to be kept");
    return async () => {
      await page.evaluate(() => void setTimeout(() => history.back()));
      for (let n = 0; n < 1_000; n++) {
        await new Promise((r) => setTimeout(r, 50));
        const { back, ready, why } = await page.evaluate(() => ({ back: globalThis.back, ready: globalThis.ready, why: performance.getEntriesByType("navigation")[0]?.notRestoredReasons?.reasons?.map(({ reason }) => reason).join() })).catch(() => ({}));
        if (back) return true;
        if (ready && why) return why;
      }
      assert.fail("it does not come back");
    };
  },
};

/** A holder in the middle of an answer, and what the next one to ask gets. */
async function atWork(t, host, tab) {
  const hold = gate();
  t.after(() => hold.open());
  const whole = message("One two three.");
  const route = await t.raw(stream(whole.slice(0, 4), hold, []), whole, message("Later."));
  const page = await openIn(await tab(), host);
  await start(page, route.base, { ifRunning: "join" });
  return { page, route };
}

async function besideAStandby(t, host, asleep) {
  const tab = await puppets(t, "chromium");
  const { page: a, route } = await atWork(t, host, tab);
  const b = await openIn(await tab(), host);
  await start(b, route.base, { ifRunning: "join" });
  await b.evaluate(async () => { globalThis.run = await ws.sendMessage("Count."); await until(() => shown().startsWith("One")); });
  const back = await asleep(a, b);
  const result = await b.evaluate(async () => T.plain(await run.result));
  assert.deepEqual([result.outcome, result.text], ["completed", "One two three."]);
  assert.deepEqual(await b.evaluate(() => [view.getSnapshot().holder, ws.status()]), [true, RUNNING]);
  const journal = () => b.evaluate(async () => T.plain(await ws.sessions.journal("default", { limit: 500 })));
  const before = await journal();
  assert.equal(await back(), true, "it was not kept");
  await follows(a);
  await a.evaluate(() => until(() => shown() === "One two three."));
  assert.deepEqual([await holderNotices(a), await holderNotices(b)], [[false], [true]]);
  assert.deepEqual(await journal(), before, "it has written something");
  assert.equal(await a.evaluate(async () => (await ws.run("And?")).text), "Later.");
  assert.deepEqual(await a.evaluate(() => texts()), ["Count.", "One two three.", "And?", "Later."]);
  assert.deepEqual(await b.evaluate(() => texts()), await a.evaluate(() => texts()));
  const held = await epochs(b);
  assert.equal(new Set(held).size, 2);
  assert.deepEqual(route.violations, []);
}

async function alone(t, host, asleep) {
  const tab = await puppets(t, "chromium");
  const { page, route } = await atWork(t, host, tab);
  await page.evaluate(async () => { globalThis.run = await ws.sendMessage("Count."); await until(() => shown().startsWith("One")); });
  const back = await asleep(page, await tab());
  assert.equal(await back(), true, "it was not kept");
  const result = await page.evaluate(async () => T.plain(await ws.wait(run.runId)));
  assert.deepEqual([result.status, result.outcome], ["ok", "completed"]);
  assert.equal(await holds(page), true);
  assert.deepEqual(await page.evaluate(() => texts()), ["Count.", "One two three."]);
  assert.equal(await page.evaluate(async () => (await ws.run("And?")).text), "Later.");
  assert.deepEqual(route.violations, []);
}
