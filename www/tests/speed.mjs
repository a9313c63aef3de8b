// Measurements, not part of the ordinary run; they tell figures and judge none. Counted is the main thread's CPU by the
// browser's own trace, and beside it the wall clock. A machine that is busy with something else makes frames late, and
// that is no fault of the page.
import assert from "node:assert/strict";
import { SECTIONS } from "./model.mjs";
import { open, say, settled, start, useModel, workspace } from "./browser.mjs";
import { launchSession } from "./sessions.mjs";

export const tests = {
  async "100 KB, the reader at the end"(t) {
    await begin(t);
    await measured(t, () => say(t.page, "100 KB please"), () => all(t.page, SECTIONS));
  },

  async "100 KB, the reader further up"(t) {
    const { page } = t;
    await begin(t);
    await say(page, "100 KB please");
    await all(page, SECTIONS);
    await settled(page);
    const place = () => page.getByRole("log").evaluate((log) => [log.scrollTop, [...log.querySelectorAll("h5")].find((e) => e.getBoundingClientRect().top > 200)?.getBoundingClientRect().top]);
    await say(page, "100 KB later");
    await page.getByTestId("assistant-message").nth(1).filter({ hasText: "In a moment." }).waitFor();
    await page.getByRole("log").hover();
    await page.mouse.wheel(0, -6_000);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const before = await place();
    await measured(t, async () => t.model.release(), () => all(page, 2 * SECTIONS));
    assert.deepEqual(await place(), before);
  },

  async "100 KB in 20,000 pieces"(t) {
    await begin(t);
    await measured(t, () => say(t.page, "100 KB in crumbs"), () => all(t.page, SECTIONS));
  },

  async "a thousand sessions: opened, scrolled, searched"(t) {
    const { page, base } = t;
    await open(page, base);
    await start(page);
    await workspace(page);
    await page.evaluate(async () => {
      for (let i = 0; i < 1_000; i += 1) await ws.sessions.launch({ id: `s${i}`, displayName: `Session number ${i}` });
    });
    await page.reload();
    await measured(t, () => page.reload(), () => page.getByTestId("sessions-count").filter({ hasText: "1001" }).waitFor());
    await measured(t, () => scrolled(page, ".sessions-list .window-box"), async () => {});
    await measured(t, () => page.getByTestId("session-search").pressSequentially("number 77"), () => page.waitForFunction(() => document.querySelector(".sessions-pane > [role=status]").textContent === "19 found"));
  },

  async "ten thousand entries: opened, scrolled, searched"(t) {
    const { page, base } = t;
    page.setDefaultTimeout(120_000);
    await open(page, base);
    await start(page);
    await launchSession(page, "Long");
    await workspace(page);
    await page.evaluate(async () => {
      const { offline } = await import("/lodger/offline.js");
      await ws.configureAgent({ provider: offline({ delayMs: 0 }) });
      const { id } = (await ws.sessions.list()).find(({ display_name }) => display_name === "Long");
      for (let i = 0; i < 1_120; i += 1) await ws.wait((await ws.sessions.prompt(id, `Hello ${i}`)).runId);
    });
    await page.reload();
    await page.getByTestId("assistant-message").last().waitFor();
    await measured(t, () => page.getByTestId("open-journal").click(), () => page.waitForFunction(() => Number(document.querySelector("[data-testid=journal-count]")?.textContent.replace(",", "")) > 10_000, undefined, { polling: 300 }));
    await measured(t, () => scrolled(page, ".journal-list .window-box"), async () => {});
    await measured(t, () => page.getByTestId("journal-search").pressSequentially("hello 1077"), () => page.waitForFunction(() => /^\d{1,3} entries$/.test(document.querySelector(".journal-pane > [role=status]").textContent)));
  },
};

/** From end to end, twenty steps of which each is drawn. */
function scrolled(page, box) {
  return page.locator(box).evaluate(async (box) => {
    const end = box.scrollHeight - box.clientHeight;
    for (let step = 0; step <= 20; step += 1) {
      box.scrollTop = (end * step) / 20;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
  });
}

async function begin({ page, base, model, visit }) {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
}

/** Looked for cheaply and seldom: a locator that polls would be the longest task itself. */
function all(page, sections) {
  return page.waitForFunction((n) => document.querySelectorAll("[data-testid=assistant-message] :is(h4, h5)").length === n, sections, { polling: 300, timeout: 120_000 });
}

async function measured({ page, browser }, act, end) {
  const watch = () => {
    window.late = [];
    new PerformanceObserver((list) => window.late.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
  };
  // What is measured may be a reload.
  await page.addInitScript(watch);
  await page.evaluate(watch);
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
  const from = performance.now();
  await act();
  await end();
  const seconds = (performance.now() - from) / 1000;
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const mains = new Set(traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}:${e.tid}`));
  const tasks = traceEvents.filter((e) => e.ph === "X" && e.name.endsWith("RunTask") && mains.has(`${e.pid}:${e.tid}`));
  const top = (of) => tasks.map((e) => (e[of] ?? 0) / 1000).sort((a, b) => b - a);
  const sum = top("tdur").reduce((a, b) => a + b, 0);
  const [cpu, wall] = [top("tdur"), top("dur")].map((list) => list.slice(0, 4).map((n) => n.toFixed(1)).join(", "));
  const late = await page.evaluate(() => window.late);
  console.log(`      ${seconds.toFixed(1)} s, ${tasks.length} tasks, ${sum.toFixed(0)} ms of CPU; the longest tasks ${cpu} ms of CPU (${wall} ms by the clock); ${late.length} long tasks by PerformanceObserver${late.length ? `: ${late.map((n) => n.toFixed(0)).join(", ")} ms` : ""}`);
}
